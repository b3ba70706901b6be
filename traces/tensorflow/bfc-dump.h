/* bfc-dump.h - the dumps that TensorFlow's, XLA's and JAX's BFC allocator writes into a log when it
 * runs out of memory: finds them among other lines and reads each into regions and chunks.
 *
 *   Allocator (GPU_0_bfc) ran out of memory trying to allocate 12.00MiB (rounded to 12582912) ...
 *   BFCAllocator dump for GPU_0_bfc
 *   Bin (256): 	Total Chunks: 1, Chunks in use: 1. 256B allocated for chunks. ...
 *   Next region of size 2097152
 *   InUse at 7f495821e040 of size 256 next 6
 *   Free  at 7f495821e140 of size 2096896 next 18446744073709551615
 *   Sum Total of in-use chunks: 256B
 *   Total size in pool: 2.00MiB memory_limit_: 64.00MiB available size: 62.00MiB curr_region_...
 *
 * Each line has the prefix of a log, in one of three forms, or none; around both may stand what a
 * collector of logs adds: JSON, colours, a time.  Dumps that threads write at
 * the same time are told apart by the number of the thread, where the prefix has one.  TensorFlow
 * before 1.14 writes "Chunk at", and neither the beginning of a dump nor its regions; up to 1.2 its bins count
 * free chunks alone.
 *
 * Invariants of a whole dump: its regions are in address order and do not overlap, the chunks of a
 * region cover it, and there are as many of each kind as the lines of the bins say.
 * Memory: of each allocator the last whole dump, and what was begun since.
 * Origin: peers.md 2.6.
 */
#pragma once

#include "base/io/input.h"

typedef struct
{
  guint64 address, size;
  char *operation; /* that allocated it; NULL: not told.  Owned by GememBfcDumps */
  gboolean live;
} GememBfcDumpChunk;

typedef struct
{
  guint64 size; /* as its line says; 0: no line */
  guint64 line;
  guint first; /* its first chunk; the last is before that of the next region */
} GememBfcDumpRegion;

typedef struct
{
  char *name;   /* "GPU_0_bfc"; NULL: not told */
  guint64 line; /* where it begins */
  GArray *chunks;
  GArray *regions;
  guint64 requested;       /* bytes of the request that failed, rounded; 0: not told */
  const char *operation;   /* that asked; NULL: not told */
  guint64 pool, available; /* bytes of regions, bytes that the limit leaves */
  guint64 limit;           /* in bytes; 0: not told */
  guint64 next_region;     /* bytes; 0: not told */
  gboolean inexact;        /* `limit` was written in rounded units */
  guint64 binned, in_use;  /* chunks by the lines of the bins */
  guint bins;              /* number of these lines */
  gboolean listed;         /* all chunks were read */
  char *damage;            /* why it cannot be read; NULL: it can */
  guint64 damage_line;
} GememBfcDump;

typedef struct
{
  GPtrArray *dumps;         /* GememBfcDump: of each allocator the last whole one, else the last */
  GStringChunk *operations; /* their names */
  guint64 left_out;         /* whole dumps that a later one replaced */
  guint64 damaged;          /* dumps that cannot be read */
  guint64 stray;            /* lines of chunks outside of a dump */
  guint64 stray_line;       /* the first of them */
} GememBfcDumps;

/* Reads @input to its end.  FALSE: the input cannot be read; what came before stays in @dumps.
 * gemem_bfc_dumps_clear() in both cases. */
gboolean gemem_bfc_dumps_read (GememBfcDumps *dumps, GememInput *input, GError **error);
void gemem_bfc_dumps_clear (GememBfcDumps *dumps);
/* TRUE if the beginning of a log shows that it is one of TensorFlow (*@dump: with lines of its
 * allocator). */
gboolean gemem_bfc_dump_probe (const guint8 *head, gsize size, gboolean *dump);
