/* paddle-versions.h - the releases of PaddlePaddle that `version=` names, and the group of releases
 * (preset) to which each belongs.
 *
 * Why: a user knows the number of the release that runs, not the name of a group of releases.  A
 * parameter `version` has the choices GEMEM_PADDLE_VERSION_CHOICES; its value is a
 * GememPaddleVersion.  What differs inside a group asks for the release; where only the group is
 * given, the group's rule holds.
 *
 * Invariants: releases ascend, so they compare by <; a group's releases follow each other.
 * Origin: paddle.md (presets), 13.1.
 */
#pragma once

#include <glib.h>

/* Groups of releases with the same rules. */
typedef enum
{
  GEMEM_ERA_P13, /* 1.2 - 1.3; 1.0 and 1.1 as far as they are known */
  GEMEM_ERA_P14, /* 1.4 - 1.5 */
  GEMEM_ERA_P16, /* 1.6 - 2.0 */
  GEMEM_ERA_P2,  /* 2.1 - 2.6 */
  GEMEM_ERA_P3,  /* 3.x */
} GememPaddleEra;

/* The one list: major, minor, group. */
#define GEMEM_PADDLE_RELEASES(RELEASE) \
  RELEASE (1, 0, P13) \
  RELEASE (1, 1, P13) \
  RELEASE (1, 2, P13) \
  RELEASE (1, 3, P13) \
  RELEASE (1, 4, P14) \
  RELEASE (1, 5, P14) \
  RELEASE (1, 6, P16) \
  RELEASE (1, 7, P16) \
  RELEASE (1, 8, P16) \
  RELEASE (2, 0, P16) \
  RELEASE (2, 1, P2) \
  RELEASE (2, 2, P2) \
  RELEASE (2, 3, P2) \
  RELEASE (2, 4, P2) \
  RELEASE (2, 5, P2) \
  RELEASE (2, 6, P2) \
  RELEASE (3, 0, P3)

#define GEMEM_PADDLE_ENUM_(major, minor, era) GEMEM_PADDLE_##major##_##minor,
typedef enum
{
  GEMEM_PADDLE_BY_PRESET, /* no release was named */
  GEMEM_PADDLE_RELEASES (GEMEM_PADDLE_ENUM_)
} GememPaddleVersion;
#undef GEMEM_PADDLE_ENUM_

#define GEMEM_PADDLE_CHOICE_(major, minor, era) "|" #major "." #minor
/* Of a GEMEM_PARAM_CHOICE, with "preset" as its default; wheels by their full number, too. */
#define GEMEM_PADDLE_VERSION_CHOICES \
  "preset" GEMEM_PADDLE_RELEASES (GEMEM_PADDLE_CHOICE_) "|1.7.0=1.7|1.8.5=1.8|2.0.2=2.0|2.1.3=2.1" \
                                                        "|2.2.2=2.2|2.5.2=2.5|2.6.2=2.6"

/* The group of @version, which names a release. */
static inline GememPaddleEra
gemem_paddle_era (GememPaddleVersion version)
{
#define ERA(major, minor, era) GEMEM_ERA_##era,
  static const GememPaddleEra eras[] = { GEMEM_PADDLE_RELEASES (ERA) };
#undef ERA

  g_assert (version > GEMEM_PADDLE_BY_PRESET && version <= G_N_ELEMENTS (eras));
  return eras[version - 1];
}
