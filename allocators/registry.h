/* registry.h - the allocators as named objects (named.h), for the registry and for the parser of
 * "NAME[:key=value,...]".
 *
 * Why: a class struct is the interface of plugins and begins with its ABI number, so it cannot
 * begin with a GememNamed.
 */
#pragma once

#include "allocators/allocator.h"
#include "base/named.h"

typedef struct
{
  GememNamed base;
  const GememAllocatorClass *klass;
} GememNamedClass;

/* A GememNamedClass per class, in the order of gemem_allocator_classes(); NULL-terminated. */
const GememNamed *const *gemem_named_classes (void);
/* What globs range over: the same, each class followed by its shorthands (GememShorthand::of). */
const GememNamed *const *gemem_named_choices (void);

/* FALSE, with the reason (GEMEM_ERROR_USAGE), if @name is that of a skipped plugin. */
gboolean gemem_check_not_skipped (const char *name, GError **error);
