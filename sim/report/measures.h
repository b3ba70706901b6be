/* measures.h - the table built from measures.def, and the formatting of values. */
#pragma once

#include "sim/report/report.h"

typedef enum
{
  GEMEM_UNIT_BYTES,
  GEMEM_UNIT_COUNT,
  GEMEM_UNIT_NS,
  GEMEM_UNIT_RATIO,
  GEMEM_UNIT_PERCENT
} GememMeasureUnit;

enum
{
  GEMEM_RANK_DETAIL = 100,    /* full reports and files only */
  GEMEM_RANK_MEASURED = 101,  /* only with --measure */
  GEMEM_RANK_CAPACITY = 102,  /* only with --find-capacity */
  GEMEM_RANK_SLEEP = 103,     /* only where memory slept */
  GEMEM_RANK_NOW = 104,       /* only beside a run of what the program has now */
  GEMEM_RANK_HISTORIES = 105, /* only with --histories */
  GEMEM_RANK_CALLS = 200,     /* and above: columns of the table of device calls */
};

enum
{
  GEMEM_TRAIT_SERVED = 1 << 0,  /* unknown where requests failed */
  GEMEM_TRAIT_SAMPLED = 1 << 1, /* unknown without a timeline */
  GEMEM_TRAIT_MORE = 1 << 2,    /* a larger value is better */
  GEMEM_TRAIT_EXACT = 1 << 3,   /* a ratio near 1, or a share near 0, is better */
  GEMEM_TRAIT_ALLOWED = 1 << 4, /* unknown where the run is not allowed */
  GEMEM_TRAIT_BRIEF = 1 << 5,   /* also in brief reports */
  GEMEM_TRAIT_ALONE = 1 << 6,   /* also in the brief report of one run */
};

struct _GememMeasure
{
  const char *key, *title;
  GememMeasureUnit unit;
  int rank;
  guint traits; /* GEMEM_TRAIT_* */
  struct
  {
    const char *help, *known_as; /* known_as: names elsewhere, '|' separated, or NULL */
  } text;
  guint64 (*integer) (const GememResult *result); /* BYTES, COUNT, NS */
  double (*real) (const GememResult *result);     /* RATIO, PERCENT (1 is 100 %) */
};

/* All measures; ends with a NULL key. */
extern const GememMeasure gemem_measures[];

/* The comparison is two tables: an allocator's needs and costs, and its device calls by kind. */
typedef enum
{
  GEMEM_TABLE_MEASURES,
  GEMEM_TABLE_CALLS,
  GEMEM_TABLE_COUNT
} GememTable;

extern const char *const gemem_table_titles[GEMEM_TABLE_COUNT]; /* heading of the label column */

/* TRUE if @measure belongs to @table and applies to one of @results; if not @verbose, to the few
 * columns of a brief one.  A kind of call that no row makes has no column. */
gboolean gemem_measure_is_column (const GememMeasure *measure, GememTable table, gboolean verbose,
                                  GememResult *const *results, guint n);

/* TRUE if @measure belongs to @result: the run began, and host clock or least capacity were asked
 * for where the measure needs them. */
gboolean gemem_measure_applies (const GememMeasure *measure, const GememResult *result);
/* TRUE if moreover its value is known: not so for what failed requests make look better. */
gboolean gemem_measure_known (const GememMeasure *measure, const GememResult *result);

/* Order of two results by @measure, the better one first (negative), what is unknown last;
 * @reverse: the worse one first, what is unknown still last. */
int gemem_measure_compare (const GememMeasure *measure, gboolean reverse, const GememResult *a,
                           const GememResult *b);

#define GEMEM_MEASURE_TEXT 48
/* For people: "1.500 GiB", "12.3 %", "1.07", "3.2 us"; "-" if unknown. */
char *gemem_measure_text (const GememMeasure *measure, const GememResult *result, char *buffer);
/* For files: an integer, or a decimal with six digits, in any locale; "none" for a number of bytes
 * that was not found; "" if unknown. */
char *gemem_measure_exact (const GememMeasure *measure, const GememResult *result, char *buffer);
