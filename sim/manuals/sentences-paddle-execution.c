/* sentences-paddle-execution.c - the sentences of PaddlePaddle's page of flags, "Storage
 * Management", about executors: when garbage goes, which gradients lie together, what works in
 * place; see manuals.h.
 *
 * As built is what doc/systems/paddle.md says in its sections 5 to 7.  No wheel is old enough to
 * show in which release a flag came: there the manual's word counts for both.
 */
#include "config.h"

#include "sim/manuals/manuals.h"

/* Texts in pieces, a line each. */
/* clang-format off */

#define GRAPH(name, nodes) "{\"name\": \"" name "\", \"nodes\": [\n" nodes "]}\n"
#define NODE(name, type, more) "  {\"name\": \"" name "\", \"type\": \"" type "\"" more "}"
#define FROM(name) ", \"inputs\": [[\"" name "\", 0]]"
#define OUTPUTS(sizes) ", \"outputs\": [" sizes "]"
#define SIZE(size) "{\"size\": " size "}"
#define NEXT ",\n"
#define MIB "1048576"

/* ---- garbage */

/* Four operators in a row, each with an output of 1 MiB or of 512 MiB that the next one reads. */
#define CHAIN_OF(size) \
  GRAPH ("chain", NODE ("a", "x", OUTPUTS (SIZE (size))) \
                      NEXT NODE ("b", "x", FROM ("a") OUTPUTS (SIZE (size))) \
                          NEXT NODE ("c", "x", FROM ("b") OUTPUTS (SIZE (size))) \
                              NEXT NODE ("d", "x", FROM ("c") OUTPUTS (SIZE (size))))
#define CHAIN CHAIN_OF (MIB)
#define LARGE_CHAIN CHAIN_OF ("536870912")

/* Four temporary variables that one operator writes and another reads, then one that is fetched:
 * 1, 1, 1, 1 MiB, then 4 MiB; 7, 1, 1, 1 MiB, then 10 MiB. */
#define FOUR(size, last) \
  GRAPH ( \
      "four", \
      NODE ("a", "x", OUTPUTS (SIZE (size) ", " SIZE (MIB) ", " SIZE (MIB) ", " SIZE (MIB))) \
          NEXT NODE ("b", "x", ", \"inputs\": [[\"a\", 0], [\"a\", 1], [\"a\", 2], [\"a\", 3]]") \
              NEXT NODE ("c", "x", ", \"controls\": [\"b\"]" OUTPUTS (SIZE (last))) \
                  NEXT NODE ("d", "fetch", FROM ("c")))
#define EQUAL_FOUR FOUR (MIB, "4194304")
#define UNEQUAL_FOUR FOUR ("7340032", "10485760")

#define PEAK "json $.devices[*].peak_live"
#define PEAKS "json $.results[*].values.peak_live"
#define COLLECT "info - --lower=paddle:version=2.6,{rules},eager_delete_tensor_gb="
#define FASTER(executor) \
  GEMEM_SENTENCE ("fast_eager_deletion_mode.faster." executor, \
                  "That makes garbage collection faster (executor=" executor ").", CHAIN, \
                  "compare - -a direct -f json --lower='paddle:version=2.6,{rules},executor=" executor \
                  ",eager_delete_tensor_gb=0,FLAGS_fast_eager_deletion_mode=True|False'", \
                  "json $.results[*].measures.modelled_time", "ns", "802200, 805200", \
                  "802200, 805200", \
                  "calls 800600, 8 x 200; with False the stream is marked after b, c and d, 1000 each " \
                  "(guesses of the device profile)")
#define FRACTION COLLECT "0,executor=parallel,FLAGS_memory_fraction_of_eager_deletion="

/* ---- in place */

/* The manual's 19 operators in a row, behind one that is not on the list. */
#define LINK(name, type, from) NEXT NODE (name, type, FROM (from) OUTPUTS (SIZE ("1024")))
#define LISTED \
  GRAPH ("listed", \
         NODE ("n0", "x", OUTPUTS (SIZE ("1024"))) LINK ("n1", "sigmoid", "n0") \
             LINK ("n2", "exp", "n1") LINK ("n3", "relu", "n2") LINK ("n4", "tanh", "n3") \
                 LINK ("n5", "sqrt", "n4") LINK ("n6", "ceil", "n5") LINK ("n7", "floor", "n6") \
                     LINK ("n8", "reciprocal", "n7") LINK ("n9", "relu6", "n8") \
                         LINK ("n10", "soft_relu", "n9") LINK ("n11", "hard_sigmoid", "n10") \
                             LINK ("n12", "batch_norm", "n11") \
                                 LINK ("n13", "batch_norm_grad", "n12") LINK ("n14", "sum", "n13") \
                                     LINK ("n15", "sum_grad", "n14") LINK ("n16", "scale", "n15") \
                                         LINK ("n17", "reshape", "n16") \
                                             LINK ("n18", "elementwise_add", "n17") \
                                                 LINK ("n19", "elementwise_add_grad", "n18"))

#define BLOCKS "json $.devices[*].allocs"
#define INPLACE(release) \
  "info - -f json --lower=paddle:version=" release ",{rules},executor=parallel,enable_inplace=yes"

/* ---- groups of gradients */

#define VARIABLE(name, n) "  {\"name\": \"" name "\", \"dtype\": \"float32\", \"shape\": [" n "]}"
#define PAIR(name, n) VARIABLE (name, n) NEXT VARIABLE (name "@GRAD", n)
#define MAKER(node, name, size) \
  NODE (node, "x", \
        ", \"role\": 1, \"attributes\": {\"op_role_var\": [\"" name "\", \"" name \
        "@GRAD\"]}" OUTPUTS ("{\"size\": " size ", \"variable\": \"" name "@GRAD\"}"))
#define TRAINING(variables, nodes) \
  "{\"name\": \"layers\", \"variables\": [\n" variables "],\n \"nodes\": [\n" nodes "]}\n"
/* Three layers, each with a weight of 4 MiB and a bias of 4000 bytes. */
#define LAYERS \
  TRAINING (PAIR ("fc_0.w", MIB) NEXT PAIR ("fc_0.b", "1000") NEXT PAIR ("fc_1.w", MIB) \
                NEXT PAIR ("fc_1.b", "1000") NEXT PAIR ("fc_2.w", MIB) \
                    NEXT PAIR ("fc_2.b", "1000"), \
            MAKER ("a", "fc_0.w", "4194304") NEXT MAKER ("b", "fc_0.b", "4000") \
                NEXT MAKER ("c", "fc_1.w", "4194304") NEXT MAKER ("d", "fc_1.b", "4000") \
                    NEXT MAKER ("e", "fc_2.w", "4194304") NEXT MAKER ("f", "fc_2.b", "4000"))
/* One layer of three weights of 4 MiB. */
#define ONE_LAYER \
  TRAINING (PAIR ("fc.q", MIB) NEXT PAIR ("fc.k", MIB) NEXT PAIR ("fc.v", MIB), \
            MAKER ("a", "fc.q", "4194304") NEXT MAKER ("b", "fc.k", "4194304") \
                NEXT MAKER ("c", "fc.v", "4194304"))

/* clang-format on */

#define GROUPS "line ^ *fused gradients: .* in ([0-9]+) group"
#define PARAMETERS "line ^ *fused group 1: ([0-9]+) parameter"
#define BYTES "line ^ *fused group 1: .* ([0-9]+) bytes"
#define FUSE(release) \
  "info - --lower=paddle:version=" release ",{rules},executor=parallel,fuse_all_reduce_ops=yes"

static const GememSentence sentences[] = {
  /* ---- eager_delete_scope */
  GEMEM_SENTENCE ("eager_delete_scope.since", "It exists since 0.12.0.", CHAIN,
                  "info - --lower=paddle:version=1.2,{rules},FLAGS_eager_delete_scope=False",
                  "status", "", "0", "0", "the oldest release that is known, 1.2, takes it"),
  GEMEM_SENTENCE ("eager_delete_scope.memory",
                  "Set, local scopes are deleted synchronously, which lowers the use of memory.",
                  CHAIN,
                  "compare - -a direct -f json --lower='paddle:version=2.6,{rules},steps=2,"
                  "eager_delete_tensor_gb=-1,FLAGS_eager_delete_scope=True|False'",
                  PEAKS, "B", "4194304, 5242880", "4194304, 5242880",
                  "4 outputs of 1 MiB a run; not set, the first output of the second run comes "
                  "before those of the first have gone; where garbage is collected only what is "
                  "fetched or used by several blocks is left"),
  GEMEM_SENTENCE (
      "eager_delete_scope.cost",
      "Set, variables are destroyed more slowly, at a cost of about 1 %.", CHAIN,
      "info - --lower=paddle:version=2.6,{rules},time_per_node=1ms,"
      "eager_delete_tensor_gb=-1,FLAGS_eager_delete_scope=False",
      "line ^ *duration +(.*)$", "", "3.960 ms", "3.960 ms",
      "4 operators of 1 ms less 1 %, the manual's figure, not measured; with True 4.000 ms"),
  GEMEM_SENTENCE (
      "eager_delete_scope.default", "It is True by default.", CHAIN,
      "info - -f json --lower=paddle:version=2.6,{rules},steps=2,eager_delete_tensor_gb=-1", PEAK,
      "B", "4194304", "4194304", "as with True: 4 outputs of 1 MiB"),
  GEMEM_SENTENCE ("eager_delete_scope.range", "It is a Bool.", CHAIN,
                  "info - --lower=paddle:version=2.6,{rules},FLAGS_eager_delete_scope=2", "status",
                  "", "2", "2", "status 2: 2 is neither yes nor no"),
  GEMEM_SENTENCE (
      "eager_delete_scope.example", "FLAGS_eager_delete_scope=True: synchronously.", CHAIN,
      "FLAGS_eager_delete_scope=True compare - -a direct -f json --env "
      "--lower=paddle:version=2.6,{rules},steps=2,eager_delete_tensor_gb=-1",
      PEAKS, "B", "4194304", "4194304", "nothing of the first run is left when the second begins"),

  /* ---- eager_delete_tensor_gb */
  GEMEM_SENTENCE ("eager_delete_tensor_gb.since", "It exists since 1.0.0.", CHAIN,
                  "info - --lower=paddle:version=1.2,{rules},FLAGS_eager_delete_tensor_gb=0",
                  "status", "", "0", "0", "the oldest release that is known, 1.2, takes it"),
  GEMEM_SENTENCE ("eager_delete_tensor_gb.on",
                  "From 0 on garbage is collected while the network runs, which saves memory.",
                  CHAIN, COLLECT "0 -f json", PEAK, "B", "2097152", "2097152",
                  "an operator's input and output, 1 MiB each"),
  GEMEM_SENTENCE ("eager_delete_tensor_gb.off", "Below 0 garbage collection is off.", CHAIN,
                  COLLECT "-1 -f json", PEAK, "B", "4194304", "4194304",
                  "all 4 outputs stay to the end of the run"),
  GEMEM_SENTENCE ("eager_delete_tensor_gb.executors",
                  "It works with Executor, with compiled programs and with data parallel ones.",
                  CHAIN,
                  "compare - -a direct -f json --lower='paddle:version=2.6,{rules},"
                  "FLAGS_eager_delete_tensor_gb=0,executor=Executor|ParallelExecutor'",
                  PEAKS, "B", "2097152, 2097152", "2097152, 2097152",
                  "an operator's input and output, 1 MiB each, in both"),
  GEMEM_SENTENCE ("eager_delete_tensor_gb.threshold",
                  "Garbage goes when there is so much of it, not before.", CHAIN,
                  COLLECT "0.001953125 -f json", PEAK, "B", "3145728", "3145728",
                  "2 MiB of garbage after the third operator: three outputs are alive until then"),
  GEMEM_SENTENCE ("eager_delete_tensor_gb.default", "It is -1.0 by default.", CHAIN,
                  "info - -f json --lower=paddle:version=2.6,{rules}", PEAK, "B", "4194304",
                  "2097152", "off: 4 outputs of 1 MiB; since 1.6 the default is 0: 2 of them"),
  GEMEM_SENTENCE ("eager_delete_tensor_gb.default.1.5", "It is -1.0 by default (in 1.5).", CHAIN,
                  "info - -f json --lower=paddle:version=1.5,{rules}", PEAK, "B", "4194304",
                  "4194304", "off until 1.5: 4 outputs of 1 MiB"),
  GEMEM_SENTENCE ("eager_delete_tensor_gb.range", "It is a Double.", CHAIN,
                  "info - --lower=paddle:version=2.6,{rules},FLAGS_eager_delete_tensor_gb=much",
                  "status", "", "2", "2", "status 2: no number"),
  GEMEM_SENTENCE ("eager_delete_tensor_gb.example.0.0",
                  "FLAGS_eager_delete_tensor_gb=0.0: freed once it is used no more.", CHAIN,
                  "FLAGS_eager_delete_tensor_gb=0.0 compare - -a direct -f json --env "
                  "--lower=paddle:version=2.6,{rules}",
                  PEAKS, "B", "2097152", "2097152", "an operator's input and output, 1 MiB each"),
  GEMEM_SENTENCE ("eager_delete_tensor_gb.example.1.0",
                  "FLAGS_eager_delete_tensor_gb=1.0: freed when the garbage has 1.0 GB.",
                  LARGE_CHAIN,
                  "FLAGS_eager_delete_tensor_gb=1.0 compare - -a direct -f json --env "
                  "--lower=paddle:version=2.6,{rules}",
                  PEAKS, "B", "1610612736", "1610612736",
                  "two outputs of 512 MiB are garbage after the third operator; GB is 2^30 bytes"),
  GEMEM_SENTENCE ("eager_delete_tensor_gb.example.-1.0",
                  "FLAGS_eager_delete_tensor_gb=-1.0: no garbage collection.", CHAIN,
                  "FLAGS_eager_delete_tensor_gb=-1.0 compare - -a direct -f json --env "
                  "--lower=paddle:version=2.6,{rules}",
                  PEAKS, "B", "4194304", "4194304", "all 4 outputs stay to the end of the run"),
  GEMEM_SENTENCE ("eager_delete_tensor_gb.note", "For large networks 0.0 is recommended.",
                  LARGE_CHAIN,
                  "compare - -a direct -f json "
                  "--lower='paddle:version=2.6,{rules},FLAGS_eager_delete_tensor_gb=-1.0|1.0|0.0'",
                  PEAKS, "B", "2147483648, 1610612736, 1073741824",
                  "2147483648, 1610612736, 1073741824", "four, three and two outputs of 512 MiB"),

  /* ---- enable_inplace_whitelist */
  GEMEM_SENTENCE ("enable_inplace_whitelist.since", "It exists since 1.4.", LISTED,
                  INPLACE ("1.3") ",FLAGS_enable_inplace_whitelist=True", "status", "", "2", "0",
                  "status 2: no such flag; the code of 1.3 has it"),
  GEMEM_SENTENCE ("enable_inplace_whitelist.1.4",
                  "Set, some operators do not reuse memory in place (in 1.4).", LISTED,
                  INPLACE ("1.4") ",FLAGS_enable_inplace_whitelist=True", BLOCKS, "blocks", "20",
                  "1", "20 outputs; in 1.4 the list is of those that may, so all lie in one block"),
  GEMEM_SENTENCE ("enable_inplace_whitelist.ops",
                  "These are sigmoid, exp, relu, tanh, sqrt, ceil, floor, reciprocal, relu6, "
                  "soft_relu, hard_sigmoid, batch_norm, batch_norm_grad, sum, sum_grad, scale, "
                  "reshape, elementwise_add, elementwise_add_grad.",
                  LISTED, INPLACE ("1.5") ",FLAGS_enable_inplace_whitelist=True", BLOCKS, "blocks",
                  "20", "20", "an output for each of the 19 and for the one before them"),
  GEMEM_SENTENCE ("enable_inplace_whitelist.2.6",
                  "Set, some operators do not reuse memory in place (in 2.6).", LISTED,
                  INPLACE ("2.6") ",FLAGS_enable_inplace_whitelist=True", "status", "", "0", "2",
                  "status 2: the flag went with 1.6"),
  GEMEM_SENTENCE ("enable_inplace_whitelist.default", "It is False by default.", LISTED,
                  INPLACE ("1.5"), BLOCKS, "blocks", "1", "1", "each writes over its input"),
  GEMEM_SENTENCE ("enable_inplace_whitelist.range", "It is a Bool.", LISTED,
                  INPLACE ("1.5") ",FLAGS_enable_inplace_whitelist=some", "status", "", "2", "2",
                  "status 2: neither yes nor no"),
  GEMEM_SENTENCE ("enable_inplace_whitelist.example",
                  "FLAGS_enable_inplace_whitelist=True: no reuse in place in these operators.",
                  LISTED,
                  "FLAGS_enable_inplace_whitelist=True compare - -a direct -f json --env "
                  "--lower=paddle:version=1.4,{rules},executor=parallel,enable_inplace=yes",
                  "json $.results[*].values.peak_live", "B", "20480", "1024",
                  "20 outputs of 1 KiB; as built all in one"),
  GEMEM_UNSEEN ("enable_inplace_whitelist.purpose", "It is for debugging.",
                "a purpose, not a behaviour"),

  /* ---- fast_eager_deletion_mode */
  GEMEM_SENTENCE ("fast_eager_deletion_mode.since", "It exists since 1.3.", CHAIN,
                  "info - --lower=paddle:version=1.2,{rules},eager_delete_tensor_gb=0,"
                  "FLAGS_fast_eager_deletion_mode=False",
                  "status", "", "2", "2", "status 2: no such flag in 1.2"),
  GEMEM_SENTENCE ("fast_eager_deletion_mode.False",
                  "Not set, memory is freed when the CUDA kernel has ended.", CHAIN,
                  COLLECT "0,FLAGS_fast_eager_deletion_mode=False -f json", PEAK, "B", "3145728",
                  "3145728",
                  "the host is one operator ahead of the device: a third output of 1 MiB is still "
                  "there"),
  GEMEM_SENTENCE ("fast_eager_deletion_mode.True",
                  "Set, memory is freed though the CUDA kernel has not ended.", CHAIN,
                  COLLECT "0,FLAGS_fast_eager_deletion_mode=True -f json", PEAK, "B", "2097152",
                  "2097152", "an operator's input and output, 1 MiB each"),
  FASTER ("plain"),
  FASTER ("parallel"),
  GEMEM_SENTENCE ("fast_eager_deletion_mode.only",
                  "It has an effect only where garbage collection is on.", CHAIN,
                  COLLECT "-1,FLAGS_fast_eager_deletion_mode=False", "status", "", "2", "2",
                  "status 2: it would have no effect"),
  GEMEM_SENTENCE ("fast_eager_deletion_mode.default", "It is True by default.", CHAIN,
                  COLLECT "0 -f json", PEAK, "B", "2097152", "2097152",
                  "as with True: an operator's input and output"),
  GEMEM_SENTENCE ("fast_eager_deletion_mode.range", "It is a Bool.", CHAIN,
                  COLLECT "0,FLAGS_fast_eager_deletion_mode=1.5", "status", "", "2", "2",
                  "status 2: neither yes nor no"),
  GEMEM_SENTENCE ("fast_eager_deletion_mode.example.True",
                  "FLAGS_fast_eager_deletion_mode=True: fast collection.", CHAIN,
                  "FLAGS_fast_eager_deletion_mode=True compare - -a direct -f json --env "
                  "--lower=paddle:version=2.6,{rules},eager_delete_tensor_gb=0",
                  PEAKS, "B", "2097152", "2097152", "two outputs of 1 MiB"),
  GEMEM_SENTENCE ("fast_eager_deletion_mode.example.False",
                  "FLAGS_fast_eager_deletion_mode=False: no fast collection.", CHAIN,
                  "FLAGS_fast_eager_deletion_mode=False compare - -a direct -f json --env "
                  "--lower=paddle:version=2.6,{rules},eager_delete_tensor_gb=0",
                  PEAKS, "B", "3145728", "3145728", "three outputs of 1 MiB"),

  /* ---- fuse_parameter_groups_size */
  GEMEM_SENTENCE ("fuse_parameter_groups_size.since", "It exists since 1.4.0.", LAYERS,
                  FUSE ("1.3") ",FLAGS_fuse_parameter_groups_size=3", "status", "", "2", "2",
                  "status 2: gradients are fused since 1.4"),
  GEMEM_SENTENCE ("fuse_parameter_groups_size.1.4",
                  "It is the number of parameters in a group (in 1.4).", LAYERS,
                  FUSE ("1.4") ",FLAGS_fuse_parameter_groups_size=2", PARAMETERS, "parameters", "2",
                  "4", "in 1.4 it counts layers: 2 layers of 2 parameters"),
  GEMEM_SENTENCE ("fuse_parameter_groups_size.2.6",
                  "It is the number of parameters in a group (in 2.6).", LAYERS,
                  FUSE ("2.6") ",fuse_parameter_memory_size=1024,"
                               "FLAGS_fuse_parameter_groups_size=2",
                  PARAMETERS, "parameters", "2", "4",
                  "whole layers are added until there are more than 2 parameters: 2, then 4"),
  GEMEM_SENTENCE ("fuse_parameter_groups_size.1.in.1.4",
                  "1: the groups are as many as the gradients of parameters (in 1.4).", LAYERS,
                  FUSE ("1.4") ",FLAGS_fuse_parameter_groups_size=1", GROUPS, "groups", "6", "3",
                  "6 gradients; as built a group is a layer, which 1 does not merge"),
  GEMEM_SENTENCE ("fuse_parameter_groups_size.1.in.2.6",
                  "1: the groups are as many as the gradients of parameters (in 2.6).", LAYERS,
                  FUSE ("2.6") ",FLAGS_fuse_parameter_groups_size=1", GROUPS, "groups", "6", "3",
                  "6 gradients; as built a group is a layer"),
  GEMEM_SENTENCE ("fuse_parameter_groups_size.-1.in.1.4", "-1: there is one group (in 1.4).",
                  LAYERS, FUSE ("1.4") ",FLAGS_fuse_parameter_groups_size=-1", GROUPS, "groups",
                  "1", "1", "all layers in one"),
  GEMEM_SENTENCE ("fuse_parameter_groups_size.-1.in.2.6", "-1: there is one group (in 2.6).",
                  LAYERS, FUSE ("2.6") ",FLAGS_fuse_parameter_groups_size=-1", GROUPS, "groups",
                  "1", "3", "since 1.5 it never merges: a group a layer"),
  GEMEM_SENTENCE ("fuse_parameter_groups_size.default.1.4", "It is 3 by default (in 1.4).", LAYERS,
                  FUSE ("1.4"), PARAMETERS, "parameters", "3", "6",
                  "3 parameters; as built 3 too, but of layers"),
  GEMEM_SENTENCE ("fuse_parameter_groups_size.default.2.6", "It is 3 by default (in 2.6).", LAYERS,
                  FUSE ("2.6"), PARAMETERS, "parameters", "3", "2",
                  "since 1.5 it is 1 and not asked: a layer of 2 parameters"),
  GEMEM_SENTENCE ("fuse_parameter_groups_size.range", "It is an Int32.", LAYERS,
                  FUSE ("1.4") ",FLAGS_fuse_parameter_groups_size=2147483648", "status", "", "2",
                  "2", "status 2: more than 2^31 - 1"),
  GEMEM_SENTENCE ("fuse_parameter_groups_size.fraction", "It is an integer.", LAYERS,
                  FUSE ("1.4") ",FLAGS_fuse_parameter_groups_size=1.5", "status", "", "2", "2",
                  "status 2: no integer"),
  GEMEM_SENTENCE ("fuse_parameter_groups_size.example",
                  "FLAGS_fuse_parameter_groups_size=3: 3 gradients of parameters in a group.",
                  LAYERS, FUSE ("1.4") ",FLAGS_fuse_parameter_groups_size=3", PARAMETERS,
                  "parameters", "3", "6", "as built 3 layers of 2 parameters"),
  GEMEM_UNSEEN ("fuse_parameter_groups_size.empirical",
                "The default, 3, is a value from experience.",
                "where a number comes from, not a behaviour"),

  /* ---- fuse_parameter_memory_size */
  GEMEM_SENTENCE ("fuse_parameter_memory_size.since", "It exists since 1.5.0.", LAYERS,
                  FUSE ("1.4") ",FLAGS_fuse_parameter_memory_size=16", "status", "", "2", "0",
                  "status 2: no such flag; 1.4 has it and reads bytes"),
  GEMEM_SENTENCE ("fuse_parameter_memory_size.limit",
                  "It is the upper limit of the bytes of the gradients in a group.", LAYERS,
                  FUSE ("1.5") ",fuse_parameter_groups_size=-1,FLAGS_fuse_parameter_memory_size=8",
                  BYTES, "B", "4198304", "8396608",
                  "8388608: 4194304 + 4000, and no more fits; as built layers of 4198304 are "
                  "added until the limit is reached"),
  GEMEM_SENTENCE ("fuse_parameter_memory_size.limit.2.6",
                  "It is the upper limit of the bytes of the gradients in a group (in 2.6).",
                  LAYERS,
                  FUSE ("2.6") ",fuse_parameter_groups_size=-1,FLAGS_fuse_parameter_memory_size=8",
                  BYTES, "B", "4198304", "8396608", "as in 1.5"),
  GEMEM_UNSEEN ("fuse_parameter_memory_size.communication",
                "A group is what a call of communication, such as NCCLAllReduce, gets.",
                "no communication is simulated; `info` lists what each call would get"),
  GEMEM_SENTENCE ("fuse_parameter_memory_size.default",
                  "By default, -1.0, memory does not decide the groups.", ONE_LAYER,
                  FUSE ("1.5") ",fuse_parameter_groups_size=-1", BYTES, "B", "12582912", "12582912",
                  "three weights of 4 MiB in one group"),
  GEMEM_SENTENCE ("fuse_parameter_memory_size.-1.0", "-1.0 can be given, and means the same.",
                  ONE_LAYER,
                  FUSE ("1.5") ",fuse_parameter_groups_size=-1,"
                               "FLAGS_fuse_parameter_memory_size=-1.0",
                  BYTES, "B", "12582912", "12582912", "three weights of 4 MiB in one group"),
  GEMEM_SENTENCE ("fuse_parameter_memory_size.unit", "Its unit is MB.", LAYERS,
                  FUSE ("1.5") ",fuse_parameter_groups_size=-1,"
                               "FLAGS_fuse_parameter_memory_size=12.5",
                  GROUPS, "groups", "1", "1",
                  "12594912 bytes are 12.01 of 2^20; of 10^6 they would be 12.59 and two groups"),
  GEMEM_SENTENCE ("fuse_parameter_memory_size.range", "It is a Double.", LAYERS,
                  FUSE ("1.5") ",FLAGS_fuse_parameter_memory_size=sixteen", "status", "", "2", "2",
                  "status 2: no number"),
  GEMEM_SENTENCE ("fuse_parameter_memory_size.example",
                  "FLAGS_fuse_parameter_memory_size=16: at most 16 MB of gradients in a group.",
                  LAYERS,
                  FUSE ("1.5") ",fuse_parameter_groups_size=-1,FLAGS_fuse_parameter_memory_size=16",
                  BYTES, "B", "12594912", "12594912", "all of them: 3 * (4194304 + 4000)"),

  /* ---- memory_fraction_of_eager_deletion */
  GEMEM_SENTENCE ("memory_fraction_of_eager_deletion.since", "It exists since 1.4.", EQUAL_FOUR,
                  "info - --lower=paddle:version=1.3,{rules},executor=parallel,"
                  "eager_delete_tensor_gb=0,FLAGS_memory_fraction_of_eager_deletion=0.5",
                  "status", "", "2", "2", "status 2: no such flag in 1.3"),
  GEMEM_SENTENCE ("memory_fraction_of_eager_deletion.share",
                  "It is the share of the memory of variables that garbage collection frees.",
                  EQUAL_FOUR, FRACTION "0.5 -f json", PEAK, "B", "6291456", "6291456",
                  "of 4 variables of 1 MiB 2 are left when the 4 MiB come"),
  GEMEM_SENTENCE ("memory_fraction_of_eager_deletion.all",
                  "1.0: all temporary variables are freed.", EQUAL_FOUR, FRACTION "1.0 -f json",
                  PEAK, "B", "4194304", "4194304", "the 4 MiB alone"),
  GEMEM_SENTENCE ("memory_fraction_of_eager_deletion.none", "0.0: no temporary variable is freed.",
                  EQUAL_FOUR, FRACTION "0.0 -f json", PEAK, "B", "8388608", "8388608",
                  "4 of 1 MiB and the 4 MiB"),
  GEMEM_SENTENCE ("memory_fraction_of_eager_deletion.largest",
                  "Between, variables are sorted by descending size, and this share of them, the "
                  "largest, is freed.",
                  UNEQUAL_FOUR, FRACTION "0.5 -f json", PEAK, "B", "12582912", "13631488",
                  "2 of 4 variables, 7 and 1 MiB: 2 MiB left and 10; as built half of the 10 MiB, "
                  "which the first has: 3 left and 10"),
  GEMEM_SENTENCE ("memory_fraction_of_eager_deletion.only",
                  "It has an effect only in data parallel programs.", EQUAL_FOUR,
                  "FLAGS_memory_fraction_of_eager_deletion=0.0 compare - -a direct -f json --env "
                  "--lower=paddle:version=2.6,{rules},eager_delete_tensor_gb=0,executor=plain",
                  PEAKS, "B", "4194304", "4194304", "left out with a note: all are freed"),
  GEMEM_SENTENCE ("memory_fraction_of_eager_deletion.range", "It is a Double in [0.0, 1.0].",
                  EQUAL_FOUR, FRACTION "1.5", "status", "", "2", "2", "status 2: above 1"),
  GEMEM_SENTENCE ("memory_fraction_of_eager_deletion.default", "It is 1.0 by default.", EQUAL_FOUR,
                  COLLECT "0,executor=parallel -f json", PEAK, "B", "4194304", "4194304",
                  "the 4 MiB alone"),
  GEMEM_SENTENCE ("memory_fraction_of_eager_deletion.example.0",
                  "FLAGS_memory_fraction_of_eager_deletion=0: all are kept, that is, garbage "
                  "collection is off.",
                  EQUAL_FOUR,
                  "FLAGS_memory_fraction_of_eager_deletion=0 compare - -a direct -f json --env "
                  "--lower='paddle:version=2.6,{rules},eager_delete_tensor_gb=0,executor=parallel'",
                  PEAKS, "B", "8388608", "8388608", "4 of 1 MiB and the 4 MiB"),
  GEMEM_SENTENCE ("memory_fraction_of_eager_deletion.example.1",
                  "FLAGS_memory_fraction_of_eager_deletion=1: all temporary variables are freed.",
                  EQUAL_FOUR,
                  "FLAGS_memory_fraction_of_eager_deletion=1 compare - -a direct -f json --env "
                  "--lower='paddle:version=2.6,{rules},eager_delete_tensor_gb=0,executor=parallel'",
                  PEAKS, "B", "4194304", "4194304", "the 4 MiB alone"),
  GEMEM_SENTENCE (
      "memory_fraction_of_eager_deletion.example.0.5",
      "FLAGS_memory_fraction_of_eager_deletion=0.5: only the 50 % of the variables that "
      "take most memory are freed.",
      UNEQUAL_FOUR,
      "FLAGS_memory_fraction_of_eager_deletion=0.5 compare - -a direct -f json --env "
      "--lower='paddle:version=2.6,{rules},eager_delete_tensor_gb=0,executor=parallel'",
      PEAKS, "B", "12582912", "13631488",
      "2 of 4 variables; as built the variables that have half of the bytes: 1 of 4"),
};

const GememManual gemem_manual_paddle_execution = {
  .name = "paddle-execution",
  .system = "paddle",
  .title = "PaddlePaddle: flags of its executors",
  .sentences = sentences,
  .n_sentences = G_N_ELEMENTS (sentences),
};
