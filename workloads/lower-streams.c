/* lower-streams.c - the stream on which a node runs, and when it is known to be done; see lower.h.
 *
 * A node is known to be done when a node starts that had to wait for it: the next on its stream, a
 * consumer, a control successor.  Indirect successors start later, since edges go from smaller to
 * larger ids.  O(nodes + edges).
 */
#include "config.h"

#include "base/idmap.h"
#include "workloads/lower.h"

gint64
gemem_lower_stream (const GememGraph *graph, const GememNode *node)
{
  gint64 stream;

  if (gemem_graph_int (graph, node->attributes, GEMEM_ATTRIBUTE_SUB_STREAM_ID, &stream))
    return stream;
  if (gemem_graph_int (graph, node->attributes, GEMEM_ATTRIBUTE_THREAD_SCOPE_ID, &stream))
    return -1;
  return node->stream;
}

/* The first node after @id that waits for it by data or control; the number of nodes: none. */
static guint32
first_waiter (const GememGraph *graph, guint32 id, const guint8 *skipped)
{
  const GememNode *node = gemem_graph_node (graph, id);
  guint32 first = gemem_graph_n_nodes (graph);

  for (guint32 o = 0; o < node->n_outputs; o++)
    for (guint32 c = 0; c < gemem_graph_tensor (graph, node->first_output + o)->n_consumers; c++)
      {
        const guint32 consumer = gemem_graph_consumers (graph, node->first_output + o)[c].node;

        if (consumer > id && gemem_lower_runs (skipped, consumer))
          first = MIN (first, consumer);
      }
  for (guint32 s = 0; s < node->n_successors; s++)
    {
      const guint32 successor = gemem_graph_successors (graph, id)[s];

      if (successor > id && gemem_lower_runs (skipped, successor))
        first = MIN (first, successor);
    }
  return first;
}

guint32 *
gemem_lower_after (const GememGraph *graph, const guint8 *skipped)
{
  const guint32 n = gemem_graph_n_nodes (graph);
  guint32 *after = g_new0 (guint32, n + 1);
  GememIdMap *next = gemem_idmap_new (sizeof (guint64)); /* stream -> its next node */

  for (guint32 id = n; id-- > 0;)
    {
      const gint64 stream = gemem_lower_stream (graph, gemem_graph_node (graph, id));
      gboolean known = FALSE;
      guint64 *following;

      if (!gemem_lower_runs (skipped, id))
        continue;
      after[id] = first_waiter (graph, id, skipped) + 1;
      if (stream < 0)
        continue;
      following = gemem_idmap_insert (next, (guint64) stream, &known);
      if (known)
        after[id] = MIN (after[id], (guint32) *following + 1);
      *following = id;
    }
  gemem_idmap_free (next);
  return after;
}

gboolean
gemem_lower_has_streams (const GememGraph *graph)
{
  gint64 only = -1;

  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const gint64 stream = gemem_lower_stream (graph, gemem_graph_node (graph, id));

      if (stream >= 0 && only >= 0 && stream != only)
        return TRUE;
      if (stream >= 0)
        only = stream;
    }
  return FALSE;
}
