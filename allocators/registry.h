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
/* What globs range over: the same without GEMEM_CAP_HOST, each class followed by its shorthands (GememShorthand::of). */
const GememNamed *const *gemem_named_choices (void);

/* FALSE, with the reason (GEMEM_ERROR_USAGE), if @name is that of a skipped plugin. */
gboolean gemem_check_not_skipped (const char *name, GError **error);

/* "[TEXT]", as an allocator is written within the settings of another, without its brackets;
 * g_free(). */
char *gemem_allocator_without_brackets (const char *text);

/* What a class that stands on another one needs of spec.c and the registry, which know all classes:
 * a class that called them itself would need every other. */
typedef struct
{
  const GememAllocatorClass *(*find) (const char *name, GError **error);
  const GememAllocatorClass *const *(*classes) (void);
  gboolean (*parse) (const char *text, GPtrArray *specs, GError **error);
  GememAllocator *(*create) (const GememAllocatorSpec *spec, const char *defaults,
                             GememDevice *device, GError **error);
} GememAllocatorMaking;

/* Set since before the first allocator is created by gemem_allocator_new(). */
extern const GememAllocatorMaking *gemem_allocator_making;

/* The same, for classes, which threads create at once. */
static inline const GememAllocatorMaking *
gemem_allocator_making_now (void)
{
  return g_atomic_pointer_get (&gemem_allocator_making);
}
