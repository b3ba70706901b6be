/* naive-paddle.c - paddle.md 8.1, 8.2, 8.4 and 13.2 word by word, with sets and lists of names; for
 * straight programs without a skip set. Shares no code with the planners. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/util/paddle-program.h"

typedef struct
{
  const GememGraph *graph;
  TestPaddleKind kind;
  guint64 level, least;
  guint n;
  GPtrArray **inputs, **outputs; /* per operator: names */
  /* the same, in the order in which they are served and die: a renamed one comes last */
  GPtrArray **reads, **writes;
  GHashTable **uses, **defs, **live_in, **live_out, **dead; /* per operator: sets of names */
  GHashTable *written;                                      /* names that some operator writes */
  GPtrArray *pool;                                          /* names */
  GString *renames, *prints;
  guint counter;
} Naive;

/* ---- the attributes of a name */

static const GememVariable *
var (const Naive *naive, const char *name)
{
  return gemem_graph_variable (naive->graph, gemem_graph_find_variable (naive->graph, name));
}

static gint64
dim (const Naive *naive, const char *name, guint i)
{
  return gemem_graph_dims (naive->graph, var (naive, name)->first_dim)[i];
}

static gint64
elements (const Naive *naive, const char *name)
{
  gint64 product = 1;

  for (guint i = 0; i < var (naive, name)->n_dims; i++)
    product *= dim (naive, name, i);
  return ABS (product);
}

static gboolean
dynamic (const Naive *naive, const char *name)
{
  return dim (naive, name, 0) == -1;
}

static char *
shape (const Naive *naive, const char *name, const char *separator)
{
  GString *text = g_string_new (name);

  for (guint i = 0; i < var (naive, name)->n_dims; i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i > 0 ? separator : "[",
                            dim (naive, name, i));
  g_string_append_c (text, ']');
  return g_string_free (text, FALSE);
}

static gboolean
valid (const Naive *naive, const char *name)
{
  return !var (naive, name)->persistable && var (naive, name)->n_dims > 0
         && (naive->kind != TEST_PADDLE_PASS || elements (naive, name) >= (gint64) naive->least);
}

/* Equal type, batch class and bytes. */
static gboolean
equal (const Naive *naive, const char *a, const char *b)
{
  return var (naive, a)->dtype == var (naive, b)->dtype && dynamic (naive, a) == dynamic (naive, b)
         && elements (naive, a) == elements (naive, b);
}

static gboolean
match (const Naive *naive, const char *x, const char *cache)
{
  g_autofree char *a = shape (naive, x, ","), *b = shape (naive, cache, ",");

  if (naive->kind == TEST_PADDLE_PASS)
    return equal (naive, x, cache);
  if (naive->level == 0)
    return strcmp (a + strlen (x), b + strlen (cache)) == 0;
  return dynamic (naive, x) == dynamic (naive, cache)
         && elements (naive, x) <= elements (naive, cache);
}

/* ---- liveness */

static gboolean
has (GHashTable *set, const char *name)
{
  return g_hash_table_contains (set, name);
}

static gboolean
add_all (GHashTable *set, GHashTable *from, GHashTable *but)
{
  gboolean changed = FALSE;
  GHashTableIter iter;
  gpointer name;

  g_hash_table_iter_init (&iter, from);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    if (but == NULL || !has (but, name))
      changed |= g_hash_table_add (set, name);
  return changed;
}

static void
live_to_fixed_point (Naive *naive)
{
  gboolean changed = TRUE;

  while (changed)
    {
      changed = FALSE;
      for (guint i = 0; i < naive->n; i++)
        {
          if (i + 1 < naive->n)
            changed |= add_all (naive->live_out[i], naive->live_in[i + 1], NULL);
          changed |= add_all (naive->live_in[i], naive->uses[i], NULL);
          changed |= add_all (naive->live_in[i], naive->live_out[i], naive->defs[i]);
        }
    }
  for (guint i = 0; i < naive->n; i++)
    add_all (naive->dead[i], naive->live_in[i], naive->live_out[i]);
}

/* ---- renaming */

static void
rename_in_set (GHashTable *set, const char *from, const char *to, gboolean keep)
{
  if (!has (set, from))
    return;
  if (!keep)
    g_hash_table_remove (set, from);
  g_hash_table_add (set, (gpointer) to);
}

static void
rename_in_list (GPtrArray *list, const char *from, const char *to)
{
  for (guint i = 0; i < list->len; i++)
    if (strcmp (list->pdata[i], from) == 0)
      list->pdata[i] = (gpointer) to;
}

static void
move_in_list (GPtrArray *list, const char *from, const char *to)
{
  for (guint i = 0; i < list->len; i++)
    if (strcmp (list->pdata[i], from) == 0)
      {
        g_ptr_array_remove_index (list, i--);
        if (to != NULL)
          g_ptr_array_add (list, (gpointer) to);
        to = NULL;
      }
}

static void
rename_from (Naive *naive, guint op, const char *from, const char *to)
{
  for (guint i = op; i < naive->n; i++)
    {
      rename_in_list (naive->inputs[i], from, to);
      rename_in_list (naive->outputs[i], from, to);
      move_in_list (naive->reads[i], from, to);
      if (naive->kind == TEST_PADDLE_PASS)
        rename_in_list (naive->writes[i], from, to);
      else
        move_in_list (naive->writes[i], from, to);
      rename_in_set (naive->uses[i], from, to, FALSE);
      rename_in_set (naive->defs[i], from, to, FALSE);
      rename_in_set (naive->live_in[i], from, to, FALSE);
      rename_in_set (naive->live_out[i], from, to, FALSE);
      rename_in_set (naive->dead[i], from, to, TRUE);
    }
}

static void
hit (Naive *naive, guint op, const char *x, guint k)
{
  const char *cache = naive->pool->pdata[k],
             *separator = naive->kind == TEST_PADDLE_PASS ? "," : ", ";
  g_autofree char *a = shape (naive, x, separator), *b = shape (naive, cache, separator);

  g_string_append_printf (naive->renames, "rename %u %s %s %u %u\n", op, x, cache, k,
                          naive->pool->len);
  if (naive->kind == TEST_PADDLE_1_2)
    g_string_append_printf (naive->prints,
                            "print Hit Cache !!!! cache pool index is %u, var name is %s, cached "
                            "var name is %s, var shape is %s \n",
                            k, x, cache, b + strlen (cache));
  else
    g_string_append_printf (naive->prints, "print !!! %u,  %s => %s, cache idx %u, pool size %u\n",
                            naive->counter++, a, b, k, naive->pool->len);
  g_ptr_array_remove_index (naive->pool, k);
  rename_from (naive, op, x, cache);
}

static void
look (Naive *naive, guint op, const char *x)
{
  const gboolean prints = naive->kind != TEST_PADDLE_PASS;

  for (guint k = 0; k < naive->pool->len; k++)
    {
      const char *cache = naive->pool->pdata[k];

      if (strcmp (x, cache) == 0 && prints)
        {
          g_string_append_printf (naive->prints, "print x :  %s  cache :  %s  is same var!\n", x,
                                  cache);
          return;
        }
      if (strcmp (x, cache) == 0)
        continue;
      if (var (naive, x)->dtype != var (naive, cache)->dtype && naive->kind == TEST_PADDLE_1_3)
        g_string_append (naive->prints, "print x_dtype and cache_dtype are different\n");
      if (var (naive, x)->dtype == var (naive, cache)->dtype && match (naive, x, cache))
        {
          hit (naive, op, x, k);
          return;
        }
    }
}

/* ---- the pool */

static guint
place (const Naive *naive, const char *name)
{
  guint k = 0;

  if (naive->kind == TEST_PADDLE_1_2)
    return naive->pool->len;
  for (; k < naive->pool->len; k++)
    {
      const char *entry = naive->pool->pdata[k];

      if (dynamic (naive, name) && !dynamic (naive, entry))
        break;
      if (!dynamic (naive, name) && dynamic (naive, entry))
        continue;
      if (naive->kind == TEST_PADDLE_PASS ? !equal (naive, name, entry)
                                          : elements (naive, entry) > elements (naive, name))
        break;
    }
  return k;
}

static int
compare (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static gboolean
contains (const GPtrArray *list, const char *name)
{
  for (guint i = 0; i < list->len; i++)
    if (strcmp (list->pdata[i], name) == 0)
      return TRUE;
  return FALSE;
}

static gboolean
may_enter (const Naive *naive, guint op, const char *name)
{
  if (!valid (naive, name) || contains (naive->pool, name))
    return FALSE;
  if (naive->kind == TEST_PADDLE_PASS)
    return contains (naive->inputs[op], name) || contains (naive->outputs[op], name);
  return naive->kind == TEST_PADDLE_1_2 || has (naive->written, name);
}

static void
fill (Naive *naive, guint op)
{
  g_autoptr (GPtrArray) dead = g_ptr_array_new ();
  GHashTable *from = naive->kind == TEST_PADDLE_PASS ? naive->dead[op] : naive->live_in[op];
  GHashTableIter iter;
  gpointer name;

  g_hash_table_iter_init (&iter, from);
  while (naive->kind != TEST_PADDLE_1_2 && g_hash_table_iter_next (&iter, &name, NULL))
    if (naive->kind == TEST_PADDLE_PASS || !has (naive->live_out[op], name))
      g_ptr_array_add (dead, name);
  g_ptr_array_sort (dead, compare);
  for (guint i = 0; naive->kind == TEST_PADDLE_1_2 && i < naive->reads[op]->len; i++)
    if (!has (naive->live_out[op], naive->reads[op]->pdata[i]))
      g_ptr_array_add (dead, naive->reads[op]->pdata[i]);
  for (guint i = 0; i < dead->len; i++)
    if (may_enter (naive, op, dead->pdata[i]))
      g_ptr_array_insert (naive->pool, (int) place (naive, dead->pdata[i]), dead->pdata[i]);
}

static void
walk (Naive *naive)
{
  for (guint op = 0; op < naive->n; op++)
    {
      g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

      for (guint i = 0; naive->pool->len > 0 && i < naive->writes[op]->len; i++)
        if (valid (naive, naive->writes[op]->pdata[i]))
          g_ptr_array_add (outputs, naive->writes[op]->pdata[i]);
      for (guint i = 0; i < outputs->len; i++)
        if (!has (naive->uses[op], outputs->pdata[i]))
          look (naive, op, outputs->pdata[i]);
      fill (naive, op);
    }
}

/* ---- the whole */

static GHashTable *
new_set (void)
{
  return g_hash_table_new (g_str_hash, g_str_equal);
}

static void
load (Naive *naive)
{
  for (guint i = 0; i < naive->n; i++)
    {
      const GememNode *node = gemem_graph_node (naive->graph, i);

      naive->inputs[i] = g_ptr_array_new ();
      naive->outputs[i] = g_ptr_array_new ();
      naive->reads[i] = g_ptr_array_new ();
      naive->writes[i] = g_ptr_array_new ();
      naive->uses[i] = new_set ();
      naive->defs[i] = new_set ();
      naive->live_in[i] = new_set ();
      naive->live_out[i] = new_set ();
      naive->dead[i] = new_set ();
      for (guint k = 0; k < node->n_inputs; k++)
        {
          const char *name = gemem_graph_variable (naive->graph,
                                                   gemem_graph_inputs (naive->graph, i)[k].variable)
                                 ->name;

          g_ptr_array_add (naive->inputs[i], (gpointer) name);
          g_ptr_array_add (naive->reads[i], (gpointer) name);
          g_hash_table_add (naive->uses[i], (gpointer) name);
        }
      for (guint k = 0; k < node->n_outputs; k++)
        {
          const char *name =
              gemem_graph_variable (
                  naive->graph, gemem_graph_tensor (naive->graph, node->first_output + k)->variable)
                  ->name;

          g_ptr_array_add (naive->outputs[i], (gpointer) name);
          g_ptr_array_add (naive->writes[i], (gpointer) name);
          g_hash_table_add (naive->defs[i], (gpointer) name);
          g_hash_table_add (naive->written, (gpointer) name);
        }
    }
}

static void
add_list (GString *out, const GPtrArray *list)
{
  for (guint i = 0; i < list->len; i++)
    g_string_append_printf (out, " %s", (const char *) list->pdata[i]);
}

static char *
report (Naive *naive)
{
  GString *out = g_string_new (naive->renames->str);

  g_string_append (out, naive->prints->str);
  for (guint i = 0; i < naive->n; i++)
    {
      g_string_append (out, "op");
      add_list (out, naive->inputs[i]);
      g_string_append (out, " ->");
      add_list (out, naive->outputs[i]);
      g_string_append_c (out, '\n');
    }
  for (guint i = 0; i < naive->pool->len; i++)
    {
      const char *name = naive->pool->pdata[i];

      g_string_append_printf (out, "pool %s", name);
      for (guint k = 0; k < var (naive, name)->n_dims; k++)
        g_string_append_printf (out, " %" G_GINT64_FORMAT, dim (naive, name, k));
      g_string_append_c (out, '\n');
    }
  return g_string_free (out, FALSE);
}

static void
unload (Naive *naive)
{
  GHashTable **sets[] = { naive->uses, naive->defs, naive->live_in, naive->live_out, naive->dead };

  for (guint i = 0; i < naive->n; i++)
    {
      g_ptr_array_unref (naive->inputs[i]);
      g_ptr_array_unref (naive->outputs[i]);
      g_ptr_array_unref (naive->reads[i]);
      g_ptr_array_unref (naive->writes[i]);
      for (guint k = 0; k < G_N_ELEMENTS (sets); k++)
        g_hash_table_unref (sets[k][i]);
    }
  for (guint k = 0; k < G_N_ELEMENTS (sets); k++)
    g_free (sets[k]);
  g_free (naive->inputs);
  g_free (naive->outputs);
  g_free (naive->reads);
  g_free (naive->writes);
  g_hash_table_unref (naive->written);
  g_ptr_array_unref (naive->pool);
  g_string_free (naive->renames, TRUE);
  g_string_free (naive->prints, TRUE);
}

char *
test_paddle_naive (const GememGraph *graph, TestPaddleKind kind, guint level, guint least)
{
  const guint n = gemem_graph_n_nodes (graph);
  Naive naive = { .graph = graph, .kind = kind, .level = level, .least = least, .n = n };
  char *text;

  naive.inputs = g_new (GPtrArray *, n);
  naive.outputs = g_new (GPtrArray *, n);
  naive.reads = g_new (GPtrArray *, n);
  naive.writes = g_new (GPtrArray *, n);
  naive.uses = g_new (GHashTable *, n);
  naive.defs = g_new (GHashTable *, n);
  naive.live_in = g_new (GHashTable *, n);
  naive.live_out = g_new (GHashTable *, n);
  naive.dead = g_new (GHashTable *, n);
  naive.written = new_set ();
  naive.pool = g_ptr_array_new ();
  naive.renames = g_string_new (NULL);
  naive.prints = g_string_new (NULL);
  load (&naive);
  live_to_fixed_point (&naive);
  walk (&naive);
  text = report (&naive);
  unload (&naive);
  return text;
}
