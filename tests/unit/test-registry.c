/* test-registry.c - names, aliases, globs, value lists, device keys, defaults, plugins; each error
 * with its message. */
#include "config.h"

#include <gio/gio.h>
#include <string.h>

#include "allocators/registry.h"
#include "planners/planner.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"
#include "workloads/lowering.h"

static GPtrArray *
parse (const char *text, GError **error)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);

  if (gemem_allocator_spec_parse (text, specs, error))
    return g_steal_pointer (&specs);
  g_assert_cmpuint (specs->len, ==, 0); /* all or nothing */
  return NULL;
}

/* "label;label" */
static char *
labels (const GPtrArray *specs)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < specs->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? ";" : "",
                            ((GememAllocatorSpec *) g_ptr_array_index (specs, i))->label);
  return g_string_free (text, FALSE);
}

static void
assert_labels (const char *text, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) specs = parse (text, &error);
  g_autofree char *got = NULL;

  g_assert_no_error (error);
  got = labels (specs);
  g_assert_cmpstr (got, ==, expected);
}

/* Checks that @text is refused as bad usage, with @part in the message. */
static void
assert_refused (const char *text, const char *part)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (parse (text, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  if (strstr (error->message, part) == NULL)
    g_error ("'%s' gives '%s', without '%s'", text, error->message, part);
}

static void
test_find (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_cmpstr (gemem_allocator_classes ()[0]->name, ==, "direct");
  g_assert_cmpstr (gemem_allocator_find ("direct", NULL)->name, ==, "direct");
  g_assert_cmpstr (gemem_allocator_find ("PyTorch_Caching", NULL)->name, ==, "pytorch-caching");
  g_assert_cmpstr (gemem_allocator_find ("pytorch", NULL)->name, ==, "pytorch-caching");
  g_assert_null (gemem_allocator_find ("pytorch-cachng", &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_cmpstr (error->message, ==,
                   "unknown allocator 'pytorch-cachng'; did you mean 'pytorch-caching'?");
}

/* The promises of every class to the registry's users. */
static void
test_classes (void)
{
  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    {
      g_assert_cmpuint ((*c)->abi, ==, GEMEM_ALLOCATOR_ABI);
      g_assert_true ((*c)->create != NULL && (*c)->alloc != NULL && (*c)->free != NULL
                     && (*c)->largest_free != NULL && (*c)->walk != NULL && (*c)->check != NULL
                     && (*c)->destroy != NULL);
      g_assert_cmpuint ((*c)->alignment, >, 0);
      g_assert_true (gemem_allocator_find ((*c)->name, NULL) == *c);
      g_assert_true ((*c)->summary != NULL && (*c)->origin != NULL
                     && !g_str_has_suffix ((*c)->summary, "."));
      g_assert_true (((*c)->adopt.segment == NULL) == ((*c)->adopt.block == NULL));
      g_assert_true (((*c)->streams.record == NULL) == ((*c)->streams.wait == NULL));
      g_assert_true (((*c)->graphs.load == NULL) == ((*c)->graphs.run == NULL)
                     && ((*c)->graphs.load == NULL) == ((*c)->graphs.unload == NULL)
                     && ((*c)->graphs.load == NULL) == ((*c)->graphs.bytes == NULL));
    }
}

static void
test_specs (void)
{
  assert_labels ("direct", "direct");
  assert_labels ("pytorch:max_split_size_mb=200", "pytorch:max_split_size_mb=200");
  assert_labels (" direct ", " direct ");
  assert_labels ("direct:", "direct:");
  assert_labels ("pytorch-caching:max_split_size_mb=20|unlimited,memory_limit=1GiB|2GiB",
                 "pytorch-caching:max_split_size_mb=20,memory_limit=1GiB;pytorch-caching:max_split_"
                 "size_mb=20,memory_limit=2GiB;"
                 "pytorch-caching:max_split_size_mb=unlimited,memory_limit=1GiB;pytorch-caching:"
                 "max_split_size_mb=unlimited,memory_limit=2GiB");
  assert_labels ("pytorch:roundup_power2_divisions=[64:8,>:1]|4",
                 "pytorch:roundup_power2_divisions=[64:8,>:1];pytorch:roundup_power2_divisions=4");
  assert_labels (
      "pytorch:conf=\"max_split_size_mb:200,backend:native\"|backend:native",
      "pytorch:conf=\"max_split_size_mb:200,backend:native\";pytorch:conf=backend:native");
  assert_refused ("", "no name");
  assert_refused (":a=b", "no name");
  assert_refused ("drect", "did you mean 'direct'?");
  assert_refused ("direct:max_split_size_mb", "NAME=VALUE");
  assert_refused ("pytorch:max_split_size_md=1", "did you mean 'max_split_size_mb'?");
  assert_refused ("pytorch:max_split_size_mb=1", "too small");
  assert_refused ("pytorch:max_split_size_mb=200|fish", "fish");
  assert_refused ("pytorch:split_size=20", "did you mean 'max_split_size_mb'?");
  assert_refused ("paddle:chunk_size_in_mb=20", "did you mean 'auto_growth_chunk_size_in_mb'?");
  assert_refused ("direct:capacity=1GiB|16", "capacity=16: 16 bytes? write 16GiB");
  assert_refused ("pytorch:memory_limit=24", "memory_limit=24: 24 bytes? write 24GiB");
  assert_refused ("direct:qqqqqqqqqqqq=1", "unknown parameter 'qqqqqqqqqqqq'");
  assert_refused ("direct:capacity=1|2|3|4|5|6|7|8|9|10,base=1|2|3|4|5|6|7|8|9|10,step=1|2|3|4|5|6|"
                  "7|8|9|10,reuse=1|2|3|4|5|6|7|8|9|10|11",
                  "more than 10000");
}

static void
test_globs (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) all = parse ("*", &error);
  guint n = 0;

  g_assert_no_error (error);
  /* all classes of device memory in their order, each followed by what people choose as if it were another */
  for (guint i = 0; i < all->len; i++)
    {
      const GememAllocatorSpec *spec = all->pdata[i];

      if (g_str_equal (spec->label, spec->klass->name))
        {
          n += (gemem_allocator_classes ()[n]->capabilities & GEMEM_CAP_HOST) != 0;
          g_assert_true (spec->klass == gemem_allocator_classes ()[n++]);
        }
      else
        g_assert_true (spec->klass == gemem_allocator_classes ()[n - 1]);
    }
  g_assert_null (gemem_allocator_classes ()[n]);
  assert_labels ("pytorch-*", "pytorch-caching;pytorch-expandable");
  assert_labels (
      "Pytorch_E*:max_split_size_mb=64|128",
      "pytorch-expandable:max_split_size_mb=64;pytorch-expandable:max_split_size_mb=128");
  assert_refused ("pytorch-*:max_split=1|x", "unknown parameter");
  assert_labels ("DIR*", "direct");
  assert_labels ("pytorch_c*:capacity=1GiB|2GiB",
                 "pytorch-caching:capacity=1GiB;pytorch-caching:capacity=2GiB");
  assert_refused ("zz-*", "matches nothing");
  assert_refused ("dir\377*", "not text in UTF-8");
  assert_refused ("direct\377", "not text in UTF-8");
  assert_refused ("direct:capacity=\377", "not text in UTF-8");
  /* every match must know every key */
  assert_refused ("*:max_split_size_mb=200", "allocator direct: unknown parameter");
}

/* The parameter accepts every value of "key=*", for all of @list; returns the number of values. */
static guint
try_sweeps (const GememNamed *const *list, const char *kind)
{
  guint swept = 0;

  for (; *list != NULL; list++)
    for (const GememParam *param = (*list)->params; param != NULL && param->name != NULL; param++)
      {
        g_autoptr (GPtrArray)
            values = gemem_param_sweep (param),
            choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
        g_autofree char *text = g_strdup_printf ("%s:%s=*", (*list)->name, param->name);
        const GememNamed *const alone[] = { *list, NULL };
        g_autoptr (GError) error = NULL;

        g_assert_cmpint (gemem_named_parse (alone, kind, text, choices, &error), ==,
                         values->len > 0);
        g_assert_cmpuint (choices->len, ==, values->len);
        if (values->len == 0)
          g_assert_nonnull (
              strstr (error->message, "=*: no values are known to be worth trying; write a list"));
        else
          g_assert_no_error (error);
        swept += values->len;
      }
  return swept;
}

static void
test_sweeps (void)
{
  assert_labels ("ge-bins:npu=*,hint=none", "ge-bins:npu=no,hint=none;ge-bins:npu=yes,hint=none");
  assert_labels ("pytorch:large_segment_size_mb=*",
                 "pytorch:large_segment_size_mb=20;pytorch:large_"
                 "segment_size_mb=32;"
                 "pytorch:large_segment_size_mb=64;pytorch:large_segment_size_mb=128;pytorch:large_"
                 "segment_size_mb=256");
  /* behind a shorthand: a key of the class that its other settings choose */
  assert_labels ("paddle:preset=P14,FLAGS_initial_cpu_memory_in_mb=*,place=cpu",
                 "paddle:preset=P14,FLAGS_initial_cpu_memory_in_mb=50,place=cpu;"
                 "paddle:preset=P14,FLAGS_initial_cpu_memory_in_mb=100,place=cpu;"
                 "paddle:preset=P14,FLAGS_initial_cpu_memory_in_mb=500,place=cpu;"
                 "paddle:preset=P14,FLAGS_initial_cpu_memory_in_mb=1000,place=cpu;"
                 "paddle:preset=P14,FLAGS_initial_cpu_memory_in_mb=5000,place=cpu");
  assert_labels (
      "paddle:FLAGS_use_virtual_memory_auto_growth=no|yes,use_stream_safe_cuda_allocator=*",
      "paddle:FLAGS_use_virtual_memory_auto_growth=no,use_stream_safe_cuda_allocator=no;"
      "paddle:FLAGS_use_virtual_memory_auto_growth=no,use_stream_safe_cuda_allocator=yes;"
      "paddle:FLAGS_use_virtual_memory_auto_growth=yes,use_stream_safe_cuda_allocator=no;"
      "paddle:FLAGS_use_virtual_memory_auto_growth=yes,use_stream_safe_cuda_allocator=yes");
  assert_labels ("direct:address=*",
                 "direct:address=bump;direct:address=first-fit;direct:address=recorded;"
                 "direct:address=descending;direct:address=random;direct:address=cuda");
  assert_refused ("direct:capacity=*", "direct: capacity=*: no values are known");
  assert_refused ("direct:qqqqqqqqqqqq=*", "unknown parameter 'qqqqqqqqqqqq'");
  assert_refused ("paddle:FLAGS_gpu_memory_limit_mb=*", "no values are known");
  assert_refused ("paddle:preset=P14,auto_growth_chunk_size_in_mb=*", "has no effect here");
  assert_refused ("pytorch:conf=*", "pytorch-caching: conf=*: no values are known");
  g_assert_cmpuint (try_sweeps (gemem_named_classes (), "allocator"), >, 200);
  g_assert_cmpuint (try_sweeps ((const GememNamed *const *) gemem_lowerings (), "lowering"), >, 50);
  g_assert_cmpuint (try_sweeps ((const GememNamed *const *) gemem_planners (), "planner"), >, 20);
}

/* The first line of a vector file, unchanged. */
static void
test_vector_keys (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) specs = parse (
      "pytorch-caching:capacity=17179869184,expandable_segments=0,max_split_size_mb=unlimited,"
      "roundup_power2_divisions=0,memory_limit=none,garbage_collection_threshold=0,device=bump,"
      "base=0x100000000000,step=2097152,reuse=never",
      &error);
  const GememAllocatorSpec *spec;

  g_assert_no_error (error);
  spec = g_ptr_array_index (specs, 0);
  g_assert_cmpuint (spec->settings->len, ==, 5);
  g_assert_cmpuint (spec->device->len, ==, 5);
  g_assert_cmpstr (((GememSetting *) g_ptr_array_index (spec->device, 1))->key, ==, "device");
  g_assert_cmpstr (((GememSetting *) g_ptr_array_index (spec->device, 2))->value, ==,
                   "0x100000000000");
}

/* ---- defaults */

static char *
effective (const char *text, const char *defaults, const char *key, GError **error)
{
  g_autoptr (GPtrArray) specs = parse (text, error);
  g_autoptr (GPtrArray) settings = NULL;
  GememDevice *device = gemem_device_new ("sim:capacity=1000MiB", NULL, 0, NULL);
  char *value = NULL;

  g_assert_nonnull (specs);
  settings = gemem_allocator_effective (g_ptr_array_index (specs, 0), defaults, device, error);
  for (guint i = 0; settings != NULL && i < settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (settings, i);

      if (g_str_equal (setting->key, key))
        value = g_strdup (setting->value);
    }
  gemem_device_destroy (device);
  return value;
}

static void
assert_effective (const char *text, const char *defaults, const char *key, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *value = effective (text, defaults, key, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (value, ==, expected);
}

static void
test_defaults (void)
{
  g_autoptr (GError) error = NULL;

  assert_effective ("pytorch", NULL, "max_split_size_mb", "unlimited");
  assert_effective ("pytorch", "max_split_size_mb=64", "max_split_size_mb", "64MiB");
  assert_effective ("pytorch:max-split-size-mb=128", "max_split_size_mb=64", "max_split_size_mb",
                    "128MiB");
  assert_effective ("pytorch:limit=50%", NULL, "memory_limit", "500MiB");
  /* A default that contradicts a setting of the user is dropped. */
  assert_effective ("pytorch:memory_limit=1GiB", "per_process_memory_fraction=0.5",
                    "per_process_memory_fraction", "1");
  /* A whole string counts with what it sets. */
  assert_effective ("pytorch:conf=max_split_size_mb:200", "max_split_size_mb=64",
                    "max_split_size_mb", "200MiB");
  assert_effective ("pytorch:conf='roundup_power2_divisions:4,expandable_segments:True'", NULL,
                    "expandable_segments", "yes");
  assert_effective ("pytorch:conf='roundup_power2_divisions:[64:8,>:2]'", NULL,
                    "roundup_power2_divisions",
                    "[1:8,2:8,4:8,8:8,16:8,32:8,64:8,128:2,256:2,512:2,1024:2,2048:2,4096:2,8192:2,"
                    "16384:2,32768:2]");
  assert_effective ("pytorch:conf='roundup_power2_divisions:4'", NULL, "roundup_power2_divisions",
                    "4");
  assert_effective ("pytorch:alloc_conf='expandable_segments_reserve:40G'", NULL,
                    "expandable_segments_reserve", "40G");
  g_assert_null (effective ("direct", "max_split_size_mb=64", "", &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_clear_error (&error);
  g_assert_null (effective ("pytorch:memory_limit=1GiB,per_process_memory_fraction=0.5", NULL,
                            "memory_limit", &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "exclude each other"));
}

/* ---- plugins */

/* A new directory with a copy of the plugin @name. */
static char *
plugin_directory (const char *name)
{
  const char *build = g_getenv ("GEMEM_BUILDDIR");
  g_autofree char *file = g_strconcat (name, ".so", NULL);
  g_autofree char *from = g_build_filename (build != NULL ? build : ".", "tests", "programs",
                                            ".libs", file, NULL);
  char *directory = g_build_filename (test_tmpdir (), name, NULL);
  g_autofree char *to = g_build_filename (directory, file, NULL);
  g_autoptr (GFile) source = g_file_new_for_path (from);
  g_autoptr (GFile) target = g_file_new_for_path (to);
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (g_mkdir_with_parents (directory, 0700), ==, 0);
  g_file_copy (source, target, G_FILE_COPY_OVERWRITE, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  return directory;
}

/* Checks that the one plugin in @directory is skipped, with @part in the message, and that only
 * asking for it as @name (NULL: nobody can) is an error, with the same reason. */
static void
assert_plugin_skipped (const char *directory, const char *part, const char *name)
{
  g_auto (GStrv) skipped = gemem_allocator_load_plugins (directory);
  g_autoptr (GError) error = NULL;

  g_assert_nonnull (skipped);
  g_assert_cmpuint (g_strv_length (skipped), ==, 1);
  if (strstr (skipped[0], part) == NULL)
    g_error ("'%s' gives '%s', without '%s'", directory, skipped[0], part);
  if (name == NULL)
    return;
  assert_refused (name, skipped[0]);
  g_assert_null (gemem_allocator_find (name, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, skipped[0]));
}

static guint
count_classes (void)
{
  guint n = 0;

  while (gemem_allocator_classes ()[n] != NULL)
    n++;
  return n;
}

static void
test_plugins (void)
{
  const guint before = count_classes ();
  g_autofree char *good = plugin_directory ("plugin-good");
  g_autofree char *abi = plugin_directory ("plugin-abi");
  g_autofree char *taken = plugin_directory ("plugin-name");
  g_autofree char *half = plugin_directory ("plugin-half");
  g_autofree char *both = g_strjoin (":", good, "", good, NULL);
  g_autofree char *bad = g_build_filename (test_tmpdir (), "bad", NULL);
  g_autofree char *noise = g_build_filename (bad, "libnoise.so", NULL);
  GememAllocator *a;
  GememBlock block;

  g_assert_null (gemem_allocator_load_plugins (NULL));
  g_assert_null (gemem_allocator_load_plugins (""));
  g_assert_null (gemem_allocator_load_plugins (both)); /* the same twice counts once */
  g_assert_cmpuint (count_classes (), ==, before + 1);
  g_assert_cmpstr (gemem_allocator_classes ()[before]->name, ==, "plugin-forty-two");
  a = test_allocator_new ("P42", "sim:capacity=1GiB");
  g_assert_true (a->klass->alloc (a, &(GememRequest){ .size = 42 }, &block));
  g_assert_false (a->klass->alloc (a, &(GememRequest){ .size = 43 }, &block));
  test_allocator_destroy (a);

  assert_plugin_skipped (
      abi,
      "interface 4711, this gemem has " G_STRINGIFY (GEMEM_ALLOCATOR_ABI) "; rebuild the plugin",
      "plugin-abi");
  assert_plugin_skipped (half, "allocator plugin-half lacks a part of the group graphs",
                         "Plugin_Half");
  assert_plugin_skipped (taken, "allocator direct already", "plugin-name");
  assert_plugin_skipped ("/nonexistent-gemem", "GEMEM_PLUGIN_PATH", NULL);
  g_assert_cmpint (g_mkdir_with_parents (bad, 0700), ==, 0);
  g_assert_true (g_file_set_contents (noise, "noise", -1, NULL));
  assert_plugin_skipped (bad, "libnoise.so: cannot be loaded", "noise");
  assert_labels ("direct", "direct"); /* nothing else suffers */
  g_assert_cmpuint (count_classes (), ==, before + 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/registry/find", test_find);
  g_test_add_func ("/registry/classes", test_classes);
  g_test_add_func ("/registry/specs", test_specs);
  g_test_add_func ("/registry/globs", test_globs);
  g_test_add_func ("/registry/sweeps", test_sweeps);
  g_test_add_func ("/registry/vector-keys", test_vector_keys);
  g_test_add_func ("/registry/defaults", test_defaults);
  g_test_add_func ("/registry/plugins", test_plugins);
  return g_test_run ();
}
