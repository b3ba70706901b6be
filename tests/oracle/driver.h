/* driver.h - what the drivers of all real allocators share: the command line, the trace, the order of events, the files they write.
 *
 *   class Torch final : public oracle::System { ... };
 *   int main (int argc, char **argv) { static Torch torch; return oracle::drive (argc, argv, torch); }
 *
 * The protocol (arguments, files, exit statuses) is in README.md.  The whole trace is read before the first event is served, and ids
 * become indices of a table that is as long as the most blocks live at once, so that `bench=1` measures the allocator and little else.
 * Invariants: events are served in order, one at a time, whatever the number of threads; a System is used by one thread at a time.
 */
#pragma once

#include <condition_variable>
#include <ctime>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "device.h"

namespace oracle
{

/* Settings that the real allocator refuses: exit status 2. */
struct Refused : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

/* Settings by gemem's names: those of the trace's head (allocator and device), with its name as `allocator`, and of the command line. */
class Settings
{
public:
  std::map<std::string, std::string> values;
  bool
  has (const std::string &key) const
  {
    return values.count (key) != 0;
  }
  std::string
  text (const std::string &key, const std::string &otherwise = "") const
  {
    auto value = values.find (key);
    return value == values.end () ? otherwise : value->second;
  }
  uint64_t
  number (const std::string &key, uint64_t otherwise = 0) const
  {
    auto value = values.find (key);
    return value == values.end () ? otherwise : std::strtoull (value->second.c_str (), nullptr, 0);
  }
  double
  real (const std::string &key, double otherwise = 0) const
  {
    auto value = values.find (key);
    return value == values.end () ? otherwise : std::strtod (value->second.c_str (), nullptr);
  }
  bool
  yes (const std::string &key, bool otherwise = false) const
  {
    const std::string value = text (key, otherwise ? "yes" : "no");
    return value == "yes" || value == "1" || value == "true";
  }
  /* KEY=VALUE,...; commas in brackets and in quotes belong to the value, quotes around it do not. */
  void
  add (const std::string &list)
  {
    std::string word;
    int depth = 0;
    bool quoted = false;
    for (const char c : list + ",")
      {
        depth += quoted ? 0 : (c == '[') - (c == ']');
        if (c == '"')
          quoted = !quoted;
        else if (c != ',' || depth > 0 || quoted)
          word += c;
        else
          add_one (word), word.clear ();
      }
  }
  void
  add_one (const std::string &word)
  {
    const size_t equals = word.find ('=');
    if (equals != std::string::npos)
      values[word.substr (0, equals)] = word.substr (equals + 1);
  }
};

/* A block of the trace.  alloc() gets id, size, stream and pool, and sets address and block; `own` is the system's. */
struct Block
{
  uint64_t id, size, stream, address, block, own;
  uint32_t pool;
  bool live;
};

class System
{
public:
  virtual ~System () = default;
  /* Makes the allocator; throws Refused.  The device is set up already. */
  virtual void start (const Settings &settings) = 0;
  /* FALSE: out of memory.  `logged` is false while time is measured: block need not be set then. */
  virtual bool alloc (Block &block, bool logged) = 0;
  virtual void free (Block &block) = 0;
  virtual void
  use (Block &, uint64_t /* stream */)
  {
  }
  /* The block will be freed on @stream. */
  virtual void
  stream_free (Block &, uint64_t /* stream */)
  {
  }
  virtual void
  trim ()
  {
  }
  virtual void
  sync (uint64_t stream)
  {
    oracle_device.stream_sync (stream);
  }
  /* The program begins, or ends, to allocate in @pool; @capture: as it captures a graph. */
  virtual void
  redirect (uint64_t /* pool */, bool /* begins */, bool /* capture */)
  {
  }
  virtual void
  release_pool (uint64_t /* pool */, bool /* now */)
  {
  }
  /* "## oracle WORD NUMBER" */
  virtual void
  remark (const std::string &word, uint64_t)
  {
    throw std::runtime_error ("unknown remark " + word);
  }
  /* Whether a wait for a stream is a decision of gemem's allocator, which then has a row. */
  virtual bool
  decides_sync () const
  {
    return false;
  }
  /* Whether gemem's allocator has these: without, it passes over the events, which leave no row. */
  virtual bool
  has_use () const
  {
    return true;
  }
  virtual bool
  has_stream_free () const
  {
    return false;
  }
  virtual bool
  has_trim () const
  {
    return true;
  }
  virtual bool
  has_pools () const
  {
    return false;
  }
  /* Whether the allocator has blocks of 0 bytes. */
  virtual bool
  serves_zero () const
  {
    return false;
  }
  /* Bytes held from the device after the event. */
  virtual uint64_t
  reserved () const
  {
    return oracle_device.held;
  }
  using Stats = std::map<std::string, uint64_t>;
  virtual void
  stats (Stats &)
  {
  }
};

enum Kind : uint8_t
{
  ALLOC,
  FREE,
  USE,
  STREAM_FREE,
  SYNC,
  TRIM,
  POOL_BEGIN,
  POOL_END,
  POOL_RELEASE,
  REMARK,
  NOTHING
};

struct Event
{
  Kind kind;
  bool zero_time;
  uint32_t slot, pool;
  uint64_t size, stream, time, seq;
};

/* The text trace: head and events. */
class Trace
{
public:
  Settings settings;
  std::vector<Event> events;
  std::vector<std::string>
      remarks;               /* of REMARK: Event.size is the index, Event.stream the number */
  std::vector<uint64_t> ids; /* of ALLOC, by its place among them */
  size_t slots = 0;

  void
  read (const std::string &path)
  {
    std::ifstream file (path == "-" ? "/dev/stdin" : path);
    if (!file)
      throw std::runtime_error (path + ": cannot be read");
    const std::string text ((std::istreambuf_iterator<char> (file)),
                            std::istreambuf_iterator<char> ());
    for (size_t begin = 0, end; begin < text.size (); begin = end + 1)
      {
        end = std::min (text.find ('\n', begin), text.size ());
        at = text.data () + begin;
        stop = text.data () + end;
        if (begin < end)
          line ();
      }
  }

private:
  const char *at = nullptr, *stop = nullptr;
  std::unordered_map<uint64_t, uint32_t> live;
  std::vector<uint32_t> unused;
  uint64_t seq = 0;

  std::string
  word ()
  {
    while (at < stop && *at == ' ')
      at++;
    const char *begin = at;
    while (at < stop && *at != ' ' && *at != '=')
      at++;
    return std::string (begin, at);
  }
  uint64_t
  number ()
  {
    while (at < stop && (*at == ' ' || *at == '='))
      at++;
    char *end;
    const uint64_t value = std::strtoull (at, &end, 0);
    at = end;
    return value;
  }
  /* What stands in the quotes of `# KEY: "..."`. */
  std::string
  string ()
  {
    std::string value;
    while (at < stop && *at++ != '"')
      ;
    for (; at < stop && *at != '"'; at++)
      {
        if (*at == '\\' && at + 1 < stop)
          at++;
        value += *at;
      }
    return value;
  }
  void
  line ()
  {
    if (*at != '#')
      return event ();
    const std::string mark = word (), key = word ();
    if (mark == "#" && (key == "settings:" || key == "device:"))
      settings.add (string ());
    else if (mark == "#" && key == "allocator:")
      settings.values["allocator"] = string ();
    else if (mark == "##" && key == "oracle")
      {
        remarks.push_back (word ());
        events.push_back ({ REMARK, false, 0, 0, remarks.size () - 1, number (), 0, seq });
      }
  }
  void
  event ()
  {
    static const std::map<std::string, Kind> kinds = {
      { "alloc", ALLOC },           { "free", FREE },         { "use-on-stream", USE },
      { "stream-sync", SYNC },      { "trim", TRIM },         { "step", NOTHING },
      { "phase", NOTHING },         { "phase-end", NOTHING }, { "pool-release", POOL_RELEASE },
      { "pool-begin", POOL_BEGIN }, { "pool-end", POOL_END }, { "stream-free", STREAM_FREE }
    };
    const std::string name = word ();
    auto kind = kinds.find (name);
    if (kind == kinds.end ())
      throw std::runtime_error ("event " + name + ": drivers do not have it");
    Event event = { kind->second, false, 0, 0, 0, 0, 0, seq++ };
    uint64_t id = 0, aux = 0;
    while (at < stop && *at == ' ')
      at++;
    if (at < stop && *at >= '0' && *at <= '9')
      id = number ();
    for (std::string key = word (); !key.empty (); key = word ())
      {
        const uint64_t value = number ();
        if (key == "size")
          event.size = value;
        else if (key == "stream")
          event.stream = value;
        else if (key == "pool")
          event.pool = static_cast<uint32_t> (value);
        else if (key == "t")
          event.time = value;
        else if (key == "aux")
          aux = value;
        else
          throw std::runtime_error ("field " + key + ": drivers do not have it");
      }
    if (event.kind >= POOL_BEGIN && event.kind <= POOL_RELEASE)
      event.size = aux;
    if (event.kind <= STREAM_FREE)
      find_slot (event, id);
    events.push_back (event);
  }
  void
  find_slot (Event &event, uint64_t id)
  {
    auto known = live.find (id);
    if ((known != live.end ()) == (event.kind == ALLOC))
      throw std::runtime_error ("event " + std::to_string (event.seq) + ": id "
                                + std::to_string (id) + " is live already, or not");
    if (event.kind != ALLOC)
      {
        event.slot = known->second;
        if (event.kind == FREE)
          unused.push_back (event.slot), live.erase (known);
        return;
      }
    if (unused.empty ())
      unused.push_back (static_cast<uint32_t> (slots++));
    event.slot = unused.back ();
    unused.pop_back ();
    live.emplace (id, event.slot);
    ids.push_back (id);
  }
};

class Driver
{
public:
  Driver (System &system, const Trace &trace, const Settings &settings)
      : system (system), trace (trace), blocks (trace.slots)
  {
    if (settings.has ("events"))
      rows.open (settings.text ("events").c_str (),
                 "seq,kind,id,size,address,block,reserved,device\n");
  }
  void
  run (unsigned threads)
  {
    if (threads > 1)
      return run_in_turn (threads);
    for (const Event &event : trace.events)
      if (rows.is_open ())
        serve<true> (event);
      else
        serve<false> (event);
  }
  void
  close ()
  {
    rows.close ();
  }
  uint64_t failed = 0;

private:
  System &system;
  const Trace &trace;
  std::vector<Block> blocks;
  Rows rows;
  size_t allocs = 0;

  template <bool logged>
  void
  serve (const Event &event)
  {
    oracle_device.seq = event.seq;
    if (event.time != 0)
      oracle_device.advance (event.time);
    switch (event.kind)
      {
      case ALLOC:
        {
          Block &block = blocks[event.slot];
          block = { trace.ids[allocs++], event.size, event.stream, 0, 0, 0, event.pool, false };
          if (event.size == 0 && !system.serves_zero ())
            return;
          oracle_device.requester = event.stream;
          block.live = system.alloc (block, logged);
          failed += !block.live;
          if (logged)
            row (event, "alloc", block);
          return;
        }
      case FREE:
        {
          Block &block = blocks[event.slot];
          if (!block.live)
            return;
          system.free (block);
          if (logged)
            row (event, "free", block);
          block.live = false;
          return;
        }
      case USE:
        if (!blocks[event.slot].live || !system.has_use ())
          return;
        system.use (blocks[event.slot], event.stream);
        if (logged)
          row (event, "use-on-stream", blocks[event.slot]);
        return;
      case STREAM_FREE:
        if (!blocks[event.slot].live || !system.has_stream_free ())
          return;
        system.stream_free (blocks[event.slot], event.stream);
        if (logged)
          row (event, "stream-free", blocks[event.slot]);
        return;
      case SYNC:
        system.sync (event.stream);
        if (logged && system.decides_sync ())
          plain_row (event, "stream-sync");
        return;
      case TRIM:
        if (!system.has_trim ())
          return;
        system.trim ();
        if (logged)
          plain_row (event, "trim");
        return;
      case POOL_BEGIN:
      case POOL_END:
        return system.redirect (event.pool, event.kind == POOL_BEGIN, event.size != 0);
      case POOL_RELEASE:
        if (!system.has_pools ())
          return;
        system.release_pool (event.pool, event.size != 0);
        if (logged)
          plain_row (event, "pool-release");
        return;
      case REMARK:
        return system.remark (trace.remarks[event.size], event.stream);
      case NOTHING:
        return;
      }
  }
  void
  row (const Event &event, const char *kind, const Block &block)
  {
    rows.number (event.seq);
    rows.sign (',');
    rows.text (kind);
    rows.sign (',');
    rows.number (block.id);
    rows.sign (',');
    rows.number (block.size);
    rows.sign (',');
    if (block.live)
      rows.address (block.address);
    rows.sign (',');
    if (block.live)
      rows.number (block.block);
    rows.sign (',');
    rows.number (system.reserved ());
    rows.text (",0");
    rows.end ();
  }
  void
  plain_row (const Event &event, const char *kind)
  {
    rows.number (event.seq);
    rows.sign (',');
    rows.text (kind);
    rows.text (",,,,,");
    rows.number (system.reserved ());
    rows.text (",0");
    rows.end ();
  }
  /* Event k on thread k mod @threads, one after the other. */
  void
  run_in_turn (unsigned threads)
  {
    std::mutex mutex;
    std::condition_variable turned;
    size_t next = 0;
    std::exception_ptr failure;
    std::vector<std::thread> all;
    for (unsigned own = 0; own < threads; own++)
      all.emplace_back ([&, own] {
        std::unique_lock<std::mutex> lock (mutex);
        for (;;)
          {
            turned.wait (lock,
                         [&] { return next >= trace.events.size () || next % threads == own; });
            if (next >= trace.events.size ())
              return;
            try
              {
                if (rows.is_open ())
                  serve<true> (trace.events[next]);
                else
                  serve<false> (trace.events[next]);
                next++;
              }
            catch (...)
              {
                failure = std::current_exception ();
                next = trace.events.size ();
              }
            turned.notify_all ();
          }
      });
    for (std::thread &thread : all)
      thread.join ();
    if (failure)
      std::rethrow_exception (failure);
  }
};

inline uint64_t
cpu_ns ()
{
  timespec time;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<uint64_t> (time.tv_sec) * 1000000000 + static_cast<uint64_t> (time.tv_nsec);
}

inline void
set_up_device (const Settings &settings)
{
  Device &d = oracle_device;
  d.capacity = settings.number ("capacity", d.capacity);
  d.total = settings.number ("total", d.total);
  d.base = settings.number ("base", d.base);
  d.step = settings.number ("step", d.step);
  d.va_base = settings.number ("va_base", d.va_base);
  d.va_step = settings.number ("va_step", d.va_step);
  d.granularity = settings.number ("granularity", d.granularity);
  d.event_latency = settings.number ("event_latency", d.event_latency);
  d.free_synchronises = settings.yes ("free_synchronises", d.free_synchronises);
}

inline void
write_stats (System &system, const std::string &path)
{
  System::Stats stats;
  system.stats (stats);
  std::ofstream file (path);
  for (auto &[name, value] : stats)
    file << name << ' ' << value << '\n';
  if (!file.flush ())
    throw std::runtime_error (path + ": cannot be written");
}

inline void
run_and_write (System &system, const Trace &trace, const Settings &settings)
{
  set_up_device (settings);
  if (settings.has ("calls"))
    oracle_device.log.open (settings.text ("calls").c_str (),
                            "seq,call,stream,size,address,ok,device\n");
  system.start (settings);
  Driver driver (system, trace, settings);
  const uint64_t before = cpu_ns ();
  driver.run (static_cast<unsigned> (settings.number ("threads", 1)));
  if (settings.yes ("bench"))
    std::printf ("operations=%zu cpu_ns=%llu failed=%llu\n", trace.events.size (),
                 static_cast<unsigned long long> (cpu_ns () - before),
                 static_cast<unsigned long long> (driver.failed));
  if (settings.has ("stats"))
    write_stats (system, settings.text ("stats"));
  driver.close ();
  oracle_device.log.close ();
}

/* The whole program.  It ends without the allocator's own clean-up, which would call a device that has no more log. */
inline int
drive (int argc, char **argv, System &system)
{
  int status = 0;
  try
    {
      Trace trace;
      Settings settings, own;
      std::string path;
      for (int i = 1; i < argc; i++)
        if (std::strchr (argv[i], '=') != nullptr)
          own.add_one (argv[i]);
        else
          path = argv[i];
      if (path.empty ())
        throw std::runtime_error ("usage: driver [KEY=VALUE...] TRACE");
      trace.read (path);
      settings = trace.settings;
      for (auto &[key, value] : own.values)
        settings.values[key] = value;
      run_and_write (system, trace, settings);
    }
  catch (const Refused &refused)
    {
      std::fprintf (stderr, "refused: %s\n", refused.what ());
      status = 2;
    }
  catch (const std::exception &failure)
    {
      std::fprintf (stderr, "driver: %s\n", failure.what ());
      status = 1;
    }
  std::fflush (stdout);
  _exit (status);
}

}
