/* test-ge-report.c - the statistics block of GE's pools, byte by byte (ge-runtime.md 10), also
 * in a locale with a decimal comma. */
#include "config.h"

#include <locale.h>
#include <string.h>

#include "allocators/ge/stack.h"
#include "tests/util/rig.h"

#define P G_GUINT64_CONSTANT (65536)
#define M (16 * P)

static void
get (Rig *rig, guint i, guint64 size)
{
  g_assert_true (rig_serve (rig, i, &(GememRequest){ .size = size, .stream = rig->stream }));
}

/* Checks that the report is @expected, and destroys the rig. */
static void
assert_report (Rig *rig, const char *expected)
{
  g_autoptr (GString) text = g_string_new (NULL);

  rig->allocator->klass->report.text (rig->allocator, text);
  g_assert_cmpstr (text->str, ==, expected);
  test_allocator_destroy (rig->allocator);
}

static void
test_empty (void)
{
  Rig rig = { .allocator = test_allocator_new ("ge-scalable:stack=rts", "sim:capacity=1GiB") };

  assert_report (&rig, "[rts_allocator_0] device_id:0\n"
                       "Device memory   : [alloc count:0 free count:0 total size:0 new_va_size:0 "
                       "real_theory_min:0 theory_min:0 reach theory rate:0.00%]\n"
                       "Allocator memory: [alloc count:0 free count:0 recycle count:0]\n"
                       "Using: [span count:0 page count:0 total size:0]\n"
                       "Freed span layers: [level:15565, count:0]\n"
                       "Freed: [span count:0 page count:0 total size:0]\n");
}

/* Spans by size, layers by length; sizes have a short form only above a unit, never at it. */
static void
check_two_pools (void)
{
  Rig rig = { .allocator = test_allocator_new (
                  "ge-scalable:uncacheable_size_threshold=4MiB,span_count_in_layer_threshold=77",
                  "sim:capacity=1GiB") };

  get (&rig, 0, 1000);
  get (&rig, 1, 3 * P - 7);
  get (&rig, 2, 3 * P);
  get (&rig, 3, 2 * M);
  get (&rig, 4, 5 * M);
  put (&rig, 2);
  put (&rig, 4);
  assert_report (&rig, "[rts_allocator_0] device_id:0\n"
                       "Device memory   : [alloc count:3 free count:0 total size:9437184(9.00M) "
                       "new_va_size:0 real_theory_min:7798784(7.44M) "
                       "theory_min:7798784(7.44M) reach theory rate:82.64%]\n"
                       "Allocator memory: [alloc count:5 free count:0 recycle count:0]\n"
                       "Using: [span count:5 page count:119 total size:7798784]\n"
                       "    |-span: [size:65536       count:1    ]\n"
                       "    |-span: [size:196608      count:2    ]\n"
                       "    |-span: [size:2097152     count:1    ]\n"
                       "    |-span: [size:5242880     count:1    ]\n"
                       "Freed span layers: [level:15565, count:1]\n"
                       "Freed: [span count:1 page count:25 total size:1638400]\n"
                       "    |-layer: [id:25    capacity:77    size:1638400     count:1    ]\n"
                       "[allocator_1] device_id:0 stream:0\n"
                       "Device memory   : [alloc count:5 free count:0 total size:7798784(7.44M) "
                       "new_va_size:0 real_theory_min:7734241(7.38M) "
                       "theory_min:7798784(7.44M) reach theory rate:99.17%]\n"
                       "Allocator memory: [alloc count:5 free count:2 recycle count:0]\n"
                       "Using: [span count:3 page count:36 total size:2359296]\n"
                       "    |-span: [size:65536       count:1    ]\n"
                       "    |-span: [size:196608      count:1    ]\n"
                       "    |-span: [size:2097152     count:1    ]\n"
                       "Freed span layers: [level:15565, count:2]\n"
                       "Freed: [span count:2 page count:83 total size:5439488]\n"
                       "    |-layer: [id:3     capacity:77    size:196608      count:1    ]\n"
                       "    |-layer: [id:80    capacity:0     size:5242880     count:1    ]\n");
}

static void
test_two_pools (void)
{
  check_two_pools ();
}

static void
test_decimal_comma (void)
{
  if (!test_use_comma_locale ())
    return;
  check_two_pools ();
  setlocale (LC_ALL, "C");
}

static void
test_short_sizes (void)
{
  static const struct
  {
    guint64 obtained;
    const char *text;
  } rows[] = {
    { 1023, " total size:1023 " },
    { 1024, " total size:1024 " },
    { 1025, " total size:1025(1.00K) " },
    { 1048576, " total size:1048576(1024.00K) " },
    { 1048577, " total size:1048577(1.00M) " },
    { 2097152, " total size:2097152(2.00M) " },
    { G_GUINT64_CONSTANT (1) << 30, " total size:1073741824(1024.00M) " },
    { G_GUINT64_CONSTANT (5) << 30, " total size:5368709120(5.00G) " },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      Rig rig = { .allocator = test_allocator_new ("ge-scalable:stack=rts", "sim:capacity=1GiB") };
      GeSpanPool pool = ((GeStack *) rig.allocator)->bottom;

      pool.obtained = rows[i].obtained;
      gemem_ge_pool_report (&pool, text);
      g_assert_nonnull (strstr (text->str, rows[i].text));
      test_allocator_destroy (rig.allocator);
    }
}

/* The Seq table lists every layer that ever held a span. */
static void
test_seq_table (void)
{
  Rig rig = { .allocator = test_allocator_new (
                  "ge-scalable:stack=single,enable_quick_layer_mode=no", "sim:capacity=64GiB") };

  get (&rig, 0, 3 * P);
  put (&rig, 0);
  get (&rig, 0, 3 * P);
  rig.allocator->klass->trim (rig.allocator);
  assert_report (&rig, "[allocator_0] device_id:0 stream:0\n"
                       "Device memory   : [alloc count:1 free count:0 total size:196608(192.00K) "
                       "new_va_size:0 real_theory_min:196608(192.00K) "
                       "theory_min:196608(192.00K) reach theory rate:100.00%]\n"
                       "Allocator memory: [alloc count:2 free count:1 recycle count:1]\n"
                       "Using: [span count:1 page count:3 total size:196608]\n"
                       "    |-span: [size:196608      count:1    ]\n"
                       "Freed span layers: [level:996148, count:1]\n"
                       "Freed: [span count:0 page count:0 total size:0]\n"
                       "    |-layer: [id:3     capacity:10240 size:196608      count:0    ]\n");
}

/* Pools are numbered in the order of their creation. */
static void
test_numbers (void)
{
  static const char *const heads[] = { "[rts_allocator_0] device_id:0\n",
                                       "\n[allocator_1] device_id:0 stream:7\n",
                                       "\n[allocator_2] device_id:0 stream:3\n" };
  Rig rig = { .allocator = test_allocator_new ("ge-scalable", "sim:capacity=64MiB"), .stream = 7 };
  g_autoptr (GString) text = g_string_new (NULL);
  const char *p;

  get (&rig, 0, P);
  rig.stream = 3;
  get (&rig, 1, P);
  rig.allocator->klass->report.text (rig.allocator, text);
  p = text->str;
  for (guint i = 0; i < G_N_ELEMENTS (heads); i++)
    g_assert_nonnull (p = strstr (p, heads[i]));
  rig_done (&rig);
}

/* E16: a block at new addresses, and its old addresses, which stay occupied; then both idle. */
static void
check_new_va (gboolean idle, const char *const *lines)
{
  Rig rig = { .allocator = test_allocator_new ("ge-expandable", "sim:capacity=64GiB") };
  g_autoptr (GString) text = g_string_new (NULL);

  get (&rig, 0, 12 * M);
  get (&rig, 1, 10 * M);
  put (&rig, 0);
  get (&rig, 2, 24 * M);
  if (idle)
    put (&rig, 2);
  rig.allocator->klass->report.text (rig.allocator, text);
  for (; *lines != NULL; lines++)
    if (strstr (text->str, *lines) == NULL)
      g_error ("'%s' is not in\n%s", *lines, text->str);
  test_allocator_destroy (rig.allocator);
}

static void
test_new_va (void)
{
  static const char *const live[] = { " new_va_size:25165824(24.00M) ",
                                      "    |-new_va_span: [size:25165824    count:1    ]\n", NULL };
  static const char *const idle[] = {
    "    |-new_va_layer: [id:384   capacity:10240 size:25165824    count:1    ]\n", NULL
  };

  check_new_va (FALSE, live);
  check_new_va (TRUE, idle);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-report/empty", test_empty);
  g_test_add_func ("/ge-report/two-pools", test_two_pools);
  g_test_add_func ("/ge-report/decimal-comma", test_decimal_comma);
  g_test_add_func ("/ge-report/short-sizes", test_short_sizes);
  g_test_add_func ("/ge-report/seq-table", test_seq_table);
  g_test_add_func ("/ge-report/numbers", test_numbers);
  g_test_add_func ("/ge-report/new-va", test_new_va);
  return g_test_run ();
}
