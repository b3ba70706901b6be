/* check-sweep.h - the sweep of the checker: visits claims in the order of their begin, with a map
 * of the last owner of each byte.
 *
 * Why comparing with the last owner is enough: "y may follow x" means that every user of x is known
 * to be finished before the first writer of y starts, and a writer is also a user.  So if y may
 * follow x and z may follow y, z may follow x; and each owner was compared with the one before it.
 * tests/unit/test-plan-check.c compares the result with a check of all pairs.
 *
 * Invariants: the map's segments do not overlap; each byte belongs to its latest claim.
 * Cost: O(n log n): a claim adds at most three segments and every segment is removed once.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct
{
  guint64 space, offset, end; /* bytes [offset, end), not empty */
  guint64 begin;              /* sort key of the claims */
  guint32 item;               /* or part of one */
} GememClaim;

/* @later claims bytes whose last owner is @earlier (both items).  FALSE ends the sweep. */
typedef gboolean (*GememClaimMeet) (gpointer data, guint32 earlier, guint32 later);

/* Sorts @claims (GememClaim) by (begin, item) and calls @meet for each pair of consecutive owners
 * of a byte; a pair may be reported several times.  FALSE if @meet ended the sweep. */
gboolean gemem_claims_sweep (GArray *claims, GememClaimMeet meet, gpointer data);

GEMEM_END_DECLS
