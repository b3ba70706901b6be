/* registry.h - the allocators as things with names (named.h), for the registry and for the reading
 * of "NAME[:key=value,...]".
 *
 * Why: a class struct is the interface of plugins and begins with its ABI number, so that it cannot
 * begin with a GememNamed itself.
 */
#pragma once

#include "allocators/allocator.h"
#include "base/named.h"

typedef struct
{
  GememNamed base;
  const GememAllocatorClass *klass;
} GememNamedClass;

/* GememNamedClass for every class, in the order of gemem_allocator_classes(); NULL-terminated. */
const GememNamed *const *gemem_named_classes (void);
