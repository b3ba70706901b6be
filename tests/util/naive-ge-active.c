/* naive-ge-active.c - static graphs beside the dynamic pools: the models of ge-active and of
 * ge-fixed-base (ge-runtime.md 3, 5.10); see naive-ge-static.h. */
#include "config.h"

#include "tests/util/naive-ge-static.h"
#include "tests/util/sizes.h"
#include "traces/trace.h"

typedef struct
{
  NaiveGe ge;
  NaiveStaticMode mode;
  gboolean all_fixed;
  guint64 page;      /* size of a page of the fixed range */
  NaivePages *apart; /* pages of the fixed range; NULL: those of the pools */
  NaiveStatic graphs;
} Active;

/* ---- graphs */

static gboolean
graph_load (Naive *naive, guint32 id, G_GNUC_UNUSED guint64 stream,
            const GememGraphSegment *segments, guint n, guint64 *address)
{
  Active *a = (Active *) naive;
  g_autofree GememGraphSegment *mine = g_new (GememGraphSegment, n);

  for (guint i = 0; i < n; i++)
    {
      mine[i] = segments[i];
      mine[i].flags |= a->all_fixed ? GEMEM_GRAPH_SEGMENT_FIXED : 0;
    }
  return naive_static_load (&a->graphs, id, mine, n, address);
}

static gboolean
graph_run (Naive *naive, guint32 id, G_GNUC_UNUSED guint64 stream, gboolean begin)
{
  return naive_static_run (&((Active *) naive)->graphs, id, begin);
}

static void
graph_unload (Naive *naive, guint32 id)
{
  naive_static_unload (&((Active *) naive)->graphs, id);
}

static gboolean
figure (Naive *naive, const char *name, guint64 *value)
{
  return naive_static_figure (&((const Active *) naive)->graphs, name, value)
         || naive_ge_figure (naive, name, value);
}

/* ---- life */

static Naive *
create (NaiveStaticMode mode, gboolean all_fixed, guint64 page)
{
  Active *a = g_new0 (Active, 1);

  naive_ge_init (&a->ge, mode == NAIVE_STATIC_PAGED);
  a->mode = mode;
  a->all_fixed = all_fixed;
  a->page = page;
  return &a->ge.base;
}

static void
start (Naive *naive)
{
  Active *a = (Active *) naive;

  if (a->mode != NAIVE_STATIC_PAGED)
    a->apart = naive_pages_new (&naive->device, a->page);
  naive_static_init (&a->graphs, &naive->device,
                     a->apart != NULL ? a->apart : naive_ge_pages (&a->ge), a->mode,
                     NAIVE_FIXED_BASE);
  a->graphs.bare = TRUE;
}

static Naive *
create_documented (void)
{
  return create (NAIVE_STATIC_DOCUMENTED, FALSE, 2 * MIB);
}

static Naive *
create_as_built (void)
{
  return create (NAIVE_STATIC_AS_BUILT, FALSE, 2 * MIB);
}

static Naive *
create_paged (void)
{
  return create (NAIVE_STATIC_PAGED, FALSE, 8 * MIB);
}

static Naive *
create_fixed (void)
{
  return create (NAIVE_STATIC_OWN, TRUE, 2 * MIB);
}

static Naive *
create_fixed_large (void)
{
  return create (NAIVE_STATIC_OWN, TRUE, 8 * MIB);
}

static void
destroy (Naive *naive)
{
  Active *a = (Active *) naive;

  naive_static_clear (&a->graphs);
  naive_pages_destroy (a->apart);
  naive_ge_destroy (naive);
}

#define MODEL(text, function) \
  .settings = text, .create = function, .start = start, .alloc = naive_ge_alloc, \
  .free = naive_ge_free, .trim = naive_ge_trim, .graph_load = graph_load, .graph_run = graph_run, \
  .graph_unload = graph_unload, .figure = figure, .destroy = destroy
#define ACTIVE(text, function) .name = "ge-active", MODEL (text, function)
#define FIXED_BASE(text, function) .name = "ge-fixed-base", MODEL (text, function)

const NaiveClass naive_ge_documented = { ACTIVE ("rules=documented", create_documented) };
const NaiveClass naive_ge_as_built = { ACTIVE ("policy=2", create_as_built) };
const NaiveClass naive_ge_as_built_faulty = { ACTIVE ("policy=2,rules=as-built", create_as_built),
                                              .every = 7 };
const NaiveClass naive_ge_policy4 = { ACTIVE ("policy=4", create_paged) };
const NaiveClass naive_ge_policy4_plain = { ACTIVE ("policy=4", create_paged), .no_virtual = TRUE };
const NaiveClass naive_ge_policy4_faulty = { ACTIVE ("policy=4", create_paged), .every = 13 };
const NaiveClass naive_ge_policy4_poor = { ACTIVE ("policy=4", create_paged), .every = 3 };
const NaiveClass naive_ge_fixed_base = { FIXED_BASE ("", create_fixed) };
const NaiveClass naive_ge_fixed_base_large = { FIXED_BASE ("page_size=8MiB", create_fixed_large) };
const NaiveClass naive_ge_fixed_base_plain = { FIXED_BASE ("", create_fixed), .no_virtual = TRUE };
const NaiveClass naive_ge_fixed_base_faulty = { FIXED_BASE ("", create_fixed), .every = 7 };
