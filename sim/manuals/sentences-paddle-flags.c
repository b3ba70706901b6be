/* sentences-paddle-flags.c - the sentences of PaddlePaddle's page of flags, "Storage Management",
 * about allocators: which one serves, how large its chunks are, the temporary allocator; see
 * manuals.h.
 *
 * The page is that of 1.5.  As built is what doc/systems/paddle.md says in its sections 1, 2, 4, 7
 * and 13.1.  No wheel is older than 1.7, the oldest release that is named here is 1.2: that a flag
 * came before it cannot be shown.
 */
#include "config.h"

#include "sim/manuals/manuals.h"

/* Texts in pieces, a line each. */
/* clang-format off */

#define TRACE(n, events) "# gemem-trace: 1\n" events "# end: " n "\n"
#define ALLOC(id, size) "alloc " id " size=" size "\n"
#define FREE(id) "free " id "\n"
#define GIB "1073741824"
#define GIB_3 "3221225472"
#define GIB_4 "4294967296"

#define ONE TRACE ("1", ALLOC ("1", "1000"))
#define TWO TRACE ("2", ALLOC ("1", "1000") ALLOC ("2", "1000"))
#define FOUR_AND_THREE TRACE ("2", ALLOC ("1", GIB_4) ALLOC ("2", GIB_3))
#define FOURS TRACE ("3", ALLOC ("1", GIB_4) ALLOC ("2", GIB_4) ALLOC ("3", GIB_4))
#define THREE_AND_TWO_PARTS \
  TRACE ("3", ALLOC ("1", "3758096384") ALLOC ("2", "629145600") ALLOC ("3", "629145600"))
/* Four requests of 3 GiB, of which two do not fit a chunk of 4 GiB; all are freed. */
#define ROUND \
  TRACE ("8", ALLOC ("1", GIB_3) ALLOC ("2", GIB_3) ALLOC ("3", GIB_3) ALLOC ("4", GIB_3) \
                  FREE ("1") FREE ("2") FREE ("3") FREE ("4"))
#define SIXTIES TRACE ("2", ALLOC ("1", "62914560") ALLOC ("2", "62914560"))

/* Operators with a workspace each, one after the other. */
#define GRAPH(nodes) "{\"name\": \"scratch\", \"nodes\": [\n" nodes "]}\n"
#define SCRATCH(name, size) \
  "  {\"name\": \"" name "\", \"type\": \"x\", \"workspaces\": [" size "]}"
#define NEXT ",\n"
#define PAIR(first, second) GRAPH (SCRATCH ("a", first) NEXT SCRATCH ("b", second))
/* 600, 700 and again 600 bytes: 1300 wait after the second. */
#define WAITING GRAPH (SCRATCH ("a", "600") NEXT SCRATCH ("b", "700") NEXT SCRATCH ("c", "600"))
#define OUTPUTS \
  GRAPH ("  {\"name\": \"a\", \"type\": \"x\", \"outputs\": [{\"size\": 4096}]}" NEXT \
         "  {\"name\": \"b\", \"type\": \"x\", \"outputs\": [{\"size\": 100}]}")

/* clang-format on */

#define RESERVED "json $.results[*].values.peak_reserved"
#define CHUNKS "json $.results[*].measures.device_allocs"
#define RETURNED "json $.results[*].measures.device_frees"
#define FAILED "json $.results[*].values.ooms"
#define CLASS "json $.results[*].allocator"
#define LOCKED "json $.results[*].stats.locked"
#define ALLOCS "json $.devices[*].allocs"

#define REPLAY(settings) "replay - -f json -d sim:capacity=16GiB -a paddle:{rules}," settings
/* The strategy that is not the default: the manual ties the flags of chunks to no strategy. */
#define NAIVE(settings) REPLAY ("version=1.5,FLAGS_allocator_strategy=naive_best_fit," settings)
#define BUDDY(settings) "replay - -f json -d sim:capacity=16GiB -a paddle-buddy:{rules}," settings
#define HOST(capacity, settings) \
  "replay - -f json -d sim:capacity=" capacity " -a paddle:{rules},place=cpu," settings
#define ENV(variable, settings) variable " " REPLAY (settings) " --env"
#define INFO(settings) "info - -f json --lower=paddle:{rules}," settings
#define FILLED(settings) "convert - - --lower=paddle:{rules}," settings

#define OLDEST "the oldest release that is known, 1.2, takes it"

static const GememSentence sentences[] = {
  /* ---- allocator_strategy */
  GEMEM_SENTENCE ("allocator_strategy.since", "It exists since 1.2.", ONE,
                  REPLAY ("version=1.2,FLAGS_allocator_strategy=naive_best_fit"), "status", "", "0",
                  "0", "1.2 takes it"),
  GEMEM_SENTENCE ("allocator_strategy.values", "It is one of legacy and naive_best_fit.", ONE,
                  REPLAY ("version=1.5,FLAGS_allocator_strategy=auto_growth"), "status", "", "2",
                  "2", "1.5 has no other one"),
  GEMEM_SENTENCE ("allocator_strategy.values.later",
                  "It is one of legacy and naive_best_fit (in later releases).", ONE,
                  REPLAY ("version=2.6,FLAGS_allocator_strategy=auto_growth"), "status", "", "2",
                  "0", "since 1.6 there is auto_growth, too"),
  GEMEM_SENTENCE ("allocator_strategy.default", "It is legacy by default.", ONE,
                  REPLAY ("version=1.5"), CLASS, "", "paddle-buddy", "paddle-buddy",
                  "legacy is the buddy"),
  GEMEM_SENTENCE ("allocator_strategy.default.later",
                  "It is legacy by default (in later releases).", ONE, REPLAY ("version=1.8"),
                  CLASS, "", "paddle-buddy", "paddle-auto-growth",
                  "the wheels 1.7.0 and later have auto_growth"),
  GEMEM_SENTENCE ("allocator_strategy.legacy",
                  "FLAGS_allocator_strategy=legacy chooses the legacy allocator.", ONE,
                  ENV ("FLAGS_allocator_strategy=legacy", "version=1.5"), CLASS, "", "paddle-buddy",
                  "paddle-buddy", "legacy is the buddy"),
  GEMEM_SENTENCE (
      "allocator_strategy.legacy.later",
      "FLAGS_allocator_strategy=legacy chooses the legacy allocator (in later releases).", ONE,
      ENV ("FLAGS_allocator_strategy=legacy", "version=2.6"), "status", "", "0", "2",
      "since 1.6 no strategy has this name: its allocator is called naive_best_fit"),
  GEMEM_SENTENCE ("allocator_strategy.naive_best_fit",
                  "FLAGS_allocator_strategy=naive_best_fit chooses the newly designed allocator.",
                  ONE, ENV ("FLAGS_allocator_strategy=naive_best_fit", "version=1.5"), CLASS, "",
                  "paddle-best-fit", "paddle-best-fit", "the chunked BestFit"),
  GEMEM_SENTENCE ("allocator_strategy.naive_best_fit.later",
                  "FLAGS_allocator_strategy=naive_best_fit chooses the newly designed allocator "
                  "(in later releases).",
                  ONE, ENV ("FLAGS_allocator_strategy=naive_best_fit", "version=2.6"), CLASS, "",
                  "paddle-best-fit", "paddle-buddy",
                  "since 1.6 the name means the buddy, which was legacy"),
  GEMEM_UNSEEN ("allocator_strategy.unstable",
                "Strategies are under development; others than legacy are not stable.",
                "it is about the program's code, not about memory"),

  /* ---- fraction_of_gpu_memory_to_use */
  GEMEM_SENTENCE ("fraction_of_gpu_memory_to_use.since", "It exists since 1.2.0.", ONE,
                  REPLAY ("version=1.2,FLAGS_fraction_of_gpu_memory_to_use=0.5"), "status", "", "0",
                  "0", "1.2 takes it"),
  GEMEM_SENTENCE ("fraction_of_gpu_memory_to_use.total",
                  "It is the proportion of the GPU's total memory that a chunk takes; 0.1: 10 %.",
                  ONE, ENV ("FLAGS_fraction_of_gpu_memory_to_use=0.1", "version=1.5"), RESERVED,
                  "B", "1717986918", "1632087571",
                  "a tenth of 17179869184; as built 5 % (858993472, in single precision) are left "
                  "to others before"),
  GEMEM_SENTENCE ("fraction_of_gpu_memory_to_use.available",
                  "A chunk takes a part of the GPU's total memory, also where others hold half of "
                  "it (in later releases).",
                  ONE, BUDDY ("version=2.6,available=8GiB,FLAGS_fraction_of_gpu_memory_to_use=0.1"),
                  RESERVED, "B", "1717986918", "816043785",
                  "a tenth of 17179869184; as built, since 1.6, of what is available: 8589934592 "
                  "- 429496736"),
  GEMEM_SENTENCE ("fraction_of_gpu_memory_to_use.served",
                  "Later requests are served from the chunk.", TWO,
                  REPLAY ("version=1.5,FLAGS_fraction_of_gpu_memory_to_use=0.1"), CHUNKS, "chunks",
                  "1", "1", "two requests of 1000 bytes fit in one chunk"),
  GEMEM_SENTENCE ("fraction_of_gpu_memory_to_use.next",
                  "Where a chunk has not enough, one of the same size is taken.", FOUR_AND_THREE,
                  BUDDY ("version=2.6,FLAGS_fraction_of_gpu_memory_to_use=0.4"), RESERVED, "B",
                  "13743895346", "10575927456",
                  "twice 6871947673; as built 6528350284, then of what is left 4047577172"),
  GEMEM_SENTENCE ("fraction_of_gpu_memory_to_use.exhausted", "Until the GPU has not enough memory.",
                  FOURS, BUDDY ("version=2.6,FLAGS_fraction_of_gpu_memory_to_use=0.4"), FAILED,
                  "requests", "1", "0",
                  "a third chunk of 6871947673 is not left; as built the chunk has the size of the "
                  "request, 4294967552, if the fraction of what is left is less"),
  GEMEM_UNSEEN ("fraction_of_gpu_memory_to_use.type", "It is a Uint64.",
                "the page gives 0.1, 0.5 and 0.92 as its values: it is a real number"),
  GEMEM_SENTENCE ("fraction_of_gpu_memory_to_use.range", "It is greater than 0.", ONE,
                  REPLAY ("version=1.5,FLAGS_fraction_of_gpu_memory_to_use=0"), "status", "", "2",
                  "0", "refused; as built every request is a device call of its own"),
  GEMEM_SENTENCE ("fraction_of_gpu_memory_to_use.windows", "On Windows it is 0.5 by default.", ONE,
                  REPLAY ("version=1.5,platform=windows"), RESERVED, "B", "8589934592",
                  "8160437856", "half of 17179869184; as built of 16320875712"),
  GEMEM_SENTENCE ("fraction_of_gpu_memory_to_use.linux", "On Linux it is 0.92 by default.", ONE,
                  REPLAY ("version=1.5"), RESERVED, "B", "15805479649", "15015205927",
                  "0.92 of 17179869184; as built (double) 0.92f of 16320875712"),

  /* ---- free_idle_memory */
  GEMEM_SENTENCE ("free_idle_memory.since", "It exists since 0.15.0.", ONE,
                  REPLAY ("version=1.2,FLAGS_free_idle_memory=True"), "status", "", "0", "0",
                  OLDEST),
  GEMEM_SENTENCE (
      "free_idle_memory.true",
      "FLAGS_free_idle_memory=True: memory taken beforehand is freed at run time when "
      "too much of it is idle.",
      ROUND, ENV ("FLAGS_free_idle_memory=True", "version=1.3,fraction_of_gpu_memory_to_use=0.25"),
      RETURNED, "chunks", "2", "2",
      "of four idle chunks two go: twice a chunk is less than what is idle, until two "
      "are left"),
  GEMEM_SENTENCE (
      "free_idle_memory.true.1.5",
      "FLAGS_free_idle_memory=True frees idle memory at run time (in 1.5, of which the page is).",
      ROUND, ENV ("FLAGS_free_idle_memory=True", "version=1.5,fraction_of_gpu_memory_to_use=0.25"),
      RETURNED, "chunks", "2", "0", "as built no code reads the flag since 1.4"),
  GEMEM_SENTENCE ("free_idle_memory.range", "It is a Bool.", ONE,
                  REPLAY ("version=1.3,FLAGS_free_idle_memory=02"), "status", "", "2", "2",
                  "neither yes nor no"),
  GEMEM_SENTENCE ("free_idle_memory.default", "It is False by default.", ROUND,
                  REPLAY ("version=1.3,fraction_of_gpu_memory_to_use=0.25"), RETURNED, "chunks",
                  "0", "0", "all stay"),
  GEMEM_SENTENCE (
      "free_idle_memory.false", "FLAGS_free_idle_memory=False: nothing is freed.", ROUND,
      ENV ("FLAGS_free_idle_memory=False", "version=1.3,fraction_of_gpu_memory_to_use=0.25"),
      RETURNED, "chunks", "0", "0", "all stay"),

  /* ---- init_allocated_mem */
  GEMEM_SENTENCE ("init_allocated_mem.since", "It exists since 0.15.0.", OUTPUTS,
                  INFO ("version=1.2,FLAGS_init_allocated_mem=True"), "status", "", "0", "0",
                  OLDEST),
  GEMEM_SENTENCE ("init_allocated_mem.true",
                  "FLAGS_init_allocated_mem=True: memory that is allocated is initialised.",
                  OUTPUTS, FILLED ("version=1.5,FLAGS_init_allocated_mem=True"), "count ^memset ",
                  "memsets", "2", "2", "one of each output"),
  GEMEM_SENTENCE ("init_allocated_mem.value", "With other values than zero.", OUTPUTS,
                  FILLED ("version=1.5,FLAGS_init_allocated_mem=True"),
                  "line ^memset .*aux=([0-9]+)", "", "239", "239", "every byte is 0xEF"),
  GEMEM_SENTENCE (
      "init_allocated_mem.later",
      "FLAGS_init_allocated_mem=True: memory that is allocated is initialised (in later releases).",
      OUTPUTS, FILLED ("version=2.6,FLAGS_init_allocated_mem=True"), "status", "", "0", "2",
      "as built only the buddy fills, and auto_growth is the default since 1.7"),
  GEMEM_UNSEEN ("init_allocated_mem.purpose",
                "It finds operators that take allocated memory to be zero.",
                "no memory here has a content"),
  GEMEM_SENTENCE ("init_allocated_mem.range", "It is a Bool.", OUTPUTS,
                  INFO ("version=1.5,FLAGS_init_allocated_mem=02"), "status", "", "2", "2",
                  "neither yes nor no"),
  GEMEM_SENTENCE ("init_allocated_mem.default", "It is False by default.", OUTPUTS,
                  FILLED ("version=1.5"), "count ^memset ", "memsets", "0", "0",
                  "nothing is filled"),
  GEMEM_SENTENCE ("init_allocated_mem.false",
                  "FLAGS_init_allocated_mem=False: nothing is initialised.", OUTPUTS,
                  FILLED ("version=1.5,FLAGS_init_allocated_mem=False"), "count ^memset ",
                  "memsets", "0", "0", "nothing is filled"),

  /* ---- initial_cpu_memory_in_mb */
  GEMEM_SENTENCE ("initial_cpu_memory_in_mb.since", "It exists since 0.14.0.", ONE,
                  HOST ("16GiB", "version=1.2,FLAGS_initial_cpu_memory_in_mb=100"), "status", "",
                  "0", "0", OLDEST),
  GEMEM_SENTENCE ("initial_cpu_memory_in_mb.chunk",
                  "A chunk of the CPU's allocator is the least of it and of "
                  "fraction_of_cpu_memory_to_use of the physical memory: it, on a host of 1 GiB.",
                  ONE, HOST ("1GiB", "version=1.5,FLAGS_initial_cpu_memory_in_mb=100"), RESERVED,
                  "B", "104857600", "33554432",
                  "100 MiB of min(100 MiB, 1 GiB); as built of min(100 MiB, 1 GiB / 32)"),
  GEMEM_SENTENCE ("initial_cpu_memory_in_mb.fraction",
                  "A chunk of the CPU's allocator is the least of the two, also where that is the "
                  "fraction: 0.01 of 8 GiB.",
                  ONE,
                  HOST ("8GiB", "version=1.5,FLAGS_initial_cpu_memory_in_mb=100,"
                                "fraction_of_cpu_memory_to_use=0.01"),
                  RESERVED, "B", "85899345", "2684354",
                  "a hundredth of 8589934592; as built a 32nd of that"),
  GEMEM_SENTENCE ("initial_cpu_memory_in_mb.type", "It is a Uint64.", ONE,
                  HOST ("16GiB", "version=1.5,FLAGS_initial_cpu_memory_in_mb=-5"), "status", "",
                  "2", "2", "negative"),
  GEMEM_SENTENCE ("initial_cpu_memory_in_mb.default", "It is 500 by default.", ONE,
                  HOST ("64GiB", "version=1.5"), RESERVED, "B", "524288000", "524288000",
                  "500 MiB"),
  GEMEM_SENTENCE ("initial_cpu_memory_in_mb.default.small",
                  "It is 500 by default, on a host of 8 GiB.", ONE, HOST ("8GiB", "version=1.5"),
                  RESERVED, "B", "524288000", "268435456",
                  "500 MiB; as built a 32nd of 8 GiB is less"),
  GEMEM_SENTENCE ("initial_cpu_memory_in_mb.first",
                  "FLAGS_initial_cpu_memory_in_mb=100: the first request takes 100 MB beforehand, "
                  "where the fraction is more than that.",
                  ONE, "FLAGS_initial_cpu_memory_in_mb=100 " HOST ("16GiB", "version=1.5") " --env",
                  RESERVED, "B", "104857600", "104857600", "100 MiB"),
  GEMEM_SENTENCE (
      "initial_cpu_memory_in_mb.next", "When they are used up, another 100 MB.", SIXTIES,
      "FLAGS_initial_cpu_memory_in_mb=100 " HOST ("16GiB", "version=1.5") " --env", RESERVED, "B",
      "209715200", "209715200", "the second 60 MiB do not fit in the first 100"),

  /* ---- initial_gpu_memory_in_mb */
  GEMEM_SENTENCE ("initial_gpu_memory_in_mb.since", "It exists since 1.4.0.", ONE,
                  REPLAY ("version=1.3,FLAGS_initial_gpu_memory_in_mb=4096"), "status", "", "2",
                  "2", "1.3 has no such flag"),
  GEMEM_SENTENCE ("initial_gpu_memory_in_mb.first", "A chunk of this size is taken; 4096: of 4 GB.",
                  ONE, ENV ("FLAGS_initial_gpu_memory_in_mb=4096", "version=1.5"), RESERVED, "B",
                  GIB_4, GIB_4, "4096 MiB"),
  GEMEM_SENTENCE ("initial_gpu_memory_in_mb.served", "Later requests are served from it.", TWO,
                  REPLAY ("version=1.5,FLAGS_initial_gpu_memory_in_mb=4096"), CHUNKS, "chunks", "1",
                  "1", "two requests of 1000 bytes fit in one chunk"),
  GEMEM_SENTENCE ("initial_gpu_memory_in_mb.next",
                  "Where it has not enough, a chunk of FLAGS_reallocate_gpu_memory_in_mb is taken.",
                  FOUR_AND_THREE,
                  REPLAY ("version=1.5,FLAGS_initial_gpu_memory_in_mb=5120,"
                          "FLAGS_reallocate_gpu_memory_in_mb=4096"),
                  RESERVED, "B", "9663676416", "9663676416", "5120 MiB, then 4096 MiB"),
  GEMEM_SENTENCE ("initial_gpu_memory_in_mb.exhausted", "Until the GPU has none left.",
                  THREE_AND_TWO_PARTS,
                  "replay - -f json -d sim:capacity=5GiB -a paddle-buddy:{rules},version=1.5,"
                  "FLAGS_initial_gpu_memory_in_mb=4096,FLAGS_reallocate_gpu_memory_in_mb=1024",
                  FAILED, "requests", "1", "1", "4 GiB and 1 GiB are all; the third finds none"),
  GEMEM_SENTENCE ("initial_gpu_memory_in_mb.exhausted.later",
                  "Chunks are taken until the GPU has no memory left (in later releases).",
                  THREE_AND_TWO_PARTS,
                  "replay - -f json -d sim:capacity=5GiB -a paddle-buddy:{rules},version=2.6,"
                  "FLAGS_initial_gpu_memory_in_mb=4096,FLAGS_reallocate_gpu_memory_in_mb=1024",
                  FAILED, "requests", "1", "2",
                  "as built, since 1.6, a chunk of 1 GiB is refused where 1 GiB is left: 5 % of it "
                  "belong to others"),
  GEMEM_SENTENCE ("initial_gpu_memory_in_mb.type", "It is a Uint64.", ONE,
                  REPLAY ("version=1.5,FLAGS_initial_gpu_memory_in_mb=-5"), "status", "", "2", "2",
                  "negative"),
  GEMEM_SENTENCE ("initial_gpu_memory_in_mb.range", "It is greater than 0.", ONE,
                  REPLAY ("version=1.5,FLAGS_initial_gpu_memory_in_mb=0"), "status", "", "2", "0",
                  "refused; as built 0 is the default, and means the fraction"),
  GEMEM_SENTENCE ("initial_gpu_memory_in_mb.overrides",
                  "Set, it overrides FLAGS_fraction_of_gpu_memory_to_use.", ONE,
                  REPLAY ("version=1.5,FLAGS_initial_gpu_memory_in_mb=4096,"
                          "FLAGS_fraction_of_gpu_memory_to_use=0.5"),
                  RESERVED, "B", GIB_4, GIB_4, "4096 MiB"),
  GEMEM_SENTENCE ("initial_gpu_memory_in_mb.unset",
                  "Not set, FLAGS_fraction_of_gpu_memory_to_use says how much is taken.", ONE,
                  REPLAY ("version=1.5,FLAGS_fraction_of_gpu_memory_to_use=0.5"), RESERVED, "B",
                  "8589934592", "8160437856", "half of 17179869184; as built of 16320875712"),
  GEMEM_SENTENCE ("initial_gpu_memory_in_mb.first.naive", "The same, with naive_best_fit.", ONE,
                  NAIVE ("FLAGS_initial_gpu_memory_in_mb=4096"), RESERVED, "B", GIB_4,
                  "15015205927", "as built the larger of 4 GiB and 0.92 of 16320875712"),
  GEMEM_SENTENCE ("initial_gpu_memory_in_mb.served.naive", "The same, with naive_best_fit.", TWO,
                  NAIVE ("FLAGS_initial_gpu_memory_in_mb=4096"), CHUNKS, "chunks", "1", "1",
                  "two requests of 1000 bytes fit in one chunk"),
  GEMEM_SENTENCE (
      "initial_gpu_memory_in_mb.next.naive", "The same, with naive_best_fit.", FOUR_AND_THREE,
      NAIVE ("FLAGS_initial_gpu_memory_in_mb=5120,FLAGS_reallocate_gpu_memory_in_mb=4096"),
      RESERVED, "B", "9663676416", "10737418240",
      "5120 MiB, then 4096 MiB; as built both have the larger of the two"),
  GEMEM_SENTENCE ("initial_gpu_memory_in_mb.exhausted.naive", "The same, with naive_best_fit.",
                  THREE_AND_TWO_PARTS,
                  "replay - -f json -d sim:capacity=5GiB -a paddle-best-fit:{rules},version=1.5,"
                  "FLAGS_initial_gpu_memory_in_mb=4096,FLAGS_reallocate_gpu_memory_in_mb=1024",
                  FAILED, "requests", "1", "2",
                  "4 GiB and 1 GiB; as built a second chunk of 4 GiB is not even asked for"),
  GEMEM_SENTENCE ("initial_gpu_memory_in_mb.overrides.naive", "The same, with naive_best_fit.", ONE,
                  NAIVE ("FLAGS_initial_gpu_memory_in_mb=4096,"
                         "FLAGS_fraction_of_gpu_memory_to_use=0.5"),
                  RESERVED, "B", GIB_4, "8160437856",
                  "as built the larger of 4 GiB and half of 16320875712"),

  /* ---- limit_of_tmp_allocation */
  GEMEM_SENTENCE ("limit_of_tmp_allocation.since", "It exists since 1.3.", WAITING,
                  INFO ("version=1.2,FLAGS_limit_of_tmp_allocation=1024"), "status", "", "2", "2",
                  "1.2 has no such flag"),
  GEMEM_SENTENCE ("limit_of_tmp_allocation.1024",
                  "It is the most bytes of temporary allocations; 1024: of 1024 bytes.", WAITING,
                  INFO ("version=1.5,FLAGS_limit_of_tmp_allocation=1024"), ALLOCS, "requests", "3",
                  "3", "600 and 700 bytes would wait, so both are freed, and 600 are new"),
  GEMEM_SENTENCE ("limit_of_tmp_allocation.-1", "-1: they are not limited.", WAITING,
                  INFO ("version=1.5,FLAGS_limit_of_tmp_allocation=-1"), ALLOCS, "requests", "2",
                  "2", "the third takes the first 600 bytes again"),
  GEMEM_SENTENCE ("limit_of_tmp_allocation.0", "0: none may wait.", PAIR ("600", "600"),
                  INFO ("version=1.5,FLAGS_limit_of_tmp_allocation=0"), ALLOCS, "requests", "2",
                  "1", "as built 0 is no limit either"),
  GEMEM_SENTENCE ("limit_of_tmp_allocation.type", "It is an Int64.", WAITING,
                  INFO ("version=1.5,FLAGS_limit_of_tmp_allocation=2.5"), "status", "", "2", "2",
                  "not a whole number"),
  GEMEM_SENTENCE ("limit_of_tmp_allocation.default", "It is -1 by default.", WAITING,
                  INFO ("version=1.5"), ALLOCS, "requests", "2", "2", "as with -1"),

  /* ---- reallocate_gpu_memory_in_mb */
  GEMEM_SENTENCE ("reallocate_gpu_memory_in_mb.since", "It exists since 1.4.0.", ONE,
                  REPLAY ("version=1.3,FLAGS_reallocate_gpu_memory_in_mb=1024"), "status", "", "2",
                  "2", "1.3 has no such flag"),
  GEMEM_SENTENCE (
      "reallocate_gpu_memory_in_mb.1024",
      "When a chunk is used up another is taken; 1024: of 1 GB.", SIXTIES,
      ENV ("FLAGS_reallocate_gpu_memory_in_mb=1024", "version=1.5,initial_gpu_memory_in_mb=100"),
      RESERVED, "B", "1178599424", "1178599424", "100 MiB, then 1024 MiB"),
  GEMEM_SENTENCE ("reallocate_gpu_memory_in_mb.type", "It is an Int64.", ONE,
                  REPLAY ("version=1.5,FLAGS_reallocate_gpu_memory_in_mb=2.5"), "status", "", "2",
                  "2", "not a whole number"),
  GEMEM_SENTENCE ("reallocate_gpu_memory_in_mb.range", "It is greater than 0.", ONE,
                  REPLAY ("version=1.5,FLAGS_reallocate_gpu_memory_in_mb=0"), "status", "", "2",
                  "0", "refused; as built 0 is the default, and means the fraction"),
  GEMEM_SENTENCE ("reallocate_gpu_memory_in_mb.unset",
                  "Not set, FLAGS_fraction_of_gpu_memory_to_use of the GPU's memory is taken.",
                  FOUR_AND_THREE,
                  REPLAY ("version=1.5,initial_gpu_memory_in_mb=4097,"
                          "FLAGS_fraction_of_gpu_memory_to_use=0.25"),
                  RESERVED, "B", "8590983168", "8376234800",
                  "4097 MiB and a quarter of 17179869184; as built of 16320875712"),
  GEMEM_SENTENCE (
      "reallocate_gpu_memory_in_mb.1024.naive", "The same, with naive_best_fit.", SIXTIES,
      NAIVE ("initial_gpu_memory_in_mb=100,FLAGS_reallocate_gpu_memory_in_mb=1024"), RESERVED, "B",
      "1178599424", "1073741824", "100 MiB, then 1024 MiB; as built one chunk, of the larger size"),
  GEMEM_SENTENCE ("reallocate_gpu_memory_in_mb.unset.naive", "The same, with naive_best_fit.",
                  FOUR_AND_THREE,
                  NAIVE ("initial_gpu_memory_in_mb=4097,FLAGS_fraction_of_gpu_memory_to_use=0.25"),
                  RESERVED, "B", "8590983168", "8592031744",
                  "4097 MiB and a quarter of 17179869184; as built twice 4097 MiB, which is more "
                  "than a quarter of 16320875712"),

  /* ---- times_excess_than_required_tmp_allocation */
  GEMEM_SENTENCE ("times_excess_than_required_tmp_allocation.since", "It exists since 1.3.",
                  WAITING, INFO ("version=1.2,FLAGS_times_excess_than_required_tmp_allocation=3"),
                  "status", "", "2", "2", "1.2 has no such flag"),
  GEMEM_SENTENCE ("times_excess_than_required_tmp_allocation.n",
                  "2: a request of N bytes is served with N to 2 N: with N.", PAIR ("100", "100"),
                  INFO ("version=1.5,FLAGS_times_excess_than_required_tmp_allocation=2"), ALLOCS,
                  "requests", "1", "1", "the first 100 bytes serve the second request, too"),
  GEMEM_SENTENCE ("times_excess_than_required_tmp_allocation.less", "With less than N: not.",
                  PAIR ("99", "100"),
                  INFO ("version=1.5,FLAGS_times_excess_than_required_tmp_allocation=2"), ALLOCS,
                  "requests", "2", "2", "99 are too few"),
  GEMEM_SENTENCE ("times_excess_than_required_tmp_allocation.2n", "With 2 N.", PAIR ("200", "100"),
                  INFO ("version=1.5,FLAGS_times_excess_than_required_tmp_allocation=2"), ALLOCS,
                  "requests", "1", "2", "as built it must be less than 2 N"),
  GEMEM_SENTENCE ("times_excess_than_required_tmp_allocation.more", "With more than 2 N: not.",
                  PAIR ("201", "100"),
                  INFO ("version=1.5,FLAGS_times_excess_than_required_tmp_allocation=2"), ALLOCS,
                  "requests", "2", "2", "201 are too many"),
  GEMEM_SENTENCE (
      "times_excess_than_required_tmp_allocation.type", "It is an Int64.", PAIR ("200", "100"),
      INFO ("version=1.5,FLAGS_times_excess_than_required_tmp_allocation=2.5"), "status", "", "2",
      "0", "refused; as built it is a real number, and the page writes 2.0, too"),
  GEMEM_SENTENCE ("times_excess_than_required_tmp_allocation.default", "It is 2 by default.",
                  PAIR ("199", "100"), INFO ("version=1.5"), ALLOCS, "requests", "1", "1",
                  "199 are not more than 2 x 100"),
  GEMEM_SENTENCE ("times_excess_than_required_tmp_allocation.1024", "1024: the most is 1024 N.",
                  PAIR ("102400", "100"),
                  INFO ("version=1.5,FLAGS_times_excess_than_required_tmp_allocation=1024"), ALLOCS,
                  "requests", "1", "2", "1024 x 100 = 102400; as built it must be less"),

  /* ---- use_pinned_memory */
  GEMEM_SENTENCE ("use_pinned_memory.since", "It exists since 0.12.0.", ONE,
                  HOST ("16GiB", "version=1.2,FLAGS_use_pinned_memory=False"), "status", "", "0",
                  "0", OLDEST),
  GEMEM_SENTENCE ("use_pinned_memory.true",
                  "FLAGS_use_pinned_memory=True: the CPU's allocator locks its pages with mlock.",
                  ONE,
                  "FLAGS_use_pinned_memory=True " HOST (
                      "16GiB", "version=1.5,initial_cpu_memory_in_mb=100") " --env",
                  LOCKED, "B", "104857600", "104857600", "its chunk of 100 MiB"),
  GEMEM_SENTENCE ("use_pinned_memory.gpu", "It is about the CPU's allocator.", ONE,
                  REPLAY ("version=1.5,FLAGS_use_pinned_memory=False"), "status", "", "2", "2",
                  "it would have no effect on the GPU"),
  GEMEM_SENTENCE ("use_pinned_memory.later",
                  "FLAGS_use_pinned_memory=True: the CPU's allocator locks its pages with mlock "
                  "(in later releases).",
                  ONE, HOST ("16GiB", "version=3.x,FLAGS_use_pinned_memory=False"), "status", "",
                  "0", "2", "as built host memory of 3.x comes from malloc"),
  GEMEM_SENTENCE ("use_pinned_memory.range", "It is a Bool.", ONE,
                  HOST ("16GiB", "version=1.5,FLAGS_use_pinned_memory=2.5"), "status", "", "2", "2",
                  "neither yes nor no"),
  GEMEM_SENTENCE ("use_pinned_memory.default", "It is True by default.", ONE,
                  HOST ("16GiB", "version=1.5,initial_cpu_memory_in_mb=100"), LOCKED, "B",
                  "104857600", "104857600", "its chunk of 100 MiB"),
  GEMEM_SENTENCE ("use_pinned_memory.false", "FLAGS_use_pinned_memory=False: they are not locked.",
                  ONE,
                  HOST ("16GiB", "version=1.5,initial_cpu_memory_in_mb=100,"
                                 "FLAGS_use_pinned_memory=False"),
                  LOCKED, "B", "0", "0", "none"),
};

const GememManual gemem_manual_paddle_flags = {
  .name = "paddle-flags",
  .system = "paddle",
  .title = "PaddlePaddle: flags of its allocators",
  .sentences = sentences,
  .n_sentences = G_N_ELEMENTS (sentences),
};
