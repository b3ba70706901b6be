/* test-ge-plan-log.c - traces from the log of GE's planner: events delivered, events left out,
 * logs refused. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/input.h"
#include "tests/util/testutil.h"
#include "traces/ge/log.h"
#include "traces/trace.h"

/* "+ID:SIZE@TIME/STREAM/POOL=TAG", "-ID@TIME", "phase@TIME=TAG"; then the provenance. */
static char *
trace_text (GememTraceReader *reader)
{
  GString *text = g_string_new (NULL);
  const GememTraceEvent *events;
  g_autoptr (GError) error = NULL;
  gssize n;

  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      {
        const GememTraceEvent *e = &events[i];
        const char *tag = g_ptr_array_index (reader->info.strings, e->tag);
        if (e->kind == GEMEM_EVENT_PHASE)
          g_string_append_printf (text, "phase@%" G_GUINT64_FORMAT "=%s\n", e->time, tag);
        else if (e->kind == GEMEM_EVENT_FREE)
          g_string_append_printf (text, "-%" G_GUINT64_FORMAT "@%" G_GUINT64_FORMAT "\n", e->id,
                                  e->time);
        else
          g_string_append_printf (text,
                                  "+%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT "@%" G_GUINT64_FORMAT
                                  "/%" G_GUINT64_FORMAT "/%u=%s\n",
                                  e->id, e->size, e->time, e->stream, e->pool, tag);
      }
  g_assert_no_error (error);
  for (guint i = 0; i < reader->info.provenance->len; i++)
    g_string_append_printf (text, "%s\n",
                            (const char *) g_ptr_array_index (reader->info.provenance, i));
  return g_string_free (text, FALSE);
}

static void
test_sample (void)
{
  g_autofree char *path = test_source_path ("tests/data/ge/plan-log.txt"), *text = NULL;
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (reader->format->name, ==, "ge-plan-log");
  g_assert_cmpuint (reader->info.events, ==, 14);
  g_assert_cmpuint (reader->info.skipped, ==, 3);
  text = trace_text (reader);
  g_assert_cmpstr (text, ==,
                   "phase@0=net_1\n"
                   "+3:4000@0/2/0=b:output 0\n"
                   "+4:512@0/0/0=x:output 0\n"
                   "+1:4000@1/0/0=a[0]:output 0\n"
                   "+2:1000@1/0/0=a[0]:workspace 0\n"
                   "-2@2\n"
                   "-1@4\n"
                   "+5:64@4/0/17=p:output_desc 1\n"
                   "-3@6\n"
                   "-4@7\n"
                   "-5@7\n"
                   "phase@7=sub_2\n"
                   "+6:600@7/0/0=only:output 0\n"
                   "-6@8\n"
                   "plan: net_1 memoffset[8704], memtype[2], theory_min[8192], zero_copy[512], "
                   "total_size[8704], no_reuse[13616], streams[2], "
                   "topo_mode[DFS], mop[], io_reuse[0:0], alloc_mode[ByGE], smp[0]\n"
                   "time: logical, one step is one node of a graph; graphs follow one another\n"
                   "note: 1 entries share the memory of others and are left out\n"
                   "note: 1 entries have no bytes and are left out\n"
                   "note: 1 entries for an output that has one already are left out\n");
  gemem_trace_close (reader);
}

/* ---- damage */

#define GOOD \
  "[IMAS]Set g_1 name[n] optype[T] output[0] offset to [-1] streamid[0] memtype[2] size[512] " \
  "realsize[8] noalignsize[8] life time " \
  "begin[1] " \
  "life time end[2] child[0] isref[0] batch[], block_type[]"

static GememTraceReader *
open_text (const char *text, gboolean allow_partial, GError **error)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));
  const GememReadOptions options = { allow_partial, -1 };

  return gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.log"), "ge-plan-log",
                                 &options, error);
}

/* GOOD with @from replaced by @to must be refused as @expected. */
static void
expect_refusal (const char *from, const char *to, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) parts = g_strsplit (GOOD, from, 2);
  g_autofree char *line = g_strjoinv (to, parts),
                  *text = g_strconcat (GOOD, "\n", line, "\n", NULL);

  g_assert_cmpuint (g_strv_length (parts), ==, 2);
  g_assert_null (open_text (text, FALSE, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_cmpstr (error->message, ==, expected);
  GememTraceReader *reader = open_text (text, TRUE, NULL);
  g_assert_nonnull (reader);
  g_assert_cmpuint (reader->info.events, ==, 3);
  g_assert_true ((reader->info.flags & GEMEM_TRACE_TRUNCATED) != 0);
  gemem_trace_close (reader);
}

#define NO_GOOD(field) \
  "x.log:2: the planner's line has no good '" field "...]'; it may be cut, fetch the log again"

static void
test_damage (void)
{
  g_autoptr (GError) error = NULL;

  expect_refusal (" name[", " nome[", NO_GOOD ("name["));
  expect_refusal ("optype[", "optype", NO_GOOD (" name["));
  expect_refusal ("output[0]", "offset[0]", NO_GOOD ("output["));
  expect_refusal ("output[0]", "output[x]", NO_GOOD ("["));
  expect_refusal ("[-1]", "[-]", NO_GOOD ("offset to ["));
  expect_refusal ("streamid[0]", "streamid[0--]", NO_GOOD ("streamid["));
  expect_refusal ("memtype[2]", "memtype[-2]", NO_GOOD ("memtype["));
  expect_refusal ("realsize[8]", "realsize[99999999999999999999]", NO_GOOD ("realsize["));
  expect_refusal ("begin[1]", "begin[]", NO_GOOD ("life time begin["));
  expect_refusal ("end[2]", "end[2--x]", NO_GOOD ("life time end["));
  expect_refusal ("isref[0] batch[], block_type[]", "isref[", NO_GOOD ("isref["));
  expect_refusal ("realsize[8]", "realsize[1152921504606846976]",
                  "x.log:2: a life time begins at 1 or 1152921504606846976 bytes are placed; no "
                  "graph has so many");
  expect_refusal ("begin[1]", "begin[3]",
                  "x.log:2: the life time of 'n:output 0' ends at 2, before it begins at 3; fetch "
                  "the log again");
  g_assert_null (open_text ("some log\n", TRUE, &error));
  g_assert_cmpstr (error->message, ==,
                   "x.log:1: the log has no line of GE's planner ('[IMAS]Set ...'); set the log "
                   "level to INFO and compile again");
}

/* Every prefix of a line is damaged, and the reader never reads beyond its end. */
static void
test_cut (void)
{
  const gsize whole = strstr (GOOD, ", block_type") - GOOD;

  for (gsize size = strlen ("[IMAS]Set "); size <= strlen (GOOD); size++)
    {
      g_autofree char *copy = g_memdup2 (GOOD, size);
      GememGeLogEntry entry;
      GememGeLogPiece what;

      g_assert_cmpint (gemem_ge_log_parse (copy, copy + size, &entry, &what), ==,
                       size < whole ? GEMEM_GE_LOG_DAMAGED : GEMEM_GE_LOG_ENTRY);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-plan-log/sample", test_sample);
  g_test_add_func ("/ge-plan-log/damage", test_damage);
  g_test_add_func ("/ge-plan-log/cut", test_cut);
  return g_test_run ();
}
