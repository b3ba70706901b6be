/* pickle.c - the pickle machine: the supported opcodes and their effects (see pickle.h).
 *
 * Invariants: every opcode checks that its argument lies within the bytes and its operands above
 * the last mark.
 * Cost: one switch per opcode, no allocation per value; a string is hashed at each occurrence that
 * is not a memo reference.
 */
#include "config.h"

#include <string.h>

#include "traces/pytorch/pickle-private.h"

#define STOPPED 3 /* beside GEMEM_PICKLE_NEXT_*: the pickle has ended */

static guint32
little4 (const guint8 *bytes)
{
  return (guint32) bytes[0] | (guint32) bytes[1] << 8 | (guint32) bytes[2] << 16
         | (guint32) bytes[3] << 24;
}

/* ---- scalars */

static int
push_long (GememPickle *pickle, guint64 n, GError **error)
{
  const guint known = (guint) MIN (n, 8);
  if ((gsize) (pickle->end - pickle->at) < known && !pickle->ended)
    gemem_pickle_refill (pickle);
  if ((gsize) (pickle->end - pickle->at) < known)
    return gemem_pickle_fail_truncated (pickle, error);
  guint64 value = little (pickle->at, known);
  if (n > 0 && n < 8 && (pickle->at[n - 1] & 0x80) != 0)
    value |= G_MAXUINT64 << (8 * n);
  GememPickleValue *slot = push (pickle, n > 8 ? GEMEM_PICKLE_BIG_INT : GEMEM_PICKLE_INT);
  if (slot == NULL)
    return gemem_pickle_fail_full (pickle, error);
  slot->integer = (gint64) value;
  return gemem_pickle_skip (pickle, n) ? 0 : gemem_pickle_fail_truncated (pickle, error);
}

/* Pushes a str or bytes object of @n bytes, which need not be in the buffer yet. */
static int
push_text (GememPickle *pickle, GememPickleType type, guint64 n, GError **error)
{
  GememPickleValue *value = push (pickle, type);
  if (value == NULL)
    return gemem_pickle_fail_full (pickle, error);
  if (n > GEMEM_PICKLE_MAX_STRING || type == GEMEM_PICKLE_BYTES)
    return gemem_pickle_skip (pickle, n) ? 0 : gemem_pickle_fail_truncated (pickle, error);
  if ((gsize) (pickle->end - pickle->at) < n && !pickle->ended)
    gemem_pickle_refill (pickle);
  if ((gsize) (pickle->end - pickle->at) < n)
    return gemem_pickle_fail_truncated (pickle, error);
  value->string = gemem_pickle_intern (pickle, pickle->at, (gsize) n);
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
    return gemem_pickle_fail_full (pickle, error);
  value->real = real;
  return 0;
}

/* ---- the rarer opcodes */

static int
stop (GememPickle *pickle, GError **error)
{
  if (pickle->n_marks > 0 || pickle->top != 1)
    return gemem_pickle_fail_operands (pickle, '.', error);
  pickle->stopped = TRUE;
  return STOPPED;
}

/* Checks the first opcode: PROTO with a supported protocol. */
static int
start (GememPickle *pickle, GError **error)
{
  gemem_pickle_refill (pickle);
  if (pickle->end - pickle->at < 2)
    return pickle->end == pickle->at && pickle->failure == NULL
               ? gemem_pickle_fail (pickle, error, "the file is empty; name a recorded snapshot")
               : gemem_pickle_fail_truncated (pickle, error);
  if (pickle->at[0] != 0x80)
    return gemem_pickle_fail (pickle, error,
                              "this is no pickle of protocol 2 or later; save the snapshot with "
                              "torch.cuda.memory._dump_snapshot()");
  if (pickle->at[1] < 2 || pickle->at[1] > 5)
    return gemem_pickle_fail (
        pickle, error,
        "pickle protocol %u is not known; save the snapshot again with protocol 2 to 5",
        pickle->at[1]);
  pickle->at += 2;
  pickle->started = TRUE;
  return 0;
}

/* Number of argument bytes that must be in the buffer before the opcode runs. */
static guint
argument_size (guint8 opcode)
{
  switch (opcode)
    {
    case 0x80:
    case 'K':
    case 'h':
    case 'q':
    case 0x8a:
    case 0x8c:
    case 'C':
    case 'U':
      return 1;
    case 'M':
      return 2;
    case 'J':
    case 'j':
    case 'r':
    case 0x8b:
    case 'X':
    case 'B':
      return 4;
    case 'G':
    case 0x95:
    case 0x8d:
    case 0x8e:
    case 0x96:
      return 8;
    default:
      return 0;
    }
}

/* Runs an opcode with an argument, which is in the buffer. */
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
      return n >= 2 && n <= 5
                 ? 0
                 : gemem_pickle_fail (pickle, error, "pickle protocol %u is not known; use 2 to 5",
                                      at[0]);
    case 0x95: /* FRAME: a hint for buffering */
      return 0;
    case 'q':
    case 'r':
      return gemem_pickle_memo_put (pickle, opcode, n, error);
    case 'j':
      return gemem_pickle_memo_get (pickle, opcode, (guint32) n, error);
    case 0x8a:
    case 0x8b:
      return push_long (pickle, n, error);
    case 'C':
    case 'B':
    case 0x8e:
    case 0x96:
      return push_text (pickle, GEMEM_PICKLE_BYTES, n, error);
    case 'X':
    case 0x8c:
    case 0x8d:
      return push_text (pickle, GEMEM_PICKLE_STRING, n, error);
    default:
      return gemem_pickle_fail_refused (pickle, opcode, error);
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
    case 0x88:
    case 0x89:
      if ((value = push (pickle, GEMEM_PICKLE_BOOL)) != NULL)
        value->integer = opcode == 0x88;
      break;
    case ')':
      if ((value = push (pickle, GEMEM_PICKLE_TUPLE)) != NULL)
        value->pair = GEMEM_PICKLE_NO_PAIR;
      break;
    case ']':
      value = push (pickle, GEMEM_PICKLE_LIST);
      break;
    case '(':
      if (pickle->n_marks == GEMEM_PICKLE_MAX_NESTING)
        return gemem_pickle_fail (
            pickle, error, "objects are nested more than %u deep; this is no memory snapshot",
            GEMEM_PICKLE_MAX_NESTING);
      pickle->marks[pickle->n_marks++] = pickle->top;
      value = push (pickle, GEMEM_PICKLE_MARK);
      break;
    case 0x85:
    case 0x86:
    case 0x87:
      return gemem_pickle_make_tuple (pickle, opcode, opcode - 0x84u, error);
    case 't':
      return gemem_pickle_tuple_to_mark (pickle, error);
    case '0':
    case '1':
      return gemem_pickle_pop (pickle, opcode, error);
    case '.':
      return stop (pickle, error);
    default:
      return gemem_pickle_fail_refused (pickle, opcode, error);
    }
  return value != NULL ? 0 : gemem_pickle_fail_full (pickle, error);
}

/* Strings make up nearly all references to the memo; the rest of the cases is
 * gemem_pickle_memo_get(). */
static inline int
get (GememPickle *pickle, guint8 opcode, guint32 index, GError **error)
{
  GememPickleValue *value;
  if (index >= pickle->memo_capacity || (pickle->memo[index] & 15) != GEMEM_PICKLE_STRING
      || (value = push (pickle, GEMEM_PICKLE_STRING)) == NULL)
    return gemem_pickle_memo_get (pickle, opcode, index, error);
  value->string = pickle->memo[index] >> 4;
  return 0;
}

/* LONG1 with @n <= 8 bytes; enough bytes of any content follow to read 8 at once. */
static inline gint64
long_at (const guint8 *bytes, guint n)
{
  guint64 raw;
  memcpy (&raw, bytes, sizeof raw);
  guint unused = 64 - 8 * n;
  return n == 0 ? 0 : (gint64) (GUINT64_FROM_LE (raw) << unused) >> unused;
}

/* One opcode, with at least @left bytes fetched, a constant where that is enough for any:
 * GEMEM_PICKLE_NEXT_* and STOPPED = something to return, 0 = go on, -1 = error. */
static inline __attribute__ ((always_inline)) int
run (GememPickle *pickle, gsize left, GError **error)
{
  guint8 opcode = *pickle->at;
  pickle->opcode_at = offset_of_next (pickle);
  GememPickleValue *value;

  if (opcode == 'h' && left >= 2) /* more than a third of all */
    {
      pickle->at += 2;
      return get (pickle, opcode, pickle->at[-1], error);
    }
  switch (opcode)
    {
    /* Fast paths of the most frequent opcodes. */
    case 'j':
      if (left < 5)
        break;
      pickle->at += 5;
      return get (pickle, opcode, little4 (pickle->at - 4), error);
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
    case 0x8a:
      if (left < 10 || pickle->at[1] > 8 || (value = push (pickle, GEMEM_PICKLE_INT)) == NULL)
        break;
      value->integer = long_at (pickle->at + 2, pickle->at[1]);
      pickle->at += 2 + pickle->at[1];
      return 0;
    case '}':
      if (push (pickle, GEMEM_PICKLE_DICT) == NULL)
        break;
      pickle->at++;
      return 0;
    case 0x94:
      pickle->at++;
      return gemem_pickle_memo_put (pickle, opcode, pickle->memo_size, error);
    case 'u':
    case 'e':
    case 's':
    case 'a':
      pickle->at++;
      return gemem_pickle_fill_container (pickle, opcode, error);
    default:
      break;
    }
  guint size = argument_size (opcode);
  if (left < 1 + (gsize) size)
    {
      pickle->at = pickle->end;
      return gemem_pickle_fail_truncated (pickle, error);
    }
  pickle->at++;
  if (opcode == 'K' || opcode == 'M' || opcode == 'J' || opcode == '}')
    return gemem_pickle_fail_full (pickle, error);
  return size > 0 ? run_argument (pickle, opcode, size, error) : run_plain (pickle, opcode, error);
}

int
gemem_pickle_next (GememPickle *pickle, GError **error)
{
  if (pickle->current) /* the record returned last is still on top of the stack */
    merge_dict (pickle);
  pickle->current = FALSE;
  if (!pickle->started && start (pickle, error) < 0)
    return -1;
  int result = pickle->stopped ? STOPPED : 0;
  while (result == 0)
    {
      if (G_LIKELY (pickle->at < pickle->near))
        {
          result = run (pickle, GEMEM_PICKLE_SLACK, error);
          continue;
        }
      if (!pickle->ended)
        gemem_pickle_refill (pickle);
      if (pickle->at == pickle->end)
        return gemem_pickle_fail_truncated (pickle, error);
      result = run (pickle, (gsize) (pickle->end - pickle->at), error);
    }
  if (result == STOPPED)
    return 0;
  pickle->current = result > 0;
  return result;
}

/* ---- what was returned */

const guint32 *
gemem_pickle_items (GememPickle *pickle, guint32 *before, guint *n)
{
  *before = pickle->before;
  *n = pickle->items->len;
  return (const guint32 *) pickle->items->data;
}

const GememPickleValue *
gemem_pickle_record (const GememPickle *pickle, guint64 *present)
{
  *present = pickle->present;
  return pickle->record;
}

gint64
gemem_pickle_pair (const GememPickleValue *value)
{
  gboolean known = value->type == GEMEM_PICKLE_TUPLE
                   || (value->type == GEMEM_PICKLE_LIST && value->state == GEMEM_PICKLE_PAIR);
  return known ? value->pair : GEMEM_PICKLE_NO_PAIR;
}

void
gemem_pickle_path (const GememPickle *pickle, GememPicklePath *path)
{
  const GememPickleValue *stack = pickle->stack;
  guint32 self = pickle->top - 1, value = 0, lists = 0;
  gboolean counting = TRUE;

  memset (path, 0, sizeof *path);
  path->section = stack[0].type == GEMEM_PICKLE_DICT ? -1 : -2;
  path->outermost = self == 0;
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
        /* An unfinished dict has a mark or a key above it; an empty sibling dict has neither. */
        path->dicts += stack[i].state == GEMEM_PICKLE_OPEN
                       && (stack[i + 1].type == GEMEM_PICKLE_MARK
                           || stack[i + 1].type == GEMEM_PICKLE_STRING);
      }
  path->lists = MIN (lists, 2);
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
  return offset_of_next (pickle);
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
  pickle->items = g_array_new (FALSE, FALSE, sizeof (guint32));
  pickle->table_mask = 511;
  gemem_pickle_grow_table (pickle);
  for (; keys[pickle->n_keys] != NULL; pickle->n_keys++)
    gemem_pickle_intern (pickle, (const guint8 *) keys[pickle->n_keys],
                         strlen (keys[pickle->n_keys]));
  g_assert (pickle->strings->len == pickle->n_keys + 1);
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
  g_array_unref (pickle->items);
  g_free (pickle);
}
