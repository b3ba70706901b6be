/* bench-allocators.c - the cost of one allocation or free inside each allocator of the registry, on
 * the simulated device.
 *
 *   bench-allocators [WORKLOAD [NAME...]]     WORKLOAD: "GENERATOR[:key=value,...]", or "vectors";
 *                                             default: all
 *
 * The events are generated before the clock starts and ids become dense slots, so the time is that
 * of the allocator's alloc() and free() and of their device calls, without the engine. One JSON
 * line per allocator and workload: best of five runs, each on a new device. "vector" repeats the
 * operations of some files of shared/vectors, with the allocator of the file and those like it, if
 * the files are present. bench-flatness measures how the cost grows with the number of live blocks.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/bench.h"
#include "tests/util/vectors.h"
#include "workloads/generator.h"

#define RUNS 5
#define VECTOR_EVENTS 1000000

typedef struct
{
  guint64 size; /* 0: free */
  guint64 stream;
  guint64 slot;
} Operation;

static const char *const workloads[] = {
  "transformer-train:layers=24,width=1024,iterations=400",
  "transformer-train:layers=24,width=1024,iterations=400,jitter=50",
  "random:events=500000,lifetime=2000,size_max=8MiB",
};

static void
fail_on (GError *error)
{
  if (error == NULL)
    return;
  fprintf (stderr, "bench-allocators: %s\n", error->message);
  exit (2);
}

/* The allocations and frees read from @reader, which is closed; *slots: the most ids live at
 * once. */
static GArray *
load_from (GememTraceReader *reader, guint64 *slots)
{
  GArray *operations = g_array_new (FALSE, FALSE, sizeof (Operation));
  g_autoptr (GArray) unused = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autoptr (GHashTable) slot_of = g_hash_table_new (g_direct_hash, g_direct_equal);
  const GememTraceEvent *events;
  GError *error = NULL;
  gssize n;

  *slots = 0;
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      {
        const gpointer key = GSIZE_TO_POINTER ((gsize) events[i].id);
        Operation operation = { events[i].size, events[i].stream, 0 };

        if (events[i].kind == GEMEM_EVENT_ALLOC && unused->len > 0)
          {
            operation.slot = g_array_index (unused, guint64, unused->len - 1);
            g_array_set_size (unused, unused->len - 1);
          }
        else if (events[i].kind == GEMEM_EVENT_ALLOC)
          operation.slot = (*slots)++;
        else if (events[i].kind == GEMEM_EVENT_FREE)
          {
            operation.size = 0;
            operation.slot = (guint64) GPOINTER_TO_SIZE (g_hash_table_lookup (slot_of, key));
            g_array_append_val (unused, operation.slot);
          }
        else
          continue;
        if (operation.size != 0)
          g_hash_table_insert (slot_of, key, GSIZE_TO_POINTER ((gsize) operation.slot));
        g_array_append_val (operations, operation);
      }
  fail_on (error);
  gemem_trace_close (reader);
  return operations;
}

static GArray *
load (const char *workload, guint64 *slots)
{
  GError *error = NULL;
  GememTraceReader *reader = gemem_generator_open (workload, 1, &error);

  fail_on (error);
  return load_from (reader, slots);
}

/* Carries out @operations, without the frees of requests that failed, which are counted. Returns
 * nanoseconds. */
static guint64
run (GememAllocator *a, const GArray *operations, GememBlock *blocks, guint64 *failures)
{
  const Operation *operation = (const Operation *) (gconstpointer) operations->data,
                  *end = operation + operations->len;
  gboolean (*alloc) (GememAllocator *, const GememRequest *, GememBlock *) = a->klass->alloc;
  void (*release) (GememAllocator *, const GememBlock *, gboolean) = a->klass->free;
  const gint64 start = bench_clock ();

  for (; operation < end; operation++)
    if (operation->size == 0)
      {
        if (blocks[operation->slot].size != 0)
          release (a, &blocks[operation->slot], FALSE);
        blocks[operation->slot].size = 0;
      }
    else
      {
        const GememRequest request = { operation->size, operation->stream, 0 };

        if (!alloc (a, &request, &blocks[operation->slot]))
          {
            blocks[operation->slot].size = 0;
            ++*failures;
          }
      }
  return (guint64) (bench_clock () - start) * 1000;
}

typedef struct
{
  guint64 ns, failures, calls, peak;
} Figures;

/* The best of @runs. @allocator: "NAME[:key=value,...]". */
static Figures
measure (const char *allocator, const GArray *operations, guint64 slots, guint64 runs)
{
  Figures best = { .ns = G_MAXUINT64 };

  for (guint64 i = 0; i < runs; i++)
    {
      g_autofree GememBlock *blocks = g_new0 (GememBlock, slots);
      GememAllocator *a = test_allocator_new (allocator, "sim:capacity=1TiB");
      Figures figures = { 0 };

      figures.ns = run (a, operations, blocks, &figures.failures);
      figures.calls = a->device->calls[GEMEM_CALL_MALLOC] + a->device->calls[GEMEM_CALL_FREE];
      figures.peak = a->device->peak_held;
      if (figures.ns < best.ns)
        best = figures;
      test_allocator_destroy (a);
    }
  return best;
}

static void
bench_workload (const char *workload, int n_names, char **names)
{
  guint64 slots;
  g_autoptr (GArray) operations = load (workload, &slots);

  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    {
      gboolean wanted = n_names == 0;

      for (int i = 0; i < n_names; i++)
        wanted = wanted || gemem_name_equal (names[i], (*c)->name);
      if (!wanted || (*c)->prepare != NULL) /* bench-planner measures planning */
        continue;
      const Figures f = measure ((*c)->name, operations, slots, bench_size (RUNS, 1));
      printf ("{\"bench\":\"allocator\",\"allocator\":\"%s\",\"workload\":\"%s\",\"events\":%u,"
              "\"ns_per_event\":%.2f,\"events_per_s\":%.0f,"
              "\"device_calls\":%" G_GUINT64_FORMAT ",\"peak_reserved\":%" G_GUINT64_FORMAT
              ",\"failed\":%" G_GUINT64_FORMAT "}\n",
              (*c)->name, workload, operations->len, (double) f.ns / operations->len,
              operations->len * 1e9 / (double) MAX (f.ns, 1), f.calls, f.peak, f.failures);
      fflush (stdout);
    }
}

/* Frees the blocks that @operations leave live. */
static void
close_up (GArray *operations, guint64 slots)
{
  g_autofree gboolean *live = g_new0 (gboolean, slots);

  for (guint i = 0; i < operations->len; i++)
    live[g_array_index (operations, Operation, i).slot] =
        g_array_index (operations, Operation, i).size != 0;
  for (guint64 slot = 0; slot < slots; slot++)
    {
      const Operation release = { .slot = slot };

      if (live[slot])
        g_array_append_val (operations, release);
    }
}

/* The operations of a vector file "FOLDER/NAME", repeated on one allocator; all blocks are freed
 * at the end of each repetition. */
static GArray *
load_vector (const char *name, guint64 *slots)
{
  const char *shared = g_getenv ("GEMEM_SHARED");
  g_autofree char *path = g_strdup_printf ("%s/vectors/%s-1.vec.gz", shared != NULL ? shared : "",
                                           name);
  g_autoptr (GArray) once = NULL;
  GArray *operations;
  GError *error = NULL;
  GememTraceReader *reader;

  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return NULL;
  reader = gemem_trace_open (path, NULL, NULL, &error);
  fail_on (error);
  once = load_from (reader, slots);
  close_up (once, *slots);
  operations = g_array_new (FALSE, FALSE, sizeof (Operation));
  do
    g_array_append_vals (operations, once->data, once->len);
  while (operations->len < bench_size (VECTOR_EVENTS, 1));
  return operations;
}

/* Measures the operations of the vector file @name with @allocator under @settings, those of the
 * file's first line. */
static void
bench_vector (const char *name, const char *allocator, const char *settings)
{
  g_autofree char *spec = g_strconcat (allocator, *settings != '\0' ? ":" : "", settings, NULL);
  const char *const names[] = { "direct", allocator }, *const specs[] = { "direct", spec };
  guint64 slots;
  g_autoptr (GArray) operations = load_vector (name, &slots);

  if (operations == NULL)
    fprintf (stderr, "bench-allocators: no shared vectors, so %s is left out\n", name);
  for (guint i = 0; operations != NULL && i < G_N_ELEMENTS (specs); i++)
    {
      const Figures f = measure (specs[i], operations, slots, bench_size (RUNS, 1));

      printf ("{\"bench\":\"vector\",\"allocator\":\"%s\",\"workload\":\"%s\",\"events\":%u,\"ns_"
              "per_event\":%.2f,\"events_per_s\":%.0f}\n",
              names[i], name, operations->len, (double) f.ns / operations->len,
              operations->len * 1e9 / (double) MAX (f.ns, 1));
      fflush (stdout);
    }
}

/* PaddlePaddle's virtual memory and threads have no file of their own, and get the operations of
 * the most similar allocator. */
static void
bench_vectors (void)
{
  bench_vector ("ge-runtime/two-train", "ge-scalable", "");
  bench_vector ("ge-runtime/exp-train", "ge-expandable", "");
  bench_vector ("paddle-buddy/i512r256-train", "paddle-buddy",
                "preset=P16,total=16GiB,available=16GiB,initial_mb=512,realloc_mb=256");
  bench_vector ("paddle-buddy/i512r256-train", "paddle-thread-local",
                "total=16GiB,available=16GiB,initial_mb=512,realloc_mb=256");
  bench_vector ("paddle-auto-growth/c64-train", "paddle-auto-growth", "chunk_mb=64");
  bench_vector ("paddle-auto-growth/c64-train", "paddle-vmm-auto-growth", "");
  bench_vector ("paddle-best-fit/i64r64-train", "paddle-best-fit", "max_chunk=67108864,chunks=256");
}

int
main (int argc, char **argv)
{
  const gboolean quick = bench_size (FALSE, TRUE) != FALSE;

  const gboolean vectors = argc == 2 && g_str_equal (argv[1], "vectors");

  if (argc > 1 && !vectors)
    bench_workload (argv[1], argc - 2, argv + 2);
  else if (quick && !vectors)
    bench_workload ("random:events=2000", 0, NULL);
  else if (!vectors)
    for (guint i = 0; i < G_N_ELEMENTS (workloads); i++)
      bench_workload (workloads[i], 0, NULL);
  if (argc == 1 || vectors)
    bench_vectors ();
  return 0;
}
