/* file.h - maps the blocks of a journal (format.h) for its writers.  No GLib,
 * because one writer runs inside other programs. */
#pragma once

#include <stdint.h>

/* Maps block @number of the file @path as shared memory, so that its content is in the file when
 * the process ends.  The disk space is allocated first, so that a full disk is an error here and no
 * signal later.
 * @flags: 0, or O_CREAT | O_EXCL for the first block.  The file is opened by name and closed again,
 * because programs close descriptors they do not know.  NULL with errno. */
void *gemem_journal_map (const char *path, uint32_t number, int flags);
