/* test-ge-log-replay.c - round trip: vectors written as GE's own log lines, read by
 * `ge-runtime-log`, and replayed.
 *
 * The log is what the real system would print of the recorded decisions (ge-runtime.md 10). The
 * reader must return the same requests at the same addresses, and ge-scalable must repeat every
 * decision, device calls included where the log has them.
 */
#include "config.h"

#include <string.h>

#include "base/io/input.h"
#include "sim/engine/replay.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"
#include "traces/trace.h"

typedef struct
{
  const char *name;
  /* it only allocates from the device, one block per request: the log has these calls */
  gboolean calls;
} Vector;

static const Vector vectors[] = { { "single-train-1", TRUE },
                                  { "single-dynshape-1", TRUE },
                                  { "two-train-1", FALSE },
                                  { "two-pressure-1", FALSE } };

typedef struct
{
  guint64 size, block, address;
} Block;

/* ---- the writer */

static guint64
figure (const char *line, const char *key)
{
  const char *found = strstr (line, key);

  g_assert_nonnull (found);
  return g_ascii_strtoull (found + strlen (key), NULL, 0);
}

static void
print_prefix (GString *log, guint process, guint64 time)
{
  g_string_append_printf (
      log, "[INFO] GE(%u,python3):2026-08-21-10:%02u:%02u.%03u.000 [scalable_allocator.cc:201]%u ",
      process, (guint) (time / 60000), (guint) (time / 1000 % 60), (guint) (time % 1000),
      process + 1);
}

static void
print_alloc (GString *log, guint process, guint device, guint64 time, const Block *block,
             gboolean failed, gboolean from_device)
{
  print_prefix (log, process, time);
  g_string_append_printf (log, "[allocator_%u] Malloc: Malloc size:%" G_GUINT64_FORMAT ".\n",
                          process, block->size);
  print_prefix (log, process, time);
  if (failed)
    {
      g_string_append_printf (log,
                              "[allocator_%u] AllocateWithTryRecycle: Failed to apply for memory. "
                              "We will try to free memory from memory pool.\n",
                              process);
      return;
    }
  if (from_device)
    {
      g_string_append_printf (log,
                              "Alloc: MallocMemory, func=aclrtMalloc, size=%" G_GUINT64_FORMAT
                              ", purpose=page caching, ptr=0x%" G_GINT64_MODIFIER
                              "x, device_id=%u, module_id=45\n",
                              block->block, block->address, device);
      print_prefix (log, process, time);
    }
  g_string_append_printf (log,
                          "[allocator_%u] Alloc: Malloc block device_id:%u size:%" G_GUINT64_FORMAT
                          " allocate_size:%" G_GUINT64_FORMAT " mem_addr:0x%" G_GINT64_MODIFIER
                          "x. span addr 0x55d000\n",
                          process, device, block->size, block->block, block->address);
}

static void
print_free (GString *log, guint process, guint device, guint64 time, const Block *block)
{
  print_prefix (log, process, time);
  g_string_append_printf (log,
                          "[allocator_%u] Free: Free block device_id:%u theory_size_:0 "
                          "theory_min_size_:0 allock_size:%" G_GUINT64_FORMAT
                          " mem_addr:0x%" G_GINT64_MODIFIER "x.\n",
                          process, device, block->block, block->address);
}

/* Appends line @number of a vector, as process 100 + @device; returns the bytes now held from
 * the device. */
static guint64
print_line (GString *log, GHashTable *blocks, const Vector *vector, guint device, guint number,
            const char *line, guint64 held)
{
  const guint64 id = g_ascii_strtoull (line + 2, NULL, 10);
  const Block *block;

  if (line[0] == 'a')
    {
      const char *arrow = strstr (line, " -> ");
      const gboolean failed = g_str_has_prefix (arrow, " -> NULL");
      Block *fresh = g_new0 (Block, 1);
      fresh->size = g_ascii_strtoull (strchr (line + 2, ' '), NULL, 10);
      fresh->block = failed ? 0 : figure (arrow, " size=");
      fresh->address = failed ? 0 : g_ascii_strtoull (arrow + 4, NULL, 16);
      g_hash_table_insert (blocks, GSIZE_TO_POINTER ((gsize) id), fresh);
      print_alloc (log, 100 + device, device, number, fresh, failed,
                   vector->calls && figure (line, " reserved=") > held);
    }
  else
    {
      g_assert_cmpint (line[0], ==, 'f');
      block = g_hash_table_lookup (blocks, GSIZE_TO_POINTER ((gsize) id));
      if (block->address != 0)
        print_free (log, 100 + device, device, number, block);
    }
  return strstr (line, " reserved=") != NULL ? figure (line, " reserved=") : held;
}

/* The log of two vectors together, each as a process on its own device. */
static char *
print_log (const Vector *const *two, char *const *paths)
{
  GHashTable *blocks[2];
  char **lines[2];
  guint counts[2];
  guint64 held[2] = { 0, 0 };
  GString *log = g_string_new (NULL);

  for (guint k = 0; k < 2; k++)
    {
      g_autofree char *text = test_read_text (paths[k]);
      lines[k] = g_strsplit (text, "\n", -1);
      counts[k] = g_strv_length (lines[k]);
      blocks[k] = g_hash_table_new_full (NULL, NULL, NULL, g_free);
    }
  for (guint i = 1; i < MAX (counts[0], counts[1]); i++)
    for (guint k = 0; k < 2; k++)
      if (i < counts[k] && *lines[k][i] != '\0')
        held[k] = print_line (log, blocks[k], two[k], k, i, lines[k][i], held[k]);
  for (guint k = 0; k < 2; k++)
    {
      g_hash_table_unref (blocks[k]);
      g_strfreev (lines[k]);
    }
  return g_string_free (log, FALSE);
}

/* ---- requests */

/* "+SIZE/BLOCK@ADDRESS" and "-ADDRESS" for each request and its end; "!SIZE" for one that
 * failed. */
static char *
requests (const char *path, int device)
{
  const GememReadOptions options = { FALSE, device };
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) addresses = g_hash_table_new (NULL, NULL);
  GememTraceReader *reader = gemem_trace_open (path, NULL, &options, &error);
  const GememTraceEvent *e;
  GString *out = g_string_new (NULL);
  gssize n;

  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &e, &error)) > 0)
    for (; n > 0; n--, e++)
      {
        gpointer id = GSIZE_TO_POINTER ((gsize) e->id);
        if ((e->flags & GEMEM_EVENT_FAILED) != 0 && e->kind == GEMEM_EVENT_ALLOC)
          g_string_append_printf (out, "!%" G_GUINT64_FORMAT "\n", e->size);
        else if (e->kind == GEMEM_EVENT_ALLOC)
          {
            g_hash_table_insert (addresses, id, GSIZE_TO_POINTER ((gsize) e->address));
            g_string_append_printf (
                out, "+%" G_GUINT64_FORMAT "/%" G_GUINT64_FORMAT "@%" G_GINT64_MODIFIER "x\n",
                e->size, e->aux, e->address);
          }
        else if (e->kind == GEMEM_EVENT_FREE && (e->flags & GEMEM_EVENT_FAILED) == 0)
          g_string_append_printf (out, "-%zx\n",
                                  GPOINTER_TO_SIZE (g_hash_table_lookup (addresses, id)));
      }
  g_assert_no_error (error);
  gemem_trace_close (reader);
  return g_string_free (out, FALSE);
}

/* ---- decisions */

static GememTraceReader *
open_log (gpointer data, GError **error)
{
  return gemem_trace_open (data, NULL, NULL, error);
}

static void
replay (const char *log, const char *vector_path, const Vector *vector, int device)
{
  g_autofree char *spec = test_vector_spec (vector_path);
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GError) error = NULL;
  GememResult *result;

  gemem_allocator_spec_parse (spec, specs, &error);
  g_assert_no_error (error);
  const GememJob job = { .allocator = specs->pdata[0],
                         .device_ordinal = device,
                         .source = open_log,
                         .source_data = (gpointer) log,
                         .full_checks = TRUE };
  result = gemem_job_run (&job, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (result->allocs, >=, 2000);
  g_assert_cmpuint (result->fidelity.compared, ==, result->allocs);
  g_assert_cmpuint (result->fidelity.equal, ==, result->allocs);
  if (vector->calls)
    {
      g_assert_cmpuint (result->fidelity.segments_compared, >=, 10);
      g_assert_cmpuint (result->fidelity.segments_equal, ==, result->fidelity.segments_compared);
    }
  gemem_result_free (result);
}

static void
test_two (gconstpointer data)
{
  const Vector *const two[2] = { data, (const Vector *) data + 1 };
  g_autofree char *log = g_build_filename (test_tmpdir (), "plog.log", NULL), *text = NULL;
  char *paths[2] = { NULL, NULL };

  for (guint k = 0; k < 2; k++)
    {
      g_autofree char *relative = g_strdup_printf ("vectors/ge-runtime/%s.vec.gz", two[k]->name);
      paths[k] = test_shared_path (relative);
    }
  if (paths[0] != NULL && paths[1] != NULL)
    {
      text = print_log (two, paths);
      g_assert_true (g_file_set_contents (log, text, -1, NULL));
      for (guint k = 0; k < 2; k++)
        {
          g_autofree char *expected = requests (paths[k], -1), *got = requests (log, (int) k);
          g_assert_cmpuint (strlen (got), ==, strlen (expected));
          g_assert_true (g_str_equal (got, expected));
          replay (log, paths[k], two[k], (int) k);
        }
    }
  g_free (paths[0]);
  g_free (paths[1]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/ge-log-replay/single", &vectors[0], test_two);
  g_test_add_data_func ("/ge-log-replay/two", &vectors[2], test_two);
  return g_test_run ();
}
