/* test-dry-images.c - what dry runs read from images with kernels (dry/images/images.h), against what
 * NVIDIA's cuobjdump printed of the same images (tests/data/dry/make-images), and occupancy, against
 * the programming guide and, where the toolkit is installed, the calculator that it brings.
 */
#include "config.h"

#include <limits.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dry/images/images-private.h"
#include "tests/util/testutil.h"

#if defined HAVE_CUDA && defined __has_include
#if __has_include(<cuda_occupancy.h>)
#define HAVE_CALCULATOR
#endif
#endif

typedef struct
{
  char *bytes;
  gsize size;
} File;

static void
file_read (File *file, const char *name)
{
  g_autofree char *relative = g_strconcat ("tests/data/dry/", name, NULL),
                  *path = test_source_path (relative);
  g_autoptr (GError) error = NULL;

  g_file_get_contents (path, &file->bytes, &file->size, &error);
  g_assert_no_error (error);
}

/* ---- figures */

static const char *const kernel_names[] = { "plain", "bounded", "dynamic" };

/* The line "FILE ARCHITECTURE KERNEL registers stack shared" of figures.txt. */
static void
expect_figures (const char *figures, const char *name, const char *architecture, const char *kernel,
                const GememDryKernel *found)
{
  g_autofree char *start = g_strdup_printf ("%s %s %s ", name, architecture, kernel),
                  *line = g_strdup_printf ("%s%d %d %d\n", start, found->registers, found->local,
                                           found->static_shared + found->reserved_shared);
  const char *wanted = strstr (figures, start);

  g_assert_nonnull (wanted);
  wanted = g_strndup (wanted, strchr (wanted, '\n') + 1 - wanted);
  g_assert_cmpstr (line, ==, wanted);
  g_free ((char *) wanted);
}

/* A GPU that is given an image, and the entry that it runs; "ptx": PTX; NULL: it has no code for it. */
static const struct
{
  const char *file;
  int sm;
  const char *architecture;
  int binary_version, ptx_version;
} choices[] = {
  { "zstd.fatbin", 75, "sm_75", 75, 75 },
  { "zstd.fatbin", 80, "sm_80", 80, 80 },
  { "zstd.fatbin", 86, "sm_86", 86, 86 },
  { "zstd.fatbin", 87, "sm_86", 86, 86 },
  { "zstd.fatbin", 89, "sm_86", 86, 86 },
  { "zstd.fatbin", 90, "sm_90a", 90, 90 },
  { "zstd.fatbin", 100, "sm_100f", 100, 100 },
  { "zstd.fatbin", 103, "sm_100f", 100, 100 },
  { "zstd.fatbin", 110, "ptx", 110, 75 },
  { "zstd.fatbin", 120, "sm_120", 120, 120 },
  { "zstd.fatbin", 121, "sm_120", 120, 120 },
  { "zstd.fatbin", 70, NULL, 0, 0 },
  { "lz4.fatbin", 80, "sm_80", 80, 80 },
  { "lz4.fatbin", 89, "sm_80", 80, 80 },
  { "lz4.fatbin", 90, "sm_90", 90, 90 },
  { "lz4.fatbin", 100, "ptx", 100, 75 },
  { "none.fatbin", 89, "sm_89", 89, 89 },
  { "none.fatbin", 86, "ptx", 86, 75 },
  { "none.fatbin", 60, NULL, 0, 0 },
  { "sm_80.cubin", 80, "-", 80, 80 },
  { "sm_80.cubin", 86, "-", 80, 80 },
  { "sm_80.cubin", 75, NULL, 0, 0 },
  { "sm_80.cubin", 90, NULL, 0, 0 },
  { "sm_90a.cubin", 90, "-", 90, 90 },
  { "sm_90a.cubin", 91, NULL, 0, 0 },
  { "toolkit-11-sm_52.cubin", 52, "-", 52, 52 },
  { "toolkit-11-sm_52.cubin", 50, NULL, 0, 0 },
  { "toolkit-12-sm_90a.cubin", 90, "-", 90, 90 },
  { "toolkit-12-sm_90a.cubin", 91, NULL, 0, 0 },
  { "kernels.ptx", 90, "ptx", 90, 75 },
};

static void
test_figures (void)
{
  File figures;

  file_read (&figures, "figures.txt");
  for (guint i = 0; i < G_N_ELEMENTS (choices); i++)
    {
      const int sm = choices[i].sm;
      const char *problem = NULL;
      const void *image;
      File file;

      g_test_message ("%s on sm_%d", choices[i].file, sm);
      file_read (&file, choices[i].file);
      image = gemem_dry_image_load (file.bytes, file.size, sm);
      memset (file.bytes, 0, file.size); /* not needed any longer */
      g_assert_cmpint (gemem_dry_image_state (image, sm, &problem), ==,
                       choices[i].architecture != NULL ? GEMEM_DRY_IMAGE_READ
                                                       : GEMEM_DRY_IMAGE_NO_CODE);
      g_assert_true ((problem == NULL) == (choices[i].architecture != NULL));
      for (guint k = 0; k < G_N_ELEMENTS (kernel_names); k++)
        {
          const GememDryKernel *found = gemem_dry_kernel (image, kernel_names[k], sm);

          g_assert_true ((found != NULL) == (choices[i].architecture != NULL));
          if (found == NULL)
            continue;
          if (strcmp (choices[i].architecture, "ptx") == 0)
            {
              g_assert_cmpint (found->registers, ==, 0);
              g_assert_cmpint (found->static_shared, ==, k == 0 ? 0 : k == 1 ? 1200 : 20);
            }
          else
            {
              expect_figures (figures.bytes, choices[i].file, choices[i].architecture,
                              kernel_names[k], found);
              g_assert_cmpint (found->constant, ==, 80);
            }
          g_assert_nonnull (found->parameters);
          g_assert_cmpuint (found->parameters->len, ==, k == 2 ? 2 : 1);
          g_assert_cmpuint (g_array_index (found->parameters, guint16, 0), ==, 8);
          if (k == 2)
            g_assert_cmpuint (g_array_index (found->parameters, guint16, 1), ==, 4);
          g_assert_cmpint (found->max_threads, ==, k == 1 ? 128 : 0);
          g_assert_cmpint (found->binary_version, ==, choices[i].binary_version);
          g_assert_cmpint (found->ptx_version, ==, choices[i].ptx_version);
        }
      g_assert_null (gemem_dry_kernel (image, "absent", sm));
      gemem_dry_image_forget (image);
      g_free (file.bytes);
    }
  g_free (figures.bytes);
}

static void
test_symbols (void)
{
  static const char *const names[] = { "zstd.fatbin", "sm_80.cubin", "kernels.ptx" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      guint64 size = 0;
      File file;

      file_read (&file, names[i]);
      g_assert_true (gemem_dry_symbol (file.bytes, "table", 80, &size));
      g_assert_cmpuint (size, ==, 80);
      g_assert_true (gemem_dry_symbol (file.bytes, "counter", 80, &size));
      g_assert_cmpuint (size, ==, 4);
      g_assert_true (gemem_dry_symbol (file.bytes, "started", 80, &size));
      g_assert_cmpuint (size, ==, 12);
      g_assert_true (gemem_dry_symbol (file.bytes, "table", 80, NULL));
      g_assert_false (gemem_dry_symbol (file.bytes, "plain", 80, &size));
      g_assert_false (gemem_dry_symbol (file.bytes, "d", 80, &size));
      gemem_dry_image_forget (file.bytes);
      g_free (file.bytes);
    }
}

/* PTX by hand: bounds, clusters, shared variables outside of kernels, texts in quotes. */
static void
test_ptx (void)
{
  static const char text[] =
      "/* a */ .version 8.0 .target sm_90a, debug .address_size 64\n"
      ".shared .align 16 .b8 common[100];\n"
      ".visible .global .align 8 .v2 .f64 pairs[3][2] = {1, 2};\n"
      ".visible .entry first (.param .u64 .ptr .global .align 16 p) .reqntid 8, 4\n"
      ".reqnctapercluster 2, 1, 1\n"
      "{ .pragma \"no{unroll\"; .shared .b32 x; { .shared .align 8 .f64 y[2]; }\n"
      "mov.u32 %r1, common; add.u32 %r2, common, 1; }\n"
      ".entry second () { ret; }\n"
      ".entry third { ret; }\n";
  const void *image = gemem_dry_image_load (text, sizeof text, 90);
  const GememDryKernel *first = gemem_dry_kernel (image, "first", 90),
                       *second = gemem_dry_kernel (image, "second", 90),
                       *third = gemem_dry_kernel (image, "third", 90);
  guint64 size = 0;

  g_assert_nonnull (first);
  g_assert_nonnull (second);
  g_assert_cmpint (first->max_threads, ==, 32);
  g_assert_cmpuint (first->parameters->len, ==, 1);
  g_assert_cmpuint (g_array_index (first->parameters, guint16, 0), ==, 8);
  g_assert_cmpuint (second->parameters->len, ==, 0);
  g_assert_nonnull (third);
  g_assert_null (third->parameters); /* not told */
  g_assert_cmpint (first->cluster[0], ==, 2);
  g_assert_cmpint (first->static_shared, ==, 4 + 4 + 16 + 8 + 100); /* x, y at 8, common at 32 */
  g_assert_cmpint (first->ptx_version, ==, 90);
  g_assert_cmpint (second->static_shared, ==, 0);
  g_assert_cmpint (second->max_threads, ==, 0);
  g_assert_true (gemem_dry_symbol (image, "pairs", 90, &size));
  g_assert_cmpuint (size, ==, 96);
  g_assert_false (gemem_dry_symbol (image, "p", 90, NULL));
  gemem_dry_image_forget (image);
}

/* ---- PTX that is compiled */

static guint compilations;

/* A compiler whose code for an sm_80 is that of a file, and that knows no other GPU. */
static guint8 *
compile (const char *ptx, int sm, gsize *size)
{
  File file;

  compilations++;
  g_assert_nonnull (strstr (ptx, ".entry plain"));
  if (sm != 80)
    return NULL;
  file_read (&file, "sm_80.cubin");
  *size = file.size;
  return (guint8 *) file.bytes;
}

static void
test_compiled (void)
{
  const void *image, *unknown, *uncompiled, *code;
  File ptx, cubin;

  file_read (&ptx, "kernels.ptx");
  file_read (&cubin, "sm_80.cubin");
  uncompiled = gemem_dry_image_load (ptx.bytes, ptx.size, 80); /* before there is a compiler */
  gemem_dry_set_compiler (compile);
  image = gemem_dry_image_load (ptx.bytes, ptx.size, 80);
  unknown = gemem_dry_image_load (ptx.bytes, ptx.size, 90);
  code = gemem_dry_image_load (cubin.bytes, cubin.size, 80);
  g_assert_cmpint (gemem_dry_kernel (image, "plain", 80)->registers, ==, 0);
  g_assert_cmpuint (compilations, ==, 0); /* nobody has asked */
  for (guint i = 0; i < 2; i++)
    {
      g_assert_cmpint (gemem_dry_kernel_compiled (image, "plain", 80)->registers, ==, 12);
      g_assert_null (gemem_dry_kernel_compiled (image, "absent", 80));
      g_assert_cmpuint (compilations, ==, 1);
    }
  for (guint i = 0; i < 2; i++)
    {
      g_assert_null (gemem_dry_kernel_compiled (unknown, "plain", 90));
      g_assert_cmpuint (compilations, ==, 2);
    }
  g_assert_null (gemem_dry_kernel_compiled (uncompiled, "plain", 80));
  g_assert_null (gemem_dry_kernel_compiled (code, "plain", 80)); /* it is no PTX */
  g_assert_cmpuint (compilations, ==, 2);
  gemem_dry_set_compiler (NULL);
  gemem_dry_image_forget (image);
  gemem_dry_image_forget (unknown);
  gemem_dry_image_forget (uncompiled);
  gemem_dry_image_forget (code);
  g_free (ptx.bytes);
  g_free (cubin.bytes);
}

/* Text whose length nobody says, as cuModuleLoadData() is given, ends with its 0: of the memory behind it nothing is kept. */
static void
test_text (void)
{
  const gsize size = (gsize) 256 << 20;
  char *memory = mmap (NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const struct mallinfo2 before = mallinfo2 ();
  const void *image;
  File ptx;

  g_assert_true (memory != MAP_FAILED);
  file_read (&ptx, "kernels.ptx");
  memcpy (memory, ptx.bytes, ptx.size);
  gemem_dry_set_compiler (compile);
  image = gemem_dry_image_load (memory, 0, 80);
  const struct mallinfo2 after = mallinfo2 ();
  g_assert_cmpuint (after.uordblks + after.hblkhd, <, before.uordblks + before.hblkhd + (1 << 20));
  g_assert_cmpint (gemem_dry_kernel_compiled (image, "plain", 80)->registers, ==, 12);
  gemem_dry_set_compiler (NULL);
  gemem_dry_image_forget (image);
  g_free (ptx.bytes);
  munmap (memory, size);
}

/* What the code made by nvcc registers: a wrapper, read at the first question and not before. */
static void
test_wrapper (void)
{
  File file;
  struct
  {
    guint32 magic, version;
    const void *data, *more;
  } wrapper = { 0x466243b1, 1, NULL, NULL };

  file_read (&file, "lz4.fatbin");
  wrapper.data = file.bytes;
  g_assert_cmpint (gemem_dry_kernel (&wrapper, "plain", 80)->registers, ==, 12);
  g_assert_cmpint (gemem_dry_kernel (&wrapper, "plain", 90)->reserved_shared, ==, 1024);
  /* Other contents at the same address are another image after the first one was unregistered. */
  memset (file.bytes, 0, file.size);
  g_assert_nonnull (gemem_dry_kernel (&wrapper, "plain", 80));
  gemem_dry_image_forget (&wrapper);
  g_assert_null (gemem_dry_kernel (&wrapper, "plain", 80));
  gemem_dry_image_forget (&wrapper);
  wrapper.data = (const void *) 8;
  g_assert_cmpint (gemem_dry_image_state (&wrapper, 80, NULL), ==, GEMEM_DRY_IMAGE_DAMAGED);
  gemem_dry_image_forget (&wrapper);
  g_free (file.bytes);
}

/* ---- damage */

static const char *const damaged_files[] = { "zstd.fatbin",
                                             "lz4.fatbin",
                                             "none.fatbin",
                                             "sm_80.cubin",
                                             "sm_90a.cubin",
                                             "toolkit-11-sm_52.cubin",
                                             "toolkit-12-sm_90a.cubin",
                                             "kernels.ptx" };

/* Memory whose last @size bytes can be read and are followed by some that cannot. */
typedef struct
{
  char *start, *end;
} Fence;

static void
fence_new (Fence *fence, gsize size)
{
  const gsize page = sysconf (_SC_PAGESIZE), length = (size + page - 1) / page * page;

  fence->start = mmap (NULL, length + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);
  g_assert_true (fence->start != MAP_FAILED);
  fence->end = fence->start + length;
  g_assert_cmpint (mprotect (fence->end, page, PROT_NONE), ==, 0);
}

static void
fence_free (Fence *fence)
{
  munmap (fence->start, fence->end - fence->start + sysconf (_SC_PAGESIZE));
}

static gboolean
try_image (const char *bytes, gsize size, int sm)
{
  const void *image = gemem_dry_image_load (bytes, size, sm);
  const gboolean read = gemem_dry_image_state (image, sm, NULL) == GEMEM_DRY_IMAGE_READ;

  g_assert_true (read || gemem_dry_kernel (image, "plain", sm) == NULL);
  gemem_dry_image_forget (image);
  return read;
}

static void
test_truncated (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (damaged_files); i++)
    {
      const int sm = strstr (damaged_files[i], "52") != NULL   ? 52
                     : strstr (damaged_files[i], "90") != NULL ? 90
                                                               : 80;
      File file;
      Fence fence;
      guint whole = 0;

      file_read (&file, damaged_files[i]);
      fence_new (&fence, file.size);
      for (gsize size = 1; size < file.size; size += 1 + size / 100)
        {
          char *bytes = memcpy (fence.end - size, file.bytes, size);
          whole += try_image (bytes, size, sm);
          if (size % 8 == 0) /* where the length is not known, it ends with the memory */
            whole += try_image (bytes, 0, sm);
        }
      if (!g_str_has_suffix (damaged_files[i], ".ptx"))
        g_assert_cmpuint (whole, ==, 0);
      memcpy (fence.end - file.size, file.bytes, file.size);
      g_assert_true (try_image (fence.end - file.size, 0, sm)
                     || strcmp (damaged_files[i], "none.fatbin") == 0);
      fence_free (&fence);
      g_free (file.bytes);
    }
}

static void
test_flipped (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (damaged_files); i++)
    {
      File file;
      Fence fence;
      char *bytes;
      gint64 began = g_get_monotonic_time ();

      file_read (&file, damaged_files[i]);
      fence_new (&fence, file.size);
      bytes = memcpy (fence.end - file.size, file.bytes, file.size);
      for (gsize at = 0; at < file.size; at++)
        {
          static const int targets[] = { 52, 80, 90, 100 };
          const char was = bytes[at];

          bytes[at] ^= 1 << g_test_rand_int_range (0, 8);
          try_image (bytes, file.size, targets[at % G_N_ELEMENTS (targets)]);
          bytes[at] = (char) 0xff;
          try_image (bytes, file.size, targets[(at + 1) % G_N_ELEMENTS (targets)]);
          bytes[at] = was;
        }
      g_assert_cmpint (g_get_monotonic_time () - began, <, 20 * G_USEC_PER_SEC);
      fence_free (&fence);
      g_free (file.bytes);
    }
}

/* Bytes that are too few for anything, and compressed ones that unpack to another length. */
static void
test_limits (void)
{
  static char nothing[] = "";

  g_assert_false (try_image (nothing, 1, 80));
  g_assert_false (try_image ("\177ELF", 4, 80));
  g_assert_cmpint (gemem_dry_image_state (NULL, 80, NULL), ==, GEMEM_DRY_IMAGE_DAMAGED);
  gemem_dry_image_forget (NULL);
  /* Compressed bytes that would unpack to more than is there, and to less. */
  g_assert_null (
      gemem_dry_unpack_lz4 ((GememBytes){ (const guint8 *) "\x1fz\1\0\xff\xff\xff\0", 8 }, 700));
  g_assert_null (gemem_dry_unpack_lz4 ((GememBytes){ (const guint8 *) "\x10z", 2 }, 2));
  g_assert_null (
      gemem_dry_unpack_lz4 ((GememBytes){ (const guint8 *) "\x10z", 2 }, (gsize) 1 << 40));
  g_assert_null (
      gemem_dry_unpack_zstd ((GememBytes){ (const guint8 *) "zstd", 4 }, (gsize) 1 << 40));
}

/* ---- threads */

static gpointer
ask_often (gpointer image)
{
  for (guint i = 0; i < 2000; i++)
    {
      g_assert_nonnull (gemem_dry_kernel (image, kernel_names[i % 3], i % 2 == 0 ? 80 : 90));
      if (i % 100 == 0)
        {
          File *file = image;
          const void *loaded = gemem_dry_image_load (file, 0, 80);
          gemem_dry_image_forget (loaded);
        }
    }
  return NULL;
}

static void
test_threads (void)
{
  GThread *threads[8];
  File file;

  file_read (&file, "zstd.fatbin");
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("images", ask_often, file.bytes);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  gemem_dry_image_forget (file.bytes);
  g_free (file.bytes);
}

/* ---- occupancy */

static const GememGpu *
gpu (const char *name)
{
  g_autoptr (GError) error = NULL;
  const GememGpu *found = gemem_gpu_find (name, &error);

  g_assert_no_error (error);
  return found;
}

/* By hand from the programming guide's tables. */
static void
test_occupancy (void)
{
  static const struct
  {
    const char *gpu;
    int registers, shared, threads;
    gsize dynamic;
    int blocks;
  } known[] = {
    { "h100", 32, 0, 256, 0, 8 },         /* 64 warps */
    { "h100", 32, 0, 32, 0, 32 },         /* 32 blocks */
    { "h100", 33, 0, 256, 0, 6 },         /* 40 registers a thread: 12 warps of each scheduler */
    { "h100", 64, 0, 1024, 0, 1 },        /* all registers */
    { "h100", 65, 0, 1024, 0, 0 },        /* more than there are */
    { "h100", 255, 0, 256, 0, 1 },        /* 256 registers, 2 warps of each scheduler */
    { "h100", 32, 0, 128, 232448, 1 },    /* 227 KiB, the most for a block */
    { "h100", 32, 1, 128, 232448, 0 },    /* */
    { "h100", 32, 0, 128, 115712, 2 },    /* 113 KiB and 1 KiB of the system's: 228 / 114 */
    { "h100", 32, 0, 128, 115713, 1 },    /* */
    { "a100-80", 32, 0, 128, 166912, 1 }, /* 163 KiB */
    { "rtx3090", 32, 0, 512, 0, 3 },      /* 48 warps */
    { "rtx4090", 16, 0, 32, 0, 24 },      /* 24 blocks */
    { "t4", 32, 0, 1024, 0, 1 },          /* 32 warps */
    { "t4", 32, 32768, 32, 0, 2 },        /* nothing is the system's before sm_80 */
    { "h100", 0, 0, 1024, 0, 2 },         /* unknown registers do not limit */
    { "h100", 32, 0, 1025, 0, 0 },        /* */
    { "h100", 32, 0, 0, 0, 0 },           /* */
    { "h100", 32, 0, 33, 0, 32 },         /* two warps */
  };

  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    {
      const GememDryKernel kernel = { .registers = known[i].registers,
                                      .static_shared = known[i].shared };

      g_test_message ("row %u", i);
      g_assert_cmpint (
          gemem_dry_occupancy (&kernel, gpu (known[i].gpu), known[i].threads, known[i].dynamic), ==,
          known[i].blocks);
    }
  g_assert_cmpint (gemem_dry_max_threads (&(GememDryKernel){ .registers = 128 }, gpu ("h100")), ==,
                   512);
  g_assert_cmpint (
      gemem_dry_max_threads (&(GememDryKernel){ .registers = 24, .max_threads = 96 }, gpu ("h100")),
      ==, 96);
}

#ifdef HAVE_CALCULATOR
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop

static size_t
shared_by_threads (int threads)
{
  return (size_t) threads * 40;
}

static gsize
shared_by_threads_too (int threads, gpointer data)
{
  return shared_by_threads (threads);
}

static void
compare (const GememGpu *on, int registers, int shared, int limit)
{
  const GememDryKernel kernel = { .registers = registers,
                                  .static_shared = shared,
                                  .max_threads = limit };
  const cudaOccDeviceProp device = {
    .computeMajor = on->major,
    .computeMinor = on->minor,
    .maxThreadsPerBlock = 1024,
    .maxThreadsPerMultiprocessor = on->threads_per_multiprocessor,
    .regsPerBlock = 65536,
    .regsPerMultiprocessor = 65536,
    .warpSize = 32,
    .sharedMemPerBlock = on->shared_per_block,
    .sharedMemPerMultiprocessor = on->shared_per_multiprocessor,
    .numSms = on->multiprocessors,
    .sharedMemPerBlockOptin = on->shared_per_block_optin,
    .reservedSharedMemPerBlock = on->major >= 8 ? 1024 : 0,
  };
  const cudaOccFuncAttributes function = {
    .maxThreadsPerBlock = limit > 0 ? limit : INT_MAX,
    .numRegs = registers,
    .sharedSizeBytes = shared,
    .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
    .maxDynamicSharedSizeBytes = on->shared_per_block_optin - shared,
    .numBlockBarriers = 1,
  };
  const cudaOccDeviceState state = { .carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT };
  cudaOccResult result;
  int grid = 0, threads, our_grid, our_threads;
  size_t most = 0;

  for (threads = 1; threads <= 1024; threads += threads < 64 ? 21 : 95)
    for (gsize dynamic = 0; dynamic <= 240000; dynamic += 9973)
      {
        if (cudaOccMaxActiveBlocksPerMultiprocessor (&result, &device, &function, &state, threads,
                                                     dynamic)
            != CUDA_OCC_SUCCESS)
          result.activeBlocksPerMultiprocessor = 0;
        if (gemem_dry_occupancy (&kernel, on, threads, dynamic)
            != result.activeBlocksPerMultiprocessor)
          g_error ("%s: %d registers, %d + %" G_GSIZE_FORMAT " shared, %d threads: %d, not %d",
                   on->name, registers, shared, dynamic, threads,
                   gemem_dry_occupancy (&kernel, on, threads, dynamic),
                   result.activeBlocksPerMultiprocessor);
      }
  for (guint variable = 0; variable < 2; variable++)
    {
      g_assert_cmpint (
          cudaOccMaxPotentialOccupancyBlockSize (&grid, &threads, &device, &function, &state,
                                                 variable ? shared_by_threads : NULL, 0),
          ==, CUDA_OCC_SUCCESS);
      our_threads = gemem_dry_block_size (&kernel, on, 0, variable ? shared_by_threads_too : NULL,
                                          NULL, &our_grid);
      if (our_threads != threads || our_grid != grid)
        g_error ("%s: %d registers, %d shared, limit %d, variable %u: %d of %d, not %d of %d",
                 on->name, registers, shared, limit, variable, our_grid, our_threads, grid,
                 threads);
    }
  for (int blocks = 1; blocks <= 16; blocks++)
    {
      const gsize ours = gemem_dry_dynamic_shared (&kernel, on, blocks, 128);

      /* From sm_80 on the calculator's answer leaves out what is the system's, and its own occupancy
       * with that much is less than it was asked for. */
      if (on->major < 8
          && cudaOccAvailableDynamicSMemPerBlock (&most, &device, &function, &state, blocks, 128)
                 == CUDA_OCC_SUCCESS)
        g_assert_cmpuint (ours, ==, most);
      if (ours > 0)
        g_assert_cmpint (gemem_dry_occupancy (&kernel, on, 128, ours), >=, blocks);
      if (ours > 0 && ours + shared < (gsize) on->shared_per_block_optin)
        g_assert_cmpint (gemem_dry_occupancy (&kernel, on, 128, ours + 256), <, blocks);
    }
}
#endif

static void
test_calculator (void)
{
#ifdef HAVE_CALCULATOR
  static const char *const gpus[] = { "h100",    "a100-80", "rtx3090", "rtx4090", "t4",
                                      "v100-32", "p100",    "b200",    "rtx5090" };

  for (guint i = 0; i < G_N_ELEMENTS (gpus); i++)
    for (int registers = 16; registers <= 255; registers += 17)
      for (int shared = 0; shared <= 48000; shared += 15999)
        compare (gpu (gpus[i]), registers, shared, shared == 15999 ? 384 : 0);
#else
  g_test_skip ("no occupancy calculator (cuda_occupancy.h) of the CUDA toolkit");
#endif
}

/* Clusters lie within GPCs: an H100's row says which; of other GPUs they are spread evenly. */
static void
test_clusters (void)
{
  static const struct
  {
    const char *gpu;
    int cluster, clusters;
  } known[] = {
    { "h100", 1, 132 }, { "h100", 2, 66 },    { "h100", 16, 7 },     { "h100", 18, 5 },
    { "h100", 20, 0 },  { "h200", 16, 8 },    { "h200", 18, 2 },     { "b200", 18, 8 },
    { "b200", 20, 2 },  { "rtx5090", 16, 8 }, { "a100-40", 1, 108 }, { "a100-40", 2, 0 }
  };
  const GememDryKernel kernel = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    {
      const GememGpu *on = gpu (known[i].gpu);
      g_assert_cmpint (
          gemem_dry_clusters (&kernel, on, 128, on->shared_per_block_optin, known[i].cluster), ==,
          known[i].clusters);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/dry-images/figures", test_figures);
  g_test_add_func ("/dry-images/symbols", test_symbols);
  g_test_add_func ("/dry-images/ptx", test_ptx);
  g_test_add_func ("/dry-images/compiled", test_compiled);
  g_test_add_func ("/dry-images/text", test_text);
  g_test_add_func ("/dry-images/wrapper", test_wrapper);
  g_test_add_func ("/dry-images/truncated", test_truncated);
  g_test_add_func ("/dry-images/flipped", test_flipped);
  g_test_add_func ("/dry-images/limits", test_limits);
  g_test_add_func ("/dry-images/threads", test_threads);
  g_test_add_func ("/dry-images/occupancy", test_occupancy);
  g_test_add_func ("/dry-images/clusters", test_clusters);
  g_test_add_func ("/dry-images/calculator", test_calculator);
  return g_test_run ();
}
