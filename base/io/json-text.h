/* json-text.h - text as a JSON string, for whatever writes JSON (results, graphs, plans). */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

/* Appends @text as a JSON string with quotes; "null" for NULL; invalid UTF-8 is replaced. */
void gemem_json_append_string (GString *out, const char *text);

GEMEM_END_DECLS
