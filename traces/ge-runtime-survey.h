/* ge-runtime-survey.h - the first pass over a log of GE's run time: which sources it has, and which
 * to believe.
 *
 * Why a pass of its own: the same block is logged at every level that it passes through.  Which
 * level is the uppermost, which of the refused requests failed for good, and which devices and
 * processes there are is known only at the end.
 *
 * Which pool is below which: a pool that grows asks for memory just before its own line, and
 * returns the same address; so a pool is below another of its process and device that returns the
 * same address within a few lines (threads may come between).  A bottom pool is below where there
 * is any other.
 *
 * Invariants: processes and pools are numbered in the order of the log.  Memory: a record for each
 * process and pool (at most 65536 each), a byte for each refused request.
 * Origin: ge-runtime.md 0, 2.1, 10.
 */
#pragma once

#include "base/idmap.h"
#include "base/io/input.h"
#include "traces/ge-runtime-line.h"

#define GE_LINE_LONGEST ((gsize) 8 << 20)

#define GE_RECENT 8 /* lines */

/* A block that a pool allocated, and that is not freed. */
typedef struct
{
  guint pool; /* 1 + its index; 0: none */
  guint64 address;
} GeRecent;

typedef struct
{
  gboolean told;  /* its device was, by a line that names one */
  guint16 device; /* the first so named; else 0 */
  guint number;   /* among the processes of that device */
  guint64 page;   /* bytes of a physical page; 0: it has none, or unknown */
  gboolean upper; /* it has pools above the bottom one */
  guint asked;    /* 1 + the pool that was asked last */
  GeRecent recent[GE_RECENT];
  guint next; /* of them to be written over */
} GeProcess;

typedef struct
{
  guint process;
  GePoolKind kind;
  guint32 device; /* the first told, else that of the process */
  gboolean below; /* another pool takes its memory here */
  guint64 allocs;
  guint number;  /* among the pools of its device that are not below */
  guint64 asked; /* bytes of the request under way */
  guint refused; /* thereof: 1 + index of its refusal; 0: none so far */
} GeLogPool;

typedef struct
{
  guint64 processes, pools; /* numbered so far */
} GeDevice;

typedef struct
{
  GArray *processes, *pools;              /* GeProcess, GeLogPool */
  GememIdMap *process_index, *pool_index; /* what the lines say -> index */
  GememIdMap *devices;                    /* device -> GeDevice */
  GByteArray *refusals;                   /* for each REFUSED line: 1 if it failed for good */
  guint64 known;                          /* lines of GE's memory */
  guint64 lines[GE_SOURCE_COUNT];         /* thereof ALLOC and FREE */
  guint64 recycles, total, first_time;
  char *policy;             /* what static memory policy is told, or NULL */
  gboolean timeless, pages; /* a line has no time; a process has pages */
  GeSource source;          /* of requests: the best there is */
} GeSurvey;

/* Reads @input to its end, or to where it is damaged, and rewinds it.  FALSE: GEMEM_ERROR_INPUT;
 * the survey is to be cleared even so. */
gboolean gemem_ge_survey_read (GeSurvey *survey, GememInput *input, GError **error);
void gemem_ge_survey_clear (GeSurvey *survey);

/* Of a line that the survey has seen.  The pool: that of an ALLOC, FREE or REQUEST; that which was
 * refused, or NULL. */
GeProcess *gemem_ge_survey_process (const GeSurvey *survey, const GeLine *line, guint *index);
GeLogPool *gemem_ge_survey_pool (const GeSurvey *survey, const GeLine *line, guint process);
GeLogPool *gemem_ge_survey_refused (const GeSurvey *survey, const GeLine *line, guint process);
