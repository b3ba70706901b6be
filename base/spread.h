/* spread.h - the multipliers of tables that take a slot from the top bits of key * multiplier.
 *
 * 2^64/phi spreads dense ids and addresses evenly.  Keys can be chosen so that they meet under
 * one multiplier; the table then goes on with the next one, a bounded number of times, so that
 * it stays linear.
 *
 * Invariants: every multiplier is odd, so that no two keys have the same product.
 */
#pragma once

#include <glib.h>

typedef struct
{
  guint64 multiplier;
  guint times; /* another one was taken */
} GememSpread;

#define GEMEM_SPREAD_INIT \
  { \
    G_GUINT64_CONSTANT (0x9E3779B97F4A7C15), 0 \
  } /* 2^64 / phi */
#define GEMEM_SPREAD_MAX 16

/* Takes the next multiplier; FALSE: there were enough. */
static inline gboolean
gemem_spread_next (GememSpread *spread)
{
  if (spread->times++ >= GEMEM_SPREAD_MAX)
    return FALSE;
  spread->multiplier *= G_GUINT64_CONSTANT (0xD1342543DE82EF95);
  return TRUE;
}
