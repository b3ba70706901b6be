/* continuous.h - tensors that must lie side by side (ge-static.md 5).
 *
 * Without such memory (assigner->continuous is NULL) only gemem_ge_continuous_new()
 * may be called. */
#pragma once

#include "planners/ge/state.h"

/* NULL if the graph has no continuous memory (by its raw attributes). */
GeContinuous *gemem_ge_continuous_new (const GeModel *model);
void gemem_ge_continuous_free (GeContinuous *continuous);
/* 5.5: TRUE if output (n,i) belongs to an output->input chain, which is then allocated; later
 * outputs of n are skipped. */
gboolean gemem_ge_continuous_chain (GeAssigner *assigner, GeRequest *request);
/* 5.2: sets continuous, anchor_*, zc_ok, n_streams; may set sep, op_reuse, begin, end_request
 * (5.3). */
void gemem_ge_continuous_role (GeAssigner *assigner, GeRequest *request);
/* 5.1 */
gboolean gemem_ge_continuous_not_needed (GeAssigner *assigner, const GeRequest *request);
/* 2.3: continuous_blocks[anchor] := block */
void gemem_ge_continuous_record (GeAssigner *assigner, const GeRequest *request, GeBlock *block);
/* 2.4: the end of an existing symbol's block if its output feeds input 0 of a concat (5.3); lowers
 * request->begin.  FALSE: no such input. */
gboolean gemem_ge_continuous_end (GeAssigner *assigner, GeRequest *request, guint32 *end);
/* 2.4 `sep`: sum of align(size) over the inputs of the consumer. */
guint64 gemem_ge_continuous_total (GeAssigner *assigner);
/* 4.2 step 1: moves the groups to the tail of B. */
void gemem_ge_continuous_to_tail (GeAssigner *assigner);
/* 5.5: after placement, places every member of a chain at head + running sizes. */
void gemem_ge_continuous_chain_offsets (GeAssigner *assigner);
