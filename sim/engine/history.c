/* history.c - the probe that keeps a run as rectangles (history.h), where the job asks for it.
 *
 * Segments: what the device's calls obtain and free.  A call may free a part of what others
 * obtained (pages of a range), so an open segment is cut where it is.
 *
 * Memory: 64 bytes for each live block, twice that for each rectangle that is kept.
 */
#include "config.h"

#include <string.h>

#include "base/idmap.h"
#include "sim/engine/engine-private.h"
#include "sim/engine/history.h"
#include "sim/engine/rectangles.h"
#include "traces/attribution.h"

typedef struct
{
  GememProbe probe;
  const GememHistoryWish *wish;
  GememHistory *history; /* becomes the result's */
  GememRun *run;
  GememIdMap *live; /* id -> GememHistoryBlock */
  GArray *open;     /* GememHistoryBlock: segments that are there, by address */
  GememRectangles blocks, segments;
  GememDeviceObserver observer;
  gboolean adopted; /* the segments of the initial state were looked at */
  GememAttributor attributor;
  gboolean attributes;
  GememAttribution by; /* of the current event */
  guint64 refused;     /* bytes of the last call for it that failed; 0: none did */
  GHashTable *numbers; /* key of an attribution or tag (gint64) -> number of its text */
  GHashTable *known;   /* text -> its number */
  GArray *lines;       /* guint: by number of a text, its line of the wish; n_lines: another */
  guint64 *held;       /* bytes of each line now, and of the rest */
  guint64 part;        /* of the run, that is going on */
} History;

/* ---- lines */

static guint
line_of (const GememHistoryWish *wish, const char *text)
{
  guint line = 0;

  while (line < wish->n_lines && strcmp (wish->lines[line], text) != 0)
    line++;
  return line;
}

static guint32
number_of_text (History *self, const char *text)
{
  gpointer number = g_hash_table_lookup (self->known, text);
  const guint line = line_of (self->wish, text);

  if (number != NULL || *text == '\0')
    return GPOINTER_TO_UINT (number);
  g_ptr_array_add (self->history->texts, g_strdup (text));
  g_array_append_val (self->lines, line);
  number = GUINT_TO_POINTER (self->history->texts->len - 1);
  g_hash_table_insert (self->known,
                       g_ptr_array_index (self->history->texts, GPOINTER_TO_UINT (number)), number);
  return GPOINTER_TO_UINT (number);
}

/* The text of @event: its line, or where there is none its category. */
static guint32
text_of (History *self, const GememTraceEvent *event)
{
  const GememAttribution *by = &self->by;
  const gboolean has_line = by->stack != 0 || by->program != 0;
  const gint64 key = has_line ? (gint64) ((guint64) by->after << 63 | (guint64) by->program << 32
                                          | (by->after && by->program != 0 ? 0 : by->stack))
                              : -1 - (gint64) event->tag;
  gpointer number;
  gint64 *copy;

  if (g_hash_table_lookup_extended (self->numbers, &key, NULL, &number))
    return GPOINTER_TO_UINT (number);
  g_autoptr (GString) text = g_string_new (NULL);
  if (has_line)
    gemem_attribution_append (text, self->run->info, by, FALSE, GEMEM_NO_TAG);
  else if (self->run->info != NULL && event->tag < self->run->info->strings->len)
    g_string_append (text, self->run->info->strings->pdata[event->tag]);
  number = GUINT_TO_POINTER (number_of_text (self, text->str));
  copy = g_new (gint64, 1);
  *copy = key;
  g_hash_table_insert (self->numbers, copy, number);
  return GPOINTER_TO_UINT (number);
}

static guint64 *
held_by (History *self, const GememHistoryBlock *block)
{
  return &self->held[g_array_index (self->lines, guint, block->text)];
}

/* Ends the parts before that of event @seq. */
static void
sample_until (History *self, guint64 seq)
{
  for (; self->part < seq / self->history->stride && self->part < self->wish->parts; self->part++)
    g_array_append_vals (self->history->series, self->held, self->wish->n_lines + 1);
}

/* ---- segments */

static guint64
end_of (const GememHistoryBlock *block)
{
  return block->address + block->size;
}

/* The first open segment that ends above @address. */
static guint
open_from (const History *self, guint64 address)
{
  guint from = 0, to = self->open->len;

  while (from < to)
    {
      const guint middle = from + (to - from) / 2;
      if (end_of (&g_array_index (self->open, GememHistoryBlock, middle)) <= address)
        from = middle + 1;
      else
        to = middle;
    }
  return from;
}

static void
open_segment (History *self, guint64 address, guint64 size, guint64 seq)
{
  const GememHistoryBlock segment = { .address = address, .size = size, .begin = seq };
  const guint at = open_from (self, address);
  GememHistoryBlock *before = at > 0 ? &g_array_index (self->open, GememHistoryBlock, at - 1)
                                     : NULL;

  if (before != NULL && before->begin == seq && end_of (before) == address)
    before->size += size;
  else
    g_array_insert_val (self->open, at, segment);
}

/* Ends what lies in @size bytes at @address; what remains at both sides goes on. */
static void
close_segment (History *self, guint64 address, guint64 size, guint64 seq)
{
  const guint64 end = address + size;
  const guint at = open_from (self, address);

  while (at < self->open->len)
    {
      GememHistoryBlock segment = g_array_index (self->open, GememHistoryBlock, at),
                        whole = segment;

      if (segment.address >= end)
        break;
      g_array_remove_index (self->open, at);
      segment.address = MAX (whole.address, address);
      segment.size = MIN (end_of (&whole), end) - segment.address;
      segment.end = seq;
      gemem_rectangles_add (&self->segments, &segment);
      if (end_of (&whole) > end)
        {
          segment = (GememHistoryBlock){ .address = end,
                                         .size = end_of (&whole) - end,
                                         .begin = whole.begin };
          g_array_insert_val (self->open, at, segment);
        }
      if (whole.address < address)
        {
          segment = (GememHistoryBlock){ .address = whole.address,
                                         .size = address - whole.address,
                                         .begin = whole.begin };
          g_array_insert_val (self->open, at, segment);
          break;
        }
    }
}

static void
observe (gpointer data, const GememDeviceNote *note)
{
  History *self = data;

  if (!note->ok)
    {
      if (note->size > 0)
        self->refused = note->size;
      return;
    }
  if (note->call == GEMEM_CALL_MALLOC || note->call == GEMEM_CALL_MAP)
    open_segment (self, note->address, note->size, self->run->seq);
  else if (note->call == GEMEM_CALL_FREE || note->call == GEMEM_CALL_UNMAP)
    close_segment (self, note->address, note->size, self->run->seq);
}

/* The initial state is complete: opens the segments that were taken over, which no call obtained. */
static void
look_at_adopted (History *self)
{
  g_autoptr (GArray) spans = gemem_spans_of (self->run->allocator);

  self->adopted = TRUE;
  for (guint i = 0; i < spans->len; i++)
    {
      const GememSpan *span = &g_array_index (spans, GememSpan, i);
      const guint at = open_from (self, span->address);

      if (span->state != GEMEM_SPAN_UNMAPPED && span->size > 0
          && (at == self->open->len
              || g_array_index (self->open, GememHistoryBlock, at).address
                     >= span->address + span->size))
        open_segment (self, span->address, span->size, 0);
    }
}

/* ---- blocks */

static void
allocated (History *self, const GememDecision *decision)
{
  const GememTraceEvent *event = decision->event;
  GememHistoryBlock block = { .address = decision->block->address,
                              .size = decision->block->size,
                              .requested = decision->size,
                              .begin = self->run->seq,
                              .stack = event->stack };

  if (block.address >= GEMEM_HOST_ADDRESS)
    return;
  block.text = text_of (self, event);
  *held_by (self, &block) += block.requested;
  *(GememHistoryBlock *) gemem_idmap_insert (self->live, event->id, NULL) = block;
}

static void
refused (History *self, const GememDecision *decision)
{
  const GememHistoryBlock request = { .size = self->refused,
                                      .requested = decision->size,
                                      .begin = self->run->seq,
                                      .end = self->run->seq,
                                      .text = text_of (self, decision->event),
                                      .stack = decision->event->stack };

  if (self->history->refused->len < GEMEM_HISTORY_REFUSED)
    g_array_append_val (self->history->refused, request);
}

static void
released (History *self, guint64 id)
{
  GememHistoryBlock block;

  if (!gemem_idmap_remove (self->live, id, &block))
    return;
  *held_by (self, &block) -= block.requested;
  block.end = MAX (self->run->seq,
                   block.begin + 1); /* a request that was refused, and is served: refused.c */
  gemem_rectangles_add (&self->blocks, &block);
}

/* ---- marks */

static void
mark (History *self, const GememTraceEvent *event)
{
  const GPtrArray *strings = self->run->info != NULL ? self->run->info->strings : NULL;
  GememHistoryMark mark = { .seq = self->run->seq, .number = event->id };

  if (self->history->marks->len == GEMEM_HISTORY_MARKS)
    return;
  if (event->kind == GEMEM_EVENT_PHASE)
    {
      if (strings == NULL || event->tag >= strings->len)
        return;
      mark.text = number_of_text (self, strings->pdata[event->tag]);
    }
  g_array_append_val (self->history->marks, mark);
}

/* ---- the probe */

static gboolean
wanted (const GememRun *run)
{
  return run->job->history != NULL;
}

static GememHistory *
history_new (const GememHistoryWish *wish)
{
  GememHistory *history = g_new0 (GememHistory, 1);

  history->texts = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (history->texts, g_strdup (""));
  history->marks = g_array_new (FALSE, FALSE, sizeof (GememHistoryMark));
  history->idle = g_array_new (FALSE, FALSE, sizeof (GememHistoryIdle));
  history->gaps = g_array_new (FALSE, FALSE, sizeof (GememHistoryIdle));
  history->refused = g_array_new (FALSE, FALSE, sizeof (GememHistoryBlock));
  history->series = g_array_new (FALSE, FALSE, sizeof (guint64));
  history->stride = wish->events / MAX (wish->parts, 1) + 1;
  history->n_lines = wish->n_lines;
  return history;
}

static gboolean
attach (GememProbe *probe, GememRun *run, GError **error)
{
  History *self = (History *) probe;

  (void) error;
  self->run = run;
  self->wish = run->job->history;
  self->history = history_new (self->wish);
  self->live = gemem_idmap_new (sizeof (GememHistoryBlock));
  self->open = g_array_new (FALSE, FALSE, sizeof (GememHistoryBlock));
  gemem_rectangles_init (&self->blocks, self->wish);
  gemem_rectangles_init (&self->segments, self->wish);
  self->numbers = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  self->known = g_hash_table_new (g_str_hash, g_str_equal);
  self->lines = g_array_new (FALSE, FALSE, sizeof (guint));
  g_array_append_val (self->lines, self->wish->n_lines);
  self->held = g_new0 (guint64, self->wish->n_lines + 1);
  self->observer = (GememDeviceObserver){ .func = observe, .data = self };
  gemem_device_add_observer (run->device, &self->observer);
  return TRUE;
}

static void
before (GememProbe *probe, GememRun *run, const GememTraceEvent *event)
{
  History *self = (History *) probe;

  if (!self->attributes && run->info != NULL)
    {
      gemem_attributor_init (&self->attributor, run->info);
      self->attributes = TRUE;
    }
  if (self->attributes)
    self->by = gemem_attributor_next (&self->attributor, event);
  if (!self->adopted && (event->flags & GEMEM_EVENT_INITIAL) == 0)
    look_at_adopted (self);
  if (event->kind == GEMEM_EVENT_STEP || event->kind == GEMEM_EVENT_PHASE)
    mark (self, event);
  self->refused = 0;
  sample_until (self, run->seq);
}

static void
decided (GememProbe *probe, GememRun *run, const GememDecision *decision)
{
  History *self = (History *) probe;

  if (decision->block == NULL)
    {
      if (decision->event->kind == GEMEM_EVENT_ALLOC && decision->request)
        refused (self, decision);
      return;
    }
  switch (decision->event->kind)
    {
    case GEMEM_EVENT_ALLOC:
    case GEMEM_EVENT_GRAPH_LOAD:
      if (decision->request || decision->event->kind == GEMEM_EVENT_ALLOC)
        allocated (self, decision);
      break;
    case GEMEM_EVENT_FREE_REQUESTED:
      if (run->klass->streams.complete == NULL) /* else the block lives until its completion */
        released (self, decision->event->id);
      break;
    case GEMEM_EVENT_FREE:
    case GEMEM_EVENT_FREE_COMPLETED:
    case GEMEM_EVENT_GRAPH_UNLOAD:
      released (self, decision->event->id);
      break;
    default:
      break;
    }
}

/* Everything that is still there ends after the last event. */
static void
end_all (History *self, guint64 end)
{
  gsize position = 0;
  gpointer record;
  guint64 id;

  while (gemem_idmap_next (self->live, &position, &id, &record))
    {
      ((GememHistoryBlock *) record)->end = end;
      gemem_rectangles_add (&self->blocks, record);
    }
  for (guint i = 0; i < self->open->len; i++)
    {
      GememHistoryBlock *segment = &g_array_index (self->open, GememHistoryBlock, i);
      segment->end = end;
      gemem_rectangles_add (&self->segments, segment);
    }
  gemem_idmap_clear (self->live);
  g_array_set_size (self->open, 0);
}

static void
gather (GememProbe *probe, GememRun *run)
{
  History *self = (History *) probe;
  GememHistory *history = self->history;
  const guint64 end = MAX (run->seq, 1);

  if (history == NULL)
    return;
  if (!self->adopted)
    look_at_adopted (self);
  sample_until (self, end);
  g_array_append_vals (history->series, self->held, self->wish->n_lines + 1);
  end_all (self, end);
  history->end = end;
  history->blocks = gemem_rectangles_end (&self->blocks, &history->blocks_left_out,
                                          &history->crowded);
  history->segments = gemem_rectangles_end (&self->segments, &history->segments_left_out,
                                            &history->crowded);
  gemem_device_remove_observer (run->device, &self->observer);
  run->result->history = g_steal_pointer (&self->history);
}

static void
clear (GememProbe *probe, GememRun *run)
{
  History *self = (History *) probe;

  gemem_device_remove_observer (run->device, &self->observer);
  gemem_idmap_free (self->live);
  g_array_unref (self->open);
  g_array_unref (self->lines);
  g_hash_table_unref (self->numbers);
  g_hash_table_unref (self->known);
  gemem_rectangles_clear (&self->blocks);
  gemem_rectangles_clear (&self->segments);
  if (self->attributes)
    gemem_attributor_clear (&self->attributor);
  g_free (self->held);
  gemem_history_free (self->history);
}

void
gemem_history_free (GememHistory *history)
{
  if (history == NULL)
    return;
  g_clear_pointer (&history->blocks, g_array_unref);
  g_clear_pointer (&history->segments, g_array_unref);
  g_ptr_array_unref (history->texts);
  g_array_unref (history->marks);
  g_array_unref (history->idle);
  g_array_unref (history->gaps);
  g_array_unref (history->refused);
  g_array_unref (history->series);
  g_free (history);
}

const GememProbeClass gemem_history_probe = { .size = sizeof (History),
                                              .wanted = wanted,
                                              .attach = attach,
                                              .before = before,
                                              .decided = decided,
                                              .gather = gather,
                                              .clear = clear };
