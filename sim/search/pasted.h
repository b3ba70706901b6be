/* pasted.h - the allocator that a line means which people paste into a shell or a program: "export
 * PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "FLAGS_a=1 FLAGS_b=2", a call of RMM's.
 *
 * Why: who has such a line in a script should not have to learn how gemem writes settings.
 *
 * Invariant: every line of paste.h is understood as the allocator for which it was written.  A line of
 * which a part has no effect is refused with that part's reason, not read by halves.
 */
#pragma once

#include "allocators/allocator.h"

GEMEM_BEGIN_DECLS

/* TRUE if @text is such a line, and not "NAME[:key=value,...]" of an allocator.  Its contents may be
 * wrong. */
gboolean gemem_is_pasted (const char *text);

/* Appends the allocator of @line to @specs, labelled with the line.  GEMEM_ERROR_USAGE. */
gboolean gemem_pasted_parse (const char *line, GPtrArray *specs, GError **error);

GEMEM_END_DECLS
