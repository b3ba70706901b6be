/* topics.c - one view of all registries: everything with a name, a summary and perhaps parameters.
 *
 * help, list, the man page and the completion iterate this view alone, so that a new allocator,
 * generator, device or format appears in all of them once it is in its own list.
 */
#include "config.h"

#include <string.h>

#include "allocators/allocator.h"
#include "allocators/shorthand.h"
#include "devices/gpus.h"
#include "graphs/format.h"
#include "planners/planner.h"
#include "sim/cli/cli.h"
#include "sim/cli/topics.h"
#include "traces/trace.h"
#include "workloads/generator.h"
#include "workloads/lowering.h"

const char *const gemem_topic_kinds[] = { "allocator", "shorthand", "planner",
                                          "lowering",  "generator", "device",
                                          "gpu",       "format",    NULL };

static void
append (GArray *topics, const char *kind, const char *name, const char *aliases,
        const char *summary, const char *origin, const char *known_as, const GememParam *params)
{
  GememTopic topic = { kind, name, aliases, summary, origin, known_as, params };
  g_array_append_val (topics, topic);
}

static void
append_named (GArray *topics, const char *kind, const GememNamed *const *list)
{
  for (; *list != NULL; list++)
    append (topics, kind, (*list)->name, (*list)->aliases, (*list)->summary, (*list)->origin,
            (*list)->known_as, (*list)->params);
}

static void
append_kind (GArray *topics, const char *kind)
{
  if (strcmp (kind, "allocator") == 0)
    for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
      append (topics, kind, (*c)->name, (*c)->aliases, (*c)->summary, (*c)->origin, (*c)->known_as,
              (*c)->params);
  else if (strcmp (kind, "shorthand") == 0)
    append_named (topics, kind, gemem_shorthands ());
  else if (strcmp (kind, "generator") == 0)
    append_named (topics, kind, (const GememNamed *const *) gemem_generators ());
  else if (strcmp (kind, "planner") == 0)
    append_named (topics, kind, (const GememNamed *const *) gemem_planners ());
  else if (strcmp (kind, "lowering") == 0)
    append_named (topics, kind, (const GememNamed *const *) gemem_lowerings ());
  else if (strcmp (kind, "device") == 0)
    for (const GememDeviceClass *const *d = gemem_device_classes (); *d != NULL; d++)
      append (topics, kind, (*d)->name, (*d)->aliases, (*d)->summary, NULL, NULL, (*d)->params);
  else if (strcmp (kind, "gpu") == 0)
    for (const GememGpu *gpu = gemem_gpus (); gpu->name != NULL; gpu++)
      append (topics, kind, gpu->name, NULL, gpu->summary, gpu->source, NULL, NULL);
  else
    {
      for (const GememTraceFormat *const *f = gemem_trace_formats (); *f != NULL; f++)
        append (topics, kind, (*f)->name, (*f)->aliases, (*f)->summary, (*f)->origin, NULL, NULL);
      append_named (topics, kind, (const GememNamed *const *) gemem_graph_formats ());
    }
}

/* Accepts the plural: "allocators" means "allocator". */
static gboolean
kind_matches (const char *word, const char *kind)
{
  g_autofree char *plural = g_strconcat (kind, "s", NULL);
  return gemem_name_equal (word, kind) || gemem_name_equal (word, plural);
}

GArray *
gemem_topics (const char *kind, GError **error)
{
  GArray *topics = g_array_new (FALSE, FALSE, sizeof (GememTopic));
  gboolean known = FALSE;
  for (const char *const *k = gemem_topic_kinds; *k != NULL; k++)
    if (kind == NULL || kind_matches (kind, *k))
      {
        append_kind (topics, *k);
        known = TRUE;
      }
  if (known)
    return topics;
  g_array_unref (topics);
  g_autofree char *all = g_strjoinv ("s, ", (char **) gemem_topic_kinds);
  const char *near = gemem_suggest (kind, gemem_topic_kinds);
  if (near != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "nothing is called '%s'; did you mean '%s'?", kind, near);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "nothing is called '%s'; choose one of %ss",
                 kind, all);
  return NULL;
}

/* Appends the choices of @param, each once. */
static void
append_choices (GString *out, const GememParam *param)
{
  g_auto (GStrv) words = g_strsplit (param->choices, "|", -1);
  const char *between = "";

  for (char **word = words; *word != NULL; word++)
    if (strchr (*word, '=') == NULL)
      {
        g_string_append_printf (out, "%s%s", between, *word);
        between = "|";
      }
}

/* Appends what else may be written for the choices: "2.7, 2.7.0 for 2.6; 2.12 for 2.12.1". */
static void
append_synonyms (GString *out, const GememParam *param)
{
  g_auto (GStrv) words = g_strsplit (param->choices, "|", -1);
  const char *before = "      Also written: ";

  for (char **choice = words; *choice != NULL; choice++)
    {
      const gsize start = out->len;

      for (char **word = words; strchr (*choice, '=') == NULL && *word != NULL; word++)
        {
          const char *equals = strchr (*word, '=');
          if (equals != NULL && strcmp (equals + 1, *choice) == 0)
            g_string_append_printf (out, "%s%.*s", out->len > start ? ", " : before,
                                    (int) (equals - *word), *word);
        }
      if (out->len > start)
        {
          g_string_append_printf (out, " for %s", *choice);
          before = "; ";
        }
    }
  if (*before == ';')
    g_string_append_c (out, '\n');
}

void
gemem_param_append_values (GString *out, const GememParam *param)
{
  static const char *const names[] = { "yes|no", "N", "N", "SIZE", "TIME", "REAL", NULL, "TEXT" };

  if (param->type == GEMEM_PARAM_CHOICE)
    append_choices (out, param);
  else
    g_string_append (out, names[param->type]);
  if (param->unit != NULL)
    g_string_append_printf (out, " [%s]", param->unit);
  g_string_append_printf (out, "  (default: %s",
                          param->default_text != NULL ? param->default_text : "none");
  if (param->min != NULL && param->max != NULL)
    g_string_append_printf (out, "; %s to %s", param->min, param->max);
  else if (param->min != NULL || param->max != NULL)
    g_string_append_printf (out, "; at %s %s", param->min != NULL ? "least" : "most",
                            param->min != NULL ? param->min : param->max);
  g_string_append_c (out, ')');
}

void
gemem_param_append_help (GString *out, const GememParam *param)
{
  g_string_append_printf (out, "  %s=", param->name);
  gemem_param_append_values (out, param);
  g_string_append_printf (out, "\n      %s\n", param->help);
  if (param->type == GEMEM_PARAM_CHOICE)
    append_synonyms (out, param);
  if (param->sweep != NULL)
    g_string_append_printf (out, "      Worth trying ('*'): %s\n", param->sweep);
  if (param->aliases != NULL)
    g_string_append_printf (out, "      Also: %s\n", param->aliases);
  if (param->conflicts != NULL)
    g_string_append_printf (out, "      Not together with: %s\n", param->conflicts);
}

char *
gemem_topic_help (const GememTopic *topic)
{
  GString *out = g_string_new (NULL);
  g_string_append_printf (out, "%s (%s): %s.\n", topic->name, topic->kind, topic->summary);
  if (topic->aliases != NULL)
    g_string_append_printf (out, "Also called: %s\n", topic->aliases);
  if (topic->origin != NULL)
    g_string_append_printf (out, "Origin: %s\n", topic->origin);
  if (topic->known_as != NULL)
    {
      g_auto (GStrv) names = g_strsplit (topic->known_as, "|", -1);
      g_autofree char *all = g_strjoinv (", ", names);
      g_string_append_printf (out, "Known as: %s\n", all);
    }
  if (topic->params != NULL && topic->params->name != NULL)
    g_string_append (out, "\nParameters:\n");
  for (const GememParam *param = topic->params; param != NULL && param->name != NULL; param++)
    gemem_param_append_help (out, param);
  return g_string_free (out, FALSE);
}
