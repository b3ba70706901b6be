/* test-pytorch-releases.c - which segments of a snapshot are unused, which pool those had that are gone, and what is mapped,
 * of as many as a hostile file has: a pass over all for each event would take minutes.
 */
#include "config.h"

#include <time.h>

#include "traces/pytorch/releases.h"
#include "traces/pytorch/state.h"

#define MANY 100000u
#define SIZE GEMEM_PYTORCH_SMALL_SEGMENT
#define SECONDS 5 /* of the processor, as other programs run too; it takes tenths of one */

/* Of segment number @i; the highest is the first. */
static guint64
address_of (guint i)
{
  return (2 * MANY - i) * SIZE;
}

static void
take (GememPytorchReleases *releases, GememEventKind kind, guint64 address, guint64 size)
{
  const GememTraceEvent event = { .kind = (guint8) kind, .address = address, .size = size };

  gemem_pytorch_releases_event (releases, &event, 0, FALSE, FALSE, 0);
}

/* All segments are in use while requests fail and one more segment comes and goes. */
static void
test_in_use (void)
{
  const clock_t start = clock ();
  GememPytorchReleases releases;

  gemem_pytorch_releases_init (&releases);
  for (guint i = 0; i < MANY; i++)
    {
      take (&releases, GEMEM_EVENT_SEGMENT_ALLOC, address_of (i), SIZE);
      take (&releases, GEMEM_EVENT_ALLOC, address_of (i) + 512, 512);
    }
  for (guint i = 0; i < MANY; i++)
    {
      take (&releases, GEMEM_EVENT_OOM, 0, 512);
      take (&releases, GEMEM_EVENT_SEGMENT_ALLOC, address_of (MANY), SIZE);
      take (&releases, GEMEM_EVENT_SEGMENT_FREE, address_of (MANY), SIZE);
    }
  g_assert_cmpuint (releases.kept->len, ==, 0);
  for (guint i = 0; i < MANY; i++)
    take (&releases, GEMEM_EVENT_FREE_COMPLETED, address_of (i) + 512, 512);
  for (guint i = 3; i < MANY; i++)
    take (&releases, GEMEM_EVENT_SEGMENT_FREE, address_of (i), SIZE);
  take (&releases, GEMEM_EVENT_ALLOC, address_of (1), 512);
  take (&releases, GEMEM_EVENT_OOM, 0, 512);
  /* segments 0 and 2, by address */
  g_assert_cmpuint (releases.kept->len, ==, 2);
  g_assert_cmphex (g_array_index (releases.kept, GememPytorchKept, 0).address, ==, address_of (2));
  g_assert_cmphex (g_array_index (releases.kept, GememPytorchKept, 1).address, ==, address_of (0));
  g_assert_cmpuint (releases.runs->len, ==, MANY + 1);
  g_assert_false (g_array_index (releases.runs, GememPytorchRelease, 0).left);
  g_assert_true (g_array_index (releases.runs, GememPytorchRelease, MANY).left);
  gemem_pytorch_releases_clear (&releases);
  g_assert_cmpfloat ((double) (clock () - start) / CLOCKS_PER_SEC, <, SECONDS);
}

/* Segments that are gone have a pool from the event that made them to the one that freed them. */
static void
test_gone (void)
{
  const clock_t start = clock ();
  GememPytorchState state;

  gemem_pytorch_state_init (&state);
  for (guint i = 0; i < MANY; i++)
    {
      gemem_pytorch_state_gone (&state, address_of (i), SIZE, i, MANY + 1, 1 + i);
      /* later, at the same place */
      gemem_pytorch_state_gone (&state, address_of (i), SIZE, MANY + 2 + i, 3 * MANY, 7);
    }
  gemem_pytorch_state_gone_all (&state);
  for (guint i = 0; i < MANY; i++)
    {
      g_assert_cmpuint (gemem_pytorch_state_pool (&state, address_of (i) + 1, i), ==, 1 + i);
      g_assert_cmpuint (gemem_pytorch_state_pool (&state, address_of (i + 1), i), ==, 0);
    }
  g_assert_cmpuint (gemem_pytorch_state_pool (&state, address_of (5), MANY + 1), ==, 6);
  g_assert_cmpuint (gemem_pytorch_state_pool (&state, address_of (5), MANY + 2), ==, 0);
  g_assert_cmpuint (gemem_pytorch_state_pool (&state, address_of (0) + SIZE, MANY + 2), ==, 0);
  g_assert_cmpuint (gemem_pytorch_state_pool (&state, G_MAXUINT64, MANY + 2), ==, 0);
  for (guint i = 0; i < MANY; i++)
    g_assert_cmpuint (gemem_pytorch_state_pool (&state, address_of (i), MANY + 2 + i), ==, 7);
  g_assert_cmpuint (gemem_pytorch_state_pool (&state, address_of (5), 3 * MANY + 1), ==, 0);
  gemem_pytorch_state_clear (&state);
  g_assert_cmpfloat ((double) (clock () - start) / CLOCKS_PER_SEC, <, SECONDS);
}

static gboolean
map (GememPytorchState *state, GememEventKind kind, guint64 address, guint64 size)
{
  const GememTraceEvent event = { .kind = (guint8) kind, .address = address, .size = size };

  return gemem_pytorch_state_event (state, &event, NULL);
}

/* Ranges of which none lies beside another, at ever lower addresses; what is unmapped and was not mapped was there before. */
static void
test_mapped (void)
{
  const guint many = 3 * MANY;
  const clock_t start = clock ();
  GememPytorchState state;

  gemem_pytorch_state_init (&state);
  for (guint i = many; i > 0; i--)
    g_assert_true (map (&state, GEMEM_EVENT_SEGMENT_MAP, 4 * i * SIZE, 2 * SIZE));
  g_assert_false (map (&state, GEMEM_EVENT_SEGMENT_MAP, 3 * SIZE, 2 * SIZE));
  g_assert_false (map (&state, GEMEM_EVENT_SEGMENT_MAP, 5 * SIZE, SIZE));
  g_assert_true (map (&state, GEMEM_EVENT_SEGMENT_MAP, 6 * SIZE, SIZE));   /* beside the first */
  g_assert_true (map (&state, GEMEM_EVENT_SEGMENT_UNMAP, 5 * SIZE, SIZE)); /* its middle */
  g_assert_true (map (&state, GEMEM_EVENT_SEGMENT_MAP, 5 * SIZE, SIZE));
  g_assert_cmpuint (state.segments->len, ==, 0);
  for (guint i = many; i > 1; i--)
    g_assert_true (map (&state, GEMEM_EVENT_SEGMENT_UNMAP, 4 * i * SIZE, 2 * SIZE));
  g_assert_cmpuint (state.segments->len, ==, 0);
  g_assert_true (
      map (&state, GEMEM_EVENT_SEGMENT_UNMAP, 3 * SIZE, 6 * SIZE)); /* more at both ends */
  g_assert_cmpuint (state.segments->len, ==, 2);
  g_assert_cmphex (g_array_index (state.segments, GememPytorchSegment, 0).address, ==, 3 * SIZE);
  g_assert_cmphex (g_array_index (state.segments, GememPytorchSegment, 1).address, ==, 7 * SIZE);
  g_assert_cmphex (g_array_index (state.segments, GememPytorchSegment, 1).size, ==, 2 * SIZE);
  gemem_pytorch_state_clear (&state);
  g_assert_cmpfloat ((double) (clock () - start) / CLOCKS_PER_SEC, <, 2 * SECONDS);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pytorch-releases/in-use", test_in_use);
  g_test_add_func ("/pytorch-releases/gone", test_gone);
  g_test_add_func ("/pytorch-releases/mapped", test_mapped);
  return g_test_run ();
}
