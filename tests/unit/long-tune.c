/* long-tune.c - a thousand settings of each of four allocators on ten recordings: a search finds what
 * replaying each finds, row by row; and how much faster it is. */
#include "config.h"

#include "tests/util/testutil.h"
#include "tests/util/tune-check.h"

static const char *const recordings[] = {
  "gpt2-train",   "gpt2-train-expandable", "gpt2-train-stacks",    "llama-train",
  "llama-decode", "llama-decode-roundup",  "resnet50-train-split", "resnet50-train",
  "vit-train",    "resnet50-prefetch",
};

static const char *const spaces[] = {
  "pytorch-caching:expandable_segments=*,max_split_size_mb=unlimited|20..59,"
  "roundup_power2_divisions=*,max_non_split_rounding_mb=20|64",
  "paddle-auto-growth:auto_growth_chunk_size_in_mb=0|1..20,alignment_size=256|512|4096",
  "tf-bfc:allow_growth=*,garbage_collection=*",
  "ge-scalable:span_layer_lift_max=*,enable_quick_layer_mode=*,huge_page_mem_size=*,"
  "page_idem_num=16|20",
};

static void
test_many (gconstpointer data)
{
  const char *specs = data;

  for (guint i = 0; i < G_N_ELEMENTS (recordings); i++)
    {
      g_autofree char *name = g_strdup_printf ("traces/recorded/%s.gmt", recordings[i]);
      g_autofree char *path = test_source_path (name);
      guint rows, replays = gemem_check_tune (path, specs, NULL, GEMEM_TUNE_NEEDS, &rows);

      g_test_message ("%s: %u replays for %u rows", recordings[i], replays, rows);
      g_assert_cmpuint (replays, <=, rows + 4); /* the line to paste is replayed too */
    }
}

/* The least capacity of each is some fifty replays: of fewer settings. */
static const char *const capacity_spaces[] = {
  "pytorch-caching:expandable_segments=*,max_split_size_mb=unlimited|20|64|200,"
  "roundup_power2_divisions=0|4",
  "paddle-auto-growth:auto_growth_chunk_size_in_mb=0|8|20,alignment_size=256|4096",
  "tf-bfc:allow_growth=*,garbage_collection=*",
  "ge-scalable:span_layer_lift_max=0|16|4294967295,enable_quick_layer_mode=*",
};

static void
test_capacity (gconstpointer data)
{
  for (guint i = 0; i < G_N_ELEMENTS (recordings); i++)
    {
      g_autofree char *name = g_strdup_printf ("traces/recorded/%s.gmt", recordings[i]);
      g_autofree char *path = test_source_path (name);
      guint rows, replays = gemem_check_tune (path, data, NULL, GEMEM_TUNE_CAPACITY, &rows);

      g_test_message ("%s: %u replays for %u rows", recordings[i], replays, rows);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint s = 0; s < G_N_ELEMENTS (spaces); s++)
    {
      g_autofree char *name = g_strdup_printf ("/tune/many/%u", s);
      g_test_add_data_func (name, spaces[s], test_many);
    }
  for (guint s = 0; s < G_N_ELEMENTS (capacity_spaces); s++)
    {
      g_autofree char *name = g_strdup_printf ("/tune/capacity/%u", s);
      g_test_add_data_func (name, capacity_spaces[s], test_capacity);
    }
  return g_test_run ();
}
