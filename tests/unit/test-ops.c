/* test-ops.c - the plain list of operations, and every vector file unchanged (traces/native/ops.c,
 * vectors/README.md). */
#include "config.h"

#include <string.h>

#include "base/io/input.h"
#include "base/params.h"
#include "tests/util/testutil.h"
#include "tests/util/trace-text.h"

static GememTraceReader *
open_text (const char *text, const char *format, gboolean partial, GError **error)
{
  GememReadOptions options = { partial, -1 };
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));
  return gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "t.ops"), format, &options,
                                 error);
}

static void
assert_event (const GArray *events, guint i, GememTraceEvent expected)
{
  g_assert_cmpuint (i, <, events->len);
  g_assert_cmpmem (&g_array_index (events, GememTraceEvent, i), sizeof expected, &expected,
                   sizeof expected);
}

static void
test_plain (void)
{
  GError *error = NULL;
  GememTraceReader *reader = open_text (
      "# by hand\n\na 1 4096\n  a 18446744073709551615 0x1000 3 \r\nf 1\nf 0 0x7\nr\na 2 0", NULL,
      FALSE, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (reader->format->name, ==, "ops");
  g_autoptr (GArray) events = test_read_all (reader, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (events->len, ==, 6);
  assert_event (events, 0, (GememTraceEvent){ .kind = GEMEM_EVENT_ALLOC, .id = 1, .size = 4096 });
  assert_event (
      events, 1,
      (GememTraceEvent){ .kind = GEMEM_EVENT_ALLOC, .id = G_MAXUINT64, .size = 4096, .stream = 3 });
  assert_event (events, 2, (GememTraceEvent){ .kind = GEMEM_EVENT_FREE, .id = 1 });
  assert_event (events, 3, (GememTraceEvent){ .kind = GEMEM_EVENT_FREE, .stream = 7 });
  assert_event (events, 4, (GememTraceEvent){ .kind = GEMEM_EVENT_TRIM });
  assert_event (events, 5, (GememTraceEvent){ .kind = GEMEM_EVENT_ALLOC, .id = 2 });
  g_assert_cmphex (reader->info.flags, ==, 0);
  g_assert_null (reader->info.allocator);
  g_assert_cmpuint (reader->info.events, ==, 6);
  gemem_trace_close (reader);
}

static void
test_results (void)
{
  GError *error = NULL;
  GememTraceReader *reader = open_text (
      "# pytorch-caching capacity=1073741824 max_split_size_mb=200 roundup=[a,b] x=1,2 device=bump "
      "base=0x100000000000 step=2097152 reuse=never\n"
      "a 1 100 -> 0x100000000000 size=512 reserved=2097152\n"
      "a 2 5 -> 0x7 size=9 real=5 reserved=1 pool=2 split=1 newva\n"
      "a 3 99 -> NULL reserved=2097152\nf 3 -> ?\nf 1 -> reserved=2097152\nr -> reserved=0\n",
      NULL, FALSE, &error);
  g_assert_no_error (error);
  g_autoptr (GArray) events = test_read_all (reader, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (events->len, ==, 6);
  assert_event (events, 0,
                (GememTraceEvent){ .kind = GEMEM_EVENT_ALLOC,
                                   .id = 1,
                                   .size = 100,
                                   .address = G_GUINT64_CONSTANT (0x100000000000),
                                   .aux = 512 });
  assert_event (
      events, 1,
      (GememTraceEvent){ .kind = GEMEM_EVENT_ALLOC, .id = 2, .size = 5, .address = 7, .aux = 9 });
  assert_event (events, 2,
                (GememTraceEvent){
                    .kind = GEMEM_EVENT_ALLOC, .id = 3, .size = 99, .flags = GEMEM_EVENT_FAILED });
  assert_event (
      events, 3,
      (GememTraceEvent){ .kind = GEMEM_EVENT_FREE, .id = 3, .flags = GEMEM_EVENT_FAILED });
  assert_event (events, 4, (GememTraceEvent){ .kind = GEMEM_EVENT_FREE, .id = 1 });
  assert_event (events, 5, (GememTraceEvent){ .kind = GEMEM_EVENT_TRIM });
  g_assert_cmphex (reader->info.flags, ==, GEMEM_TRACE_IS_VECTOR | GEMEM_TRACE_HAS_ADDRESSES);
  g_assert_cmpstr (reader->info.allocator, ==, "pytorch-caching");
  g_assert_cmpstr (reader->info.settings, ==, "max_split_size_mb=200,roundup=[a,b],x=1\\,2");
  g_assert_cmpstr (reader->info.device, ==,
                   "capacity=1073741824,device=bump,base=0x100000000000,step=2097152,reuse=never");
  g_autoptr (GPtrArray) settings = gemem_settings_parse (reader->info.settings, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (settings->len, ==, 3);
  gemem_trace_close (reader);
}

static void
test_graphs (void)
{
  GError *error = NULL;
  GString *text = g_string_new (
      "# policy=4 total=68719476736\nm g0 0:100 128:0x20:z\na 1 5\nF\nm big");
  for (guint i = 0; i < 3000; i++) /* more than a batch in one line */
    g_string_append_printf (text, " %u:1", i);
  GememTraceReader *reader = open_text (text->str, NULL, FALSE, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (reader->info.allocator, ==, "ge-active");
  g_assert_cmpstr (reader->info.settings, ==, "policy=4,rules=as-built,total=68719476736");
  g_assert_cmpstr (reader->info.device, ==, "capacity=68719476736");
  g_autoptr (GArray) events = test_read_all (reader, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (events->len, ==, 3006);
  assert_event (events, 0,
                (GememTraceEvent){
                    .kind = GEMEM_EVENT_GRAPH_LOAD, .id = 1, .size = 160, .aux = 2, .tag = 1 });
  assert_event (events, 1,
                (GememTraceEvent){ .kind = GEMEM_EVENT_GRAPH_SEGMENT, .id = 1, .size = 100 });
  assert_event (events, 2,
                (GememTraceEvent){ .kind = GEMEM_EVENT_GRAPH_SEGMENT,
                                   .id = 1,
                                   .address = 128,
                                   .size = 32,
                                   .aux = GEMEM_GRAPH_SEGMENT_ZERO_COPY });
  assert_event (events, 4, (GememTraceEvent){ .kind = GEMEM_EVENT_GRAPH_UNLOAD, .id = 1 });
  assert_event (events, 5,
                (GememTraceEvent){
                    .kind = GEMEM_EVENT_GRAPH_LOAD, .id = 2, .size = 3000, .aux = 3000, .tag = 2 });
  assert_event (
      events, 3005,
      (GememTraceEvent){ .kind = GEMEM_EVENT_GRAPH_SEGMENT, .id = 2, .address = 2999, .size = 1 });
  gemem_trace_close (reader);
  g_string_free (text, TRUE);
}

/* The kinds of all events of graph @id, as letters: L(oad), b(egin), e(nd), U(nload). */
static void
assert_graph (const GArray *events, guint64 id, const char *kinds)
{
  g_autoptr (GString) found = g_string_new (NULL);

  for (guint i = 0; i < events->len; i++)
    {
      const GememTraceEvent *event = &g_array_index (events, GememTraceEvent, i);
      const char letter = event->kind == GEMEM_EVENT_GRAPH_LOAD      ? 'L'
                          : event->kind == GEMEM_EVENT_GRAPH_RUN     ? 'b'
                          : event->kind == GEMEM_EVENT_GRAPH_RUN_END ? 'e'
                          : event->kind == GEMEM_EVENT_GRAPH_UNLOAD  ? 'U'
                                                                     : '\0';

      if (letter != '\0' && event->id == id)
        g_string_append_c (found, letter);
    }
  g_assert_cmpstr (found->str, ==, kinds);
}

/* Runs: a load has prepared the first; no effect is no event.  Names as ids; a small device. */
static void
test_runs (void)
{
  static const char text[] =
      "# policy=4 total=536870912 cap=50331648\na w 1\na 7 2\nf w\nm g0 0:100 100:28:n\n"
      "m g1 0:5\ne g0\ne g0\nb g0\ne g0\nb g1\nb g1\nm g0 0:9\nF\ne g0\nF\ne g1\nb g1\n"
      "a w2 3\nf w2\na w 4\n";
  GError *error = NULL;
  GememTraceReader *reader = open_text (text, NULL, FALSE, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (reader->format->name, ==, "ops");
  g_assert_cmpstr (reader->info.allocator, ==, "ge-active");
  g_assert_nonnull (strstr (reader->info.settings, "total=536870912"));
  g_assert_cmpstr (reader->info.device, ==, "capacity=50331648");
  g_autoptr (GArray) events = test_read_all (reader, &error);
  g_assert_no_error (error);
  const guint64 w = g_array_index (events, GememTraceEvent, 0).id;
  g_assert_cmpuint (w, >, G_MAXUINT32);
  assert_event (events, 1, (GememTraceEvent){ .kind = GEMEM_EVENT_ALLOC, .id = 7, .size = 2 });
  assert_event (events, 2, (GememTraceEvent){ .kind = GEMEM_EVENT_FREE, .id = w });
  assert_event (events, 3,
                (GememTraceEvent){
                    .kind = GEMEM_EVENT_GRAPH_LOAD, .id = 1, .size = 100, .aux = 2, .tag = 2 });
  assert_event (
      events, 5,
      (GememTraceEvent){ .kind = GEMEM_EVENT_GRAPH_SEGMENT,
                         .id = 1,
                         .address = 100,
                         .size = 28,
                         .aux = GEMEM_GRAPH_SEGMENT_ZERO_COPY | GEMEM_GRAPH_SEGMENT_NO_ALLOC });
  assert_graph (events, 1, "LbebeU");
  assert_graph (events, 2, "LbbU");
  assert_graph (events, 3, "Lbe"); /* the latest load of the name */
  g_assert_cmpuint (g_array_index (events, GememTraceEvent, events->len - 3).id, ==, w + 1);
  assert_event (events, events->len - 1,
                (GememTraceEvent){ .kind = GEMEM_EVENT_ALLOC, .id = w, .size = 4, .tag = 1 });
  gemem_trace_close (reader);
}

static void
assert_header (const char *line, const char *allocator, const char *settings, const char *device)
{
  GError *error = NULL;
  g_autofree char *text = g_strconcat (line, "\na 1 2 -> 0x3 size=4 reserved=5\n", NULL);
  GememTraceReader *reader = open_text (text, NULL, FALSE, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (reader->info.allocator, ==, allocator);
  g_assert_cmpstr (reader->info.settings, ==, settings);
  g_assert_cmpstr (reader->info.device, ==, device);
  g_assert_cmpint ((reader->info.flags & GEMEM_TRACE_IS_VECTOR) != 0, ==, allocator != NULL);
  gemem_trace_close (reader);
}

static void
test_headers (void)
{
  assert_header ("# single --total=68719476736", "ge-scalable", "stack=single,total=68719476736",
                 "capacity=unlimited");
  assert_header ("# two --total=1073741824 --cap=1073741824\r", "ge-scalable",
                 "stack=two,total=1073741824", "capacity=1073741824");
  assert_header ("# exp --total=1073741824", "ge-expandable", "total=1073741824",
                 "capacity=unlimited");
  assert_header ("# paddle-buddy preset=P16 total=1073741824 available=1073741824 device=bump",
                 "paddle-buddy", "preset=P16,total=1073741824,available=1073741824",
                 "device=bump,capacity=1073741824");
  assert_header ("# pytorch-expandable capacity=1 total=2 va=bump vabase=3 vastep=4 vareuse=never",
                 "pytorch-expandable", "total=2",
                 "capacity=1,va=bump,vabase=3,vastep=4,vareuse=never");
  assert_header ("# policy=4 total=1 cap=2 more=3", NULL, NULL, NULL);
  assert_header ("# policy=4 total=1 size=2", NULL, NULL, NULL);
  assert_header ("# just words", NULL, NULL, NULL);
  assert_header ("# note: key=value and words", NULL, NULL, NULL);
  assert_header ("# three --total=1", NULL, NULL, NULL);
  assert_header ("# single --total=1 cap=2", NULL, NULL, NULL);
  assert_header ("#", NULL, NULL, NULL);
}

static void
assert_refused (const char *text, guint before, const char *message)
{
  test_assert_text_refused (text, "t.ops", "ops", before, message);
}

static void
test_refused (void)
{
  static const char usage[] = "write 'a ID SIZE [STREAM]', 'f ID [STREAM]' or 'r'";
  g_autofree char *kind = g_strconcat ("t.ops:2: 'alloc' is no operation; ", usage, NULL);
  g_autofree char *no_size = g_strconcat ("t.ops:1: the size is missing; ", usage, NULL);
  g_autofree char *no_id = g_strconcat ("t.ops:1: the id is missing; ", usage, NULL);
  g_autofree char *long_line = g_strnfill (70000, 'a');

  assert_refused ("a 1 2\nalloc 1 2\na 3 4\n", 1, kind);
  assert_refused ("a 1", 0, no_size);
  assert_refused ("f", 0, no_id);
  assert_refused ("a 1w 5\n", 0,
                  "t.ops:1: '1w' is no id: a number from 0 to 2^64-1; correct the line");
  assert_refused ("m g 0:5\ne h\n", 2,
                  "t.ops:2: 'h' is no graph; load it with 'm NAME OFFSET:SIZE...' before");
  assert_refused ("m g 0:5\nb\n", 2,
                  "t.ops:2: '' is no graph; load it with 'm NAME OFFSET:SIZE...' before");
  assert_refused ("m g 0:5\nb g g\n", 2, "t.ops:2: 'g' follows the name of the graph; nothing may");
  assert_refused ("m g 0:5:y\n", 0,
                  "t.ops:1: '0:5:y' is no segment; write OFFSET:SIZE, OFFSET:SIZE:z or "
                  "OFFSET:SIZE:n");
  assert_refused ("a 1 -5\n", 0,
                  "t.ops:1: '-5' is no size: a number from 0 to 2^64-1; correct the line");
  assert_refused (
      "a 1 18446744073709551616\n", 0,
      "t.ops:1: '18446744073709551616' is no size: a number from 0 to 2^64-1; correct the line");
  assert_refused (
      "a 1 0x10000000000000000\n", 0,
      "t.ops:1: '0x10000000000000000' is no size: a number from 0 to 2^64-1; correct the line");
  assert_refused ("a 1 5MiB\n", 0,
                  "t.ops:1: '5MiB' is no size: a number from 0 to 2^64-1; correct the line");
  assert_refused ("a 1 0x\n", 0,
                  "t.ops:1: '0x' is no size: a number from 0 to 2^64-1; correct the line");
  assert_refused ("a 1 2 3 4\n", 0, "t.ops:1: '4' follows the operation; only '-> RESULT' may");
  assert_refused ("r 1\n", 0, "t.ops:1: '1' follows the operation; only '-> RESULT' may");
  assert_refused ("a 1 2 ->\n", 0, "t.ops:1: no result follows '->'; the line is cut off");
  assert_refused ("a 1 2 -> reserved=1\n", 0,
                  "t.ops:1: 'reserved=1' is neither an address (0x...) nor NULL; correct the line");
  assert_refused ("a 1 2 -> 0x5 size=big\n", 0,
                  "t.ops:1: 'size=big' is no figure of a result (KEY=NUMBER); correct the line");
  assert_refused ("f 1 -> NULL\n", 0,
                  "t.ops:1: 'NULL' is no figure of a result (KEY=NUMBER); correct the line");
  assert_refused ("\x01\xff\xfe 1\n", 0,
                  "t.ops:1: '\\001\\357\\277\\275\\357\\277\\275' is no operation; write 'a ID "
                  "SIZE [STREAM]', 'f ID [STREAM]' or 'r'");
  assert_refused (
      long_line, 0,
      "t.ops:1: the line is longer than 65536 bytes; this is not a trace of this format");
}

static void
test_not_recognised (void)
{
  static const char *const texts[] = { "a\n",
                                       "a 1\n",
                                       "apple 1 2\n",
                                       "{\"a\": 1}\n",
                                       "Thread,Time,Action\n",
                                       "# only a comment\n",
                                       "r 1\n",
                                       "f 1 2 3\n",
                                       "f w\n",
                                       "a w\n",
                                       "a word or two\n",
                                       "e g0\n",
                                       "b g0\n" };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      GError *error = NULL;
      GememReadOptions options = GEMEM_READ_OPTIONS_DEFAULT;
      g_autoptr (GBytes) bytes = g_bytes_new_static (texts[i], strlen (texts[i]));
      GememTraceReader *reader = gemem_trace_open_input (
          gemem_input_new_from_bytes (bytes, "nameless"), NULL, &options, &error);
      g_assert_true (reader == NULL || strcmp (reader->format->name, "ops") != 0);
      g_clear_error (&error);
      gemem_trace_close (reader);
    }
}

/* Unrecognisable content is read by the format of the file's name, so that the message has the
 * line. */
static void
test_named (void)
{
  assert_refused (
      "apple 1 2\n", 0,
      "t.ops:1: 'apple' is no operation; write 'a ID SIZE [STREAM]', 'f ID [STREAM]' or 'r'");
}

typedef struct
{
  const char *file;
  guint operations, failures;
} VectorFile;

/* The tables of vectors/README.md. */
static const VectorFile vector_files[] = {
  { "paddle-buddy/default-random-1", 4005, 0 },
  { "paddle-buddy/i512r256-train-1", 4140, 0 },
  { "paddle-buddy/i12r4-dynshape-1", 4032, 0 },
  { "paddle-buddy/i32r64-pressure-1", 4000, 74 },
  { "paddle-buddy/i512r500-pressure-1", 4000, 176 },
  { "paddle-buddy/f0.02-random-1", 4005, 0 },
  { "paddle-auto-growth/c0-random-1", 4005, 0 },
  { "paddle-auto-growth/c64-random-1", 4005, 0 },
  { "paddle-auto-growth/c64-train-1", 4140, 0 },
  { "paddle-auto-growth/c0-dynshape-1", 4032, 0 },
  { "paddle-auto-growth/c64-pressure-1", 4000, 43 },
  { "paddle-auto-growth/c0-pressure-1", 4000, 44 },
  { "paddle-best-fit/default-random-1", 4005, 0 },
  { "paddle-best-fit/i64r64-train-1", 4140, 0 },
  { "paddle-best-fit/i16r8-dynshape-1", 4032, 0 },
  { "paddle-best-fit/i64r64-pressure-1", 4000, 105 },
  { "pytorch-caching/default-random-1", 4005, 0 },
  { "pytorch-caching/default-train-1", 4140, 0 },
  { "pytorch-caching/default-dynshape-1", 4032, 0 },
  { "pytorch-caching/default-pressure-1", 4000, 38 },
  { "pytorch-caching/split200-smallbig-1", 4000, 0 },
  { "pytorch-caching/roundup4-random-1", 4005, 0 },
  { "pytorch-caching/gc06-random-1", 4005, 3 },
  { "pytorch-expandable/exp-random-1", 4005, 0 },
  { "pytorch-expandable/exp-train-1", 4140, 0 },
  { "pytorch-expandable/exp-dynshape-1", 4032, 0 },
  { "pytorch-expandable/exp-pressure-1", 4000, 27 },
  { "tf-bfc/growth-random-1", 4005, 0 },
  { "tf-bfc/nogrowth-train-1", 4140, 0 },
  { "tf-bfc/growth-dynshape-1", 4032, 0 },
  { "tf-bfc/growth-pressure-1", 4000, 57 },
  { "tf-bfc/nogrowth-pressure-1", 4000, 70 },
  { "tf-bfc/growth-smallbig-1", 4000, 0 },
  { "rmm-pool/init0-random-1", 4005, 0 },
  { "rmm-pool/init1g-train-1", 4140, 0 },
  { "rmm-pool/init0-dynshape-1", 4032, 0 },
  { "rmm-pool/init0-pressure-1", 4000, 38 },
  { "rmm-pool/init0max4g-smallbig-1", 4000, 0 },
};

/* Reads a vector file; checks the promises of every such file; returns the operations and
 * *@failures. */
static guint
read_vector (const char *path, const char *system, guint *failures)
{
  GError *error = NULL;
  GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (reader->format->name, ==, "ops");
  g_assert_cmphex (reader->info.flags, ==, GEMEM_TRACE_IS_VECTOR | GEMEM_TRACE_HAS_ADDRESSES);
  if (strcmp (system, "ge-runtime") != 0)
    g_assert_cmpstr (reader->info.allocator, ==, system);
  g_assert_nonnull (strstr (reader->info.device, "capacity="));
  g_autoptr (GPtrArray) settings = gemem_settings_parse (reader->info.settings, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (settings->len, >, 0);
  g_autoptr (GArray) events = test_read_all (reader, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (reader->info.events, ==, events->len);
  *failures = 0;
  for (guint i = 0; i < events->len; i++)
    {
      const GememTraceEvent *event = &g_array_index (events, GememTraceEvent, i);
      gboolean failed = (event->flags & GEMEM_EVENT_FAILED) != 0;
      if (event->kind != GEMEM_EVENT_ALLOC)
        continue;
      *failures += failed;
      g_assert_true (failed
                         ? event->address == 0 && event->aux == 0
                         : event->address >= G_GUINT64_CONSTANT (0x100000000000) && event->aux > 0);
    }
  guint count = events->len;
  gemem_trace_close (reader);
  return count;
}

static void
test_vectors (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (vector_files); i++)
    {
      g_autofree char *relative = g_strdup_printf ("vectors/%s.vec.gz", vector_files[i].file);
      g_autofree char *path = test_shared_path (relative);
      g_autofree char *system = g_path_get_dirname (vector_files[i].file);
      guint failures;
      if (path == NULL)
        return;
      g_assert_cmpuint (read_vector (path, system, &failures), ==, vector_files[i].operations);
      g_assert_cmpuint (failures, ==, vector_files[i].failures);
    }
}

/* No vector file is left out: there are only those of the table and GE's run-time ones. */
static void
test_all_vectors (void)
{
  static const char *const systems[] = { "ge-runtime",      "paddle-auto-growth",
                                         "paddle-best-fit", "paddle-buddy",
                                         "pytorch-caching", "pytorch-expandable",
                                         "rmm-pool",        "tf-bfc" };
  guint files = 0, operations = 0, failures = 0;

  for (guint i = 0; i < G_N_ELEMENTS (systems); i++)
    {
      g_autofree char *dir = g_strdup_printf ("vectors/%s", systems[i]);
      g_autoptr (GPtrArray) paths = test_shared_files (dir, ".vec.gz");
      if (paths == NULL)
        return;
      for (guint k = 0; k < paths->len; k++, files++)
        {
          guint failed;
          operations += read_vector (g_ptr_array_index (paths, k), systems[i], &failed);
          failures += failed;
        }
    }
  g_assert_cmpuint (files, ==, G_N_ELEMENTS (vector_files) + 11);
  g_assert_cmpuint (operations, ==, 197790);
  g_assert_cmpuint (failures, ==, 763);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ops/plain", test_plain);
  g_test_add_func ("/ops/results", test_results);
  g_test_add_func ("/ops/graphs", test_graphs);
  g_test_add_func ("/ops/runs", test_runs);
  g_test_add_func ("/ops/headers", test_headers);
  g_test_add_func ("/ops/refused", test_refused);
  g_test_add_func ("/ops/not-recognised", test_not_recognised);
  g_test_add_func ("/ops/named", test_named);
  g_test_add_func ("/ops/vectors", test_vectors);
  g_test_add_func ("/ops/all-vectors", test_all_vectors);
  return g_test_run ();
}
