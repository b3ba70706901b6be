/* test-ge-active-vectors.c - ge-active and ge load static graphs as the real system did: every
 * line of the policy2 and policy4 files, that is, each segment's address, the active list, the
 * block list, the peak and the bytes held from the device; and of the policy4x files, which have
 * runs and dynamic requests too, on small devices. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "allocators/ge/beside.h"
#include "allocators/ge/engine.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"
#include "traces/trace.h"

/* In the recorded process the dynamic pool had reserved 61 GiB of addresses before the first
 * graph was loaded, and was a user of the page pool. */
#define DEVICE "sim:capacity=64GiB,vabase=0x200f40000000"

/* A graph of the file, by its name. */
typedef struct
{
  guint64 id;
  gboolean loaded, bound;
} Graph;

typedef struct
{
  GememAllocator *allocator;
  GString *out;
  GHashTable *graphs; /* name -> Graph */
  GQueue loaded;      /* Graph, in the order of their loads */
  GememBlock block;   /* of the dynamic request, one at a time */
} Rig;

static GeStatic *
memory_of (const Rig *rig)
{
  return g_str_equal (rig->allocator->klass->name, "ge") ? &((GeEngine *) rig->allocator)->memory
                                                         : &((GeBeside *) rig->allocator)->memory;
}

/* The operation F of the files is FreeMemory alone, also where `ge` stands for whole models. */
static Rig
rig_new (const char *spec, const char *device)
{
  Rig rig = { .allocator = test_allocator_new (spec, device),
              .out = g_string_new (NULL),
              .graphs = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free) };

  memory_of (&rig)->options.bare = TRUE;
  return rig;
}

static void
rig_done (Rig *rig)
{
  test_allocator_destroy (rig->allocator);
  g_hash_table_unref (rig->graphs);
  g_queue_clear (&rig->loaded);
  g_string_free (rig->out, TRUE);
}

/* @address 0: the load was refused. */
static void
print_load (Rig *rig, const char *name, guint64 address)
{
  const GeActive *active = &memory_of (rig)->active;
  const GeSessionRange *range = active->range;

  g_string_append_printf (rig->out,
                          "m %s ret=0x%" G_GINT64_MODIFIER "x peak=%" G_GUINT64_FORMAT
                          " reserved=%" G_GUINT64_FORMAT " expandfull=%d\n",
                          name, address, active->peak, rig->allocator->device->held,
                          range != NULL && !range->unsupported);
  for (guint i = 0; address != 0 && i < active->segments->len; i++)
    {
      const GeActiveSegment *s = &g_array_index (active->segments, GeActiveSegment, i);
      g_string_append_printf (rig->out,
                              "    logical=%" G_GUINT64_FORMAT " size=%" G_GUINT64_FORMAT
                              " -> 0x%" G_GINT64_MODIFIER "x\n",
                              s->offset, s->size, s->address);
    }
  for (guint i = 0; address != 0 && i < active->active->len; i++)
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

typedef struct
{
  const char *folder, *name;
} File;

static const File files[] = {
  { "vectors/ge-runtime", "policy2-1" },   { "vectors/ge-runtime", "policy2-2" },
  { "vectors/ge-runtime", "policy4-1" },   { "vectors/ge-runtime", "policy4-2" },
  { "vectors-2/ge-runtime", "policy2-3" }, { "vectors-2/ge-runtime", "policy4-3" },
  { "vectors-2/ge-runtime", "policy4-4" },
};

static const File extended[] = {
  { "vectors-2/ge-runtime/extended", "policy4x-1" },
  { "vectors-2/ge-runtime/extended", "policy4x-2" },
};

/* The paths of the operations and of their results; FALSE: not there. */
static gboolean
find (const File *file, char **ops, char **out)
{
  g_autofree char *ops_name = g_strdup_printf ("%s/%s.ops.gz", file->folder, file->name),
                  *out_name = g_strdup_printf ("%s/%s.out.gz", file->folder, file->name);

  *ops = test_shared_path (ops_name);
  *out = *ops != NULL ? test_shared_path (out_name) : NULL;
  return *out != NULL;
}

static void
replay (const File *file, const char *class)
{
  g_autofree char *ops = NULL, *out = NULL, *expected = NULL, *spec = NULL;
  g_autoptr (GArray) segments = g_array_new (FALSE, FALSE, sizeof (GememGraphSegment));
  GememTraceEvent pending = { 0 };
  const GememTraceEvent *events;
  GememTraceReader *reader;
  GError *error = NULL;
  gssize n;
  Rig rig;

  if (!find (file, &ops, &out))
    return;
  expected = test_read_text (out);
  reader = gemem_trace_open (ops, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (reader->info.allocator, ==, "ge-active");
  spec = spec_for (class, reader->info.settings);
  rig = rig_new (spec, DEVICE);
  if (memory_of (&rig)->options.pages != NULL)
    g_assert_true (gemem_ge_pages_enter (memory_of (&rig)->options.pages, GE_LARGE_PAGE));
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      take_event (&rig, &events[i], &pending, segments, reader->info.strings);
  g_assert_no_error (error);
  g_assert_cmpuint (rig.out->len, >, 30000);
  assert_same_lines (strchr (expected, '\n') + 1, rig.out->str);
  gemem_trace_close (reader);
  rig_done (&rig);
}

static void
test_active (gconstpointer file)
{
  replay (file, "ge-active");
}

static void
test_ge (gconstpointer file)
{
  replay (file, "ge");
}

/* ---- runs and dynamic requests */

static void
reserved (Rig *rig)
{
  g_string_append_printf (rig->out, " reserved=%" G_GUINT64_FORMAT "\n",
                          rig->allocator->device->held);
}

static void
load_named (Rig *rig, const char *name, char *const *words)
{
  g_autoptr (GArray) segments = g_array_new (FALSE, FALSE, sizeof (GememGraphSegment));
  Graph *graph = g_new0 (Graph, 1);
  guint64 address;

  for (guint i = 0; words[i] != NULL; i++)
    {
      GememGraphSegment segment = { 0 };
      char *end;

      segment.offset = g_ascii_strtoull (words[i], &end, 10);
      segment.size = g_ascii_strtoull (end + 1, &end, 10);
      segment.flags = g_str_equal (end, ":z")   ? GEMEM_GRAPH_SEGMENT_ZERO_COPY
                      : g_str_equal (end, ":n") ? GEMEM_GRAPH_SEGMENT_NO_ALLOC
                                                : 0;
      g_array_append_val (segments, segment);
    }
  graph->id = g_hash_table_size (rig->graphs) + 1;
  g_hash_table_insert (rig->graphs, g_strdup (name), graph);
  graph->loaded = graph->bound = rig->allocator->klass->graphs.load (
      rig->allocator, graph->id, 0, (const GememGraphSegment *) (gconstpointer) segments->data,
      segments->len, &address);
  if (graph->loaded)
    g_queue_push_tail (&rig->loaded, graph);
  print_load (rig, name, graph->loaded ? address : 0);
}

/* `e`: the end of a run; `b`: before the next.  Both have no effect where nothing is to do. */
static void
run_named (Rig *rig, const char *name, gboolean begin)
{
  Graph *graph = g_hash_table_lookup (rig->graphs, name);
  gboolean ok = TRUE;

  if (graph->loaded && graph->bound != begin)
    {
      ok = rig->allocator->klass->graphs.run (rig->allocator, graph->id, 0, begin);
      graph->bound = begin && ok;
    }
  g_string_append_printf (rig->out, "%c %s", begin ? 'b' : 'e', name);
  if (begin)
    g_string_append_printf (rig->out, " rc=%d", !ok);
  reserved (rig);
}

static void
free_oldest (Rig *rig)
{
  Graph *graph = g_queue_pop_head (&rig->loaded);

  if (graph != NULL)
    {
      rig->allocator->klass->graphs.unload (rig->allocator, graph->id);
      graph->loaded = FALSE;
    }
  g_string_append (rig->out, "F");
  reserved (rig);
}

static void
request (Rig *rig, const char *name, const char *size)
{
  const GememRequest request = { .size = g_ascii_strtoull (size, NULL, 10) };

  g_assert_true (rig->allocator->klass->alloc (rig->allocator, &request, &rig->block));
  g_string_append_printf (rig->out, "a %s 0x%" G_GINT64_MODIFIER "x size=%" G_GUINT64_FORMAT, name,
                          rig->block.address, rig->block.size);
  reserved (rig);
}

static void
operate (Rig *rig, const char *line)
{
  g_auto (GStrv) words = g_strsplit (line, " ", -1);

  switch (*words[0])
    {
    case 'm':
      load_named (rig, words[1], words + 2);
      break;
    case 'e':
    case 'b':
      run_named (rig, words[1], *words[0] == 'b');
      break;
    case 'F':
      free_oldest (rig);
      break;
    case 'a':
      request (rig, words[1], words[2]);
      break;
    case 'f':
      rig->allocator->klass->free (rig->allocator, &rig->block, FALSE);
      g_string_append_printf (rig->out, "f %s", words[1]);
      reserved (rig);
      break;
    default:
      g_assert_cmpstr (line, ==, "r");
      rig->allocator->klass->trim (rig->allocator);
      g_string_append (rig->out, "r");
      reserved (rig);
    }
  g_assert_true (test_allocator_verify (rig->allocator, *words[0] == 'a', G_MAXUINT64));
}

static void
replay_extended (const File *file, const char *class)
{
  g_autofree char *ops = NULL, *out = NULL, *spec = NULL, *device = NULL;
  guint64 total, capacity;
  Rig rig;

  if (!find (file, &ops, &out))
    return;
  g_autofree char *text = test_read_text (ops), *expected = test_read_text (out);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  g_assert_cmpint (sscanf (lines[0],
                           "# policy=4 total=%" G_GINT64_MODIFIER "u cap=%" G_GINT64_MODIFIER "u",
                           &total, &capacity),
                   ==, 2);
  spec = g_strdup_printf ("%s=4,total=%" G_GUINT64_FORMAT "B",
                          g_str_equal (class, "ge") ? "ge:check_free_memory=no,static_memory_policy"
                                                    : "ge-active:policy",
                          total);
  device = g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT "B", capacity);
  rig = rig_new (spec, device);
  for (guint i = 1; lines[i] != NULL && lines[i][0] != '\0'; i++)
    operate (&rig, lines[i]);
  assert_same_lines (strchr (expected, '\n') + 1, rig.out->str);
  rig_done (&rig);
}

static void
test_active_extended (gconstpointer file)
{
  replay_extended (file, "ge-active");
}

static void
test_ge_extended (gconstpointer file)
{
  replay_extended (file, "ge");
}

static void
add (const File *list, guint n, GTestDataFunc active, GTestDataFunc ge)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *one = g_strdup_printf ("/%s/ge-active/%s", list[i].folder, list[i].name),
                      *two = g_strdup_printf ("/%s/ge/%s", list[i].folder, list[i].name);

      g_test_add_data_func (one, &list[i], active);
      g_test_add_data_func (two, &list[i], ge);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add (files, G_N_ELEMENTS (files), test_active, test_ge);
  add (extended, G_N_ELEMENTS (extended), test_active_extended, test_ge_extended);
  return g_test_run ();
}
