/* test-planned.c - the allocator `planned` and its parts: steps are found where programs repeat,
 * positions are found again after departures, gaps are as in a bitmap; and whatever a program does, a
 * million times, no two of its blocks overlap and everything goes back. */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>

#include "allocators/planned/gaps.h"
#include "allocators/planned/sequence.h"
#include "allocators/planned/steps.h"
#include "base/rng.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"

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

/* ---- the allocator, as a program sees it */

typedef struct
{
  GememAllocator *allocator;
  GTree *blocks; /* address -> Live */
  GArray *live;  /* Live *, in any order */
  guint64 served;
} Program;

typedef struct
{
  GememBlock block;
  guint64 stream;
  guint index; /* in `live` */
} Live;

static int
by_address (gconstpointer a, gconstpointer b, G_GNUC_UNUSED gpointer data)
{
  const guint64 x = *(const guint64 *) a, y = *(const guint64 *) b;

  return (x > y) - (x < y);
}

static void
program_begin (Program *self, const char *spec, const char *device)
{
  *self = (Program){ .allocator = test_allocator_new (spec, device),
                     .blocks = g_tree_new_full (by_address, NULL, NULL, g_free),
                     .live = g_array_new (FALSE, FALSE, sizeof (Live *)) };
}

static Live *
live_at (const Program *self, guint k)
{
  return g_array_index (self->live, Live *, k);
}

/* No live block reaches into [from, from + size). */
static void
assert_apart (const Program *self, guint64 from, guint64 size)
{
  const guint64 to = from + size;
  GTreeNode *node = g_tree_lower_bound (self->blocks, &to);
  const Live *before;

  node = node != NULL ? g_tree_node_previous (node) : g_tree_node_last (self->blocks);
  before = node != NULL ? g_tree_node_value (node) : NULL;
  if (before != NULL && before->block.address + before->block.size > from)
    g_error ("a block of %" G_GUINT64_FORMAT " bytes at %#" G_GINT64_MODIFIER
             "x overlaps one of %" G_GUINT64_FORMAT " at %#" G_GINT64_MODIFIER "x",
             size, from, before->block.size, before->block.address);
}

/* NULL: out of memory. */
static Live *
program_alloc (Program *self, guint64 size, guint64 stream)
{
  const GememRequest request = { .size = size, .stream = stream };
  Live *live = g_new0 (Live, 1);

  live->stream = stream;
  live->index = self->live->len;
  if (!self->allocator->klass->alloc (self->allocator, &request, &live->block))
    {
      g_free (live);
      return NULL;
    }
  g_assert_cmpuint (live->block.size, >=, size);
  assert_apart (self, live->block.address, live->block.size);
  g_tree_insert (self->blocks, &live->block.address, live);
  g_array_append_val (self->live, live);
  self->served++;
  return live;
}

static void
program_free (Program *self, Live *live, gboolean in_two)
{
  const GememBlock block = live->block;
  Live *last = live_at (self, self->live->len - 1);

  self->allocator->klass->free (self->allocator, &block, in_two);
  if (in_two)
    self->allocator->klass->streams.complete (self->allocator, &block);
  g_array_index (self->live, Live *, live->index) = last;
  last->index = live->index;
  g_array_set_size (self->live, self->live->len - 1);
  g_tree_remove (self->blocks, &block.address);
}

static void
program_verify (const Program *self)
{
  g_assert_true (test_allocator_verify (self->allocator, self->live->len, G_MAXUINT64));
}

static void
program_end (Program *self)
{
  while (self->live->len > 0)
    program_free (self, live_at (self, 0), FALSE);
  program_verify (self);
  g_array_unref (self->live);
  g_tree_unref (self->blocks);
  test_allocator_destroy (self->allocator);
}

static guint64
stat_of (const Program *self, const char *name)
{
  return test_allocator_stat (self->allocator, name);
}

/* A step: a tree of activations that are freed in reverse, with temporaries between. */
#define LAYERS 60

static void
program_step (Program *self, guint64 scale)
{
  Live *kept[LAYERS];

  for (guint i = 0; i < LAYERS; i++)
    {
      Live *temporary = program_alloc (self, scale * (3 + i % 7), 0);

      kept[i] = program_alloc (self, scale * (11 + i % 5), 0);
      program_free (self, temporary, FALSE);
    }
  for (guint i = LAYERS; i-- > 0;)
    {
      Live *gradient = program_alloc (self, scale * (11 + i % 5), 0);

      program_free (self, kept[i], FALSE);
      program_free (self, gradient, FALSE);
    }
}

/* It learns from the run, serves what it has learnt, gives up when the program does something else,
 * and learns that. */
static void
test_learns (void)
{
  Program self;
  guint64 before;

  program_begin (&self, "planned", NULL);
  for (guint i = 0; i < 5; i++)
    program_alloc (&self, 1000000 + i, 0);
  equal (stat_of (&self, "plans"), 0);
  for (guint i = 0; i < 20; i++)
    program_step (&self, 300000);
  equal (stat_of (&self, "plans"), 1);
  equal (stat_of (&self, "requests_of_step"), 3 * LAYERS);
  g_assert_cmpuint (stat_of (&self, "arena"), ==, stat_of (&self, "arena_lower_bound"));
  before = stat_of (&self, "planned_requests");
  program_step (&self, 300000);
  equal (stat_of (&self, "planned_requests"), before + 3 * LAYERS);
  equal (stat_of (&self, "steps_repeated") > 5, TRUE);
  program_verify (&self);
  for (guint i = 0; i < 40; i++)
    program_step (&self, 1100000);
  equal (stat_of (&self, "plans"), 2);
  equal (stat_of (&self, "plans_given_up"), 1);
  before = stat_of (&self, "planned_requests");
  program_step (&self, 1100000);
  equal (stat_of (&self, "planned_requests"), before + 3 * LAYERS);
  program_end (&self);
}

/* Eight requests, the first of which stream 9 uses where @shared; returns its address. */
static guint64
short_step (Program *self, gboolean shared)
{
  guint64 address = 0;

  for (guint i = 0; i < 8; i++)
    {
      Live *live = program_alloc (self, 2000000 + 1000000 * i, 0);

      if (i == 0)
        address = live->block.address;
      if (i == 0 && shared)
        self->allocator->klass->streams.use (self->allocator, &live->block, 9);
      program_free (self, live, FALSE);
    }
  return address;
}

/* What another stream uses is not given to the next until the host has waited for it. */
static void
test_shared (void)
{
  Program self;
  guint64 planned;

  program_begin (&self, "planned", NULL);
  for (guint i = 0; i < 50; i++)
    short_step (&self, FALSE);
  equal (stat_of (&self, "plans"), 1);
  planned = short_step (&self, TRUE);
  equal (stat_of (&self, "refused_places"), 7); /* all eight are planned on the same bytes */
  g_assert_cmpuint (short_step (&self, FALSE), !=, planned);
  self.allocator->klass->streams.sync (self.allocator, 9);
  g_assert_cmpuint (short_step (&self, FALSE), !=, planned);
  self.allocator->klass->streams.sync (self.allocator, G_MAXUINT64);
  equal (short_step (&self, FALSE), planned);
  program_end (&self);
}

/* A step that the planner cannot plan is served without a plan. */
static void
test_no_plan (void)
{
  Program self;

  program_begin (&self, "planned:planner=\"minimalloc:capacity=1MiB\"", NULL);
  for (guint i = 0; i < 200; i++)
    short_step (&self, FALSE);
  equal (stat_of (&self, "plans"), 0);
  equal (stat_of (&self, "other_requests"), 200 * 8);
  program_end (&self);
}

/* Where the device has no memory for the plan, or later for what is beside it, the plan goes. */
static void
test_no_memory (void)
{
  Program self;
  Live *large;

  program_begin (&self, "planned:fallback=direct", "sim:capacity=900MiB");
  for (guint i = 0; i < 20; i++)
    program_step (&self, 1000000);
  equal (stat_of (&self, "plans_given_up"), 0);
  g_assert_cmpuint (stat_of (&self, "arena"), >, 600000000);
  large = program_alloc (&self, 800000000, 0);
  g_assert_nonnull (large);
  equal (stat_of (&self, "plans_given_up"), 1);
  equal (self.allocator->retries, 1);
  program_free (&self, large, FALSE);
  program_end (&self);

  /* rmm-pool keeps what it took */
  program_begin (&self, "planned:fallback=rmm-pool", "sim:capacity=900MiB");
  for (guint i = 0; i < 20; i++)
    program_step (&self, 700000);
  equal (stat_of (&self, "plans"), 1);
  equal (stat_of (&self, "plans_given_up"), 1);
  equal (stat_of (&self, "arena"), 0);
  equal (stat_of (&self, "planned_requests"), 0);
  program_end (&self);
}

/* A step as a table, and what is due to be freed. */
#define TABLE 400
#define LONGEST 2000

typedef struct
{
  guint64 sizes[TABLE];
  guint lives[TABLE];      /* requests until it is freed */
  GPtrArray *due[LONGEST]; /* Live *, by the number of the request modulo LONGEST */
  GememRng rng;
} Table;

static void
table_init (Table *table, guint64 seed)
{
  gemem_rng_init (&table->rng, seed, "departures");
  for (guint i = 0; i < TABLE; i++)
    {
      table->sizes[i] = gemem_rng_log_uniform (&table->rng, 1, 30000000);
      table->lives[i] = 1 + (guint) gemem_rng_below (&table->rng, i % 10 == 0 ? TABLE : 20);
    }
  for (guint i = 0; i < LONGEST; i++)
    table->due[i] = g_ptr_array_new ();
}

static void
table_clear (Table *table)
{
  for (guint i = 0; i < LONGEST; i++)
    g_ptr_array_unref (table->due[i]);
}

/* Request @number of the program, which is at *@at in the step: with @rate of 1000 it departs. */
static void
ask_next (Program *self, Table *table, guint number, guint *at, guint rate)
{
  GememRng *rng = &table->rng;
  const guint what = gemem_rng_below (rng, 1000) < rate ? 1 + (guint) gemem_rng_below (rng, 6) : 0;
  guint64 size = table->sizes[*at], stream = *at % 3;
  guint life = table->lives[*at];
  Live *live;

  if (what == 1) /* left out */
    *at = (*at + 1 + (guint) gemem_rng_below (rng, 5)) % TABLE;
  else if (what == 2) /* larger */
    size += gemem_rng_below (rng, size);
  else if (what == 3) /* smaller */
    size = 1 + gemem_rng_below (rng, size);
  else if (what == 4) /* kept for long */
    life = 1 + (guint) gemem_rng_below (rng, LONGEST - 1);
  else if (what == 5) /* of another stream */
    stream = gemem_rng_below (rng, 4);
  else if (what == 6) /* added */
    size = table->sizes[gemem_rng_below (rng, TABLE)];
  *at = (*at + (what != 6)) % TABLE;
  live = program_alloc (self, size, stream);
  if (live == NULL)
    return;
  if (what != 0 && gemem_rng_below (rng, 10) == 0)
    self->allocator->klass->streams.use (self->allocator, &live->block, stream + 1);
  g_ptr_array_add (table->due[(number + life) % LONGEST], live);
}

/* A program that repeats a step and departs from it, by turns hardly, at times and often, on streams
 * some of whose blocks others use. */
static void
depart (const char *spec, const char *device, guint requests, guint64 seed)
{
  static const guint rates[] = { 0, 2, 20, 200 };
  Program self;
  Table table;
  guint at = 0;

  program_begin (&self, spec, device);
  table_init (&table, seed);
  for (guint i = 0; i < requests; i++)
    {
      GPtrArray *due = table.due[i % LONGEST];

      for (guint k = 0; k < due->len; k++)
        program_free (&self, due->pdata[k], gemem_rng_below (&table.rng, 2) == 0);
      g_ptr_array_set_size (due, 0);
      ask_next (&self, &table, i, &at, rates[i / 20000 % G_N_ELEMENTS (rates)]);
      if (gemem_rng_below (&table.rng, 5000) == 0)
        self.allocator->klass->streams.sync (self.allocator, G_MAXUINT64);
      if (gemem_rng_below (&table.rng, 50000) == 0)
        self.allocator->klass->trim (self.allocator);
      if (i % 20011 == 0)
        program_verify (&self);
    }
  g_test_message ("%s: %" G_GUINT64_FORMAT " planned, %" G_GUINT64_FORMAT
                  " fitted, %" G_GUINT64_FORMAT " others, %" G_GUINT64_FORMAT " plans",
                  spec, stat_of (&self, "planned_requests"), stat_of (&self, "fitted_requests"),
                  stat_of (&self, "other_requests"), stat_of (&self, "plans"));
  g_assert_cmpuint (stat_of (&self, "planned_requests"), >, requests / 5);
  g_assert_cmpuint (stat_of (&self, "fitted_requests"), >, 0);
  self.allocator->klass->streams.sync (self.allocator, G_MAXUINT64);
  table_clear (&table);
  program_end (&self);
}

static void
test_departures (void)
{
  const guint events = g_getenv ("GEMEM_QUICK") != NULL ? 100000 : 1000000;

  depart ("planned", NULL, events, 1);
  depart ("planned:fallback=[pytorch-caching:expandable_segments=True]", "sim:capacity=4GiB",
          events / 4, 2);
  depart ("planned:fallback=direct", "faulty:seed=1,rate=1%,call=malloc,capacity=4GiB", events / 4,
          3);
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
  g_test_add_func ("/planned/learns", test_learns);
  g_test_add_func ("/planned/shared", test_shared);
  g_test_add_func ("/planned/no-plan", test_no_plan);
  g_test_add_func ("/planned/no-memory", test_no_memory);
  g_test_add_func ("/planned/departures", test_departures);
  return g_test_run ();
}
