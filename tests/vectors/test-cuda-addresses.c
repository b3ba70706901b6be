/* test-cuda-addresses.c - `address=cuda` gives the addresses that an H100's driver gave: every
 * allocation and every reservation of a bare process, from the logs in shared/gpu (formats:
 * addresses/README.md, cuda-async/README.md).
 *
 * Of programs with libraries and mappings of their own only the order of segments can be predicted,
 * and that not wholly: of PyTorch's programs in these files the share of pairs of live segments in
 * the right order is held to what the model had that found the rules.
 *
 * The bare process that was logged had used the 2 MiB at the end of L, so the test takes them first.
 */
#include "config.h"

#include <string.h>

#include "base/io/input.h"
#include "devices/arenas.h"
#include "devices/device.h"
#include "tests/util/testutil.h"

#define F (GEMEM_ARENAS_TOP - 32 * G_GUINT64_CONSTANT (0x100000))

typedef struct
{
  GememDevice *device;
  GHashTable *live; /* id -> Block */
  guint64 base;     /* what an address of the log is less than one of the device */
  guint allocations, ranges, frees;
} Replay;

typedef struct
{
  guint64 address, size;
  gint64 offset; /* in the recording of a program */
  gboolean range;
} Block;

static void
open_device (Replay *replay)
{
  GError *error = NULL;

  *replay = (Replay){ .device = gemem_device_new ("sim:address=cuda,capacity=100TiB", NULL, 0,
                                                  &error),
                      .live = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free) };
  g_assert_no_error (error);
}

static void
begin (Replay *replay)
{
  open_device (replay);
  g_assert_cmphex (gemem_device_malloc (replay->device, GEMEM_ARENAS_PAGE, 0), ==,
                   F - 33 * GEMEM_ARENAS_PAGE);
}

static void
end (Replay *replay)
{
  g_hash_table_unref (replay->live);
  gemem_device_destroy (replay->device);
}

static void
give (Replay *replay, const char *id)
{
  const Block *block = g_hash_table_lookup (replay->live, id);

  g_assert_nonnull (block);
  if (block->range)
    gemem_device_release (replay->device, block->address, block->size);
  else
    gemem_device_free (replay->device, block->address, block->size);
  g_hash_table_remove (replay->live, id);
  replay->frees++;
}

static guint64
take (Replay *replay, const char *id, guint64 size, guint64 alignment, gboolean range)
{
  Block *block = g_new (Block, 1);

  *block = (Block){ .size = size, .range = range };
  block->address = range ? gemem_device_reserve (replay->device, size, alignment)
                         : gemem_device_malloc (replay->device, size, 0);
  g_assert_true (g_hash_table_insert (replay->live, g_strdup (id), block));
  replay->allocations += !range;
  replay->ranges += range;
  return block->address;
}

/* ---- tables: kind,id,size,align,zone,offset */

static void
run_row (Replay *replay, char **cells)
{
  const gboolean range = g_str_has_suffix (cells[0], "reserve");
  guint64 expected;

  if (strcmp (cells[0], "free") == 0 || strcmp (cells[0], "unreserve") == 0)
    {
      give (replay, cells[1]);
      return;
    }
  expected = g_ascii_strtoll (cells[5], NULL, 10) + (strcmp (cells[4], "low") == 0 ? 0 : F);
  g_assert_cmphex (take (replay, cells[1], g_ascii_strtoull (cells[2], NULL, 10),
                         MAX (g_ascii_strtoull (cells[3], NULL, 10), 1), range),
                   ==, expected);
}

static char **
next_line (GememInput *input, const char *separator)
{
  const char *line;
  gsize length;
  GError *error = NULL;
  const int got = gemem_input_line (input, 4096, &line, &length, &error);
  g_autofree char *text = got > 0 ? g_strndup (line, length) : NULL;

  g_assert_no_error (error);
  return got > 0 ? g_strsplit (text, separator, -1) : NULL;
}

static GememInput *
open_shared (const char *name)
{
  g_autofree char *path = test_shared_path (name);
  GError *error = NULL;
  GememInput *input = path != NULL ? gemem_input_open (path, &error) : NULL;

  g_assert_no_error (error);
  return input;
}

typedef struct
{
  const char *name;
  guint allocations, ranges;
} File;

static void
test_table (gconstpointer data)
{
  const File *file = data;
  g_autofree char *name = g_strdup_printf ("gpu/addresses/%s.csv.gz", file->name);
  GememInput *input = open_shared (name);
  Replay replay;
  char **cells;

  if (input == NULL)
    return;
  begin (&replay);
  for (; (cells = next_line (input, ",")) != NULL; g_strfreev (cells))
    if (cells[0][0] != '#' && strcmp (cells[0], "kind") != 0)
      run_row (&replay, cells);
  g_assert_cmpuint (replay.allocations, ==, file->allocations);
  g_assert_cmpuint (replay.ranges, ==, file->ranges);
  end (&replay);
  gemem_input_close (input);
}

/* ---- programs: the order of their segments */

typedef struct
{
  guint64 right, all;
} Pairs;

static void
compare_with_live (Replay *replay, const Block *block, Pairs *pairs)
{
  GHashTableIter iter;
  gpointer other;

  g_hash_table_iter_init (&iter, replay->live);
  while (g_hash_table_iter_next (&iter, NULL, &other))
    if (other != block)
      {
        const Block *live = other;
        pairs->all++;
        pairs->right += (live->offset < block->offset) == (live->address < block->address);
      }
}

static void
run_program_row (Replay *replay, char **cells, guint first_free, Pairs *pairs)
{
  Block *block;

  if (strcmp (cells[0], "free") == 0)
    give (replay, cells[1]);
  if (strcmp (cells[0], "malloc") != 0)
    return;
  if (replay->allocations == first_free)
    gemem_device_compute (replay->device);
  take (replay, cells[1], g_ascii_strtoull (cells[2], NULL, 10), 1, FALSE);
  block = g_hash_table_lookup (replay->live, cells[1]);
  block->offset = g_ascii_strtoll (cells[5], NULL, 10);
  compare_with_live (replay, block, pairs);
}

static void
run_program (const char *path, Pairs *pairs)
{
  GError *error = NULL;
  GememInput *input = gemem_input_open (path, &error);
  guint first_free = G_MAXUINT;
  Replay replay;
  char **cells;

  g_assert_no_error (error);
  open_device (&replay);
  for (; (cells = next_line (input, ",")) != NULL; g_strfreev (cells))
    if (g_str_has_prefix (cells[0], "# first-free="))
      first_free = atoi (cells[0] + strlen ("# first-free="));
    else if (cells[0][0] != '#')
      run_program_row (&replay, cells, first_free, pairs);
  end (&replay);
  gemem_input_close (input);
}

static void
test_programs (void)
{
  g_autoptr (GPtrArray) files = test_shared_files ("gpu/addresses", ".csv.gz");
  Pairs pairs = { 0 };

  for (guint i = 0; files != NULL && i < files->len; i++)
    {
      g_autofree char *name = g_path_get_basename (files->pdata[i]);
      if (!g_str_has_prefix (name, "probe-") && !g_str_has_prefix (name, "all-calls-"))
        run_program (files->pdata[i], &pairs);
    }
  g_test_message ("%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " pairs in order", pairs.right,
                  pairs.all);
  g_assert_cmpuint (pairs.right * 1000, >=, pairs.all * 963);
}

/* ---- logs: operations, and what came back */

static guint64
number (const char *text)
{
  char *suffix;
  const guint64 n = g_ascii_strtoull (text, &suffix, 10);

  return n << (*suffix == 'k' ? 10 : *suffix == 'm' ? 20 : *suffix == 'g' ? 30 : 0);
}

static void
run_operation (Replay *replay, char **words, const char *answer)
{
  guint64 got, logged;

  if (strcmp (words[0], "mf") == 0)
    give (replay, words[1]);
  if (strcmp (words[0], "m") != 0)
    return;
  got = take (replay, words[1], number (words[2]), 1, FALSE);
  logged = g_ascii_strtoull (answer, NULL, 16);
  if (replay->base == 0)
    replay->base = got - logged;
  g_assert_cmphex (got - replay->base, ==, logged);
}

static void
test_log (gconstpointer data)
{
  const File *file = data;
  g_autofree char *ops_name = g_strdup_printf ("gpu/plain/%s.ops.gz", file->name);
  g_autofree char *log_name = g_strdup_printf ("gpu/plain/%s.log.gz", file->name);
  GememInput *ops = open_shared (ops_name), *log = ops != NULL ? open_shared (log_name) : NULL;
  Replay replay;
  char **words, **answer;
  guint64 line = 0;

  if (log == NULL)
    return;
  begin (&replay);
  answer = next_line (log, " ");
  g_strfreev (answer);
  answer = next_line (log, " ");
  for (; (words = next_line (ops, " ")) != NULL; g_strfreev (words))
    if (g_ascii_strtoull (answer[0], NULL, 10) == ++line)
      {
        run_operation (&replay, words, answer[1]);
        g_strfreev (answer);
        answer = next_line (log, " ");
      }
  g_strfreev (answer);
  g_assert_cmpuint (replay.allocations, ==, file->allocations);
  end (&replay);
  gemem_input_close (ops);
  gemem_input_close (log);
}

int
main (int argc, char **argv)
{
  static const File tables[] = { { "probe-plain-segments", 774, 0 },
                                 { "probe-plain-small", 1573, 0 },
                                 { "probe-virtual", 0, 198 } };
  static const File logs[] = { { "e13-plain", 6754, 0 },
                               { "e14-plain-segments", 774, 0 },
                               { "e14-plain-small", 1573, 0 },
                               { "e14-plain-mid", 1309, 0 },
                               { "e14-plain-log", 1269, 0 } };

  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (tables); i++)
    {
      g_autofree char *path = g_strconcat ("/cuda-addresses/table/", tables[i].name, NULL);
      g_test_add_data_func (path, &tables[i], test_table);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (logs); i++)
    {
      g_autofree char *path = g_strconcat ("/cuda-addresses/log/", logs[i].name, NULL);
      g_test_add_data_func (path, &logs[i], test_log);
    }
  g_test_add_func ("/cuda-addresses/programs", test_programs);
  return g_test_run ();
}
