/* gate.h - whether recordings need more than a baseline says that they may.
 *
 * Why: memory grows unseen, until a job fails.  A file in the program's repository says what its recordings needed;
 * who makes one need more is told so, and by which lines of code, before it is merged.
 *
 * Invariants: the same recording and baseline give the same verdict, on every machine.  What is compared was replayed
 * as the recording says, through its own allocator.  A recording that the baseline does not know passes nowhere.
 * Cost: a replay for each device of each recording, and two passes of each for who holds the memory.
 */
#pragma once

#include "base/macros.h"
#include "sim/search/diff.h"
#include "sim/search/histories.h"

GEMEM_BEGIN_DECLS

/* What is compared, in the order of the table. */
typedef enum
{
  GEMEM_GATE_RESERVED, /* bytes held of the device at most */
  GEMEM_GATE_IN_USE,   /* bytes in use at most */
  GEMEM_GATE_FAILED,   /* requests that fail */
  GEMEM_GATE_CALLS,    /* of the device */
  GEMEM_GATE_COUNT
} GememGateMeasure;

/* Names of GememGateMeasure in files and options; NULL-terminated. */
extern const char *const gemem_gate_measures[];

/* What a recording needs, or needed. */
typedef struct
{
  char *name;
  char *allocator; /* as in tables */
  guint64 values[GEMEM_GATE_COUNT];
  guint histories;  /* orders of frees besides the recorded one; the values are the worst of all */
  GPtrArray *lines; /* GememHolder at the peak, owned; empty: no call stacks */
  guint64 idle[GEMEM_IDLE_CAUSES]; /* bytes at the reserved peak */
} GememGateEntry;

/* One that needs nothing; gemem_gate_entry_free(). */
GememGateEntry *gemem_gate_entry_empty (const char *name);
void gemem_gate_entry_free (gpointer entry);
/* Adds a line of code. */
void gemem_gate_entry_add (GememGateEntry *entry, const char *name, guint64 bytes, guint64 blocks);

/* What @need, which has its result, needs; its lines by another pass.  NULL with GEMEM_ERROR_INPUT. */
GememGateEntry *gemem_gate_entry_new (const GememNeed *need, GError **error);
/* Raises it to what other histories need. */
void gemem_gate_entry_raise (GememGateEntry *entry, const GememHistories *histories);
/* The entry of recording @name in @baseline; NULL: it does not have it. */
const GememGateEntry *gemem_gate_find (const GPtrArray *baseline, const char *name);

/* ---- gate-file.c: baselines, as key files */

/* GPtrArray of GememGateEntry in the order of the file; NULL with GEMEM_ERROR_INPUT that names the line or key. */
GPtrArray *gemem_gate_read (const char *path, GError **error);
/* The text of a file of @entries; g_free(). */
char *gemem_gate_text (const GPtrArray *entries);

/* ---- verdicts */

typedef enum
{
  GEMEM_GATE_SAME,
  GEMEM_GATE_BETTER, /* less, and nothing is worse */
  GEMEM_GATE_WORSE,
  GEMEM_GATE_UNKNOWN, /* the baseline does not have it, or has another program by its name */
} GememGateVerdict;

typedef struct
{
  const GememGateEntry *before, *now; /* before: NULL where it is unknown */
  GememGateVerdict verdict;
  gboolean other_program;           /* both have lines of code, of which none is in both */
  gboolean worse[GEMEM_GATE_COUNT]; /* by more than is allowed */
  GArray *rows, *idle;              /* GememDiffRow: lines that hold more or less; causes */
} GememGateFinding;

/* @tolerance: 0.01 allows 1 % more bytes and calls; a failure more is never allowed.  @measures: those that count.
 * gemem_gate_finding_free(). */
GememGateFinding *gemem_gate_judge (const GPtrArray *baseline, const GememGateEntry *now,
                                    double tolerance, const gboolean *measures);
void gemem_gate_finding_free (gpointer finding);

/* Appends what a person reads about @finding: a line, and where it is worse its lines of code and causes. */
void gemem_gate_append (GString *out, const GememGateFinding *finding, double tolerance);
/* Appends an object with the same fields. */
void gemem_gate_append_json (GString *out, const GememGateFinding *finding);

GEMEM_END_DECLS
