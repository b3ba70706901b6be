/* pool-report.c - the statistics block of a GE pool as PrintDetails writes it, for reading side by
 * side with a log.
 *
 * The specification has the formats (10), but does not say what some figures count.  Chosen here:
 * `level` is the number of layers a pool has, and the count beside it that of `ids`; a layer's size
 * is that of one of its spans; spans are listed in ascending size, layers in ascending length.  The
 * real system prints a pool's id at the beginning of each line of a log; here a line with it comes
 * before the block.
 * Origin: ge-runtime.md 1.8, 10.
 */
#include "config.h"

#include "allocators/ge/stack.h"
#include "base/compare.h"

#define U64 "%" G_GUINT64_FORMAT

/* S of the formats: bytes, and a short form when strictly above 1024 of a unit. */
static void
append_size (GString *text, const char *label, guint64 bytes)
{
  static const char letters[] = "GMK";
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (text, "%s" U64, label, bytes);
  for (guint i = 0; i < 3; i++)
    {
      const guint64 unit = G_GUINT64_CONSTANT (1) << (30 - 10 * i);

      if (bytes <= unit)
        continue;
      g_string_append_printf (
          text, "(%s%c)",
          g_ascii_formatd (number, sizeof number, "%.2f", (double) bytes / (double) unit),
          letters[i]);
      return;
    }
}

static void
append_device_memory (GString *text, const GeSpanPool *pool)
{
  const GeExpandable *x = pool->expandable;
  char rate[G_ASCII_DTOSTR_BUF_SIZE];
  double percent = 0;

  if (pool->obtained > 0)
    percent = pool->obtained < pool->real_theory_min
                  ? 100.0
                  : 100.0 * (double) pool->real_theory_min / (double) pool->obtained;
  g_string_append_printf (text, "Device memory   : [alloc count:" U64 " free count:" U64,
                          pool->root_alloc_count, pool->root_free_count);
  append_size (text, " total size:", pool->obtained);
  append_size (text, " new_va_size:", x != NULL ? x->new_va_size : 0);
  append_size (text, " real_theory_min:", pool->real_theory_min);
  append_size (text, " theory_min:", pool->theory_min);
  g_string_append_printf (text, " reach theory rate:%s%%]\n",
                          g_ascii_formatd (rate, sizeof rate, "%.2f", percent));
}

/* ---- allocated spans */

static void
collect_chain (GArray *pages, const GeSpan *first)
{
  for (const GeSpan *span = first; span != NULL; span = span->next)
    if (span->occupied)
      {
        const guint64 n = span->pages;

        g_array_append_val (pages, n);
      }
}

/* The lengths of the spans in use, ascending. */
static GArray *
collect_used (const GeSpanPool *pool)
{
  GArray *pages = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (const GeRoot *root = pool->roots; root != NULL; root = root->next)
    collect_chain (pages, root->first);
  collect_chain (pages, pool->fixed.first);
  if (pool->expandable != NULL)
    collect_chain (pages, pool->expandable->root.first);
  g_array_sort (pages, gemem_compare_uint64);
  return pages;
}

static GArray *
collect_new_va (const GeSpanPool *pool, gboolean occupied)
{
  GArray *pages = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (const GeNewVa *v = pool->expandable != NULL ? pool->expandable->all : NULL; v != NULL;
       v = v->all_next)
    if (v->span.occupied == occupied)
      {
        const guint64 n = v->span.pages;

        g_array_append_val (pages, n);
      }
  g_array_sort (pages, gemem_compare_uint64);
  return pages;
}

/* How many entries from @i on are equal to it. */
static guint
run_length (const GArray *pages, guint i)
{
  guint n = 1;

  while (i + n < pages->len
         && g_array_index (pages, guint64, i + n) == g_array_index (pages, guint64, i))
    n++;
  return n;
}

static guint64
sum_of (const GArray *pages)
{
  guint64 sum = 0;

  for (guint i = 0; i < pages->len; i++)
    sum += g_array_index (pages, guint64, i);
  return sum;
}

static void
append_spans (GString *text, const GeSpanPool *pool, const char *label, const GArray *pages)
{
  guint n;

  for (guint i = 0; i < pages->len; i += n)
    {
      n = run_length (pages, i);
      g_string_append_printf (text, "    |-%s: [size:%-11" G_GUINT64_FORMAT " count:%-5u]\n", label,
                              g_array_index (pages, guint64, i) << pool->config.page_shift, n);
    }
}

static void
append_total (GString *text, const GeSpanPool *pool, const char *label, guint64 spans,
              guint64 pages)
{
  g_string_append_printf (text, "%s: [span count:" U64 " page count:" U64 " total size:" U64 "]\n",
                          label, spans, pages, pages << pool->config.page_shift);
}

/* ---- layers */

static void
append_layer (GString *text, const GeSpanPool *pool, const char *label, guint64 pages,
              guint64 count)
{
  const guint64 size = pages << pool->config.page_shift;

  g_string_append_printf (text,
                          "    |-%s: [id:%-5" G_GUINT64_FORMAT " capacity:%-5" G_GUINT64_FORMAT
                          " size:%-11" G_GUINT64_FORMAT " count:%-5" G_GUINT64_FORMAT "]\n",
                          label, pages,
                          size > pool->config.uncacheable ? 0 : pool->config.span_count_in_layer,
                          size, count);
}

static guint32
next_id (const GeSpanPool *pool, guint32 from)
{
  return pool->config.quick ? gemem_ge_layers_next (&pool->layers, from)
                            : gemem_ge_layers_next_created (&pool->layers, from);
}

static guint64
spans_in (const GeSpanPool *pool, guint32 layer)
{
  guint64 n = 0;

  for (const GeSpan *span = gemem_ge_layers_front (&pool->layers, layer); span != NULL;
       span = span->layer_next)
    n++;
  return n;
}

static void
append_layers (GString *text, const GeSpanPool *pool)
{
  guint64 ids = 0, spans = 0;

  for (guint32 k = next_id (pool, 0); k != GE_LAYER_NONE; k = next_id (pool, k + 1), ids++)
    spans += spans_in (pool, k);
  g_string_append_printf (text, "Freed span layers: [level:" U64 ", count:" U64 "]\n",
                          pool->layer_capacity, ids);
  append_total (text, pool, "Freed", spans, pool->idle_pages);
  for (guint32 k = next_id (pool, 0); k != GE_LAYER_NONE; k = next_id (pool, k + 1))
    append_layer (text, pool, "layer", k, spans_in (pool, k));
}

void
gemem_ge_pool_report (const GeSpanPool *pool, GString *text)
{
  g_autoptr (GArray) used = collect_used (pool), new_va = collect_new_va (pool, TRUE),
                     idle = collect_new_va (pool, FALSE);
  guint n;

  append_device_memory (text, pool);
  g_string_append_printf (
      text, "Allocator memory: [alloc count:" U64 " free count:" U64 " recycle count:" U64 "]\n",
      pool->alloc_count, pool->free_count, pool->recycle_count);
  append_total (text, pool, "Using", used->len + new_va->len, sum_of (used) + sum_of (new_va));
  append_spans (text, pool, "span", used);
  append_spans (text, pool, "new_va_span", new_va);
  append_layers (text, pool);
  for (guint i = 0; i < idle->len; i += n)
    {
      n = run_length (idle, i);
      append_layer (text, pool, "new_va_layer", g_array_index (idle, guint64, i), n);
    }
}

/* ---- a stack */

void
gemem_ge_stack_report (GememAllocator *allocator, GString *text)
{
  const GeStack *self = (const GeStack *) allocator;
  guint id = 0;

  if (self->stack != GE_STACK_SINGLE)
    {
      g_string_append_printf (text, "[%sallocator_%u] device_id:%d\n",
                              self->stack == GE_STACK_FIXED ? "" : "rts_", id++,
                              allocator->device->ordinal);
      gemem_ge_pool_report (&self->bottom, text);
    }
  for (guint i = 0; i < self->pools->len; i++)
    {
      const GeL1 *l1 = g_ptr_array_index (self->pools, i);

      g_string_append_printf (text, "[allocator_%u] device_id:%d stream:" U64, id++,
                              allocator->device->ordinal, l1->stream);
      if (self->by_model != NULL)
        g_string_append_printf (text, " pool:%u", l1->model);
      g_string_append_c (text, '\n');
      gemem_ge_pool_report (&l1->pool, text);
    }
}
