/* upstream.h - what a resource of RMM takes its memory from: the device, or another resource.
 *
 * Why: RMM's resources stand on one another.  Each of gemem's is written against a GememDevice;
 * where the setting `upstream` names another resource, that resource stands behind a device of its
 * own, whose malloc and free are the other's alloc and free.  So every resource works on every
 * other, and knows nothing of it.
 *
 * Invariants: a resource returns everything before it closes its upstream.  The chain of upstreams
 * ends at the device of the run and has no cycle.  Where a resource cannot be made for want of
 * memory, RMM's constructor throws: the run is marked (base.broken), and that resource and all that
 * stand on it refuse every request without a call.
 * Origin: peers.md section 1c.4.
 */
#pragma once

#include "allocators/allocator.h"

#define GEMEM_RMM_QUANTUM G_GUINT64_CONSTANT (256)
/* The default stream by the name that pools use beneath them; the arena takes it
 * for another one. */
#define GEMEM_RMM_LEGACY (G_MAXUINT64 - 1)

typedef enum
{
  GEMEM_RMM_24_12,
  GEMEM_RMM_26_10,
} GememRmmVersion;

/* The settings that every resource has; first in its struct of parameters. */
typedef struct
{
  char *upstream;
  int version; /* GememRmmVersion */
} GememRmmParams;

/* The rows of `upstream` and `version`; their values are @field, a GememRmmParams of @Type.  @worth
 * and @others: "|NAME...", upstreams worth trying beside the device, and further ones to try in
 * tests; none is the resource itself, which would be a cycle. */
#define GEMEM_RMM_ROWS(Type, field, worth, others) \
  { .name = "upstream", \
    .type = GEMEM_PARAM_STRING, \
    .default_text = "direct", \
    .choices = "direct" worth others, \
    .sweep = "direct" worth, \
    .offset = G_STRUCT_OFFSET (Type, field.upstream), \
    .help = \
        "What it takes its memory from: direct (the device), or another RMM resource, with its " \
        "settings in brackets: upstream=[rmm-pool:initial_pool_size=1GiB].  It has the same " \
        "version unless it says otherwise." }, \
  { \
    .name = "version", .type = GEMEM_PARAM_CHOICE, \
    .flags = GEMEM_PARAM_RELEASE | GEMEM_PARAM_NEAREST, .default_text = "26.10", \
    .choices = "24.12|26.10", .offset = G_STRUCT_OFFSET (Type, field.version), \
    .help = \
        "The release of RMM.  24.12 rounds what it asks of its upstream up to 16 bytes, 26.10 " \
        "does not." \
  }

typedef struct
{
  GememDevice *device;      /* of the run, or the one before `resource` */
  GememAllocator *resource; /* NULL: none */
  guint64 unit;             /* requests are rounded up to a multiple */
  gboolean both_names;      /* `device` takes GEMEM_RMM_LEGACY */
} GememRmmUpstream;

/* The resource that @text names, "rmm-pool" or "[rmm-pool:KEY=VALUE,...]", beneath @above, whose
 * class, device and @params are set; NULL without @error: the device itself.  GEMEM_ERROR_USAGE:
 * there is no such resource, it is none of RMM's, its settings are wrong, or it leads back to
 * @above's class. */
GememAllocator *gemem_rmm_resource_new (const char *text, const GememRmmParams *params,
                                        GememAllocator *above, GError **error);
/* Opens what @params name for @above; errors as of gemem_rmm_resource_new(). */
gboolean gemem_rmm_upstream_open (GememRmmUpstream *self, const GememRmmParams *params,
                                  GememAllocator *above, GError **error);
/* @above stands on @resource: if that cannot begin, neither can @above. */
void gemem_rmm_stand_on (GememAllocator *above, const GememAllocator *resource);
/* @self, which takes @size bytes from @resource (NULL: the device) at the beginning, as @setting
 * says, did not get them. */
void gemem_rmm_cannot_begin (GememAllocator *self, const GememAllocator *resource,
                             const char *setting, guint64 size);
/* Closes it; its blocks were all returned. */
void gemem_rmm_upstream_close (GememRmmUpstream *self);

/* The bytes that a request for @size really takes. */
static inline guint64
gemem_rmm_upstream_size (const GememRmmUpstream *self, guint64 size)
{
  return (size + self->unit - 1) & ~(self->unit - 1);
}

/* @stream as pools name it to their upstream. */
static inline guint64
gemem_rmm_stream_of (guint64 stream)
{
  return stream != 0 ? stream : GEMEM_RMM_LEGACY;
}

/* The address of @size bytes; 0: refused. */
static inline guint64
gemem_rmm_upstream_malloc (GememRmmUpstream *self, guint64 size, guint64 stream)
{
  if (stream == GEMEM_RMM_LEGACY && !self->both_names)
    stream = 0;
  return gemem_device_malloc (self->device, gemem_rmm_upstream_size (self, size), stream);
}

static inline void
gemem_rmm_upstream_free (GememRmmUpstream *self, guint64 address, guint64 size)
{
  gemem_device_free (self->device, address, gemem_rmm_upstream_size (self, size));
}

/* Says that the block at @address will be freed on @stream. */
void gemem_rmm_upstream_stream_free (GememRmmUpstream *self, guint64 address, guint64 stream);

/* Most bytes that a malloc gets without a call of the device; 0: none.  A resource that asks for
 * more at first may be served all the same, where the upstream refuses without a call. */
guint64 gemem_rmm_upstream_largest_free (const GememRmmUpstream *self, guint64 stream);
/* Reports @spans (GememSpan), which cover what was taken from @self, as walk() does: sorted, and in
 * the segments of the device.  Sorts @spans. */
void gemem_rmm_upstream_walk (const GememRmmUpstream *self, GArray *spans, GememSpanFunc func,
                              gpointer data);
/* report.stats() of @resource, with @prefix before the names. */
void gemem_rmm_resource_stats (GememAllocator *resource, const char *prefix, GememStatFunc func,
                               gpointer data);
/* check() and report.stats() of the upstream; the names get "upstream." before them. */
gboolean gemem_rmm_upstream_check (const GememRmmUpstream *self, GError **error);
void gemem_rmm_upstream_stats (const GememRmmUpstream *self, GememStatFunc func, gpointer data);

/* ---- fixed-size.c: a resource of blocks of one size, for the bins of the binning resource */

extern const GememAllocatorClass gemem_rmm_fixed_size_class;

/* A `rmm-fixed-size` with blocks of @block_size bytes, @count of them per allocation of @device. */
GememAllocator *gemem_rmm_fixed_size_new (guint64 block_size, guint64 count, int version,
                                          GememDevice *device);
