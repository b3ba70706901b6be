/* jax.c - whether what a JAX program asked for fits, in the allocator that JAX uses on a GPU.
 *
 * JAX's own allocator takes a part of the GPU's memory at its start and serves every request from it,
 * so the driver sees one request and no more.  A dry run therefore lets JAX pass its requests on to the
 * driver, by its allocator cuda_async (dry/python/sitecustomize.py), and gemem's `tf-bfc`, which is
 * JAX's own allocator, replays the recording with the part and the growth that the program chose:
 * it decides as the real one does, so its refusals are those of the GPU.
 *
 * That allocator says to XLA the same limit, on which what XLA compiles depends, only if it takes all of it
 * once, at the start: that request is left out of the recording (gemem_library_jax_taken()).
 *
 * Invariants: what the program chose stands in the file PID.jax of the run's folder, lines "NAME VALUE";
 * without the file, or where the program chose another allocator, nothing is done here.
 */
#include "config.h"

#include <string.h>

#include "dry/verdict/verdict.h"
#include "sim/engine/replay.h"

#define PAGE (G_GUINT64_CONSTANT (2) << 20)

char *
gemem_library_fact (const DryRun *run, gint64 pid, const char *kind, const char *key)
{
  g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT ".%s", pid, kind);
  g_autofree char *text = gemem_folder_read (&run->folder, name);
  char *value = NULL;

  if (text == NULL)
    return NULL;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL && value == NULL; i++)
    if (g_str_has_prefix (lines[i], key) && lines[i][strlen (key)] == ' ')
      value = g_strdup (lines[i] + strlen (key) + 1);
  return value;
}

/* A replay of @found through `tf-bfc`; @limited: with its limit and what the device has left, else for the
 * least that serves everything.  NULL with @error. */
static GememResult *
replay (const DryOptions *options, const DryFinding *found, gboolean limited, GError **error)
{
  g_autoptr (GPtrArray)
      allocators = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autofree char *limit = g_strdup_printf (",limit=%" G_GUINT64_FORMAT, found->limit);
  g_autofree char *allocator = g_strconcat ("tf-bfc:allow_growth=", found->grows ? "yes" : "no",
                                            limited ? limit : NULL, NULL);
  g_autofree char *device = g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT
                                             ",reserved_by_others=%" G_GUINT64_FORMAT,
                                             options->capacity, limited ? options->context : 0);

  if (!gemem_allocator_spec_parse (allocator, allocators, error))
    return NULL;
  const GememJob job = {
    .allocator = allocators->pdata[0],
    .device_spec = device,
    .device_ordinal = found->device,
    .source = gemem_library_trace_open,
    .source_data = found->path,
    .allow_partial = TRUE,
    .find_capacity = !limited,
  };
  return gemem_job_run (&job, error);
}

void
gemem_library_jax_forget_pools (DryVerdict *verdict)
{
  GPtrArray *unknown = verdict->unknown;

  for (guint i = 0; i < verdict->findings->len; i++)
    if (((const DryFinding *) verdict->findings->pdata[i])->limit == 0)
      return;
  for (guint i = unknown->len; i > 0; i--)
    if (((const DryCount *) unknown->pdata[i - 1])->word == GEMEM_DRY_NOTE_POOLS)
      g_ptr_array_remove_index (unknown, i - 1);
}

/* The part of the memory that the allocator of process @pid may take; 0: no JAX that was made to pass on
 * its requests. */
static double
part_of (const DryRun *run, gint64 pid)
{
  g_autofree char *recorded = gemem_library_fact (run, pid, "jax", "recorded");
  g_autofree char *text = gemem_library_fact (run, pid, "jax", "part");
  const double part = text != NULL ? g_ascii_strtod (text, NULL) : 0;

  return recorded == NULL ? 0 : part > 0 && part <= 1 ? part : GEMEM_DRY_JAX_PART;
}

gboolean
gemem_library_passes_on (const DryRun *run, gint64 pid)
{
  g_autofree char *jax = gemem_library_fact (run, pid, "jax", "recorded");
  g_autofree char *tensorflow = gemem_library_fact (run, pid, "tensorflow", "recorded");
  return jax != NULL || tensorflow != NULL;
}

guint64
gemem_library_jax_taken (const DryOptions *options, const DryRun *run, gint64 pid)
{
  return (guint64) ((double) options->capacity * (float) part_of (run, pid));
}

gboolean
gemem_library_bfc_replay (const DryOptions *options, DryFinding *found, GError **error)
{
  g_autoptr (GememResult) own = NULL, least = NULL;

  if (found->peak_live == 0)
    return TRUE;
  if ((own = replay (options, found, TRUE, error)) == NULL
      || (least = replay (options, found, FALSE, error)) == NULL)
    return FALSE;
  found->refused = gemem_result_new_ooms (own);
  found->least = least->least_capacity;
  return TRUE;
}

/* What the allocator of a JAX of @version may take of @taken: whole pages of 2 MiB since 0.10 or before (seen: 0.10.2, 0.11.2; not 0.6.2, 0.8.3). */
static guint64
limit_of (guint64 taken, const char *version)
{
  guint major = 0, minor = 0;

  if (version != NULL)
    sscanf (version, "%u.%u", &major, &minor);
  return major > 0 || minor >= 10 ? (taken + PAGE - 1) / PAGE * PAGE : taken;
}

char *
gemem_library_bfc_settings (const DryOptions *options, const DryRun *run, gint64 pid)
{
  const double part = part_of (run, pid);
  const char *kind = part > 0 ? "jax" : "tensorflow";
  g_autofree char *grows = gemem_library_fact (run, pid, kind, "grows");
  const guint64 limit = part > 0 ? 0 : gemem_library_tensorflow_limit (run, pid, -1);
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  GString *settings = g_string_new ("allow_growth=");

  g_string_append (settings, grows != NULL ? "yes" : "no");
  if (part > 0)
    g_string_append_printf (settings, ",limit=%s%%",
                            g_ascii_formatd (text, sizeof text, "%g", 100 * part));
  else if (limit > 0 && limit >= options->capacity / 4 * 3) /* of another GPU as much of it */
    g_string_append_printf (settings, ",limit=%u%%",
                            (guint) ((double) limit / (double) options->capacity * 100));
  else if (limit > 0)
    g_string_append_printf (settings, ",limit=%" G_GUINT64_FORMAT "B", limit);
  return g_string_free (settings, FALSE);
}

gboolean
gemem_library_jax_replay (const DryOptions *options, const DryRun *run, DryFinding *found,
                          GError **error)
{
  g_autofree char *version = gemem_library_fact (run, found->pid, "jax", "version");
  g_autofree char *grows = gemem_library_fact (run, found->pid, "jax", "grows");

  found->part = part_of (run, found->pid);
  if (!(found->part > 0))
    return TRUE;
  found->grows = grows != NULL;
  found->limit = limit_of (gemem_library_jax_taken (options, run, found->pid), version);
  g_free (found->allocator);
  found->allocator = g_strconcat ("JAX ", version, NULL);
  return gemem_library_bfc_replay (options, found, error);
}
