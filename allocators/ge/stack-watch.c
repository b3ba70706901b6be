/* stack-watch.c - what the settings of a stack of pools decided in a run, as the questions of questions.h.
 *
 * Invariants: all pools of a stack answer alike but to GE_ASKED_ROOT, which only those above the device are asked.  What
 * is decided by a setting and put as no question is in have_same_rules(): such settings must be equal.  A
 * guard against a second thread decides nothing where one thread replays.
 */
#include "config.h"

#include "allocators/ge/stack.h"

/* What a pool of @settings (GeSpanPoolConfig) decides. */
static guint64
answer (gconstpointer settings, guint asked, guint64 a, guint64 b)
{
  const GeSpanPoolConfig *config = settings;
  const GeSpanPool pool = { .config = *config,
                            .page = G_GUINT64_CONSTANT (1) << config->page_shift,
                            .layer_capacity = 1 + (config->threshold >> config->page_shift) };

  switch ((GeAsked) asked)
    {
    case GE_ASKED_PAGES:
      return gemem_ge_pool_pages_of (&pool, a);
    case GE_ASKED_LIFT:
      return config->span_layer_lift_max > 0
             && (config->quick || config->span_layer_lift_max >= MIN (a, pool.layer_capacity));
    case GE_ASKED_ROOT:
      return MAX (a, config->minimum >> config->page_shift);
    case GE_ASKED_OVER:
      return a > config->threshold - (b << config->page_shift);
    default:
      g_assert_not_reached ();
    }
}

/* The settings of the pool above the device. */
static const GeSpanPoolConfig *
watched_of (const GeStack *self)
{
  return self->stack == GE_STACK_SINGLE ? &self->config : &self->bottom.config;
}

void
gemem_ge_stack_watch (GememAllocator *allocator)
{
  GeStack *self = (GeStack *) allocator;

  self->watch = gemem_questions_new (answer);
  self->config.watch = self->bottom.config.watch = self->watch;
  self->config.watched = self->bottom.config.watched = watched_of (self);
  self->bottom.config.watches_roots = TRUE;
  self->config.watches_roots = self->stack == GE_STACK_SINGLE;
}

/* What no question is asked about.  A stack with a range of its own took it when it was made. */
static gboolean
have_same_rules (const GeStack *a, const GeStack *b)
{
  return a->stack == b->stack && a->stack != GE_STACK_FIXED
         && a->config.page_shift == b->config.page_shift
         && (a->by_model == NULL) == (b->by_model == NULL) && a->pages == NULL && b->pages == NULL;
}

gboolean
gemem_ge_stack_is_alike (const GememAllocator *allocator, const GememAllocator *other)
{
  const GeStack *self = (const GeStack *) allocator, *rival = (const GeStack *) other;

  return have_same_rules (self, rival) && gemem_questions_alike (self->watch, watched_of (rival));
}
