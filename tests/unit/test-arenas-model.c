/* test-arenas-model.c - arenas.h beside a model of the same rules that searches plain lists
 * (cuda-driver.md 1 to 4): every address of random requests, releases and reservations is the same.
 *
 * The model shares no code with it: arenas in the order in which they came, what is taken in one
 * list, holes found by going through that. */
#include "config.h"

#include "base/rng.h"
#include "base/units.h"
#include "devices/arenas.h"

#define PAGE GEMEM_ARENAS_PAGE
#define SLOT (16 * PAGE)
#define TOP GEMEM_ARENAS_TOP
#define LOW G_GUINT64_CONSTANT (0x302000000)
#define TIB (G_GUINT64_CONSTANT (1) << 40)
#define F (TOP - SLOT)
#define L (F - 15 * SLOT)

/* Of arenas, of blocks in them, of free pieces of pages. */
typedef struct
{
  guint64 start, end;
} Extent;

typedef struct
{
  GArray *arenas, *blocks, *pieces; /* Extent; arenas and pieces in the order in which they came */
} Model;

static Extent *
at (const GArray *list, guint i)
{
  return &g_array_index (list, Extent, i);
}

static void
add (GArray *list, guint64 start, guint64 end)
{
  const Extent extent = { start, end };
  g_array_append_val (list, extent);
}

static void
drop (GArray *list, guint64 start)
{
  for (guint i = 0; i < list->len; i++)
    if (at (list, i)->start == start)
      {
        g_array_remove_index (list, i);
        return;
      }
  g_assert_not_reached ();
}

/* Where the first of @list at or above @address begins, but for one that ends there; or @limit. */
static guint64
next_of (const GArray *list, guint64 address, guint64 limit)
{
  for (guint i = 0; i < list->len; i++)
    if (at (list, i)->end > address)
      limit = MIN (limit, MAX (at (list, i)->start, address));
  return limit;
}

/* The end of what of @list covers @address; @address: nothing does. */
static guint64
end_of (const GArray *list, guint64 address)
{
  for (guint i = 0; i < list->len; i++)
    if (at (list, i)->start <= address && address < at (list, i)->end)
      return at (list, i)->end;
  return address;
}

/* The next hole of @arena from *@address on; FALSE: there is none. */
static gboolean
next_hole (const Model *model, const Extent *arena, guint64 *address, Extent *hole)
{
  while (*address < arena->end && end_of (model->blocks, *address) != *address)
    *address = end_of (model->blocks, *address);
  if (*address >= arena->end)
    return FALSE;
  *hole = (Extent){ *address, next_of (model->blocks, *address, arena->end) };
  *address = hole->end;
  return TRUE;
}

/* The best hole of one arena: the smallest, or with @lowest the lowest that holds it aligned; 0. */
static guint64
search_arena (const Model *model, const Extent *arena, guint64 size, guint64 alignment,
              gboolean lowest)
{
  guint64 address = arena->start, found = 0, best = G_MAXUINT64;
  Extent hole;

  while (next_hole (model, arena, &address, &hole))
    {
      const guint64 start = gemem_align_up (hole.start, alignment);
      if (start + size > hole.end || hole.end - hole.start >= best || (lowest && found != 0))
        continue;
      found = start;
      best = hole.end - hole.start;
    }
  return found;
}

static guint64
search (const Model *model, guint64 size, guint64 alignment, gboolean lowest)
{
  for (guint i = model->arenas->len; i-- > 0;)
    {
      guint64 found = search_arena (model, at (model->arenas, i), size, alignment, lowest);
      if (found != 0)
        return found;
    }
  return 0;
}

/* The highest place for @size bytes below which a slot is free too. */
static guint64
place_high (const Model *model, guint64 size)
{
  for (guint64 start = F - 2 * SLOT - size;; start -= SLOT)
    if (next_of (model->arenas, start - SLOT, start + size) == start + size)
      return start;
}

static guint64
place_low (const Model *model, guint64 size, guint64 step)
{
  for (guint64 start = gemem_align_up (LOW, step);; start += step)
    if (next_of (model->arenas, start, start + size) == start + size
        && (start + size <= TIB || start >= TIB + 2 * SLOT))
      return start;
}

static guint64
take_block (Model *model, guint64 size)
{
  guint64 address = search (model, size, 1, FALSE);

  if (address == 0)
    {
      address = place_high (model, gemem_align_up (size, SLOT));
      add (model->arenas, address, address + gemem_align_up (size, SLOT));
    }
  add (model->blocks, address, address + size);
  return address;
}

/* An arena goes with its last block. */
static void
give_block (Model *model, guint64 address)
{
  drop (model->blocks, address);
  for (guint i = 0; i < model->arenas->len; i++)
    {
      const Extent arena = *at (model->arenas, i);
      if (arena.start <= address && address < arena.end
          && next_of (model->blocks, arena.start, arena.end) == arena.end)
        g_array_remove_index (model->arenas, i);
    }
}

static guint64
take_piece (Model *model, guint64 size)
{
  Extent piece = { 0, G_MAXUINT64 };

  for (guint i = 0; i < model->pieces->len; i++)
    {
      const Extent *each = at (model->pieces, i);
      if (each->end - each->start >= size && each->end - each->start < piece.end - piece.start)
        piece = *each;
    }
  if (piece.start == 0)
    {
      piece.start = take_block (model, PAGE);
      piece.end = piece.start + PAGE;
    }
  else
    drop (model->pieces, piece.start);
  if (piece.start + size < piece.end)
    add (model->pieces, piece.start + size, piece.end);
  return piece.start;
}

static void
give_piece (Model *model, guint64 address, guint64 size)
{
  const guint64 page = address & ~(PAGE - 1);
  Extent whole = { address, address + size };

  for (guint i = model->pieces->len; i-- > 0;)
    {
      const Extent piece = *at (model->pieces, i);
      if (piece.start < page || piece.end > page + PAGE
          || (piece.end != whole.start && piece.start != whole.end))
        continue;
      whole.start = MIN (whole.start, piece.start);
      whole.end = MAX (whole.end, piece.end);
      g_array_remove_index (model->pieces, i);
    }
  if (whole.end - whole.start < PAGE)
    add (model->pieces, whole.start, whole.end);
  else
    give_block (model, page);
}

static guint64
take (Model *model, guint64 size)
{
  size = gemem_align_up (size, 512);
  return size < PAGE ? take_piece (model, size) : take_block (model, gemem_align_up (size, PAGE));
}

static void
give (Model *model, guint64 address, guint64 size)
{
  size = gemem_align_up (size, 512);
  if (size < PAGE)
    give_piece (model, address, size);
  else
    give_block (model, address);
}

static guint64
reserve (Model *model, guint64 size, guint64 alignment)
{
  const guint64 step = MAX (alignment, SLOT);
  guint64 address;

  size = gemem_align_up (size, PAGE);
  address = search (model, size, MAX (alignment, PAGE), TRUE);
  if (address == 0)
    {
      address = place_low (model, gemem_align_up (size, step), step);
      add (model->arenas, address, address + gemem_align_up (size, step));
    }
  add (model->blocks, address, address + size);
  return address;
}

static Model
model_new (void)
{
  Model model = { g_array_new (FALSE, FALSE, sizeof (Extent)),
                  g_array_new (FALSE, FALSE, sizeof (Extent)),
                  g_array_new (FALSE, FALSE, sizeof (Extent)) };

  add (model.arenas, F, F + SLOT);
  add (model.blocks, F, F + 4 * PAGE);
  add (model.arenas, L, L + 13 * SLOT);
  add (model.blocks, L, L + 207 * PAGE);
  return model;
}

static void
compute (Model *model)
{
  take_block (model, 252 * PAGE);
  give_block (model, L);
}

/* ---- both */

typedef struct
{
  guint64 address, size;
  gboolean range;
} Held;

static guint64
draw_size (GememRng *rng)
{
  const guint64 size = gemem_rng_below (rng, 128 * GEMEM_MIB);

  return 1 + (size >> gemem_rng_below (rng, 24));
}

static void
step_both (GememArenas *arenas, Model *model, Held *held, GememRng *rng)
{
  if (held->address != 0 && held->range)
    {
      gemem_arenas_release (arenas, held->address, held->size);
      give_block (model, held->address);
      held->address = 0;
    }
  else if (held->address != 0)
    {
      gemem_arenas_give (arenas, held->address, held->size);
      give (model, held->address, held->size);
      held->address = 0;
    }
  else
    {
      const guint64 alignment = gemem_rng_below (rng, 4) == 0 ? PAGE << gemem_rng_below (rng, 8)
                                                              : 0;

      held->size = draw_size (rng);
      held->range = gemem_rng_below (rng, 8) == 0;
      held->address = held->range ? gemem_arenas_reserve (arenas, held->size, alignment)
                                  : gemem_arenas_take (arenas, held->size);
      g_assert_cmphex (held->address, ==,
                       held->range ? reserve (model, held->size, alignment)
                                   : take (model, held->size));
    }
}

static void
run (const char *stream, guint live, guint steps)
{
  g_autofree Held *held = g_new0 (Held, live);
  Model model = model_new ();
  GememSpace low;
  GememArenas arenas;
  GememRng rng;

  gemem_rng_init (&rng, 1, stream);
  gemem_space_init (&low);
  gemem_arenas_init (&arenas, &low);
  for (guint n = 0; n < steps; n++)
    {
      if (n == steps / 8)
        {
          gemem_arenas_compute (&arenas);
          compute (&model);
        }
      step_both (&arenas, &model, &held[gemem_rng_below (&rng, live)], &rng);
    }
  gemem_arenas_clear (&arenas);
  gemem_space_clear (&low);
  g_array_unref (model.arenas);
  g_array_unref (model.blocks);
  g_array_unref (model.pieces);
}

static void
test_few (void)
{
  run ("few", 12, 20000);
}

static void
test_many (void)
{
  run ("many", 200, 8000);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/arenas-model/few", test_few);
  g_test_add_func ("/arenas-model/many", test_many);
  return g_test_run ();
}
