/* last-users.c - the operators after which PaddlePaddle's graph executors treat a variable as
 * garbage.
 *
 * These are the readers of a storage's last version, or its writer if it has no reader, without
 * those on which another of them depends through data or control edges.  A storage is garbage after
 * all of its last operators.  Streams do not count: these executors run every operator that is
 * ready.
 *
 * Method: a bit for each of 64 storages at a time is propagated backwards along the edges.  Cost:
 * O(nodes + edges), and O(edges between their users) for every 64 storages with several users after
 * the last write.  Origin: paddle.md 5.2, 5.3.
 */
#include "config.h"

#include <string.h>

#include "workloads/garbage.h"

#define LANES 64

typedef struct
{
  guint32 storage, node;
  /* number of the storage among those with several users, by first user; GEMEM_NONE: one user */
  guint32 number;
} User;

typedef struct
{
  const GememLower *lower;
  const GememGraph *graph;
  guint32 *written; /* by storage: the last node that writes it */
  guint32 *seen;    /* by storage: 1 + the last user so far */
  guint32 *number;  /* by storage: 1 + User.number; 0: none */
  GArray *users;    /* User */
  guint64 *uses;    /* by node: bits of those storages of the batch that the node uses */
  guint64 *needed;  /* by node: bits of those storages of which another user depends on this node */
} Search;

/* ---- users after the last write */

static void
add_user (Search *search, guint32 slot, guint32 node)
{
  const guint32 storage = slot != GEMEM_NONE ? search->lower->storage_of[slot] : GEMEM_NONE;
  const User user = { storage, node, GEMEM_NONE };

  if (storage == GEMEM_NONE || node < search->written[storage] || search->seen[storage] == node + 1)
    return;
  search->number[storage] = search->seen[storage] > 0; /* several users; numbered later */
  search->seen[storage] = node + 1;
  g_array_append_val (search->users, user);
}

static void
add_users (Search *search, guint32 id)
{
  const GememNode *node = gemem_graph_node (search->graph, id);

  for (guint32 i = 0; i < node->n_inputs; i++)
    add_user (search,
              gemem_lower_input_slot (search->graph, &gemem_graph_inputs (search->graph, id)[i]),
              id);
  for (guint32 o = 0; o < node->n_outputs; o++)
    add_user (search, gemem_node_output_item (node, o), id);
}

static void
mark_written (Search *search, guint32 id)
{
  const GememNode *node = gemem_graph_node (search->graph, id);

  for (guint32 o = 0; o < node->n_outputs; o++)
    {
      const guint32 storage = search->lower->storage_of[gemem_node_output_item (node, o)];

      if (storage != GEMEM_NONE)
        search->written[storage] = id;
    }
}

static int
compare_users (gconstpointer a, gconstpointer b)
{
  const User *x = a, *y = b;

  if (x->number != y->number)
    return x->number < y->number ? -1 : 1;
  if (x->node != y->node)
    return x->node < y->node ? -1 : 1;
  return x->storage < y->storage ? -1 : x->storage > y->storage;
}

static void
number_storages (Search *search)
{
  guint32 n = 0;

  for (guint i = 0; i < search->users->len; i++)
    {
      User *user = &g_array_index (search->users, User, i);

      if (search->number[user->storage] == 0)
        continue;
      if (search->seen[user->storage] != 0)
        search->number[user->storage] = ++n;
      search->seen[user->storage] = 0;
      user->number = search->number[user->storage] - 1;
    }
  g_array_sort (search->users, compare_users);
}

/* ---- users that precede other users */

static guint64
needed_by (const Search *search, guint32 later, guint32 last)
{
  return later <= last && gemem_lower_runs (search->lower->skipped, later)
             ? search->uses[later] | search->needed[later]
             : 0;
}

static guint64
needed (const Search *search, guint32 id, guint32 last)
{
  const GememNode *node = gemem_graph_node (search->graph, id);
  guint64 bits = 0;

  for (guint32 o = 0; o < node->n_outputs; o++)
    for (guint32 c = 0; c < gemem_graph_tensor (search->graph, node->first_output + o)->n_consumers;
         c++)
      bits |= needed_by (
          search, gemem_graph_consumers (search->graph, node->first_output + o)[c].node, last);
  for (guint32 s = 0; s < node->n_successors; s++)
    bits |= needed_by (search, gemem_graph_successors (search->graph, id)[s], last);
  return bits;
}

/* Appends to @last the remaining users of [@begin, @end), which belong to at most LANES
 * storages. */
static void
choose (Search *search, guint begin, guint end, GArray *last)
{
  guint32 first_node = GEMEM_NONE, last_node = 0;

  for (guint i = begin; i < end; i++)
    {
      const User *user = &g_array_index (search->users, User, i);

      first_node = MIN (first_node, user->node);
      last_node = MAX (last_node, user->node);
      search->uses[user->node] |= G_GUINT64_CONSTANT (1) << user->number % LANES;
    }
  for (guint32 id = last_node + 1; id-- > first_node;)
    search->needed[id] = needed (search, id, last_node);
  for (guint i = begin; i < end; i++)
    {
      const User *user = &g_array_index (search->users, User, i);
      const GememLastUser left = { user->storage, user->node };

      if ((search->needed[user->node] >> user->number % LANES & 1) == 0)
        g_array_append_val (last, left);
    }
  memset (&search->uses[first_node], 0, sizeof (guint64) * (last_node - first_node + 1));
  memset (&search->needed[first_node], 0, sizeof (guint64) * (last_node - first_node + 1));
}

static GArray *
choose_all (Search *search)
{
  GArray *last = g_array_new (FALSE, FALSE, sizeof (GememLastUser));
  guint begin, end;

  for (begin = 0; begin < search->users->len
                  && g_array_index (search->users, User, begin).number != GEMEM_NONE;
       begin = end)
    {
      const guint32 batch = g_array_index (search->users, User, begin).number / LANES;

      for (end = begin; end < search->users->len
                        && g_array_index (search->users, User, end).number != GEMEM_NONE
                        && g_array_index (search->users, User, end).number / LANES == batch;)
        end++;
      choose (search, begin, end, last);
    }
  for (; begin < search->users->len; begin++)
    {
      const GememLastUser only = { g_array_index (search->users, User, begin).storage,
                                   g_array_index (search->users, User, begin).node };

      g_array_append_val (last, only);
    }
  return last;
}

GArray *
gemem_last_users (const GememLower *lower)
{
  const guint32 n_nodes = gemem_graph_n_nodes (lower->graph), n_storages = lower->storages->len;
  g_autofree guint32 *written = g_new0 (guint32, (gsize) n_storages + 1),
                     *seen = g_new0 (guint32, (gsize) n_storages + 1);
  g_autofree guint32 *number = g_new0 (guint32, (gsize) n_storages + 1);
  g_autofree guint64 *uses = g_new0 (guint64, (gsize) n_nodes + 1),
                     *needed_bits = g_new0 (guint64, (gsize) n_nodes + 1);
  g_autoptr (GArray) users = g_array_new (FALSE, FALSE, sizeof (User));
  Search search = { lower, lower->graph, written, seen, number, users, uses, needed_bits };

  for (guint32 id = 0; id < n_nodes; id++)
    if (gemem_lower_runs (lower->skipped, id))
      mark_written (&search, id);
  for (guint32 id = 0; id < n_nodes; id++)
    if (gemem_lower_runs (lower->skipped, id))
      add_users (&search, id);
  number_storages (&search);
  return choose_all (&search);
}
