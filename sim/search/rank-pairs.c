/* rank-pairs.c - see rank-pairs.h. */
#include "config.h"

#include "base/io/child.h"
#include "base/io/json-text.h"
#include "base/text.h"
#include "base/units.h"
#include "sim/search/rank-pairs.h"

#define SHOWN 16 /* ranks for a person */

static void
pair_clear (gpointer data)
{
  gemem_diff_free (((GememRankPair *) data)->diff);
}

GememRankPairs *
gemem_rank_pairs_new (const char *first, const char *second)
{
  GememRankPairs *pairs = g_new0 (GememRankPairs, 1);

  pairs->names[0] = g_strdup (first);
  pairs->names[1] = g_strdup (second);
  pairs->pairs = g_array_new (FALSE, FALSE, sizeof (GememRankPair));
  g_array_set_clear_func (pairs->pairs, pair_clear);
  return pairs;
}

void
gemem_rank_pairs_add (GememRankPairs *pairs, guint64 rank, GememDiff *diff, guint only)
{
  const GememRankPair pair = { rank, diff, only };

  g_array_append_val (pairs->pairs, pair);
}

void
gemem_rank_pairs_free (GememRankPairs *pairs)
{
  if (pairs == NULL)
    return;
  g_free (pairs->names[0]);
  g_free (pairs->names[1]);
  g_array_unref (pairs->pairs);
  g_free (pairs);
}

/* ---- which ranks matter */

static const GememRankPair *
pair_at (const GememRankPairs *pairs, guint i)
{
  return &g_array_index (pairs->pairs, GememRankPair, i);
}

/* The rank of run @s that decides: the first that fails, else that which holds most; NULL: no rank is in both. */
static const GememRankPair *
deciding (const GememRankPairs *pairs, guint s)
{
  const GememRankPair *worst = NULL;

  for (guint i = 0; i < pairs->pairs->len; i++)
    {
      const GememRankPair *pair = pair_at (pairs, i);

      if (pair->diff != NULL
          && (worst == NULL
              || gemem_result_is_worse (pair->diff->sides[s].result, worst->diff->sides[s].result)))
        worst = pair;
    }
  return worst;
}

static guint64
change_of (const GememRankPair *pair)
{
  const guint64 a = pair->diff->sides[0].result->peak_reserved,
                b = pair->diff->sides[1].result->peak_reserved;

  return MAX (a, b) - MIN (a, b);
}

/* The rank whose amount changed most, of equal ones the first that differs at all; NULL: none does. */
static const GememRankPair *
most_changed (const GememRankPairs *pairs)
{
  const GememRankPair *most = NULL;

  for (guint i = 0; i < pairs->pairs->len; i++)
    {
      const GememRankPair *pair = pair_at (pairs, i);

      if (pair->diff != NULL && !gemem_diff_is_empty (pair->diff)
          && (most == NULL || change_of (pair) > change_of (most)))
        most = pair;
    }
  return most;
}

static guint
count_same (const GememRankPairs *pairs)
{
  guint n = 0;

  for (guint i = 0; i < pairs->pairs->len; i++)
    n += pair_at (pairs, i)->diff != NULL && gemem_diff_is_empty (pair_at (pairs, i)->diff);
  return n;
}

/* ---- for a person */

/* "rank 3, 1.200 GiB", "rank 3, which fails" */
static void
append_deciding (GString *out, const GememRankPair *pair, guint s)
{
  const GememResult *result = pair->diff->sides[s].result;
  char size[GEMEM_FORMAT_MAX];

  g_string_append_printf (out, "rank %" G_GUINT64_FORMAT ", %s", pair->rank,
                          result->ooms > 0 ? "which runs out of memory"
                                           : gemem_format_size (size, result->peak_reserved));
}

static char *
sentence_of (const GememRankPairs *pairs)
{
  const GememRankPair *first = deciding (pairs, 0), *second = deciding (pairs, 1);
  GString *out = g_string_new (NULL);

  if (first == NULL)
    g_string_append (out, "No rank is in both.");
  else if (count_same (pairs) == pairs->pairs->len && pairs->pairs->len == 1)
    g_string_append (out, "Nothing differs in the only rank.");
  else if (count_same (pairs) == pairs->pairs->len)
    g_string_append_printf (out, "Nothing differs in any of %u ranks.", pairs->pairs->len);
  else
    {
      g_string_append (out, "What decides is now ");
      append_deciding (out, second, 1);
      g_string_append (out, "; before ");
      append_deciding (out, first, 0);
      g_string_append_c (out, '.');
    }
  return g_string_free (out, FALSE);
}

static void
append_pair (GString *out, const GememRankPair *pair)
{
  const GememResult *a = pair->diff->sides[0].result, *b = pair->diff->sides[1].result;
  g_autoptr (GString) line = g_string_new (NULL);
  char x[GEMEM_FORMAT_MAX], y[GEMEM_FORMAT_MAX], change[GEMEM_FORMAT_MAX + 1] = "";

  if (a->peak_reserved != b->peak_reserved)
    gemem_format_change (change, a->peak_reserved, b->peak_reserved);
  g_string_append_printf (line, "  rank %-6" G_GUINT64_FORMAT "%11s%11s%13s  ", pair->rank,
                          a->ooms > 0 ? "fails" : gemem_format_size (x, a->peak_reserved),
                          b->ooms > 0 ? "fails" : gemem_format_size (y, b->peak_reserved), change);
  if (pair->diff->rows->len > 0)
    {
      const GememDiffRow *row = &g_array_index (pair->diff->rows, GememDiffRow, 0);

      g_string_append_printf (
          line, "%s %s", gemem_format_change (change, row->bytes[0], row->bytes[1]), row->name);
    }
  gemem_text_append_cut (out, g_strchomp (line->str));
}

/* "rank 4 is in the second run only" */
static void
append_alone (GString *out, const GememRankPairs *pairs)
{
  for (guint s = 0; s < 2; s++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      guint n = 0;

      for (guint i = 0; i < pairs->pairs->len; i++)
        if (pair_at (pairs, i)->diff == NULL && pair_at (pairs, i)->only == s && n++ < SHOWN)
          g_string_append_printf (text, "%s%" G_GUINT64_FORMAT, n > 1 ? ", " : "",
                                  pair_at (pairs, i)->rank);
      if (n == 0)
        continue;
      g_string_prepend (text, n == 1 ? "Without a partner: rank " : "Without a partner: ranks ");
      if (n > SHOWN)
        g_string_append_printf (text, " and %u more", n - SHOWN);
      g_string_append_printf (text, " of %s.", pairs->names[s]);
      gemem_text_wrap (out, text->str, "  ");
    }
}

void
gemem_rank_pairs_append (GString *out, const GememRankPairs *pairs)
{
  g_autofree char *sentence = sentence_of (pairs),
                  *head = g_strdup_printf ("%s -> %s, %u rank%s", pairs->names[0], pairs->names[1],
                                           pairs->pairs->len, gemem_plural (pairs->pairs->len));
  const GememRankPair *most = most_changed (pairs);
  const guint same = count_same (pairs);
  guint shown = 0;

  gemem_text_wrap (out, head, "  ");
  gemem_text_wrap (out, sentence, "  ");
  append_alone (out, pairs);
  if (most == NULL)
    return;
  g_autofree char *first = gemem_shell_word (most->diff->sides[0].name),
                  *second = gemem_shell_word (most->diff->sides[1].name);
  g_string_append_printf (out, "\n  %-11s%11s%11s%13s  %s\n", "", "first", "second", "change",
                          "most in use at the peak");
  for (guint i = 0; i < pairs->pairs->len; i++)
    {
      const GememRankPair *pair = pair_at (pairs, i);

      if (pair->diff != NULL && !gemem_diff_is_empty (pair->diff) && shown++ < SHOWN)
        append_pair (out, pair);
    }
  if (shown > SHOWN)
    g_string_append_printf (out, "  and %u more rank%s that differ%s: -f json\n", shown - SHOWN,
                            gemem_plural (shown - SHOWN), shown - SHOWN == 1 ? "s" : "");
  if (same > 0)
    g_string_append_printf (out, "  nothing differs in %u rank%s\n", same, gemem_plural (same));
  g_string_append_printf (out, "\nOf rank %" G_GUINT64_FORMAT ", the first difference:\n",
                          most->rank);
  gemem_diff_append_first (out, most->diff);
  g_string_append_printf (out, "All of it: gemem-sim diff %s %s\n", first, second);
}

/* ---- for programs */

void
gemem_rank_pairs_append_json (GString *out, const GememRankPairs *pairs)
{
  g_autofree char *sentence = sentence_of (pairs);
  gboolean any = FALSE;

  g_string_append (out, "{\"schema\": \"gemem-diff-ranks\", \"version\": 1");
  gemem_json_append_text_member (out, "sentence", sentence);
  gemem_json_append_text_member (out, "first", pairs->names[0]);
  gemem_json_append_text_member (out, "second", pairs->names[1]);
  for (guint s = 0; s < 2; s++)
    {
      gemem_json_append_name (out, s == 0 ? "first_only" : "second_only");
      g_string_append_c (out, '[');
      any = FALSE;
      for (guint i = 0; i < pairs->pairs->len; i++)
        if (pair_at (pairs, i)->diff == NULL && pair_at (pairs, i)->only == s)
          {
            g_string_append_printf (out, "%s%" G_GUINT64_FORMAT, any ? ", " : "",
                                    pair_at (pairs, i)->rank);
            any = TRUE;
          }
      g_string_append_c (out, ']');
    }
  gemem_json_append_name (out, "ranks");
  g_string_append_c (out, '[');
  any = FALSE;
  for (guint i = 0; i < pairs->pairs->len; i++)
    if (pair_at (pairs, i)->diff != NULL)
      {
        g_string_append_printf (out,
                                "%s\n{\"rank\": %" G_GUINT64_FORMAT ", \"diff\": ", any ? "," : "",
                                pair_at (pairs, i)->rank);
        gemem_diff_append_json (out, pair_at (pairs, i)->diff);
        g_string_append_c (out, '}');
        any = TRUE;
      }
  g_string_append (out, "]}\n");
}
