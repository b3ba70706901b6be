/* examples.c - see examples.h.
 *
 * Workloads come from the generators, so that a line runs in any folder; lines about graphs need a
 * file, one of the bundled graphs, as it lies in the source tree or where it is installed.
 *
 * Invariant: a setting is shown only if the owner of the parameter accepts it.
 */
#include "config.h"

#include <string.h>

#include "allocators/allocator.h"
#include "planners/planner.h"
#include "sim/cli/cli.h"
#include "sim/cli/examples.h"
#include "sim/manuals/manuals.h"
#include "workloads/generator.h"
#include "workloads/lowering.h"

#define TRAINING "gemem-sim generate transformer-train:iterations=1"
#define SESSION "gemem-sim generate ge-session"
#define TOGETHER_MAX 3 /* other settings beside the one that is shown */

/* ---- which settings are accepted */

static gboolean
allocator_accepts (const char *spec)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GError) error = NULL;
  GememDevice *device = gemem_device_new ("sim", NULL, 0, NULL);
  GememAllocator *allocator = gemem_allocator_spec_parse (spec, specs, NULL) && specs->len == 1
                                  ? gemem_allocator_new (specs->pdata[0], NULL, device, &error)
                                  : NULL;

  if (allocator != NULL)
    gemem_allocator_destroy (allocator);
  gemem_device_destroy (device);
  return allocator != NULL;
}

static gboolean
planner_accepts (const char *spec)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  return gemem_planner_parse (spec, choices, NULL) && choices->len == 1;
}

/* A lowering says with a graph only which settings have no effect. */
static gboolean
lowering_accepts (const char *spec)
{
  GememGraph *graph = gemem_graph_new ("example");
  GememTraceReader *reader = NULL;

  gemem_graph_add_node (graph, "node", "Example");
  gemem_graph_add_output (graph, 1);
  if (gemem_lowering_check (spec, NULL) && gemem_graph_seal (graph, "example", NULL))
    reader = gemem_lowering_open (spec, graph, NULL);
  if (reader != NULL)
    gemem_trace_close (reader);
  gemem_graph_unref (graph);
  return reader != NULL;
}

static gboolean
generator_accepts (const char *spec)
{
  GememTraceReader *reader = gemem_generator_open (spec, 1, NULL);

  if (reader != NULL)
    gemem_trace_close (reader);
  return reader != NULL;
}

static gboolean
device_accepts (const char *spec)
{
  GememDevice *device = gemem_device_new (spec, NULL, 0, NULL);

  if (device != NULL)
    gemem_device_destroy (device);
  return device != NULL;
}

static gboolean
accepts (const char *kind, const char *spec)
{
  return strcmp (kind, "planner") == 0     ? planner_accepts (spec)
         : strcmp (kind, "lowering") == 0  ? lowering_accepts (spec)
         : strcmp (kind, "generator") == 0 ? generator_accepts (spec)
         : strcmp (kind, "device") == 0    ? device_accepts (spec)
                                           : allocator_accepts (spec);
}

/* ---- settings to try */

/* Adds the '|' separated @words (or NULL) but the default. */
static void
add_values (GPtrArray *values, const GememParam *param, const char *words)
{
  g_auto (GStrv) split = g_strsplit (words != NULL ? words : "", "|", -1);

  for (guint i = 0; split[i] != NULL; i++)
    if (g_strcmp0 (split[i], param->default_text) != 0)
      g_ptr_array_add (values, g_strdup (split[i]));
}

/* Adds numbers that are no limits: twice the default, else something small. */
static void
add_numbers (GPtrArray *values, const GememParam *param)
{
  const guint64 number = param->default_text != NULL
                             ? g_ascii_strtoull (param->default_text, NULL, 10)
                             : 0;
  g_autofree char *twice = g_strdup_printf (
      "%" G_GUINT64_FORMAT "%s", 2 * number,
      number > 0 ? param->default_text + strspn (param->default_text, "0123456789") : "");

  if (number > 0 && number < G_MAXUINT32)
    add_values (values, param, twice);
  add_values (values, param, param->type == GEMEM_PARAM_SIZE ? "16GiB" : "1|2");
}

/* Values of @param, the most telling first: those worth trying, without the default; then those
 * that are probably accepted. */
static GPtrArray *
values_of (const GememParam *param)
{
  g_autoptr (GPtrArray) sweep = gemem_param_sweep (param);
  GPtrArray *values = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < sweep->len; i++)
    add_values (values, param, sweep->pdata[i]);
  if (param->type == GEMEM_PARAM_STRING)
    add_values (values, param, param->choices);
  else if (param->type == GEMEM_PARAM_UINT || param->type == GEMEM_PARAM_INT
           || param->type == GEMEM_PARAM_SIZE)
    add_numbers (values, param);
  add_values (values, param, param->min);
  if (param->default_text != NULL)
    g_ptr_array_add (values, g_strdup (param->default_text));
  return values;
}

/* "NAME:@extra@param=@value" if it is accepted, else NULL. */
static char *
try_setting (const GememTopic *topic, const char *extra, const GememParam *param, const char *value)
{
  g_autofree char *quoted = gemem_settings_quote (value);
  char *spec = g_strdup_printf ("%s:%s%s=%s", topic->name, extra, param->name, quoted);

  if (!accepts (topic->kind, spec))
    g_clear_pointer (&spec, g_free);
  return spec;
}

static char *
try_values (const GememTopic *topic, const char *extra, const GememParam *param,
            const GPtrArray *values)
{
  char *spec = NULL;

  for (guint i = 0; i < values->len && spec == NULL; i++)
    spec = try_setting (topic, extra, param, values->pdata[i]);
  return spec;
}

/* The same behind @extra and with up to @depth other parameters, of few values, set first: those of
 * the table from @other on. */
static char *
try_together (const GememTopic *topic, const char *extra, const GememParam *param,
              const GPtrArray *values, const GememParam *other, guint depth)
{
  char *spec = try_values (topic, extra, param, values);

  for (; depth > 0 && other->name != NULL && spec == NULL; other++)
    if (other != param && (other->type == GEMEM_PARAM_CHOICE || other->type == GEMEM_PARAM_BOOL))
      {
        g_autoptr (GPtrArray) first = values_of (other);
        for (guint i = 0; i < first->len && spec == NULL; i++)
          {
            const char *value = first->pdata[i];
            g_autofree char *more = g_strdup_printf ("%s%s=%s,", extra, other->name, value);
            if (g_strcmp0 (value, other->default_text) != 0)
              spec = try_together (topic, more, param, values, other + 1, depth - 1);
          }
      }
  return spec;
}

static char *
spec_with (const GememTopic *topic, const GememParam *param, const char *value)
{
  g_autoptr (GPtrArray) values = NULL;
  char *spec = NULL;

  if (param == NULL)
    return g_strdup (topic->name);
  if (value != NULL)
    {
      values = g_ptr_array_new_with_free_func (g_free);
      g_ptr_array_add (values, g_strdup (value));
    }
  else
    values = values_of (param);
  for (guint depth = 0; depth <= TOGETHER_MAX && values->len > 0 && spec == NULL; depth++)
    spec = try_together (topic, "", param, values, topic->params, depth);
  return spec != NULL ? spec : g_strdup (topic->name);
}

/* ---- command lines */

/* The path of the bundled graph @name. */
static char *
graph_file (const char *name)
{
  g_autofree char *folder = gemem_manual_graphs ();

  return g_build_filename (folder, name, NULL);
}

static const char *
workload_for (const GememTopic *topic)
{
  const GememAllocatorClass *klass = gemem_allocator_find (topic->name, NULL);

  return klass != NULL && klass->graphs.load != NULL ? SESSION : TRAINING;
}

/* The line for a format, which needs a file of it unless gemem writes it. */
static char *
format_example (const GememTopic *topic)
{
  for (const GememTraceFormat *const *f = gemem_trace_formats (); *f != NULL; f++)
    if (strcmp ((*f)->name, topic->name) == 0 && (*f)->create != NULL)
      return g_strdup_printf (TRAINING " | gemem-sim convert - train.out -f %s", topic->name);
  return g_strdup ("gemem-sim info FILE");
}

char *
gemem_example (const GememTopic *topic, const GememParam *param, const char *value)
{
  g_autofree char *graph = graph_file ("gpt2-train.json.gz");
  g_autofree char *spec = NULL, *quoted = NULL;

  if (strcmp (topic->kind, "format") == 0)
    return format_example (topic);
  if (strcmp (topic->kind, "gpu") == 0)
    return g_strdup_printf (TRAINING " | gemem-sim replay - -a pytorch-caching -d sim:gpu=%s",
                            topic->name);
  spec = spec_with (topic, param, value);
  quoted = strpbrk (spec, " |*[]()%") != NULL ? g_shell_quote (spec) : g_strdup (spec);
  if (strcmp (topic->kind, "planner") == 0)
    return g_strdup_printf ("gemem-sim plan %s -p %s", graph, quoted);
  if (strcmp (topic->kind, "lowering") == 0)
    return g_strdup_printf ("gemem-sim compare %s --lower=%s", graph, quoted);
  if (strcmp (topic->kind, "generator") == 0)
    return g_strdup_printf ("gemem-sim generate %s | gemem-sim info -", quoted);
  if (strcmp (topic->kind, "device") == 0)
    return g_strdup_printf (TRAINING " | gemem-sim replay - -a pytorch-caching -d %s", quoted);
  return g_strdup_printf ("%s | gemem-sim replay - -a %s", workload_for (topic), quoted);
}

char *
gemem_example_replay (void)
{
  return g_strdup (TRAINING " | gemem-sim replay - -a pytorch-caching");
}
