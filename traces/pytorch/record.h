/* record.h - reads the dicts of a torch.cuda.memory snapshot as C structs, one at a time.
 *
 * This reader handles the keys of all versions (blocks without address or with `history`, events
 * without time, `device_free`); relations between records are left to its callers.  Each pass over
 * a file uses a new reader.
 * Origin: peers.md 2.1.
 */
#pragma once

#include "traces/call-stacks.h"
#include "traces/pytorch/pickle.h"
#include "traces/pytorch/state.h"
#include "traces/pytorch/version.h"

#define GEMEM_PYTORCH_DEVICES 4096u /* devices have smaller numbers */

typedef enum
{
  GEMEM_PYTORCH_SEGMENT,    /* segment, and in `blocks` of the reader its live blocks */
  GEMEM_PYTORCH_EVENT,      /* event; time still in microseconds since 1970 */
  GEMEM_PYTORCH_UNKNOWN,    /* an event with an unknown action: name */
  GEMEM_PYTORCH_NAME,       /* the program named the live block at event.address: name */
  GEMEM_PYTORCH_MARK,       /* an event of the other memory: of the host, or if `host` of a GPU */
  GEMEM_PYTORCH_ANNOTATION, /* begin, name, event.time, event.device */
  GEMEM_PYTORCH_END,        /* of the file */
} GememPytorchRecordKind;

/* Flags of a frame. */
enum
{
  GEMEM_PYTORCH_EMPTY_CACHE = 1 << 0, /* empty_cache, or a function that it calls */
};

typedef struct
{
  GememPytorchRecordKind kind;
  guint device;
  guint64 index; /* of an event in the list of its device, from 0 */
  GememPytorchSegment segment;
  GememTraceEvent event;
  guint32 stack; /* of an event, in `stacks`; 0: none was recorded */
  gboolean has_time, has_pool, has_free, begin;
  /* of an annotation, a block or an unknown action; of an event the program's own name for what it
   * allocates, or "" */
  const char *name;
} GememPytorchRecord;

typedef struct
{
  GememPickle *pickle;
  const char *name;
  GememPytorchSettings settings;  /* complete at the end of the file */
  const GememPickleValue *values; /* private: of the present dict; bits in `present` */
  guint64 present;
  GArray *blocks;    /* GememPytorchBlock of the segment returned last */
  GArray *pending;   /* private: blocks whose segment is not complete */
  GArray *counts;    /* private: events seen per device */
  GememIdMap *pools; /* private: pool id pair -> its number */
  /* names and files of frames are strings of the pickle; NULL: not requested */
  GememCallStacks *stacks;
  guint32 last_name, last_flags; /* private: of a frame */
  guint64 history;               /* private: newest request in the history of the next block */
  guint32 history_stack;         /* private: and its stack */
  struct
  {
    guint64 file, settings, event, segment, block;
  } keys; /* private: keys seen in dicts of each kind, as bits */
  gboolean has_segments, has_traces;
  /* of the caller: reads the pinned memory of the host (host_segments, host_traces) as device 0,
   * and not that of GPUs */
  gboolean host;
} GememPytorchRecords;

/* @stacks: whether records have their stacks; otherwise frames are skipped. */
void gemem_pytorch_records_init (GememPytorchRecords *records, const GememPickleSource *source,
                                 gboolean stacks);
void gemem_pytorch_records_clear (GememPytorchRecords *records);
gboolean gemem_pytorch_records_next (GememPytorchRecords *records, GememPytorchRecord *record,
                                     GError **error);
/* The version of PyTorch that wrote the file, known after reading it
 * (gemem_pytorch_version_infer()); NULL: the file was made from a profile, not by PyTorch's
 * allocator.  g_free(). */
char *gemem_pytorch_records_version (const GememPytorchRecords *records);
/* The newest version 2.N that it may be: N; 0: unknown. */
guint gemem_pytorch_records_newest (const GememPytorchRecords *records);
