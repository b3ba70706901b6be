/* test-release-order.c - allocators that release memory too early, each in its own way, and others
 * that wait: the probe must tell them apart.
 *
 * The planted allocator has one device allocation, or one mapped page, per block, so that every
 * block is released by itself; the fault to find is which wait is missing before the release.
 */
#include "config.h"

#include <string.h>

#include "allocators/spans.h"
#include "tests/util/engine-job.h"

#define SIZE (G_GUINT64_CONSTANT (2) << 20)
#define ADDRESS "0x100000000000"

typedef enum
{
  AT_ONCE,     /* releases memory with the program's free */
  OWN_STREAM,  /* synchronises the block's own stream, not those that use it */
  ALL_STREAMS, /* synchronises all of them */
  EVENTS,     /* records an event on each, queries at the next request, waits for them in the end */
  COMPLETED,  /* waits for its own stream, and for the completion */
  CACHES,     /* keeps one block for the next request; trim releases it */
  TAKES_BACK, /* trim releases live blocks */
  KEEPS,      /* never releases anything */
} Way;

static Way way;
static gboolean mapped; /* pages instead of allocations */

typedef struct
{
  guint64 address, stream, uses; /* bit per stream */
  GememPage page;
  gboolean live, waiting, gone;
  GememDeviceEvent events[8];
} Block;

typedef struct
{
  GememAllocator base;
  Block blocks[16];
  guint n;
} Planted;

static GememAllocator *
create (gconstpointer params, GememDevice *device, GError **error)
{
  Planted *self = g_new0 (Planted, 1);
  extern const GememAllocatorClass planted_class;
  self->base.klass = &planted_class;
  self->base.device = device;
  return &self->base;
}

static void
return_memory (Planted *self, Block *block)
{
  GememDevice *device = self->base.device;
  block->gone = TRUE;
  block->live = block->waiting = FALSE;
  if (block->page == 0)
    {
      gemem_device_free (device, block->address, SIZE);
      return;
    }
  gemem_device_unmap (device, block->address, SIZE);
  gemem_device_destroy_page (device, block->page, SIZE);
  gemem_device_release (device, block->address, SIZE);
}

/* Releases the blocks whose events are complete; @wait: waits for the events. */
static void
poll_events (Planted *self, gboolean wait)
{
  for (guint i = 0; i < self->n; i++)
    {
      Block *block = &self->blocks[i];
      gboolean complete = block->waiting;
      for (guint s = 0; s < 8 && block->waiting; s++)
        {
          if (wait && block->events[s] != 0)
            gemem_device_event_sync (self->base.device, block->events[s]);
          else if (block->events[s] != 0
                   && !gemem_device_event_query (self->base.device, block->events[s]))
            complete = FALSE;
        }
      if (complete)
        return_memory (self, block);
    }
}

static gboolean
alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *out)
{
  Planted *self = (Planted *) allocator;
  Block *block = NULL;
  if (way == EVENTS)
    poll_events (self, FALSE);
  for (guint i = 0; i < self->n; i++)
    if (way == CACHES && !self->blocks[i].live && !self->blocks[i].gone)
      block = &self->blocks[i];
  if (block == NULL)
    {
      g_assert_cmpuint (self->n, <, G_N_ELEMENTS (self->blocks));
      block = &self->blocks[self->n++];
      block->address = mapped ? gemem_device_reserve (self->base.device, SIZE, 0)
                              : gemem_device_malloc (self->base.device, SIZE, request->stream);
      block->page = mapped ? gemem_device_create_page (self->base.device, SIZE) : 0;
      if (mapped)
        gemem_device_map (self->base.device, block->address, block->page, 0, SIZE);
    }
  block->live = TRUE;
  block->stream = request->stream;
  block->uses = G_GUINT64_CONSTANT (1) << request->stream;
  *out = (GememBlock){ block->address, SIZE, block };
  return TRUE;
}

static void
planted_free (GememAllocator *allocator, const GememBlock *out, gboolean completion_follows)
{
  Planted *self = (Planted *) allocator;
  Block *block = out->handle;
  block->live = FALSE;
  for (guint s = 0; s < 8; s++)
    if ((block->uses >> s & 1) != 0
        && (way == ALL_STREAMS || ((way == OWN_STREAM || way == COMPLETED) && s == block->stream)))
      gemem_device_stream_sync (self->base.device, s);
    else if ((block->uses >> s & 1) != 0 && way == EVENTS)
      block->events[s] = gemem_device_event_record (self->base.device, s);
  if (way == EVENTS)
    block->waiting = TRUE;
  else if (way != CACHES && way != KEEPS && !completion_follows)
    return_memory (self, block);
}

static void
complete (GememAllocator *allocator, const GememBlock *out)
{
  return_memory ((Planted *) allocator, out->handle);
}

static void
use_on_stream (GememAllocator *allocator, const GememBlock *out, guint64 stream)
{
  ((Block *) out->handle)->uses |= G_GUINT64_CONSTANT (1) << stream;
}

static void
trim (GememAllocator *allocator)
{
  Planted *self = (Planted *) allocator;
  for (guint i = 0; i < self->n; i++)
    if ((way == CACHES && !self->blocks[i].live && !self->blocks[i].gone)
        || (way == TAKES_BACK && self->blocks[i].live))
      return_memory (self, &self->blocks[i]);
}

static guint64
largest_free (GememAllocator *allocator, guint64 stream)
{
  return 0;
}

/* Used by the full checks. */
static void
walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const Planted *self = (const Planted *) allocator;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  for (guint i = 0; i < self->n; i++)
    if (!self->blocks[i].gone)
      gemem_spans_append_whole (spans, self->blocks[i].address, SIZE,
                                self->blocks[i].live ? GEMEM_SPAN_LIVE : GEMEM_SPAN_FREE);
  gemem_spans_report (spans, func, data);
}

static gboolean
check (GememAllocator *allocator, GError **error)
{
  return TRUE;
}

static void
destroy (GememAllocator *allocator)
{
  Planted *self = (Planted *) allocator;
  poll_events (self, TRUE);
  for (guint i = 0; i < self->n; i++)
    if (!self->blocks[i].gone && way != KEEPS)
      return_memory (self, &self->blocks[i]);
  g_free (self);
}

extern const GememAllocatorClass planted_class;
const GememAllocatorClass planted_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "planted",
  .alignment = 1,
  .create = create,
  .alloc = alloc,
  .free = planted_free,
  .trim = trim,
  .largest_free = largest_free,
  .walk = walk,
  .check = check,
  .destroy = destroy,
  .streams = { .complete = complete, .use = use_on_stream },
};

/* ---- faults found, and faultless ways */

#define ALLOC(i, s) \
  { \
    .kind = GEMEM_EVENT_ALLOC, .id = (i), .size = 100, .stream = (s) \
  }
#define USE(i, s) \
  { \
    .kind = GEMEM_EVENT_USE_ON_STREAM, .id = (i), .stream = (s) \
  }
#define ON(k, i, s) \
  { \
    .kind = GEMEM_EVENT_##k, .id = (i), .stream = (s) \
  }
#define SYNC(s) \
  { \
    .kind = GEMEM_EVENT_STREAM_SYNC, .stream = (s) \
  }
#define LOAD(i) \
  { \
    .kind = GEMEM_EVENT_GRAPH_LOAD, .id = (i), .size = 100 \
  }
#define MEMSET(i, s) \
  { \
    .kind = GEMEM_EVENT_MEMSET, .id = (i), .size = 50, .stream = (s) \
  }

typedef struct
{
  const char *name;
  Way way;
  gboolean mapped;
  const char *device; /* NULL: free does not wait */
  const char *error;  /* NULL: none */
  GememTraceEvent events[10];
  guint repeat;
} Case;

static const Case cases[] = {
  { "early-free", AT_ONCE,
    .error = "event 1: free of " ADDRESS " (2097152 bytes) while stream 3 has unfinished work "
             "there with block 1, queued at event 0, at " ADDRESS "; ",
    .events = { ALLOC (1, 3), TEST_FREE (1) } },
  { "free-waits", AT_ONCE, .device = "sim", .events = { ALLOC (1, 3), TEST_FREE (1) } },
  { "free-waits-by-profile", AT_ONCE, .device = "sim:profile=ascend910b,free_synchronises=profile",
    .events = { ALLOC (1, 3), TEST_FREE (1) } },
  { "null-is-never-at-work", AT_ONCE, .device = "null", .events = { ALLOC (1, 3), TEST_FREE (1) } },
  { "program-waits", AT_ONCE, .events = { ALLOC (1, 3), SYNC (3), TEST_FREE (1) } },
  { "program-waits-for-the-device", AT_ONCE,
    .events = { ALLOC (1, 3), TEST_EVENT (DEVICE_SYNC, 0), TEST_FREE (1) } },
  { "program-waits-for-another-stream", AT_ONCE,
    .error = "event 2: free of " ADDRESS " (2097152 bytes) while stream 3 has",
    .events = { ALLOC (1, 3), SYNC (4), TEST_FREE (1) } },
  { "work-after-the-wait", AT_ONCE,
    .error = "event 3: free of " ADDRESS " (2097152 bytes) while stream 3 has unfinished work "
             "there with block 1, queued at event 2,",
    .events = { ALLOC (1, 3), SYNC (3), ALLOC (2, 3), TEST_FREE (1) } },
  { "work-on-another-stream", AT_ONCE,
    .events = { ALLOC (1, 3), SYNC (3), ALLOC (2, 4), TEST_FREE (1) } },

  { "early-unmap",
    AT_ONCE,
    TRUE,
    "sim",
    "event 1: unmap of 0x200000000000 (2097152 bytes) while stream 3 has unfinished work there "
    "with block 1, queued at event 0,",
    { ALLOC (1, 3), TEST_FREE (1) } },
  { "unmap-after-wait", ALL_STREAMS, TRUE, "sim", NULL, { ALLOC (1, 3), TEST_FREE (1) } },

  { "second-stream-forgotten", OWN_STREAM,
    .error = "event 2: free of " ADDRESS " (2097152 bytes) while stream 2 has unfinished work "
             "there with block 1, queued at event 1,",
    .events = { ALLOC (1, 3), USE (1, 2), TEST_FREE (1) } },
  { "both-streams", ALL_STREAMS, .events = { ALLOC (1, 3), USE (1, 2), TEST_FREE (1) } },
  { "events", EVENTS,
    .events = { ALLOC (1, 3), USE (1, 2), TEST_FREE (1), ALLOC (2, 3), TEST_FREE (2),
                ALLOC (3, 1) } },
  { "late-events", EVENTS, .device = "sim:free_synchronises=no,event_latency=1s",
    .events = { ALLOC (1, 3), USE (1, 2), TEST_FREE (1), ALLOC (2, 3), TEST_FREE (2),
                ALLOC (3, 1) } },

  { "stream-waits-for-stream", AT_ONCE,
    .events = { ALLOC (1, 3), USE (1, 2), ON (EVENT_RECORD, 9, 2), ON (EVENT_WAIT, 9, 3), SYNC (3),
                TEST_FREE (1) } },
  { "chain-of-streams", AT_ONCE,
    .events = { ALLOC (1, 3), USE (1, 2), ON (EVENT_RECORD, 9, 2), ON (EVENT_WAIT, 9, 4),
                ON (EVENT_RECORD, 8, 4), ON (EVENT_WAIT, 8, 3), SYNC (3), TEST_FREE (1) } },
  { "use-after-the-event", AT_ONCE,
    .error = "event 5: free of " ADDRESS " (2097152 bytes) while stream 2 has unfinished work "
             "there with block 1, queued at event 2,",
    .events = { ALLOC (1, 3), ON (EVENT_RECORD, 9, 2), USE (1, 2), ON (EVENT_WAIT, 9, 3), SYNC (3),
                TEST_FREE (1) } },
  { "event-recorded-again", AT_ONCE,
    .error = "event 6: free of " ADDRESS " (2097152 bytes) while stream 2 has",
    .events = { ALLOC (1, 3), USE (1, 2), ON (EVENT_RECORD, 9, 2), ON (EVENT_RECORD, 9, 1),
                ON (EVENT_WAIT, 9, 3), SYNC (3), TEST_FREE (1) } },
  { "wait-after-the-sync", AT_ONCE,
    .error = "event 5: free of " ADDRESS " (2097152 bytes) while stream 2 has",
    .events = { ALLOC (1, 3), USE (1, 2), ON (EVENT_RECORD, 9, 2), SYNC (3), ON (EVENT_WAIT, 9, 3),
                TEST_FREE (1) } },

  { "completed", COMPLETED,
    .events = { ALLOC (1, 3), USE (1, 2), TEST_EVENT (FREE_REQUESTED, 1),
                TEST_EVENT (FREE_COMPLETED, 1) } },
  { "completed-but-not-its-own-stream", AT_ONCE,
    .error = "event 3: free of " ADDRESS " (2097152 bytes) while stream 3 has",
    .events = { ALLOC (1, 3), USE (1, 2), TEST_EVENT (FREE_REQUESTED, 1),
                TEST_EVENT (FREE_COMPLETED, 1) } },
  { "references", AT_ONCE,
    .events = { ALLOC (1, 3), USE (1, 2), ON (STREAM_FREE, 1, 2), SYNC (2), ALLOC (2, 2), SYNC (3),
                TEST_FREE (1) } },
  { "own-reference", AT_ONCE,
    .events = { ALLOC (1, 3), ON (STREAM_FREE, 1, 3), SYNC (3), ALLOC (2, 3), TEST_FREE (1) } },
  { "reference-let-go-late", AT_ONCE,
    .error = "event 6: free of " ADDRESS " (2097152 bytes) while stream 2 has unfinished work "
             "there with block 1, queued at event 3,",
    .events = { ALLOC (1, 3), USE (1, 2), SYNC (2), ALLOC (2, 2), ON (STREAM_FREE, 1, 2), SYNC (3),
                TEST_FREE (1) } },

  { "taken-back", TAKES_BACK, .device = "sim",
    .error = "event 2: free of " ADDRESS
             " (2097152 bytes) while block 1 of stream 3 is alive there, at " ADDRESS "; ",
    .events = { ALLOC (1, 3), SYNC (3), TEST_EVENT (TRIM, 0) } },
  { "cached", CACHES,
    .events = { ALLOC (1, 3), TEST_FREE (1), ALLOC (2, 3), SYNC (3), TEST_FREE (2),
                TEST_EVENT (TRIM, 0) } },
  { "cached-for-another-stream", CACHES,
    .error = "event 5: free of " ADDRESS " (2097152 bytes) while stream 3 has unfinished work "
             "there with block 1, queued at event 0,",
    .events = { ALLOC (1, 3), TEST_FREE (1), ALLOC (2, 2), SYNC (2), TEST_FREE (2),
                TEST_EVENT (TRIM, 0) } },
  { "memset", AT_ONCE,
    .error = "event 3: free of " ADDRESS " (2097152 bytes) while stream 2 has unfinished work "
             "there with block 1, queued at event 1,",
    .events = { ALLOC (1, 3), MEMSET (1, 2), SYNC (3), TEST_FREE (1) } },

  { "graph", AT_ONCE,
    .events = { LOAD (7), SYNC (0), ON (GRAPH_RUN, 7, 5), ON (GRAPH_RUN_END, 7, 5),
                ON (GRAPH_UNLOAD, 7, 0) } },
  { "graph-still-running", AT_ONCE,
    .error = "event 3: free of " ADDRESS " (2097152 bytes) while stream 5 has unfinished work "
             "there with graph 7, queued at event 2,",
    .events = { LOAD (7), SYNC (0), ON (GRAPH_RUN, 7, 5), ON (GRAPH_UNLOAD, 7, 0) } },

  { "end", AT_ONCE, .events = { ALLOC (1, 3), USE (1, 2) } },
  { "device-not-idle-at-the-end", AT_ONCE,
    .device = "faulty:every=1,call=device_sync,free_synchronises=no",
    .error = "event 2: free of " ADDRESS " (2097152 bytes) while stream",
    .events = { ALLOC (1, 3), USE (1, 2) } },
  { "memory-after-the-device", KEEPS,
    .error = "2097152 bytes were not returned to the device at the end",
    .events = { ALLOC (1, 3) } },
  { "again", AT_ONCE, .events = { ALLOC (1, 3), USE (1, 2) }, .repeat = 3 },
};

static void
test_case (gconstpointer data)
{
  const Case *c = data;
  TestTrace trace = { .events = c->events, .batch = 1 };
  g_autoptr (GError) error = NULL;
  GememAllocatorSpec *spec = test_spec (&planted_class);
  GememJob job = test_job (spec, &trace);
  GememResult *result;

  while (trace.n < G_N_ELEMENTS (c->events) && c->events[trace.n].kind != 0)
    trace.n++;
  way = c->way;
  mapped = c->mapped;
  job.device_spec = c->device != NULL ? c->device : "sim:free_synchronises=no";
  job.full_checks = FALSE;
  job.release_order = TRUE;
  job.repeat = c->repeat;
  result = gemem_job_run (&job, &error);
  if (c->error == NULL)
    g_assert_no_error (error);
  else
    {
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT);
      if (strstr (error->message, c->error) == NULL)
        g_error ("expected '%s' in '%s'", c->error, error->message);
      g_assert_true (strstr (error->message, "allocator planted: ") != NULL);
      g_clear_error (&error);
      job.release_order = FALSE; /* without the probe no order is checked */
      /* other checks find these */
      result = way == KEEPS || way == TAKES_BACK ? NULL : test_job_run (&job);
    }
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

/* An allocator that holds the memory of graphs itself: GE's policy 2, as documented, releases
 * the block of the graphs when a larger one is loaded, which is too early while a run is not
 * waited for. (A load clears its memory, on its stream.) */
static void
test_policy_2 (void)
{
  static const GememTraceEvent events[] = {
    LOAD (1),
    SYNC (0),
    ON (GRAPH_RUN, 1, 5),
    ON (GRAPH_RUN_END, 1, 5),
    { .kind = GEMEM_EVENT_GRAPH_LOAD, .id = 2, .size = 8 * SIZE },
    SYNC (0),
    ON (GRAPH_RUN, 2, 6),
    { .kind = GEMEM_EVENT_GRAPH_LOAD, .id = 3, .size = 9 * SIZE }
  };
  TestTrace waited = { .events = events, .n = 7 }, running = TEST_TRACE (events);
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  gboolean parsed = gemem_allocator_spec_parse ("ge-active:rules=documented", specs, NULL);
  GememJob job;

  g_assert_true (parsed);
  job = test_job (specs->pdata[0], &waited);
  job.device_spec = "sim:free_synchronises=no";
  job.release_order = TRUE;
  gemem_result_free (test_job_run (&job));
  job.source_data = &running;
  g_assert_null (gemem_job_run (&job, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT);
  g_assert_nonnull (strstr (error->message, "allocator ge-active: event 7: free of 0x"));
  g_assert_nonnull (strstr (
      error->message, "while stream 6 has unfinished work there with graph 2, queued at event 6,"));
}

/* Graph 3 runs without a wait: graph 2's memory may be released, its own may not. */
static void
test_other_graph (void)
{
  static const GememTraceEvent events[] = { LOAD (2),
                                            LOAD (3),
                                            SYNC (0),
                                            ON (GRAPH_RUN, 3, 5),
                                            ON (GRAPH_UNLOAD, 2, 0),
                                            ON (GRAPH_UNLOAD, 3, 0) };
  static const struct
  {
    const char *text, *error;
  } rows[] = {
    { "ge:static_memory_policy=0", NULL }, /* waits for the stream */
    { "ge:static_memory_policy=3", NULL },
    { "ge-active:rules=documented", "event 5: free of 0x" },
    { "ge-fixed-base", "event 5: unmap of 0x" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      TestTrace trace = TEST_TRACE (events);
      g_autoptr (GPtrArray)
          specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      g_autoptr (GError) error = NULL;
      GememJob job;

      gemem_allocator_spec_parse (rows[i].text, specs, &error);
      g_assert_no_error (error);
      job = test_job (specs->pdata[0], &trace);
      job.device_spec = "sim:free_synchronises=no";
      job.release_order = TRUE;
      if (rows[i].error == NULL)
        {
          gemem_result_free (test_job_run (&job));
          continue;
        }
      g_assert_null (gemem_job_run (&job, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT);
      g_assert_nonnull (strstr (error->message, rows[i].error));
      g_assert_nonnull (
          strstr (error->message,
                  "while stream 5 has unfinished work there with graph 3, queued at event 3,"));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strconcat ("/release-order/", cases[i].name, NULL);
      g_test_add_data_func (path, &cases[i], test_case);
    }
  g_test_add_func ("/release-order/policy-2", test_policy_2);
  g_test_add_func ("/release-order/other-graph", test_other_graph);
  return g_test_run ();
}
