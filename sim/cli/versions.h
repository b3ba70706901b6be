/* versions.h - tells a user whose allocator and lowering are of different versions of PaddlePaddle.
 *
 * Why: each has a version of its own, 3.x where none is named, so naming one of the two silently
 * mixes an executor of one release with the allocator of another. */
#pragma once

#include <glib.h>

/* Prints a note for the first of @files (GememSourceFile) that is a graph, lowered by `paddle`, and
 * the first of @specs (GememAllocatorSpec; may be NULL) that is of another version.  An allocator
 * whose name implies no version, and for which none is named, is of any. */
void gemem_versions_note (const GPtrArray *specs, const GPtrArray *files);
