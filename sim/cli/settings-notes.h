/* settings-notes.h - tells a user what their settings do not do.
 *
 * Why: a setting without effect is accepted by the real system in silence, and people believe that it works. */
#pragma once

#include <glib.h>

/* Prints what the first @most allocators of @specs (GememAllocatorSpec; may be NULL) have to say of their settings, with those that
 * each of @files (GememSourceFile) has recorded for the same allocator, unless @ignores_settings; each thing once. */
void gemem_settings_note (const GPtrArray *specs, guint most, const GPtrArray *files,
                          gboolean ignores_settings);
