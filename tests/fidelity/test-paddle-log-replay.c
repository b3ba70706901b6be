/* test-paddle-log-replay.c - round trip: vectors written as Paddle's own log lines, read by
 * `paddle-log`, and replayed.
 *
 * The log is what the real allocators would print of the recorded decisions (paddle.md 9);
 * replayed, every decision must be as recorded.
 */
#include "config.h"

#include <string.h>

#include "sim/engine/replay.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"
#include "traces/trace.h"

typedef enum
{
  GROWTH,
  SAFE_GROWTH, /* with the lines of the stream-safe allocator above it */
  BUDDY,
} Logged;

static const struct
{
  const char *vector;
  Logged logged;
} cases[] = {
  { "paddle-auto-growth/c64-train-1", GROWTH },
  { "paddle-auto-growth/c0-dynshape-1", GROWTH },
  { "paddle-auto-growth/c64-pressure-1", GROWTH },
  { "paddle-auto-growth/c64-train-1", SAFE_GROWTH },
  { "paddle-auto-growth/c64-pressure-1", SAFE_GROWTH },
  { "paddle-buddy/i512r256-train-1", BUDDY },
  { "paddle-buddy/i12r4-dynshape-1", BUDDY },
  { "paddle-buddy/i32r64-pressure-1", BUDDY },
  { "paddle-buddy/f0.02-random-1", BUDDY },
};

static GememTraceReader *
open_trace (gpointer data, GError **error)
{
  return gemem_trace_open (data, NULL, NULL, error);
}

static void
print_prefix (GString *log, guint64 seq)
{
  g_string_append_printf (log, "I1121 10:00:%02u.%06u 4711 allocator.cc:60] ",
                          (guint) (seq / 1000000 % 60), (guint) (seq % 1000000));
}

static void
print_alloc (GString *log, const GememTraceEvent *event, guint64 seq, Logged logged)
{
  const gboolean buddy = logged == BUDDY;
  const guint64 block = event->aux != 0 ? event->aux : event->size;

  g_string_append_printf (
      log,
      buddy ? "Allocate %" G_GUINT64_FORMAT " bytes from chunk size %" G_GUINT64_FORMAT "\n"
            : "Allocate %" G_GUINT64_FORMAT " bytes, aligned to %" G_GUINT64_FORMAT "\n",
      event->size, block);
  if ((event->flags & GEMEM_EVENT_FAILED) != 0)
    return;
  print_prefix (log, seq);
  if (!buddy)
    g_string_append_printf (log,
                            "Alloc %" G_GUINT64_FORMAT " bytes, ptr = 0x%" G_GINT64_MODIFIER "x\n",
                            block, event->address);
  if (logged == SAFE_GROWTH)
    {
      print_prefix (log, seq);
      g_string_append_printf (log,
                              "Thread 140 Allocate %" G_GUINT64_FORMAT
                              " bytes at address 0x%" G_GINT64_MODIFIER "x  , stream: 0x55d0\n",
                              block, event->address);
    }
  else if (buddy && event->id % 2 == 0) /* the reader need not know which blocks are huge */
    g_string_append_printf (log, "Allocated 0x%" G_GINT64_MODIFIER "x from system allocator.\n",
                            event->address - 64);
  else if (buddy)
    g_string_append_printf (log, "Left block (0x%" G_GINT64_MODIFIER "x, %" G_GUINT64_FORMAT ")\n",
                            event->address - 64, block);
}

static void
print_free (GString *log, guint64 address, guint64 seq, Logged logged)
{
  if (logged == SAFE_GROWTH)
    {
      g_string_append_printf (log, "Try free allocation 0x%" G_GINT64_MODIFIER "x\n", address);
      print_prefix (log, seq);
    }
  if (logged == BUDDY)
    g_string_append_printf (log, "Free from address 0x%" G_GINT64_MODIFIER "x\n", address - 64);
  else
    g_string_append_printf (log, "Free 1 bytes, ptr = 0x%" G_GINT64_MODIFIER "x\n", address);
}

/* The trace at @path as a log. */
static char *
print_log (const char *path, Logged logged)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) addresses = g_hash_table_new (NULL, NULL);
  GememTraceReader *reader = open_trace ((gpointer) path, &error);
  GString *log = g_string_new (NULL);
  const GememTraceEvent *e;
  guint64 seq = 0;
  gssize n;

  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &e, &error)) > 0)
    for (; n > 0; n--, e++, seq++)
      {
        gpointer id = GSIZE_TO_POINTER ((gsize) e->id);
        if (e->kind == GEMEM_EVENT_FREE && (e->flags & GEMEM_EVENT_FAILED) != 0)
          continue; /* the real program has nothing to free */
        print_prefix (log, seq);
        if (e->kind == GEMEM_EVENT_TRIM)
          g_string_append (log, "Release 1 chunks, Free 1 bytes.\n");
        else if (e->kind == GEMEM_EVENT_ALLOC)
          {
            g_hash_table_insert (addresses, id, GSIZE_TO_POINTER ((gsize) e->address));
            print_alloc (log, e, seq, logged);
          }
        else
          print_free (log, GPOINTER_TO_SIZE (g_hash_table_lookup (addresses, id)), seq, logged);
      }
  g_assert_no_error (error);
  gemem_trace_close (reader);
  return g_string_free (log, FALSE);
}

static GememResult *
replay (const char *path, const char *spec)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GError) error = NULL;
  GememResult *result;

  gemem_allocator_spec_parse (spec, specs, &error);
  g_assert_no_error (error);
  const GememJob job = { .allocator = specs->pdata[0],
                         .device_ordinal = -1,
                         .source = open_trace,
                         .source_data = (gpointer) path };
  result = gemem_job_run (&job, &error);
  g_assert_no_error (error);
  return result;
}

static void
test_vector (gconstpointer number)
{
  const Logged logged = cases[GPOINTER_TO_UINT (number)].logged;
  g_autofree char *relative = g_strdup_printf ("vectors/%s.vec.gz",
                                               cases[GPOINTER_TO_UINT (number)].vector),
                  *path = test_shared_path (relative);
  g_autofree char *log = g_build_filename (test_tmpdir (), "paddle.log", NULL), *text = NULL,
                  *spec = NULL;
  GememResult *expected, *got;

  if (path == NULL)
    return;
  spec = test_vector_spec (path);
  text = print_log (path, logged);
  g_assert_true (g_file_set_contents (log, text, -1, NULL));
  expected = replay (path, spec);
  got = replay (log, spec);
  g_assert_cmpuint (got->allocs, >=, 1900);
  g_assert_cmpuint (got->allocs, ==, expected->allocs);
  g_assert_cmpuint (got->frees, ==, expected->frees);
  g_assert_cmpuint (got->trims, ==, expected->trims);
  g_assert_cmpuint (got->failed_allocs, ==, expected->failed_allocs);
  g_assert_cmpuint (got->peak_reserved, ==, expected->peak_reserved);
  g_assert_cmpuint (got->fidelity.compared, ==, got->allocs);
  g_assert_cmpuint (got->fidelity.equal, ==, got->allocs);
  gemem_result_free (expected);
  gemem_result_free (got);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *name = g_strconcat ("/paddle-log-replay/", cases[i].vector,
                                           cases[i].logged == SAFE_GROWTH ? "/safe" : NULL, NULL);
      g_test_add_data_func (name, GUINT_TO_POINTER (i), test_vector);
    }
  return g_test_run ();
}
