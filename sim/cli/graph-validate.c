/* graph-validate.c - `gemem-sim validate GRAPH`: the oddities of a readable graph.
 *
 * Errors (cycles, inputs without source, unknown element types) are found when the graph is read
 * and sealed.  The notes here are one line per kind, with the first example and the count.
 * O(graph).
 */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "sim/cli/graph-info.h"

/* The kinds, in the order of the report. */
enum
{
  UNUSED_OUTPUT,
  NO_SIZE,
  NO_DTYPE,
  SHORT_SIZE,
  UNUSED_VARIABLE,
  KINDS
};
static const char *const kind_names[KINDS] = { "unused output", "no size", "no element type",
                                               "short size", "unused variable" };

typedef struct
{
  const GememGraph *graph;
  guint64 counts[KINDS];
  char *texts[KINDS]; /* "node 'X': note: KIND: WHAT" of the first example */
} Notes;

static void note (Notes *notes, guint kind, const char *owner, const char *name, const char *format,
                  ...) G_GNUC_PRINTF (5, 6);

static void
note (Notes *notes, guint kind, const char *owner, const char *name, const char *format, ...)
{
  if (notes->counts[kind]++ > 0)
    return;
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  notes->texts[kind] = g_strdup_printf ("%s '%s': note: %s: %s", owner, name, kind_names[kind],
                                        text);
}

static void
look_at_tensor (Notes *notes, const GememTensor *tensor)
{
  const char *name = gemem_graph_node (notes->graph, tensor->node)->name;
  guint64 bytes;

  if (tensor->n_consumers == 0 && tensor->size > 0)
    note (notes, UNUSED_OUTPUT, "node", name,
          "output %u of %" G_GUINT64_FORMAT " bytes is read by no node", tensor->index,
          tensor->size);
  if (tensor->size == 0
      && !gemem_graph_flag (notes->graph, tensor->attributes, GEMEM_ATTRIBUTE_ALWAYS_EMPTY))
    note (notes, NO_SIZE, "node", name, "output %u has 0 bytes; it takes no memory", tensor->index);
  if (!tensor->has_shape)
    return;
  if (tensor->dtype == GEMEM_DTYPE_UNKNOWN)
    note (notes, NO_DTYPE, "node", name, "output %u has a shape, but no dtype", tensor->index);
  else if (gemem_dtype_bytes (tensor->dtype, gemem_graph_dims (notes->graph, tensor->first_dim),
                              tensor->n_dims, &bytes)
           && bytes > tensor->size)
    note (notes, SHORT_SIZE, "node", name,
          "output %u has %" G_GUINT64_FORMAT " bytes, but its shape needs %" G_GUINT64_FORMAT,
          tensor->index, tensor->size, bytes);
}

static void
look_at_variables (Notes *notes)
{
  const GememGraph *graph = notes->graph;
  g_autofree guint8 *used = g_new0 (guint8, (gsize) gemem_graph_n_variables (graph) + 1);

  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    for (guint32 i = 0; i < gemem_graph_node (graph, id)->n_inputs; i++)
      if (gemem_graph_inputs (graph, id)[i].variable != GEMEM_NONE)
        used[gemem_graph_inputs (graph, id)[i].variable] = 1;
  for (guint32 t = 0; t < gemem_graph_n_tensors (graph); t++)
    if (gemem_graph_tensor (graph, t)->variable != GEMEM_NONE)
      used[gemem_graph_tensor (graph, t)->variable] = 1;
  for (guint32 v = 0; v < gemem_graph_n_variables (graph); v++)
    if (!used[v])
      note (notes, UNUSED_VARIABLE, "variable", gemem_graph_variable (graph, v)->name,
            "no node reads or writes it");
}

void
gemem_graph_validate (GString *out, const char *path, const char *format, const GememGraph *graph)
{
  Notes notes = { .graph = graph };
  g_autofree char *shown = gemem_text_line (path);

  for (guint32 t = 0; t < gemem_graph_n_tensors (graph); t++)
    look_at_tensor (&notes, gemem_graph_tensor (graph, t));
  look_at_variables (&notes);
  for (guint kind = 0; kind < KINDS; kind++)
    {
      if (notes.counts[kind] > 0)
        g_string_append_printf (out, "%s:%s", shown, notes.texts[kind]);
      if (notes.counts[kind] > 1)
        g_string_append_printf (out, " (%" G_GUINT64_FORMAT " in all)", notes.counts[kind]);
      if (notes.counts[kind] > 0)
        g_string_append_c (out, '\n');
      g_free (notes.texts[kind]);
    }
  g_string_append_printf (out, "%s: valid (%s)\n", shown, format);
}
