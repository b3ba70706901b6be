/* symbols.h - names return addresses of a recorded process: function, file and line, from the files
 * that were loaded in it.
 *
 * A recorder that runs inside a program writes addresses and paths only; the names are found here,
 * later, perhaps on another machine.  With elfutils (configure: libdw) the debugging information is
 * read: functions with the functions inlined into them, demangled, with file and line, from the
 * file itself or from separate debugging files.  Without it, or where there is none, the symbol
 * tables tell the function; where these do not, the frame is named FILE+0xOFFSET.
 *
 * Invariants: a file whose build-id is not the recorded one is not used (it was built again since);
 * only regular files are opened.  Equal addresses of equal modules give equal frames.
 * Memory: the tables of the files in use, and 12 bytes per distinct address.
 */
#pragma once

#include "base/macros.h"
#include "traces/trace.h"

GEMEM_BEGIN_DECLS

typedef struct _GememSymbols GememSymbols;

/* @info receives the frames and their strings, and must outlive the symbols. */
GememSymbols *gemem_symbols_new (GememTraceInfo *info);
void gemem_symbols_free (GememSymbols *symbols); /* may be NULL */

/* The file @path is loaded at @start to @end (its addresses plus @bias), in the place of what was
 * there.  @build_id: NULL if unknown. */
void gemem_symbols_add_module (GememSymbols *symbols, const char *path, guint64 start, guint64 end,
                               guint64 bias, const guint8 *build_id, gsize build_id_size);
/* Returns the number of the stack of @n return addresses, innermost first, in @info; 0: empty.
 * O(n) for known addresses; a new one costs a search in its file. */
guint32 gemem_symbols_stack (GememSymbols *symbols, const guint64 *addresses, gsize n);
/* The same for a stack as text: "FUNCTION+0xOFFSET (FILE) < FILE+0xOFFSET", which journals of
 * version 1 hold, or "FUNCTION (FILE:LINE)". */
guint32 gemem_symbols_text_stack (GememSymbols *symbols, const char *text);
/* Notes in @info which files have changed since the recording. */
void gemem_symbols_note_changed (GememSymbols *symbols);

GEMEM_END_DECLS
