/* test-planned.c - the allocator `planned`, as a program sees it: it learns, gives up and learns anew;
 * and whatever the program does, a million times, no two of its blocks overlap and everything goes
 * back.  Its parts: test-planned-parts.c. */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/rng.h"
#include "tests/util/vectors.h"

#define equal(a, b) g_assert_cmpuint ((a), ==, (b))

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

#define MIB G_GUINT64_CONSTANT (1048576)

/* A step whose gradients last until the middle of the next: it needs 32 + 8 MiB at the end of the forward
 * pass, and then, without them, 32 + 12. */
static void
gradient_step (Program *self, Live **gradients)
{
  Live *kept[8], *temporary;

  for (guint i = 0; i < 8; i++)
    kept[i] = program_alloc (self, 4 * MIB + 512 * i, 0);
  for (guint i = 0; i < 8; i++)
    if (gradients[i] != NULL)
      program_free (self, gradients[i], FALSE);
  temporary = program_alloc (self, 12 * MIB, 0);
  program_free (self, temporary, FALSE);
  for (guint i = 8; i-- > 0;)
    {
      gradients[i] = program_alloc (self, MIB, 0);
      program_free (self, kept[i], FALSE);
    }
}

/* What lasts into the next step leaves its bytes to others between its release and its request. */
static void
test_handed_over (void)
{
  Program self;
  Live *gradients[8] = { NULL };
  guint64 before;

  program_begin (&self, "planned", NULL);
  for (guint i = 0; i < 40; i++)
    gradient_step (&self, gradients);
  equal (stat_of (&self, "plans"), 1);
  equal (stat_of (&self, "arena"), 44 * MIB + 28 * 512);
  equal (stat_of (&self, "arena_lower_bound"), 44 * MIB + 28 * 512);
  before = stat_of (&self, "planned_requests");
  gradient_step (&self, gradients);
  equal (stat_of (&self, "planned_requests"), before + 17);
  equal (stat_of (&self, "refused_places"), 0);
  /* kept for longer than planned, they are in the way of the temporary block, and of nobody else */
  for (guint i = 0; i < 3; i++)
    {
      Live *late[8];

      memcpy (late, gradients, sizeof late);
      memset (gradients, 0, sizeof gradients);
      gradient_step (&self, gradients);
      for (guint k = 0; k < 8; k++)
        program_free (&self, late[k], FALSE);
    }
  g_assert_cmpuint (stat_of (&self, "refused_places"), >, 0);
  program_end (&self);
}

/* A step that keeps what it made, of @kept bytes, until the next step has made it anew. */
static void
keeping_step (Program *self, Live **made, guint64 kept)
{
  Live *old = *made;

  for (guint i = 0; i < 10; i++)
    program_free (self, program_alloc (self, (2 + i) * MIB, 0), FALSE);
  *made = program_alloc (self, kept, 0);
  if (old != NULL)
    program_free (self, old, FALSE);
}

/* Both have places, by turns; if it is much, two steps are planned as one. */
static void
test_second_place (void)
{
  const guint64 sizes[] = { 512, 20 * MIB };

  for (guint k = 0; k < G_N_ELEMENTS (sizes); k++)
    {
      Program self;
      Live *made = NULL;
      guint64 before;

      program_begin (&self, "planned", NULL);
      for (guint i = 0; i < 60; i++)
        keeping_step (&self, &made, sizes[k]);
      equal (stat_of (&self, "plans"), 1);
      equal (stat_of (&self, "requests_of_step"), k == 0 ? 11 : 22);
      equal (stat_of (&self, "refused_places"), 0);
      equal (stat_of (&self, "arena"), k == 0 ? 11 * MIB + 2 * 512 : 40 * MIB);
      before = stat_of (&self, "planned_requests");
      keeping_step (&self, &made, sizes[k]);
      keeping_step (&self, &made, sizes[k]);
      equal (stat_of (&self, "planned_requests"), before + 22);
      program_verify (&self);
      program_end (&self);
    }
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
  if (strstr (spec, "take=always") != NULL)
    {
      g_assert_cmpuint (stat_of (&self, "planned_requests"), >, requests / 5);
      g_assert_cmpuint (stat_of (&self, "fitted_requests"), >, 0);
    }
  self.allocator->klass->streams.sync (self.allocator, G_MAXUINT64);
  table_clear (&table);
  program_end (&self);
}

static void
test_departures (void)
{
  const guint events = g_getenv ("GEMEM_QUICK") != NULL ? 100000 : 1000000;

  depart ("planned:take=always,fallback=pytorch-caching", NULL, events, 1);
  depart ("planned:take=always", "sim:capacity=4GiB", events / 4, 2);
  depart ("planned", NULL, events / 4, 4); /* three streams: it may do without a plan */
  depart ("planned:take=always,fallback=direct", "faulty:seed=1,rate=1%,call=malloc,capacity=4GiB",
          events / 4, 3);
}

/* A plan whose places overlap, as nothing in its file forbids: a place that is not free is not given. */
static void
test_any_plan (void)
{
  const char *spec = "planned:plan=any-plan.txt";
  GString *text = g_string_new ("\n0 0 40 200 0\n");
  GememRng rng;

  gemem_rng_init (&rng, 4, "any-plan");
  for (guint i = 0; i < 240; i++)
    {
      const guint64 offset = 512 * gemem_rng_below (&rng, 100000),
                    size = gemem_rng_range (&rng, 1, 4000000);

      g_string_append_printf (text, "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n", offset, size);
    }
  g_assert_true (g_file_set_contents ("any-plan.txt", text->str, -1, NULL));
  for (guint run = 0; run < 2; run++)
    {
      g_auto (GStrv) lines = g_strsplit (text->str, "\n", -1);
      Program self;

      program_begin (&self, spec, NULL);
      for (guint i = 0; i < 20000; i++)
        {
          const guint at = i < 240 ? i : 40 + (i - 240) % 200;
          const guint64 size = g_ascii_strtoull (strchr (lines[at + 2], ' '), NULL, 10);

          if (run == 0 || gemem_rng_below (&rng, 50) > 0)
            program_alloc (&self, size, run == 1 && gemem_rng_below (&rng, 50) == 0 ? 7 : 0);
          while (self.live->len > 0 && gemem_rng_below (&rng, 12) < self.live->len)
            program_free (&self, live_at (&self, (guint) gemem_rng_below (&rng, self.live->len)),
                          FALSE);
          if (i % 997 == 0)
            program_verify (&self);
        }
      g_assert_cmpuint (stat_of (&self, "planned_requests"), >, 1000);
      g_assert_cmpuint (stat_of (&self, "refused_places"), >, 100);
      program_end (&self);
    }
  g_string_free (text, TRUE);
  g_remove ("any-plan.txt");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planned/learns", test_learns);
  g_test_add_func ("/planned/handed-over", test_handed_over);
  g_test_add_func ("/planned/second-place", test_second_place);
  g_test_add_func ("/planned/shared", test_shared);
  g_test_add_func ("/planned/no-plan", test_no_plan);
  g_test_add_func ("/planned/no-memory", test_no_memory);
  g_test_add_func ("/planned/any-plan", test_any_plan);
  g_test_add_func ("/planned/departures", test_departures);
  return g_test_run ();
}
