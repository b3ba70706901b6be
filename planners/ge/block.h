/* block.h - the state of one GE assigner: occupants, blocks, pools, and which file does what
 * (ge-static.md 2-4, 7).
 *
 * An assigner walks the nodes once (level 1), packs blocks inside blocks (level 2), then gives each
 * block its place.  It owns everything it changes; the graph and the model are only read, so that
 * assigners run on threads.
 *
 *   block.c       2.1 occupants and blocks: set_size, set_end, life times, conflicts
 *   assign.c      2.3 the loop over the nodes
 *   ranges.c      3.1, 3.2 size classes
 *   apply.c       2.4, 2.5 where an output or a workspace gets its block from; the pools
 *   release.c     2.7 consumers leave; when the last one has, the block goes to its pool
 *   zero-copy.c   7.1 is_zero_copy, 7.4 refreshable symbols
 *   pack.c        4.1 level 2: two blocks; pack-scan.c: the loop over all pairs; pack-sort.c: the
 *                 order of B
 *   batch.c       4.3 batch labels overlay each other
 *   place.c       4.2 sizes and offsets, 7.2 the zero-copy tail
 *   params.c      parameter tables
 *   candidates.c    3 strategies, candidates, the winner, the planner classes
 *   continuous.c, padded-outputs.c, chains.c  hooks of continuous memory (5), see the end of this
 *                                             file
 *   clear.c, fixups.c, buffer-pools.c, segments.c, memset.c  6.1-6.2, 5.6, 7.7, 8.1, 6.4
 *
 * Invariants: life times are node ids, GE_NEVER or GE_MAX; a block in B has an occupant; the
 * children of a block are not in any other block; blocks live as long as their assigner.
 * Cost: 160 bytes a block, 56 an occupant; while blocks are packed 48 a block and 8 a block and
 * stream more.
 */
#pragma once

#include "planners/ge/library.h"
#include "planners/ge/model.h"
#include "planners/plan.h"

/* ---- occupants (2.1) */

typedef enum
{
  GE_KIND_OUTPUT,
  GE_KIND_WORKSPACE,
  GE_KIND_DESCRIPTOR, /* 1024 bytes beside a no-tiling tensor */
  GE_KIND_PSEUDO,     /* of a virtual parent (4.3): places nothing */
} GeKind;

enum /* GeOccupant.flags */
{
  GE_OCCUPANT_REF = 1 << 0,       /* is_ref */
  GE_OCCUPANT_NEXT_REF = 1 << 1,  /* next_is_ref */
  GE_OCCUPANT_BEGIN_MIN = 1 << 2, /* begin was given and is earlier than the node */
  /* output of a PartitionedCall: without begin_min life_begin is its end */
  GE_OCCUPANT_CALL = 1 << 3,
  GE_OCCUPANT_CONT = 1 << 4,
  GE_OCCUPANT_FIRST = 1 << 5,
  GE_OCCUPANT_LAST = 1 << 6,
};

typedef struct
{
  guint64 real, noalign; /* bytes */
  guint32 node, index;
  guint32 begin;        /* begin if begin_min, else the node; life_begin of the sort flavour */
  guint32 end, sym_end; /* GE_NEVER: not set */
  /* on stream diff_stream.  The map diff{stream->end} never has two entries: set_end() with another
   * stream is called only when the visits of this very occupant were of one stream, and never again
   * before a new occupant comes */
  guint32 diff_end;
  gint32 diff_stream; /* GE_NO_DIFF: the map is empty */
  guint32 out_cnt;
  guint8 kind, flags;
} GeOccupant;

#define GE_NO_DIFF G_MININT32

/* ---- blocks (2.1) */

typedef enum /* the spaces that 2.2 and 2.3 let pass, ascending by memory type */
{
  GE_SPACE_HBM,
  GE_SPACE_P2P,
  GE_SPACE_HOST,
  GE_SPACE_HOST_SVM,
  GE_SPACE_SESSION,
  GE_N_SPACES
} GeSpace;

typedef struct
{
  gint32 stream;
  guint32 out, end;
} GeVisit; /* outs{stream->(out_time, end_time)} of the last occupant */

enum /* GeBlock.traits, for level 2 */
{
  /* more than a comparison of life times decides: an occupant is the output of a PartitionedCall,
   * or the first is in a same-out group */
  GE_SPECIAL = 1 << 0,
  /* one occupant, neither continuous nor zero-copy, no flags to lose: level 2 can only make it a
   * child */
  GE_PLAIN = 1 << 1,
  /* may be interleaved: one stream, no end on another, neither continuous nor zero-copy */
  GE_LOOSE = 1 << 2,
  GE_TURNS = 1 << 3, /* the occupants took turns: begins and ends ascend */
};

/* What decides at a glance that nothing can go into a child. */
typedef struct
{
  guint64 room;
  guint32 begin, end;
  gint32 stream;
  guint32 traits;
} GeGlance;

typedef struct
{
  /* what level 2 looks at for every pair comes first; begin, end and traits are kept by
   * ge_pack_refresh() */
  guint32 begin, end; /* life_begin, life_end on the own stream */
  guint64 room;       /* what one more child here or below may have, at most */
  gint32 stream, label;
  guint8 space, traits;
  guint8 reuse_mem, child, cont, zc;
  guint8 data, central; /* attribute set (6.5) */
  GPtrArray *children;  /* GeBlock, or NULL */
  GArray *glances;      /* level 2: GeGlance, one for each child */
  guint64 aligned;      /* cache of ge_block_align_size(); 0: not known */
  guint64 child_off;    /* bytes taken by children */
  GeOccupant *occupants;
  guint32 n_occupants, occupants_size;

  guint8 first, last, same_stream, reuse_zc, same_offset, post_reuse, diff_prior, used_by_diff,
      fixed;
  /* level 2: parents above it; it never changes, as a block with children becomes no child */
  guint8 depth;
  guint64 size;
  guint64 head; /* offset in its space */
  GeVisit *visits;
  GPtrArray *members;  /* of a virtual parent (4.3): one after another; or NULL */
  GPtrArray *overlays; /* of a virtual parent: per other label a GPtrArray of GeBlock; or NULL */
  guint32 n_visits, visits_size;
  guint32 number;      /* in order of creation */
  guint32 input_index; /* 5.2 */
  gint32 ref_count;
} GeBlock;

#define ge_block_last(block) (&(block)->occupants[(block)->n_occupants - 1])

/* Reserves room for an occupant and appends *@occupant; clears the align_size cache, keeps
 * next_is_ref, same_stream, attributes. */
GeOccupant *ge_block_add (GeBlock *block, const GeOccupant *occupant, gint32 stream);
void ge_block_set_size (GeBlock *block, guint64 size);
/* align(max real_size), cached (2.1 QUIRK: removing an occupant does not clear the cache). */
guint64 ge_block_align_size (GeBlock *block);
guint64 ge_block_max_real (const GeBlock *block);
guint64 ge_block_max_noalign (const GeBlock *block);
guint32 ge_block_life_begin (const GeBlock *block);
guint32 ge_block_life_end (const GeBlock *block, gint32 stream);
void ge_block_set_end (GeBlock *block, guint32 time, gint32 stream);
void ge_block_set_sym_end (GeBlock *block, guint32 time);
void ge_block_raise_out_cnt (GeBlock *block, guint32 n);
/* first+last flags, on the block and its last occupant. */
void ge_block_set_first_last (GeBlock *block);
guint32 ge_occupant_life_begin (const GeOccupant *occupant);
static inline gboolean
ge_block_conflict (const GeBlock *a, const GeBlock *b) /* 6.5 */
{
  return (a->data && b->central) || (a->central && b->data);
}

/* ---- assigners */

#define GE_DESCRIPTOR_SIZE 1024

/* 3.3 */
typedef struct
{
  const char *name;
  gboolean single_range; /* max-block: one range, the largest size */
  gboolean use_range, ascending, first_release, priority, level2;
} GeStrategy;

typedef struct _GePools GePools;           /* apply.c */
typedef struct _GeContinuous GeContinuous; /* continuous.c */

typedef struct
{
  const GeModel *model;
  GeStrategy strategy;
  GArray *ranges;    /* guint64, ascending; empty: block size is align(size) (1.2) */
  gboolean reuse;    /* 2.3: reuse enabled */
  GPtrArray *blocks; /* B: GeBlock, not owned */
  GePools *pools;
  /* released when the next node starts; one list, as the order between streams shows nowhere */
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
  GError *error; /* first error found; the walk goes on harmlessly, the planner reports it */
} GeAssigner;

/* 3.1, 3.2; empty: block size is align(size). */
GArray *ge_strategy_ranges (const GeModel *model, const GeStrategy *strategy);
GeAssigner *ge_assigner_new (const GeModel *model, const GeStrategy *strategy);
void ge_assigner_free (GeAssigner *assigner);
/* 2.3: level 1. */
void ge_assigner_walk (GeAssigner *assigner);
/* 2.3, 4.1, 4.2: everything up to the score. */
void ge_assigner_run (GeAssigner *assigner);
guint64 ge_space_type (GeSpace space); /* GEMEM_MEMORY_* */
guint64 ge_space_base (GeSpace space); /* where its offsets begin (0.1) */
GeSpace ge_space_of_type (guint64 type);

/* ---- the loop (2.3-2.5) */

/* The loop variables of 2.3, as 2.4, 2.5 and the hooks see and change them. */
typedef struct
{
  guint32 node, index; /* output or workspace `index` of `node` */
  GeKind kind;
  guint32 begin;
  guint32 end_request; /* endreq; 0, GE_MAX or a time */
  gboolean sep;        /* the block takes all inputs of a separately cleaned node (5.2) */
  gboolean op_reuse;   /* node-level: once cleared it stays cleared [QUIRK] */
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

/* 2.5: a pooled or new block for @request, which wants @size bytes (`real`); never NULL.  @zc as
 * 7.1 says. */
GeBlock *ge_apply (GeAssigner *assigner, GeRequest *request, guint64 size, gboolean zc);
/* 2.4; NULL: zero list. */
GeBlock *ge_apply_output (GeAssigner *assigner, GeRequest *request);
/* 1.2 */
guint64 ge_block_size (const GeAssigner *assigner, guint64 size);
/* Connected input anchors in the symbol of @tensor (2.4). */
guint32 ge_symbol_inputs (const GeAssigner *assigner, guint32 tensor);
/* Appends a new block to B. */
GeBlock *ge_block_new (GeAssigner *assigner, guint64 size, gint32 stream, GeSpace space,
                       gboolean reuse_mem);
void ge_zero (GeAssigner *assigner, guint32 node, guint32 output);
void ge_suspend (GeAssigner *assigner, GeBlock *block);
void ge_release (GeAssigner *assigner, GeBlock *block, gint32 consumer_stream, gboolean no_release);

void ge_pools_push (GeAssigner *assigner, GeBlock *block);
GeBlock *ge_pools_take (GeAssigner *assigner, const GeRequest *request, guint64 size, gint32 stream,
                        gboolean data, gboolean central);
void ge_pools_free (GePools *pools);

/* 7.1.  @continuous as there; @noalign for ByGE. */
gboolean ge_is_zero_copy (const GeModel *model, guint32 node, guint32 output, gboolean continuous,
                          guint64 noalign);
/* 7.4: every node of the symbol of @tensor may see changing addresses. */
gboolean ge_symbol_refreshable (const GeModel *model, guint32 tensor);
/* Attribute "central-atomic" of an output of 6.5 is model->central_out. */

/* ---- after the loop */

/* ge_std_sort(), or with quirks=no a stable sort. */
void ge_sort (const GeOptions *options, gpointer *array, gsize n, GeLess less, gpointer data);

void ge_pack (GeAssigner *assigner); /* 4.1 */
/* 4.3: resizes the labelled blocks and appends virtual parents */
void ge_batch (GeAssigner *assigner);
guint64 ge_resize (GeBlock *block);             /* 4.2: resizes children first; returns the size */
void ge_place (GeAssigner *assigner);           /* 4.2 */
void ge_place_zero_copy (GeAssigner *assigner); /* 7.2 */
/* The item of an output gets @offset in @space; @bytes are its own there (fixups.c). */
void ge_place_output (GeAssigner *assigner, guint32 tensor, guint64 offset, guint8 space,
                      guint64 bytes);

/* ---- hooks
 *
 * continuous.c (5).  Each is called only where the model knows continuous nodes at all, except
 * ge_continuous_new(). */

/* NULL when the graph has no continuous memory (raw attributes count). */
GeContinuous *ge_continuous_new (const GeModel *model);
void ge_continuous_free (GeContinuous *continuous);
/* 5.5: if output (n,i) belongs to an output->input chain: allocates it, TRUE (later outputs of n
 * are not looked at). */
gboolean ge_continuous_chain (GeAssigner *assigner, GeRequest *request);
/* 5.2: sets continuous, anchor_*, zc_ok, n_streams; may set sep, op_reuse, begin, end_request
 * (5.3). */
void ge_continuous_role (GeAssigner *assigner, GeRequest *request);
/* 5.1 */
gboolean ge_continuous_not_needed (GeAssigner *assigner, const GeRequest *request);
/* 5.4: n is padded-continuous-output and request->continuous is FALSE: allocates, TRUE. */
gboolean ge_continuous_output (GeAssigner *assigner, GeRequest *request);
/* 2.3: continuous_blocks[anchor] := block */
void ge_continuous_record (GeAssigner *assigner, const GeRequest *request, GeBlock *block);
/* 2.4: the end of an existing symbol's block whose output feeds input 0 of a concat (5.3); lowers
 * request->begin.  FALSE: it does not. */
gboolean ge_continuous_end (GeAssigner *assigner, GeRequest *request, guint32 *end);
/* 2.4 `sep`: sum of align(size) over the inputs of the consumer. */
guint64 ge_continuous_total (GeAssigner *assigner, const GeRequest *request);
/* 4.2 step 1: groups to the tail of B. */
void ge_continuous_to_tail (GeAssigner *assigner);
/* 5.5: after placement every member of a chain gets head + running sizes. */
void ge_continuous_chain_offsets (GeAssigner *assigner);

/* clear.c (6). */

enum /* GeAssigner.cleared */
{
  GE_CLEARED_WANTED = 1, /* ge_clear_place() has to place it */
  GE_CLEARED_PLACED,
};

/* 6.1: no block, its offset is assigned by ge_clear_place(). */
gboolean ge_clear_is_central (GeAssigner *assigner, const GeRequest *request);
gboolean ge_clear_is_central_workspace (const GeModel *model, guint32 node, guint32 workspace);
/* 6.2: after the feature map and the buffer pools. */
void ge_clear_place (GeAssigner *assigner);

/* What follows once the winner is known (0.2 steps 5-9), in this order. */

void ge_buffer_pools_place (GeAssigner *assigner); /* buffer-pools.c, 7.7 */
/* ge_clear_place(), ge_place_zero_copy() */
void ge_fix_offsets (GeAssigner *assigner); /* fixups.c, 5.6 */
/* segments.c, 8.1.  @feature_map, @cleared: the HBM counter after 4.2 and before the zero-copy
 * tail. */
void ge_segments (const GeAssigner *assigner, GememPlan *plan, guint64 feature_map,
                  guint64 cleared);
/* memset.c: lines as GE logs them; the plan has its items and segments. */
void ge_log_variables (const GeModel *model, GememPlan *plan);     /* 7.3 */
void ge_log_memsets (const GeAssigner *assigner, GememPlan *plan); /* 6.4 */
