/* naive-ge-static.c - static memory of graphs: ActiveMemoryAllocator, the session's fixed base, and
 * policy 2 as documented; see naive-ge-static.h. */
#include "config.h"

#include <string.h>

#include "tests/util/naive-ge-static.h"
#include "tests/util/sizes.h"
#include "traces/trace.h"

#define NO_ALLOC GEMEM_GRAPH_SEGMENT_NO_ALLOC
#define ZERO_COPY GEMEM_GRAPH_SEGMENT_ZERO_COPY
#define FIXED GEMEM_GRAPH_SEGMENT_FIXED

typedef struct
{
  guint64 address, total, used;
  gboolean fresh, plain;
} Block;

typedef struct
{
  guint64 offset, size, address;
  guint32 flags;
} Segment;

typedef struct
{
  guint32 id;
  gboolean shares, fixed, bound, ran;
  guint64 apart, own; /* device blocks of its fixed and of its other segments; 0: none */
  guint64 own_size;
  GArray *active; /* Block: copies of those in use, with its own `used` */
} Graph;

#define AT(array, type, i) (&g_array_index ((array), type, i))

/* ---- 3.3 */

typedef gboolean (*Before) (gconstpointer a, gconstpointer b);

static gboolean
larger_block (gconstpointer a, gconstpointer b)
{
  return ((const Block *) a)->total > ((const Block *) b)->total;
}

static gboolean
larger (gconstpointer a, gconstpointer b)
{
  return ((const Segment *) a)->size > ((const Segment *) b)->size;
}

static gboolean
earlier (gconstpointer a, gconstpointer b)
{
  return ((const Segment *) a)->offset < ((const Segment *) b)->offset;
}

static void
exchange (GArray *array, guint i, guint j)
{
  const gsize size = g_array_get_element_size (array);
  g_autofree char *keep = g_memdup2 (array->data + i * size, size);

  memmove (array->data + i * size, array->data + j * size, size);
  memcpy (array->data + j * size, keep, size);
}

#define IS_BEFORE(i, j) before (array->data + (i) *size, array->data + (j) *size)

/* What std::sort does to [@first, @end) before its last insertion sort; heap sort never comes. */
static void
partitions (GArray *array, guint first, guint end, Before before)
{
  const gsize size = g_array_get_element_size (array);

  while (end - first > 16)
    {
      const guint a = first + 1, b = first + (end - first) / 2, c = end - 1;
      guint pivot, low = first + 1, high = end;

      if (IS_BEFORE (a, b))
        pivot = IS_BEFORE (b, c) ? b : IS_BEFORE (a, c) ? c : a;
      else
        pivot = IS_BEFORE (a, c) ? a : IS_BEFORE (b, c) ? c : b;
      exchange (array, first, pivot);
      for (;;)
        {
          while (IS_BEFORE (low, first))
            low++;
          high--;
          while (IS_BEFORE (first, high))
            high--;
          if (low >= high)
            break;
          exchange (array, low, high);
          low++;
        }
      partitions (array, low, end, before);
      end = low;
    }
}

static void
sort (GArray *array, Before before)
{
  const gsize size = g_array_get_element_size (array);

  partitions (array, 0, array->len, before);
  for (guint i = 1; i < array->len; i++)
    for (guint j = i; j > 0 && IS_BEFORE (j, j - 1); j--)
      exchange (array, j, j - 1);
}

/* A: places the largest unplaced segment that fits into the largest block that has space for it. */
static void
place (NaiveStatic *a, GArray *segments)
{
  sort (segments, larger);
  for (guint b = 0; b < a->blocks->len; b++)
    for (guint s = 0; s < segments->len; s++)
      {
        Segment *segment = AT (segments, Segment, s);
        Block *block = AT (a->blocks, Block, b);

        if (segment->address != 0 || segment->size > block->total - block->used)
          continue;
        segment->address = block->address + block->used;
        block->used += segment->size;
      }
  sort (segments, earlier);
}

/* B */
static void
join (GArray *segments)
{
  for (guint i = 1; i < segments->len;)
    {
      Segment *before = AT (segments, Segment, i - 1);
      const Segment *s = AT (segments, Segment, i);
      const gboolean neighbours = before->offset + before->size == s->offset
                                  && (s->flags & (NO_ALLOC | ZERO_COPY)) == 0;
      const gboolean both_without = before->address == 0 && s->address == 0;
      const gboolean in_order = before->address != 0
                                && s->address == before->address + before->size;

      if (neighbours && (both_without || in_order))
        {
          before->size += s->size;
          g_array_remove_index (segments, i);
        }
      else
        i++;
    }
}

/* C */
static gboolean
make_block (NaiveStatic *a, Segment *segment)
{
  Block block = { .total = segment->size, .used = segment->size, .fresh = TRUE };

  if (a->mode == NAIVE_STATIC_PAGED)
    block.address = naive_session_append (&a->range, segment->size);
  if (block.address == 0)
    {
      if (segment->size > 2 * MIB)
        block.total = (segment->size + 2 * MIB - 1) / (2 * MIB) * 2 * MIB;
      block.plain = TRUE;
      block.address = block.total > 0 ? naive_device_malloc (a->device, block.total) : 0;
    }
  if (block.address == 0)
    return FALSE;
  segment->address = block.address;
  g_array_append_val (a->blocks, block);
  sort (a->blocks, larger_block);
  a->max_address = MAX (a->max_address, block.address + block.total);
  return TRUE;
}

static gboolean
allocate_rest (NaiveStatic *a, GArray *segments)
{
  for (guint s = 0; s < segments->len; s++)
    {
      Segment *segment = AT (segments, Segment, s);

      if (segment->address == 0 && (segment->flags & NO_ALLOC) != 0)
        segment->address = a->max_address;
      else if (segment->address == 0 && !make_block (a, segment))
        return FALSE;
    }
  return TRUE;
}

static void
unbind_all (NaiveStatic *a, const GArray *active)
{
  for (guint i = 0; a->mode == NAIVE_STATIC_PAGED && i < active->len; i++)
    if (!AT (active, Block, i)->plain)
      naive_session_unbind (&a->range, AT (active, Block, i)->address, AT (active, Block, i)->used);
}

/* Before a run: after a failure the complete list is recycled. */
static gboolean
bind_all (NaiveStatic *a, const GArray *active)
{
  for (guint i = 0; a->mode == NAIVE_STATIC_PAGED && i < active->len; i++)
    {
      const Block *b = AT (active, Block, i);

      if (b->plain || naive_session_bind (&a->range, b->address, b->used))
        continue;
      unbind_all (a, active);
      return FALSE;
    }
  return TRUE;
}

/* D: the result of the binding is ignored. */
static void
activate (NaiveStatic *a, GArray *active)
{
  guint64 total = 0;

  for (guint b = 0; b < a->blocks->len; b++)
    {
      const Block *block = AT (a->blocks, Block, b);

      total += block->used;
      if (block->used == 0)
        continue;
      g_array_append_vals (active, block, 1);
      if (a->mode == NAIVE_STATIC_PAGED && !block->fresh && !block->plain)
        naive_session_bind (&a->range, block->address, block->used);
    }
  a->peak = MAX (a->peak, total);
}

/* Under policy 4 only the range is freed, while it is supported. */
static void
free_memory (NaiveStatic *a)
{
  const gboolean ranged = a->mode == NAIVE_STATIC_PAGED && !a->range.unsupported;

  a->load_count -= a->load_count > 0;
  if (a->load_count > 0)
    return;
  for (guint b = 0; b < a->blocks->len; b++)
    if (AT (a->blocks, Block, b)->plain && ranged)
      a->leaked += AT (a->blocks, Block, b)->total;
    else if (AT (a->blocks, Block, b)->plain)
      naive_device_free (a->device, AT (a->blocks, Block, b)->address);
  g_array_set_size (a->blocks, 0);
  if (ranged)
    naive_session_reset (&a->range);
  a->peak = a->max_address = 0;
}

static guint64
malloc_memory (NaiveStatic *a, GArray *segments, GArray *active)
{
  a->load_count++;
  for (guint b = 0; b < a->blocks->len; b++)
    {
      AT (a->blocks, Block, b)->used = 0;
      AT (a->blocks, Block, b)->fresh = FALSE;
    }
  place (a, segments);
  join (segments);
  if (allocate_rest (a, segments))
    {
      activate (a, active);
      if (AT (segments, Segment, 0)->address != 0)
        return AT (segments, Segment, 0)->address;
    }
  free_memory (a);
  return 0;
}

/* The end of the last segment that needs memory: the bytes to allocate. */
static guint64
extent (const GArray *segments)
{
  guint64 need = 0;

  for (guint s = 0; s < segments->len; s++)
    if ((AT (segments, Segment, s)->flags & NO_ALLOC) == 0)
      need = MAX (need, AT (segments, Segment, s)->offset + AT (segments, Segment, s)->size);
  return need;
}

/* ---- policy 2 as documented: one block, as large as the largest graph since the first load */

static guint64
replace_block (NaiveStatic *a, const GArray *segments)
{
  NaiveDevice *device = a->device;
  const guint64 before = a->size, need = extent (segments);
  if (need > before)
    {
      if (before > 0)
        naive_device_free (device, a->address);
      a->address = naive_device_malloc (device, need);
      a->size = need;
      if (a->address == 0)
        {
          a->address = before > 0 ? naive_device_malloc (device, before) : 0;
          a->size = a->address != 0 ? before : 0;
          return 0;
        }
    }
  if (a->size == 0)
    return 0;
  a->load_count++;
  return a->address + AT (segments, Segment, 0)->offset;
}

static void
release_block (NaiveStatic *a)
{
  if (--a->load_count > 0 || a->size == 0)
    return;
  naive_device_free (a->device, a->address);
  a->size = 0;
}

guint64
naive_static_extent (const GememGraphSegment *segments, guint n)
{
  guint64 need = 0;

  for (guint i = 0; i < n; i++)
    if ((segments[i].flags & NO_ALLOC) == 0)
      need = MAX (need, segments[i].offset + segments[i].size);
  return need;
}

/* ---- policies 0 and 3 */

static guint64
own_block (NaiveStatic *a, Graph *graph, const GArray *segments)
{
  graph->own_size = extent (segments);
  graph->own = graph->own_size > 0 ? naive_device_malloc (a->device, graph->own_size) : 0;
  return graph->own != 0 ? graph->own + AT (segments, Segment, 0)->offset : 0;
}

static void
release_own (NaiveStatic *a, const Graph *graph)
{
  if (graph->own == 0)
    return;
  if (a->leaky)
    a->leaked += graph->own_size;
  else
    naive_device_free (a->device, graph->own);
}

/* ---- graphs */

static void
drop_fixed (NaiveStatic *a, const Graph *graph)
{
  if (graph->fixed)
    naive_session_unshare (&a->fixed);
  if (graph->apart != 0)
    naive_device_free (a->device, graph->apart);
}

/* The address of the @bytes of a graph's fixed segments; 0: refused. */
static guint64
place_fixed (NaiveStatic *a, Graph *graph, guint64 bytes)
{
  const guint64 base = a->fixed_mode == NAIVE_FIXED_BASE ? naive_session_share (&a->fixed, bytes)
                                                         : 0;

  graph->fixed = base != 0;
  if (base == 0)
    graph->apart = naive_device_malloc (a->device, bytes);
  return base != 0 ? base : graph->apart;
}

static guint64
place_rest (NaiveStatic *a, Graph *graph, GArray *segments)
{
  graph->shares = TRUE;
  switch (a->mode)
    {
    case NAIVE_STATIC_OWN:
      return own_block (a, graph, segments);
    case NAIVE_STATIC_DOCUMENTED:
      return replace_block (a, segments);
    default:
      return malloc_memory (a, segments, graph->active);
    }
}

gboolean
naive_static_load (NaiveStatic *a, guint32 id, const GememGraphSegment *segments, guint n,
                   guint64 *address)
{
  g_autoptr (GArray) rest = g_array_new (FALSE, FALSE, sizeof (Segment));
  Graph graph = { .id = id, .active = g_array_new (FALSE, FALSE, sizeof (Block)), .bound = TRUE };
  guint64 fixed = 0;

  for (guint i = 0; i < n; i++)
    {
      const Segment segment = { segments[i].offset, segments[i].size, 0, segments[i].flags };

      if ((segment.flags & FIXED) != 0 && a->fixed_mode != NAIVE_FIXED_INSIDE)
        fixed += segment.size;
      else
        g_array_append_val (rest, segment);
    }
  *address = fixed > 0 ? place_fixed (a, &graph, fixed) : 0;
  if (rest->len > 0 && (fixed == 0 || *address != 0))
    *address = place_rest (a, &graph, rest);
  if (*address != 0)
    {
      g_array_append_val (a->graphs, graph);
      return TRUE;
    }
  drop_fixed (a, &graph);
  g_array_unref (graph.active);
  return FALSE;
}

static guint
find (const NaiveStatic *a, guint32 id)
{
  guint i = 0;

  while (AT (a->graphs, Graph, i)->id != id)
    i++;
  return i;
}

gboolean
naive_static_run (NaiveStatic *a, guint32 id, gboolean begin)
{
  Graph *graph = AT (a->graphs, Graph, find (a, id));

  graph->ran |= begin;
  if (a->mode != NAIVE_STATIC_PAGED || !graph->shares || graph->bound == begin)
    return TRUE;
  if (begin)
    return graph->bound = bind_all (a, graph->active);
  unbind_all (a, graph->active);
  graph->bound = FALSE;
  return TRUE;
}

void
naive_static_unload (NaiveStatic *a, guint32 id)
{
  const guint i = find (a, id);
  const Graph graph = *AT (a->graphs, Graph, i);

  g_array_remove_index (a->graphs, i);
  drop_fixed (a, &graph);
  if (a->mode == NAIVE_STATIC_OWN)
    release_own (a, &graph);
  else if (graph.shares && a->mode == NAIVE_STATIC_DOCUMENTED)
    release_block (a);
  else if (graph.shares)
    {
      if (!a->bare && !graph.ran)
        unbind_all (a, graph.active);
      free_memory (a);
    }
  g_array_unref (graph.active);
}

gboolean
naive_static_figure (const NaiveStatic *a, const char *name, guint64 *value)
{
  if (g_str_equal (name, "static.load_count"))
    *value = a->mode == NAIVE_STATIC_OWN ? a->graphs->len : a->load_count;
  else if (g_str_equal (name, "static.peak"))
    *value = a->mode == NAIVE_STATIC_DOCUMENTED ? a->size : a->peak;
  else if (g_str_equal (name, "static.fixed"))
    *value = a->fixed.used;
  else if (g_str_equal (name, "static.fixed_count"))
    *value = a->fixed.users;
  else if (g_str_equal (name, "static.fixed_phys"))
    *value = naive_session_phys (&a->fixed);
  else if (g_str_equal (name, "static.used"))
    *value = a->range.used;
  else if (g_str_equal (name, "static.phys"))
    *value = naive_session_phys (&a->range);
  else if (g_str_equal (name, "static.leaked"))
    *value = a->leaked;
  else
    return FALSE;
  return TRUE;
}

/* ---- life */

void
naive_static_init (NaiveStatic *a, NaiveDevice *device, NaivePages *pages, NaiveStaticMode mode,
                   NaiveFixedMode fixed)
{
  a->device = device;
  a->mode = mode;
  a->fixed_mode = fixed;
  naive_session_init (&a->range);
  naive_session_init (&a->fixed);
  a->range.pages = a->fixed.pages = pages;
  a->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  a->graphs = g_array_new (FALSE, FALSE, sizeof (Graph));
}

void
naive_static_clear (NaiveStatic *a)
{
  for (guint i = 0; i < a->graphs->len; i++)
    g_array_unref (AT (a->graphs, Graph, i)->active);
  g_array_unref (a->graphs);
  g_array_unref (a->blocks);
  naive_session_clear (&a->range);
  naive_session_clear (&a->fixed);
}
