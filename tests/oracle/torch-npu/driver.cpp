/* driver.cpp - drives the real c10_npu::NPUCachingAllocator of a torch_npu wheel on the stub device (../README.md: the protocol;
 * ../pytorch.h: pools, sizes, statistics).
 *
 * Requests of the pool workspace_pool go to its NPUWorkspaceAllocator.
 * Settings become PYTORCH_NPU_ALLOC_CONF; `conf` is passed as it is.  memory_limit becomes
 * torch_npu.npu.set_per_process_memory_fraction().
 */
#include <ATen/core/Tensor.h>
#include <torch_npu/csrc/core/npu/NPUCachingAllocator.h>
#include <torch_npu/csrc/core/npu/NPUStream.h>

#include "pytorch.h"

namespace real = c10_npu::NPUCachingAllocator;

extern std::unordered_map<const void *, uint64_t> acl_streams; /* acl.cpp */

/* The stream of torch_npu that stands for @number; it has 8 or more. */
static c10_npu::NPUStream
stream_for (uint64_t number)
{
  static std::map<uint64_t, c10_npu::NPUStream> streams;
  auto found = streams.find (number);

  if (found == streams.end ())
    {
      found = streams
                  .emplace (number, number == 0 ? c10_npu::getDefaultNPUStream (0)
                                                : c10_npu::getNPUStreamFromPool (0))
                  .first;
      acl_streams[found->second.stream ()] = number;
    }
  return found->second;
}

/* The one exported function that takes from NPUWorkspaceAllocator; 2.1.0.post10 has none. */
namespace at_npu::native
{
__attribute__ ((weak)) at::Tensor allocate_workspace (uint64_t size, aclrtStream stream);
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

/* As `import torch_npu` and the first use of a device. */
static void
initialise ()
{
  for (const Method *method = THNPModule_get_methods (); method->name != nullptr; method++)
    if (std::string (method->name) == "_npu_init")
      method->function (nullptr, nullptr);
}

class TorchNpu final : public oracle::PyTorch
{
public:
  void
  start (const oracle::Settings &settings) override
  {
    const std::string conf = settings.has ("conf")
                                 ? settings.text ("conf")
                                 : configuration (settings, { "memory_limit", "workspace_pool" });

    workspace_pool = settings.number ("workspace_pool");
    reuses_host_memory = settings.yes ("bench");
    setenv ("TASK_QUEUE_ENABLE", "0", 1); /* calls of the device are made where they are written */
    if (settings.has ("conf") || !conf.empty ())
      setenv ("PYTORCH_NPU_ALLOC_CONF", conf.c_str (), 1);
    try
      {
#ifdef HAVE_markCaptureBegin
        real::setAllocatorSettings (
            ""); /* reads them, which older releases forget by that; it takes fewer itself */
#endif
        allocator = real::get ();
        allocator->init (1);
        initialise ();
        if (settings.has ("memory_limit"))
          allocator->setMemoryFraction (settings.real ("memory_limit")
                                            / static_cast<double> (oracle_device.reported_total ()),
                                        0);
        deleter = allocator->raw_deleter ();
        for (uint64_t stream = 0; stream < 9; stream++) /* older releases have 8 */
          stream_for (stream); /* so that their handles are in the order of their numbers */
      }
    catch (const std::exception &error)
      {
        throw refusal (error);
      }
  }
  /* A workspace is the device's whole block. */
  bool
  alloc (oracle::Block &block, bool logged) override
  {
    if (workspace_pool == 0 || block.pool != workspace_pool)
      return PyTorch::alloc (block, logged);
    if (at_npu::native::allocate_workspace == nullptr)
      throw std::runtime_error ("this release does not let others ask for workspaces");
    try
      {
        at::Tensor workspace = at_npu::native::allocate_workspace (
            block.size, stream_for (block.stream).stream ());
        block.address = reinterpret_cast<uint64_t> (workspace.storage ().data ());
        block.block = oracle_device.size_of (block.address);
        workspaces.emplace (block.id, workspace);
      }
    catch (const std::exception &)
      {
        return false;
      }
    return true;
  }
  void
  free (oracle::Block &block) override
  {
    if (workspaces.erase (block.id) == 0)
      PyTorch::free (block);
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
  stats (Stats &all) override
  {
    const auto s = allocator->getDeviceStats (0);
    add_all (all, s);
#ifdef HAVE_num_oom_rejections
    all["num_oom_rejections"] = static_cast<uint64_t> (s.num_oom_rejections);
#endif
  }

private:
  uint64_t workspace_pool = 0; /* whose requests are workspaces; 0: none */
  std::map<uint64_t, at::Tensor> workspaces;
  real::NPUAllocator *allocator = nullptr;
  c10::DeleterFnPtr deleter = nullptr;

  at::DataPtr
  of (const oracle::Block &block) const
  {
    void *memory = reinterpret_cast<void *> (block.address);
    return at::DataPtr (memory, memory, deleter, at::Device (at::kPrivateUse1, 0));
  }
  void *
  request (const oracle::Block &block) override
  {
    return allocator->raw_alloc_with_stream (block.size, stream_for (block.stream).stream ());
  }
  void
  give_back (void *memory) override
  {
    allocator->raw_delete (memory);
  }
  uint64_t
  allocated_bytes () override
  {
    return static_cast<uint64_t> (allocator->getDeviceStats (0).allocated_bytes[0].current);
  }
  void
  empty_cache () override
  {
    allocator->emptyCache (true);
  }
#ifdef HAVE_beginAllocateToPool
  void
  begin_pool (uint64_t pool) override
  {
    allocator->beginAllocateToPool (0, { 0, pool },
                                    [this, pool] (aclrtStream) { return requested_pool == pool; });
  }
  void
  end_pool (uint64_t pool) override
  {
    allocator->endAllocateToPool (0, { 0, pool });
  }
  void
  drop_pool (uint64_t pool) override
  {
    allocator->releasePool (0, { 0, pool });
  }
#else
  void
  begin_pool (uint64_t) override
  {
  }
  void
  end_pool (uint64_t) override
  {
  }
  void
  drop_pool (uint64_t) override
  {
  }
#endif
#ifdef HAVE_markCaptureBegin
  void
  capture_begins (bool begins) override
  {
    if (begins)
      allocator->markCaptureBegin (0);
    else
      allocator->markCaptureEnd (0);
  }
#endif
};

/* Called in a process of Python, for what torch_npu begins with. */
extern "C" int
oracle_main (int argc, char **argv)
{
  static TorchNpu torch;
  return oracle::drive (argc, argv, torch);
}
