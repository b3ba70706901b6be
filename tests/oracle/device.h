/* device.h - the device that is under the real allocators: memory that does not exist, a clock, events and a log of calls.
 *
 * It follows the same rules as gemem's simulated device with address=bump and no costs (devices/simulated.c), because decisions are
 * compared by address: allocations ascend from `base` in whole steps and never come back, so do reserved ranges from `va_base`;
 * n bytes are had iff held + n <= capacity; an event completes event_latency after it was recorded, in the order of its stream; free
 * waits for all streams unless free_synchronises=no.  No call takes time, only waiting moves the clock.
 *
 * Invariants: held is the sum of the allocations and of the pages that are neither destroyed nor still mapped; a call that a correct
 * allocator cannot make (free of nothing, map over a mapping) ends the program.
 * The rows of the log are those of `gemem-sim replay --calls`.  There is one device, oracle_device, defined in device.cpp.
 */
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

namespace oracle
{

[[noreturn]] inline void
die (const char *what)
{
  std::fflush (stdout);
  std::fprintf (stderr, "oracle: %s\n", what);
  std::abort ();
}

/* A CSV file, written quickly: numbers without the C library's formatting. */
class Rows
{
public:
  void
  open (const char *path, const char *head)
  {
    file = std::fopen (path, "w");
    if (file == nullptr)
      die (path);
    buffer = at = static_cast<char *> (std::malloc (SIZE));
    text (head);
  }
  bool
  is_open () const
  {
    return file != nullptr;
  }
  void
  text (const char *s)
  {
    const size_t length = std::strlen (s);
    std::memcpy (at, s, length);
    at += length;
  }
  void
  sign (char c)
  {
    *at++ = c;
  }
  void
  number (uint64_t value)
  {
    char digits[20];
    int n = 0;
    do
      digits[n++] = static_cast<char> ('0' + value % 10);
    while ((value /= 10) != 0);
    while (n > 0)
      *at++ = digits[--n];
  }
  void
  address (uint64_t value)
  {
    char digits[16];
    int n = 0;
    do
      digits[n++] = "0123456789abcdef"[value & 15];
    while ((value >>= 4) != 0);
    *at++ = '0';
    *at++ = 'x';
    while (n > 0)
      *at++ = digits[--n];
  }
  void
  end ()
  {
    *at++ = '\n';
    if (at - buffer > static_cast<long> (SIZE - MOST))
      flush ();
  }
  void
  close ()
  {
    if (file == nullptr)
      return;
    flush ();
    if (std::fclose (file) != 0)
      die ("a log could not be written");
    std::free (buffer);
    file = nullptr;
  }

private:
  void
  flush ()
  {
    if (std::fwrite (buffer, 1, static_cast<size_t> (at - buffer), file)
        != static_cast<size_t> (at - buffer))
      die ("a log could not be written");
    at = buffer;
  }
  static constexpr size_t SIZE = 1 << 20, MOST = 4096; /* the longest row */
  std::FILE *file = nullptr;
  char *buffer = nullptr, *at = nullptr;
};

class Device
{
public:
  uint64_t capacity = 80ull << 30, total = 0; /* total 0: the capacity */
  uint64_t base = 0x100000000000, step = 2 << 20, va_base = 0x200000000000, va_step = 1 << 30;
  uint64_t granularity = 2 << 20, event_latency = 0;
  bool free_synchronises = true;
  uint64_t held = 0, now = 0, seq = 0; /* seq: the number of the event that is served */
  Rows log;
  bool capturing = false; /* what the runtime says of every stream */
  uint64_t requester = 0; /* stream of the request that is served */

  uint64_t
  reported_total () const
  {
    return total != 0 ? total : capacity;
  }
  bool
  fits (uint64_t size) const
  {
    return size != 0 && held <= capacity && size <= capacity - held;
  }
  void
  advance (uint64_t time)
  {
    now = std::max (now, time);
  }

  /* Returns the address, or 0 if there is not so much. */
  uint64_t
  malloc (uint64_t size)
  {
    uint64_t address = 0;
    if (fits (size))
      {
        address = next_address;
        if (address == 0)
          address = base;
        next_address = address + up (size, step);
        blocks[address] = size;
        held += size;
      }
    note ("malloc", requester, size, address, address != 0);
    return address;
  }
  void
  free (uint64_t address)
  {
    auto block = blocks.find (address);
    if (block == blocks.end ())
      die ("free of what is not allocated");
    if (free_synchronises)
      advance (busy_until);
    note ("free", 0, block->second, address, true);
    held -= block->second;
    blocks.erase (block);
  }
  uint64_t
  size_of (uint64_t address) const
  {
    auto block = blocks.find (address);
    return block == blocks.end () ? 0 : block->second;
  }

  uint64_t
  reserve (uint64_t size)
  {
    const uint64_t address = next_range != 0 ? next_range : va_base;
    next_range = address + up (size, va_step);
    note ("reserve", 0, size, address, true);
    return address;
  }
  void
  release (uint64_t address, uint64_t size)
  {
    note ("release", 0, size, address, true);
  }
  /* Returns the number of the page, or 0. */
  uint64_t
  create (uint64_t size)
  {
    uint64_t page = 0;
    if (fits (size))
      {
        page = ++last_page;
        pages[page] = { size, 0, false };
        held += size;
      }
    note ("create", 0, size, page, page != 0);
    return page;
  }
  void
  destroy (uint64_t page)
  {
    Page &p = page_of (page);
    note ("destroy", 0, p.size, page, true);
    p.destroyed = true;
    drop (page);
  }
  void
  map (uint64_t address, uint64_t size, uint64_t page)
  {
    Page &p = page_of (page);
    if (p.size != size || !mappings.emplace (address, page).second)
      die ("map of another size, or over a mapping");
    p.mappings++;
    note ("map", 0, size, address, true);
  }
  void
  unmap (uint64_t address, uint64_t size)
  {
    note ("unmap", 0, size, address, true);
    for (const uint64_t end = address + size; address < end;)
      {
        auto mapping = mappings.find (address);
        if (mapping == mappings.end ())
          die ("unmap of what is not mapped");
        const uint64_t page = mapping->second;
        address += pages[page].size;
        mappings.erase (mapping);
        pages[page].mappings--;
        drop (page);
      }
  }

  /* Returns when the event will be complete. */
  uint64_t
  record (uint64_t stream)
  {
    uint64_t &busy = streams[stream];
    busy = std::max (std::max (busy, now), now + event_latency);
    busy_until = std::max (busy_until, busy);
    note ("event_record", stream, 0, 0, true);
    return busy;
  }
  bool
  query (uint64_t done)
  {
    note ("event_query", 0, 0, 0, now >= done);
    return now >= done;
  }
  void
  wait (uint64_t done)
  {
    advance (done);
    note ("event_sync", 0, 0, 0, true);
  }
  void
  stream_sync (uint64_t stream)
  {
    auto busy = streams.find (stream);
    if (busy != streams.end ())
      advance (busy->second);
    note ("stream_sync", stream, 0, 0, true);
  }
  void
  device_sync ()
  {
    advance (busy_until);
    note ("device_sync", 0, 0, 0, true);
  }

private:
  struct Page
  {
    uint64_t size;
    uint32_t mappings;
    bool destroyed;
  };
  static uint64_t
  up (uint64_t n, uint64_t unit)
  {
    return (n + unit - 1) / unit * unit;
  }
  Page &
  page_of (uint64_t page)
  {
    auto found = pages.find (page);
    if (found == pages.end () || found->second.destroyed)
      die ("a page that does not exist");
    return found->second;
  }
  void
  drop (uint64_t page)
  {
    auto found = pages.find (page);
    if (!found->second.destroyed || found->second.mappings > 0)
      return;
    held -= found->second.size;
    pages.erase (found);
  }
  void
  note (const char *call, uint64_t stream, uint64_t size, uint64_t address, bool ok)
  {
    if (!log.is_open ())
      return;
    log.number (seq);
    log.sign (',');
    log.text (call);
    log.sign (',');
    log.number (stream);
    log.sign (',');
    log.number (size);
    log.sign (',');
    log.address (address);
    log.text (ok ? ",1,0" : ",0,0");
    log.end ();
  }
  uint64_t next_address = 0, next_range = 0, last_page = 0, busy_until = 0;
  std::unordered_map<uint64_t, uint64_t> blocks, mappings, streams;
  std::unordered_map<uint64_t, Page> pages;
};

}

extern "C" oracle::Device oracle_device;
