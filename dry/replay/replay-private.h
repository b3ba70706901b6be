/* replay-private.h - events and blocks, between history.c, which keeps them, and replay.c, which
 * does them again. */
#pragma once

#include "dry/ptx/ptx.h"
#include "dry/replay/replay.h"

typedef enum
{
  EVENT_HOST, /* bytes from the host */
  EVENT_FILL,
  EVENT_CARRY, /* from one block to another */
  EVENT_LAUNCH,
  EVENT_FUNCTION, /* of a library, done again in Python */
  EVENT_LOST,     /* what was written is not known */
  EVENT_FOUND,    /* what a block was found to hold, with states */
} ReplayKind;

typedef struct
{
  guint64 address, size;
  GPtrArray *writers; /* ReplayEvent, in their order */
  gboolean live, escaped;
  guint64 depth;
  /* while something is collected: */
  guint64 mark, need;
  GememPtxMemory memory;
} ReplayBlock;

typedef struct
{
  ReplayBlock *block;
  gboolean writes;
} ReplayTouch;

typedef struct
{
  guint64 sequence, depth, mark;
  ReplayKind kind;
  guint n_touches;
  ReplayTouch *touches;  /* of a function: one for each range; of CARRY: to, from */
  guint64 address, size; /* what is written; of FUNCTION and LAUNCH see below */
  gboolean whole;        /* a LOST of all that the blocks hold */
  guint64 from;          /* of CARRY */
  guint8
      *bytes; /* of HOST and FOUND, the second with as many states behind; parameters of LAUNCH */
  guint32 value;
  guint unit; /* of FILL */
  GememReplaySource *source;
  char *name;
  guint grid[3], block[3];
  gsize shared;
  guint64 id;     /* of FUNCTION */
  gboolean drawn; /* a FUNCTION that draws numbers */
  guint64 *addresses;
} ReplayEvent;

/* ---- sources.c */

typedef struct
{
  guint16 size;
  gboolean constant; /* memory behind it is read only */
} ReplayParameter;

/* The parameters of kernel @name; NULL: they are not known. Valid with @source. */
const GArray *gemem_replay_parameters (GememReplaySource *source, const char *name);
/* Its code; NULL: there is none. Compiles @source at the first question. */
const GememPtxFunction *gemem_replay_code (GememReplaySource *source, const char *name);

/* ---- history.c */

/* What is between begin and end has all for itself. */
void gemem_replay_lock (void);
void gemem_replay_unlock (void);
/* The block of [@address, @address + @size); NULL: none has all of it. */
ReplayBlock *gemem_replay_block_at (guint64 address, guint64 size);
/* The events that led to what @block holds, in their order, and their blocks, of which need is set;
 * free both. */
GPtrArray *gemem_replay_collect (ReplayBlock *block, GPtrArray **blocks);
/* @block holds this from now on. */
void gemem_replay_found (ReplayBlock *block, const GememPtxMemory *memory);
/* @event of kind FUNCTION is done again. */
int gemem_replay_function (const ReplayEvent *event, guint8 **bytes, guint8 **states);
