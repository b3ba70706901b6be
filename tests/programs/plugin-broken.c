/* plugin-broken.c - a plugin with an allocator that does one thing wrong, once, for the tests of
 * --touch: `broken:fault=...`.
 *
 * Every block is a range with a page of its own.  At request number `at`, counted from 1, and in
 * view of the oldest live block:
 *   overlap  the request gets the second half of that block
 *   alias    the request gets a range into which that block's page is mapped, too
 *   unmap    that block's page is unmapped, and the request served as it should be
 * and without fault nothing.
 */
#include "config.h"

#include "allocators/allocator.h"

enum
{
  FAULT_NONE,
  FAULT_OVERLAP,
  FAULT_ALIAS,
  FAULT_UNMAP,
};

typedef struct
{
  int fault;
  guint64 at;
} BrokenParams;

typedef struct
{
  guint64 address, size;
  guint64 range; /* bytes; 0: in another caller's */
  GememPage page;
  gboolean owner, mapped; /* of the page */
} BrokenBlock;

typedef struct
{
  GememAllocator base;
  BrokenParams params;
  guint64 granularity, requests;
  GQueue live; /* BrokenBlock, oldest first */
} Broken;

#define FIELD(name) .offset = G_STRUCT_OFFSET (BrokenParams, name)

static const GememParam params[] = { { .name = "fault",
                                       .type = GEMEM_PARAM_CHOICE,
                                       .default_text = "none",
                                       .choices = "none|overlap|alias|unmap",
                                       FIELD (fault),
                                       .help = "What is done wrong." },
                                     { .name = "at",
                                       .type = GEMEM_PARAM_UINT,
                                       .default_text = "100",
                                       FIELD (at),
                                       .help = "At which request." },
                                     { .name = NULL } };

static const GememAllocatorClass broken_class;

static GememAllocator *
broken_create (gconstpointer given, GememDevice *device, GError **error)
{
  Broken *broken = g_new0 (Broken, 1);
  GememDeviceInfo info;

  gemem_device_info (device, &info);
  broken->base.klass = &broken_class;
  broken->base.device = device;
  broken->params = *(const BrokenParams *) given;
  broken->granularity = info.granularity;
  return &broken->base;
}

static void
unmap (Broken *broken, BrokenBlock *block)
{
  if (block->mapped)
    gemem_device_unmap (broken->base.device, block->address, block->range);
  block->mapped = FALSE;
}

static gboolean
serve (Broken *broken, BrokenBlock *block, const BrokenBlock *shared)
{
  GememDevice *device = broken->base.device;

  block->range = (block->size + broken->granularity - 1) / broken->granularity
                 * broken->granularity;
  block->owner = shared == NULL || shared->range != block->range;
  block->page = block->owner ? gemem_device_create_page (device, block->range) : shared->page;
  block->address = gemem_device_reserve (device, block->range, 0);
  block->mapped = gemem_device_map (device, block->address, block->page, 0, block->range);
  return block->mapped;
}

static gboolean
broken_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *given)
{
  Broken *broken = (Broken *) allocator;
  BrokenBlock *block = g_new0 (BrokenBlock, 1), *oldest = g_queue_peek_head (&broken->live);
  int fault = ++broken->requests == broken->params.at && oldest != NULL ? broken->params.fault
                                                                        : FAULT_NONE;

  block->size = request->size;
  if (fault == FAULT_OVERLAP)
    block->address = oldest->address + oldest->size / 2 / 512 * 512;
  else if (!serve (broken, block, fault == FAULT_ALIAS ? oldest : NULL))
    {
      g_free (block);
      return FALSE;
    }
  if (fault == FAULT_UNMAP)
    unmap (broken, oldest);
  g_queue_push_tail (&broken->live, block);
  *given = (GememBlock){ .address = block->address, .size = block->size, .handle = block };
  return TRUE;
}

static void
broken_free (GememAllocator *allocator, const GememBlock *given, gboolean completion_follows)
{
  Broken *broken = (Broken *) allocator;
  BrokenBlock *block = given->handle;

  g_queue_remove (&broken->live, block);
  unmap (broken, block);
  if (block->owner)
    gemem_device_destroy_page (allocator->device, block->page, block->range);
  if (block->range > 0)
    gemem_device_release (allocator->device, block->address, block->range);
  g_free (block);
}

static guint64
broken_largest_free (GememAllocator *allocator, guint64 stream)
{
  return 0;
}

static void
broken_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
}

static gboolean
broken_check (GememAllocator *allocator, GError **error)
{
  return TRUE;
}

static void
broken_destroy (GememAllocator *allocator)
{
  Broken *broken = (Broken *) allocator;

  while (broken->live.head != NULL)
    broken_free (allocator, &(const GememBlock){ .handle = broken->live.head->data }, FALSE);
  g_free (broken);
}

static const GememAllocatorClass broken_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "broken",
  .summary = "Does one thing wrong",
  .origin = "tests",
  .alignment = 1,
  .params = params,
  .params_size = sizeof (BrokenParams),
  .create = broken_create,
  .alloc = broken_alloc,
  .free = broken_free,
  .largest_free = broken_largest_free,
  .walk = broken_walk,
  .check = broken_check,
  .destroy = broken_destroy,
};

GEMEM_BEGIN_DECLS
extern const GememAllocatorClass *const gemem_plugin_allocators[];
const GememAllocatorClass *const gemem_plugin_allocators[] = { &broken_class, NULL };
GEMEM_END_DECLS
