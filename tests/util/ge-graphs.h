/* ge-graphs.h - helpers for the tests of `ge`: load, run and unload graphs on stream 0, make
 * requests, read statistics. The accounting is checked after each step. */
#pragma once

#include "allocators/allocator.h"
#include "tests/util/sizes.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"

static inline guint64
held (const GememAllocator *a)
{
  return a->device->held;
}

static inline guint64
calls (const GememAllocator *a, GememDeviceCall call)
{
  return a->device->calls[call];
}

static inline guint64
load (GememAllocator *a, guint64 id, const GememGraphSegment *segments, guint n)
{
  guint64 address = 0;
  const gboolean ok = a->klass->graphs.load (a, id, 0, segments, n, &address);

  g_assert_true (test_allocator_verify (a, 0, G_MAXUINT64));
  return ok ? address : 0;
}

#define LOAD(a, id, ...) \
  load (a, id, (const GememGraphSegment[]){ __VA_ARGS__ }, \
        sizeof ((const GememGraphSegment[]){ __VA_ARGS__ }) / sizeof (GememGraphSegment))

static inline gboolean
run (GememAllocator *a, guint64 id)
{
  const gboolean began = a->klass->graphs.run (a, id, 0, TRUE);
  gboolean ended;

  g_assert_true (test_allocator_verify (a, 0, G_MAXUINT64));
  ended = a->klass->graphs.run (a, id, 0, FALSE);
  g_assert_true (test_allocator_verify (a, 0, G_MAXUINT64));
  return began && ended;
}

static inline void
unload (GememAllocator *a, guint64 id)
{
  a->klass->graphs.unload (a, id);
  g_assert_true (test_allocator_verify (a, 0, G_MAXUINT64));
}

static inline GememBlock
request (GememAllocator *a, guint64 size, guint32 pool)
{
  GememBlock block;

  g_assert_true (a->klass->alloc (a, &(GememRequest){ .size = size, .pool = pool }, &block));
  return block;
}

static inline guint64
stat_of (GememAllocator *a, const char *name)
{
  return test_allocator_stat (a, name);
}
