/* overall.c - several recordings through the same allocators: one table of all, and one sentence.
 *
 * Why: which allocator is the best for a set of programs is not seen in a table for each.  Bytes of different
 * programs do not add up, so the overhead counts (peak reserved divided by what is in use at once), and
 * its geometric mean, with which twice here and half there are even.
 *
 * Invariants: a mean is only of allocators that served every request of every recording; others stand last,
 * without one.
 */
#include "config.h"

#include "base/text.h"
#include "sim/report/arrange.h"
#include "sim/report/notes.h"
#include "sim/report/rows.h"
#include "sim/report/standings.h"

#define ROWS 30

GArray *
gemem_report_standings (GememResult *const *results, guint n, guint *groups)
{
  g_autoptr (GArray) standings = gemem_standings_new ();
  g_autoptr (GHashTable) traces = g_hash_table_new (g_str_hash, g_str_equal);

  *groups = 0;
  for (guint start = 0, end; start < n; start = end)
    {
      end = gemem_report_group_end (results, n, start);
      ++*groups;
      if (!g_hash_table_add (traces, results[start]->trace))
        return NULL;
      for (guint i = start; i < end; i++)
        {
          if (results[i]->programs != NULL || results[i]->least_capacity != 0
              || gemem_result_was_interrupted (results[i]))
            return NULL;
          gemem_standings_add (
              standings, results[i]->label, results[i]->trace, gemem_report_is_real (results[i]),
              gemem_result_is_complete (results[i]) ? gemem_result_overhead (results[i]) : 0);
        }
    }
  return gemem_standings_finish (standings, *groups) ? g_steal_pointer (&standings) : NULL;
}

static void
append_row (GString *out, const GememStanding *standing, guint groups)
{
  g_autofree char *label = gemem_text_cut (standing->label, 50);
  g_autofree char *worst = standing->where != NULL ? g_path_get_basename (standing->where) : NULL;
  char mean[G_ASCII_DTOSTR_BUF_SIZE], most[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *row = NULL;

  if (standing->served == groups)
    row = g_strdup_printf (
        "%-50s  %8s  %6s, %s", label,
        g_ascii_formatd (mean, sizeof mean, "%.3f", gemem_standing_mean (standing)),
        g_ascii_formatd (most, sizeof most, "%.3f", standing->most), worst);
  else
    row = g_strdup_printf ("%-50s  %8s  fails on %u of %u", label, "-", groups - standing->served,
                           groups);
  gemem_text_append_cut (out, row);
}

/* The first two of @standings that a running program could have. */
static void
find_best (const GArray *standings, guint groups, const GememStanding **best,
           const GememStanding **next)
{
  *best = *next = NULL;
  for (guint i = 0; i < standings->len && *next == NULL; i++)
    {
      const GememStanding *standing = &g_array_index (standings, GememStanding, i);

      if (standing->served != groups || !standing->real)
        continue;
      if (*best == NULL)
        *best = standing;
      else
        *next = standing;
    }
}

static void
append_sentence (GString *out, const GArray *standings, guint groups)
{
  const GememStanding *best, *next;
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *where = NULL;
  char mean[G_ASCII_DTOSTR_BUF_SIZE], most[G_ASCII_DTOSTR_BUF_SIZE], less[G_ASCII_DTOSTR_BUF_SIZE];
  double share;

  find_best (standings, groups, &best, &next);
  if (best == NULL)
    g_string_append_printf (text, "No real allocator served every request of all %u recordings.",
                            groups);
  else
    {
      where = g_path_get_basename (best->where);
      g_string_append_printf (
          text, "Over all %u recordings %s holds %s times what is in use at once, at most %s (%s)",
          groups, best->label,
          g_ascii_formatd (mean, sizeof mean, "%.3f", gemem_standing_mean (best)),
          g_ascii_formatd (most, sizeof most, "%.3f", best->most), where);
      share = next != NULL ? 100 * (1 - gemem_standing_mean (best) / gemem_standing_mean (next))
                           : 0;
      if (next == NULL)
        g_string_append (text, "; no other real allocator served every request");
      else if (share < 0.05)
        g_string_append_printf (text, "; %s as much", next->label);
      else
        g_string_append_printf (text, ": %s %% less than the next, %s",
                                g_ascii_formatd (less, sizeof less, "%.1f", share), next->label);
      g_string_append_c (text, '.');
    }
  g_string_append_c (out, '\n');
  gemem_text_wrap (out, text->str, "  ");
}

gboolean
gemem_report_overall (GString *out, GememResult *const *results, guint n,
                      const GememReportOptions *options)
{
  guint groups;
  g_autoptr (GArray) standings = gemem_report_standings (results, n, &groups);
  const guint shown = standings == NULL                 ? 0
                      : options != NULL && options->all ? standings->len
                                                        : MIN (standings->len, ROWS);

  if (standings == NULL)
    return FALSE;
  g_string_append_printf (out, "\nall %u recordings: overhead, geometric mean\n%-50s  %8s  %6s\n",
                          groups, "allocator", "overhead", "most");
  for (guint i = 0; i < shown; i++)
    append_row (out, &g_array_index (standings, GememStanding, i), groups);
  if (shown < standings->len)
    g_string_append_printf (out, "... and %u rows that need more: --all shows them\n",
                            standings->len - shown);
  append_sentence (out, standings, groups);
  return TRUE;
}
