/* test-ge-special-examples.c - continuous, cleared, pooled and nested memory: the worked
 * examples 10.11 to 10.13 of ge-static.md by number, and small graphs of our own, by name, for
 * each storage model whose offsets follow from the rules; every plan is also checked (check.h). */
#include "config.h"

#include <string.h>

#include "planners/check.h"
#include "tests/util/graph-lines.h"
#include "tests/util/plans.h"

#define CONCAT "_no_padding_continuous_input=1 _output_reuse_input=1 _reuse_input_on_dim_index=0"
#define SPLIT "_no_padding_continuous_output=1 _output_reuse_input=1 _reuse_input_on_dim_index=0"
#define COLLECTIVE "engine=ops_kernel_info_hccl continuous_input=1"

/* One memset at the head clears outputs, a workspace, and outputs of two batch labels. */
#define CLEARED \
  "M:MemSet\nA out=1000 after=M is_atomic_node=1 atomic_output_index=0 ws=700,900 " \
  "sub_node_workspace_info=1,900\n" \
  "B label=L1 in=A out=2000 after=M is_atomic_node=1 atomic_output_index=0\n" \
  "C label=L2 in=A out=3000 after=M is_atomic_node=1 atomic_output_index=0\nZ in=B,C " \
  "out=100\nO:NetOutput in=Z\n"
#define MEMSET_LOG \
  "[AtomicClean][IMAS]AppendAttrsToMemSetOp : Set lines atomic_node name[M] optype[MemSet] " \
  "workspace[0] "

#define CHAIN \
  "S out=512\nX in=S out=700\nP in=S out=1000,2000 continuous_output=1\nH:HcomAllGather " \
  "in=P.0,P.1,X out=512 continuous_input=1\nZ in=H out=512\nY in=Z out=8192\n"
#define INPUTS \
  "A:Data index=0 out=100\nB:Data index=1 out=40\nC:Data index=2 out=70\nO:NetOutput in=A,B,C\n"
#define SHAPES "A:Data index=0 out=1000 _is_multi_batch_shape_data=1\nO:NetOutput in=A\n"
#define BATCHES \
  "S out=512\nA label=L0 in=S out=4096\nB label=L0 in=S out=4096\nH:HcomAllReduce label=L0 " \
  "in=A,B " \
  "out=512 continuous_input=1 engine=ops_kernel_info_hccl\nC label=L0 in=H out=512\nD label=L0 " \
  "in=C out=2048\nE label=L0 in=D out=512\nZ in=E out=512\n"
#define ROW \
  "A out=4096\nB in=A out=2048\nC in=A,B out=4096\nD in=B,C out=2048\nE in=C,D " \
  "out=512\nO:NetOutput in=E\n"

typedef struct
{
  const char *name; /* "10.11": number of a worked example */
  const char *graph;
  const char *planner; /* "ge-hybrid" if NULL */
  guint64 total;       /* HBM */
  const char *offsets;
  const char *segments; /* "0+1024 1024+512z": base, size, z: zero-copy; NULL: not compared */
  const char *log;      /* lines, each ended; NULL: not compared */
} Example;

static const Example examples[] = {
  { .name = "10.11",
    .graph = "S out=4096,512\nB in=S.1 out=2048\nA in=S.0 out=1024\nP:PhonyConcat in=A,B "
             "out=3072 " CONCAT "\nM in=P out=4096\nZ in=M out=512\n",
    .total = 7680,
    .offsets = "S.0=0 S.1=7168 A=4096 B=5120 P=4096 M=0 Z=4096" },
  { .name = "10.12",
    .graph = "S out=4096,512\nB in=S.1 out=2000\nA in=S.0 out=1000\nH:HcomAllReduce in=A,B "
             "out=1000,2000 continuous_output=1 " COLLECTIVE
             "\nM in=H.0,H.1 out=4096\nZ in=M out=512\n",
    .total = 10240,
    .offsets = "S.0=0 S.1=4096 A=7168 B=8192 H.0=4096 H.1=5120 M=0 Z=4096",
    .segments = "0+4096 4096+3072 7168+3072 10240+0z" /* the group stays together */ },
  { .name = "10.13",
    .graph = "X:MemSet\nA out=2000\nB in=A out=3000 after=X is_atomic_node=1 "
             "atomic_output_index=0\nC in=B out=1000\nZ in=C out=512\n",
    .total = 5120,
    .offsets = "A=0 B=2048 C=0 Z=1024",
    .segments = "0+2048 2048+3072 5120+0z" },
  /* A node that clears its inputs itself: the producer of input 0 allocates for all of them. */
  { .name = "separate-clean",
    .graph = "S out=512\nB in=S out=2000\nA in=S out=1000\nC in=S out=3072\nH:HcomAllReduce in=A,B "
             "out=1000,2000 need_gentask_atomic=1 atomic_input_index=0 " COLLECTIVE
             "\nZ in=H.0,H.1,C out=512\n",
    .total = 9216,
    .offsets = "A=0 B=1024 C=3072 H.1=6144 H.0=8192 Z=0" },
  /* Fused producers state the distance to the next one. */
  { .name = "lx",
    .graph = "S out=512\nA in=S out=3000 _output_offset_for_buffer_fusion=600\nB in=S out=700 "
             "_output_offset_for_buffer_fusion=1024\n"
             "C in=S out=800 _output_offset_for_buffer_fusion=1024\nH:HcomAllReduce in=A,B,C "
             "out=512 continuous_input=1\nZ in=H out=512\n",
    .total = 3584,
    .offsets = "A=0 B=600 C=1624 S=3072 H=3072 Z=0" },
  { .name = "cascade",
    .graph =
        "S out=512\nx in=S out=512\ny in=S out=1024\nz in=S out=2048\np in=z,y out=3072 " CONCAT
        "\nq in=x,p out=3584 " CONCAT "\nw in=q out=512\n",
    .total = 4096,
    .offsets = "q=0 x=0 p=512 z=512 y=2560 S=3584 w=3584" },
  { .name = "split",
    .graph = "S out=3072\nq in=S out=1024,2048 " SPLIT "\na in=q.0 out=512\nb in=q.1,a out=512\n",
    .total = 4096,
    .offsets = "S=0 q.0=0 q.1=1024 a=3072 b=3584" },
  { .name = "listed-offsets",
    .graph =
        "S out=512\na in=S out=512 _output_offset_list_for_continuous=1024\nb in=S out=512 "
        "_output_offset_list_for_continuous=0\n"
        "p in=b,a out=2048 _no_padding_continuous_input=1 _output_reuse_input=1\nw in=p out=512\n",
    .total = 2560,
    .offsets = "p=0 b=0 a=1024 S=2048 w=2048" },
  /* The node before the group is reached through a reference. */
  { .name = "reference-into-separate-clean",
    .graph = "A out=1000\nB out=2000\nR in=B out=2000 reuse=0.0\nH:HcomAllReduce in=A,R "
             "out=1000,2000 need_gentask_atomic=1 atomic_input_index=0 " COLLECTIVE
             "\nZ in=H.0,H.1 out=512\n",
    .total = 6144,
    .offsets = "A=0 B=1024 R=1024" },
  /* Neighbouring outputs that are the inputs of X in the same order: one block, shared with
   * nothing... */
  { .name = "chain",
    .graph = CHAIN,
    .total = 12800,
    .offsets = "P.0=8192 P.1=9216 X=11264 Y=0 S=0 H=0 Z=12288" },
  /* ...unless the memory is cleared separately. */
  { .name = "chain-policy-1",
    .graph = CHAIN,
    .planner = "ge-hybrid:atomic_clean_policy=1",
    .total = 8704,
    .offsets = "P.0=0 P.1=1024 X=3072 Y=0 S=4096 H=4096 Z=8192" },
  /* The manual says that such memory is reused, without a condition. */
  { .name = "chain-documented",
    .graph = CHAIN,
    .planner = "ge-hybrid:rules=documented",
    .total = 8704,
    .offsets = "P.0=0 P.1=1024 X=3072 Y=0 S=4096 H=4096 Z=8192" },
  { .name = "padded-references",
    .graph = "A out=1000\nB out=2000\nH:HcomAllReduce in=A,B out=1000,2000 reuse=0.0,1.1 "
             "continuous_output=1 " COLLECTIVE "\nZ in=H.0,H.1 out=512\n",
    .total = 3584,
    .offsets = "A=512 B=1536 H.0=512 H.1=1536 Z=0" },
  { .name = "cleared",
    .graph = CLEARED,
    .total = 8704,
    .offsets = "A=1024 A.w0=0 A.w1=2048 B=3072 C=5120 Z=8192",
    .segments = "0+1024 1024+7168 8192+512z",
    .log = MEMSET_LOG "offset to [1024] streamid[0] size[7168]\n" },
  { .name = "cleared-without-quirks",
    .graph = CLEARED,
    .planner = "ge-hybrid:quirks=no",
    .total = 6656,
    .offsets = "A=1024 A.w1=2048 B=3072 C=3072 Z=6144" },
  /* Zero-copy memory is cleared to the exact byte. */
  { .name = "cleared-output",
    .graph =
        "M:MemSet\nA out=1000 after=M is_atomic_node=1 atomic_output_index=0\nO:NetOutput in=A\n",
    .total = 1024,
    .offsets = "A=0",
    .segments = "0+1024z",
    .log = MEMSET_LOG "offset to [0] streamid[0] size[1000]\n" },
  /* The manual's 32 bytes: inputs 100, 40 and 70 take 128, 64 and 96, smallest first. */
  { .name = "zero-copy-32",
    .graph = INPUTS,
    .planner = "ge-hybrid:rules=documented",
    .total = 288,
    .offsets = "A=160 B=0 C=64",
    .segments = "0+288z" },
  { .name = "zero-copy-512",
    .graph = INPUTS,
    .total = 1536,
    .offsets = "A=1024 B=0 C=512",
    .segments = "0+1536z" },
  { .name = "zero-copy-alignment",
    .graph = INPUTS,
    .planner = "ge-hybrid:zero_copy_alignment=32",
    .total = 288,
    .offsets = "A=160 B=0 C=64" },
  { .name = "zero-copy-alignment-overrides",
    .graph = INPUTS,
    .planner = "ge-hybrid:rules=documented,zero_copy_alignment=512",
    .total = 1536,
    .offsets = "A=1024 B=0 C=512" },
  /* What lies inside the caller's memory is no input: it stays at a multiple of 512. */
  { .name = "zero-copy-32-host",
    .graph = "A:Data index=0 out=40\nB:Data index=1 out=4000\nC in=A,B out=1000\nD in=C "
             "out=3000\nE in=D out=1000\nO:NetOutput in=E\n",
    .planner = "ge-hybrid:rules=documented,input_reuse=[0,1]",
    .total = 6656,
    .offsets = "C=0 E=1024 A=2048 B=2560 D=2560" },
  /* Continuous memory with a batch label hosts nothing of its batch, says the manual. */
  { .name = "batch-continuous-documented",
    .graph = BATCHES,
    .planner = "ge-hybrid:rules=documented",
    .total = 11264,
    .offsets = "S=0 Z=0 D=512 H=512 C=2560 E=2560 A=3072 B=7168" },
  { .name = "batch-continuous",
    .graph = BATCHES,
    .total = 9216,
    .offsets = "S=0 Z=0 H=512 A=1024 B=5120 D=1024 C=3072 E=3072" },
  /* Only an offline build lets the caller supply the shapes; the manual lets nobody. */
  { .name = "shape-data",
    .graph = SHAPES,
    .planner = "ge-hybrid:build_graph_mode=offline",
    .total = 1024,
    .offsets = "A=0",
    .segments = "0+1024z" },
  { .name = "shape-data-documented",
    .graph = SHAPES,
    .planner = "ge-hybrid:build_graph_mode=offline,rules=documented",
    .total = 1024,
    .offsets = "A=0",
    .segments = "0+1024 1024+0z" },
  { .name = "buffer-pools",
    .graph = "A out=1000\nB in=A out=600 _buffer_pool_id=3 _buffer_pool_size=4096 "
             "_buffer_pool_node_offset=512\n"
             "C in=B out=700 _buffer_pool_id=1 _buffer_pool_size=1000\n"
             "D in=B,C out=1000 _buffer_pool_id=3 _buffer_pool_size=4000 "
             "_buffer_pool_node_offset=2048\nZ in=D out=100\n",
    .total = 7680,
    .offsets = "A=0 C=1536 B=3584 D=5120 Z=0",
    .segments = "0+1024 1024+6656 7680+0z" },
  { .name = "types",
    .graph = "A out=1000,1000,1000 ws=512,700,900 _output_memory_type=17,129,144 "
             "_workspace_type=2,17,2 _workspace_memory_no_reuse_scope=0,0,1\n"
             "B in=A.0,A.1,A.2 out=512\n",
    .total = 512,
    .offsets = "A.0=0 A.1=68719476736 A.2=137438953472 A.w0=0 A.w1=1024 A.w2=0 B=0" },
  { .name = "variables",
    .graph =
        "V:Variable out=1000\nK:Constant out=300\nA in=V,K out=512 reuse=0.0\nB in=A out=1000\n",
    .total = 1024,
    .offsets = "B=0",
    .log = "[IMAS]AssignVarMem Set session_0 name[V] output[0] offset to [34359738368] size[2048] "
           "realsize[1000]\n"
           "[IMAS]AssignVarMem Set session_0 name[K] output[0] offset to [34359740416] size[1536] "
           "realsize[300]\n" },
  { .name = "subgraph",
    .graph =
        "A out=1000\nP:PartitionedCall in=A out=2000 blocks=sub\nD:Data in_block=1 out=1000 "
        "_parent_node_index=0\nX in_block=1 in=D out=2000\n"
        "N:NetOutput in_block=1 in=X _input_parent_node_index=0\nZ in=P out=512\nY in=Z out=2000\n",
    .total = 3072,
    .offsets = "A=2048 D=2048 P=0 X=0 Z=2048 Y=0" },
  /* The input of a subgraph lies in the cleared memory outside. */
  { .name = "cleared-into-subgraph",
    .graph = "M:MemSet\nA out=512 after=M is_atomic_node=1 "
             "atomic_output_index=0\nP:PartitionedCall in=A out=512 blocks=sub\n"
             "D:Data in_block=1 out=512 _parent_node_index=0\nX in_block=1 in=D "
             "out=512\nN:NetOutput in_block=1 in=X _input_parent_node_index=0\nZ in=P out=512\n",
    .total = 2048,
    .offsets = "A=1536 D=1536" },
  { .name = "segments-512",
    .graph = ROW,
    .total = 10752,
    .offsets = "E=10240",
    .segments = "0+4096 4096+4096 8192+2048 10240+512z" },
  { .name = "segments-limit",
    .graph = ROW,
    .planner = "ge-hybrid:segment_limit=5000",
    .total = 10752,
    .offsets = "E=10240",
    .segments = "0+8192 8192+2048 10240+512z" },
  { .name = "segments-all-below",
    .graph = ROW,
    .planner = "ge-hybrid:segment_limit=1MiB",
    .total = 10752,
    .offsets = "E=10240",
    .segments = "0+10240 10240+512z" },
};

static void
check_segments (const GememPlan *plan, const char *expected)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < plan->segments->len; i++)
    {
      const GememPlanSegment *segment = &g_array_index (plan->segments, GememPlanSegment, i);

      g_assert_cmphex (segment->space, ==, GEMEM_MEMORY_HBM);
      g_string_append_printf (text, "%s%" G_GUINT64_FORMAT "+%" G_GUINT64_FORMAT "%s",
                              i > 0 ? " " : "", segment->base, segment->size,
                              segment->zero_copy ? "z" : "");
    }
  g_assert_cmpstr (text->str, ==, expected);
}

static void
check_log (const GememPlan *plan, const char *expected)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < plan->log->len; i++)
    g_string_append_printf (text, "%s\n", (const char *) plan->log->pdata[i]);
  g_assert_cmpstr (text->str, ==, expected);
}

static void
test_example (gconstpointer data)
{
  const Example *example = data;
  g_autoptr (GememGraph) graph = test_graph_from_lines (example->graph);
  g_autoptr (GememPlan)
      plan = test_plan (graph, example->planner != NULL ? example->planner : "ge-hybrid", 1);
  const GememPlanInput input = { .graph = graph };
  g_autoptr (GError) error = NULL;

  test_plan_offsets (graph, plan, example->offsets);
  g_assert_cmpuint (test_plan_total (plan, GEMEM_MEMORY_HBM), ==, example->total);
  if (example->segments != NULL)
    check_segments (plan, example->segments);
  if (example->log != NULL)
    check_log (plan, example->log);
  gemem_plan_verify (plan, &input, &error);
  g_assert_no_error (error);
}

/* A group with blocks that must be fixed fixes its whole segment. */
static void
test_fixed (void)
{
  g_autoptr (GememGraph) graph = test_graph_from_lines (
      "A out=4096 _is_fixed_addr_prior=1\nB in=A out=2048\nC in=A,B out=1024\n");
  g_autoptr (GememPlan) plan = test_plan (graph, "ge-hybrid", 1);

  check_segments (plan, "0+4096 4096+2048 6144+1024 7168+0z");
  g_assert_true (g_array_index (plan->segments, GememPlanSegment, 0).fixed);
  g_assert_false (g_array_index (plan->segments, GememPlanSegment, 2).fixed);
}

static void
test_refused (void)
{
  g_autoptr (GememGraph)
      graph = test_graph_from_lines ("A out=1000\nB out=2000\nH:HcomAllReduce in=A,B out=1000,2000 "
                                     "reuse=0.0 continuous_input=1 continuous_output=1\n");
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  const GememPlanInput input = { .graph = graph };
  g_autoptr (GError) error = NULL;

  g_assert_true (gemem_planner_parse ("ge-hybrid", choices, NULL));
  g_assert_null (gemem_planner_run (choices->pdata[0], &input, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_cmpstr (
      error->message, ==,
      "node 'H': continuous_output: 1 of 2 outputs refer to an input; all of them or none must");
}

/* Plans @lines with @planner; the plan, or NULL with @error. */
static GememPlan *
try_plan (const char *lines, const char *planner, GError **error)
{
  g_autoptr (GememGraph) graph = test_graph_from_lines (lines);
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  const GememPlanInput input = { .graph = graph };

  if (!gemem_planner_parse (planner, choices, error))
    return NULL;
  return gemem_planner_run (choices->pdata[0], &input, error);
}

/* Variables and constants with addresses of their own count on the device, gaps included: 5000
 * bytes take 5120 + 1024; a Const lies in the buffer of weights. */
static void
test_device_memory (void)
{
  static const char *const counted[] = { "Variable", "VariableV2", "Constant", "FileConstant",
                                         "ConstPlaceHolder" };

  for (guint i = 0; i < G_N_ELEMENTS (counted); i++)
    {
      g_autofree char *lines = g_strdup_printf ("V:%s out=5000\nA out=512\nB in=A,V\n", counted[i]);
      const guint64 map = strcmp (counted[i], "VariableV2") == 0 ? 5632
                                                                 : 512; /* planned like a node */
      g_autofree char *least = g_strdup_printf ("ge-hybrid:device_memory=%" G_GUINT64_FORMAT,
                                                map + 6144);
      g_autofree char *less = g_strdup_printf ("ge-hybrid:device_memory=%" G_GUINT64_FORMAT,
                                               map + 6143);
      g_autoptr (GError) error = NULL;
      g_autoptr (GememPlan) plan = try_plan (lines, least, &error);

      g_assert_no_error (error);
      g_assert_nonnull (plan);
      g_assert_null (try_plan (lines, less, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_OUT_OF_MEMORY);
    }
  g_autoptr (GememPlan) plan = try_plan ("V:Const out=5000\nA out=512\nB in=A,V\n",
                                         "ge-hybrid:device_memory=512", NULL);
  g_assert_nonnull (plan);
}

/* Lists with and without brackets, and what is none. */
static void
test_lists (void)
{
  static const char lines[] = "A:Data index=0 out=4096\nB in=A out=512\nC in=B out=2048\nD in=C "
                              "out=512\n";
  static const char *const good[] = { "0", "[0]", "[0,1]", "\"1,0\"", "[1,0]" };
  static const char *const bad[] = { "x", "0.5", "-1", "02", "[]", "", "[0,]", "\"0;1\"" };

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autofree char *planner = g_strdup_printf ("ge-hybrid:input_reuse=%s", good[i]);
      g_autoptr (GememPlan) plan = try_plan (lines, planner, NULL);

      g_assert_nonnull (plan);
      g_assert_cmpuint (plan->arena, ==, 4608); /* C lies in A */
    }
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autofree char *planner = g_strdup_printf ("ge-hybrid:output_reuse=%s", bad[i]);
      g_autoptr (GError) error = NULL;

      g_assert_null (try_plan (lines, planner, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
    }
}

/* The variable beside another policy: built, either counts; the manual forbids it. */
static void
test_policies (void)
{
  static const char lines[] = "A out=512\n";
  static const struct
  {
    const char *planner;
    gboolean good;
  } cases[] = {
    { "ge-hybrid:static_memory_policy=2,GE_USE_STATIC_MEMORY=4", TRUE },
    { "ge-hybrid:rules=documented,static_memory_policy=2,GE_USE_STATIC_MEMORY=4", FALSE },
    { "ge-hybrid:rules=documented,static_memory_policy=0,GE_USE_STATIC_MEMORY=4", FALSE },
    { "ge-hybrid:rules=documented,static_memory_policy=4,GE_USE_STATIC_MEMORY=4", FALSE },
    { "ge-hybrid:rules=documented,GE_USE_STATIC_MEMORY=4", TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GememPlan) plan = try_plan (lines, cases[i].planner, &error);

      g_assert_true ((plan != NULL) == cases[i].good);
      if (!cases[i].good)
        g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
    }
}

/* "NODE space base+size", a line each. */
static void
check_memsets (const char *lines, const char *planner, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GememPlan) plan = try_plan (lines, planner, &error);
  g_autoptr (GString) text = g_string_new (NULL);

  g_assert_no_error (error);
  for (guint i = 0; i < plan->memsets->len; i++)
    {
      const GememPlanMemset *memset = &g_array_index (plan->memsets, GememPlanMemset, i);

      g_string_append_printf (
          text, "%s %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "+%" G_GUINT64_FORMAT "\n",
          memset->node, memset->space, memset->base, memset->size);
    }
  g_assert_cmpstr (text->str, ==, expected);
}

#define THREE_CLEARED(after) \
  "M:MemSet\nA out=1000 is_atomic_node=1 atomic_output_index=0" after "\nB in=A out=2000 " \
  "is_atomic_node=1 atomic_output_index=0" after "\nC in=B out=700 is_atomic_node=1 " \
  "atomic_output_index=0 _output_memory_type=17" after "\nD in=C out=3000 is_atomic_node=1 " \
  "atomic_output_index=0" after "\nE in=D out=512\n"

/* Together: one range where the memory touches, P2P memory (17) apart, whether or not the graph has
 * the memset node.  By operator: one memset each; A and B lie in the memory of D. */
static void
test_memsets (void)
{
  check_memsets (THREE_CLEARED (" after=M"), "ge-hybrid", "M 2 512+6144\nM 17 0+1024\n");
  check_memsets (THREE_CLEARED (""), "ge-hybrid", " 2 512+6144\n 17 0+1024\n");
  check_memsets (THREE_CLEARED (" after=M"), "ge-hybrid:atomic_clean_policy=1",
                 "A 2 2048+1024\nB 2 0+2048\nC 17 0+1024\nD 2 0+3072\n");
  check_memsets ("A out=1000\nB in=A out=512\n", "ge-hybrid", "");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (examples); i++)
    {
      g_autofree char *path = g_strconcat ("/ge-special/", examples[i].name, NULL);

      g_test_add_data_func (path, &examples[i], test_example);
    }
  g_test_add_func ("/ge-special/fixed", test_fixed);
  g_test_add_func ("/ge-special/refused", test_refused);
  g_test_add_func ("/ge-special/device-memory", test_device_memory);
  g_test_add_func ("/ge-special/memsets", test_memsets);
  g_test_add_func ("/ge-special/lists", test_lists);
  g_test_add_func ("/ge-special/policies", test_policies);
  return g_test_run ();
}
