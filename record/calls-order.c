/* calls-order.c - calls about pools, streams, events and the ends of devices and contexts
 * (shapes.h). */
#include "config.h"

#include "record/shapes.h"

/* From here on the journal tells how pools are set. */
static void
tell_attributes (void)
{
  JournalHeader *header = gemem_recorder_header ();
  if (header != NULL)
    __atomic_store_n (&header->attributes, 1, __ATOMIC_RELAXED);
}

/* A size as a record has it. */
static uint64_t
size_of (size_t size)
{
  return size < JOURNAL_MAX_SIZE ? size : JOURNAL_MAX_SIZE;
}

SHAPE (POOL_CREATE, Handle *pool, const PoolProperties *what)
{
  REAL ((Handle *, const PoolProperties *), pool, what);
  int result = real (pool, what);
  bool on_device = what != NULL && what->properties.location_type == LOCATION_DEVICE;
  JournalRecord record = { .call = JOURNAL_POOL_CREATE, .device = JOURNAL_HOST };
  if (on_device)
    record.device = gemem_recorder_device (what->properties.location);
  if (result == 0)
    record.p = gemem_recorder_number (*pool);
  if (result == 0 && on_device)
    record.q = size_of (what->max_size);
  if (record.q > 0)
    tell_attributes ();
  return gemem_recorder_leave_with (result, NULL, record);
}

SHAPE (POOL_DESTROY, Handle pool)
{
  REAL ((Handle), pool);
  Place place = gemem_recorder_place ();
  return gemem_recorder_leave_with (
      real (pool), &place,
      (JournalRecord){ .p = gemem_recorder_number (pool), .call = JOURNAL_POOL_DESTROY });
}

/* The attributes that decide; the others are what the pool holds. */
SHAPE (POOL_ATTRIBUTE, Handle pool, int attribute, const void *value)
{
  REAL ((Handle, int, const void *), pool, attribute, value);
  Place place = gemem_recorder_place ();
  JournalRecord record = { .p = gemem_recorder_number (pool),
                           .q = (uint64_t) attribute,
                           .call = JOURNAL_POOL_ATTRIBUTE };
  int result = real (pool, attribute, value);
  if (result != 0 || attribute < JOURNAL_POOL_FOLLOW || attribute > JOURNAL_POOL_THRESHOLD)
    place.there = false;
  else if (attribute == JOURNAL_POOL_THRESHOLD)
    record.r = *(const uint64_t *) value;
  else
    record.r = *(const int *) value != 0;
  if (place.there)
    tell_attributes ();
  record.device = gemem_recorder_current_device ();
  return gemem_recorder_leave_with (result, &place, record);
}

SHAPE (POOL_TRIM, Handle pool, size_t keep)
{
  REAL ((Handle, size_t), pool, keep);
  Place place = gemem_recorder_place ();
  if (place.there && keep > 0)
    tell_attributes ();
  return gemem_recorder_leave_with (real (pool, keep), &place,
                                    (JournalRecord){ .p = gemem_recorder_number (pool),
                                                     .q = size_of (keep),
                                                     .call = JOURNAL_POOL_TRIM });
}

/* The default or the current pool; a pool created by the program is identified by its handle. */
SHAPE (POOL_DEFAULT, Handle *pool, int device)
{
  REAL ((Handle *, int), pool, device);
  int result = real (pool, device);
  JournalRecord record = { .p = result == 0 ? gemem_recorder_number (*pool) : 0,
                           .device = (uint16_t) device,
                           .call = JOURNAL_POOL_DEFAULT };
  return gemem_recorder_leave_with (result, NULL, record);
}

SHAPE (POOL_SET, int device, Handle pool)
{
  REAL ((int, Handle), device, pool);
  int result = real (device, pool);
  return gemem_recorder_leave_with (result, NULL,
                                    (JournalRecord){ .p = gemem_recorder_number (pool),
                                                     .device = (uint16_t) device,
                                                     .call = JOURNAL_POOL_SET });
}

/* The device of a location (CUDA 13 and later); host memory belongs to no device. */
static uint16_t
device_of (const Location *location)
{
  return location->type == LOCATION_DEVICE ? gemem_recorder_device (location->id) : JOURNAL_HOST;
}

SHAPE (POOL_OF, Handle *pool, const Location *location, int kind)
{
  REAL ((Handle *, const Location *, int), pool, location, kind);
  int result = real (pool, location, kind);
  if (result != 0)
    return gemem_recorder_leave_with (result, NULL, (JournalRecord){ 0 });
  JournalRecord record = { .p = gemem_recorder_number (*pool),
                           .device = device_of (location),
                           .call = JOURNAL_POOL_DEFAULT };
  return gemem_recorder_leave_with (result, NULL, record);
}

/* Only a pool of pinned device memory serves plain requests. */
SHAPE (POOL_SET_OF, const Location *location, int kind, Handle pool)
{
  REAL ((const Location *, int, Handle), location, kind, pool);
  int result = real (location, kind, pool);
  Place place = { .there = false };
  if (result == 0 && kind == KIND_PINNED && location->type == LOCATION_DEVICE)
    place = gemem_recorder_place ();
  return gemem_recorder_leave_with (
      result, &place,
      (JournalRecord){ .p = gemem_recorder_number (pool),
                       .call = JOURNAL_POOL_SET,
                       .device = place.there ? gemem_recorder_device (location->id) : 0 });
}

/* Leaves a call that created *@stream, or failed to. */
static int
leave_stream_create (int result, const Handle *stream, unsigned flags)
{
  return gemem_recorder_leave_with (
      result, NULL,
      (JournalRecord){ .r = result == 0 ? gemem_recorder_number (*stream) : 0,
                       .q = (flags & STREAM_NON_BLOCKING) == 0,
                       .device = gemem_recorder_current_device (),
                       .call = JOURNAL_STREAM_CREATE });
}

SHAPE (STREAM_CREATE, Handle *stream)
{
  REAL ((Handle *), stream);
  return leave_stream_create (real (stream), stream, 0);
}

SHAPE (STREAM_CREATE_FLAGS, Handle *stream, unsigned flags)
{
  REAL ((Handle *, unsigned), stream, flags);
  return leave_stream_create (real (stream, flags), stream, flags);
}

SHAPE (STREAM_CREATE_PRIORITY, Handle *stream, unsigned flags, int priority)
{
  REAL ((Handle *, unsigned, int), stream, flags, priority);
  return leave_stream_create (real (stream, flags, priority), stream, flags);
}

SHAPE (STREAM_DESTROY, Handle stream)
{
  REAL ((Handle), stream);
  Place place = gemem_recorder_place ();
  return gemem_recorder_leave_with (
      real (stream), &place,
      (JournalRecord){ .r = gemem_recorder_number (stream), .call = JOURNAL_STREAM_DESTROY });
}

/* The record of a call on a stream; an absent @event is NULL. */
static JournalRecord
stream_record (JournalCall call, Handle event, Handle stream, bool per_thread)
{
  uint64_t of_stream = gemem_recorder_stream_number (stream, per_thread);
  return (JournalRecord){ .p = gemem_recorder_number (event),
                          .r = of_stream,
                          .device = gemem_recorder_current_device (),
                          .call = call };
}

/* A call that waits is numbered after the real call, a call that queues work before it.  @asked: it
 * does not wait, and its answer is that all is done. */
static int
leave_stream_sync (int result, Handle stream, bool per_thread, bool asked)
{
  Place place = { .there = false };
  if (result == 0)
    place = gemem_recorder_place ();
  JournalRecord record = stream_record (JOURNAL_STREAM_SYNC, NULL, stream, per_thread);
  record.q = asked;
  return gemem_recorder_leave_with (result, &place, record);
}

SHAPE (STREAM_SYNC, Handle stream)
{
  REAL ((Handle), stream);
  return leave_stream_sync (real (stream), stream, hook->per_thread, false);
}

SHAPE (STREAM_QUERY, Handle stream)
{
  REAL ((Handle), stream);
  return leave_stream_sync (real (stream), stream, hook->per_thread, true);
}

static int
leave_event_sync (int result, Handle event, bool asked)
{
  Place place = { .there = false };
  if (result == 0)
    place = gemem_recorder_place ();
  return gemem_recorder_leave_with (result, &place,
                                    (JournalRecord){ .p = gemem_recorder_number (event),
                                                     .q = asked,
                                                     .device = gemem_recorder_current_device (),
                                                     .call = JOURNAL_EVENT_SYNC });
}

SHAPE (EVENT_SYNC, Handle event)
{
  REAL ((Handle), event);
  return leave_event_sync (real (event), event, false);
}

SHAPE (EVENT_QUERY, Handle event)
{
  REAL ((Handle), event);
  return leave_event_sync (real (event), event, true);
}

SHAPE (EVENT_RECORD, Handle event, Handle stream)
{
  REAL ((Handle, Handle), event, stream);
  Place place = gemem_recorder_place ();
  int result = real (event, stream);
  return gemem_recorder_leave_with (
      result, &place, stream_record (JOURNAL_EVENT_RECORD, event, stream, hook->per_thread));
}

SHAPE (EVENT_RECORD_FLAGS, Handle event, Handle stream, unsigned flags)
{
  REAL ((Handle, Handle, unsigned), event, stream, flags);
  Place place = gemem_recorder_place ();
  int result = real (event, stream, flags);
  return gemem_recorder_leave_with (
      result, &place, stream_record (JOURNAL_EVENT_RECORD, event, stream, hook->per_thread));
}

SHAPE (EVENT_WAIT, Handle stream, Handle event, unsigned flags)
{
  REAL ((Handle, Handle, unsigned), stream, event, flags);
  Place place = gemem_recorder_place ();
  int result = real (stream, event, flags);
  return gemem_recorder_leave_with (
      result, &place, stream_record (JOURNAL_EVENT_WAIT, event, stream, hook->per_thread));
}

SHAPE (EVENT_DESTROY, Handle event)
{
  REAL ((Handle), event);
  Place place = gemem_recorder_place ();
  return gemem_recorder_leave_with (
      real (event), &place,
      (JournalRecord){ .p = gemem_recorder_number (event), .call = JOURNAL_EVENT_DESTROY });
}

SHAPE_VOID (DEVICE_SYNC)
{
  REAL ((void) );
  int result = real ();
  return gemem_recorder_leave_with (
      result, NULL,
      (JournalRecord){ .device = gemem_recorder_current_device (), .call = JOURNAL_DEVICE_SYNC });
}

/* For the context in the argument, or the current one; both nearly always have the same device. */
SHAPE (CONTEXT_SYNC, Handle context)
{
  REAL ((Handle), context);
  int result = real (context);
  return gemem_recorder_leave_with (
      result, NULL,
      (JournalRecord){ .device = gemem_recorder_current_device (), .call = JOURNAL_DEVICE_SYNC });
}

SHAPE_VOID (DEVICE_RESET)
{
  REAL ((void) );
  Place place = gemem_recorder_place ();
  JournalRecord record = { .device = gemem_recorder_current_device (),
                           .call = JOURNAL_DEVICE_RESET };
  return gemem_recorder_leave_with (real (), &place, record);
}

SHAPE (PRIMARY_RESET, int device)
{
  REAL ((int), device);
  Place place = gemem_recorder_place ();
  return gemem_recorder_leave_with (
      real (device), &place,
      (JournalRecord){ .device = (uint16_t) device, .call = JOURNAL_DEVICE_RESET });
}

/* The last release of a primary context destroys it. */
SHAPE (PRIMARY_RELEASE, int device)
{
  REAL ((int), device);
  Place place = gemem_recorder_place ();
  int result = real (device);
  if (result != 0 || gemem_recorder_is_active (device))
    place.there = false;
  return gemem_recorder_leave_with (
      result, &place, (JournalRecord){ .device = (uint16_t) device, .call = JOURNAL_DEVICE_RESET });
}

SHAPE (CONTEXT_DESTROY, Handle context)
{
  REAL ((Handle), context);
  Place place = gemem_recorder_place ();
  return gemem_recorder_leave_with (
      real (context), &place,
      (JournalRecord){ .p = gemem_recorder_number (context), .call = JOURNAL_CONTEXT_DESTROY });
}
