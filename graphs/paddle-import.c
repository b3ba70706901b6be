/* paddle-import.c - see paddle-import.h. */
#include "config.h"

#include <string.h>

#include "graphs/paddle-import.h"

void
gemem_paddle_import_init (PaddleImport *import, const char *name, GememGraphDims *given)
{
  *import = (PaddleImport){ .graph = gemem_graph_new (name),
                            .dims = g_array_new (FALSE, FALSE, sizeof (gint64)),
                            .given = given,
                            .writer = g_array_new (FALSE, FALSE, sizeof (guint32)) };
}

void
gemem_paddle_import_fill (PaddleImport *import)
{
  for (guint i = 0; i < import->dims->len; i++)
    {
      gint64 *dim = &g_array_index (import->dims, gint64, i), value;
      if (*dim < 0 && *dim > -G_MAXINT32 && gemem_graph_dims_find (import->given, "-1", &value)
          && value <= G_MAXINT64 / -*dim)
        *dim = -*dim * value;
    }
}

void
gemem_paddle_import_clear (PaddleImport *import)
{
  g_array_unref (import->dims);
  g_array_unref (import->writer);
}

const gint64 *
gemem_paddle_import_dims (const PaddleImport *import)
{
  static const gint64 none;

  return import->dims->len > 0 ? (const gint64 *) (gconstpointer) import->dims->data : &none;
}

void
gemem_paddle_import_take_variables (PaddleImport *import)
{
  const guint32 nothing = GEMEM_NONE;

  while (import->writer->len < gemem_graph_n_variables (import->graph))
    g_array_append_val (import->writer, nothing);
}

void
gemem_paddle_import_read (PaddleImport *import, guint32 variable)
{
  const guint32 tensor = g_array_index (import->writer, guint32, variable);

  if (tensor != GEMEM_NONE)
    {
      const GememTensor *t = gemem_graph_tensor (import->graph, tensor);

      gemem_graph_add_input (import->graph, gemem_graph_node (import->graph, t->node)->name,
                             t->index);
    }
  else
    gemem_graph_add_variable_input (import->graph, variable);
}

void
gemem_paddle_import_write (PaddleImport *import, guint32 variable)
{
  const GememVariable *v = gemem_graph_variable (import->graph, variable);
  const guint32 tensor = gemem_graph_add_output (import->graph, v->size);

  gemem_graph_edit_output (import->graph)->variable = variable;
  g_array_set_size (import->dims, 0);
  if (v->n_dims > 0) /* copied first: adding dims may move those of the graph */
    g_array_append_vals (import->dims, gemem_graph_dims (import->graph, v->first_dim), v->n_dims);
  if (v->has_shape)
    gemem_graph_set_shape (import->graph, v->dtype, gemem_paddle_import_dims (import),
                           import->dims->len);
  if (strcmp (v->name, PADDLE_NO_VARIABLE) != 0)
    g_array_index (import->writer, guint32, variable) = tensor;
}
