/* model.h - the knowledge of the GE assigners about a graph: effective streams, alias classes
 * (symbols), stream dependencies, predicates on nodes (ge-static.md 1, 2.2, 2.6, 2.8, 5, 7).
 *
 * Invariant: built once per plan, from the graph and the options, and never changed afterwards, so
 * that the assigners may run on threads (GE's own rule: the graph is not modified while they run).
 *
 * Anchors: an output anchor is the tensor's number; an input anchor is `n_tensors + first_input +
 * i`.  A node is its id (the graph is flattened in planning order, ge-static.md 1.5).
 */
#pragma once

#include <string.h>

#include "base/rules.h"
#include "base/units.h"
#include "graphs/graph.h"
#include "planners/ge/options.h"

#define GE_ALIGN 512
#define GE_MAX 0xffffffffu /* 0.1 */
#define GE_NEVER 0xfffffffeu
#define GE_MIN_LIFE 1u
#define GE_DEPTH_MAX 100
#define GE_STREAMS_MAX 2048 /* limit, as tables grow with the square */

static inline guint64
ge_align (guint64 size)
{
  return gemem_align_up (size, GE_ALIGN);
}

/* TRUE if the manual's rules hold where they are not what is built (8.4). */
static inline gboolean
ge_is_documented (const GeOptions *options)
{
  return options->rules == GEMEM_RULES_DOCUMENTED;
}

/* The unit of the caller's memory in bytes (7.2): 512, or 32. */
static inline guint64
ge_zero_copy_align (const GeOptions *options)
{
  static const guint64 units[] = { 0, 32, GE_ALIGN }; /* in the order of the parameter's values */
  const guint64 unit = units[options->zero_copy_alignment];

  return unit != 0 ? unit : ge_is_documented (options) ? 32 : GE_ALIGN;
}

/* Bits of GeNode.kind, from type, engine and attributes (1.1, 5, 6.1, 7.4). */
enum
{
  GE_DATA = 1 << 0,        /* Data RefData AippData AnnData, of any block */
  GE_ZERO_MEMORY = 1 << 1, /* Variable Const Constant MultiShape ... */
  GE_MERGE = 1 << 2,       /* Merge StreamMerge */
  GE_MEMSET = 1 << 3,      /* AtomicAddrClean MemSet */
  GE_BATCH_INDEPENDENT = 1 << 4,
  GE_LOCAL = 1 << 5, /* engine DNN_VM_GE_LOCAL_OP_STORE */
  GE_HCCL = 1 << 6,  /* engine ops_kernel_info_hccl or a type Hcom... */
  GE_CUSTOM = 1 << 7,
  GE_NETOUTPUT = 1 << 8,
  GE_NESTED = 1 << 9,     /* in a block other than 0 */
  GE_PADDED_IN = 1 << 10, /* continuous_input and more than one input */
  GE_PADDED_OUT = 1 << 11,
  GE_NOPADDING_IN = 1 << 12,
  GE_NOPADDING_OUT = 1 << 13,
  GE_RAW_NOPADDING_IN = 1 << 14, /* the attribute alone, without the count */
  GE_RAW_PADDED_IN = 1 << 15,
  GE_RAW_PADDED_OUT = 1 << 16,
  GE_RAW_NOPADDING_OUT = 1 << 17,
  GE_SEP = 1 << 18,             /* separately cleaned continuous input (5) */
  GE_LX = 1 << 19,              /* _output_offset_for_buffer_fusion */
  GE_ATOMIC = 1 << 20,          /* is_atomic_node */
  GE_GENTASK_ATOMIC = 1 << 21,  /* need_gentask_atomic, or policy 1 */
  GE_REFERENCE = 1 << 22,       /* attribute `reference` */
  GE_NOT_REFRESHABLE = 1 << 23, /* 7.4 */
  GE_NO_REUSE = 1 << 24,        /* no_reuse_mem_flag */
  GE_OP_NO_REUSE = 1 << 25,     /* named in OP_NO_REUSE_MEM */
  GE_BUFFER_POOL = 1 << 26,
  GE_CASCADE_OUT = 1 << 27, /* _output_reuse_input */
  GE_DIFF_PRIOR = 1 << 28,  /* diff_prior(n), 1.4 */
  GE_PARTITIONED_CALL = 1 << 29,
  GE_MERGE_TAINTED = 1 << 30, /* its stream is excluded from the dependency tables (2.6) */

  GE_RAW_CONTINUOUS = GE_RAW_PADDED_IN | GE_RAW_PADDED_OUT | GE_RAW_NOPADDING_IN
                      | GE_RAW_NOPADDING_OUT,
};

typedef struct
{
  guint32 kind;
  gint32 stream; /* index into model->streams of the effective stream (1.3, 1.4); -1: invalid */
  gint32 label;  /* number of the batch label, 1.. in string order; 0: none */
} GeNode;

/* Flags of a symbol (2.2). */
enum
{
  GE_SYMBOL_PRE = 1 << 0,  /* may take memory that was used earlier */
  GE_SYMBOL_POST = 1 << 1, /* others may take its memory later */
  GE_SYMBOL_FIXED = 1 << 2,
  GE_SYMBOL_NO_ASSIGN = 1 << 3,
  GE_SYMBOL_DIFF_PRIOR = 1 << 4,
};

typedef struct
{
  guint32 first_member, n_members; /* slice of model->members: anchors in insertion order */
  guint32 name;                    /* the naming output's (or input's) anchor */
  guint32 flags;
  guint64 size; /* 1.2 */
  guint64 type; /* GEMEM_MEMORY_* after filtering */
} GeSymbol;

typedef struct
{
  guint32 node, peer; /* "node on dst starts after peer on src finished" */
} GeEdge;

/* Consumers of a symbol, as seen from the stream of its naming output. */
typedef struct
{
  guint32 latest;       /* largest id of a consumer */
  guint32 other_latest; /* largest id up to and including the last consumer on another stream */
  guint32 returns;      /* largest first_return() of the consumers on other streams */
  gboolean other;       /* a consumer is on another stream */
} GeLife;

/* Edges from one stream to another, by ascending key. */
typedef struct
{
  GeEdge *edges;
  guint n;
} GeEdges;

typedef struct
{
  const GememGraph *graph;
  const GeOptions *options;
  guint32 n_nodes, n_tensors, n_inputs;
  GeNode *nodes;
  gint64 *streams; /* effective stream ids, ascending; GeNode.stream indexes this */
  guint n_streams;
  const char **labels; /* [0] is "", then ascending by string */
  guint n_labels;      /* including [0] */

  GeSymbol *symbols;
  guint32 n_symbols;
  guint32 *members;
  guint32 *symbol_of;     /* per anchor (outputs, then inputs) */
  guint8 *multi_same_out; /* per tensor (2.2) */
  /* per tensor: flagged as referencing an input (2.4: reuse_input, or `reference` with equal
   * names) */
  guint8 *is_reference;
  /* per tensor: the input it references by 1.6 (any rule), or GEMEM_NONE */
  guint32 *referenced_input;

  /* per tensor: the tensor at the end of its references (itself if it references nothing) */
  guint32 *origin;
  guint32 *input_node; /* per input anchor, less n_tensors: its node */
  /* per tensor: the stream of its node; for a parent's output, that of the producers inside, -1 if
   * they differ (7.6) */
  gint32 *output_stream;

  /* [dst * n_streams + src], after pruning (2.6).  Nodes and peers both ascend strictly, so the
   * inverse map (out_edges of the specification) is the same array, searched by peer */
  GeEdges *in_edges;
  GeLife *lives;         /* per symbol: summary of the members for gemem_ge_max_life() */
  guint64 *life_streams; /* per symbol ge_stream_words(): streams of the consumers */

  /* per input anchor, less n_tensors: result of gemem_ge_find_continuous() */
  guint32 *takes_nopadding, *takes_padded;
  guint32 *cascade;    /* per node: begin from the cascade table (2.8), or GEMEM_NONE */
  guint8 *central_out; /* per tensor: attribute set "central-atomic" of an occupant (6.5) */
  guint32 last_memset; /* id of the last memset node; 0: none */
  /* IO-reuse flags: per Data node (by node id), per input of the graph's NetOutput (by position) */
  guint8 *input_reuse, *output_reuse;
  gboolean dynamic_root;
  gboolean extend_memory; /* static_memory_policy in {1,2,4} */
  /* set by the planner: of GememPlanInput, and how many assigners will share `share` */
  const gint *interrupted;
  gint *share;
  guint n_assigners;
} GeModel;

/* An array of @n GEMEM_NONE; free with g_free(). */
static inline guint32 *
ge_new_none (gsize n)
{
  return memset (g_new (guint32, n + 1), 0xff, (n + 1) * sizeof (guint32));
}

/* @graph and @options must outlive the model.  Errors: GEMEM_ERROR_INPUT if a check of section 9.3
 * that precedes planning fails. */
GeModel *gemem_ge_model_new (const GememGraph *graph, const GeOptions *options, GError **error);
void gemem_ge_model_free (GeModel *model);
