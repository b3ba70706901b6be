/* graph-lines.c - see graph-lines.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/util/graph-lines.h"

static void
add_attribute (GememGraph *graph, GememAttributeOwner owner, const char *name, const char *value)
{
  const GememAttributeKey key = gemem_attribute_find (name, owner);
  g_auto (GStrv) parts = g_strsplit (value, ",", -1);
  const guint n = g_strv_length (parts);

  if (key == GEMEM_ATTRIBUTE_COUNT)
    g_error ("no attribute '%s'", name);
  if (gemem_attributes[key].kind == GEMEM_ATTRIBUTE_TEXT
      || gemem_attributes[key].kind == GEMEM_ATTRIBUTE_TEXTS)
    gemem_graph_add_attribute_texts (graph, key, (const char *const *) parts, n);
  else
    {
      g_autofree gint64 *values = g_new (gint64, n + 1);

      for (guint i = 0; i < n; i++)
        values[i] = g_ascii_strtoll (parts[i], NULL, 10);
      gemem_graph_add_attribute_ints (graph, key, values, n);
    }
}

static void
add_input (GememGraph *graph, char *text)
{
  char *dot = strrchr (text, '.');

  if (strcmp (text, "-") == 0)
    gemem_graph_add_no_input (graph);
  else if (dot == NULL)
    gemem_graph_add_input (graph, text, 0);
  else
    {
      *dot = '\0';
      gemem_graph_add_input (graph, text, (guint32) atoi (dot + 1));
    }
}

static void
set_shape (GememGraph *graph, const char *text)
{
  g_auto (GStrv) parts = g_strsplit (text, "x", -1);
  const guint n = g_strv_length (parts);
  g_autofree gint64 *dims = g_new (gint64, n + 1);

  for (guint i = 0; i < n; i++)
    dims[i] = g_ascii_strtoll (parts[i], NULL, 10);
  gemem_graph_set_shape (graph, gemem_dtype_find ("uint8"), dims, n);
}

/* The input whose memory @output reuses, from a text like "reuse=0.1,2.0"; -1: none. */
static gint32
reused_input (char **reuse, guint output)
{
  for (; reuse != NULL && *reuse != NULL; reuse++)
    if ((guint) atoi (*reuse) == output)
      return atoi (strchr (*reuse, '.') + 1);
  return -1;
}

static const char *
field (char **words, const char *key)
{
  const gsize length = strlen (key);

  for (; *words != NULL; words++)
    if (strncmp (*words, key, length) == 0 && (*words)[length] == '=')
      return *words + length + 1;
  return "";
}

static void
add_outputs (GememGraph *graph, char **words)
{
  g_auto (GStrv) sizes = g_strsplit (field (words, "out"), ",", -1);
  g_auto (GStrv) reuse = g_strsplit (field (words, "reuse"), ",", -1);
  g_auto (GStrv) shapes = g_strsplit (field (words, "shapes"), ",", -1);

  for (guint i = 0; sizes[i] != NULL; i++)
    {
      gemem_graph_add_output (graph, g_ascii_strtoull (sizes[i], NULL, 10));
      gemem_graph_edit_output (graph)->reuse_input = reused_input (reuse, i);
      if (i < g_strv_length (shapes) && strcmp (shapes[i], "-") != 0)
        set_shape (graph, shapes[i]);
      for (char **word = words; i == 0 && *word != NULL; word++)
        if (g_str_has_prefix (*word, "0."))
          {
            g_auto (GStrv) pair = g_strsplit (*word + 2, "=", 2);

            add_attribute (graph, GEMEM_ATTRIBUTE_TENSOR, pair[0], pair[1]);
          }
    }
}

/* Parses the fields of a line; outputs come last, as attributes belong to the object added
 * before. */
static void
add_word (GememGraph *graph, const char *key, const char *value)
{
  static const char *const outputs[] = { "out", "reuse", "shapes", NULL };
  GememNode *node = gemem_graph_edit_node (graph);
  g_auto (GStrv) parts = g_strsplit (value, ",", -1);

  if (g_strv_contains (outputs, key) || g_str_has_prefix (key, "0."))
    return;
  if (strcmp (key, "stream") == 0)
    node->stream = atoi (value);
  else if (strcmp (key, "engine") == 0)
    node->engine = gemem_graph_intern (graph, value);
  else if (strcmp (key, "label") == 0)
    node->batch_label = gemem_graph_intern (graph, value);
  else if (strcmp (key, "index") == 0)
    node->index = atoi (value);
  else if (strcmp (key, "in_block") == 0)
    node->block = (guint32) atoi (value);
  else if (strcmp (key, "in") != 0 && strcmp (key, "ws") != 0 && strcmp (key, "after") != 0
           && strcmp (key, "blocks") != 0)
    add_attribute (graph, GEMEM_ATTRIBUTE_NODE, key, value);
  else
    for (guint i = 0; parts[i] != NULL; i++)
      if (strcmp (key, "in") == 0)
        add_input (graph, parts[i]);
      else if (strcmp (key, "ws") == 0)
        gemem_graph_add_workspace (graph, g_ascii_strtoull (parts[i], NULL, 10));
      else if (strcmp (key, "after") == 0)
        gemem_graph_add_control (graph, parts[i]);
      else
        gemem_graph_add_block (graph, parts[i]);
}

static void
add_line (GememGraph *graph, const char *line)
{
  g_auto (GStrv) words = g_strsplit (line, " ", -1);
  g_auto (GStrv) name = g_strsplit (words[0], ":", 2);

  gemem_graph_add_node (graph, name[0], name[1] != NULL ? name[1] : "Some");
  for (guint i = 1; words[i] != NULL; i++)
    {
      g_auto (GStrv) pair = g_strsplit (words[i], "=", 2);

      if (pair[0] != NULL)
        add_word (graph, pair[0], pair[1]);
    }
  add_outputs (graph, words);
}

static GememGraph *
from_lines (const char *lines, gboolean dynamic)
{
  g_auto (GStrv) each = g_strsplit (lines, "\n", -1);
  GememGraph *graph = gemem_graph_new ("lines");
  GError *error = NULL;

  gemem_graph_set_dynamic_root (graph, dynamic);
  for (guint i = 0; each[i] != NULL; i++)
    if (*each[i] != '\0')
      add_line (graph, each[i]);
  gemem_graph_seal (graph, "lines", &error);
  g_assert_no_error (error);
  return graph;
}

GememGraph *
test_graph_from_lines (const char *lines)
{
  return from_lines (lines, FALSE);
}

GememGraph *
test_graph_from_lines_dynamic (const char *lines)
{
  return from_lines (lines, TRUE);
}
