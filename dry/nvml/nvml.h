/* nvml.h - the functions of NVIDIA's management library that dry runs have (nvml.c), by the
 * names of its public documentation; api-check.c compares the structures with those of
 * NVML's own header. */
#pragma once

typedef struct nvmlDevice_st *NvmlDevice;

typedef struct
{
  unsigned long long total, free, used;
} NvmlMemory;

typedef struct
{
  unsigned int pid;
  unsigned long long used;
} NvmlProcess;

typedef struct
{
  NvmlProcess plain;
  unsigned int gpu_instance, compute_instance;
} NvmlProcess3;

typedef struct
{
  unsigned int version;
  unsigned long long total, reserved, free, used;
} NvmlMemory2;

typedef struct
{
  unsigned int gpu, memory;
} NvmlUtilization;

typedef struct
{
  char legacy[16];
  unsigned int domain, bus, device, id, subsystem;
  char text[32];
} NvmlPciInfo;

/* Version 2; later ones have more at the end. */
typedef struct
{
  unsigned int version;
  unsigned char cluster[16];
  int status;
  unsigned int clique;
  unsigned char state;
  unsigned int health;
} NvmlFabric;
/* Of the remote end of a link; shorter than NvmlPciInfo in the function without a number. */
typedef struct
{
  char legacy[16];
  unsigned int domain, bus, device, id, subsystem, reserved[4];
} NvmlOldPciInfo;

typedef struct
{
  unsigned int environment, feature, tools;
} NvmlConfidential;

typedef struct
{
  unsigned int field, scope;
  long long time, latency;
  unsigned int type;
  int result;
  unsigned long long value;
} NvmlFieldValue;

#define NVML_OK 0
#define NVML_BAD_ARGUMENT 2
#define NVML_UNSUPPORTED 3

/* The number of the device whose handle is @device, which is that and one; -1: there is none. */
int gemem_nvml_ordinal (NvmlDevice device);

#define DEVICE(device) \
  const int ordinal = gemem_nvml_ordinal (device); \
  if (ordinal < 0) \
  return NVML_BAD_ARGUMENT
#define ANSWER(pointer) \
  if ((pointer) == NULL) \
  return NVML_BAD_ARGUMENT

#pragma GCC visibility push(default)

int nvmlInit (void);
int nvmlInit_v2 (void);
int nvmlInitWithFlags (unsigned int);
int nvmlShutdown (void);
const char *nvmlErrorString (int);
int nvmlSystemGetDriverVersion (char *, unsigned int);
int nvmlSystemGetNVMLVersion (char *, unsigned int);
int nvmlSystemGetCudaDriverVersion (int *);
int nvmlSystemGetCudaDriverVersion_v2 (int *);
int nvmlDeviceGetCount (unsigned int *);
int nvmlDeviceGetCount_v2 (unsigned int *);
int nvmlDeviceGetHandleByIndex (unsigned int, NvmlDevice *);
int nvmlDeviceGetHandleByIndex_v2 (unsigned int, NvmlDevice *);
int nvmlDeviceGetHandleByUUID (const char *, NvmlDevice *);
int nvmlDeviceGetHandleByPciBusId (const char *, NvmlDevice *);
int nvmlDeviceGetHandleByPciBusId_v2 (const char *, NvmlDevice *);
int nvmlDeviceGetUUID (NvmlDevice, char *, unsigned int);
int nvmlDeviceGetIndex (NvmlDevice, unsigned int *);
int nvmlDeviceGetMinorNumber (NvmlDevice, unsigned int *);
int nvmlDeviceGetName (NvmlDevice, char *, unsigned int);
int nvmlDeviceGetCudaComputeCapability (NvmlDevice, int *, int *);
int nvmlDeviceGetArchitecture (NvmlDevice, unsigned int *);
int nvmlDeviceGetComputeMode (NvmlDevice, unsigned int *);
int nvmlDeviceGetPciInfo_v3 (NvmlDevice, NvmlPciInfo *);
int nvmlDeviceGetMemoryInfo (NvmlDevice, NvmlMemory *);
int nvmlDeviceGetMemoryInfo_v2 (NvmlDevice, NvmlMemory2 *);
int nvmlDeviceGetUtilizationRates (NvmlDevice, NvmlUtilization *);
int nvmlDeviceGetTemperature (NvmlDevice, unsigned int, unsigned int *);
int nvmlDeviceGetPowerUsage (NvmlDevice, unsigned int *);
int nvmlDeviceGetClockInfo (NvmlDevice, unsigned int, unsigned int *);
int nvmlDeviceGetTotalEnergyConsumption (NvmlDevice, unsigned long long *);
int nvmlDeviceGetComputeRunningProcesses (NvmlDevice, unsigned int *, NvmlProcess *);
int nvmlDeviceGetComputeRunningProcesses_v3 (NvmlDevice, unsigned int *, NvmlProcess3 *);
int nvmlDeviceGetGraphicsRunningProcesses_v3 (NvmlDevice, unsigned int *, void *);
int nvmlDeviceGetMPSComputeRunningProcesses_v3 (NvmlDevice, unsigned int *, void *);
int nvmlDeviceGetP2PStatus (NvmlDevice, NvmlDevice, unsigned int, int *);
int nvmlDeviceGetNvLinkState (NvmlDevice, unsigned int, unsigned int *);
int nvmlDeviceGetNvLinkCapability (NvmlDevice, unsigned int, unsigned int, unsigned int *);
int nvmlDeviceGetNvLinkRemotePciInfo (NvmlDevice, unsigned int, NvmlOldPciInfo *);
int nvmlDeviceGetNvLinkRemotePciInfo_v2 (NvmlDevice, unsigned int, NvmlPciInfo *);
int nvmlDeviceGetNvLinkRemoteDeviceType (NvmlDevice, unsigned int, unsigned int *);
int nvmlDeviceGetFieldValues (NvmlDevice, int, NvmlFieldValue *);
int nvmlDeviceGetGpuFabricInfoV (NvmlDevice, NvmlFabric *);
int nvmlDeviceGetPlatformInfo (NvmlDevice, void *);
int nvmlDeviceGetPciInfoExt (NvmlDevice, void *);
int nvmlDeviceGetMemoryErrorCounter (NvmlDevice, unsigned int, unsigned int, unsigned int,
                                     unsigned long long *);
int nvmlDeviceGetCurrPcieLinkGeneration (NvmlDevice, unsigned int *);
int nvmlDeviceGetMaxPcieLinkGeneration (NvmlDevice, unsigned int *);
int nvmlDeviceGetCurrPcieLinkWidth (NvmlDevice, unsigned int *);
int nvmlDeviceGetMaxPcieLinkWidth (NvmlDevice, unsigned int *);
int nvmlDeviceGetPcieLinkMaxSpeed (NvmlDevice, unsigned int *);
int nvmlSystemGetConfComputeState (NvmlConfidential *);
int nvmlSystemGetConfComputeSettings (void *);
int nvmlDeviceGetMigMode (NvmlDevice, unsigned int *, unsigned int *);

#pragma GCC visibility pop
