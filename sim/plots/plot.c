/* plot.c - the table of pictures, and writing them for all traces; see report.h.
 *
 * One set of files per trace and picture: comparison-SLUG.dat, .gp, and with gnuplot .svg and .png.
 * Data and script are always written, so that a colour can be changed in the folder and `gnuplot
 * comparison-SLUG.gp` run there.  Equal results give equal files.
 */
#include "config.h"

#include "sim/plots/plots-private.h"
#include "sim/plots/plots.h"
#include "sim/report/report.h"

static gboolean
has_timelines (const GememPlotGroup *group)
{
  return gemem_plot_timelines (group) > 0;
}

static const struct
{
  const char *name;
  gboolean (*applies) (const GememPlotGroup *group); /* NULL: always */
  void (*data) (GString *out, const GememPlotGroup *group);
  void (*script) (GString *out, const GememPlotGroup *group, GememPlotPage *page, const char *base);
} pictures[GEMEM_PLOT_COUNT] = {
  [GEMEM_PLOT_COMPARISON] = { "comparison", NULL, gemem_plot_comparison_data,
                              gemem_plot_comparison_script },
  [GEMEM_PLOT_TIMELINE] = { "timeline", has_timelines, gemem_plot_timeline_data,
                            gemem_plot_timeline_script },
  [GEMEM_PLOT_FRAGMENTATION] = { "fragmentation", has_timelines, gemem_plot_fragmentation_data,
                                 gemem_plot_fragmentation_script },
  [GEMEM_PLOT_CALLS] = { "calls", NULL, gemem_plot_calls_data, gemem_plot_calls_script },
  [GEMEM_PLOT_MEASURED] = { "measured", gemem_plot_has_measured, gemem_plot_measured_data,
                            gemem_plot_measured_script },
  [GEMEM_PLOT_LATENCY] = { "latency", gemem_plot_has_measured, gemem_plot_latency_data,
                           gemem_plot_latency_script },
  [GEMEM_PLOT_PROGRAMS] = { "programs", gemem_plot_has_programs, gemem_plot_programs_data,
                            gemem_plot_programs_script },
  [GEMEM_PLOT_SWEEP] = { "sweep", NULL, gemem_plot_sweep_data, gemem_plot_sweep_script },
  [GEMEM_PLOT_FRONT] = { "front", gemem_plot_has_front, gemem_plot_front_data,
                         gemem_plot_front_script },
  [GEMEM_PLOT_CAPACITY] = { "capacity", gemem_plot_has_capacity, gemem_plot_capacity_data,
                            gemem_plot_capacity_script },
  [GEMEM_PLOT_CUMULATIVE] = { "cumulative", gemem_plot_has_cumulative, gemem_plot_cumulative_data,
                              gemem_plot_cumulative_script },
  [GEMEM_PLOT_RESERVED] = { "reserved", gemem_plot_has_reserved, NULL, gemem_plot_reserved_script },
};

void
gemem_plot_data (GString *out, GememPlotKind kind, const GememPlotGroup *group)
{
  if (pictures[kind].data == NULL)
    return;
  gemem_plot_append_comment (out, "", group->title);
  pictures[kind].data (out, group);
}

void
gemem_plot_script (GString *out, GememPlotKind kind, const GememPlotGroup *group,
                   GememPlotPage *page, const char *base)
{
  pictures[kind].script (out, group, page, base);
}

/* A picture of a group. */
typedef struct
{
  GememPlotKind kind;
  const GememPlotGroup *group;
} Drawn;

static void
append_drawn (GString *out, gconstpointer data, GememPlotPage *page, const char *base)
{
  const Drawn *drawn = data;

  gemem_plot_script (out, drawn->kind, drawn->group, page, base);
}

static void
append_overall (GString *out, gconstpointer data, GememPlotPage *page, const char *base)
{
  gemem_plot_overall_script (out, data, page, base);
}

gboolean
gemem_plot_write_one (const char *dir, const GememPlotStyle *style, const char *name,
                      const GString *data, GememPlotScript script, gconstpointer drawn,
                      const char *program, GError **error)
{
  GememPlotPage page;

  if (data->len > 0 && !gemem_plot_write_part (dir, name, ".dat", data, error))
    return FALSE;
  for (guint i = 0; gemem_plot_page_init (&page, style, i); i++)
    {
      g_autofree char *suffix = gemem_plot_page_suffix (&page);
      g_autofree char *base = g_strconcat (name, suffix, NULL);
      g_autoptr (GString) text = g_string_new (NULL);

      script (text, drawn, &page, name);
      if (!gemem_plot_write_part (dir, base, ".gp", text, error)
          || (program != NULL && !gemem_plot_render (program, dir, base, style, 0, error)))
        return FALSE;
    }
  return TRUE;
}

/* Pictures of some kinds, where they go, and how they look. */
typedef struct
{
  const char *dir, *program; /* program: NULL: nothing is drawn */
  const GememPlotStyle *style;
  gboolean search; /* those of a search alone */
  guint drawn;     /* pictures so far */
} Writing;

static gboolean
write_picture (Writing *writing, GememPlotKind kind, const GememPlotGroup *group, GError **error)
{
  const Drawn drawn = { kind, group };
  g_autofree char *name = g_strdup_printf ("%s-%s", pictures[kind].name, group->slug);
  g_autoptr (GString) data = g_string_new (NULL);

  writing->drawn++;
  gemem_plot_data (data, kind, group);
  return gemem_plot_write_one (writing->dir, writing->style, name, data, append_drawn, &drawn,
                               writing->program, error);
}

static gboolean
write_sweeps (Writing *writing, const GememPlotGroup *group, GError **error)
{
  g_autoptr (GPtrArray) sweeps = gemem_plot_sweeps (group);

  for (guint i = 0; i < sweeps->len; i++)
    if (!write_picture (writing, GEMEM_PLOT_SWEEP, sweeps->pdata[i], error))
      return FALSE;
  return TRUE;
}

static gboolean
is_of_search (guint kind)
{
  return kind == GEMEM_PLOT_SWEEP || kind == GEMEM_PLOT_FRONT || kind == GEMEM_PLOT_CAPACITY;
}

static gboolean
write_group (Writing *writing, const GememPlotGroup *group, GError **error)
{
  for (guint kind = 0; kind < GEMEM_PLOT_COUNT; kind++)
    if (writing->search && !is_of_search (kind))
      continue;
    else if (kind == GEMEM_PLOT_SWEEP)
      {
        if (!write_sweeps (writing, group, error))
          return FALSE;
      }
    else if ((pictures[kind].applies == NULL || pictures[kind].applies (group))
             && !write_picture (writing, (GememPlotKind) kind, group, error))
      return FALSE;
  return TRUE;
}

/* The pictures of each recording. */
static gboolean
write_groups (Writing *writing, GememResult *const *results, guint n, gboolean *rendered,
              GError **error)
{
  g_autoptr (GPtrArray) groups = gemem_plot_groups (results, n);

  if (rendered != NULL)
    *rendered = writing->program != NULL && n > 0;
  if (!gemem_make_folder (writing->dir, error))
    return FALSE;
  for (guint i = 0; i < groups->len; i++)
    if (!write_group (writing, groups->pdata[i], error))
      return FALSE;
  return TRUE;
}

static gboolean
write_overall (const char *dir, const GememPlotStyle *style, GememResult *const *results, guint n,
               const char *program, GError **error)
{
  g_autoptr (GememPlotOverall) overall = gemem_plot_overall_new (results, n);
  g_autoptr (GString) data = g_string_new (NULL);

  if (overall == NULL)
    return TRUE;
  gemem_plot_overall_data (data, overall);
  return gemem_plot_write_one (dir, style, "overall", data, append_overall, overall, program,
                               error);
}

gboolean
gemem_plot_write (const char *dir, const GememPlotStyle *style, GememResult *const *results,
                  guint n, const char *gnuplot, gboolean *rendered, GError **error)
{
  g_autofree char *program = gemem_plot_program (gnuplot);
  Writing writing = { dir, program, style, FALSE, 0 };

  return write_groups (&writing, results, n, rendered, error)
         && write_overall (dir, style, results, n, program, error);
}

gboolean
gemem_plot_search_write (const char *dir, const GememPlotStyle *style, GememResult *const *results,
                         guint n, const char *gnuplot, gboolean *rendered, guint *drawn,
                         GError **error)
{
  g_autofree char *program = gemem_plot_program (gnuplot);
  Writing writing = { dir, program, style, TRUE, 0 };
  const gboolean ok = write_groups (&writing, results, n, rendered, error);

  *drawn = writing.drawn;
  return ok;
}
