/* pickle-private.h - the state and functions shared by the parts of the pickle reader: pickle.c
 * runs the opcodes, pickle-stack.c keeps stack and memo, pickle-bytes.c fetches bytes, keeps
 * strings and words errors.
 */
#pragma once

#include "base/error.h"
#include "traces/pytorch/pickle.h"

#define GEMEM_PICKLE_MAX_STACK 4194304u /* 64 MiB; PyTorch's C++ writer appends a list at once */
#define GEMEM_PICKLE_MAX_NESTING 256u
#define GEMEM_PICKLE_MAX_MEMO ((gsize) 1 << 28)
#define GEMEM_PICKLE_MAX_STRING 16384u
#define GEMEM_PICKLE_SLACK 272 /* bytes of the longest opcode with argument, but long strings */

/* GememPickleValue.state of a DICT; of a LIST: OPEN, or PAIR. */
enum
{
  GEMEM_PICKLE_OPEN = 0, /* has no items yet */
  GEMEM_PICKLE_DONE = 1, /* has its items (or came from the memo) */
  GEMEM_PICKLE_KEPT = 2, /* was returned as a record */
  GEMEM_PICKLE_PAIR = 3, /* a list of which only the pair is kept */
};

typedef struct
{
  guint32 hash;
  guint32 offset; /* of the text */
  guint32 length;
} String;

struct _GememPickle
{
  GememPickleSource source;
  const guint8 *start, *at, *end; /* fetched bytes: first, next, end */
  const guint8 *near;             /* before it, an opcode and its argument are fetched */
  guint64 origin;                 /* offset in the file, less the address, of each fetched byte */
  guint64 opcode_at;              /* offset of the opcode being run */
  gboolean ended;
  GError *failure; /* error of the source, reported when bytes beyond it are needed */
  gboolean started, stopped, current;

  GememPickleValue *stack;
  guint32 top, capacity;
  guint32 marks[GEMEM_PICKLE_MAX_NESTING];
  guint n_marks;

  guint32 *memo; /* type in the low 4 bits, string, number or packed pair above */
  gsize memo_size, memo_capacity;

  GByteArray *text;
  GArray *strings; /* String; [0] stands for all strings not kept */
  guint32 *table;  /* open addressing: string number or 0 */
  guint32 table_mask;
  guint n_keys; /* number of keys and words */

  GArray *items; /* guint32: items appended to the list returned last */
  guint32 before;

  guint64 present;
  GememPickleValue record[GEMEM_PICKLE_MAX_KEYS];
};

/* pickle-bytes.c */
const char *gemem_pickle_opcode_name (guint8 opcode);
int gemem_pickle_fail (GememPickle *pickle, GError **error, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
int gemem_pickle_fail_truncated (GememPickle *pickle, GError **error);
int gemem_pickle_fail_refused (GememPickle *pickle, guint8 opcode, GError **error);
int gemem_pickle_fail_full (GememPickle *pickle, GError **error);
int gemem_pickle_fail_operands (GememPickle *pickle, guint8 opcode, GError **error);
void gemem_pickle_refill (GememPickle *pickle);
gboolean gemem_pickle_skip (GememPickle *pickle, guint64 n);
void gemem_pickle_grow_table (GememPickle *pickle);
guint32 gemem_pickle_intern (GememPickle *pickle, const guint8 *bytes, gsize length);

/* pickle-stack.c; 0: done, GEMEM_PICKLE_NEXT_*: something to return, -1: error */
gboolean gemem_pickle_grow_stack (GememPickle *pickle);
int gemem_pickle_make_tuple (GememPickle *pickle, guint8 opcode, guint n, GError **error);
int gemem_pickle_tuple_to_mark (GememPickle *pickle, GError **error);
int gemem_pickle_pop (GememPickle *pickle, guint8 opcode, GError **error);
int gemem_pickle_fill_container (GememPickle *pickle, guint8 opcode, GError **error);
int gemem_pickle_memo_put (GememPickle *pickle, guint8 opcode, guint64 index, GError **error);
int gemem_pickle_memo_get (GememPickle *pickle, guint8 opcode, guint32 index, GError **error);

static inline guint64
little (const guint8 *bytes, guint n)
{
  guint64 value = 0;
  for (guint i = 0; i < n; i++)
    value |= (guint64) bytes[i] << (8 * i);
  return value;
}

static inline GememPickleValue *
push (GememPickle *pickle, GememPickleType type)
{
  if (G_UNLIKELY (pickle->top == pickle->capacity) && !gemem_pickle_grow_stack (pickle))
    return NULL;
  GememPickleValue *value = &pickle->stack[pickle->top++];
  value->type = (guint8) type;
  value->state = GEMEM_PICKLE_OPEN;
  value->count = 0;
  value->integer = 0;
  return value;
}

/* Bytes consumed so far. */
static inline guint64
offset_of_next (const GememPickle *pickle)
{
  return pickle->origin + (guintptr) pickle->at;
}

/* Lowest stack index that opcodes without a mark may touch. */
static inline guint32
stack_floor (const GememPickle *pickle)
{
  return pickle->n_marks > 0 ? pickle->marks[pickle->n_marks - 1] + 1 : 0;
}

/* Merges the completed dict on top of the stack into the run of such dicts below. */
static inline void
merge_dict (GememPickle *pickle)
{
  GememPickleValue *value = &pickle->stack[pickle->top - 1];
  if (value->type == GEMEM_PICKLE_DICT && pickle->top - 1 > stack_floor (pickle)
      && value[-1].type == GEMEM_PICKLE_DICT && value[-1].state == value->state
      && value[-1].number == value->number
      && (value->number == 0 || value->number == GEMEM_PICKLE_ONCE)
      && value[-1].count < G_MAXUINT32)
    {
      value[-1].count += value->count;
      pickle->top--;
    }
}
