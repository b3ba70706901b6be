/* decimal.h - reads decimal numbers as exact integers of a smaller unit, for example
 * "1669783687404093.125" microseconds as ns, without a double. */
#pragma once

#include <glib.h>

/* Reads [-]digits[.digits][e[+-]digits] at @text, which ends at the first other character.
 * *@magnitude becomes the value times 10^@scale, truncated.  Returns the end of the number; NULL if
 * there is no number, if it does not fit into 64 bits, or if it is negative and @negative is NULL.
 * O(length). */
const char *gemem_decimal_scaled (const char *text, int scale, guint64 *magnitude,
                                  gboolean *negative);
