/* plan-report.c - see plan-report.h. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "sim/report/plan-overall.h"
#include "sim/report/plan-peak.h"
#include "sim/report/plan-report.h"
#include "sim/report/rows.h"

#define TEXT_MAX 64

typedef enum
{
  UNIT_BYTES,
  UNIT_COUNT,
  UNIT_RATIO, /* in millionths */
  UNIT_TEXT,
  UNIT_NS
} PlanColumnUnit;

typedef struct
{
  const char *key, *title;
  PlanColumnUnit unit;
  int rank; /* 0: always in the table; higher ranks are dropped first; -1: in files only */
  guint64 (*number) (const GememPlanResult *result);
  const char *(*text) (const GememPlanResult *result);
} PlanColumn;

static guint64
arena (const GememPlanResult *result)
{
  return result->plan->arena;
}

static guint64
lower_bound (const GememPlanResult *result)
{
  return result->plan->lower_bound;
}

/* Arena over lower bound, in millionths, rounded; 0 without a bound. */
static guint64
overhead (const GememPlanResult *result)
{
  const guint64 bound = result->plan->lower_bound;

  return bound > 0
             ? (guint64) (((unsigned __int128) result->plan->arena * 1000000 + bound / 2) / bound)
             : 0;
}

/* The winner; NULL if there was only one candidate.  A planner that proves a bound tries stages
 * until one reaches it, and names the last. */
static const char *
winner (const GememPlanResult *result)
{
  const GememPlan *plan = result->plan;

  return plan->candidates->len > 1 || plan->least > 0 ? plan->winner : NULL;
}

static guint64
least (const GememPlanResult *result)
{
  return result->plan->least;
}

static guint64
zero_copy (const GememPlanResult *result)
{
  return result->plan->zero_copy;
}

static guint64
reused (const GememPlanResult *result)
{
  return result->plan->reused;
}

static guint64
items (const GememPlanResult *result)
{
  guint64 n = 0;

  for (guint32 i = 0; i < result->plan->n_items; i++)
    n += result->plan->sizes[i] > 0;
  return n;
}

static guint64
batch_parts (const GememPlanResult *result)
{
  return result->plan->batch_parts->len;
}

static guint64
memsets (const GememPlanResult *result)
{
  return result->plan->memsets->len;
}

/* What ended the search early; such a plan is not repeatable. */
static const char *
stopped (const GememPlanResult *result)
{
  return result->plan->stopped;
}

static guint64
alignment (const GememPlanResult *result)
{
  return result->plan->alignment;
}

static guint64
planning_time (const GememPlanResult *result)
{
  return result->plan->time_ns;
}

static const PlanColumn columns[] = {
  { "arena", "arena", UNIT_BYTES, 0, arena, NULL },
  { "lower_bound", "lower bound", UNIT_BYTES, 2, lower_bound, NULL },
  { "overhead", "overhead", UNIT_RATIO, 0, overhead, NULL },
  { "winner", "winner", UNIT_TEXT, 4, NULL, winner },
  { "zero_copy", "zero copy", UNIT_BYTES, 5, zero_copy, NULL },
  { "reused", "reused", UNIT_COUNT, 1, reused, NULL },
  { "items", "items", UNIT_COUNT, 3, items, NULL },
  { "batch_parts", "batch parts", UNIT_COUNT, 6, batch_parts, NULL },
  { "memsets", "memsets", UNIT_COUNT, 6, memsets, NULL },
  { "least", "least possible", UNIT_BYTES, -1, least, NULL }, /* bytes proved to be necessary */
  { "alignment", "alignment", UNIT_BYTES, -1, alignment, NULL },
  { "stopped", "stopped", UNIT_TEXT, -1, NULL, stopped },
  /* last: omitted unless asked for */
  { "planning_ns", "planning time", UNIT_NS, 1, planning_time, NULL },
};

static guint
n_columns (const GememPlanReportOptions *options)
{
  return G_N_ELEMENTS (columns) - (options->time ? 0 : 1);
}

/* How far the plan is above the best bound known, rounded up, so that no plan counts as the least
 * that may not be. */
static const char *
percent_text (const GememPlanResult *result, char *buffer)
{
  const guint64 bound = result->bound, arena = result->plan->arena,
                over = arena > bound ? arena - bound : 0;
  const guint64 tenths = bound > 0
                             ? (guint64) (((unsigned __int128) over * 1000 + bound - 1) / bound)
                             : 0;

  g_snprintf (buffer, TEXT_MAX, "%" G_GUINT64_FORMAT ".%u %%", tenths / 10, (guint) (tenths % 10));
  return bound > 0 ? buffer : "";
}

/* Text for people; "" if there is no value. */
static const char *
people_text (const PlanColumn *column, const GememPlanResult *result, char *buffer)
{
  const guint64 value = column->number != NULL ? column->number (result) : 0;

  switch (column->unit)
    {
    case UNIT_BYTES:
      return gemem_format_size (buffer, value);
    case UNIT_NS:
      return gemem_format_time (buffer, value);
    case UNIT_RATIO:
      return percent_text (result, buffer);
    case UNIT_TEXT:
      return column->text (result) != NULL ? column->text (result) : "";
    case UNIT_COUNT:
    default:
      g_snprintf (buffer, TEXT_MAX, "%" G_GUINT64_FORMAT, value);
      return buffer;
    }
}

/* Exact text for programs; "" if there is no value. */
static const char *
exact_text (const PlanColumn *column, const GememPlanResult *result, char *buffer)
{
  const guint64 value = column->number != NULL ? column->number (result) : 0;

  if (column->unit == UNIT_TEXT)
    return column->text (result) != NULL ? column->text (result) : "";
  if (column->unit == UNIT_RATIO && value == 0)
    return "";
  if (column->unit == UNIT_RATIO)
    g_snprintf (buffer, TEXT_MAX, "%" G_GUINT64_FORMAT ".%06u", value / 1000000,
                (guint) (value % 1000000));
  else
    g_snprintf (buffer, TEXT_MAX, "%" G_GUINT64_FORMAT, value);
  return buffer;
}

/* TRUE if the column has a value; others (no winner, nothing zero-copy) are omitted for people. */
static gboolean
has_value (const PlanColumn *column, const GememPlanResult *results, guint n)
{
  for (guint i = 0; i < n; i++)
    if (column->rank == 0
        || (column->text != NULL ? column->text (&results[i]) != NULL
                                 : column->number (&results[i]) > 0))
      return TRUE;
  return FALSE;
}

static guint
group_end (const GememPlanResult *results, guint n, guint start)
{
  guint end = start + 1;

  while (end < n && strcmp (results[end].input, results[start].input) == 0)
    end++;
  return end;
}

/* ---- for people: the smallest first, compared with what was proved of the input */

static int
compare_arenas (gconstpointer a, gconstpointer b)
{
  const guint64 x = ((const GememPlanResult *) a)->plan->arena,
                y = ((const GememPlanResult *) b)->plan->arena;

  return (x > y) - (x < y);
}

/* A bound at an alignment holds for plans at multiples of it. */
static guint64
best_bound (const GememPlanResult *result, const GememPlanResult *group, guint n)
{
  guint64 bound = result->plan->lower_bound;

  for (guint i = 0; i < n; i++)
    if (result->plan->alignment % MAX (group[i].plan->alignment, 1) == 0)
      bound = MAX (bound, group[i].plan->least);
  return bound;
}

static GArray *
arrange (const GememPlanResult *results, guint n)
{
  GArray *arranged = g_array_new (FALSE, FALSE, sizeof (GememPlanResult));

  for (guint start = 0, end; start < n; start = end)
    {
      end = group_end (results, n, start);
      g_autoptr (GArray) group = g_array_new (FALSE, FALSE, sizeof (GememPlanResult));
      g_array_append_vals (group, results + start, end - start);
      for (guint i = 0; i < group->len; i++)
        g_array_index (group, GememPlanResult, i).bound = best_bound (&results[start + i],
                                                                      results + start, end - start);
      g_array_sort (group, compare_arenas); /* stable */
      g_array_append_vals (arranged, group->data, group->len);
    }
  return arranged;
}

/* ---- table */

typedef struct
{
  GememTextColumn columns[G_N_ELEMENTS (columns)]; /* one per PlanColumn */
  guint n;
  gsize label;
} PlanTableLayout;

static gsize
letters (const char *text)
{
  return (gsize) g_utf8_strlen (text, -1);
}

static const PlanColumn *
column_of (const PlanTableLayout *layout, guint c)
{
  return layout->columns[c].source;
}

static void
choose_columns (PlanTableLayout *layout, const GememPlanResult *results, guint n,
                const GememPlanReportOptions *options)
{
  char buffer[TEXT_MAX];

  *layout = (PlanTableLayout){ .label = strlen ("planner") };
  for (guint i = 0; i < n; i++)
    layout->label = MAX (layout->label, letters (results[i].plan->planner));
  for (guint c = 0; c < n_columns (options); c++)
    if (columns[c].rank >= 0 && has_value (&columns[c], results, n))
      {
        gsize width = strlen (columns[c].title);

        for (guint i = 0; i < n; i++)
          width = MAX (width, letters (people_text (&columns[c], &results[i], buffer)));
        layout->columns[layout->n++] = (GememTextColumn){ &columns[c], columns[c].rank, width };
      }
  layout->n = gemem_text_columns_fit (layout->columns, layout->n, layout->label, options->width);
}

static void
append_padded (GString *out, const char *text, gsize width, gboolean right)
{
  const int pad = (int) (width - MIN (width, letters (text)));

  g_string_append_printf (out, "%*s%s%*s", right ? pad : 0, "", text, right ? 0 : pad, "");
}

/* For planners that prove a bound: how far the plan may be from the least that is possible, rounded
 * up, so that no plan counts as the least that may not be. */
static void
append_proofs (GString *out, const GememPlanResult *results, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      const GememPlan *plan = results[i].plan;

      if (plan->least == 0)
        continue;
      const guint64 over = plan->arena > plan->least ? plan->arena - plan->least : 0;
      const guint64 tenths = (guint64) (((unsigned __int128) over * 1000 + plan->least - 1)
                                        / plan->least);
      if (over == 0)
        g_string_append_printf (
            out, "%s: proven least: no safe plan at this alignment is smaller\n", plan->planner);
      else
        g_string_append_printf (
            out, "%s: at most %" G_GUINT64_FORMAT ".%u %% above the least possible\n",
            plan->planner, tenths / 10, (guint) (tenths % 10));
      if (over > 0 && plan->stopped != NULL)
        g_string_append_printf (out, "  %s: the best so far, not repeatable\n",
                                strcmp (plan->stopped, "time") == 0 ? "the time is over"
                                                                    : plan->stopped);
    }
}

static void
append_table (GString *out, const GememPlanResult *results, guint n,
              const GememPlanReportOptions *options)
{
  char buffer[TEXT_MAX];
  PlanTableLayout layout;

  choose_columns (&layout, results, n, options);
  for (guint start = 0, end; start < n; start = end)
    {
      end = group_end (results, n, start);
      g_autofree char *input = gemem_text_line (results[start].input);
      g_string_append_printf (out, "%s%s\n%-*s", start > 0 ? "\n" : "", input, (int) layout.label,
                              "planner");
      for (guint c = 0; c < layout.n; c++)
        g_string_append_printf (out, "  %*s", (int) layout.columns[c].width,
                                column_of (&layout, c)->title);
      g_string_append_c (out, '\n');
      for (guint i = start; i < end; i++)
        {
          append_padded (out, results[i].plan->planner, layout.label, FALSE);
          for (guint c = 0; c < layout.n; c++)
            {
              g_string_append (out, "  ");
              append_padded (out, people_text (column_of (&layout, c), &results[i], buffer),
                             layout.columns[c].width, TRUE);
            }
          g_string_append_c (out, '\n');
        }
      append_proofs (out, results + start, end - start);
      for (guint i = start; options->peaks && i < end; i++)
        gemem_plan_peak_text (out, &results[i]);
    }
  gemem_plan_overall (out, results, n);
}

/* ---- Markdown */

static void
append_markdown (GString *out, const GememPlanResult *results, guint n,
                 const GememPlanReportOptions *options)
{
  const GememPlanReportOptions any_width = { options->time, 0, FALSE };
  char buffer[TEXT_MAX];
  PlanTableLayout layout;

  choose_columns (&layout, results, n, &any_width);
  for (guint start = 0, end; start < n; start = end)
    {
      end = group_end (results, n, start);
      g_string_append (out, start > 0 ? "\n### " : "### ");
      gemem_markdown_append_text (out, results[start].input);
      g_string_append (out, "\n\n| planner |");
      for (guint c = 0; c < layout.n; c++)
        g_string_append_printf (out, " %s |", column_of (&layout, c)->title);
      g_string_append (out, "\n| --- |");
      for (guint c = 0; c < layout.n; c++)
        g_string_append (out, " ---: |");
      for (guint i = start; i < end; i++)
        {
          g_string_append (out, "\n| ");
          gemem_markdown_append_text (out, results[i].plan->planner);
          g_string_append (out, " |");
          for (guint c = 0; c < layout.n; c++)
            {
              g_string_append_c (out, ' ');
              gemem_markdown_append_text (
                  out, people_text (column_of (&layout, c), &results[i], buffer));
              g_string_append (out, " |");
            }
        }
      g_string_append_c (out, '\n');
    }
}

/* ---- CSV (RFC 4180, LF) and JSON */

static void
append_csv (GString *out, const GememPlanResult *results, guint n,
            const GememPlanReportOptions *options)
{
  char buffer[TEXT_MAX];

  g_string_append (out, "input,planner,label");
  for (guint c = 0; c < n_columns (options); c++)
    g_string_append_printf (out, ",%s", columns[c].key);
  g_string_append_c (out, '\n');
  for (guint i = 0; i < n; i++)
    {
      gemem_csv_append_field (out, results[i].input);
      g_string_append_c (out, ',');
      gemem_csv_append_field (out, results[i].planner);
      g_string_append_c (out, ',');
      gemem_csv_append_field (out, results[i].plan->planner);
      for (guint c = 0; c < n_columns (options); c++)
        {
          g_string_append_c (out, ',');
          gemem_csv_append_field (out, exact_text (&columns[c], &results[i], buffer));
        }
      g_string_append_c (out, '\n');
    }
}

static void
append_json_result (GString *out, const GememPlanResult *result,
                    const GememPlanReportOptions *options)
{
  char buffer[TEXT_MAX];

  g_string_append (out, "    {");
  gemem_json_append_text_member (out, "input", result->input);
  gemem_json_append_text_member (out, "planner", result->planner);
  gemem_json_append_text_member (out, "label", result->plan->planner);
  for (guint c = 0; c < G_N_ELEMENTS (columns); c++)
    if (columns[c].unit == UNIT_TEXT)
      gemem_json_append_text_member (out, columns[c].key, columns[c].text (result));
    else if (columns[c].unit != UNIT_NS)
      {
        const char *value = exact_text (&columns[c], result, buffer);

        gemem_json_append_name (out, columns[c].key);
        g_string_append (out, *value != '\0' ? value : "null");
      }
  gemem_json_append_name (out, "candidates");
  g_string_append_c (out, '[');
  for (guint i = 0; i < result->plan->candidates->len; i++)
    {
      const GememPlanCandidate *candidate = &g_array_index (result->plan->candidates,
                                                            GememPlanCandidate, i);

      gemem_json_append_name (out, NULL);
      g_string_append_c (out, '[');
      gemem_json_append_string (out, candidate->name);
      g_string_append_printf (out, ", %" G_GUINT64_FORMAT "]", candidate->total);
    }
  g_string_append_c (out, ']');
  gemem_plan_peak_json (out, result);
  if (options->time)
    g_string_append_printf (out, ", \"measured\": {\"planning_ns\": %" G_GUINT64_FORMAT "}",
                            result->plan->time_ns);
  g_string_append_c (out, '}');
}

static void
append_json (GString *out, const GememPlanResult *results, guint n,
             const GememPlanReportOptions *options)
{
  g_string_append (out, "{\n  \"schema\": \"gemem-plans\",\n  \"version\": 1,\n  \"plans\": [\n");
  for (guint i = 0; i < n; i++)
    {
      append_json_result (out, &results[i], options);
      g_string_append (out, i + 1 < n ? ",\n" : "\n");
    }
  g_string_append (out, "  ]\n}\n");
}

void
gemem_plan_report (GString *out, GememReportFormat format, const GememPlanResult *results, guint n,
                   const GememPlanReportOptions *options)
{
  g_autoptr (GArray) arranged = arrange (results, n);
  const GememPlanResult *rows = (const GememPlanResult *) (gconstpointer) arranged->data;

  if (format == GEMEM_FORMAT_TABLE)
    append_table (out, rows, n, options);
  else if (format == GEMEM_FORMAT_MARKDOWN)
    append_markdown (out, rows, n, options);
  else if (format == GEMEM_FORMAT_CSV)
    append_csv (out, results, n, options);
  else
    append_json (out, results, n, options);
}
