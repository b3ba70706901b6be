/* ge-private.h - what the files of the GE planners offer each other, file by file, where it is a
 * few functions. */
#pragma once

#include "planners/ge/model.h"
#include "planners/ge/state.h"

/* ---- apply.c: a block for an output or a workspace (ge-static.md 2.5) */

/* Returns a pooled or new block for the @size bytes of @request (`real` of 2.5); never NULL.  @zc:
 * zero-copy (7.1).  May lower request->begin and set request->end_request. */
GeBlock *gemem_ge_apply (GeAssigner *assigner, GeRequest *request, guint64 size, gboolean zc);
/* Appends @request to the occupants of @block; @flags: GE_OCCUPANT_*. */
void gemem_ge_add_occupant (GeAssigner *assigner, GeBlock *block, const GeRequest *request,
                            gint32 stream, guint64 real, guint8 flags);
/* The size of a block for @size bytes (1.2, 3.2). */
guint64 gemem_ge_block_size (const GeAssigner *assigner, guint64 size);

/* ---- apply-output.c: the block of an output (ge-static.md 2.4) */

/* The block of the output of @request.  NULL: it has no block and lies at 0 for now. */
GeBlock *gemem_ge_apply_output (GeAssigner *assigner, GeRequest *request);

/* ---- assigner.c: one GE assigner, from its start to its score (ge-static.md 2.3) */

GeAssigner *gemem_ge_assigner_new (const GeModel *model, const GeStrategy *strategy);
void gemem_ge_assigner_free (GeAssigner *assigner);
/* Level 1: assigns a block to every output and workspace. */
void gemem_ge_assigner_walk (GeAssigner *assigner);
/* Level 1, level 2 (4.1) and placement (4.2), up to the score. */
void gemem_ge_assigner_run (GeAssigner *assigner);

/* ---- batch.c: blocks of different batch labels overlay each other (ge-static.md 4.3) */

/* Resizes the labelled blocks and appends virtual parents to B. */
void gemem_ge_batch (GeAssigner *assigner);

/* ---- buffer-pools.c: pools whose layout the graph specifies (ge-static.md 7.7) */

/* Places the pools and all outputs in them behind the feature map. */
void gemem_ge_buffer_pools_place (GeAssigner *assigner);

/* ---- chains.c: outputs side by side that flow into inputs side by side (ge-static.md 5.5) */

typedef struct _GeChains GeChains;

/* NULL if the graph has none. */
GeChains *gemem_ge_chains_new (const GeModel *model);
void gemem_ge_chains_free (GeChains *chains);
/* FALSE: the output belongs to no chain.  TRUE: the first output of its chain has allocated memory
 * for all, any other output nothing. */
gboolean gemem_ge_chains_allocate (GeAssigner *assigner, GeChains *chains, GeRequest *request);
/* After placement: places every member at the head of its chain plus the sizes before it. */
void gemem_ge_chains_place (GeAssigner *assigner, const GeChains *chains);

/* ---- checks.c: the checks of a graph before planning (ge-static.md 9.3) */

/* FALSE: GEMEM_ERROR_INPUT, with node and attribute. */
gboolean gemem_ge_model_check_attributes (const GeModel *model, GError **error);

/* ---- clear.c: memory that one memset at the head of the graph clears (ge-static.md 6.1, 6.2) */

enum /* GeAssigner.cleared */
{
  GE_CLEARED_WANTED = 1, /* gemem_ge_clear_place() must place it */
  GE_CLEARED_PLACED,
};

/* 6.1: TRUE if it gets no block; gemem_ge_clear_place() assigns its offset. */
gboolean gemem_ge_clear_is_central (GeAssigner *assigner, const GeRequest *request);
gboolean gemem_ge_clear_is_central_workspace (const GeModel *model, guint32 node,
                                              guint32 workspace);
/* 6.2: after the feature map and the buffer pools. */
void gemem_ge_clear_place (GeAssigner *assigner);

/* ---- continuous-model.c: properties of continuous and cleared memory, found before planning */

/* Fills takes_nopadding and takes_padded (5), cascade (2.8), central_out (6.5). */
void gemem_ge_model_fill_continuous (GeModel *model);

/* 5: depth-first search from consumer @consumer (in edge order) of @tensor through references for
 * an input of a node with the predicate (GE_NOPADDING_IN or GE_PADDED_IN); FALSE: none.  O(1). */
gboolean gemem_ge_find_continuous (const GeModel *model, guint32 tensor, guint32 consumer,
                                   guint32 predicate, guint32 *node, guint32 *input);

/* ---- fixups.c: offsets that follow other offsets (ge-static.md 5.6) */

/* Runs after all other placement. */
void gemem_ge_fix_offsets (GeAssigner *assigner);

/* ---- inplace.c: which outputs may be written over an input of their node (ge-static.md 8.3) */

typedef struct
{
  guint32 tensor, input; /* an output, and an input index of its node */
} GeInplacePair;

/* TRUE if any node declares such outputs. */
gboolean gemem_ge_inplace_is_declared (const GeModel *model);
/* Appends the usable pairs to @pairs, by node id.  @classes: per anchor, its alias class,
 * represented by any of its anchors; @streams: effective streams, not normalised. */
void gemem_ge_inplace_pairs (const GeModel *model, const gint64 *streams, const guint32 *classes,
                             GArray *pairs);

/* ---- kinds.c: the kind of each node (ge-static.md 1.1, 2.2, 5, 6.1, 7.4) */

/* Fills nodes[].kind (without GE_DIFF_PRIOR and GE_MERGE_TAINTED), nodes[].label, labels,
 * last_memset and the IO-reuse flags. */
void gemem_ge_model_fill_kinds (GeModel *model);

/* ---- memset.c: ranges that memsets clear, addresses of variables (ge-static.md 6.4, 7.3, 11.2) */

/* Bytes of the space of variables and constants, gaps included (7.3).  O(tensors). */
guint64 gemem_ge_variable_bytes (const GeModel *model);

/* Both write lines in GE's format to the plan's log; the plan must have its items and segments. */
/* 7.3: fills plan->addresses, too. */
void gemem_ge_fix_variables (const GeModel *model, GememPlan *plan);
/* Adds the plan's memsets too. */
void gemem_ge_add_memsets (const GeAssigner *assigner, GememPlan *plan); /* 6.4 */

/* ---- pack.c: level 2: blocks inside blocks (ge-static.md 4.1) */

/* Packs the blocks of @assigner after level 1. */
void gemem_ge_pack (GeAssigner *assigner);

/* ---- padded-outputs.c: one block for outputs that lie side by side (ge-static.md 5.4) */

/* A block of @request->size bytes for all adjacent outputs, allocated by the output of @request;
 * never zero-copy. */
GeBlock *gemem_ge_continuous_allocate (GeAssigner *assigner, GeRequest *request);
/* Allocates all (padded) outputs of the node of @request; request->continuous must be FALSE. */
void gemem_ge_continuous_outputs (GeAssigner *assigner, GeRequest *request);

/* ---- place.c: sizes and offsets of blocks, and the zero-copy tail (ge-static.md 4.2, 7.2) */

void gemem_ge_place (GeAssigner *assigner);           /* 4.2 */
void gemem_ge_place_zero_copy (GeAssigner *assigner); /* 7.2 */

/* ---- pools.c: free blocks that wait for another occupant (ge-static.md 2.5) */

/* Adds @block, whose last occupant has left, unless it can never be taken. */
void gemem_ge_pools_push (GeAssigner *assigner, GeBlock *block);
/* Removes and returns a block of @size bytes on @stream that suits @request; NULL: none.  @data,
 * @central: attributes of the new occupant (6.5). */
GeBlock *gemem_ge_pools_take (GeAssigner *assigner, const GeRequest *request, guint64 size,
                              gint32 stream, gboolean data, gboolean central);
void gemem_ge_pools_free (GePools *pools);

/* ---- release.c: consumers leave their blocks (ge-static.md 2.7) */

/* A consumer on @consumer_stream leaves @block.  After the last one the block's end is known and it
 * enters its pool.  @no_release: the block is never reused. */
void gemem_ge_release (GeAssigner *assigner, GeBlock *block, gint32 consumer_stream,
                       gboolean no_release);

/* ---- segments.c: the segments of a plan, which may be mapped one by one (ge-static.md 8.1) */

/* Adds the segments to @plan.  @feature_map, @cleared: the HBM counter after 4.2 and before the
 * zero-copy tail. */
void gemem_ge_segments (const GeAssigner *assigner, GememPlan *plan, guint64 feature_map,
                        guint64 cleared);

/* ---- streams.c: the effective stream of every node (ge-static.md 1.3, 1.4, 7.6) */

/* Effective stream ids per node, not normalised (1.3); g_free(). */
gint64 *gemem_ge_model_effective_streams (const GeModel *model);
/* Normalises @ids (1.4) and fills streams, nodes[].stream, GE_DIFF_PRIOR, GE_MERGE_TAINTED and
 * output_stream (7.6).  Errors: GEMEM_ERROR_INPUT: more than GE_STREAMS_MAX streams. */
gboolean gemem_ge_model_fill_streams (GeModel *model, gint64 *ids, GError **error);

/* ---- symbol-info.c: size, memory type and flags of symbols (ge-static.md 1.2, 2.2) */

/* Fills size, type and flags of the symbols, and multi_same_out. */
void gemem_ge_model_fill_symbol_info (GeModel *model);

/* ---- symbols.c: alias classes: anchors that must share one address (ge-static.md 1.6) */

/* Fills is_reference, referenced_input, origin, symbols (members and names), members, symbol_of,
 * including in-place pairs (8.3).  @streams: effective, not normalised. */
void gemem_ge_model_fill_symbols (GeModel *model, const gint64 *streams);

/* ---- zero-copy.c: which tensors the caller may supply at run time (ge-static.md 7.1, 7.4) */

/* 7.1.  @continuous: the output is part of continuous memory; @noalign: its bytes without padding,
 * for ByGE. */
gboolean gemem_ge_is_zero_copy (const GeModel *model, guint32 node, guint32 output,
                                gboolean continuous, guint64 noalign);
/* 7.4: TRUE if every node of the symbol of @tensor accepts changing addresses. */
gboolean gemem_ge_symbol_refreshable (const GeModel *model, guint32 tensor);
