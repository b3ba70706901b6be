/* pickle.h - a restricted, streaming reader of Python pickles: plain data only, one dict at a time.
 *
 * A pickle is a program for a stack machine.  This machine knows the opcodes that protocols 2 to 5
 * write for None, bool, int, float, str, bytes, tuple, list and dict, and refuses all others by
 * name and byte offset: no opcode that could run code (globals, reduce, build, persistent ids) is
 * implemented.
 *
 * The machine returns *records*: whenever a dict gets its items, the values of the keys that the
 * caller requested.  An inner dict precedes the dict that contains it, as in the file.  A completed
 * dict shrinks to a count on the stack, so memory depends on the nesting, plus 4 bytes per memo
 * entry, not on the data.
 *
 * Shared objects: the caller may assign a *number* to the dict of a record (for example to a
 * call-stack frame).  A list whose items have numbers is returned too, so that the caller can
 * assign a number to the list.  The memo keeps these numbers: a reference to a dict or list yields
 * its number.  A dict that must not occur twice (an event) gets the number GEMEM_PICKLE_ONCE; a
 * reference to such a dict, or to a list of such dicts, is an error, so references cannot multiply
 * data.
 *
 * Limits, each with its message: nesting 256, 4194304 values on the stack, 2^28 memo entries (1 GiB),
 * 64 keys; at most 32 MiB of distinct strings are kept, of later strings (and of strings beyond 16
 * KiB) only the type is kept, as of ints of more than 8 bytes.
 *
 * Origin: peers.md 2.1; the pickle format as documented by Python's pickletools.
 */
#pragma once

#include "base/macros.h"

#define GEMEM_PICKLE_MAX_KEYS 64 /* words that occur only as values may follow the keys */

typedef enum
{
  GEMEM_PICKLE_MARK,
  GEMEM_PICKLE_NONE,
  GEMEM_PICKLE_BOOL,
  GEMEM_PICKLE_INT,
  GEMEM_PICKLE_BIG_INT, /* beyond 64 bits with sign */
  GEMEM_PICKLE_FLOAT,
  GEMEM_PICKLE_STRING,
  GEMEM_PICKLE_BYTES,
  GEMEM_PICKLE_TUPLE,
  GEMEM_PICKLE_LIST,
  GEMEM_PICKLE_DICT,
} GememPickleType;

#define GEMEM_PICKLE_NO_PAIR G_MININT64
/* Number of a dict that must not be referenced again, and of a list of such dicts. */
#define GEMEM_PICKLE_ONCE ((1u << 28) - 1)

typedef struct
{
  guint8 type;   /* GememPickleType */
  guint8 state;  /* private */
  guint32 count; /* LIST: items appended so far; DICT: completed dicts in a row */
  union
  {
    gint64 integer; /* INT, BOOL; BIG_INT: the low 64 bits */
    double real;    /* FLOAT */
    guint32 string; /* STRING: gemem_pickle_string() */
    /* TUPLE, LIST in state GEMEM_PICKLE_PAIR: a << 32 | b of two ints in [0, 2^31); a TUPLE of
     * others: GEMEM_PICKLE_NO_PAIR */
    gint64 pair;
    struct
    {
      guint32 number; /* DICT, other LIST: as assigned, 0: none */
      guint32 memo;   /* private: 1 + index of its memo entry */
    };
  };
} GememPickleValue;

/* The position of a record in the pickle. */
typedef struct
{
  /* index of the key of the outermost dict that contains the record; -1: another key; -2: the
   * outermost object is no dict */
  int section;
  gboolean outermost; /* it is that dict itself */
  guint lists;        /* 1: an item of the list of the section; 2: of a list within that list */
  guint position;     /* lists == 2: index of the inner list, from 0 */
  guint dicts;        /* unfinished dicts around the record, without the outermost object */
} GememPicklePath;

/* Where the bytes come from. */
typedef struct
{
  /* Consumes @used of the bytes supplied last, then supplies at least @want bytes unless the end
   * comes first; -1: error. */
  gssize (*fill) (gpointer data, gsize used, gsize want, const guint8 **bytes, GError **error);
  gpointer data;
  const char *name; /* for messages */
} GememPickleSource;

typedef struct _GememPickle GememPickle;

/* @keys: NULL-terminated; only the first GEMEM_PICKLE_MAX_KEYS are keys of records,
 * gemem_pickle_string_key() knows all of them.  @keys and the data of @source must outlive the
 * reader. */
GememPickle *gemem_pickle_new (const GememPickleSource *source, const char *const *keys);
void gemem_pickle_free (GememPickle *pickle);

/* Runs to the next dict with at least one of the keys, or to a list that got items with numbers (in
 * portions; Python's own writer makes portions of 1000).  GEMEM_PICKLE_NEXT_*; -1: error, always
 * GEMEM_ERROR_INPUT or what the source reported.  O(bytes). */
enum
{
  GEMEM_PICKLE_NEXT_END = 0, /* STOP */
  GEMEM_PICKLE_NEXT_DICT = 1,
  GEMEM_PICKLE_NEXT_LIST = 2,
};
int gemem_pickle_next (GememPickle *pickle, GError **error);

/* Assigns a number up to GEMEM_PICKLE_ONCE to the dict or list returned last; 0 removes it. */
void gemem_pickle_set_number (GememPickle *pickle, guint32 number);

/* The numbers of the items just appended to the list returned last, 0 for an item without a number;
 * valid until the next call.  *@before: the previous number of the list. */
const guint32 *gemem_pickle_items (GememPickle *pickle, guint32 *before, guint *n);

/* The values of the current record by key number; bit i of *@present tells that key i is present.
 * Valid until the next call. */
const GememPickleValue *gemem_pickle_record (const GememPickle *pickle, guint64 *present);
/* a << 32 | b of a TUPLE or LIST of two ints in [0, 2^31), else GEMEM_PICKLE_NO_PAIR. */
gint64 gemem_pickle_pair (const GememPickleValue *value);
void gemem_pickle_path (const GememPickle *pickle, GememPicklePath *path);

/* Text of a kept string, NUL-terminated ("" for a string not kept), valid as long as the reader.
 * Not always UTF-8. */
const char *gemem_pickle_string (const GememPickle *pickle, guint32 string);
/* Key number of a string that is one of the keys, else -1. */
int gemem_pickle_string_key (const GememPickle *pickle, guint32 string);

/* Number of bytes consumed, for messages and for reading on after the pickle. */
guint64 gemem_pickle_offset (const GememPickle *pickle);
