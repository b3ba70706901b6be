/* pickle.c - see pickle.h.
 *
 * The stack holds 16-byte values.  Containers stay on it as a type and a count; their items are popped by SETITEM(S) and APPEND(S)
 * and forgotten, except that a dict's wanted values are copied to the record first.  Dicts that follow one another (the items of a
 * list before its APPENDS, which some writers emit only once) share one stack entry.
 *
 * Invariants: every opcode checks that its argument is inside the bytes and its operands above the last mark; the memo never grows
 * faster than the bytes read; stack[0 .. top) is initialised.
 * Cost: one switch per opcode, no allocation per value; strings are hashed once per occurrence that is not a memo reference.
 */
#include "config.h"

#include <string.h>

#include "sim/core/error.h"
#include "traces/pickle.h"

#define FILL_SIZE ((gsize) 64 << 10)
#define SLACK 272 /* longest opcode with its argument, long strings aside */
#define MAX_STACK 65536u
#define MAX_NESTING 256u
#define MAX_MEMO ((gsize) 1 << 28)
#define MAX_STRING 1024u
#define MAX_TEXT ((gsize) 32 << 20)
#define MAX_STRINGS ((guint32) 1 << 22)

/* GememPickleValue.state of a DICT. */
enum
{
  OPEN = 0, /* no items yet                          */
  DONE = 1, /* has its items (or came from the memo) */
  KEPT = 2, /* was handed out as a record            */
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
  const guint8     *start, *at, *end; /* bytes fetched, next byte, their end */
  guint64           base;             /* offset of start                     */
  guint64           opcode_at;        /* offset of the opcode being run      */
  gboolean          ended;
  GError           *failure; /* of the source, reported when its bytes are needed */
  gboolean          started, stopped, current;

  GememPickleValue *stack;
  guint32           top, capacity;
  guint32           marks[MAX_NESTING];
  guint             n_marks;

  guint32 *memo; /* type in the low 4 bits, string number or packed pair above */
  gsize    memo_size, memo_capacity;

  GByteArray *text;
  GArray     *strings; /* String; [0] stands for all that were not kept */
  guint32    *table;   /* open addressing: string number or 0           */
  guint32     table_mask;
  guint       n_keys;

  guint64          present;
  GememPickleValue record[GEMEM_PICKLE_MAX_KEYS];
};

/* ---- opcodes */

static const char *
opcode_name (guint8 opcode)
{
  static const char *const names[256] = {
    ['('] = "MARK", ['.'] = "STOP", ['0'] = "POP", ['1'] = "POP_MARK", ['2'] = "DUP", ['F'] = "FLOAT", ['I'] = "INT", ['J'] = "BININT",
    ['K'] = "BININT1", ['L'] = "LONG", ['M'] = "BININT2", ['N'] = "NONE", ['P'] = "PERSID", ['Q'] = "BINPERSID", ['R'] = "REDUCE", ['S'] = "STRING",
    ['T'] = "BINSTRING", ['U'] = "SHORT_BINSTRING", ['V'] = "UNICODE", ['X'] = "BINUNICODE", ['a'] = "APPEND", ['b'] = "BUILD", ['c'] = "GLOBAL",
    ['d'] = "DICT", ['}'] = "EMPTY_DICT", ['e'] = "APPENDS", ['g'] = "GET", ['h'] = "BINGET", ['i'] = "INST", ['j'] = "LONG_BINGET", ['l'] = "LIST",
    [']'] = "EMPTY_LIST", ['o'] = "OBJ", ['p'] = "PUT", ['q'] = "BINPUT", ['r'] = "LONG_BINPUT", ['s'] = "SETITEM", ['t'] = "TUPLE",
    [')'] = "EMPTY_TUPLE", ['u'] = "SETITEMS", ['G'] = "BINFLOAT", [0x80] = "PROTO", [0x81] = "NEWOBJ", [0x82] = "EXT1", [0x83] = "EXT2",
    [0x84] = "EXT4", [0x85] = "TUPLE1", [0x86] = "TUPLE2", [0x87] = "TUPLE3", [0x88] = "NEWTRUE", [0x89] = "NEWFALSE", [0x8a] = "LONG1",
    [0x8b] = "LONG4", ['B'] = "BINBYTES", ['C'] = "SHORT_BINBYTES", [0x8c] = "SHORT_BINUNICODE", [0x8d] = "BINUNICODE8", [0x8e] = "BINBYTES8",
    [0x8f] = "EMPTY_SET", [0x90] = "ADDITEMS", [0x91] = "FROZENSET", [0x92] = "NEWOBJ_EX", [0x93] = "STACK_GLOBAL", [0x94] = "MEMOIZE",
    [0x95] = "FRAME", [0x96] = "BYTEARRAY8", [0x97] = "NEXT_BUFFER", [0x98] = "READONLY_BUFFER",
  };
  return names[opcode] != NULL ? names[opcode] : "unknown";
}

static guint64
little (const guint8 *bytes, guint n)
{
  guint64 value = 0;
  for (guint i = 0; i < n; i++)
    value |= (guint64) bytes[i] << (8 * i);
  return value;
}

static guint32
little4 (const guint8 *bytes)
{
  return (guint32) bytes[0] | (guint32) bytes[1] << 8 | (guint32) bytes[2] << 16 | (guint32) bytes[3] << 24;
}

/* ---- errors */

static int G_GNUC_PRINTF (3, 4)
fail (GememPickle *pickle, GError **error, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: byte %" G_GUINT64_FORMAT ": %s", pickle->source.name,
               pickle->opcode_at, text);
  return -1;
}

static int
fail_truncated (GememPickle *pickle, GError **error)
{
  if (pickle->failure != NULL)
    {
      if (error != NULL)
        *error = g_error_copy (pickle->failure);
      return -1;
    }
  pickle->opcode_at = gemem_pickle_offset (pickle);
  return fail (pickle, error, "the file ends in the middle of the pickle; it was cut off, fetch it again");
}

static int
fail_refused (GememPickle *pickle, guint8 opcode, GError **error)
{
  return fail (pickle, error, "opcode %s (0x%02x) is refused: a memory snapshot holds plain data only, and this could run code or is no pickle of "
               "protocol 2 to 5; do not load this file in Python either unless you trust it", opcode_name (opcode), opcode);
}

static int
fail_full (GememPickle *pickle, GError **error)
{
  return fail (pickle, error, "more than %u values wait on the stack; this is no memory snapshot", MAX_STACK);
}

static int
fail_operands (GememPickle *pickle, guint8 opcode, GError **error)
{
  return fail (pickle, error, "%s finds the wrong values on the stack; the pickle is damaged", opcode_name (opcode));
}

/* ---- bytes */

/* Fetches more; afterwards as many bytes as there are, up to FILL_SIZE and beyond, lie at `at`. */
static void
refill (GememPickle *pickle)
{
  gsize used = (gsize) (pickle->at - pickle->start);
  const guint8 *bytes = NULL;
  gssize n = pickle->source.fill (pickle->source.data, used, FILL_SIZE, &bytes, &pickle->failure);

  if (pickle->failure != NULL) /* what was fetched before the damage is still good */
    n = pickle->source.fill (pickle->source.data, 0, 0, &bytes, NULL);
  pickle->base += used;
  pickle->ended = pickle->failure != NULL || n < (gssize) FILL_SIZE;
  pickle->start = pickle->at = bytes;
  pickle->end = bytes + MAX (n, 0);
}

static gboolean
skip (GememPickle *pickle, guint64 n)
{
  while (n > (gsize) (pickle->end - pickle->at))
    {
      n -= (gsize) (pickle->end - pickle->at);
      pickle->at = pickle->end;
      if (pickle->ended)
        return FALSE;
      refill (pickle);
    }
  pickle->at += n;
  return TRUE;
}

/* ---- strings */

static guint32
hash_bytes (const guint8 *bytes, gsize length)
{
  guint64 hash = length * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  for (; length >= 8; bytes += 8, length -= 8)
    {
      hash = (hash ^ little (bytes, 8)) * G_GUINT64_CONSTANT (0xff51afd7ed558ccd);
      hash ^= hash >> 32;
    }
  hash = (hash ^ little (bytes, (guint) length)) * G_GUINT64_CONSTANT (0xff51afd7ed558ccd);
  return (guint32) (hash ^ hash >> 32);
}

static void
grow_table (GememPickle *pickle)
{
  pickle->table_mask = pickle->table_mask * 2 + 1;
  g_free (pickle->table);
  pickle->table = g_new0 (guint32, (gsize) pickle->table_mask + 1);
  for (guint32 i = 1; i < pickle->strings->len; i++)
    {
      guint32 slot = g_array_index (pickle->strings, String, i).hash & pickle->table_mask;
      while (pickle->table[slot] != 0)
        slot = (slot + 1) & pickle->table_mask;
      pickle->table[slot] = i;
    }
}

/* The number of a string, the same for equal ones; 0 if it is not kept. */
static guint32
intern (GememPickle *pickle, const guint8 *bytes, gsize length)
{
  if (length > MAX_STRING)
    return 0;
  guint32 hash = hash_bytes (bytes, length), slot;
  for (slot = hash & pickle->table_mask; pickle->table[slot] != 0; slot = (slot + 1) & pickle->table_mask)
    {
      const String *string = &g_array_index (pickle->strings, String, pickle->table[slot]);
      if (string->hash == hash && string->length == length && memcmp (pickle->text->data + string->offset, bytes, length) == 0)
        return pickle->table[slot];
    }
  if (pickle->text->len + length + 1 > MAX_TEXT || pickle->strings->len >= MAX_STRINGS)
    return 0;
  String string = { hash, pickle->text->len, (guint32) length };
  g_byte_array_append (pickle->text, bytes, (guint) length);
  g_byte_array_append (pickle->text, (const guint8 *) "", 1);
  g_array_append_val (pickle->strings, string);
  pickle->table[slot] = pickle->strings->len - 1;
  if (pickle->strings->len > pickle->table_mask / 2)
    grow_table (pickle);
  return pickle->strings->len - 1;
}

/* ---- stack */

static gboolean
grow_stack (GememPickle *pickle)
{
  if (pickle->capacity >= MAX_STACK)
    return FALSE;
  pickle->capacity *= 2;
  pickle->stack = g_renew (GememPickleValue, pickle->stack, pickle->capacity);
  return TRUE;
}

static inline GememPickleValue *
push (GememPickle *pickle, GememPickleType type)
{
  if (G_UNLIKELY (pickle->top == pickle->capacity) && !grow_stack (pickle))
    return NULL;
  GememPickleValue *value = &pickle->stack[pickle->top++];
  value->type = (guint8) type;
  value->state = OPEN;
  value->count = 0;
  value->integer = 0;
  return value;
}

/* Lowest stack index that opcodes without a mark may touch. */
static inline guint32
stack_floor (const GememPickle *pickle)
{
  return pickle->n_marks > 0 ? pickle->marks[pickle->n_marks - 1] + 1 : 0;
}

/* The completed dict on top joins a run of equals below it. */
static inline void
merge_dict (GememPickle *pickle)
{
  GememPickleValue *value = &pickle->stack[pickle->top - 1];
  if (pickle->top - 1 > stack_floor (pickle) && value[-1].type == GEMEM_PICKLE_DICT && value[-1].state == value->state
      && value[-1].count < G_MAXUINT32)
    {
      value[-1].count += value->count;
      pickle->top--;
    }
}

static gint64
pack_pair (const GememPickleValue *values)
{
  if (values[0].type != GEMEM_PICKLE_INT || values[1].type != GEMEM_PICKLE_INT || ((values[0].integer | values[1].integer) >> 31) != 0)
    return GEMEM_PICKLE_NO_PAIR;
  return values[0].integer << 32 | values[1].integer;
}

static int
make_tuple (GememPickle *pickle, guint8 opcode, guint n, GError **error)
{
  gint64 pair = GEMEM_PICKLE_NO_PAIR;
  guint32 floor = stack_floor (pickle);

  if (n == 2 && pickle->top >= floor + 2)
    pair = pack_pair (&pickle->stack[pickle->top - 2]);
  for (; n > 0; n--)
    {
      if (pickle->top <= floor)
        return fail_operands (pickle, opcode, error);
      GememPickleValue *value = &pickle->stack[pickle->top - 1];
      if (value->type == GEMEM_PICKLE_DICT && value->count > 1)
        value->count--;
      else
        pickle->top--;
    }
  GememPickleValue *value = push (pickle, GEMEM_PICKLE_TUPLE);
  if (value == NULL)
    return fail_full (pickle, error);
  value->pair = pair;
  return 0;
}

/* ---- dicts and lists */

static int
set_items (GememPickle *pickle, guint8 opcode, guint32 first, GError **error)
{
  GememPickleValue *stack = pickle->stack;
  guint32 target = opcode == 'u' ? first - 2 : first - 1;

  if (stack[target].type != GEMEM_PICKLE_DICT || (pickle->top - first) % 2 != 0)
    return fail_operands (pickle, opcode, error);
  if (stack[target].state == KEPT)
    return fail (pickle, error, "a dict gets its items in several parts; save the snapshot again with pickle.dump()");
  pickle->present = 0;
  for (guint32 i = first; i < pickle->top; i += 2)
    {
      guint32 key = stack[i].string;
      if (stack[i].type != GEMEM_PICKLE_STRING || key - 1 >= pickle->n_keys)
        continue;
      pickle->record[key - 1] = stack[i + 1];
      pickle->present |= G_GUINT64_CONSTANT (1) << (key - 1);
    }
  pickle->top = target + 1;
  if (stack[target].count == 0)
    stack[target].count = 1;
  stack[target].state = pickle->present != 0 ? KEPT : DONE;
  if (pickle->present == 0)
    merge_dict (pickle);
  return pickle->present != 0;
}

static int
append_items (GememPickle *pickle, guint8 opcode, guint32 first, GError **error)
{
  guint32 target = opcode == 'e' ? first - 2 : first - 1;
  GememPickleValue *list = &pickle->stack[target];
  guint64 count = list->count;

  if (list->type != GEMEM_PICKLE_LIST)
    return fail_operands (pickle, opcode, error);
  list->pair = count == 0 && pickle->top - first == 2 ? pack_pair (&pickle->stack[first]) : GEMEM_PICKLE_NO_PAIR;
  for (guint32 i = first; i < pickle->top; i++)
    count += pickle->stack[i].type == GEMEM_PICKLE_DICT ? MAX (pickle->stack[i].count, 1) : 1;
  list->count = (guint32) MIN (count, G_MAXUINT32);
  pickle->top = target + 1;
  return 0;
}

/* SETITEMS, APPENDS, SETITEM, APPEND: 1 = a record. */
static int
fill_container (GememPickle *pickle, guint8 opcode, GError **error)
{
  guint32 first;

  if (opcode == 'u' || opcode == 'e')
    {
      if (pickle->n_marks == 0)
        return fail_operands (pickle, opcode, error);
      first = pickle->marks[--pickle->n_marks] + 1;
      if (first < 2 || first - 2 < stack_floor (pickle))
        return fail_operands (pickle, opcode, error);
    }
  else
    {
      guint n = opcode == 's' ? 2 : 1;
      if (pickle->top < stack_floor (pickle) + n + 1)
        return fail_operands (pickle, opcode, error);
      first = pickle->top - n;
    }
  return opcode == 'u' || opcode == 's' ? set_items (pickle, opcode, first, error) : append_items (pickle, opcode, first, error);
}

/* ---- memo */

static int
memo_put (GememPickle *pickle, guint8 opcode, guint64 index, GError **error)
{
  if (pickle->top <= stack_floor (pickle))
    return fail_operands (pickle, opcode, error);
  /* Every entry costs its writer a byte at least, so an honest index is below the offset. */
  if (index >= MAX_MEMO || index > gemem_pickle_offset (pickle))
    return fail (pickle, error, "memo entry %" G_GUINT64_FORMAT " is out of bounds; the pickle is damaged or too large", index);
  if (index >= pickle->memo_capacity)
    {
      gsize capacity = MAX (pickle->memo_capacity * 2, 1024);
      capacity = MAX (capacity, (gsize) index + 1);
      pickle->memo = g_renew (guint32, pickle->memo, capacity);
      memset (pickle->memo + pickle->memo_capacity, 0, (capacity - pickle->memo_capacity) * sizeof *pickle->memo);
      pickle->memo_capacity = capacity;
    }
  const GememPickleValue *value = &pickle->stack[pickle->top - 1];
  guint32 payload = 0;
  if (value->type == GEMEM_PICKLE_STRING)
    payload = value->string;
  else if (value->type == GEMEM_PICKLE_TUPLE && value->pair >> 45 == 0 && (value->pair & 0xffffc000) == 0)
    payload = (guint32) 1 << 27 | (guint32) (value->pair >> 32 & 0x1fff) << 14 | (guint32) (value->pair & 0x3fff);
  else if (value->type != GEMEM_PICKLE_TUPLE && value->type != GEMEM_PICKLE_LIST && value->type != GEMEM_PICKLE_DICT
           && value->type != GEMEM_PICKLE_BYTES)
    return fail (pickle, error, "%s of a number; no writer of snapshots does that, the pickle is damaged", opcode_name (opcode));
  pickle->memo_size += pickle->memo[index] == 0;
  pickle->memo[index] = value->type | payload << 4;
  return 0;
}

static int
memo_get (GememPickle *pickle, guint8 opcode, guint32 index, GError **error)
{
  guint32 entry = index < pickle->memo_capacity ? pickle->memo[index] : 0;
  if (entry == 0)
    return fail (pickle, error, "%s of memo entry %u, which was never stored; the pickle is damaged", opcode_name (opcode), index);
  GememPickleValue *value = push (pickle, (GememPickleType) (entry & 15));
  if (value == NULL)
    return fail_full (pickle, error);
  guint32 payload = entry >> 4;
  if (value->type == GEMEM_PICKLE_STRING)
    value->string = payload;
  else if (value->type == GEMEM_PICKLE_TUPLE)
    value->pair = payload >> 27 != 0 ? (gint64) (payload >> 14 & 0x1fff) << 32 | (payload & 0x3fff) : GEMEM_PICKLE_NO_PAIR;
  else if (value->type == GEMEM_PICKLE_LIST)
    value->pair = GEMEM_PICKLE_NO_PAIR;
  else if (value->type == GEMEM_PICKLE_DICT)
    {
      value->state = DONE;
      value->count = 1;
      if (pickle->top - 1 > stack_floor (pickle) && value[-1].type == GEMEM_PICKLE_DICT && value[-1].state == KEPT)
        return fail (pickle, error, "a list repeats an event or block that was written before; this is no memory snapshot");
      merge_dict (pickle);
    }
  return 0;
}

/* ---- scalars */

static int
push_long (GememPickle *pickle, guint8 opcode, guint64 n, GError **error)
{
  if (n > 8)
    return fail (pickle, error, "an int of %" G_GUINT64_FORMAT " bytes (%s); at most 8 are read, no address or size needs more", n, opcode_name (opcode));
  if ((gsize) (pickle->end - pickle->at) < n)
    return fail_truncated (pickle, error);
  guint64 value = little (pickle->at, (guint) n);
  if (n > 0 && n < 8 && (pickle->at[n - 1] & 0x80) != 0)
    value |= G_MAXUINT64 << (8 * n);
  pickle->at += n;
  GememPickleValue *slot = push (pickle, GEMEM_PICKLE_INT);
  if (slot == NULL)
    return fail_full (pickle, error);
  slot->integer = (gint64) value;
  return 0;
}

/* A str or bytes object of @n bytes, which need not be in the buffer yet. */
static int
push_text (GememPickle *pickle, GememPickleType type, guint64 n, GError **error)
{
  GememPickleValue *value = push (pickle, type);
  if (value == NULL)
    return fail_full (pickle, error);
  if (n > MAX_STRING || type == GEMEM_PICKLE_BYTES)
    return skip (pickle, n) ? 0 : fail_truncated (pickle, error);
  if ((gsize) (pickle->end - pickle->at) < n && !pickle->ended)
    refill (pickle);
  if ((gsize) (pickle->end - pickle->at) < n)
    return fail_truncated (pickle, error);
  value->string = intern (pickle, pickle->at, (gsize) n);
  pickle->at += n;
  return 0;
}

static int
push_float (GememPickle *pickle, GError **error)
{
  guint64 bits = 0;
  double real;
  for (guint i = 0; i < 8; i++)
    bits = bits << 8 | pickle->at[i];
  pickle->at += 8;
  memcpy (&real, &bits, sizeof real);
  GememPickleValue *value = push (pickle, GEMEM_PICKLE_FLOAT);
  if (value == NULL)
    return fail_full (pickle, error);
  value->real = real;
  return 0;
}

/* ---- the rarer opcodes */

static int
pop (GememPickle *pickle, guint8 opcode, GError **error)
{
  if (opcode == '0' && pickle->top > stack_floor (pickle))
    {
      if (pickle->stack[pickle->top - 1].count > 1)
        pickle->stack[pickle->top - 1].count--;
      else
        pickle->top--;
      return 0;
    }
  if (pickle->n_marks == 0) /* POP of a mark is POP_MARK */
    return fail_operands (pickle, opcode, error);
  pickle->top = pickle->marks[--pickle->n_marks];
  return 0;
}

static int
tuple_to_mark (GememPickle *pickle, GError **error)
{
  if (pickle->n_marks == 0)
    return fail_operands (pickle, 't', error);
  guint32 mark = pickle->marks[--pickle->n_marks];
  gint64 pair = pickle->top - mark == 3 ? pack_pair (&pickle->stack[mark + 1]) : GEMEM_PICKLE_NO_PAIR;
  pickle->top = mark;
  GememPickleValue *value = push (pickle, GEMEM_PICKLE_TUPLE);
  if (value == NULL)
    return fail_full (pickle, error);
  value->pair = pair;
  return 0;
}

static int
stop (GememPickle *pickle, GError **error)
{
  if (pickle->n_marks > 0 || pickle->top != 1)
    return fail_operands (pickle, '.', error);
  pickle->stopped = TRUE;
  return 0;
}

/* The first opcode: PROTO with a protocol that is understood. */
static int
start (GememPickle *pickle, GError **error)
{
  refill (pickle);
  if (pickle->end - pickle->at < 2)
    return pickle->end == pickle->at && pickle->failure == NULL ? fail (pickle, error, "the file is empty; name a recorded snapshot")
                                                                : fail_truncated (pickle, error);
  if (pickle->at[0] != 0x80)
    return fail (pickle, error, "this is no pickle of protocol 2 or later; save the snapshot with torch.cuda.memory._dump_snapshot()");
  if (pickle->at[1] < 2 || pickle->at[1] > 5)
    return fail (pickle, error, "pickle protocol %u is not known; save the snapshot again with protocol 2 to 5", pickle->at[1]);
  pickle->at += 2;
  pickle->started = TRUE;
  return 0;
}

/* Number of argument bytes that must be at hand before the opcode runs. */
static guint
argument_size (guint8 opcode)
{
  switch (opcode)
    {
    case 0x80: case 'K': case 'h': case 'q': case 0x8a: case 0x8c: case 'C': case 'U':
      return 1;
    case 'M':
      return 2;
    case 'J': case 'j': case 'r': case 0x8b: case 'X': case 'B':
      return 4;
    case 'G': case 0x95: case 0x8d: case 0x8e: case 0x96:
      return 8;
    default:
      return 0;
    }
}

/* Opcodes with an argument; it is at hand. */
static int
run_argument (GememPickle *pickle, guint8 opcode, guint size, GError **error)
{
  const guint8 *at = pickle->at;

  if (opcode == 'G')
    return push_float (pickle, error);
  pickle->at += size;
  guint64 n = little (at, size);
  switch (opcode)
    {
    case 0x80:
      return n >= 2 && n <= 5 ? 0 : fail (pickle, error, "pickle protocol %u is not known; use 2 to 5", at[0]);
    case 0x95: /* FRAME: a hint for buffering */
      return 0;
    case 'q': case 'r':
      return memo_put (pickle, opcode, n, error);
    case 'j':
      return memo_get (pickle, opcode, (guint32) n, error);
    case 0x8a: case 0x8b:
      return push_long (pickle, opcode, n, error);
    case 'C': case 'B': case 0x8e: case 0x96:
      return push_text (pickle, GEMEM_PICKLE_BYTES, n, error);
    case 'X': case 0x8c: case 0x8d:
      return push_text (pickle, GEMEM_PICKLE_STRING, n, error);
    default:
      return fail_refused (pickle, opcode, error);
    }
}

static int
run_plain (GememPickle *pickle, guint8 opcode, GError **error)
{
  GememPickleValue *value;

  switch (opcode)
    {
    case 'N':
      value = push (pickle, GEMEM_PICKLE_NONE);
      break;
    case 0x88: case 0x89:
      if ((value = push (pickle, GEMEM_PICKLE_BOOL)) != NULL)
        value->integer = opcode == 0x88;
      break;
    case ')':
      if ((value = push (pickle, GEMEM_PICKLE_TUPLE)) != NULL)
        value->pair = GEMEM_PICKLE_NO_PAIR;
      break;
    case ']':
      if ((value = push (pickle, GEMEM_PICKLE_LIST)) != NULL)
        value->pair = GEMEM_PICKLE_NO_PAIR;
      break;
    case '}':
      value = push (pickle, GEMEM_PICKLE_DICT);
      break;
    case '(':
      if (pickle->n_marks == MAX_NESTING)
        return fail (pickle, error, "objects are nested more than %u deep; this is no memory snapshot", MAX_NESTING);
      pickle->marks[pickle->n_marks++] = pickle->top;
      value = push (pickle, GEMEM_PICKLE_MARK);
      break;
    case 0x85: case 0x86: case 0x87:
      return make_tuple (pickle, opcode, opcode - 0x84u, error);
    case 't':
      return tuple_to_mark (pickle, error);
    case '0': case '1':
      return pop (pickle, opcode, error);
    case 0x94:
      return memo_put (pickle, opcode, pickle->memo_size, error);
    case '.':
      return stop (pickle, error);
    default:
      return fail_refused (pickle, opcode, error);
    }
  return value != NULL ? 0 : fail_full (pickle, error);
}

/* One opcode: 1 = a record is complete, 0 = go on, -1 = error. */
static inline int
run (GememPickle *pickle, GError **error)
{
  guint8 opcode = *pickle->at;
  pickle->opcode_at = pickle->base + (guint64) (pickle->at - pickle->start);
  gsize left = (gsize) (pickle->end - pickle->at);
  GememPickleValue *value;

  switch (opcode)
    {
    /* The common ones, at their shortest. */
    case 'h':
      if (left < 2)
        break;
      pickle->at += 2;
      return memo_get (pickle, opcode, pickle->at[-1], error);
    case 'j':
      if (left < 5)
        break;
      pickle->at += 5;
      return memo_get (pickle, opcode, little4 (pickle->at - 4), error);
    case 'K':
      if (left < 2 || (value = push (pickle, GEMEM_PICKLE_INT)) == NULL)
        break;
      value->integer = pickle->at[1];
      pickle->at += 2;
      return 0;
    case 'M':
      if (left < 3 || (value = push (pickle, GEMEM_PICKLE_INT)) == NULL)
        break;
      value->integer = pickle->at[1] | pickle->at[2] << 8;
      pickle->at += 3;
      return 0;
    case 'J':
      if (left < 5 || (value = push (pickle, GEMEM_PICKLE_INT)) == NULL)
        break;
      value->integer = (gint32) little4 (pickle->at + 1);
      pickle->at += 5;
      return 0;
    case 'u': case 'e': case 's': case 'a':
      pickle->at++;
      return fill_container (pickle, opcode, error);
    default:
      break;
    }
  guint size = argument_size (opcode);
  if (left < 1 + (gsize) size)
    {
      pickle->at = pickle->end;
      return fail_truncated (pickle, error);
    }
  pickle->at++;
  if (size > 0 && (opcode == 'K' || opcode == 'M' || opcode == 'J'))
    return fail_full (pickle, error);
  return size > 0 ? run_argument (pickle, opcode, size, error) : run_plain (pickle, opcode, error);
}

int
gemem_pickle_next (GememPickle *pickle, GError **error)
{
  if (pickle->current) /* the record handed out last is still the top of the stack */
    merge_dict (pickle);
  pickle->current = FALSE;
  if (!pickle->started && start (pickle, error) < 0)
    return -1;
  while (!pickle->stopped)
    {
      if (pickle->end - pickle->at < SLACK && !pickle->ended)
        refill (pickle);
      if (pickle->at == pickle->end)
        return fail_truncated (pickle, error);
      int result = run (pickle, error);
      if (result != 0)
        {
          pickle->current = result > 0;
          return result;
        }
    }
  return 0;
}

/* ---- the record */

const GememPickleValue *
gemem_pickle_get (const GememPickle *pickle, guint key)
{
  return pickle->present >> key & 1 ? &pickle->record[key] : NULL;
}

void
gemem_pickle_path (const GememPickle *pickle, GememPicklePath *path)
{
  const GememPickleValue *stack = pickle->stack;
  guint32 self = pickle->top - 1, value = 0, lists = 0;
  gboolean counting = TRUE;

  memset (path, 0, sizeof *path);
  path->section = stack[0].type == GEMEM_PICKLE_DICT ? -1 : -2;
  if (path->section == -1 && self > 0)
    {
      guint32 key = stack[1].type == GEMEM_PICKLE_MARK ? 2 : 1;
      for (; key < self && stack[key].type == GEMEM_PICKLE_STRING; key += 2)
        path->section = gemem_pickle_string_key (pickle, stack[key].string);
      value = key - 1;
    }
  for (guint32 i = value; i < self; i++)
    if (stack[i].type == GEMEM_PICKLE_LIST && counting)
      lists++;
    else if (stack[i].type == GEMEM_PICKLE_DICT && i > 0)
      {
        counting = FALSE;
        /* An empty dict that is an item beside this one has neither a mark nor a key above it. */
        path->dicts += stack[i].state == OPEN && (stack[i + 1].type == GEMEM_PICKLE_MARK || stack[i + 1].type == GEMEM_PICKLE_STRING);
      }
  path->lists = lists;
  path->position = lists >= 2 ? stack[value].count + lists - 2 : 0;
}

const char *
gemem_pickle_string (const GememPickle *pickle, guint32 string)
{
  return (const char *) pickle->text->data + g_array_index (pickle->strings, String, string).offset;
}

int
gemem_pickle_string_key (const GememPickle *pickle, guint32 string)
{
  return string - 1 < pickle->n_keys ? (int) (string - 1) : -1;
}

guint64
gemem_pickle_offset (const GememPickle *pickle)
{
  return pickle->base + (guint64) (pickle->at - pickle->start);
}

const guint8 *
gemem_pickle_rest (const GememPickle *pickle, gsize *size)
{
  *size = (gsize) (pickle->end - pickle->at);
  return pickle->at;
}

/* ---- life */

GememPickle *
gemem_pickle_new (const GememPickleSource *source, const char *const *keys)
{
  static const String not_kept;
  GememPickle *pickle = g_new0 (GememPickle, 1);

  pickle->source = *source;
  pickle->capacity = 256;
  pickle->stack = g_new (GememPickleValue, pickle->capacity);
  pickle->text = g_byte_array_new ();
  g_byte_array_append (pickle->text, (const guint8 *) "", 1);
  pickle->strings = g_array_new (FALSE, FALSE, sizeof (String));
  g_array_append_val (pickle->strings, not_kept);
  pickle->table_mask = 511;
  grow_table (pickle);
  for (; keys[pickle->n_keys] != NULL; pickle->n_keys++)
    intern (pickle, (const guint8 *) keys[pickle->n_keys], strlen (keys[pickle->n_keys]));
  g_assert (pickle->n_keys <= GEMEM_PICKLE_MAX_KEYS && pickle->strings->len == pickle->n_keys + 1);
  return pickle;
}

void
gemem_pickle_free (GememPickle *pickle)
{
  if (pickle == NULL)
    return;
  g_clear_error (&pickle->failure);
  g_free (pickle->stack);
  g_free (pickle->memo);
  g_free (pickle->table);
  g_byte_array_unref (pickle->text);
  g_array_unref (pickle->strings);
  g_free (pickle);
}
