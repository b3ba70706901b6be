/* json.h - pieces of JSON shared by results and the manifest. */
#pragma once

#include "sim/engine/result.h"

/* See json-fields.h for how numbers are written. */
void gemem_json_append_number (GString *out, guint64 value);
/* {"key": "value", ...}, a line each after @indent; @numbers: values that are plain numbers without
 * quotes. */
void gemem_json_append_settings (GString *out, const GPtrArray *settings, gboolean numbers,
                                 const char *indent);
/* "trace": ..., "label": ..., without braces and final comma. */
void gemem_json_append_identity (GString *out, const GememResult *result, const char *indent);
