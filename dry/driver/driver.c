/* driver.c - the core of the stand-in driver: cuInit and the environment, cuGetProcAddress, names
 * of errors, and the beginning of every call.
 *
 * Environment: GEMEM_DRIVER and what begins so (dry/protocol/variables.def).
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dry/driver/driver.h"

#define CALL_NS 100 /* host cost of a call, added to the cost on the simulated device */

typedef struct
{
  const char *name, *symbol;
  int version;
  gboolean per_thread;
  gpointer function;
} EntryPoint;

/* By DriverEntry; then the other names of some. */
static const EntryPoint entries[] = {
#define DRIVER_ENTRY(name, symbol, version) \
  [ENTRY_##symbol] = { #name, #symbol, version, FALSE, (gpointer) symbol },
#define DRIVER_ENTRY_PER_THREAD(name, symbol, version) \
  [ENTRY_##symbol] = { #name, #symbol, version, TRUE, (gpointer) symbol },
#include "dry/driver/entry-points.def"
#define DRIVER_ENTRY_ALSO(name, symbol, version) \
  { #name, #symbol, version, FALSE, (gpointer) symbol },
#include "dry/driver/entry-points.def"
};

/* The older names jump to the newer ones: an alias would have to stand beside each function. */
#define DRIVER_ENTRY_OLDER(name, symbol) \
  __asm__(".text\n\t.globl " #name "\n\t.type " #name ", @function\n" #name ":\n\tjmp " #symbol \
          "@PLT\n\t.size " #name ", . - " #name);
#include "dry/driver/entry-points.def"

static const struct
{
  int code;
  const char *name, *text; /* name NULL: an error of the runtime alone; text NULL: not known */
} errors[] = {
#define DRY_ERROR(number, driver_name, runtime_name, text) { number, driver_name, text },
#include "dry/driver/errors.def"
#include "dry/protocol/protocol.h"
#undef DRY_ERROR
};

/* A call that fails by $GEMEM_DRIVER_FAIL. */
typedef struct
{
  char *name;
  guint64 from, to;
  guint64 seen;
  CUresult code;
} Failure;

DriverState gemem_driver;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Failure failures[32];
static guint n_failures;

pthread_mutex_t *
gemem_driver_lock (void)
{
  pthread_mutex_lock (&mutex);
  return &mutex;
}

const char *
gemem_driver_entry_name (DriverEntry entry)
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

/* ---- functions of the program */

void
gemem_driver_call_later (DriverCallback callback)
{
  if (gemem_driver.callbacks == NULL)
    gemem_driver.callbacks = g_array_new (FALSE, FALSE, sizeof (DriverCallback));
  g_array_append_val (gemem_driver.callbacks, callback);
}

static void
call_back (GArray *callbacks)
{
  for (guint i = 0; i < callbacks->len; i++)
    {
      const DriverCallback *each = &g_array_index (callbacks, DriverCallback, i);
      if (each->of_stream != NULL)
        each->of_stream (each->stream, CUDA_SUCCESS, each->data);
      else if (each->function != NULL)
        each->function (each->data);
    }
  g_array_unref (callbacks);
}

/* With real time, returns only when the host's clock has reached the driver's. */
void
gemem_driver_end (pthread_mutex_t **lock)
{
  GArray *callbacks;

  while (gemem_driver.began != 0 && host_now () - gemem_driver.began < gemem_driver.now)
    ;
  callbacks = g_steal_pointer (&gemem_driver.callbacks);
  pthread_mutex_unlock (*lock);
  if (callbacks != NULL)
    call_back (callbacks);
}

/* ---- the environment */

static void
complain (const char *variable, const char *value, const char *message)
{
  g_printerr ("stand-in libcuda: %s=%s: %s\n", variable, value, message);
  gemem_driver.broken = TRUE;
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
    if (g_strcmp0 (errors[i].name, name) == 0)
      return (CUresult) errors[i].code;
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
      complain (GEMEM_ENV_DRIVER_FAIL, text,
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
  const char *spec = g_getenv (GEMEM_ENV_DRIVER);
  g_autofree char *dry_spec = g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT,
                                               gemem_dry_gpu ()->memory);
  guint seen[DRIVER_DEVICES_MAX];

  if (gemem_driver.dry && (spec == NULL || *spec == '\0'))
    spec = dry_spec;
  gemem_driver.n_devices = gemem_driver_visible (gemem_driver.gpus, seen);
  for (guint i = 0; i < gemem_driver.n_devices && !gemem_driver.broken; i++)
    {
      DriverDevice *device = &gemem_driver.devices[i];
      g_autoptr (GError) error = NULL;
      /* Each device has its own part of the address space. */
      g_autofree char *places = g_strdup_printf (
          "base=0x%" G_GINT64_MODIFIER "x,va_base=0x%" G_GINT64_MODIFIER "x",
          (G_GUINT64_CONSTANT (1) << 44) + ((guint64) i << 48),
          (G_GUINT64_CONSTANT (1) << 45) + ((guint64) i << 48));
      GememDeviceInfo info;

      device->ordinal = i;
      device->place = seen[i];
      device->memory = gemem_device_new (spec, places, i, &error);
      if (device->memory == NULL)
        {
          complain (GEMEM_ENV_DRIVER, spec != NULL ? spec : "", error->message);
          return;
        }
      gemem_device_info (device->memory, &info);
      device->granularity = info.granularity;
      device->peers = 1u << i;
      device->lowest = G_MAXUINT64;
      gemem_driver.virtual_memory &= info.virtual_memory;
    }
}

/* Runs once, before any other call, also for calls that need no cuInit. */
static void
read_environment (void)
{
  const char *fail = g_getenv (GEMEM_ENV_DRIVER_FAIL);
  g_auto (GStrv) each = g_strsplit (fail != NULL ? fail : "", ",", 0);

  gemem_driver.version = number_of (GEMEM_ENV_DRIVER_VERSION, 13000, 99999);
  gemem_driver.virtual_memory = number_of (GEMEM_ENV_DRIVER_VMM, 1, 1);
  gemem_driver.began = number_of (GEMEM_ENV_DRIVER_REAL_TIME, 0, 1) != 0 ? host_now () : 0;
  gemem_driver.pools = number_of (GEMEM_ENV_DRIVER_POOLS, 1, 1);
  for (guint i = 0; each[i] != NULL; i++)
    read_failure (each[i]);
  gemem_driver.objects = g_hash_table_new (g_int64_hash, g_int64_equal);
  gemem_driver.queue = g_sequence_new (NULL);
  gemem_driver.gpus = number_of (GEMEM_ENV_DRIVER_DEVICES, 1, DRIVER_DEVICES_MAX);
  gemem_driver.dry = gemem_dry_mode ();
}

static void
forked (void)
{
  gemem_driver.forked |= gemem_driver.initialised;
}

/* A child of fork() goes on with what its parent opened, unless that used CUDA. */
static void
open_once (void)
{
  if (gemem_driver.opened)
    return;
  gemem_driver.opened = TRUE;
  open_devices ();
  pthread_atfork (NULL, NULL, forked);
}

guint
gemem_driver_count_gpus (void)
{
  __attribute__ ((cleanup (gemem_driver_end)))
  pthread_mutex_t *lock G_GNUC_UNUSED = gemem_driver_lock ();

  if (gemem_driver.objects == NULL)
    read_environment ();
  return gemem_driver.broken ? 0 : gemem_driver_machine_gpus ();
}

__attribute__ ((destructor)) static void
at_exit (void)
{
  pthread_mutex_lock (&mutex);
  if (gemem_driver.objects != NULL && !gemem_driver.forked)
    {
      gemem_driver_report_write ();
      gemem_driver_notes_end ();
    }
  pthread_mutex_unlock (&mutex);
}

/* ---- calls */

static CUresult
injected (DriverEntry entry)
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
gemem_driver_begin (DriverEntry entry, DriverNeeds needs)
{
  CUresult failure;

  if (gemem_driver.objects == NULL)
    read_environment ();
  gemem_driver.entry = entry;
  gemem_driver_report_call (entry);
  if ((failure = injected (entry)) != CUDA_SUCCESS)
    return failure;
  if (needs == NEEDS_NOTHING)
    return CUDA_SUCCESS;
  if (!gemem_driver.initialised || gemem_driver.forked)
    return gemem_driver_misuse (CUDA_ERROR_NOT_INITIALIZED,
                                gemem_driver.forked ? "in a child of the process that called cuInit"
                                                    : "before cuInit");
  if ((failure = gemem_driver_capture_allows (entry)) != CUDA_SUCCESS)
    return failure;
  if (gemem_driver.began != 0)
    gemem_driver.now = MAX (gemem_driver.now, host_now () - gemem_driver.began);
  gemem_driver.now += CALL_NS;
  gemem_driver_run_due ();
  if (needs != NEEDS_CONTEXT)
    return CUDA_SUCCESS;
  if (gemem_driver_context () == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_CONTEXT, "no context is current to this thread");
  return gemem_driver_context_state ();
}

CUresult
gemem_driver_misuse (CUresult code, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *what = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_autofree char *text = g_strdup_printf ("%s: %s", entries[gemem_driver.entry].symbol, what);
  gemem_driver_report_line (GEMEM_DRY_NOTE_MISUSE, text);
  return code;
}

CUresult CUDAAPI
cuInit (unsigned int flags)
{
  BEGIN (cuInit, NEEDS_NOTHING);
  if (flags != 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "flags must be 0");
  if (gemem_driver.forked)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!gemem_driver.initialised && !gemem_driver.broken)
    {
      open_once ();
      gemem_driver.initialised = !gemem_driver.broken && gemem_driver.n_devices > 0;
      if (gemem_driver.dry)
        {
          gemem_dry_note_rank ();
          gemem_dry_note_visible ();
        }
    }
  return gemem_driver.broken           ? CUDA_ERROR_SYSTEM_NOT_READY
         : gemem_driver.n_devices == 0 ? CUDA_ERROR_NO_DEVICE
                                       : CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDriverGetVersion (int *version)
{
  BEGIN (cuDriverGetVersion, NEEDS_NOTHING);
  if (version == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no place for the version");
  *version = gemem_driver.version;
  return CUDA_SUCCESS;
}

static CUresult
describe (CUresult error, const char **text, gboolean name)
{
  if (text == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  *text = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (errors); i++)
    if (errors[i].code == (int) error)
      *text = name || errors[i].text == NULL ? errors[i].name : errors[i].text;
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
  gpointer other;
  int since = 0;

  *known = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (entries); i++)
    {
      const EntryPoint *entry = &entries[i];
      if (strcmp (entry->name, name) != 0 || entry->version > gemem_driver.version)
        continue;
      *known = TRUE;
      if (entry->version > version || (entry->per_thread && !per_thread))
        continue;
      if (best == NULL || (entry->per_thread && !best->per_thread)
          || (entry->per_thread == best->per_thread && entry->version > best->version))
        best = entry;
    }
  other = gemem_driver.dry && gemem_driver_absent != NULL
              ? gemem_driver_absent (name, version, &since)
              : NULL;
  if (other != NULL && (best == NULL || since > best->version))
    {
      *known = TRUE;
      return other;
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
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "name, place or flags");
  if (version > gemem_driver.version)
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
 * has none. A runtime that is linked into a program does not start without them, and one of them
 * proves that the driver is NVIDIA's (cudaErrorIntegrityChecksFailed).  Where its functions are found
 * (dry/launch/linked.c), audit.c has put ours in their place; else this is where it ends. */
CUresult CUDAAPI
cuGetExportTable (const void **table, const CUuuid *id)
{
  static gboolean told;

  BEGIN (cuGetExportTable, NEEDS_NOTHING);
  if (table == NULL || id == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no table, or no place for it");
  *table = NULL;
  if (gemem_driver.dry && !told)
    {
      told = TRUE;
      g_printerr ("gemem: this program has CUDA's runtime linked in (libcudart_static), and its "
                  "functions were "
                  "not found in it; do not strip it, or link it with nvcc -cudart shared\n");
      gemem_dry_note (GEMEM_DRY_NOTE_MISSING, "cuGetExportTable libcuda.so.1");
    }
  return CUDA_ERROR_NOT_FOUND;
}
