/* test-device-time.c - the clock of the simulated device: exact costs of every call, waiting,
 * streams and events, and the observer. */
#include "config.h"

#include <string.h>

#include "devices/device.h"
#include "tests/util/sizes.h"
#include "tests/util/testutil.h"

/* Distinct prices, so that every call can be told from the others. */
static const char profile[] =
    "[device]\nname=test\ncapacity=64MiB\ngranularity=1MiB\nsource=guess: test\n"
    "[allocator]\nhit_ns=11\nsource=guess: test\n"
    "[malloc]\nbase_ns=1000\nper_mib_ns=10\nsource=guess: test\n"
    "[free]\nbase_ns=2000\nsynchronises=yes\nsource=guess: test\n"
    "[reserve]\nbase_ns=300\nsource=guess: test\n"
    "[release]\nbase_ns=400\nsource=guess: test\n"
    "[create]\nbase_ns=500\nper_page_ns=7\nsource=guess: test\n"
    "[destroy]\nbase_ns=600\nper_page_ns=3\nsource=guess: test\n"
    "[map]\nbase_ns=600\nset_access_ns=100\nper_page_ns=5\nsource=guess: test\n"
    "[unmap]\nbase_ns=800\nper_page_ns=2\nsynchronises=yes\nsource=guess: test\n"
    "[memset]\nbase_ns=90\nper_mib_ns=100\nsource=guess: test\n"
    "[event_record]\nbase_ns=21\nsource=guess: test\n"
    "[event_query]\nbase_ns=22\nsource=guess: test\n"
    "[event_sync]\nbase_ns=23\nsource=guess: test\n"
    "[stream_sync]\nbase_ns=24\nsource=guess: test\n"
    "[device_sync]\nbase_ns=25\nsource=guess: test\n"
    "[info]\nbase_ns=26\nsource=guess: test\n";

static GememDevice *
device_new (const char *settings)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "test.ini", NULL);
  g_autofree char *spec = g_strdup_printf ("sim:profile=%s%s", path, settings);
  g_autoptr (GError) error = NULL;
  GememDevice *device;

  g_file_set_contents (path, profile, -1, &error);
  g_assert_no_error (error);
  device = gemem_device_new (spec, NULL, 0, &error);
  g_assert_no_error (error);
  return device;
}

/* Checks that @call was made once more, cost @ns, and that all counters agree. */
static void
assert_cost (GememDevice *device, GememDeviceCall call, guint64 ns)
{
  static guint64 before;
  g_assert_cmpuint (device->call_ns[call], ==, ns);
  if (device->now < before)
    before = 0; /* another device */
  g_assert_cmpuint (device->now - before, ==, ns);
  g_assert_cmpuint (device->call_time, ==, device->now);
  before = device->now;
}

static void
test_costs (void)
{
  GememDevice *device = device_new ("");
  GememDeviceInfo info;
  guint64 block, va;
  GememPage page;

  g_assert_cmpuint (gemem_device_capacity (device), ==, 64 * MIB);
  g_assert_cmpuint (device->hit_ns, ==, 11);
  block = gemem_device_malloc (device, 5 * MIB / 2, 0);
  assert_cost (device, GEMEM_CALL_MALLOC, 1025); /* 1000 + 2.5 * 10 */
  va = gemem_device_reserve (device, 32 * MIB, 0);
  assert_cost (device, GEMEM_CALL_RESERVE, 300);
  page = gemem_device_create_page (device, 4 * MIB);
  assert_cost (device, GEMEM_CALL_CREATE, 528);
  g_assert_true (gemem_device_map (device, va, page, 0, 4 * MIB));
  assert_cost (device, GEMEM_CALL_MAP, 720);
  gemem_device_info (device, &info);
  assert_cost (device, GEMEM_CALL_INFO, 26);
  g_assert_cmpuint (info.granularity, ==, MIB);
  gemem_device_unmap (device, va, 4 * MIB);
  assert_cost (device, GEMEM_CALL_UNMAP, 808);
  gemem_device_destroy_page (device, page, 4 * MIB);
  assert_cost (device, GEMEM_CALL_DESTROY, 612);
  gemem_device_release (device, va, 32 * MIB);
  assert_cost (device, GEMEM_CALL_RELEASE, 400);
  gemem_device_free (device, block, 5 * MIB / 2);
  assert_cost (device, GEMEM_CALL_FREE, 2000);
  gemem_device_event_query (device, 0);
  assert_cost (device, GEMEM_CALL_EVENT_QUERY, 22);
  gemem_device_event_sync (device, 0);
  assert_cost (device, GEMEM_CALL_EVENT_SYNC, 23);
  gemem_device_stream_sync (device, 5);
  assert_cost (device, GEMEM_CALL_STREAM_SYNC, 24);
  gemem_device_sync (device);
  assert_cost (device, GEMEM_CALL_DEVICE_SYNC, 25);
  g_assert_cmpuint (device->now, ==,
                    1025 + 300 + 528 + 720 + 26 + 808 + 612 + 400 + 2000 + 22 + 23 + 24 + 25);
  gemem_device_destroy (device);
}

/* A refused call counts as a call. */
static void
test_refused (void)
{
  GememDevice *device = device_new ("");
  g_assert_cmphex (gemem_device_malloc (device, 65 * MIB, 0), ==, 0);
  g_assert_cmpuint (device->now, ==, 1650);
  g_assert_cmpuint (device->call_ns[GEMEM_CALL_MALLOC], ==, 1650);
  g_assert_cmpuint (device->refused[GEMEM_CALL_MALLOC], ==, 1);
  gemem_device_destroy (device);
}

static void
test_granularity_prices_pages (void)
{
  GememDevice *device = device_new (",granularity=4MiB");
  gemem_device_create_page (device, 8 * MIB);
  g_assert_cmpuint (device->now, ==, 514);
  gemem_device_destroy (device);
}

/* A memset costs the host its base; the remainder occupies the stream, one memset after the
 * other. */
static void
test_streams (void)
{
  GememDevice *device = device_new ("");
  guint64 block = gemem_device_malloc (device, 8 * MIB, 0); /* until 1080 */

  g_assert_true (gemem_device_memset (device, block, 0, 8 * MIB, 3)); /* stream 3 busy until 1880 */
  g_assert_cmpuint (device->now, ==, 1170);
  gemem_device_memset (device, block, 0, 8 * MIB, 3); /* until 2680 */
  gemem_device_memset (device, block, 0, MIB, 4);     /* 1260 + 100 */
  g_assert_cmpuint (device->now, ==, 1350);
  gemem_device_stream_sync (device, 5); /* idle */
  g_assert_cmpuint (device->now, ==, 1374);
  gemem_device_stream_sync (device, 4); /* done since 1360 */
  g_assert_cmpuint (device->now, ==, 1398);
  gemem_device_stream_sync (device, 3);
  g_assert_cmpuint (device->now, ==, 2680 + 24);
  g_assert_cmpuint (device->call_ns[GEMEM_CALL_STREAM_SYNC], ==, 24 + 24 + (2680 - 1398) + 24);

  gemem_device_memset (device, block, 0, 8 * MIB, 3); /* 2704 + 800 */
  gemem_device_free (device, block, 8 * MIB);         /* waits for every stream */
  g_assert_cmpuint (device->now, ==, 3504 + 2000);
  g_assert_cmpuint (device->call_ns[GEMEM_CALL_FREE], ==, 5504 - 2794);
  gemem_device_memset (device, block, 0, 2 * MIB, 9); /* 5504 + 200 */
  gemem_device_sync (device);
  g_assert_cmpuint (device->now, ==, 5704 + 25);
  gemem_device_destroy (device);
}

static void
test_events (void)
{
  GememDevice *device = device_new (",event_latency=1us");
  GememDeviceEvent a, b, c;

  a = gemem_device_event_record (device, 1); /* complete at 1000 */
  g_assert_cmpuint (device->now, ==, 21);
  b = gemem_device_event_record (device, 1); /* at 1021 */
  g_assert_false (gemem_device_event_query (device, a));
  device->now = 999;
  g_assert_false (gemem_device_event_query (device, a));
  device->now = 1000;
  g_assert_true (gemem_device_event_query (device, a));
  g_assert_cmpuint (device->now, ==, 1022); /* a query takes time */
  g_assert_true (gemem_device_event_query (device, b));
  g_assert_true (gemem_device_event_query (device, 0));

  /* In stream order: behind 20 MiB of memset; a wait for the stream includes the event. */
  device->now = 2000;
  gemem_device_memset (device, 1, 0, 20 * MIB, 1);
  c = gemem_device_event_record (device, 1);
  gemem_device_event_sync (device, c);
  g_assert_cmpuint (device->now, ==, 4000 + 23);
  g_assert_true (gemem_device_event_query (device, c));
  device->now = 10000;
  gemem_device_event_record (device, 2);
  gemem_device_stream_sync (device, 2);
  g_assert_cmpuint (device->now, ==, 11000 + 24);
  gemem_device_destroy (device);
}

/* Without latency, an event on an idle stream is complete at once, and counts as an event. */
static void
test_event_at_once (void)
{
  GememDevice *device = device_new ("");
  GememDeviceEvent event = gemem_device_event_record (device, 0);
  g_assert_cmpuint (event, !=, 0);
  g_assert_true (gemem_device_event_query (device, event));
  gemem_device_destroy (device);
}

static void
observe (gpointer data, const GememDeviceNote *note)
{
  g_string_append_printf (
      data, "%s %" G_GINT64_MODIFIER "x %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %d\n",
      gemem_device_call_name (note->call), note->address, note->size, note->stream, note->ok);
  if (note->call == GEMEM_CALL_EVENT_RECORD || note->call == GEMEM_CALL_EVENT_QUERY
      || note->call == GEMEM_CALL_EVENT_SYNC)
    g_assert_cmpuint (note->event, !=, 0);
}

static void
test_observer (void)
{
  GememDevice *device = device_new ("");
  GString *log = g_string_new (NULL);
  GString *late = g_string_new (NULL);
  GememDeviceObserver observer = { .func = observe, .data = log },
                      second = { .func = observe, .data = late };
  GememDeviceInfo info;
  GememDeviceEvent event;
  GememPage page;

  gemem_device_add_observer (device, &observer);
  gemem_device_add_observer (device, &second);
  gemem_device_malloc (device, 5, 0);
  gemem_device_malloc (device, 65 * MIB, 9);
  gemem_device_free (device, 0x100000000000, 5);
  gemem_device_reserve (device, 7, 0);
  gemem_device_release (device, 0x200000000000, 7);
  page = gemem_device_create_page (device, MIB);
  gemem_device_reserve (device, MIB, 0);
  gemem_device_map (device, 0x200040000000, page, 0, MIB);
  gemem_device_unmap (device, 0x200040000000, MIB);
  gemem_device_destroy_page (device, page, MIB);
  gemem_device_memset (device, 1, 0, 3, 6);
  gemem_device_remove_observer (device, &observer);
  gemem_device_remove_observer (device, &observer); /* a second time: nothing */
  g_assert_cmpstr (log->str, ==, late->str);
  gemem_device_remove_observer (device, &second);
  gemem_device_add_observer (device, &observer);
  g_string_set_size (late, 0);
  event = gemem_device_event_record (device, 7);
  gemem_device_event_query (device, event);
  gemem_device_event_sync (device, event);
  gemem_device_stream_sync (device, 6);
  gemem_device_sync (device);
  gemem_device_info (device, &info);
  gemem_device_adopt (device, 0x5000, 4); /* no call */
  gemem_device_expect (device, 0x5000, 4);
  g_assert_cmpstr (log->str, ==,
                   "malloc 100000000000 5 0 1\n"
                   "malloc 0 68157440 9 0\n"
                   "free 100000000000 5 0 1\n"
                   "reserve 200000000000 7 0 1\n"
                   "release 200000000000 7 0 1\n"
                   "create 1 1048576 0 1\n"
                   "reserve 200040000000 1048576 0 1\n"
                   "map 200040000000 1048576 0 1\n"
                   "unmap 200040000000 1048576 0 1\n"
                   "destroy 1 1048576 0 1\n"
                   "memset 1 3 6 1\n"
                   "event_record 0 0 7 1\n"
                   "event_query 0 0 0 1\n"
                   "event_sync 0 0 0 1\n"
                   "stream_sync 0 0 6 1\n"
                   "device_sync 0 0 0 1\n"
                   "info 0 0 0 1\n");
  g_assert_cmpstr (late->str, ==, "");
  g_string_free (log, TRUE);
  g_string_free (late, TRUE);
  gemem_device_destroy (device);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/device-time/costs", test_costs);
  g_test_add_func ("/device-time/refused", test_refused);
  g_test_add_func ("/device-time/granularity-prices-pages", test_granularity_prices_pages);
  g_test_add_func ("/device-time/streams", test_streams);
  g_test_add_func ("/device-time/events", test_events);
  g_test_add_func ("/device-time/event-at-once", test_event_at_once);
  g_test_add_func ("/device-time/observer", test_observer);
  return g_test_run ();
}
