/* lines.c - the Python lines under which memory is requested, for programs whose libraries (XLA,
 * TensorFlow) give no stacks.
 *
 * Such a library has left Python's lock when it asks the driver, and holds locks of its own:
 * whoever took Python's lock there might wait for ever, and frames that another thread runs cannot
 * be read without it.  So nothing is read there.  The first request asks Python for a call
 * (Py_AddPendingCall(), which needs no lock of Python's and wakes nobody); the main thread makes it
 * as soon as its present call into C has returned, still in the line that made it, and that stack
 * is recorded as a JOURNAL_PLACE: where the main thread was, and for calls made by itself, what
 * made them.  Whose calls those are, the reader decides by the numbers of the threads.
 *
 * Python says what to call (dry/python/lines.py), and before it ends that this is over.
 *
 * Invariants: those of recorder.h.  A request that finds the call asked for is numbered before its
 * place.  After gemem_record_lines (NULL, NULL) no thread is within Python's function.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "record/shapes.h"

typedef int (*Pending) (void *unused);
typedef int (*Ask) (Pending call, void *data);
typedef uint32_t (*Stack) (void);

static struct
{
  _Atomic (Ask) ask; /* Py_AddPendingCall(); NULL: there is no Python, or it ends */
  Stack stack;       /* returns the number of the calling thread's Python stack; 0: none */
  atomic_bool asked; /* the call is to come */
  atomic_int asking; /* threads that may be within `ask` */
  bool forks;        /* the handler of fork() is installed */
} lines;

EXPORT void gemem_record_lines (Ask ask, Stack stack);

/* Runs in the main thread, between two steps of Python. */
static int
write_place (void *unused)
{
  (void) unused;
  atomic_store (&lines.asked, false);
  if (atomic_load (&lines.ask) == NULL || gemem_recorder_header () == NULL)
    return 0;
  JournalRecord record = { .call = JOURNAL_PLACE, .p = lines.stack () };
  int saved = errno;
  if (record.p == 0 || !gemem_recorder_enter ())
    return 0;
  Place place = gemem_recorder_place ();
  __atomic_store_n (&gemem_recorder_header ()->places, 1, __ATOMIC_RELAXED);
  gemem_recorder_leave_with (0, &place, record);
  errno = saved;
  return 0;
}

void
gemem_recorder_ask_line (void)
{
  int saved = errno;

  if (atomic_load_explicit (&lines.ask, memory_order_relaxed) == NULL
      || atomic_exchange (&lines.asked, true))
    return;
  atomic_fetch_add (&lines.asking, 1);
  Ask ask = atomic_load (&lines.ask);
  if (ask == NULL || ask (write_place, NULL) != 0) /* Python's list is full */
    atomic_store (&lines.asked, false);
  atomic_fetch_sub (&lines.asking, 1);
  errno = saved;
}

/* Runs in the only thread of a child. */
static void
on_fork (void)
{
  atomic_store (&lines.asked, false);
  atomic_store (&lines.asking, 0);
}

/* @ask: Py_AddPendingCall(); @stack: returns a number of gemem_record_stack().  Both NULL: Python
 * ends.  May be called with Python's lock, which no thread waits for while it asks. */
void
gemem_record_lines (Ask ask, Stack stack)
{
  if (ask != NULL)
    {
      lines.stack = stack;
      lines.forks = lines.forks || pthread_atfork (NULL, NULL, on_fork) == 0;
    }
  atomic_store (&lines.ask, ask);
  while (ask == NULL && atomic_load (&lines.asking) > 0)
    sched_yield ();
}
