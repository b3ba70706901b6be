/* corner.c - the decisions of a corner search, its memory of failures and its restarts; see
 * corner.h. */
#include "config.h"

#include <stdlib.h>

#include "base/rng.h"
#include "planners/optimal/corner-state.h"
#include "planners/optimal/corner.h"
#include "planners/optimal/dive.h"

#define NONE G_MAXUINT32
#define MAX_FAILED (1 << 20)

struct _GememCorner
{
  GememCornerState state;
  GememBoxes *boxes;
  guint64 seed; /* 0: the orders themselves come first */
  int branch;   /* -1: in turn */
  GememBranch now;
  guint64 (*failed)[2]; /* hashes of states from which nothing fits */
  gsize n_failed;       /* places for them, a power of two */
  GArray *choices;      /* guint32: boxes to be tried, of all open decisions */
  guint64 nodes, max_nodes, max_steps;
  guint depth;
  const GememStop *stop;
};

GememCorner *
gemem_corner_new (GememBoxes *boxes)
{
  return gemem_corner_new_between (boxes, NULL, 0);
}

GememCorner *
gemem_corner_new_between (GememBoxes *boxes, const GememWalls *walls, guint64 seed)
{
  GememCorner *corner = g_new0 (GememCorner, 1);

  gemem_corner_state_init (&corner->state, boxes, walls);
  corner->seed = seed;
  corner->boxes = boxes;
  corner->branch = -1;
  for (corner->n_failed = 64; corner->n_failed < 32 * (gsize) boxes->n;)
    corner->n_failed *= 2;
  corner->n_failed = MIN (corner->n_failed, MAX_FAILED);
  corner->failed = g_malloc0_n (corner->n_failed, sizeof (*corner->failed));
  corner->choices = g_array_new (FALSE, FALSE, sizeof (guint32));
  return corner;
}

void
gemem_corner_free (GememCorner *corner)
{
  if (corner == NULL)
    return;
  gemem_corner_state_clear (&corner->state);
  g_free (corner->failed);
  g_array_unref (corner->choices);
  g_free (corner);
}

void
gemem_corner_set_branch (GememCorner *corner, GememBranch branch)
{
  corner->branch = (int) branch;
}

/* ---- states that failed */

typedef struct
{
  guint64 words[2];
} Hash;

static guint64
mix (guint64 hash, guint64 value)
{
  hash = (hash ^ value) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  return hash ^ (hash >> 29);
}

/* What decides whether the boxes inside columns [low, high) fit: these boxes and the floors. */
static Hash
hash_of (const GememCorner *corner, guint32 low, guint32 high)
{
  const GememCornerState *state = &corner->state;
  Hash hash = { { mix (low, (guint64) state->capacity), mix (~(guint64) high, low) } };

  for (guint32 c = low; c < high; c++)
    for (guint k = 0; k < 2; k++)
      hash.words[k] = mix (mix (hash.words[k], (guint64) state->columns[c].floor),
                           state->columns[c].set[k]);
  hash.words[0] += hash.words[0] == 0; /* 0: an empty slot */
  return hash;
}

static guint64 *
slot_of (GememCorner *corner, const Hash *hash)
{
  return corner->failed[hash->words[0] & (corner->n_failed - 1)];
}

static gboolean
has_failed (GememCorner *corner, const Hash *hash)
{
  const guint64 *slot = slot_of (corner, hash);

  return slot[0] == hash->words[0] && slot[1] == hash->words[1];
}

static void
remember_failed (GememCorner *corner, const Hash *hash)
{
  guint64 *slot = slot_of (corner, hash);

  slot[0] = hash->words[0];
  slot[1] = hash->words[1];
}

/* ---- the column to be decided */

typedef struct
{
  gint64 floor; /* compared first, then the others; smaller is better */
  gboolean loose;
  guint32 choices, column;
} Pick;

static gboolean
is_better (const Pick *a, const Pick *b)
{
  if (a->floor != b->floor)
    return a->floor < b->floor;
  if (a->loose != b->loose)
    return !a->loose;
  return a->choices < b->choices;
}

static void
consider (const GememCorner *corner, guint32 c, Pick *best)
{
  const GememCornerColumn *column = &corner->state.columns[c];
  const gboolean loose = gemem_corner_slack (&corner->state, c) > 0;
  Pick pick = { column->floor, loose, column->ready + loose, c };

  if (column->open == 0)
    return;
  if (corner->now != GEMEM_BRANCH_LOWEST)
    pick.floor = pick.loose = 0;
  else if (pick.choices <= 1)
    pick.floor = -1;
  if (best->column == NONE || is_better (&pick, best))
    *best = pick;
}

static guint32
pick_column (const GememCorner *corner, guint32 low, guint32 high)
{
  const GememCornerColumn *columns = corner->state.columns;
  const gboolean anywhere = corner->now == GEMEM_BRANCH_ANYWHERE;
  Pick best = { .column = NONE };

  for (guint32 start = low, end; start < high; start = end)
    {
      for (end = start + 1; end < high && columns[end].floor == columns[start].floor; end++)
        ;
      const gboolean minimum = (start == low || columns[start - 1].floor > columns[start].floor)
                               && (end == high || columns[end].floor > columns[start].floor);

      for (guint32 c = start; c < end && (minimum || anywhere); c++)
        consider (corner, c, &best);
    }
  return best.column;
}

/* ---- what can be done there */

static guint32
n_choices (const GememCorner *corner)
{
  return corner->choices->len;
}

static guint32
choice (const GememCorner *corner, guint32 i)
{
  return g_array_index (corner->choices, guint32, i);
}

/* Appends the boxes that can lie on the floor of column @c, by rank. */
static void
list_choices (GememCorner *corner, guint32 c)
{
  const GememCornerState *state = &corner->state;
  const guint32 from = n_choices (corner);

  for (guint32 m = state->starts[c]; m < gemem_corner_end (state, c); m++)
    {
      const guint32 b = state->members[m];
      guint32 at = n_choices (corner);

      if (state->states[b].low != state->columns[c].floor)
        continue;
      g_array_append_val (corner->choices, b);
      for (; at > from
             && corner->boxes->boxes[choice (corner, at - 1)].rank > corner->boxes->boxes[b].rank;
           at--)
        g_array_index (corner->choices, guint32, at) = choice (corner, at - 1);
      g_array_index (corner->choices, guint32, at) = b;
    }
}

/* TRUE if a box like choice @i stands among those from @from on. */
static gboolean
is_repeated (const GememCorner *corner, guint32 from, guint32 i)
{
  const GememBox *box = &corner->boxes->boxes[choice (corner, i)];

  for (guint32 k = from; k < i; k++)
    {
      const GememBox *other = &corner->boxes->boxes[choice (corner, k)];

      if (other->size == box->size && other->first == box->first && other->last == box->last)
        return TRUE;
    }
  return FALSE;
}

/* The lowest end of a box that @b could rest on and that is not in column @c, at most @least.  No wall keeps @b up: it could lie
 * on the floor. */
static gint64
lowest_support (GememCorner *corner, guint32 b, guint32 c, gint64 least)
{
  GememCornerState *state = &corner->state;
  const GememBox *box = &state->boxes->boxes[b];

  for (guint32 i = box->first; i < box->last; i++)
    {
      for (guint32 m = state->starts[i]; m < gemem_corner_end (state, i); m++)
        {
          const guint32 d = state->members[m];
          const GememBox *other = &state->boxes->boxes[d];

          if (other->first > c || other->last <= c)
            least = MIN (least, state->states[d].low + other->size);
        }
      state->steps += state->columns[i].open + 1;
    }
  return least;
}

/* The least offset of the next box in column @c if nothing lies on its floor. */
static gint64
next_floor (GememCorner *corner, guint32 c)
{
  const GememCornerState *state = &corner->state;
  gint64 least = G_MAXINT64;

  for (guint32 m = state->starts[c]; m < gemem_corner_end (state, c); m++)
    {
      const guint32 b = state->members[m];

      if (state->states[b].low > state->columns[c].floor)
        least = MIN (least, state->states[b].low);
      else
        least = lowest_support (corner, b, c, least);
    }
  return least;
}

/* ---- the search */

static GememCornerAnswer solve (GememCorner *corner, guint32 low, guint32 high);

static GememCornerAnswer
try_choices (GememCorner *corner, guint32 c, guint32 low, guint32 high)
{
  const GememCornerMark mark = gemem_corner_mark (&corner->state);
  const guint32 from = n_choices (corner);
  GememCornerAnswer answer = GEMEM_CORNER_NEVER;

  list_choices (corner, c);
  const guint32 to = n_choices (corner);
  for (guint32 i = from; i < to && answer == GEMEM_CORNER_NEVER; i++)
    if (!is_repeated (corner, from, i))
      {
        if (gemem_corner_place (&corner->state, choice (corner, i)))
          answer = solve (corner, low, high);
        if (answer != GEMEM_CORNER_FITS)
          gemem_corner_undo (&corner->state, mark);
      }
  g_array_set_size (corner->choices, from);
  return answer;
}

static GememCornerAnswer
try_gap (GememCorner *corner, guint32 c, guint32 low, guint32 high)
{
  GememCornerState *state = &corner->state;
  const GememCornerMark mark = gemem_corner_mark (state);
  const gint64 most = state->capacity - state->columns[c].rest;
  GememCornerAnswer answer = GEMEM_CORNER_NEVER;

  if (gemem_corner_slack (state, c) <= 0)
    return GEMEM_CORNER_NEVER;
  const gint64 floor = next_floor (corner, c);
  if (floor <= most && gemem_corner_lift (state, c, floor))
    answer = solve (corner, low, high);
  if (answer != GEMEM_CORNER_FITS)
    gemem_corner_undo (state, mark);
  return answer;
}

/* Decides one column; nothing divides [low, high). */
static GememCornerAnswer
decide (GememCorner *corner, guint32 low, guint32 high)
{
  const Hash hash = hash_of (corner, low, high);
  GememCornerAnswer answer;

  corner->state.steps += high - low;
  if (has_failed (corner, &hash))
    return GEMEM_CORNER_NEVER;
  if (++corner->nodes > corner->max_nodes || corner->state.steps > corner->max_steps
      || corner->depth > 8 * corner->boxes->n + 64 || gemem_stop_reason (corner->stop) != NULL)
    return GEMEM_CORNER_UNKNOWN;
  const guint32 c = pick_column (corner, low, high);
  corner->depth++;
  answer = try_choices (corner, c, low, high);
  if (answer == GEMEM_CORNER_NEVER)
    answer = try_gap (corner, c, low, high);
  corner->depth--;
  if (answer == GEMEM_CORNER_NEVER)
    remember_failed (corner, &hash);
  return answer;
}

/* The end of the first stretch from @low that no box leaves. */
static guint32
stretch_end (const GememCornerState *state, guint32 low, guint32 high)
{
  guint32 end = low + 1;

  while (end < high && state->cuts[end] > 0)
    end++;
  return end;
}

/* Places all boxes inside columns [low, high), stretch by stretch; a stretch that fails is reason
 * enough. */
static GememCornerAnswer
solve (GememCorner *corner, guint32 low, guint32 high)
{
  GememCornerAnswer answer = GEMEM_CORNER_FITS;

  for (guint32 end; low < high && answer == GEMEM_CORNER_FITS; low = end)
    {
      end = stretch_end (&corner->state, low, high);
      if (corner->state.columns[low].open > 0)
        answer = decide (corner, low, end);
    }
  return answer;
}

/* ---- restarts */

static guint64
luby (guint64 i)
{
  guint64 size = 1;

  while (size < i + 1)
    size = 2 * size + 1;
  while (size - 1 != i)
    {
      size = (size - 1) / 2;
      i %= size;
    }
  return (size + 1) / 2;
}

typedef struct
{
  guint64 key;
  guint32 place;
} Noisy;

static int
compare_noisy (gconstpointer a, gconstpointer b)
{
  const Noisy *x = a, *y = b;

  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* Moves every rank up by less than @noise. */
static void
disturb (GememBoxes *boxes, guint64 noise, GememRng *rng)
{
  g_autofree Noisy *noisy = g_new (Noisy, (gsize) boxes->n + 1);

  for (guint32 i = 0; i < boxes->n; i++)
    noisy[i] = (Noisy){ boxes->boxes[i].rank + gemem_rng_below (rng, noise), i };
  qsort (noisy, boxes->n, sizeof (Noisy), compare_noisy);
  for (guint32 i = 0; i < boxes->n; i++)
    boxes->boxes[noisy[i].place].rank = i;
}

static void
prepare (GememCorner *corner, guint64 restart, GememRng *rng)
{
  const guint64 cycle = GEMEM_DIVE_ORDERS * GEMEM_BRANCH_SOUND, turn = restart + corner->seed;

  corner->now = corner->branch >= 0 ? (GememBranch) corner->branch
                                    : (GememBranch) (turn % GEMEM_BRANCH_SOUND);
  gemem_dive_rank (corner->boxes, (guint) (turn / GEMEM_BRANCH_SOUND % GEMEM_DIVE_ORDERS));
  if (restart >= cycle || corner->seed > 0)
    disturb (corner->boxes, 1 + corner->boxes->n * (2 + turn % 15) / 100, rng);
  corner->nodes = 0;
  corner->max_nodes = 4 * corner->boxes->n * luby (restart);
  corner->depth = 0;
  g_array_set_size (corner->choices, 0);
}

GememCornerAnswer
gemem_corner_run (GememCorner *corner, gint64 capacity, guint64 *steps, const GememStop *stop)
{
  GememCornerAnswer answer = GEMEM_CORNER_UNKNOWN;
  GememRng rng;

  gemem_rng_init (&rng, (guint64) capacity ^ corner->seed, "corner");
  corner->state.steps = 0;
  corner->max_steps = *steps;
  corner->stop = stop;
  for (guint64 i = 0; answer == GEMEM_CORNER_UNKNOWN && corner->state.steps < *steps
                      && gemem_stop_reason (stop) == NULL;
       i++)
    {
      prepare (corner, i, &rng);
      answer = gemem_corner_begin (&corner->state, capacity)
                   ? solve (corner, 0, corner->boxes->columns)
                   : GEMEM_CORNER_NEVER;
    }
  for (guint32 b = 0; b < corner->boxes->n && answer == GEMEM_CORNER_FITS; b++)
    corner->boxes->boxes[b].offset = corner->state.states[b].offset;
  *steps -= MIN (*steps, corner->state.steps);
  return answer;
}

GememCornerAnswer
gemem_corner_decide (gpointer corner, gint64 capacity, guint64 *steps, const GememStop *stop)
{
  return gemem_corner_run (corner, capacity, steps, stop);
}
