/* physical.c - `ge-physical`: GE's pool of physical pages alone, under a reserved range for each
 * request.
 *
 * What a trace means here: a request reserves a range of addresses of whole pages (and is a user of
 * the page pool, as every range is), takes its pages from the top down, those returned last first,
 * and maps them there.  Freeing it returns the pages to the pool, ends their mappings and releases
 * the range.  The pool keeps its pages until the last request is freed; then all return to the
 * driver.  A device without virtual memory serves nothing.
 * Invariants: the pages of a block are those that its addresses map.
 * Cost: O(pages of the block), every one of them a mapping.
 * Origin: ge-runtime.md 4.
 */
#include "config.h"

#include "allocators/ge/links.h"
#include "allocators/ge/page-params.h"
#include "allocators/ge/static.h"
#include "base/slab.h"

typedef struct _Block Block;
struct _Block
{
  guint64 address, size;
  Block *prev, *next;
};

typedef struct
{
  GememAllocator base;
  GePages pages;
  guint64 page_size, total;
  Block *blocks; /* newest first */
  GememSlab slab;
} Physical;

typedef struct
{
  GePageParams pages;
} Params;

static const GememParam params[] = { GE_PAGE_PARAM_ROWS (Params, pages), { NULL } };

extern const GememAllocatorClass gemem_ge_physical_class;

static GememAllocator *
create (gconstpointer data, GememDevice *device, G_GNUC_UNUSED GError **error)
{
  const Params *p = data;
  Physical *self = g_new0 (Physical, 1);

  self->base.klass = &gemem_ge_physical_class;
  self->base.device = device;
  self->page_size = gemem_ge_page_params_size (&p->pages);
  self->total = gemem_ge_device_memory (0, device, GE_TOTAL_UNKNOWN);
  gemem_ge_pages_init (&self->pages, device, self->page_size, (Ge1gOption) p->pages.option);
  gemem_slab_init (&self->slab, sizeof (Block));
  return &self->base;
}

/* ---- ranges */

static void
give_range (Physical *self, guint64 address, guint64 size, guint64 taken_from)
{
  for (guint64 at = taken_from; at < address + size; at += self->page_size)
    gemem_ge_pages_give (&self->pages, gemem_ge_pages_at (&self->pages, at));
  gemem_ge_pages_close (&self->pages, address, size);
}

/* A range of @size bytes with pages under it, or 0. */
static guint64
take_range (Physical *self, guint64 size)
{
  const guint64 address = gemem_ge_pages_open (&self->pages, self->page_size, size);

  for (guint64 at = address + size; address != 0 && at > address; at -= self->page_size)
    {
      guint32 last = GE_NO_PAGE;

      if (gemem_ge_pages_take (&self->pages, &last, at - self->page_size, TRUE) != GE_NO_PAGE)
        continue;
      give_range (self, address, size, at);
      return 0;
    }
  return address;
}

static void
destroy (GememAllocator *allocator)
{
  Physical *self = (Physical *) allocator;

  for (const Block *block = self->blocks; block != NULL; block = block->next)
    give_range (self, block->address, block->size, block->address);
  gemem_ge_pages_clear (&self->pages);
  gemem_slab_clear (&self->slab);
  g_free (self);
}

static gboolean
alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *out)
{
  Physical *self = (Physical *) allocator;
  const guint64 page = self->page_size;
  guint64 size, address;
  Block *block;

  if (request->size > self->total)
    return FALSE;
  size = MAX (gemem_round_up (request->size, page), page);
  address = take_range (self, size);
  if (address == 0)
    return FALSE;
  block = gemem_slab_alloc (&self->slab);
  block->address = address;
  block->size = size;
  GE_LINK_FIRST (self->blocks, block, prev, next);
  *out = (GememBlock){ .address = address, .size = size, .handle = block };
  return TRUE;
}

static void
free_block (GememAllocator *allocator, const GememBlock *given,
            G_GNUC_UNUSED gboolean completion_follows)
{
  Physical *self = (Physical *) allocator;
  Block *block = given->handle;

  GE_UNLINK (self->blocks, block, prev, next);
  give_range (self, block->address, block->size, block->address);
  gemem_slab_free (&self->slab, block);
}

/* ---- questions */

/* Every request reserves a range, which is a device call. */
static guint64
largest_free (G_GNUC_UNUSED GememAllocator *allocator, G_GNUC_UNUSED guint64 stream)
{
  return 0;
}

static void
walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const Physical *self = (const Physical *) allocator;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  for (const Block *block = self->blocks; block != NULL; block = block->next)
    gemem_spans_append_whole (spans, block->address, block->size, GEMEM_SPAN_LIVE);
  gemem_ge_session_walk_lost (&self->pages, gemem_spans_append, spans);
  gemem_spans_report (spans, func, data);
}

static gboolean
check (GememAllocator *allocator, GError **error)
{
  const Physical *self = (const Physical *) allocator;
  guint64 blocks = 0;

  for (const Block *block = self->blocks; block != NULL; block = block->next)
    blocks++;
  if (blocks != self->pages.users)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                   "ge-physical: %" G_GUINT64_FORMAT
                   " ranges, but the page pool has %" G_GUINT64_FORMAT " users",
                   blocks, self->pages.users);
      return FALSE;
    }
  return gemem_ge_pages_check (&self->pages, "ge-physical", error);
}

static void
stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  gemem_ge_page_stats (&((const Physical *) allocator)->pages, func, data);
}

const GememAllocatorClass gemem_ge_physical_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "ge-physical",
  .summary = "Ascend GE page pool: every request a range of its own, on shared physical pages",
  .origin = "Ascend Graph Engine of 2026-08-21; ge-runtime.md 4",
  .known_as = "PhysicalMemoryAllocator",
  .capabilities = GEMEM_CAP_VIRTUAL_MEMORY,
  .alignment = 65536,
  .params = params,
  .params_size = sizeof (Params),
  .create = create,
  .alloc = alloc,
  .free = free_block,
  .largest_free = largest_free,
  .walk = walk,
  .check = check,
  .destroy = destroy,
  .report.stats = stats,
};
