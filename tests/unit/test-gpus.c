/* test-gpus.c - the table of GPUs: every row is plausible, and a name finds its row or an error
 * that helps. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "devices/gpus.h"

static void
test_rows (void)
{
  for (const GememGpu *gpu = gemem_gpus (); gpu->name != NULL; gpu++)
    {
      g_assert_true (gemem_gpu_find (gpu->name, NULL) == gpu); /* also: no name twice */
      g_autofree char *lower = g_ascii_strdown (gpu->name, -1);
      g_assert_cmpstr (gpu->name, ==, lower);
      g_assert_true (gpu->memory > 8 * GEMEM_GIB && gpu->memory < 300 * GEMEM_GIB);
      g_assert_true (g_str_has_prefix (gpu->source, "reported: ")
                     || g_str_has_prefix (gpu->source, "assumed: ")
                     || g_str_has_prefix (gpu->source, "measured: "));
      g_assert_true ((gemem_gpu_find_cuda (gpu->name, NULL) == gpu) == (gpu->major > 0));
      if (gpu->major == 0)
        continue;
      g_assert_true (gpu->major >= 6 && gpu->minor >= 0 && gpu->minor < 10);
      g_assert_true (gpu->multiprocessors >= 20 && gpu->multiprocessors <= 200);
      g_assert_true (gpu->threads_per_multiprocessor >= 1024
                     && gpu->threads_per_multiprocessor <= 2048);
      g_assert_true (gpu->blocks_per_multiprocessor >= 16);
      g_assert_cmpint (gpu->shared_per_block, ==, 49152);
      g_assert_true (gpu->shared_per_block_optin >= gpu->shared_per_block
                     && gpu->shared_per_block_optin <= gpu->shared_per_multiprocessor);
      guint in_gpcs = 0;
      for (guint i = 0; i < GEMEM_GPCS_MAX; i++)
        in_gpcs += gpu->gpcs[i];
      g_assert_true (in_gpcs == 0 || in_gpcs == (guint) gpu->multiprocessors);
      g_assert_true (gpu->l2 >= 2 << 20 && gpu->l2 <= 256 << 20);
      g_assert_true (gpu->clock_khz > 1000000 && gpu->memory_clock_khz > 500000);
      g_assert_true (gpu->bus_bits % 64 == 0 && gpu->bus_bits >= 128);
    }
}

/* Figures that the programming guide states, and that the recordings of PyTorch were made with. */
static void
test_known (void)
{
  const GememGpu *h100 = gemem_gpu_find ("h100", NULL);
  const GememGpu *a100 = gemem_gpu_find ("A100_40", NULL);

  g_assert_cmpint (h100->shared_per_multiprocessor, ==, 233472);
  g_assert_cmpint (h100->shared_per_block_optin, ==, 232448);
  g_assert_cmpint (h100->l2, ==, 50 << 20);
  g_assert_cmpuint (h100->memory, ==, 81079 * GEMEM_MIB);
  g_assert_nonnull (a100);
  g_assert_cmpint (a100->shared_per_multiprocessor, ==, 167936);
  g_assert_cmpint (a100->shared_per_block_optin, ==, 166912);
}

/* As people write them. */
static void
test_spellings (void)
{
  static const char *const same[][2] = {
    { "RTX 4090", "rtx4090" },    { "rtx_4090", "rtx4090" },
    { "4090", "rtx4090" },        { "NVIDIA GeForce RTX 4060 Ti", "rtx4060ti" },
    { "a100-80gb", "a100-80" },   { "A100-SXM4-40GB", "a100-40" },
    { "h100_pcie", "h100-pcie" }, { "H100", "h100" },
    { "MI300X", "mi300x" },       { "7900 XTX", "rx7900xtx" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (same); i++)
    {
      const GememGpu *gpu = gemem_gpu_find (same[i][0], NULL);
      g_assert_nonnull (gpu);
      g_assert_cmpstr (gpu->name, ==, same[i][1]);
    }
}

static void
test_unknown (void)
{
  static const char *const wrong[][2] = {
    { "h10", "h100" },
    { "a100", "sizes: a100-40 (39.38 GiB), a100-80 (79.15 GiB)" },
    { "rtx4091", "rtx4090" },
    { "v100", "v100-16 (15.77 GiB), v100-32 (31.73 GiB)" },
    { "40GB", "gemem-sim list gpus" },
    { "qwertyuiop", "gemem-sim list gpus" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_null (gemem_gpu_find (wrong[i][0], &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
      g_assert_nonnull (strstr (error->message, wrong[i][1]));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gpus/rows", test_rows);
  g_test_add_func ("/gpus/known", test_known);
  g_test_add_func ("/gpus/spellings", test_spellings);
  g_test_add_func ("/gpus/unknown", test_unknown);
  return g_test_run ();
}
