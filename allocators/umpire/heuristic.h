/* heuristic.h - when a pool of Umpire coalesces: the settings `coalesce` names, and what they ask.
 *
 * Why: both pools have the same four heuristics, which differ in what counts as all free.
 *
 * Invariant: a heuristic is asked after each free and only reads figures of the pool.
 * Origin: peers.md section 1k.1.
 */
#pragma once

#include <glib.h>

typedef enum
{
  UMPIRE_PERCENT_RELEASABLE,
  UMPIRE_PERCENT_RELEASABLE_HWM,
  UMPIRE_BLOCKS_RELEASABLE,
  UMPIRE_BLOCKS_RELEASABLE_HWM,
} UmpireHeuristicKind;

typedef struct
{
  UmpireHeuristicKind kind;
  guint64 n; /* percent or blocks */
} UmpireHeuristic;

/* The figures of a pool that heuristics read; bytes, but for the number of blocks. */
typedef struct
{
  guint64 actual;     /* bytes of all blocks of the device */
  guint64 high;       /* most bytes that were in use at once */
  guint64 releasable; /* bytes of the blocks of the device that are whole and free */
  guint64 blocks;     /* their number */
  gboolean all_free;  /* what 100 percent asks for */
} UmpireFigures;

/* Reads "HEURISTIC:N" or "HEURISTIC(N)" for the allocator called @name.  GEMEM_ERROR_USAGE. */
gboolean gemem_umpire_heuristic_parse (const char *name, const char *text,
                                       UmpireHeuristic *heuristic, GError **error);
/* The bytes that the pool is to have after coalescing; 0: it does not coalesce. */
guint64 gemem_umpire_heuristic_ask (const UmpireHeuristic *heuristic, const UmpireFigures *figures);
/* The fewest releasable blocks with which it can hit. */
guint64 gemem_umpire_heuristic_least (const UmpireHeuristic *heuristic);
/* TRUE if a coalescing that leaves one whole free block beside fragments can ask for another. */
gboolean gemem_umpire_heuristic_repeats (const UmpireHeuristic *heuristic);
