/* release.c - consumers leave a block; after the last one its end is known and it enters its pool
 * (ge-static.md 2.7).
 *
 * A block that is consumed on one other stream has two ends: on that stream the last consumer; on
 * its own stream the first node that is known to run after all consumers, if any.
 */
#include "config.h"

#include "planners/ge/ge-private.h"
#include "planners/ge/stream-edges.h"

/* The time by which all readers of the symbol have finished, as seen from the stream of the block;
 * *@reached: as seen from the consumers. */
static guint32
last_use (GeAssigner *a, GeBlock *block, guint32 *reached)
{
  const guint n_words = (guint) ge_stream_words (a->model);
  guint64 few[4] = { 0 };
  g_autofree guint64 *many = n_words > G_N_ELEMENTS (few) ? g_new0 (guint64, n_words) : NULL;
  guint64 *streams = many != NULL ? many : few;
  const GeOccupant *user = ge_block_last (block);
  guint32 time;

  while ((user->flags & GE_OCCUPANT_REF) != 0 && user > block->occupants)
    user--;
  *reached = a->time;
  if (user->kind != GE_KIND_OUTPUT)
    return a->time;
  /* [QUIRK] for a subgraph's output the stream of the owner counts, not that of the producer */
  time = gemem_ge_max_life (a->model, user->node, user->index,
                            a->model->options->quirks ? -1 : block->stream, reached, streams);
  if ((ge_block_last (block)->flags & GE_OCCUPANT_REF) != 0)
    gemem_ge_block_raise_out_cnt (block, gemem_ge_count_streams (a->model, streams));
  if (block->first && block->last)
    for (guint32 i = 0; i < gemem_graph_node (a->model->graph, user->node)->n_outputs; i++)
      gemem_ge_max_life (a->model, user->node, i, -1, reached, NULL);
  return time;
}

/* Records a visit in outs[@stream] of the last occupant. */
static void
visit (GeBlock *block, gint32 stream, guint32 out, guint32 end)
{
  guint32 i = 0;

  while (i < block->n_visits && block->visits[i].stream != stream)
    i++;
  if (i < block->n_visits)
    {
      block->visits[i].out = MAX (block->visits[i].out, out);
      block->visits[i].end = MAX (block->visits[i].end, end);
      return;
    }
  if (block->n_visits == block->visits_size)
    {
      block->visits_size = MAX (1, 2 * block->visits_size);
      block->visits = g_renew (GeVisit, block->visits, block->visits_size);
    }
  block->visits[block->n_visits++] = (GeVisit){ stream, out, end };
  gemem_ge_block_raise_out_cnt (block, block->n_visits);
}

static void
end_on_one_stream (GeBlock *block, gint32 consumer_stream)
{
  const GeVisit *only = &block->visits[0];

  if (block->stream != only->stream && only->end == GE_MAX)
    gemem_ge_block_set_end (block, only->out, consumer_stream);
  else
    gemem_ge_block_set_end (block, only->end, block->stream);
  if (block->diff_prior && block->stream != consumer_stream)
    gemem_ge_block_set_end (block, only->out, consumer_stream);
}

static void
end_on_several (GeBlock *block)
{
  guint32 latest = 0;

  for (guint32 i = 0; i < block->n_visits; i++)
    latest = MAX (latest, block->visits[i].end);
  if (latest == GE_MAX)
    block->same_stream = FALSE;
  gemem_ge_block_set_end (block, latest, block->stream);
}

void
gemem_ge_release (GeAssigner *a, GeBlock *block, gint32 consumer_stream, gboolean no_release)
{
  guint32 time = a->time, reached = a->time, end;

  if (block->ref_count <= 0 || !block->reuse_mem)
    return;
  if (block->stream != consumer_stream && ge_block_last (block)->kind != GE_KIND_WORKSPACE)
    block->used_by_diff = TRUE;
  if (block->used_by_diff)
    time = last_use (a, block, &reached);

  end = time;
  if (ge_block_last (block)->sym_end != GE_NEVER)
    end = MAX (end, ge_block_last (block)->sym_end);
  if (end < reached)
    end = GE_MAX;
  visit (block, consumer_stream, reached, end);
  if (--block->ref_count > 0)
    return;

  if (block->n_visits == 1)
    end_on_one_stream (block, consumer_stream);
  else
    end_on_several (block);
  if (!block->post_reuse || no_release)
    {
      ge_block_last (block)->diff_stream = GE_NO_DIFF;
      gemem_ge_block_set_end (block, GE_MAX, block->stream);
    }
  gemem_ge_pools_push (a, block);
  block->n_visits = 0;
  block->used_by_diff = FALSE;
}
