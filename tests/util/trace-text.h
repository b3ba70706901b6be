/* trace-text.h - what a reader makes of a text, as one line, for the tests of trace formats. */
#pragma once

#include <glib.h>

/* Each event as "KIND[ ID][ +SIZE][/AUX][ @ADDRESS in hexadecimal][ sSTREAM][ pPOOL][ dDEVICE][
 * tTIME][ !FLAGS][ 'TAG']; ", what is 0 left out, then "| FLAGS of the trace | skipped N" and " |
 * NOTE" for each piece of provenance that is a note; or the message of the error.  @size: of @text,
 * -1: it ends with NUL.  @times: with times.  Caller frees. */
char *test_trace_text (const char *text, gssize size, const char *format, gboolean partial,
                       gboolean times);
