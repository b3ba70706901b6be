/* node-size.c - see node-size.h. */
#include "config.h"

#include <string.h>

#include "planners/paddle/node-size.h"
#include "planners/paddle/params.h"
#include "planners/paddle/skip.h"

/* Product of the shape in 32-bit integers, with their overflow. */
static guint64
node_elements (const PaddleVariable *variable)
{
  guint32 product = 1;

  for (guint32 i = 0; i < variable->n_dims; i++)
    product *= (guint32) variable->dims[i];
  return product <= G_MAXINT32 ? product : (guint64) (0u - product);
}

guint64
gemem_paddle_node_size (const PaddleVariable *variable)
{
  return node_elements (variable) * MAX (1, gemem_dtype_bits (variable->dtype) / 8);
}

gboolean
gemem_paddle_is_reusable (const PaddleProgram *program, guint32 variable, int place)
{
  const PaddleVariable *v = gemem_paddle_variable (program, variable);
  const guint64 least = place == PADDLE_PLACE_GPU ? 256 : 4096;

  if (strcmp (v->name, PADDLE_EMPTY) == 0 || !v->is_tensor || v->persistable || v->n_dims == 0
      || node_elements (v) < least)
    return FALSE;
  return v->writer == GEMEM_NONE
         || !gemem_graph_flag (program->graph,
                               gemem_graph_node (program->graph, v->writer)->attributes,
                               GEMEM_ATTRIBUTE_FORCE_CPU);
}

static void
skip_role_variables (const PaddleProgram *program, const GememNode *node, guint8 *skip)
{
  guint n = 0;
  const char *const *names = gemem_graph_texts (program->graph, node->attributes,
                                                GEMEM_ATTRIBUTE_OP_ROLE_VARS, &n);

  for (guint i = 0; i < n; i++)
    gemem_paddle_skip (gemem_paddle_find (program, names[i]), skip);
}

void
gemem_paddle_skip_for_passes (const PaddleProgram *program, guint8 *skip)
{
  static const char *const distributed[] = { "send", "recv", "prefetch", NULL };

  for (guint32 id = 0; id < gemem_graph_n_nodes (program->graph); id++)
    {
      const GememNode *node = gemem_graph_node (program->graph, id);

      skip_role_variables (program, node, skip);
      if (node->n_blocks > 0 || g_strv_contains (distributed, node->type))
        gemem_paddle_skip_node (program, id, skip);
    }
}
