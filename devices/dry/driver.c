/* driver.c - the core of the stand-in driver: cuInit and the environment, cuGetProcAddress, names
 * of errors, and the beginning of every call.
 *
 * Environment:
 *   GEMEM_STANDIN          specification of each device's simulated device ("sim"), as in
 *                          faulty:nth=5,call=map,capacity=1GiB
 *   GEMEM_STANDIN_DEVICES  number of devices (1); 0: cuInit returns CUDA_ERROR_NO_DEVICE
 *   GEMEM_STANDIN_VERSION  the driver's version (13000): newer functions are not found
 *   GEMEM_STANDIN_VMM=0    no virtual memory, GEMEM_STANDIN_POOLS=0: no stream-ordered pools
 *   GEMEM_STANDIN_REAL_TIME=1  the clock is the host's: a call takes as long as the simulated
 *                              device's profile says, and work on streams proceeds meanwhile
 *   GEMEM_STANDIN_FAIL     calls that fail: cuMemMap=3:CUDA_ERROR_UNKNOWN,cuMemcpyDtoH=2+ - the
 *                          third call of cuMemMap with that code, and the second and all later ones
 *                          of cuMemcpyDtoH; without a code: CUDA_ERROR_OUT_OF_MEMORY
 *   GEMEM_STANDIN_REPORT   file to which the report is appended (report.c)
 *
 * Names in GEMEM_STANDIN_FAIL are those of cuGetProcAddress, without suffix; calls of one name are
 * counted together.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "devices/dry/standin.h"

#define CALL_NS 100 /* host cost of a call, added to the cost on the simulated device */

typedef struct
{
  const char *name, *symbol;
  int version;
  gboolean per_thread;
  gpointer function;
} EntryPoint;

static const EntryPoint entries[ENTRY_COUNT] = {
#define STANDIN_ENTRY(name, symbol, version) \
  [ENTRY_##symbol] = { #name, #symbol, version, FALSE, (gpointer) symbol },
#define STANDIN_ENTRY_PER_THREAD(name, symbol, version) \
  [ENTRY_##symbol] = { #name, #symbol, version, TRUE, (gpointer) symbol },
#include "devices/dry/entry-points.def"
#undef STANDIN_ENTRY
#undef STANDIN_ENTRY_PER_THREAD
};

static const struct
{
  CUresult code;
  const char *name, *text;
} errors[] = {
  { CUDA_SUCCESS, "CUDA_SUCCESS", "no error" },
  { CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
  { CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
  { CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" },
  { CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down" },
  { CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
  { CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal" },
  { CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid" },
  { CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
  { CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
    "no kernel image is available for execution on the device" },
  { CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
    "peer access is not supported between these two devices" },
  { CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    "the provided PTX was compiled with an unsupported toolchain." },
  { CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle" },
  { CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
  { CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready" },
  { CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
    "an illegal memory access was encountered" },
  { CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    "too many resources requested for launch" },
  { CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
    "peer access is already enabled" },
  { CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
    "peer access has not been enabled" },
  { CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE",
    "cannot set while device is active in this process" },
  { CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed" },
  { CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
    "part or all of the requested memory range is already mapped" },
  { CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
    "pointer does not correspond to a registered memory region" },
  { CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address" },
  { CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE",
    "the operation cannot be performed in the present state" },
  { CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
    "operation not permitted when stream is capturing" },
  { CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
    "operation failed due to a previous error during capture" },
  { CUDA_ERROR_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT",
    "operation not permitted on an event last recorded in a capturing stream" },
  { CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
    "attempt to terminate a thread-local capture sequence from another thread" },
  { CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
  { CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted" },
  { CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported" },
  { CUDA_ERROR_SYSTEM_NOT_READY, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized" },
  { CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error" },
};

/* A call that fails by $GEMEM_STANDIN_FAIL. */
typedef struct
{
  char *name;
  guint64 from, to;
  guint64 seen;
  CUresult code;
} Failure;

Standin standin;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Failure failures[32];
static guint n_failures;

pthread_mutex_t *
standin_lock (void)
{
  pthread_mutex_lock (&mutex);
  return &mutex;
}

const char *
standin_entry_name (StandinEntry entry)
{
  return entries[entry].symbol;
}

/* ---- real time */

static guint64
host_now (void)
{
  struct timespec time;
  clock_gettime (CLOCK_MONOTONIC, &time);
  return (guint64) time.tv_sec * 1000000000 + (guint64) time.tv_nsec;
}

/* With real time, returns only when the host's clock has reached the driver's. */
void
standin_end (pthread_mutex_t **lock)
{
  while (standin.began != 0 && host_now () - standin.began < standin.now)
    ;
  pthread_mutex_unlock (*lock);
}

/* ---- the environment */

static void
complain (const char *variable, const char *value, const char *message)
{
  g_printerr ("stand-in libcuda: %s=%s: %s\n", variable, value, message);
  standin.broken = TRUE;
}

static guint64
number_of (const char *variable, guint64 fallback, guint64 most)
{
  const char *text = g_getenv (variable);
  guint64 value = fallback;

  if (text != NULL && *text != '\0'
      && !g_ascii_string_to_unsigned (text, 10, 0, most, &value, NULL))
    complain (variable, text, "not a number, or too large");
  return value;
}

static CUresult
code_of (const char *name)
{
  for (guint i = 1; i < G_N_ELEMENTS (errors); i++)
    if (strcmp (errors[i].name, name) == 0)
      return errors[i].code;
  return CUDA_SUCCESS;
}

/* "cuMemMap=3:CUDA_ERROR_UNKNOWN" */
static void
read_failure (const char *text)
{
  Failure *failure = &failures[n_failures];
  g_auto (GStrv) sides = g_strsplit (text, "=", 2);
  g_auto (GStrv) how = g_strsplit (sides[1] != NULL ? sides[1] : "", ":", 2);
  gboolean known = FALSE, later = how[0] != NULL && g_str_has_suffix (how[0], "+");

  for (guint i = 0; i < ENTRY_COUNT; i++)
    known |= strcmp (entries[i].name, sides[0]) == 0;
  if (later)
    how[0][strlen (how[0]) - 1] = '\0';
  if (!known || how[0] == NULL
      || !g_ascii_string_to_unsigned (how[0], 10, 1, G_MAXUINT64, &failure->from, NULL)
      || (how[1] != NULL && code_of (how[1]) == CUDA_SUCCESS)
      || n_failures + 1 == G_N_ELEMENTS (failures))
    {
      complain ("GEMEM_STANDIN_FAIL", text,
                "write NAME=N, NAME=N+ or NAME=N:CUDA_ERROR_..., with names and errors known here");
      return;
    }
  failure->name = g_strdup (sides[0]);
  failure->to = later ? G_MAXUINT64 : failure->from;
  failure->code = how[1] != NULL ? code_of (how[1]) : CUDA_ERROR_OUT_OF_MEMORY;
  n_failures++;
}

static void
open_devices (void)
{
  const char *spec = g_getenv ("GEMEM_STANDIN");

  standin.n_devices = number_of ("GEMEM_STANDIN_DEVICES", 1, STANDIN_DEVICES_MAX);
  for (guint i = 0; i < standin.n_devices && !standin.broken; i++)
    {
      StandinDevice *device = &standin.devices[i];
      g_autoptr (GError) error = NULL;
      /* Each device has its own part of the address space. */
      g_autofree char *places = g_strdup_printf (
          "base=0x%" G_GINT64_MODIFIER "x,va_base=0x%" G_GINT64_MODIFIER "x",
          (G_GUINT64_CONSTANT (1) << 44) + ((guint64) i << 48),
          (G_GUINT64_CONSTANT (1) << 45) + ((guint64) i << 48));
      GememDeviceInfo info;

      device->ordinal = i;
      device->memory = gemem_device_new (spec, places, i, &error);
      if (device->memory == NULL)
        {
          complain ("GEMEM_STANDIN", spec != NULL ? spec : "", error->message);
          return;
        }
      gemem_device_info (device->memory, &info);
      device->granularity = info.granularity;
      device->peers = 1u << i;
      standin.virtual_memory &= info.virtual_memory;
    }
}

/* Runs once, before any other call, also for calls that need no cuInit. */
static void
read_environment (void)
{
  const char *fail = g_getenv ("GEMEM_STANDIN_FAIL");
  g_auto (GStrv) each = g_strsplit (fail != NULL ? fail : "", ",", 0);

  standin.version = number_of ("GEMEM_STANDIN_VERSION", 13000, 99999);
  standin.virtual_memory = number_of ("GEMEM_STANDIN_VMM", 1, 1);
  standin.began = number_of ("GEMEM_STANDIN_REAL_TIME", 0, 1) != 0 ? host_now () : 0;
  standin.pools = number_of ("GEMEM_STANDIN_POOLS", 1, 1);
  for (guint i = 0; each[i] != NULL; i++)
    read_failure (each[i]);
  standin.objects = g_hash_table_new (g_int64_hash, g_int64_equal);
  standin.queue = g_sequence_new (NULL);
  standin.lowest = G_MAXUINT64;
}

static void
forked (void)
{
  standin.forked = TRUE;
}

__attribute__ ((destructor)) static void
at_exit (void)
{
  pthread_mutex_lock (&mutex);
  if (standin.objects != NULL && !standin.forked)
    standin_report_write ();
  pthread_mutex_unlock (&mutex);
}

/* ---- calls */

static CUresult
injected (StandinEntry entry)
{
  for (guint i = 0; i < n_failures; i++)
    if (strcmp (failures[i].name, entries[entry].name) == 0)
      {
        failures[i].seen++;
        if (failures[i].seen >= failures[i].from && failures[i].seen <= failures[i].to)
          return failures[i].code;
      }
  return CUDA_SUCCESS;
}

CUresult
standin_begin (StandinEntry entry, StandinNeeds needs)
{
  CUresult failure;

  if (standin.objects == NULL)
    read_environment ();
  standin.entry = entry;
  standin_report_call (entry);
  if ((failure = injected (entry)) != CUDA_SUCCESS)
    return failure;
  if (needs == NEEDS_NOTHING)
    return CUDA_SUCCESS;
  if (!standin.initialised || standin.forked)
    return standin_misuse (CUDA_ERROR_NOT_INITIALIZED,
                           standin.forked ? "in a child of the process that called cuInit"
                                          : "before cuInit");
  if ((failure = standin_capture_allows (entry)) != CUDA_SUCCESS)
    return failure;
  if (standin.began != 0)
    standin.now = MAX (standin.now, host_now () - standin.began);
  standin.now += CALL_NS;
  standin_run_due ();
  if (needs != NEEDS_CONTEXT)
    return CUDA_SUCCESS;
  if (standin_context () == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_CONTEXT, "no context is current to this thread");
  return standin_context_state ();
}

CUresult
standin_misuse (CUresult code, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *what = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_autofree char *text = g_strdup_printf ("%s: %s", entries[standin.entry].symbol, what);
  standin_report_line ("misuse", text);
  return code;
}

CUresult CUDAAPI
cuInit (unsigned int flags)
{
  BEGIN (cuInit, NEEDS_NOTHING);
  if (flags != 0)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "flags must be 0");
  if (standin.forked)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!standin.initialised && !standin.broken)
    {
      open_devices ();
      pthread_atfork (NULL, NULL, forked);
      standin.initialised = !standin.broken && standin.n_devices > 0;
    }
  return standin.broken           ? CUDA_ERROR_SYSTEM_NOT_READY
         : standin.n_devices == 0 ? CUDA_ERROR_NO_DEVICE
                                  : CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDriverGetVersion (int *version)
{
  BEGIN (cuDriverGetVersion, NEEDS_NOTHING);
  if (version == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no place for the version");
  *version = standin.version;
  return CUDA_SUCCESS;
}

static CUresult
describe (CUresult error, const char **text, gboolean name)
{
  if (text == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  *text = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (errors); i++)
    if (errors[i].code == error)
      *text = name ? errors[i].name : errors[i].text;
  return *text != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI
cuGetErrorName (CUresult error, const char **text)
{
  BEGIN (cuGetErrorName, NEEDS_NOTHING);
  return describe (error, text, TRUE);
}

CUresult CUDAAPI
cuGetErrorString (CUresult error, const char **text)
{
  BEGIN (cuGetErrorString, NEEDS_NOTHING);
  return describe (error, text, FALSE);
}

/* ---- functions by name and version */

/* The newest symbol of @name that is not newer than @version; *known: the name exists in some
 * version. */
static gpointer
find_function (const char *name, int version, gboolean per_thread, gboolean *known)
{
  const EntryPoint *best = NULL;

  *known = FALSE;
  for (guint i = 0; i < ENTRY_COUNT; i++)
    {
      const EntryPoint *entry = &entries[i];
      if (strcmp (entry->name, name) != 0 || entry->version > standin.version)
        continue;
      *known = TRUE;
      if (entry->version > version || (entry->per_thread && !per_thread))
        continue;
      if (best == NULL || (entry->per_thread && !best->per_thread)
          || (entry->per_thread == best->per_thread && entry->version > best->version))
        best = entry;
    }
  return best != NULL ? best->function : NULL;
}

static CUresult
get_function (const char *name, void **function, int version, cuuint64_t flags,
              CUdriverProcAddressQueryResult *status)
{
  gboolean known;

  if (name == NULL || *name == '\0' || function == NULL
      || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "name, place or flags");
  if (version > standin.version)
    return CUDA_ERROR_INVALID_VALUE; /* no misuse: tells programs that the driver is too old */
  *function = find_function (name, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                             &known);
  if (status != NULL)
    *status = *function != NULL ? CU_GET_PROC_ADDRESS_SUCCESS
              : known           ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function != NULL || status != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI
cuGetProcAddress (const char *name, void **function, int version, cuuint64_t flags)
{
  BEGIN (cuGetProcAddress, NEEDS_NOTHING);
  return get_function (name, function, version, flags, NULL);
}

CUresult CUDAAPI
cuGetProcAddress_v2 (const char *name, void **function, int version, cuuint64_t flags,
                     CUdriverProcAddressQueryResult *status)
{
  BEGIN (cuGetProcAddress_v2, NEEDS_NOTHING);
  return get_function (name, function, version, flags, status);
}

/* Tables of unnamed functions: the real driver has some for CUDA's own libraries, the stand-in
 * has none. */
CUresult CUDAAPI
cuGetExportTable (const void **table, const CUuuid *id)
{
  BEGIN (cuGetExportTable, NEEDS_NOTHING);
  if (table == NULL || id == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no table, or no place for it");
  *table = NULL;
  return CUDA_ERROR_NOT_FOUND;
}
