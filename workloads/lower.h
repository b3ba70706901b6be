/* lower.h - shared by all lowerings: the storages of a graph, and the reader that runs the graph
 * node by node.
 *
 * A STORAGE is a piece of device memory: tensors that share memory (references, sides of a merge,
 * parent and subgraph, a variable that is updated, pieces of a no-padding concat) are one storage,
 * as large as the largest of them.
 *
 * Time is counted in MOMENTS: 0 is the head of a step, i + 1 is node i, n_nodes + 1 the end of the
 * step.  Nodes run in the order of their ids.  A node is queued on its stream and starts after the
 * nodes before it there and after the nodes on other streams that its edges name (EVENT_RECORD,
 * EVENT_WAIT); kernels finish in the order of the ids.
 *
 * Memory that only its own stream used is freed after its last user and may be used again at once
 * (FREE): the order of the stream protects it.  For memory that other streams used (USE_ON_STREAM)
 * the free is requested after the last user (FREE_REQUESTED); FREE_COMPLETED comes just before the
 * first node known to run after all users on other streams: the next node on the user's stream, or
 * one that waits for the user.  At the end of a step of several streams the host waits for the
 * device (DEVICE_SYNC).
 *
 * Nodes without a stream (-1) wait for no node and use no memory.  Host memory, on-chip memory and
 * empty tensors are left out.  Every block and loop body runs once per step; of the batch labels,
 * only the nodes of one run, as at run time (ge-static.md 4.3).
 *
 * Memory: some 60 bytes an item.  A step costs O(nodes + edges).  Origin: ge-static.md 1.3, 1.6,
 * 2.3; paddle.md 5.
 */
#pragma once

#include "base/units.h"
#include "workloads/generator-reader.h"
#include "workloads/lowering.h"

typedef struct
{
  guint64 id; /* in the trace */
  guint64 size;
  guint64 clear; /* bytes to be set when it is allocated; 0: none */
  guint64 stream;
  guint32 begin; /* moment of the node before which it is allocated; 0: at the head */
  guint32 end;   /* moment of the last user */
  /* moment at which users on other streams are known to be done; 0: no such users */
  guint32 complete;
  guint8 kept; /* variables and constants: alive in all steps */
  guint8 workspace;
} GememStorage;

/* ---- lower-storage.c */

enum
{
  GEMEM_CLEAR_NONE,
  /* memory that atomic nodes need cleared is allocated and set at the head of the step, what one
   * memset node controls as one storage; P2P memory and outputs of the graph are apart */
  GEMEM_CLEAR_CENTRAL,
  GEMEM_CLEAR_SEPARATE, /* memory is set just before each node */
};

typedef struct
{
  /* An output may reuse the memory of an input whose last user is the same node, where the operator
   * permits it (graphs/overlay.h). */
  gboolean inplace;
  int clear; /* GEMEM_CLEAR_* */
  /* A variable is one storage from its first use to its last, even while not needed. */
  gboolean whole_variables;
  const guint8 *skipped; /* by node: TRUE: does not run; NULL: all run */
  const guint8 *slots;   /* by slot: GEMEM_SLOT_*; NULL: no special slots */
  /* Reading an input whose buffer the operator does not need (attribute no_need_buffer) is not a
   * use. */
  gboolean buffers_only;
  int whitelist; /* GEMEM_WHITELIST_*: operators that work in place */
  /* guint64: sizes of additional kept storages, with ids above all slots; or NULL */
  const GArray *buffers;
} GememStorageRules;

enum
{
  GEMEM_SLOT_PLAIN,
  /* lives to the end of the step, and takes no part in in-place pairs */
  GEMEM_SLOT_RUN,
  GEMEM_SLOT_ELSEWHERE, /* a view of other memory: needs none of its own */
};

enum
{
  GEMEM_WHITELIST_OFF,
  GEMEM_WHITELIST_ONLY, /* only operators of PaddlePaddle's whitelist */
  GEMEM_WHITELIST_NOT,  /* only operators not on the whitelist */
};

/* GArray of GememStorage with a size, by (begin, id).  @storage_of gets an entry per item, then per
 * variable: number of the storage or GEMEM_NONE. */
GArray *gemem_storages_new (const GememGraph *graph, const GememStorageRules *rules,
                            guint32 **storage_of);

/* ---- lower-streams.c */

/* The effective stream of @node; -1: none (ge-static.md 1.3). */
gint64 gemem_lower_stream (const GememGraph *graph, const GememNode *node);
/* TRUE if there are two or more; -1 does not count. */
gboolean gemem_lower_has_streams (const GememGraph *graph);
/* By node: the moment at which it is known to be done; n_nodes + 1: the end of the step.  Free with
 * g_free(). */
guint32 *gemem_lower_after (const GememGraph *graph, const guint8 *skipped);

/* ---- lower-rules.c: shared memory, memory outside the device, nodes that do not run */

/* Slots: items, then variables.  GEMEM_NONE for an input that is not connected. */
guint32 gemem_lower_input_slot (const GememGraph *graph, const GememNodeInput *input);

/* @first: the storage of both begins where @a does. */
typedef void (*GememShareFunc) (gpointer data, guint32 a, guint32 b, gboolean first);
/* Calls @share for every two slots that must share their memory.  Versions of a variable share
 * where a node reads one and writes the next, or (@whole_variables) always. */
void gemem_lower_references (const GememGraph *graph, gboolean whole_variables,
                             GememShareFunc share, gpointer data);
/* Bytes of an item in device memory; 0: it is elsewhere or empty. */
guint64 gemem_lower_item_size (const GememGraph *graph, const GememNode *node, guint32 item);
/* FALSE if @node reads only the shape of its input @input (attribute no_need_buffer). */
gboolean gemem_lower_needs_buffer (const GememGraph *graph, const GememNode *node, guint32 input);
/* Bytes of output or workspace @item of @node that must be cleared; 0: none.  *self: the node
 * clears them itself (ge-static.md 6.1). */
guint64 gemem_lower_clear_size (const GememGraph *graph, const GememNode *node, guint32 item,
                                gboolean *self);

/* TRUE if output or workspace @item of @node is in P2P memory (ge-static.md 7.5). */
gboolean gemem_lower_is_p2p (const GememGraph *graph, const GememNode *node, guint32 item);

/* The nodes that do not run because of their batch label; NULL: all run; g_free().  @label: the
 * label that runs; NULL: the one with most bytes.  Errors: GEMEM_ERROR_USAGE (unknown label). */
gboolean gemem_lower_skip (const GememGraph *graph, const char *label, guint8 **skipped,
                           GError **error);

static inline gboolean
gemem_lower_runs (const guint8 *skipped, guint32 node)
{
  return skipped == NULL || !skipped[node];
}

/* ---- lower.c */

/* Parameters of all lowerings; first in the struct of each. */
typedef struct
{
  guint64 steps;
  gboolean variables;
  guint64 time_per_node;
  char *batch_label;
} GememLowerParams;

#define GEMEM_LOWER_PARAMS(Type) \
  { .name = "steps", \
    .type = GEMEM_PARAM_UINT, \
    .default_text = "1", \
    .min = "1", \
    .max = "1000000000", \
    .offset = G_STRUCT_OFFSET (Type, common.steps), \
    .help = "How often the graph runs." }, \
      { .name = "variables", \
        .type = GEMEM_PARAM_BOOL, \
        .default_text = "yes", \
        .offset = G_STRUCT_OFFSET (Type, common.variables), \
        .help = "Allocate variables that outlive a run, and constants, first and keep them to " \
                "the end." }, \
      { .name = "time_per_node", \
        .type = GEMEM_PARAM_TIME, \
        .default_text = "10us", \
        .min = "0", \
        .offset = G_STRUCT_OFFSET (Type, common.time_per_node), \
        .help = "Time between two nodes of the trace." }, \
  { \
    .name = "batch_label", .type = GEMEM_PARAM_STRING, \
    .offset = G_STRUCT_OFFSET (Type, common.batch_label), \
    .help = "Of nodes with a batch label those with this one run; without it, the label with " \
            "most bytes." \
  }

typedef struct _GememLower GememLower;
struct _GememLower
{
  GememGeneratorReader parent;
  GememGraph *graph;
  GememLowerParams params;
  GArray *storages;    /* GememStorage by (begin, id) */
  guint32 *storage_of; /* by slot */
  guint32 *ending;     /* storages that are not kept, by (end, workspaces first) */
  guint32 *completing; /* storages with users on other streams, by `complete` */
  guint32 n_ending, n_completing;
  guint8 *state;      /* by storage */
  guint32 *used_at;   /* by storage: moment of the last USE_ON_STREAM */
  guint32 *waited_at; /* by node: moment of the last EVENT_WAIT; NULL: one stream */
  guint8 *skipped;    /* by node: does not run; NULL: all run */
  guint64 step;       /* from 1 */
  /* added to ids of storages that are not kept: separates ids that live into the next step */
  guint64 bias;
  /* value to which the requested bytes are set at allocation; 0: not set */
  guint8 fill;
  guint32 moment, begun, ended, completed; /* cursors: next of each list */
  /* Hooks of the policy; NULL: none.  release: the last user of a tensor's storage has run; NULL:
   * tensors live to the end of the step. */
  void (*release) (GememLower *lower, guint32 storage);
  void (*before_node) (GememLower *lower); /* called before the node of `moment` allocates */
  /* A workspace begins and ends; NULL: it is allocated and freed like any storage. */
  void (*allocate_workspace) (GememLower *lower, guint32 storage);
  void (*release_workspace) (GememLower *lower, guint32 storage);
  /* all nodes have run; remaining storages have not been freed yet */
  void (*leave_step) (GememLower *lower);
  void (*end_step) (GememLower *lower);   /* everything has been freed */
  void (*free_parts) (GememLower *lower); /* frees what the policy allocated */
};

/* A zeroed reader of @size bytes (which embeds GememLower first).  Errors: GEMEM_ERROR_USAGE
 * (unknown batch label). */
gpointer gemem_lower_new (gsize size, GememGraph *graph, const GememLowerParams *params,
                          const GememStorageRules *rules, GError **error);
void gemem_lower_allocate (GememLower *lower, guint32 storage);
/* The host frees @storage now. */
void gemem_lower_free (GememLower *lower, guint32 storage);
gboolean gemem_lower_is_alive (const GememLower *lower, guint32 storage);
/* Stops tracking @storage, which stays allocated; returns the id under which to free it. */
guint64 gemem_lower_detach (GememLower *lower, guint32 storage);
/* Appends an event at the current time; the result is valid until the next call. */
GememTraceEvent *gemem_lower_event (GememLower *lower, GememEventKind kind, guint64 id);

#define gemem_lower_storage(lower, i) (&g_array_index ((lower)->storages, GememStorage, (i)))
