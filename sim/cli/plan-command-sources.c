/* plan-command-sources.c - the inputs of planners: graphs, and the lifetimes of traces. */
#include "config.h"

#include "sim/cli/plan-command.h"
#include "sim/cli/progress.h"
#include "sim/engine/lifetimes.h"

void
gemem_plan_command_source_free (gpointer data)
{
  GememPlanSource *source = data;

  if (source == NULL)
    return;
  g_free (source->name);
  g_clear_pointer (&source->lifetimes, gemem_lifetimes_free);
  g_free (source);
}

static GememPlanSource *
new_source (GememSourceFile *file, char *name, guint threads)
{
  GememPlanSource *source = g_new0 (GememPlanSource, 1);

  source->name = name;
  source->file = file;
  source->input.threads = threads;
  source->input.interrupted = &gemem_interrupted;
  source->input.share = gemem_progress_share ();
  source->input.clock = gemem_host_clock;
  return source;
}

/* Takes over what @info says of the lifetimes beside the events. */
static void
take_table (GememPlanSource *source, const GememTraceInfo *info)
{
  const char *left_out = gemem_trace_info_said (info, GEMEM_TRACE_LEFT_OUT);

  gemem_lifetimes_take_table (source->lifetimes, info);
  if (left_out != NULL)
    gemem_warn ("%s: left out: %s", source->name, left_out);
}

/* Adds the allocations of @device. */
static gboolean
read_lifetimes (GememPlanSource *source, int device, GError **error)
{
  GememTraceReader *reader = gemem_source_file_open (source->file, error);

  if (reader == NULL)
    return FALSE;
  source->lifetimes = gemem_trace_lifetimes (reader, device, error);
  source->input.lifetimes = source->lifetimes;
  if (source->lifetimes != NULL)
    take_table (source, &reader->info);
  source->partial = (reader->info.flags & GEMEM_TRACE_TRUNCATED) != 0;
  gemem_trace_close (reader);
  if (source->lifetimes != NULL && source->partial)
    gemem_warn ("%s: the end is missing; what was whole is planned", source->name);
  return source->lifetimes != NULL;
}

gboolean
gemem_plan_command_add_sources (GPtrArray *sources, GememSourceFile *file, guint threads,
                                GError **error)
{
  g_autoptr (GArray) devices = NULL;

  if (file->graph != NULL && !gemem_source_lowered ())
    {
      GememPlanSource *source = new_source (file, g_strdup (file->path), threads);

      source->input.graph = file->graph;
      g_ptr_array_add (sources, source);
      return TRUE;
    }
  devices = gemem_source_devices (file, error);
  for (guint i = 0; devices != NULL && i < devices->len; i++)
    {
      const int device = g_array_index (devices, guint16, i);
      char *name = devices->len == 1 ? g_strdup (file->path)
                                     : g_strdup_printf ("%s, device %d", file->path, device);

      g_ptr_array_add (sources, new_source (file, name, threads));
      if (!read_lifetimes (sources->pdata[sources->len - 1], device, error))
        return FALSE;
    }
  return devices != NULL;
}
