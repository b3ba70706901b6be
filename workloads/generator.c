/* generator.c - the registry of generators; see generator.h. */
#include "config.h"

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
