/* test-paddle-chunk-size.c - the chunk sizes of PaddlePaddle to the byte: paddle.md section 2.2 and
 * example E10.
 *
 * The expected products come from exact rational arithmetic, and the integer emulation is compared
 * with the machine's own floats as well.
 */
#include "config.h"

#include <float.h>

#include "allocators/paddle/chunk-size.h"
#include "tests/util/sizes.h"

#define FRACTION ((double) 0.92f)

static guint64
max_chunk (GememPaddleVersion version, guint64 total, guint64 available, guint64 initial,
           guint64 reallocate, gboolean *enough)
{
  const GememPaddleChunkRule rule = { version, GEMEM_RULES_AS_BUILT, FRACTION, initial,
                                      reallocate };
  const GememPaddleMemory memory = { total, available };
  guint64 size;

  *enough = gemem_paddle_max_chunk_size (&rule, &memory, &size);
  return size;
}

static void
test_e10 (void)
{
  static const struct
  {
    guint64 total, available, reserving[3], chunk[3];
  } rows[] = {
    { 8589934592,
      8589934592,
      { 429496729, 429496736, 429496736 },
      { 7507602970, 7507602963, 7507602963 } },
    { 17179869184,
      17179869184,
      { 858993459, 858993472, 858993472 },
      { 15015205939, 15015205927, 15015205927 } },
    { 16914055168,
      16600000000,
      { 845702758, 845702784, 830000064 },
      { 14782884485, 14782884461, 14508400204 } },
  };
  static const guint64 ragged[] = { 26, 19, 19, 51, 39, 39, 133, 109, 76 };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    for (guint p = 0; p < 3; p++)
      {
        static const GememPaddleVersion versions[] = { GEMEM_PADDLE_1_3, GEMEM_PADDLE_1_5,
                                                       GEMEM_PADDLE_2_0 };
        const GememPaddleMemory memory = { rows[i].total, rows[i].available };
        gboolean enough;

        g_assert_cmpuint (gemem_paddle_reserving (versions[p], &memory), ==, rows[i].reserving[p]);
        g_assert_cmpuint (max_chunk (versions[p], rows[i].total, rows[i].available, 0, 0, &enough),
                          ==, rows[i].chunk[p]);
        g_assert_true (enough);
        g_assert_cmpuint (rows[i].chunk[p] % 256, ==, ragged[3 * i + p]);
      }
}

static void
test_default_fraction (void)
{
  g_assert_true (g_ascii_strtod (GEMEM_PADDLE_FRACTION_DEFAULT, NULL) == (double) 0.92f);
  g_assert_true ((double) 0.92f != 0.92);
}

/* Ties, rounding up to the next power of two, and the largest numbers. */
static void
test_products (void)
{
  static const struct
  {
    guint64 n, single, twofold;
  } twentieths[] = {
    { 0, 0, 0 },
    { 1, 0, 0 },
    { 19, 0, 0 },
    { 20, 1, 1 },
    { 16777217, 838860, 838860 },
    { 16777219, 838861, 838860 }, /* a tie, rounded up to 16777220 */
    { 33554434, 1677721, 1677721 },
    { 85899345919, 4294967296, 4294967295 },
    { 150345551871, 7517277696, 7517277593 },
    { G_MAXINT64, 461168608714686464, 461168601842738816 },
    { G_MAXUINT64, 922337217429372928, 922337203685477632 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (twentieths); i++)
    {
      g_assert_cmpuint (gemem_paddle_float_twentieth (twentieths[i].n), ==, twentieths[i].single);
      g_assert_cmpuint (gemem_paddle_double_product (0.05, twentieths[i].n), ==,
                        twentieths[i].twofold);
    }
  g_assert_cmpuint (gemem_paddle_double_product (FRACTION, 9007199254740993), ==, 8286623464685568);
  g_assert_cmpuint (gemem_paddle_double_product (FRACTION, G_MAXUINT64), ==,
                    G_GUINT64_CONSTANT (16971004855676043264));
  g_assert_cmpuint (gemem_paddle_double_product (1.0, 9007199254740995), ==, 9007199254740996);
  g_assert_cmpuint (gemem_paddle_double_product (1.0, G_MAXUINT64), ==, G_MAXUINT64);
  g_assert_cmpuint (gemem_paddle_double_product (0.0, G_MAXUINT64), ==, 0);
  g_assert_cmpuint (gemem_paddle_double_product (DBL_MIN, G_MAXUINT64), ==, 0);
}

/* Compares with the machine's own single and double arithmetic; volatile keeps the compiler from
 * fusing or widening operations. */
static void
test_against_hardware (void)
{
  guint64 state = 88172645463325252;

  if (FLT_EVAL_METHOD != 0)
    {
      g_test_skip ("this machine computes floats in excess precision");
      return;
    }
  for (guint i = 0; i < 200000; i++)
    {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      const guint64 n = state >> (i % 60);
      volatile float single = (float) n, factor = 0.05f;
      volatile double twofold = (double) n, fraction = (double) (state >> 11) / 9007199254740992.0;
      volatile float single_product = factor * single;
      volatile double double_product = fraction * twofold;

      g_assert_cmpuint (gemem_paddle_float_twentieth (n), ==, (guint64) single_product);
      g_assert_cmpuint (gemem_paddle_double_product (fraction, n), ==, (guint64) double_product);
    }
}

static void
test_flags_in_mb (void)
{
  const GememPaddleMemory memory = { 16 * GIB, 16 * GIB };
  GememPaddleChunkRule rule = { GEMEM_PADDLE_1_6, GEMEM_RULES_AS_BUILT, FRACTION, 512 * MIB, 0 };
  guint64 size;

  g_assert_true (gemem_paddle_initial_size (&rule, &memory, &size));
  g_assert_cmpuint (size, ==, 512 * MIB);
  g_assert_true (gemem_paddle_reallocate_size (&rule, &memory, &size));
  g_assert_cmpuint (size, ==, 15015205927);
  g_assert_true (gemem_paddle_max_chunk_size (&rule, &memory, &size));
  g_assert_cmpuint (size, ==, 15015205927); /* the larger of the two */
  rule.reallocate = 1024 * MIB;
  g_assert_true (gemem_paddle_max_chunk_size (&rule, &memory, &size));
  g_assert_cmpuint (size, ==, GIB);
}

/* Each era has its own rule for "not enough". */
static void
test_not_enough (void)
{
  gboolean enough;

  /* P13, P14: chunk <= min (max (available, 256) - 256, total - reserving). */
  max_chunk (GEMEM_PADDLE_1_3, 8 * GIB, 7507602970 + 256, 0, 0, &enough);
  g_assert_true (enough);
  max_chunk (GEMEM_PADDLE_1_3, 8 * GIB, 7507602970 + 255, 0, 0, &enough);
  g_assert_false (enough);
  max_chunk (GEMEM_PADDLE_1_4, 8 * GIB, 7507602963 + 255, 0, 0, &enough);
  g_assert_false (enough);
  max_chunk (GEMEM_PADDLE_1_4, 8 * GIB, 100, 0, 0, &enough);
  g_assert_false (enough);
  max_chunk (GEMEM_PADDLE_1_4, 8 * GIB, 8 * GIB, 8589934592 - 429496736, 1, &enough);
  g_assert_true (enough);
  max_chunk (GEMEM_PADDLE_1_4, 8 * GIB, 8 * GIB, 8589934592 - 429496736 + 1, 1, &enough);
  g_assert_false (enough);
  /* P16: each size against 95 % of what is available, which must be 256 bytes at least. */
  max_chunk (GEMEM_PADDLE_1_6, 8 * GIB, 8 * GIB, 8589934592 - 429496736, 1, &enough);
  g_assert_true (enough);
  max_chunk (GEMEM_PADDLE_1_6, 8 * GIB, 8 * GIB, 8589934592 - 429496736 + 1, 1, &enough);
  g_assert_false (enough);
  max_chunk (GEMEM_PADDLE_3_X, 8 * GIB, 8 * GIB, 1, 8589934592 - 429496736 + 1, &enough);
  g_assert_false (enough);
  max_chunk (GEMEM_PADDLE_2_1, 8 * GIB, 269, 0, 0, &enough); /* 269 - 13 = 256 */
  g_assert_true (enough);
  max_chunk (GEMEM_PADDLE_2_1, 8 * GIB, 268, 0, 0, &enough);
  g_assert_false (enough);
}

static guint64
cpu_chunk (GememRules rules, guint64 physical)
{
  return gemem_paddle_cpu_chunk_size (rules, physical, 1.0, 500 * MIB);
}

static void
test_host_places (void)
{
  g_assert_cmpuint (cpu_chunk (GEMEM_RULES_AS_BUILT, 64 * GIB), ==, 500 * MIB);
  g_assert_cmpuint (cpu_chunk (GEMEM_RULES_AS_BUILT, 8 * GIB), ==, 256 * MIB);
  g_assert_cmpuint (cpu_chunk (GEMEM_RULES_AS_BUILT, 1000), ==, 31);
  g_assert_cmpuint (cpu_chunk (GEMEM_RULES_DOCUMENTED, 8 * GIB), ==, 500 * MIB);
  g_assert_cmpuint (cpu_chunk (GEMEM_RULES_DOCUMENTED, 1000), ==, 1000);
  g_assert_cmpuint (gemem_paddle_pinned_chunk_size (64 * GIB, 0.5), ==, 128 * MIB);
  g_assert_cmpuint (gemem_paddle_pinned_chunk_size (1025, 0.5), ==, 2);
}

/* The manual: a fraction of the total, whatever is available, in every version. */
static void
test_documented (void)
{
  const GememPaddleMemory memory = { 16 * GIB, GIB };

  for (int version = GEMEM_PADDLE_1_2; version <= GEMEM_PADDLE_3_X; version++)
    {
      const GememPaddleChunkRule rule = { version, GEMEM_RULES_DOCUMENTED, 0.1, 0, 0 };
      guint64 size;

      g_assert_true (gemem_paddle_max_chunk_size (&rule, &memory, &size));
      g_assert_cmpuint (size, ==, 1717986918); /* a tenth of 16 GiB */
      g_assert_true (gemem_paddle_reallocate_size (&rule, &memory, &size));
      g_assert_cmpuint (size, ==, 1717986918);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/paddle/chunk-size/E10", test_e10);
  g_test_add_func ("/paddle/chunk-size/default-fraction", test_default_fraction);
  g_test_add_func ("/paddle/chunk-size/products", test_products);
  g_test_add_func ("/paddle/chunk-size/against-hardware", test_against_hardware);
  g_test_add_func ("/paddle/chunk-size/flags-in-mb", test_flags_in_mb);
  g_test_add_func ("/paddle/chunk-size/not-enough", test_not_enough);
  g_test_add_func ("/paddle/chunk-size/host-places", test_host_places);
  g_test_add_func ("/paddle/chunk-size/documented", test_documented);
  return g_test_run ();
}
