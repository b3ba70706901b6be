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
    add ((JournalRecord){ .q = 1, .call = JOURNAL_STREAM_SYNC }, NULL, per_thread);
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

SHAPE (CALLBACK, Handle stream, Handle function, void *data, unsigned flags)
{
  REAL ((Handle, Handle, void *, unsigned), stream, function, data, flags);
  return leave_work (real (stream, function, data, flags), stream, hook->per_thread);
}

SHAPE (GRAPH, Handle executable, Handle stream)
{
  REAL ((Handle, Handle), executable, stream);
  return leave_work (real (executable, stream), stream, hook->per_thread);
}

/* The stream waits until memory has a value (of 4 or 8 bytes, in a register in any case). */
SHAPE (WAIT_VALUE, Handle stream, Address address, unsigned long long value, unsigned flags)
{
  REAL ((Handle, Address, unsigned long long, unsigned), stream, address, value, flags);
  return leave_work (real (stream, address, value, flags), stream, hook->per_thread);
}

/* ---- copies and fills */

SHAPE (COPY, Address to, Address from, size_t size, Handle stream)
{
  REAL ((Address, Address, size_t, Handle), to, from, size, stream);
  return leave_work (real (to, from, size, stream), stream, hook->per_thread);
}

SHAPE (COPY_RUNTIME, Address to, Address from, size_t size, int kind, Handle stream)
{
  REAL ((Address, Address, size_t, int, Handle), to, from, size, kind, stream);
  return leave_work (real (to, from, size, kind, stream), stream, hook->per_thread);
}

/* Between devices: contexts for the driver, numbers for the runtime. */
SHAPE (COPY_PEER, Address to, Handle to_where, Address from, Handle from_where, size_t size,
       Handle stream)
{
  REAL ((Address, Handle, Address, Handle, size_t, Handle), to, to_where, from, from_where, size,
        stream);
  return leave_work (real (to, to_where, from, from_where, size, stream), stream, hook->per_thread);
}

SHAPE (COPY_ARRAY, const void *description, Handle stream)
{
  REAL ((const void *, Handle), description, stream);
  return leave_work (real (description, stream), stream, hook->per_thread);
}

SHAPE (COPY_ROWS, Address to, size_t to_pitch, Address from, size_t from_pitch, size_t width,
       size_t height, int kind, Handle stream)
{
  REAL ((Address, size_t, Address, size_t, size_t, size_t, int, Handle), to, to_pitch, from,
        from_pitch, width, height, kind, stream);
  return leave_work (real (to, to_pitch, from, from_pitch, width, height, kind, stream), stream,
                     hook->per_thread);
}

SHAPE (FILL, Address to, unsigned value, size_t count, Handle stream)
{
  REAL ((Address, unsigned, size_t, Handle), to, value, count, stream);
  return leave_work (real (to, value, count, stream), stream, hook->per_thread);
}

SHAPE (FILL_ROWS, Address to, size_t pitch, unsigned value, size_t width, size_t height,
       Handle stream)
{
  REAL ((Address, size_t, unsigned, size_t, size_t, Handle), to, pitch, value, width, height,
        stream);
  return leave_work (real (to, pitch, value, width, height, stream), stream, hook->per_thread);
}

/* ---- other calls, of which only the stream matters: words in registers, and on the stack the same */

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
