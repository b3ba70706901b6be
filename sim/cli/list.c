/* list.c - `gemem-sim list`: what there is, from the registries. */
#include "config.h"

#include <string.h>

#include "sim/cli/options.h"
#include "sim/cli/topics.h"
#include "sim/report/report.h"

static gboolean names_only;
static char *format_name;

static const GOptionEntry entries[] = {
  { "names", 0, 0, G_OPTION_ARG_NONE, &names_only, "Names only, one a line", NULL },
  { "format", 'f', 0, G_OPTION_ARG_STRING, &format_name, "table (default) or json", "FORMAT" },
  { NULL }
};

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

static void
append_json_string (GString *out, const char *key, const char *value)
{
  g_string_append_printf (out, "\"%s\": ", key);
  gemem_json_append_string (out, value);
}

/* What a search over the parameter needs to know. */
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
      {
        append_json_string (out, fields[i][0], fields[i][1]);
        g_string_append (out, ", ");
      }
  g_string_append (out, "\"values\": [");
  for (guint i = 0; i < values->len; i++)
    {
      g_string_append (out, i == 0 ? "" : ", ");
      gemem_json_append_string (out, values->pdata[i]);
    }
  g_string_append (out, "], ");
}

static void
append_json (GString *out, const GArray *topics)
{
  g_string_append (out, "[");
  for (guint i = 0; i < topics->len; i++)
    {
      const GememTopic *topic = &g_array_index (topics, GememTopic, i);
      g_string_append (out, i == 0 ? "\n  {" : ",\n  {");
      append_json_string (out, "kind", topic->kind);
      g_string_append (out, ", ");
      append_json_string (out, "name", topic->name);
      g_string_append (out, ", ");
      append_json_string (out, "summary", topic->summary);
      g_string_append (out, ", \"parameters\": [");
      for (const GememParam *param = topic->params; param != NULL && param->name != NULL; param++)
        {
          g_string_append (out, param == topic->params ? "{" : ", {");
          append_json_string (out, "name", param->name);
          g_string_append (out, ", ");
          append_range (out, param);
          append_json_string (out, "default", param->default_text);
          g_string_append (out, ", ");
          append_json_string (out, "help", param->help);
          g_string_append (out, "}");
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
  .synopsis = "[allocators|shorthands|planners|lowerings|generators|devices|formats]",
  .summary = "Show the allocators, planners, generators and so on that there are",
  .examples = "  gemem-sim list\n  gemem-sim list allocators --format=json\n",
  .options = { entries },
  .run = run,
};
