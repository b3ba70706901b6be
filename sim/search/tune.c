/* tune.c - see tune.h: the waves of replays, and what each of them settles.
 *
 * A wave replays WAVE rows that are still open, those with the fewest changes first, spread over them so
 * that neighbours, which often decide alike, do not run at once.  Each replay settles its own row and all
 * that would have decided alike up to its end (rivals.h).  With bytes as the only objective a replay ends
 * once it reserves more than the best so far: it, and all that came so far with it, are not the best.
 * A replay that has to serve everything ends at the first request that fails.
 *
 * With the least capacity as the only objective each row is replayed with one byte less than the best
 * needs.  Mostly a request fails there, for it and for all that would have decided alike up to then: they
 * need no less.  If none fails, the least capacity is looked for, which is the best from then on.
 *
 * Where only the first replay of a recording, with the settings it has now, fails, it goes on: what it
 * says at the end is what others are compared with.
 */
#include "config.h"

#include <string.h>

#include "sim/engine/rivals.h"
#include "sim/search/histories.h"
#include "sim/search/paste.h"
#include "sim/search/tune.h"

#define WAVE 4
#define NONE G_MAXUINT

const char *const gemem_tune_objectives[] = { "needs", "device_calls", "modelled_time",
                                              "least_capacity" };
const char *const gemem_tune_ends[] = {
  "replayed", "equal", "above", "failed", "refused", "untried"
};

typedef struct
{
  GememTune *tune;
  GememTuneQuestion *question;
  const GememAllocatorSpec **specs; /* of the rows but the first */
  GememRivals **rivals;             /* of each recording, with */
  guint64 *capacities;              /* bytes for each; 0: those of the device */
  char *space;                      /* hash of `specs`, which `alike` of a replay is about */
  GError *error;                    /* of the keeper: nothing more is begun */
} Search;

/* What a replay is of. */
typedef struct
{
  guint row, trace;
  gboolean whole; /* with all bytes of the device */
} Place;

static GememTuneRow *
row_at (const GememTune *tune, guint i)
{
  return &g_array_index (tune->rows, GememTuneRow, i);
}

/* ---- rows */

/* Whether the user ended it. */
static gboolean
is_interrupted (const GememTuneQuestion *question)
{
  return question->options.interrupted != NULL
         && g_atomic_int_get (question->options.interrupted) != 0;
}

static const char *
settings_now (const GememTuneQuestion *question, const GememAllocatorClass *klass)
{
  const GememTraceInfo *info = gemem_held_info (question->traces[0].held);

  return !question->options.ignores_settings && info->allocator != NULL
                 && gemem_name_is (klass->name, klass->aliases, info->allocator)
             ? info->settings
             : NULL;
}

/* The allocator of the first row on @trace. */
static const GememAllocatorSpec *
spec_now_of (const GememNeed *trace)
{
  return trace->spec != NULL ? trace->spec : trace->own;
}

static GPtrArray *
effect_of (const GememTuneQuestion *question, const GememAllocatorSpec *spec)
{
  return gemem_allocator_effective (spec, settings_now (question, spec->klass), NULL, NULL);
}

/* Settings of @spec that are others than @now, in effect; of another allocator, all it sets and itself. */
static guint
count_changes (const GememAllocatorSpec *spec, const GPtrArray *effect,
               const GememAllocatorSpec *spec_now, const GPtrArray *now)
{
  guint changes = 0;

  if (spec->klass != spec_now->klass || effect == NULL || now == NULL || effect->len != now->len)
    return spec->settings->len + 1;
  for (guint i = 0; i < effect->len; i++)
    changes += strcmp (((const GememSetting *) effect->pdata[i])->value,
                       ((const GememSetting *) now->pdata[i])->value)
               != 0;
  return changes;
}

/* All that is in effect, as one text. */
static char *
effect_text (const GememAllocatorSpec *spec, const GPtrArray *effect)
{
  GString *text = g_string_new (effect != NULL ? spec->klass->name : spec->label);

  for (guint i = 0; effect != NULL && i < effect->len; i++)
    g_string_append_printf (text, "\n%s", ((const GememSetting *) effect->pdata[i])->value);
  for (guint i = 0; spec->device != NULL && i < spec->device->len; i++)
    {
      const GememSetting *setting = spec->device->pdata[i];
      g_string_append_printf (text, "\n%s=%s", setting->key, setting->value);
    }
  return g_string_free (text, FALSE);
}

static void
add_row (const Search *search, const GememAllocatorSpec *spec, guint changes)
{
  const guint n = search->question->n_traces;
  GememTuneRow row = { .spec = spec, .changes = changes, .end = GEMEM_TUNE_UNTRIED };

  row.by = search->tune->rows->len;
  row.cells = g_new0 (GememTuneCell, n);
  for (guint t = 0; t < n; t++)
    row.cells[t] = (GememTuneCell){ .end = GEMEM_TUNE_UNTRIED, .by = row.by };
  g_array_append_val (search->tune->rows, row);
}

/* The rows of the space: each effect once. */
static void
add_space (Search *search)
{
  const GememTuneQuestion *question = search->question;
  const GememAllocatorSpec *spec_now = spec_now_of (&question->traces[0]);
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray) now = effect_of (question, spec_now);

  search->specs = g_new (const GememAllocatorSpec *, question->specs->len + 1);
  for (guint i = 0; i < question->specs->len; i++)
    {
      const GememAllocatorSpec *spec = question->specs->pdata[i];
      g_autoptr (GPtrArray) effect = effect_of (question, spec);

      if (!g_hash_table_add (seen, effect_text (spec, effect)))
        continue;
      search->specs[search->tune->rows->len - 1] = spec;
      add_row (search, spec, count_changes (spec, effect, spec_now, now));
    }
}

/* ---- cells */

/* @now: the same recording as it is; NULL: this is it.  What needs less than is in use at once shares memory
 * that the program cannot share. */
static GememTuneCell
cell_of (const GememResult *result, guint by, const GememResult *now)
{
  const gboolean shares = now != NULL && result->peak_reserved < now->lower_bound;
  const gboolean found = result->least_capacity != G_MAXUINT64;
  const GememTuneCell cell = {
    .end = result->stopped_above && result->ooms == 0           ? GEMEM_TUNE_ABOVE
           : gemem_result_is_proof (result) && !shares && found ? GEMEM_TUNE_REPLAYED
                                                                : GEMEM_TUNE_FAILED,
    .by = by,
    .values = { result->peak_reserved, gemem_result_calls (result), result->modelled_total_ns,
                found ? result->least_capacity : 0 },
  };
  const GememTuneCell above = { .end = GEMEM_TUNE_ABOVE,
                                .by = by,
                                .values = { 0, 0, 0, result->least_above + 1 } };

  return result->least_above > 0 ? above : cell;
}

/* Settles @row if its cells allow that. */
static void
settle (GememTuneRow *row, guint n)
{
  guint ends[GEMEM_TUNE_ENDS] = { 0 };

  memset (row->values, 0, sizeof row->values);
  for (guint t = 0; t < n; t++)
    {
      const guint64 *values = row->cells[t].values;

      ends[row->cells[t].end]++;
      row->values[GEMEM_TUNE_NEEDS] = MAX (row->values[GEMEM_TUNE_NEEDS], values[GEMEM_TUNE_NEEDS]);
      row->values[GEMEM_TUNE_CALLS] += values[GEMEM_TUNE_CALLS];
      row->values[GEMEM_TUNE_TIME] += values[GEMEM_TUNE_TIME];
      row->values[GEMEM_TUNE_CAPACITY] = MAX (row->values[GEMEM_TUNE_CAPACITY],
                                              values[GEMEM_TUNE_CAPACITY]);
    }
  row->end = ends[GEMEM_TUNE_REFUSED] > 0   ? GEMEM_TUNE_REFUSED
             : ends[GEMEM_TUNE_FAILED] > 0  ? GEMEM_TUNE_FAILED
             : ends[GEMEM_TUNE_ABOVE] > 0   ? GEMEM_TUNE_ABOVE
             : ends[GEMEM_TUNE_UNTRIED] > 0 ? GEMEM_TUNE_UNTRIED
             : ends[GEMEM_TUNE_EQUAL] == n  ? GEMEM_TUNE_EQUAL
                                            : GEMEM_TUNE_REPLAYED;
  for (guint t = 0; t < n; t++)
    if (row->cells[t].end == row->end)
      row->by = row->cells[t].by;
}

/* TRUE if row @i, which serves everything, is better than @j, which does: by the objective, then with
 * fewer changes, then fewer device calls, then earlier. */
static gboolean
is_better (const GememTune *tune, guint i, guint j)
{
  const GememTuneRow *a = row_at (tune, i), *b = row_at (tune, j);
  const GememTuneObjective by = tune->question->objectives[0];

  if (a->values[by] != b->values[by])
    return a->values[by] < b->values[by];
  if (a->changes != b->changes)
    return a->changes < b->changes;
  return a->values[GEMEM_TUNE_CALLS] != b->values[GEMEM_TUNE_CALLS]
             ? a->values[GEMEM_TUNE_CALLS] < b->values[GEMEM_TUNE_CALLS]
             : i < j;
}

static gboolean
serves_all (const GememTuneRow *row)
{
  return row->end == GEMEM_TUNE_REPLAYED || row->end == GEMEM_TUNE_EQUAL;
}

static void
settle_row (Search *search, guint i)
{
  GememTune *tune = search->tune;

  settle (row_at (tune, i), search->question->n_traces);
  if (serves_all (row_at (tune, i)) && (tune->best == NONE || is_better (tune, i, tune->best)))
    tune->best = i;
}

/* The bytes above which nothing can be the best; 0: none. */
static guint64
bound (const Search *search)
{
  const GememTune *tune = search->tune;

  return search->question->n_objectives == 1 && search->question->objectives[0] == GEMEM_TUNE_NEEDS
                 && !search->question->whole && tune->best != NONE
             ? row_at (tune, tune->best)->values[GEMEM_TUNE_NEEDS]
             : 0;
}

/* ---- replays, and what is kept of them */

/* How many rows a replay may be alike to; none while it is asked what the program needs now. */
static guint
count_others (const Search *search)
{
  return search->tune->rows->len > 0 ? search->tune->rows->len - 1 : 0;
}

/* What the replay @job came to. */
static GememTuneReplay
replay_of (const Search *search, const Place *place, const GememJob *job, const GememResult *result,
           const GError *error)
{
  GememTuneReplay replay = { .cell = { .end = GEMEM_TUNE_UNTRIED }, .passes = 1 };

  if (error != NULL)
    replay.refusal = g_error_copy (error);
  if (gemem_was_left_out (result, error))
    return replay;
  if (result == NULL)
    {
      replay.cell.end = GEMEM_TUNE_REFUSED;
      return replay;
    }
  replay.passes += result->capacity_passes;
  replay.cell = cell_of (result, 0, search->question->traces[place->trace].result);
  if (result->least_above > 0 && place->whole)
    replay.cell.end = GEMEM_TUNE_FAILED;
  if (job->rivals_alike != NULL)
    replay.alike = g_memdup2 (job->rivals_alike, count_others (search) * sizeof *replay.alike);
  return replay;
}

static void
replay_clear (GememTuneReplay *replay)
{
  g_clear_error (&replay->refusal);
  g_clear_pointer (&replay->alike, g_free);
}

/* Takes those of the @n @jobs that are kept; their @keys, and which are @found.  Without a keeper there are none. */
static void
find_kept (Search *search, const GememJob *jobs, const Place *places, guint n,
           GememTuneReplay *replays, char **keys, gboolean *found)
{
  const GememTuneKeeper *keeper = search->question->keeper;

  for (guint j = 0; j < n && keeper != NULL && search->error == NULL; j++)
    {
      keys[j] = gemem_tune_key (search->tune, places[j].trace, &jobs[j], search->space);
      if (keeper->find (keeper->data, keys[j], &replays[j], count_others (search), &found[j],
                        &search->error)
          && found[j])
        search->tune->taken += replays[j].passes;
    }
}

/* Interrupted, nothing is kept: what is alike was not asked for to the end. */
static void
keep (Search *search, const char *key, const GememTuneReplay *replay)
{
  const GememTuneKeeper *keeper = search->question->keeper;

  if (keeper != NULL && search->error == NULL && !is_interrupted (search->question)
      && replay->cell.end != GEMEM_TUNE_UNTRIED)
    keeper->keep (keeper->data, key, replay, count_others (search), &search->error);
}

/* What the @n @jobs of @places come to: kept, or made now and kept.  With an error of the keeper, some of it. */
static void
run_jobs (Search *search, const GememJob *jobs, const Place *places, guint n,
          GememTuneReplay *replays)
{
  g_autofree GememJob *open = g_new (GememJob, n + 1);
  g_autofree guint *at = g_new (guint, n + 1);
  g_autofree gboolean *found = g_new0 (gboolean, n + 1);
  g_autofree GememResult **results = g_new0 (GememResult *, n + 1);
  g_autofree GError **errors = g_new0 (GError *, n + 1);
  g_auto (GStrv) keys = g_new0 (char *, n + 1);
  guint n_open = 0;

  find_kept (search, jobs, places, n, replays, keys, found);
  for (guint j = 0; j < n && search->error == NULL; j++)
    if (!found[j])
      {
        at[n_open] = j;
        open[n_open++] = jobs[j];
      }
  gemem_jobs_run (open, n_open, search->question->threads, results, errors);
  for (guint k = 0; k < n_open; k++)
    {
      const guint j = at[k];

      replays[j] = replay_of (search, &places[j], &jobs[j], results[k], errors[k]);
      keep (search, keys[j], &replays[j]);
      gemem_result_free (results[k]);
      g_clear_error (&errors[k]);
    }
}

/* ---- least capacities */

static gboolean
wants_capacity (const GememTuneQuestion *question)
{
  return question->objectives[0] == GEMEM_TUNE_CAPACITY
         || (question->n_objectives == 2 && question->objectives[1] == GEMEM_TUNE_CAPACITY);
}

/* Bytes with which rows are tried on recording @t: one less than the best needs; without one, for two
 * objectives and for figures, all that the device has.  0: nothing is tried. */
static guint64
capacity_tried (const Search *search, guint t)
{
  const GememTuneQuestion *question = search->question;
  const GememTune *tune = search->tune;
  const guint64 most = question->traces[t].result->capacity;

  if (!wants_capacity (question))
    return 0;
  return tune->best == NONE || question->n_objectives == 2 || question->whole
             ? most
             : MIN (row_at (tune, tune->best)->values[GEMEM_TUNE_CAPACITY] - 1, most);
}

/* Of the settings now. */
static gboolean
find_capacity_now (Search *search, GError **error)
{
  const GememTuneQuestion *question = search->question;

  for (guint t = 0; t < question->n_traces && wants_capacity (question); t++)
    {
      const GememNeed *trace = &question->traces[t];
      GememJob job = gemem_need_job (trace, spec_now_of (trace), trace->result->device_ordinal,
                                     &question->options);
      GememTuneReplay replay = { .refusal = NULL };
      guint64 least;

      if (!gemem_result_is_complete (trace->result))
        continue;
      job.find_capacity = TRUE;
      run_jobs (search, &job, &(Place){ .trace = t }, 1, &replay);
      if (search->error == NULL)
        search->error = g_steal_pointer (&replay.refusal);
      replay_clear (&replay);
      if (search->error != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&search->error));
          return FALSE;
        }
      search->tune->replays += replay.passes;
      least = replay.cell.values[GEMEM_TUNE_CAPACITY];
      trace->result->least_capacity = least > 0 || trace->result->peak_reserved == 0 ? least
                                                                                     : G_MAXUINT64;
    }
  return TRUE;
}

/* ---- rivals */

/* Those of recording @t with @capacity bytes. */
static GememRivals *
new_rivals (const Search *search, guint t, guint64 capacity, GError **error)
{
  const GememNeed *trace = &search->question->traces[t];
  const GememJob job = gemem_need_job (trace, NULL, trace->result->device_ordinal,
                                       &search->question->options);

  return gemem_rivals_new (&job, capacity, search->specs, search->tune->rows->len - 1, error);
}

/* Rivals for each recording; settings that no allocator can be made with are refused. */
static gboolean
make_first_rivals (Search *search, GError **error)
{
  const GememTuneQuestion *question = search->question;
  const guint n = search->tune->rows->len - 1;

  search->rivals = g_new0 (GememRivals *, question->n_traces);
  search->capacities = g_new0 (guint64, question->n_traces);
  for (guint t = 0; t < question->n_traces; t++)
    {
      search->rivals[t] = new_rivals (search, t, 0, error);
      if (search->rivals[t] == NULL)
        return FALSE;
      for (guint i = 0; i < n; i++)
        {
          const GError *refusal = gemem_rivals_refusal (search->rivals[t], i);
          GememTuneRow *row = row_at (search->tune, i + 1);

          if (refusal == NULL)
            continue;
          row->cells[t].end = row->end = GEMEM_TUNE_REFUSED;
          if (row->why == NULL)
            row->why = g_strdup (refusal->message);
        }
    }
  return TRUE;
}

/* Those for the capacities that are tried next, where they are others. */
static gboolean
make_rivals (Search *search, GError **error)
{
  for (guint t = 0; t < search->question->n_traces; t++)
    {
      const guint64 capacity = capacity_tried (search, t);
      GememRivals *rivals;

      if (capacity == search->capacities[t])
        continue;
      rivals = new_rivals (search, t, capacity, error);
      if (rivals == NULL)
        return FALSE;
      gemem_rivals_free (search->rivals[t]);
      search->rivals[t] = rivals;
      search->capacities[t] = capacity;
    }
  return TRUE;
}

/* ---- waves */

/* Open rows with the fewest changes among them. */
static GArray *
next_rows (const GememTune *tune)
{
  GArray *open = g_array_new (FALSE, FALSE, sizeof (guint));
  guint fewest = G_MAXUINT;

  for (guint i = 1; i < tune->rows->len; i++)
    {
      const GememTuneRow *row = row_at (tune, i);

      if (row->end != GEMEM_TUNE_UNTRIED || row->changes > fewest)
        continue;
      if (row->changes < fewest)
        g_array_set_size (open, 0);
      fewest = row->changes;
      g_array_append_val (open, i);
    }
  return open;
}

typedef struct
{
  GArray *jobs, *places; /* GememJob, Place */
} Wave;

static void
wave_add (const Search *search, Wave *wave, guint i, guint t)
{
  const GememTuneQuestion *question = search->question;
  const GememNeed *trace = &question->traces[t];
  const guint n = search->tune->rows->len - 1;
  const guint64 tried = capacity_tried (search, t);
  const Place place = { i, t, tried == trace->result->capacity };
  GememJob job = gemem_need_job (trace, row_at (search->tune, i)->spec,
                                 trace->result->device_ordinal, &question->options);

  job.stop_at_oom = TRUE;
  job.stop_above = bound (search);
  job.find_capacity = wants_capacity (question);
  job.fits_first = tried;
  job.rivals = search->rivals[t];
  job.rivals_alike = g_new0 (gboolean, n);
  for (guint r = 1; r <= n; r++)
    job.rivals_alike[r - 1] = r != i && row_at (search->tune, r)->end == GEMEM_TUNE_UNTRIED
                              && row_at (search->tune, r)->cells[t].end == GEMEM_TUNE_UNTRIED;
  g_array_append_val (wave->jobs, job);
  g_array_append_val (wave->places, place);
}

/* Takes what the replay of @place says of its row and of those alike. */
static void
take (Search *search, const Place *place, const GememTuneReplay *replay)
{
  GememTune *tune = search->tune;
  GememTuneRow *row = row_at (tune, place->row);

  tune->replays += replay->passes;
  if (replay->cell.end == GEMEM_TUNE_UNTRIED)
    return;
  row->cells[place->trace] = replay->cell;
  row->cells[place->trace].by = place->row;
  if (replay->refusal != NULL && row->why == NULL)
    row->why = g_strdup (replay->refusal->message);
  for (guint r = 1; r < tune->rows->len && replay->alike != NULL; r++)
    {
      GememTuneCell *cell = &row_at (tune, r)->cells[place->trace];

      if (!replay->alike[r - 1] || cell->end != GEMEM_TUNE_UNTRIED)
        continue;
      *cell = row->cells[place->trace];
      if (cell->end == GEMEM_TUNE_REPLAYED)
        cell->end = GEMEM_TUNE_EQUAL;
    }
}

static void
wave_run (Search *search, Wave *wave)
{
  const GememJob *jobs = (const GememJob *) wave->jobs->data;
  const guint n = wave->jobs->len;
  g_autofree GememTuneReplay *replays = g_new0 (GememTuneReplay, n);

  run_jobs (search, jobs, (const Place *) wave->places->data, n, replays);
  for (guint j = 0; j < n; j++)
    {
      take (search, &g_array_index (wave->places, Place, j), &replays[j]);
      replay_clear (&replays[j]);
      g_free (jobs[j].rivals_alike);
    }
}

static void
settle_all (Search *search)
{
  GememTune *tune = search->tune;
  guint settled = 0;

  for (guint i = 1; i < tune->rows->len; i++)
    {
      if (row_at (tune, i)->end == GEMEM_TUNE_UNTRIED)
        settle_row (search, i);
      settled += row_at (tune, i)->end != GEMEM_TUNE_UNTRIED;
    }
  if (search->question->progress != NULL)
    search->question->progress (settled, tune->rows->len - 1);
}

/* One wave; FALSE: nothing is open any more. */
static gboolean
run_wave (Search *search)
{
  GememTune *tune = search->tune;
  g_autoptr (GArray) open = next_rows (tune);
  Wave wave = { g_array_new (FALSE, FALSE, sizeof (GememJob)),
                g_array_new (FALSE, FALSE, sizeof (Place)) };
  const guint n = make_rivals (search, NULL) ? MIN (open->len, WAVE) : 0;

  for (guint k = 0; k < n; k++)
    {
      const guint i = g_array_index (open, guint, k * open->len / n);

      for (guint t = 0; t < search->question->n_traces; t++)
        if (row_at (tune, i)->cells[t].end == GEMEM_TUNE_UNTRIED)
          wave_add (search, &wave, i, t);
    }
  if (n > 0)
    wave_run (search, &wave);
  g_array_unref (wave.jobs);
  g_array_unref (wave.places);
  settle_all (search);
  return n > 0;
}

/* ---- before and after */

/* The first row: every recording with the settings it has. */
static void
add_now (Search *search)
{
  const GememTuneQuestion *question = search->question;

  add_row (search, NULL, 0);
  for (guint t = 0; t < question->n_traces; t++)
    row_at (search->tune, 0)->cells[t] = cell_of (question->traces[t].result, 0, NULL);
  settle_row (search, 0);
}

GPtrArray *
gemem_tune_effect (const GememTune *tune, guint i)
{
  const GememAllocatorSpec *spec = row_at (tune, i)->spec;

  return effect_of (tune->question, spec != NULL ? spec : spec_now_of (&tune->question->traces[0]));
}

/* ---- the line to paste */

GPtrArray *
gemem_tune_changes (const GememTune *tune, guint i)
{
  const GememAllocatorSpec *spec = row_at (tune, i)->spec;
  g_autoptr (GPtrArray) none = gemem_settings_new (), now = NULL, effect = NULL;
  GememAllocatorSpec bare = { .settings = none };
  GPtrArray *own = gemem_settings_new ();

  if (spec == NULL)
    return own;
  bare.klass = spec->klass;
  now = effect_of (tune->question, &bare);
  effect = effect_of (tune->question, spec);
  for (guint s = 0; effect != NULL && now != NULL && s < effect->len; s++)
    {
      const GememSetting *setting = effect->pdata[s];

      if (strcmp (setting->value, ((const GememSetting *) now->pdata[s])->value) != 0)
        gemem_settings_add (own, setting->key, setting->value);
    }
  return own;
}

/* TRUE if @spec, read from a line, needs on each recording what @row does. */
static gboolean
is_as_good (Search *search, const GememAllocatorSpec *spec, const GememTuneRow *row)
{
  gboolean same = TRUE;

  for (guint t = 0; t < search->question->n_traces && same; t++)
    {
      const GememNeed *trace = &search->question->traces[t];
      GememJob job = gemem_need_job (trace, spec, trace->result->device_ordinal,
                                     &search->question->options);

      GememTuneReplay replay = { .refusal = NULL };

      job.find_capacity = wants_capacity (search->question);
      run_jobs (search, &job, &(Place){ .trace = t }, 1, &replay);
      same = replay.cell.end == GEMEM_TUNE_REPLAYED && search->error == NULL
             && memcmp (replay.cell.values, row->cells[t].values, sizeof replay.cell.values) == 0;
      search->tune->replays += replay.passes;
      replay_clear (&replay);
    }
  return same;
}

/* The line for @own settings of the row, and what is read back from it: *@pasted.  NULL: there is none for the
 * system that the program uses, or a replay of that differs; g_free(). */
static char *
proven_line (Search *search, const GememTuneRow *row, const GPtrArray *own,
             GememAllocatorSpec **pasted)
{
  const GememAllocatorClass *now = spec_now_of (&search->question->traces[0])->klass,
                            *klass = row->spec->klass;
  const GememForm *form_now = gemem_paste_form (now, NULL),
                  *form = gemem_paste_form (klass, form_now != NULL ? form_now->system : NULL);
  g_autofree char *line = form != NULL
                              ? gemem_paste_line (klass, form, klass != now,
                                                  settings_now (search->question, klass), own)
                              : NULL;

  *pasted = line != NULL ? gemem_paste_read (klass, form, line, NULL) : NULL;
  if (*pasted != NULL && is_as_good (search, *pasted, row))
    return g_steal_pointer (&line);
  if (*pasted != NULL)
    gemem_allocator_spec_free (g_steal_pointer (pasted));
  return NULL;
}

/* Offers a line only after a replay of what is read back from it, without the settings that change
 * nothing. */
static void
write_line (Search *search)
{
  GememTune *tune = search->tune;
  const GememTuneRow *row = tune->best != NONE ? row_at (tune, tune->best) : NULL;
  g_autoptr (GPtrArray) own = NULL;

  if (row == NULL || row->spec == NULL)
    return;
  own = gemem_tune_changes (tune, tune->best);
  tune->line = proven_line (search, row, own, &tune->pasted);
  for (guint s = own->len; s-- > 0 && tune->line != NULL && own->len > 1;)
    {
      g_autoptr (GPtrArray) fewer = gemem_settings_new ();
      GememAllocatorSpec *pasted;
      char *line;

      gemem_settings_append (fewer, own);
      g_ptr_array_remove_index (fewer, s);
      line = proven_line (search, row, fewer, &pasted);
      if (line == NULL)
        continue;
      g_free (tune->line);
      gemem_allocator_spec_free (tune->pasted);
      tune->line = line;
      tune->pasted = pasted;
      g_ptr_array_remove_index (own, s);
    }
}

/* ---- the answer */

static int
compare_on_front (gconstpointer a, gconstpointer b, gpointer data)
{
  const GememTune *tune = data;
  const guint i = *(const guint *) a, j = *(const guint *) b;

  return i == j ? 0 : is_better (tune, i, j) ? -1 : 1;
}

/* TRUE if @a is at least as good as @b in both objectives, and comes before it. */
static gboolean
dominates (const GememTune *tune, guint a, guint b)
{
  const GememTuneObjective second = tune->question->objectives[tune->question->n_objectives - 1];

  return row_at (tune, a)->values[second] <= row_at (tune, b)->values[second];
}

static void
find_front (GememTune *tune)
{
  g_autoptr (GArray) order = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; i < tune->rows->len; i++)
    if (serves_all (row_at (tune, i)))
      g_array_append_val (order, i);
  g_array_sort_with_data (order, compare_on_front, tune);
  for (guint i = 0; i < order->len; i++)
    {
      const guint at = g_array_index (order, guint, i);

      if (tune->front->len == 0
          || !dominates (tune, g_array_index (tune->front, guint, tune->front->len - 1), at))
        g_array_append_val (tune->front, at);
    }
}

static void
count (GememTune *tune)
{
  for (guint i = 1; i < tune->rows->len; i++)
    {
      const GememTuneRow *row = row_at (tune, i);

      tune->counts[row->end]++;
      tune->shared += (row->end == GEMEM_TUNE_ABOVE || row->end == GEMEM_TUNE_FAILED)
                      && row->by != i;
    }
}

gboolean
gemem_tune_helps (const GememTune *tune)
{
  const GememTuneObjective by = tune->question->objectives[0];
  const GememTuneRow *now = row_at (tune, 0), *best;

  if (tune->best == NONE || tune->best == 0)
    return FALSE;
  best = row_at (tune, tune->best);
  return !serves_all (now) || best->values[by] < now->values[by] - now->values[by] / 100;
}

/* All that is found on the device of @question; NULL with @error. */
static GememTune *
tune_once (GememTuneQuestion *question, GError **error)
{
  g_autoptr (GememTune) tune = g_new0 (GememTune, 1);
  Search search = { .tune = tune, .question = question };
  gboolean ok;

  tune->question = question;
  tune->best = NONE;
  tune->rows = g_array_new (FALSE, TRUE, sizeof (GememTuneRow));
  tune->front = g_array_new (FALSE, FALSE, sizeof (guint));
  if (!gemem_needs_find (question->traces, question->n_traces, &question->options, error))
    return NULL;
  tune->replays = question->n_traces;
  if (!find_capacity_now (&search, error))
    return NULL;
  add_now (&search);
  add_space (&search);
  search.space = gemem_tune_hash_space (search.specs, tune->rows->len - 1);
  ok = make_first_rivals (&search, error);
  while (ok && !is_interrupted (question) && search.error == NULL && run_wave (&search))
    ;
  if (ok && search.error == NULL)
    {
      write_line (&search);
      find_front (tune);
      count (tune);
    }
  if (search.error != NULL)
    {
      g_propagate_error (error, search.error);
      ok = FALSE;
    }
  for (guint t = 0; t < question->n_traces; t++)
    gemem_rivals_free (search.rivals[t]);
  g_free (search.rivals);
  g_free (search.capacities);
  g_free (search.specs);
  g_free (search.space);
  return ok ? g_steal_pointer (&tune) : NULL;
}

/* ---- where nothing fits */

/* A device on which any allocator would do; g_free(); NULL: there is none. */
static char *
larger_device (const GememTuneQuestion *question)
{
  guint64 most = 0;

  for (guint t = 0; t < question->n_traces; t++)
    most = MAX (most, question->traces[t].result->lower_bound);
  return most < G_MAXINT64 / 16 ? g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT, 4 * most)
                                : NULL;
}

/* The least device that one of the settings is known to do with, and its line. */
static void
find_reached (GememTune *tune)
{
  const GememTuneQuestion *asked = tune->question;
  g_autofree char *device = larger_device (asked);
  g_autofree GememNeed *traces = g_memdup2 (asked->traces, asked->n_traces * sizeof *traces);
  GememTuneQuestion larger = *asked;
  g_autoptr (GememTune) again = NULL;

  if (device == NULL || is_interrupted (asked))
    return;
  larger.traces = traces;
  larger.options.device_spec = device;
  larger.objectives[0] = GEMEM_TUNE_CAPACITY;
  larger.n_objectives = 1;
  for (guint t = 0; t < larger.n_traces; t++)
    {
      traces[t].own = NULL;
      traces[t].result = NULL;
    }
  again = tune_once (&larger, NULL);
  if (again != NULL && again->best != NONE)
    {
      tune->reached = row_at (again, again->best)->values[GEMEM_TUNE_CAPACITY];
      tune->least = again->counts[GEMEM_TUNE_UNTRIED] == 0;
      tune->replays += again->replays;
      tune->taken += again->taken;
      tune->line = g_steal_pointer (&again->line);
    }
  for (guint t = 0; t < larger.n_traces; t++)
    gemem_need_clear (&traces[t]);
}

GememTune *
gemem_tune (GememTuneQuestion *question, GError **error)
{
  GememTune *tune = tune_once (question, error);

  if (tune != NULL && tune->best == NONE && tune->counts[GEMEM_TUNE_UNTRIED] == 0)
    find_reached (tune);
  return tune;
}

void
gemem_tune_free (GememTune *tune)
{
  if (tune == NULL)
    return;
  for (guint i = 0; i < tune->rows->len; i++)
    {
      g_free (row_at (tune, i)->cells);
      g_free (row_at (tune, i)->why);
    }
  g_array_unref (tune->rows);
  g_array_unref (tune->front);
  g_free (tune->line);
  if (tune->pasted != NULL)
    gemem_allocator_spec_free (tune->pasted);
  g_free (tune);
}
