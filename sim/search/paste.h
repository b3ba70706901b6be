/* paste.h - a setting as the users of the real system write it, and back.
 *
 * The line is what a person pastes into a shell, a program or a file of options; the class of the
 * allocator says how (`forms`).
 *
 * Invariant: what gemem_paste_read() makes of a line is what the real system would do: a line is
 * offered only after a replay of what was read back from it.
 */
#pragma once

#include "allocators/allocator.h"
#include "base/macros.h"

GEMEM_BEGIN_DECLS

/* The form of @klass for @system (NULL: its first); NULL: it has none. */
const GememForm *gemem_paste_form (const GememAllocatorClass *klass, const char *system);

GEMEM_END_DECLS

/* The line for @klass, @instead of another allocator of the system, with @own settings (GememSetting) instead of those among @defaults, the settings
 * that the program has now ("key=value,..."; NULL: none).  NULL: it cannot be said so, or a setting is
 * wrong; g_free(). */
char *gemem_paste_line (const GememAllocatorClass *klass, const GememForm *form, gboolean instead,
                        const char *defaults, const GPtrArray *own);

/* The allocator that a program has after @line, of @form.  GEMEM_ERROR_USAGE. */
GememAllocatorSpec *gemem_paste_read (const GememAllocatorClass *klass, const GememForm *form,
                                      const char *line, GError **error);

/* @text as a shell reads it behind "=", in quotes where it needs them; g_free(). */
char *gemem_paste_shell (const char *text);
