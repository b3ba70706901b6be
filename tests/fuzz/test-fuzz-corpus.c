/* test-fuzz-corpus.c - the corpus of fuzz-reader.c, its prefixes, and some thousand mutations of
 * it, the same in every run. */
#include "config.h"

#include "tests/fuzz/fuzz-reader.c"

#include "base/rng.h"
#include "tests/util/testutil.h"

#define MUTATIONS 400 /* of each seed */

static GPtrArray *seeds; /* GBytes */

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* A native file of now, so that the corpus need not follow its versions. */
static void
add_native_seed (void)
{
  static const char text[] = "a 1 512\na 2 1024 7\nf 1\na 3 4096\nf 3\nf 2 7\n";
  g_autofree char *path = g_build_filename (test_tmpdir (), "seed.gmt", NULL), *data = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new_static (text, sizeof text - 1);
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "ops"),
                                                     "ops", NULL, &error);
  const GememTraceEvent *events;
  gssize n;
  gsize size;

  g_assert_no_error (error);
  GememTraceWriter *writer = gemem_trace_create (path, "native", &reader->info, &error);
  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    g_assert_true (writer->write (writer, events, n, &error));
  g_assert_true (writer->finish (writer, &error));
  gemem_trace_close (reader);
  g_assert_true (g_file_get_contents (path, &data, &size, NULL));
  g_autofree char *seed = g_malloc (size + 1);
  seed[0] = 'n';
  memcpy (seed + 1, data, size);
  g_ptr_array_add (seeds, g_bytes_new (seed, size + 1));
}

static void
load_seeds (void)
{
  g_autofree char *folder = test_source_path ("tests/fuzz/corpus");
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  GDir *dir = g_dir_open (folder, 0, NULL);
  const char *name;

  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL)
    g_ptr_array_add (names, g_strdup (name));
  g_dir_close (dir);
  g_ptr_array_sort (names, compare_names);
  seeds = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  for (guint i = 0; i < names->len; i++)
    {
      g_autofree char *path = g_build_filename (folder, g_ptr_array_index (names, i), NULL),
                      *data = NULL;
      gsize size;
      g_assert_true (g_file_get_contents (path, &data, &size, NULL));
      g_ptr_array_add (seeds, g_bytes_new (data, size));
    }
  add_native_seed ();
  g_assert_cmpuint (seeds->len, >=, 20);
}

/* Reads the seed as it is meant: without an error unless its name (in the corpus) begins with
 * "bad-". */
static void
test_seeds (void)
{
  for (guint i = 0; i < seeds->len; i++)
    {
      gsize size;
      const guint8 *data = g_bytes_get_data (g_ptr_array_index (seeds, i), &size);
      LLVMFuzzerTestOneInput (data, size);
    }
}

static void
test_good_seeds (void)
{
  g_autofree char *folder = test_source_path ("tests/fuzz/corpus");
  GDir *dir = g_dir_open (folder, 0, NULL);
  const char *name;
  guint good = 0, bad = 0;

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL), *data = NULL;
      gsize size;
      g_autoptr (GError) error = NULL;
      g_assert_true (g_file_get_contents (path, &data, &size, NULL));
      g_autoptr (GBytes) bytes = file_of (data[0], (const guint8 *) data + 1, size - 1);
      GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "seed"),
                                                         NULL, NULL, &error);
      const GememTraceEvent *events;
      while (reader != NULL && gemem_trace_next (reader, &events, &error) > 0)
        ;
      gemem_trace_close (reader);
      if (g_str_has_prefix (name, "bad-"))
        {
          g_assert_nonnull (error);
          bad++;
        }
      else
        {
          g_assert_no_error (error); /* recognised by its content, and read to the end */
          good++;
        }
    }
  g_dir_close (dir);
  g_assert_cmpuint (good, >=, 12);
  g_assert_cmpuint (bad, >=, 5);
}

static void
test_prefixes (void)
{
  for (guint i = 0; i < seeds->len; i++)
    {
      gsize size;
      const guint8 *data = g_bytes_get_data (g_ptr_array_index (seeds, i), &size);
      gsize step = 1 + size / 300;
      for (gsize part = 1; part < size; part += step)
        {
          /* exact size, so that a sanitizer sees a read behind it */
          g_autofree guint8 *copy = g_malloc (part);
          memcpy (copy, data, part);
          LLVMFuzzerTestOneInput (copy, part);
          copy[0] |= 0x80;
          LLVMFuzzerTestOneInput (copy, part);
        }
    }
}

/* ---- mutations */

static void
overwrite (GByteArray *bytes, GememRng *rng)
{
  static const guint64 values[] = { 0,      1,          0x7f,       0x80,       0xff,        0x7fff,
                                    0xffff, 0x7fffffff, 0xffffffff, G_MAXINT64, G_MAXUINT64, '\n',
                                    ',',    '"',        '{',        '.' };
  guint64 value = values[gemem_rng_below (rng, G_N_ELEMENTS (values))];
  guint size = 1u << gemem_rng_below (rng, 4);
  guint at = (guint) gemem_rng_below (rng, bytes->len);
  for (guint i = 0; i < size && at + i < bytes->len; i++)
    bytes->data[at + i] = (guint8) (value >> (8 * i));
}

static void
mutate_once (GByteArray *bytes, GememRng *rng)
{
  guint at = (guint) gemem_rng_below (rng, bytes->len), n = 1 + (guint) gemem_rng_below (rng, 16);
  n = MIN (n, bytes->len - at);
  switch (gemem_rng_below (rng, 7))
    {
    case 0:
      bytes->data[at] ^= (guint8) (1u << gemem_rng_below (rng, 8));
      break;
    case 1:
      bytes->data[at] = (guint8) gemem_rng_next (rng);
      break;
    case 2:
      overwrite (bytes, rng);
      break;
    case 3: /* remove a piece */
      if (bytes->len - n > 1)
        g_byte_array_remove_range (bytes, at, n);
      break;
    case 4: /* cut the end off */
      g_byte_array_set_size (bytes, MAX (at, 1));
      break;
    case 5: /* repeat a piece at the end */
      {
        guint8 piece[16];
        memcpy (piece, bytes->data + at, n);
        g_byte_array_append (bytes, piece, n);
        break;
      }
    default: /* a piece of another seed over this one */
      {
        gsize size;
        const guint8 *other = g_bytes_get_data (
            g_ptr_array_index (seeds, (guint) gemem_rng_below (rng, seeds->len)), &size);
        gsize from = gemem_rng_below (rng, size);
        for (gsize i = 0; i < 2 * n && from + i < size && at + i < bytes->len; i++)
          bytes->data[at + i] = other[from + i];
      }
    }
}

static void
test_mutations (void)
{
  GememRng rng;

  gemem_rng_init (&rng, 1, "fuzz");
  for (guint i = 0; i < seeds->len; i++)
    for (guint k = 0; k < MUTATIONS; k++)
      {
        gsize size;
        const guint8 *data = g_bytes_get_data (g_ptr_array_index (seeds, i), &size);
        g_autoptr (GByteArray) bytes = g_byte_array_new ();
        g_byte_array_append (bytes, data, (guint) size);
        for (guint m = 1 + (guint) gemem_rng_below (&rng, 4); m > 0; m--)
          mutate_once (bytes, &rng);
        g_autofree guint8 *copy = g_malloc (bytes->len);
        memcpy (copy, bytes->data, bytes->len);
        if (k % 4 != 0) /* mostly the format it was made for */
          copy[0] = (guint8) (data[0] | (k % 2 != 0 ? 0x80 : 0));
        LLVMFuzzerTestOneInput (copy, bytes->len);
      }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  load_seeds ();
  g_test_add_func ("/fuzz-corpus/seeds", test_seeds);
  g_test_add_func ("/fuzz-corpus/good-seeds", test_good_seeds);
  g_test_add_func ("/fuzz-corpus/prefixes", test_prefixes);
  g_test_add_func ("/fuzz-corpus/mutations", test_mutations);
  int result = g_test_run ();
  g_ptr_array_unref (seeds);
  return result;
}
