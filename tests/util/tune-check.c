/* tune-check.c - see tune-check.h. */
#include "config.h"

#include "sim/search/tune.h"
#include "tests/util/tune-check.h"

static GPtrArray *
parse (const char *text)
{
  GPtrArray *specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GError) error = NULL;

  gemem_allocator_spec_parse (text, specs, &error);
  g_assert_no_error (error);
  return specs;
}

static GememHeld *
hold (const char *path)
{
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);
  GememHeld *held = reader != NULL ? gemem_held_new (reader, &error) : NULL;

  g_assert_no_error (error);
  return held;
}

/* The same by itself, from the first event to the last. */
static GememResult *
replay (const GememTuneQuestion *question, const GememTuneRow *row)
{
  const GememNeed *trace = &question->traces[0];
  const GememJob job = { .allocator = row->spec != NULL ? row->spec : trace->own,
                         .device_spec = question->options.device_spec,
                         .device_ordinal = trace->result->device_ordinal,
                         .source = gemem_held_open,
                         .source_data = trace->held,
                         .use_trace_settings = TRUE,
                         .find_capacity = question->objectives[0] == GEMEM_TUNE_CAPACITY };

  return gemem_job_run (&job, NULL);
}

static guint64
value_of (const GememResult *result, GememTuneObjective by)
{
  return by == GEMEM_TUNE_CAPACITY ? result->least_capacity : result->peak_reserved;
}

static gboolean
serves_all (const GememResult *result)
{
  return result != NULL && gemem_result_is_complete (result) && result->approximation == NULL;
}

/* What is said of @row is what @result shows; @best: what the best has of the objective @by. */
static void
check_row (const GememTuneRow *row, const GememResult *result, GememTuneObjective by, guint64 best)
{
  switch (row->end)
    {
    case GEMEM_TUNE_REPLAYED:
    case GEMEM_TUNE_EQUAL:
      g_assert_true (serves_all (result));
      g_assert_cmpuint (row->values[GEMEM_TUNE_NEEDS], ==, result->peak_reserved);
      g_assert_cmpuint (row->values[GEMEM_TUNE_CALLS], ==, gemem_result_calls (result));
      g_assert_cmpuint (row->values[GEMEM_TUNE_TIME], ==, result->modelled_total_ns);
      g_assert_cmpuint (row->values[GEMEM_TUNE_CAPACITY], ==, result->least_capacity);
      break;
    case GEMEM_TUNE_ABOVE:
      g_assert_true (!serves_all (result) || by == GEMEM_TUNE_CAPACITY
                     || result->peak_reserved > best);
      g_assert_true (!serves_all (result) || by == GEMEM_TUNE_NEEDS
                     || result->least_capacity >= best);
      g_assert_cmpuint (value_of (result, by), >=, row->values[by]);
      break;
    case GEMEM_TUNE_FAILED:
      g_assert_false (serves_all (result));
      break;
    case GEMEM_TUNE_REFUSED:
      g_assert_null (result);
      break;
    case GEMEM_TUNE_UNTRIED:
    default:
      g_assert_not_reached ();
    }
}

/* Checks every row of @tune, and that none is better than the best. */
static void
check_rows (const GememTune *tune)
{
  const GememTuneObjective by = tune->question->objectives[0];
  const guint64 said = tune->best != G_MAXUINT
                           ? g_array_index (tune->rows, GememTuneRow, tune->best).values[by]
                           : G_MAXUINT64;
  guint64 least = G_MAXUINT64;

  for (guint i = 0; i < tune->rows->len; i++)
    {
      const GememTuneRow *row = &g_array_index (tune->rows, GememTuneRow, i);
      g_autoptr (GememResult) result = replay (tune->question, row);

      check_row (row, result, by, said);
      if (serves_all (result))
        least = MIN (least, value_of (result, by));
    }
  g_assert_cmpuint (said, ==, least);
}

guint
gemem_check_tune (const char *path, const char *specs, const char *device,
                  GememTuneObjective objective, guint *rows)
{
  g_autoptr (GPtrArray) space = parse (specs);
  g_autoptr (GememHeld) held = hold (path);
  g_autoptr (GArray) ordinals = gemem_trace_devices (gemem_held_open, held, NULL);
  guint replays[2], best[2];

  for (guint k = 0; k < 2; k++)
    {
      GememNeed need = { .name = path, .held = held, .ordinals = ordinals };
      GememTuneQuestion question = { .traces = &need,
                                     .n_traces = 1,
                                     .specs = space,
                                     .options.device_spec = device,
                                     .objectives = { objective },
                                     .n_objectives = 1,
                                     .threads = k == 0 ? 1 : 3 };
      g_autoptr (GError) error = NULL;
      g_autoptr (GememTune) tune = gemem_tune (&question, &error);

      g_assert_no_error (error);
      if (k == 0)
        check_rows (tune);
      replays[k] = tune->replays;
      best[k] = tune->best;
      *rows = tune->rows->len;
      gemem_need_clear (&need);
    }
  g_assert_cmpuint (replays[0], ==, replays[1]); /* with any number of threads */
  g_assert_cmpuint (best[0], ==, best[1]);
  return replays[0];
}
