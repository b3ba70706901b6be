/* stream-edges.c - which nodes of one stream are known to run after which of another, and the life
 * times that follow.
 *
 * in_edges[dst][src] maps nodes on dst to the last node on src that is known to have finished when
 * they start.  Only direct edges and one step of transitivity are stored, and an edge is dropped if
 * a later one crosses it: the tables know less than the graph, never more.  Nodes without a valid
 * stream have no edges.
 *
 * Invariant: after pruning, keys and peers of a table ascend strictly.
 * Cost: O(edges x streams) entries in sorted arrays, almost always added at the end.
 * Origin: ge-static.md 2.6.
 */
#include "config.h"

#include <string.h>

#include "planners/ge/anchors.h"
#include "planners/ge/stream-edges.h"

/* ---- sorted arrays */

static inline guint32
field_of (const GeEdge *edge, gboolean peer)
{
  return peer ? edge->peer : edge->node;
}

/* The first entry whose key (or peer) is >= @value; usually there is none. */
static inline guint
search (const GeEdges *table, guint32 value, gboolean peer)
{
  guint low = 0, high = table->n;

  if (high == 0 || field_of (&table->edges[high - 1], peer) < value)
    return high;
  while (low < high)
    {
      const guint middle = low + (high - low) / 2;

      if (field_of (&table->edges[middle], peer) < value)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static guint
find_node (const GeEdges *table, guint32 key)
{
  return search (table, key, FALSE);
}

static guint
find_peer (const GeEdges *table, guint32 peer)
{
  return search (table, peer, TRUE);
}

static void
insert_edge (GeEdges *table, guint32 key, guint32 peer)
{
  const guint at = find_node (table, key);

  if (at < table->n && table->edges[at].node == key)
    {
      table->edges[at].peer = MAX (table->edges[at].peer, peer);
      return;
    }
  if ((table->n & (table->n - 1)) == 0) /* full: capacities are powers of two */
    table->edges = g_renew (GeEdge, table->edges, MAX (1, table->n * 2));
  memmove (table->edges + at + 1, table->edges + at, (table->n - at) * sizeof (GeEdge));
  table->edges[at] = (GeEdge){ key, peer };
  table->n++;
}

static void
delete_edge (GeEdges *table, guint at)
{
  memmove (table->edges + at, table->edges + at + 1, (table->n - at - 1) * sizeof (GeEdge));
  table->n--;
}

static GeEdges *
table_of (const GeModel *model, gint32 dst, gint32 src)
{
  return &model->in_edges[(gsize) dst * model->n_streams + (gsize) src];
}

/* ---- building */

/* @later, on another stream, starts after @earlier, and so after the nodes on third streams that
 * @earlier waited for. */
static void
add_dependency (GeModel *model, guint32 earlier, guint32 later)
{
  const gint32 src = model->nodes[earlier].stream, dst = model->nodes[later].stream;

  insert_edge (table_of (model, dst, src), later, earlier);
  for (gint32 third = 0; third < (gint32) model->n_streams; third++)
    {
      const GeEdges *known = table_of (model, src, third);
      GeEdges *table = table_of (model, dst, third);
      guint at;
      guint32 peer;

      if (known->n == 0 || third == dst)
        continue;
      at = find_node (known, earlier + 1);
      if (at == 0)
        continue;
      peer = known->edges[at - 1].peer;
      at = find_node (table, later);
      if (at < table->n && table->edges[at].node > later && table->edges[at].peer < peer)
        delete_edge (table, at);
      insert_edge (table, later, peer);
    }
}

/* FALSE for nodes that run a subgraph if quirks are off: the nodes inside may be on other
 * streams. */
static gboolean
orders_stream (const GeModel *model, guint32 id)
{
  return model->nodes[id].stream >= 0 && (model->nodes[id].kind & GE_MERGE_TAINTED) == 0
         && (model->options->quirks || gemem_graph_node (model->graph, id)->n_blocks == 0);
}

static void
add_if_dependent (GeModel *model, guint32 earlier, guint32 later)
{
  if (orders_stream (model, later) && model->nodes[earlier].stream != model->nodes[later].stream)
    add_dependency (model, earlier, later);
}

/* Deletes entries whose peer is not above that of the entry before. */
static void
prune (GeEdges *table)
{
  guint kept = MIN (table->n, 1);

  for (guint i = 1; i < table->n; i++)
    if (table->edges[i].peer > table->edges[kept - 1].peer)
      table->edges[kept++] = table->edges[i];
  table->n = kept;
}

void
gemem_ge_model_fill_edges (GeModel *model)
{
  model->in_edges = g_new0 (GeEdges, (gsize) model->n_streams * model->n_streams + 1);
  for (guint32 id = 0; model->n_streams > 1 && id < model->n_nodes; id++)
    {
      const GememNode *node = gemem_graph_node (model->graph, id);

      if ((model->nodes[id].kind & (GE_MEMSET | GE_LOCAL)) != 0 || !orders_stream (model, id))
        continue;
      for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
        for (guint32 i = 0; i < gemem_graph_tensor (model->graph, t)->n_consumers; i++)
          add_if_dependent (model, id, gemem_graph_consumers (model->graph, t)[i].node);
      for (guint32 i = 0; i < node->n_successors; i++)
        add_if_dependent (model, id, gemem_graph_successors (model->graph, id)[i]);
    }
  for (gsize i = 0; i < (gsize) model->n_streams * model->n_streams; i++)
    prune (&model->in_edges[i]);
}

/* ---- queries */

guint32
gemem_ge_first_return (const GeModel *model, guint32 node, gint32 stream)
{
  const gint32 own = model->nodes[node].stream;
  const GeEdges *table;
  guint at;

  if (own == stream)
    return node;
  if (own < 0 || stream < 0)
    return GE_MAX;
  table = table_of (model, stream, own);
  at = find_peer (table, node);
  return at < table->n ? table->edges[at].node : GE_MAX;
}

guint32
gemem_ge_last_known (const GeModel *model, guint32 node, gint32 stream)
{
  const gint32 own = model->nodes[node].stream;
  const GeEdges *table;
  guint at;

  if (own == stream)
    return node;
  if (own < 0 || stream < 0)
    return GE_MIN_LIFE;
  table = table_of (model, own, stream);
  at = find_node (table, node);
  if (at == table->n && model->options->quirks) /* [QUIRK] if all keys are smaller, none counts */
    return GE_MIN_LIFE;
  if (at < table->n && table->edges[at].node == node)
    return table->edges[at].peer;
  return at > 0 ? table->edges[at - 1].peer : GE_MIN_LIFE;
}

guint32
gemem_ge_depend (const GeModel *model, gint32 dst, gint32 src, guint32 life)
{
  const GeEdges *table;
  guint at;

  if (dst < 0 || src < 0)
    return 0;
  table = table_of (model, dst, src);
  at = life == G_MAXUINT32 ? table->n : find_node (table, life + 1);
  return at > 0 ? table->edges[at - 1].peer : 0;
}

/* ---- lifetimes of symbols */

/* Extends @life by the consumer @member, as seen from @stream. */
static void
add_consumer (const GeModel *model, GeLife *life, guint32 member, gint32 stream)
{
  life->latest = MAX (life->latest, member);
  if (model->nodes[member].stream == stream)
    return;
  life->other = TRUE;
  life->other_latest = life->latest;
  life->returns = MAX (life->returns, gemem_ge_first_return (model, member, stream));
}

/* The lifetime of @symbol from its consumers, as seen from @stream; adds their streams to @streams
 * (may be NULL), except those of GE's local engine. */
static GeLife
symbol_life (const GeModel *model, const GeSymbol *symbol, gint32 stream, guint64 *streams)
{
  GeLife life = { 0 };

  for (guint32 i = 0; i < symbol->n_members; i++)
    {
      const guint32 anchor = model->members[symbol->first_member + i];
      const guint32 node = gemem_ge_anchor_node (model, anchor);
      const guint32 own = model->nodes[node].stream < 0 ? model->n_streams
                                                        : (guint32) model->nodes[node].stream;

      if (!ge_anchor_is_input (model, anchor))
        continue;
      add_consumer (model, &life, node, stream);
      if (streams != NULL && (model->nodes[node].kind & GE_LOCAL) == 0)
        streams[own / 64] |= G_GUINT64_CONSTANT (1) << (own % 64);
    }
  return life;
}

void
gemem_ge_model_fill_lives (GeModel *model)
{
  const gsize words = ge_stream_words (model);

  model->lives = g_new0 (GeLife, (gsize) model->n_symbols + 1);
  model->life_streams = g_new0 (guint64, (gsize) model->n_symbols * words + 1);
  for (guint32 s = 0; s < model->n_symbols; s++)
    {
      const GeSymbol *symbol = &model->symbols[s];

      model->lives[s] = symbol_life (
          model, symbol, model->nodes[gemem_ge_anchor_node (model, symbol->name)].stream,
          model->life_streams + s * words);
    }
}

guint32
gemem_ge_max_life (const GeModel *model, guint32 node, guint32 output, gint32 base_stream,
                   guint32 *tsym, guint64 *streams)
{
  const guint32 tensor = gemem_graph_node (model->graph, node)->first_output + output;
  const guint32 symbol = model->symbol_of[tensor];
  const gint32 stream = base_stream < 0 ? model->nodes[node].stream : base_stream;
  const gsize words = ge_stream_words (model);
  guint32 result = node;
  GeLife life;

  if (model->symbols[symbol].name != tensor
      && model->options->quirks) /* [QUIRK] only the naming output knows the readers */
    return result;
  if (stream == model->nodes[gemem_ge_anchor_node (model, model->symbols[symbol].name)].stream)
    life = model->lives[symbol];
  else
    life = symbol_life (model, &model->symbols[symbol], stream, NULL);
  if (life.other)
    result = MAX (MAX (result, life.returns), MAX (*tsym, life.other_latest));
  if (life.latest > *tsym)
    {
      *tsym = life.latest;
      result = MAX (result, life.latest);
    }
  for (gsize i = 0; streams != NULL && i < words; i++)
    streams[i] |= model->life_streams[symbol * words + i];
  return result;
}

guint32
gemem_ge_count_streams (const GeModel *model, const guint64 *streams)
{
  guint32 n = 0;

  for (guint i = 0; i < ge_stream_words (model); i++)
    n += (guint32) __builtin_popcountll (streams[i]);
  return n;
}
