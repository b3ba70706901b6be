/* ge-dump-parse.c - parses dumps of GE from text into the structures of ge-dump.h.
 *
 * Field names are those of ge-static.md 11.1.  How an attribute wraps its value is not specified
 * there, so every number, flag and string within its value is taken, in order; names of enumerators
 * are not.
 *
 * Cost: linear; memory for the kept parts.
 */
#include "config.h"

#include <string.h>

#include "base/io/proto-text.h"
#include "graphs/ge-dump.h"

typedef struct
{
  GememProtoText *text;
  GeDump *dump;
  GError **error;
} Parse;

/* Takes one field of a message, after @token (BEGIN, WORD or STRING). */
typedef gboolean (*TakeField) (const Parse *parse, int token, gpointer into);

static const char *
keep (const Parse *parse)
{
  return g_string_chunk_insert_const (parse->dump->strings, gemem_proto_text_value (parse->text));
}

static gboolean
is_field (const Parse *parse, const char *name)
{
  return strcmp (gemem_proto_text_field (parse->text), name) == 0;
}

/* Reads the fields of the message just begun, to its end. */
static gboolean
take_message (const Parse *parse, TakeField take, gpointer into)
{
  int token;

  while ((token = gemem_proto_text_next (parse->text, parse->error)) != GEMEM_PROTO_TEXT_CLOSE)
    if (token < 0 || !take (parse, token, into))
      return FALSE;
  return TRUE;
}

static gboolean
pass_over (const Parse *parse, int token)
{
  return token != GEMEM_PROTO_TEXT_BEGIN || gemem_proto_text_skip (parse->text, parse->error);
}

static gboolean
expect (const Parse *parse, int token, int expected)
{
  static const char *const kinds[] = { "", "a message in braces", "", "a number or a word",
                                       "a string" };

  return token == expected
         || gemem_proto_text_fail (parse->text, parse->error,
                                   "field '%.100s' must be %s; this is no dump of GE",
                                   gemem_proto_text_field (parse->text), kinds[expected]);
}

static gboolean
take_text (const Parse *parse, int token, const char **text)
{
  if (!expect (parse, token, GEMEM_PROTO_TEXT_STRING))
    return FALSE;
  *text = keep (parse);
  return TRUE;
}

static gboolean
add_text (const Parse *parse, int token, GPtrArray *texts)
{
  const char *text;

  if (!take_text (parse, token, &text))
    return FALSE;
  g_ptr_array_add (texts, (gpointer) text);
  return TRUE;
}

static gboolean
take_int (const Parse *parse, int token, gint64 *value)
{
  return expect (parse, token, GEMEM_PROTO_TEXT_WORD)
         && (gemem_proto_text_int (parse->text, value)
             || gemem_proto_text_fail (parse->text, parse->error,
                                       "field '%.100s' must be a number of 64 bits, not '%.40s'",
                                       gemem_proto_text_field (parse->text),
                                       gemem_proto_text_value (parse->text)));
}

static gboolean
add_int (const Parse *parse, int token, GArray *values)
{
  gint64 value;

  if (!take_int (parse, token, &value))
    return FALSE;
  g_array_append_val (values, value);
  return TRUE;
}

static GArray *
new_ints (void)
{
  return g_array_new (FALSE, FALSE, sizeof (gint64));
}

/* ---- attributes */

static void
free_attribute (gpointer data)
{
  GeDumpAttribute *attribute = data;

  g_array_unref (attribute->ints);
  g_ptr_array_unref (attribute->texts);
  g_free (attribute);
}

static gboolean
take_leaf (const Parse *parse, int token, gpointer into)
{
  GeDumpAttribute *attribute = into;
  const char *word = gemem_proto_text_value (parse->text);
  gint64 value;

  if (token == GEMEM_PROTO_TEXT_BEGIN)
    return take_message (parse, take_leaf, into);
  if (token == GEMEM_PROTO_TEXT_STRING)
    return add_text (parse, token, attribute->texts);
  value = strcmp (word, "true") == 0;
  if (value != 0 || strcmp (word, "false") == 0 || gemem_proto_text_int (parse->text, &value))
    g_array_append_val (attribute->ints, value);
  return TRUE;
}

static gboolean
take_entry (const Parse *parse, int token, gpointer into)
{
  GeDumpAttribute *attribute = into;

  if (is_field (parse, "key"))
    return take_text (parse, token, &attribute->name);
  if (is_field (parse, "value"))
    return token == GEMEM_PROTO_TEXT_BEGIN ? take_message (parse, take_leaf, attribute)
                                           : take_leaf (parse, token, attribute);
  return pass_over (parse, token);
}

static gboolean
add_attribute (const Parse *parse, int token, GPtrArray *attributes)
{
  GeDumpAttribute *attribute;

  if (!expect (parse, token, GEMEM_PROTO_TEXT_BEGIN))
    return FALSE;
  attribute = g_new (GeDumpAttribute, 1);
  *attribute = (GeDumpAttribute){ "", new_ints (), g_ptr_array_new () };
  g_ptr_array_add (attributes, attribute);
  return take_message (parse, take_entry, attribute);
}

/* ---- outputs */

static void
free_output (gpointer data)
{
  GeDumpOutput *output = data;

  g_array_unref (output->dims);
  g_ptr_array_unref (output->attributes);
  g_free (output);
}

static gboolean
take_shape_field (const Parse *parse, int token, gpointer into)
{
  return is_field (parse, "dim") ? add_int (parse, token, into) : pass_over (parse, token);
}

static gboolean
take_output_field (const Parse *parse, int token, gpointer into)
{
  GeDumpOutput *output = into;

  if (is_field (parse, "dtype"))
    {
      output->dtype = gemem_dtype_find (gemem_proto_text_value (parse->text));
      return expect (parse, token, GEMEM_PROTO_TEXT_WORD);
    }
  if (is_field (parse, "shape"))
    {
      output->has_shape = TRUE;
      return expect (parse, token, GEMEM_PROTO_TEXT_BEGIN)
             && take_message (parse, take_shape_field, output->dims);
    }
  if (is_field (parse, "size"))
    {
      output->has_size = TRUE;
      return take_int (parse, token, &output->size);
    }
  if (is_field (parse, "reuse_input"))
    {
      output->reuse_input = strcmp (gemem_proto_text_value (parse->text), "true") == 0;
      return expect (parse, token, GEMEM_PROTO_TEXT_WORD);
    }
  if (is_field (parse, "reuse_input_index"))
    return take_int (parse, token, &output->reuse_input_index);
  if (is_field (parse, "attr"))
    return add_attribute (parse, token, output->attributes);
  return pass_over (parse, token);
}

static gboolean
add_output (const Parse *parse, int token, GPtrArray *outputs)
{
  GeDumpOutput *output;

  if (!expect (parse, token, GEMEM_PROTO_TEXT_BEGIN))
    return FALSE;
  output = g_new0 (GeDumpOutput, 1);
  output->dims = new_ints ();
  output->attributes = g_ptr_array_new_with_free_func (free_attribute);
  g_ptr_array_add (outputs, output);
  return take_message (parse, take_output_field, output);
}

/* ---- operators and graphs */

static void
free_op (gpointer data)
{
  GeDumpOp *op = data;

  g_ptr_array_unref (op->inputs);
  g_array_unref (op->workspaces);
  g_array_unref (op->parents);
  g_ptr_array_unref (op->attributes);
  g_ptr_array_unref (op->outputs);
  g_ptr_array_unref (op->subgraphs);
  g_free (op);
}

static gboolean
take_input_field (const Parse *parse, int token, gpointer into)
{
  return is_field (parse, "attr") ? add_attribute (parse, token, into) : pass_over (parse, token);
}

/* Of an input's description only the output of the owner that it stands for is needed. */
static gboolean
add_parent (const Parse *parse, int token, GeDumpOp *op)
{
  g_autoptr (GPtrArray) attributes = g_ptr_array_new_with_free_func (free_attribute);
  gint64 parent = -1;

  if (!expect (parse, token, GEMEM_PROTO_TEXT_BEGIN)
      || !take_message (parse, take_input_field, attributes))
    return FALSE;
  for (guint i = 0; i < attributes->len; i++)
    {
      const GeDumpAttribute *attribute = g_ptr_array_index (attributes, i);

      if (strcmp (attribute->name, "_parent_node_index") == 0 && attribute->ints->len == 1)
        parent = g_array_index (attribute->ints, gint64, 0);
    }
  op->has_parents |= parent >= 0;
  g_array_append_val (op->parents, parent);
  return TRUE;
}

static gboolean
take_op_field (const Parse *parse, int token, gpointer into)
{
  GeDumpOp *op = into;

  if (is_field (parse, "name"))
    return take_text (parse, token, &op->name);
  if (is_field (parse, "type"))
    return take_text (parse, token, &op->type);
  if (is_field (parse, "id"))
    return take_int (parse, token, &op->id);
  if (is_field (parse, "stream_id"))
    return take_int (parse, token, &op->stream);
  if (is_field (parse, "input"))
    return add_text (parse, token, op->inputs);
  if (is_field (parse, "workspace_bytes"))
    return add_int (parse, token, op->workspaces);
  if (is_field (parse, "attr"))
    return add_attribute (parse, token, op->attributes);
  if (is_field (parse, "input_desc"))
    return add_parent (parse, token, op);
  if (is_field (parse, "output_desc"))
    return add_output (parse, token, op->outputs);
  if (is_field (parse, "subgraph_name"))
    return add_text (parse, token, op->subgraphs);
  return pass_over (parse, token);
}

static gboolean
add_op (const Parse *parse, int token, GPtrArray *ops)
{
  GeDumpOp *op;

  if (!expect (parse, token, GEMEM_PROTO_TEXT_BEGIN))
    return FALSE;
  op = g_new0 (GeDumpOp, 1);
  *op = (GeDumpOp){ .name = "", .type = "", .id = -1 };
  op->inputs = g_ptr_array_new ();
  op->workspaces = new_ints ();
  op->parents = new_ints ();
  op->attributes = g_ptr_array_new_with_free_func (free_attribute);
  op->outputs = g_ptr_array_new_with_free_func (free_output);
  op->subgraphs = g_ptr_array_new ();
  g_ptr_array_add (ops, op);
  if (!take_message (parse, take_op_field, op))
    return FALSE;
  return *op->name != '\0'
         || gemem_proto_text_fail (parse->text, parse->error,
                                   "an operator that ends here has no name; this is no dump of GE");
}

static void
free_graph (gpointer data)
{
  GeDumpGraph *graph = data;

  g_ptr_array_unref (graph->ops);
  g_ptr_array_unref (graph->attributes);
  g_free (graph);
}

static GeDumpGraph *
add_graph (GeDump *dump)
{
  GeDumpGraph *graph = g_new (GeDumpGraph, 1);

  *graph = (GeDumpGraph){ "", g_ptr_array_new_with_free_func (free_op),
                          g_ptr_array_new_with_free_func (free_attribute) };
  g_ptr_array_add (dump->graphs, graph);
  return graph;
}

static gboolean
take_graph_field (const Parse *parse, int token, gpointer into)
{
  GeDumpGraph *graph = into;

  if (is_field (parse, "name"))
    return take_text (parse, token, &graph->name);
  if (is_field (parse, "op"))
    return add_op (parse, token, graph->ops);
  if (is_field (parse, "attr"))
    return add_attribute (parse, token, graph->attributes);
  return pass_over (parse, token);
}

/* A field of a ModelDef.  A ModelDef that has nodes itself is GE's other form, whose place for the
 * sizes of tensors is not specified. */
static gboolean
take_inner_field (const Parse *parse, int token, gpointer into)
{
  if (is_field (parse, "node"))
    return gemem_proto_text_fail (
        parse->text, parse->error,
        "a model in ONNX's text form (GE: ge_onnx_*.pbtxt) is not read; of GE name the "
        "ge_proto_*.txt of the same stage (DUMP_GE_GRAPH=2 DUMP_GRAPH_FORMAT=ge_proto), any other "
        "save as binary .onnx");
  return take_graph_field (parse, token, into);
}

/* A field of the outermost message: `graph` of a ModelDef, or a field of a GraphDef, which goes
 * into @into. */
static gboolean
take_outer_field (const Parse *parse, int token, GeDumpGraph *into)
{
  if (is_field (parse, "graph"))
    return expect (parse, token, GEMEM_PROTO_TEXT_BEGIN)
           && take_message (parse, take_inner_field, add_graph (parse->dump));
  return take_graph_field (parse, token, into);
}

static gboolean
take_dump (const Parse *parse)
{
  GeDumpGraph *outer = add_graph (parse->dump);
  int token;

  while ((token = gemem_proto_text_next (parse->text, parse->error)) != GEMEM_PROTO_TEXT_END)
    if (token < 0 || !take_outer_field (parse, token, outer))
      return FALSE;
  if (outer->ops->len == 0)
    g_ptr_array_remove_index (parse->dump->graphs, 0);
  return parse->dump->graphs->len > 0
         || gemem_proto_text_fail (parse->text, parse->error,
                                   "there is no graph and no op in it; this is no dump of GE");
}

GeDump *
gemem_ge_dump_parse (GememInput *input, GError **error)
{
  GeDump *dump = g_new (GeDump, 1);
  Parse parse = { gemem_proto_text_new (input), dump, error };

  *dump = (GeDump){ g_string_chunk_new (4096), g_ptr_array_new_with_free_func (free_graph) };
  if (!take_dump (&parse))
    g_clear_pointer (&dump, gemem_ge_dump_free);
  gemem_proto_text_free (parse.text);
  return dump;
}

void
gemem_ge_dump_free (GeDump *dump)
{
  g_ptr_array_unref (dump->graphs);
  g_string_chunk_free (dump->strings);
  g_free (dump);
}
