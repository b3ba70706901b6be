/* snapshot-private.h - what the files of the reader of PyTorch's snapshots share: its state, and
 * the order of its work.  snapshot.c opens and closes, snapshot-passes.c reads the file before the
 * first event is delivered, snapshot-facts.c derives from that what the trace says of itself, and
 * snapshot-deliver.c makes the events.
 */
#pragma once

#include "traces/pytorch/pickle.h"
#include "traces/pytorch/record.h"
#include "traces/pytorch/releases.h"
#include "traces/trace.h"

/* ---- snapshot.c: opens a snapshot whose pickle is a file or part of an HTML page */

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

#define GEMEM_SNAPSHOT_BATCH 1024u
#define GEMEM_SNAPSHOT_NPU_PAD 32 /* that torch_npu adds to each request */
#define GEMEM_SNAPSHOT_PHASES (1u << 20)
/* Annotations that tell what the file does not: settings that count from there on, and, where they
 * change for the first time, those before (dry/python/allocator.py). */
#define GEMEM_SNAPSHOT_SETTINGS "gemem: settings from here on: "
#define GEMEM_SNAPSHOT_SETTINGS_BEFORE "gemem: settings until here: "
/* The part of device D that the program may take from there on: "D 0.6". */
#define GEMEM_SNAPSHOT_PART "gemem: part of device from here on: "
#define GEMEM_SNAPSHOT_PART_SETTING "per_process_memory_fraction="

typedef struct
{
  guint64 time; /* us since 1970 */
  guint32 tag;
  guint8 kind; /* GEMEM_EVENT_PHASE, GEMEM_EVENT_PHASE_END or GEMEM_EVENT_SETTINGS */
} GememSnapshotPhase;

typedef struct
{
  GememPytorchState state;
  GememPytorchReleases releases;
  GememIdMap *ids; /* address -> id */
  GememIdMap
      *names; /* what the program named later: gemem_snapshot_name_key() -> tag; NULL: nothing */
  GArray *phases;
  guint phase;         /* the next phase */
  GArray *stacks;      /* guint32: of the events that have one, by their place in the file */
  guint64 first, last; /* us */
  guint64 events, backwards;
  gint64 net, most; /* first pass: bytes reserved now and at most, relative to the start */
  gint64 could;     /* the most that the program could have where it ran out, likewise, */
  gboolean told;    /* if that is known: something was free then */
  gboolean full;    /* nothing was, which our own files also say where it is not known */
  gint64
      limited; /* the least that was refused though the device had it, likewise; G_MAXINT64: nothing */
  gboolean parts;    /* which part of the device the program may take was told */
  guint64 delivered; /* events */
  /* the private pool of the requests delivered; 0: none, G_MAXUINT32: there are several */
  guint32 pool;
  gboolean releasing; /* the last event delivered released memory */
  guint64 reserved;   /* reserved bytes after the events delivered */
} GememSnapshotDevice;

typedef struct
{
  GememTraceReader reader;
  GememSnapshotBytes bytes;
  GememReadOptions options;
  GememPytorchRecords records;
  gboolean open; /* `records` is initialised */
  gboolean host; /* the trace is of the host's pinned memory, here device 0 */
  GPtrArray *devices;
  guint64 origin; /* us since 1970 of time 0 */
  gboolean has_time, truncated, names_pools;
  gboolean expandable, plain; /* segments of that kind were made */
  GArray *changes;            /* GememSnapshotPhase: of settings, which are those of all devices */
  char *settings_before;      /* the first of these; NULL: not told */
  guint64 phases, phases_lost, names, unknown;
  guint64 marks;        /* events of the other memory */
  char *unknown_action; /* the first unknown action */
  guint64 last_id;
  guint initial_device;    /* next device whose initial state to deliver */
  guint step, at;          /* position within that state */
  guint64 accepted, taken; /* event records of the first pass, of the second */
  GememPytorchRecord held; /* the event to deliver after the phases before it */
  gboolean holding, ended;
  GememTraceEvent batch[GEMEM_SNAPSHOT_BATCH];
  guint64 padded, unpadded; /* final blocks that prove the one or the other */
} GememSnapshot;

/* ---- snapshot-passes.c */

/* Whether the trace is to have the events of device @number. */
gboolean gemem_snapshot_wanted (const GememSnapshot *snapshot, guint number);
/* Device @number, made if it is new. */
GememSnapshotDevice *gemem_snapshot_device (GememSnapshot *snapshot, guint number);
void gemem_snapshot_device_free (gpointer device);
/* "FILE:device_traces[1]", the list of its events, for messages; g_free(). */
char *gemem_snapshot_place (const GememSnapshot *snapshot, guint number);
/* Goes back to the first record.  @stacks: call stacks are read too. */
gboolean gemem_snapshot_begin_pass (GememSnapshot *snapshot, gboolean stacks, GError **error);
/* Checks every record and derives the state before the first event. */
gboolean gemem_snapshot_first_pass (GememSnapshot *snapshot, GError **error);
/* Looks for hidden tails of initial blocks. */
gboolean gemem_snapshot_tail_pass (GememSnapshot *snapshot, GError **error);
/* Finds the allocations of blocks that the program named later. */
gboolean gemem_snapshot_name_pass (GememSnapshot *snapshot, GError **error);
/* The key of a block in GememSnapshotDevice.names: its allocation's place in the file, or for an
 * initial block its address. */
static inline guint64
gemem_snapshot_name_key (gboolean initial, guint64 place)
{
  return place << 1 | (initial ? 1 : 0);
}

/* ---- snapshot-facts.c */

/* Takes the call stacks of the first pass over into the trace, if there are any. */
void gemem_snapshot_keep_stacks (GememSnapshot *snapshot);
/* Derives the facts of the trace from the first pass; runs the others that are needed. */
gboolean gemem_snapshot_settle (GememSnapshot *snapshot, GError **error);

/* ---- snapshot-writer.c: `create` of the format */

GememTraceWriter *gemem_snapshot_create (const char *path, const GememTraceInfo *info,
                                         GError **error);

/* ---- snapshot-deliver.c: `next` of the reader */

gssize gemem_snapshot_next (GememTraceReader *reader, const GememTraceEvent **events,
                            GError **error);
