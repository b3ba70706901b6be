/* journal-file.h - the blocks of a journal (journal-format.h) as its writers get them; no GLib,
 * because one of them lives inside other programs. */
#pragma once

#include <stdint.h>

/* Block @number of the file @path, shared with it: what is written is in the file when the process
 * ends.  It is made sure of on the disk, so that a full disk is an error here and no signal later.
 * @flags: 0, or O_CREAT | O_EXCL for the first.  The file is opened by its name and closed again,
 * because programs close descriptors they do not know.  NULL with errno. */
void *gemem_journal_map (const char *path, uint32_t number, int flags);
