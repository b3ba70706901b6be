/* test-cuda-device.c - the CUDA device on the stand-in driver: the contract of device.h in every
 * mode, streams and events, unusable machines, and every driver call failing: a clear error, and no
 * resources kept.
 *
 * Each scene runs in a process of its own, because a driver reads its environment once; the
 * driver's report is read afterwards. The device finds the library by name, as it finds a real
 * driver, since the library is loaded already.
 */
#include "config.h"

#include <string.h>

#include "devices/cuda-program.h"
#include "tests/util/device-contract.h"
#include "tests/util/sizes.h"
#include "tests/util/testutil.h"

#ifdef HAVE_CUDA
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/units.h"

static const char *const modes[] = { "cuda:0", "cuda:0:mode=vmm", "cuda:0:mode=async" };

static const char *const calls[] = {
#define GEMEM_CUDA_CALL(call, since) #call,
#include "devices/cuda/calls.def"
#undef GEMEM_CUDA_CALL
};

/* Calls that allocate, and may run out of memory. */
static const char *const asking[] = {
  "cuMemAlloc",     "cuMemAddressReserve",     "cuMemCreate", "cuMemMap",
  "cuMemSetAccess", "cuMemAllocFromPoolAsync", NULL
};

/* ---- a process with a driver */

typedef void (*Scene) (const char *spec, int out);

static void
begin (const char *environment)
{
  g_autofree char *path = g_build_filename (g_getenv ("GEMEM_BUILDDIR"),
                                            "tests/dry/.libs/libcuda.so.1", NULL);
  g_auto (GStrv) words = g_strsplit (environment, " ", 0);

  for (guint i = 0; words[i] != NULL && *words[i] != '\0'; i++)
    {
      g_auto (GStrv) sides = g_strsplit (words[i], "=", 2);
      g_setenv (sides[0], sides[1], TRUE);
    }
  if (dlopen (path, RTLD_NOW | RTLD_LOCAL) == NULL)
    g_error ("%s", dlerror ());
}

static char *
drain (int end)
{
  g_autoptr (GString) text = g_string_new (NULL);
  char buffer[1024];
  gssize n;

  while ((n = read (end, buffer, sizeof buffer)) > 0)
    g_string_append_len (text, buffer, n);
  close (end);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* Runs @scene on @spec; returns the text that the scene wrote to its pipe; *@report is the
 * driver's final report. */
static char *
play (Scene scene, const char *spec, const char *environment, char **report)
{
  int said[2], told[2], status;
  char *text;
  pid_t child;

  g_assert_cmpint (pipe (said), ==, 0);
  g_assert_cmpint (pipe (told), ==, 0);
  fflush (NULL);
  child = fork ();
  if (child == 0)
    {
      char path[32];

      g_snprintf (path, sizeof path, "/dev/fd/%d", told[1]);
      g_setenv ("GEMEM_DRIVER_REPORT", path, TRUE);
      begin (environment);
      scene (spec, said[1]);
      exit (0);
    }
  close (said[1]);
  close (told[1]);
  text = drain (said[0]);
  *report = drain (told[0]);
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_test_message ("%s, %s: %s", spec, environment, text);
  g_assert_cmpint (status, ==, 0);
  return text;
}

/* How often the report lists @call, under any suffix. */
static guint
count (const char *report, const char *call)
{
  g_auto (GStrv) lines = g_strsplit (report, "\n", 0);
  guint sum = 0;

  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *name = g_str_has_prefix (lines[i], "call ") ? lines[i] + 5 : "";
      gsize length = strlen (call);
      if (strncmp (name, call, length) == 0 && (name[length] == ' ' || name[length] == '_'))
        sum += (guint) g_ascii_strtoull (strchr (name, ' '), NULL, 10);
    }
  return sum;
}

static gboolean
is_clean (const char *report)
{
  return g_str_has_suffix (report, "end\n") && strstr (report, "leak ") == NULL
         && strstr (report, "fault ") == NULL && strstr (report, "misuse ") == NULL;
}

/* ---- the contract */

static void
scene_capacity (const char *spec, int out)
{
  test_device_capacity (spec);
}
static void
scene_pages (const char *spec, int out)
{
  test_device_pages (spec);
}
static void
scene_streams (const char *spec, int out)
{
  test_device_streams (spec);
}
static void
scene_leave_all (const char *spec, int out)
{
  test_device_leave_all (spec);
}

static void
test_contract (gconstpointer scene)
{
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autofree char *report = NULL;
      g_free (play ((Scene) scene, modes[i], "", &report));
      g_assert_true (is_clean (report));
    }
}

static void
test_misuse (gconstpointer data)
{
  guint i = GPOINTER_TO_UINT (data);

  if (g_test_subprocess ())
    {
      begin ("");
      test_device_mistake (modes[i % G_N_ELEMENTS (modes)], i);
      return;
    }
  g_test_trap_subprocess (NULL, 0, 0);
#if GEMEM_CHECKS >= 1
  g_autofree char *pattern = g_strdup_printf ("*device cuda: %s*", test_device_mistakes[i].message);
  g_test_trap_assert_failed ();
  g_test_trap_assert_stderr (pattern);
#else
  g_test_trap_assert_passed ();
#endif
}

/* ---- streams: on the stand-in driver work is pending until it is waited for */

static void
scene_pending (const char *spec, int out)
{
  GememDevice *device = test_device_new (spec, "");
  guint64 size = 64 * MIB, block = gemem_device_malloc (device, size, 3);
  GememDeviceEvent events[100], other;

  for (guint i = 0; i < G_N_ELEMENTS (events); i++)
    {
      gemem_device_memset (device, block, (guint8) i, size, 3);
      events[i] = gemem_device_event_record (device, 3);
    }
  g_assert_false (gemem_device_event_query (device, events[99]));
  other = gemem_device_event_record (device, 4);
  gemem_device_event_sync (device, events[49]);
  g_assert_true (gemem_device_event_query (device, events[10]));
  g_assert_false (gemem_device_event_query (device, events[99]));
  gemem_device_free (device, block, size); /* waits, as the driver does */
  g_assert_true (gemem_device_event_query (device, events[99]));
  g_assert_true (gemem_device_event_query (device, other));
  g_assert_true (gemem_device_stream_sync (device, 3));
  for (guint i = 0; i < 10000; i++)
    {
      other = gemem_device_event_record (device, 3);
      if (i % 3 == 0)
        g_assert_true (gemem_device_sync (device));
    }
  gemem_device_destroy (device);
}

/* Events are made in powers of two, no more than were ever pending. */
static void
test_pending (void)
{
  g_autofree char *report = NULL;

  g_free (play (scene_pending, "cuda:0", "", &report));
  g_assert_true (is_clean (report));
  g_assert_cmpuint (count (report, "cuEventCreate"), <=, 128 + 1);
  g_assert_cmpuint (count (report, "cuEventRecord"), ==, 10101);
  g_assert_cmpuint (count (report, "cuStreamCreate"), ==, 2);
}

/* ---- several GPUs, and a program with a context of its own */

static void
scene_two (const char *spec, int out)
{
  GememDevice *a = test_device_new ("cuda:1:capacity=4MiB", ""),
              *b = test_device_new ("cuda:0", ""), *c = test_device_new (spec, "capacity=1MiB");
  guint64 x = gemem_device_malloc (a, 4 * MIB, 0), y = gemem_device_malloc (b, 64 * MIB, 0);

  g_assert_cmphex (x, !=, 0);
  g_assert_cmphex (y, !=, 0);
  g_assert_cmphex (gemem_device_malloc (c, 2 * MIB, 0), ==, 0);
  g_assert_cmphex (gemem_device_malloc (a, 1, 0), ==, 0);
  gemem_device_destroy (c);
  gemem_device_free (a, x, 4 * MIB);
  gemem_device_free (b, y, 64 * MIB);
  g_assert_no_error (gemem_device_failure (a));
  g_assert_no_error (gemem_device_failure (b));
  gemem_device_destroy (a);
  gemem_device_destroy (b);
}

static void
test_two (void)
{
  g_autofree char *report = NULL;

  g_free (play (scene_two, "cuda:gpu=1", "GEMEM_DRIVER_DEVICES=2", &report));
  g_assert_true (is_clean (report));
  g_assert_cmpuint (count (report, "cuCtxPushCurrent"), ==, count (report, "cuCtxPopCurrent"));
}

/* The driver may refuse for lack of memory: the device stays usable. */
static void
scene_full (const char *spec, int out)
{
  GememDevice *device = test_device_new (spec, "");
  GememDeviceInfo info;

  g_assert_cmpuint (gemem_device_capacity (device), ==, 8 * MIB);
  g_assert_cmphex (gemem_device_malloc (device, 16 * MIB, 0), ==, 0);
  g_assert_cmpuint (gemem_device_create_page (device, 10 * MIB), ==, 0);
  g_assert_cmphex (gemem_device_malloc (device, 8 * MIB, 0), !=, 0);
  gemem_device_info (device, &info);
  g_assert_cmpuint (info.total, ==, 8 * MIB);
  g_assert_cmpuint (info.free, ==, 0);
  g_assert_no_error (gemem_device_failure (device));
  gemem_device_destroy (device);
}

static void
test_full (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autofree char *report = NULL;
      g_free (play (scene_full, modes[i], "GEMEM_DRIVER=sim:capacity=8MiB", &report));
      g_assert_true (is_clean (report));
    }
}

/* ---- unusable machines */

static void
say (int out, const char *kind, const char *message)
{
  g_autofree char *line = g_strconcat (kind, " ", message, NULL);
  g_assert_cmpint (write (out, line, strlen (line)), ==, (gssize) strlen (line));
}

static void
scene_create (const char *spec, int out)
{
  g_autoptr (GError) error = NULL;
  GememDevice *device = gemem_device_new (spec, NULL, 0, &error);

  g_assert_null (device);
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_NO_DEVICE);
  g_assert_cmpint (gemem_error_exit_status (error), ==, 77);
  say (out, "no", error->message);
}

static void
test_bad_machines (void)
{
  static const struct
  {
    const char *spec, *environment, *message;
  } cases[] = {
    { "cuda", "GEMEM_DRIVER_DEVICES=0",
      "device cuda: cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected; use a "
      "simulated device, for example -d sim:profile=h200" },
    { "cuda:2", "GEMEM_DRIVER_DEVICES=2",
      "device cuda:2: no such GPU, the driver finds 2, counted from 0; give another number" },
    { "cuda", "GEMEM_DRIVER_VERSION=11020",
      "device cuda: the driver is too old: it is for CUDA 11.2, and 11.3 is needed; use a "
      "simulated device, for example -d sim:profile=h200" },
    { "cuda:0:mode=vmm", "GEMEM_DRIVER_VMM=0",
      "device cuda:0: this GPU or its driver has no virtual memory, which mode=vmm needs; use "
      "mode=malloc" },
    { "cuda:0:mode=async", "GEMEM_DRIVER_POOLS=0",
      "device cuda:0: this GPU or its driver has no memory pools, which mode=async needs; use "
      "mode=malloc" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *report = NULL,
                      *message = play (scene_create, cases[i].spec, cases[i].environment, &report);
      g_assert_cmpstr (message + 3, ==, cases[i].message);
      g_assert_true (*report == '\0' || is_clean (report)); /* empty if cuInit was never called */
    }
}

static void
scene_plain (const char *spec, int out)
{
  GememDevice *device = test_device_new (spec, "");
  GememDeviceInfo info;

  gemem_device_info (device, &info);
  g_assert_false (info.virtual_memory);
  g_assert_false (gemem_device_map (device, 0x10000000, 1, 0, 2 * MIB));
  g_assert_false (gemem_device_unmap (device, 0x10000000, 2 * MIB));
  g_assert_cmphex (gemem_device_malloc (device, MIB, 0), !=, 0);
  g_assert_no_error (gemem_device_failure (device));
  /* a caller that reserves all the same needs virtual memory: the device has failed */
  g_assert_cmphex (gemem_device_reserve (device, 2 * MIB, 0), ==, 0);
  g_assert_cmpuint (gemem_device_create_page (device, 2 * MIB), ==, 0);
  g_assert_true (
      g_error_matches (gemem_device_failure (device), GEMEM_ERROR, GEMEM_ERROR_NO_DEVICE));
  gemem_device_destroy (device);
}

/* The oldest supported driver, without virtual memory. */
static void
test_plain (void)
{
  g_autofree char *report = NULL;

  g_free (play (scene_plain, "cuda",
                "GEMEM_DRIVER_VMM=0 GEMEM_DRIVER_POOLS=0 GEMEM_DRIVER_VERSION=11030", &report));
  g_assert_true (is_clean (report));
}

/* ---- every call of the driver fails once, or for good */

static void
use_memory (GememDevice *device)
{
  guint64 block = gemem_device_malloc (device, 3 * MIB, 7),
          va = gemem_device_reserve (device, 8 * MIB, 0);
  GememPage page = gemem_device_create_page (device, 4 * MIB),
            other = gemem_device_create_page (device, 2 * MIB);

  gemem_device_malloc (device, 1, 0); /* not released before the device ends, like the other page */
  if (block != 0)
    gemem_device_memset (device, block, 0, MIB, 7);
  if (va != 0 && other != 0)
    gemem_device_map (device, va + 4 * MIB, other, 0, 2 * MIB);
  if (va != 0 && page != 0 && gemem_device_map (device, va, page, 0, 4 * MIB))
    {
      gemem_device_memset (device, va, 1, MIB, 7);
      gemem_device_stream_sync (device, 7);
      gemem_device_unmap (device, va, 4 * MIB);
    }
  if (page != 0)
    gemem_device_destroy_page (device, page, 4 * MIB);
  if (block != 0)
    gemem_device_free (device, block, 3 * MIB);
  va = gemem_device_reserve (device, 2 * MIB, 0);
  if (va != 0)
    gemem_device_release (device, va, 2 * MIB);
}

/* Returns the device, if the scene leaves it to the caller, or NULL. */
static GememDevice *
use_all (const char *spec, int out)
{
  g_autoptr (GError) error = NULL;
  GememDevice *device = gemem_device_new (spec, NULL, 0, &error);
  GememDeviceEvent event;
  GememDeviceInfo info;

  if (device == NULL)
    {
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_NO_DEVICE);
      say (out, "77", error->message);
      return NULL;
    }
  use_memory (device);
  event = gemem_device_event_record (device, 7);
  gemem_device_event_query (device, event);
  gemem_device_event_sync (device, gemem_device_event_record (device, 7));
  gemem_device_info (device, &info);
  gemem_device_sync (device);
  if (gemem_device_failure (device) != NULL)
    {
      g_assert_cmpint (gemem_error_exit_status (gemem_device_failure (device)), ==, 1);
      g_assert_cmphex (gemem_device_malloc (device, 1, 0), ==, 0);
      say (out, "1", gemem_device_failure (device)->message);
    }
  else
    say (out,
         device->refused[GEMEM_CALL_MALLOC] + device->refused[GEMEM_CALL_RESERVE]
                     + device->refused[GEMEM_CALL_CREATE] + device->refused[GEMEM_CALL_MAP]
                 > 0
             ? "short"
             : "fine",
         "");
  return device;
}

static GememDevice *in_use;

static void
scene_endless (const char *spec, int out)
{
  in_use = use_all (spec, out);
}

static void
scene_faults (const char *spec, int out)
{
  scene_endless (spec, out);
  gemem_device_destroy (in_use);
}

/* Call number @n of @call fails with @code, with @later all after it too. @ended: the call is
 * made when the device ends, where no caller can get the error. */
static void
fail (const char *spec, const char *call, guint n, gboolean later, gboolean ended, const char *code)
{
  g_autofree char *environment = g_strdup_printf ("GEMEM_DRIVER_FAIL=%s=%u%s:%s", call, n,
                                                  later ? "+" : "", code),
                  *report = NULL;
  g_autofree char *said = play (scene_faults, spec, environment, &report);

  if (strcmp (code, "CUDA_ERROR_OUT_OF_MEMORY") == 0 && g_strv_contains (asking, call))
    g_assert_true (g_str_has_prefix (said, "short "));
  else if (ended)
    g_assert_cmpstr (said, ==, "fine ");
  else
    {
      g_assert_true (g_str_has_prefix (said, "77 ") || g_str_has_prefix (said, "1 "));
      g_assert_nonnull (strstr (said, call));
      if (strcmp (call, "cuDriverGetVersion") != 0) /* before the names of errors are known */
        g_assert_nonnull (strstr (said, code));
      g_assert_null (strchr (said, '\n'));
    }
  if (!later && !ended)
    g_assert_true (is_clean (report));
}

static void
test_faults (gconstpointer spec)
{
  g_autofree char *report = NULL, *endless = NULL, *said = play (scene_faults, spec, "", &report);
  guint tried = 0;

  g_assert_cmpstr (said, ==, "fine ");
  g_assert_true (is_clean (report));
  g_free (play (scene_endless, spec, "", &endless));
  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      guint n = count (report, calls[i]), own = count (endless, calls[i]);
      if (n == 0)
        continue;
      tried++;
      fail (spec, calls[i], 1, FALSE, own == 0, "CUDA_ERROR_UNKNOWN");
      fail (spec, calls[i], 1, FALSE, own == 0, "CUDA_ERROR_OUT_OF_MEMORY");
      fail (spec, calls[i], 1, TRUE, own == 0, "CUDA_ERROR_ILLEGAL_ADDRESS");
      if (n > 1 && g_getenv ("GEMEM_QUICK") == NULL)
        for (guint k = 2; k <= MIN (n, 8); k++)
          fail (spec, calls[i], k, FALSE, k > own, "CUDA_ERROR_UNKNOWN");
    }
  g_assert_cmpuint (tried, >=, 25);
}

/* A call fails, and then its undo or cleanup fails too: one message, and the process ends
 * normally. */
static void
test_double_faults (gconstpointer spec)
{
  static const char *const undoing[] = {
    "cuMemUnmap",      "cuMemRelease",     "cuMemAddressFree",         "cuMemFree",
    "cuMemFreeAsync",  "cuCtxPopCurrent",  "cuCtxSynchronize",         "cuEventDestroy",
    "cuStreamDestroy", "cuMemPoolDestroy", "cuDevicePrimaryCtxRelease"
  };
  static const char *const first[] = { "cuMemMap",
                                       "cuMemSetAccess",
                                       "cuMemCreate",
                                       "cuMemAlloc",
                                       "cuMemAllocFromPoolAsync",
                                       "cuMemPoolSetAttribute",
                                       "cuMemGetInfo",
                                       "cuMemGetAllocationGranularity",
                                       "cuEventRecord",
                                       "cuCtxPushCurrent" };
  g_autofree char *whole = NULL;
  guint tried = 0;

  g_free (play (scene_faults, spec, "", &whole));
  for (guint i = 0; i < G_N_ELEMENTS (first); i++)
    for (guint k = i % 2; k < G_N_ELEMENTS (undoing); k += 2)
      {
        g_autofree char *environment = g_strdup_printf (
            "GEMEM_DRIVER_FAIL=%s=1:CUDA_ERROR_UNKNOWN,%s=1+:CUDA_ERROR_ILLEGAL_ADDRESS", first[i],
            undoing[k]);
        g_autofree char *report = NULL, *said = NULL;

        if (count (whole, first[i]) == 0 || count (whole, undoing[k]) == 0)
          continue;
        tried++;
        said = play (scene_faults, spec, environment, &report);
        g_assert_true (g_str_has_prefix (said, "77 ") || g_str_has_prefix (said, "1 "));
        g_assert_true (strstr (said, first[i]) != NULL || strstr (said, undoing[k]) != NULL);
        g_assert_true (strstr (said, "CUDA_ERROR_UNKNOWN: unknown error") != NULL
                       || strstr (said, "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal") != NULL);
        g_assert_null (strchr (said, '\n'));
        g_assert_true (g_str_has_suffix (report, "end\n"));
      }
  g_assert_cmpuint (tried, >=, 10);
}

/* One call runs out of memory, and later another one fails: the device survives both, and
 * everything is released. */
static void
test_short_then_fault (gconstpointer spec)
{
  static const char *const later[] = { "cuEventRecord",      "cuEventQuery",
                                       "cuMemsetD8Async",    "cuMemMap",
                                       "cuMemSetAccess",     "cuMemAlloc",
                                       "cuMemGetInfo",       "cuMemAllocFromPoolAsync",
                                       "cuMemAddressReserve" };
  g_autofree char *whole = NULL;
  guint tried = 0;

  g_free (play (scene_faults, spec, "", &whole));
  for (guint i = 0; asking[i] != NULL; i++)
    for (guint k = 0; k < G_N_ELEMENTS (later); k++)
      {
        g_autofree char *environment = g_strdup_printf (
            "GEMEM_DRIVER_FAIL=%s=1:CUDA_ERROR_OUT_OF_MEMORY,%s=2:CUDA_ERROR_UNKNOWN", asking[i],
            later[k]);
        g_autofree char *report = NULL, *said = NULL;

        if (count (whole, asking[i]) == 0 || count (whole, later[k]) < 2
            || strcmp (asking[i], later[k]) == 0)
          continue;
        said = play (scene_faults, spec, environment, &report);
        tried += g_str_has_prefix (said, "1 ");
        /* the second call may not be reached */
        g_assert_true (g_str_has_prefix (said, "1 ") || g_str_has_prefix (said, "short "));
        g_assert_true (g_str_has_prefix (said, "short ") || strstr (said, later[k]) != NULL);
        g_assert_true (is_clean (report));
      }
  g_assert_cmpuint (tried, >=, 3);
}

/* ---- a program that captures its streams */

#define DRIVER(library, call) ((__typeof__ (call) *) dlsym (library, G_STRINGIFY (call)))

/* While a program captures, no wait is allowed: the device refuses to wait, and defers what
 * needs it. */
static void
scene_capture (const char *spec, int out)
{
  gpointer library = dlopen ("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  GememDevice *device = test_device_new (spec, "");
  guint64 kept = gemem_device_malloc (device, 2 * MIB, 0),
          block = gemem_device_malloc (device, 2 * MIB, 0);
  CUcontext context;
  CUstream stream;
  CUgraph graph;
  int before;

  g_assert_cmpint (DRIVER (library, cuDevicePrimaryCtxRetain) (&context, 0), ==, CUDA_SUCCESS);
  g_assert_cmpint (DRIVER (library, cuCtxSetCurrent) (context), ==, CUDA_SUCCESS);
  g_assert_cmpint (DRIVER (library, cuStreamCreate) (&stream, CU_STREAM_NON_BLOCKING), ==,
                   CUDA_SUCCESS);
  gemem_cuda_name_stream (device, 5, (guint64) (guintptr) stream);
  g_assert_true (gemem_device_stream_sync (device, 5));
  g_assert_cmpint (DRIVER (library, cuStreamBeginCapture) (stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
                   ==, CUDA_SUCCESS);
  before = gemem_cuda_allow_calls (device);
  g_assert_true (gemem_cuda_is_capturing (device, (guint64) (guintptr) stream));
  g_assert_false (gemem_device_stream_sync (device, 5));
  g_assert_false (gemem_device_stream_sync (device, 0));
  g_assert_false (gemem_device_sync (device));
  gemem_device_free (device, block, 2 * MIB);
  block = gemem_device_malloc (device, 2 * MIB, 0);
  g_assert_cmphex (block, !=, 0);
  g_assert_no_error (gemem_device_failure (device));
  gemem_cuda_restrict_calls (device, before);
  g_assert_cmpint (DRIVER (library, cuStreamEndCapture) (stream, &graph), ==, CUDA_SUCCESS);
  g_assert_cmpint (DRIVER (library, cuGraphDestroy) (graph), ==, CUDA_SUCCESS);
  g_assert_true (gemem_device_sync (device));
  gemem_device_free (device, gemem_device_malloc (device, 2 * MIB, 0), 2 * MIB);
  g_assert_cmpuint (device->held, ==, 4 * MIB); /* the deferred frees are done */
  gemem_device_free (device, kept, 2 * MIB);
  gemem_device_free (device, block, 2 * MIB);
  g_assert_no_error (gemem_device_failure (device));
  gemem_device_destroy (device);
  g_assert_cmpint (DRIVER (library, cuStreamDestroy) (stream), ==, CUDA_SUCCESS);
  g_assert_cmpint (DRIVER (library, cuDevicePrimaryCtxRelease) (0), ==, CUDA_SUCCESS);
}

static void
test_capture (gconstpointer spec)
{
  g_autofree char *report = NULL;

  g_free (play (scene_capture, spec, "", &report));
  g_assert_true (is_clean (report));
}

/* The driver cannot name its errors either. */
static void
test_nameless (void)
{
  g_autofree char *report = NULL, *said = NULL;

  said = play (
      scene_faults, "cuda:0",
      "GEMEM_DRIVER_FAIL=cuMemAlloc=1:CUDA_ERROR_UNKNOWN,cuGetErrorName=1+:CUDA_ERROR_UNKNOWN",
      &report);
  g_assert_cmpstr (said, ==,
                   "1 device cuda:0: cuMemAlloc: error 999; the GPU cannot go on, look into the "
                   "system's log (dmesg)");
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    Scene scene;
  } contract[] = { { "capacity", scene_capacity },
                   { "pages", scene_pages },
                   { "streams", scene_streams },
                   { "leave-all", scene_leave_all } };
  static const struct
  {
    const char *name;
    GTestDataFunc test;
  } in_all_modes[] = { { "faults", test_faults },
                       { "double-faults", test_double_faults },
                       { "short-then-fault", test_short_then_fault },
                       { "capture", test_capture } };
  static const char *const mode_names[G_N_ELEMENTS (modes)] = { "malloc", "vmm", "async" };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (contract); i++)
    {
      g_autofree char *path = g_strconcat ("/cuda/contract/", contract[i].name, NULL);
      g_test_add_data_func (path, (gconstpointer) contract[i].scene, test_contract);
    }
  for (guint i = 0; i < test_device_n_mistakes; i++)
    {
      g_autofree char *path = g_strconcat ("/cuda/misuse/", test_device_mistakes[i].name, NULL);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_misuse);
    }
  g_test_add_func ("/cuda/pending", test_pending);
  g_test_add_func ("/cuda/two", test_two);
  g_test_add_func ("/cuda/full", test_full);
  g_test_add_func ("/cuda/bad-machines", test_bad_machines);
  g_test_add_func ("/cuda/plain", test_plain);
  for (guint i = 0; i < G_N_ELEMENTS (in_all_modes); i++)
    for (guint mode = 0; mode < G_N_ELEMENTS (modes); mode++)
      {
        g_autofree char *path = g_strjoin ("/", "/cuda", in_all_modes[i].name, mode_names[mode],
                                           NULL);
        g_test_add_data_func (path, modes[mode], in_all_modes[i].test);
      }
  g_test_add_func ("/cuda/nameless", test_nameless);
  return g_test_run ();
}
#else /* without the headers: a message of the device */

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;

  g_test_init (&argc, &argv, NULL);
  g_assert_null (gemem_device_new ("cuda:0", NULL, 0, &error));
  g_assert_nonnull (strstr (error->message, "built without the CUDA Toolkit's headers"));
  g_print ("1..0 # SKIP built without the CUDA headers\n");
  return 0;
}
#endif
