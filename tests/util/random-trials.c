/* random-trials.c - see random-trials.h. */
#include "config.h"

#include "tests/util/random-trials.h"
#include "tests/util/sequence.h"
#include "tests/util/shrink.h"
#include "tests/util/sizes.h"

/* A device and a mix of operations for it. */
typedef struct
{
  guint64 capacity;
  gboolean first_fit;
  TestMix mix;
} Setting;

/* Ample memory; little; hardly any; small requests only; few large ones; many. */
static const Setting settings[] = {
  { 16 * 1024 * MIB,
    FALSE,
    { .live = 60,
      .largest = 64 * MIB,
      .streams = 3,
      .pools = 3,
      .uses = TRUE,
      .trims = 5,
      .hostile = 3 } },
  { 256 * MIB,
    TRUE,
    { .live = 48, .largest = 24 * MIB, .streams = 1, .pools = 1, .trims = 4, .hostile = 2 } },
  { 96 * MIB + 12345,
    TRUE,
    { .live = 40,
      .largest = 16 * MIB,
      .streams = 3,
      .pools = 3,
      .uses = TRUE,
      .trims = 2,
      .hostile = 2 } },
  { 80 * MIB, FALSE, { .live = 150, .largest = 2 * MIB, .streams = 2, .pools = 1, .trims = 3 } },
  { 512 * MIB,
    TRUE,
    { .live = 12, .largest = 160 * MIB, .streams = 2, .pools = 1, .uses = TRUE, .trims = 10 } },
  { 1024 * MIB,
    TRUE,
    { .live = 500, .largest = 8 * MIB, .streams = 2, .pools = 2, .uses = TRUE, .trims = 1 } },
};

static guint64
first_seed (void)
{
  const char *text = g_getenv ("GEMEM_SEED");

  return text != NULL ? g_ascii_strtoull (text, NULL, 10) : 1;
}

static gboolean
try_all (TestSubject *subject, guint64 total, guint length)
{
  const guint64 first = first_seed (), sequences = (total + length - 1) / length;
  g_autofree char *purpose = test_subject_allocator (subject);

  for (guint64 i = 0; i < sequences; i++)
    {
      const Setting *setting = &settings[(first + i) % G_N_ELEMENTS (settings)];
      TestMix mix = setting->mix;
      g_autoptr (GArray) ops = NULL;

      mix.operations = length;
      mix.events = mix.uses && subject->klass->streams.free != NULL;
      mix.order = mix.uses && subject->klass->streams.free_on != NULL;
      /* refusals with retries take longer than the time of one operation */
      mix.hostile = subject->delay == 0 ? mix.hostile : 0;
      mix.graphs = subject->klass->graphs.load != NULL ? (first + i) % 7 : 0;
      if (subject->naive != NULL)
        {
          mix.pools = subject->naive->pools > 0 ? subject->naive->pools : mix.pools;
          mix.subgraphs = subject->naive->subgraphs;
        }
      subject->capacity = setting->capacity;
      subject->first_fit = setting->first_fit;
      ops = test_sequence (first + i, purpose, &mix);
      if (!test_subject_try (subject, ops, first + i))
        return FALSE;
    }
  return TRUE;
}

gboolean
test_random_oracle (const GememAllocatorClass *klass, const char *text, guint64 total, guint length)
{
  TestSubject subject = { .klass = klass, .settings = text, .verify_every = 12 };

  return try_all (&subject, total, length);
}

gboolean
test_random_model (const NaiveClass *naive, guint64 total, guint length)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *faults = naive->every > 0
                                ? g_strdup_printf ("every=%" G_GUINT64_FORMAT, naive->every)
                                : NULL;
  TestSubject subject = { .settings = naive->settings,
                          .naive = naive,
                          .verify_every = 50,
                          .no_virtual = naive->no_virtual,
                          .delay = naive->delay,
                          .faults = faults };

  subject.klass = gemem_allocator_find (naive->name, &error);
  g_assert_no_error (error);
  return try_all (&subject, total, length);
}
