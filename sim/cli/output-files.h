/* output-files.h - checks output files before the work begins. */
#pragma once

#include <glib.h>

typedef struct
{
  const char *option; /* "--output" */
  const char *path;   /* or NULL, "-" */
} GememOutputFile;

/* Call before the work begins: no output is one of @inputs (NULL-terminated) or another output, and
 * each lies in a writable folder. */
gboolean gemem_check_outputs (const GememOutputFile *outputs, guint n, char **inputs,
                              GError **error);
