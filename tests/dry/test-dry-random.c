/* test-dry-random.c - random numbers that a dry run knows: those of PyTorch's kernels on a GPU, and the host's generator after numbers that were not drawn.
 * Counts are those of an H100 (../shared/gpu/cases/philox.py).
 */
#include "config.h"

#include <dlfcn.h>

#include "dry/driver/philox.h"
#include "tests/util/testutil.h"

#define THREADS (132 * 2048) /* of an H100 */

static void *library;

static gboolean
draw (const char *kind, guint64 offset, guint64 n, guint64 range, gpointer to)
{
  const GememDryNumbers numbers = {
    .offset = offset, .threads = THREADS, .n = n, .range = range, .to = to
  };
  gboolean (*function) (const char *, const GememDryNumbers *) = (gboolean (*) (
      const char *, const GememDryNumbers *)) test_symbol (library, "gemem_dry_draw");
  return function (kind, &numbers);
}

/* The first word of the generator with nothing but zeros, as it was published with it. */
static void
test_first (void)
{
  gint64 number;

  g_assert_true (draw ("randint", 0, 1, 1 << 27, &number));
  g_assert_cmpint (number, ==, 0x6627e8d5 % (1 << 27));
}

static void
test_rand (void)
{
  g_autofree float *numbers = g_new (float, 100000);
  guint below = 0;

  g_assert_true (draw ("rand", 0, 100000, 0, numbers));
  for (guint i = 0; i < 100000; i++)
    below += numbers[i] < 0.6f;
  g_assert_cmpuint (below, ==, 59998);
}

/* More numbers than the GPU has threads, twice: torch.randint (0, 2_000_000, (65536, 20)). */
static void
test_randint (void)
{
  static const guint distinct[] = { 961363, 961041 };
  const guint64 n = 65536 * 20;
  g_autofree gint64 *numbers = g_new (gint64, n);

  for (guint i = 0; i < G_N_ELEMENTS (distinct); i++)
    {
      g_autofree guint8 *seen = g_new0 (guint8, 2000000);
      guint count = 0;

      g_assert_true (draw ("randint", i * 8, n, 2000000, numbers));
      for (guint64 j = 0; j < n; j++)
        {
          count += !seen[numbers[j]];
          seen[numbers[j]] = TRUE;
        }
      g_assert_cmpuint (count, ==, distinct[i]);
    }
}

/* Sine and logarithm of the GPU differ in the last bits, so that 15 of these numbers have another sign. */
static void
test_randn (void)
{
  const guint64 n = 1 << 24;
  g_autofree float *numbers = g_new (float, n);
  guint positive = 0;

  g_assert_true (draw ("randn", 0, n, 0, numbers));
  for (guint64 i = 0; i < n; i++)
    positive += numbers[i] > 0;
  g_assert_cmpint (ABS ((gint) positive - 8390726), <=, 15);
}

static void
test_unknown (void)
{
  gint64 number = 7;

  g_assert_false (draw ("randperm", 0, 1, 2, &number));
  g_assert_false (draw ("randint", 0, 1, 0, &number));
  g_assert_cmpint (number, ==, 7);
}

/* ---- the host's generator */

typedef struct
{
  guint64 seed;
  gint32 left, seeded;
  guint64 next, words[624];
} State;

static void
seed (State *state)
{
  *state = (State){ .seed = 5489, .left = 1, .seeded = 1, .words[0] = 5489 };
  for (guint i = 1; i < 624; i++)
    state->words[i] =
        (guint32) (1812433253u * (guint32) (state->words[i - 1] ^ state->words[i - 1] >> 30) + i);
}

static void
skip (State *state, guint64 n)
{
  ((void (*) (gpointer, guint64)) test_symbol (library, "gemem_dry_skip")) (state, n);
}

/* The number that was passed over last. */
static guint32
last (const State *state)
{
  guint32 word = (guint32) state->words[state->next - 1];

  word ^= word >> 11;
  word ^= word << 7 & 0x9d2c5680u;
  word ^= word << 15 & 0xefc60000u;
  return word ^ word >> 18;
}

/* The 10000th number is that which the standard of C++ names. */
static void
test_skip (void)
{
  static const guint64 steps[] = { 1, 622, 1, 1, 623, 624, 0, 1248, 6880 };
  State once, often;

  seed (&once);
  skip (&once, 10000);
  g_assert_cmpuint (last (&once), ==, 4123659995u);
  seed (&often);
  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    skip (&often, steps[i]);
  g_assert_cmpmem (&once, sizeof once, &often, sizeof often);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  library = test_open_library (".libs/libgemem-dry.so", RTLD_NOW);
  g_test_add_func ("/dry/random/first", test_first);
  g_test_add_func ("/dry/random/rand", test_rand);
  g_test_add_func ("/dry/random/randint", test_randint);
  g_test_add_func ("/dry/random/randn", test_randn);
  g_test_add_func ("/dry/random/unknown", test_unknown);
  g_test_add_func ("/dry/random/skip", test_skip);
  return g_test_run ();
}
