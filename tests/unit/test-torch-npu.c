/* test-torch-npu.c - `torch-npu` against the worked examples of peers.md 1g.10, and each rule in which
 * it differs from `pytorch-caching`. */
#include "config.h"

#include "allocators/pytorch/npu.h"
#include "tests/util/rig.h"
#include "tests/util/sizes.h"

#define BASE G_GUINT64_CONSTANT (0x100000000000)
#define RANGE G_GUINT64_CONSTANT (0x200000000000)

static Rig
npu (const char *settings, const char *capacity)
{
  g_autofree char *spec = g_strconcat ("torch-npu:total=device", settings, NULL);
  g_autofree char *device = g_strconcat (
      "sim:base=0x100000000000,step=2MiB,address=bump,reuse=never,"
      "va_base=0x200000000000,capacity=",
      capacity, NULL);

  return rig_new (spec, device);
}

/* Block @i must be served at @address with @size bytes. */
static void
want (Rig *rig, guint i, guint64 request, guint64 address, guint64 size)
{
  const GememRequest asked = { .size = request, .stream = rig->stream };

  g_assert_true (rig_serve (rig, i, &asked));
  g_assert_cmphex (rig->blocks[i].address, ==, address);
  g_assert_cmpuint (rig->blocks[i].size, ==, size);
}

static void
refuse (Rig *rig, guint64 request)
{
  const GememRequest asked = { .size = request, .stream = rig->stream };

  g_assert_false (rig_serve (rig, 15, &asked));
}

typedef struct
{
  const char *name;
  guint64 value;
} Figure;

static void
look_for (const char *name, guint64 value, G_GNUC_UNUSED const char *unit, gpointer data)
{
  Figure *figure = data;

  if (g_str_equal (name, figure->name))
    figure->value = value;
}

static guint64
stat_of (const Rig *rig, const char *name)
{
  Figure figure = { name, G_MAXUINT64 };

  rig->allocator->klass->report.stats (rig->allocator, look_for, &figure);
  g_assert_cmpuint (figure.value, !=, G_MAXUINT64);
  return figure.value;
}

/* ---- 1g.10 */

static void
test_padding (void)
{
  static const guint64 sizes[][2] = {
    { 480, 512 }, { 481, 1024 }, { 1000, 1536 }, { 1048544, 1048576 }, { 1048545, 1049088 }
  };
  Rig rig = npu ("", "1GiB");
  guint64 end = BASE;

  for (guint i = 0; i < 4; i++)
    {
      want (&rig, i, sizes[i][0], end, sizes[i][1]);
      end += sizes[i][1];
    }
  want (&rig, 4, sizes[4][0], BASE + 2 * MIB, sizes[4][1]);
  g_assert_cmpuint (rig_held (&rig), ==, 22 * MIB);
  rig_done (&rig);

  rig = npu (",pad=0", "1GiB");
  want (&rig, 0, 512, BASE, 512);
  rig_done (&rig);
}

static void
test_alignment (void)
{
  Rig rig = npu (",expandable_segments=yes", "1GiB");

  want (&rig, 0, 1200000, RANGE, 1200128);
  want (&rig, 1, 5000000, RANGE + 0x128000, 5000192);
  put (&rig, 0);
  want (&rig, 0, 3000000, RANGE + 0x5f0000, 3000320);
  rig_done (&rig);

  rig = npu (",expandable_segments=yes,base_addr_aligned_kb=0", "1GiB");
  want (&rig, 0, 1200000, RANGE, 1200128);
  want (&rig, 1, 5000000, RANGE + 0x125000, 5000192);
  put (&rig, 0);
  want (&rig, 0, 3000000, RANGE + 0x5e9c00, 3000320);
  rig_done (&rig);
}

/* A block that is too short for the cut serves from where it begins. */
static void
test_no_room_to_align (void)
{
  Rig rig = npu (",expandable_segments=yes", "1GiB");

  for (guint i = 0; i < 4; i++)
    want (&rig, i, 1200000, RANGE + i * 0x125000, 1200128); /* below 2 MiB: as it comes */
  put (&rig, 1);
  put (&rig, 2);
  want (&rig, 1, 2400224, RANGE + 0x125000, 2400256);
  put (&rig, 1);
  want (&rig, 1, 2380000, RANGE + 0x128000, 2380288);
  rig_done (&rig);
}

static void
test_page_of_1g (void)
{
  Rig rig = npu (",expandable_segments=yes,page_size=1g", "1GiB");

  want (&rig, 0, 1200000, RANGE, 1200128);
  g_assert_cmpuint (rig_held (&rig), ==, GIB);
  want (&rig, 1, 5000000, RANGE + 0x128000, 5000192);
  rig_done (&rig);

  rig = npu (",page_size=1g", "3GiB");
  want (&rig, 0, 3 * MIB, BASE, 3 * MIB + 512);
  want (&rig, 1, 1000, BASE + GIB, 1536); /* small segments stay as they are */
  g_assert_cmpuint (rig_held (&rig), ==, GIB + 2 * MIB);
  rig_done (&rig);
}

static void
test_rejection (void)
{
  Rig rig = npu (",throw_on_npumalloc_oom=yes", "1GiB");

  want (&rig, 0, 700000000, BASE, 700448768);
  g_assert_cmpuint (rig_held (&rig), ==, 700448768);
  refuse (&rig, 600000000);
  put (&rig, 0);
  refuse (&rig, 800000000);
  g_assert_cmpuint (rig_held (&rig), ==, 700448768);
  g_assert_cmpuint (stat_of (&rig, "num_oom_rejections"), ==, 2);
  g_assert_cmpuint (stat_of (&rig, "num_ooms"), ==, 0);
  g_assert_cmpuint (stat_of (&rig, "num_alloc_retries"), ==, 0);
  want (&rig, 0, 600000000, BASE, 600000512);
  rig_done (&rig);

  rig = npu ("", "1GiB");
  want (&rig, 0, 700000000, BASE, 700448768);
  refuse (&rig, 600000000);
  g_assert_cmpuint (stat_of (&rig, "num_ooms"), ==, 1);
  put (&rig, 0);
  want (&rig, 0, 800000000, 0x100029c00000, 800000512);
  g_assert_cmpuint (rig_held (&rig), ==, 801112064);
  g_assert_cmpuint (stat_of (&rig, "num_sync_all_streams"), ==, 2);
  rig_done (&rig);
}

/* With a fraction the limit is met first and takes the ladder; after the limit was changed at run
 * time, the fraction still rejects. */
static void
test_fraction (void)
{
  Rig rig = npu (",throw_on_npumalloc_oom=yes,per_process_memory_fraction=0.5", "1GiB");

  want (&rig, 0, 300 * MIB, BASE, 300 * MIB + 512);
  refuse (&rig, 300 * MIB);
  g_assert_cmpuint (stat_of (&rig, "num_oom_rejections"), ==, 0);
  g_assert_cmpuint (stat_of (&rig, "num_ooms"), ==, 1);
  rig_done (&rig);

  rig = npu (",throw_on_npumalloc_oom=yes,per_process_memory_fraction=0.5,memory_limit=1GiB",
             "1GiB");
  want (&rig, 0, 300 * MIB, BASE, 300 * MIB + 512);
  refuse (&rig, 300 * MIB);
  g_assert_cmpuint (stat_of (&rig, "num_oom_rejections"), ==, 1);
  rig_done (&rig);
}

/* ---- pages */

static void
test_kept_pages (void)
{
  Rig rig = npu (",expandable_segments=yes,free_physical=no", "64MiB");

  want (&rig, 0, 30 * MIB, RANGE, 30 * MIB + 512);
  put (&rig, 0);
  trim (&rig);
  g_assert_cmpuint (((Caching *) rig.allocator)->reserved, ==, 0);
  g_assert_cmpuint (rig_held (&rig), ==, 40 * MIB);
  want (&rig, 0, 50 * MIB, RANGE + GIB, 50 * MIB + 512); /* two kept pages and a new one */
  g_assert_cmpuint (rig_held (&rig), ==, 60 * MIB);
  put (&rig, 0);
  trim (&rig);
  want (&rig, 0, 1000, RANGE + 2 * GIB, 1536); /* the pool of small requests has none */
  g_assert_cmpuint (rig_held (&rig), ==, 62 * MIB);
  rig.stream = 7;
  want (&rig, 1, 1000, RANGE + 3 * GIB, 1536);
  g_assert_cmpuint (rig_held (&rig), ==, 64 * MIB);
  want (&rig, 2, 3000 * 1000, RANGE + 4 * GIB, 3000320); /* of any stream */
  g_assert_cmpuint (rig_held (&rig), ==, 64 * MIB);
  rig.stream = 8;
  want (&rig, 3, 1000, RANGE + 5 * GIB, 1536); /* memory is short: what is kept goes back */
  g_assert_cmpuint (rig_held (&rig), ==, 26 * MIB);
  rig_done (&rig);
}

static void
test_page_sizes (void)
{
  static const struct
  {
    const char *settings;
    guint64 page;
  } cases[] = { { "large_segment_size_mb=20", 20 },
                { "segment_size_mb=64", 64 },
                { "segment_size_mb=64,large_segment_size_mb=32", 32 },
                { "segment_size_mb=64,page_size=1g", 1024 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *settings = g_strconcat (",expandable_segments=yes,", cases[i].settings,
                                               NULL);
      Rig rig = npu (settings, "2GiB");

      want (&rig, 0, 3000000, RANGE, 3000320);
      g_assert_cmpuint (rig_held (&rig), ==, cases[i].page * MIB);
      rig_done (&rig);
    }
}

/* The next range shows how long the one before it is. */
static void
test_zero_copy (void)
{

  for (guint on = 0; on < 2; on++)
    {
      Rig rig = npu (
          on ? ",expandable_segments=yes,hccl_zero_copy=yes" : ",expandable_segments=yes", "8GiB");
      want (&rig, 0, 1000, RANGE, 1536);
      want (&rig, 1, 3000000, RANGE + (on ? 2 : 9) * GIB, 3000320);
      rig.stream = 3;
      want (&rig, 2, 3000000, RANGE + (on ? 12 : 19) * GIB, 3000320);
      want (&rig, 3, 1000, RANGE + (on ? 22 : 29) * GIB, 1536);
      rig_done (&rig);
    }
}

/* ---- streams */

static void
use (Rig *rig, guint i, guint64 stream)
{
  rig->allocator->klass->streams.use (rig->allocator, &rig->blocks[i], stream);
}

static void
erase (Rig *rig, guint i, guint64 stream)
{
  rig->allocator->klass->streams.free (rig->allocator, &rig->blocks[i], stream);
}

static Rig
slow (const char *settings)
{
  g_autofree char *spec = g_strconcat ("torch-npu:", settings, NULL);

  return rig_new (spec, "sim:base=0x100000000000,step=2MiB,capacity=1GiB,event_latency=1s");
}

static void
test_erase_stream (void)
{
  for (int on = 0; on < 2; on++)
    {
      Rig rig = slow (on ? "" : "MULTI_STREAM_MEMORY_REUSE=0");

      want (&rig, 0, 1000, BASE, 1536);
      use (&rig, 0, 1);
      use (&rig, 0, 2);
      erase (&rig, 0, 2);
      erase (&rig, 0, 9); /* never used it */
      erase (&rig, 0, 1);
      put (&rig, 0);
      want (&rig, 0, 1000, on ? BASE : BASE + 1536, 1536);
      use (&rig, 0, 1);
      use (&rig, 0, 2);
      erase (&rig, 0, 1);
      put (&rig, 0);
      want (&rig, 0, 1000, on ? BASE + 1536 : BASE + 3072, 1536); /* stream 2 still uses it */
      rig_done (&rig);
    }
}

/* torch_npu does not pass over a use on the block's own stream. */
static void
test_own_stream (void)
{
  Rig rig = slow ("");

  want (&rig, 0, 1000, BASE, 1536);
  use (&rig, 0, 0);
  put (&rig, 0);
  want (&rig, 0, 1000, BASE + 1536, 1536);
  rig_done (&rig);
}

/* Oversize blocks are released for a request when the device has done its work. */
static void
test_release_waits (void)
{
  Rig rig = slow ("max_split_size_mb=21");
  const guint64 second = G_GUINT64_CONSTANT (1000000000);

  want (&rig, 0, 600 * MIB, BASE, 602 * MIB);
  want (&rig, 1, 1000, BASE + 602 * MIB, 1536);
  use (&rig, 1, 1);
  put (&rig, 1);
  put (&rig, 0);
  g_assert_cmpuint (rig.allocator->device->now, <, second);
  want (&rig, 0, 700 * MIB, BASE + 604 * MIB, 702 * MIB);
  g_assert_cmpuint (rig.allocator->device->now, >=, second);
  rig_done (&rig);
}

static void
test_lazy_reclaim (void)
{
  for (int lazy = 0; lazy < 2; lazy++)
    {
      Rig rig = slow (lazy ? "multi_stream_lazy_reclaim=yes" : "");

      want (&rig, 0, MIB - 32, BASE, MIB);
      use (&rig, 0, 1);
      put (&rig, 0);
      rig.allocator->device->now += 2 * G_GUINT64_CONSTANT (1000000000);
      want (&rig, 0, 1000, lazy ? BASE + MIB : BASE, 1536);
      want (&rig, 1, MIB - 1024, lazy ? BASE : BASE + 1536, MIB - 512);
      rig_done (&rig);
    }
}

/* The 513th outstanding event makes a request look at all of them. */
static void
test_lazy_events (void)
{
  Rig rig = slow ("multi_stream_lazy_reclaim=yes");

  want (&rig, 1, 1000, BASE, 1536);
  for (guint64 stream = 1; stream <= 512; stream++)
    use (&rig, 1, stream);
  put (&rig, 1);
  rig.allocator->device->now += 2 * G_GUINT64_CONSTANT (1000000000);
  want (&rig, 2, 1000, BASE + 1536, 1536);
  use (&rig, 2, 1);
  put (&rig, 2);
  rig.allocator->device->now += 2 * G_GUINT64_CONSTANT (1000000000);
  want (&rig, 3, 1000, BASE, 1536);
  rig_done (&rig);
}

/* ---- workspaces, no cache */

static gboolean
workspace (Rig *rig, guint i, guint64 size, guint64 stream)
{
  const GememRequest request = { .size = size, .stream = stream, .pool = 5 };

  return rig_serve (rig, i, &request);
}

static void
test_workspaces (void)
{
  Rig rig = npu (",workspace_pool=5,memory_limit=20MiB", "64MiB");

  g_assert_true (workspace (&rig, 0, 2 * MIB - 32, 1));
  g_assert_cmpuint (rig.blocks[0].size, ==, 2 * MIB);
  put (&rig, 0);
  g_assert_true (workspace (&rig, 1, 1000, 1)); /* it does not shrink */
  g_assert_cmpuint (rig.blocks[1].address, ==, rig.blocks[0].address);
  g_assert_cmpuint (rig.blocks[1].size, ==, 2 * MIB);
  g_assert_true (workspace (&rig, 2, 2 * MIB - 31, 2)); /* one for each stream */
  g_assert_cmpuint (rig.blocks[2].size, ==, 4 * MIB);
  g_assert_cmpuint (stat_of (&rig, "workspace.allocated_bytes.current"), ==, 6 * MIB);
  put (&rig, 2);
  want (&rig, 3, 18 * MIB, BASE + 6 * MIB, 18 * MIB + 512); /* the limit does not count them */
  g_assert_cmpuint (stat_of (&rig, "reserved_bytes.all.current"), ==, 20 * MIB);
  g_assert_cmpuint (rig_held (&rig), ==, 26 * MIB);
  g_assert_cmpuint (rig.allocator->device->calls[GEMEM_CALL_DEVICE_SYNC], ==, 0);
  g_assert_true (workspace (&rig, 2, 4 * MIB, 2)); /* it grows when the device has done its work */
  g_assert_cmpuint (rig.allocator->device->calls[GEMEM_CALL_DEVICE_SYNC], ==, 1);
  g_assert_cmpuint (rig_held (&rig), ==, 28 * MIB);
  put (&rig, 2);
  trim (&rig); /* stream 1 uses its workspace */
  g_assert_cmpuint (rig_held (&rig), ==, 22 * MIB);
  put (&rig, 1);
  put (&rig, 3);
  trim (&rig);
  g_assert_cmpuint (rig_held (&rig), ==, 0);
  g_assert_cmpuint (stat_of (&rig, "workspace.allocated_bytes.peak"), ==, 8 * MIB);
  rig_done (&rig);
}

/* After a refusal the size is that of the block that there is not, until the cache is emptied; the
 * ladder empties workspaces too. */
static void
test_workspace_refused (void)
{
  Rig rig = npu (",workspace_pool=5", "32MiB");

  g_assert_true (workspace (&rig, 0, 10 * MIB, 1));
  put (&rig, 0);
  g_assert_false (workspace (&rig, 0, 100 * MIB, 1));
  g_assert_cmpuint (rig_held (&rig), ==, 0);
  g_assert_false (workspace (&rig, 0, 1000, 1));
  trim (&rig);
  g_assert_true (workspace (&rig, 0, 10 * MIB, 1));
  put (&rig, 0);
  want (&rig, 1, 30 * MIB, BASE + 24 * MIB, 30 * MIB + 512);
  g_assert_cmpuint (rig_held (&rig), ==, 32 * MIB);
  g_assert_cmpuint (stat_of (&rig, "workspace.reserved_bytes.current"), ==, 0);
  rig_done (&rig);
}

static void
test_two_workspaces (void)
{
  Rig rig = npu (",workspace_pool=5", "64MiB");

  g_assert_true (workspace (&rig, 0, 1000, 1));
  g_assert_false (workspace (&rig, 1, 1000, 1));
  g_assert_nonnull (strstr (rig.allocator->refusal, "stream 1 has a workspace in use"));
  g_clear_pointer (&rig.allocator->refusal, g_free);
  put (&rig, 0);
  rig_done (&rig);
}

static void
test_uncached (void)
{
  Rig rig = npu (",no_npu_memory_caching=yes", "64MiB");

  want (&rig, 0, 1000, BASE, 1032);
  use (&rig, 0, 1);
  put (&rig, 0);
  g_assert_cmpuint (rig_held (&rig), ==, 0);
  want (&rig, 0, 3 * MIB, BASE + 2 * MIB, 3 * MIB + 32);
  refuse (&rig, 61 * MIB);
  g_assert_cmpuint (stat_of (&rig, "num_ooms"), ==, 1);
  rig_done (&rig);
}

/* ---- settings */

static void
expect_refused (const char *settings, const char *message)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autofree char *text = g_strconcat ("torch-npu:", settings, NULL);
  g_autoptr (GError) error = NULL;
  GememDevice *device = gemem_device_new ("null", NULL, 0, NULL);

  if (gemem_allocator_spec_parse (text, specs, &error)
      && gemem_allocator_new (specs->pdata[0], NULL, device, &error) != NULL)
    g_error ("%s: not refused", settings);
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  if (strstr (error->message, message) == NULL)
    g_error ("%s: %s", settings, error->message);
  gemem_device_destroy (device);
}

static void
test_refusals (void)
{
  expect_refused ("expandable_segments=yes,max_split_size_mb=64", "max_split_size_mb exclude");
  expect_refused ("expandable_segments=yes,garbage_collection_threshold=0.5", "exclude each other");
  expect_refused ("base_addr_aligned_kb=17", "too large");
  expect_refused ("base_addr_aligned_kb=1.5", "1.5");
  expect_refused ("page_size=2g", "page_size");
  expect_refused ("segment_size_mb=19", "too small");
  expect_refused ("segment_size_mb=513", "too large");
  expect_refused ("per_process_memory_fraction=1.5", "too large");
  expect_refused ("per_process_memory_fraction=0.5", "give it a capacity");
  expect_refused ("throw_on_npumalloc_oom=yes", "give it a capacity");
  expect_refused ("pad=16", "pad");
  expect_refused ("workspace_pool=0", "too small");
  expect_refused ("workspace_pool=18446744073709551616", "workspace_pool");
  expect_refused ("MULTI_STREAM_MEMORY_REUSE=4", "MULTI_STREAM_MEMORY_REUSE");
  expect_refused ("max_split_size_mb=19", "too small");
  expect_refused ("large_segment_size_mb=64,max_split_size_mb=32", "smaller than large_segment");
  expect_refused ("large_segment_size_mb=64,max_non_split_rounding_mb=32", "smaller than large");
  expect_refused ("garbage_collection_threshold=1", "too large");
  expect_refused ("roundup_power2_divisions=3", "power of two");
  expect_refused ("release_lock_on_cudamalloc=yes", "release_lock_on_npumalloc");
}

static void
test_configurations (void)
{
  Rig rig = npu (",conf='base_addr_aligned_kb:0, expandable_segments:True,page_size:1g'", "2GiB");

  want (&rig, 0, 1200000, RANGE, 1200128);
  want (&rig, 1, 5000000, RANGE + 0x125000, 5000192);
  g_assert_cmpuint (rig_held (&rig), ==, GIB);
  rig_done (&rig);
  rig = npu (",conf='roundup_power2_divisions:[],large_segment_size_mb:64MB,per_process_memory_"
             "fraction:0.5x,'",
             "1GiB");
  want (&rig, 0, 2 * MIB, BASE, 2 * MIB + 512);
  g_assert_cmpuint (rig_held (&rig), ==, 64 * MIB);
  refuse (&rig, 460 * MIB);
  rig_done (&rig);
  expect_refused ("conf=backend:native", "torch_npu master refuses it: unknown key backend; known");
  expect_refused ("conf=pad:0", "unknown key pad");
  expect_refused ("conf=version:2.1", "unknown key version");
  expect_refused ("version=2.6,conf=large_segment_size_mb:40", "which came with version=master");
  expect_refused ("conf=a:1,alloc_conf=b:1", "exclude each other");
  expect_refused ("alloc_conf=max_split_size_mb:64,max_split_size_mb=64", "exclude each other");
}

/* Strings and what the releases of torch_npu say of them, from the oldest; all found by running them. */
static const char *const string_releases[] = { "2.1.0.post10", "2.1.0.post17", "2.6.0.post5",
                                               "2.7.1.post11", "2.9.0.post9",  "2.14.0" };
static const struct
{
  const char *text;
  const char *accepted; /* + or - for each release */
} strings[] = {
  { "", "++++++" },
  { " ", "++++++" },
  { ",", "------" },
  { "max_split_size_mb:21", "++++++" },
  { "max_split_size_mb:20", "-----+" },
  { "max_split_size_mb:19", "------" },
  { "max_split_size_mb:0", "------" },
  { "max_split_size_mb:-0", "------" },
  { "max_split_size_mb:-1", "++---+" },
  { "max_split_size_mb:-2", "++---+" },
  { "max_split_size_mb:-2147483648", "++---+" },
  { "max_split_size_mb:-2147483649", "-----+" },
  { "max_split_size_mb:2147483647", "++++++" },
  { "max_split_size_mb:2147483648", "-----+" },
  { "max_split_size_mb:17592186044416", "-----+" },
  { "max_split_size_mb:18446744073709551615", "-----+" },
  { "max_split_size_mb:18446744073709551616", "------" },
  { "max_split_size_mb:-18446744073709551595", "-----+" }, /* 21 */
  { "max_split_size_mb:-18446744073709551615", "------" }, /* 1 */
  { "max_split_size_mb:64.5", "++---+" },
  { "max_split_size_mb:+32", "++---+" },
  { "max_split_size_mb:032", "++++++" },
  { "max_split_size_mb:0x20", "------" },
  { "max_split_size_mb:- 1", "++---+" },
  { "max_split_size_mb:", "------" },
  { "max_split_size_mb", "------" },
  { "max_split_size_mb,32", "-----+" },
  { "max_split_size_mb[32", "-----+" },
  { "max_split_size_mb:32,", "++++++" },
  { "max_split_size_mb:32,,", "------" },
  { "max_split_size_mb:32;pinned_mem_register:True", "------" },
  { "\tmax_split_size_mb:32", "-----+" },
  { "max_split_size_mb:32,expandable_segments:True", "------" },
  { "max_split_size_mb:-1,expandable_segments:True", "------" },
  { "max_split_size_mb:31,large_segment_size_mb:32", "------" },
  { "max_split_size_mb:32,large_segment_size_mb:32", "-----+" },
  { "large_segment_size_mb:-1", "-----+" },
  { "large_segment_size_mb:10", "------" },
  { "max_non_split_rounding_mb:20", "---+++" },
  { "max_non_split_rounding_mb:-1", "-----+" },
  { "garbage_collection_threshold:0.5x", "++++++" },
  { "garbage_collection_threshold:1", "------" },
  { "garbage_collection_threshold:nan", "------" },
  { "expandable_segments:Tr ue", "++++++" },
  { "expandable_segments:true", "------" },
  { "base_addr_aligned_kb:7", "++++++" },
  { "base_addr_aligned_kb:07", "------" },
  { "base_addr_aligned_kb:+7", "------" },
  { "base_addr_aligned_kb:17", "------" },
  { "page_size:1g", "-+++++" },
  { "page_size:1G", "------" },
  { "segment_size_mb:032", "--++++" },
  { "segment_size_mb:32x", "------" },
  { "segment_size_mb:0", "------" },
  { "roundup_power2_divisions:0", "--+++-" },
  { "roundup_power2_divisions:8x", "--++++" },
  { "roundup_power2_divisions:-4", "------" },
  { "roundup_power2_divisions:[]", "--++++" },
  { "roundup_power2_divisions:[64x:8,]", "--++++" },
  { "roundup_power2_divisions:[64:8", "------" },
  { "roundup_power2_divisions:[64,8]", "-----+" },
  { "roundup_power2_divisions:[48:8]", "------" },
  { "multi_stream_lazy_reclaim:True", "---+++" },
  { "release_lock_on_npumalloc:x", "------" },
  { "pinned_use_background_threads:True", "----++" },
  { "pinned_reserve_segment_size_mb:3x", "-----+" },
  { "pinned_max_cached_size_mb:0", "-----+" },
  { "per_process_memory_fraction:0", "-----+" },
  { "per_process_memory_fraction:1.5", "------" },
  { "throw_on_npumalloc_oom:False", "-----+" },
  { "pinned_num_register_threads:2", "------" },
};

static void
test_strings (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (strings); i++)
    for (guint j = 0; j < G_N_ELEMENTS (string_releases); j++)
      {
        g_autofree char *settings = g_strdup_printf ("version=%s,conf='%s'", string_releases[j],
                                                     strings[i].text);

        if (strings[i].accepted[j] == '-')
          expect_refused (settings, "torch-npu");
        else
          {
            g_autofree char *more = g_strconcat (",", settings, NULL);
            Rig rig = npu (more, "1GiB");

            rig_done (&rig);
          }
      }
}

/* What is accepted has the release's meaning. */
static void
test_string_effects (void)
{
  Rig rig = npu (",conf=max_split_size_mb:-1", "1GiB");

  want (&rig, 0, 40 * MIB, BASE, 40 * MIB + 512); /* 42 MiB, of which a part stays */
  want (&rig, 1, MIB, BASE + 40 * MIB + 512, 2 * MIB - 512);
  rig_done (&rig);
  rig = npu (",conf=max_split_size_mb:-18446744073709551595", "1GiB"); /* 21 */
  want (&rig, 0, 40 * MIB, BASE, 42 * MIB);
  rig_done (&rig);
  rig = npu (",conf=large_segment_size_mb:-1", "1GiB"); /* no device has so much */
  refuse (&rig, 2 * MIB);
  want (&rig, 0, 11 * MIB, BASE, 12 * MIB);
  rig_done (&rig);
}

static void
test_versions (void)
{
  expect_refused ("version=2.1,page_size=1g",
                  "version=2.1.0-6.0.0 has no page_size; leave it out, or "
                  "use version=2.5.1-7.1.0 or later");
  expect_refused ("version=7.1.0,roundup_power2_divisions=4", "use version=2.7.1-7.3.0 or later");
  expect_refused ("version=2.5.1-7.1.0,segment_size_mb=40", "has no segment_size_mb");
  expect_refused ("version=2.5.1-7.1.0,free_physical=no", "use version=2.1.0-7.2.0 or later");
  expect_refused ("version=2.7.1,large_segment_size_mb=40", "or use version=master");
  expect_refused ("version=2.7.1,max_split_size_mb=20", "above 20");
  expect_refused ("version=2.7.1,alloc_conf=max_split_size_mb:32", "has no alloc_conf");
  expect_refused ("version=7.3,multi_stream_lazy_reclaim=yes", "use version=2.7.1.post11 or later");
  expect_refused ("version=2.7.1.post11,pinned_use_background_threads=yes", "version=2.9.0.post9");
  expect_refused ("version=2.7.1,throw_on_npumalloc_oom=yes,total=1GiB", "or use version=master");
  expect_refused ("version=2.7.1,per_process_memory_fraction=0.5,total=1GiB", "use version=master");
  expect_refused ("version=2.7.1,pad=0", "has no pad");
  expect_refused ("version=2.8", "version");
  Rig rig = npu (",version=7.3,roundup_power2_divisions=4,page_size=1g,segment_size_mb=64", "2GiB");
  want (&rig, 0, 5 * MIB - 32, BASE, 5 * MIB);
  want (&rig, 1, 5 * MIB - 31, BASE + 5 * MIB, 6 * MIB); /* divisions see what was padded */
  rig_done (&rig);
}

static guint64
calls (const Rig *rig, guint call)
{
  return rig->allocator->device->calls[call];
}

/* How often the cache waits for the device, what unmapping waits for, whether emptying the cache inside of a
 * capture does anything, and whether a private pool that is in use holds back events, by release. */
static void
test_waits (void)
{
  static const struct
  {
    const char *version;
    guint64 waits;
    gboolean unmap_waits, trims, holds;
  } rows[] = {
    { "2.1.0.post10", 2, FALSE, FALSE, TRUE }, { "2.5.1.post1", 2, FALSE, FALSE, TRUE },
    { "2.1.0.post17", 1, TRUE, FALSE, TRUE },  { "2.6.0.post5", 1, TRUE, FALSE, TRUE },
    { "2.7.1.post11", 1, TRUE, FALSE, TRUE },  { "2.9.0.post9", 1, TRUE, TRUE, TRUE },
    { "2.14.0", 1, TRUE, TRUE, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *plain = g_strconcat (",version=", rows[i].version, NULL);
      g_autofree char *ranges = g_strconcat (plain, ",expandable_segments=yes", NULL);
      const GememRequest private = { .size = 1000, .pool = 3 };
      Rig rig = npu (plain, "1GiB");

      trim (&rig);
      g_assert_cmpuint (calls (&rig, GEMEM_CALL_DEVICE_SYNC), ==, rows[i].waits);
      g_assert_true (rig_serve (&rig, 0, &private));
      put (&rig, 0);
      rig.allocator->klass->release_pool (rig.allocator, 3, FALSE);
      rig.allocator->klass->redirect (rig.allocator, 4, TRUE, TRUE);
      trim (&rig);
      g_assert_cmpuint (rig_held (&rig), ==, rows[i].trims ? 0 : 2 * MIB);
      rig.allocator->klass->redirect (rig.allocator, 4, FALSE, TRUE);
      rig_done (&rig);

      rig = npu (plain, "1GiB");
      want (&rig, 0, 1000, BASE, 1536);
      rig.allocator->klass->redirect (rig.allocator, 4, TRUE, FALSE);
      use (&rig, 0, 1);
      put (&rig, 0);
      g_assert_cmpuint (calls (&rig, GEMEM_CALL_EVENT_RECORD), ==, rows[i].holds ? 0 : 1);
      rig.allocator->klass->redirect (rig.allocator, 4, FALSE, FALSE);
      rig_done (&rig);

      rig = npu (ranges, "1GiB");
      want (&rig, 0, 1000, RANGE, 1536);
      put (&rig, 0);
      trim (&rig);
      g_assert_cmpuint (calls (&rig, GEMEM_CALL_STREAM_SYNC), ==, rows[i].unmap_waits ? 0 : 1);
      rig_done (&rig);
    }
}

static void
count (const char *note, gpointer data)
{
  g_assert_true (g_str_has_prefix (note, "torch-npu: segment_size_mb "));
  (*(guint *) data)++;
}

static void
test_notes (void)
{
  static const char *const texts[] = { "torch-npu", "torch-npu:segment_size_mb=64",
                                       "torch-npu:segment_size_mb=64,expandable_segments=yes",
                                       "torch-npu:segment_size_mb=64,page_size=1g" };
  static const guint notes[] = { 0, 2, 1, 2 };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GPtrArray)
          specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      guint n = 0;

      g_assert_true (gemem_allocator_spec_parse (texts[i], specs, NULL));
      gemem_allocator_spec_notes (specs->pdata[0], NULL, count, &n);
      g_assert_cmpuint (n, ==, notes[i]);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/torch-npu/padding", test_padding);
  g_test_add_func ("/torch-npu/alignment", test_alignment);
  g_test_add_func ("/torch-npu/no-room-to-align", test_no_room_to_align);
  g_test_add_func ("/torch-npu/page-of-1g", test_page_of_1g);
  g_test_add_func ("/torch-npu/rejection", test_rejection);
  g_test_add_func ("/torch-npu/fraction", test_fraction);
  g_test_add_func ("/torch-npu/kept-pages", test_kept_pages);
  g_test_add_func ("/torch-npu/page-sizes", test_page_sizes);
  g_test_add_func ("/torch-npu/zero-copy", test_zero_copy);
  g_test_add_func ("/torch-npu/erase-stream", test_erase_stream);
  g_test_add_func ("/torch-npu/own-stream", test_own_stream);
  g_test_add_func ("/torch-npu/release-waits", test_release_waits);
  g_test_add_func ("/torch-npu/lazy-reclaim", test_lazy_reclaim);
  g_test_add_func ("/torch-npu/lazy-events", test_lazy_events);
  g_test_add_func ("/torch-npu/workspaces", test_workspaces);
  g_test_add_func ("/torch-npu/workspace-refused", test_workspace_refused);
  g_test_add_func ("/torch-npu/two-workspaces", test_two_workspaces);
  g_test_add_func ("/torch-npu/uncached", test_uncached);
  g_test_add_func ("/torch-npu/refusals", test_refusals);
  g_test_add_func ("/torch-npu/configurations", test_configurations);
  g_test_add_func ("/torch-npu/strings", test_strings);
  g_test_add_func ("/torch-npu/string-effects", test_string_effects);
  g_test_add_func ("/torch-npu/versions", test_versions);
  g_test_add_func ("/torch-npu/waits", test_waits);
  g_test_add_func ("/torch-npu/notes", test_notes);
  return g_test_run ();
}
