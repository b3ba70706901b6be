/* plan-plots.c - pictures of plans as files; see plan-report.h. */
#include "config.h"

#include "sim/plots/group.h"
#include "sim/plots/plots-private.h"
#include "sim/plots/plots.h"

void
gemem_plan_svg (GString *out, const GememPlanResult *result)
{
  g_autoptr (GememPicture) picture = gemem_plan_picture (result, NULL);

  gemem_picture_svg (out, picture);
}

/* "step-ge-hybrid", with a number appended if that name is taken. */
static char *
picture_name (GHashTable *taken, const GememPlanResult *result)
{
  g_autofree char *input = gemem_plot_slug (result->input),
                  *planner = gemem_plot_slug (result->plan->planner);
  char *name = g_strdup_printf ("%s-%s", input, planner);

  for (guint i = 2; g_hash_table_contains (taken, name); i++)
    {
      g_free (name);
      name = g_strdup_printf ("%s-%s-%u", input, planner, i);
    }
  g_hash_table_add (taken, g_strdup (name));
  return name;
}

static gboolean
write_pictures (const char *dir, const GememPlotStyle *style, const GememPlanResult *result,
                const char *name, const char *program, GError **error)
{
  GememPlotPage page;

  for (guint i = 0; gemem_plot_page_init (&page, style, i); i++)
    {
      g_autoptr (GememPicture) picture = gemem_plan_picture (result, &page);

      if (!gemem_picture_write (picture, dir, name, &page, program, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
gemem_plan_plots_write (const char *dir, const GememPlotStyle *style,
                        const GememPlanResult *results, guint n, const char *gnuplot,
                        gboolean *rendered, GError **error)
{
  g_autofree char *program = gemem_plot_program (gnuplot);
  g_autoptr (GHashTable) taken = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  *rendered = program != NULL;
  if (!gemem_make_folder (dir, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = picture_name (taken, &results[i]);

      if (!write_pictures (dir, style, &results[i], name, program, error))
        return FALSE;
    }
  return TRUE;
}
