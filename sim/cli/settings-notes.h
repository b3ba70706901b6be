/* settings-notes.h - tells a user what their settings do not do.
 *
 * Why: a setting without effect is accepted by the real system in silence, and people believe that it works. */
#pragma once

#include "base/named.h"
#include "graphs/graph.h"
#include "sim/cli/source.h"

/* Prints what the first @most allocators of @specs (GememAllocatorSpec; may be NULL) have to say of their settings, with those that
 * each of @files (GememSourceFile) has recorded for the same allocator, unless @ignores_settings; each thing once. */
void gemem_settings_note (const GPtrArray *specs, guint most, const GPtrArray *files,
                          gboolean ignores_settings);

/* The same of one allocator and one file. */
void gemem_settings_note_one (const GememAllocatorSpec *spec, GememSourceFile *file,
                              gboolean ignores_settings);

/* The same for @choice of a planner, and what of it means nothing for @graph; NULL: lifetimes.  @said: what has been printed so
 * far, a set of texts. */
void gemem_settings_note_planner (const GememChoice *choice, const GememGraph *graph,
                                  GHashTable *said);

/* The same of the latency of events in the text of a @device, for the first of @files that leaves it without effect: a
 * recording that says itself when streams were done with what was freed, and not which streams used it. */
void gemem_settings_note_latency (const char *device, const GPtrArray *files);
