/* chunk-size.c - see chunk-size.h.
 *
 * How a float product is computed in integers: both factors are an integer times a power of two.
 * The product of the integers is exact in 128 bits.  One rounding to 24 (float) or 53 (double)
 * significant bits gives the result of the hardware.  The byte count is rounded to float or double
 * first, in the same way.  Rounding does not depend on the exponent (no value here is near the
 * limits of the formats), so the power of two is applied last, by the shift that also truncates.
 */
#include "config.h"

#include "allocators/paddle/chunk-size.h"

#include <math.h>

#define FLOAT_BITS 24
#define DOUBLE_BITS 53
#define KEEP_BACK 256 /* bytes: left unused until 1.5; since 1.6 a smaller rest counts as 0 */

__extension__ typedef unsigned __int128 Wide;

static int
bit_length (Wide value)
{
  guint64 high = (guint64) (value >> 64), low = (guint64) value;
  if (high != 0)
    return 128 - __builtin_clzll (high);
  return low != 0 ? 64 - __builtin_clzll (low) : 0;
}

/* Rounds @value to @bits significant bits: to nearest, ties to even. */
static Wide
round_to_bits (Wide value, int bits)
{
  int excess = bit_length (value) - bits;
  if (excess <= 0)
    return value;
  Wide unit = (Wide) 1 << excess;
  Wide rest = value & (unit - 1);
  value -= rest;
  gboolean odd = (value & unit) != 0;
  return rest > unit / 2 || (rest == unit / 2 && odd) ? value + unit : value;
}

/* Integer part of @n * @mantissa * 2^-@shift in a float format of @bits significant bits. */
static guint64
product (guint64 n, guint64 mantissa, int shift, int bits)
{
  Wide exact = round_to_bits (n, bits) * mantissa; /* at most 65 + 53 bits */
  Wide rounded = round_to_bits (exact, bits);
  Wide whole = shift < 128 ? rounded >> shift : 0;
  return whole > G_MAXUINT64 ? G_MAXUINT64 : (guint64) whole;
}

guint64
gemem_paddle_double_product (double factor, guint64 n)
{
  int exponent;
  double mantissa = frexp (factor, &exponent); /* exact, as is the scaling below */
  return product (n, (guint64) ldexp (mantissa, DOUBLE_BITS), DOUBLE_BITS - exponent, DOUBLE_BITS);
}

guint64
gemem_paddle_float_twentieth (guint64 n)
{
  return product (n, 13421773, 28, FLOAT_BITS); /* 0.05f = 13421773 / 2^28 */
}

guint64
gemem_paddle_reserving (int version, const GememPaddleMemory *memory)
{
  if (version < GEMEM_PADDLE_1_4)
    return gemem_paddle_double_product (0.05, memory->total);
  return gemem_paddle_float_twentieth (version < GEMEM_PADDLE_1_6 ? memory->total
                                                                  : memory->available);
}

/* The bytes that the fraction is multiplied with. */
static guint64
usable (const GememPaddleChunkRule *rule, const GememPaddleMemory *memory)
{
  if (rule->rules == GEMEM_RULES_DOCUMENTED)
    return memory->total;
  guint64 reserving = gemem_paddle_reserving (rule->version, memory);
  if (rule->version < GEMEM_PADDLE_1_6)
    return memory->total - reserving;
  guint64 rest = memory->available - reserving;
  return rest < KEEP_BACK ? 0 : rest;
}

/* TRUE if nothing compares sizes with what is available, or only max_chunk with what is left. */
static gboolean
accepts_any_size (const GememPaddleChunkRule *rule)
{
  return rule->rules == GEMEM_RULES_DOCUMENTED || rule->version < GEMEM_PADDLE_1_6;
}

/* Size from @flag, or from the fraction if @flag is 0.  FALSE: too large (since 1.6). */
static gboolean
size_for (const GememPaddleChunkRule *rule, const GememPaddleMemory *memory, guint64 flag,
          guint64 *size)
{
  guint64 bytes = usable (rule, memory);
  *size = flag != 0 ? flag : gemem_paddle_double_product (rule->fraction, bytes);
  return accepts_any_size (rule) || (bytes != 0 && *size <= bytes);
}

gboolean
gemem_paddle_initial_size (const GememPaddleChunkRule *rule, const GememPaddleMemory *memory,
                           guint64 *size)
{
  return size_for (rule, memory, rule->initial, size);
}

gboolean
gemem_paddle_reallocate_size (const GememPaddleChunkRule *rule, const GememPaddleMemory *memory,
                              guint64 *size)
{
  return size_for (rule, memory, rule->reallocate, size);
}

gboolean
gemem_paddle_max_chunk_size (const GememPaddleChunkRule *rule, const GememPaddleMemory *memory,
                             guint64 *size)
{
  guint64 initial, reallocate;
  gboolean enough = gemem_paddle_initial_size (rule, memory, &initial);
  enough = gemem_paddle_reallocate_size (rule, memory, &reallocate) && enough;
  *size = MAX (initial, reallocate);
  if (rule->rules == GEMEM_RULES_DOCUMENTED || rule->version >= GEMEM_PADDLE_1_6)
    return enough;
  guint64 left = MAX (memory->available, KEEP_BACK) - KEEP_BACK;
  return *size <= MIN (left, usable (rule, memory));
}

guint64
gemem_paddle_cpu_chunk_size (int rules, guint64 physical, double fraction, guint64 initial)
{
  const guint64 part = rules == GEMEM_RULES_DOCUMENTED ? 1 : 32;
  return MIN (gemem_paddle_double_product (fraction, physical) / part, initial);
}

guint64
gemem_paddle_pinned_chunk_size (guint64 physical, double fraction)
{
  return gemem_paddle_double_product (fraction, physical) / 256;
}
