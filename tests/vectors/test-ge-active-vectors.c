/* test-ge-active-vectors.c - ge-active and ge load static graphs as the real system did: every
 * line of the policy2 and policy4 files, that is, each segment's address, the active list, the
 * block list, the peak and the bytes held from the device. */
#include "config.h"

#include <string.h>

#include "allocators/ge/beside.h"
#include "allocators/ge/engine.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"
#include "traces/trace.h"

/* In the recorded process the dynamic pool had reserved 61 GiB of addresses before the first
 * graph was loaded, and was a user of the page pool. */
#define DEVICE "sim:capacity=64GiB,vabase=0x200f40000000"

typedef struct
{
  GememAllocator *allocator;
  GString *out;
} Rig;

static const GeStatic *
memory_of (const Rig *rig)
{
  return g_str_equal (rig->allocator->klass->name, "ge")
             ? &((const GeEngine *) rig->allocator)->memory
             : &((const GeBeside *) rig->allocator)->memory;
}

static void
print_load (Rig *rig, const char *name, guint64 address)
{
  const GeActive *active = &memory_of (rig)->active;

  g_string_append_printf (rig->out,
                          "m %s ret=0x%" G_GINT64_MODIFIER "x peak=%" G_GUINT64_FORMAT
                          " reserved=%" G_GUINT64_FORMAT " expandfull=%d\n",
                          name, address, active->peak, rig->allocator->device->held,
                          memory_of (rig)->range.backing.base != 0);
  for (guint i = 0; i < active->segments->len; i++)
    {
      const GeActiveSegment *s = &g_array_index (active->segments, GeActiveSegment, i);
      g_string_append_printf (rig->out,
                              "    logical=%" G_GUINT64_FORMAT " size=%" G_GUINT64_FORMAT
                              " -> 0x%" G_GINT64_MODIFIER "x\n",
                              s->offset, s->size, s->address);
    }
  for (guint i = 0; i < active->active->len; i++)
    {
      const GeActivePiece *p = &g_array_index (active->active, GeActivePiece, i);
      g_string_append_printf (rig->out,
                              "    active 0x%" G_GINT64_MODIFIER "x used=%" G_GUINT64_FORMAT "\n",
                              p->address, p->used);
    }
  for (guint i = 0; i < active->blocks->len; i++)
    {
      const GeActiveBlock *b = &g_array_index (active->blocks, GeActiveBlock, i);
      g_string_append_printf (rig->out,
                              "    block 0x%" G_GINT64_MODIFIER "x total=%" G_GUINT64_FORMAT
                              " used=%" G_GUINT64_FORMAT "\n",
                              b->address, b->total, b->used);
    }
}

static void
load (Rig *rig, const GememTraceEvent *event, const GArray *segments, const char *name)
{
  guint64 address;

  g_assert_true (rig->allocator->klass->graphs.load (
      rig->allocator, event->id, 0, (const GememGraphSegment *) (gconstpointer) segments->data,
      segments->len, &address));
  print_load (rig, name, address);
}

static void
take_event (Rig *rig, const GememTraceEvent *event, GememTraceEvent *pending, GArray *segments,
            GPtrArray *strings)
{
  const GememGraphSegment segment = { event->address, event->size, (guint32) event->aux };

  if (event->kind == GEMEM_EVENT_GRAPH_LOAD)
    {
      *pending = *event;
      g_array_set_size (segments, 0);
    }
  else if (event->kind == GEMEM_EVENT_GRAPH_SEGMENT)
    {
      g_array_append_val (segments, segment);
      if (segments->len == pending->aux)
        load (rig, pending, segments, g_ptr_array_index (strings, pending->tag));
    }
  else
    {
      g_assert_cmpint (event->kind, ==, GEMEM_EVENT_GRAPH_UNLOAD);
      rig->allocator->klass->graphs.unload (rig->allocator, event->id);
      g_string_append_printf (rig->out, "F reserved=%" G_GUINT64_FORMAT "\n",
                              rig->allocator->device->held);
    }
  g_assert_true (test_allocator_verify (rig->allocator, 0, 0));
}

static void
assert_same_lines (const char *expected, const char *got)
{
  g_auto (GStrv) a = g_strsplit (expected, "\n", -1), b = g_strsplit (got, "\n", -1);

  for (guint i = 0; a[i] != NULL || b[i] != NULL; i++)
    if (g_strcmp0 (a[i], b[i]) != 0)
      g_error ("line %u of the results: expected '%s', got '%s'", i + 2,
               a[i] != NULL ? a[i] : "(end)", b[i] != NULL ? b[i] : "(end)");
}

/* The settings of the file for `ge-active`, or the equivalent ones for `ge`. */
static char *
spec_for (const char *class, const char *settings)
{
  const char *policy = g_str_has_prefix (settings, "policy=") ? settings + strlen ("policy=")
                                                              : NULL;

  if (g_str_equal (class, "ge-active"))
    return g_strconcat ("ge-active:", settings, NULL);
  g_assert_nonnull (policy);
  return g_strconcat ("ge:static_memory_policy=", policy, NULL);
}

static void
test_file (gconstpointer test)
{
  g_auto (GStrv) words = g_strsplit (test, "/", -1); /* "", "vectors", class, file */
  const char *name = words[3];
  g_autofree char *ops = g_strdup_printf ("vectors/ge-runtime/%s.ops.gz", name),
                  *ops_path = test_shared_path (ops);
  g_autofree char *out = g_strdup_printf ("vectors/ge-runtime/%s.out.gz", name);
  g_autoptr (GArray) segments = g_array_new (FALSE, FALSE, sizeof (GememGraphSegment));
  GememTraceEvent pending = { 0 };
  const GememTraceEvent *events;
  GError *error = NULL;
  gssize n;

  if (ops_path == NULL)
    return;
  g_autofree char *out_path = test_shared_path (out), *expected = test_read_text (out_path);
  GememTraceReader *reader = gemem_trace_open (ops_path, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (reader->info.allocator, ==, "ge-active");
  g_autofree char *spec = spec_for (words[2], reader->info.settings);
  Rig rig = { test_allocator_new (spec, DEVICE), g_string_new (NULL) };

  if (memory_of (&rig)->options.pages != NULL)
    g_assert_true (gemem_ge_pages_enter (memory_of (&rig)->options.pages, GE_LARGE_PAGE));
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      take_event (&rig, &events[i], &pending, segments, reader->info.strings);
  g_assert_no_error (error);
  g_assert_cmpuint (rig.out->len, >, 30000);
  assert_same_lines (strchr (expected, '\n') + 1, rig.out->str);
  gemem_trace_close (reader);
  test_allocator_destroy (rig.allocator);
  g_string_free (rig.out, TRUE);
}

int
main (int argc, char **argv)
{
  static const char *const tests[] = {
    "/vectors/ge-active/policy2-1", "/vectors/ge-active/policy2-2", "/vectors/ge-active/policy4-1",
    "/vectors/ge-active/policy4-2", "/vectors/ge/policy2-1",        "/vectors/ge/policy2-2",
    "/vectors/ge/policy4-1",        "/vectors/ge/policy4-2",
  };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    g_test_add_data_func (tests[i], tests[i], test_file);
  return g_test_run ();
}
