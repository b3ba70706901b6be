/* paddle-versions.h - the releases of PaddlePaddle that `version=` names, the group of releases
 * (preset) to which each belongs, and the parameter `version` of allocators and lowerings.
 *
 * Why: what a flag means, which flags there are and which allocator serves by default changed from
 * release to release.  A user knows the number of the release that runs; older notes speak of
 * presets, groups of releases that decide nearly alike.  What differs inside a group asks for the
 * release; where only the group is given, the group's rule holds.  For allocators a preset is a
 * synonym of the last release of its group, and `preset` another name of the parameter, so that the
 * two never contradict each other.
 * This is the one table: base is the lowest folder that its users (workloads, allocators, sim/cli)
 * may include.  The planners' own list (planners/paddle/params.h) has the releases of Python scripts.
 *
 * Invariants: releases ascend, so "since 1.6" is a comparison; a group's releases follow each
 * other; the choices of a class are a run of releases without gaps, and the index of a choice counts
 * from the first of them.
 * Origin: paddle.md, table of presets, and 13.1.
 */
#pragma once

#include "base/params.h"

/* Groups of releases with nearly the same rules. */
typedef enum
{
  GEMEM_ERA_P13, /* 1.2 - 1.3 */
  GEMEM_ERA_P14, /* 1.4 - 1.5 */
  GEMEM_ERA_P16, /* 1.6 - 2.0 */
  GEMEM_ERA_P2,  /* 2.1 - 2.6 */
  GEMEM_ERA_P3,  /* 3.x */
} GememPaddleEra;

/* The one list, in runs that begin where the choices of an allocator do: symbol, name, group. */
#define GEMEM_PADDLE_UNTIL_1_5(RELEASE) \
  RELEASE (1_2, "1.2", P13) \
  RELEASE (1_3, "1.3", P13) \
  RELEASE (1_4, "1.4", P14) \
  RELEASE (1_5, "1.5", P14)
#define GEMEM_PADDLE_SINCE_2_3(RELEASE) \
  RELEASE (2_3, "2.3", P2) \
  RELEASE (2_4, "2.4", P2) \
  RELEASE (2_5, "2.5", P2) \
  RELEASE (2_6, "2.6", P2) \
  RELEASE (3_X, "3.x", P3)
#define GEMEM_PADDLE_SINCE_2_0(RELEASE) \
  RELEASE (2_0, "2.0", P16) \
  RELEASE (2_1, "2.1", P2) \
  RELEASE (2_2, "2.2", P2) \
  GEMEM_PADDLE_SINCE_2_3 (RELEASE)
#define GEMEM_PADDLE_SINCE_1_6(RELEASE) \
  RELEASE (1_6, "1.6", P16) \
  RELEASE (1_7, "1.7", P16) \
  RELEASE (1_8, "1.8", P16) \
  GEMEM_PADDLE_SINCE_2_0 (RELEASE)
#define GEMEM_PADDLE_RELEASES(RELEASE) \
  GEMEM_PADDLE_UNTIL_1_5 (RELEASE) \
  GEMEM_PADDLE_SINCE_1_6 (RELEASE)

#define GEMEM_PADDLE_SYMBOL_(symbol, name, era) GEMEM_PADDLE_##symbol,
#define GEMEM_PADDLE_NAME_(symbol, name, era) "|" name
#define GEMEM_PADDLE_CHOICE_(symbol, name, era) name "|"

typedef enum
{
  GEMEM_PADDLE_RELEASES (GEMEM_PADDLE_SYMBOL_)
} GememPaddleVersion;

/* A synonym for the last choice of a parameter. */
#define GEMEM_PADDLE_NEWEST "|3=3.x"

/* Of a GEMEM_PARAM_CHOICE whose default is "default": the index of a choice is 1 more than the
 * GememPaddleVersion. */
#define GEMEM_PADDLE_VERSION_CHOICES \
  "default" GEMEM_PADDLE_RELEASES (GEMEM_PADDLE_NAME_) GEMEM_PADDLE_NEWEST

/* The choices of a class: a run of releases, then presets and full numbers as synonyms. */
#define GEMEM_PADDLE_VERSIONS_UNTIL_1_5 \
  GEMEM_PADDLE_UNTIL_1_5 (GEMEM_PADDLE_CHOICE_) "P13=1.3|P14=1.5"
#define GEMEM_PADDLE_VERSIONS_SINCE_2_3 \
  GEMEM_PADDLE_SINCE_2_3 (GEMEM_PADDLE_CHOICE_) \
  "P2=2.6|P3=3.x|P2/P3=3.x" GEMEM_PADDLE_NEWEST
#define GEMEM_PADDLE_VERSIONS_SINCE_2_0 \
  GEMEM_PADDLE_SINCE_2_0 (GEMEM_PADDLE_CHOICE_) \
  "P16=2.0|P2=2.6|P3=3.x|P2/P3=3.x" GEMEM_PADDLE_NEWEST
#define GEMEM_PADDLE_VERSIONS_SINCE_1_6 \
  GEMEM_PADDLE_SINCE_1_6 (GEMEM_PADDLE_CHOICE_) \
  "P16=2.0|P2=2.6|P3=3.x|P2/P3=3.x" GEMEM_PADDLE_NEWEST
#define GEMEM_PADDLE_VERSIONS \
  GEMEM_PADDLE_RELEASES (GEMEM_PADDLE_CHOICE_) \
  "P13=1.3|P14=1.5|P16=2.0|P2=2.6|P3=3.x|P2/P3=3.x" GEMEM_PADDLE_NEWEST

/* The row, an int @field of @Type; @versions: GEMEM_PADDLE_VERSIONS...; @one_each: one release of
 * each kind that the class tells apart; @text: what they differ in. */
#define GEMEM_PADDLE_VERSION_ROW(Type, field, versions, standard, one_each, text) \
  { \
    .name = "version", .type = GEMEM_PARAM_CHOICE, .flags = GEMEM_PARAM_RELEASE, \
    .default_text = standard, .choices = versions, .sweep = one_each, .aliases = "preset", \
    .offset = G_STRUCT_OFFSET (Type, field), .help = text \
  }

/* The group of @version. */
static inline GememPaddleEra
gemem_paddle_era (GememPaddleVersion version)
{
#define GEMEM_PADDLE_ERA_(symbol, name, era) GEMEM_ERA_##era,
  static const GememPaddleEra eras[] = { GEMEM_PADDLE_RELEASES (GEMEM_PADDLE_ERA_) };
#undef GEMEM_PADDLE_ERA_

  return eras[version];
}
