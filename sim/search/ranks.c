/* ranks.c - see ranks.h. */
#include "config.h"

#include "base/io/json-text.h"
#include "base/text.h"
#include "base/units.h"
#include "sim/search/ranks.h"

/* ---- what each needs */

static gboolean
find_holders (GememRanks *ranks, GememNeed *needs, GError **error)
{
  GememHoldersOptions at_peak = { .by = GEMEM_HOLD_BY_LINE };

  ranks->lines = TRUE;
  for (guint i = 0; i < ranks->n; i++)
    ranks->lines = ranks->lines && gemem_held_info (needs[i].held)->stacks != NULL;
  at_peak.by = ranks->lines ? GEMEM_HOLD_BY_LINE : GEMEM_HOLD_BY_SIZE;
  for (guint i = 0; i < ranks->n; i++)
    {
      ranks->ranks[i].holders = gemem_holders_new (gemem_held_open, needs[i].held, &at_peak, error);
      if (ranks->ranks[i].holders == NULL)
        return FALSE;
    }
  return TRUE;
}

static const GPtrArray *
holders_of (const GememRank *rank)
{
  const GememDeviceHolders *device = gemem_holders_of (rank->holders, rank->result->device_ordinal);
  return device != NULL ? device->holders : NULL;
}

static void
compare (GememRanks *ranks)
{
  for (guint i = 1; i < ranks->n; i++)
    if (gemem_result_is_worse (ranks->ranks[i].result, ranks->ranks[ranks->deciding].result))
      ranks->deciding = i;
  for (guint i = 0; i < ranks->n; i++)
    gemem_diff_match (ranks->ranks[i].rows, holders_of (&ranks->ranks[ranks->deciding]),
                      holders_of (&ranks->ranks[i]), ranks->lines);
}

GememRanks *
gemem_ranks (GememNeed *needs, guint n, const GememNeedOptions *options, GError **error)
{
  g_autoptr (GememRanks) ranks = g_new0 (GememRanks, 1);
  gboolean ok = gemem_needs_find (needs, n, options, error);

  ranks->n = n;
  ranks->ranks = g_new0 (GememRank, n);
  for (guint i = 0; i < n; i++)
    {
      ranks->ranks[i].name = needs[i].name;
      ranks->ranks[i].rows = gemem_diff_rows_new ();
      ranks->ranks[i].result = g_steal_pointer (&needs[i].result);
      gemem_need_clear (&needs[i]);
    }
  if (!ok || !find_holders (ranks, needs, error))
    return NULL;
  compare (ranks);
  return g_steal_pointer (&ranks);
}

void
gemem_ranks_free (GememRanks *ranks)
{
  if (ranks == NULL)
    return;
  for (guint i = 0; i < ranks->n; i++)
    {
      gemem_result_free (ranks->ranks[i].result);
      gemem_holders_free (ranks->ranks[i].holders);
      g_array_unref (ranks->ranks[i].rows);
    }
  g_free (ranks->ranks);
  g_free (ranks);
}

/* ---- for a person */

static void
append_rank (GString *out, const GememRanks *ranks, guint i)
{
  const GememRank *rank = &ranks->ranks[i], *deciding = &ranks->ranks[ranks->deciding];
  g_autofree char *name = g_path_get_basename (rank->name), *cut = gemem_text_cut (name, 28);
  const guint64 most = deciding->result->peak_reserved;
  g_autoptr (GString) line = g_string_new (NULL);
  char reserved[GEMEM_FORMAT_MAX], live[GEMEM_FORMAT_MAX], change[GEMEM_FORMAT_MAX + 1] = "";

  if (rank->result->peak_reserved != most)
    gemem_format_change (change, most, rank->result->peak_reserved);
  g_string_append_printf (line, "  %-28s%10s%11s%12s  ", cut,
                          gemem_format_size (reserved, rank->result->peak_reserved),
                          gemem_format_size (live, rank->result->peak_live), change);
  if (i == ranks->deciding)
    g_string_append (line, "decides");
  else if (rank->result->ooms > 0)
    g_string_append (line, "fails, too");
  else if (rank->rows->len > 0)
    {
      const GememDiffRow *row = &g_array_index (rank->rows, GememDiffRow, 0);

      g_string_append_printf (
          line, "%s %s", gemem_format_change (change, row->bytes[0], row->bytes[1]), row->name);
    }
  gemem_text_append_cut (out, g_strchomp (line->str));
}

static guint
count_alike (const GememRanks *ranks)
{
  const GememResult *deciding = ranks->ranks[ranks->deciding].result;
  guint alike = 0;

  for (guint i = 0; i < ranks->n; i++)
    alike += ranks->ranks[i].result->peak_reserved == deciding->peak_reserved
             && ranks->ranks[i].rows->len == 0;
  return alike;
}

static char *
sentence_of (const GememRanks *ranks)
{
  const GememRank *rank = &ranks->ranks[ranks->deciding];
  const GememOom *oom = gemem_result_first_oom (rank->result);
  g_autofree char *name = g_path_get_basename (rank->name);
  const guint alike = count_alike (ranks);
  g_autoptr (GString) out = g_string_new (NULL);
  char size[GEMEM_FORMAT_MAX];

  if (alike == ranks->n)
    g_string_append_printf (out, "All %u hold at most %s, in the same lines", ranks->n,
                            gemem_format_size (size, rank->result->peak_reserved));
  else if (oom == NULL)
    g_string_append_printf (out, "Of %u, %s decides: it holds at most %s", ranks->n, name,
                            gemem_format_size (size, rank->result->peak_reserved));
  else
    {
      g_string_append_printf (out,
                              "Of %u, %s decides: a request of %s fails, event %" G_GUINT64_FORMAT,
                              ranks->n, name, gemem_format_size (size, oom->requested), oom->seq);
      gemem_origin_append_by (out, oom->origin.by);
    }
  g_string_append_c (out, '.');
  return g_strdup (out->str);
}

void
gemem_ranks_append (GString *out, const GememRanks *ranks)
{
  g_autofree char *sentence = sentence_of (ranks);

  gemem_text_wrap (out, sentence, "  ");
  g_string_append_printf (out, "\n  %-28s%10s%11s%12s  %s\n", "", "reserved", "in use", "off it",
                          ranks->lines ? "most by line" : "most by size");
  for (guint i = 0; i < ranks->n; i++)
    append_rank (out, ranks, i);
}

/* ---- for programs */

void
gemem_ranks_append_json (GString *out, const GememRanks *ranks)
{
  g_autofree char *sentence = sentence_of (ranks);

  g_string_append (out, "{\"schema\": \"gemem-ranks\", \"version\": 1");
  gemem_json_append_text_member (out, "sentence", sentence);
  gemem_json_append_text_member (out, "deciding", ranks->ranks[ranks->deciding].name);
  gemem_json_append_bool_member (out, "by_line", ranks->lines);
  gemem_json_append_name (out, "ranks");
  g_string_append_c (out, '[');
  for (guint i = 0; i < ranks->n; i++)
    {
      const GememRank *rank = &ranks->ranks[i];

      g_string_append (out, i == 0 ? "\n    {" : ",\n    {");
      gemem_json_append_text_member (out, "trace", rank->name);
      gemem_json_append_number_member (out, "peak_reserved", rank->result->peak_reserved);
      gemem_json_append_number_member (out, "peak_in_use", rank->result->peak_live);
      gemem_json_append_number_member (out, "failed", rank->result->ooms);
      gemem_diff_append_rows_json (out, "in_use", rank->rows);
      g_string_append_c (out, '}');
    }
  g_string_append (out, "]}\n");
}
