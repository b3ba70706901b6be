/* acl.cpp - Ascend's runtime as far as torch_npu's caching allocator needs it, on the stub device of ../device.h.
 *
 * Its functions have CANN's names and public prototypes (acl/acl_rt.h), here with plain types.  An Ascend 910B with CANN 8.5 is
 * played, so that every setting of the allocator is available.  A call that is not here fails where it is made (build.sh).
 */
#include <cstdint>
#include <cstring>
#include <exception>
#include <unordered_map>

#include "device.h"

using oracle_error = int;
static constexpr int OK = 0, NO_MEMORY = 207001;

#define ACL extern "C" __attribute__ ((visibility ("default")))

/* ---- devices, versions */

ACL oracle_error
aclInit (const char *)
{
  return OK;
}

ACL oracle_error
aclFinalize ()
{
  return OK;
}

ACL const char *
aclrtGetSocName ()
{
  return "Ascend910B1";
}

ACL const char *
aclGetRecentErrMsg ()
{
  return "";
}

struct Version
{
  char version[128], major[64], minor[64], release[64], patch[64], reserved[128];
};

static constexpr int DRIVER = 7; /* of CANN's packages */

ACL oracle_error
aclsysGetCANNVersion (int package, Version *version)
{
  const bool driver = package == DRIVER;

  std::memset (version, 0, sizeof *version);
  std::strcpy (version->version, driver ? "25.5.0" : "8.5.0");
  std::strcpy (version->major, driver ? "25" : "8");
  std::strcpy (version->minor, "5");
  std::strcpy (version->release, "0");
  return OK;
}

ACL oracle_error
aclsysGetVersionStr (const char *package, char *version)
{
  std::strcpy (version, std::strcmp (package, "driver") == 0 ? "25.5.0" : "8.5.0");
  return OK;
}

ACL void
aclAppLog (int, const char *, const char *, uint32_t, const char *, ...)
{
}

ACL oracle_error
aclrtGetDeviceCount (uint32_t *count)
{
  *count = 1;
  return OK;
}

ACL oracle_error
aclrtGetDevice (int32_t *device)
{
  *device = 0;
  return OK;
}

ACL oracle_error
aclrtSetDevice (int32_t)
{
  return OK;
}

ACL oracle_error
aclrtResetDevice (int32_t)
{
  return OK;
}

ACL oracle_error
aclrtGetCurrentContext (void **context)
{
  static int only;
  *context = &only;
  return OK;
}

ACL oracle_error
aclrtSetCurrentContext (void *)
{
  return OK;
}

ACL oracle_error
aclrtGetPrimaryCtxState (int32_t, uint32_t *flags, int32_t *active)
{
  if (flags != nullptr)
    *flags = 0;
  *active = 1;
  return OK;
}

ACL oracle_error
aclrtPeekAtLastError (int)
{
  return OK;
}

ACL oracle_error
aclrtGetLastError (int)
{
  return OK;
}

ACL oracle_error
aclrtSetDeviceSatMode (int)
{
  return OK;
}

ACL oracle_error
aclrtSetOpExecuteTimeOut (uint32_t)
{
  return OK;
}

ACL oracle_error
aclrtSetOpWaitTimeout (uint32_t)
{
  return OK;
}

ACL oracle_error
HcclSetConfig (int, int64_t)
{
  return OK;
}

ACL oracle_error
aclrtGetSysParamOpt (int, int64_t *value)
{
  *value = 0;
  return OK;
}

ACL oracle_error
aclrtCtxGetSysParamOpt (int, int64_t *value)
{
  *value = 0;
  return OK;
}

ACL oracle_error
aclrtSetSysParamOpt (int, int64_t)
{
  return OK;
}

ACL oracle_error
aclrtCtxSetSysParamOpt (int, int64_t)
{
  return OK;
}

ACL oracle_error
aclSetCompileopt (int, const char *)
{
  return OK;
}

/* ---- memory */

ACL oracle_error
aclrtGetMemInfo (int, size_t *available, size_t *total)
{
  *total = oracle_device.reported_total ();
  *available = *total - std::min<uint64_t> (*total, oracle_device.held);
  return OK;
}

ACL oracle_error
aclrtMallocAlign32 (void **memory, size_t size, int)
{
  *memory = reinterpret_cast<void *> (oracle_device.malloc (size));
  return *memory != nullptr ? OK : NO_MEMORY;
}

ACL oracle_error
aclrtMalloc (void **memory, size_t size, int policy)
{
  return aclrtMallocAlign32 (memory, size, policy);
}

ACL oracle_error
aclrtFree (void *memory)
{
  oracle_device.free (reinterpret_cast<uint64_t> (memory));
  return OK;
}

/* Sizes of ranges and mappings by address, which CANN's calls do not repeat. */
static std::unordered_map<void *, size_t> ranges, mappings;

ACL oracle_error
aclrtReserveMemAddress (void **address, size_t size, size_t, void *, uint64_t)
{
  *address =
      address; /* torch_npu tries whether there are ranges, by one that is shorter than a page */
  if (size < oracle_device.granularity)
    return OK;
  *address = reinterpret_cast<void *> (oracle_device.reserve (size));
  ranges[*address] = size;
  return OK;
}

ACL oracle_error
aclrtReleaseMemAddress (void *address)
{
  if (ranges.count (address) == 0)
    return OK;
  oracle_device.release (reinterpret_cast<uint64_t> (address), ranges[address]);
  ranges.erase (address);
  return OK;
}

ACL oracle_error
aclrtMallocPhysical (void **page, size_t size, const void *, uint64_t)
{
  *page = reinterpret_cast<void *> (oracle_device.create (size));
  return *page != nullptr ? OK : NO_MEMORY;
}

ACL oracle_error
aclrtFreePhysical (void *page)
{
  oracle_device.destroy (reinterpret_cast<uint64_t> (page));
  return OK;
}

ACL oracle_error
aclrtMapMem (void *address, size_t size, size_t, void *page, uint64_t)
{
  oracle_device.map (reinterpret_cast<uint64_t> (address), size, reinterpret_cast<uint64_t> (page));
  mappings[address] = size;
  return OK;
}

ACL oracle_error
aclrtUnmapMem (void *address)
{
  oracle_device.unmap (reinterpret_cast<uint64_t> (address), mappings[address]);
  mappings.erase (address);
  return OK;
}

/* ---- streams and events */

/* A handle's number in the trace; the driver tells it. */
std::unordered_map<const void *, uint64_t> acl_streams __attribute__ ((visibility ("default")));

static uint64_t
stream_of (const void *stream)
{
  const auto found = acl_streams.find (stream);
  return found != acl_streams.end () ? found->second : 0;
}

ACL oracle_error
aclrtCreateStreamWithConfig (void **stream, uint32_t, uint32_t)
{
  static uint64_t next = 1 << 20;
  *stream = reinterpret_cast<void *> (next++ << 20);
  return OK;
}

ACL oracle_error
aclrtCreateStream (void **stream)
{
  return aclrtCreateStreamWithConfig (stream, 0, 0);
}

/* Of every stream, as of the allocator's. */
ACL oracle_error
aclmdlRICaptureGetInfo (void *, int *status, void **model)
{
  static int graph;
  *status = oracle_device.capturing ? 1 : 0;
  if (model != nullptr)
    *model = oracle_device.capturing ? &graph : nullptr;
  return OK;
}

ACL oracle_error
aclrtSynchronizeStream (void *stream)
{
  oracle_device.stream_sync (stream_of (stream));
  return OK;
}

ACL oracle_error
aclrtSynchronizeStreamWithTimeout (void *stream, int32_t)
{
  return aclrtSynchronizeStream (stream);
}

ACL oracle_error
aclrtSynchronizeDevice ()
{
  oracle_device.device_sync ();
  return OK;
}

ACL oracle_error
aclrtSynchronizeDeviceWithTimeout (int32_t)
{
  return aclrtSynchronizeDevice ();
}

struct Event
{
  uint64_t done = 0;
};

ACL oracle_error
aclrtCreateEventExWithFlag (void **event, uint32_t)
{
  *event = new Event;
  return OK;
}

ACL oracle_error
aclrtCreateEventWithFlag (void **event, uint32_t flag)
{
  return aclrtCreateEventExWithFlag (event, flag);
}

ACL oracle_error
aclrtDestroyEvent (void *event)
{
  delete static_cast<Event *> (event);
  return OK;
}

ACL oracle_error
aclrtRecordEvent (void *event, void *stream)
{
  static_cast<Event *> (event)->done = oracle_device.record (stream_of (stream));
  return OK;
}

ACL oracle_error
aclrtQueryEventStatus (void *event, int *status)
{
  *status = oracle_device.query (static_cast<Event *> (event)->done) ? 1 : 0;
  return OK;
}

ACL oracle_error
aclrtSynchronizeEvent (void *event)
{
  oracle_device.wait (static_cast<Event *> (event)->done);
  return OK;
}

/* ---- what is not here */

ACL void *
oracle_missing (const char *name)
{
  if (std::strncmp (name, "acl", 3) == 0 || std::strncmp (name, "Hccl", 4) == 0)
    {
      std::fprintf (stderr, "oracle: %s\n", name);
      oracle::die ("a function of CANN that the stub does not have");
    }
  return nullptr; /* of torch_python or CUDA: nobody uses what it is for */
}

/* torch_npu begins with what its allocators need, and goes on with classes of Python, which is where this ends it. */
struct NoClasses : std::exception
{
};
struct _typeobject;
struct PyGetSetDef;
struct PyMethodDef;
namespace torch
{
namespace autograd
{
__attribute__ ((visibility ("default"))) _typeobject *
_initFunctionPyTypeObject (_typeobject &, const char *, PyGetSetDef *, PyMethodDef *)
{
  throw NoClasses ();
}
}
__attribute__ ((visibility ("default"))) void
translate_exception_to_python (const std::exception_ptr &error)
{
  try
    {
      std::rethrow_exception (error);
    }
  catch (const NoClasses &)
    {
    }
  catch (const std::exception &one)
    {
      std::fprintf (stderr, "oracle: torch_npu cannot begin: %s\n", one.what ());
    }
}
}
