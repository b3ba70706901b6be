/* json-text.h - appends pieces of JSON, for writers of results, graphs and plans. */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

/* Appends @text as a JSON string with quotes; "null" for NULL; invalid UTF-8 is replaced. */
void gemem_json_append_string (GString *out, const char *text);

/* Starts a member @name of an object, or with NULL an element of an array, in one line: appends ",
 * " unless the object or array was just opened, then the name. */
void gemem_json_append_name (GString *out, const char *name);
/* Append a complete member. */
void gemem_json_append_text_member (GString *out, const char *name, const char *text);
void gemem_json_append_number_member (GString *out, const char *name, guint64 value);
void gemem_json_append_bool_member (GString *out, const char *name, gboolean value);

GEMEM_END_DECLS
