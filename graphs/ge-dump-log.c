/* ge-dump-log.c - ids and effective streams from the planner's log behind a dump; see ge-dump.h. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "graphs/ge-dump.h"
#include "traces/ge/log.h"

#define MAX_LINE ((gsize) 1 << 20)
#define LOG_NAME_MAX 512

const GeDumpLogged *
gemem_ge_dump_find_logged (GHashTable *log, const char *name)
{
  g_autofree char *cut = NULL;

  if (log == NULL)
    return NULL;
  cut = g_strndup (name, LOG_NAME_MAX);
  return g_hash_table_lookup (log, cut);
}

/* TRUE if @label is @name, "_" and digits. */
static gboolean
is_label_of (GememGeLogPiece label, const char *name)
{
  gsize length = label.length;

  while (length > 0 && g_ascii_isdigit (label.text[length - 1]))
    length--;
  return length < label.length && length > 0 && label.text[length - 1] == '_'
         && strlen (name) == length - 1 && memcmp (label.text, name, length - 1) == 0;
}

/* Removes names of the dump that are equal after the log's cut. */
static void
drop_ambiguous (const GeDump *dump, GHashTable *log)
{
  g_autoptr (GHashTable) cuts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < dump->graphs->len; i++)
    {
      const GeDumpGraph *graph = g_ptr_array_index (dump->graphs, i);

      for (guint k = 0; k < graph->ops->len; k++)
        {
          char *cut = g_strndup (((const GeDumpOp *) g_ptr_array_index (graph->ops, k))->name,
                                 LOG_NAME_MAX);

          if (g_hash_table_contains (cuts, cut))
            g_hash_table_remove (log, cut);
          g_hash_table_add (cuts, cut);
        }
    }
}

static void
note_entry (GHashTable *log, const GememGeLogEntry *entry)
{
  const GeDumpLogged logged = { (gint64) MIN (entry->id, G_MAXUINT32), entry->stream,
                                entry->own_stream };

  g_hash_table_insert (log, g_strndup (entry->node.text, entry->node.length),
                       g_memdup2 (&logged, sizeof logged));
}

gboolean
gemem_ge_dump_read_log (const GeDump *dump, GememInput *input, const char *name, GHashTable **log,
                        GError **error)
{
  g_autoptr (GHashTable) found = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autofree char *other = NULL;
  const char *line;
  gsize length;
  int result;

  *log = NULL;
  while ((result = gemem_input_line (input, MAX_LINE, &line, &length, error)) > 0)
    {
      GememGeLogEntry entry;
      GememGeLogPiece what;

      if (gemem_ge_log_parse (line, line + length, &entry, &what) != GEMEM_GE_LOG_ENTRY)
        continue;
      if (is_label_of (entry.graph, name))
        note_entry (found, &entry);
      else if (other == NULL)
        other = g_strndup (entry.graph.text, entry.graph.length);
    }
  if (result < 0)
    return FALSE;
  if (g_hash_table_size (found) > 0)
    {
      drop_ambiguous (dump, found);
      *log = g_steal_pointer (&found);
    }
  else if (other != NULL)
    {
      g_autofree char *shown = g_strescape (other, NULL);
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: the log behind the dump has no lines of graph '%s', but of '%s'; append "
                   "the log of this graph",
                   gemem_input_name (input), name, shown);
      return FALSE;
    }
  return TRUE;
}
