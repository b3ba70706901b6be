/* nccl.c - NCCL: communicators know their rank and size (library.h); nccl-work.c has
 * what they do.
 *
 * NCCL takes memory of the device for itself: by its manual NCCL_BUFFSIZE (4 MiB) for each pair of ranks
 * that exchange data and each channel, and how many channels there are it finds out from the machine's
 * topology. Where NVIDIA's NCCL is installed it takes that memory itself (nccl-installed.c); else it is
 * not known, and the notes name each communicator.
 */
#include "config.h"

#include <string.h>

#include "dry/driver/api.h"
#include "dry/libraries/nccl.h"
#include "dry/runtime/runtime.h"

#define UNHANDLED_CUDA_ERROR 1
#define NO_COLOR (-1)

DRY_FUNCTION (int, ncclGetVersion, int *version)
{
  INVALID_VALUE_UNLESS (version != NULL, INVALID_ARGUMENT);
  *version = gemem_library_version ("nccl", 0) * 10000 + gemem_library_version ("nccl", 1) * 100
             + gemem_library_version ("nccl", 2);
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
  const NcclCalls *installed = nccl_installed ();

  INVALID_VALUE_UNLESS (id != NULL, INVALID_ARGUMENT);
  *id = (UniqueId){ "gemem dry run" };
  return installed != NULL ? installed->GetUniqueId (id) : SUCCESS;
}

DRY_FUNCTION (int, ncclCommGetUniqueId, void *communicator, UniqueId *id)
{
  return ncclGetUniqueId (id);
}

/* The buffers of @ranks ranks are not known. */
static void
note_buffers (int ranks)
{
  g_autofree char *text = g_strdup_printf ("of NCCL's communicator of %d ranks", ranks);
  if (ranks > 1)
    gemem_dry_note (GEMEM_DRY_NOTE_BUFFERS, text);
}

static int
new_communicator (void **communicator, int ranks, int rank)
{
  INVALID_VALUE_UNLESS (communicator != NULL && ranks > 0 && rank >= 0 && rank < ranks,
                        INVALID_ARGUMENT);
  *communicator = gemem_library_object_new ();
  gemem_library_keep_number (*communicator, RANKS, ranks);
  gemem_library_keep_number (*communicator, RANK, rank);
  gemem_library_keep_number (*communicator, DEVICE, gemem_runtime_device ());
  return SUCCESS;
}

/* @config: NULL, or as ncclCommInitRankConfig() has it. */
static int
join (void **communicator, int ranks, const UniqueId *id, int rank, void *config)
{
  const NcclCalls *installed = nccl_installed ();
  int result = new_communicator (communicator, ranks, rank);

  if (result != SUCCESS)
    return result;
  if (installed == NULL)
    {
      note_buffers (ranks);
      return SUCCESS;
    }
  nccl_installed_enter ();
  if (config != NULL)
    result = installed->CommInitRankConfig (NCCL_BESIDE (*communicator), ranks, *id, rank, config);
  else
    result = installed->CommInitRank (NCCL_BESIDE (*communicator), ranks, *id, rank);
  nccl_installed_made (*communicator, result, "ncclCommInitRank");
  nccl_installed_leave ();
  return SUCCESS;
}

DRY_FUNCTION (int, ncclCommInitRank, void **communicator, int ranks, UniqueId id, int rank)
{
  return join (communicator, ranks, &id, rank, NULL);
}

DRY_FUNCTION (int, ncclCommInitRankConfig, void **communicator, int ranks, UniqueId id, int rank,
              void *config)
{
  return join (communicator, ranks, &id, rank, config);
}

/* Several ids make it faster where there are very many ranks. */
DRY_FUNCTION (int, ncclCommInitRankScalable, void **communicator, int ranks, int rank, int n_ids,
              UniqueId *ids, void *config)
{
  INVALID_VALUE_UNLESS (ids != NULL && n_ids > 0, INVALID_ARGUMENT);
  return join (communicator, ranks, &ids[0], rank, config);
}

DRY_FUNCTION (int, ncclCommInitAll, void **communicators, int devices, const int *list)
{
  const NcclCalls *installed = nccl_installed ();

  INVALID_VALUE_UNLESS (communicators != NULL && devices > 0, INVALID_ARGUMENT);
  for (int i = 0; i < devices; i++)
    {
      new_communicator (&communicators[i], devices, i);
      gemem_library_keep_number (communicators[i], DEVICE, list != NULL ? list[i] : i);
    }
  if (installed == NULL)
    {
      note_buffers (devices);
      return SUCCESS;
    }
  g_autofree void **own = g_new0 (void *, devices);
  nccl_installed_enter ();
  const int result = installed->CommInitAll (own, devices, list);
  for (int i = 0; i < devices; i++)
    {
      *NCCL_BESIDE (communicators[i]) = own[i];
      nccl_installed_made (communicators[i], result, "ncclCommInitAll");
    }
  nccl_installed_leave ();
  return SUCCESS;
}

/* How many ranks have the same color only they know, unless the program's Python says it; else this
 * one is taken to be alone. */
static __thread int next_size, next_rank;

void
gemem_dry_next_group (int size, int rank)
{
  next_size = size;
  next_rank = rank;
}

/* One beside @communicator splits with the others; FALSE: there is none. */
static gboolean
split_installed (void *communicator, int color, int key, void **result, void *config)
{
  const NcclCalls *installed = nccl_installed ();
  void *none = NULL;

  if (installed == NULL || installed->CommSplit == NULL || *NCCL_BESIDE (communicator) == NULL)
    return FALSE;
  if (color != NO_COLOR)
    new_communicator (result, 1, 0);
  nccl_installed_enter ();
  int made = installed->CommSplit (*NCCL_BESIDE (communicator), color, key,
                                   color != NO_COLOR ? NCCL_BESIDE (*result) : &none, config);
  made = nccl_installed_wait (communicator,
                              made); /* the old one is busy until there is a new one */
  nccl_installed_made (color != NO_COLOR ? *result : communicator, made, "ncclCommSplit");
  nccl_installed_leave ();
  return TRUE;
}

DRY_FUNCTION (int, ncclCommSplit, void *communicator, int color, int key, void **result,
              void *config)
{
  int made;

  INVALID_VALUE_UNLESS (communicator != NULL && result != NULL, INVALID_ARGUMENT);
  *result = NULL;
  if (split_installed (communicator, color, key, result, config) || color == NO_COLOR)
    return SUCCESS;
  if (next_size > 0)
    {
      note_buffers (next_size);
      return new_communicator (result, next_size, next_rank);
    }
  gemem_library_unknown_value ("ncclCommSplit (how many ranks have this color)");
  made = new_communicator (result, 1, 0);
  gemem_library_keep_number (*result, AT_MOST, gemem_library_kept_number (communicator, RANKS, 1));
  return made;
}

DRY_FUNCTION (int, ncclCommShrink, void *communicator, int *excluded, int n_excluded, void **result,
              void *config, int flags)
{
  const NcclCalls *installed = nccl_installed ();
  const int ranks = (int) gemem_library_kept_number (communicator, RANKS, 1);
  const int rank = (int) gemem_library_kept_number (communicator, RANK, 0);
  int before = 0;

  INVALID_VALUE_UNLESS (communicator != NULL && excluded != NULL && n_excluded > 0,
                        INVALID_ARGUMENT);
  for (int i = 0; i < n_excluded; i++)
    before += excluded[i] < rank;
  int made = new_communicator (result, ranks - n_excluded, rank - before);
  if (made != SUCCESS)
    return made;
  if (installed == NULL || installed->CommShrink == NULL || *NCCL_BESIDE (communicator) == NULL)
    {
      note_buffers (ranks - n_excluded);
      return SUCCESS;
    }
  nccl_installed_enter ();
  made = installed->CommShrink (*NCCL_BESIDE (communicator), excluded, n_excluded,
                                NCCL_BESIDE (*result), config, flags);
  made = nccl_installed_wait (communicator, made);
  nccl_installed_made (*result, made, "ncclCommShrink");
  nccl_installed_leave ();
  return SUCCESS;
}

DRY_FUNCTION (int, ncclCommDestroy, void *communicator)
{
  nccl_installed_destroy (communicator, FALSE);
  gemem_library_object_free (communicator);
  return SUCCESS;
}

DRY_FUNCTION (int, ncclCommAbort, void *communicator)
{
  nccl_installed_destroy (communicator, TRUE);
  gemem_library_object_free (communicator);
  return SUCCESS;
}

#define ASK(name, id) \
  DRY_FUNCTION (int, name, void *communicator, int *value) \
  { \
    INVALID_VALUE_UNLESS (communicator != NULL && value != NULL, INVALID_ARGUMENT); \
    *value = (int) gemem_library_kept_number (communicator, id, 0); \
    return SUCCESS; \
  }
ASK (ncclCommCount, RANKS)
ASK (ncclCommUserRank, RANK)
ASK (ncclCommCuDevice, DEVICE)

/* The beginning of ncclCommProperties_t, which is the same in all versions; the program says how
 * large its own is. */
typedef struct
{
  size_t size;
  unsigned magic, version;
  int rank, ranks, device, nvml_device;
} Properties;

/* What the machine's links allow is the installed library's answer; the stand-in alone has
 * nothing of it. */
DRY_FUNCTION (int, ncclCommQueryProperties, void *communicator, Properties *properties)
{
  const NcclCalls *installed = nccl_installed ();
  const gsize head = offsetof (Properties, rank);
  int result = SUCCESS;

  INVALID_VALUE_UNLESS (communicator != NULL && properties != NULL
                            && properties->size >= sizeof *properties,
                        INVALID_ARGUMENT);
  memset ((guint8 *) properties + head, 0, properties->size - head);
  if (installed != NULL && installed->CommQueryProperties != NULL
      && *NCCL_BESIDE (communicator) != NULL)
    result = installed->CommQueryProperties (*NCCL_BESIDE (communicator), properties);
  properties->rank = (int) gemem_library_kept_number (communicator, RANK, 0);
  properties->ranks = (int) gemem_library_kept_number (communicator, RANKS, 1);
  properties->device = properties->nvml_device = (int) gemem_library_kept_number (communicator,
                                                                                  DEVICE, 0);
  return result;
}

DRY_FUNCTION (int, ncclCommGetAsyncError, void *communicator, int *result)
{
  INVALID_VALUE_UNLESS (result != NULL, INVALID_ARGUMENT);
  *result = SUCCESS;
  return SUCCESS;
}

/* ---- memory */

DRY_FUNCTION (int, ncclMemAlloc, void **address, size_t size)
{
  const NcclCalls *installed = nccl_installed ();
  CUdeviceptr at = 0;

  INVALID_VALUE_UNLESS (address != NULL, INVALID_ARGUMENT);
  if (installed != NULL && installed->MemAlloc != NULL)
    return installed->MemAlloc (address, size);
  if (cuMemAlloc_v2 (&at, size) != CUDA_SUCCESS)
    return UNHANDLED_CUDA_ERROR;
  *address = (void *) (uintptr_t) at;
  return SUCCESS;
}

DRY_FUNCTION (int, ncclMemFree, void *address)
{
  const NcclCalls *installed = nccl_installed ();

  if (installed != NULL && installed->MemFree != NULL)
    return installed->MemFree (address);
  return cuMemFree_v2 ((CUdeviceptr) (uintptr_t) address) == CUDA_SUCCESS ? SUCCESS
                                                                          : UNHANDLED_CUDA_ERROR;
}

/* A registration is a handle, which deregistering releases; what the installed NCCL takes for
 * it is not known. */
#define REGISTER(name, ...) \
  DRY_FUNCTION (int, name, void *communicator, void *buffer, size_t size, void **handle, \
                ##__VA_ARGS__) \
  { \
    INVALID_VALUE_UNLESS (handle != NULL, INVALID_ARGUMENT); \
    if (nccl_installed () != NULL) \
      gemem_dry_note (GEMEM_DRY_NOTE_BUFFERS, \
                      "of NCCL's for memory that was registered by " #name); \
    *handle = gemem_library_object_new (); \
    return SUCCESS; \
  }
REGISTER (ncclCommRegister)
REGISTER (ncclCommWindowRegister, int flags)

#define DEREGISTER(name) \
  DRY_FUNCTION (int, name, void *communicator, void *handle) \
  { \
    gemem_library_object_free (handle); \
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
