/* ge-dump-order.c - the operators of a dumped graph in the order of their ids, as far as their
 * inputs allow; see ge-dump.h.
 *
 * Kahn's algorithm; of the ready operators the one with the smallest key is next; ties: the earlier
 * in the file.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "graphs/ge-dump.h"

gboolean
gemem_ge_dump_split_input (const GeDumpPart *part, const char *input, guint *number, gint64 *output)
{
  g_autofree char *producer = NULL;
  const char *colon = strrchr (input, ':');

  if (colon == NULL
      || !(strcmp (colon, ":-1") == 0
           || gemem_parse_digits (colon + 1, 10, 0, G_MAXINT32, (guint64 *) output)))
    return FALSE;
  if (strcmp (colon, ":-1") == 0)
    *output = -1;
  producer = g_strndup (input, (gsize) (colon - input));
  *number = GPOINTER_TO_UINT (g_hash_table_lookup (part->numbers, producer)) - 1;
  return TRUE;
}

static int
compare_ready (gconstpointer a, gconstpointer b, gpointer data)
{
  const guint x = GPOINTER_TO_UINT (a), y = GPOINTER_TO_UINT (b);
  const gint64 *keys = data;

  if (keys[x] != keys[y])
    return keys[x] < keys[y] ? -1 : 1;
  return (x > y) - (x < y);
}

/* Adds @number to the successors of each of its producers; counts the producers. */
static void
connect (const GeDumpPart *part, guint number, GPtrArray *successors, guint *waits)
{
  const GeDumpOp *op = ge_dump_op (part, number);

  for (guint i = 0; i < op->inputs->len; i++)
    {
      guint from;
      gint64 output;

      if (!gemem_ge_dump_split_input (part, g_ptr_array_index (op->inputs, i), &from, &output)
          || from == G_MAXUINT32
          || g_str_has_suffix (ge_dump_op (part, from)->type, "NextIteration"))
        continue;
      if (g_ptr_array_index (successors, from) == NULL)
        g_ptr_array_index (successors, from) = g_array_new (FALSE, FALSE, sizeof (guint));
      g_array_append_val ((GArray *) g_ptr_array_index (successors, from), number);
      waits[number]++;
    }
}

static void
free_array (gpointer data)
{
  if (data != NULL)
    g_array_unref (data);
}

GArray *
gemem_ge_dump_order (const GeDumpPart *part)
{
  const guint n = part->graph->ops->len;
  g_autofree guint *waits = g_new0 (guint, n + 1);
  g_autoptr (GPtrArray) successors = g_ptr_array_new_with_free_func (free_array);
  GSequence *ready = g_sequence_new (NULL);
  GArray *order = g_array_sized_new (FALSE, FALSE, sizeof (guint), n);

  g_ptr_array_set_size (successors, (gint) n);
  for (guint i = 0; i < n; i++)
    connect (part, i, successors, waits);
  for (guint i = 0; i < n; i++)
    if (waits[i] == 0)
      g_sequence_insert_sorted (ready, GUINT_TO_POINTER (i), compare_ready, part->keys->data);
  while (!g_sequence_is_empty (ready))
    {
      GSequenceIter *first = g_sequence_get_begin_iter (ready);
      const guint number = GPOINTER_TO_UINT (g_sequence_get (first));
      const GArray *next = g_ptr_array_index (successors, number);

      g_sequence_remove (first);
      g_array_append_val (order, number);
      for (guint i = 0; next != NULL && i < next->len; i++)
        if (--waits[g_array_index (next, guint, i)] == 0)
          g_sequence_insert_sorted (ready, GUINT_TO_POINTER (g_array_index (next, guint, i)),
                                    compare_ready, part->keys->data);
    }
  for (guint i = 0; i < n; i++)
    if (waits[i] > 0)
      g_array_append_val (order, i);
  g_sequence_free (ready);
  return order;
}
