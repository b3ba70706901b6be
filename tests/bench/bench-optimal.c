/* bench-optimal.c - the planner `optimal`: how long it takes, and how far above the least its plans
 * are, where the least is known.
 *
 *   bench-optimal [WORKLOAD ITEMS EFFORT [SECONDS [SEEDS]]]   default: the rows of the goals
 *
 * Workloads: "training" (weights, activations freed in mirrored order, temporaries, links that skip
 * layers, gradients); "guillotine" (a rectangle cut into boxes, whose height is the least); "dense"
 * (the same in 1000 steps, so that many begin at each); "slack" (without 3 % of the boxes); all others are names of published
 * instances in $GEMEM_SHARED, whose rows every seed but the first shuffles; left out where there are none.  One thread.  Lifetimes are made before the clock starts.  A JSON line per row: median
 * seconds and overhead over the seeds, how many plans were as low as the rectangle, and how many bytes
 * of memory an item took at most, its lifetime included: each row is a process of its own.  With SECONDS the search is bounded by processor time, too.
 */
#include "config.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compare.h"
#include "base/rng.h"
#include "planners/planner.h"
#include "sim/engine/lifetimes.h"
#include "tests/bench/bench.h"
#include "tests/util/guillotine.h"

#define STEPS 1000000
#define DENSE_STEPS 1000
#define HEIGHT 1000000000
#define MOST_SEEDS 100

typedef struct
{
  const char *workload, *effort;
  guint n, seconds, seeds;
} Row;

static const Row rows[] = {
  { "training", "quick", 10000, 0, 5 },
  { "training", "quick", 100000, 0, 5 },
  { "training", "quick", 1000000, 0, 5 },
  { "guillotine", "normal", 200, 0, 5 },
  { "guillotine", "thorough", 500, 1, 20 },
  { "slack", "thorough", 400, 20, 8 },
  { "guillotine", "thorough", 10000, 10, 1 },
  { "guillotine", "thorough", 100000, 20, 1 },
  { "guillotine", "thorough", 1000000, 30, 3 },
  { "slack", "thorough", 10000, 10, 5 },
  { "dense", "quick", 100000, 0, 3 },
  { "dense", "thorough", 100000, 20, 3 },
  { "A", "normal", 154, 0, 5 },
  { "B", "normal", 170, 0, 5 },
  { "C", "normal", 203, 0, 5 },
  { "D", "normal", 213, 0, 5 },
  { "E", "normal", 215, 0, 5 },
  { "F", "normal", 296, 0, 5 },
  { "G", "normal", 308, 0, 5 },
  { "H", "normal", 316, 0, 5 },
  { "I", "normal", 374, 0, 5 },
  { "J", "thorough", 409, 60, 1 },
  { "K", "normal", 454, 0, 5 },
  { "resnet50", "normal", 1042, 0, 5 },
  { "G_1", "normal", 816, 0, 5 },
  { "Y_1", "normal", 62185, 0, 5 },
  { "pangu_2.6B", "normal", 18692, 0, 5 },
  { "S_1", "normal", 28526, 0, 5 },
};

/* ---- workloads */

/* Of layer @i of @layers: 16 items.  Forward is step 4 i to 4 i + 3, backward mirrors it. */
static void
add_layer (GememLifetimes *lifetimes, GememRng *rng, guint64 i, guint64 layers)
{
  static const guint64 sizes[] = { 4096, 12288, 16384, 4096, 65536, 16384, 1024, 512 };
  const guint64 end = 8 * layers, forward = 4 * i, backward = end - 4 * i - 4;

  for (guint k = 0; k < 4; k++) /* weights, and what is kept for the way back */
    {
      const guint64 kept = sizes[(i + k) % G_N_ELEMENTS (sizes)] * 512;

      gemem_lifetimes_add (lifetimes, 0, end, sizes[k] * 512);
      gemem_lifetimes_add (lifetimes, forward + k, backward + 4 - k, kept);
    }
  for (guint k = 0; k < 3; k++) /* temporaries */
    {
      gemem_lifetimes_add (lifetimes, forward + k, forward + k + 1,
                           gemem_rng_range (rng, 1, 32768) * 512);
      gemem_lifetimes_add (lifetimes, backward + k, backward + k + 2,
                           gemem_rng_range (rng, 1, 32768) * 512);
    }
  gemem_lifetimes_add (lifetimes, forward, MIN (forward + 32, end), 8192 * 512);
  gemem_lifetimes_add (lifetimes, backward, end, sizes[i % 4] * 512);
}

static GememLifetimes *
make_training (guint64 seed, guint n)
{
  GememLifetimes *lifetimes = gemem_lifetimes_new ("training");
  GememRng rng;

  gemem_rng_init (&rng, seed, "training");
  for (guint64 i = 0; i < n / 16; i++)
    add_layer (lifetimes, &rng, i, n / 16);
  return lifetimes;
}

static gboolean
is_cut (const Row *row)
{
  return strcmp (row->workload, "guillotine") == 0 || strcmp (row->workload, "dense") == 0
         || strcmp (row->workload, "slack") == 0;
}

/* Of a published instance; NULL: @row has a generator. */
static char *
path_of (const Row *row)
{
  const char *shared = g_getenv ("GEMEM_SHARED");
  const gboolean minimalloc = row->workload[1] == '\0';
  g_autofree char *name = g_strconcat (row->workload, minimalloc ? ".1048576.csv" : ".csv.gz",
                                       NULL);

  if (is_cut (row) || strcmp (row->workload, "training") == 0)
    return NULL;
  return g_build_filename (shared != NULL ? shared : ".", "dsa",
                           minimalloc ? "minimalloc" : "traces", name, NULL);
}

static gboolean
is_there (const Row *row)
{
  g_autofree char *path = path_of (row);
  const gboolean there = path == NULL || g_file_test (path, G_FILE_TEST_EXISTS);

  if (!there)
    fprintf (stderr, "bench-optimal: no %s, so it is left out\n", path);
  return there;
}

static GememLifetimes *
read_instance (const char *path, guint64 seed)
{
  GError *error = NULL;
  GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);
  GememLifetimes *lifetimes = reader != NULL ? gemem_trace_lifetimes (reader, -1, &error) : NULL;
  GememRng rng;

  if (lifetimes == NULL)
    {
      fprintf (stderr, "bench-optimal: %s\n", error->message);
      exit (2);
    }
  gemem_trace_close (reader);
  gemem_rng_init (&rng, seed, "rows");
  for (guint i = lifetimes->items->len; i > 1 && seed > 1; i--)
    {
      GememLifetime *a = &g_array_index (lifetimes->items, GememLifetime, i - 1),
                    *b = &g_array_index (lifetimes->items, GememLifetime,
                                         gemem_rng_below (&rng, i));
      const GememLifetime moved = *a;

      *a = *b;
      *b = moved;
    }
  for (guint i = 0; i < lifetimes->items->len && seed > 1; i++)
    g_array_index (lifetimes->items, GememLifetime, i).id = i;
  return lifetimes;
}

static GememLifetimes *
make (const Row *row, guint64 seed)
{
  g_autofree char *path = path_of (row);

  if (path != NULL)
    return read_instance (path, seed);
  if (strcmp (row->workload, "training") == 0)
    return make_training (seed, row->n);
  return test_guillotine (seed, row->n, strcmp (row->workload, "dense") == 0 ? DENSE_STEPS : STEPS,
                          HEIGHT, strcmp (row->workload, "slack") == 0 ? 3 : 0);
}

/* ---- measuring */

static guint64
clock_ns (void)
{
  return (guint64) bench_clock () * 1000;
}

static GememPlan *
plan (const Row *row, const GememLifetimes *lifetimes)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  g_autofree char *text = g_strdup_printf ("optimal:alignment=1,effort=%s,time=%us", row->effort,
                                           row->seconds);
  const GememPlanInput input = { .lifetimes = lifetimes, .threads = 1, .clock = clock_ns };
  GError *error = NULL;
  GememPlan *made = gemem_planner_parse (text, choices, &error)
                        ? gemem_planner_run (choices->pdata[0], &input, &error)
                        : NULL;

  if (made != NULL)
    return made;
  fprintf (stderr, "bench-optimal: %s\n", error->message);
  exit (2);
}

static double
median (double *values, guint n)
{
  qsort (values, n, sizeof (double), gemem_compare_double);
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The most that the process ever had, in bytes. */
static double
peak_memory (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return (double) usage.ru_maxrss * 1024;
}

static void
measure (const Row *row)
{
  const double before = peak_memory ();
  const guint64 known = is_cut (row) ? HEIGHT : 0;
  double seconds[MOST_SEEDS], overheads[MOST_SEEDS];
  guint solved = 0;

  for (guint i = 0; i < row->seeds; i++)
    {
      malloc_trim (0); /* what the plan before it left free counts once */
      g_autoptr (GememLifetimes) lifetimes = make (row, i + 1);
      const gint64 start = bench_clock ();
      g_autoptr (GememPlan) made = plan (row, lifetimes);
      const guint64 least = known != 0 ? known : made->lower_bound;

      seconds[i] = (double) (bench_clock () - start) * 1e-6;
      overheads[i] = (double) made->arena / (double) least;
      solved += made->arena <= least;
    }
  const double typical = median (seconds, row->seeds), overhead = median (overheads, row->seeds);
  printf ("{\"bench\":\"optimal\",\"workload\":\"%s\",\"n\":%u,\"effort\":\"%s\",\"limit_s\":%u,"
          "\"seeds\":%u,\"solved\":%u,\"seconds\":%.6f,\"most_seconds\":%.6f,\"overhead\":%.6f,"
          "\"bytes_per_item\":%.0f}\n",
          row->workload, row->n, row->effort, row->seconds, row->seeds, solved, typical,
          seconds[row->seeds - 1], overhead, (peak_memory () - before) / row->n);
  fflush (stdout);
}

/* What a row takes is not what those before it took. */
static void
measure_apart (const Row *row)
{
  const pid_t child = fork ();
  int status = 1;

  if (child == 0)
    {
      measure (row);
      exit (0);
    }
  if (child < 0 || waitpid (child, &status, 0) < 0 || status != 0)
    exit (2);
}

int
main (int argc, char **argv)
{
  const guint quick = (guint) bench_size (1, 0);
  const Row given = { argc > 1 ? argv[1] : "", argc > 3 ? argv[3] : "",
                      argc > 2 ? (guint) atoi (argv[2]) : 0, argc > 4 ? (guint) atoi (argv[4]) : 0,
                      argc > 5 ? MIN ((guint) atoi (argv[5]), MOST_SEEDS) : 5 };

  if (argc > 3 && is_there (&given))
    measure (&given);
  for (guint i = 0; argc <= 3 && i < G_N_ELEMENTS (rows); i++)
    {
      Row row = rows[i];

      if (quick == 0)
        row = (Row){ row.workload, "quick", 200, row.seconds, 1 };
      if (is_there (&row))
        measure_apart (&row);
    }
  return 0;
}
