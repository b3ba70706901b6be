/* fuzz-specs.c - what users write on the command line and in the environment: "NAME:key=value,..." of
 * allocators, devices, planners, generators and lowerings, as raw bytes up to a NUL.  What was
 * understood is made and used a little.
 */
#include "config.h"

#include <string.h>

#include "allocators/registry.h"
#include "planners/planner.h"
#include "tests/fuzz/fuzz.h"
#include "workloads/generator.h"
#include "workloads/lowering.h"

#define MOST_EVENTS 5000 /* read of a trace that is made */
#define MOST_CHOICES 16  /* of a text that stands for many are used */

typedef const GememNamed *const *Names;

typedef struct
{
  const char *name;
  Names (*names) (void);
  /* TRUE: understood.  Takes @text as it is. */
  gboolean (*run) (const char *text);
} Member;

/* The message has the user's text as it is; who prints it makes one line of that. */
static gboolean
refused (GError *error)
{
  g_strdelimit (error->message, "\n", ' ');
  return fuzz_refused (error);
}

/* ---- allocators */

static void
use_allocator (const GememAllocatorSpec *spec)
{
  const GememRequest request = { .size = 3000 };
  GError *error = NULL;
  GememBlock block = { 0 };
  GememDevice *device = gemem_device_new ("sim:capacity=1GiB", NULL, 0, &error);
  g_assert_no_error (error);
  GememAllocator *allocator = gemem_allocator_new (spec, NULL, device, &error);

  if (allocator == NULL)
    refused (error);
  else
    {
      if (allocator->klass->alloc (allocator, &request, &block))
        allocator->klass->free (allocator, &block, FALSE);
      gemem_allocator_destroy (allocator);
    }
  gemem_device_destroy (device);
}

static GPtrArray *
new_specs (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
}

static gboolean
use_specs (const GPtrArray *specs)
{
  for (guint i = 0; i < MIN (specs->len, MOST_CHOICES); i++)
    use_allocator (specs->pdata[i]);
  return TRUE;
}

static gboolean
run_allocator (const char *text)
{
  g_autoptr (GPtrArray) specs = new_specs ();
  GError *error = NULL;

  return gemem_allocator_spec_parse (text, specs, &error) ? use_specs (specs) : refused (error);
}

/* The first line is a text as above, each further one "NAME=value" of the environment. */
static gboolean
run_environment (const char *text)
{
  g_autoptr (GPtrArray) specs = new_specs (), variables = gemem_settings_new ();
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  GError *error = NULL;

  for (guint i = 1; lines[0] != NULL && lines[i] != NULL; i++)
    {
      char *value = strchr (lines[i], '=');
      if (value == NULL)
        continue;
      *value = '\0';
      gemem_settings_add (variables, lines[i], value + 1);
    }
  return gemem_allocator_spec_parse_with (lines[0] != NULL ? lines[0] : "", variables, specs,
                                          &error)
             ? use_specs (specs)
             : refused (error);
}

/* ---- devices */

static gboolean
run_device (const char *text)
{
  GError *error = NULL;
  g_autoptr (GPtrArray) specs = gemem_device_spec_expand (text, &error);

  if (specs == NULL)
    return refused (error);
  for (guint i = 0; i < MIN (specs->len, MOST_CHOICES); i++)
    {
      const GememDeviceSpec *spec = specs->pdata[i];
      GememDevice *device = gemem_device_new (spec->spec, NULL, 0, &error);
      if (device == NULL)
        return refused (error);
      guint64 address = gemem_device_malloc (device, 4096, 0);
      if (address != 0)
        gemem_device_free (device, address, 4096);
      g_free (gemem_device_describe (device));
      gemem_device_destroy (device);
    }
  return TRUE;
}

static Names
device_names (void)
{
  return NULL;
}

/* ---- planners */

static gboolean
run_planner (const char *text)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  g_autoptr (GememLifetimes) lifetimes = gemem_lifetimes_new ("fuzz");
  const GememPlanInput input = { .lifetimes = lifetimes, .threads = 1 };
  GError *error = NULL;

  if (!gemem_planner_parse (text, choices, &error))
    return refused (error);
  for (guint i = 0; i < 8; i++)
    gemem_lifetimes_add (lifetimes, i, i + 1 + i % 3, 100 * (i + 1));
  for (guint i = 0; i < MIN (choices->len, MOST_CHOICES); i++)
    {
      g_clear_error (&error);
      g_autoptr (GememPlan) plan = gemem_planner_run (choices->pdata[i], &input, &error);
      if (plan == NULL)
        refused (g_steal_pointer (&error));
    }
  return TRUE;
}

static Names
planner_names (void)
{
  return (Names) gemem_planners ();
}

/* ---- generators, lowerings */

static gboolean
read_some (GememTraceReader *reader, GError *error)
{
  const GememTraceEvent *events;
  gssize n = 0;

  if (reader == NULL)
    return refused (error);
  for (gssize count = 0; count < MOST_EVENTS; count += n)
    if ((n = gemem_trace_next (reader, &events, &error)) <= 0)
      break;
  gemem_trace_close (reader);
  return n >= 0 || refused (error);
}

static gboolean
run_generator (const char *text)
{
  GError *error = NULL;
  GememTraceReader *reader = gemem_generator_open (text, 1, &error);

  return read_some (reader, error);
}

static Names
generator_names (void)
{
  return (Names) gemem_generators ();
}

static gboolean
run_lowering (const char *text)
{
  g_autoptr (GememGraph) graph = gemem_graph_new ("fuzz");
  GError *error = NULL;

  gemem_graph_add_node (graph, "a", "Data");
  gemem_graph_add_output (graph, 1024);
  gemem_graph_add_node (graph, "b", "Add");
  gemem_graph_add_input (graph, "a", 0);
  gemem_graph_add_output (graph, 512);
  g_assert_true (gemem_graph_seal (graph, "fuzz", NULL));
  GememTraceReader *reader = gemem_lowering_open (text, graph, &error);
  return read_some (reader, error);
}

static Names
lowering_names (void)
{
  return (Names) gemem_lowerings ();
}

/* ---- the members */

static const Member members[] = {
  { "allocator", gemem_named_classes, run_allocator },
  { "environment", gemem_named_classes, run_environment },
  { "device", device_names, run_device },
  { "planner", planner_names, run_planner },
  { "generator", generator_names, run_generator },
  { "lowering", lowering_names, run_lowering },
  { NULL, NULL, NULL },
};

static const char *
member_name (guint member)
{
  return members[member].name;
}

static gboolean
run_spec (guint member, const guint8 *data, gsize size)
{
  g_autofree char *text = fuzz_text (data, size);

  return members[member].run (text);
}

/* A text for each value of each parameter that the table @params of @name mentions. */
static void
add_texts (GPtrArray *seeds, const char *name, const GememParam *params)
{
  fuzz_add_text (seeds, name);
  for (const GememParam *param = params; param != NULL && param->name != NULL; param++)
    {
      const char *const values[] = { param->default_text, param->min,     param->max, param->sweep,
                                     param->choices,      param->special, "*" };
      for (guint i = 0; i < G_N_ELEMENTS (values); i++)
        if (values[i] != NULL && *values[i] != '\0')
          {
            g_autofree char *quoted = gemem_settings_quote (values[i]),
                            *text = g_strdup_printf ("%s:%s=%s", name, param->name, quoted);
            fuzz_add_text (seeds, text);
          }
    }
}

static void
spec_seeds (guint member, GPtrArray *seeds)
{
  Names names = members[member].names ();

  for (; names != NULL && *names != NULL; names++)
    add_texts (seeds, (*names)->name, (*names)->params);
  if (members[member].run == run_device)
    for (const GememDeviceClass *const *c = gemem_device_classes (); *c != NULL; c++)
      add_texts (seeds, (*c)->name, (*c)->params);
}

const FuzzKind fuzz_spec = { "spec", member_name, run_spec, spec_seeds, NULL };
