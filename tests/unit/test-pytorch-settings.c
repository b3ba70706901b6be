/* test-pytorch-settings.c - what a snapshot says of the allocator that made it: its settings, which allocator, and from
 * what the version of PyTorch is inferred. */
#include "config.h"

#include <string.h>

#include "base/io/input.h"
#include "tests/util/snapshot-text.h"
#include "tests/util/snapshot-writer.h"
#include "traces/pytorch/state.h"
#include "traces/trace.h"

/* clang-format off: texts in pieces, a line each */

/* The settings but for the version, which stands last. */
static void
check_settings (const char *text, const char *expected)
{
  g_autoptr (GBytes) pickle = snapshot_pickle (text, SNAPSHOT_PYTHON);
  GememTraceReader *reader = test_snapshot_open (pickle, -1, FALSE, NULL);
  g_assert_nonnull (reader);
  const char *version = strstr (reader->info.settings, "version=");
  gsize length = version != NULL ? (gsize) (version - reader->info.settings)
                                 : strlen (reader->info.settings);

  if (version != NULL && length > 0)
    length--; /* the comma */
  g_autofree char *rest = g_strndup (reader->info.settings, length);
  g_assert_cmpstr (rest, ==, expected);
  gemem_trace_close (reader);
}

static void
test_settings (void)
{
  check_settings ("c max_split_size -1\nc garbage_collection_threshold 0.0\nc expandable_segments "
                  "False\nc PYTORCH_CUDA_ALLOC_CONF \n",
                  "");
  check_settings (
      "c max_split_size 134217728\nc garbage_collection_threshold 0.8\nc expandable_segments "
      "True\n",
      "max_split_size_mb=128,garbage_collection_threshold=0.8,expandable_segments=true");
  check_settings ("c max_split_size 20971521\n", "max_split_size_mb=20971521B");
  check_settings ("d 1 0\nd 2 0\nd 32768 1\n", "");
  check_settings (
      "d 1 4\nd 2 4\nd 4 4\nd 8 4\nd 16 4\nd 32 4\nd 64 4\nd 128 4\nd 256 4\nd 512 4\nd "
      "1024 4\nd 2048 4\nd 4096 4\nd 8192 4\nd 16384 4\nd 32768 4\n",
      "roundup_power2_divisions=4");
  check_settings ("d 1 8\nd 2 8\nd 64 4\n",
                  "roundup_power2_divisions=[1:8,2:8,4:0,8:0,16:0,32:0,64:4,128:0,256:0,512:0,1024:"
                  "0,2048:0,4096:0,8192:0,16384:0,32768:0]");
  check_settings (
      "c PYTORCH_CUDA_ALLOC_CONF backend:native, max_split_size_mb:64 "
      ",per_process_memory_fraction:0.5,large_segment_size_mb:40\nc max_split_size 67108864\n",
      "max_split_size_mb=64,per_process_memory_fraction=0.5,large_segment_size_mb=40");
  check_settings ("c PYTORCH_ALLOC_CONF max_non_split_rounding_mb:30\n",
                  "max_non_split_rounding_mb=30");
}

static void
check_allocator (const char *text, const char *allocator, const char *settings)
{
  g_autoptr (GBytes) pickle = snapshot_pickle (text, SNAPSHOT_PYTHON);
  GememTraceReader *reader = test_snapshot_open (pickle, -1, FALSE, NULL);

  g_assert_nonnull (reader);
  g_assert_cmpstr (reader->info.allocator, ==, allocator);
  if (g_str_equal (allocator, "torch-npu")) /* no version of PyTorch is named */
    g_assert_cmpstr (reader->info.settings, ==, settings);
  else
    g_assert_true (g_str_has_prefix (reader->info.settings, settings));
  gemem_trace_close (reader);
}

/* Padding of 32 bytes proves torch_npu, where the small pool shows it and no block denies it; so does
 * its own key in the settings (peers.md 2.1). */
static void
test_torch_npu (void)
{
#define SMALL "s 0 0x10000000 2097152 0 small 0 0 False\n"
#define PADDED "b 0x10000000 1024 512 active_allocated\n"
#define UNPADDED "b 0x10000400 512 490 active_allocated\n"
#define NEITHER "b 0x10000600 512 100 active_allocated\n"
  check_allocator (SMALL PADDED NEITHER, "torch-npu", "");
  check_allocator (SMALL NEITHER, "pytorch-caching", "");
  check_allocator (SMALL UNPADDED, "pytorch-caching", "");
  check_allocator (SMALL PADDED UNPADDED, "pytorch-caching", "");
  check_allocator (SMALL PADDED "d 1 2\n", "pytorch-caching",
                   "roundup_power2_divisions=[1:2,2:0,4:0,8:0,16:0,32:0,64:0,128:0,256:0,512:0,"
                   "1024:0,2048:0,4096:0,8192:0,16384:0,32768:0]");
  check_allocator ("s 0 0x10000000 20971520 0 large 0 0 False\n" PADDED, "pytorch-caching", "");
  check_allocator (SMALL NEITHER "c PYTORCH_NPU_ALLOC_CONF page_size:1g,base_addr_aligned_kb:0\n",
                   "torch-npu", "page_size=1g,base_addr_aligned_kb=0");
  check_allocator (SMALL UNPADDED "c PYTORCH_NPU_ALLOC_CONF throw_on_npumalloc_oom:True\n",
                   "torch-npu", "pad=0,throw_on_npumalloc_oom=True");
}

/* peers.md 1a.3: rounding, without and with divisions. */
static void
test_rounding (void)
{
  GememPytorchSettings settings;

  gemem_pytorch_settings_init (&settings);
  settings.pad = 32;
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 480), ==, 512);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 481), ==, 1024);
  settings.pad = 0;
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 1), ==, 512);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 512), ==, 512);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 513), ==, 1024);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 1200 * 1024 + 1), ==,
                    1200 * 1024 + 512);
  for (guint i = 0; i < GEMEM_PYTORCH_SLOTS; i++)
    settings.divisions[i] = 4;
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 2048), ==,
                    2048); /* 512 * 4: not above it */
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 2049), ==, 2560);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 1200), ==, 1536);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 5000), ==, 5120);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 5121), ==, 6144);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 1 << 20), ==, 1 << 20);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, (1 << 20) + 1), ==,
                    (1 << 20) + (1 << 18));
  settings.divisions[1] = 0; /* 2 to 4 MiB */
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, (2 << 20) + 1), ==, (2 << 20) + 512);
  settings.divisions[15] = 2; /* 32 GiB and above */
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, (G_GUINT64_CONSTANT (64) << 30) + 1),
                    ==, G_GUINT64_CONSTANT (96) << 30);
}

static char *
version_of (const char *text, const char *given)
{
  g_autoptr (GBytes) bytes = snapshot_pickle (text, SNAPSHOT_PYTHON);
  g_autoptr (GError) error = NULL;
  GememReadOptions options = GEMEM_READ_OPTIONS_DEFAULT;
  options.torch = given;
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.pickle"),
                                                     NULL, &options, &error);
  g_assert_no_error (error);
  char *version = NULL;
  for (guint i = 0; i < reader->info.provenance->len; i++)
    if (g_str_has_prefix (g_ptr_array_index (reader->info.provenance, i), "PyTorch: "))
      version = g_strdup ((char *) g_ptr_array_index (reader->info.provenance, i)
                          + strlen ("PyTorch: "));
  gemem_trace_close (reader);
  return version;
}

static void
test_versions (void)
{
  static const struct
  {
    const char *text, *version;
  } cases[] = {
    { "", "2.5 to 2.13 (inferred: there is external_annotations, but no host_traces)" },
    { "t\ne alloc 0x1000 5 0 1\n",
      "2.5 to 2.7 (inferred: there is external_annotations, but no compile_context)" },
    { "c max_cached_size -1\n", "2.13 (inferred: there is max_cached_size, but no host_traces)" },
    { "c graph_capture_record_stream_reuse False\nt\ne alloc 0x1000 5 0 1\n",
      "2.9 (inferred: there is graph_capture_record_stream_reuse, but no user_metadata)" },
    { "t\ne alloc 0x1000 5 0 1 a/b 0\n",
      "2.12 or 2.13 (inferred: events have pool_id, but no host_traces)" },
    { "c max_split_size -1\nt\ne alloc 0x1000 5 0 1 a/b 0\n",
      "2.12 (inferred: events have pool_id, but no max_cached_size)" },
    { "c PYTORCH_CUDA_ALLOC_CONF large_segment_size_mb:32\nt\ne alloc 0x1000 5 0 1\n",
      "2.11 (inferred: it was set large_segment_size_mb, but no pool_id)" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *version = version_of (cases[i].text, NULL);
      g_assert_cmpstr (version, ==, cases[i].version);
    }
  g_autofree char *given = version_of ("", "2.11.0");
  g_assert_cmpstr (given, ==, "2.11.0");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pytorch-settings/settings", test_settings);
  g_test_add_func ("/pytorch-settings/torch-npu", test_torch_npu);
  g_test_add_func ("/pytorch-settings/rounding", test_rounding);
  g_test_add_func ("/pytorch-settings/versions", test_versions);
  return g_test_run ();
}
