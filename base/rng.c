/* rng.c - xoshiro256** (Blackman, Vigna 2018) seeded by SplitMix64 (Steele, Lea, Flood 2014), and
 * integer distributions.
 *
 * A stream's seed is the FNV-1a hash of the eight bytes of the user's seed, least first, followed
 * by the purpose; SplitMix64 spreads it over the 256 bits of state.  Everything below is integer
 * arithmetic on 64 and 128 bits, so a stream is the same on every machine, compiler and libm.
 * Golden vectors: tests/unit/test-rng.c.
 */
#include "config.h"

#include "base/rng.h"

typedef unsigned __int128 Wide;

#define LN2 G_GUINT64_CONSTANT (0xB17217F7D1CF79AB) /* ln 2 * 2^64 */

static guint64
seed_of (guint64 seed, const char *purpose)
{
  const guint64 prime = G_GUINT64_CONSTANT (0x100000001B3);
  guint64 hash = G_GUINT64_CONSTANT (0xCBF29CE484222325);

  for (int i = 0; i < 8; i++)
    hash = (hash ^ ((seed >> (8 * i)) & 0xFF)) * prime;
  for (; *purpose != '\0'; purpose++)
    hash = (hash ^ (guint8) *purpose) * prime;
  return hash;
}

void
gemem_rng_init (GememRng *rng, guint64 seed, const char *purpose)
{
  guint64 state = seed_of (seed, purpose);

  for (int i = 0; i < 4; i++)
    {
      guint64 z = state += G_GUINT64_CONSTANT (0x9E3779B97F4A7C15);
      z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT (0xBF58476D1CE4E5B9);
      z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT (0x94D049BB133111EB);
      rng->s[i] = z ^ (z >> 31);
    }
}

static inline guint64
rotate_left (guint64 x, int bits)
{
  return (x << bits) | (x >> (64 - bits));
}

guint64
gemem_rng_next (GememRng *rng)
{
  guint64 *s = rng->s;
  guint64 result = rotate_left (s[1] * 5, 7) * 9;
  guint64 t = s[1] << 17;

  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate_left (s[3], 45);
  return result;
}

guint64
gemem_rng_below (GememRng *rng, guint64 bound)
{
  Wide product = (Wide) gemem_rng_next (rng) * bound;

  if ((guint64) product < bound)
    {
      guint64 threshold = (0 - bound) % bound; /* 2^64 mod bound */
      while ((guint64) product < threshold)
        product = (Wide) gemem_rng_next (rng) * bound;
    }
  return (guint64) (product >> 64);
}

guint64
gemem_rng_range (GememRng *rng, guint64 low, guint64 high)
{
  guint64 span = high - low + 1;

  return span == 0 ? gemem_rng_next (rng) : low + gemem_rng_below (rng, span);
}

/* log2 in fixed point with 58 fractional bits, its curve replaced by a straight line within each
 * octave: exact at powers of two, monotone, and invertible by a shift.  @value is at least 1. */
static guint64
octave_position (guint64 value)
{
  guint64 octave = 63 - (guint64) __builtin_clzll (value);
  guint64 rest = value ^ (G_GUINT64_CONSTANT (1) << octave);

  return (octave << 58) + (octave <= 58 ? rest << (58 - octave) : rest >> (octave - 58));
}

guint64
gemem_rng_log_uniform (GememRng *rng, guint64 low, guint64 high)
{
  guint64 from = octave_position (low);
  guint64 to = high == G_MAXUINT64 ? G_MAXUINT64 : octave_position (high + 1) - 1;
  guint64 position = gemem_rng_range (rng, from, MAX (from, to));
  guint64 mantissa = (G_GUINT64_CONSTANT (1) << 58)
                     | (position & ((G_GUINT64_CONSTANT (1) << 58) - 1));

  return CLAMP ((guint64) (((Wide) mantissa << (position >> 58)) >> 58), low, high);
}

/* Exponentially distributed with mean 1, with 64 fractional bits: algorithm S of Ahrens and Dieter
 * (Knuth, The Art of Computer Programming, volume 2, 3.4.1), which needs comparisons and the
 * constants sum (ln 2^i / i!, i = 1..k) only. */
static Wide
exponential (GememRng *rng)
{
  static const guint64 sums[] = {
    LN2,
    G_GUINT64_CONSTANT (0xEEF193F6D75A96FC),
    G_GUINT64_CONSTANT (0xFD27186259AAF6C2),
    G_GUINT64_CONSTANT (0xFF9D6DD050F4C5A7),
    G_GUINT64_CONSTANT (0xFFF4CFCFEF1E626B),
    G_GUINT64_CONSTANT (0xFFFEE81886E1C62F),
    G_GUINT64_CONSTANT (0xFFFFE7FE850E0BB5),
    G_GUINT64_CONSTANT (0xFFFFFE2A8731B17D),
    G_GUINT64_CONSTANT (0xFFFFFFDFAC6EEADC),
    G_GUINT64_CONSTANT (0xFFFFFFFDF9640067),
    G_GUINT64_CONSTANT (0xFFFFFFFFE22EC79C),
    G_GUINT64_CONSTANT (0xFFFFFFFFFE6A9DED),
    G_GUINT64_CONSTANT (0xFFFFFFFFFFEBFF81),
    G_GUINT64_CONSTANT (0xFFFFFFFFFFFF1417),
    G_GUINT64_CONSTANT (0xFFFFFFFFFFFFF5CE),
    G_GUINT64_CONSTANT (0xFFFFFFFFFFFFFF95),
    G_GUINT64_CONSTANT (0xFFFFFFFFFFFFFFFB),
    G_MAXUINT64,
  };
  guint64 zeros = gemem_rng_next (rng);
  Wide halvings = zeros == 0 ? 64 : (Wide) __builtin_clzll (zeros);
  guint64 u = gemem_rng_next (rng);
  guint64 least = G_MAXUINT64;
  guint k = 0;

  if (u < LN2)
    return halvings * LN2 + u;
  while (k + 1 < G_N_ELEMENTS (sums) && u >= sums[k])
    k++;
  for (guint i = 0; i <= k; i++)
    {
      guint64 next = gemem_rng_next (rng); /* first: MIN() evaluates its arguments twice */
      least = MIN (least, next);
    }
  return ((halvings << 64 | least) >> 32) * LN2 >> 32;
}

/* -ln (1 - 1 / mean) with 64 fractional bits, as 2 atanh (1 / (2 mean - 1)), for 2 <= mean <
 * 2^20. */
static guint64
decay (guint64 mean)
{
  guint64 d = 2 * mean - 1;
  guint64 sum = 0;
  guint64 n = 1;

  for (guint64 term = G_MAXUINT64 / d; term != 0; term /= d * d, n += 2)
    sum += term / n;
  return 2 * sum;
}

guint64
gemem_rng_geometric (GememRng *rng, guint64 mean)
{
  Wide steps;

  if (mean <= 1)
    return 1;
  Wide x = exponential (rng);
  if (mean < (1 << 20))
    steps = x / decay (mean);
  else /* 1 / decay (mean) is mean - 1/2 up to 1 / (12 mean) */
    steps = (x >> 12) * (2 * (Wide) mean - 1) >> 53;
  return steps >= G_MAXUINT64 ? G_MAXUINT64 : (guint64) steps + 1;
}
