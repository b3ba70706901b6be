/* fuse-collect.c - the gradients of a graph, for fusing; see fuse-gradients.h.
 *
 * A separate file, because grouping does not depend on graphs.  Names belong to the graph.  O(nodes
 * + pairs).  Origin: paddle.md 6 (op_role_var of every operator whose role has the Backward bit).
 */
#include "config.h"

#include "base/error.h"
#include "workloads/fuse-gradients.h"

static gboolean
fill (const GememGraph *graph, const char *node, const char *param, const char *grad,
      GememGradient *gradient, GError **error)
{
  const guint32 p = gemem_graph_find_variable (graph, param),
                g = gemem_graph_find_variable (graph, grad);
  const GememVariable *of, *variable;
  guint64 bytes = 0;

  if (p == GEMEM_NONE || g == GEMEM_NONE)
    {
      g_set_error (
          error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
          "%s: node '%s': op_role_var: no variable '%s'; add it to the variables of the graph",
          gemem_graph_name (graph), node, p == GEMEM_NONE ? param : grad);
      return FALSE;
    }
  of = gemem_graph_variable (graph, p);
  variable = gemem_graph_variable (graph, g);
  if (variable->parameter != GEMEM_NONE && variable->parameter != p)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: node '%s': op_role_var: '%s' is not the gradient of '%s' but of '%s'; "
                   "correct one of them",
                   gemem_graph_name (graph), node, grad, param,
                   gemem_graph_variable (graph, variable->parameter)->name);
      return FALSE;
    }
  if (variable->is_tensor
      && (!variable->has_shape || gemem_dtype_bits (variable->dtype) == 0
          || !gemem_dtype_bytes (variable->dtype, gemem_graph_dims (graph, variable->first_dim),
                                 variable->n_dims, &bytes)))
    {
      g_set_error (
          error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
          "%s: variable '%s': the number of its elements is not known; give shape and dtype",
          gemem_graph_name (graph), grad);
      return FALSE;
    }
  *gradient = (GememGradient){ .param = of->name,
                               .grad = variable->name,
                               .elements = bytes / MAX (gemem_dtype_bits (variable->dtype) / 8, 1),
                               .param_bytes = of->size,
                               .dtype = variable->dtype,
                               .sparse = !variable->is_tensor };
  return TRUE;
}

GArray *
gemem_fuse_collect (const GememGraph *graph, GError **error)
{
  g_autoptr (GArray) gradients = g_array_new (FALSE, FALSE, sizeof (GememGradient));
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint32 i = 0; i < gemem_graph_n_nodes (graph); i++)
    {
      const GememNode *node = gemem_graph_node (graph, i);
      guint n = 0;
      const char *const *names = gemem_graph_texts (graph, node->attributes,
                                                    GEMEM_ATTRIBUTE_OP_ROLE_VARS, &n);

      if (!(node->role & GEMEM_ROLE_BACKWARD))
        continue;
      if (n % 2 != 0)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                       "%s: node '%s': op_role_var: %u names are not pairs; give parameter and "
                       "gradient in turn",
                       gemem_graph_name (graph), node->name, n);
          return NULL;
        }
      for (guint k = 0; k < n; k += 2)
        {
          GememGradient gradient;

          if (!fill (graph, node->name, names[k], names[k + 1], &gradient, error))
            return NULL;
          if (g_hash_table_add (seen, (gpointer) gradient.grad))
            g_array_append_val (gradients, gradient);
        }
    }
  return g_steal_pointer (&gradients);
}
