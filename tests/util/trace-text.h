/* trace-text.h - the events a reader finds in a text, as one line, for the tests of trace
 * formats. */
#pragma once

#include "traces/trace.h"

/* Each event as "KIND[ ID][ +SIZE][/AUX][ @ADDRESS in hexadecimal][ sSTREAM][ pPOOL][ dDEVICE][
 * tTIME][ !FLAGS][ 'TAG']; ", with zero fields left out, then "| FLAGS of the trace | skipped N"
 * and " | NOTE" for each piece of provenance that is a note; or the message of the error. @size:
 * of @text, -1: @text ends with NUL. @times: with times. Caller frees. */
char *test_trace_text (const char *text, gssize size, const char *format, gboolean partial,
                       gboolean times);

/* The remaining events of @reader; an error that ended them in @error. */
GArray *test_read_all (GememTraceReader *reader, GError **error);

/* Checks that @text as file @name in @format (NULL: recognised) is refused with @message after
 * @before events; with allow_partial these are read and the trace is marked as truncated. */
void test_assert_text_refused (const char *text, const char *name, const char *format, guint before,
                               const char *message);
