/* driver.cpp - drives the real arena of an ONNX Runtime wheel on the stub device (../README.md: the protocol).
 *
 * The arena is that of the CPU, registered with its settings at the environment, which is the same class (BFCArena) that GPUs have; what
 * it takes from the host is redirected to the stub device: it calls the aligned operator new, which a program may replace.  The end of a
 * run with memory.enable_memory_arena_shrinkage shrinks it, so `trim` runs a model of one node, whose input and output lie elsewhere.
 *
 * The wheel has no headers.  The functions are found by their places in the table OrtApi, which are a part of the library's ABI: a later
 * version may only add to its end.
 *
 * Invariant: only while the arena works (`arena_works`) does the operator ask the device; nothing of the session lives in the arena.
 */
#include <new>

#include "driver.h"

namespace
{
bool arena_works;
}

void *
operator new (size_t size, std::align_val_t alignment)
{
  void *memory;
  if (arena_works)
    {
      oracle_device.requester = 0; /* it knows no streams */
      memory = reinterpret_cast<void *> (oracle_device.malloc (size));
    }
  else if (posix_memalign (&memory, static_cast<size_t> (alignment), size) != 0)
    memory = nullptr;
  if (memory == nullptr)
    throw std::bad_alloc ();
  return memory;
}

void
operator delete (void *memory, std::align_val_t) noexcept
{
  if (oracle_device.size_of (reinterpret_cast<uint64_t> (memory)) != 0)
    oracle_device.free (reinterpret_cast<uint64_t> (memory));
  else
    std::free (memory);
}

void
operator delete (void *memory, size_t, std::align_val_t alignment) noexcept
{
  operator delete (memory, alignment);
}

namespace
{

enum Function
{
  GET_ERROR_MESSAGE = 2,
  CREATE_ENV = 3,
  CREATE_SESSION_FROM_ARRAY = 8,
  RUN = 9,
  CREATE_SESSION_OPTIONS = 10,
  SET_INTRA_OP_NUM_THREADS = 24,
  CREATE_RUN_OPTIONS = 39,
  CREATE_TENSOR_WITH_DATA_AS_ORT_VALUE = 49,
  CREATE_CPU_MEMORY_INFO = 69,
  ALLOCATOR_ALLOC = 75,
  ALLOCATOR_FREE = 76,
  RELEASE_STATUS = 93,
  ADD_SESSION_CONFIG_ENTRY = 130,
  CREATE_ALLOCATOR = 131,
  CREATE_AND_REGISTER_ALLOCATOR = 144,
  CREATE_ARENA_CFG_V2 = 164,
  ADD_RUN_CONFIG_ENTRY = 165,
  GET_KEY_VALUE_PAIRS = 298,
  RELEASE_KEY_VALUE_PAIRS = 300
};

constexpr uint32_t API = 23; /* the first whose allocators have statistics */
constexpr int FATAL = 4, ARENA = 1, FLOAT = 1;

struct ApiBase
{
  void *const *(*api) (uint32_t);
  const char *(*version) ();
};

struct Allocator
{
  uint32_t version;
  void *(*alloc) (Allocator *, size_t);
  void (*free) (Allocator *, void *);
  const void *(*info) (const Allocator *);
  void *(*reserve) (Allocator *, size_t);
  void *(*stats) (const Allocator *, void **);
};

void *const *api;

template <typename Result, typename... Arguments>
Result
call (Function function, Arguments... arguments)
{
  return reinterpret_cast<Result (*) (Arguments...)> (api[function]) (arguments...);
}

/* FALSE: the call failed; @why gets the reason. */
template <typename... Arguments>
bool
succeeds (std::string *why, Function function, Arguments... arguments)
{
  void *status = call<void *> (function, arguments...);
  if (status == nullptr)
    return true;
  if (why != nullptr)
    *why = call<const char *> (GET_ERROR_MESSAGE, static_cast<const void *> (status));
  call<void> (RELEASE_STATUS, status);
  return false;
}

template <typename... Arguments>
void
must (Function function, Arguments... arguments)
{
  std::string why;
  if (!succeeds (&why, function, arguments...))
    throw std::runtime_error (why);
}

/* A field of a protobuf message, shorter than 128 bytes. */
std::string
field (int number, const std::string &content)
{
  return std::string{ static_cast<char> (number << 3 | 2), static_cast<char> (content.size ()) }
         + content;
}

std::string
field (int number, int value)
{
  return { static_cast<char> (number << 3), static_cast<char> (value) };
}

/* A model that copies `x`, one float, to `y`. */
std::string
model ()
{
  const std::string one = field (1, field (1, 1)),
                    type = field (2, field (1, field (1, FLOAT) + field (2, one)));
  const std::string node = field (1, "x") + field (2, "y") + field (4, "Identity");
  const std::string graph = field (1, node) + field (2, "copy") + field (11, field (1, "x") + type)
                            + field (12, field (1, "y") + type);
  return field (1, 8) + field (7, graph) + field (8, field (2, 13));
}

class OnnxRuntime final : public oracle::System
{
public:
  void
  start (const oracle::Settings &settings) override
  {
    const std::string copy = model ();
    void *environment, *info, *config, *options;
    const int64_t shape[] = { 1 };
    std::vector<const char *> keys;
    std::vector<size_t> values;

    find_functions ();
    for (const char *key : { "max_mem", "initial_chunk_size_bytes", "max_dead_bytes_per_chunk",
                             "initial_growth_chunk_size_bytes", "max_power_of_two_extend_bytes" })
      if (settings.has (key))
        keys.push_back (key), values.push_back (settings.number (key));
    const std::string strategy = settings.text ("arena_extend_strategy", "kNextPowerOfTwo");
    keys.push_back ("arena_extend_strategy");
    values.push_back (strategy == "kSameAsRequested"  ? 1
                      : strategy == "kNextPowerOfTwo" ? 0
                                                      : settings.number ("arena_extend_strategy"));
    must (CREATE_ENV, FATAL, "oracle", &environment);
    must (CREATE_CPU_MEMORY_INFO, ARENA, 0, &info);
    std::string why;
    if (!succeeds (&why, CREATE_ARENA_CFG_V2, keys.data (), values.data (), keys.size (), &config)
        || !succeeds (&why, CREATE_AND_REGISTER_ALLOCATOR, environment, info, config))
      throw oracle::Refused (why);
    must (CREATE_SESSION_OPTIONS, &options);
    must (SET_INTRA_OP_NUM_THREADS, options, 1);
    must (ADD_SESSION_CONFIG_ENTRY, options, "session.use_env_allocators", "1");
    must (CREATE_SESSION_FROM_ARRAY, environment, static_cast<const void *> (copy.data ()),
          copy.size (), options, &session);
    must (CREATE_ALLOCATOR, session, info, &allocator);
    must (CREATE_RUN_OPTIONS, &shrinks);
    must (ADD_RUN_CONFIG_ENTRY, shrinks, "memory.enable_memory_arena_shrinkage", "cpu:0");
    must (CREATE_TENSOR_WITH_DATA_AS_ORT_VALUE, info, static_cast<void *> (&x), sizeof x, shape,
          size_t{ 1 }, FLOAT, &input);
    must (CREATE_TENSOR_WITH_DATA_AS_ORT_VALUE, info, static_cast<void *> (&y), sizeof y, shape,
          size_t{ 1 }, FLOAT, &output);
    if (statistic ("NumAllocs") != 0)
      throw std::runtime_error ("the session has memory in the arena");
  }
  bool
  alloc (oracle::Block &block, bool logged) override
  {
    const uint64_t before = logged ? statistic ("InUse") : 0;
    void *memory = nullptr;

    arena_works = true;
    const bool good = succeeds (nullptr, ALLOCATOR_ALLOC, allocator,
                                static_cast<size_t> (block.size), &memory);
    arena_works = false;
    block.address = reinterpret_cast<uint64_t> (memory);
    if (logged && good)
      block.block = statistic ("InUse") - before;
    return good;
  }
  void
  free (oracle::Block &block) override
  {
    must (ALLOCATOR_FREE, allocator, reinterpret_cast<void *> (block.address));
  }
  void
  trim () override
  {
    const char *const names[] = { "x", "y" };

    y = 0;
    must (RUN, session, shrinks, &names[0], static_cast<void *const *> (&input), size_t{ 1 },
          &names[1], size_t{ 1 }, &output);
    if (y != x)
      throw std::runtime_error ("the model was not run");
  }
  bool
  has_use () const override
  {
    return false;
  }
  void
  stats (Stats &all) override
  {
    each_statistic ([&] (const char *name, uint64_t value) { all[name] = value; });
  }

private:
  void *session = nullptr, *shrinks = nullptr, *input = nullptr, *output = nullptr;
  Allocator *allocator = nullptr;
  float x = 1, y = 0;

  static void find_functions ();
  template <typename F>
  void
  each_statistic (F f)
  {
    const char *const *names, *const *values;
    size_t count;
    void *pairs;

    if (allocator->version < API || allocator->stats (allocator, &pairs) != nullptr)
      throw std::runtime_error ("the allocator has no statistics");
    call<void> (GET_KEY_VALUE_PAIRS, static_cast<const void *> (pairs), &names, &values, &count);
    for (size_t i = 0; i < count; i++)
      f (names[i], static_cast<uint64_t> (std::strtoll (values[i], nullptr, 10)));
    call<void> (RELEASE_KEY_VALUE_PAIRS, pairs);
  }
  uint64_t
  statistic (const char *wanted)
  {
    uint64_t found = 0;
    each_statistic ([&] (const char *name, uint64_t value) {
      if (std::strcmp (name, wanted) == 0)
        found = value;
    });
    return found;
  }
};

extern "C" const ApiBase *OrtGetApiBase ();

void
OnnxRuntime::find_functions ()
{
  api = OrtGetApiBase ()->api (API);
  if (api == nullptr)
    throw std::runtime_error (std::string ("ONNX Runtime ") + OrtGetApiBase ()->version ()
                              + " has no API 23");
}

}

int
main (int argc, char **argv)
{
  static OnnxRuntime onnxruntime;
  return oracle::drive (argc, argv, onnxruntime);
}
