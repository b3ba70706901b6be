/* sentences-ge-config.c - the sentences of GE's page on MemoryConfig, with which a program of
 * TensorFlow sets static_memory_policy and atomic_clean_policy; see manuals.h.
 */
#include "config.h"

#include "sim/manuals/sentences-ge.h"

#define ID(text) "ge-config." text
#define SETTING "static_memory_policy="

static const GememSentence sentences[] = {
  GEMEM_SENTENCE (ID ("constructor"),
                  "MemoryConfig says how the memory of the system is handled; both of its "
                  "arguments are 0 by default.",
                  GE_THREE_GRAPHS, "replay - -a ge:{rules} -f json", GE_MODE, "", "0", "0",
                  "neither is given; rows of atomic_clean_policy: ge-config.atomic-*"),
  GEMEM_SENTENCE (ID ("mode"), "static_memory_policy sets how memory is allocated at run time.",
                  GE_THREE_GRAPHS, "replay - -a ge:{rules},static_memory_policy=4 -f json", GE_MODE,
                  "", "4", "4", "the option alone"),
#include "sim/manuals/sentences-ge-modes.def"
  GEMEM_SENTENCE (
      ID ("other-values"), "The modes are 0, 2, 3 and 4 (and 1).", GE_THREE_GRAPHS,
      "replay - -a 'ge:{rules and slips},static_memory_policy=5'", "status", "", "2", "0",
      "status 2: refused; GE counts it as 0, silently: as_built=yes, without which it is "
      "refused here, too"),
  GEMEM_UNSEEN (ID ("returns"), "It returns an object that NPURunConfig takes as an argument.",
                "an object of Python"),
  GEMEM_UNSEEN (ID ("restrictions"), "There are no restrictions.",
                "it says nothing beyond the notes above, which are restrictions"),
  GEMEM_SENTENCE (ID ("example"), "Example: atomic_clean_policy=0, static_memory_policy=0.",
                  GE_THREE_GRAPHS,
                  "replay - -q -a ge:{rules},atomic_clean_policy=0,static_memory_policy=0 -f json",
                  GE_MODE, "", "0", "0", "as the default"),
};

const GememManual gemem_manual_ge_config = {
  .name = "ge-config",
  .system = "ge",
  .title = "GE: MemoryConfig",
  .sentences = sentences,
  .n_sentences = G_N_ELEMENTS (sentences),
};
