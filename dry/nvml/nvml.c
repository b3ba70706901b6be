/* nvml.c - the management library (libnvidia-ml) of dry runs: devices, their memory and processes,
 * as programs and monitors ask for them.
 *
 * It says what the simulated devices of this process say; other processes hold nothing there. It is
 * no part of CUDA: it works in a child of fork() too, and a child may use CUDA though its parent
 * used this. A function that is not here fails by its name (missing.c).
 *
 * Origin: the NVML API reference; nvml.h of the toolkit for the order of structures.
 */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "dry/driver/devices.h"
#include "dry/nvml/nvml.h"

#define NOT_FOUND 6
#define INSUFFICIENT_SIZE 7
#define UNKNOWN 999

int
gemem_nvml_ordinal (NvmlDevice device)
{
  guint number = (guint) (guintptr) device;
  return number >= 1 && number <= gemem_driver_count_gpus () ? (int) number - 1 : -1;
}

static int
give_text (char *place, guint length, const char *text)
{
  ANSWER (place);
  return g_strlcpy (place, text, length) < length ? NVML_OK : INSUFFICIENT_SIZE;
}

/* ---- the library */

int
nvmlInit_v2 (void)
{
  return gemem_driver_count_gpus () > 0 ? NVML_OK : UNKNOWN;
}

int
nvmlInitWithFlags (unsigned int flags)
{
  return nvmlInit_v2 ();
}

int
nvmlInit (void)
{
  return nvmlInit_v2 ();
}

int
nvmlShutdown (void)
{
  return NVML_OK;
}

const char *
nvmlErrorString (int code)
{
  switch (code)
    {
    case NVML_OK:
      return "Success";
    case NVML_BAD_ARGUMENT:
      return "Invalid Argument";
    case NVML_UNSUPPORTED:
      return "Not Supported";
    case NOT_FOUND:
      return "Not Found";
    case INSUFFICIENT_SIZE:
      return "Insufficient Size";
    default:
      return "Unknown Error";
    }
}

int
nvmlSystemGetDriverVersion (char *text, unsigned int length)
{
  return give_text (text, length, "580.00.00"); /* the first branch that knows CUDA 13.0 */
}

int
nvmlSystemGetNVMLVersion (char *text, unsigned int length)
{
  return give_text (text, length, "13.580.00.00");
}

int
nvmlSystemGetCudaDriverVersion_v2 (int *version)
{
  ANSWER (version);
  return cuDriverGetVersion (version) == CUDA_SUCCESS ? NVML_OK : UNKNOWN;
}

int
nvmlSystemGetCudaDriverVersion (int *version)
{
  return nvmlSystemGetCudaDriverVersion_v2 (version);
}

/* ---- devices */

int
nvmlDeviceGetCount_v2 (unsigned int *count)
{
  ANSWER (count);
  *count = gemem_driver_count_gpus ();
  return NVML_OK;
}

int
nvmlDeviceGetCount (unsigned int *count)
{
  return nvmlDeviceGetCount_v2 (count);
}

int
nvmlDeviceGetHandleByIndex_v2 (unsigned int index, NvmlDevice *device)
{
  ANSWER (device);
  if (index >= gemem_driver_count_gpus ())
    return NVML_BAD_ARGUMENT;
  *device = (NvmlDevice) (guintptr) (index + 1);
  return NVML_OK;
}

int
nvmlDeviceGetHandleByIndex (unsigned int index, NvmlDevice *device)
{
  return nvmlDeviceGetHandleByIndex_v2 (index, device);
}

int
nvmlDeviceGetUUID (NvmlDevice device, char *text, unsigned int length)
{
  char all[DRIVER_UUID_TEXT];

  DEVICE (device);
  gemem_driver_uuid_text ((guint) ordinal, all);
  return give_text (text, length, all);
}

int
nvmlDeviceGetHandleByUUID (const char *uuid, NvmlDevice *device)
{
  ANSWER (uuid);
  ANSWER (device);
  for (guint i = 0; i < gemem_driver_count_gpus (); i++)
    {
      char own[DRIVER_UUID_TEXT];
      gemem_driver_uuid_text (i, own);
      if (strcmp (own, uuid) == 0)
        return nvmlDeviceGetHandleByIndex_v2 (i, device);
    }
  return NOT_FOUND;
}

int
nvmlDeviceGetHandleByPciBusId_v2 (const char *bus, NvmlDevice *device)
{
  int found;

  ANSWER (bus);
  ANSWER (device);
  if ((found = gemem_driver_place_on_bus (bus)) < 0 || (guint) found >= gemem_driver_count_gpus ())
    return NOT_FOUND;
  *device = (NvmlDevice) (guintptr) (found + 1);
  return NVML_OK;
}

/* Without the number, as programs find it that look it up by name. */
int
nvmlDeviceGetHandleByPciBusId (const char *bus, NvmlDevice *device)
{
  return nvmlDeviceGetHandleByPciBusId_v2 (bus, device);
}

int
nvmlDeviceGetIndex (NvmlDevice device, unsigned int *index)
{
  ANSWER (index);
  DEVICE (device);
  *index = ordinal;
  return NVML_OK;
}

int
nvmlDeviceGetMinorNumber (NvmlDevice device, unsigned int *number)
{
  return nvmlDeviceGetIndex (device, number);
}

int
nvmlDeviceGetName (NvmlDevice device, char *text, unsigned int length)
{
  DEVICE (device);
  return give_text (text, length, gemem_dry_gpu ()->model);
}

int
nvmlDeviceGetCudaComputeCapability (NvmlDevice device, int *major, int *minor)
{
  ANSWER (major);
  ANSWER (minor);
  DEVICE (device);
  *major = gemem_dry_gpu ()->major;
  *minor = gemem_dry_gpu ()->minor;
  return NVML_OK;
}

int
nvmlDeviceGetArchitecture (NvmlDevice device, unsigned int *architecture)
{
  /* by capability, newest first; Blackwell's have 10 to 12 */
  static const guint numbers[][2] = { { 100, 10 }, { 90, 9 }, { 89, 8 }, { 80, 7 }, { 75, 6 },
                                      { 70, 5 },   { 60, 4 }, { 50, 3 }, { 0, 2 } };
  const guint capability = (guint) (10 * gemem_dry_gpu ()->major + gemem_dry_gpu ()->minor);
  guint i = 0;

  ANSWER (architecture);
  DEVICE (device);
  while (capability < numbers[i][0])
    i++;
  *architecture = numbers[i][1];
  return NVML_OK;
}

int
nvmlDeviceGetComputeMode (NvmlDevice device, unsigned int *mode)
{
  ANSWER (mode);
  DEVICE (device);
  *mode = 0; /* several processes, as the driver's attribute says */
  return NVML_OK;
}

int
nvmlDeviceGetPciInfo_v3 (NvmlDevice device, NvmlPciInfo *info)
{
  ANSWER (info);
  DEVICE (device);
  memset (info, 0, sizeof *info);
  info->bus = ordinal + 1;
  g_snprintf (info->legacy, sizeof info->legacy, "0000:%02X:00.0", info->bus);
  g_snprintf (info->text, sizeof info->text, "00000000:%02X:00.0", info->bus);
  return NVML_OK;
}

/* ---- memory and use */

int
nvmlDeviceGetMemoryInfo (NvmlDevice device, NvmlMemory *memory)
{
  guint64 total, free;

  ANSWER (memory);
  DEVICE (device);
  if (!gemem_driver_memory_info ((guint) ordinal, &free, &total))
    free = total = gemem_dry_gpu ()->memory; /* this process has not used it */
  *memory = (NvmlMemory){ .total = total, .free = free, .used = total - free };
  return NVML_OK;
}

int
nvmlDeviceGetMemoryInfo_v2 (NvmlDevice device, NvmlMemory2 *memory)
{
  NvmlMemory plain;
  int result;

  ANSWER (memory);
  if ((result = nvmlDeviceGetMemoryInfo (device, &plain)) != NVML_OK)
    return result;
  memory->total = plain.total;
  memory->reserved = 0;
  memory->free = plain.free;
  memory->used = plain.used;
  return NVML_OK;
}

int
nvmlDeviceGetUtilizationRates (NvmlDevice device, NvmlUtilization *utilization)
{
  ANSWER (utilization);
  DEVICE (device);
  *utilization = (NvmlUtilization){ 0, 0 };
  return NVML_OK;
}

/* ---- sensors, which programs log: nothing runs, so they read zero */

int
nvmlDeviceGetTemperature (NvmlDevice device, unsigned int sensor, unsigned int *celsius)
{
  ANSWER (celsius);
  DEVICE (device);
  *celsius = 0;
  return NVML_OK;
}

int
nvmlDeviceGetPowerUsage (NvmlDevice device, unsigned int *milliwatts)
{
  return nvmlDeviceGetTemperature (device, 0, milliwatts);
}

int
nvmlDeviceGetClockInfo (NvmlDevice device, unsigned int clock, unsigned int *megahertz)
{
  return nvmlDeviceGetTemperature (device, 0, megahertz);
}

int
nvmlDeviceGetTotalEnergyConsumption (NvmlDevice device, unsigned long long *millijoules)
{
  ANSWER (millijoules);
  DEVICE (device);
  *millijoules = 0;
  return NVML_OK;
}

/* ---- processes */

/* Whether this process uses the device @ordinal, and what it holds of it.  No other does. */
static gboolean
uses (int ordinal, NvmlProcess *process)
{
  guint64 free, total;

  if (!gemem_driver_memory_info ((guint) ordinal, &free, &total))
    return FALSE;
  *process = (NvmlProcess){ .pid = (unsigned int) getpid (), .used = total - free };
  return TRUE;
}

/* Answers with the processes at @place, of which this is the only one that there may be: *@count is how many it holds, then how many
 * there are. */
static int
give_process (NvmlDevice device, unsigned int *count, NvmlProcess *place)
{
  NvmlProcess process;

  ANSWER (count);
  DEVICE (device);
  const unsigned int most = *count;
  *count = uses (ordinal, &process) ? 1 : 0;
  if (*count > most)
    return INSUFFICIENT_SIZE;
  if (*count > 0 && place == NULL)
    return NVML_BAD_ARGUMENT;
  if (*count > 0)
    *place = process;
  return NVML_OK;
}

static int
no_processes (NvmlDevice device, unsigned int *count)
{
  ANSWER (count);
  DEVICE (device);
  *count = 0;
  return NVML_OK;
}

int
nvmlDeviceGetComputeRunningProcesses (NvmlDevice device, unsigned int *count,
                                      NvmlProcess *processes)
{
  return give_process (device, count, processes);
}

int
nvmlDeviceGetComputeRunningProcesses_v3 (NvmlDevice device, unsigned int *count,
                                         NvmlProcess3 *processes)
{
  const int result = give_process (device, count, processes != NULL ? &processes->plain : NULL);

  if (result == NVML_OK && *count > 0)
    processes->gpu_instance = processes->compute_instance = G_MAXUINT; /* the GPU is not divided */
  return result;
}

int
nvmlDeviceGetGraphicsRunningProcesses_v3 (NvmlDevice device, unsigned int *count, void *processes)
{
  return no_processes (device, count);
}

int
nvmlDeviceGetMPSComputeRunningProcesses_v3 (NvmlDevice device, unsigned int *count, void *processes)
{
  return no_processes (device, count);
}

int
nvmlDeviceGetMigMode (NvmlDevice device, unsigned int *current, unsigned int *pending)
{
  ANSWER (current);
  ANSWER (pending);
  DEVICE (device);
  *current = *pending = 0;
  return NVML_OK;
}
