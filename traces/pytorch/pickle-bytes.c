/* pickle-bytes.c - fetches the bytes of a pickle, interns its strings, and words its errors (see
 * pickle.h).
 *
 * Strings are interned in one text and one open-addressing table of numbers; a known word is found
 * by its hash and one comparison.
 * Invariants: text is NUL-terminated after each string; the first error of the source is kept and
 * reported when bytes beyond it are needed.
 */
#include "config.h"

#include <string.h>

#include "traces/pytorch/pickle-private.h"

#define FILL_SIZE ((gsize) 64 << 10)
#define MAX_TEXT ((gsize) 32 << 20)
#define MAX_STRINGS ((guint32) 1 << 22)

const char *
gemem_pickle_opcode_name (guint8 opcode)
{
  static const char *const names[256] = {
    ['('] = "MARK",
    ['.'] = "STOP",
    ['0'] = "POP",
    ['1'] = "POP_MARK",
    ['2'] = "DUP",
    ['F'] = "FLOAT",
    ['I'] = "INT",
    ['J'] = "BININT",
    ['K'] = "BININT1",
    ['L'] = "LONG",
    ['M'] = "BININT2",
    ['N'] = "NONE",
    ['P'] = "PERSID",
    ['Q'] = "BINPERSID",
    ['R'] = "REDUCE",
    ['S'] = "STRING",
    ['T'] = "BINSTRING",
    ['U'] = "SHORT_BINSTRING",
    ['V'] = "UNICODE",
    ['X'] = "BINUNICODE",
    ['a'] = "APPEND",
    ['b'] = "BUILD",
    ['c'] = "GLOBAL",
    ['d'] = "DICT",
    ['}'] = "EMPTY_DICT",
    ['e'] = "APPENDS",
    ['g'] = "GET",
    ['h'] = "BINGET",
    ['i'] = "INST",
    ['j'] = "LONG_BINGET",
    ['l'] = "LIST",
    [']'] = "EMPTY_LIST",
    ['o'] = "OBJ",
    ['p'] = "PUT",
    ['q'] = "BINPUT",
    ['r'] = "LONG_BINPUT",
    ['s'] = "SETITEM",
    ['t'] = "TUPLE",
    [')'] = "EMPTY_TUPLE",
    ['u'] = "SETITEMS",
    ['G'] = "BINFLOAT",
    [0x80] = "PROTO",
    [0x81] = "NEWOBJ",
    [0x82] = "EXT1",
    [0x83] = "EXT2",
    [0x84] = "EXT4",
    [0x85] = "TUPLE1",
    [0x86] = "TUPLE2",
    [0x87] = "TUPLE3",
    [0x88] = "NEWTRUE",
    [0x89] = "NEWFALSE",
    [0x8a] = "LONG1",
    [0x8b] = "LONG4",
    ['B'] = "BINBYTES",
    ['C'] = "SHORT_BINBYTES",
    [0x8c] = "SHORT_BINUNICODE",
    [0x8d] = "BINUNICODE8",
    [0x8e] = "BINBYTES8",
    [0x8f] = "EMPTY_SET",
    [0x90] = "ADDITEMS",
    [0x91] = "FROZENSET",
    [0x92] = "NEWOBJ_EX",
    [0x93] = "STACK_GLOBAL",
    [0x94] = "MEMOIZE",
    [0x95] = "FRAME",
    [0x96] = "BYTEARRAY8",
    [0x97] = "NEXT_BUFFER",
    [0x98] = "READONLY_BUFFER",
  };
  return names[opcode] != NULL ? names[opcode] : "unknown";
}

/* ---- errors */

int
gemem_pickle_fail (GememPickle *pickle, GError **error, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: byte %" G_GUINT64_FORMAT ": %s",
               pickle->source.name, pickle->opcode_at, text);
  return -1;
}

int
gemem_pickle_fail_truncated (GememPickle *pickle, GError **error)
{
  if (pickle->failure != NULL)
    {
      if (error != NULL)
        *error = g_error_copy (pickle->failure);
      return -1;
    }
  pickle->opcode_at = offset_of_next (pickle);
  return gemem_pickle_fail (
      pickle, error, "the file ends in the middle of the pickle; it was cut off, fetch it again");
}

int
gemem_pickle_fail_refused (GememPickle *pickle, guint8 opcode, GError **error)
{
  return gemem_pickle_fail (
      pickle, error,
      "opcode %s (0x%02x) is refused: a memory snapshot holds plain data only, and this could run "
      "code or is no pickle of protocol 2 to 5; do not load this file in Python either unless you "
      "trust it",
      gemem_pickle_opcode_name (opcode), opcode);
}

int
gemem_pickle_fail_full (GememPickle *pickle, GError **error)
{
  return gemem_pickle_fail (pickle, error,
                            "more than %u values wait on the stack; this is no memory snapshot",
                            GEMEM_PICKLE_MAX_STACK);
}

int
gemem_pickle_fail_operands (GememPickle *pickle, guint8 opcode, GError **error)
{
  return gemem_pickle_fail (pickle, error,
                            "%s finds the wrong values on the stack; the pickle is damaged",
                            gemem_pickle_opcode_name (opcode));
}

/* ---- bytes */

/* Fetches more bytes to `at`: at least FILL_SIZE, unless the source ends first. */
void
gemem_pickle_refill (GememPickle *pickle)
{
  const guint64 offset = offset_of_next (pickle);
  gsize used = (gsize) (pickle->at - pickle->start);
  const guint8 *bytes = NULL;
  gssize n = pickle->source.fill (pickle->source.data, used, FILL_SIZE, &bytes, &pickle->failure);

  if (pickle->failure != NULL) /* bytes before the damage are valid */
    n = pickle->source.fill (pickle->source.data, 0, 0, &bytes, NULL);
  pickle->ended = pickle->failure != NULL || n < (gssize) FILL_SIZE;
  pickle->start = pickle->at = n > 0 ? bytes : (const guint8 *) "";
  pickle->end = pickle->start + MAX (n, 0);
  pickle->near = pickle->end - MIN (GEMEM_PICKLE_SLACK, MAX (n, 0));
  pickle->origin = offset - (guintptr) pickle->start;
}

gboolean
gemem_pickle_skip (GememPickle *pickle, guint64 n)
{
  while (n > (gsize) (pickle->end - pickle->at))
    {
      n -= (gsize) (pickle->end - pickle->at);
      pickle->at = pickle->end;
      if (pickle->ended)
        return FALSE;
      gemem_pickle_refill (pickle);
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

void
gemem_pickle_grow_table (GememPickle *pickle)
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

/* Returns the number of a string, equal for equal strings; 0 if the string is not kept. */
guint32
gemem_pickle_intern (GememPickle *pickle, const guint8 *bytes, gsize length)
{
  if (length > GEMEM_PICKLE_MAX_STRING)
    return 0;
  guint32 hash = hash_bytes (bytes, length), slot;
  for (slot = hash & pickle->table_mask; pickle->table[slot] != 0;
       slot = (slot + 1) & pickle->table_mask)
    {
      const String *string = &g_array_index (pickle->strings, String, pickle->table[slot]);
      if (string->hash == hash && string->length == length
          && memcmp (pickle->text->data + string->offset, bytes, length) == 0)
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
    gemem_pickle_grow_table (pickle);
  return pickle->strings->len - 1;
}
