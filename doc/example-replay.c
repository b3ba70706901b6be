/* example-replay.c - a program that uses the library: it replays a trace through two allocators and
 * prints what each needs at most.
 *
 *   cc -o example-replay example-replay.c $(pkg-config --cflags --libs gemem)
 *   ./example-replay traces/recorded/gpt2-train.gmt
 *
 * Without installing: PKG_CONFIG_PATH=BUILD-FOLDER, where gemem-uninstalled.pc lies.
 * This file may be copied without condition.
 */
#include <gemem/gemem.h>

#include <stdio.h>

/* The engine opens the trace itself, as often as it needs it. */
static GememTraceReader *
open_trace (gpointer path, GError **error)
{
  return gemem_trace_open (path, NULL, NULL, error);
}

static gboolean
replay (const char *path, const GememAllocatorSpec *allocator, GError **error)
{
  const GememJob job = {
    .allocator = allocator,
    .device_spec = "sim:capacity=80GiB",
    .device_ordinal = -1, /* the first device that occurs in the trace */
    .source = open_trace,
    .source_data = (gpointer) path,
  };
  GememResult *result = gemem_job_run (&job, error);
  if (result == NULL)
    return FALSE;
  char live[GEMEM_FORMAT_MAX], reserved[GEMEM_FORMAT_MAX];
  printf ("%-32s peak live %s, peak reserved %s, %" G_GUINT64_FORMAT " failed\n", result->label,
          gemem_format_size (live, result->peak_live),
          gemem_format_size (reserved, result->peak_reserved), result->ooms);
  gemem_result_free (result);
  return TRUE;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray)
      allocators = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  gboolean ok = argc == 2;
  if (!ok)
    fprintf (stderr, "usage: %s TRACE\n", argv[0]);
  ok = ok && gemem_allocator_spec_parse ("pytorch-caching", allocators, &error)
       && gemem_allocator_spec_parse ("ge-scalable:total=64GiB", allocators, &error);
  for (guint i = 0; ok && i < allocators->len; i++)
    ok = replay (argv[1], g_ptr_array_index (allocators, i), &error);
  if (error != NULL)
    fprintf (stderr, "%s: %s\n", argv[0], error->message);
  return ok ? 0 : error != NULL ? gemem_error_exit_status (error) : 2;
}
