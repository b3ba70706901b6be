/* test-ge-streams.c - the level-2 pools of ge-runtime.md 2.2 to 2.6: every outcome of 2.6,
 * example E24, the ladders, events for one stream and for any waiter, the borrow pool, the end
 * of an execution, and the bit matrix against a plain one. */
#include "config.h"

#include <string.h>

#include "allocators/ge/holders.h"
#include "base/rng.h"
#include "tests/util/engine-job.h"
#include "tests/util/rig.h"
#include "tests/util/sizes.h"

#define ANY G_MAXUINT64
#define equal(a, b) g_assert_cmpuint ((a), ==, (b))

/* The address, or 0. */
static guint64
get (Rig *rig, guint i, guint64 size, guint64 stream)
{
  return rig_serve (rig, i, &(GememRequest){ .size = size, .stream = stream })
             ? rig->blocks[i].address
             : 0;
}

static void
use (Rig *rig, guint i, guint64 stream)
{
  rig->allocator->klass->streams.use (rig->allocator, &rig->blocks[i], stream);
  rig_verify (rig);
}

static void
let (Rig *rig, guint i, guint64 stream)
{
  rig->allocator->klass->streams.free (rig->allocator, &rig->blocks[i], stream);
  rig_verify (rig);
}

static void
record (Rig *rig, guint64 id, guint64 stream, guint64 to)
{
  rig->allocator->klass->streams.record (rig->allocator, id, stream, to);
  rig_verify (rig);
}

static void
wait (Rig *rig, guint64 id, guint64 stream)
{
  rig->allocator->klass->streams.wait (rig->allocator, id, stream);
  rig_verify (rig);
}

/* A record and its wait. */
static void
order (Rig *rig, guint64 from, guint64 to)
{
  record (rig, 1000 + 100 * from + to, from, to);
  wait (rig, 1000 + 100 * from + to, to);
}

static void
finish_execution (Rig *rig)
{
  rig->allocator->klass->streams.sync (rig->allocator, ANY);
  rig_verify (rig);
}

/* Compares the number of recycles so far. */
static void
recycles (const Rig *rig, guint64 birth, guint64 local, guint64 borrow)
{
  equal (rig_stat (rig, "birth_recycles"), birth);
  equal (rig_stat (rig, "local_recycles"), local);
  equal (rig_stat (rig, "borrow_recycles"), borrow);
}

/* A block of 4 MiB allocated on 0 and also used on 1, on a device without another 4 MiB. */
static Rig
shared_block (void)
{
  Rig rig = rig_new ("ge-streams", "sim:capacity=6MiB");

  g_assert_cmphex (get (&rig, 0, 4 * MIB, 0), !=, 0);
  use (&rig, 0, 1);
  return rig;
}

/* ---- 2.6 */

static void
test_free_event_free (void)
{
  Rig rig = shared_block ();
  const guint64 address = rig.blocks[0].address;

  let (&rig, 0, 0);
  recycles (&rig, 0, 1, 0);
  order (&rig, 0, 1);
  put (&rig, 0);
  recycles (&rig, 0, 1, 1);
  equal (rig_stat (&rig, "borrowed_size"), 4 * MIB);
  /* reusable on 1, not on 0 */
  g_assert_cmphex (get (&rig, 1, 3 * MIB, 0), ==, 0);
  g_assert_cmphex (get (&rig, 1, 3 * MIB, 1), ==, address);
  equal (rig.blocks[1].size, 4 * MIB);
  put (&rig, 1);
  recycles (&rig, 0, 1, 2);
  /* the next event returns it */
  record (&rig, 7, 1, 0);
  g_assert_cmphex (get (&rig, 1, 3 * MIB, 1), ==, 0);
  equal (rig_stat (&rig, "pending_size"), 4 * MIB);
  wait (&rig, 7, 0);
  recycles (&rig, 1, 1, 2);
  g_assert_cmphex (get (&rig, 1, 4 * MIB, 0), ==, address);
  rig_done (&rig);
}

static void
test_free_free_event (void)
{
  Rig rig = shared_block ();

  put (&rig, 0); /* at 0, then at 1 */
  recycles (&rig, 0, 2, 0);
  equal (rig_stat (&rig, "pending_size"), 4 * MIB);
  g_assert_cmphex (get (&rig, 1, MIB * 3, 1), ==, 0);
  order (&rig, 0, 1);
  recycles (&rig, 0, 2, 1);
  equal (rig_stat (&rig, "pending_size"), 0);
  g_assert_cmphex (get (&rig, 1, 3 * MIB, 1), !=, 0);
  rig_done (&rig);
}

static void
test_other_first (void)
{
  Rig rig = shared_block ();

  let (&rig, 0, 1);
  order (&rig, 1, 0);
  recycles (&rig, 0, 1, 0);
  put (&rig, 0);
  recycles (&rig, 1, 1, 0);
  rig_done (&rig);
}

static void
test_other_first_event_last (void)
{
  Rig rig = shared_block ();

  let (&rig, 0, 1);
  put (&rig, 0);
  recycles (&rig, 0, 2, 0);
  record (&rig, 1, 1, 0);
  recycles (&rig, 0, 2, 0);
  wait (&rig, 1, 0);
  recycles (&rig, 1, 2, 0);
  rig_done (&rig);
}

static void
test_still_held (void)
{
  Rig rig = shared_block ();

  let (&rig, 0, 0);
  let (&rig, 0, 0); /* a stream that has ended its hold */
  let (&rig, 0, 9); /* a stream that never held it */
  recycles (&rig, 0, 1, 0);
  order (&rig, 0, 1);
  recycles (&rig, 0, 1, 0);
  g_assert_cmphex (get (&rig, 1, 3 * MIB, 1), ==, 0);
  rig_done (&rig);
}

static void
test_never_shared (void)
{
  Rig rig = rig_new ("ge-streams", "sim:capacity=6MiB");

  get (&rig, 0, 4 * MIB, 0);
  get (&rig, 1, MIB, 1);
  put (&rig, 0);
  recycles (&rig, 1, 0, 0);
  rig_done (&rig);
}

/* Nine streams hold a block; the last one learns of the others one by one. */
static void
test_many_holders (void)
{
  Rig rig = rig_new ("ge-streams", "sim:capacity=64MiB");

  get (&rig, 0, MIB, 50);
  for (guint64 s = 51; s < 60; s++)
    use (&rig, 0, s);
  for (guint64 s = 50; s < 59; s++)
    let (&rig, 0, s);
  for (guint64 s = 50; s < 58; s++)
    order (&rig, s, 59);
  put (&rig, 0);
  recycles (&rig, 0, 10, 0);
  order (&rig, 58, 59);
  recycles (&rig, 0, 10, 1);
  order (&rig, 59, 50);
  recycles (&rig, 1, 10, 1);
  rig_done (&rig);
}

/* ---- the meaning of trace events */

static void
test_counts (void)
{
  Rig rig = shared_block ();

  use (&rig, 0, 0);
  use (&rig, 0, 0);
  let (&rig, 0, 0);
  let (&rig, 0, 0);
  recycles (&rig, 0, 0, 0); /* one hold is left */
  let (&rig, 0, 1);
  order (&rig, 1, 0);
  put (&rig, 0);
  recycles (&rig, 1, 1, 0);
  rig_done (&rig);
}

/* The last hold ends with the program's free, or when another hold follows. */
static void
test_deferred (void)
{
  Rig rig = shared_block ();

  let (&rig, 0, 0);
  let (&rig, 0, 1);
  let (&rig, 0, 1);
  recycles (&rig, 0, 1, 0);
  use (&rig, 0, 2);
  recycles (&rig, 0, 2, 0);
  let (&rig, 0, 2);
  use (&rig, 0, 2);
  recycles (&rig, 0, 2, 0);
  put (&rig, 0);
  recycles (&rig, 0, 3, 0);
  rig_done (&rig);
}

static void
test_completion (void)
{
  Rig rig = shared_block ();
  const GememAllocatorClass *klass = rig.allocator->klass;

  klass->free (rig.allocator, &rig.blocks[0], TRUE);
  rig.live--;
  rig_verify (&rig);
  recycles (&rig, 0, 1, 0);
  finish_execution (&rig);
  recycles (&rig, 0, 1, 0);
  klass->streams.complete (rig.allocator, &rig.blocks[0]);
  recycles (&rig, 1, 1, 0);
  g_assert_cmphex (get (&rig, 1, 4 * MIB, 0), ==, rig.blocks[0].address);
  klass->free (rig.allocator, &rig.blocks[1], TRUE); /* the only holder: the block waits */
  rig.live--;
  recycles (&rig, 1, 1, 0);
  g_assert_cmphex (get (&rig, 2, 4 * MIB, 0), ==, 0);
  klass->streams.complete (rig.allocator, &rig.blocks[1]);
  recycles (&rig, 2, 1, 0);
  rig_done (&rig);
}

/* ---- events */

/* The wrapper serves another block when the event is delivered. */
static void
test_version_mismatch (void)
{
  Rig rig = shared_block ();
  const GememAllocatorClass *klass = rig.allocator->klass;

  let (&rig, 0, 0);
  record (&rig, 1, 0, 1);
  klass->free (rig.allocator, &rig.blocks[0], TRUE);
  klass->streams.complete (rig.allocator, &rig.blocks[0]);
  rig.live--;
  get (&rig, 1, 4 * MIB, 0);
  g_assert_true (rig.blocks[1].handle == rig.blocks[0].handle);
  use (&rig, 1, 1);
  let (&rig, 1, 0);
  wait (&rig, 1, 1);
  put (&rig, 1); /* 1 does not know that 0 released */
  recycles (&rig, 1, 3, 0);
  order (&rig, 0, 1);
  recycles (&rig, 1, 3, 1);
  rig_done (&rig);
}

/* An entry is not sent again to the same stream; another stream still gets it. */
static void
test_sent_once (void)
{
  Rig rig = rig_new ("ge-streams", "sim:capacity=64MiB");

  get (&rig, 0, MIB, 0);
  use (&rig, 0, 1);
  use (&rig, 0, 2);
  let (&rig, 0, 0);
  record (&rig, 1, 0, 1);
  record (&rig, 2, 0, 1);
  let (&rig, 0, 2);
  order (&rig, 2, 1);
  wait (&rig, 2, 1);
  put (&rig, 0); /* 1 waits for event 1 only now */
  recycles (&rig, 0, 3, 0);
  wait (&rig, 1, 2); /* not event 2 */
  recycles (&rig, 0, 3, 0);
  wait (&rig, 1, 1);
  recycles (&rig, 0, 3, 1);
  wait (&rig, 1, 1); /* the hold has ended */
  rig_done (&rig);
}

/* An event for any waiter delivers the state at its record, nothing later. */
static void
test_undirected (void)
{
  Rig rig = rig_new ("ge-streams", "sim:capacity=64MiB");

  for (guint i = 0; i < 3; i++)
    {
      get (&rig, i, MIB, 0);
      use (&rig, i, 1);
    }
  let (&rig, 0, 0);
  record (&rig, 1, 0, ANY);
  let (&rig, 1, 0);
  record (&rig, 2, 0, ANY);
  let (&rig, 2, 0);
  wait (&rig, 1, 1);
  wait (&rig, 1, 2);
  put (&rig, 0);
  recycles (&rig, 0, 3, 1);
  put (&rig, 1);
  recycles (&rig, 0, 4, 1);
  wait (&rig, 2, 1);
  recycles (&rig, 0, 4, 2);
  put (&rig, 2);
  recycles (&rig, 0, 5, 2);
  record (&rig, 2, 0, ANY); /* recorded again */
  wait (&rig, 2, 1);
  recycles (&rig, 0, 5, 3);
  rig_done (&rig);
}

/* A block on stream 1 that was borrowed, and is allocated on 0. */
static void
make_borrowed (Rig *rig, guint i, guint64 size)
{
  g_assert_cmphex (get (rig, i, size, 0), !=, 0);
  use (rig, i, 1);
  let (rig, i, 0);
  order (rig, 0, 1);
  put (rig, i);
}

/* ...and of the borrow pool the blocks that were in it at the record and still are. */
static void
test_undirected_borrowed (void)
{
  Rig rig = rig_new ("ge-streams", "sim:capacity=6MiB");

  make_borrowed (&rig, 0, 4 * MIB);
  record (&rig, 1, 1, ANY);
  wait (&rig, 1, 2);
  recycles (&rig, 0, 1, 1);
  get (&rig, 1, 4 * MIB, 1);
  wait (&rig, 1, 0);
  recycles (&rig, 0, 1, 1); /* in use */
  put (&rig, 1);
  wait (&rig, 1, 0);
  recycles (&rig, 0, 1, 2); /* used since the record */
  record (&rig, 1, 1, ANY);
  wait (&rig, 1, 0);
  recycles (&rig, 1, 1, 2);
  rig_done (&rig);
}

/* Recorded again for the same stream, an event has both marks; recorded for another one, only
 * the end of the execution delivers the first mark. */
static void
test_recorded_again (void)
{
  Rig rig = rig_new ("ge-streams", "sim:capacity=64MiB");

  for (guint i = 0; i < 3; i++)
    {
      get (&rig, i, MIB, 0);
      use (&rig, i, 1);
    }
  put (&rig, 0);
  record (&rig, 1, 0, 1);
  put (&rig, 1);
  record (&rig, 1, 0, 1);
  wait (&rig, 1, 1);
  recycles (&rig, 0, 4, 2);
  put (&rig, 2);
  record (&rig, 1, 0, 1);
  record (&rig, 1, 0, 2);
  wait (&rig, 1, 1);
  wait (&rig, 1, 2);
  recycles (&rig, 0, 6, 2);
  finish_execution (&rig);
  recycles (&rig, 3, 6, 3); /* delivered, borrowed, returned to its stream */
  rig_done (&rig);
}

static void
test_last_wait_events (void)
{
  Rig rig = rig_new ("ge-streams", "sim:capacity=64MiB");

  for (guint i = 0; i < 3; i++)
    make_borrowed (&rig, i, MIB); /* in the borrow pool of 1 */
  for (guint i = 3; i < 6; i++)
    {
      get (&rig, i, MIB, i % 2);
      use (&rig, i, 2);
      put (&rig, i); /* pending */
    }
  get (&rig, 6, MIB, 1);
  put (&rig, 6);
  record (&rig, 1, 1, 0); /* returning to their stream */
  make_borrowed (&rig, 0, MIB);
  get (&rig, 7, MIB, 2);
  use (&rig, 7, 0);
  let (&rig, 7, 2);                                      /* held by 0 */
  rig.allocator->klass->streams.sync (rig.allocator, 0); /* a stream sync is no device sync */
  recycles (&rig, 1, 11, 4);
  finish_execution (&rig);
  recycles (&rig, 8, 11, 4);
  equal (rig_stat (&rig, "pending_size"), 0);
  equal (rig_stat (&rig, "borrowed_size"), 0);
  equal (rig_stat (&rig, "stream0.occupied_size"), 0);
  equal (rig_stat (&rig, "stream1.occupied_size"), 0);
  equal (rig_stat (&rig, "stream2.occupied_size"), MIB);
  equal (rig_stat (&rig, "stream2.recycle_count"), 1);
  order (&rig, 2, 0);
  put (&rig, 7);
  recycles (&rig, 8, 11, 5);
  rig_done (&rig);
}

/* ---- the borrow pool */

static void
test_borrow_choice (void)
{
  Rig rig = rig_new ("ge-streams", "sim:capacity=62MiB");
  guint64 address[6];
  static const guint64 sizes[] = { 5, 8, 5, 5, 12, 24 };

  for (guint i = 0; i < 6; i++)
    {
      make_borrowed (&rig, i, sizes[i] * MIB);
      address[i] = rig.blocks[i].address;
    }
  equal (rig_stat (&rig, "borrowed_size"), 59 * MIB);
  g_assert_cmphex (get (&rig, 6, 6 * MIB, 1), ==,
                   address[1]); /* the smallest that is large enough */
  /* of equal ones the latest */
  g_assert_cmphex (get (&rig, 7, 5 * MIB, 1), ==, address[3]);
  put (&rig, 7);
  g_assert_cmphex (get (&rig, 7, 5 * MIB, 1), ==, address[3]);
  g_assert_cmphex (get (&rig, 8, 5 * MIB, 1), ==, address[2]);
  g_assert_cmphex (get (&rig, 9, 5 * MIB, 1), ==, address[0]);
  equal (rig.blocks[6].size, 8 * MIB); /* whole */
  /* The class of 8 MiB was emptied by a request for 6: it keeps no stale entry. */
  g_assert_cmphex (get (&rig, 10, 6 * MIB, 1), ==, address[4]);
  g_assert_cmphex (get (&rig, 11, 25 * MIB, 1), ==, 0);
  equal (rig_stat (&rig, "borrows"), 6);
  rig_done (&rig);
}

/* ---- ladders */

/* The thresholds are those of a larger device: the memory is scarce. */
static void
fill_and_free (Rig *rig)
{
  for (guint i = 0; i < 3; i++)
    g_assert_cmphex (get (rig, i, 10 * MIB, i), !=, 0);
  for (guint i = 0; i < 3; i++)
    put (rig, i);
  equal (rig_stat (rig, "l1.occupied_size"), 30 * MIB);
}

static void
test_e24_all_pools_recycled (void)
{
  Rig rig = rig_new ("ge-streams:total=64GiB", "sim:capacity=30MiB");
  const GememDevice *device = rig.allocator->device;

  fill_and_free (&rig);
  g_assert_cmphex (get (&rig, 3, 25 * MIB, 1), !=, 0);
  equal (rig_stat (&rig, "l1.occupied_size"), 25 * MIB);
  equal (rig_stat (&rig, "stream1.occupied_size"), 25 * MIB);
  for (guint s = 0; s < 3; s++)
    {
      g_autofree char *name = g_strdup_printf ("stream%u.recycle_count", s);

      equal (rig_stat (&rig, name), 1);
    }
  /* Four attempts of L1, each failed one followed by its ladder, the last one too; three pools. */
  equal (device->calls[GEMEM_CALL_STREAM_SYNC], 7);
  equal (rig_stat (&rig, "stream_syncs"), 7);
  equal (device->held, 25 * MIB);
  rig_done (&rig);
}

/* Only the executor with one thread walks over all pools. */
static void
test_threads (void)
{
  Rig several = rig_new ("ge-streams:total=64GiB,MAX_RUNTIME_CORE_NUMBER=8", "sim:capacity=30MiB");
  Rig kept = rig_new (
      "ge-streams:total=64GiB,MAX_RUNTIME_CORE_NUMBER=8,ENABLE_DYNAMIC_SHAPE_MULTI_STREAM=1",
      "sim:capacity=30MiB");

  fill_and_free (&several);
  g_assert_cmphex (get (&several, 3, 25 * MIB, 1), ==, 0);
  /* Its own pool was recycled after that, and the attempt repeated. */
  equal (rig_stat (&several, "stream0.recycle_count"), 0);
  equal (rig_stat (&several, "stream1.recycle_count"), 1);
  fill_and_free (&kept);
  g_assert_cmphex (get (&kept, 3, 25 * MIB, 1), !=, 0);
  rig_done (&several);
  rig_done (&kept);
}

/* The walk ends at the first stream that cannot be waited for. */
static void
test_failed_sync (void)
{
  Rig rig = rig_new ("ge-streams:total=64GiB", "faulty:nth=2,call=stream_sync,capacity=30MiB");

  fill_and_free (&rig);
  g_assert_cmphex (get (&rig, 3, 25 * MIB, 1), !=, 0); /* at the second attempt of its own pool */
  equal (rig_stat (&rig, "stream0.recycle_count"), 1);
  equal (rig_stat (&rig, "stream1.recycle_count"), 2);
  rig_done (&rig);
}

/* ---- one stream; too many */

static void
test_single (void)
{
  Rig rig = rig_new ("ge-streams:streams=single", "sim:capacity=6MiB");
  const guint64 address = get (&rig, 0, 4 * MIB, 5);

  use (&rig, 0, 6);
  let (&rig, 0, 5);
  record (&rig, 1, 5, 6);
  wait (&rig, 1, 6);
  g_assert_cmphex (get (&rig, 1, 4 * MIB, 7), ==, 0);
  put (&rig, 0);
  recycles (&rig, 1, 0, 0);
  equal (rig_stat (&rig, "streams"), 1);
  equal (rig_stat (&rig, "l1.idle_size"), 4 * MIB);
  finish_execution (&rig);
  equal (rig_stat (&rig, "l1.recycle_count"), 1); /* by the ladder of the refused request */
  g_assert_cmphex (get (&rig, 1, 4 * MIB, 7), ==, address);
  rig_done (&rig);
}

static void
test_64_streams (void)
{
  Rig rig = rig_new ("ge-streams", "sim:capacity=1GiB");

  get (&rig, 0, MIB, 100);
  for (guint64 s = 101; s < 164; s++)
    use (&rig, 0, s);
  g_assert_null (rig.allocator->refusal);
  use (&rig, 0, 164);
  g_assert_cmpstr (rig.allocator->refusal, ==,
                   "stream 164 is the 65th, and GE's multi-stream pools know at most 64; use fewer "
                   "streams, or choose another allocator");
  g_assert_cmphex (get (&rig, 1, MIB, 165), ==, 0);
  record (&rig, 1, 166, ANY);
  record (&rig, 1, 100, 167);
  wait (&rig, 1, 168);
  let (&rig, 0, 164);
  equal (rig.allocator->klass->largest_free (rig.allocator, 169), 0);
  g_assert_cmphex (get (&rig, 1, MIB, 163), !=, 0);
  put (&rig, 0);
  recycles (&rig, 0, 64, 0);
  finish_execution (&rig);
  recycles (&rig, 1, 64, 0);
  equal (rig.allocator->klass->largest_free (rig.allocator, 169), 0); /* though pages are idle */
  g_assert_cmpuint (rig.allocator->klass->largest_free (rig.allocator, 100), >=, MIB);
  rig_done (&rig);
}

/* A stream that never asked may have what lies idle in L1. */
static void
test_idle_for_new_stream (void)
{
  Rig rig = rig_new ("ge-streams", "sim:capacity=1GiB");

  equal (rig.allocator->klass->largest_free (rig.allocator, 2), 0);
  get (&rig, 0, MIB, 1);
  put (&rig, 0);
  finish_execution (&rig);
  g_assert_cmpuint (rig.allocator->klass->largest_free (rig.allocator, 2), >=, MIB);
  rig_done (&rig);
}

/* In a replay that is bad input; the message names the event. */
static void
test_65th_stream (void)
{
  g_autoptr (GError) error = NULL;
  const GememAllocatorClass *klass = gemem_allocator_find ("ge-streams", &error);
  GememTraceEvent events[66];
  TestTrace trace = { .events = events, .n = G_N_ELEMENTS (events) };
  GememAllocatorSpec *spec;
  GememJob job;
  GememResult *result;

  g_assert_no_error (error);
  spec = test_spec (klass);
  job = test_job (spec, &trace);
  for (guint i = 0; i < G_N_ELEMENTS (events); i++)
    events[i] = (GememTraceEvent){
      .kind = GEMEM_EVENT_ALLOC, .id = i, .size = 16, .stream = MIN (i, 64)
    };
  g_assert_null (gemem_job_run (&job, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_nonnull (strstr (error->message, "event 64: stream 64 is the 65th"));
  job.allow_partial = TRUE;
  result = test_job_run (&job);
  equal (result->inconsistent, 2);
  equal (result->failed_allocs, 64); /* out of memory, on 4096 bytes */
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

/* ---- the bit matrix */

#define STREAMS 20

/* The same rules, written as plainly as possible. */
typedef struct
{
  guint64 count[STREAMS];
  gboolean v[STREAMS][STREAMS];
} Plain;

static void
plain_step (Plain *p, guint64 what, guint s, guint t)
{
  for (guint o = 0; o < STREAMS; o++)
    switch (what)
      {
      case 0:
        p->v[o][s] = TRUE;
        break;
      case 2:
        p->v[t][o] &= p->v[s][o];
        break;
      case 3:
        for (guint any = 0; any < STREAMS; any++)
          p->v[t][o] &= p->v[any][o];
        break;
      }
  if (what == 0)
    p->count[s]++;
  if ((what == 1 || what == 4) && p->count[s] > 0)
    {
      p->count[s] = what == 4 ? 0 : p->count[s] - 1;
      if (p->count[s] == 0)
        p->v[s][s] = FALSE;
    }
}

static void
compare_plain (const Plain *p, const GeHolders *h)
{
  guint64 total = 0;

  for (guint s = 0; s < STREAMS; s++)
    {
      guint64 row = 0;

      for (guint t = 0; t < STREAMS; t++)
        row |= (guint64) p->v[s][t] << t;
      g_assert_cmphex (gemem_ge_holders_row (h, s), ==, row);
      equal (gemem_ge_holders_count (h, s), p->count[s]);
      equal (h->holding >> s & 1, p->count[s] > 0);
      total += p->count[s];
    }
  equal (h->total, total);
}

static void
test_holders (void)
{
  GememSlab slab;
  GememRng rng;

  gemem_slab_init (&slab, sizeof (GeWideHolders));
  gemem_rng_init (&rng, 1, "holders");
  for (guint round = 0; round < 300; round++)
    {
      const guint streams = round % 3 == 0 ? STREAMS : round % 3 == 1 ? 8 : 3;
      Plain p = { 0 };
      GeHolders h = { 0 };

      for (guint step = 0; step < 60; step++)
        {
          const guint64 what = gemem_rng_below (&rng, 5);
          const guint s = (guint) gemem_rng_below (&rng, streams),
                      t = (guint) gemem_rng_below (&rng, streams);
          const guint64 before = p.count[s];

          plain_step (&p, what, s, t);
          if (what == 0)
            gemem_ge_holders_access (&h, s, &slab);
          else if (what == 1)
            equal (gemem_ge_holders_release (&h, s), before == 1);
          else if (what == 2)
            gemem_ge_holders_tell (&h, s, t, &slab);
          else if (what == 3)
            gemem_ge_holders_tell_all (&h, t, &slab);
          else if (before > 0)
            gemem_ge_holders_release_all (&h, s);
          compare_plain (&p, &h);
        }
      gemem_ge_holders_reset (&h, &slab);
      equal (h.total, 0);
    }
  gemem_slab_clear (&slab);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge/streams/2.6/free-event-free", test_free_event_free);
  g_test_add_func ("/ge/streams/2.6/free-free-event", test_free_free_event);
  g_test_add_func ("/ge/streams/2.6/other-first", test_other_first);
  g_test_add_func ("/ge/streams/2.6/other-first-event-last", test_other_first_event_last);
  g_test_add_func ("/ge/streams/2.6/still-held", test_still_held);
  g_test_add_func ("/ge/streams/2.6/never-shared", test_never_shared);
  g_test_add_func ("/ge/streams/2.6/many-holders", test_many_holders);
  g_test_add_func ("/ge/streams/counts", test_counts);
  g_test_add_func ("/ge/streams/deferred", test_deferred);
  g_test_add_func ("/ge/streams/completion", test_completion);
  g_test_add_func ("/ge/streams/version-mismatch", test_version_mismatch);
  g_test_add_func ("/ge/streams/sent-once", test_sent_once);
  g_test_add_func ("/ge/streams/undirected", test_undirected);
  g_test_add_func ("/ge/streams/undirected-borrowed", test_undirected_borrowed);
  g_test_add_func ("/ge/streams/recorded-again", test_recorded_again);
  g_test_add_func ("/ge/streams/last-wait-events", test_last_wait_events);
  g_test_add_func ("/ge/streams/borrow-choice", test_borrow_choice);
  g_test_add_func ("/ge/streams/e24-all-pools-recycled", test_e24_all_pools_recycled);
  g_test_add_func ("/ge/streams/threads", test_threads);
  g_test_add_func ("/ge/streams/failed-sync", test_failed_sync);
  g_test_add_func ("/ge/streams/single", test_single);
  g_test_add_func ("/ge/streams/64-streams", test_64_streams);
  g_test_add_func ("/ge/streams/idle-for-new-stream", test_idle_for_new_stream);
  g_test_add_func ("/ge/streams/65th-stream", test_65th_stream);
  g_test_add_func ("/ge/streams/holders", test_holders);
  return g_test_run ();
}
