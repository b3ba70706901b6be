/* pytorch.h - what the drivers of PyTorch's caching allocator (torch) and of torch_npu's (torch-npu) have in common, since one
 * descends from the other: pools, captures, sizes of blocks, settings, statistics.
 *
 * Pools: between pool-begin and pool-end the pool is active, as within torch.cuda.use_mem_pool() or a capture; an alloc with pool=N
 * outside of such a stretch is one of its own, one without pool inside goes to no pool.
 * The size of a block is the growth of allocated_bytes, which only allocations and frees change.
 */
#pragma once

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driver.h"

namespace oracle
{

class PyTorch : public System
{
public:
  bool
  alloc (Block &block, bool logged) override
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
        memory = request (block);
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
        const uint64_t now = allocated_bytes ();
        block.block = now - allocated;
        allocated = now;
      }
    return memory != nullptr;
  }
  void
  free (Block &block) override
  {
    give_back (reinterpret_cast<void *> (block.address));
    allocated -= block.block;
  }
  void
  trim () override
  {
    try
      {
        empty_cache ();
      }
    catch (const std::exception &)
      {
      }
  }
  void
  release_pool (uint64_t pool, bool) override
  {
    for (; begun[pool] > 0; begun[pool]--)
      drop_pool (pool);
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

protected:
  uint64_t requested_pool = 0; /* of the request that is served */

  /* The allocator's own calls. */
  virtual void *request (const Block &block) = 0;
  virtual void give_back (void *memory) = 0;
  virtual uint64_t allocated_bytes () = 0;
  virtual void empty_cache () = 0;
  virtual void begin_pool (uint64_t pool) = 0; /* for requests whose requested_pool is @pool */
  virtual void end_pool (uint64_t pool) = 0;
  virtual void drop_pool (uint64_t pool) = 0;
  virtual void
  capture_begins (bool)
  {
  }

  /* KEY:VALUE,... of the settings that are the allocator's, but @more. */
  static std::string
  configuration (const Settings &settings, const std::set<std::string> &more)
  {
    static const std::set<std::string> others = {
      "capacity",          "total",   "base",        "step",
      "va_base",           "va_step", "granularity", "event_latency",
      "free_synchronises", "events",  "calls",       "stats",
      "threads",           "bench",   "version",     "allocator"
    };
    std::string conf;
    for (auto &[key, value] : settings.values)
      if (others.count (key) == 0 && more.count (key) == 0)
        conf += (conf.empty () ? "" : ",") + key + ":"
                + (value == "yes"  ? "True"
                   : value == "no" ? "False"
                                   : value);
    return conf;
  }
  /* The first line of what the allocator says of its settings. */
  static Refused
  refusal (const std::exception &error)
  {
    const std::string text = error.what ();
    return Refused (text.substr (0, text.find ('\n')));
  }
  template <typename Stat>
  static void
  add (Stats &all, const std::string &name, const Stat &stat)
  {
    all[name + ".current"] = static_cast<uint64_t> (stat.current);
    all[name + ".peak"] = static_cast<uint64_t> (stat.peak);
    all[name + ".allocated"] = static_cast<uint64_t> (stat.allocated);
    all[name + ".freed"] = static_cast<uint64_t> (stat.freed);
  }
  template <typename DeviceStats>
  static void
  add_all (Stats &all, const DeviceStats &s)
  {
    static const char *const pools[] = { ".all", ".small_pool", ".large_pool" };
    const std::pair<const char *, decltype (&s.allocation)> arrays[] = {
      { "allocation", &s.allocation },
      { "segment", &s.segment },
      { "active", &s.active },
      { "inactive_split", &s.inactive_split },
      { "allocated_bytes", &s.allocated_bytes },
      { "reserved_bytes", &s.reserved_bytes },
      { "active_bytes", &s.active_bytes },
      { "inactive_split_bytes", &s.inactive_split_bytes },
      { "requested_bytes", &s.requested_bytes }
    };
    for (auto &[name, array] : arrays)
      for (size_t i = 0; i < 3; i++)
        add (all, std::string (name) + pools[i], (*array)[i]);
    add (all, "oversize_allocations", s.oversize_allocations);
    add (all, "oversize_segments", s.oversize_segments);
    all["num_alloc_retries"] = static_cast<uint64_t> (s.num_alloc_retries);
    all["num_ooms"] = static_cast<uint64_t> (s.num_ooms);
    if constexpr (requires { s.num_device_alloc; }) /* torch_npu has them since 2.14 */
      {
        all["num_device_alloc"] = static_cast<uint64_t> (s.num_device_alloc);
        all["num_device_free"] = static_cast<uint64_t> (s.num_device_free);
        all["num_sync_all_streams"] = static_cast<uint64_t> (s.num_sync_all_streams);
      }
  }

private:
  uint64_t allocated = 0;
  int captures = 0;    /* that are open */
  bool marked = false; /* there was a pool-begin: without, requests to pools count as captured */
  std::set<uint64_t> active;
  std::vector<std::pair<uint64_t, bool> >
      captured; /* open stretches: pool, whether a graph is captured */
  std::map<uint64_t, uint64_t> begun;

  void
  begin (uint64_t pool)
  {
    begin_pool (pool);
    active.insert (pool);
    begun[pool]++;
  }
  void
  end (uint64_t pool)
  {
    end_pool (pool);
    active.erase (pool);
  }
  void
  mark_capture (bool begins)
  {
    captures += begins ? 1 : -1;
    capture_begins (begins);
    oracle_device.capturing = captures > 0;
  }
};

}

/* What the allocator remembers by the addresses of its records, also when those are gone (a use inside a capture), must not depend on the
 * host's heap: memory is not used again, so that there is one answer. */
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
