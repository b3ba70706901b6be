/* pytorch-snapshot.h - opens a snapshot wherever its pickle lies: a file of its own, or inside a
 * page. */
#pragma once

#include "traces/pickle.h"
#include "traces/trace.h"

/* The bytes of a pickle that can be read more than once. */
typedef struct
{
  GememPickleSource source;
  gboolean (*rewind) (gpointer data, GError **error); /* to the first byte of the pickle */
  void (*close) (gpointer data);
  GememInput *input; /* the file they come from; closed by `close` */
} GememSnapshotBytes;

/* Takes over @bytes in all cases. */
GememTraceReader *gemem_pytorch_snapshot_open (const GememTraceFormat *format,
                                               const GememSnapshotBytes *bytes,
                                               const GememReadOptions *options, GError **error);

extern const GememTraceFormat gemem_format_pytorch_snapshot;
