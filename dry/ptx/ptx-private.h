/* ptx-private.h - code as parse.c reads it, run.c runs it and values.c computes. */
#pragma once

#include <string.h>

#include "dry/ptx/ptx.h"

/* ---- types */

typedef struct
{
  char kind;    /* 'b', 'u', 's', 'f', 'p' (a predicate) */
  guint8 bytes; /* 1, 2, 4, 8 */
  guint8 brain; /* of a half: bf16 */
  guint8 pair;  /* two halves in 4 bytes */
} PtxType;

typedef enum
{
  SPACE_GENERIC,
  SPACE_GLOBAL,
  SPACE_SHARED,
  SPACE_LOCAL,
  SPACE_PARAM,
  SPACE_MODULE, /* variables of the module: .global and .const */
} PtxSpace;

/* A generic address of another space than GLOBAL: the space above, the place in it below. */
#define PTX_WINDOW(space) ((guint64) (space) << 60)
#define PTX_PLACE (((guint64) 1 << 60) - 1)
/* Where dynamic shared memory begins in its space. */
#define PTX_DYNAMIC 0x800000u

/* What else stands behind the name of an operation, each a bit (words.def). */
typedef enum
{
#define PTX_WORD(id, text) WORD_##id,
#include "dry/ptx/words.def"
#undef PTX_WORD
  N_WORDS
} PtxWord;

typedef enum
{
#define PTX_OPERATION(id, text, traits) OP_##id,
#include "dry/ptx/operations.def"
#undef PTX_OPERATION
  N_OPERATIONS
} PtxOperation;

typedef enum
{
  PTX_ACTS = 1,    /* it does more than set registers of its thread */
  PTX_PAIRS = 2,   /* it is written for two halves at once */
  PTX_UNTYPED = 4, /* it may stand without a type */
} PtxTrait;

/* The traits of each operation (parse.c). */
extern const guint8 gemem_ptx_traits[N_OPERATIONS];

static inline gboolean
ptx_is (guint operation, PtxTrait trait)
{
  return (gemem_ptx_traits[operation] & trait) != 0;
}

/* ---- code */

typedef enum
{
  OPERAND_NONE,
  OPERAND_REGISTER,
  OPERAND_NUMBER,  /* value; also the place of a variable, in its window or space */
  OPERAND_SPECIAL, /* value: PtxSpecial */
  OPERAND_ADDRESS, /* register (or -1) + value */
  OPERAND_VECTOR,  /* registers in list; -1: dropped, "_" */
} PtxOperandKind;

typedef enum
{
  SPECIAL_TID,
  SPECIAL_NTID = SPECIAL_TID + 3,
  SPECIAL_CTAID = SPECIAL_NTID + 3,
  SPECIAL_NCTAID = SPECIAL_CTAID + 3,
  SPECIAL_LANEID = SPECIAL_NCTAID + 3,
  SPECIAL_WARPID,
  SPECIAL_NWARPID,
  SPECIAL_MASK_EQ,
  SPECIAL_MASK_LT,
  SPECIAL_MASK_LE,
  SPECIAL_MASK_GT,
  SPECIAL_MASK_GE,
  SPECIAL_DYNAMIC_SHARED,
  SPECIAL_ZERO, /* clocks and the like */
} PtxSpecial;

typedef struct
{
  guint8 kind, space; /* of an address that names a variable */
  guint8 n;           /* of a vector */
  gboolean negated;   /* !%p */
  gint32 reg;
  gint32 second; /* %p|%q; -1 */
  guint64 value;
  gint32 list[8];
  guint64 numbers[8]; /* of a vector, where list is -2 */
} PtxOperand;

typedef struct
{
  guint16 operation;
  PtxType type, source;                 /* source: of cvt and set */
  guint8 space, vector, n_operands, to; /* to: of cvta */
  guint64 words;
  gint32 predicate; /* -1: none */
  gboolean negated;
  PtxOperand operands[6];
  gint32 target;   /* of a branch */
  GArray *targets; /* gint32, of brx.idx */
  GArray
      *arguments; /* of a call: gint32 places in the parameters of this function: results first */
  char *called;
  GememPtxFunction *callee;
} PtxInstruction;

struct _GememPtxFunction
{
  char *name;
  gboolean kernel;
  GArray *parameters; /* guint16 offset, guint16 size; results of a function first */
  guint n_results;
  gsize parameter_size, frame_size; /* frame: with variables for calls */
  gsize shared_size;
  guint n_registers;
  GArray *code; /* PtxInstruction */
  const GememPtx *ptx;
  gboolean lost; /* it has what is not written here */
};

struct _GememPtx
{
  GHashTable *functions; /* name -> GememPtxFunction */
  GByteArray *variables;
  gsize local_size; /* of all functions, each of which has a place of its own: none calls itself */
};

static inline gboolean
ptx_has (const PtxInstruction *one, PtxWord word)
{
  return (one->words >> word & 1) != 0;
}

/* ---- memory */

/* Gives @bytes @size bytes, the new ones 0. */
static inline void
ptx_extend (GByteArray *bytes, gsize size)
{
  const guint before = bytes->len;

  g_byte_array_set_size (bytes, (guint) size);
  if (size > before)
    memset (bytes->data + before, 0, size - before);
}

/* ---- real numbers and their bits */

static inline float
ptx_f32 (guint64 bits)
{
  const guint32 low = (guint32) bits;
  float value;
  memcpy (&value, &low, sizeof value);
  return value;
}

static inline double
ptx_f64 (guint64 bits)
{
  double value;
  memcpy (&value, &bits, sizeof value);
  return value;
}

static inline guint64
ptx_of_f32 (float value)
{
  guint32 bits;
  memcpy (&bits, &value, sizeof bits);
  return bits;
}

static inline guint64
ptx_of_f64 (double value)
{
  guint64 bits;
  memcpy (&bits, &value, sizeof bits);
  return bits;
}

/* The float that operations give which have no result, or whose operand is no number. */
#define PTX_NAN 0x7fffffffu

/* ---- values.c: what an operation makes of numbers */

/* @value as a number of @type in 64 bits. */
guint64 gemem_ptx_number (guint64 value, PtxType type);
/* The result of an operation on up to three numbers; *@lost: it is not written here. */
guint64 gemem_ptx_compute (const PtxInstruction *one, const guint64 *numbers, gboolean *lost);
gboolean gemem_ptx_compare (const PtxInstruction *one, PtxType type, guint64 a, guint64 b);
/* Of a pair the upper half comes from the first number, the lower one from the second. */
guint64 gemem_ptx_convert (const PtxInstruction *one, const guint64 *numbers, gboolean *lost);
/* The new value in memory of an atomic operation. */
guint64 gemem_ptx_atomic (const PtxInstruction *one, guint64 before, guint64 a, guint64 b,
                          gboolean *lost);
