/* histories.h - what a program needs where what does not belong to it had gone otherwise: frees in another
 * order, a warm cache, segments at other addresses.
 *
 * Why: one recording is one run.  The next one frees in another order, and a figure that only holds for
 * the recorded order is no promise: a gate flaps on it, and what fits by a hair may not fit.
 *
 * Invariants: the same recording and number give the same figures, on any number of threads.
 * Cost: a replay for each history, all at once.
 */
#pragma once

#include "base/macros.h"
#include "sim/search/need.h"

GEMEM_BEGIN_DECLS

typedef enum
{
  GEMEM_HISTORIES_FREES,     /* frees that follow one another, in orders drawn at random */
  GEMEM_HISTORIES_WARM,      /* the work a second time, with the cache of the first */
  GEMEM_HISTORIES_ADDRESSES, /* segments where CUDA's driver puts them, not where they were recorded */
  GEMEM_HISTORIES_KINDS
} GememHistoriesKind;

typedef struct
{
  guint runs, failed; /* of which a request failed or could not be served */
  guint64 least,
      most; /* peak reserved, or the least capacity, of those that did not fail; G_MAXUINT64 and 0: of none */
} GememHistoriesSpread;

typedef struct
{
  guint frees; /* as asked for */
  GememHistoriesSpread kinds[GEMEM_HISTORIES_KINDS], all;
  guint
      left_out; /* which were not replayed to the end, as that was interrupted; in none of the spreads */
} GememHistories;

#define GEMEM_HISTORIES_MOST 1000

/* Whether the replay that came to this was interrupted, or never began. */
gboolean gemem_was_left_out (const GememResult *result, const GError *error);

/* Replays @need, which has its result, with @frees other orders of frees and the other kinds as far as they
 * can be told; as many as the time before an interruption allows. */
void gemem_histories_try (const GememNeed *need, guint frees, const GememNeedOptions *options,
                          GememHistories *histories);

/* Appends "4.271 GiB", or "4.271 GiB to 4.302 GiB". */
void gemem_histories_append_range (GString *out, const GememHistoriesSpread *spread);
/* "It needs 4.271 GiB to 4.302 GiB in 10 other histories: 8 orders of frees 4.271 GiB, ...", or in how
 * many it fails, or as much as the @need of the recorded one; g_free(). */
char *gemem_histories_sentence (const GememHistories *histories, guint64 need);

GEMEM_END_DECLS
