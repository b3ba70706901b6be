/* advise.c - see advise.h: the replays behind an advice, and which lines are offered; the verdict is
 * judge.c's.
 *
 * Three rounds of replays, each run at once: what the program has now, on every device of the trace;
 * every setting by itself and the allocators of other systems; pairs of the settings that helped.
 * Longer traces get fewer: the pairs, the other systems and the least device are left out above
 * GEMEM_ADVICE_MANY_EVENTS, and the advice says so.
 */
#include "config.h"

#include <string.h>

#include "sim/search/advise-private.h"
#include "sim/search/recorder.h"
#include "sim/search/trials.h"

#define BEST_SETTINGS 6 /* that are tried in pairs */

extern const GememAllocatorClass gemem_direct_class, gemem_rmm_limiting_class;

/* Jobs that run at once, and what came of them. */
typedef struct
{
  const GememAdviceQuestion *question;
  GArray *jobs;
  GememResult **results;
  GError **errors;
} Round;

static void
round_begin (Round *round, const GememAdviceQuestion *question)
{
  *round = (Round){ question, g_array_new (FALSE, TRUE, sizeof (GememJob)), NULL, NULL };
}

static GememJob *
round_add (Round *round, const GememAllocatorSpec *spec, int ordinal)
{
  const GememNeedOptions options = gemem_advice_need_options (round->question);
  const GememNeed need = gemem_advice_need_of (round->question, spec);
  const GememJob job = gemem_need_job (&need, spec, ordinal, &options);

  g_array_append_val (round->jobs, job);
  return &g_array_index (round->jobs, GememJob, round->jobs->len - 1);
}

/* Those that need more than @most bytes end early (0: none does). */
static void
round_run (Round *round, guint64 most)
{
  round->results = g_new0 (GememResult *, round->jobs->len + 1);
  round->errors = g_new0 (GError *, round->jobs->len + 1);
  gemem_trials_run ((const GememJob *) round->jobs->data, round->jobs->len, most,
                    &round->question->runner, round->results, round->errors);
}

static void
round_end (Round *round)
{
  for (guint i = 0; i < round->jobs->len; i++)
    {
      g_clear_pointer (&round->results[i], gemem_result_free);
      g_clear_error (&round->errors[i]);
    }
  g_free (round->results);
  g_free (round->errors);
  g_array_unref (round->jobs);
}

/* ---- whose allocator */

/* JAX has TensorFlow's allocator and reads none of its variables. */
static gboolean
is_of_jax (const GememTraceInfo *info)
{
  return g_strcmp0 (gemem_trace_info_said (info, GEMEM_TRACE_FRAMEWORK), GEMEM_TRACE_FRAMEWORK_JAX)
             == 0
         || (info->allocator == NULL && gemem_trace_info_came_from (info, "pprof"));
}

static gboolean
choose_allocator (GememAdvice *advice, const GememAdviceQuestion *question, GError **error)
{
  const char *system = g_strcmp0 (question->system, "any") == 0 ? NULL : question->system;
  const GememForm *form;

  if (system == NULL && is_of_jax (gemem_held_info (advice->held)))
    system = "jax";

  advice->spec = gemem_recorder_choose (
      gemem_held_info (advice->held), gemem_recorder_is_host (question->ordinals),
      question->ignores_settings, system, &advice->assumed, error);
  if (advice->spec == NULL)
    return FALSE;
  form = gemem_paste_form (advice->spec->klass, system);
  advice->system = form != NULL ? g_strdup (form->system) : NULL;
  return TRUE;
}

/* The settings that the program has, for the allocator of the advice; NULL: the defaults. */
static const char *
settings_now (const GememAdvice *advice, const GememAdviceQuestion *question)
{
  const GememTraceInfo *info = gemem_held_info (advice->held);
  const GememAllocatorClass *klass = advice->spec->klass;

  return !question->ignores_settings && info->allocator != NULL
                 && gemem_name_is (klass->name, klass->aliases, info->allocator)
             ? info->settings
             : NULL;
}

/* The first round: the program as it is, on each device of the trace; then in other histories. */
static gboolean
replay_now (GememAdvice *advice, const GememAdviceQuestion *question, int *ordinal, GError **error)
{
  const GememNeedOptions options = gemem_advice_need_options (question);
  GememNeed need = gemem_advice_need_of (question, advice->spec);

  if (gemem_needs_find (&need, 1, &options, error))
    {
      if (question->histories > 0)
        gemem_histories_try (&need, question->histories, &options, &advice->histories);
      *ordinal = need.result->device_ordinal;
      advice->now = g_steal_pointer (&need.result);
    }
  gemem_need_clear (&need);
  return advice->now != NULL;
}

/* ---- what would need less */

typedef struct
{
  GPtrArray *candidates; /* GememCandidate, owned */
  GPtrArray *results;    /* GememResult of each, owned; NULL: no proof */
} Tried;

/* TRUE if @i is better than @j: needs less, then fewer calls, then fewer settings, then earlier. */
static gboolean
is_better (const Tried *tried, guint i, guint j)
{
  const GememResult *a = tried->results->pdata[i], *b = tried->results->pdata[j];
  const guint64 calls_a = gemem_result_calls (a), calls_b = gemem_result_calls (b);
  const guint own_a = ((GememCandidate *) tried->candidates->pdata[i])->own->len,
              own_b = ((GememCandidate *) tried->candidates->pdata[j])->own->len;

  if (a->peak_reserved != b->peak_reserved)
    return a->peak_reserved < b->peak_reserved;
  return own_a != own_b ? own_a < own_b : calls_a != calls_b ? calls_a < calls_b : i < j;
}

/* What the program needs without another setting, from where others are replayed. */
static guint64
need_beside (const GememAdvice *advice)
{
  return advice->anew > 0 && (advice->need == 0 || advice->anew < advice->need) ? advice->anew
                                                                                : advice->need;
}

/* What a setting must need less than to help; 0: whatever it needs. */
static guint64
most_of (const GememAdvice *advice)
{
  return advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT ? 0 : advice->need;
}

/* Whether @result is worth telling: it needs at least 1 % less, or fits where the program does not.  A device that
 * refused the program, and of which nobody knows the size, has what was held before. */
static gboolean
helps (const GememAdvice *advice, const GememResult *result)
{
  const guint64 from = need_beside (advice);
  const guint64 need = advice->elsewhere > 0 ? MIN (from, advice->elsewhere) : from;

  if (result == NULL)
    return FALSE;
  if (advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT && advice->anew == 0
      && (!advice->device_assumed || result->peak_reserved <= advice->now->fidelity.recorded_peak))
    return TRUE;
  return result->peak_reserved < need - need / 100;
}

/* Indexes of those that help, the best first. */
static GArray *
rank (const GememAdvice *advice, const Tried *tried)
{
  GArray *order = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; i < tried->candidates->len; i++)
    {
      guint at = order->len;

      if (!helps (advice, tried->results->pdata[i]))
        continue;
      while (at > 0 && is_better (tried, i, g_array_index (order, guint, at - 1)))
        at--;
      g_array_insert_val (order, at, i);
    }
  return order;
}

/* Takes the results of a round for the last @n of @tried, and counts them. */
static void
collect (GememAdvice *advice, Tried *tried, Round *round, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      GememResult *result = round->results[i];
      const gboolean interrupted = gemem_was_left_out (result, round->errors[i]);

      advice->left_out += interrupted;
      advice->refused += round->errors[i] != NULL && !interrupted;
      advice->approximate += result != NULL && result->approximation != NULL;
      g_ptr_array_add (tried->results, result != NULL && gemem_result_is_proof (result)
                                           ? g_steal_pointer (&round->results[i])
                                           : NULL);
    }
}

/* ---- allocators of other systems, and the least device */

/* All that a program could have, without those of the advice's system. */
static GPtrArray *
other_systems (const GememAdvice *advice)
{
  g_autoptr (GPtrArray)
      all = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GPtrArray *others = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);

  gemem_allocator_spec_parse ("*", all, NULL);
  for (guint i = 0; i < all->len; i++)
    {
      GememAllocatorSpec *spec = all->pdata[i];

      if (spec->klass != &gemem_direct_class && spec->klass != &gemem_rmm_limiting_class
          && spec->klass != advice->spec->klass && spec->klass->prepare == NULL
          && (advice->system == NULL || gemem_paste_form (spec->klass, advice->system) == NULL))
        {
          g_ptr_array_add (others, spec);
          all->pdata[i] = NULL;
        }
    }
  g_ptr_array_set_free_func (all, NULL);
  for (guint i = 0; i < all->len; i++)
    if (all->pdata[i] != NULL)
      gemem_allocator_spec_free (all->pdata[i]);
  return others;
}

/* One that needs less than what is in use at once shares memory that this program cannot share. */
static void
take_other (GememAdvice *advice, const GememResult *result)
{
  if (result == NULL || !gemem_result_is_proof (result)
      || result->peak_reserved < advice->now->lower_bound
      || (advice->other != NULL && result->peak_reserved >= advice->other_need))
    return;
  g_free (advice->other);
  advice->other = g_strdup (result->label);
  advice->other_need = result->peak_reserved;
}

/* @spec with the addresses of policy @address; not owned, but for `device`. */
static GememAllocatorSpec
placed_by (const GememAllocatorSpec *spec, const char *address)
{
  GememAllocatorSpec placed = *spec;

  placed.device = gemem_settings_new ();
  if (spec->device != NULL)
    gemem_settings_append (placed.device, spec->device);
  gemem_settings_add (placed.device, "address", address);
  return placed;
}

/* The capacity that refused the program; 0: a limit of its own did. */
static guint64
too_small (const GememAdvice *advice)
{
  const GememOom *oom = gemem_result_first_oom (advice->now);

  return advice->limited || advice->device_assumed || oom == NULL
             ? 0
             : gemem_result_too_small (advice->now, oom);
}

/* The second round: every setting by itself, and beside them what only informs. */
static void
try_singles (GememAdvice *advice, const GememAdviceQuestion *question, int ordinal, Tried *tried)
{
  const char *system = g_strcmp0 (question->system, "any") == 0 ? NULL : advice->system;
  /* the recorder has no settings: another system in its place is no advice, least of all a GPU's for the host */
  const gboolean fixed = advice->system == NULL && question->system == NULL;
  const gboolean few = !advice->shortened && !(fixed && ordinal == GEMEM_DEVICE_HOST);
  const gboolean least = !advice->shortened && advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT;
  const gboolean anew = advice->now->state_adopted; /* which others do not start from */
  const gboolean moved = !anew && advice->verdict != GEMEM_ADVICE_DOES_NOT_FIT
                         && g_strcmp0 (
                                gemem_settings_value (advice->now->device_settings, "address"),
                                "recorded")
                                == 0;
  const GememAllocatorSpec alive = anew || moved ? placed_by (advice->spec, "cuda") : *advice->spec;
  g_autoptr (GPtrArray) others = few ? other_systems (advice) : g_ptr_array_new ();
  const GememResult *result;
  Round round;
  guint n;

  g_ptr_array_unref (tried->candidates);
  tried->candidates = !fixed && (advice->system != NULL || system == NULL)
                          ? gemem_candidates_single (advice->spec->klass, system,
                                                     settings_now (advice, question))
                          : g_ptr_array_new_with_free_func (gemem_candidate_free);
  n = tried->candidates->len;
  round_begin (&round, question);
  for (guint i = 0; i < n; i++)
    round_add (&round, ((GememCandidate *) tried->candidates->pdata[i])->spec, ordinal);
  for (guint i = 0; i < others->len; i++)
    round_add (&round, others->pdata[i], ordinal);
  if (least)
    {
      GememJob *job = round_add (&round, advice->spec, ordinal);

      job->find_capacity = TRUE;
      job->not_in = too_small (advice);
    }
  if (anew || moved)
    round_add (&round, &alive, ordinal);
  round_run (&round, most_of (advice));
  collect (advice, tried, &round, n);
  advice->tried = n - advice->refused - advice->left_out;
  for (guint i = n; i < n + others->len; i++)
    take_other (advice, round.results[i]);
  if (least && (result = round.results[n + others->len]) != NULL
      && result->least_capacity != G_MAXUINT64
      && result->least_capacity > gemem_result_others (advice->now))
    {
      advice->need = result->least_capacity - gemem_result_others (advice->now);
      advice->gaps = !result->capacity_monotone;
    }
  result = anew ? round.results[n + others->len + least] : advice->now;
  advice->calls_known = !anew || (result != NULL && gemem_result_is_proof (result));
  if (advice->calls_known)
    advice->calls = gemem_result_calls (result);
  if (anew && advice->calls_known)
    advice->anew = result->peak_reserved;
  if (moved && (result = round.results[n + others->len]) != NULL && gemem_result_is_proof (result))
    advice->elsewhere = result->peak_reserved;
  round_end (&round);
  if (anew || moved)
    g_ptr_array_unref (alive.device);
}

/* The third round: the best values of the settings that helped, two at a time. */
static void
try_pairs (GememAdvice *advice, const GememAdviceQuestion *question, int ordinal, Tried *tried)
{
  g_autoptr (GArray) order = rank (advice, tried);
  g_autoptr (GPtrArray) best = g_ptr_array_new ();
  const guint before = tried->candidates->len, not_tried = advice->refused + advice->left_out;
  Round round;

  for (guint i = 0; i < order->len && best->len < BEST_SETTINGS; i++)
    {
      GememCandidate *candidate = tried->candidates->pdata[g_array_index (order, guint, i)];
      gboolean known = candidate->own->len == 0;

      for (guint j = 0; j < best->len; j++)
        known = known || gemem_candidates_alike (candidate, best->pdata[j]);
      if (!known)
        g_ptr_array_add (best, candidate);
    }
  round_begin (&round, question);
  for (guint i = 0; i < best->len; i++)
    for (guint j = i + 1; j < best->len; j++)
      {
        const GememCandidate *one = best->pdata[i];
        GememCandidate *both = gemem_candidates_both (
            one, best->pdata[j],
            one->klass == advice->spec->klass ? settings_now (advice, question) : NULL);

        if (both == NULL)
          continue;
        g_ptr_array_add (tried->candidates, both);
        round_add (&round, both->spec, ordinal);
      }
  round_run (&round, most_of (advice));
  collect (advice, tried, &round, tried->candidates->len - before);
  advice->pairs = tried->candidates->len - before
                  - (advice->refused + advice->left_out - not_tried);
  round_end (&round);
}

/* ---- which of equally good blocks is taken, their addresses decide */

#define PLACED 8 /* of the best settings, which may be offered */

/* Forgets the settings with which the program fits, but not in other orders of addresses: those of a driver are
 * as it likes.  Further ones than the best are not offered then. */
static void
try_placed (GememAdvice *advice, const GememAdviceQuestion *question, int ordinal, Tried *tried)
{
  static const char *const orders[] = { "bump", "descending" };
  g_autoptr (GArray) order = rank (advice, tried);
  const guint n = MIN (order->len, PLACED);
  g_autofree GememAllocatorSpec *placed = g_new0 (GememAllocatorSpec, n * G_N_ELEMENTS (orders));
  Round round;

  round_begin (&round, question);
  for (guint i = 0; i < n * G_N_ELEMENTS (orders); i++)
    {
      const guint at = g_array_index (order, guint, i / G_N_ELEMENTS (orders));

      placed[i] = placed_by (((GememCandidate *) tried->candidates->pdata[at])->spec,
                             orders[i % G_N_ELEMENTS (orders)]);
      round_add (&round, &placed[i], ordinal);
    }
  round_run (&round, 0);
  for (guint i = 0; i < order->len; i++)
    {
      GememResult **result =
          (GememResult **) &tried->results->pdata[g_array_index (order, guint, i)];
      gboolean fails = FALSE;

      for (guint j = 0; i < n && j < G_N_ELEMENTS (orders); j++)
        fails |= round.results[i * G_N_ELEMENTS (orders) + j] != NULL
                 && round.results[i * G_N_ELEMENTS (orders) + j]->ooms > 0;
      advice->placed += fails;
      if (fails || i >= n)
        g_clear_pointer (result, gemem_result_free);
    }
  round_end (&round);
  for (guint i = 0; i < n * G_N_ELEMENTS (orders); i++)
    g_ptr_array_unref (placed[i].device);
}

/* ---- the lines */

/* TRUE if @candidate has other values of the settings of a line that is offered. */
static gboolean
is_said (const GememAdvice *advice, const GememCandidate *candidate)
{
  for (guint i = 0; i < advice->lines->len; i++)
    if (gemem_candidates_alike (g_array_index (advice->lines, GememAdviceLine, i).candidate,
                                candidate))
      return TRUE;
  return FALSE;
}

/* TRUE if a single setting is as good as @i, which has several, within 1 %. */
static gboolean
is_too_much (const Tried *tried, guint i)
{
  const GememCandidate *candidate = tried->candidates->pdata[i];
  const GememResult *result = tried->results->pdata[i];

  for (guint j = 0; j < tried->candidates->len && candidate->own->len > 1; j++)
    {
      const GememCandidate *other = tried->candidates->pdata[j];
      const GememResult *less = tried->results->pdata[j];

      if (less != NULL && other->klass == candidate->klass && other->own->len < 2
          && less->peak_reserved - less->peak_reserved / 100 <= result->peak_reserved)
        return TRUE;
    }
  return FALSE;
}

static void
choose_lines (GememAdvice *advice, Tried *tried)
{
  g_autoptr (GArray) order = rank (advice, tried);
  const gboolean failed = advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT;

  for (guint i = 0;
       i < order->len && advice->lines->len < GEMEM_ADVICE_LINES && !advice->contradicted; i++)
    {
      const guint at = g_array_index (order, guint, i);
      GememAdviceLine line = {
        tried->candidates->pdata[at], tried->results->pdata[at], 0, 0, 0, FALSE
      };

      if (is_too_much (tried, at) || is_said (advice, line.candidate))
        continue;
      line.need = line.result->peak_reserved;
      if (failed && gemem_advice_grows (advice) && gemem_advice_steps_left (advice, line.need) == 0)
        {
          advice->stepless++;
          continue;
        }
      advice->least = MIN (advice->least, line.result->lower_bound);
      line.saved = line.need < need_beside (advice) ? need_beside (advice) - line.need : 0;
      line.too_new = line.candidate->klass == advice->spec->klass
                     && gemem_recorder_refuses (advice->versions, line.candidate->spec);
      line.calls = (gint64) gemem_result_calls (line.result) - (gint64) advice->calls;
      g_array_append_val (advice->lines, line);
    }
  for (guint i = 0; i < tried->candidates->len; i++) /* they belong to the lines now */
    for (guint j = 0; j < advice->lines->len; j++)
      if (g_array_index (advice->lines, GememAdviceLine, j).candidate
          == tried->candidates->pdata[i])
        tried->candidates->pdata[i] = tried->results->pdata[i] = NULL;
}

/* What others need counts only where it is less than all that this system can do. */
static void
settle_other (GememAdvice *advice)
{
  guint64 least = advice->need;

  for (guint i = 0; i < advice->lines->len; i++)
    least = MIN (least, g_array_index (advice->lines, GememAdviceLine, i).need);
  if (advice->other == NULL || (least > 0 && advice->other_need >= least - least / 100))
    g_clear_pointer (&advice->other, g_free);
}

/* ---- together */

/* The best line in other histories: what it saves may hang on the recorded one. */
static void
try_line (GememAdvice *advice, const GememAdviceQuestion *question)
{
  const GememNeedOptions options = gemem_advice_need_options (question);
  GememAdviceLine *line;
  GememNeed need;

  if (question->histories == 0 || advice->lines->len == 0)
    return;
  line = &g_array_index (advice->lines, GememAdviceLine, 0);
  need = gemem_advice_need_of (question, line->candidate->spec);
  need.result = line->result;
  gemem_histories_try (&need, question->histories, &options, &line->histories);
}

static void
search (GememAdvice *advice, const GememAdviceQuestion *question, int ordinal)
{
  Tried tried = { g_ptr_array_new_with_free_func (gemem_candidate_free),
                  g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free) };

  try_singles (advice, question, ordinal, &tried);
  if (!advice->shortened)
    try_pairs (advice, question, ordinal, &tried);
  if (advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT)
    try_placed (advice, question, ordinal, &tried);
  choose_lines (advice, &tried);
  settle_other (advice);
  g_ptr_array_unref (tried.candidates);
  g_ptr_array_unref (tried.results);
}

/* How many events of @held are of the host's memory, or were passed over as such by the reader. */
static guint64
count_on_host (GememHeld *held)
{
  GememTraceReader *reader = gemem_held_open (held, NULL);
  guint64 count = gemem_held_info (held)->pinned;
  const GememTraceEvent *events;
  gssize n;

  while (reader != NULL && (n = gemem_trace_next (reader, &events, NULL)) > 0)
    for (gssize i = 0; i < n; i++)
      count += events[i].device == GEMEM_DEVICE_HOST;
  if (reader != NULL)
    gemem_trace_close (reader);
  return count;
}

static GememAdvice *
advice_new (const GememAdviceQuestion *question)
{
  GememAdvice *advice = g_new0 (GememAdvice, 1);

  advice->name = g_strdup (question->name);
  advice->held = gemem_held_ref (question->held);
  advice->device = g_strdup (question->device_spec);
  advice->devices = question->ordinals->len;
  if (!gemem_recorder_is_host (question->ordinals))
    advice->on_host = count_on_host (advice->held);
  advice->shortened = !question->all && gemem_held_events (advice->held) > GEMEM_ADVICE_MANY_EVENTS;
  advice->lines = g_array_new (FALSE, TRUE, sizeof (GememAdviceLine));
  return advice;
}

/* A size that nobody said is no reason to fail: where that is what failed, the device gets what any
 * allocator would do with.  g_free(); NULL: the device stays. */
static char *
larger_device (const GememAdvice *advice)
{
  const GememResult *now = advice->now;

  return now->device_assumed && now->ooms > 0 && gemem_held_refused (advice->held) == 0
                 && now->lower_bound < G_MAXINT64 / 16
             ? g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT, 4 * now->lower_bound)
             : NULL;
}

GememAdvice *
gemem_advise (const GememAdviceQuestion *asked, GError **error)
{
  const GememHoldersOptions at_peak = { .by = GEMEM_HOLD_BY_LINE };
  g_autoptr (GememAdvice) advice = advice_new (asked);
  GememAdviceQuestion larger = *asked;
  const GememAdviceQuestion *question = &larger;
  g_autofree char *device = NULL;
  int ordinal = -1;

  if (!choose_allocator (advice, question, error)
      || !replay_now (advice, question, &ordinal, error))
    return NULL;
  advice->device_assumed = advice->now->device_assumed;
  device = larger_device (advice);
  if (device != NULL)
    {
      larger.device_spec = device;
      g_clear_pointer (&advice->now, gemem_result_free);
      if (!replay_now (advice, question, &ordinal, error))
        return NULL;
    }
  advice->versions = advice->assumed ? NULL
                                     : gemem_recorder_versions (gemem_held_info (advice->held));
  advice->least = advice->now->lower_bound;
  advice->growth = gemem_growth_find (advice->held, advice->now->device_ordinal);
  gemem_advice_judge (advice, question, asked);
  gemem_advice_find_last (advice);
  advice->holders = gemem_holders_new (gemem_held_open, advice->held, &at_peak, NULL);
  if (advice->now->allocs + advice->now->graph_loads > 0)
    search (advice, question, ordinal);
  try_line (advice, question);
  return g_steal_pointer (&advice);
}

void
gemem_advice_free (GememAdvice *advice)
{
  if (advice == NULL)
    return;
  for (guint i = 0; i < advice->lines->len; i++)
    {
      GememAdviceLine *line = &g_array_index (advice->lines, GememAdviceLine, i);
      gemem_candidate_free (line->candidate);
      gemem_result_free (line->result);
    }
  g_array_unref (advice->lines);
  gemem_holders_free (advice->holders);
  gemem_growth_free (advice->growth);
  gemem_result_free (advice->now);
  if (advice->spec != NULL)
    gemem_allocator_spec_free (advice->spec);
  gemem_held_unref (advice->held);
  g_free (advice->name);
  g_free (advice->device);
  g_free (advice->system);
  g_free (advice->versions);
  g_free (advice->doubt);
  g_free (advice->last_by);
  g_free (advice->other);
  g_free (advice);
}
