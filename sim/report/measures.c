/* measures.c - see measures.h.  Every number in a report is formatted here, so that two reports
 * cannot disagree. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "base/units.h"
#include "sim/report/measures.h"

#define DETAIL GEMEM_RANK_DETAIL
#define MEASURED GEMEM_RANK_MEASURED
#define CAPACITY GEMEM_RANK_CAPACITY
#define SLEEP GEMEM_RANK_SLEEP
#define NOW GEMEM_RANK_NOW
#define HISTORIES GEMEM_RANK_HISTORIES
#define CALLS GEMEM_RANK_CALLS
#define SERVED GEMEM_TRAIT_SERVED
#define ALLOWED GEMEM_TRAIT_ALLOWED
#define SAMPLED GEMEM_TRAIT_SAMPLED
#define MORE GEMEM_TRAIT_MORE
#define EXACT GEMEM_TRAIT_EXACT
#define BRIEF GEMEM_TRAIT_BRIEF
#define ALONE GEMEM_TRAIT_ALONE

/* The sum over all kinds of calls. */
static guint64
total (const guint64 *by_call)
{
  guint64 sum = 0;
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    sum += by_call[call];
  return sum;
}

static guint64
measured_in_calls (const GememResult *result)
{
  guint64 sum = 0;
  for (guint call = 0; result->measured_calls != NULL && call < GEMEM_CALL_COUNT; call++)
    sum += result->measured_calls[call].sum;
  return sum;
}

static double
modelled_to_measured (const GememResult *result)
{
  return result->measured_total_ns > 0
             ? (double) result->modelled_total_ns / (double) result->measured_total_ns
             : 0;
}

static double
prediction_error (const GememResult *result)
{
  return result->measured_total_ns > 0 ? modelled_to_measured (result) - 1 : 0;
}

static double
against_now (const GememResult *result)
{
  return result->peak_now > 0 ? (double) result->peak_reserved / (double) result->peak_now - 1 : 0;
}

/* Each measure is one function of the type its unit implies; the other type is never called. */
#define TYPE_BYTES guint64
#define TYPE_COUNT guint64
#define TYPE_NS guint64
#define TYPE_RATIO double
#define TYPE_PERCENT double
#define GEMEM_MEASURE(key, title, unit, rank, traits, value, ...) \
  static TYPE_##unit value_##key (const GememResult *r) \
  { \
    return value; \
  }
#include "sim/report/measures.def"
#undef GEMEM_MEASURE

#define FUNCTION_BYTES(key) .integer = value_##key
#define FUNCTION_COUNT(key) .integer = value_##key
#define FUNCTION_NS(key) .integer = value_##key
#define FUNCTION_RATIO(key) .real = value_##key
#define FUNCTION_PERCENT(key) .real = value_##key
const GememMeasure gemem_measures[] = {
#define GEMEM_MEASURE(key, title, unit, rank, traits, value, ...) \
  { #key, title, GEMEM_UNIT_##unit, rank, traits, { __VA_ARGS__ }, FUNCTION_##unit (key) },
#include "sim/report/measures.def"
#undef GEMEM_MEASURE
  { NULL }
};

const char *
gemem_measure_name (guint index)
{
  return index < G_N_ELEMENTS (gemem_measures) ? gemem_measures[index].key : NULL;
}

const char *
gemem_measure_title (guint index)
{
  return index < G_N_ELEMENTS (gemem_measures) ? gemem_measures[index].title : NULL;
}

const char *
gemem_measure_help (guint index)
{
  return index < G_N_ELEMENTS (gemem_measures) ? gemem_measures[index].text.help : NULL;
}

const char *
gemem_measure_known_as (guint index)
{
  return index < G_N_ELEMENTS (gemem_measures) ? gemem_measures[index].text.known_as : NULL;
}

gboolean
gemem_measure_is_bytes (const char *name)
{
  const GememMeasure *measure = gemem_measures;

  while (measure->key != NULL && strcmp (measure->key, name) != 0)
    measure++;
  return measure->key != NULL && measure->unit == GEMEM_UNIT_BYTES;
}

const GememMeasure *
gemem_measure_find (const char *name, GError **error)
{
  const char *names[G_N_ELEMENTS (gemem_measures)];

  for (guint i = 0; i < G_N_ELEMENTS (gemem_measures); i++)
    {
      names[i] = gemem_measures[i].key;
      if (names[i] != NULL
          && (gemem_name_equal (names[i], name)
              || gemem_name_equal (gemem_measures[i].title, name)))
        return &gemem_measures[i];
    }
  const char *near = gemem_suggest (name, names);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "unknown measure '%s'; %s%s%s", name,
               near != NULL ? "did you mean '" : "see 'gemem-sim help measures'",
               near != NULL ? near : "", near != NULL ? "'?" : "");
  return NULL;
}

gboolean
gemem_measure_applies (const GememMeasure *measure, const GememResult *result)
{
  if (result->not_run)
    return FALSE;
  if (measure->rank == GEMEM_RANK_MEASURED)
    return result->measured_alloc_ns.count > 0;
  if (measure->rank == GEMEM_RANK_SLEEP)
    return result->sleeps > 0;
  if (measure->rank == GEMEM_RANK_CAPACITY)
    return result->least_capacity != 0;
  if (measure->rank == GEMEM_RANK_HISTORIES)
    return result->histories_runs > 0;
  if (measure->rank == GEMEM_RANK_NOW)
    return result->peak_now > 0;
  return TRUE;
}

gboolean
gemem_measure_known (const GememMeasure *measure, const GememResult *result)
{
  if ((measure->traits & GEMEM_TRAIT_SERVED) != 0 && result->ooms > 0)
    return FALSE;
  if ((measure->traits & GEMEM_TRAIT_ALLOWED) != 0 && result->not_allowed != NULL)
    return FALSE;
  if ((measure->traits & GEMEM_TRAIT_SAMPLED) != 0 && result->timeline->len == 0)
    return FALSE;
  return gemem_measure_applies (measure, result);
}

/* A number that is smaller for the better result. */
static double
badness (const GememMeasure *measure, const GememResult *result)
{
  double value = measure->real != NULL ? measure->real (result)
                                       : (double) measure->integer (result);

  if ((measure->traits & GEMEM_TRAIT_EXACT) != 0)
    return ABS (measure->unit == GEMEM_UNIT_RATIO ? value - 1 : value);
  return (measure->traits & GEMEM_TRAIT_MORE) != 0 ? -value : value;
}

int
gemem_measure_compare (const GememMeasure *measure, gboolean reverse, const GememResult *a,
                       const GememResult *b)
{
  const gboolean known = gemem_measure_known (measure, a);

  if (!known || !gemem_measure_known (measure, b))
    return gemem_measure_known (measure, b) - known;
  const double x = badness (measure, a), y = badness (measure, b);
  return reverse ? (x < y) - (x > y) : (x > y) - (x < y);
}

const char *const gemem_table_titles[GEMEM_TABLE_COUNT] = { "allocator", "device calls" };

gboolean
gemem_measure_is_column (const GememMeasure *measure, GememTable table, gboolean verbose,
                         GememResult *const *results, guint n)
{
  const gboolean calls = verbose && measure->rank >= GEMEM_RANK_CALLS;
  if (measure->rank == GEMEM_RANK_DETAIL || calls != (table == GEMEM_TABLE_CALLS)
      || (!verbose && (measure->traits & GEMEM_TRAIT_BRIEF) == 0))
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (gemem_measure_applies (measure, results[i])
        && (!calls || measure->integer (results[i]) > 0))
      return TRUE;
  return FALSE;
}

static char *
decimal (char *buffer, double value, int digits)
{
  char format[8];
  g_snprintf (format, sizeof format, "%%.%df", digits);
  return g_ascii_formatd (buffer, GEMEM_MEASURE_TEXT, format, value);
}

char *
gemem_measure_text (const GememMeasure *measure, const GememResult *result, char *buffer)
{
  if (!gemem_measure_known (measure, result))
    {
      g_strlcpy (buffer, "-", GEMEM_MEASURE_TEXT);
      return buffer;
    }
  switch (measure->unit)
    {
    case GEMEM_UNIT_BYTES:
      if (measure->integer (result) == GEMEM_UNLIMITED)
        g_strlcpy (buffer, "none", GEMEM_MEASURE_TEXT);
      else
        gemem_format_size (buffer, measure->integer (result));
      break;
    case GEMEM_UNIT_NS:
      gemem_format_time (buffer, measure->integer (result));
      break;
    case GEMEM_UNIT_COUNT:
      g_snprintf (buffer, GEMEM_MEASURE_TEXT, "%" G_GUINT64_FORMAT, measure->integer (result));
      break;
    case GEMEM_UNIT_RATIO:
      decimal (buffer, measure->real (result), 3);
      break;
    case GEMEM_UNIT_PERCENT:
      decimal (buffer, 100 * measure->real (result), 1);
      g_strlcat (buffer, " %", GEMEM_MEASURE_TEXT);
      break;
    }
  return buffer;
}

char *
gemem_measure_exact (const GememMeasure *measure, const GememResult *result, char *buffer)
{
  *buffer = '\0';
  if (!gemem_measure_known (measure, result))
    return buffer;
  if (measure->real != NULL)
    return decimal (buffer, measure->real (result), 6);
  if (measure->unit == GEMEM_UNIT_BYTES && measure->integer (result) == GEMEM_UNLIMITED)
    {
      g_strlcpy (buffer, "none", GEMEM_MEASURE_TEXT);
      return buffer;
    }
  g_snprintf (buffer, GEMEM_MEASURE_TEXT, "%" G_GUINT64_FORMAT, measure->integer (result));
  return buffer;
}
