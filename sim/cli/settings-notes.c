/* settings-notes.c - prints the notes of allocators and planners on their settings (settings-notes.h).
 *
 * Invariants: a note is printed once, whatever the number of files and specs; a file that cannot be opened is passed
 * over, for the command itself says so.
 */
#include "config.h"

#include <string.h>

#include "allocators/allocator.h"
#include "base/named.h"
#include "planners/planner.h"
#include "sim/cli/cli.h"
#include "sim/cli/settings-notes.h"
#include "sim/cli/source.h"

static void
print_note (const char *note, gpointer said)
{
  if (g_hash_table_add (said, g_strdup (note)))
    gemem_note ("%s", note);
}

static void
note_file (const GPtrArray *specs, guint most, GememSourceFile *file, gboolean ignores_settings,
           GHashTable *said)
{
  GememTraceReader *reader = gemem_source_file_open (file, NULL);
  const GememTraceInfo *info = reader != NULL ? &reader->info : NULL;

  for (guint i = 0; info != NULL && i < MIN (specs->len, most); i++)
    {
      const GememAllocatorSpec *spec = specs->pdata[i];
      const gboolean theirs = !ignores_settings && info->allocator != NULL
                              && gemem_name_is (spec->klass->name, spec->klass->aliases,
                                                info->allocator);
      gemem_allocator_spec_notes (spec, theirs ? info->settings : NULL, print_note, said);
    }
  if (reader != NULL)
    gemem_trace_close (reader);
}

void
gemem_settings_note (const GPtrArray *specs, guint most, const GPtrArray *files,
                     gboolean ignores_settings)
{
  g_autoptr (GHashTable) said = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; specs != NULL && i < files->len; i++)
    note_file (specs, most, files->pdata[i], ignores_settings, said);
}

void
gemem_settings_note_one (const GememAllocatorSpec *spec, GememSourceFile *file,
                         gboolean ignores_settings)
{
  g_autoptr (GPtrArray) specs = g_ptr_array_new (), files = g_ptr_array_new ();

  g_ptr_array_add (specs, (gpointer) spec);
  g_ptr_array_add (files, file);
  gemem_settings_note (specs, 1, files, ignores_settings);
}

void
gemem_settings_note_planner (const GememChoice *choice, const GememGraph *graph, GHashTable *said)
{
  const GememPlanner *planner = (const GememPlanner *) choice->named;
  const GPtrArray *defaults = graph != NULL ? gemem_graph_settings (graph) : NULL;
  gpointer params;

  gemem_choice_notes (choice, "planner", defaults, print_note, said);
  if (graph == NULL || planner->graph_notes == NULL)
    return;
  params = gemem_choice_params (choice, "planner", defaults, NULL);
  if (params == NULL)
    return;
  planner->graph_notes (params, graph, print_note, said);
  gemem_choice_params_free (choice, params);
}

void
gemem_settings_note_latency (const char *device, const GPtrArray *files)
{
  for (guint i = 0; device != NULL && strstr (device, "event_latency=") != NULL && i < files->len;
       i++)
    {
      const GememSourceFile *file = files->pdata[i];
      if (file->held == NULL || gemem_held_count (file->held, GEMEM_EVENT_FREE_COMPLETED) == 0
          || gemem_held_count (file->held, GEMEM_EVENT_USE_ON_STREAM) > 0)
        continue;
      gemem_note ("%s: event_latency has no effect: the recording says when streams were done with "
                  "freed memory, "
                  "not which streams used it",
                  file->path);
      return;
    }
}
