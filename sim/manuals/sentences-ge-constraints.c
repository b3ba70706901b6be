/* sentences-ge-constraints.c - the sentences of GE's "Memory Constraints", part "Static Memory
 * Reuse", and what MemoryConfig says of atomic_clean_policy; see manuals.h.
 *
 * Graphs are written out so that they can be typed.  GE's collectives have the engine
 * ops_kernel_info_hccl; memory type 17 is P2P.
 */
#include "config.h"

#include "sim/manuals/manuals.h"

/* ---- graphs, a node per line */

#define GRAPH(nodes) "{\"nodes\": [\n" nodes "\n]}\n"
#define NODE(name, type, more) "{\"name\": \"" name "\", \"type\": \"" type "\"" more "}"
#define NEXT ",\n"
#define IN(list) ", \"inputs\": [" list "]"
#define FROM(node) "[\"" node "\", 0]"
#define OUT(size) ", \"outputs\": [{\"size\": " size "}]"
#define OUT_2(a, b) ", \"outputs\": [{\"size\": " a "}, {\"size\": " b "}]"
#define WITH(list) ", \"attributes\": {" list "}"
#define BATCH(label) ", \"batch_label\": \"" label "\""
#define DATA(name, index, size, more) NODE (name, "Data", ", \"index\": " index OUT (size) more)
#define NET_OUTPUT(list) NODE ("out", "NetOutput", IN (list))
#define HCCL ", \"engine\": \"ops_kernel_info_hccl\""
#define CLEARED \
  ", \"controls\": [\"clear\"]" WITH ("\"is_atomic_node\": true, \"atomic_output_index\": [0]")
#define AND ", "

/* The worked chain of ge-static.md 10.1. */
#define CHAIN \
  GRAPH (NODE ("A", "Some", OUT ("1000")) NEXT NODE ("B", "Some", IN (FROM ("A")) OUT ("2000")) \
             NEXT NODE ("C", "Some", IN (FROM ("B")) OUT ("1500")) \
                 NEXT NODE ("D", "Some", IN (FROM ("C")) OUT ("3000")) \
                     NEXT NODE ("Z", "Some", IN (FROM ("D")) OUT ("100")))
/* Two batches: 4096 bytes, or 2048. */
#define BATCHES \
  GRAPH (NODE ("S", "Some", OUT ("512")) \
             NEXT NODE ("A", "Some", BATCH ("L0") IN (FROM ("S")) OUT ("4096")) \
                 NEXT NODE ("B", "Some", BATCH ("L1") IN (FROM ("S")) OUT ("2048")) \
                     NEXT NODE ("Z", "Some", IN (FROM ("A") AND FROM ("B")) OUT ("512")))
/* Two batches, each with a node of continuous inputs: 4096 + 4096 bytes, or 2048 + 2048. */
#define CONTINUOUS_BATCHES \
  GRAPH (NODE ("S", "Some", OUT ("512")) \
             NEXT NODE ("A", "Some", BATCH ("L0") IN (FROM ("S")) OUT ("4096")) \
                 NEXT NODE ("B", "Some", BATCH ("L0") IN (FROM ("S")) OUT ("4096")) \
                     NEXT NODE ("H", "HcomReduceScatter", \
                                BATCH ("L0") IN (FROM ("A") AND FROM ("B")) OUT ("512") \
                                    WITH ("\"continuous_input\": true")) \
                         NEXT NODE ("C", "Some", BATCH ("L1") IN (FROM ("S")) OUT ("2048")) \
                             NEXT NODE ("D", "Some", BATCH ("L1") IN (FROM ("S")) OUT ("2048")) \
                                 NEXT NODE ("I", "HcomReduceScatter", \
                                            BATCH ("L1") IN (FROM ("C") AND FROM ("D")) \
                                                OUT ("512") WITH ("\"continuous_input\": true")) \
                                     NEXT NODE ("Z", "Some", \
                                                IN (FROM ("H") AND FROM ("I")) OUT ("512")))
/* A batch whose continuous inputs A and B are dead when D begins. */
#define BATCH_REUSE \
  GRAPH (NODE ("S", "Some", OUT ("512")) \
             NEXT NODE ("A", "Some", BATCH ("L0") IN (FROM ("S")) OUT ("4096")) \
                 NEXT NODE ("B", "Some", BATCH ("L0") IN (FROM ("S")) OUT ("4096")) \
                     NEXT NODE ("H", "HcomAllReduce", \
                                BATCH ("L0") IN (FROM ("A") AND FROM ("B")) OUT ("512") \
                                    WITH ("\"continuous_input\": true")) \
                         NEXT NODE ("C", "Some", BATCH ("L0") IN (FROM ("H")) OUT ("512")) \
                             NEXT NODE ("D", "Some", BATCH ("L0") IN (FROM ("C")) OUT ("2048")) \
                                 NEXT NODE ("E", "Some", BATCH ("L0") IN (FROM ("D")) OUT ("512")) \
                                     NEXT NODE ("Z", "Some", IN (FROM ("E")) OUT ("512")))
/* A batch of three tensors of 200 MiB that are alive at once. */
#define LARGE_BATCH \
  GRAPH (NODE ("A", "Some", BATCH ("L0") OUT ("209715200")) \
             NEXT NODE ("B", "Some", BATCH ("L0") OUT ("209715200")) \
                 NEXT NODE ("C", "Some", BATCH ("L0") OUT ("209715200")) \
                     NEXT NODE ("Z", "Some", IN (FROM ("A") AND FROM ("B") AND FROM ("C"))))
#define CONTINUOUS \
  GRAPH (NODE ("A", "Some", OUT ("1000")) NEXT NODE ("B", "Some", OUT ("2000")) NEXT NODE ( \
      "H", "HcomAllReduce", \
      IN (FROM ("A") AND FROM ("B")) OUT ("512") WITH ("\"continuous_input\": true")))
/* Four tensors in a row, of which the first must be clear, or all. */
#define ROW(a, b, c, d) \
  GRAPH (NODE ("clear", "MemSet", "") NEXT NODE ("A", "Some", OUT ("4096") a) \
             NEXT NODE ("B", "Some", IN (FROM ("A")) OUT ("4096") b) \
                 NEXT NODE ("C", "Some", IN (FROM ("B")) OUT ("4096") c) \
                     NEXT NODE ("D", "Some", IN (FROM ("C")) OUT ("4096") d))
#define FIRST_CLEARED ROW (CLEARED, "", "", "")
#define NONE_CLEARED ROW ("", "", "", "")
#define ALL_CLEARED ROW (CLEARED, CLEARED, CLEARED, CLEARED)
/* Three of 8 MiB, between an input and a result of the same size. */
#define LARGE_CLEARED \
  GRAPH (DATA ("x", "0", "8388608", "") NEXT NODE ("clear", "MemSet", "") \
             NEXT NODE ("A", "Some", IN (FROM ("x")) OUT ("8388608") CLEARED) \
                 NEXT NODE ("B", "Some", IN (FROM ("A")) OUT ("8388608") CLEARED) \
                     NEXT NODE ("C", "Some", IN (FROM ("B")) OUT ("8388608") CLEARED) \
                         NEXT NODE ("D", "Some", IN (FROM ("C")) OUT ("8388608")))
/* One of the tensors to be cleared is in P2P memory. */
#define P2P_CLEARED \
  ROW (CLEARED, CLEARED, \
       ", \"controls\": [\"clear\"]" WITH ( \
           "\"is_atomic_node\": true, \"atomic_output_index\": [0], " \
           "\"_output_memory_type\": [17]"), \
       CLEARED)
/* An input of the graph that is dead when C begins. */
#define INPUT_REUSED \
  GRAPH (DATA ("A", "0", "4096", "") NEXT NODE ("B", "Some", IN (FROM ("A")) OUT ("512")) \
             NEXT NODE ("C", "Some", IN (FROM ("B")) OUT ("2048")) \
                 NEXT NODE ("D", "Some", IN (FROM ("C")) OUT ("512")))
/* An input that is dead when the output C of the graph begins. */
#define INPUT_OUTPUT \
  GRAPH (DATA ("A", "0", "4096", "") NEXT NODE ("B", "Some", IN (FROM ("A")) OUT ("512")) \
             NEXT NODE ("C", "Some", IN (FROM ("B")) OUT ("4096")) NEXT NET_OUTPUT (FROM ("C")))
#define CONSTANTS \
  GRAPH (NODE ("V", "Variable", OUT ("1000")) NEXT NODE ("K", "Constant", OUT ("1000")) \
             NEXT NODE ("L", "Const", OUT ("1000")) NEXT NODE ("M", "FileConstant", OUT ("1000")) \
                 NEXT NODE ("N", "ConstPlaceHolder", OUT ("1000")) \
                     NEXT NODE ("A", "Some", \
                                IN (FROM ("V") AND FROM ("K") AND FROM ("L") AND FROM ("M") \
                                        AND FROM ("N")) OUT ("512")))
#define FIXED_ADDRESS \
  GRAPH (NODE ("A", "Some", OUT ("4096") WITH ("\"_is_fixed_addr_prior\": true")) \
             NEXT NODE ("B", "Some", IN (FROM ("A")) OUT ("512")) \
                 NEXT NODE ("C", "Some", IN (FROM ("B")) OUT ("4096")) \
                     NEXT NODE ("D", "Some", IN (FROM ("C")) OUT ("512")))
#define BETWEEN(type, more) \
  GRAPH (DATA ("A", "0", "4096", "") NEXT NODE ("H", type, more IN (FROM ("A")) OUT ("4096")) \
             NEXT NET_OUTPUT (FROM ("H")))
#define COLLECTIVE BETWEEN ("HcomAllReduce", HCCL)
#define NAMED_COLLECTIVE BETWEEN ("HcomAllReduce", "")
#define SWITCH BETWEEN ("rtsStreamSwitchByIndex", "")
#define OUTPUTS \
  GRAPH (NODE ("P", "HcomAllGather", \
               HCCL OUT_2 ("1000", "2000") WITH ("\"continuous_output\": true")) \
             NEXT NODE ("Z", "Some", IN ("[\"P\", 0], [\"P\", 1]")))
/* The outputs of P and the output of X are, in this order, the inputs of H. */
#define OUTPUTS_TO_INPUTS \
  GRAPH ( \
      NODE ("S", "Some", OUT ("512")) NEXT NODE ("X", "Some", IN (FROM ("S")) OUT ("700")) \
          NEXT NODE ("P", "Some", \
                     IN (FROM ("S")) OUT_2 ("1000", "2000") WITH ("\"continuous_output\": true")) \
              NEXT NODE ("H", "HcomAllGather", \
                         IN ("[\"P\", 0], [\"P\", 1], [\"X\", 0]") OUT ("512") \
                             WITH ("\"continuous_input\": true")) \
                  NEXT NODE ("Z", "Some", IN (FROM ("H")) OUT ("512")) \
                      NEXT NODE ("Y", "Some", IN (FROM ("Z")) OUT ("8192")))
#define INPUTS \
  GRAPH (DATA ("A", "0", "100", "") NEXT DATA ("B", "1", "40", "") NEXT DATA ("C", "2", "70", "") \
             NEXT NET_OUTPUT (FROM ("A") AND FROM ("B") AND FROM ("C")))
#define INNER_SIZES \
  GRAPH (NODE ("A", "Some", OUT ("100")) NEXT NODE ("B", "Some", OUT ("40")) \
             NEXT NODE ("Z", "Some", IN (FROM ("A") AND FROM ("B"))))
#define SUBGRAPH \
  GRAPH ( \
      NODE ("A", "Some", OUT ("512")) NEXT NODE ( \
          "P", "PartitionedCall", ", \"blocks\": [\"sub\"]" IN (FROM ("A")) OUT ("2048")) \
          NEXT NODE ("D", "Data", ", \"block\": 1" OUT ("512") WITH ("\"_parent_node_index\": 0")) \
              NEXT NODE ("X", "Some", ", \"block\": 1" IN (FROM ("D")) OUT ("2048")) NEXT NODE ( \
                  "N", "NetOutput", \
                  ", \"block\": 1" IN (FROM ("X")) WITH ("\"_input_parent_node_index\": [0]")) \
                  NEXT NODE ("Z", "Some", IN (FROM ("P")) OUT ("512")))
#define SHAPES \
  GRAPH (DATA ("A", "0", "1000", WITH ("\"_is_multi_batch_shape_data\": true")) \
             NEXT NET_OUTPUT (FROM ("A")))
#define SUSPENDED \
  GRAPH (NODE ("A", "Some", ", \"workspaces\": [1024]" OUT ("512")) \
             NEXT NODE ("B", "Some", IN (FROM ("A")) OUT ("1024")))
/* ge-static.md 10.9 */
#define RANGES \
  GRAPH (NODE ("A", "Some", OUT ("4096")) NEXT NODE ("B", "Some", IN (FROM ("A")) OUT ("4096")) \
             NEXT NODE ("C", "Some", IN (FROM ("A")) OUT ("3000")) \
                 NEXT NODE ("D", "Some", IN (FROM ("C")) OUT ("4096")))
#define ORDER \
  GRAPH (NODE ("A", "Some", OUT ("4096")) NEXT NODE ("B", "Some", IN (FROM ("A")) OUT ("4096")) \
             NEXT NODE ("C", "Some", IN (FROM ("A")) OUT ("512")) NEXT NODE ( \
                 "D", "Some", IN (FROM ("A") AND FROM ("B") AND FROM ("C")) OUT ("1024")) \
                 NEXT NODE ("E", "Some", IN (FROM ("B") AND FROM ("D")) OUT ("1024")) \
                     NEXT NODE ("F", "Some", IN (FROM ("E")) OUT ("4096")))
/* ge-static.md 10.8 */
#define STREAMS \
  GRAPH (NODE ("S", "Some", OUT ("512")) NEXT NODE ("A", "Some", IN (FROM ("S")) OUT ("4096")) \
             NEXT NODE ("B", "Some", IN (FROM ("A")) OUT ("4096")) \
                 NEXT NODE ("C", "Some", IN (FROM ("B")) OUT ("2048")) \
                     NEXT NODE ("X", "Some", ", \"stream\": 1" IN (FROM ("C")) OUT ("4096")) \
                         NEXT NODE ("Y", "Some", ", \"stream\": 1" IN (FROM ("X")) OUT ("512")))

#define PLAN(planner) "plan - -p " planner " -f json"
#define ARENA "json $.plans[0].arena"
#define ZERO_COPY "json $.plans[0].zero_copy"
#define OFFSETS(planner) "plan - -p " planner " -o /dev/null --plan -"

static const GememSentence sentences[] = {
  /* Constraint 1 */
  GEMEM_UNSEEN ("ge-static.1.no-changes",
                "While memory is assigned, attributes of nodes are neither added nor changed nor "
                "removed.",
                "a rule for GE's own code; a planner of gemem has no way to change the graph"),
  GEMEM_SENTENCE ("ge-static.1.threads",
                  "Several threads assign memory at once; the plan does not depend on it.", CHAIN,
                  "plan - -p ge-hybrid --threads=8 -f json", ARENA, "B", "4608", "4608",
                  "as by one thread: D with B and A inside takes 3072, C with Z inside 1536"),
  GEMEM_UNSEEN ("ge-static.1.reading", "Reading attributes meanwhile is safe.",
                "a rule for GE's own code; what is only read makes no difference to a plan"),
  /* Constraint 2 */
  GEMEM_SENTENCE ("ge-static.2.labels",
                  "batch_label tells batches apart; memory of different batches is laid over "
                  "each other.",
                  BATCHES, PLAN ("ge-hybrid"), ARENA, "B", "4608", "4608",
                  "512 for S, later Z, and the larger batch: 4096"),
  GEMEM_SENTENCE ("ge-static.2.continuous",
                  "Continuous inputs in different batches are merged into a large block each, and "
                  "these are aligned.",
                  CONTINUOUS_BATCHES, PLAN ("ge-hybrid"), ARENA, "B", "9216", "9216",
                  "S 512, H over I 512, A and B (8192) over C and D (4096)"),
  GEMEM_SENTENCE (
      "ge-static.2.no-reuse",
      "That memory is reused neither within a batch nor between batches, so memory may "
      "be used less efficiently.",
      BATCH_REUSE, PLAN ("ge-hybrid:{rules}"), ARENA, "B", "11264", "9216",
      "A and B 8192, S 512; documented: D with H inside 2048, C 512; built: D and C lie "
      "in A, H 512"),
  GEMEM_SENTENCE (
      "ge-static.2.split", "Where memory can be extended, a part of a batch has at most 400 MB.",
      LARGE_BATCH, PLAN ("ge-hybrid:static_memory_policy=2"), "json $.plans[0].batch_parts",
      "parts", "2", "2", "200 + 200 MiB, then 200 MiB; MB stands for 2^20 bytes"),
  GEMEM_SENTENCE ("ge-static.2.no-split", "Elsewhere a batch is one part.", LARGE_BATCH,
                  PLAN ("ge-hybrid:static_memory_policy=0"), "json $.plans[0].batch_parts", "parts",
                  "1", "1", "600 MiB in one part"),
  /* Constraint 3 */
  GEMEM_SENTENCE ("ge-static.3.continuous",
                  "The inputs of a node with continuous memory are merged: they lie side by side.",
                  CONTINUOUS, OFFSETS ("ge-hybrid"), "json $.outputs.B[0]", "B", "1536", "1536",
                  "behind H, 512, and A, 1000 rounded to 1024"),
  GEMEM_SENTENCE ("ge-static.3.continuous-batches",
                  "Continuous memory of different batches can be merged and reused.",
                  CONTINUOUS_BATCHES, OFFSETS ("ge-hybrid"), "json $.outputs.C[0]", "B", "1024",
                  "1024", "C of the second batch lies where A of the first does: behind S and H"),
  GEMEM_SENTENCE ("ge-static.3.atomic",
                  "Memory that must be set to zero is reused by no other node.", FIRST_CLEARED,
                  PLAN ("ge-hybrid"), ARENA, "B", "12288", "12288",
                  "4096 for A alone; B, later D, and C 4096 each"),
  GEMEM_SENTENCE ("ge-static.3.no-atomic", "What has no such attribute is not set to zero.",
                  NONE_CLEARED, PLAN ("ge-hybrid"), "json $.plans[0].memsets", "memsets", "0", "0",
                  "no node has is_atomic_node"),
  GEMEM_SENTENCE ("ge-static.3.zero-copy-reuse",
                  "The memory of inputs and outputs of the graph can be reused by other nodes.",
                  INPUT_REUSED, PLAN ("ge-hybrid:input_reuse=[0]"), ARENA, "B", "4608", "4608",
                  "C lies in the input A of 4096, as A is dead; B, later D, take 512"),
  GEMEM_SENTENCE (
      "ge-static.3.zero-copy-apart",
      "Such memory is not merged with other such memory: the caller's addresses may be "
      "apart.",
      INPUT_OUTPUT, PLAN ("ge-hybrid:input_reuse=[0],output_reuse=[0]"), ARENA, "B", "8704", "8704",
      "the input A and the output C of 4096 each do not share, though A is dead; B 512"),
  GEMEM_SENTENCE ("ge-static.3.constants",
                  "Outputs of constants and variables (five types) have addresses that are fixed "
                  "when the graph is compiled: no part of the memory that is reused.",
                  CONSTANTS, PLAN ("ge-hybrid"), ARENA, "B", "512", "512", "A alone"),
  GEMEM_SENTENCE ("ge-static.3.constant-address.variable", "The address of a variable is fixed.",
                  CONSTANTS, OFFSETS ("ge-hybrid"), "json $.addresses.V[0]", "", "34359738368",
                  "34359738368", "32 GiB, where these addresses begin"),
  GEMEM_SENTENCE ("ge-static.3.constant-address", "Of a constant.", CONSTANTS,
                  "plan - -p ge-hybrid --print-log", "line name\\[K\\].* offset to \\[(\\d+)\\]",
                  "", "34359740416", "34359740416",
                  "behind the variable of 1000 bytes: 1024, and 512 on either side"),
  GEMEM_SENTENCE ("ge-static.3.constant-address.fileconstant", "Of a fileconstant.", CONSTANTS,
                  OFFSETS ("ge-hybrid"), "json $.addresses.M[0]", "", "34359742464", "34359742464",
                  "2048 behind the constant"),
  GEMEM_SENTENCE ("ge-static.3.constant-address.constplaceholder", "Of a constplaceholder.",
                  CONSTANTS, OFFSETS ("ge-hybrid"), "json $.addresses.N[0]", "", "34359744512",
                  "34359744512", "2048 behind the fileconstant"),
  GEMEM_SENTENCE ("ge-static.3.constant-address.const", "Of a const.", CONSTANTS,
                  "plan - -p ge-hybrid --print-log",
                  "line name\\[L\\] output\\[0\\] lies in (the buffer of weights)", "",
                  "the buffer of weights", "the buffer of weights",
                  "fixed, too, but in another space: no plan tells where in it"),
  GEMEM_SENTENCE ("ge-static.3.fixed-address",
                  "Blocks with a fixed address by priority are reused like others.", FIXED_ADDRESS,
                  PLAN ("ge-hybrid"), ARENA, "B", "4608", "4608",
                  "C takes the block of A, 4096, D that of B, 512"),
  GEMEM_SENTENCE ("ge-static.3.fixed-address-kept",
                  "Their address does not change: the run time gets them as a fixed segment.",
                  FIXED_ADDRESS, OFFSETS ("ge-hybrid"), "count \"fixed\": true", "segments", "1",
                  "1", "the segment of A and C"),
  GEMEM_SENTENCE ("ge-static.3.hcom",
                  "Operators that cannot take another address (HCOM) have no zero-copy inputs or "
                  "outputs.",
                  COLLECTIVE, PLAN ("ge-hybrid"), ZERO_COPY, "B", "0", "0",
                  "H reads the input and writes the output of the graph"),
  GEMEM_SENTENCE ("ge-static.3.hcom-named", "HCOM is the name of a type, whatever its engine.",
                  NAMED_COLLECTIVE, PLAN ("ge-hybrid"), ZERO_COPY, "B", "0", "0",
                  "the same without an engine, as a graph by hand is written"),
  GEMEM_SENTENCE ("ge-static.3.switch", "Nor have switches by index (rtsStreamSwitchByIndex).",
                  SWITCH, PLAN ("ge-hybrid"), ZERO_COPY, "B", "0", "0",
                  "H reads the input and writes the output of the graph"),
  GEMEM_SENTENCE ("ge-static.3.p2p",
                  "P2P memory is not set to zero together with other types of memory.", P2P_CLEARED,
                  PLAN ("ge-hybrid"), "json $.plans[0].memsets", "memsets", "2", "2",
                  "A, B and D in one range, C in one of its own"),
  /* Constraint 4 */
  GEMEM_SENTENCE ("ge-static.4.continuous",
                  "Outputs of HCOM operators are continuous logically: in their addresses.",
                  OUTPUTS, OFFSETS ("ge-hybrid"), "json $.outputs.P[*]", "", "0, 1024", "0, 1024",
                  "1000 bytes are rounded to 1024"),
  GEMEM_UNSEEN ("ge-static.4.physical", "They need not be continuous physically.",
                "a plan has addresses; pages are laid under them when the graph is loaded, and no "
                "plan tells which"),
  GEMEM_SENTENCE ("ge-static.4.manager", "ContinuousMemMng allocates and reuses that region.",
                  OUTPUTS_TO_INPUTS, PLAN ("ge-hybrid:{rules}"), ARENA, "B", "8704", "12800",
                  "8192 + 512 with the 4096 of P and X inside Y; built: reused only with "
                  "atomic_clean_policy=1, so 4096 + 8192 + 512"),
  GEMEM_SENTENCE ("ge-static.4.refreshable",
                  "featureBaseRefreshable set to 1: the feature map may get another address, and "
                  "HCOM operators with it.",
                  COLLECTIVE, PLAN ("ge-hybrid:ge.featureBaseRefreshable=1"), ZERO_COPY, "B",
                  "8192", "8192", "input and output of 4096 each are zero copy"),
  GEMEM_SENTENCE ("ge-static.4.refreshable-default", "Its default is false.", COLLECTIVE,
                  PLAN ("ge-hybrid"), ZERO_COPY, "B", "0", "0", "as with 0"),
  GEMEM_UNSEEN (
      "ge-static.4.no-need-assign",
      "It affects the judgment whether an output needs memory at all.",
      "the manual does not say how; what is built reads the option for zero copy only, and "
      "every output needs what it needs without it"),
  /* Constraint 5 */
  GEMEM_UNSEEN ("ge-static.5.one-thread",
                "PreAssign and SetOpMemOffset are called by one thread only.",
                "a rule for GE's own code; gemem writes the winner's offsets when all threads are "
                "done"),
  GEMEM_SENTENCE ("ge-static.5.zero-copy-alignment", "Zero-copy memory is aligned to 32 bytes.",
                  INPUTS, PLAN ("ge-hybrid:{rules}"), ZERO_COPY, "B", "288", "1536",
                  "inputs of 100, 40 and 70 bytes: 128 + 64 + 96; built: 512 each"),
  GEMEM_SENTENCE ("ge-static.5.alignment", "Other memory is aligned to 512 bytes.", INNER_SIZES,
                  PLAN ("ge-hybrid:{rules}"), ARENA, "B", "1024", "1024",
                  "100 and 40 bytes: 512 each"),
  GEMEM_SENTENCE ("ge-static.5.net-output", "A NetOutput in a subgraph has no zero copy.", SUBGRAPH,
                  PLAN ("ge-hybrid"), ZERO_COPY, "B", "0", "0",
                  "X feeds the NetOutput of the subgraph only"),
  GEMEM_SENTENCE ("ge-static.5.shape-data",
                  "Data nodes of multi-batch shapes do not support zero copy.", SHAPES,
                  PLAN ("ge-hybrid:{rules}"), ZERO_COPY, "B", "0", "0", "A is such a node"),
  GEMEM_SENTENCE ("ge-static.5.shape-data-offline", "Nor do they in an offline build.", SHAPES,
                  PLAN ("ge-hybrid:{rules},build_graph_mode=offline"), ZERO_COPY, "B", "0", "1024",
                  "built: the caller of an offline graph supplies the shapes, 1000 bytes in 1024"),
  GEMEM_SENTENCE ("ge-static.5.suspended",
                  "Suspended blocks are released when the next node gets its memory.", SUSPENDED,
                  PLAN ("ge-hybrid"), ARENA, "B", "1536", "1536",
                  "B takes the 1024 of A's workspace; the output of A, 512, could not"),
  GEMEM_UNSEEN (
      "ge-static.5.life-time",
      "life_time_begin_ and life_time_end_ of a block do not change once they are set.",
      "fields of GE's own code; a plan shows who shares memory, not when that was decided"),
  GEMEM_SENTENCE ("ge-static.5.use-range", "use_range_: blocks have the size of a class.", RANGES,
                  PLAN ("ge-block:use_range=yes"), ARENA, "B", "8192", "8192",
                  "one class of 4096: C takes the block of B, D that of A"),
  GEMEM_SENTENCE ("ge-static.5.no-range", "Without it they have their own.", RANGES,
                  PLAN ("ge-block:use_range=no"), ARENA, "B", "11264", "11264",
                  "C of 3072 finds no block of its size: 4096 + 4096 + 3072"),
  GEMEM_SENTENCE ("ge-static.5.ascending", "ascending_sort_: blocks with few tensors come first.",
                  ORDER, PLAN ("ge-block:ascending_sort=yes"), ARENA, "B", "10240", "10240",
                  "F moves into A: A 4096, B 4096, D 1024, E with C inside 1024"),
  GEMEM_SENTENCE ("ge-static.5.descending", "Else late blocks come first.", ORDER,
                  PLAN ("ge-block:ascending_sort=no"), ARENA, "B", "9728", "9728",
                  "B with F 4096, A with E inside 4096, D 1024, C 512"),
  GEMEM_SENTENCE (
      "ge-static.5.first-release",
      "reuse_first_release_: of free blocks the one released first is taken.", ORDER,
      PLAN ("ge-block:reuse_first_release=yes"), ARENA, "B", "9728", "9728",
      "F takes the block of A, then moves into B: B 4096, A with E inside 4096, D 1024, "
      "C 512"),
  GEMEM_SENTENCE (
      "ge-static.5.last-release", "Else the one released last is taken.", ORDER,
      PLAN ("ge-block:reuse_first_release=no"), ARENA, "B", "10240", "10240",
      "F takes the block of B, then moves into A: A 4096, B 4096, D 1024, E with C 1024"),
  GEMEM_SENTENCE ("ge-static.5.priority",
                  "memory_priority_mode_: memory is reused across streams by life times.", STREAMS,
                  PLAN ("ge-block:memory_priority_mode=yes"), ARENA, "B", "10240", "10240",
                  "A, later X, 4096, B with S 4096, C with Y inside 2048"),
  GEMEM_SENTENCE ("ge-static.5.no-priority", "Else by what is known of the streams.", STREAMS,
                  PLAN ("ge-block:memory_priority_mode=no"), ARENA, "B", "10752", "10752",
                  "Y may not follow C: 512 more"),
  /* MemoryConfig: atomic_clean_policy */
  GEMEM_SENTENCE ("ge-config.atomic-0",
                  "atomic_clean_policy=0 (default): memory of all operators with the memset "
                  "attribute is cleaned together.",
                  ALL_CLEARED, PLAN ("ge-hybrid"), "json $.plans[0].memsets", "memsets", "1", "1",
                  "A, B, C and D lie side by side"),
  GEMEM_SENTENCE ("ge-config.atomic-1", "1: memory of each such operator is cleaned up separately.",
                  ALL_CLEARED, PLAN ("ge-hybrid:atomic_clean_policy=1"), "json $.plans[0].memsets",
                  "memsets", "4", "4", "one for each operator"),
  GEMEM_SENTENCE ("ge-config.atomic-0-memory", "0: the operators may occupy too much memory.",
                  ALL_CLEARED, PLAN ("ge-hybrid"), ARENA, "B", "16384", "16384",
                  "4 x 4096, none of it reused"),
  GEMEM_SENTENCE ("ge-config.atomic-1-memory", "1 is for when they do.", ALL_CLEARED,
                  PLAN ("ge-hybrid:atomic_clean_policy=1"), ARENA, "B", "8192", "8192",
                  "C takes the memory of A, D that of B"),
  GEMEM_SENTENCE ("ge-config.atomic-0-time", "0: one memset in each run.", LARGE_CLEARED,
                  "replay - --lower zero-clear:atomic_clean_policy=0 -a ge -f json",
                  "json $.results[0].measures.modelled_time", "ns", "209400", "209400",
                  "mallocs of 24 and 8 MiB 102400 + 100800, one launch 5000 (a guess of the device "
                  "profile), 6 x 200 for requests and frees"),
  GEMEM_SENTENCE ("ge-config.atomic-1-time", "1 may cost performance.", LARGE_CLEARED,
                  "replay - --lower zero-clear:atomic_clean_policy=1 -a ge -f json",
                  "json $.results[0].measures.modelled_time", "ns", "218600", "218600",
                  "two mallocs of 8 MiB 2 x 100800, three launches 3 x 5000 (a guess), 10 x 200"),
};

const GememManual gemem_manual_ge_constraints = {
  .name = "ge-constraints",
  .system = "ge",
  .title = "GE: memory constraints, static memory reuse",
  .sentences = sentences,
  .n_sentences = G_N_ELEMENTS (sentences),
};
