/* planner.h - the interface of every off-line planner, and the list of all of them.
 *
 * A planner sees everything before the first request: a graph, or the lifetimes of a trace.  A
 * variant is one file that defines one `const GememPlanner`, and one line in planners.def; list,
 * help, man page, completion, `gemem-sim plan`, the `plan` allocator and the random-graph tests
 * derive from the struct.
 *
 * There are two kinds.  plan() of a GEMEM_PLANNER_GRAPH planner gets a graph; from lifetimes,
 * gemem_planner_run() makes one (a node per item).  plan() of the others gets lifetimes; from a
 * graph, gemem_planner_run() makes them: tensors that share memory by reference or lie side by side
 * by attribute become one item, several streams lengthen lifetimes (safe_end), memory types become
 * spaces.
 *
 * Rules: a planner changes nothing in its input and uses no global state; the same input and
 * parameters give the same plan, whatever the number of threads; it never prints or reads a clock.
 */
#pragma once

#include "base/lifetimes.h"
#include "base/macros.h"
#include "base/named.h"
#include "graphs/graph.h"
#include "planners/plan.h"

GEMEM_BEGIN_DECLS

enum /* capabilities */
{
  GEMEM_PLANNER_GRAPH = 1 << 0,   /* plan() gets a graph */
  GEMEM_PLANNER_THREADS = 1 << 1, /* uses input.threads */
  GEMEM_PLANNER_PLACES = 1 << 2,  /* keeps the places of lifetimes, and uses their gaps */
};

typedef struct _GememPlanInput
{
  const GememGraph *graph; /* or NULL */
  /* or NULL; at least one of the two is set.  Both: lifetimes of a trace lowered from the graph */
  const GememLifetimes *lifetimes;
  guint threads; /* upper limit; 0: one per processor */
  /* atomic, may change at any time; non-zero: gemem_planner_run() soon returns
   * GEMEM_ERROR_INTERRUPTED, or the best plan so far, with `stopped` set.  NULL: never */
  const gint *interrupted;
  /* atomic; planners whose searches are long keep there how much is done, in 1000ths; NULL: nobody
   * asks */
  gint *share;
  /* of the host, ns, for planners whose search may be bounded in time, and then is not repeatable; NULL:
   * there is none */
  guint64 (*clock) (void);
} GememPlanInput;

/* TRUE once nobody wants the plan any more.  The long loops of planners ask this at every node or
 * item and end early; whatever they leave unfinished must still be consistent in memory, but is
 * never used.  @interrupted may be NULL. */
static inline gboolean
gemem_plan_is_unwanted (const gint *interrupted)
{
  return interrupted != NULL && g_atomic_int_get (interrupted) != 0;
}

/* The row of a planner's parameters that its offsets are multiples of. */
#define GEMEM_PLANNER_ALIGNMENT(Type) \
  { \
    .name = "alignment", .type = GEMEM_PARAM_SIZE, .default_text = "512", .min = "1", \
    .max = "1GiB", .help = "Offsets are multiples of this.", \
    .offset = G_STRUCT_OFFSET (Type, alignment) \
  }

typedef struct
{
  GememNamed base;
  guint capabilities;
  /* default for offsets, in bytes; reports round the lower bound to it */
  guint64 alignment;
  /* Fills a plan with offsets, sizes, spaces, totals and further results; the caller sets label,
   * arena and lower bound.
   * Errors: GEMEM_ERROR_INPUT (the graph breaks a rule of the system: node and field). */
  GememPlan *(*plan) (gconstpointer params, const GememPlanInput *input, GError **error);
  /* host memory that a plan of lifetimes takes, per lifetime; somewhat less than measured
   * (test-cli-memory.sh) */
  guint item_bytes;
  /* What of @params means nothing for @graph; NULL: there is nothing of the kind. */
  void (*graph_notes) (gconstpointer params, const GememGraph *graph, GememNoteFunc func,
                       gpointer data);
} GememPlanner;

/* TRUE if @planner plans the gaps of @input as in use; the plan is safe, but may need more. */
gboolean gemem_planner_fills_gaps (const GememPlanner *planner, const GememPlanInput *input);

/* In the order of planners.def; NULL-terminated. */
const GememPlanner *const *gemem_planners (void);
const GememPlanner *gemem_planner_find (const char *name, GError **error);
/* Appends a GememChoice for each planner and setting that @text names: "NAME[:key=value,...]", with
 * globs and value lists.  Errors: GEMEM_ERROR_USAGE. */
gboolean gemem_planner_parse (const char *text, GPtrArray *choices, GError **error);
/* The one planner that @text, the setting `planner` of allocator @owner, names; gemem_choice_free().
 * Errors: GEMEM_ERROR_USAGE, also where it names several. */
GememChoice *gemem_planner_parse_one (const char *text, const char *owner, GError **error);

/* Runs the planner of @choice; the graph's own settings are its defaults.  The plan has an entry
 * per item of the graph if there is one, else per lifetime.  The plan is complete but NOT yet
 * checked; free with gemem_plan_free().  Errors: as the planner's, GEMEM_ERROR_INPUT for settings
 * of the graph that the planner does not accept, GEMEM_ERROR_FAILED where the host lacks the
 * memory, and GEMEM_ERROR_INTERRUPTED. */
GememPlan *gemem_planner_run (const GememChoice *choice, const GememPlanInput *input,
                              GError **error);

/* gemem_graph_lower_bound() of the graph if there is one, else gemem_lifetimes_lower_bound(); at
 * the alignment of @plan, and cleared as it says. */
guint64 gemem_plan_lower_bound (const GememPlanInput *input, const GememPlan *plan);

GEMEM_END_DECLS
