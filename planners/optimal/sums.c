/* sums.c - what sizes can add up to in a column, and what is lost where they cannot; see sums.h. */
#include "config.h"

#include <stdlib.h>

#include "planners/optimal/sums.h"

#define STEPS (1 << 25)
#define LOOK 64 /* steps of a look into the occupancy */
#define MAX_SUMS 4096

/* What is in use in the column at hand. */
typedef struct
{
  gint64 start; /* of its place; -1: anywhere */
  gint64 low, size, unit;
  guint32 box;
} Used;

typedef struct
{
  gint64 load;
  guint32 column;
} Column;

typedef struct
{
  const GememShapes *shapes;
  GememOccupancy *walls; /* what has a place; NULL: nothing has */
  GArray *used;          /* Used */
  gint64 *sums;          /* ascending, each once */
  gint64 *shifted, *both;
  guint32 n_sums;
  guint64 steps, orders;
} Sums;

/* ---- sums */

/* Starts with the sum of nothing. */
static void
clear (Sums *sums)
{
  sums->sums[0] = 0;
  sums->n_sums = 1;
}

/* Each sum with @size more, as far as it stays below @limit; @wrap: modulo it. */
static guint32
shift (Sums *sums, gint64 size, gint64 limit, gboolean wrap)
{
  guint32 below = sums->n_sums, n = 0;

  size = wrap ? size % limit : size;
  while (below > 0 && sums->sums[below - 1] >= limit - size)
    below--;
  for (guint32 i = below; i < sums->n_sums && wrap; i++)
    sums->shifted[n++] = sums->sums[i] - (limit - size);
  for (guint32 i = 0; i < below; i++)
    sums->shifted[n++] = sums->sums[i] + size;
  return n;
}

/* Adds the sums that there are with @size, too.  FALSE: too many. */
static gboolean
add (Sums *sums, gint64 size, gint64 limit, gboolean wrap)
{
  const guint32 more = shift (sums, size, limit, wrap);
  guint32 a = 0, b = 0, n = 0;

  while (n < MAX_SUMS && (a < sums->n_sums || b < more))
    {
      const gint64 one = a < sums->n_sums ? sums->sums[a] : G_MAXINT64,
                   other = b < more ? sums->shifted[b] : G_MAXINT64;

      a += one <= other;
      b += other <= one;
      sums->both[n++] = MIN (one, other);
    }
  gint64 *old = sums->sums;
  sums->sums = sums->both;
  sums->both = old;
  sums->n_sums = n;
  sums->steps -= MIN (sums->steps, n);
  return n < MAX_SUMS && sums->steps > 0;
}

/* The largest sum up to @limit, which is not negative. */
static gint64
largest_up_to (const Sums *sums, gint64 limit)
{
  guint32 low = 0, high = sums->n_sums; /* sums[low] <= limit, and none from `high` on */

  while (high - low > 1)
    {
      const guint32 middle = low + (high - low) / 2;

      if (sums->sums[middle] <= limit)
        low = middle;
      else
        high = middle;
    }
  return sums->sums[low];
}

static const Used *
used_at (const Sums *sums, guint i)
{
  return &g_array_index (sums->used, Used, i);
}

/* ---- alignments */

/* What a big one loses with nothing small above it, and how much less it may be with something. */
typedef struct
{
  gint64 lost, spared;
} Loss;

static int
compare_losses (gconstpointer a, gconstpointer b)
{
  const Loss *x = a, *y = b;

  return (x->spared < y->spared) - (x->spared > y->spared);
}

static gboolean
is_big (const Used *used, gint64 unit)
{
  return used->start >= 0 ? used->start % unit == 0
                          : used->unit % unit == 0 && used->low % unit == 0;
}

/* The least that is lost of @n big ones, one of which is topmost and @small of the others have something above them. */
static gint64
least_loss (Loss *losses, guint32 n, guint32 small)
{
  gint64 all = 0, helped = 0, least = G_MAXINT64;

  qsort (losses, n, sizeof (Loss), compare_losses);
  for (guint32 i = 0; i < n; i++)
    {
      all += losses[i].lost;
      helped += i < small ? losses[i].spared : 0;
    }
  const gint64 next = small < n ? losses[small].spared : 0;
  for (guint32 top = 0; top < n; top++)
    {
      const gint64 others = top < small ? helped - losses[top].spared + next : helped;

      least = MIN (least, all - losses[top].lost - others);
    }
  return least;
}

/* What is lost in the column at hand between what is aligned to @unit. */
static gint64
loss_at (Sums *sums, gint64 unit)
{
  g_autofree Loss *losses = g_new (Loss, (gsize) sums->used->len + 1);
  gboolean counted = TRUE;
  guint32 n = 0, small = 0;

  clear (sums);
  for (guint i = 0; i < sums->used->len; i++)
    if (!is_big (used_at (sums, i), unit))
      {
        small++;
        counted = counted && add (sums, used_at (sums, i)->size, unit, TRUE);
      }
  for (guint i = 0; i < sums->used->len; i++)
    if (is_big (used_at (sums, i), unit))
      {
        const gint64 lost = (unit - used_at (sums, i)->size % unit) % unit;

        losses[n++] = (Loss){ lost, counted ? largest_up_to (sums, lost) : lost };
      }
  return n > 0 ? least_loss (losses, n, small) : 0;
}

static gint64
most_loss (Sums *sums)
{
  gint64 most = 0;

  for (guint i = 0; i < sums->used->len && sums->steps > 0; i++)
    {
      const gint64 unit = used_at (sums, i)->unit;
      gboolean known = unit == 1;

      for (guint k = 0; k < i && !known; k++)
        known = used_at (sums, k)->unit == unit;
      sums->steps -= MIN (sums->steps, i + sums->used->len);
      most = known ? most : MAX (most, loss_at (sums, unit));
    }
  return most;
}

/* ---- places */

static int
compare_starts (gconstpointer a, gconstpointer b)
{
  const Used *x = a, *y = b;

  return (x->start > y->start) - (x->start < y->start);
}

/* Whether @used can lie between @low and @high where nothing is but what has a place. */
static gboolean
can_lie (Sums *sums, const Used *used, gint64 low, gint64 high)
{
  const GememShapes *shapes = sums->shapes;
  const guint32 pieces = shapes->starts[used->box + 1] - shapes->starts[used->box];

  if (used->size > high - low || sums->steps == 0)
    return used->size <= high - low;
  sums->steps -= MIN (sums->steps, (guint64) LOOK * pieces);
  return gemem_shapes_lowest (shapes, sums->walls, used->box, MAX (0, low - used->low)) + used->low
             + used->size
         <= high;
}

/* The most that can lie between @low and @high of what may lie anywhere. */
static gint64
most_between (Sums *sums, gint64 low, gint64 high)
{
  gboolean counted = TRUE;
  gint64 all = 0;

  clear (sums);
  for (guint i = 0; i < sums->used->len; i++)
    {
      const Used *used = used_at (sums, i);

      if (used->start >= 0 || !can_lie (sums, used, low, high))
        continue;
      all += used->size;
      counted = counted && add (sums, used->size, high - low + 1, FALSE);
    }
  return MIN (all, counted ? sums->sums[sums->n_sums - 1] : high - low);
}

/* The least end of the highest place and of what the holes below it cannot take; 0: nothing has a place. */
static gint64
least_above (Sums *sums)
{
  gint64 rest = 0, end = 0;

  g_array_sort (sums->used, compare_starts);
  for (guint i = 0; i < sums->used->len; i++)
    rest += used_at (sums, i)->start < 0 ? used_at (sums, i)->size : 0;
  for (guint i = 0; i < sums->used->len; i++)
    {
      const Used wall = *used_at (sums, i);

      if (wall.start > end)
        rest -= most_between (sums, end, wall.start);
      end = wall.start >= 0 ? wall.start + wall.size : end;
    }
  return end > 0 ? end + MAX (rest, 0) : 0;
}

/* The highest end of an item that lies where it can with the places alone. */
static gint64
highest_alone (Sums *sums)
{
  const GememShapes *shapes = sums->shapes;
  gint64 highest = 0;

  for (guint32 b = 0; b < shapes->boxes->n && sums->steps > 0; b++)
    if (shapes->places[b] < 0)
      {
        const guint32 pieces = shapes->starts[b + 1] - shapes->starts[b];

        sums->steps -= MIN (sums->steps, (guint64) LOOK * pieces);
        highest = MAX (highest, gemem_shapes_lowest (shapes, sums->walls, b, 0)
                                    + shapes->boxes->boxes[b].size);
      }
  return highest;
}

/* ---- few */

/* The lowest start of @used from @from on. */
static gint64
lowest_start (const Sums *sums, const Used *used, gint64 from)
{
  const gint64 offset = MAX (0, from - used->low);

  return used->low
         + (sums->walls != NULL ? gemem_shapes_lowest (sums->shapes, sums->walls, used->box, offset)
                                : gemem_box_align (offset, used->unit));
}

/* The least end of what may lie anywhere in the column at hand, from those of all sets of it; 0: it is too much for that. */
static gint64
least_of_all_orders (Sums *sums)
{
  g_autoptr (GArray) loose = g_array_new (FALSE, FALSE, sizeof (Used));
  const guint64 cost = sums->walls != NULL ? LOOK : 1;

  for (guint i = 0; i < sums->used->len && loose->len < 16; i++)
    if (used_at (sums, i)->start < 0)
      g_array_append_val (loose, *used_at (sums, i));
  const guint32 sets = 1u << loose->len;
  if (loose->len * sets * cost > MIN (sums->orders, sums->steps))
    return 0;
  sums->steps -= loose->len * sets * cost;
  g_autofree gint64 *ends = g_new0 (gint64, sets);
  for (guint32 set = 1; set < sets; set++)
    {
      ends[set] = G_MAXINT64;
      for (guint32 i = 0; i < loose->len; i++)
        {
          const Used *used = &g_array_index (loose, Used, i);

          if ((set >> i & 1) != 0)
            ends[set] = MIN (ends[set],
                             used->size + lowest_start (sums, used, ends[set ^ (1u << i)]));
        }
    }
  return ends[sets - 1];
}

/* ---- columns */

static int
compare_columns (gconstpointer a, gconstpointer b)
{
  const Column *x = a, *y = b;

  if (x->load != y->load)
    return x->load > y->load ? -1 : 1;
  return x->column < y->column ? -1 : x->column > y->column;
}

/* All columns, those with the largest load first. */
static Column *
list_columns (const GememShapes *shapes)
{
  Column *columns = g_new0 (Column, (gsize) shapes->columns + 1);

  for (guint32 b = 0; b < shapes->boxes->n; b++)
    for (guint32 p = shapes->starts[b]; p < shapes->starts[b + 1]; p++)
      {
        const GememShapePiece *piece = &shapes->pieces[p];

        columns[piece->first].load += piece->high - piece->low;
        columns[piece->last].load -= piece->high - piece->low;
      }
  for (guint32 c = 0; c < shapes->columns; c++)
    {
      columns[c].column = c;
      columns[c + 1].load += columns[c].load;
    }
  qsort (columns, shapes->columns, sizeof (Column), compare_columns);
  return columns;
}

static void
list_used (Sums *sums, guint32 column)
{
  const GememShapes *shapes = sums->shapes;

  g_array_set_size (sums->used, 0);
  for (guint32 b = 0; b < shapes->boxes->n; b++)
    for (guint32 p = shapes->starts[b]; p < shapes->starts[b + 1]; p++)
      {
        const GememShapePiece *piece = &shapes->pieces[p];
        const gint64 place = shapes->places[b];
        const Used used = { place >= 0 ? place + piece->low : -1, piece->low,
                            piece->high - piece->low, shapes->boxes->boxes[b].unit, b };

        if (piece->first <= column && column < piece->last && used.size > 0)
          g_array_append_val (sums->used, used);
      }
  sums->steps -= MIN (sums->steps, shapes->starts[shapes->boxes->n]);
}

static gint64
bound_of_columns (Sums *sums)
{
  g_autofree Column *columns = list_columns (sums->shapes);
  gint64 bound = sums->walls != NULL ? highest_alone (sums) : 0;

  for (guint32 i = 0; i < sums->shapes->columns && sums->steps > 0; i++)
    {
      list_used (sums, columns[i].column);
      bound = MAX (bound, MAX (least_of_all_orders (sums), columns[i].load + most_loss (sums)));
      if (sums->walls != NULL)
        bound = MAX (bound, least_above (sums));
    }
  return bound;
}

gint64
gemem_sums_bound (const GememShapes *shapes, guint64 orders)
{
  g_autoptr (GememOccupancy) walls = gemem_shapes_walls (shapes);
  Sums sums = { .shapes = shapes, .walls = walls, .steps = STEPS, .orders = orders };

  if (walls == NULL && !gemem_boxes_have_units (shapes->boxes))
    return 0;
  sums.used = g_array_new (FALSE, FALSE, sizeof (Used));
  sums.sums = g_new (gint64, MAX_SUMS);
  sums.shifted = g_new (gint64, MAX_SUMS);
  sums.both = g_new (gint64, MAX_SUMS);
  const gint64 bound = bound_of_columns (&sums);
  g_array_unref (sums.used);
  g_free (sums.sums);
  g_free (sums.shifted);
  g_free (sums.both);
  return bound;
}
