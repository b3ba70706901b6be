/* pickle-stack.c - the stack and the memo of the pickle machine (see pickle.h).
 *
 * The stack holds 16-byte values.  A container is kept as a type, a count and a number.  SETITEM(S)
 * and APPEND(S) pop and discard the items, after the requested values of a dict are copied to the
 * record, and the numbers of the items of a list to `items`.  Consecutive dicts (the items of a
 * list before its APPENDS, which some writers emit only once) share one stack entry, unless they
 * have numbers.
 *
 * Invariants: no opcode reaches below the last mark; the memo never grows faster than the bytes
 * read; stack[0 .. top) is initialised; the memo entry of a container has the latest number of the
 * container.
 */
#include "config.h"

#include <string.h>

#include "traces/pytorch/pickle-private.h"

/* ---- stack */

gboolean
gemem_pickle_grow_stack (GememPickle *pickle)
{
  if (pickle->capacity >= GEMEM_PICKLE_MAX_STACK)
    return FALSE;
  pickle->capacity *= 2;
  pickle->stack = g_renew (GememPickleValue, pickle->stack, pickle->capacity);
  return TRUE;
}

static gint64
pack_pair (const GememPickleValue *values)
{
  if (values[0].type != GEMEM_PICKLE_INT || values[1].type != GEMEM_PICKLE_INT
      || ((values[0].integer | values[1].integer) >> 31) != 0)
    return GEMEM_PICKLE_NO_PAIR;
  return values[0].integer << 32 | values[1].integer;
}

static inline guint32
number_of (const GememPickleValue *value)
{
  return value->type == GEMEM_PICKLE_DICT
                 || (value->type == GEMEM_PICKLE_LIST && value->state != GEMEM_PICKLE_PAIR)
             ? value->number
             : 0;
}

static void
pop_value (GememPickle *pickle)
{
  GememPickleValue *value = &pickle->stack[pickle->top - 1];
  if (value->type == GEMEM_PICKLE_DICT && value->count > 1) /* the last dict of a run */
    value->count--;
  else
    pickle->top--;
}

int
gemem_pickle_make_tuple (GememPickle *pickle, guint8 opcode, guint n, GError **error)
{
  gint64 pair = GEMEM_PICKLE_NO_PAIR;
  guint32 floor = stack_floor (pickle);

  if (n == 2 && pickle->top >= floor + 2)
    pair = pack_pair (&pickle->stack[pickle->top - 2]);
  for (; n > 0; n--)
    {
      if (pickle->top <= floor)
        return gemem_pickle_fail_operands (pickle, opcode, error);
      pop_value (pickle);
    }
  GememPickleValue *value = push (pickle, GEMEM_PICKLE_TUPLE);
  if (value == NULL)
    return gemem_pickle_fail_full (pickle, error);
  value->pair = pair;
  return 0;
}

int
gemem_pickle_pop (GememPickle *pickle, guint8 opcode, GError **error)
{
  if (opcode == '0' && pickle->top > stack_floor (pickle))
    {
      pop_value (pickle);
      return 0;
    }
  if (pickle->n_marks == 0) /* POP of a mark is POP_MARK */
    return gemem_pickle_fail_operands (pickle, opcode, error);
  pickle->top = pickle->marks[--pickle->n_marks];
  return 0;
}

int
gemem_pickle_tuple_to_mark (GememPickle *pickle, GError **error)
{
  if (pickle->n_marks == 0)
    return gemem_pickle_fail_operands (pickle, 't', error);
  guint32 mark = pickle->marks[--pickle->n_marks];
  gint64 pair = pickle->top - mark == 3 ? pack_pair (&pickle->stack[mark + 1])
                                        : GEMEM_PICKLE_NO_PAIR;
  pickle->top = mark;
  GememPickleValue *value = push (pickle, GEMEM_PICKLE_TUPLE);
  if (value == NULL)
    return gemem_pickle_fail_full (pickle, error);
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
    return gemem_pickle_fail_operands (pickle, opcode, error);
  if (stack[target].state == GEMEM_PICKLE_KEPT)
    return gemem_pickle_fail (
        pickle, error,
        "a dict gets its items in several parts; save the snapshot again with pickle.dump()");
  guint64 present = 0;
  const guint32 n_keys = MIN (pickle->n_keys, GEMEM_PICKLE_MAX_KEYS);
  for (guint32 i = first; i < pickle->top; i += 2)
    {
      guint32 key = stack[i].string;
      if (stack[i].type != GEMEM_PICKLE_STRING || key - 1 >= n_keys)
        continue;
      pickle->record[key - 1] = stack[i + 1];
      present |= G_GUINT64_CONSTANT (1) << (key - 1);
    }
  pickle->present = present;
  pickle->top = target + 1;
  if (stack[target].count == 0)
    stack[target].count = 1;
  stack[target].state = pickle->present != 0 ? GEMEM_PICKLE_KEPT : GEMEM_PICKLE_DONE;
  if (pickle->present == 0)
    merge_dict (pickle);
  return pickle->present != 0;
}

static void
set_number (GememPickle *pickle, GememPickleValue *value, guint32 number)
{
  value->number = number;
  if (value->memo != 0)
    pickle->memo[value->memo - 1] = value->type | number << 4;
}

void
gemem_pickle_set_number (GememPickle *pickle, guint32 number)
{
  g_assert (pickle->current && number <= GEMEM_PICKLE_ONCE);
  set_number (pickle, &pickle->stack[pickle->top - 1], number);
}

/* Copies the numbers of the stack entries from @first on to `items`; a run of dicts has one. */
static void
keep_numbers (GememPickle *pickle, guint32 first)
{
  g_array_set_size (pickle->items, pickle->top - first);
  for (guint32 i = first; i < pickle->top; i++)
    g_array_index (pickle->items, guint32, i - first) = number_of (&pickle->stack[i]);
}

static int
append_items (GememPickle *pickle, guint8 opcode, guint32 first, GError **error)
{
  guint32 target = opcode == 'e' ? first - 2 : first - 1;
  GememPickleValue *list = &pickle->stack[target];
  guint64 count = list->count;

  if (list->type != GEMEM_PICKLE_LIST)
    return gemem_pickle_fail_operands (pickle, opcode, error);
  guint32 numbers = 0;
  gboolean once = number_of (list) == GEMEM_PICKLE_ONCE;
  for (guint32 i = first; i < pickle->top; i++)
    {
      const GememPickleValue *item = &pickle->stack[i];
      count += item->type == GEMEM_PICKLE_DICT ? MAX (item->count, 1) : 1;
      numbers |= number_of (item);
      once |= number_of (item) == GEMEM_PICKLE_ONCE;
    }
  pickle->before = number_of (list);
  if (once)
    set_number (pickle, list, GEMEM_PICKLE_ONCE);
  else if (numbers != 0)
    keep_numbers (pickle, first);
  else if (list->count == 0 && pickle->top - first == 2
           && pack_pair (&pickle->stack[first]) != GEMEM_PICKLE_NO_PAIR)
    {
      list->pair = pack_pair (&pickle->stack[first]);
      list->state = GEMEM_PICKLE_PAIR;
    }
  else if (list->state == GEMEM_PICKLE_PAIR)
    {
      list->state = GEMEM_PICKLE_OPEN;
      list->pair = 0;
    }
  list->count = (guint32) MIN (count, G_MAXUINT32);
  pickle->top = target + 1;
  return numbers != 0 && !once ? GEMEM_PICKLE_NEXT_LIST : 0;
}

/* Runs SETITEMS, APPENDS, SETITEM and APPEND; returns 1 for a record. */
int
gemem_pickle_fill_container (GememPickle *pickle, guint8 opcode, GError **error)
{
  guint32 first;

  if (opcode == 'u' || opcode == 'e')
    {
      if (pickle->n_marks == 0)
        return gemem_pickle_fail_operands (pickle, opcode, error);
      first = pickle->marks[--pickle->n_marks] + 1;
      if (first < 2 || first - 2 < stack_floor (pickle))
        return gemem_pickle_fail_operands (pickle, opcode, error);
    }
  else
    {
      guint n = opcode == 's' ? 2 : 1;
      if (pickle->top < stack_floor (pickle) + n + 1)
        return gemem_pickle_fail_operands (pickle, opcode, error);
      first = pickle->top - n;
    }
  return opcode == 'u' || opcode == 's' ? set_items (pickle, opcode, first, error)
                                        : append_items (pickle, opcode, first, error);
}

/* ---- memo */

int
gemem_pickle_memo_put (GememPickle *pickle, guint8 opcode, guint64 index, GError **error)
{
  if (pickle->top <= stack_floor (pickle))
    return gemem_pickle_fail_operands (pickle, opcode, error);
  /* A memo entry takes at least one byte of the pickle: a valid index is below the offset. */
  if (index >= GEMEM_PICKLE_MAX_MEMO || index > offset_of_next (pickle))
    return gemem_pickle_fail (pickle, error,
                              "memo entry %" G_GUINT64_FORMAT
                              " is out of bounds; the pickle is damaged or too large",
                              index);
  if (index >= pickle->memo_capacity)
    {
      gsize capacity = MAX (pickle->memo_capacity * 2, 1024);
      capacity = MAX (capacity, (gsize) index + 1);
      pickle->memo = g_renew (guint32, pickle->memo, capacity);
      memset (pickle->memo + pickle->memo_capacity, 0,
              (capacity - pickle->memo_capacity) * sizeof *pickle->memo);
      pickle->memo_capacity = capacity;
    }
  GememPickleValue *value = &pickle->stack[pickle->top - 1];
  guint32 payload = 0;
  if (value->type == GEMEM_PICKLE_STRING)
    payload = value->string;
  else if (value->type == GEMEM_PICKLE_DICT
           || (value->type == GEMEM_PICKLE_LIST && value->state != GEMEM_PICKLE_PAIR))
    {
      payload = value->number;
      value->memo = (guint32) index + 1;
    }
  else if (value->type == GEMEM_PICKLE_TUPLE && value->pair >> 45 == 0
           && (value->pair & 0xffffc000) == 0)
    payload = (guint32) 1 << 27 | (guint32) (value->pair >> 32 & 0x1fff) << 14
              | (guint32) (value->pair & 0x3fff);
  else if (value->type != GEMEM_PICKLE_TUPLE && value->type != GEMEM_PICKLE_LIST
           && value->type != GEMEM_PICKLE_BYTES)
    return gemem_pickle_fail (
        pickle, error, "%s of a number; no writer of snapshots does that, the pickle is damaged",
        gemem_pickle_opcode_name (opcode));
  pickle->memo_size += pickle->memo[index] == 0;
  pickle->memo[index] = value->type | payload << 4;
  return 0;
}

int
gemem_pickle_memo_get (GememPickle *pickle, guint8 opcode, guint32 index, GError **error)
{
  guint32 entry = index < pickle->memo_capacity ? pickle->memo[index] : 0;
  if (entry == 0)
    return gemem_pickle_fail (pickle, error,
                              "%s of memo entry %u, which was never stored; the pickle is damaged",
                              gemem_pickle_opcode_name (opcode), index);
  GememPickleValue *value = push (pickle, (GememPickleType) (entry & 15));
  if (value == NULL)
    return gemem_pickle_fail_full (pickle, error);
  guint32 payload = entry >> 4;
  if (value->type == GEMEM_PICKLE_STRING)
    value->string = payload;
  else if (value->type == GEMEM_PICKLE_TUPLE)
    value->pair = payload >> 27 != 0 ? (gint64) (payload >> 14 & 0x1fff) << 32 | (payload & 0x3fff)
                                     : GEMEM_PICKLE_NO_PAIR;
  else if (payload == GEMEM_PICKLE_ONCE)
    return gemem_pickle_fail (pickle, error,
                              "an event, segment or block is repeated by a reference to it; no "
                              "snapshot does that, the file was edited or made to harm");
  else if (value->type == GEMEM_PICKLE_LIST)
    value->number = payload;
  else if (value->type == GEMEM_PICKLE_DICT)
    {
      value->state = GEMEM_PICKLE_DONE;
      value->count = 1;
      value->number = payload;
      merge_dict (pickle);
    }
  return 0;
}
