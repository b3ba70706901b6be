/* test-plot.c - data and scripts of the plots byte for byte, and pictures that are the same in
 * every run. */
#include "config.h"

#include <glib/gstdio.h>
#include <locale.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "sim/plots/plots-private.h"
#include "sim/plots/plots.h"
#include "sim/plots/script.h"
#include "sim/report/report.h"
#include "tests/util/sample-result.h"
#include "tests/util/testutil.h"

#define ODD "p_y^2{@}&\\'\"<%g>"

static char *
read_file (const char *dir, const char *name)
{
  g_autofree char *path = g_build_filename (dir, name, NULL);
  g_autoptr (GError) error = NULL;
  char *text = NULL;
  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  return text;
}

static gboolean
exists (const char *dir, const char *name)
{
  g_autofree char *path = g_build_filename (dir, name, NULL);
  return g_file_test (path, G_FILE_TEST_EXISTS);
}

static char *
new_dir (const char *name)
{
  return g_build_filename (test_tmpdir (), name, "deeper", NULL);
}

static void
write_plots (const char *dir, GememResult *const *results, guint n, const char *gnuplot)
{
  g_autoptr (GError) error = NULL;
  gboolean rendered = TRUE,
           ok = gemem_plot_write (dir, NULL, results, n, gnuplot, &rendered, &error);
  g_assert_no_error (error);
  g_assert_true (ok);
  g_assert_true (rendered == (gnuplot == NULL));
}

/* Makes @results differ in what no picture shows: equal ones are drawn once. */
static void
differ (GememResult **results, guint n)
{
  for (guint i = 0; i < n; i++)
    results[i]->frees += i;
}

static gboolean
have_gnuplot (void)
{
  g_autofree char *program = gemem_plot_program (NULL);
  if (program == NULL)
    g_test_skip ("gnuplot is not installed");
  return program != NULL;
}

/* ---- data */

static void
test_data (void)
{
  GememResult *results[] = { test_sample_result ("/tmp/x.gmt", "direct"),
                             test_served_result ("/tmp/x.gmt", ODD) };
  g_autofree char *dir = new_dir ("data");
  results[1]->partial = TRUE;
  write_plots (dir, results, 2, "");
  g_autofree char *comparison = read_file (dir, "comparison-x.dat"),
                  *timeline = read_file (dir, "timeline-x.dat"),
                  *fragmentation = read_file (dir, "fragmentation-x.dat");
  g_assert_cmpstr (comparison, ==,
                   "# x.gmt\n"
                   "# bytes; latencies of an allocation, modelled, ns; NaN: unknown, as requests "
                   "failed or the run is not allowed\n"
                   "# row peak_live peak_allocated peak_reserved lower_bound utilisation_permille "
                   "alloc_p50 alloc_p99 alloc_max "
                   "modelled_time failed text allocator\n"
                   "0 3221225472 3489660928 4294967296 NaN NaN 503 50000 50000 501500 1 "
                   "\"4.000 GiB, 1 failed\" \"direct\"\n"
                   "1 3221225472 3489660928 4294967296 3355443200 750 503 50000 50000 501500 0 "
                   "\"4.000 GiB, partial\" "
                   "\"p_y^2{@}&\\''<%g>\"\n");
  g_assert_cmpstr (
      timeline, ==,
      "# x.gmt\n"
      "# bytes, the largest value of each between this row and the one before; time in ns\n"
      "# event time live allocated reserved\n"
      "# index 0: direct\n"
      "0 0 1073741824 1073741824 2147483648\n"
      "5 2000 3221225472 3489660928 4294967296\n"
      "9 4000 2684354560 3221225472 4294967296\n"
      "\n\n"
      "# index 1: " ODD "\n"
      "0 0 1073741824 1073741824 2147483648\n"
      "5 2000 3221225472 3489660928 4294967296\n"
      "9 4000 2684354560 3221225472 4294967296\n");
  test_assert_contains (
      fragmentation,
      "# event time allocated reserved largest_free\n# index 0: direct\n"
      "0 0 1073741824 2147483648 NaN\n5 2000 3221225472 4294967296 805306368\n9 4000 "
      "0 1073741824 1073741824\n\n\n");
  g_assert_false (exists (dir, "comparison-x.svg"));
  test_free_results (results, 2);
}

static char *
script_of (GememResult *result, GememPlotKind kind)
{
  GString *out = g_string_new (NULL);
  g_autoptr (GPtrArray) groups = gemem_plot_groups (&result, 1);
  GememPlotPage page;
  g_assert_true (gemem_plot_page_init (&page, NULL, 0));
  gemem_plot_script (out, kind, groups->pdata[0], &page, "x");
  return g_string_free (out, FALSE);
}

/* Many points are drawn as a line, except where one is far from the next, as at the end of a
 * long run: the line would be a slope where nothing changed. */
static void
test_gaps (void)
{
  GememResult *result = test_sample_result ("x.gmt", "direct");
  g_array_set_size (result->timeline, 0);
  for (guint64 i = 0; i < 400; i++)
    {
      const GememTimelinePoint point = { i,     10 * i, i % 7, i % 7,      100,
                                         i % 7, i % 7,  100,   G_MAXUINT64 };
      g_array_append_val (result->timeline, point);
    }
  g_autofree char *even = script_of (result, GEMEM_PLOT_TIMELINE);
  test_assert_contains (even, "($5/unit) with lines lw 1.2");
  test_assert_contains (even, "with filledcurves y1=0 lc");
  g_array_index (result->timeline, GememTimelinePoint, 399).seq = 500;
  g_autofree char *gap = script_of (result, GEMEM_PLOT_TIMELINE);
  test_assert_contains (gap, "($5/unit) with steps lw 1.2");
  test_assert_contains (gap, "with fillsteps lc");
  gemem_result_free (result);
}

/* A panel without latencies states the reason: no prices, or no requests, as when all memory is
 * static memory of graphs. */
static void
test_no_latencies (void)
{
  GememResult *result = test_sample_result ("x.gmt", "direct");
  gemem_histogram_init (&result->alloc_ns);
  g_autofree char *unpriced = script_of (result, GEMEM_PLOT_COMPARISON);
  test_assert_contains (unpriced, "set label 1 \"no costs:\\ngive the device a profile\" at graph");
  result->allocs = 0;
  g_autofree char *none = script_of (result, GEMEM_PLOT_COMPARISON);
  test_assert_contains (none, "set label 1 'no requests' at graph");
  gemem_result_free (result);
}

/* With many panels points are merged; the largest value of each curve survives. */
static void
test_merged (void)
{
  GememResult *result = test_sample_result ("x.gmt", "direct");
  g_autoptr (GString) out = g_string_new (NULL);
  g_array_set_size (result->timeline, 0);
  for (guint64 i = 0; i < 2500; i++)
    {
      guint64 peak = i == 1234 ? 9999 : i % 7;
      const GememTimelinePoint point = { i,    10 * i, i % 7,           i % 7,      100,
                                         peak, peak,   MAX (peak, 100), G_MAXUINT64 };
      g_array_append_val (result->timeline, point);
    }
  g_autoptr (GPtrArray) groups = gemem_plot_groups (&result, 1);
  gemem_plot_data (out, GEMEM_PLOT_TIMELINE, groups->pdata[0]);
  g_auto (GStrv) lines = g_strsplit (out->str, "\n", -1);
  /* the first of 2500 points, thirds of all, and the end of the last line */
  g_assert_cmpuint (g_strv_length (lines), ==, 4 + 1 + 834 + 1);
  g_assert_cmpstr (lines[4], ==, "0 0 0 0 100");
  g_assert_cmpstr (lines[5], ==, "2 20 2 2 100");
  g_assert_cmpstr (lines[6], ==, "5 50 5 5 100");
  g_assert_cmpstr (lines[5 + 411], ==, "1235 12350 9999 9999 9999");
  g_assert_cmpstr (lines[5 + 833], ==, "2499 24990 0 0 100");
  gemem_result_free (result);
}

static void
test_slugs (void)
{
  static const struct
  {
    const char *trace, *slug, *title;
    int device;
  } cases[] = {
    { "/data/GPT2 train (v2).pickle.gz", "gpt2-train-v2", "GPT2 train (v2).pickle.gz", 0 },
    { "gpt2-train-v2.gmt", "gpt2-train-v2-2", "gpt2-train-v2.gmt", 0 },
    { "../..", "trace", "..", 0 },
    { "-", "trace-2", "-", 0 },
    { NULL, "trace-3", "trace", 0 },
    { "\303\251t\303\251;rm -rf 'x'.txt", "t-rm-rf-x", "\303\251t\303\251;rm -rf 'x'.txt", 0 },
    { "a.b.gmt", "a.b-device3", "a.b.gmt, device 3", 3 },
    { "a.b.gmt", "a.b-host", "a.b.gmt, host memory", GEMEM_DEVICE_HOST },
    { ".gmt", "gmt", ".gmt", 0 },
  };
  GememResult *results[G_N_ELEMENTS (cases) + 1];
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      results[i] = test_sample_result (cases[i].trace, "direct");
      results[i]->device_ordinal = cases[i].device;
    }
  results[G_N_ELEMENTS (cases)] = test_sample_result (cases[0].trace, "late");
  results[G_N_ELEMENTS (cases)]->frees++;
  g_autoptr (GPtrArray) groups = gemem_plot_groups (results, G_N_ELEMENTS (results));
  g_assert_cmpuint (groups->len, ==, G_N_ELEMENTS (cases));
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const GememPlotGroup *group = groups->pdata[i];
      g_assert_cmpstr (group->slug, ==, cases[i].slug);
      g_assert_cmpstr (group->title, ==, cases[i].title);
      g_assert_cmpuint (group->results->len, ==, i == 0 ? 2 : 1);
    }
  test_free_results (results, G_N_ELEMENTS (results));
}

/* ---- scripts */

static void
test_quoted (void)
{
  static const struct
  {
    const char *text;
    guint max;
    gboolean format;
    const char *quoted;
  } cases[] = {
    { "it's 5 %", 0, FALSE, "\"it\\047s 5 \\045\"" },
    { "it's 5 %", 0, TRUE, "\"it\\047s 5 \\045\\045\"" },
    { "a]]>b", 0, FALSE, "\"a\\135\\135 \\076b\"" },
    { "two\nlines\t", 0, FALSE, "\"two\\134012lines\\134011\"" },
    { "`id`@x", 0, FALSE, "\"\\140id\\140\\100x\"" },
    { "back\\slash \"{}", 0, TRUE, "\"back\\134slash \\042\\173\\175\"" },
    { "0123456789", 10, FALSE, "\"0123456789\"" },
    { "0123456789x", 10, FALSE, "\"01234\\342\\200\\246789x\"" },
    { "bad\377", 0, FALSE, "\"bad\\134377\"" },
    { "name:max_split_size_mb=64,garbage_collection_threshold=0.8", 44, FALSE,
      "\"name:max_split_size\\342\\200\\246=64,garbage_collec\\342\\200\\246=0.8\"" },
    { "name:max_split_size_mb=64", 20, FALSE, "\"name:max_split_s\\342\\200\\246=64\"" },
    { "name:k=[a_very_long_value_that_stays]", 20, FALSE,
      "\"name:k=\\133a_\\342\\200\\246at_stays\\135\"" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GString) out = g_string_new (NULL);
      gemem_plot_append_quoted (out, cases[i].text, cases[i].max, cases[i].format);
      g_assert_cmpstr (out->str, ==, cases[i].quoted);
    }
}

/* gnuplot reads every character as itself, also in the block of a loop, and runs nothing. */
static void
test_quoted_bytes (void)
{
  g_autofree char *program = gemem_plot_program (NULL);
  g_autoptr (GString) text = g_string_new (NULL), script = g_string_new ("set print '-'\n"),
                      all = NULL;
  g_autofree char *dir = new_dir ("quoted"), *path = g_build_filename (dir, "quoted.gp", NULL);
  g_autofree char *out = NULL;
  g_autoptr (GError) error = NULL;

  for (gunichar c = 0x20; c < 0x7f; c++)
    g_string_append_unichar (text, c);
  for (gunichar c = 0x20; c < 0x7f; c++) /* in pairs, as two quotes in a row */
    g_string_append_unichar (g_string_append_unichar (text, c), c);
  g_string_append (text, "\303\251\342\202\254 `touch here` @ARG0 it''s \\");
  g_string_append (script, "do for [kind in 'svg png'] {\nprint ");
  gemem_plot_append_quoted (script, text->str, 0, FALSE);
  for (const char *p = strchr (script->str, '"'); *p != '\0'; p++)
    g_assert_true (*p == '\n' || *p == '"' || *p == '\\' || g_ascii_isalnum (*p)
                   || strchr (" _-+.,:;=/()*|", *p) != NULL);
  g_string_append (script, "\n}\n");
  if (!have_gnuplot ())
    return;
  g_mkdir_with_parents (dir, 0700);
  g_file_set_contents (path, script->str, -1, &error);
  g_assert_no_error (error);
  g_spawn_sync (dir, (char *[]){ program, (char *) "-d", path, NULL }, NULL, G_SPAWN_SEARCH_PATH,
                NULL, NULL, &out, NULL, NULL, &error);
  g_assert_no_error (error);
  all = g_string_new (NULL);
  g_string_append_printf (all, "%s\n%s\n", text->str, text->str);
  g_assert_cmpstr (out, ==, all->str);
  g_assert_false (exists (dir, "here"));
}

static void
test_units (void)
{
  g_assert_cmpstr (gemem_plot_size_unit (0)->name, ==, "B");
  g_assert_cmpstr (gemem_plot_size_unit (1023)->name, ==, "B");
  g_assert_cmpstr (gemem_plot_size_unit (1024)->name, ==, "KiB");
  g_assert_cmpstr (gemem_plot_size_unit (GEMEM_GIB - 1)->name, ==, "MiB");
  g_assert_cmpstr (gemem_plot_size_unit (GEMEM_GIB)->divisor, ==, "2.0**30");
  g_assert_cmpstr (gemem_plot_size_unit (G_MAXUINT64)->name, ==, "PiB");
  g_assert_cmpstr (gemem_plot_time_unit (999)->name, ==, "ns");
  g_assert_cmpstr (gemem_plot_time_unit (G_MAXUINT64)->name, ==, "s");
  g_assert_null (gemem_plot_count_unit (99999)->name);
  g_assert_cmpstr (gemem_plot_count_unit (100000)->name, ==, "thousands");
  g_assert_cmpstr (gemem_plot_count_unit (12345678)->name, ==, "millions");
}

static void
test_script (void)
{
  GememResult *results[] = { test_served_result ("x.gmt", "direct"),
                             test_sample_result ("x.gmt", ODD) };
  g_autofree char *dir = new_dir ("script");
  results[0]->cost_guesses = 24;
  results[0]->cost_numbers = 25;
  write_plots (dir, results, 2, "");
  g_autofree char *comparison = read_file (dir, "comparison-x.gp"),
                  *timeline = read_file (dir, "timeline-x.gp"),
                  *fragmentation = read_file (dir, "fragmentation-x.gp");
  g_assert_true (g_str_has_prefix (comparison,
                                   "# gnuplot comparison-x.gp: draws comparison-x.svg and "
                                   "comparison-x.png\nreset\nset encoding utf8\n"
                                   "set decimalsign '.'\nset datafile missing 'NaN'\ndata = "
                                   "'comparison-x.dat'\ndo for [kind in 'svg png'] {\n"
                                   "t(text) = text\n"));
  test_assert_contains (comparison,
                        "set label t(\"x.gmt: peak memory and cost by allocator\") at screen 0.5,");
  test_assert_contains (
      comparison, "\nset ytics scale 0 (t(\"direct\") 0, "
                  "t(\"p_y\\1362\\173\\100\\175\\046\\134\\047\\042\\074\\045\\045g\\076\") 1)\n");
  test_assert_contains (
      comparison,
      "\nset xlabel t('peak reserved (GiB)') offset 0,0.4\nunit = 2.0**30\nend = 4294967296\n"
      "span = 4294967296/unit*");
  test_assert_contains (comparison, "\nset xrange [0:span]\nbar = 0.34\n");
  test_assert_contains (comparison, "\nset label 2 '24 of 25 costs are guesses' at graph");
  test_assert_contains (comparison, "unset multiplot\nunset output\n}\n");
  test_assert_contains (timeline, "\nx(value) = value/1.0\nset xrange [x(0):x(9)]\n");
  test_assert_contains (timeline,
                        "\nset format x '%g'\ntop = 4294967296/unit*1.06\nset yrange [0:top]\n");
  test_assert_contains (
      timeline,
      "\nset title "
      "t(\"p_y\\1362\\173\\100\\175\\046\\134\\047\\042\\074\\045g\\076\").\"\\n\".t('peak "
      "4.000 GiB, 1 failed') "
      "offset 0,-0.7\nset ylabel t('memory (GiB)')\n");
  test_assert_contains (timeline, "\nset xlabel 'event' offset 0,0.4\n");
  test_assert_contains (timeline,
                        "\nfailures = '6'\nplot data index 1 using (x($1)):($5/unit) with "
                        "fillsteps lc rgb '#d4d4d4' title 'external waste', \\\n");
  test_assert_contains (
      timeline, "  3355443200/unit with lines dt 2 lw 1.5 lc rgb '#009e73' title 'lower bound'\n");
  test_assert_contains (
      timeline, "  NaN/unit with lines dt 2 lw 1.5 lc rgb '#009e73' title 'lower bound', \\\n");
  g_assert_null (strstr (timeline, "capacity")); /* 8 GiB: twice what was reserved */
  test_assert_contains (fragmentation,
                        "\nset title t(\"direct\").\"\\n\".t('7.1 % external waste at the "
                        "live peak') offset 0,-0.7\nset ylabel t('share (%)')\n");
  test_free_results (results, 2);
}

/* With the row of --optimal what it needs is a line beside the others, unless it did not serve all. */
static void
test_optimum (void)
{
  GememResult *results[] = { test_served_result ("x.gmt", "direct"),
                             test_served_result ("x.gmt", GEMEM_OPTIMAL_ROW ":alignment=1\"") };
  g_autofree char *with = new_dir ("optimum"), *failed = new_dir ("optimum-failed");

  results[1]->peak_reserved = 3 * GEMEM_GIB;
  write_plots (with, results, 2, "");
  g_autofree char *comparison = read_file (with, "comparison-x.gp"),
                  *timeline = read_file (with, "timeline-x.gp");
  test_assert_contains (comparison, "\nset arrow from first cut(3221225472), graph 0 to first "
                                    "cut(3221225472), graph 1 nohead front dt 3 ");
  test_assert_contains (comparison, "least placement");
  test_assert_contains (timeline,
                        "  3221225472/unit with lines dt 3 lw 2 lc rgb '#009e73' title 'least "
                        "placement'");
  results[1]->ooms = 1;
  write_plots (failed, results, 2, "");
  g_autofree char *without = read_file (failed, "comparison-x.gp"),
                  *over_time = read_file (failed, "timeline-x.gp");
  g_assert_null (strstr (without, "least placement"));
  g_assert_null (strstr (over_time, "least placement"));
  test_free_results (results, 2);
}

/* Bars of runs in which requests failed, and of those that are not allowed, are hatched, stand below
 * the others, and the legend says so; without such runs nothing is hatched. */
static void
test_hatched (void)
{
  GememResult *results[] = { test_sample_result ("x.gmt", "refuses"),
                             test_served_result ("x.gmt", "serves"),
                             test_served_result ("x.gmt", "barred") };
  static const char *const scripts[] = { "comparison-x.gp", "calls-x.gp", "measured-x.gp" };
  g_autofree char *dir = new_dir ("hatched"), *served = new_dir ("served"),
                  *barred = new_dir ("barred"), *all = new_dir ("all");
  for (guint i = 0; i < 3; i++)
    {
      gemem_histogram_add (&results[i]->measured_alloc_ns, 1000);
      results[i]->measured_total_ns = 1000;
    }
  results[2]->not_allowed = g_strdup ("event 3: why");
  write_plots (dir, results, 2, NULL);
  write_plots (served, results + 1, 1, "");
  write_plots (barred, results + 1, 2, "");
  write_plots (all, results, 3, "");
  for (gsize i = 0; i < G_N_ELEMENTS (scripts); i++)
    {
      g_autofree char *script = read_file (dir, scripts[i]),
                      *without = read_file (served, scripts[i]),
                      *forbidden = read_file (barred, scripts[i]),
                      *both = read_file (all, scripts[i]);
      test_assert_contains (script, "set ytics scale 0 (t(\"serves\") 0, t(\"refuses\") 1)\n");
      test_assert_contains (script, "\nset label t(\"failed requests\") at screen ");
      test_assert_contains (script, " fs pattern 4 noborder fc rgb ");
      test_assert_contains (script, ":(failing($1)):");
      test_assert_contains (script, " with boxxyerror fs pattern 4 noborder lc rgb ");
      g_assert_null (strstr (without, "pattern"));
      g_assert_null (strstr (without, "failed requests"));
      test_assert_contains (forbidden, "set ytics scale 0 (t(\"serves\") 0, t(\"barred\") 1)\n");
      test_assert_contains (forbidden, "\nset label t(\"not allowed\") at screen ");
      test_assert_contains (both, "\nset label t(\"failed or not allowed\") at screen ");
    }
  g_autofree char *reserved = read_file (barred, "reserved-x.gp");
  test_assert_contains (reserved, "\nset label t(\"barred (not allowed)\") at screen ");
  test_assert_contains (reserved, "\nset label t(\"serves\") at screen ");
  if (have_gnuplot ())
    {
      g_autofree char *picture = read_file (dir, "comparison-x.svg"),
                      *calls = read_file (dir, "calls-x.svg");
      test_assert_contains (picture, "url(#gpPat");
      test_assert_contains (picture, ">4.000 GiB, 1 failed<");
      test_assert_contains (calls, "url(#gpPat");
    }
  test_free_results (results, 3);
}

/* One allocator far above the others: its bar is cut off, its panel has its own scale; three
 * times the median is not far. */
static void
test_outlier (void)
{
  GememResult *results[] = { test_sample_result ("x.gmt", "a"), test_sample_result ("x.gmt", "b"),
                             test_sample_result ("x.gmt", "c") };
  g_autofree char *dir = new_dir ("outlier");
  differ (results, 3);
  results[1]->peak_reserved = 12 * GEMEM_GIB;
  write_plots (dir, results, 3, "");
  g_autofree char *near = read_file (dir, "timeline-x.gp");
  g_assert_null (strstr (near, "own scale"));
  test_assert_contains (near, "top = 12884901888/unit*1.06\n");
  results[1]->peak_reserved = 16 * GEMEM_GIB;
  write_plots (dir, results, 3, "");
  g_autofree char *far = read_file (dir, "timeline-x.gp"),
                  *comparison = read_file (dir, "comparison-x.gp");
  test_assert_contains (far, "t('peak 16.00 GiB, 1 failed, own scale')");
  test_assert_contains (far, "top = 17179869184/unit*1.06\n");
  test_assert_contains (far, "top = 4294967296/unit*1.06\n");
  test_assert_contains (comparison, "\nend = 4294967296\n");
  test_assert_contains (comparison, "set xtics 0,step,brk\n");
  test_assert_contains (comparison, "data using (brk-lean+wide):($4 > end ? $1+0.4 : NaN)");
  write_plots (dir, results, 2, ""); /* with two results there is no outlier */
  g_autofree char *half = read_file (dir, "comparison-x.gp");
  test_assert_contains (half, "\nend = 17179869184\n");
  g_assert_null (strstr (half, "brk"));
  test_free_results (results, 3);
}

/* Two to six results that all have timelines: a line each, the first one widest; least live below. */
static void
test_reserved (void)
{
  static const char *const labels[] = {
    "ge:static_memory_policy=0", "it's", "c", "d", "e", "f", "g"
  };
  GememResult *results[G_N_ELEMENTS (labels)];
  g_autofree char *dir = new_dir ("reserved"), *many = new_dir ("many"), *one = new_dir ("one");
  for (guint i = 0; i < G_N_ELEMENTS (labels); i++)
    results[i] = test_sample_result ("x.gmt", labels[i]);
  differ (results, G_N_ELEMENTS (labels));
  write_plots (many, results, 7, "");
  g_assert_false (exists (many, "reserved-x.gp"));
  write_plots (one, results, 1, "");
  g_assert_false (exists (one, "reserved-x.gp"));
  results[1]->peak_live--;
  write_plots (dir, results, 6, "");
  g_assert_false (exists (dir, "reserved-x.dat"));
  g_autofree char *script = read_file (dir, "reserved-x.gp");
  test_assert_contains (script, "set label t(\"x.gmt: reserved over time\") at screen 0.5,");
  test_assert_contains (script, "set label t(\"live with it\\047s\") at screen");
  test_assert_contains (script, "data = 'timeline-x.dat'\n");
  test_assert_contains (script, "data index 1 using (x($1)):($3/unit) with fillsteps");
  test_assert_contains (script, "data index 0 using (x($1)):($5/unit) with steps lw 5 ");
  test_assert_contains (script, "data index 5 using (x($1)):($5/unit) with steps lw 2 dt 4 ");
  test_assert_contains (script, "set ylabel 'reserved (GiB)'\n");
  g_assert_null (strstr (script, "calls"));
  results[1]->peak_live++;
  write_plots (dir, results, 2, "");
  g_autofree char *same = read_file (dir, "reserved-x.gp");
  test_assert_contains (same, "set label t(\"live\") at screen");
  g_array_set_size (results[1]->timeline, 0);
  write_plots (one, results, 2, "");
  g_assert_false (exists (one, "reserved-x.gp"));
  test_free_results (results, G_N_ELEMENTS (labels));
}

/* Without times the axis counts events; a capacity within reach is drawn; without a timeline no
 * files of it are written. */
static void
test_script_variants (void)
{
  GememResult *results[] = { test_sample_result ("x.gmt", "direct"),
                             test_sample_result ("y.gmt", "direct") };
  g_autofree char *dir = new_dir ("variants");
  results[0]->capacity = 5 * GEMEM_GIB;
  results[0]->ooms = 0;
  g_array_set_size (results[0]->oom, 0);
  for (guint i = 0; i < results[0]->timeline->len; i++)
    g_array_index (results[0]->timeline, GememTimelinePoint, i).time = 0;
  g_array_set_size (results[1]->timeline, 0);
  write_plots (dir, results, 2, "");
  g_autofree char *timeline = read_file (dir, "timeline-x.gp");
  test_assert_contains (timeline, "set xrange [x(0):x(9)]\n");
  test_assert_contains (timeline, "\nset xlabel 'event' offset 0,0.4\n");
  test_assert_contains (timeline, "using (x($1)):($5/unit)");
  test_assert_contains (
      timeline, "  5368709120/unit with lines dt 4 lw 1.5 lc rgb '#d55e00' title 'capacity'\n");
  test_assert_contains (timeline, "set label t(\"capacity\") at screen");
  g_assert_null (strstr (timeline, "failure"));
  g_assert_true (exists (dir, "comparison-y.gp"));
  g_assert_false (exists (dir, "timeline-y.gp"));
  g_assert_false (exists (dir, "fragmentation-y.dat"));
  test_free_results (results, 2);
}

/* Calls are grouped into classes; a bar far above the others is cut off; calls never made are not
 * in the legend. */
static void
test_calls (void)
{
  GememResult *results[] = { test_served_result ("x.gmt", "direct"),
                             test_served_result ("x.gmt", "b"), test_sample_result ("x.gmt", "c") };
  g_autofree char *dir = new_dir ("calls");
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    {
      results[1]->calls[call] = call != GEMEM_CALL_CREATE ? 1u << call : 0;
      results[1]->call_ns[call] = results[1]->calls[call] * 1000;
    }
  write_plots (dir, results, 3, "");
  g_autofree char *data = read_file (dir, "calls-x.dat"), *script = read_file (dir, "calls-x.gp");
  g_assert_cmpstr (
      data, ==,
      "# x.gmt\n"
      "# modelled time of device calls by kind, ns; then their numbers\n"
      "# row malloc_ns free_ns reserve_release_ns create_ns destroy_ns map_ns "
      "unmap_ns syncs_events_ns memset_info_ns malloc_calls "
      "free_calls reserve_release_calls create_calls destroy_calls map_calls "
      "unmap_calls syncs_events_calls memset_info_calls "
      "time calls allocator failed\n"
      "0 400000 100000 0 0 0 0 0 0 0 4 2 0 0 0 0 0 0 0 \"500.0 us\" \"6\" \"direct\" 0\n"
      "1 1000 2000 12000 0 32000 64000 128000 15872000 16640000 1 2 12 0 32 64 128 "
      "15872 16640 \"32.75 ms\" \"32751\" \"b\" 0\n"
      "2 400000 100000 0 0 0 0 0 0 0 4 2 0 0 0 0 0 0 0 \"500.0 us\" \"6\" \"c\" 1\n");
  test_assert_contains (script, "set label t(\"x.gmt: device calls by kind\") at screen 0.5,");
  test_assert_contains (
      script,
      "\nset xlabel 'modelled time in device calls (us)' offset 0,0.4\nunit = 1e3\nend = 500000\n");
  test_assert_contains (script, "\nset xlabel 'device calls' offset 0,0.4\nunit = 1.0\nend = 6\n");
  test_assert_contains (script, "\nset label t(\"reserve, release\") at screen");
  g_assert_null (strstr (script, "set label t(\"create\""));
  g_assert_null (strstr (script, "guesses"));
  test_free_results (results, 3);
}

static void
test_script_locale (void)
{
  GememResult *result = test_sample_result ("x.gmt", "direct");
  g_autoptr (GPtrArray) groups = gemem_plot_groups (&result, 1);
  g_autoptr (GString) before = g_string_new (NULL), after = g_string_new (NULL);
  GememPlotPage page;
  g_assert_true (gemem_plot_page_init (&page, NULL, 0));
  for (guint kind = 0; kind < GEMEM_PLOT_COUNT; kind++)
    gemem_plot_script (before, (GememPlotKind) kind, groups->pdata[0], &page, "x");
  if (test_use_comma_locale ())
    {
      for (guint kind = 0; kind < GEMEM_PLOT_COUNT; kind++)
        gemem_plot_script (after, (GememPlotKind) kind, groups->pdata[0], &page, "x");
      setlocale (LC_ALL, "C");
      g_assert_cmpstr (after->str, ==, before->str);
    }
  gemem_result_free (result);
}

/* ---- pictures */

static const char *const pictures[] = {
  "comparison-x.svg", "timeline-x.svg", "fragmentation-x.svg", "calls-x.svg", "reserved-x.svg",
  "comparison-x.png", "timeline-x.png", "fragmentation-x.png", "calls-x.png", "reserved-x.png"
};

static void
test_rendered (void)
{
  GememResult *results[] = { test_sample_result ("x.gmt", "direct"),
                             test_sample_result ("x.gmt", ODD) };
  g_autofree char *first = new_dir ("first"), *second = new_dir ("second");
  differ (results, 2);
  if (have_gnuplot ())
    {
      write_plots (first, results, 2, NULL);
      write_plots (second, results, 2, NULL);
      for (gsize i = 0; i < G_N_ELEMENTS (pictures); i++)
        {
          g_autofree char *a = g_build_filename (first, pictures[i], NULL),
                          *b = g_build_filename (second, pictures[i], NULL), *one = NULL,
                          *two = NULL;
          gsize one_length = 0, two_length = 0;
          g_assert_true (g_file_get_contents (a, &one, &one_length, NULL)
                         && g_file_get_contents (b, &two, &two_length, NULL));
          g_assert_cmpmem (one, one_length, two, two_length);
          g_assert_cmpuint (one_length, >, 3000);
          g_assert_true (g_str_has_suffix (pictures[i], ".svg")
                             ? g_str_has_suffix (one, "</svg>\n\n")
                             : memcmp (one, "\211PNG", 4) == 0);
        }
      g_autofree char *comparison = read_file (first, "comparison-x.svg"),
                      *timeline = read_file (first, "timeline-x.svg");
      test_assert_contains (comparison, "p_y^2{@}&amp;\\'\"&lt;%g>");
      test_assert_contains (timeline, "p_y^2{@}&amp;\\'\"&lt;%g>");
      test_assert_contains (timeline, "memory (GiB)");
      test_assert_contains (comparison, "4.000 GiB, 1 failed");
    }
  test_free_results (results, 2);
}

/* Results without data, or with extreme numbers, are drawn too. */
static void
test_rendered_edges (void)
{
  GememResult *results[] = { test_sample_result ("x.gmt", ""), test_sample_result ("x.gmt", "it's"),
                             test_sample_result ("y.gmt", "direct"),
                             test_sample_result ("y.gmt", "b") };
  g_autofree char *dir = new_dir ("edges");
  differ (results, 4);
  const GememTimelinePoint empty = { 0 };
  if (have_gnuplot ())
    {
      for (guint i = 0; i < 2; i++)
        {
          GememResult *none = results[i], *much = results[2 + i];
          none->peak_reserved = none->peak_live = none->peak_allocated = none->lower_bound =
              none->allocated_at_live_peak = none->reserved_at_live_peak = 0;
          gemem_histogram_init (&none->alloc_ns);
          g_array_set_size (none->timeline, 0);
          g_array_append_val (none->timeline, empty);
          much->peak_reserved = much->lower_bound = much->capacity = G_MAXUINT64;
          g_array_index (much->timeline, GememTimelinePoint, 2).time = G_MAXUINT64;
        }
      write_plots (dir, results, 4, NULL);
      for (gsize i = 0; i < G_N_ELEMENTS (pictures); i++)
        g_assert_true (exists (dir, pictures[i]));
      g_assert_true (exists (dir, "reserved-y.png"));
      g_autofree char *comparison = read_file (dir, "comparison-x.svg");
      test_assert_contains (comparison, "give the device a profile");
    }
  test_free_results (results, 4);
}

/* Run by hand in its folder, the script makes the same pictures. */
static void
test_by_hand (void)
{
  GememResult *result = test_sample_result ("x.gmt", "direct");
  g_autofree char *dir = new_dir ("hand");
  if (have_gnuplot ())
    {
      write_plots (dir, &result, 1, NULL);
      g_autofree char *before = read_file (dir, "timeline-x.svg"),
                      *path = g_build_filename (dir, "timeline-x.svg", NULL);
      const char *argv[] = { "gnuplot", "timeline-x.gp", NULL };
      int status;
      g_assert_cmpint (g_unlink (path), ==, 0);
      g_assert_true (g_spawn_sync (dir, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
                                   NULL, &status, NULL));
      g_assert_cmpint (status, ==, 0);
      g_autofree char *after = read_file (dir, "timeline-x.svg");
      g_assert_cmpstr (after, ==, before);
    }
  gemem_result_free (result);
}

static char *
drawn (GememResult *const *results, guint n, const char *name, guint columns, gboolean unicode)
{
  const GememTextLook look = { .unicode = unicode };
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  GememTextPlot plot;

  g_assert_true (gemem_plot_text_parse (name, &plot, &error));
  g_assert_no_error (error);
  gemem_plot_text (out, results, n, plot, columns, 28, &look);
  for (const char *line = out->str; line != NULL;
       line = strchr (line, '\n') != NULL ? strchr (line, '\n') + 1 : NULL)
    {
      g_autofree char *one = g_strndup (line, strcspn (line, "\n"));
      g_assert_cmpint (g_utf8_strlen (one, -1), <=, columns);
      g_assert_false (g_str_has_suffix (one, " "));
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

/* @n points of @width events, whose live bytes are those of @live, half a GiB below what is reserved. */
static void
set_timeline (GememResult *result, const guint64 *live, guint n, guint64 width)
{
  g_array_set_size (result->timeline, 0);
  for (guint i = 0; i < n; i++)
    {
      GememTimelinePoint point = { .seq = (i + 1) * width - 1,
                                   .live_max = live[i],
                                   .live = live[i] };
      point.reserved_max = point.reserved = live[i] + GEMEM_GIB / 2;
      point.allocated_max = point.allocated = live[i];
      g_array_append_val (result->timeline, point);
    }
}

static void
test_text (void)
{
  GememResult *results[] = { test_served_result ("x.gmt", "direct"),
                             test_served_result ("x.gmt", "other"),
                             test_sample_result ("x.gmt", "refuses") };
  const guint64 live[] = { GEMEM_GIB / 2, GEMEM_GIB * 3 / 2, 0, GEMEM_GIB };

  results[0]->peak_live = results[1]->peak_live = GEMEM_GIB;
  results[1]->peak_reserved = 2 * GEMEM_GIB;
  results[2]->peak_reserved = GEMEM_GIB;
  g_autofree char *comparison = drawn (results, 3, "comparison", 60, FALSE);
  test_assert_contains (comparison, "\nother   ########........ 2.000 GiB\n"
                                    "direct  ########........................ 4.000 GiB\n"
                                    "refuses //////// 1.000 GiB, 1 failed\n");
  test_assert_contains (comparison, "# live at most  . reserved beside it  / failed requests\n");

  set_timeline (results[1], live, 4, 12);
  g_autofree char *timeline = drawn (&results[1], 1, "Timeline", 60, FALSE);
  test_assert_contains (timeline, "other: at most 2.000 GiB reserved, 1.000 GiB live\n");
  test_assert_contains (timeline, " 2.000 GiB |            ............\n"
                                  "           |            ............\n"
                                  "           |            ............\n"
                                  "           |            ############            ............\n");
  test_assert_contains (timeline, "         0 |########################............############\n"
                                  "            ------------------------------------------------\n"
                                  "            event 0                                       47\n");
  g_autofree char *blocks = drawn (&results[1], 1, "timeline", 60, TRUE);
  test_assert_contains (blocks, "\u2502\u2591");
  set_timeline (results[1], live, 4, 2); /* fewer events than columns: each is as wide */
  g_autofree char *wide = drawn (&results[1], 1, "timeline", 60, FALSE);
  test_assert_contains (wide, " 2.000 GiB |            ............\n");
  test_assert_contains (wide, "         0 |########################............############\n");
  g_autofree char *fragmentation = drawn (&results[1], 1, "fragmentation", 60, FALSE);
  test_assert_contains (fragmentation, "     100 % |                        ############\n");

  g_array_set_size (results[1]->timeline, 0);
  g_autofree char *nothing = drawn (&results[1], 1, "timeline", 60, FALSE);
  test_assert_contains (nothing, "\nno run has a timeline: no events, or --timeline-points=0\n");
  test_free_results (results, 3);
}

static void
test_errors (void)
{
  GememResult *result = test_sample_result ("x.gmt", "direct");
  g_autoptr (GError) error = NULL;
  g_autofree char *file = g_build_filename (test_tmpdir (), "file", NULL),
                  *inside = g_build_filename (file, "plots", NULL), *dir = new_dir ("errors");
  g_assert_false (gemem_plot_text_parse ("pie", NULL, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_cmpstr (
      error->message, ==,
      "--plot-terminal=pie: unknown plot; choose comparison, timeline or fragmentation");
  g_clear_error (&error);
  g_assert_true (g_file_set_contents (file, "", 0, NULL));
  g_assert_false (gemem_plot_write (inside, NULL, &result, 1, "", NULL, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
  test_assert_contains (error->message, inside);
  g_clear_error (&error);
  /* a gnuplot that always fails */
  g_assert_false (gemem_plot_write (dir, NULL, &result, 1, "false", NULL, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
  test_assert_contains (error->message, "comparison-x.gp: gnuplot failed: without a message");
  g_assert_true (exists (dir, "comparison-x.gp"));
  gemem_result_free (result);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plot/data", test_data);
  g_test_add_func ("/plot/data-merged", test_merged);
  g_test_add_func ("/plot/gaps", test_gaps);
  g_test_add_func ("/plot/no-latencies", test_no_latencies);
  g_test_add_func ("/plot/slugs", test_slugs);
  g_test_add_func ("/plot/quoted", test_quoted);
  g_test_add_func ("/plot/quoted-bytes", test_quoted_bytes);
  g_test_add_func ("/plot/units", test_units);
  g_test_add_func ("/plot/script", test_script);
  g_test_add_func ("/plot/hatched", test_hatched);
  g_test_add_func ("/plot/outlier", test_outlier);
  g_test_add_func ("/plot/calls", test_calls);
  g_test_add_func ("/plot/reserved", test_reserved);
  g_test_add_func ("/plot/script-variants", test_script_variants);
  g_test_add_func ("/plot/script-locale", test_script_locale);
  g_test_add_func ("/plot/rendered", test_rendered);
  g_test_add_func ("/plot/rendered-edges", test_rendered_edges);
  g_test_add_func ("/plot/by-hand", test_by_hand);
  g_test_add_func ("/plot/optimum", test_optimum);
  g_test_add_func ("/plot/text", test_text);
  g_test_add_func ("/plot/errors", test_errors);
  return g_test_run ();
}
