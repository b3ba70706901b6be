/* pattern.c - planner `onnxruntime-pattern`: ONNX Runtime's memory pattern, requests and releases in
 * the order of execution.
 *
 * A request takes the smallest gap between the blocks that are live then, the lowest of equal ones,
 * else the end of the last block.  All that is released at a step is free for the requests of the
 * step.  As what comes later takes no account of the lives of what is there, this is best fit in
 * the order of begin.
 *
 * Before that ONNX Runtime lets an output take over the buffer of a dead one of the same shape and
 * type, or of an input that the operator may overwrite; the buffer then is one block from the first
 * request to the last release.  Lifetimes tell no shapes: by default nothing is taken over;
 * reuse=same-size takes an equal size for an equal shape.  Not known, and chosen: the buffer that died
 * last is taken over, the lowest id of equal ones.
 * Cost: occupancy.h.  Origin: offline-planning.md 3.
 */
#include "config.h"

#include "planners/fit.h"

typedef struct
{
  int reuse;
  guint64 alignment;
} Params;

static const GememParam params_pattern[] = {
  { .name = "reuse",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "no",
    .choices = "no|same-size",
    .help = "Whether a dead buffer of the same size is taken over whole, as one of the same shape "
            "and type is.",
    .offset = G_STRUCT_OFFSET (Params, reuse) },
  GEMEM_PLANNER_ALIGNMENT (Params),
  { NULL },
};

/* ---- buffers that are taken over */

typedef struct
{
  GememBoxes blocks; /* as the boxes, in order of begin; several boxes may be one */
  guint32 *block;    /* of each box */
  GHashTable *dead;  /* size -> GArray of guint32, blocks; the one to take over last */
} Takeover;

static GememBoxKey
by_end (const GememBox *box, gpointer unused G_GNUC_UNUSED)
{
  return (GememBoxKey){ box->last, ~box->id, 0 };
}

static GArray *
dead_of_size (const Takeover *takeover, const gint64 *size)
{
  GArray *blocks = g_hash_table_lookup (takeover->dead, size);

  if (blocks == NULL)
    {
      blocks = g_array_new (FALSE, FALSE, sizeof (guint32));
      g_hash_table_insert (takeover->dead, (gpointer) size, blocks);
    }
  return blocks;
}

/* The last of @dead that is aligned as @box; @dead->len if none is. */
static guint
find_dead (const Takeover *takeover, const GArray *dead, const GememBox *box)
{
  for (guint i = dead->len; i-- > 0;)
    if (takeover->blocks.boxes[g_array_index (dead, guint32, i)].unit == box->unit)
      return i;
  return dead->len;
}

/* The box at @place takes over a dead block, or becomes one. */
static void
take_block (Takeover *takeover, const GememBox *box, guint32 place)
{
  GArray *dead = dead_of_size (takeover, &box->size);
  const guint found = find_dead (takeover, dead, box);

  if (found == dead->len)
    {
      takeover->block[place] = takeover->blocks.n;
      takeover->blocks.boxes[takeover->blocks.n++] = *box;
      return;
    }
  takeover->block[place] = g_array_index (dead, guint32, found);
  takeover->blocks.boxes[takeover->block[place]].last = box->last;
  g_array_remove_index (dead, found);
}

/* @boxes are in order of begin, with their places as rank. */
static void
find_blocks (Takeover *takeover, const GememBoxes *boxes)
{
  g_autofree GememBox *ends = g_memdup2 (boxes->boxes, sizeof (GememBox) * boxes->n);
  GememBoxes by = { ends, boxes->n, boxes->columns };
  guint32 ended = 0;

  gemem_boxes_sort (&by, by_end, NULL);
  for (guint32 i = 0; i < boxes->n; i++)
    {
      for (; ended < i && ends[ended].last <= boxes->boxes[i].first; ended++)
        g_array_append_val (dead_of_size (takeover, &boxes->boxes[ends[ended].rank].size),
                            takeover->block[ends[ended].rank]);
      take_block (takeover, &boxes->boxes[i], i);
    }
}

static void
place_taken_over (GememBoxes *boxes, const GememPlanInput *input)
{
  g_autofree guint32 *block = g_new (guint32, boxes->n);
  g_autofree GememBox *blocks = g_new (GememBox, boxes->n);
  Takeover takeover = { { blocks, 0, boxes->columns },
                        block,
                        g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL,
                                               (GDestroyNotify) g_array_unref) };

  for (guint32 i = 0; i < boxes->n; i++)
    boxes->boxes[i].rank = i;
  find_blocks (&takeover, boxes);
  gemem_boxes_fit (&takeover.blocks, gemem_occupancy_best_fit, input);
  for (guint32 i = 0; i < boxes->n; i++)
    boxes->boxes[i].offset = blocks[block[i]].offset;
  g_hash_table_unref (takeover.dead);
}

/* ---- planning */

typedef struct
{
  const GememPlanInput *input;
  gboolean reuse;
} Pattern;

static gboolean
place (GememBoxes *boxes, gpointer data, GError **error G_GNUC_UNUSED)
{
  const Pattern *pattern = data;

  gemem_boxes_sort (boxes, gemem_box_by_begin, NULL);
  if (pattern->reuse)
    place_taken_over (boxes, pattern->input);
  else
    gemem_boxes_fit (boxes, gemem_occupancy_best_fit, pattern->input);
  return TRUE;
}

static GememPlan *
plan_pattern (gconstpointer data, const GememPlanInput *input, GError **error)
{
  const Params *params = data;
  Pattern pattern = { input, params->reuse != 0 };

  return gemem_boxes_plan (input, params->alignment, 1, place, &pattern, error);
}

const GememPlanner gemem_planner_onnxruntime_pattern = {
  { "onnxruntime-pattern", NULL, "ONNX Runtime: requests in order of execution, best fit",
    "offline-planning.md 3", params_pattern, sizeof (Params), "MemPatternPlanner" },
  0,
  512,
  plan_pattern,
  GEMEM_FIT_ITEM_BYTES + 200
};
