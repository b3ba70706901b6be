/* shorthand.h - names that stand for an allocator chosen by settings: how a system's users ask for
 * "its" allocator.
 *
 * PaddlePaddle's users set FLAGS_allocator_strategy and know a version; which allocator that means
 * has changed, and one name has meant two.  A shorthand turns such settings into a class and what
 * is left of them, before anything runs: what follows knows only allocators. Shorthands are no
 * allocators: globs do not range over them, and no result is counted twice.
 *
 * A new one is one file and one line in shorthands.def.
 */
#pragma once

#include "allocators/allocator.h"
#include "base/named.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  GememNamed base; /* params: the settings that the shorthand itself reads */
  /* The class that @settings (GememSetting) ask for; takes the shorthand's own out of them and adds
   * what the choice implies.  What the class does not know is left to be refused.  Errors:
   * GEMEM_ERROR_USAGE. */
  const GememAllocatorClass *(*choose) (GPtrArray *settings, GError **error);
} GememShorthand;

/* In the order of shorthands.def; NULL-terminated. */
const GememNamed *const *gemem_shorthands (void);

GEMEM_END_DECLS
