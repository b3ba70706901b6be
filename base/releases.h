/* releases.h - which known release stands for one that a user or a recording names.
 *
 * Why: people have "2.6.0+cu124" and "1.5.1", and releases older or newer than those whose rules are
 * known.  `choices` are those of a table of parameters: "2.6|2.8|2.7=2.6" (params.h).
 *
 * Invariant: a name among the choices is never taken as another.
 */
#pragma once

#include <glib.h>

/* The word among @choices, or the synonym, that stands for @text, which is none of them: without its
 * local version and patch numbers; else, if @nearest, the newest before it, or the oldest.  g_free();
 * NULL: none does. */
char *gemem_release_stand_in (const char *choices, const char *text, gboolean nearest);

/* FALSE if @text and @name, a choice, are of different releases as far as both have numbers. */
gboolean gemem_release_is (const char *text, const char *name);

/* TRUE if @name is among the releases of @range: "2.6", "2.6 or 2.7", "2.5 to 2.7", and text behind. */
gboolean gemem_release_among (const char *range, const char *name);
