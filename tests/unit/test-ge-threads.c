/* test-ge-threads.c - the thread rules of ge-runtime.md 1.11: parts with locks survive eight
 * threads at once, and a guarded pool without locks refuses the calls of a second thread.
 *
 * Shared by all threads: one device, a page pool, the bottom pool, a session's range, its
 * variables, and its static graphs under each policy. Each thread has L1 pools of its own, a plain
 * and an expandable one, and a range. The accounting is checked when all have ended. Meant for the
 * thread sanitizer (tests/build/long-sanitizers.sh).
 */
#include "config.h"

#include "allocators/ge/active-blocks.h"
#include "allocators/ge/expandable-pool.h"
#include "allocators/ge/scalable-pool.h"
#include "allocators/ge/static.h"
#include "allocators/ge/variables.h"
#include "base/rng.h"
#include "tests/util/sizes.h"

#define THREADS 8
#define BLOCKS 24
#define TOTAL (512 * MIB)

typedef struct
{
  GememDevice *device;
  GePages pages;
  GeSpanPool bottom;
  GeSessionRange fixed, range; /* shares; the active graphs' */
  GeVariables variables;
  GeActive active;
  GeStatic statics[3]; /* one block each, the largest for all, shared blocks in a range */
  guint rounds;
} Shared;

typedef struct
{
  Shared *shared;
  guint64 number, retries;
  GememRng rng;
  GeSpanPool plain, expandable;
  GeSessionRange own;
  GeSpan *spans[2][BLOCKS];
  GememBlock variables[BLOCKS];
} Worker;

static guint64
device_malloc (gpointer device, guint64 bytes, G_GNUC_UNUSED GeRoot *root)
{
  return gemem_device_malloc (device, bytes, 0); /* called with the device locked */
}

static void
device_free (gpointer device, guint64 address, guint64 bytes, G_GNUC_UNUSED GeRoot *root)
{
  gemem_device_free (device, address, bytes);
}

static const GeLower device_lower = { device_malloc, device_free };

static guint64
size_of (Worker *w)
{
  return 1 + gemem_rng_log_uniform (&w->rng, 1, 12 * MIB);
}

static void
use_pool (Worker *w, GeSpanPool *pool, GeSpan **spans)
{
  const guint i = (guint) gemem_rng_below (&w->rng, BLOCKS);

  if (spans[i] != NULL)
    {
      gemem_ge_pool_free (pool, spans[i]);
      spans[i] = NULL;
    }
  else
    spans[i] = gemem_ge_pool_alloc (pool, size_of (w));
  if (gemem_rng_below (&w->rng, 20) == 0)
    gemem_ge_pool_recycle (pool);
}

static void
use_variables (Worker *w)
{
  GememBlock *block = &w->variables[gemem_rng_below (&w->rng, BLOCKS)];

  if (block->handle != NULL)
    {
      gemem_ge_variables_free (&w->shared->variables, block);
      block->handle = NULL;
    }
  else if (!gemem_ge_variables_alloc (&w->shared->variables, size_of (w), w->number, block))
    block->handle = NULL;
}

static void
use_ranges (Worker *w)
{
  const guint64 bytes = size_of (w), address = gemem_ge_session_append (&w->own, bytes);

  if (gemem_ge_session_share (&w->shared->fixed, bytes) != 0)
    gemem_ge_session_unshare (&w->shared->fixed);
  if (address == 0)
    gemem_ge_session_reset (&w->own);
  else
    {
      gemem_ge_session_unbind (&w->own, address, bytes);
      if (!gemem_ge_session_bind (&w->own, address, bytes))
        gemem_ge_session_reset (&w->own);
    }
}

static void
use_graphs (Worker *w)
{
  const GememGraphSegment segment = { 0, size_of (w), 0 };

  if (gemem_ge_active_load (&w->shared->active, &segment, 1, w->number) != 0)
    gemem_ge_active_unload (&w->shared->active);
  for (guint i = 0; i < G_N_ELEMENTS (w->shared->statics); i++)
    {
      GeStatic *memory = &w->shared->statics[i];
      guint64 where;

      if (!gemem_ge_static_load (memory, w->number, w->number, &segment, 1, &where))
        continue;
      if (gemem_ge_static_run (memory, w->number, TRUE))
        gemem_ge_static_run (memory, w->number, FALSE);
      gemem_ge_static_unload (memory, w->number);
    }
}

static void
pool_init (Worker *w, GeSpanPool *pool)
{
  const GeSpanPoolConfig config = { .page_shift = 16,
                                    .threshold = TOTAL,
                                    .span_layer_lift_max = G_MAXUINT32,
                                    .quick = TRUE,
                                    .retries = &w->retries };

  gemem_ge_pool_init (pool, &config, &gemem_ge_pool_lower, &w->shared->bottom);
}

static void
check_pool (const GeSpanPool *pool)
{
  g_autoptr (GError) error = NULL;

  gemem_ge_pool_check (pool, "thread", &error);
  g_assert_no_error (error);
}

static gpointer
work (gpointer data)
{
  Worker *w = data;
  Shared *s = w->shared;

  gemem_rng_init (&w->rng, w->number, "ge-threads");
  pool_init (w, &w->plain);
  pool_init (w, &w->expandable);
  gemem_ge_expandable_init (&w->expandable, &s->pages); /* refused: it stays an ordinary pool */
  gemem_ge_session_init (&w->own, &s->pages, TOTAL, TRUE);
  for (guint i = 0; i < s->rounds; i++)
    {
      use_pool (w, &w->plain, w->spans[0]);
      use_pool (w, &w->expandable, w->spans[1]);
      use_variables (w);
      use_ranges (w);
      use_graphs (w);
    }
  for (guint i = 0; i < BLOCKS; i++)
    {
      if (w->spans[0][i] != NULL)
        gemem_ge_pool_free (&w->plain, w->spans[0][i]);
      if (w->spans[1][i] != NULL)
        gemem_ge_pool_free (&w->expandable, w->spans[1][i]);
      if (w->variables[i].handle != NULL)
        gemem_ge_variables_free (&s->variables, &w->variables[i]);
    }
  check_pool (&w->plain);
  gemem_ge_pool_recycle (&w->plain);
  g_assert_cmpuint (w->plain.theory, ==, 0);
  gemem_ge_session_clear (&w->own);
  gemem_ge_pool_clear (&w->plain);
  gemem_ge_pool_clear (&w->expandable);
  return NULL;
}

/* After a first request without memory the addresses stay reserved, and pages that it took before the
 * refusal wait in the page pool. */
static void
close_idle (GeSessionRange *range)
{
  g_assert_cmpuint (range->backing.phys, ==, 0);
  gemem_ge_session_reset (range);
}

/* Bytes of plain blocks that are never freed (3.3). */
static guint64
leaked (const GeActive *active)
{
  guint64 sum = 0;

  for (guint i = 0; i < active->leaked->len; i++)
    sum += g_array_index (active->leaked, GeActiveBlock, i).total;
  return sum;
}

static void
check_end (Shared *s)
{
  g_autoptr (GError) error = NULL;

  check_pool (&s->bottom);
  g_assert_cmpuint (s->bottom.theory, ==, 0); /* nothing is borrowed */
  gemem_ge_pages_check (&s->pages, "end", &error);
  g_assert_no_error (error);
  gemem_ge_variables_check (&s->variables, "end", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (s->variables.range.backing.phys, ==, 0);
  g_assert_cmpuint (s->active.load_count, ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (s->statics); i++)
    {
      gemem_ge_static_check (&s->statics[i], "end", &error);
      g_assert_no_error (error);
      g_assert_cmpuint (gemem_ge_static_bytes (&s->statics[i]), ==, 0);
    }
  close_idle (&s->variables.range);
  close_idle (&s->fixed);
  close_idle (&s->range);
  close_idle (&s->statics[2].range);
  g_assert_cmpuint (s->pages.users, ==, 0);
  /* graphs of several threads were bound at once, and plain blocks stood in for refused pages */
  for (guint i = 0; i < s->pages.pages->len; i++)
    {
      const GePhysical *page = &g_array_index (s->pages.pages, GePhysical, i);

      g_assert_true (page->page == 0 || page->lost);
    }
  g_assert_cmpuint (s->device->held, ==,
                    s->bottom.obtained + gemem_ge_pages_lost (&s->pages) + leaked (&s->active)
                        + leaked (&s->statics[2].active));
  g_assert_cmpuint (s->device->misuses, ==, 0);
}

/* Memory for all threads, or too little: then they compete for it. */
static void
test_stress (gconstpointer device)
{
  Shared s = { .device = gemem_device_new (device, NULL, 0, NULL),
               .rounds = g_getenv ("GEMEM_QUICK") != NULL ? 300 : 1500 };
  guint64 retries = 0;
  const GeSpanPoolConfig config = { .page_shift = 16,
                                    .threshold = TOTAL,
                                    .minimum = 2 * MIB,
                                    .span_layer_lift_max = G_MAXUINT32,
                                    .quick = TRUE,
                                    .shared = s.device,
                                    .retries = &retries };
  g_autofree Worker *workers = g_new0 (Worker, THREADS);
  const GeStaticOptions options[G_N_ELEMENTS (s.statics)] = {
    { .mode = GE_STATIC_OWN, .total = TOTAL },
    { .mode = GE_STATIC_DOCUMENTED, .total = TOTAL },
    { .mode = GE_STATIC_ACTIVE, .pages = &s.pages, .total = TOTAL },
  };
  GThread *threads[THREADS];

  gemem_ge_pages_init (&s.pages, s.device, GE_LARGE_PAGE, GE_1G_NO);
  gemem_ge_pool_init (&s.bottom, &config, &device_lower, s.device);
  gemem_ge_session_init (&s.fixed, &s.pages, TOTAL, TRUE);
  gemem_ge_session_init (&s.range, &s.pages, TOTAL, TRUE);
  gemem_ge_variables_init (&s.variables, s.device, GE_LARGE_PAGE, GE_1G_NO, TOTAL, TRUE);
  gemem_ge_active_init (&s.active, s.device, &s.range);
  for (guint i = 0; i < G_N_ELEMENTS (s.statics); i++)
    gemem_ge_static_init (&s.statics[i], s.device, &options[i]);
  for (guint i = 0; i < THREADS; i++)
    {
      workers[i].shared = &s;
      workers[i].number = i;
      threads[i] = g_thread_new ("ge", work, &workers[i]);
    }
  for (guint i = 0; i < THREADS; i++)
    g_thread_join (threads[i]);
  check_end (&s);
  for (guint i = 0; i < G_N_ELEMENTS (s.statics); i++)
    gemem_ge_static_clear (&s.statics[i]);
  gemem_ge_active_clear (&s.active);
  gemem_ge_variables_clear (&s.variables);
  gemem_ge_session_clear (&s.range);
  gemem_ge_session_clear (&s.fixed);
  gemem_ge_pool_clear (&s.bottom);
  gemem_ge_pages_clear (&s.pages);
  g_assert_cmpuint (s.device->held, ==, 0);
  gemem_device_destroy (s.device);
}

/* ---- a pool of one thread */

typedef struct
{
  GeSpanPool pool;
  GeSpan *span;
} Guarded;

static gpointer
intrude (gpointer data)
{
  Guarded *guarded = data;

  g_assert_null (gemem_ge_pool_alloc (&guarded->pool, 1));
  gemem_ge_pool_free (&guarded->pool, guarded->span);
  g_assert_cmpuint (gemem_ge_pool_recycle (&guarded->pool), ==, 0);
  return NULL;
}

/* Calls of a second thread change nothing and are refused in the name of the allocator; the first
 * thread goes on. */
static void
test_second_thread (void)
{
  guint64 retries = 0;
  GememAllocator allocator = { .retries = 0 };
  const GeSpanPoolConfig config = { .page_shift = 16,
                                    .threshold = TOTAL,
                                    .span_layer_lift_max = G_MAXUINT32,
                                    .quick = TRUE,
                                    .guarded = &allocator,
                                    .retries = &retries };
  GememDevice *device = gemem_device_new ("sim", NULL, 0, NULL);
  Guarded guarded;

  gemem_ge_pool_init (&guarded.pool, &config, &device_lower, device);
  guarded.span = gemem_ge_pool_alloc (&guarded.pool, 1);
  g_assert_null (allocator.refusal);
  g_thread_join (g_thread_new ("intruder", intrude, &guarded));
  g_assert_cmpstr (allocator.refusal, ==,
                   "a second thread calls a pool that belongs to one (single_thread=yes); make all "
                   "calls from one thread, or give single_thread=no");
  g_assert_cmpuint (guarded.pool.obtained, ==, 65536);
  g_assert_cmpuint (guarded.pool.free_count, ==, 0);
  gemem_ge_pool_free (&guarded.pool, guarded.span);
  g_assert_cmpuint (gemem_ge_pool_recycle (&guarded.pool), ==, 65536);
  g_free (allocator.refusal);
  gemem_ge_pool_clear (&guarded.pool);
  gemem_device_destroy (device);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/ge-threads/space", "sim:capacity=64GiB", test_stress);
  g_test_add_data_func ("/ge-threads/tight", "sim:capacity=384MiB", test_stress);
  g_test_add_data_func ("/ge-threads/failing", "faulty:capacity=1GiB,every=29", test_stress);
  g_test_add_func ("/ge-threads/second-thread", test_second_thread);
  return g_test_run ();
}
