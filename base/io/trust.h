/* trust.h - whether someone else can change what is loaded into a program.
 *
 * Others are all users but this one and root.  Folders of which the sticky bit is set (/tmp) may hold
 * what belongs to this user, but are not themselves fit to load from.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>
#include <sys/stat.h>

GEMEM_BEGIN_DECLS

/* Whether the owner of @facts is this user or root. */
gboolean gemem_trust_owner (const struct stat *facts);
/* Why others could change the file or the folder of @facts, "all users may write to it"; NULL: they
 * cannot.  @also: another user who may own it; geteuid() for none. */
const char *gemem_trust_doubt (const struct stat *facts, uid_t also);
/* FALSE if others could change the folder @path, without links, or one above it.
 * GEMEM_ERROR_FAILED: which, and why. */
gboolean gemem_trust_folder (const char *path, GError **error);

GEMEM_END_DECLS
