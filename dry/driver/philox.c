/* philox.c - the random numbers that PyTorch's kernels draw on a GPU, computed on the host.
 *
 * Why: how many rows a mask selects may follow from torch.rand (..., device="cuda").  The generator of a GPU is Philox4_32_10 of a
 * seed, a subsequence (the thread) and an offset; seed and offset are on the host.  So the numbers are known without a GPU
 * (dry/python/known.py), and the tests hold counts of them against what an H100 gave.
 *
 * How the numbers are laid out: blocks of 256 threads, as many as the GPU can hold at once or the elements need.  A thread draws four
 * words at a time, which go to four elements that lie as far apart as there are threads.
 *
 * Invariants: no state; the caller's memory is written alone.  randint () is known for ranges below 2^28, of which one word is
 * drawn.  randn () differs from the GPU in the last bits, where its sine and logarithm do.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "dry/driver/philox.h"

#define BLOCK 256
#define WORDS 4
#define SMALLEST 2.3283064e-10f                    /* 2^-32 */
#define TURN ((float) (2.3283064e-10 * 6.2831855)) /* 2 pi times that */

typedef struct
{
  guint32 word[WORDS];
} Words;

static Words
draw (guint64 seed, guint64 thread, guint64 count)
{
  Words at = { { (guint32) count, (guint32) (count >> 32), (guint32) thread,
                 (guint32) (thread >> 32) } };
  guint32 low = (guint32) seed, high = (guint32) (seed >> 32);

  for (guint i = 0; i < 10; i++)
    {
      const guint64 a = (guint64) at.word[0] * 0xd2511f53u, b = (guint64) at.word[2] * 0xcd9e8d57u;
      at = (Words){ { (guint32) (b >> 32) ^ at.word[1] ^ low, (guint32) b,
                      (guint32) (a >> 32) ^ at.word[3] ^ high, (guint32) a } };
      low += 0x9e3779b9u;
      high += 0xbb67ae85u;
    }
  return at;
}

/* In (0, 1]. */
static float
to_unit (guint32 word)
{
  return (float) word * SMALLEST + SMALLEST / 2;
}

static void
draw_rand (const Words *words, const GememDryNumbers *numbers, guint64 at, guint k)
{
  const float unit = to_unit (words->word[k]);

  ((float *) numbers->to)[at] = unit == 1.0f ? 0.0f : unit;
}

static void
draw_randint (const Words *words, const GememDryNumbers *numbers, guint64 at, guint k)
{
  ((gint64 *) numbers->to)[at] = numbers->low + words->word[k] % numbers->range;
}

/* Two words make two numbers (Box and Muller): a sine and a cosine. */
static void
draw_randn (const Words *words, const GememDryNumbers *numbers, guint64 at, guint k)
{
  const float radius = sqrtf (-2.0f * logf (to_unit (words->word[k & ~1u])));
  const float angle = (float) words->word[k | 1] * TURN + TURN / 2;

  ((float *) numbers->to)[at] = radius * (k % 2 == 0 ? sinf (angle) : cosf (angle));
}

typedef void Draw (const Words *words, const GememDryNumbers *numbers, guint64 at, guint k);

static const struct
{
  const char *name;
  Draw *draw;
} kinds[] = { { "rand", draw_rand }, { "randint", draw_randint }, { "randn", draw_randn } };

static void
draw_all (const GememDryNumbers *numbers, Draw *one)
{
  const guint64 blocks = MIN ((numbers->n + BLOCK - 1) / BLOCK, numbers->threads / BLOCK);
  const guint64 all = blocks * BLOCK;

  for (guint64 first = 0, count = numbers->offset / WORDS; first < numbers->n;
       first += WORDS * all, count++)
    for (guint64 thread = 0; thread < MIN (all, numbers->n - first); thread++)
      {
        const Words words = draw (numbers->seed, thread, count);
        for (guint k = 0; k < WORDS && first + k * all + thread < numbers->n; k++)
          one (&words, numbers, first + k * all + thread, k);
      }
}

gboolean
gemem_dry_draw (const char *kind, const GememDryNumbers *numbers)
{
  if (numbers->threads < BLOCK || (strcmp (kind, "randint") == 0 && numbers->range == 0))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (strcmp (kinds[i].name, kind) == 0)
      {
        draw_all (numbers, kinds[i].draw);
        return TRUE;
      }
  return FALSE;
}
