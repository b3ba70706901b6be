/* initial.c - see initial.h.
 *
 * The pages of the blocks in the file may add up to more than the bytes reserved before the first
 * event, because blocks that the file never names lie between them.  The segments are then built
 * from fewer pages, step by step (Detail), until the remaining reserved bytes hold
 * GEMEM_KINETO_BEFORE; the last step always succeeds.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "traces/kineto/initial.h"

#define PAGE (2 * GEMEM_MIB)
/* The largest block in a small segment, and the largest remainder that is not split off a block. */
#define SMALL GEMEM_MIB
#define OWN_SIZE (10 * GEMEM_MIB) /* from here on a segment is as large as its first block */
#define HIGHEST (G_GUINT64_CONSTANT (1) << 62) /* no device has higher addresses */

typedef struct
{
  guint64 id, address, size;
} Block;

typedef struct
{
  guint64 start, end;
  gboolean small;
} Span;

typedef struct
{
  GememTreeNode node; /* the key `size` is the start address */
  guint64 end;
} Segment;

/* What is known of the beginning of a page (initial->edges). */
enum
{
  EDGE_STARTS = 1 << 0,          /* a block begins there */
  EDGE_FOLLOWS = 1 << 1,         /* a large block ends up to SMALL before it */
  EDGE_FOLLOWS_INITIAL = 1 << 2, /* an initial one */
  EDGE_MAY_END = 1 << 3          /* one large enough for a segment of its own size */
};

#define ENDS (EDGE_STARTS | EDGE_MAY_END) /* the segment ends there */

/* The address ranges from which the segments are built. */
typedef enum
{
  DETAIL_ALL,    /* the pages of all blocks */
  DETAIL_SMALL,  /* the pages of the initial blocks and of all small blocks */
  DETAIL_BLOCKS, /* the exact ranges of the initial blocks */
  DETAIL_NONE
} Detail;

void
gemem_kineto_initial_init (GememKinetoInitial *initial)
{
  memset (initial, 0, sizeof *initial);
  initial->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  initial->pages = g_array_new (FALSE, FALSE, sizeof (Span));
  initial->ranges = g_array_new (FALSE, FALSE, sizeof (Span));
  initial->edges = g_hash_table_new (NULL, NULL);
  initial->merge_at = 4096;
  gemem_slab_init (&initial->segments, sizeof (Segment));
}

void
gemem_kineto_initial_clear (GememKinetoInitial *initial)
{
  g_array_unref (initial->blocks);
  g_array_unref (initial->pages);
  g_array_unref (initial->ranges);
  g_hash_table_unref (initial->edges);
  gemem_tree_clear (&initial->obtained);
  gemem_slab_clear (&initial->segments);
}

/* ---- pages */

static int
compare_spans (gconstpointer a, gconstpointer b)
{
  const Span *x = a, *y = b;
  return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
                              : (x->end > y->end) - (x->end < y->end);
}

/* Sorts @spans and joins those that overlap, or that touch and are of one kind. */
static void
merge (GArray *spans)
{
  guint keep = 0;

  g_array_sort (spans, compare_spans);
  for (guint i = 0; i < spans->len; i++)
    {
      const Span span = g_array_index (spans, Span, i);
      Span *last = keep > 0 ? &g_array_index (spans, Span, keep - 1) : NULL;
      if (last == NULL || span.start > last->end
          || (span.start == last->end && span.small != last->small))
        {
          g_array_index (spans, Span, keep++) = span;
          continue;
        }
      last->end = MAX (last->end, span.end);
      last->small &= span.small;
    }
  g_array_set_size (spans, keep);
}

static void
add_span (GArray *spans, guint64 start, guint64 end, gboolean small)
{
  const Span span = { start, end, small };
  g_array_append_val (spans, span);
}

static guint64
page_start (guint64 address)
{
  return address / PAGE * PAGE;
}

static guint64
page_end (guint64 address)
{
  return gemem_align_up (address, PAGE);
}

static gboolean
is_small (guint64 size)
{
  return size <= SMALL;
}

/* Updates the highest address; FALSE for a range that no device can have. */
static gboolean
note_end (GememKinetoInitial *initial, guint64 address, guint64 size)
{
  if (address == 0 || address >= HIGHEST || size > HIGHEST - address)
    return FALSE;
  initial->end = MAX (initial->end, address + size);
  return TRUE;
}

/* The segment obtained in the file that contains @address, else the first one between @address and
 * @end, else NULL. */
static const Segment *
obtained_at (const GememKinetoInitial *initial, guint64 address, guint64 end)
{
  GememTreeNode *node = gemem_tree_before (&initial->obtained, 0, address + 1, 0);

  if (node != NULL && GEMEM_TREE_ENTRY (node, Segment, node)->end > address)
    return GEMEM_TREE_ENTRY (node, Segment, node);
  node = gemem_tree_lower_bound (&initial->obtained, 0, address, 0);
  return node != NULL && node->size < end ? GEMEM_TREE_ENTRY (node, Segment, node) : NULL;
}

static guint
edges_at (const GememKinetoInitial *initial, guint64 address)
{
  return GPOINTER_TO_UINT (g_hash_table_lookup (initial->edges, GSIZE_TO_POINTER (address / PAGE)));
}

static void
add_edge (GememKinetoInitial *initial, guint64 address, guint edge)
{
  g_hash_table_insert (initial->edges, GSIZE_TO_POINTER (address / PAGE),
                       GUINT_TO_POINTER (edges_at (initial, address) | edge));
}

/* Notes where a block begins, and the page behind it where a remainder of up to 1 MiB is left: that
 * would not have been split off, so it is longer, or the segment ends there. */
static void
note_edges (GememKinetoInitial *initial, guint64 address, guint64 size, guint follows)
{
  const guint64 end = page_end (address + size), left = end - (address + size);

  if (address % PAGE == 0)
    add_edge (initial, address, EDGE_STARTS);
  if (!is_small (size) && left > 0 && left <= SMALL
      && obtained_at (initial, end - PAGE, end + PAGE) == NULL)
    add_edge (initial, end, follows | (size >= OWN_SIZE ? (guint) EDGE_MAY_END : 0));
}

void
gemem_kineto_initial_use (GememKinetoInitial *initial, guint64 address, guint64 size)
{
  guint64 start = page_start (address), end;

  if (!note_end (initial, address, size))
    return;
  end = page_end (address + size);
  add_span (initial->ranges, address, address + size, FALSE);
  note_edges (initial, address, size, EDGE_FOLLOWS);
  while (start < end)
    {
      const Segment *segment = obtained_at (initial, start, end);
      const guint64 stop = segment != NULL ? MAX (segment->node.size, start) : end;
      if (stop > start)
        add_span (initial->pages, start, stop, is_small (size));
      start = segment != NULL ? segment->end : end;
    }
  if (initial->ranges->len >= initial->merge_at)
    {
      merge (initial->pages);
      merge (initial->ranges);
      initial->merge_at = MAX (2 * MAX (initial->pages->len, initial->ranges->len), 4096);
    }
}

guint64
gemem_kineto_obtained_at (guint64 address, guint64 block, guint64 size)
{
  return size < block ? page_end (address + block) - size : address;
}

void
gemem_kineto_initial_obtain (GememKinetoInitial *initial, guint64 address, guint64 block,
                             guint64 size)
{
  Segment *segment;

  if (!note_end (initial, address, MAX (block, size)))
    return;
  segment = gemem_slab_alloc (&initial->segments);
  segment->node.group = 0;
  segment->node.size = gemem_kineto_obtained_at (address, block, size);
  segment->node.address = initial->obtained.count + 1;
  segment->end = segment->node.size + size;
  gemem_tree_insert (&initial->obtained, &segment->node);
}

/* ---- the blocks, and where they can be */

void
gemem_kineto_initial_add (GememKinetoInitial *initial, guint64 id, guint64 address, guint64 size)
{
  const Block block = { id, address, size };

  if (note_end (initial, address, size))
    {
      add_span (initial->ranges, address, address + size, FALSE);
      note_edges (initial, address, size, EDGE_FOLLOWS_INITIAL);
    }
  g_array_append_val (initial->blocks, block);
}

static int
compare_blocks (gconstpointer a, gconstpointer b)
{
  const Block *x = a, *y = b;
  return x->address != y->address ? (x->address > y->address) - (x->address < y->address)
                                  : (x->id > y->id) - (x->id < y->id);
}

/* FALSE if blocks overlap or have impossible addresses. */
static gboolean
blocks_are_sound (const GememKinetoInitial *initial)
{
  guint64 end = 1;

  for (guint i = 0; i < initial->blocks->len; i++)
    {
      const Block *block = &g_array_index (initial->blocks, Block, i);
      if (block->address < end || block->address >= HIGHEST
          || block->size > HIGHEST - block->address)
        return FALSE;
      end = block->address + block->size;
    }
  return TRUE;
}

/* Adds the pages into which the segments of large blocks go on. */
static void
add_longer (const GememKinetoInitial *initial, guint edges, GArray *spans)
{
  GHashTableIter iter;
  gpointer page, known;

  g_hash_table_iter_init (&iter, initial->edges);
  while (g_hash_table_iter_next (&iter, &page, &known))
    if ((GPOINTER_TO_UINT (known) & edges) != 0 && (GPOINTER_TO_UINT (known) & ENDS) != ENDS)
      add_span (spans, (GPOINTER_TO_SIZE (page) - 1) * PAGE, (GPOINTER_TO_SIZE (page) + 1) * PAGE,
                FALSE);
}

/* Cuts @spans, which are merged, where segments end. */
static void
cut (const GememKinetoInitial *initial, GArray *spans)
{
  GHashTableIter iter;
  gpointer page, known;
  g_autoptr (GArray) at = g_array_new (FALSE, FALSE, sizeof (Span));
  const guint n = spans->len;

  g_hash_table_iter_init (&iter, initial->edges);
  while (g_hash_table_iter_next (&iter, &page, &known))
    if ((GPOINTER_TO_UINT (known) & ENDS) == ENDS)
      add_span (at, GPOINTER_TO_SIZE (page) * PAGE, 0, FALSE);
  g_array_sort (at, compare_spans);
  for (guint i = 0, next = 0; i < n; i++)
    {
      Span span = g_array_index (spans, Span, i);

      for (; next < at->len && g_array_index (at, Span, next).start < span.end; next++)
        if (g_array_index (at, Span, next).start > span.start && !span.small)
          {
            const guint64 edge = g_array_index (at, Span, next).start;
            add_span (spans, span.start, edge, FALSE);
            span.start = edge;
          }
      g_array_index (spans, Span, i) = span;
    }
  g_array_sort (spans, compare_spans);
}

/* Fills @spans with the ranges of the segments under @detail; returns their bytes. */
static guint64
lay_out (const GememKinetoInitial *initial, Detail detail, GArray *spans)
{
  guint64 bytes = 0;

  g_array_set_size (spans, 0);
  for (guint i = 0; i < initial->blocks->len; i++)
    {
      const Block *block = &g_array_index (initial->blocks, Block, i);
      const guint64 end = block->address + block->size;
      const gboolean exact = detail == DETAIL_BLOCKS;
      add_span (spans, exact ? block->address : page_start (block->address),
                exact ? end : page_end (end), is_small (block->size));
    }
  for (guint i = 0; detail != DETAIL_BLOCKS && i < initial->pages->len; i++)
    {
      const Span *span = &g_array_index (initial->pages, Span, i);
      if (detail == DETAIL_ALL || span->small)
        add_span (spans, span->start, span->end, span->small);
    }
  if (detail != DETAIL_BLOCKS)
    add_longer (initial, EDGE_FOLLOWS_INITIAL | (detail == DETAIL_ALL ? (guint) EDGE_FOLLOWS : 0),
                spans);
  merge (spans);
  if (detail != DETAIL_BLOCKS)
    cut (initial, spans);
  for (guint i = 0; i < spans->len; i++)
    bytes += g_array_index (spans, Span, i).end - g_array_index (spans, Span, i).start;
  return bytes;
}

/* ---- events */

static GememTraceEvent *
add_event (GArray *events, GememEventKind kind, guint16 device, guint64 address, guint64 size)
{
  const GememTraceEvent event = { .kind = (guint8) kind,
                                  .device = device,
                                  .address = address,
                                  .size = size,
                                  .flags = GEMEM_EVENT_INITIAL };

  g_array_append_val (events, event);
  return &g_array_index (events, GememTraceEvent, events->len - 1);
}

/* Each small segment is one page. */
static void
add_segments (GArray *events, guint16 device, const GArray *spans)
{
  for (guint i = 0; i < spans->len; i++)
    {
      const Span *span = &g_array_index (spans, Span, i);
      const guint64 step = span->small ? PAGE : span->end - span->start;
      for (guint64 start = span->start; start < span->end; start += step)
        add_event (events, GEMEM_EVENT_SEGMENT_ALLOC, device, start, MIN (step, span->end - start))
            ->flags |= span->small ? GEMEM_EVENT_SMALL : 0;
    }
}

static void
add_block (GArray *events, guint16 device, const Block *block)
{
  GememTraceEvent *event = add_event (events, GEMEM_EVENT_ALLOC, device, block->address,
                                      block->size);

  event->id = block->id;
  event->aux = device != GEMEM_DEVICE_HOST ? block->size : 0;
}

/* The lowest gap of @rest bytes in @spans that no block of the file uses; 0: none. */
static guint64
find_gap (const GememKinetoInitial *initial, const GArray *spans, guint64 rest)
{
  guint next = 0;

  merge (initial->ranges);
  for (guint i = 0; i < spans->len; i++)
    {
      const Span *span = &g_array_index (spans, Span, i);
      guint64 free = span->start; /* where the gap begins */

      for (; next < initial->ranges->len; next++)
        {
          const Span *used = &g_array_index (initial->ranges, Span, next);

          if (used->start >= span->end)
            break;
          if (used->start > free && used->start - free >= rest)
            break;
          free = MAX (free, used->end);
          if (free >= span->end)
            break;
        }
      if (free < span->end && span->end - free >= rest && (!span->small || is_small (rest)))
        return free;
    }
  return 0;
}

/* Adds segments for the blocks and for @rest bytes; returns the address of these bytes, or 0 if no
 * segments can be derived. */
static guint64
add_reserved (const GememKinetoInitial *initial, guint16 device, guint64 rest, GArray *events)
{
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (Span));
  const guint64 above = page_end (MAX (initial->end, 1));
  guint64 bytes = 0, gap = 0;
  Detail detail = DETAIL_ALL;

  if (!initial->knows_reserved || initial->reserved > HIGHEST - MIN (above, HIGHEST)
      || !blocks_are_sound (initial))
    return 0;
  for (; detail < DETAIL_NONE; detail++)
    if ((bytes = lay_out (initial, detail, spans)) <= initial->reserved
        && (initial->reserved - bytes >= rest || (gap = find_gap (initial, spans, rest)) != 0))
      break;
  if (detail == DETAIL_NONE)
    return 0;
  add_segments (events, device, spans);
  if (initial->reserved > bytes)
    add_event (events, GEMEM_EVENT_SEGMENT_ALLOC, device, above, initial->reserved - bytes)
        ->flags |= GEMEM_EVENT_AMBIGUOUS;
  return gap != 0 ? gap : above;
}

guint64
gemem_kineto_initial_finish (GememKinetoInitial *initial, guint16 device, guint32 tag,
                             guint64 *last_id, GArray *events)
{
  Block rest = { 0, 0, initial->knows_allocated ? initial->allocated : 0 };

  g_array_sort (initial->blocks, compare_blocks);
  for (guint i = 0; i < initial->blocks->len; i++)
    rest.size -= MIN (rest.size, g_array_index (initial->blocks, Block, i).size);
  if (initial->blocks->len == 0 && rest.size == 0)
    return 0; /* the trace seems to start with the program */
  rest.address = add_reserved (initial, device, rest.size, events);
  for (guint i = 0; i < initial->blocks->len; i++)
    add_block (events, device, &g_array_index (initial->blocks, Block, i));
  if (rest.size > 0)
    {
      rest.id = ++*last_id;
      add_block (events, device, &rest);
      g_array_index (events, GememTraceEvent, events->len - 1).flags |= GEMEM_EVENT_AMBIGUOUS;
      g_array_index (events, GememTraceEvent, events->len - 1).tag = tag;
    }
  return rest.size;
}
