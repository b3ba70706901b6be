/* list.c - `gemem-sim list`: lists the registries. */
#include "config.h"

#include <string.h>

#include "base/io/json-text.h"
#include "sim/cli/options.h"
#include "sim/cli/topics.h"

static gboolean names_only;
static char *format_name;

static const GOptionEntry entries[] = { { "names", 0, 0, G_OPTION_ARG_NONE, &names_only,
                                          "Names only, one a line", NULL },
                                        { "format", 'f', 0, G_OPTION_ARG_STRING, &format_name,
                                          "Form of the list (default: table)", "table|json" },
                                        { NULL } };

static void
append_table (GString *out, const GArray *topics)
{
  int width = 0;
  const char *kind = "";
  for (guint i = 0; i < topics->len; i++)
    width = MAX (width, (int) strlen (g_array_index (topics, GememTopic, i).name));
  for (guint i = 0; i < topics->len; i++)
    {
      const GememTopic *topic = &g_array_index (topics, GememTopic, i);
      if (names_only)
        {
          g_string_append_printf (out, "%s\n", topic->name);
          continue;
        }
      if (strcmp (kind, topic->kind) != 0)
        g_string_append_printf (out, "%s%c%ss\n", *kind != '\0' ? "\n" : "",
                                g_ascii_toupper (topic->kind[0]), topic->kind + 1);
      kind = topic->kind;
      g_string_append_printf (out, "  %-*s  %s\n", width, topic->name, topic->summary);
    }
}

/* Writes the facts that a search over the parameter needs. */
static void
append_range (GString *out, const GememParam *param)
{
  static const char *const types[] = { "bool", "uint", "int",    "size",
                                       "time", "real", "choice", "text" };
  const char *const fields[][2] = { { "type", types[param->type] },
                                    { "unit", param->unit },
                                    { "min", param->min },
                                    { "max", param->max } };
  g_autoptr (GPtrArray) values = gemem_param_sweep (param);

  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    if (fields[i][1] != NULL)
      gemem_json_append_text_member (out, fields[i][0], fields[i][1]);
  gemem_json_append_name (out, "values");
  g_string_append_c (out, '[');
  for (guint i = 0; i < values->len; i++)
    gemem_json_append_text_member (out, NULL, values->pdata[i]);
  g_string_append_c (out, ']');
}

static void
append_json (GString *out, const GArray *topics)
{
  g_string_append (out, "[");
  for (guint i = 0; i < topics->len; i++)
    {
      const GememTopic *topic = &g_array_index (topics, GememTopic, i);
      g_string_append (out, i == 0 ? "\n  {" : ",\n  {");
      gemem_json_append_text_member (out, "kind", topic->kind);
      gemem_json_append_text_member (out, "name", topic->name);
      gemem_json_append_text_member (out, "summary", topic->summary);
      gemem_json_append_name (out, "parameters");
      g_string_append_c (out, '[');
      for (const GememParam *param = topic->params; param != NULL && param->name != NULL; param++)
        {
          gemem_json_append_name (out, NULL);
          g_string_append_c (out, '{');
          gemem_json_append_text_member (out, "name", param->name);
          append_range (out, param);
          gemem_json_append_text_member (out, "default", param->default_text);
          gemem_json_append_text_member (out, "help", param->help);
          g_string_append_c (out, '}');
        }
      g_string_append (out, "]}");
    }
  g_string_append (out, "\n]\n");
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_list;
  gboolean json;
  if (!gemem_want_arguments (&gemem_command_list, arguments, 0, 1, error)
      || !gemem_want_table_or_json (format_name, &json, error))
    return 2;
  if (json && names_only)
    {
      g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                           "list: --names and --format=json exclude each other; keep one of them");
      return 2;
    }
  g_autoptr (GArray) topics = gemem_topics (arguments[0], error);
  if (topics == NULL)
    return 2;
  g_autoptr (GString) out = g_string_new (NULL);
  if (json)
    append_json (out, topics);
  else
    append_table (out, topics);
  return gemem_put (NULL, out->str, out->len, error) ? 0 : 1;
}

const GememCommand gemem_command_list = {
  .name = "list",
  .synopsis = "[allocators|shorthands|planners|lowerings|generators|devices|gpus|formats]",
  .summary = "Show the allocators, planners, generators and so on that there are",
  .examples = "  gemem-sim list\n  gemem-sim list allocators --format=json\n",
  .options = { entries },
  .run = run,
};
