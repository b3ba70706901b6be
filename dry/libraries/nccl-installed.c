/* nccl-installed.c - NVIDIA's own NCCL beside the stand-in, where it is installed: it makes each
 * communicator and connects its ranks, so that it takes the memory of the device that it takes on a
 * machine with the links that the dry run shows (dry/nvml/links.c).
 *
 * The launcher names the file in $GEMEM_DRY_NCCL_INSTALLED (dry/launch/installed.c).  The library
 * sees the dry run's CUDA (audit.c replaces the runtime that is linked into it), and its kernels do
 * nothing; what the collectives give is the stand-in's.  NCCL takes buffers when a communicator is
 * made and when an algorithm, a size or a peer is used for the first time.  So of collectives that
 * are alike the first alone is handed on, on all ranks the same: older versions wait for their
 * kernels after some thousand launches.
 *
 * Invariants: none of these functions holds a lock while NCCL runs, since that waits for other
 * ranks and calls CUDA in threads of its own.  Where NCCL fails, the communicator goes on without
 * it, and what it would have taken is not known.
 *
 * Origin: NCCL's user guide (functions, results, environment variables); the limit by trying
 * 2.21.5, which waits after 2 700 launches of 24 channels.
 */
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dry/driver/devices.h"
#include "dry/driver/driver.h"
#include "dry/driver/remembered.h"
#include "dry/libraries/nccl.h"
#include "dry/runtime/runtime.h"

#define IN_PROGRESS 7
#define MOST_CALLS 1000 /* that are handed on for a communicator */
#define PAUSE 1000      /* microseconds between two looks at what goes on in the background */

static NcclCalls calls;
static gboolean loaded;
static char *machine;  /* that NCCL finds */
static gboolean given; /* the user said which */

/* ---- the library */

/* Only this machine's ranks meet, in this machine: not over what the user's cluster has. */
static void
stay_here (void)
{
  setenv ("NCCL_SOCKET_IFNAME", "lo", 1);
  setenv ("NCCL_NET", "Socket", 1);
  setenv ("NCCL_IB_DISABLE", "1", 1);
  setenv ("NCCL_CUMEM_HOST_ENABLE", "0", 1); /* the driver here has no such pages of the host */
}

static void
load (void)
{
  const char *path = g_getenv (GEMEM_ENV_DRY_NCCL_INSTALLED);
  gpointer library;

  if (path == NULL || *path == '\0' || g_getenv (GEMEM_ENV_DRY_WORLD) != NULL)
    return;
  stay_here ();
  if ((machine = nccl_topology (&given)) == NULL)
    {
      g_autofree char *text = g_strdup_printf (
          "of NCCL: %s does not describe a machine with so many GPUs", g_getenv ("NCCL_TOPO_FILE"));
      gemem_dry_note (GEMEM_DRY_NOTE_BUFFERS, text);
      return;
    }
  if ((library = gemem_library_open_beside (path)) == NULL)
    {
      g_autofree char *text = g_strdup_printf ("of NCCL, which did not load: %s", dlerror ());
      gemem_dry_note (GEMEM_DRY_NOTE_BUFFERS, text);
      return;
    }
  loaded = TRUE;
#define FIND(name, result, parameters) \
  *(void **) &calls.name = dlsym (library, "nccl" #name); \
  loaded &= calls.name != NULL;
  NCCL_CALLS (FIND)
#undef FIND
  *(void **) &calls.CommSplit = dlsym (library, "ncclCommSplit"); /* since 2.18 */
  *(void **) &calls.MemAlloc = dlsym (library, "ncclMemAlloc");   /* since 2.19 */
  *(void **) &calls.MemFree = dlsym (library, "ncclMemFree");
  *(void **) &calls.CommShrink = dlsym (library, "ncclCommShrink"); /* since 2.27 */
  *(void **) &calls.AlltoAll = dlsym (library, "ncclAlltoAll");     /* since 2.28 */
  *(void **) &calls.Gather = dlsym (library, "ncclGather");
  *(void **) &calls.Scatter = dlsym (library, "ncclScatter");
  *(void **) &calls.CommQueryProperties = dlsym (library, "ncclCommQueryProperties"); /* 2.29 */
  if (!loaded)
    gemem_dry_note (GEMEM_DRY_NOTE_BUFFERS,
                    "of NCCL: the installed version lacks functions that are needed");
}

const NcclCalls *
nccl_installed (void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once (&once, load);
  return loaded ? &calls : NULL;
}

/* ---- what it takes */

/* Threads that have a device each make a communicator together, and each would see what all of them
 * take: it is measured from where the first enters to where the last leaves. */
static pthread_mutex_t measuring = PTHREAD_MUTEX_INITIALIZER;
static guint inside; /* threads */
static guint64 free_before[DRIVER_DEVICES_MAX];

/* Bytes of device @i that are free. */
static guint64
free_of (guint i)
{
  guint64 free = 0, total;
  return gemem_driver_memory_info (gemem_driver.devices[i].place, &free, &total) ? free : 0;
}

void
nccl_installed_enter (void)
{
  gemem_dry_in_library (1);
  gemem_runtime_initialise ();
  pthread_mutex_lock (&measuring);
  for (guint i = 0; inside == 0 && i < gemem_driver.n_devices; i++)
    free_before[i] = free_of (i);
  inside++;
  pthread_mutex_unlock (&measuring);
}

void
nccl_installed_leave (void)
{
  gemem_dry_in_library (-1);
  pthread_mutex_lock (&measuring);
  inside--;
  for (guint i = 0; inside == 0 && i < gemem_driver.n_devices; i++)
    gemem_dry_took (i, (gint64) free_before[i] - (gint64) free_of (i), machine, given);
  pthread_mutex_unlock (&measuring);
}

/* ---- communicators */

static gpointer
beside (gconstpointer communicator)
{
  return nccl_installed () != NULL && communicator != NULL ? *(gpointer const *) communicator
                                                           : NULL;
}

static __thread int depth;          /* of groups */
static __thread GPtrArray *pending; /* communicators of the group */

/* What was called did not work: @communicator goes on without.  Where the device had no memory for
 * NCCL, the program would have ended there. */
static void
give_up (gpointer communicator, const char *function)
{
  const int ranks = (int) gemem_library_kept_number (communicator, RANKS, 0);
  const char *why = calls.GetLastError (NULL);
  g_autofree char *text = g_strdup_printf ("of NCCL's communicator of %d ranks: %s failed: %s",
                                           ranks, function,
                                           why != NULL && *why != '\0' ? why : "no reason");

  g_strdelimit (text, "\n", ' ');
  gemem_dry_note (GEMEM_DRY_NOTE_BUFFERS, text);
  if (strstr (text, "out of memory") != NULL)
    {
      g_autofree char *who = g_strdup_printf (
          "%d %d NCCL", (int) getpid (), (int) gemem_library_kept_number (communicator, DEVICE, 0));
      gemem_dry_note (GEMEM_DRY_NOTE_REFUSED, who);
    }
  *NCCL_BESIDE (communicator) = NULL;
}

int
nccl_installed_wait (gconstpointer communicator, int result)
{
  const gpointer own = beside (communicator);

  if (depth > 0 || own == NULL || (result != SUCCESS && result != IN_PROGRESS))
    return result;
  while (calls.CommGetAsyncError (own, &result) == SUCCESS && result == IN_PROGRESS)
    g_usleep (PAUSE);
  return result;
}

/* What follows a call for @communicator that returned @result. */
static void
finish (gpointer communicator, int result, const char *function)
{
  if (depth > 0)
    {
      if (pending == NULL)
        pending = g_ptr_array_new ();
      if (!g_ptr_array_find (pending, communicator, NULL))
        g_ptr_array_add (pending, communicator);
    }
  result = nccl_installed_wait (communicator, result);
  if (result != SUCCESS && result != IN_PROGRESS)
    give_up (communicator, function);
}

/* The number of ranks and this one's, which a split does not tell. */
static void
ask (gpointer communicator)
{
  const gpointer own = beside (communicator);
  int ranks = 0, rank = 0;

  if (own == NULL || calls.CommCount (own, &ranks) != SUCCESS
      || calls.CommUserRank (own, &rank) != SUCCESS)
    return;
  gemem_library_keep_number (communicator, RANKS, ranks);
  gemem_library_keep_number (communicator, RANK, rank);
  gemem_library_keep_number (communicator, AT_MOST, 0);
}

void
nccl_installed_made (gpointer communicator, int result, const char *function)
{
  finish (communicator, result, function);
  if (depth == 0)
    ask (communicator);
}

void
nccl_installed_group_start (void)
{
  if (nccl_installed () != NULL && calls.GroupStart () == SUCCESS)
    depth++;
}

void
nccl_installed_group_end (void)
{
  if (depth == 0)
    return;
  nccl_installed_enter ();
  const int result = calls.GroupEnd ();
  depth--;
  for (guint i = 0; depth == 0 && pending != NULL && i < pending->len; i++)
    {
      finish (pending->pdata[i], result, "ncclGroupEnd");
      ask (pending->pdata[i]);
    }
  if (depth == 0)
    g_clear_pointer (&pending, g_ptr_array_unref);
  nccl_installed_leave ();
}

/* ---- collectives */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static GHashTable *seen; /* what was handed on, as text that begins with the communicator */

static char *
beginning (gconstpointer communicator)
{
  return g_strdup_printf ("%p ", communicator);
}

static gboolean
begins (gpointer key, gpointer value, gpointer text)
{
  return g_str_has_prefix (key, text);
}

static void
forget (gconstpointer communicator)
{
  g_autofree char *text = beginning (communicator);

  pthread_mutex_lock (&mutex);
  if (seen != NULL)
    g_hash_table_foreach_remove (seen, begins, text);
  pthread_mutex_unlock (&mutex);
}

/* Whether a call like this is the first. */
static gboolean
is_new (gconstpointer communicator, const NcclWork *work)
{
  g_autofree char *start = beginning (communicator);
  GString *key = g_string_new (start);

  g_string_append (key, work->function);
  for (gsize i = 0; i < work->n_facts; i++)
    g_string_append_printf (key, " %" G_GINT64_FORMAT, work->facts[i]);
  pthread_mutex_lock (&mutex);
  if (seen == NULL)
    seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  const gboolean fresh = g_hash_table_add (seen, g_string_free (key, FALSE));
  pthread_mutex_unlock (&mutex);
  return fresh;
}

/* Whether a graph is made of what @stream gets; then NCCL may take buffers at each call. */
static gboolean
is_captured (void *stream)
{
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return cuStreamIsCapturing (stream, &status) == CUDA_SUCCESS
         && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

gpointer
nccl_installed_begin (gpointer communicator, const NcclWork *work, void *stream)
{
  const gpointer own = beside (communicator);
  gint64 made;

  if (own == NULL)
    return NULL;
  if (is_captured (stream))
    {
      nccl_installed_enter ();
      return own;
    }
  if (!is_new (communicator, work))
    return NULL;
  made = gemem_library_kept_number (communicator, CALLS, 0);
  gemem_library_keep_number (communicator, CALLS, made + 1);
  if (made < MOST_CALLS)
    {
      nccl_installed_enter ();
      return own;
    }
  if (made == MOST_CALLS)
    gemem_dry_note (
        GEMEM_DRY_NOTE_BUFFERS,
        "of NCCL's for collectives after the first " G_STRINGIFY (MOST_CALLS) " that differ");
  return NULL;
}

void
nccl_installed_done (gpointer communicator, const NcclWork *work, int result)
{
  finish (communicator, result, work->function);
  nccl_installed_leave ();
}

void
nccl_installed_destroy (gpointer communicator, gboolean abort)
{
  const gpointer own = beside (communicator);

  forget (communicator);
  if (own == NULL)
    return;
  nccl_installed_enter ();
  (abort ? calls.CommAbort : calls.CommDestroy) (own);
  nccl_installed_leave ();
}
