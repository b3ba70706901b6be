/* kineto.c - the [memory] events of a torch.profiler trace (Chrome trace JSON with
 * profile_memory=True): format `kineto`.
 *
 * The events are grouped by thread, not ordered by time; a stable sort by `ts` puts every free
 * after its allocation.  The memory events are therefore kept as records of 56 bytes until the
 * whole file is read (at most 2^26 records, 3.5 GiB), and with them the operators, annotations and
 * Python functions (intervals.h), which tell the call stacks, phases and steps; all other events
 * are skipped while reading.
 *
 * Events delivered: the initial state (initial.h); ALLOC and FREE (a free is logged when it
 * is requested; streams are unknown); OOM for [OutOfMemory]; one segment event of the difference
 * where `Total Reserved` changes.  The difference may be the sum of several segments, so
 * GEMEM_TRACE_HAS_SEGMENTS is not set.  A segment obtained for an allocation has the address of
 * that block; the addresses of other segments are unknown.  Sizes of CUDA events are block sizes
 * (GEMEM_TRACE_BLOCK_SIZES), of host events requests.  A second free of an address without an
 * allocation between is counted as skipped.
 *
 * Origin: peers.md 2.2.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/idmap.h"
#include "base/io/fail.h"
#include "base/io/input.h"
#include "base/io/json-stream.h"
#include "base/io/scan.h"
#include "traces/kineto/initial.h"
#include "traces/kineto/intervals.h"
#include "traces/kineto/properties.h"
#include "traces/trace.h"

#define BATCH 1024u
#define MAX_RECORDS ((gsize) 1 << 26)
#define MAX_SIZE (G_GUINT64_CONSTANT (1) << 60)
#define MAX_DEVICES 4096
#define HOST GEMEM_DEVICE_HOST

extern const GememTraceFormat gemem_format_kineto;

typedef struct
{
  gint64 time; /* ns; after sorting: since the first event */
  guint64 address;
  guint64 size;
  guint64 total;    /* Total Allocated after the event; after pairing: the id */
  gint64 reserved;  /* Total Reserved after the event; after pairing: its change */
  guint32 sequence; /* index among the memory events of the file */
  guint32 thread;   /* of intervals.h, 0: unknown */
  guint32 stack;
  guint16 device;
  guint8 kind;
  guint8 has_total : 1, has_reserved : 1;
} Record;

G_STATIC_ASSERT (sizeof (Record) == 56);

/* The fields of the trace event being read. */
typedef struct
{
  gboolean memory, oom, has_time, has_type, has_address, has_bytes, has_total, has_reserved;
  gint64 time;
  guint64 type, address, bytes, total, reserved;
  gint64 device;
  gboolean negative;
  gboolean has_pid, has_tid, has_duration, has_call;
  gint64 pid, tid, duration;
  int kind; /* GememKinetoKind; -1: not known yet */
} Fields;

typedef struct
{
  GememTraceReader reader;
  GememInput *input;
  GememReadOptions options;
  GememJson *json;
  Record *records;
  gsize n, capacity, at;
  GArray *initial; /* GememTraceEvent */
  gsize initial_at;
  guint64 memory; /* memory events of the file */
  guint64 other;  /* other trace events */
  guint64 type;   /* device type of the accelerator, 0: none seen */
  GememKinetoIntervals *intervals;
  GString *name, *call; /* of the trace event being read */
  const GArray *phases; /* GememKinetoPhase */
  guint phase;          /* the next one to deliver */
  gint64 origin;        /* of the time */
  gboolean found;       /* the file has a list of trace events */
  gboolean segments;    /* ... whose members are segments of a snapshot */
  GArray *gpus;         /* GememKinetoGpu */
  GememTraceEvent batch[BATCH];
} Kineto;

#define fail(kineto, error, ...) \
  gemem_fail_line (error, gemem_input_name ((kineto)->input), gemem_json_line ((kineto)->json), \
                   __VA_ARGS__)

/* ---- one event */

static gboolean
read_number (Kineto *kineto, const char *name, int scale, guint64 *magnitude, gboolean *negative,
             gboolean *has, GError **error)
{
  int token = gemem_json_next (kineto->json, error);
  if (token < 0)
    return FALSE;
  if (token != GEMEM_JSON_NUMBER) /* numbers written as strings are ignored */
    return gemem_json_skip (kineto->json, token, error);
  if (!gemem_json_scaled (kineto->json, scale, magnitude, negative))
    return fail (kineto, error, "\"%s\" is %.40s, which is out of range; the trace is damaged",
                 name, gemem_json_text (kineto->json));
  *has = TRUE;
  return TRUE;
}

/* Reads a total, if the value is a valid one. */
static gboolean
read_total (Kineto *kineto, const char *name, guint64 *total, gboolean *has, GError **error)
{
  gboolean negative = FALSE;

  if (!read_number (kineto, name, 0, total, &negative, has, error))
    return FALSE;
  *has &= !negative && *total < MAX_SIZE;
  return TRUE;
}

/* Keeps the text of the value in @text, if it is a string. */
static gboolean
read_text (Kineto *kineto, GString *text, gboolean *has, GError **error)
{
  const int token = gemem_json_next (kineto->json, error);

  if (token == GEMEM_JSON_STRING)
    {
      g_string_assign (text, gemem_json_text (kineto->json));
      *has = TRUE;
    }
  return token >= 0 && gemem_json_skip (kineto->json, token, error);
}

/* Reads the number of a process or thread. */
static gboolean
read_identity (Kineto *kineto, const char *name, gint64 *value, gboolean *has, GError **error)
{
  gboolean negative = FALSE;
  guint64 number = 0;

  if (!read_number (kineto, name, 0, &number, &negative, has, error))
    return FALSE;
  *value = (gint64) (negative ? -number : number);
  return TRUE;
}

/* Whether @key is @name; most of a trace's keys differ in the first character already. */
static inline gboolean
names (const char *key, const char *name)
{
  return *key == *name && strcmp (key, name) == 0;
}

static gboolean
read_argument (Kineto *kineto, Fields *fields, GError **error)
{
  const char *key = gemem_json_text (kineto->json);
  gboolean ignored, negative = FALSE;
  guint64 number = 0;

  if (names (key, "Device Type"))
    return read_number (kineto, "Device Type", 0, &fields->type, NULL, &fields->has_type, error);
  if (names (key, "Addr"))
    {
      if (!read_number (kineto, "Addr", 0, &number, &negative, &fields->has_address, error))
        return FALSE;
      fields->address = negative ? -number : number;
      return TRUE;
    }
  if (names (key, "Bytes"))
    return read_number (kineto, "Bytes", 0, &fields->bytes, &fields->negative, &fields->has_bytes,
                        error);
  if (names (key, "Total Allocated"))
    return read_total (kineto, "Total Allocated", &fields->total, &fields->has_total, error);
  if (names (key, "Total Reserved"))
    return read_total (kineto, "Total Reserved", &fields->reserved, &fields->has_reserved, error);
  if (names (key, "Device Id"))
    {
      if (!read_number (kineto, "Device Id", 0, &number, &negative, &ignored, error))
        return FALSE;
      fields->device = negative || number > MAX_DEVICES ? -1 : (gint64) number;
      return TRUE;
    }
  if (names (key, "CallFrom"))
    return read_text (kineto, kineto->call, &fields->has_call, error);
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

/* Appends a memory event as a record. */
static gboolean
keep (Kineto *kineto, const Fields *fields, GError **error)
{
  Record record = { .time = fields->time,
                    .address = fields->address,
                    .size = fields->bytes,
                    .total = fields->total,
                    .reserved = (gint64) fields->reserved,
                    .sequence = (guint32) kineto->n,
                    .has_total = fields->has_total != 0,
                    .has_reserved = fields->has_reserved != 0 };

  kineto->memory++;
  if (!fields->has_time || !fields->has_type || !fields->has_bytes)
    return fail (kineto, error, "a memory event without %s; the trace is damaged",
                 !fields->has_time   ? "ts"
                 : !fields->has_type ? "Device Type"
                                     : "Bytes");
  if (!fields->has_address && !fields->oom)
    return fail (kineto, error,
                 "memory events without Addr, as PyTorch wrote them in 2021, do not tell which "
                 "block is freed; record again with a newer one");
  if (fields->bytes >= MAX_SIZE)
    return fail (kineto, error,
                 "%" G_GUINT64_FORMAT
                 " bytes are more than any allocator could serve; the trace is damaged",
                 fields->bytes);
  if (fields->type != 0 && fields->device < 0)
    return fail (
        kineto, error,
        "a memory event of an accelerator without a usable Device Id; the trace is damaged");
  if (kineto->n == MAX_RECORDS)
    return fail (kineto, error,
                 "more than %" G_GSIZE_FORMAT
                 " memory events, which must all be held to sort them; record fewer steps",
                 MAX_RECORDS);
  if (fields->type != 0 && kineto->type == 0)
    kineto->type = fields->type;
  if (fields->has_pid && fields->has_tid)
    record.thread = gemem_kineto_intervals_thread (kineto->intervals, fields->pid, fields->tid);
  record.device = (guint16) (fields->type == 0 ? HOST : fields->device);
  record.kind = fields->oom        ? GEMEM_EVENT_OOM
                : fields->negative ? GEMEM_EVENT_FREE
                                   : GEMEM_EVENT_ALLOC;
  if ((fields->type != 0 && fields->type != kineto->type) || (fields->bytes == 0 && !fields->oom))
    {
      kineto->reader.info.skipped++; /* another type of accelerator, or size 0 */
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

/* Keeps the trace event as a span, if it is an operator, annotation or Python function. */
static void
keep_interval (Kineto *kineto, const Fields *fields)
{
  kineto->other++;
  if (fields->kind <= GEMEM_KINETO_OTHER || kineto->name->len == 0 || !fields->has_time
      || !fields->has_duration || !fields->has_pid || !fields->has_tid)
    return;
  gemem_kineto_intervals_add (
      kineto->intervals,
      gemem_kineto_intervals_thread (kineto->intervals, fields->pid, fields->tid),
      (GememKinetoKind) fields->kind, kineto->name->str,
      fields->has_call ? kineto->call->str : NULL, fields->time, fields->time + fields->duration);
}

static gboolean
read_event (Kineto *kineto, GError **error)
{
  Fields fields = { .device = -1, .kind = -1 };
  gboolean ignored;
  int token;

  g_string_truncate (kineto->name, 0);

  while ((token = gemem_json_next (kineto->json, error)) == GEMEM_JSON_KEY)
    {
      const char *key = gemem_json_text (kineto->json);
      gboolean negative = FALSE;
      guint64 time = 0;
      if (names (key, "args"))
        {
          if (!read_arguments (kineto, &fields, error))
            return FALSE;
        }
      else if (names (key, "ts")) /* microseconds, with a fraction in newer versions */
        {
          if (!read_number (kineto, "ts", 3, &time, &negative, &fields.has_time, error))
            return FALSE;
          if (time > G_MAXINT64 / 2)
            return fail (kineto, error, "\"ts\" is out of range; the trace is damaged");
          fields.time = negative ? -(gint64) time : (gint64) time;
        }
      else if (names (key, "dur"))
        {
          if (!read_number (kineto, "dur", 3, &time, &negative, &fields.has_duration, error))
            return FALSE;
          fields.has_duration &= !negative && time < G_MAXINT64 / 2;
          fields.duration = fields.has_duration ? (gint64) time : 0;
        }
      else if (names (key, "tid"))
        {
          if (!read_identity (kineto, "tid", &fields.tid, &fields.has_tid, error))
            return FALSE;
        }
      else if (names (key, "pid"))
        {
          if (!read_identity (kineto, "pid", &fields.pid, &fields.has_pid, error))
            return FALSE;
        }
      else if (names (key, "name"))
        {
          if (!read_text (kineto, kineto->name, &ignored, error))
            return FALSE;
        }
      else
        {
          gboolean cat = names (key, "cat");
          kineto->segments |= names (key, "segment_type");
          if ((token = gemem_json_next (kineto->json, error)) < 0)
            return FALSE;
          if (cat && token == GEMEM_JSON_STRING)
            fields.kind = (int) gemem_kineto_kind (gemem_json_text (kineto->json));
          if (!gemem_json_skip (kineto->json, token, error))
            return FALSE;
        }
    }
  if (token < 0)
    return FALSE;
  fields.memory = names (kineto->name->str, "[memory]");
  fields.oom = names (kineto->name->str, "[OutOfMemory]");
  if (fields.memory || fields.oom)
    return keep (kineto, &fields, error);
  keep_interval (kineto, &fields);
  return TRUE;
}

/* ---- the file */

#define RECORD_INSTEAD \
  "record with export_chrome_trace() and profile_memory=True, or " \
  "torch.cuda.memory._dump_snapshot()"

/* Reports a list in a list, which export_memory_timeline() writes: [times, sizes] or, if raw,
 * [[time, action, bytes, category], ...]; FALSE with @error. */
static gboolean
refuse_timeline (Kineto *kineto, GError **error)
{
  guint numbers = 0;
  int token;

  for (; (token = gemem_json_next (kineto->json, error)) == GEMEM_JSON_NUMBER; numbers++)
    ;
  if (token == GEMEM_JSON_END_ARRAY)
    token = gemem_json_next (kineto->json, error);
  if (token < 0)
    return FALSE;
  if (token == GEMEM_JSON_BEGIN_ARRAY)
    token = gemem_json_next (kineto->json, error);
  else if (token == GEMEM_JSON_END_ARRAY && numbers == 4)
    token = GEMEM_JSON_NUMBER;
  if (token < 0)
    return FALSE;
  if (token == GEMEM_JSON_BEGIN_ARRAY && numbers > 0)
    return fail (kineto, error,
                 "a timeline of export_memory_timeline() has only sums by category, no "
                 "blocks; " RECORD_INSTEAD);
  if (token == GEMEM_JSON_NUMBER && numbers == 4)
    return fail (kineto, error,
                 "a raw timeline of export_memory_timeline() does not say which block is "
                 "freed; " RECORD_INSTEAD);
  return fail (kineto, error, "a trace event that is no object; this is no Chrome trace");
}

static gboolean
read_events (Kineto *kineto, GError **error)
{
  int token;

  kineto->found = TRUE;
  while ((token = gemem_json_next (kineto->json, error)) == GEMEM_JSON_BEGIN_OBJECT)
    if (!read_event (kineto, error))
      return FALSE;
  if (token == GEMEM_JSON_BEGIN_ARRAY)
    return refuse_timeline (kineto, error);
  if (token >= 0 && token != GEMEM_JSON_END_ARRAY)
    return fail (kineto, error, "a trace event that is no object; this is no Chrome trace");
  return token >= 0;
}

/* {"traceEvents": [...], ...}, or the bare list. */
static gboolean
read_file (Kineto *kineto, GError **error)
{
  int token = gemem_json_next (kineto->json, error);
  gboolean snapshot = FALSE;

  if (token == GEMEM_JSON_BEGIN_ARRAY)
    {
      if (!read_events (kineto, error))
        return FALSE;
    }
  else if (token == GEMEM_JSON_BEGIN_OBJECT)
    {
      while ((token = gemem_json_next (kineto->json, error)) == GEMEM_JSON_KEY)
        {
          const gboolean events = strcmp (gemem_json_text (kineto->json), "traceEvents") == 0;
          const gboolean gpus = strcmp (gemem_json_text (kineto->json), "deviceProperties") == 0;
          snapshot |= strcmp (gemem_json_text (kineto->json), "device_traces") == 0;
          if ((token = gemem_json_next (kineto->json, error)) < 0)
            return FALSE;
          if (events && token == GEMEM_JSON_BEGIN_ARRAY ? !read_events (kineto, error)
              : gpus ? !gemem_kineto_properties_read (kineto->gpus, kineto->json, token, error)
                     : !gemem_json_skip (kineto->json, token, error))
            return FALSE;
        }
      if (token < 0)
        return FALSE;
    }
  else
    return token >= 0
           && fail (kineto, error, "neither an object nor a list; this is no Chrome trace");
  if (gemem_json_next (kineto->json, error) < 0)
    return FALSE;
  return kineto->found
         || fail (kineto, error,
                  snapshot
                      ? "a snapshot as JSON; pickle.dump() it, or let _dump_snapshot() write it"
                      : "no \"traceEvents\"; this is no trace of torch.profiler");
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
  GememIdMap *blocks; /* address -> Block */
  GememKinetoInitial initial;
  guint64 allocated, reserved, most; /* most: of `reserved` */
  guint64 mismatches, sizes;
} Device;

/* The last block at an address. */
typedef struct
{
  guint64 id; /* 0: freed */
  guint64 size;
} Block;

/* Compares Total Allocated with the running sum; the first total tells the initial bytes. */
static void
check_allocated (Device *device, const Record *record)
{
  const gboolean alloc = record->kind == GEMEM_EVENT_ALLOC;
  GememKinetoInitial *initial = &device->initial;

  if (record->kind == GEMEM_EVENT_OOM || !record->has_total)
    return;
  if (!initial->knows_allocated)
    {
      initial->knows_allocated = TRUE;
      initial->allocated = alloc ? record->total - MIN (record->size, record->total)
                                 : record->total + record->size;
    }
  else
    device->mismatches += (alloc ? device->allocated + record->size
                                 : device->allocated - record->size)
                          != record->total;
  device->allocated = record->total;
}

/* Computes the change of Total Reserved.  A request may have released cached segments before it was
 * served or failed.  For the first event this is unknown; the first total counts as reserved before
 * only if memory was allocated before. */
static void
check_reserved (Device *device, Record *record)
{
  GememKinetoInitial *initial = &device->initial;
  const guint64 reserved = (guint64) record->reserved;

  record->reserved = 0;
  if (!record->has_reserved || (record->kind == GEMEM_EVENT_OOM && !initial->knows_reserved))
    return;
  if (!initial->knows_reserved)
    {
      initial->knows_reserved = TRUE;
      device->reserved = initial->reserved = initial->allocated > 0 ? reserved : 0;
    }
  record->reserved = (gint64) (reserved - device->reserved);
  device->reserved = reserved;
  device->most = MAX (device->most, MAX (reserved, initial->reserved));
}

/* Assigns to a free the id of its block, perhaps an initial one; 0: it was freed already. */
static int
pair_free (Device *device, Record *record, guint64 *last_id)
{
  gboolean existed;
  Block *block = gemem_idmap_insert (device->blocks, record->address, &existed);

  if (existed && block->id == 0)
    return 0;
  if (existed)
    device->sizes += block->size != record->size;
  else
    gemem_kineto_initial_add (&device->initial, block->id = ++*last_id, record->address,
                              record->size);
  record->total = block->id;
  block->id = 0;
  return 1;
}

/* Assigns an id to @record.  1: keep the record, 0: drop the record, -1: error. */
static int
pair (Kineto *kineto, Device *device, Record *record, guint64 *last_id, GError **error)
{
  Block *block;

  check_allocated (device, record);
  record->total = 0;
  if (record->kind == GEMEM_EVENT_FREE && pair_free (device, record, last_id) == 0)
    return 0;
  check_reserved (device, record);
  if (record->kind != GEMEM_EVENT_ALLOC)
    return 1;
  block = gemem_idmap_insert (device->blocks, record->address, NULL);
  if (block->id != 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s:event %u: 0x%" G_GINT64_MODIFIER
                   "x is allocated while it is live (ts %" G_GINT64_FORMAT
                   " ns); a free is missing in the trace, or two traces were joined",
                   gemem_input_name (kineto->input), record->sequence, record->address,
                   record->time);
      return -1;
    }
  block->size = record->size;
  record->total = block->id = ++*last_id;
  if (record->reserved > 0)
    gemem_kineto_initial_obtain (&device->initial, record->address, record->size,
                                 (guint64) record->reserved);
  if (device->initial.knows_reserved)
    gemem_kineto_initial_use (&device->initial, record->address, record->size);
  return 1;
}

static void
note_device (Kineto *kineto, const char *name, const Device *device)
{
  GememTraceInfo *info = &kineto->reader.info;

  if (device->mismatches > 0)
    gemem_trace_info_note (info, "note",
                           "%s: Total Allocated differs from the running sum at %" G_GUINT64_FORMAT
                           " events",
                           name, device->mismatches);
  if (device->sizes > 0)
    gemem_trace_info_note (info, "note",
                           "%s: %" G_GUINT64_FORMAT
                           " blocks are freed with another size than they were allocated with",
                           name, device->sizes);
}

/* Derives the initial state of @device. */
static void
settle_initial (Kineto *kineto, guint16 number, const char *name, Device *device, guint64 *last_id)
{
  GememTraceInfo *info = &kineto->reader.info;
  GememKinetoInitial *initial = &device->initial;
  const guint before = kineto->initial->len;
  guint64 rest;

  initial->knows_reserved &= initial->reserved >= MAX (initial->allocated, 1);
  rest = gemem_kineto_initial_finish (initial, number,
                                      gemem_trace_info_intern (info, GEMEM_KINETO_BEFORE), last_id,
                                      kineto->initial);
  if (kineto->initial->len == before)
    return;
  info->flags |= GEMEM_TRACE_STARTS_IN_MIDDLE;
  info->ambiguities += rest > 0;
  if (rest > 0)
    gemem_trace_info_note (
        info, "before",
        "%s: %" G_GUINT64_FORMAT
        " bytes are live in blocks that the file does not name; they are one block '%s'",
        name, rest, GEMEM_KINETO_BEFORE);
}

/* Assigns the call stacks, and takes the phases if there is anything to set them against. */
static void
settle_intervals (Kineto *kineto)
{
  GememTraceInfo *info = &kineto->reader.info;
  const guint64 left_out = gemem_kineto_intervals_settle (kineto->intervals);

  kineto->origin = kineto->n > 0 ? kineto->records[0].time : 0;
  if (left_out > 0)
    gemem_trace_info_note (info, "note",
                           "%" G_GUINT64_FORMAT
                           " operators and Python functions are left out; their allocations have "
                           "incomplete stacks",
                           left_out);
  if (kineto->n == 0 || !gemem_kineto_intervals_any (kineto->intervals))
    return;
  gemem_trace_info_stacks (info);
  for (gsize i = 0; i < kineto->n; i++)
    kineto->records[i].stack = gemem_kineto_intervals_stack (
        kineto->intervals, kineto->records[i].thread, kineto->records[i].time);
  kineto->phases = gemem_kineto_intervals_phases (kineto->intervals);
  info->events += kineto->phases->len;
  for (guint i = 0; i < kineto->phases->len; i++)
    info->skipped -= g_array_index (kineto->phases, GememKinetoPhase, i).kind
                     != GEMEM_EVENT_PHASE_END;
  if (kineto->phases->len > 0)
    kineto->origin = MIN (kineto->origin, g_array_index (kineto->phases, GememKinetoPhase, 0).time);
}

/* Assigns ids to the events, lets time start at 0, and derives the initial state. */
static gboolean
settle (Kineto *kineto, GError **error)
{
  GememTraceInfo *info = &kineto->reader.info;
  g_autofree Device *devices = g_new0 (Device, MAX_DEVICES + 2); /* the last one is the host */
  g_autoptr (GArray) uses = g_array_new (FALSE, FALSE, sizeof (GememKinetoUse));
  guint64 last_id = 0, unknown = 0;
  gsize keep = 0;
  int result = 1;

  for (gsize i = 0; i < kineto->n && result >= 0; i++)
    {
      Record *record = &kineto->records[i];
      Device *device = &devices[MIN (record->device, MAX_DEVICES + 1)];
      if (device->blocks == NULL)
        {
          device->blocks = gemem_idmap_new (sizeof (Block));
          gemem_kineto_initial_init (&device->initial);
        }
      result = pair (kineto, device, record, &last_id, error);
      unknown += result == 0;
      record->time -= kineto->origin;
      if (result > 0)
        {
          kineto->records[keep++] = *record;
          info->events += record->reserved != 0 ? 2 : 1;
        }
    }
  kineto->n = keep;
  for (guint i = 0; i <= MAX_DEVICES + 1; i++)
    if (devices[i].blocks != NULL)
      {
        const guint16 number = (guint16) (i <= MAX_DEVICES ? i : HOST);
        g_autofree char *name = number == HOST ? g_strdup ("host")
                                               : g_strdup_printf ("device %u", number);
        settle_initial (kineto, number, name, &devices[i], &last_id);
        note_device (kineto, name, &devices[i]);
        const GememKinetoUse use = { number, devices[i].most };
        g_array_append_val (uses, use);
        gemem_kineto_initial_clear (&devices[i].initial);
        gemem_idmap_free (devices[i].blocks);
      }
  gemem_kineto_properties_settle (kineto->gpus, uses, info);
  info->events += kineto->initial->len;
  info->skipped += unknown;
  if (unknown > 0)
    gemem_trace_info_note (info, "note",
                           "%" G_GUINT64_FORMAT " frees of what was freed already are left out",
                           unknown);
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
  if (kineto->memory == 0 && kineto->segments)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: segments of torch.cuda.memory_snapshot() as JSON; let "
                   "torch.cuda.memory._dump_snapshot() write a file",
                   gemem_input_name (kineto->input));
      return FALSE;
    }
  if (kineto->memory == 0)
    {
      g_set_error (
          error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
          "%s: none of its %" G_GUINT64_FORMAT
          " trace events is about memory; record again with profile(..., profile_memory=True)",
          gemem_input_name (kineto->input), kineto->other);
      return FALSE;
    }
  info->skipped += kineto->other;
  select_devices (kineto);
  if (kineto->n > 0)
    qsort (kineto->records, kineto->n, sizeof *kineto->records, compare_records);
  settle_intervals (kineto);
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
  if ((info->flags & GEMEM_TRACE_BLOCK_SIZES) != 0)
    info->allocator = g_strdup ("pytorch-caching");
  return TRUE;
}

/* ---- reader */

static void
deliver (const Record *record, gboolean blocks, GememTraceEvent *event)
{
  *event = (GememTraceEvent){ .time = (guint64) record->time,
                              .id = record->total,
                              .size = record->size,
                              .address = record->address,
                              .device = record->device,
                              .stack = record->stack,
                              .kind = record->kind };
  event->aux = blocks && record->kind == GEMEM_EVENT_ALLOC ? record->size : 0;
}

/* Makes the segment event for the change of Total Reserved at @record. */
static void
deliver_segment (const Record *record, GememTraceEvent *event)
{
  const gboolean more = record->reserved > 0;
  const guint64 size = more ? (guint64) record->reserved : -(guint64) record->reserved;
  const gboolean placed = more && record->kind == GEMEM_EVENT_ALLOC;

  *event = (GememTraceEvent){ .time = (guint64) record->time,
                              .size = size,
                              .device = record->device,
                              .stack = record->stack,
                              .kind = more ? GEMEM_EVENT_SEGMENT_ALLOC : GEMEM_EVENT_SEGMENT_FREE };
  if (placed)
    event->address = gemem_kineto_obtained_at (record->address, record->size, size);
  if (placed && size < record->size)
    event->kind = GEMEM_EVENT_SEGMENT_MAP;
}

/* Makes the event of the next phase or step; FALSE if none is due at @time. */
static gboolean
deliver_phase (Kineto *kineto, gint64 time, GememTraceEvent *event)
{
  if (kineto->phases == NULL || kineto->phase == kineto->phases->len)
    return FALSE;
  const GememKinetoPhase *phase = &g_array_index (kineto->phases, GememKinetoPhase, kineto->phase);
  if (phase->time - kineto->origin > time)
    return FALSE;
  *event = (GememTraceEvent){ .time = (guint64) (phase->time - kineto->origin),
                              .id = phase->step,
                              .tag = phase->tag,
                              .device = kineto->records[0].device,
                              .kind = phase->kind };
  kineto->phase++;
  return TRUE;
}

static gssize
kineto_next (GememTraceReader *reader, const GememTraceEvent **events, GError **error)
{
  Kineto *kineto = (Kineto *) reader;
  gboolean blocks = (reader->info.flags & GEMEM_TRACE_BLOCK_SIZES) != 0;
  guint n = 0;
  (void) error;

  for (; n < BATCH && kineto->initial_at < kineto->initial->len; n++)
    kineto->batch[n] = g_array_index (kineto->initial, GememTraceEvent, kineto->initial_at++);
  for (; n + 1 < BATCH && kineto->at < kineto->n; kineto->at++)
    {
      const Record *record = &kineto->records[kineto->at];
      while (n + 1 < BATCH && deliver_phase (kineto, record->time, &kineto->batch[n]))
        n++;
      if (n + 1 >= BATCH)
        break;
      if (record->reserved != 0)
        deliver_segment (record, &kineto->batch[n++]);
      deliver (record, blocks, &kineto->batch[n++]);
    }
  while (n < BATCH && kineto->at == kineto->n
         && deliver_phase (kineto, G_MAXINT64, &kineto->batch[n]))
    n++;
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
  g_array_unref (kineto->initial);
  g_array_unref (kineto->gpus);
  gemem_kineto_intervals_free (kineto->intervals);
  g_string_free (kineto->name, TRUE);
  g_string_free (kineto->call, TRUE);
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
  gemem_json_keep_backslashes (kineto->json);
  kineto->initial = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  kineto->gpus = gemem_kineto_properties_new ();
  kineto->name = g_string_new (NULL);
  kineto->call = g_string_new (NULL);
  gemem_trace_info_init (&kineto->reader.info, "kineto", gemem_input_name (input));
  kineto->intervals = gemem_kineto_intervals_new (&kineto->reader.info);
  if (load (kineto, error))
    return &kineto->reader;
  kineto_close (&kineto->reader);
  return NULL;
}

/* TRUE if what stands behind the '[' can be a list of events, or one that is refused by its name, and no
 * line of a log: "[rank0]: ", "[2026-11-29 10:00:00] ", "[1/2] ". */
static gboolean
begins_list (const guint8 *head, gsize size)
{
  gsize i = 0;

  while (i < size && g_ascii_isspace ((char) head[i]))
    i++;
  return i == size || strchr ("[{]", head[i]) != NULL;
}

static int
probe (const guint8 *head, gsize size)
{
  gsize i = 0;
  while (i < size && g_ascii_isspace ((char) head[i]))
    i++;
  if (i == size || (head[i] != '{' && head[i] != '['))
    return 0;
  if (head[i] == '[' && !begins_list (head + i + 1, size - i - 1))
    return 0;
  if (scan_contains (head, size, "\"allocated_bytes.all.current\""))
    return 0; /* torch.cuda.memory_stats(), a message (messages.def) */
  if (scan_contains (head, size, "\"traceEvents\"")
      || scan_contains (head, size, "\"schemaVersion\"")
      || scan_contains (head, size, "\"[memory]\""))
    return 90;
  return scan_contains (head, size, "\"ph\"") ? 60 : 5;
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
