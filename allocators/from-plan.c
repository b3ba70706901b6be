/* from-plan.c - `plan`: replays a static plan as an allocator, so that static and dynamic memory
 * can be compared in one table.
 *
 * prepare() sees the whole trace: it makes a plan, or reads one from a file, checks it, and takes
 * the arena from the device in one call, as a static graph does at load.  Each request then gets
 * its planned address.  The id identifies a request; a repeated id (steps, epochs) takes its
 * lifetimes in turn, and restarts with the first after the last.  Requests outside the plan, and
 * all requests without a trace to plan for, go to the device as with `direct`.
 *
 * A plan for a graph is checked by the rules of graphs (no reuse before all users on all streams
 * are known to be done) and against the lifetimes of the trace lowered from it.  A plan for a
 * recorded trace holds for the order of that trace only: the recorded frees decide, not the
 * streams.  If the device has no space for the arena, every request fails.
 *
 * Invariants: live blocks lie in the arena and do not overlap; one device call in all.
 * Cost: O(1) per request, 48 bytes per allocation of the trace.  `largest_free` is the largest gap
 * of the arena, although only requests planned there can use it.
 * Origin: ge-runtime.md (static memory is taken before the run).
 */
#include "config.h"

#include "allocators/spans.h"
#include "base/idmap.h"
#include "planners/plan-file.h"
#include "planners/plan-places.h"

enum
{
  INPUT_AUTO,
  INPUT_GRAPH,
  INPUT_TRACE
};

typedef struct
{
  char *planner, *file;
  int input;
} Params;

#define FIELD(field) .offset = G_STRUCT_OFFSET (Params, field)

static const GememParam params[] = {
  { .name = "planner",
    .type = GEMEM_PARAM_STRING,
    .default_text = "first-fit-by-size",
    FIELD (planner),
    .conflicts = "file",
    .help = "Planner and its parameters, in quotes if there are several: "
            "planner=\"ge-hybrid:a=1,b=2\"." },
  { .name = "file",
    .type = GEMEM_PARAM_STRING,
    .flags = GEMEM_PARAM_FILE,
    FIELD (file),
    .help = "A plan in a file instead (written by gemem-sim plan, or another's offsets)." },
  { .name = "input",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "auto",
    .choices = "auto|graph|trace",
    FIELD (input),
    .help = "What is planned where a graph was lowered: the graph, or the trace it became. "
            "auto: the graph, if the planner is made for graphs, the graph has several streams, or "
            "a file is given." },
  { NULL }
};

/* One allocation of the trace. */
typedef struct
{
  guint64 offset, size;
  guint64 stream;
  guint32 pool;
  guint32 next; /* next allocation with the same id; the last one links to the first */
  gboolean live;
} Place;

typedef struct
{
  guint32 current, last;
} Turn;

typedef struct
{
  GememAllocator base;
  Params params;
  GememAllocator *direct; /* serves requests outside the plan */
  Place *places;
  guint32 n_places;
  GememIdMap *turns; /* id -> Turn; NULL: not prepared */
  guint64 arena, size;
  guint64 planner_bound, least, live, live_bytes, served, refused;
} Plan;

extern const GememAllocatorClass gemem_plan_class;
extern const GememAllocatorClass gemem_direct_class;

static void
plan_notes (gconstpointer data, GememNoteFunc func, gpointer to)
{
  const Params *p = data;
  g_autoptr (GememChoice)
      choice = p->file == NULL ? gemem_planner_parse_one (p->planner, "plan", NULL) : NULL;

  if (choice != NULL)
    gemem_choice_notes (choice, "planner", NULL, func, to);
}

static GememAllocator *
plan_create (gconstpointer data, GememDevice *device, GError **error)
{
  const Params *p = data;
  g_autoptr (GememChoice) choice = NULL;
  Plan *plan;

  if (p->file == NULL && (choice = gemem_planner_parse_one (p->planner, "plan", error)) == NULL)
    return NULL;
  if (p->file != NULL && g_file_test (p->file, G_FILE_TEST_EXISTS)
      && !g_file_test (p->file, G_FILE_TEST_IS_REGULAR))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "allocator plan: file=%s: not a regular file, and every run reads it; save the "
                   "plan to a file and name that",
                   p->file);
      return NULL;
    }
  plan = g_new0 (Plan, 1);
  plan->base.klass = &gemem_plan_class;
  plan->base.device = device;
  plan->params = (Params){ g_strdup (p->planner), g_strdup (p->file), p->input };
  plan->direct = gemem_direct_class.create (NULL, device, error);
  return &plan->base;
}

/* ---- before the run */

/* TRUE if two nodes are on different streams (-1: no stream). */
static gboolean
has_streams (const GememGraph *graph)
{
  gint64 only = -1;

  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const GememNode *node = gemem_graph_node (graph, id);
      gint64 stream = node->stream;

      gemem_graph_int (graph, node->attributes, GEMEM_ATTRIBUTE_SUB_STREAM_ID, &stream);
      if (stream >= 0 && only >= 0 && stream != only)
        return TRUE;
      only = MAX (only, stream);
    }
  return FALSE;
}

/* TRUE if the graph is planned, not the lifetimes; @choice NULL: the plan is in a file. */
static gboolean
plans_graph (const Plan *plan, const GememChoice *choice, const GememGraph *graph)
{
  if (graph == NULL || plan->params.input != INPUT_AUTO)
    return graph != NULL && plan->params.input == INPUT_GRAPH;
  return choice == NULL
         || (((const GememPlanner *) choice->named)->capabilities & GEMEM_PLANNER_GRAPH) != 0
         || has_streams (graph);
}

/* Returns the offset of each lifetime of @input. */
static GememPlan *
obtain (const Plan *plan, const GememPlanInput *input, GError **error)
{
  GememPlanInput trace = *input, own = *input;
  g_autoptr (GememChoice) choice = NULL;
  GememPlan *made;

  if (plan->params.file == NULL
      && (choice = gemem_planner_parse_one (plan->params.planner, "plan", error)) == NULL)
    return NULL;
  if (!plans_graph (plan, choice, input->graph))
    trace.graph = own.graph = NULL;
  else
    own.lifetimes = NULL;
  made = choice != NULL ? gemem_planner_run (choice, &own, error)
                        : gemem_plan_load (plan->params.file, &own, error);
  return made != NULL ? gemem_plan_places (made, &trace, error) : NULL;
}

static void
add_place (Plan *plan, guint32 i, const GememPlan *places, const GememLifetime *life)
{
  Place *place = &plan->places[i];
  gboolean known;
  Turn *turn;

  *place = (Place){ .offset = places->offsets[i], .size = places->sizes[i] };
  if (life->size == 0)
    return; /* such requests never arrive */
  turn = gemem_idmap_insert (plan->turns, life->id, &known);
  if (known)
    plan->places[turn->last].next = i;
  else
    turn->current = i;
  turn->last = i;
  place->next = turn->current;
}

static gboolean
plan_prepare (GememAllocator *allocator, const GememPlanInput *input, GError **error)
{
  Plan *plan = (Plan *) allocator;
  g_autoptr (GememPlan) places = obtain (plan, input, error);

  if (places == NULL)
    return FALSE;
  plan->n_places = places->n_items;
  plan->places = g_new (Place, plan->n_places + 1);
  plan->turns = gemem_idmap_new (sizeof (Turn));
  for (guint32 i = 0; i < plan->n_places; i++)
    add_place (plan, i, places, gemem_lifetimes_get (input->lifetimes, i));
  plan->size = places->arena;
  plan->planner_bound = places->lower_bound;
  plan->least = places->least;
  plan->arena = plan->size > 0 ? gemem_device_malloc (allocator->device, plan->size, 0) : 0;
  return TRUE;
}

/* ---- requests */

/* The place of @request, advancing the turn of its id; NULL: not in the plan. */
static Place *
take_turn (Plan *plan, const GememRequest *request)
{
  Turn *turn = gemem_idmap_lookup (plan->turns, request->id);
  Place *place = turn != NULL ? &plan->places[turn->current] : NULL;

  if (place == NULL || place->live || place->size < request->size)
    return NULL;
  turn->current = place->next;
  return place;
}

static gboolean
plan_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  Plan *plan = (Plan *) allocator;
  Place *place;

  if (plan->turns == NULL)
    return gemem_direct_class.alloc (plan->direct, request, block);
  if (plan->arena == 0 && plan->size > 0)
    {
      plan->refused++;
      return FALSE;
    }
  place = take_turn (plan, request);
  if (place == NULL)
    return gemem_direct_class.alloc (plan->direct, request, block);
  place->live = TRUE;
  place->stream = request->stream;
  place->pool = request->pool;
  plan->live++;
  plan->live_bytes += place->size;
  plan->served++;
  *block = (GememBlock){ plan->arena + place->offset, place->size, place };
  return TRUE;
}

static gboolean
in_arena (const Plan *plan, guint64 address)
{
  return plan->arena != 0 && address >= plan->arena && address - plan->arena < plan->size;
}

static void
plan_free (GememAllocator *allocator, const GememBlock *block, gboolean completion_follows)
{
  Plan *plan = (Plan *) allocator;
  Place *place = block->handle;

  if (!in_arena (plan, block->address))
    {
      gemem_direct_class.free (plan->direct, block, completion_follows);
      return;
    }
  place->live = FALSE;
  plan->live--;
  plan->live_bytes -= place->size;
}

/* ---- looking at it */

/* The live places, as spans. */
static GArray *
live_spans (const Plan *plan)
{
  GArray *live = g_array_sized_new (FALSE, FALSE, sizeof (GememSpan), (guint) plan->live);

  for (guint32 i = 0; i < plan->n_places; i++)
    {
      const Place *place = &plan->places[i];
      const guint64 address = plan->arena + place->offset;
      const GememSpan span = { address,       place->size, plan->arena,     plan->size,
                               place->stream, place->pool, GEMEM_SPAN_LIVE, address };

      if (place->live)
        g_array_append_val (live, span);
    }
  return live;
}

static void
append_arena (const Plan *plan, GArray *spans)
{
  g_autoptr (GArray) live = live_spans (plan);

  if (plan->arena != 0)
    gemem_spans_append_arena (spans, live, plan->arena, plan->size);
}

static void
plan_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const Plan *plan = (const Plan *) allocator;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  gemem_direct_class.walk (plan->direct, gemem_spans_append, spans);
  append_arena (plan, spans);
  gemem_spans_report (spans, func, data);
}

static guint64
plan_largest_free (GememAllocator *allocator, guint64 stream)
{
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));
  guint64 largest = 0;

  append_arena ((const Plan *) allocator, spans);
  for (guint i = 0; i < spans->len; i++)
    if (g_array_index (spans, GememSpan, i).state == GEMEM_SPAN_FREE)
      largest = MAX (largest, g_array_index (spans, GememSpan, i).size);
  return largest;
}

static gboolean
plan_check (GememAllocator *allocator, GError **error)
{
  const Plan *plan = (const Plan *) allocator;
  g_autoptr (GArray) live = live_spans (plan);
  guint64 bytes = 0;

  if (!gemem_spans_check_arena (live, plan->arena, plan->size, error))
    return FALSE;
  for (guint i = 0; i < live->len; i++)
    bytes += g_array_index (live, GememSpan, i).size;
  if (live->len == plan->live && bytes == plan->live_bytes)
    return gemem_direct_class.check (plan->direct, error);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "plan: %u blocks of %" G_GUINT64_FORMAT " bytes are there, %" G_GUINT64_FORMAT
               " of %" G_GUINT64_FORMAT " were counted",
               live->len, bytes, plan->live, plan->live_bytes);
  return FALSE;
}

static void
plan_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const Plan *plan = (const Plan *) allocator;

  func ("arena", plan->size, "B", data);
  func ("arena_lower_bound", plan->planner_bound, "B", data);
  if (plan->least > 0) /* the planner proves it */
    func ("arena_least", plan->least, "B", data);
  func ("planned_allocations", plan->n_places, "", data);
  func ("planned_requests", plan->served, "", data);
  func ("refused_requests", plan->refused, "", data);
}

static void
plan_destroy (GememAllocator *allocator)
{
  Plan *plan = (Plan *) allocator;

  gemem_direct_class.destroy (plan->direct);
  if (plan->arena != 0)
    gemem_device_free (allocator->device, plan->arena, plan->size);
  if (plan->turns != NULL)
    gemem_idmap_free (plan->turns);
  g_free (plan->places);
  g_free (plan->params.planner);
  g_free (plan->params.file);
  g_free (plan);
}

const GememAllocatorClass gemem_plan_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "plan",
  .aliases = "static",
  .summary = "Replays a static plan: one arena, each block where the planner put it",
  .origin = "off-line planning (gemem-sim list planners); GE takes static memory before the run",
  .alignment = 1,
  .params = params,
  .params_size = sizeof (Params),
  .create = plan_create,
  .alloc = plan_alloc,
  .free = plan_free,
  .largest_free = plan_largest_free,
  .walk = plan_walk,
  .check = plan_check,
  .destroy = plan_destroy,
  .prepare = plan_prepare,
  .notes = plan_notes,
  .report.stats = plan_stats,
};
