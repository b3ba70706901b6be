/* query.c - `gemem-sim query`: asks a database of results in SQL, and shows the answer as a table, CSV or
 * JSON.
 *
 * Invariants: nothing is changed; CSV and JSON have the exact numbers, a table for people has units where
 * a column is a measure of measures.def.
 */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "sim/cli/options.h"
#include "sim/report/database.h"
#include "sim/report/report.h"
#include "sim/report/rows.h"

static char *format;

static const GOptionEntry entries[] = { { "format", 'f', 0, G_OPTION_ARG_STRING, &format,
                                          "Form of the answer (default: table)", "table|csv|json" },
                                        { NULL } };

/* ---- the answer, as it comes */

typedef struct
{
  GString *out;
  GPtrArray *names; /* of the columns */
  guint rows;
  /* of a table: its cells, row by row, and the kind of each */
  GPtrArray *cells;
  GArray *kinds;
  GError **error;
  gboolean failed; /* to write */
} Answer;

static gboolean
take_names (Answer *answer, guint n, const char *const *texts)
{
  for (guint i = 0; i < n; i++)
    g_ptr_array_add (answer->names, g_strdup (texts[i]));
  return TRUE;
}

/* Writes what there is, so that a long answer needs no memory. */
static gboolean
flush (Answer *answer)
{
  answer->failed = !gemem_put (NULL, answer->out->str, answer->out->len, answer->error);
  g_string_truncate (answer->out, 0);
  return !answer->failed;
}

static gboolean
csv_row (guint n, const char *const *texts, const GememCellKind *kinds, gpointer data)
{
  Answer *answer = data;

  for (guint i = 0; i < n; i++)
    {
      if (i > 0)
        g_string_append_c (answer->out, ',');
      if (kinds != NULL && kinds[i] == GEMEM_CELL_NUMBER)
        g_string_append (answer->out, texts[i]);
      else
        gemem_csv_append_field (answer->out, texts[i]);
    }
  g_string_append_c (answer->out, '\n');
  return answer->out->len < 1 << 16 || flush (answer);
}

static gboolean
json_row (guint n, const char *const *texts, const GememCellKind *kinds, gpointer data)
{
  Answer *answer = data;

  if (kinds == NULL)
    return take_names (answer, n, texts);
  g_string_append (answer->out, answer->rows++ == 0 ? "[\n  {" : ",\n  {");
  for (guint i = 0; i < n; i++)
    {
      gemem_json_append_name (answer->out, answer->names->pdata[i]);
      if (kinds[i] == GEMEM_CELL_NUMBER)
        g_string_append (answer->out, texts[i]);
      else
        gemem_json_append_string (answer->out, texts[i]);
    }
  g_string_append_c (answer->out, '}');
  return answer->out->len < 1 << 16 || flush (answer);
}

/* ---- a table */

/* Whether the column @name is in bytes: a measure, or of a view. */
static gboolean
is_bytes (const char *name)
{
  return gemem_measure_is_bytes (name) || strcmp (name, "capacity") == 0
         || g_str_has_suffix (name, "reserved");
}

/* @text of the column @name for people; g_free(). */
static char *
cell_of (const char *name, const char *text, GememCellKind kind)
{
  guint64 bytes;
  char buffer[GEMEM_FORMAT_MAX];

  if (kind == GEMEM_CELL_NONE)
    return g_strdup ("-");
  if (kind == GEMEM_CELL_NUMBER && is_bytes (name)
      && gemem_parse_digits (text, 10, 0, G_MAXUINT64, &bytes))
    return g_strdup (gemem_format_size (buffer, bytes));
  if (kind == GEMEM_CELL_NUMBER && strchr (text, '.') != NULL)
    return g_strdup (g_ascii_formatd (buffer, sizeof buffer, "%.3f", g_ascii_strtod (text, NULL)));
  return gemem_text_line (text);
}

static gboolean
table_row (guint n, const char *const *texts, const GememCellKind *kinds, gpointer data)
{
  Answer *answer = data;

  if (kinds == NULL)
    return take_names (answer, n, texts);
  for (guint i = 0; i < n; i++)
    g_ptr_array_add (answer->cells, cell_of (answer->names->pdata[i], texts[i], kinds[i]));
  g_array_append_vals (answer->kinds, kinds, n);
  return TRUE;
}

static gsize
width_of (const char *text)
{
  return (gsize) g_utf8_strlen (text, -1);
}

/* Whether each cell of the column is a number or nothing, as those on the right are. */
static gboolean
is_number (const Answer *answer, guint column)
{
  const guint n = answer->names->len;

  for (guint i = column; i < answer->kinds->len; i += n)
    if (g_array_index (answer->kinds, GememCellKind, i) == GEMEM_CELL_TEXT)
      return FALSE;
  return TRUE;
}

static void
append_cell (GString *out, const char *text, gsize width, gboolean right, gboolean last)
{
  const gsize blanks = width - width_of (text);

  g_string_append_printf (out, "%*s%s%*s", right ? (int) blanks : 0, "", text,
                          right || last ? 0 : (int) blanks, "");
  g_string_append (out, last ? "\n" : "  ");
}

static gsize
find_widths (const Answer *answer, gsize *widths)
{
  const guint n = answer->names->len;
  gsize sum = 0;

  for (guint c = 0; c < n; c++)
    {
      widths[c] = width_of (answer->names->pdata[c]);
      for (guint i = c; i < answer->cells->len; i += n)
        widths[c] = MAX (widths[c], width_of (answer->cells->pdata[i]));
      sum += widths[c] + (c > 0 ? 2 : 0);
    }
  return sum;
}

/* The length of the folders that all cells of @column begin with; 0: some have none. */
static gsize
shared_folders (const Answer *answer, guint column)
{
  const char *first = answer->cells->len > 0 ? answer->cells->pdata[column] : "";
  gsize shared = strlen (first);

  for (guint i = column; i < answer->cells->len; i += answer->names->len)
    while (shared > 0
           && (first[shared - 1] != '/' || strncmp (first, answer->cells->pdata[i], shared) != 0))
      shared--;
  return shared;
}

/* Leaves out the folders that are the same in each row. */
static void
shorten (const Answer *answer)
{
  for (guint c = 0; c < answer->names->len; c++)
    {
      const gsize shared = shared_folders (answer, c);

      for (guint i = c; shared > 0 && i < answer->cells->len; i += answer->names->len)
        {
          char *cell = answer->cells->pdata[i];
          memmove (cell, cell + shared, strlen (cell + shared) + 1);
        }
    }
}

/* A line for each cell: of rows that are wider than a screen. */
static void
append_long (const Answer *answer)
{
  const guint n = answer->names->len;
  gsize width = 0;

  for (guint c = 0; c < n; c++)
    width = MAX (width, width_of (answer->names->pdata[c]));
  for (guint i = 0; i < answer->cells->len; i++)
    {
      if (i > 0 && i % n == 0)
        g_string_append_c (answer->out, '\n');
      append_cell (answer->out, answer->names->pdata[i % n], width, FALSE, FALSE);
      g_string_append_printf (answer->out, "%s\n", (const char *) answer->cells->pdata[i]);
    }
}

static void
append_table (const Answer *answer)
{
  const guint n = answer->names->len, width = MAX (gemem_terminal_width (), GEMEM_TEXT_WIDTH);
  g_autofree gsize *widths = g_new0 (gsize, n);
  g_autofree gboolean *right = g_new0 (gboolean, n);

  if (find_widths (answer, widths) > width)
    shorten (answer);
  if (find_widths (answer, widths) > width)
    {
      append_long (answer);
      return;
    }
  for (guint c = 0; c < n; c++)
    {
      right[c] = is_number (answer, c);
      append_cell (answer->out, answer->names->pdata[c], widths[c], right[c], c + 1 == n);
    }
  for (guint i = 0; i < answer->cells->len; i++)
    append_cell (answer->out, answer->cells->pdata[i], widths[i % n], right[i % n], i % n + 1 == n);
}

/* ---- the command */

static GememRowFunc
row_func (GError **error)
{
  if (format == NULL || strcmp (format, "table") == 0)
    return table_row;
  if (strcmp (format, "csv") == 0)
    return csv_row;
  if (strcmp (format, "json") == 0)
    return json_row;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "--format=%s: unknown format; choose table, csv or json", format);
  return NULL;
}

static gboolean
ask (const char *path, const char *sql, GememRowFunc func, GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free),
                        cells = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GArray) kinds = g_array_new (FALSE, FALSE, sizeof (GememCellKind));
  Answer answer = { out, names, 0, cells, kinds, error, FALSE };

  if (!gemem_database_query (path, sql, func, &answer, error) || answer.failed)
    return FALSE;
  if (func == table_row)
    append_table (&answer);
  else if (func == json_row)
    g_string_append (out, answer.rows > 0 ? "\n]\n" : "[]\n");
  return flush (&answer);
}

/* What can be asked: the views. */
static gboolean
list_views (const char *path, GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);

  g_string_append_printf (out, "Ask a view, gemem-sim query %s NAME, or in SQL:\n", path);
  for (const GememView *view = gemem_database_views; view->name != NULL; view++)
    g_string_append_printf (out, "  %-5s  %s\n", view->name, view->help);
  return gemem_put (NULL, out->str, out->len, error);
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_query;
  GememRowFunc func;

  if (!gemem_want_arguments (&gemem_command_query, arguments, 1, 2, error)
      || (func = row_func (error)) == NULL)
    return 2;
  return (arguments[1] != NULL ? ask (arguments[0], arguments[1], func, error)
                               : list_views (arguments[0], error))
             ? 0
             : 1;
}

const GememCommand gemem_command_query = {
  .name = "query",
  .synopsis = "RESULTS.db ['SELECT ...']",
  .summary = "Ask a database of results, as 'sweep' writes it",
  .description = "The question is one SELECT of SQLite, or the name of a view: best, fits, worst, "
                 "means, runs.\n"
                 "Without a question the views are told. Nothing is ever changed.",
  .examples =
      "  gemem-sim query results.db best\n"
      "      the best setting for each trace\n"
      "  gemem-sim query results.db 'select setting, peak_reserved from results where ooms = 0' "
      "-f csv\n"
      "      two columns of every run that failed nowhere\n",
  .options = { entries },
  .run = run,
};
