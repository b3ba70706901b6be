/* naive-ge.c - the pools of the streams over the bottom pool, and the registered classes made of
 * them; see naive-ge.h. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tests/util/naive-ge.h"
#include "tests/util/sizes.h"

void
naive_ge_init (NaiveGe *ge, gboolean expandable)
{
  ge->device = &ge->base.device;
  ge->expandable = expandable;
  ge->pools = g_ptr_array_new_with_free_func ((GDestroyNotify) naive_pool_destroy);
  ge->ladder = g_ptr_array_new ();
  ge->live = g_ptr_array_new ();
}

void
naive_ge_share_ladder (NaiveGe *ge, NaiveGe *with)
{
  g_ptr_array_unref (ge->ladder);
  ge->ladder = g_ptr_array_ref (with->ladder);
}

void
naive_ge_destroy (Naive *naive)
{
  NaiveGe *ge = (NaiveGe *) naive;

  g_ptr_array_unref (ge->pools);
  g_ptr_array_unref (ge->ladder);
  g_ptr_array_unref (ge->live);
  naive_pool_destroy (ge->bottom);
  naive_pages_destroy (ge->pages);
}

NaivePages *
naive_ge_pages (NaiveGe *ge)
{
  if (ge->pages == NULL)
    ge->pages = naive_pages_new (ge->device, 8 * MIB);
  return ge->pages;
}

static guint64
threshold (const NaiveGe *ge)
{
  return (guint64) ((double) ge->device->capacity * 0.95);
}

static NaivePool *
find_pool (const NaiveGe *ge, guint32 model, guint64 stream)
{
  for (guint i = 0; i < ge->pools->len; i++)
    {
      NaivePool *pool = g_ptr_array_index (ge->pools, i);

      if (pool->model == model && pool->stream == stream)
        return pool;
    }
  return NULL;
}

static NaivePool *
pool_of (NaiveGe *ge, guint32 model, guint64 stream)
{
  NaivePool *pool = find_pool (ge, model, stream);

  if (pool != NULL)
    return pool;
  if (ge->bottom == NULL)
    ge->bottom = naive_pool_new (ge->device, NULL, threshold (ge), 2 * MIB);
  pool = naive_pool_new (NULL, ge->bottom, threshold (ge), 0);
  pool->model = model;
  pool->stream = stream;
  if (ge->expandable)
    naive_pool_expand (pool, naive_ge_pages (ge));
  g_ptr_array_add (ge->pools, pool);
  g_ptr_array_add (ge->ladder, pool);
  return pool;
}

/* 2.1. */
static NaiveSpan *
climb (NaiveGe *ge, NaivePool *own, guint64 size)
{
  NaiveSpan *span = naive_pool_alloc (own, size);

  if (span != NULL)
    return span;
  naive_pool_recycle (own);
  span = naive_pool_alloc (own, size);
  for (guint i = 0; span == NULL && i < ge->ladder->len; i++)
    if (g_ptr_array_index (ge->ladder, i) != own)
      {
        naive_pool_recycle (g_ptr_array_index (ge->ladder, i));
        span = naive_pool_alloc (own, size);
      }
  return span;
}

gboolean
naive_ge_alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address,
                guint64 *size)
{
  NaiveGe *ge = (NaiveGe *) naive;
  NaiveSpan *span = climb (ge, pool_of (ge, ge->per_model ? request->pool : 0, request->stream),
                           request->size);

  if (span == NULL)
    return FALSE;
  span->id = id;
  g_ptr_array_add (ge->live, span);
  *address = span->address;
  *size = span->pages * NAIVE_PAGE;
  return TRUE;
}

static gboolean
has_span (const NaivePool *pool, const NaiveSpan *span)
{
  return g_ptr_array_find (pool->spans, span, NULL) || g_ptr_array_find (pool->new_vas, span, NULL);
}

void
naive_ge_free (Naive *naive, guint32 id, G_GNUC_UNUSED gboolean completion_follows)
{
  NaiveGe *ge = (NaiveGe *) naive;
  guint i = 0, p = 0;

  while (((NaiveSpan *) g_ptr_array_index (ge->live, i))->id != id)
    i++;
  NaiveSpan *span = g_ptr_array_remove_index (ge->live, i);
  while (!has_span (g_ptr_array_index (ge->pools, p), span))
    p++;
  naive_pool_free (g_ptr_array_index (ge->pools, p), span);
}

void
naive_ge_trim (Naive *naive)
{
  NaiveGe *ge = (NaiveGe *) naive;

  for (guint i = 0; i < ge->pools->len; i++)
    naive_pool_recycle (g_ptr_array_index (ge->pools, i));
}

/* ---- the statistics of the pools (1.8) */

static gboolean
pool_figure (const NaivePool *pool, const char *name, guint64 *value)
{
  guint64 idle = 0;

  for (guint i = 0; i < pool->spans->len; i++)
    {
      const NaiveSpan *span = g_ptr_array_index (pool->spans, i);

      idle += span->occupied ? 0 : span->pages * NAIVE_PAGE;
    }
  const struct
  {
    const char *name;
    guint64 value;
  } rows[] = { { "occupied_size", pool->obtained },
               { "idle_size", idle },
               { "theory", pool->theory },
               { "real_theory", pool->real_theory },
               { "theory_min", pool->theory_min },
               { "real_theory_min", pool->real_theory_min },
               { "new_va_count", pool->new_va_count },
               { "phys", pool->range != NULL ? pool->range->phys : 0 } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (strcmp (rows[i].name, name) == 0)
      {
        *value = rows[i].value;
        return TRUE;
      }
  return FALSE;
}

gboolean
naive_ge_figure (Naive *naive, const char *name, guint64 *value)
{
  const NaiveGe *ge = (const NaiveGe *) naive;
  const NaivePool *pool;
  guint64 stream;
  guint32 model = 0;
  int length = 0;

  if (g_str_has_prefix (name, "rts."))
    return ge->bottom != NULL && pool_figure (ge->bottom, name + 4, value);
  if (strcmp (name, "physical_pages") == 0)
    {
      *value = ge->pages != NULL ? ge->pages->pages->len : 0;
      return TRUE;
    }
  if (ge->per_model && sscanf (name, "pool%u.%n", &model, &length) == 1)
    name += length;
  if (sscanf (name, "stream%" G_GINT64_MODIFIER "u.%n", &stream, &length) != 1)
    return FALSE;
  pool = find_pool (ge, model, stream);
  return pool != NULL && pool_figure (pool, name + length, value);
}

/* ---- the classes */

static Naive *
create_plain (void)
{
  NaiveGe *ge = g_new0 (NaiveGe, 1);

  naive_ge_init (ge, FALSE);
  return &ge->base;
}

static Naive *
create_expandable (void)
{
  NaiveGe *ge = g_new0 (NaiveGe, 1);

  naive_ge_init (ge, TRUE);
  return &ge->base;
}

static Naive *
create_models (void)
{
  NaiveGe *ge = (NaiveGe *) create_plain ();

  ge->per_model = TRUE;
  return &ge->base;
}

#define STACK_OF(text, chosen, function) \
  .name = text, .settings = chosen, .create = function, .alloc = naive_ge_alloc, \
  .free = naive_ge_free, .trim = naive_ge_trim, .figure = naive_ge_figure, \
  .destroy = naive_ge_destroy

#define STACK(text, function) STACK_OF (text, "", function)

const NaiveClass naive_ge_scalable = { STACK ("ge-scalable", create_plain) };
const NaiveClass naive_ge_models = { STACK_OF ("ge-scalable", "pools=per-pool-and-stream",
                                               create_models) };
const NaiveClass naive_ge_models_faulty = {
  STACK_OF ("ge-scalable", "pools=per-pool-and-stream", create_models), .every = 7
};
const NaiveClass naive_ge_expandable = { STACK ("ge-expandable", create_expandable) };
const NaiveClass naive_ge_expandable_plain = { STACK ("ge-expandable", create_expandable),
                                               .no_virtual = TRUE };
const NaiveClass naive_ge_expandable_faulty = { STACK ("ge-expandable", create_expandable),
                                                .every = 13 };
const NaiveClass naive_ge_expandable_poor = { STACK ("ge-expandable", create_expandable),
                                              .every = 3 };
