/* test-report.c - table, full page, CSV, Markdown and JSON of small results, byte for byte; and
 * JSON read back. */
#include "config.h"

#include <locale.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "sim/report/json-fields.h"
#include "sim/report/measures.h"
#include "sim/report/report.h"
#include "tests/util/sample-result.h"
#include "tests/util/testutil.h"

#define ODD "p|y_2:a={\"q\"}\\,b\n"

static char *
report (GememReportFormat format, GememResult *const *results, guint n, gboolean details,
        guint width)
{
  GString *out = g_string_new (NULL);
  GememReportOptions options = { .details = details, .verbose = TRUE, .width = width };
  gemem_report_write (out, format, results, n, &options);
  return g_string_free (out, FALSE);
}

static void
assert_contains (const char *text, const char *part)
{
  if (strstr (text, part) == NULL)
    g_error ("not found:\n%s\nin:\n%s", part, text);
}

static void
free_results (GememResult **results, guint n)
{
  for (guint i = 0; i < n; i++)
    gemem_result_free (results[i]);
}

/* ---- for human readers */

static void
test_table (void)
{
  GememResult *results[] = { test_served_result ("x.gmt", "direct"),
                             test_served_result ("x.gmt", "gr\303\266\303\237er"),
                             test_served_result ("x.gmt", "direct") };
  results[1]->partial = TRUE;
  results[2]->device_ordinal = 1;
  results[2]->capacity = GEMEM_UNLIMITED;
  results[2]->least_capacity = GEMEM_UNLIMITED;
  g_autofree char *narrow = report (GEMEM_FORMAT_TABLE, results, 3, FALSE, 60);
  g_assert_cmpstr (
      narrow, ==,
      "x.gmt\n"
      "10 events, peak live 3.000 GiB, device 8.000 GiB\n"
      "allocator  peak reserved  overhead  failed  least capacity\n"
      "direct         4.000 GiB     1.280       0               -\n"
      "gr\303\266\303\237er         4.000 GiB     1.280       0               -  (partial)\n"
      "\n"
      "device calls  malloc  free  device calls  time in calls\n"
      "direct             4     2             6       500.0 us\n"
      "gr\303\266\303\237er             4     2             6       500.0 us  (partial)\n"
      "\n"
      "x.gmt, device 1\n"
      "10 events, peak live 3.000 GiB, device unlimited\n"
      "allocator  peak reserved  overhead  failed  least capacity\n"
      "direct         4.000 GiB     1.280       0            none\n"
      "\n"
      "device calls  malloc  free  device calls  time in calls\n"
      "direct             4     2             6       500.0 us\n"
      "\n"
      "x.gmt: direct is the only real allocator that served every request: it needs 4.000 GiB; it "
      "costs 501.5 us of modelled allocator time.\n");
  g_autofree char *wide = report (GEMEM_FORMAT_TABLE, results, 1, FALSE, 0);
  g_assert_cmpstr (wide, ==,
                   "x.gmt\n"
                   "10 events, peak live 3.000 GiB, device 8.000 GiB\n"
                   "allocator  peak reserved  lower bound  overhead  utilisation  peak live  peak "
                   "allocated  internal at live peak  external at live peak  mean external  "
                   "frag. at live peak  device allocs  device frees  alloc p50  alloc p99  "
                   "allocator time  failed  avoidable\n"
                   "direct         4.000 GiB    3.125 GiB     1.280       75.0 %  3.000 GiB       "
                   "3.250 GiB              256.0 MiB              256.0 MiB            0 B  "
                   "            25.0 %              4             2     503 ns   50.00 us  "
                   "      501.5 us       0          0\n"
                   "\n"
                   "device calls  malloc  free  device calls  time in calls\n"
                   "direct             4     2             6       500.0 us\n");
  g_autofree char *found = report (GEMEM_FORMAT_TABLE, results + 2, 1, FALSE, 0);
  assert_contains (found, "avoidable  least capacity\n");
  assert_contains (found, "        0            none\n");
  free_results (results, 3);
}

/* A run that refused requests needs less because it did less: it stands last, is marked, and what
 * makes it look better is unknown, in every format. */
static void
test_failed_rows (void)
{
  GememResult *results[] = { test_sample_result ("x.gmt", "refuses"),
                             test_served_result ("x.gmt", "serves"),
                             test_served_result ("x.gmt", "stops") };
  results[0]->peak_reserved = GEMEM_GIB;
  results[2]->failure = g_strdup ("it broke a rule");
  results[2]->peak_reserved = 2 * GEMEM_GIB;
  g_autofree char *table = report (GEMEM_FORMAT_TABLE, results, 3, FALSE, 85);
  assert_contains (
      table,
      "allocator  peak reserved  lower bound  overhead  allocator time  failed\n"
      "serves         4.000 GiB    3.125 GiB     1.280        501.5 us       0\n"
      "refuses        1.000 GiB            -         -        501.5 us       1  (failed)\n"
      "stops          2.000 GiB    3.125 GiB     0.640        501.5 us       0  (stopped)\n");
  assert_contains (table, "\nserves is the only real allocator that served every request: it needs "
                          "4.000 GiB; it costs");
  g_autofree char *markdown = report (GEMEM_FORMAT_MARKDOWN, results, 3, FALSE, 0);
  assert_contains (markdown, " |\n| refuses (failed) | 1.000 GiB | - | - | - | 3.000 GiB |");
  g_autofree char *csv = report (GEMEM_FORMAT_CSV, results, 3, FALSE, 0);
  assert_contains (csv,
                   "\nx.gmt,,0,sample,refuses,sim:capacity=8GiB,no,,,1073741824,,,,,3221225472,");
  g_assert_true (strstr (csv, "refuses") < strstr (csv, "serves"));
  g_autofree char *json = report (GEMEM_FORMAT_JSON, results, 3, FALSE, 0);
  assert_contains (json, "\n        \"lower_bound\": null,\n        \"overhead\": null,\n        "
                         "\"utilisation\": null,\n        \"peak_live\": 3221225472,\n");
  assert_contains (json, "\n        \"lower_bound\": 3355443200,\n");
  results[1]->ooms = 1;
  g_autofree char *none = report (GEMEM_FORMAT_TABLE, results, 3, FALSE, 85);
  assert_contains (none, "\nno real allocator served every request.\n");
  assert_contains (none, "lower bound  overhead");
  free_results (results, 3);
}

/* Rows that are equal in every measure share one, unless all are asked for; a difference in a
 * column that the width hides keeps them apart, one below the digits of a time does not. */
static void
test_folding (void)
{
  GememResult *results[] = { test_served_result ("x.gmt", "one"),
                             test_served_result ("x.gmt", "two"),
                             test_served_result ("x.gmt", "three"),
                             test_served_result ("x.gmt", "four"),
                             test_sample_result ("x.gmt", "five") };
  GememReportOptions options = { .width = 100, .verbose = TRUE };
  results[1]->modelled_total_ns += 7;
  results[2]->retries = 1;
  results[3]->calls[GEMEM_CALL_INFO] = 1;
  g_autoptr (GString) folded = g_string_new (NULL), all = g_string_new (NULL);
  gemem_report_write (folded, GEMEM_FORMAT_TABLE, results, 5, &options);
  assert_contains (folded->str, "failed\none = two = four      4.000 GiB ");
  assert_contains (folded->str, "\nthree                 4.000 GiB ");
  assert_contains (folded->str,
                   "\none = two = three       4     2     0             6       500.0 us\n"
                   "four                    4     2     1             7       500.0 us\n");
  options.all = TRUE;
  gemem_report_write (all, GEMEM_FORMAT_TABLE, results, 5, &options);
  assert_contains (all->str, "\none            4.000 GiB ");
  assert_contains (all->str, "\ntwo            4.000 GiB ");
  g_assert_null (strstr (all->str, " = "));
  g_autofree char *csv = report (GEMEM_FORMAT_CSV, results, 5, FALSE, 0);
  assert_contains (csv, ",two,");
  assert_contains (csv, ",four,");
  g_autofree char *markdown = report (GEMEM_FORMAT_MARKDOWN, results, 5, FALSE, 0);
  assert_contains (markdown, "\n| one = two = four | 4.000 GiB |");
  free_results (results, 5);
}

/* Runs that differ in the value of one parameter, and in nothing that it changes, are a list of
 * values, as behind -a. */
static void
test_folded_values (void)
{
  GememResult *results[] = { test_served_result ("x.gmt", "ge:policy=0,strict=yes"),
                             test_served_result ("x.gmt", "ge:policy=10,strict=yes"),
                             test_served_result ("x.gmt", "ge:policy=2,strict=yes"),
                             test_served_result ("x.gmt", "ge:policy=2") };
  g_autofree char *list = report (GEMEM_FORMAT_TABLE, results, 3, FALSE, 0),
                  *names = report (GEMEM_FORMAT_TABLE, results, 4, FALSE, 0);
  assert_contains (list, "\nge:policy=0|10|2,strict=yes  ");
  assert_contains (names, "\nge:policy=0,strict=yes = ge:policy=10,strict=yes = "
                          "ge:policy=2,strict=yes = ge:policy=2  ");
  free_results (results, 4);
}

/* Names that would cost a column are counted in the row and listed below. */
static void
test_folded_names (void)
{
  GememResult *results[5];
  for (guint i = 0; i < G_N_ELEMENTS (results); i++)
    {
      g_autofree char *label = g_strdup_printf ("allocator-%u", i);
      results[i] = test_served_result ("x.gmt", label);
    }
  g_autofree char *narrow = report (GEMEM_FORMAT_TABLE, results, 5, FALSE, 80),
                  *wide = report (GEMEM_FORMAT_TABLE, results, 5, FALSE, 400);
  assert_contains (narrow, "\nallocator-0 + 4 more      4.000 GiB ");
  assert_contains (narrow, "\nallocator-0 + 4 more: allocator-0 = allocator-1 = allocator-2 = "
                           "allocator-3 = allocator-4\n");
  assert_contains (wide, "\nallocator-0 = allocator-1 = allocator-2 = allocator-3 = allocator-4  ");
  assert_contains (wide, "\nall 5 settings need the same and take the same time: "
                         "4.000 GiB; each costs 501.5 us of modelled allocator time.\n");
  free_results (results, 5);
}

static void
test_order_and_columns (void)
{
  GememResult *results[] = { test_served_result ("x.gmt", "a"), test_served_result ("x.gmt", "b"),
                             test_sample_result ("x.gmt", "c"), test_served_result ("x.gmt", "d") };
  const GememMeasure *columns[] = { gemem_measure_find ("retries", NULL),
                                    gemem_measure_find ("peak-reserved", NULL),
                                    gemem_measure_find ("calls", NULL), NULL };
  GememReportOptions options = { .width = 20, .verbose = TRUE, .columns = columns };
  g_autoptr (GString) table = g_string_new (NULL), worst = g_string_new (NULL),
                      share = g_string_new (NULL), csv = g_string_new (NULL),
                      markdown = g_string_new (NULL);
  results[0]->peak_reserved = 3 * GEMEM_GIB;
  results[1]->peak_reserved = GEMEM_GIB;
  results[2]->peak_reserved = GEMEM_GIB / 2;
  options.sort = columns[1];
  gemem_report_write (table, GEMEM_FORMAT_TABLE, results, 4, &options);
  assert_contains (table->str, "allocator  retries  peak reserved  device calls\n"
                               "b                0      1.000 GiB             6\n"
                               "a                0      3.000 GiB             6\n"
                               "d                0      4.000 GiB             6\n"
                               "c                0      512.0 MiB             6  (failed)\n\n");
  g_assert_null (strstr (table->str, "\ndevice calls"));
  options.reverse = TRUE;
  gemem_report_write (worst, GEMEM_FORMAT_TABLE, results, 4, &options);
  assert_contains (worst->str, "calls\nd  ");
  g_assert_true (strstr (worst->str, "\nc  ") > strstr (worst->str, "\nb  "));
  gemem_report_write (csv, GEMEM_FORMAT_CSV, results, 4, &options);
  g_assert_true (g_str_has_prefix (
      csv->str, "trace,trace_sha256,device_ordinal,allocator,label,device,partial,failure,not_"
                "allowed,retries,"
                "peak_reserved,calls\nx.gmt,,0,sample,d,sim:capacity=8GiB,no,,,0,4294967296,6\n"));
  gemem_report_write (markdown, GEMEM_FORMAT_MARKDOWN, results, 4, &options);
  assert_contains (markdown->str, "| allocator | retries | peak reserved | device calls |\n");
  options = (GememReportOptions){ .sort = gemem_measure_find ("utilisation", NULL),
                                  .all = TRUE,
                                  .verbose = TRUE };
  results[3]->peak_live = 4 * GEMEM_GIB;
  gemem_report_write (share, GEMEM_FORMAT_CSV, results, 4, &options); /* more is better */
  g_assert_true (strstr (share->str, ",b,") < strstr (share->str, ",a,"));
  free_results (results, 4);
}

static void
test_mean_fragmentation (void)
{
  GememResult *result = test_served_result ("x.gmt", "a");
  /* events 1 to 5 in the state of the second point (25 %), 6 to 9 in that of the third (0) */
  g_assert_cmpfloat_with_epsilon (gemem_result_mean_fragmentation (result), 0.25 * 5 / 9, 1e-9);
  result->time_weighted = TRUE; /* the second state lasts to the end, the first was not sampled */
  g_assert_cmpfloat_with_epsilon (gemem_result_mean_fragmentation (result), 0.25, 1e-9);
  g_array_set_size (result->timeline, 0);
  g_autofree char *table = report (GEMEM_FORMAT_TABLE, &result, 1, TRUE, 0);
  assert_contains (table, "\n  mean frag.                              -\n");
  gemem_result_free (result);
}

static void
test_measure_names (void)
{
  g_autoptr (GError) error = NULL;
  g_assert_cmpstr (gemem_measure_find ("Peak-Reserved", NULL)->key, ==, "peak_reserved");
  g_assert_null (gemem_measure_find ("overhed", &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_cmpstr (error->message, ==, "unknown measure 'overhed'; did you mean 'overhead'?");
  g_clear_error (&error);
  g_assert_null (gemem_measure_find ("zzzzzz", &error));
  assert_contains (error->message, "see 'gemem-sim help measures'");
}

/* What holds for several tables is told once, below them; the rest with the name of its trace. */
static void
test_notes (void)
{
  GememResult *results[] = { test_served_result ("x.gmt", "a"), test_served_result ("x.gmt", "b"),
                             test_served_result ("y.gmt", "a"), test_served_result ("y.gmt", "b") };
  for (guint i = 0; i < 4; i++)
    {
      results[i]->cost_numbers = 5;
      results[i]->cost_guesses = 4;
      results[i]->fidelity.segments_compared = 1;
      results[i]->fidelity.compared = 9;
      results[i]->fidelity.equal = i < 2 ? 8 : i;
      gemem_settings_add (results[i]->device_settings, "address", "recorded");
    }
  results[3]->fidelity.equal = 9;
  results[3]->fidelity.segments_equal = 1;
  results[3]->initial_reserved = 3 * GEMEM_GIB;
  results[3]->state_unfit = TRUE;
  g_autofree char *text = report (GEMEM_FORMAT_TABLE, results, 4, FALSE, 0);
  assert_contains (
      text,
      "time in calls\na = b              4     2             6       500.0 us\n"
      "\n"
      "x.gmt: a, b: reproduces the recording in part: 8 of 9 decisions, 0 of 1 device calls\n"
      "modelled times rest on 5 figures of the device profile, 4 of them guesses\n"
      "y.gmt: a: reproduces the recording in part: 2 of 9 decisions, 0 of 1 device calls\n"
      "y.gmt: b: reproduces the recording exactly: 9 of 9 decisions, 1 of 1 device calls\n"
      "y.gmt: b: starts from the blocks alive at the beginning alone: the 3.000 GiB reserved then "
      "do not fit\n"
      "\n"
      "all 2 recordings: overhead, geometric mean\n");
  g_autofree char *details = report (GEMEM_FORMAT_TABLE, results, 4, TRUE, 0);
  const char *guesses = strstr (details, "of them guesses");
  g_assert_nonnull (guesses);
  g_assert_null (strstr (guesses + 1, "of them guesses"));
  free_results (results, 4);
}

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
  g_autofree char *text = report (GEMEM_FORMAT_TABLE, results, 6, FALSE, 0);
  assert_contains (
      text,
      "\n\ngood needs least of the 3 real allocators that served every request: 4.000 GiB, "
      "1.000 GiB (20.0 %) less than the next, next, 2.000 GiB (33.3 %) less than pytorch, "
      "which made the recording; it costs 3.000 us of modelled allocator time, next 4.000 us, "
      "pytorch 5.000 us.\n");
  g_autofree char *markdown = report (GEMEM_FORMAT_MARKDOWN, results, 6, FALSE, 0);
  assert_contains (markdown, "\n\ngood needs least of the 3 real allocators");
  g_autofree char *one = report (GEMEM_FORMAT_TABLE, results + 3, 1, FALSE, 0),
                  *unreal = report (GEMEM_FORMAT_TABLE, results, 2, FALSE, 0);
  g_assert_null (strstr (one, "real allocator"));
  g_assert_null (strstr (unreal, "real allocator"));
  free_results (results, 6);
}

static char *
table_of (GememResult *const *results, guint n)
{
  return report (GEMEM_FORMAT_TABLE, results, n, FALSE, 0);
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
  assert_contains (failed, "\n\nc fits on the smallest device of the 3 real allocators: 4.000 GiB, "
                           "1.000 GiB (20.0 %) less than the next, b.\n");
  assert_contains (served, "\n\nb fits on the smallest device of the 2 real allocators: 5.000 GiB, "
                           "1.000 GiB (16.7 %) less than the next, a; it costs 501.5 us of "
                           "modelled allocator time, a 501.5 us.\n");
  assert_contains (same, "\n\nall 2 real allocators fit on the same device and take the same time: "
                         "6.000 GiB; each costs 501.5 us of ");
  assert_contains (one, "\n\na is the only real allocator that fit on any device: it fits on 6.000 "
                        "GiB; ");
  free_results (results, 3);
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
  g_autofree char *table = report (GEMEM_FORMAT_TABLE, results, 2, FALSE, 0),
                  *csv = report (GEMEM_FORMAT_CSV, results, 2, FALSE, 0),
                  *markdown = report (GEMEM_FORMAT_MARKDOWN, results, 2, FALSE, 0),
                  *details = report (GEMEM_FORMAT_TABLE, &results[1], 1, TRUE, 0),
                  *json = report (GEMEM_FORMAT_JSON, &results[1], 1, FALSE, 0);
  assert_contains (table, "\nb (approximation)      1.000 GiB");
  assert_contains (table, "\nb (approximation): little is known; ask\n");
  assert_contains (table, "\nb (approximation) needs least of the 2 real allocators: ");
  assert_contains (csv, ",cuda-async,b (approximation),");
  assert_contains (csv, ",ge,a,");
  assert_contains (markdown, "\n| b (approximation) | 1.000 GiB |");
  assert_contains (details, "through b (approximation) on ");
  assert_contains (details, "\n  APPROXIMATION: little is known; ask\n");
  assert_contains (json, "\"label\": \"b (approximation)\"");
  assert_contains (json, "\"approximation\": \"little is known; ask\"");
  free_results (results, 2);
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
  g_autofree char *table = report (GEMEM_FORMAT_TABLE, results, 3, FALSE, 0),
                  *csv = report (GEMEM_FORMAT_CSV, results, 3, FALSE, 0),
                  *markdown = report (GEMEM_FORMAT_MARKDOWN, results, 3, FALSE, 0),
                  *details = report (GEMEM_FORMAT_TABLE, results, 1, TRUE, 0),
                  *json = report (GEMEM_FORMAT_JSON, results, 1, FALSE, 0);
  assert_contains (table, "\na              1.000 GiB    3.125 GiB         -            -");
  assert_contains (table, "  (not allowed)\n");
  assert_contains (table, "\na: not allowed: event 3: why\n");
  assert_contains (table, "\nb needs least of the 2 real allocators allowed here: 4.000 GiB, 1.000 "
                          "GiB (20.0 %) less than the next, c;");
  assert_contains (csv, ",ge,a,sim:capacity=8GiB,no,,event 3: why,1073741824,,3355443200,,,");
  assert_contains (markdown, "\n| a (not allowed) | 1.000 GiB | 3.125 GiB | - | - |");
  assert_contains (markdown, "b needs least of the 2 real allocators allowed here");
  assert_contains (details, "\n  NOT ALLOWED: event 3: why\n");
  assert_contains (json, "\"not_allowed\": \"event 3: why\"");
  assert_contains (json, "\"overhead\": null");
  g_assert_false (gemem_result_is_complete (results[0]));
  results[1]->not_allowed = g_strdup ("event 3: why");
  g_autofree char *one = table_of (results, 3), *none = table_of (results, 2);
  assert_contains (one, "\na, b: not allowed: event 3: why\n");
  assert_contains (one, "\nc is the only real allocator allowed here: it needs 5.000 GiB");
  assert_contains (none, "\nno real allocator is allowed here.\n");
  results[2]->ooms = 1;
  g_autofree char *failed = table_of (results, 3);
  assert_contains (failed, "\nno real allocator allowed here served every request.\n");
  results[1]->ooms = 1;
  g_autofree char *both = table_of (results, 3);
  assert_contains (both, "  (failed, not allowed)\n");
  results[2]->ooms = results[1]->ooms = 0;
  for (guint i = 0; i < 3; i++)
    results[i]->least_capacity = (6 + i) * GEMEM_GIB;
  g_clear_pointer (&results[1]->not_allowed, g_free);
  g_autofree char *capacity = table_of (results, 3);
  assert_contains (capacity,
                   "\nb fits on the smallest device of the 2 real allocators allowed here: "
                   "7.000 GiB, 1.000 GiB (12.5 %) less than the next, c");
  free_results (results, 3);
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
  assert_contains (equal, "\nall 4 runs of 2 real allocators need the same and take the same time: "
                          "4.000 GiB; each costs ");
  assert_contains (one, "\nall 2 runs of ge need the same and take the same time: ");
  results[0]->modelled_total_ns++;
  g_autofree char *some = table_of (results, 4);
  assert_contains (some,
                   "\nall 4 runs of 2 real allocators need the same, ge (capacity=2GiB) (and 2 "
                   "more) takes least time: ");
  results[2]->modelled_total_ns--;
  g_autofree char *fastest = table_of (results, 4);
  assert_contains (fastest,
                   " need the same, ge-bins (capacity=1GiB) takes least time: 4.000 GiB; it "
                   "costs ");
  free_results (results, 4);
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
                  *markdown = report (GEMEM_FORMAT_MARKDOWN, results, 3, FALSE, 0);
  assert_contains (text, "events, peak live 3.000 GiB, device ");
  assert_contains (text, "\nc                      -");
  assert_contains (text, "  (not run: interrupted)\n");
  assert_contains (text, "\n\ninterrupted after 1 of 3 runs: which allocator needs least is not "
                         "known.\n");
  assert_contains (markdown, "\n\ninterrupted after 1 of 3 runs: ");
  g_assert_null (strstr (text, "real allocator"));
  g_assert_null (strstr (text, "c: not run"));
  assert_contains (none, "x.gmt\nno run began\n");
  free_results (results, 3);
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
  assert_contains (text, "\n10 events, peak requested 3.125 GiB (no run served every request), "
                         "device ");
  results[2]->lower_bound = 4 * GEMEM_GIB;
  g_autofree char *range = table_of (results, 3);
  assert_contains (range,
                   ", peak requested 3.125 GiB to 4.000 GiB (no run served every request), ");
  results[0]->failure = g_strdup ("stopped at the first failed request");
  g_autofree char *stopped = table_of (results, 1);
  assert_contains (stopped, ", peak requested at least 3.125 GiB (no run served every request), ");
  results[1]->failed_allocs = 0;
  g_autofree char *served = table_of (results, 3);
  assert_contains (served, ", peak live 3.001 GiB, device ");
  free_results (results, 3);
}

/* Host memory has no device number. */
static void
test_host (void)
{
  GememResult *result = test_served_result ("x.gmt", "a");
  g_autoptr (GPtrArray) back = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);
  result->device_ordinal = GEMEM_DEVICE_HOST;
  for (guint format = 0; format < 4; format++)
    {
      g_autofree char *text = report ((GememReportFormat) format, &result, 1, FALSE, 0);
      g_assert_null (strstr (text, "65535"));
    }
  g_autofree char *csv = report (GEMEM_FORMAT_CSV, &result, 1, FALSE, 0),
                  *json = report (GEMEM_FORMAT_JSON, &result, 1, FALSE, 0);
  assert_contains (csv, "\nx.gmt,,,sample,a,");
  assert_contains (json, "\"device_ordinal\": null,");
  g_autofree char *path = g_build_filename (test_tmpdir (), "host.json", NULL);
  g_assert_true (g_file_set_contents (path, json, -1, NULL));
  g_assert_true (gemem_results_read_json (path, back, NULL));
  g_assert_cmpint (((GememResult *) back->pdata[0])->device_ordinal, ==, GEMEM_DEVICE_HOST);
  gemem_result_free (result);
}

/* No line is wider than requested, as long as the columns of rank 0 fit; and a larger width
 * never shows less. */
static void
test_table_width (void)
{
  GememResult *result = test_served_result ("x.gmt", "direct");
  gsize columns = 0;
  for (guint width = 60; width < 240; width++)
    {
      g_autofree char *text = report (GEMEM_FORMAT_TABLE, &result, 1, FALSE, width);
      g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
      for (char **line = lines; *line != NULL; line++)
        g_assert_cmpuint (strlen (*line), <=, width);
      g_assert_cmpuint (strlen (lines[2]), >=, columns);
      g_assert_cmpuint (strlen (lines[2]), ==, strlen (lines[3]));
      columns = strlen (lines[2]);
    }
  g_assert_cmpuint (columns, >, 200);
  gemem_result_free (result);
}

/* A column per kind of call that occurs, none for other kinds; the least important columns are
 * dropped first. */
static void
test_table_of_calls (void)
{
  GememResult *results[] = { test_served_result ("x.gmt", "direct"),
                             test_served_result ("x.gmt", "paged") };
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    {
      results[1]->calls[call] = 100000 + call;
      results[1]->call_ns[call] = 1000;
    }
  g_autofree char *wide = report (GEMEM_FORMAT_TABLE, results, 2, FALSE, 0);
  assert_contains (wide,
                   "\n\ndevice calls  malloc    free  reserve  create     map   unmap  destroy  "
                   "release   syncs  events  memset    info  device calls  time in calls\n"
                   "direct             4       2        0       0       0       0        0        "
                   "0       0       0       0       0             6       500.0 us\n"
                   "paged         100000  100001   100002  100004  100006  100007   100005   "
                   "100003  200025  300030  100008  100014       1500105       15.00 us\n");
  g_autofree char *narrow = report (GEMEM_FORMAT_TABLE, results, 2, FALSE, 90);
  assert_contains (narrow, "\n\ndevice calls  malloc    free  create     map   unmap   syncs  "
                           "device calls  time in calls\n");
  g_autofree char *markdown = report (GEMEM_FORMAT_MARKDOWN, results, 1, FALSE, 0);
  assert_contains (markdown,
                   "\n\n| device calls | malloc | free | device calls | time in calls |\n| --- "
                   "| ---: | ---: | ---: | ---: |\n"
                   "| direct | 4 | 2 | 6 | 500.0 us |\n");
  memset (results[0]->calls, 0, sizeof results[0]->calls);
  memset (results[0]->call_ns, 0, sizeof results[0]->call_ns);
  g_autofree char *none = report (GEMEM_FORMAT_TABLE, results, 1, FALSE, 0);
  g_assert_null (strstr (none, "device calls"));
  free_results (results, 2);
}

static void
test_details (void)
{
  GememResult *result = test_sample_result ("x.gmt", "direct");
  const GememOom full = {
    7, 4,     9 * GEMEM_GIB, 0, GEMEM_GIB, GEMEM_GIB, GEMEM_GIB, 8 * GEMEM_GIB, 7 * GEMEM_GIB,
    0, FALSE, 2 * GEMEM_GIB, 0, 0
  };
  g_array_append_val (result->oom, full);
  result->ooms = 200;
  result->cost_numbers = 38;
  result->cost_guesses = 30;
  result->leaked_blocks = 3;
  result->failure = g_strdup ("x.gmt: event 9: broken");
  result->fidelity = (GememFidelity){ 5, 4, 7, 0x1000, 0x2000, G_MAXUINT64, 4, 4, G_MAXUINT64 };
  gemem_settings_add (result->device_settings, "address", "recorded");
  g_autofree char *text = report (GEMEM_FORMAT_TABLE, &result, 1, TRUE, 0);
  assert_contains (text, "x.gmt through direct on sim:capacity=8GiB\n  10 events, 5 allocations, 4 "
                         "frees\n  3 blocks never freed by the trace\n"
                         "  STOPPED: x.gmt: event 9: broken\n");
  assert_contains (
      text, "\n  peak reserved                   4.000 GiB  4294967296 bytes, after event 5\n"
            "  lower bound                             -\n"
            "  overhead                                -\n"
            "  utilisation                             -\n"
            "  peak live                       3.000 GiB  3221225472 bytes, after event 4\n");
  assert_contains (text, "\n  external at live peak           256.0 MiB  268435456 bytes\n");
  assert_contains (text, "\n  frag. at live peak                 25.0 %\n"
                         "  mean frag.                         13.9 %\n");
  assert_contains (
      text, "\nfailed requests: 200, avoidable: 1\n"
            "  event 6: block 3 of 5.000 GiB failed with 2.500 GiB live, 3.000 GiB allocated, "
            "4.000 GiB reserved of 8.000 GiB\n"
            "    avoidable: the device has 4.000 GiB free and the cache 768.0 MiB in its largest "
            "piece; without block 2 (1.000 MiB) "
            "it would fit\n"
            "  event 7: block 4 of 9.000 GiB failed with 1.000 GiB live, 1.000 GiB allocated, "
            "1.000 GiB reserved of 8.000 GiB\n"
            "    true: no layout could have served it; 2.000 GiB would have to be freed first\n"
            "  ... and 198 more");
  assert_contains (text,
                   "\n  malloc                                  4            1        400.0 us\n"
                   "  free                                    2            0        100.0 us\n");
  assert_contains (
      text, "\n  alloc, modelled        13.89 us       503 ns     50.00 us     50.00 us     50.00 "
            "us     50.00 us\n");
  g_assert_true (g_str_has_suffix (
      text, "\n\nmodelled times rest on 38 figures of the device profile, 30 of them guesses\n"));
  assert_contains (text, "\n  0x7f0000000000                  2      1.000 GiB       1.000 GiB\n  "
                         "all others                      1        "
                         "    1 B           512 B\n");
  assert_contains (
      text, "\n  512 B                           1          500 B                    12 B\n");
  assert_contains (text,
                   "\nreproduces the recording in part: 4 of 5 decisions, 4 of 4 device calls\n  "
                   "first difference at event 7: recorded 0x1000, here 0x2000");
  assert_contains (text, "\nstatistics as the system names them\n  num_ooms                        "
                         "         1\n  and 1 that are 0\n");
  assert_contains (text,
                   "\nparameters\n  chunk_mb              64\n  path                  none\n");
  gemem_result_free (result);
}

/* Where origins are known, every block is named with its own. */
static void
test_details_origins (void)
{
  GememResult *result = test_sample_result ("x.gmt", "direct");
  GememOom *oom = &g_array_index (result->oom, GememOom, 0);
  g_autofree char *before = report (GEMEM_FORMAT_TABLE, &result, 1, TRUE, 0);
  g_assert_null (strstr (before, "largest blocks"));
  g_assert_null (strstr (before, " by "));
  test_sample_origins (result);
  g_autofree char *text = report (GEMEM_FORMAT_TABLE, &result, 1, TRUE, 0);
  assert_contains (text, "  event 6: block 3 of 5.000 GiB by train.py:212 forward (mm) failed with "
                         "2.500 GiB live, 3.000 GiB");
  assert_contains (text,
                   "; without block 2 (1.000 MiB, allocated at event 1 by data.py:30 load) it "
                   "would fit\n");
  assert_contains (text, "\n\nlargest blocks at the live peak\n"
                         "       requested       block  allocated at  by\n"
                         "       2.000 GiB           1             0  data.py:30 load\n"
                         "       1.000 GiB           2        before  [\303\244]\n"
                         "       512.0 MiB           4             3  unknown\n"
                         "           512 B           9       unknown  unknown\n");
  assert_contains (text, "\n\nlargest blocks never freed by the trace\n"
                         "       requested       block  allocated at  by\n"
                         "       1.000 GiB           2        before  [\303\244]\n\n");
  oom->origin.by = "[activation]";
  oom->blocking_origin = (GememOrigin){ TRUE, TRUE, 1, NULL };
  g_autofree char *other = report (GEMEM_FORMAT_TABLE, &result, 1, TRUE, 0);
  assert_contains (other, "block 3 of 5.000 GiB [activation] failed with");
  assert_contains (other, "(1.000 MiB, allocated before the recording) it would fit");
  /* a C++ function with its templates */
  g_autofree char *many = g_strnfill (300, 'x'), *longest = g_strconcat (many, " (mm) [a]", NULL);
  oom->origin.by = longest;
  g_autofree char *cut = report (GEMEM_FORMAT_TABLE, &result, 1, TRUE, 0);
  assert_contains (cut, " by xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                        "...xxxxxxxxxxxxxxxxxx (mm) [a] failed");
  longest[100] = '\0'; /* as long as may be */
  g_autofree char *whole = report (GEMEM_FORMAT_TABLE, &result, 1, TRUE, 0);
  assert_contains (whole, longest);
  gemem_result_free (result);
}

static void
test_markdown (void)
{
  GememResult *results[] = { test_served_result ("x.gmt", ODD),
                             test_served_result ("y|z.gmt", "direct") };
  results[1]->failure = g_strdup ("?");
  g_autofree char *text = report (GEMEM_FORMAT_MARKDOWN, results, 2, FALSE, 0);
  g_assert_true (g_str_has_prefix (
      text, "### x.gmt\n\n| allocator | peak reserved | lower bound | overhead | utilisation |"));
  assert_contains (text, " |\n| --- | ---: | ---: |");
  assert_contains (text, "\n| p\\|y\\_2:a={\"q\"}\\\\,b\\\\012 | 4.000 GiB | 3.125 GiB | 1.280 | "
                         "75.0 % | 3.000 GiB |");
  assert_contains (text, "\n\n### y\\|z.gmt\n\n");
  assert_contains (text, "\n| direct (stopped) | 4.000 GiB |");
  free_results (results, 2);
}

/* ---- for programs */

static void
test_csv (void)
{
  GememResult *results[] = { test_served_result ("a,b.gmt", ODD),
                             test_served_result ("x.gmt", "direct") };
  results[0]->least_capacity = GEMEM_UNLIMITED;
  results[0]->failure = g_strdup ("cr\rhere");
  g_autofree char *text = report (GEMEM_FORMAT_CSV, results, 2, FALSE, 0);
  g_assert_cmpstr (
      text, ==,
      "trace,trace_sha256,device_ordinal,allocator,label,device,partial,failure,not_allowed,peak_"
      "reserved,against_now,lower_bound,overhead,utilisation,peak_live,"
      "peak_allocated,internal_at_live_peak,external_at_live_peak,internal_mean,"
      "external_mean,fragmentation_at_live_peak,fragmentation_mean,"
      "largest_free_at_live_peak,device_allocs,"
      "device_frees,alloc_p50,alloc_p99,alloc_max,free_p99,modelled_time,measured_"
      "alloc_p50,measured_alloc_p99,measured_time,measured_call_time,modelled_to_"
      "measured,prediction_error,ooms,"
      "ooms_avoidable,retries,least_capacity,allocs,frees,end_live,end_reserved,calls_"
      "malloc,calls_free,calls_reserve,calls_create,calls_map,"
      "calls_unmap,calls_destroy,calls_release,calls_syncs,calls_events,calls_memset,"
      "calls_info,calls,calls_time,peak_host_backup,histories_least,histories_most,"
      "histories_failed\n"
      "\"a,b.gmt\",,0,sample,\"p|y_2:a={\"\"q\"\"}\\,b\\012\",sim:capacity=8GiB,no,"
      "cr\\015here,,4294967296,,3355443200,1.280000,0.750000,"
      "3221225472,"
      "3489660928,268435456,268435456,0,0,0.250000,0.138889,201326592,4,2,503,50000,50000,0,"
      "501500,,,,,,,0,0,0,none,5,4,0,0,4,2,0,0,0,0,0,0,0,0,0,0,6,500000,,,,\n"
      "x.gmt,,0,sample,direct,sim:capacity=8GiB,no,,,4294967296,,3355443200,1.280000,0."
      "750000,3221225472,"
      "3489660928,268435456,268435456,0,0,0.250000,0.138889,201326592,4,2,503,50000,50000,0,"
      "501500,,,,,,,0,0,0,,5,4,0,0,4,2,0,0,0,0,0,0,0,0,0,0,6,500000,,,,\n");
  free_results (results, 2);
}

static void
test_json_string (void)
{
  static const struct
  {
    const char *text, *json;
  } cases[] = {
    { NULL, "null" },
    { "", "\"\"" },
    { "a\"b\\c/", "\"a\\\"b\\\\c/\"" },
    { "\n\r\t\001\037\177", "\"\\n\\r\\t\\u0001\\u001f\\u007f\"" },
    { "\303\251", "\"\303\251\"" },
    { "a\377b", "\"a\357\277\275b\"" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GString) out = g_string_new ("=");
      gemem_json_append_string (out, cases[i].text);
      g_assert_true (out->str[0] == '=');
      g_assert_cmpstr (out->str + 1, ==, cases[i].json);
    }
}

static void
test_json_text (void)
{
  GememResult *result = test_served_result ("x.gmt", ODD);
  result->capacity = GEMEM_UNLIMITED;
  result->peak_live_seq = G_MAXUINT64 - 1;
  g_autofree char *text = report (GEMEM_FORMAT_JSON, &result, 1, FALSE, 0);
  g_assert_true (
      g_str_has_prefix (text, "{\n  \"schema\": \"gemem-result\",\n  \"version\": 2,\n  "
                              "\"results\": [\n    {\n      \"trace\": \"x.gmt\",\n"
                              "      \"trace_sha256\": null,\n      \"allocator\": \"sample\",\n"
                              "      \"label\": \"p|y_2:a={\\\"q\\\"}\\\\,b\\n\",\n"));
  assert_contains (text, "\n        \"overhead\": 1.280000,\n        \"utilisation\": 0.750000,\n  "
                         "      \"peak_live\": 3221225472,\n");
  assert_contains (text, "\n        \"peak_live_seq\": \"18446744073709551614\",\n");
  assert_contains (text, "\n        \"capacity\": null,\n");
  assert_contains (text, "\n      \"parameters\": {\n        \"chunk_mb\": \"64\",\n        "
                         "\"path\": null\n      },\n");
  assert_contains (
      text,
      "\n      \"stats\": {\n        \"num_ooms\": 1,\n        \"num_retries\": 0\n      },\n");
  assert_contains (
      text, "\n        \"malloc\": {\"count\": 4, \"refused\": 1, \"modelled_ns\": 400000},\n");
  assert_contains (text, "\n      \"alloc_ns\": {\"count\": 4, \"sum\": 55550, \"min\": 50, "
                         "\"max\": 50000, \"p50\": 503, \"p90\": 50000, \"p99\": 50000, "
                         "\"p99_9\": 50000, \"buckets\": [[50,1],[503,1],[5119,1],[50175,1]]},\n");
  assert_contains (
      text,
      "\n        {\"stream\": \"0x7f0000000000\", \"peak_live\": 1073741824, \"peak_allocated\": "
      "1073741824, \"allocs\": 2},\n"
      "        {\"stream\": null, \"peak_live\": 1, \"peak_allocated\": 512, \"allocs\": 1}\n");
  assert_contains (
      text,
      "\n        [0,0,1073741824,1073741824,2147483648,1073741824,1073741824,2147483648,null],\n");
  assert_contains (
      text,
      "\n        "
      "[\"0x40000\",4096,\"0x40000\",16384,\"0x7\",1,\"pending\",\"0x0\",0,0,null,\"waiting\"],\n");
  g_assert_null (strstr (text, ": nan"));
  g_assert_null (strstr (text, ": inf"));
  gemem_result_free (result);
}

/* Ratios of nothing are 0, not NaN, in every format. */
static void
test_empty (void)
{
  GememResult *result = test_served_result ("x.gmt", "direct");
  result->peak_reserved = result->lower_bound = result->reserved_at_live_peak = 0;
  g_autofree char *text = report (GEMEM_FORMAT_JSON, &result, 1, FALSE, 0),
                  *table = report (GEMEM_FORMAT_TABLE, &result, 1, FALSE, 0);
  assert_contains (text, "\"overhead\": 0.000000,\n        \"utilisation\": 0.000000,\n");
  assert_contains (text, "\"fragmentation_at_live_peak\": 0.000000,\n");
  assert_contains (table, "     0.000        0.0 %  3.000 GiB ");
  g_autofree char *none = report (GEMEM_FORMAT_JSON, NULL, 0, FALSE, 0);
  g_assert_cmpstr (none, ==,
                   "{\n  \"schema\": \"gemem-result\",\n  \"version\": 2,\n  \"results\": [\n  "
                   "],\n  \"summary\": []\n}\n");
  gemem_result_free (result);
}

static void
test_locale (void)
{
  GememResult *result = test_served_result ("x.gmt", "direct");
  GString *before = g_string_new (NULL), *after = g_string_new (NULL);
  GememReportOptions options = { .details = TRUE, .verbose = TRUE };
  for (guint format = 0; format < 4; format++)
    gemem_report_write (before, (GememReportFormat) format, &result, 1, &options);
  if (test_use_comma_locale ())
    {
      for (guint format = 0; format < 4; format++)
        gemem_report_write (after, (GememReportFormat) format, &result, 1, &options);
      setlocale (LC_ALL, "C");
      g_assert_cmpstr (after->str, ==, before->str);
    }
  g_string_free (before, TRUE);
  g_string_free (after, TRUE);
  gemem_result_free (result);
}

/* ---- read back */

static gboolean
read_text (const char *text, gssize length, GPtrArray *results, GError **error)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "result.json", NULL);
  g_assert_true (g_file_set_contents (path, text, length, NULL));
  return gemem_results_read_json (path, results, error);
}

/* Marks the bytes of a GememResult that a table covers. */
static void
cover (guint8 *bytes, gsize offset, gsize size)
{
  for (gsize i = offset; i < offset + size; i++)
    {
      g_assert_cmpuint (bytes[i], ==, 0);
      bytes[i] = 1;
    }
}

/* Every field of result.h is written: uncovered bytes are padding, which is shorter than any
 * number. */
static void
test_complete (void)
{
  guint8 bytes[sizeof (GememResult)] = { 0 };
  gsize hole = 0;
  for (const GememJsonMember *member = gemem_json_texts; member->name != NULL; member++)
    cover (bytes, member->offset, sizeof (char *));
  for (const GememJsonMember *member = gemem_json_settings; member->name != NULL; member++)
    cover (bytes, member->offset, sizeof (GPtrArray *));
  for (const GememJsonMember *member = gemem_json_histograms; member->name != NULL; member++)
    cover (bytes, member->offset, sizeof (GememHistogram));
  for (const GememJsonField *field = gemem_json_values; field->name != NULL; field++)
    cover (bytes, field->offset,
           field->type == GEMEM_FIELD_BOOL ? sizeof (gboolean) : sizeof (guint64));
  for (const GememJsonArray *array = gemem_json_arrays; array->name != NULL; array++)
    cover (bytes, array->offset, sizeof (GArray *));
  cover (bytes, G_STRUCT_OFFSET (GememResult, device_ordinal), sizeof (int));
  cover (bytes, G_STRUCT_OFFSET (GememResult, partial), sizeof (gboolean));
  /* an array of its own in the report */
  cover (bytes, G_STRUCT_OFFSET (GememResult, not_run), sizeof (gboolean));
  cover (bytes, G_STRUCT_OFFSET (GememResult, calls), 3 * GEMEM_CALL_COUNT * sizeof (guint64));
  cover (bytes, G_STRUCT_OFFSET (GememResult, fidelity), sizeof (GememFidelity));
  /* with the counts of calls */
  cover (bytes, G_STRUCT_OFFSET (GememResult, measured_calls), sizeof (GememHistogram *));
  /* written where origins refer to them */
  cover (bytes, G_STRUCT_OFFSET (GememResult, texts), sizeof (GStringChunk *));
  /* written to a file of its own (--allocator-report) */
  cover (bytes, G_STRUCT_OFFSET (GememResult, report), sizeof (char *));
  /* of a search that ends at the first capacity that is not enough (tune) */
  cover (bytes, G_STRUCT_OFFSET (GememResult, least_above), sizeof (guint64) + sizeof (guint));
  cover (bytes, G_STRUCT_OFFSET (GememResult, more_references), sizeof (guint));
  /* told in the sentence about histories */
  cover (bytes, G_STRUCT_OFFSET (GememResult, histories_left_out), sizeof (guint));
  /* written to a page (sim/page) */
  cover (bytes, G_STRUCT_OFFSET (GememResult, history), sizeof (GememHistory *));
  /* written where programs share a device */
  cover (bytes, G_STRUCT_OFFSET (GememResult, programs), sizeof (GPtrArray *));
  cover (bytes, gemem_json_shares.offset, sizeof (GArray *));
  cover (bytes, G_STRUCT_OFFSET (GememResult, share_order), sizeof (char *));
  for (gsize i = 0; i < sizeof bytes; i++)
    {
      hole = bytes[i] != 0 ? 0 : hole + 1;
      g_assert_cmpuint (hole, <, 8);
    }
}

static void
fill_numbers (GememResult *result)
{
  guint64 next = 1000;
  for (const GememJsonField *field = gemem_json_values; field->name != NULL; field++)
    if (field->type == GEMEM_FIELD_NUMBER)
      *(guint64 *) (gpointer) ((char *) result + field->offset) = next++;
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    {
      result->calls[call] = next++;
      result->refused[call] = next++;
      result->call_ns[call] = next++;
    }
  result->lower_bound = G_MAXUINT64 - 1; /* above the range of a signed number */
  result->capacity = G_MAXUINT64;
  result->trace_sha256 = g_strdup ("0123abcd");
  result->failure = g_strdup ("tab\there \303\251 \"quoted\"");
  result->not_allowed = g_strdup ("event 3: why");
  result->partial = result->capacity_monotone = result->time_weighted = TRUE;
  result->device_ordinal = GEMEM_DEVICE_HOST;
  result->fidelity = (GememFidelity){ 5,           4, 7, 0xffffffffffff0000, 0x2000,
                                      G_MAXUINT64, 4, 3, G_MAXUINT64,        12 };
}

static void
test_round_trip (void)
{
  GememResult *results[] = { test_sample_result ("x.gmt", ODD),
                             test_served_result ("y.gmt", "direct") };
  g_autoptr (GPtrArray) back = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);
  g_autoptr (GError) error = NULL;
  fill_numbers (results[0]);
  gemem_histogram_add (&results[0]->measured_free_ns, G_MAXUINT64);
  gemem_histogram_add (&results[0]->measured_free_ns, 0);
  results[0]->measured_calls = g_new (GememHistogram, GEMEM_CALL_COUNT);
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    gemem_histogram_init (&results[0]->measured_calls[call]);
  gemem_histogram_add (&results[0]->measured_calls[GEMEM_CALL_MAP], 12345);
  g_array_set_size (results[1]->timeline, 0);
  g_array_set_size (results[1]->map, 0);
  g_autofree char *text = report (GEMEM_FORMAT_JSON, results, 2, FALSE, 0);
  g_assert_true (read_text (text, -1, back, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (back->len, ==, 2);
  g_autofree char *again = report (GEMEM_FORMAT_JSON, (GememResult *const *) back->pdata, 2, FALSE,
                                   0);
  g_assert_cmpstr (again, ==, text);
  const GememResult *read = back->pdata[0];
  for (const GememJsonField *field = gemem_json_values; field->name != NULL; field++)
    {
      const gsize size = field->type == GEMEM_FIELD_BOOL ? sizeof (gboolean) : sizeof (guint64);
      g_assert_cmpmem ((const char *) read + field->offset, size,
                       (const char *) results[0] + field->offset, size);
    }
  g_assert_cmpstr (read->label, ==, ODD);
  g_assert_cmpstr (read->failure, ==, results[0]->failure);
  g_assert_cmpstr (read->not_allowed, ==, results[0]->not_allowed);
  g_assert_cmpuint (read->lower_bound, ==, G_MAXUINT64 - 1);
  g_assert_cmpuint (read->capacity, ==, G_MAXUINT64);
  g_assert_cmpint (read->device_ordinal, ==, GEMEM_DEVICE_HOST);
  g_assert_cmpuint (read->fidelity.expected_address, ==, 0xffffffffffff0000);
  g_assert_cmpmem (&read->measured_free_ns, sizeof (GememHistogram), &results[0]->measured_free_ns,
                   sizeof (GememHistogram));
  g_assert_cmpmem (read->measured_calls, GEMEM_CALL_COUNT * sizeof (GememHistogram),
                   results[0]->measured_calls, GEMEM_CALL_COUNT * sizeof (GememHistogram));
  g_assert_null (((const GememResult *) back->pdata[1])->measured_calls);
  g_assert_cmpmem (&read->alloc_ns, sizeof (GememHistogram), &results[0]->alloc_ns,
                   sizeof (GememHistogram));
  g_assert_cmpmem (read->timeline->data, read->timeline->len * sizeof (GememTimelinePoint),
                   results[0]->timeline->data, 3 * sizeof (GememTimelinePoint));
  g_assert_cmpmem (read->map->data, read->map->len * sizeof (GememMapSpan), results[0]->map->data,
                   5 * sizeof (GememMapSpan));
  g_assert_cmpuint (read->oom->len, ==, 1);
  g_assert_true (g_array_index (read->oom, GememOom, 0).avoidable);
  g_assert_cmpuint (g_array_index (read->oom, GememOom, 0).blocking_size, ==, GEMEM_MIB);
  g_assert_cmpuint (((const GememResult *) back->pdata[1])->timeline->len, ==, 0);
  free_results (results, 2);
}

static void
assert_same_origin (const GememOrigin *a, const GememOrigin *b)
{
  g_assert_cmpint (a->known, ==, b->known);
  g_assert_cmpint (a->initial, ==, b->initial);
  g_assert_cmpuint (a->seq, ==, b->seq);
  g_assert_cmpstr (a->by, ==, b->by);
}

static void
assert_same_blocks (const GArray *a, const GArray *b)
{
  g_assert_cmpuint (a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++)
    {
      const GememNamedBlock *x = &g_array_index (a, GememNamedBlock, i),
                            *y = &g_array_index (b, GememNamedBlock, i);
      g_assert_cmpuint (x->id, ==, y->id);
      g_assert_cmpuint (x->size, ==, y->size);
      assert_same_origin (&x->origin, &y->origin);
    }
}

/* Origins are read back; a file of a gemem that had none is read too. */
static void
test_round_trip_origins (void)
{
  GememResult *result = test_sample_result ("x.gmt", "direct");
  g_autoptr (GPtrArray) back = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);
  g_autoptr (GError) error = NULL;

  test_sample_origins (result);
  g_autofree char *text = report (GEMEM_FORMAT_JSON, &result, 1, FALSE, 0);
  assert_contains (text, "\"blocking_origin\": {\"event\": 1, \"initial\": false, \"by\": "
                         "\"data.py:30 load\"}}");
  assert_contains (text, "\"largest\": [\n        {\"id\": 1, \"size\": 2147483648, \"origin\": "
                         "{\"event\": 0,");
  assert_contains (text, "{\"id\": 9, \"size\": 512, \"origin\": null}");
  g_assert_true (read_text (text, -1, back, &error));
  g_assert_no_error (error);
  const GememResult *read = back->pdata[0];
  assert_same_blocks (read->largest, result->largest);
  assert_same_blocks (read->leaked, result->leaked);
  for (guint i = 0; i < result->map->len; i++)
    assert_same_origin (&g_array_index (read->map, GememMapSpan, i).origin,
                        &g_array_index (result->map, GememMapSpan, i).origin);
  assert_same_origin (&g_array_index (read->oom, GememOom, 0).origin,
                      &g_array_index (result->oom, GememOom, 0).origin);
  assert_same_origin (&g_array_index (read->oom, GememOom, 0).blocking_origin,
                      &g_array_index (result->oom, GememOom, 0).blocking_origin);

  /* the file as it was before: no origins of requests, no lists, three columns less */
  gemem_result_free (result);
  result = test_sample_result ("x.gmt", "direct");
  for (guint i = 0; i < result->map->len; i++)
    g_array_index (result->map, GememMapSpan, i).cause = GEMEM_IDLE_CAUSES;
  g_autofree char *plain = report (GEMEM_FORMAT_JSON, &result, 1, FALSE, 0);
  static const char *const added[] = { ", \"origin\": null, \"blocking_origin\": null",
                                       "      \"largest\": [],\n      \"leaked\": [],\n",
                                       ", \"id\", \"origin\", \"cause\"", ",0,null,null" };
  g_autoptr (GString) old = g_string_new (plain);
  for (gsize i = 0; i < G_N_ELEMENTS (added); i++)
    g_assert_cmpuint (g_string_replace (old, added[i], "", 0), >, 0);
  g_assert_true (read_text (old->str, -1, back, &error));
  g_assert_no_error (error);
  read = back->pdata[1];
  g_assert_cmpuint (read->map->len, ==, 5);
  g_assert_false (g_array_index (read->oom, GememOom, 0).origin.known);
  g_autofree char *again = report (GEMEM_FORMAT_JSON, (GememResult *const *) &back->pdata[1], 1,
                                   FALSE, 0);
  g_assert_cmpstr (again, ==, plain);
  gemem_result_free (result);
}

/* A call stack is a text of any length. */
static void
test_long_text (void)
{
  GememResult *result = test_served_result ("x.gmt", "direct");
  g_autoptr (GPtrArray) back = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);
  g_autoptr (GError) error = NULL;
  g_free (result->failure);
  result->failure = g_strnfill (1000000, 'y');
  g_autofree char *text = report (GEMEM_FORMAT_JSON, &result, 1, FALSE, 0);
  read_text (text, -1, back, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (((GememResult *) back->pdata[0])->failure, ==, result->failure);
  gemem_result_free (result);
}

/* A foreign file is refused with its name, and leaves the array unchanged. */
static void
refused (const char *text, gssize length, const char *reason)
{
  g_autoptr (GPtrArray) results = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  g_ptr_array_add (results, NULL);
  g_assert_false (read_text (text, length, results, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_cmpuint (results->len, ==, 1);
  assert_contains (error->message, "/result.json:");
  assert_contains (error->message, reason);
  g_assert_null (strchr (error->message, '\n'));
}

static void
test_refused (void)
{
  g_autofree char *deep = g_strnfill (1000000, '['), *objects = g_strnfill (17, '{');
  refused ("", -1,
           "result.json:1: the JSON text ends too early; the file was cut off, fetch it again;"
           " give a file written by 'replay'");
  refused ("{", -1, ":1: the JSON text ends too early");
  refused ("[]", -1, "not a file of schema gemem-result");
  refused ("{\"schema\": \"gemem-results\", \"version\": 2, \"results\": []}", -1,
           "not a file of schema gemem-result");
  refused ("{\"schema\": \"gemem-result\", \"results\": []}", -1, "no version");
  refused ("{\"schema\": \"gemem-result\", \"version\": 1.0, \"results\": []}", -1, "no version");
  refused ("{\"schema\": \"gemem-result\", \"version\": 1, \"results\": []}", -1,
           "version 1 of schema gemem-result, but this program reads version 2");
  refused ("{\"schema\": \"gemem-result\", \"version\": 2, \"results\": {}}", -1,
           "no array 'results'");
  refused ("{\"schema\": \"gemem-result\", \"version\": 2, \"results\": [1]}", -1,
           "result 0: no object");
  refused ("{\"schema\": \"gemem-result\", \"version\": 2, \"results\": [{}]}", -1,
           "result 0: no object 'values'");
  refused ("{\"results\": [], \"schema\": \"gemem-result\", \"version\": 1}", -1,
           "version 1 of schema gemem-result, but this program reads version 2");
  refused ("{\"schema\": \"gemem-result\", \"version\": 2, \"results\": [], \"results\": []}", -1,
           "'results' is given twice");
  refused ("{\"schema\": \"gemem-result\", \"version\": 2, \"results\": [{\"a\": {\"b\": 1, \"b\": "
           "2}}]}",
           -1, "result 0: a.b: given twice");
  refused ("{\"schema\": \"gemem-result\", \"version\": 2,\n\"results\": [{\"a\": \"\\u0000\"}]}",
           -1,
           "result 0: line 2: a text that is not UTF-8, or holds a zero byte; the file is damaged");
  refused (deep, -1, ":1: nested more than 512 deep");
  refused (objects, -1, ":1: a key in quotes is missing");
  refused ("/* \" */ [[[[", -1, ":1: \"\" is no JSON value");
  refused ("{'schema': 1}", -1, ":1: a key in quotes is missing");
  refused ("2{}", -1, ":1: something follows the end of the JSON text");
  refused ("]", -1, ":1: \"\" is no JSON value");
  refused ("{\"schema\": \"gemem-result\", \"version\": 2, \"results\": []}\n{}", -1,
           ":2: something follows the end of the JSON text");
  refused ("{} 1", -1, ":1: something follows the end of the JSON text");
  refused ("{\"schema", -1, ":1: the JSON text ends too early");
  refused ("{\"schema\\", -1, ":1: the JSON text ends too early");
  refused ("{\"\377\"}", -1, ":1: no ':' behind the key \"\\377\"; the file is damaged");
  refused ("{}\0{}", 5, ":1: something follows the end of the JSON text");
  g_autoptr (GPtrArray) results = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  g_assert_false (gemem_results_read_json ("/nonexistent/r.json", results, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
  g_assert_cmpstr (error->message, ==,
                   "/nonexistent/r.json: No such file or directory; name a readable file");
}

/* A whole result with one part replaced by another. */
static void
test_altered (void)
{
  static const struct
  {
    const char *from, *to, *reason;
  } cases[] = {
    { "\"label\": \"direct\"", "\"label\": null", "'label' is missing or no string" },
    { "\"trace\": \"x.gmt\"", "\"trace\": 3", "'trace' is missing or no string" },
    { "\"events\": 10", "\"events\": -10", "'events' in 'values' is missing or of the wrong kind" },
    { "\"events\": 10", "\"events\": 10.5", "'events' in 'values'" },
    { "\"events\": 10", "\"events\": \"0x10\"", "'events' in 'values'" },
    { "\"events\": 10", "\"events\": \"18446744073709551616\"", "'events' in 'values'" },
    { "\"events\": 10", "\"eventz\": 10", "'events' in 'values'" },
    { "\"device_ordinal\": 0", "\"device_ordinal\": 70000", "'device_ordinal'" },
    { "\"partial\": false", "\"partial\": 0", "'partial'" },
    { "\"chunk_mb\": \"64\"", "\"chunk_mb\": [64]",
      "'chunk_mb' in 'parameters' is neither text nor a number" },
    { "\"malloc\": {\"count\": 4", "\"malloc\": {\"count\": true",
      "'malloc' in 'calls' lacks a number" },
    { "[[50,1],", "[[50,2],", "'alloc_ns' is no histogram whose buckets add up to its count" },
    { "[503,1]", "[502,1]", "'alloc_ns' is no histogram" },
    { "[503,1]", "[50,1]", "'alloc_ns' is no histogram" },
    { "[[50,1],", "[[50,0],", "'alloc_ns' is no histogram" },
    { "[503,1]", "503", "'alloc_ns' is no histogram" },
    { "\"timeline\": {\"columns\": [\"seq\", \"time\"",
      "\"timeline\": {\"columns\": [\"time\", \"seq\"", "column 0 of 'timeline' is not 'seq'" },
    { "[9,4000,0,0,", "[9,4000,0,", "a row of 'timeline' has no good 'largest_free'" },
    { "\"pending\",\"0x0\"", "\"gone\",\"0x0\"", "a row of 'map' has no good 'state'" },
    { "\"waiting\"]", "\"weary\"]", "a row of 'map' has no good 'cause'" },
    { "\"0x7\",1,\"pending\"", "\"0x7\",4294967296,\"pending\"",
      "a row of 'map' has no good 'pool'" },
    { "\"origin\": null, \"bl", "\"origin\": 7, \"bl", "'origin' in 'oom' is missing" },
    { "\"origin\": null, \"bl", "\"origin\": {\"event\": 1, \"initial\": false, \"by\": 3}, \"bl",
      "'origin' in 'oom' is missing" },
    { "\"origin\": null, \"bl", "\"origin\": {\"event\": 1, \"by\": null}, \"bl",
      "'origin' in 'oom' is missing" },
    { "\"largest\": []", "\"largest\": 0", "no array 'largest'" },
    { "\"id\", \"origin\",", "\"id\", \"x\",", "column 10 of 'map' is not 'origin'" },
    { "[\"0x41000\",", "[\"0xzz\",", "a row of 'map' has no good 'address'" },
    { "[\"0x41000\",", "[\"0x-41000\",", "a row of 'map' has no good 'address'" },
    { "\"avoidable\": true", "\"avoidable\": 1",
      "'avoidable' in 'oom' is missing or of the wrong kind" },
    { "\"epochs\": [", "\"epochs\": [3, ", "element 0 of 'epochs' is no object" },
    { "\"streams\": [", "\"streams\": {}, \"x\": [", "no array 'streams'" },
    { "\"fidelity\": {\"compared\": 0", "\"fidelity\": {\"compared\": -1",
      "'compared' in 'fidelity'" },
  };
  GememResult *result = test_sample_result ("x.gmt", "direct");
  g_autofree char *text = report (GEMEM_FORMAT_JSON, &result, 1, FALSE, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const char *at = strstr (text, cases[i].from);
      g_assert_nonnull (at);
      g_autofree char *altered = g_strdup_printf ("%.*s%s%s", (int) (at - text), text, cases[i].to,
                                                  at + strlen (cases[i].from));
      refused (altered, -1, cases[i].reason);
    }
  gemem_result_free (result);
}

/* Every prefix of a file is refused, without side effects. */
static void
test_truncated (void)
{
  GememResult *result = test_served_result ("x.gmt", "direct");
  g_autofree char *text = report (GEMEM_FORMAT_JSON, &result, 1, FALSE, 0);
  for (gsize length = 0; length + 2 < strlen (text); length += 17)
    refused (text, (gssize) length, "; give a file written by");
  gemem_result_free (result);
}

/* ---- the rest */

static void
test_manifest (void)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "trace.gmt", NULL);
  g_assert_true (g_file_set_contents (path, "abc", 3, NULL));
  GememResult *results[] = { test_served_result (path, "direct"),
                             test_served_result ("/nonexistent/x.gmt", "direct") };
  const char *const argv[] = { "gemem-sim", "compare", "a \"b\".gmt", NULL };
  g_autofree char *text = gemem_manifest (results, 2, argv),
                  *again = gemem_manifest (results, 2, argv);
  g_assert_cmpstr (text, ==, again);
  g_assert_true (g_str_has_prefix (
      text,
      "{\n  \"schema\": \"gemem-manifest\",\n  \"version\": 1,\n  \"gemem\": \"" PACKAGE_VERSION
      "\",\n"
      "  \"arguments\": [\"gemem-sim\", \"compare\", \"a \\\"b\\\".gmt\"],\n  \"runs\": [\n    {\n"
      "      \"file_sha256\": "
      "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\",\n"));
  assert_contains (text,
                   "      \"file_sha256\": null,\n      \"trace\": \"/nonexistent/x.gmt\",\n");
  assert_contains (
      text, "\"parameters\": {\n        \"chunk_mb\": \"64\",\n        \"path\": null\n      },\n"
            "      \"variables\": {\n        \"FLAGS_chunk_mb\": \"64\"\n      },\n      "
            "\"device_settings\": {\n        \"capacity\": \"8GiB\"\n      }\n    }\n  ],\n  "
            "\"environment\": {\n    "
            "\"compiler\": \"" GEMEM_COMPILER " ");
  g_autofree char *empty = gemem_manifest (NULL, 0, NULL);
  assert_contains (empty, "\"arguments\": [],\n  \"runs\": [\n  ],\n");
  free_results (results, 2);
}

static void
test_measures (void)
{
  guint n = 0;
  for (; gemem_measure_name (n) != NULL; n++)
    {
      g_assert_cmpuint (strlen (gemem_measure_help (n)), >, 10);
      for (guint i = 0; i < n; i++)
        g_assert_cmpstr (gemem_measure_name (i), !=, gemem_measure_name (n));
    }
  g_assert_cmpstr (gemem_measure_name (0), ==, "peak_reserved");
  g_assert_null (gemem_measure_help (n));
  g_assert_null (gemem_measure_name (n + 1000));
}

static void
test_format (void)
{
  GememReportFormat format;
  g_autoptr (GError) error = NULL;
  g_assert_true (gemem_report_format_parse ("Markdown", &format, NULL)
                 && format == GEMEM_FORMAT_MARKDOWN);
  g_assert_true (gemem_report_format_parse ("table", &format, NULL)
                 && format == GEMEM_FORMAT_TABLE);
  g_assert_false (gemem_report_format_parse ("jsn", &format, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_cmpstr (error->message, ==, "unknown report format 'jsn'; did you mean 'json'?");
}

/* A file is complete or absent; an old one survives a failure. */
static void
test_write_file (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (test_tmpdir (), "out.txt", NULL),
                  *missing = g_build_filename (test_tmpdir (), "no", "out.txt", NULL), *text = NULL;
  gsize length;
  g_assert_true (gemem_write_file (path, "old", -1, &error));
  g_assert_true (gemem_write_file (path, "a\0b", 3, &error));
  g_assert_true (g_file_get_contents (path, &text, &length, NULL));
  g_assert_cmpmem (text, length, "a\0b", 3);
  g_assert_false (gemem_write_file (missing, "x", -1, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
  assert_contains (error->message, "no/out.txt: ");
  g_clear_error (&error);
  if (g_file_test ("/dev/full", G_FILE_TEST_EXISTS))
    {
      g_assert_false (gemem_write_file ("/dev/full", "x", -1, &error));
      assert_contains (error->message, "/dev/full: ");
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/report/table", test_table);
  g_test_add_func ("/report/failed-rows", test_failed_rows);
  g_test_add_func ("/report/folding", test_folding);
  g_test_add_func ("/report/folded-values", test_folded_values);
  g_test_add_func ("/report/folded-names", test_folded_names);
  g_test_add_func ("/report/order-and-columns", test_order_and_columns);
  g_test_add_func ("/report/mean-fragmentation", test_mean_fragmentation);
  g_test_add_func ("/report/measure-names", test_measure_names);
  g_test_add_func ("/report/notes", test_notes);
  g_test_add_func ("/report/verdict", test_verdict);
  g_test_add_func ("/report/verdict/capacity", test_verdict_of_capacity);
  g_test_add_func ("/report/verdict/counts", test_verdict_counts);
  g_test_add_func ("/report/verdict/not-allowed", test_not_allowed);
  g_test_add_func ("/report/approximation", test_approximation);
  g_test_add_func ("/report/interrupted", test_interrupted);
  g_test_add_func ("/report/peak-requested", test_peak_requested);
  g_test_add_func ("/report/host", test_host);
  g_test_add_func ("/report/table-width", test_table_width);
  g_test_add_func ("/report/table-of-calls", test_table_of_calls);
  g_test_add_func ("/report/details", test_details);
  g_test_add_func ("/report/details-origins", test_details_origins);
  g_test_add_func ("/report/markdown", test_markdown);
  g_test_add_func ("/report/csv", test_csv);
  g_test_add_func ("/report/json-string", test_json_string);
  g_test_add_func ("/report/json-text", test_json_text);
  g_test_add_func ("/report/empty", test_empty);
  g_test_add_func ("/report/locale", test_locale);
  g_test_add_func ("/report/json-complete", test_complete);
  g_test_add_func ("/report/json-round-trip", test_round_trip);
  g_test_add_func ("/report/json-round-trip-origins", test_round_trip_origins);
  g_test_add_func ("/report/json-long-text", test_long_text);
  g_test_add_func ("/report/json-refused", test_refused);
  g_test_add_func ("/report/json-altered", test_altered);
  g_test_add_func ("/report/json-truncated", test_truncated);
  g_test_add_func ("/report/manifest", test_manifest);
  g_test_add_func ("/report/measures", test_measures);
  g_test_add_func ("/report/format", test_format);
  g_test_add_func ("/report/write-file", test_write_file);
  return g_test_run ();
}
