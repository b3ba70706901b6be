/* test-fuzz-corpus.c - every target of fuzz.h on its seeds and its corpus, their prefixes, and
 * mutations of them, the same in every run; libFuzzer is not needed.
 *
 * A target has at least one seed that it accepts.  Files of the corpus (tests/fuzz/README.md) that
 * are called bad-* must be refused, found-* are either, all others must be accepted.  Quick under
 * GEMEM_QUICK=1.
 */
#include "config.h"

#include <string.h>

#include "base/named.h"
#include "base/rng.h"
#include "tests/fuzz/fuzz.h"
#include "tests/util/testutil.h"

#define PREFIXES 40  /* of each seed */
#define MUTATIONS 40 /* of each seed */
#define MOST 400     /* of either, of one target */

/* Returns how many are accepted. */
static guint
add_corpus (const FuzzTarget *target, GPtrArray *seeds)
{
  g_autofree char *relative = g_build_filename ("tests/fuzz/corpus", target->name, NULL),
                  *folder = test_source_path (relative);
  GDir *dir = g_dir_open (folder, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const char *name;
  guint good = 0;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    g_ptr_array_add (names, g_strdup (name));
  if (dir != NULL)
    g_dir_close (dir);
  g_ptr_array_sort (names, gemem_compare_texts);
  for (guint i = 0; i < names->len; i++)
    {
      g_autofree char *path = g_build_filename (folder, names->pdata[i], NULL);
      char *data;
      gsize size;
      g_assert_true (g_file_get_contents (path, &data, &size, NULL));
      const gboolean accepted = fuzz_run (target, (const guint8 *) data, size),
                     bad = g_str_has_prefix (names->pdata[i], "bad-");
      if (accepted == bad && !g_str_has_prefix (names->pdata[i], "found-"))
        g_error ("%s is %s", path, accepted ? "accepted" : "refused");
      good += accepted;
      g_ptr_array_add (seeds, g_bytes_new_take (data, size));
    }
  return good;
}

/* ---- prefixes */

static void
try_prefixes (const FuzzTarget *target, const GPtrArray *seeds, guint each)
{
  for (guint i = 0; i < seeds->len; i++)
    {
      gsize size;
      const guint8 *data = g_bytes_get_data (seeds->pdata[i], &size);
      const gsize step = 1 + size / each;
      for (gsize part = 0; part < size; part += step)
        fuzz_run (target, data, part);
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
mutate_once (GByteArray *bytes, const GPtrArray *seeds, GememRng *rng)
{
  guint at = (guint) gemem_rng_below (rng, bytes->len), n = 1 + (guint) gemem_rng_below (rng, 16);
  guint8 piece[32];
  gsize size, from;

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
      memcpy (piece, bytes->data + at, n);
      g_byte_array_append (bytes, piece, n);
      break;
    default: /* a piece of another seed over this one */
      {
        const guint8 *other = g_bytes_get_data (seeds->pdata[gemem_rng_below (rng, seeds->len)],
                                                &size);
        from = size > 0 ? gemem_rng_below (rng, size) : 0;
        for (gsize i = 0; i < 2 * n && from + i < size && at + i < bytes->len; i++)
          bytes->data[at + i] = other[from + i];
      }
    }
}

static void
try_mutations (const FuzzTarget *target, const GPtrArray *seeds, guint each)
{
  GememRng rng;

  gemem_rng_init (&rng, 1, target->name);
  for (guint i = 0; i < seeds->len; i++)
    for (guint k = 0; k < each; k++)
      {
        gsize size;
        const guint8 *data = g_bytes_get_data (seeds->pdata[i], &size);
        if (size == 0)
          continue;
        g_autoptr (GByteArray) bytes = g_byte_array_new ();
        g_byte_array_append (bytes, data, (guint) size);
        for (guint64 n = 1 + gemem_rng_below (&rng, 3); n > 0; n--)
          mutate_once (bytes, seeds, &rng);
        if (target->kind->repair != NULL)
          target->kind->repair (target->member, bytes->data, bytes->len, k);
        fuzz_run (target, bytes->data, bytes->len);
      }
}

/* ---- */

static void
test_target (gconstpointer data)
{
  const FuzzTarget *target = data;
  g_autoptr (GPtrArray) seeds = fuzz_seeds (target);
  const guint most = g_getenv ("GEMEM_QUICK") != NULL ? MOST / 8 : MOST;
  guint accepted = 0;

  for (guint i = 0; i < seeds->len; i++)
    {
      gsize size;
      const guint8 *bytes = g_bytes_get_data (seeds->pdata[i], &size);
      accepted += fuzz_run (target, bytes, size);
    }
  accepted += add_corpus (target, seeds);
  g_test_message ("%s: %u of %u seeds accepted", target->name, accepted, seeds->len);
  g_assert_cmpuint (accepted, >, 0);
  try_prefixes (target, seeds, CLAMP (most / seeds->len, 1, PREFIXES));
  try_mutations (target, seeds, CLAMP (most / seeds->len, 1, MUTATIONS));
}

/* A folder of the corpus that is no target's would never be looked at. */
static void
test_folders (void)
{
  g_autofree char *folder = test_source_path ("tests/fuzz/corpus");
  GDir *dir = g_dir_open (folder, 0, NULL);
  const char *name;

  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL)
    if (fuzz_target_find (name) == NULL)
      g_error ("tests/fuzz/corpus/%s: no such target", name);
  g_dir_close (dir);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/fuzz/folders", test_folders);
  for (guint i = 0; i < fuzz_targets ()->len; i++)
    {
      const FuzzTarget *target = fuzz_targets ()->pdata[i];
      g_autofree char *path = g_strconcat ("/fuzz/", target->name, NULL);
      g_test_add_data_func (path, target, test_target);
    }
  return g_test_run ();
}
