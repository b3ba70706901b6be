/* test-stacks.c - call stacks in traces: the table, .gmt and text keep them, damage is refused, and
 * the line and operator that stand for a stack (traces/call-stacks.h, native*.c, text*.c,
 * origin.h). */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/error.h"
#include "base/io/checksum.h"
#include "base/io/input.h"
#include "base/rng.h"
#include "tests/util/testutil.h"
#include "traces/native/format.h"
#include "traces/native/native.h"
#include "traces/origin.h"

/* ---- writing and reading */

static GememTraceReader *
open_bytes (GBytes *bytes, const char *name, GError **error)
{
  return gemem_trace_open_input (gemem_input_new_from_bytes (bytes, name), NULL, NULL, error);
}

static GBytes *
take_file (const char *path)
{
  char *data;
  gsize size;

  g_assert_true (g_file_get_contents (path, &data, &size, NULL));
  g_remove (path);
  return g_bytes_new_take (data, size);
}

/* Writes what @source holds in @format; @chunk: events of a native chunk. */
static GBytes *
convert (GBytes *source, const char *format, guint chunk)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "converted", NULL);
  GError *error = NULL;
  GememTraceReader *reader = open_bytes (source, "s", &error);
  GememTraceWriter *writer;
  const GememTraceEvent *batch;
  gssize n;

  g_assert_no_error (error);
  writer = chunk > 0 ? gemem_native_create (path, &reader->info, chunk, &error)
                     : gemem_trace_create (path, format, &reader->info, &error);
  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &batch, &error)) > 0)
    g_assert_true (writer->write (writer, batch, (gsize) n, &error));
  g_assert_no_error (error);
  g_assert_true (writer->finish (writer, &error));
  gemem_trace_close (reader);
  return take_file (path);
}

static const char sample[] = "# gemem-trace: 2\n"
                             "# frame: \"mm\"\n"
                             "# frame: \"forward \\\"x\\\"\" \"a b.py\" 4294967295\n"
                             "# frame: \"main\" \"train.py\" 0\n"
                             "# stack: 1 2 3\n"
                             "alloc 1 size=10 stack=1\n"
                             "# stack: 3 3 2\n"
                             "alloc 2 size=20 tag=\"weights\" stack=2\n"
                             "free 1 stack=1\n"
                             "phase tag=\"main\"\n"
                             "phase-end tag=\"main\"\n"
                             "# frame: \"weights\" \"mm\" 7\n"
                             "# stack: 4\n"
                             "free 2 stack=3\n"
                             "# end: 6\n";

/* The lines of @text that are not comments. */
static char *
without_comments (GBytes *text)
{
  g_autofree char *whole = g_strndup (g_bytes_get_data (text, NULL), g_bytes_get_size (text));
  g_auto (GStrv) lines = g_strsplit (whole, "\n", -1);
  GString *out = g_string_new (NULL);

  for (guint i = 0; lines[i] != NULL && lines[i + 1] != NULL; i++)
    if (!g_str_has_prefix (lines[i], "##"))
      g_string_append_printf (out, "%s\n", lines[i]);
  return g_string_free (out, FALSE);
}

static void
test_twins (void)
{
  g_autoptr (GBytes) text = g_bytes_new_static (sample, sizeof sample - 1);

  for (guint chunk = 1; chunk < 8; chunk++)
    {
      g_autoptr (GBytes) native = convert (text, NULL, chunk), again = convert (native, "text", 0);
      g_autofree char *got = without_comments (again);
      g_assert_cmpstr (got, ==, sample);
      g_assert_cmpuint (native_get32 ((const guint8 *) g_bytes_get_data (native, NULL) + 8), ==, 2);
    }
}

/* Without stacks both formats stay at version 1, which older readers know. */
static void
test_old_version (void)
{
  static const char plain[] = "# gemem-trace: 1\nalloc 1 size=10\n# end: 1\n";
  g_autoptr (GBytes) text = g_bytes_new_static (plain, sizeof plain - 1);
  g_autoptr (GBytes) native = convert (text, "native", 0), again = convert (native, "text", 0);
  g_autofree char *got = without_comments (again);

  g_assert_cmpstr (got, ==, plain);
  g_assert_cmpuint (native_get32 ((const guint8 *) g_bytes_get_data (native, NULL) + 8), ==, 1);
}

static void
test_text_errors (void)
{
  static const struct
  {
    const char *lines, *message;
  } cases[] = {
    { "alloc 1 size=1 stack=1\n", "t.txt:2: stack 1 is not defined before this line; " },
    { "# stack: 1\n", "t.txt:2: '1' is no frame defined before this line; " },
    { "# frame: \"a\"\n# stack: 0\n", "t.txt:3: '0' is no frame defined before this line; " },
    { "# frame: \"a\"\n# stack: 1 x\n", "t.txt:3: 'x' is no frame defined before this line; " },
    { "# frame: a\n", "must be a string in double quotes" },
    { "# frame: \"a\" \"b\"\n", "is no line number from 0 to 2^32-1" },
    { "# frame: \"a\" \"b\" 4294967296\n", "is no line number from 0 to 2^32-1" },
    { "# frame: \"a\" \"b\" 1 2\n", "follows the frame" },
    { "alloc 1 size=1 stack=18446744073709551615\n", "is not defined before this line" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = g_strconcat ("# gemem-trace: 2\n", cases[i].lines, "# end: 0\n",
                                           NULL);
      g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));
      g_autoptr (GError) error = NULL;
      GememTraceReader *reader = open_bytes (bytes, "t.txt", &error);
      const GememTraceEvent *batch;

      while (reader != NULL && error == NULL && gemem_trace_next (reader, &batch, &error) > 0)
        ;
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      if (strstr (error->message, cases[i].message) == NULL)
        g_error ("said %s, not %s", error->message, cases[i].message);
      gemem_trace_close (reader);
    }
}

/* ---- random ones */

static char *
frame_text (const GememTraceInfo *info, guint32 number)
{
  const GememFrame *frame = gemem_call_stacks_get_frame (info->stacks, number);
  return g_strdup_printf ("%s|%s|%u", gemem_frame_name (info, frame),
                          gemem_frame_file (info, frame), frame->line);
}

/* The frames of an event's stack as text. */
static char *
stack_text (const GememTraceInfo *info, guint32 stack)
{
  GString *out = g_string_new (NULL);
  guint n = 0;
  const guint32 *frames = stack > 0 ? gemem_call_stacks_get (info->stacks, stack, &n) : NULL;

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *text = frame_text (info, frames[i]);
      g_string_append_printf (out, "%s\n", text);
    }
  return g_string_free (out, FALSE);
}

/* A trace of @n events with random stacks.  The string table has equal strings twice, as a reader
 * may fill it. */
static void
make_random (GememTraceInfo *info, GArray *events, guint n, guint64 seed)
{
  GememCallStacks *stacks = gemem_trace_info_stacks (info);
  GememRng rng;

  gemem_rng_init (&rng, seed, "stacks");
  for (guint i = 0; i < 40; i++)
    g_ptr_array_add (info->strings, g_strdup_printf ("string %u", i % 30));
  for (guint i = 0; i < n; i++)
    {
      GememTraceEvent event = { .kind = GEMEM_EVENT_ALLOC, .id = i + 1, .size = i + 1 };
      guint32 frames[20];
      const guint depth = (guint) gemem_rng_below (&rng, G_N_ELEMENTS (frames));

      for (guint k = 0; k < depth; k++)
        {
          GememFrame frame = { .name = (guint32) gemem_rng_below (&rng, 41) };
          frame.file = (guint32) gemem_rng_below (&rng, 41);
          frame.line = (guint32) gemem_rng_below (&rng, 3);
          frames[k] = gemem_call_stacks_frame (stacks, &frame);
        }
      event.stack = gemem_rng_below (&rng, 3) == 0
                        ? (guint32) gemem_rng_below (&rng, gemem_call_stacks_count (stacks) + 1)
                        : gemem_call_stacks_extend (stacks, 0, frames, depth);
      event.tag = (guint32) gemem_rng_below (&rng, 41);
      g_array_append_val (events, event);
    }
}

static void
check_event (const GememTraceInfo *expected, const GememTraceEvent *a, const GememTraceInfo *info,
             const GememTraceEvent *b)
{
  g_autofree char *x = stack_text (expected, a->stack), *y = stack_text (info, b->stack);

  g_assert_cmpuint (a->id, ==, b->id);
  g_assert_cmpstr (x, ==, y);
  g_assert_cmpstr (expected->strings->pdata[a->tag], ==, info->strings->pdata[b->tag]);
}

static void
test_random (void)
{
  const guint n = 1200;

  for (guint64 seed = 0; seed < 6; seed++)
    {
      g_autofree char *path = g_build_filename (test_tmpdir (), "random.gmt", NULL);
      g_autoptr (GArray) events = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
      GError *error = NULL;
      GememTraceInfo info;
      const GememTraceEvent *batch;
      guint at = 0;
      GememRng rng;
      gssize got;

      gemem_trace_info_init (&info, "test", "x");
      make_random (&info, events, n, seed);
      GememTraceWriter *writer = seed % 3 == 2 ? gemem_trace_create (path, "text", &info, &error)
                                               : gemem_native_create (
                                                   path, &info, seed % 3 == 0 ? 7 : 65536, &error);
      g_assert_no_error (error);
      g_assert_true (
          writer->write (writer, (const GememTraceEvent *) events->data, events->len, &error));
      g_assert_true (writer->finish (writer, &error));
      GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);
      g_assert_no_error (error);
      while ((got = gemem_trace_next (reader, &batch, &error)) > 0)
        for (gssize i = 0; i < got; i++)
          check_event (&info, &g_array_index (events, GememTraceEvent, at++), &reader->info,
                       &batch[i]);
      g_assert_no_error (error);
      g_assert_cmpuint (at, ==, n);
      gemem_trace_close (reader);

      gemem_rng_init (&rng, seed, "seeks");
      reader = gemem_trace_open (path, NULL, NULL, &error);
      for (guint i = 0; seed % 3 != 2 && i < 60; i++)
        {
          const guint to = (guint) gemem_rng_below (&rng, n);
          g_assert_true (gemem_native_seek (reader, to, &error));
          g_assert_cmpint (gemem_trace_next (reader, &batch, &error), >, 0);
          check_event (&info, &g_array_index (events, GememTraceEvent, to), &reader->info, batch);
        }
      gemem_trace_close (reader);
      gemem_trace_info_clear (&info);
      g_remove (path);
    }
}

/* ---- damage */

/* Reads all; TRUE if it was whole. */
static gboolean
reads (const guint8 *data, gsize size)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static (data, size);
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = open_bytes (bytes, "d.gmt", &error);
  const GememTraceEvent *batch;
  gssize n = -1;

  while (reader != NULL && (n = gemem_trace_next (reader, &batch, &error)) > 0)
    ;
  gemem_trace_close (reader);
  return n == 0;
}

static void
test_damage (void)
{
  g_autoptr (GBytes) text = g_bytes_new_static (sample, sizeof sample - 1),
                     native = convert (text, NULL, 2);
  gsize size;
  const guint8 *whole = g_bytes_get_data (native, &size);
  g_autofree guint8 *copy = g_memdup2 (whole, size);

  g_assert_true (reads (copy, size));
  for (gsize i = 0; i < size; i++)
    {
      g_assert_false (reads (copy, i));
      for (guint bit = 0; bit < 8; bit++)
        {
          copy[i] ^= (guint8) (1 << bit);
          g_assert_false (reads (copy, size));
          copy[i] ^= (guint8) (1 << bit);
        }
    }
}

/* Changes each byte of the payloads of frames and stacks and corrects the checksums, as a hostile
 * writer would: nothing may crash, and no stack may refer to what is not there. */
static void
test_forged (void)
{
  static const char small[] = "# gemem-trace: 2\n# frame: \"a\" \"b\" 77\n# stack: 1\n"
                              "alloc 1 size=1 tag=\"c\" stack=1\n# end: 1\n";
  g_autoptr (GBytes) text = g_bytes_new_static (small, sizeof small - 1),
                     native = convert (text, NULL, 100);
  gsize size;
  const guint8 *whole = g_bytes_get_data (native, &size);
  g_autofree guint8 *copy = g_memdup2 (whole, size);
  guint tables = 0, refused = 0;

  for (gsize at = NATIVE_HEADER_SIZE; at + NATIVE_BLOCK_HEADER_SIZE <= size;)
    {
      const guint32 type = native_get32 (whole + at), stored = native_get32 (whole + at + 4);
      const gsize payload = at + NATIVE_BLOCK_HEADER_SIZE;

      if (type == NATIVE_FRAMES || type == NATIVE_STACKS)
        {
          tables++;
          g_assert_cmpuint (native_get32 (whole + at + 12), ==, 0); /* too small to be packed */
          for (gsize i = payload; i < payload + stored; i++)
            {
              g_autoptr (GBytes) bytes = NULL;
              g_autoptr (GError) error = NULL;
              GememTraceReader *reader;
              const GememTraceEvent *batch;
              gssize n = -1;

              copy[i] ^= 0x15;
              native_put64 (copy + at + 24, gemem_checksum (copy + payload, stored,
                                                            gemem_checksum (copy + at, 24, 0)));
              bytes = g_bytes_new_static (copy, size);
              reader = open_bytes (bytes, "f.gmt", &error);
              while (reader != NULL && (n = gemem_trace_next (reader, &batch, &error)) > 0)
                for (gssize k = 0; k < n; k++)
                  g_free (stack_text (&reader->info, batch[k].stack));
              refused += error != NULL;
              gemem_trace_close (reader);
              copy[i] ^= 0x15;
              memcpy (copy + at, whole + at, NATIVE_BLOCK_HEADER_SIZE);
            }
        }
      at = payload + stored;
      if (type == NATIVE_FOOTER)
        break;
    }
  g_assert_cmpuint (tables, ==, 2);
  g_assert_cmpuint (refused, >=, 12); /* a line number may be any */
}

/* Both writers refuse an event whose stack does not exist. */
static void
test_writers_refuse (void)
{
  static const char *const formats[] = { "native", "text" };

  for (guint with = 0; with < 2; with++)
    for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
      {
        g_autofree char *path = g_build_filename (test_tmpdir (), "refused", NULL);
        const GememTraceEvent event = { .kind = GEMEM_EVENT_ALLOC, .stack = 1 };
        g_autoptr (GError) error = NULL;
        GememTraceInfo info;

        gemem_trace_info_init (&info, "test", "x");
        if (with)
          gemem_trace_info_stacks (&info);
        GememTraceWriter *writer = gemem_trace_create (path, formats[i], &info, NULL);
        g_assert_false (writer->write (writer, &event, 1, &error));
        g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
        g_assert_nonnull (strstr (error->message, "event 0: its stack is not in the table"));
        writer->discard (writer);
        gemem_trace_info_clear (&info);
      }
}

/* ---- the table */

static void
test_table (void)
{
  GememCallStacks *stacks = gemem_call_stacks_new ();
  const GememFrame a = { 1, 2, 3, 0 }, b = { 1, 2, 4, 0 };
  const guint32 one = gemem_call_stacks_frame (stacks, &a),
                two = gemem_call_stacks_frame (stacks, &b);
  const guint32 pair[] = { one, two };
  guint32 deep = 0;
  guint n;

  g_assert_cmpuint (gemem_call_stacks_frame (stacks, &a), ==, one);
  g_assert_cmpuint (gemem_call_stacks_extend (stacks, 0, pair, 0), ==, 0);
  deep = gemem_call_stacks_extend (stacks, 0, pair, 2);
  g_assert_cmpuint (
      gemem_call_stacks_extend (stacks, gemem_call_stacks_extend (stacks, 0, pair, 1), pair + 1, 1),
      ==, deep);
  for (guint i = 0; i < 17; i++) /* doubles its length; the outermost frames are omitted */
    {
      const guint32 *frames = gemem_call_stacks_get (stacks, deep, &n);
      g_autofree guint32 *copy = g_memdup2 (frames, n * sizeof *frames);
      deep = gemem_call_stacks_extend (stacks, deep, copy, n);
    }
  gemem_call_stacks_get (stacks, deep, &n);
  g_assert_cmpuint (n, ==, GEMEM_MAX_STACK);
  g_assert_null (gemem_call_stacks_get (stacks, 0, &n));
  g_assert_cmpuint (n, ==, 0);
  g_assert_true (gemem_call_stacks_ref (stacks) == stacks);
  gemem_call_stacks_free (stacks);
  gemem_call_stacks_free (stacks);
}

/* ---- the line and the operator */

static void
check_origin (const char *frames, const char *expected)
{
  g_auto (GStrv) lines = g_strsplit (frames, "\n", -1);
  g_autoptr (GString) text = g_string_new ("# gemem-trace: 2\n"), got = g_string_new (NULL);
  g_autoptr (GBytes) bytes = NULL;
  const GememTraceEvent *batch;
  GError *error = NULL;

  for (guint i = 0; lines[i] != NULL; i++)
    g_string_append_printf (text, "# frame: %s\n", lines[i]);
  g_string_append (text, "# stack:");
  for (guint i = 0; lines[i] != NULL; i++)
    g_string_append_printf (text, " %u", i + 1);
  g_string_append (text, "\nalloc 1 size=1 tag=\"t\" stack=1\n# end: 1\n");
  bytes = g_bytes_new (text->str, text->len);
  GememTraceReader *reader = open_bytes (bytes, "o.txt", &error);
  g_assert_no_error (error);
  g_assert_cmpint (gemem_trace_next (reader, &batch, &error), ==, 1);
  gemem_origin_append (got, &reader->info, batch->stack, batch->tag);
  g_assert_cmpstr (got->str, ==, expected);
  gemem_trace_close (reader);
}

static void
test_origin (void)
{
  /* the program's line, before that of a package; the operator, but not the one that allocates */
  check_origin ("\"c10::malloc(unsigned long)\" \"??\" 0\n"
                "\"at::_ops::empty_strided::call(int)\" \"??\" 0\n"
                "\"at::_ops::mm::call(int)\" \"??\" 0\n"
                "\"linear\" \"/x/site-packages/torch/nn/functional.py\" 125\n"
                "\"forward\" \"model.py\" 31\n"
                "\"<module>\" \"train.py\" 3",
                "model.py:31 forward (mm) [t]");
  check_origin ("\"aten::empty\"\n\"aten::mm\"\n\"aten::linear\"", "aten::empty (aten::mm) [t]");
  check_origin ("\"aten::empty\"", "aten::empty [t]");
  /* without Python: a line number, a gradient, what is no framework's, the innermost */
  check_origin ("\"at::f()\" \"x.cpp\" 0\n\"user()\" \"u.cpp\" 7", "u.cpp:7 user [t]");
  check_origin (
      "\"at::f()\" \"??\" 0\n"
      "\"torch::autograd::generated::MmBackward0::apply(int)\" \"??\" 0\n\"user()\" \"??\" 0",
      "torch::autograd::generated::MmBackward0::apply [t]");
  check_origin (
      "\"void at::f<int>(int)\" \"??\" 0\n\"std::g()\" \"??\" 0\n\"user(int)\" \"m.so\" 0",
      "m.so user [t]");
  check_origin (
      "\"at::(anonymous namespace)::f(int) const\" \"??\" 0\n\"__libc_start_main\" \"??\" 0",
      "at::(anonymous namespace)::f [t]");
  check_origin ("\"x\" \"<string>\" 1\n\"f\" \"/usr/lib/python3.12/a.py\" 2", "<string>:1 x [t]");
  /* what PyTorch's compiler wrote is no line of the program, and a function of gemem-dry-run none at all */
  check_origin (
      "\"__torch_function__\" \"/v/site-packages/torch/utils/_device.py\" 122\n"
      "\"load\" \"/v/site-packages/vllm/model.py\" 5\n\"main\" \"/v/site-packages/vllm/a.py\" 2",
      "/v/site-packages/vllm/model.py:5 load [t]");
  check_origin ("\"call\" \"/tmp/torchinductor_me/ab/cabx.py\" 9\n\"step\" \"train.py\" 2",
                "train.py:2 step [t]");
  check_origin ("\"collect\" \"/tmp/torch_geometric.nn.conv.gat_conv_GATConv_propagate_dy.py\" 85\n"
                "\"step\" \"train.py\" 2",
                "train.py:2 step [t]");
  check_origin (
      "\"to\" \"/x/site-packages/gemem/lazy_host.py\" 9\n\"load\" \"/x/site-packages/p/load.py\" 2",
      "/x/site-packages/p/load.py:2 load [t]");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/stacks/table", test_table);
  g_test_add_func ("/stacks/twins", test_twins);
  g_test_add_func ("/stacks/old-version", test_old_version);
  g_test_add_func ("/stacks/text-errors", test_text_errors);
  g_test_add_func ("/stacks/random", test_random);
  g_test_add_func ("/stacks/damage", test_damage);
  g_test_add_func ("/stacks/forged", test_forged);
  g_test_add_func ("/stacks/writers-refuse", test_writers_refuse);
  g_test_add_func ("/stacks/origin", test_origin);
  return g_test_run ();
}
