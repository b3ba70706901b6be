/* page.c - see page.h.  The frame of the page is sim/page/assets/page.html; what stands in its braces is
 * written here, piece by piece, so that no second copy of a large page is in memory. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/json-text.h"
#include "base/io/output.h"
#include "base/text.h"
#include "sim/page/film.h"
#include "sim/page/page-image.h"
#include "sim/page/page.h"
#include "sim/report/json-fields.h"
#include "sim/report/measures.h"
#include "sim/report/notes.h"
#include "sim/report/rows.h"

#define LONGEST 2000 /* bytes of one text of a result */

/* ---- JSON in a script */

/* Appends @json without what is blank between its parts, in which "<" is written as JSON allows and a browser does not obey; a text of more than
 * @longest bytes is cut. */
static void
append_safe (GString *out, const char *json, gsize longest)
{
  gboolean inside = FALSE;
  gsize length = 0;

  for (const char *p = json; *p != '\0'; p++)
    {
      const gboolean escaped = inside && *p == '\\' && p[1] != '\0';
      const gboolean begins = ((guchar) *p & 0xc0) != 0x80; /* a character */

      if (*p == '"')
        inside = !inside;
      length = inside ? length + 1 : 0;
      if (inside && length > longest && begins)
        {
          g_string_append (out, "...");
          for (; *p != '"'; p++)
            p += *p == '\\';
          inside = FALSE;
        }
      if (!inside && g_ascii_isspace (*p))
        continue;
      if (*p == '<')
        g_string_append (out, "\\u003c");
      else
        g_string_append_c (out, *p);
      if (escaped && inside)
        g_string_append_c (out, *++p);
    }
}

static gboolean
put (GememOutput *output, const char *text, GError **error)
{
  return gemem_output_write (output, text, strlen (text), error);
}

static gboolean
put_safe (GememOutput *output, const GString *json, gsize longest, GError **error)
{
  g_autoptr (GString) safe = g_string_sized_new (json->len + 64);

  append_safe (safe, json->str, longest);
  return gemem_output_write (output, safe->str, safe->len, error);
}

/* ---- the data */

static void
append_measures (GString *out)
{
  static const char *const units[] = { "bytes", "count", "ns", "ratio", "percent" };

  gemem_json_append_name (out, "measures");
  g_string_append_c (out, '[');
  for (const GememMeasure *measure = gemem_measures; measure->key != NULL; measure++)
    {
      gemem_json_append_name (out, NULL);
      g_string_append_c (out, '{');
      gemem_json_append_text_member (out, "key", measure->key);
      gemem_json_append_text_member (out, "title", measure->title);
      gemem_json_append_text_member (out, "unit", units[measure->unit]);
      gemem_json_append_text_member (out, "help", measure->text.help);
      gemem_json_append_bool_member (out, "brief", (measure->traits & GEMEM_TRAIT_BRIEF) != 0);
      gemem_json_append_bool_member (out, "more", (measure->traits & GEMEM_TRAIT_MORE) != 0);
      g_string_append_c (out, '}');
    }
  g_string_append_c (out, ']');
}

/* What the causes mean, whose numbers stand in films and whose names in results. */
static void
append_causes (GString *out)
{
  gemem_json_append_name (out, "causes");
  g_string_append_c (out, '[');
  for (GememIdleCause cause = 0; cause < GEMEM_IDLE_CAUSES; cause++)
    {
      gemem_json_append_name (out, NULL);
      g_string_append_c (out, '{');
      gemem_json_append_text_member (out, "name", gemem_json_causes[cause]);
      gemem_json_append_text_member (out, "text", gemem_report_idle_brief (cause));
      g_string_append_c (out, '}');
    }
  g_string_append_c (out, ']');
}

static void
append_answer (GString *out, const GememPageAnswer *answer)
{
  gemem_json_append_name (out, NULL);
  g_string_append_c (out, '{');
  gemem_json_append_text_member (out, "trace", answer->path);
  gemem_json_append_text_member (out, "error", answer->error);
  gemem_json_append_bool_member (
      out, "has_time", answer->info != NULL && (answer->info->flags & GEMEM_TRACE_HAS_TIME) != 0);
  if (answer->advice != NULL)
    {
      g_autoptr (GString) screen = g_string_new (NULL);

      gemem_advice_append (screen, answer->advice, TRUE);
      gemem_json_append_text_member (out, "screen", screen->str);
      gemem_json_append_name (out, "advice");
      gemem_advice_append_json (out, answer->advice);
    }
  g_string_append_c (out, '}');
}

/* The results as `compare --format=json` writes them, without their timelines, which are in the films. */
static void
append_report (GString *out, const GememReportPage *page)
{
  const GememReportOptions options = { .without_timelines = TRUE };
  g_autofree GememResult **results = g_new (GememResult *, page->n_rows + 1);

  for (guint i = 0; i < page->n_rows; i++)
    results[i] = page->rows[i].result;
  gemem_json_append_name (out, "report");
  gemem_report_write (out, GEMEM_FORMAT_JSON, results, page->n_rows, &options);
}

/* The facts about @page, without its films. */
static GString *
facts_of (const GememReportPage *page)
{
  GString *out = g_string_new ("{");

  gemem_json_append_text_member (out, "version", PACKAGE_VERSION);
  append_measures (out);
  append_causes (out);
  gemem_json_append_name (out, "answers");
  g_string_append_c (out, '[');
  for (guint i = 0; i < page->n_answers; i++)
    append_answer (out, &page->answers[i]);
  g_string_append_c (out, ']');
  append_report (out, page);
  return out;
}

static void
append_lines (GString *out, const GPtrArray *lines)
{
  gemem_json_append_name (out, "lines");
  g_string_append_c (out, '[');
  for (guint i = 0; lines != NULL && i < lines->len; i++)
    {
      g_autofree char *line = gemem_text_cut (lines->pdata[i], GEMEM_PAGE_TEXT);
      gemem_json_append_text_member (out, NULL, line);
    }
  g_string_append_c (out, ']');
}

/* What the row @row shows over time; @number: of its result among those that ran. */
static void
append_film (GString *out, const GememPageRow *row, guint number, GememPageStacks *stacks)
{
  g_autofree char *group = gemem_report_group (row->result);

  gemem_json_append_name (out, NULL);
  g_string_append_c (out, '{');
  gemem_json_append_number_member (out, "row", number);
  gemem_json_append_number_member (out, "answer", row->answer);
  gemem_json_append_text_member (out, "group", group);
  gemem_json_append_name (out, "timeline");
  gemem_film_append_timeline (out, row->result);
  if (row->result->history != NULL && stacks != NULL)
    {
      append_lines (out, row->lines);
      gemem_json_append_name (out, "history");
      gemem_film_append_history (out, row->result->history, stacks);
    }
  g_string_append_c (out, '}');
}

/* Appends the films of all rows of @answer, and the stacks that they have in common. */
static void
append_films_of (GString *out, const GememReportPage *page, guint answer, GString *all_stacks)
{
  const GememTraceInfo *info = page->answers[answer].info;
  g_autoptr (GememPageStacks) stacks = info != NULL ? gemem_page_stacks_new (info) : NULL;
  guint number = 0;

  for (guint i = 0; i < page->n_rows; i++)
    {
      const GememPageRow *row = &page->rows[i];
      if (row->answer == answer && !row->result->not_run)
        append_film (out, row, number, stacks);
      number += !row->result->not_run;
    }
  gemem_json_append_name (all_stacks, NULL);
  if (stacks != NULL)
    gemem_page_stacks_append (all_stacks, stacks);
  else
    g_string_append (all_stacks, "null");
}

static gboolean
put_data (GememOutput *output, const GememReportPage *page, GError **error)
{
  g_autoptr (GString) facts = facts_of (page);
  g_autoptr (GString) films = g_string_new (", \"films\": [");
  g_autoptr (GString) stacks = g_string_new ("], \"stacks\": [");

  if (!put_safe (output, facts, LONGEST, error))
    return FALSE;
  for (guint i = 0; i < page->n_answers; i++)
    append_films_of (films, page, i, stacks);
  g_string_append (stacks, "]}");
  return put_safe (output, films, G_MAXSIZE, error) && put_safe (output, stacks, G_MAXSIZE, error);
}

/* ---- the page */

static const char *
asset (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (page_assets); i++)
    if (strcmp (page_assets[i].name, name) == 0)
      return page_assets[i].text;
  return NULL;
}

static gboolean
put_scripts (GememOutput *output, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (page_assets); i++)
    if (g_str_has_suffix (page_assets[i].name, ".js")
        && strcmp (page_assets[i].name, "d3.min.js") != 0
        && !put (output, page_assets[i].text, error))
      return FALSE;
  return TRUE;
}

/* Writes what stands for the word @name of the frame. */
static gboolean
put_part (GememOutput *output, const char *name, const GememReportPage *page, GError **error)
{
  if (strcmp (name, "data") == 0)
    return put_data (output, page, error);
  if (strcmp (name, "scripts") == 0)
    return put_scripts (output, error);
  return put (output, asset (name), error);
}

/* Writes the frame, whose parts {{NAME}} are at the end of no line. */
static gboolean
put_page (GememOutput *output, const GememReportPage *page, GError **error)
{
  g_auto (GStrv) pieces = g_strsplit (asset ("page.html"), "{{", -1);

  if (!put (output, pieces[0], error))
    return FALSE;
  for (char **piece = pieces + 1; *piece != NULL; piece++)
    {
      char *end = strstr (*piece, "}}");

      *end = '\0';
      if (!put_part (output, *piece, page, error) || !put (output, end + 2, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
gemem_page_check (GError **error)
{
  if (asset ("d3.min.js") != NULL)
    return TRUE;
  g_set_error (
      error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
      "this gemem was built without d3, which its pages need; install it (Debian: node-d3), "
      "then ./configure and make again");
  return FALSE;
}

gboolean
gemem_page_write (const char *path, const GememReportPage *page, GError **error)
{
  GememOutput *output;

  if (!gemem_page_check (error) || (output = gemem_output_create (path, error)) == NULL)
    return FALSE;
  if (!put_page (output, page, error))
    {
      gemem_output_discard (output);
      return FALSE;
    }
  return gemem_output_finish (output, error);
}
