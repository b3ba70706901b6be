/* writer.c - writes a trace as a heap profile of pprof: what each call stack held when most requested bytes were alive on its device,
 * and what it ever asked for.
 *
 * Why: pprof and what else knows its format show it: by line, as a graph, as the difference of two profiles.
 *
 * A sample stands for blocks of one stack, tag, stream and device; its labels say the last three. Frames are locations of the same
 * number. The peak is that of summary.h and of `info --at=peak`: the first moment with most requested bytes; static memory of
 * graphs is no block.
 *
 * Invariants: what a sample held at the peak is kept where it changes after one, so a peak costs nothing, however often a new one comes.
 * Memory: 16 bytes a live block, 80 a sample, one number a frame; the file goes out in pieces.
 *
 * Origin: profile.proto of pprof's documentation.
 */
#include "config.h"

#include <gio/gio.h>
#include <string.h>

#include "base/idmap.h"
#include "traces/native/file.h"
#include "traces/pprof/writer.h"

#define GEMEM_PROTO_LIST "traces/pprof/profile.def"
#include "base/io/proto-list.h"
#include "base/io/proto-write.h"

#define BUFFER ((guint) 1 << 20)

/* The values of a sample, in this order; pprof shows the last unless told otherwise. */
enum
{
  BLOCKS_EVER,
  BYTES_EVER,
  BLOCKS_HELD,
  BYTES_HELD,
  VALUES
};

static const char *const types[VALUES][2] = { [BLOCKS_EVER] = { "alloc_objects", "count" },
                                              [BYTES_EVER] = { "alloc_space", "bytes" },
                                              [BLOCKS_HELD] = { PPROF_BLOCKS_HELD, "count" },
                                              [BYTES_HELD] = { PPROF_BYTES_HELD, "bytes" } };

typedef struct
{
  guint64 live, peak, peak_event;
  guint64 peaks; /* how often there was a new one */
} Device;

/* A sample. */
typedef struct
{
  guint64 stream;
  guint32 stack, tag;
  guint16 device;
  guint64 values[VALUES]; /* what is held: now */
  guint64 peak_blocks, peak_bytes;
  guint64 kept; /* Device.peaks for which the two above are; a later one: the values are */
} Group;

typedef struct
{
  guint64 size;
  Group *group;
} Block;

typedef struct
{
  NativeFile file;
  GConverter *zip; /* NULL: as it is */
  GByteArray *bytes;
  GPtrArray *devices;    /* Device, by number */
  GPtrArray *groups;     /* Group, in the order of their first blocks */
  GHashTable *by_key;    /* Group -> itself */
  GememIdMap *live;      /* id -> Block */
  GHashTable *texts;     /* text -> its number in the file */
  GHashTable *functions; /* name and file -> itself, whose place is the number */
  guint8 *located;       /* frames whose location is written */
} Writer;

/* ---- what is held */

static guint
hash_group (gconstpointer key)
{
  const Group *group = key;
  const guint64 mixed = ((guint64) group->stack << 32 | group->tag)
                            * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15)
                        ^ (group->stream + group->device) * G_GUINT64_CONSTANT (0xc2b2ae3d27d4eb4f);

  return (guint) (mixed >> 32 ^ mixed);
}

static gboolean
same_group (gconstpointer a, gconstpointer b)
{
  const Group *x = a, *y = b;

  return x->stack == y->stack && x->tag == y->tag && x->stream == y->stream
         && x->device == y->device;
}

static Device *
device_of (Writer *writer, guint number)
{
  if (number >= writer->devices->len)
    g_ptr_array_set_size (writer->devices, (int) number + 1);
  if (writer->devices->pdata[number] == NULL)
    writer->devices->pdata[number] = g_new0 (Device, 1);
  return writer->devices->pdata[number];
}

static Group *
group_of (Writer *writer, const GememTraceEvent *event)
{
  const Group key = {
    .stream = event->stream, .stack = event->stack, .tag = event->tag, .device = event->device
  };
  Group *group = g_hash_table_lookup (writer->by_key, &key);

  if (group != NULL)
    return group;
  group = g_memdup2 (&key, sizeof key);
  g_ptr_array_add (writer->groups, group);
  g_hash_table_add (writer->by_key, group);
  return group;
}

/* Before what @group holds changes. */
static void
keep_peak (Group *group, const Device *device)
{
  if (group->kept == device->peaks)
    return;
  group->peak_blocks = group->values[BLOCKS_HELD];
  group->peak_bytes = group->values[BYTES_HELD];
  group->kept = device->peaks;
}

static void
add_block (Writer *writer, const GememTraceEvent *event)
{
  Device *device = device_of (writer, event->device);
  gboolean existed;
  Block *block = gemem_idmap_insert (writer->live, event->id, &existed);

  if (existed)
    return;
  Group *group = group_of (writer, event);
  *block = (Block){ event->size, group };
  keep_peak (group, device);
  group->values[BLOCKS_EVER]++;
  group->values[BYTES_EVER] += event->size;
  group->values[BLOCKS_HELD]++;
  group->values[BYTES_HELD] += event->size;
  device->live += event->size;
  if (device->live <= device->peak)
    return;
  device->peak = device->live;
  device->peak_event = writer->file.events;
  device->peaks++;
}

static void
remove_block (Writer *writer, guint64 id)
{
  Block block;

  if (!gemem_idmap_remove (writer->live, id, &block))
    return;
  Device *device = device_of (writer, block.group->device);
  keep_peak (block.group, device);
  block.group->values[BLOCKS_HELD]--;
  block.group->values[BYTES_HELD] -= block.size;
  device->live -= block.size;
}

/* ---- the file */

/* Writes what has gathered; @all: the end of the file too. */
static gboolean
pour (Writer *writer, gboolean all, GError **error)
{
  g_autofree guint8 *packed = writer->zip != NULL ? g_malloc (BUFFER) : NULL;
  gsize from = 0;
  gboolean ended = writer->zip == NULL;

  if (writer->zip == NULL
      && !gemem_output_write (writer->file.output, writer->bytes->data, writer->bytes->len, error))
    return FALSE;
  while (!ended && (all || from < writer->bytes->len))
    {
      gsize read, written;
      const GConverterResult result = g_converter_convert (
          writer->zip, writer->bytes->data + from, writer->bytes->len - from, packed, BUFFER,
          all ? G_CONVERTER_INPUT_AT_END : G_CONVERTER_NO_FLAGS, &read, &written, error);
      if (result == G_CONVERTER_ERROR
          || !gemem_output_write (writer->file.output, packed, written, error))
        return FALSE;
      from += read;
      ended = result == G_CONVERTER_FINISHED;
    }
  g_byte_array_set_size (writer->bytes, 0);
  return TRUE;
}

static void
put (Writer *writer, const PprofProfile *piece)
{
  gemem_proto_append (writer->bytes, &gemem_proto_PprofProfile, piece);
}

/* The number of @text in the file, where it is written if it was not. */
static gint64
number_of (Writer *writer, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  gpointer number;

  if (g_hash_table_lookup_extended (writer->texts, valid, NULL, &number))
    return GPOINTER_TO_INT (number);
  const gint64 next = g_hash_table_size (writer->texts);
  const char *one = valid;
  put (writer, &(PprofProfile){ .text = { 1, &one } });
  g_hash_table_insert (writer->texts, g_steal_pointer (&valid), GINT_TO_POINTER ((int) next));
  return next;
}

/* The types come first, so that the file is recognised by its first bytes. */
static void
put_types (Writer *writer)
{
  PprofValueType type[VALUES], *list[VALUES];

  for (guint i = 0; i < VALUES; i++)
    {
      type[i] = (PprofValueType){ .type = 1 + i, .unit = 1 + VALUES + i % 2 };
      list[i] = &type[i];
    }
  put (writer, &(PprofProfile){ .type = { VALUES, list }, .shown = 1 + BYTES_HELD });
  number_of (writer, "");
  for (guint i = 0; i < VALUES; i++)
    number_of (writer, types[i][0]);
  for (guint i = 0; i < 2; i++)
    number_of (writer, types[i][1]);
}

static void
put_comment (Writer *writer, const char *text)
{
  gint64 number = number_of (writer, text);

  put (writer, &(PprofProfile){ .comment = { 1, &number } });
}

static void
put_comments (Writer *writer)
{
  g_autoptr (GPtrArray) notes = gemem_trace_info_provenance (writer->file.info);

  for (guint i = 0; i < notes->len; i++)
    put_comment (writer, notes->pdata[i]);
  for (guint i = 0; i < writer->devices->len; i++)
    {
      const Device *device = writer->devices->pdata[i];
      if (device == NULL || device->peaks == 0)
        continue;
      g_autofree char *of = i == GEMEM_DEVICE_HOST ? g_strdup ("the host")
                                                   : g_strdup_printf ("device %u", i);
      g_autofree char *text = g_strdup_printf ("peak of %s: %" G_GUINT64_FORMAT
                                               " requested bytes, after event %" G_GUINT64_FORMAT,
                                               of, device->peak, device->peak_event);
      put_comment (writer, text);
    }
}

/* The number of a function, which is written where it was not. */
static gint64
function_of (Writer *writer, const char *name, const char *file)
{
  const gint64 key = number_of (writer, name) << 32 | number_of (writer, file);
  gpointer number;

  if (g_hash_table_lookup_extended (writer->functions, &key, NULL, &number))
    return GPOINTER_TO_INT (number);
  const guint next = g_hash_table_size (writer->functions) + 1;
  PprofFunction function = { .id = next, .name = key >> 32, .file = key & G_MAXUINT32 },
                *one = &function;
  put (writer, &(PprofProfile){ .function = { 1, &one } });
  g_hash_table_insert (writer->functions, g_memdup2 (&key, sizeof key),
                       GINT_TO_POINTER ((int) next));
  return next;
}

/* The location of number @id, unless it is written. */
static void
put_location (Writer *writer, guint32 id, const char *name, const char *file, guint32 line)
{
  if ((writer->located[id / 8] >> id % 8 & 1) != 0)
    return;
  writer->located[id / 8] |= (guint8) (1 << id % 8);
  PprofLine at = { .function = function_of (writer, name, file), .line = line }, *lines = &at;
  PprofLocation location = { .id = id, .line = { 1, &lines } }, *one = &location;
  put (writer, &(PprofProfile){ .location = { 1, &one } });
}

/* The locations of @stack, innermost first as pprof wants them, in a new array. */
static GArray *
locations_of (Writer *writer, guint32 stack)
{
  const GememTraceInfo *info = writer->file.info;
  GArray *locations = g_array_new (FALSE, FALSE, sizeof (gint64));
  guint n = 0;
  const guint32 *frames = info->stacks != NULL ? gemem_call_stacks_get (info->stacks, stack, &n)
                                               : NULL;

  for (guint i = 0; i < n; i++)
    {
      const GememFrame *frame = gemem_call_stacks_get_frame (info->stacks, frames[i]);
      const gint64 id = frames[i];
      put_location (writer, frames[i], info->strings->pdata[frame->name],
                    info->strings->pdata[frame->file], frame->line);
      g_array_append_val (locations, id);
    }
  if (n == 0)
    {
      const gint64 id = 1 + (info->stacks != NULL ? gemem_call_stacks_frames (info->stacks) : 0);
      put_location (writer, (guint32) id, PPROF_NO_STACK, "", 0);
      g_array_append_val (locations, id);
    }
  return locations;
}

static void
put_sample (Writer *writer, Group *group)
{
  g_autoptr (GArray) locations = locations_of (writer, group->stack);
  g_autofree char *device = group->device == GEMEM_DEVICE_HOST
                                ? g_strdup ("cpu:0")
                                : g_strdup_printf ("gpu:%u", group->device);
  PprofLabel label[3] = { { .key = number_of (writer, PPROF_DEVICE),
                            .text = number_of (writer, device) } };
  PprofLabel *labels[3] = { &label[0], &label[1], &label[2] };
  gint64 values[VALUES];
  guint n = 1;

  keep_peak (group, writer->devices->pdata[group->device]);
  group->values[BLOCKS_HELD] = group->peak_blocks;
  group->values[BYTES_HELD] = group->peak_bytes;
  for (guint i = 0; i < VALUES; i++)
    values[i] = (gint64) MIN (group->values[i], (guint64) G_MAXINT64);
  if (group->tag != GEMEM_NO_TAG)
    label[n++] = (PprofLabel){ .key = number_of (writer, PPROF_KIND),
                               .text = number_of (writer,
                                                  writer->file.info->strings->pdata[group->tag]) };
  if (group->stream != 0)
    label[n++] = (PprofLabel){ .key = number_of (writer, PPROF_STREAM),
                               .number = (gint64) group->stream };
  PprofSample sample = { .location = { locations->len, (gint64 *) (gpointer) locations->data },
                         .value = { VALUES, values },
                         .label = { n, labels } },
              *one = &sample;
  put (writer, &(PprofProfile){ .sample = { 1, &one } });
}

/* ---- the writer */

static gboolean
write_events (NativeFile *file, const GememTraceEvent *events, gsize n,
              G_GNUC_UNUSED GError **error)
{
  Writer *writer = (Writer *) file;

  for (gsize i = 0; i < n; i++, file->events++)
    if (events[i].kind == GEMEM_EVENT_ALLOC && (events[i].flags & GEMEM_EVENT_FAILED) == 0)
      add_block (writer, &events[i]);
    else if (events[i].kind == GEMEM_EVENT_FREE || events[i].kind == GEMEM_EVENT_FREE_COMPLETED)
      remove_block (writer, events[i].id);
  return TRUE;
}

static gboolean
write_end (NativeFile *file, GError **error)
{
  Writer *writer = (Writer *) file;
  const GememCallStacks *stacks = file->info->stacks;
  gboolean ok = TRUE;

  writer->located = g_malloc0 (
      (gsize) ((stacks != NULL ? gemem_call_stacks_frames (stacks) : 0) + 1) / 8 + 1);
  put_types (writer);
  put_comments (writer);
  for (guint i = 0; ok && i < writer->groups->len; i++)
    {
      put_sample (writer, writer->groups->pdata[i]);
      ok = writer->bytes->len < BUFFER || pour (writer, FALSE, error);
    }
  return ok && pour (writer, TRUE, error);
}

static void
free_writer (NativeFile *file)
{
  Writer *writer = (Writer *) file;

  g_clear_object (&writer->zip);
  g_byte_array_unref (writer->bytes);
  g_hash_table_unref (writer->by_key);
  g_ptr_array_unref (writer->groups);
  g_ptr_array_unref (writer->devices);
  gemem_idmap_free (writer->live);
  g_hash_table_unref (writer->texts);
  g_hash_table_unref (writer->functions);
  g_free (writer->located);
  g_free (writer);
}

GememTraceWriter *
gemem_pprof_create (const char *path, const GememTraceInfo *info, GError **error)
{
  Writer *writer = gemem_native_file_new (sizeof (Writer), path, info, error);

  if (writer == NULL)
    return NULL;
  writer->file.add = write_events;
  writer->file.end = write_end;
  writer->file.free = free_writer;
  if (!g_str_has_suffix (path, ".pb"))
    writer->zip = G_CONVERTER (g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP, -1));
  writer->bytes = g_byte_array_new ();
  writer->devices = g_ptr_array_new_with_free_func (g_free);
  writer->groups = g_ptr_array_new_with_free_func (g_free);
  writer->by_key = g_hash_table_new (hash_group, same_group);
  writer->live = gemem_idmap_new (sizeof (Block));
  writer->texts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  writer->functions = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  return &writer->file.base;
}
