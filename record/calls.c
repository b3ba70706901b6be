/* calls.c - handles a call of each shape: calls the real function and records the call
 * (recorder.h).
 *
 * A shape is the signature of a call and the content of its record; hooks.def lists the functions
 * of each shape.
 *
 * Invariants: the real function is called exactly once with the caller's arguments, and the caller
 * receives its result.  Nothing else happens for a call within a recorded call, and for any call
 * while nothing is recorded.  errno is as the real function left it.
 */
#include "config.h"

#include <errno.h>

#include "record/shapes.h"

/* ---- entering and leaving a call */

bool
gemem_recorder_enter (void)
{
  RecorderThread *thread = &gemem_recorder_thread;
  int saved = errno;

  if (thread->inside)
    return false;
  thread->inside = true;
  thread->inside = gemem_recorder_ready ();
  errno = saved;
  return thread->inside;
}

void
gemem_recorder_leave (int saved)
{
  gemem_recorder_thread.inside = false;
  errno = saved;
}

Place
gemem_recorder_place (void)
{
  Place place;
  int saved = errno;
  place.there = gemem_recorder_moment (&place.moment, true);
  errno = saved;
  return place;
}

int
gemem_recorder_leave_with (int result, const Place *before, JournalRecord record)
{
  int saved = errno;
  Place after;

  if (result == 0 || record.call == JOURNAL_ALLOC_FAILED)
    {
      if (before == NULL)
        after = gemem_recorder_place ();
      else
        after = *before;
      if (after.there)
        gemem_recorder_add (&after.moment, record);
      if (after.there && journal_has_place (record.call) && !gemem_recorder_thread.serves)
        gemem_recorder_ask_line ();
    }
  gemem_recorder_leave (saved);
  return result;
}

uint64_t
gemem_recorder_number (const void *pointer)
{
  return (uint64_t) (uintptr_t) pointer;
}

uint64_t
gemem_recorder_stream_number (Handle stream, bool per_thread)
{
  uintptr_t handle = (uintptr_t) stream;
  if (handle == STREAM_PER_THREAD || (handle == 0 && per_thread))
    return STREAM_PER_THREAD | (uint64_t) gemem_recorder_thread.number << 8;
  return handle == STREAM_LEGACY ? 0 : handle;
}

/* ---- memory: gemem_recorder_call_SHAPE() does the work for each exported function */

/* Records and leaves a call that allocated memory or failed to. */
static int
leave_alloc (int result, JournalCall call, const Address *address, size_t size, Handle stream,
             Handle pool, bool per_thread)
{
  Address got = result == 0 && address != NULL ? *address : NULL;
  bool on_host = call == JOURNAL_ALLOC_HOST || call == JOURNAL_REGISTER;
  uint16_t device = on_host ? JOURNAL_HOST : gemem_recorder_current_device ();
  JournalRecord record = {
    .p = gemem_recorder_number (got), .q = size, .device = device, .call = call
  };

  if (result == OUT_OF_MEMORY)
    {
      record.call = JOURNAL_ALLOC_FAILED;
      record.s = on_host ? 0 : gemem_recorder_free_bytes ();
    }
  else if (result == 0 && got == NULL) /* a request of 0 bytes */
    {
      gemem_recorder_leave (errno);
      return result;
    }
  else if ((call == JOURNAL_ALLOC_ASYNC || call == JOURNAL_ALLOC_POOL)
           && gemem_recorder_is_capturing (stream, per_thread))
    record = (JournalRecord){ .p = gemem_recorder_number (got),
                              .q = JOURNAL_LEFT_GRAPH,
                              .call = JOURNAL_LEFT_OUT };
  else
    record.s = call == JOURNAL_ALLOC_POOL ? gemem_recorder_number (pool)
                                          : gemem_recorder_context ();
  Place place = gemem_recorder_place (); /* also assigns the number of the thread */
  if (record.call != JOURNAL_LEFT_OUT)
    record.r = gemem_recorder_stream_number (stream, per_thread);
  return gemem_recorder_leave_with (result, &place, record);
}

SHAPE (ALLOC, Address *address, size_t size)
{
  REAL ((Address *, size_t), address, size);
  return leave_alloc (real (address, size), JOURNAL_ALLOC, address, size, NULL, NULL, false);
}

SHAPE (ALLOC_PITCH, Address *address, size_t *pitch, size_t width, size_t height)
{
  REAL ((Address *, size_t *, size_t, size_t), address, pitch, width, height);
  int result = real (address, pitch, width, height);
  return leave_alloc (result, JOURNAL_ALLOC, address, (result == 0 ? *pitch : width) * height, NULL,
                      NULL, false);
}

SHAPE (ALLOC_PITCH_ELEMENT, Address *address, size_t *pitch, size_t width, size_t height,
       unsigned element)
{
  REAL ((Address *, size_t *, size_t, size_t, unsigned), address, pitch, width, height, element);
  int result = real (address, pitch, width, height, element);
  return leave_alloc (result, JOURNAL_ALLOC, address, (result == 0 ? *pitch : width) * height, NULL,
                      NULL, false);
}

SHAPE (ALLOC_3D, Pitched *place, Extent extent)
{
  REAL ((Pitched *, Extent), place, extent);
  int result = real (place, extent);
  size_t rows = extent.height * extent.depth;
  return leave_alloc (result, JOURNAL_ALLOC, &place->address,
                      (result == 0 ? place->pitch : extent.width) * rows, NULL, NULL, false);
}

SHAPE (ALLOC_MANAGED, Address *address, size_t size, unsigned flags)
{
  REAL ((Address *, size_t, unsigned), address, size, flags);
  return leave_alloc (real (address, size, flags), JOURNAL_ALLOC_MANAGED, address, size, NULL, NULL,
                      false);
}

SHAPE (ALLOC_HOST, Address *address, size_t size)
{
  REAL ((Address *, size_t), address, size);
  return leave_alloc (real (address, size), JOURNAL_ALLOC_HOST, address, size, NULL, NULL, false);
}

SHAPE (ALLOC_HOST_FLAGS, Address *address, size_t size, unsigned flags)
{
  REAL ((Address *, size_t, unsigned), address, size, flags);
  return leave_alloc (real (address, size, flags), JOURNAL_ALLOC_HOST, address, size, NULL, NULL,
                      false);
}

SHAPE (ALLOC_ASYNC, Address *address, size_t size, Handle stream)
{
  REAL ((Address *, size_t, Handle), address, size, stream);
  return leave_alloc (real (address, size, stream), JOURNAL_ALLOC_ASYNC, address, size, stream,
                      NULL, hook->per_thread);
}

SHAPE (ALLOC_POOL, Address *address, size_t size, Handle pool, Handle stream)
{
  REAL ((Address *, size_t, Handle, Handle), address, size, pool, stream);
  return leave_alloc (real (address, size, pool, stream), JOURNAL_ALLOC_POOL, address, size, stream,
                      pool, hook->per_thread);
}

/* Existing host memory of the program becomes pinned. */
SHAPE (REGISTER, Address address, size_t size, unsigned flags)
{
  REAL ((Address, size_t, unsigned), address, size, flags);
  return leave_alloc (real (address, size, flags), JOURNAL_REGISTER, &address, size, NULL, NULL,
                      false);
}

SHAPE (FREE, Address address)
{
  REAL ((Address), address);
  Place place = gemem_recorder_place ();
  int result = real (address);
  if (address == NULL)
    place.there = false;
  return gemem_recorder_leave_with (
      result, &place,
      (JournalRecord){ .p = gemem_recorder_number (address), .call = JOURNAL_FREE });
}

SHAPE (FREE_ASYNC, Address address, Handle stream)
{
  REAL ((Address, Handle), address, stream);
  Place place = gemem_recorder_place ();
  JournalRecord record = { .p = gemem_recorder_number (address),
                           .r = gemem_recorder_stream_number (stream, hook->per_thread),
                           .call = JOURNAL_FREE_ASYNC };
  int result = real (address, stream);
  if (address == NULL)
    place.there = false;
  else if (result == 0 && gemem_recorder_is_capturing (stream, hook->per_thread))
    record = (JournalRecord){ .p = gemem_recorder_number (address),
                              .q = JOURNAL_LEFT_GRAPH_FREE,
                              .call = JOURNAL_LEFT_OUT };
  return gemem_recorder_leave_with (result, &place, record);
}

SHAPE (CREATE, Handle *handle, size_t size, const Properties *properties, unsigned long long flags)
{
  REAL ((Handle *, size_t, const Properties *, unsigned long long), handle, size, properties,
        flags);
  int result = real (handle, size, properties, flags);
  bool on_device = properties != NULL && properties->location_type == LOCATION_DEVICE;
  JournalRecord record = { .p = result == 0 ? gemem_recorder_number (*handle) : 0,
                           .q = size,
                           .call = JOURNAL_CREATE,
                           .device = on_device ? gemem_recorder_device (properties->location)
                                               : JOURNAL_HOST };
  if (result == OUT_OF_MEMORY)
    {
      record.call = JOURNAL_ALLOC_FAILED;
      record.s = on_device ? gemem_recorder_free_bytes () : 0;
    }
  return gemem_recorder_leave_with (result, NULL, record);
}

SHAPE (RETAIN, Handle *handle, Address address)
{
  REAL ((Handle *, Address), handle, address);
  int result = real (handle, address);
  JournalRecord record = { .p = result == 0 ? gemem_recorder_number (*handle) : 0,
                           .q = gemem_recorder_number (address),
                           .call = JOURNAL_RETAIN };
  return gemem_recorder_leave_with (result, NULL, record);
}

SHAPE (RELEASE, Handle handle)
{
  REAL ((Handle), handle);
  Place place = gemem_recorder_place ();
  return gemem_recorder_leave_with (
      real (handle), &place,
      (JournalRecord){ .p = gemem_recorder_number (handle), .call = JOURNAL_RELEASE });
}

SHAPE (MAP, Address address, size_t size, size_t offset, Handle handle, unsigned long long flags)
{
  REAL ((Address, size_t, size_t, Handle, unsigned long long), address, size, offset, handle,
        flags);
  int result = real (address, size, offset, handle, flags);
  return gemem_recorder_leave_with (result, NULL,
                                    (JournalRecord){ .p = gemem_recorder_number (address),
                                                     .q = size,
                                                     .r = gemem_recorder_number (handle),
                                                     .call = JOURNAL_MAP });
}

SHAPE (UNMAP, Address address, size_t size)
{
  REAL ((Address, size_t), address, size);
  Place place = gemem_recorder_place ();
  return gemem_recorder_leave_with (
      real (address, size), &place,
      (JournalRecord){ .p = gemem_recorder_number (address), .q = size, .call = JOURNAL_UNMAP });
}
