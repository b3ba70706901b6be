/* test-report.c - table, full page, Markdown and CSV of small results, byte for byte; measures, files. */
#include "config.h"

#include <locale.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "sim/report/measures.h"
#include "sim/report/report.h"
#include "tests/util/sample-result.h"
#include "tests/util/testutil.h"

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
  g_autofree char *narrow = test_report_of (GEMEM_FORMAT_TABLE, results, 3, FALSE, 60);
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
  g_autofree char *wide = test_report_of (GEMEM_FORMAT_TABLE, results, 1, FALSE, 0);
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
  g_autofree char *found = test_report_of (GEMEM_FORMAT_TABLE, results + 2, 1, FALSE, 0);
  test_assert_contains (found, "avoidable  least capacity\n");
  test_assert_contains (found, "        0            none\n");
  test_free_results (results, 3);
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
  g_autofree char *table = test_report_of (GEMEM_FORMAT_TABLE, results, 3, FALSE, 85);
  test_assert_contains (
      table,
      "allocator  peak reserved  lower bound  overhead  allocator time  failed\n"
      "serves         4.000 GiB    3.125 GiB     1.280        501.5 us       0\n"
      "refuses        1.000 GiB            -         -        501.5 us       1  (failed)\n"
      "stops          2.000 GiB    3.125 GiB     0.640        501.5 us       0  (stopped)\n");
  test_assert_contains (table,
                        "\nserves is the only real allocator that served every request: it needs "
                        "4.000 GiB; it costs");
  g_autofree char *markdown = test_report_of (GEMEM_FORMAT_MARKDOWN, results, 3, FALSE, 0);
  test_assert_contains (markdown, " |\n| refuses (failed) | 1.000 GiB | - | - | - | 3.000 GiB |");
  g_autofree char *csv = test_report_of (GEMEM_FORMAT_CSV, results, 3, FALSE, 0);
  test_assert_contains (
      csv, "\nx.gmt,,0,sample,refuses,sim:capacity=8GiB,no,,,1073741824,,,,,3221225472,");
  g_assert_true (strstr (csv, "refuses") < strstr (csv, "serves"));
  g_autofree char *json = test_report_of (GEMEM_FORMAT_JSON, results, 3, FALSE, 0);
  test_assert_contains (json,
                        "\n        \"lower_bound\": null,\n        \"overhead\": null,\n        "
                        "\"utilisation\": null,\n        \"peak_live\": 3221225472,\n");
  test_assert_contains (json, "\n        \"lower_bound\": 3355443200,\n");
  results[1]->ooms = 1;
  g_autofree char *none = test_report_of (GEMEM_FORMAT_TABLE, results, 3, FALSE, 85);
  test_assert_contains (none, "\nno real allocator served every request.\n");
  test_assert_contains (none, "lower bound  overhead");
  test_free_results (results, 3);
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
  test_assert_contains (folded->str, "failed\none = two = four      4.000 GiB ");
  test_assert_contains (folded->str, "\nthree                 4.000 GiB ");
  test_assert_contains (folded->str,
                        "\none = two = three       4     2     0             6       500.0 us\n"
                        "four                    4     2     1             7       500.0 us\n");
  options.all = TRUE;
  gemem_report_write (all, GEMEM_FORMAT_TABLE, results, 5, &options);
  test_assert_contains (all->str, "\none            4.000 GiB ");
  test_assert_contains (all->str, "\ntwo            4.000 GiB ");
  g_assert_null (strstr (all->str, " = "));
  g_autofree char *csv = test_report_of (GEMEM_FORMAT_CSV, results, 5, FALSE, 0);
  test_assert_contains (csv, ",two,");
  test_assert_contains (csv, ",four,");
  g_autofree char *markdown = test_report_of (GEMEM_FORMAT_MARKDOWN, results, 5, FALSE, 0);
  test_assert_contains (markdown, "\n| one = two = four | 4.000 GiB |");
  test_free_results (results, 5);
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
  g_autofree char *list = test_report_of (GEMEM_FORMAT_TABLE, results, 3, FALSE, 0),
                  *names = test_report_of (GEMEM_FORMAT_TABLE, results, 4, FALSE, 0);
  test_assert_contains (list, "\nge:policy=0|10|2,strict=yes  ");
  test_assert_contains (names, "\nge:policy=0,strict=yes = ge:policy=10,strict=yes = "
                               "ge:policy=2,strict=yes = ge:policy=2  ");
  test_free_results (results, 4);
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
  g_autofree char *narrow = test_report_of (GEMEM_FORMAT_TABLE, results, 5, FALSE, 80),
                  *wide = test_report_of (GEMEM_FORMAT_TABLE, results, 5, FALSE, 400);
  test_assert_contains (narrow, "\nallocator-0 + 4 more      4.000 GiB ");
  test_assert_contains (narrow, "\nallocator-0 + 4 more: allocator-0 = allocator-1 = allocator-2 = "
                                "allocator-3 = allocator-4\n");
  test_assert_contains (wide,
                        "\nallocator-0 = allocator-1 = allocator-2 = allocator-3 = allocator-4  ");
  test_assert_contains (wide, "\nall 5 settings need the same and take the same time: "
                              "4.000 GiB; each costs 501.5 us of modelled allocator time.\n");
  test_free_results (results, 5);
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
  test_assert_contains (table->str,
                        "allocator  retries  peak reserved  device calls\n"
                        "b                0      1.000 GiB             6\n"
                        "a                0      3.000 GiB             6\n"
                        "d                0      4.000 GiB             6\n"
                        "c                0      512.0 MiB             6  (failed)\n\n");
  g_assert_null (strstr (table->str, "\ndevice calls"));
  options.reverse = TRUE;
  gemem_report_write (worst, GEMEM_FORMAT_TABLE, results, 4, &options);
  test_assert_contains (worst->str, "calls\nd  ");
  g_assert_true (strstr (worst->str, "\nc  ") > strstr (worst->str, "\nb  "));
  gemem_report_write (csv, GEMEM_FORMAT_CSV, results, 4, &options);
  g_assert_true (g_str_has_prefix (
      csv->str, "trace,trace_sha256,device_ordinal,allocator,label,device,partial,failure,not_"
                "allowed,retries,"
                "peak_reserved,calls\nx.gmt,,0,sample,d,sim:capacity=8GiB,no,,,0,4294967296,6\n"));
  gemem_report_write (markdown, GEMEM_FORMAT_MARKDOWN, results, 4, &options);
  test_assert_contains (markdown->str, "| allocator | retries | peak reserved | device calls |\n");
  options = (GememReportOptions){ .sort = gemem_measure_find ("utilisation", NULL),
                                  .all = TRUE,
                                  .verbose = TRUE };
  results[3]->peak_live = 4 * GEMEM_GIB;
  gemem_report_write (share, GEMEM_FORMAT_CSV, results, 4, &options); /* more is better */
  g_assert_true (strstr (share->str, ",b,") < strstr (share->str, ",a,"));
  test_free_results (results, 4);
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
  g_autofree char *table = test_report_of (GEMEM_FORMAT_TABLE, &result, 1, TRUE, 0);
  test_assert_contains (table, "\n  mean frag.                              -\n");
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
  test_assert_contains (error->message, "see 'gemem-sim help measures'");
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
  g_autofree char *text = test_report_of (GEMEM_FORMAT_TABLE, results, 4, FALSE, 0);
  test_assert_contains (
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
  g_autofree char *details = test_report_of (GEMEM_FORMAT_TABLE, results, 4, TRUE, 0);
  const char *guesses = strstr (details, "of them guesses");
  g_assert_nonnull (guesses);
  g_assert_null (strstr (guesses + 1, "of them guesses"));
  test_free_results (results, 4);
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
      g_autofree char *text = test_report_of ((GememReportFormat) format, &result, 1, FALSE, 0);
      g_assert_null (strstr (text, "65535"));
    }
  g_autofree char *csv = test_report_of (GEMEM_FORMAT_CSV, &result, 1, FALSE, 0),
                  *json = test_report_of (GEMEM_FORMAT_JSON, &result, 1, FALSE, 0);
  test_assert_contains (csv, "\nx.gmt,,,sample,a,");
  test_assert_contains (json, "\"device_ordinal\": null,");
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
      g_autofree char *text = test_report_of (GEMEM_FORMAT_TABLE, &result, 1, FALSE, width);
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
  g_autofree char *wide = test_report_of (GEMEM_FORMAT_TABLE, results, 2, FALSE, 0);
  test_assert_contains (
      wide, "\n\ndevice calls  malloc    free  reserve  create     map   unmap  destroy  "
            "release   syncs  events  memset    info  device calls  time in calls\n"
            "direct             4       2        0       0       0       0        0        "
            "0       0       0       0       0             6       500.0 us\n"
            "paged         100000  100001   100002  100004  100006  100007   100005   "
            "100003  200025  300030  100008  100014       1500105       15.00 us\n");
  g_autofree char *narrow = test_report_of (GEMEM_FORMAT_TABLE, results, 2, FALSE, 90);
  test_assert_contains (narrow, "\n\ndevice calls  malloc    free  create     map   unmap   syncs  "
                                "device calls  time in calls\n");
  g_autofree char *markdown = test_report_of (GEMEM_FORMAT_MARKDOWN, results, 1, FALSE, 0);
  test_assert_contains (
      markdown, "\n\n| device calls | malloc | free | device calls | time in calls |\n| --- "
                "| ---: | ---: | ---: | ---: |\n"
                "| direct | 4 | 2 | 6 | 500.0 us |\n");
  memset (results[0]->calls, 0, sizeof results[0]->calls);
  memset (results[0]->call_ns, 0, sizeof results[0]->call_ns);
  g_autofree char *none = test_report_of (GEMEM_FORMAT_TABLE, results, 1, FALSE, 0);
  g_assert_null (strstr (none, "device calls"));
  test_free_results (results, 2);
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
  g_autofree char *text = test_report_of (GEMEM_FORMAT_TABLE, &result, 1, TRUE, 0);
  test_assert_contains (text,
                        "x.gmt through direct on sim:capacity=8GiB\n  10 events, 5 allocations, 4 "
                        "frees\n  3 blocks never freed by the trace\n"
                        "  STOPPED: x.gmt: event 9: broken\n");
  test_assert_contains (
      text, "\n  peak reserved                   4.000 GiB  4294967296 bytes, after event 5\n"
            "  lower bound                             -\n"
            "  overhead                                -\n"
            "  utilisation                             -\n"
            "  peak live                       3.000 GiB  3221225472 bytes, after event 4\n");
  test_assert_contains (text, "\n  external at live peak           256.0 MiB  268435456 bytes\n");
  test_assert_contains (text, "\n  frag. at live peak                 25.0 %\n"
                              "  mean frag.                         13.9 %\n");
  test_assert_contains (
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
  test_assert_contains (
      text, "\n  malloc                                  4            1        400.0 us\n"
            "  free                                    2            0        100.0 us\n");
  test_assert_contains (
      text, "\n  alloc, modelled        13.89 us       503 ns     50.00 us     50.00 us     50.00 "
            "us     50.00 us\n");
  g_assert_true (g_str_has_suffix (
      text, "\n\nmodelled times rest on 38 figures of the device profile, 30 of them guesses\n"));
  test_assert_contains (text,
                        "\n  0x7f0000000000                  2      1.000 GiB       1.000 GiB\n  "
                        "all others                      1        "
                        "    1 B           512 B\n");
  test_assert_contains (
      text, "\n  512 B                           1          500 B                    12 B\n");
  test_assert_contains (
      text, "\nreproduces the recording in part: 4 of 5 decisions, 4 of 4 device calls\n  "
            "first difference at event 7: recorded 0x1000, here 0x2000");
  test_assert_contains (text,
                        "\nstatistics as the system names them\n  num_ooms                        "
                        "         1\n  and 1 that are 0\n");
  test_assert_contains (text,
                        "\nparameters\n  chunk_mb              64\n  path                  none\n");
  gemem_result_free (result);
}

/* Where origins are known, every block is named with its own. */
static void
test_details_origins (void)
{
  GememResult *result = test_sample_result ("x.gmt", "direct");
  GememOom *oom = &g_array_index (result->oom, GememOom, 0);
  g_autofree char *before = test_report_of (GEMEM_FORMAT_TABLE, &result, 1, TRUE, 0);
  g_assert_null (strstr (before, "largest blocks"));
  g_assert_null (strstr (before, " by "));
  test_sample_origins (result);
  g_autofree char *text = test_report_of (GEMEM_FORMAT_TABLE, &result, 1, TRUE, 0);
  test_assert_contains (text,
                        "  event 6: block 3 of 5.000 GiB by train.py:212 forward (mm) failed with "
                        "2.500 GiB live, 3.000 GiB");
  test_assert_contains (text,
                        "; without block 2 (1.000 MiB, allocated at event 1 by data.py:30 load) it "
                        "would fit\n");
  test_assert_contains (text, "\n\nlargest blocks at the live peak\n"
                              "       requested       block  allocated at  by\n"
                              "       2.000 GiB           1             0  data.py:30 load\n"
                              "       1.000 GiB           2        before  [\303\244]\n"
                              "       512.0 MiB           4             3  unknown\n"
                              "           512 B           9       unknown  unknown\n");
  test_assert_contains (text, "\n\nlargest blocks never freed by the trace\n"
                              "       requested       block  allocated at  by\n"
                              "       1.000 GiB           2        before  [\303\244]\n\n");
  oom->origin.by = "[activation]";
  oom->blocking_origin = (GememOrigin){ TRUE, TRUE, 1, NULL };
  g_autofree char *other = test_report_of (GEMEM_FORMAT_TABLE, &result, 1, TRUE, 0);
  test_assert_contains (other, "block 3 of 5.000 GiB [activation] failed with");
  test_assert_contains (other, "(1.000 MiB, allocated before the recording) it would fit");
  /* a C++ function with its templates */
  g_autofree char *many = g_strnfill (300, 'x'), *longest = g_strconcat (many, " (mm) [a]", NULL);
  oom->origin.by = longest;
  g_autofree char *cut = test_report_of (GEMEM_FORMAT_TABLE, &result, 1, TRUE, 0);
  test_assert_contains (cut,
                        " by xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                        "...xxxxxxxxxxxxxxxxxx (mm) [a] failed");
  longest[100] = '\0'; /* as long as may be */
  g_autofree char *whole = test_report_of (GEMEM_FORMAT_TABLE, &result, 1, TRUE, 0);
  test_assert_contains (whole, longest);
  gemem_result_free (result);
}

static void
test_markdown (void)
{
  GememResult *results[] = { test_served_result ("x.gmt", TEST_ODD_LABEL),
                             test_served_result ("y|z.gmt", "direct") };
  results[1]->failure = g_strdup ("?");
  g_autofree char *text = test_report_of (GEMEM_FORMAT_MARKDOWN, results, 2, FALSE, 0);
  g_assert_true (g_str_has_prefix (
      text, "### x.gmt\n\n| allocator | peak reserved | lower bound | overhead | utilisation |"));
  test_assert_contains (text, " |\n| --- | ---: | ---: |");
  test_assert_contains (text,
                        "\n| p\\|y\\_2:a={\"q\"}\\\\,b\\\\012 | 4.000 GiB | 3.125 GiB | 1.280 | "
                        "75.0 % | 3.000 GiB |");
  test_assert_contains (text, "\n\n### y\\|z.gmt\n\n");
  test_assert_contains (text, "\n| direct (stopped) | 4.000 GiB |");
  test_free_results (results, 2);
}

/* ---- for programs */

static void
test_csv (void)
{
  GememResult *results[] = { test_served_result ("a,b.gmt", TEST_ODD_LABEL),
                             test_served_result ("x.gmt", "direct") };
  results[0]->least_capacity = GEMEM_UNLIMITED;
  results[0]->failure = g_strdup ("cr\rhere");
  g_autofree char *text = test_report_of (GEMEM_FORMAT_CSV, results, 2, FALSE, 0);
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
  test_free_results (results, 2);
}

/* Ratios of nothing are 0, not NaN, in every format. */
static void
test_empty (void)
{
  GememResult *result = test_served_result ("x.gmt", "direct");
  result->peak_reserved = result->lower_bound = result->reserved_at_live_peak = 0;
  g_autofree char *text = test_report_of (GEMEM_FORMAT_JSON, &result, 1, FALSE, 0),
                  *table = test_report_of (GEMEM_FORMAT_TABLE, &result, 1, FALSE, 0);
  test_assert_contains (text, "\"overhead\": 0.000000,\n        \"utilisation\": 0.000000,\n");
  test_assert_contains (text, "\"fragmentation_at_live_peak\": 0.000000,\n");
  test_assert_contains (table, "     0.000        0.0 %  3.000 GiB ");
  g_autofree char *none = test_report_of (GEMEM_FORMAT_JSON, NULL, 0, FALSE, 0);
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
  test_assert_contains (text,
                        "      \"file_sha256\": null,\n      \"trace\": \"/nonexistent/x.gmt\",\n");
  test_assert_contains (
      text, "\"parameters\": {\n        \"chunk_mb\": \"64\",\n        \"path\": null\n      },\n"
            "      \"variables\": {\n        \"FLAGS_chunk_mb\": \"64\"\n      },\n      "
            "\"device_settings\": {\n        \"capacity\": \"8GiB\"\n      }\n    }\n  ],\n  "
            "\"environment\": {\n    "
            "\"compiler\": \"" GEMEM_COMPILER " ");
  g_autofree char *empty = gemem_manifest (NULL, 0, NULL);
  test_assert_contains (empty, "\"arguments\": [],\n  \"runs\": [\n  ],\n");
  test_free_results (results, 2);
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
  test_assert_contains (error->message, "no/out.txt: ");
  g_clear_error (&error);
  if (g_file_test ("/dev/full", G_FILE_TEST_EXISTS))
    {
      g_assert_false (gemem_write_file ("/dev/full", "x", -1, &error));
      test_assert_contains (error->message, "/dev/full: ");
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
  g_test_add_func ("/report/host", test_host);
  g_test_add_func ("/report/table-width", test_table_width);
  g_test_add_func ("/report/table-of-calls", test_table_of_calls);
  g_test_add_func ("/report/details", test_details);
  g_test_add_func ("/report/details-origins", test_details_origins);
  g_test_add_func ("/report/markdown", test_markdown);
  g_test_add_func ("/report/csv", test_csv);
  g_test_add_func ("/report/empty", test_empty);
  g_test_add_func ("/report/locale", test_locale);
  g_test_add_func ("/report/manifest", test_manifest);
  g_test_add_func ("/report/measures", test_measures);
  g_test_add_func ("/report/format", test_format);
  g_test_add_func ("/report/write-file", test_write_file);
  return g_test_run ();
}
