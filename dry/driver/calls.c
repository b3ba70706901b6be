/* calls.c - the beginning of every call of the stand-in driver, and its environment.
 *
 * Environment:
 *   GEMEM_DRIVER          specification of each device's simulated device ("sim"), as in
 *                          faulty:nth=5,call=map,capacity=1GiB
 *   GEMEM_DRIVER_DEVICES  number of devices (1); 0: cuInit returns CUDA_ERROR_NO_DEVICE
 *   GEMEM_DRIVER_VERSION  the driver's version (13000): newer functions are not found
 *   GEMEM_DRIVER_VMM=0    no virtual memory, GEMEM_DRIVER_POOLS=0: no stream-ordered pools
 *   GEMEM_DRIVER_REAL_TIME=1  the clock is the host's: a call takes as long as the simulated
 *                              device's profile says, and work on streams proceeds meanwhile
 *   GEMEM_DRIVER_FAIL     calls that fail: cuMemMap=3:CUDA_ERROR_UNKNOWN,cuMemcpyDtoH=2+ - the
 *                          third call of cuMemMap with that code, and the second and all later ones
 *                          of cuMemcpyDtoH; without a code: CUDA_ERROR_OUT_OF_MEMORY
 *   GEMEM_DRIVER_REPORT   file to which the report is appended (tally.c)
 *
 * Names in GEMEM_DRIVER_FAIL are those of cuGetProcAddress, without suffix; calls of one name are
 * counted together.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "dry/driver/calls.h"
#include "dry/driver/capture.h"
#include "dry/driver/mode.h"

#define CALL_NS 100 /* host cost of a call, added to the cost on the simulated device */

/* A call that fails by $GEMEM_DRIVER_FAIL. */
typedef struct
{
  char *name;
  guint64 from, to;
  guint64 seen;
  CUresult code;
} Failure;

static Failure failures[32];
static guint n_failures;

/* ---- the environment */

void
gemem_driver_complain (const char *variable, const char *value, const char *message)
{
  g_printerr ("stand-in libcuda: %s=%s: %s\n", variable, value, message);
  gemem_driver.broken = TRUE;
}

static guint64
number_of (const char *variable, guint64 fallback, guint64 most)
{
  const char *text = g_getenv (variable);
  guint64 value = fallback;

  if (text != NULL && *text != '\0' && !gemem_parse_digits (text, 10, 0, most, &value))
    gemem_driver_complain (variable, text, "not a number, or too large");
  return value;
}

static CUresult
code_of (const char *name)
{
#define DRY_ERROR(number, driver_name, runtime_name, text) \
  if (number != 0 && g_strcmp0 (driver_name, name) == 0) \
    return (CUresult) (number);
#include "dry/driver/errors.def"
#undef DRY_ERROR
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
    known |= strcmp (gemem_driver_entry_base (i), sides[0]) == 0;
  if (later)
    how[0][strlen (how[0]) - 1] = '\0';
  if (!known || how[0] == NULL || !gemem_parse_digits (how[0], 10, 1, G_MAXUINT64, &failure->from)
      || (how[1] != NULL && code_of (how[1]) == CUDA_SUCCESS)
      || n_failures + 1 == G_N_ELEMENTS (failures))
    {
      gemem_driver_complain (
          GEMEM_ENV_DRIVER_FAIL, text,
          "write NAME=N, NAME=N+ or NAME=N:CUDA_ERROR_..., with names and errors known here");
      return;
    }
  failure->name = g_strdup (sides[0]);
  failure->to = later ? G_MAXUINT64 : failure->from;
  failure->code = how[1] != NULL ? code_of (how[1]) : CUDA_ERROR_OUT_OF_MEMORY;
  n_failures++;
}

void
gemem_driver_read_environment (void)
{
  const char *fail = g_getenv (GEMEM_ENV_DRIVER_FAIL);
  g_auto (GStrv) each = g_strsplit (fail != NULL ? fail : "", ",", 0);

  gemem_driver.version = number_of (GEMEM_ENV_DRIVER_VERSION, 13000, 99999);
  gemem_driver.virtual_memory = number_of (GEMEM_ENV_DRIVER_VMM, 1, 1);
  gemem_driver.began = number_of (GEMEM_ENV_DRIVER_REAL_TIME, 0, 1) != 0 ? gemem_driver_host_now ()
                                                                         : 0;
  gemem_driver.pools = number_of (GEMEM_ENV_DRIVER_POOLS, 1, 1);
  for (guint i = 0; each[i] != NULL; i++)
    read_failure (each[i]);
  gemem_driver.objects = g_hash_table_new (g_int64_hash, g_int64_equal);
  gemem_driver.queue = g_sequence_new (NULL);
  gemem_driver.gpus = number_of (GEMEM_ENV_DRIVER_DEVICES, 1, DRIVER_DEVICES_MAX);
  gemem_driver.mode = gemem_dry_mode () ? &gemem_driver_dry : &gemem_driver_strict;
}

/* ---- calls */

static CUresult
injected (DriverEntry entry)
{
  for (guint i = 0; i < n_failures; i++)
    if (strcmp (failures[i].name, gemem_driver_entry_base (entry)) == 0)
      {
        failures[i].seen++;
        if (failures[i].seen >= failures[i].from && failures[i].seen <= failures[i].to)
          return failures[i].code;
      }
  return CUDA_SUCCESS;
}

CUresult
gemem_driver_context_state (void)
{
  const DriverContext *context = gemem_driver_context ();
  if (context == NULL)
    return CUDA_SUCCESS;
  return context->alive ? context->lost
                        : gemem_driver_misuse (CUDA_ERROR_CONTEXT_IS_DESTROYED,
                                               "the current context is destroyed");
}

CUresult
gemem_driver_begin (DriverEntry entry, DriverNeeds needs)
{
  CUresult failure;

  if (gemem_driver.objects == NULL)
    gemem_driver_read_environment ();
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
    gemem_driver.now = MAX (gemem_driver.now, gemem_driver_host_now () - gemem_driver.began);
  gemem_driver.now += CALL_NS;
  gemem_driver_run_due ();
  if (needs != NEEDS_CONTEXT)
    return CUDA_SUCCESS;
  if (gemem_driver_context () == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_CONTEXT, "no context is current to this thread");
  return gemem_driver_context_state ();
}
