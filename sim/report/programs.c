/* programs.c - what the programs of a shared device had, each beside the sum. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/report/measures.h"
#include "sim/report/report-private.h"
#include "sim/report/rows.h"

#define FAILURES_MAX 20

static const char *const columns[] = { "peak_reserved", "peak_live", "lower_bound", "end_reserved",
                                       "ooms" };

/* "train.gmt: pytorch-caching": a program in tables and pictures; g_free(). */
static char *
program_name (const GememResult *program)
{
  g_autofree char *title = gemem_report_title (program);

  return g_strdup_printf ("%s: %s", title, program->label);
}

/* The name of row @row of the table of @result: the last one is that of all. */
static char *
row_name (const GememResult *result, guint row)
{
  return row < result->programs->len ? program_name (result->programs->pdata[row])
                                     : g_strdup ("together");
}

static const GememResult *
row_result (const GememResult *result, guint row)
{
  return row < result->programs->len ? result->programs->pdata[row] : result;
}

static gsize
widest_name (const GememResult *result)
{
  gsize width = strlen ("program");

  for (guint row = 0; row <= result->programs->len; row++)
    {
      g_autofree char *name = row_name (result, row);
      width = MAX (width, (gsize) g_utf8_strlen (name, -1));
    }
  return width;
}

static void
append_padded (GString *out, const char *text, gsize width)
{
  g_string_append_printf (out, "  %s%*s", text, (int) (width - (gsize) g_utf8_strlen (text, -1)),
                          "");
}

static void
append_table (GString *out, const GememResult *result)
{
  const gsize width = widest_name (result);
  char text[GEMEM_MEASURE_TEXT];

  append_padded (out, "program", width);
  for (gsize c = 0; c < G_N_ELEMENTS (columns); c++)
    g_string_append_printf (out, "  %15s", gemem_measure_find (columns[c], NULL)->title);
  g_string_append_c (out, '\n');
  for (guint row = 0; row <= result->programs->len; row++)
    {
      g_autofree char *name = row_name (result, row);
      append_padded (out, name, width);
      for (gsize c = 0; c < G_N_ELEMENTS (columns); c++)
        g_string_append_printf (out, "  %15s",
                                gemem_measure_text (gemem_measure_find (columns[c], NULL),
                                                    row_result (result, row), text));
      g_string_append_c (out, '\n');
    }
}

/* What the programs held at failure @i; the rows of one follow one another. */
static void
append_failure (GString *out, const GememResult *result, guint i)
{
  const guint n = result->programs->len;
  const GememShare *shares = &g_array_index (result->shares, GememShare, i * n);
  const GememOom *oom = &g_array_index (result->oom, GememOom, i);
  const GememResult *failed = result->programs->pdata[shares->failed];
  g_autofree char *name = gemem_report_title (failed);
  char size[4][GEMEM_FORMAT_MAX];
  guint64 idle = 0;

  if (gemem_oom_is_unbegun (oom))
    {
      g_string_append_printf (out,
                              "  %s was not served at its event %" G_GUINT64_FORMAT
                              ": its allocator did not begin (NOT ALLOWED, above)\n",
                              name, shares->event);
      return;
    }
  g_string_append_printf (out, "  %s ran out at its event %" G_GUINT64_FORMAT ": %s %s, %s free\n",
                          name, shares->event, gemem_format_size (size[0], oom->requested),
                          oom->wake ? "to wake" : "asked for",
                          gemem_format_size (size[1], oom->device_free));
  for (guint p = 0; p < n; p++)
    {
      g_autofree char *one = program_name (result->programs->pdata[p]);
      g_string_append_printf (out, "    %s held %s, of it %s allocated, %s live\n", one,
                              gemem_format_size (size[0], shares[p].reserved),
                              gemem_format_size (size[1], shares[p].allocated),
                              gemem_format_size (size[2], shares[p].live));
      if (shares[p].program != shares[p].failed)
        idle += shares[p].reserved - MIN (shares[p].reserved, shares[p].allocated);
    }
  if (idle > 0)
    g_string_append_printf (
        out, "    %s held by others was in no block: %s\n", gemem_format_size (size[0], idle),
        oom->requested <= oom->device_free + idle ? "it would have been enough" : "not enough");
}

static void
append_failures (GString *out, const GememResult *result)
{
  const guint n = result->programs->len, kept = result->shares->len / MAX (n, 1),
              shown = MIN (kept, FAILURES_MAX);

  if (result->ooms == 0)
    return;
  g_string_append_printf (out, "\nfailed requests of all programs: %" G_GUINT64_FORMAT "\n",
                          result->ooms);
  for (guint i = 0; i < shown; i++)
    append_failure (out, result, i);
  if (result->ooms > shown)
    g_string_append_printf (out,
                            "  ... and %" G_GUINT64_FORMAT " more (--format=json keeps up to %u)\n",
                            result->ooms - shown, kept);
}

void
gemem_report_programs (GString *out, GememResult *const *results, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      if (results[i]->programs == NULL)
        continue;
      g_string_append (out, "\n");
      if (n > 1)
        g_string_append_printf (out, "%s\n", results[i]->label);
      append_table (out, results[i]);
      if (n == 1)
        append_failures (out, results[i]);
    }
}

void
gemem_report_programs_markdown (GString *out, GememResult *const *results, guint n)
{
  char text[GEMEM_MEASURE_TEXT];

  for (guint i = 0; i < n; i++)
    {
      if (results[i]->programs == NULL)
        continue;
      g_string_append (out, "\n| ");
      gemem_markdown_append_text (out, results[i]->label);
      g_string_append (out, " |");
      for (gsize c = 0; c < G_N_ELEMENTS (columns); c++)
        g_string_append_printf (out, " %s |", gemem_measure_find (columns[c], NULL)->title);
      g_string_append (out, "\n| --- |");
      for (gsize c = 0; c < G_N_ELEMENTS (columns); c++)
        g_string_append (out, " ---: |");
      for (guint row = 0; row <= results[i]->programs->len; row++)
        {
          g_autofree char *name = row_name (results[i], row);
          g_string_append (out, "\n| ");
          gemem_markdown_append_text (out, name);
          g_string_append (out, " |");
          for (gsize c = 0; c < G_N_ELEMENTS (columns); c++)
            g_string_append_printf (out, " %s |",
                                    gemem_measure_text (gemem_measure_find (columns[c], NULL),
                                                        row_result (results[i], row), text));
        }
      g_string_append_c (out, '\n');
    }
}
