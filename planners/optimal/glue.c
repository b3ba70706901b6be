/* glue.c - joining boxes; see glue.h.
 *
 * Where the load is below the largest there are fillers, at the last level: as high as what it falls by, from where it falls to
 * where it rises again.  They stand for what is free, so that what lies around it fits; they are never placed.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "planners/optimal/glue-private.h"

/* ---- what remains */

/* Whether node @i is to be placed. */
static gboolean
remains (const GememGlue *glue, guint32 i)
{
  return !glue->nodes[i].gone && (i < glue->n || i >= glue->n_filled);
}

static void
collect_rest (GememGlue *glue)
{
  for (guint32 i = 0; i < glue->n_nodes; i++)
    glue->rest.n += remains (glue, i);
  glue->rest.boxes = g_new (GememBox, (gsize) glue->rest.n + 1);
  glue->rest.columns = glue->columns;
  glue->rest.n = 0;
  for (guint32 i = 0; i < glue->n_nodes; i++)
    if (remains (glue, i))
      {
        const GememGlueNode *node = &glue->nodes[i];

        glue->rest.boxes[glue->rest.n++] = (GememBox){ .size = node->size,
                                                       .unit = 1,
                                                       .life = node->life,
                                                       .id = i,
                                                       .item = i,
                                                       .first = node->first,
                                                       .last = node->last };
      }
}

/* ---- fillers */

typedef struct
{
  gint64 size;
  guint32 border;
  gboolean rises;
} Change;

static int
compare_changes (gconstpointer a, gconstpointer b)
{
  const Change *x = a, *y = b;

  if (x->size != y->size)
    return x->size < y->size ? -1 : 1;
  return x->border < y->border ? -1 : x->border > y->border;
}

/* How the load changes at each border, from and to the largest: the first box begins and the last ends there. */
static gint64 *
find_changes (const GememGlue *glue)
{
  gint64 *changes = g_new0 (gint64, (gsize) glue->columns + 1), load = 0, most = 0;
  guint32 first = glue->columns, last = 0;

  for (guint32 i = 0; i < glue->n; i++)
    {
      const GememGlueNode *node = &glue->nodes[i];

      changes[node->first] += node->size;
      changes[node->last] -= node->size;
      first = MIN (first, node->first);
      last = MAX (last, node->last);
    }
  for (guint32 border = first; border < last; border++)
    {
      load += changes[border];
      most = MAX (most, load);
    }
  changes[first] -= most;
  changes[last] += most;
  return changes;
}

/* Fills @size between two borders, whose changes are as much smaller. */
static void
fill (GememGlue *glue, gint64 *changes, guint32 first, guint32 last, gint64 size)
{
  glue->nodes[glue->n_nodes] = (GememGlueNode){ .size = size,
                                                .life = last - first,
                                                .first = first,
                                                .last = last,
                                                .a = GEMEM_GLUE_NO_JOINT,
                                                .b = GEMEM_GLUE_NO_JOINT };
  glue->n_nodes++;
  changes[first] += size;
  changes[last] -= size;
}

/* Where it falls and next rises by the same. */
static void
fill_same (GememGlue *glue, gint64 *changes)
{
  g_autofree Change *sorted = g_new (Change, (gsize) glue->columns + 1);
  guint32 n = 0;

  for (guint32 border = 0; border <= glue->columns; border++)
    if (changes[border] != 0)
      sorted[n++] = (Change){ ABS (changes[border]), border, changes[border] > 0 };
  qsort (sorted, n, sizeof (Change), compare_changes);
  for (guint32 i = 0; i + 1 < n; i++)
    if (sorted[i].size == sorted[i + 1].size && !sorted[i].rises && sorted[i + 1].rises)
      fill (glue, changes, sorted[i].border, sorted[i + 1].border, sorted[i].size);
}

/* What is left: where it rises, from where it fell last. */
static void
fill_last (GememGlue *glue, gint64 *changes)
{
  g_autofree guint32 *fallen = g_new (guint32, (gsize) glue->columns + 1);
  guint32 n = 0;

  for (guint32 border = 0; border <= glue->columns; border++)
    {
      while (changes[border] > 0 && n > 0)
        {
          fill (glue, changes, fallen[n - 1], border,
                MIN (changes[border], -changes[fallen[n - 1]]));
          n -= changes[fallen[n - 1]] == 0;
        }
      if (changes[border] < 0)
        fallen[n++] = border;
    }
}

static void
add_fillers (GememGlue *glue)
{
  g_autofree gint64 *changes = find_changes (glue);
  gsize most = 0; /* each takes a change away */

  for (guint32 border = 0; border <= glue->columns; border++)
    most += changes[border] != 0;
  if (most == 0)
    return;
  glue->nodes = g_renew (GememGlueNode, glue->nodes, 2 * (glue->n + most) + 1);
  fill_same (glue, changes);
  fill_last (glue, changes);
}

/* ---- all */

/* Keeps of the nodes what take_apart() needs. */
static void
make_joints (GememGlue *glue)
{
  const guint32 n = glue->n_nodes - glue->n_filled;

  glue->joints = g_new (GememGlueJoint, (gsize) n + 1);
  for (guint32 i = 0; i < n; i++)
    {
      const GememGlueNode *node = &glue->nodes[glue->n_filled + i];

      glue->joints[i] = (GememGlueJoint){ node->stacked ? glue->nodes[node->a].size : 0, node->a,
                                          node->b };
    }
}

void
gemem_glue_finish (GememGlue *glue)
{
  if (glue->nodes == NULL)
    return;
  make_joints (glue);
  gemem_glue_borders_clear (glue);
  g_clear_pointer (&glue->nodes, g_free);
}

GememGlue *
gemem_glue_new (const GememBoxes *boxes, const GememGlueOrigins *origins, GememGlueLevel level)
{
  GememGlue *glue = g_new0 (GememGlue, 1);

  glue->n = boxes->n;
  glue->columns = boxes->columns;
  glue->nodes = g_new (GememGlueNode, 2 * (gsize) boxes->n + 1);
  for (guint32 i = 0; i < boxes->n; i++)
    {
      const GememBox *box = &boxes->boxes[origins != NULL ? origins->places[i] : i];

      glue->nodes[i] = (GememGlueNode){ .size = box->size,
                                        .life = box->life,
                                        .first = origins != NULL ? origins->firsts[i] : box->first,
                                        .last = origins != NULL ? origins->lasts[i] : box->last,
                                        .a = GEMEM_GLUE_NO_JOINT,
                                        .b = GEMEM_GLUE_NO_JOINT };
    }
  glue->n_nodes = boxes->n;
  glue->grain = gemem_boxes_grain (boxes);
  glue->level = level;
  if (level == GEMEM_GLUE_FILLED && boxes->n > 0)
    add_fillers (glue);
  glue->n_filled = glue->n_nodes;
  gemem_glue_borders_init (glue);
  gemem_glue_join_all (glue);
  collect_rest (glue);
  if (level != GEMEM_GLUE_SUMS)
    gemem_glue_finish (glue);
  return glue;
}

/* Whether the load is as large everywhere: there are no fillers. */
static gboolean
is_full (const GememGlue *glue)
{
  g_autofree gint64 *changes = find_changes (glue);

  for (guint32 border = 0; border <= glue->columns; border++)
    if (changes[border] != 0)
      return FALSE;
  return TRUE;
}

GememGlue *
gemem_glue_go_on (GememGlue *glue)
{
  if (glue->nodes == NULL || !is_full (glue))
    {
      gemem_glue_finish (glue);
      return NULL;
    }
  GememGlue *looser = g_memdup2 (glue, sizeof *glue);

  make_joints (glue);
  glue->nodes = NULL; /* all but joints and the rest are the other's */
  looser->level = GEMEM_GLUE_LOOSE;
  looser->rest = (GememBoxes){ NULL, 0, 0 };
  gemem_glue_join_more (looser);
  collect_rest (looser);
  gemem_glue_finish (looser);
  return looser;
}

void
gemem_glue_free (GememGlue *glue)
{
  if (glue == NULL)
    return;
  gemem_glue_finish (glue);
  g_free (glue->joints);
  g_free (glue->rest.boxes);
  g_free (glue);
}

gboolean
gemem_glue_is_filled (const GememGlue *glue)
{
  return glue->n_filled > glue->n;
}

GememBoxes *
gemem_glue_rest (GememGlue *glue)
{
  return &glue->rest;
}

void
gemem_glue_take_apart (GememGlue *glue, GememBoxes *boxes, const GememGlueOrigins *origins)
{
  gemem_glue_finish (glue);
  g_autofree gint64 *offsets = g_new0 (gint64, (gsize) glue->n_nodes + 1);

  for (guint32 i = 0; i < glue->rest.n; i++)
    offsets[glue->rest.boxes[i].item] = glue->rest.boxes[i].offset;
  for (guint32 i = glue->n_nodes; i-- > glue->n_filled;)
    {
      const GememGlueJoint *joint = &glue->joints[i - glue->n_filled];

      offsets[joint->a] = offsets[i];
      offsets[joint->b] = offsets[i] + joint->up;
    }
  for (guint32 i = 0; i < glue->n; i++)
    boxes->boxes[origins != NULL ? origins->places[i] : i].offset = offsets[i];
}
