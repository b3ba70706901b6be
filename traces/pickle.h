/* pickle.h - a restricted, streaming reader of Python pickles: plain data only, a dict at a time.
 *
 * A pickle is a program for a stack machine.  This machine knows the opcodes that protocols 2 to 5
 * write for None, bool, int, float, str, bytes, tuple, list and dict, and refuses all others by
 * name and byte offset: nothing that could run code (globals, reduce, build, persistent ids) exists
 * in it.
 *
 * It returns *records*: each time a dict gets its items, the values of the keys that the
 * caller asked for.  An inner dict comes before the one that holds it, as in the file.  Completed
 * dicts shrink to a count on the stack, so memory follows the nesting and 4 bytes per memo entry,
 * not the data.
 *
 * Shared objects: the caller that takes a record may give its dict a *number* (a call-stack frame,
 * say).  A list whose items have numbers is returned as well, to be given one in its turn, and the
 * memo keeps the numbers: a reference to a dict or list brings its number back.  What must not come
 * twice (an event) gets the number GEMEM_PICKLE_ONCE; a reference to such a dict, or to a list of
 * such, is an error, so nothing grows by references.
 *
 * Limits, each with its message: nesting 256, 65536 values on the stack, 2^28 memo entries (1 GiB),
 * 64 keys; at most 32 MiB of distinct strings are kept, later ones (and ones beyond 16 KiB) are
 * known to be strings and no more.  An int of more than 8 bytes is known to be one.
 *
 * Origin: peers.md 2.1; the pickle format as documented by Python's pickletools.
 */
#pragma once

#include "base/macros.h"

#define GEMEM_PICKLE_MAX_KEYS 64 /* words that are only looked for as values may follow them */

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
/* Number of a dict that must not be referred to again, and of a list of such. */
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
      guint32 number; /* DICT, other LIST: as given, 0: none */
      guint32 memo;   /* private: 1 + the memo entry of it */
    };
  };
} GememPickleValue;

/* Where a record lies. */
typedef struct
{
  /* key (index) of the outermost dict under which it is; -1: another key; -2: the outermost object
   * is no dict */
  int section;
  guint lists;    /* 1: it is an item of the section's own list; 2: of a list in that list */
  guint position; /* lists == 2: which of the inner lists, from 0 */
  guint dicts;    /* unfinished dicts around it, the outermost object not counted */
} GememPicklePath;

/* Where the bytes come from. */
typedef struct
{
  /* Drops @used bytes of what it gave last, then makes at least @want available unless the end
   * comes first; -1: error. */
  gssize (*fill) (gpointer data, gsize used, gsize want, const guint8 **bytes, GError **error);
  gpointer data;
  const char *name; /* for messages */
} GememPickleSource;

typedef struct _GememPickle GememPickle;

/* @keys: NULL-terminated; only the first GEMEM_PICKLE_MAX_KEYS are keys of records, all are known
 * to gemem_pickle_string_key().  They and the @source's data must outlive the reader. */
GememPickle *gemem_pickle_new (const GememPickleSource *source, const char *const *keys);
void gemem_pickle_free (GememPickle *pickle);

/* Runs to the next dict with at least one of the keys, or to a list that got items with numbers (a
 * piece at a time, 1000 of Python's own writer).  GEMEM_PICKLE_NEXT_*; -1: error, always
 * GEMEM_ERROR_INPUT or what the source reported.  O(bytes). */
enum
{
  GEMEM_PICKLE_NEXT_END = 0, /* STOP */
  GEMEM_PICKLE_NEXT_DICT = 1,
  GEMEM_PICKLE_NEXT_LIST = 2,
};
int gemem_pickle_next (GememPickle *pickle, GError **error);

/* Gives the dict or list that was returned last a number below GEMEM_PICKLE_ONCE, or that one; 0
 * takes it away. */
void gemem_pickle_set_number (GememPickle *pickle, guint32 number);

/* The items that the list returned last got now, 0 where one has no number; valid until the next
 * call.  @before: the number that the list had. */
const guint32 *gemem_pickle_items (GememPickle *pickle, guint32 *before, guint *n);

/* The values of the keys, by number, of which the current record has those in @present (bits);
 * valid until the next call. */
const GememPickleValue *gemem_pickle_record (const GememPickle *pickle, guint64 *present);
/* a << 32 | b of a TUPLE or LIST of two ints in [0, 2^31), else GEMEM_PICKLE_NO_PAIR. */
gint64 gemem_pickle_pair (const GememPickleValue *value);
void gemem_pickle_path (const GememPickle *pickle, GememPicklePath *path);

/* Text of a kept string, NUL-terminated ("" when it was not kept), valid as long as the reader.
 * Not always UTF-8. */
const char *gemem_pickle_string (const GememPickle *pickle, guint32 string);
/* Key number of a string that is one of the keys, else -1. */
int gemem_pickle_string_key (const GememPickle *pickle, guint32 string);

/* Bytes consumed; for messages and for what follows the pickle. */
guint64 gemem_pickle_offset (const GememPickle *pickle);
/* The bytes behind STOP that were already fetched. */
const guint8 *gemem_pickle_rest (const GememPickle *pickle, gsize *size);
