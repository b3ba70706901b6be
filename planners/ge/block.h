/* block.h - occupants and blocks of the GE planner: which occupants lie in a block, their life
 * times, and the block's memory space (ge-static.md 2.1).
 *
 * Invariants: lifetimes are node ids, GE_NEVER or GE_MAX; the children of a block are in no other
 * block; a block is freed with its assigner.
 * Cost: O(1), except the maxima over occupants; the frequent ones are cached.
 * Memory: 160 bytes per block, 56 per occupant; during packing 48 more per block, and 8 per block
 * and stream.
 */
#pragma once

#include "planners/ge/model.h"

/* ---- occupants */

typedef enum
{
  GE_KIND_OUTPUT,
  GE_KIND_WORKSPACE,
  GE_KIND_DESCRIPTOR, /* additional to a no-tiling tensor */
  GE_KIND_PSEUDO,     /* of a virtual parent (4.3); nothing is placed for it */
} GeKind;

enum /* GeOccupant.flags */
{
  GE_OCCUPANT_REF = 1 << 0,       /* is_ref */
  GE_OCCUPANT_NEXT_REF = 1 << 1,  /* next_is_ref */
  GE_OCCUPANT_BEGIN_MIN = 1 << 2, /* begin was set and precedes the node */
  /* output of a PartitionedCall: without begin_min, life_begin equals the end */
  GE_OCCUPANT_CALL = 1 << 3,
  GE_OCCUPANT_CONT = 1 << 4,
  GE_OCCUPANT_FIRST = 1 << 5,
  GE_OCCUPANT_LAST = 1 << 6,
};

typedef struct
{
  guint64 real, noalign; /* bytes */
  guint32 node, index;
  guint32 begin;        /* begin if begin_min, else the node */
  guint32 end, sym_end; /* GE_NEVER: not set */
  /* The end on stream diff_stream.  The rules' map diff{stream->end} never has two entries:
   * set_end() gets another stream only if all visits of this occupant were of one stream, and then
   * no second time before the next occupant */
  guint32 diff_end;
  gint32 diff_stream; /* GE_NO_DIFF: the map is empty */
  guint32 out_cnt;
  guint8 kind, flags;
} GeOccupant;

#define GE_NO_DIFF G_MININT32

/* ---- blocks (2.1) */

typedef enum /* the memory types of 2.2 and 2.3, ascending */
{
  GE_SPACE_HBM,
  GE_SPACE_P2P,
  GE_SPACE_HOST,
  GE_SPACE_HOST_SVM,
  GE_SPACE_SESSION,
  GE_N_SPACES
} GeSpace;

typedef struct
{
  gint32 stream;
  guint32 out, end;
} GeVisit; /* outs{stream->(out_time, end_time)} of the last occupant */

enum /* GeBlock.traits, for level 2 */
{
  /* lifetimes are not sufficient: an occupant is the output of a PartitionedCall, or the first
   * occupant is in a same-out group */
  GE_SPECIAL = 1 << 0,
  /* one occupant, neither continuous nor zero-copy nor first or last: level 2 can only make it a
   * child */
  GE_PLAIN = 1 << 1,
  /* may be interleaved: one stream, no end on another, neither continuous nor zero-copy */
  GE_LOOSE = 1 << 2,
  GE_TURNS = 1 << 3, /* begins and ends of the occupants ascend */
};

/* Summary of a child; it mostly suffices to decide that nothing can be packed into the child. */
typedef struct
{
  guint64 max_child;
  guint32 begin, end;
  gint32 stream;
  guint32 traits;
} GeChildSummary;

typedef struct
{
  /* level 2 reads these fields for every pair, so they come first, in one cache line;
   * gemem_ge_pack_refresh() updates begin, end and traits */
  guint32 begin, end; /* life_begin, life_end on the own stream */
  guint64 max_child;  /* upper limit in bytes of a further child here or below */
  gint32 stream, label;
  guint8 space, traits;
  guint8 reuse_mem, child, cont, zc;
  guint8 data, central; /* attribute set (6.5) */
  GPtrArray *children;  /* GeBlock, or NULL */
  GArray *summaries;    /* level 2: GeChildSummary, one for each child */
  guint64 aligned;      /* cache of gemem_ge_block_align_size(); 0: not known */
  guint64 child_off;    /* bytes taken by children */
  GeOccupant *occupants;
  guint32 n_occupants, occupants_size;

  guint8 first, last, same_stream, reuse_zc, same_offset, post_reuse, diff_prior, used_by_diff,
      fixed;
  guint8 batch_part; /* wraps a part of the largest batch (4.3) */
  /* level 2: number of parents above; final, as a block with children never becomes a child */
  guint8 depth;
  guint64 size;
  guint64 head; /* offset in its space */
  GeVisit *visits;
  GPtrArray *members;  /* of a virtual parent (4.3): in order of placement; else NULL */
  GPtrArray *overlays; /* of a virtual parent: per other label a GPtrArray of GeBlock; else NULL */
  guint32 n_visits, visits_size;
  guint32 number;      /* in order of creation */
  guint32 input_index; /* 5.2 */
  gint32 ref_count;
} GeBlock;

#define ge_block_last(block) (&(block)->occupants[(block)->n_occupants - 1])

/* Appends *@occupant, on @stream.  Clears the cached align_size; updates next_is_ref, same_stream
 * and the flags of continuous memory. */
GeOccupant *gemem_ge_block_add (GeBlock *block, const GeOccupant *occupant, gint32 stream);
void gemem_ge_block_set_size (GeBlock *block, guint64 size);
/* align(max real_size), cached.  [QUIRK] removing an occupant does not clear the cache (2.1). */
guint64 gemem_ge_block_align_size (GeBlock *block);
guint64 gemem_ge_block_max_real (const GeBlock *block);
guint64 gemem_ge_block_max_noalign (const GeBlock *block);
guint32 gemem_ge_block_life_begin (const GeBlock *block);
guint32 gemem_ge_block_life_end (const GeBlock *block, gint32 stream);
void gemem_ge_block_set_end (GeBlock *block, guint32 time, gint32 stream);
void gemem_ge_block_set_sym_end (GeBlock *block, guint32 time);
void gemem_ge_block_raise_out_cnt (GeBlock *block, guint32 n);
/* Sets the flags first and last of the block and of its last occupant. */
void gemem_ge_block_set_first_last (GeBlock *block);
guint32 gemem_ge_occupant_life_begin (const GeOccupant *occupant);
static inline gboolean
ge_block_conflict (const GeBlock *a, const GeBlock *b) /* 6.5 */
{
  return (a->data && b->central) || (a->central && b->data);
}

/* 4.2: sets the sizes of the blocks inside, then of the block; returns the latter. */
guint64 gemem_ge_block_resize (GeBlock *block);

guint64 gemem_ge_space_type (GeSpace space); /* GEMEM_MEMORY_* */
guint64 gemem_ge_space_base (GeSpace space); /* offset at which the space begins (0.1) */
GeSpace gemem_ge_space_of_type (guint64 type);
