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

#define SIGN (G_GUINT64_CONSTANT (1) << 63)
#define MANY 256 /* boxes, from which on radix is faster */

typedef struct
{
  double *loads;            /* by column; NULL: the word has no T */
  double *blocks, *stripes; /* by BLOCK columns, by BLOCK blocks: the largest */
} Loads;

/* A box to be sorted. */
typedef struct
{
  guint64 key; /* the smallest comes first */
  guint32 place;
} Ranked;

typedef struct
{
  const GememBoxes *boxes;
  Loads loads;
  Ranked *ranked, *spare;
} Order;

/* Largest load in the columns of each box, from those of blocks of columns, and of blocks of blocks: up to some
 * hundred steps for a million columns. */
#define BLOCK 64

static double
largest (const Loads *loads, guint32 first, guint32 last)
{
  double most = 0;

  for (guint32 c = first, width; c < last; c += width)
    if (c % (BLOCK * BLOCK) == 0 && c + BLOCK * BLOCK <= last)
      {
        most = MAX (most, loads->stripes[c / (BLOCK * BLOCK)]);
        width = BLOCK * BLOCK;
      }
    else if (c % BLOCK == 0 && c + BLOCK <= last)
      {
        most = MAX (most, loads->blocks[c / BLOCK]);
        width = BLOCK;
      }
    else
      {
        most = MAX (most, loads->loads[c]);
        width = 1;
      }
  return most;
}

static void
find_loads (const GememBoxes *boxes, Loads *loads)
{
  g_autofree gint64 *change = g_new0 (gint64, (gsize) boxes->columns + 1);
  gint64 live = 0;

  loads->loads = g_new0 (double, (gsize) boxes->columns + 1);
  loads->blocks = g_new0 (double, boxes->columns / BLOCK + 1);
  loads->stripes = g_new0 (double, boxes->columns / (BLOCK * BLOCK) + 1);
  for (guint32 i = 0; i < boxes->n; i++)
    {
      change[boxes->boxes[i].first] += boxes->boxes[i].size;
      change[boxes->boxes[i].last] -= boxes->boxes[i].size;
    }
  for (guint32 c = 0; c < boxes->columns; c++)
    {
      double *block = &loads->blocks[c / BLOCK], *stripe = &loads->stripes[c / (BLOCK * BLOCK)];

      live += change[c];
      loads->loads[c] = (double) live;
      *block = MAX (*block, loads->loads[c]);
      *stripe = MAX (*stripe, loads->loads[c]);
    }
}

/* ---- sorting */

static double
key_of (const Order *order, char letter, const GememBox *box)
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
      return largest (&order->loads, box->first, box->last);
    case 'W':
      return (double) box->life;
    case 'X':
      return columns;
    default:
      return size;
    }
}

/* A number that is the smaller the larger @key. */
static guint64
descending (double key)
{
  guint64 bits;

  key += 0.0; /* no -0 */
  memcpy (&bits, &key, sizeof (bits));
  return bits >> 63 ? bits : ~bits ^ SIGN;
}

static int
compare_ranked (gconstpointer a, gconstpointer b)
{
  const Ranked *x = a, *y = b;

  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* The same by radix; @spare has as many places. */
static void
sort_many (Ranked *ranked, Ranked *spare, guint32 n)
{
  guint32 (*counts)[256] = g_malloc0 (8 * sizeof (*counts));
  Ranked *from = ranked, *to = spare;

  for (guint32 i = 0; i < n; i++)
    for (guint byte = 0; byte < 8; byte++)
      counts[byte][ranked[i].key >> 8 * byte & 0xff]++;
  for (guint byte = 0; byte < 8; byte++)
    {
      guint32 *count = counts[byte], sum = 0;
      Ranked *sorted = to;

      if (count[from[0].key >> 8 * byte & 0xff] == n)
        continue; /* all are equal */
      for (guint i = 0; i < 256; i++)
        {
          sum += count[i];
          count[i] = sum - count[i];
        }
      for (guint32 i = 0; i < n; i++)
        to[count[from[i].key >> 8 * byte & 0xff]++] = from[i];
      to = from;
      from = sorted;
    }
  if (from != ranked)
    memcpy (ranked, from, n * sizeof (Ranked));
  g_free (counts);
}

/* Sorts the boxes from @from to below @to, which have one key for all letters before @word, by those of @word; of equal
 * ones their order stays. */
static void
sort (Order *order, guint32 from, guint32 to, const char *word)
{
  Ranked *ranked = order->ranked + from;

  if (to - from < 2 || *word == '\0')
    return;
  for (guint32 i = 0; i < to - from; i++)
    ranked[i].key = descending (key_of (order, *word, &order->boxes->boxes[ranked[i].place]));
  if (to - from < MANY)
    qsort (ranked, to - from, sizeof (Ranked), compare_ranked);
  else
    sort_many (ranked, order->spare, to - from);
  for (guint32 begin = 0, end; begin < to - from; begin = end)
    {
      for (end = begin + 1; end < to - from && ranked[end].key == ranked[begin].key;)
        end++;
      sort (order, from + begin, from + end, word + 1);
    }
}

void
gemem_dive_rank (GememBoxes *boxes, guint number)
{
  const char *word = orders[number];
  g_autofree Ranked *ranked = g_new (Ranked, (gsize) boxes->n + 1),
                    *spare = g_new (Ranked, (gsize) boxes->n + 1);
  Order order = { boxes, { NULL, NULL, NULL }, ranked, spare };

  if (strchr (word, 'T') != NULL)
    find_loads (boxes, &order.loads);
  for (guint32 i = 0; i < boxes->n; i++)
    ranked[i].place = i;
  sort (&order, 0, boxes->n, word);
  for (guint32 i = 0; i < boxes->n; i++)
    boxes->boxes[ranked[i].place].rank = i;
  g_free (order.loads.loads);
  g_free (order.loads.blocks);
  g_free (order.loads.stripes);
}
