/* text.h - lines for people: wrapped at words or cut at a width, and safe to show.
 *
 * Why here: every screen of gemem keeps to WIDTH columns, and a name of a file or of a setting may be of
 * any length and in any encoding.  It may also hold what a terminal obeys instead of showing it: all
 * that is printed goes through gemem_text_append_visible().
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

#define GEMEM_TEXT_WIDTH \
  100 /* columns of what is printed for people, unless a terminal says otherwise */
#define GEMEM_TEXT_LEAST 60 /* ... and the least that it can say */

/* Appends @text, cut at GEMEM_TEXT_WIDTH, and a line end. */
void gemem_text_append_cut (GString *out, const char *text);

/* @text as one line that shows all of it, of at most @width characters: cut, and ended by "...", where it is longer.
 * g_free().  O(length). */
char *gemem_text_cut (const char *text, glong width);

/* Whether @c changes what stands around it and is not seen itself: the control characters, and those
 * that end lines or turn the direction of writing. */
gboolean gemem_text_is_hidden (gunichar c);

GEMEM_BEGIN_DECLS

/* Appends @text, one line, and a line end, broken at blanks into lines of at most @width characters (its own indent
 * kept), later lines after @indent; a longer word stays whole.  O(length). */
void gemem_text_wrap_at (GString *out, const char *text, const char *indent, guint width);
/* The same at GEMEM_TEXT_WIDTH, or at what gemem_text_set_width() said: for the screen.  O(length). */
void gemem_text_wrap (GString *out, const char *text, const char *indent);
/* From now on gemem_text_wrap() breaks at @columns, but at no more than GEMEM_TEXT_WIDTH and no less than
 * GEMEM_TEXT_LEAST: for a program whose output is a terminal.  Tables stay as they are. */
void gemem_text_set_width (guint columns);

/* How many columns of a terminal @c takes: 0 to 2. */
guint gemem_text_columns (gunichar c);

/* Appends the first @length bytes of @text (-1: all), hidden characters and bytes that are no UTF-8 as
 * \033 or \u202e; @lines: line ends and tabs stay.  O(length). */
void gemem_text_append_visible (GString *out, const char *text, gssize length, gboolean lines);
/* @text as one line of such characters.  g_free(). */
char *gemem_text_line (const char *text);

GEMEM_END_DECLS
