/* steps.c - see steps.h. */
#include "config.h"

#include "workloads/steps.h"

static gboolean
fill (GememGeneratorReader *parent)
{
  GememSteps *steps = (GememSteps *) parent;

  if (steps->step > steps->steps)
    return FALSE;
  if (steps->step++ == steps->steps)
    gemem_steps_free_from (steps, 0);
  else
    {
      gemem_events_mark (parent, GEMEM_EVENT_STEP, steps->step);
      steps->run (steps);
    }
  return TRUE;
}

static void
free_parts (GememGeneratorReader *parent)
{
  GememSteps *steps = (GememSteps *) parent;

  if (steps->free_parts != NULL)
    steps->free_parts (steps);
  g_array_unref (steps->kept);
}

gpointer
gemem_steps_new (gsize size, guint64 n, guint64 seed, const char *purpose,
                 void (*run) (GememSteps *))
{
  GememSteps *steps = gemem_generator_reader_new (size, fill, free_parts);

  steps->steps = n;
  steps->kept = g_array_new (FALSE, FALSE, sizeof (guint64));
  steps->run = run;
  gemem_rng_init (&steps->rng, seed, purpose);
  return steps;
}

guint64
gemem_steps_alloc (GememSteps *steps, guint64 bytes, guint64 stream, guint64 ns)
{
  steps->parent.time += ns;
  return gemem_events_alloc (&steps->parent, MAX (bytes, 1), stream);
}

void
gemem_steps_keep (GememSteps *steps, guint64 bytes, guint64 stream, guint64 ns)
{
  const guint64 id = gemem_steps_alloc (steps, bytes, stream, ns);

  g_array_append_val (steps->kept, id);
}

void
gemem_steps_free_from (GememSteps *steps, guint first)
{
  for (guint i = steps->kept->len; i-- > first;)
    gemem_events_free (&steps->parent, g_array_index (steps->kept, guint64, i));
  g_array_set_size (steps->kept, MIN (first, steps->kept->len));
}

guint64
gemem_steps_vary (GememSteps *steps, guint64 value, guint64 percent)
{
  const guint64 span = value / 100 * percent;

  return span == 0 ? value : gemem_rng_range (&steps->rng, value - span, value + span);
}
