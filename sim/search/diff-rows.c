/* diff-rows.c - see diff.h: who holds more, and what lies idle more.
 *
 * Lines of two recordings belong together only within the same function of a file of the same name; its folder and
 * the numbers of its lines may be others, as after an edit further up.  Where the function has the same lines in both,
 * they are those of the same number.  Else they keep their order, and those pairs are taken with which least memory
 * changes.
 *
 * Invariant: each holder is in one row; the sums of the rows before those that are equal are left out are those of
 * the holders.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/report/json-fields.h"
#include "sim/search/diff.h"

static void
row_clear (gpointer data)
{
  g_free (((GememDiffRow *) data)->name);
}

GArray *
gemem_diff_rows_new (void)
{
  GArray *rows = g_array_new (FALSE, TRUE, sizeof (GememDiffRow));

  g_array_set_clear_func (rows, row_clear);
  return rows;
}

static guint64
change_of (const GememDiffRow *row)
{
  return row->bytes[0] > row->bytes[1] ? row->bytes[0] - row->bytes[1]
                                       : row->bytes[1] - row->bytes[0];
}

static int
compare_rows (gconstpointer a, gconstpointer b)
{
  const guint64 x = change_of (a), y = change_of (b);

  if (x != y)
    return x > y ? -1 : 1;
  return strcmp (((const GememDiffRow *) a)->name, ((const GememDiffRow *) b)->name);
}

static gboolean
is_same (const GememDiffRow *row)
{
  return row->bytes[0] == row->bytes[1] && row->blocks[0] == row->blocks[1];
}

/* Leaves those that differ, the largest change first. */
static void
keep_different (GArray *rows)
{
  for (guint i = rows->len; i > 0; i--)
    if (is_same (&g_array_index (rows, GememDiffRow, i - 1)))
      g_array_remove_index (rows, i - 1);
  g_array_sort (rows, compare_rows);
}

/* ---- which holders belong together */

static void
add_row (GArray *rows, const GememHolder *first, const GememHolder *second)
{
  GememDiffRow row = { 0 };

  if (first != NULL && second != NULL && strcmp (first->name, second->name) != 0)
    row.name = g_strdup_printf ("%s (was %s)", second->name, first->name);
  else
    row.name = g_strdup (second != NULL ? second->name : first->name);
  for (guint s = 0; s < 2; s++)
    {
      const GememHolder *holder = s == 0 ? first : second;

      row.bytes[s] = holder != NULL ? holder->bytes : 0;
      row.blocks[s] = holder != NULL ? holder->blocks : 0;
    }
  g_array_append_val (rows, row);
}

/* The holders of one function on both sides. */
typedef struct
{
  GPtrArray *sides[2]; /* GememHolder */
} Group;

static void
group_free (gpointer data)
{
  Group *group = data;

  g_ptr_array_unref (group->sides[0]);
  g_ptr_array_unref (group->sides[1]);
  g_free (group);
}

/* By line: names of one group differ in folders and numbers alone. */
static int
compare_holders (gconstpointer a, gconstpointer b)
{
  const char *x = (*(const GememHolder *const *) a)->name,
             *y = (*(const GememHolder *const *) b)->name;
  const gsize m = strlen (x), n = strlen (y);

  return m != n ? (m > n) - (m < n) : strcmp (x, y);
}

static const GememHolder *
holder_at (const Group *group, guint side, guint index)
{
  return group->sides[side]->pdata[index];
}

static gboolean
has_same_names (const Group *group)
{
  if (group->sides[0]->len != group->sides[1]->len)
    return FALSE;
  for (guint i = 0; i < group->sides[0]->len; i++)
    if (strcmp (holder_at (group, 0, i)->name, holder_at (group, 1, i)->name) != 0)
      return FALSE;
  return TRUE;
}

/* ---- lines */

GRegex *
gemem_diff_line_pattern (void)
{
  return g_regex_new ("(?:[^ ,]*/)?([^/ ,:]+):[0-9]+", 0, 0, NULL);
}

char *
gemem_diff_line_key (const GRegex *pattern, const char *line)
{
  return g_regex_replace (pattern, line, -1, 0, "\\1", 0, NULL);
}

/* ---- alignment */

#define MOST_PAIRS 4000000u /* 32 MB */

/* The least memory that changes if holders from @i and @j on are paired in their order; @costs of all later ones are
 * known.  A holder without a partner changes by all that it holds. */
static guint64
cost_at (const Group *group, const guint64 *costs, guint i, guint j)
{
  const guint m = group->sides[0]->len, n = group->sides[1]->len;
  const guint64 a = i < m ? holder_at (group, 0, i)->bytes : 0,
                b = j < n ? holder_at (group, 1, j)->bytes : 0;
  guint64 least = G_MAXUINT64;

  if (i == m && j == n)
    return 0;
  if (i < m && j < n)
    least = costs[(i + 1) * (n + 1) + j + 1] + (a > b ? a - b : b - a);
  if (i < m)
    least = MIN (least, costs[(i + 1) * (n + 1) + j] + a);
  if (j < n)
    least = MIN (least, costs[i * (n + 1) + j + 1] + b);
  return least;
}

/* Adds the rows of @group with the cheapest pairs in order, of equally cheap ones those with most pairs. */
static void
align (GArray *rows, const Group *group)
{
  const guint m = group->sides[0]->len, n = group->sides[1]->len;
  g_autofree guint64 *costs = g_new (guint64, (gsize) (m + 1) * (n + 1));

  for (guint i = m + 1; i-- > 0;)
    for (guint j = n + 1; j-- > 0;)
      costs[i * (n + 1) + j] = cost_at (group, costs, i, j);
  for (guint i = 0, j = 0; i < m || j < n;)
    {
      const GememHolder *a = i < m ? holder_at (group, 0, i) : NULL,
                        *b = j < n ? holder_at (group, 1, j) : NULL;
      const guint64 here = costs[i * (n + 1) + j];

      if (a != NULL && b != NULL
          && here
                 == costs[(i + 1) * (n + 1) + j + 1]
                        + (a->bytes > b->bytes ? a->bytes - b->bytes : b->bytes - a->bytes))
        add_row (rows, a, b), i++, j++;
      else if (a != NULL && here == costs[(i + 1) * (n + 1) + j] + a->bytes)
        add_row (rows, a, NULL), i++;
      else
        add_row (rows, NULL, b), j++;
    }
}

/* Adds the rows of @group, each side by itself: there are too many for more. */
static void
add_apart (GArray *rows, const Group *group)
{
  for (guint s = 0; s < 2; s++)
    for (guint i = 0; i < group->sides[s]->len; i++)
      add_row (rows, s == 0 ? holder_at (group, 0, i) : NULL,
               s == 0 ? NULL : holder_at (group, 1, i));
}

static void
add_group (GArray *rows, Group *group)
{
  for (guint s = 0; s < 2; s++)
    g_ptr_array_sort (group->sides[s], compare_holders);
  if (has_same_names (group))
    for (guint i = 0; i < group->sides[0]->len; i++)
      add_row (rows, holder_at (group, 0, i), holder_at (group, 1, i));
  else if ((guint64) (group->sides[0]->len + 1) * (group->sides[1]->len + 1) <= MOST_PAIRS)
    align (rows, group);
  else
    add_apart (rows, group);
}

/* ---- holders */

/* Adds @holder of side @s to its group.  @groups, of Group in the order of their making; @places: key -> number + 1. */
static void
add_holder (GPtrArray *groups, GHashTable *places, char *key, guint s, GememHolder *holder)
{
  guint place = GPOINTER_TO_UINT (g_hash_table_lookup (places, key));

  if (place == 0)
    {
      Group *group = g_new0 (Group, 1);

      group->sides[0] = g_ptr_array_new ();
      group->sides[1] = g_ptr_array_new ();
      g_ptr_array_add (groups, group);
      place = groups->len;
      g_hash_table_insert (places, g_strdup (key), GUINT_TO_POINTER (place));
    }
  g_ptr_array_add (((Group *) groups->pdata[place - 1])->sides[s], holder);
}

void
gemem_diff_match (GArray *rows, const GPtrArray *first, const GPtrArray *second, gboolean lines)
{
  g_autoptr (GRegex) pattern = gemem_diff_line_pattern ();
  g_autoptr (GPtrArray) groups = g_ptr_array_new_with_free_func (group_free);
  g_autoptr (GHashTable) places = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  const GPtrArray *const sides[2] = { first, second };

  for (guint s = 0; s < 2; s++)
    for (guint i = 0; sides[s] != NULL && i < sides[s]->len; i++)
      {
        GememHolder *holder = sides[s]->pdata[i];
        g_autofree char *key = lines ? gemem_diff_line_key (pattern, holder->name)
                                     : g_strdup (holder->name);
        add_holder (groups, places, key, s, holder);
      }
  for (guint i = 0; i < groups->len; i++)
    add_group (rows, groups->pdata[i]);
  keep_different (rows);
}

void
gemem_diff_compare_holders (GememDiff *diff)
{
  const GememDeviceHolders *first = gemem_holders_of (diff->sides[0].holders,
                                                      diff->sides[0].result->device_ordinal),
                           *second = gemem_holders_of (diff->sides[1].holders,
                                                       diff->sides[1].result->device_ordinal);

  gemem_diff_match (diff->rows, first != NULL ? first->holders : NULL,
                    second != NULL ? second->holders : NULL,
                    diff->by == GEMEM_HOLD_BY_LINE || diff->by == GEMEM_HOLD_BY_STACK);
}

void
gemem_diff_match_classes (GArray *rows, const GPtrArray *first, const GPtrArray *second)
{
  const GPtrArray *const sides[2] = { first, second };
  GememDiffRow classes[65] = { { 0 } }; /* by the power of two that is their limit */

  for (guint s = 0; s < 2; s++)
    for (guint i = 0; sides[s] != NULL && i < sides[s]->len; i++)
      {
        const GememHolder *holder = sides[s]->pdata[i];
        const guint64 size = holder->blocks > 0 ? holder->bytes / holder->blocks : 0;
        GememDiffRow *row = &classes[size > 1 ? 64 - __builtin_clzll (size - 1) : 0];

        row->bytes[s] += holder->bytes;
        row->blocks[s] += holder->blocks;
      }
  for (guint i = 0; i < G_N_ELEMENTS (classes); i++)
    {
      char limit[GEMEM_FORMAT_MAX] = "16 EiB", lower[GEMEM_FORMAT_MAX];

      if (i < 64)
        gemem_format_size (limit, G_GUINT64_CONSTANT (1) << i);
      classes[i].name = i > 0 ? g_strdup_printf (
                            "%s to %s",
                            gemem_format_size (lower, G_GUINT64_CONSTANT (1) << (i - 1)), limit)
                              : g_strdup (limit);
      g_array_append_val (rows, classes[i]);
    }
  keep_different (rows);
}

void
gemem_diff_match_idle (GArray *rows, const guint64 *first, const guint64 *second)
{
  for (guint cause = 0; cause < GEMEM_IDLE_CAUSES; cause++)
    {
      const GememDiffRow row = { .name = g_strdup (gemem_json_causes[cause]),
                                 .bytes = { first[cause], second[cause] } };
      g_array_append_val (rows, row);
    }
  keep_different (rows);
}

void
gemem_diff_compare_idle (GememDiff *diff)
{
  guint64 bytes[2][GEMEM_IDLE_CAUSES] = { { 0 } };

  for (guint s = 0; s < 2; s++)
    {
      const GArray *rows = diff->sides[s].result->idle;

      for (guint i = 0; i < rows->len; i++)
        {
          const GememIdleRow *row = &g_array_index (rows, GememIdleRow, i);
          bytes[s][row->cause] += row->bytes;
        }
    }
  gemem_diff_match_idle (diff->idle, bytes[0], bytes[1]);
}
