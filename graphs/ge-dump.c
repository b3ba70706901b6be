/* ge-dump.c - graphs that GE dumps as protobuf text (DUMP_GE_GRAPH): format `ge-dump`.
 *
 * Nodes come in the order of their ids, moved behind their inputs where ids say otherwise; the
 * nodes of a subgraph follow the node that owns it (ge-static.md 1.5).  "PRODUCER:-1" is a control
 * edge.  Attributes in attributes.def are kept, others counted.  `size` is the planner's padded
 * size; where a dump has none it is dimensions x element type.
 *
 * The log of the planner may be appended to the dump (cat DUMP LOG): its "[IMAS]Set" lines then
 * provide the planner's ids and effective streams, which a dump of the usual stages lacks (11.1).
 * The log cuts names to 512 bytes; nodes whose names differ only later are not matched.  Several
 * root graphs in a file: FILE#0, FILE#1...
 *
 * Kernel libraries: the field that holds the name is not specified, so an attribute whose value is
 * one of the three names that planning depends on sets the engine.  Cost: O((nodes + edges) log
 * nodes); memory for the file's graphs twice.  Origin: ge-static.md 1.1, 1.5, 11.1, 11.2.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "graphs/format.h"
#include "graphs/ge-dump.h"
#include "graphs/meaning.h"

#define MAX_DEPTH 100

typedef struct
{
  const GeDump *dump;
  GememGraph *graph;
  const char *where;
  GHashTable *log;    /* from gemem_ge_dump_read_log() */
  GHashTable *names;  /* of nodes */
  GHashTable *placed; /* GeDumpGraph */
  guint32 block;
  guint depth;
  guint64 unknown, unsized, matched; /* numbers of attributes, outputs, nodes */
} Import;

static gboolean add_part (Import *import, const GeDumpGraph *graph, GError **error);

static gboolean G_GNUC_PRINTF (4, 5)
    fail (const Import *import, GError **error, const char *node, const char *format, ...)
{
  va_list args;
  g_autofree char *text = NULL;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: node '%s': %s", import->where, node,
               text);
  return FALSE;
}

/* ---- attributes */

static gboolean
has_kind (const GeDumpAttribute *attribute, GememAttributeKind kind)
{
  const gboolean texts = kind == GEMEM_ATTRIBUTE_TEXT || kind == GEMEM_ATTRIBUTE_TEXTS;

  if (kind == GEMEM_ATTRIBUTE_INTS || kind == GEMEM_ATTRIBUTE_TEXTS)
    return texts ? attribute->ints->len == 0 : attribute->texts->len == 0;
  return (texts ? attribute->texts->len : attribute->ints->len) == 1;
}

/* Reads what a node has in fields of its own: batch label, engine, index. */
static gboolean
take_own_attribute (Import *import, const GeDumpAttribute *attribute)
{
  static const char *const engines[] = { "DNN_VM_GE_LOCAL_OP_STORE", "ops_kernel_info_hccl",
                                         "DNN_VM_CUSTOM_OP_STORE", NULL };
  GememNode *node = gemem_graph_edit_node (import->graph);
  const char *text = attribute->texts->len == 1 ? g_ptr_array_index (attribute->texts, 0) : NULL;

  if (text != NULL && strcmp (attribute->name, "_batch_label") == 0)
    node->batch_label = gemem_graph_intern (import->graph, text);
  else if (text != NULL && g_strv_contains (engines, text))
    node->engine = gemem_graph_intern (import->graph, text);
  else if (attribute->ints->len == 1 && strcmp (attribute->name, "index") == 0
           && gemem_node_is_data (node))
    node->index = g_array_index (attribute->ints, gint64, 0);
  else
    return FALSE;
  return TRUE;
}

/* Adds those of @attributes in attributes.def for @owner, without @without (or COUNT). */
static void
add_attributes (Import *import, const GPtrArray *attributes, GememAttributeOwner owner,
                GememAttributeKey without)
{
  gboolean seen[GEMEM_ATTRIBUTE_COUNT] = { FALSE };

  for (guint i = 0; i < attributes->len; i++)
    {
      const GeDumpAttribute *attribute = g_ptr_array_index (attributes, i);
      const GememAttributeKey key = gemem_attribute_find (attribute->name, owner);

      if (owner == GEMEM_ATTRIBUTE_NODE && take_own_attribute (import, attribute))
        continue;
      if (key == GEMEM_ATTRIBUTE_COUNT || seen[key]
          || !has_kind (attribute, gemem_attributes[key].kind))
        {
          import->unknown++;
          continue;
        }
      seen[key] = TRUE;
      if (key == without)
        continue;
      if (gemem_attributes[key].kind == GEMEM_ATTRIBUTE_FLAG)
        {
          const gint64 flag = g_array_index (attribute->ints, gint64, 0) != 0;
          gemem_graph_add_attribute_ints (import->graph, key, &flag, 1);
        }
      else if (attribute->texts->len > 0)
        gemem_graph_add_attribute_texts (import->graph, key,
                                         (const char *const *) attribute->texts->pdata,
                                         attribute->texts->len);
      else
        gemem_graph_add_attribute_ints (import->graph, key,
                                        (const gint64 *) (gconstpointer) attribute->ints->data,
                                        attribute->ints->len);
    }
}

/* ---- nodes */

static gboolean
add_input (const Import *import, const GeDumpPart *part, const GeDumpOp *op, const char *input,
           GError **error)
{
  guint number;
  gint64 output;

  if (*input == '\0')
    {
      gemem_graph_add_no_input (import->graph);
      return TRUE;
    }
  if (!gemem_ge_dump_split_input (part, input, &number, &output))
    return fail (import, error, op->name, "input '%s': must be PRODUCER:OUTPUT", input);
  if (number == G_MAXUINT32)
    return fail (import, error, op->name, "input '%s': there is no such operator in graph '%s'",
                 input, part->graph->name);
  if (output < 0)
    gemem_graph_add_control (import->graph, g_ptr_array_index (part->names, number));
  else
    gemem_graph_add_input (import->graph, g_ptr_array_index (part->names, number),
                           (guint32) output);
  return TRUE;
}

/* FALSE also for a shape of unknown rank, which GE writes as [-2]. */
static gboolean
compute_bytes (const GeDumpOutput *output, const gint64 *dims, guint64 *bytes)
{
  for (guint i = 0; i < output->dims->len; i++)
    if (dims[i] < -1)
      return FALSE;
  return output->has_shape && gemem_dtype_bytes (output->dtype, dims, output->dims->len, bytes);
}

static gboolean
add_output (Import *import, const GeDumpOp *op, guint number, GError **error)
{
  static const gint64 none;
  const GeDumpOutput *output = g_ptr_array_index (op->outputs, number);
  const gint64 *dims = output->dims->len > 0 ? (const gint64 *) (gconstpointer) output->dims->data
                                             : &none;
  guint64 bytes = 0;
  const gboolean computed = compute_bytes (output, dims, &bytes);

  if (output->has_size && output->size < 0)
    return fail (import, error, op->name,
                 "output %u: size %" G_GINT64_FORMAT "; the graph is not static", number,
                 output->size);
  if (!output->has_size && (!computed || gemem_dtype_bits (output->dtype) == 0))
    return fail (
        import, error, op->name,
        "output %u: has neither size nor shape; dump a later stage (AfterCalcOpParam or behind it)",
        number);
  import->unsized += !output->has_size;
  gemem_graph_add_output (import->graph, output->has_size ? (guint64) output->size : bytes);
  if (computed)
    gemem_graph_set_shape (import->graph, output->dtype, dims, output->dims->len);
  if (output->reuse_input && output->reuse_input_index >= 0
      && output->reuse_input_index <= G_MAXINT32)
    gemem_graph_edit_output (import->graph)->reuse_input = (gint32) output->reuse_input_index;
  add_attributes (import, output->attributes, GEMEM_ATTRIBUTE_TENSOR, GEMEM_ATTRIBUTE_COUNT);
  return TRUE;
}

static gboolean
add_workspaces (const Import *import, const GeDumpOp *op, GError **error)
{
  for (guint i = 0; i < op->workspaces->len; i++)
    {
      const gint64 size = g_array_index (op->workspaces, gint64, i);

      if (size < -1)
        return fail (import, error, op->name,
                     "workspace %u: %" G_GINT64_FORMAT " bytes; the graph is not static", i, size);
      gemem_graph_add_workspace (import->graph, size < 0 ? 0 : (guint64) size);
    }
  return TRUE;
}

static const GeDumpGraph *
find_graph (const Import *import, const char *name)
{
  for (guint i = 0; i < import->dump->graphs->len; i++)
    if (strcmp (((const GeDumpGraph *) g_ptr_array_index (import->dump->graphs, i))->name, name)
        == 0)
      return g_ptr_array_index (import->dump->graphs, i);
  return NULL;
}

/* Adds the subgraphs of the node just added, before other nodes: blocks belong to the last node. */
static gboolean
add_blocks (Import *import, const GeDumpOp *op, GError **error)
{
  const guint32 outer = import->block, first = gemem_graph_n_blocks (import->graph);
  guint32 block = first;

  for (guint i = 0; i < op->subgraphs->len; i++)
    if (*(const char *) g_ptr_array_index (op->subgraphs, i) != '\0')
      gemem_graph_add_block (import->graph, g_ptr_array_index (op->subgraphs, i));
  for (guint i = 0; i < op->subgraphs->len; i++)
    {
      const char *name = g_ptr_array_index (op->subgraphs, i);
      const GeDumpGraph *graph = find_graph (import, name);

      if (*name == '\0')
        continue;
      if (graph == NULL)
        return fail (import, error, op->name,
                     "subgraph '%s' is not in the file; dump the whole model", name);
      import->block = block++;
      if (!add_part (import, graph, error))
        return FALSE;
    }
  import->block = outer;
  return TRUE;
}

static gboolean
add_op (Import *import, const GeDumpPart *part, guint number, GError **error)
{
  const GeDumpOp *op = ge_dump_op (part, number);
  const GeDumpLogged *logged = gemem_ge_dump_find_logged (import->log, op->name);
  GememNode *node;

  gemem_graph_add_node (import->graph, g_ptr_array_index (part->names, number), op->type);
  node = gemem_graph_edit_node (import->graph);
  node->block = import->block;
  node->stream = logged != NULL ? logged->own_stream : op->stream;
  if (node->stream < -1)
    return fail (import, error, op->name,
                 "stream_id: %" G_GINT64_FORMAT " is no stream; this is no dump of GE",
                 node->stream);
  import->matched += logged != NULL;
  for (guint i = 0; i < op->inputs->len; i++)
    if (!add_input (import, part, op, g_ptr_array_index (op->inputs, i), error))
      return FALSE;
  if (!add_workspaces (import, op, error))
    return FALSE;
  add_attributes (import, op->attributes, GEMEM_ATTRIBUTE_NODE,
                  logged != NULL ? GEMEM_ATTRIBUTE_SUB_STREAM_ID : GEMEM_ATTRIBUTE_COUNT);
  if (logged != NULL && logged->stream != logged->own_stream)
    gemem_graph_add_attribute_ints (import->graph, GEMEM_ATTRIBUTE_SUB_STREAM_ID, &logged->stream,
                                    1);
  if (op->has_parents)
    gemem_graph_add_attribute_ints (import->graph, GEMEM_ATTRIBUTE_INPUT_PARENT_NODE_INDEX,
                                    (const gint64 *) (gconstpointer) op->parents->data,
                                    op->parents->len);
  for (guint i = 0; i < op->outputs->len; i++)
    if (!add_output (import, op, i, error))
      return FALSE;
  return add_blocks (import, op, error);
}

/* ---- graphs */

/* Assigns the operators of @part their numbers, names and keys. */
static gboolean
name_ops (const Import *import, const GeDumpPart *part, GError **error)
{
  for (guint i = 0; i < part->graph->ops->len; i++)
    {
      const GeDumpOp *op = ge_dump_op (part, i);
      const GeDumpLogged *logged = gemem_ge_dump_find_logged (import->log, op->name);
      const gint64 key = logged != NULL ? logged->id : op->id;
      const gboolean taken = g_hash_table_contains (import->names, op->name);
      char *name = taken ? g_strconcat (part->graph->name, "/", op->name, NULL)
                         : g_strdup (op->name);

      g_ptr_array_add (part->names, name);
      g_array_append_val (part->keys, key);
      g_hash_table_add (import->names, g_strdup (name));
      if (!g_hash_table_insert (part->numbers, (gpointer) op->name, GUINT_TO_POINTER (i + 1)))
        return fail (import, error, op->name, "is there twice in graph '%s'; this is no dump of GE",
                     part->graph->name);
    }
  return TRUE;
}

static gboolean
add_part (Import *import, const GeDumpGraph *graph, GError **error)
{
  GeDumpPart part = { graph, g_hash_table_new (g_str_hash, g_str_equal),
                      g_ptr_array_new_with_free_func (g_free),
                      g_array_new (FALSE, FALSE, sizeof (gint64)) };
  g_autoptr (GArray) order = NULL;
  gboolean ok = TRUE;

  if (!g_hash_table_add (import->placed, (gpointer) graph) || import->depth == MAX_DEPTH)
    ok = fail (import, error, gemem_graph_edit_node (import->graph)->name,
               "subgraph '%s' is used twice, or nested more than %d deep", graph->name, MAX_DEPTH);
  import->depth++;
  if (ok && name_ops (import, &part, error))
    order = gemem_ge_dump_order (&part);
  for (guint i = 0; order != NULL && ok && i < order->len; i++)
    ok = add_op (import, &part, g_array_index (order, guint, i), error);
  import->depth--;
  g_hash_table_unref (part.numbers);
  g_ptr_array_unref (part.names);
  g_array_unref (part.keys);
  return ok && order != NULL;
}

/* Root graph number @index: roots are the graphs that no operator owns. */
static const GeDumpGraph *
find_root (const Import *import, guint index, GError **error)
{
  g_autoptr (GHashTable) owned = g_hash_table_new (g_str_hash, g_str_equal);
  guint roots = 0;

  for (guint i = 0; i < import->dump->graphs->len; i++)
    {
      const GeDumpGraph *graph = g_ptr_array_index (import->dump->graphs, i);

      for (guint k = 0; k < graph->ops->len; k++)
        {
          const GeDumpOp *op = g_ptr_array_index (graph->ops, k);
          for (guint s = 0; s < op->subgraphs->len; s++)
            g_hash_table_add (owned, g_ptr_array_index (op->subgraphs, s));
        }
    }
  for (guint i = 0; i < import->dump->graphs->len; i++)
    {
      const GeDumpGraph *graph = g_ptr_array_index (import->dump->graphs, i);

      if (!g_hash_table_contains (owned, graph->name) && roots++ == index)
        return graph;
    }
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s: there is no graph #%u; it has %u that are no subgraphs", import->where, index,
               roots);
  return NULL;
}

static void
take_graph_attributes (const Import *import, const GeDumpGraph *root)
{
  for (guint i = 0; i < root->attributes->len; i++)
    {
      const GeDumpAttribute *attribute = g_ptr_array_index (root->attributes, i);
      const gint64 value = attribute->ints->len == 1 ? g_array_index (attribute->ints, gint64, 0)
                                                     : -1;

      if (value >= 0 && strcmp (attribute->name, "_dynamic_shape_partitioned") == 0)
        gemem_graph_set_dynamic_root (import->graph, value != 0);
      if (value >= 0 && strcmp (attribute->name, "_mem_release_first_reuse_first") == 0)
        gemem_graph_set_release_first (import->graph, value != 0);
    }
}

static void
add_notes (const Import *import)
{
  gemem_graph_note (import->graph, "source", "GE dump");
  if (import->log != NULL)
    gemem_graph_note (import->graph, "note",
                      "order and streams of %" G_GUINT64_FORMAT " of %u nodes are those of the log",
                      import->matched, gemem_graph_n_nodes (import->graph));
  if (import->unsized > 0)
    gemem_graph_note (import->graph, "note",
                      "%" G_GUINT64_FORMAT
                      " outputs have no size; it is taken from their shape, without padding",
                      import->unsized);
  if (import->unknown > 0)
    gemem_graph_note (import->graph, "note",
                      "%" G_GUINT64_FORMAT " attributes that no planner uses are left out",
                      import->unknown);
}

static gboolean
import_root (Import *import, GememInput *input, guint index, GError **error)
{
  const GeDumpGraph *root = find_root (import, index, error);
  g_autofree char *base = g_path_get_basename (import->where);
  gboolean ok;

  if (root == NULL
      || !gemem_ge_dump_read_log (import->dump, input, root->name, &import->log, error))
    return FALSE;
  import->graph = gemem_graph_new (*root->name != '\0' ? root->name : base);
  take_graph_attributes (import, root);
  ok = add_part (import, root, error) && gemem_graph_seal (import->graph, import->where, error);
  if (ok)
    add_notes (import);
  else
    g_clear_pointer (&import->graph, gemem_graph_unref);
  return ok;
}

/* ---- format */

static GememGraph *
read_dump (GememInput *input, guint index, G_GNUC_UNUSED GememGraphDims *dims, GError **error)
{
  GeDump *dump = gemem_ge_dump_parse (input, error);
  Import import = { .dump = dump, .where = gemem_input_name (input) };

  if (dump == NULL)
    return NULL;
  import.names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  import.placed = g_hash_table_new (NULL, NULL);
  import_root (&import, input, index, error);
  g_hash_table_unref (import.names);
  g_hash_table_unref (import.placed);
  g_clear_pointer (&import.log, g_hash_table_unref);
  gemem_ge_dump_free (dump);
  return import.graph;
}

static gboolean
holds (const guint8 *head, gsize size, const char *word)
{
  return memmem (head, size, word, strlen (word)) != NULL;
}

/* Protobuf text with a message named graph or op near the beginning; JSON and logs begin with a
 * bracket. */
static int
probe (const guint8 *head, gsize size)
{
  gsize i = 0;

  while (i < size && g_ascii_isspace (head[i]))
    i++;
  if (i == size || !(g_ascii_isalpha (head[i]) || head[i] == '#'))
    return 0;
  return holds (head, size, "graph {") || holds (head, size, "op {")
                 || holds (head, size, "graph:{") || holds (head, size, "op:{")
             ? 85
             : 0;
}

const GememGraphFormat gemem_graph_format_ge_dump = {
  .base = {
    .name = "ge-dump",
    .summary = "GE graph dump in protobuf text, with or without the planner's log behind it",
    .origin = "ge-static.md 11.1",
  },
  .extensions = "txt|pbtxt",
  .assumed = "ge",
  .probe = probe,
  .read = read_dump,
};
