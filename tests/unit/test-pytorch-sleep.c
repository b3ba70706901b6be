/* test-pytorch-sleep.c - memory of `pytorch-caching` that sleeps: the example of peers.md 1j to the
 * byte, every rule, a device that fails at every call, and random sequences against a naive model of
 * the driver layer, which is a table of segments.
 */
#include "config.h"

#include "allocators/allocator.h"
#include "base/rng.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NONE ((const char *const[]){ NULL })

static GememBlock
want (GememAllocator *a, guint32 pool, guint64 size)
{
  const GememRequest request = { .size = size, .pool = pool };
  GememBlock block = { 0 };

  g_assert_true (a->klass->alloc (a, &request, &block));
  g_assert_true (a->klass->check (a, NULL));
  return block;
}

/* What the device holds, what PyTorch says is reserved, and what is on the host. */
static void
is (GememAllocator *a, guint64 device, guint64 reserved, guint64 host)
{
  g_assert_cmpuint (a->device->held, ==, device);
  g_assert_cmpuint (test_allocator_stat (a, "reserved_bytes.all.current"), ==, reserved);
  g_assert_cmpuint (a->klass->sleep.host_bytes (a), ==, host);
  g_assert_true (a->klass->check (a, NULL));
}

static gboolean
wakes (GememAllocator *a, const char *const *tags, guint64 want_bytes)
{
  guint64 needed = 0;
  const gboolean ok = a->klass->sleep.wake (a, tags, &needed);

  g_assert_cmpuint (needed, ==, want_bytes);
  return ok;
}

/* Weights of 20 + 20 MiB, a cache of 1 GiB, 64 MiB unused in the default pool. */
static GememAllocator *
engine (guint64 capacity)
{
  g_autofree char *device = g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT "B", capacity);
  GememAllocator *a = test_allocator_new ("pytorch-caching", device);
  GememBlock unused;

  a->klass->sleep.begin (a, 1, "weights", FALSE);
  want (a, 1, 20 * MIB);
  want (a, 1, 20 * MIB);
  a->klass->sleep.end (a, 1, TRUE);
  a->klass->sleep.begin (a, 2, "kv_cache", FALSE);
  want (a, 2, 1024 * MIB);
  a->klass->sleep.end (a, 2, TRUE);
  unused = want (a, 0, 64 * MIB);
  a->klass->free (a, &unused, FALSE);
  is (a, 1128 * MIB, 1128 * MIB, 0);
  return a;
}

static void
test_example (void)
{
  GememAllocator *a = engine (1128 * MIB);
  GememBlock other;

  a->klass->sleep.sleep (a, NAMES ("weights"));
  is (a, 0, 1064 * MIB, 40 * MIB);
  g_assert_true (wakes (a, NAMES ("weights"), 40 * MIB));
  is (a, 40 * MIB, 1064 * MIB, 0);
  other = want (a, 0, 88 * MIB); /* 1000 MiB are free */
  is (a, 128 * MIB, 1152 * MIB, 0);
  g_assert_false (wakes (a, NAMES ("kv_cache"), 1024 * MIB));
  is (a, 128 * MIB, 1152 * MIB, 0);
  a->klass->free (a, &other, FALSE);
  a->klass->trim (a);
  is (a, 40 * MIB, 1064 * MIB, 0);
  g_assert_true (wakes (a, NONE, 1024 * MIB));
  is (a, 1064 * MIB, 1064 * MIB, 0);
  test_allocator_destroy (a);
}

static void
test_level_two (void)
{
  GememAllocator *a = engine (1128 * MIB);

  a->klass->sleep.sleep (a, NONE);
  is (a, 0, 1064 * MIB, 0);
  a->klass->sleep.sleep (a, NAMES ("weights")); /* what sleeps stays as it is */
  is (a, 0, 1064 * MIB, 0);
  g_assert_true (wakes (a, NAMES ("weights", "kv_cache"), 1064 * MIB));
  g_assert_true (wakes (a, NONE, 0));
  is (a, 1064 * MIB, 1064 * MIB, 0);
  test_allocator_destroy (a);
}

/* A segment takes whole pages of the device; sleeping copies all of it, pausing what was asked for. */
static void
test_granularity (void)
{
  GememAllocator *a = test_allocator_new ("pytorch-caching", "sim:capacity=1GiB,granularity=4MiB");

  a->klass->sleep.begin (a, 7, "x", TRUE);
  want (a, 7, 512);
  is (a, 4 * MIB, 2 * MIB, 0);
  a->klass->sleep.sleep (a, NAMES ("x"));
  is (a, 0, 2 * MIB, 4 * MIB);
  g_assert_true (wakes (a, NONE, 4 * MIB));
  a->klass->sleep.pause (a, NONE);
  is (a, 0, 2 * MIB, 2 * MIB);
  g_assert_null (a->refusal);
  a->klass->sleep.pause (a, NAMES ("x"));
  g_assert_nonnull (a->refusal);
  g_clear_pointer (&a->refusal, g_free);
  a->klass->sleep.pause (a, NAMES ("y"));
  g_assert_null (a->refusal);
  is (a, 0, 2 * MIB, 2 * MIB);
  test_allocator_destroy (a);
}

/* A free block of a segment that sleeps is returned; a new segment is awake.  What a scope leaves
 * unused never wakes. */
static void
test_asleep (void)
{
  GememAllocator *a = test_allocator_new ("pytorch-caching", "sim:capacity=1GiB");
  GememBlock first, second, again;

  a->klass->sleep.begin (a, 1, "x", FALSE);
  first = want (a, 1, 20 * MIB);
  g_assert_false (a->klass->sleep.is_asleep (a, &first));
  a->klass->free (a, &first, FALSE);
  a->klass->sleep.sleep (a, NONE);
  again = want (a, 1, 18 * MIB);
  second = want (a, 1, 30 * MIB);
  g_assert_cmpuint (again.address, ==, first.address);
  g_assert_true (a->klass->sleep.is_asleep (a, &again));
  g_assert_false (a->klass->sleep.is_asleep (a, &second));
  is (a, 30 * MIB, 50 * MIB, 0);
  a->klass->free (a, &again, FALSE);
  a->klass->free (a, &second, FALSE);
  a->klass->sleep.end (a, 1, TRUE);
  is (a, 0, 50 * MIB, 0);
  g_assert_true (wakes (a, NONE, 0));
  a->klass->release_pool (a, 1, TRUE);
  is (a, 0, 0, 0);
  test_allocator_destroy (a);
}

/* Within the scope expandable segments are off. */
static void
test_expandable (void)
{
  GememAllocator *a = test_allocator_new ("pytorch-caching:expandable_segments=yes",
                                          "sim:capacity=1GiB");

  a->klass->sleep.begin (a, 1, "x", FALSE);
  want (a, 1, 12 * MIB);
  want (a, 0, 12 * MIB);
  is (a, 32 * MIB, 32 * MIB, 0); /* 12, and a page of 20 */
  a->klass->sleep.sleep (a, NAMES ("x"));
  is (a, 20 * MIB, 32 * MIB, 12 * MIB);
  test_allocator_destroy (a);
}

static void
test_no_virtual_memory (void)
{
  GememAllocator *a = test_allocator_new ("pytorch-caching", "sim:virtual_memory=no");

  a->klass->sleep.begin (a, 1, "x", FALSE);
  g_assert_nonnull (a->refusal);
  g_clear_pointer (&a->refusal, g_free);
  a->klass->sleep.sleep (a, NONE);
  want (a, 1, 20 * MIB);
  is (a, 20 * MIB, 20 * MIB, 0);
  test_allocator_destroy (a);
}

/* ---- the naive model: a table of the segments in pools that can sleep */

typedef struct
{
  guint64 address, size, bytes, host;
  guint32 pool;
  char tag;
  gboolean backup, awake, dropped, seen;
} Entry;

typedef struct
{
  GememAllocator *allocator;
  GArray *table, *blocks; /* Entry, GememBlock */
  guint64 granularity, plain;
  char tags[4]; /* by pool; 0: it cannot sleep */
  gboolean backups[4];
  guint32 pools[512]; /* of each block */
} Model;

static void
see_span (const GememSpan *span, gpointer data)
{
  Model *model = data;
  Entry new = { .address = span->segment,
                .size = span->segment_size,
                .pool = span->pool,
                .awake = TRUE,
                .seen = TRUE };

  if (span->pool == 0)
    {
      model->plain += span->size;
      return;
    }
  if (span->state == GEMEM_SPAN_OVERHEAD) /* what the page has beyond the segment */
    return;
  for (guint i = 0; i < model->table->len; i++)
    {
      Entry *entry = &g_array_index (model->table, Entry, i);
      if (entry->address == span->segment)
        {
          entry->seen = TRUE;
          entry->size += entry->bytes == 0 ? span->size : 0;
          return;
        }
    }
  new.size = span->size;
  new.tag = model->tags[span->pool];
  new.backup = model->backups[span->pool];
  g_array_append_val (model->table, new);
}

/* Takes over new segments and forgets those that are gone; then everything is as the table says. */
static void
compare (Model *model)
{
  GememAllocator *a = model->allocator;
  guint64 held, host = 0;

  model->plain = 0;
  for (guint i = 0; i < model->table->len; i++)
    g_array_index (model->table, Entry, i).seen = FALSE;
  a->klass->walk (a, see_span, model);
  held = model->plain;
  for (guint i = model->table->len; i-- > 0;)
    {
      Entry *entry = &g_array_index (model->table, Entry, i);
      if (entry->bytes == 0)
        {
          entry->size = entry->size / (2 * MIB)
                        * (2 * MIB); /* the tail is no part of the segment */
          entry->bytes = (entry->size + model->granularity - 1) / model->granularity
                         * model->granularity;
        }
      if (!entry->seen)
        {
          g_array_remove_index (model->table, i);
          continue;
        }
      held += entry->awake ? entry->bytes : 0;
      host += entry->host;
    }
  g_assert_cmpuint (a->device->held, ==, held);
  g_assert_cmpuint (a->klass->sleep.host_bytes (a), ==, host);
  g_assert_true (a->klass->check (a, NULL));
  for (guint b = 0; b < model->blocks->len; b++)
    for (guint i = 0; i < model->table->len; i++)
      {
        const GememBlock *block = &g_array_index (model->blocks, GememBlock, b);
        const Entry *entry = &g_array_index (model->table, Entry, i);
        if (block->address >= entry->address && block->address < entry->address + entry->size)
          g_assert_cmpint (a->klass->sleep.is_asleep (a, block), ==, !entry->awake);
      }
}

static gboolean
named (const Entry *entry, const char *const *tags)
{
  for (; *tags != NULL; tags++)
    if (**tags == entry->tag)
      return TRUE;
  return FALSE;
}

static void
model_sleep (Model *model, const char *const *tags, gboolean pause)
{
  gboolean asleep = FALSE;

  for (guint i = 0; i < model->table->len; i++)
    {
      const Entry *entry = &g_array_index (model->table, Entry, i);
      asleep |= !entry->awake && !entry->dropped && (*tags == NULL || named (entry, tags));
    }
  for (guint i = 0; i < model->table->len && !(pause && asleep); i++)
    {
      Entry *entry = &g_array_index (model->table, Entry, i);
      if (!entry->awake || (pause && *tags != NULL && !named (entry, tags)))
        continue;
      entry->awake = FALSE;
      entry->host = pause                 ? entry->backup ? entry->size : 0
                    : named (entry, tags) ? entry->bytes
                                          : 0;
    }
  if (pause)
    model->allocator->klass->sleep.pause (model->allocator, tags);
  else
    model->allocator->klass->sleep.sleep (model->allocator, tags);
  g_assert_true ((model->allocator->refusal != NULL) == (pause && asleep));
  g_clear_pointer (&model->allocator->refusal, g_free);
}

static void
model_wake (Model *model, const char *const *tags)
{
  GememAllocator *a = model->allocator;
  guint64 needed = 0, taken = 0, said;
  const guint64 free = a->device->capacity - a->device->held;
  gboolean ok;

  for (guint i = 0; i < model->table->len; i++)
    {
      const Entry *entry = &g_array_index (model->table, Entry, i);
      if (!entry->awake && !entry->dropped && (*tags == NULL || named (entry, tags)))
        needed += entry->bytes;
    }
  ok = needed <= free;
  g_assert_true (a->klass->sleep.wake (a, tags, &said) == ok);
  g_assert_cmpuint (said, ==, needed);
  for (guint i = 0; taken <= free && i < model->table->len; i++)
    {
      Entry *entry = &g_array_index (model->table, Entry, i);
      if (!entry->awake && !entry->dropped && (*tags == NULL || named (entry, tags)))
        {
          taken += entry->bytes;
          entry->awake = ok;
          if (taken <= free) /* woken, if only for a while: its copy is gone */
            entry->host = 0;
        }
    }
}

/* A scope ends: entries of the pool without a block lose their memory. */
static void
model_end (Model *model, guint32 pool)
{
  for (guint i = 0; i < model->table->len; i++)
    {
      Entry *entry = &g_array_index (model->table, Entry, i);
      gboolean used = entry->pool != pool;
      for (guint b = 0; b < model->blocks->len; b++)
        {
          const guint64 at = g_array_index (model->blocks, GememBlock, b).address;
          used |= at >= entry->address && at < entry->address + entry->size;
        }
      if (!used)
        {
          entry->awake = FALSE;
          entry->dropped = TRUE;
        }
    }
  model->allocator->klass->sleep.end (model->allocator, pool, TRUE);
}

static void
step (Model *model, GememRng *rng)
{
  const char *const lists[][3] = { { NULL }, { "a", NULL }, { "b", NULL }, { "a", "b", NULL } };
  const char *const *tags = lists[gemem_rng_below (rng, G_N_ELEMENTS (lists))];
  const guint32 pool = (guint32) gemem_rng_below (rng, 4);
  GememAllocator *a = model->allocator;
  const guint64 what = gemem_rng_below (rng, 100);

  if (what < 50 && model->blocks->len < G_N_ELEMENTS (model->pools)
      && (pool == 0 || model->tags[pool] != 0))
    {
      const GememRequest request = { .size = gemem_rng_below (rng, 24 * MIB) + 1, .pool = pool };
      GememBlock block;
      if (a->klass->alloc (a, &request, &block))
        g_array_append_val (model->blocks, block);
    }
  else if (what < 80 && model->blocks->len > 0)
    {
      const guint i = (guint) gemem_rng_below (rng, model->blocks->len);
      a->klass->free (a, &g_array_index (model->blocks, GememBlock, i), FALSE);
      g_array_remove_index_fast (model->blocks, i);
    }
  else if (what < 84 && pool != 0)
    {
      model->tags[pool] = gemem_rng_below (rng, 2) != 0 ? 'a' : 'b';
      model->backups[pool] = gemem_rng_below (rng, 2) != 0;
      a->klass->sleep.begin (a, pool, model->tags[pool] == 'a' ? "a" : "b", model->backups[pool]);
    }
  else if (what < 88)
    model_sleep (model, tags, FALSE);
  else if (what < 91)
    model_sleep (model, tags, TRUE);
  else if (what < 97)
    model_wake (model, tags);
  else if (what < 98 && pool != 0)
    model_end (model, pool);
  else
    a->klass->trim (a);
}

static void
test_random (void)
{
  for (guint64 seed = 0; seed < 40; seed++)
    {
      Model model = { .granularity = seed % 2 != 0 ? 2 * MIB : 4 * MIB };
      g_autofree char *device = g_strdup_printf (
          "sim:capacity=600MiB,granularity=%" G_GUINT64_FORMAT "B", model.granularity);
      GememRng rng;

      model.allocator = test_allocator_new ("pytorch-caching", device);
      model.table = g_array_new (FALSE, FALSE, sizeof (Entry));
      model.blocks = g_array_new (FALSE, FALSE, sizeof (GememBlock));
      gemem_rng_init (&rng, seed, "sleep");
      for (guint i = 0; i < 400; i++)
        {
          step (&model, &rng);
          compare (&model);
        }
      g_array_unref (model.table);
      g_array_unref (model.blocks);
      test_allocator_destroy (model.allocator);
    }
}

/* ---- a device that refuses one call */

/* Returns FALSE when no call was refused: all have been tried. */
static gboolean
try_fault (guint64 nth)
{
  g_autofree char *device = g_strdup_printf (
      "faulty:nth=%" G_GUINT64_FORMAT ",call=all,capacity=1GiB", nth);
  GememAllocator *a = test_allocator_new ("pytorch-caching", device);
  gboolean refused = FALSE;
  GememBlock block;

  a->klass->sleep.begin (a, 1, "x", TRUE);
  for (guint i = 0; i < 3; i++)
    {
      const GememRequest request = { .size = 20 * MIB, .pool = 1 };
      a->klass->alloc (a, &request, &block);
      g_assert_true (a->klass->check (a, NULL));
    }
  for (guint round = 0; round < 2; round++)
    {
      guint64 held = a->device->held, needed, host;
      a->klass->sleep.sleep (a, NAMES ("x"));
      host = a->klass->sleep.host_bytes (a);
      g_assert_cmpuint (host + a->device->held, ==, held); /* a segment is here or there */
      held = a->device->held;
      if (!a->klass->sleep.wake (a, NONE, &needed))
        {
          g_assert_cmpuint (a->device->held, ==, held);
          g_assert_cmpuint (a->klass->sleep.host_bytes (a), <=, host); /* woken first: no copy */
          g_assert_true (a->klass->sleep.wake (a, NONE, &needed));
        }
      g_assert_cmpuint (a->klass->sleep.host_bytes (a), ==, 0);
      g_assert_true (a->klass->check (a, NULL));
    }
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    refused |= a->device->refused[call] > 0;
  test_allocator_destroy (a);
  return refused;
}

static void
test_faults (void)
{
  guint64 nth = 1;

  while (try_fault (nth))
    nth++;
  g_assert_cmpuint (nth, >, 15);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pytorch-sleep/example", test_example);
  g_test_add_func ("/pytorch-sleep/level-two", test_level_two);
  g_test_add_func ("/pytorch-sleep/granularity", test_granularity);
  g_test_add_func ("/pytorch-sleep/asleep", test_asleep);
  g_test_add_func ("/pytorch-sleep/expandable", test_expandable);
  g_test_add_func ("/pytorch-sleep/no-virtual-memory", test_no_virtual_memory);
  g_test_add_func ("/pytorch-sleep/random", test_random);
  g_test_add_func ("/pytorch-sleep/faults", test_faults);
  return g_test_run ();
}
