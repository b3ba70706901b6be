/* ge-page-trials.c - see ge-page-trials.h. */
#include "config.h"

#include "allocators/ge/session-range.h"
#include "base/rng.h"
#include "tests/util/ge-page-trials.h"

#define RANGES 3
#define PAGES 20 /* of the device, and of the addresses of a range */
#define PAGE GE_SMALL_PAGE
#define NONE GE_NO_PAGE

/* ---- the model */

typedef struct
{
  gboolean exists, stacked;
  guint ref;
  guint64 pushed; /* when it was put on the stack */
} ModelPage;

typedef struct
{
  guint64 address;
  guint32 page;
} ModelShown;

typedef struct
{
  gboolean open;
  guint64 base, used;
  guint ref[PAGES];
  guint32 page[PAGES], last[PAGES];
} ModelRange;

typedef struct
{
  guint64 address, bytes;
  guint range;
  gboolean bound;
} Piece;

typedef struct
{
  GArray *pages; /* ModelPage */
  GArray *shown; /* ModelShown */
  ModelRange ranges[RANGES];
  guint64 clock, held;
  gboolean reuse, virtual_memory;
} Model;

static ModelPage *
model_page (Model *m, guint32 i)
{
  return &g_array_index (m->pages, ModelPage, i);
}

static guint32
shown_at (const Model *m, guint64 address)
{
  for (guint i = 0; i < m->shown->len; i++)
    if (g_array_index (m->shown, ModelShown, i).address == address)
      return g_array_index (m->shown, ModelShown, i).page;
  return NONE;
}

static void
hide (Model *m, guint64 from, guint64 to)
{
  for (guint i = m->shown->len; i-- > 0;)
    if (g_array_index (m->shown, ModelShown, i).address >= from
        && g_array_index (m->shown, ModelShown, i).address < to)
      g_array_remove_index (m->shown, i);
}

/* Pops the page stacked last that has no user; pages in use above it leave the stack. */
static guint32
pop (Model *m)
{
  for (;;)
    {
      guint32 top = NONE;

      for (guint32 i = 0; i < m->pages->len; i++)
        if (model_page (m, i)->stacked
            && (top == NONE || model_page (m, i)->pushed > model_page (m, top)->pushed))
          top = i;
      if (top == NONE)
        return NONE;
      model_page (m, top)->stacked = FALSE;
      if (model_page (m, top)->ref == 0)
        return top;
    }
}

static guint32
model_take (Model *m, guint32 last, guint64 address)
{
  const ModelPage fresh = { .exists = TRUE };
  guint32 page;

  if (last != NONE && model_page (m, last)->ref == 0)
    page = last;
  else
    {
      if (last != NONE && shown_at (m, address) != last)
        return NONE;
      hide (m, address, address + 1);
      page = m->reuse ? pop (m) : NONE;
    }
  if (page == NONE)
    {
      if (m->held + PAGE > PAGES * PAGE)
        return NONE;
      page = m->pages->len;
      g_array_append_val (m->pages, fresh);
      m->held += PAGE;
    }
  if (shown_at (m, address) != page)
    {
      const ModelShown shown = { address, page };
      g_array_append_val (m->shown, shown);
    }
  model_page (m, page)->ref = 1;
  return page;
}

static void
model_give (Model *m, guint32 page)
{
  model_page (m, page)->ref = 0;
  if (model_page (m, page)->stacked)
    return;
  model_page (m, page)->stacked = TRUE;
  model_page (m, page)->pushed = ++m->clock;
}

static void
model_unbind (Model *m, guint r, guint64 from, guint64 to)
{
  ModelRange *range = &m->ranges[r];

  for (guint64 i = from; i < to; i++)
    if (--range->ref[i] == 0)
      {
        model_give (m, range->page[i]);
        range->page[i] = NONE;
      }
}

static gboolean
model_bind (Model *m, guint r, guint64 offset, guint64 bytes)
{
  ModelRange *range = &m->ranges[r];
  const guint64 first = offset / PAGE, end = (offset + bytes - 1) / PAGE + 1;

  for (guint64 i = end; i-- > first;)
    {
      if (range->ref[i] == 0)
        {
          const guint32 page = model_take (m, range->last[i], range->base + i * PAGE);
          if (page == NONE)
            {
              for (guint64 j = end; --j > i;) /* 5.7 */
                model_unbind (m, r, j, j + 1);
              return FALSE;
            }
          range->page[i] = range->last[i] = page;
        }
      range->ref[i]++;
    }
  return TRUE;
}

static void
model_reset (Model *m, guint r)
{
  ModelRange *range = &m->ranges[r];
  gboolean others = FALSE;

  if (!range->open)
    return;
  for (guint i = 0; i < PAGES; i++)
    if (range->ref[i] > 0)
      model_give (m, range->page[i]);
  hide (m, range->base, range->base + PAGES * PAGE);
  *range = (ModelRange){ 0 };
  for (guint i = 0; i < RANGES; i++)
    others |= m->ranges[i].open;
  if (others)
    return;
  g_array_set_size (m->pages, 0); /* the last user is gone */
  m->held = 0;
}

/* @base: the address the device chose for the range. */
static guint64
model_append (Model *m, guint r, guint64 bytes, guint64 base)
{
  ModelRange *range = &m->ranges[r];

  if (!m->virtual_memory)
    return 0;
  if (!range->open)
    {
      *range = (ModelRange){ .open = TRUE, .base = base };
      for (guint i = 0; i < PAGES; i++)
        range->page[i] = range->last[i] = NONE;
    }
  if (bytes > PAGES * PAGE - range->used || !model_bind (m, r, range->used, bytes))
    return 0;
  range->used += bytes;
  return range->base + range->used - bytes;
}

/* ---- both */

typedef struct
{
  Model model;
  GememDevice *device;
  GePages pages;
  GeSessionRange ranges[RANGES];
  GArray *pieces; /* Piece */
  GememRng rng;
} Trial;

static void
compare (const Trial *t)
{
  g_autoptr (GError) error = NULL;

  gemem_ge_pages_check (&t->pages, "trial", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (t->device->held, ==, t->model.held);
  g_assert_cmpuint (t->device->misuses, ==, 0);
  g_assert_cmpuint (t->pages.pages->len, ==, t->model.pages->len);
  for (guint r = 0; r < RANGES; r++)
    {
      const ModelRange *range = &t->model.ranges[r];

      gemem_ge_session_check (&t->ranges[r], "trial", &error);
      g_assert_no_error (error);
      g_assert_cmpuint (t->ranges[r].used, ==, range->used);
      g_assert_cmphex (t->ranges[r].backing.base, ==, range->base);
      for (guint i = 0; range->open && i < PAGES; i++)
        g_assert_cmpuint (gemem_ge_pages_at (&t->pages, range->base + i * PAGE), ==,
                          shown_at (&t->model, range->base + i * PAGE));
    }
}

static void
do_append (Trial *t, guint r)
{
  const guint64 bytes = 1
                        + gemem_rng_below (
                            &t->rng, gemem_rng_below (&t->rng, 30) == 0 ? PAGES * PAGE : 3 * PAGE);
  const guint64 address = gemem_ge_session_append (&t->ranges[r], bytes);
  const Piece piece = { address, bytes, r, TRUE };

  g_assert_cmphex (model_append (&t->model, r, bytes, t->ranges[r].backing.base), ==, address);
  if (address != 0)
    g_array_append_val (t->pieces, piece);
}

static void
do_piece (Trial *t)
{
  Piece *piece;

  if (t->pieces->len == 0)
    return;
  piece = &g_array_index (t->pieces, Piece, gemem_rng_below (&t->rng, t->pieces->len));
  if (piece->bound)
    {
      const guint64 offset = piece->address - t->model.ranges[piece->range].base;

      gemem_ge_session_unbind (&t->ranges[piece->range], piece->address, piece->bytes);
      model_unbind (&t->model, piece->range, offset / PAGE, (offset + piece->bytes - 1) / PAGE + 1);
      piece->bound = FALSE;
      return;
    }
  piece->bound = gemem_ge_session_bind (&t->ranges[piece->range], piece->address, piece->bytes);
  g_assert_cmpint (piece->bound, ==,
                   model_bind (&t->model, piece->range,
                               piece->address - t->model.ranges[piece->range].base, piece->bytes));
}

static void
do_reset (Trial *t, guint r)
{
  gemem_ge_session_reset (&t->ranges[r]);
  model_reset (&t->model, r);
  for (guint i = t->pieces->len; i-- > 0;)
    if (g_array_index (t->pieces, Piece, i).range == r)
      g_array_remove_index (t->pieces, i);
}

void
test_ge_page_trial (guint64 seed, guint operations, gboolean reuse, gboolean virtual_memory)
{
  g_autofree char *spec = g_strdup_printf ("sim:capacity=%dMiB,virtual_memory=%s", 2 * PAGES,
                                           virtual_memory ? "yes" : "no");
  Trial t = { .model = { .reuse = reuse, .virtual_memory = virtual_memory },
              .device = gemem_device_new (spec, NULL, 0, NULL) };

  gemem_rng_init (&t.rng, seed, "ge-page-trials");
  t.model.pages = g_array_new (FALSE, FALSE, sizeof (ModelPage));
  t.model.shown = g_array_new (FALSE, FALSE, sizeof (ModelShown));
  t.pieces = g_array_new (FALSE, FALSE, sizeof (Piece));
  gemem_ge_pages_init (&t.pages, t.device, PAGE, GE_1G_NO);
  for (guint r = 0; r < RANGES; r++)
    gemem_ge_session_init (&t.ranges[r], &t.pages, PAGES * PAGE, reuse);
  for (guint i = 0; i < operations; i++)
    {
      const guint r = (guint) gemem_rng_below (&t.rng, RANGES),
                  what = (guint) gemem_rng_below (&t.rng, 40);

      if (what == 0)
        do_reset (&t, r);
      else if (what < 12)
        do_append (&t, r);
      else
        do_piece (&t);
      compare (&t);
    }
  for (guint r = 0; r < RANGES; r++)
    do_reset (&t, r);
  compare (&t);
  g_assert_cmpuint (t.device->held, ==, 0);
  for (guint r = 0; r < RANGES; r++)
    gemem_ge_session_clear (&t.ranges[r]);
  gemem_ge_pages_clear (&t.pages);
  gemem_device_destroy (t.device);
  g_array_unref (t.model.pages);
  g_array_unref (t.model.shown);
  g_array_unref (t.pieces);
}
