/* test-paddle-versions.c - checks the versions in the table of PaddlePaddle's flags ("Default in
 * 1.2-1.5: -1, 1.6-3.x: 0."): a version that the text names accepts the flag, with that default;
 * every other version refuses it. Every flag has such a sentence, and a probe here. */
#include "config.h"

#include <string.h>

#include "allocators/allocator.h"
#include "allocators/shorthand.h"
#include "workloads/lower-paddle.h"
#include "workloads/lowering.h"

#define NAME(symbol, name, era) name,
#define COUNT(symbol, name, era) +1
#define N_VERSIONS (0 GEMEM_PADDLE_RELEASES (COUNT))

static const char *const versions[N_VERSIONS] = { GEMEM_PADDLE_RELEASES (NAME) };

/* A value that is not the default, and the settings under which the flag has an effect: either
 * of two. */
typedef struct
{
  const char *name, *value, *with[2];
} Probe;

#define GROWTH "allocator_strategy=auto_growth,"
#define NAIVE "allocator_strategy=naive_best_fit,"

static const Probe of_allocators[] = {
  { "allocator_strategy", "naive_best_fit", { "" } },
  { "use_virtual_memory_auto_growth", "yes", { "" } },
  { "use_system_allocator", "yes", { "" } },
  { "fraction_of_gpu_memory_to_use", "0.5", { NAIVE } },
  { "initial_gpu_memory_in_mb", "5", { NAIVE } },
  { "reallocate_gpu_memory_in_mb", "5", { NAIVE } },
  { "free_idle_memory", "yes", { "", NAIVE } },
  { "gpu_memory_limit_mb", "500", { NAIVE } },
  { "gpu_allocator_retry_time", "5", { NAIVE } },
  { "fraction_of_cpu_memory_to_use", "0.5", { "place=cpu," } },
  { "initial_cpu_memory_in_mb", "5", { "place=cpu," } },
  { "fraction_of_cuda_pinned_memory_to_use", "0.25", { "place=pinned," } },
  { "use_pinned_memory", "no", { "place=cpu," } },
  { "auto_growth_chunk_size_in_mb", "1", { GROWTH } },
  { "free_idle_chunk", "yes", { GROWTH } },
  { "free_when_no_cache_hit", "yes", { GROWTH } },
  { "alignment_size", "512", { GROWTH } },
  { "use_stream_safe_cuda_allocator", "no", { GROWTH } },
  { "use_auto_growth_v2", "yes", { GROWTH } },
  { "small_pool_size_in_mb", "1", { GROWTH } },
  { "small_pool_auto_growth_chunk_size_in_mb", "1", { GROWTH "small_pool_size_in_mb=1," } },
  { "large_pool_auto_growth_chunk_size_in_mb", "1", { GROWTH "small_pool_size_in_mb=1," } },
  { "small_pool_pre_alloc_in_mb", "1", { GROWTH "small_pool_size_in_mb=1," } },
  { "large_pool_pre_alloc_in_mb", "1", { GROWTH "small_pool_size_in_mb=1," } },
};

#define PARALLEL "executor=parallel,"
#define FUSED PARALLEL "fuse_all_reduce_ops=yes,"

static const Probe of_lowering[] = {
  { "allocator_strategy", "naive_best_fit", { "" } },
  { "eager_delete_tensor_gb", "1", { "" } },
  { "fast_eager_deletion_mode", "no", { "eager_delete_tensor_gb=0," } },
  { "memory_fraction_of_eager_deletion", "0.5", { PARALLEL "eager_delete_tensor_gb=0," } },
  { "eager_delete_scope", "no", { "" } },
  { "enable_inplace_whitelist", "yes", { PARALLEL "enable_inplace=yes," } },
  { "fuse_parameter_memory_size", "100", { FUSED } },
  { "fuse_parameter_groups_size", "2", { FUSED, FUSED "fuse_parameter_memory_size=1," } },
  { "init_allocated_mem", "yes", { "", NAIVE } },
  { "limit_of_tmp_allocation", "100", { "" } },
  { "times_excess_than_required_tmp_allocation", "3", { "" } },
};

/* ---- the sentence */

static guint
version_number (const char *text, gsize length)
{
  for (guint i = 0; i < N_VERSIONS; i++)
    if (strlen (versions[i]) == length && strncmp (versions[i], text, length) == 0)
      return i;
  g_error ("no version: %.*s", (int) length, text);
}

/* Sets @defaults, which are all NULL, for the versions that the help of @param names. */
static void
read_sentence (const char *owner, const GememParam *param, char **defaults)
{
  const char *start = strstr (param->help, "Default in ");
  g_auto (GStrv) parts = NULL;
  g_autofree char *sentence = NULL;

  if (start == NULL || !g_str_has_suffix (start, "."))
    g_error ("%s: %s: no sentence 'Default in ...' at the end of the help", owner, param->name);
  sentence = g_strndup (start + strlen ("Default in "),
                        strlen (start) - strlen ("Default in ") - 1);
  parts = g_strsplit (sentence, ", ", -1);
  for (guint i = 0; parts[i] != NULL; i++)
    {
      const char *colon = strstr (parts[i], ": "), *dash = strchr (parts[i], '-');
      guint first, last;

      g_assert_nonnull (colon);
      dash = dash != NULL && dash < colon ? dash : NULL;
      first = version_number (parts[i], (gsize) ((dash != NULL ? dash : colon) - parts[i]));
      last = dash != NULL ? version_number (dash + 1, (gsize) (colon - dash - 1)) : first;
      g_assert_cmpuint (first, <=, last);
      for (guint v = first; v <= last; v++)
        {
          g_assert_null (defaults[v]);
          defaults[v] = g_strdup (colon + 2);
        }
    }
}

static void
clear (char **defaults)
{
  for (guint v = 0; v < N_VERSIONS; v++)
    g_clear_pointer (&defaults[v], g_free);
}

/* "0.92" is a short form; the table has "version" or "default" for a default that depends on the
 * version. */
static void
check_default (const char *owner, const GememParam *param, char *const *defaults)
{
  for (guint v = 0; v < N_VERSIONS; v++)
    if (defaults[v] != NULL && strcmp (param->default_text, "version") != 0
        && strcmp (param->default_text, "default") != 0
        && !g_str_has_prefix (param->default_text, defaults[v]))
      g_error ("%s: %s: the default is %s, not %s", owner, param->name, param->default_text,
               defaults[v]);
}

static gboolean
is_flag (const GememParam *param)
{
  g_auto (GStrv) variables = gemem_param_variables (param);

  return variables[0] != NULL && g_str_has_prefix (variables[0], "FLAGS_");
}

/* ---- the proof */

static gboolean
takes (const char *text)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememDevice *device;
  GememAllocator *allocator;
  gboolean ok;

  if (!gemem_allocator_spec_parse (text, specs, NULL))
    return FALSE;
  device = gemem_device_new ("sim:capacity=1GiB", NULL, 0, NULL);
  allocator = gemem_allocator_new (g_ptr_array_index (specs, 0), NULL, device, NULL);
  ok = allocator != NULL;
  gemem_allocator_destroy (allocator);
  gemem_device_destroy (device);
  return ok;
}

/* Resolves @text into @params. */
static gboolean
lowers (const char *text, GememLowerPaddle *params)
{
  static const GememParamContext context = { 0 };
  g_autoptr (GPtrArray) settings = gemem_settings_parse (text, NULL);
  gboolean ok = gemem_params_apply (gemem_lower_paddle_params, params, &context, "paddle", settings,
                                    NULL)
                && gemem_lower_paddle_resolve (params, NULL);

  gemem_params_clear (gemem_lower_paddle_params, params);
  return ok;
}

static gboolean
is_taken (const Probe *probe, guint version, gboolean lowering)
{
  gboolean taken = FALSE;

  for (guint i = 0; i < 2 && probe->with[i] != NULL && !taken; i++)
    {
      g_autofree char *text = g_strdup_printf ("%sversion=%s,%sFLAGS_%s=%s",
                                               lowering ? "" : "paddle:", versions[version],
                                               probe->with[i], probe->name, probe->value);
      GememLowerPaddle params;

      taken = lowering ? lowers (text, &params) : takes (text);
    }
  return taken;
}

static void
check_probe (const Probe *probe, gboolean lowering, char *const *defaults)
{
  for (guint v = 0; v < N_VERSIONS; v++)
    if (is_taken (probe, v, lowering) != (defaults[v] != NULL))
      g_error ("%s%s is %s in %s", lowering ? "--lower=paddle:" : "", probe->name,
               defaults[v] != NULL ? "refused" : "taken", versions[v]);
}

/* Adds the versions that @table names for the flag @name; TRUE if the table has the flag. */
static gboolean
add_row (const char *owner, const GememParam *table, const char *name, char **defaults)
{
  const GememParam *param = gemem_params_find (table, name);

  if (param == NULL || !is_flag (param))
    return FALSE;
  clear (defaults);
  read_sentence (owner, param, defaults);
  check_default (owner, param, defaults);
  return TRUE;
}

static gboolean
add_owner (const char *owner, const GememParam *table, const Probe *probe, gboolean *named)
{
  char *defaults[N_VERSIONS] = { NULL };
  const gboolean known = add_row (owner, table, probe->name, defaults);

  for (guint v = 0; v < N_VERSIONS; v++)
    named[v] = named[v] || defaults[v] != NULL;
  clear (defaults);
  return known;
}

static void
test_allocators (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (of_allocators); i++)
    {
      gboolean named[N_VERSIONS] = { FALSE }, known = FALSE;
      char *any[N_VERSIONS];

      for (const GememNamed *const *s = gemem_shorthands (); *s != NULL; s++)
        known = add_owner ((*s)->name, (*s)->params, &of_allocators[i], named) || known;
      for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
        known = add_owner ((*c)->name, (*c)->params, &of_allocators[i], named) || known;
      g_assert_true (known);
      for (guint v = 0; v < N_VERSIONS; v++)
        any[v] = named[v] ? (char *) "" : NULL;
      check_probe (&of_allocators[i], FALSE, any);
    }
}

/* For the lowering the values are compared, too, where they depend on the version. */
static void
test_lowering (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (of_lowering); i++)
    {
      char *defaults[N_VERSIONS] = { NULL };

      g_assert_true (add_row ("paddle", gemem_lower_paddle_params, of_lowering[i].name, defaults));
      check_probe (&of_lowering[i], TRUE, defaults);
      for (guint v = 0;
           v < N_VERSIONS && strcmp (of_lowering[i].name, "eager_delete_tensor_gb") == 0; v++)
        {
          g_autofree char *text = g_strconcat ("version=", versions[v], NULL);
          GememLowerPaddle params;

          g_assert_true (lowers (text, &params));
          g_assert_true (params.eager_delete_tensor_gb == g_ascii_strtod (defaults[v], NULL));
        }
      clear (defaults);
    }
}

static void
check_probed (const char *owner, const GememParam *table, const Probe *probes, guint n)
{
  for (const GememParam *param = table; param != NULL && param->name != NULL; param++)
    {
      gboolean probed = !is_flag (param);

      for (guint i = 0; i < n && !probed; i++)
        probed = strcmp (probes[i].name, param->name) == 0;
      if (!probed)
        g_error ("%s: %s has no probe", owner, param->name);
    }
}

static void
test_complete (void)
{
  for (const GememNamed *const *s = gemem_shorthands (); *s != NULL; s++)
    check_probed ((*s)->name, (*s)->params, of_allocators, G_N_ELEMENTS (of_allocators));
  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    check_probed ((*c)->name, (*c)->params, of_allocators, G_N_ELEMENTS (of_allocators));
  for (const GememLowering *const *l = gemem_lowerings (); *l != NULL; l++)
    check_probed ((*l)->base.name, (*l)->base.params, of_lowering, G_N_ELEMENTS (of_lowering));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/paddle-versions/allocators", test_allocators);
  g_test_add_func ("/paddle-versions/lowering", test_lowering);
  g_test_add_func ("/paddle-versions/complete", test_complete);
  return g_test_run ();
}
