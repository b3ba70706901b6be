/* snapshot.h - opens a snapshot whose pickle is a file or part of an HTML page. */
#pragma once

#include "traces/pytorch/pickle.h"
#include "traces/trace.h"

/* A rewindable source of the bytes of a pickle. */
typedef struct
{
  GememPickleSource source;
  gboolean (*rewind) (gpointer data, GError **error); /* to the first byte of the pickle */
  void (*close) (gpointer data);
  GememInput *input; /* the file of these bytes; closed by `close` */
} GememSnapshotBytes;

/* Takes ownership of @bytes in all cases. */
GememTraceReader *gemem_pytorch_snapshot_open (const GememTraceFormat *format,
                                               const GememSnapshotBytes *bytes,
                                               const GememReadOptions *options, GError **error);

extern const GememTraceFormat gemem_format_pytorch_snapshot;
