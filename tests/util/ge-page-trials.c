/* ge-page-trials.c - see ge-page-trials.h. */
#include "config.h"

#include "allocators/ge/session-range.h"
#include "base/rng.h"
#include "tests/util/ge-page-trials.h"
#include "tests/util/naive-ge-static.h"
#include "tests/util/sizes.h"

#define RANGES 3
#define PAGES 20 /* of the device, and of the addresses of a range */
#define PAGE GE_SMALL_PAGE

typedef struct
{
  Naive *naive; /* the owner of the model's device */
  NaivePages *model;
  NaiveSession models[RANGES];
  GememDevice *device;
  GePages pages;
  GeSessionRange ranges[RANGES];
  GememRng rng;
} Trial;

static guint32
shown_at (const NaivePages *model, guint64 address)
{
  for (guint i = 0; i < model->pages->len; i++)
    {
      const GArray *mapped = ((const NaivePhysical *) g_ptr_array_index (model->pages, i))->mapped;

      for (guint j = 0; j < mapped->len; j++)
        if (g_array_index (mapped, guint64, j) == address)
          return i;
    }
  return GE_NO_PAGE;
}

static void
compare_range (const Trial *t, guint r)
{
  const GeRange *range = &t->ranges[r].backing;
  const NaiveSession *model = &t->models[r];
  g_autoptr (GError) error = NULL;

  gemem_ge_session_check (&t->ranges[r], "trial", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (t->ranges[r].used, ==, model->used);
  g_assert_cmpuint (range->phys, ==, naive_session_phys (model));
  g_assert_cmphex (range->base, ==, model->range != NULL ? model->range->base : 0);
  for (guint i = 0; range->base != 0 && i < PAGES; i++)
    {
      const NaiveRecord *record = &model->range->records[i];

      g_assert_cmpuint (gemem_ge_pages_at (&t->pages, range->base + i * PAGE), ==,
                        shown_at (t->model, range->base + i * PAGE));
      g_assert_cmpuint (i < range->n_records ? gemem_ge_range_record (range, i)->ref : 0, ==,
                        record->ref);
      g_assert_cmpint (i < range->n_records && gemem_ge_range_record (range, i)->recycled, ==,
                       record->recycled);
    }
}

static void
compare (const Trial *t)
{
  g_autoptr (GError) error = NULL;

  gemem_ge_pages_check (&t->pages, "trial", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (t->device->held, ==, t->naive->device.held);
  g_assert_cmpuint (t->device->misuses, ==, 0);
  g_assert_cmpuint (t->pages.pages->len, ==, t->model->pages->len);
  for (guint r = 0; r < RANGES; r++)
    compare_range (t, r);
}

static guint64
bytes_of (Trial *t)
{
  return 1
         + gemem_rng_below (&t->rng, gemem_rng_below (&t->rng, 30) == 0 ? PAGES * PAGE : 5 * PAGE);
}

/* Binds, or unbinds, any part of what was appended, however often it is bound: what graphs do
 * that share addresses. */
static void
do_part (Trial *t, guint r, gboolean bind)
{
  const guint64 used = t->ranges[r].used, most = bytes_of (t),
                from = used > 0 ? gemem_rng_below (&t->rng, used) : 0,
                address = t->ranges[r].backing.base + from, bytes = MIN (most, used - from);

  if (!bind)
    {
      gemem_ge_session_unbind (&t->ranges[r], address, bytes);
      naive_session_unbind (&t->models[r], address, bytes);
      return;
    }
  g_assert_cmpint (gemem_ge_session_bind (&t->ranges[r], address, bytes), ==,
                   naive_session_bind (&t->models[r], address, bytes));
}

static void
step (Trial *t)
{
  const guint r = (guint) gemem_rng_below (&t->rng, RANGES),
              what = (guint) gemem_rng_below (&t->rng, 60);

  if (what == 0)
    {
      gemem_ge_session_reset (&t->ranges[r]);
      naive_session_reset (&t->models[r]);
    }
  else if (what < 15)
    {
      const guint64 bytes = bytes_of (t);

      g_assert_cmphex (gemem_ge_session_append (&t->ranges[r], bytes), ==,
                       naive_session_append (&t->models[r], bytes));
    }
  else
    do_part (t, r, what < 36);
  compare (t);
}

void
test_ge_page_trial (guint64 seed, guint operations, gboolean reuse, gboolean virtual_memory)
{
  g_autofree char *spec = g_strdup_printf ("sim:capacity=%dMiB,virtual_memory=%s", 2 * PAGES,
                                           virtual_memory ? "yes" : "no");
  Trial t = { .naive = naive_new (&naive_direct, 2 * PAGES * MIB, FALSE),
              .device = gemem_device_new (spec, NULL, 0, NULL) };

  gemem_rng_init (&t.rng, seed, "ge-page-trials");
  t.naive->device.no_virtual = !virtual_memory;
  t.model = naive_pages_new (&t.naive->device, PAGE);
  t.model->fresh = !reuse;
  gemem_ge_pages_init (&t.pages, t.device, PAGE, GE_1G_NO);
  for (guint r = 0; r < RANGES; r++)
    {
      naive_session_init (&t.models[r]);
      t.models[r].pages = t.model;
      gemem_ge_session_init (&t.ranges[r], &t.pages, PAGES * PAGE, reuse);
    }
  for (guint i = 0; i < operations; i++)
    step (&t);
  for (guint r = 0; r < RANGES; r++)
    {
      gemem_ge_session_clear (&t.ranges[r]);
      naive_session_reset (&t.models[r]);
      naive_session_clear (&t.models[r]);
    }
  g_assert_cmpuint (t.device->held, ==, t.naive->device.held);
  g_assert_cmpuint (t.device->held, ==, gemem_ge_pages_lost (&t.pages));
  gemem_ge_pages_clear (&t.pages);
  g_assert_cmpuint (t.device->held, ==, 0);
  gemem_device_destroy (t.device);
  naive_pages_destroy (t.model);
  naive_free (t.naive);
}
