/* trust.c - see trust.h. */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/trust.h"

gboolean
gemem_trust_owner (const struct stat *facts)
{
  return facts->st_uid == geteuid () || facts->st_uid == 0;
}

const char *
gemem_trust_doubt (const struct stat *facts, uid_t also)
{
  if (!gemem_trust_owner (facts) && facts->st_uid != also)
    return "it belongs to another user";
  if ((facts->st_mode & S_IWOTH) != 0)
    return "all users may write to it";
  if ((facts->st_mode & S_IWGRP) != 0 && facts->st_gid != getegid ())
    return "users of another group may write to it";
  return NULL;
}

/* The same of a folder above that which is meant: what others put beside it does no harm. */
static const char *
doubt_above (const struct stat *facts)
{
  const gboolean sticky = (facts->st_mode & S_ISVTX) != 0 && gemem_trust_owner (facts);

  return sticky ? NULL : gemem_trust_doubt (facts, geteuid ());
}

gboolean
gemem_trust_folder (const char *path, GError **error)
{
  g_autofree char *folder = g_strdup (path);
  const char *doubt;
  struct stat facts;

  for (gboolean above = FALSE;; above = TRUE)
    {
      if (lstat (folder, &facts) != 0)
        {
          gemem_error_set_errno (error, errno, folder, NULL);
          return FALSE;
        }
      if ((doubt = above ? doubt_above (&facts) : gemem_trust_doubt (&facts, geteuid ())) != NULL)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED, "%s: %s", folder, doubt);
          return FALSE;
        }
      if (strcmp (folder, "/") == 0)
        return TRUE;
      char *up = g_path_get_dirname (folder);
      g_free (folder);
      folder = up;
    }
}
