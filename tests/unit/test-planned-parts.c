/* test-planned-parts.c - what the allocator `planned` is made of: gaps are as in a bitmap, steps are
 * found where programs repeat, positions are found again after departures. */
#include "config.h"

#include <string.h>

#include "allocators/planned/gaps.h"
#include "allocators/planned/sequence.h"
#include "allocators/planned/steps.h"
#include "base/rng.h"

#define equal(a, b) g_assert_cmpuint ((a), ==, (b))

/* ---- gaps */

#define BYTES 300
#define PARTS 2

/* Naive: a byte of memory for each, cut into parts of the same length. */
static gboolean
naive_is_free (const char *used, guint from, guint size)
{
  for (guint i = from; i < from + size; i++)
    if (i >= BYTES * PARTS || used[i] != 0)
      return FALSE;
  return TRUE;
}

/* Where @size bytes fit best in @part; G_MAXUINT: nowhere. */
static guint
naive_fit (const char *used, guint part, guint size)
{
  guint best = G_MAXUINT, best_length = G_MAXUINT;

  for (guint at = part * BYTES; at < (part + 1) * BYTES;)
    {
      guint length = 0;

      while (at + length < (part + 1) * BYTES && used[at + length] == 0)
        length++;
      if (length >= size && length < best_length)
        {
          best = at;
          best_length = length;
        }
      at += MAX (length, 1);
    }
  return best;
}

typedef struct
{
  guint from, size;
} Taken;

static void
test_gaps (void)
{
  char used[BYTES * PARTS] = { 0 };
  g_autoptr (GArray) taken = g_array_new (FALSE, FALSE, sizeof (Taken));
  GememGaps gaps;
  GememRng rng;

  gemem_rng_init (&rng, 1, "gaps");
  gemem_gaps_init (&gaps);
  for (guint part = 0; part < PARTS; part++)
    gemem_gaps_add (&gaps, part, part * BYTES, BYTES);
  for (guint i = 0; i < 20000; i++)
    {
      const guint what = (guint) gemem_rng_below (&rng, 4);
      const guint size = (guint) gemem_rng_range (&rng, 1, 40);
      guint from = (guint) gemem_rng_below (&rng, BYTES * PARTS);
      const guint part = from / BYTES;
      guint64 offset;

      if (what < 2 && taken->len > 0)
        {
          const guint k = from % taken->len;
          const Taken old = g_array_index (taken, Taken, k);

          gemem_gaps_add (&gaps, old.from / BYTES, old.from, old.size);
          memset (used + old.from, 0, old.size);
          g_array_remove_index_fast (taken, k);
          continue;
        }
      if (what == 2)
        {
          const gboolean is_free = naive_is_free (used, from, size)
                                   && (from + size - 1) / BYTES == part;

          equal (gemem_gaps_take (&gaps, part, from, size), is_free);
          if (!is_free)
            continue;
        }
      else
        {
          from = naive_fit (used, part, size);
          equal (gemem_gaps_fit (&gaps, part, size, &offset), from != G_MAXUINT);
          if (from == G_MAXUINT)
            continue;
          equal (offset, from);
        }
      memset (used + from, 1, size);
      g_array_append_val (taken, ((Taken){ from, size }));
    }
  gemem_gaps_clear (&gaps);
}

/* ---- steps */

/* Appends requests of @sizes, released in the same order when all of them were made. */
static void
add_wave (GememPast *past, const guint64 *sizes, guint n)
{
  const guint32 first = past->requests->len;

  for (guint i = 0; i < n; i++)
    gemem_past_ask (past, sizes[i], 0);
  for (guint i = 0; i < n; i++)
    gemem_past_release (past, first + i);
}

static const guint64 forward[] = { 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200 };
#define LENGTH (G_N_ELEMENTS (forward))

/* A setup that stays, then @n steps, with a loop of four requests @loops times in each. */
static GememPast *
program (guint n, guint loops)
{
  static const guint64 loop[] = { 7000, 7001, 7002, 7003 };
  GememPast *past = gemem_past_new ();

  for (guint i = 0; i < 20; i++)
    gemem_past_ask (past, 5000 + i, 0);
  for (guint i = 0; i < n; i++)
    {
      add_wave (past, forward, LENGTH);
      for (guint k = 0; k < loops; k++)
        add_wave (past, loop, G_N_ELEMENTS (loop));
    }
  return past;
}

static void
test_periods (void)
{
  for (guint loops = 0; loops < 40; loops += 13)
    for (guint n = 2; n < 6; n++)
      {
        g_autoptr (GememPast) past = program (n, loops);
        const guint length = LENGTH + 4 * loops;
        GememSteps steps;

        g_assert_true (gemem_steps_find (past, 1, &steps));
        equal (steps.kind, GEMEM_STEPS_PERIOD);
        equal (steps.end - steps.begin, length);
        equal (steps.first_end - steps.first, length);
        equal ((steps.last_end - steps.first) % length, 0);
        g_assert_cmpuint (steps.count, >=, n - 1); /* the last has nothing behind it */
        g_assert_false (gemem_steps_find (past, n + 1, &steps));
      }
}

/* What a program keeps of each step, a loss, does not hide the steps. */
static void
test_kept (void)
{
  g_autoptr (GememPast) past = gemem_past_new ();
  GememSteps steps;

  gemem_past_ask (past, 10000000, 0);
  for (guint i = 0; i < 30; i++)
    {
      add_wave (past, forward, LENGTH);
      gemem_past_ask (past, 4, 0);
    }
  g_assert_true (gemem_steps_find (past, 3, &steps));
  equal (steps.kind, GEMEM_STEPS_PERIOD);
  equal (steps.end - steps.begin, LENGTH + 1);
}

/* Of steps that differ, the one with the largest peak; cut where the least is live. */
static void
test_largest_step (void)
{
  g_autoptr (GememPast) past = gemem_past_new ();
  GememSteps steps;
  guint32 kept = 0;

  for (guint i = 0; i < 6; i++)
    {
      gemem_past_ask (past, 50, 0); /* lasts to the middle of the next step, as a gradient does */
      if (i > 0)
        gemem_past_release (past, kept);
      kept = past->requests->len - 1;
      add_wave (past, forward, LENGTH);
      gemem_past_ask (past, i == 3 ? 90000 : 80000, 0);
      gemem_past_release (past, past->requests->len - 1);
    }
  g_assert_true (gemem_steps_find (past, 2, &steps));
  equal (steps.end - steps.begin, LENGTH + 2);
  g_assert_cmpuint (steps.begin, <=, 3 * (LENGTH + 2) + LENGTH + 1);
  g_assert_cmpuint (steps.end, >, 3 * (LENGTH + 2) + LENGTH + 1);
  equal (gemem_past_get (past, steps.begin + steps.cut)->live, 50);
}

static void
add_mark (GememPast *past, guint32 name)
{
  const GememPastMark mark = { past->requests->len, name };

  g_array_append_val (past->marks, mark);
}

/* Steps of other sizes each time repeat nowhere: marks, else phases, say where they begin. */
static void
test_marks (void)
{
  for (guint named = 0; named < 2; named++)
    {
      g_autoptr (GememPast) past = gemem_past_new ();
      GememSteps steps;

      for (guint i = 0; i < 5; i++)
        {
          add_mark (past, named ? 7 : GEMEM_MARK_STEP);
          for (guint k = 0; k < 10; k++)
            gemem_past_ask (past, 100 + 31 * i + 7 * k * (i + 1), 0);
          add_mark (past, 8); /* more is live there */
          for (guint k = 0; k < 10; k++)
            gemem_past_release (past, 10 * i + k);
        }
      g_assert_true (gemem_steps_find (past, 1, &steps));
      equal (steps.kind, named ? GEMEM_STEPS_PHASES : GEMEM_STEPS_MARKED);
      equal (steps.first, 0);
      equal (steps.count, 4);
      equal (steps.begin, 30);
      equal (steps.end, 40);
    }
}

/* What repeats counts more than marks: the first step makes what stays, so it is unlike the others. */
static void
test_period_before_marks (void)
{
  g_autoptr (GememPast) past = gemem_past_new ();
  GememSteps steps;

  for (guint i = 0; i < 4; i++)
    {
      add_mark (past, GEMEM_MARK_STEP);
      add_wave (past, forward, LENGTH);
      for (guint k = 0; i == 0 && k < 30; k++)
        gemem_past_ask (past, 3000 + k, 0);
    }
  g_assert_true (gemem_steps_find (past, 1, &steps));
  equal (steps.kind, GEMEM_STEPS_PERIOD);
  equal (steps.end - steps.begin, LENGTH);
}

static void
test_no_steps (void)
{
  g_autoptr (GememPast) past = gemem_past_new ();
  GememSteps steps;

  g_assert_false (gemem_steps_find (past, 1, &steps));
  for (guint i = 0; i < 1000; i++)
    gemem_past_ask (past, 1000 + i % 5, 0); /* the same again, but nothing is freed */
  g_assert_false (gemem_steps_find (past, 1, &steps));
}

/* ---- sequence */

static GememSequence *
letters (const char *text, guint32 step)
{
  const guint32 n = (guint32) strlen (text);
  GememSequence *sequence = gemem_sequence_new (n, step);

  for (guint32 i = 0; i < n; i++)
    gemem_sequence_set (sequence, i, (guint64) text[i] << 20, 0);
  gemem_sequence_seal (sequence);
  return sequence;
}

/* The letters of @program, each with 'letter at its position' as a letter, or '-'. */
static void
assert_follows (const char *text, guint32 step, const char *program, const char *expected)
{
  GememSequence *sequence = letters (text, step);
  g_autoptr (GString) said = g_string_new (NULL);

  for (; *program != '\0'; program++)
    {
      const guint32 at = gemem_sequence_follow (sequence, (guint64) *program << 20, 0);

      g_string_append_c (said, at == GEMEM_NEVER ? '-' : (char) ('a' + at));
    }
  g_assert_cmpstr (said->str, ==, expected);
  gemem_sequence_free (sequence);
}

/* Sizes: 'a' is 97 units and 'A' 65, more than half of it; '1' is too small, '~' too large. */
static void
test_sequence (void)
{
  assert_follows ("abcdefghijkl", 4, "abcdefghijklefghijklef", "abcdefghijklefghijklef");
  assert_follows ("zyxwvutsrqpo", 0, "zyxwvutsrqpozy", "abcdefghijklab");
  /* smaller, but by less than half */
  assert_follows ("abcdefghijkl", 4, "abcdEFghijkl", "abcdefghijkl");
  /* added */
  assert_follows ("abcdefghijkl", 4, "abc~~defg1hijkl", "abc--defg-hijkl");
  /* replaced */
  assert_follows ("abcdefghijkl", 4, "abc~~fgh1jkl", "abc--fgh-jkl");
  /* left out, where smaller ones fit, and where they do not */
  assert_follows ("zyxwvutsrqponm", 0, "zyxwqponm", "abcdefghi");
  assert_follows ("mnopqrstuvwxyz", 0, "mnorstuvwxyz", "abc---ijklmn");
  /* the step is begun again before its end, the beginning never */
  assert_follows ("zyxwvutsrqponm", 4, "zyxwvutsvutsrq", "abcdefgh---hij");
  assert_follows ("zyxwvutsrqponm", 4, "zyxwvutszyxw", "abcdefgh----");
}

/* A program that jumps about does not make it search for longer than it serves. */
static void
test_skipping (void)
{
  const guint32 n = 100000;
  GememSequence *sequence = gemem_sequence_new (n, 0);
  guint64 skipped = 0;
  guint32 last = 0;
  GememRng rng;

  for (guint32 i = 0; i < n; i++)
    gemem_sequence_set (sequence, i, (guint64) (i % 97 + 1) << 30 | i << 9, 0);
  gemem_sequence_seal (sequence);
  gemem_rng_init (&rng, 3, "skipping");
  for (guint i = 0; i < 20000; i++)
    {
      const guint32 from = (guint32) gemem_rng_below (&rng, n - 8);

      for (guint32 k = from; k < from + 5; k++)
        {
          const guint32 at = gemem_sequence_follow (sequence, (guint64) (k % 97 + 1) << 30 | k << 9,
                                                    0);

          if (at == GEMEM_NEVER)
            continue;
          skipped += at >= last ? at - last : n - last + at;
          last = at;
        }
    }
  g_assert_cmpuint (skipped, <=, (guint64) n + 20000 * 5 * 16 + 20000 * 5);
  gemem_sequence_free (sequence);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planned/gaps", test_gaps);
  g_test_add_func ("/planned/periods", test_periods);
  g_test_add_func ("/planned/kept", test_kept);
  g_test_add_func ("/planned/largest-step", test_largest_step);
  g_test_add_func ("/planned/marks", test_marks);
  g_test_add_func ("/planned/period-before-marks", test_period_before_marks);
  g_test_add_func ("/planned/no-steps", test_no_steps);
  g_test_add_func ("/planned/sequence", test_sequence);
  g_test_add_func ("/planned/skipping", test_skipping);
  return g_test_run ();
}
