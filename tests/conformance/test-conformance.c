/* test-conformance.c - checks what allocator.h promises for every registered allocator under
 * variants of its settings (all of them: long-conformance.sh).
 *
 * No allocator is named here: a new line in allocators.def is tested without a change. The oracle
 * (tests/util/trial.h) compares walk, check and the device with the program's view after every
 * operation; these tests choose the operations: mixed ones, extreme sizes, requests around
 * largest_free, trim, streams, pools, completions, and several allocators in turn on one device.
 *
 * Requests around largest_free go to a second allocator that has repeated all operations so far, so
 * that they do not disturb the first.
 */
#include "config.h"

#include "tests/util/sequence.h"
#include "tests/util/sizes.h"
#include "tests/util/variants.h"

#define AMPLE (8 * GIB)   /* always enough memory */
#define TIGHT (192 * MIB) /* often too little */

typedef void (*Check) (const TestSubject *subject);

typedef struct
{
  const GememAllocatorClass *klass;
  Check check;
} Case;

/* Runs @check for a selection of variants, with ample and with little memory, under both address
 * policies. */
static void
for_variants (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (GPtrArray) variants = test_some_variants (c->klass, TIGHT);

  for (guint i = 0; i < variants->len && !g_test_failed (); i++)
    for (guint world = 0; world < 4; world++)
      {
        const TestSubject subject = { .klass = c->klass,
                                      .settings = g_ptr_array_index (variants, i),
                                      .verify_every = 1,
                                      .capacity = world / 2 == 0 ? AMPLE : TIGHT,
                                      .first_fit = world % 2,
                                      .odd_base = world == 1 || world == 2 };

        c->check (&subject);
      }
}

/* A requirement of this test on @trial. */
static void
demand (TestTrial *trial, gboolean holds, const char *what)
{
  if (!holds && trial->problem == NULL)
    trial->problem = g_strdup_printf ("operation %" G_GUINT64_FORMAT ": not so: %s",
                                      trial->operations, what);
}

static gboolean
step (TestTrial *trial, TestOpKind kind, guint32 id, guint64 size, guint64 stream)
{
  const TestOp op = { .kind = kind, .id = id, .size = size, .stream = stream };

  return trial->problem == NULL && test_trial_step (trial, &op)
         && (kind != TEST_ALLOC || trial->ok);
}

/* ---- the class itself */

static void
count_stat (const char *name, guint64 value, const char *unit, gpointer data)
{
  g_assert_nonnull (name);
  g_assert_nonnull (unit);
  (*(guint *) data)++;
}

static void
test_class (gconstpointer data)
{
  const GememAllocatorClass *klass = ((const Case *) data)->klass;
  const TestSubject subject = { .klass = klass, .capacity = AMPLE };
  TestTrial *trial = test_trial_start (&subject);
  guint stats = 0;

  g_assert_cmpuint (klass->abi, ==, GEMEM_ALLOCATOR_ABI);
  g_assert_cmpstr (klass->name, !=, "");
  g_assert_nonnull (klass->summary);
  g_assert_false (g_str_has_suffix (klass->summary, "."));
  g_assert_nonnull (klass->origin);
  g_assert_cmpuint (klass->alignment, >, 0);
  g_assert_cmpuint (klass->alignment & (klass->alignment - 1), ==, 0);
  g_assert_cmpuint (klass->alignment_offset, <, klass->alignment);
  for (const GememParam *row = klass->params; row != NULL && row->name != NULL; row++)
    g_assert_true (row->help != NULL && g_str_has_suffix (row->help, "."));
  g_assert_true (trial->allocator->klass == klass);
  g_assert_true (trial->allocator->device == trial->device);
  if (trial->allocator->klass->report.stats != NULL)
    trial->allocator->klass->report.stats (trial->allocator, count_stat, &stats);
  g_assert_true (trial->allocator->klass->report.stats == NULL || stats > 0);
  test_trial_end (trial);
}

/* ---- mixed operations */

static GArray *
mixed (const TestSubject *subject, guint64 seed, guint operations)
{
  const TestMix mix = { .operations = operations,
                        .live = 24,
                        .largest = subject->capacity == TIGHT ? 24 * MIB : 40 * MIB,
                        .streams = 3,
                        .pools = 2,
                        .uses = TRUE,
                        .trims = 50,
                        .hostile = 10,
                        .events = subject->klass->streams.wait != NULL };

  return test_sequence (seed, "conformance", &mix);
}

static void
check_mixed (const TestSubject *subject)
{
  g_autoptr (GArray) ops = mixed (subject, 1, 300);
  TestTrial *trial = test_trial_start (subject);

  if (test_trial_run (trial, (const TestOp *) (gconstpointer) ops->data, ops->len))
    test_trial_drain (trial);
  test_trial_end (trial);
}

/* ---- sizes */

/* The default settings serve them; other settings may leave too little memory. */
static void
check_single_bytes (const TestSubject *subject)
{
  const gboolean defaults = subject->settings[0] == '\0'
                            && (subject->capacity == AMPLE || test_subject_serves (subject, 1));
  TestTrial *trial = test_trial_start (subject);

  for (guint32 id = 0; id < 80; id++)
    demand (trial, step (trial, TEST_ALLOC, id, 1, 0) || !defaults, "a byte is served");
  for (guint32 id = 0; id < 80; id += 2)
    step (trial, TEST_FREE, id, 0, 0);
  for (guint32 id = 80; id < 120; id++)
    demand (trial, step (trial, TEST_ALLOC, id, 1, 0) || !defaults,
            "a byte is served where one was freed");
  test_trial_drain (trial);
  test_trial_end (trial);
}

/* Larger than any device; with some of them rounding up could wrap. */
static const guint64 huge_sizes[] = {
  G_GUINT64_CONSTANT (1) << 50,
  G_GUINT64_CONSTANT (1) << 60,
  (G_GUINT64_CONSTANT (1) << 60) - 1,
  G_GUINT64_CONSTANT (1) << 63,
  G_MAXINT64,
  G_MAXUINT64 / 2 - 65,
  G_MAXUINT64 - (2 << 20),
  G_MAXUINT64 - 65536,
  G_MAXUINT64 - 512,
  G_MAXUINT64 - 511,
  G_MAXUINT64 - 320,
  G_MAXUINT64 - 255,
  G_MAXUINT64 - 64,
  G_MAXUINT64 - 63,
  G_MAXUINT64 - 1,
  G_MAXUINT64,
};

/* ONNX Runtime's arena remembers the region that a refused request would have needed, and asks for as much
 * the next time (ort-bfc, equal to the binary): the block then lies in a larger region. */
static gboolean
remembers_refusals (const TestSubject *subject)
{
  return strcmp (subject->klass->name, "ort-bfc") == 0;
}

/* PyTorch's cache of host memory makes its reserved segment before it looks at what was asked for (peers.md 1a.15). */
static gboolean
reserves_first (const TestSubject *subject)
{
  return strcmp (subject->klass->name, "pytorch-pinned") == 0;
}

/* Nothing is cached meanwhile, so the refusals change nothing: the ordinary requests between
 * them have the same results as in a twin without them, but for the place where a range of addresses
 * was reserved and released meanwhile. */
static void
check_huge (const TestSubject *subject)
{
  TestTrial *trial = test_trial_start (subject), *twin = test_trial_start (subject);

  for (guint32 round = 0; round < 3; round++)
    {
      const guint64 held = trial->device->held;
      gboolean served;

      for (guint32 i = 0; i < G_N_ELEMENTS (huge_sizes); i++)
        {
          step (trial, TEST_ALLOC, 100 * (round + 1) + i, huge_sizes[i], 0);
          demand (trial, !trial->ok, "a request beyond every device is refused");
          demand (trial, trial->device->held == held || (round == 0 && reserves_first (subject)),
                  "refusing takes nothing and returns nothing");
        }
      served = step (trial, TEST_ALLOC, round, 3 * MIB, 0);
      demand (trial, served == step (twin, TEST_ALLOC, round, 3 * MIB, 0),
              "the next ordinary request is served as without them");
      demand (trial,
              remembers_refusals (subject)
                  || trial->device->calls[GEMEM_CALL_RESERVE]
                         != twin->device->calls[GEMEM_CALL_RESERVE]
                  || test_trial_block (trial, round)->block.address
                         == test_trial_block (twin, round)->block.address,
              "and where it would be");
    }
  test_trial_drain (trial);
  test_trial_end (trial);
  test_trial_end (twin);
}

/* Zero bytes may be refused, or return a null pointer or a minimal block; no state may be
 * damaged. */
static void
check_zero (const TestSubject *subject)
{
  TestTrial *trial = test_trial_start (subject);

  for (guint32 id = 0; id < 6; id++)
    step (trial, TEST_ALLOC, id, id % 2 == 0 ? 0 : 100, 0);
  step (trial, TEST_FREE, 0, 0, 0);
  step (trial, TEST_FREE, 1, 0, 0);
  step (trial, TEST_ALLOC, 6, 0, 0);
  test_trial_drain (trial);
  test_trial_end (trial);
}

/* ---- largest_free */

/* A trial that has run the first @n operations, unverified. */
static TestTrial *
repeat (const TestSubject *subject, const GArray *ops, guint n)
{
  TestSubject quick = *subject;
  TestTrial *trial;

  quick.verify_every = 0;
  trial = test_trial_start (&quick);
  test_trial_run (trial, (const TestOp *) (gconstpointer) ops->data, n);
  trial->subject = subject;
  return trial;
}

/* The result of a request. */
typedef enum
{
  REFUSED,
  FROM_DEVICE,        /* the device was asked for memory */
  AFTER_DEVICE_CALLS, /* after other calls: synchronisation, queries, releases */
  FROM_CACHE,
} Way;

/* The result of a request of @size on @stream after the first @n operations. */
static Way
way_of (const TestSubject *subject, const GArray *ops, guint n, guint64 size, guint64 stream)
{
  TestTrial *trial = repeat (subject, ops, n);
  const guint64 memory = test_trial_memory_calls (trial), calls = test_trial_device_calls (trial);
  Way way = step (trial, TEST_ALLOC, ops->len, size, stream) ? FROM_CACHE : REFUSED;

  if (way == FROM_CACHE && test_trial_memory_calls (trial) != memory)
    way = FROM_DEVICE;
  else if (way == FROM_CACHE && test_trial_device_calls (trial) != calls)
    way = AFTER_DEVICE_CALLS;
  test_trial_end (trial);
  return way;
}

/* largest_free is the most that is served without device calls. Allocators that poll events call
 * the device for smaller requests, too. */
static void
try_largest (TestTrial *trial, const GArray *ops, guint n, guint64 stream)
{
  const TestSubject *subject = trial->subject;
  const guint64 largest = trial->allocator->klass->largest_free (trial->allocator, stream);
  static const guint64 above[] = { 512, 64 * KIB, 3 * MIB };
  /* not foreseen: chunks that merge at the next request, and what a full pool returns to a resource
   * that keeps it and gives it again */
  const char *settings = subject->settings != NULL ? subject->settings : "";
  const gboolean bound = strstr (settings, "timestamped_allocator=yes") != NULL
                         || (strstr (settings, "upstream=") != NULL
                             && strstr (settings, "maximum_pool_size=") != NULL);

  if (largest > 0)
    demand (trial, way_of (subject, ops, n, largest, stream) >= AFTER_DEVICE_CALLS,
            "a request of largest_free bytes brings no memory from the device");
  if (bound)
    return;
  demand (trial, way_of (subject, ops, n, largest + 1, stream) != FROM_CACHE,
          "one byte more needs the device");
  demand (trial,
          way_of (subject, ops, n, largest + above[n % G_N_ELEMENTS (above)], stream) != FROM_CACHE,
          "much more needs the device");
}

static void
check_largest_free (const TestSubject *subject)
{
  g_autoptr (GArray) ops = mixed (subject, 2, 200);
  TestTrial *trial = test_trial_start (subject);

  for (guint i = 0; i < ops->len && trial->problem == NULL; i++)
    if (test_trial_step (trial, &g_array_index (ops, TestOp, i)) && i % 10 == 9)
      try_largest (trial, ops, i + 1, i / 10 % 4); /* stream 3 is never used */
  test_trial_end (trial);
}

/* ---- trim */

typedef struct
{
  guint64 live, other;
} Sums;

static void
add_span (const GememSpan *span, gpointer data)
{
  Sums *sums = data;

  if (span->state != GEMEM_SPAN_UNMAPPED)
    *(span->state == GEMEM_SPAN_LIVE ? &sums->live : &sums->other) += span->size;
}

static Sums
sums_of (const TestTrial *trial)
{
  Sums sums = { 0 };

  trial->allocator->klass->walk (trial->allocator, add_span, &sums);
  return sums;
}

/* That live blocks stay is checked by the oracle. */
static void
check_trim (const TestSubject *subject)
{
  g_autoptr (GArray) ops = mixed (subject, 3, 160);
  TestTrial *trial = test_trial_start (subject);

  for (guint i = 0; i < ops->len && trial->problem == NULL; i++)
    {
      test_trial_step (trial, &g_array_index (ops, TestOp, i));
      if (i % 10 == 9)
        {
          const Sums before = sums_of (trial);
          guint64 held;

          step (trial, TEST_TRIM, 0, 0, 0);
          held = trial->device->held;
          demand (trial, held >= before.live && sums_of (trial).live == before.live,
                  "trim returns free memory only");
          step (trial, TEST_TRIM, 0, 0, 0);
          demand (trial, trial->device->held == held, "a second trim finds nothing");
        }
    }
  test_trial_drain (trial);
  demand (trial, sums_of (trial).live == 0, "nothing is live in the end");
  test_trial_end (trial);
}

/* ---- streams, pools, completions */

/* Blocks used on other streams are not returned again before that work is done. The oracle sees
 * the frees; walk must keep reporting the blocks. */
static void
check_streams (const TestSubject *subject)
{
  TestTrial *trial = test_trial_start (subject);
  guint32 id = 0;

  for (guint round = 0; round < 12; round++)
    {
      for (guint64 stream = 0; stream < 4; stream++, id++)
        {
          step (trial, TEST_ALLOC, id, (KIB << round) + stream, stream);
          step (trial, TEST_USE, id, 0, (stream + round) % 5);
          step (trial, TEST_USE, id, 0, (stream + 1) % 5);
        }
      for (guint32 freed = id - 4; freed < id; freed += 1 + round % 2)
        step (trial, TEST_FREE, freed, 0, 0);
      step (trial, TEST_SYNC, 0, 0, round % 3 == 2 ? G_MAXUINT64 : round % 4);
    }
  test_trial_drain (trial);
  test_trial_end (trial);
}

static void
check_pools (const TestSubject *subject)
{
  TestTrial *trial = test_trial_start (subject);
  guint32 id = 0;

  for (guint round = 0; round < 8 && trial->problem == NULL; round++)
    for (guint32 pool = 0; pool < 4; pool++, id++)
      {
        const TestOp op = {
          .kind = TEST_ALLOC, .id = id, .size = 100000 + 70000 * pool * round, .pool = pool
        };

        test_trial_step (trial, &op);
        if (id >= 6 && id % 3 != 0)
          step (trial, TEST_FREE, id - 6, 0, 0);
        if (round == 5)
          step (trial, TEST_TRIM, 0, 0, 0);
      }
  test_trial_drain (trial);
  test_trial_end (trial);
}

/* With ample memory no allocator needs to reuse a block whose completion is pending. */
static void
check_completion (const TestSubject *subject)
{
  TestTrial *trial = test_trial_start (subject);
  const gboolean roomy = subject->capacity == AMPLE && subject->klass->streams.complete != NULL
                         && subject->settings[0] == '\0';

  for (guint32 id = 0; id < 8; id++)
    step (trial, TEST_ALLOC, id, 3 * MIB >> (id % 3), id % 2);
  for (guint32 id = 0; id < 8; id++)
    step (trial, TEST_FREE_LATER, id, 0, 0);
  for (guint32 id = 8; id < 16; id++)
    {
      const TestBlock *b, *owed;

      step (trial, TEST_ALLOC, id, 3 * MIB >> (id % 3), id % 2);
      b = test_trial_block (trial, id);
      for (guint32 other = 0; roomy && other < 8; other++)
        {
          owed = test_trial_block (trial, other);
          demand (trial,
                  b->block.address + b->size <= owed->block.address
                      || owed->block.address + owed->size <= b->block.address,
                  "a block is not reused before its completion");
        }
    }
  step (trial, TEST_TRIM, 0, 0, 0);
  for (guint32 id = 0; id < 8; id += 2)
    step (trial, TEST_COMPLETE, id, 0, 0);
  for (guint32 id = 16; id < 24; id++)
    step (trial, TEST_ALLOC, id, 3 * MIB >> (id % 3), id % 2);
  test_trial_end (trial); /* with blocks live and completions pending */
}

/* ---- create and destroy */

/* The allocator is destroyed with live blocks and created again on the same device: where
 * addresses are reused, every allocator decides the same. */
static void
check_lives (const TestSubject *subject)
{
  g_autoptr (GArray) ops = mixed (subject, 4, 120);
  g_autofree char *text = test_subject_device (subject);
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) first = g_array_new (FALSE, FALSE, sizeof (guint64));
  GememDevice *device = gemem_device_new (text, NULL, 0, &error);

  g_assert_no_error (error);
  for (guint life = 0; life < 3; life++)
    {
      TestTrial *trial = test_trial_new_on (subject, device, &error);
      g_autofree char *problem = NULL;

      g_assert_no_error (error);
      test_trial_run (trial, (const TestOp *) (gconstpointer) ops->data, ops->len);
      for (guint32 id = 0; id < trial->blocks->len; id++)
        {
          const guint64 address = test_trial_block (trial, id)->block.address;

          if (life == 0)
            g_array_append_val (first, address);
          else if (subject->first_fit)
            demand (trial, g_array_index (first, guint64, id) == address,
                    "a second life repeats the first");
        }
      problem = test_trial_dissolve (trial);
      if (problem != NULL)
        test_subject_fail (subject, problem);
    }
  gemem_device_destroy (device);
}

/* An allocator without requests; it may have allocated memory already. */
static void
check_empty (const TestSubject *subject)
{
  g_autoptr (GArray) none = g_array_new (FALSE, FALSE, sizeof (TestOp));
  TestTrial *trial = test_trial_start (subject);

  test_trial_verify (trial);
  for (guint64 stream = 0; stream < 4; stream++)
    try_largest (trial, none, 0, stream);
  step (trial, TEST_TRIM, 0, 0, 0);
  step (trial, TEST_SYNC, 0, 0, G_MAXUINT64);
  test_trial_end (trial);
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    Check check;
  } checks[] = {
    { "mixed", check_mixed },
    { "single-bytes", check_single_bytes },
    { "huge", check_huge },
    { "zero", check_zero },
    { "trim", check_trim },
    { "largest-free", check_largest_free },
    { "streams", check_streams },
    { "pools", check_pools },
    { "completion", check_completion },
    { "lives", check_lives },
    { "empty", check_empty },
  };

  g_test_init (&argc, &argv, NULL);
  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    {
      g_autofree char *class_path = g_strdup_printf ("/conformance/%s/class", (*c)->name);
      Case *of_class = g_new0 (Case, 1);

      of_class->klass = *c;
      g_test_add_data_func_full (class_path, of_class, test_class, g_free);
      for (guint i = 0; i < G_N_ELEMENTS (checks); i++)
        {
          g_autofree char *path = g_strdup_printf ("/conformance/%s/%s", (*c)->name,
                                                   checks[i].name);
          Case *one = g_new0 (Case, 1);

          one->klass = *c;
          one->check = checks[i].check;
          g_test_add_data_func_full (path, one, for_variants, g_free);
        }
    }
  return g_test_run ();
}
