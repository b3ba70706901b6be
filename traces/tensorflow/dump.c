/* dump.c - a log of TensorFlow, XLA or JAX in which the BFC allocator wrote its state when
 * it ran out of memory: format `tensorflow-dump`.
 *
 * Events delivered: the state, device by device (INITIAL: SEGMENT_ALLOC for each region, then ALLOC
 * for each chunk in use, with the size of the chunk, since the requests are not in the log), then
 * the requests that failed (ALLOC and FREE flagged FAILED).  Their tags are the operations that
 * asked.  The device is the number in the allocator's name ("GPU_0_bfc"); allocators of the host's
 * memory belong to the host.  Of several dumps of an allocator the last whole one is read.
 *
 * A dump in which lines are missing is refused; with --allow-partial its chunks are delivered
 * without regions.  Limit and next region become settings; where devices differ, the largest limit,
 * with a DEVICE_LIMIT for each other device.  Memory: bfc-dump.h.
 * Origin: peers.md 2.6.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "traces/tensorflow/bfc-dump.h"
#include "traces/trace.h"

#define BATCH 1024u

extern const GememTraceFormat gemem_format_tensorflow_dump;

typedef struct
{
  const GememBfcDump *dump;
  guint16 device;
} State;

typedef enum
{
  STEP_REGIONS,
  STEP_CHUNKS,
  STEP_REQUESTS /* of all devices, behind all their states */
} Step;

typedef struct
{
  GememTraceReader reader;
  GememBfcDumps dumps;
  GArray *states; /* State, by device */
  Step step;
  guint state, at; /* the next event */
  guint64 last_id;
  guint64 limit;                    /* the largest of the devices */
  GememTraceEvent batch[BATCH + 2]; /* a request makes three events at most */
} TensorflowDump;

static const State *
state_at (const TensorflowDump *self, guint i)
{
  return &g_array_index (self->states, State, i);
}

static const char *
name_of (const GememBfcDump *dump)
{
  return dump->name != NULL ? dump->name : "the allocator";
}

/* ---- which dumps */

static guint16
device_of (const char *name)
{
  for (const char *p = name; p != NULL && (p = strchr (p, '_')) != NULL; p++)
    if (g_ascii_isdigit (p[1]))
      {
        const guint64 number = g_ascii_strtoull (p + 1, NULL, 10);
        return number < GEMEM_DEVICE_HOST ? (guint16) number : 0;
      }
  return name != NULL && (strstr (name, "host") != NULL || strstr (name, "cpu") != NULL)
             ? GEMEM_DEVICE_HOST
             : 0;
}

static int
compare_states (gconstpointer a, gconstpointer b)
{
  const State *x = a, *y = b;

  if (x->device != y->device)
    return x->device < y->device ? -1 : 1;
  return (x->dump->line > y->dump->line) - (x->dump->line < y->dump->line);
}

/* The last dump of each device that was asked for; the host counts where there is no other. */
static void
choose_states (TensorflowDump *self, int device)
{
  GememTraceInfo *info = &self->reader.info;

  for (guint i = 0; i < self->dumps.dumps->len; i++)
    {
      const GememBfcDump *dump = self->dumps.dumps->pdata[i];
      const State state = { dump, device_of (dump->name) };

      if (device < 0 || state.device == device)
        g_array_append_val (self->states, state);
      else
        info->skipped++;
    }
  g_array_sort (self->states, compare_states);
  for (guint i = self->states->len; i-- > 1;)
    if (state_at (self, i)->device == GEMEM_DEVICE_HOST
        && state_at (self, 0)->device != GEMEM_DEVICE_HOST)
      {
        gemem_trace_info_note (info, "note", "the dump of %s, of the host's memory, is left out",
                               name_of (state_at (self, i)->dump));
        g_array_remove_index (self->states, i);
      }
    else if (state_at (self, i)->device == state_at (self, i - 1)->device)
      {
        gemem_trace_info_note (
            info, "note", "the dump of %s is left out, %s is of the same device and later",
            name_of (state_at (self, i - 1)->dump), name_of (state_at (self, i)->dump));
        g_array_remove_index (self->states, i - 1);
      }
}

/* ---- what is known of them */

static gboolean
check_states (TensorflowDump *self, const char *name, int device, gboolean partial, GError **error)
{
  const GememBfcDumps *dumps = &self->dumps;

  if (dumps->dumps->len == 0 && dumps->stray > 0)
    g_set_error (
        error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
        "%s:%" G_GUINT64_FORMAT
        ": chunks of the BFC allocator without the beginning of a dump; the log is cut, or "
        "its lines are in another order: fetch it again",
        name, dumps->stray_line);
  else if (dumps->dumps->len == 0)
    g_set_error (
        error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
        "%s:1: the log has no dump of TensorFlow's BFC allocator ('BFCAllocator dump for'); "
        "it is written when a request runs out of memory",
        name);
  else if (self->states->len == 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s:1: the log has no dump of device %d; leave the choice of a device out", name,
                 device);
  for (guint i = 0; i < self->states->len; i++)
    {
      const GememBfcDump *dump = state_at (self, i)->dump;

      if (dump->damage == NULL)
        continue;
      if (!partial || dump->chunks->len == 0)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                       "%s:%" G_GUINT64_FORMAT
                       ": in the dump of %s %s; the log was cut, or several processes wrote to it: "
                       "fetch it again%s",
                       name, dump->damage_line, name_of (dump), dump->damage,
                       dump->chunks->len > 0 ? ", or use --allow-partial for what is there" : "");
          return FALSE;
        }
      self->reader.info.flags |= GEMEM_TRACE_TRUNCATED;
      gemem_trace_info_note (&self->reader.info, "partial",
                             "%s:%" G_GUINT64_FORMAT ": in the dump of %s %s", name,
                             dump->damage_line, name_of (dump), dump->damage);
    }
  return self->states->len > 0;
}

static void
note_settings (TensorflowDump *self)
{
  GememTraceInfo *info = &self->reader.info;
  const GememBfcDump *first = state_at (self, 0)->dump;
  guint64 next = first->next_region;

  for (guint i = 0; i < self->states->len; i++)
    {
      const GememBfcDump *dump = state_at (self, i)->dump;

      self->limit = MAX (self->limit, dump->limit);
      next = dump->next_region == next ? next : 0;
    }
  if (self->limit == 0)
    return;
  info->device = g_strdup_printf ("capacity=%" G_GUINT64_FORMAT "B,address=recorded", self->limit);
  info->settings = g_strdup_printf ("limit=%" G_GUINT64_FORMAT "B", self->limit);
  if (next > 0)
    {
      g_autofree char *all = g_strdup_printf (
          "%s,curr_region_allocation_bytes=%" G_GUINT64_FORMAT "B", info->settings, next);
      g_free (info->settings);
      info->settings = g_steal_pointer (&all);
    }
}

static void
note_dumps (TensorflowDump *self)
{
  GememTraceInfo *info = &self->reader.info;

  for (guint i = 0; i < self->states->len; i++)
    {
      const GememBfcDump *dump = state_at (self, i)->dump;
      guint64 live = 0;

      for (guint c = 0; c < dump->chunks->len; c++)
        live += g_array_index (dump->chunks, GememBfcDumpChunk, c).live;
      gemem_trace_info_note (info, "state",
                             "%s at line %" G_GUINT64_FORMAT ": %u regions of %" G_GUINT64_FORMAT
                             " bytes, %" G_GUINT64_FORMAT " chunks in use, %" G_GUINT64_FORMAT
                             " free%s",
                             name_of (dump), dump->line, dump->regions->len, dump->pool, live,
                             dump->chunks->len - live,
                             dump->inexact ? "; the limit was written in rounded units" : "");
    }
  if (self->dumps.left_out > 0)
    gemem_trace_info_note (
        info, "note",
        "%" G_GUINT64_FORMAT
        " earlier dumps of the same allocators are left out; for one of them, cut "
        "the log behind it",
        self->dumps.left_out);
  if (self->dumps.damaged > 0)
    gemem_trace_info_note (info, "note", "%" G_GUINT64_FORMAT " dumps are cut or mixed with others",
                           self->dumps.damaged);
  info->flags |= GEMEM_TRACE_HAS_ADDRESSES | GEMEM_TRACE_BLOCK_SIZES | GEMEM_TRACE_STARTS_IN_MIDDLE;
  if ((info->flags & GEMEM_TRACE_TRUNCATED) == 0)
    info->flags |= GEMEM_TRACE_HAS_SEGMENTS;
  info->allocator = g_strdup ("tf-bfc");
}

/* ---- events */

static guint32
tag_of (TensorflowDump *self, const char *operation)
{
  return operation != NULL ? gemem_trace_info_intern (&self->reader.info, operation) : GEMEM_NO_TAG;
}

/* Adds the next event of the initial state of @state; FALSE: there is none. */
static gboolean
next_initial (TensorflowDump *self, const State *state, GememTraceEvent *event)
{
  const GememBfcDump *dump = state->dump;

  *event = (GememTraceEvent){ .device = state->device, .flags = GEMEM_EVENT_INITIAL };
  if (self->step == STEP_REGIONS && dump->damage == NULL && self->at < dump->regions->len)
    {
      const GememBfcDumpRegion *region = &g_array_index (dump->regions, GememBfcDumpRegion,
                                                         self->at++);

      event->kind = GEMEM_EVENT_SEGMENT_ALLOC;
      event->size = region->size;
      event->address = g_array_index (dump->chunks, GememBfcDumpChunk, region->first).address;
      return TRUE;
    }
  if (self->step == STEP_REGIONS)
    self->at = 0;
  self->step = STEP_CHUNKS;
  while (self->at < dump->chunks->len)
    {
      const GememBfcDumpChunk *chunk = &g_array_index (dump->chunks, GememBfcDumpChunk, self->at++);

      if (!chunk->live)
        continue;
      event->kind = GEMEM_EVENT_ALLOC;
      event->id = ++self->last_id;
      event->size = event->aux = chunk->size;
      event->address = chunk->address;
      event->tag = tag_of (self, chunk->operation);
      return TRUE;
    }
  return FALSE;
}

/* Adds the limit of the device, where it is not that of all, and the request that failed; returns
 * the number of events. */
static guint
next_request (TensorflowDump *self, const State *state, GememTraceEvent *events)
{
  guint n = 0;

  if (state->dump->requested == 0)
    return 0;
  if (state->dump->limit != 0 && state->dump->limit != self->limit)
    events[n++] = (GememTraceEvent){ .kind = GEMEM_EVENT_DEVICE_LIMIT,
                                     .device = state->device,
                                     .size = state->dump->limit };
  events += n;
  events[0] = (GememTraceEvent){ .kind = GEMEM_EVENT_ALLOC,
                                 .flags = GEMEM_EVENT_FAILED,
                                 .device = state->device,
                                 .id = ++self->last_id,
                                 .size = state->dump->requested,
                                 .tag = tag_of (self, state->dump->operation) };
  events[1] = events[0];
  events[1].kind = GEMEM_EVENT_FREE;
  events[1].tag = GEMEM_NO_TAG;
  return n + 2;
}

static gssize
dump_next (GememTraceReader *reader, const GememTraceEvent **events, G_GNUC_UNUSED GError **error)
{
  TensorflowDump *self = (TensorflowDump *) reader;
  guint n = 0;

  *events = self->batch;
  while (n < BATCH && self->state < self->states->len)
    {
      const State *state = state_at (self, self->state);

      if (self->step == STEP_REQUESTS)
        n += next_request (self, state, &self->batch[n]);
      else if (next_initial (self, state, &self->batch[n]))
        {
          n++;
          continue;
        }
      self->state++;
      self->at = 0;
      if (self->step == STEP_CHUNKS)
        self->step = STEP_REGIONS;
      if (self->step == STEP_REGIONS && self->state == self->states->len)
        {
          self->step = STEP_REQUESTS;
          self->state = 0;
        }
    }
  return n;
}

/* ---- reader */

static void
dump_close (GememTraceReader *reader)
{
  TensorflowDump *self = (TensorflowDump *) reader;

  g_array_unref (self->states);
  gemem_bfc_dumps_clear (&self->dumps);
  gemem_trace_info_clear (&reader->info);
  g_free (self);
}

static GememTraceReader *
dump_open (GememInput *input, const GememReadOptions *options, GError **error)
{
  TensorflowDump *self = g_new0 (TensorflowDump, 1);
  GememTraceInfo *info = &self->reader.info;
  g_autoptr (GError) damage = NULL;
  gboolean ok;

  gemem_input_set_single_pass (input);
  self->reader.next = dump_next;
  self->reader.close = dump_close;
  self->states = g_array_new (FALSE, FALSE, sizeof (State));
  gemem_trace_info_init (info, "tensorflow-dump", gemem_input_name (input));
  ok = gemem_bfc_dumps_read (&self->dumps, input, &damage);
  if (!ok && options->allow_partial)
    {
      info->flags |= GEMEM_TRACE_TRUNCATED;
      gemem_trace_info_note (info, "partial", "%s", damage->message);
    }
  else if (!ok)
    g_propagate_error (error, g_steal_pointer (&damage));
  if (ok || options->allow_partial)
    {
      choose_states (self, options->device);
      ok = check_states (self, gemem_input_name (input), options->device, options->allow_partial,
                         error);
    }
  gemem_input_close (input);
  if (ok)
    {
      note_dumps (self);
      note_settings (self);
      return &self->reader;
    }
  dump_close (&self->reader);
  return NULL;
}

static int
probe (const guint8 *head, gsize size)
{
  gboolean dump;

  if (!gemem_bfc_dump_probe (head, size, &dump))
    return 0;
  return dump ? 95 : 60; /* 60: of TensorFlow; the dump stands where memory ran out */
}

const GememTraceFormat gemem_format_tensorflow_dump = {
  .name = "tensorflow-dump",
  .aliases = "bfc-dump",
  .extensions = "log",
  .summary = "log of TensorFlow, XLA or JAX with the state of the BFC allocator out of memory",
  .origin = "peers.md 2.6",
  .probe = probe,
  .open = dump_open,
};
