/* snapshot-writer.c - writes a trace as a PyTorch snapshot, for memory_viz and the scripts that people have for snapshots.
 *
 * The pickle has what torch.cuda.memory._snapshot() returns: the history of each device (device_traces), what is held at the end
 * (segments and their blocks), phases (external_annotations), settings (allocator_settings). Events that a snapshot has no word for
 * (streams, steps, graphs, empty_cache) are left out. Keys and call stacks are written once for each device, and named by number
 * after that.
 *
 * Invariants: a request without an address is an error, for a snapshot names blocks by theirs. What was alive before the recording is in
 * the segments, if it is at the end, and in no history, as in PyTorch's.
 * Memory: what is alive, and 1 MiB for each device; the history goes through a temporary file.
 *
 * Origin: snapshots of the wheels (peers.md 2.1), and Python's own description of the pickle format (pickletools).
 */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "base/io/output.h"
#include "base/io/spool.h"
#include "traces/pytorch/snapshot-private.h"

#define BUFFER (1 << 20)
#define BATCH 1000 /* items that are put into a list at once, as Python does */

/* Memory that a device gave. */
typedef struct
{
  guint64 address, size, stream;
  guint32 pool, stack;
  gboolean small, mapped;
} Segment;

typedef struct
{
  guint64 address, size, requested, id;
  guint32 stack;
  gboolean pending;
} Block;

/* What has a number in a part of the pickle, which names it by that from the second time on. */
typedef struct
{
  GHashTable *keys;   /* constant text -> number */
  GHashTable *stacks; /* 1 + number of a stack -> number */
  guint32 last;
} Names;

typedef struct
{
  GString *text; /* the history that is not in the spool yet */
  int spool;     /* -1: none */
  guint64 spooled, events;
  Names names;
  GHashTable *live; /* id -> Block */
  GArray *segments; /* Segment */
} Device;

typedef struct
{
  GememTraceWriter base;
  const GememTraceInfo *info;
  GememOutput *output;
  GPtrArray *devices; /* Device, NULL where the trace has no event of it */
  GString *phases;
  guint64 n_phases;
  Names phase_names;
} Writer;

/* ---- pickled values */

static void
put_u32 (GString *out, char code, guint32 value)
{
  const guint32 little = GUINT32_TO_LE (value);

  g_string_append_c (out, code);
  g_string_append_len (out, (const char *) &little, sizeof little);
}

static void
put_number (GString *out, guint64 value)
{
  const guint64 little = GUINT64_TO_LE (value);

  if (value < 256)
    {
      g_string_append_c (out, 'K');
      g_string_append_c (out, (char) value);
    }
  else if (value <= G_MAXINT32)
    put_u32 (out, 'J', (guint32) value);
  else
    {
      const gboolean high = value > G_MAXINT64; /* else the number would be negative */
      g_string_append_len (out, high ? "\x8a\x09" : "\x8a\x08", 2);
      g_string_append_len (out, (const char *) &little, sizeof little);
      if (high)
        g_string_append_c (out, '\0');
    }
}

static void
put_text (GString *out, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);

  put_u32 (out, 'X', (guint32) strlen (valid));
  g_string_append (out, valid);
}

static void
names_init (Names *names)
{
  names->keys = g_hash_table_new (g_str_hash, g_str_equal);
  names->stacks = g_hash_table_new (NULL, NULL);
  names->last = 0;
}

static void
names_clear (Names *names)
{
  g_hash_table_unref (names->keys);
  g_hash_table_unref (names->stacks);
}

/* @key, a constant, which has a number after the first time. */
static void
put_key (GString *out, Names *names, const char *key)
{
  const guint32 known = GPOINTER_TO_UINT (g_hash_table_lookup (names->keys, key));

  if (known != 0)
    {
      put_u32 (out, 'j', known);
      return;
    }
  put_text (out, key);
  put_u32 (out, 'r', ++names->last);
  g_hash_table_insert (names->keys, (gpointer) key, GUINT_TO_POINTER (names->last));
}

static void
put_pair (GString *out, Names *names, const char *key, guint64 value)
{
  put_key (out, names, key);
  put_number (out, value);
}

static void
put_words (GString *out, Names *names, const char *key, const char *word)
{
  put_key (out, names, key);
  put_key (out, names, word);
}

static const char *
string_of (const GememTraceInfo *info, guint32 number)
{
  return number < info->strings->len ? info->strings->pdata[number] : "";
}

/* "frames": the list of frames of @stack, innermost first. */
static void
put_frames (GString *out, const GememTraceInfo *info, Device *device, guint32 stack)
{
  const guint32 known = GPOINTER_TO_UINT (
      g_hash_table_lookup (device->names.stacks, GUINT_TO_POINTER (stack + 1)));
  guint n = 0;

  put_key (out, &device->names, "frames");
  if (known != 0)
    {
      put_u32 (out, 'j', known);
      return;
    }
  const guint32 *frames = info->stacks != NULL ? gemem_call_stacks_get (info->stacks, stack, &n)
                                               : NULL;
  g_string_append (out, "](");
  for (guint i = 0; i < n; i++)
    {
      const GememFrame *frame = gemem_call_stacks_get_frame (info->stacks, frames[i]);
      g_string_append (out, "}(");
      put_key (out, &device->names, "name");
      put_text (out, string_of (info, frame->name));
      put_key (out, &device->names, "filename");
      put_text (out, string_of (info, frame->file));
      put_pair (out, &device->names, "line", frame->line);
      g_string_append_c (out, 'u');
    }
  g_string_append_c (out, 'e');
  put_u32 (out, 'r', ++device->names.last);
  g_hash_table_insert (device->names.stacks, GUINT_TO_POINTER (stack + 1),
                       GUINT_TO_POINTER (device->names.last));
}

/* ---- devices */

static void
device_free (gpointer data)
{
  Device *device = data;

  if (device == NULL)
    return;
  if (device->spool >= 0)
    close (device->spool);
  g_string_free (device->text, TRUE);
  names_clear (&device->names);
  g_hash_table_unref (device->live);
  g_array_unref (device->segments);
  g_free (device);
}

static Device *
device_of (Writer *writer, guint number)
{
  if (number >= writer->devices->len)
    g_ptr_array_set_size (writer->devices, (int) number + 1);
  Device *device = writer->devices->pdata[number];
  if (device != NULL)
    return device;
  device = g_new0 (Device, 1);
  device->text = g_string_new (NULL);
  device->spool = -1;
  names_init (&device->names);
  device->live = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, g_free);
  device->segments = g_array_new (FALSE, TRUE, sizeof (Segment));
  return writer->devices->pdata[number] = device;
}

static gboolean
spool_text (Device *device, GError **error)
{
  if (device->spool < 0 && (device->spool = gemem_spool_new (error)) < 0)
    return FALSE;
  if (!gemem_spool_write (device->spool, device->text->str, device->text->len, device->spooled))
    {
      g_autofree char *advice = gemem_spool_advice ();
      gemem_error_set_errno (error, errno, "the history of a snapshot", advice);
      return FALSE;
    }
  device->spooled += device->text->len;
  g_string_truncate (device->text, 0);
  return TRUE;
}

/* ---- segments and blocks */

static int
compare_segments (gconstpointer a, gconstpointer b)
{
  const Segment *x = a, *y = b;
  return (x->address > y->address) - (x->address < y->address);
}

static void
add_segment (Device *device, const GememTraceEvent *event)
{
  const Segment made = { .address = event->address,
                         .size = event->size,
                         .stream = event->stream,
                         .pool = event->pool,
                         .stack = event->stack,
                         .small = (event->flags & GEMEM_EVENT_SMALL) != 0,
                         .mapped = event->kind == GEMEM_EVENT_SEGMENT_MAP };

  g_array_append_val (device->segments, made);
}

/* Takes [address, address + size) away, which may be a part of what was mapped. */
static void
remove_segment (Device *device, const GememTraceEvent *event)
{
  const guint64 start = event->address, end = event->address + event->size;

  for (guint i = device->segments->len; i-- > 0;)
    {
      Segment *segment = &g_array_index (device->segments, Segment, i);
      const guint64 from = segment->address, to = from + segment->size;
      if (to <= start || from >= end)
        continue;
      Segment rest = *segment;
      rest.address = end;
      rest.size = to - MIN (to, end);
      segment->size = start - MIN (start, from);
      if (segment->size == 0)
        g_array_remove_index (device->segments, i);
      if (rest.size > 0 && to > end)
        g_array_append_val (device->segments, rest);
    }
}

static void
add_block (Device *device, const GememTraceEvent *event)
{
  Block *block = g_new0 (Block, 1);

  *block = (Block){ .address = event->address,
                    .size = MAX (event->aux, event->size),
                    .requested = event->size,
                    .id = event->id,
                    .stack = event->stack };
  g_hash_table_replace (device->live, &block->id, block);
}

static int
compare_blocks (gconstpointer a, gconstpointer b)
{
  const Block *x = *(Block *const *) a, *y = *(Block *const *) b;
  return (x->address > y->address) - (x->address < y->address);
}

/* ---- the history */

static const char *
action_of (guint kind)
{
  switch (kind)
    {
    case GEMEM_EVENT_ALLOC:
      return "alloc";
    case GEMEM_EVENT_FREE_REQUESTED:
      return "free_requested";
    case GEMEM_EVENT_FREE_COMPLETED:
      return "free_completed";
    case GEMEM_EVENT_SEGMENT_ALLOC:
      return "segment_alloc";
    case GEMEM_EVENT_SEGMENT_FREE:
      return "segment_free";
    case GEMEM_EVENT_SEGMENT_MAP:
      return "segment_map";
    case GEMEM_EVENT_SEGMENT_UNMAP:
      return "segment_unmap";
    case GEMEM_EVENT_OOM:
      return "oom";
    default:
      return NULL;
    }
}

static void
put_event (const Writer *writer, Device *device, const char *action, const GememTraceEvent *event,
           guint64 address, guint64 size)
{
  GString *out = device->text;
  const gboolean oom = event->kind == GEMEM_EVENT_OOM;

  if (device->events++ % BATCH == 0)
    g_string_append (out, device->events > 1 ? "e(" : "(");
  g_string_append (out, "}(");
  put_words (out, &device->names, "action", action);
  put_pair (out, &device->names, oom ? "device_free" : "addr", oom ? event->aux : address);
  put_pair (out, &device->names, "size", size);
  put_pair (out, &device->names, "stream", event->stream);
  put_pair (out, &device->names, "time_us", event->time / 1000);
  put_frames (out, writer->info, device, event->stack);
  g_string_append_c (out, 'u');
}

static gboolean
write_alloc (Writer *writer, Device *device, const GememTraceEvent *event, GError **error)
{
  const gboolean before = (event->flags & GEMEM_EVENT_INITIAL) != 0;

  if (event->address == 0 && event->size > 0)
    {
      g_set_error (
          error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
          "%s: a snapshot names blocks by their addresses, and the trace does not tell those "
          "of all; 'gemem-sim replay TRACE --record %s' writes a run through an allocator",
          gemem_output_name (writer->output), gemem_output_name (writer->output));
      return FALSE;
    }
  add_block (device, event);
  if (!before)
    put_event (writer, device, "alloc", event, event->address, event->size);
  return TRUE;
}

static void
write_free (Writer *writer, Device *device, const GememTraceEvent *event)
{
  Block *block = g_hash_table_lookup (device->live, &event->id);

  if (block == NULL)
    return;
  if (event->kind != GEMEM_EVENT_FREE_COMPLETED)
    put_event (writer, device, "free_requested", event, block->address, block->requested);
  if (event->kind != GEMEM_EVENT_FREE_REQUESTED)
    put_event (writer, device, "free_completed", event, block->address, block->requested);
  block->pending = event->kind == GEMEM_EVENT_FREE_REQUESTED;
  if (!block->pending)
    g_hash_table_remove (device->live, &event->id);
}

static void
write_phase (Writer *writer, const GememTraceEvent *event)
{
  GString *out = writer->phases;
  const gboolean begins = event->kind == GEMEM_EVENT_PHASE;

  if (writer->n_phases++ % BATCH == 0)
    g_string_append (out, writer->n_phases > 1 ? "e(" : "(");
  g_string_append (out, "}(");
  put_words (out, &writer->phase_names, "stage", begins ? "START" : "END");
  put_key (out, &writer->phase_names, "name");
  put_text (out, string_of (writer->info, event->tag));
  put_pair (out, &writer->phase_names, "device", event->device);
  put_pair (out, &writer->phase_names, "time_us", event->time / 1000);
  g_string_append_c (out, 'u');
}

static gboolean
write_event (Writer *writer, const GememTraceEvent *event, GError **error)
{
  const gboolean before = (event->flags & GEMEM_EVENT_INITIAL) != 0;
  const char *action = action_of (event->kind);

  if (event->kind == GEMEM_EVENT_PHASE || event->kind == GEMEM_EVENT_PHASE_END)
    write_phase (writer, event);
  if (action == NULL && event->kind != GEMEM_EVENT_FREE)
    return TRUE;
  Device *device = device_of (writer, event->device);
  if (event->kind == GEMEM_EVENT_ALLOC)
    return write_alloc (writer, device, event, error);
  if (event->kind == GEMEM_EVENT_FREE || event->kind == GEMEM_EVENT_FREE_REQUESTED
      || event->kind == GEMEM_EVENT_FREE_COMPLETED)
    {
      write_free (writer, device, event);
      return TRUE;
    }
  if (event->kind == GEMEM_EVENT_SEGMENT_ALLOC || event->kind == GEMEM_EVENT_SEGMENT_MAP)
    add_segment (device, event);
  else if (event->kind != GEMEM_EVENT_OOM)
    remove_segment (device, event);
  if (!before)
    put_event (writer, device, action, event, event->address, event->size);
  return TRUE;
}

static gboolean
write_events (GememTraceWriter *base, const GememTraceEvent *events, gsize n, GError **error)
{
  Writer *writer = (Writer *) base;

  for (gsize i = 0; i < n; i++)
    if (!write_event (writer, &events[i], error))
      return FALSE;
  for (guint i = 0; i < writer->devices->len; i++)
    {
      Device *device = writer->devices->pdata[i];
      if (device != NULL && device->text->len > BUFFER && !spool_text (device, error))
        return FALSE;
    }
  return TRUE;
}

/* ---- the end */

static gboolean
flush (Writer *writer, GString *out, GError **error)
{
  const gboolean ok = gemem_output_write (writer->output, out->str, out->len, error);

  g_string_truncate (out, 0);
  return ok;
}

/* The history of @device, and after it nothing but what has a number there. */
static gboolean
flush_history (Writer *writer, const Device *device, GString *out, GError **error)
{
  g_autofree char *buffer = g_malloc (BUFFER);

  g_string_append_c (out, ']');
  if (!flush (writer, out, error))
    return FALSE;
  for (guint64 at = 0; device != NULL && at < device->spooled;)
    {
      const gssize got = pread (device->spool, buffer, MIN (BUFFER, device->spooled - at),
                                (goffset) at);
      if (got <= 0)
        {
          gemem_error_set_errno (error, errno, "the history of a snapshot", "run it again");
          return FALSE;
        }
      if (!gemem_output_write (writer->output, buffer, (gsize) got, error))
        return FALSE;
      at += (guint64) got;
    }
  if (device != NULL
      && !gemem_output_write (writer->output, device->text->str, device->text->len, error))
    return FALSE;
  if (device != NULL && device->events > 0)
    g_string_append_c (out, 'e');
  return TRUE;
}

static void
put_block (GString *out, const GememTraceInfo *info, Device *device, guint64 address, guint64 size,
           const Block *block)
{
  g_string_append (out, "}(");
  put_pair (out, &device->names, "address", address);
  put_pair (out, &device->names, "size", size);
  put_pair (out, &device->names, "requested_size", block != NULL ? block->requested : 0);
  put_words (out, &device->names, "state",
             block == NULL    ? "inactive"
             : block->pending ? "active_pending_free"
                              : "active_allocated");
  put_frames (out, info, device, block != NULL ? block->stack : 0);
  g_string_append_c (out, 'u');
}

/* The blocks of @segment from blocks[*next] on, and what lies free between them. */
static void
put_blocks (GString *out, const GememTraceInfo *info, Device *device, const Segment *segment,
            const GPtrArray *blocks, guint *next)
{
  const guint64 end = segment->address + segment->size;
  guint64 at = segment->address;

  put_key (out, &device->names, "blocks");
  g_string_append (out, "](");
  for (; *next < blocks->len; ++*next)
    {
      const Block *block = blocks->pdata[*next];
      if (block->address >= end)
        break;
      if (block->address > at)
        put_block (out, info, device, at, block->address - at, NULL);
      put_block (out, info, device, block->address, block->size, block);
      at = block->address + block->size;
    }
  if (at < end)
    put_block (out, info, device, at, end - at, NULL);
  g_string_append_c (out, 'e');
}

static void
put_segment (GString *out, const GememTraceInfo *info, Device *device, guint number,
             const Segment *segment, const GPtrArray *blocks, guint *next)
{
  guint64 allocated = 0, active = 0, requested = 0;

  for (guint i = *next; i < blocks->len; i++)
    {
      const Block *block = blocks->pdata[i];
      if (block->address >= segment->address + segment->size)
        break;
      active += block->size;
      allocated += block->pending ? 0 : block->size;
      requested += block->requested;
    }
  g_string_append (out, "}(");
  put_pair (out, &device->names, "device", number);
  put_pair (out, &device->names, "address", segment->address);
  put_pair (out, &device->names, "total_size", segment->size);
  put_pair (out, &device->names, "allocated_size", allocated);
  put_pair (out, &device->names, "active_size", active);
  put_pair (out, &device->names, "requested_size", requested);
  put_pair (out, &device->names, "stream", segment->stream);
  put_words (out, &device->names, "segment_type", segment->small ? "small" : "large");
  put_key (out, &device->names, "segment_pool_id");
  put_number (out, 0);
  put_number (out, segment->pool);
  g_string_append_c (out, '\x86');
  put_key (out, &device->names, "is_expandable");
  g_string_append_c (out, segment->mapped ? '\x88' : '\x89');
  put_frames (out, info, device, segment->stack);
  put_blocks (out, info, device, segment, blocks, next);
  g_string_append_c (out, 'u');
}

/* Pages that were mapped side by side are one segment. */
static void
join_mapped (GArray *segments)
{
  guint kept = 0;

  for (guint i = 0; i < segments->len; i++)
    {
      const Segment next = g_array_index (segments, Segment, i);
      Segment *last = kept > 0 ? &g_array_index (segments, Segment, kept - 1) : NULL;
      if (last != NULL && last->mapped && next.mapped && last->stream == next.stream
          && last->address + last->size == next.address)
        last->size += next.size;
      else
        g_array_index (segments, Segment, kept++) = next;
    }
  g_array_set_size (segments, kept);
}

static guint64
end_of (const Device *device, guint number)
{
  const Segment *segment = &g_array_index (device->segments, Segment, number);
  return segment->address + segment->size;
}

/* Blocks that lie in no segment, of a recording that tells none, each stand for one. */
static void
add_missing_segments (Device *device, const GPtrArray *blocks)
{
  const guint n = device->segments->len;
  guint s = 0;

  for (guint i = 0; i < blocks->len; i++)
    {
      const Block *block = blocks->pdata[i];
      while (s < n && end_of (device, s) <= block->address)
        s++;
      if (s < n && g_array_index (device->segments, Segment, s).address <= block->address)
        continue;
      const Segment made = { .address = block->address,
                             .size = block->size,
                             .stack = block->stack };
      g_array_append_val (device->segments, made);
    }
  g_array_sort (device->segments, compare_segments);
}

static gboolean
write_segments (Writer *writer, GString *out, guint number, GError **error)
{
  Device *device = writer->devices->pdata[number];
  g_autoptr (GPtrArray) blocks = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer block;
  guint next = 0;

  if (device == NULL)
    return TRUE;
  names_clear (&device->names); /* its numbers are those of another history by now */
  names_init (&device->names);
  g_hash_table_iter_init (&iter, device->live);
  while (g_hash_table_iter_next (&iter, NULL, &block))
    if (((const Block *) block)->size > 0)
      g_ptr_array_add (blocks, block);
  g_ptr_array_sort (blocks, compare_blocks);
  g_array_sort (device->segments, compare_segments);
  join_mapped (device->segments);
  add_missing_segments (device, blocks);
  for (guint i = 0; i < device->segments->len; i++)
    {
      g_string_append_c (out, '(');
      put_segment (out, writer->info, device, number, &g_array_index (device->segments, Segment, i),
                   blocks, &next);
      g_string_append_c (out, 'e');
      if (out->len > BUFFER && !flush (writer, out, error))
        return FALSE;
    }
  return TRUE;
}

/* The settings of PyTorch's allocator as PYTORCH_CUDA_ALLOC_CONF, and allocator and settings as we write them, of which PyTorch's tools
 * take no notice. */
static void
put_settings (GString *out, const GememTraceInfo *info)
{
  const gboolean pytorch = info->allocator == NULL
                           || g_str_has_prefix (info->allocator, "pytorch-");
  g_autoptr (GString) conf = g_string_new (NULL);
  g_auto (GStrv)
      settings = g_strsplit (pytorch && info->settings != NULL ? info->settings : "", ",", 0);

  for (guint i = 0; settings[i] != NULL; i++)
    {
      char *value = strchr (settings[i], '=');
      if (value == NULL || g_str_has_prefix (settings[i], "version="))
        continue;
      *value++ = '\0';
      g_string_append_printf (conf, "%s%s:%s", conf->len > 0 ? "," : "", settings[i],
                              strcmp (value, "true") == 0    ? "True"
                              : strcmp (value, "false") == 0 ? "False"
                                                             : value);
    }
  put_text (out, "allocator_settings");
  g_string_append (out, "}(");
  put_text (out, "PYTORCH_CUDA_ALLOC_CONF");
  put_text (out, conf->str);
  put_text (out, "expandable_segments");
  g_string_append_c (out, strstr (conf->str, "expandable_segments:True") != NULL ? '\x88' : '\x89');
  if (info->allocator != NULL)
    {
      g_autofree char *whole = g_strdup_printf ("%s:%s", info->allocator,
                                                info->settings != NULL ? info->settings : "");
      put_text (out, "gemem_allocator");
      put_text (out, whole);
    }
  g_string_append_c (out, 'u');
}

static void
writer_free (Writer *writer)
{
  g_ptr_array_unref (writer->devices);
  g_string_free (writer->phases, TRUE);
  names_clear (&writer->phase_names);
  g_free (writer);
}

static gboolean
write_all (Writer *writer, GError **error)
{
  g_autoptr (GString) out = g_string_new ("\x80\x02}(");

  put_text (out, "device_traces");
  g_string_append (out, "](");
  for (guint i = 0; i < writer->devices->len; i++)
    if (!flush_history (writer, writer->devices->pdata[i], out, error))
      return FALSE;
  g_string_append_c (out, 'e');
  put_text (out, "segments");
  g_string_append_c (out, ']');
  for (guint i = 0; i < writer->devices->len; i++)
    if (!write_segments (writer, out, i, error))
      return FALSE;
  put_text (out, "external_annotations");
  g_string_append_c (out, ']');
  g_string_append_len (out, writer->phases->str, (gssize) writer->phases->len);
  if (writer->n_phases > 0)
    g_string_append_c (out, 'e');
  put_settings (out, writer->info);
  g_string_append (out, "u.");
  return flush (writer, out, error);
}

static gboolean
finish (GememTraceWriter *base, GError **error)
{
  Writer *writer = (Writer *) base;
  gboolean ok = write_all (writer, error);

  if (ok)
    ok = gemem_output_finish (writer->output, error);
  else
    gemem_output_discard (writer->output);
  writer_free (writer);
  return ok;
}

static void
discard (GememTraceWriter *base)
{
  Writer *writer = (Writer *) base;

  gemem_output_discard (writer->output);
  writer_free (writer);
}

GememTraceWriter *
gemem_snapshot_create (const char *path, const GememTraceInfo *info, GError **error)
{
  GememOutput *output = gemem_output_create (path, error);
  Writer *writer;

  if (output == NULL)
    return NULL;
  writer = g_new0 (Writer, 1);
  writer->base = (GememTraceWriter){ .write = write_events, .finish = finish, .discard = discard };
  writer->info = info;
  writer->output = output;
  writer->devices = g_ptr_array_new_with_free_func (device_free);
  writer->phases = g_string_new (NULL);
  names_init (&writer->phase_names);
  return &writer->base;
}
