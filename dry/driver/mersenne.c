/* mersenne.c - passes over numbers of PyTorch's generator of the host, the Mersenne Twister (MT19937).
 *
 * Why: large random tensors of the host are not drawn in a dry run (dry/python/lazy_host.py).  What is drawn after them is only what the
 * program would have drawn if the generator is as far.  Passing over a number costs a tenth of drawing it.
 *
 * Invariants: the state is as torch.get_rng_state () gives it, and stays one that torch.set_rng_state () takes.
 */
#include "config.h"

#include "dry/driver/mersenne.h"

#define N 624
#define M 397

/* Words of 32 bits, each kept in 64. */
typedef struct
{
  guint64 seed;
  gint32 left, seeded; /* left: to the next turn, and one */
  guint64 next;
  guint64 words[N];
} State;

static inline guint32
turn_word (guint32 word, guint32 after, guint32 far)
{
  const guint32 both = (word & 0x80000000u) | (after & 0x7fffffffu);

  return far ^ (both >> 1) ^ ((0u - (after & 1)) & 0x9908b0dfu);
}

/* Makes the next N words of @words. */
static void
turn (guint32 *words)
{
  for (guint i = 0; i < N - M; i++)
    words[i] = turn_word (words[i], words[i + 1], words[i + M]);
  for (guint i = N - M; i < N - 1; i++)
    words[i] = turn_word (words[i], words[i + 1], words[i + M - N]);
  words[N - 1] = turn_word (words[N - 1], words[0], words[M - 1]);
}

void
gemem_dry_skip (gpointer generator, guint64 n)
{
  State *state = generator;
  guint32 words[N];

  for (guint i = 0; i < N; i++)
    words[i] = (guint32) state->words[i];
  for (; n >= (guint64) state->left; state->left = N + 1, state->next = 0)
    {
      n -= (guint64) state->left - 1;
      turn (words);
    }
  state->left -= (gint32) n;
  state->next += n;
  for (guint i = 0; i < N; i++)
    state->words[i] = words[i];
}
