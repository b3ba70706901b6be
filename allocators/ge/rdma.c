/* rdma.c - `ge-rdma`: the pool for memory that other machines read and write (rdma-pool.h).
 *
 * The memory is obtained before the first request; if the device refuses it then, every request
 * tries again.  Zero bytes count as 512: the specification does not say, and the sibling in 6.1
 * does so.
 * Cost: O(log blocks) per event.  Origin: ge-runtime.md 6.2.
 */
#include "config.h"

#include "allocators/ge/rdma-pool.h"
#include "base/units.h"

/* ---- the pool */

void
gemem_ge_rdma_init (GeRdma *rdma, GememDevice *device)
{
  gemem_ge_block_set_init (&rdma->set, device);
}

void
gemem_ge_rdma_clear (GeRdma *rdma)
{
  gemem_ge_block_set_clear (&rdma->set);
}

gboolean
gemem_ge_rdma_init_memory (GeRdma *rdma, guint64 size)
{
  return rdma->set.obtained == 0 && gemem_ge_block_set_grow (&rdma->set, 0, size, 0);
}

GeBinBlock *
gemem_ge_rdma_alloc (GeRdma *rdma, guint64 size)
{
  const guint64 rounded = gemem_ge_block_round (size);

  return rounded != 0 ? gemem_ge_block_set_take (&rdma->set, 0, rounded, 0) : NULL;
}

void
gemem_ge_rdma_free (GeRdma *rdma, GeBinBlock *block)
{
  gemem_ge_block_set_give (&rdma->set, block);
}

/* ---- the class */

typedef struct
{
  guint64 size;
} Params;

typedef struct
{
  GememAllocator base;
  GeRdma pool;
  guint64 size;
  guint64 failures;
} Rdma;

static const GememParam params[] = {
  { .name = "size",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "0",
    .offset = G_STRUCT_OFFSET (Params, size),
    .help = "Bytes of the pool, which never grows (50%: half of the device); 0: 1 GiB, or half of "
            "the device where that is less." },
  { NULL }
};

extern const GememAllocatorClass gemem_ge_rdma_class;

static GememAllocator *
create (gconstpointer data, GememDevice *device, G_GNUC_UNUSED GError **error)
{
  Rdma *self = g_new0 (Rdma, 1);

  self->base.klass = &gemem_ge_rdma_class;
  self->base.device = device;
  self->size = ((const Params *) data)->size;
  if (self->size == 0)
    self->size = MIN (GEMEM_GIB, gemem_device_capacity (device) / 2);
  gemem_ge_rdma_init (&self->pool, device);
  gemem_ge_rdma_init_memory (&self->pool, self->size);
  return &self->base;
}

static gboolean
alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  Rdma *self = (Rdma *) allocator;
  GeBinBlock *found = NULL;

  if (self->pool.set.obtained > 0 || gemem_ge_rdma_init_memory (&self->pool, self->size))
    found = gemem_ge_rdma_alloc (&self->pool, request->size);
  return gemem_ge_block_set_answer (found, block, &self->failures);
}

static void
release (GememAllocator *allocator, const GememBlock *block,
         G_GNUC_UNUSED gboolean completion_follows)
{
  gemem_ge_rdma_free (&((Rdma *) allocator)->pool, block->handle);
}

static guint64
largest_free (GememAllocator *allocator, G_GNUC_UNUSED guint64 stream)
{
  return gemem_ge_block_set_largest (&((Rdma *) allocator)->pool.set, 0, 0);
}

static void
walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  gemem_ge_block_set_walk (&((Rdma *) allocator)->pool.set, func, data);
}

static gboolean
check (GememAllocator *allocator, GError **error)
{
  return gemem_ge_block_set_check (&((Rdma *) allocator)->pool.set, "ge-rdma", error);
}

static void
stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const Rdma *self = (const Rdma *) allocator;

  func ("size", self->size, "B", data);
  func ("occupied", self->pool.set.occupied, "B", data);
  func ("free_blocks", self->pool.set.idle.count, "", data);
  func ("failures", self->failures, "", data);
}

static void
destroy (GememAllocator *allocator)
{
  gemem_ge_rdma_clear (&((Rdma *) allocator)->pool);
  g_free (allocator);
}

const GememAllocatorClass gemem_ge_rdma_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "ge-rdma",
  .summary = "Ascend GE's pool for remote memory access: best fit in one block that never grows",
  .origin = "Ascend Graph Engine of 2026-08-21; ge-runtime.md 6.2",
  .known_as = "RdmaPoolAllocator",
  .alignment = GE_BLOCK_UNIT,
  .params = params,
  .params_size = sizeof (Params),
  .create = create,
  .alloc = alloc,
  .free = release,
  .prefetch = gemem_ge_block_set_prefetch,
  .largest_free = largest_free,
  .walk = walk,
  .check = check,
  .destroy = destroy,
  .report.stats = stats,
};
