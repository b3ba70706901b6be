/* graphs.c - see graphs.h. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "tests/util/graphs.h"

GememGraph *
test_graph_from_text (const char *text, const char *format, GError **error)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));

  return gemem_graph_open_input (gemem_input_new_from_bytes (bytes, "g.json"), format, 0, error);
}

char *
test_graph_error (const char *text, const char *format)
{
  GError *error = NULL;
  GememGraph *graph = test_graph_from_text (text, format, &error);
  char *message;

  if (graph != NULL)
    g_error ("this should be refused: %s", text);
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_null (strchr (error->message, '\n'));
  message = g_strdup (error->message);
  g_error_free (error);
  return message;
}

static void
dims_equal (const GememGraph *a, guint32 first_a, guint32 n_a, const GememGraph *b, guint32 first_b,
            guint32 n_b)
{
  g_assert_cmpuint (n_a, ==, n_b);
  if (n_a > 0)
    g_assert_cmpmem (gemem_graph_dims (a, first_a), n_a * sizeof (gint64),
                     gemem_graph_dims (b, first_b), n_b * sizeof (gint64));
}

static void
attributes_equal (const GememGraph *a, GememAttributes of_a, const GememGraph *b,
                  GememAttributes of_b)
{
  g_assert_cmpuint (of_a.n, ==, of_b.n);
  for (guint32 i = 0; i < of_a.n; i++)
    {
      const GememAttributeKey key = gemem_graph_attribute_at (a, of_a, i);
      guint n_a, n_b;

      g_assert_cmpint (key, ==, gemem_graph_attribute_at (b, of_b, i));
      if (gemem_attributes[key].kind == GEMEM_ATTRIBUTE_TEXT
          || gemem_attributes[key].kind == GEMEM_ATTRIBUTE_TEXTS)
        {
          const char *const *texts_a = gemem_graph_texts (a, of_a, key, &n_a),
                            *const *texts_b = gemem_graph_texts (b, of_b, key, &n_b);

          g_assert_cmpuint (n_a, ==, n_b);
          for (guint t = 0; t < n_a; t++)
            g_assert_cmpstr (texts_a[t], ==, texts_b[t]);
        }
      else
        {
          const gint64 *values_a = gemem_graph_ints (a, of_a, key, &n_a),
                       *values_b = gemem_graph_ints (b, of_b, key, &n_b);

          g_assert_cmpmem (values_a, n_a * sizeof (gint64), values_b, n_b * sizeof (gint64));
        }
    }
}

static void
tensors_equal (const GememGraph *a, const GememGraph *b, guint32 number)
{
  const GememTensor *s = gemem_graph_tensor (a, number), *t = gemem_graph_tensor (b, number);

  g_assert_cmpuint (s->size, ==, t->size);
  g_assert_cmpuint (s->node, ==, t->node);
  g_assert_cmpuint (s->index, ==, t->index);
  dims_equal (a, s->first_dim, s->n_dims, b, t->first_dim, t->n_dims);
  g_assert_cmpint (s->has_shape, ==, t->has_shape);
  g_assert_cmpint (s->dtype, ==, t->dtype);
  g_assert_cmpint (s->reuse_input, ==, t->reuse_input);
  g_assert_cmpuint (s->variable, ==, t->variable);
  attributes_equal (a, s->attributes, b, t->attributes);
  g_assert_cmpuint (s->n_consumers, ==, t->n_consumers);
  for (guint32 i = 0; i < s->n_consumers; i++)
    {
      g_assert_cmpuint (gemem_graph_consumers (a, number)[i].node, ==,
                        gemem_graph_consumers (b, number)[i].node);
      g_assert_cmpuint (gemem_graph_consumers (a, number)[i].input, ==,
                        gemem_graph_consumers (b, number)[i].input);
    }
}

static void
node_heads_equal (const GememNode *m, const GememNode *n)
{
  g_assert_cmpstr (m->name, ==, n->name);
  g_assert_cmpstr (m->type, ==, n->type);
  g_assert_cmpstr (m->engine, ==, n->engine);
  g_assert_cmpstr (m->batch_label, ==, n->batch_label);
  g_assert_cmpint (m->stream, ==, n->stream);
  g_assert_cmpint (m->index, ==, n->index);
  g_assert_cmpuint (m->block, ==, n->block);
  g_assert_cmpuint (m->role, ==, n->role);
  g_assert_cmpuint (m->n_inputs, ==, n->n_inputs);
  g_assert_cmpuint (m->n_outputs, ==, n->n_outputs);
  g_assert_cmpuint (m->n_workspaces, ==, n->n_workspaces);
  g_assert_cmpuint (m->n_controls, ==, n->n_controls);
  g_assert_cmpuint (m->n_successors, ==, n->n_successors);
  g_assert_cmpuint (m->n_blocks, ==, n->n_blocks);
  g_assert_cmpuint (m->first_output, ==, n->first_output);
}

static void
nodes_equal (const GememGraph *a, const GememGraph *b, guint32 id)
{
  const GememNode *m = gemem_graph_node (a, id), *n = gemem_graph_node (b, id);

  node_heads_equal (m, n);
  attributes_equal (a, m->attributes, b, n->attributes);
  for (guint32 i = 0; i < m->n_inputs; i++)
    {
      g_assert_cmpuint (gemem_graph_inputs (a, id)[i].tensor, ==,
                        gemem_graph_inputs (b, id)[i].tensor);
      g_assert_cmpuint (gemem_graph_inputs (a, id)[i].variable, ==,
                        gemem_graph_inputs (b, id)[i].variable);
    }
  for (guint32 i = 0; i < m->n_workspaces; i++)
    g_assert_cmpuint (gemem_graph_workspace (a, id, i), ==, gemem_graph_workspace (b, id, i));
  for (guint32 i = 0; i < m->n_controls; i++)
    g_assert_cmpuint (gemem_graph_controls (a, id)[i], ==, gemem_graph_controls (b, id)[i]);
  for (guint32 i = 0; i < m->n_successors; i++)
    g_assert_cmpuint (gemem_graph_successors (a, id)[i], ==, gemem_graph_successors (b, id)[i]);
}

static void
variables_equal (const GememGraph *a, const GememGraph *b, guint32 number)
{
  const GememVariable *v = gemem_graph_variable (a, number), *w = gemem_graph_variable (b, number);

  g_assert_cmpstr (v->name, ==, w->name);
  g_assert_cmpuint (v->size, ==, w->size);
  dims_equal (a, v->first_dim, v->n_dims, b, w->first_dim, w->n_dims);
  g_assert_cmpint (v->has_shape, ==, w->has_shape);
  g_assert_cmpint (v->dtype, ==, w->dtype);
  g_assert_cmpuint (v->parameter, ==, w->parameter);
  g_assert_cmpint (v->persistable, ==, w->persistable);
  g_assert_cmpint (v->is_tensor, ==, w->is_tensor);
}

static void
heads_equal (const GememGraph *a, const GememGraph *b)
{
  const GPtrArray *settings_a = gemem_graph_settings (a), *settings_b = gemem_graph_settings (b);
  const GPtrArray *notes_a = gemem_graph_provenance (a), *notes_b = gemem_graph_provenance (b);

  g_assert_cmpstr (gemem_graph_name (a), ==, gemem_graph_name (b));
  g_assert_cmpint (gemem_graph_dynamic_root (a), ==, gemem_graph_dynamic_root (b));
  g_assert_cmpint (gemem_graph_release_first (a), ==, gemem_graph_release_first (b));
  g_assert_cmpuint (settings_a->len, ==, settings_b->len);
  for (guint i = 0; i < settings_a->len; i++)
    {
      g_assert_cmpstr (((GememSetting *) settings_a->pdata[i])->key, ==,
                       ((GememSetting *) settings_b->pdata[i])->key);
      g_assert_cmpstr (((GememSetting *) settings_a->pdata[i])->value, ==,
                       ((GememSetting *) settings_b->pdata[i])->value);
    }
  g_assert_cmpuint (notes_a->len, ==, notes_b->len);
  for (guint i = 0; i < notes_a->len; i++)
    g_assert_cmpstr (notes_a->pdata[i], ==, notes_b->pdata[i]);
}

void
test_graphs_equal (const GememGraph *a, const GememGraph *b)
{
  heads_equal (a, b);
  g_assert_cmpuint (gemem_graph_n_variables (a), ==, gemem_graph_n_variables (b));
  for (guint32 i = 0; i < gemem_graph_n_variables (a); i++)
    variables_equal (a, b, i);
  g_assert_cmpuint (gemem_graph_n_blocks (a), ==, gemem_graph_n_blocks (b));
  for (guint32 i = 0; i < gemem_graph_n_blocks (a); i++)
    {
      g_assert_cmpstr (gemem_graph_block (a, i)->name, ==, gemem_graph_block (b, i)->name);
      g_assert_cmpuint (gemem_graph_block (a, i)->node, ==, gemem_graph_block (b, i)->node);
    }
  g_assert_cmpuint (gemem_graph_n_nodes (a), ==, gemem_graph_n_nodes (b));
  for (guint32 i = 0; i < gemem_graph_n_nodes (a); i++)
    nodes_equal (a, b, i);
  g_assert_cmpuint (gemem_graph_n_tensors (a), ==, gemem_graph_n_tensors (b));
  for (guint32 i = 0; i < gemem_graph_n_tensors (a); i++)
    tensors_equal (a, b, i);
}

void
test_graph_written_and_read (const GememGraph *graph)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;

  g_assert_true (gemem_graph_format_find ("gemem-graph", NULL)->write (graph, text, NULL));
  g_autoptr (GememGraph) again = test_graph_from_text (text->str, "gemem-graph", &error);
  g_assert_no_error (error);
  test_graphs_equal (graph, again);
}
