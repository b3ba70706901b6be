/* plugin.c - an allocator plugin for tests/unit/test-registry.c; PLUGIN_ABI, PLUGIN_NAME
 * and PLUGIN_HALF tell its variants apart. */
#include "config.h"

#include "allocators/allocator.h"

static GememAllocator *
plugin_create (gconstpointer params, GememDevice *device, GError **error)
{
  GememAllocator *allocator = g_new0 (GememAllocator, 1);

  allocator->device = device;
  return allocator;
}

static gboolean
plugin_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  block->address = 4096;
  block->size = request->size;
  return request->size == 42;
}

static void
plugin_free (GememAllocator *allocator, const GememBlock *block, gboolean completion_follows)
{
}

static guint64
plugin_largest_free (GememAllocator *allocator, guint64 stream)
{
  return 42;
}

static void
plugin_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
}

static gboolean
plugin_check (GememAllocator *allocator, GError **error)
{
  return TRUE;
}

static void
plugin_destroy (GememAllocator *allocator)
{
  g_free (allocator);
}

#ifdef PLUGIN_HALF
static void
plugin_graph_unload (GememAllocator *allocator, guint64 id)
{
}
#endif

static const GememAllocatorClass plugin_class = {
  .abi = PLUGIN_ABI,
  .name = PLUGIN_NAME,
  .aliases = "p42",
  .summary = "Serves 42 bytes",
  .origin = "tests",
  .alignment = 1,
  .create = plugin_create,
  .alloc = plugin_alloc,
  .free = plugin_free,
  .largest_free = plugin_largest_free,
  .walk = plugin_walk,
  .check = plugin_check,
  .destroy = plugin_destroy,
#ifdef PLUGIN_HALF
  .graphs.unload = plugin_graph_unload,
#endif
};

GEMEM_BEGIN_DECLS
extern const GememAllocatorClass *const gemem_plugin_allocators[];
const GememAllocatorClass *const gemem_plugin_allocators[] = { &plugin_class, NULL };
GEMEM_END_DECLS
