/* snapshot-text.h - what the reader of torch.cuda.memory snapshots makes of one, as text, for the tests of cases that are
 * written by hand (snapshot-writer.h).
 */
#pragma once

#include "traces/trace.h"

/* The snapshot @bytes is called "x.pickle".  NULL with @error. */
GememTraceReader *test_snapshot_open (GBytes *bytes, int device, gboolean partial, GError **error);

/* All events, one per line, and the notes but for the version of PyTorch; or the message of the error, which is
 * GEMEM_ERROR_INPUT.  g_free(). */
char *test_snapshot_text_with (GBytes *bytes, const GememReadOptions *options);
char *test_snapshot_text (GBytes *bytes, int device, gboolean partial);
