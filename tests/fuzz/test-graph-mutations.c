/* test-graph-mutations.c - any bytes through any reader of graphs: it may refuse, but not crash,
 * leak, loop, or return a graph that does not survive being written and read again.
 *
 * Small files of each kind are cut, reversed, changed in single bits, bytes and tokens, and mixed,
 * the same in every run.  Every format of the registry gets every file, whatever it is, as does
 * recognition.  Quick under GEMEM_QUICK=1.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "tests/util/graphs.h"
#include "tests/util/testutil.h"

static GPtrArray *seeds; /* GByteArray */
static guint with_end;   /* so many of them, the first, are refused when anything is cut off */

static void
add_seed (const char *text)
{
  GByteArray *seed = g_byte_array_new ();

  g_byte_array_append (seed, (const guint8 *) text, (guint) strlen (text));
  g_ptr_array_add (seeds, seed);
}

static void
add_file (const char *relative)
{
  g_autofree char *path = test_source_path (relative), *data = NULL;
  gsize size;
  GByteArray *seed = g_byte_array_new ();

  g_assert_true (g_file_get_contents (path, &data, &size, NULL));
  g_byte_array_append (seed, (const guint8 *) data, (guint) size);
  g_ptr_array_add (seeds, seed);
}

static void
load_seeds (void)
{
  g_autofree char *path = test_source_path ("doc/graph-format.md"), *text = NULL;
  char *example;

  seeds = g_ptr_array_new_with_free_func ((GDestroyNotify) g_byte_array_unref);
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  example = strstr (text, "```json\n") + 8;
  *strstr (example, "```") = '\0';
  add_seed (example);
  add_seed ("{\"nodes\":[{\"name\":\"a\",\"outputs\":[{\"size\":1}]},{\"name\":\"b\",\"inputs\":[["
            "\"a\",0]],\"controls\":[\"a\"]}]}\n"
            "{\"nodes\":[],\"name\":\"\\u00fc\\ud83d\\ude00\"}\n");
  add_seed ("{\"variables\":[{\"name\":\"v\",\"gradient_of\":\"w\"},{\"name\":\"w\",\"size\":9}],"
            "\"nodes\":[{\"name\":\"m\",\"type\":\"Merge\","
            "\"inputs\":[[\"n\",0],\"v\"],\"outputs\":[{\"size\":4,\"consumers\":[[\"n\",1],[\"n\","
            "0]]}]},{\"name\":\"n\",\"type\":"
            "\"NextIteration\",\"inputs\":[[\"m\",0],[\"m\",0]],\"outputs\":[{\"shape\":[3],"
            "\"dtype\":\"int4\"}]}]}");
  add_seed ("{\"name\":\"p\",\"level\":0,\"skip_opt_set\":[\"x\"],\"vars\":{\"x\":{\"shape\":[-1,2]"
            ",\"dtype\":\"float32\",\"persistable\":false}},"
            "\"ops\":[{\"type\":\"f\",\"inputs\":[\"x\",\"@EMPTY@\"],\"outputs\":[\"x\"]},{"
            "\"type\":\"g\",\"inputs\":[\"x\"],\"outputs\":[]}]}");
  with_end = seeds->len;
  add_file ("tests/data/onnx/parts.onnx");
  add_file ("tests/data/onnx/if.onnx");
  add_file ("tests/data/onnx/loop.onnx");
  add_file ("tests/data/paddle/__model__");
  add_file ("tests/data/paddle/loop.pdmodel");
  add_file ("tests/data/ge/graph.txt");
  add_file ("tests/data/ge/model.txt");
  add_file ("tests/data/ge/with-log.txt");
}

/* ---- one file */

static void
check_refusal (const GError *error)
{
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_null (strchr (error->message, '\n'));
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
  g_assert_true (g_str_has_prefix (error->message, "fuzz"));
}

static guint accepted, refused;

static void
read_as (GBytes *bytes, const char *format)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GememGraph) graph = gemem_graph_open_input (gemem_input_new_from_bytes (bytes, "fuzz"),
                                                         format, 0, &error);

  g_assert_true ((graph == NULL) == (error != NULL));
  if (graph != NULL)
    test_graph_written_and_read (graph);
  else
    check_refusal (error);
  accepted += graph != NULL;
  refused += graph == NULL;
}

static void
try_bytes (const guint8 *data, gsize size)
{
  /* exact size, so that a sanitizer sees a read behind it */
  g_autoptr (GBytes) bytes = g_bytes_new (data, size);

  read_as (bytes, NULL);
  for (const GememGraphFormat *const *format = gemem_graph_formats (); *format != NULL; format++)
    read_as (bytes, (*format)->base.name);
}

/* ---- many */

static const GByteArray *
seed_at (guint i)
{
  return g_ptr_array_index (seeds, i);
}

static void
test_seeds (void)
{
  accepted = 0;
  for (guint i = 0; i < seeds->len; i++)
    try_bytes (seed_at (i)->data, seed_at (i)->len);
  /* recognised, and by name; the others refuse it */
  g_assert_cmpuint (accepted, ==, 2 * seeds->len);
}

/* Protobuf messages and protobuf text have no end mark: they must only survive. */
static void
test_truncated (void)
{
  const guint step = g_getenv ("GEMEM_QUICK") != NULL ? 7 : 1;

  accepted = 0;
  for (guint i = 0; i < with_end; i++)
    {
      const char *text = (const char *) seed_at (i)->data,
                 *second = g_strstr_len (text, seed_at (i)->len, "}\n{\"nodes\"");
      /* of the first graph */
      guint whole = second != NULL ? (guint) (second - text) + 1 : seed_at (i)->len;

      while (g_ascii_isspace (text[whole - 1])) /* without its last line end it is whole */
        whole--;
      for (guint size = 0; size < whole; size += step)
        try_bytes (seed_at (i)->data, size);
    }
  g_assert_cmpuint (accepted, ==, 0);
  for (guint i = with_end; i < seeds->len; i++)
    for (guint size = 0; size < seed_at (i)->len; size += step)
      try_bytes (seed_at (i)->data, size);
}

static void
test_reversed (void)
{
  for (guint i = 0; i < seeds->len; i++)
    {
      const GByteArray *seed = seed_at (i);
      g_autofree guint8 *copy = g_malloc (seed->len);

      for (guint k = 0; k < seed->len; k++)
        copy[k] = seed->data[seed->len - 1 - k];
      try_bytes (copy, seed->len);
    }
}

static void
test_single_bytes (void)
{
  static const guint8 bytes[] = {
    0, '"', '\\', '{', '}', '[', ']', ',', ':', '-', '9', 0x80, 0xff
  };
  const guint step = g_getenv ("GEMEM_QUICK") != NULL ? 11 : 2;

  for (guint i = 0; i < seeds->len; i++)
    for (guint at = 0; at < seed_at (i)->len; at += step)
      {
        g_autofree guint8 *copy = g_memdup2 (seed_at (i)->data, seed_at (i)->len);

        copy[at] = bytes[(at / step) % G_N_ELEMENTS (bytes)];
        try_bytes (copy, seed_at (i)->len);
        copy[at] = seed_at (i)->data[at] ^ (guint8) (1u << (at / step % 8));
        try_bytes (copy, seed_at (i)->len);
      }
}

/* Replaces a digit or a word by something that a reader has to bound. */
static void
replace_token (GByteArray *bytes, GememRng *rng)
{
  static const char *const tokens[] = { "-1",
                                        "0",
                                        "4294967295",
                                        "4294967296",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "-9223372036854775809",
                                        "99999999999999999999999999999999999999",
                                        "1e99",
                                        "0.5",
                                        "null",
                                        "true",
                                        "[]",
                                        "{}",
                                        "\"\"",
                                        "\"a\"",
                                        "[[\"a\",0]]",
                                        "a:-1" };
  const char *token = tokens[gemem_rng_below (rng, G_N_ELEMENTS (tokens))];
  guint at = (guint) gemem_rng_below (rng, bytes->len), end;

  while (at < bytes->len && !g_ascii_isalnum (bytes->data[at]))
    at++;
  for (end = at; end < bytes->len && g_ascii_isalnum (bytes->data[end]);)
    end++;
  g_autoptr (GByteArray) tail = g_byte_array_new ();
  g_byte_array_append (tail, bytes->data + end, bytes->len - end);
  g_byte_array_set_size (bytes, at);
  g_byte_array_append (bytes, (const guint8 *) token, (guint) strlen (token));
  g_byte_array_append (bytes, tail->data, tail->len);
}

static void
mutate (GByteArray *bytes, GememRng *rng)
{
  const guint at = (guint) gemem_rng_below (rng, bytes->len),
              some = 1 + (guint) gemem_rng_below (rng, 24), n = MIN (some, bytes->len - at);
  const GByteArray *other = seed_at ((guint) gemem_rng_below (rng, seeds->len));
  const guint from = (guint) gemem_rng_below (rng, other->len);

  switch (gemem_rng_below (rng, 6))
    {
    case 0:
      bytes->data[at] ^= (guint8) (1u << gemem_rng_below (rng, 8));
      break;
    case 1:
      bytes->data[at] = (guint8) gemem_rng_next (rng);
      break;
    case 2:
      if (bytes->len > n)
        g_byte_array_remove_range (bytes, at, n);
      break;
    case 3: /* a piece of another file over this one */
      memcpy (bytes->data + at, other->data + from, MIN (n, other->len - from));
      break;
    default:
      replace_token (bytes, rng);
    }
}

static void
test_random (void)
{
  const guint rounds = g_getenv ("GEMEM_QUICK") != NULL ? 300 : 4000;
  GememRng rng;

  gemem_rng_init (&rng, 1, "graph-mutations");
  accepted = refused = 0;
  for (guint i = 0; i < seeds->len; i++)
    for (guint k = 0; k < rounds; k++)
      {
        g_autoptr (GByteArray) bytes = g_byte_array_new ();

        g_byte_array_append (bytes, seed_at (i)->data, seed_at (i)->len);
        for (guint64 times = 1 + gemem_rng_below (&rng, 3); times > 0; times--)
          mutate (bytes, &rng);
        try_bytes (bytes->data, bytes->len);
      }
  g_test_message ("%u read, %u refused", accepted, refused);
  g_assert_cmpuint (accepted, >, rounds / 10); /* the mutations are not all fatal */
  g_assert_cmpuint (refused, >, rounds);
}

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  load_seeds ();
  g_test_add_func ("/graph-mutations/seeds", test_seeds);
  g_test_add_func ("/graph-mutations/truncated", test_truncated);
  g_test_add_func ("/graph-mutations/reversed", test_reversed);
  g_test_add_func ("/graph-mutations/single-bytes", test_single_bytes);
  g_test_add_func ("/graph-mutations/random", test_random);
  status = g_test_run ();
  g_ptr_array_unref (seeds);
  return status;
}
