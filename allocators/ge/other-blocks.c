/* other-blocks.c - see other-blocks.h. */
#include "config.h"

#include "allocators/ge/other-blocks.h"

#define HOST_STEP G_GUINT64_CONSTANT (65536) /* host blocks begin at multiples of it */
#define HOST_LARGEST (G_GUINT64_CONSTANT (1) << 48)

void
gemem_ge_other_init (GeOtherBlocks *others, GememDevice *device, const GeOtherOptions *options)
{
  *others = (GeOtherBlocks){ .device = device,
                             .blocks = gemem_idmap_new (sizeof (GeOtherBlock)),
                             .next_host = GEMEM_HOST_ADDRESS };
  others->rdma_size = options->rdma_size;
  others->exact = options->exact;
  gemem_slab_init (&others->idle_slab, sizeof (GememTreeNode));
  gemem_ge_rdma_init (&others->rdma, device);
  gemem_ge_variables_init (&others->variables, device, options->variable_page,
                           options->variable_option, options->total, TRUE);
}

/* Addresses are not used again. */
static guint64
take_host (GeOtherBlocks *others, guint64 size)
{
  const guint64 address = others->next_host;

  if (size > HOST_LARGEST)
    return 0;
  others->next_host += (size / HOST_STEP + 1) * HOST_STEP;
  return address;
}

/* The pool obtains its one block with the first request. */
static guint64
take_rdma (GeOtherBlocks *others, GeOtherBlock *other)
{
  GeBinBlock *found = NULL;

  if (others->rdma.set.obtained > 0 || gemem_ge_rdma_init_memory (&others->rdma, others->rdma_size))
    found = gemem_ge_rdma_alloc (&others->rdma, other->size);
  if (found == NULL)
    return 0;
  other->handle = found;
  other->size = found->node.size;
  return found->node.address;
}

static guint64
take_variable (GeOtherBlocks *others, GeOtherBlock *other)
{
  GememBlock block;

  if (!gemem_ge_variables_alloc (&others->variables, other->size, other->stream, &block))
    return 0;
  other->handle = block.handle;
  other->size = block.size;
  return block.address;
}

/* A block that is kept, of exactly the request; 0: none. */
static guint64
take_idle (GeOtherBlocks *others, const GeOtherBlock *other)
{
  GememTreeNode *node = gemem_tree_fit (&others->idle, other->stream, other->size);
  guint64 address;

  if (node == NULL || node->group != other->stream || node->size != other->size)
    return 0;
  address = node->address;
  gemem_tree_remove (&others->idle, node);
  gemem_slab_free (&others->idle_slab, node);
  return address;
}

static void
keep (GeOtherBlocks *others, guint64 address, const GeOtherBlock *other)
{
  GememTreeNode *node = gemem_slab_alloc (&others->idle_slab);

  *node = (GememTreeNode){ .size = other->size, .address = address, .group = other->stream };
  gemem_tree_insert (&others->idle, node);
}

void
gemem_ge_other_trim (GeOtherBlocks *others)
{
  GememTreeNode *node;

  while ((node = gemem_tree_first (&others->idle)) != NULL)
    {
      gemem_tree_remove (&others->idle, node);
      gemem_device_free (others->device, node->address, node->size);
      gemem_slab_free (&others->idle_slab, node);
    }
}

guint64
gemem_ge_other_largest_idle (const GeOtherBlocks *others, guint64 stream)
{
  const GememTreeNode *node = gemem_tree_before (&others->idle, stream, G_MAXUINT64, G_MAXUINT64);

  return node != NULL && node->group == stream ? node->size : 0;
}

static guint64
take_hbm (GeOtherBlocks *others, const GeOtherBlock *other)
{
  guint64 address = take_idle (others, other);

  if (address == 0)
    address = gemem_device_malloc (others->device, other->size, other->stream);
  if (address != 0 || others->idle.count == 0)
    return address;
  others->retries++;
  gemem_ge_other_trim (others);
  return gemem_device_malloc (others->device, other->size, other->stream);
}

static guint64
take (GeOtherBlocks *others, GeOtherBlock *other)
{
  if (other->type == GE_MEMORY_HBM)
    return take_hbm (others, other);
  if (other->type == GE_MEMORY_VARIABLE)
    return take_variable (others, other);
  if (other->type == GE_MEMORY_HOST)
    return take_host (others, other->size);
  if (other->type == GE_MEMORY_RDMA)
    return take_rdma (others, other);
  return gemem_device_malloc (others->device, other->size, other->stream);
}

gboolean
gemem_ge_other_alloc (GeOtherBlocks *others, GeMemoryType type, const GememRequest *request,
                      GememBlock *block)
{
  GeOtherBlock other = { .size = request->size, .stream = request->stream, .type = type };
  const guint64 address = take (others, &other);

  if (address == 0)
    return FALSE;
  *(GeOtherBlock *) gemem_idmap_insert (others->blocks, address, NULL) = other;
  others->count[type]++;
  others->bytes[type] += other.size;
  others->peak[type] = MAX (others->peak[type], others->bytes[type]);
  *block = (GememBlock){ .address = address, .size = other.size };
  return TRUE;
}

void
gemem_ge_other_free (GeOtherBlocks *others, const GememBlock *block)
{
  GeOtherBlock other;

  gemem_idmap_remove (others->blocks, block->address, &other);
  others->bytes[other.type] -= other.size;
  switch ((GeMemoryType) other.type)
    {
    case GE_MEMORY_HOST:
      return;
    case GE_MEMORY_RDMA:
      gemem_ge_rdma_free (&others->rdma, other.handle);
      return;
    case GE_MEMORY_VARIABLE:
      gemem_ge_variables_free (&others->variables,
                               &(GememBlock){ block->address, other.size, other.handle });
      return;
    case GE_MEMORY_HBM:
      if (others->exact)
        {
          keep (others, block->address, &other);
          return;
        }
      G_GNUC_FALLTHROUGH;
    default:
      gemem_device_free (others->device, block->address, other.size);
    }
}

/* Calls @func for those with a device call each. */
static void
walk_plain (const GeOtherBlocks *others, GememSpanFunc func, gpointer data)
{
  guint64 address;
  gsize position = 0;
  gpointer record;

  while (gemem_idmap_next (others->blocks, &position, &address, &record))
    {
      const GeOtherBlock *other = record;
      const GememSpan span = { .address = address,
                               .size = other->size,
                               .segment = address,
                               .segment_size = other->size,
                               .stream = other->stream,
                               .state = GEMEM_SPAN_LIVE,
                               .user = address };

      if (other->type == GE_MEMORY_HBM || other->type == GE_MEMORY_WEIGHT)
        func (&span, data);
    }
}

static void
walk_idle (const GeOtherBlocks *others, GememSpanFunc func, gpointer data)
{
  for (const GememTreeNode *node = gemem_tree_first (&others->idle); node != NULL;
       node = gemem_tree_next (node))
    {
      const GememSpan span = { .address = node->address,
                               .size = node->size,
                               .segment = node->address,
                               .segment_size = node->size,
                               .stream = node->group,
                               .state = GEMEM_SPAN_FREE,
                               .flags = GEMEM_SPAN_RETURNABLE };

      func (&span, data);
    }
}

void
gemem_ge_other_walk (const GeOtherBlocks *others, GememSpanFunc func, gpointer data)
{
  walk_plain (others, func, data);
  walk_idle (others, func, data);
  gemem_ge_block_set_walk (&others->rdma.set, func, data);
  gemem_ge_variables_walk (&others->variables, func, data);
}

gboolean
gemem_ge_other_check (const GeOtherBlocks *others, const char *name, GError **error)
{
  return gemem_ge_block_set_check (&others->rdma.set, name, error)
         && gemem_ge_variables_check (&others->variables, name, error);
}

static void
return_span (const GememSpan *span, gpointer device)
{
  gemem_device_free (device, span->address, span->size);
}

void
gemem_ge_other_clear (GeOtherBlocks *others)
{
  walk_plain (others, return_span, others->device);
  gemem_ge_other_trim (others);
  gemem_tree_clear (&others->idle);
  gemem_slab_clear (&others->idle_slab);
  gemem_ge_rdma_clear (&others->rdma);
  gemem_ge_variables_clear (&others->variables);
  gemem_idmap_free (others->blocks);
}

void
gemem_ge_other_stats (const GeOtherBlocks *others, GememStatFunc func, gpointer data)
{
  for (guint type = 0; type < GE_MEMORY_TYPES; type++)
    {
      const struct
      {
        const char *name;
        guint64 value;
        const char *unit;
      } rows[] = { { "bytes", others->bytes[type], "B" },
                   { "peak", others->peak[type], "B" },
                   { "count", others->count[type], "" } };

      for (guint i = 0; others->count[type] > 0 && i < G_N_ELEMENTS (rows); i++)
        {
          g_autofree char *name = g_strdup_printf (
              "%s.%s", gemem_ge_memory_type_name ((GeMemoryType) type), rows[i].name);

          func (name, rows[i].value, rows[i].unit, data);
        }
    }
}
