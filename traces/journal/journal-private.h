/* journal-private.h - the state and the functions shared by state.c, pools.c,
 * physical.c, places.c, legacy.c and requests.c. */
#pragma once

#include "base/idmap.h"
#include "traces/journal/journal.h"
#include "traces/symbols.h"

typedef enum
{
  JOURNAL_KIND_PLAIN,
  JOURNAL_KIND_MANAGED,
  JOURNAL_KIND_PHYSICAL,
  JOURNAL_KIND_ARRAY,
  JOURNAL_KIND_REGISTERED,
} JournalKind;

/* A block. */
typedef struct
{
  guint64 id, stream, context, device;
  guint64 number; /* of `stream`, in the trace */
} JournalLive;

/* A block of physical memory, and how many handles and mappings hold it. */
typedef struct
{
  guint64 device;
  guint32 references, mappings;
} JournalPhysical;

typedef struct
{
  guint64 size, id;
} JournalMapping;

/* A pool: its number, 0 for the own pool of a device, the device of its memory, and its attributes
 * (bits of 1 << JournalAttribute: switched off). */
typedef struct
{
  guint64 number, device;
  guint64 threshold, keeps; /* keeps: what the last trim left */
  guint64 limit;            /* bytes; 0: none */
  guint32 off;
} JournalPool;

/* What a replay, which has one pool, is told of the pools of a device. */
typedef struct
{
  guint64 only;  /* 1 + number of the pool that all memory is of; 0: none yet, or JOURNAL_SEVERAL */
  guint64 limit; /* bytes; 0: none */
  JournalPool set;
} JournalPools;

#define JOURNAL_SEVERAL G_MAXUINT64

/* Requests of an allocator above the calls. */
typedef struct _JournalRequests JournalRequests;

/* An event of CUDA. */
typedef struct
{
  guint64 number;
  guint64 device; /* of the stream that recorded it last */
} JournalMark;

/* A stream that follows the legacy default stream of its device, and is followed by it. */
typedef struct
{
  guint64 number; /* in the trace; 0: it has done nothing yet */
  guint64 event;  /* in the trace, by which the legacy stream waits for it; 0: none yet */
  guint64 seen;   /* acts of the legacy stream that it follows */
  guint16 device;
  gboolean acted; /* since the legacy stream followed it */
} JournalFollower;

/* The legacy default stream of a device. */
typedef struct
{
  guint64 acts;  /* places in the order of work that it has taken */
  guint64 event; /* by which others wait for it; 0: none yet */
  GArray *acted; /* keys of followers that acted since it followed them; NULL: none ever did */
} JournalLegacy;

/* Where Python's main thread was at the calls up to number @sequence. */
typedef struct
{
  guint64 sequence;
  guint32 thread, stack;
} JournalPlace;

struct _JournalState
{
  GememTraceInfo *info;
  GememDeviceMemory memory; /* that counts */
  gboolean managed_on_host;
  gboolean ordered;           /* frees name their stream, and queries are told from waits */
  gboolean pooled;            /* memory of pools was seen */
  gboolean with_work, worked; /* launches are recorded; there was one */
  GememIdMap *busy;           /* device, number of a stream that may have work which is not done */
  JournalRequests *requests;  /* NULL: there is no such allocator */
  GememIdMap *blocks;         /* address -> JournalLive */
  GememIdMap *physical;       /* id -> JournalPhysical */
  GememIdMap *handles;        /* handle -> id */
  GememIdMap *mappings;       /* address -> JournalMapping */
  GememIdMap *streams, *threads; /* -> guint64 number */
  GememIdMap *events;            /* -> JournalMark */
  GememIdMap *pools;             /* handle -> JournalPool */
  GememIdMap *foreign;           /* omitted addresses and handles, until they are freed */
  GememIdMap *stacks;            /* number -> stack in `info` */
  GArray *places;                /* JournalPlace, ascending */
  guint place;                   /* the first that is not behind the call being converted */
  GememIdMap *joined; /* native stack, place, whether of another thread -> stack in `info` */
  GememIdMap *tags;   /* kind, thread -> tag */
  GememSymbols *symbols;
  gboolean attributes;  /* pools tell how they are set */
  guint64 set_pool;     /* 1 + number of the pool whose attributes the trace has; 0: none yet */
  gboolean set_several; /* of several */
  gboolean unlimited;   /* a pool with a limit was not the only one */
  JournalPools told[JOURNAL_MAX_DEVICES];
  gboolean told_streams; /* created streams are recorded */
  GememIdMap *followers; /* key -> JournalFollower */
  JournalLegacy legacy[JOURNAL_MAX_DEVICES];
  guint64 last_id, last_stream, last_event, last_pool, last_time;
  guint64 unknown, unseen; /* frees of unknown memory; frees that were not recorded */
  guint64 left_out[JOURNAL_LEFT_COUNT];
  guint64 current_pool[JOURNAL_MAX_DEVICES]; /* handles; 0: the own pool of the device */
  GArray *out;
  guint64 time;
  guint32 stack; /* of the call being converted */
};

/* Appends an event; the pointer is valid until the next one. */
static inline GememTraceEvent *
gemem_journal_emit (JournalState *state, GememEventKind kind, guint64 device, guint64 id)
{
  const guint at = state->out->len;
  GememTraceEvent *event;

  g_array_set_size (state->out, at + 1); /* zeroed */
  event = &g_array_index (state->out, GememTraceEvent, at);
  event->kind = (guint8) kind;
  event->time = state->time;
  event->device = (guint16) device;
  event->id = id;
  event->stack = state->stack;
  return event;
}

/* The number of @key in @map; a new @key gets *@last + 1. */
static inline guint64
gemem_journal_number_of (GememIdMap *map, guint64 key, guint64 *last)
{
  gboolean existed;
  guint64 *number = gemem_idmap_insert (map, key, &existed);

  if (!existed)
    *number = ++*last;
  return *number;
}

/* The number of the stream of @record in the trace. */
static inline guint64
gemem_journal_stream_of (JournalState *state, const JournalRecord *record)
{
  return record->r == 0 ? 0
                        : gemem_journal_number_of (state->streams, record->r, &state->last_stream);
}

/* Appends the ALLOC of the memory of @record as a new block; returns its id. */
guint64 gemem_journal_emit_alloc (JournalState *state, const JournalRecord *record, guint64 address,
                                  JournalKind kind);
/* Omits a free of @key (address or handle) that is no block; counts the free if @key is unknown. */
void gemem_journal_unknown_free (JournalState *state, guint64 key);

/* places.c: the stack of the call @record, in `info`; 0: it has none.  Calls in ascending order. */
guint32 gemem_journal_stack_of (JournalState *state, const JournalRecord *record);

/* pools.c: the pool of the memory of @record, which may be on a device that is not current. */
JournalPool gemem_journal_pool_of (JournalState *state, const JournalRecord *record);
/* Memory of a pool is asked for by @record: from then on the pool's limit counts, or none. */
void gemem_journal_pool_follow_limit (JournalState *state, const JournalRecord *record);
/* Takes a call about a pool. */
void gemem_journal_pool_call (JournalState *state, const JournalRecord *record);

/* physical.c: each function handles the call of its name. */
void gemem_journal_create (JournalState *state, const JournalRecord *record);
void gemem_journal_retain (JournalState *state, const JournalRecord *record);
void gemem_journal_release (JournalState *state, const JournalRecord *record);
void gemem_journal_map_page (JournalState *state, const JournalRecord *record);
void gemem_journal_unmap (JournalState *state, const JournalRecord *record);

/* legacy.c: streams that follow the legacy default stream.  A stream is made and ends by the calls @record; before what
 * else takes a place in the order of a stream, act() appends the events by which it follows others.  O(1) amortised. */
void gemem_journal_legacy_create (JournalState *state, const JournalRecord *record);
void gemem_journal_legacy_destroy (JournalState *state, const JournalRecord *record);
void gemem_journal_legacy_act (JournalState *state, const JournalRecord *record);
void gemem_journal_legacy_clear (JournalState *state);

/* requests.c */
JournalRequests *gemem_journal_requests_new (void);
void gemem_journal_requests_free (JournalRequests *requests); /* may be NULL */
/* Append the events of a request, and of the end of its block; @made: time, device, stack,
 * stream and a new id. take(): TRUE if a block was live there, whose end was not seen; drop():
 * FALSE if none was. */
gboolean gemem_journal_requests_take (JournalRequests *requests, const JournalRecord *record,
                                      const GememTraceEvent *made, GArray *events);
gboolean gemem_journal_requests_drop (JournalRequests *requests, const JournalRecord *record,
                                      const GememTraceEvent *made, GArray *events);
/* Makes of the events from number @first on, to which the call @record was converted, what they are
 * below the allocator. */
void gemem_journal_requests_sort (JournalRequests *requests, const JournalRecord *record,
                                  GArray *events, guint first);
/* Notes what was left out. */
void gemem_journal_requests_end (const JournalRequests *requests, GememTraceInfo *info);
