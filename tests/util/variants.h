/* variants.h - the settings under which a class is tested, derived from its table alone. */
#pragma once

#include "allocators/allocator.h"

/* "key=value,..." texts (GPtrArray of char *): the defaults (""), each BOOL the other way, each
 * CHOICE, least and middling numbers, and each of these together with each CHOICE, and as many
 * together as are accepted; what create() refuses on a device of @capacity is left out, and texts
 * that give the same effective parameters are given once.  The first is "". */
GPtrArray *test_variants (const GememAllocatorClass *klass, guint64 capacity);

/* As many of them as a user's `make check` has time for: the first, and others spread over the
 * rest.  GEMEM_QUICK: fewer; GEMEM_LONG: all. */
GPtrArray *test_some_variants (const GememAllocatorClass *klass, guint64 capacity);
