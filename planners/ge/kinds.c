/* kinds.c - the kind of each node (GE_* in model.h), from type, engine, attributes and options.
 *
 * Why: attributes are looked up once per node here; the assigners only test bits.
 * Cost: O(nodes x attributes).  Origin: ge-static.md 1.1, 2.2 (IO-reuse flags), 5, 6.1, 7.4.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/named.h"
#include "graphs/meaning.h"
#include "planners/ge/ge-private.h"

static gboolean
listed (const char *text, const char *const *list)
{
  for (; *list != NULL; list++)
    if (strcmp (text, *list) == 0)
      return TRUE;
  return FALSE;
}

/* The last three types have two names each in the system. */
static const char *const batch_independent_types[] = {
  "HcomBroadcast",        "HcomAllReduce",
  "HcomAllGather",        "HorovodBroadcast",
  "HorovodAllreduce",     "HorovodAllgather",
  "hvdCallbackBroadcast", "hvdCallbackAllreduce",
  "hvdCallbackAllgather", NULL
};
static const char *const not_refreshable_types[] = { "StreamSwitch", "StreamSwitchByIndex",
                                                     "rtsStreamSwitchByIndex", "LabelSwitchByIndex",
                                                     NULL };
/* its name in dumps; its name in our vectors */
static const char *const local_engines[] = { "DNN_VM_GE_LOCAL_OP_STORE", "GeLocal", NULL };

/* By the kernel library, or by the name that the manual has for such operators: HCOM.  A graph that
 * was written by hand or came through ONNX has no engines. */
static gboolean
is_collective (const GememNode *node)
{
  return strcmp (node->engine, "ops_kernel_info_hccl") == 0
         || g_ascii_strncasecmp (node->type, "hcom", 4) == 0;
}

static guint32
kind_by_type (const GememNode *node)
{
  guint32 kind = 0;

  kind |= gemem_node_is_data (node) ? GE_DATA : 0;
  /* GE plans the outputs of VariableV2 like those of any other node (1.1). */
  if (gemem_node_is_constant (node) && strcmp (node->type, "VariableV2") != 0)
    kind |= GE_ZERO_MEMORY;
  kind |= gemem_node_is_merge (node) ? GE_MERGE : 0;
  kind |= gemem_node_is_memset (node) ? GE_MEMSET : 0;
  kind |= listed (node->type, batch_independent_types) ? GE_BATCH_INDEPENDENT : 0;
  kind |= strcmp (node->type, "NetOutput") == 0 ? GE_NETOUTPUT : 0;
  kind |= strcmp (node->type, "PartitionedCall") == 0 ? GE_PARTITIONED_CALL : 0;
  kind |= listed (node->engine, local_engines) ? GE_LOCAL : 0;
  kind |= is_collective (node) ? GE_HCCL : 0;
  kind |= strcmp (node->engine, "DNN_VM_CUSTOM_OP_STORE") == 0 ? GE_CUSTOM : 0;
  kind |= node->block != 0 ? GE_NESTED : 0;
  return kind;
}

static guint32
kind_by_attributes (const GememGraph *graph, const GememNode *node)
{
  static const struct
  {
    GememAttributeKey key;
    guint32 kind;
  } flags[] = {
    { GEMEM_ATTRIBUTE_CONTINUOUS_INPUT, GE_RAW_PADDED_IN },
    { GEMEM_ATTRIBUTE_CONTINUOUS_OUTPUT, GE_RAW_PADDED_OUT },
    { GEMEM_ATTRIBUTE_NOPADDING_CONTINUOUS_INPUT, GE_RAW_NOPADDING_IN },
    { GEMEM_ATTRIBUTE_NOPADDING_CONTINUOUS_OUTPUT, GE_RAW_NOPADDING_OUT },
    { GEMEM_ATTRIBUTE_IS_ATOMIC_NODE, GE_ATOMIC },
    { GEMEM_ATTRIBUTE_NEED_GENTASK_ATOMIC, GE_GENTASK_ATOMIC },
    { GEMEM_ATTRIBUTE_REFERENCE, GE_REFERENCE },
    { GEMEM_ATTRIBUTE_NO_REUSE_MEM_FLAG, GE_NO_REUSE },
    { GEMEM_ATTRIBUTE_OUTPUT_REUSE_INPUT, GE_CASCADE_OUT },
  };
  guint32 kind = 0;

  for (guint i = 0; i < G_N_ELEMENTS (flags); i++)
    kind |= gemem_graph_flag (graph, node->attributes, flags[i].key) ? flags[i].kind : 0;
  if (gemem_graph_has_attribute (graph, node->attributes,
                                 GEMEM_ATTRIBUTE_OUTPUT_OFFSET_FOR_BUFFER_FUSION))
    kind |= GE_LX;
  return kind;
}

/* Kinds that follow from several of the above, and from the options. */
static guint32
kind_derived (const GeModel *model, const GememNode *node, guint32 kind)
{
  const GememGraph *graph = model->graph;
  guint32 derived = 0;

  if (node->n_inputs > 1)
    derived |= (kind & GE_RAW_PADDED_IN ? GE_PADDED_IN : 0)
               | (kind & GE_RAW_NOPADDING_IN ? GE_NOPADDING_IN : 0);
  if (node->n_outputs > 1)
    derived |= (kind & GE_RAW_PADDED_OUT ? GE_PADDED_OUT : 0)
               | (kind & GE_RAW_NOPADDING_OUT ? GE_NOPADDING_OUT : 0);
  if (model->options->atomic_clean_policy == 1 && gemem_node_is_cleared (graph, node))
    derived |= GE_GENTASK_ATOMIC;
  if ((derived & GE_PADDED_IN) != 0 && ((kind | derived) & GE_GENTASK_ATOMIC) != 0
      && gemem_graph_has_attribute (graph, node->attributes, GEMEM_ATTRIBUTE_ATOMIC_INPUT_INDEX))
    derived |= GE_SEP;
  if (!model->dynamic_root
      && gemem_graph_has_attribute (graph, node->attributes, GEMEM_ATTRIBUTE_BUFFER_POOL_ID)
      && gemem_graph_has_attribute (graph, node->attributes, GEMEM_ATTRIBUTE_BUFFER_POOL_SIZE))
    derived |= GE_BUFFER_POOL;
  /* Below a root of dynamic shape collectives are not refreshable, whatever the option says. */
  if (listed (node->type, not_refreshable_types)
      || ((kind & GE_HCCL) != 0
          && (!model->options->feature_base_refreshable || model->dynamic_root))
      || ((kind & GE_CUSTOM) != 0
          && !gemem_graph_flag (graph, node->attributes, GEMEM_ATTRIBUTE_REFRESHABLE)))
    derived |= GE_NOT_REFRESHABLE;
  return derived;
}

/* The items of OP_NO_REUSE_MEM; NULL: none, or the list is too long and ignored (2). */
static char **
split_no_reuse (const char *text)
{
  char **items;

  if (text == NULL || *text == '\0' || strlen (text) > 2000)
    return NULL;
  items = g_strsplit (text, ",", -1);
  if (g_strv_length (items) <= 10)
    return items;
  g_strfreev (items);
  return NULL;
}

/* ---- batch labels */

static void
fill_labels (GeModel *model)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) labels = g_ptr_array_new ();

  for (guint32 id = 0; id < model->n_nodes; id++)
    {
      const char *label = gemem_graph_node (model->graph, id)->batch_label;

      if (*label != '\0' && g_hash_table_add (seen, (gpointer) label))
        g_ptr_array_add (labels, (gpointer) label);
    }
  g_ptr_array_sort (labels, gemem_compare_texts);
  model->n_labels = labels->len + 1;
  model->labels = g_new (const char *, model->n_labels);
  model->labels[0] = "";
  for (guint i = 0; i < labels->len; i++)
    {
      model->labels[i + 1] = labels->pdata[i];
      g_hash_table_insert (seen, labels->pdata[i], GUINT_TO_POINTER (i + 1));
    }
  for (guint32 id = 0; id < model->n_nodes; id++)
    model->nodes[id].label = GPOINTER_TO_INT (
        g_hash_table_lookup (seen, gemem_graph_node (model->graph, id)->batch_label));
}

/* ---- IO-reuse flags (2.2) */

static gboolean
index_listed (const char *list, guint64 index)
{
  const char *at = list != NULL && *list == '[' ? list + 1 : list;

  while (at != NULL && *at != '\0')
    {
      char *end;

      if (g_ascii_strtoull (at, &end, 10) == index && end != at)
        return TRUE;
      at = strchr (at, ',');
      at = at != NULL ? at + 1 : NULL;
    }
  return FALSE;
}

static void
fill_reuse_flags (GeModel *model)
{
  guint32 n_outputs = 0;

  for (guint32 id = 0; id < model->n_nodes; id++)
    if ((model->nodes[id].kind & (GE_NETOUTPUT | GE_NESTED)) == GE_NETOUTPUT)
      n_outputs = MAX (n_outputs, gemem_graph_node (model->graph, id)->n_inputs);
  model->input_reuse = g_new0 (guint8, (gsize) model->n_nodes + 1);
  model->output_reuse = g_new0 (guint8, (gsize) n_outputs + 1);
  for (guint32 i = 0; i < n_outputs; i++)
    model->output_reuse[i] = model->dynamic_root || index_listed (model->options->output_reuse, i);
  for (guint32 id = 0; id < model->n_nodes && !model->dynamic_root; id++)
    {
      const GememNode *node = gemem_graph_node (model->graph, id);

      if ((model->nodes[id].kind & (GE_DATA | GE_NESTED)) == GE_DATA && node->index >= 0)
        model->input_reuse[id] = index_listed (model->options->input_reuse, (guint64) node->index);
    }
}

void
gemem_ge_model_fill_kinds (GeModel *model)
{
  g_auto (GStrv) no_reuse = split_no_reuse (model->options->op_no_reuse_mem);

  for (guint32 id = 0; id < model->n_nodes; id++)
    {
      const GememNode *node = gemem_graph_node (model->graph, id);
      guint32 *kind = &model->nodes[id].kind;

      *kind = kind_by_type (node) | kind_by_attributes (model->graph, node);
      *kind |= kind_derived (model, node, *kind);
      if (no_reuse != NULL
          && (listed (node->name, (const char *const *) no_reuse)
              || listed (node->type, (const char *const *) no_reuse)))
        *kind |= GE_OP_NO_REUSE;
      if (*kind & GE_MEMSET)
        model->last_memset = id;
    }
  fill_labels (model);
  fill_reuse_flags (model);
}

/* ---- what means nothing for a graph */

static gboolean
has_input (const GememGraph *graph, guint64 index)
{
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const GememNode *node = gemem_graph_node (graph, id);

      if ((kind_by_type (node) & GE_DATA) != 0 && node->index >= 0
          && (guint64) node->index == index)
        return TRUE;
    }
  return FALSE;
}

static gboolean
has_output (const GememGraph *graph, guint64 index)
{
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const GememNode *node = gemem_graph_node (graph, id);

      if ((kind_by_type (node) & GE_NETOUTPUT) != 0 && index < node->n_inputs)
        return TRUE;
    }
  return FALSE;
}

/* @list has been checked: "0,1" or "[0,1]". */
static void
note_indexes (const char *name, const char *what, const char *list, const GememGraph *graph,
              gboolean (*has) (const GememGraph *, guint64), GememNoteFunc func, gpointer data)
{
  const char *at = list != NULL ? list + (*list == '[') : "";

  while (g_ascii_isdigit (*at))
    {
      char *end;
      const guint64 index = g_ascii_strtoull (at, &end, 10);

      if (!has (graph, index))
        {
          g_autofree char *note = g_strdup_printf (
              "%s=%s: no %s of %s has the number %" G_GUINT64_FORMAT
              ", so that this changes nothing; what GE says to it is not known",
              name, list, what, gemem_graph_name (graph), index);

          func (note, data);
        }
      at = *end == ',' ? end + 1 : "";
    }
}

static gboolean
has_node (const GememGraph *graph, const char *name)
{
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    if (strcmp (gemem_graph_node (graph, id)->name, name) == 0
        || strcmp (gemem_graph_node (graph, id)->type, name) == 0)
      return TRUE;
  return FALSE;
}

void
gemem_ge_options_graph_notes (gconstpointer data, const GememGraph *graph, GememNoteFunc func,
                              gpointer to)
{
  const GeOptions *options = data;
  g_auto (GStrv) names = split_no_reuse (options->op_no_reuse_mem);

  note_indexes ("input_reuse", "input", options->input_reuse, graph, has_input, func, to);
  note_indexes ("output_reuse", "output", options->output_reuse, graph, has_output, func, to);
  for (char **name = names; name != NULL && *name != NULL; name++)
    if (!has_node (graph, *name))
      {
        g_autofree char *note = g_strdup_printf (
            "op_no_reuse_mem: no node or type of node of %s is called '%s', so that it changes "
            "nothing; what GE says to it is not known",
            gemem_graph_name (graph), *name);

        func (note, to);
      }
}
