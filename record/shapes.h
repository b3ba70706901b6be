/* shapes.h - the common parts of all shapes of calls (calls.h): entering a recorded call, its
 * position in the order of calls, leaving it.
 *
 * Invariants: those of calls.c.
 */
#pragma once

#include "record/calls.h"

/* The position of a call in the order of calls; a record with this position is added at the end if
 * the call succeeds. */
typedef struct
{
  Moment moment;
  bool there;
} Place;

/* TRUE if this call is the outermost one and the process is recorded; then gemem_recorder_leave()
 * must follow, directly or by a function that calls gemem_recorder_leave(). */
bool gemem_recorder_enter (void);
void gemem_recorder_leave (int saved_errno);
/* Takes the present position: before the real call for a free, after it for an allocation. */
Place gemem_recorder_place (void);
/* Adds @record of a call that returned @result, at position @before (NULL: the present one), then
 * leaves the call.  Returns @result. */
int gemem_recorder_leave_with (int result, const Place *before, JournalRecord record);
uint64_t gemem_recorder_number (const void *pointer);
/* The number of a stream: 0 for the default stream, 2 + thread << 8 for a per-thread default
 * stream. */
uint64_t gemem_recorder_stream_number (Handle stream, bool per_thread);

/* The start of each shape: finds the real function or returns the error; calls it without a record
 * if the call is not recorded. */
#define REAL(parameters, ...) \
  int (*real) parameters = (int (*) parameters) gemem_recorder_real (hook, caller); \
  if (real == NULL) \
    return NOT_INITIALIZED; \
  if (!gemem_recorder_enter ()) \
  return real (__VA_ARGS__)

#define SHAPE_VOID(shape) int gemem_recorder_call_##shape (Hook *hook, const void *caller)

#define SHAPE(shape, ...) \
  int gemem_recorder_call_##shape (Hook *hook, const void *caller, __VA_ARGS__)
