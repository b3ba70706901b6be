/* caching-watch.c - what the settings of `pytorch-caching` decided in a run: the questions of questions.h are those
 * of gemem_caching_answer().
 *
 * Invariants: what is decided by a setting and put as no question is in have_same_rules(): such settings
 * must be equal.  Torch-npu, which has rules of its own, does not watch.
 * Cost: nothing but a test while nobody watches.
 */
#include "config.h"

#include "allocators/pytorch/caching.h"

static guint64
answer (gconstpointer settings, guint asked, guint64 a, guint64 b)
{
  return gemem_caching_answer (settings, (CachingAsked) asked, a, b);
}

void
gemem_caching_note_question (Caching *caching, CachingAsked asked, guint64 a, guint64 b)
{
  gemem_questions_note (caching->watch, &caching->settings, asked, a, b);
}

void
gemem_caching_watch_begin (GememAllocator *allocator)
{
  ((Caching *) allocator)->watch = gemem_questions_new (answer);
}

void
gemem_caching_watch_blind (Caching *caching)
{
  if (caching->watch != NULL)
    gemem_questions_blind (caching->watch);
}

void
gemem_caching_watch_free (Caching *caching)
{
  g_clear_pointer (&caching->watch, gemem_questions_free);
}

/* What no question is asked about. */
static gboolean
have_same_rules (const CachingSettings *a, const CachingSettings *b)
{
  return a->version == b->version && a->expandable == b->expandable
         && a->throw_on_oom == b->throw_on_oom
         && (!a->throw_on_oom || (a->limit == CACHING_UNLIMITED) == (b->limit == CACHING_UNLIMITED))
         && a->total == b->total && !(a->reserve_part < b->reserve_part)
         && !(a->reserve_part > b->reserve_part) && !(a->reserve_bytes < b->reserve_bytes)
         && !(a->reserve_bytes > b->reserve_bytes)
         && a->release_private_pools == b->release_private_pools
         && a->sleep_expandable == b->sleep_expandable;
}

gboolean
gemem_caching_watch_alike (const GememAllocator *allocator, const GememAllocator *other)
{
  const Caching *caching = (const Caching *) allocator;
  const CachingSettings *settings = &((const Caching *) other)->settings;

  return have_same_rules (&caching->settings, settings)
         && gemem_questions_alike (caching->watch, settings);
}
