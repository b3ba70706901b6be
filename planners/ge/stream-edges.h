/* stream-edges.h - which nodes of one stream run after which of another (ge-static.md 2.6). */
#pragma once

#include "planners/ge/model.h"

/* Fills in_edges. */
void gemem_ge_model_fill_edges (GeModel *model);
/* Fills lives and life_streams; requires the symbols. */
void gemem_ge_model_fill_lives (GeModel *model);

/* The first node of @stream that is known to start after the end of @node; GE_MAX. */
guint32 gemem_ge_first_return (const GeModel *model, guint32 node, gint32 stream);
/* The last node of @stream that is known to have finished when @node starts; GE_MIN_LIFE. */
guint32 gemem_ge_last_known (const GeModel *model, guint32 node, gint32 stream);
/* The peer of the largest key <= @life in in_edges[dst][src], else 0 (4.1 depend). */
guint32 gemem_ge_depend (const GeModel *model, gint32 dst, gint32 src, guint32 life);
/* max_life: returns R; updates *tsym; adds the consumers' streams to @streams (bitmap over stream
 * indexes, n_streams for the invalid one, in ge_stream_words() words; may be NULL). */
guint32 gemem_ge_max_life (const GeModel *model, guint32 node, guint32 output, gint32 base_stream,
                           guint32 *tsym, guint64 *streams);

/* Words of a bitmap of streams; the last bit is that of the invalid stream. */
static inline gsize
ge_stream_words (const GeModel *model)
{
  return model->n_streams / 64 + 1;
}
/* Number of streams in such a bitmap. */
guint32 gemem_ge_count_streams (const GeModel *model, const guint64 *streams);
