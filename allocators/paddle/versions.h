/* versions.h - the releases of PaddlePaddle that a setting can name, and the parameter `version` of
 * every allocator of PaddlePaddle.
 *
 * Why: what a flag means, which flags there are and which allocator serves by default changed from
 * release to release.  Users know the release they run; manuals and older notes speak of presets,
 * groups of releases that decide nearly alike (P13: 1.2-1.3, P14: 1.4-1.5, P16: 1.6-2.0, P2:
 * 2.1-2.6, P3: 3.x).  A preset is a synonym of the last release of its group, and `preset` another
 * name of the parameter, so that both can never contradict each other.
 *
 * Invariants: the releases are in order of time, so "since 1.6" is a comparison; the choices of a
 * class are a run of this list without gaps, and the index of a choice counts from its first.
 * Origin: paddle.md, table of presets, and section 13.1.
 */
#pragma once

#include "base/params.h"

typedef enum
{
  GEMEM_PADDLE_1_2,
  GEMEM_PADDLE_1_3,
  GEMEM_PADDLE_1_4,
  GEMEM_PADDLE_1_5,
  GEMEM_PADDLE_1_6,
  GEMEM_PADDLE_1_7,
  GEMEM_PADDLE_1_8,
  GEMEM_PADDLE_2_0,
  GEMEM_PADDLE_2_1,
  GEMEM_PADDLE_2_2,
  GEMEM_PADDLE_2_3,
  GEMEM_PADDLE_2_4,
  GEMEM_PADDLE_2_5,
  GEMEM_PADDLE_2_6,
  GEMEM_PADDLE_3_X,
} GememPaddleVersion;

/* The choices of a class: a run of releases, then the presets and the full numbers of the releases
 * that were run as synonyms. */
#define GEMEM_PADDLE_RELEASES_UNTIL_1_5 "1.2|1.3|1.4|1.5"
#define GEMEM_PADDLE_RELEASES_SINCE_2_3 "2.3|2.4|2.5|2.6|3.x"
#define GEMEM_PADDLE_RELEASES_SINCE_2_0 "2.0|2.1|2.2|" GEMEM_PADDLE_RELEASES_SINCE_2_3
#define GEMEM_PADDLE_RELEASES_SINCE_1_6 "1.6|1.7|1.8|" GEMEM_PADDLE_RELEASES_SINCE_2_0

#define GEMEM_PADDLE_NAMES_UNTIL_1_5 "|P13=1.3|P14=1.5"
#define GEMEM_PADDLE_NAMES_SINCE_2_3 \
  "|P2=2.6|P3=3.x|P2/P3=3.x|2.5.2=2.5|2.6.2=2.6|3=3.x|3.0=3.x|3.1=3.x|3.2=3.x"
#define GEMEM_PADDLE_NAMES_SINCE_2_0 \
  "|P16=2.0|2.0.2=2.0|2.1.3=2.1|2.2.2=2.2" GEMEM_PADDLE_NAMES_SINCE_2_3
#define GEMEM_PADDLE_NAMES_SINCE_1_6 "|1.7.0=1.7|1.8.5=1.8" GEMEM_PADDLE_NAMES_SINCE_2_0

#define GEMEM_PADDLE_VERSIONS_UNTIL_1_5 GEMEM_PADDLE_RELEASES_UNTIL_1_5 GEMEM_PADDLE_NAMES_UNTIL_1_5
#define GEMEM_PADDLE_VERSIONS_SINCE_2_3 GEMEM_PADDLE_RELEASES_SINCE_2_3 GEMEM_PADDLE_NAMES_SINCE_2_3
#define GEMEM_PADDLE_VERSIONS_SINCE_2_0 GEMEM_PADDLE_RELEASES_SINCE_2_0 GEMEM_PADDLE_NAMES_SINCE_2_0
#define GEMEM_PADDLE_VERSIONS_SINCE_1_6 GEMEM_PADDLE_RELEASES_SINCE_1_6 GEMEM_PADDLE_NAMES_SINCE_1_6
#define GEMEM_PADDLE_VERSIONS \
  GEMEM_PADDLE_RELEASES_UNTIL_1_5 \
  "|" GEMEM_PADDLE_RELEASES_SINCE_1_6 GEMEM_PADDLE_NAMES_UNTIL_1_5 GEMEM_PADDLE_NAMES_SINCE_1_6

/* The row of the parameter `version`, an int @field of @Type; @versions: GEMEM_PADDLE_VERSIONS...;
 * @one_each: one release of each kind that the class tells apart; @text: what they differ in. */
#define GEMEM_PADDLE_VERSION_ROW(Type, field, versions, standard, one_each, text) \
  { \
    .name = "version", .type = GEMEM_PARAM_CHOICE, .default_text = standard, .choices = versions, \
    .sweep = one_each, .aliases = "preset", .offset = G_STRUCT_OFFSET (Type, field), .help = text \
  }
