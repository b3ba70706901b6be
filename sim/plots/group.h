/* group.h - the results of one trace, shown in one picture, and numbers shared by all
 * pictures. */
#pragma once

#include "sim/engine/result.h"

/* The results of one trace on one device that are drawn; at least one.  Equal ones are one, which
 * is named after all of them.  Those that need least come first, those that failed last. */
typedef struct
{
  char *title; /* as in tables, without folders */
  char *slug;  /* for file names: a-z, 0-9, '.', '_' and '-'; unique among the groups */
  GPtrArray *results;
  GPtrArray *labels; /* char *, of each: what differs between them */
  GPtrArray *all;    /* every result, as given: of a search */
  guint more;        /* how many are not drawn */
} GememPlotGroup;

/* Groups of @results, in order of first occurrence; free with g_ptr_array_unref(). */
GPtrArray *gemem_plot_groups (GememResult *const *results, guint n);
/* The name of result @i. */
const char *gemem_plot_label (const GememPlotGroup *group, guint i);
/* @group with its first @max results and what the program has now, for pictures with fewer; free
 * with gemem_plot_group_free(). */
GememPlotGroup *gemem_plot_group_first (const GememPlotGroup *group, guint max);
/* @results of a trace as a group, without labels; free with gemem_plot_group_free(). */
GememPlotGroup *gemem_plot_group_part (const char *title, const char *slug, GPtrArray *results);
void gemem_plot_group_free (gpointer group);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememPlotGroup, gemem_plot_group_free)
/* "/tmp/GPT2 train.gmt" -> "gpt2-train": for file names. */
char *gemem_plot_slug (const char *path);

gboolean gemem_plot_has_timeline (const GememResult *result); /* of at least one point */
/* Number of results of @group that have a timeline. */
guint gemem_plot_timelines (const GememPlotGroup *group);

/* The largest @value of the group. */
guint64 gemem_plot_most (const GememPlotGroup *group, guint64 (*value) (const GememResult *result));
/* Upper end of an axis: the largest @value of at most GEMEM_PLOT_OUTLIER times the median (of two,
 * of the larger).  Larger values are cut and marked, so that one allocator that takes the whole
 * device does not shrink all others to a line.  At least half of the group is never cut. */
#define GEMEM_PLOT_OUTLIER 3
guint64 gemem_plot_common_end (const GememPlotGroup *group,
                               guint64 (*value) (const GememResult *result));
/* The larger of peak reserved and lower bound (unknown where requests failed): the extent of a
 * result on an axis of bytes. */
guint64 gemem_plot_peak (const GememResult *result);
/* Above 0 if the bars of @result are hatched: failed requests, or 1 if the run is not allowed. */
guint64 gemem_plot_failed (const GememResult *result);
/* What the least placement of --optimal needs, a line in pictures of the others; 0: it was not asked
 * for, or did not serve all. */
guint64 gemem_plot_optimum (const GememPlotGroup *group);
/* Whether a run of @group is hatched, and what the legend says of it ("" if none is). */
gboolean gemem_plot_has_failures (const GememPlotGroup *group);
const char *gemem_plot_failures_text (const GememPlotGroup *group);
