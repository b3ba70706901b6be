/* rules.h - whose word a model follows: the system as it is built, or as its manual says.
 *
 * Why: the manuals of GE and of PaddlePaddle say one thing where the systems do another.  Every
 * allocator, planner and lowering for which a sentence of a manual makes a difference has the
 * parameter `rules`; what it decides is written at each class, and `gemem-sim conformance` runs the
 * examples under both.
 *
 * Invariants: the default is what is built; a class without any difference has no such parameter.
 */
#pragma once

#include "base/params.h"

typedef enum
{
  GEMEM_RULES_AS_BUILT,
  GEMEM_RULES_DOCUMENTED,
} GememRules;

/* The row of the parameter `rules`, an int @field of the @Type of a class's parameters; @effect:
 * one sentence on what the manual's rules change in this class. */
#define GEMEM_RULES_ROW(Type, field, effect) \
  { \
    GEMEM_RULES_MEMBERS (Type, field, effect) \
  }
/* What is in such a row, for one that has more in it. */
#define GEMEM_RULES_MEMBERS(Type, field, effect) \
  .name = "rules", .type = GEMEM_PARAM_CHOICE, .default_text = "as-built", \
  .choices = "as-built|documented", .offset = G_STRUCT_OFFSET (Type, field), \
  .help = "Follow the system as it is built, or as its manual says. Documented: " effect
