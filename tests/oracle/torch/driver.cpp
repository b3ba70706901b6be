/* driver.cpp - drives the real c10::cuda::CUDACachingAllocator of a PyTorch wheel on the stub device (../README.md: the protocol).
 *
 * What torch does elsewhere and is needed here: the device count is asked for, a primary context is said to exist, and the table of
 * peers is made (versions with HAVE_PEER_ACCESS; expandable segments look into it).
 * Settings become one string for the same parser that reads PYTORCH_CUDA_ALLOC_CONF; `conf` is passed as it is.  memory_limit and
 * per_process_memory_fraction become torch.cuda.set_per_process_memory_fraction().
 * Pools: between pool-begin and pool-end the pool is active, as within torch.cuda.use_mem_pool() or a capture; an
 * alloc with pool=N outside of such a stretch is one of its own, one without pool inside goes to no pool.
 * The size of a block is the growth of allocated_bytes, which only allocations and frees change.
 */
#include <array>
#include <set>

#include <c10/cuda/CUDAAllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#ifdef HAVE_PEER_ACCESS
#include <c10/cuda/PeerToPeerAccess.h>
#endif

#include "driver.h"

namespace real = c10::cuda::CUDACachingAllocator;
namespace c10::cuda::_internal
{
C10_CUDA_API void setHasPrimaryContext (bool (*) (c10::DeviceIndex));
}

/* PyTorch remembers the uses that were made inside a capture by the address of the block's record, also
 * when that record is gone: a later record at the same address inherits them, so that the host's heap
 * would decide which events are recorded.  Without reuse there is one answer. */
static bool reuses_host_memory = false;

void
operator delete (void *memory) noexcept
{
  if (reuses_host_memory)
    std::free (memory);
}

void
operator delete (void *memory, std::size_t) noexcept
{
  operator delete (memory);
}

static cudaStream_t
handle (uint64_t stream)
{
  return reinterpret_cast<cudaStream_t> (stream << 20);
}

class Torch final : public oracle::System
{
public:
  void
  start (const oracle::Settings &settings) override
  {
    reuses_host_memory = settings.yes ("bench");
    c10::cuda::_internal::setHasPrimaryContext ([] (c10::DeviceIndex) { return true; });
    try
      {
        const std::string conf = settings.has ("conf") ? settings.text ("conf")
                                                       : configuration (settings);
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
        throw oracle::Refused (
            std::string (error.what ()).substr (0, std::string (error.what ()).find ('\n')));
      }
    allocator = real::get ();
    deleter = allocator->raw_deleter ();
  }
  bool
  alloc (oracle::Block &block, bool logged) override
  {
    const bool alone = block.pool != 0 && active.count (block.pool) == 0,
               capture = alone && !marked;
    void *memory = nullptr;

    requested_pool = block.pool;
    if (capture)
      mark_capture (true);
    if (alone)
      begin (block.pool);
    try
      {
        memory = allocator->raw_alloc_with_stream (block.size, handle (block.stream));
      }
    catch (const std::exception &)
      {
      }
    if (alone)
      end (block.pool);
    if (capture)
      mark_capture (false);
    block.address = reinterpret_cast<uint64_t> (memory);
    if (logged && memory != nullptr)
      {
        const uint64_t now = static_cast<uint64_t> (
            real::getDeviceStats (0).allocated_bytes[0].current);
        block.block = now - allocated;
        allocated = now;
      }
    return memory != nullptr;
  }
  void
  free (oracle::Block &block) override
  {
    allocator->raw_delete (reinterpret_cast<void *> (block.address));
    allocated -= block.block;
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
  trim () override
  {
    try
      {
        real::emptyCache ();
      }
    catch (const std::exception &)
      {
      }
  }
  void
  release_pool (uint64_t pool, bool) override
  {
    for (; begun[pool] > 0; begun[pool]--)
      real::releasePool (0, { 0, pool });
  }
  void
  redirect (uint64_t pool, bool begins, bool capture) override
  {
    marked = true;
    if (begins)
      {
        if (capture)
          mark_capture (true);
        captured.push_back ({ pool, capture });
        if (pool != 0)
          begin (pool);
        return;
      }
    if (pool != 0)
      end (pool);
    for (size_t i = captured.size (); i-- > 0;)
      if (captured[i].first == pool)
        {
          if (captured[i].second)
            mark_capture (false);
          captured.erase (captured.begin () + static_cast<long> (i));
          return;
        }
  }
  bool
  has_pools () const override
  {
    return true;
  }
  void stats (Stats &all) override;

private:
  real::CUDAAllocator *allocator = nullptr;
  c10::DeleterFnPtr deleter = nullptr;
  uint64_t allocated = 0, requested_pool = 0;
  bool marked = false; /* there was a pool-begin: without, requests to pools count as captured */
  std::set<uint64_t> active;
  std::vector<std::pair<uint64_t, bool> >
      captured; /* open stretches: pool, whether a graph is captured */
  std::map<uint64_t, uint64_t> begun;

  /* KEY:VALUE,... of the settings that are the allocator's. */
  static std::string
  configuration (const oracle::Settings &settings)
  {
    static const std::set<std::string> others = {
      "capacity",    "total",         "base",
      "step",        "va_base",       "va_step",
      "granularity", "event_latency", "free_synchronises",
      "events",      "calls",         "stats",
      "threads",     "bench",         "version",
      "allocator",   "memory_limit",  "per_process_memory_fraction"
    };
    std::string conf;
    for (auto &[key, value] : settings.values)
      if (others.count (key) == 0)
        conf += (conf.empty () ? "" : ",") + key + ":"
                + (value == "yes"  ? "True"
                   : value == "no" ? "False"
                                   : value);
    return conf;
  }
  void
  begin (uint64_t pool)
  {
    real::beginAllocateToPool (0, { 0, pool },
                               [this, pool] (cudaStream_t) { return requested_pool == pool; });
    active.insert (pool);
    begun[pool]++;
  }
  void
  end (uint64_t pool)
  {
    real::endAllocateToPool (0, { 0, pool });
    active.erase (pool);
  }
  void
  mark_capture (bool begins)
  {
#ifdef HAVE_MARK_CAPTURE
    if (begins)
      real::markCaptureBegin (0);
    else
      real::markCaptureEnd (0);
#endif
    oracle_device.capturing = begins;
  }
};

static void
add (oracle::System::Stats &all, const std::string &name,
     const c10::CachingDeviceAllocator::Stat &stat)
{
  all[name + ".current"] = static_cast<uint64_t> (stat.current);
  all[name + ".peak"] = static_cast<uint64_t> (stat.peak);
  all[name + ".allocated"] = static_cast<uint64_t> (stat.allocated);
  all[name + ".freed"] = static_cast<uint64_t> (stat.freed);
}

void
Torch::stats (Stats &all)
{
  static const char *const pools[] = { ".all", ".small_pool", ".large_pool" };
  const auto s = real::getDeviceStats (0);
  const std::pair<const char *, const c10::CachingDeviceAllocator::StatArray &> arrays[] = {
    { "allocation", s.allocation },
    { "segment", s.segment },
    { "active", s.active },
    { "inactive_split", s.inactive_split },
    { "allocated_bytes", s.allocated_bytes },
    { "reserved_bytes", s.reserved_bytes },
    { "active_bytes", s.active_bytes },
    { "inactive_split_bytes", s.inactive_split_bytes },
    { "requested_bytes", s.requested_bytes }
  };
  for (auto &[name, array] : arrays)
    for (size_t i = 0; i < 3; i++)
      add (all, std::string (name) + pools[i], array[i]);
  add (all, "oversize_allocations", s.oversize_allocations);
  add (all, "oversize_segments", s.oversize_segments);
  all["num_alloc_retries"] = static_cast<uint64_t> (s.num_alloc_retries);
  all["num_ooms"] = static_cast<uint64_t> (s.num_ooms);
  all["num_device_alloc"] = static_cast<uint64_t> (s.num_device_alloc);
  all["num_device_free"] = static_cast<uint64_t> (s.num_device_free);
  all["num_sync_all_streams"] = static_cast<uint64_t> (s.num_sync_all_streams);
#ifdef HAVE_REJECTIONS
  all["num_oom_rejections"] = static_cast<uint64_t> (s.num_oom_rejections);
#endif
}

int
main (int argc, char **argv)
{
  static Torch torch;
  return oracle::drive (argc, argv, torch);
}
