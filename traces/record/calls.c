/* calls.c - what is done at a call of each shape: the real function, and the record of it (recorder.h).
 *
 * A shape is how a call is made and what of it is written down; hooks.def says which functions have it.
 *
 * Invariants: the real function is called exactly once with the caller's arguments, and its result is what the caller gets; a call within
 * a recorded call, and any call when nothing is recorded, does nothing else.  errno is as the real function left it.
 */
#include "config.h"

#include <errno.h>

#include "traces/record/calls.h"

/* ---- entering and leaving a call */

/* Whether this call is the outermost one of a recorded process; then leave() must follow. */
static bool
enter (void)
{
  RecorderThread *thread = &recorder_thread;
  int saved = errno;

  if (thread->inside)
    return false;
  thread->inside = true;
  thread->inside = recorder_ready ();
  errno = saved;
  return thread->inside;
}

static void
leave (int saved)
{
  recorder_thread.inside = false;
  errno = saved;
}

/* The place of the call in the order of calls, taken now; @record is added at the end if the call succeeds. */
typedef struct
{
  Moment moment;
  bool   there;
} Place;

static Place
place_before (void)
{
  Place place;
  int saved = errno;
  place.there = recorder_moment (&place.moment);
  errno = saved;
  return place;
}

/* Adds @record of a call that returned @result, then leaves. */
static int
leave_with (int result, const Place *before, JournalRecord record)
{
  int saved = errno;
  Place after;

  if (result == 0 || record.call == JOURNAL_ALLOC_FAILED)
    {
      if (before == NULL)
        after = place_before ();
      else
        after = *before;
      if (after.there)
        recorder_add (&after.moment, record);
    }
  leave (saved);
  return result;
}

static uint64_t
number (const void *pointer)
{
  return (uint64_t) (uintptr_t) pointer;
}

/* Streams by number: 0 the default one, 2 + thread << 8 a thread's own. */
static uint64_t
stream_number (Handle stream, bool per_thread)
{
  uintptr_t handle = (uintptr_t) stream;
  if (handle == STREAM_PER_THREAD || (handle == 0 && per_thread))
    return STREAM_PER_THREAD | (uint64_t) recorder_thread.number << 8;
  return handle == STREAM_LEGACY ? 0 : handle;
}

/* Leaves a call that gave (or refused) memory. */
static int
leave_alloc (int result, JournalCall call, const Address *address, size_t size, Handle stream, Handle pool, bool per_thread)
{
  Address got = result == 0 && address != NULL ? *address : NULL;
  uint16_t device = call == JOURNAL_ALLOC_HOST ? JOURNAL_HOST : recorder_current_device ();
  JournalRecord record = { .p = number (got), .q = size, .device = device, .call = call };

  if (result == OUT_OF_MEMORY)
    {
      record.call = JOURNAL_ALLOC_FAILED;
      record.s = call != JOURNAL_ALLOC_HOST ? recorder_free_bytes () : 0;
    }
  else if (result == 0 && got == NULL) /* 0 bytes were asked for */
    {
      leave (errno);
      return result;
    }
  else
    record.s = call == JOURNAL_ALLOC_POOL ? number (pool) : recorder_context ();
  Place place = place_before (); /* also gives the thread its number */
  record.r = stream_number (stream, per_thread);
  return leave_with (result, &place, record);
}

/* ---- shapes: recorder_call_SHAPE() does the work for each exported function */

/* The start of each: the real function, or the error; alone it does without a record. */
#define REAL(parameters, ...) \
  int (*real) parameters = (int (*) parameters) recorder_real (hook, caller); \
  if (real == NULL) \
    return NOT_INITIALIZED; \
  if (!enter ()) \
    return real (__VA_ARGS__)

#define SHAPE(shape, ...) int recorder_call_##shape (Hook *hook, const void *caller, __VA_ARGS__)
#define SHAPE_VOID(shape) int recorder_call_##shape (Hook *hook, const void *caller)

SHAPE (ALLOC, Address *address, size_t size)
{
  REAL ((Address *, size_t), address, size);
  return leave_alloc (real (address, size), JOURNAL_ALLOC, address, size, NULL, NULL, false);
}

SHAPE (ALLOC_PITCH, Address *address, size_t *pitch, size_t width, size_t height)
{
  REAL ((Address *, size_t *, size_t, size_t), address, pitch, width, height);
  int result = real (address, pitch, width, height);
  return leave_alloc (result, JOURNAL_ALLOC, address, (result == 0 ? *pitch : width) * height, NULL, NULL, false);
}

SHAPE (ALLOC_PITCH_ELEMENT, Address *address, size_t *pitch, size_t width, size_t height, unsigned element)
{
  REAL ((Address *, size_t *, size_t, size_t, unsigned), address, pitch, width, height, element);
  int result = real (address, pitch, width, height, element);
  return leave_alloc (result, JOURNAL_ALLOC, address, (result == 0 ? *pitch : width) * height, NULL, NULL, false);
}

SHAPE (ALLOC_MANAGED, Address *address, size_t size, unsigned flags)
{
  REAL ((Address *, size_t, unsigned), address, size, flags);
  return leave_alloc (real (address, size, flags), JOURNAL_ALLOC_MANAGED, address, size, NULL, NULL, false);
}

SHAPE (ALLOC_HOST, Address *address, size_t size)
{
  REAL ((Address *, size_t), address, size);
  return leave_alloc (real (address, size), JOURNAL_ALLOC_HOST, address, size, NULL, NULL, false);
}

SHAPE (ALLOC_HOST_FLAGS, Address *address, size_t size, unsigned flags)
{
  REAL ((Address *, size_t, unsigned), address, size, flags);
  return leave_alloc (real (address, size, flags), JOURNAL_ALLOC_HOST, address, size, NULL, NULL, false);
}

SHAPE (ALLOC_ASYNC, Address *address, size_t size, Handle stream)
{
  REAL ((Address *, size_t, Handle), address, size, stream);
  return leave_alloc (real (address, size, stream), JOURNAL_ALLOC_ASYNC, address, size, stream, NULL, hook->per_thread);
}

SHAPE (ALLOC_POOL, Address *address, size_t size, Handle pool, Handle stream)
{
  REAL ((Address *, size_t, Handle, Handle), address, size, pool, stream);
  return leave_alloc (real (address, size, pool, stream), JOURNAL_ALLOC_POOL, address, size, stream, pool, hook->per_thread);
}

SHAPE (FREE, Address address)
{
  REAL ((Address), address);
  Place place = place_before ();
  int result = real (address);
  if (address == NULL)
    place.there = false;
  return leave_with (result, &place, (JournalRecord){ .p = number (address), .call = JOURNAL_FREE });
}

SHAPE (FREE_ASYNC, Address address, Handle stream)
{
  REAL ((Address, Handle), address, stream);
  Place place = place_before ();
  JournalRecord record = { .p = number (address), .r = stream_number (stream, hook->per_thread), .call = JOURNAL_FREE_ASYNC };
  int result = real (address, stream);
  if (address == NULL)
    place.there = false;
  return leave_with (result, &place, record);
}

SHAPE (CREATE, Handle *handle, size_t size, const Properties *properties, unsigned long long flags)
{
  REAL ((Handle *, size_t, const Properties *, unsigned long long), handle, size, properties, flags);
  int result = real (handle, size, properties, flags);
  bool on_device = properties != NULL && properties->location_type == LOCATION_DEVICE;
  JournalRecord record = { .p = result == 0 ? number (*handle) : 0, .q = size, .call = JOURNAL_CREATE,
                           .device = on_device ? recorder_device (properties->location) : JOURNAL_HOST };
  if (result == OUT_OF_MEMORY)
    {
      record.call = JOURNAL_ALLOC_FAILED;
      record.s = on_device ? recorder_free_bytes () : 0;
    }
  return leave_with (result, NULL, record);
}

SHAPE (RETAIN, Handle *handle, Address address)
{
  REAL ((Handle *, Address), handle, address);
  int result = real (handle, address);
  JournalRecord record = { .p = result == 0 ? number (*handle) : 0, .q = number (address), .call = JOURNAL_RETAIN };
  return leave_with (result, NULL, record);
}

SHAPE (RELEASE, Handle handle)
{
  REAL ((Handle), handle);
  Place place = place_before ();
  return leave_with (real (handle), &place, (JournalRecord){ .p = number (handle), .call = JOURNAL_RELEASE });
}

SHAPE (MAP, Address address, size_t size, size_t offset, Handle handle, unsigned long long flags)
{
  REAL ((Address, size_t, size_t, Handle, unsigned long long), address, size, offset, handle, flags);
  int result = real (address, size, offset, handle, flags);
  return leave_with (result, NULL, (JournalRecord){ .p = number (address), .q = size, .r = number (handle), .call = JOURNAL_MAP });
}

SHAPE (UNMAP, Address address, size_t size)
{
  REAL ((Address, size_t), address, size);
  Place place = place_before ();
  return leave_with (real (address, size), &place, (JournalRecord){ .p = number (address), .q = size, .call = JOURNAL_UNMAP });
}

SHAPE (POOL_CREATE, Handle *pool, const Properties *properties)
{
  REAL ((Handle *, const Properties *), pool, properties);
  int result = real (pool, properties);
  bool on_device = properties != NULL && properties->location_type == LOCATION_DEVICE;
  return leave_with (result, NULL, (JournalRecord){ .p = result == 0 ? number (*pool) : 0, .call = JOURNAL_POOL_CREATE,
                                                    .device = on_device ? recorder_device (properties->location) : JOURNAL_HOST });
}

SHAPE (POOL_DESTROY, Handle pool)
{
  REAL ((Handle), pool);
  Place place = place_before ();
  return leave_with (real (pool), &place, (JournalRecord){ .p = number (pool), .call = JOURNAL_POOL_DESTROY });
}

SHAPE (POOL_TRIM, Handle pool, size_t keep)
{
  REAL ((Handle, size_t), pool, keep);
  Place place = place_before ();
  return leave_with (real (pool, keep), &place, (JournalRecord){ .p = number (pool), .q = keep, .call = JOURNAL_POOL_TRIM });
}

/* The default or the current pool: one that the program has made is known by its handle. */
SHAPE (POOL_DEFAULT, Handle *pool, int device)
{
  REAL ((Handle *, int), pool, device);
  int result = real (pool, device);
  JournalRecord record = { .p = result == 0 ? number (*pool) : 0, .device = (uint16_t) device, .call = JOURNAL_POOL_DEFAULT };
  return leave_with (result, NULL, record);
}

SHAPE (POOL_SET, int device, Handle pool)
{
  REAL ((int, Handle), device, pool);
  int result = real (device, pool);
  return leave_with (result, NULL, (JournalRecord){ .p = number (pool), .device = (uint16_t) device, .call = JOURNAL_POOL_SET });
}

SHAPE (STREAM_DESTROY, Handle stream)
{
  REAL ((Handle), stream);
  Place place = place_before ();
  return leave_with (real (stream), &place, (JournalRecord){ .r = number (stream), .call = JOURNAL_STREAM_DESTROY });
}

/* What a call on a stream leaves; without what is not given. */
static JournalRecord
stream_record (JournalCall call, Handle event, Handle stream, bool per_thread)
{
  uint64_t of_stream = stream_number (stream, per_thread);
  return (JournalRecord){ .p = number (event), .r = of_stream, .device = recorder_current_device (), .call = call };
}

/* The numbers of what the host learns are taken after the call, those of what it asks for before. */
SHAPE (STREAM_SYNC, Handle stream)
{
  REAL ((Handle), stream);
  int result = real (stream);
  Place place = { .there = false };
  if (result == 0)
    place = place_before ();
  return leave_with (result, &place, stream_record (JOURNAL_STREAM_SYNC, NULL, stream, hook->per_thread));
}

SHAPE (EVENT_RECORD, Handle event, Handle stream)
{
  REAL ((Handle, Handle), event, stream);
  Place place = place_before ();
  int result = real (event, stream);
  return leave_with (result, &place, stream_record (JOURNAL_EVENT_RECORD, event, stream, hook->per_thread));
}

SHAPE (EVENT_RECORD_FLAGS, Handle event, Handle stream, unsigned flags)
{
  REAL ((Handle, Handle, unsigned), event, stream, flags);
  Place place = place_before ();
  int result = real (event, stream, flags);
  return leave_with (result, &place, stream_record (JOURNAL_EVENT_RECORD, event, stream, hook->per_thread));
}

SHAPE (EVENT_WAIT, Handle stream, Handle event, unsigned flags)
{
  REAL ((Handle, Handle, unsigned), stream, event, flags);
  Place place = place_before ();
  int result = real (stream, event, flags);
  return leave_with (result, &place, stream_record (JOURNAL_EVENT_WAIT, event, stream, hook->per_thread));
}

SHAPE (EVENT_DESTROY, Handle event)
{
  REAL ((Handle), event);
  Place place = place_before ();
  return leave_with (real (event), &place, (JournalRecord){ .p = number (event), .call = JOURNAL_EVENT_DESTROY });
}

SHAPE_VOID (DEVICE_SYNC)
{
  REAL ((void));
  int result = real ();
  return leave_with (result, NULL, (JournalRecord){ .device = recorder_current_device (), .call = JOURNAL_DEVICE_SYNC });
}

/* Of the context that is given, or of the current one; nearly always that is the same device. */
SHAPE (CONTEXT_SYNC, Handle context)
{
  REAL ((Handle), context);
  int result = real (context);
  return leave_with (result, NULL, (JournalRecord){ .device = recorder_current_device (), .call = JOURNAL_DEVICE_SYNC });
}

SHAPE_VOID (DEVICE_RESET)
{
  REAL ((void));
  Place place = place_before ();
  JournalRecord record = { .device = recorder_current_device (), .call = JOURNAL_DEVICE_RESET };
  return leave_with (real (), &place, record);
}

SHAPE (PRIMARY_RESET, int device)
{
  REAL ((int), device);
  Place place = place_before ();
  return leave_with (real (device), &place, (JournalRecord){ .device = (uint16_t) device, .call = JOURNAL_DEVICE_RESET });
}

SHAPE (CONTEXT_DESTROY, Handle context)
{
  REAL ((Handle), context);
  Place place = place_before ();
  return leave_with (real (context), &place, (JournalRecord){ .p = number (context), .call = JOURNAL_CONTEXT_DESTROY });
}

/* ---- looking functions up; nothing of it is recorded */

/* Whether stream 0 of a function looked up with @flags is the thread's. */
static bool
wants_per_thread (const Hook *hook, unsigned long long flags)
{
  return (flags & ENTRY_PER_THREAD) != 0 || ((flags & ENTRY_LEGACY) == 0 && hook->per_thread);
}

#define LOOK_UP(parameters, ...) \
  int (*real) parameters = (int (*) parameters) recorder_real (hook, caller); \
  if (real == NULL) \
    return NOT_INITIALIZED; \
  int result = real (__VA_ARGS__)

static int
wrap_found (int result, const char *symbol, void **function, int version, bool per_thread)
{
  int saved = errno;
  if (result == 0 && function != NULL)
    *function = recorder_wrap_driver (symbol, *function, version, per_thread);
  errno = saved;
  return result;
}

SHAPE (PROC_ADDRESS, const char *symbol, void **function, int version, unsigned long long flags)
{
  LOOK_UP ((const char *, void **, int, unsigned long long), symbol, function, version, flags);
  return wrap_found (result, symbol, function, version, wants_per_thread (hook, flags));
}

SHAPE (PROC_ADDRESS_STATUS, const char *symbol, void **function, int version, unsigned long long flags, int *status)
{
  LOOK_UP ((const char *, void **, int, unsigned long long, int *), symbol, function, version, flags, status);
  return wrap_found (result, symbol, function, version, wants_per_thread (hook, flags));
}

/* The runtime asks for its own version: the newest that it could know; a fourth argument is ignored by runtimes before 12. */
SHAPE (ENTRY_POINT, const char *symbol, void **function, unsigned long long flags, int *status)
{
  LOOK_UP ((const char *, void **, unsigned long long, int *), symbol, function, flags, status);
  return wrap_found (result, symbol, function, 12000, wants_per_thread (hook, flags));
}

SHAPE (ENTRY_POINT_VERSION, const char *symbol, void **function, unsigned version, unsigned long long flags, int *status)
{
  LOOK_UP ((const char *, void **, unsigned, unsigned long long, int *), symbol, function, version, flags, status);
  return wrap_found (result, symbol, function, (int) version, wants_per_thread (hook, flags));
}
