/* kineto.c - the [memory] events of a torch.profiler trace (Chrome trace JSON with profile_memory=True): format `kineto`.
 *
 * The events are not in order of time, a thread stands behind the other; a stable sort by `ts` makes every free meet its allocation.
 * So the memory events are held as records of 40 bytes until the file is read (at most 2^26 of them, 2.5 GiB); everything else is
 * passed over as it comes.
 *
 * What is delivered: ALLOC and FREE (a free is logged when it is requested; no streams), OOM for [OutOfMemory].  Sizes of CUDA
 * events are block sizes (GEMEM_TRACE_BLOCK_SIZES), of host events requests.  Frees of blocks that were allocated before the profiler
 * ran are counted as skipped; the bytes they held, by the first `Total Allocated`, are told in the provenance.
 *
 * Origin: peers.md 2.2.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/error.h"
#include "sim/core/idmap.h"
#include "traces/input.h"
#include "traces/json-stream.h"
#include "traces/trace.h"

#define BATCH 1024u
#define MAX_RECORDS ((gsize) 1 << 26)
#define MAX_SIZE (G_GUINT64_CONSTANT (1) << 60)
#define MAX_DEVICES 4096
#define HOST GEMEM_DEVICE_HOST

extern const GememTraceFormat gemem_format_kineto;

typedef struct
{
  gint64  time; /* ns; later: since the first event   */
  guint64 address;
  guint64 size;
  guint64 total;    /* Total Allocated after it; later: the id */
  guint32 sequence; /* among the memory events of the file     */
  guint16 device;
  guint8  kind;
  guint8  has_total;
} Record;

G_STATIC_ASSERT (sizeof (Record) == 40);

/* One trace event while it is read. */
typedef struct
{
  gboolean memory, oom, has_time, has_type, has_address, has_bytes, has_total;
  gint64   time;
  guint64  type, address, bytes, total;
  gint64   device;
  gboolean negative;
} Fields;

typedef struct
{
  GememTraceReader reader;
  GememInput      *input;
  GememReadOptions options;
  GememJson       *json;
  Record          *records;
  gsize            n, capacity, at;
  guint64          other; /* trace events that are no memory events */
  guint64          type;  /* of the accelerator, 0: none seen       */
  gboolean         found; /* a list of trace events                 */
  GememTraceEvent  batch[BATCH];
} Kineto;

static gboolean G_GNUC_PRINTF (3, 4)
fail (const Kineto *kineto, GError **error, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *raw = g_strdup_vprintf (format, arguments);
  g_autofree char *text = g_strescape (raw, "\"\\"); /* what it quotes may be any bytes */
  va_end (arguments);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s:%" G_GUINT64_FORMAT ": %s", gemem_input_name (kineto->input),
               gemem_json_line (kineto->json), text);
  return FALSE;
}

/* ---- one event */

static gboolean
read_number (Kineto *kineto, const char *name, int scale, guint64 *magnitude, gboolean *negative, gboolean *has, GError **error)
{
  int token = gemem_json_next (kineto->json, error);
  if (token < 0)
    return FALSE;
  if (token != GEMEM_JSON_NUMBER) /* some writers quote numbers; then they are not for reading */
    return gemem_json_skip (kineto->json, token, error);
  if (!gemem_json_scaled (kineto->json, scale, magnitude, negative))
    return fail (kineto, error, "\"%s\" is %.40s, which is out of range; the trace is damaged", name, gemem_json_text (kineto->json));
  *has = TRUE;
  return TRUE;
}

static gboolean
read_argument (Kineto *kineto, Fields *fields, GError **error)
{
  const char *key = gemem_json_text (kineto->json);
  gboolean ignored, negative = FALSE;
  guint64 number = 0;

  if (strcmp (key, "Device Type") == 0)
    return read_number (kineto, "Device Type", 0, &fields->type, NULL, &fields->has_type, error);
  if (strcmp (key, "Addr") == 0)
    {
      if (!read_number (kineto, "Addr", 0, &number, &negative, &fields->has_address, error))
        return FALSE;
      fields->address = negative ? -number : number;
      return TRUE;
    }
  if (strcmp (key, "Bytes") == 0)
    return read_number (kineto, "Bytes", 0, &fields->bytes, &fields->negative, &fields->has_bytes, error);
  if (strcmp (key, "Total Allocated") == 0)
    {
      if (!read_number (kineto, "Total Allocated", 0, &fields->total, &negative, &fields->has_total, error))
        return FALSE;
      fields->has_total &= !negative;
      return TRUE;
    }
  if (strcmp (key, "Device Id") == 0)
    {
      if (!read_number (kineto, "Device Id", 0, &number, &negative, &ignored, error))
        return FALSE;
      fields->device = negative || number > MAX_DEVICES ? -1 : (gint64) number;
      return TRUE;
    }
  int token = gemem_json_next (kineto->json, error);
  return token >= 0 && gemem_json_skip (kineto->json, token, error);
}

static gboolean
read_arguments (Kineto *kineto, Fields *fields, GError **error)
{
  int token = gemem_json_next (kineto->json, error);
  if (token != GEMEM_JSON_BEGIN_OBJECT)
    return token >= 0 && gemem_json_skip (kineto->json, token, error);
  while ((token = gemem_json_next (kineto->json, error)) == GEMEM_JSON_KEY)
    if (!read_argument (kineto, fields, error))
      return FALSE;
  return token >= 0;
}

/* Keeps a memory event as a record. */
static gboolean
keep (Kineto *kineto, const Fields *fields, GError **error)
{
  Record record = { .time = fields->time, .address = fields->address, .size = fields->bytes, .total = fields->total,
                    .sequence = (guint32) kineto->n, .has_total = fields->has_total };

  if (!fields->has_time || !fields->has_type || !fields->has_bytes)
    return fail (kineto, error, "a memory event without %s; the trace is damaged",
                 !fields->has_time   ? "ts"
                 : !fields->has_type ? "Device Type"
                                     : "Bytes");
  if (!fields->has_address && !fields->oom)
    return fail (
        kineto, error,
        "memory events without Addr, as PyTorch wrote them in 2021, do not tell which block is freed; record again with a newer one");
  if (fields->bytes >= MAX_SIZE)
    return fail (kineto, error, "%" G_GUINT64_FORMAT " bytes are more than any allocator could serve; the trace is damaged", fields->bytes);
  if (fields->type != 0 && fields->device < 0)
    return fail (kineto, error, "a memory event of an accelerator without a usable Device Id; the trace is damaged");
  if (kineto->n == MAX_RECORDS)
    return fail (kineto, error, "more than %" G_GSIZE_FORMAT " memory events, which must all be held to sort them; record fewer steps",
                 MAX_RECORDS);
  if (fields->type != 0 && kineto->type == 0)
    kineto->type = fields->type;
  record.device = (guint16) (fields->type == 0 ? HOST : fields->device);
  record.kind = fields->oom ? GEMEM_EVENT_OOM : fields->negative ? GEMEM_EVENT_FREE : GEMEM_EVENT_ALLOC;
  if ((fields->type != 0 && fields->type != kineto->type) || (fields->bytes == 0 && !fields->oom))
    {
      kineto->reader.info.skipped++; /* another kind of accelerator, or nothing */
      return TRUE;
    }
  if (kineto->n == kineto->capacity)
    {
      kineto->capacity = MAX (kineto->capacity * 2, 4096);
      kineto->records = g_renew (Record, kineto->records, kineto->capacity);
    }
  kineto->records[kineto->n++] = record;
  return TRUE;
}

static gboolean
read_event (Kineto *kineto, GError **error)
{
  Fields fields = { .device = -1 };
  int token;

  while ((token = gemem_json_next (kineto->json, error)) == GEMEM_JSON_KEY)
    {
      const char *key = gemem_json_text (kineto->json);
      gboolean negative = FALSE;
      guint64 time = 0;
      if (strcmp (key, "args") == 0)
        {
          if (!read_arguments (kineto, &fields, error))
            return FALSE;
        }
      else if (strcmp (key, "ts") == 0) /* microseconds, from some versions on with a fraction */
        {
          if (!read_number (kineto, "ts", 3, &time, &negative, &fields.has_time, error))
            return FALSE;
          if (time > G_MAXINT64 / 2)
            return fail (kineto, error, "\"ts\" is out of range; the trace is damaged");
          fields.time = negative ? -(gint64) time : (gint64) time;
        }
      else
        {
          gboolean name = strcmp (key, "name") == 0;
          if ((token = gemem_json_next (kineto->json, error)) < 0)
            return FALSE;
          if (name && token == GEMEM_JSON_STRING)
            {
              fields.memory = strcmp (gemem_json_text (kineto->json), "[memory]") == 0;
              fields.oom = strcmp (gemem_json_text (kineto->json), "[OutOfMemory]") == 0;
            }
          if (!gemem_json_skip (kineto->json, token, error))
            return FALSE;
        }
    }
  if (token < 0)
    return FALSE;
  if (fields.memory || fields.oom)
    return keep (kineto, &fields, error);
  kineto->other++;
  return TRUE;
}

/* ---- the file */

static gboolean
read_events (Kineto *kineto, GError **error)
{
  int token;

  kineto->found = TRUE;
  while ((token = gemem_json_next (kineto->json, error)) == GEMEM_JSON_BEGIN_OBJECT)
    if (!read_event (kineto, error))
      return FALSE;
  if (token >= 0 && token != GEMEM_JSON_END_ARRAY)
    return fail (kineto, error, "a trace event that is no object; this is no Chrome trace");
  return token >= 0;
}

/* {"traceEvents": [...], ...}, or the bare list. */
static gboolean
read_file (Kineto *kineto, GError **error)
{
  int token = gemem_json_next (kineto->json, error);

  if (token == GEMEM_JSON_BEGIN_ARRAY)
    {
      if (!read_events (kineto, error))
        return FALSE;
    }
  else if (token == GEMEM_JSON_BEGIN_OBJECT)
    {
      while ((token = gemem_json_next (kineto->json, error)) == GEMEM_JSON_KEY)
        {
          gboolean events = strcmp (gemem_json_text (kineto->json), "traceEvents") == 0;
          if ((token = gemem_json_next (kineto->json, error)) < 0)
            return FALSE;
          if (events && token == GEMEM_JSON_BEGIN_ARRAY ? !read_events (kineto, error) : !gemem_json_skip (kineto->json, token, error))
            return FALSE;
        }
      if (token < 0)
        return FALSE;
    }
  else
    return token >= 0 && fail (kineto, error, "neither an object nor a list; this is no Chrome trace");
  if (gemem_json_next (kineto->json, error) < 0)
    return FALSE;
  return kineto->found || fail (kineto, error, "no \"traceEvents\"; this is no trace of torch.profiler");
}

/* ---- selection, order, ids */

static void
select_devices (Kineto *kineto)
{
  gint32 wanted = kineto->options.device;
  gboolean host = wanted == HOST || (wanted < 0 && kineto->type == 0);
  gsize keep = 0;

  for (gsize i = 0; i < kineto->n; i++)
    {
      guint16 device = kineto->records[i].device;
      if (wanted >= 0 ? device == wanted : (device == HOST) == host)
        kineto->records[keep++] = kineto->records[i];
    }
  kineto->reader.info.skipped += kineto->n - keep;
  kineto->n = keep;
  if (!host)
    kineto->reader.info.flags |= GEMEM_TRACE_BLOCK_SIZES;
}

static int
compare_records (const void *a, const void *b)
{
  const Record *x = a, *y = b;
  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

typedef struct
{
  GememIdMap *live; /* address -> id << 1 and size */
  guint64     running, before;
  guint64     mismatches, sizes;
  gboolean    known;
} Device;

typedef struct
{
  guint64 id, size;
} Live;

/* Compares Total Allocated with the running sum; the first one tells what was there before. */
static void
check_total (Device *device, const Record *record)
{
  guint64 after = record->kind == GEMEM_EVENT_ALLOC ? device->running + record->size : device->running - record->size;

  if (record->kind == GEMEM_EVENT_OOM || !record->has_total)
    return;
  if (!device->known)
    {
      device->known = TRUE;
      device->before = record->kind == GEMEM_EVENT_ALLOC ? record->total - MIN (record->size, record->total) : record->total + record->size;
    }
  else
    device->mismatches += after != record->total;
  device->running = record->total;
}

/* Gives a record its id.  1: keep it, 0: drop it, -1: error. */
static int
pair (Kineto *kineto, Device *device, Record *record, guint64 *last_id, GError **error)
{
  gboolean existed;
  Live live, *found;

  check_total (device, record);
  record->total = 0;
  if (record->kind == GEMEM_EVENT_FREE)
    {
      if (!gemem_idmap_remove (device->live, record->address, &live))
        return 0;
      device->sizes += live.size != record->size;
      record->total = live.id;
    }
  else if (record->kind == GEMEM_EVENT_ALLOC)
    {
      found = gemem_idmap_insert (device->live, record->address, &existed);
      if (existed)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                       "%s:event %u: 0x%" G_GINT64_MODIFIER "x is allocated while it is live (ts %" G_GINT64_FORMAT
                       " ns); a free is missing in the trace, or two traces were joined",
                       gemem_input_name (kineto->input), record->sequence, record->address, record->time);
          return -1;
        }
      found->size = record->size;
      record->total = found->id = ++*last_id;
    }
  return 1;
}

static void
note_device (Kineto *kineto, guint number, const Device *device)
{
  GememTraceInfo *info = &kineto->reader.info;
  g_autofree char *name = number == HOST ? g_strdup ("host") : g_strdup_printf ("device %u", number);

  if (device->before > 0)
    {
      info->flags |= GEMEM_TRACE_STARTS_IN_MIDDLE;
      gemem_trace_info_note (info, "missing",
                             "%s: %" G_GUINT64_FORMAT " bytes are allocated before the first event, by blocks that are not in the file",
                             name, device->before);
    }
  if (device->mismatches > 0)
    gemem_trace_info_note (info, "note", "%s: Total Allocated differs from the running sum at %" G_GUINT64_FORMAT " events", name,
                           device->mismatches);
  if (device->sizes > 0)
    gemem_trace_info_note (info, "note", "%s: %" G_GUINT64_FORMAT " blocks are freed with another size than they were allocated with", name,
                           device->sizes);
}

/* Drops frees of blocks from before, numbers the others, and starts time at 0. */
static gboolean
settle (Kineto *kineto, GError **error)
{
  GememTraceInfo *info = &kineto->reader.info;
  g_autofree Device *devices = g_new0 (Device, MAX_DEVICES + 2); /* the last one is the host */
  guint64 last_id = 0, unknown = 0;
  gint64 origin = kineto->n > 0 ? kineto->records[0].time : 0;
  gsize keep = 0;
  int result = 1;

  for (gsize i = 0; i < kineto->n && result >= 0; i++)
    {
      Record *record = &kineto->records[i];
      Device *device = &devices[MIN (record->device, MAX_DEVICES + 1)];
      if (device->live == NULL)
        device->live = gemem_idmap_new (sizeof (Live));
      result = pair (kineto, device, record, &last_id, error);
      unknown += result == 0;
      record->time -= origin;
      if (result > 0)
        kineto->records[keep++] = *record;
    }
  kineto->n = keep;
  for (guint i = 0; i <= MAX_DEVICES + 1; i++)
    if (devices[i].live != NULL)
      {
        note_device (kineto, i <= MAX_DEVICES ? i : HOST, &devices[i]);
        gemem_idmap_free (devices[i].live);
      }
  info->skipped += unknown;
  if (unknown > 0)
    {
      info->flags |= GEMEM_TRACE_STARTS_IN_MIDDLE;
      gemem_trace_info_note (info, "note", "%" G_GUINT64_FORMAT " frees of blocks from before the first event are left out", unknown);
    }
  return result >= 0;
}

static gboolean
load (Kineto *kineto, GError **error)
{
  GememTraceInfo *info = &kineto->reader.info;
  g_autoptr (GError) damage = NULL;

  if (!read_file (kineto, &damage) && !(kineto->options.allow_partial && kineto->n > 0))
    {
      g_propagate_error (error, g_steal_pointer (&damage));
      return FALSE;
    }
  info->skipped += kineto->other;
  select_devices (kineto);
  if (kineto->n > 0)
    qsort (kineto->records, kineto->n, sizeof *kineto->records, compare_records);
  if (!settle (kineto, damage == NULL ? &damage : NULL) && !kineto->options.allow_partial)
    {
      g_propagate_error (error, g_steal_pointer (&damage));
      return FALSE;
    }
  if (damage != NULL)
    {
      info->flags |= GEMEM_TRACE_TRUNCATED;
      gemem_trace_info_note (info, "partial", "%s", damage->message);
    }
  info->flags |= GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_HAS_ADDRESSES;
  info->events = kineto->n;
  if ((info->flags & GEMEM_TRACE_BLOCK_SIZES) != 0)
    info->allocator = g_strdup ("pytorch-caching");
  return TRUE;
}

/* ---- reader */

static gssize
kineto_next (GememTraceReader *reader, const GememTraceEvent **events, GError **error)
{
  Kineto *kineto = (Kineto *) reader;
  gboolean blocks = (reader->info.flags & GEMEM_TRACE_BLOCK_SIZES) != 0;
  guint n = 0;
  (void) error;

  for (; n < BATCH && kineto->at < kineto->n; n++, kineto->at++)
    {
      const Record *record = &kineto->records[kineto->at];
      GememTraceEvent *event = &kineto->batch[n];
      memset (event, 0, sizeof *event);
      event->time = (guint64) record->time;
      event->id = record->total;
      event->size = record->size;
      event->address = record->address;
      event->device = record->device;
      event->kind = record->kind;
      event->aux = blocks && record->kind == GEMEM_EVENT_ALLOC ? record->size : 0;
    }
  *events = kineto->batch;
  return n;
}

static void
kineto_close (GememTraceReader *reader)
{
  Kineto *kineto = (Kineto *) reader;
  gemem_trace_info_clear (&reader->info);
  gemem_json_free (kineto->json);
  gemem_input_close (kineto->input);
  g_free (kineto->records);
  g_free (kineto);
}

static GememTraceReader *
kineto_open (GememInput *input, const GememReadOptions *options, GError **error)
{
  Kineto *kineto = g_new0 (Kineto, 1);

  gemem_input_set_single_pass (input);
  kineto->reader.format = &gemem_format_kineto;
  kineto->reader.next = kineto_next;
  kineto->reader.close = kineto_close;
  kineto->input = input;
  kineto->options = *options;
  kineto->json = gemem_json_new (input);
  gemem_trace_info_init (&kineto->reader.info, "kineto", gemem_input_name (input));
  if (load (kineto, error))
    return &kineto->reader;
  kineto_close (&kineto->reader);
  return NULL;
}

static gboolean
contains (const guint8 *head, gsize size, const char *word)
{
  return memmem (head, size, word, strlen (word)) != NULL;
}

static int
probe (const guint8 *head, gsize size)
{
  gsize i = 0;
  while (i < size && g_ascii_isspace ((char) head[i]))
    i++;
  if (i == size || (head[i] != '{' && head[i] != '['))
    return 0;
  if (contains (head, size, "\"traceEvents\"") || contains (head, size, "\"schemaVersion\"") || contains (head, size, "\"[memory]\""))
    return 90;
  return contains (head, size, "\"ph\"") ? 60 : 5;
}

const GememTraceFormat gemem_format_kineto = {
  .name = "kineto",
  .aliases = "chrome-trace|torch-profiler",
  .extensions = "json",
  .summary = "memory events of a torch.profiler trace (profile_memory=True)",
  .origin = "peers.md 2.2",
  .probe = probe,
  .open = kineto_open,
};
