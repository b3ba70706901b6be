/* values.c - what PTX's operations make of numbers (ptx.h): integers of any width, IEEE numbers in
 * each rounding, comparisons, conversions.
 *
 * Invariants: numbers are bits in 64; gemem_ptx_number() reads those that count, with their sign.
 * Denormals are zero where the operation says so (.ftz). An operation on halves is one on floats,
 * rounded.
 */
#include "config.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#include "dry/ptx/ptx-private.h"

/* ---- forms */

static float
f16 (guint64 bits)
{
  const guint sign = bits >> 15 & 1, exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float size = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                     : exponent == 0 ? ldexpf ((float) fraction, -24)
                                     : ldexpf ((float) (fraction | 1024), (int) exponent - 25);
  return sign != 0 ? -size : size;
}

/* To nearest, ties to even, of a double: one rounding for floats, which are exact in it. */
static guint64
of_half (double value, gboolean brain)
{
  const guint64 sign = signbit (value) ? 0x8000 : 0;
  const int fraction = brain ? 7 : 10, least = brain ? -126 : -14; /* bits; exponent */
  const double size = fabs (value);
  int exponent;

  if (isnan (value))
    return 0x7fff;
  if (size == 0)
    return sign;
  if (isinf (value))
    return sign | (brain ? 0x7f80 : 0x7c00);
  frexp (size, &exponent);
  if (exponent > 1 - least + 1)
    return sign | (brain ? 0x7f80 : 0x7c00);
  exponent = MAX (exponent - 1, least);
  const double units = nearbyint (ldexp (size, fraction - exponent)); /* of the last place */
  const guint64 bits = (guint64) units + ((guint64) (exponent - least) << fraction);
  return sign | MIN (bits, brain ? 0x7f80 : 0x7c00);
}

guint64
gemem_ptx_number (guint64 value, PtxType type)
{
  const guint shift = 64 - 8u * type.bytes;

  if (type.kind == 'p')
    return value & 1;
  if (shift == 0)
    return value;
  return type.kind == 's' ? (guint64) ((gint64) (value << shift) >> shift)
                          : value << shift >> shift;
}

static double
real (guint64 bits, PtxType type, gboolean flush)
{
  const double value = type.bytes == 8   ? ptx_f64 (bits)
                       : type.bytes == 4 ? (double) ptx_f32 (bits)
                       : type.brain      ? (double) ptx_f32 (bits << 16)
                                         : (double) f16 (bits);
  return flush && type.bytes == 4 && fabs (value) < 0x1p-126 ? copysign (0, value) : value;
}

/* ---- rounding */

static int
begin_rounding (const PtxInstruction *one)
{
  const int before = fegetround ();
  const int mode = ptx_has (one, WORD_RZ)   ? FE_TOWARDZERO
                   : ptx_has (one, WORD_RM) ? FE_DOWNWARD
                   : ptx_has (one, WORD_RP) ? FE_UPWARD
                                            : FE_TONEAREST;
  if (mode != before)
    fesetround (mode);
  return before;
}

static void
end_rounding (int before)
{
  if (fegetround () != before)
    fesetround (before);
}

/* The compiler must not move these out of the rounding. */
static float
operate32 (PtxOperation operation, volatile float a, volatile float b, volatile float c)
{
  volatile float result = operation == OP_ADD   ? a + b
                          : operation == OP_SUB ? a - b
                          : operation == OP_MUL ? a * b
                          : operation == OP_DIV ? a / b
                          : operation == OP_FMA ? fmaf (a, b, c)
                          : operation == OP_RCP ? 1.0f / a
                                                : sqrtf (a);
  return result;
}

static double
operate64 (PtxOperation operation, volatile double a, volatile double b, volatile double c)
{
  volatile double result = operation == OP_ADD   ? a + b
                           : operation == OP_SUB ? a - b
                           : operation == OP_MUL ? a * b
                           : operation == OP_DIV ? a / b
                           : operation == OP_FMA ? fma (a, b, c)
                           : operation == OP_RCP ? 1.0 / a
                                                 : sqrt (a);
  return result;
}

/* ---- real numbers */

/* Operations on the sign alone, which leave what is no number as it is. */
static gboolean
keeps_sign (PtxOperation operation)
{
  return operation == OP_ABS || operation == OP_NEG || operation == OP_COPYSIGN;
}

static guint64
finish_real (const PtxInstruction *one, double value, PtxType type)
{
  if (ptx_has (one, WORD_SAT))
    value = isnan (value) ? 0 : CLAMP (value, 0, 1);
  if (ptx_has (one, WORD_FTZ) && type.bytes == 4 && fabs (value) < 0x1p-126)
    value = copysign (0, value);
  if (type.bytes == 4)
    return isnan (value) && !keeps_sign ((PtxOperation) one->operation)
               ? PTX_NAN
               : ptx_of_f32 ((float) value);
  return type.bytes == 8 ? ptx_of_f64 (value) : of_half (value, type.brain);
}

/* The lesser, of zeros the negative one; NAN only if both are, or where the operation says so. */
static double
least (const PtxInstruction *one, double a, double b)
{
  if (isnan (a) || isnan (b))
    return ptx_has (one, WORD_NAN_RESULT) ? NAN : isnan (a) ? b : a;
  return a < b || (a == b && signbit (a)) ? a : b;
}

/* .rn and .approx are both to nearest here: the second is the GPU's to some last bits. */
static double
approximate (PtxOperation operation, double a, PtxType type)
{
  const double value = operation == OP_RSQRT ? 1 / sqrt (a)
                       : operation == OP_SIN ? sin (a)
                       : operation == OP_COS ? cos (a)
                       : operation == OP_LG2 ? log2 (a)
                       : operation == OP_EX2 ? exp2 (a)
                                             : tanh (a);
  return type.bytes == 4 ? (double) (float) value : value;
}

static guint64
compute_real (const PtxInstruction *one, PtxType type, const guint64 *numbers, gboolean *lost)
{
  const gboolean flush = ptx_has (one, WORD_FTZ);
  const double a = real (numbers[0], type, flush), b = real (numbers[1], type, flush),
               c = real (numbers[2], type, flush);
  const PtxOperation operation = one->operation == OP_MAD ? OP_FMA : (PtxOperation) one->operation;
  double value;

  switch (operation)
    {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_FMA:
    case OP_RCP:
    case OP_SQRT:
      {
        const int before = begin_rounding (one);
        if (type.bytes == 4)
          value = (double) operate32 (operation, (float) a, (float) b, (float) c);
        else
          value = operate64 (operation, a, b, c); /* of halves exact enough for one rounding */
        end_rounding (before);
        break;
      }
    case OP_ABS:
      value = fabs (a);
      break;
    case OP_NEG:
      value = -a;
      break;
    case OP_MIN:
      value = least (one, a, b);
      break;
    case OP_MAX:
      value = -least (one, -a, -b);
      break;
    case OP_COPYSIGN:
      value = copysign (b, a);
      break;
    case OP_RSQRT:
    case OP_SIN:
    case OP_COS:
    case OP_LG2:
    case OP_EX2:
    case OP_TANH:
      value = approximate (operation, a, type);
      break;
    default:
      *lost = TRUE;
      return 0;
    }
  return finish_real (one, value, type);
}

/* ---- integers */

static guint64
high_product (guint64 a, guint64 b, PtxType type)
{
  if (type.bytes < 8)
    return type.kind == 's' ? (guint64) ((gint64) a * (gint64) b >> (8 * type.bytes))
                            : a * b >> (8 * type.bytes);
  if (type.kind == 's')
    return (guint64) (((__int128) (gint64) a * (gint64) b) >> 64);
  return (guint64) (((unsigned __int128) a * b) >> 64);
}

static guint64
product (const PtxInstruction *one, guint64 a, guint64 b)
{
  return ptx_has (one, WORD_HI) ? high_product (a, b, one->type) : a * b;
}

static guint64
quotient (guint64 a, guint64 b, PtxType type, gboolean rest)
{
  if (b == 0)
    return rest ? a : G_MAXUINT64; /* what GPUs give; the manual leaves it open */
  if (type.kind != 's')
    return rest ? a % b : a / b;
  if ((gint64) b == -1)
    return rest ? 0 : -a;
  return (guint64) (rest ? (gint64) a % (gint64) b : (gint64) a / (gint64) b);
}

static guint64
shifted (const PtxInstruction *one, guint64 value, guint64 by)
{
  const guint bits = 8u * one->type.bytes;

  by &= G_MAXUINT32;
  if (one->operation == OP_SHL)
    return by >= bits ? 0 : value << by;
  if (one->type.kind == 's')
    return (guint64) ((gint64) value >> MIN (by, bits - 1));
  return by >= bits ? 0 : value >> by;
}

static guint64
funnel (const PtxInstruction *one, const guint64 *numbers)
{
  const guint64 both = (numbers[1] & G_MAXUINT32) << 32 | (numbers[0] & G_MAXUINT32);
  const guint by = (guint) (ptx_has (one, WORD_WRAP) ? numbers[2] & 31
                                                     : MIN (numbers[2] & G_MAXUINT32, 32));

  return ptx_has (one, WORD_L) ? both << by >> 32 : both >> by & G_MAXUINT32;
}

static guint64
extract (const PtxInstruction *one, guint64 value, guint64 at, guint64 length)
{
  const guint bits = 8u * one->type.bytes;
  const gboolean is_signed = one->type.kind == 's';
  guint64 result = 0, sign;

  at &= 255, length &= 255;
  sign = !is_signed || length == 0 ? 0 : value >> MIN (MIN (at + length - 1, bits - 1), 63) & 1;
  for (guint i = 0; i < bits; i++)
    {
      const guint64 bit = i < length && at + i < bits ? value >> (at + i) & 1 : sign;
      result |= bit << i;
    }
  return result;
}

static guint64
insert (const guint64 *numbers, guint bits)
{
  const guint64 at = numbers[2] & 255, length = numbers[3] & 255;
  guint64 result = numbers[1];

  for (guint64 i = 0; i < length && at + i < bits; i++)
    result = (result & ~((guint64) 1 << (at + i))) | (numbers[0] >> i & 1) << (at + i);
  return result;
}

static guint64
permute (guint64 a, guint64 b, guint64 selection)
{
  const guint64 bytes = (b & G_MAXUINT32) << 32 | (a & G_MAXUINT32);
  guint64 result = 0;

  for (guint i = 0; i < 4; i++)
    {
      const guint64 nibble = selection >> (4 * i) & 15, byte = bytes >> (8 * (nibble & 7)) & 255;
      result |= (nibble & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
    }
  return result;
}

static guint64
look_up (const guint64 *numbers)
{
  guint64 result = 0;

  for (guint i = 0; i < 8; i++)
    if (numbers[3] >> i & 1)
      result |= (i & 4 ? numbers[0] : ~numbers[0]) & (i & 2 ? numbers[1] : ~numbers[1])
                & (i & 1 ? numbers[2] : ~numbers[2]);
  return result;
}

static guint64
leading_zeros (guint64 value, guint bits)
{
  return value == 0 ? bits : (guint64) __builtin_clzll (value) - (64 - bits);
}

static guint64
find_bit (const PtxInstruction *one, guint64 value)
{
  const guint bits = 8u * one->type.bytes;
  const PtxType plain = { 'u', one->type.bytes, 0, 0 };

  if (one->type.kind == 's' && (gint64) value < 0)
    value = ~value;
  value = gemem_ptx_number (value, plain);
  if (value == 0)
    return G_MAXUINT32;
  const guint64 place = bits - 1 - leading_zeros (value, bits);
  return ptx_has (one, WORD_SHIFTAMT) ? bits - 1 - place : place;
}

static guint64
reversed (guint64 value, guint bits)
{
  guint64 result = 0;
  for (guint i = 0; i < bits; i++)
    result |= (value >> i & 1) << (bits - 1 - i);
  return result;
}

static guint64
saturate (const PtxInstruction *one, guint64 value)
{
  return ptx_has (one, WORD_SAT) ? (guint64) CLAMP ((gint64) value, G_MININT32, G_MAXINT32) : value;
}

static guint64
compute_integer (const PtxInstruction *one, PtxType type, const guint64 *numbers, gboolean *lost)
{
  const guint bits = 8u * type.bytes;
  const gboolean is_signed = type.kind == 's';
  const guint64 a = gemem_ptx_number (numbers[0], type), b = gemem_ptx_number (numbers[1], type);

  switch ((PtxOperation) one->operation)
    {
    case OP_ADD:
      return saturate (one, a + b);
    case OP_SUB:
      return saturate (one, a - b);
    case OP_MUL:
      return product (one, a, b);
    case OP_MAD:
      return product (one, a, b)
             + (ptx_has (one, WORD_WIDE) ? numbers[2] : gemem_ptx_number (numbers[2], type));
    case OP_SAD:
      return numbers[2]
             + (is_signed ? ((gint64) a < (gint64) b ? b - a : a - b)
                : a < b   ? b - a
                          : a - b);
    case OP_DIV:
      return quotient (a, b, type, FALSE);
    case OP_REM:
      return quotient (a, b, type, TRUE);
    case OP_ABS:
      return (gint64) a < 0 ? -a : a;
    case OP_NEG:
      return -a;
    case OP_MIN:
      return (is_signed ? (gint64) a < (gint64) b : a < b) ? a : b;
    case OP_MAX:
      return (is_signed ? (gint64) a > (gint64) b : a > b) ? a : b;
    case OP_AND:
      return a & b;
    case OP_OR:
      return a | b;
    case OP_XOR:
      return a ^ b;
    case OP_NOT:
      return ~a;
    case OP_CNOT:
      return a == 0;
    case OP_LOP3:
      return look_up (numbers);
    case OP_SHL:
    case OP_SHR:
      return shifted (one, a, numbers[1]);
    case OP_SHF:
      return funnel (one, numbers);
    case OP_BFE:
      return extract (one, a, numbers[1], numbers[2]);
    case OP_BFI:
      return insert (numbers, bits);
    case OP_BFIND:
      return find_bit (one, a);
    case OP_BREV:
      return reversed (a, bits);
    case OP_CLZ:
      return leading_zeros (a, bits);
    case OP_POPC:
      return (guint64) __builtin_popcountll (a);
    case OP_CREATEPOLICY: /* of a cache */
      return 0;
    case OP_PRMT:
      return permute (numbers[0], numbers[1], numbers[2]);
    default:
      *lost = TRUE;
      return 0;
    }
}

static PtxType
half_of (PtxType pair)
{
  return (PtxType){ pair.kind, 2, pair.brain, 0 };
}

static guint64
compute_pair (const PtxInstruction *one, const guint64 *numbers, gboolean *lost)
{
  guint64 result = 0;

  for (guint i = 0; i < 2; i++)
    {
      const PtxType half = half_of (one->type);
      guint64 halves[4];
      for (guint k = 0; k < 4; k++)
        halves[k] = numbers[k] >> (16 * i) & 0xffff;
      result |= ((half.kind == 'f' ? compute_real (one, half, halves, lost)
                                   : compute_integer (one, half, halves, lost))
                 & 0xffff)
                << (16 * i);
    }
  return result;
}

guint64
gemem_ptx_compute (const PtxInstruction *one, const guint64 *numbers, gboolean *lost)
{
  if (one->operation == OP_TESTP)
    {
      const double a = real (numbers[0], one->type, FALSE);
      const int kind = fpclassify (one->type.bytes == 4 ? (float) a : a);
      const gboolean small = one->type.bytes == 4 ? a != 0 && fabs (a) < 0x1p-126
                                                  : kind == FP_SUBNORMAL;
      return ptx_has (one, WORD_FINITE)       ? isfinite (a)
             : ptx_has (one, WORD_INFINITE)   ? isinf (a) != 0
             : ptx_has (one, WORD_NUMBER)     ? !isnan (a)
             : ptx_has (one, WORD_NOTANUMBER) ? isnan (a)
             : ptx_has (one, WORD_SUBNORMAL)  ? small
                                              : isfinite (a) && a != 0 && !small;
    }
  if (one->type.pair)
    return compute_pair (one, numbers, lost);
  return one->type.kind == 'f' ? compute_real (one, one->type, numbers, lost)
                               : compute_integer (one, one->type, numbers, lost);
}

/* ---- comparisons */

static gboolean
compare_order (const PtxInstruction *one, int order)
{
  return (ptx_has (one, WORD_EQ) || ptx_has (one, WORD_EQU))   ? order == 0
         : (ptx_has (one, WORD_NE) || ptx_has (one, WORD_NEU)) ? order != 0
         : (ptx_has (one, WORD_LT) || ptx_has (one, WORD_LTU) || ptx_has (one, WORD_LO)) ? order < 0
         : (ptx_has (one, WORD_LE) || ptx_has (one, WORD_LEU) || ptx_has (one, WORD_LS))
             ? order <= 0
         : (ptx_has (one, WORD_GT) || ptx_has (one, WORD_GTU) || ptx_has (one, WORD_HI))
             ? order > 0
             : order >= 0;
}

gboolean
gemem_ptx_compare (const PtxInstruction *one, PtxType type, guint64 a, guint64 b)
{
  if (type.kind == 'f')
    {
      const gboolean flush = ptx_has (one, WORD_FTZ);
      const double x = real (a, type, flush), y = real (b, type, flush);
      const gboolean unordered = isnan (x) || isnan (y);
      if (ptx_has (one, WORD_NUM) || ptx_has (one, WORD_NAN))
        return unordered == ptx_has (one, WORD_NAN);
      if (unordered)
        return ptx_has (one, WORD_EQU) || ptx_has (one, WORD_NEU) || ptx_has (one, WORD_LTU)
               || ptx_has (one, WORD_LEU) || ptx_has (one, WORD_GTU) || ptx_has (one, WORD_GEU);
      return compare_order (one, x < y ? -1 : x > y);
    }
  a = gemem_ptx_number (a, type);
  b = gemem_ptx_number (b, type);
  return compare_order (one, type.kind == 's'
                                 ? ((gint64) a < (gint64) b ? -1 : (gint64) a > (gint64) b)
                                 : (a < b ? -1 : a > b));
}

/* ---- conversions */

static guint64
to_integer (double value, PtxType type)
{
  const double most = ldexp (1, 8 * type.bytes - (type.kind == 's'));

  if (isnan (value))
    return type.bytes == 8 ? (guint64) 1 << 63 : type.kind == 's' && type.bytes == 4 ? 0 : 0;
  if (type.kind == 's')
    return value >= most    ? (guint64) (((guint64) 1 << (8 * type.bytes - 1)) - 1)
           : value <= -most ? (guint64) - ((gint64) ((guint64) 1 << (8 * type.bytes - 2)) * 2)
                            : (guint64) (gint64) value;
  return value >= most ? (type.bytes == 8 ? G_MAXUINT64 : ((guint64) 1 << (8 * type.bytes)) - 1)
         : value <= 0  ? 0
                       : (guint64) value;
}

static double
to_whole (const PtxInstruction *one, double value)
{
  return ptx_has (one, WORD_RZI)   ? trunc (value)
         : ptx_has (one, WORD_RMI) ? floor (value)
         : ptx_has (one, WORD_RPI) ? ceil (value)
                                   : nearbyint (value);
}

static guint64
clamp_integer (guint64 value, PtxType from, PtxType to)
{
  const gint64 least = to.kind == 's' ? -(gint64) ((guint64) 1 << (8 * to.bytes - 2)) * 2 : 0;
  const guint64 most = to.bytes == 8 && to.kind == 'u'
                           ? G_MAXUINT64
                           : ((guint64) 1 << (8 * to.bytes - (to.kind == 's'))) - 1;
  if (from.kind == 's' && (gint64) value < least)
    return (guint64) least;
  return (from.kind != 's' || (gint64) value > 0) && value > most ? most : value;
}

/* An integer as a real number in the rounding that is set. */
static guint64
from_integer (guint64 value, PtxType from, PtxType to)
{
  volatile guint64 u = value;
  volatile gint64 s = (gint64) value;

  if (to.bytes == 8)
    {
      volatile double result = from.kind == 's' ? (double) s : (double) u;
      return ptx_of_f64 (result);
    }
  if (to.bytes == 4)
    {
      volatile float result = from.kind == 's' ? (float) s : (float) u;
      return ptx_of_f32 (result);
    }
  return of_half (from.kind == 's' ? (double) s : (double) u, to.brain);
}

static guint64
convert (const PtxInstruction *one, PtxType to, guint64 value, gboolean *lost)
{
  const PtxType from = one->source;
  const gboolean flush = ptx_has (one, WORD_FTZ);

  if (from.bytes == 0 || to.kind == 'p')
    {
      *lost = TRUE;
      return 0;
    }
  if (from.kind != 'f' && to.kind != 'f')
    {
      value = gemem_ptx_number (value, from);
      return ptx_has (one, WORD_SAT) ? clamp_integer (value, from, to) : value;
    }
  if (from.kind != 'f')
    {
      const int before = begin_rounding (one);
      value = from_integer (gemem_ptx_number (value, from), from, to);
      end_rounding (before);
      return value;
    }
  const double x = real (value, from, flush);
  if (to.kind != 'f')
    return to_integer (to_whole (one, x), to);
  if (ptx_has (one, WORD_RNI) || ptx_has (one, WORD_RZI) || ptx_has (one, WORD_RMI)
      || ptx_has (one, WORD_RPI))
    return finish_real (one, to_whole (one, x), to);
  if (to.bytes < 4 && (ptx_has (one, WORD_RZ) || ptx_has (one, WORD_RM) || ptx_has (one, WORD_RP)))
    *lost = TRUE;
  if (to.bytes == 4 && from.bytes == 8)
    {
      const int before = begin_rounding (one);
      volatile double wide = x;
      volatile float narrow = (float) wide;
      end_rounding (before);
      return finish_real (one, (double) narrow, to);
    }
  return finish_real (one, x, to);
}

guint64
gemem_ptx_convert (const PtxInstruction *one, const guint64 *numbers, gboolean *lost)
{
  if (one->type.pair)
    return convert (one, half_of (one->type), numbers[0], lost) << 16
           | convert (one, half_of (one->type), numbers[1], lost);
  return convert (one, one->type, numbers[0], lost);
}

/* ---- atomic operations */

guint64
gemem_ptx_atomic (const PtxInstruction *one, guint64 before, guint64 a, guint64 b, gboolean *lost)
{
  PtxInstruction plain = *one;
  const guint64 numbers[4] = { before, a, 0, 0 };
  const PtxType type = one->type;

  plain.words = 0;
  if (ptx_has (one, WORD_EXCH))
    return a;
  if (ptx_has (one, WORD_CAS))
    return gemem_ptx_number (before, type) == gemem_ptx_number (a, type) ? b : before;
  if (ptx_has (one, WORD_INC))
    return gemem_ptx_number (before, type) >= gemem_ptx_number (a, type) ? 0 : before + 1;
  if (ptx_has (one, WORD_DEC))
    {
      const guint64 now = gemem_ptx_number (before, type), most = gemem_ptx_number (a, type);
      return now == 0 || now > most ? most : now - 1;
    }
  plain.operation = ptx_has (one, WORD_ADD)   ? OP_ADD
                    : ptx_has (one, WORD_MIN) ? OP_MIN
                    : ptx_has (one, WORD_MAX) ? OP_MAX
                    : ptx_has (one, WORD_AND) ? OP_AND
                    : ptx_has (one, WORD_OR)  ? OP_OR
                    : ptx_has (one, WORD_XOR) ? OP_XOR
                                              : N_OPERATIONS;
  return gemem_ptx_compute (&plain, numbers, lost);
}
