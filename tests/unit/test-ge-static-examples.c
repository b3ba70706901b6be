/* test-ge-static-examples.c - the worked examples of ge-static.md 10, by number: totals, offsets,
 * candidates, winners. */
#include "config.h"

#include "tests/util/graph-lines.h"
#include "tests/util/plans.h"

typedef struct
{
  const char *number; /* "10.1", with a word where there are several */
  const char *graph;
  const char *planner; /* "ge-hybrid" if NULL */
  guint64 total;       /* HBM */
  const char *winner;
  const char *offsets;
  guint64 zero_copy;
} Example;

/* 10.4: ids A0 B1 C2 D3 E4. */
static const char sort_test[] = "A out=2048 shapes=512 ws=1024 stream=1\n"
                                "B out=2048 shapes=512 ws=1024 stream=1\n"
                                "C out=2048 shapes=512 ws=1024 stream=1\n"
                                "D in=B.0,A.0,C.0 out=2048 shapes=512 ws=1024 stream=1\n"
                                "E in=D.0 out=2048 shapes=512 ws=1024 stream=1\n";

static const char io_reuse[] = "Data:Data out=1024 shapes=992 index=0\n"
                               "Add1 in=Data.0 out=1024 shapes=992\n"
                               "Add2 in=Add1.0 out=1024 shapes=992\n"
                               "Add3 in=Add2.0 out=1024 shapes=992\n"
                               "NetOutput:NetOutput in=Add3.0\n";

static const char two_streams[] = "S out=512\n"
                                  "A in=S.0 out=4096\n"
                                  "B in=A.0 out=4096\n"
                                  "C in=B.0 out=2048\n"
                                  "X in=C.0 out=4096 stream=1\n"
                                  "Y in=X.0 out=512 stream=1\n";

static const char priority[] = "n0 out=512,8192\n"
                               "n2 in=n0.0,n0.0 out=700\n"
                               "n1 in=n0.0 out=8192\n"
                               "n3 in=n1.0,n2.0 out=8192\n";

static const char three_streams[] =
    "A out=2048 shapes=512 ws=1024 stream=1\n"
    "C in=A.0 out=2048 shapes=512 ws=1024 stream=2\n"
    "B in=A.0 out=4096 shapes=512 ws=1024\n"
    "D in=B.0,C.0 out=2048 shapes=512 ws=1024 stream=1\n"
    "E in=D.0 out=2048,2048,2048,2048 shapes=512,512,512,512 ws=1024 stream=1\n"
    "F in=E.0,E.1,E.2,E.3 out=2048 shapes=512 ws=1024 stream=1\n";

static const Example examples[] = {
  { "10.1",
    "A out=1000\n"
    "B in=A.0 out=2000\n"
    "C in=B.0 out=1500\n"
    "D in=C.0 out=3000\n"
    "Z in=D.0 out=100\n",
    NULL, 4608, "binary-block", "A=2048 B=0 C=3072 D=0 Z=3072", 0 },
  { "10.2",
    "A out=4096\n"
    "C in=A.0 out=2048\n"
    "B in=A.0 out=2048\n"
    "D in=B.0,C.0 out=4096\n"
    "Z in=D.0 out=512\n",
    NULL, 8192, "binary-block", "A=0 D=0 C=4096 B=6144 Z=4096", 0 },
  { "10.3",
    "A out=6656 ws=1024\n"
    "B in=A.0 out=1024 ws=1024\n"
    "C in=B.0 out=6500 reuse=0.0 ws=1024\n"
    "D in=C.0 out=6500 reuse=0.0 ws=1024\n"
    "E in=D.0 out=1024 ws=1024\n"
    "F in=E.0 out=1024 ws=1024\n",
    NULL, 14336, "binary-block",
    "A=0 F.w0=0 E.w0=0 C.w0=0 D.w0=0 F=1024 E=2048 B=6656 C=6656 D=6656 A.w0=6656 B.w0=13312", 0 },
  { "10.4", sort_test, NULL, 9216, "binary-block",
    "A=0 B=2048 C=6144 D=4096 E=0 A.w0=2048 B.w0=4096 C.w0=4096 D.w0=8192 E.w0=2048", 0 },
  { "10.4-no-reuse", sort_test, "ge-hybrid:disable_reuse=yes", 15360, "binary-block", "A=0", 0 },
  { "10.4-max-block", sort_test, "ge-max-block", 10240, "max-block", "A=0", 0 },
  { "10.5", io_reuse, "ge-hybrid:input_reuse=0,output_reuse=0", 2048, "binary-block",
    "Data=1024 Add1=0 Add2=1024 Add3=0", 2048 },
  { "10.5-without", io_reuse, NULL, 4096, "binary-block", "Add1=0 Add2=1024 Add3=2048 Data=3072",
    2048 },
  { "10.6",
    "A out=802848\n"
    "B out=802848\n"
    "n in=A.0,B.0 out=512\n"
    "P in=n.0 out=1605664\n"
    "Z in=P.0 out=100\n",
    NULL, 1607168, "binary-block", "A=0 B=803328 n=1606656 P=0 Z=1606656", 0 },
  { "10.6-max-block",
    "A out=802848\n"
    "B out=802848\n"
    "n in=A.0,B.0 out=512\n"
    "P in=n.0 out=1605664\n"
    "Z in=P.0 out=100\n",
    "ge-max-block", 2409984, "max-block", "A=0", 0 },
  { "10.7",
    "A out=1024\n"
    "x in=A.0 out=512\n"
    "C in=x.0 out=1024\n"
    "P in=C.0 out=4096\n"
    "y in=P.0 out=512\n"
    "F in=y.0 out=1024\n"
    "Z in=F.0 out=512\n",
    NULL, 5120, "binary-block", "A=0 x=1024 C=4096 P=0 y=4096 F=0 Z=1024", 0 },
  { "10.8", two_streams, NULL, 10752, "binary-block", "A=0 X=0 B=4096 S=4096 C=8192 Y=10240", 0 },
  { "10.8-node-0",
    "A out=4096\n"
    "B in=A.0 out=4096\n"
    "C in=B.0 out=2048\n"
    "X in=C.0 out=4096 stream=1\n"
    "Y in=X.0 out=512 stream=1\n",
    NULL, 12800, NULL, "A=0", 0 },
  { "10.8-priority", two_streams, "ge-hybrid:memory_priority=yes", 10240, NULL, "Y=8192", 0 },
  { "10.9",
    "n0 out=4096\n"
    "n2 in=n0.0 out=4096\n"
    "n1 in=n0.0 out=3000\n"
    "n3 in=n1.0 out=4096\n",
    NULL, 8192, "max-block", "n0=0 n2=4096 n1=4096 n3=0", 0 },
  { "10.9-binary-block",
    "n0 out=4096\n"
    "n2 in=n0.0 out=4096\n"
    "n1 in=n0.0 out=3000\n"
    "n3 in=n1.0 out=4096\n",
    "ge-binary-block", 11264, "binary-block", "n0=4096", 0 },
  { "10.10", priority, "ge-hybrid:memory_priority=yes", 17408, "range-binary-block-descending-frfr",
    "n0=8192 n0.1=0 n2=16384 n1=0 n3=8192", 0 },
  { "10.10-default", priority, NULL, 17920, "binary-block", "n0=17408 n0.1=0 n2=16384 n1=8192 n3=0",
    0 },
  { "10.14",
    "S out=1024\n"
    "a1 in=S.0 out=2048 label=Batch_1\n"
    "b1 in=a1.0 out=1024 label=Batch_1\n"
    "c1 in=b1.0 out=2048 label=Batch_1\n"
    "a0 in=S.0 out=4096 label=Batch_0\n"
    "b0 in=a0.0 out=2048 label=Batch_0\n"
    "c0 in=b0.0 out=4096 label=Batch_0\n"
    "Z in=c0.0,c1.0 out=512\n",
    NULL, 7168, "binary-block", "S=0 a1=1024 b1=3072 c1=1024 a0=1024 b0=5120 c0=1024 Z=0", 0 },
  { "10.15",
    "A out=2048 shapes=512 ws=1024 stream=1\n"
    "B:HcomAllGather in=A.0 out=2048 shapes=512 ws=1024 stream=1 engine=ops_kernel_info_hccl\n"
    "C in=B.0 out=2048 shapes=512 reuse=0.0 ws=1024 stream=1\n"
    "D:NetOutput in=C.0 out=2048 shapes=512 ws=1024 stream=1\n",
    NULL, 5120, NULL, "A=0 A.w0=4096 B=2048 B.w0=4096 C=2048 C.w0=0 D=2048 D.w0=0", 0 },
  { "10.16", three_streams, NULL, 19456, NULL,
    "B=0 C=4096 A=6144 D=14336 E=12288 E.1=6144 E.2=8192 E.3=10240 F=14336 A.w0=8192 C.w0=16384 "
    "B.w0=17408 D.w0=8192 E.w0=18432 F.w0=18432",
    0 },
  { "10.16-priority", three_streams, "ge-hybrid:memory_priority=yes", 13312, "binary-block",
    "E.1=0 E.2=2048 E.3=4096 E=6144", 0 },
};

static void
test_example (gconstpointer data)
{
  const Example *example = data;
  g_autoptr (GememGraph) graph = test_graph_from_lines (example->graph);
  g_autoptr (GememPlan)
      plan = test_plan (graph, example->planner != NULL ? example->planner : "ge-hybrid", 1);

  test_plan_offsets (graph, plan, example->offsets);
  g_assert_cmpuint (test_plan_total (plan, GEMEM_MEMORY_HBM), ==, example->total);
  g_assert_cmpuint (plan->zero_copy, ==, example->zero_copy);
  if (example->winner != NULL)
    g_assert_cmpstr (plan->winner, ==, example->winner);
}

/* 10.10 names the score of every candidate. */
static void
test_candidates (void)
{
  static const guint64 scores[] = { 17920, 24576, 17408, 17408, 17408, 17408 };
  g_autoptr (GememGraph) graph = test_graph_from_lines (priority);
  g_autoptr (GememPlan) plan = test_plan (graph, "ge-hybrid:memory_priority=yes", 8);

  g_assert_cmpuint (plan->candidates->len, ==, G_N_ELEMENTS (scores));
  for (guint i = 0; i < plan->candidates->len; i++)
    g_assert_cmpuint (g_array_index (plan->candidates, GememPlanCandidate, i).total, ==, scores[i]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (examples); i++)
    {
      g_autofree char *path = g_strdup_printf ("/ge-static/%s", examples[i].number);
      g_test_add_data_func (path, &examples[i], test_example);
    }
  g_test_add_func ("/ge-static/10.10-candidates", test_candidates);
  return g_test_run ();
}
