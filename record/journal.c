/* journal.c - writes the journal of a process: each thread puts records into its own block of 64
 * KiB of shared memory (recorder.h).
 *
 * A block is claimed under a lock, once in 1023 records, after its disk space is allocated
 * (traces/journal/file.h), so that a full disk ends the recording and never the program.  A record
 * costs one atomic increment, a read of the clock, and 64 bytes of memory that is mapped from the
 * file, so no data need flushing.
 *
 * A child of fork() shares nothing with its parent and starts its own journal at its first call.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "record/recorder.h"
#include "record/variables.h"
#include "traces/journal/file.h"

#define MOST_NAMES 100 /* journals of one process id: a program may execute another one */
#define SPARE 256      /* blocks of ended threads that wait for another thread */

typedef enum
{
  UNKNOWN,
  OPEN,
  CLOSED, /* not recorded, or recording has ended */
} State;

static struct
{
  _Atomic (int) state;
  pthread_mutex_t lock; /* protects the members below */
  pthread_key_t key;
  bool forks; /* the handler of fork() is installed */
  JournalHeader *header;
  uint32_t blocks;
  _Atomic (uint32_t) threads;
  _Atomic (uint64_t) epoch; /* less 1 */
  uint32_t spares;
  JournalRecord *spare[SPARE]; /* partly filled */
  char path[4096];
} journal = { .lock = PTHREAD_MUTEX_INITIALIZER };

_Thread_local RecorderThread gemem_recorder_thread __attribute__ ((tls_model ("initial-exec")));

static uint64_t
now (void)
{
  struct timespec time;
  clock_gettime (CLOCK_MONOTONIC, &time);
  return (uint64_t) time.tv_sec * 1000000000u + (uint64_t) time.tv_nsec;
}

/* ---- the file */

static void
read_command (JournalHeader *header)
{
  int fd = open ("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  ssize_t part = 0;
  size_t size = 0;

  while (fd >= 0
         && ((part = read (fd, header->command + size, sizeof header->command - size)) > 0
             || (part < 0 && errno == EINTR)))
    size += part > 0 ? (size_t) part : 0;
  header->command_size = (uint32_t) size;
  if (fd >= 0)
    close (fd);
}

/* Prints the only message of the recorder. */
static void
complain (const char *directory, int problem)
{
  char text[4400];
  int size = snprintf (text, sizeof text,
                       "gemem-record: %s: %s; process %d runs without being recorded\n", directory,
                       strerror (problem), (int) getpid ());
  if (size > 0
      && write (STDERR_FILENO, text, (size_t) size < sizeof text ? (size_t) size : sizeof text - 1)
             < 0)
    return;
}

/* Creates the journal; tries further names if an earlier program of this process used a name. */
static JournalHeader *
create (const char *directory)
{
  JournalHeader *header = NULL;
  errno = EEXIST;
  for (int i = 1; header == NULL && errno == EEXIST && i <= MOST_NAMES; i++)
    {
      int size = i == 1 ? snprintf (journal.path, sizeof journal.path, "%s/%d.gmj", directory,
                                    (int) getpid ())
                        : snprintf (journal.path, sizeof journal.path, "%s/%d-%d.gmj", directory,
                                    (int) getpid (), i);
      errno = ENAMETOOLONG;
      if (size > 0 && (size_t) size < sizeof journal.path)
        header = gemem_journal_map (journal.path, 0, O_CREAT | O_EXCL);
    }
  if (header == NULL && errno != EEXIST && errno != ENAMETOOLONG)
    {
      int problem = errno;
      unlink (journal.path);
      errno = problem;
    }
  return header;
}

/* ---- threads and forks */

/* At the end of a thread, another thread may continue to fill its block. */
static void
on_thread_end (void *unused)
{
  RecorderThread *thread = &gemem_recorder_thread;
  (void) unused;
  pthread_mutex_lock (&journal.lock);
  if (thread->block != NULL && thread->used < JOURNAL_SLOTS && journal.spares < SPARE)
    journal.spare[journal.spares++] = thread->block;
  else if (thread->block != NULL)
    munmap (thread->block, JOURNAL_BLOCK);
  thread->block = NULL;
  thread->registered = false;
  pthread_mutex_unlock (&journal.lock);
}

/* Runs in the only thread of the child: drops the state of the parent's journal. */
static void
on_fork (void)
{
  pthread_mutex_init (&journal.lock, NULL);
  if (journal.header != NULL)
    munmap (journal.header, JOURNAL_BLOCK);
  journal.header = NULL;
  journal.blocks = journal.spares = 0;
  atomic_store (&journal.threads, 0);
  atomic_fetch_add (&journal.epoch, 1);
  gemem_recorder_thread.block = NULL;
  gemem_recorder_thread.number = 0;
  gemem_recorder_stacks_init ();
  if (atomic_load (&journal.state) == OPEN)
    atomic_store (&journal.state, UNKNOWN);
}

/* ---- opening */

static void
open_journal (void)
{
  const char *directory = getenv (GEMEM_ENV_JOURNALS);
  JournalHeader *header;

  if (directory == NULL || directory[0] == '\0')
    {
      atomic_store (&journal.state, CLOSED);
      return;
    }
  header = create (directory);
  if (header == NULL)
    {
      complain (directory, errno);
      atomic_store (&journal.state, CLOSED);
      return;
    }
  header->version = JOURNAL_VERSION;
  header->slot_size = JOURNAL_SLOT;
  header->start = now ();
  header->pid = (uint32_t) getpid ();
  header->parent = (uint32_t) getppid ();
  read_command (header);
  memcpy (header->magic, JOURNAL_MAGIC, 8);
  if (!journal.forks)
    {
      journal.forks = pthread_atfork (NULL, NULL, on_fork) == 0;
      pthread_key_create (&journal.key, on_thread_end);
    }
  header->stacks = gemem_recorder_stacks_init ();
  journal.header = header;
  journal.blocks = 1;
  atomic_store (&journal.state, OPEN);
}

bool
gemem_recorder_ready (void)
{
  int state = atomic_load_explicit (&journal.state, memory_order_acquire);

  if (state == UNKNOWN)
    {
      pthread_mutex_lock (&journal.lock);
      if (atomic_load (&journal.state) == UNKNOWN)
        open_journal ();
      pthread_mutex_unlock (&journal.lock);
      state = atomic_load (&journal.state);
    }
  return state == OPEN;
}

JournalHeader *
gemem_recorder_header (void)
{
  return journal.header;
}

/* ---- records */

/* The counters in the header are written by atomics only, because all threads share the header. */
static uint64_t
next_sequence (void)
{
  return __atomic_add_fetch (&journal.header->sequence, 1, __ATOMIC_SEQ_CST);
}

/* Returns the number of used slots of a block that another thread started. */
static uint32_t
used_slots (const JournalRecord *block)
{
  uint32_t used = 1;
  while (used < JOURNAL_SLOTS && block[used].call != JOURNAL_NOTHING)
    used += 1 + (uint32_t) journal_slots_after (&block[used]);
  return used;
}

/* Claims a new block for the thread; the caller holds the lock. */
static bool
claim_block (RecorderThread *thread)
{
  JournalRecord *block = gemem_journal_map (journal.path, journal.blocks, 0);
  JournalBlock head = { .magic = JOURNAL_BLOCK_MAGIC };

  if (block == NULL)
    return false;
  if (thread->block != NULL)
    munmap (thread->block, JOURNAL_BLOCK);
  head.first = __atomic_load_n (&journal.header->sequence, __ATOMIC_SEQ_CST) + 1;
  memcpy (block, &head, sizeof head);
  journal.blocks++;
  thread->block = block;
  thread->used = 1;
  return true;
}

/* Ensures that the thread's block has @slots free slots. */
static bool
reserve (RecorderThread *thread, uint32_t slots)
{
  bool done = true;

  if (thread->block != NULL && thread->used + slots <= JOURNAL_SLOTS)
    return true;
  pthread_mutex_lock (&journal.lock);
  if (thread->block == NULL && journal.spares > 0 && slots == 1)
    {
      thread->block = journal.spare[--journal.spares];
      thread->used = used_slots (thread->block);
      done = thread->used < JOURNAL_SLOTS || claim_block (thread);
    }
  else
    done = claim_block (thread);
  pthread_mutex_unlock (&journal.lock);
  if (!done)
    {
      __atomic_add_fetch (&journal.header->lost, 1, __ATOMIC_RELAXED);
      return false;
    }
  if (thread->number == 0)
    thread->number = atomic_fetch_add (&journal.threads, 1) + 1;
  if (!thread->registered)
    thread->registered = pthread_setspecific (journal.key, thread) == 0;
  return true;
}

bool
gemem_recorder_moment (Moment *moment, bool stack)
{
  if (!reserve (&gemem_recorder_thread, 1))
    return false;
  moment->stack = stack ? gemem_recorder_stack () : 0;
  if (!reserve (&gemem_recorder_thread, 1)) /* the stack may have filled the block */
    return false;
  moment->sequence = next_sequence ();
  moment->time = now ();
  return true;
}

/* Writes a slot, with `call` last, so that a record is complete or absent. */
static void
put (JournalRecord *slot, const JournalRecord *record)
{
  memcpy (slot, record, offsetof (JournalRecord, call));
  __atomic_store_n (&slot->call, record->call, __ATOMIC_RELEASE);
}

uint64_t
gemem_recorder_epoch (void)
{
  return atomic_load_explicit (&journal.epoch, memory_order_relaxed) + 1;
}

void
gemem_recorder_add (const Moment *moment, JournalRecord record)
{
  RecorderThread *thread = &gemem_recorder_thread;

  if (thread->block == NULL) /* the recorded call forked, and this process is the child */
    return;
  record.sequence = moment->sequence;
  record.time = moment->time;
  record.stack = thread->serves && thread->above != 0 ? thread->above : moment->stack;
  record.thread = thread->number;
  record.below = thread->serves;
  put (&thread->block[thread->used++], &record);
  if (journal_parts_work (record.call))
    atomic_fetch_add_explicit (&journal.epoch, 1, memory_order_relaxed);
}

bool
gemem_recorder_add_data (JournalRecord record, const void *data, uint32_t size)
{
  RecorderThread *thread = &gemem_recorder_thread;
  uint32_t slots = (size + JOURNAL_SLOT - 1) / JOURNAL_SLOT;

  if (size == 0 || size > JOURNAL_MAX_TEXT || !reserve (thread, 1 + slots))
    return false;
  memcpy (&thread->block[thread->used + 1], data, size);
  record.thread = thread->number;
  record.sequence = next_sequence ();
  record.time = now ();
  put (&thread->block[thread->used], &record);
  thread->used += 1 + slots;
  return true;
}
