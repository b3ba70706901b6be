/* variants.h - the settings under which a class is tested, derived from its table alone. */
#pragma once

#include "allocators/allocator.h"

/* "key=value,..." texts (GPtrArray of char *): the defaults (""); each BOOL inverted, each
 * CHOICE, least and middling numbers; each of these with each CHOICE; and as many together as
 * are accepted. Texts that create() refuses on a device of @capacity are left out; of texts with
 * the same effective parameters one is kept. The first is "". */
GPtrArray *test_variants (const GememAllocatorClass *klass, guint64 capacity);

/* A selection that fits a user's `make check`: the first, and others spread over the rest.
 * GEMEM_QUICK: fewer; GEMEM_LONG: all. */
GPtrArray *test_some_variants (const GememAllocatorClass *klass, guint64 capacity);
