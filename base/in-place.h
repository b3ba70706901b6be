/* in-place.h - which outputs are written where they are, and not beside it and renamed: what is no
 * regular file, and what names an open stream of the process.
 *
 * Why: /dev/stdout leads to a regular file where a shell sent the output there.  A new file in its
 * place would replace the name /dev/stdout for all users of the machine, and leave the shell's file
 * empty.
 */
#pragma once

#include <glib.h>

/* TRUE if @path is such an output; *fd: opened for writing and closed in children, or -1 with
 * errno. */
gboolean gemem_open_in_place (const char *path, int *fd);
