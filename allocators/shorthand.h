/* shorthand.h - names that choose an allocator by settings, as a system's users choose "its"
 * allocator.
 *
 * Why: PaddlePaddle's users set FLAGS_allocator_strategy and know a version.  The allocator that
 * the flag names has changed between versions, and one name has meant two.  A shorthand turns such
 * settings into a class and its remaining settings before the run; later code sees only allocators.
 * A shorthand is not an allocator: globs skip it, so no result is counted twice.  The exception is
 * one that means a way of working of its class that people choose as if it were another allocator
 * (`of`): globs, and so a comparison without -a, take it behind that class.
 *
 * A new shorthand is one file and one line in shorthands.def.
 */
#pragma once

#include "allocators/allocator.h"
#include "base/named.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  GememNamed base;               /* params: the settings that the shorthand itself reads */
  const GememAllocatorClass *of; /* globs take it behind this class; NULL: they skip it */
  /* Returns the class that @settings (GememSetting) select.  Removes the shorthand's own settings
   * and adds those that the choice implies; settings that the class does not know are refused
   * later.  Errors: GEMEM_ERROR_USAGE. */
  const GememAllocatorClass *(*choose) (GPtrArray *settings, GError **error);
} GememShorthand;

/* In the order of shorthands.def; NULL-terminated. */
const GememNamed *const *gemem_shorthands (void);

GEMEM_END_DECLS
