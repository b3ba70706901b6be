/* check-roles.c - see check-roles.h. */
#include "config.h"

#include <stdlib.h>

#include "planners/check-roles.h"

static gboolean
is_actor (const GememRoles *roles, guint32 node)
{
  const GememNode *n = gemem_graph_node (roles->graph, node);

  return n->n_blocks == 0 && !gemem_node_is_data (n);
}

/* Per class: TRUE if the node of any member runs.  If none runs (an owner without inner outputs),
 * the nodes of the class count as if they ran. */
static guint8 *
find_acted (const GememRoles *roles)
{
  guint8 *acted = g_new0 (guint8, (gsize) roles->demands->n + 1);

  for (guint32 i = 0; i < roles->demands->n; i++)
    acted[roles->demands->items[i].wide] |= is_actor (roles, roles->demands->items[i].node);
  return acted;
}

static void
add_part (const GememRoles *roles, GememParts *parts, guint32 class, guint32 node)
{
  if (parts->parts != NULL) /* NULL while counting */
    parts->parts[parts->first[class] + parts->n[class]] = (GememPart){
      gemem_graph_order_chain (roles->order, node), roles->label[node], node
    };
  parts->n[class]++;
}

static void
collect (const GememRoles *roles, const guint8 *acted, GememParts *users, GememParts *starters)
{
  for (guint32 i = 0; i < roles->demands->n; i++)
    {
      const GememDemand *item = &roles->demands->items[i];
      const GememNode *node = gemem_graph_node (roles->graph, item->node);
      const guint32 o = i - gemem_node_item (node);

      if (is_actor (roles, item->node)
          || !(acted[item->wide] || (item->flags & GEMEM_DEMAND_FROM_START)))
        {
          add_part (roles, users, item->wide, item->node);
          add_part (roles, starters, item->wide, item->node);
        }
      if (item->memset != GEMEM_NONE)
        {
          add_part (roles, users, item->wide, item->memset);
          add_part (roles, starters, item->wide, item->memset);
        }
      for (guint32 k = 0;
           o < node->n_outputs
           && k < gemem_graph_tensor (roles->graph, node->first_output + o)->n_consumers;
           k++)
        {
          const guint32 reader =
              gemem_graph_consumers (roles->graph, node->first_output + o)[k].node;

          if (is_actor (roles, reader))
            add_part (roles, users, item->wide, reader);
        }
    }
}

/* By chain, then label, then id; nodes without a chain last. */
static int
compare_parts (gconstpointer a, gconstpointer b)
{
  const GememPart *x = a, *y = b;

  if (x->chain != y->chain)
    return x->chain < y->chain ? -1 : 1;
  if (x->label != y->label)
    return x->label < y->label ? -1 : 1;
  return x->node < y->node ? -1 : x->node > y->node;
}

/* Keeps the last (or first) node of each chain and label, and all nodes without a chain. */
static void
reduce (GememParts *parts, guint32 n_classes, gboolean keep_last)
{
  for (guint32 class = 0; class < n_classes; class ++)
    {
      GememPart *part = parts->parts + parts->first[class];
      guint32 kept = 0;

      if (parts->n[class] > 1)
        qsort (part, parts->n[class], sizeof (GememPart), compare_parts);
      for (guint32 i = 0; i < parts->n[class]; i++)
        {
          const gboolean same = kept > 0 && part[kept - 1].chain == part[i].chain
                                && part[kept - 1].label == part[i].label
                                && (part[i].chain != GEMEM_NONE
                                    || part[kept - 1].node == part[i].node);

          if (!same)
            part[kept++] = part[i];
          else if (keep_last)
            part[kept - 1] = part[i];
        }
      parts->n[class] = kept;
    }
}

static void
lay_out (GememParts *parts, guint32 n_classes)
{
  guint32 total = 0;

  for (guint32 class = 0; class < n_classes; class ++)
    {
      parts->first[class] = total;
      total += parts->n[class];
      parts->n[class] = 0;
    }
  parts->parts = g_new (GememPart, (gsize) total + 1);
}

static void
find_parts (GememRoles *roles)
{
  const guint32 n = roles->demands->n;
  g_autofree guint8 *acted = find_acted (roles);

  roles->users = (GememParts){ g_new (guint32, (gsize) n + 1), g_new0 (guint32, (gsize) n + 1),
                               NULL };
  roles->starters = (GememParts){ g_new (guint32, (gsize) n + 1), g_new0 (guint32, (gsize) n + 1),
                                  NULL };
  collect (roles, acted, &roles->users, &roles->starters);
  lay_out (&roles->users, n);
  lay_out (&roles->starters, n);
  collect (roles, acted, &roles->users, &roles->starters);
  reduce (&roles->users, n, TRUE);
  reduce (&roles->starters, n, FALSE);
}

static void
clear_parts (GememParts *parts)
{
  g_free (parts->first);
  g_free (parts->n);
  g_free (parts->parts);
}

static void
number_labels (GememRoles *roles)
{
  g_autoptr (GHashTable) numbers = g_hash_table_new (g_str_hash, g_str_equal);

  roles->label = g_new0 (guint32, (gsize) gemem_graph_n_nodes (roles->graph) + 1);
  for (guint32 id = 0; id < gemem_graph_n_nodes (roles->graph); id++)
    {
      const char *label = gemem_graph_node (roles->graph, id)->batch_label;

      if (*label == '\0')
        continue;
      roles->label[id] = GPOINTER_TO_UINT (g_hash_table_lookup (numbers, label));
      if (roles->label[id] == 0)
        {
          roles->label[id] = ++roles->n_labels;
          g_hash_table_insert (numbers, (gpointer) label, GUINT_TO_POINTER (roles->n_labels));
        }
    }
}

GememRoles *
gemem_roles_new (const GememGraph *graph, gboolean clears_apart)
{
  GememRoles *roles = g_new0 (GememRoles, 1);

  roles->graph = graph;
  roles->demands = gemem_demands_new (graph, clears_apart);
  roles->order = gemem_graph_order_new (graph);
  number_labels (roles);
  find_parts (roles);
  return roles;
}

void
gemem_roles_free (GememRoles *roles)
{
  if (roles == NULL)
    return;
  clear_parts (&roles->users);
  clear_parts (&roles->starters);
  g_free (roles->label);
  gemem_graph_order_free (roles->order);
  gemem_demands_free (roles->demands);
  g_free (roles);
}
