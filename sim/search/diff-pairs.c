/* diff-pairs.c - see diff-chain.h: which blocks of two runs are the same one.
 *
 * Lines are compared as in diff-rows.c, without folders and numbers, so that an edit further up changes nothing.
 */
#include "config.h"

#include "base/compare.h"
#include "sim/search/diff-chain.h"
#include "sim/search/diff.h"

/* What a block is known by; those of equal keys are the same in their order. */
typedef struct
{
  guint line;   /* 0: unknown */
  guint64 step; /* its number + 1; 0: before the first */
  guint64 size; /* where the line is unknown; else 0 */
  guint index;
} Key;

static int
compare_keys (const Key *a, const Key *b)
{
  if (a->line != b->line)
    return a->line < b->line ? -1 : 1;
  if (a->step != b->step)
    return a->step < b->step ? -1 : 1;
  return gemem_compare_uint64 (&a->size, &b->size);
}

static int
compare_in_order (gconstpointer a, gconstpointer b)
{
  const Key *x = a, *y = b;
  const int keys = compare_keys (x, y);

  return keys != 0 ? keys : (x->index > y->index) - (x->index < y->index);
}

/* The numbers of the lines of @history among those in @known, which is filled; g_free(). */
static guint *
number_lines (const GememHistory *history, GHashTable *known)
{
  g_autoptr (GRegex) pattern = gemem_diff_line_pattern ();
  guint *numbers = g_new0 (guint, history->texts->len);

  for (guint i = 1; i < history->texts->len; i++)
    {
      char *line = gemem_diff_line_key (pattern, history->texts->pdata[i]);
      gpointer number = g_hash_table_lookup (known, line);

      if (number == NULL)
        {
          number = GUINT_TO_POINTER (g_hash_table_size (known) + 1);
          g_hash_table_insert (known, line, number);
        }
      else
        g_free (line);
      numbers[i] = GPOINTER_TO_UINT (number);
    }
  return numbers;
}

GArray *
gemem_diff_steps (const GememHistory *history)
{
  GArray *steps = g_array_new (FALSE, FALSE, sizeof (guint64));
  gboolean ascending = TRUE;

  for (guint i = 0; i < history->marks->len; i++)
    {
      const GememHistoryMark *mark = &g_array_index (history->marks, GememHistoryMark, i);

      if (mark->text != 0)
        continue;
      ascending = ascending
                  && (steps->len == 0
                      || g_array_index (steps, guint64, steps->len - 1) < mark->number);
      g_array_append_val (steps, mark->number);
    }
  for (guint64 i = 0; !ascending && i < steps->len; i++)
    g_array_index (steps, guint64, i) = i + 1;
  return steps;
}

/* The keys of all blocks in their order; g_free(). */
static Key *
make_keys (const GememHistory *history, GHashTable *known)
{
  g_autofree guint *lines = number_lines (history, known);
  g_autoptr (GArray) steps = gemem_diff_steps (history);
  Key *keys = g_new (Key, history->blocks->len + 1);
  guint mark = 0, step = 0;

  for (guint i = 0; i < history->blocks->len; i++)
    {
      const GememHistoryBlock *block = &g_array_index (history->blocks, GememHistoryBlock, i);

      for (; mark < history->marks->len
             && g_array_index (history->marks, GememHistoryMark, mark).seq <= block->begin;
           mark++)
        step += g_array_index (history->marks, GememHistoryMark, mark).text == 0;
      keys[i] = (Key){ lines[block->text],
                       step > 0 ? g_array_index (steps, guint64, step - 1) + 1 : 0,
                       lines[block->text] == 0 ? block->requested : 0, i };
    }
  qsort (keys, history->blocks->len, sizeof (Key), compare_in_order);
  return keys;
}

static void
pair_by_key (const GememHistory *const histories[2], guint *pairs[2])
{
  g_autoptr (GHashTable) known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree Key *first = make_keys (histories[0], known),
                 *second = make_keys (histories[1], known);

  for (guint i = 0, j = 0; i < histories[0]->blocks->len && j < histories[1]->blocks->len;)
    {
      const int order = compare_keys (&first[i], &second[j]);

      if (order == 0)
        {
          pairs[0][first[i].index] = second[j].index;
          pairs[1][second[j].index] = first[i].index;
        }
      i += order <= 0;
      j += order >= 0;
    }
}

static void
pair_by_event (const GememHistory *const histories[2], guint *pairs[2])
{
  for (guint i = 0, j = 0; i < histories[0]->blocks->len && j < histories[1]->blocks->len;)
    {
      const guint64 x = g_array_index (histories[0]->blocks, GememHistoryBlock, i).begin,
                    y = g_array_index (histories[1]->blocks, GememHistoryBlock, j).begin;

      if (x == y)
        {
          pairs[0][i] = j;
          pairs[1][j] = i;
        }
      i += x <= y;
      j += y <= x;
    }
}

void
gemem_diff_pair (const GememHistory *const histories[2], gboolean by_event, guint *pairs[2])
{
  for (guint s = 0; s < 2; s++)
    {
      pairs[s] = g_new (guint, histories[s]->blocks->len + 1);
      for (guint i = 0; i < histories[s]->blocks->len; i++)
        pairs[s][i] = GEMEM_DIFF_NONE;
    }
  if (by_event)
    pair_by_event (histories, pairs);
  else
    pair_by_key (histories, pairs);
}
