/* spans.h - what surrounds a moment on a thread of a profiler trace: operators, annotations
 * and Python functions, as call stacks, and annotations as phases and steps.
 *
 * A trace has a span (begin and end) for each operator (cat "cpu_op"), annotation
 * ("user_annotation") and, with with_stack=True, Python function ("python_function").  The spans
 * that are open on the thread of an allocation are its call stack, innermost first:
 *  - an operator or an annotation is a frame without a file;
 *  - "train.py(10): forward" is a frame of that file and function.  Its line is where the function
 *    calls the next Python function of the stack ("CallFrom"), else where the function begins;
 *  - "<built-in method mm of type object at 0x7f...>" is a frame of file "??", without the address.
 * Gradients are computed on another thread than the one that waits for them; the stack of what runs
 * there goes on with that of the only thread that is within run_backward.
 *
 * "ProfilerStep#7" is step 7; it is in no stack, so that equal stacks of two steps are equal.
 * Every other annotation is a phase.
 *
 * Memory: 24 bytes per span (2^26 at most; the rest is left out and counted), 32 per annotation,
 * and the distinct names.
 */
#pragma once

#include "traces/trace.h"

typedef struct _GememKinetoSpans GememKinetoSpans;

typedef enum
{
  GEMEM_KINETO_OTHER, /* no span */
  GEMEM_KINETO_ANNOTATION,
  GEMEM_KINETO_PYTHON,
  GEMEM_KINETO_OPERATOR,
  GEMEM_KINETO_KINDS
} GememKinetoKind;

/* A phase begins or ends, or a step begins. */
typedef struct
{
  gint64 time;    /* ns, as in the trace */
  gint64 other;   /* the end of the phase at its begin, the begin at its end */
  guint64 step;   /* the number of the step */
  guint32 tag;    /* the name of the phase */
  guint32 number; /* of the annotation in the file */
  guint8 kind;    /* GEMEM_EVENT_PHASE, _PHASE_END, _STEP */
} GememKinetoPhase;

/* @info receives names, frames and stacks, and must outlive the spans. */
GememKinetoSpans *gemem_kineto_spans_new (GememTraceInfo *info);
void gemem_kineto_spans_free (GememKinetoSpans *spans); /* may be NULL */

/* The kind of the spans of category @cat. */
GememKinetoKind gemem_kineto_kind (const char *cat);
/* The number of a thread, from 1 on.  O(1). */
guint32 gemem_kineto_spans_thread (GememKinetoSpans *spans, gint64 pid, gint64 tid);
/* Adds a span; @call_from: "FILE:LINE", or NULL.  O(1). */
void gemem_kineto_spans_add (GememKinetoSpans *spans, guint32 thread, GememKinetoKind kind,
                             const char *name, const char *call_from, gint64 begin, gint64 end);
/* To be called when all spans are added; returns the number of spans left out.  O(spans) for spans
 * in order of time on each thread. */
guint64 gemem_kineto_spans_settle (GememKinetoSpans *spans);
/* Whether there are spans, and so perhaps stacks. */
gboolean gemem_kineto_spans_any (const GememKinetoSpans *spans);
/* The stack in @info of what is open on @thread (0: unknown) at @time, which must not decrease from
 * call to call; 0: nothing.  Amortised O(spans passed + frames). */
guint32 gemem_kineto_spans_stack (GememKinetoSpans *spans, guint32 thread, gint64 time);
/* The phases and steps in order of time (GememKinetoPhase), valid after settling; owned by
 * @spans. */
const GArray *gemem_kineto_spans_phases (const GememKinetoSpans *spans);
