// dump.cpp - lets the real tsl::BFCAllocator run out of memory over a stub device, so that it writes its
// dump into a log: `whole` (no growth, three times), `timestamps` (with a timing counter), `two` (two
// allocators by two threads at once, then one of host memory).  Used by make-samples.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <unistd.h>
#include <vector>

#include "xla/tsl/framework/bfc_allocator.h"
#include "xla/tsl/framework/shared_counter.h"

class Stub : public tsl::SubAllocator
{
public:
  Stub (uint64_t capacity, uint64_t base) : SubAllocator ({}, {}), left (capacity), next (base) {}
  void *
  Alloc (size_t, size_t size, size_t *received) override
  {
    const uint64_t address = next;

    if (size > left)
      return nullptr;
    left -= size;
    next = (address + size + 0x1fffff) / 0x200000 * 0x200000;
    *received = size;
    return (void *) address;
  }
  void
  Free (void *, size_t size) override
  {
    left += size;
  }
  bool
  SupportsCoalescing () const override
  {
    return false;
  }

private:
  uint64_t left, next;
};

static std::atomic<int> steps; /* of both threads, which go in step and so fail at the same time */

static void
keep_step (int step)
{
  for (steps++; steps < 2 * step;)
    std::this_thread::yield ();
}

/* Random requests and frees until memory has run out @dumps times. */
static void
run (const char *name, uint64_t base, uint64_t limit, bool growth, bool timing, int dumps, int step)
{
  tsl::BFCAllocator::Options options;
  options.allow_growth = growth;
  options.garbage_collection = true;
  options.allow_retry_on_failure = false;
  auto *allocator = new tsl::BFCAllocator (std::make_unique<Stub> (limit, base), limit, name, options);
  auto *counter = new tsl::SharedCounter;
  if (timing)
    allocator->SetTimingCounter (counter);
  std::mt19937 random (7);
  std::vector<void *> live;
  tsl::AllocationAttributes attributes;

  for (int n = 0; n < dumps;)
    {
      if (step >= 0)
        keep_step (++step);
      if (live.size () > 3 && random () % 5 < 2)
        {
          size_t i = random () % live.size ();
          allocator->DeallocateRaw (live[i]);
          live[i] = live.back ();
          live.pop_back ();
          counter->next ();
          continue;
        }
      size_t size = limit / 50000 * (random () % (random () % 4 == 0 ? 8000 : 1000) + 1);
      void *block = allocator->AllocateRaw (64, size, attributes);
      if (block != nullptr)
        live.push_back (block);
      else
        for (n++; live.size () > 20; live.pop_back ())
          allocator->DeallocateRaw (live.back ());
    }
}

int
main (int, char **arguments)
{
  if (strcmp (arguments[1], "whole") == 0)
    run ("GPU_0_bfc", 0x7f0000000000, (256 << 20) + 12345, false, false, 3, -1);
  if (strcmp (arguments[1], "timestamps") == 0)
    run ("GPU_0_bfc", 0x7f0000000000, 64 << 20, true, true, 1, -1);
  if (strcmp (arguments[1], "two") == 0)
    {
      std::thread first ([] { run ("GPU_0_bfc", 0x7f0000000000, 64 << 20, true, false, 2, 0); });
      std::thread second ([] { run ("GPU_1_bfc", 0x7e0000000000, 128 << 20, true, false, 2, 0); });
      first.join ();
      second.join ();
      run ("gpu_host_bfc", 0x7d0000000000, 32 << 20, true, false, 1, -1);
    }
  fflush (stdout);
  _exit (0);
}
