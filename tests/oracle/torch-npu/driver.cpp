/* driver.cpp - drives the real c10_npu::NPUCachingAllocator of a torch_npu wheel on the stub device (../README.md: the protocol).
 *
 * Settings become PYTORCH_NPU_ALLOC_CONF; `conf` is passed as it is.  memory_limit becomes torch_npu.npu.set_per_process_memory_fraction().
 * Pools: between pool-begin and pool-end the pool is active, as within a capture or torch_npu.npu.use_mem_pool(); an alloc with
 * pool=N outside of such a stretch is one of its own.
 * The size of a block is the growth of allocated_bytes, which only allocations and frees change.
 */
#include <set>

#include <torch_npu/csrc/core/npu/NPUCachingAllocator.h>
#include <torch_npu/csrc/core/npu/NPUStream.h>

#include "driver.h"

namespace real = c10_npu::NPUCachingAllocator;

extern std::unordered_map<const void *, uint64_t> acl_streams; /* acl.cpp */

/* As in ../torch/driver.cpp: what the allocator remembers by the addresses of its records must not depend
 * on the host's heap, so that memory is not used again. */
static bool reuses_host_memory = false;

__attribute__ ((visibility ("default"))) void
operator delete (void *memory) noexcept
{
  if (reuses_host_memory)
    std::free (memory);
}

__attribute__ ((visibility ("default"))) void
operator delete (void *memory, std::size_t) noexcept
{
  operator delete (memory);
}

/* The stream of torch_npu that stands for @number; it has 32. */
static c10_npu::NPUStream
stream_for (uint64_t number)
{
  static std::map<uint64_t, c10_npu::NPUStream> streams;
  auto found = streams.find (number);

  if (found == streams.end ())
    {
      found = streams
                  .emplace (number, number == 0 ? c10_npu::getDefaultNPUStream (0)
                                                : c10_npu::getStreamFromPool (false, 0))
                  .first;
      acl_streams[found->second.stream ()] = number;
    }
  return found->second;
}

/* torch_npu's table of functions for Python: name, function, flags, text. */
struct Method
{
  const char *name;
  void *(*function) (void *, void *);
  int flags;
  const char *text;
};
extern "C++" Method *THNPModule_get_methods ();

static void
initialise ()
{
  for (const Method *method = THNPModule_get_methods (); method->name != nullptr; method++)
    if (std::string (method->name) == "_npu_init")
      method->function (nullptr, nullptr);
}

class TorchNpu final : public oracle::System
{
public:
  void
  start (const oracle::Settings &settings) override
  {
    const std::string conf = settings.has ("conf") ? settings.text ("conf")
                                                   : configuration (settings);

    reuses_host_memory = settings.yes ("bench");
    setenv ("TASK_QUEUE_ENABLE", "0", 1); /* calls of the device are made where they are written */
    try
      {
        if (settings.has ("conf") || !conf.empty ())
          setenv ("PYTORCH_NPU_ALLOC_CONF", conf.c_str (), 1);
        real::setAllocatorSettings (""); /* reads them; it takes fewer itself */
        allocator = real::get ();
        allocator->init (1);
        initialise ();
        if (settings.has ("memory_limit"))
          allocator->setMemoryFraction (settings.real ("memory_limit")
                                            / static_cast<double> (oracle_device.reported_total ()),
                                        0);
        deleter = allocator->raw_deleter ();
        for (uint64_t stream = 0; stream < 16; stream++)
          stream_for (stream); /* so that their handles are in the order of their numbers */
      }
    catch (const std::exception &error)
      {
        throw oracle::Refused (
            std::string (error.what ()).substr (0, std::string (error.what ()).find ('\n')));
      }
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
        memory = allocator->raw_alloc_with_stream (block.size, stream_for (block.stream).stream ());
      }
    catch (const std::exception &error)
      {
        if (getenv ("ORACLE_SAY") != nullptr)
          fprintf (stderr, "%s\n", error.what ());
      }
    if (alone)
      end (block.pool);
    if (capture)
      mark_capture (false);
    block.address = reinterpret_cast<uint64_t> (memory);
    if (logged && memory != nullptr)
      {
        const uint64_t now = static_cast<uint64_t> (
            allocator->getDeviceStats (0).allocated_bytes[0].current);
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
    at::DataPtr data = of (block);
    allocator->recordStream (data, stream_for (stream));
    data.release_context ();
  }
  /* A collective operation ends its use: torch_npu heeds that where the stream that waits for it, the current
   * one, is that of the block. */
  void
  stream_free (oracle::Block &block, uint64_t stream) override
  {
    at::DataPtr data = of (block);
    c10_npu::setCurrentNPUStream (stream_for (block.stream));
    allocator->eraseStream (data, stream_for (stream));
    data.release_context ();
  }
  bool
  has_stream_free () const override
  {
    return true;
  }
  void
  trim () override
  {
    try
      {
        allocator->emptyCache (true);
      }
    catch (const std::exception &)
      {
      }
  }
  void
  release_pool (uint64_t pool, bool) override
  {
    for (; begun[pool] > 0; begun[pool]--)
      allocator->releasePool (0, { 0, pool });
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
  real::NPUAllocator *allocator = nullptr;
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
      "capacity",          "total",   "base",        "step",
      "va_base",           "va_step", "granularity", "event_latency",
      "free_synchronises", "events",  "calls",       "stats",
      "threads",           "bench",   "version",     "allocator",
      "memory_limit"
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
  at::DataPtr
  of (const oracle::Block &block) const
  {
    void *memory = reinterpret_cast<void *> (block.address);
    return at::DataPtr (memory, memory, deleter, at::Device (at::kPrivateUse1, 0));
  }
  void
  begin (uint64_t pool)
  {
    allocator->beginAllocateToPool (0, { 0, pool },
                                    [this, pool] (aclrtStream) { return requested_pool == pool; });
    active.insert (pool);
    begun[pool]++;
  }
  void
  end (uint64_t pool)
  {
    allocator->endAllocateToPool (0, { 0, pool });
    active.erase (pool);
  }
  void
  mark_capture (bool begins)
  {
    if (begins)
      allocator->markCaptureBegin (0);
    else
      allocator->markCaptureEnd (0);
    oracle_device.capturing = begins;
  }
};

template <typename Stat>
static void
add (oracle::System::Stats &all, const std::string &name, const Stat &stat)
{
  all[name + ".current"] = static_cast<uint64_t> (stat.current);
  all[name + ".peak"] = static_cast<uint64_t> (stat.peak);
  all[name + ".allocated"] = static_cast<uint64_t> (stat.allocated);
  all[name + ".freed"] = static_cast<uint64_t> (stat.freed);
}

void
TorchNpu::stats (Stats &all)
{
  static const char *const pools[] = { ".all", ".small_pool", ".large_pool" };
  const auto s = allocator->getDeviceStats (0);
  const std::pair<const char *, const real::StatArray &> arrays[] = {
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
  all["num_oom_rejections"] = static_cast<uint64_t> (s.num_oom_rejections);
}

/* Called in a process of Python, for what torch_npu begins with. */
extern "C" int
oracle_main (int argc, char **argv)
{
  static TorchNpu torch;
  return oracle::drive (argc, argv, torch);
}
