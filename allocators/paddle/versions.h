/* versions.h - the parameter `version` of PaddlePaddle's allocators.
 *
 * Why: what a flag means, which flags there are and which allocator serves by default changed from
 * release to release.  Users know the release they run; older notes speak of presets, groups of
 * releases that decide nearly alike.  Here a preset is a synonym of the last release of its group,
 * and `preset` another name of the parameter, so that the two never contradict each other.
 *
 * Invariants: the choices of a class are a run of releases without gaps; the index of a choice
 * counts from the first of them.
 * Origin: paddle.md, table of presets, and section 13.1.
 */
#pragma once

#include "base/paddle-versions.h"
#include "base/params.h"

#define GEMEM_PADDLE_CHOICE_(symbol, name, era) name "|"

/* The choices of a class: a run of releases, then presets and full numbers as synonyms. */
#define GEMEM_PADDLE_VERSIONS_UNTIL_1_5 \
  GEMEM_PADDLE_UNTIL_1_5 (GEMEM_PADDLE_CHOICE_) "P13=1.3|P14=1.5"
#define GEMEM_PADDLE_VERSIONS_SINCE_2_3 \
  GEMEM_PADDLE_SINCE_2_3 (GEMEM_PADDLE_CHOICE_) \
  "P2=2.6|P3=3.x|P2/P3=3.x" GEMEM_PADDLE_FULL_NUMBERS_SINCE_2_3
#define GEMEM_PADDLE_VERSIONS_SINCE_2_0 \
  GEMEM_PADDLE_SINCE_2_0 (GEMEM_PADDLE_CHOICE_) \
  "P16=2.0|P2=2.6|P3=3.x|P2/P3=3.x" GEMEM_PADDLE_FULL_NUMBERS_SINCE_2_0
#define GEMEM_PADDLE_VERSIONS_SINCE_1_6 \
  GEMEM_PADDLE_SINCE_1_6 (GEMEM_PADDLE_CHOICE_) \
  "P16=2.0|P2=2.6|P3=3.x|P2/P3=3.x" GEMEM_PADDLE_FULL_NUMBERS_SINCE_1_6
#define GEMEM_PADDLE_VERSIONS \
  GEMEM_PADDLE_RELEASES (GEMEM_PADDLE_CHOICE_) \
  "P13=1.3|P14=1.5|P16=2.0|P2=2.6|P3=3.x|P2/P3=3.x" GEMEM_PADDLE_FULL_NUMBERS_SINCE_1_6

/* The row, an int @field of @Type; @versions: GEMEM_PADDLE_VERSIONS...; @one_each: one release of
 * each kind that the class tells apart; @text: what they differ in. */
#define GEMEM_PADDLE_VERSION_ROW(Type, field, versions, standard, one_each, text) \
  { \
    .name = "version", .type = GEMEM_PARAM_CHOICE, .default_text = standard, .choices = versions, \
    .sweep = one_each, .aliases = "preset", .offset = G_STRUCT_OFFSET (Type, field), .help = text \
  }
