/* lowering.c - the registry of lowerings; see lowering.h. */
#include "config.h"

#include "workloads/lowering.h"

#define GEMEM_LOWERING(symbol, file) extern const GememLowering symbol;
#include "workloads/lowerings.def"
#undef GEMEM_LOWERING

static const GememLowering *const lowerings[] = {
#define GEMEM_LOWERING(symbol, file) &symbol,
#include "workloads/lowerings.def"
#undef GEMEM_LOWERING
  NULL
};

const GememLowering *const *
gemem_lowerings (void)
{
  return lowerings;
}

static GememChoice *
choose (const char *spec, GError **error)
{
  return gemem_named_choose ((const GememNamed *const *) lowerings, "lowering", spec != NULL ? spec : lowerings[0]->base.name, error);
}

GememTraceReader *
gemem_lowering_open (const char *spec, GememGraph *graph, GError **error)
{
  GememChoice *choice = choose (spec, error);
  GememTraceReader *reader = NULL;
  gpointer params;

  if (choice == NULL)
    return NULL;
  params = gemem_choice_params (choice, "lowering", gemem_graph_settings (graph), error);
  if (params != NULL)
    {
      reader = ((const GememLowering *) choice->named)->open (params, graph, error);
      gemem_choice_params_free (choice, params);
    }
  if (reader != NULL)
    gemem_trace_info_note (&reader->info, "lowering", "%s", choice->label);
  gemem_choice_free (choice);
  return reader;
}

gboolean
gemem_lowering_check (const char *spec, GError **error)
{
  GememChoice *choice = choose (spec, error);
  const gboolean ok = choice != NULL;

  gemem_choice_free (choice);
  return ok;
}
