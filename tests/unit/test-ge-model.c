/* test-ge-model.c - the GE assigners' model of a graph: stream dependencies (the tables of
 * ge-static.md appendix E), side trips, symbols and their flags, searches for continuous nodes,
 * the checks before planning. */
#include "config.h"

#include <string.h>

#include "planners/ge/anchors.h"
#include "planners/ge/ge-private.h"
#include "planners/ge/stream-edges.h"
#include "tests/util/graph-lines.h"

typedef struct
{
  GememGraph *graph;
  GeModel *model;
} Fixture;

static GeOptions options; /* models point to it */

/* Builds with the current options. */
static Fixture
use_graph (GememGraph *graph)
{
  GError *error = NULL;
  Fixture f = { graph, gemem_ge_model_new (graph, &options, &error) };

  g_assert_no_error (error);
  return f;
}

static Fixture
use (const char *lines)
{
  return use_graph (test_graph_from_lines (lines));
}

/* Builds with the default options. */
static Fixture
make (const char *lines)
{
  options = (GeOptions){ .quirks = TRUE };
  return use (lines);
}

static void
drop (Fixture *f)
{
  gemem_ge_model_free (f->model);
  gemem_graph_unref (f->graph);
}

static guint32
id_of (const Fixture *f, const char *name)
{
  const guint32 id = gemem_graph_find_node (f->graph, name);

  g_assert_cmpuint (id, !=, GEMEM_NONE);
  return id;
}

/* Output @output of @name. */
static guint32
out_of (const Fixture *f, const char *name, guint32 output)
{
  return gemem_graph_node (f->graph, id_of (f, name))->first_output + output;
}

static const GeSymbol *
symbol (const Fixture *f, const char *name, guint32 output)
{
  return &f->model->symbols[f->model->symbol_of[out_of (f, name, output)]];
}

static const char *
name_of (const Fixture *f, const GeSymbol *symbol)
{
  return gemem_graph_node (f->graph, gemem_ge_anchor_node (f->model, symbol->name))->name;
}

/* "2<-0: 4<-1" */
static void
check_edges (const Fixture *f, const char *expected)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint dst = 0; dst < f->model->n_streams; dst++)
    for (guint src = 0; src < f->model->n_streams; src++)
      {
        const GeEdges *edges = &f->model->in_edges[dst * f->model->n_streams + src];

        for (guint i = 0; i < edges->n; i++)
          g_string_append_printf (text, "%s%u<-%u:%u<-%u", text->len > 0 ? " " : "", dst, src,
                                  edges->edges[i].node, edges->edges[i].peer);
      }
  g_assert_cmpstr (text->str, ==, expected);
}

/* ---- streams */

static void
test_edges (void)
{
  Fixture f = make (
      "a stream=0 out=512\nb stream=0 in=a out=512\nc stream=1 in=a,b out=512\n"
      "d stream=1 in=b,c out=512\ne stream=2 in=c,d out=512\nf stream=2 in=d,e out=512\n");

  check_edges (&f, "1<-0:2<-1 2<-0:4<-1 2<-1:4<-3");
  g_assert_cmpuint (gemem_ge_first_return (f.model, id_of (&f, "a"), 1), ==, 2);
  g_assert_cmpuint (gemem_ge_first_return (f.model, id_of (&f, "b"), 2), ==, 4);
  g_assert_cmpuint (gemem_ge_first_return (f.model, id_of (&f, "b"), 0), ==, 1);
  g_assert_cmpuint (gemem_ge_first_return (f.model, id_of (&f, "e"), 0), ==, GE_MAX);
  g_assert_cmpuint (gemem_ge_depend (f.model, 2, 1, 5), ==, 3);
  g_assert_cmpuint (gemem_ge_depend (f.model, 2, 1, 3), ==, 0);
  drop (&f);
}

/* An edge that an earlier one crosses is not kept. */
static void
test_edges_crossing (void)
{
  Fixture f = make ("a stream=0 out=512\nb stream=0 out=512\nc stream=1 in=b out=512\nd stream=2 "
                    "in=c out=512\ne stream=2 in=a out=512\n");

  check_edges (&f, "1<-0:2<-1 2<-0:3<-1 2<-1:3<-2");
  drop (&f);
}

static void
test_edges_larger_peer (void)
{
  Fixture f = make ("a stream=0 out=512\nb stream=1 in=a out=512\nc stream=0 out=512\nd stream=1 "
                    "in=a,c out=512\n");

  check_edges (&f, "1<-0:1<-0 1<-0:3<-2");
  g_assert_cmpuint (gemem_ge_first_return (f.model, id_of (&f, "c"), 1), ==, 3);
  g_assert_cmpuint (gemem_ge_first_return (f.model, id_of (&f, "a"), 1), ==, 1);
  drop (&f);
}

/* Memset nodes and nodes of the local engine give no edges; nor do streams of merge nodes and their
 * consumers. */
static void
test_edges_left_out (void)
{
  Fixture f = make ("m:MemSet stream=0 out=512\na stream=0 out=512 "
                    "engine=DNN_VM_GE_LOCAL_OP_STORE\nb stream=1 in=m,a out=512 after=m\n");

  check_edges (&f, "");
  drop (&f);
  f = make ("a stream=0 out=512\nb stream=1 out=512\nm:Merge stream=2 in=a,b out=512\nx stream=3 "
            "in=m out=512\ny stream=1 in=a out=512\n");
  check_edges (&f, "1<-0:4<-0");
  g_assert_cmpuint (f.model->multi_same_out[out_of (&f, "a", 0)], ==, 1);
  g_assert_cmpuint (f.model->multi_same_out[out_of (&f, "m", 0)], ==, 0);
  drop (&f);
}

static void
test_last_known (void)
{
  const char *lines = "a stream=0 out=512\nb stream=0 out=512\nx stream=1 out=512\nc stream=1 in=a "
                      "out=512\ny stream=1 out=512\n"
                      "d stream=1 in=b out=512\nz stream=1 out=512\n";
  Fixture f = make (lines);

  check_edges (&f, "1<-0:3<-0 1<-0:5<-1");
  g_assert_cmpuint (gemem_ge_last_known (f.model, id_of (&f, "d"), 0), ==, 1);
  g_assert_cmpuint (gemem_ge_last_known (f.model, id_of (&f, "y"), 0), ==, 0);
  g_assert_cmpuint (gemem_ge_last_known (f.model, id_of (&f, "x"), 0), ==, GE_MIN_LIFE);
  g_assert_cmpuint (gemem_ge_last_known (f.model, id_of (&f, "x"), 1), ==, 2);
  /* [QUIRK] although d is known to follow b */
  g_assert_cmpuint (gemem_ge_last_known (f.model, id_of (&f, "z"), 0), ==, GE_MIN_LIFE);
  drop (&f);
  options.quirks = FALSE;
  f = use (lines);
  g_assert_cmpuint (gemem_ge_last_known (f.model, id_of (&f, "z"), 0), ==, 1);
  drop (&f);
}

/* Streams by name: "a0 b0 c7 d-1". */
static void
check_streams (const Fixture *f, const char *expected)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint32 id = 0; id < f->model->n_nodes; id++)
    {
      const gint32 stream = f->model->nodes[id].stream;

      g_string_append_printf (text, "%s%s%" G_GINT64_FORMAT, id > 0 ? " " : "",
                              gemem_graph_node (f->graph, id)->name,
                              stream < 0 ? -1 : f->model->streams[stream]);
    }
  g_assert_cmpstr (text->str, ==, expected);
}

static void
test_side_trip (void)
{
  /* b, c lie between a and d, numbered one after another: folded. */
  Fixture f = make ("a stream=5 out=512\nb stream=6 in=a out=512\nc stream=7 in=b out=512\nd "
                    "stream=5 in=c out=512\n");

  check_streams (&f, "a5 b5 c5 d5");
  g_assert_cmpuint (f.model->n_streams, ==, 1);
  drop (&f);
  /* x is numbered between them: not folded, but a is diff_prior, as the trip has two nodes. */
  f = make ("a stream=5 out=512\nb stream=6 in=a out=512\nx stream=5 out=512\nc stream=6 in=b "
            "out=512\nd stream=5 in=c out=512\n");
  check_streams (&f, "a5 b6 x5 c6 d5");
  g_assert_cmphex (f.model->nodes[id_of (&f, "a")].kind & GE_DIFF_PRIOR, ==, GE_DIFF_PRIOR);
  g_assert_cmphex (f.model->nodes[id_of (&f, "b")].kind & GE_DIFF_PRIOR, ==, 0);
  drop (&f);
  /* A single node on the way is not enough for diff_prior; its second input ends the walk, and
   * so does a merge. */
  f = make (
      "a stream=5 out=512\nx stream=5 out=512\nb stream=6 in=a out=512\nd stream=5 in=b out=512\n");
  g_assert_cmphex (f.model->nodes[id_of (&f, "a")].kind & GE_DIFF_PRIOR, ==, 0);
  drop (&f);
  f = make ("x stream=6 out=512\na stream=5 out=512\nb stream=6 in=a,x out=512\nd stream=5 in=b "
            "out=512\n");
  check_streams (&f, "x6 a5 b6 d5");
  drop (&f);
  f = make ("a stream=5 out=512\nb:Merge stream=6 in=a out=512\nd stream=5 in=b out=512\n");
  check_streams (&f, "a5 b6 d5");
  drop (&f);
}

static void
test_stream_attributes (void)
{
  Fixture f = make ("d:Data stream=-1 out=512\na stream=3 _sub_stream_id=4 in=d out=512\nb "
                    "stream=3 _thread_scope_id=1 in=a out=512\n"
                    "e:Data stream=-1 out=512\nc stream=3 in=e out=512\ng stream=4 in=e out=512\n");

  check_streams (&f, "d4 a4 b-1 e-1 c3 g4");
  drop (&f);
}

static void
test_max_life (void)
{
  Fixture f = make ("a stream=0 out=512\nb stream=1 in=a out=512\nc stream=0 out=512\nd stream=1 "
                    "in=a out=512\ne stream=0 in=d out=512\n");
  guint32 tsym = 1;
  guint64 streams = 0;

  g_assert_cmpuint (gemem_ge_max_life (f.model, id_of (&f, "a"), 0, -1, &tsym, &streams), ==, 4);
  g_assert_cmpuint (tsym, ==, 3);
  g_assert_cmphex (streams, ==, 2);
  tsym = 9;
  g_assert_cmpuint (gemem_ge_max_life (f.model, id_of (&f, "a"), 0, -1, &tsym, NULL), ==, 9);
  g_assert_cmpuint (tsym, ==, 9);
  tsym = 0;
  g_assert_cmpuint (gemem_ge_max_life (f.model, id_of (&f, "a"), 0, 1, &tsym, NULL), ==, 3);
  tsym = 0;
  /* without reader */
  g_assert_cmpuint (gemem_ge_max_life (f.model, id_of (&f, "b"), 0, 0, &tsym, NULL), ==, 1);
  drop (&f);
  /* Not the naming output: the output's own id. */
  f = make ("a stream=0 out=512\nb stream=0 in=a out=512 reuse=0.0\nc stream=0 in=b out=512\n");
  tsym = 0;
  g_assert_cmpuint (gemem_ge_max_life (f.model, id_of (&f, "b"), 0, -1, &tsym, NULL), ==, 1);
  g_assert_cmpuint (gemem_ge_max_life (f.model, id_of (&f, "a"), 0, -1, &tsym, NULL), ==, 2);
  drop (&f);
}

static void
test_output_streams (void)
{
  Fixture f = make ("p:PartitionedCall stream=0 out=512,512 blocks=sub\nx stream=1 in_block=1 "
                    "out=512\ny stream=2 in_block=1 out=512\n"
                    "n:NetOutput stream=0 in_block=1 in=x,y,x _input_parent_node_index=0,1,1\nz "
                    "stream=0 in=p.0,p.1 out=512\n");

  g_assert_cmpint (f.model->output_stream[out_of (&f, "p", 0)], ==, 1);
  g_assert_cmpint (f.model->output_stream[out_of (&f, "p", 1)], ==, -1);
  g_assert_cmpint (f.model->output_stream[out_of (&f, "z", 0)], ==, 0);
  g_assert_cmphex (f.model->nodes[id_of (&f, "p")].kind & GE_PARTITIONED_CALL, ==,
                   GE_PARTITIONED_CALL);
  drop (&f);
}

/* ---- symbols */

static void
test_symbols (void)
{
  Fixture f = make ("a out=512,600\nb in=a.0,a.1 out=700,800 reuse=0.1\nc:Reshape in=b.0 out=100\n"
                    "d in=c out=300 reference=1 _input_name_key=x,y _output_name_key=y\n"
                    "e in=c,c out=300 reference=1 _input_name_key=x,y _output_name_key=y\n"
                    "g in=e out=9000,512 _no_padding_continuous_output=1 _output_reuse_input=1 "
                    "_reuse_input_on_dim_index=0\n");

  g_assert_true (symbol (&f, "a", 1) == symbol (&f, "b", 0));
  g_assert_true (symbol (&f, "a", 1) == symbol (&f, "c", 0));
  g_assert_true (symbol (&f, "a", 1) == symbol (&f, "e", 0));
  g_assert_true (symbol (&f, "a", 1) == symbol (&f, "g", 1));
  g_assert_true (symbol (&f, "a", 0) != symbol (&f, "a", 1));
  g_assert_true (symbol (&f, "d", 0) != symbol (&f, "a", 1)); /* has no input of that name */
  g_assert_cmpstr (name_of (&f, symbol (&f, "g", 0)), ==, "a");
  g_assert_cmpuint (symbol (&f, "a", 1)->size, ==, 9000);
  g_assert_cmpuint (f.model->is_reference[out_of (&f, "b", 0)], ==, 1);
  g_assert_cmpuint (f.model->is_reference[out_of (&f, "c", 0)], ==, 0);
  g_assert_cmpuint (f.model->origin[out_of (&f, "g", 1)], ==, out_of (&f, "a", 1));
  g_assert_cmpuint (f.model->referenced_input[out_of (&f, "e", 0)], ==, 1);
  drop (&f);
}

/* The producers of a merge are united into the largest symbol, of equal ones the first. */
static void
test_merge (void)
{
  Fixture f = make ("a out=512\nb out=512\nx in=b out=512\nc out=512\nm:Merge in=a,b,c out=512\n");

  g_assert_true (symbol (&f, "a", 0) == symbol (&f, "b", 0));
  g_assert_true (symbol (&f, "a", 0) == symbol (&f, "m", 0));
  g_assert_cmpstr (name_of (&f, symbol (&f, "a", 0)), ==, "b");
  drop (&f);
  f = make ("a out=512\nb out=512\nm:Merge in=a,b out=512\n");
  g_assert_cmpstr (name_of (&f, symbol (&f, "b", 0)), ==, "a");
  drop (&f);
  /* The missing back edge brings the NextIteration node in. */
  f = make (
      "a out=512\nm:Merge in=a,- out=512 _next_iteration_node=n\nn:NextIteration in=m out=512\n");
  g_assert_true (symbol (&f, "n", 0) == symbol (&f, "m", 0));
  drop (&f);
  f = make ("a out=512\nm:Merge in=a,n out=512\nn:NextIteration in=m out=512\n");
  g_assert_true (symbol (&f, "n", 0) == symbol (&f, "m", 0));
  g_assert_cmpstr (name_of (&f, symbol (&f, "n", 0)), ==, "a");
  drop (&f);
}

/* A nested NetOutput unites its producer with the parent's output: on a tie the parent's list is
 * kept [QUIRK], else the longer. */
static void
test_nested (void)
{
  const char *lines = "a out=512\np:PartitionedCall in=a out=512 blocks=sub\nd:Data in_block=1 "
                      "out=512 _parent_node_index=0\nx in_block=1 in=d out=512\n"
                      "n:NetOutput in_block=1 in=x _input_parent_node_index=0\nz in=p out=512\n";
  Fixture f = make (lines);

  g_assert_true (symbol (&f, "a", 0) == symbol (&f, "d", 0));
  g_assert_true (symbol (&f, "x", 0) == symbol (&f, "p", 0));
  g_assert_cmpstr (name_of (&f, symbol (&f, "p", 0)), ==, "x"); /* two members against one */
  drop (&f);
  f = make ("p:PartitionedCall out=512 blocks=sub\nx in_block=1 out=512 \nn:NetOutput in_block=1 "
            "in=x,x _input_parent_node_index=0,0\n");
  g_assert_cmpuint (symbol (&f, "x", 0)->n_members, ==, 4);
  drop (&f);
}

static void
test_union_tie (void)
{
  const char *lines = "p:PartitionedCall out=512 blocks=one,two\nx in_block=1 out=512\nn:NetOutput "
                      "in_block=1 in=x _input_parent_node_index=0\n"
                      "y in_block=2 out=512\nv in_block=2 in=y out=512\nw in_block=2 in=y "
                      "out=512\nm:NetOutput in_block=2 in=y _input_parent_node_index=0\n";
  Fixture f = make (lines);

  /* {x, n.in, p} has three members, {y, v.in, w.in, m.in} four. */
  g_assert_cmpstr (name_of (&f, symbol (&f, "p", 0)), ==, "y");
  drop (&f);
  lines = "p:PartitionedCall out=512 blocks=one,two\nx in_block=1 out=512\nn:NetOutput in_block=1 "
          "in=x _input_parent_node_index=0\n"
          "y in_block=2 out=512\nv in_block=2 in=y out=512\nm:NetOutput in_block=2 in=y "
          "_input_parent_node_index=0\n";
  f = make (lines);
  /* three and three: the second, which is the parent's */
  g_assert_cmpstr (name_of (&f, symbol (&f, "p", 0)), ==, "x");
  drop (&f);
  options.quirks = FALSE;
  f = use (lines);
  g_assert_cmpstr (name_of (&f, symbol (&f, "p", 0)), ==, "y");
  drop (&f);
}

static void
test_inplace (void)
{
  Fixture f = make ("a out=512\nb in=a out=512\nc in=b out=512 _output_inplace_ability=0,0\nd in=b "
                    "out=512\ne in=d,c out=512,512 "
                    "_output_inplace_ability=0,1,0,0,1,1,1,0\n");

  g_assert_true (symbol (&f, "c", 0) != symbol (&f, "b", 0)); /* d reads b later */
  g_assert_true (symbol (&f, "e", 0) == symbol (&f, "c", 0)); /* the first pair of output 0 */
  g_assert_true (symbol (&f, "e", 1) == symbol (&f, "d", 0)); /* c is taken */
  g_assert_cmpstr (name_of (&f, symbol (&f, "e", 0)), ==, "c");
  g_assert_cmpuint (f.model->is_reference[out_of (&f, "e", 1)], ==, 1);
  drop (&f);
  f = make ("a stream=1 out=512\nb stream=2 in=a out=512 _output_inplace_ability=0,0\nd:Data "
            "out=512\ne in=d out=512 _output_inplace_ability=0,0\n"
            "s out=700\nt in=s out=512 _output_inplace_ability=0,0\n");
  g_assert_true (symbol (&f, "a", 0) != symbol (&f, "b", 0)); /* on another stream */
  g_assert_true (symbol (&f, "d", 0) != symbol (&f, "e", 0)); /* in the caller's memory */
  g_assert_true (symbol (&f, "s", 0) != symbol (&f, "t", 0)); /* of another size */
  drop (&f);
}

/* ---- symbol information */

static char
yes_no (guint32 flags, guint32 flag)
{
  return (flags & flag) != 0 ? 'y' : 'n';
}

static void
check_flags (const Fixture *f, const char *name, const char *pre_post)
{
  const guint32 flags = symbol (f, name, 0)->flags;
  const char found[] = { yes_no (flags, GE_SYMBOL_PRE), yes_no (flags, GE_SYMBOL_POST), '\0' };

  g_assert_cmpstr (found, ==, pre_post);
}

static void
test_flags (void)
{
  const char *lines = "d:Data index=1 out=512\na in=d out=512\nc:Const out=512\ne:EnterV2 in=a "
                      "out=512\no in=e,c out=512\nn:NetOutput in=a,o,d\n";
  Fixture f = make (lines);

  check_flags (&f, "d", "nn");
  check_flags (&f, "a", "nn");
  check_flags (&f, "c", "ny");
  check_flags (&f, "e", "yn"); /* version stripped */
  check_flags (&f, "o", "nn");
  drop (&f);
  options.input_reuse = (char *) "0,1";
  options.output_reuse = (char *) "1";
  f = use (lines);
  check_flags (&f, "d", "nn"); /* input and output at once: neither before nor after */
  check_flags (&f, "a", "nn");
  check_flags (&f, "o", "yn"); /* output 1 */
  drop (&f);
  options = (GeOptions){ .quirks = TRUE, .input_reuse = (char *) "0" };
  f = use ("d:Data index=0 out=512\na in=d out=512\nb in=a out=512\nn:NetOutput in=b\n");
  check_flags (&f, "d", "ny");
  check_flags (&f, "a", "yy");
  check_flags (&f, "b", "nn");
  drop (&f);
}

static void
test_flags_dynamic_root (void)
{
  Fixture f;

  options = (GeOptions){ .quirks = TRUE, .input_reuse = (char *) "0" };
  f = use_graph (
      test_graph_from_lines_dynamic ("d:Data index=0 out=512\na in=d out=512\nn:NetOutput in=a\n"));
  check_flags (&f, "d", "nn");
  check_flags (&f, "a", "yn");
  drop (&f);
}

static void
test_types (void)
{
  const char *lines =
      "a out=512,512 _output_memory_type=17,2\nb in=a.1 out=512 _input_memory_type=129\n"
      "c in=a.0 out=512 _input_memory_type=65536 _is_fixed_addr_prior=1\n";
  Fixture f = make (lines);

  g_assert_cmphex (symbol (&f, "a", 1)->type, ==, GEMEM_MEMORY_HOST);
  g_assert_cmphex (symbol (&f, "a", 0)->type, ==, GEMEM_MEMORY_HBM); /* [QUIRK] L1 at c hides P2P */
  g_assert_cmphex (symbol (&f, "a", 0)->flags & GE_SYMBOL_FIXED, ==, GE_SYMBOL_FIXED);
  g_assert_cmphex (symbol (&f, "a", 1)->flags & GE_SYMBOL_FIXED, ==, 0);
  drop (&f);
  options.quirks = FALSE;
  f = use (lines);
  g_assert_cmphex (symbol (&f, "a", 0)->type, ==, GEMEM_MEMORY_P2P);
  drop (&f);
}

static void
test_sizes (void)
{
  Fixture f = make (
      "a out=1000 0._ffts_sub_task_tensor_size=300\nb out=1000 0._ffts_sub_task_tensor_size=-1\nc "
      "out=1000 0._ffts_sub_task_tensor_size=300\n"
      "d out=0 0._tensor_no_tiling_mem_type=1 0._tensor_no_tiling_size=77\nn:NetOutput "
      "in=c\nv:Const out=5000\nw in=v out=64 reuse=0.0\n");

  g_assert_cmpuint (gemem_ge_tensor_size (f.model, out_of (&f, "a", 0)), ==, 300);
  g_assert_cmpuint (gemem_ge_tensor_size (f.model, out_of (&f, "b", 0)), ==, 1000);
  g_assert_cmpuint (gemem_ge_tensor_size (f.model, out_of (&f, "c", 0)), ==, 1000);
  g_assert_cmpuint (gemem_ge_tensor_size (f.model, out_of (&f, "d", 0)), ==, 77);
  g_assert_cmpuint (symbol (&f, "v", 0)->size, ==, 64); /* constants do not count */
  drop (&f);
}

/* ---- continuous and cleared memory */

#define CONCAT "_no_padding_continuous_input=1 _output_reuse_input=1 _reuse_input_on_dim_index=0"

/* Example 10.11: the tensor that allocates the buffer may not begin after the earliest piece. */
static void
test_cascade (void)
{
  Fixture f = make (
      "s out=4096,512\nb in=s.1 out=2048\na in=s.0 out=1024\np in=a,b out=3072 " CONCAT
      "\nm in=p out=4096\n");
  guint32 node, input;

  g_assert_cmpuint (f.model->cascade[id_of (&f, "p")], ==, id_of (&f, "b"));
  g_assert_cmpuint (f.model->cascade[id_of (&f, "a")], ==, id_of (&f, "b"));
  g_assert_cmpuint (f.model->cascade[id_of (&f, "b")], ==, GEMEM_NONE);
  g_assert_true (
      gemem_ge_find_continuous (f.model, out_of (&f, "b", 0), 0, GE_NOPADDING_IN, &node, &input));
  g_assert_cmpuint (node, ==, id_of (&f, "p"));
  g_assert_cmpuint (input, ==, 1);
  g_assert_false (
      gemem_ge_find_continuous (f.model, out_of (&f, "b", 0), 0, GE_PADDED_IN, &node, &input));
  g_assert_false (
      gemem_ge_find_continuous (f.model, out_of (&f, "p", 0), 0, GE_NOPADDING_IN, &node, &input));
  drop (&f);
  /* In a cascade, input 0 of the inner concat belongs to the outer one. */
  f = make ("x out=512\ny out=512\nz out=512\np in=z,y out=1024 " CONCAT
            "\nq in=p,x out=1536 " CONCAT "\n");
  g_assert_true (
      gemem_ge_find_continuous (f.model, out_of (&f, "z", 0), 0, GE_NOPADDING_IN, &node, &input));
  g_assert_cmpuint (node, ==, id_of (&f, "q"));
  g_assert_true (
      gemem_ge_find_continuous (f.model, out_of (&f, "y", 0), 0, GE_NOPADDING_IN, &node, &input));
  g_assert_cmpuint (node, ==, id_of (&f, "p"));
  g_assert_cmpuint (f.model->cascade[id_of (&f, "z")], ==, id_of (&f, "x"));
  g_assert_cmpuint (f.model->cascade[id_of (&f, "q")], ==, id_of (&f, "x"));
  drop (&f);
}

static void
test_no_assign (void)
{
  Fixture f = make ("a out=512\nb in=a out=512 reuse=0.0\np in=a,b out=1024 " CONCAT "\n");

  /* {a, b.in, p.in0, b, p.in1, p}: inputs 3, outputs 3, but the last member is an output. */
  g_assert_cmphex (symbol (&f, "a", 0)->flags & GE_SYMBOL_NO_ASSIGN, ==, 0);
  drop (&f);
  f = make ("x out=512\na out=512\nb in=a out=512 reuse=0.0\np in=x,b out=1024 " CONCAT "\n");
  /* {a, b.in, b, p.in1} */
  g_assert_cmphex (symbol (&f, "a", 0)->flags & GE_SYMBOL_NO_ASSIGN, ==, GE_SYMBOL_NO_ASSIGN);
  drop (&f);
}

static void
test_central (void)
{
  const char *lines =
      "a out=512 is_atomic_node=1 atomic_output_index=0\nb out=512,512 is_atomic_node=1 "
      "atomic_output_index=1\n"
      "c out=512\nd in=c out=512 reuse=0.0\ne in=d out=512 is_atomic_node=1 atomic_input_index=-1\n"
      "g out=512 is_atomic_node=1 atomic_output_index=0 need_gentask_atomic=1\nh:MemSet\n";
  Fixture f = make (lines);

  g_assert_cmpuint (f.model->central_out[out_of (&f, "a", 0)], ==, 1);
  g_assert_cmpuint (f.model->central_out[out_of (&f, "b", 0)], ==, 0);
  g_assert_cmpuint (f.model->central_out[out_of (&f, "b", 1)], ==, 1);
  g_assert_cmpuint (f.model->central_out[out_of (&f, "c", 0)], ==, 1); /* through d */
  g_assert_cmpuint (f.model->central_out[out_of (&f, "e", 0)], ==, 0);
  g_assert_cmpuint (f.model->central_out[out_of (&f, "g", 0)], ==, 0);
  g_assert_cmpuint (f.model->last_memset, ==, id_of (&f, "h"));
  drop (&f);
  options.atomic_clean_policy = 1;
  f = use (lines);
  g_assert_cmpuint (f.model->central_out[out_of (&f, "a", 0)], ==, 0);
  g_assert_cmphex (f.model->nodes[0].kind & GE_GENTASK_ATOMIC, ==, GE_GENTASK_ATOMIC);
  drop (&f);
}

static void
test_kinds (void)
{
  const guint32 sep = GE_PADDED_IN | GE_RAW_PADDED_IN | GE_SEP | GE_GENTASK_ATOMIC;
  Fixture f;

  options = (GeOptions){ .quirks = TRUE, .op_no_reuse_mem = (char *) "b,Relu" };
  f = use ("a out=512\nb label=B in=a,a out=512 continuous_input=1 need_gentask_atomic=1 "
           "atomic_input_index=0\nc:Relu label=A in=b out=512 continuous_input=1\n"
           "h engine=ops_kernel_info_hccl in=c out=512\n");
  g_assert_cmphex (f.model->nodes[1].kind, ==, sep | GE_OP_NO_REUSE);
  g_assert_cmphex (f.model->nodes[2].kind, ==, GE_RAW_PADDED_IN | GE_OP_NO_REUSE);
  g_assert_cmphex (f.model->nodes[3].kind, ==, GE_HCCL | GE_NOT_REFRESHABLE);
  g_assert_cmpuint (f.model->n_labels, ==, 3);
  g_assert_cmpint (f.model->nodes[1].label, ==, 2);
  g_assert_cmpint (f.model->nodes[2].label, ==, 1);
  drop (&f);
}

static void
check_kind (const char *node, gboolean refreshable, guint32 kind)
{
  g_autofree char *line = g_strdup_printf ("%s out=512\n", node);
  Fixture f;

  options = (GeOptions){ .quirks = TRUE, .feature_base_refreshable = refreshable };
  f = use (line);
  g_assert_cmphex (f.model->nodes[0].kind, ==, kind);
  drop (&f);
}

/* The manual's names count without an engine, as graphs by hand have none. */
static void
test_addresses_stay (void)
{
  check_kind ("a:HcomSend", FALSE, GE_HCCL | GE_NOT_REFRESHABLE);
  check_kind ("a:HCOM", FALSE, GE_HCCL | GE_NOT_REFRESHABLE);
  check_kind ("a:HcomAllToAll", TRUE, GE_HCCL);
  check_kind ("a:Hcondense", FALSE, 0);
  check_kind ("a:StreamSwitch", TRUE, GE_NOT_REFRESHABLE);
  check_kind ("a:StreamSwitchByIndex", TRUE, GE_NOT_REFRESHABLE);
  check_kind ("a:rtsStreamSwitchByIndex", TRUE, GE_NOT_REFRESHABLE);
  check_kind ("a:LabelSwitchByIndex", TRUE, GE_NOT_REFRESHABLE);
  check_kind ("a:LabelSwitch", FALSE, 0);
}

/* ---- faults */

static void
check_refused (const char *lines, const char *message)
{
  g_autoptr (GememGraph) graph = test_graph_from_lines (lines);
  g_autoptr (GError) error = NULL;

  options = (GeOptions){ .quirks = TRUE };
  g_assert_null (gemem_ge_model_new (graph, &options, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_cmpstr (error->message, ==, message);
}

static void
test_refused (void)
{
  GString *many = g_string_new (NULL);

  check_refused ("a out=512\nb out=512\np in=a,b out=1024 _no_padding_continuous_input=1\n",
                 "node 'p': _reuse_input_on_dim_index: missing; no-padding continuous memory needs "
                 "the dimension of its pieces");
  check_refused (
      "a out=512 _output_offset_list_for_continuous=0\nb out=512\np in=a,b out=1024 "
      "_no_padding_continuous_input=1\n",
      "node 'p': offset lists: 1 of 2 neighbours list offsets; all of them or none must");
  check_refused ("a out=6 shapes=2x3\nb out=8 shapes=2x4\np in=a,b out=16 shapes=2x8 "
                 "_no_padding_continuous_input=1 _reuse_input_on_dim_index=1\n",
                 "node 'p': _reuse_input_on_dim_index: the pieces take 7 bytes in all, but the "
                 "whole takes 8; correct the shapes or the dimension");
  for (guint i = 0; i <= GE_STREAMS_MAX; i++)
    g_string_append_printf (many, "n%u stream=%u out=512\n", i, i * 7);
  check_refused (many->str,
                 "graph 'lines': stream: 2049 different streams; the planner takes at most 2048");
  g_string_free (many, TRUE);
}

/* An empty graph, and a node without inputs and outputs. */
static void
test_small (void)
{
  Fixture f = make ("");

  g_assert_cmpuint (f.model->n_symbols, ==, 0);
  drop (&f);
  f = make ("a stream=-1\n");
  g_assert_cmpuint (f.model->n_streams, ==, 0);
  drop (&f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-model/edges", test_edges);
  g_test_add_func ("/ge-model/edges-crossing", test_edges_crossing);
  g_test_add_func ("/ge-model/edges-larger-peer", test_edges_larger_peer);
  g_test_add_func ("/ge-model/edges-left-out", test_edges_left_out);
  g_test_add_func ("/ge-model/last-known", test_last_known);
  g_test_add_func ("/ge-model/side-trip", test_side_trip);
  g_test_add_func ("/ge-model/stream-attributes", test_stream_attributes);
  g_test_add_func ("/ge-model/max-life", test_max_life);
  g_test_add_func ("/ge-model/output-streams", test_output_streams);
  g_test_add_func ("/ge-model/symbols", test_symbols);
  g_test_add_func ("/ge-model/merge", test_merge);
  g_test_add_func ("/ge-model/nested", test_nested);
  g_test_add_func ("/ge-model/union-tie", test_union_tie);
  g_test_add_func ("/ge-model/inplace", test_inplace);
  g_test_add_func ("/ge-model/flags", test_flags);
  g_test_add_func ("/ge-model/flags-dynamic-root", test_flags_dynamic_root);
  g_test_add_func ("/ge-model/types", test_types);
  g_test_add_func ("/ge-model/sizes", test_sizes);
  g_test_add_func ("/ge-model/cascade", test_cascade);
  g_test_add_func ("/ge-model/no-assign", test_no_assign);
  g_test_add_func ("/ge-model/central", test_central);
  g_test_add_func ("/ge-model/kinds", test_kinds);
  g_test_add_func ("/ge-model/addresses-stay", test_addresses_stay);
  g_test_add_func ("/ge-model/refused", test_refused);
  g_test_add_func ("/ge-model/small", test_small);
  return g_test_run ();
}
