/* driver.cpp - drives the real tsl::BFCAllocator of a TensorFlow wheel on the stub device (../README.md: the protocol).
 *
 * The sub-allocator is the device; with coalesce_regions it says that its memory may be joined, as TensorFlow's over virtual memory.
 * With timestamped_allocator frees are stamped: a wait of the host for stream 0, the compute stream, moves the safe frontier to the
 * last stamp, and requests on other streams ask for what was freed before it, as TensorFlow's collectives do.
 * With gpu it is what TensorFlow makes of it for a GPU, which reads its variables (TF_FORCE_GPU_ALLOW_GROWTH, ...).
 * With enable_spatial_partitioning (from 2.22) what is asked for in a pool of the trace takes the upper end of the memory.
 */
#include "tensorflow/core/common_runtime/gpu/gpu_bfc_allocator.h"
#include "xla/tsl/framework/bfc_allocator.h"
#include "xla/tsl/framework/shared_counter.h"

#include "driver.h"

namespace
{

class Memory final : public tsl::SubAllocator
{
public:
  explicit Memory (bool joins) : SubAllocator ({}, {}), joins (joins)
  {
  }
  void *
  Alloc (size_t, size_t size, size_t *received) override
  {
    *received = size;
    oracle_device.requester = 0; /* it knows no streams */
    return reinterpret_cast<void *> (oracle_device.malloc (size));
  }
  /* A joined region comes back in one piece, and goes to the device as gemem returns it, the last
   * allocation first. */
  void
  Free (void *memory, size_t size) override
  {
    const uint64_t begin = reinterpret_cast<uint64_t> (memory);
    std::vector<uint64_t> parts;

    for (uint64_t at = begin; at < begin + size; at += oracle_device.size_of (at))
      {
        if (oracle_device.size_of (at) == 0)
          oracle::die ("a region that was not allocated");
        parts.push_back (at);
      }
    for (; !parts.empty (); parts.pop_back ())
      oracle_device.free (parts.back ());
  }
  bool
  SupportsCoalescing () const override
  {
    return joins;
  }

private:
  bool joins;
};

class TensorFlow final : public oracle::System
{
public:
  void
  start (const oracle::Settings &settings) override
  {
    const size_t limit = settings.number ("limit", oracle_device.reported_total ());
    auto memory = std::make_unique<Memory> (settings.yes ("coalesce_regions"));
    tsl::BFCAllocator::Options options;
    options.allow_growth = settings.yes ("allow_growth", true);
    options.garbage_collection = settings.yes ("garbage_collection", true);
    options.fragmentation_fraction = settings.real ("fragmentation_fraction");
    options.allow_retry_on_failure = false;
#ifdef HAS_ENDS
    options.enable_spatial_partitioning = settings.yes ("enable_spatial_partitioning");
    upper.allocation_end = tsl::AllocationEnd::kUpper;
#endif
    if (settings.yes ("gpu"))
      allocator = for_gpu (std::move (memory), limit, options);
    else
      allocator = new tsl::BFCAllocator (std::move (memory), limit, "oracle", options);
    stamped = settings.yes ("timestamped_allocator");
    if (stamped)
      {
        counter.next ();
        allocator->SetTimingCounter (&counter);
      }
    attributes.retry_on_failure = false; /* so that it does not write its state into the log */
    others.retry_on_failure = false;
    upper.retry_on_failure = false;
    others.freed_by_func = &before;
  }
  bool
  alloc (oracle::Block &block, bool logged) override
  {
    const bool other = stamped && block.stream != 0;
    void *memory = allocator->AllocateRaw (64, block.size,
                                           other             ? others
                                           : block.pool != 0 ? upper
                                                             : attributes);

    block.address = reinterpret_cast<uint64_t> (memory);
    if (logged && memory != nullptr)
      block.block = allocator->AllocatedSize (memory);
    return memory != nullptr;
  }
  void
  free (oracle::Block &block) override
  {
    allocator->DeallocateRaw (reinterpret_cast<void *> (block.address));
  }
  void
  sync (uint64_t stream) override
  {
    System::sync (stream);
    if (!stamped || stream != 0)
      return;
    frontier = static_cast<uint64_t> (counter.next ());
    allocator->SetSafeFrontier (frontier);
  }
  bool
  has_use () const override
  {
    return false;
  }
  bool
  has_trim () const override
  {
    return false;
  }
  bool
  has_pools () const override
  {
    return false;
  }
  bool
  decides_sync () const override
  {
    return true;
  }
  void
  stats (Stats &all) override
  {
    const auto own = allocator->GetStats ();

    all["num_allocs"] = static_cast<uint64_t> (own->num_allocs);
    all["bytes_in_use"] = static_cast<uint64_t> (own->bytes_in_use);
    all["peak_bytes_in_use"] = static_cast<uint64_t> (own->peak_bytes_in_use);
    all["largest_alloc_size"] = static_cast<uint64_t> (own->largest_alloc_size);
    all["bytes_limit"] = static_cast<uint64_t> (*own->bytes_limit);
    all["pool_bytes"] = static_cast<uint64_t> (*own->pool_bytes);
    all["peak_pool_bytes"] = static_cast<uint64_t> (*own->peak_pool_bytes);
  }

private:
  static tsl::BFCAllocator *
  for_gpu (std::unique_ptr<Memory> memory, size_t limit, const tsl::BFCAllocator::Options &like)
  {
    tensorflow::GPUBFCAllocator::Options options;

    options.allow_growth = like.allow_growth;
    if (getenv ("TF_ENABLE_GPU_GARBAGE_COLLECTION")
        == nullptr) /* which counts only where the program says nothing */
      options.garbage_collection = like.garbage_collection;
    options.fragmentation_fraction = like.fragmentation_fraction;
    options.allow_retry_on_failure = like.allow_retry_on_failure;
    return new tensorflow::GPUBFCAllocator (std::move (memory), limit, "oracle", options);
  }
  tsl::BFCAllocator *allocator = nullptr;
  tsl::SharedCounter counter;
  tsl::AllocationAttributes attributes, others, upper;
  bool stamped = false;
  uint64_t frontier = 1; /* 0 would mean that any memory serves */
  std::function<uint64_t ()> before = [this] { return frontier; };
};

}

int
main (int argc, char **argv)
{
  static TensorFlow tensorflow;
  return oracle::drive (argc, argv, tensorflow);
}
