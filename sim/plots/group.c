/* group.c - see group.h. */
#include "config.h"

#include <string.h>

#include "base/compare.h"
#include "sim/plots/group.h"
#include "sim/report/arrange.h"
#include "sim/report/report.h"
#include "sim/report/rows.h"

#define SLUG_MAX 80
#define LABEL_MAX 44
#define MOST 20 /* results of a picture */

guint64
gemem_plot_peak (const GememResult *result)
{
  return MAX (result->peak_reserved, result->ooms > 0 ? 0 : result->lower_bound);
}

guint64
gemem_plot_failed (const GememResult *result)
{
  return result->ooms > 0 ? result->ooms : result->not_allowed != NULL;
}

guint64
gemem_plot_optimum (const GememPlotGroup *group)
{
  for (guint i = 0; i < group->all->len; i++)
    {
      const GememResult *result = group->all->pdata[i];
      if (gemem_result_is_optimal (result) && gemem_plot_failed (result) == 0)
        return result->peak_reserved;
    }
  return 0;
}

const char *
gemem_plot_failures_text (const GememPlotGroup *group)
{
  static const char *const texts[] = { "", "failed requests", "not allowed",
                                       "failed or not allowed" };
  gboolean failed = FALSE, barred = FALSE;

  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      failed = failed || result->ooms > 0;
      barred = barred || result->not_allowed != NULL;
    }
  return texts[failed + 2 * barred];
}

gboolean
gemem_plot_has_failures (const GememPlotGroup *group)
{
  return *gemem_plot_failures_text (group) != '\0';
}

guint64
gemem_plot_most (const GememPlotGroup *group, guint64 (*value) (const GememResult *result))
{
  guint64 most = 0;
  for (guint i = 0; i < group->results->len; i++)
    most = MAX (most, value (group->results->pdata[i]));
  return most;
}

guint64
gemem_plot_common_end (const GememPlotGroup *group, guint64 (*value) (const GememResult *result))
{
  g_autoptr (GArray) values = g_array_new (FALSE, FALSE, sizeof (guint64));
  for (guint i = 0; i < group->results->len; i++)
    {
      guint64 one = value (group->results->pdata[i]);
      g_array_append_val (values, one);
    }
  g_array_sort (values, gemem_compare_uint64);
  guint last = values->len - 1;
  const guint64 median = g_array_index (values, guint64, values->len / 2);
  while (g_array_index (values, guint64, last) / GEMEM_PLOT_OUTLIER > median)
    last--;
  return g_array_index (values, guint64, last);
}

void
gemem_plot_group_free (gpointer data)
{
  GememPlotGroup *group = data;
  g_free (group->title);
  g_free (group->slug);
  g_ptr_array_unref (group->results);
  g_ptr_array_unref (group->labels);
  g_ptr_array_unref (group->all);
  g_free (group);
}

char *
gemem_plot_slug (const char *path)
{
  static const char *const endings[] = { ".gz",    ".zst",    ".gmt", ".txt", ".json",
                                         ".jsonl", ".pickle", ".pkl", ".csv" };
  g_autofree char *name = g_path_get_basename (path);
  GString *slug = g_string_new (NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (endings); i++)
    if (g_str_has_suffix (name, endings[i]) && strlen (name) > strlen (endings[i]))
      name[strlen (name) - strlen (endings[i])] = '\0';
  for (const char *p = name; *p != '\0' && slug->len < SLUG_MAX; p++)
    if (g_ascii_isalnum (*p) || *p == '_' || (*p == '.' && slug->len > 0))
      g_string_append_c (slug, g_ascii_tolower (*p));
    else if (slug->len > 0 && slug->str[slug->len - 1] != '-')
      g_string_append_c (slug, '-');
  while (slug->len > 0 && strchr ("-.", slug->str[slug->len - 1]) != NULL)
    g_string_truncate (slug, slug->len - 1);
  if (slug->len == 0)
    g_string_assign (slug, "trace");
  return g_string_free (slug, FALSE);
}

/* For device 1: "gpt2-train-device1". */
static char *
make_slug (const GememResult *result)
{
  g_autofree char *base = gemem_plot_slug (result->trace != NULL ? result->trace : "trace");
  GString *slug = g_string_new (base);
  if (result->device_ordinal == GEMEM_DEVICE_HOST)
    g_string_append (slug, "-host");
  else if (result->device_ordinal > 0 || result->names_device)
    g_string_append_printf (slug, "-device%d", result->device_ordinal);
  return g_string_free (slug, FALSE);
}

static gboolean
slug_taken (const GPtrArray *groups, const char *slug)
{
  for (guint i = 0; i < groups->len; i++)
    if (strcmp (((const GememPlotGroup *) groups->pdata[i])->slug, slug) == 0)
      return TRUE;
  return FALSE;
}

static GememPlotGroup *
add_group (GPtrArray *groups, GememResult *first)
{
  GememPlotGroup *group = g_new0 (GememPlotGroup, 1);
  g_autofree char *slug = make_slug (first);
  group->title = gemem_report_title (first);
  group->slug = g_strdup (slug);
  for (guint i = 2; slug_taken (groups, group->slug); i++)
    {
      g_free (group->slug);
      group->slug = g_strdup_printf ("%s-%u", slug, i);
    }
  group->results = g_ptr_array_new ();
  group->labels = g_ptr_array_new_with_free_func (g_free);
  group->all = g_ptr_array_new ();
  g_ptr_array_add (groups, group);
  return group;
}

/* Every measure: what differs in one of them is drawn. */
static GPtrArray *
all_measures (void)
{
  GPtrArray *all = g_ptr_array_new ();
  for (const GememMeasure *measure = gemem_measures; measure->key != NULL; measure++)
    g_ptr_array_add (all, (gpointer) measure);
  g_ptr_array_add (all, NULL);
  return all;
}

/* Sorts the results of @group, makes one of equal ones, and names them. */
static void
arrange (GememPlotGroup *group)
{
  const GPtrArray *given = group->all;
  g_autoptr (GPtrArray) measures = all_measures ();
  const GememReportOptions options = { .sort = gemem_measure_find ("peak_reserved", NULL),
                                       .columns = (const GememMeasure *const *) measures->pdata };
  g_autoptr (GPtrArray)
      sorted = gemem_report_order ((GememResult *const *) given->pdata, given->len, &options, TRUE);
  g_autoptr (GPtrArray) rows = gemem_report_rows ((GememResult *const *) sorted->pdata, sorted->len,
                                                  GEMEM_TABLE_MEASURES, &options);

  for (guint i = 0; i < rows->len; i++)
    {
      const GememReportRow *row = rows->pdata[i];
      g_ptr_array_add (group->results, (gpointer) row->result);
      g_ptr_array_add (group->labels, gemem_report_row_label (row, LABEL_MAX));
    }
}

const char *
gemem_plot_label (const GememPlotGroup *group, guint i)
{
  return group->labels->pdata[i];
}

GememPlotGroup *
gemem_plot_group_first (const GememPlotGroup *group, guint max)
{
  GememPlotGroup *first = g_new (GememPlotGroup, 1);
  guint now = 0; /* those to come that the program has now */

  *first = (GememPlotGroup){ g_strdup (group->title),      g_strdup (group->slug),
                             g_ptr_array_new (),           g_ptr_array_new_with_free_func (g_free),
                             g_ptr_array_ref (group->all), group->more };
  for (guint i = 0; i < group->results->len; i++)
    now += ((const GememResult *) group->results->pdata[i])->as_now;
  for (guint i = 0; i < group->results->len; i++)
    {
      GememResult *result = group->results->pdata[i];
      const gboolean drawn = result->as_now || first->results->len + now < max;
      now -= result->as_now;
      if (drawn)
        {
          g_ptr_array_add (first->results, result);
          g_ptr_array_add (first->labels, g_strdup (gemem_plot_label (group, i)));
        }
      first->more += !drawn;
    }
  return first;
}

GememPlotGroup *
gemem_plot_group_part (const char *title, const char *slug, GPtrArray *results)
{
  GememPlotGroup *part = g_new (GememPlotGroup, 1);

  *part = (GememPlotGroup){ g_strdup (title),          g_strdup (slug),
                            g_ptr_array_ref (results), g_ptr_array_new_with_free_func (g_free),
                            g_ptr_array_ref (results), 0 };
  return part;
}

GPtrArray *
gemem_plot_groups (GememResult *const *results, guint n)
{
  GPtrArray *groups = g_ptr_array_new_with_free_func (gemem_plot_group_free);
  for (guint i = 0; i < n; i++)
    {
      GememPlotGroup *group = NULL;
      for (guint g = 0; g < groups->len && group == NULL; g++)
        if (gemem_report_same_group (((GememPlotGroup *) groups->pdata[g])->all->pdata[0],
                                     results[i]))
          group = groups->pdata[g];
      if (group == NULL)
        group = add_group (groups, results[i]);
      g_ptr_array_add (group->all, results[i]);
    }
  for (guint g = 0; g < groups->len; g++)
    {
      GememPlotGroup *all = groups->pdata[g];

      arrange (all);
      groups->pdata[g] = gemem_plot_group_first (all, MOST);
      gemem_plot_group_free (all);
    }
  return groups;
}

gboolean
gemem_plot_has_timeline (const GememResult *result)
{
  return result->timeline != NULL && result->timeline->len > 0;
}

guint
gemem_plot_timelines (const GememPlotGroup *group)
{
  guint n = 0;
  for (guint i = 0; i < group->results->len; i++)
    n += gemem_plot_has_timeline (group->results->pdata[i]);
  return n;
}
