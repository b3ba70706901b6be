/* format.c - the registry of graph formats, recognition by content, opening and saving; see
 * format.h.
 *
 * The formats come from formats.def alone.  Each rates the first 4096 decompressed bytes; the
 * highest rating wins, then the order of the list.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/output.h"
#include "base/units.h"
#include "graphs/format.h"
#include "graphs/json.h"
#include "traces/unrecognised.h"

#define PROBE_SIZE 4096

#define GEMEM_GRAPH_FORMAT(symbol) extern const GememGraphFormat symbol;
#include "graphs/formats.def"
#undef GEMEM_GRAPH_FORMAT

static const GememGraphFormat *const formats[] = {
#define GEMEM_GRAPH_FORMAT(symbol) &symbol,
#include "graphs/formats.def"
#undef GEMEM_GRAPH_FORMAT
  NULL
};

const GememGraphFormat *const *
gemem_graph_formats (void)
{
  return formats;
}

const GememGraphFormat *
gemem_graph_format_find (const char *name, GError **error)
{
  return (const GememGraphFormat *) gemem_named_find ((const GememNamed *const *) formats,
                                                      "graph format", name, error);
}

/* ---- "PATH#N" */

char *
gemem_graph_file (const char *path, guint *index)
{
  const char *hash = strrchr (path, '#');
  guint64 number = 0;
  const gboolean numbered = hash != NULL && hash != path
                            && gemem_parse_digits (hash + 1, 10, 0, G_MAXUINT32 - 1, &number)
                            && !g_file_test (path, G_FILE_TEST_EXISTS);

  if (index != NULL)
    *index = numbered ? (guint) number : 0;
  return numbered ? g_strndup (path, (gsize) (hash - path)) : g_strdup (path);
}

/* ---- recognition */

static const GememGraphFormat *
recognise (GememInput *input)
{
  const GememGraphFormat *best = NULL;
  const guint8 *head;
  int best_confidence = 0;
  gssize size = gemem_input_fill (input, PROBE_SIZE, &head, NULL);

  if (size < 0) /* damaged within the first bytes: the bytes read may still suffice */
    size = gemem_input_fill (input, 1, &head, NULL);
  for (guint i = 0; size > 0 && formats[i] != NULL; i++)
    {
      const int confidence = formats[i]->probe (head, MIN ((gsize) size, PROBE_SIZE));

      if (confidence > best_confidence)
        {
          best = formats[i];
          best_confidence = confidence;
        }
    }
  return best;
}

const GememGraphFormat *
gemem_graph_format_probe (const char *path)
{
  g_autofree char *file = gemem_graph_file (path, NULL);
  GememInput *input = g_file_test (file, G_FILE_TEST_IS_REGULAR) ? gemem_input_open (file, NULL)
                                                                 : NULL;
  const GememGraphFormat *format = NULL;

  if (input != NULL)
    {
      format = recognise (input);
      gemem_input_close (input);
    }
  return format;
}

char *
gemem_graph_format_names (void)
{
  GString *names = g_string_new (NULL);

  for (guint i = 0; formats[i] != NULL; i++)
    g_string_append_printf (names, "%s%s", i > 0 ? ", " : "", formats[i]->base.name);
  return g_string_free (names, FALSE);
}

/* ---- opening and saving */

GememGraph *
gemem_graph_open_with (GememInput *input, const char *format, guint index, GememGraphDims *dims,
                       GError **error)
{
  const GememGraphFormat *found = format != NULL ? gemem_graph_format_find (format, error)
                                                 : recognise (input);
  GememGraph *graph = found != NULL ? found->read (input, index, dims, error) : NULL;

  if (found == NULL && format == NULL)
    gemem_fail_unrecognised (input, "graph", error);
  if (graph != NULL && gemem_graph_n_nodes (graph) == 0)
    {
      g_clear_pointer (&graph, gemem_graph_unref);
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: " GEMEM_GRAPH_WITHOUT_NODES,
                   gemem_input_name (input));
    }
  if (graph != NULL && !gemem_graph_dims_check (dims, gemem_input_name (input), error))
    g_clear_pointer (&graph, gemem_graph_unref);
  if (graph != NULL && strcmp (found->base.name, GEMEM_GRAPH_JSON_NAME) != 0)
    gemem_graph_note (graph, "format", "%s", found->base.name);
  gemem_input_close (input);
  return graph;
}

GememGraph *
gemem_graph_open_input (GememInput *input, const char *format, guint index, GError **error)
{
  return gemem_graph_open_with (input, format, index, NULL, error);
}

GememGraph *
gemem_graph_open (const char *path, const char *format, GError **error)
{
  guint index;
  g_autofree char *file = gemem_graph_file (path, &index);
  GememInput *input = gemem_input_open (file, error);

  if (input == NULL)
    return NULL;
  gemem_input_set_single_pass (input);
  return gemem_graph_open_input (input, format, index, error);
}

gboolean
gemem_graph_save (const GememGraph *graph, const char *path, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const GememGraphFormat *format = gemem_graph_format_find ("gemem-graph", error);
  GememOutput *output;

  if (!format->write (graph, text, error))
    return FALSE;
  output = gemem_output_create (path, error);
  if (output == NULL)
    return FALSE;
  if (!gemem_output_write (output, text->str, text->len, error))
    {
      gemem_output_discard (output);
      return FALSE;
    }
  return gemem_output_finish (output, error);
}
