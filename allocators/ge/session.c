/* session.c - `ge-session-range`: requests of a trace as pieces of a session's growing range
 * (ExpandableActiveMemoryAllocator), as GE's variables are.
 *
 * What a trace means here: every request is appended behind all before it, and no address is used
 * twice.  Freeing a piece returns nothing until the last live one is freed; then pages and
 * addresses return to the driver, and the next request begins a new range.  So a trace that always
 * keeps something alive uses up the device, whatever it frees: the allocator shows what it costs to
 * hold memory as variables.
 * variables=yes rounds sizes, hides 512 bytes before each variable, and does not take pages that a
 * refused request had returned (7.4).  variables=no rounds to 512, as GE's compiler has done with
 * all sizes of such requests (5.9).
 * When the device refuses addresses, or the first request is larger than the total, each request is
 * an allocation of the device from then on; with variable_use_1g_huge_page=1 it is refused.
 * Cost: O(pages of the block) per request; the end of a range O(its pages).
 * Origin: ge-runtime.md 5.9, 7.4.
 */
#include "config.h"

#include "allocators/ge/page-params.h"
#include "allocators/ge/static.h"
#include "allocators/ge/variables.h"

#define MOST_BYTES (G_GUINT64_CONSTANT (1) << 48)

typedef struct
{
  GePageParams pages;
  gboolean variables;
  guint64 total;
} Params;

typedef struct
{
  GememAllocator base;
  GeVariables variables;
} Session;

static const GememParam params[] = {
  { .name = "variables",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "yes",
    .offset = G_STRUCT_OFFSET (Params, variables),
    .help = "Requests are variables: 1024 bytes more than their size rounded up to 512, the "
            "program's address 512 bytes into that." },
  { .name = "total",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "0",
    .max = "16TiB",
    .offset = G_STRUCT_OFFSET (Params, total),
    .help = "Bytes of addresses to reserve; 0: as many as the device has memory." },
  GE_PAGE_PARAM_ROWS (Params, pages),
  { NULL }
};

extern const GememAllocatorClass gemem_ge_session_range_class;

static GememAllocator *
create (gconstpointer data, GememDevice *device, G_GNUC_UNUSED GError **error)
{
  const Params *p = data;
  Session *self = g_new0 (Session, 1);

  self->base.klass = &gemem_ge_session_range_class;
  self->base.device = device;
  gemem_ge_variables_init (
      &self->variables, device, gemem_ge_page_params_size (&p->pages), (Ge1gOption) p->pages.option,
      gemem_ge_device_memory (p->total, device, GE_TOTAL_UNKNOWN), p->variables);
  return &self->base;
}

static void
destroy (GememAllocator *allocator)
{
  gemem_ge_variables_clear (&((Session *) allocator)->variables);
  g_free (allocator);
}

static gboolean
alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  /* GE would give up its range for one that no device can hold (ge-runtime.md E32); so much is an
   * error of the program, not a variable */
  if (request->size > MOST_BYTES)
    return FALSE;
  return gemem_ge_variables_alloc (&((Session *) allocator)->variables, request->size,
                                   request->stream, block);
}

static void
free_block (GememAllocator *allocator, const GememBlock *block,
            G_GNUC_UNUSED gboolean completion_follows)
{
  gemem_ge_variables_free (&((Session *) allocator)->variables, block);
}

static guint64
largest_free (GememAllocator *allocator, G_GNUC_UNUSED guint64 stream)
{
  return gemem_ge_variables_largest_free (&((Session *) allocator)->variables);
}

static void
walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  gemem_ge_variables_walk (&((Session *) allocator)->variables, gemem_spans_append, spans);
  gemem_spans_report (spans, func, data);
}

static gboolean
check (GememAllocator *allocator, GError **error)
{
  return gemem_ge_variables_check (&((Session *) allocator)->variables, allocator->klass->name,
                                   error);
}

static void
stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const GeVariables *v = &((const Session *) allocator)->variables;

  func ("virtual_size", v->range.backing.size, "B", data);
  func ("used", v->range.used, "B", data);
  func ("phys", v->range.backing.phys, "B", data);
  func ("virtual_memory_unsupported", v->range.unsupported, "", data);
  gemem_ge_page_stats (&v->pages, func, data);
}

const GememAllocatorClass gemem_ge_session_range_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "ge-session-range",
  .aliases = "ge-variables",
  .summary =
      "Ascend GE variables: appended to one range of the session, all given back with the last",
  .origin =
      "Ascend Graph Engine of 2026-08-21, ExpandableActiveMemoryAllocator; ge-runtime.md 5.9, 7.4",
  .capabilities = GEMEM_CAP_VIRTUAL_MEMORY,
  .alignment = 512,
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
