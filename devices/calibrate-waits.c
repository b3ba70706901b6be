/* calibrate-waits.c - which calls wait until the device is idle: observed, not timed. */
#include "config.h"

#include "devices/calibrate-private.h"

#define TRIALS 5         /* of each call */
#define WORK_NS 10000000 /* work on the stream during the call */
#define WORK_CALLS 64    /* memsets, if the stream cannot be occupied */

/* The objects that a call needs, created before the call. */
typedef struct
{
  guint64 address, range;
  GememPage page;
} Subject;

/* Creates everything that @call needs. */
static gboolean
set_up (GememCalibrator *self, GememDeviceCall call, Subject *subject)
{
  GememDevice *device = self->device;
  const guint64 bytes = self->unit;

  *subject = (Subject){ 0 };
  if (call == GEMEM_CALL_FREE)
    return (subject->address = gemem_device_malloc (device, bytes, 0)) != 0;
  if (call == GEMEM_CALL_RELEASE || call == GEMEM_CALL_MAP || call == GEMEM_CALL_UNMAP)
    subject->range = gemem_device_reserve (device, bytes, 0);
  if (call == GEMEM_CALL_DESTROY || call == GEMEM_CALL_MAP || call == GEMEM_CALL_UNMAP)
    subject->page = gemem_device_create_page (device, bytes);
  return call != GEMEM_CALL_UNMAP
         || gemem_device_map (device, subject->range, subject->page, 0, bytes);
}

static void
make (GememCalibrator *self, GememDeviceCall call, Subject *subject)
{
  GememDevice *device = self->device;
  const guint64 bytes = self->unit;

  if (call == GEMEM_CALL_MALLOC)
    subject->address = gemem_device_malloc (device, bytes, 0);
  else if (call == GEMEM_CALL_FREE)
    gemem_device_free (device, subject->address, bytes);
  else if (call == GEMEM_CALL_RESERVE)
    subject->range = gemem_device_reserve (device, bytes, 0);
  else if (call == GEMEM_CALL_RELEASE)
    gemem_device_release (device, subject->range, bytes);
  else if (call == GEMEM_CALL_CREATE)
    subject->page = gemem_device_create_page (device, bytes);
  else if (call == GEMEM_CALL_DESTROY)
    gemem_device_destroy_page (device, subject->page, bytes);
  else if (call == GEMEM_CALL_MAP)
    gemem_device_map (device, subject->range, subject->page, 0, bytes);
  else
    gemem_device_unmap (device, subject->range, bytes);
}

/* Releases what is left after the call. */
static void
clear (GememCalibrator *self, GememDeviceCall call, const Subject *subject)
{
  GememDevice *device = self->device;
  const guint64 bytes = self->unit;

  if (call == GEMEM_CALL_MAP)
    gemem_device_unmap (device, subject->range, bytes);
  if (subject->page != 0 && call != GEMEM_CALL_DESTROY)
    gemem_device_destroy_page (device, subject->page, bytes);
  if (subject->range != 0 && call != GEMEM_CALL_RELEASE)
    gemem_device_release (device, subject->range, bytes);
  if (subject->address != 0 && call != GEMEM_CALL_FREE)
    gemem_device_free (device, subject->address, bytes);
}

/* Queues work on the stream: of that length, or else memsets of @bytes at @work. */
static void
put_work (GememCalibrator *self, guint64 work, guint64 bytes)
{
  if (gemem_device_occupy (self->device, WORK_NS, STREAM, NULL))
    return;
  for (guint i = 0; i < WORK_CALLS; i++)
    gemem_device_memset (self->device, work, 0, bytes, STREAM);
}

/* Makes @call while the stream has work on @bytes at @work.  *@seen: the work was pending before
 * the call. */
static gboolean
waits (GememCalibrator *self, GememDeviceCall call, guint64 work, guint64 bytes, gboolean *seen)
{
  GememDevice *device = self->device;
  Subject subject;
  GememDeviceEvent event;
  gboolean waited;

  *seen = FALSE;
  if (!set_up (self, call, &subject))
    return FALSE;
  put_work (self, work, bytes);
  event = gemem_device_event_record (device, STREAM);
  *seen = event != 0 && !gemem_device_event_query (device, event);
  make (self, call, &subject);
  waited = gemem_device_event_query (device, event);
  gemem_device_sync (device);
  clear (self, call, &subject);
  return waited;
}

void
gemem_calibrate_find_waiting (GememCalibrator *self)
{
  const guint64 bytes = 2 * self->unit, work = gemem_device_malloc (self->device, bytes, 0);

  for (GememDeviceCall call = GEMEM_CALL_MALLOC; work != 0 && call <= GEMEM_CALL_UNMAP; call++)
    {
      GememCalibratedCall *out = &self->out->calls[call];
      guint trials = 0, waited = 0;

      for (guint i = 0; i < TRIALS && out->measured; i++)
        {
          gboolean seen, did = waits (self, call, work, bytes, &seen);
          trials += seen;
          waited += seen && did;
        }
      out->waits_measured = trials > 0;
      if (trials > 0)
        out->cost.synchronises = 2 * waited > trials;
    }
  if (work != 0)
    gemem_device_free (self->device, work, bytes);
}
