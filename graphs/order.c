/* order.c - see order.h.
 *
 * Chains.  The nodes of a stream, in id order, run one after another: a chain.  So each node
 * stores, per chain, only the first node that runs after it.  A node without a stream (-1) has no
 * next node; if it follows a node by an edge it joins the chain of a direct predecessor that is the
 * chain's last so far, or opens a chain.  A node that follows no other needs no chain, as no query
 * can be true for it; data and constants need none either, as no query concerns them.
 *
 * Blocks.  An owner (a node with blocks that hold nodes) runs nothing itself.  An edge to the owner
 * leads to its GATE, which reaches whatever the inner nodes reach; inner nodes reach what the owner
 * reaches.  An owner counts on its stream (has a TURN there) only if all inner nodes run on that
 * stream; the next node after it is then the first after its inner nodes.
 *
 * Rows are filled from the last id to the first; a row is final when its node's turn comes, except
 * an owner's, which its consumers (of larger ids than the inner nodes) fill beforehand.
 *
 * Bound: at most MAX_CELLS entries.  Streams and chains beyond it have no column; their nodes are
 * known to run only after nodes of the same stream, which is safe.
 */
#include "config.h"

#include <string.h>

#include "graphs/meaning.h"
#include "graphs/order.h"

#define MAX_CELLS (G_GUINT64_CONSTANT (1) << 27)
#define MAX_CHAINS G_GUINT64_CONSTANT (4096)
#define NOT_MET (GEMEM_NONE - 1)

struct _GememGraphOrder
{
  const GememGraph *graph;
  guint32 n, n_chains;
  guint32 *chain;    /* per node: column, or GEMEM_NONE */
  guint32 *previous; /* per node: the previous one in its chain, or GEMEM_NONE */
  guint32 *last;     /* per chain */
  guint32 *first;    /* [node * n_chains + chain]: the first node that runs after; or GEMEM_NONE */
  guint8 *owner;     /* per node: has blocks that hold nodes */
  gint64 *turn;      /* per node: the stream it has a turn on, or -1 */
  guint32 unordered; /* 1 + the last node that may write memory and has no chain; 0: none */
};

/* ---- owners and turns */

static gboolean
has_order_edge (guint32 from, guint32 to)
{
  return from < to; /* all edges but those of loops ascend */
}

/* The node that owns the block of @node, or GEMEM_NONE. */
static guint32
owner_of (const GememGraph *graph, guint32 node)
{
  const guint32 block = gemem_graph_node (graph, node)->block;

  return block == 0 ? GEMEM_NONE : gemem_graph_block (graph, block)->node;
}

/* Finds owners, and the streams on which nodes have turns. */
static void
find_turns (GememGraphOrder *order)
{
  const GememGraph *graph = order->graph;

  for (guint32 id = 0; id < order->n; id++)
    {
      const guint32 owner = owner_of (graph, id);

      order->turn[id] = gemem_graph_node (graph, id)->stream;
      if (owner != GEMEM_NONE)
        order->owner[owner] = TRUE;
    }
  for (guint32 id = 0; id < order->n;
       id++) /* an owner with an inner node on another stream has no turn */
    if (!order->owner[id])
      for (guint32 owner = owner_of (graph, id); owner != GEMEM_NONE;
           owner = owner_of (graph, owner))
        if (order->turn[owner] != order->turn[id])
          order->turn[owner] = -1;
}

static gboolean
never_asks_for_memory (const GememNode *node)
{
  return gemem_node_is_data (node) || gemem_node_is_constant (node);
}

/* ---- chains */

typedef struct
{
  GememGraphOrder *order;
  GHashTable *streams; /* gint64 -> chain + 1 */
  GArray *last;        /* guint32 per chain */
  guint32 limit;
} Chains;

static void
append_to_chain (Chains *chains, guint32 chain, guint32 id)
{
  guint32 *last = &g_array_index (chains->last, guint32, chain);

  chains->order->chain[id] = chain;
  chains->order->previous[id] = *last;
  *last = id;
}

static guint32
new_chain (Chains *chains)
{
  const guint32 none = GEMEM_NONE;

  if (chains->last->len >= chains->limit)
    return GEMEM_NONE;
  g_array_append_val (chains->last, none);
  return chains->last->len - 1;
}

static guint32
chain_of_stream (Chains *chains, gint64 *stream)
{
  guint32 chain = GPOINTER_TO_UINT (g_hash_table_lookup (chains->streams, stream));

  if (chain > 0)
    return chain - 1;
  chain = new_chain (chains);
  if (chain != GEMEM_NONE)
    g_hash_table_insert (chains->streams, stream, GUINT_TO_POINTER (chain + 1));
  return chain;
}

/* Finds a chain for a node without a turn: one that ends at a direct predecessor, else a new one,
 * else none. */
static guint32
chain_of_edges (Chains *chains, guint32 id)
{
  const GememGraph *graph = chains->order->graph;
  const GememNode *node = gemem_graph_node (graph, id);
  gboolean follows = owner_of (graph, id) != GEMEM_NONE;

  if (never_asks_for_memory (node))
    return GEMEM_NONE;

  for (guint32 i = 0; i < node->n_inputs + node->n_controls; i++)
    {
      const guint32 tensor = i < node->n_inputs ? gemem_graph_inputs (graph, id)[i].tensor
                                                : GEMEM_NONE;
      guint32 from, chain;

      if (i < node->n_inputs && tensor == GEMEM_NONE)
        continue;
      from = i < node->n_inputs ? gemem_graph_tensor (graph, tensor)->node
                                : gemem_graph_controls (graph, id)[i - node->n_inputs];
      chain = chains->order->chain[from];
      if (!has_order_edge (from, id))
        continue;
      follows = TRUE;
      if (chain != GEMEM_NONE && chains->order->turn[from] == -1 && !chains->order->owner[from]
          && g_array_index (chains->last, guint32, chain) == from)
        return chain;
    }
  return follows ? new_chain (chains) : GEMEM_NONE;
}

/* Data of a subgraph that stands for an unconnected input of the owner has its own memory. */
static gboolean
is_orphan (const GememGraph *graph, guint32 id)
{
  const GememNode *node = gemem_graph_node (graph, id);
  const guint32 owner = owner_of (graph, id);
  gint64 index;

  return owner != GEMEM_NONE
         && gemem_graph_int (graph, node->attributes, GEMEM_ATTRIBUTE_PARENT_NODE_INDEX, &index)
         && (index < 0 || index >= gemem_graph_node (graph, owner)->n_inputs
             || gemem_graph_inputs (graph, owner)[index].tensor == GEMEM_NONE);
}

static void
find_chains (GememGraphOrder *order)
{
  Chains chains = { order, g_hash_table_new (g_int64_hash, g_int64_equal),
                    g_array_new (FALSE, FALSE, sizeof (guint32)), 0 };

  chains.limit = (guint32) MIN (MAX_CHAINS, MAX (1, MAX_CELLS / MAX (order->n, 1)));
  for (guint32 id = 0; id < order->n; id++)
    {
      const guint32 chain = order->turn[id] != -1 ? chain_of_stream (&chains, &order->turn[id])
                                                  : chain_of_edges (&chains, id);

      if (chain != GEMEM_NONE)
        append_to_chain (&chains, chain, id);
      else if (!never_asks_for_memory (gemem_graph_node (order->graph, id))
               || is_orphan (order->graph, id))
        order->unordered = id + 1;
    }
  order->n_chains = chains.last->len;
  order->last = (guint32 *) (gpointer) g_array_free (chains.last, FALSE);
  g_hash_table_unref (chains.streams);
}

/* ---- rows */

static guint32 *
row_of (const GememGraphOrder *order, guint32 node)
{
  return order->first + (gsize) node * order->n_chains;
}

static void
join_row (const GememGraphOrder *order, guint32 *row, const guint32 *other)
{
  for (guint32 c = 0; c < order->n_chains; c++)
    row[c] = MIN (row[c], other[c]);
}

typedef struct
{
  GememGraphOrder *order;
  guint32 **gates; /* per owner: row of its inner nodes; others: NULL */
  /* per owner: first on its stream after its inner nodes; NOT_MET while no inner node was met */
  guint32 *behind;
  guint32 *next; /* per chain: the node with the next turn */
} Fill;

/* Adds @to, and everything it reaches, to @row. */
static void
reach (const Fill *fill, guint32 *row, guint32 to)
{
  const guint32 chain = fill->order->chain[to];

  if (chain != GEMEM_NONE)
    row[chain] = MIN (row[chain], to);
  join_row (fill->order, row, row_of (fill->order, to));
  if (fill->gates[to] != NULL)
    join_row (fill->order, row, fill->gates[to]);
}

static void
reach_successors (const Fill *fill, guint32 id)
{
  const GememGraph *graph = fill->order->graph;
  const GememNode *node = gemem_graph_node (graph, id);
  guint32 *row = row_of (fill->order, id);

  for (guint32 o = 0; o < node->n_outputs; o++)
    {
      const GememConsumer *consumers = gemem_graph_consumers (graph, node->first_output + o);

      for (guint32 i = 0; i < gemem_graph_tensor (graph, node->first_output + o)->n_consumers; i++)
        if (has_order_edge (id, consumers[i].node))
          reach (fill, row, consumers[i].node);
    }
  for (guint32 i = 0; i < node->n_successors; i++)
    if (has_order_edge (id, gemem_graph_successors (graph, id)[i]))
      reach (fill, row, gemem_graph_successors (graph, id)[i]);
}

/* Enters @id in the rows of the owners that it waits for directly: their inner nodes, of smaller
 * ids than @id, need it before the owner is visited. */
static void
tell_owners (const Fill *fill, guint32 id)
{
  const GememGraph *graph = fill->order->graph;
  const GememNode *node = gemem_graph_node (graph, id);

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 tensor = gemem_graph_inputs (graph, id)[i].tensor;
      const guint32 from = tensor != GEMEM_NONE ? gemem_graph_tensor (graph, tensor)->node
                                                : GEMEM_NONE;

      if (from != GEMEM_NONE && fill->order->owner[from] && has_order_edge (from, id))
        reach (fill, row_of (fill->order, from), id);
    }
  for (guint32 i = 0; i < node->n_controls; i++)
    {
      const guint32 from = gemem_graph_controls (graph, id)[i];

      if (fill->order->owner[from] && has_order_edge (from, id))
        reach (fill, row_of (fill->order, from), id);
    }
}

/* Makes an inner node reach everything its owners reach. */
static void
follow_owners (const Fill *fill, guint32 id)
{
  for (guint32 owner = owner_of (fill->order->graph, id); owner != GEMEM_NONE;
       owner = owner_of (fill->order->graph, owner))
    {
      const guint32 chain = fill->order->turn[owner] != -1 ? fill->order->chain[owner] : GEMEM_NONE;

      if (fill->behind[owner] == NOT_MET)
        fill->behind[owner] = chain != GEMEM_NONE ? fill->next[chain] : GEMEM_NONE;
      join_row (fill->order, row_of (fill->order, id), row_of (fill->order, owner));
    }
}

/* Makes the gates around @id reach @id and everything it reaches. */
static void
enter_gates (const Fill *fill, guint32 id)
{
  for (guint32 owner = owner_of (fill->order->graph, id); owner != GEMEM_NONE;
       owner = owner_of (fill->order->graph, owner))
    {
      if (fill->gates[owner] == NULL)
        {
          fill->gates[owner] = g_new (guint32, fill->order->n_chains + 1);
          memset (fill->gates[owner], 0xff, sizeof (guint32) * fill->order->n_chains);
        }
      reach (fill, fill->gates[owner], id);
    }
}

static void
fill_row (const Fill *fill, guint32 id)
{
  const GememGraphOrder *order = fill->order;
  const gboolean has_turn = order->turn[id] != -1;
  const guint32 chain = order->chain[id];
  guint32 next = has_turn && chain != GEMEM_NONE ? fill->next[chain] : GEMEM_NONE;

  if (order->owner[id] && has_turn && fill->behind[id] != NOT_MET)
    next = fill->behind[id];
  follow_owners (fill, id);
  reach_successors (fill, id);
  if (next != GEMEM_NONE)
    reach (fill, row_of (order, id), next);
  if (has_turn && chain != GEMEM_NONE)
    fill->next[chain] = id;
  enter_gates (fill, id);
  tell_owners (fill, id);
}

GememGraphOrder *
gemem_graph_order_new (const GememGraph *graph)
{
  GememGraphOrder *order = g_new0 (GememGraphOrder, 1);
  const guint32 n = gemem_graph_n_nodes (graph);
  Fill fill = { order, g_new0 (guint32 *, (gsize) n + 1), g_new (guint32, (gsize) n + 1), NULL };

  order->graph = graph;
  order->n = n;
  order->chain = g_new (guint32, (gsize) n + 1);
  order->previous = g_new (guint32, (gsize) n + 1);
  order->turn = g_new (gint64, (gsize) n + 1);
  order->owner = g_new0 (guint8, (gsize) n + 1);
  for (guint32 id = 0; id < n; id++)
    {
      order->chain[id] = order->previous[id] = GEMEM_NONE;
      fill.behind[id] = NOT_MET;
    }
  find_turns (order);
  find_chains (order);
  order->first = g_new (guint32, (gsize) n * order->n_chains + 1);
  memset (order->first, 0xff, sizeof (guint32) * (gsize) n * order->n_chains);
  fill.next = g_new (guint32, order->n_chains + 1);
  memset (fill.next, 0xff, sizeof (guint32) * order->n_chains);
  for (guint32 id = n; id-- > 0;)
    fill_row (&fill, id);
  for (guint32 id = 0; id < n; id++)
    g_free (fill.gates[id]);
  g_free (fill.gates);
  g_free (fill.behind);
  g_free (fill.next);
  return order;
}

void
gemem_graph_order_free (GememGraphOrder *order)
{
  if (order == NULL)
    return;
  g_free (order->chain);
  g_free (order->previous);
  g_free (order->turn);
  g_free (order->owner);
  g_free (order->last);
  g_free (order->first);
  g_free (order);
}

/* ---- queries */

gboolean
gemem_graph_order_after (const GememGraphOrder *order, guint32 later, guint32 earlier)
{
  const guint32 chain = order->chain[later];

  if (chain != GEMEM_NONE)
    return row_of (order, earlier)[chain] <= later;
  return order->turn[later] != -1 && order->turn[later] == order->turn[earlier] && later > earlier
         && !order->owner[earlier];
}

guint32
gemem_graph_order_chain (const GememGraphOrder *order, guint32 node)
{
  return order->owner[node] ? GEMEM_NONE : order->chain[node];
}

guint32
gemem_graph_order_safe (const GememGraphOrder *order, const guint32 *nodes, guint n)
{
  guint32 safe = n > 0 ? order->unordered : 0;

  for (guint i = 0; i < n; i++)
    {
      const guint32 *row = row_of (order, nodes[i]);

      safe = MAX (safe, nodes[i] + 1);
      for (guint32 c = 0; c < order->n_chains; c++)
        {
          const guint32 before = row[c] == GEMEM_NONE ? order->last[c] : order->previous[row[c]];

          if (before != GEMEM_NONE)
            safe = MAX (safe, before + 1);
        }
    }
  return MIN (safe, order->n);
}
