/* test-ge-pool-model.c - the GE pool against a naive model of the same text: one array of spans,
 * linear scans, a stamp per push.
 *
 * The model shares no code and no structure with the pool. Compared after every operation: address
 * or failure, and every call to the lower level in order; every so often the largest request that
 * idle memory serves, by trying all. Covers what no vector does: the Seq table with a limit, a pool
 * that never cuts, a minimum root block without a pool above, tight thresholds, a lower level that
 * refuses, other page sizes.
 */
#include "config.h"

#include <string.h>

#include "allocators/ge/scalable-pool.h"
#include "base/rng.h"
#include "tests/util/sizes.h"

/* ---- the lower level: bump addresses within a budget; logs its calls */

typedef struct
{
  guint64 next, held, budget;
  GArray *log; /* address, and bytes with bit 63 set for a free */
} Lower;

static void
note (Lower *lower, guint64 address, guint64 bytes)
{
  g_array_append_val (lower->log, address);
  g_array_append_val (lower->log, bytes);
}

static guint64
lower_malloc (gpointer data, guint64 bytes, G_GNUC_UNUSED GeRoot *root)
{
  Lower *lower = data;
  guint64 address = lower->next;

  if (lower->held + bytes > lower->budget)
    address = 0;
  else
    {
      lower->held += bytes;
      lower->next += (bytes + 0x1fffff) & ~G_GUINT64_CONSTANT (0x1fffff);
    }
  note (lower, address, bytes);
  return address;
}

static void
lower_free (gpointer data, guint64 address, guint64 bytes, G_GNUC_UNUSED GeRoot *root)
{
  Lower *lower = data;

  lower->held -= bytes;
  note (lower, address, bytes | G_GUINT64_CONSTANT (1) << 63);
}

static const GeLower test_lower = { lower_malloc, lower_free };

/* ---- the model */

typedef struct
{
  guint64 address, pages, tryl, stamp; /* stamp 0: occupied */
  guint64 root;
} Span;

typedef struct
{
  GeSpanPoolConfig config;
  Lower lower;
  GArray *spans;   /* roots in order of creation, a root's spans in address order */
  GArray *created; /* layers that ever held a span, ascending */
  guint64 stamp, obtained, roots;
} Model;

#define SPAN(model, i) (&g_array_index ((model)->spans, Span, i))

static gboolean
same_root (Model *m, guint i, guint j)
{
  return i < m->spans->len && j < m->spans->len && SPAN (m, i)->root == SPAN (m, j)->root;
}

static gboolean
is_part (Model *m, guint i)
{
  return (i > 0 && same_root (m, i, i - 1)) || same_root (m, i, i + 1);
}

static void
model_push (Model *m, guint i)
{
  guint64 k = SPAN (m, i)->pages;
  guint at = 0;

  SPAN (m, i)->stamp = ++m->stamp;
  while (at < m->created->len && g_array_index (m->created, guint64, at) < k)
    at++;
  if (at == m->created->len || g_array_index (m->created, guint64, at) != k)
    g_array_insert_val (m->created, at, k);
}

/* The idle span of exactly @k pages freed last, or -1. */
static int
model_front (Model *m, guint64 k)
{
  int best = -1;

  for (guint i = 0; i < m->spans->len; i++)
    if (SPAN (m, i)->stamp != 0 && SPAN (m, i)->pages == k
        && (best < 0 || SPAN (m, i)->stamp > SPAN (m, best)->stamp))
      best = (int) i;
  return best;
}

static int
model_longer (Model *m, guint64 k)
{
  guint64 left = m->config.span_layer_lift_max;

  if (left == 0)
    return -1;
  for (guint at = 0; at < m->created->len; at++)
    {
      guint64 layer = g_array_index (m->created, guint64, at);
      if (layer <= k)
        continue;
      int front = model_front (m, layer);
      if (front >= 0)
        return front;
      if (!m->config.quick && --left == 0)
        return -1;
    }
  return -1;
}

static gboolean
any_idle (Model *m)
{
  for (guint i = 0; i < m->spans->len; i++)
    if (SPAN (m, i)->stamp != 0)
      return TRUE;
  return FALSE;
}

static int
model_cut (Model *m, guint i, guint64 k)
{
  Span high = *SPAN (m, i);

  high.address += (high.pages - k) << m->config.page_shift;
  high.pages = k;
  high.tryl = high.stamp = 0;
  SPAN (m, i)->pages -= k;
  model_push (m, i);
  g_array_insert_val (m->spans, i + 1, high);
  return (int) i + 1;
}

static int
model_fetch (Model *m, guint64 k)
{
  guint64 bytes = MAX (k << m->config.page_shift, m->config.minimum);

  if (m->obtained > m->config.threshold - bytes && any_idle (m))
    return -1;
  Span span = { .address = lower_malloc (&m->lower, bytes, NULL),
                .pages = bytes >> m->config.page_shift,
                .root = m->roots };
  if (span.address == 0)
    return -1;
  m->roots++;
  m->obtained += bytes;
  g_array_append_val (m->spans, span);
  return span.pages == k ? (int) m->spans->len - 1 : model_cut (m, m->spans->len - 1, k);
}

static guint64
model_alloc (Model *m, guint64 size)
{
  guint64 page = G_GUINT64_CONSTANT (1) << m->config.page_shift;
  guint64 k = MAX (1, (size + page - 1) / page);
  int i;

  if (size > m->config.threshold || k > m->config.threshold / page)
    return 0;
  i = model_front (m, k);
  if (i < 0 && (i = model_longer (m, k)) >= 0)
    {
      Span *s = SPAN (m, i);
      gboolean may_cut = is_part (m, (guint) i);
      if (!may_cut)
        {
          s->tryl += k;
          may_cut = s->tryl > (guint64) ((double) s->pages * 0.01);
        }
      i = may_cut ? model_cut (m, (guint) i, k) : model_fetch (m, k);
    }
  else if (i < 0)
    i = model_fetch (m, k);
  if (i < 0)
    return 0;
  SPAN (m, i)->stamp = 0;
  return SPAN (m, i)->address;
}

static void
model_free (Model *m, guint64 address)
{
  guint i = 0;
  gboolean merged = FALSE;

  while (SPAN (m, i)->address != address)
    i++;
  g_assert_cmpuint (SPAN (m, i)->stamp, ==, 0);
  if (same_root (m, i, i + 1) && SPAN (m, i + 1)->stamp != 0)
    {
      SPAN (m, i)->pages += SPAN (m, i + 1)->pages;
      g_array_remove_index (m->spans, i + 1);
      merged = TRUE;
    }
  if (i > 0 && same_root (m, i, i - 1) && SPAN (m, i - 1)->stamp != 0)
    {
      SPAN (m, i - 1)->pages += SPAN (m, i)->pages;
      g_array_remove_index (m->spans, i--);
      merged = TRUE;
    }
  if (merged && !is_part (m, i))
    SPAN (m, i)->tryl = 0;
  model_push (m, i);
}

/* The whole idle span that recycle releases next: the shortest, of equal ones the one freed
 * last. */
static int
model_next_whole (Model *m)
{
  int best = -1;

  for (guint i = 0; i < m->spans->len; i++)
    {
      const Span *s = SPAN (m, i);
      if (s->stamp == 0 || is_part (m, i))
        continue;
      if (best < 0 || s->pages < SPAN (m, best)->pages
          || (s->pages == SPAN (m, best)->pages && s->stamp > SPAN (m, best)->stamp))
        best = (int) i;
    }
  return best;
}

static void
model_recycle (Model *m)
{
  int i;

  while ((i = model_next_whole (m)) >= 0)
    {
      guint64 bytes = SPAN (m, i)->pages << m->config.page_shift;
      m->obtained -= bytes;
      lower_free (&m->lower, SPAN (m, i)->address, bytes, NULL);
      g_array_remove_index (m->spans, (guint) i);
    }
}

/* TRUE if idle spans alone can serve @k pages. */
static gboolean
model_serves (Model *m, guint64 k)
{
  int i = model_front (m, k);

  if (i >= 0)
    return TRUE;
  i = model_longer (m, k);
  return i >= 0
         && (is_part (m, (guint) i)
             || SPAN (m, i)->tryl + k > (guint64) ((double) SPAN (m, i)->pages * 0.01));
}

static guint64
model_largest (Model *m, guint64 limit)
{
  guint64 k = MIN (limit, m->config.threshold >> m->config.page_shift);

  while (k > 0 && !model_serves (m, k))
    k--;
  return k;
}

/* ---- the pool beside the model */

typedef struct
{
  const char *name;
  GeSpanPoolConfig config;
  guint64 budget;            /* of the lower level */
  guint64 smallest, largest; /* request */
  guint live;                /* number of live blocks aimed at */
} Case;

typedef struct
{
  guint64 address;
  GeSpan *span;
} Live;

static void
compare_lower (const Lower *model, const Lower *pool, guint64 step)
{
  g_assert_cmpuint (model->held, ==, pool->held);
  if (model->log->len != pool->log->len
      || memcmp (model->log->data, pool->log->data, model->log->len * sizeof (guint64)) != 0)
    g_error ("step %" G_GUINT64_FORMAT ": the calls to the lower level differ", step);
}

static void
step_alloc (Model *m, GeSpanPool *pool, GArray *live, guint64 size)
{
  guint64 expected = model_alloc (m, size);
  GeSpan *span = gemem_ge_pool_alloc (pool, size);

  g_assert_cmphex (span != NULL ? span->address : 0, ==, expected);
  if (span == NULL)
    return;
  g_assert_cmpuint (gemem_ge_span_real (span), ==, size);
  Live entry = { expected, span };
  g_array_append_val (live, entry);
}

static void
step_free (Model *m, GeSpanPool *pool, GArray *live, guint i)
{
  Live entry = g_array_index (live, Live, i);

  g_array_remove_index_fast (live, i);
  model_free (m, entry.address);
  gemem_ge_pool_free (pool, entry.span);
}

static void
run_steps (const Case *c, Model *m, GeSpanPool *pool, Lower *lower, guint steps)
{
  g_autoptr (GArray) live = g_array_new (FALSE, FALSE, sizeof (Live));
  g_autoptr (GError) error = NULL;
  GememRng rng;

  gemem_rng_init (&rng, 7, c->name);
  for (guint step = 0; step < steps; step++)
    {
      guint64 dice = gemem_rng_below (&rng, 1000);
      if (dice < 4)
        {
          model_recycle (m);
          gemem_ge_pool_recycle (pool);
        }
      else if (live->len == 0 || gemem_rng_below (&rng, 2 * c->live) >= live->len)
        step_alloc (m, pool, live,
                    dice < 10 ? 0 : gemem_rng_log_uniform (&rng, c->smallest, c->largest));
      else
        step_free (m, pool, live, (guint) gemem_rng_below (&rng, live->len));
      compare_lower (&m->lower, lower, step);
      g_array_set_size (m->lower.log, 0);
      g_array_set_size (lower->log, 0);
      g_assert_cmpuint (pool->obtained, ==, m->obtained);
      if (step % 64 == 0)
        {
          guint64 limit = step % 128 == 0 ? G_MAXUINT64
                                          : 1 + gemem_rng_below (&rng, pool->layer_capacity);
          gemem_ge_pool_check (pool, c->name, &error);
          g_assert_no_error (error);
          g_assert_cmpuint (gemem_ge_pool_largest_idle (pool, limit), ==, model_largest (m, limit));
        }
    }
}

static void
test_model (gconstpointer data)
{
  const Case *c = data;
  guint64 retries = 0;
  GeSpanPoolConfig config = c->config;
  GeSpanPool pool;

  config.retries = &retries;
  Lower lower = { .next = 1 << 21,
                  .budget = c->budget,
                  .log = g_array_new (FALSE, FALSE, sizeof (guint64)) };
  Model m = { .config = config, .lower = lower };
  m.lower.log = g_array_new (FALSE, FALSE, sizeof (guint64));
  m.spans = g_array_new (FALSE, FALSE, sizeof (Span));
  m.created = g_array_new (FALSE, FALSE, sizeof (guint64));
  gemem_ge_pool_init (&pool, &config, &test_lower, &lower);
  run_steps (c, &m, &pool, &lower, 10000);
  g_assert_cmpuint (pool.failures, >, 0); /* every case hits its limits */
  g_assert_cmpuint (pool.recycle_count, >, 0);
  gemem_ge_pool_clear (&pool);
  g_assert_cmpuint (lower.held, ==, 0);
  g_array_unref (lower.log);
  g_array_unref (m.lower.log);
  g_array_unref (m.spans);
  g_array_unref (m.created);
}

#define NO_LIMIT G_MAXUINT32

static const Case cases[] = {
  { "quick", { 16, 256 * MIB, 0, NO_LIMIT, TRUE, NULL }, 400 * MIB, 1, 64 * MIB, 60 },
  { "quick-small-blocks", { 16, 64 * MIB, 0, NO_LIMIT, TRUE, NULL }, 20 * MIB, 1, MIB, 150 },
  { "quick-long-spans", { 16, 1024 * MIB, 0, NO_LIMIT, TRUE, NULL }, 700 * MIB, 1, 400 * MIB, 12 },
  { "quick-bottom", { 16, 128 * MIB, 2 * MIB, NO_LIMIT, TRUE, NULL }, 160 * MIB, 1, 16 * MIB, 80 },
  { "quick-bottom-tiny-threshold",
    { 16, 1 * MIB, 2 * MIB, NO_LIMIT, TRUE, NULL },
    16 * MIB,
    1,
    2 * MIB,
    40 },
  { "quick-never-cuts", { 16, 256 * MIB, 0, 0, TRUE, NULL }, 200 * MIB, 1, 32 * MIB, 30 },
  { "seq", { 16, 256 * MIB, 0, NO_LIMIT, FALSE, NULL }, 200 * MIB, 1, 32 * MIB, 60 },
  { "seq-one", { 16, 256 * MIB, 0, 1, FALSE, NULL }, 150 * MIB, 1, 32 * MIB, 60 },
  { "seq-five", { 16, 256 * MIB, 0, 5, FALSE, NULL }, 150 * MIB, 1, 32 * MIB, 60 },
  { "seq-never-cuts", { 16, 256 * MIB, 0, 0, FALSE, NULL }, 200 * MIB, 1, 32 * MIB, 30 },
  { "large-pages", { 20, 1024 * MIB, 4 * MIB, NO_LIMIT, TRUE, NULL }, 900 * MIB, 1, 200 * MIB, 25 },
};

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *name = g_strdup_printf ("/ge/pool-model/%s", cases[i].name);
      g_test_add_data_func (name, &cases[i], test_model);
    }
  return g_test_run ();
}
