/* paddle-model.c - PaddlePaddle's own program files (`__model__`, `*.pdmodel`): format
 * `paddle-model`.
 *
 * The file is a ProgramDesc, as written by save_inference_model() or returned by
 * Program.desc.serialize_to_string().  Operator i of block 0 becomes the node "op<i>", as in format
 * paddle-program, that of block k "block<k>/op<i>"; see paddle-import.h for variables.  The
 * operators of a block follow the operator that runs the block.  A name is looked up in the
 * operator's block, then (in a gradient block) in its forward block, then in the enclosing blocks.
 * Names that several blocks declare get a number.
 *
 * Sizes are dimensions x element type.  An unknown dimension (-1) counts as 1; a stored product
 * with an unknown dimension (-12) counts as 12.  Variables that are no dense tensors (arrays,
 * selected rows, scopes) or have no shape count as 0 bytes.  The provenance counts each of these
 * cases.  Attributes read: op_role, op_role_var, force_cpu, and blocks.
 *
 * Invariants: every block is run by exactly one operator, which lies in the enclosing block.
 * Memory: the program and the graph.  O(names x depth of blocks), which is at most 100.  Origin:
 * framework_pb2 of the wheels; paddle.md 5-8.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "graphs/format.h"
#include "graphs/paddle-import.h"
#include "traces/trace.h"

#define GEMEM_PROTO_LIST "graphs/paddle.def"
#include "base/io/proto-list.h"
#define GEMEM_PROTO_TABLES
#include "base/io/proto-list.h"

#define MAX_DEPTH 100
#define LOD_TENSOR 7 /* type of a dense tensor variable */

/* Indexed by type number; the numbers are part of the format. */
static const char *const element_types[] = {
  [0] = "bool",        [1] = "int16",          [2] = "int32",        [3] = "int64",
  [4] = "float16",     [5] = "float32",        [6] = "float64",      [19] = "uint64",
  [20] = "uint8",      [21] = "int8",          [22] = "bfloat16",    [23] = "complex64",
  [24] = "complex128", [32] = "float8_e4m3fn", [33] = "float8_e5m2",
};

typedef struct
{
  PaddleImport import;
  const PaddleModel *program;
  const char *where;
  GHashTable **names; /* by block, for blocks that are run: name -> variable number + 1 */
  GArray *around;     /* guint32: the blocks around the current operator, innermost last */
  guint32 block;      /* block of the graph to which new nodes belong */
  guint64 open, products, shapeless, others; /* counts: variables; products: dimensions */
} Model;

static gboolean add_block (Model *model, guint32 number, GError **error);

static gboolean G_GNUC_PRINTF (3, 4)
    fail (const Model *model, GError **error, const char *format, ...)
{
  va_list args;
  g_autofree char *text = NULL;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: %s", model->where, text);
  return FALSE;
}

static const char *
text_of (const char *text)
{
  return text != NULL ? text : "";
}

/* ---- variables */

static gboolean
add_tensor (Model *model, const char *name, const PaddleTensor *tensor, gboolean persistable,
            guint32 *variable, GError **error)
{
  const gint64 number = tensor->data_type;
  GArray *dims = model->import.dims;
  GememDtype dtype;
  guint64 bytes;
  gboolean open = FALSE;

  if (number < 0 || (gsize) number >= G_N_ELEMENTS (element_types) || element_types[number] == NULL)
    return fail (model, error,
                 "variable '%s': element type %" G_GINT64_FORMAT
                 " is not known; update this program",
                 name, number);
  dtype = gemem_dtype_find (element_types[number]);
  g_array_set_size (dims, 0);
  for (gsize i = 0; i < tensor->dims.n; i++)
    g_array_append_val (dims, tensor->dims.at[i]);
  gemem_paddle_import_fill (&model->import);
  for (guint i = 0; i < dims->len; i++)
    {
      open |= g_array_index (dims, gint64, i) == -1;
      model->products += g_array_index (dims, gint64, i) < -1;
    }
  model->open += open;
  if (!gemem_dtype_bytes (dtype, gemem_paddle_import_dims (&model->import), dims->len, &bytes))
    return fail (model, error, "variable '%s': more than 2^63 bytes; a dimension is wrong", name);
  *variable = gemem_graph_declare_variable (model->import.graph, name, model->block, dtype,
                                            gemem_paddle_import_dims (&model->import), dims->len,
                                            persistable);
  return TRUE;
}

static gboolean
add_variable (Model *model, GHashTable *names, const PaddleVar *declared, GError **error)
{
  const char *name = text_of (declared->name);
  const gboolean dense = declared->type != NULL && declared->type->type == LOD_TENSOR;
  const PaddleLoDTensor *tensor = dense ? declared->type->lod_tensor : NULL;
  const gboolean persistable = declared->persistable != 0;
  guint32 variable = GEMEM_NONE;

  if (*name == '\0' || g_hash_table_contains (names, name))
    return fail (
        model, error,
        "variable '%s': a block declares it twice, or it has no name; save the program again",
        name);
  if (tensor != NULL && tensor->tensor != NULL)
    {
      if (!add_tensor (model, name, tensor->tensor, persistable, &variable, error))
        return FALSE;
    }
  else
    variable = gemem_graph_declare_variable (model->import.graph, name, model->block,
                                             GEMEM_DTYPE_UNKNOWN, NULL, 0, persistable);
  gemem_graph_edit_variable (model->import.graph, variable)->is_tensor = dense;
  model->others += !dense;
  model->shapeless += dense && (tensor == NULL || tensor->tensor == NULL);
  g_hash_table_insert (names, (gpointer) name, GUINT_TO_POINTER (variable + 1));
  return TRUE;
}

static gboolean
declare (Model *model, guint32 number, GError **error)
{
  const PaddleBlock *block = model->program->blocks.at[number];
  GHashTable *names = model->names[number] = g_hash_table_new (g_str_hash, g_str_equal);

  for (gsize i = 0; i < block->vars.n; i++)
    if (!add_variable (model, names, block->vars.at[i], error))
      return FALSE;
  if (number == 0)
    gemem_graph_add_variable (model->import.graph, PADDLE_NO_VARIABLE, GEMEM_DTYPE_UNKNOWN, NULL, 0,
                              FALSE);
  gemem_paddle_import_take_variables (&model->import);
  return TRUE;
}

/* The variable that block @number itself declares as @name; GEMEM_NONE. */
static guint32
find_declared (const Model *model, gint64 number, const char *name)
{
  GHashTable *names = number >= 0 && (guint64) number < model->program->blocks.n
                          ? model->names[number]
                          : NULL;
  const guint32 found = names != NULL ? GPOINTER_TO_UINT (g_hash_table_lookup (names, name)) : 0;

  return found != 0 ? found - 1 : GEMEM_NONE;
}

/* The variable that @name denotes in the current operator; GEMEM_NONE. */
static guint32
find_variable (const Model *model, const char *name)
{
  if (strcmp (name, PADDLE_NO_VARIABLE) == 0)
    return gemem_graph_find_variable (model->import.graph, name);
  for (guint i = model->around->len; i-- > 0;)
    {
      const guint32 number = g_array_index (model->around, guint32, i);
      const PaddleBlock *block = model->program->blocks.at[number];
      guint32 found = find_declared (model, number, name);

      if (found == GEMEM_NONE && block->forward_block_idx.n > 0)
        found = find_declared (model, block->forward_block_idx.at[block->forward_block_idx.n - 1],
                               name);
      if (found != GEMEM_NONE)
        return found;
    }
  return GEMEM_NONE;
}

/* ---- operators */

/* Calls @take, a function of paddle-import.h, for each variable named in the @n lists. */
static gboolean
take_names (Model *model, PaddleArguments *const *lists, gsize n,
            void (*take) (PaddleImport *import, guint32 variable), GError **error)
{
  for (gsize i = 0; i < n; i++)
    for (gsize k = 0; k < lists[i]->arguments.n; k++)
      {
        const char *name = lists[i]->arguments.at[k];
        const guint32 variable = find_variable (model, name);

        if (variable == GEMEM_NONE)
          return fail (model, error,
                       "node '%s': variable '%s' is declared in no block that it sees; save the "
                       "whole program",
                       gemem_graph_edit_node (model->import.graph)->name, name);
        take (&model->import, variable);
      }
  return TRUE;
}

/* Appends the blocks that the operator runs to @blocks (gint64). */
static void
take_attributes (Model *model, const PaddleOp *op, GArray *blocks)
{
  const gint64 yes = 1;
  guint seen = 0; /* attributes seen; a repeated one counts once */

  for (gsize i = 0; i < op->attrs.n; i++)
    {
      const PaddleAttribute *attribute = op->attrs.at[i];
      const char *name = text_of (attribute->name);

      if (strcmp (name, "op_role") == 0)
        gemem_graph_edit_node (model->import.graph)->role = (guint32) attribute->i;
      else if (strcmp (name, "op_role_var") == 0 && (seen & 1) == 0)
        {
          if (attribute->strings.n > 0)
            gemem_graph_add_attribute_texts (model->import.graph, GEMEM_ATTRIBUTE_OP_ROLE_VARS,
                                             attribute->strings.at, attribute->strings.n);
          seen |= 1;
        }
      else if (strcmp (name, "force_cpu") == 0 && attribute->b != 0 && (seen & 2) == 0)
        {
          gemem_graph_add_attribute_ints (model->import.graph, GEMEM_ATTRIBUTE_FORCE_CPU, &yes, 1);
          seen |= 2;
        }
      g_array_append_vals (blocks, attribute->block_idx.at, (guint) attribute->block_idx.n);
      g_array_append_vals (blocks, attribute->blocks_idx.at, (guint) attribute->blocks_idx.n);
    }
}

/* Adds the blocks of the node just added, before other nodes: blocks belong to the last node. */
static gboolean
add_blocks (Model *model, const GArray *blocks, GError **error)
{
  const guint32 outer = model->block, first = gemem_graph_n_blocks (model->import.graph);

  for (guint i = 0; i < blocks->len; i++)
    {
      const gint64 number = g_array_index (blocks, gint64, i);
      char name[32];

      if (number <= 0 || (gsize) number >= model->program->blocks.n)
        return fail (
            model, error,
            "node '%s': runs block %" G_GINT64_FORMAT ", and there are %zu; save the whole program",
            gemem_graph_edit_node (model->import.graph)->name, number, model->program->blocks.n);
      g_snprintf (name, sizeof name, "block%" G_GINT64_FORMAT, number);
      gemem_graph_add_block (model->import.graph, name);
    }
  for (guint i = 0; i < blocks->len; i++)
    {
      model->block = first + i;
      if (!add_block (model, (guint32) g_array_index (blocks, gint64, i), error))
        return FALSE;
    }
  model->block = outer;
  return TRUE;
}

static gboolean
add_op (Model *model, guint32 number, gsize position, GError **error)
{
  const PaddleOp *op = model->program->blocks.at[number]->ops.at[position];
  g_autoptr (GArray) blocks = g_array_new (FALSE, FALSE, sizeof (gint64));
  char name[64];

  if (number == 0)
    g_snprintf (name, sizeof name, "op%zu", position);
  else
    g_snprintf (name, sizeof name, "block%u/op%zu", number, position);
  gemem_graph_add_node (model->import.graph, name, text_of (op->type));
  gemem_graph_edit_node (model->import.graph)->block = model->block;
  if (!take_names (model, op->inputs.at, op->inputs.n, gemem_paddle_import_read, error))
    return FALSE;
  take_attributes (model, op, blocks);
  return take_names (model, op->outputs.at, op->outputs.n, gemem_paddle_import_write, error)
         && add_blocks (model, blocks, error);
}

static gboolean
add_block (Model *model, guint32 number, GError **error)
{
  if (model->names[number] != NULL || model->around->len == MAX_DEPTH)
    return fail (
        model, error,
        "block %u: run by two operators, or nested more than %d deep; save the program again",
        number, MAX_DEPTH);
  if (!declare (model, number, error))
    return FALSE;
  g_array_append_val (model->around, number);
  for (gsize i = 0; i < model->program->blocks.at[number]->ops.n; i++)
    if (!add_op (model, number, i, error))
      return FALSE;
  g_array_set_size (model->around, model->around->len - 1);
  return TRUE;
}

/* ---- the program */

static void
count_note (GememGraph *graph, const char *key, guint64 n, const char *what)
{
  if (n > 0)
    gemem_graph_note (graph, key, "%" G_GUINT64_FORMAT " %s", n, what);
}

static void
add_notes (const Model *model)
{
  GememGraph *graph = model->import.graph;
  const gint64 version = model->program->version != NULL ? model->program->version->version : 0;
  guint64 left_out = 0;

  for (gsize i = 0; i < model->program->blocks.n; i++)
    left_out += model->names[i] == NULL;
  gemem_graph_note (graph, "source", "PaddlePaddle program");
  if (version > 0) /* 2006002 means 2.6.2 */
    gemem_graph_note (graph, "tool",
                      "PaddlePaddle %" G_GINT64_FORMAT ".%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT,
                      version / 1000000, version / 1000 % 1000, version % 1000);
  count_note (graph, GEMEM_TRACE_OPEN, model->open,
              "variables have a dimension that is not known (-1), which counts as 1; where it is "
              "the batch, --dim -1=N gives it a number");
  count_note (graph, "note", model->products,
              "dimensions are products with one that is not known (-12), which count as 12");
  count_note (graph, "note", model->shapeless, "tensors have no shape; they count as no bytes");
  count_note (graph, "note", model->others,
              "variables are no dense tensors; they count as no bytes");
  count_note (graph, "note", left_out, "blocks are run by no operator; they are left out");
}

static GememGraph *
import_program (GememInput *input, const PaddleModel *program, GememGraphDims *dims, GError **error)
{
  g_autofree char *base = g_path_get_basename (gemem_input_name (input));
  Model model = { .program = program, .where = gemem_input_name (input) };
  gboolean ok;

  gemem_paddle_import_init (&model.import, base, dims);
  model.names = g_new0 (GHashTable *, program->blocks.n + 1);
  model.around = g_array_new (FALSE, FALSE, sizeof (guint32));
  ok = program->blocks.n > 0
           ? add_block (&model, 0, error)
           : fail (&model, error, "holds no block; this is no program of PaddlePaddle");
  if (ok)
    {
      add_notes (&model);
      ok = gemem_graph_seal (model.import.graph, model.where, error);
    }
  for (gsize i = 0; i < program->blocks.n; i++)
    g_clear_pointer (&model.names[i], g_hash_table_unref);
  g_free (model.names);
  g_array_unref (model.around);
  gemem_paddle_import_clear (&model.import);
  if (!ok)
    g_clear_pointer (&model.import.graph, gemem_graph_unref);
  return model.import.graph;
}

/* ---- format */

static GememGraph *
read_model (GememInput *input, guint index, GememGraphDims *dims, GError **error)
{
  g_autoptr (GPtrArray) memory = g_ptr_array_new_with_free_func (g_free);
  const PaddleModel *program = gemem_proto_read (input, &gemem_proto_PaddleModel, index, memory,
                                                 error);

  return program != NULL ? import_program (input, program, dims, error) : NULL;
}

/* Probe: the first block comes first in the file, with number 0 and parent -1. */
static int
probe (const guint8 *head, gsize size)
{
  static const guint8 begin[] = { 0x08, 0x00, 0x10, 0xff, 0xff, 0xff, 0xff,
                                  0xff, 0xff, 0xff, 0xff, 0xff, 0x01 };
  gsize i = 1;

  while (i < size && i < 10 && (head[i] & 0x80) != 0) /* skips the length of the block */
    i++;
  return size > i + sizeof begin && head[0] == 0x0a
                 && memcmp (head + i + 1, begin, sizeof begin) == 0
             ? 95
             : 0;
}

const GememGraphFormat gemem_graph_format_paddle_model = {
  .base = {
    .name = "paddle-model",
    .summary = "a PaddlePaddle program as it is saved (__model__, *.pdmodel), read only",
    .origin = "framework_pb2 of the wheels",
  },
  .extensions = "pdmodel",
  .assumed = "paddle",
  .probe = probe,
  .read = read_model,
};
