/* test-trials.c - what trials leave out does not matter: each job replayed by itself says the same. */
#include "config.h"

#include "sim/search/trials.h"
#include "tests/util/testutil.h"
#include "traces/held.h"

/* All that matters, and nothing else, comes back as the replays by themselves; the rest is at least @most. */
static guint
check_against (const GememJob *jobs, GememResult *const *alone, guint n, guint64 most)
{
  g_autofree GememResult **results = g_new0 (GememResult *, n);
  g_autofree GError **errors = g_new0 (GError *, n);
  guint left_out = 0;

  gemem_trials_run (jobs, n, most, &(GememRunner){ 0 }, results, errors);
  for (guint i = 0; i < n; i++)
    {
      g_assert_true ((alone[i] == NULL) == (errors[i] != NULL));
      if (alone[i] != NULL && gemem_trial_matters (alone[i], most))
        {
          g_assert_nonnull (results[i]);
          g_assert_cmpuint (results[i]->peak_reserved, ==, alone[i]->peak_reserved);
          g_assert_cmpuint (results[i]->peak_live, ==, alone[i]->peak_live);
          g_assert_cmpuint (gemem_result_calls (results[i]), ==, gemem_result_calls (alone[i]));
          g_assert_cmpuint (results[i]->modelled_total_ns, ==, alone[i]->modelled_total_ns);
          g_assert_true (gemem_result_is_complete (results[i]));
        }
      else if (results[i] != NULL)
        g_assert_false (gemem_trial_matters (results[i], most));
      left_out += results[i] == NULL && errors[i] == NULL;
      gemem_result_free (results[i]);
      g_clear_error (&errors[i]);
    }
  return left_out;
}

/* Returns how many of the settings @text were not replayed with the need of the first one as the bound. */
static guint
check (const char *name, const char *text, const char *device)
{
  g_autofree char *path = g_strconcat ("traces/recorded/", name, NULL);
  g_autofree char *full = test_source_path (path);
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GError) error = NULL;
  g_autoptr (GememHeld) held = gemem_held_new (gemem_trace_open (full, NULL, NULL, &error), &error);
  g_autofree GememJob *jobs = NULL;
  g_autofree GememResult **alone = NULL;
  guint64 least = G_MAXUINT64, first;
  guint left_out;

  g_assert_no_error (error);
  gemem_allocator_spec_parse (text, specs, &error);
  g_assert_no_error (error);
  jobs = g_new0 (GememJob, specs->len);
  alone = g_new0 (GememResult *, specs->len);
  for (guint i = 0; i < specs->len; i++)
    {
      jobs[i] = (GememJob){ .allocator = specs->pdata[i],
                            .device_spec = device,
                            .source = gemem_held_open,
                            .source_data = held,
                            .use_trace_settings = TRUE };
      alone[i] = gemem_job_run (&jobs[i], NULL);
      if (alone[i] != NULL && gemem_result_is_complete (alone[i]))
        least = MIN (least, alone[i]->peak_reserved);
    }
  first = alone[0]->peak_reserved;
  left_out = check_against (jobs, alone, specs->len, first);
  check_against (jobs, alone, specs->len, 0);
  check_against (jobs, alone, specs->len, least);
  check_against (jobs, alone, specs->len, least + 1);
  for (guint i = 0; i < specs->len; i++)
    gemem_result_free (alone[i]);
  return left_out;
}

static void
test_alike (void)
{
  g_assert_cmpuint (
      check ("vit-train.gmt", "pytorch-caching:max_split_size_mb=unlimited|20..60", NULL), >=, 30);
  check ("llama-train.gmt",
         "pytorch-caching:version=2.15,expandable_segments=*,large_segment_size_mb=20|32|64,"
         "max_split_size_mb=unlimited|30",
         NULL);
}

static void
test_others (void)
{
  /* those of which nothing can be proven, and one that no version takes */
  check ("gpt2-train.gmt", "*", NULL);
  check ("gpt2-train.gmt", "pytorch-caching:version=2.0|2.15,large_segment_size_mb=20|64", NULL);
}

static void
test_too_little (void)
{
  check ("vit-train.gmt",
         "pytorch-caching:expandable_segments=*,max_split_size_mb=unlimited|32|64|128,"
         "roundup_power2_divisions=0|2",
         "sim:capacity=1500MiB");
}

/* A search for the least capacity among them runs as it is. */
static void
test_capacity (void)
{
  g_autofree char *path = test_source_path ("traces/recorded/vit-train.gmt");
  g_autoptr (GError) error = NULL;
  g_autoptr (GememHeld) held = gemem_held_new (gemem_trace_open (path, NULL, NULL, &error), &error);
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememResult *results[2] = { NULL };
  GError *errors[2] = { NULL };

  gemem_allocator_spec_parse ("pytorch-caching", specs, &error);
  g_assert_no_error (error);
  const GememJob job = { .allocator = specs->pdata[0],
                         .source = gemem_held_open,
                         .source_data = held,
                         .use_trace_settings = TRUE };
  GememJob jobs[2] = { job, job };
  jobs[1].find_capacity = TRUE;
  gemem_trials_run (jobs, 2, 1, &(GememRunner){ 0 }, results, errors);
  g_assert_true (results[0]->stopped_above);
  g_assert_true (gemem_result_is_complete (results[1]));
  g_assert_cmpuint (results[1]->least_capacity, >, 0);
  gemem_result_free (results[0]);
  gemem_result_free (results[1]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/trials/alike", test_alike);
  g_test_add_func ("/trials/others", test_others);
  g_test_add_func ("/trials/too-little", test_too_little);
  g_test_add_func ("/trials/capacity", test_capacity);
  return g_test_run ();
}
