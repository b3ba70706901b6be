/* levels.c - a tree over blocks of columns, in which a stretch is raised and the highest is known; see levels.h. */
#include "config.h"

#include <string.h>

#include "planners/optimal/levels.h"

#define BLOCK 16 /* columns */

struct _GememLevels
{
  gint64 *levels; /* by column, without what was added to its block or to a node above that */
  gint64 *most,
      *added; /* by node, the root is 1: the highest level below it; what was added to all of them */
  guint32 blocks; /* a power of two; their nodes are those from here on */
};

GememLevels *
gemem_levels_new (guint32 columns)
{
  GememLevels *levels = g_new0 (GememLevels, 1);

  for (levels->blocks = 1;
       levels->blocks * BLOCK < columns + 1;) /* boxes may end behind the last */
    levels->blocks *= 2;
  levels->levels = g_new (gint64, (gsize) levels->blocks * BLOCK);
  levels->most = g_new (gint64, 2 * (gsize) levels->blocks);
  levels->added = g_new (gint64, 2 * (gsize) levels->blocks);
  return levels;
}

void
gemem_levels_free (GememLevels *levels)
{
  if (levels == NULL)
    return;
  g_free (levels->levels);
  g_free (levels->most);
  g_free (levels->added);
  g_free (levels);
}

/* Finds what @node is at most from its two halves, or from its columns, which begin at @low. */
static void
look_below (GememLevels *levels, guint32 node, guint32 low)
{
  gint64 most = 0;

  if (node < levels->blocks)
    most = MAX (levels->most[2 * node], levels->most[2 * node + 1]);
  else
    for (guint32 c = low; c < low + BLOCK; c++)
      most = MAX (most, levels->levels[c]);
  levels->most[node] = most + levels->added[node];
}

void
gemem_levels_begin (GememLevels *levels, const GememBoxes *boxes)
{
  gint64 load = 0;

  memset (levels->levels, 0, sizeof (gint64) * levels->blocks * BLOCK);
  memset (levels->added, 0, sizeof (gint64) * 2 * levels->blocks);
  for (guint32 i = 0; i < boxes->n; i++)
    {
      levels->levels[boxes->boxes[i].first] += boxes->boxes[i].size;
      levels->levels[boxes->boxes[i].last] -= boxes->boxes[i].size;
    }
  for (guint32 c = 0; c < levels->blocks * BLOCK; c++)
    levels->levels[c] = load += levels->levels[c];
  for (guint32 node = 2 * levels->blocks; node-- > 1;)
    look_below (levels, node, (node - levels->blocks) * BLOCK);
}

/* Raises those of columns [first, last) that are below @node, which is @width columns wide and begins at @low. */
static void
raise_below (GememLevels *levels, guint32 node, guint32 low, guint32 width, guint32 first,
             guint32 last, gint64 by)
{
  if (last <= low || low + width <= first)
    return;
  if (first <= low && low + width <= last)
    {
      levels->added[node] += by;
      levels->most[node] += by;
      return;
    }
  if (node < levels->blocks)
    {
      raise_below (levels, 2 * node, low, width / 2, first, last, by);
      raise_below (levels, 2 * node + 1, low + width / 2, width / 2, first, last, by);
    }
  else
    for (guint32 c = MAX (first, low); c < MIN (last, low + width); c++)
      levels->levels[c] += by;
  look_below (levels, node, low);
}

void
gemem_levels_raise (GememLevels *levels, guint32 first, guint32 last, gint64 by)
{
  raise_below (levels, 1, 0, levels->blocks * BLOCK, first, last, by);
}

gint64
gemem_levels_most (const GememLevels *levels)
{
  return levels->most[1];
}
