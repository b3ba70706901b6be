/* page.h - results as one page for a browser: the answer, the comparison, and every block over time.
 *
 * Why one file: it is mailed, attached to a ticket, opened years later.  It holds its scripts and its data,
 * asks no network, and says so (Content-Security-Policy).
 *
 * Invariants: every number comes from the results, the advice and the histories; the page computes sums
 * of them at most.  Text from recordings is data, never markup: in the file no "<" of it remains.  Equal
 * results give equal bytes.
 */
#pragma once

#include "base/macros.h"
#include "sim/search/advise.h"

GEMEM_BEGIN_DECLS

/* What is said of one trace. */
typedef struct
{
  const char *path;
  const GememTraceInfo *info;
  const GememAdvice *advice; /* NULL: `error` says why */
  const char *error;
} GememPageAnswer;

typedef struct
{
  GememResult *result;    /* with its history, where it is to be looked at */
  guint answer;           /* index of that of its trace */
  const GPtrArray *lines; /* names of the series of the history; NULL: none */
} GememPageRow;

typedef struct
{
  const GememPageAnswer *answers;
  guint n_answers;
  const GememPageRow *rows; /* in the order of the report */
  guint n_rows;
} GememReportPage;

/* FALSE with GEMEM_ERROR_USAGE if this program was built without what a page needs. */
gboolean gemem_page_check (GError **error);
/* Writes @path, complete or not at all.  FALSE with GEMEM_ERROR_FAILED, _USAGE. */
gboolean gemem_page_write (const char *path, const GememReportPage *page, GError **error);

GEMEM_END_DECLS
