/* driver.cpp - drives the real c10::cuda::CUDACachingAllocator of a PyTorch wheel on the stub device (../README.md: the protocol;
 * ../pytorch.h: pools, sizes, statistics).
 *
 * What torch does elsewhere and is needed here: the device count is asked for, a primary context is said to exist, and the table of
 * peers is made (versions with HAVE_PEER_ACCESS; expandable segments look into it).
 * Settings become one string for the same parser that reads PYTORCH_CUDA_ALLOC_CONF; `conf` is passed as it is.  memory_limit and
 * per_process_memory_fraction become torch.cuda.set_per_process_memory_fraction().
 */
#include <c10/cuda/CUDAAllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#ifdef HAVE_PEER_ACCESS
#include <c10/cuda/PeerToPeerAccess.h>
#endif

#include "pytorch.h"

namespace real = c10::cuda::CUDACachingAllocator;
namespace c10::cuda::_internal
{
C10_CUDA_API void setHasPrimaryContext (bool (*) (c10::DeviceIndex));
}

static cudaStream_t
handle (uint64_t stream)
{
  return reinterpret_cast<cudaStream_t> (stream << 20);
}

class Torch final : public oracle::PyTorch
{
public:
  void
  start (const oracle::Settings &settings) override
  {
    reuses_host_memory = settings.yes ("bench");
    c10::cuda::_internal::setHasPrimaryContext ([] (c10::DeviceIndex) { return true; });
    try
      {
        const std::string conf = settings.has ("conf")
                                     ? settings.text ("conf")
                                     : configuration (settings, { "memory_limit",
                                                                  "per_process_memory_fraction" });
        if (settings.has ("conf") || !conf.empty ())
          real::setAllocatorSettings (conf);
        c10::cuda::device_count ();
        real::init (1);
#ifdef HAVE_PEER_ACCESS
        c10::cuda::detail::init_p2p_access_cache (1);
#endif
        if (settings.has ("per_process_memory_fraction"))
          real::setMemoryFraction (settings.real ("per_process_memory_fraction"), 0);
        if (settings.has ("memory_limit"))
          real::setMemoryFraction (settings.real ("memory_limit")
                                       / static_cast<double> (oracle_device.reported_total ()),
                                   0);
      }
    catch (const std::exception &error)
      {
        throw refusal (error);
      }
    allocator = real::get ();
    deleter = allocator->raw_deleter ();
  }
  void
  use (oracle::Block &block, uint64_t stream) override
  {
    void *memory = reinterpret_cast<void *> (block.address);
    at::DataPtr data (memory, memory, deleter, at::Device (at::kCUDA, 0));
    allocator->recordStream (data, stream == 0
                                       ? c10::cuda::getDefaultCUDAStream (0)
                                       : c10::cuda::getStreamFromExternal (handle (stream), 0));
    data.release_context ();
  }
  void
  stats (Stats &all) override
  {
    const auto s = real::getDeviceStats (0);
    add_all (all, s);
#ifdef HAVE_REJECTIONS
    all["num_oom_rejections"] = static_cast<uint64_t> (s.num_oom_rejections);
#endif
  }

private:
  real::CUDAAllocator *allocator = nullptr;
  c10::DeleterFnPtr deleter = nullptr;

  /* Requests that no device has are refused where tensors are made, before streams and pools count. */
  void *
  request (const oracle::Block &block) override
  {
    if (block.size >= uint64_t{ 1 } << 59)
      return allocator->allocate (block.size).release_context ();
    return allocator->raw_alloc_with_stream (block.size, handle (block.stream));
  }
  void
  give_back (void *memory) override
  {
    allocator->raw_delete (memory);
  }
  uint64_t
  allocated_bytes () override
  {
    return static_cast<uint64_t> (real::getDeviceStats (0).allocated_bytes[0].current);
  }
  void
  empty_cache () override
  {
    real::emptyCache ();
  }
  void
  begin_pool (uint64_t pool) override
  {
    real::beginAllocateToPool (0, { 0, pool },
                               [this, pool] (cudaStream_t) { return requested_pool == pool; });
  }
  void
  end_pool (uint64_t pool) override
  {
    real::endAllocateToPool (0, { 0, pool });
  }
  void
  drop_pool (uint64_t pool) override
  {
    real::releasePool (0, { 0, pool });
  }
#ifdef HAVE_MARK_CAPTURE
  void
  capture_begins (bool begins) override
  {
    if (begins)
      real::markCaptureBegin (0);
    else
      real::markCaptureEnd (0);
  }
#endif
};

int
main (int argc, char **argv)
{
  static Torch torch;
  return oracle::drive (argc, argv, torch);
}
