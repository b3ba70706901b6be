/* bench-allocators.c - what one allocation or free costs inside each allocator of the registry, on the simulated device.
 *
 *   bench-allocators [WORKLOAD [NAME...]]     WORKLOAD: "GENERATOR[:key=value,...]", default: all of the list below
 *
 * The events are generated before the clock starts and ids become dense slots, so the time is alloc() and free() of the allocator and the
 * device calls they make, without the engine.  One JSON line per allocator and workload: best of five runs, each on a new device.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/util/vectors.h"
#include "workloads/generator.h"

#define RUNS 5

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

/* The allocations and frees of @workload; *slots is how many ids are live at most. */
static GArray *
load (const char *workload, guint64 *slots)
{
  GArray *operations = g_array_new (FALSE, FALSE, sizeof (Operation));
  g_autoptr (GArray) unused = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autoptr (GHashTable) slot_of = g_hash_table_new (g_direct_hash, g_direct_equal);
  const GememTraceEvent *events;
  GError *error = NULL;
  GememTraceReader *reader = gemem_generator_open (workload, 1, &error);
  gssize n;

  fail_on (error);
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

/* Nanoseconds of one run; the frees of requests that failed are left out. */
static guint64
run (GememAllocator *a, const GArray *operations, GememBlock *blocks, guint64 *failures)
{
  const Operation *operation = (const Operation *) (gconstpointer) operations->data, *end = operation + operations->len;
  gboolean (*alloc) (GememAllocator *, const GememRequest *, GememBlock *) = a->klass->alloc;
  void (*release) (GememAllocator *, const GememBlock *, gboolean) = a->klass->free;
  const gint64 start = g_get_monotonic_time ();

  *failures = 0;
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
  return (guint64) (g_get_monotonic_time () - start) * 1000;
}

static void
measure (const GememAllocatorClass *klass, const char *workload, const GArray *operations, guint64 slots)
{
  guint64 best = G_MAXUINT64, failures = 0, calls = 0, peak = 0;

  for (guint i = 0; i < RUNS; i++)
    {
      g_autofree GememBlock *blocks = g_new0 (GememBlock, slots);
      GememAllocator *a = test_allocator_new (klass->name, "sim:capacity=256GiB");
      const guint64 ns = run (a, operations, blocks, &failures);

      best = MIN (best, ns);
      calls = a->device->calls[GEMEM_CALL_MALLOC] + a->device->calls[GEMEM_CALL_FREE];
      peak = a->device->peak_held;
      test_allocator_destroy (a);
    }
  printf ("{\"bench\":\"allocator\",\"allocator\":\"%s\",\"workload\":\"%s\",\"events\":%u,\"ns_per_event\":%.2f,\"events_per_s\":%.0f,"
          "\"device_calls\":%" G_GUINT64_FORMAT ",\"peak_reserved\":%" G_GUINT64_FORMAT ",\"failed\":%" G_GUINT64_FORMAT "}\n",
          klass->name, workload, operations->len, (double) best / operations->len, operations->len * 1e9 / (double) MAX (best, 1), calls, peak, failures);
  fflush (stdout);
}

static void
bench (const char *workload, int n_names, char **names)
{
  guint64 slots;
  g_autoptr (GArray) operations = load (workload, &slots);

  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    {
      gboolean wanted = n_names == 0;

      for (int i = 0; i < n_names; i++)
        wanted = wanted || gemem_name_equal (names[i], (*c)->name);
      if (wanted)
        measure (*c, workload, operations, slots);
    }
}

int
main (int argc, char **argv)
{
  if (argc > 1)
    bench (argv[1], argc - 2, argv + 2);
  else
    for (guint i = 0; i < G_N_ELEMENTS (workloads); i++)
      bench (workloads[i], 0, NULL);
  return 0;
}
