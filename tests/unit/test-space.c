/* test-space.c - the gaps of an address space: exact placements, and ten thousand random calls
 * against a naive list. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "devices/space.h"

#define END GEMEM_SPACE_END

static void
test_find_and_take (void)
{
  GememSpace space;
  gemem_space_init (&space);

  g_assert_cmphex (gemem_space_find (&space, 0, 1, 1), ==, GEMEM_SPACE_START);
  g_assert_cmphex (gemem_space_find (&space, 0x10001, 16, 0x1000), ==, 0x11000);
  g_assert_true (gemem_space_take (&space, 0x10000, 0x1000));
  g_assert_cmpuint (space.gaps, ==, 2);
  g_assert_cmphex (gemem_space_find (&space, 0x10000, 1, 1), ==, 0x11000);
  g_assert_cmphex (gemem_space_find (&space, 0xf000, 0x1000, 1), ==, 0xf000);
  g_assert_cmphex (gemem_space_find (&space, 0xf000, 0x1001, 1), ==, 0x11000);

  /* A range with any byte in use is refused as a whole, and nothing changes. */
  g_assert_false (gemem_space_take (&space, 0x10fff, 1));
  g_assert_false (gemem_space_take (&space, 0xffff, 2));
  g_assert_false (gemem_space_take (&space, 0x8000, 0x20000));
  g_assert_false (gemem_space_take (&space, 0x20000, 0));
  g_assert_false (gemem_space_take (&space, 0, 1));
  g_assert_false (gemem_space_take (&space, END - 1, 2));
  g_assert_false (gemem_space_take (&space, G_MAXUINT64, 1));
  g_assert_cmpuint (space.gaps, ==, 2);

  gemem_space_give (&space, 0x10000, 0x1000);
  g_assert_cmpuint (space.gaps, ==, 1);
  g_assert_true (gemem_space_take (&space, GEMEM_SPACE_START, END - GEMEM_SPACE_START));
  g_assert_cmpuint (space.gaps, ==, 0);
  g_assert_cmphex (gemem_space_find (&space, 0, 1, 1), ==, 0);
  g_assert_false (gemem_space_take (&space, 0x10000, 1));
  gemem_space_give (&space, GEMEM_SPACE_START, END - GEMEM_SPACE_START);
  g_assert_true (gemem_space_check (&space));
  gemem_space_clear (&space);
}

static void
test_ends (void)
{
  GememSpace space;
  gemem_space_init (&space);

  g_assert_cmphex (gemem_space_find (&space, END - 4096, 4096, 4096), ==, END - 4096);
  g_assert_cmphex (gemem_space_find (&space, END - 4096, 4097, 1), ==, 0);
  g_assert_cmphex (gemem_space_find (&space, END - 4095, 1, 4096), ==, 0);
  g_assert_cmphex (gemem_space_find (&space, END, 1, 1), ==, 0);
  g_assert_cmphex (gemem_space_find (&space, G_MAXUINT64, G_MAXUINT64, 1), ==, 0);
  g_assert_cmphex (gemem_space_find (&space, 1, 1, G_GUINT64_CONSTANT (1) << 63), ==, 0);
  g_assert_cmphex (gemem_space_find (&space, 1, G_MAXUINT64, 1), ==, 0);
  gemem_space_clear (&space);
}

/* Gaps of one page between pages in use, filled from every side. */
static void
test_give_joins (void)
{
  GememSpace space;
  gemem_space_init (&space);

  for (guint64 page = 0; page < 5; page++)
    g_assert_true (gemem_space_take (&space, 0x10000 + page * 0x1000, 0x1000));
  g_assert_cmpuint (space.gaps, ==, 2);
  gemem_space_give (&space, 0x12000, 0x1000); /* no gap beside it */
  g_assert_cmpuint (space.gaps, ==, 3);
  gemem_space_give (&space, 0x13000, 0x1000); /* joins the gap below */
  g_assert_cmpuint (space.gaps, ==, 3);
  gemem_space_give (&space, 0x11000, 0x1000); /* joins the gap above */
  g_assert_cmpuint (space.gaps, ==, 3);
  g_assert_cmphex (gemem_space_find (&space, 0x10000, 0x3000, 1), ==, 0x11000);
  gemem_space_give (&space, 0x10000, 0x1000); /* joins two gaps */
  g_assert_cmpuint (space.gaps, ==, 2);
  gemem_space_give (&space, 0x14000, 0x1000);
  g_assert_cmpuint (space.gaps, ==, 1);
  g_assert_true (gemem_space_check (&space));
  gemem_space_clear (&space);
}

/* ---- against a byte per page */

#define PAGES 512
#define PAGE 0x1000
#define ADDRESS(page) (0x100000 + (guint64) (page) *PAGE)

static guint64
naive_find (const char *taken, guint floor, guint pages, guint alignment)
{
  for (guint page = 0; page + pages <= PAGES; page++)
    if (page >= floor && ADDRESS (page) % ((guint64) alignment * PAGE) == 0
        && memchr (taken + page, 1, pages) == NULL)
      return ADDRESS (page);
  return 0;
}

static void
test_naive (void)
{
  char taken[PAGES] = { 0 };
  GememSpace space;
  GememRng rng;

  gemem_space_init (&space);
  gemem_rng_init (&rng, 1, "space");
  /* Only the pages of the model are free. */
  g_assert_true (gemem_space_take (&space, GEMEM_SPACE_START, ADDRESS (0) - GEMEM_SPACE_START));
  g_assert_true (gemem_space_take (&space, ADDRESS (PAGES), END - ADDRESS (PAGES)));

  for (guint step = 0; step < 10000; step++)
    {
      guint page = gemem_rng_below (&rng, PAGES), pages = gemem_rng_range (&rng, 1, 12),
            alignment = 1u << gemem_rng_below (&rng, 4);
      guint64 address = gemem_space_find (&space, ADDRESS (page), pages * PAGE, alignment * PAGE);

      g_assert_cmphex (address, ==, naive_find (taken, page, pages, alignment));
      if (gemem_rng_below (&rng, 3) > 0 && address != 0)
        {
          g_assert_true (gemem_space_take (&space, address, pages * PAGE));
          memset (taken + (address - ADDRESS (0)) / PAGE, 1, pages);
        }
      else if (page + pages <= PAGES && memchr (taken + page, 0, pages) == NULL)
        {
          gemem_space_give (&space, ADDRESS (page), pages * PAGE);
          memset (taken + page, 0, pages);
        }
      else if (page + pages <= PAGES)
        {
          gboolean is_free = memchr (taken + page, 1, pages) == NULL;
          g_assert_cmpint (gemem_space_take (&space, ADDRESS (page), pages * PAGE), ==, is_free);
          if (is_free)
            memset (taken + page, 1, pages);
        }
      g_assert_true (gemem_space_check (&space));
    }
  g_assert_cmpuint (space.gaps, >, 5);
  gemem_space_clear (&space);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/space/find-and-take", test_find_and_take);
  g_test_add_func ("/space/ends", test_ends);
  g_test_add_func ("/space/give-joins", test_give_joins);
  g_test_add_func ("/space/naive", test_naive);
  return g_test_run ();
}
