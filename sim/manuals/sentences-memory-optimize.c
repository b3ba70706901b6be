/* sentences-memory-optimize.c - the sentences of PaddlePaddle's page on memory_optimize, "Video
 * Memory Optimization"; see manuals.h.
 *
 * All figures follow from paddle.md 8 and 13.2; the walks over the programs are in `why`.
 */
#include "config.h"

#include "sim/manuals/manuals.h"

/* One tensor of the program format, of 64 elements. */
#define VAR(name, shape) "\"" name "\":{\"shape\":[" shape "],\"dtype\":\"float32\"}"
#define OP(type, in, out) "{\"type\":\"" type "\",\"inputs\":[" in "],\"outputs\":[\"" out "\"]}"

/* clang-format off */

/* z = sum(x, y); m = matmul(y, z); all of the same size. */
#define SUM_MATMUL \
  "{\"vars\":{" VAR ("x", "8,8") "," VAR ("y", "8,8") "," \
  VAR ("z", "8,8") "," VAR ("m", "8,8") "},\n" \
  "\"ops\":[" OP ("sum", "\"x\",\"y\"", "z") "," OP ("matmul", "\"y\",\"z\"", "m") "]}\n"

/* a = relu(w); b = relu(a); c = relu(b); w is a parameter, c has the shape given. */
#define CHAIN(shape) \
  "{\"vars\":{\"w\":{\"shape\":[4,16],\"dtype\":\"float32\",\"persistable\":true},\n" \
  VAR ("a", "4,16") "," VAR ("b", "4,16") "," VAR ("c", shape) "},\n" \
  "\"ops\":[" OP ("relu", "\"w\"", "a") "," OP ("relu", "\"a\"", "b") "," \
  OP ("relu", "\"b\"", "c") "]}\n"

#define OUT(name) "\"outputs\":[{\"variable\":\"" name "\",\"shape\":[8,8],\"dtype\":\"float32\"}]"
#define TENSOR(name) "{\"name\":\"" name "\",\"shape\":[8,8],\"dtype\":\"float32\"}"

/* One training step: fc = mul(x, w), a = relu(fc), loss = mean(a); then the gradients, then sgd. */
#define TRAINING \
  "{\"variables\":[\n" TENSOR ("x") "," TENSOR ("fc") "," TENSOR ("a") "," \
  TENSOR ("a@GRAD") "," TENSOR ("fc@GRAD") "," TENSOR ("w@GRAD") ",\n" \
  "{\"name\":\"w\",\"shape\":[8,8],\"dtype\":\"float32\",\"persistable\":true}," \
  "{\"name\":\"loss\",\"shape\":[1],\"dtype\":\"float32\"}],\n" \
  "\"nodes\":[\n" \
  "{\"name\":\"mul\",\"type\":\"mul\",\"inputs\":[\"x\",\"w\"]," OUT ("fc") "},\n" \
  "{\"name\":\"relu\",\"type\":\"relu\",\"inputs\":[[\"mul\",0]]," OUT ("a") "},\n" \
  "{\"name\":\"mean\",\"type\":\"mean\",\"inputs\":[[\"relu\",0]]," \
  "\"outputs\":[{\"variable\":\"loss\",\"shape\":[1],\"dtype\":\"float32\"}]},\n" \
  "{\"name\":\"mean_grad\",\"type\":\"mean_grad\",\"role\":1," \
  "\"inputs\":[[\"mean\",0]]," OUT ("a@GRAD") "},\n" \
  "{\"name\":\"relu_grad\",\"type\":\"relu_grad\",\"role\":1," \
  "\"inputs\":[[\"mean_grad\",0],[\"relu\",0]]," OUT ("fc@GRAD") "},\n" \
  "{\"name\":\"mul_grad\",\"type\":\"mul_grad\",\"role\":1," \
  "\"inputs\":[[\"relu_grad\",0],\"x\"]," \
  "\"attributes\":{\"op_role_var\":[\"w\",\"w@GRAD\"]}," OUT ("w@GRAD") "},\n" \
  "{\"name\":\"sgd\",\"type\":\"sgd\",\"role\":2,\"inputs\":[\"w\",[\"mul_grad\",0]]," \
  "\"attributes\":{\"op_role_var\":[\"w\",\"w@GRAD\"]}," OUT ("w") "}]}\n"

/* clang-format on */

#define PLAN "plan - --no-time -p paddle-memory-optimize:print_log=True,"
#define REUSES "count =>"

static const GememSentence sentences[] = {
  GEMEM_UNSEEN ("memory_optimize.gpu", "The page is about training on GPUs.",
                "where the page applies; memory is planned alike for every device"),
  GEMEM_SENTENCE ("memory_optimize.interface", "The interface is called memory_optimize.", NULL,
                  "help memory_optimize", "line ^(paddle-memory-optimize) \\(planner\\)", "",
                  "paddle-memory-optimize", "paddle-memory-optimize",
                  "the planner that does what the Python function does"),
  GEMEM_SENTENCE (
      "memory_optimize.lifetime",
      "The remaining lifetime of each variable follows from the operators.", SUM_MATMUL,
      "plan - --no-time -p paddle-release-memory:print_log=True", "line index 1: (.*)$", "", "x",
      "x", "release_memory deletes behind sum what no operator behind it reads: x, but not y"),
  GEMEM_SENTENCE ("memory_optimize.reuse",
                  "A later variable takes the memory of one whose lifetime is over.",
                  CHAIN ("4,16"), PLAN "level=0", REUSES, "reuses", "1", "1",
                  "a is read by the second operator for the last time; c, of the third, takes it"),
  GEMEM_SENTENCE ("memory_optimize.sum_matmul",
                  "z = sum(x, y), m = matmul(y, z): m can take the memory of x.", SUM_MATMUL,
                  PLAN "{rules}", "count m\\[8, 8\\] => x\\[8, 8\\]", "reuses", "1", "0",
                  "from 1.3 on only what an operator writes gives its memory; x is fed"),
  GEMEM_SENTENCE ("memory_optimize.sum_matmul.plan", "The same, as the plan counts it.", SUM_MATMUL,
                  "plan - -p paddle-memory-optimize:{rules} -f json", "json $.plans[*].reused",
                  "reuses", "1", "0", "m in x; a plan and its log tell the same"),
  GEMEM_SENTENCE ("memory_optimize.sum_matmul.1.2",
                  "z = sum(x, y), m = matmul(y, z): m can take the memory of x (release 1.2).",
                  SUM_MATMUL, PLAN "{rules},version=1.2",
                  "count var name is m, cached var name is x", "reuses", "1", "1",
                  "until 1.2 fed variables give their memory, too"),
  GEMEM_SENTENCE ("memory_optimize.skip_opt_set",
                  "The memory of variables in skip_opt_set is not used by others.", TRAINING,
                  PLAN "skip_opt_set=[fc]", "count => fc", "reuses", "0", "0",
                  "a@GRAD, which takes fc without the setting, finds nothing else that is dead"),
  GEMEM_SENTENCE (
      "memory_optimize.skip_opt_set.example", "skip_opt_set may be given as (\"fc\").", TRAINING,
      PLAN "'skip_opt_set=(\"fc\"),{rules}'", "count => fc", "reuses", "0", "0",
      "read as [fc]; a Python program gets a ValueError, as (\"fc\") is a text there and no "
      "collection of names"),
  GEMEM_SENTENCE ("memory_optimize.skip_grads",
                  "With skip_grads=True nothing of the backward part is reused.", TRAINING,
                  PLAN "skip_grads=True,{rules}", REUSES, "reuses", "0", "1",
                  "built: only w@GRAD, which sgd reads, is left out; a@GRAD still takes fc"),
  GEMEM_SENTENCE ("memory_optimize.skip_grads.default",
                  "The backward part is left out when skip_grads is passed, so not without it (the "
                  "page also says that it is left out anyway).",
                  TRAINING, PLAN "{rules}", REUSES, "reuses", "2", "2",
                  "a@GRAD takes fc, w@GRAD takes a"),
  GEMEM_SENTENCE ("memory_optimize.skip_grads.default.1.5",
                  "The backward part is left out when skip_grads is passed, so not without it "
                  "(release 1.5).",
                  TRAINING, PLAN "{rules},version=1.5", REUSES, "reuses", "2", "1",
                  "since 2019-06 skip_grads is True by default: w@GRAD is left out"),
  GEMEM_SENTENCE ("memory_optimize.skip.example",
                  "skip_opt_set=(\"fc\"), skip_grads=True skips fc and the backward part.",
                  TRAINING, PLAN "skip_opt_set=[fc],skip_grads=True,{rules}", REUSES, "reuses", "0",
                  "0", "without fc nothing is dead before mul_grad, and w@GRAD is left out"),
  GEMEM_SENTENCE ("memory_optimize.print_log", "print_log=True prints what is reused.",
                  CHAIN ("4,16"),
                  "plan - --no-time -p paddle-memory-optimize:level=0,print_log=True",
                  "line ^(!!!.*)$", "", "!!! 0,  c[4, 16] => a[4, 16], cache idx 0, pool size 1",
                  "!!! 0,  c[4, 16] => a[4, 16], cache idx 0, pool size 1",
                  "the pool holds a alone; the line's form is that of 1.3 to 1.5"),
  GEMEM_SENTENCE ("memory_optimize.print_log.off", "Without print_log nothing is printed.",
                  CHAIN ("4,16"), "plan - --no-time -p paddle-memory-optimize:level=0", REUSES,
                  "lines", "0", "0", "print_log is False by default"),
  GEMEM_SENTENCE ("memory_optimize.level", "The level is 0 or 1.", CHAIN ("4,16"),
                  "plan - -p paddle-memory-optimize:level=0|1 -f json", "json $.plans[*].reused",
                  "reuses", "1, 1", "1, 1", "c takes a under both"),
  GEMEM_SENTENCE ("memory_optimize.level.2", "There is no level but 0 and 1.", SUM_MATMUL,
                  "plan - -p paddle-memory-optimize:level=2", "status", "", "2", "2",
                  "status 2: the command was not understood"),
  GEMEM_SENTENCE ("memory_optimize.level.0", "Level 0: only variables of the same shape reuse.",
                  CHAIN ("64"), PLAN "level=0", REUSES, "reuses", "0", "0",
                  "c[64] has the 64 elements of a[4, 16], but another shape"),
  GEMEM_SENTENCE ("memory_optimize.level.1", "Level 1: also variables of other shapes reuse.",
                  CHAIN ("64"), PLAN "level=1", REUSES, "reuses", "1", "1",
                  "64 elements fit into the 64 of a"),
  GEMEM_SENTENCE ("memory_optimize.level.1.smaller",
                  "Level 1: reuse as much as possible, also by smaller variables.", CHAIN ("10"),
                  PLAN "level=1", REUSES, "reuses", "1", "1", "10 elements fit into the 64 of a"),
  GEMEM_SENTENCE ("memory_optimize.level.1.larger",
                  "Level 1: reuse as much as possible, but not of what is too small.", CHAIN ("65"),
                  PLAN "level=1", REUSES, "reuses", "0", "0",
                  "65 elements do not fit into the 64 of a"),
  GEMEM_SENTENCE ("memory_optimize.level.example",
                  "level=0, print_log=True: reuse of equal shapes, all of it printed.",
                  CHAIN ("4,16"), PLAN "level=0", REUSES, "lines", "1", "1", "one reuse, one line"),
};

const GememManual gemem_manual_memory_optimize = {
  .name = "memory-optimize",
  .system = "memory_optimize",
  .title = "PaddlePaddle: memory_optimize",
  .sentences = sentences,
  .n_sentences = G_N_ELEMENTS (sentences),
};
