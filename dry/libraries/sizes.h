/* sizes.h - how large a workspace must be: known only to the real library.
 *
 * The answer is 0, and a note WORKSPACE for each function asked: a recording made so is
 * a lower bound, and the verdict says that it is one. With $GEMEM_DRY_WORKSPACES every workspace has that
 * many bytes.  A list of such functions is included behind this (*sizes.def):
 *
 *   DRY_SIZE (NAME, POSITION, TYPE)        one size of TYPE (int, int64_t, size_t) at argument
 *                                          POSITION, from 0
 *   DRY_TWO_SIZES (NAME, POSITION, TYPE)   two, at POSITION and behind it: on the
 *                                          device, on the host
 *   ..._SDCZ (LIBRARY, REST, ...)          LIBRARY "S" REST, and the same for D, C and Z
 *
 * Positions from the public headers; tests/dry/test-dry-sizes.sh compares them where they are
 * installed.
 */
#pragma once

#include "dry/libraries/library.h"

/* The arguments before the size: all are passed as whole registers. */
#define BEFORE_0
#define BEFORE_1 BEFORE_0 intptr_t a1,
#define BEFORE_2 BEFORE_1 intptr_t a2,
#define BEFORE_3 BEFORE_2 intptr_t a3,
#define BEFORE_4 BEFORE_3 intptr_t a4,
#define BEFORE_5 BEFORE_4 intptr_t a5,
#define BEFORE_6 BEFORE_5 intptr_t a6,
#define BEFORE_7 BEFORE_6 intptr_t a7,
#define BEFORE_8 BEFORE_7 intptr_t a8,
#define BEFORE_9 BEFORE_8 intptr_t a9,
#define BEFORE_10 BEFORE_9 intptr_t a10,
#define BEFORE_11 BEFORE_10 intptr_t a11,
#define BEFORE_12 BEFORE_11 intptr_t a12,
#define BEFORE_13 BEFORE_12 intptr_t a13,
#define BEFORE_14 BEFORE_13 intptr_t a14,
#define BEFORE_15 BEFORE_14 intptr_t a15,
#define BEFORE_16 BEFORE_15 intptr_t a16,
#define BEFORE_17 BEFORE_16 intptr_t a17,
#define BEFORE_18 BEFORE_17 intptr_t a18,
#define BEFORE_19 BEFORE_18 intptr_t a19,
#define BEFORE_20 BEFORE_19 intptr_t a20,
#define BEFORE_21 BEFORE_20 intptr_t a21,
#define BEFORE_22 BEFORE_21 intptr_t a22,
#define BEFORE_23 BEFORE_22 intptr_t a23,
#define BEFORE_24 BEFORE_23 intptr_t a24,

/* cuSOLVER counts in elements, of 4 to 16 bytes, where the size is an int: then the answer takes no
 * less than what was chosen. */
#define UNKNOWN_SIZE(name, type) \
  (sizeof (type) == sizeof (int) \
       ? (type) MIN (gemem_library_unknown_size (#name, 0) / sizeof (float), G_MAXINT) \
       : (type) gemem_library_unknown_size (#name, 0))

#define DRY_SIZE(name, position, type) \
  DRY_FUNCTION (int, name, BEFORE_##position type *size) \
  { \
    if (size != NULL) \
      *size = UNKNOWN_SIZE (name, type); \
    return 0; \
  }
#define DRY_TWO_SIZES(name, position, type) \
  DRY_FUNCTION (int, name, BEFORE_##position type *size, type *other) \
  { \
    if (size != NULL) \
      *size = UNKNOWN_SIZE (name, type); \
    if (other != NULL) \
      *other = 0; \
    return 0; \
  }
#define DRY_SIZE_SDCZ(library, rest, position, type) \
  DRY_SIZE (library##S##rest, position, type) \
  DRY_SIZE (library##D##rest, position, type) \
  DRY_SIZE (library##C##rest, position, type) \
  DRY_SIZE (library##Z##rest, position, type)
