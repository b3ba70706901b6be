/* orders.c - the orders in which dives prefer boxes; see dive.h.
 *
 * An order is a word of keys, each descending, T the first if any: A area, L last column first to begin, Q columns x
 * size, T largest load of a column it is in, W lifetime, X columns, Z size; then the place.  Keys
 * are floating-point numbers: they only choose, and IEEE 754 makes the choice the same everywhere.
 * Origin: offline-planning.md 6.1; none of the orders dominates.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "planners/optimal/dive.h"

static const char *const orders[GEMEM_DIVE_ORDERS] = { "TWA", "AZ",  "ZW", "QZ",
                                                       "LZ",  "TAW", "XZ", "WAT" };

/* The first key; the others are asked of the boxes, which costs less memory than it costs time. */
typedef struct
{
  double key;
  guint32 place;
} Ranked;

typedef struct
{
  const GememBox *boxes;
  const char *word;
} Order;

static double
key_of (char letter, const GememBox *box, double load)
{
  const double size = (double) box->size, columns = box->last - box->first;

  switch (letter)
    {
    case 'A':
      return size * (double) box->life;
    case 'L':
      return -(double) box->first;
    case 'Q':
      return size * columns;
    case 'T':
      return load;
    case 'W':
      return (double) box->life;
    case 'X':
      return columns;
    default:
      return size;
    }
}

static int
compare_ranked (gconstpointer a, gconstpointer b, gpointer data)
{
  const Ranked *x = a, *y = b;
  const Order *order = data;

  if (x->key != y->key)
    return x->key > y->key ? -1 : 1;
  for (const char *letter = order->word + 1; *letter != '\0'; letter++)
    {
      const double one = key_of (*letter, &order->boxes[x->place], 0),
                   other = key_of (*letter, &order->boxes[y->place], 0);

      if (one != other)
        return one > other ? -1 : 1;
    }
  return x->place < y->place ? -1 : x->place > y->place;
}

/* Largest load in the columns of each box: a sparse table would be exact for any interval; blocks
 * of columns suffice. */
#define BLOCK 64

static double
largest (const double *loads, const double *blocks, guint32 first, guint32 last)
{
  double most = 0;

  for (guint32 c = first; c < last;)
    if (c % BLOCK == 0 && c + BLOCK <= last)
      {
        most = MAX (most, blocks[c / BLOCK]);
        c += BLOCK;
      }
    else
      {
        most = MAX (most, loads[c]);
        c++;
      }
  return most;
}

static double *
find_loads (const GememBoxes *boxes, double **blocks)
{
  double *loads = g_new0 (double, (gsize) boxes->columns + 1);
  gint64 live = 0;

  *blocks = g_new0 (double, boxes->columns / BLOCK + 1);
  g_autofree gint64 *change = g_new0 (gint64, (gsize) boxes->columns + 1);
  for (guint32 i = 0; i < boxes->n; i++)
    {
      change[boxes->boxes[i].first] += boxes->boxes[i].size;
      change[boxes->boxes[i].last] -= boxes->boxes[i].size;
    }
  for (guint32 c = 0; c < boxes->columns; c++)
    {
      live += change[c];
      loads[c] = (double) live;
      (*blocks)[c / BLOCK] = MAX ((*blocks)[c / BLOCK], loads[c]);
    }
  return loads;
}

void
gemem_dive_rank (GememBoxes *boxes, guint order)
{
  const char *word = orders[order];
  Order own = { boxes->boxes, word };
  g_autofree Ranked *ranked = g_new0 (Ranked, (gsize) boxes->n + 1);
  g_autofree double *blocks = NULL;
  g_autofree double *loads = strchr (word, 'T') != NULL ? find_loads (boxes, &blocks) : NULL;

  for (guint32 i = 0; i < boxes->n; i++)
    {
      const GememBox *box = &boxes->boxes[i];
      const double load = loads != NULL ? largest (loads, blocks, box->first, box->last) : 0;

      ranked[i] = (Ranked){ key_of (word[0], box, load), i };
    }
  g_qsort_with_data (ranked, (gint) boxes->n, sizeof (Ranked), compare_ranked, &own);
  for (guint32 i = 0; i < boxes->n; i++)
    boxes->boxes[ranked[i].place].rank = i;
}
