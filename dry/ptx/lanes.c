/* lanes.c - carries out an operation for all threads of a warp at once (group.c).
 *
 * Why: nine tenths of what runs are some twenty operations; as loops over 32 numbers that stand
 * side by side they cost a fifth.
 *
 * Invariants: each result is that of the thread alone (thread.c, values.c), state included; what is
 * not written here is left to those. Lanes that take no part may be computed, but nothing of them
 * is kept.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "dry/ptx/run-private.h"

/* What an operand is in each lane: in the registers, or in the arrays here. */
typedef struct
{
  const guint64 *values;
  const guint8 *states;
  guint64 own[WARP];
} Lanes;

static const guint8 all_known[WARP];

#define EACH for (guint i = 0; i < WARP; i++)

static void
get (const PtxGroup *group, const PtxOperand *operand, Lanes *lanes)
{
  lanes->values = lanes->own;
  lanes->states = all_known;
  if (operand->kind == OPERAND_REGISTER)
    {
      const guint64 *values = group->values + (gsize) operand->reg * WARP;
      lanes->states = group->states + (gsize) operand->reg * WARP;
      if (!operand->negated)
        lanes->values = values;
      else
        EACH lanes->own[i] = ~values[i];
    }
  else if (operand->kind != OPERAND_SPECIAL)
    EACH lanes->own[i] = operand->value;
  else
    EACH lanes->own[i] = (group->dead >> i & 1) != 0
                             ? 0
                             : gemem_ptx_special (group->run, &group->threads[i], operand->value);
}

static void
keep (PtxGroup *group, gint32 reg, const guint64 *values, const guint8 *states, guint32 active)
{
  guint64 *to;
  guint8 *to_states;

  if (reg < 0)
    return;
  to = group->values + (gsize) reg * WARP;
  to_states = group->states + (gsize) reg * WARP;
  if ((active | group->dead) == PTX_ALL_LANES)
    {
      memcpy (to, values, WARP * sizeof *values);
      memcpy (to_states, states, WARP);
    }
  else
    PTX_EACH_LANE (i, active)
      {
        to[i] = values[i];
        to_states[i] = states[i];
      }
}

static void
add_states (guint8 *states, const guint8 *others)
{
  EACH states[i] = MAX (states[i], others[i]);
}

/* ---- integers */

/* @expression of a, b and c, the numbers as @type has them. */
#define LOOP(T, expression) \
  EACH \
  { \
    const guint64 a = (guint64) (T) x[i], b = (guint64) (T) y[i], c = (guint64) (T) z[i]; \
    (void) a, (void) b, (void) c; \
    to[i] = (guint64) (expression); \
  }
#define OF_TYPE(expression) \
  do \
    switch (type.bytes) \
      { \
      case 8: \
        LOOP (guint64, expression) \
        return TRUE; \
      case 4: \
        if (is_signed) \
          LOOP (gint32, expression) \
        else \
          LOOP (guint32, expression) \
        return TRUE; \
      case 2: \
        if (is_signed) \
          LOOP (gint16, expression) \
        else \
          LOOP (guint16, expression) \
        return TRUE; \
      default: \
        return FALSE; \
      } \
  while (0)

static gboolean
integers (const PtxInstruction *one, const guint64 *x, const guint64 *y, const guint64 *z,
          guint64 *to)
{
  const PtxType type = one->type;
  const gboolean is_signed = type.kind == 's', wide = ptx_has (one, WORD_WIDE);
  const guint bits = 8u * type.bytes;

  if (ptx_has (one, WORD_SAT) || ptx_has (one, WORD_HI) || type.kind == 'p' || type.pair)
    return FALSE;
  switch ((PtxOperation) one->operation)
    {
    case OP_ADD:
      OF_TYPE (a + b);
    case OP_SUB:
      OF_TYPE (a - b);
    case OP_MUL:
      OF_TYPE (a * b);
    case OP_MAD:
      if (wide)
        OF_TYPE (a * b + z[i]);
      OF_TYPE (a * b + c);
    case OP_AND:
      OF_TYPE (a & b);
    case OP_OR:
      OF_TYPE (a | b);
    case OP_XOR:
      OF_TYPE (a ^ b);
    case OP_NOT:
      OF_TYPE (~a);
    case OP_NEG:
      OF_TYPE (-a);
    case OP_MIN:
      if (is_signed)
        OF_TYPE ((gint64) a < (gint64) b ? a : b);
      OF_TYPE (a < b ? a : b);
    case OP_MAX:
      if (is_signed)
        OF_TYPE ((gint64) a > (gint64) b ? a : b);
      OF_TYPE (a > b ? a : b);
    case OP_SHL:
      OF_TYPE ((guint32) y[i] >= bits ? 0 : a << (y[i] & 63));
    case OP_SHR:
      if (is_signed)
        OF_TYPE ((gint64) a >> MIN ((guint32) y[i], bits - 1));
      OF_TYPE ((guint32) y[i] >= bits ? 0 : a >> (y[i] & 63));
    default:
      return FALSE;
    }
}

/* ---- real numbers */

/* The bits of @value, or those that GPUs give for what is no number. */
static guint64
of_float (float value)
{
  return value != value ? PTX_NAN : ptx_of_f32 (value);
}

#define REALS(expression32, expression64) \
  if (one->type.bytes == 4) \
    EACH \
    { \
      const float a = ptx_f32 (x[i]), b = ptx_f32 (y[i]), c = ptx_f32 (z[i]); \
      (void) c; \
      to[i] = of_float (expression32); \
    } \
  else \
    EACH \
    { \
      const double a = ptx_f64 (x[i]), b = ptx_f64 (y[i]), c = ptx_f64 (z[i]); \
      (void) c; \
      to[i] = ptx_of_f64 (expression64); \
    } \
  return TRUE

static gboolean
rounds_to_nearest (const PtxInstruction *one)
{
  return !ptx_has (one, WORD_RZ) && !ptx_has (one, WORD_RM) && !ptx_has (one, WORD_RP)
         && !ptx_has (one, WORD_SAT) && !ptx_has (one, WORD_FTZ);
}

static gboolean
reals (const PtxInstruction *one, const guint64 *x, const guint64 *y, const guint64 *z, guint64 *to)
{
  if (one->type.bytes < 4 || one->type.pair || !rounds_to_nearest (one))
    return FALSE;
  switch ((PtxOperation) one->operation)
    {
    case OP_ADD:
      REALS (a + b, a + b);
    case OP_SUB:
      REALS (a - b, a - b);
    case OP_MUL:
      REALS (a * b, a * b);
    case OP_MAD:
    case OP_FMA:
      REALS (fmaf (a, b, c), fma (a, b, c));
    default:
      return FALSE;
    }
}

static gboolean
compute (PtxGroup *group, const PtxInstruction *one, guint32 active)
{
  Lanes operands[4];
  guint64 result[WARP];
  guint8 states[WARP] = { 0 };
  const guint n = MIN (one->n_operands - 1u, 4u);

  if (one->n_operands < 2 || one->type.kind == 'p' || ptx_has (one, WORD_CC))
    return FALSE;
  for (guint k = 0; k < n; k++)
    {
      get (group, &one->operands[k + 1], &operands[k]);
      add_states (states, operands[k].states);
    }
  for (guint k = n; k < 4; k++)
    operands[k].values = operands[0].values; /* not used */
  if (!(one->type.kind == 'f'
            ? reals (one, operands[0].values, operands[1].values, operands[2].values, result)
            : integers (one, operands[0].values, operands[1].values, operands[2].values, result)))
    PTX_EACH_LANE (i, active)
      {
        guint64 numbers[4] = { 0 };
        for (guint k = 0; k < n; k++)
          numbers[k] = operands[k].values[i];
        result[i] = gemem_ptx_compute (one, numbers, &group->run->lost);
      }
  keep (group, one->operands[0].reg, result, states, active);
  return TRUE;
}

/* ---- comparisons */

#define RELATION(T, OF) \
  switch (relation) \
    { \
    case WORD_EQ: \
      RELATE (T, OF, a == b) \
    case WORD_NE: \
      RELATE (T, OF, a<b || a> b) \
    case WORD_LT: \
      RELATE (T, OF, a < b) \
    case WORD_LE: \
      RELATE (T, OF, a <= b) \
    case WORD_GT: \
      RELATE (T, OF, a > b) \
    case WORD_GE: \
      RELATE (T, OF, a >= b) \
    case WORD_EQU: \
      RELATE (T, OF, !(a < b || a > b)) \
    case WORD_NEU: \
      RELATE (T, OF, !(a == b)) \
    case WORD_LTU: \
      RELATE (T, OF, !(a >= b)) \
    case WORD_LEU: \
      RELATE (T, OF, !(a > b)) \
    case WORD_GTU: \
      RELATE (T, OF, !(a <= b)) \
    case WORD_GEU: \
      RELATE (T, OF, !(a < b)) \
    default: \
      return FALSE; \
    }
#define RELATE(T, OF, expression) \
  EACH \
  { \
    const T a = OF (x[i]), b = OF (y[i]); \
    yes[i] = expression; \
  } \
  return TRUE;
#define AS_U64(bits) (bits)
#define AS_S64(bits) ((gint64) (bits))
#define AS_U32(bits) ((guint32) (bits))
#define AS_S32(bits) ((gint32) (bits))

/* The relation that @one asks for; those of unsigned integers as the others. */
static PtxWord
relation_of (const PtxInstruction *one)
{
  static const struct
  {
    PtxWord word, relation;
  } relations[] = { { WORD_EQ, WORD_EQ },   { WORD_NE, WORD_NE },   { WORD_LT, WORD_LT },
                    { WORD_LE, WORD_LE },   { WORD_GT, WORD_GT },   { WORD_GE, WORD_GE },
                    { WORD_LO, WORD_LT },   { WORD_LS, WORD_LE },   { WORD_HI, WORD_GT },
                    { WORD_HS, WORD_GE },   { WORD_EQU, WORD_EQU }, { WORD_NEU, WORD_NEU },
                    { WORD_LTU, WORD_LTU }, { WORD_LEU, WORD_LEU }, { WORD_GTU, WORD_GTU },
                    { WORD_GEU, WORD_GEU } };

  for (guint i = 0; i < G_N_ELEMENTS (relations); i++)
    if (ptx_has (one, relations[i].word))
      return relations[i].relation;
  return N_WORDS;
}

static gboolean
relate (PtxWord relation, PtxType type, const guint64 *x, const guint64 *y, guint64 *yes)
{
  if (type.kind == 'f' && type.bytes == 4)
    RELATION (float, ptx_f32)
  if (type.kind == 'f' && type.bytes == 8)
    RELATION (double, ptx_f64)
  if (type.kind == 's' && type.bytes == 4)
    RELATION (gint32, AS_S32)
  if (type.kind == 's' && type.bytes == 8)
    RELATION (gint64, AS_S64)
  if (type.kind != 'f' && type.kind != 'p' && type.bytes == 4)
    RELATION (guint32, AS_U32)
  if (type.kind != 'f' && type.kind != 'p' && type.bytes == 8)
    RELATION (guint64, AS_U64)
  return FALSE;
}

static gboolean
compare (PtxGroup *group, const PtxInstruction *one, guint32 active)
{
  Lanes a, b, c;
  guint64 yes[WARP], no[WARP];
  guint8 states[WARP] = { 0 };

  if (ptx_has (one, WORD_FTZ))
    return FALSE;
  get (group, &one->operands[1], &a);
  get (group, &one->operands[2], &b);
  if (!relate (relation_of (one), one->type, a.values, b.values, yes))
    return FALSE;
  add_states (states, a.states);
  add_states (states, b.states);
  EACH no[i] = yes[i] ^ 1;
  if (one->n_operands > 3)
    {
      get (group, &one->operands[3], &c);
      add_states (states, c.states);
      if (ptx_has (one, WORD_AND))
        EACH yes[i] &= c.values[i] & 1, no[i] &= c.values[i] & 1;
      else if (ptx_has (one, WORD_OR))
        EACH yes[i] |= c.values[i] & 1, no[i] |= c.values[i] & 1;
      else
        EACH yes[i] ^= c.values[i] & 1, no[i] ^= c.values[i] & 1;
    }
  keep (group, one->operands[0].reg, yes, states, active);
  keep (group, one->operands[0].second, no, states, active);
  return TRUE;
}

/* ---- what moves numbers */

static gboolean
choose (PtxGroup *group, const PtxInstruction *one, guint32 active)
{
  Lanes a, b, c;
  guint64 result[WARP];
  guint8 states[WARP];

  get (group, &one->operands[1], &a);
  get (group, &one->operands[2], &b);
  get (group, &one->operands[3], &c);
  EACH
  {
    const gboolean first = c.values[i] & 1,
                   same = a.values[i] == b.values[i] && a.states[i] == b.states[i];
    result[i] = first ? a.values[i] : b.values[i];
    states[i] = first ? a.states[i] : b.states[i];
    if (c.states[i] != GEMEM_PTX_KNOWN && !same)
      states[i] = ptx_worse (ptx_worse (a.states[i], b.states[i]), c.states[i]);
  }
  keep (group, one->operands[0].reg, result, states, active);
  return TRUE;
}

static gboolean
move (PtxGroup *group, const PtxInstruction *one, guint32 active)
{
  Lanes from;

  if (one->operands[0].kind != OPERAND_REGISTER || one->operands[1].kind == OPERAND_VECTOR
      || one->operands[1].kind == OPERAND_ADDRESS)
    return FALSE;
  get (group, &one->operands[1], &from);
  keep (group, one->operands[0].reg, from.values, from.states, active);
  return TRUE;
}

/* Between integers, without limits; from signed integers of 32 bits to real numbers. */
static gboolean
convert_simply (const PtxInstruction *one, const guint64 *from, guint64 *to)
{
  const PtxType source = one->source, type = one->type;

  if (source.bytes == 0 || type.kind == 'p' || source.kind == 'p' || !rounds_to_nearest (one))
    return FALSE;
  if (source.kind != 'f' && type.kind != 'f')
    EACH to[i] = gemem_ptx_number (from[i], source);
  else if (source.kind == 's' && source.bytes == 4 && type.bytes == 4)
    EACH to[i] = of_float ((float) (gint32) from[i]);
  else if (source.kind == 's' && source.bytes == 4 && type.bytes == 8)
    EACH to[i] = ptx_of_f64 ((double) (gint32) from[i]);
  else
    return FALSE;
  return TRUE;
}

static gboolean
convert (PtxGroup *group, const PtxInstruction *one, guint32 active)
{
  Lanes from;
  guint64 result[WARP];

  if (one->type.pair)
    return FALSE;
  get (group, &one->operands[1], &from);
  if (!convert_simply (one, from.values, result))
    PTX_EACH_LANE (i, active)
      result[i] = gemem_ptx_convert (one, &from.values[i], &group->run->lost);
  keep (group, one->operands[0].reg, result, from.states, active);
  return TRUE;
}

/* ---- memory */

static guint64
read_number (const guint8 *bytes, guint size)
{
  guint64 value = 0;

  if (size == 4)
    memcpy (&value, bytes, 4);
  else if (size == 8)
    memcpy (&value, bytes, 8);
  else
    memcpy (&value, bytes, size);
  return value;
}

/* Where @operand points to, in each lane, and in which space; FALSE: a lane does not know. */
static gboolean
addresses (const PtxGroup *group, const PtxInstruction *one, const PtxOperand *operand,
           guint32 active, guint64 *to, guint8 *space)
{
  const guint64 mask = one->space == SPACE_SHARED ? G_MAXUINT32 : G_MAXUINT64;

  *space = one->space;
  if (operand->reg < 0)
    {
      if (operand->space != SPACE_GENERIC)
        *space = operand->space;
      EACH to[i] = operand->value;
      return TRUE;
    }
  const guint64 *base = group->values + (gsize) operand->reg * WARP;
  const guint8 *states = group->states + (gsize) operand->reg * WARP;
  PTX_EACH_LANE (i, active)
    if (states[i] != GEMEM_PTX_KNOWN)
      return FALSE;
  EACH to[i] = (base[i] & mask) + operand->value;
  return TRUE;
}

/* The bytes at @address for lane @i, which are mostly in @piece. */
static guint8 *
reach (const PtxGroup *group, guint i, const GememPtxMemory *piece, guint8 space, guint64 address,
       gsize size, guint8 **states)
{
  guint8 *bytes = ptx_in_piece (piece, address, size, states);
  return bytes != NULL
             ? bytes
             : gemem_ptx_reach (group->run, &group->threads[i], space, address, size, states);
}

static gboolean
load (PtxGroup *group, const PtxInstruction *one, guint32 active)
{
  const guint n = one->vector > 0 ? one->vector : 1, size = one->type.bytes;
  guint64 at[WARP], results[4][WARP];
  guint8 result_states[4][WARP], space;
  GememPtxMemory piece = { 0 };

  if (!addresses (group, one, &one->operands[1], active, at, &space))
    return FALSE;
  gemem_ptx_piece (group->run, space, at[__builtin_ctz (active)], &piece);
  PTX_EACH_LANE (i, active)
    {
      guint8 *states = NULL;
      const guint8 *bytes = reach (group, i, &piece, space, at[i], (gsize) n * size, &states);
      for (guint k = 0; k < n; k++)
        {
          results[k][i] = bytes == NULL
                              ? 0
                              : gemem_ptx_number (read_number (bytes + k * size, size), one->type);
          result_states[k][i] = bytes == NULL ? GEMEM_PTX_UNKNOWN
                                              : ptx_worst (states + k * size, size);
        }
    }
  for (guint k = 0; k < n; k++)
    keep (group, ptx_element (&one->operands[0], k), results[k], result_states[k], active);
  return TRUE;
}

static gboolean
store (PtxGroup *group, const PtxInstruction *one, guint32 active)
{
  const guint size = one->type.bytes;
  const PtxOperand *source = &one->operands[1];
  guint64 at[WARP];
  guint8 space;
  GememPtxMemory piece = { 0 };
  Lanes values;

  if (one->vector > 0 || source->kind == OPERAND_VECTOR
      || !addresses (group, one, &one->operands[0], active, at, &space))
    return FALSE;
  get (group, source, &values);
  gemem_ptx_piece (group->run, space, at[__builtin_ctz (active)], &piece);
  PTX_EACH_LANE (i, active)
    {
      guint8 *states = NULL, *bytes = reach (group, i, &piece, space, at[i], size, &states);
      if (bytes == NULL)
        continue;
      group->run->lost |= gemem_ptx_is_variable (group->run, bytes);
      memcpy (bytes, &values.values[i], size);
      memset (states, values.states[i], size);
    }
  return TRUE;
}

gboolean
gemem_ptx_run_lanes (PtxGroup *group, const PtxInstruction *one, guint32 active)
{
  switch ((PtxOperation) one->operation)
    {
    case OP_MOV:
      return move (group, one, active);
    case OP_LD:
    case OP_LDU:
      return load (group, one, active);
    case OP_ST:
      return store (group, one, active);
    case OP_SETP:
      return compare (group, one, active);
    case OP_SELP:
      return choose (group, one, active);
    case OP_CVT:
      return convert (group, one, active);
    case OP_CVTA: /* addresses of global memory are generic ones */
      return one->space != SPACE_SHARED && one->space != SPACE_LOCAL && one->space != SPACE_PARAM
             && move (group, one, active);
    case OP_ISSPACEP:
    case OP_SET:
    case OP_SLCT:
    case OP_MEMBAR:
    case OP_FENCE:
    case OP_NANOSLEEP:
    case OP_PREFETCH:
    case OP_ADDC:
    case OP_SUBC:
    case OP_MADC:
      return FALSE;
    default:
      return !ptx_is (one->operation, PTX_ACTS) && compute (group, one, active);
    }
}
