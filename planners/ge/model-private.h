/* model-private.h - the steps by which model.c builds a model; each fills the fields named, from
 * those filled before it.
 * Origin: ge-static.md, sections as given. */
#pragma once

#include "planners/ge/model.h"

/* kinds.c: nodes[].kind (without GE_DIFF_PRIOR, GE_MERGE_TAINTED), nodes[].label, labels,
 * last_memset, IO-reuse flags (1.1, 2.2, 5, 6.1, 7.4). */
void ge_model_fill_kinds (GeModel *model);

/* checks.c: what 9.3 checks before planning. */
gboolean ge_model_check_attributes (const GeModel *model, GError **error);

/* streams.c.  Effective stream ids per node (1.3), then their normalisation (1.4), then stream
 * numbers, GE_DIFF_PRIOR, GE_MERGE_TAINTED, output_stream (7.6).  Errors: more than GE_STREAMS_MAX
 * streams. */
gint64 *ge_model_effective_streams (const GeModel *model);
gboolean ge_model_fill_streams (GeModel *model, gint64 *ids, GError **error);
/* stream-edges.c: in_edges (2.6); later, once there are symbols, lives and life_streams. */
void ge_model_fill_edges (GeModel *model);
void ge_model_fill_lives (GeModel *model);

/* symbols.c: is_reference, referenced_input, origin, symbols (slices, names), members, symbol_of
 * (1.6), in-place pairs (8.3) included. */
void ge_model_fill_symbols (GeModel *model, const gint64 *streams);
/* symbol-info.c: sizes, types, flags of symbols, multi_same_out (2.2). */
void ge_model_fill_symbol_info (GeModel *model);

/* inplace.c: the usable pairs of 8.3 as (tensor, input of its node) appended to @pairs, by node
 * id.  @symbol gives an anchor's symbol. */
typedef struct
{
  guint32 tensor, input;
} GeInplacePair;
typedef guint32 (*GeSymbolOf) (gpointer data, guint32 anchor);
void ge_model_inplace_pairs (const GeModel *model, const gint64 *streams, GeSymbolOf symbol,
                             gpointer data, GArray *pairs);

/* continuous-model.c: takes_nopadding, takes_padded (5), cascade (2.8), central_out (6.5). */
void ge_model_fill_continuous (GeModel *model);

static inline guint32
ge_input_anchor (const GeModel *model, const GememNode *node, guint32 input)
{
  return model->n_tensors + node->first_input + input;
}
