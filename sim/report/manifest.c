/* manifest.c - the origin of a set of results: enough to reproduce them.
 *
 * JSON, schema "gemem-manifest", version 1: the arguments, then per run the trace with the hash of
 * its file (and, as "trace_sha256", that of the recording it was converted from, where known), the
 * allocator and the device with all their effective settings, and for a real device its hardware
 * ("hardware": the GPU and its driver's version of CUDA).  Facts about this build and machine, not
 * about the results, are separate under "environment", so that manifests of two machines can be
 * compared without them.  No date, no host name, no user name.
 */
#include "config.h"

#include <string.h>
#include <zstd.h>

#include "base/io/input.h"
#include "sim/report/machine.h"
#include "sim/report/report-private.h"
#include "sim/report/report.h"

static void
append_arguments (GString *out, const char *const *argv)
{
  g_string_append (out, "  \"arguments\": [");
  for (guint i = 0; argv != NULL && argv[i] != NULL; i++)
    gemem_json_append_text_member (out, NULL, argv[i]);
  g_string_append (out, "],\n");
}

/* The present hash of the file at @path; NULL: unreadable, or a pipe, which was read. */
static char *
hash_file (const char *path)
{
  GememInput *input = g_file_test (path, G_FILE_TEST_IS_REGULAR) ? gemem_input_open (path, NULL)
                                                                 : NULL;
  char *hash = input != NULL ? gemem_input_sha256 (input, NULL) : NULL;
  g_clear_pointer (&input, gemem_input_close);
  return hash;
}

/* @hash: of the trace's file. */
static void
append_run (GString *out, const GememResult *result, const char *hash)
{
  g_string_append (out, "    {\n      \"file_sha256\": ");
  gemem_json_append_string (out, hash);
  g_string_append (out, ",\n");
  gemem_json_append_identity (out, result, "      ");
  g_string_append (out, ",\n      \"parameters\": ");
  gemem_json_append_settings (out, result->parameters, FALSE, "      ");
  g_string_append (out, ",\n      \"variables\": ");
  gemem_json_append_settings (out, result->variables, FALSE, "      ");
  g_string_append (out, ",\n      \"device_settings\": ");
  gemem_json_append_settings (out, result->device_settings, FALSE, "      ");
  g_string_append (out, "\n    }");
}

static void
append_environment (GString *out)
{
  g_autofree char *processor = gemem_machine_processor (), *kernel = gemem_machine_kernel (),
                  *machine = gemem_machine_kind ();
  g_autofree char *driver = gemem_machine_gpu_driver ();
  g_autofree char *glib = g_strdup_printf ("%u.%u.%u", glib_major_version, glib_minor_version,
                                           glib_micro_version);
  const struct
  {
    const char *key, *value;
  } rows[] = {
    { "compiler", GEMEM_COMPILER " " __VERSION__ },
    { "cflags", GEMEM_CFLAGS },
    { "glib", glib },
    { "zstd", ZSTD_versionString () },
    { "kernel", kernel },
    { "machine", machine },
    { "processor", processor },
    { "gpu_driver", driver },
  };
  g_string_append (out, "  \"environment\": {");
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_string_append_printf (out, "%s\n    \"%s\": ", i > 0 ? "," : "", rows[i].key);
      gemem_json_append_string (out, rows[i].value);
    }
  g_string_append (out, "\n  }\n");
}

char *
gemem_manifest (GememResult *const *results, guint n, const char *const *argv)
{
  GString *out = g_string_new (
      "{\n  \"schema\": \"gemem-manifest\",\n  \"version\": 1,\n  \"gemem\": \"" PACKAGE_VERSION
      "\",\n");
  append_arguments (out, argv);
  g_string_append (out, "  \"runs\": [\n");
  g_autofree char *hash = NULL;
  for (guint i = 0; i < n; i++)
    {
      if (i == 0 || g_strcmp0 (results[i]->trace, results[i - 1]->trace) != 0)
        {
          g_free (hash);
          hash = results[i]->trace != NULL ? hash_file (results[i]->trace) : NULL;
        }
      append_run (out, results[i], hash);
      g_string_append (out, i + 1 < n ? ",\n" : "\n");
    }
  g_string_append (out, "  ],\n");
  append_environment (out);
  g_string_append (out, "}\n");
  return g_string_free (out, FALSE);
}
