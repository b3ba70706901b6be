/* generator.c - the registry of generators and the reader they share; see generator.h.
 *
 * A piece of events is made when the last one has been read; nothing is kept but the piece and what
 * the generator holds as live.
 */
#include "config.h"

#include <string.h>

#include "workloads/generator.h"

#define GEMEM_GENERATOR(symbol) extern const GememGenerator symbol;
#include "workloads/generators.def"
#undef GEMEM_GENERATOR

static const GememGenerator *const generators[] = {
#define GEMEM_GENERATOR(symbol) &symbol,
#include "workloads/generators.def"
#undef GEMEM_GENERATOR
  NULL
};

const GememGenerator *const *
gemem_generators (void)
{
  return generators;
}

/* Every GememGenerator begins with its GememNamed. */
static const GememNamed *const *
named (void)
{
  return (const GememNamed *const *) generators;
}

const GememGenerator *
gemem_generator_find (const char *name, GError **error)
{
  return (const GememGenerator *) gemem_named_find (named (), "generator", name, error);
}

GememTraceReader *
gemem_generator_open (const char *spec, guint64 seed, GError **error)
{
  GememChoice *choice = gemem_named_choose (named (), "generator", spec, error);
  gpointer params = choice != NULL ? gemem_choice_params (choice, "generator", NULL, error) : NULL;
  GememTraceReader *reader = NULL;

  if (params != NULL)
    {
      const GememNamed *base = choice->named;
      g_autofree char *described = gemem_params_describe (base->params, params);

      reader = ((const GememGenerator *) base)->open (params, seed, error);
      if (reader != NULL)
        {
          gemem_trace_info_note (&reader->info, "generator", "%s%s%s", base->name,
                                 *described != '\0' ? ":" : "", described);
          gemem_trace_info_note (&reader->info, "seed", "%" G_GUINT64_FORMAT, seed);
        }
      gemem_choice_params_free (choice, params);
    }
  gemem_choice_free (choice);
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
gemem_generator_reader_new (gsize size, gboolean (*fill) (GememGeneratorReader *),
                            void (*free_parts) (GememGeneratorReader *))
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
  GememTraceEvent event = { .kind = GEMEM_EVENT_ALLOC,
                            .id = reader->next_id++,
                            .size = size,
                            .stream = stream,
                            .time = reader->time };
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
