/* audit.h - why a request failed, and which block would have to be freed for it to fit. */
#pragma once

#include "sim/engine/live.h"

/* Fills all fields of @oom but seq, id, requested and stream, which the caller has set.  @detail
 * FALSE: only the fields that need no walk (the class avoidable/true, the sums). */
void gemem_audit (GememAllocator *allocator, const GememLiveTable *table,
                  const GememAccounts *accounts, const GememRequest *request, gboolean detail,
                  GememOom *oom);
