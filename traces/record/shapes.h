/* shapes.h - what the shapes of calls have in common (calls.h): entering a recorded call, its place
 * in the order of calls, leaving it.
 *
 * Invariants: the real function is called exactly once with the caller's arguments, and its result
 * is what the caller gets; a call within a recorded call, and any call when nothing is recorded,
 * does nothing else.  errno is as the real function left it.
 */
#pragma once

#include "traces/record/calls.h"

/* The place of a call in the order of calls; a record is added there at the end if the call
 * succeeds. */
typedef struct
{
  Moment moment;
  bool there;
} Place;

/* Whether this call is the outermost one of a recorded process; then recorder_leave() must follow,
 * here or in what calls it. */
bool recorder_enter (void);
void recorder_leave (int saved_errno);
/* The place that is taken now: before the call where it takes memory away, after it where it gives
 * some. */
Place recorder_place (void);
/* Adds @record of a call that returned @result, at @before or now, then leaves.  Returns
 * @result. */
int recorder_leave_with (int result, const Place *before, JournalRecord record);
uint64_t recorder_number (const void *pointer);
/* Streams by number: 0 the default one, 2 + thread << 8 a thread's own. */
uint64_t recorder_stream_number (Handle stream, bool per_thread);

/* The start of each: the real function, or the error; alone it does without a record. */
#define REAL(parameters, ...) \
  int (*real) parameters = (int (*) parameters) recorder_real (hook, caller); \
  if (real == NULL) \
    return NOT_INITIALIZED; \
  if (!recorder_enter ()) \
  return real (__VA_ARGS__)

#define SHAPE_VOID(shape) int recorder_call_##shape (Hook *hook, const void *caller)

#define SHAPE(shape, ...) int recorder_call_##shape (Hook *hook, const void *caller, __VA_ARGS__)
