/* random-program.c - see random-program.h. */
#include "config.h"

#include "base/rng.h"
#include "tests/util/random-program.h"

#define MOST_WEIGHTS 5
#define MOST_NAMES 4 /* variables that are written repeatedly */
#define RECENT 10

typedef struct
{
  GememRng rng;
  GememGraph *graph;
  guint streams, n_weights, n_names;
  gint64 elements[MOST_WEIGHTS];
  guint32 weight[MOST_WEIGHTS], gradient[MOST_WEIGHTS], name[MOST_NAMES], feed;
  /* operator of the latest write, as output 0; GEMEM_NONE: none */
  guint32 version[MOST_NAMES];
  guint32 made[RECENT]; /* ring of the latest operators with an output */
  guint n_made;
} Maker;

static guint
below (Maker *maker, guint bound)
{
  return (guint) gemem_rng_below (&maker->rng, bound);
}

static guint64
random_size (Maker *maker)
{
  static const guint64 common[] = { 512, 700, 1024, 3000, 4096 };

  return below (maker, 3) > 0 ? common[below (maker, G_N_ELEMENTS (common))]
                              : gemem_rng_log_uniform (&maker->rng, 1, 100000);
}

static const char *
op_name (char *buffer, guint32 id)
{
  g_snprintf (buffer, 16, "op%u", id);
  return buffer;
}

static guint32
add_op (Maker *maker, const char *type)
{
  char name[16];
  const guint32 id = gemem_graph_add_node (
      maker->graph, op_name (name, gemem_graph_n_nodes (maker->graph)), type);

  gemem_graph_edit_node (maker->graph)->stream = below (maker, maker->streams);
  return id;
}

/* A tensor, a weight, the fed variable, or the latest version of a name. */
static void
add_input (Maker *maker)
{
  const guint kind = below (maker, 8), n = below (maker, maker->n_names);
  char name[16];

  if (kind == 0)
    gemem_graph_add_variable_input (maker->graph, maker->feed);
  else if (kind <= 2)
    gemem_graph_add_variable_input (maker->graph, maker->weight[below (maker, maker->n_weights)]);
  else if (kind == 3 && maker->version[n] != GEMEM_NONE)
    gemem_graph_add_input (maker->graph, op_name (name, maker->version[n]), 0);
  else if (maker->n_made > 0)
    gemem_graph_add_input (
        maker->graph, op_name (name, maker->made[below (maker, MIN (maker->n_made, RECENT))]), 0);
  else
    gemem_graph_add_no_input (maker->graph);
}

static void
add_attributes (Maker *maker, guint n_inputs)
{
  const gint64 pair[] = { below (maker, n_inputs + 1), 0 }, input = below (maker, n_inputs + 1);

  if (below (maker, 3) == 0)
    gemem_graph_add_attribute_ints (maker->graph, GEMEM_ATTRIBUTE_INPLACE_PAIRS, pair, 2);
  if (below (maker, 4) == 0)
    gemem_graph_add_attribute_ints (maker->graph, GEMEM_ATTRIBUTE_NO_NEED_BUFFER, &input, 1);
  for (guint n = below (maker, 4); n > 2; n--)
    gemem_graph_add_workspace (maker->graph, random_size (maker));
}

static void
remember (Maker *maker, guint32 id)
{
  maker->made[maker->n_made % RECENT] = id;
  maker->n_made++;
}

static void
add_forward (Maker *maker)
{
  static const char *const types[] = { "relu", "mul", "scale", "elementwise_add", "concat" };
  const guint32 id = add_op (maker, types[below (maker, G_N_ELEMENTS (types))]);
  const guint n_inputs = below (maker, 4), n = below (maker, 3 * maker->n_names);

  for (guint i = 0; i < n_inputs; i++)
    add_input (maker);
  add_attributes (maker, n_inputs);
  gemem_graph_add_output (maker->graph, random_size (maker));
  if (n < maker->n_names)
    {
      gemem_graph_edit_output (maker->graph)->variable = maker->name[n];
      maker->version[n] = id;
    }
  else if (below (maker, 8) == 0 && n_inputs > 0)
    gemem_graph_edit_output (maker->graph)->reuse_input = 0;
  if (below (maker, 6) == 0)
    gemem_graph_add_output (maker->graph, random_size (maker));
  remember (maker, id);
}

/* Adds the gradient of weight @w and its update. */
static void
add_backward (Maker *maker, guint w)
{
  const char *names[] = { gemem_graph_variable (maker->graph, maker->weight[w])->name,
                          gemem_graph_variable (maker->graph, maker->gradient[w])->name };
  const guint64 bytes = gemem_graph_variable (maker->graph, maker->gradient[w])->size;
  const guint32 id = add_op (maker, "mul_grad");
  char name[16];

  gemem_graph_edit_node (maker->graph)->role = GEMEM_ROLE_BACKWARD;
  add_input (maker);
  gemem_graph_add_attribute_texts (maker->graph, GEMEM_ATTRIBUTE_OP_ROLE_VARS, names, 2);
  gemem_graph_add_output (maker->graph, bytes);
  gemem_graph_edit_output (maker->graph)->variable = maker->gradient[w];
  add_op (maker, "sgd");
  gemem_graph_edit_node (maker->graph)->role = GEMEM_ROLE_OPTIMIZE;
  gemem_graph_add_variable_input (maker->graph, maker->weight[w]);
  gemem_graph_add_input (maker->graph, op_name (name, id), 0);
  gemem_graph_add_output (maker->graph,
                          gemem_graph_variable (maker->graph, maker->weight[w])->size);
  gemem_graph_edit_output (maker->graph)->variable = maker->weight[w];
}

static void
add_variables (Maker *maker)
{
  const GememDtype single = gemem_dtype_find ("float32"), half = gemem_dtype_find ("float16");
  const gint64 fed = 1 + below (maker, 2000);

  maker->n_weights = 1 + below (maker, MOST_WEIGHTS);
  maker->n_names = 1 + below (maker, MOST_NAMES);
  for (guint w = 0; w < maker->n_weights; w++)
    {
      g_autofree char *weight = g_strdup_printf ("fc_%u.%u", w / 2, w % 2),
                      *gradient = g_strconcat (weight, "@GRAD", NULL);
      const GememDtype dtype = below (maker, 4) > 0 ? single : half;

      maker->elements[w] = 1 + below (maker, 3000);
      maker->weight[w] = gemem_graph_add_variable (maker->graph, weight, dtype, &maker->elements[w],
                                                   1, TRUE);
      maker->gradient[w] = gemem_graph_add_variable (maker->graph, gradient, dtype,
                                                     &maker->elements[w], 1, FALSE);
    }
  for (guint n = 0; n < maker->n_names; n++)
    {
      g_autofree char *name = g_strdup_printf ("tmp_%u", n);
      const gint64 elements = 1 + below (maker, 3000);

      maker->name[n] = gemem_graph_add_variable (maker->graph, name, single, &elements, 1,
                                                 below (maker, 6) == 0);
      maker->version[n] = GEMEM_NONE;
    }
  maker->feed = gemem_graph_add_variable (maker->graph, "x", single, &fed, 1, FALSE);
}

GememGraph *
test_random_program (guint64 seed, guint operators, guint streams)
{
  Maker maker = { .streams = streams };
  g_autofree char *name = g_strdup_printf ("program-%" G_GUINT64_FORMAT "-%u-%u", seed, operators,
                                           streams);
  g_autoptr (GError) error = NULL;
  char last[16];

  gemem_rng_init (&maker.rng, seed, "random-program");
  maker.graph = gemem_graph_new (name);
  add_variables (&maker);
  while (gemem_graph_n_nodes (maker.graph) + 2 * maker.n_weights < MAX (operators, 2))
    add_forward (&maker);
  for (guint w = maker.n_weights; w-- > 0;)
    add_backward (&maker, w);
  if (maker.n_made > 0)
    {
      add_op (&maker, "fetch");
      gemem_graph_add_input (maker.graph, op_name (last, maker.made[0]), 0);
    }
  gemem_graph_seal (maker.graph, name, &error);
  g_assert_no_error (error);
  return maker.graph;
}
