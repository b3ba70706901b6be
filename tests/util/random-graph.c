/* random-graph.c - see random-graph.h. */
#include "config.h"

#include "base/rng.h"
#include "graphs/json.h"
#include "tests/util/random-graph.h"

/* An output that later nodes may read. */
typedef struct
{
  guint32 node, index, label;
  guint64 size;
  gboolean plain; /* may be referred to: neither an input nor a member of a group */
} Source;

typedef struct
{
  GememRng rng;
  GememGraph *graph;
  GArray *sources; /* Source */
  guint features, n_streams, n_labels;
  guint32 block; /* block of new nodes */
} Maker;

static gboolean
chance (Maker *maker, guint features, guint percent)
{
  const gboolean yes = gemem_rng_below (&maker->rng, 100) < percent;

  return yes && (maker->features & features) == features;
}

static guint64
random_size (Maker *maker)
{
  static const guint64 common[] = { 512, 700, 1024, 2048, 3000, 4096, 8192 };
  const guint64 size = common[gemem_rng_below (&maker->rng, G_N_ELEMENTS (common))];

  return gemem_rng_below (&maker->rng, 4) > 0 ? size
                                              : gemem_rng_log_uniform (&maker->rng, 1, 100000);
}

static const char *
node_name (guint32 id)
{
  static char name[2][16];
  static guint turn;

  turn = !turn;
  g_snprintf (name[turn], sizeof name[turn], "n%u", id);
  return name[turn];
}

static void
flag (Maker *maker, GememAttributeKey key)
{
  const gint64 yes = 1;

  gemem_graph_add_attribute_ints (maker->graph, key, &yes, 1);
}

static void
number (Maker *maker, GememAttributeKey key, gint64 value)
{
  gemem_graph_add_attribute_ints (maker->graph, key, &value, 1);
}

static guint32
add_node (Maker *maker, const char *type, guint32 label)
{
  const guint32 id = gemem_graph_add_node (maker->graph,
                                           node_name (gemem_graph_n_nodes (maker->graph)), type);
  char text[16];

  g_snprintf (text, sizeof text, "Batch_%u", label);
  gemem_graph_edit_node (maker->graph)->stream = chance (maker, TEST_GRAPH_NO_STREAM, 15)
                                                     ? -1
                                                     : (gint64) gemem_rng_below (&maker->rng,
                                                                                 maker->n_streams);
  if (label > 0)
    gemem_graph_edit_node (maker->graph)->batch_label = gemem_graph_intern (maker->graph, text);
  gemem_graph_edit_node (maker->graph)->block = maker->block;
  return id;
}

static guint32
add_output (Maker *maker, guint32 node, guint32 index, guint32 label, guint64 size, gboolean plain)
{
  const Source source = { node, index, label, size, plain };

  gemem_graph_add_output (maker->graph, size);
  g_array_append_val (maker->sources, source);
  return maker->sources->len - 1;
}

/* Source @at, or NULL if a node of @label may not read it. */
static const Source *
readable (const Maker *maker, guint at, guint32 label)
{
  const Source *source = &g_array_index (maker->sources, Source, at);

  return source->label == 0 || source->label == label ? source : NULL;
}

/* A random source among the @recent last, or NULL if a node of @label may not read it. */
static const Source *
pick_source (Maker *maker, guint32 label, guint recent)
{
  const guint n = MIN (maker->sources->len, recent);

  return n > 0 ? readable (
             maker, maker->sources->len - 1 - (guint) gemem_rng_below (&maker->rng, n), label)
               : NULL;
}

static void
add_controls (Maker *maker, guint32 id)
{
  if (id > 0 && maker->block == 0 && chance (maker, TEST_GRAPH_CONTROLS, 20))
    gemem_graph_add_control (maker->graph, node_name ((guint32) gemem_rng_below (&maker->rng, id)));
}

static void
add_workspaces (Maker *maker)
{
  if (!chance (maker, TEST_GRAPH_WORKSPACES, 30))
    return;
  gemem_graph_add_workspace (maker->graph, random_size (maker));
  if (chance (maker, TEST_GRAPH_WORKSPACES, 30))
    gemem_graph_add_workspace (maker->graph, random_size (maker));
  if (chance (maker, TEST_GRAPH_TYPES, 20))
    number (maker, GEMEM_ATTRIBUTE_WORKSPACE_NO_REUSE_SCOPE, 1);
}

/* ---- nodes of several kinds */

static void
add_ordinary (Maker *maker, guint32 label)
{
  const guint32 id = add_node (maker, "Op", label);
  const guint n_inputs = (guint) gemem_rng_below (&maker->rng, 4),
              n_outputs = 1 + (guint) gemem_rng_below (&maker->rng, 3) / 2;
  const gboolean atomic = maker->block == 0 && label == 0 && chance (maker, TEST_GRAPH_ATOMIC, 15);
  gint32 reuse = -1;

  for (guint i = 0; i < n_inputs; i++)
    {
      const Source *source = pick_source (maker, label, 12);

      if (source == NULL)
        gemem_graph_add_no_input (maker->graph);
      else
        gemem_graph_add_input (maker->graph, node_name (source->node), source->index);
      if (source != NULL && source->plain && source->label == label && reuse < 0 && !atomic
          && chance (maker, TEST_GRAPH_REFERENCES, 20))
        reuse = (gint32) i;
    }
  add_controls (maker, id);
  add_workspaces (maker);
  if (atomic)
    {
      gemem_graph_add_control (maker->graph, "n0");
      flag (maker, GEMEM_ATTRIBUTE_IS_ATOMIC_NODE);
      number (maker, GEMEM_ATTRIBUTE_ATOMIC_OUTPUT_INDEX, 0);
    }
  if (reuse < 0 && !atomic && chance (maker, TEST_GRAPH_TYPES, 8))
    number (maker, GEMEM_ATTRIBUTE_OUTPUT_MEMORY_TYPE, (gint64) GEMEM_MEMORY_P2P);
  for (guint i = 0; i < n_outputs; i++)
    {
      add_output (maker, id, i, label, random_size (maker), !atomic);
      if (i == 0)
        gemem_graph_edit_output (maker->graph)->reuse_input = reuse;
    }
}

/* Adds @n producers of one output each, for the group that follows, and stores their indices
 * among the sources. They do not read each other. */
static void
add_members (Maker *maker, guint32 label, guint n, guint32 *members, gboolean shaped)
{
  const guint before = maker->sources->len;

  for (guint i = 0; i < n; i++)
    {
      const guint32 id = add_node (maker, "Op", label);
      const guint at = before > 0
                           ? before - 1 - (guint) gemem_rng_below (&maker->rng, MIN (before, 12))
                           : 0;
      const Source *source = before > 0 ? readable (maker, at, label) : NULL;
      const gint64 size = (gint64) random_size (maker);

      if (source != NULL)
        gemem_graph_add_input (maker->graph, node_name (source->node), source->index);
      add_workspaces (maker);
      members[i] = add_output (maker, id, 0, label, (guint64) size, FALSE);
      if (shaped)
        gemem_graph_set_shape (maker->graph, gemem_dtype_find ("uint8"), &size, 1);
    }
}

/* Adds the last @n sources as inputs and removes them: no other node may read them. */
static guint64
add_group_inputs (Maker *maker, const guint32 *members, guint n)
{
  guint64 sum = 0;

  for (guint i = 0; i < n; i++)
    {
      const Source *source = &g_array_index (maker->sources, Source, members[i]);

      gemem_graph_add_input (maker->graph, node_name (source->node), source->index);
      sum += source->size;
    }
  g_array_set_size (maker->sources, maker->sources->len - n);
  return sum;
}

static void
add_padded (Maker *maker, guint32 label)
{
  const guint n = 2 + (guint) gemem_rng_below (&maker->rng, 2);
  const gboolean outputs = chance (maker, TEST_GRAPH_PADDED, 50);
  guint32 members[3], id;

  add_members (maker, label, n, members, FALSE);
  id = add_node (maker, "Collective", label);
  flag (maker, GEMEM_ATTRIBUTE_CONTINUOUS_INPUT);
  if (outputs)
    flag (maker, GEMEM_ATTRIBUTE_CONTINUOUS_OUTPUT);
  add_group_inputs (maker, members, n);
  for (guint i = 0; i < (outputs ? n : 1); i++)
    add_output (maker, id, i, label, random_size (maker), FALSE);
}

static void
add_nopadding (Maker *maker, guint32 label)
{
  const guint n = 2 + (guint) gemem_rng_below (&maker->rng, 2);
  guint32 members[3], id;
  gint64 size;

  add_members (maker, label, n, members, TRUE);
  id = add_node (maker, "PhonyConcat", label);
  flag (maker, GEMEM_ATTRIBUTE_NOPADDING_CONTINUOUS_INPUT);
  flag (maker, GEMEM_ATTRIBUTE_OUTPUT_REUSE_INPUT);
  number (maker, GEMEM_ATTRIBUTE_REUSE_INPUT_ON_DIM_INDEX, 0);
  size = (gint64) add_group_inputs (maker, members, n);
  add_output (maker, id, 0, label, (guint64) size, FALSE);
  gemem_graph_set_shape (maker->graph, gemem_dtype_find ("uint8"), &size, 1);
}

/* Adds an owner that reads one tensor and writes one, and its subgraph: a Data, some nodes, and
 * a NetOutput. No effect without a tensor to read. */
static void
add_subgraph (Maker *maker)
{
  const guint n = 1 + (guint) gemem_rng_below (&maker->rng, 3), outside = maker->sources->len;
  const guint64 size = random_size (maker);
  const Source *source = pick_source (maker, 0, 12);
  const guint32 id = source != NULL ? add_node (maker, "PartitionedCall", 0) : 0;
  const gint64 index = 0;
  const Source result = { id, 0, 0, size, FALSE };

  if (source == NULL)
    return;
  gemem_graph_add_input (maker->graph, node_name (source->node), source->index);
  gemem_graph_add_output (maker->graph, size);
  maker->block = gemem_graph_add_block (maker->graph, node_name (id));
  add_node (maker, "Data", 0);
  number (maker, GEMEM_ATTRIBUTE_PARENT_NODE_INDEX, 0);
  add_output (maker, id + 1, 0, 0, source->size, FALSE);
  for (guint i = 0; i < n; i++)
    {
      add_node (maker, "Op", 0);
      gemem_graph_add_input (maker->graph, node_name (id + 1 + (i == 0 ? 0 : i)), 0);
      add_workspaces (maker);
      add_output (maker, id + 2 + i, 0, 0, i + 1 == n ? size : random_size (maker), FALSE);
    }
  add_node (maker, "NetOutput", 0);
  gemem_graph_add_attribute_ints (maker->graph, GEMEM_ATTRIBUTE_INPUT_PARENT_NODE_INDEX, &index, 1);
  gemem_graph_add_input (maker->graph, node_name (id + 1 + n), 0);
  maker->block = 0;
  g_array_set_size (maker->sources, outside);
  g_array_append_val (maker->sources, result);
}

static void
add_inputs (Maker *maker)
{
  const guint n = maker->features & TEST_GRAPH_IO ? 1 + (guint) gemem_rng_below (&maker->rng, 3)
                                                  : 0;

  if (maker->features & TEST_GRAPH_ATOMIC)
    add_node (maker, "MemSet", 0);
  for (guint i = 0; i < n; i++)
    {
      const guint32 id = add_node (maker, "Data", 0);

      gemem_graph_edit_node (maker->graph)->index = i;
      add_output (maker, id, 0, 0, random_size (maker), FALSE);
    }
}

static void
add_net_output (Maker *maker)
{
  const guint n = 1 + (guint) gemem_rng_below (&maker->rng, 3);

  if (!(maker->features & TEST_GRAPH_IO))
    return;
  add_node (maker, "NetOutput", 0);
  for (guint i = 0; i < n; i++)
    {
      const Source *source = pick_source (maker, 0, 8);

      if (source != NULL && source->plain)
        gemem_graph_add_input (maker->graph, node_name (source->node), source->index);
    }
}

static void
add_any (Maker *maker)
{
  const guint32 label = chance (maker, TEST_GRAPH_LABELS, 50)
                            ? 1 + (guint32) gemem_rng_below (&maker->rng, maker->n_labels)
                            : 0;

  if (chance (maker, TEST_GRAPH_PADDED, 8))
    add_padded (maker, label);
  else if (chance (maker, TEST_GRAPH_NOPADDING, 8))
    add_nopadding (maker, label);
  else if (chance (maker, TEST_GRAPH_BLOCKS, 10))
    add_subgraph (maker);
  else
    add_ordinary (maker, label);
}

GememGraph *
test_random_graph (guint64 seed, guint features, guint nodes)
{
  Maker maker = { .features = features, .sources = g_array_new (FALSE, FALSE, sizeof (Source)) };
  g_autofree char *name = g_strdup_printf ("random-%" G_GUINT64_FORMAT "-0x%x-%u", seed, features,
                                           nodes);
  g_autoptr (GError) error = NULL;

  gemem_rng_init (&maker.rng, seed, "random-graph");
  maker.graph = gemem_graph_new (name);
  maker.n_streams = 1 + (guint) gemem_rng_below (&maker.rng, 4);
  maker.n_labels = 1 + (guint) gemem_rng_below (&maker.rng, 3);
  if (!(features & TEST_GRAPH_STREAMS))
    maker.n_streams = 1;
  add_inputs (&maker);
  while (gemem_graph_n_nodes (maker.graph) < MAX (nodes, 2))
    add_any (&maker);
  add_net_output (&maker);
  gemem_graph_seal (maker.graph, name, &error);
  g_assert_no_error (error);
  g_array_unref (maker.sources);
  return maker.graph;
}

char *
test_graph_json (const GememGraph *graph)
{
  GString *text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;

  gemem_graph_json_write (graph, text, &error);
  g_assert_no_error (error);
  return g_string_free (text, FALSE);
}
