/* trace.h - the event model, and the reader and writer interfaces of every trace format.
 *
 * A trace is an ordered stream of events.  Readers return events in batches, and their memory is
 * bounded by the live blocks of the trace; no part holds a whole trace.
 *
 * Invariants of the events that a reader delivers:
 *  - ids are integers that name one allocation; an id is alive from its ALLOC to its FREE (or
 *    FREE_COMPLETED) and is not used again while alive.  Formats that name blocks by pointer map
 *    pointers to ids 1, 2, 3...
 *  - `address` is the recorded address (0: unknown); it is ground truth for comparison and never
 *    the input of a decision (except addresses of segments under the `recorded` device policy, and
 *    which of several equal chunks is taken with `cupy-pool:tie=recorded`).
 *  - events flagged GEMEM_EVENT_INITIAL come before all others: the state found when the recording
 *    began, first SEGMENT_ALLOCs, then ALLOCs, each in address order, per device.
 *  - time is in ns from the start of the trace and does not run backwards per device (readers sort,
 *    or refuse); absent: all 0 and GEMEM_TRACE_HAS_TIME not set.
 *  - several devices: the events of a device are in order; devices may follow one another or
 *    interleave.
 */
#pragma once

#include "base/macros.h"
#include <gio/gio.h>

#include "base/error.h"
#include "base/lifetimes.h"
#include "traces/call-stacks.h"

GEMEM_BEGIN_DECLS

/* The numbers are part of the native format: never renumber. */
typedef enum
{
  GEMEM_EVENT_ALLOC = 1, /* id, size, stream, pool, tag; address and aux (block size) as recorded */
  /* id; requested and completed at once; stream: in whose order (GEMEM_TRACE_HAS_ORDER) */
  GEMEM_EVENT_FREE = 2,
  GEMEM_EVENT_FREE_REQUESTED = 3, /* id; the program freed it; streams may still use it */
  GEMEM_EVENT_FREE_COMPLETED = 4, /* id; no stream uses the block */
  /* id, stream: work that uses the block was queued there (record_stream) */
  GEMEM_EVENT_USE_ON_STREAM = 5,
  /* stream: the host waited for the stream; aux = 1: it asked, and the stream was done
   * (GEMEM_TRACE_HAS_ORDER) */
  GEMEM_EVENT_STREAM_SYNC = 6,
  /* id = event id, stream; aux = 1 + the stream that will wait, 0: unknown */
  GEMEM_EVENT_EVENT_RECORD = 7,
  /* id = event id, stream: waits for the last EVENT_RECORD with that id */
  GEMEM_EVENT_EVENT_WAIT = 8,
  GEMEM_EVENT_DEVICE_SYNC = 9,
  /* id = graph, size = static memory; aux = GRAPH_SEGMENT events that follow */
  GEMEM_EVENT_GRAPH_LOAD = 10,
  /* id = graph, stream: a run begins; it sets `size` bytes of its memory to zero, in aux memsets */
  GEMEM_EVENT_GRAPH_RUN = 11,
  GEMEM_EVENT_GRAPH_UNLOAD = 12, /* id = graph */
  GEMEM_EVENT_STEP = 13,         /* id = step number: a training step or an iteration begins */
  /* tag = name: a phase (an annotation) begins.  It lasts until its PHASE_END; in a trace without
   * any PHASE_END until the next PHASE */
  GEMEM_EVENT_PHASE = 14,
  GEMEM_EVENT_TRIM = 15, /* empty_cache / Release / recycle, by the program */
  /* a request that ran out of memory: size (as the recorder rounded it; 0: unknown), stream, pool,
   * aux = device free bytes */
  GEMEM_EVENT_OOM = 16,
  /* address, size, stream: the recorded allocator's own device calls */
  GEMEM_EVENT_SEGMENT_ALLOC = 17,
  GEMEM_EVENT_SEGMENT_FREE = 18,
  GEMEM_EVENT_SEGMENT_MAP = 19,
  GEMEM_EVENT_SEGMENT_UNMAP = 20,
  GEMEM_EVENT_SNAPSHOT = 21, /* size = total active bytes at that moment */
  /* id, size, stream: sets the first `size` bytes of a live block to aux (a byte) */
  GEMEM_EVENT_MEMSET = 22,
  /* id = graph, address = logical offset, size, aux = GEMEM_GRAPH_SEGMENT_* */
  GEMEM_EVENT_GRAPH_SEGMENT = 23,
  /* id = graph, stream: the host waited for the run; a run without this event is asynchronous */
  GEMEM_EVENT_GRAPH_RUN_END = 24,
  /* id, stream: the stream releases its reference to the block (counted); the block lives until
   * FREE */
  GEMEM_EVENT_STREAM_FREE = 25,
  /* size: capacity of the recorded device from here on, inferred from its refusals; 0: unknown from
   * here on.  An OOM event between reports a request that failed because of this limit */
  GEMEM_EVENT_DEVICE_LIMIT = 26,
  /* pool: the program released that private pool; aux = 1: its cache is released at once */
  GEMEM_EVENT_POOL_RELEASE = 27,
  GEMEM_EVENT_PHASE_END = 28, /* tag = name: the newest open phase of that name ends */
  /* pool: the program begins to allocate in that private pool (0: in none); aux = 1: as it captures
   * a graph */
  GEMEM_EVENT_POOL_BEGIN = 29,
  GEMEM_EVENT_POOL_END = 30, /* pool: the newest POOL_BEGIN of that pool ends */
  /* Memory that sleeps: kept at its addresses, without memory of the device
   * (GEMEM_TRACE_HAS_SLEEP). pool, tag: requests of that private pool are from here on of memory
   * that can sleep, under the name `tag`; aux = 1: while it is paused it has a copy on the host */
  GEMEM_EVENT_REGION_BEGIN = 31,
  /* pool: the end of it; aux = 1: segments without a block in use lose their memory for good */
  GEMEM_EVENT_REGION_END = 32,
  /* all memory that can, sleeps; tag = names, separated by commas, of what is copied to the host;
   * size = bytes that the program itself copies there, until the next WAKE */
  GEMEM_EVENT_SLEEP = 33,
  GEMEM_EVENT_PAUSE = 34, /* tag = names ("": all) of what sleeps */
  GEMEM_EVENT_WAKE = 35,  /* tag = names ("": all) of what has memory again, or none of it has */
  /* tag = the settings that the recorded allocator has from here on, as the program gave them to it
   * ("max_split_size_mb:20"; what is not named is as by default) (GEMEM_TRACE_HAS_SETTINGS) */
  GEMEM_EVENT_SETTINGS = 36,
  /* stream: the device has work there that it has not done; id names it, 0: it has no name
   * (GEMEM_TRACE_HAS_ORDER) */
  GEMEM_EVENT_WORK = 37,
  GEMEM_EVENT_WORK_DONE = 38, /* id: the device has done that work (GEMEM_TRACE_HAS_ORDER) */
  GEMEM_EVENT_KIND_COUNT
} GememEventKind;

/* TRUE of the kinds that only a trace with GEMEM_TRACE_HAS_SLEEP has. */
static inline gboolean
gemem_event_kind_sleeps (guint kind)
{
  return kind >= GEMEM_EVENT_REGION_BEGIN && kind <= GEMEM_EVENT_WAKE;
}

#define GEMEM_GRAPH_MEMSETS_MAX (1 << 20) /* of a GRAPH_RUN */

/* Kinds of segments of a graph's static memory (aux of GRAPH_SEGMENT). */
enum
{
  /* inputs and outputs that the caller's memory may replace */
  GEMEM_GRAPH_SEGMENT_ZERO_COPY = 1 << 0,
  GEMEM_GRAPH_SEGMENT_NO_ALLOC = 1 << 1, /* needs an address, but no memory of its own */
  GEMEM_GRAPH_SEGMENT_FIXED = 1 << 2,    /* must have the same address in all graphs */
  /* of a static subgraph of a dynamic graph: dynamic memory, allocated for each run */
  GEMEM_GRAPH_SEGMENT_SUBGRAPH = 1 << 3,
};

/* Flags of one event. */
enum
{
  GEMEM_EVENT_INITIAL = 1 << 0,   /* state from before the recording */
  GEMEM_EVENT_AMBIGUOUS = 1 << 1, /* the reader inferred size or address */
  GEMEM_EVENT_SMALL = 1 << 2,     /* segment or block of a small pool, as recorded */
  /* an ALLOC that the recorded allocator refused (out of memory), and the FREE of its id */
  GEMEM_EVENT_FAILED = 1 << 3,
};

/* The id of the block that holds the static memory of a graph, for policies that use a block
 * (sim/engine/graphs.h); distinct from all ids of blocks. */
#define GEMEM_GRAPH_BLOCK_ID(graph) ((graph) ^ G_GUINT64_CONSTANT (1) << 63)

/* The id of the request of an OOM event, where it is made again. */
#define GEMEM_REFUSED_ID G_MAXUINT64

#define GEMEM_DEVICE_HOST 0xffff /* GememTraceEvent.device of CPU memory */
#define GEMEM_NO_TAG 0           /* string 0 of the table is "" */

/* One event; 64 bytes.  Unused fields are 0. */
typedef struct
{
  guint64 time; /* ns since the start of the trace */
  guint64 id;
  guint64 size;    /* bytes as requested (GEMEM_TRACE_BLOCK_SIZES: as rounded by the recorder) */
  guint64 address; /* recorded */
  guint64 stream;  /* handle as recorded; 0 = default */
  guint64 aux;     /* ALLOC: recorded block size (0: unknown); OOM: device free */
  guint32 pool;    /* 0 = default pool */
  guint32 tag;     /* string table index: a name, or the category of a block */
  guint16 device;
  guint8 kind; /* GememEventKind */
  guint8 flags;
  guint32 stack; /* who caused the event: a stack of GememTraceInfo.stacks; 0: unknown */
} GememTraceEvent;

G_STATIC_ASSERT (sizeof (GememTraceEvent) == 64);

/* Facts about the whole trace. */
enum
{
  GEMEM_TRACE_HAS_TIME = 1 << 0,
  GEMEM_TRACE_HAS_ADDRESSES = 1 << 1,
  GEMEM_TRACE_HAS_SEGMENTS = 1 << 2,
  GEMEM_TRACE_BLOCK_SIZES = 1 << 3,      /* sizes are rounded block sizes (Kineto), not requests */
  GEMEM_TRACE_STARTS_IN_MIDDLE = 1 << 4, /* initial state present, or known to be missing */
  GEMEM_TRACE_TRUNCATED = 1 << 5,        /* read with allow_partial: the end is missing */
  GEMEM_TRACE_HAS_COMPLETION = 1 << 6,   /* frees come as FREE_REQUESTED / FREE_COMPLETED pairs */
  GEMEM_TRACE_IS_VECTOR = 1 << 7,        /* carries the expected decisions of a named allocator */
  GEMEM_TRACE_HAS_SLEEP = 1 << 8,        /* may have events of memory that sleeps: version 3 */
  GEMEM_TRACE_HAS_SETTINGS = 1 << 9,     /* may have changes of settings: version 4 */
  /* frees say in the order of which stream they take effect, and events what the device had not
   * done; a stream is taken as done with all else: version 5 */
  GEMEM_TRACE_HAS_ORDER = 1 << 10,
};

/* The flag that a trace with events of @kind has; 0: none. */
static inline guint32
gemem_event_kind_needs (guint kind)
{
  return gemem_event_kind_sleeps (kind)                              ? GEMEM_TRACE_HAS_SLEEP
         : kind == GEMEM_EVENT_SETTINGS                              ? GEMEM_TRACE_HAS_SETTINGS
         : kind == GEMEM_EVENT_WORK || kind == GEMEM_EVENT_WORK_DONE ? GEMEM_TRACE_HAS_ORDER
                                                                     : 0;
}

typedef struct _GememTraceInfo GememTraceInfo;

/* Of a row of a table of lifetimes, whose allocations have the ids 1, 2... */
typedef struct
{
  guint64 alignment; /* 0: none is named */
  guint64 place;     /* the offset that it has to have, or GEMEM_ANY_PLACE */
  guint32 tag, gaps; /* name; number of its gaps */
} GememTableRow;

/* Facts known after opening; counts are final after the last event.  Owned by the reader. */
struct _GememTraceInfo
{
  const char *format; /* name of the format read */
  char *path;
  guint32 flags; /* GEMEM_TRACE_* */
  /* number of events if known in advance, else 0; includes those that without_initial omits */
  guint64 events;
  guint64 ambiguities; /* initial blocks with inferred address or size */
  guint64 skipped; /* source events with nothing to replay (operators, kernels, host memory...) */
  guint64 pinned;  /* of these: of PyTorch's cache of pinned host memory, a trace of its own */
  char *sha256;    /* hex, of the recorded source (kept by native and text); NULL: unknown */
  GPtrArray *provenance;   /* "key: value" strings, in order: source, tool, options... */
  char *allocator;         /* the recorded allocator ("pytorch-caching"), or NULL */
  char *settings;          /* its settings, "key=value,...", used as default parameters; or NULL */
  char *device;            /* device settings, "capacity=...,address=bump"; or NULL */
  GPtrArray *strings;      /* tags; [0] is "" */
  GememCallStacks *stacks; /* of the events, whose frames refer to `strings`; NULL: none */
  /* What a table of lifetimes says and no event can, GememTableRow, and the gaps of its rows, GememLifeGap in
   * steps from the first of the table, by row, whose number is `item`; NULL: nothing. */
  GArray *table, *table_gaps;
  GHashTable *string_index; /* private to gemem_trace_info_intern() */
  guint32 indexed;          /* private: number of strings in the index */
};

typedef struct _GememTraceFormat GememTraceFormat;
typedef struct _GememTraceReader GememTraceReader;
typedef struct _GememInput GememInput; /* input.h: a byte stream, gz/zst transparent */

/* Which memory of devices counts. */
typedef enum
{
  GEMEM_MEMORY_ALL,
  GEMEM_MEMORY_OF_POOLS,     /* what was taken from the driver's memory pools (cudaMallocAsync()) */
  GEMEM_MEMORY_BESIDE_POOLS, /* all other */
} GememDeviceMemory;

typedef struct
{
  /* deliver the readable part of a damaged file and set GEMEM_TRACE_TRUNCATED */
  gboolean allow_partial;
  int device; /* only this device; -1: all (CUDA devices if there are any, else the host) */
  /* omit the initial state and all events about its blocks (initial.h) */
  gboolean without_initial;
  const char *torch; /* "2.11": the PyTorch that wrote a snapshot; NULL: inferred */
  /* "a, b": other formats that the caller can read, for messages; NULL: none */
  const char *others;
  /* of a journal: the calls alone, without the requests of an allocator above them */
  gboolean calls_only;
  GememDeviceMemory memory; /* of a journal */
  /* of a journal: managed memory is the host's, as where the driver moves it away
   * from a full device */
  gboolean managed_on_host;
  /* of a snapshot: the device refused nothing, so the program itself emptied the cache each time */
  gboolean never_refused;
} GememReadOptions;

/* Key of notes in a trace's provenance on what was left out; `plan` says it. */
#define GEMEM_TRACE_LEFT_OUT "left out"

#define GEMEM_READ_OPTIONS_DEFAULT \
  { \
    FALSE, -1, FALSE, NULL, NULL, FALSE, GEMEM_MEMORY_ALL, FALSE, FALSE \
  }

/* A format: one file and one line in formats.def. */
struct _GememTraceFormat
{
  const char *name;       /* "pytorch-snapshot" */
  const char *aliases;    /* '|' separated, or NULL */
  const char *extensions; /* "pickle|pkl", a hint only */
  const char *summary;    /* one line */
  const char *origin;     /* "peers.md 2.1" */
  /* Read in one pass that costs little, so anew for each replay; others are read once (held.h). */
  gboolean quick;
  /* The allocator of programs whose recordings do not name theirs; NULL: PyTorch's. */
  const char *assumed;
  /* Lists lifetimes: the time of an event is the step at which one begins or ends. */
  gboolean has_steps;
  /* Confidence 0..100 that @head (the first decompressed bytes, up to 4096) is this format. */
  int (*probe) (const guint8 *head, gsize size);
  /* Takes ownership of @input in all cases.  NULL for write-only formats. */
  GememTraceReader *(*open) (GememInput *input, const GememReadOptions *options, GError **error);
  /* NULL for read-only formats.  Writes @path atomically: the file is complete or absent. */
  struct _GememTraceWriter *(*create) (const char *path, const GememTraceInfo *info,
                                       GError **error);
};

/* Every reader embeds this first. */
struct _GememTraceReader
{
  const GememTraceFormat *format;
  GememTraceInfo info;
  /* The next events, valid until the next call: n > 0, 0 at the end, -1 with @error set.
   * Errors: GEMEM_ERROR_INPUT "FILE:LINE-or-EVENT: what; what to do". */
  gssize (*next) (GememTraceReader *reader, const GememTraceEvent **events, GError **error);
  /* Sets @seen[d], of 65 536, to 1 for each device d of all events, instead of next(); FALSE with
   * @error as there.  NULL: next() is asked for every event. */
  gboolean (*devices) (GememTraceReader *reader, guint8 *seen, GError **error);
  void (*close) (GememTraceReader *reader); /* frees the format's members and the reader */
  /* private to formats.c: GememReadOptions.without_initial, or NULL */
  struct _GememInitialFilter *filter;
  /* where gemem_trace_next() counts the events it delivered (atomic, a batch at a time), for
   * another thread that shows progress; NULL: nowhere */
  guint64 *delivered;
};

/* Opens a trace at its start: called for each pass over it, of which a replay may make fifty; from any
 * thread. */
typedef GememTraceReader *(*GememTraceSource) (gpointer data, GError **error);

typedef struct _GememTraceWriter GememTraceWriter;
struct _GememTraceWriter
{
  const GememTraceFormat *format;
  gboolean (*write) (GememTraceWriter *writer, const GememTraceEvent *events, gsize n,
                     GError **error);
  /* Completes the file (footer, rename into place) and frees the writer; on error the file is
   * removed. */
  gboolean (*finish) (GememTraceWriter *writer, GError **error);
  /* Removes the unfinished file and frees the writer. */
  void (*discard) (GememTraceWriter *writer);
};

/* Opens @path ("-": standard input) as @format; NULL: recognised by content.  @options: NULL for
 * the defaults.  Errors: GEMEM_ERROR_INPUT, GEMEM_ERROR_USAGE for an unknown format, and those of
 * the file system.  gemem_trace_close() frees the reader. */
GememTraceReader *gemem_trace_open (const char *path, const char *format,
                                    const GememReadOptions *options, GError **error);
/* As gemem_trace_open(), for @input; takes ownership of @input even on error. */
GememTraceReader *gemem_trace_open_input (GememInput *input, const char *format,
                                          const GememReadOptions *options, GError **error);
/* Reads the next events, valid until the next call; returns their number, 0 at the end, -1 with
 * GEMEM_ERROR_INPUT.  After an error the reader can only be closed. */
gssize gemem_trace_next (GememTraceReader *reader, const GememTraceEvent **events, GError **error);
/* Frees @reader (may be NULL) with its info and events, and closes the input. */
void gemem_trace_close (GememTraceReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememTraceReader, gemem_trace_close)

/* Creates a file in @format (NULL: by the extension of @path: .gmt native, .txt text, else an
 * error).
 * @info must stay valid until finish or discard.  Strings may be added to @info meanwhile; the file
 * holds the flags and counts that @info has at the end. */
GememTraceWriter *gemem_trace_create (const char *path, const char *format,
                                      const GememTraceInfo *info, GError **error);

/* All formats, in the order of formats.def; NULL-terminated. */
const GememTraceFormat *const *gemem_trace_formats (void);
const GememTraceFormat *gemem_trace_format_find (const char *name, GError **error);

/* Blocks to which their file gives a name in place of a number have ids from here on. */
#define GEMEM_NAMED_ID (G_GUINT64_CONSTANT (1) << 62)
/* "block 7", or "a block" where the file has a name instead, in @buffer of GEMEM_FORMAT_MAX bytes; returns
 * @buffer. */
const char *gemem_block_text (char *buffer, guint64 id);

const char *gemem_event_kind_name (GememEventKind kind); /* "alloc", "free-requested", ... */
/* Returns 0 if @name is not the name of a kind. */
GememEventKind gemem_event_kind_from_name (const char *name, gsize length);

/* Provenance of a dry run: what its verdict depends on, one each (dry/verdict/judge.c). */
#define GEMEM_TRACE_FRAMEWORK \
  "framework" /* whose requests they are, where its allocator is not its own: "JAX" */
#define GEMEM_TRACE_FRAMEWORK_JAX "JAX"
#define GEMEM_TRACE_ONLY_IF "only if"
/* Provenance of requests to PyTorch that calls for the host's pinned memory follow. */
#define GEMEM_TRACE_HOST "host memory"
/* Provenance of a program whose sizes are not all known: which, and what gives them a number. */
#define GEMEM_TRACE_OPEN "open"
/* Provenance of a file that holds a state and no requests: what to do for those. */
#define GEMEM_TRACE_STATE "state"

/* For readers and writers. */
void gemem_trace_info_init (GememTraceInfo *info, const char *format, const char *path);
void gemem_trace_info_clear (GememTraceInfo *info);
void gemem_trace_info_copy (GememTraceInfo *to, const GememTraceInfo *from);
void gemem_trace_info_note (GememTraceInfo *info, const char *key, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
/* What the first note of @key says; NULL: there is none. */
const char *gemem_trace_info_said (const GememTraceInfo *info, const char *key);
/* TRUE if the events are those of a file of @format, also in a copy of it. */
gboolean gemem_trace_info_came_from (const GememTraceInfo *info, const char *format);
/* Index of @string in the table; a new string is added.  O(length), by hash. */
guint32 gemem_trace_info_intern (GememTraceInfo *info, const char *string);
/* The call stacks of @info, created by the first call; owned by @info. */
GememCallStacks *gemem_trace_info_stacks (GememTraceInfo *info);
/* Drops the events of devices other than @device (steps and phases stay; -1: drops none); returns
 * the number of remaining events. */
gssize gemem_trace_filter_device (GememTraceEvent *events, gssize n, int device);
/* The provenance for a file written from @info: that of @info, plus the format of the source, named
 * once.  Free with g_ptr_array_unref(). */
GPtrArray *gemem_trace_info_provenance (const GememTraceInfo *info);

GEMEM_END_DECLS
