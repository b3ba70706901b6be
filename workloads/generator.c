/* generator.c - the registry of generators and the reader they share; see generator.h.
 *
 * A piece of events is made when the last one has been read; nothing is kept but the piece and what the generator holds as live.
 */
#include "config.h"

#include <string.h>

#include "workloads/generator.h"

#define GEMEM_GENERATOR(symbol, file) extern const GememGenerator symbol;
#include "workloads/generators.def"
#undef GEMEM_GENERATOR

static const GememGenerator *const generators[] = {
#define GEMEM_GENERATOR(symbol, file) &symbol,
#include "workloads/generators.def"
#undef GEMEM_GENERATOR
  NULL
};

const GememGenerator *const *
gemem_generators (void)
{
  return generators;
}

const GememGenerator *
gemem_generator_find (const char *name, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (gsize i = 0; generators[i] != NULL; i++)
    {
      g_auto (GStrv) aliases = g_strsplit (generators[i]->aliases != NULL ? generators[i]->aliases : "", "|", -1);
      gboolean found = gemem_name_equal (generators[i]->name, name);
      for (char **alias = aliases; *alias != NULL; alias++)
        found = found || gemem_name_equal (*alias, name);
      if (found)
        return generators[i];
      g_ptr_array_add (names, (gpointer) generators[i]->name);
    }
  g_ptr_array_add (names, NULL);
  const char *near = gemem_suggest (name, (const char *const *) names->pdata);
  g_autofree char *all = g_strjoinv (", ", (char **) names->pdata);
  if (near != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "unknown generator '%s'; did you mean '%s'?", name, near);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "unknown generator '%s'; there are %s", name, all);
  return NULL;
}

GememTraceReader *
gemem_generator_open (const char *spec, guint64 seed, GError **error)
{
  const char *colon = strchr (spec, ':');
  g_autofree char *name = colon != NULL ? g_strndup (spec, (gsize) (colon - spec)) : g_strdup (spec);
  const GememGenerator *generator = gemem_generator_find (name, error);
  if (generator == NULL)
    return NULL;
  g_autoptr (GPtrArray) settings = gemem_settings_parse (colon != NULL ? colon + 1 : "", error);
  if (settings == NULL)
    return NULL;
  g_autofree char *what = g_strdup_printf ("generator %s", generator->name);
  gpointer params = g_malloc0 (generator->params_size);
  GememTraceReader *reader = NULL;
  const GememParamContext context = { 0 };
  if (gemem_params_apply (generator->params, params, &context, what, settings, error))
    reader = generator->open (params, seed, error);
  if (reader != NULL)
    {
      g_autofree char *described = gemem_params_describe (generator->params, params);
      gemem_trace_info_note (&reader->info, "generator", "%s%s%s", generator->name, *described != '\0' ? ":" : "", described);
      gemem_trace_info_note (&reader->info, "seed", "%" G_GUINT64_FORMAT, seed);
    }
  gemem_params_clear (generator->params, params);
  g_free (params);
  return reader;
}

static gssize
next (GememTraceReader *parent, const GememTraceEvent **events, GError **error)
{
  GememGeneratorReader *reader = (GememGeneratorReader *) parent;
  g_array_set_size (reader->events, 0);
  while (reader->events->len == 0)
    if (!reader->fill (reader))
      return 0;
  *events = (const GememTraceEvent *) (gconstpointer) reader->events->data;
  return reader->events->len;
}

static void
close_reader (GememTraceReader *parent)
{
  GememGeneratorReader *reader = (GememGeneratorReader *) parent;
  if (reader->free_parts != NULL)
    reader->free_parts (reader);
  g_array_unref (reader->events);
  gemem_trace_info_clear (&parent->info);
  g_free (reader);
}

gpointer
gemem_generator_reader_new (gsize size, gboolean (*fill) (GememGeneratorReader *), void (*free_parts) (GememGeneratorReader *))
{
  GememGeneratorReader *reader = g_malloc0 (size);
  gemem_trace_info_init (&reader->parent.info, "generator", "generated");
  reader->parent.info.flags = GEMEM_TRACE_HAS_TIME;
  reader->parent.next = next;
  reader->parent.close = close_reader;
  reader->events = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  reader->next_id = 1;
  reader->fill = fill;
  reader->free_parts = free_parts;
  return reader;
}

guint64
gemem_events_alloc (GememGeneratorReader *reader, guint64 size, guint64 stream)
{
  GememTraceEvent event = { .kind = GEMEM_EVENT_ALLOC, .id = reader->next_id++, .size = size, .stream = stream, .time = reader->time };
  g_array_append_val (reader->events, event);
  return event.id;
}

void
gemem_events_free (GememGeneratorReader *reader, guint64 id)
{
  GememTraceEvent event = { .kind = GEMEM_EVENT_FREE, .id = id, .time = reader->time };
  g_array_append_val (reader->events, event);
}

void
gemem_events_mark (GememGeneratorReader *reader, GememEventKind kind, guint64 id)
{
  GememTraceEvent event = { .kind = (guint8) kind, .id = id, .time = reader->time };
  g_array_append_val (reader->events, event);
}
