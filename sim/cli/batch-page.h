/* batch-page.h - the page (--html) of a batch of runs. */
#pragma once

#include "sim/cli/batch-results.h"
#include "sim/page/page.h"

/* Writes a page that says @reason of the recording @path, of which there is nothing to be seen. */
gboolean gemem_batch_page_write_nothing (const char *path, const char *reason, GError **error);
/* Asks for advice about each of @files (GememSourceFile), replays the rows that are looked at once more for
 * their history, and writes the page.  @jobs: GememJob, with the @results that they had, or
 * @left_out as no choice; @device: about which advice is asked, NULL: the recorded one.  FALSE with @error. */
gboolean gemem_batch_page_write (const GememBatchResults *batch, const GPtrArray *files,
                                 const GArray *jobs, GememResult *const *results,
                                 const gboolean *left_out, const char *device, GError **error);
