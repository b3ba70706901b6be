/* test-report-json.c - results as JSON, byte for byte, and read back. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "sim/report/json-fields.h"
#include "sim/report/measures.h"
#include "sim/report/report.h"
#include "tests/util/sample-result.h"
#include "tests/util/testutil.h"

static void
test_json_string (void)
{
  static const struct
  {
    const char *text, *json;
  } cases[] = {
    { NULL, "null" },
    { "", "\"\"" },
    { "a\"b\\c/", "\"a\\\"b\\\\c/\"" },
    { "\n\r\t\001\037\177", "\"\\n\\r\\t\\u0001\\u001f\\u007f\"" },
    { "\303\251", "\"\303\251\"" },
    { "a\377b", "\"a\357\277\275b\"" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GString) out = g_string_new ("=");
      gemem_json_append_string (out, cases[i].text);
      g_assert_true (out->str[0] == '=');
      g_assert_cmpstr (out->str + 1, ==, cases[i].json);
    }
}

static void
test_json_text (void)
{
  GememResult *result = test_served_result ("x.gmt", TEST_ODD_LABEL);
  result->capacity = GEMEM_UNLIMITED;
  result->peak_live_seq = G_MAXUINT64 - 1;
  g_autofree char *text = test_report_of (GEMEM_FORMAT_JSON, &result, 1, FALSE, 0);
  g_assert_true (
      g_str_has_prefix (text, "{\n  \"schema\": \"gemem-result\",\n  \"version\": 2,\n  "
                              "\"results\": [\n    {\n      \"trace\": \"x.gmt\",\n"
                              "      \"trace_sha256\": null,\n      \"allocator\": \"sample\",\n"
                              "      \"label\": \"p|y_2:a={\\\"q\\\"}\\\\,b\\n\",\n"));
  test_assert_contains (text,
                        "\n        \"overhead\": 1.280000,\n        \"utilisation\": 0.750000,\n  "
                        "      \"peak_live\": 3221225472,\n");
  test_assert_contains (text, "\n        \"peak_live_seq\": \"18446744073709551614\",\n");
  test_assert_contains (text, "\n        \"capacity\": null,\n");
  test_assert_contains (text, "\n      \"parameters\": {\n        \"chunk_mb\": \"64\",\n        "
                              "\"path\": null\n      },\n");
  test_assert_contains (
      text,
      "\n      \"stats\": {\n        \"num_ooms\": 1,\n        \"num_retries\": 0\n      },\n");
  test_assert_contains (
      text, "\n        \"malloc\": {\"count\": 4, \"refused\": 1, \"modelled_ns\": 400000},\n");
  test_assert_contains (text,
                        "\n      \"alloc_ns\": {\"count\": 4, \"sum\": 55550, \"min\": 50, "
                        "\"max\": 50000, \"p50\": 503, \"p90\": 50000, \"p99\": 50000, "
                        "\"p99_9\": 50000, \"buckets\": [[50,1],[503,1],[5119,1],[50175,1]]},\n");
  test_assert_contains (
      text,
      "\n        {\"stream\": \"0x7f0000000000\", \"peak_live\": 1073741824, \"peak_allocated\": "
      "1073741824, \"allocs\": 2},\n"
      "        {\"stream\": null, \"peak_live\": 1, \"peak_allocated\": 512, \"allocs\": 1}\n");
  test_assert_contains (
      text,
      "\n        [0,0,1073741824,1073741824,2147483648,1073741824,1073741824,2147483648,null],\n");
  test_assert_contains (
      text,
      "\n        "
      "[\"0x40000\",4096,\"0x40000\",16384,\"0x7\",1,\"pending\",\"0x0\",0,0,null,\"waiting\"],\n");
  g_assert_null (strstr (text, ": nan"));
  g_assert_null (strstr (text, ": inf"));
  gemem_result_free (result);
}

/* ---- read back */

static gboolean
read_text (const char *text, gssize length, GPtrArray *results, GError **error)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "result.json", NULL);
  g_assert_true (g_file_set_contents (path, text, length, NULL));
  return gemem_results_read_json (path, results, error);
}

/* Marks the bytes of a GememResult that a table covers. */
static void
cover (guint8 *bytes, gsize offset, gsize size)
{
  for (gsize i = offset; i < offset + size; i++)
    {
      g_assert_cmpuint (bytes[i], ==, 0);
      bytes[i] = 1;
    }
}

/* Every field of result.h is written: uncovered bytes are padding, which is shorter than any
 * number. */
static void
test_complete (void)
{
  guint8 bytes[sizeof (GememResult)] = { 0 };
  gsize hole = 0;
  for (const GememJsonMember *member = gemem_json_texts; member->name != NULL; member++)
    cover (bytes, member->offset, sizeof (char *));
  for (const GememJsonMember *member = gemem_json_settings; member->name != NULL; member++)
    cover (bytes, member->offset, sizeof (GPtrArray *));
  for (const GememJsonMember *member = gemem_json_histograms; member->name != NULL; member++)
    cover (bytes, member->offset, sizeof (GememHistogram));
  for (const GememJsonField *field = gemem_json_values; field->name != NULL; field++)
    cover (bytes, field->offset,
           field->type == GEMEM_FIELD_BOOL ? sizeof (gboolean) : sizeof (guint64));
  for (const GememJsonArray *array = gemem_json_arrays; array->name != NULL; array++)
    cover (bytes, array->offset, sizeof (GArray *));
  cover (bytes, G_STRUCT_OFFSET (GememResult, device_ordinal), sizeof (int));
  cover (bytes, G_STRUCT_OFFSET (GememResult, partial), sizeof (gboolean));
  /* an array of its own in the report */
  cover (bytes, G_STRUCT_OFFSET (GememResult, not_run), sizeof (gboolean));
  cover (bytes, G_STRUCT_OFFSET (GememResult, calls), 3 * GEMEM_CALL_COUNT * sizeof (guint64));
  cover (bytes, G_STRUCT_OFFSET (GememResult, fidelity), sizeof (GememFidelity));
  /* with the counts of calls */
  cover (bytes, G_STRUCT_OFFSET (GememResult, measured_calls), sizeof (GememHistogram *));
  /* written where origins refer to them */
  cover (bytes, G_STRUCT_OFFSET (GememResult, texts), sizeof (GStringChunk *));
  /* written to a file of its own (--allocator-report) */
  cover (bytes, G_STRUCT_OFFSET (GememResult, report), sizeof (char *));
  /* of a search that ends at the first capacity that is not enough (tune) */
  cover (bytes, G_STRUCT_OFFSET (GememResult, least_above), sizeof (guint64) + sizeof (guint));
  cover (bytes, G_STRUCT_OFFSET (GememResult, more_references), sizeof (guint));
  /* told in the sentence about histories */
  cover (bytes, G_STRUCT_OFFSET (GememResult, histories_left_out), sizeof (guint));
  /* written to a page (sim/page) */
  cover (bytes, G_STRUCT_OFFSET (GememResult, history), sizeof (GememHistory *));
  /* written where programs share a device */
  cover (bytes, G_STRUCT_OFFSET (GememResult, programs), sizeof (GPtrArray *));
  cover (bytes, gemem_json_shares.offset, sizeof (GArray *));
  cover (bytes, G_STRUCT_OFFSET (GememResult, share_order), sizeof (char *));
  for (gsize i = 0; i < sizeof bytes; i++)
    {
      hole = bytes[i] != 0 ? 0 : hole + 1;
      g_assert_cmpuint (hole, <, 8);
    }
}

static void
fill_numbers (GememResult *result)
{
  guint64 next = 1000;
  for (const GememJsonField *field = gemem_json_values; field->name != NULL; field++)
    if (field->type == GEMEM_FIELD_NUMBER)
      *(guint64 *) (gpointer) ((char *) result + field->offset) = next++;
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    {
      result->calls[call] = next++;
      result->refused[call] = next++;
      result->call_ns[call] = next++;
    }
  result->lower_bound = G_MAXUINT64 - 1; /* above the range of a signed number */
  result->capacity = G_MAXUINT64;
  result->trace_sha256 = g_strdup ("0123abcd");
  result->failure = g_strdup ("tab\there \303\251 \"quoted\"");
  result->not_allowed = g_strdup ("event 3: why");
  result->partial = result->capacity_monotone = result->time_weighted = TRUE;
  result->device_ordinal = GEMEM_DEVICE_HOST;
  result->fidelity = (GememFidelity){ 5,           4, 7, 0xffffffffffff0000, 0x2000,
                                      G_MAXUINT64, 4, 3, G_MAXUINT64,        12 };
}

static void
test_round_trip (void)
{
  GememResult *results[] = { test_sample_result ("x.gmt", TEST_ODD_LABEL),
                             test_served_result ("y.gmt", "direct") };
  g_autoptr (GPtrArray) back = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);
  g_autoptr (GError) error = NULL;
  fill_numbers (results[0]);
  gemem_histogram_add (&results[0]->measured_free_ns, G_MAXUINT64);
  gemem_histogram_add (&results[0]->measured_free_ns, 0);
  results[0]->measured_calls = g_new (GememHistogram, GEMEM_CALL_COUNT);
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    gemem_histogram_init (&results[0]->measured_calls[call]);
  gemem_histogram_add (&results[0]->measured_calls[GEMEM_CALL_MAP], 12345);
  g_array_set_size (results[1]->timeline, 0);
  g_array_set_size (results[1]->map, 0);
  g_autofree char *text = test_report_of (GEMEM_FORMAT_JSON, results, 2, FALSE, 0);
  g_assert_true (read_text (text, -1, back, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (back->len, ==, 2);
  g_autofree char *again = test_report_of (GEMEM_FORMAT_JSON, (GememResult *const *) back->pdata, 2,
                                           FALSE, 0);
  g_assert_cmpstr (again, ==, text);
  const GememResult *read = back->pdata[0];
  for (const GememJsonField *field = gemem_json_values; field->name != NULL; field++)
    {
      const gsize size = field->type == GEMEM_FIELD_BOOL ? sizeof (gboolean) : sizeof (guint64);
      g_assert_cmpmem ((const char *) read + field->offset, size,
                       (const char *) results[0] + field->offset, size);
    }
  g_assert_cmpstr (read->label, ==, TEST_ODD_LABEL);
  g_assert_cmpstr (read->failure, ==, results[0]->failure);
  g_assert_cmpstr (read->not_allowed, ==, results[0]->not_allowed);
  g_assert_cmpuint (read->lower_bound, ==, G_MAXUINT64 - 1);
  g_assert_cmpuint (read->capacity, ==, G_MAXUINT64);
  g_assert_cmpint (read->device_ordinal, ==, GEMEM_DEVICE_HOST);
  g_assert_cmpuint (read->fidelity.expected_address, ==, 0xffffffffffff0000);
  g_assert_cmpmem (&read->measured_free_ns, sizeof (GememHistogram), &results[0]->measured_free_ns,
                   sizeof (GememHistogram));
  g_assert_cmpmem (read->measured_calls, GEMEM_CALL_COUNT * sizeof (GememHistogram),
                   results[0]->measured_calls, GEMEM_CALL_COUNT * sizeof (GememHistogram));
  g_assert_null (((const GememResult *) back->pdata[1])->measured_calls);
  g_assert_cmpmem (&read->alloc_ns, sizeof (GememHistogram), &results[0]->alloc_ns,
                   sizeof (GememHistogram));
  g_assert_cmpmem (read->timeline->data, read->timeline->len * sizeof (GememTimelinePoint),
                   results[0]->timeline->data, 3 * sizeof (GememTimelinePoint));
  g_assert_cmpmem (read->map->data, read->map->len * sizeof (GememMapSpan), results[0]->map->data,
                   5 * sizeof (GememMapSpan));
  g_assert_cmpuint (read->oom->len, ==, 1);
  g_assert_true (g_array_index (read->oom, GememOom, 0).avoidable);
  g_assert_cmpuint (g_array_index (read->oom, GememOom, 0).blocking_size, ==, GEMEM_MIB);
  g_assert_cmpuint (((const GememResult *) back->pdata[1])->timeline->len, ==, 0);
  test_free_results (results, 2);
}

static void
assert_same_origin (const GememOrigin *a, const GememOrigin *b)
{
  g_assert_cmpint (a->known, ==, b->known);
  g_assert_cmpint (a->initial, ==, b->initial);
  g_assert_cmpuint (a->seq, ==, b->seq);
  g_assert_cmpstr (a->by, ==, b->by);
}

static void
assert_same_blocks (const GArray *a, const GArray *b)
{
  g_assert_cmpuint (a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++)
    {
      const GememNamedBlock *x = &g_array_index (a, GememNamedBlock, i),
                            *y = &g_array_index (b, GememNamedBlock, i);
      g_assert_cmpuint (x->id, ==, y->id);
      g_assert_cmpuint (x->size, ==, y->size);
      assert_same_origin (&x->origin, &y->origin);
    }
}

/* Origins are read back; a file of a gemem that had none is read too. */
static void
test_round_trip_origins (void)
{
  GememResult *result = test_sample_result ("x.gmt", "direct");
  g_autoptr (GPtrArray) back = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);
  g_autoptr (GError) error = NULL;

  test_sample_origins (result);
  g_autofree char *text = test_report_of (GEMEM_FORMAT_JSON, &result, 1, FALSE, 0);
  test_assert_contains (text, "\"blocking_origin\": {\"event\": 1, \"initial\": false, \"by\": "
                              "\"data.py:30 load\"}}");
  test_assert_contains (text,
                        "\"largest\": [\n        {\"id\": 1, \"size\": 2147483648, \"origin\": "
                        "{\"event\": 0,");
  test_assert_contains (text, "{\"id\": 9, \"size\": 512, \"origin\": null}");
  g_assert_true (read_text (text, -1, back, &error));
  g_assert_no_error (error);
  const GememResult *read = back->pdata[0];
  assert_same_blocks (read->largest, result->largest);
  assert_same_blocks (read->leaked, result->leaked);
  for (guint i = 0; i < result->map->len; i++)
    assert_same_origin (&g_array_index (read->map, GememMapSpan, i).origin,
                        &g_array_index (result->map, GememMapSpan, i).origin);
  assert_same_origin (&g_array_index (read->oom, GememOom, 0).origin,
                      &g_array_index (result->oom, GememOom, 0).origin);
  assert_same_origin (&g_array_index (read->oom, GememOom, 0).blocking_origin,
                      &g_array_index (result->oom, GememOom, 0).blocking_origin);

  /* the file as it was before: no origins of requests, no lists, three columns less */
  gemem_result_free (result);
  result = test_sample_result ("x.gmt", "direct");
  for (guint i = 0; i < result->map->len; i++)
    g_array_index (result->map, GememMapSpan, i).cause = GEMEM_IDLE_CAUSES;
  g_autofree char *plain = test_report_of (GEMEM_FORMAT_JSON, &result, 1, FALSE, 0);
  static const char *const added[] = { ", \"origin\": null, \"blocking_origin\": null",
                                       "      \"largest\": [],\n      \"leaked\": [],\n",
                                       ", \"id\", \"origin\", \"cause\"", ",0,null,null" };
  g_autoptr (GString) old = g_string_new (plain);
  for (gsize i = 0; i < G_N_ELEMENTS (added); i++)
    g_assert_cmpuint (g_string_replace (old, added[i], "", 0), >, 0);
  g_assert_true (read_text (old->str, -1, back, &error));
  g_assert_no_error (error);
  read = back->pdata[1];
  g_assert_cmpuint (read->map->len, ==, 5);
  g_assert_false (g_array_index (read->oom, GememOom, 0).origin.known);
  g_autofree char *again = test_report_of (GEMEM_FORMAT_JSON,
                                           (GememResult *const *) &back->pdata[1], 1, FALSE, 0);
  g_assert_cmpstr (again, ==, plain);
  gemem_result_free (result);
}

/* A call stack is a text of any length. */
static void
test_long_text (void)
{
  GememResult *result = test_served_result ("x.gmt", "direct");
  g_autoptr (GPtrArray) back = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);
  g_autoptr (GError) error = NULL;
  g_free (result->failure);
  result->failure = g_strnfill (1000000, 'y');
  g_autofree char *text = test_report_of (GEMEM_FORMAT_JSON, &result, 1, FALSE, 0);
  read_text (text, -1, back, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (((GememResult *) back->pdata[0])->failure, ==, result->failure);
  gemem_result_free (result);
}

/* A foreign file is refused with its name, and leaves the array unchanged. */
static void
refused (const char *text, gssize length, const char *reason)
{
  g_autoptr (GPtrArray) results = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  g_ptr_array_add (results, NULL);
  g_assert_false (read_text (text, length, results, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_cmpuint (results->len, ==, 1);
  test_assert_contains (error->message, "/result.json:");
  test_assert_contains (error->message, reason);
  g_assert_null (strchr (error->message, '\n'));
}

static void
test_refused (void)
{
  g_autofree char *deep = g_strnfill (1000000, '['), *objects = g_strnfill (17, '{');
  refused ("", -1,
           "result.json:1: the JSON text ends too early; the file was cut off, fetch it again;"
           " give a file written by 'replay'");
  refused ("{", -1, ":1: the JSON text ends too early");
  refused ("[]", -1, "not a file of schema gemem-result");
  refused ("{\"schema\": \"gemem-results\", \"version\": 2, \"results\": []}", -1,
           "not a file of schema gemem-result");
  refused ("{\"schema\": \"gemem-result\", \"results\": []}", -1, "no version");
  refused ("{\"schema\": \"gemem-result\", \"version\": 1.0, \"results\": []}", -1, "no version");
  refused ("{\"schema\": \"gemem-result\", \"version\": 1, \"results\": []}", -1,
           "version 1 of schema gemem-result, but this program reads version 2");
  refused ("{\"schema\": \"gemem-result\", \"version\": 2, \"results\": {}}", -1,
           "no array 'results'");
  refused ("{\"schema\": \"gemem-result\", \"version\": 2, \"results\": [1]}", -1,
           "result 0: no object");
  refused ("{\"schema\": \"gemem-result\", \"version\": 2, \"results\": [{}]}", -1,
           "result 0: no object 'values'");
  refused ("{\"results\": [], \"schema\": \"gemem-result\", \"version\": 1}", -1,
           "version 1 of schema gemem-result, but this program reads version 2");
  refused ("{\"schema\": \"gemem-result\", \"version\": 2, \"results\": [], \"results\": []}", -1,
           "'results' is given twice");
  refused ("{\"schema\": \"gemem-result\", \"version\": 2, \"results\": [{\"a\": {\"b\": 1, \"b\": "
           "2}}]}",
           -1, "result 0: a.b: given twice");
  refused ("{\"schema\": \"gemem-result\", \"version\": 2,\n\"results\": [{\"a\": \"\\u0000\"}]}",
           -1,
           "result 0: line 2: a text that is not UTF-8, or holds a zero byte; the file is damaged");
  refused (deep, -1, ":1: nested more than 512 deep");
  refused (objects, -1, ":1: a key in quotes is missing");
  refused ("/* \" */ [[[[", -1, ":1: \"\" is no JSON value");
  refused ("{'schema': 1}", -1, ":1: a key in quotes is missing");
  refused ("2{}", -1, ":1: something follows the end of the JSON text");
  refused ("]", -1, ":1: \"\" is no JSON value");
  refused ("{\"schema\": \"gemem-result\", \"version\": 2, \"results\": []}\n{}", -1,
           ":2: something follows the end of the JSON text");
  refused ("{} 1", -1, ":1: something follows the end of the JSON text");
  refused ("{\"schema", -1, ":1: the JSON text ends too early");
  refused ("{\"schema\\", -1, ":1: the JSON text ends too early");
  refused ("{\"\377\"}", -1, ":1: no ':' behind the key \"\\377\"; the file is damaged");
  refused ("{}\0{}", 5, ":1: something follows the end of the JSON text");
  g_autoptr (GPtrArray) results = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  g_assert_false (gemem_results_read_json ("/nonexistent/r.json", results, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
  g_assert_cmpstr (error->message, ==,
                   "/nonexistent/r.json: No such file or directory; name a readable file");
}

/* A whole result with one part replaced by another. */
static void
test_altered (void)
{
  static const struct
  {
    const char *from, *to, *reason;
  } cases[] = {
    { "\"label\": \"direct\"", "\"label\": null", "'label' is missing or no string" },
    { "\"trace\": \"x.gmt\"", "\"trace\": 3", "'trace' is missing or no string" },
    { "\"events\": 10", "\"events\": -10", "'events' in 'values' is missing or of the wrong kind" },
    { "\"events\": 10", "\"events\": 10.5", "'events' in 'values'" },
    { "\"events\": 10", "\"events\": \"0x10\"", "'events' in 'values'" },
    { "\"events\": 10", "\"events\": \"18446744073709551616\"", "'events' in 'values'" },
    { "\"events\": 10", "\"eventz\": 10", "'events' in 'values'" },
    { "\"device_ordinal\": 0", "\"device_ordinal\": 70000", "'device_ordinal'" },
    { "\"partial\": false", "\"partial\": 0", "'partial'" },
    { "\"chunk_mb\": \"64\"", "\"chunk_mb\": [64]",
      "'chunk_mb' in 'parameters' is neither text nor a number" },
    { "\"malloc\": {\"count\": 4", "\"malloc\": {\"count\": true",
      "'malloc' in 'calls' lacks a number" },
    { "[[50,1],", "[[50,2],", "'alloc_ns' is no histogram whose buckets add up to its count" },
    { "[503,1]", "[502,1]", "'alloc_ns' is no histogram" },
    { "[503,1]", "[50,1]", "'alloc_ns' is no histogram" },
    { "[[50,1],", "[[50,0],", "'alloc_ns' is no histogram" },
    { "[503,1]", "503", "'alloc_ns' is no histogram" },
    { "\"timeline\": {\"columns\": [\"seq\", \"time\"",
      "\"timeline\": {\"columns\": [\"time\", \"seq\"", "column 0 of 'timeline' is not 'seq'" },
    { "[9,4000,0,0,", "[9,4000,0,", "a row of 'timeline' has no good 'largest_free'" },
    { "\"pending\",\"0x0\"", "\"gone\",\"0x0\"", "a row of 'map' has no good 'state'" },
    { "\"waiting\"]", "\"weary\"]", "a row of 'map' has no good 'cause'" },
    { "\"0x7\",1,\"pending\"", "\"0x7\",4294967296,\"pending\"",
      "a row of 'map' has no good 'pool'" },
    { "\"origin\": null, \"bl", "\"origin\": 7, \"bl", "'origin' in 'oom' is missing" },
    { "\"origin\": null, \"bl", "\"origin\": {\"event\": 1, \"initial\": false, \"by\": 3}, \"bl",
      "'origin' in 'oom' is missing" },
    { "\"origin\": null, \"bl", "\"origin\": {\"event\": 1, \"by\": null}, \"bl",
      "'origin' in 'oom' is missing" },
    { "\"largest\": []", "\"largest\": 0", "no array 'largest'" },
    { "\"id\", \"origin\",", "\"id\", \"x\",", "column 10 of 'map' is not 'origin'" },
    { "[\"0x41000\",", "[\"0xzz\",", "a row of 'map' has no good 'address'" },
    { "[\"0x41000\",", "[\"0x-41000\",", "a row of 'map' has no good 'address'" },
    { "\"avoidable\": true", "\"avoidable\": 1",
      "'avoidable' in 'oom' is missing or of the wrong kind" },
    { "\"epochs\": [", "\"epochs\": [3, ", "element 0 of 'epochs' is no object" },
    { "\"streams\": [", "\"streams\": {}, \"x\": [", "no array 'streams'" },
    { "\"fidelity\": {\"compared\": 0", "\"fidelity\": {\"compared\": -1",
      "'compared' in 'fidelity'" },
  };
  GememResult *result = test_sample_result ("x.gmt", "direct");
  g_autofree char *text = test_report_of (GEMEM_FORMAT_JSON, &result, 1, FALSE, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const char *at = strstr (text, cases[i].from);
      g_assert_nonnull (at);
      g_autofree char *altered = g_strdup_printf ("%.*s%s%s", (int) (at - text), text, cases[i].to,
                                                  at + strlen (cases[i].from));
      refused (altered, -1, cases[i].reason);
    }
  gemem_result_free (result);
}

/* Every prefix of a file is refused, without side effects. */
static void
test_truncated (void)
{
  GememResult *result = test_served_result ("x.gmt", "direct");
  g_autofree char *text = test_report_of (GEMEM_FORMAT_JSON, &result, 1, FALSE, 0);
  for (gsize length = 0; length + 2 < strlen (text); length += 17)
    refused (text, (gssize) length, "; give a file written by");
  gemem_result_free (result);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/report/json-string", test_json_string);
  g_test_add_func ("/report/json-text", test_json_text);
  g_test_add_func ("/report/json-complete", test_complete);
  g_test_add_func ("/report/json-round-trip", test_round_trip);
  g_test_add_func ("/report/json-round-trip-origins", test_round_trip_origins);
  g_test_add_func ("/report/json-long-text", test_long_text);
  g_test_add_func ("/report/json-refused", test_refused);
  g_test_add_func ("/report/json-altered", test_altered);
  g_test_add_func ("/report/json-truncated", test_truncated);
  return g_test_run ();
}
