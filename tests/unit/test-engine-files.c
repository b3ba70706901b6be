/* test-engine-files.c - the events log, byte for byte, and the files left after a failure. */
#include "config.h"

#include <glib/gstdio.h>

#include "tests/util/engine-job.h"
#include "tests/util/testutil.h"

static char *
read_file (const char *path)
{
  char *text;
  g_autoptr (GError) error = NULL;
  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  return text;
}

static void
test_text (void)
{
  static const GememTraceEvent events[] = {
    TEST_ALLOC (1, 100),
    TEST_ALLOC (18446744073709551615u, 4000),
    TEST_ALLOC (3, 0),
    TEST_EVENT (STEP, 1),
    TEST_EVENT (TRIM, 0),
    TEST_EVENT (FREE_REQUESTED, 1),
    TEST_EVENT (FREE_COMPLETED, 1),
    TEST_FREE (18446744073709551615u),
    { .kind = GEMEM_EVENT_ALLOC, .id = 5, .size = 1, .device = 1 },
    TEST_ALLOC (6, 257),
    TEST_FREE (6),
    { .kind = GEMEM_EVENT_STREAM_SYNC, .stream = 3 },
  };
  static const char expected[] = "seq,kind,id,size,address,block,reserved,device\n"
                                 "0,alloc,1,100,0x100000000000,256,4096,0\n"
                                 "1,alloc,18446744073709551615,4000,,,4096,0\n"
                                 "4,trim,,,,,4096,0\n"
                                 "5,free-requested,1,100,0x100000000000,256,4096,0\n"
                                 "6,free-completed,1,100,0x100000000000,256,4096,0\n"
                                 "9,alloc,6,257,0x100000000000,512,4096,0\n"
                                 "10,free,6,257,0x100000000000,512,4096,0\n"
                                 "11,stream-sync,,,,,4096,0\n";
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (&slots_class);
  GememJob job = test_job (spec, &trace);
  g_autofree char *path = g_build_filename (test_tmpdir (), "events.csv", NULL);

  job.events_path = path;
  job.device_spec = "sim:capacity=4096,address=bump";
  job.keep_map = job.find_capacity = TRUE; /* neither writes to the log */
  gemem_result_free (test_job_run (&job));
  g_autofree char *text = read_file (path);
  g_assert_cmpstr (text, ==, expected);
  gemem_allocator_spec_free (spec);
}

/* More rows than the buffer holds; they are counted, and the last one is compared. */
static void
test_long (void)
{
  const guint n = 100000;
  g_autofree GememTraceEvent *events = g_new0 (GememTraceEvent, n);
  TestTrace trace = { .events = events, .n = n };
  GememAllocatorSpec *spec = test_spec (test_direct_class ());
  GememJob job = test_job (spec, &trace);
  g_autofree char *path = g_build_filename (test_tmpdir (), "long.csv", NULL);
  guint lines = 0;

  for (guint i = 0; i < n; i++)
    events[i] = i % 2 == 0 ? (GememTraceEvent) TEST_ALLOC (i / 2, 10)
                           : (GememTraceEvent) TEST_FREE (i / 2);
  job.events_path = path;
  job.full_checks = FALSE;
  gemem_result_free (test_job_run (&job));
  g_autofree char *text = read_file (path);
  for (const char *c = text; *c != '\0'; c++)
    lines += *c == '\n';
  g_assert_cmpuint (lines, ==, n + 1);
  g_assert_nonnull (g_strrstr (text, "\n99999,free,49999,10,0x"));
  g_assert_true (g_str_has_suffix (text, ",10,0,0\n"));
  gemem_allocator_spec_free (spec);
}

static void
expect_failure (const GememJob *job, GememError code, const char *prefix)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (gemem_job_run (job, &error));
  g_assert_error (error, GEMEM_ERROR, (int) code);
  if (!g_str_has_prefix (error->message, prefix))
    g_error ("'%s' does not begin with '%s'", error->message, prefix);
}

static void
test_failures (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_FREE (1), TEST_FREE (1) };
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (test_direct_class ());
  GememJob job = test_job (spec, &trace);
  g_autofree char *dir = g_build_filename (test_tmpdir (), "log", NULL);
  g_autofree char *path = g_build_filename (dir, "events.csv", NULL);

  job.events_path = path;
  expect_failure (&job, GEMEM_ERROR_FAILED, path); /* no such folder */
  g_assert_cmpint (g_mkdir (dir, 0700), ==, 0);
  /* the trace is bad: no file is left */
  expect_failure (&job, GEMEM_ERROR_INPUT, "array:event 2: ");
  g_assert_cmpint (g_rmdir (dir), ==, 0);
  if (g_file_test ("/dev/full", G_FILE_TEST_EXISTS))
    {
      trace.n = 2;
      job.events_path = "/dev/full";
      expect_failure (&job, GEMEM_ERROR_FAILED, "/dev/full: ");
    }
  gemem_allocator_spec_free (spec);
}

static void
test_interrupted (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_FREE (1), TEST_ALLOC (2, 1) };
  gint interrupted = 0;
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (test_direct_class ());
  GememJob job = test_job (spec, &trace);
  g_autofree char *path = g_build_filename (test_tmpdir (), "interrupted.csv", NULL);
  g_autofree char *partial = g_strconcat (path, ".partial", NULL);

  trace.batch = 1;
  trace.interrupt = &interrupted;
  trace.interrupt_at = 2;
  job.interrupted = &interrupted;
  job.events_path = path;
  gemem_result_free (test_job_run (&job));
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS)); /* no partial file that looks complete */
  g_autofree char *text = read_file (partial);
  g_assert_true (
      g_str_has_prefix (text, "seq,kind,id,size,address,block,reserved,device\n0,alloc,1,100,0x"));
  g_assert_true (g_str_has_suffix (text, ",100,0,0\n"));
  gemem_allocator_spec_free (spec);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/events-log/text", test_text);
  g_test_add_func ("/events-log/long", test_long);
  g_test_add_func ("/events-log/failures", test_failures);
  g_test_add_func ("/events-log/interrupted", test_interrupted);
  return g_test_run ();
}
