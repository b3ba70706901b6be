/* test-tune.c - a search of settings finds what replaying each finds, and says of each what is so; the
 * many of long-tune.c in small. */
#include "config.h"

#include "tests/util/testutil.h"
#include "tests/util/tune-check.h"

static void
check (const char *name, const char *specs, const char *device, guint most)
{
  g_autofree char *path = g_strconcat ("traces/recorded/", name, NULL), *full = NULL;
  guint rows, replays;

  full = test_source_path (path);
  replays = gemem_check_tune (full, specs, device, GEMEM_TUNE_NEEDS, &rows);
  g_test_message ("%s: %u replays for %u rows", name, replays, rows);
  g_assert_cmpuint (replays, <=, most);
}

static void
test_thresholds (void)
{
  /* the blocks of these programs are of few sizes: most thresholds are never met */
  check ("vit-train.gmt", "pytorch-caching:max_split_size_mb=unlimited|20..60", NULL, 12);
  check ("resnet50-train.gmt",
         "pytorch-caching:expandable_segments=*,max_split_size_mb=unlimited|20|21|64|65,"
         "roundup_power2_divisions=0|1|4|'[64:4,>:1]'",
         NULL, 40);
  check ("gpt2-train.gmt",
         "pytorch-caching:garbage_collection_threshold=*,max_non_split_rounding_mb=20|64,"
         "max_split_size_mb=30|200",
         NULL, 16);
}

/* The same for a recording of @events, sizes in KiB. */
static void
check_made (const char *events, const char *specs, const char *device)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "made.txt", NULL);
  g_autofree char *text = g_strconcat ("# gemem-trace: 2\n# allocator: \"pytorch-caching\"\n",
                                       events, NULL);
  guint rows;

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  gemem_check_tune (path, specs, device, GEMEM_TUNE_NEEDS, &rows);
  gemem_check_tune (path, specs, device, GEMEM_TUNE_CAPACITY, &rows);
}

static void
test_made (void)
{
  /* the second request fits what is left of the first one's segment, if that was split */
  check_made ("alloc 1 size=21600666\nalloc 2 size=1258291\n# end: 2\n",
              "pytorch-caching:max_split_size_mb=20..40", NULL);
  /* what is released for the fourth request: of 40 and 30 MiB, or all */
  check_made (
      "alloc 1 size=31457280\nalloc 2 size=41943040\nalloc 3 size=23068672\nfree 1\nfree 2\n"
      "free 3\nalloc 4 size=62914560\nalloc 5 size=23068672\n# end: 8\n",
      "pytorch-caching:max_split_size_mb=25..45", "sim:capacity=100MiB");
}

static void
test_segments (void)
{
  /* what a miss asks of the device, and what is split of it */
  check ("vit-train.gmt",
         "pytorch-caching:version=2.15,expandable_segments=*,large_segment_size_mb=20|32|64", NULL,
         12);
  check ("llama-train.gmt",
         "pytorch-caching:version=2.15,max_split_size_mb=20|21|22|23|24|30|40,"
         "max_non_split_rounding_mb=1024",
         NULL, 16);
}

static void
test_limits (void)
{
  /* on a device that is too small for some, and with limits that are met or not */
  check ("vit-train.gmt",
         "pytorch-caching:expandable_segments=*,max_split_size_mb=unlimited|32|64|128,"
         "roundup_power2_divisions=0|2",
         "sim:capacity=1850MiB", 20);
  check ("gpt2-train.gmt", "pytorch-caching:max_split_size_mb=unlimited|40|64|128|200|300|500",
         "sim:capacity=2700MiB", 12);
  check ("gpt2-train.gmt",
         "pytorch-caching:per_process_memory_fraction=0.3|0.4|0.6|1,"
         "garbage_collection_threshold=0|0.5|0.7|0.9",
         "sim:capacity=6GiB", 20);
}

static void
check_capacity (const char *name, const char *specs, const char *device)
{
  g_autofree char *path = g_strconcat ("traces/recorded/", name, NULL),
                  *full = test_source_path (path);
  guint rows;

  gemem_check_tune (full, specs, device, GEMEM_TUNE_CAPACITY, &rows);
}

/* A sanitizer makes each of these searches take ten seconds. */
static gboolean
is_quick (void)
{
  return g_getenv ("GEMEM_QUICK") != NULL;
}

static void
test_capacity (void)
{
  check_capacity ("vit-train.gmt",
                  "pytorch-caching:expandable_segments=*,max_split_size_mb=unlimited|20|32|64",
                  NULL);
  if (is_quick ())
    return;
  check_capacity ("resnet50-train.gmt",
                  "pytorch-caching:max_split_size_mb=unlimited|40|200,"
                  "garbage_collection_threshold=0|0.6,per_process_memory_fraction=0.5|1",
                  NULL);
  check_capacity ("vit-train.gmt", "pytorch-caching:max_split_size_mb=unlimited|32|64",
                  "sim:capacity=1850MiB");
  check_capacity ("vit-train.gmt", "paddle-auto-growth:auto_growth_chunk_size_in_mb=0|4|64", NULL);
}

static void
test_paddle (void)
{
  /* sizes that are rounded alike, chunks that no miss is smaller than, flags that find nothing idle */
  check ("vit-train.gmt",
         "paddle-auto-growth:auto_growth_chunk_size_in_mb=0|1|2|4|8|16|64,"
         "alignment_size=256|512|4096,free_idle_chunk=*,free_when_no_cache_hit=*",
         NULL, 70);
  check (
      "gpt2-train.gmt",
      "paddle-auto-growth:version=3.x,small_pool_size_in_mb=1|2|3|4|20,"
      "small_pool_auto_growth_chunk_size_in_mb=0|2,large_pool_auto_growth_chunk_size_in_mb=0|8|16",
      NULL, 24);
  check ("resnet50-train.gmt",
         "paddle-auto-growth:version=*,auto_growth_chunk_size_in_mb=0|2|10,"
         "gpu_allocator_retry_time=0|10000,alignment_size=256|1024",
         "sim:capacity=1300MiB", 30);
  check_capacity ("vit-train.gmt",
                  "paddle-auto-growth:free_idle_chunk=*,free_when_no_cache_hit=*,"
                  "auto_growth_chunk_size_in_mb=0|4",
                  NULL);
}

static void
test_ge (void)
{
  /* layers that no search passes, minima below every root block, thresholds that are not met or are, and stacks */
  check ("vit-train.gmt",
         "ge-scalable:span_layer_lift_max=*,enable_quick_layer_mode=*,huge_page_mem_size=*", NULL,
         26);
  check ("gpt2-train.gmt",
         "ge-scalable:stack=two|single|rts|fixed,span_layer_lift_max=0|2|4294967295,"
         "enable_quick_layer_mode=no,single_thread=*",
         NULL, 18);
  check ("resnet50-train.gmt",
         "ge-scalable:page_idem_num=16|20,huge_page_mem_size=2MiB|8MiB,"
         "page_mem_size_total_threshold=0|100MiB|600MiB|1200MiB|2GiB|4GiB",
         "sim:capacity=1700MiB", 21);
  if (is_quick ())
    return;
  check_capacity ("vit-train.gmt",
                  "ge-scalable:span_layer_lift_max=0|1|16|4294967295,enable_quick_layer_mode=*,"
                  "huge_page_mem_size=2MiB|128MiB",
                  NULL);
}

static void
test_others (void)
{
  /* no proofs are known for this: each is replayed, some not to the end */
  check ("vit-train.gmt", "tf-bfc:allow_growth=*,garbage_collection=*", NULL, 12);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tune/thresholds", test_thresholds);
  g_test_add_func ("/tune/made", test_made);
  g_test_add_func ("/tune/segments", test_segments);
  g_test_add_func ("/tune/limits", test_limits);
  g_test_add_func ("/tune/capacity", test_capacity);
  g_test_add_func ("/tune/paddle", test_paddle);
  g_test_add_func ("/tune/ge", test_ge);
  g_test_add_func ("/tune/others", test_others);
  return g_test_run ();
}
