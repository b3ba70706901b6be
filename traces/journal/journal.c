/* journal.c - reads journals of the recorder: format `journal` (layout: format.h; calls to
 * events: state.c).
 *
 * `gemem-record` converts each journal to .gmt when the program has ended.  If `gemem-record` was
 * killed too, every command can read the journal itself, which is complete up to the end of the
 * process.  The blocks of all threads are merged by sequence number, with one cursor for each block
 * that may hold the next record.  Where Python's main thread was stands behind the calls, so such a
 * journal is read twice.
 *
 * Invariants: records are delivered in ascending order; a block that was claimed but not started,
 * and an incomplete block at the end of the file, are empty; a journal that contradicts itself is
 * refused with the number of the block.  Writer and reader must have the same byte order.  Memory:
 * the used part of one block for each recording thread, a place for each line of Python that was
 * noted, and the state of state.c.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/child.h"
#include "base/io/input.h"
#include "traces/journal/journal.h"

#define BATCH 1024u

/* A block with records that are not delivered yet. */
typedef struct
{
  guint64 key; /* sequence of its next record */
  JournalRecord *slots;
  guint slot, n; /* index of that record; number of used slots */
  guint number;  /* of the block */
} Cursor;

typedef struct
{
  GememTraceReader base;
  GememInput *input;
  GememReadOptions options;
  guint64 start, last; /* start time of the journal; number of the last record */
  guint blocks, next_block;
  Cursor ahead; /* the next block, read ahead; slots: NULL if there is none */
  guint64 ahead_first;
  GArray *cursors;
  JournalState *state;
  GArray *events;
  gboolean ended;
} JournalReader;

static gboolean G_GNUC_PRINTF (4, 5)
    damaged (const JournalReader *reader, guint block, GError **error, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s: block %u: %s; record again, or read what is whole with --allow-partial",
               gemem_input_name (reader->input), block, text);
  return FALSE;
}

/* ---- blocks */

/* Moves @cursor to slot @slot; FALSE if that slot holds no record. */
static gboolean
set_slot (Cursor *cursor, guint slot)
{
  cursor->slot = slot;
  if (slot >= cursor->n || cursor->slots[slot].call == JOURNAL_NOTHING)
    {
      g_clear_pointer (&cursor->slots, g_free);
      return FALSE;
    }
  cursor->key = cursor->slots[slot].sequence;
  return TRUE;
}

/* Returns the number of used slots of a block.  Only these are kept, so that a sparse file cannot
 * make the reader allocate more memory than the file has data. */
static guint
used_slots (const guint8 *data)
{
  static const guint8 nothing[JOURNAL_SLOT];
  guint n = JOURNAL_SLOTS;

  while (n > 1 && memcmp (data + (gsize) (n - 1) * JOURNAL_SLOT, nothing, JOURNAL_SLOT) == 0)
    n--;
  return n;
}

/* Reads blocks until one has records; `ahead` is empty at the end. */
static gboolean
read_ahead (JournalReader *reader, GError **error)
{
  const guint8 *data;
  JournalBlock head;

  while (reader->ahead.slots == NULL && reader->next_block < reader->blocks)
    {
      guint number = reader->next_block++;
      if (!gemem_input_seek (reader->input, (guint64) number * JOURNAL_BLOCK, error))
        return FALSE;
      gssize size = gemem_input_fill (reader->input, JOURNAL_BLOCK, &data, error);
      if (size < 0)
        return FALSE;
      if (size < (gssize) JOURNAL_BLOCK)
        return damaged (reader, number, error, "it is cut off");
      memcpy (&head, data, sizeof head);
      if (head.magic == 0 && head.first == 0)
        continue;
      if (head.magic != JOURNAL_BLOCK_MAGIC || head.first < reader->ahead_first)
        return damaged (reader, number, error, "its head is impossible");
      reader->ahead_first = head.first;
      reader->ahead.n = used_slots (data);
      reader->ahead.slots = g_memdup2 (data, (gsize) reader->ahead.n * JOURNAL_SLOT);
      reader->ahead.number = number;
      set_slot (&reader->ahead, 1);
    }
  return TRUE;
}

/* Returns the cursor with the next record; NULL at the end.  *@until: all records with smaller
 * numbers come from this cursor. */
static Cursor *
next_cursor (JournalReader *reader, guint64 *until, GError **error)
{
  Cursor *best = NULL;

  for (;;)
    {
      *until = G_MAXUINT64;
      best = NULL;
      for (guint i = 0; i < reader->cursors->len; i++)
        {
          Cursor *cursor = &g_array_index (reader->cursors, Cursor, i);
          if (best == NULL || cursor->key < best->key)
            {
              *until = best != NULL ? best->key : *until;
              best = cursor;
            }
          else
            *until = MIN (*until, cursor->key);
        }
      if (!read_ahead (reader, error))
        return NULL;
      if (reader->ahead.slots == NULL)
        return best;
      if (best != NULL && reader->ahead_first > best->key)
        {
          *until = MIN (*until, reader->ahead_first);
          return best;
        }
      g_array_append_val (reader->cursors, reader->ahead);
      reader->ahead.slots = NULL;
    }
}

static void
forget_cursors (JournalReader *reader)
{
  for (guint i = 0; i < reader->cursors->len; i++)
    g_free (g_array_index (reader->cursors, Cursor, i).slots);
  g_array_set_size (reader->cursors, 0);
  g_clear_pointer (&reader->ahead.slots, g_free);
}

/* ---- records */

/* Takes the event in the slot after @record. */
static gboolean
take_event (JournalReader *reader, const Cursor *cursor, const JournalRecord *record, guint *slots,
            GError **error)
{
  GememTraceEvent event;

  if (cursor->slot + 1 >= cursor->n)
    return damaged (reader, cursor->number, error, "its event is not there");
  memcpy (&event, record + 1, sizeof event);
  if (event.kind == 0 || event.kind >= GEMEM_EVENT_KIND_COUNT
      || event.size >= G_GUINT64_CONSTANT (1) << 60 || event.tag != GEMEM_NO_TAG
      || event.stack != 0)
    return damaged (reader, cursor->number, error, "its event is impossible");
  g_array_append_val (reader->events, event);
  ++*slots;
  return TRUE;
}

/* Takes the string, file or call stack in the slots after @record; *@slots: their number. */
static gboolean
take_data (JournalReader *reader, const Cursor *cursor, const JournalRecord *record, guint *slots,
           GError **error)
{
  const gboolean stack = record->call == JOURNAL_STACK, module = record->call == JOURNAL_MODULE;

  if (record->q == 0 || record->q > (stack ? JOURNAL_MAX_FRAMES : JOURNAL_MAX_TEXT)
      || cursor->slot + 1 + journal_slots_after (record) > cursor->n
      || (!module && (record->p == 0 || record->p > G_MAXUINT32)))
    return damaged (reader, cursor->number, error, "its %s is impossible",
                    stack    ? "call stack"
                    : module ? "loaded file"
                             : "string");
  if (stack)
    gemem_journal_state_add_stack (reader->state, record, (const guint64 *) (record + 1));
  else if (module)
    gemem_journal_state_add_module (reader->state, record, (const guint8 *) (record + 1));
  else
    gemem_journal_state_add_string (reader->state, record, (const char *) (record + 1));
  *slots += (guint) journal_slots_after (record);
  return TRUE;
}

static gboolean
take_record (JournalReader *reader, const Cursor *cursor, guint *slots, GError **error)
{
  const JournalRecord *record = &cursor->slots[cursor->slot];

  if (record->sequence <= reader->last)
    return damaged (reader, cursor->number, error,
                    "call %" G_GUINT64_FORMAT " stands behind call %" G_GUINT64_FORMAT,
                    record->sequence, reader->last);
  if (record->call >= JOURNAL_CALL_COUNT)
    return damaged (reader, cursor->number, error, "there is no call of kind %u", record->call);
  if (record->q > JOURNAL_MAX_SIZE)
    return damaged (reader, cursor->number, error,
                    "a size of %" G_GUINT64_FORMAT " bytes is impossible", record->q);
  reader->last = record->sequence;
  if (record->call == JOURNAL_STRING || record->call == JOURNAL_MODULE
      || record->call == JOURNAL_STACK)
    return take_data (reader, cursor, record, slots, error);
  if (record->call == JOURNAL_EVENT)
    return take_event (reader, cursor, record, slots, error);
  gemem_journal_state_take (reader->state, record, record->time - MIN (record->time, reader->start),
                            reader->events);
  return TRUE;
}

/* Takes the places of Python's main thread, which stand behind the calls that they belong to, and
 * the strings with their stacks; then all begins anew.  Where the journal is damaged they end; the
 * reading itself says so. */
static void
take_places (JournalReader *reader)
{
  g_autoptr (GError) problem = NULL;
  Cursor *cursor;
  guint64 until;

  while ((cursor = next_cursor (reader, &until, &problem)) != NULL)
    {
      const JournalRecord *record = &cursor->slots[cursor->slot];
      guint slots = 1;
      if (record->call == JOURNAL_PLACE)
        gemem_journal_state_add_place (reader->state, record);
      if (record->call != JOURNAL_STRING)
        slots += (guint) MIN (journal_slots_after (record), JOURNAL_SLOTS);
      else if (!take_data (reader, cursor, record, &slots, &problem))
        break;
      if (!set_slot (cursor, cursor->slot + slots))
        g_array_remove_index_fast (reader->cursors,
                                   (guint) (cursor - (Cursor *) (gpointer) reader->cursors->data));
    }
  forget_cursors (reader);
  reader->next_block = 1;
  reader->ahead_first = 0;
}

/* Delivers records until the batch is full; FALSE with an error where the journal is damaged. */
static gboolean
fill (JournalReader *reader, GError **error)
{
  GError *problem = NULL;
  guint64 until;

  while (reader->events->len < BATCH)
    {
      Cursor *cursor = next_cursor (reader, &until, &problem);
      if (cursor == NULL)
        {
          reader->ended = TRUE;
          gemem_journal_state_end (reader->state);
          if (problem != NULL)
            g_propagate_error (error, problem);
          return problem == NULL;
        }
      if (cursor->key == until)
        {
          reader->ended = TRUE;
          return damaged (reader, cursor->number, error,
                          "call %" G_GUINT64_FORMAT " is there twice", until);
        }
      while (cursor->slots != NULL && cursor->key < until && reader->events->len < BATCH)
        {
          guint slots = 1;
          if (!take_record (reader, cursor, &slots, error))
            {
              reader->ended = TRUE;
              return FALSE;
            }
          set_slot (cursor, cursor->slot + slots);
        }
      if (cursor->slots == NULL)
        g_array_remove_index_fast (reader->cursors,
                                   (guint) (cursor - (Cursor *) (gpointer) reader->cursors->data));
    }
  return TRUE;
}

static gssize
journal_next (GememTraceReader *base, const GememTraceEvent **events, GError **error)
{
  JournalReader *reader = (JournalReader *) base;
  GError *problem = NULL;
  gssize n = 0;

  g_array_set_size (reader->events, 0);
  while (n == 0 && !reader->ended)
    {
      g_array_set_size (reader->events, 0);
      if (!fill (reader, &problem))
        {
          if (!reader->options.allow_partial)
            {
              g_propagate_error (error, problem);
              return -1;
            }
          base->info.flags |= GEMEM_TRACE_TRUNCATED;
          gemem_trace_info_note (&base->info, "partial", "%s", problem->message);
          g_clear_error (&problem);
        }
      n = gemem_trace_filter_device ((GememTraceEvent *) (gpointer) reader->events->data,
                                     reader->events->len, reader->options.device);
    }
  *events = (const GememTraceEvent *) (gconstpointer) reader->events->data;
  return n;
}

/* ---- opening and closing */

/* Notes the command line, quoted for a shell. */
static void
note_command (GememTraceInfo *info, const JournalHeader *header)
{
  g_autoptr (GString) line = g_string_new (NULL);
  const char *at = header->command, *end = at + MIN (header->command_size, sizeof header->command);

  while (at < end)
    {
      const char *stop = memchr (at, '\0', (gsize) (end - at));
      g_autofree char *word = g_strndup (at, (gsize) ((stop != NULL ? stop : end) - at));
      g_autofree char *quoted = gemem_shell_word (word);
      g_string_append_printf (line, "%s%s", line->len > 0 ? " " : "", quoted);
      at += strlen (word) + 1;
    }
  if (line->len > 0)
    {
      g_autofree char *readable = g_strescape (line->str, "\"\\");
      gemem_trace_info_note (info, "program", "%s", readable);
    }
}

static void
note_devices (GememTraceInfo *info, const JournalHeader *header)
{
  guint64 least = G_MAXUINT64;

  for (guint i = 0; i < JOURNAL_MAX_DEVICES; i++)
    {
      const JournalDevice *device = &header->devices[i];
      if (device->bytes == 0 || device->bytes == G_MAXUINT64)
        continue;
      g_autofree char *name = g_strndup (device->name, sizeof device->name);
      g_autofree char *readable = g_strescape (name, "\"\\");
      gemem_trace_info_note (info, "gpu", "%u: %s, %" G_GUINT64_FORMAT " bytes", i, readable,
                             device->bytes);
      least = MIN (least, device->bytes);
    }
  if (least != G_MAXUINT64)
    info->device = g_strdup_printf ("capacity=%" G_GUINT64_FORMAT, least);
  if (header->driver != 0)
    gemem_trace_info_note (info, "driver", "CUDA %u.%u", header->driver / 1000,
                           header->driver % 1000 / 10);
}

static char *
text_of (const char *text, gsize size)
{
  g_autofree char *given = g_strndup (text, size);
  return *given != '\0' && g_utf8_validate (given, -1, NULL) ? g_steal_pointer (&given) : NULL;
}

static void
note_allocator (GememTraceInfo *info, const JournalHeader *header)
{
  g_autofree char *made_on = text_of (header->made_on, sizeof header->made_on);

  info->allocator = text_of (header->allocator, sizeof header->allocator);
  if (info->allocator == NULL)
    return;
  info->flags |= header->flags & GEMEM_TRACE_HAS_SEGMENTS;
  info->settings = text_of (header->settings, sizeof header->settings);
  if (*header->library != '\0')
    return;
  g_free (info->device);
  info->device = text_of (header->device, sizeof header->device);
  if (made_on != NULL)
    gemem_trace_info_note (info, "device", "%s", made_on);
}

/* An allocator of the program recorded its own requests above the calls. */
static void
note_requests (JournalReader *reader, const JournalHeader *header)
{
  g_autofree char *library = text_of (header->library, sizeof header->library);

  reader->base.info.flags |= GEMEM_TRACE_HAS_SEGMENTS;
  if (library != NULL)
    gemem_trace_info_note (&reader->base.info, GEMEM_JOURNAL_REQUESTS, "%s", library);
  gemem_journal_state_above (reader->state);
}

static gboolean
read_header (JournalReader *reader, GError **error)
{
  const char *name = gemem_input_name (reader->input);
  g_autofree JournalHeader *header = NULL;
  const guint8 *data;
  guint64 size;

  gssize got = gemem_input_fill (reader->input, sizeof *header, &data, error);
  if (got < 0)
    return FALSE;
  if (!gemem_input_size (reader->input, &size))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: a journal is read from a file, not from a pipe and not compressed", name);
      return FALSE;
    }
  if ((gsize) got < sizeof *header || memcmp (data, JOURNAL_MAGIC, 8) != 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: this is no journal of gemem-record; name the right format", name);
      return FALSE;
    }
  header = g_memdup2 (data, sizeof *header);
  if (header->version < JOURNAL_TEXT_STACKS || header->version > JOURNAL_VERSION
      || header->slot_size != JOURNAL_SLOT)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: version %u of the journal, and this gemem knows versions up to %d; use "
                   "the one that recorded it",
                   name, header->version, JOURNAL_VERSION);
      return FALSE;
    }
  GememTraceInfo *info = &reader->base.info;
  info->flags = GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_HAS_ADDRESSES;
  reader->start = header->start;
  reader->blocks = (guint) MIN (size / JOURNAL_BLOCK, G_MAXUINT);
  note_command (info, header);
  note_devices (info, header);
  if (*header->library == '\0' || !reader->options.calls_only)
    note_allocator (info, header);
  if (*header->library != '\0' && !reader->options.calls_only)
    note_requests (reader, header);
  if (info->allocator == NULL) /* all that is in it are calls */
    {
      info->flags |= GEMEM_TRACE_HAS_ORDER;
      gemem_journal_state_order (reader->state, header->version);
      if (header->version >= JOURNAL_WITH_WORK && header->attributes != 0)
        {
          info->flags |= GEMEM_TRACE_HAS_SETTINGS;
          gemem_journal_state_attributes (reader->state);
        }
    }
  if (header->stacks > 0 || *header->library != '\0' || header->places != 0
      || (header->version == JOURNAL_TEXT_STACKS && info->allocator == NULL))
    gemem_trace_info_stacks (info); /* now, because a writer asks before the first event */
  if (header->lost > 0)
    {
      info->flags |= GEMEM_TRACE_TRUNCATED;
      gemem_trace_info_note (
          info, "note", "%" G_GUINT64_FORMAT " calls could not be recorded; was the disk full?",
          header->lost);
    }
  if (header->stackless > 0)
    gemem_trace_info_note (info, "note",
                           "%" G_GUINT64_FORMAT
                           " calls have no stack, because there were too many different ones; "
                           "record with a smaller --stacks=DEPTH",
                           header->stackless);
  if (header->places != 0)
    take_places (reader);
  return TRUE;
}

static void
journal_close (GememTraceReader *base)
{
  JournalReader *reader = (JournalReader *) base;

  forget_cursors (reader);
  g_array_unref (reader->cursors);
  g_array_unref (reader->events);
  gemem_journal_state_free (reader->state);
  gemem_input_close (reader->input);
  gemem_trace_info_clear (&reader->base.info);
  g_free (reader);
}

static GememTraceReader *
journal_open (GememInput *input, const GememReadOptions *options, GError **error)
{
  JournalReader *reader = g_new0 (JournalReader, 1);

  reader->base.next = journal_next;
  reader->base.close = journal_close;
  reader->input = input;
  reader->options = *options;
  reader->next_block = 1;
  reader->cursors = g_array_new (FALSE, FALSE, sizeof (Cursor));
  reader->events = g_array_sized_new (FALSE, TRUE, sizeof (GememTraceEvent), BATCH);
  gemem_trace_info_init (&reader->base.info, "journal", gemem_input_name (input));
  reader->state = gemem_journal_state_new (&reader->base.info, &reader->options);
  if (read_header (reader, error))
    return &reader->base;
  journal_close (&reader->base);
  return NULL;
}

static int
journal_probe (const guint8 *head, gsize size)
{
  return size >= 8 && memcmp (head, JOURNAL_MAGIC, 8) == 0 ? 100 : 0;
}

const GememTraceFormat gemem_format_journal = {
  .name = "journal",
  .aliases = "gmj",
  .extensions = "gmj",
  .summary = "what gemem-record writes while a program runs",
  .origin = "traces/journal/format.h",
  .probe = journal_probe,
  .open = journal_open,
};
