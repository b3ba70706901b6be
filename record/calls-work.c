/* calls-work.c - calls that give a stream work, or after which the device has done it (shapes.h).
 *
 * A launch is frequent and its content is no memory, so only this is recorded: the stream has got
 * work.  Once, until a call is recorded by which work before it differs from work behind it
 * (journal_parts_work()): each thread remembers the streams for which it has said so, and the epoch
 * of that.  A launch that adds nothing costs a few loads.
 *
 * Work is numbered after the real call, since the driver can be asked only then.  Work of a stream
 * that is captured belongs to a graph and is not recorded; the launch of the graph is.
 * A copy to the host that has returned says, like a query, that its stream had done everything.
 */
#include "config.h"

#include <errno.h>

#include "record/shapes.h"

#define REMEMBERED 16      /* streams of a thread, a power of two */
#define ANY_DEVICE 0xffffu /* of a stream that is not a default one */

typedef struct
{
  uint64_t stream, epoch; /* epoch 0: none */
  uint16_t device;
} Said;

static _Thread_local Said said[REMEMBERED] __attribute__ ((tls_model ("initial-exec")));
static _Atomic (uint64_t) works, known; /* records of work, and how many of them were done */

/* The device of a default stream, which each device has; other streams have handles of their own. */
static uint16_t
device_of_default (Handle stream)
{
  return (uintptr_t) stream <= STREAM_PER_THREAD ? gemem_recorder_current_device () : ANY_DEVICE;
}

/* Adds a record of the present position, without a call stack. */
static bool
add (JournalRecord record, Handle stream, bool per_thread)
{
  Moment moment;

  if (!gemem_recorder_moment (&moment, false)) /* also assigns the number of the thread */
    return false;
  record.r = gemem_recorder_stream_number (stream, per_thread);
  record.device = gemem_recorder_current_device ();
  gemem_recorder_add (&moment, record);
  return true;
}

static void
note_work (Handle stream, bool per_thread)
{
  const uint64_t epoch = gemem_recorder_epoch (), handle = gemem_recorder_number (stream);
  const uint16_t device = device_of_default (stream);
  Said *place = &said[(handle ^ handle >> 4 ^ handle >> 8 ^ handle >> 12) % REMEMBERED];

  if (place->epoch == epoch && place->stream == handle && place->device == device)
    return;
  if (gemem_recorder_is_capturing (stream, per_thread)
      || !add ((JournalRecord){ .call = JOURNAL_WORK }, stream, per_thread))
    return;
  atomic_fetch_add_explicit (&works, 1, memory_order_relaxed);
  *place = (Said){ .stream = handle, .epoch = epoch, .device = device };
}

/* Leaves a call that returned @result and gave @stream work. */
static int
leave_work (int result, Handle stream, bool per_thread)
{
  int saved = errno;

  if (result == 0)
    note_work (stream, per_thread);
  gemem_recorder_leave (saved);
  return result;
}

/* Leaves a call in which the host waited for the default stream. */
static int
leave_done (int result, bool per_thread)
{
  const uint64_t now = atomic_load_explicit (&works, memory_order_relaxed);
  int saved = errno;

  if (result == 0 && atomic_exchange_explicit (&known, now, memory_order_relaxed) != now)
    add ((JournalRecord){ .q = JOURNAL_SYNC_COPIED, .call = JOURNAL_STREAM_SYNC }, NULL,
         per_thread);
  gemem_recorder_leave (saved);
  return result;
}

/* ---- kernels, functions of the host, graphs */

SHAPE (LAUNCH, Handle kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
       unsigned block_y, unsigned block_z, unsigned shared, Handle stream, void **parameters,
       void **extra)
{
  REAL ((Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle,
         void **, void **),
        kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters,
        extra);
  return leave_work (real (kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                           stream, parameters, extra),
                     stream, hook->per_thread);
}

SHAPE (LAUNCH_COOPERATIVE, Handle kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, Handle stream,
       void **parameters)
{
  REAL ((Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle,
         void **),
        kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters);
  return leave_work (
      real (kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters),
      stream, hook->per_thread);
}

SHAPE (LAUNCH_EX, const Launch *launch, Handle kernel, void **parameters, void **extra)
{
  REAL ((const Launch *, Handle, void **, void **), launch, kernel, parameters, extra);
  int result = real (launch, kernel, parameters, extra);
  return leave_work (result, result == 0 ? launch->stream : NULL, hook->per_thread);
}

SHAPE (LAUNCH_RUNTIME, const void *function, Dimensions grid, Dimensions block, void **parameters,
       size_t shared, Handle stream)
{
  REAL ((const void *, Dimensions, Dimensions, void **, size_t, Handle), function, grid, block,
        parameters, shared, stream);
  return leave_work (real (function, grid, block, parameters, shared, stream), stream,
                     hook->per_thread);
}

SHAPE (LAUNCH_RUNTIME_EX, const Launch *launch, const void *function, void **parameters)
{
  REAL ((const Launch *, const void *, void **), launch, function, parameters);
  int result = real (launch, function, parameters);
  return leave_work (result, result == 0 ? launch->stream : NULL, hook->per_thread);
}

SHAPE (HOST_FUNCTION, Handle stream, Handle function, void *data)
{
  REAL ((Handle, Handle, void *), stream, function, data);
  return leave_work (real (stream, function, data), stream, hook->per_thread);
}

/* ---- copies, fills, graphs and others, of which only the stream matters: what else they take are words in registers, and on
 * the stack words, too */

SHAPE (STREAM_WORDS_3, Handle stream, uint64_t a, uint64_t b, uint64_t c)
{
  REAL ((Handle, uint64_t, uint64_t, uint64_t), stream, a, b, c);
  return leave_work (real (stream, a, b, c), stream, hook->per_thread);
}

SHAPE (WORDS_1, uint64_t a, Handle stream)
{
  REAL ((uint64_t, Handle), a, stream);
  return leave_work (real (a, stream), stream, hook->per_thread);
}

SHAPE (WORDS_3, uint64_t a, uint64_t b, uint64_t c, Handle stream)
{
  REAL ((uint64_t, uint64_t, uint64_t, Handle), a, b, c, stream);
  return leave_work (real (a, b, c, stream), stream, hook->per_thread);
}

SHAPE (WORDS_4, uint64_t a, uint64_t b, uint64_t c, uint64_t d, Handle stream)
{
  REAL ((uint64_t, uint64_t, uint64_t, uint64_t, Handle), a, b, c, d, stream);
  return leave_work (real (a, b, c, d, stream), stream, hook->per_thread);
}

SHAPE (WORDS_5, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, Handle stream)
{
  REAL ((uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, Handle), a, b, c, d, e, stream);
  return leave_work (real (a, b, c, d, e, stream), stream, hook->per_thread);
}

SHAPE (WORDS_7, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,
       Handle stream)
{
  REAL ((uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, Handle), a, b, c, d,
        e, f, g, stream);
  return leave_work (real (a, b, c, d, e, f, g, stream), stream, hook->per_thread);
}

SHAPE (WORDS_8, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,
       uint64_t h, Handle stream)
{
  REAL ((uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, Handle), a,
        b, c, d, e, f, g, h, stream);
  return leave_work (real (a, b, c, d, e, f, g, h, stream), stream, hook->per_thread);
}

/* The default stream's, for which the host does not wait: within a device, and between two. */
SHAPE (NOW_3, uint64_t a, uint64_t b, uint64_t c)
{
  REAL ((uint64_t, uint64_t, uint64_t), a, b, c);
  return leave_work (real (a, b, c), NULL, hook->per_thread);
}

SHAPE (NOW_5, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
  REAL ((uint64_t, uint64_t, uint64_t, uint64_t, uint64_t), a, b, c, d, e);
  return leave_work (real (a, b, c, d, e), NULL, hook->per_thread);
}

/* ---- the host waits for a copy */

SHAPE (COPY_TO_HOST, Address to, Address from, size_t size)
{
  REAL ((Address, Address, size_t), to, from, size);
  return leave_done (real (to, from, size), hook->per_thread);
}

SHAPE (COPY_NOW, Address to, Address from, size_t size, int kind)
{
  REAL ((Address, Address, size_t, int), to, from, size, kind);
  int result = real (to, from, size, kind);
  if (kind == COPY_DEVICE_TO_HOST)
    return leave_done (result, hook->per_thread);
  return leave_work (result, NULL, hook->per_thread);
}
