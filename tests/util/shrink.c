/* shrink.c - see shrink.h. */
#include "config.h"

#include <glib/gstdio.h>

#include "tests/util/shrink.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"
#include "traces/trace.h"

#define U64 "%" G_GUINT64_FORMAT

/* ---- shrinking */

typedef struct
{
  GArray *ops;
  TestFails fails;
  gpointer data;
  guint trials;
} Shrink;

static gboolean
still_fails (Shrink *s, const GArray *ops)
{
  s->trials++;
  return s->fails ((const TestOp *) (gconstpointer) ops->data, ops->len, s->data);
}

/* One pass over all chunks of @size; TRUE if any was removed. */
static gboolean
remove_chunks (Shrink *s, guint size)
{
  gboolean any = FALSE;

  for (guint at = s->ops->len; at > 0;)
    {
      const guint n = MIN (size, at);
      g_autoptr (GArray) shorter = g_array_copy (s->ops);

      at -= n;
      g_array_remove_range (shorter, at, n);
      if (shorter->len > 0 && still_fails (s, shorter))
        {
          g_array_set_size (s->ops, 0);
          g_array_append_vals (s->ops, shorter->data, shorter->len);
          any = TRUE;
        }
    }
  return any;
}

static void
remove_all (Shrink *s)
{
  guint size = s->ops->len / 2;

  while (size > 0)
    if (!remove_chunks (s, size) || size > s->ops->len)
      size = MIN (size / 2, s->ops->len);
}

/* Renumbers ids 0, 1, 2... in the order of their first appearance. */
static void
close_up_ids (Shrink *s)
{
  g_autoptr (GArray) closed = g_array_copy (s->ops);
  g_autoptr (GHashTable) ids = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < closed->len; i++)
    {
      TestOp *op = &g_array_index (closed, TestOp, i);

      if (op->kind == TEST_SYNC || op->kind == TEST_TRIM || op->kind == TEST_RECORD
          || op->kind == TEST_WAIT || op->kind >= TEST_WORK)
        continue;
      if (!g_hash_table_contains (ids, GUINT_TO_POINTER (op->id)))
        g_hash_table_insert (ids, GUINT_TO_POINTER (op->id),
                             GUINT_TO_POINTER (g_hash_table_size (ids)));
      op->id = GPOINTER_TO_UINT (g_hash_table_lookup (ids, GUINT_TO_POINTER (op->id)));
    }
  if (!still_fails (s, closed))
    return;
  g_array_set_size (s->ops, 0);
  g_array_append_vals (s->ops, closed->data, closed->len);
}

/* Tries @value - @step in @field as long as the list still fails. */
static void
descend (Shrink *s, guint64 *field, guint64 step, guint64 least)
{
  while (*field >= step && *field - step >= least)
    {
      *field -= step;
      if (!still_fails (s, s->ops))
        {
          *field += step;
          return;
        }
    }
}

/* Lowers by halves, then quarters... down to single bytes. */
static void
lower_values (Shrink *s)
{
  for (guint i = 0; i < s->ops->len; i++)
    {
      TestOp *op = &g_array_index (s->ops, TestOp, i);

      if (op->stream != 0 && op->stream != G_MAXUINT64)
        descend (s, &op->stream, op->stream, 0);
      if (op->kind == TEST_ALLOC || op->kind == TEST_GRAPH_LOAD)
        for (guint64 step = op->size / 2; step > 0; step /= 2)
          descend (s, &op->size, step, 1);
    }
}

guint
test_shrink (GArray *ops, TestFails fails, gpointer data)
{
  Shrink s = { .ops = ops, .fails = fails, .data = data };
  guint before;

  do
    {
      before = ops->len;
      remove_all (&s);
      lower_values (&s);
    }
  /* with smaller sizes more operations may be superfluous */
  while (ops->len < before && remove_chunks (&s, 1));
  close_up_ids (&s);
  return s.trials;
}

/* ---- writing */

static gboolean
fits_ops (const GArray *ops)
{
  for (guint i = 0; i < ops->len; i++)
    {
      const TestOp *op = &g_array_index (ops, TestOp, i);

      if ((op->kind != TEST_ALLOC && op->kind != TEST_FREE && op->kind != TEST_TRIM)
          || op->pool != 0)
        return FALSE;
    }
  return TRUE;
}

static char *
ops_format (const GArray *ops)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < ops->len; i++)
    {
      const TestOp *op = &g_array_index (ops, TestOp, i);

      if (op->kind == TEST_TRIM)
        g_string_append (text, "r\n");
      else if (op->kind == TEST_FREE)
        g_string_append_printf (text, "f %u\n", op->id);
      else if (op->stream == 0)
        g_string_append_printf (text, "a %u " U64 "\n", op->id, op->size);
      else
        g_string_append_printf (text, "a %u " U64 " " U64 "\n", op->id, op->size, op->stream);
    }
  return g_string_free (text, FALSE);
}

static GememTraceEvent
event_of (const TestOp *op)
{
  static const guint8 kinds[] = {
    GEMEM_EVENT_ALLOC,          GEMEM_EVENT_FREE,          GEMEM_EVENT_FREE_REQUESTED,
    GEMEM_EVENT_FREE_COMPLETED, GEMEM_EVENT_USE_ON_STREAM, GEMEM_EVENT_STREAM_SYNC,
    GEMEM_EVENT_TRIM,           GEMEM_EVENT_GRAPH_LOAD,    GEMEM_EVENT_GRAPH_RUN,
    GEMEM_EVENT_GRAPH_RUN_END,  GEMEM_EVENT_GRAPH_UNLOAD,  GEMEM_EVENT_STREAM_FREE,
    GEMEM_EVENT_EVENT_RECORD,   GEMEM_EVENT_EVENT_WAIT,    GEMEM_EVENT_FREE,
    GEMEM_EVENT_WORK,           GEMEM_EVENT_WORK_DONE,     GEMEM_EVENT_STREAM_SYNC
  };
  GememTraceEvent event = {
    .kind = kinds[op->kind], .id = op->id, .size = op->size, .stream = op->stream, .pool = op->pool
  };

  if (op->kind == TEST_RECORD)
    {
      event.aux = op->size;
      event.size = 0;
    }
  if (op->kind == TEST_ASK)
    event.aux = 1;
  if (op->kind == TEST_SYNC && op->stream == G_MAXUINT64)
    {
      event.kind = GEMEM_EVENT_DEVICE_SYNC;
      event.stream = 0;
    }
  return event;
}

/* Writes the operation as trace events; a load is followed by its segments. */
static void
write_op (GememTraceWriter *writer, const TestOp *op)
{
  g_autoptr (GArray) segments = g_array_new (FALSE, FALSE, sizeof (GememGraphSegment));
  g_autoptr (GError) error = NULL;
  GememTraceEvent event = event_of (op);

  if (op->kind == TEST_GRAPH_LOAD)
    {
      test_op_segments (op, segments);
      event.pool = 0;
      event.aux = segments->len;
      for (guint i = 0; i < segments->len; i++)
        event.size = MAX (event.size, g_array_index (segments, GememGraphSegment, i).offset
                                          + g_array_index (segments, GememGraphSegment, i).size);
    }
  writer->write (writer, &event, 1, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < segments->len; i++)
    {
      const GememGraphSegment *s = &g_array_index (segments, GememGraphSegment, i);
      const GememTraceEvent piece = { .kind = GEMEM_EVENT_GRAPH_SEGMENT,
                                      .id = op->id,
                                      .address = s->offset,
                                      .size = s->size,
                                      .aux = s->flags };

      writer->write (writer, &piece, 1, &error);
      g_assert_no_error (error);
    }
}

static char *
text_twin (const GArray *ops)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "shrunk.txt", NULL);
  g_autoptr (GError) error = NULL;
  GememTraceInfo info;
  GememTraceWriter *writer;
  char *text;

  gemem_trace_info_init (&info, "test", path);
  info.flags = GEMEM_TRACE_HAS_COMPLETION;
  for (guint i = 0; i < ops->len; i++)
    if (g_array_index (ops, TestOp, i).kind >= TEST_FREE_ON)
      info.flags |= GEMEM_TRACE_HAS_ORDER;
  writer = gemem_trace_create (path, NULL, &info, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < ops->len; i++)
    write_op (writer, &g_array_index (ops, TestOp, i));
  writer->finish (writer, &error);
  g_assert_no_error (error);
  gemem_trace_info_clear (&info);
  text = test_read_text (path);
  g_remove (path);
  return text;
}

char *
test_ops_text (const TestSubject *subject, const GArray *ops)
{
  return fits_ops (ops) ? ops_format (ops) : text_twin (ops);
}

/* ---- trying */

static gboolean
subject_fails (const TestOp *ops, gsize n, gpointer data)
{
  g_autofree char *problem = test_trial_guarded (data, ops, n);

  return problem != NULL;
}

gboolean
test_subject_try (const TestSubject *subject, const GArray *ops, guint64 seed)
{
  g_autofree char *problem = test_trial_guarded (
      subject, (const TestOp *) (gconstpointer) ops->data, ops->len);
  g_autofree char *allocator = test_subject_allocator (subject),
                  *device = test_subject_device (subject);
  g_autofree char *smallest = NULL, *text = NULL;
  const char *suffix;
  TestSubject closely = *subject;
  g_autoptr (GArray) shrunk = NULL;

  if (problem == NULL)
    return TRUE;
  shrunk = g_array_copy ((GArray *) ops);
  closely.verify_every = 1;
  test_shrink (shrunk, subject_fails, &closely);
  smallest = test_trial_guarded (&closely, (const TestOp *) (gconstpointer) shrunk->data,
                                 shrunk->len);
  text = test_ops_text (subject, shrunk);
  suffix = fits_ops (shrunk) ? "ops" : "txt";
  g_test_message ("%s, seed " U64 ", %u operations: %s", allocator, seed, ops->len, problem);
  g_test_message ("smallest: %s", smallest);
  g_test_message ("save these lines as t.%s and: gemem-sim replay -a '%s' -d '%s' --events "
                  "/dev/stdout t.%s\n%s",
                  suffix, allocator, device, suffix, text);
  g_test_fail ();
  return FALSE;
}
