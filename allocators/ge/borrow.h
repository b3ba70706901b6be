/* borrow.h - the borrow pool of a stream: blocks of other streams' pools that this stream may use
 * again before they return.
 *
 * What: a request takes the smallest block that is large enough, of equal sizes the one that came
 * last.  (The real system takes any of them, in the order of a hash set: ge-runtime.md 11.9; the
 * size class that becomes empty is the one that is erased: 2.5.)  Events return all blocks of a
 * birth stream, or those that came before some moment, in the order in which they came.
 * Invariants: a block is in the tree and in the list of its birth stream, or in neither; stamps
 * ascend along a list.
 * Cost: O(log n) to insert, take and remove.
 * Origin: ge-runtime.md 2.5, 2.6.
 */
#pragma once

#include "allocators/ge/holders.h"
#include "allocators/ge/pool-core.h"
#include "base/tree.h"

typedef enum
{
  GE_BLOCK_SPARE,          /* a wrapper without a block */
  GE_BLOCK_USED,           /* the program has it */
  GE_BLOCK_FREE_REQUESTED, /* the program has freed it; a completion follows */
  GE_BLOCK_PENDING,        /* no stream holds it, but not all streams that matter know (2.4) */
  GE_BLOCK_BORROWED,       /* in the borrow pool of `at` */
  GE_BLOCK_RETURNING,      /* attached to an event that its birth stream will wait for */
} GeBlockState;

/* MultiStreamMemBlock: the wrapper of a block of an L2 pool.  Wrappers are never freed, since
 * `version` must go on: local lists may still name them. */
typedef struct _GeStreamBlock GeStreamBlock;
struct _GeStreamBlock
{
  GeSpan *span;
  guint64 version; /* counts the recycles */
  guint8 birth;    /* number of the stream whose pool it is of */
  guint8 owner;    /* of the stream that asked for it last */
  guint8 at;       /* BORROWED: of the stream that may use it */
  guint8 state;    /* GeBlockState */
  /* the STREAM_FREE of its only hold counts when the program frees it, or another hold comes */
  gboolean deferred;
  GeHolders holders;
  GememTreeNode node; /* BORROWED: by size, the latest first */
  GeStreamBlock *prev,
      *next; /* PENDING, BORROWED, RETURNING: the list it is in; SPARE: next only */
};

/* Blocks in the order in which they came. */
typedef struct
{
  GeStreamBlock *first, *last;
} GeBlockList;

typedef struct
{
  GememTree tree;
  GeBlockList by_birth[GE_STREAMS_MAX]; /* by birth stream */
} GeBorrowPool;

void gemem_ge_block_list_append (GeBlockList *list, GeStreamBlock *block);
void gemem_ge_block_list_remove (GeBlockList *list, GeStreamBlock *block);

/* @stamp ascends from call to call. */
void gemem_ge_borrow_insert (GeBorrowPool *pool, GeStreamBlock *block, guint64 stamp);
void gemem_ge_borrow_remove (GeBorrowPool *pool, GeStreamBlock *block);
/* The block that a request of @size bytes takes, still in the pool, or NULL. */
GeStreamBlock *gemem_ge_borrow_find (const GeBorrowPool *pool, guint64 size);
guint64 gemem_ge_borrow_stamp (const GeStreamBlock *block);
