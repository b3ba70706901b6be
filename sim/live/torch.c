/* torch.c - see torch.h.  Only this file of sim/live reads the environment and the clock and writes
 * to stderr: towards PyTorch, it is the program. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "devices/cuda-program.h"
#include "sim/live/heap.h"
#include "sim/live/torch-private.h"
#include "sim/live/torch.h"

#define DEVICES_MAX 64
#define WARNINGS_MAX 100

/* A private pool that was begun and not ended. */
typedef struct
{
  GThread *owner;
  guint32 pool;
  int device;
} OpenPool;

static struct
{
  gboolean begun, ended;
  pid_t process; /* process that initialised; its forked children report nothing */
  char *allocator, *device, *stats;
  GememHeap *heaps[DEVICES_MAX];
  double fractions[DEVICES_MAX]; /* of the capacity; 0: all of it */
  GememRecording *recording;
  GArray *pools; /* GememTorchPool: index n is pool n + 1 of the traces */
  GArray *open;  /* OpenPool */
  guint warnings;
  char *told; /* last error message that was printed */
} state;

/* Guards `state`.  A pthread mutex, because the thread sanitizer knows it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- messages */

static void G_GNUC_PRINTF (1, 2) warn (const char *format, ...)
{
  va_list args;

  if (state.warnings++ >= WARNINGS_MAX)
    return;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  g_printerr ("libgemem-torch: %s%s\n", text,
              state.warnings == WARNINGS_MAX ? " (further messages are left out)" : "");
}

/* A device that has failed refuses every request with the same message: it is printed once. */
static void
warn_of (GError *error)
{
  if (error != NULL && g_strcmp0 (error->message, state.told) != 0)
    {
      warn ("%s", error->message);
      g_free (state.told);
      state.told = g_strdup (error->message);
    }
  g_clear_error (&error);
}

/* Ends the process.  @variable is the environment variable at fault, "" where @error names it.
 * Training with another allocator than the requested one would be worse than not training. */
static void G_GNUC_NORETURN
give_up (const char *variable, const GError *error)
{
  g_printerr ("libgemem-torch: error: %s%s%s\n", variable, *variable != '\0' ? ": " : "",
              error->message);
  _exit (gemem_error_exit_status (error));
}

/* ---- beginning and end */

static guint64
now (void)
{
  struct timespec time;

  clock_gettime (CLOCK_MONOTONIC, &time);
  return (guint64) time.tv_sec * G_GUINT64_CONSTANT (1000000000) + (guint64) time.tv_nsec;
}

/* The value of @name, with %p replaced by the process id; NULL if unset or empty. */
static char *
file_name (const char *name)
{
  const char *value = g_getenv (name);
  g_autofree char *process = g_strdup_printf ("%d", (int) getpid ());
  g_auto (GStrv) parts = NULL;

  if (value == NULL || *value == '\0')
    return NULL;
  parts = g_strsplit (value, "%p", -1);
  return g_strjoinv (process, parts);
}

static const char *
variable_or (const char *name, const char *otherwise)
{
  const char *value = g_getenv (name);
  return value != NULL && *value != '\0' ? value : otherwise;
}

static void
finish_all (void)
{
  pthread_mutex_lock (&lock);
  if (!state.ended && state.process == getpid ())
    {
      g_autoptr (GError) error = NULL;

      state.ended = TRUE;
      if (state.stats != NULL
          && !gemem_torch_write_stats (state.stats, state.heaps, DEVICES_MAX, &error))
        warn ("GEMEM_STATS: %s", error->message);
      g_clear_error (&error);
      if (state.recording != NULL
          && !gemem_recording_finish (g_steal_pointer (&state.recording), &error))
        warn ("GEMEM_RECORD: %s", error->message);
    }
  pthread_mutex_unlock (&lock);
}

/* The lock is held over fork(), so that the child finds consistent state.  The recording remains
 * the parent's. */
static void
before_fork (void)
{
  pthread_mutex_lock (&lock);
}

static void
after_fork (void)
{
  pthread_mutex_unlock (&lock);
}

static void
in_child (void)
{
  if (state.recording != NULL)
    gemem_recording_forget (state.recording);
  pthread_mutex_unlock (&lock);
}

static void
begin (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *record = NULL;
  g_auto (GStrv) skipped = NULL;

  if (G_LIKELY (state.begun))
    return;
  state.begun = TRUE;
  state.process = getpid ();
  state.allocator = g_strdup (variable_or ("GEMEM_ALLOCATOR", "pytorch-caching"));
  state.device = g_strdup (variable_or ("GEMEM_DEVICE", "cuda"));
  state.stats = file_name ("GEMEM_STATS");
  state.pools = g_array_new (FALSE, FALSE, sizeof (GememTorchPool));
  state.open = g_array_new (FALSE, FALSE, sizeof (OpenPool));
  skipped = gemem_allocator_load_plugins (g_getenv ("GEMEM_PLUGIN_PATH"));
  for (guint i = 0; skipped != NULL && skipped[i] != NULL; i++)
    g_printerr ("libgemem-torch: warning: %s; it is skipped\n", skipped[i]);
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  if (!gemem_allocator_spec_parse (state.allocator, specs, &error))
    give_up ("GEMEM_ALLOCATOR", error);
  record = file_name ("GEMEM_RECORD");
  if (record != NULL && (state.recording = gemem_recording_new (record, &error)) == NULL)
    give_up ("GEMEM_RECORD", error);
  atexit (finish_all);
  pthread_atfork (before_fork, after_fork, in_child);
}

static GememHeap *
make_heap (int device)
{
  g_autofree char *spec = gemem_torch_device_spec (state.device, device);
  const double fraction = state.fractions[device];
  const GememHeapOptions options = { .allocator = state.allocator,
                                     .device = spec,
                                     .ordinal = device,
                                     .clock = now,
                                     .recording = state.recording,
                                     .capacity = fraction > 0
                                                     ? gemem_torch_share (spec, device, fraction)
                                                     : 0,
                                     .name_stream = gemem_cuda_name_stream };
  g_autoptr (GError) error = NULL;
  GememHeap *heap = gemem_heap_new (&options, &error);

  if (heap == NULL)
    give_up (error->code == GEMEM_ERROR_NO_DEVICE ? "GEMEM_DEVICE"
                                                  : "GEMEM_ALLOCATOR, GEMEM_DEVICE",
             error);
  return heap;
}

/* The heap of @device; @make: created if missing.  NULL: none, or the process is ending. */
static GememHeap *
heap_of (int device, gboolean make)
{
  if (state.ended)
    return NULL;
  begin ();
  if (device < 0 || device >= DEVICES_MAX)
    {
      warn ("device %d: there are 0 to %d; nothing was done", device, DEVICES_MAX - 1);
      return NULL;
    }
  if (state.heaps[device] == NULL && make)
    state.heaps[device] = make_heap (device);
  return state.heaps[device];
}

/* ---- private pools */

static guint32
pool_number (GememTorchPool pool)
{
  for (guint i = 0; i < state.pools->len; i++)
    {
      const GememTorchPool *known = &g_array_index (state.pools, GememTorchPool, i);
      if (known->first == pool.first && known->second == pool.second)
        return i + 1;
    }
  g_array_append_val (state.pools, pool);
  return state.pools->len;
}

/* The pool for a request of this thread on @stream; of several open pools the latest. */
static guint32
pool_for (GememHeap *heap, int device, void *stream)
{
  for (guint i = state.open->len; i-- > 0;)
    {
      const OpenPool *open = &g_array_index (state.open, OpenPool, i);
      if (open->device == device
          && (open->owner == g_thread_self ()
              || gemem_cuda_is_capturing (gemem_heap_device (heap), GPOINTER_TO_SIZE (stream))))
        return open->pool;
    }
  return 0;
}

void
gemem_torch_begin_allocate_to_pool (int device, GememTorchPool pool, void *filter)
{
  GememHeap *heap;

  pthread_mutex_lock (&lock);
  heap = heap_of (device, TRUE);
  if (heap != NULL)
    {
      const OpenPool open = { g_thread_self (), pool_number (pool), device };
      g_array_append_val (state.open, open);
      gemem_heap_pool_begin (heap, open.pool);
    }
  pthread_mutex_unlock (&lock);
}

void
gemem_torch_end_allocate_to_pool (int device, GememTorchPool pool)
{
  GememHeap *heap;
  GError *error = NULL;

  pthread_mutex_lock (&lock);
  heap = heap_of (device, FALSE);
  for (guint i = heap != NULL ? state.open->len : 0; i-- > 0;)
    if (g_array_index (state.open, OpenPool, i).device == device
        && g_array_index (state.open, OpenPool, i).pool == pool_number (pool))
      {
        g_array_remove_index (state.open, i);
        gemem_heap_pool_end (heap, &error);
        break;
      }
  warn_of (error);
  pthread_mutex_unlock (&lock);
}

void
gemem_torch_release_pool (int device, GememTorchPool pool)
{
  GememHeap *heap;
  GError *error = NULL;

  pthread_mutex_lock (&lock);
  heap = heap_of (device, FALSE);
  if (heap != NULL)
    gemem_heap_pool_release (heap, pool_number (pool), &error);
  warn_of (error);
  pthread_mutex_unlock (&lock);
}

/* ---- memory */

/* While a pool is open, a thread may be capturing a CUDA graph. */
static int
enter (GememHeap *heap)
{
  return state.open->len > 0 ? gemem_cuda_allow_calls (gemem_heap_device (heap)) : 0;
}

static void
leave (GememHeap *heap, int before)
{
  if (state.open->len > 0)
    gemem_cuda_restrict_calls (gemem_heap_device (heap), before);
}

/* Address of the block; 0: none.  *@refused: the request failed and the process is not ending, so
 * PyTorch can be informed. */
static guint64
take (guint64 size, int device, void *stream, gboolean *refused)
{
  GememHeap *heap;
  guint64 address = 0;
  GError *error = NULL;

  pthread_mutex_lock (&lock);
  heap = heap_of (device, TRUE);
  if (heap != NULL)
    {
      const int before = enter (heap);
      address = gemem_heap_alloc (heap, size, GPOINTER_TO_SIZE (stream),
                                  pool_for (heap, device, stream), &error);
      leave (heap, before);
      if (address == 0 && error == NULL)
        {
          g_autofree char *reason = gemem_heap_explain (heap);
          if (reason != NULL)
            warn ("%s", reason);
        }
    }
  warn_of (error);
  *refused = address == 0 && !state.ended;
  pthread_mutex_unlock (&lock);
  return address;
}

void *
gemem_torch_malloc (ssize_t size, int device, void *stream)
{
  gboolean refused = FALSE;
  const guint64 address = size > 0 ? take ((guint64) size, device, stream, &refused) : 0;

  if (refused)
    gemem_torch_throw ();
  return GSIZE_TO_POINTER (address);
}

void
gemem_torch_free (void *pointer, ssize_t size, int device, void *stream)
{
  GememHeap *heap;
  GError *error = NULL;

  if (pointer == NULL)
    return;
  pthread_mutex_lock (&lock);
  heap = heap_of (device, FALSE);
  if (heap != NULL)
    {
      const int before = enter (heap);
      gemem_heap_free (heap, GPOINTER_TO_SIZE (pointer), &error);
      leave (heap, before);
    }
  else if (!state.ended)
    warn ("device %d: %p is freed, but nothing was allocated there", device, pointer);
  warn_of (error);
  pthread_mutex_unlock (&lock);
}

/* The heap that owns @pointer, for hooks without a device argument; NULL: none. */
static GememHeap *
find_heap (void *pointer)
{
  for (int device = 0; device < DEVICES_MAX && !state.ended; device++)
    if (state.heaps[device] != NULL
        && gemem_heap_has (state.heaps[device], GPOINTER_TO_SIZE (pointer)))
      return state.heaps[device];
  if (!state.ended)
    warn ("%p is no live block of any device", pointer);
  return NULL;
}

void
gemem_torch_record_stream (void *pointer, void *stream)
{
  GememHeap *heap;
  GError *error = NULL;

  pthread_mutex_lock (&lock);
  heap = find_heap (pointer);
  if (heap != NULL)
    gemem_heap_use_on_stream (heap, GPOINTER_TO_SIZE (pointer), GPOINTER_TO_SIZE (stream), &error);
  warn_of (error);
  pthread_mutex_unlock (&lock);
}

void *
gemem_torch_base_alloc (void *pointer, size_t *size)
{
  GememHeap *heap;
  guint64 base = 0, bytes = 0;

  pthread_mutex_lock (&lock);
  heap = find_heap (pointer);
  if (heap != NULL)
    base = gemem_heap_segment (heap, GPOINTER_TO_SIZE (pointer), &bytes);
  pthread_mutex_unlock (&lock);
  if (size != NULL)
    *size = (size_t) bytes;
  return GSIZE_TO_POINTER (base);
}

/* ---- the other hooks */

void
gemem_torch_init (int device_count)
{
  pthread_mutex_lock (&lock);
  if (!state.ended)
    begin ();
  pthread_mutex_unlock (&lock);
}

void
gemem_torch_reset (void)
{
  GError *error = NULL;

  pthread_mutex_lock (&lock);
  for (int device = 0; device < DEVICES_MAX && !state.ended && error == NULL; device++)
    if (state.heaps[device] != NULL)
      gemem_heap_trim (state.heaps[device], &error);
  warn_of (error);
  pthread_mutex_unlock (&lock);
}

void
gemem_torch_set_memory_fraction (double fraction, int device)
{
  pthread_mutex_lock (&lock);
  if (heap_of (device, FALSE) != NULL)
    warn ("device %d: memory fraction %g comes after the first request and has no effect; set it "
          "before",
          device, fraction);
  else if (device >= 0 && device < DEVICES_MAX && fraction > 0 && fraction < 1)
    state.fractions[device] = fraction;
  pthread_mutex_unlock (&lock);
}

uint64_t
gemem_torch_stat (int device, const char *name)
{
  GememHeap *heap;
  guint64 value = 0;

  pthread_mutex_lock (&lock);
  heap = heap_of (device, FALSE);
  if (heap != NULL)
    value = gemem_heap_stat (heap, name);
  pthread_mutex_unlock (&lock);
  return value;
}

void
gemem_torch_reset_peaks (int device)
{
  GememHeap *heap;

  pthread_mutex_lock (&lock);
  heap = heap_of (device, FALSE);
  if (heap != NULL)
    gemem_heap_reset_peaks (heap);
  pthread_mutex_unlock (&lock);
}
