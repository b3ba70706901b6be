/* test-release-ranges.c - the probe of the order of release (release-order.h) where memory is
 * released or used in other pieces than it was returned: pages of a block one by one, work on a
 * part of a block, and neighbouring memory. Each test was written for a mutant that
 * test-release-order.c let pass. */
#include "config.h"

#include "sim/engine/release-order.h"

#define PAGE (G_GUINT64_CONSTANT (2) << 20)
#define PAGES 4
#define STREAM 3

/* Four consecutive pages, and the probe that watches them. */
typedef struct
{
  GememDevice *device;
  GememReleaseOrder *order;
  guint64 base, seq;
  GememPage pages[PAGES];
} Rig;

static Rig
rig_new (void)
{
  Rig rig = { .device = gemem_device_new ("sim:capacity=64MiB,free_synchronises=no", NULL, 0,
                                          NULL) };

  rig.base = gemem_device_reserve (rig.device, PAGES * PAGE, 0);
  for (guint i = 0; i < PAGES; i++)
    {
      rig.pages[i] = gemem_device_create_page (rig.device, PAGE);
      g_assert_true (gemem_device_map (rig.device, rig.base + i * PAGE, rig.pages[i], 0, PAGE));
    }
  rig.order = gemem_release_order_new (rig.device);
  return rig;
}

/* Returns block @id on STREAM: @n pages from @first on. */
static void
give (Rig *rig, guint64 id, guint first, guint n)
{
  const GememTraceEvent event = {
    .kind = GEMEM_EVENT_ALLOC, .id = id, .size = n * PAGE, .stream = STREAM
  };
  const GememBlock block = { .address = rig->base + first * PAGE, .size = n * PAGE };

  gemem_release_order_before (rig->order, &event, ++rig->seq);
  gemem_release_order_served (rig->order, id, STREAM, &block);
}

static void
unbind_all (Rig *rig, guint64 id)
{
  const GememTraceEvent event = { .kind = GEMEM_EVENT_FREE, .id = id, .stream = STREAM };

  gemem_release_order_before (rig->order, &event, ++rig->seq);
}

static void
unmap (Rig *rig, guint page)
{
  g_assert_true (gemem_device_unmap (rig->device, rig->base + page * PAGE, PAGE));
  gemem_device_destroy_page (rig->device, rig->pages[page], PAGE);
  rig->pages[page] = 0;
}

static void
rig_done (Rig *rig, gboolean expected)
{
  g_assert_cmpint (gemem_release_order_check (rig->order, NULL), ==, expected);
  gemem_release_order_free (rig->order);
  for (guint i = 0; i < PAGES; i++)
    if (rig->pages[i] != 0)
      unmap (rig, i);
  gemem_device_release (rig->device, rig->base, PAGES * PAGE);
  gemem_device_destroy (rig->device);
}

/* Every page of a block belongs to it. */
static void
test_last_page_of_a_block (void)
{
  for (guint n = 1; n <= 3; n++)
    {
      Rig rig = rig_new ();

      give (&rig, 1, 0, n);
      unmap (&rig, 2);
      rig_done (&rig, n < 3);
    }
}

/* Work on a part of a block does not concern the rest, and ends at the end of the part. */
static void
test_work_on_a_part (void)
{
  for (guint page = 1; page < PAGES; page++)
    {
      Rig rig = rig_new ();

      give (&rig, 1, 0, 3);
      unbind_all (&rig, 1);
      g_assert_true (gemem_device_memset (rig.device, rig.base + PAGE, 0, PAGE, STREAM));
      unmap (&rig, page);
      rig_done (&rig, page == 3);
    }
}

/* A wait directly after the work, within one event, covers the work. */
static void
test_wait_within_an_event (void)
{
  for (guint waits = 0; waits <= 1; waits++)
    {
      Rig rig = rig_new ();

      unbind_all (&rig, 1); /* any event */
      g_assert_true (gemem_device_memset (rig.device, rig.base, 0, PAGE, STREAM));
      if (waits)
        gemem_device_stream_sync (rig.device, STREAM);
      unmap (&rig, 0);
      rig_done (&rig, waits);
    }
}

/* After a final wait for the device, memory may be released though blocks were never freed. */
static void
test_end_of_the_program (void)
{
  for (guint idle = 0; idle <= 1; idle++)
    {
      Rig rig = rig_new ();

      give (&rig, 1, 0, 2);
      gemem_release_order_release_all (rig.order, ++rig.seq, idle);
      unmap (&rig, 1);
      rig_done (&rig, idle);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/release-ranges/last-page-of-a-block", test_last_page_of_a_block);
  g_test_add_func ("/release-ranges/work-on-a-part", test_work_on_a_part);
  g_test_add_func ("/release-ranges/wait-within-an-event", test_wait_within_an_event);
  g_test_add_func ("/release-ranges/end-of-the-program", test_end_of_the_program);
  return g_test_run ();
}
