/* memory.c - memory of the CUDA device: plain allocations in three ways, virtual memory, memset.
 *
 * Plain allocations, by `mode`: cuMemAlloc and cuMemFree; a range of addresses and a page per
 * allocation, mapped for its lifetime; or our own stream-ordered pool, freed on the requesting
 * stream.  The driver's free waits until the device is idle (cuMemFree), and so does that of
 * mode=vmm, because allocators rely on it; that of mode=async does not.
 *
 * Invariants: a request refused for want of memory leaves nothing behind; every address, page and
 * mapping that the driver holds for us is in `blocks` or `mappings`.  Once the device has failed,
 * its memory stays allocated until its end: the work on it can no longer be waited for.
 */
#include "config.h"

#include "base/error.h"
#include "base/units.h"
#include "devices/cuda/gpu.h"

static guint64
round_up (const GememCuda *self, guint64 size)
{
  return gemem_align_up (size, self->granularity);
}

/* FALSE: the device has failed, or the limit would be exceeded. */
static gboolean
may_have (const GememCuda *self, guint64 size)
{
  const guint64 used = self->base.held + self->late;

  return size > 0 && self->base.failure == NULL && used <= self->limit && size <= self->limit - used
         && size <= G_MAXINT64 - self->granularity;
}

/* ---- pieces of virtual memory */

static gboolean
create (GememCuda *self, guint64 size, CUmemGenericAllocationHandle *handle)
{
  const CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                           .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
                                                         .id = self->gpu } };
  return GEMEM_CUDA_ASK (self, cuMemCreate, handle, size, &properties, 0);
}

static gboolean
map (GememCuda *self, guint64 address, CUmemGenericAllocationHandle handle, guint64 offset,
     guint64 size)
{
  const CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
                                                 .id = self->gpu },
                                   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };

  if (!GEMEM_CUDA_ASK (self, cuMemMap, address, size, offset, handle, 0))
    return FALSE;
  if (GEMEM_CUDA_ASK (self, cuMemSetAccess, address, size, &access, 1))
    return TRUE;
  GEMEM_CUDA_DO (self, cuMemUnmap, address, size);
  return FALSE;
}

/* ---- plain allocations */

static gboolean
take_vmm (GememCuda *self, guint64 size, CUdeviceptr *address, CUmemGenericAllocationHandle *handle)
{
  if (!GEMEM_CUDA_ASK (self, cuMemAddressReserve, address, size, 0, 0, 0))
    return FALSE;
  if (create (self, size, handle))
    {
      if (map (self, *address, *handle, 0, size))
        return TRUE;
      GEMEM_CUDA_DO (self, cuMemRelease, *handle);
    }
  GEMEM_CUDA_DO (self, cuMemAddressFree, *address, size);
  return FALSE;
}

static gboolean
take (GememCuda *self, const GememCudaBlock *block, CUdeviceptr *address,
      CUmemGenericAllocationHandle *page)
{
  CUstream stream;

  switch (self->params.mode)
    {
    case GEMEM_CUDA_VMM:
      return take_vmm (self, round_up (self, block->size), address, page);
    case GEMEM_CUDA_ASYNC:
      return gemem_cuda_stream (self, block->stream, &stream)
             && GEMEM_CUDA_ASK (self, cuMemAllocFromPoolAsync, address, block->size, self->pool,
                                stream);
    default:
      return GEMEM_CUDA_ASK (self, cuMemAlloc, address, block->size);
    }
}

static gboolean
give_vmm (GememCuda *self, guint64 address, GememCudaBlock *block)
{
  guint64 size = round_up (self, block->size);

  if (!block->unmapped)
    block->unmapped = GEMEM_CUDA_DO (self, cuCtxSynchronize)
                      && GEMEM_CUDA_DO (self, cuMemUnmap, address, size);
  if (block->unmapped && block->page != 0 && GEMEM_CUDA_DO (self, cuMemRelease, block->page))
    block->page = 0;
  return block->page == 0 && GEMEM_CUDA_DO (self, cuMemAddressFree, address, size);
}

static gboolean
give (GememCuda *self, guint64 address, GememCudaBlock *block)
{
  CUstream handle;

  gemem_cuda_touch_wait (self);
  switch (self->params.mode)
    {
    case GEMEM_CUDA_VMM:
      return give_vmm (self, address, block);
    case GEMEM_CUDA_ASYNC:
      return gemem_cuda_stream (self, block->stream, &handle)
             && GEMEM_CUDA_DO (self, cuMemFreeAsync, address, handle);
    default:
      return GEMEM_CUDA_DO (self, cuMemFree, address);
    }
}

/* Notes that a block came to its page or went, for what the call is taken to cost (cuda-driver.md
 * 2): a page that others keep is neither made nor freed. */
static void
note_page (GememCuda *self, guint64 address, guint64 size, gboolean came)
{
  const guint64 page = address & ~(self->granularity - 1);
  guint64 *blocks;

  self->in_page = FALSE;
  if (size >= self->granularity || self->params.mode != GEMEM_CUDA_MALLOC)
    return;
  blocks = gemem_idmap_insert (self->shared, page, NULL);
  self->in_page = *blocks > (came ? 0 : 1);
  *blocks += came ? 1 : -1;
  if (*blocks == 0)
    gemem_idmap_remove (self->shared, page, NULL);
}

static void
end_block (GememCuda *self, guint64 address, GememCudaBlock *block)
{
  guint64 *counted = block->late ? &self->late : &self->base.held, size = block->size;

  if (!give (self, address, block))
    return;
  gemem_idmap_remove (self->blocks, address, NULL);
  note_page (self, address, size, FALSE);
  *counted -= size;
}

/* Releases what was freed while a capture forbade waiting. */
static void
give_late (GememCuda *self)
{
  guint64 address;
  gpointer block;

  if (self->late == 0 || !gemem_cuda_may_wait (self))
    return;
  for (gsize at = 0;
       self->base.failure == NULL && gemem_idmap_next (self->blocks, &at, &address, &block);)
    if (((GememCudaBlock *) block)->late)
      {
        end_block (self, address, block);
        at = 0; /* restart: the map has changed */
      }
}

guint64
gemem_cuda_malloc (GememDevice *device, guint64 size, guint64 stream)
{
  GememCuda *self = (GememCuda *) device;
  GememCudaBlock block = { .size = size, .stream = stream };
  CUmemGenericAllocationHandle page = 0;
  CUdeviceptr address;
  GEMEM_CUDA_ENTER (self);

  give_late (self);
  self->in_page = FALSE;
  if (!may_have (self, size) || !take (self, &block, &address, &page))
    return 0;
  block.page = page;
  *(GememCudaBlock *) gemem_idmap_insert (self->blocks, address, NULL) = block;
  note_page (self, address, size, TRUE);
  device->held += size;
  return address;
}

void
gemem_cuda_free (GememDevice *device, guint64 address, guint64 size)
{
  GememCuda *self = (GememCuda *) device;
  GememCudaBlock *block = gemem_idmap_lookup (self->blocks, address);
  GEMEM_CUDA_ENTER (self);

  if (device->failure != NULL)
    return;
  if (block == NULL || block->late)
    gemem_device_misuse (device, "free of an address that is not allocated");
  else if (block->size != size)
    gemem_device_misuse (device, "free with another size than was allocated");
  else if (self->params.mode == GEMEM_CUDA_VMM && !gemem_cuda_may_wait (self))
    {
      block->late = TRUE;
      self->late += size;
      device->held -= size;
    }
  else
    end_block (self, address, block);
}

gboolean
gemem_cuda_memset (GememDevice *device, guint64 address, guint8 value, guint64 size, guint64 stream)
{
  GememCuda *self = (GememCuda *) device;
  CUstream handle;
  GEMEM_CUDA_ENTER (self);

  if (device->failure != NULL || !gemem_cuda_stream (self, stream, &handle))
    return FALSE;
  return size == 0 || GEMEM_CUDA_DO (self, cuMemsetD8Async, address, value, size, handle);
}

/* ---- virtual memory */

/* An allocator that uses virtual memory where there is none ignored info() and cannot continue: the
 * device fails. */
static gboolean
has_virtual_memory (GememCuda *self)
{
  if (!self->virtual_memory)
    gemem_device_fail (
        &self->base,
        g_error_new (GEMEM_ERROR, GEMEM_ERROR_NO_DEVICE,
                     "device cuda:%" G_GUINT64_FORMAT
                     ": this GPU or its driver has no virtual memory, which the allocator "
                     "asks for; choose another allocator, or other settings",
                     self->params.gpu));
  return self->base.failure == NULL;
}

guint64
gemem_cuda_reserve (GememDevice *device, guint64 size, guint64 alignment)
{
  GememCuda *self = (GememCuda *) device;
  CUdeviceptr address;
  const char *fault;
  GEMEM_CUDA_ENTER (self);

  if (!has_virtual_memory (self) || size == 0 || size > G_MAXINT64 - self->granularity)
    return 0;
  if (!gemem_mappings_may_reserve (alignment, &fault))
    {
      gemem_device_misuse (device, fault);
      return 0;
    }
  if (!GEMEM_CUDA_ASK (self, cuMemAddressReserve, &address, round_up (self, size), alignment, 0, 0))
    return 0;
  gemem_mappings_reserved (&self->mappings, address, size, size, 0);
  return address;
}

void
gemem_cuda_release (GememDevice *device, guint64 address, guint64 size)
{
  GememCuda *self = (GememCuda *) device;
  const char *fault;
  GememRange *range = gemem_mappings_may_release (&self->mappings, address, size, &fault);
  GEMEM_CUDA_ENTER (self);

  if (device->failure != NULL)
    return;
  if (range == NULL)
    gemem_device_misuse (device, fault);
  else if (GEMEM_CUDA_DO (self, cuMemAddressFree, address, round_up (self, size)))
    gemem_mappings_released (&self->mappings, range);
}

GememPage
gemem_cuda_create_page (GememDevice *device, guint64 size)
{
  GememCuda *self = (GememCuda *) device;
  CUmemGenericAllocationHandle handle;
  const char *fault;
  GEMEM_CUDA_ENTER (self);

  if (!has_virtual_memory (self) || size == 0)
    return 0;
  if (!gemem_mappings_may_create (&self->mappings, size, &fault))
    {
      gemem_device_misuse (device, fault);
      return 0;
    }
  if (!may_have (self, size) || !create (self, size, &handle))
    return 0;
  device->held += size;
  return gemem_mappings_created (&self->mappings, size, handle);
}

void
gemem_cuda_destroy_page (GememDevice *device, GememPage page, guint64 size)
{
  GememCuda *self = (GememCuda *) device;
  const char *fault;
  const GememPhysical *physical = gemem_mappings_may_destroy (&self->mappings, page, size, &fault);
  GEMEM_CUDA_ENTER (self);

  if (device->failure != NULL)
    return;
  if (physical == NULL)
    gemem_device_misuse (device, fault);
  else if (GEMEM_CUDA_DO (self, cuMemRelease, physical->handle))
    device->held -= gemem_mappings_destroyed (&self->mappings, page);
}

gboolean
gemem_cuda_map (GememDevice *device, guint64 address, GememPage page, guint64 offset, guint64 size)
{
  GememCuda *self = (GememCuda *) device;
  const GememPhysical *physical;
  const char *fault;
  GEMEM_CUDA_ENTER (self);

  if (!self->virtual_memory || device->failure != NULL)
    return FALSE;
  physical = gemem_mappings_may_map (&self->mappings, address, page, offset, size, &fault);
  if (physical == NULL)
    {
      gemem_device_misuse (device, fault);
      return FALSE;
    }
  if (!map (self, address, physical->handle, offset, size))
    return FALSE;
  gemem_mappings_mapped (&self->mappings, address, page, size);
  return TRUE;
}

/* Unmaps mapping by mapping, as they were mapped. */
gboolean
gemem_cuda_unmap (GememDevice *device, guint64 address, guint64 size)
{
  GememCuda *self = (GememCuda *) device;
  GememMapping *mapping;
  const char *fault;
  GEMEM_CUDA_ENTER (self);

  if (!self->virtual_memory || device->failure != NULL)
    return self->virtual_memory;
  mapping = gemem_mappings_may_unmap (&self->mappings, address, size, &fault);
  if (mapping == NULL)
    {
      gemem_device_misuse (device, fault);
      return FALSE;
    }
  gemem_cuda_touch_wait (self);
  while (size > 0)
    {
      GememTreeNode *next = gemem_tree_next (&mapping->node);
      if (!GEMEM_CUDA_DO (self, cuMemUnmap, mapping->node.address, mapping->size))
        return FALSE;
      size -= mapping->size;
      device->held -= gemem_mappings_unmapped (&self->mappings, mapping);
      mapping = next != NULL ? GEMEM_TREE_ENTRY (next, GememMapping, node) : NULL;
    }
  return TRUE;
}

/* ---- the end */

void
gemem_cuda_give_memory_back (GememCuda *self)
{
  gsize position = 0;
  guint64 key;
  gpointer record;
  GememTreeNode *node;

  while (gemem_idmap_next (self->blocks, &position, &key, &record))
    give (self, key, record);
  for (node = gemem_tree_first (&self->mappings.mappings); node != NULL;
       node = gemem_tree_next (node))
    GEMEM_CUDA_DO (self, cuMemUnmap, node->address,
                   GEMEM_TREE_ENTRY (node, GememMapping, node)->size);
  position = 0;
  while (gemem_idmap_next (self->mappings.pages, &position, &key, &record))
    if (((const GememPhysical *) record)->owned)
      GEMEM_CUDA_DO (self, cuMemRelease, ((const GememPhysical *) record)->handle);
  for (node = gemem_tree_first (&self->mappings.ranges); node != NULL;
       node = gemem_tree_next (node))
    GEMEM_CUDA_DO (self, cuMemAddressFree, node->address,
                   round_up (self, GEMEM_TREE_ENTRY (node, GememRange, node)->size));
}
