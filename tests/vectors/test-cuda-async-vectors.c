/* test-cuda-async-vectors.c - the pools of `cuda-async` decide as an H100 did: every address, error
 * and attribute of the logs in shared/gpu/cuda-async (format: its README).
 *
 * A pool has a simulated device of its own, whose events are complete unless a gate is closed that
 * their stream is behind; what a stream waits for is told to all pools.  In e12 each capture is a
 * pool that never hears of the device, and what it placed becomes a graph: every upload, launch and
 * trim has the log's result, and every attribute of graph memory, and the free memory, its value.
 *
 * What each pool is told is written as a trace, too (has-order), and that file is replayed by the
 * engine like any other: every address must be the recorded one, and every refusal a refusal.
 *
 * The same is written as a journal of gemem-record, too: what a recorded program would have called,
 * with work where a gate is closed and a question where it has opened.  That journal as a trace
 * decides alike.
 *
 * Not replayed: the five requests of e10 while two pools share a full device, and what a plain
 * allocation there takes from them: a pool here knows of no other (peers.md 1d).
 */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>

#include "allocators/cuda/async.h"
#include "allocators/cuda/graph-memory.h"
#include "sim/engine/replay.h"
#include "tests/util/device-contract.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"
#include "traces/journal/format.h"

#define LEGACY 16 /* the number here of the stream that the files call "-" */
#define STREAMS 17
#define POOLS 8
#define CAPTURE 7 /* the number here of the pool of a capture */
/* Events that are no line of a file: by which streams that block follow one another, which a journal does not hold, and by
 * which a stream was behind a gate before the trace. */
#define JOIN_ID 1000000
#define GATE_ID (JOIN_ID + 1)
#define TOTAL G_GUINT64_CONSTANT (85017493504)
#define RANGE (5068 * G_GUINT64_CONSTANT (33554432))
#define FAILED G_MAXUINT64
#define HOST 99 /* the stream by which a trace says that the host waits for an event */
#define BASE G_GUINT64_CONSTANT (0x200000000000)

static const struct
{
  const char *name;
  guint allocs, graph_lines; /* 35 endcap, 31 upload, 72 launch, 35 gtrim, 333 gattr, 137 info */
} files[] = {
  { "e01-sizes", 769 },
  { "e02-growth", 4660 },
  { "e03-fit", 11292 },
  { "e04-split-merge", 218 },
  { "e05-streams", 1622 },
  { "e06-release", 5263 },
  { "e07-trim", 2619 },
  { "e08-remap", 2806 },
  { "e09-limit", 431 },
  { "e10-full", 117 },
  { "e12-graphs", 319, 643 },
  { "t01-training-1", 9740 },
  { "t03-serving-1", 3244 },
  { "t05-large-1", 1518 },
  { "t07-four-streams-1", 3871 },
  { "t09-pressure-streams-1", 2926 },
  { "t11-threshold-x-1", 2501 },
  { "t13-training-threshold-0", 3664 },
  { "t15-random-no-attributes", 6193 },
  { "t19-multiples-2m", 3059 },
  { "t21-flags", 2451 },
};

typedef struct
{
  GememAllocator *allocator;
  guint64 base; /* address of its first block in the log; 0: none yet */
  guint64 reserved, used, reserved_high, used_high;
  char *path, *device; /* of the trace */
  GememTraceInfo info;
  GememTraceWriter *trace;
  GHashTable *seen; /* events that the trace has recorded */
  guint64 requests, refused;
  GByteArray *journal;
  GHashTable *places; /* id of a block -> its address in the journal */
  guint64 calls;
} Pool;

typedef struct
{
  guint pool;
  GememBlock block; /* handle NULL: freed, failed, or of 0 bytes */
  guint graph;      /* of `graphs`, from 1; 0: none */
  guint in_graph;   /* which of its blocks */
} Block;

typedef struct
{
  GememCudaGraph *graph;
  guint64 base, end; /* its addresses */
  gboolean destroyed;
} Graph;

typedef struct
{
  Pool pools[POOLS];
  GArray *blocks;                                      /* Block by ID */
  gboolean blocking[STREAMS], attributes, full, skips; /* full: e10 */
  guint64 free;                                        /* of the device, as the log last said */
  guint line, allocs;
  guint64 works[STREAMS];             /* id of the work that a closed gate is; 0: it is open */
  guint64 last_work, replayed, empty; /* empty: requests of 0 bytes, which no trace compares */
  GememDevice *device;                /* of graphs */
  GememCudaGraphMemory *memory;
  GArray *captured;                   /* GememCudaGraphBlock */
  GArray *graphs;                     /* Graph, all of them */
  guint graph_of[POOLS], exec[POOLS]; /* numbers of the file -> of `graphs`, from 1 */
  gboolean frees[POOLS];              /* executables with auto-free */
  guint64 free_at_first;
  guint graph_lines;
} Replay;

/* ---- the device: streams behind gates */

static guint32 behind[STREAMS]; /* closed gates, a bit for each stream */
static GArray *marks;           /* guint32: of the events that pools record */
static GArray *recorded;        /* guint32: of the events of the file */

static GememDeviceEvent
record_gated (G_GNUC_UNUSED GememDevice *device, guint64 stream)
{
  g_array_append_val (marks, behind[stream]);
  return marks->len;
}

static gboolean
query_gated (G_GNUC_UNUSED GememDevice *device, GememDeviceEvent event)
{
  return g_array_index (marks, guint32, event - 1) == 0;
}

static void
open_gate (guint stream)
{
  const guint32 left = ~(1u << stream);

  for (guint i = 0; i < STREAMS; i++)
    behind[i] &= left;
  for (guint i = 0; i < marks->len; i++)
    g_array_index (marks, guint32, i) &= left;
  for (guint i = 0; i < recorded->len; i++)
    g_array_index (recorded, guint32, i) &= left;
}

/* ---- pools */

static GememCudaPool *
pool_of (const Replay *replay, guint number)
{
  return (GememCudaPool *) replay->pools[number].allocator;
}

static void
compare (const Replay *replay, const char *what, guint64 got, guint64 expected)
{
  if (got != expected)
    g_error ("line %u: %s is %" G_GUINT64_FORMAT ", not %" G_GUINT64_FORMAT, replay->line, what,
             got, expected);
}

/* ---- the same as a trace */

/* ---- the same as a journal */

#define OWN_POOL 77 /* the handle of the pool */

static void
add_call (Pool *pool, JournalRecord record)
{
  const guint at = pool->journal->len;

  if (at % JOURNAL_BLOCK == 0)
    {
      const JournalBlock head = { .first = pool->calls + 1, .magic = JOURNAL_BLOCK_MAGIC };
      g_byte_array_append (pool->journal, (const guint8 *) &head, sizeof head);
    }
  record.sequence = ++pool->calls;
  record.time = record.sequence;
  record.thread = 1;
  g_byte_array_append (pool->journal, (const guint8 *) &record, sizeof record);
}

/* The handle of a stream, as a journal has it. */
static guint64
handle_of (guint64 stream)
{
  return stream == LEGACY ? 0 : (stream + 1) << 8;
}

static void
begin_journal (Pool *pool, guint64 max)
{
  const JournalHeader header = {
    .magic = JOURNAL_MAGIC, .version = JOURNAL_VERSION, .slot_size = JOURNAL_SLOT, .attributes = 1
  };

  pool->journal = g_byte_array_new ();
  g_byte_array_append (pool->journal, (const guint8 *) &header, sizeof header);
  g_byte_array_set_size (pool->journal, JOURNAL_BLOCK);
  memset (pool->journal->data + sizeof header, 0, JOURNAL_BLOCK - sizeof header);
  pool->places = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  add_call (pool, (JournalRecord){ .call = JOURNAL_POOL_CREATE, .p = OWN_POOL, .q = max });
}

static void
add_attributes (Pool *pool, const GememCudaPoolParams *params)
{
  const guint64 values[] = { [JOURNAL_POOL_FOLLOW] = params->follow_event_dependencies,
                             [JOURNAL_POOL_OPPORTUNISTIC] = params->allow_opportunistic,
                             [JOURNAL_POOL_INTERNAL] = params->allow_internal_dependencies,
                             [JOURNAL_POOL_THRESHOLD] = params->release_threshold };

  for (guint i = JOURNAL_POOL_FOLLOW; i <= JOURNAL_POOL_THRESHOLD; i++)
    add_call (pool, (JournalRecord){
                        .call = JOURNAL_POOL_ATTRIBUTE, .p = OWN_POOL, .q = i, .r = values[i] });
}

/* What a program calls that does @event. */
static void
call_of (Pool *pool, const GememTraceEvent *event)
{
  const guint64 stream = handle_of (event->stream);
  const guint64 *place = g_hash_table_lookup (pool->places, &event->id);
  JournalRecord record = { .r = stream };

  switch (event->kind)
    {
    case GEMEM_EVENT_ALLOC:
      record.call = (event->flags & GEMEM_EVENT_FAILED) != 0 ? JOURNAL_ALLOC_FAILED
                                                             : JOURNAL_ALLOC_POOL;
      record.p = event->address;
      record.q = event->size;
      record.s = record.call == JOURNAL_ALLOC_POOL ? OWN_POOL : 0;
      if (record.call == JOURNAL_ALLOC_POOL)
        g_hash_table_replace (pool->places, g_memdup2 (&event->id, 8),
                              g_memdup2 (&event->address, 8));
      break;
    case GEMEM_EVENT_FREE:
      if (place == NULL)
        return;
      record.call = JOURNAL_FREE_ASYNC;
      record.p = *place;
      g_hash_table_remove (pool->places, &event->id);
      break;
    case GEMEM_EVENT_EVENT_RECORD:
    case GEMEM_EVENT_EVENT_WAIT:
      if (event->id == JOIN_ID)
        return;
      record.call = event->kind == GEMEM_EVENT_EVENT_RECORD ? JOURNAL_EVENT_RECORD
                                                            : JOURNAL_EVENT_WAIT;
      record.p = event->id + 1;
      break;
    case GEMEM_EVENT_STREAM_SYNC:
      record.call = JOURNAL_STREAM_SYNC;
      record.q = event->aux;
      break;
    case GEMEM_EVENT_DEVICE_SYNC:
      record.call = JOURNAL_DEVICE_SYNC;
      break;
    case GEMEM_EVENT_WORK:
      record.call = JOURNAL_WORK;
      break;
    case GEMEM_EVENT_TRIM:
      record.call = JOURNAL_POOL_TRIM;
      record.p = OWN_POOL;
      record.q = MIN (((GememCudaPool *) pool->allocator)->params.trim_to, JOURNAL_MAX_SIZE);
      break;
    case GEMEM_EVENT_SETTINGS:
      add_attributes (pool, &((GememCudaPool *) pool->allocator)->params);
      return;
    default:
      return;
    }
  add_call (pool, record);
}

/* The journal as a trace, in place of the other one; its calls tell the limit of the pool. */
static void
convert_journal (Pool *pool)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (test_tmpdir (), "pool.gmj", NULL);
  const char *others = strchr (pool->info.settings, ',');
  GememTraceReader *reader;
  GememTraceWriter *writer;
  const GememTraceEvent *events;
  gssize n;

  while (pool->journal->len % JOURNAL_BLOCK != 0) /* the last block is whole */
    g_byte_array_append (pool->journal, (const guint8[JOURNAL_SLOT]){ 0 }, JOURNAL_SLOT);
  g_file_set_contents (path, (const char *) pool->journal->data, pool->journal->len, &error);
  g_assert_no_error (error);
  reader = gemem_trace_open (path, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (reader->info.flags & (GEMEM_TRACE_HAS_ORDER | GEMEM_TRACE_HAS_SETTINGS), ==,
                    GEMEM_TRACE_HAS_ORDER | GEMEM_TRACE_HAS_SETTINGS);
  reader->info.allocator = g_strdup (pool->info.allocator);
  reader->info.settings = g_strdup (others != NULL ? others + 1 : "");
  reader->info.flags |= GEMEM_TRACE_IS_VECTOR;
  writer = gemem_trace_create (pool->path, NULL, &reader->info, &error);
  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    g_assert_true (writer->write (writer, events, (gsize) n, &error));
  g_assert_no_error (error);
  g_assert_true (writer->finish (writer, &error));
  gemem_trace_close (reader);
  g_unlink (path);
}

static void
write_event (Pool *pool, GememTraceEvent event)
{
  g_autoptr (GError) error = NULL;

  if (pool->trace != NULL)
    call_of (pool, &event);
  if (pool->trace != NULL)
    pool->trace->write (pool->trace, &event, 1, &error);
  g_assert_no_error (error);
}

static void
write_to_all (Replay *replay, GememTraceEvent event)
{
  for (guint i = 0; i < POOLS; i++)
    write_event (&replay->pools[i], event);
}

static void
write_mark (Pool *pool, gboolean wait, guint64 id, guint stream)
{
  if (pool->trace == NULL || (wait && !g_hash_table_contains (pool->seen, GUINT_TO_POINTER (id))))
    return;
  if (!wait)
    g_hash_table_add (pool->seen, GUINT_TO_POINTER (id));
  write_event (pool,
               (GememTraceEvent){ .kind = wait ? GEMEM_EVENT_EVENT_WAIT : GEMEM_EVENT_EVENT_RECORD,
                                  .id = id,
                                  .stream = stream });
}

/* Streams that are behind a closed gate when the trace begins. */
static void
write_gates (const Replay *replay, Pool *pool)
{
  for (guint gate = 0; gate < STREAMS; gate++)
    if (replay->works[gate] != 0)
      write_event (pool, (GememTraceEvent){
                             .kind = GEMEM_EVENT_WORK, .id = replay->works[gate], .stream = gate });
  for (guint gate = 0; gate < STREAMS; gate++)
    for (guint i = 0; replay->works[gate] != 0 && i < STREAMS; i++)
      if (i != gate && (behind[i] >> gate & 1) != 0)
        {
          write_mark (pool, FALSE, GATE_ID, gate);
          write_mark (pool, TRUE, GATE_ID, i);
        }
}

static void
begin_trace (const Replay *replay, Pool *pool, guint64 max, const char *spec, const char *device)
{
  g_autoptr (GError) error = NULL;

  pool->path = g_build_filename (test_tmpdir (), "pool.gmt", NULL);
  pool->device = g_strdup (device);
  pool->seen = g_hash_table_new (NULL, NULL);
  gemem_trace_info_init (&pool->info, "vector", pool->path);
  pool->info.flags = GEMEM_TRACE_HAS_ORDER | GEMEM_TRACE_HAS_SETTINGS | GEMEM_TRACE_HAS_ADDRESSES
                     | GEMEM_TRACE_IS_VECTOR;
  pool->info.allocator = g_strdup ("cuda-async");
  pool->info.settings = g_strdup (strchr (spec, ':') + 1);
  pool->trace = gemem_trace_create (pool->path, NULL, &pool->info, &error);
  g_assert_no_error (error);
  begin_journal (pool, max);
  for (guint i = 0; i < LEGACY; i++)
    if (replay->blocking[i])
      add_call (pool, (JournalRecord){ .call = JOURNAL_STREAM_CREATE, .r = handle_of (i), .q = 1 });
  add_attributes (pool, &((GememCudaPool *) pool->allocator)->params);
  write_gates (replay, pool);
}

static GememTraceReader *
open_trace (gpointer path, GError **error)
{
  return gemem_trace_open (path, NULL, NULL, error);
}

/* Replays the trace: @expected decisions were compared, all are equal, and the refused requests
 * were refused. */
static void
replay_trace (const Replay *replay, const Pool *pool, guint64 expected)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GError) error = NULL;
  GememJob job = { .device_spec = pool->device,
                   .device_ordinal = -1,
                   .source = open_trace,
                   .source_data = pool->path,
                   .use_trace_settings = TRUE };
  GememResult *result;

  gemem_allocator_spec_parse ("cuda-async", specs, &error);
  g_assert_no_error (error);
  job.allocator = specs->pdata[0];
  result = gemem_job_run (&job, &error);
  g_assert_no_error (error);
  const GememFidelity fidelity = result->fidelity;
  if (fidelity.equal != expected || fidelity.compared != expected)
    g_error ("line %u: the trace has %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
             " decisions equal of %" G_GUINT64_FORMAT "; event %" G_GUINT64_FORMAT
             " is at 0x%" G_GINT64_MODIFIER "x, not 0x%" G_GINT64_MODIFIER "x",
             replay->line, fidelity.equal, fidelity.compared, expected, fidelity.first_difference,
             fidelity.got_address, fidelity.expected_address);
  g_assert_true ((result->failed_allocs > 0) == (pool->refused > 0)); /* attempts count once */
  g_assert_null (result->approximation);
  gemem_result_free (result);
}

/* Replays what was written, both ways; returns how many decisions were compared. */
static guint64
end_trace (const Replay *replay, Pool *pool)
{
  g_autoptr (GError) error = NULL;

  pool->trace->finish (pool->trace, &error);
  g_assert_no_error (error);
  replay_trace (replay, pool, pool->requests);
  convert_journal (pool);
  replay_trace (replay, pool, pool->requests - pool->refused); /* `oom` has no decision */
  g_byte_array_unref (pool->journal);
  g_hash_table_unref (pool->places);
  gemem_trace_info_clear (&pool->info);
  g_hash_table_unref (pool->seen);
  g_unlink (pool->path);
  g_free (pool->path);
  g_free (pool->device);
  return pool->requests;
}

/* A request that got @address, as the log counts. */
static void
write_alloc (Pool *pool, guint64 id, const GememRequest *request, guint64 address)
{
  const gboolean failed = address == FAILED;
  const guint8 flags = failed ? GEMEM_EVENT_FAILED : 0;

  if (request->size == 0)
    return;
  pool->requests++;
  pool->refused += failed;
  write_event (pool, (GememTraceEvent){ .kind = GEMEM_EVENT_ALLOC,
                                        .id = id,
                                        .size = request->size,
                                        .stream = request->stream,
                                        .address = failed ? 0 : address - pool->base + BASE,
                                        .flags = flags });
  if (failed)
    write_event (pool, (GememTraceEvent){ .kind = GEMEM_EVENT_FREE, .id = id, .flags = flags });
}

/* The attributes of @pool from here on. */
static void
write_settings (Pool *pool)
{
  const GememCudaPoolParams *params = &((GememCudaPool *) pool->allocator)->params;
  g_autofree char *threshold = params->release_threshold == G_MAXUINT64
                                   ? g_strdup ("unlimited")
                                   : g_strdup_printf ("%" G_GUINT64_FORMAT "B",
                                                      params->release_threshold);
  g_autofree char *text = g_strdup_printf (
      "release_threshold=%s,trim_to=%" G_GUINT64_FORMAT
      "B,reuse_follow_event_dependencies=%s,reuse_allow_opportunistic=%s,"
      "reuse_allow_internal_dependencies=%s",
      threshold, params->trim_to, params->follow_event_dependencies ? "yes" : "no",
      params->allow_opportunistic ? "yes" : "no",
      params->allow_internal_dependencies ? "yes" : "no");

  write_event (pool, (GememTraceEvent){ .kind = GEMEM_EVENT_SETTINGS,
                                        .tag = gemem_trace_info_intern (&pool->info, text) });
}

/* ---- making and ending pools */

static void
make_pool (Replay *replay, guint number, guint64 max, const char *settings)
{
  static GememDeviceClass klass;
  g_autofree char *spec = g_strdup_printf ("cuda-async:max_size=%" G_GUINT64_FORMAT "B%s", max,
                                           settings);
  Pool *pool = &replay->pools[number];

  if (pool->allocator != NULL)
    g_error ("line %u", replay->line);
  g_autofree char *device = g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT "B",
                                             replay->full ? replay->free : TOTAL);

  *pool = (Pool){ .allocator = test_allocator_new (spec, device) };
  pool_of (replay, number)->range_size = RANGE;
  klass = *pool->allocator->device->klass;
  klass.event_record = record_gated;
  klass.event_query = query_gated;
  pool->allocator->device->klass = &klass;
  begin_trace (replay, pool, max, spec, device);
  for (guint i = 0; i < 2; i++) /* two streams: the pool records an event with every free */
    pool->allocator->klass->streams.record (pool->allocator, JOIN_ID, i, G_MAXUINT64);
}

static void
end_pool (Replay *replay, guint number)
{
  g_autoptr (GError) error = NULL;

  gemem_cuda_pool_check (replay->pools[number].allocator, &error);
  g_assert_no_error (error);
  g_clear_pointer (&replay->pools[number].allocator, test_allocator_destroy);
  replay->replayed += end_trace (replay, &replay->pools[number]);
  replay->pools[number].trace = NULL;
  for (guint i = 0; i < replay->blocks->len; i++)
    if (g_array_index (replay->blocks, Block, i).pool == number)
      g_array_index (replay->blocks, Block, i).block.handle = NULL;
}

/* ---- streams */

static guint
stream_of (const char *word)
{
  return strcmp (word, "-") == 0 ? LEGACY : (guint) g_ascii_strtoull (word, NULL, 10);
}

static void
tell (Replay *replay, gboolean wait, guint64 id, guint stream)
{
  for (guint i = 0; i < POOLS; i++)
    {
      GememAllocator *a = replay->pools[i].allocator;

      write_mark (&replay->pools[i], wait, id, stream);
      if (a != NULL && wait)
        a->klass->streams.wait (a, id, stream);
      else if (a != NULL)
        a->klass->streams.record (a, id, stream, G_MAXUINT64);
    }
}

static void
join (Replay *replay, guint from, guint to)
{
  tell (replay, FALSE, JOIN_ID, from);
  tell (replay, TRUE, JOIN_ID, to);
  behind[to] |= behind[from];
}

/* Work on @stream: the legacy stream and blocking streams follow one another. */
static guint
work_on (Replay *replay, const char *word)
{
  const guint stream = stream_of (word);

  for (guint i = 0; stream == LEGACY && i < LEGACY; i++)
    if (replay->blocking[i])
      join (replay, i, LEGACY);
  if (stream != LEGACY && replay->blocking[stream])
    join (replay, LEGACY, stream);
  return stream;
}

static void
host_waits (Replay *replay, guint64 stream)
{
  const gboolean all = stream == G_MAXUINT64;

  write_to_all (replay,
                (GememTraceEvent){ .kind = all ? GEMEM_EVENT_DEVICE_SYNC : GEMEM_EVENT_STREAM_SYNC,
                                   .stream = all ? 0 : stream });
  for (guint i = 0; i < POOLS; i++)
    if (replay->pools[i].allocator != NULL)
      gemem_cuda_pool_sync (replay->pools[i].allocator, stream);
}

/* ---- lines */

static guint64
number (const char *word)
{
  static const char suffixes[] = "kmg";
  char *end;
  guint64 value = g_ascii_strtoull (word, &end, 10);

  if (strcmp (word, "max") == 0)
    return G_MAXUINT64;
  if (*end != '\0')
    value <<= 10 * (guint) (strchr (suffixes, *end) - suffixes + 1);
  return value;
}

static Block *
block_of (Replay *replay, const char *word)
{
  const guint id = (guint) number (word);

  if (id >= replay->blocks->len)
    g_array_set_size (replay->blocks, id + 1);
  return &g_array_index (replay->blocks, Block, id);
}

/* The block must lie where the log says, or fail as there. */
static void
run_alloc (Replay *replay, char **words, const char *said)
{
  const guint number_of_pool = strcmp (words[2], "-") == 0 ? CAPTURE : (guint) number (words[2]);
  Pool *pool = &replay->pools[number_of_pool];
  const GememRequest request = { .stream = work_on (replay, words[3]), .size = number (words[4]) };
  Block *block = block_of (replay, words[1]);
  const guint64 expected = *said == 'E' ? FAILED : g_ascii_strtoull (said, NULL, 16);
  guint64 got = FAILED;

  *block = (Block){ .pool = number_of_pool,
                    .graph = number_of_pool == CAPTURE ? replay->graphs->len + 1 : 0,
                    .in_graph = replay->captured->len };
  replay->allocs++;
  replay->empty += request.size == 0;
  if (gemem_cuda_pool_alloc (pool->allocator, &request, &block->block))
    got = block->block.address;
  if (pool->base == 0 && expected != FAILED && expected != 0)
    pool->base = expected;
  write_alloc (pool, number (words[1]), &request, expected);
  if (number_of_pool == CAPTURE)
    {
      const GememCudaGraphBlock captured = { .offset = expected - pool->base,
                                             .size = request.size,
                                             .stays = TRUE };
      g_array_append_val (replay->captured, captured);
    }
  if (got != FAILED && got != 0)
    got = got - pool_of (replay, number_of_pool)->range + pool->base;
  if (got != expected)
    g_error ("line %u: block at 0x%" G_GINT64_MODIFIER "x, not 0x%" G_GINT64_MODIFIER "x",
             replay->line, got, expected);
}

/* While the graph is captured, the graph frees the block; afterwards the program does. */
static void
free_in_graph (Replay *replay, const Block *block)
{
  if (block->graph > replay->graphs->len)
    g_array_index (replay->captured, GememCudaGraphBlock, block->in_graph).stays = FALSE;
  else if (block->graph > 0)
    g_assert_true (gemem_cuda_graph_free_block (
        g_array_index (replay->graphs, Graph, block->graph - 1).graph, block->in_graph));
}

static void
run_free (Replay *replay, char **words)
{
  Block *block = block_of (replay, words[1]);
  const guint stream = work_on (replay, words[2]);

  if (block->block.handle != NULL)
    write_event (
        &replay->pools[block->pool],
        (GememTraceEvent){ .kind = GEMEM_EVENT_FREE, .id = number (words[1]), .stream = stream });
  if (block->block.handle != NULL)
    gemem_cuda_pool_free_on (replay->pools[block->pool].allocator, &block->block, stream);
  block->block.handle = NULL;
  free_in_graph (replay, block);
}

static void
run_set (Replay *replay, char **words)
{
  GememCudaPool *pool = pool_of (replay, (guint) number (words[1]));
  const guint64 value = number (words[3]);

  switch (words[2][0])
    {
    case 't':
      gemem_cuda_pool_set_threshold (pool, value);
      break;
    case 'f':
      pool->params.follow_event_dependencies = value != 0;
      break;
    case 'o':
      pool->params.allow_opportunistic = value != 0;
      break;
    default:
      pool->params.allow_internal_dependencies = value != 0;
    }
  write_settings (&replay->pools[number (words[1])]);
}

static void
run_event (Replay *replay, char **words)
{
  const gboolean wait = words[0][0] == 'w';
  const guint id = (guint) number (words[wait ? 2 : 1]);
  const guint stream = work_on (replay, words[wait ? 1 : 2]);

  if (id >= recorded->len)
    g_array_set_size (recorded, id + 1);
  tell (replay, wait, id, stream);
  *(wait ? &behind[stream] : &g_array_index (recorded, guint32, id)) =
      wait ? behind[stream] | g_array_index (recorded, guint32, id) : behind[stream];
}

static void
run_trim (Replay *replay, char **words)
{
  GememCudaPool *pool = pool_of (replay, (guint) number (words[1]));

  pool->params.trim_to = number (words[2]);
  write_settings (&replay->pools[number (words[1])]);
  write_event (&replay->pools[number (words[1])], (GememTraceEvent){ .kind = GEMEM_EVENT_TRIM });
  gemem_cuda_pool_trim (&pool->base);
}

static void
run_pool (Replay *replay, char **words)
{
  const guint64 max = words[2] != NULL && words[3] != NULL ? number (words[3]) : 0;

  if (replay->full && number (words[1]) == 2)
    end_pool (replay, 1);
  replay->skips = replay->full && number (words[1]) == 2;
  if (!replay->skips)
    make_pool (replay, (guint) number (words[1]), max, "");
}

static void
run_host (Replay *replay, char **words)
{
  switch (words[0][0])
    {
    case 'd':
      host_waits (replay, G_MAXUINT64);
      break;
    case 's':
      host_waits (replay, stream_of (words[1]));
      break;
    default:
      for (guint i = 0; i < POOLS; i++)
        if (replay->pools[i].allocator != NULL)
          {
            Pool *pool = &replay->pools[i];

            write_mark (pool, TRUE, number (words[1]), HOST);
            if (g_hash_table_contains (pool->seen, GUINT_TO_POINTER (number (words[1]))))
              write_event (pool,
                           (GememTraceEvent){ .kind = GEMEM_EVENT_STREAM_SYNC, .stream = HOST });
          }
      for (guint i = 0; i < POOLS; i++)
        if (replay->pools[i].allocator != NULL)
          gemem_cuda_pool_sync_event (pool_of (replay, i), number (words[1]));
    }
}

static void
close_gate (Replay *replay, guint stream)
{
  if (replay->works[stream] == 0)
    {
      replay->works[stream] = ++replay->last_work;
      write_to_all (
          replay,
          (GememTraceEvent){ .kind = GEMEM_EVENT_WORK, .id = replay->last_work, .stream = stream });
    }
  behind[stream] |= 1u << stream;
}

static void
run_open (Replay *replay, guint stream)
{
  if (replay->works[stream] != 0)
    write_to_all (replay,
                  (GememTraceEvent){ .kind = GEMEM_EVENT_WORK_DONE, .id = replay->works[stream] });
  replay->works[stream] = 0;
  open_gate (stream);
  for (guint i = 0; i < POOLS; i++) /* the program asks what is done now */
    for (guint s = 0; replay->pools[i].trace != NULL && s < STREAMS; s++)
      if (behind[s] == 0)
        add_call (&replay->pools[i],
                  (JournalRecord){ .call = JOURNAL_STREAM_SYNC, .q = 1, .r = handle_of (s) });
}

/* ---- graphs */

/* A graph lies behind those that exist, or have a block that is not freed. */
static void
end_capture (Replay *replay, guint graph)
{
  Graph new = { .base = replay->pools[CAPTURE].base };
  guint64 behind_all = 0;

  end_pool (replay, CAPTURE);
  new.end = new.base;
  for (guint i = 0; i < replay->captured->len; i++)
    {
      const GememCudaGraphBlock *block = &g_array_index (replay->captured, GememCudaGraphBlock, i);
      const guint64 chunks = (block->offset + block->size + GEMEM_CUDA_GRAPH_CHUNK - 1)
                             / GEMEM_CUDA_GRAPH_CHUNK;
      new.end = MAX (new.end, new.base + chunks *GEMEM_CUDA_GRAPH_CHUNK);
    }
  for (guint i = 0; i < replay->graphs->len; i++)
    {
      const Graph *other = &g_array_index (replay->graphs, Graph, i);

      if (!other->destroyed || gemem_cuda_graph_unfreed (other->graph) > 0)
        behind_all = MAX (behind_all, other->end);
    }
  if (behind_all == 0 && replay->graphs->len > 0)
    behind_all = g_array_index (replay->graphs, Graph, 0).base;
  compare (replay, "base of the graph", new.base, behind_all == 0 ? new.base : behind_all);
  new.graph = gemem_cuda_graph_new (replay->memory, (gpointer) replay->captured->data,
                                    replay->captured->len);
  g_array_append_val (replay->graphs, new);
  replay->graph_of[graph] = replay->graphs->len;
  g_array_set_size (replay->captured, 0);
}

static void
end_launches (Replay *replay)
{
  for (guint i = 0; i < STREAMS; i++)
    if (behind[i] == 0)
      gemem_cuda_graph_memory_done (replay->memory, i);
}

static void
run_launch (Replay *replay, char **words, const char *said)
{
  const guint number_of_exec = (guint) number (words[1]);
  const guint stream = work_on (replay, words[2]);
  const guint of = replay->exec[number_of_exec];
  GememCudaGraph *graph = g_array_index (replay->graphs, Graph, of - 1).graph;
  GememCudaGraphResult result;

  if (words[0][0] == 'u')
    result = gemem_cuda_graph_upload (graph, stream);
  else
    result = gemem_cuda_graph_launch (graph, stream, replay->frees[number_of_exec]);
  g_assert_cmpint (result, !=, GEMEM_CUDA_GRAPH_NO_MEMORY);
  g_assert_cmpstr (result == GEMEM_CUDA_GRAPH_OK ? "ok" : "E1", ==, said);
}

static void
check_free (Replay *replay)
{
  guint64 held = replay->memory->reserved;

  if (replay->free_at_first == 0)
    replay->free_at_first = replay->free;
  for (guint i = 0; i < POOLS; i++)
    if (replay->pools[i].allocator != NULL && i != CAPTURE)
      held += pool_of (replay, i)->reserved;
  compare (replay, "free", replay->free_at_first - held, replay->free);
}

static void
check_graph_memory (const Replay *replay, char **said)
{
  static const char *const names[] = { "used=", "usedhigh=", "reserved=", "reservedhigh=" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_assert_true (g_str_has_prefix (said[i + 1], names[i]));
      compare (replay, names[i],
               i % 2 == 0 ? replay->memory->reserved : replay->memory->reserved_high,
               number (said[i + 1] + strlen (names[i])));
    }
}

/* Of e12, whose lines are all checked; `free` of the line is noted. */
static void
run_graph_line (Replay *replay, char **words, char **said)
{
  const char *op = words[0];
  guint number_of_graph;

  replay->graph_lines++;
  end_launches (replay);
  if (strcmp (op, "upload") == 0 || strcmp (op, "launch") == 0)
    run_launch (replay, words, said[1]);
  else if (strcmp (op, "gattr") == 0)
    check_graph_memory (replay, said);
  else if (strcmp (op, "info") == 0)
    check_free (replay);
  else if (strcmp (op, "gtrim") == 0)
    gemem_cuda_graph_memory_trim (replay->memory);
  else if (strcmp (op, "endcap") == 0)
    end_capture (replay, (guint) number (words[1]));
  else
    replay->graph_lines--;
  if (strcmp (op, "inst") == 0)
    {
      number_of_graph = (guint) number (words[words[2] != NULL ? 2 : 1]);
      replay->exec[number (words[1])] = replay->graph_of[number_of_graph];
      replay->frees[number (words[1])] = words[2] != NULL && number (words[3]) == 1;
    }
  else if (strcmp (op, "grdestroy") == 0)
    g_array_index (replay->graphs, Graph, replay->graph_of[number (words[1])] - 1).destroyed = TRUE;
}

static void
run_line (Replay *replay, char **words, const char *said)
{
  const char *op = words[0];

  if (replay->skips && strcmp (op, "pool") != 0)
    return;
  if (strcmp (op, "a") == 0)
    run_alloc (replay, words, said);
  else if (strcmp (op, "f") == 0)
    run_free (replay, words);
  else if (strcmp (op, "stream") == 0)
    replay->blocking[number (words[1])] = words[2] != NULL && strcmp (words[2], "blocking") == 0;
  else if (strcmp (op, "pool") == 0)
    run_pool (replay, words);
  else if (strcmp (op, "destroy") == 0)
    end_pool (replay, (guint) number (words[1]));
  else if (strcmp (op, "set") == 0)
    run_set (replay, words);
  else if (strcmp (op, "trim") == 0)
    run_trim (replay, words);
  else if (strcmp (op, "rec") == 0 || strcmp (op, "wait") == 0)
    run_event (replay, words);
  else if (strcmp (op, "ssync") == 0 || strcmp (op, "dsync") == 0 || strcmp (op, "esync") == 0)
    run_host (replay, words);
  else if (strcmp (op, "gate") == 0)
    close_gate (replay, work_on (replay, words[1]));
  else if (strcmp (op, "open") == 0)
    run_open (replay, stream_of (words[1]));
  else if (strcmp (op, "squery") == 0 && said[0] == 'o')
    write_to_all (replay, (GememTraceEvent){ .kind = GEMEM_EVENT_STREAM_SYNC,
                                             .stream = stream_of (words[1]),
                                             .aux = 1 });
  else if (strcmp (op, "kernel") == 0)
    work_on (replay, words[1]);
  else if (strcmp (op, "memset") == 0)
    work_on (replay, words[2]);
  else if (strcmp (op, "attrs") == 0)
    replay->attributes = number (words[1]) != 0;
  else if (strcmp (op, "cap") == 0)
    make_pool (replay, CAPTURE, 0,
               ",reuse_allow_opportunistic=no,reuse_allow_internal_dependencies=no");
}

/* ---- attributes */

/* Notes what the log says of pools: "r1=33554432". */
static void
note_attributes (Replay *replay, char **said)
{
  for (; *said != NULL; said++)
    if (g_str_has_prefix (*said, "free="))
      replay->free = number (*said + 5);
    else if (strchr ("ruRU", **said) != NULL && g_ascii_isdigit ((*said)[1]) && (*said)[2] == '=')
      {
        Pool *pool = &replay->pools[(*said)[1] - '0'];
        const guint64 value = number (*said + 3);

        *(**said == 'r'   ? &pool->reserved
          : **said == 'u' ? &pool->used
          : **said == 'R' ? &pool->reserved_high
                          : &pool->used_high) = value;
      }
}

static void
compare_attributes (const Replay *replay)
{
  for (guint i = 0; i < POOLS; i++)
    {
      const Pool *pool = &replay->pools[i];

      if (pool->allocator == NULL || i == CAPTURE)
        continue;
      compare (replay, "reserved", pool_of (replay, i)->reserved, pool->reserved);
      compare (replay, "used", pool_of (replay, i)->used, pool->used);
      compare (replay, "reserved_high", pool_of (replay, i)->reserved_high, pool->reserved_high);
      compare (replay, "used_high", pool_of (replay, i)->used_high, pool->used_high);
    }
}

/* ---- files */

static char **
lines_of (const char *name, const char *suffix)
{
  g_autofree char *relative = g_strdup_printf ("gpu/cuda-async/%s%s", name, suffix);
  g_autofree char *path = test_shared_path (relative), *text = NULL;

  if (path == NULL)
    return NULL;
  text = test_read_text (path);
  return g_strsplit (text, "\n", -1);
}

static void
replay_lines (Replay *replay, char **ops, char **log)
{
  for (; ops[replay->line] != NULL && *log != NULL; replay->line++)
    {
      g_auto (GStrv) words = g_strsplit (ops[replay->line], " ", -1), said = NULL;

      if (words[0] == NULL || *words[0] == '#' || *words[0] == '@' || *words[0] == '\0')
        continue;
      while (**log == '#' || g_ascii_strtoull (*log, NULL, 10) < replay->line + 1)
        log++;
      said = g_strsplit (*log, " ", -1);
      run_line (replay, words, said[0] != NULL && said[1] != NULL ? said[1] : "");
      note_attributes (replay, said);
      if (replay->memory != NULL)
        run_graph_line (replay, words, said);
      if (replay->attributes)
        compare_attributes (replay);
    }
}

static void
begin_graphs (Replay *replay)
{
  g_autofree char *capacity = g_strdup_printf ("capacity=%" G_GUINT64_FORMAT "B", TOTAL);

  replay->device = test_device_new ("sim", capacity);
  replay->memory = gemem_cuda_graph_memory_new (replay->device);
}

static void
end_graphs (Replay *replay)
{
  for (guint i = 0; i < replay->graphs->len; i++)
    gemem_cuda_graph_free (g_array_index (replay->graphs, Graph, i).graph);
  g_assert_cmpuint (replay->device->held, ==, replay->memory->reserved);
  gemem_cuda_graph_memory_free (replay->memory);
  g_assert_cmpuint (replay->device->held, ==, 0);
  gemem_device_destroy (replay->device);
}

static void
test_file (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_auto (GStrv) ops = lines_of (files[i].name, ".ops.gz"), log = NULL;
  Replay replay = { .attributes = TRUE, .full = strcmp (files[i].name, "e10-full") == 0 };

  if (ops == NULL)
    return;
  log = lines_of (files[i].name, ".log.gz");
  memset (behind, 0, sizeof behind);
  marks = g_array_new (FALSE, TRUE, sizeof (guint32));
  recorded = g_array_new (FALSE, TRUE, sizeof (guint32));
  replay.blocks = g_array_new (FALSE, TRUE, sizeof (Block));
  replay.captured = g_array_new (FALSE, TRUE, sizeof (GememCudaGraphBlock));
  replay.graphs = g_array_new (FALSE, TRUE, sizeof (Graph));
  if (files[i].graph_lines > 0)
    begin_graphs (&replay);
  replay_lines (&replay, ops, log);
  for (guint p = 0; p < POOLS; p++)
    if (replay.pools[p].allocator != NULL)
      end_pool (&replay, p);
  g_assert_cmpuint (replay.allocs, ==, files[i].allocs);
  g_assert_cmpuint (replay.replayed, ==, replay.allocs - replay.empty);
  g_assert_cmpuint (replay.graph_lines, ==, files[i].graph_lines);
  if (replay.memory != NULL)
    end_graphs (&replay);
  g_array_unref (marks);
  g_array_unref (recorded);
  g_array_unref (replay.blocks);
  g_array_unref (replay.captured);
  g_array_unref (replay.graphs);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_strdup_printf ("/cuda-async/vectors/%s", files[i].name);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_file);
    }
  return g_test_run ();
}
