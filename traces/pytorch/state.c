/* state.c - derives the state before the first event of a PyTorch snapshot (see
 * state.h).
 *
 * Invariants: the maps hold the blocks and segments live after the events so far; `segments` and
 * `blocks` only grow until finish and are sorted then; no decision depends on the iteration order
 * of a map.
 * Cost: O(1) per event in the first pass, O(log blocks) in the second, O(n log n) for the final
 * state.
 */
#include "config.h"

#include <string.h>

#include "base/compare.h"
#include "base/error.h"
#include "base/units.h"
#include "traces/pytorch/state.h"

#define MAX_TAIL GEMEM_MIB /* a remainder of more than this is split off (1a.4) */

typedef struct
{
  guint64 start, end;
} Range;

/* A range in `mapped`. */
typedef struct
{
  GememTreeNode node; /* by address */
  guint64 end;
} Mapped;

/* A segment in `gone_now`. */
typedef struct
{
  GememTreeNode node; /* by address */
  const GememPytorchSegment *segment;
} Gone;

static gboolean G_GNUC_PRINTF (2, 3) fail (GError **error, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, text);
  return FALSE;
}

/* ---- life */

void
gemem_pytorch_state_init (GememPytorchState *state)
{
  memset (state, 0, sizeof *state);
  state->segments = g_array_new (FALSE, FALSE, sizeof (GememPytorchSegment));
  state->blocks = g_array_new (FALSE, FALSE, sizeof (GememPytorchBlock));
  state->final_segments = g_array_new (FALSE, FALSE, sizeof (GememPytorchSegment));
  state->final_blocks = g_array_new (FALSE, FALSE, sizeof (GememPytorchBlock));
  state->pool_segments = g_array_new (FALSE, FALSE, sizeof (GememPytorchSegment));
  state->gone = g_array_new (FALSE, FALSE, sizeof (GememPytorchSegment));
  gemem_slab_init (&state->gone_slab, sizeof (Gone));
  gemem_slab_init (&state->mapped_slab, sizeof (Mapped));
  state->live = gemem_idmap_new (sizeof (guint64));
  state->held = gemem_idmap_new (sizeof (guint64));
}

void
gemem_pytorch_state_clear (GememPytorchState *state)
{
  g_clear_pointer (&state->segments, g_array_unref);
  g_clear_pointer (&state->blocks, g_array_unref);
  g_clear_pointer (&state->final_segments, g_array_unref);
  g_clear_pointer (&state->final_blocks, g_array_unref);
  g_clear_pointer (&state->pool_segments, g_array_unref);
  g_clear_pointer (&state->gone, g_array_unref);
  gemem_tree_clear (&state->gone_now);
  gemem_slab_clear (&state->gone_slab);
  gemem_tree_clear (&state->mapped);
  gemem_slab_clear (&state->mapped_slab);
  g_clear_pointer (&state->live, gemem_idmap_free);
  g_clear_pointer (&state->held, gemem_idmap_free);
}

void
gemem_pytorch_state_final_segment (GememPytorchState *state, const GememPytorchSegment *segment)
{
  g_array_append_vals (state->final_segments, segment, 1);
}

void
gemem_pytorch_state_final_block (GememPytorchState *state, const GememPytorchBlock *block)
{
  g_array_append_vals (state->final_blocks, block, 1);
}

/* ---- ranges of expandable segments */

static Mapped *
mapped_of (GememTreeNode *node)
{
  return node != NULL ? GEMEM_TREE_ENTRY (node, Mapped, node) : NULL;
}

/* The first mapped range that ends behind @address; NULL: there is none. */
static Mapped *
range_find (const GememPytorchState *state, guint64 address)
{
  GememTreeNode *below = gemem_tree_at_or_before (&state->mapped, 0, 0, address);

  if (below != NULL && mapped_of (below)->end > address)
    return mapped_of (below);
  return mapped_of (below != NULL ? gemem_tree_next (below) : gemem_tree_first (&state->mapped));
}

static void
range_insert (GememPytorchState *state, Range range)
{
  Mapped *mapped = gemem_slab_alloc (&state->mapped_slab);

  mapped->node.address = range.start;
  mapped->end = range.end;
  gemem_tree_insert (&state->mapped, &mapped->node);
}

/* @range is not empty. */
static gboolean
range_add (GememPytorchState *state, Range range)
{
  const Mapped *next = range_find (state, range.start);
  Mapped *before = mapped_of (gemem_tree_before (&state->mapped, 0, 0, range.start));

  if (next != NULL && next->node.address < range.end)
    return FALSE;
  if (before != NULL && before->end == range.start)
    before->end = range.end;
  else
    range_insert (state, range);
  return TRUE;
}

/* Adds the parts of @range that are not mapped as initial segments with the properties of @like. */
static void
range_missing (GememPytorchState *state, Range range, const GememPytorchSegment *like)
{
  const Mapped *next = range_find (state, range.start);
  guint64 at = range.start;

  while (at < range.end)
    {
      const guint64 stop = next != NULL ? MIN (next->node.address, range.end) : range.end;

      if (stop > at)
        {
          GememPytorchSegment piece = *like;
          piece.address = at;
          piece.size = stop - at;
          g_array_append_val (state->segments, piece);
        }
      at = MAX (at, next != NULL ? next->end : range.end);
      next = next != NULL ? mapped_of (gemem_tree_next (&next->node)) : NULL;
    }
}

static void
range_remove (GememPytorchState *state, Range range)
{
  Mapped *found = range_find (state, range.start);

  while (found != NULL && found->node.address < range.end)
    {
      Mapped *next = mapped_of (gemem_tree_next (&found->node));
      const Range right = { range.end, found->end };

      if (found->node.address < range.start)
        found->end = range.start;
      else
        {
          gemem_tree_remove (&state->mapped, &found->node);
          gemem_slab_free (&state->mapped_slab, found);
        }
      if (right.end > right.start)
        {
          range_insert (state, right);
          return;
        }
      found = next;
    }
}

/* ---- first pass */

static guint64
add_initial_block (GememPytorchState *state, const GememTraceEvent *event, gboolean pending)
{
  GememPytorchBlock block = {
    .address = event->address, .size = event->size, .stream = event->stream, .pending = pending
  };
  g_array_append_val (state->blocks, block);
  return (guint64) state->blocks->len << 1 | 1;
}

static gboolean
event_free (GememPytorchState *state, const GememTraceEvent *event, GError **error)
{
  guint64 *mark = gemem_idmap_lookup (state->live, event->address);

  if (event->kind == GEMEM_EVENT_FREE_REQUESTED)
    {
      if (mark != NULL && (*mark & 1) != 0)
        return fail (error,
                     "block 0x%" G_GINT64_MODIFIER
                     "x is freed a second time; the recording is damaged",
                     event->address);
      state->requested++;
      if (mark != NULL)
        *mark |= 1;
      else
        {
          const guint64 value = add_initial_block (state, event, FALSE);
          *(guint64 *) gemem_idmap_insert (state->live, event->address, NULL) = value;
        }
      return TRUE;
    }
  state->completes = TRUE;
  if (!gemem_idmap_remove (state->live, event->address, NULL))
    add_initial_block (state, event, TRUE);
  return TRUE;
}

static gboolean
event_segment (GememPytorchState *state, const GememTraceEvent *event, GError **error)
{
  GememPytorchSegment segment = { .address = event->address,
                                  .size = event->size,
                                  .stream = event->stream,
                                  .pool = event->pool,
                                  .small = (event->flags & GEMEM_EVENT_SMALL) != 0 };
  Range range = { event->address, event->address + event->size };
  gboolean existed;

  switch (event->kind)
    {
    case GEMEM_EVENT_SEGMENT_ALLOC:
      *(guint64 *) gemem_idmap_insert (state->held, event->address, &existed) = state->events + 1;
      if (existed)
        return fail (error,
                     "segment 0x%" G_GINT64_MODIFIER
                     "x is allocated a second time; the recording is damaged",
                     event->address);
      return TRUE;
    case GEMEM_EVENT_SEGMENT_FREE:
      state->made = 0;
      if (!gemem_idmap_remove (state->held, event->address, &state->made))
        g_array_append_val (state->segments, segment);
      return TRUE;
    case GEMEM_EVENT_SEGMENT_MAP:
      if (!range_add (state, range))
        return fail (error,
                     "range 0x%" G_GINT64_MODIFIER
                     "x is mapped a second time; the recording is damaged",
                     event->address);
      return TRUE;
    default: /* GEMEM_EVENT_SEGMENT_UNMAP */
      segment.expandable = TRUE;
      range_missing (state, range, &segment);
      range_remove (state, range);
      return TRUE;
    }
}

gboolean
gemem_pytorch_state_event (GememPytorchState *state, const GememTraceEvent *event, GError **error)
{
  gboolean existed, ok = TRUE;
  guint64 *mark;

  switch (event->kind)
    {
    case GEMEM_EVENT_ALLOC:
      mark = gemem_idmap_insert (state->live, event->address, &existed);
      if (existed && (*mark & 1) != 0 && !state->completes)
        {
          state->skips_completions = TRUE;
          state->requested--;
          *mark = 0;
        }
      else if (existed)
        ok = fail (error,
                   "0x%" G_GINT64_MODIFIER
                   "x is allocated while it is live; the recording is damaged or has a gap",
                   event->address);
      break;
    case GEMEM_EVENT_FREE_REQUESTED:
    case GEMEM_EVENT_FREE_COMPLETED:
      ok = event_free (state, event, error);
      break;
    case GEMEM_EVENT_SEGMENT_ALLOC:
    case GEMEM_EVENT_SEGMENT_FREE:
    case GEMEM_EVENT_SEGMENT_MAP:
    case GEMEM_EVENT_SEGMENT_UNMAP:
      ok = event_segment (state, event, error);
      break;
    default:
      break;
    }
  state->events += ok;
  return ok;
}

gboolean
gemem_pytorch_state_saw (const GememPytorchState *state, guint64 address)
{
  const guint64 *mark = gemem_idmap_lookup (state->live, address);
  return mark != NULL && *mark >> 1 == 0;
}

/* ---- the final state */

static int
compare_segments (gconstpointer a, gconstpointer b)
{
  guint64 x = ((const GememPytorchSegment *) a)->address,
          y = ((const GememPytorchSegment *) b)->address;
  return (x > y) - (x < y);
}

static int
compare_blocks (gconstpointer a, gconstpointer b)
{
  guint64 x = ((const GememPytorchBlock *) a)->address,
          y = ((const GememPytorchBlock *) b)->address;
  return (x > y) - (x < y);
}

static gboolean
finish_segments (GememPytorchState *state, GError **error)
{
  for (guint i = 0; i < state->final_segments->len; i++)
    {
      GememPytorchSegment *segment = &g_array_index (state->final_segments, GememPytorchSegment, i);
      const guint64 *event = segment->expandable
                                 ? NULL
                                 : gemem_idmap_lookup (state->held, segment->address);
      segment->since = event != NULL ? *event - 1 : 0;
      if (segment->expandable)
        range_missing (state, (Range){ segment->address, segment->address + segment->size },
                       segment);
      else if (event == NULL)
        g_array_append_vals (state->segments, segment, 1);
      if (segment->pool != 0)
        g_array_append_vals (state->pool_segments, segment, 1);
    }
  g_array_sort (state->segments, compare_segments);
  g_array_sort (state->pool_segments, compare_segments);
  for (guint i = 1; i < state->segments->len; i++)
    {
      const GememPytorchSegment *segment = &g_array_index (state->segments, GememPytorchSegment, i);
      if (segment[-1].address + segment[-1].size > segment->address)
        return fail (error,
                     "before the first event the segments at 0x%" G_GINT64_MODIFIER
                     "x and 0x%" G_GINT64_MODIFIER
                     "x overlap; segments and events of this file do not belong together",
                     segment[-1].address, segment->address);
    }
  return TRUE;
}

/* Adds the live blocks of the final state that no event allocated as initial blocks. */
static gboolean
finish_blocks (GememPytorchState *state, gboolean truncated, GError **error)
{
  guint64 explained = 0, waiting = 0;

  for (guint i = 0; i < state->final_blocks->len; i++)
    {
      GememPytorchBlock *block = &g_array_index (state->final_blocks, GememPytorchBlock, i);
      const guint64 *mark = gemem_idmap_lookup (state->live, block->address);
      explained += mark != NULL;
      waiting += mark != NULL && (*mark & 1) != 0;
      if (mark == NULL && !truncated)
        g_array_append_vals (state->blocks, block, 1);
      else if (mark != NULL && *mark >> 1 != 0)
        {
          GememPytorchBlock *initial = &g_array_index (state->blocks, GememPytorchBlock,
                                                       (*mark >> 1) - 1);
          initial->block = block->block;
          initial->stack = block->stack;
        }
    }
  if (!state->completes && !truncated && state->requested > waiting) /* freed without an event */
    {
      state->skips_completions = TRUE;
      explained += state->requested - waiting;
    }
  state->unexplained = truncated ? 0
                                 : gemem_idmap_count (state->live)
                                       - MIN (explained, gemem_idmap_count (state->live));
  g_array_sort (state->blocks, compare_blocks);
  for (guint i = 1; i < state->blocks->len; i++)
    {
      const GememPytorchBlock *block = &g_array_index (state->blocks, GememPytorchBlock, i);
      if (block[-1].address == block->address)
        return fail (error,
                     "two blocks at 0x%" G_GINT64_MODIFIER
                     "x are live before the first event; segments and events of this file do not "
                     "belong together, or actions were left out (skip_actions)",
                     block->address);
    }
  return TRUE;
}

/* Deduces the size of one initial block; @end: start of the next block in the segment, or end of
 * the segment. */
static void
deduce_size (GememPytorchState *state, GememPytorchBlock *block, const GememPytorchSegment *segment,
             guint64 end, const GememPytorchSettings *settings)
{
  guint64 rounded = gemem_pytorch_settings_round (settings, block->size),
          space = end - block->address;

  if (block->block != 0)
    block->ambiguous = block->block > space;
  else if (rounded > space)
    {
      block->block = MAX (space, block->size);
      block->ambiguous = TRUE;
    }
  else if (segment->small || segment->expandable)
    block->block = rounded;
  else if (settings->max_split_size >= 0 && rounded >= (guint64) settings->max_split_size)
    block->block = space;
  else if (space - rounded <= MAX_TAIL)
    block->block = space;
  else
    {
      block->block = rounded;
      block->limit = end;
      block->ambiguous = TRUE;
      state->open++;
    }
}

gboolean
gemem_pytorch_state_finish (GememPytorchState *state, const GememPytorchSettings *settings,
                            gboolean truncated, GError **error)
{
  if (!finish_segments (state, error) || !finish_blocks (state, truncated, error))
    return FALSE;
  guint s = 0;
  for (guint i = 0; i < state->blocks->len; i++)
    {
      GememPytorchBlock *block = &g_array_index (state->blocks, GememPytorchBlock, i);
      const GememPytorchSegment *segment = NULL;
      for (; s < state->segments->len; s++)
        {
          segment = &g_array_index (state->segments, GememPytorchSegment, s);
          if (segment->address + segment->size > block->address)
            break;
        }
      if (s == state->segments->len || segment->address > block->address)
        {
          block->block = block->block != 0 ? block->block
                                           : gemem_pytorch_settings_round (settings, block->size);
          block->ambiguous = TRUE; /* in no segment */
          continue;
        }
      guint64 end = segment->address + segment->size;
      if (i + 1 < state->blocks->len)
        end = MIN (end, block[1].address);
      block->pool = segment->pool;
      block->small = segment->small;
      deduce_size (state, block, segment, end, settings);
    }
  g_array_set_size (state->final_segments, 0);
  g_array_set_size (state->final_blocks, 0);
  gemem_idmap_clear (state->live);
  gemem_idmap_clear (state->held);
  return TRUE;
}

/* ---- second pass */

/* Index of the last initial block at or below @address, -1 if there is none. */
static gint64
block_below (const GememPytorchState *state, guint64 address)
{
  guint low = 0, high = state->blocks->len;
  while (low < high)
    {
      guint middle = low + (high - low) / 2;
      if (g_array_index (state->blocks, GememPytorchBlock, middle).address <= address)
        low = middle + 1;
      else
        high = middle;
    }
  return (gint64) low - 1;
}

void
gemem_pytorch_state_look (GememPytorchState *state, const GememTraceEvent *event)
{
  if (state->open == 0
      || (event->kind != GEMEM_EVENT_ALLOC && event->kind != GEMEM_EVENT_FREE_COMPLETED))
    return;
  gint64 index = block_below (state, event->address);
  if (index < 0)
    return;
  GememPytorchBlock *block = &g_array_index (state->blocks, GememPytorchBlock, index);
  guint64 end = block->address + block->block;
  if (block->limit == 0)
    return;
  if (event->kind == GEMEM_EVENT_FREE_COMPLETED)
    {
      if (event->address != block->address)
        return;
    }
  else if (event->address < end || event->address >= block->limit)
    return;
  else if (event->address - end <= MAX_TAIL)
    {
      block->block = event->address - block->address;
      state->inferred++;
    }
  block->limit = 0;
  state->open--;
}

static int
compare_since (gconstpointer a, gconstpointer b)
{
  return gemem_compare_uint64 (&((const GememPytorchSegment *) a)->since,
                               &((const GememPytorchSegment *) b)->since);
}

void
gemem_pytorch_state_gone (GememPytorchState *state, guint64 address, guint64 size, guint64 since,
                          guint64 until, guint32 pool)
{
  const GememPytorchSegment segment = {
    .address = address, .size = size, .since = since, .until = until, .pool = pool
  };

  g_array_append_val (state->gone, segment);
}

void
gemem_pytorch_state_gone_all (GememPytorchState *state)
{
  g_array_sort (state->gone, compare_since);
}

guint32
gemem_pytorch_state_free_pool (const GememPytorchState *state)
{
  guint32 last = 0;

  for (guint i = 0; i < state->pool_segments->len; i++)
    last = MAX (last, g_array_index (state->pool_segments, GememPytorchSegment, i).pool);
  return last + 1;
}

/* How many of @segments, which are sorted, begin at or below @address. */
static guint
count_segments (const GArray *segments, guint64 address)
{
  guint low = 0, high = segments->len;

  while (low < high)
    {
      const guint middle = low + (high - low) / 2;

      if (g_array_index (segments, GememPytorchSegment, middle).address <= address)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* The segment in `gone_now` with the highest start at or below @address; NULL: none. */
static Gone *
gone_below (const GememPytorchState *state, guint64 address)
{
  GememTreeNode *node = gemem_tree_at_or_before (&state->gone_now, 0, 0, address);

  return node != NULL ? GEMEM_TREE_ENTRY (node, Gone, node) : NULL;
}

static void
add_gone (GememPytorchState *state, const GememPytorchSegment *segment)
{
  Gone *gone = gone_below (state, segment->address);

  if (gone == NULL || gone->node.address != segment->address)
    {
      gone = gemem_slab_alloc (&state->gone_slab);
      gone->node.address = segment->address;
      gemem_tree_insert (&state->gone_now, &gone->node);
    }
  gone->segment = segment;
}

static guint32
gone_pool (GememPytorchState *state, guint64 address, guint64 event)
{
  Gone *gone;

  for (; state->next_gone < state->gone->len; state->next_gone++)
    {
      const GememPytorchSegment *segment = &g_array_index (state->gone, GememPytorchSegment,
                                                           state->next_gone);

      if (segment->since > event)
        break;
      add_gone (state, segment);
    }
  while ((gone = gone_below (state, address)) != NULL)
    {
      const GememPytorchSegment *segment = gone->segment;

      if (segment->until >= event)
        return address - segment->address < segment->size ? segment->pool : 0;
      gemem_tree_remove (&state->gone_now, &gone->node);
      gemem_slab_free (&state->gone_slab, gone);
    }
  return 0;
}

guint32
gemem_pytorch_state_pool (GememPytorchState *state, guint64 address, guint64 event)
{
  const guint low = count_segments (state->pool_segments, address);
  const GememPytorchSegment *segment = low > 0 ? &g_array_index (state->pool_segments,
                                                                 GememPytorchSegment, low - 1)
                                               : NULL;

  if (segment != NULL && address - segment->address < segment->size && event >= segment->since)
    return segment->pool;
  return gone_pool (state, address, event);
}
