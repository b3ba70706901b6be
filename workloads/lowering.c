/* lowering.c - the registry of lowerings; see lowering.h. */
#include "config.h"

#include <string.h>

#include "workloads/lowering.h"

#define GEMEM_LOWERING(symbol) extern const GememLowering symbol;
#include "workloads/lowerings.def"
#undef GEMEM_LOWERING

static const GememLowering *const lowerings[] = {
#define GEMEM_LOWERING(symbol) &symbol,
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
  return gemem_named_choose ((const GememNamed *const *) lowerings, "lowering",
                             spec != NULL ? spec : lowerings[0]->base.name, error);
}

static GememTraceReader *
open_choice (const GememChoice *choice, GememGraph *graph, GError **error)
{
  gpointer params = gemem_choice_params (choice, "lowering", gemem_graph_settings (graph), error);
  GememTraceReader *reader;

  if (params == NULL)
    return NULL;
  reader = ((const GememLowering *) choice->named)->open (params, graph, error);
  gemem_choice_params_free (choice, params);
  return reader;
}

GememTraceReader *
gemem_lowering_open (const char *spec, GememGraph *graph, GError **error)
{
  GememChoice *choice = choose (spec, error);
  GememTraceReader *reader;

  if (choice == NULL)
    return NULL;
  reader = open_choice (choice, graph, error);
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

static const GememSetting *
setting_of (const GPtrArray *choices, guint choice, guint setting)
{
  return ((const GememChoice *) choices->pdata[choice])->settings->pdata[setting];
}

/* The label of @choice: the settings in which it differs from the others of @choices, which have
 * the same keys; the whole label where @choices name several lowerings. */
static char *
difference (const GPtrArray *choices, guint choice)
{
  const GememChoice *own = choices->pdata[choice];
  GString *text = g_string_new (NULL);

  for (guint s = 0; s < own->settings->len; s++)
    for (guint other = 0; other < choices->len; other++)
      if (strcmp (setting_of (choices, choice, s)->value, setting_of (choices, other, s)->value)
          != 0)
        {
          g_string_append_printf (text, "%s%s=%s", text->len > 0 ? "," : "",
                                  setting_of (choices, choice, s)->key,
                                  setting_of (choices, choice, s)->value);
          break;
        }
  for (guint other = 0; other < choices->len; other++)
    if (((const GememChoice *) choices->pdata[other])->named != own->named)
      g_string_assign (text, own->label);
  return g_string_free (text, FALSE);
}

char **
gemem_lowering_expand (const char *spec, char ***labels, GError **error)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  char **specs;

  if (!gemem_named_parse ((const GememNamed *const *) lowerings, "lowering", spec, choices, error))
    return NULL;
  specs = g_new0 (char *, (gsize) choices->len + 1);
  *labels = g_new0 (char *, (gsize) choices->len + 1);
  for (guint i = 0; i < choices->len; i++)
    {
      specs[i] = g_strdup (choices->len == 1 ? spec
                                             : ((const GememChoice *) choices->pdata[i])->label);
      (*labels)[i] = difference (choices, i);
    }
  return specs;
}

/* ---- the environment */

typedef struct
{
  const GememChoice *choice;
  GememGraph *graph;
} Lowered;

/* The objection of the lowering in @data, a Lowered, to @settings as a whole; NULL: none. */
static GError *
object_as_lowering (const GPtrArray *settings, gpointer data)
{
  const Lowered *lowered = data;
  GememChoice choice = *lowered->choice;
  GError *error = NULL;

  choice.settings = (GPtrArray *) settings;
  gemem_trace_close (open_choice (&choice, lowered->graph, &error));
  return error;
}

char *
gemem_lowering_with_variables (const char *spec, GememGraph *graph, const GPtrArray *variables,
                               GPtrArray *used, GPtrArray *left_out, GError **error)
{
  GememChoice *choice = choose (spec, error);
  const guint before = choice != NULL ? choice->settings->len : 0;
  GString *text;
  gpointer params;

  if (choice == NULL)
    return NULL;
  gemem_settings_add_variables (choice->named->params, choice->settings, variables, used, left_out,
                                object_as_lowering, &(Lowered){ choice, graph });
  text = g_string_new (spec != NULL ? spec : choice->named->name);
  for (guint i = before; i < choice->settings->len; i++)
    {
      const GememSetting *variable = choice->settings->pdata[i];

      gemem_settings_append_text (text, variable->key, variable->value);
    }
  params = gemem_choice_params (choice, "lowering", NULL, error); /* checks each value alone */
  if (params != NULL)
    gemem_choice_params_free (choice, params);
  gemem_choice_free (choice);
  return g_string_free (text, params == NULL);
}
