/* batch-histories.h - --histories of compare: each run again from other states, and what that changes.
 *
 * Why: a row is one run of a program.  An allocator that needs least in the recorded order of frees may need more in
 * the next one.
 */
#pragma once

#include "sim/engine/replay.h"

/* Fills the histories of @results, of the jobs of @list (GememJob), whose sources are held files, with @frees other orders
 * of frees.  Runs that are not complete are left as they are.  FALSE with @error. */
gboolean gemem_batch_histories (const GArray *list, GememResult *const *results, guint frees,
                                GError **error);
