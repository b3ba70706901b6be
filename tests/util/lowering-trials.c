/* lowering-trials.c - see lowering-trials.h. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "tests/util/lowering-check.h"
#include "tests/util/lowering-trials.h"
#include "tests/util/random-graph.h"
#include "tests/util/random-program.h"
#include "workloads/lower-paddle.h"

#define SETTINGS_A_GRAPH 4

static guint
below (GememRng *rng, guint bound)
{
  return (guint) gemem_rng_below (rng, bound);
}

/* One word of "a|b|c=b", drawn at random. */
static char *
random_choice (GememRng *rng, const char *choices)
{
  g_auto (GStrv) words = g_strsplit (choices, "|", -1);
  char *word = g_strdup (words[below (rng, g_strv_length (words))]);

  *strchrnul (word, '=') = '\0';
  return word;
}

/* A random value; the real numbers include the sizes of a few tensors, in GiB. */
static char *
random_value (GememRng *rng, const GememParam *param)
{
  static const char *const reals[] = { "0",   "1e-6", "3e-6", "1e-5", "5e-5", "0.2", "0.5",
                                       "0.9", "1",    "1.5",  "2",    "3.7",  "-1" };
  static const char *const integers[] = { "0", "1", "2", "3", "4", "700", "5000", "100000", "-1" };

  switch (param->type)
    {
    case GEMEM_PARAM_BOOL:
      return g_strdup (below (rng, 2) ? "yes" : "no");
    case GEMEM_PARAM_CHOICE:
      return random_choice (rng, param->choices);
    case GEMEM_PARAM_DOUBLE:
      return g_strdup (reals[below (rng, G_N_ELEMENTS (reals))]);
    case GEMEM_PARAM_STRING:
      return g_strdup ("Batch_1");
    default:
      return g_strdup (integers[below (rng, G_N_ELEMENTS (integers))]);
    }
}

static gboolean
is_drawn (const char *name)
{
  return strcmp (name, "time_per_node") != 0 && strcmp (name, "steps") != 0
         && strcmp (name, "preset") != 0 && strcmp (name, "executor") != 0;
}

/* Adds settings one by one, and keeps those that are accepted together. */
static void
try_settings (GememRng *rng, GememGraph *graph)
{
  GString *settings = g_string_new (NULL);
  g_autofree char *preset = random_choice (
      rng, gemem_params_find (gemem_lower_paddle_params, "preset")->choices);

  *strchrnul (preset, '/') = '\0';
  g_string_printf (settings, "steps=%u,preset=%s", 1 + below (rng, 3), preset);
  g_string_append_printf (settings, ",executor=%s", below (rng, 2) ? "plain" : "parallel");
  if (below (rng, 2))
    g_string_append (settings, ",eager_delete_tensor_gb=1e-5");
  g_assert_true (test_lowering_check (graph, settings->str));
  for (guint tries = 0; tries < 3; tries++)
    for (const GememParam *param = gemem_lower_paddle_params; param->name != NULL; param++)
      {
        g_autofree char *key = g_strdup_printf (",%s=", param->name),
                        *value = random_value (rng, param);
        const gsize before = settings->len;

        if (!is_drawn (param->name) || below (rng, 3) > 0 || strstr (settings->str, key) != NULL)
          continue;
        g_string_append_printf (settings, "%s%s", key, value);
        if (!test_lowering_check (graph, settings->str))
          g_string_truncate (settings, before);
      }
  g_string_free (settings, TRUE);
}

void
test_lowering_trial (guint64 seed)
{
  static const guint nodes[] = { 2, 5, 12, 30, 60 };
  const guint all = TEST_GRAPH_ALL | TEST_GRAPH_NO_STREAM | TEST_GRAPH_BLOCKS;
  const guint n = nodes[seed % G_N_ELEMENTS (nodes)];
  GememRng rng;

  gemem_rng_init (&rng, seed, "lowering-trials");
  const guint features = seed % 3 == 0 ? all & (guint) gemem_rng_next (&rng)
                                       : all & ~TEST_GRAPH_STREAMS & (guint) gemem_rng_next (&rng);
  g_autoptr (GememGraph) graph = seed % 2 == 0
                                     ? test_random_program (seed, n, seed % 8 == 0 ? 3 : 1)
                                     : test_random_graph (seed, features, n);

  for (guint i = 0; i < SETTINGS_A_GRAPH; i++)
    try_settings (&rng, graph);
}
