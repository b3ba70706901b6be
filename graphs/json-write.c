/* json-write.c - writes our JSON graph format: one node a line, fields in a fixed order, defaults
 * omitted.
 *
 * The output loads back to an equal graph; the bytes depend on the graph alone.  Consumers are only
 * written where their order is not that of the inputs by node id, which the reader assumes.
 * O(graph).
 */
#include "config.h"

#include "base/io/json-text.h"
#include "graphs/json.h"

typedef struct
{
  const GememGraph *graph;
  GString *out;
  /* by tensor: the variable it writes instead; the whole array may be NULL */
  const GememGraphNewVariable *variables;
} Writer;

/* Writes a comma unless an object or list was just opened; then "key":. */
static void
write_key (GString *out, const char *key)
{
  const char last = out->len > 0 ? out->str[out->len - 1] : '{';

  if (last != '{' && last != '[')
    g_string_append_c (out, ',');
  if (key != NULL)
    g_string_append_printf (out, "\"%s\":", key);
}

static void
write_text_field (GString *out, const char *key, const char *text)
{
  write_key (out, key);
  gemem_json_append_string (out, text);
}

static void
write_int_field (GString *out, const char *key, gint64 value)
{
  write_key (out, key);
  g_string_append_printf (out, "%" G_GINT64_FORMAT, value);
}

static void
write_flag_field (GString *out, const char *key, gboolean value)
{
  write_key (out, key);
  g_string_append (out, value ? "true" : "false");
}

static void
write_ints_field (GString *out, const char *key, const gint64 *values, guint n)
{
  write_key (out, key);
  g_string_append_c (out, '[');
  for (guint i = 0; i < n; i++)
    write_int_field (out, NULL, values[i]);
  g_string_append_c (out, ']');
}

/* ---- parts */

static void
write_extent (const Writer *writer, guint64 size, gboolean has_shape, guint32 first_dim,
              guint32 n_dims, GememDtype dtype)
{
  write_int_field (writer->out, "size", (gint64) size);
  if (has_shape)
    write_ints_field (writer->out, "shape", gemem_graph_dims (writer->graph, first_dim), n_dims);
  if (dtype != GEMEM_DTYPE_UNKNOWN)
    write_text_field (writer->out, "dtype", gemem_dtype_name (dtype));
}

/* Refers to a variable from @block: by its name, and where that means another one, also by its
 * block. */
static void
write_reference (const Writer *writer, const char *key, guint32 variable, guint32 block)
{
  const GememVariable *v = gemem_graph_variable (writer->graph, variable);

  if (gemem_graph_find_variable_in (writer->graph, v->name, block) == variable)
    {
      write_key (writer->out, key);
      gemem_json_append_string (writer->out, v->name);
      return;
    }
  write_key (writer->out, key);
  g_string_append_c (writer->out, '{');
  write_text_field (writer->out, "name", v->name);
  write_int_field (writer->out, "block", v->block);
  g_string_append_c (writer->out, '}');
}

static void
write_attribute (const Writer *writer, GememAttributes attributes, GememAttributeKey key)
{
  const GememAttributeInfo *info = &gemem_attributes[key];
  guint n;
  const gint64 *values = gemem_graph_ints (writer->graph, attributes, key, &n);
  const char *const *texts;

  switch (info->kind)
    {
    case GEMEM_ATTRIBUTE_FLAG:
      write_flag_field (writer->out, info->name, values[0] != 0);
      return;
    case GEMEM_ATTRIBUTE_INT:
      write_int_field (writer->out, info->name, values[0]);
      return;
    case GEMEM_ATTRIBUTE_INTS:
      write_ints_field (writer->out, info->name, values, n);
      return;
    case GEMEM_ATTRIBUTE_TEXT:
      write_text_field (writer->out, info->name, gemem_graph_text (writer->graph, attributes, key));
      return;
    case GEMEM_ATTRIBUTE_TEXTS:
      texts = gemem_graph_texts (writer->graph, attributes, key, &n);
      write_key (writer->out, info->name);
      g_string_append_c (writer->out, '[');
      for (guint i = 0; i < n; i++)
        write_text_field (writer->out, NULL, texts[i]);
      g_string_append_c (writer->out, ']');
      return;
    }
}

static void
write_attributes (const Writer *writer, GememAttributes attributes)
{
  if (attributes.n == 0)
    return;
  write_key (writer->out, "attributes");
  g_string_append_c (writer->out, '{');
  for (guint32 i = 0; i < attributes.n; i++)
    write_attribute (writer, attributes, gemem_graph_attribute_at (writer->graph, attributes, i));
  g_string_append_c (writer->out, '}');
}

static void
write_end (const Writer *writer, const char *node, guint32 number)
{
  write_key (writer->out, NULL);
  g_string_append_c (writer->out, '[');
  gemem_json_append_string (writer->out, node);
  g_string_append_printf (writer->out, ",%u]", number);
}

static gboolean
in_order (const GememConsumer *consumers, guint32 n)
{
  for (guint32 i = 1; i < n; i++)
    if (consumers[i].node < consumers[i - 1].node
        || (consumers[i].node == consumers[i - 1].node
            && consumers[i].input < consumers[i - 1].input))
      return FALSE;
  return TRUE;
}

static void
write_consumers (const Writer *writer, guint32 tensor)
{
  const GememConsumer *consumers = gemem_graph_consumers (writer->graph, tensor);
  const guint32 n = gemem_graph_tensor (writer->graph, tensor)->n_consumers;

  if (in_order (consumers, n))
    return;
  write_key (writer->out, "consumers");
  g_string_append_c (writer->out, '[');
  for (guint32 i = 0; i < n; i++)
    write_end (writer, gemem_graph_node (writer->graph, consumers[i].node)->name,
               consumers[i].input);
  g_string_append_c (writer->out, ']');
}

static void
write_output (const Writer *writer, guint32 number)
{
  const GememTensor *tensor = gemem_graph_tensor (writer->graph, number);
  const GememGraphNewVariable own = { NULL, tensor->variable };
  const GememGraphNewVariable *variable = writer->variables != NULL ? &writer->variables[number]
                                                                    : &own;

  write_key (writer->out, NULL);
  g_string_append_c (writer->out, '{');
  write_extent (writer, tensor->size, tensor->has_shape, tensor->first_dim, tensor->n_dims,
                tensor->dtype);
  if (variable->name != NULL)
    write_text_field (writer->out, "variable", variable->name);
  else if (variable->variable != GEMEM_NONE)
    write_reference (writer, "variable", variable->variable,
                     gemem_graph_node (writer->graph, tensor->node)->block);
  if (tensor->reuse_input >= 0)
    write_int_field (writer->out, "reuse_input", tensor->reuse_input);
  write_consumers (writer, number);
  write_attributes (writer, tensor->attributes);
  g_string_append_c (writer->out, '}');
}

static void
write_input (const Writer *writer, const GememNodeInput *input, guint32 block)
{
  if (input->tensor != GEMEM_NONE)
    {
      const GememTensor *tensor = gemem_graph_tensor (writer->graph, input->tensor);

      write_end (writer, gemem_graph_node (writer->graph, tensor->node)->name, tensor->index);
    }
  else if (input->variable != GEMEM_NONE)
    write_reference (writer, NULL, input->variable, block);
  else
    {
      write_key (writer->out, NULL);
      g_string_append (writer->out, "null");
    }
}

/* ---- nodes, variables, the document */

static void
write_node_head (GString *out, guint32 id, const GememNode *node)
{
  write_int_field (out, "id", id);
  write_text_field (out, "name", node->name);
  if (*node->type != '\0')
    write_text_field (out, "type", node->type);
  if (*node->engine != '\0')
    write_text_field (out, "engine", node->engine);
  if (node->stream != 0)
    write_int_field (out, "stream", node->stream);
  if (node->index >= 0)
    write_int_field (out, "index", node->index);
  if (*node->batch_label != '\0')
    write_text_field (out, "batch_label", node->batch_label);
  if (node->role != GEMEM_ROLE_FORWARD)
    write_int_field (out, "role", node->role);
  if (node->block != 0)
    write_int_field (out, "block", node->block);
}

static void
write_node_lists (const Writer *writer, guint32 id, const GememNode *node)
{
  GString *out = writer->out;
  const guint32 *controls = gemem_graph_controls (writer->graph, id);

  if (node->n_blocks > 0)
    {
      write_key (out, "blocks");
      g_string_append_c (out, '[');
      for (guint32 i = 0; i < node->n_blocks; i++)
        write_text_field (out, NULL,
                          gemem_graph_block (writer->graph, node->first_block + i)->name);
      g_string_append_c (out, ']');
    }
  write_key (out, "inputs");
  g_string_append_c (out, '[');
  for (guint32 i = 0; i < node->n_inputs; i++)
    write_input (writer, &gemem_graph_inputs (writer->graph, id)[i], node->block);
  g_string_append_c (out, ']');
  if (node->n_controls > 0)
    {
      write_key (out, "controls");
      g_string_append_c (out, '[');
      for (guint32 i = 0; i < node->n_controls; i++)
        write_text_field (out, NULL, gemem_graph_node (writer->graph, controls[i])->name);
      g_string_append_c (out, ']');
    }
  if (node->n_workspaces > 0)
    {
      write_key (out, "workspaces");
      g_string_append_c (out, '[');
      for (guint32 i = 0; i < node->n_workspaces; i++)
        write_int_field (out, NULL, (gint64) gemem_graph_workspace (writer->graph, id, i));
      g_string_append_c (out, ']');
    }
}

static void
write_node (const Writer *writer, guint32 id)
{
  const GememNode *node = gemem_graph_node (writer->graph, id);

  g_string_append (writer->out, id > 0 ? ",\n{" : "\n{");
  write_node_head (writer->out, id, node);
  write_node_lists (writer, id, node);
  write_attributes (writer, node->attributes);
  write_key (writer->out, "outputs");
  g_string_append_c (writer->out, '[');
  for (guint32 i = 0; i < node->n_outputs; i++)
    write_output (writer, node->first_output + i);
  g_string_append (writer->out, "]}");
}

static void
write_variable (const Writer *writer, guint32 number)
{
  const GememVariable *variable = gemem_graph_variable (writer->graph, number);

  g_string_append (writer->out, number > 0 ? ",\n{" : "\n{");
  write_text_field (writer->out, "name", variable->name);
  write_extent (writer, variable->size, variable->has_shape, variable->first_dim, variable->n_dims,
                variable->dtype);
  if (variable->persistable)
    write_flag_field (writer->out, "persistable", TRUE);
  if (variable->parameter != GEMEM_NONE)
    write_reference (writer, "gradient_of", variable->parameter,
                     variable->block != GEMEM_NONE ? variable->block : 0);
  if (!variable->is_tensor)
    write_text_field (writer->out, "kind", "other");
  if (variable->block != GEMEM_NONE)
    write_int_field (writer->out, "block", variable->block);
  g_string_append_c (writer->out, '}');
}

/* Adds names that are new to the graph as variables that its outputs write. */
static void
write_new_variables (const Writer *writer)
{
  g_autoptr (GHashTable) written = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint32 t = 0; writer->variables != NULL && t < gemem_graph_n_tensors (writer->graph); t++)
    {
      const char *name = writer->variables[t].name;

      if (name == NULL || !g_hash_table_add (written, (gpointer) name))
        continue;
      g_string_append (writer->out,
                       gemem_graph_n_variables (writer->graph) + g_hash_table_size (written) > 1
                           ? ",\n{"
                           : "\n{");
      write_text_field (writer->out, "name", name);
      write_int_field (writer->out, "size", (gint64) gemem_graph_tensor (writer->graph, t)->size);
      g_string_append_c (writer->out, '}');
    }
}

static void
write_settings (const Writer *writer)
{
  const GPtrArray *settings = gemem_graph_settings (writer->graph);

  write_key (writer->out, "options");
  g_string_append_c (writer->out, '{');
  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];

      write_key (writer->out, NULL);
      gemem_json_append_string (writer->out, setting->key);
      g_string_append_c (writer->out, ':');
      gemem_json_append_string (writer->out, setting->value);
    }
  g_string_append_c (writer->out, '}');
}

static void
write_head (const Writer *writer)
{
  const GPtrArray *provenance = gemem_graph_provenance (writer->graph);

  write_text_field (writer->out, "format", GEMEM_GRAPH_JSON_NAME);
  write_int_field (writer->out, "version", GEMEM_GRAPH_JSON_VERSION);
  write_text_field (writer->out, "name", gemem_graph_name (writer->graph));
  write_settings (writer);
  write_key (writer->out, "provenance");
  g_string_append_c (writer->out, '[');
  for (guint i = 0; i < provenance->len; i++)
    write_text_field (writer->out, NULL, provenance->pdata[i]);
  g_string_append_c (writer->out, ']');
  if (gemem_graph_dynamic_root (writer->graph))
    write_flag_field (writer->out, "dynamic_shape_partitioned", TRUE);
  if (gemem_graph_release_first (writer->graph) >= 0)
    write_flag_field (writer->out, "mem_release_first_reuse_first",
                      gemem_graph_release_first (writer->graph) != 0);
}

void
gemem_graph_json_write_renamed (const GememGraph *graph, const GememGraphNewVariable *variables,
                                GString *out)
{
  const Writer writer = { graph, out, variables };

  g_string_append_c (out, '{');
  write_head (&writer);
  write_key (out, "variables");
  g_string_append_c (out, '[');
  for (guint32 v = 0; v < gemem_graph_n_variables (graph); v++)
    write_variable (&writer, v);
  write_new_variables (&writer);
  g_string_append (out, "],\n\"nodes\":[");
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    write_node (&writer, id);
  g_string_append (out, "]}\n");
}

gboolean
gemem_graph_json_write (const GememGraph *graph, GString *out, G_GNUC_UNUSED GError **error)
{
  gemem_graph_json_write_renamed (graph, NULL, out);
  return TRUE;
}
