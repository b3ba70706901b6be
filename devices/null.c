/* null.c - the device that serves every request: no cost, no limit, ascending addresses.
 *
 * Why: to measure and test gemem itself.  The time of a replay on this device is the cost of engine
 * and allocator alone.  An allocator that decides differently here than on an unlimited simulated
 * device depends on something it should not.
 *
 * Invariants: allocations lie on 2 MiB boundaries from 0x100000000000, ranges on 1 GiB boundaries
 * from 2^62, no address is returned twice.  Sizes passed to free and destroy are not checked: use
 * the simulated device where errors of the caller must be found.
 */
#include "config.h"

#include "base/units.h"
#include "devices/device-private.h"

typedef struct
{
  GememDevice base;
  guint64 next_address, next_range, last_page;
} NullDevice;

#define FIRST_ADDRESS G_GUINT64_CONSTANT (0x100000000000)
#define FIRST_RANGE (G_GUINT64_CONSTANT (1) << 62)

/* Takes @size bytes from the ascending *@next, in whole steps. */
static guint64
take (guint64 *next, guint64 size, guint64 step)
{
  guint64 address = *next;
  *next += gemem_align_up (MAX (size, 1), step);
  return address;
}

static guint64
null_malloc (GememDevice *device, guint64 size, guint64 stream)
{
  device->held += size;
  return take (&((NullDevice *) device)->next_address, size, 2 * GEMEM_MIB);
}

static void
null_free (GememDevice *device, guint64 address, guint64 size)
{
  device->held -= size;
}

static guint64
null_reserve (GememDevice *device, guint64 size, guint64 alignment)
{
  NullDevice *self = (NullDevice *) device;
  if (alignment > 1)
    self->next_range = gemem_align_up (self->next_range, alignment);
  return take (&self->next_range, size, GEMEM_GIB);
}

static void
null_release (GememDevice *device, guint64 address, guint64 size)
{
}

static GememPage
null_create_page (GememDevice *device, guint64 size)
{
  device->held += size;
  return ++((NullDevice *) device)->last_page;
}

static void
null_destroy_page (GememDevice *device, GememPage page, guint64 size)
{
  device->held -= size;
}

static gboolean
null_map (GememDevice *device, guint64 address, GememPage page, guint64 offset, guint64 size)
{
  return TRUE;
}

static gboolean
null_unmap (GememDevice *device, guint64 address, guint64 size)
{
  return TRUE;
}

static gboolean
null_memset (GememDevice *device, guint64 address, guint8 value, guint64 size, guint64 stream)
{
  return TRUE;
}

static GememDeviceEvent
null_event_record (GememDevice *device, guint64 stream)
{
  return 1;
}

static gboolean
null_event_query (GememDevice *device, GememDeviceEvent event)
{
  return TRUE;
}

static void
null_event_sync (GememDevice *device, GememDeviceEvent event)
{
}

static gboolean
null_stream_sync (GememDevice *device, guint64 stream)
{
  return TRUE;
}

static gboolean
null_device_sync (GememDevice *device)
{
  return TRUE;
}

static void
null_info (GememDevice *device, GememDeviceInfo *info)
{
  *info = (GememDeviceInfo){ .total = GEMEM_UNLIMITED,
                             .free = GEMEM_UNLIMITED - device->held,
                             .granularity = 2 * GEMEM_MIB,
                             .virtual_memory = TRUE };
}

static gboolean
null_adopt (GememDevice *device, guint64 address, guint64 size)
{
  device->held += size;
  return TRUE;
}

static void
null_destroy (GememDevice *device)
{
  g_free (device);
}

static GememDevice *
null_create (gconstpointer params, G_GNUC_UNUSED int ordinal, GError **error)
{
  NullDevice *self = g_new0 (NullDevice, 1);
  self->base.klass = &gemem_null_class;
  g_rec_mutex_init (&self->base.lock);
  self->base.capacity = GEMEM_UNLIMITED;
  self->base.waits = G_MAXUINT32; /* no work is ever outstanding */
  self->next_address = FIRST_ADDRESS;
  self->next_range = FIRST_RANGE;
  return &self->base;
}

const GememDeviceClass gemem_null_class = {
  .name = "null",
  .summary = "accepts every call at no cost, without limit; to test and measure gemem itself",
  .create = null_create,
  .malloc = null_malloc,
  .free = null_free,
  .reserve = null_reserve,
  .release = null_release,
  .create_page = null_create_page,
  .destroy_page = null_destroy_page,
  .map = null_map,
  .unmap = null_unmap,
  .memset = null_memset,
  .event_record = null_event_record,
  .event_query = null_event_query,
  .event_sync = null_event_sync,
  .stream_sync = null_stream_sync,
  .device_sync = null_device_sync,
  .info = null_info,
  .destroy = null_destroy,
  .recorded.adopt = null_adopt,
};
