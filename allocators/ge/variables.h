/* variables.h - the variables and constants of a session: pieces of GE's session range
 * (session-range.h).
 *
 * What: a variable of n bytes takes roundup (n, 512) + 1024 bytes behind those before it, and
 * begins 512 bytes into them.  The pages are the session's own: they are returned with the session,
 * and returned ones are not taken again.  A device that cannot reserve addresses serves each
 * variable with a plain allocation, unless pages of 1 GiB are required.
 * No address of a range is used twice: the memory of freed variables is returned only when the last
 * variable is freed, with everything else.
 * Invariants: `first` to `last` ascend by address and lie in the used part of the range; live
 * pieces never overlap.
 * Threads: several may call; every function locks the device.
 * Cost: O(pages of the piece).
 * Origin: ge-runtime.md 5.9, 7.4.
 */
#pragma once

#include "allocators/ge/session-range.h"
#include "base/slab.h"

typedef struct _GeVariable GeVariable;

typedef struct
{
  GePages pages;
  GeSessionRange range;
  /* sizes as above, and returned pages are not taken again; FALSE: sizes are rounded up to 512, and
   * returned pages are taken again */
  gboolean padded;
  GeVariable *first, *last; /* of the range */
  GeVariable *plain;        /* of the device, newest first */
  GememSlab slab;
} GeVariables;

/* @page_size: GE_SMALL_PAGE, or GE_LARGE_PAGE under policies 3 and 4, or GE_HUGE_PAGE with
 * @option.  @total: bytes of addresses to reserve (gemem_ge_device_memory()).  @padded: FALSE
 * for pieces that are no variables. */
void gemem_ge_variables_init (GeVariables *variables, GememDevice *device, guint64 page_size,
                              Ge1gOption option, guint64 total, gboolean padded);
/* Returns everything to the device, live variables too. */
void gemem_ge_variables_clear (GeVariables *variables);

/* FALSE: out of memory or addresses.  @block: the visible address, the size of the whole piece, and
 * the handle. */
gboolean gemem_ge_variables_alloc (GeVariables *variables, guint64 bytes, guint64 stream,
                                   GememBlock *block);
void gemem_ge_variables_free (GeVariables *variables, const GememBlock *block);

/* The largest variable that needs no call of the device; 0: none. */
guint64 gemem_ge_variables_largest_free (const GeVariables *variables);
/* Live variables as LIVE, freed ones as OVERHEAD, the rest of the pages as FREE; segments in no
 * particular order. */
void gemem_ge_variables_walk (const GeVariables *variables, GememSpanFunc func, gpointer data);
/* @what names the owner in the message; GEMEM_ERROR_INVARIANT. */
gboolean gemem_ge_variables_check (const GeVariables *variables, const char *what, GError **error);
