/* test-heap.c - allocators in use (sim/live/heap.h): when blocks are freed, private pools,
 * errors; and a recording of any allocator's work, over random programs with streams, pools and
 * too little memory, replays to the same decisions and device calls. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "sim/live/heap.h"
#include "tests/util/sizes.h"
#include "tests/util/testutil.h"

static guint64 time_now;

static guint64
test_clock (void)
{
  return time_now += 10;
}

static GememHeap *
heap_on (const char *allocator, const char *device, GememRecording *recording)
{
  const GememHeapOptions options = {
    .allocator = allocator, .device = device, .clock = test_clock, .recording = recording
  };
  g_autoptr (GError) error = NULL;
  GememHeap *heap = gemem_heap_new (&options, &error);

  g_assert_no_error (error);
  return heap;
}

static guint64
alloc_in (GememHeap *heap, guint64 size, guint64 stream, guint32 pool)
{
  g_autoptr (GError) error = NULL;
  const guint64 address = gemem_heap_alloc (heap, size, stream, pool, &error);

  g_assert_no_error (error);
  return address;
}

static guint64
alloc (GememHeap *heap, guint64 size, guint64 stream)
{
  return alloc_in (heap, size, stream, 0);
}

static void
give_back (GememHeap *heap, guint64 address)
{
  g_autoptr (GError) error = NULL;

  gemem_heap_free (heap, address, &error);
  g_assert_no_error (error);
}

static void
use (GememHeap *heap, guint64 address, guint64 stream)
{
  g_autoptr (GError) error = NULL;

  gemem_heap_use_on_stream (heap, address, stream, &error);
  g_assert_no_error (error);
}

static void
close_clean (GememHeap *heap)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (gemem_heap_close (heap, &error));
  g_assert_no_error (error);
}

/* ---- when blocks are freed */

/* Allocators with streams and pools, with streams only, and without both. */
static const char *const kinds[] = { "pytorch-caching", "paddle-auto-growth", "ge-scalable",
                                     "paddle-buddy", "direct" };

/* A block that another stream uses is freed when that stream's event is complete, not before. */
static void
test_use_on_stream (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds) - 1; i++)
    {
      GememHeap *heap = heap_on (kinds[i], "sim:capacity=8GiB,event_latency=1s", NULL);
      const guint64 first = alloc (heap, 10 * MIB, 0x70);
      guint64 second, third;

      use (heap, first, 0x90);
      use (heap, first, 0x90);
      give_back (heap, first);
      second = alloc (heap, 10 * MIB, 0x70);
      g_assert_cmphex (second, !=, first);
      g_assert_cmpuint (gemem_heap_stat (heap, "live"), <=, 20 * MIB);
      time_now += G_GUINT64_CONSTANT (2000000000);
      give_back (heap, alloc (heap, 1 * KIB, 0x70)); /* an event: the device's clock is set */
      third = alloc (heap, 10 * MIB, 0x70);
      g_assert_cmphex (third, ==, first);
      close_clean (heap);
    }
}

/* Without other users a block is free at once. */
static void
test_own_stream (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds) - 1; i++)
    {
      GememHeap *heap = heap_on (kinds[i], "sim:capacity=8GiB,event_latency=1s", NULL);
      const guint64 first = alloc (heap, 10 * MIB, 0x70);

      use (heap, first, 0x70);
      give_back (heap, first);
      g_assert_cmphex (alloc (heap, 10 * MIB, 0x70), ==, first);
      close_clean (heap);
    }
}

/* Without support for streams an allocator is guarded: one stream never gets the memory of
 * another. */
static void
test_streams_unknown (void)
{
  GememHeap *heap = heap_on ("paddle-buddy", "sim:capacity=8GiB,event_latency=1s", NULL);
  const guint64 small = alloc (heap, 1 * KIB, 1), first = alloc (heap, 10 * MIB, 1);
  guint64 other;

  give_back (heap, small);
  other = alloc (heap, 1 * KIB, 2); /* the second stream: the host has waited for the first */
  g_assert_cmphex (other, ==, small);
  give_back (heap, first);
  g_assert_cmphex (alloc (heap, 10 * MIB, 2), !=, first);
  close_clean (heap);
}

/* Before a request fails, the heap waits for pending blocks. */
static void
test_wait_before_failure (void)
{
  GememHeap *heap = heap_on ("pytorch-caching", "sim:capacity=64MiB,event_latency=1s", NULL);
  const guint64 first = alloc (heap, 40 * MIB, 0);
  g_autofree char *reason = NULL;

  use (heap, first, 5);
  give_back (heap, first);
  g_assert_cmphex (alloc (heap, 40 * MIB, 0), !=, 0);
  g_assert_cmpuint (gemem_heap_stat (heap, "failed"), ==, 1); /* the first try */
  g_assert_cmphex (alloc (heap, 40 * MIB, 0), ==, 0);
  g_assert_cmpuint (gemem_heap_stat (heap, "failed"), ==, 2);
  reason = gemem_heap_explain (heap);
  g_assert_nonnull (g_strrstr (reason, " MiB asked for, "));
  g_assert_nonnull (g_strrstr (reason, "full"));
  close_clean (heap);
}

/* trim waits too, and releases all memory. */
static void
test_trim (void)
{
  GememHeap *heap = heap_on ("pytorch-caching", "sim:capacity=1GiB,event_latency=1s", NULL);
  const guint64 first = alloc (heap, 40 * MIB, 0);
  g_autoptr (GError) error = NULL;

  use (heap, first, 5);
  give_back (heap, first);
  g_assert_cmpuint (gemem_heap_stat (heap, "reserved"), ==, 40 * MIB);
  g_assert_true (gemem_heap_trim (heap, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (gemem_heap_stat (heap, "reserved"), ==, 0);
  g_assert_cmpuint (gemem_heap_stat (heap, "peak_reserved"), ==, 40 * MIB);
  gemem_heap_reset_peaks (heap);
  g_assert_cmpuint (gemem_heap_stat (heap, "peak_reserved"), ==, 0);
  g_assert_cmpuint (gemem_heap_stat (heap, "peek_reserved"), ==, G_MAXUINT64);
  close_clean (heap);
}

/* ---- private pools */

static void
test_pools (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds) - 1; i++)
    {
      GememHeap *heap = heap_on (kinds[i], "sim:capacity=8GiB", NULL);
      const gboolean knows_pools = i == 0;
      guint64 inside, outside;
      g_autoptr (GError) error = NULL;

      gemem_heap_pool_begin (heap, 1);
      inside = alloc_in (heap, 10 * MIB, 0, 1);
      give_back (heap, inside);
      g_assert_true (gemem_heap_pool_end (heap, &error));
      outside = alloc (heap, 10 * MIB, 0);
      g_assert_cmphex (outside, !=, inside); /* a captured graph may write there */
      give_back (heap, outside);
      gemem_heap_pool_begin (heap, 1); /* a second graph in the pool */
      g_assert_true (gemem_heap_pool_end (heap, &error));
      g_assert_true (gemem_heap_pool_release (heap, 1, &error));
      g_assert_cmphex (alloc (heap, 10 * MIB, 0), ==, outside);
      g_assert_cmphex (alloc (heap, 10 * MIB, 0), !=, inside);
      g_assert_true (gemem_heap_pool_release (heap, 1, &error));
      g_assert_true (gemem_heap_pool_release (heap, 7, &error)); /* never begun: no effect */
      g_assert_no_error (error);
      if (!knows_pools)
        g_assert_cmphex (alloc (heap, 10 * MIB, 0), ==, inside);
      close_clean (heap);
    }
}

/* While a pool is open, no event is recorded or queried: the program may be capturing. */
static void
test_no_events_in_captures (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      GememHeap *heap = heap_on (
          kinds[i], "faulty:every=1,call=event_record|event_query,capacity=8GiB", NULL);
      guint64 block;
      g_autoptr (GError) error = NULL;
      GememResult *result;

      gemem_heap_pool_begin (heap, 1);
      block = alloc_in (heap, 10 * MIB, 1, 1);
      use (heap, block, 2);
      give_back (heap, block);
      give_back (heap, alloc (heap, 10 * MIB, 2));
      g_assert_true (gemem_heap_pool_end (heap, &error));
      g_assert_true (gemem_heap_pool_release (heap, 1, &error) && gemem_heap_trim (heap, &error));
      g_assert_no_error (error);
      /* no event could be recorded: the host waited */
      g_assert_cmpuint (gemem_heap_stat (heap, "live"), ==, 0);
      result = gemem_heap_result (heap);
      g_assert_cmpuint (result->calls[GEMEM_CALL_EVENT_QUERY], ==, 0);
      g_assert_cmpuint (result->calls[GEMEM_CALL_EVENT_RECORD], >, 0);
      g_assert_cmpuint (result->refused[GEMEM_CALL_EVENT_RECORD], ==,
                        result->calls[GEMEM_CALL_EVENT_RECORD]);
      gemem_result_free (result);
      close_clean (heap);
    }
}

/* ---- addresses and errors */

static void
test_segment (void)
{
  GememHeap *heap = heap_on ("pytorch-caching", "sim:capacity=1GiB", NULL);
  const guint64 first = alloc (heap, 3 * MIB, 0), second = alloc (heap, 3 * MIB, 0);
  guint64 size;

  g_assert_cmphex (gemem_heap_segment (heap, second, &size), ==, first);
  g_assert_cmpuint (size, ==, 20 * MIB);
  g_assert_cmphex (gemem_heap_segment (heap, 4096, &size), ==, 0);
  g_assert_cmpuint (size, ==, 0);
  g_assert_true (gemem_heap_has (heap, second));
  g_assert_false (gemem_heap_has (heap, second + 512));
  close_clean (heap);
}

static void
test_errors (void)
{
  static const struct
  {
    const char *allocator, *device;
    int code;
  } wrong[] = { { "pytorch-cashing", "sim", GEMEM_ERROR_USAGE },
                { "ge-*", "sim", GEMEM_ERROR_USAGE },
                { "direct", "simm", GEMEM_ERROR_USAGE },
                { "pytorch-caching:max_split_size_mb=x", "sim", GEMEM_ERROR_USAGE },
                { "ge-expandable", "sim:virtual_memory=no", -1 } };
  GememHeap *heap = heap_on ("direct", "sim:capacity=1GiB", NULL);
  const guint64 block = alloc (heap, 1 * MIB, 0);
  g_autoptr (GError) error = NULL;

  give_back (heap, block);
  g_assert_false (gemem_heap_free (heap, block, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_nonnull (g_strrstr (error->message, "no live block begins there"));
  g_clear_error (&error);
  g_assert_false (gemem_heap_use_on_stream (heap, block, 3, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_clear_error (&error);
  g_assert_null (gemem_heap_explain (heap));
  close_clean (heap);
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      const GememHeapOptions options = { .allocator = wrong[i].allocator,
                                         .device = wrong[i].device,
                                         .clock = test_clock };

      heap = gemem_heap_new (&options, &error);
      if (wrong[i].code >= 0)
        g_assert_error (error, GEMEM_ERROR, wrong[i].code);
      g_assert_true ((heap == NULL) == (error != NULL));
      g_clear_error (&error);
      if (heap != NULL)
        close_clean (heap);
    }
}

/* ---- a recording replays */

#define BLOCKS 60

typedef struct
{
  GememHeap *heap;
  GememRng rng;
  guint64 blocks[BLOCKS]; /* 0: none */
  gboolean in_pool;
} Program;

static void
random_step (Program *program)
{
  guint64 *block = &program->blocks[gemem_rng_below (&program->rng, BLOCKS)];
  const guint64 what = gemem_rng_below (&program->rng, 100),
                stream = 16 * gemem_rng_below (&program->rng, 3);
  const guint64 size = 1
                       + gemem_rng_below (&program->rng, gemem_rng_below (&program->rng, 4) == 0
                                                             ? 24 * MIB
                                                             : 600 * KIB);
  g_autoptr (GError) error = NULL;

  time_now += gemem_rng_below (&program->rng, 200000);
  if (what == 0)
    gemem_heap_trim (program->heap, &error);
  else if (what == 1 && !program->in_pool)
    gemem_heap_pool_begin (program->heap, 1);
  else if (what < 4 && program->in_pool)
    gemem_heap_pool_end (program->heap, &error);
  else if (*block == 0)
    *block = gemem_heap_alloc (program->heap, size, stream, program->in_pool ? 1 : 0, &error);
  else if (what < 25)
    gemem_heap_use_on_stream (program->heap, *block, stream, &error);
  else
    {
      gemem_heap_free (program->heap, *block, &error);
      *block = 0;
    }
  if (what == 1 || (what < 4 && program->in_pool))
    program->in_pool = what == 1;
  g_assert_no_error (error);
}

/* Records to @path the work of a random program with @allocator on @device. */
static GememResult *
record (const char *allocator, const char *device, const char *path)
{
  g_autoptr (GError) error = NULL;
  GememRecording *recording = gemem_recording_new (path, &error);
  Program program = { .heap = heap_on (allocator, device, recording) };
  GememResult *result;

  gemem_rng_init (&program.rng, 7, "program");
  for (guint i = 0; i < (g_getenv ("GEMEM_QUICK") != NULL ? 600 : 3000); i++)
    random_step (&program);
  result = gemem_heap_result (program.heap);
  g_assert_true (gemem_recording_finish (recording, &error));
  g_assert_no_error (error);
  close_clean (program.heap);
  return result;
}

static GememTraceReader *
open_file (gpointer path, GError **error)
{
  return gemem_trace_open (path, NULL, NULL, error);
}

static void
test_replay (gconstpointer data)
{
  /* the recording has the addresses of ranges; little memory */
  static const char *const devices[] = {
    "sim:capacity=8GiB,event_latency=1ms,va_base=0x300008200000,va_step=2MiB",
    "sim:capacity=200MiB,event_latency=1ms,reserved_by_others=20MiB"
  };
  const GememAllocatorClass *klass = data;
  g_autofree char *path = g_build_filename (test_tmpdir (), "live.gmt", NULL);

  if (g_str_has_suffix (klass->name, "cuda-async"))
    {
      g_test_skip ("its decisions ask the device's clock, which no recording has (peers.md 1d)");
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (devices); i++)
    {
      GememResult *live = record (klass->name, devices[i], path), *replayed;
      g_autoptr (GPtrArray)
          specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      g_autoptr (GError) error = NULL;
      GememJob job = {
        .device_ordinal = -1, .source = open_file, .source_data = path, .use_trace_settings = TRUE
      };

      g_assert_true (gemem_allocator_spec_parse (klass->name, specs, &error));
      job.allocator = specs->pdata[0];
      replayed = gemem_job_run (&job, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (replayed->fidelity.compared, ==, live->allocs);
      g_assert_cmpuint (replayed->fidelity.equal, ==, live->allocs);
      g_assert_cmpuint (replayed->fidelity.segments_equal, ==,
                        replayed->fidelity.segments_compared);
      g_assert_cmpuint (replayed->peak_reserved, ==, live->peak_reserved);
      g_assert_cmpuint (replayed->peak_live, ==, live->peak_live);
      g_assert_cmpuint (replayed->lower_bound, ==, live->lower_bound);
      g_assert_cmpuint (replayed->ooms, ==, live->ooms);
      g_assert_cmpuint (live->measured_alloc_ns.count, ==, live->allocs);
      if (i == 1)
        g_assert_cmpuint (live->ooms, >, 0);
      gemem_result_free (live);
      gemem_result_free (replayed);
    }
}

/* ---- threads */

static gpointer
second_thread (gpointer heap)
{
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (gemem_heap_alloc (heap, MIB, 0, 0, &error), ==, 0);
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_nonnull (strstr (error->message, ":event 1: a second thread calls a pool"));
  return NULL;
}

static gpointer
served (gpointer heap)
{
  give_back (heap, alloc (heap, MIB, 0));
  return NULL;
}

/* single_thread=yes refuses a second thread of the program; without it the heap's caller takes
 * care. */
static void
test_single_thread (void)
{
  GememHeap *heap = heap_on ("ge-scalable:single_thread=yes", "sim:capacity=8GiB", NULL);
  const guint64 block = alloc (heap, MIB, 0);

  g_thread_join (g_thread_new ("second", second_thread, heap));
  give_back (heap, block);
  close_clean (heap);

  heap = heap_on ("ge-scalable", "sim:capacity=8GiB", NULL);
  give_back (heap, alloc (heap, MIB, 0));
  g_thread_join (g_thread_new ("second", served, heap));
  close_clean (heap);
}

int
main (int argc, char **argv)
{
  const GememAllocatorClass *const *classes = gemem_allocator_classes ();

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/heap/use-on-stream", test_use_on_stream);
  g_test_add_func ("/heap/own-stream", test_own_stream);
  g_test_add_func ("/heap/streams-unknown", test_streams_unknown);
  g_test_add_func ("/heap/wait-before-failure", test_wait_before_failure);
  g_test_add_func ("/heap/trim", test_trim);
  g_test_add_func ("/heap/pools", test_pools);
  g_test_add_func ("/heap/no-events-in-captures", test_no_events_in_captures);
  g_test_add_func ("/heap/segment", test_segment);
  g_test_add_func ("/heap/errors", test_errors);
  g_test_add_func ("/heap/single-thread", test_single_thread);
  for (; *classes != NULL; classes++)
    if ((*classes)->prepare == NULL)
      {
        g_autofree char *name = g_strconcat ("/heap/replay/", (*classes)->name, NULL);
        g_test_add_data_func (name, *classes, test_replay);
      }
  return g_test_run ();
}
