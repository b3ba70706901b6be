/* tune-screen.c - a search for people and for programs: the best first, as a line to paste; what was tried;
 * how sure it is.
 *
 * Invariants: no figure is computed here but differences; a saving below 1 % is not told as one.
 */
#include "config.h"

#include <string.h>

#include "base/io/json-text.h"
#include "base/text.h"
#include "base/units.h"
#include "sim/report/rows.h"
#include "sim/search/recorder.h"
#include "sim/search/tune.h"

#define FRONT 6 /* rows of a front on the screen */

static const GememTuneRow *
row_at (const GememTune *tune, guint i)
{
  return &g_array_index (tune->rows, GememTuneRow, i);
}

/* ---- pieces */

/* "3.602 GiB", "61 device calls", "3.250 us of modelled time"; g_free(). */
static char *
value_text (GememTuneObjective by, guint64 value)
{
  char text[GEMEM_FORMAT_MAX];

  switch (by)
    {
    case GEMEM_TUNE_CALLS:
      return g_strdup_printf ("%" G_GUINT64_FORMAT " device calls", value);
    case GEMEM_TUNE_TIME:
      return g_strconcat (gemem_format_time (text, value), " of modelled time", NULL);
    case GEMEM_TUNE_NEEDS:
    case GEMEM_TUNE_CAPACITY:
    case GEMEM_TUNE_OBJECTIVES:
    default:
      return g_strdup (gemem_format_size (text, value));
    }
}

static const char *
verb_of (GememTuneObjective by)
{
  return by == GEMEM_TUNE_NEEDS ? "needs" : by == GEMEM_TUNE_CAPACITY ? "fits in" : "takes";
}

static gboolean
is_of_bytes (GememTuneObjective by)
{
  return by == GEMEM_TUNE_NEEDS || by == GEMEM_TUNE_CAPACITY;
}

/* "key=value,key=value", "as now", or "NAME" of another allocator with these; g_free(). */
static char *
setting_text (const GememTune *tune, guint i)
{
  g_autoptr (GPtrArray) own = gemem_tune_changes (tune, i);
  const GememAllocatorSpec *spec = row_at (tune, i)->spec;
  const gboolean other = spec != NULL
                         && g_strcmp0 (spec->klass->name,
                                       tune->question->traces[0].result->allocator)
                                != 0;
  GString *text = g_string_new (other ? spec->klass->name : NULL);

  for (guint s = 0; s < own->len; s++)
    {
      const GememSetting *setting = own->pdata[s];
      g_autofree char *quoted = gemem_settings_quote (setting->value);
      g_string_append_printf (text, "%s%s=%s",
                              s > 0   ? ","
                              : other ? ":"
                                      : "",
                              setting->key, quoted);
    }
  if (text->len == 0)
    g_string_append (text, "as now");
  return g_string_free (text, FALSE);
}

/* " (33.1 % less)" */
static void
append_share (GString *out, guint64 now, guint64 then)
{
  char share[G_ASCII_DTOSTR_BUF_SIZE];
  const guint64 difference = now > then ? now - then : then - now;

  if (now == 0 || now == then)
    return;
  g_string_append_printf (
      out, " (%s %% %s)",
      g_ascii_formatd (share, sizeof share, "%.1f", 100 * (double) difference / (double) now),
      then < now ? "less" : "more");
}

static gboolean
serves_all (const GememTuneRow *row)
{
  return row->end == GEMEM_TUNE_REPLAYED || row->end == GEMEM_TUNE_EQUAL;
}

/* ---- the answer */

/* Whether a recorded program was refused memory: what it would have done next is not known. */
static gboolean
is_cut_short (const GememTune *tune)
{
  for (guint t = 0; t < tune->question->n_traces; t++)
    if (gemem_held_refused (tune->question->traces[t].held) > 0)
      return TRUE;
  return FALSE;
}

/* "It needs 3.602 GiB instead of 5.381 GiB (33.1 % less) with:" */
static void
append_gain (GString *out, const GememTune *tune)
{
  const GememTuneObjective by = tune->question->objectives[0];
  const GememTuneRow *now = row_at (tune, 0), *best = row_at (tune, tune->best);
  g_autofree char *then = value_text (by, best->values[by]);
  g_autofree char *before = by == GEMEM_TUNE_CALLS
                                ? g_strdup_printf ("%" G_GUINT64_FORMAT, now->values[by])
                                : value_text (by, now->values[by]);

  g_string_append_printf (out, "%s %s %s", is_cut_short (tune) ? "As far as recorded, it" : "It",
                          verb_of (by), then);
  if (serves_all (now))
    {
      g_string_append_printf (out, " instead of %s", before);
      append_share (out, now->values[by], best->values[by]);
    }
  else
    g_string_append (out, ", where now a request fails,");
  g_string_append (out, " with:\n");
}

/* That the oldest version which the program may have refuses the line. */
static void
append_refusal (GString *out, const GememTune *tune)
{
  const GememNeed *first = &tune->question->traces[0];
  g_autofree char *versions = first->assumed
                                  ? NULL
                                  : gemem_recorder_versions (gemem_held_info (first->held));

  if (tune->pasted != NULL && gemem_recorder_refuses (versions, tune->pasted))
    g_string_append_printf (out, "  version %.*s refuses it, and the program has %s\n",
                            (int) strcspn (versions, " "), versions, versions);
}

static void
append_line (GString *out, const GememTune *tune)
{
  const GememTuneRow *best = row_at (tune, tune->best), *now = row_at (tune, 0);
  g_autofree char *setting = setting_text (tune, tune->best);

  if (tune->line != NULL)
    g_string_append_printf (out, "  %s\n", tune->line);
  else
    g_string_append_printf (out, "  %s (as gemem writes it; no line to paste is known for it)\n",
                            setting);
  if (serves_all (now) && is_of_bytes (tune->question->objectives[0]))
    g_string_append_printf (
        out, "  %" G_GUINT64_FORMAT " device calls instead of %" G_GUINT64_FORMAT "\n",
        best->values[GEMEM_TUNE_CALLS], now->values[GEMEM_TUNE_CALLS]);
  append_refusal (out, tune);
}

/* Of several recordings: the one that decides, and the one that loses most. */
static void
append_traces (GString *out, const GememTune *tune)
{
  const GememTuneRow *best = row_at (tune, tune->best), *now = row_at (tune, 0);
  const guint n = tune->question->n_traces;
  const GememTuneObjective by = tune->question->objectives[0];
  guint worst = 0, loser = G_MAXUINT;
  guint64 loss = 0;

  for (guint t = 0; t < n; t++)
    {
      const guint64 a = now->cells[t].values[by], b = best->cells[t].values[by];

      if (b > best->cells[worst].values[by])
        worst = t;
      if (b > a && b - a > loss)
        {
          loss = b - a;
          loser = t;
        }
    }
  for (guint k = 0; k < 2 && n > 1; k++)
    {
      const guint t = k == 0 ? worst : loser;
      g_autoptr (GString) text = g_string_new (NULL);
      g_autofree char *name = NULL, *then = NULL;

      if (t == G_MAXUINT || (k == 1 && t == worst))
        continue;
      name = g_path_get_basename (tune->question->traces[t].name);
      then = value_text (by, best->cells[t].values[by]);
      g_string_append_printf (text, "  %s: %s, %s", k == 0 ? "decides" : "loses most", name, then);
      append_share (text, now->cells[t].values[by], best->cells[t].values[by]);
      gemem_text_append_cut (out, text->str);
    }
}

/* Whether a request of any recording fails as it is now. */
static gboolean
fails_now (const GememTune *tune)
{
  for (guint t = 0; t < tune->question->n_traces; t++)
    if (tune->question->traces[t].result->ooms > 0)
      return TRUE;
  return FALSE;
}

/* Nothing serves every request. */
static void
append_none (GString *out, const GememTune *tune)
{
  char size[GEMEM_FORMAT_MAX];

  if (tune->counts[GEMEM_TUNE_UNTRIED] > 0 || !fails_now (tune))
    {
      g_string_append (out, "Which of these settings is the best cannot be told.\n");
      return;
    }
  g_string_append_printf (out,
                          "It does not fit: with each of these settings a request fails in %s.\n",
                          gemem_format_size (size, tune->question->traces[0].result->capacity));
  if (tune->reached == 0)
    return;
  g_string_append_printf (
      out, "The least device%s on which %s fits: %s, %s%s\n", tune->least ? "" : " found so far",
      is_cut_short (tune) ? "all that was recorded" : "one of them",
      gemem_format_size (size, tune->reached), tune->line != NULL ? "with:\n  " : "as it is now.",
      tune->line != NULL ? tune->line : "");
}

static void
append_best (GString *out, const GememTune *tune)
{
  const GememTuneObjective by = tune->question->objectives[0];
  const GememTuneRow *now = row_at (tune, 0);
  g_autofree char *before = value_text (by, now->values[by]);

  if (gemem_tune_helps (tune))
    {
      append_gain (out, tune);
      append_line (out, tune);
      append_traces (out, tune);
    }
  else if (tune->best == G_MAXUINT)
    append_none (out, tune);
  else
    {
      g_string_append_printf (
          out, "%s no setting %s 1 %% less than the %s now.\n",
          tune->counts[GEMEM_TUNE_UNTRIED] > 0 ? "So far" : "As it is:", verb_of (by), before);
      append_traces (out, tune);
    }
}

static void
append_front (GString *out, const GememTune *tune)
{
  const GememTuneObjective *by = tune->question->objectives;

  g_string_append_printf (out, "Best of both, %u setting%s:\n", tune->front->len,
                          gemem_plural (tune->front->len));
  for (guint k = 0; k < MIN (tune->front->len, FRONT); k++)
    {
      /* the ends always, the rest evenly */
      const guint shown = MIN (tune->front->len, FRONT);
      const guint at = g_array_index (tune->front, guint,
                                      shown > 1 ? k * (tune->front->len - 1) / (shown - 1) : 0);
      const GememTuneRow *row = row_at (tune, at);
      g_autofree char *a = value_text (by[0], row->values[by[0]]);
      g_autofree char *b = value_text (by[1], row->values[by[1]]);
      g_autofree char *setting = setting_text (tune, at);
      g_autofree char *text = g_strdup_printf ("  %18s  %18s  %s", a, b, setting);

      gemem_text_append_cut (out, text);
    }
}

/* ---- what was tried, and how sure it is */

static void
append_tried (GString *out, const GememTune *tune)
{
  static const char *const names[] = { "replayed to the end",      "proven equal to one of these",
                                       "stopped above the best",   "fail",
                                       "refused by the allocator", "not tried" };
  const gboolean bounded = tune->question->n_objectives == 1
                           && tune->question->objectives[0] == GEMEM_TUNE_CAPACITY;
  const GememResult *now = tune->question->traces[0].result;
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean first = TRUE;

  g_string_append_printf (
      text, "Tried: %u setting%s of %s: ", tune->rows->len - 1, gemem_plural (tune->rows->len - 1),
      tune->question->specs->len > 0
          ? ((const GememAllocatorSpec *) tune->question->specs->pdata[0])->klass->name
          : now->allocator);
  for (guint end = 0; end < GEMEM_TUNE_ENDS; end++)
    if (tune->counts[end] > 0)
      {
        g_string_append_printf (text, "%s%u %s", first ? "" : ", ", tune->counts[end],
                                bounded && end == GEMEM_TUNE_REPLAYED ? "searched to the byte"
                                : bounded && end == GEMEM_TUNE_ABOVE  ? "fail in less than the best"
                                                                      : names[end]);
        first = FALSE;
      }
  g_string_append_printf (text, "; %u replays in all.", tune->replays);
  gemem_text_wrap (out, text->str, "  ");
}

/* The first recording that does not tell what its program needs, and why; g_free(). */
static char *
doubt_of (const GememTune *tune)
{
  const GememTuneQuestion *question = tune->question;

  for (guint t = 0; t < question->n_traces; t++)
    {
      const GememNeed *trace = &question->traces[t];
      g_autofree char *doubt = gemem_need_doubt (trace->result, trace->held, NULL);

      if (doubt != NULL)
        return g_strdup_printf ("%s: %s", trace->name, doubt);
    }
  return NULL;
}

static void
append_certainty (GString *out, const GememTune *tune)
{
  g_autofree char *doubt = doubt_of (tune);
  g_autoptr (GString) text = g_string_new (NULL);

  if (tune->counts[GEMEM_TUNE_UNTRIED] > 0)
    g_string_append (text, "Not sure: interrupted; the best of what was tried is shown.");
  else if (doubt != NULL)
    g_string_append_printf (text, "Not sure: %s.", doubt);
  else
    g_string_append_printf (text, "Sure: all were settled%s%s.",
                            tune->question->n_objectives == 1 && gemem_tune_helps (tune)
                                    && tune->line != NULL
                                ? ", and the line was replayed as it will be read"
                                : "",
                            tune->question->traces[0].assumed
                                ? "; but the recording does not name its allocator: PyTorch's is "
                                  "assumed"
                                : "");
  gemem_text_wrap (out, text->str, "  ");
}

void
gemem_tune_append (GString *out, const GememTune *tune)
{
  if (tune->question->n_objectives == 2 && tune->front->len > 0)
    append_front (out, tune);
  else
    append_best (out, tune);
  append_tried (out, tune);
  append_certainty (out, tune);
}

/* ---- for programs */

/* Only a search for it knows a least capacity, and a bounded replay nothing else. */
static gboolean
is_known (const GememTuneRow *row, guint o)
{
  return o == GEMEM_TUNE_CAPACITY
             ? row->values[o] > 0
             : row->end != GEMEM_TUNE_ABOVE || row->values[GEMEM_TUNE_CAPACITY] == 0;
}

static void
append_row_json (GString *out, const GememTune *tune, guint i)
{
  const GememTuneRow *row = row_at (tune, i);
  g_autofree char *setting = setting_text (tune, i);

  g_string_append_c (out, '{');
  gemem_json_append_number_member (out, "row", i);
  gemem_json_append_text_member (out, "settings", setting);
  gemem_json_append_text_member (out, "settled", gemem_tune_ends[row->end]);
  gemem_json_append_number_member (out, "by", row->by);
  for (guint o = 0; o < GEMEM_TUNE_OBJECTIVES; o++)
    if (is_known (row, o))
      gemem_json_append_number_member (out, gemem_tune_objectives[o], row->values[o]);
  g_string_append_c (out, '}');
}

void
gemem_tune_append_json (GString *out, const GememTune *tune)
{
  g_autofree char *doubt = doubt_of (tune);

  g_string_append (out, "{\"schema\": \"gemem-tune\", \"version\": 1");
  gemem_json_append_text_member (out, "objective",
                                 gemem_tune_objectives[tune->question->objectives[0]]);
  gemem_json_append_bool_member (out, "helps", gemem_tune_helps (tune));
  gemem_json_append_text_member (out, "paste", tune->line);
  gemem_json_append_text_member (out, "doubt", doubt);
  gemem_json_append_number_member (out, "least_device_found", tune->reached);
  for (guint end = 0; end < GEMEM_TUNE_ENDS; end++)
    gemem_json_append_number_member (out, gemem_tune_ends[end], tune->counts[end]);
  gemem_json_append_number_member (out, "replays", tune->replays);
  gemem_json_append_name (out, "now");
  append_row_json (out, tune, 0);
  gemem_json_append_name (out, "best");
  if (tune->best != G_MAXUINT)
    append_row_json (out, tune, tune->best);
  else
    g_string_append (out, "null");
  gemem_json_append_name (out, "front");
  g_string_append_c (out, '[');
  for (guint k = 0; k < tune->front->len; k++)
    {
      g_string_append (out, k == 0 ? "\n    " : ",\n    ");
      append_row_json (out, tune, g_array_index (tune->front, guint, k));
    }
  g_string_append (out, "]}\n");
}

void
gemem_tune_append_csv (GString *out, const GememTune *tune)
{
  g_string_append (out,
                   "row,settings,settled,by,needs,device_calls,modelled_time,least_capacity,why\n");
  for (guint i = 0; i < tune->rows->len; i++)
    {
      const GememTuneRow *row = row_at (tune, i);
      g_autofree char *setting = setting_text (tune, i);

      g_string_append_printf (out, "%u,", i);
      gemem_csv_append_field (out, setting);
      g_string_append_printf (out, ",%s,%u", gemem_tune_ends[row->end], row->by);
      for (guint o = 0; o < GEMEM_TUNE_OBJECTIVES; o++)
        if (is_known (row, o))
          g_string_append_printf (out, ",%" G_GUINT64_FORMAT, row->values[o]);
        else
          g_string_append_c (out, ',');
      g_string_append_c (out, ',');
      gemem_csv_append_field (out, row->why);
      g_string_append_c (out, '\n');
    }
}
