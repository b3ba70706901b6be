/* quick.c - `umpire-quick`: Umpire's QuickPool.
 *
 * Of free chunks of equal size the one that became free first is taken.  A free may coalesce; the
 * block with which it does so is freed like any other, so that the heuristic is asked again.  Where
 * the answer stays the same the real program recurses until its stack overflows: the run is marked,
 * and the replay goes on from the state that repeats.
 *
 * Invariants and cost: pool.h.
 * Origin: peers.md section 1k.1.
 */
#include "config.h"

#include "allocators/umpire/pool.h"

extern const GememAllocatorClass gemem_umpire_quick_class;

/* How one level of coalescing ends; two equal ones in succession have no end. */
typedef struct
{
  guint64 bytes, actual, high, free;
} Level;

static gboolean
repeats (const Level *a, const Level *b)
{
  return a->bytes == b->bytes && a->actual == b->actual && a->high == b->high && a->free == b->free;
}

static guint64
ask (const UmpirePool *self)
{
  return gemem_umpire_suggestion (self, self->releasable_now == self->actual);
}

static G_GNUC_NO_INLINE void
coalesce (UmpirePool *self, guint64 bytes)
{
  Level now = { 0 }, before;

  while (bytes > 0 && self->free.count > 1 && gemem_umpire_coalesce (self, bytes))
    {
      before = now;
      bytes = ask (self);
      now = (Level){ bytes, self->actual, self->aligned_high, self->free.count };
      if (bytes > 0 && repeats (&now, &before))
        {
          gemem_allocator_break_rule (
              &self->base, "a free coalesces without end, which overflows the stack of the real "
                           "program; let coalesce= be a percentage of 0 or 100, or 2 blocks or "
                           "more, or take umpire-list");
          return;
        }
    }
}

static void
quick_free (GememAllocator *allocator, const GememBlock *block,
            G_GNUC_UNUSED gboolean completion_follows)
{
  UmpirePool *self = (UmpirePool *) allocator;

  gemem_umpire_put (self, block->handle);
  if (G_UNLIKELY (self->releasable.count >= self->least_blocks))
    coalesce (self, ask (self));
}

static void
quick_notes (gconstpointer params, GememNoteFunc func, gpointer data)
{
  const char *text = ((const UmpireParams *) params)->coalesce;
  UmpireHeuristic heuristic;

  if (gemem_umpire_heuristic_parse ("umpire-quick", text, &heuristic, NULL)
      && gemem_umpire_heuristic_repeats (&heuristic))
    {
      g_autofree char *note = g_strdup_printf (
          "coalesce=%s: the real QuickPool overflows its stack when it coalesces while free "
          "chunks lie between used ones; a run in which that happens is marked",
          text);
      func (note, data);
    }
}

static GememAllocator *
quick_create (gconstpointer given, GememDevice *device, GError **error)
{
  return gemem_umpire_create (&gemem_umpire_quick_class, given, device, TRUE, error);
}

const GememAllocatorClass gemem_umpire_quick_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "umpire-quick",
  .aliases = "umpire",
  .summary = "Umpire's QuickPool: best fit in blocks that coalesce when all are free",
  .origin = "Umpire of October 2024 (peers.md 1k.1)",
  .known_as = "QuickPool|percent_releasable|blocks_releasable",
  .alignment = 16,
  .params = gemem_umpire_params,
  .params_size = sizeof (UmpireParams),
  .notes = quick_notes,
  .create = quick_create,
  .alloc = gemem_umpire_alloc,
  .free = quick_free,
  .prefetch = gemem_neighbours_prefetch,
  .trim = gemem_umpire_trim,
  .largest_free = gemem_umpire_largest_free,
  .walk = gemem_umpire_walk,
  .check = gemem_umpire_check,
  .destroy = gemem_umpire_destroy,
  .report.stats = gemem_umpire_stats,
};
