/* test-planners-systems.c - the planners of other systems (xla-heap, tflite-arena, ...) against naive
 * models written from their rules, which look at every pair of items, on random lifetimes: every
 * offset is the same.  Hill climbing, which draws random numbers, by what it promises.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/units.h"
#include "tests/util/plans.h"

#define MOST 60
#define UNIT 64 /* alignment of those that have none of their own */

static GememPlan *
plan_with (const char *text, const GememLifetimes *lifetimes)
{
  g_autofree char *aligned = g_strdup_printf ("%s%salignment=%d", text,
                                              strchr (text, ':') != NULL ? "," : ":", UNIT);

  return test_plan_lifetimes (aligned, lifetimes);
}

/* Few sizes and lives, so that there are many ties; some of three spaces and own alignments. */
static GememLifetimes *
random_lifetimes (GememRng *rng)
{
  GememLifetimes *lifetimes = gemem_lifetimes_new ("random");
  const guint64 n = gemem_rng_range (rng, 1, MOST), sizes = gemem_rng_range (rng, 1, 40);
  const gboolean spaces = gemem_rng_below (rng, 4) == 0, units = gemem_rng_below (rng, 3) == 0;

  for (guint64 i = 0; i < n; i++)
    {
      const gboolean whole = gemem_rng_below (rng, 12) == 0;
      const guint64 begin = whole ? 0 : gemem_rng_below (rng, 30);
      const guint64 end = whole ? 40 : begin + gemem_rng_range (rng, 1, 10);

      gemem_lifetimes_add (lifetimes, begin, end, gemem_rng_range (rng, 1, sizes) * 37);
      GememLifetime *life = gemem_lifetimes_get (lifetimes, i);
      if (units)
        life->alignment = G_GUINT64_CONSTANT (1) << gemem_rng_below (rng, 9);
      if (spaces)
        life->space = (guint32) gemem_rng_below (rng, 3);
    }
  return lifetimes;
}

/* ---- a naive model: items in an order, each placed by a look at all placed before */

typedef struct
{
  const GememLifetimes *lifetimes;
  guint order[MOST];
  guint placed; /* the first of `order` */
  guint64 offsets[MOST];
} Naive;

static const GememLifetime *
life_of (const Naive *naive, guint item)
{
  return gemem_lifetimes_get (naive->lifetimes, item);
}

static guint64
unit_of (const GememLifetime *life)
{
  return life->alignment != 0 ? life->alignment : UNIT;
}

static gboolean
meet (const GememLifetime *a, const GememLifetime *b)
{
  return a->space == b->space && a->begin < b->end && b->begin < a->end;
}

static gboolean
is_free (const Naive *naive, const GememLifetime *life, guint64 start, guint64 end)
{
  for (guint i = 0; i < naive->placed; i++)
    {
      const guint other = naive->order[i];

      if (meet (life, life_of (naive, other)) && naive->offsets[other] < end
          && naive->offsets[other] + life_of (naive, other)->size > start)
        return FALSE;
    }
  return TRUE;
}

/* The first byte above @offset that an item alive with @life begins at; G_MAXUINT64. */
static guint64
roof (const Naive *naive, const GememLifetime *life, guint64 offset)
{
  guint64 least = G_MAXUINT64;

  for (guint i = 0; i < naive->placed; i++)
    if (meet (life, life_of (naive, naive->order[i])) && naive->offsets[naive->order[i]] >= offset)
      least = MIN (least, naive->offsets[naive->order[i]]);
  return least;
}

typedef guint64 (*Place) (const Naive *naive, const GememLifetime *life);

static guint64
place_first (const Naive *naive, const GememLifetime *life)
{
  guint64 offset = 0;

  while (!is_free (naive, life, offset, offset + life->size))
    offset += unit_of (life);
  return offset;
}

/* Above everything that conflicts. */
static guint64
place_above (const Naive *naive, const GememLifetime *life)
{
  guint64 offset = 0;

  for (guint i = 0; i < naive->placed; i++)
    if (meet (life, life_of (naive, naive->order[i])))
      offset = MAX (offset, gemem_round_up (naive->offsets[naive->order[i]]
                                                + life_of (naive, naive->order[i])->size,
                                            unit_of (life)));
  return offset;
}

static guint64
place_best (const Naive *naive, const GememLifetime *life)
{
  const guint64 top = place_above (naive, life);
  guint64 best = G_MAXUINT64, at = top;

  for (guint64 offset = 0; offset < top; offset += unit_of (life))
    {
      const guint64 gap = roof (naive, life, offset) - offset;

      if (is_free (naive, life, offset, offset + life->size)
          && (offset == 0 || !is_free (naive, life, offset - unit_of (life), offset))
          && roof (naive, life, offset) != G_MAXUINT64 && gap < best)
        {
          best = gap;
          at = offset;
        }
    }
  return at;
}

/* ---- orders */

static const GememLifetimes *sorted;

static guint
conflicts_of (const GememLifetime *life)
{
  guint n = 0;

  for (guint i = 0; i < sorted->items->len; i++)
    n += gemem_lifetimes_get (sorted, i) != life && meet (life, gemem_lifetimes_get (sorted, i));
  return n;
}

static gboolean
is_whole (const GememLifetime *life)
{
  guint64 begin = G_MAXUINT64, end = 0;

  for (guint i = 0; i < sorted->items->len; i++)
    if (gemem_lifetimes_get (sorted, i)->space == life->space)
      {
        begin = MIN (begin, gemem_lifetimes_get (sorted, i)->begin);
        end = MAX (end, gemem_lifetimes_get (sorted, i)->end);
      }
  return life->begin == begin && life->end == end;
}

/* A word of keys: s size, l life, a area, c conflicts (all descending), b begin, e end, w whole run
 * first, W last and by number, i later first; then the number. */
static gint64
key_of (char letter, guint item)
{
  const GememLifetime *life = gemem_lifetimes_get (sorted, item);
  const gint64 size = (gint64) life->size, length = (gint64) (life->end - life->begin);

  switch (letter)
    {
    case 's':
      return -size;
    case 'l':
      return -length;
    case 'a':
      return -size * length;
    case 'c':
      return -(gint64) conflicts_of (life);
    case 'b':
      return (gint64) life->begin;
    case 'e':
      return (gint64) life->end;
    case 'w':
      return is_whole (life) ? (gint64) item - MOST : 0;
    case 'W':
      return is_whole (life) ? 1 + (gint64) item : 0;
    case 'i':
      return -(gint64) item;
    default:
      return item;
    }
}

static int
compare (gconstpointer a, gconstpointer b, gpointer keys)
{
  for (const char *key = keys;; key++)
    {
      const gint64 x = key_of (*key, *(const guint *) a), y = key_of (*key, *(const guint *) b);

      if (x != y)
        return x < y ? -1 : 1;
      if (*key == '\0')
        return 0;
    }
}

static void
sort (Naive *naive, const GememLifetimes *lifetimes, const char *keys)
{
  naive->lifetimes = sorted = lifetimes;
  naive->placed = 0;
  for (guint i = 0; i < lifetimes->items->len; i++)
    naive->order[i] = i;
  g_qsort_with_data (naive->order, (int) lifetimes->items->len, sizeof (guint), compare,
                     (gpointer) keys);
}

static void
place_all (Naive *naive, const GememLifetimes *lifetimes, const char *keys, Place place)
{
  sort (naive, lifetimes, keys);
  for (; naive->placed < lifetimes->items->len; naive->placed++)
    {
      const guint item = naive->order[naive->placed];

      naive->offsets[item] = place (naive, life_of (naive, item));
    }
}

static void
assert_same (const char *planner, const GememLifetimes *lifetimes, const guint64 *offsets)
{
  g_autoptr (GememPlan) plan = plan_with (planner, lifetimes);

  for (guint i = 0; i < lifetimes->items->len; i++)
    if (plan->offsets[i] != offsets[i])
      {
        g_test_message ("%s: item %u of %u: %" G_GUINT64_FORMAT ", by the rule %" G_GUINT64_FORMAT,
                        planner, i, lifetimes->items->len, plan->offsets[i], offsets[i]);
        g_test_fail ();
        return;
      }
}

static const struct
{
  const char *planner, *keys;
  Place place;
} greedy[] = {
  { "xla-heap:order=spatial", "sl", place_best },
  { "xla-heap:order=temporal", "ls", place_best },
  { "xla-heap:order=spatial-temporal", "as", place_best },
  { "xla-heap:order=phase-window", "bs", place_best },
  { "xla-heap:order=fast-merge,placement=lowest-offset", "bs", place_first },
  { "xla-heap:order=phase-window-end,placement=lowest-offset", "es", place_first },
  { "tflite-arena", "wsb", place_best },
  { "tflite-arena:order=execution", "b", place_best },
  { "tflm-greedy", "si", place_first },
  { "tvm-usmp-by-size", "sc", place_above },
  { "tvm-usmp-by-conflicts", "cs", place_above },
  { "tvm-usmp-hill-climb:rounds=0", "sc", place_first },
  { "iree-slices", "", place_best },
  { "onnxruntime-pattern", "b", place_best },
};

static void
test_greedy (void)
{
  GememRng rng;

  gemem_rng_init (&rng, 41, "greedy");
  for (guint round = 0; round < 300; round++)
    {
      g_autoptr (GememLifetimes) lifetimes = random_lifetimes (&rng);

      for (guint i = 0; i < G_N_ELEMENTS (greedy); i++)
        {
          Naive naive;

          place_all (&naive, lifetimes, greedy[i].keys, greedy[i].place);
          assert_same (greedy[i].planner, lifetimes, naive.offsets);
        }
    }
}

/* ---- shelves */

typedef struct
{
  guint32 space;
  guint64 base, end;
} Shelf;

typedef struct
{
  Shelf shelves[MOST];
  guint n;
} Shelves;

/* The end of the free bytes from @from on, which are free, within @shelf. */
static guint64
free_end (const Naive *naive, const GememLifetime *life, const Shelf *shelf, guint64 from)
{
  return MIN (shelf->end, roof (naive, life, from));
}

static guint64
place_on_shelf (const Naive *naive, const GememLifetime *life, Shelves *shelves, gboolean single,
                gboolean best)
{
  guint64 gap = G_MAXUINT64, at = 0, top = 0;

  for (guint i = 0; i < shelves->n; i++)
    {
      const Shelf *shelf = &shelves->shelves[i];

      if (shelf->space != life->space)
        continue;
      top = MAX (top, shelf->end);
      for (guint64 from = gemem_round_up (shelf->base, unit_of (life)); from < shelf->end;
           from += unit_of (life))
        {
          const guint64 end = free_end (naive, life, shelf, from);
          const gboolean fits = from + life->size <= shelf->end
                                && is_free (naive, life, from, from + life->size)
                                && (!single || is_free (naive, life, shelf->base, shelf->end));
          const gboolean lowest = from < shelf->base + unit_of (life)
                                  || !is_free (naive, life, from - unit_of (life), from);

          if (fits && lowest && (best ? end - from < gap : gap == G_MAXUINT64))
            {
              gap = end - from;
              at = from;
            }
        }
    }
  if (gap != G_MAXUINT64)
    return at;
  at = gemem_round_up (top, unit_of (life));
  shelves->shelves[shelves->n++] = (Shelf){ life->space, at, at + life->size };
  return at;
}

static void
test_shelves (void)
{
  static const char *const names[] = { "objects=many,fit=best", "objects=many,fit=smallest-offset",
                                       "objects=single,fit=best",
                                       "objects=single,fit=smallest-offset" };
  GememRng rng;

  gemem_rng_init (&rng, 41, "shelves");
  for (guint round = 0; round < 400; round++)
    {
      g_autoptr (GememLifetimes) lifetimes = random_lifetimes (&rng);
      g_autofree char *planner = g_strconcat ("mindspore-somas:", names[round % 4], NULL);
      Shelves shelves = { .n = 0 };
      Naive naive;

      sort (&naive, lifetimes, "Ws");
      for (; naive.placed < lifetimes->items->len; naive.placed++)
        naive.offsets[naive.order[naive.placed]] = place_on_shelf (
            &naive, life_of (&naive, naive.order[naive.placed]), &shelves, round % 4 >= 2,
            round % 2 == 0);
      assert_same (planner, lifetimes, naive.offsets);
    }
}

/* ---- the best of several runs */

static guint64
arena_of (const char *planner, const GememLifetimes *lifetimes)
{
  g_autoptr (GememPlan) plan = plan_with (planner, lifetimes);

  return plan->arena;
}

static void
test_best_of (void)
{
  GememRng rng;

  gemem_rng_init (&rng, 41, "best-of");
  for (guint round = 0; round < 100; round++)
    {
      g_autoptr (GememLifetimes) lifetimes = random_lifetimes (&rng);
      const guint64 spatial = arena_of ("xla-heap:order=spatial", lifetimes),
                    temporal = arena_of ("xla-heap:order=temporal", lifetimes),
                    best = arena_of ("mindspore-somas:objects=many,fit=best", lifetimes),
                    lowest = arena_of ("mindspore-somas:objects=many,fit=smallest-offset",
                                       lifetimes);
      g_autoptr (GememPlan) heap = plan_with ("xla-heap", lifetimes);
      g_autoptr (GememPlan) somas = plan_with ("mindspore-somas", lifetimes);

      g_assert_cmpuint (heap->arena, ==, MIN (spatial, temporal));
      g_assert_cmpuint (heap->candidates->len, ==, 2);
      g_assert_cmpstr (heap->winner, ==, temporal < spatial ? "temporal" : "spatial");
      /* SingleObject would have to save 100 MiB */
      g_assert_cmpuint (somas->arena, ==, MIN (best, lowest));
      g_assert_cmpuint (somas->candidates->len, ==, 4);
    }
}

static GememPlan *
keep (GememPlan *best, guint64 arena, const char *name, guint64 margin)
{
  GememPlan *plan = gemem_plan_new ("test", 0);

  gemem_plan_add_total (plan, 0, arena);
  return gemem_plan_keep_best (best, plan, name, margin);
}

/* No random instance was found on which SingleObject saves anything, so that the margin is tested by
 * itself. */
static void
test_margin (void)
{
  g_autoptr (GememPlan) plan = keep (keep (keep (NULL, 300, "a", 0), 200, "b", 100), 199, "c", 100);

  g_assert_cmpuint (plan->arena, ==, 199);
  g_assert_cmpstr (plan->winner, ==, "c");
  g_assert_cmpuint (plan->candidates->len, ==, 3);
  g_assert_cmpstr (g_array_index (plan->candidates, GememPlanCandidate, 1).name, ==, "b");
  g_assert_cmpuint (g_array_index (plan->candidates, GememPlanCandidate, 1).total, ==, 200);
  g_assert_null (gemem_plan_keep_best (keep (NULL, 1, "a", 0), NULL, "b", 0));
}

/* ---- hill climbing */

static void
test_climb (void)
{
  guint smaller = 0;
  GememRng rng;

  gemem_rng_init (&rng, 41, "climb");
  for (guint round = 0; round < 60; round++)
    {
      g_autoptr (GememLifetimes) lifetimes = random_lifetimes (&rng);
      const guint64 start = arena_of ("tvm-usmp-hill-climb:rounds=0", lifetimes);
      g_autoptr (GememPlan) one = plan_with ("tvm-usmp-hill-climb:seed=1", lifetimes);
      g_autoptr (GememPlan) again = plan_with ("tvm-usmp-hill-climb:seed=1", lifetimes);

      g_assert_cmpmem (one->offsets, one->n_items * sizeof (guint64), again->offsets,
                       again->n_items * sizeof (guint64));
      g_assert_cmpuint (one->arena, <=, start);
      g_assert_cmpuint (arena_of ("tvm-usmp-hill-climb:rounds=100", lifetimes), >=, one->arena);
      g_assert_cmpuint (arena_of ("tvm-usmp-hill-climb:memory_pressure=1GiB", lifetimes), ==,
                        start);
      smaller += one->arena < start;
    }
  g_test_message ("smaller than first fit in %u of 60", smaller);
  g_assert_cmpuint (smaller, >, 5);
}

/* ---- buffers taken over */

/* a dies before b begins, both of one size: b lies on a, which nobody else gets meanwhile. */
static void
test_taken_over (void)
{
  g_autoptr (GememLifetimes) lifetimes = gemem_lifetimes_new ("reuse");

  gemem_lifetimes_add (lifetimes, 0, 2, 640); /* a */
  gemem_lifetimes_add (lifetimes, 0, 3, 64);
  gemem_lifetimes_add (lifetimes, 2, 4, 320); /* would lie on a */
  gemem_lifetimes_add (lifetimes, 3, 5, 640); /* b */
  g_autoptr (GememPlan) no = plan_with ("onnxruntime-pattern", lifetimes);
  g_autoptr (GememPlan) yes = plan_with ("onnxruntime-pattern:reuse=same-size", lifetimes);

  g_assert_cmpuint (no->offsets[2], ==, 0);
  g_assert_cmpuint (no->offsets[3], ==, 320);
  g_assert_cmpuint (yes->offsets[2], ==, 704);
  g_assert_cmpuint (yes->offsets[3], ==, 0);
}

/* Of dead buffers of one size, the one that died last; @blocks: which box each takes over, or itself. */
static void
test_take_over_last (void)
{
  GememRng rng;

  gemem_rng_init (&rng, 41, "reuse");
  for (guint round = 0; round < 200; round++)
    {
      g_autoptr (GememLifetimes) lifetimes = random_lifetimes (&rng);
      g_autoptr (GememPlan) plan = plan_with ("onnxruntime-pattern:reuse=same-size", lifetimes);
      gboolean taken[MOST] = { FALSE };
      Naive naive;

      sort (&naive, lifetimes, "b");
      for (guint i = 0; i < lifetimes->items->len; i++)
        {
          const GememLifetime *life = life_of (&naive, naive.order[i]);
          guint last = MOST;

          for (guint k = 0; k < i; k++)
            {
              const GememLifetime *dead = life_of (&naive, naive.order[k]);

              if (taken[k] || dead->space != life->space || dead->size != life->size
                  || unit_of (dead) != unit_of (life) || dead->end > life->begin)
                continue;
              if (last == MOST || dead->end > life_of (&naive, naive.order[last])->end
                  || (dead->end == life_of (&naive, naive.order[last])->end
                      && naive.order[k] < naive.order[last]))
                last = k;
            }
          if (last == MOST)
            continue;
          taken[last] = TRUE;
          g_assert_cmpuint (plan->offsets[naive.order[i]], ==, plan->offsets[naive.order[last]]);
        }
    }
}

/* ---- ExecuTorch, as it answered */

/* "ALIGNMENT: SIZE FIRST LAST OFFSET, ...", the last moment included: what executorch 1.5.1 said
 * (tests/oracle/executorch/lists.py). */
static void
test_executorch (void)
{
  static const char *const lists[] = {
    "512: 1991 4 7 2048, 1953 4 6 0, 571 3 5 4096, 389 2 6 5632, 602 8 9 0, 303 1 6 5120",
    "7: 262 1 2 0, 780 7 8 0, 668 7 8 994, 97 3 6 4172, 915 0 6 1960, 623 6 6 3549, "
    "273 7 9 1960, 606 3 3 3549, 32 5 5 3549, 666 0 8 2877, 962 0 6 994, 993 3 6 0",
    "1: 2 5 7 9, 5 4 5 0, 5 0 2 0, 4 6 8 5, 4 8 9 0, 1 0 5 5",
    "7: 379 2 9 1624, 621 1 1 0, 266 7 9 2009, 197 3 8 2275, 554 7 9 0, 407 7 9 805, "
    "238 2 4 805, 400 8 8 1218, 164 1 1 805, 799 4 4 0",
    "7: 16 6 7 28, 3 1 1 0, 18 6 8 0, 8 0 8 49, 12 8 9 28, 27 2 3 0",
    "16: 30 8 9 944, 665 3 3 944, 116 2 7 2272, 890 7 7 944, 557 6 6 944, 14 3 8 2400, "
    "418 3 5 1840, 939 2 8 0",
    "1: 1 4 4 11, 4 2 7 4, 1 5 7 16, 2 7 9 8, 1 6 7 15, 3 8 8 0, 3 6 6 11, 4 5 7 0, 1 7 7 11, "
    "1 4 4 0, 3 3 6 8, 1 3 8 14",
    "16: 1 0 8 80, 3 1 1 64, 2 8 8 16, 4 1 7 48, 2 1 2 32, 4 8 8 0, 2 1 1 16, 1 6 7 0, 5 0 2 0",
    "7: 7 2 2 28, 5 1 4 98, 7 8 9 56, 15 0 7 77, 13 7 8 28, 27 3 6 28, 16 1 4 56, 23 0 4 0, "
    "14 8 9 0",
    "512: 142 4 5 2048, 347 0 8 3072, 920 7 9 1024, 343 1 9 2560, 746 0 6 1024, 721 2 9 0, "
    "161 6 7 2048, 53 3 3 2048",
    "1: 2 0 7 11, 3 7 9 6, 1 2 9 14, 1 5 6 6, 1 5 8 13, 3 2 8 3, 3 6 8 0, 2 7 9 9, 3 4 5 0",
    "512: 463 7 9 3072, 190 3 9 3584, 488 8 8 2560, 458 1 5 3072, 93 2 2 2560, 988 6 9 0, "
    "639 2 2 0, 65 8 8 1024, 195 0 3 2048, 797 0 7 1024, 452 5 9 2048, 532 3 4 0",
    "512: 1433 8 8 2048, 45 6 8 1536, 1123 7 9 0, 933 7 9 4608, 596 0 7 3584, 665 5 7 2048, "
    "241 3 7 6144, 306 3 7 3072, 1658 5 5 0, 249 0 8 5632, 373 3 6 4608",
    "16: 30 2 4 160, 24 3 4 0, 28 1 5 192, 56 0 2 0, 36 0 2 64, 34 1 8 112, 18 6 8 192, "
    "30 5 8 160, 55 8 9 0, 41 6 6 0, 34 5 8 64",
    "1: 963 8 8 0, 753 4 6 1787, 752 4 4 0, 311 7 8 1787, 404 6 6 3150, 229 4 6 3554, "
    "828 5 7 0, 824 5 9 963, 165 2 6 3783, 11 2 3 0, 610 1 6 2540",
    "7: 2 0 3 14, 1 0 2 0, 2 5 5 0, 4 5 7 42, 4 4 6 35, 2 5 6 28, 3 5 6 21, 5 4 7 14, 5 3 6 7, "
    "4 6 6 0",
    "16: 54 4 5 0, 1 7 8 160, 31 4 9 112, 2 3 5 160, 43 4 9 64, 40 2 2 0, 33 3 3 0, 4 2 9 144, "
    "38 7 7 0",
    "512: 716 4 9 4096, 1140 8 8 1536, 1020 0 6 3072, 1034 6 8 0, 564 6 6 1536, 806 2 4 0, "
    "861 8 9 3072, 506 8 8 5120",
    "7: 3 7 7 21, 4 3 8 49, 2 7 8 7, 4 4 6 42, 3 3 8 35, 3 1 9 28, 2 2 4 21, 2 3 8 14, "
    "5 5 9 0, 4 3 4 7, 3 4 4 0",
    "1: 205 8 9 0, 542 5 7 2394, 610 2 6 1784, 267 1 7 2936, 992 5 7 0, 792 1 6 992",
    "7: 28 1 6 0, 1 2 8 98, 3 6 6 42, 11 2 9 84, 14 7 7 14, 11 3 8 70, 11 5 8 28, 21 1 9 49, "
    "13 7 7 0, 19 3 4 28, 7 0 1 28",
    "7: 21 6 8 56, 27 7 7 28, 26 7 9 0, 17 2 5 0, 1 0 5 56, 3 6 7 98, 8 3 8 77, 14 0 6 28, "
    "2 7 8 91, 16 8 8 28, 1 5 6 21",
    "7: 2 7 9 7, 3 1 2 7, 3 3 3 7, 5 5 6 0, 4 8 8 0, 5 0 4 0",
    "16: 4 4 7 48, 3 8 8 0, 3 3 6 16, 2 0 9 32, 1 7 7 16, 4 1 7 0",
  };

  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    {
      g_autoptr (GememLifetimes) lifetimes = gemem_lifetimes_new ("list");
      g_autofree char *planner = g_strdup_printf ("executorch-greedy:alignment=%d",
                                                  atoi (lists[i]));
      g_auto (GStrv) items = g_strsplit (strchr (lists[i], ':') + 1, ",", -1);
      guint64 offsets[MOST], fields[3];

      for (guint k = 0; items[k] != NULL; k++)
        {
          g_assert_cmpint (sscanf (items[k],
                                   "%" G_GINT64_MODIFIER "u %" G_GINT64_MODIFIER
                                   "u %" G_GINT64_MODIFIER "u %" G_GINT64_MODIFIER "u",
                                   &fields[0], &fields[1], &fields[2], &offsets[k]),
                           ==, 4);
          gemem_lifetimes_add (lifetimes, fields[1], fields[2] + 1, fields[0]);
        }
      g_autoptr (GememPlan) plan = test_plan_lifetimes (planner, lifetimes);
      for (guint k = 0; k < lifetimes->items->len; k++)
        g_assert_cmpuint (plan->offsets[k], ==, offsets[k]);
    }
}

/* No item, and sizes that cannot be added up. */
static void
test_few (void)
{
  static const char *const planners[] = {
    "xla-heap",         "tflite-arena",          "tflm-greedy",
    "tvm-usmp-by-size", "tvm-usmp-by-conflicts", "tvm-usmp-hill-climb",
    "mindspore-somas",  "onnxruntime-pattern",   "iree-slices",
    "executorch-greedy"
  };
  g_autoptr (GememLifetimes) none = gemem_lifetimes_new ("none"),
                             huge = gemem_lifetimes_new ("huge");
  const GememPlanInput input = { .lifetimes = huge, .threads = 1 };

  for (guint i = 0; i < 3; i++)
    gemem_lifetimes_add (huge, i, i + 2, G_GUINT64_CONSTANT (1) << 62);
  for (guint i = 0; i < G_N_ELEMENTS (planners); i++)
    {
      g_autoptr (GPtrArray)
          choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
      g_autoptr (GError) error = NULL;

      g_assert_cmpuint (arena_of (planners[i], none), ==, 0);
      g_assert_true (gemem_planner_parse (planners[i], choices, NULL));
      g_assert_null (gemem_planner_run (choices->pdata[0], &input, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      g_assert_nonnull (strstr (error->message, "2^63"));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planners-systems/greedy", test_greedy);
  g_test_add_func ("/planners-systems/shelves", test_shelves);
  g_test_add_func ("/planners-systems/best-of", test_best_of);
  g_test_add_func ("/planners-systems/margin", test_margin);
  g_test_add_func ("/planners-systems/climb", test_climb);
  g_test_add_func ("/planners-systems/taken-over", test_taken_over);
  g_test_add_func ("/planners-systems/take-over-last", test_take_over_last);
  g_test_add_func ("/planners-systems/executorch", test_executorch);
  g_test_add_func ("/planners-systems/few", test_few);
  return g_test_run ();
}
