/* growth-private.h - what the parts of growth share: growth.c finds what is kept, growth-steps.c the steps.
 *
 * Invariants: it belongs to sim/search alone; requests are in the order of the recording.
 */
#pragma once

#include "allocators/planned/steps.h"
#include "sim/search/growth.h"
#include "traces/attribution.h"

GEMEM_BEGIN_DECLS

/* A request of the device; of 0 bytes: one that was refused, or the end. */
typedef struct
{
  guint64 size, block, stream, seq;
  guint32 stack;
  guint32 freed; /* how many requests came before its release; GEMEM_NEVER: none did */
  guint32 step;  /* from 1; 0: before the first, or before the recording */
  gboolean initial;
  GememAttribution by;
} GememGrowthRequest;

typedef struct
{
  guint32 request, tag; /* the first after it; tag 0: a step */
  guint64 id;
} GememGrowthMark;

typedef struct
{
  const GememTraceInfo *info;
  GArray *requests; /* GememGrowthRequest */
  GArray *marks;    /* GememGrowthMark */
  GArray *begins;   /* guint32: first requests of the whole steps, and what comes after the last */
  GArray *common; /* guint32: frames that lead to all that the steps ask for, the outermost first */
  guint loop;     /* frames of a stack of the steps up to the line of their loop */
  guint32 end;    /* requests up to what counts as the end; what is freed later is in use there */
  guint32 least;  /* steps that have to keep something */
} GememGrowthPast;

/* How steps are found. */
typedef enum
{
  GEMEM_GROWTH_MARKS, /* the recording names them */
  GEMEM_GROWTH_LINES, /* in what repeats, where the program comes back to a line: layers repeat too */
  GEMEM_GROWTH_LATER_HALF, /* the same in the later half */
  GEMEM_GROWTH_PERIOD,     /* without stacks: what repeats, more often than layers do */
  GEMEM_GROWTH_KINDS
} GememGrowthSteps;

#define gemem_growth_request(past, i) (&g_array_index ((past)->requests, GememGrowthRequest, (i)))

/* Fills `begins`, `common` and `least`; FALSE: no steps are found, or nothing proves that they are steps. */
gboolean gemem_growth_find_steps (GememGrowthPast *past, GememGrowthSteps kind);

/* The Python frames of @stack, the outermost first; guint32, g_array_unref(). */
GArray *gemem_growth_frames (const GememTraceInfo *info, guint32 stack);

GEMEM_END_DECLS
