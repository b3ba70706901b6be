/* state.h - the state of one assigner, shared by its steps, and changes common to them.
 *
 * Invariants: an assigner owns everything it changes; graph and model are only read, so assigners
 * may run on threads; every block in B has an occupant.
 */
#pragma once

#include "planners/ge/block.h"
#include "planners/plan.h"

/* ---- ranges.c: strategies, and their size classes (ge-static.md 3) */

/* 3.3 */
typedef struct
{
  const char *name;
  gboolean single_range; /* max-block: one range, the largest size */
  gboolean use_range, ascending, first_release, priority, level2;
} GeStrategy;

/* The size classes of @strategy (guint64, ascending); empty: a block has the size of its tensor,
 * rounded up (1.2).  Free with g_array_unref(). */
GArray *gemem_ge_strategy_ranges (const GeModel *model, const GeStrategy *strategy);

typedef struct _GePools GePools;           /* pools.c */
typedef struct _GeContinuous GeContinuous; /* continuous.c */

typedef struct
{
  const GeModel *model;
  GeStrategy strategy;
  GArray *ranges;    /* guint64, ascending; empty: block size is align(size) (1.2) */
  gboolean reuse;    /* 2.3: reuse enabled */
  GPtrArray *blocks; /* B: GeBlock, not owned */
  GePools *pools;
  /* released at the next node; one list, as the order between streams has no effect */
  GPtrArray *suspended;
  GeBlock **symbol_block; /* per symbol */
  guint64 *symbol_size;   /* per symbol; 2.4 and 5.4 change it */
  GArray *zero;           /* items that get offset 0 */
  guint8 *cleared;        /* per tensor: GE_CLEARED_*, or 0 */
  guint32 time;           /* T */
  guint32 n_blocks;       /* created so far */
  GPtrArray *chunks;      /* memory of the blocks */
  guint64 counters[GE_N_SPACES];
  /* sum of the counters after 4.2, including HOST bases if HOST is used (3.3 QUIRK) */
  guint64 score;
  guint64 zero_copy;        /* bytes of the tail (7.2) */
  guint64 *offsets;         /* per item of the graph; GEMEM_NO_OFFSET */
  guint64 *sizes;           /* per item: bytes reserved for the item at its offset */
  guint8 *spaces;           /* per item: GeSpace */
  GeContinuous *continuous; /* NULL unless the graph has continuous memory */
  GError *error; /* the first error; the walk continues, and the planner reports it at the end */
} GeAssigner;

/* The loop variables of 2.3; 2.4, 2.5 and the steps of continuous memory read and change them. */
typedef struct
{
  guint32 node, index; /* output or workspace `index` of `node` */
  GeKind kind;
  guint32 begin;
  guint32 end_request; /* endreq; 0, GE_MAX or a time */
  gboolean sep;        /* the block takes all inputs of a separately cleaned node (5.2) */
  gboolean op_reuse;   /* [QUIRK] clearing it for one output also clears it for later ones */
  gboolean reuse_flag; /* workspaces: workspace_reuse_flag is set and the scope is not session */
  gboolean continuous; /* ci */
  gboolean zc_ok;
  /* the input of the continuous node that takes the output; GEMEM_NONE */
  guint32 anchor_node, anchor_input;
  guint32 n_streams; /* |streams| of 5.2, for out_cnt */
  GeSpace space;
  guint64 size; /* s: bytes of the tensor (or `total`) */
  guint64 noalign;
} GeRequest;

#define ge_request_tensor(assigner, request) \
  (gemem_graph_node ((assigner)->model->graph, (request)->node)->first_output + (request)->index)

/* Appends a new block without occupants to B. */
GeBlock *gemem_ge_block_new (GeAssigner *assigner, guint64 size, gint32 stream, GeSpace space,
                             gboolean reuse_mem);
/* Frees all blocks. */
void gemem_ge_blocks_free (GeAssigner *assigner);
/* The output gets no block; its offset is 0 until another step sets it. */
void gemem_ge_zero (GeAssigner *assigner, guint32 node, guint32 output);
/* Sets the offset of @item in @space; @bytes are reserved for the item there. */
void gemem_ge_place_item (GeAssigner *assigner, guint32 item, guint64 offset, guint8 space,
                          guint64 bytes);
/* The same for the item of an output. */
void gemem_ge_place_output (GeAssigner *assigner, guint32 tensor, guint64 offset, guint8 space,
                            guint64 bytes);
