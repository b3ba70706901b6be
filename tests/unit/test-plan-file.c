/* test-plan-file.c - plans in files: a written plan loads as the same plan; plans of other
 * programs; every kind of damage is refused with a specific message. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "graphs/graph.h"
#include "planners/plan-file.h"
#include "tests/util/testutil.h"

/* a -> b -> c; b has two outputs and a workspace. */
static GememGraph *
small_graph (void)
{
  GememGraph *graph = gemem_graph_new ("small");
  g_autoptr (GError) error = NULL;

  gemem_graph_add_node (graph, "a", "Data");
  gemem_graph_add_output (graph, 1024);
  gemem_graph_add_node (graph, "b", "Split");
  gemem_graph_add_input (graph, "a", 0);
  gemem_graph_add_output (graph, 512);
  gemem_graph_add_output (graph, 2048);
  gemem_graph_add_workspace (graph, 512);
  gemem_graph_add_node (graph, "c \"q\"", "Add");
  gemem_graph_add_input (graph, "b", 0);
  gemem_graph_add_input (graph, "b", 1);
  gemem_graph_seal (graph, "test", &error);
  g_assert_no_error (error);
  return graph;
}

/* Four lifetimes, the first and last of one id. */
static GememLifetimes *
small_lifetimes (void)
{
  static const guint64 ids[] = { 7, 8, 9, 7 };
  GememLifetimes *lifetimes = gemem_lifetimes_new ("small.gmt");

  gemem_lifetimes_add (lifetimes, 0, 4, 100);
  gemem_lifetimes_add (lifetimes, 1, 3, 200);
  gemem_lifetimes_add (lifetimes, 2, 6, 300);
  gemem_lifetimes_add (lifetimes, 5, 7, 400);
  for (guint i = 0; i < G_N_ELEMENTS (ids); i++)
    gemem_lifetimes_get (lifetimes, i)->id = ids[i];
  return lifetimes;
}

static GememPlan *
small_plan (const GememLifetimes *lifetimes)
{
  static const guint64 offsets[] = { 0, 128, 512, GEMEM_NO_OFFSET };
  GememPlan *plan = gemem_plan_new ("by-hand:x=\"1\"", lifetimes->items->len);

  for (guint i = 0; i < plan->n_items; i++)
    {
      plan->offsets[i] = offsets[i];
      plan->sizes[i] = gemem_lifetimes_get (lifetimes, i)->size;
    }
  gemem_plan_add_total (plan, 0, 1024);
  plan->lower_bound = 700;
  plan->alignment = 64;
  return plan;
}

static char *
save (const char *name, const char *text)
{
  char *path = g_build_filename (test_tmpdir (), name, NULL);
  g_autoptr (GError) error = NULL;

  g_file_set_contents (path, text, -1, &error);
  g_assert_no_error (error);
  return path;
}

static void
assert_same (const GememPlan *a, const GememPlan *b)
{
  g_assert_cmpuint (a->n_items, ==, b->n_items);
  g_assert_cmpmem (a->offsets, a->n_items * sizeof (guint64), b->offsets,
                   b->n_items * sizeof (guint64));
  g_assert_cmpuint (a->arena, ==, b->arena);
  g_assert_cmpuint (a->totals->len, ==, b->totals->len);
  for (guint i = 0; i < a->totals->len; i++)
    g_assert_cmphex (g_array_index (a->totals, GememPlanTotal, i).space, ==,
                     g_array_index (b->totals, GememPlanTotal, i).space);
}

static void
test_json_items (void)
{
  g_autoptr (GememLifetimes) lifetimes = small_lifetimes (), own = NULL;
  const GememPlanInput input = { NULL, lifetimes, 1 };
  g_autoptr (GememPlan) plan = small_plan (lifetimes), read = NULL, alone = NULL;
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *path = NULL;
  g_autoptr (GError) error = NULL;

  gemem_plan_write_json (text, plan, &input);
  path = save ("items.json", text->str);
  read = gemem_plan_load (path, &input, &error);
  g_assert_no_error (error);
  assert_same (plan, read);
  g_assert_cmpstr (read->planner, ==, plan->planner);
  g_assert_cmpuint (read->lower_bound, ==, 700);
  g_assert_cmpuint (read->alignment, ==, 64);
  alone = gemem_plan_load_items (path, &own, &error);
  g_assert_no_error (error);
  assert_same (plan, alone);
  for (guint i = 0; i < 4; i++)
    {
      const GememLifetime *a = gemem_lifetimes_get (lifetimes, i),
                          *b = gemem_lifetimes_get (own, i);

      g_assert_true (a->id == b->id && a->begin == b->begin && a->end == b->end
                     && a->size == b->size);
    }
}

static void
test_csv (void)
{
  g_autoptr (GememLifetimes) lifetimes = small_lifetimes ();
  const GememPlanInput input = { NULL, lifetimes, 1 };
  g_autoptr (GememPlan) plan = small_plan (lifetimes), read = NULL;
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *path = NULL;
  g_autoptr (GError) error = NULL;

  gemem_plan_write_csv (text, plan, &input);
  g_assert_cmpstr (
      text->str, ==,
      "id,lower,upper,size,offset\n7,0,4,100,0\n8,1,3,200,128\n9,2,6,300,512\n7@5,5,7,400,\n");
  path = save ("plan.csv", text->str);
  read = gemem_plan_load (path, &input, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (plan->offsets, 4 * sizeof (guint64), read->offsets, 4 * sizeof (guint64));
  g_assert_cmpuint (read->arena, ==, 812); /* a table has no totals: the used bytes count */
}

/* As other programs write tables: other column order, names, negative times, rows of zero bytes. */
static void
test_csv_of_others (void)
{
  g_autofree char *path = save (
      "other.csv",
      "offset,size,buffer,end,start\n16,8,weights,-1,-3\n,0,nothing,9,0\n0,16,acts,2,-1\n");
  g_autoptr (GememLifetimes) lifetimes = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GememPlan) plan = gemem_plan_load_items (path, &lifetimes, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (plan->n_items, ==, 2);
  g_assert_cmpuint (gemem_lifetimes_get (lifetimes, 0)->begin, ==, 0);
  g_assert_cmpuint (gemem_lifetimes_get (lifetimes, 0)->end, ==, 3);
  g_assert_cmpuint (gemem_lifetimes_get (lifetimes, 1)->id, ==, 3);
  g_assert_cmpuint (plan->offsets[0], ==, 16);
  g_assert_cmpuint (plan->arena, ==, 24);
}

static void
test_graph (void)
{
  g_autoptr (GememGraph) graph = small_graph ();
  const GememPlanInput input = { graph, NULL, 1 };
  g_autoptr (GememPlan) plan = gemem_plan_new ("ge-hybrid", gemem_graph_n_items (graph)),
                        read = NULL;
  const GememPlanSegment segment = { 2, 0, 4096, TRUE, FALSE };
  const GememPlanPart part = { 2, 1024, 2048 };
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *path = NULL;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < plan->n_items; i++)
    plan->offsets[i] = i == 1 ? GEMEM_NO_OFFSET : i * 512;
  gemem_plan_add_total (plan, GEMEM_MEMORY_HBM, 4096);
  gemem_plan_add_total (plan, GEMEM_MEMORY_P2P, 0);
  gemem_plan_add_candidate (plan, "max-block", 4096);
  g_array_append_val (plan->segments, segment);
  plan->clears_apart = TRUE;
  g_array_append_val (plan->batch_parts, part);
  gemem_plan_add_memset (plan, "a", GEMEM_MEMORY_P2P, 512, 1024);
  plan->winner = g_strdup ("max-block");
  plan->zero_copy = 512;
  gemem_plan_write_json (text, plan, &input);
  g_assert_nonnull (strstr (text->str, "  \"candidates\": [[\"max-block\", 4096]],\n  "
                                       "\"feature_map_plus_tail\": 4096,\n  \"zero_copy\": 512,\n"
                                       "  \"totals\": {\"0x2\": 4096, \"0x11\": 0},\n"));
  g_assert_nonnull (strstr (text->str,
                            "  \"outputs\": {\n    \"a\": [0],\n    \"b\": [null, 1024]\n  },\n  "
                            "\"workspaces\": {\n    \"b\": [1536]\n  }\n}\n"));
  path = save ("graph.json", text->str);
  read = gemem_plan_load (path, &input, &error);
  g_assert_no_error (error);
  assert_same (plan, read);
  g_assert_cmpstr (read->winner, ==, "max-block");
  g_assert_cmpuint (read->zero_copy, ==, 512);
  g_assert_cmpuint (read->segments->len, ==, 1);
  g_assert_true (g_array_index (read->segments, GememPlanSegment, 0).fixed);
  g_assert_true (read->clears_apart);
  g_assert_cmpuint (read->batch_parts->len, ==, 1);
  g_assert_cmpuint (g_array_index (read->batch_parts, GememPlanPart, 0).base, ==, 1024);
  g_assert_cmpuint (g_array_index (read->batch_parts, GememPlanPart, 0).size, ==, 2048);
  g_assert_cmpuint (read->memsets->len, ==, 1);
  g_assert_cmpstr (g_array_index (read->memsets, GememPlanMemset, 0).node, ==, "a");
  g_assert_cmpuint (g_array_index (read->memsets, GememPlanMemset, 0).space, ==, GEMEM_MEMORY_P2P);
  g_assert_cmpuint (g_array_index (read->memsets, GememPlanMemset, 0).base, ==, 512);
  g_assert_cmpuint (g_array_index (read->memsets, GememPlanMemset, 0).size, ==, 1024);
  g_assert_cmpuint (g_array_index (read->candidates, GememPlanCandidate, 0).total, ==, 4096);
}

/* ---- refused */

static void
assert_refused (const char *name, const char *text, const GememPlanInput *input, const char *part)
{
  g_autofree char *path = save (name, text);
  g_autoptr (GememLifetimes) lifetimes = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GememPlan) plan = input != NULL ? gemem_plan_load (path, input, &error)
                                             : gemem_plan_load_items (path, &lifetimes, &error);

  g_assert_null (plan);
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_null (lifetimes);
  if (strstr (error->message, part) == NULL || !g_str_has_prefix (error->message, path))
    g_error ("'%s' gives '%s', without '%s'", text, error->message, part);
}

static void
test_refused (void)
{
  g_autoptr (GememLifetimes) lifetimes = small_lifetimes ();
  g_autoptr (GememGraph) graph = small_graph ();
  const GememPlanInput of_trace = { NULL, lifetimes, 1 }, of_graph = { graph, NULL, 1 };

  assert_refused ("r.json", "{\"schema\": \"gemem-results\", \"items\": []}", NULL,
                  "schema: 'gemem-results' is not \"gemem-plan\"");
  assert_refused ("r.json", "{\"version\": 2, \"items\": []}", NULL,
                  "version: this gemem knows version 1");
  assert_refused ("r.json", "{\"item\": []}", NULL, "did you mean 'items'?");
  assert_refused ("r.json", "{}", NULL, "outputs (of a graph) or items");
  assert_refused ("r.json", "{\"items\": [[1, 0, 2, 8, 0]", NULL, "");
  assert_refused ("r.json", "{\"items\": []} {}", NULL, "");
  assert_refused ("r.json", "{\"items\": [[1, 0, 2, 8]]}", NULL,
                  "items[0]: an item is [id, begin, end, size, offset], then its alignment and");
  assert_refused ("r.json", "{\"items\": [[1, 2, 2, 8, 0]]}", NULL, "items[0]: ends at 2");
  assert_refused ("r.json", "{\"items\": [[1, 0, 2, 8, 4611686018427387904]]}", NULL,
                  "items[0][4]: is too large");
  assert_refused ("r.json", "{\"items\": [[1, 0, 2, -8, 0]]}", NULL, "items[0][3]");
  assert_refused ("r.json", "{\"arena\": 5, \"totals\": {\"0x2\": 6}, \"items\": []}", NULL,
                  "arena: 5, but the totals add up to 6");
  assert_refused ("r.json", "{\"totals\": {\"hbm\": 6}, \"items\": []}", NULL,
                  "totals.hbm: 'hbm' is no memory type");
  assert_refused ("r.json", "{\"candidates\": [[\"a\"]], \"items\": []}", NULL,
                  "candidates[0]: a candidate is [name, total]");
  assert_refused ("r.json", "{\"segments\": [{\"space\": \"0x2\"}], \"items\": []}", NULL,
                  "segments[0]: base is missing");
  assert_refused ("t.json", "{\"memsets\": [{\"node\": \"a\"}], \"items\": []}", NULL,
                  "memsets[0]: space is missing");
  assert_refused ("r.json", "{\"outputs\": {}}", NULL, "outputs: the plan of a graph");
  assert_refused ("r.json", "{\"outputs\": {\"z\": [1]}}", &of_graph,
                  "outputs.z: graph 'small' has no such node");
  assert_refused ("r.json", "{\"outputs\": {\"b\": [1]}}", &of_graph,
                  "outputs.b: 1 offsets, but the graph has 2");
  assert_refused ("r.json", "{\"outputs\": {\"a\": [1], \"a\": [1]}}", &of_graph,
                  "outputs.a: given twice");
  assert_refused ("r.json", "{\"items\": [[7, 0, 4, 100, 0]]}", &of_trace,
                  "nothing for allocation 7 of steps 5 to 7");
  assert_refused ("r.json", "{\"items\": [[7, 0, 4, 101, 0]]}", &of_trace,
                  "allocation 7 has 101 bytes, but 100 in the input");
  assert_refused ("r.csv", "id,lower,upper,size\n1,0,2,8\n", NULL, "no buffer has an offset");
  assert_refused ("r.csv", "id,lower,upper,size,offset\nb,0,2,8,-1\n", NULL,
                  "an offset of -1; it must be from 0 to 2^62");
  assert_refused ("r.json", "{\"items\": [[1, 0, 9, 8, 0, [[2, 5, 0, 9]]]]}", NULL,
                  "items[0][5][0]: a gap is [begin, end, low, high], after the one before");
  assert_refused ("r.json", "{\"items\": [[1, 0, 9, 8, 0, [[2, 5, 0, 0], [4, 6, 0, 0]]]]}", NULL,
                  "items[0][5][1]: a gap is [begin, end, low, high], after the one before");
  assert_refused ("r.json", "{\"items\": [[1, 0, 9, 8, 0, [[2, 5, 0]]]]}", NULL,
                  "items[0][5][0]: a gap is [begin, end, low, high]");
  assert_refused ("r.json", "{\"items\": [[1, 0, 9, 8, 0, [], 1]]}", NULL,
                  "items[0]: an item is [id, begin, end, size, offset], then its alignment");
  assert_refused ("r.csv", "id,lower,upper,size,offset\nb,3,2,8,1\n", NULL,
                  ":2: the buffer ends at 2");
  assert_refused ("r.csv", "", NULL, "the file is empty");
}

static void
test_missing (void)
{
  g_autoptr (GememLifetimes) lifetimes = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_null (gemem_plan_load_items ("/nowhere/plan.json", &lifetimes, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
}

/* Random damage results in a plan or an error, nothing else; accepted offsets are below 2^62, or
 * none. */
static void
test_mutations (void)
{
  g_autoptr (GememGraph) graph = small_graph ();
  g_autoptr (GememLifetimes) lifetimes = small_lifetimes ();
  const GememPlanInput inputs[] = { { NULL, lifetimes, 1 }, { graph, NULL, 1 } };
  static const char interesting[] = "{}[],:\"0123456789.-xe \nn";
  const guint rounds = g_getenv ("GEMEM_QUICK") != NULL ? 500 : 5000;
  g_autoptr (GememPlan) plan = small_plan (lifetimes);
  g_autoptr (GString) json = g_string_new (NULL);
  g_autoptr (GString) csv = g_string_new (NULL);
  guint accepted = 0, refused = 0;
  GememRng rng;

  gemem_plan_write_json (json, plan, &inputs[0]);
  gemem_plan_write_csv (csv, plan, &inputs[0]);
  const char *const texts[] = {
    json->str, "{\"outputs\": {\"a\": [0], \"b\": [null, 1024]}, \"workspaces\": {\"b\": [5]}}",
    csv->str
  };
  gemem_rng_init (&rng, 4, "plan-file");
  for (guint round = 0; round < rounds; round++)
    {
      const guint kind = round % 3;
      g_autofree char *text = g_strdup (texts[kind]), *path = NULL;
      g_autoptr (GememPlan) read = NULL;
      g_autoptr (GError) error = NULL;

      for (guint64 n = gemem_rng_range (&rng, 1, 3); n > 0; n--)
        {
          const guint64 at = gemem_rng_below (&rng, strlen (texts[kind]));
          text[at] = interesting[gemem_rng_below (&rng, sizeof interesting - 1)];
        }
      path = save ("mutated", text);
      read = gemem_plan_load (path, &inputs[kind == 1], &error);
      g_assert_true ((read != NULL) != (error != NULL));
      for (guint i = 0; read != NULL && i < read->n_items; i++)
        g_assert_true (read->offsets[i] == GEMEM_NO_OFFSET
                       || read->offsets[i] < G_GUINT64_CONSTANT (1) << 62);
      accepted += read != NULL;
      refused += read == NULL;
    }
  g_assert_cmpuint (accepted, >, 0);
  g_assert_cmpuint (refused, >, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan-file/json-items", test_json_items);
  g_test_add_func ("/plan-file/csv", test_csv);
  g_test_add_func ("/plan-file/csv-of-others", test_csv_of_others);
  g_test_add_func ("/plan-file/graph", test_graph);
  g_test_add_func ("/plan-file/refused", test_refused);
  g_test_add_func ("/plan-file/missing", test_missing);
  g_test_add_func ("/plan-file/mutations", test_mutations);
  return g_test_run ();
}
