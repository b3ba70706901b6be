/* library-nccl.c - NCCL: communicators know their rank and size (library.h); library-nccl-work.c has
 * what they do.
 *
 * NCCL takes memory of the device for itself: by its manual NCCL_BUFFSIZE (4 MiB) for each pair of ranks
 * that exchange data and each channel, and how many channels there are it finds out from the machine's
 * topology. That is not known here, and the report names each communicator.
 */
#include "config.h"

#include <string.h>

#include "devices/dry/driver-api.h"
#include "devices/dry/library-nccl.h"

#define UNHANDLED_CUDA_ERROR 1
#define NO_COLOR (-1)

typedef struct
{
  char bytes[128];
} UniqueId;

DRY_FUNCTION (int, ncclGetVersion, int *version)
{
  INVALID_VALUE_UNLESS (version != NULL, INVALID_ARGUMENT);
  *version = dry_version ("nccl", 0) * 10000 + dry_version ("nccl", 1) * 100
             + dry_version ("nccl", 2);
  return SUCCESS;
}

DRY_FUNCTION (const char *, ncclGetErrorString, int result)
{
  return result == SUCCESS ? "no error" : "error of a dry run of gemem";
}

DRY_FUNCTION (const char *, ncclGetLastError, void *communicator)
{
  return "";
}

DRY_FUNCTION (int, ncclGetUniqueId, UniqueId *id)
{
  INVALID_VALUE_UNLESS (id != NULL, INVALID_ARGUMENT);
  *id = (UniqueId){ "gemem dry run" };
  return SUCCESS;
}

DRY_FUNCTION (int, ncclCommGetUniqueId, void *communicator, UniqueId *id)
{
  return ncclGetUniqueId (id);
}

static int
new_communicator (void **communicator, int ranks, int rank)
{
  CUdevice device = 0;

  INVALID_VALUE_UNLESS (communicator != NULL && ranks > 0 && rank >= 0 && rank < ranks,
                        INVALID_ARGUMENT);
  g_autofree char *text = g_strdup_printf ("of NCCL's communicator of %d ranks", ranks);
  if (ranks > 1)
    gemem_dry_note ("buffers", text);
  *communicator = dry_object_new ();
  cuCtxGetDevice (&device);
  dry_keep_number (*communicator, RANKS, ranks);
  dry_keep_number (*communicator, RANK, rank);
  dry_keep_number (*communicator, DEVICE, device);
  return SUCCESS;
}

DRY_FUNCTION (int, ncclCommInitRank, void **communicator, int ranks, UniqueId id, int rank)
{
  return new_communicator (communicator, ranks, rank);
}

DRY_FUNCTION (int, ncclCommInitRankConfig, void **communicator, int ranks, UniqueId id, int rank,
              void *config)
{
  return new_communicator (communicator, ranks, rank);
}

DRY_FUNCTION (int, ncclCommInitRankScalable, void **communicator, int ranks, int rank, int n_ids,
              UniqueId *ids, void *config)
{
  return new_communicator (communicator, ranks, rank);
}

DRY_FUNCTION (int, ncclCommInitAll, void **communicators, int devices, const int *list)
{
  INVALID_VALUE_UNLESS (communicators != NULL && devices > 0, INVALID_ARGUMENT);
  for (int i = 0; i < devices; i++)
    {
      new_communicator (&communicators[i], devices, i);
      dry_keep_number (communicators[i], DEVICE, list != NULL ? list[i] : i);
    }
  return SUCCESS;
}

/* How many ranks have the same color only they know, unless the program's Python says it; else this one
 * is taken to be alone. */
static __thread int next_size, next_rank;

void
gemem_dry_next_group (int size, int rank)
{
  next_size = size;
  next_rank = rank;
}

DRY_FUNCTION (int, ncclCommSplit, void *communicator, int color, int key, void **result,
              void *config)
{
  int made;

  INVALID_VALUE_UNLESS (result != NULL, INVALID_ARGUMENT);
  *result = NULL;
  if (color == NO_COLOR)
    return SUCCESS;
  if (next_size > 0)
    return new_communicator (result, next_size, next_rank);
  dry_unknown_value ("ncclCommSplit (how many ranks have this color)");
  made = new_communicator (result, 1, 0);
  dry_keep_number (*result, AT_MOST, dry_kept_number (communicator, RANKS, 1));
  return made;
}

DRY_FUNCTION (int, ncclCommShrink, void *communicator, int *excluded, int n_excluded, void **result,
              void *config, int flags)
{
  const int ranks = (int) dry_kept_number (communicator, RANKS, 1);
  const int rank = (int) dry_kept_number (communicator, RANK, 0);
  int before = 0;

  for (int i = 0; excluded != NULL && i < n_excluded; i++)
    before += excluded[i] < rank;
  return new_communicator (result, ranks - n_excluded, rank - before);
}

static int
end_communicator (void *communicator)
{
  dry_object_free (communicator);
  return SUCCESS;
}

DRY_FUNCTION (int, ncclCommDestroy, void *communicator)
{
  return end_communicator (communicator);
}
DRY_FUNCTION (int, ncclCommAbort, void *communicator)
{
  return end_communicator (communicator);
}

#define ASK(name, id) \
  DRY_FUNCTION (int, name, void *communicator, int *value) \
  { \
    INVALID_VALUE_UNLESS (communicator != NULL && value != NULL, INVALID_ARGUMENT); \
    *value = (int) dry_kept_number (communicator, id, 0); \
    return SUCCESS; \
  }
ASK (ncclCommCount, RANKS)
ASK (ncclCommUserRank, RANK)
ASK (ncclCommCuDevice, DEVICE)

DRY_FUNCTION (int, ncclCommGetAsyncError, void *communicator, int *result)
{
  INVALID_VALUE_UNLESS (result != NULL, INVALID_ARGUMENT);
  *result = SUCCESS;
  return SUCCESS;
}

/* ---- memory */

DRY_FUNCTION (int, ncclMemAlloc, void **address, size_t size)
{
  CUdeviceptr at = 0;

  INVALID_VALUE_UNLESS (address != NULL, INVALID_ARGUMENT);
  if (cuMemAlloc_v2 (&at, size) != CUDA_SUCCESS)
    return UNHANDLED_CUDA_ERROR;
  *address = (void *) (uintptr_t) at;
  return SUCCESS;
}

DRY_FUNCTION (int, ncclMemFree, void *address)
{
  return cuMemFree_v2 ((CUdeviceptr) (uintptr_t) address) == CUDA_SUCCESS ? SUCCESS
                                                                          : UNHANDLED_CUDA_ERROR;
}

/* A registration is a handle, which deregistering releases. */
#define REGISTER(name, ...) \
  DRY_FUNCTION (int, name, void *communicator, void *buffer, size_t size, void **handle, \
                ##__VA_ARGS__) \
  { \
    INVALID_VALUE_UNLESS (handle != NULL, INVALID_ARGUMENT); \
    *handle = dry_object_new (); \
    return SUCCESS; \
  }
REGISTER (ncclCommRegister)
REGISTER (ncclCommWindowRegister, int flags)

#define DEREGISTER(name) \
  DRY_FUNCTION (int, name, void *communicator, void *handle) \
  { \
    dry_object_free (handle); \
    return SUCCESS; \
  }
DEREGISTER (ncclCommDeregister)
DEREGISTER (ncclCommWindowDeregister)

/* The first number that is no operation of NCCL's own. */
DRY_FUNCTION (int, ncclRedOpCreatePreMulSum, int *operation, void *scalar, int type, int residence,
              void *communicator)
{
  INVALID_VALUE_UNLESS (operation != NULL, INVALID_ARGUMENT);
  *operation = 5;
  return SUCCESS;
}
