/* pytorch-record.h - the dicts of a torch.cuda.memory snapshot as C structs, one after the other.
 *
 * Knows the keys and their history (blocks without address or with `history`, events without time,
 * `device_free`); knows nothing of what they mean together.  Each pass over a file makes a new one.
 * Origin: peers.md 2.1.
 */
#pragma once

#include "traces/call-stacks.h"
#include "traces/pickle.h"
#include "traces/pytorch-state.h"
#include "traces/pytorch-version.h"

typedef enum
{
  GEMEM_PYTORCH_SEGMENT, /* segment, and `blocks` of the reader: those that are live */
  GEMEM_PYTORCH_EVENT,   /* event; time still in microseconds since 1970 */
  GEMEM_PYTORCH_UNKNOWN, /* an event with an action that is not known: name */
  /* an event with nothing to replay: the name of a block (annotate), pinned host memory */
  GEMEM_PYTORCH_MARK,
  GEMEM_PYTORCH_ANNOTATION, /* begin, name, event.time, event.device */
  GEMEM_PYTORCH_END,        /* of the file */
} GememPytorchRecordKind;

/* Flags of a frame. */
enum
{
  GEMEM_PYTORCH_EMPTY_CACHE = 1 << 0, /* it is empty_cache, or what that calls */
};

typedef struct
{
  GememPytorchRecordKind kind;
  guint device;
  guint64 index; /* of an event in its device's list, from 0 */
  GememPytorchSegment segment;
  GememTraceEvent event;
  guint32 stack; /* of an event, in `stacks`; 0: none was recorded */
  gboolean has_time, has_pool, begin;
  const char *name;
} GememPytorchRecord;

typedef struct
{
  GememPickle *pickle;
  const char *name;
  GememPytorchSettings settings;  /* complete at the end of the file */
  const GememPickleValue *values; /* private: of the present dict, those of which there are: */
  guint64 present;
  GArray *blocks;    /* GememPytorchBlock of the segment returned last */
  GArray *pending;   /* private: blocks whose segment is not complete */
  GArray *counts;    /* private: events seen per device */
  GememIdMap *pools; /* private: pool id pair -> its number */
  /* names and files of frames are strings of the pickle; NULL: not asked for */
  GememCallStacks *stacks;
  guint32 last_name, last_flags; /* private: of a frame */
  guint64 history;               /* private: newest request in the history of the next block */
  struct
  {
    guint64 file, settings, event, segment, block;
  } keys; /* private: all that dicts of these kinds had, as bits */
  gboolean has_segments, has_traces;
} GememPytorchRecords;

/* @stacks: records are to have their stacks; without, frames are passed over. */
void gemem_pytorch_records_init (GememPytorchRecords *records, const GememPickleSource *source,
                                 gboolean stacks);
void gemem_pytorch_records_clear (GememPytorchRecords *records);
gboolean gemem_pytorch_records_next (GememPytorchRecords *records, GememPytorchRecord *record,
                                     GError **error);
/* Which PyTorch wrote the file, once it is read (gemem_pytorch_version_infer()); NULL: its
 * allocator did not, the file was made of a profile.  g_free(). */
char *gemem_pytorch_records_version (const GememPytorchRecords *records);
/* Lists in device_traces with at least one event: highest device number + 1. */
guint gemem_pytorch_records_devices (const GememPytorchRecords *records);
