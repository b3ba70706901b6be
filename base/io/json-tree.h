/* json-tree.h - one value of the token stream (json-stream.h) in memory, for readers of graphs, plans
 * and results: fields by name, typed values, messages with the position.
 *
 * The tree uses the tokens of json-stream.h.
 * Entries are numbered in document order, the root being 0; texts are valid UTF-8 without NUL.
 * Messages are "WHERE: outputs[1].size: what".
 * Memory: 16 bytes per value and the texts; at most 2^22 values and 2^26 bytes of text unless other
 * limits were set, so that a small file that unpacks to a huge one is refused.
 */
#pragma once

#include "base/io/json-stream.h"

GEMEM_BEGIN_DECLS

typedef struct _GememJsonTree GememJsonTree;

GememJsonTree *gemem_json_tree_new (void);
void gemem_json_tree_free (GememJsonTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememJsonTree, gemem_json_tree_free)

/* The one document that @input holds, whose name begins the messages; NULL on error.  Does not own
 * @input. */
GememJsonTree *gemem_json_tree_load (GememInput *input, GError **error);

void gemem_json_tree_set_limits (GememJsonTree *tree, guint32 values, guint32 text);

/* Sets the prefix of later messages. */
void gemem_json_tree_set_where (GememJsonTree *tree, const char *format, ...) G_GNUC_PRINTF (2, 3);
const char *gemem_json_tree_where (const GememJsonTree *tree);

/* Replaces the content by the value that begins with @token, the token just returned. Errors:
 * GEMEM_ERROR_INPUT. */
gboolean gemem_json_tree_read (GememJsonTree *tree, GememJson *json, int token, GError **error);

GememJsonToken gemem_json_tree_token (const GememJsonTree *tree, guint32 entry);
/* name of a member of an object; else "" */
const char *gemem_json_tree_key (const GememJsonTree *tree, guint32 entry);
/* STRING, NUMBER; else "" */
const char *gemem_json_tree_text (const GememJsonTree *tree, guint32 entry);

/* The first member @name of an object; 0 if there is none or @object is no object.  For messages
 * about other members. */
guint32 gemem_json_tree_find (const GememJsonTree *tree, guint32 object, const char *name);

/* FALSE with the error if an object has two members of one name. */
gboolean gemem_json_tree_check_names (const GememJsonTree *tree, GError **error);

/* The elements of an array or members of an object; 0 at the end. */
guint32 gemem_json_tree_first (const GememJsonTree *tree, guint32 parent);
guint32 gemem_json_tree_next (const GememJsonTree *tree, guint32 parent, guint32 child);

/* The members of @object by name: at[i] is the entry of names[i] or 0.  @names ends with NULL.  A
 * member that begins with "x_" is ignored; any other unknown member is an error with a suggestion;
 * a repeated member is an error. */
gboolean gemem_json_tree_fields (const GememJsonTree *tree, guint32 object,
                                 const char *const *names, guint32 *at, GError **error);

/* Typed values.  Errors: an entry of another type; an integer below @min, above 2^63 - 1, or with a
 * fraction. */
gboolean gemem_json_tree_is (const GememJsonTree *tree, guint32 entry, GememJsonToken token,
                             GError **error);
gboolean gemem_json_tree_int (const GememJsonTree *tree, guint32 entry, gint64 min, gint64 *value,
                              GError **error);
gboolean gemem_json_tree_bool (const GememJsonTree *tree, guint32 entry, gboolean *value,
                               GError **error);
gboolean gemem_json_tree_string (const GememJsonTree *tree, guint32 entry, const char **text,
                                 GError **error);
/* A non-empty string without control characters. */
gboolean gemem_json_tree_name (const GememJsonTree *tree, guint32 entry, const char **text,
                               GError **error);
/* The same for the key of @entry. */
gboolean gemem_json_tree_key_name (const GememJsonTree *tree, guint32 entry, const char **text,
                                   GError **error);

/* Appends the integers of the array @entry to @values (gint64); lists within it are flattened if
 * @nested. */
gboolean gemem_json_tree_ints (const GememJsonTree *tree, guint32 entry, gint64 min,
                               gboolean nested, GArray *values, GError **error);

/* Both set the error and return FALSE. */
gboolean gemem_json_tree_fail (const GememJsonTree *tree, guint32 entry, GError **error,
                               const char *format, ...) G_GNUC_PRINTF (4, 5);
gboolean gemem_json_tree_fail_unknown (const GememJsonTree *tree, guint32 entry,
                                       const char *const *names, GError **error);

GEMEM_END_DECLS
