/* state.h - the state of one assigner, which its steps share, and what several of them do to it.
 *
 * An assigner owns everything it changes.  The graph and the model are only read, so that assigners
 * run on threads.
 * Invariant: every block in B has an occupant.
 */
#pragma once

#include "planners/ge/block.h"
#include "planners/ge/ranges.h"
#include "planners/plan.h"

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
  /* released when the next node starts; one list, as the order between streams has no effect */
  GPtrArray *suspended;
  GeBlock **symbol_block; /* per symbol */
  guint64 *symbol_size;   /* per symbol; 2.4 and 5.4 change it */
  GArray *zero;           /* items that get offset 0 */
  guint8 *cleared;        /* per tensor: GE_CLEARED_*, or 0 */
  guint32 time;           /* T */
  guint32 n_blocks;       /* created so far */
  GPtrArray *chunks;      /* where blocks live */
  guint64 counters[GE_N_SPACES];
  /* sum of the counters after 4.2, HOST bases included where HOST is used (3.3 QUIRK) */
  guint64 score;
  guint64 zero_copy;        /* bytes of the tail (7.2) */
  guint64 *offsets;         /* per item of the graph; GEMEM_NO_OFFSET */
  guint64 *sizes;           /* per item: bytes that are the item's own there */
  guint8 *spaces;           /* per item: GeSpace */
  GeContinuous *continuous; /* NULL unless the graph has continuous memory */
  GError *error; /* the first one; the walk goes on, and the planner reports it at the end */
} GeAssigner;

/* The loop variables of 2.3, which 2.4, 2.5 and the steps of continuous memory read and change. */
typedef struct
{
  guint32 node, index; /* output or workspace `index` of `node` */
  GeKind kind;
  guint32 begin;
  guint32 end_request; /* endreq; 0, GE_MAX or a time */
  gboolean sep;        /* the block takes all inputs of a separately cleaned node (5.2) */
  gboolean op_reuse;   /* [QUIRK] cleared for one output, it is cleared for the later ones */
  gboolean reuse_flag; /* workspaces: workspace_reuse_flag, and not session scope */
  gboolean continuous; /* ci */
  gboolean zc_ok;
  /* of the continuous node that takes it side by side; GEMEM_NONE */
  guint32 anchor_node, anchor_input;
  guint32 n_streams; /* |streams| of 5.2, for out_cnt */
  GeSpace space;
  guint64 size; /* s: bytes of the tensor (or `total`) */
  guint64 noalign;
} GeRequest;

#define ge_request_tensor(assigner, request) \
  (gemem_graph_node ((assigner)->model->graph, (request)->node)->first_output + (request)->index)

/* Appends a new block without occupants to B. */
GeBlock *ge_block_new (GeAssigner *assigner, guint64 size, gint32 stream, GeSpace space,
                       gboolean reuse_mem);
/* Frees all blocks. */
void ge_blocks_free (GeAssigner *assigner);
/* The output gets no block; its offset is 0 until another one is known. */
void ge_zero (GeAssigner *assigner, guint32 node, guint32 output);
/* @item gets @offset in @space; @bytes are its own there. */
void ge_place_item (GeAssigner *assigner, guint32 item, guint64 offset, guint8 space,
                    guint64 bytes);
/* The same for the item of an output. */
void ge_place_output (GeAssigner *assigner, guint32 tensor, guint64 offset, guint8 space,
                      guint64 bytes);
