/* device.c - the calls of allocators: counted, charged, dispatched to the class, then observed.
 *
 * The class does the work and advances `now` while the call waits; the modelled cost is added, so
 * that the time of a call is the whole advance of `now`.  Refused calls cost the same: the driver
 * was asked.  One function (charge) accounts for every call, so that counters, clock and ledger
 * cannot drift apart.
 *
 * Cost: O(1) above the class; two indirect calls (one more for each observer), no allocation.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "devices/device-private.h"

static const char *const call_names[GEMEM_CALL_COUNT] = {
  [GEMEM_CALL_MALLOC] = "malloc",
  [GEMEM_CALL_FREE] = "free",
  [GEMEM_CALL_RESERVE] = "reserve",
  [GEMEM_CALL_RELEASE] = "release",
  [GEMEM_CALL_CREATE] = "create",
  [GEMEM_CALL_DESTROY] = "destroy",
  [GEMEM_CALL_MAP] = "map",
  [GEMEM_CALL_UNMAP] = "unmap",
  [GEMEM_CALL_MEMSET] = "memset",
  [GEMEM_CALL_EVENT_RECORD] = "event_record",
  [GEMEM_CALL_EVENT_QUERY] = "event_query",
  [GEMEM_CALL_EVENT_SYNC] = "event_sync",
  [GEMEM_CALL_STREAM_SYNC] = "stream_sync",
  [GEMEM_CALL_DEVICE_SYNC] = "device_sync",
  [GEMEM_CALL_INFO] = "info",
};

const char *
gemem_device_call_name (GememDeviceCall call)
{
  g_return_val_if_fail ((guint) call < GEMEM_CALL_COUNT, "?");
  return call_names[call];
}

void
gemem_device_destroy (GememDevice *device)
{
  if (device == NULL)
    return;
  g_rec_mutex_clear (&device->lock);
  device->klass->destroy (device);
}

void
gemem_device_lock (GememDevice *device)
{
  g_rec_mutex_lock (&device->lock);
}

void
gemem_device_unlock (GememDevice *device)
{
  g_rec_mutex_unlock (&device->lock);
}

static GememDevice *
innermost (const GememDevice *device)
{
  while (device->inner != NULL)
    device = device->inner;
  return (GememDevice *) device;
}

const GError *
gemem_device_failure (const GememDevice *device)
{
  return innermost (device)->failure;
}

gboolean
gemem_device_is_real (const GememDevice *device)
{
  return innermost (device)->klass->real;
}

void
gemem_device_fail (GememDevice *device, GError *error)
{
  if (device->failure == NULL)
    device->failure = error;
  else
    g_error_free (error);
}

void
gemem_device_misuse (GememDevice *device, const char *what)
{
  device->misuses++;
#if GEMEM_CHECKS >= 1
  g_error ("device %s: %s; this is a bug of the caller", device->klass->name, what);
#endif
}

guint64
gemem_device_capacity (GememDevice *device)
{
  return device->capacity;
}

gboolean
gemem_device_share (GememDevice *device, GememDevice *with, GError **error)
{
  GememDevice *a = innermost (device), *b = innermost (with);

  if (a->klass->share == NULL || a->klass != b->klass)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "device %s: several programs can share only the simulated device; use -d sim",
                 a->klass->share == NULL ? a->klass->name : b->klass->name);
  else if (!a->klass->share (a, b))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "the programs would share devices of %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT
                 " bytes; say how large the one device is, as in -d sim:capacity=24GiB",
                 b->capacity, a->capacity);
  else
    return TRUE;
  return FALSE;
}

char *
gemem_device_describe (GememDevice *device)
{
  GString *text = g_string_new (device->klass->name);
  char separator = ':';
  for (GememDevice *each = device; each != NULL; each = each->inner)
    {
      g_autofree char *settings = each->params != NULL
                                      ? gemem_params_describe (each->klass->params, each->params)
                                      : NULL;
      if (settings == NULL || *settings == '\0')
        continue;
      g_string_append_c (text, separator);
      g_string_append (text, settings);
      separator = ',';
    }
  return g_string_free (text, FALSE);
}

GPtrArray *
gemem_device_settings (GememDevice *device)
{
  GPtrArray *rows = gemem_settings_new ();
  for (GememDevice *each = device; each != NULL; each = each->inner)
    for (const GememParam *param = each->klass->params; each->params != NULL && param->name != NULL;
         param++)
      {
        g_autofree char *value = gemem_param_value_text (param, each->params);
        gemem_settings_add (rows, param->name, value);
      }
  return rows;
}

char *
gemem_device_identify (GememDevice *device)
{
  GememDevice *each = device;

  while (each->inner != NULL)
    each = each->inner;
  return each->klass->identify != NULL ? each->klass->identify (each)
                                       : gemem_device_describe (device);
}

/* ---- calls */

static void
notify (const GememDevice *device, const GememDeviceNote *note)
{
  for (const GememDeviceObserver *observer = device->observers; observer != NULL;
       observer = observer->next)
    observer->func (observer->data, note);
}

/* The start of a call, by the device's clock and, if measured, by the clock of `times`. */
typedef struct
{
  guint64 now, measured;
} Moment;

static inline Moment
begin_call (const GememDevice *device)
{
  return (Moment){ device->now, G_UNLIKELY (device->times != NULL) ? device->times->clock () : 0 };
}

/* Accounts for one call that began at @start. */
static inline void
charge (GememDevice *device, GememDeviceCall call, Moment start, guint64 size, gboolean ok)
{
  const GememDeviceClass *klass = device->klass;

  if (G_UNLIKELY (device->times != NULL))
    gemem_histogram_add (&device->times->ns[call], device->times->clock () - start.measured);
  if (klass->cost != NULL)
    device->now += klass->cost (device, call, size);
  device->calls[call]++;
  device->refused[call] += !ok;
  device->call_ns[call] += device->now - start.now;
  device->call_time += device->now - start.now;
  if (device->held > device->peak_held)
    device->peak_held = device->held;
}

/* The same, and notifies the observers.  The further arguments are fields of the note, which is
 * built only if there is an observer. */
#define ACCOUNT(device, kind, start, bytes, good, ...) \
  G_STMT_START \
  { \
    charge (device, kind, start, bytes, good); \
    if (G_UNLIKELY ((device)->observers != NULL)) \
      notify (device, &(const GememDeviceNote){ .call = kind, .size = bytes, __VA_ARGS__ }); \
  } \
  G_STMT_END

void
gemem_device_add_observer (GememDevice *device, GememDeviceObserver *observer)
{
  GememDeviceObserver **place = &device->observers;

  while (*place != NULL)
    place = &(*place)->next;
  observer->next = NULL;
  *place = observer;
}

void
gemem_device_remove_observer (GememDevice *device, GememDeviceObserver *observer)
{
  for (GememDeviceObserver **place = &device->observers; *place != NULL; place = &(*place)->next)
    if (*place == observer)
      {
        *place = observer->next;
        return;
      }
}

guint64
gemem_device_malloc (GememDevice *device, guint64 size, guint64 stream)
{
  const Moment start = begin_call (device);
  guint64 address = device->klass->malloc (device, size, stream);
  ACCOUNT (device, GEMEM_CALL_MALLOC, start, size, address != 0, .ok = address != 0,
           .address = address, .stream = stream);
  return address;
}

void
gemem_device_free (GememDevice *device, guint64 address, guint64 size)
{
  const Moment start = begin_call (device);
  device->klass->free (device, address, size);
  ACCOUNT (device, GEMEM_CALL_FREE, start, size, TRUE, .ok = TRUE, .address = address);
}

guint64
gemem_device_reserve (GememDevice *device, guint64 size, guint64 alignment)
{
  const Moment start = begin_call (device);
  guint64 address = device->klass->reserve (device, size, alignment);
  ACCOUNT (device, GEMEM_CALL_RESERVE, start, size, address != 0, .ok = address != 0,
           .address = address);
  return address;
}

void
gemem_device_release (GememDevice *device, guint64 address, guint64 size)
{
  const Moment start = begin_call (device);
  device->klass->release (device, address, size);
  ACCOUNT (device, GEMEM_CALL_RELEASE, start, size, TRUE, .ok = TRUE, .address = address);
}

GememPage
gemem_device_create_page (GememDevice *device, guint64 size)
{
  const Moment start = begin_call (device);
  GememPage page = device->klass->create_page (device, size);
  ACCOUNT (device, GEMEM_CALL_CREATE, start, size, page != 0, .ok = page != 0, .address = page);
  return page;
}

void
gemem_device_destroy_page (GememDevice *device, GememPage page, guint64 size)
{
  const Moment start = begin_call (device);
  device->klass->destroy_page (device, page, size);
  ACCOUNT (device, GEMEM_CALL_DESTROY, start, size, TRUE, .ok = TRUE, .address = page);
}

gboolean
gemem_device_map (GememDevice *device, guint64 address, GememPage page, guint64 offset,
                  guint64 size)
{
  const Moment start = begin_call (device);
  gboolean ok = device->klass->map (device, address, page, offset, size);
  ACCOUNT (device, GEMEM_CALL_MAP, start, size, ok, .ok = ok, .address = address);
  return ok;
}

gboolean
gemem_device_unmap (GememDevice *device, guint64 address, guint64 size)
{
  const Moment start = begin_call (device);
  gboolean ok = device->klass->unmap (device, address, size);
  ACCOUNT (device, GEMEM_CALL_UNMAP, start, size, ok, .ok = ok, .address = address);
  return ok;
}

gboolean
gemem_device_memset (GememDevice *device, guint64 address, guint8 value, guint64 size,
                     guint64 stream)
{
  const Moment start = begin_call (device);
  gboolean ok = device->klass->memset (device, address, value, size, stream);
  ACCOUNT (device, GEMEM_CALL_MEMSET, start, size, ok, .ok = ok, .address = address,
           .stream = stream);
  return ok;
}

GememDeviceEvent
gemem_device_event_record (GememDevice *device, guint64 stream)
{
  const Moment start = begin_call (device);
  GememDeviceEvent event = device->klass->event_record (device, stream);
  ACCOUNT (device, GEMEM_CALL_EVENT_RECORD, start, 0, event != 0, .ok = event != 0,
           .stream = stream, .event = event);
  return event;
}

gboolean
gemem_device_event_query (GememDevice *device, GememDeviceEvent event)
{
  const Moment start = begin_call (device);
  gboolean complete = device->klass->event_query (device, event);
  ACCOUNT (device, GEMEM_CALL_EVENT_QUERY, start, 0, TRUE, .ok = complete, .event = event);
  return complete;
}

void
gemem_device_event_sync (GememDevice *device, GememDeviceEvent event)
{
  const Moment start = begin_call (device);
  device->klass->event_sync (device, event);
  ACCOUNT (device, GEMEM_CALL_EVENT_SYNC, start, 0, TRUE, .ok = TRUE, .event = event);
}

gboolean
gemem_device_stream_sync (GememDevice *device, guint64 stream)
{
  const Moment start = begin_call (device);
  gboolean ok = device->klass->stream_sync (device, stream);
  ACCOUNT (device, GEMEM_CALL_STREAM_SYNC, start, 0, ok, .ok = ok, .stream = stream);
  return ok;
}

gboolean
gemem_device_sync (GememDevice *device)
{
  const Moment start = begin_call (device);
  gboolean ok = device->klass->device_sync (device);
  ACCOUNT (device, GEMEM_CALL_DEVICE_SYNC, start, 0, ok, .ok = ok);
  return ok;
}

void
gemem_device_info (GememDevice *device, GememDeviceInfo *info)
{
  const Moment start = begin_call (device);
  device->klass->info (device, info);
  ACCOUNT (device, GEMEM_CALL_INFO, start, 0, TRUE, .ok = TRUE);
}

gboolean
gemem_device_settings_recorded (const GPtrArray *settings)
{
  for (guint i = 0; settings != NULL && i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];
      if (gemem_name_equal (setting->key, "address"))
        return gemem_name_equal (setting->value, "recorded");
    }
  return FALSE;
}

/* ---- following a recording: no calls of the allocator */

void
gemem_device_expect (GememDevice *device, guint64 address, guint64 size)
{
  if (device->klass->recorded.expect != NULL)
    device->klass->recorded.expect (device, address, size);
}

void
gemem_device_expect_map (GememDevice *device, guint64 address, guint64 size, gboolean whole)
{
  if (device->klass->recorded.expect_map != NULL)
    device->klass->recorded.expect_map (device, address, size, whole);
}

void
gemem_device_limit (GememDevice *device, guint64 bytes)
{
  if (device->klass->recorded.limit != NULL)
    device->klass->recorded.limit (device, bytes);
}

gboolean
gemem_device_adopt (GememDevice *device, guint64 address, guint64 size)
{
  gboolean ok = device->klass->recorded.adopt != NULL
                && device->klass->recorded.adopt (device, address, size);
  if (device->held > device->peak_held)
    device->peak_held = device->held;
  return ok;
}

void
gemem_device_compute (GememDevice *device)
{
  GememDevice *self = innermost (device);

  if (self->klass->compute != NULL)
    self->klass->compute (self);
}

/* ---- memory contents: of the innermost device, not of wrappers */

gboolean
gemem_device_touch (GememDevice *device, GError **error)
{
  GememDevice *self = innermost (device);

  if (self->klass->probe.touch != NULL)
    return self->klass->probe.touch (self, error);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "device %s: it has no memory to touch; use -d cuda:0, or leave --touch out",
               self->klass->name);
  return FALSE;
}

gboolean
gemem_device_fill (GememDevice *device, guint64 address, guint64 size, guint32 tag, guint64 stream)
{
  GememDevice *self = innermost (device);
  return self->klass->probe.fill (self, address, size, tag, stream);
}

gboolean
gemem_device_verify (GememDevice *device, guint64 address, guint64 size, guint32 tag,
                     guint64 stream, guint64 check)
{
  GememDevice *self = innermost (device);
  return self->klass->probe.verify (self, address, size, tag, stream, check);
}

gboolean
gemem_device_finding (GememDevice *device, gboolean wait, GememMismatch *finding)
{
  GememDevice *self = innermost (device);
  return self->klass->probe.finding (self, wait, finding);
}

gboolean
gemem_device_occupy (GememDevice *device, guint64 ns, guint64 stream, GError **error)
{
  GememDevice *self = innermost (device);

  if (self->klass->probe.occupy != NULL)
    return self->klass->probe.occupy (self, ns, stream, error);
  g_set_error (
      error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
      "device %s: it has no streams to occupy; use -d sim or -d cuda:0, or leave --occupy out",
      self->klass->name);
  return FALSE;
}
