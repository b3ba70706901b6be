/* sentences-ge-variable.c - the sentences of GE's page on the environment variable
 * GE_USE_STATIC_MEMORY; see manuals.h.
 */
#include "config.h"

#include "sim/manuals/sentences-ge.h"

#define ID(text) "ge-variable." text
#define SETTING "GE_USE_STATIC_MEMORY="

static const GememSentence sentences[] = {
  GEMEM_SENTENCE (ID ("mode"), "It sets how memory is allocated while the network runs.",
                  GE_THREE_GRAPHS, "GE_USE_STATIC_MEMORY=4 replay - --env -a ge:{rules} -f json",
                  GE_MODE, "", "4", "4", "the variable alone"),
#include "sim/manuals/sentences-ge-modes.def"
  GEMEM_SENTENCE (ID ("other-values"), "The modes are 0, 2, 3 and 4 (and 1).", GE_THREE_GRAPHS,
                  "GE_USE_STATIC_MEMORY=02 replay - --env -a ge:{rules}", "status", "", "2", "0",
                  "02 is not listed; as built any other text counts as 0, silently: a note here"),
  GEMEM_UNSEEN (ID ("deprecated"), "The variable will be deprecated in later versions.",
                "of versions to come; gemem reads it, with a note that it is deprecated"),
  GEMEM_SENTENCE (ID ("conflict"),
                  "It cannot be used together with static_memory_policy: a conflict at run time.",
                  GE_THREE_GRAPHS,
                  "GE_USE_STATIC_MEMORY=2 replay - --env -a ge:{rules},static_memory_policy=3",
                  "status", "", "2", "0",
                  "status 2: refused; as built what either switches on is on, with a note"),
  GEMEM_SENTENCE (ID ("conflict.merged"),
                  "Set together with static_memory_policy it is a conflict, so nothing counts.",
                  GE_THREE_GRAPHS,
                  "GE_USE_STATIC_MEMORY=2 replay - --env -a ge:{rules},static_memory_policy=3",
                  "line (conflict|policy 4)", "", "conflict", "policy 4",
                  "static by the one, dynamic by the other: 2 and 3 are 4"),
  GEMEM_SENTENCE (ID ("advice"), "static_memory_policy is to be used instead.", GE_THREE_GRAPHS,
                  "replay - -a ge:{rules},static_memory_policy=2 -f json", GE_MODE, "", "2", "2",
                  "the option alone"),
  GEMEM_SENTENCE (
      ID ("conflict.graph-construction"),
      "When graphs are built, it cannot be used together with ge.exec.staticMemoryPolicy.",
      GE_THREE_GRAPHS,
      "GE_USE_STATIC_MEMORY=4 replay - --env -a ge:{rules},ge.exec.staticMemoryPolicy=2", "status",
      "", "2", "0", "the same setting under its other name; as built 4 and 2 are 4"),
  GEMEM_SENTENCE (ID ("advice.graph-construction"),
                  "ge.exec.staticMemoryPolicy is to be used instead.", GE_THREE_GRAPHS,
                  "replay - -a ge:{rules},ge.exec.staticMemoryPolicy=3 -f json", GE_MODE, "", "3",
                  "3", "the option alone"),
  GEMEM_SENTENCE (ID ("example"), "Example: export GE_USE_STATIC_MEMORY=2.", GE_THREE_GRAPHS,
                  "GE_USE_STATIC_MEMORY=2 replay - --env -a ge:{rules} -f json", GE_MODE, "", "2",
                  "2", "the variable alone"),
  GEMEM_UNSEEN (ID ("restrictions"), "There are no restrictions.",
                "it says nothing beyond the notes above, which are restrictions"),
};

const GememManual gemem_manual_ge_variable = {
  .name = "ge-variable",
  .system = "ge",
  .title = "GE: the environment variable GE_USE_STATIC_MEMORY",
  .sentences = sentences,
  .n_sentences = G_N_ELEMENTS (sentences),
};
