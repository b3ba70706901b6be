/* test-torch.c - libgemem-torch.so, opened and driven as PyTorch does: eight threads on two devices
 * with streams, frees from other threads, private pools; its files at exit; a recording that
 * replays to the same decisions; and its failures.
 *
 * Each program is a child process (this one with --child NAME), since the library reads the
 * environment once and reports at exit. The devices are simulated ones, and, if the CUDA headers
 * are installed, CUDA devices of the stand-in driver (tests/dry), with the program's own
 * streams.
 */
#include "config.h"

#ifdef HAVE_CUDA
#include <cuda.h>
#endif
#include <glib/gstdio.h>
#include <gmodule.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "sim/engine/replay.h"
#include "sim/live/torch.h"
#include "sim/report/report.h"
#include "tests/util/testutil.h"

#define THREADS 8
#define STEPS (g_getenv ("GEMEM_QUICK") != NULL ? 100u : 1500u)
#define BLOCKS 64
#define MIB (1 << 20)

/* ---- the library */

static struct
{
  __typeof__ (gemem_torch_malloc) *malloc;
  __typeof__ (gemem_torch_free) *free;
  __typeof__ (gemem_torch_init) *init;
  __typeof__ (gemem_torch_reset) *reset;
  __typeof__ (gemem_torch_set_memory_fraction) *set_memory_fraction;
  __typeof__ (gemem_torch_base_alloc) *base_alloc;
  __typeof__ (gemem_torch_record_stream) *record_stream;
  __typeof__ (gemem_torch_begin_allocate_to_pool) *begin_allocate_to_pool;
  __typeof__ (gemem_torch_end_allocate_to_pool) *end_allocate_to_pool;
  __typeof__ (gemem_torch_release_pool) *release_pool;
  __typeof__ (gemem_torch_stat) *stat;
  __typeof__ (gemem_torch_reset_peaks) *reset_peaks;
} torch;

static void
open_library (void)
{
  g_autofree char *path = g_build_filename (g_getenv ("GEMEM_BUILDDIR"), ".libs",
                                            "libgemem-torch.so", NULL);
  GModule *module = g_module_open (path, G_MODULE_BIND_LOCAL);
  gpointer hidden;

  if (module == NULL)
    g_error ("%s", g_module_error ());
#define SYMBOL(name) \
  g_assert_true (g_module_symbol (module, "gemem_torch_" #name, (gpointer *) &torch.name))
  SYMBOL (malloc);
  SYMBOL (free);
  SYMBOL (init);
  SYMBOL (reset);
  SYMBOL (set_memory_fraction);
  SYMBOL (base_alloc);
  SYMBOL (record_stream);
  SYMBOL (begin_allocate_to_pool);
  SYMBOL (end_allocate_to_pool);
  SYMBOL (release_pool);
  SYMBOL (stat);
  SYMBOL (reset_peaks);
#undef SYMBOL
  g_assert_false (
      g_module_symbol (module, "gemem_allocator_find",
                       &hidden)); /* no symbol of ours can clash with the program's own */
}

#define STREAMS 3

/* The streams of each device, as the program created them; [0] is the default stream. */
static gpointer streams[2][STREAMS];

#ifdef HAVE_CUDA
#define DO(call, ...) \
  G_STMT_START \
  { \
    __typeof__ (call) *function; \
    g_assert_true (g_module_symbol (driver, G_STRINGIFY (call), (gpointer *) &function)); \
    g_assert_cmpint (function (__VA_ARGS__), ==, CUDA_SUCCESS); \
  } \
  G_STMT_END

static GModule *driver;
static CUcontext contexts[2];

/* The program's own work on the GPUs, through the driver. */
static void
make_streams (void)
{
  driver = g_module_open ("libcuda.so.1", G_MODULE_BIND_LOCAL);
  g_assert_nonnull (driver);
  DO (cuInit, 0);
  for (int device = 0; device < 2; device++)
    {
      DO (cuDevicePrimaryCtxRetain, &contexts[device], device);
      DO (cuCtxSetCurrent, contexts[device]);
      for (guint i = 1; i < STREAMS; i++)
        DO (cuStreamCreate, (CUstream *) &streams[device][i], CU_STREAM_NON_BLOCKING);
    }
}
#else
static void
make_streams (void)
{
  g_assert_not_reached ();
}
#endif

/* ---- programs */

typedef struct
{
  void *pointer;
  gsize size;
  int device;
  void *stream;
} Tensor;

/* Shared by all threads: a thread may free a tensor that another one allocated. */
static Tensor tensors[BLOCKS];
/* a lock known to the thread sanitizer */
static pthread_mutex_t tensors_lock = PTHREAD_MUTEX_INITIALIZER;

static Tensor
exchange (guint64 place, Tensor tensor)
{
  Tensor before;

  pthread_mutex_lock (&tensors_lock);
  before = tensors[place];
  tensors[place] = tensor;
  pthread_mutex_unlock (&tensors_lock);
  return before;
}

static gpointer
thread_work (gpointer number)
{
  GememRng rng;

  gemem_rng_init (&rng, GPOINTER_TO_UINT (number), "thread");
  for (guint i = 0; i < STEPS; i++)
    {
      Tensor tensor = { .size = 1 + gemem_rng_below (&rng, 4 * MIB) };

      tensor.device = (int) gemem_rng_below (&rng, 2);
      tensor.stream = streams[tensor.device][gemem_rng_below (&rng, STREAMS)];
      tensor.pointer = torch.malloc ((ssize_t) tensor.size, tensor.device, tensor.stream);
      g_assert_nonnull (tensor.pointer);
      if (gemem_rng_below (&rng, 4) == 0)
        torch.record_stream (tensor.pointer,
                             streams[tensor.device][gemem_rng_below (&rng, STREAMS)]);
      tensor = exchange (gemem_rng_below (&rng, BLOCKS), tensor);
      torch.free (tensor.pointer, (ssize_t) tensor.size, tensor.device, tensor.stream);
    }
  return NULL;
}

static void
child_threads (void)
{
  GThread *threads[THREADS];

  for (guint i = 0; i < 2 * STREAMS; i++)
    streams[i / STREAMS][i % STREAMS] = GSIZE_TO_POINTER (i % STREAMS * 0x1000);
  if (g_str_has_prefix (g_getenv ("GEMEM_DEVICE"), "cuda"))
    make_streams ();
  torch.init (2);
  for (guint i = 0; i < THREADS; i++)
    threads[i] = g_thread_new ("worker", thread_work, GUINT_TO_POINTER (i + 1));
  for (guint i = 0; i < THREADS; i++)
    g_thread_join (threads[i]);
  g_assert_cmpuint (torch.stat (0, "allocs") + torch.stat (1, "allocs"), ==,
                    THREADS * STEPS + torch.stat (0, "failed") + torch.stat (1, "failed"));
  torch.reset ();
}

static void *late;

static void
free_late (void)
{
  torch.free (late, MIB, 0, NULL);
  g_assert_null (torch.malloc (MIB, 0, NULL));
  g_assert_cmpuint (torch.stat (0, "live"), ==, 0);
  torch.reset ();
  torch.record_stream (late, NULL);
}

/* Exit handlers run in reverse order: this one after the library's own. */
static void
child_teardown (void)
{
  atexit (free_late);
  late = torch.malloc (MIB, 0, NULL);
  g_assert_nonnull (late);
}

static void
child_hooks (void)
{
  const GememTorchPool pool = { 0, 1 }, other = { 1, 0 };
  void *a, *b;
  size_t size = 1;

  torch.set_memory_fraction (0.5, 0);
  a = torch.malloc (3 * MIB, 0, NULL);
  b = torch.malloc (3 * MIB, 0, NULL);
  g_assert_true (torch.base_alloc (b, &size) == a && size == 20 * MIB);
  g_assert_null (torch.base_alloc ((char *) b + 1, &size));
  g_assert_cmpuint (size, ==, 0);
  g_assert_null (torch.malloc (0, 0, NULL));
  g_assert_null (torch.malloc (100 * MIB, 0, NULL)); /* of 128 MiB a half */
  g_assert_cmpuint (torch.stat (0, "failed"), ==, 1);
  g_assert_cmpuint (torch.stat (0, "faled"), ==, UINT64_MAX);
  g_assert_cmpuint (torch.stat (1, "live"), ==, 0);
  torch.free (b, 3 * MIB, 0, NULL);
  torch.free (b, 3 * MIB, 0, NULL); /* twice */
  torch.begin_allocate_to_pool (0, other, NULL);
  torch.begin_allocate_to_pool (0, pool, NULL);
  g_assert_true (torch.malloc (3 * MIB, 0, NULL) != b); /* another pool, another segment */
  torch.end_allocate_to_pool (0, pool);
  torch.end_allocate_to_pool (0, other);
  torch.release_pool (0, pool);
  torch.release_pool (0, other);
  g_assert_true (torch.malloc (3 * MIB, 0, NULL) == b);
  torch.set_memory_fraction (0.9, 0); /* too late */
  torch.free (a, 3 * MIB, 7, NULL);   /* nothing was allocated there */
  g_assert_null (torch.malloc (1, -1, NULL));
  torch.reset_peaks (0);
}

#ifdef HAVE_CUDA
static gpointer
allocate_meanwhile (gpointer stream)
{
  void *blocks[4];

  for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
    blocks[i] = torch.malloc (30 * MIB, 0, stream);
  for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
    torch.free (blocks[i], 30 * MIB, 0, stream);
  return NULL;
}

/* Captures as torch.cuda.graph() does: with a private pool, while another thread continues; also
 * with requests beyond the capacity. */
static void
child_capture (void)
{
  const GememTorchPool pool = { 0, 1 };
  void *before, *blocks[40];
  CUgraph graph = NULL;

  make_streams ();
  DO (cuCtxSetCurrent, contexts[0]);
  before = torch.malloc (3 * MIB, 0, streams[0][2]);
  torch.record_stream (before, streams[0][1]);
  torch.begin_allocate_to_pool (0, pool, NULL);
  DO (cuStreamBeginCapture, streams[0][1], CU_STREAM_CAPTURE_MODE_GLOBAL);
  for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
    {
      blocks[i] = torch.malloc ((ssize_t) (i + 1) * MIB / 2, 0, streams[0][1]);
      g_assert_nonnull (blocks[i]);
      if (i % 4 == 0)
        torch.record_stream (blocks[i], streams[0][2]);
      if (i % 2 == 0)
        torch.free (blocks[i], (ssize_t) (i + 1) * MIB / 2, 0, streams[0][1]);
    }
  torch.free (before, 3 * MIB, 0, streams[0][2]);
  g_thread_join (g_thread_new ("meanwhile", allocate_meanwhile, streams[0][2]));
  g_assert_null (torch.malloc ((ssize_t) 8 << 30, 0, streams[0][1]));
  DO (cuStreamEndCapture, streams[0][1], &graph);
  torch.end_allocate_to_pool (0, pool);
  for (guint i = 1; i < G_N_ELEMENTS (blocks); i += 2)
    torch.free (blocks[i], (ssize_t) (i + 1) * MIB / 2, 0, streams[0][1]);
  DO (cuGraphDestroy, graph);
  torch.release_pool (0, pool);
  torch.reset ();
  before = torch.malloc (3 * MIB, 0, streams[0][2]); /* the device goes on */
  g_assert_nonnull (before);
  g_assert_cmpuint (torch.stat (0, "failed"), ==, 1);
}
#else
static void
child_capture (void)
{
  g_assert_not_reached ();
}
#endif

/* Killed in the middle of its work, before it can write anything. */
static void
child_killed (void)
{
  for (guint i = 0; i < STEPS; i++)
    {
      void *block = torch.malloc (MIB + i, 0, NULL);

      if (i % 2 == 0)
        torch.free (block, MIB + i, 0, NULL);
    }
  raise (SIGKILL);
}

/* A child of fork() continues with its copy; the recording belongs to the parent. */
static void
child_forks (void)
{
  void *block = torch.malloc (MIB, 0, NULL);
  int status = 1;
  pid_t pid = fork ();

  if (pid == 0)
    {
      for (guint i = 0; i < STEPS; i++)
        torch.free (torch.malloc (2 * MIB, 0, NULL), 2 * MIB, 0, NULL);
      exit (0);
    }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 0);
  torch.free (block, MIB, 0, NULL);
}

static void
child_unlucky (void)
{
  void *blocks[2];

  make_streams ();
  for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
    {
      blocks[i] = torch.malloc (3 * MIB, 0, streams[0][1]);
      if (blocks[i] != NULL)
        torch.record_stream (blocks[i], streams[0][2]);
    }
  for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
    torch.free (blocks[i], 3 * MIB, 0, streams[0][1]);
  torch.reset ();
  torch.malloc (MIB, 0, streams[0][2]);
}

static void
child_one (void)
{
  torch.malloc (MIB, 0, NULL);
}

static int
child (const char *name)
{
  static const struct
  {
    const char *name;
    void (*run) (void);
  } programs[] = { { "threads", child_threads }, { "teardown", child_teardown },
                   { "hooks", child_hooks },     { "one", child_one },
                   { "capture", child_capture }, { "killed", child_killed },
                   { "forks", child_forks },     { "unlucky", child_unlucky } };

  open_library ();
  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    if (strcmp (programs[i].name, name) == 0)
      {
        programs[i].run ();
        return 0;
      }
  return 99;
}

/* ---- running them */

static const char *self;

/* Runs --child @name with the variables @settings ("NAME=value"); returns its stderr. Its exit
 * status must be @status. */
static char *
run_child (const char *name, int status, const char *const *settings)
{
  const char *argv[] = { self, "--child", name, NULL };
  g_auto (GStrv) environment = g_get_environ ();
  g_autoptr (GError) error = NULL;
  char *said = NULL;
  int waited = 0;

  for (; *settings != NULL; settings++)
    {
      g_auto (GStrv) parts = g_strsplit (*settings, "=", 2);
      environment = g_environ_setenv (environment, parts[0], parts[1], TRUE);
    }
  g_spawn_sync (NULL, (char **) argv, environment, G_SPAWN_DEFAULT, NULL, NULL, NULL, &said,
                &waited, &error);
  g_assert_no_error (error);
  waited = WIFSIGNALED (waited) ? 128 + WTERMSIG (waited) : WEXITSTATUS (waited);
  if (waited != status)
    g_test_message ("%s", said);
  g_assert_cmpint (waited, ==, status);
  return said;
}

static void
assert_says (const char *said, const char *what)
{
  if (strstr (said, what) == NULL)
    g_test_message ("said: %s; expected: %s", said, what);
  g_assert_nonnull (strstr (said, what));
}

static GememTraceReader *
open_file (gpointer path, GError **error)
{
  return gemem_trace_open (path, NULL, NULL, error);
}

/* Replays every decision on @device of the recording in the simulator on @simulated: the result
 * must equal that of @live. */
static void
check_replay (char *path, const char *allocator, int device, const char *simulated,
              const GememResult *live)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GError) error = NULL;
  GememJob job = { .device_spec = simulated,
                   .device_ordinal = device,
                   .source = open_file,
                   .source_data = path,
                   .use_trace_settings = TRUE };
  GememResult *replayed;

  g_assert_true (gemem_allocator_spec_parse (allocator, specs, &error));
  job.allocator = specs->pdata[0];
  replayed = gemem_job_run (&job, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (replayed->fidelity.compared, ==, live->allocs);
  if (!g_str_has_suffix (allocator, "cuda-async")) /* it asks the device's clock (peers.md 1d) */
    {
      g_assert_cmpuint (replayed->fidelity.equal, ==, live->allocs);
      g_assert_cmpuint (replayed->fidelity.segments_equal, ==,
                        replayed->fidelity.segments_compared);
      g_assert_cmpuint (replayed->peak_reserved, ==, live->peak_reserved);
    }
  g_assert_cmpuint (replayed->peak_live, ==, live->peak_live);
  gemem_result_free (replayed);
}

/* Eight threads with @allocator on the device that @settings name (the first three are left
 * open); @simulated: devices for the replay. */
static void
run_threads (const char *allocator, const char **settings, const char *const *simulated)
{
  g_autofree char *trace = g_build_filename (test_tmpdir (), "threads.gmt", NULL),
                  *stats = g_build_filename (test_tmpdir (), "live.json", NULL);
  g_autofree char *name = g_strconcat ("GEMEM_ALLOCATOR=", allocator, NULL),
                  *file = g_strconcat ("GEMEM_STATS=", stats, NULL);
  g_autofree char *record = g_strconcat ("GEMEM_RECORD=", trace, NULL);
  g_autofree char *said = NULL;
  g_autoptr (GPtrArray)
      results = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);
  g_autoptr (GError) error = NULL;

  settings[0] = name;
  settings[1] = file;
  settings[2] = record;
  said = run_child ("threads", 0, settings);
  g_assert_cmpstr (said, ==, "");
  gemem_results_read_json (stats, results, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (results->len, ==, 2);
  for (guint i = 0; i < results->len; i++)
    {
      const GememResult *live = results->pdata[i];
      g_assert_cmpuint (live->allocs, >, THREADS * STEPS / 3);
      g_assert_cmpuint (live->measured_alloc_ns.count, ==, live->allocs);
      check_replay (trace, allocator, (int) i, simulated[i], live);
    }
}

/* Devices have little memory, to cause pressure; an allocator that releases nothing before its
 * end needs enough for all threads together. */
static gboolean
needs_all (const char *allocator)
{
  return strcmp (allocator, "ge-session-range") == 0;
}

/* The specification of @allocator with enough for every stream and request: by default the first
 * stream of thread_local takes 92 % of the memory, and what is left for the last one depends on
 * timing; and RMM's blocks of fixed size have 1 MiB. */
static const char *
spec_of (const char *allocator)
{
  return strcmp (allocator, "paddle-thread-local") == 0
             ? "paddle-thread-local:fraction_of_gpu_memory_to_use=0.1"
         : strcmp (allocator, "rmm-fixed-size") == 0
             ? "rmm-fixed-size:block_size=32MiB,blocks_to_preallocate=2"
             : allocator;
}

static void
test_threads (gconstpointer allocator)
{
  const char *device = needs_all (allocator) ? "GEMEM_DEVICE=sim:capacity=64GiB,event_latency=20us"
                                             : "GEMEM_DEVICE=sim:capacity=4GiB,event_latency=20us";
  const char *settings[] = { "", "", "", device, NULL };
  static const char *const simulated[] = { "sim", "sim" };

  run_threads (spec_of (allocator), settings, simulated);
}

/* On two GPUs of the stand-in driver, which must report no misuse. */
static void
test_threads_on_cuda (gconstpointer allocator)
{
#ifdef HAVE_CUDA
  g_autofree char *gemem_driver = g_build_filename (g_getenv ("GEMEM_BUILDDIR"), "tests", "dry",
                                                    ".libs", NULL);
  g_autofree char *report = g_build_filename (test_tmpdir (), "report", NULL), *text = NULL;
  g_autofree char *path = g_strconcat ("LD_LIBRARY_PATH=", gemem_driver, NULL),
                  *to = g_strconcat ("GEMEM_DRIVER_REPORT=", report, NULL);
  const char *settings[] = { "",
                             "",
                             "",
                             "GEMEM_DEVICE=cuda",
                             path,
                             to,
                             needs_all (allocator) ? "GEMEM_DRIVER=sim:capacity=64GiB"
                                                   : "GEMEM_DRIVER=sim:capacity=4GiB",
                             "GEMEM_DRIVER_DEVICES=2",
                             NULL };
  /* the base of ranges in the stand-in driver */
  static const char *const simulated[] = { "sim:va_base=0x200000000000",
                                           "sim:va_base=0x1200000000000" };

  g_remove (report);
  run_threads (spec_of (allocator), settings, simulated);
  g_assert_true (g_file_get_contents (report, &text, NULL, NULL));
  assert_says (text, "call cuEventRecord ");
  assert_says (text, "\nend");
  g_assert_null (strstr (text, "misuse"));
  g_assert_null (strstr (text, "fault"));
#else
  g_test_skip ("built without the CUDA headers");
#endif
}

/* A driver call fails, then its undo: the program continues without memory, and is told the
 * first reason. */
static void
test_double_faults (void)
{
#ifdef HAVE_CUDA
  static const struct
  {
    const char *fail, *allocator;
    int status;
  } cases[] = {
    { "cuMemAlloc=1:CUDA_ERROR_UNKNOWN,cuCtxPopCurrent=1+:CUDA_ERROR_ILLEGAL_ADDRESS", "direct",
      1 },
    { "cuMemFree=1:CUDA_ERROR_UNKNOWN,cuCtxSynchronize=1+:CUDA_ERROR_ILLEGAL_ADDRESS", "direct" },
    { "cuMemMap=1:CUDA_ERROR_UNKNOWN,cuMemRelease=1+:CUDA_ERROR_ILLEGAL_ADDRESS", "ge-expandable" },
    { "cuMemSetAccess=1:CUDA_ERROR_UNKNOWN,cuMemUnmap=1+:CUDA_ERROR_ILLEGAL_ADDRESS",
      "paddle-vmm-auto-growth" },
    { "cuEventRecord=1:CUDA_ERROR_UNKNOWN,cuEventDestroy=1+:CUDA_ERROR_ILLEGAL_ADDRESS",
      "pytorch-caching" }
  };
  g_autofree char *gemem_driver = g_build_filename (g_getenv ("GEMEM_BUILDDIR"), "tests", "dry",
                                                    ".libs", NULL);
  g_autofree char *path = g_strconcat ("LD_LIBRARY_PATH=", gemem_driver, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *fail = g_strconcat ("GEMEM_DRIVER_FAIL=", cases[i].fail, NULL),
                      *allocator = g_strconcat ("GEMEM_ALLOCATOR=", cases[i].allocator, NULL);
      const char *const settings[] = { "GEMEM_DEVICE=cuda",      fail, allocator, path,
                                       "GEMEM_DRIVER_DEVICES=2", NULL };
      g_autofree char *said = run_child ("unlucky", cases[i].status, settings);

      g_test_message ("%s: %s", cases[i].fail, said);
      assert_says (said, "CUDA_ERROR_");
      g_assert_true (g_str_has_prefix (said, "libgemem-torch: "));
      g_assert_true (strchr (said, '\n') == said + strlen (said) - 1); /* once */
    }
#else
  g_test_skip ("built without the CUDA headers");
#endif
}

/* With any allocator the capture stays valid, and no driver call is refused. */
static void
test_capture (void)
{
#ifdef HAVE_CUDA
  g_autofree char *gemem_driver = g_build_filename (g_getenv ("GEMEM_BUILDDIR"), "tests", "dry",
                                                    ".libs", NULL);
  g_autofree char *report = g_build_filename (test_tmpdir (), "captured", NULL);
  g_autofree char *path = g_strconcat ("LD_LIBRARY_PATH=", gemem_driver, NULL),
                  *to = g_strconcat ("GEMEM_DRIVER_REPORT=", report, NULL);
  const GememAllocatorClass *const *classes = gemem_allocator_classes ();
  guint n = 0;

  while (classes[n] != NULL)
    n++;
  for (guint i = 0; i < 2 * n; i++)
    {
      g_autofree char *allocator = g_strconcat ("GEMEM_ALLOCATOR=", spec_of (classes[i % n]->name),
                                                NULL),
                      *text = NULL, *said = NULL;
      const char *settings[] = { allocator,
                                 i < n ? "GEMEM_DEVICE=cuda" : "GEMEM_DEVICE=cuda:mode=vmm",
                                 path,
                                 to,
                                 "GEMEM_DRIVER=sim:capacity=4GiB",
                                 "GEMEM_DRIVER_DEVICES=2",
                                 NULL };

      if (classes[i % n]->prepare != NULL)
        continue;
      g_remove (report);
      said = run_child ("capture", 0, settings);
      g_assert_true (g_file_get_contents (report, &text, NULL, NULL));
      if (strstr (text, "misuse") != NULL)
        g_test_message ("%s: %s%s", classes[i % n]->name, said, text);
      g_assert_null (strstr (text, "misuse"));
    }
#else
  g_test_skip ("built without the CUDA headers");
#endif
}

static void
test_teardown (void)
{
  const char *const settings[] = { "GEMEM_DEVICE=sim", "GEMEM_STATS=stderr", NULL };
  g_autofree char *said = run_child ("teardown", 0, settings);

  assert_says (said, "peak reserved");
  g_assert_null (strstr (said, "libgemem-torch: ")); /* no message */
}

static void
test_hooks (void)
{
  const char *const settings[] = { "GEMEM_DEVICE=sim:capacity=128MiB", NULL };
  g_autofree char *said = run_child ("hooks", 0, settings);

  assert_says (said, "is freed, but no live block begins there");
  assert_says (
      said, "device 0 (sim:capacity=128MiB): out of memory: 100.0 MiB asked for, 6.000 MiB live");
  assert_says (said, "memory fraction 0.9 comes after the first request");
  assert_says (said, "device 7: ");
  assert_says (said, "device -1: ");
}

/* One line, and the status of gemem-sim, at the first use. */
static void
test_wrong (void)
{
  static const struct
  {
    const char *variable;
    int status;
    const char *says;
  } wrong[] = {
    { "GEMEM_ALLOCATOR=pytorch-cashing", 2, "did you mean 'pytorch-caching'?" },
    { "GEMEM_ALLOCATOR=ge-*", 2, "stands for" },
    { "GEMEM_ALLOCATOR=plan", 2, "allocator plan is shown the whole trace before it serves" },
    { "GEMEM_ALLOCATOR=pytorch-caching:max_split_size_mb=much", 2, "max_split_size_mb" },
    { "GEMEM_DEVICE=simm", 2, "did you mean 'sim'?" },
    { "GEMEM_RECORD=/nowhere/at/all.gmt", 1, "/nowhere/at/all.gmt" },
    { "GEMEM_RECORD=/tmp/trace.what", 2, "trace.what" }
  };
  const char *const plugins[] = { "GEMEM_DEVICE=sim", "GEMEM_PLUGIN_PATH=/nowhere", NULL };
  g_autofree char *warned = run_child ("one", 0, plugins);

  assert_says (warned, "libgemem-torch: warning: ");
  assert_says (warned, "create the directory");

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      const char *const settings[] = { "GEMEM_DEVICE=sim", wrong[i].variable, NULL };
      g_autofree char *said = run_child ("one", wrong[i].status, settings);
      assert_says (said, wrong[i].says);
      assert_says (said, "libgemem-torch: error: GEMEM_");
      g_assert_true (strchr (said, '\n') == said + strlen (said) - 1);
    }
}

/* %p is the process id; files that cannot be written stop nothing. */
static void
test_files (void)
{
  g_autofree char *stats = g_strconcat ("GEMEM_STATS=", test_tmpdir (), "/of-%p.csv", NULL),
                  *said = NULL, *again = NULL;
  const char *const settings[] = { "GEMEM_DEVICE=sim", stats, NULL }, *const nowhere[] = {
    "GEMEM_DEVICE=sim", "GEMEM_STATS=/nowhere/x", NULL
  };
  g_autoptr (GDir) dir = NULL;
  const char *name;
  gboolean found = FALSE;

  said = run_child ("one", 0, settings);
  g_assert_cmpstr (said, ==, "");
  dir = g_dir_open (test_tmpdir (), 0, NULL);
  while ((name = g_dir_read_name (dir)) != NULL)
    found |= g_str_has_prefix (name, "of-") && g_ascii_isdigit (name[3])
             && g_str_has_suffix (name, ".csv");
  g_assert_true (found);
  again = run_child ("one", 0, nowhere);
  assert_says (again, "GEMEM_STATS: /nowhere/x");
}

/* The file in the test's folder whose name begins with @begins and ends with @ends; NULL: none. */
static char *
find_file (const char *begins, const char *ends)
{
  g_autoptr (GDir) dir = g_dir_open (test_tmpdir (), 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_prefix (name, begins) && g_str_has_suffix (name, ends))
      return g_build_filename (test_tmpdir (), name, NULL);
  return NULL;
}

static guint64
count_events (const char *path, GememEventKind kind, char **allocator)
{
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);
  const GememTraceEvent *events;
  guint64 count = 0;
  gssize n;

  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      count += events[i].kind == kind;
  g_assert_no_error (error);
  if (allocator != NULL)
    *allocator = g_strdup (reader->info.allocator);
  gemem_trace_close (reader);
  return count;
}

/* After the program was killed, its journal has all that was recorded, and replays to the same
 * decisions. */
static void
test_killed (void)
{
  g_autofree char *record = g_strconcat ("GEMEM_RECORD=", test_tmpdir (), "/killed.gmt", NULL),
                  *allocator = NULL;
  const char *const settings[] = { "GEMEM_DEVICE=sim:capacity=4GiB",
                                   "GEMEM_ALLOCATOR=ge-expandable", record, NULL };
  g_autofree char *said = run_child ("killed", 128 + SIGKILL, settings);
  g_autofree char *journal = find_file ("killed.gmt.", ".gmj");
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememJob job = {
    .device_spec = "sim", .source = open_file, .source_data = journal, .use_trace_settings = TRUE
  };
  g_autoptr (GError) error = NULL;
  GememResult *replayed;

  g_assert_cmpstr (said, ==, "");
  g_assert_nonnull (journal);
  g_assert_cmpuint (count_events (journal, GEMEM_EVENT_ALLOC, &allocator), ==, STEPS);
  g_assert_cmpstr (allocator, ==, "ge-expandable");
  g_assert_true (gemem_allocator_spec_parse (allocator, specs, &error));
  job.allocator = specs->pdata[0];
  replayed = gemem_job_run (&job, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (replayed->fidelity.equal, ==, STEPS);
  gemem_result_free (replayed);
}

static void
test_forks (void)
{
  g_autofree char *record = g_strconcat ("GEMEM_RECORD=", test_tmpdir (), "/forks.gmt", NULL);
  const char *const settings[] = { "GEMEM_DEVICE=sim", record, NULL };
  g_autofree char *said = run_child ("forks", 0, settings),
                  *path = g_build_filename (test_tmpdir (), "forks.gmt", NULL);

  g_assert_cmpstr (said, ==, "");
  g_assert_cmpuint (count_events (path, GEMEM_EVENT_ALLOC, NULL), ==, 1);
  g_assert_cmpuint (count_events (path, GEMEM_EVENT_FREE, NULL), ==, 1);
  g_assert_null (find_file ("forks.gmt.", ".gmj"));
}

int
main (int argc, char **argv)
{
  const GememAllocatorClass *const *classes = gemem_allocator_classes ();

  if (argc == 3 && strcmp (argv[1], "--child") == 0)
    return child (argv[2]);
  self = argv[0];
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; classes[i] != NULL; i++)
    if (classes[i]->prepare == NULL)
      {
        g_autofree char *path = g_strconcat ("/torch/threads/", classes[i]->name, NULL),
                        *cuda = g_strconcat ("/torch/cuda/", classes[i]->name, NULL);
        g_test_add_data_func (path, classes[i]->name, test_threads);
        g_test_add_data_func (cuda, classes[i]->name, test_threads_on_cuda);
      }
  g_test_add_func ("/torch/capture", test_capture);
  g_test_add_func ("/torch/teardown", test_teardown);
  g_test_add_func ("/torch/hooks", test_hooks);
  g_test_add_func ("/torch/double-faults", test_double_faults);
  g_test_add_func ("/torch/killed", test_killed);
  g_test_add_func ("/torch/forks", test_forks);
  g_test_add_func ("/torch/wrong", test_wrong);
  g_test_add_func ("/torch/files", test_files);
  return g_test_run ();
}
