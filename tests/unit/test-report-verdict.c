/* test-report-verdict.c - what the table of several results says of them: the sentence below it, and which rows are
 * no choice. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/report/measures.h"
#include "sim/report/report.h"
#include "tests/util/sample-result.h"
#include "tests/util/testutil.h"

/* The sentence: neither a call per request nor a plan is a choice for a running program, and what
 * failed needs less because it did less. */
static void
test_verdict (void)
{
  GememResult *results[] = {
    test_served_result ("x.gmt", "direct"),  test_served_result ("x.gmt", "plan"),
    test_sample_result ("x.gmt", "refuses"), test_served_result ("x.gmt", "good"),
    test_served_result ("x.gmt", "next"),    test_served_result ("x.gmt", "pytorch"),
  };
  static const char *const allocators[] = { "direct",       "plan", "ge-rdma",
                                            "paddle-buddy", "ge",   "pytorch-caching" };
  for (guint i = 0; i < 6; i++)
    {
      results[i]->peak_reserved = (i + 1) * GEMEM_GIB;
      results[i]->modelled_total_ns = i * 1000;
      g_free (results[i]->allocator);
      results[i]->allocator = g_strdup (allocators[i]);
    }
  results[5]->fidelity.compared = 3;
  g_autofree char *text = test_report_of (GEMEM_FORMAT_TABLE, results, 6, FALSE, 0);
  test_assert_contains (
      text,
      "\n\ngood needs least of the 3 real allocators that served every request: 4.000 GiB, "
      "1.000 GiB (20.0 %) less than the next, next, 2.000 GiB (33.3 %) less than pytorch, "
      "which made the recording; it costs 3.000 us of modelled allocator time, next 4.000 us, "
      "pytorch 5.000 us.\n");
  g_autofree char *markdown = test_report_of (GEMEM_FORMAT_MARKDOWN, results, 6, FALSE, 0);
  test_assert_contains (markdown, "\n\ngood needs least of the 3 real allocators");
  g_autofree char *one = test_report_of (GEMEM_FORMAT_TABLE, results + 3, 1, FALSE, 0),
                  *unreal = test_report_of (GEMEM_FORMAT_TABLE, results, 2, FALSE, 0);
  g_assert_null (strstr (one, "real allocator"));
  g_assert_null (strstr (unreal, "real allocator"));
  test_free_results (results, 6);
}

static char *
table_of (GememResult *const *results, guint n)
{
  return test_report_of (GEMEM_FORMAT_TABLE, results, n, FALSE, 0);
}

static void
name_allocators (GememResult **results, guint n, const char *const *allocators)
{
  for (guint i = 0; i < n; i++)
    {
      g_free (results[i]->allocator);
      results[i]->allocator = g_strdup (allocators[i]);
    }
}

/* Where the least capacity was looked for, it is what the sentence ranks by, on whatever device the
 * runs were made. */
static void
test_verdict_of_capacity (void)
{
  static const char *const allocators[] = { "ge", "ge-bins", "paddle-buddy" };
  GememResult *results[] = { test_served_result ("x.gmt", "a"), test_served_result ("x.gmt", "b"),
                             test_sample_result ("x.gmt", "c") };
  name_allocators (results, 3, allocators);
  for (guint i = 0; i < 3; i++)
    {
      results[i]->peak_reserved = (i + 1) * GEMEM_GIB;
      results[i]->least_capacity = (6 - i) * GEMEM_GIB;
    }
  g_autofree char *failed = table_of (results, 3), *served = table_of (results, 2),
                  *same = (results[1]->least_capacity = 6 * GEMEM_GIB, table_of (results, 2)),
                  *one = (results[1]->least_capacity = GEMEM_UNLIMITED, table_of (results, 2));
  test_assert_contains (failed,
                        "\n\nc fits on the smallest device of the 3 real allocators: 4.000 GiB, "
                        "1.000 GiB (20.0 %) less than the next, b.\n");
  test_assert_contains (served,
                        "\n\nb fits on the smallest device of the 2 real allocators: 5.000 GiB, "
                        "1.000 GiB (16.7 %) less than the next, a; it costs 501.5 us of "
                        "modelled allocator time, a 501.5 us.\n");
  test_assert_contains (same,
                        "\n\nall 2 real allocators fit on the same device and take the same time: "
                        "6.000 GiB; each costs 501.5 us of ");
  test_assert_contains (one,
                        "\n\na is the only real allocator that fit on any device: it fits on 6.000 "
                        "GiB; ");
  test_free_results (results, 3);
}

/* An approximation says that it is one wherever its name stands, and why below the table. */
static void
test_approximation (void)
{
  GememResult *results[] = { test_served_result ("x.gmt", "a"), test_served_result ("x.gmt", "b") };
  static const char *const allocators[] = { "ge", "cuda-async" };

  name_allocators (results, 2, allocators);
  results[1]->peak_reserved = GEMEM_GIB;
  results[1]->approximation = g_strdup ("little is known; ask");
  gemem_result_set_label (results[1], "b");
  gemem_result_set_label (results[0], "a");
  g_autofree char *table = test_report_of (GEMEM_FORMAT_TABLE, results, 2, FALSE, 0),
                  *csv = test_report_of (GEMEM_FORMAT_CSV, results, 2, FALSE, 0),
                  *markdown = test_report_of (GEMEM_FORMAT_MARKDOWN, results, 2, FALSE, 0),
                  *details = test_report_of (GEMEM_FORMAT_TABLE, &results[1], 1, TRUE, 0),
                  *json = test_report_of (GEMEM_FORMAT_JSON, &results[1], 1, FALSE, 0);
  test_assert_contains (table, "\nb (approximation)      1.000 GiB");
  test_assert_contains (table, "\nb (approximation): little is known; ask\n");
  test_assert_contains (table, "\nb (approximation) needs least of the 2 real allocators: ");
  test_assert_contains (csv, ",cuda-async,b (approximation),");
  test_assert_contains (csv, ",ge,a,");
  test_assert_contains (markdown, "\n| b (approximation) | 1.000 GiB |");
  test_assert_contains (details, "through b (approximation) on ");
  test_assert_contains (details, "\n  APPROXIMATION: little is known; ask\n");
  test_assert_contains (json, "\"label\": \"b (approximation)\"");
  test_assert_contains (json, "\"approximation\": \"little is known; ask\"");
  test_free_results (results, 2);
}

/* A run that the manual forbids stands last, is marked everywhere, has no ratios to the lower bound
 * (which is known), and is never the best, though it needs least. */
static void
test_not_allowed (void)
{
  GememResult *results[] = { test_served_result ("x.gmt", "a"), test_served_result ("x.gmt", "b"),
                             test_served_result ("x.gmt", "c") };
  static const char *const allocators[] = { "ge", "ge-bins", "ge-active" };

  name_allocators (results, 3, allocators);
  results[0]->peak_reserved = GEMEM_GIB;
  results[0]->not_allowed = g_strdup ("event 3: why");
  results[2]->peak_reserved = 5 * GEMEM_GIB;
  g_autofree char *table = test_report_of (GEMEM_FORMAT_TABLE, results, 3, FALSE, 0),
                  *csv = test_report_of (GEMEM_FORMAT_CSV, results, 3, FALSE, 0),
                  *markdown = test_report_of (GEMEM_FORMAT_MARKDOWN, results, 3, FALSE, 0),
                  *details = test_report_of (GEMEM_FORMAT_TABLE, results, 1, TRUE, 0),
                  *json = test_report_of (GEMEM_FORMAT_JSON, results, 1, FALSE, 0);
  test_assert_contains (table, "\na              1.000 GiB    3.125 GiB         -            -");
  test_assert_contains (table, "  (not allowed)\n");
  test_assert_contains (table, "\na: not allowed: event 3: why\n");
  test_assert_contains (table,
                        "\nb needs least of the 2 real allocators allowed here: 4.000 GiB, 1.000 "
                        "GiB (20.0 %) less than the next, c;");
  test_assert_contains (csv, ",ge,a,sim:capacity=8GiB,no,,event 3: why,1073741824,,3355443200,,,");
  test_assert_contains (markdown, "\n| a (not allowed) | 1.000 GiB | 3.125 GiB | - | - |");
  test_assert_contains (markdown, "b needs least of the 2 real allocators allowed here");
  test_assert_contains (details, "\n  NOT ALLOWED: event 3: why\n");
  test_assert_contains (json, "\"not_allowed\": \"event 3: why\"");
  test_assert_contains (json, "\"overhead\": null");
  g_assert_false (gemem_result_is_complete (results[0]));
  results[1]->not_allowed = g_strdup ("event 3: why");
  g_autofree char *one = table_of (results, 3), *none = table_of (results, 2);
  test_assert_contains (one, "\na, b: not allowed: event 3: why\n");
  test_assert_contains (one, "\nc is the only real allocator allowed here: it needs 5.000 GiB");
  test_assert_contains (none, "\nno real allocator is allowed here.\n");
  results[2]->ooms = 1;
  g_autofree char *failed = table_of (results, 3);
  test_assert_contains (failed, "\nno real allocator allowed here served every request.\n");
  results[1]->ooms = 1;
  g_autofree char *both = table_of (results, 3);
  test_assert_contains (both, "  (failed, not allowed)\n");
  results[2]->ooms = results[1]->ooms = 0;
  for (guint i = 0; i < 3; i++)
    results[i]->least_capacity = (6 + i) * GEMEM_GIB;
  g_clear_pointer (&results[1]->not_allowed, g_free);
  g_autofree char *capacity = table_of (results, 3);
  test_assert_contains (capacity,
                        "\nb fits on the smallest device of the 2 real allocators allowed here: "
                        "7.000 GiB, 1.000 GiB (12.5 %) less than the next, c");
  test_free_results (results, 3);
}

/* The sentence counts what there is: runs on several devices are no settings, and nothing takes
 * least time where others take as little. */
static void
test_verdict_counts (void)
{
  static const char *const allocators[] = { "ge", "ge", "ge-bins", "ge-bins" };
  static const char *const labels[] = { "ge (capacity=1GiB)", "ge (capacity=2GiB)",
                                        "ge-bins (capacity=1GiB)", "ge-bins (capacity=2GiB)" };
  GememResult *results[4];
  for (guint i = 0; i < 4; i++)
    results[i] = test_served_result ("x.gmt", labels[i]);
  name_allocators (results, 4, allocators);
  g_autofree char *equal = table_of (results, 4), *one = table_of (results, 2);
  test_assert_contains (equal,
                        "\nall 4 runs of 2 real allocators need the same and take the same time: "
                        "4.000 GiB; each costs ");
  test_assert_contains (one, "\nall 2 runs of ge need the same and take the same time: ");
  results[0]->modelled_total_ns++;
  g_autofree char *some = table_of (results, 4);
  test_assert_contains (
      some, "\nall 4 runs of 2 real allocators need the same, ge (capacity=2GiB) (and 2 "
            "more) takes least time: ");
  results[2]->modelled_total_ns--;
  g_autofree char *fastest = table_of (results, 4);
  test_assert_contains (fastest,
                        " need the same, ge-bins (capacity=1GiB) takes least time: 4.000 GiB; it "
                        "costs ");
  test_free_results (results, 4);
}

/* Runs that an interruption kept from beginning have no values, and nobody wins. */
static void
test_interrupted (void)
{
  GememResult *results[] = { test_served_result ("x.gmt", "a"), test_served_result ("x.gmt", "b"),
                             gemem_result_new () };
  results[1]->partial = TRUE;
  results[1]->failure = g_strdup ("interrupted before event 7");
  results[1]->peak_live = GEMEM_GIB;
  results[2]->not_run = TRUE;
  results[2]->trace = g_strdup ("x.gmt");
  results[2]->label = g_strdup ("c");
  results[2]->failure = g_strdup ("interrupted");
  g_autofree char *text = table_of (results, 3), *none = table_of (results + 2, 1),
                  *markdown = test_report_of (GEMEM_FORMAT_MARKDOWN, results, 3, FALSE, 0);
  test_assert_contains (text, "events, peak live 3.000 GiB, device ");
  test_assert_contains (text, "\nc                      -");
  test_assert_contains (text, "  (not run: interrupted)\n");
  test_assert_contains (text,
                        "\n\ninterrupted after 1 of 3 runs: which allocator needs least is not "
                        "known.\n");
  test_assert_contains (markdown, "\n\ninterrupted after 1 of 3 runs: ");
  g_assert_null (strstr (text, "real allocator"));
  g_assert_null (strstr (text, "c: not run"));
  test_assert_contains (none, "x.gmt\nno run began\n");
  test_free_results (results, 3);
}

/* Live memory of runs with failed requests says nothing about the trace. */
static void
test_peak_requested (void)
{
  GememResult *results[] = { test_sample_result ("x.gmt", "a"), test_sample_result ("x.gmt", "b"),
                             test_sample_result ("x.gmt", "b (lowered)") };
  results[1]->lower_bound += GEMEM_MIB; /* coarser rounding */
  results[1]->peak_live += GEMEM_MIB;
  g_autofree char *text = table_of (results, 2);
  test_assert_contains (text,
                        "\n10 events, peak requested 3.125 GiB (no run served every request), "
                        "device ");
  results[2]->lower_bound = 4 * GEMEM_GIB;
  g_autofree char *range = table_of (results, 3);
  test_assert_contains (range,
                        ", peak requested 3.125 GiB to 4.000 GiB (no run served every request), ");
  results[0]->failure = g_strdup ("stopped at the first failed request");
  g_autofree char *stopped = table_of (results, 1);
  test_assert_contains (stopped,
                        ", peak requested at least 3.125 GiB (no run served every request), ");
  results[1]->failed_allocs = 0;
  g_autofree char *served = table_of (results, 3);
  test_assert_contains (served, ", peak live 3.001 GiB, device ");
  test_free_results (results, 3);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/report/verdict", test_verdict);
  g_test_add_func ("/report/verdict/capacity", test_verdict_of_capacity);
  g_test_add_func ("/report/verdict/counts", test_verdict_counts);
  g_test_add_func ("/report/verdict/not-allowed", test_not_allowed);
  g_test_add_func ("/report/approximation", test_approximation);
  g_test_add_func ("/report/interrupted", test_interrupted);
  g_test_add_func ("/report/peak-requested", test_peak_requested);
  return g_test_run ();
}
