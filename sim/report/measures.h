/* measures.h - the table built from measures.def, and the formatting of values. */
#pragma once

#include "sim/engine/result.h"

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
  GEMEM_RANK_DETAIL = 100,   /* full reports and files only */
  GEMEM_RANK_MEASURED = 101, /* only with --measure */
  GEMEM_RANK_CAPACITY = 102, /* only with --find-capacity */
  GEMEM_RANK_CALLS = 200,    /* and above: columns of the table of device calls */
};

typedef struct
{
  const char *key, *title;
  GememMeasureUnit unit;
  int rank;
  const char *help;
  guint64 (*integer) (const GememResult *result); /* BYTES, COUNT, NS */
  double (*real) (const GememResult *result);     /* RATIO, PERCENT (1 is 100 %) */
} GememMeasure;

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

/* TRUE if @measure belongs to @table and applies to one of @results.  A kind of call that no row
 * makes has no column. */
gboolean gemem_measure_is_column (const GememMeasure *measure, GememTable table,
                                  GememResult *const *results, guint n);

/* TRUE if @result has a value of @measure (measured, capacity: only if they were requested). */
gboolean gemem_measure_applies (const GememMeasure *measure, const GememResult *result);

#define GEMEM_MEASURE_TEXT 48
/* For people: "1.500 GiB", "12.3 %", "1.07", "3.2 us". */
char *gemem_measure_text (const GememMeasure *measure, const GememResult *result, char *buffer);
/* For files: an integer, or a decimal with six digits, in any locale; "none" for a number of bytes
 * that was not found. */
char *gemem_measure_exact (const GememMeasure *measure, const GememResult *result, char *buffer);
