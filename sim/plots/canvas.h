/* canvas.h - a drawing made of characters, for a terminal: rows of cells that are put in any order.
 *
 * Why not gnuplot's: a terminal over ssh often has none, and its dots know neither blocks nor names.
 * What a terminal can show is said once, by GememTextLook: without UTF-8 every cell is ASCII, without colours no
 * sequence of escape is written.
 *
 * Invariants: no cell is a character that a terminal obeys; a row never ends in blanks; no row is wider than the canvas.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

/* What the reader's terminal shows. */
typedef struct
{
  gboolean unicode; /* UTF-8, with blocks */
  gboolean colour;
} GememTextLook;

/* Backgrounds; without colours none is seen, so nothing may depend on them alone. */
typedef enum
{
  GEMEM_TINT_NONE,
  GEMEM_TINT_YELLOW,
  GEMEM_TINT_CYAN,
  GEMEM_TINT_WHITE,
} GememTint;

typedef struct _GememCanvas GememCanvas;

/* Blank, @columns wide and at first without a row. */
GememCanvas *gemem_canvas_new (guint columns);
void gemem_canvas_free (GememCanvas *canvas);
/* Puts @c, one column wide, at @row, which is made where it is not there; nothing where @column is outside. */
void gemem_canvas_put (GememCanvas *canvas, guint row, guint column, gunichar c, GememTint tint);
/* Puts @text (any bytes) into the @width columns from @column on, cut with an ellipsis where it is longer, the rest of
 * them blank.  Returns the columns that it took. */
guint gemem_canvas_text (GememCanvas *canvas, guint row, guint column, guint width,
                         const char *text, GememTint tint);
/* Appends all rows, a line each. */
void gemem_canvas_append (GString *out, const GememCanvas *canvas, const GememTextLook *look);

GEMEM_END_DECLS
