/* driver.cpp - drives the real memory resources of RMM on the stub device (../README.md: the protocol).
 *
 * `allocator` of the trace's head is the outermost resource, `upstream` the one beneath it, "rmm-pool" or "[rmm-pool:KEY=VALUE,...]", as
 * gemem has them; sizes are numbers of bytes.  A block is freed on the stream of the last stream-free, else on that of its request.
 * RMM does not say how large its blocks are: that is gemem's, by the rules of peers.md 1c, for the decisions to be comparable.
 */
#ifdef HEADERS_ALONE
#include <rmm/mr/device/arena_memory_resource.hpp>
#include <rmm/mr/device/binning_memory_resource.hpp>
#include <rmm/mr/device/fixed_size_memory_resource.hpp>
#include <rmm/mr/device/limiting_resource_adaptor.hpp>
#include <rmm/mr/device/pool_memory_resource.hpp>
#else
#include <rmm/mr/arena_memory_resource.hpp>
#include <rmm/mr/binning_memory_resource.hpp>
#include <rmm/mr/fixed_size_memory_resource.hpp>
#include <rmm/mr/limiting_resource_adaptor.hpp>
#include <rmm/mr/pool_memory_resource.hpp>
#endif
#include <cstdlib>
#include <functional>
#include <optional>

#include "driver.h"

static void *
take (size_t size)
{
  const uint64_t address = oracle_device.malloc (size);
  if (address == 0)
    throw rmm::out_of_memory ("the device");
  return reinterpret_cast<void *> (address);
}

static void
give (void *memory) noexcept
{
  oracle_device.free (reinterpret_cast<uint64_t> (memory));
}

#ifdef HEADERS_ALONE
using Base = rmm::mr::device_memory_resource;
using Stream = rmm::cuda_stream_view;
using Any = std::shared_ptr<Base>;
struct Device final : Base
{
  void *
  do_allocate (size_t size, Stream) override
  {
    return take (size);
  }
  void
  do_deallocate (void *memory, size_t, Stream) override
  {
    give (memory);
  }
};
using Pool = rmm::mr::pool_memory_resource<Base>;
using Arena = rmm::mr::arena_memory_resource<Base>;
using FixedSize = rmm::mr::fixed_size_memory_resource<Base>;
using Binning = rmm::mr::binning_memory_resource<Base>;
using Limiting = rmm::mr::limiting_resource_adaptor<Base>;
static std::vector<Any> all; /* nothing is ever destroyed */
template <class T, class... Args>
static std::shared_ptr<T>
make (Any upstream, Args... args)
{
  auto made = std::make_shared<T> (upstream.get (), args...);
  all.push_back (made);
  return made;
}
static Any
device ()
{
  all.push_back (std::make_shared<Device> ());
  return all.back ();
}
static void *
allocate (Any &resource, size_t size, cudaStream_t stream)
{
  return resource->allocate (size, Stream{ stream });
}
static void
deallocate (Any &resource, void *memory, size_t size, cudaStream_t stream)
{
  resource->deallocate (memory, size, Stream{ stream });
}
static std::optional<Any> whole;
static constexpr uint64_t unit = 16;
#define CALL(resource, method) (resource)->method
#else
struct Device
{
  void *
  allocate (cuda::stream_ref, size_t size, size_t)
  {
    return take (size);
  }
  void
  deallocate (cuda::stream_ref, void *memory, size_t, size_t) noexcept
  {
    give (memory);
  }
  void *
  allocate_sync (size_t size, size_t)
  {
    return take (size);
  }
  void
  deallocate_sync (void *memory, size_t, size_t) noexcept
  {
    give (memory);
  }
  bool
  operator== (const Device &) const noexcept
  {
    return true;
  }
  bool
  operator!= (const Device &) const noexcept
  {
    return false;
  }
  friend void
  get_property (const Device &, cuda::mr::device_accessible) noexcept
  {
  }
};
using Any = cuda::mr::any_resource<cuda::mr::device_accessible>;
using Pool = rmm::mr::pool_memory_resource;
using Arena = rmm::mr::arena_memory_resource;
using FixedSize = rmm::mr::fixed_size_memory_resource;
using Binning = rmm::mr::binning_memory_resource;
using Limiting = rmm::mr::limiting_resource_adaptor;
template <class T, class... Args>
static T
make (Any upstream, Args... args)
{
  return T (upstream, args...);
}
static Any
device ()
{
  return Any (Device ());
}
static void *
allocate (Any &resource, size_t size, cudaStream_t stream)
{
  return resource.allocate (cuda::stream_ref{ stream }, size, 256);
}
static void
deallocate (Any &resource, void *memory, size_t size, cudaStream_t stream)
{
  resource.deallocate (cuda::stream_ref{ stream }, memory, size, 256);
}
static std::optional<Any> whole;
static constexpr uint64_t unit = 1;
#define CALL(resource, method) (resource).method
#endif

/* ---- from gemem's settings to a resource */

static constexpr uint64_t NONE = 255; /* no exponent */

static std::string
without_brackets (const std::string &text)
{
  return !text.empty () && text[0] == '[' ? text.substr (1, text.size () - 2) : text;
}

static std::optional<size_t>
optional (const oracle::Settings &settings, const char *key)
{
  if (!settings.has (key) || settings.text (key) == "none" || settings.text (key) == "half")
    return {};
  return settings.number (key);
}

static std::vector<uint64_t>
further_bins (const oracle::Settings &settings)
{
  std::vector<uint64_t> bins;
  const std::string text = without_brackets (settings.text ("bins"));
  for (size_t at = 0; at < text.size ();
       at = text.find (',', at) == std::string::npos ? text.size () : text.find (',', at) + 1)
    bins.push_back (std::strtoull (text.c_str () + at, nullptr, 0));
  return bins;
}

/* What gemem says of the outermost resource: the size of a block, and statistics. */
struct Outermost
{
  std::function<uint64_t (uint64_t)> block;
  std::function<void (oracle::System::Stats &)> stats = [] (oracle::System::Stats &) {};
};

static uint64_t
up (uint64_t size, uint64_t to)
{
  return (size + to - 1) / to * to;
}

/* The size classes of peers.md 1c.2, one by one. */
[[maybe_unused]] static uint64_t
size_class (uint64_t size)
{
  uint64_t end = 256;
  for (uint64_t step = 256; end < size; end += step)
    if (end >= 2048 && (end & (end - 1)) == 0)
      step = end / 4;
    else if (end == 48 << 10)
      step = 6 << 10;
    else if (end == 54 << 10)
      step = 10 << 10;
  return end;
}

static Any build (const std::string &text, Outermost &top);

static Any
build_binning (const oracle::Settings &settings, Any upstream, Outermost &top)
{
  const bool none = settings.text ("min_size_exponent") == "none";
  const uint64_t least = none ? NONE : settings.number ("min_size_exponent", 18),
                 most = settings.number ("max_size_exponent", 22);
  auto made = none ? make<Binning> (upstream)
                   : make<Binning> (upstream, static_cast<int8_t> (least),
                                    static_cast<int8_t> (most));
  std::vector<uint64_t> sizes;
  for (uint64_t e = least; !none && e <= most; e++)
    sizes.push_back (up (uint64_t (1) << e, 256));
  for (const uint64_t size : further_bins (settings))
    {
      CALL (made, add_bin) (size);
      sizes.push_back (up (size, 256));
    }
  std::sort (sizes.begin (), sizes.end ());
  top.block = [sizes] (uint64_t size) {
    auto bin = std::lower_bound (sizes.begin (), sizes.end (), size);
    return bin != sizes.end () ? *bin : up (size, unit);
  };
  return made;
}

static Any
build_with (const std::string &name, const oracle::Settings &settings, Outermost &top)
{
  Outermost beneath;
  Any upstream = build (settings.text ("upstream", "direct"), beneath);
  if (name == "rmm-pool")
    {
      auto made = make<Pool> (upstream, settings.number ("initial_pool_size"),
                              optional (settings, "maximum_pool_size"));
      top = { [] (uint64_t size) { return up (size, 256); },
              [made] (oracle::System::Stats &all) {
                all["pool_size"] = CALL (made, pool_size) ();
              } };
      return made;
    }
  if (name == "rmm-arena")
    {
      top.block = [] (uint64_t size) {
#ifdef RMM_ARENA_USE_SIZE_CLASSES
        return size_class (size);
#else
        return up (size, 256);
#endif
      };
      return make<Arena> (upstream, optional (settings, "arena_size"), false);
    }
  if (name == "rmm-fixed-size")
    {
      const uint64_t size = settings.number ("block_size", 1 << 20);
      top.block = [size] (uint64_t) { return up (size, 256); };
      return make<FixedSize> (upstream, size, settings.number ("blocks_to_preallocate", 128));
    }
  if (name == "rmm-limiting")
    {
      auto made = make<Limiting> (upstream, settings.number ("allocation_limit"),
                                  settings.number ("alignment", 256));
      top = { [] (uint64_t size) { return up (size, unit); },
              [made] (oracle::System::Stats &all) {
                all["allocated_bytes"] = CALL (made, get_allocated_bytes) ();
              } };
      return made;
    }
  if (name == "rmm-binning")
    return build_binning (settings, upstream, top);
  throw oracle::Refused ("no resource " + name);
}

static Any
build (const std::string &text, Outermost &top)
{
  const std::string spec = without_brackets (text);
  const size_t colon = spec.find (':');
  oracle::Settings settings;
  if (spec == "direct")
    return device ();
  if (colon != std::string::npos)
    settings.add (spec.substr (colon + 1));
  return build_with (spec.substr (0, colon), settings, top);
}

/* ---- the system */

class Rmm final : public oracle::System
{
public:
  void
  start (const oracle::Settings &settings) override
  {
    try
      {
        whole = build_with (settings.text ("allocator", "rmm-pool"), settings, top);
      }
    catch (const std::exception &error)
      {
        throw oracle::Refused (error.what ());
      }
  }
  bool
  alloc (oracle::Block &block, bool logged) override
  {
    void *memory = nullptr;
    try
      {
        memory = allocate (*whole, block.size, handle (block.stream));
      }
    catch (const std::bad_alloc &)
      {
        return false;
      }
    block.own = block.stream;
    block.address = reinterpret_cast<uint64_t> (memory);
    if (logged)
      block.block = top.block (block.size);
    return true;
  }
  void
  free (oracle::Block &block) override
  {
    deallocate (*whole, reinterpret_cast<void *> (block.address), block.size, handle (block.own));
  }
  void
  stream_free (oracle::Block &block, uint64_t stream) override
  {
    block.own = stream;
  }
  bool
  has_stream_free () const override
  {
    return true;
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
  void
  stats (Stats &all) override
  {
    top.stats (all);
  }

private:
  Outermost top;

  static cudaStream_t
  handle (uint64_t stream)
  {
    return reinterpret_cast<cudaStream_t> (stream << 12);
  }
};

int
main (int argc, char **argv)
{
  static Rmm rmm;
  setenv ("RMM_DEBUG_LOG_FILE", "/dev/null", 1); // else rmm_log.txt in the working directory
  return oracle::drive (argc, argv, rmm);
}
