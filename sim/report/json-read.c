/* json-read.c - reads the files that json.c wrote: for `plot`, and to compare with earlier results.
 *
 * Input is not trusted.  Every field of version 1 but those added later must be present with its
 * type, and no object may have two members of a name; anything else is GEMEM_ERROR_INPUT "FILE: what;
 * what to do" and leaves @results unchanged.  "measures" and percentiles are not read but recomputed.
 * Cost: one pass; in memory is one result at a time, as json-tree.h has it, of at most 1 GiB and as
 * many bytes of text.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/json-tree.h"
#include "base/params.h"
#include "base/units.h"
#include "sim/engine/run.h"
#include "sim/report/json-fields.h"
#include "sim/report/report-private.h"
#include "sim/report/report.h"

#define MAX_VALUES (1u << 26)
#define MAX_TEXTS (1u << 30)
#define MAX_TEXT ((gsize) 16 << 20)
#define ADVICE "; give a file written by 'replay' or 'compare' with --format=json"

typedef struct
{
  GememJsonTree *tree; /* the current result */
  GPtrArray *results;
  GStringChunk *texts; /* of origins of the current result */
  guint depth;         /* 1: of a program of it */
  gboolean schema, has_version, has_results;
  gint64 version;
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
  g_set_error (reading->error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: %s",
               gemem_json_tree_where (reading->tree), what);
  return FALSE;
}

/* ---- values; entry 0, the result itself, stands for "not there" */

static guint32
find (const ResultReading *reading, guint32 object, const char *name)
{
  return gemem_json_tree_find (reading->tree, object, name);
}

static guint32
first (const ResultReading *reading, guint32 parent)
{
  return gemem_json_tree_first (reading->tree, parent);
}

static guint32
next (const ResultReading *reading, guint32 parent, guint32 child)
{
  return gemem_json_tree_next (reading->tree, parent, child);
}

static gboolean
holds (const ResultReading *reading, guint32 entry, GememJsonToken token)
{
  return entry != 0 && gemem_json_tree_token (reading->tree, entry) == token;
}

static const char *
text_of (const ResultReading *reading, guint32 entry)
{
  return gemem_json_tree_text (reading->tree, entry);
}

/* The member @name, an object or an array; 0 after refuse(). */
static guint32
member (const ResultReading *reading, guint32 object, const char *name, GememJsonToken token)
{
  const guint32 entry = find (reading, object, name);
  if (holds (reading, entry, token))
    return entry;
  refuse (reading, "no %s '%s'", token == GEMEM_JSON_BEGIN_OBJECT ? "object" : "array", name);
  return 0;
}

static guint32
member_object (const ResultReading *reading, guint32 object, const char *name)
{
  return member (reading, object, name, GEMEM_JSON_BEGIN_OBJECT);
}

static guint32
member_array (const ResultReading *reading, guint32 object, const char *name)
{
  return member (reading, object, name, GEMEM_JSON_BEGIN_ARRAY);
}

static gboolean
parse_digits (const char *text, guint base, guint64 *value)
{
  return g_ascii_isalnum (*text) && gemem_parse_digits (text, base, 0, G_MAXUINT64, value);
}

static gboolean
number (const ResultReading *reading, guint32 entry, guint64 *value)
{
  *value = G_MAXUINT64;
  return holds (reading, entry, GEMEM_JSON_NULL)
         || ((holds (reading, entry, GEMEM_JSON_NUMBER)
              || holds (reading, entry, GEMEM_JSON_STRING))
             && parse_digits (text_of (reading, entry), 10, value));
}

static gboolean
hexadecimal (const ResultReading *reading, guint32 entry, guint64 *value)
{
  *value = G_MAXUINT64;
  return holds (reading, entry, GEMEM_JSON_NULL)
         || (holds (reading, entry, GEMEM_JSON_STRING)
             && g_str_has_prefix (text_of (reading, entry), "0x")
             && parse_digits (text_of (reading, entry) + 2, 16, value));
}

static gboolean
boolean (const ResultReading *reading, guint32 entry, gboolean *value)
{
  *value = holds (reading, entry, GEMEM_JSON_TRUE);
  return *value || holds (reading, entry, GEMEM_JSON_FALSE);
}

/* The index of a name in @names. */
static gboolean
choice (const ResultReading *reading, guint32 entry, const char *const *names, guint *value)
{
  for (guint i = 0; holds (reading, entry, GEMEM_JSON_STRING) && names[i] != NULL; i++)
    if (strcmp (text_of (reading, entry), names[i]) == 0)
      {
        *value = i;
        return TRUE;
      }
  return FALSE;
}

static gboolean
read_origin (const ResultReading *reading, guint32 entry, GememOrigin *origin)
{
  const guint32 by = find (reading, entry, "by");
  const gboolean has_text = holds (reading, by, GEMEM_JSON_STRING);
  if (!holds (reading, entry, GEMEM_JSON_BEGIN_OBJECT))
    return holds (reading, entry, GEMEM_JSON_NULL);
  if (!number (reading, find (reading, entry, "event"), &origin->seq)
      || !boolean (reading, find (reading, entry, "initial"), &origin->initial)
      || (!has_text && !holds (reading, by, GEMEM_JSON_NULL)))
    return FALSE;
  origin->known = TRUE;
  if (has_text)
    origin->by = g_string_chunk_insert_const (reading->texts, text_of (reading, by));
  return TRUE;
}

static gboolean
read_field (const ResultReading *reading, const GememJsonField *field, guint32 entry, gpointer base)
{
  gpointer at = (char *) base + field->offset;
  guint64 wide;
  guint index;
  if (field->type == GEMEM_FIELD_WHY)
    *(GememIdleCause *) at = GEMEM_IDLE_CAUSES;
  if (entry == 0 && field->added)
    return TRUE;
  switch (field->type)
    {
    case GEMEM_FIELD_NUMBER:
      return number (reading, entry, at);
    case GEMEM_FIELD_HEX:
      return hexadecimal (reading, entry, at);
    case GEMEM_FIELD_STATE:
      if (!choice (reading, entry, gemem_json_states, &index))
        return FALSE;
      *(GememSpanState *) at = (GememSpanState) index;
      return TRUE;
    case GEMEM_FIELD_WHY:
      if (holds (reading, entry, GEMEM_JSON_NULL))
        return TRUE;
      G_GNUC_FALLTHROUGH;
    case GEMEM_FIELD_CAUSE:
      if (!choice (reading, entry, gemem_json_causes, &index))
        return FALSE;
      *(GememIdleCause *) at = (GememIdleCause) index;
      return TRUE;
    case GEMEM_FIELD_INDEX:
      if (!number (reading, entry, &wide) || wide > G_MAXUINT32)
        return FALSE;
      *(guint32 *) at = (guint32) wide;
      return TRUE;
    case GEMEM_FIELD_BOOL:
      return boolean (reading, entry, at);
    case GEMEM_FIELD_ORIGIN:
      return entry != 0 && read_origin (reading, entry, at);
    }
  return FALSE;
}

static gboolean
read_struct (const ResultReading *reading, const char *name, const GememJsonField *fields,
             guint32 object, gpointer base)
{
  for (const GememJsonField *field = fields; field->name != NULL; field++)
    if (!read_field (reading, field, find (reading, object, field->name), base))
      return refuse (reading, "'%s' in '%s' is missing or of the wrong kind", field->name, name);
  return TRUE;
}

/* ---- members of a result */

static gboolean
read_texts (const ResultReading *reading, guint32 object, GememResult *result)
{
  const guint32 ordinal = find (reading, object, "device_ordinal");
  const gboolean host = holds (reading, ordinal, GEMEM_JSON_NULL);
  gint64 device = GEMEM_DEVICE_HOST;
  for (const GememJsonMember *text = gemem_json_texts; text->name != NULL; text++)
    {
      const guint32 entry = find (reading, object, text->name);
      gboolean empty = entry != 0 ? holds (reading, entry, GEMEM_JSON_NULL)
                                        && strcmp (text->name, "label") != 0
                                  : text->added;
      if (!empty && !holds (reading, entry, GEMEM_JSON_STRING))
        return refuse (reading, "'%s' is missing or no string", text->name);
      *(char **) (gpointer) ((char *) result
                             + text->offset) = empty ? NULL : g_strdup (text_of (reading, entry));
    }
  if (!host
      && (!holds (reading, ordinal, GEMEM_JSON_NUMBER)
          || !gemem_parse_int (text_of (reading, ordinal), &device, NULL) || device < -1
          || device > G_MAXUINT16))
    return refuse (reading, "'device_ordinal' is missing or no device");
  if (!boolean (reading, find (reading, object, "partial"), &result->partial))
    return refuse (reading, "'partial' is missing or neither true nor false");
  result->device_ordinal = (int) device;
  return TRUE;
}

static gboolean
read_settings (const ResultReading *reading, guint32 object, const GememJsonMember *list,
               GPtrArray **settings)
{
  const gboolean absent = list->added && find (reading, object, list->name) == 0;
  const guint32 source = absent ? 0 : member_object (reading, object, list->name);
  if (source == 0 && !absent)
    return FALSE;
  *settings = gemem_settings_new ();
  for (guint32 i = absent ? 0 : first (reading, source); i != 0; i = next (reading, source, i))
    {
      const gboolean none = holds (reading, i, GEMEM_JSON_NULL);
      const char *key = gemem_json_tree_key (reading->tree, i), *value = text_of (reading, i);
      if (!none && !holds (reading, i, GEMEM_JSON_STRING)
          && (!holds (reading, i, GEMEM_JSON_NUMBER) || strpbrk (value, ".eE") != NULL))
        return refuse (reading, "'%s' in '%s' is neither text nor a number", key, list->name);
      gemem_settings_add (*settings, key, none ? NULL : value);
    }
  return TRUE;
}

static gboolean
read_buckets (const ResultReading *reading, guint32 buckets, GememHistogram *histogram)
{
  guint64 total = 0, end, count;
  for (guint32 i = first (reading, buckets); i != 0; i = next (reading, buckets, i))
    {
      const guint32 a = holds (reading, i, GEMEM_JSON_BEGIN_ARRAY) ? first (reading, i) : 0,
                    b = a != 0 ? next (reading, i, a) : 0;
      if (b == 0 || next (reading, i, b) != 0 || !number (reading, a, &end)
          || !number (reading, b, &count))
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
read_histogram (const ResultReading *reading, guint32 object, const char *name,
                GememHistogram *histogram)
{
  const guint32 source = member_object (reading, object, name),
                buckets = source != 0 ? member_array (reading, source, "buckets") : 0;
  if (buckets == 0)
    return FALSE;
  gemem_histogram_init (histogram);
  if (!number (reading, find (reading, source, "count"), &histogram->count)
      || !number (reading, find (reading, source, "sum"), &histogram->sum)
      || !number (reading, find (reading, source, "min"), &histogram->min)
      || !number (reading, find (reading, source, "max"), &histogram->max)
      || !read_buckets (reading, buckets, histogram))
    return refuse (reading, "'%s' is no histogram whose buckets add up to its count", name);
  return TRUE;
}

/* Reads the additional members of @call in a measured run. */
static gboolean
read_measured (const ResultReading *reading, guint32 counts, guint call, GememResult *result)
{
  if (find (reading, counts, "measured_ns") == 0)
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
read_calls (const ResultReading *reading, guint32 object, GememResult *result)
{
  const guint32 calls = member_object (reading, object, "calls");
  for (guint call = 0; calls != 0 && call < GEMEM_CALL_COUNT; call++)
    {
      const char *name = gemem_device_call_name ((GememDeviceCall) call);
      const guint32 counts = member_object (reading, calls, name);
      if (counts == 0)
        return FALSE;
      if (!number (reading, find (reading, counts, "count"), &result->calls[call])
          || !number (reading, find (reading, counts, "refused"), &result->refused[call])
          || !number (reading, find (reading, counts, "modelled_ns"), &result->call_ns[call]))
        return refuse (reading, "'%s' in 'calls' lacks a number", name);
      if (!read_measured (reading, counts, call, result))
        return FALSE;
    }
  return calls != 0;
}

/* A row of a "rows" array: values in the order of the columns, which is that of the table. */
static gboolean
read_row (const ResultReading *reading, const GememJsonArray *array, guint32 row, gpointer element)
{
  const gboolean is_array = holds (reading, row, GEMEM_JSON_BEGIN_ARRAY);
  guint32 entry = is_array ? first (reading, row) : 0;
  for (const GememJsonField *field = array->fields; field->name != NULL; field++)
    {
      if (!is_array || !read_field (reading, field, entry, element))
        return refuse (reading, "a row of '%s' has no good '%s'", array->name, field->name);
      entry = entry != 0 ? next (reading, row, entry) : 0;
    }
  return TRUE;
}

static gboolean
check_columns (const ResultReading *reading, const GememJsonArray *array, guint32 source)
{
  const guint32 columns = member_array (reading, source, "columns");
  guint32 entry = columns != 0 ? first (reading, columns) : 0;
  guint column = 0;
  for (const GememJsonField *field = array->fields; columns != 0 && field->name != NULL;
       field++, column++)
    {
      if (entry == 0 && field->added)
        continue;
      if (!holds (reading, entry, GEMEM_JSON_STRING)
          || strcmp (text_of (reading, entry), field->name) != 0)
        return refuse (reading, "column %u of '%s' is not '%s'", column, array->name, field->name);
      entry = next (reading, columns, entry);
    }
  return columns != 0;
}

static gboolean
read_array (const ResultReading *reading, const GememJsonArray *array, guint32 object,
            GememResult *result)
{
  GArray *elements = *(GArray **) (gpointer) ((char *) result + array->offset);
  if (array->added && find (reading, object, array->name) == 0)
    return TRUE;
  const guint32 source = array->rows ? member_object (reading, object, array->name) : object;
  if ((array->rows && (source == 0 || !check_columns (reading, array, source))))
    return FALSE;
  const guint32 list = member_array (reading, source, array->rows ? "rows" : array->name);
  if (list == 0)
    return FALSE;
  guint n = 0;
  for (guint32 i = first (reading, list); i != 0; i = next (reading, list, i))
    n++;
  g_array_set_size (elements, n);
  if (n > 0)
    memset (elements->data, 0, n * array->size);
  gpointer element = elements->data;
  for (guint32 i = first (reading, list); i != 0;
       i = next (reading, list, i), element = (char *) element + array->size)
    if (array->rows ? !read_row (reading, array, i, element)
                    : !holds (reading, i, GEMEM_JSON_BEGIN_OBJECT)
                          || !read_struct (reading, array->name, array->fields, i, element))
      return *reading->error != NULL
                 ? FALSE
                 : refuse (reading, "element %zu of '%s' is no object",
                           (gsize) ((char *) element - elements->data) / array->size, array->name);
  return TRUE;
}

static GememResult *read_result (ResultReading *reading, guint32 object);

/* The members that only programs on a shared device have. */
static gboolean
read_programs (ResultReading *reading, guint32 object, GememResult *result)
{
  const guint32 order = find (reading, object, "share_order");
  guint32 programs;

  if (order == 0)
    return TRUE;
  for (guint i = 0; gemem_json_orders[i] != NULL && holds (reading, order, GEMEM_JSON_STRING); i++)
    if (strcmp (gemem_json_orders[i], text_of (reading, order)) == 0)
      result->share_order = gemem_json_orders[i];
  if (result->share_order == NULL || ++reading->depth > 1)
    return refuse (reading, "'share_order' is not one of a run of several programs");
  if (!read_array (reading, &gemem_json_shares, object, result)
      || (programs = member_array (reading, object, "programs")) == 0)
    return FALSE;
  result->programs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);
  for (guint32 i = first (reading, programs); i != 0; i = next (reading, programs, i))
    {
      GememResult *one = holds (reading, i, GEMEM_JSON_BEGIN_OBJECT) ? read_result (reading, i)
                                                                     : NULL;
      if (one == NULL)
        return *reading->error != NULL
                   ? FALSE
                   : refuse (reading, "program %u is no object", result->programs->len);
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
read_result (ResultReading *reading, guint32 object)
{
  GememResult *result = gemem_result_new ();
  reading->texts = result->texts;
  const guint32 values = member_object (reading, object, "values");
  gboolean ok = values != 0 && read_struct (reading, "values", gemem_json_values, values, result)
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
  const guint32 fidelity = ok ? member_object (reading, object, "fidelity") : 0;
  ok = fidelity != 0
       && read_struct (reading, "fidelity", gemem_json_fidelity, fidelity, &result->fidelity)
       && read_programs (reading, object, result);
  if (!ok)
    g_clear_pointer (&result, gemem_result_free);
  return result;
}

/* ---- the file */

static gboolean
read_results (ResultReading *reading, GememJson *json, const char *name)
{
  int token;

  if (reading->has_results)
    return refuse (reading, "'results' is given twice");
  reading->has_results = TRUE;
  for (guint i = 0; (token = gemem_json_next (json, reading->error)) != GEMEM_JSON_END_ARRAY; i++)
    {
      GememResult *result;

      gemem_json_tree_set_where (reading->tree, "%s: result %u", name, i);
      if (token < 0 || !gemem_json_tree_read (reading->tree, json, token, reading->error)
          || !gemem_json_tree_check_names (reading->tree, reading->error))
        return FALSE;
      if (token != GEMEM_JSON_BEGIN_OBJECT)
        return refuse (reading, "no object");
      result = read_result (reading, 0);
      if (result == NULL)
        return FALSE;
      g_ptr_array_add (reading->results, result);
    }
  return TRUE;
}

/* Reads the member whose name was just read. */
static gboolean
read_member (ResultReading *reading, GememJson *json, const char *name)
{
  const gboolean is_schema = strcmp (gemem_json_text (json), "schema") == 0,
                 is_version = strcmp (gemem_json_text (json), "version") == 0,
                 is_results = strcmp (gemem_json_text (json), "results") == 0;
  const int token = gemem_json_next (json, reading->error);

  if (is_schema)
    reading->schema = token == GEMEM_JSON_STRING
                      && strcmp (gemem_json_text (json), GEMEM_JSON_SCHEMA) == 0;
  if (is_version)
    reading->has_version = token == GEMEM_JSON_NUMBER
                           && gemem_parse_int (gemem_json_text (json), &reading->version, NULL);
  return is_results && token == GEMEM_JSON_BEGIN_ARRAY && reading->version == GEMEM_JSON_VERSION
             ? read_results (reading, json, name)
             : token >= 0 && gemem_json_skip (json, token, reading->error);
}

static gboolean
read_document (ResultReading *reading, GememJson *json, const char *name)
{
  int token = gemem_json_next (json, reading->error);

  if (token == GEMEM_JSON_BEGIN_OBJECT)
    while ((token = gemem_json_next (json, reading->error)) == GEMEM_JSON_KEY)
      if (!read_member (reading, json, name))
        return FALSE;
  return token >= 0 && gemem_json_skip (json, token, reading->error)
         && gemem_json_next (json, reading->error) == GEMEM_JSON_END;
}

/* Checks what read_document() found at the top. */
static gboolean
check_document (const ResultReading *reading)
{
  return (reading->schema || refuse (reading, "not a file of schema %s", GEMEM_JSON_SCHEMA))
         && (reading->has_version || refuse (reading, "no version"))
         && (reading->version != GEMEM_JSON_VERSION || reading->has_results
             || refuse (reading, "no array 'results'"));
}

gboolean
gemem_results_read_json (const char *path, GPtrArray *results, GError **error)
{
  GememInput *input = gemem_input_open (path, error);

  return input != NULL && gemem_results_read_input (input, results, error);
}

gboolean
gemem_results_read_input (GememInput *input, GPtrArray *results, GError **error)
{
  const guint before = results->len;
  GError *local = NULL;
  ResultReading reading = { .results = results, .version = GEMEM_JSON_VERSION, .error = &local };
  g_autofree char *name = g_strdup (gemem_input_name (input));
  GememJson *json = gemem_json_new_long (input, MAX_TEXT);
  gemem_input_set_single_pass (input);
  reading.tree = gemem_json_tree_new ();
  gemem_json_tree_set_limits (reading.tree, MAX_VALUES, MAX_TEXTS);
  gemem_json_tree_set_where (reading.tree, "%s", name);
  if (!read_document (&reading, json, name) || !check_document (&reading))
    g_set_error (error, local->domain, local->code, "%s" ADVICE, local->message);
  else if (reading.version != GEMEM_JSON_VERSION)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s: version %" G_GINT64_FORMAT
                 " of schema %s, but this program reads version %d; "
                 "replay the trace again with this program",
                 name, reading.version, GEMEM_JSON_SCHEMA, GEMEM_JSON_VERSION);
  const gboolean ok = local == NULL && reading.version == GEMEM_JSON_VERSION;
  while (!ok && results->len > before)
    gemem_result_free (g_ptr_array_steal_index (results, results->len - 1));
  g_clear_error (&local);
  gemem_json_tree_free (reading.tree);
  gemem_json_free (json);
  gemem_input_close (input);
  return ok;
}
