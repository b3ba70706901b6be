/* test-pytorch-causes.c - why segments of a snapshot were released: the program emptied the cache, the device refused a
 * request, the allocator collected, a pool ended. */
#include "config.h"

#include <string.h>

#include "tests/util/snapshot-text.h"
#include "tests/util/snapshot-writer.h"
#include "traces/trace.h"

/* clang-format off: texts in pieces, a line each */

/* As expect(), but without the notes on devices: on blocks live at the end, and on unnamed
 * pools. */
static void
expect_released (const char *text, const char *expected)
{
  for (guint style = 0; style < 2; style++)
    {
      g_autoptr (GBytes)
          bytes = snapshot_pickle (text, style == 0 ? SNAPSHOT_PYTHON : SNAPSHOT_CXX);
      g_autofree char *all = test_snapshot_text (bytes, -1, FALSE);
      g_autoptr (GString) got = g_string_new (all);
      char *note;
      while ((note = strstr (got->str, "note: device 0: ")) != NULL
             || (note = strstr (got->str, "device: what the program had")) != NULL)
        g_string_erase (got, note - got->str, strchr (note, '\n') + 1 - note);
      g_assert_cmpstr (got->str, ==, expected);
    }
}

#define SEGMENT(n, stack) \
  "e segment_alloc 0x" n "0000000 20971520 0 1 " stack "\ne alloc 0x" n \
  "0000000 20000000 0 1 " stack "\n"
#define SEGMENT_READ(n, id) \
  "segment-alloc " n "0000000:20971520\nalloc #" id " " n "0000000:20000000\n"
#define FREE(n, stack) \
  "e free_requested 0x" n "0000000 20000000 0 1 " stack "\ne free_completed 0x" n \
  "0000000 20000000 0 1 " stack "\n"
#define FREE_READ(n, id) \
  "free-requested #" id " " n "0000000:20000000\nfree-completed #" id " " n "0000000:20000000\n"
#define BACK(n, stack) "e segment_free 0x" n "0000000 20971520 0 1 " stack "\n"
#define BACK_READ(n) "segment-free " n "0000000:20971520\n"

static void
test_emptied (void)
{
  static const char told[] = "releases: device 0: the program emptied the cache (trim): 1\n";
  g_autofree char *read = g_strconcat (
      SEGMENT_READ ("1", "1") FREE_READ ("1", "1") "trim\n" BACK_READ ("1") SEGMENT_READ ("2", "2"),
      told, NULL);

  /* By name; by another line; without a stack where requests have stacks; and without any. */
  expect_released ("t\n" SEGMENT ("1", "a/m") FREE ("1", "d/m") BACK ("1", "empty_cache/m")
                       SEGMENT ("2", "a/m"),
                   read);
  expect_released ("t\n" SEGMENT ("1", "a/m") FREE ("1", "d/m") BACK ("1", "at::emptyCache()/a/m")
                       SEGMENT ("2", "a/m"),
                   read);
  expect_released (
      "t\n" SEGMENT ("1", "a/m") FREE ("1", "d/m") BACK ("1", "b/m") SEGMENT ("2", "a/m"), read);
  expect_released (
      "t\n" SEGMENT ("1", "a/m") FREE ("1", "a/m") BACK ("1", "-") SEGMENT ("2", "a/m"), read);
  /* Only requests have stacks, and a segment has that of its last request: this is believed only
   * where the device could not have served both. */
  expect_released ("t\n" SEGMENT ("1", "a/m") SEGMENT ("3", "a/m") FREE ("1", "a/m")
                       FREE ("3", "a/m") BACK ("1", "a/m") SEGMENT ("2", "a/m"),
                   SEGMENT_READ ("1", "1") SEGMENT_READ ("3", "2") FREE_READ ("1", "1")
                       FREE_READ ("3", "2") "device-limit:41943040\n" BACK_READ ("1")
                           SEGMENT_READ ("2", "3") "device-limit\n"
                                                   "releases: device 0: the allocator gave back "
                                                   "memory as the device refused a request: 1\n");
  expect_released (
      "t\n" SEGMENT ("1", "a/m") SEGMENT ("3", "a/m") FREE ("1", "a/m") FREE ("3", "a/m")
          BACK ("1", "a/m") BACK ("3", "a/m") SEGMENT ("2", "a/m") SEGMENT ("4", "a/m")
              SEGMENT ("5", "a/m"),
      SEGMENT_READ ("1", "1") SEGMENT_READ ("3", "2") FREE_READ ("1", "1")
          FREE_READ ("3", "2") "trim\n" BACK_READ ("1") BACK_READ ("3") SEGMENT_READ ("2", "3")
              SEGMENT_READ ("4", "4") SEGMENT_READ (
                  "5", "5") "releases: device 0: the program emptied the cache (trim): 1\n");
  /* ... and not where it is known that nothing was refused. */
  g_autoptr (GBytes)
      known = snapshot_pickle ("t\n" SEGMENT ("1", "a/m") SEGMENT ("3", "a/m") FREE ("1", "a/m")
                                   FREE ("3", "a/m") BACK ("1", "a/m") SEGMENT ("2", "a/m"),
                               SNAPSHOT_PYTHON);
  const GememReadOptions never_refused = { .device = -1, .never_refused = TRUE };
  g_autofree char *trimmed = test_snapshot_text_with (known, &never_refused);
  g_assert_nonnull (strstr (trimmed, "trim\n" BACK_READ ("1")));
  g_assert_null (strstr (trimmed, "device-limit"));
  /* A release outside of empty_cache may be the end of a pool, which only newer files name. */
  g_autoptr (GBytes) nameless = snapshot_pickle (
      "t\n" SEGMENT ("1", "a/m") FREE ("1", "d/m") BACK ("1", "b/m"), SNAPSHOT_PYTHON);
  g_autofree char *with_note = test_snapshot_text (nameless, -1, FALSE);
  g_assert_nonnull (strstr (with_note, "note: device 0: releases of the program that name no "
                                       "empty_cache: 1; if private pools ended there"));
  /* At the end of the file. */
  expect_released ("t\n" SEGMENT ("1", "a/m") FREE ("1", "d/m") BACK ("1", "a/m"),
                   SEGMENT_READ ("1", "1") FREE_READ ("1", "1") "trim\n" BACK_READ (
                       "1") "releases: device 0: the program emptied the cache (trim): 1\n");
  expect_released (
      "t\n" SEGMENT ("1", "-") FREE ("1", "-") BACK ("1", "-") SEGMENT ("2", "-"),
      SEGMENT_READ ("1", "1") FREE_READ ("1", "1") "trim\n" BACK_READ ("1")
          SEGMENT_READ ("2", "2") "releases: device 0: the program emptied the cache (trim): 1, of "
                                  "these guessed for want of call stacks: 1\n");
}

static void
test_refused (void)
{
  static const char one[] =
      "releases: device 0: the allocator gave back memory as the device refused a request: 1\n";
  g_autofree char *served = g_strconcat (
      SEGMENT_READ ("1", "1") FREE_READ ("1", "1") "device-limit:20971520\n" BACK_READ ("1")
          SEGMENT_READ ("2", "2") "device-limit\n",
      one, NULL);
  expect_released (
      "t\n" SEGMENT ("1", "a/m") FREE ("1", "d/m") BACK ("1", "b/m") SEGMENT ("2", "b/m"), served);
  /* All events of the run have the request's stack, and the request obtains a segment: else the
   * program released. */
  expect_released (
      "t\n" SEGMENT ("1", "a/m") SEGMENT ("3", "a/m") FREE ("1", "d/m") FREE ("3", "d/m")
          BACK ("1", "b/m") BACK ("3", "-") SEGMENT ("2", "b/m"),
      SEGMENT_READ ("1", "1") SEGMENT_READ ("3", "2") FREE_READ ("1", "1")
          FREE_READ ("3", "2") "trim\n" BACK_READ ("1") BACK_READ ("3") SEGMENT_READ (
              "2", "3") "releases: device 0: the program emptied the cache (trim): 1\n");
  expect_released ("t\n" SEGMENT ("1", "a/m") SEGMENT ("3", "a/m") FREE ("3", "d/m")
                       BACK ("3", "b/m") "e free_requested 0x10000000 20000000 0 1 b/m\n",
                   SEGMENT_READ ("1", "1") SEGMENT_READ ("3", "2")
                       FREE_READ ("3", "2") "trim\n" BACK_READ (
                           "3") "free-requested #1 10000000:20000000\nreleases: device 0: the "
                                "program emptied the cache (trim): 1\n"
                                "");
  /* A block that the request waited for completes within the run; one that completes with its
   * free does not count. */
  expect_released (
      "t\n" SEGMENT ("1", "a/m")
          SEGMENT ("3", "a/m") "e free_requested 0x10000000 20000000 0 1 d/m\n" FREE (
              "3", "d/m") "e free_completed 0x10000000 20000000 0 1 b/m\n" BACK ("1", "b/m")
              BACK ("3", "b/m") SEGMENT ("2", "b/m"),
      SEGMENT_READ ("1", "1")
          SEGMENT_READ ("3", "2") "free-requested #1 10000000:20000000\n" FREE_READ (
              "3",
              "2") "device-limit:20971520\nfree-completed #1 10000000:20000000\n" BACK_READ ("1")
              BACK_READ ("3")
                  SEGMENT_READ ("2", "3") "device-limit\n"
                                          "releases: device 0: the allocator gave back memory as "
                                          "the device refused a request: 1\n");
}

/* Without call stacks: garbage was collected where an unused segment is left, which an emptied cache has not;
 * only then in the other runs, and only if one limit explains all. */
static void
test_collected (void)
{
#define BEGIN \
  "t\n" SEGMENT ("1", "-") SEGMENT ("3", "-") SEGMENT ("5", "-") FREE ("1", "-") FREE ("3", "-")
#define ONE BEGIN BACK ("1", "-") SEGMENT ("2", "-")
#define MORE SEGMENT ("7", "-") /* so that the device did not refuse what came before */
#define MUCH MORE SEGMENT ("8", "-") SEGMENT ("9", "-")
#define SETTING "c garbage_collection_threshold 0.5\n"
  static const char *const cases[][2] = {
    { SETTING ONE MORE, "device-limit:62914560\n" BACK_READ ("1") SEGMENT_READ ("2", "4") },
    { SETTING ONE MORE, "memory_limit=83886080" },
    { SETTING ONE FREE ("2", "-") BACK ("2", "-") BACK ("3", "-") SEGMENT ("4", "-") MUCH,
      "garbage_collection_threshold says: 2\n" },
    { "c garbage_collection_threshold 0.0\n" ONE MORE, "trim\n" BACK_READ ("1") },
    { SETTING BEGIN BACK ("1", "-") BACK ("3", "-") SEGMENT ("2", "-") MUCH,
      "trim\n" BACK_READ ("1") },
    /* what was held before the last run is less than half of what was held later */
    { SETTING ONE FREE ("2", "-") BACK ("2", "-") "e alloc 0x51400000 8 0 1 -\n" BACK ("3", "-")
          SEGMENT ("4", "-") MUCH,
      "guessed for want of call stacks: 2; the allocator gave back memory as the device refused a "
      "request, or as garbage_collection_threshold says: 1\n" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GBytes) bytes = snapshot_pickle (cases[i][0], SNAPSHOT_PYTHON);
      g_autofree char *read = test_snapshot_text (bytes, -1, FALSE);

      if (strstr (read, cases[i][1]) == NULL)
        g_error ("case %u: not found: %s in:\n%s", i, cases[i][1], read);
    }
#undef BEGIN
#undef ONE
#undef MORE
#undef MUCH
#undef SETTING
}

/* A request that maps a part of what it needs before the device refuses the rest: the device had that
 * part too. */
static void
test_refused_after_a_part (void)
{
#define MAP(n, size, stack) "e segment_map 0x" n "0000000 " size " 0 1 " stack "\n"
#define UNMAP(n, size, stack) "e segment_unmap 0x" n "0000000 " size " 0 1 " stack "\n"
  for (guint waits = 0; waits <= 1; waits++)
    {
      static const char back[] = "e free_completed 0x10000000 40000000 0 1 b/m\n",
                        back_read[] = "free-completed #1 10000000:40000000\n";
      g_autofree char *given = g_strconcat (
          "t\n" MAP ("1", "41943040", "a/m") "e alloc 0x10000000 40000000 0 1 a/m\n"
                                             "e free_requested 0x10000000 40000000 0 1 d/m\n",
          waits ? "" : "e free_completed 0x10000000 40000000 0 1 d/m\n",
          MAP ("3", "20971520", "b/m"), waits ? back : "",
          UNMAP ("1", "41943040", "b/m")
              MAP ("4", "20971520", "b/m") "e alloc 0x40000000 20000000 0 1 b/m\n",
          NULL);
      g_autofree char *read = g_strconcat (
          "segment-map 10000000:41943040\nalloc #1 10000000:40000000\n"
          "free-requested #1 10000000:40000000\n",
          waits ? "" : back_read, "segment-map 30000000:20971520\ndevice-limit:62914560\n",
          waits ? back_read : "",
          "segment-unmap 10000000:41943040\nsegment-map 40000000:20971520\n"
          "alloc #2 40000000:20000000\ndevice-limit\n"
          "releases: device 0: the allocator gave back memory as the device refused a request: 1\n",
          NULL);

      expect_released (given, read);
    }
#undef MAP
#undef UNMAP
}

static void
test_failed (void)
{
  /* Nothing to release; something, but not enough; the first event of the file. */
  expect_released (
      "t\n" SEGMENT ("1", "a/m") "e oom 7 83886080 3 1 a/m\n",
      SEGMENT_READ ("1", "1") "device-limit:20971520\noom:83886080/7 s3\ndevice-limit\n"
                              "releases: device 0: requests that ran out of memory: 1\n"
                              "");
  expect_released ("t\n" SEGMENT ("1", "a/m") FREE ("1", "d/m")
                       BACK ("1", "b/m") "e oom 7 83886080 0 1 b/m\n",
                   SEGMENT_READ ("1", "1") FREE_READ ("1", "1") "device-limit:1\n" BACK_READ (
                       "1") "oom:83886080/7\ndevice-limit\n"
                            "releases: device 0: the allocator gave back memory as the device "
                            "refused a request: 1; requests that ran out of memory: 1\n");
  expect_released ("t\ne oom 7 83886080 0 1 b/m\n",
                   "device-limit:1\noom:83886080/7\ndevice-limit\n"
                   "releases: device 0: requests that ran out of memory: 1\n");
  /* Without a size the event is no request. */
  expect_released ("t\n" SEGMENT ("1", "a/m") FREE ("1", "d/m")
                       BACK ("1", "b/m") "e oom 7 0 0 1 b/m\n",
                   SEGMENT_READ ("1", "1") FREE_READ ("1", "1") "trim\n" BACK_READ (
                       "1") "oom/7\n"
                            "releases: device 0: the program emptied the cache (trim): 1\n");
}

static void
test_pools_let_go (void)
{
#define POOLED(n) \
  "e segment_alloc 0x" n "0000000 20971520 0 1 a/m 5\ne alloc 0x" n "0000000 20000000 0 1 a/m 5\n" \
  "e free_requested 0x" n "0000000 20000000 0 1 d/m 5\ne free_completed 0x" n \
  "0000000 20000000 0 1 d/m 5\n"
#define POOLED_READ(n, id) \
  "segment-alloc " n "0000000:20971520 p1\nalloc #" id " " n \
  "0000000:20000000 p1\nfree-requested #" id " " n "0000000:20000000 p1\nfree-completed #" id \
  " " n "0000000:20000000 p1\n"
  static const char told[] = "releases: device 0: the program emptied the cache (trim): 1\n";
  g_autofree char *with_trim = g_strconcat (
      POOLED_READ ("1", "1") "pool-release p1\ntrim\nsegment-free 10000000:20971520 p1\n", told,
      NULL);
  g_autofree char *alone = g_strconcat (
      POOLED_READ ("1", "1") "pool-release/1 p1\nsegment-free 10000000:20971520 p1\n", told, NULL);

  /* The program emptied the cache; or only released the pool. */
  expect_released ("t\n" POOLED ("1") "e segment_free 0x10000000 20971520 0 1 empty_cache/m 5\n",
                   with_trim);
  expect_released ("t\n" POOLED ("1") "e segment_free 0x10000000 20971520 0 1 d/m 5\n", alone);
}

/* Before 2.12 events name no pool: what an emptied cache returns behind the default pool's, out of the
 * order of streams, was of a private one.  Not what the allocator returned by itself. */
static void
test_pools_by_order (void)
{
#define ON(n, stream) \
  "e segment_alloc 0x" n "0000000 20971520 " stream " 1 a/m\ne alloc 0x" n \
  "0000000 20000000 " stream " 1 a/m\ne free_requested 0x" n "0000000 20000000 " stream \
  " 1 d/m\ne free_completed 0x" n "0000000 20000000 " stream " 1 d/m\n"
#define BACK_ON(n, stream, stack) "e segment_free 0x" n "0000000 20971520 " stream " 1 " stack "\n"
  static const char *const stacks[] = { "empty_cache/m", "a/m" };

  for (guint i = 0; i < G_N_ELEMENTS (stacks); i++)
    {
      g_autofree char *text = g_strdup_printf (
          "t\n" ON ("1", "3") ON ("2", "7") ON ("3", "5") BACK_ON ("1", "3", "%s")
              BACK_ON ("2", "7", "%s") BACK_ON ("3", "5", "%s") SEGMENT ("4", "a/m"),
          stacks[i], stacks[i], stacks[i]);
      g_autoptr (GBytes) bytes = snapshot_pickle (text, SNAPSHOT_PYTHON);
      g_autofree char *read = test_snapshot_text (bytes, -1, FALSE);

      g_assert_cmpint (strstr (read, "pool-release p1\ntrim\n") != NULL, ==, i == 0);
      g_assert_cmpint (strstr (read, "alloc #3 30000000:20000000 s5 p1\n") != NULL, ==, i == 0);
      g_assert_null (strstr (read, "alloc #2 20000000:20000000 s7 p"));
    }
}

static void
test_repeats (void)
{
  /* Any number of stacks, all shared. */
  g_autoptr (GString) text = g_string_new ("t\n");
  g_autoptr (GString) expected = g_string_new (NULL);
  for (guint i = 0; i < 3000; i++)
    {
      guint64 address = 0x10000000 + (guint64) i * 0x1000;
      g_string_append_printf (text, "e alloc 0x%" G_GINT64_MODIFIER "x 512 0 1 f%u/f%u/m\n",
                              address, i % 700, i % 11);
      g_string_append_printf (text,
                              "e free_requested 0x%" G_GINT64_MODIFIER
                              "x 512 0 1 g%u/m\ne free_completed 0x%" G_GINT64_MODIFIER
                              "x 512 0 1 g%u/m\n",
                              address, i % 7, address, i % 7);
      g_string_append_printf (expected,
                              "alloc #%u %" G_GINT64_MODIFIER
                              "x:512\nfree-requested #%u %" G_GINT64_MODIFIER
                              "x:512\nfree-completed #%u %" G_GINT64_MODIFIER "x:512\n",
                              i + 1, address, i + 1, address, i + 1, address);
    }
  expect_released (text->str, expected->str);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pytorch-causes/emptied", test_emptied);
  g_test_add_func ("/pytorch-causes/refused", test_refused);
  g_test_add_func ("/pytorch-causes/collected", test_collected);
  g_test_add_func ("/pytorch-causes/refused-after-a-part", test_refused_after_a_part);
  g_test_add_func ("/pytorch-causes/failed", test_failed);
  g_test_add_func ("/pytorch-causes/pools-let-go", test_pools_let_go);
  g_test_add_func ("/pytorch-causes/pools-let-go-by-order", test_pools_by_order);
  g_test_add_func ("/pytorch-causes/many-stacks", test_repeats);
  return g_test_run ();
}
