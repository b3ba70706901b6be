/* static.c - see static.h; the section numbers are those of ge-runtime.md. */
#include "config.h"

#include "allocators/ge/static.h"
#include "traces/trace.h"

void
gemem_ge_static_init (GeStatic *memory, GememDevice *device, const GeStaticOptions *options)
{
  *memory = (GeStatic){ .device = device, .options = *options };
  if (options->pages != NULL)
    gemem_ge_session_init (&memory->range, options->pages, options->total, TRUE);
  else
    gemem_ge_pages_init (&memory->fixed_pages, device, GE_SMALL_PAGE, GE_1G_NO);
  gemem_ge_session_init (&memory->fixed,
                         options->pages != NULL ? options->pages : &memory->fixed_pages,
                         options->total, TRUE);
  gemem_ge_active_init (&memory->active, device, options->pages != NULL ? &memory->range : NULL);
  memory->leaked = g_array_new (FALSE, FALSE, sizeof (GeStaticBlock));
  memory->graphs = gemem_idmap_new (sizeof (GeStaticGraph *));
}

static void
graph_free (GeStaticGraph *graph)
{
  if (graph->pieces != NULL)
    g_array_unref (graph->pieces);
  g_free (graph);
}

/* ---- blocks of the device */

static gboolean
take (const GeStatic *memory, GeStaticBlock *block, guint64 size, guint64 stream)
{
  block->address = gemem_device_malloc (memory->device, size, stream);
  block->size = block->address != 0 ? size : 0;
  return block->address != 0;
}

static void
give_back (const GeStatic *memory, GeStaticBlock *block)
{
  if (block->size > 0)
    gemem_device_free (memory->device, block->address, block->size);
  *block = (GeStaticBlock){ 0 };
}

/* The block that all graphs have, of the documented policies: in pages, or, without them,
 * of the device. */
static gboolean
take_largest (GeStatic *memory, guint64 size, guint64 stream)
{
  if (memory->options.pages != NULL)
    memory->largest.address = gemem_ge_session_append (&memory->range, size);
  if (memory->largest.address == 0)
    return take (memory, &memory->largest, size, stream);
  memory->largest.size = size;
  return TRUE;
}

static void
give_largest (GeStatic *memory)
{
  if (memory->largest.size == 0)
    return;
  if (memory->range.used == 0)
    give_back (memory, &memory->largest);
  else
    gemem_ge_session_reset (&memory->range);
  memory->largest = (GeStaticBlock){ 0 };
}

void
gemem_ge_static_clear (GeStatic *memory)
{
  gsize position = 0;
  gpointer graph;
  guint64 id;

  while (gemem_idmap_next (memory->graphs, &position, &id, &graph))
    {
      give_back (memory, &(*(GeStaticGraph **) graph)->own);
      give_back (memory, &(*(GeStaticGraph **) graph)->apart);
      graph_free (*(GeStaticGraph **) graph);
    }
  gemem_idmap_free (memory->graphs);
  for (guint i = 0; i < memory->leaked->len; i++)
    give_back (memory, &g_array_index (memory->leaked, GeStaticBlock, i));
  g_array_unref (memory->leaked);
  give_largest (memory);
  gemem_ge_active_clear (&memory->active);
  gemem_ge_session_clear (&memory->fixed);
  if (memory->options.pages != NULL)
    gemem_ge_session_clear (&memory->range);
  else
    gemem_ge_pages_clear (&memory->fixed_pages);
}

/* ---- a block for each graph */

guint64
gemem_ge_static_need (const GememGraphSegment *segments, guint n)
{
  guint64 need = 0;

  for (guint i = 0; i < n; i++)
    if ((segments[i].flags & GEMEM_GRAPH_SEGMENT_NO_ALLOC) == 0)
      need = segments[i].offset + segments[i].size;
  return need;
}

static gboolean
load_own (GeStatic *memory, GeStaticGraph *graph, guint64 need, guint64 stream)
{
  if (need == 0 || !take (memory, &graph->own, need, stream))
    return FALSE;
  memory->blocks += need;
  gemem_device_memset (memory->device, graph->own.address, 0, need, stream);
  return TRUE;
}

static void
unload_own (GeStatic *memory, GeStaticGraph *graph)
{
  memory->blocks -= graph->own.size;
  if (memory->options.leaky && graph->own.size > 0)
    g_array_append_val (memory->leaked, graph->own);
  else
    give_back (memory, &graph->own);
}

/* ---- policies 2 and 4 as documented */

static gboolean
resize (GeStatic *memory, guint64 need, guint64 stream)
{
  const guint64 before = memory->largest.size;

  give_largest (memory);
  if (take_largest (memory, need, stream))
    return TRUE;
  /* The graphs that are loaded keep what they had, if the device still has it. */
  if (before > 0)
    take_largest (memory, before, stream);
  return FALSE;
}

static gboolean
load_documented (GeStatic *memory, guint64 need, guint64 stream)
{
  if ((need > memory->largest.size && !resize (memory, need, stream)) || memory->largest.size == 0)
    return FALSE;
  if (need > 0)
    gemem_device_memset (memory->device, memory->largest.address, 0, need, stream);
  memory->loads++;
  return TRUE;
}

static void
unload_documented (GeStatic *memory)
{
  if (--memory->loads == 0)
    give_largest (memory);
}

gboolean
gemem_ge_static_replaces (const GeStatic *memory, const GememGraphSegment *segments, guint n)
{
  guint64 need = 0;

  for (guint i = 0; i < n; i++)
    if ((segments[i].flags & (GEMEM_GRAPH_SEGMENT_NO_ALLOC | GEMEM_GRAPH_SEGMENT_FIXED)) == 0)
      need = segments[i].offset + segments[i].size;
  return memory->largest.size > 0 && need > memory->largest.size;
}

/* ---- fixed segments */

static gboolean
load_apart (GeStatic *memory, GeStaticGraph *graph, guint64 bytes, guint64 stream)
{
  if (!take (memory, &graph->apart, bytes, stream))
    return FALSE;
  memory->blocks += bytes;
  return TRUE;
}

/* Places the fixed segments, *address is where, and leaves the others in @rest; where fixed
 * segments are like others, all.  FALSE: refused. */
static gboolean
load_fixed (GeStatic *memory, GeStaticGraph *graph, guint64 stream,
            const GememGraphSegment *segments, guint n, GArray *rest, guint64 *address)
{
  const guint32 fixed = memory->options.fixed != GE_FIXED_INSIDE ? GEMEM_GRAPH_SEGMENT_FIXED : 0;
  guint64 bytes = 0;

  for (guint i = 0; i < n; i++)
    if ((segments[i].flags & fixed) != 0)
      bytes += segments[i].size;
    else
      g_array_append_vals (rest, &segments[i], 1);
  if (bytes == 0)
    return TRUE;
  *address = memory->options.fixed == GE_FIXED_SHARED
                 ? gemem_ge_session_share (&memory->fixed, bytes)
                 : 0;
  graph->fixed = *address != 0 ? bytes : 0;
  if (graph->fixed == 0 && load_apart (memory, graph, bytes, stream))
    *address = graph->apart.address;
  return *address != 0;
}

static void
unload_fixed (GeStatic *memory, GeStaticGraph *graph)
{
  if (graph->fixed > 0)
    gemem_ge_session_unshare (&memory->fixed);
  memory->blocks -= graph->apart.size;
  give_back (memory, &graph->apart);
}

/* ---- graphs */

/* Where the graph begins, or 0. */
static guint64
load_rest (GeStatic *memory, GeStaticGraph *graph, const GArray *rest, guint64 stream)
{
  const GememGraphSegment *segments = (const GememGraphSegment *) (gconstpointer) rest->data;
  const guint64 need = gemem_ge_static_need (segments, rest->len);
  guint64 address;

  graph->shares = TRUE;
  graph->need = need;
  if (memory->options.mode == GE_STATIC_OWN)
    return load_own (memory, graph, need, stream) ? graph->own.address + segments[0].offset : 0;
  if (memory->options.mode == GE_STATIC_DOCUMENTED)
    return load_documented (memory, need, stream) ? memory->largest.address + segments[0].offset
                                                  : 0;
  address = gemem_ge_active_load (&memory->active, segments, rest->len, stream);
  if (address == 0)
    return 0;
  graph->pieces = g_array_copy (memory->active.active);
  graph->bound = TRUE;
  return address;
}

gboolean
gemem_ge_static_load (GeStatic *memory, guint64 id, guint64 stream,
                      const GememGraphSegment *segments, guint n, guint64 *address)
{
  g_autoptr (GArray) rest = g_array_new (FALSE, FALSE, sizeof (GememGraphSegment));
  GeStaticGraph *graph = g_new0 (GeStaticGraph, 1);
  gboolean loaded;

  *address = 0;
  gemem_device_lock (memory->device);
  loaded = load_fixed (memory, graph, stream, segments, n, rest, address);
  if (loaded && rest->len > 0)
    loaded = (*address = load_rest (memory, graph, rest, stream)) != 0;
  if (loaded)
    *(GeStaticGraph **) gemem_idmap_insert (memory->graphs, id, NULL) = graph;
  else
    {
      unload_fixed (memory, graph);
      graph_free (graph);
    }
  gemem_device_unlock (memory->device);
  return loaded;
}

/* A load binds the pages for the first run; after a synchronous run they are unbound, and bound
 * again for the next. */
static gboolean
run (GeStatic *memory, guint64 id, gboolean begin)
{
  GeStaticGraph *graph = *(GeStaticGraph **) gemem_idmap_lookup (memory->graphs, id);

  if (graph->pieces == NULL)
    return TRUE;
  graph->ran |= begin;
  if (begin && !graph->bound)
    return graph->bound = gemem_ge_active_bind (&memory->active, graph->pieces);
  if (!begin && graph->bound && memory->options.pages != NULL)
    {
      gemem_ge_active_unbind (&memory->active, graph->pieces);
      graph->bound = FALSE;
    }
  return TRUE;
}

gboolean
gemem_ge_static_run (GeStatic *memory, guint64 id, gboolean begin)
{
  gboolean ready;

  gemem_device_lock (memory->device);
  ready = run (memory, id, begin);
  gemem_device_unlock (memory->device);
  return ready;
}

void
gemem_ge_static_unload (GeStatic *memory, guint64 id)
{
  GeStaticGraph *graph;

  gemem_device_lock (memory->device);
  gemem_idmap_remove (memory->graphs, id, &graph);
  unload_fixed (memory, graph);
  if (memory->options.mode == GE_STATIC_OWN)
    unload_own (memory, graph);
  else if (graph->shares && memory->options.mode == GE_STATIC_DOCUMENTED)
    unload_documented (memory);
  else if (graph->shares)
    {
      if (!graph->ran && !memory->options.bare)
        gemem_ge_active_unbind (&memory->active, graph->pieces);
      gemem_ge_active_unload (&memory->active);
    }
  graph_free (graph);
  gemem_device_unlock (memory->device);
}

guint64
gemem_ge_static_peak (const GeStatic *memory)
{
  return memory->options.mode == GE_STATIC_DOCUMENTED ? memory->largest.size : memory->active.peak;
}

/* What the graphs need at most, as far as there is memory under it. */
guint64
gemem_ge_static_bytes (const GeStatic *memory)
{
  guint64 shared = gemem_ge_static_peak (memory);

  if (memory->options.pages != NULL && memory->options.mode == GE_STATIC_ACTIVE)
    shared = MIN (shared, memory->range.backing.phys + gemem_ge_active_plain (&memory->active));
  return memory->blocks + memory->fixed.used + shared;
}

guint64
gemem_ge_static_shared (const GeStatic *memory, guint64 id)
{
  const GeStaticGraph *graph = *(GeStaticGraph **) gemem_idmap_lookup (memory->graphs, id);
  guint64 bytes = graph->fixed;

  if (graph->pieces == NULL)
    return memory->options.mode == GE_STATIC_DOCUMENTED ? bytes + graph->need : bytes;
  for (guint i = 0; i < graph->pieces->len; i++)
    bytes += g_array_index (graph->pieces, GeActivePiece, i).used;
  return bytes;
}

guint64
gemem_ge_static_need_of_all (const GeStatic *memory, guint64 in_use)
{
  const guint64 own = memory->blocks;

  return own + MAX (gemem_ge_static_bytes (memory) - own, in_use);
}
