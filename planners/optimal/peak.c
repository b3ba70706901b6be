/* peak.c - places what lives at the peak first, and all others into what that leaves free; see parts.h.
 *
 * Why: in recordings of real programs few columns have nearly as large a load as the largest.  There no byte may be lost, everywhere
 * else there is space.  A dive cares for all columns alike, and loses some at the peak; here what lives there lies in one stack
 * without a gap.  The others are put one by one as low as they can lie (occupancy.h).  No order of the stack and of the others is the
 * best everywhere, so that some are tried.
 *
 * Invariants: the part's placement is never worse than before; the same boxes in the same order get the same placement.
 * Cost: as occupancy.h says for each try, some microseconds a box; a try ends at the top that there is already.
 * Origin: our own.
 */
#include "config.h"

#include <stdlib.h>

#include "planners/occupancy.h"
#include "planners/optimal/parts.h"

/* Only where the columns have less than 1 - 1/SPARE of the largest load on average is there anything free beside the peak. */
#define SPARE 8
#define MANY 100000 /* boxes, beyond which this takes too long and too much memory */

/* How the stack and the others are ordered, in turn: by words of keys, as in orders.c.  B first column first to begin, b last; D
 * nearest to the peak; E last to end first, e the first; W lifetime, Z size, both descending.  Each word tells all boxes
 * apart that are not alike, so that the order of the input decides nothing. */
static const struct
{
  const char *stack, *others;
} turns[] = {
  { "WBEZ", "ZBe" }, { "Zeb", "DZBe" }, { "ZEB", "ZDBe" }, { "BEZ", "ZBe" }, { "Zeb", "BEZ" }
};

#define MOST_KEYS 4

typedef struct
{
  double keys[MOST_KEYS]; /* the smallest comes first; 0 behind those of the word */
  guint32 place;
} Ordered;

typedef struct
{
  const GememBoxes *boxes;
  guint32 peak; /* column */
  guint32 n_stack;
  Ordered *order;  /* the stack, then the others */
  gint64 *offsets; /* by place */
} Peak;

/* Finds the first column with the largest load; FALSE: there is no space elsewhere. */
static gboolean
find_peak (const GememBoxes *boxes, guint32 *peak)
{
  g_autofree gint64 *change = g_new0 (gint64, (gsize) boxes->columns + 1);
  gint64 load = 0, most = -1;
  double sum = 0;

  for (guint32 i = 0; i < boxes->n; i++)
    {
      change[boxes->boxes[i].first] += boxes->boxes[i].size;
      change[boxes->boxes[i].last] -= boxes->boxes[i].size;
    }
  for (guint32 c = 0; c < boxes->columns; c++)
    {
      load += change[c];
      sum += (double) load;
      *peak = load > most ? c : *peak;
      most = MAX (most, load);
    }
  return sum < (double) most * boxes->columns * (SPARE - 1) / SPARE;
}

/* ---- orders */

static double
key_of (const Peak *all, const GememBox *box, char letter)
{
  switch (letter)
    {
    case 'B':
      return box->first;
    case 'b':
      return -(double) box->first;
    case 'D':
      return box->first > all->peak ? box->first - all->peak : all->peak + 1.0 - box->last;
    case 'E':
      return -(double) box->last;
    case 'e':
      return box->last;
    case 'W':
      return -(double) box->life;
    default:
      return -(double) box->size;
    }
}

static int
compare_ordered (gconstpointer a, gconstpointer b)
{
  const Ordered *x = a, *y = b;

  for (guint k = 0; k < MOST_KEYS; k++)
    if (x->keys[k] != y->keys[k])
      return x->keys[k] < y->keys[k] ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

static void
order_boxes (Peak *all, guint turn)
{
  guint32 stacked = 0, other = all->boxes->n;

  for (guint32 i = 0; i < all->boxes->n; i++)
    {
      const GememBox *box = &all->boxes->boxes[i];
      const gboolean lives = box->first <= all->peak && all->peak < box->last;
      Ordered *own = &all->order[lives ? stacked++ : --other];
      const char *word = lives ? turns[turn].stack : turns[turn].others;

      *own = (Ordered){ .place = i };
      for (guint k = 0; word[k] != '\0'; k++)
        own->keys[k] = key_of (all, box, word[k]);
    }
  all->n_stack = stacked;
  qsort (all->order, stacked, sizeof (Ordered), compare_ordered);
  qsort (all->order + stacked, all->boxes->n - stacked, sizeof (Ordered), compare_ordered);
}

/* ---- placing */

/* Places all boxes; returns the top, G_MAXINT64 as soon as it reaches @below. */
static gint64
place_boxes (Peak *all, gint64 below)
{
  g_autoptr (GememOccupancy) occupancy = gemem_occupancy_new (all->boxes->columns);
  gint64 top = 0;

  for (guint32 i = 0; i < all->boxes->n; i++)
    {
      const guint32 place = all->order[i].place;
      const GememBox *box = &all->boxes->boxes[place];
      gint64 *offset = &all->offsets[place];

      if (i < all->n_stack)
        *offset = gemem_box_align (top, box->unit);
      else
        *offset = (gint64) gemem_occupancy_first_fit (occupancy, box->first, box->last,
                                                      (guint64) box->size, (guint64) box->unit);
      gemem_occupancy_take (occupancy, box->first, box->last, (guint64) *offset,
                            (guint64) (*offset + box->size));
      top = MAX (top, *offset + box->size);
      if (top >= below)
        return G_MAXINT64;
    }
  return top;
}

static void
stack_peak (GememPart *part, gint64 goal, const GememStop *stop)
{
  const gsize n = part->boxes.n;
  Peak all = { .boxes = &part->boxes };

  if (!find_peak (&part->boxes, &all.peak))
    return;
  g_autofree Ordered *order = g_new (Ordered, n);
  g_autofree gint64 *offsets = g_new (gint64, n);
  all.order = order;
  all.offsets = offsets;
  for (guint turn = 0; turn < G_N_ELEMENTS (turns) && part->top > goal; turn++)
    {
      order_boxes (&all, turn);
      if (gemem_part_take (part, place_boxes (&all, part->top), offsets))
        part->stage = GEMEM_STAGE_PEAK;
      if (gemem_stop_reason (stop) != NULL)
        return;
    }
}

void
gemem_parts_stack_peak (GArray *parts, gint64 goal, const GememStop *stop)
{
  for (guint p = 0; p < parts->len; p++)
    {
      GememPart *part = &g_array_index (parts, GememPart, p);

      if (part->boxes.n > 0 && part->boxes.n <= MANY && part->top > goal - part->base)
        stack_peak (part, goal - part->base, stop);
    }
}
