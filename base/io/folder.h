/* folder.h - a folder that this process makes for others to write into, and removes again.
 *
 * Why: the programs that write into it are not ours.  One may put a link, a pipe or another folder in
 * the place of the folder or of a file in it; what is read and removed must still be what was made.
 *
 * Invariants: nothing is read or removed through a symbolic link, nothing but regular files is opened,
 * and nothing outside the folder that was made is removed, whatever stands at its path by then.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>
#include <sys/stat.h>

GEMEM_BEGIN_DECLS

typedef struct
{
  char *path; /* NULL: none was made */
  int fd;     /* of the folder itself */
} GememFolder;

/* Whether what is called @name, of the kind @mode (struct stat), stays where it is. */
typedef gboolean GememFolderKeep (const char *name, mode_t mode);

/* Makes a folder of the name @path, whose last six letters are XXXXXX and become its own.  FALSE with
 * errno; then there is nothing to clear. */
gboolean gemem_folder_make (GememFolder *folder, const char *path);
/* Removes what is in it, but what @keep (NULL: nothing) keeps, the folder itself if nothing is left, and
 * frees the members. */
void gemem_folder_clear (GememFolder *folder, GememFolderKeep *keep);
/* Whether the folder stands at its path, where others find it. */
gboolean gemem_folder_stands (const GememFolder *folder);
/* Whether a file of @size bytes can be written into it. */
gboolean gemem_folder_has_space (const GememFolder *folder, gsize size);
/* Whether @name in it is a regular file. */
gboolean gemem_folder_has (const GememFolder *folder, const char *name);
/* The text of the regular file @name in it; NULL: there is none.  g_free(). */
char *gemem_folder_read (const GememFolder *folder, const char *name);
/* Removes the file of this @path, which lies in the folder. */
void gemem_folder_unlink (const GememFolder *folder, const char *path);

/* Removes the folder @path, made by whomever, with what is in it, but what @keep keeps.  A link at
 * @path itself is left alone. */
void gemem_folder_remove (const char *path, GememFolderKeep *keep);

GEMEM_END_DECLS
