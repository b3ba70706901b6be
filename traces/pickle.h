/* pickle.h - a restricted, streaming reader of Python pickles: plain data only, a dict at a time.
 *
 * A pickle is a program for a stack machine.  This machine knows the opcodes that protocols 2 to 5 write for None, bool, int,
 * float, str, bytes, tuple, list and dict, and refuses all others by name and byte offset: nothing that could run code (globals,
 * reduce, build, persistent ids) exists in it.
 *
 * What it hands out are *records*: each time a dict gets its items, the values of the keys that the caller asked for.  An inner
 * dict comes before the one that holds it, as in the file.  Completed dicts shrink to a count on the stack and shared objects (call
 * stacks) to a tag in the memo, so memory follows the nesting and 4 bytes per memo entry, not the data.
 *
 * Limits, each with its message: nesting 256, 65536 values on the stack, ints of 8 bytes, 2^28 memo entries (1 GiB), 64 keys;
 * at most 32 MiB of distinct strings are kept, later ones (and ones beyond 1024 bytes) are known to be strings and no more.
 *
 * Origin: peers.md 2.1; the pickle format as documented by Python's pickletools.
 */
#pragma once

#include "sim/core/macros.h"

#define GEMEM_PICKLE_MAX_KEYS 64

typedef enum
{
  GEMEM_PICKLE_MARK,
  GEMEM_PICKLE_NONE,
  GEMEM_PICKLE_BOOL,
  GEMEM_PICKLE_INT,
  GEMEM_PICKLE_FLOAT,
  GEMEM_PICKLE_STRING,
  GEMEM_PICKLE_BYTES,
  GEMEM_PICKLE_TUPLE,
  GEMEM_PICKLE_LIST,
  GEMEM_PICKLE_DICT,
} GememPickleType;

#define GEMEM_PICKLE_NO_PAIR G_MININT64

typedef struct
{
  guint8  type;  /* GememPickleType                                             */
  guint8  state; /* private                                                     */
  guint32 count; /* LIST: items appended so far; DICT: completed dicts in a row */
  union
  {
    gint64  integer; /* INT, BOOL                                               */
    double  real;    /* FLOAT                                                   */
    guint32 string;  /* STRING: gemem_pickle_string()                           */
    gint64  pair;    /* TUPLE, LIST of two ints a, b in [0, 2^31): a << 32 | b; else GEMEM_PICKLE_NO_PAIR */
  };
} GememPickleValue;

/* Where a record lies. */
typedef struct
{
  int   section;  /* key (index) of the outermost dict under which it is; -1: another key; -2: the outermost object is no dict */
  guint lists;    /* 1: it is an item of the section's own list; 2: of a list in that list                                  */
  guint position; /* lists == 2: which of the inner lists, from 0                                                           */
  guint dicts;    /* unfinished dicts around it, the outermost object not counted                                            */
} GememPicklePath;

/* Where the bytes come from. */
typedef struct
{
  /* Drops @used bytes of what it gave last, then makes at least @want available unless the end comes first; -1: error. */
  gssize (*fill) (gpointer data, gsize used, gsize want, const guint8 **bytes, GError **error);
  gpointer    data;
  const char *name; /* for messages */
} GememPickleSource;

typedef struct _GememPickle GememPickle;

/* @keys: NULL-terminated, at most GEMEM_PICKLE_MAX_KEYS; they and the @source's data must outlive the reader. */
GememPickle *gemem_pickle_new (const GememPickleSource *source, const char *const *keys);
void         gemem_pickle_free (GememPickle *pickle);

/* Runs to the next dict with at least one of the keys.  1: there is one, 0: the end of the pickle (STOP), -1: error, always
 * GEMEM_ERROR_INPUT or what the source reported.  O(bytes). */
int gemem_pickle_next (GememPickle *pickle, GError **error);

/* The value of key number @key in the current record, or NULL; valid until the next call. */
const GememPickleValue *gemem_pickle_get (const GememPickle *pickle, guint key);
void                    gemem_pickle_path (const GememPickle *pickle, GememPicklePath *path);

/* Text of a kept string, NUL-terminated ("" when it was not kept), valid as long as the reader.  Not always UTF-8. */
const char *gemem_pickle_string (const GememPickle *pickle, guint32 string);
/* Key number of a string that is one of the keys, else -1. */
int gemem_pickle_string_key (const GememPickle *pickle, guint32 string);

/* Bytes consumed; for messages and for what follows the pickle. */
guint64 gemem_pickle_offset (const GememPickle *pickle);
/* The bytes behind STOP that were already fetched. */
const guint8 *gemem_pickle_rest (const GememPickle *pickle, gsize *size);
