/* json-text.h - pieces of JSON, for whatever writes it (results, graphs, plans). */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

/* Appends @text as a JSON string with quotes; "null" for NULL; invalid UTF-8 is replaced. */
void gemem_json_append_string (GString *out, const char *text);

/* Begins a member called @name, or with NULL an element, of what stands in one line: ", " unless the
 * object or array was just opened, then the name. */
void gemem_json_append_name (GString *out, const char *name);
/* A whole member. */
void gemem_json_append_text_member (GString *out, const char *name, const char *text);
void gemem_json_append_number_member (GString *out, const char *name, guint64 value);

GEMEM_END_DECLS
