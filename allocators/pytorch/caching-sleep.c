/* caching-sleep.c - memory that sleeps: segments of private pools that keep their addresses while
 * the device has their bytes back (vLLM's CuMemAllocator, torch_memory_saver).
 *
 * Such a pool has a driver layer of its own.  A segment of n bytes is a range of addresses and one
 * physical page of s bytes, n rounded up to the granularity of the device; asleep it is the range
 * alone.  PyTorch does not see the difference: blocks, free sets and reserved_bytes stay, so a free
 * block of a segment that sleeps can be found and returned, and using it faults.
 *
 * Invariants: `sleepers` has every segment of these pools, in the order of their creation; one that
 * is asleep has no page; `host` is the sum of what the sleepers keep there.  Waking is all or
 * nothing for the device, but what was woken before a refusal has lost its copy.
 * Assumed: what sleeps already stays as it is when all are put to sleep, and what is awake when
 * they are woken; the host waits for the device before memory is unmapped.
 * Cost: O(segments of these pools) per event; an ordinary pool pays a test per segment obtained.
 * Origin: peers.md section 1j.
 */
#include "config.h"

#include <string.h>

#include "allocators/pytorch/caching.h"

struct _CachingRegion
{
  char *tag;
  gboolean backup; /* pausing copies to the host */
};

struct _CachingSleeper
{
  CachingSegment *segment;
  const CachingRegion *region; /* in which it was created */
  guint64 bytes;               /* of the page, and of the range */
  GememPage page;              /* 0: asleep */
  guint64 host;                /* copied there */
  gboolean dropped;            /* it never wakes */
};

struct _CachingSleep
{
  GPtrArray *regions;  /* CachingRegion, owned */
  GPtrArray *sleepers; /* CachingSleeper, owned by their segments */
  guint64 granularity;
  guint64 host, host_peak;
};

static void
region_free (gpointer data)
{
  CachingRegion *region = data;

  g_free (region->tag);
  g_free (region);
}

static CachingSleeper *
sleeper_at (const Caching *caching, guint i)
{
  return g_ptr_array_index (caching->sleep->sleepers, i);
}

static guint
count (const Caching *caching)
{
  return caching->sleep != NULL ? caching->sleep->sleepers->len : 0;
}

/* ---- the driver layer */

/* FALSE: the device refused; nothing is kept. */
static gboolean
put_page (Caching *caching, CachingSleeper *sleeper, guint64 address)
{
  GememDevice *device = caching->base.device;
  const GememPage page = gemem_device_create_page (device, sleeper->bytes);

  if (page == 0)
    return FALSE;
  if (!gemem_device_map (device, address, page, 0, sleeper->bytes))
    {
      gemem_device_destroy_page (device, page, sleeper->bytes);
      return FALSE;
    }
  sleeper->page = page;
  return TRUE;
}

/* It stays awake if the device refuses. */
static void
drop_page (Caching *caching, CachingSleeper *sleeper, guint64 address)
{
  GememDevice *device = caching->base.device;

  if (!gemem_device_unmap (device, address, sleeper->bytes)
      && !gemem_device_unmap (device, address, sleeper->bytes)) /* once more */
    return;
  gemem_device_destroy_page (device, sleeper->page, sleeper->bytes);
  sleeper->page = 0;
}

CachingBlock *
gemem_caching_sleeper_new (Caching *caching, CachingPool *pool, guint64 size, guint64 stream)
{
  GememDevice *device = caching->base.device;
  CachingSleeper *sleeper = g_new0 (CachingSleeper, 1);
  CachingBlock *block;
  guint64 address;

  sleeper->bytes = gemem_round_up (size, caching->sleep->granularity);
  sleeper->region = pool->region;
  address = gemem_device_reserve (device, sleeper->bytes, caching->sleep->granularity);
  if (address == 0 || !put_page (caching, sleeper, address))
    {
      if (address != 0)
        gemem_device_release (device, address, sleeper->bytes);
      g_free (sleeper);
      return NULL;
    }
  caching->num_device_alloc++;
  gemem_caching_pair_of (pool)->balance++;
  block = gemem_caching_segment_add (caching, pool, address, size, stream);
  sleeper->segment = block->segment;
  block->segment->sleeper = sleeper;
  g_ptr_array_add (caching->sleep->sleepers, sleeper);
  return block;
}

void
gemem_caching_sleeper_free (Caching *caching, CachingSegment *segment)
{
  CachingSleeper *sleeper = segment->sleeper;

  if (sleeper->page != 0)
    {
      gemem_device_sync (caching->base.device);
      drop_page (caching, sleeper, segment->address);
    }
  if (sleeper->page == 0) /* else the device keeps both */
    gemem_device_release (caching->base.device, segment->address, sleeper->bytes);
  caching->sleep->host -= sleeper->host;
  g_ptr_array_remove (caching->sleep->sleepers, sleeper);
  g_free (sleeper);
}

void
gemem_caching_sleep_clear (Caching *caching)
{
  if (caching->sleep == NULL)
    return;
  g_ptr_array_unref (caching->sleep->regions);
  g_ptr_array_unref (caching->sleep->sleepers);
  g_free (caching->sleep);
}

/* ---- events of the program */

static gboolean
names (const char *const *tags, const CachingSleeper *sleeper)
{
  return g_strv_contains (tags, sleeper->region->tag);
}

/* Copies @bytes of @sleeper to the host, and takes its memory. */
static void
put_to_sleep (Caching *caching, CachingSleeper *sleeper, guint64 bytes)
{
  CachingSleep *sleep = caching->sleep;

  drop_page (caching, sleeper, sleeper->segment->address);
  if (sleeper->page != 0)
    return;
  sleeper->host = bytes;
  sleep->host += bytes;
  sleep->host_peak = MAX (sleep->host_peak, sleep->host);
}

void
gemem_caching_sleep (GememAllocator *allocator, const char *const *offload)
{
  Caching *caching = (Caching *) allocator;

  gemem_device_sync (allocator->device);
  for (guint i = 0; i < count (caching); i++)
    {
      CachingSleeper *sleeper = sleeper_at (caching, i);
      if (sleeper->page != 0)
        put_to_sleep (caching, sleeper, names (offload, sleeper) ? sleeper->bytes : 0);
    }
  allocator->klass->trim (allocator);
}

void
gemem_caching_pause (GememAllocator *allocator, const char *const *tags)
{
  Caching *caching = (Caching *) allocator;
  const gboolean all = *tags == NULL;

  for (guint i = 0; i < count (caching); i++)
    {
      const CachingSleeper *sleeper = sleeper_at (caching, i);
      if (sleeper->page == 0 && !sleeper->dropped && (all || names (tags, sleeper)))
        {
          gemem_allocator_refuse (allocator,
                                  "memory of '%s' is paused that sleeps already, at which "
                                  "torch_memory_saver ends the program; wake it first",
                                  sleeper->region->tag);
          return;
        }
    }
  gemem_device_sync (allocator->device);
  for (guint i = 0; i < count (caching); i++)
    {
      CachingSleeper *sleeper = sleeper_at (caching, i);
      if (sleeper->page != 0 && (all || names (tags, sleeper)))
        put_to_sleep (caching, sleeper, sleeper->region->backup ? sleeper->segment->size : 0);
    }
}

static gboolean
wakes (const CachingSleeper *sleeper, const char *const *tags)
{
  return sleeper->page == 0 && !sleeper->dropped && (*tags == NULL || names (tags, sleeper));
}

static void
forget_copy (CachingSleep *sleep, CachingSleeper *sleeper)
{
  sleep->host -= sleeper->host;
  sleeper->host = 0;
}

gboolean
gemem_caching_wake (GememAllocator *allocator, const char *const *tags, guint64 *needed)
{
  Caching *caching = (Caching *) allocator;
  g_autoptr (GPtrArray) woken = g_ptr_array_new ();
  gboolean ok = TRUE;

  *needed = 0;
  for (guint i = 0; i < count (caching); i++)
    if (wakes (sleeper_at (caching, i), tags))
      {
        g_ptr_array_add (woken, sleeper_at (caching, i));
        *needed += sleeper_at (caching, i)->bytes;
      }
  for (guint i = 0; ok && i < woken->len; i++)
    {
      CachingSleeper *sleeper = g_ptr_array_index (woken, i);
      ok = put_page (caching, sleeper, sleeper->segment->address);
      if (ok)
        forget_copy (caching->sleep, sleeper);
      for (guint j = i; !ok && j-- > 0;)
        {
          CachingSleeper *before = g_ptr_array_index (woken, j);
          drop_page (caching, before, before->segment->address);
        }
    }
  return ok;
}

/* Whether the pools of the layer are its own although segments are expandable, as the release and the layer have it. */
static gboolean
is_own (Caching *caching)
{
  const CachingSettings *settings = &caching->settings;

  if (!settings->expandable || settings->version->own == CACHING_OWN_KEPT)
    return TRUE;
  if (!settings->sleep_expandable)
    caching->base.approximation = "vLLM or torch_memory_saver is taken to switch "
                                  "expandable_segments off for its pools; if it "
                                  "does not, sleep_pools_expandable=yes";
  else if (settings->version->own == CACHING_OWN_REFUSED)
    gemem_allocator_refuse (&caching->base,
                            "PyTorch %s refuses such a pool with expandable_segments; use "
                            "expandable_segments=no",
                            settings->version->name);
  return !settings->sleep_expandable;
}

void
gemem_caching_sleep_begin (Caching *caching, CachingPoolPair *pair, const char *tag,
                           gboolean backup)
{
  GememAllocator *allocator = &caching->base;
  GememDeviceInfo info = { 0 };
  CachingRegion *region;

  if (!is_own (caching))
    return;
  if (caching->sleep == NULL)
    {
      gemem_device_info (allocator->device, &info);
      if (!info.virtual_memory)
        {
          gemem_allocator_refuse (allocator,
                                  "memory that sleeps needs a device with virtual memory; "
                                  "use one that has it");
          return;
        }
      caching->sleep = g_new0 (CachingSleep, 1);
      caching->sleep->granularity = info.granularity;
      caching->sleep->regions = g_ptr_array_new_with_free_func (region_free);
      caching->sleep->sleepers = g_ptr_array_new ();
    }
  region = g_new (CachingRegion, 1);
  *region = (CachingRegion){ g_strdup (tag), backup };
  g_ptr_array_add (caching->sleep->regions, region);
  pair->small.region = pair->large.region = region;
}

/* The pool goes on to have the layer: a segment that is asked for later has the last name. */
void
gemem_caching_sleep_end (GememAllocator *allocator, guint32 id, gboolean drop)
{
  Caching *caching = (Caching *) allocator;

  if (!drop)
    return;
  for (guint i = 0; i < count (caching); i++)
    {
      CachingSleeper *sleeper = sleeper_at (caching, i);
      const CachingBlock *first = sleeper->segment->first;
      if (sleeper->segment->pool->id != id || first->state != CACHING_FREE || first->next != NULL
          || sleeper->dropped)
        continue;
      if (sleeper->page != 0)
        drop_page (caching, sleeper, sleeper->segment->address);
      sleeper->dropped = sleeper->page == 0;
    }
}

/* ---- the state */

gboolean
gemem_caching_is_asleep (G_GNUC_UNUSED GememAllocator *allocator, const GememBlock *live)
{
  const CachingBlock *block = live->handle;

  return block->state != CACHING_GONE && block->segment->sleeper != NULL
         && block->segment->sleeper->page == 0;
}

guint64
gemem_caching_host_bytes (GememAllocator *allocator)
{
  const Caching *caching = (const Caching *) allocator;

  return caching->sleep != NULL ? caching->sleep->host : 0;
}

void
gemem_caching_sleeper_span (const CachingSegment *segment, GememSpan *span)
{
  if (segment->sleeper->page == 0)
    span->state = GEMEM_SPAN_UNMAPPED;
  span->segment_size = segment->sleeper->bytes;
}

/* What the page has beyond the segment. */
void
gemem_caching_sleeper_tail (const CachingSegment *segment, GememSpanFunc func, gpointer data)
{
  GememSpan span = { .address = segment->address + segment->size,
                     .size = segment->sleeper->bytes - segment->size,
                     .segment = segment->address,
                     .segment_size = segment->sleeper->bytes,
                     .stream = segment->first->node.group,
                     .pool = segment->pool->id,
                     .state = GEMEM_SPAN_OVERHEAD };

  span.user = span.address;
  gemem_caching_sleeper_span (segment, &span);
  if (span.size > 0)
    func (&span, data);
}

void
gemem_caching_sleep_stats (const Caching *caching, GememStatFunc func, gpointer data)
{
  guint64 usage = 0, asleep = 0;

  if (caching->sleep == NULL)
    return;
  for (guint i = 0; i < count (caching); i++)
    {
      const CachingSleeper *sleeper = sleeper_at (caching, i);
      usage += sleeper->dropped ? 0 : sleeper->bytes;
      asleep += sleeper->page == 0 && !sleeper->dropped ? sleeper->bytes : 0;
    }
  func ("sleep.get_current_usage", usage, "B", data);
  func ("sleep.asleep_bytes", asleep, "B", data);
  func ("sleep.host_bytes.current", caching->sleep->host, "B", data);
  func ("sleep.host_bytes.peak", caching->sleep->host_peak, "B", data);
}
