/* engine.c - `ge`: memory of the Ascend Graph Engine as users mean it, static graphs and dynamic
 * requests under one static memory policy.
 *
 * What: the policy follows from the environment variable and the option together (policy.h), and
 * says where each kind of memory comes from (7.2):
 *  - static graphs: a block each (0, 3), or memory that the session shares (2, 4): static.h, and
 *    engine-graphs.c for what surrounds it;
 *  - dynamic requests: pools over the device (0, 2), or over virtual ranges (3, 4): stack.h; HBM
 *    and P2P memory have pools of their own; rules=documented, 0: blocks of exact sizes;
 *  - others (other-blocks.h): variables a range of the session; RDMA a pool that never grows;
 *    weights a device call each; host memory nothing of the device.
 * The pool number of a request says which kind it is (memory_types); the default is dynamic HBM
 * memory.  The alignment promised is that of dynamic memory; variables and blocks of the RDMA pool
 * begin at multiples of 512 bytes.  The process environment is not read here: GE_USE_STATIC_MEMORY
 * is a parameter, which the command fills with --env.
 * Cost: that of the parts.
 * Origin: ge-runtime.md 3.4, 7, 8.
 */
#include "config.h"

#include "allocators/ge/engine.h"
#include "planners/ge/policy.h"

#define OWN(field) .offset = G_STRUCT_OFFSET (GeEngineParams, field)

static const GememParam params[] = {
  { .name = "static_memory_policy",
    .type = GEMEM_PARAM_STRING,
    .default_text = GE_POLICY_UNSET,
    .choices = "2|3|4",
    .sweep = "2|3|4|0",
    .aliases = "ge.exec.staticMemoryPolicy",
    OWN (option),
    .help = "Static memory policy, as option: 0, 1 (which is 2), 2, 3, 4 or unset. 2: static "
            "graphs share memory; 3: dynamic memory is in virtual ranges; 4: both. 2 and 4 are not "
            "for graphs that run at once; 3 and 4 save memory and cost time." },
  { .name = "GE_USE_STATIC_MEMORY",
    .type = GEMEM_PARAM_STRING,
    .default_text = GE_POLICY_UNSET,
    .choices = "2|3|4",
    OWN (environment),
    .help = "The same as environment variable, deprecated (the environment itself is read with "
            "--env only); what either of the two switches on is on. Any other text counts as 0." },
  { .name = "strict",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    OWN (strict),
    .help = "Refuse what the manual forbids: both of the above set; graphs that run at once under "
            "policies 2 and 4, a run that is otherwise marked as not allowed." },
  { .name = "as_built",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    OWN (as_built),
    .help = "Take over slips of the real system, which rules=as-built leaves out: a "
            "static_memory_policy that is none counts as 0; static_model_addr_fixed leaves a "
            "graph's block behind when it is unloaded." },
  GE_RULES_ROW (GeEngineParams, rules,
                ". Under policy 0 dynamic memory has the actual size of each request. "
                "GE_USE_STATIC_MEMORY takes the listed values alone, and not beside "
                "static_memory_policy"),
  { .name = "check_free_memory",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "yes",
    OWN (check_free_memory),
    .help = "Policies 2 and 4: unload other graphs, the oldest first, while the estimate says that "
            "a graph does not fit (CheckFreeMemory); "
            "they are loaded again when they are run." },
  { .name = "hccl_graphs",
    .type = GEMEM_PARAM_STRING,
    OWN (hccl_graphs),
    .help = "Graphs with HCCL tasks, which are not unloaded to make room: [3,7]." },
  { .name = "static_model_addr_fixed",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .aliases = "ge.exec.static_model_addr_fixed",
    OWN (static_model_addr_fixed),
    .help = "Static graphs have a block each, whatever the policy." },
  { .name = "feature_base_refreshable",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    OWN (feature_base_refreshable),
    .help = "Policies 0 and 3: fixed segments of a graph are in a block apart from the others." },
  { .name = "external",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    OWN (external),
    .help = "The streams have an external allocator, here a device call per request: instead of "
            "the pools of HBM memory, and for fixed segments." },
  { .name = "memory_types",
    .type = GEMEM_PARAM_STRING,
    OWN (memory_types),
    .help = "What the pools of the trace stand for: [1=p2p,2=host,3=variable,4=weight,5=rdma]; "
            "hbm, dynamic memory, unless named. Host memory is "
            "not the device's and is only counted." },
  { .name = "rdma_size",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "1GiB",
    .min = "512",
    OWN (rdma_size),
    .help = "Bytes of the pool for remote memory access, which never grows; taken with the first "
            "request of an rdma pool." },
  { .name = "variable_use_1g_huge_page",
    .type = GEMEM_PARAM_UINT,
    .default_text = "0",
    .max = "2",
    .aliases = "ge.variableUse1gHugePage",
    OWN (variable_option),
    .help = "Pages of 1 GiB under variables: none (0), only memory of the driver's 1 GiB type (1), "
            "or that first and the 2 MiB type for good once "
            "it is refused (2)." },
  { .name = "atomic_clean_policy",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "unset",
    .choices = "unset|0|1",
    .aliases = "ge.exec.atomicCleanPolicy",
    OWN (atomic_clean_policy),
    .help = "Memory that is set to zero in one piece (0) or buffer by buffer (1). Has no effect "
            "here: it is decided when a graph is compiled; "
            "--lower=zero-clear:atomic_clean_policy=... does it." },
  GE_STACK_POOLS_ROW,
  GE_STACK_PARAM_ROWS,
  { NULL }
};

#define WHAT "allocator ge"

extern const GememAllocatorClass gemem_ge_class;

/* ---- create and destroy */

static gboolean
shares_static (const GeEngine *ge)
{
  return ge->policy == 2 || ge->policy == 4;
}

static GeStaticOptions
static_options (const GeEngine *ge, const GeEngineParams *p, guint64 total)
{
  const gboolean shared = shares_static (ge) && !p->static_model_addr_fixed;
  GeStaticOptions options = { .mode = GE_STATIC_OWN,
                              .fixed = p->feature_base_refreshable ? GE_FIXED_APART
                                                                   : GE_FIXED_INSIDE,
                              .total = total };

  if (shared)
    {
      options.mode = p->rules == GEMEM_RULES_DOCUMENTED ? GE_STATIC_DOCUMENTED : GE_STATIC_ACTIVE;
      options.fixed = p->external ? GE_FIXED_APART : GE_FIXED_SHARED;
      options.pages = ge->hbm->pages != NULL && ge->policy == 4 ? ge->hbm->pages : NULL;
    }
  options.leaky = shares_static (ge) && p->static_model_addr_fixed && p->as_built;
  return options;
}

/* Dynamic memory "based on the actual size": the manual's mode 0. */
static gboolean
is_exact (const GeEngine *ge, const GeEngineParams *p)
{
  return p->rules == GEMEM_RULES_DOCUMENTED && ge->policy == 0 && !p->external;
}

static GeOtherOptions
other_options (const GeEngine *ge, const GeEngineParams *p, guint64 total)
{
  GeOtherOptions options = { .rdma_size = p->rdma_size,
                             .variable_option = (Ge1gOption) p->variable_option,
                             .total = total,
                             .exact = is_exact (ge, p) };

  options.variable_page = p->variable_option != GE_1G_NO ? GE_HUGE_PAGE
                          : ge->policy >= 3              ? GE_LARGE_PAGE
                                                         : GE_SMALL_PAGE;
  return options;
}

/* The pools; the one for P2P memory only where a pool of the trace is such. */
static gboolean
create_stacks (GeEngine *ge, const GeEngineParams *p, GError **error)
{
  const guint64 page = ge->policy >= 3 ? GE_LARGE_PAGE : 0;
  GeStackParams stack = p->stack;
  GememAllocator *made;

  stack.stack = GE_STACK_TWO;
  made = gemem_ge_stack_create (&gemem_ge_class, &stack, page, ge->base.device, error);
  if (made == NULL)
    return FALSE;
  ge->hbm = (GeStack *) made;
  gemem_ge_stack_speak_as (ge->hbm, &ge->base);
  if (!gemem_ge_memory_types_have (ge->types, GE_MEMORY_P2P))
    return TRUE;
  /* The first stack accepted the same parameters. */
  ge->p2p = (GeStack *) gemem_ge_stack_create (&gemem_ge_class, &stack, page, ge->base.device,
                                               NULL);
  gemem_ge_stack_speak_as (ge->p2p, &ge->base);
  gemem_ge_stack_share_ladder (ge->p2p, ge->hbm);
  return TRUE;
}

static void
free_lists (GeEngine *ge)
{
  g_clear_pointer (&ge->types, g_array_unref);
  g_clear_pointer (&ge->hccl, g_array_unref);
  g_free (ge);
}

static GePolicySources
sources_of (const GeEngineParams *p)
{
  return (GePolicySources){ .environment = p->environment,
                            .option = p->option,
                            .strict = p->strict,
                            .has_as_built = TRUE,
                            .as_built = p->as_built,
                            .documented = p->rules == GEMEM_RULES_DOCUMENTED };
}

static void
notes (gconstpointer data, GememNoteFunc func, gpointer to)
{
  const GeEngineParams *p = data;
  const GePolicySources sources = sources_of (p);

  if (!gemem_ge_policy_check (&sources, NULL))
    return;
  gemem_ge_policy_notes (&sources, WHAT, func, to);
  gemem_ge_stack_notes (&p->stack, func, to);
  if (p->atomic_clean_policy != 0)
    func (WHAT ": atomic_clean_policy has no effect here, it is decided when a graph is compiled; "
               "give it to the lowering of a graph, --lower=zero-clear:atomic_clean_policy=N, or "
               "to the planner, plan -p ge-hybrid:atomic_clean_policy=N",
          to);
}

static GememAllocator *
create (gconstpointer data, GememDevice *device, GError **error)
{
  const GeEngineParams *p = data;
  const GePolicySources sources = sources_of (p);
  GeStaticOptions statics;
  GeOtherOptions others;
  guint64 total;
  GeEngine *ge;

  if (!gemem_ge_policy_check (&sources, error))
    {
      g_prefix_error (error, "%s: ", WHAT);
      return NULL;
    }
  ge = g_new0 (GeEngine, 1);
  ge->base.klass = &gemem_ge_class;
  ge->base.device = device;
  ge->policy = gemem_ge_policy (p->environment, p->option);
  ge->strict = p->strict;
  ge->external = p->external || is_exact (ge, p);
  ge->check_free_memory = p->check_free_memory && shares_static (ge) && !p->static_model_addr_fixed;
  if ((ge->types = gemem_ge_memory_types_parse (p->memory_types, WHAT, error)) == NULL
      || (ge->hccl = gemem_ge_ids_parse (p->hccl_graphs, "hccl_graphs", WHAT, error)) == NULL
      || !create_stacks (ge, p, error))
    {
      free_lists (ge);
      return NULL;
    }
  total = gemem_ge_device_memory (p->stack.total, device, ge->hbm->config.threshold);
  statics = static_options (ge, p, total);
  others = other_options (ge, p, total);
  gemem_ge_static_init (&ge->memory, device, &statics);
  gemem_ge_other_init (&ge->others, device, &others);
  gemem_ge_run_order_init (&ge->order);
  ge->total = gemem_device_capacity (device) >> 48 == 0 ? gemem_device_capacity (device) : 0;
  ge->graphs = gemem_idmap_new (sizeof (GeGraph *));
  ge->inner = gemem_idmap_new (0);
  g_queue_init (&ge->loaded);
  return &ge->base;
}

static void
destroy (GememAllocator *allocator)
{
  GeEngine *ge = (GeEngine *) allocator;

  gemem_ge_graphs_clear (ge);
  gemem_ge_run_order_clear (&ge->order);
  gemem_ge_static_clear (&ge->memory);
  gemem_ge_other_clear (&ge->others);
  if (ge->p2p != NULL)
    gemem_ge_stack_destroy (&ge->p2p->base);
  gemem_ge_stack_destroy (&ge->hbm->base);
  free_lists (ge);
}

/* ---- requests */

static gboolean
alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  GeEngine *ge = (GeEngine *) allocator;
  const GeMemoryType type = gemem_ge_memory_type_of (ge->types, request->pool);

  if (G_LIKELY (type == GE_MEMORY_HBM))
    return gemem_ge_dynamic_alloc (ge, request, block);
  if (type == GE_MEMORY_P2P)
    return gemem_ge_dynamic_alloc_from (ge, ge->p2p, request, block);
  return gemem_ge_other_alloc (&ge->others, type, request, block);
}

static void
dynamic_free (GememAllocator *allocator, const GememBlock *block,
              G_GNUC_UNUSED gboolean completion_follows)
{
  gemem_ge_dynamic_free ((GeEngine *) allocator, block);
}

static void
trim (GememAllocator *allocator)
{
  GeEngine *ge = (GeEngine *) allocator;

  gemem_ge_other_trim (&ge->others);
  gemem_ge_stack_trim (&ge->hbm->base);
  if (ge->p2p != NULL)
    gemem_ge_stack_trim (&ge->p2p->base);
}

static guint64
largest_free (GememAllocator *allocator, guint64 stream)
{
  const GeEngine *ge = (GeEngine *) allocator;

  return ge->external ? gemem_ge_other_largest_idle (&ge->others, stream)
                      : gemem_ge_stack_largest_free (&ge->hbm->base, stream);
}

/* ---- streams: what runs come after others */

static void
sync_stream (GememAllocator *allocator, guint64 stream)
{
  gemem_ge_run_order_sync (&((GeEngine *) allocator)->order, stream);
}

static void
event_record (GememAllocator *allocator, guint64 id, guint64 stream, G_GNUC_UNUSED guint64 to)
{
  gemem_ge_run_order_record (&((GeEngine *) allocator)->order, id, stream);
}

static void
event_wait (GememAllocator *allocator, guint64 id, guint64 stream)
{
  gemem_ge_run_order_wait (&((GeEngine *) allocator)->order, id, stream);
}

static const GememForm forms[] = {
  { "ge", GEMEM_FORM_OPTIONS, NULL, "static_memory_policy" },
  { NULL },
};

const GememAllocatorClass gemem_ge_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "ge",
  .summary =
      "Ascend GE as a whole: static graphs and dynamic memory under static memory policy 0 to 4",
  .origin = "Ascend Graph Engine of 2026-08-21; ge-runtime.md 3, 7, 8",
  .forms = forms,
  .known_as = "MemoryConfig|NPURunConfig",
  .capabilities = GEMEM_CAP_STREAMS | GEMEM_CAP_VIRTUAL_MEMORY,
  .alignment = 65536,
  .params = params,
  .params_size = sizeof (GeEngineParams),
  .create = create,
  .alloc = alloc,
  .free = dynamic_free,
  .trim = trim,
  .largest_free = largest_free,
  .walk = gemem_ge_report_walk,
  .check = gemem_ge_report_check,
  .destroy = destroy,
  .notes = notes,
  .streams = { .record = event_record, .wait = event_wait, .sync = sync_stream },
  .graphs = { .load = gemem_ge_graph_load,
              .run = gemem_ge_graph_run,
              .unload = gemem_ge_graph_unload,
              .bytes = gemem_ge_graph_bytes,
              .need = gemem_ge_graph_need,
              .walk = gemem_ge_graph_walk },
  .report = { .stats = gemem_ge_report_stats, .text = gemem_ge_report_text },
};
