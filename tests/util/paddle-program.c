/* paddle-program.c - see paddle-program.h. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "base/units.h"
#include "tests/util/paddle-program.h"

/* ---- from text */

typedef struct
{
  GememGraph *graph;
  GArray *writer; /* guint32 per variable: tensor, or GEMEM_NONE */
  GArray *blocks; /* guint32: stack */
  guint n_ops;
} Parser;

static gint64
number (const char *text)
{
  gint64 value;

  g_assert_true (gemem_parse_int (text, &value, NULL));
  return value;
}

/* "name[1,2]:dtype!@block" */
static void
parse_variable (Parser *parser, char *word)
{
  char *at = strchr (word, ']') != NULL ? strchr (strchr (word, ']'), '@') : NULL;
  const guint32 block = at != NULL ? (guint32) number (at + 1) : GEMEM_NONE;

  if (at != NULL)
    *at = '\0';
  const gboolean persistable = g_str_has_suffix (word, "!");
  char *open = strchr (word, '['), *close = strchr (word, ']');
  const char *dtype = close[1] == ':' ? close + 2 : "float32";
  const guint32 none = GEMEM_NONE;
  g_auto (GStrv) dims = NULL;
  gint64 values[8] = { 0 };
  guint n = 0;

  g_strdelimit (close + 1, "!", '\0');
  *open = *close = '\0';
  dims = g_strsplit (open + 1, ",", -1);
  for (; dims[n] != NULL && *dims[n] != '\0'; n++)
    values[n] = number (dims[n]);
  g_assert_cmpuint (gemem_dtype_find (dtype), !=, GEMEM_DTYPE_UNKNOWN);
  if (block != GEMEM_NONE)
    gemem_graph_declare_variable (parser->graph, word, block, gemem_dtype_find (dtype), values, n,
                                  persistable);
  else
    gemem_graph_add_variable (parser->graph, word, gemem_dtype_find (dtype), values, n,
                              persistable);
  g_array_append_val (parser->writer, none);
}

static guint32
variable (const Parser *parser, const char *name)
{
  const guint32 found = gemem_graph_find_variable_in (
      parser->graph, name, g_array_index (parser->blocks, guint32, parser->blocks->len - 1));

  if (found == GEMEM_NONE)
    g_error ("'%s' is not declared", name);
  return found;
}

static void
add_input (const Parser *parser, const char *name)
{
  const guint32 v = variable (parser, name), tensor = g_array_index (parser->writer, guint32, v);

  if (tensor == GEMEM_NONE)
    gemem_graph_add_variable_input (parser->graph, v);
  else
    gemem_graph_add_input (
        parser->graph,
        gemem_graph_node (parser->graph, gemem_graph_tensor (parser->graph, tensor)->node)->name,
        gemem_graph_tensor (parser->graph, tensor)->index);
}

/* "pairs=0,0", "optimize=p,g", "backward", "force_cpu"; FALSE for a name. */
static gboolean
parse_attribute (const Parser *parser, const char *word)
{
  static const gint64 yes = 1;
  const char *equals = strchr (word, '=');
  g_auto (GStrv) list = equals != NULL ? g_strsplit (equals + 1, ",", -1) : NULL;
  gint64 values[16];
  guint n = 0;

  if (strcmp (word, "force_cpu") == 0)
    gemem_graph_add_attribute_ints (parser->graph, GEMEM_ATTRIBUTE_FORCE_CPU, &yes, 1);
  else if (strcmp (word, "backward") == 0)
    gemem_graph_edit_node (parser->graph)->role = GEMEM_ROLE_BACKWARD;
  else if (g_str_has_prefix (word, "optimize="))
    {
      gemem_graph_edit_node (parser->graph)->role = GEMEM_ROLE_OPTIMIZE;
      gemem_graph_add_attribute_texts (parser->graph, GEMEM_ATTRIBUTE_OP_ROLE_VARS,
                                       (const char *const *) list, g_strv_length (list));
    }
  else if (g_str_has_prefix (word, "pairs="))
    {
      for (; list[n] != NULL; n++)
        values[n] = number (list[n]);
      gemem_graph_add_attribute_ints (parser->graph, GEMEM_ATTRIBUTE_INPLACE_PAIRS, values, n);
    }
  else
    return FALSE;
  return TRUE;
}

static void
add_output (const Parser *parser, const char *name)
{
  const guint32 v = variable (parser, name);
  const guint32 tensor = gemem_graph_add_output (parser->graph,
                                                 gemem_graph_variable (parser->graph, v)->size);

  gemem_graph_edit_output (parser->graph)->variable = v;
  g_array_index (parser->writer, guint32, v) = tensor;
}

static void
parse_operator (Parser *parser, char **words)
{
  char name[16];
  guint arrow = 1;

  g_snprintf (name, sizeof name, "op%u", parser->n_ops++);
  gemem_graph_add_node (parser->graph, name, words[0]);
  gemem_graph_edit_node (parser->graph)->block = g_array_index (parser->blocks, guint32,
                                                                parser->blocks->len - 1);
  for (; words[arrow] != NULL && strcmp (words[arrow], "->") != 0; arrow++)
    add_input (parser, words[arrow]);
  g_assert_nonnull (words[arrow]);
  for (guint i = arrow + 1; words[i] != NULL; i++)
    if (parse_attribute (parser, words[i]))
      *words[i] = '\0';
  for (guint i = arrow + 1; words[i] != NULL; i++)
    if (*words[i] != '\0')
      add_output (parser, words[i]);
}

static void
parse_line (Parser *parser, const char *line)
{
  g_autofree char *copy = g_strstrip (g_strdup (line));
  g_auto (GStrv) words = g_strsplit (copy, " ", -1);

  if (*copy == '\0')
    return;
  if (strcmp (copy, "{") == 0)
    {
      const guint32 block = gemem_graph_add_block (parser->graph, "block");

      g_array_append_val (parser->blocks, block);
    }
  else if (strcmp (copy, "}") == 0)
    g_array_set_size (parser->blocks, parser->blocks->len - 1);
  else if (strchr (words[0], '[') != NULL)
    for (guint i = 0; words[i] != NULL; i++)
      parse_variable (parser, words[i]);
  else
    parse_operator (parser, words);
}

GememGraph *
test_paddle_program (const char *text)
{
  Parser parser = { gemem_graph_new ("program"), g_array_new (FALSE, FALSE, sizeof (guint32)),
                    g_array_new (FALSE, FALSE, sizeof (guint32)), 0 };
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  const guint32 root = 0;
  GError *error = NULL;

  g_array_append_val (parser.blocks, root);
  for (guint i = 0; lines[i] != NULL; i++)
    parse_line (&parser, lines[i]);
  gemem_graph_seal (parser.graph, "program", &error);
  g_assert_no_error (error);
  g_array_unref (parser.writer);
  g_array_unref (parser.blocks);
  return parser.graph;
}

/* ---- at random */

char *
test_paddle_random (guint64 seed, guint operators, guint variables, gboolean again)
{
  static const char *const shapes[] = { "[-1,100]",    "[-1,50]", "[-1,2,50]", "[100]",
                                        "[400]",       "[20,20]", "[]",        "[-1,100]:int64",
                                        "[400]:int64", "[7]" };
  GememRng rng;
  GString *text = g_string_new (NULL);
  guint next; /* names from this index on have not been written */

  gemem_rng_init (&rng, seed, "paddle program");
  variables = MAX (variables, 3);
  for (guint v = 0; v < variables; v++)
    {
      const char *shape = shapes[gemem_rng_below (&rng, G_N_ELEMENTS (shapes))];
      const char *kept = gemem_rng_below (&rng, 8) == 0 ? "!" : "";

      g_string_append_printf (text, "%sv%u%s%s", v > 0 ? " " : "", v, shape, kept);
    }
  g_string_append_c (text, '\n');
  next = 1 + (guint) gemem_rng_below (&rng, variables / 4 + 1);
  for (guint i = 0; i < operators && next < variables; i++)
    {
      const guint n_inputs = 1 + (guint) gemem_rng_below (&rng, 3),
                  n_outputs = 1 + (guint) gemem_rng_below (&rng, 4) / 3;
      guint last = 0;

      /* relu: on the whitelist of in-place operators */
      g_string_append (text, gemem_rng_below (&rng, 3) == 0 ? "relu" : "op");
      for (guint k = 0; k < n_inputs; k++)
        {
          const guint near = (guint) gemem_rng_below (&rng, MIN (next, 6));

          last = gemem_rng_below (&rng, 3) > 0 ? next - 1 - near
                                               : (guint) gemem_rng_below (&rng, next);
          g_string_append_printf (text, " v%u", last);
        }
      g_string_append (text, " ->");
      if (gemem_rng_below (&rng, 6) == 0)
        g_string_append_printf (text, " v%u", last); /* in place */
      else if (again && gemem_rng_below (&rng, 4) == 0)
        g_string_append_printf (text, " v%u", (guint) gemem_rng_below (&rng, next));
      else
        for (guint k = 0; k < n_outputs && next < variables; k++)
          g_string_append_printf (text, " v%u", next++);
      g_string_append_c (text, '\n');
    }
  return g_string_free (text, FALSE);
}

/* ---- the result of a rewrite as text */

static const char *
name_of (const PaddleProgram *program, guint32 v)
{
  return v != GEMEM_NONE ? gemem_paddle_variable (program, v)->name : "-";
}

char *
test_paddle_rewrite_text (const PaddleProgram *program, const PaddleRewrite *rewrite)
{
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < rewrite->renames->len; i++)
    {
      const PaddleRename *rename = &g_array_index (rewrite->renames, PaddleRename, i);

      g_string_append_printf (out, "rename %u %s %s %u %u\n", rename->op,
                              name_of (program, rename->from), name_of (program, rename->to),
                              rename->index, rename->pool_size);
    }
  for (guint i = 0; i < rewrite->log->len; i++)
    g_string_append_printf (out, "print %s\n", (const char *) rewrite->log->pdata[i]);
  for (guint32 id = 0; id < gemem_graph_n_nodes (program->graph); id++)
    {
      const GememNode *node = gemem_graph_node (program->graph, id);

      g_string_append (out, "op");
      for (guint32 i = 0; i < node->n_inputs; i++)
        g_string_append_printf (out, " %s",
                                name_of (program, rewrite->inputs[node->first_input + i]));
      g_string_append (out, " ->");
      for (guint32 i = 0; i < node->n_outputs; i++)
        g_string_append_printf (
            out, " %s", name_of (program, rewrite->items[gemem_node_output_item (node, i)]));
      g_string_append_c (out, '\n');
    }
  for (guint i = 0; i < rewrite->pool->len; i++)
    {
      const PaddleVariable *v = gemem_paddle_variable (program,
                                                       g_array_index (rewrite->pool, guint32, i));

      g_string_append_printf (out, "pool %s", v->name);
      for (guint32 k = 0; k < v->n_dims; k++)
        g_string_append_printf (out, " %" G_GINT64_FORMAT, v->dims[k]);
      g_string_append_c (out, '\n');
    }
  return g_string_free (out, FALSE);
}

gboolean
test_paddle_keeps_meaning (const PaddleProgram *program, const PaddleRewrite *rewrite)
{
  g_autofree guint32 *before = g_new (guint32, program->n_variables + 1),
                     *after = g_new (guint32, program->n_variables + 1);

  for (guint32 i = 0; i < program->n_variables; i++)
    before[i] = after[i] = i;
  for (guint32 id = 0; id < gemem_graph_n_nodes (program->graph); id++)
    {
      const GememNode *node = gemem_graph_node (program->graph, id);

      for (guint32 i = node->first_input; i < node->first_input + node->n_inputs; i++)
        if (program->inputs[i] != GEMEM_NONE
            && before[program->inputs[i]] != after[rewrite->inputs[i]])
          return FALSE;
      for (guint32 i = gemem_node_item (node); i < gemem_node_item (node) + node->n_outputs; i++)
        if (program->items[i] != GEMEM_NONE)
          before[program->items[i]] = after[rewrite->items[i]] = program->n_variables + i;
    }
  return TRUE;
}
