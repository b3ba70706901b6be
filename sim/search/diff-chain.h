/* diff-chain.h - how two runs came to hold different amounts: from the first block that lies elsewhere to the
 * segment that only one of them obtains.
 *
 * Why: "it holds 360 MiB more" does not say why.  An allocator holds more because a request did not fit where the other
 * run served it, and it found none because another block lay there, and so on, back to the change.
 *
 * How: the chain is followed backwards.  Where a request fails in one run alone it begins with that request.  Else it
 * begins with the largest segment that is there at the larger peak and whose request the other run served from what it had.  The segment of the other run in which it did so has a
 * counterpart: that obtained for the same request.  Either there is none, then it is asked why only one obtained it; or
 * a block lies there that in the other run lies elsewhere, was freed, or is not asked for; then it is asked of that block.
 *
 * Invariants: each link is of an earlier event than the one before it, so the chain ends.  Nothing is guessed:
 * a chain whose cause cannot be told ends with GEMEM_DIFF_CAUSE_OTHER.
 * Cost: O(blocks) for each link, of which there are at most GEMEM_DIFF_LINKS.
 */
#pragma once

#include "base/macros.h"
#include "sim/engine/history.h"

GEMEM_BEGIN_DECLS

/* Longer recordings have no chain: each of their blocks would have to be kept. */
#define GEMEM_DIFF_CHAIN_EVENTS (G_GUINT64_CONSTANT (1) << 19)
#define GEMEM_DIFF_LINKS 64

/* ---- diff-pairs.c */

#define GEMEM_DIFF_NONE G_MAXUINT

/* The numbers of the steps of @history (guint64), ascending; their ranks from 1 where the recording does not number
 * them so; g_array_unref(). */
GArray *gemem_diff_steps (const GememHistory *history);

/* Which blocks of two histories are the same one: for each of a side its number on the other, or
 * GEMEM_DIFF_NONE.  @by_event: they are of one recording.  Else by line of code and order within the step of the same
 * number; without call stacks by size and order.  g_free() each. */
void gemem_diff_pair (const GememHistory *const histories[2], gboolean by_event, guint *pairs[2]);

/* ---- diff-chain.c */

/* Where a block was placed. */
typedef struct
{
  guint64 event; /* of its request */
  guint64 size;  /* requested */
  guint64 segment,
      obtained; /* bytes of the segment, and the event for which it was obtained; 0: it is unknown */
  gboolean is_new; /* it was obtained for this request */
  gboolean fails;  /* it is nowhere: the request is refused */
} GememDiffPlace;

/* Why one side did not place a request as the other did; the first link's is GememDiffCause. */
typedef enum
{
  GEMEM_DIFF_WHY_TAKEN,      /* the block of the link before lies there */
  GEMEM_DIFF_WHY_NO_SEGMENT, /* for the request of the link before it obtained no segment */
  GEMEM_DIFF_WHY_SMALLER,    /* for that request it obtained a smaller one */
  GEMEM_DIFF_WHY_DEVICE, /* the device has no space for it, as it obtained the segment of the link before */
} GememDiffWhy;

/* A request that was placed differently.  `asks`: whether each side makes it. */
typedef struct
{
  guint side; /* which one did not place it as the other did */
  GememDiffWhy why;
  char *by; /* NULL: unknown */
  gboolean asks[2];
  GememDiffPlace places[2];
} GememDiffLink;

/* Why the first link was placed differently. */
typedef enum
{
  GEMEM_DIFF_CAUSE_OTHER,    /* cannot be told */
  GEMEM_DIFF_CAUSE_NO_BLOCK, /* the other side does not make this request */
  GEMEM_DIFF_CAUSE_REQUEST,  /* it makes it, of another size */
  GEMEM_DIFF_CAUSE_GROWS, /* the segment of the other side goes on behind its end: it was made larger */
  GEMEM_DIFF_CAUSE_FREED,    /* the other side has freed this block by then */
  GEMEM_DIFF_CAUSE_RETURNED, /* this side has returned the segment by then */
  GEMEM_DIFF_CAUSE_SIZES,    /* both obtain memory for it, of other sizes */
  GEMEM_DIFF_CAUSE_RULE,     /* it would fit there on this side, too */
  GEMEM_DIFF_CAUSE_DEVICE,   /* the device has no space for it, and no segment is one too many */
} GememDiffCause;

typedef struct
{
  guint side;          /* which one holds more, */
  guint64 event;       /* then: at its peak, or at */
  gboolean fails;      /* the request that fails, */
  gboolean of_request; /* which is the last link */
  guint64 bytes;       /* of the segment that the other side does not obtain; 0: there is none */
  GArray *links; /* GememDiffLink, the earliest first; the last one obtains the segment, or fails */
  GememDiffCause cause;
  guint64 cause_event; /* FREED, RETURNED: at which event of the other, of this side */
} GememDiffChain;

/* @side holds more at its @event, or (@fails) is refused a request there, which becomes one of the blocks of its history.
 * NULL: there is no such segment, and the other does not make that request.  gemem_diff_chain_free(). */
GememDiffChain *gemem_diff_chain (GememHistory *const histories[2], guint64 event, guint side,
                                  gboolean fails, gboolean by_event);
void gemem_diff_chain_free (GememDiffChain *chain); /* may be NULL */

/* ---- diff-chain-text.c */

/* Appends at most six lines of at most 100 columns; and a member "chain". */
void gemem_diff_chain_append (GString *out, const GememDiffChain *chain);
void gemem_diff_chain_append_json (GString *out, const GememDiffChain *chain);

GEMEM_END_DECLS
