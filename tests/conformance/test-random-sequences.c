/* test-random-sequences.c - every registered allocator under random operations, and the shrinker
 * that would report a failure.
 *
 * /oracle/CLASS: what any allocator promises, for all variants of the settings. /model/CLASS:
 * decision by decision against a second, naive implementation of the same specification (the GE
 * pool has its own in tests/unit/test-ge-pool-model.c). /shrink: an allocator with a planted bug
 * must be reduced to exactly the operations that trigger the bug. The long form is
 * long-random-sequences.c.
 */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>

#include "tests/util/random-trials.h"
#include "tests/util/sequence.h"
#include "tests/util/shrink.h"
#include "tests/util/testutil.h"
#include "tests/util/variants.h"
#include "traces/trace.h"

#define CAPACITY (G_GUINT64_CONSTANT (512) << 20) /* decides which settings are refused */

static guint
scale (void)
{
  return g_getenv ("GEMEM_QUICK") != NULL ? 4 : 1;
}

static void
test_oracle (gconstpointer data)
{
  const GememAllocatorClass *klass = data;
  g_autoptr (GPtrArray) variants = test_some_variants (klass, CAPACITY);

  for (guint i = 0; i < variants->len; i++)
    if (!test_random_oracle (klass, g_ptr_array_index (variants, i),
                             (i == 0 ? 16000 : 2000) / scale (), 1000))
      return;
}

static void
test_model (gconstpointer data)
{
  test_random_model (data, 40000 / scale (), 2000);
}

/* ---- a planted bug: `direct`, but the block after a trim that follows a free of 4 KiB or more
 * overlaps a live one */

typedef enum
{
  QUIET,
  LARGE_FREED,
  TRIMMED,
} Mood;

typedef struct
{
  GememAllocator base;
  GememAllocator *inner;
  Mood mood;
  guint64 victim; /* address of the first live block; 0: none */
  gboolean crash; /* aborts instead */
} Buggy;

extern const GememAllocatorClass buggy_class, crashing_class;

static GememAllocator *
create_over_direct (const GememAllocatorClass *klass, GememDevice *device)
{
  Buggy *buggy = g_new0 (Buggy, 1);
  const GememAllocatorClass *direct = gemem_allocator_find ("direct", NULL);

  buggy->base.klass = klass;
  buggy->base.device = device;
  buggy->inner = direct->create (NULL, device, NULL);
  buggy->crash = klass == &crashing_class;
  return &buggy->base;
}

static GememAllocator *
buggy_create (gconstpointer params, GememDevice *device, GError **error)
{
  return create_over_direct (&buggy_class, device);
}

static GememAllocator *
crashing_create (gconstpointer params, GememDevice *device, GError **error)
{
  return create_over_direct (&crashing_class, device);
}

static gboolean
buggy_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  Buggy *buggy = (Buggy *) allocator;
  const gboolean ok = buggy->inner->klass->alloc (buggy->inner, request, block);

  if (!ok)
    return FALSE;
  if (buggy->mood == TRIMMED && request->size >= 1000 && buggy->victim != 0)
    {
      g_assert_false (buggy->crash);
      block->address = buggy->victim;
    }
  if (buggy->victim == 0)
    buggy->victim = block->address;
  return TRUE;
}

static void
buggy_free (GememAllocator *allocator, const GememBlock *block, gboolean completion_follows)
{
  Buggy *buggy = (Buggy *) allocator;

  if (block->address == buggy->victim)
    buggy->victim = 0;
  else if (block->size >= 4096)
    buggy->mood = LARGE_FREED;
  buggy->inner->klass->free (buggy->inner, block, completion_follows);
}

static void
buggy_trim (GememAllocator *allocator)
{
  Buggy *buggy = (Buggy *) allocator;

  buggy->mood = buggy->mood == LARGE_FREED ? TRIMMED : buggy->mood;
}

static guint64
buggy_largest_free (GememAllocator *allocator, guint64 stream)
{
  return 0;
}

static void
buggy_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const Buggy *buggy = (const Buggy *) allocator;

  buggy->inner->klass->walk (buggy->inner, func, data);
}

static gboolean
buggy_check (GememAllocator *allocator, GError **error)
{
  return TRUE;
}

static void
buggy_destroy (GememAllocator *allocator)
{
  gemem_allocator_destroy (((Buggy *) allocator)->inner);
  g_free (allocator);
}

#define BUGGY(text, function) \
  { \
    .abi = GEMEM_ALLOCATOR_ABI, .name = text, .summary = "A planted bug", .origin = "tests", \
    .alignment = 1, .create = function, .alloc = buggy_alloc, .free = buggy_free, \
    .trim = buggy_trim, .largest_free = buggy_largest_free, .walk = buggy_walk, \
    .check = buggy_check, .destroy = buggy_destroy \
  }

const GememAllocatorClass buggy_class = BUGGY ("buggy", buggy_create);
const GememAllocatorClass crashing_class = BUGGY ("crashing", crashing_create);

static gboolean
fails (const TestOp *ops, gsize n, gpointer data)
{
  g_autofree char *problem = test_trial_guarded (data, ops, n);

  return problem != NULL;
}

/* The events read from the text are the operations. */
static void
assert_reads_back (const char *text, const char *name, const GArray *ops)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), name, NULL);
  const GememReadOptions options = GEMEM_READ_OPTIONS_DEFAULT;
  g_autoptr (GError) error = NULL;
  const GememTraceEvent *events;
  GememTraceReader *reader;
  guint at = 0;
  gssize n;

  g_file_set_contents (path, text, -1, &error);
  g_assert_no_error (error);
  reader = gemem_trace_open (path, NULL, &options, &error);
  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++, at++)
      {
        const TestOp *op = &g_array_index (ops, TestOp, at);

        g_assert_cmpuint (at, <, ops->len);
        g_assert_cmpint (events[i].kind, ==,
                         op->kind == TEST_ALLOC  ? GEMEM_EVENT_ALLOC
                         : op->kind == TEST_FREE ? GEMEM_EVENT_FREE
                         : op->kind == TEST_USE  ? GEMEM_EVENT_USE_ON_STREAM
                                                 : GEMEM_EVENT_TRIM);
        g_assert_cmpuint (events[i].id, ==, op->id);
        g_assert_cmpuint (events[i].size, ==, op->size);
        g_assert_cmpuint (events[i].stream, ==, op->stream);
        g_assert_cmpuint (events[i].pool, ==, op->pool);
      }
  g_assert_no_error (error);
  g_assert_cmpuint (at, ==, ops->len);
  gemem_trace_close (reader);
}

/* gemem-sim replays the text through the correct `direct`, where blocks do not overlap. */
static void
assert_replays (const char *name)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), name, NULL), *out = NULL, *err = NULL;
  const char *argv[] = { "gemem-sim",
                         "replay",
                         path,
                         "-a",
                         "direct",
                         "-d",
                         "sim:capacity=512MiB,address=bump",
                         "--events",
                         "/dev/stdout",
                         "-o",
                         "/dev/null",
                         NULL };
  g_autofree char *program = g_find_program_in_path (argv[0]);
  g_autoptr (GError) error = NULL;
  int status;

  g_assert_nonnull (program); /* tests/util/env.sh puts the build folder into PATH */
  g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, &err, &status,
                &error);
  g_assert_no_error (error);
  g_assert_cmpstr (err, ==, "");
  g_assert_cmpint (status, ==, 0);
  g_assert_cmpstr (out, ==,
                   "seq,kind,id,size,address,block,reserved,device\n"
                   "0,alloc,0,1,0x100000000000,1,1,0\n"
                   "1,alloc,1,4096,0x100000200000,4096,4097,0\n"
                   "2,free,1,4096,0x100000200000,4096,1,0\n"
                   "4,alloc,2,1000,0x100000400000,1000,1001,0\n");
}

static void
test_shrink_planted (gconstpointer data)
{
  const TestMix mix = {
    .operations = 600, .live = 20, .largest = 1 << 20, .streams = 3, .pools = 1, .trims = 20
  };
  TestSubject subject = { .klass = data, .capacity = CAPACITY, .verify_every = 1 };

  for (guint64 seed = 1; seed <= 3; seed++)
    {
      g_autoptr (GArray) ops = test_sequence (seed, "planted", &mix);
      g_autofree char *text = NULL, *problem = NULL;
      guint trials;

      g_assert_true (fails ((const TestOp *) (gconstpointer) ops->data, ops->len, &subject));
      trials = test_shrink (ops, fails, &subject);
      text = test_ops_text (&subject, ops);
      g_test_message ("seed %" G_GUINT64_FORMAT ": %u trials", seed, trials);
      g_assert_cmpstr (text, ==, "a 0 1\na 1 4096\nf 1\nr\na 2 1000\n");
      problem = test_trial_guarded (&subject, (const TestOp *) (gconstpointer) ops->data, ops->len);
      if (data == &crashing_class)
        g_assert_true (g_str_has_prefix (problem, "killed by signal 6: "));
      else
        g_assert_cmpstr (problem, ==,
                         "operation 5: id 2 at 0x100000000000 of 1000 bytes overlaps a live block");
      assert_reads_back (text, "shrunk.ops", ops);
      assert_replays ("shrunk.ops");
    }
}

/* Operations that the plain list cannot express are written as the text twin. */
static void
test_text_twin (void)
{
  static const TestOp list[] = {
    { .kind = TEST_ALLOC, .id = 0, .size = 7, .stream = 2, .pool = 3 },
    { .kind = TEST_USE, .id = 0, .stream = 1 },
    { .kind = TEST_FREE, .id = 0 },
  };
  const TestSubject subject = { .klass = &buggy_class };
  g_autoptr (GArray) ops = g_array_new (FALSE, FALSE, sizeof (TestOp));
  g_autofree char *text = NULL;

  g_array_append_vals (ops, list, G_N_ELEMENTS (list));
  text = test_ops_text (&subject, ops);
  assert_reads_back (text, "twin.txt", ops);
}

static void
add_class (const char *prefix, const char *name, gconstpointer data, GTestDataFunc function)
{
  g_autofree char *path = g_strconcat (prefix, name, NULL);

  g_test_add_data_func (path, data, function);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    add_class ("/random/oracle/", (*c)->name, *c, test_oracle);
  for (guint i = 0; naive_classes[i] != NULL; i++)
    {
      g_autofree char *path = naive_path ("/random/model/", naive_classes[i]);

      g_test_add_data_func (path, naive_classes[i], test_model);
    }
  g_test_add_data_func ("/random/shrink/overlap", &buggy_class, test_shrink_planted);
  g_test_add_data_func ("/random/shrink/crash", &crashing_class, test_shrink_planted);
  g_test_add_func ("/random/shrink/text-twin", test_text_twin);
  return g_test_run ();
}
