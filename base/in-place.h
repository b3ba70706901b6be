/* in-place.h - recognises outputs that are written directly, not to a temporary file that is
 * renamed: paths that are no regular file, and names of an open stream of the process.
 *
 * Why: /dev/stdout resolves to a regular file if a shell redirected the output to one.  A renamed
 * file would replace the name /dev/stdout for all users of the machine and leave the shell's file
 * empty.
 */
#pragma once

#include <glib.h>

/* TRUE if @path is such an output; *fd: a descriptor opened for writing with close-on-exec, or -1
 * with errno. */
gboolean gemem_open_in_place (const char *path, int *fd);
