/* heap.c - creates and closes a heap, and serves the calls of the program; see heap.h.
 * heap-events.c feeds the engine, pools.c handles private pools, heap-report.c answers queries. */
#include "config.h"

#include <string.h>

#include "sim/live/heap-private.h"

/* ---- streams */

/* The number for the program's stream @handle; a new one on first use. */
static guint64
stream_number (GememHeap *heap, guint64 handle)
{
  gboolean existed;
  guint64 *number = gemem_idmap_insert (heap->streams, handle, &existed);

  if (existed)
    return *number;
  *number = handle != 0 ? ++heap->last_stream : 0; /* 0 is the default stream in both numberings */
  if (heap->name_stream != NULL)
    heap->name_stream (heap->run->device, *number, handle);
  /* what was freed while there was one stream may be allocated to the second */
  if (gemem_idmap_count (heap->streams) == 2 && !gemem_heap_knows_streams (heap))
    gemem_device_sync (heap->run->device);
  return *number;
}

/* ---- the program's calls */

static gboolean
try_alloc (GememHeap *heap, GememTraceEvent *event, GememBlock *block, GError **error)
{
  const GememLive *live;

  event->id = heap->recording != NULL ? gemem_recording_new_id (heap->recording) : ++heap->last_id;
  event->flags = 0;
  if (!gemem_heap_feed (heap, event, error))
    return FALSE;
  live = gemem_live_find (&heap->run->live, event->id);
  memset (block, 0, sizeof *block);
  if (live != NULL && live->flags != GEMEM_LIVE_UNSERVED)
    *block = live->block;
  else
    {
      GememTraceEvent end = { .kind = GEMEM_EVENT_FREE,
                              .id = event->id,
                              .flags = GEMEM_EVENT_FAILED };
      return gemem_heap_feed (heap, &end, error);
    }
  return TRUE;
}

guint64
gemem_heap_alloc (GememHeap *heap, guint64 size, guint64 stream, guint32 pool, GError **error)
{
  GememTraceEvent event = {
    .kind = GEMEM_EVENT_ALLOC, .size = size, .stream = stream_number (heap, stream), .pool = pool
  };
  GememBlock block;
  gboolean any;

  if (!gemem_heap_release_ready (heap, FALSE, &any, error)
      || !try_alloc (heap, &event, &block, error))
    return 0;
  while (block.address == 0)
    if (!gemem_heap_release_ready (heap, TRUE, &any, error) || !any
        || !try_alloc (heap, &event, &block, error))
      return 0;
  *(GememHeapBlock *) gemem_idmap_insert (heap->blocks, block.address,
                                          NULL) = (GememHeapBlock){ event.id, event.stream, NULL, 0,
                                                                    pool };
  return block.address;
}

static gboolean
unknown (const GememHeap *heap, guint64 address, const char *what, GError **error)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s: 0x%" G_GINT64_MODIFIER
               "x is %s, but no live block begins there; look for a double free",
               heap->run->name, address, what);
  return FALSE;
}

gboolean
gemem_heap_free (GememHeap *heap, guint64 address, GError **error)
{
  GememHeapBlock block;
  gboolean any;

  if (!gemem_heap_release_ready (heap, FALSE, &any, error))
    return FALSE;
  if (!gemem_idmap_remove (heap->blocks, address, &block))
    return unknown (heap, address, "freed", error);
  if (gemem_heap_pool_keeps (heap, &block))
    return TRUE;
  return gemem_heap_release (heap, &block, error);
}

gboolean
gemem_heap_use_on_stream (GememHeap *heap, guint64 address, guint64 stream, GError **error)
{
  const guint64 number = stream_number (heap, stream);
  GememHeapBlock *block = gemem_idmap_lookup (heap->blocks, address);

  if (block == NULL)
    return unknown (heap, address, "used", error);
  for (guint i = 0; i < block->n_users; i++)
    if (block->users[i] == number)
      return TRUE;
  block->users = g_renew (guint64, block->users, block->n_users + 1);
  block->users[block->n_users++] = number;
  return TRUE;
}

gboolean
gemem_heap_has (const GememHeap *heap, guint64 address)
{
  return gemem_idmap_lookup (heap->blocks, address) != NULL;
}

gboolean
gemem_heap_trim (GememHeap *heap, GError **error)
{
  GememTraceEvent event = { .kind = GEMEM_EVENT_TRIM };
  gboolean any = TRUE;

  while (any) /* like empty_cache, waits for blocks that streams still use */
    if (!gemem_heap_release_ready (heap, TRUE, &any, error))
      return FALSE;
  return gemem_heap_feed (heap, &event, error);
}

/* ---- beginning and end */

static gboolean
choose (GememHeap *heap, const GememHeapOptions *options, GError **error)
{
  const GememAllocatorSpec *spec;

  heap->specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  if (!gemem_allocator_spec_parse (options->allocator, heap->specs, error))
    return FALSE;
  spec = heap->specs->pdata[0];
  if (heap->specs->len != 1)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "allocator '%s' stands for %u allocators; a program runs with one",
                 options->allocator, heap->specs->len);
  else if (spec->klass->prepare != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "allocator %s is shown the whole trace before it serves, which a running program "
                 "does not have; "
                 "name another, or record the program and replay that",
                 spec->klass->name);
  else
    return TRUE;
  return FALSE;
}

GememHeap *
gemem_heap_new (const GememHeapOptions *options, GError **error)
{
  GememHeap *heap = g_new0 (GememHeap, 1);

  heap->clock = options->clock;
  heap->start = options->clock ();
  heap->recording = options->recording;
  heap->name_stream = options->name_stream;
  heap->device = g_strdup (options->device);
  heap->observer = (GememDeviceObserver){ .func = gemem_heap_note_call, .data = heap };
  if (choose (heap, options, error))
    {
      heap->job = (GememJob){ .allocator = heap->specs->pdata[0],
                              .device_spec = heap->device,
                              .device_ordinal = options->ordinal,
                              .measure = TRUE,
                              .clock = options->clock,
                              .timeline_points = GEMEM_TIMELINE_POINTS_DEFAULT,
                              .observer = heap->recording != NULL ? &heap->observer : NULL };
      g_autofree char *name = g_strdup_printf ("device %d (%s)", options->ordinal, options->device);
      heap->run = gemem_run_open (&heap->job, name, (guint16) options->ordinal, options->capacity,
                                  error);
    }
  if (heap->run == NULL)
    {
      g_ptr_array_unref (heap->specs);
      g_free (heap->device);
      g_free (heap);
      return NULL;
    }
  heap->streams = gemem_idmap_new (sizeof (guint64));
  heap->blocks = gemem_idmap_new (sizeof (GememHeapBlock));
  gemem_waiting_init (&heap->waiting, heap->run->device);
  gemem_heap_pools_init (heap);
  if (heap->recording != NULL)
    gemem_recording_describe (heap->recording, heap->run->klass->name,
                              heap->job.allocator->settings, heap->run->device);
  return heap;
}

gboolean
gemem_heap_close (GememHeap *heap, GError **error)
{
  gsize position = 0;
  gpointer block;
  guint64 address;
  gboolean ok;

  ok = gemem_run_close (heap->run, error);
  while (gemem_idmap_next (heap->blocks, &position, &address, &block))
    g_free (((GememHeapBlock *) block)->users);
  gemem_waiting_clear (&heap->waiting);
  gemem_heap_pools_clear (heap);
  gemem_idmap_free (heap->blocks);
  gemem_idmap_free (heap->streams);
  g_ptr_array_unref (heap->specs);
  g_free (heap->device);
  g_free (heap);
  return ok;
}
