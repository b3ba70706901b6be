/* links.c - how the devices of a dry run reach each other, as the management library says it.
 *
 * Libraries build their picture of the machine from this (NCCL, nvshmem).  The machine has the
 * links of the GPU's row in gpus.def: so many to NVSwitch, which alone connects everything to
 * everything, the PCIe bus, or none.
 *
 * Invariant: says the same as cuDeviceCanAccessPeer().
 *
 * Origin: the NVML API reference; nvml.h of the toolkit for the order of structures and for values.
 */
#include "config.h"

#include <string.h>

#include "dry/driver/devices.h"
#include "dry/nvml/nvml.h"

#define P2P_OK 0
#define P2P_GPU_NOT_SUPPORTED 2
#define CAPABILITIES 6 /* P2P, memory of the host, atomics of both, SLI bridge, valid */
#define SLI_BRIDGE 4
#define SWITCH 2
#define FIELD_LINK_COUNT 91
#define FIELD_LINK_STATE 165 /* of the link that the scope names */
#define VALUE_UNSIGNED 1
#define SWITCH_BUS 0xf0 /* of the PCIe bus; devices begin at 1 (nvmlDeviceGetPciInfo_v3()) */

int
nvmlDeviceGetP2PStatus (NvmlDevice device, NvmlDevice other, unsigned int what, int *status)
{
  ANSWER (status);
  DEVICE (device);
  if (gemem_nvml_ordinal (other) < 0)
    return NVML_BAD_ARGUMENT;
  *status = gemem_dry_gpu ()->nvlinks >= 0 ? P2P_OK : P2P_GPU_NOT_SUPPORTED;
  return NVML_OK;
}

#define LINK(device, link) \
  DEVICE (device); \
  if ((int) (link) >= gemem_dry_gpu ()->nvlinks) \
  return gemem_dry_gpu ()->nvlinks > 0 ? NVML_BAD_ARGUMENT : NVML_UNSUPPORTED

int
nvmlDeviceGetNvLinkState (NvmlDevice device, unsigned int link, unsigned int *active)
{
  ANSWER (active);
  LINK (device, link);
  *active = 1;
  return NVML_OK;
}

int
nvmlDeviceGetNvLinkCapability (NvmlDevice device, unsigned int link, unsigned int which,
                               unsigned int *has)
{
  ANSWER (has);
  LINK (device, link);
  if (which >= CAPABILITIES)
    return NVML_BAD_ARGUMENT;
  *has = which != SLI_BRIDGE;
  return NVML_OK;
}

int
nvmlDeviceGetNvLinkRemoteDeviceType (NvmlDevice device, unsigned int link, unsigned int *type)
{
  ANSWER (type);
  LINK (device, link);
  *type = SWITCH;
  return NVML_OK;
}

int
nvmlDeviceGetNvLinkRemotePciInfo (NvmlDevice device, unsigned int link, NvmlOldPciInfo *info)
{
  ANSWER (info);
  LINK (device, link);
  memset (info, 0, sizeof *info);
  info->bus = SWITCH_BUS;
  g_snprintf (info->legacy, sizeof info->legacy, "0000:%02X:00.0", info->bus);
  return NVML_OK;
}

int
nvmlDeviceGetNvLinkRemotePciInfo_v2 (NvmlDevice device, unsigned int link, NvmlPciInfo *info)
{
  ANSWER (info);
  LINK (device, link);
  memset (info, 0, sizeof *info);
  info->bus = SWITCH_BUS;
  g_snprintf (info->legacy, sizeof info->legacy, "0000:%02X:00.0", info->bus);
  g_snprintf (info->text, sizeof info->text, "00000000:%02X:00.0", info->bus);
  return NVML_OK;
}

/* Counters of errors, speeds, ... are not known. */
int
nvmlDeviceGetFieldValues (NvmlDevice device, int count, NvmlFieldValue *values)
{
  ANSWER (values);
  DEVICE (device);
  const unsigned links = (unsigned) MAX (gemem_dry_gpu ()->nvlinks, 0);
  for (int i = 0; i < count; i++)
    {
      const gboolean state = values[i].field == FIELD_LINK_STATE;
      const gboolean known = state ? values[i].scope < links : values[i].field == FIELD_LINK_COUNT;
      values[i].result = known ? NVML_OK : NVML_UNSUPPORTED;
      values[i].type = VALUE_UNSIGNED;
      values[i].value = state ? 1 : links;
    }
  return NVML_OK;
}

/* ---- what this machine has not, as older drivers and other machines say it: links to the GPUs of
 * other machines, a place in a rack, the long form of PCIe facts, counters of errors */

int
nvmlDeviceGetGpuFabricInfoV (NvmlDevice device, NvmlFabric *fabric)
{
  ANSWER (fabric);
  DEVICE (device);
  *fabric = (NvmlFabric){ .version = fabric->version }; /* NVML_GPU_FABRIC_STATE_NOT_SUPPORTED */
  return NVML_OK;
}

#define UNSUPPORTED(name, ...) \
  int name (NvmlDevice device, __VA_ARGS__) \
  { \
    DEVICE (device); \
    return NVML_UNSUPPORTED; \
  }
UNSUPPORTED (nvmlDeviceGetPlatformInfo, void *info)
UNSUPPORTED (nvmlDeviceGetPciInfoExt, void *info)
UNSUPPORTED (nvmlDeviceGetMemoryErrorCounter, unsigned int type, unsigned int counter,
             unsigned int where, unsigned long long *count)

/* Confidential computing is off. */
int
nvmlSystemGetConfComputeState (NvmlConfidential *state)
{
  ANSWER (state);
  *state = (NvmlConfidential){ 0 };
  return NVML_OK;
}

int
nvmlSystemGetConfComputeSettings (void *settings)
{
  ANSWER (settings);
  return NVML_UNSUPPORTED;
}

/* ---- the PCIe bus: that of the architecture, with all 16 lanes */

int
nvmlDeviceGetCurrPcieLinkGeneration (NvmlDevice device, unsigned int *generation)
{
  ANSWER (generation);
  DEVICE (device);
  *generation = gemem_dry_gpu ()->major < 8 ? 3 : gemem_dry_gpu ()->major == 8 ? 4 : 5;
  return NVML_OK;
}

int
nvmlDeviceGetMaxPcieLinkGeneration (NvmlDevice device, unsigned int *generation)
{
  return nvmlDeviceGetCurrPcieLinkGeneration (device, generation);
}

int
nvmlDeviceGetCurrPcieLinkWidth (NvmlDevice device, unsigned int *width)
{
  ANSWER (width);
  DEVICE (device);
  *width = 16;
  return NVML_OK;
}

int
nvmlDeviceGetMaxPcieLinkWidth (NvmlDevice device, unsigned int *width)
{
  return nvmlDeviceGetCurrPcieLinkWidth (device, width);
}

/* In MB/s for each lane: 8000 are 8 GT/s, those of generation 3. */
int
nvmlDeviceGetPcieLinkMaxSpeed (NvmlDevice device, unsigned int *speed)
{
  unsigned generation = 0;

  ANSWER (speed);
  const int result = nvmlDeviceGetCurrPcieLinkGeneration (device, &generation);
  *speed = 1000u << generation;
  return result;
}
