/* runtime-survey.h - the first pass over a log of GE's run time: which sources it has, and which
 * one to use.
 *
 * Why: the same block is logged at every level that it passes through.  The uppermost level, the
 * refused requests that finally failed, and the sets of devices and processes are known only at the
 * end.
 *
 * Order of pools: a growing pool requests memory from a lower pool just before its own line, and
 * returns the same address.  So a pool is below another pool of its process and device that returns
 * the same address within the next few lines (lines of other threads may come between).  A bottom
 * pool is below if its process has any other pool.
 *
 * Invariants: processes and pools are numbered in the order of the log.  Memory: a record for each
 * process and pool (at most 65536 each), a byte for each refused request.
 * Origin: ge-runtime.md 0, 2.1, 10.
 */
#pragma once

#include "base/idmap.h"
#include "base/io/input.h"
#include "traces/ge/runtime-line.h"

#define GE_LINE_LONGEST ((gsize) 8 << 20)

#define GE_RECENT 8 /* lines */

/* A block that a pool allocated recently and that is not freed. */
typedef struct
{
  guint pool; /* 1 + its index; 0: none */
  guint64 address;
} GeRecent;

typedef struct
{
  gboolean told;  /* some line named its device */
  guint16 device; /* the first device named; else 0 */
  guint number;   /* index among the processes of that device */
  guint64 page;   /* bytes of a physical page; 0: none, or unknown */
  gboolean upper; /* the process has pools above the bottom pool */
  guint asked;    /* 1 + index of the pool requested from last */
  GeRecent recent[GE_RECENT];
  guint next; /* the entry of `recent` to overwrite next */
} GeProcess;

typedef struct
{
  guint process;
  GePoolKind kind;
  guint32 device; /* the first named, else that of the process */
  gboolean below; /* another pool obtains memory from this one */
  guint64 allocs;
  guint number;  /* index among the uppermost pools of its device */
  guint64 asked; /* bytes of the pending request */
  guint refused; /* of that request: 1 + index of its refusal; 0: none so far */
} GeLogPool;

typedef struct
{
  guint64 processes, pools; /* counts so far */
} GeDevice;

typedef struct
{
  GArray *processes, *pools;              /* GeProcess, GeLogPool */
  GememIdMap *process_index, *pool_index; /* key from a line -> index */
  GememIdMap *devices;                    /* device -> GeDevice */
  GByteArray *refusals;                   /* per REFUSED line: 1 if it failed for good */
  guint64 known;                          /* lines of GE's memory */
  guint64 lines[GE_SOURCE_COUNT];         /* of these, ALLOC and FREE by source */
  guint64 recycles, total, first_time;
  char *policy;             /* static memory policies named in the log, or NULL */
  gboolean timeless, pages; /* a line has no time; a process has pages */
  GeSource source;          /* of requests: the most informative in the log */
} GeSurvey;

/* Reads @input to its end, or to damage, and rewinds it.  FALSE: GEMEM_ERROR_INPUT; the caller
 * clears the survey in any case. */
gboolean gemem_ge_survey_read (GeSurvey *survey, GememInput *input, GError **error);
void gemem_ge_survey_clear (GeSurvey *survey);

/* The process of a line that the survey has read; the pool of an ALLOC, FREE or REQUEST line; the
 * pool that was refused, or NULL. */
GeProcess *gemem_ge_survey_process (const GeSurvey *survey, const GeLine *line, guint *index);
GeLogPool *gemem_ge_survey_pool (const GeSurvey *survey, const GeLine *line, guint process);
GeLogPool *gemem_ge_survey_refused (const GeSurvey *survey, const GeLine *line, guint process);
