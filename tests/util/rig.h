/* rig.h - an allocator on a simulated device; the test names blocks by index, as worked examples
 * do. The accounting is checked after each step. */
#pragma once

#include <string.h>

#include "allocators/allocator.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"

/* Frees @block and checks the allocator's invariants. */
static inline void
free_block (GememAllocator *allocator, GememBlock block)
{
  g_autoptr (GError) error = NULL;

  allocator->klass->free (allocator, &block, FALSE);
  allocator->klass->check (allocator, &error);
  g_assert_no_error (error);
}

typedef struct
{
  GememAllocator *allocator;
  GememBlock blocks[16];
  guint64 live;   /* blocks the test holds */
  guint64 stream; /* of requests without a stream of their own */
} Rig;

static inline Rig
rig_new (const char *spec, const char *device)
{
  return (Rig){ .allocator = test_allocator_new (spec, device) };
}

static inline void
rig_verify (const Rig *rig)
{
  g_assert_true (test_allocator_verify (rig->allocator, rig->live, G_MAXUINT64));
}

/* Destroys allocator and device; blocks may still be live. */
static inline void
rig_done (Rig *rig)
{
  rig_verify (rig);
  test_allocator_destroy (rig->allocator);
}

/* FALSE: refused. */
static inline gboolean
rig_serve (Rig *rig, guint i, const GememRequest *request)
{
  gboolean served;

  g_assert_cmpuint (i, <, G_N_ELEMENTS (rig->blocks));
  served = rig->allocator->klass->alloc (rig->allocator, request, &rig->blocks[i]);
  rig->live += served;
  rig_verify (rig);
  return served;
}

static inline void
put (Rig *rig, guint i)
{
  rig->allocator->klass->free (rig->allocator, &rig->blocks[i], FALSE);
  rig->live--;
  rig_verify (rig);
}

static inline void
trim (Rig *rig)
{
  rig->allocator->klass->trim (rig->allocator);
  rig_verify (rig);
}

static inline guint64
rig_held (const Rig *rig)
{
  return rig->allocator->device->held;
}

static inline guint64
rig_stat (const Rig *rig, const char *name)
{
  return test_allocator_stat (rig->allocator, name);
}

/* @spec on @device is an error of usage, which says @part. */
static inline void
rig_refused (const char *spec, const char *device_spec, const char *part)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememDevice *device = gemem_device_new (device_spec, NULL, 0, NULL);
  g_autoptr (GError) error = NULL;

  if (gemem_allocator_spec_parse (spec, specs, &error))
    g_assert_null (gemem_allocator_new (specs->pdata[0], NULL, device, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  if (strstr (error->message, part) == NULL)
    g_error ("%s: '%s', without '%s'", spec, error->message, part);
  gemem_device_destroy (device);
}
