/* text.h - lines for people: wrapped at words or cut at a width.
 *
 * Why here: every screen of gemem keeps to WIDTH columns, and a name of a file or of a setting may be of
 * any length and in any encoding.
 */
#pragma once

#include <glib.h>

#define GEMEM_TEXT_WIDTH \
  100 /* columns of what is printed for people, unless a terminal says otherwise */

/* Appends @text and a line end, broken at blanks into lines of at most GEMEM_TEXT_WIDTH characters (its own
 * indent kept), later lines after @indent; a longer word stays whole.  O(length). */
void gemem_text_wrap (GString *out, const char *text, const char *indent);

/* Appends @text, cut at GEMEM_TEXT_WIDTH, and a line end. */
void gemem_text_line (GString *out, const char *text);

/* @text as valid UTF-8, of at most @width characters: cut, and ended by "...", where it is longer.
 * g_free().  O(length). */
char *gemem_text_cut (const char *text, glong width);
