/* graph.c - building and reading graphs; see graph.h.
 *
 * Everything lies in a few flat arrays, of which each node has slices: memory is linear and reading
 * needs no lookup.  Names are interned in one string chunk.  Connections are kept by name until
 * seal(), so that a file may list them in any order.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/params.h"
#include "graphs/graph-private.h"

const GememAttributeInfo gemem_attributes[GEMEM_ATTRIBUTE_COUNT] = {
#define GEMEM_ATTRIBUTE(symbol, name, kind, owner, help) \
  { name, GEMEM_ATTRIBUTE_##kind, GEMEM_ATTRIBUTE_##owner, help },
#include "graphs/attributes.def"
#undef GEMEM_ATTRIBUTE
};

GememAttributeKey
gemem_attribute_find (const char *name, GememAttributeOwner owner)
{
  for (guint i = 0; i < GEMEM_ATTRIBUTE_COUNT; i++)
    if (gemem_attributes[i].owner == owner && strcmp (gemem_attributes[i].name, name) == 0)
      return (GememAttributeKey) i;
  return GEMEM_ATTRIBUTE_COUNT;
}

/* ---- creation and release */

/* Allocated even when empty, so that the address of an empty slice is not computed from NULL. */
#define NEW_ARRAY(type) g_array_sized_new (FALSE, FALSE, sizeof (type), 1)

GememGraph *
gemem_graph_new (const char *name)
{
  GememGraph *graph = g_new0 (GememGraph, 1);
  GememBlockInfo root = { .node = GEMEM_NONE };

  graph->references = 1;
  graph->release_first = -1;
  graph->strings = g_string_chunk_new (4096);
  graph->settings = gemem_settings_new ();
  graph->provenance = g_ptr_array_new_with_free_func (g_free);
  graph->nodes = NEW_ARRAY (GememNode);
  graph->tensors = NEW_ARRAY (GememTensor);
  graph->inputs = NEW_ARRAY (GememNodeInput);
  graph->workspaces = NEW_ARRAY (guint64);
  graph->variables = NEW_ARRAY (GememVariable);
  graph->blocks = NEW_ARRAY (GememBlockInfo);
  graph->consumers = NEW_ARRAY (GememConsumer);
  graph->controls = NEW_ARRAY (guint32);
  graph->successors = NEW_ARRAY (guint32);
  graph->dims = NEW_ARRAY (gint64);
  graph->attributes = NEW_ARRAY (GememAttribute);
  graph->values = NEW_ARRAY (gint64);
  graph->texts = NEW_ARRAY (const char *);
  graph->wanted_inputs = NEW_ARRAY (GememWanted);
  graph->wanted_controls = NEW_ARRAY (const char *);
  graph->wanted_consumers = NEW_ARRAY (GememWanted);
  graph->node_index = g_hash_table_new (g_str_hash, g_str_equal);
  graph->variable_index = g_hash_table_new (g_str_hash, g_str_equal);
  graph->name = gemem_graph_intern (graph, name);
  root.name = graph->name;
  g_array_append_val (graph->blocks, root);
  return graph;
}

GememGraph *
gemem_graph_ref (GememGraph *graph)
{
  g_atomic_int_inc (&graph->references);
  return graph;
}

static void
drop_wanted (GememGraph *graph)
{
  g_clear_pointer (&graph->wanted_inputs, g_array_unref);
  g_clear_pointer (&graph->wanted_controls, g_array_unref);
  g_clear_pointer (&graph->wanted_consumers, g_array_unref);
}

void
gemem_graph_unref (GememGraph *graph)
{
  if (graph == NULL || !g_atomic_int_dec_and_test (&graph->references))
    return;
  drop_wanted (graph);
  g_hash_table_unref (graph->node_index);
  g_hash_table_unref (graph->variable_index);
  g_array_unref (graph->nodes);
  g_array_unref (graph->tensors);
  g_array_unref (graph->inputs);
  g_array_unref (graph->workspaces);
  g_array_unref (graph->variables);
  g_array_unref (graph->blocks);
  g_array_unref (graph->consumers);
  g_array_unref (graph->controls);
  g_array_unref (graph->successors);
  g_array_unref (graph->dims);
  g_array_unref (graph->attributes);
  g_array_unref (graph->values);
  g_array_unref (graph->texts);
  g_ptr_array_unref (graph->settings);
  g_ptr_array_unref (graph->provenance);
  g_string_chunk_free (graph->strings);
  g_free (graph);
}

/* ---- building */

const char *
gemem_graph_intern (GememGraph *graph, const char *text)
{
  return g_string_chunk_insert_const (graph->strings, text != NULL ? text : "");
}

void
gemem_graph_set_name (GememGraph *graph, const char *name)
{
  graph->name = gemem_graph_intern (graph, name);
  g_array_index (graph->blocks, GememBlockInfo, 0).name = graph->name;
}

void
gemem_graph_add_setting (GememGraph *graph, const char *key, const char *value)
{
  gemem_settings_add (graph->settings, key, value);
}

void
gemem_graph_note (GememGraph *graph, const char *key, const char *format, ...)
{
  va_list args;
  g_autofree char *text = NULL;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_ptr_array_add (graph->provenance, g_strdup_printf ("%s: %s", key, text));
}

void
gemem_graph_set_dynamic_root (GememGraph *graph, gboolean dynamic)
{
  graph->dynamic_root = dynamic;
}

void
gemem_graph_set_release_first (GememGraph *graph, int release_first)
{
  graph->release_first = release_first;
}

static guint32
add_dims (GememGraph *graph, const gint64 *dims, guint n)
{
  const guint32 first = graph->dims->len;

  if (n > 0)
    g_array_append_vals (graph->dims, dims, n);
  return first;
}

/* A new variable, behind @namesake unless that is GEMEM_NONE. */
static guint32
append_variable (GememGraph *graph, const char *name, guint32 namesake, gboolean persistable)
{
  const guint32 number = graph->variables->len;
  const GememVariable variable = { .name = gemem_graph_intern (graph, name),
                                   .parameter = GEMEM_NONE,
                                   .block = GEMEM_NONE,
                                   .namesake = GEMEM_NONE,
                                   .persistable = persistable != FALSE,
                                   .is_tensor = TRUE };

  g_array_append_val (graph->variables, variable);
  if (namesake != GEMEM_NONE)
    gemem_graph_edit_variable (graph, namesake)->namesake = number;
  else
    g_hash_table_insert (graph->variable_index, (gpointer) variable.name,
                         GUINT_TO_POINTER (number));
  return number;
}

guint32
gemem_graph_add_variable (GememGraph *graph, const char *name, GememDtype dtype, const gint64 *dims,
                          guint n_dims, gboolean persistable)
{
  guint32 number = gemem_graph_find_variable (graph, name);

  if (number != GEMEM_NONE)
    return number;
  number = append_variable (graph, name, GEMEM_NONE, persistable);
  gemem_graph_set_variable_shape (graph, number, dtype, dims, n_dims);
  return number;
}

guint32
gemem_graph_declare_variable (GememGraph *graph, const char *name, guint32 block, GememDtype dtype,
                              const gint64 *dims, guint n_dims, gboolean persistable)
{
  guint32 last = GEMEM_NONE, number = gemem_graph_find_variable (graph, name);

  while (number != GEMEM_NONE && gemem_graph_variable (graph, number)->block != block)
    {
      last = number;
      number = gemem_graph_variable (graph, number)->namesake;
    }
  if (number != GEMEM_NONE)
    return number;
  number = append_variable (graph, name, last, persistable);
  gemem_graph_edit_variable (graph, number)->block = block;
  gemem_graph_set_variable_shape (graph, number, dtype, dims, n_dims);
  return number;
}

guint32
gemem_graph_add_own_variable (GememGraph *graph, const char *name, GememDtype dtype,
                              const gint64 *dims, guint n_dims, gboolean persistable)
{
  g_autoptr (GString) own = g_string_new (name);

  while (gemem_graph_find_variable (graph, own->str) != GEMEM_NONE)
    g_string_append_printf (own, "#%u", gemem_graph_n_variables (graph));
  return gemem_graph_add_variable (graph, own->str, dtype, dims, n_dims, persistable);
}

void
gemem_graph_set_variable_shape (GememGraph *graph, guint32 variable, GememDtype dtype,
                                const gint64 *dims, guint n_dims)
{
  GememVariable *v = gemem_graph_edit_variable (graph, variable);

  v->dtype = dtype;
  v->has_shape = dims != NULL;
  v->first_dim = add_dims (graph, dims, n_dims);
  v->n_dims = n_dims;
  if (dims == NULL || !gemem_dtype_bytes (dtype, dims, n_dims, &v->size))
    v->size = 0;
}

GememVariable *
gemem_graph_edit_variable (GememGraph *graph, guint32 variable)
{
  return &g_array_index (graph->variables, GememVariable, variable);
}

void
gemem_graph_set_input_variable (GememGraph *graph, guint32 input, guint32 variable)
{
  g_array_index (graph->inputs, GememNodeInput, input).variable = variable;
}

void
gemem_graph_set_tensor_variable (GememGraph *graph, guint32 tensor, guint32 variable)
{
  g_array_index (graph->tensors, GememTensor, tensor).variable = variable;
}

guint32
gemem_graph_add_block (GememGraph *graph, const char *name)
{
  GememNode *node = gemem_graph_edit_node (graph);
  GememBlockInfo block = { gemem_graph_intern (graph, name), graph->nodes->len - 1 };

  if (node->n_blocks == 0)
    node->first_block = graph->blocks->len;
  node->n_blocks++;
  g_array_append_val (graph->blocks, block);
  return graph->blocks->len - 1;
}

guint32
gemem_graph_add_node (GememGraph *graph, const char *name, const char *type)
{
  GememNode node = { .stream = 0, .index = -1 };
  const guint32 id = graph->nodes->len;

  node.name = gemem_graph_intern (graph, name);
  node.type = gemem_graph_intern (graph, type);
  node.engine = node.batch_label = gemem_graph_intern (graph, "");
  node.first_input = graph->inputs->len;
  node.first_output = graph->tensors->len;
  node.first_workspace = graph->workspaces->len;
  node.first_control = graph->wanted_controls->len;
  node.attributes.first = graph->attributes->len;
  graph->attributes_of_output = FALSE;
  g_array_append_val (graph->nodes, node);
  if (!g_hash_table_insert (graph->node_index, (gpointer) node.name, GUINT_TO_POINTER (id))
      && graph->duplicate == NULL)
    graph->duplicate = node.name;
  return id;
}

GememNode *
gemem_graph_edit_node (GememGraph *graph)
{
  g_assert (graph->nodes->len > 0 && !graph->sealed);
  return &g_array_index (graph->nodes, GememNode, graph->nodes->len - 1);
}

static void
add_input (GememGraph *graph, const char *producer, guint32 output, guint32 variable)
{
  GememNodeInput input = { GEMEM_NONE, variable };
  GememWanted wanted = { producer, output };

  g_array_append_val (graph->inputs, input);
  g_array_append_val (graph->wanted_inputs, wanted);
  gemem_graph_edit_node (graph)->n_inputs++;
}

void
gemem_graph_add_input (GememGraph *graph, const char *producer, guint32 output)
{
  add_input (graph, gemem_graph_intern (graph, producer), output, GEMEM_NONE);
}

void
gemem_graph_add_variable_input (GememGraph *graph, guint32 variable)
{
  add_input (graph, NULL, 0, variable);
}

void
gemem_graph_add_no_input (GememGraph *graph)
{
  add_input (graph, NULL, 0, GEMEM_NONE);
}

void
gemem_graph_add_control (GememGraph *graph, const char *before)
{
  const char *name = gemem_graph_intern (graph, before);

  g_array_append_val (graph->wanted_controls, name);
  gemem_graph_edit_node (graph)->n_controls++;
}

void
gemem_graph_add_workspace (GememGraph *graph, guint64 size)
{
  g_array_append_val (graph->workspaces, size);
  gemem_graph_edit_node (graph)->n_workspaces++;
}

guint32
gemem_graph_add_output (GememGraph *graph, guint64 size)
{
  GememNode *node = gemem_graph_edit_node (graph);
  GememTensor tensor = { .size = size,
                         .node = graph->nodes->len - 1,
                         .index = node->n_outputs,
                         .reuse_input = -1,
                         .variable = GEMEM_NONE };

  tensor.first_consumer = graph->wanted_consumers->len;
  tensor.attributes.first = graph->attributes->len;
  g_array_append_val (graph->tensors, tensor);
  node->n_outputs++;
  graph->attributes_of_output = TRUE;
  return graph->tensors->len - 1;
}

GememTensor *
gemem_graph_edit_output (GememGraph *graph)
{
  g_assert (graph->tensors->len > 0 && !graph->sealed);
  return &g_array_index (graph->tensors, GememTensor, graph->tensors->len - 1);
}

void
gemem_graph_set_shape (GememGraph *graph, GememDtype dtype, const gint64 *dims, guint n)
{
  GememTensor *tensor = gemem_graph_edit_output (graph);

  tensor->dtype = dtype;
  tensor->has_shape = TRUE;
  tensor->first_dim = add_dims (graph, dims, n);
  tensor->n_dims = n;
}

void
gemem_graph_add_consumer (GememGraph *graph, const char *node, guint32 input)
{
  GememWanted wanted = { gemem_graph_intern (graph, node), input };

  g_array_append_val (graph->wanted_consumers, wanted);
  gemem_graph_edit_output (graph)->n_consumers++;
}

static void
add_attribute (GememGraph *graph, GememAttributeKey key, guint32 at, guint n)
{
  GememAttribute attribute = { (guint16) key, n, at };
  GememAttributes *owner;

  if (gemem_attributes[key].owner == GEMEM_ATTRIBUTE_TENSOR)
    owner = &gemem_graph_edit_output (graph)->attributes;
  else
    {
      /* a node's attributes come before its outputs: slices do not interleave */
      g_assert (!graph->attributes_of_output);
      owner = &gemem_graph_edit_node (graph)->attributes;
    }
  g_array_append_val (graph->attributes, attribute);
  owner->n++;
}

void
gemem_graph_add_attribute_ints (GememGraph *graph, GememAttributeKey key, const gint64 *values,
                                guint n)
{
  const guint32 at = graph->values->len;

  if (n > 0)
    g_array_append_vals (graph->values, values, n);
  add_attribute (graph, key, at, n);
}

void
gemem_graph_add_attribute_texts (GememGraph *graph, GememAttributeKey key,
                                 const char *const *values, guint n)
{
  const guint32 at = graph->texts->len;

  for (guint i = 0; i < n; i++)
    {
      const char *text = gemem_graph_intern (graph, values[i]);

      g_array_append_val (graph->texts, text);
    }
  add_attribute (graph, key, at, n);
}

/* ---- reading */

const char *
gemem_graph_name (const GememGraph *graph)
{
  return graph->name;
}

GPtrArray *
gemem_graph_settings (const GememGraph *graph)
{
  return graph->settings;
}

GPtrArray *
gemem_graph_provenance (const GememGraph *graph)
{
  return graph->provenance;
}

gboolean
gemem_graph_dynamic_root (const GememGraph *graph)
{
  return graph->dynamic_root;
}

int
gemem_graph_release_first (const GememGraph *graph)
{
  return graph->release_first;
}

guint32
gemem_graph_n_nodes (const GememGraph *graph)
{
  return graph->nodes->len;
}
guint32
gemem_graph_n_tensors (const GememGraph *graph)
{
  return graph->tensors->len;
}
guint32
gemem_graph_n_workspaces (const GememGraph *graph)
{
  return graph->workspaces->len;
}
guint32
gemem_graph_n_variables (const GememGraph *graph)
{
  return graph->variables->len;
}
guint32
gemem_graph_n_blocks (const GememGraph *graph)
{
  return graph->blocks->len;
}
guint32
gemem_graph_n_items (const GememGraph *graph)
{
  return graph->tensors->len + graph->workspaces->len;
}

const GememNode *
gemem_graph_node (const GememGraph *graph, guint32 node)
{
  return &g_array_index (graph->nodes, GememNode, node);
}

const GememTensor *
gemem_graph_tensor (const GememGraph *graph, guint32 tensor)
{
  return &g_array_index (graph->tensors, GememTensor, tensor);
}

const GememNodeInput *
gemem_graph_inputs (const GememGraph *graph, guint32 node)
{
  return &g_array_index (graph->inputs, GememNodeInput,
                         gemem_graph_node (graph, node)->first_input);
}

const GememConsumer *
gemem_graph_consumers (const GememGraph *graph, guint32 tensor)
{
  return &g_array_index (graph->consumers, GememConsumer,
                         gemem_graph_tensor (graph, tensor)->first_consumer);
}

const guint32 *
gemem_graph_controls (const GememGraph *graph, guint32 node)
{
  return &g_array_index (graph->controls, guint32, gemem_graph_node (graph, node)->first_control);
}

const guint32 *
gemem_graph_successors (const GememGraph *graph, guint32 node)
{
  return &g_array_index (graph->successors, guint32,
                         gemem_graph_node (graph, node)->first_successor);
}

guint64
gemem_graph_workspace (const GememGraph *graph, guint32 node, guint32 i)
{
  return g_array_index (graph->workspaces, guint64,
                        gemem_graph_node (graph, node)->first_workspace + i);
}

const GememVariable *
gemem_graph_variable (const GememGraph *graph, guint32 variable)
{
  return &g_array_index (graph->variables, GememVariable, variable);
}

const GememBlockInfo *
gemem_graph_block (const GememGraph *graph, guint32 block)
{
  return &g_array_index (graph->blocks, GememBlockInfo, block);
}

const gint64 *
gemem_graph_dims (const GememGraph *graph, guint32 first_dim)
{
  return &g_array_index (graph->dims, gint64, first_dim);
}

static guint32
find (GHashTable *index, const char *name)
{
  gpointer value;

  return g_hash_table_lookup_extended (index, name, NULL, &value) ? GPOINTER_TO_UINT (value)
                                                                  : GEMEM_NONE;
}

guint32
gemem_graph_find_node (const GememGraph *graph, const char *name)
{
  return find (graph->node_index, name);
}

guint32
gemem_graph_find_variable (const GememGraph *graph, const char *name)
{
  return find (graph->variable_index, name);
}

static guint32
find_declared (const GememGraph *graph, guint32 variable, guint32 block)
{
  while (variable != GEMEM_NONE && gemem_graph_variable (graph, variable)->block != block)
    variable = gemem_graph_variable (graph, variable)->namesake;
  return variable;
}

guint32
gemem_graph_find_variable_in (const GememGraph *graph, const char *name, guint32 block)
{
  const guint32 first = gemem_graph_find_variable (graph, name);
  guint32 found = GEMEM_NONE, left = graph->blocks->len; /* blocks that are wrong may form a ring */

  if (first == GEMEM_NONE || gemem_graph_variable (graph, first)->namesake == GEMEM_NONE)
    return first;
  for (; found == GEMEM_NONE && left > 0 && block < graph->blocks->len; left--)
    {
      found = find_declared (graph, first, block);
      if (block == 0)
        break;
      block = gemem_graph_node (graph, gemem_graph_block (graph, block)->node)->block;
    }
  return found;
}

guint64
gemem_graph_unpadded_size (const GememGraph *graph, guint32 tensor)
{
  const GememTensor *t = gemem_graph_tensor (graph, tensor);
  guint64 bytes;

  if (t->has_shape && gemem_dtype_bits (t->dtype) > 0
      && gemem_dtype_bytes (t->dtype, gemem_graph_dims (graph, t->first_dim), t->n_dims, &bytes))
    return bytes;
  return t->size;
}

GememGraphItem
gemem_graph_item (const GememGraph *graph, guint32 item)
{
  guint32 low = 0, high = graph->nodes->len; /* the last node whose first item is <= item */
  const GememNode *node;
  GememGraphItem result = { 0 };

  while (high - low > 1)
    {
      const guint32 middle = low + (high - low) / 2;

      if (gemem_node_item (gemem_graph_node (graph, middle)) <= item)
        low = middle;
      else
        high = middle;
    }
  node = gemem_graph_node (graph, low);
  result.node = low;
  result.index = item - gemem_node_item (node);
  result.workspace = result.index >= node->n_outputs;
  if (result.workspace)
    result.index -= node->n_outputs;
  result.size = result.workspace
                    ? gemem_graph_workspace (graph, low, result.index)
                    : gemem_graph_tensor (graph, node->first_output + result.index)->size;
  return result;
}

char *
gemem_graph_item_text (const GememGraph *graph, guint32 item)
{
  const GememGraphItem found = gemem_graph_item (graph, item);

  return g_strdup_printf ("%s:%s %u", gemem_graph_node (graph, found.node)->name,
                          found.workspace ? "workspace" : "output", found.index);
}

/* ---- attributes */

static const GememAttribute *
find_attribute (const GememGraph *graph, GememAttributes attributes, GememAttributeKey key)
{
  for (guint32 i = 0; i < attributes.n; i++)
    {
      const GememAttribute *attribute = &g_array_index (graph->attributes, GememAttribute,
                                                        attributes.first + i);

      if (attribute->key == key)
        return attribute;
    }
  return NULL;
}

gboolean
gemem_graph_has_attribute (const GememGraph *graph, GememAttributes attributes,
                           GememAttributeKey key)
{
  return find_attribute (graph, attributes, key) != NULL;
}

const gint64 *
gemem_graph_ints (const GememGraph *graph, GememAttributes attributes, GememAttributeKey key,
                  guint *n)
{
  const GememAttribute *attribute = find_attribute (graph, attributes, key);

  *n = attribute != NULL ? attribute->n : 0;
  return attribute != NULL ? &g_array_index (graph->values, gint64, attribute->at) : NULL;
}

gboolean
gemem_graph_int_at (const GememGraph *graph, GememAttributes attributes, GememAttributeKey key,
                    guint32 i, gint64 *value)
{
  guint n;
  const gint64 *values = gemem_graph_ints (graph, attributes, key, &n);

  if (i >= n)
    return FALSE;
  *value = values[i];
  return TRUE;
}

gint64
gemem_graph_int_or (const GememGraph *graph, GememAttributes attributes, GememAttributeKey key,
                    guint32 i, gint64 otherwise)
{
  gemem_graph_int_at (graph, attributes, key, i, &otherwise);
  return otherwise;
}

gboolean
gemem_graph_int (const GememGraph *graph, GememAttributes attributes, GememAttributeKey key,
                 gint64 *value)
{
  return gemem_graph_int_at (graph, attributes, key, 0, value);
}

gboolean
gemem_graph_flag (const GememGraph *graph, GememAttributes attributes, GememAttributeKey key)
{
  gint64 value;

  return gemem_graph_int (graph, attributes, key, &value) && value != 0;
}

const char *const *
gemem_graph_texts (const GememGraph *graph, GememAttributes attributes, GememAttributeKey key,
                   guint *n)
{
  const GememAttribute *attribute = find_attribute (graph, attributes, key);

  *n = attribute != NULL ? attribute->n : 0;
  return attribute != NULL
             ? (const char *const *) &g_array_index (graph->texts, const char *, attribute->at)
             : NULL;
}

const char *
gemem_graph_text (const GememGraph *graph, GememAttributes attributes, GememAttributeKey key)
{
  guint n;
  const char *const *texts = gemem_graph_texts (graph, attributes, key, &n);

  return n > 0 ? texts[0] : NULL;
}

GememAttributeKey
gemem_graph_attribute_at (const GememGraph *graph, GememAttributes attributes, guint32 i)
{
  return (GememAttributeKey) g_array_index (graph->attributes, GememAttribute, attributes.first + i)
      .key;
}
