/* json-read.c - reads the files that json.c wrote: for `plot`, and to compare with earlier results.
 *
 * Input is not trusted.  The text is checked before json-glib sees it: it must be UTF-8, hold only
 * the characters of JSON outside of strings (json-glib also accepts comments and other quotes), be
 * nested at most MAX_DEPTH deep (json-glib recurses), and be one object or array (of two, json-glib
 * 1.6 shows the first and leaks the other).  Every field of version 1 but those added later must be
 * present with its type; anything else is GEMEM_ERROR_INPUT "FILE: what; what to do" and leaves
 * @results unchanged.  "measures" and percentiles are not read but recomputed.  Cost: json-glib's
 * tree, about 15 times the file in memory.
 */
#include "config.h"

#include <json-glib/json-glib.h>
#include <string.h>

#include "base/error.h"
#include "base/io/input.h"
#include "base/params.h"
#include "sim/engine/run.h"
#include "sim/report/json-fields.h"
#include "sim/report/report.h"

#define MAX_DEPTH 16
#define ADVICE "; give a file written by 'replay' or 'compare' with --format=json"

typedef struct
{
  const char *path;
  guint index;         /* of the current result */
  GStringChunk *texts; /* its texts of origins */
  guint depth;         /* 1: of a program of it */
  GError **error;
} ResultReading;

static gboolean refuse (const ResultReading *reading, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
refuse (const ResultReading *reading, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *what = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_set_error (reading->error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: result %u: %s" ADVICE,
               reading->path, reading->index, what);
  return FALSE;
}

/* ---- checks before json-glib */

/* NULL, or the fault of @text. */
static const char *
check_text (const char *text, gsize length)
{
  guint depth = 0;
  gboolean ended = FALSE;
  if (!g_utf8_validate (text, (gssize) length, NULL))
    return "not UTF-8 text";
  for (const char *p = text; *p != '\0'; p++)
    {
      if (depth == 0 && strchr (ended ? " \t\r\n" : " \t\r\n{[", *p) == NULL)
        return ended ? "goes on after its end" : "not JSON";
      switch (*p)
        {
        case '"':
          for (p++; *p != '"'; p++)
            {
              p += *p == '\\';
              if (*p == '\0')
                return "breaks off within a string";
            }
          break;
        case '[':
        case '{':
          if (++depth > MAX_DEPTH)
            return "nested deeper than any result";
          break;
        case ']':
        case '}':
          ended = --depth == 0;
          break;
        default:
          if (!g_ascii_isalnum (*p) && strchr (" \t\r\n,:+-.", *p) == NULL)
            return "not JSON";
        }
    }
  return NULL;
}

/* ---- values */

static JsonNode *
member (const ResultReading *reading, JsonObject *object, const char *name, JsonNodeType type)
{
  JsonNode *node = json_object_get_member (object, name);
  if (node != NULL && JSON_NODE_TYPE (node) == type)
    return node;
  refuse (reading, "no %s '%s'", type == JSON_NODE_OBJECT ? "object" : "array", name);
  return NULL;
}

static JsonObject *
member_object (const ResultReading *reading, JsonObject *object, const char *name)
{
  JsonNode *node = member (reading, object, name, JSON_NODE_OBJECT);
  return node != NULL ? json_node_get_object (node) : NULL;
}

static JsonArray *
member_array (const ResultReading *reading, JsonObject *object, const char *name)
{
  JsonNode *node = member (reading, object, name, JSON_NODE_ARRAY);
  return node != NULL ? json_node_get_array (node) : NULL;
}

static gboolean
holds (JsonNode *node, GType type)
{
  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == type;
}

static gboolean
parse_digits (const char *text, guint base, guint64 *value)
{
  return g_ascii_isalnum (*text)
         && g_ascii_string_to_unsigned (text, base, 0, G_MAXUINT64, value, NULL);
}

static gboolean
number (JsonNode *node, guint64 *value)
{
  if (node != NULL && JSON_NODE_HOLDS_NULL (node))
    *value = G_MAXUINT64;
  else if (holds (node, G_TYPE_INT64) && json_node_get_int (node) >= 0)
    *value = (guint64) json_node_get_int (node);
  else
    return holds (node, G_TYPE_STRING) && parse_digits (json_node_get_string (node), 10, value);
  return TRUE;
}

static gboolean
hexadecimal (JsonNode *node, guint64 *value)
{
  if (node != NULL && JSON_NODE_HOLDS_NULL (node))
    {
      *value = G_MAXUINT64;
      return TRUE;
    }
  return holds (node, G_TYPE_STRING) && g_str_has_prefix (json_node_get_string (node), "0x")
         && parse_digits (json_node_get_string (node) + 2, 16, value);
}

static gboolean
state (JsonNode *node, GememSpanState *value)
{
  for (guint i = 0; holds (node, G_TYPE_STRING) && gemem_json_states[i] != NULL; i++)
    if (strcmp (json_node_get_string (node), gemem_json_states[i]) == 0)
      {
        *value = (GememSpanState) i;
        return TRUE;
      }
  return FALSE;
}

static gboolean
read_origin (const ResultReading *reading, JsonNode *node, GememOrigin *origin)
{
  JsonObject *object = JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  if (object == NULL)
    return JSON_NODE_HOLDS_NULL (node);
  JsonNode *initial = json_object_get_member (object, "initial"),
           *by = json_object_get_member (object, "by");
  if (!number (json_object_get_member (object, "event"), &origin->seq)
      || !holds (initial, G_TYPE_BOOLEAN) || by == NULL
      || (!JSON_NODE_HOLDS_NULL (by) && !holds (by, G_TYPE_STRING)))
    return FALSE;
  origin->known = TRUE;
  origin->initial = json_node_get_boolean (initial);
  if (!JSON_NODE_HOLDS_NULL (by))
    origin->by = g_string_chunk_insert_const (reading->texts, json_node_get_string (by));
  return TRUE;
}

static gboolean
read_field (const ResultReading *reading, const GememJsonField *field, JsonNode *node,
            gpointer base)
{
  gpointer at = (char *) base + field->offset;
  guint64 wide;
  if (node == NULL && field->added)
    return TRUE;
  switch (field->type)
    {
    case GEMEM_JSON_NUMBER:
      return number (node, at);
    case GEMEM_JSON_HEX:
      return hexadecimal (node, at);
    case GEMEM_JSON_STATE:
      return state (node, at);
    case GEMEM_JSON_INDEX:
      if (!number (node, &wide) || wide > G_MAXUINT32)
        return FALSE;
      *(guint32 *) at = (guint32) wide;
      return TRUE;
    case GEMEM_JSON_BOOL:
      if (!holds (node, G_TYPE_BOOLEAN))
        return FALSE;
      *(gboolean *) at = json_node_get_boolean (node);
      return TRUE;
    case GEMEM_JSON_ORIGIN:
      return node != NULL && read_origin (reading, node, at);
    }
  return FALSE;
}

static gboolean
read_struct (const ResultReading *reading, const char *name, const GememJsonField *fields,
             JsonObject *object, gpointer base)
{
  for (const GememJsonField *field = fields; field->name != NULL; field++)
    if (!read_field (reading, field, json_object_get_member (object, field->name), base))
      return refuse (reading, "'%s' in '%s' is missing or of the wrong kind", field->name, name);
  return TRUE;
}

/* ---- members of a result */

static gboolean
read_texts (const ResultReading *reading, JsonObject *object, GememResult *result)
{
  for (const GememJsonMember *text = gemem_json_texts; text->name != NULL; text++)
    {
      JsonNode *node = json_object_get_member (object, text->name);
      gboolean empty = node != NULL
                           ? JSON_NODE_HOLDS_NULL (node) && strcmp (text->name, "label") != 0
                           : text->added;
      if (!empty && !holds (node, G_TYPE_STRING))
        return refuse (reading, "'%s' is missing or no string", text->name);
      *(char **) (gpointer) ((char *) result + text->offset) = empty ? NULL
                                                                     : json_node_dup_string (node);
    }
  JsonNode *ordinal = json_object_get_member (object, "device_ordinal"),
           *partial = json_object_get_member (object, "partial");
  const gboolean host = ordinal != NULL && JSON_NODE_HOLDS_NULL (ordinal);
  if (!host
      && (!holds (ordinal, G_TYPE_INT64) || json_node_get_int (ordinal) < -1
          || json_node_get_int (ordinal) > G_MAXUINT16))
    return refuse (reading, "'device_ordinal' is missing or no device");
  if (!holds (partial, G_TYPE_BOOLEAN))
    return refuse (reading, "'partial' is missing or neither true nor false");
  result->device_ordinal = host ? GEMEM_DEVICE_HOST : (int) json_node_get_int (ordinal);
  result->partial = json_node_get_boolean (partial);
  return TRUE;
}

static gboolean
read_settings (const ResultReading *reading, JsonObject *object, const GememJsonMember *member,
               GPtrArray **settings)
{
  const char *name = member->name;
  const gboolean absent = member->added && !json_object_has_member (object, name);
  JsonObject *source = absent ? NULL : member_object (reading, object, name);
  JsonObjectIter iter;
  const char *key;
  JsonNode *node;
  if (source == NULL && !absent)
    return FALSE;
  *settings = gemem_settings_new ();
  if (absent)
    return TRUE;
  json_object_iter_init_ordered (&iter, source);
  while (json_object_iter_next_ordered (&iter, &key, &node))
    {
      g_autofree char *value = NULL;
      if (holds (node, G_TYPE_STRING))
        value = json_node_dup_string (node);
      else if (holds (node, G_TYPE_INT64))
        value = g_strdup_printf ("%" G_GINT64_FORMAT, json_node_get_int (node));
      else if (!JSON_NODE_HOLDS_NULL (node))
        return refuse (reading, "'%s' in '%s' is neither text nor a number", key, name);
      gemem_settings_add (*settings, key, value);
    }
  return TRUE;
}

static gboolean
read_buckets (JsonArray *buckets, GememHistogram *histogram)
{
  guint64 total = 0, end, count;
  for (guint i = 0; i < json_array_get_length (buckets); i++)
    {
      JsonNode *node = json_array_get_element (buckets, i);
      JsonArray *pair = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
      if (pair == NULL || json_array_get_length (pair) != 2
          || !number (json_array_get_element (pair, 0), &end)
          || !number (json_array_get_element (pair, 1), &count))
        return FALSE;
      guint bucket = gemem_histogram_bucket (end);
      if (gemem_histogram_bucket_end (bucket) != end || histogram->buckets[bucket] != 0
          || count == 0 || count > histogram->count - total)
        return FALSE;
      histogram->buckets[bucket] = count;
      total += count;
    }
  return total == histogram->count;
}

static gboolean
read_histogram (const ResultReading *reading, JsonObject *object, const char *name,
                GememHistogram *histogram)
{
  JsonObject *source = member_object (reading, object, name);
  JsonArray *buckets = source != NULL ? member_array (reading, source, "buckets") : NULL;
  if (buckets == NULL)
    return FALSE;
  gemem_histogram_init (histogram);
  if (!number (json_object_get_member (source, "count"), &histogram->count)
      || !number (json_object_get_member (source, "sum"), &histogram->sum)
      || !number (json_object_get_member (source, "min"), &histogram->min)
      || !number (json_object_get_member (source, "max"), &histogram->max)
      || !read_buckets (buckets, histogram))
    return refuse (reading, "'%s' is no histogram whose buckets add up to its count", name);
  return TRUE;
}

/* Reads the additional members of @call in a measured run. */
static gboolean
read_measured (const ResultReading *reading, JsonObject *counts, guint call, GememResult *result)
{
  if (!json_object_has_member (counts, "measured_ns"))
    return TRUE;
  if (result->measured_calls == NULL)
    {
      result->measured_calls = g_new (GememHistogram, GEMEM_CALL_COUNT);
      for (guint i = 0; i < GEMEM_CALL_COUNT; i++)
        gemem_histogram_init (&result->measured_calls[i]);
    }
  return read_histogram (reading, counts, "measured_ns", &result->measured_calls[call]);
}

static gboolean
read_calls (const ResultReading *reading, JsonObject *object, GememResult *result)
{
  JsonObject *calls = member_object (reading, object, "calls");
  for (guint call = 0; calls != NULL && call < GEMEM_CALL_COUNT; call++)
    {
      JsonObject *counts = member_object (reading, calls,
                                          gemem_device_call_name ((GememDeviceCall) call));
      if (counts == NULL)
        return FALSE;
      if (!number (json_object_get_member (counts, "count"), &result->calls[call])
          || !number (json_object_get_member (counts, "refused"), &result->refused[call])
          || !number (json_object_get_member (counts, "modelled_ns"), &result->call_ns[call]))
        return refuse (reading, "'%s' in 'calls' lacks a number",
                       gemem_device_call_name ((GememDeviceCall) call));
      if (!read_measured (reading, counts, call, result))
        return FALSE;
    }
  return calls != NULL;
}

/* A row of a "rows" array: values in the order of the columns, which is that of the table. */
static gboolean
read_row (const ResultReading *reading, const GememJsonArray *array, JsonNode *node,
          gpointer element)
{
  JsonArray *row = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
  guint column = 0;
  for (const GememJsonField *field = array->fields; field->name != NULL; field++, column++)
    {
      const gboolean there = row != NULL && column < json_array_get_length (row);
      if (row == NULL || (!there && !field->added)
          || !read_field (reading, field, there ? json_array_get_element (row, column) : NULL,
                          element))
        return refuse (reading, "a row of '%s' has no good '%s'", array->name, field->name);
    }
  return TRUE;
}

static gboolean
check_columns (const ResultReading *reading, const GememJsonArray *array, JsonObject *source)
{
  JsonArray *columns = member_array (reading, source, "columns");
  guint column = 0;
  for (const GememJsonField *field = array->fields; columns != NULL && field->name != NULL;
       field++, column++)
    {
      JsonNode *node = column < json_array_get_length (columns)
                           ? json_array_get_element (columns, column)
                           : NULL;
      if (node == NULL && field->added)
        continue;
      if (!holds (node, G_TYPE_STRING) || strcmp (json_node_get_string (node), field->name) != 0)
        return refuse (reading, "column %u of '%s' is not '%s'", column, array->name, field->name);
    }
  return columns != NULL;
}

static gboolean
read_array (const ResultReading *reading, const GememJsonArray *array, JsonObject *object,
            GememResult *result)
{
  GArray *elements = *(GArray **) (gpointer) ((char *) result + array->offset);
  if (array->added && !json_object_has_member (object, array->name))
    return TRUE;
  JsonObject *source = array->rows ? member_object (reading, object, array->name) : object;
  if (source == NULL || (array->rows && !check_columns (reading, array, source)))
    return FALSE;
  JsonArray *nodes = member_array (reading, source, array->rows ? "rows" : array->name);
  if (nodes == NULL)
    return FALSE;
  g_array_set_size (elements, json_array_get_length (nodes));
  if (elements->len > 0)
    memset (elements->data, 0, elements->len * array->size);
  for (guint i = 0; i < elements->len; i++)
    {
      JsonNode *node = json_array_get_element (nodes, i);
      gpointer element = elements->data + i * array->size;
      if (array->rows ? !read_row (reading, array, node, element)
                      : !JSON_NODE_HOLDS_OBJECT (node)
                            || !read_struct (reading, array->name, array->fields,
                                             json_node_get_object (node), element))
        return *reading->error != NULL
                   ? FALSE
                   : refuse (reading, "element %u of '%s' is no object", i, array->name);
    }
  return TRUE;
}

static GememResult *read_result (ResultReading *reading, JsonObject *object);

/* The members that only programs on a shared device have. */
static gboolean
read_programs (ResultReading *reading, JsonObject *object, GememResult *result)
{
  JsonNode *order = json_object_get_member (object, "share_order");
  JsonArray *programs;

  if (order == NULL)
    return TRUE;
  for (guint i = 0; gemem_json_orders[i] != NULL && holds (order, G_TYPE_STRING); i++)
    if (strcmp (gemem_json_orders[i], json_node_get_string (order)) == 0)
      result->share_order = gemem_json_orders[i];
  if (result->share_order == NULL || ++reading->depth > 1)
    return refuse (reading, "'share_order' is not one of a run of several programs");
  if (!read_array (reading, &gemem_json_shares, object, result)
      || (programs = member_array (reading, object, "programs")) == NULL)
    return FALSE;
  result->programs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);
  for (guint i = 0; i < json_array_get_length (programs); i++)
    {
      JsonNode *node = json_array_get_element (programs, i);
      GememResult *one = JSON_NODE_HOLDS_OBJECT (node)
                             ? read_result (reading, json_node_get_object (node))
                             : NULL;
      if (one == NULL)
        return *reading->error != NULL ? FALSE : refuse (reading, "program %u is no object", i);
      g_ptr_array_add (result->programs, one);
    }
  reading->depth--;
  if (result->programs->len == 0)
    return refuse (reading, "'programs' is empty");
  for (guint i = 0; i < result->shares->len; i++)
    {
      const GememShare *share = &g_array_index (result->shares, GememShare, i);
      if (share->failed >= result->programs->len || share->program != i % result->programs->len)
        return refuse (reading, "element %u of 'shares' names no program, or the wrong one", i);
    }
  return result->shares->len / result->programs->len <= result->oom->len
         || refuse (reading, "'shares' has more failures than 'oom'");
}

static GememResult *
read_result (ResultReading *reading, JsonObject *object)
{
  GememResult *result = gemem_result_new ();
  reading->texts = result->texts;
  JsonObject *values = member_object (reading, object, "values");
  gboolean ok = values != NULL && read_struct (reading, "values", gemem_json_values, values, result)
                && read_texts (reading, object, result) && read_calls (reading, object, result);
  for (const GememJsonMember *list = gemem_json_settings; ok && list->name != NULL; list++)
    ok = read_settings (reading, object, list,
                        (GPtrArray **) (gpointer) ((char *) result + list->offset));
  for (const GememJsonMember *histogram = gemem_json_histograms; ok && histogram->name != NULL;
       histogram++)
    ok = read_histogram (reading, object, histogram->name,
                         (GememHistogram *) (gpointer) ((char *) result + histogram->offset));
  for (const GememJsonArray *array = gemem_json_arrays; ok && array->name != NULL; array++)
    ok = read_array (reading, array, object, result);
  JsonObject *fidelity = ok ? member_object (reading, object, "fidelity") : NULL;
  ok = fidelity != NULL
       && read_struct (reading, "fidelity", gemem_json_fidelity, fidelity, &result->fidelity)
       && read_programs (reading, object, result);
  if (!ok)
    g_clear_pointer (&result, gemem_result_free);
  return result;
}

/* ---- the file */

/* The array of results in the document, or NULL. */
static JsonArray *
find_results (const char *path, JsonNode *root, GError **error)
{
  JsonObject *object = root != NULL && JSON_NODE_HOLDS_OBJECT (root) ? json_node_get_object (root)
                                                                     : NULL;
  JsonNode *schema = object != NULL ? json_object_get_member (object, "schema") : NULL;
  JsonNode *version = object != NULL ? json_object_get_member (object, "version") : NULL;
  JsonNode *results = object != NULL ? json_object_get_member (object, "results") : NULL;
  if (!holds (schema, G_TYPE_STRING)
      || strcmp (json_node_get_string (schema), GEMEM_JSON_SCHEMA) != 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: not a file of schema %s" ADVICE, path,
                 GEMEM_JSON_SCHEMA);
  else if (!holds (version, G_TYPE_INT64))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: no version" ADVICE, path);
  else if (json_node_get_int (version) != GEMEM_JSON_VERSION)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s: version %" G_GINT64_FORMAT
                 " of schema %s, but this program reads version %d; "
                 "replay the trace again with this program",
                 path, json_node_get_int (version), GEMEM_JSON_SCHEMA, GEMEM_JSON_VERSION);
  else if (results == NULL || !JSON_NODE_HOLDS_ARRAY (results))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: no array 'results'" ADVICE, path);
  else
    return json_node_get_array (results);
  return NULL;
}

static gboolean
read_results (const char *path, JsonArray *source, GPtrArray *results, GError **error)
{
  const guint before = results->len;
  GError *local = NULL;
  ResultReading reading = { .path = path, .error = &local };
  for (; reading.index < json_array_get_length (source); reading.index++)
    {
      JsonNode *node = json_array_get_element (source, reading.index);
      GememResult *result = NULL;
      if (JSON_NODE_HOLDS_OBJECT (node))
        result = read_result (&reading, json_node_get_object (node));
      else
        refuse (&reading, "no object");
      if (result == NULL)
        {
          while (results->len > before)
            gemem_result_free (g_ptr_array_steal_index (results, results->len - 1));
          g_propagate_error (error, local);
          return FALSE;
        }
      g_ptr_array_add (results, result);
    }
  return TRUE;
}

/* The decompressed bytes of @path ("-": standard input), NUL-terminated. */
static char *
read_text (const char *path, gsize *length, GError **error)
{
  GememInput *input = gemem_input_open (path, error);
  const guint8 *data;
  char *text = NULL;
  gssize n;

  if (input == NULL)
    return NULL;
  gemem_input_set_single_pass (input);
  n = gemem_input_fill (input, G_MAXSSIZE, &data, error);
  if (n >= 0)
    {
      text = g_malloc ((gsize) n + 1);
      memcpy (text, data, (gsize) n);
      text[n] = '\0';
      *length = (gsize) n;
    }
  gemem_input_close (input);
  return text;
}

gboolean
gemem_results_read_json (const char *path, GPtrArray *results, GError **error)
{
  g_autoptr (GError) local = NULL;
  gsize length = 0;
  g_autofree char *text = read_text (path, &length, error);
  const char *problem;
  if (text == NULL)
    return FALSE;
  path = strcmp (path, "-") == 0 ? "standard input" : path;
  if ((problem = check_text (text, length)) != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: %s" ADVICE, path, problem);
      return FALSE;
    }
  g_autoptr (JsonParser) parser = json_parser_new_immutable ();
  if (!json_parser_load_from_data (parser, text, (gssize) length, &local))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: not JSON (%s)" ADVICE, path,
                   g_strdelimit (local->message, "\r\n", ' ')); /* it quotes the file */
      return FALSE;
    }
  JsonArray *source = find_results (path, json_parser_get_root (parser), error);
  return source != NULL && read_results (path, source, results, error);
}
