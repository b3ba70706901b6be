/* missing.h - the functions that are not written (missing.c), and the count of those that launch work. Any thread. */
#pragma once

#include <glib.h>

/* What a generated function keeps (dry/launch/write.c); 16 bytes, zeros at first. */
typedef struct
{
  guint64 calls;
  gint32 result, known;
} GememDryStub;

/* The written function @name was called, which does nothing but launch work, and says itself what that writes (gemem_dry_wrote());
 * @stub is its own. Counted and noted as the harmless ones. */
__attribute__ ((visibility ("default"))) void gemem_dry_launched (const char *name,
                                                                  GememDryStub *stub);

/* How many calls launched work on device memory, so far; without @told, those that did not say what they write. */
guint64 gemem_dry_work (gboolean told);

/* The result of the function @name of @library (a soname), which is not written: 0 if its success
 * without effect is harmless (harmless.def), else the library's status for what it does not support.
 * The first failing call of a function is named on stderr and in the notes ("missing NAME
 * LIBRARY"). */
int gemem_dry_missing (const char *name, const char *library);

/* The same for a generated function, whose further calls @stub answers. Their number is in the
 * notes at the end: "harmless CALLS NAME", "failed CALLS NAME". */
int gemem_dry_stub (const char *name, const char *library, GememDryStub *stub);
