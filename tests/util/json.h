/* json.h - JSON files of expectations, as trees.  A missing member, or one of another type, ends the
 * test. */
#pragma once

#include "base/io/json-tree.h"

/* The document in the file @path, which may be compressed, or in @text. */
GememJsonTree *test_json_load (const char *path);
GememJsonTree *test_json_parse (const char *text);

guint32 test_json_member (const GememJsonTree *tree, guint32 object, const char *name);
gint64 test_json_value (const GememJsonTree *tree, guint32 entry);
gint64 test_json_int (const GememJsonTree *tree, guint32 object, const char *name);
double test_json_double (const GememJsonTree *tree, guint32 object, const char *name);
gboolean test_json_bool (const GememJsonTree *tree, guint32 object, const char *name);
const char *test_json_text (const GememJsonTree *tree, guint32 object, const char *name);
guint test_json_count (const GememJsonTree *tree, guint32 parent);
