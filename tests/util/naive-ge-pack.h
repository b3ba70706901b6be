/* naive-ge-pack.h - level 2 of the GE planner (ge-static.md 4.1) a second time, from the text
 * alone.
 *
 * It shares nothing with planners/ge: the test copies what level 1 left into the plain structures
 * below, and compares what packing made of them.
 */
#pragma once

#include <glib.h>

typedef struct
{
  guint32 node, kind, index; /* kind and index only name it in messages */
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
  guint64 inherited[4];   /* whatever else a clone takes over; not read */
  /* set by packing */
  gboolean continuous, first, last, child;
  guint64 align_size; /* kept when occupants are taken away [QUIRK] */
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

/* A block without occupants, as yet in no list. */
NaivePackBlock *naive_pack_block_new (void);
void naive_pack_block_free (gpointer block);
/* 4.1 as far as the placement of 4.2. */
void naive_pack_run (NaivePack *pack);
