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

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "sim/report/arrange.h"
#include "sim/report/notes.h"
#include "sim/report/rows.h"

#define ROWS 30

typedef struct
{
  const GememResult *worst; /* of those that served everything, the largest overhead */
  const char *label;
  guint runs, served;
  double logs; /* sum of the logarithms of overheads */
} Standing;

static double
mean_of (const Standing *standing)
{
  return exp (standing->logs / standing->served);
}

static gboolean
is_known (const Standing *standing, guint groups)
{
  return standing->served == groups;
}

static Standing *
standing_of (GArray *standings, const char *label)
{
  Standing fresh = { .label = label };

  for (guint i = 0; i < standings->len; i++)
    if (strcmp (g_array_index (standings, Standing, i).label, label) == 0)
      return &g_array_index (standings, Standing, i);
  g_array_append_val (standings, fresh);
  return &g_array_index (standings, Standing, standings->len - 1);
}

static void
add_run (GArray *standings, const GememResult *result)
{
  Standing *standing = standing_of (standings, result->label);
  const double overhead = gemem_result_overhead (result);

  standing->runs++;
  if (!gemem_result_is_complete (result) || !(overhead > 0))
    return;
  standing->served++;
  standing->logs += log (overhead);
  if (standing->worst == NULL || overhead > gemem_result_overhead (standing->worst))
    standing->worst = result;
}

/* By mean; those without one last, the fewer failures the earlier. */
static int
compare_standings (gconstpointer a, gconstpointer b)
{
  const Standing *x = a, *y = b;

  if (x->served != y->served)
    return x->served > y->served ? -1 : 1;
  if (x->served == 0)
    return 0;
  return mean_of (x) < mean_of (y) ? -1 : mean_of (x) > mean_of (y);
}

/* Standing of each label that every one of the *@groups recordings has, the best first; NULL: there are fewer
 * than two of either, a recording stands twice, or least capacities were looked for. */
static GArray *
stand (GememResult *const *results, guint n, guint *groups)
{
  g_autoptr (GArray) standings = g_array_new (FALSE, TRUE, sizeof (Standing));
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
          add_run (standings, results[i]);
        }
    }
  for (guint i = standings->len; i-- > 0;)
    if (g_array_index (standings, Standing, i).runs != *groups)
      g_array_remove_index (standings, i);
  if (*groups < 2 || standings->len < 2)
    return NULL;
  g_array_sort (standings, compare_standings); /* stable */
  return g_steal_pointer (&standings);
}

static void
append_row (GString *out, const Standing *standing, guint groups)
{
  g_autofree char *label = gemem_text_cut (standing->label, 50);
  g_autofree char *worst = standing->worst != NULL ? g_path_get_basename (standing->worst->trace)
                                                   : NULL;
  char mean[G_ASCII_DTOSTR_BUF_SIZE], most[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *row = NULL;

  if (is_known (standing, groups))
    row = g_strdup_printf (
        "%-50s  %8s  %6s, %s", label,
        g_ascii_formatd (mean, sizeof mean, "%.3f", mean_of (standing)),
        g_ascii_formatd (most, sizeof most, "%.3f", gemem_result_overhead (standing->worst)),
        worst);
  else
    row = g_strdup_printf ("%-50s  %8s  fails on %u of %u", label, "-", groups - standing->served,
                           groups);
  gemem_text_append_cut (out, row);
}

/* The first two of @standings that a running program could have. */
static void
find_best (const GArray *standings, guint groups, const Standing **best, const Standing **next)
{
  *best = *next = NULL;
  for (guint i = 0; i < standings->len && *next == NULL; i++)
    {
      const Standing *standing = &g_array_index (standings, Standing, i);

      if (!is_known (standing, groups) || !gemem_report_is_real (standing->worst))
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
  const Standing *best, *next;
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
      where = g_path_get_basename (best->worst->trace);
      g_string_append_printf (
          text, "Over all %u recordings %s holds %s times what is in use at once, at most %s (%s)",
          groups, best->label, g_ascii_formatd (mean, sizeof mean, "%.3f", mean_of (best)),
          g_ascii_formatd (most, sizeof most, "%.3f", gemem_result_overhead (best->worst)), where);
      share = next != NULL ? 100 * (1 - mean_of (best) / mean_of (next)) : 0;
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
  g_autoptr (GArray) standings = stand (results, n, &groups);
  const guint shown = standings == NULL                 ? 0
                      : options != NULL && options->all ? standings->len
                                                        : MIN (standings->len, ROWS);

  if (standings == NULL)
    return FALSE;
  g_string_append_printf (out, "\nall %u recordings: overhead, geometric mean\n%-50s  %8s  %6s\n",
                          groups, "allocator", "overhead", "most");
  for (guint i = 0; i < shown; i++)
    append_row (out, &g_array_index (standings, Standing, i), groups);
  if (shown < standings->len)
    g_string_append_printf (out, "... and %u rows that need more: --all shows them\n",
                            standings->len - shown);
  append_sentence (out, standings, groups);
  return TRUE;
}
