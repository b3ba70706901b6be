/* test-plan-picture.c - pictures of plans: well-formed, complete, inside the canvas,
 * reproducible, and small for any number of items. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "sim/plots/picture.h"
#include "sim/plots/plots-private.h"
#include "sim/plots/plots.h"

typedef struct
{
  GememLifetimes *lifetimes;
  GememPlanInput input;
  GememPlan *plan;
  GememPlanResult result;
} Sample;

/* Adds @n items of @size bytes each, consecutive in time and address. */
static void
sample_init (Sample *sample, guint n, guint64 size)
{
  sample->lifetimes = gemem_lifetimes_new ("sample");
  sample->plan = gemem_plan_new ("stairs:a<b=\"1\"&c", n);
  for (guint i = 0; i < n; i++)
    {
      gemem_lifetimes_add (sample->lifetimes, i, i + 2, size);
      gemem_lifetimes_get (sample->lifetimes, i)->id = i + 10;
      sample->plan->offsets[i] = i * size;
      sample->plan->sizes[i] = size;
    }
  gemem_plan_add_total (sample->plan, 0, n * size);
  sample->plan->alignment = 1;
  sample->plan->lower_bound = gemem_lifetimes_lower_bound (sample->lifetimes, 1);
  sample->input = (GememPlanInput){ NULL, sample->lifetimes, 1 };
  sample->result = (GememPlanResult){ "dir/in<put>.gmt", &sample->input, "stairs", sample->plan };
}

static void
sample_clear (Sample *sample)
{
  gemem_plan_free (sample->plan);
  gemem_lifetimes_free (sample->lifetimes);
}

static char *
svg_of (const GememPlanResult *result)
{
  GString *out = g_string_new (NULL);

  gemem_plan_svg (out, result);
  return g_string_free (out, FALSE);
}

static guint
count (const char *text, const char *part)
{
  guint n = 0;

  for (const char *p = strstr (text, part); p != NULL; p = strstr (p + 1, part))
    n++;
  return n;
}

/* ---- reading the SVG again */

typedef struct
{
  guint rects, titles;
  GString *texts; /* '|' after each */
  gboolean inside;
} Seen;

static double
number (const char **names, const char **values, const char *name)
{
  for (guint i = 0; names[i] != NULL; i++)
    if (strcmp (names[i], name) == 0)
      return g_ascii_strtod (values[i], NULL);
  return 0;
}

static void
start_element (GMarkupParseContext *context, const char *element, const char **names,
               const char **values, gpointer data, GError **error)
{
  Seen *seen = data;
  (void) context;
  (void) error;

  if (strcmp (element, "rect") != 0)
    return;
  seen->rects++;
  seen->inside = seen->inside
                 && number (names, values, "x") + number (names, values, "width") <= 1280
                 && number (names, values, "y") + number (names, values, "height") <= 760;
}

static void
take_text (GMarkupParseContext *context, const char *text, gsize length, gpointer data,
           GError **error)
{
  Seen *seen = data;
  const char *element = g_markup_parse_context_get_element (context);
  (void) error;

  seen->titles += strcmp (element, "title") == 0;
  if (strcmp (element, "text") == 0)
    {
      g_string_append_len (seen->texts, text, (gssize) length);
      g_string_append_c (seen->texts, '|');
    }
}

/* Fails unless @svg is well-formed. */
static Seen
read_svg (const char *svg)
{
  static const GMarkupParser parser = { .start_element = start_element, .text = take_text };
  Seen seen = { .texts = g_string_new (NULL), .inside = TRUE };
  GMarkupParseContext *context = g_markup_parse_context_new (&parser, 0, &seen, NULL);
  g_autoptr (GError) error = NULL;

  g_markup_parse_context_parse (context, svg, (gssize) strlen (svg), &error);
  g_assert_no_error (error);
  g_markup_parse_context_end_parse (context, &error);
  g_assert_no_error (error);
  g_markup_parse_context_free (context);
  return seen;
}

/* ---- tests */

static void
test_few (void)
{
  static const char *const texts[] = {
    "in<put>.gmt: stairs:a<b=\"1\"&c|",
    "10|",
    "12|",
    "arena|",
    "3.000 MiB|",
    "lower bound|",
    "2.000 MiB|",
    "0 B|",
    "time: steps of the input|",
    "address, from the start of the arena|",
    "alive 1/4 of the time or more: 3|",
    "arena 3.000 MiB, lower bound 2.000 MiB (overhead 1.500), 3 rectangles|"
  };
  Sample sample;
  sample_init (&sample, 3, 1 << 20);
  g_autofree char *svg = svg_of (&sample.result), *again = svg_of (&sample.result);
  Seen seen = read_svg (svg);

  g_assert_cmpstr (svg, ==, again);
  g_assert_true (seen.inside);
  g_assert_cmpuint (seen.rects, ==, 3 + 3); /* the canvas, the field, the legend */
  g_assert_cmpuint (seen.titles, ==, 3 + 1);
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    if (strstr (seen.texts->str, texts[i]) == NULL)
      g_error ("'%s' is not among %s", texts[i], seen.texts->str);
  g_assert_nonnull (strstr (svg, "<title>11: 1.000 MiB at 0x100000, steps 1 to 3</title>"));
  g_string_free (seen.texts, TRUE);
  sample_clear (&sample);
}

/* The class is the share of the time that an item is alive, whatever its size. */
static void
test_classes (void)
{
  static const guint64 ends[] = { 1000, 900, 899, 250, 249, 50, 10, 9 };
  Sample sample;
  sample_init (&sample, G_N_ELEMENTS (ends), 1 << 20);
  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    {
      gemem_lifetimes_get (sample.lifetimes, i)->begin = 0;
      gemem_lifetimes_get (sample.lifetimes, i)->end = ends[i];
    }
  g_autofree char *svg = svg_of (&sample.result);
  Seen seen = read_svg (svg);

  g_assert_nonnull (strstr (seen.texts->str,
                            "alive 9/10 of the time or more: 2|1/4 or more: 2|1/20 or more: "
                            "2|1/100 or more: 1|less: 1|"));
  g_string_free (seen.texts, TRUE);
  sample_clear (&sample);
}

/* On a page of a paper: no title, letters of one size, nothing beyond the edges, tics that do not touch. */
static void
test_paper (void)
{
  const GememPlotStyle paper = { .look = GEMEM_PLOT_PAPER };
  GememPlotPage page;
  Sample sample;
  sample_init (&sample, 300, 1 << 20);

  for (guint i = 0; gemem_plot_page_init (&page, &paper, i); i++)
    {
      g_autoptr (GememPicture) picture = gemem_plan_picture (&sample.result, &page);
      g_autoptr (GString) svg = g_string_new (NULL);
      g_autofree char *width = g_strdup_printf (" width=\"%u\" ", page.width);

      gemem_picture_svg (svg, picture);
      g_assert_nonnull (strstr (svg->str, width));
      g_assert_null (strstr (svg->str, "</text>\n<text x=\"110\" y=\"54\""));
      g_assert_null (strstr (svg->str, "overhead"));
      g_assert_cmpuint (count (svg->str, "<text"), ==, count (svg->str, "font-size=\"13\""));
    }
  sample_clear (&sample);
}

/* 5 000 items that do not fit any pixel grid: no outlines, no label that does not fit, a picture
 * of reasonable size. */
static void
test_many (void)
{
  Sample sample;
  GememRng rng;
  sample_init (&sample, 5000, 1000003);
  gemem_rng_init (&rng, 1, "picture");
  for (guint i = 0; i < 5000; i++)
    sample.plan->offsets[i] = gemem_rng_below (&rng, 5000 * G_GUINT64_CONSTANT (1000003) - 1000003);
  g_autofree char *svg = svg_of (&sample.result), *again = svg_of (&sample.result);
  Seen seen = read_svg (svg);

  g_assert_cmpstr (svg, ==, again);
  g_assert_true (seen.inside);
  g_assert_cmpuint (seen.rects, >, 1000);
  g_assert_cmpuint (seen.rects, <, 10000);
  g_assert_cmpuint (strlen (svg), <, 1 << 20);
  g_assert_nonnull (strstr (svg, "<g class=\"outlined\">\n</g>"));
  g_string_free (seen.texts, TRUE);
  sample_clear (&sample);
}

/* Neighbours thinner than a pixel become one rectangle; none disappears, at any position. */
static void
test_thin (void)
{
  Sample sample;
  sample_init (&sample, 100, 1);
  for (guint i = 0; i < 100; i++)
    {
      gemem_lifetimes_get (sample.lifetimes, i)->begin = 0;
      gemem_lifetimes_get (sample.lifetimes, i)->end = 101;
    }
  g_array_index (sample.plan->totals, GememPlanTotal, 0).bytes = sample.plan->arena = 1 << 30;
  g_autofree char *low = svg_of (&sample.result);
  for (guint i = 0; i < 100; i++)
    sample.plan->offsets[i] += (1 << 30) - 100;
  g_autofree char *high = svg_of (&sample.result);
  Seen lows = read_svg (low), highs = read_svg (high);

  g_assert_cmpuint (lows.rects, ==, 1 + 1 + 1 + 1); /* canvas, field, legend, the hundred */
  g_assert_cmpuint (highs.rects, ==, 4);
  g_assert_nonnull (strstr (low, "y=\"685\" width=\"1000\" height=\"1\""));
  g_assert_nonnull (strstr (high, "y=\"100\" width=\"1000\" height=\"1\""));
  g_string_free (lows.texts, TRUE);
  g_string_free (highs.texts, TRUE);
  sample_clear (&sample);
}

static void
test_nothing (void)
{
  Sample sample;
  sample_init (&sample, 0, 1);
  g_autofree char *svg = svg_of (&sample.result);
  g_autoptr (GString) map = g_string_new (NULL);
  Seen seen = read_svg (svg);

  gemem_plan_map (map, &sample.result, 80);
  g_assert_nonnull (strstr (map->str, "arena 0 B, lower bound 0 B, 0 rectangles"));
  g_string_free (seen.texts, TRUE);
  sample_clear (&sample);
}

/* Outputs that share memory by reference are one rectangle; memory types lie one above the
 * other. */
static void
test_graph (void)
{
  g_autoptr (GememGraph) graph = gemem_graph_new ("g");
  g_autoptr (GError) error = NULL;
  gemem_graph_add_node (graph, "conv", "Conv");
  gemem_graph_add_output (graph, 1024);
  gemem_graph_add_workspace (graph, 2048);
  gemem_graph_add_node (graph, "relu", "Relu");
  gemem_graph_add_input (graph, "conv", 0);
  gemem_graph_add_output (graph, 1024);
  gemem_graph_edit_output (graph)->reuse_input = 0;
  gemem_graph_seal (graph, "test", &error);
  g_assert_no_error (error);
  g_autoptr (GememPlan) plan = gemem_plan_new ("p", gemem_graph_n_items (graph));
  const GememPlanInput input = { graph, NULL, 1 };
  const GememPlanResult result = { "g.json", &input, "p", plan };
  const guint64 sizes[] = { 1024, 2048, 1024 },
                spaces[] = { GEMEM_MEMORY_HBM, GEMEM_MEMORY_P2P, GEMEM_MEMORY_HBM };
  plan->spaces = g_new0 (guint64, 4);
  for (guint i = 0; i < 3; i++)
    {
      plan->offsets[i] = 0;
      plan->sizes[i] = sizes[i];
      plan->spaces[i] = spaces[i];
    }
  gemem_plan_add_total (plan, GEMEM_MEMORY_HBM, 1024);
  gemem_plan_add_total (plan, GEMEM_MEMORY_P2P, 2048);
  plan->lower_bound = 3072;
  g_autofree char *svg = svg_of (&result);

  g_assert_cmpuint (count (svg, "</title></rect>"), ==, 2);
  g_assert_nonnull (strstr (svg, "<title>conv: 1.000 KiB at 0x0, steps 0 to 2</title>"));
  g_assert_nonnull (
      strstr (svg, "<title>conv workspace: 2.000 KiB at 0x400, steps 0 to 1</title>"));
  g_assert_nonnull (strstr (svg, ">memory type ends</text>"));
  g_assert_nonnull (strstr (svg, "time: operators in the order of the plan"));
}

static void
test_map (void)
{
  Sample few, many;
  g_autoptr (GString) text = g_string_new (NULL);
  sample_init (&few, 3, 1 << 20);
  sample_init (&many, 27, 1 << 20);

  gemem_plan_map (text, &few.result, 60);
  g_assert_nonnull (strstr (text->str, "       0 B |AAAAAAAAAAAAAAA               |\n"));
  g_assert_nonnull (strstr (text->str, "|               CCCCCCCCCCCCCCC|\n"));
  g_assert_nonnull (strstr (text->str, "  C  12: 1.000 MiB, steps 2 to 4\n"));
  g_assert_cmpuint (count (text->str, "| lower bound\n"), ==, 1);
  g_string_truncate (text, 0);
  gemem_plan_map (text, &many.result, 60);
  g_assert_nonnull (strstr (text->str, "# full, 1-9 tenths full, blank empty"));
  g_assert_null (strstr (text->str, "  A  "));
  for (const char *line = strstr (text->str, "\n\n") + 2; *line != '\0';
       line = strchr (line, '\n') + 1)
    g_assert_cmpuint (strcspn (line, "\n"), <=, 60);
  sample_clear (&few);
  sample_clear (&many);
}

/* The gnuplot twin has every rectangle, and quotes special characters. */
static void
test_gnuplot (void)
{
  g_autoptr (GememPicture) picture = gemem_picture_new (100, 50, "t");
  g_autoptr (GString) script = g_string_new (NULL), data = g_string_new (NULL);

  gemem_picture_rect (picture, 100, 250, 1050, 100, 0x0072b2, TRUE, NULL);
  gemem_picture_line (picture, 0, 0, 10000, 5000, 0xd55e00, TRUE);
  gemem_picture_text (picture, 5000, 2500, GEMEM_ANCHOR_END, 12,
                      GEMEM_TEXT_BOLD | GEMEM_TEXT_UPWARDS, 0x222222, "it's");
  GememPlotPage page;
  g_assert_true (gemem_plot_page_init (&page, NULL, 0));
  gemem_picture_gnuplot (script, data, picture, &page, "b");
  g_assert_nonnull (strstr (data->str, "\n0 0 0 0 0xffffff\n\n\n1.00 11.50 2.50 3.50 0x0072b2\n"));
  g_assert_nonnull (strstr (
      script->str,
      "set arrow from 0.00,0.00 to 100.00,50.00 nohead front lc rgb '#d55e00' lw 1.6 dt (10,6)\n"));
  g_assert_nonnull (strstr (
      script->str, "set label t(\"it\\047s\") at 50.00,25.00 right font f('DejaVu Sans:Bold,9.23') "
                   "textcolor rgb '#222222' rotate by 90 front\n"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan-picture/few", test_few);
  g_test_add_func ("/plan-picture/classes", test_classes);
  g_test_add_func ("/plan-picture/paper", test_paper);
  g_test_add_func ("/plan-picture/many", test_many);
  g_test_add_func ("/plan-picture/thin", test_thin);
  g_test_add_func ("/plan-picture/nothing", test_nothing);
  g_test_add_func ("/plan-picture/graph", test_graph);
  g_test_add_func ("/plan-picture/map", test_map);
  g_test_add_func ("/plan-picture/gnuplot", test_gnuplot);
  return g_test_run ();
}
