/* key-file.h - a GKeyFile whose messages name the line: profiles of devices, specifications of sweeps.
 *
 * Why beside GKeyFile: it forgets the lines, and takes a repeated key or group without a word.
 *
 * Invariants: every group and key in `keys` has its line, and is there once.  Cost: O(text).
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct
{
  char *path; /* in messages */
  GKeyFile *keys;
  GHashTable *lines; /* "group" and "group]key" -> line number */
} GememKeyFile;

/* Reads @length bytes of @text; @what says in messages what it should be ("a profile is a key file").
 * NULL with GEMEM_ERROR_USAGE. */
GememKeyFile *gemem_key_file_parse (const char *text, gsize length, const char *path,
                                    const char *what, GError **error);
void gemem_key_file_free (GememKeyFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememKeyFile, gemem_key_file_free)

/* Sets GEMEM_ERROR_USAGE: "FILE:LINE: [group] key: MESSAGE"; @key may be NULL.  FALSE. */
gboolean gemem_key_file_complain (const GememKeyFile *file, const char *group, const char *key,
                                  GError **error, const char *format, ...) G_GNUC_PRINTF (5, 6);

GEMEM_END_DECLS
