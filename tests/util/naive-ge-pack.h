/* naive-ge-pack.h - level 2 of the GE planner (ge-static.md 4.1), written a second time from the
 * text alone.
 *
 * It shares no code with planners/ge: the test copies the result of level 1 into the plain
 * structures below, and compares the results of packing.
 */
#pragma once

#include <glib.h>

typedef struct
{
  guint32 node, kind, index; /* kind and index are used in messages only */
  guint64 real, noalign;     /* bytes */
  guint32 begin;             /* if has_begin */
  guint32 end, diff_end;     /* diff_end if has_diff: on stream diff_stream */
  gint32 diff_stream;
  guint32 out_cnt;
  gboolean has_begin, has_diff, reference, continuous, first, last;
  gboolean of_call;     /* output of a PartitionedCall */
  gboolean in_same_out; /* output in a same-out group */
} NaivePackOccupant;

typedef struct
{
  GArray *occupants; /* NaivePackOccupant */
  gint32 stream, label;
  guint64 type;
  gboolean reuse_mem, same_stream, zero_copy, reuse_zc;
  gboolean data, central; /* attribute set (6.5) */
  guint64 inherited[4];   /* other fields that a clone copies; not read */
  /* set by packing */
  gboolean continuous, first, last, child;
  guint64 align_size; /* unchanged when occupants are removed [QUIRK] */
  guint64 taken;      /* bytes that children take */
  GPtrArray *children;
} NaivePackBlock;

typedef struct
{
  guint32 key, peer;
} NaivePackEdge;

typedef struct
{
  GPtrArray *blocks; /* B; NaivePackBlock, owned */
  GArray **edges;    /* NaivePackEdge of in_edges[dst][src] at [dst * n_streams + src], borrowed */
  guint n_streams;
  guint32 last_memset; /* node; 0: none */
  gboolean ascending, priority, memory_priority, quirks;
} NaivePack;

/* A block without occupants, in no list yet. */
NaivePackBlock *naive_pack_block_new (void);
void naive_pack_block_free (gpointer block);
/* Runs 4.1 up to, and without, the placement of 4.2. */
void naive_pack_run (NaivePack *pack);
