/* releases.c - see releases.h.
 *
 * Invariants: runs are in order and separated by other events; at most the last run is open.
 */
#include "config.h"

#include <string.h>

#include "traces/pytorch/releases.h"

#define MOST_KEPT 65536 /* segments that failures kept, of which is told */

typedef struct
{
  GememTreeNode node; /* by address; group: whether a block is in use */
  guint64 size, blocks;
} Segment;

void
gemem_pytorch_releases_init (GememPytorchReleases *releases)
{
  memset (releases, 0, sizeof *releases);
  releases->runs = g_array_new (FALSE, FALSE, sizeof (GememPytorchRelease));
  releases->pools = g_array_new (FALSE, FALSE, sizeof (guint32));
  releases->requests = g_byte_array_new ();
  releases->misses = g_array_new (FALSE, FALSE, sizeof (gint64));
  gemem_slab_init (&releases->slab, sizeof (Segment));
  releases->strays = g_array_new (FALSE, FALSE, sizeof (GememPytorchStray));
  releases->kept = g_array_new (FALSE, FALSE, sizeof (GememPytorchKept));
  gemem_idset_init (&releases->known);
}

void
gemem_pytorch_releases_clear (GememPytorchReleases *releases)
{
  g_clear_pointer (&releases->runs, g_array_unref);
  g_clear_pointer (&releases->pools, g_array_unref);
  g_clear_pointer (&releases->requests, g_byte_array_unref);
  g_clear_pointer (&releases->misses, g_array_unref);
  gemem_tree_clear (&releases->segments);
  gemem_slab_clear (&releases->slab);
  g_clear_pointer (&releases->strays, g_array_unref);
  g_clear_pointer (&releases->kept, g_array_unref);
  gemem_idset_clear (&releases->known);
}

static gboolean
is_release (guint kind)
{
  return kind == GEMEM_EVENT_SEGMENT_FREE || kind == GEMEM_EVENT_SEGMENT_UNMAP;
}

/* TRUE for an event caused by a request, which has the stack of the request. */
static gboolean
is_of_request (const GememTraceEvent *event)
{
  return event->kind == GEMEM_EVENT_SEGMENT_ALLOC || event->kind == GEMEM_EVENT_SEGMENT_MAP
         || event->kind == GEMEM_EVENT_ALLOC || event->kind == GEMEM_EVENT_OOM;
}

/* Adds modulo 2^64: sizes are below 2^60, but a hostile file may have any number of them. */
static gint64
plus (gint64 reserved, guint64 size)
{
  return (gint64) ((guint64) reserved + size);
}

/* Detects whether frees have stacks of their own.  Otherwise a free has the stack of its block's
 * request, so a stack that no request has is proof. */
static void
look_at_stack (GememPytorchReleases *releases, const GememTraceEvent *event, guint32 stack,
               gboolean seen)
{
  if (stack == 0)
    return;
  if (releases->requests->len <= stack)
    {
      const guint before = releases->requests->len;
      g_byte_array_set_size (releases->requests, MAX (stack + 1, before + before / 2));
      memset (releases->requests->data + before, 0, releases->requests->len - before);
    }
  if (is_of_request (event))
    {
      releases->stacks = TRUE;
      releases->requests->data[stack] = 1;
    }
  else if (seen)
    releases->own |= releases->requests->data[stack] == 0;
}

/* ---- segments without a block in use */

/* The segment with the highest start at or below @address among those that are in use (or not); NULL: none. */
static Segment *
segment_below (const GememPytorchReleases *releases, guint64 in_use, guint64 address)
{
  GememTreeNode *node = gemem_tree_at_or_before (&releases->segments, in_use, 0, address);

  return node != NULL && node->group == in_use ? GEMEM_TREE_ENTRY (node, Segment, node) : NULL;
}

static Segment *
segment_at (const GememPytorchReleases *releases, guint64 address)
{
  Segment *used = segment_below (releases, 1, address),
          *unused = segment_below (releases, 0, address);

  return used == NULL || (unused != NULL && unused->node.address > used->node.address) ? unused
                                                                                       : used;
}

static void
set_blocks (GememPytorchReleases *releases, Segment *segment, guint64 blocks)
{
  const guint64 in_use = blocks > 0;

  segment->blocks = blocks;
  if (segment->node.group == in_use)
    return;
  gemem_tree_remove (&releases->segments, &segment->node);
  segment->node.group = in_use;
  gemem_tree_insert (&releases->segments, &segment->node);
}

/* Follows which segments have blocks in use. */
static void
follow_segments (GememPytorchReleases *releases, const GememTraceEvent *event)
{
  Segment *segment = segment_at (releases, event->address);

  if (event->kind == GEMEM_EVENT_SEGMENT_ALLOC && event->pool == 0)
    {
      if (segment == NULL || segment->node.address != event->address)
        {
          segment = gemem_slab_alloc (&releases->slab);
          segment->node.address = event->address;
          gemem_tree_insert (&releases->segments, &segment->node);
        }
      segment->size = event->size;
      set_blocks (releases, segment, 0);
    }
  else if (segment == NULL || event->address - segment->node.address >= segment->size)
    return;
  else if (event->kind == GEMEM_EVENT_SEGMENT_FREE && segment->node.address == event->address)
    {
      gemem_tree_remove (&releases->segments, &segment->node);
      gemem_slab_free (&releases->slab, segment);
    }
  else if (event->kind == GEMEM_EVENT_ALLOC)
    set_blocks (releases, segment, segment->blocks + 1);
  else if (event->kind == GEMEM_EVENT_FREE_COMPLETED && segment->blocks > 0)
    set_blocks (releases, segment, segment->blocks - 1);
}

/* The unused segment with the lowest address; NULL: there is none. */
static GememTreeNode *
first_unused (const GememPytorchReleases *releases)
{
  GememTreeNode *first = gemem_tree_first (&releases->segments);

  return first != NULL && first->group == 0 ? first : NULL;
}

/* Keeps which segments a request that fails now would have released. */
static void
keep_unused (GememPytorchReleases *releases)
{
  for (GememTreeNode *node = first_unused (releases);
       node != NULL && node->group == 0 && releases->kept->len < MOST_KEPT;
       node = gemem_tree_next (node))
    {
      const GememPytorchKept kept = { releases->events, node->address };

      g_array_append_val (releases->kept, kept);
    }
}

/* ---- runs */

/* Whether an emptied cache releases @first before @second, of the same pool. */
static gboolean
goes_before (const GememTraceEvent *first, const GememTraceEvent *second)
{
  const guint small = first->flags & GEMEM_EVENT_SMALL, other = second->flags & GEMEM_EVENT_SMALL;

  if (small != other)
    return small < other;
  if (first->stream != second->stream)
    return first->stream < second->stream;
  return first->size != second->size ? first->size < second->size
                                     : first->address < second->address;
}

/* Notes a segment of a private pool, as the order of releases shows. */
static void
look_at_order (GememPytorchReleases *releases, const GememTraceEvent *event, guint64 made)
{
  const GememPytorchStray stray = { .address = event->address,
                                    .size = event->size,
                                    .since = made - 1,
                                    .until = releases->events,
                                    .run = releases->runs->len - 1,
                                    .pool = releases->breaks };

  if (stray.pool > 0 && made > 0)
    g_array_append_val (releases->strays, stray);
}

static void
begin_run (GememPytorchReleases *releases, guint32 stack, gboolean empties)
{
  GememPytorchRelease run = { .pools = releases->pools->len,
                              .whole = empties,
                              .nameless = stack != 0 && !empties,
                              .mapped = releases->maps,
                              .before = releases->reserved };

  run.completions = (guint32) MIN (releases->stack == stack ? releases->completions : 0,
                                   G_MAXUINT32);
  run.event = releases->events - run.completions;
  g_array_append_val (releases->runs, run);
  releases->open = releases->uniform = TRUE;
  releases->breaks = 0;
  releases->stack = stack;
}

static void
add_to_run (GememPytorchReleases *releases, const GememTraceEvent *event, guint32 stack,
            guint64 made)
{
  GememPytorchRelease *run = &g_array_index (releases->runs, GememPytorchRelease,
                                             releases->runs->len - 1);

  releases->uniform &= stack == releases->stack;
  releases->breaks += run->bytes > 0 && event->kind == GEMEM_EVENT_SEGMENT_FREE
                      && releases->previous.kind == GEMEM_EVENT_SEGMENT_FREE
                      && !goes_before (&releases->previous, event);
  releases->previous = *event;
  if (event->kind == GEMEM_EVENT_SEGMENT_FREE && event->pool == 0)
    look_at_order (releases, event, made);
  if (run->bytes == 0)
    run->first = run->least = event->size;
  run->least = MIN (run->least, event->size);
  run->most = MAX (run->most, event->size);
  run->bytes += event->size;
  run->whole |= event->pool == 0;
  if (event->pool == 0 || gemem_idset_contains (&releases->known, event->pool))
    return;
  gemem_idset_add (&releases->known, event->pool);
  g_array_append_val (releases->pools, event->pool);
  run->n_pools++;
}

/* @next: the event after the run, or NULL. */
static void
end_run (GememPytorchReleases *releases, const GememTraceEvent *next, guint32 stack)
{
  GememPytorchRelease *run = &g_array_index (releases->runs, GememPytorchRelease,
                                             releases->runs->len - 1);
  const gboolean obtained = next != NULL
                            && (next->kind == GEMEM_EVENT_SEGMENT_ALLOC
                                || next->kind == GEMEM_EVENT_SEGMENT_MAP);

  run->left = !releases->stacks && first_unused (releases) != NULL;
  run->failed = next != NULL && next->kind == GEMEM_EVENT_OOM && next->size > 0;
  run->whole |= run->n_pools == 0;
  if (obtained || run->failed)
    run->asked = next->size;
  if (releases->stack != 0 && releases->uniform && stack == releases->stack
      && (obtained || run->failed))
    run->cause = GEMEM_PYTORCH_RELEASE_REFUSED;
  else
    run->cause = releases->stack != 0 || !releases->uniform ? GEMEM_PYTORCH_RELEASE_PROGRAM
                                                            : GEMEM_PYTORCH_RELEASE_GUESSED;
  releases->open = FALSE;
}

/* TRUE for a completion that a request or the program waited for, as opposed to one directly after
 * its free.  Within a run, only a completion with the stack of the run counts. */
static gboolean
is_waited_for (const GememPytorchReleases *releases, const GememTraceEvent *event, guint32 stack)
{
  if (event->kind != GEMEM_EVENT_FREE_COMPLETED || stack == 0
      || (releases->open && stack != releases->stack))
    return FALSE;
  return releases->last_kind != GEMEM_EVENT_FREE_REQUESTED
         || releases->last_address != event->address || releases->stack != stack;
}

/* Counts consecutive completions with the same stack. */
static void
count_completions (GememPytorchReleases *releases, const GememTraceEvent *event, guint32 stack)
{
  const gboolean waited = is_waited_for (releases, event, stack);

  if (!waited || stack != releases->stack)
    releases->completions = 0;
  releases->stack = stack;
  releases->completions += waited;
}

static void
count_reserved (GememPytorchReleases *releases, const GememTraceEvent *event)
{
  if (event->kind == GEMEM_EVENT_SEGMENT_ALLOC && !is_release (releases->last_kind))
    g_array_append_val (releases->misses, releases->reserved);
  if (is_release (event->kind))
    releases->reserved = plus (releases->reserved, -event->size);
  else if (event->kind == GEMEM_EVENT_SEGMENT_ALLOC || event->kind == GEMEM_EVENT_SEGMENT_MAP)
    releases->reserved = plus (releases->reserved, event->size);
  releases->peak = MAX (releases->peak, releases->reserved);
  releases->failed += event->kind == GEMEM_EVENT_OOM && event->size > 0;
}

void
gemem_pytorch_releases_event (GememPytorchReleases *releases, const GememTraceEvent *event,
                              guint32 stack, gboolean empties, gboolean seen, guint64 made)
{
  const gboolean release = is_release (event->kind);

  if (releases->open && is_waited_for (releases, event, stack))
    g_array_index (releases->runs, GememPytorchRelease, releases->runs->len - 1).waits = TRUE;
  else if (releases->open && !release)
    end_run (releases, event, stack);
  look_at_stack (releases, event, stack, seen);
  if (event->kind != GEMEM_EVENT_FREE_REQUESTED)
    follow_segments (releases, event);
  if (event->kind == GEMEM_EVENT_OOM && event->size > 0)
    keep_unused (releases);
  if (release && !releases->open)
    begin_run (releases, stack, empties);
  if (release)
    add_to_run (releases, event, stack, made);
  else if (!releases->open)
    count_completions (releases, event, stack);
  if (event->kind > GEMEM_EVENT_FREE_COMPLETED) /* an event about a segment or the device */
    count_reserved (releases, event);
  if (event->kind != GEMEM_EVENT_FREE_COMPLETED)
    releases->maps = event->kind == GEMEM_EVENT_SEGMENT_MAP;
  releases->last_kind = event->kind;
  releases->last_address = event->address;
  releases->events++;
}

/* TRUE if the run must be garbage collection: the device had provided as much memory at another
 * time, so it did not refuse the request. */
static gboolean
is_collection (const GememPytorchReleases *releases, const GememPytorchRelease *run)
{
  return run->cause == GEMEM_PYTORCH_RELEASE_REFUSED
         && plus (run->before, run->asked) <= releases->peak;
}

/* Garbage is collected at a miss while more than threshold * limit is reserved.  So the product is
 * below the bytes reserved at each collection, not below those at a miss without a collection, and
 * not below those after a collection. */
guint64
gemem_pytorch_releases_infer_limit (const GememPytorchReleases *releases, double threshold,
                                    guint64 initial)
{
  gint64 least = 0, below = G_MAXINT64;
  const gint64 start = (gint64) MIN (initial, G_MAXINT64 / 4),
               peak = plus (start, (guint64) releases->peak);

  for (guint i = 0; i < releases->runs->len; i++)
    {
      const GememPytorchRelease *run = &g_array_index (releases->runs, GememPytorchRelease, i);
      if (is_collection (releases, run))
        below = MIN (below, run->before);
    }
  if (below == G_MAXINT64 || threshold <= 0 || threshold >= 1)
    return 0;
  below = plus (below, (guint64) start);
  for (guint i = 0; i < releases->misses->len; i++)
    {
      const gint64 level = plus (g_array_index (releases->misses, gint64, i), (guint64) start);
      if (level < below)
        least = MAX (least, level);
    }
  for (guint i = 0; i < releases->runs->len; i++)
    {
      const GememPytorchRelease *run = &g_array_index (releases->runs, GememPytorchRelease, i);
      const gint64 left = plus (plus (run->before, (guint64) start), -run->bytes);
      if (is_collection (releases, run) && left < below)
        least = MAX (least, left);
    }
  if (below <= 0 || peak <= 0 || peak >= G_MAXINT64 / 4)
    return 0;
  guint64 limit = (guint64) ((double) least / threshold);
  limit += (gint64) (threshold * (double) limit) < least; /* corrects the rounding down */
  limit = MAX (limit, (guint64) peak);
  return (gint64) (threshold * (double) limit) < below ? limit : 0;
}

/* Without call stacks: marks the runs in which garbage was collected. */
static void
find_own (GememPytorchReleases *releases, const GememPytorchReleaseFacts *facts)
{
  gboolean proven = FALSE;

  if (facts->private_pools || releases->stacks || !(facts->collection_threshold > 0))
    return;
  for (guint i = 0; i < releases->runs->len; i++)
    {
      GememPytorchRelease *run = &g_array_index (releases->runs, GememPytorchRelease, i);

      if (run->cause != GEMEM_PYTORCH_RELEASE_GUESSED || run->asked == 0 || run->failed)
        continue;
      run->cause = GEMEM_PYTORCH_RELEASE_REFUSED;
      run->guessed = !run->left;
      proven = proven || run->left;
    }
  if (proven
      && gemem_pytorch_releases_infer_limit (releases, facts->collection_threshold, facts->initial)
             > 0)
    return;
  for (guint i = 0; i < releases->runs->len; i++)
    {
      GememPytorchRelease *run = &g_array_index (releases->runs, GememPytorchRelease, i);

      if (run->guessed)
        run->cause = GEMEM_PYTORCH_RELEASE_GUESSED;
    }
}

/* Marks the runs whose request the device cannot have served as it was. */
static void
find_refused (GememPytorchReleases *releases, const GememPytorchReleaseFacts *facts)
{
  const gint64 most = (gint64) MIN (facts->capacity, G_MAXINT64 / 4)
                      - (gint64) MIN (facts->initial, G_MAXINT64 / 4);

  if (facts->capacity == 0 || releases->stacks)
    return;
  for (guint i = 0; i < releases->runs->len; i++)
    {
      GememPytorchRelease *run = &g_array_index (releases->runs, GememPytorchRelease, i);

      if (run->cause == GEMEM_PYTORCH_RELEASE_GUESSED && run->asked > run->most
          && plus (run->before, run->asked) > most)
        run->cause = GEMEM_PYTORCH_RELEASE_REFUSED;
    }
}

/* Gives the strays of run @i their pools, or drops them where the order means nothing: the allocator
 * releases otherwise when it collects garbage or was refused memory.  @next: the first stray of the
 * run or of a later one; returns that of the next run.  @kept: strays kept so far. */
static guint
settle_strays (GememPytorchReleases *releases, guint i, const GememPytorchReleaseFacts *facts,
               guint next, guint *kept, guint32 *free_pool)
{
  GememPytorchRelease *run = &g_array_index (releases->runs, GememPytorchRelease, i);
  const gboolean counts = facts->free_pool != 0 && run->cause != GEMEM_PYTORCH_RELEASE_REFUSED
                          && !(facts->collection_threshold > 0) && run->least <= facts->max_cached;
  guint32 before = 0;

  run->pools = counts ? releases->pools->len : run->pools;
  for (; next < releases->strays->len; next++)
    {
      GememPytorchStray stray = g_array_index (releases->strays, GememPytorchStray, next);

      if (stray.run != i)
        break;
      if (!counts)
        continue;
      if (stray.pool != before)
        {
          before = stray.pool;
          (*free_pool)++;
          g_array_append_val (releases->pools, *free_pool);
          run->n_pools++;
        }
      stray.pool = *free_pool;
      g_array_index (releases->strays, GememPytorchStray, (*kept)++) = stray;
    }
  return next;
}

void
gemem_pytorch_releases_finish (GememPytorchReleases *releases,
                               const GememPytorchReleaseFacts *facts)
{
  guint32 free_pool = facts->free_pool - 1;
  guint stray = 0, kept = 0;

  if (releases->open)
    end_run (releases, NULL, 0);
  releases->added = 2 * releases->failed;
  find_refused (releases, facts);
  find_own (releases, facts);
  for (guint i = 0; i < releases->runs->len; i++)
    {
      GememPytorchRelease *run = &g_array_index (releases->runs, GememPytorchRelease, i);

      if (facts->never_refused
          || (run->cause == GEMEM_PYTORCH_RELEASE_REFUSED && releases->stacks && !releases->own
              && plus (run->before, run->asked) <= releases->peak))
        run->cause = GEMEM_PYTORCH_RELEASE_PROGRAM;
      if (run->cause == GEMEM_PYTORCH_RELEASE_GUESSED && releases->stacks)
        run->cause = GEMEM_PYTORCH_RELEASE_PROGRAM;
      stray = settle_strays (releases, i, facts, stray, &kept, &free_pool);
      if (run->cause != GEMEM_PYTORCH_RELEASE_REFUSED
          || (facts->max_split_size != G_MAXUINT64
              && (run->waits || run->first >= facts->max_split_size)))
        run->event += run->completions;
      if (run->least > facts->max_cached)
        run->whole = FALSE; /* the allocator's own */
      else
        releases->counts[run->cause]++;
      releases->nameless += run->cause == GEMEM_PYTORCH_RELEASE_PROGRAM && run->nameless
                            && releases->own;
      releases->added += run->n_pools;
      if (run->cause != GEMEM_PYTORCH_RELEASE_REFUSED)
        releases->added += run->whole;
      else if (!run->failed) /* the limit of a failed request is counted already */
        releases->added += 2;
    }
  g_array_set_size (releases->strays, kept);
  releases->fresh_pool = facts->free_pool != 0 ? free_pool + 1 : 0;
}

/* ---- second pass */

gboolean
gemem_pytorch_releases_kept (GememPytorchReleases *releases, guint64 number, guint64 *address)
{
  const GememPytorchKept *kept;

  for (; releases->next_kept < releases->kept->len; releases->next_kept++)
    {
      kept = &g_array_index (releases->kept, GememPytorchKept, releases->next_kept);
      if (kept->event > number)
        return FALSE;
      *address = kept->address;
      if (kept->event == number)
        {
          releases->next_kept++;
          return TRUE;
        }
    }
  return FALSE;
}

/* Makes the next event that precedes the next run. */
static gboolean
before_run (GememPytorchReleases *releases, guint64 reserved, GememTraceEvent *added)
{
  const GememPytorchRelease *run = &g_array_index (releases->runs, GememPytorchRelease,
                                                   releases->next);
  const gboolean refused = run->cause == GEMEM_PYTORCH_RELEASE_REFUSED;

  if (releases->step < run->n_pools)
    {
      added->kind = GEMEM_EVENT_POOL_RELEASE;
      added->pool = g_array_index (releases->pools, guint32, run->pools + releases->step++);
      added->aux = !run->whole && !refused;
      return TRUE;
    }
  releases->next++;
  releases->step = 0;
  releases->limited = refused;
  added->kind = refused ? GEMEM_EVENT_DEVICE_LIMIT : GEMEM_EVENT_TRIM;
  if (refused)
    added->size = MAX (reserved - MIN (run->bytes, reserved) + (run->failed ? 0 : run->asked),
                       run->mapped ? reserved : 1);
  return refused || run->whole;
}

gboolean
gemem_pytorch_releases_before (GememPytorchReleases *releases, guint64 number,
                               const GememTraceEvent *event, guint64 reserved,
                               GememTraceEvent *added)
{
  const gboolean run = releases->next < releases->runs->len
                       && g_array_index (releases->runs, GememPytorchRelease, releases->next).event
                              == number;
  const gboolean fails = event->kind == GEMEM_EVENT_OOM && event->size > 0 && !releases->limited;

  if (!run && !fails)
    return FALSE;
  memset (added, 0, sizeof *added);
  if (run)
    return before_run (releases, reserved, added);
  releases->limited = TRUE;
  added->kind = GEMEM_EVENT_DEVICE_LIMIT;
  added->size = MAX (reserved, 1);
  return TRUE;
}

gboolean
gemem_pytorch_releases_behind (GememPytorchReleases *releases, const GememTraceEvent *event,
                               GememTraceEvent *added)
{
  if (!releases->limited || event->kind == GEMEM_EVENT_FREE_COMPLETED
      || (event->kind >= GEMEM_EVENT_SEGMENT_ALLOC && event->kind <= GEMEM_EVENT_SEGMENT_UNMAP))
    return FALSE; /* the request is still pending */
  releases->limited = FALSE;
  memset (added, 0, sizeof *added);
  added->kind = GEMEM_EVENT_DEVICE_LIMIT;
  return TRUE;
}
