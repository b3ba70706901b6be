/* state.c - converts recorded CUDA calls to events (journal.h).
 *
 * A block lasts from the call that allocates memory to the call that frees it.  Physical memory of
 * the virtual-memory calls is a block from cuMemCreate until neither a handle nor a mapping holds
 * it; the addresses of its mappings are not delivered.  A free on a stream other than that of the
 * allocation is a use on that stream and a free.  The end of a device or context frees its blocks
 * in the order of their allocation.  If an address is allocated while a block is live there, the
 * free was not recorded (another call freed the memory), and the old block is freed first.
 *
 * Handles become small numbers in the order of first occurrence, so that two recordings of a
 * program can be compared: streams (0: the default one), events, pools (0: the default pool of the
 * device, which is current at first).
 *
 * An event has the call stack of the call that caused it; around it, where a PLACE stands behind
 * the call, that of Python's main thread.  Where an allocator recorded its own requests above the
 * calls, requests.c sorts the events.
 *
 * Invariants: those of trace.h for ids, frees and waits.  Memory: live blocks, a tag for each
 * combination of kind and thread, streams that have got work, and the distinct stacks.
 */
#include "config.h"

#include <string.h>

#include "base/compare.h"
#include "traces/journal/journal-private.h"

#define HOST_STREAM G_MAXUINT64 /* not a handle of any stream */

JournalState *
gemem_journal_state_new (GememTraceInfo *info, const GememReadOptions *options)
{
  JournalState *state = g_new0 (JournalState, 1);
  state->info = info;
  state->memory = options->memory;
  state->managed_on_host = options->managed_on_host;
  state->blocks = gemem_idmap_new (sizeof (JournalLive));
  state->physical = gemem_idmap_new (sizeof (JournalPhysical));
  state->handles = gemem_idmap_new (sizeof (guint64));
  state->mappings = gemem_idmap_new (sizeof (JournalMapping));
  state->streams = gemem_idmap_new (sizeof (guint64));
  state->events = gemem_idmap_new (sizeof (JournalMark));
  state->pools = gemem_idmap_new (sizeof (JournalPool));
  state->foreign = gemem_idmap_new (0);
  state->threads = gemem_idmap_new (sizeof (guint64));
  state->stacks = gemem_idmap_new (sizeof (guint64));
  state->places = g_array_new (FALSE, FALSE, sizeof (JournalPlace));
  state->busy = gemem_idmap_new (0);
  state->followers = gemem_idmap_new (sizeof (JournalFollower));
  state->joined = gemem_idmap_new (sizeof (guint64));
  state->tags = gemem_idmap_new (sizeof (guint64));
  state->symbols = gemem_symbols_new (info);
  return state;
}

void
gemem_journal_state_free (JournalState *state)
{
  GememIdMap *const maps[] = { state->blocks,  state->physical, state->handles, state->mappings,
                               state->streams, state->events,   state->pools,   state->threads,
                               state->stacks,  state->joined,   state->tags,    state->foreign,
                               state->busy,    state->followers };
  for (guint i = 0; i < G_N_ELEMENTS (maps); i++)
    gemem_idmap_free (maps[i]);
  gemem_journal_legacy_clear (state);
  g_array_unref (state->places);
  gemem_symbols_free (state->symbols);
  gemem_journal_requests_free (state->requests);
  g_free (state);
}

/* ---- numbers and tags */

/* The tag of @record: kind and thread, for example "managed, thread 2". */
static guint32
tag_of (JournalState *state, const JournalRecord *record, JournalKind kind)
{
  static const char *const kinds[] = { "", "managed", "physical", "array", "registered" };
  guint64 threads = gemem_idmap_count (state->threads);
  guint64 thread = gemem_journal_number_of (state->threads, record->thread, &threads) - 1;
  gboolean existed;
  guint64 *tag = gemem_idmap_insert (state->tags, thread << 32 | kind, &existed);

  if (existed)
    return (guint32) *tag;
  g_autoptr (GString) text = g_string_new (kinds[kind]);
  if (thread > 0)
    g_string_append_printf (text, "%sthread %" G_GUINT64_FORMAT, text->len > 0 ? ", " : "", thread);
  *tag = gemem_trace_info_intern (state->info, text->str);
  return (guint32) *tag;
}

/* ---- call stacks */

void
gemem_journal_state_add_stack (JournalState *state, const JournalRecord *record,
                               const guint64 *addresses)
{
  guint64 *stack = gemem_idmap_insert (state->stacks, record->p, NULL);
  *stack = gemem_symbols_stack (state->symbols, addresses, record->q);
}

void
gemem_journal_state_add_module (JournalState *state, const JournalRecord *record,
                                const guint8 *data)
{
  g_autofree char *path = g_strndup ((const char *) data, record->q);
  const gsize length = strlen (path) + 1;
  const gsize build_id = record->q > length ? record->q - length : 0;

  gemem_symbols_add_module (state->symbols, path, record->r, record->s, record->p,
                            build_id > 0 ? data + length : NULL, build_id);
}

void
gemem_journal_state_add_string (JournalState *state, const JournalRecord *record, const char *text)
{
  g_autofree char *copy = g_strndup (text, record->q);
  guint64 *stack = gemem_idmap_insert (state->stacks, record->p, NULL);
  *stack = gemem_symbols_text_stack (state->symbols, copy);
}

/* ---- events */

guint64
gemem_journal_emit_alloc (JournalState *state, const JournalRecord *record, guint64 address,
                          JournalKind kind)
{
  guint64 stream = gemem_journal_stream_of (state, record);
  guint32 tag = tag_of (state, record, kind);
  JournalPool pool = gemem_journal_pool_of (state, record);
  GememTraceEvent *event = gemem_journal_emit (state, GEMEM_EVENT_ALLOC, pool.device,
                                               ++state->last_id);
  event->size = record->q;
  event->address = address;
  event->stream = stream;
  event->pool = (guint32) pool.number;
  event->tag = tag;
  return state->last_id;
}

/* TRUE if the memory of @call belongs to a context; memory of pools does not. */
static gboolean
belongs_to_context (guint32 call)
{
  return call == JOURNAL_ALLOC || call == JOURNAL_ALLOC_MANAGED || call == JOURNAL_ALLOC_HOST
         || call == JOURNAL_REGISTER || call == JOURNAL_ARRAY;
}

static JournalKind
kind_of (guint32 call)
{
  return call == JOURNAL_ALLOC_MANAGED ? JOURNAL_KIND_MANAGED
         : call == JOURNAL_ARRAY       ? JOURNAL_KIND_ARRAY
         : call == JOURNAL_REGISTER    ? JOURNAL_KIND_REGISTERED
                                       : JOURNAL_KIND_PLAIN;
}

/* The free of @block in the order of stream number @stream. */
static GememTraceEvent *
emit_free (JournalState *state, const JournalLive *block, guint64 stream)
{
  GememTraceEvent *event = gemem_journal_emit (state, GEMEM_EVENT_FREE, block->device, block->id);

  event->stream = state->ordered ? stream : 0;
  return event;
}

static void
alloc (JournalState *state, const JournalRecord *record)
{
  const gboolean pooled = record->call == JOURNAL_ALLOC_ASYNC || record->call == JOURNAL_ALLOC_POOL;
  gboolean existed;
  JournalLive *block = gemem_idmap_insert (state->blocks, record->p, &existed);

  if (pooled)
    gemem_journal_pool_follow_limit (state, record);
  if (existed)
    {
      emit_free (state, block, block->number)->stack = 0;
      state->unseen++;
    }
  gemem_idmap_remove (state->foreign, record->p, NULL);
  block->id = gemem_journal_emit_alloc (
      state, record, record->call == JOURNAL_ARRAY ? 0 : record->p, kind_of (record->call));
  block->device = g_array_index (state->out, GememTraceEvent, state->out->len - 1).device;
  block->number = g_array_index (state->out, GememTraceEvent, state->out->len - 1).stream;
  block->stream = record->r;
  state->pooled |= pooled;
  block->context = belongs_to_context (record->call) ? record->s : 0;
}

static void
refused (JournalState *state, const JournalRecord *record)
{
  guint64 stream = gemem_journal_stream_of (state, record);
  GememTraceEvent *event = gemem_journal_emit (state, GEMEM_EVENT_OOM, record->device, 0);
  event->size = record->q;
  event->stream = stream;
  event->aux = record->s;
}

/* ---- work */

static guint64
busy_key (guint64 device, guint64 stream)
{
  return device << 48 | stream;
}

static void
work (JournalState *state, const JournalRecord *record)
{
  const guint64 stream = gemem_journal_stream_of (state, record);

  if (!state->with_work)
    return;
  state->worked = TRUE;
  gemem_idmap_insert (state->busy, busy_key (record->device, stream), NULL);
  gemem_journal_emit (state, GEMEM_EVENT_WORK, record->device, 0)->stream = stream;
}

/* All streams of @device are done with their work, and the host has waited for it (@told), or it
 * is as if it had asked each. */
static void
all_done (JournalState *state, guint64 device, gboolean told)
{
  g_autoptr (GArray) keys = g_array_new (FALSE, FALSE, sizeof (guint64));
  guint64 key;

  for (gsize at = 0; gemem_idmap_next (state->busy, &at, &key, NULL);)
    if (key >> 48 == device)
      g_array_append_val (keys, key);
  g_array_sort (keys, gemem_compare_uint64);
  for (guint i = 0; i < keys->len; i++)
    {
      key = g_array_index (keys, guint64, i);
      gemem_idmap_remove (state->busy, key, NULL);
      if (told)
        continue;
      GememTraceEvent *event = gemem_journal_emit (state, GEMEM_EVENT_STREAM_SYNC, device, 0);
      event->stream = key & ((G_GUINT64_CONSTANT (1) << 48) - 1);
      event->aux = 1;
    }
}

/* ---- frees */

void
gemem_journal_unknown_free (JournalState *state, guint64 key)
{
  if (gemem_idmap_remove (state->foreign, key, NULL))
    return;
  state->unknown++;
  state->info->skipped++;
}

static void
free_block (JournalState *state, const JournalRecord *record)
{
  JournalLive block;
  guint64 stream;

  if (!gemem_idmap_remove (state->blocks, record->p, &block))
    {
      gemem_journal_unknown_free (state, record->p);
      return;
    }
  if (block.context != 0) /* such a free waits for everything on the device */
    all_done (state, block.device, FALSE);
  stream = block.number;
  if (record->call == JOURNAL_FREE_ASYNC && record->r != block.stream)
    {
      stream = gemem_journal_stream_of (state, record);
      gemem_journal_emit (state, GEMEM_EVENT_USE_ON_STREAM, block.device, block.id)->stream =
          stream;
    }
  emit_free (state, &block, stream);
}

/* What an allocator above the calls says. */
static void
request (JournalState *state, const JournalRecord *record)
{
  const gboolean begins = record->call == JOURNAL_REQUEST;

  if (state->requests == NULL)
    return;
  const GememTraceEvent made = { .time = state->time,
                                 .device = record->device,
                                 .stack = state->stack,
                                 .stream = gemem_journal_stream_of (state, record),
                                 .id = begins && record->p != 0 ? ++state->last_id : 0 };

  if (begins)
    state->unseen += gemem_journal_requests_take (state->requests, record, &made, state->out);
  else if (!gemem_journal_requests_drop (state->requests, record, &made, state->out))
    gemem_journal_unknown_free (state, record->p);
}

/* ---- ends of devices and contexts */

typedef struct
{
  guint64 id, address;
} Ending;

static int
compare_endings (gconstpointer a, gconstpointer b)
{
  guint64 x = ((const Ending *) a)->id, y = ((const Ending *) b)->id;
  return x < y ? -1 : x > y;
}

/* Frees the blocks of a device, or (@device: G_MAXUINT64) of a context. */
static void
end_of (JournalState *state, guint64 device, guint64 context)
{
  g_autoptr (GArray) ending = g_array_new (FALSE, FALSE, sizeof (Ending));
  guint64 address;
  gpointer record;

  for (gsize at = 0; gemem_idmap_next (state->blocks, &at, &address, &record);)
    {
      const JournalLive *block = record;
      Ending end = { block->id, address };
      if (block->device == device
          || (device == G_MAXUINT64 && context != 0 && block->context == context))
        g_array_append_val (ending, end);
    }
  g_array_sort (ending, compare_endings);
  for (guint i = 0; i < ending->len; i++)
    {
      const Ending *end = &g_array_index (ending, Ending, i);
      JournalLive block;

      gemem_idmap_remove (state->blocks, end->address, &block);
      emit_free (state, &block, block.number);
    }
}

static void
reset_device (JournalState *state, const JournalRecord *record)
{
  end_of (state, record->device, 0);
}

static void
destroy_context (JournalState *state, const JournalRecord *record)
{
  end_of (state, G_MAXUINT64, record->p);
}

/* TRUE if memory that @call obtains does not count; its free is then that of something foreign. */
static gboolean
is_omitted (const JournalState *state, guint32 call)
{
  switch ((JournalCall) call)
    {
    case JOURNAL_ALLOC_ASYNC:
    case JOURNAL_ALLOC_POOL:
      return state->memory == GEMEM_MEMORY_BESIDE_POOLS;
    case JOURNAL_ALLOC:
    case JOURNAL_ALLOC_MANAGED:
    case JOURNAL_ARRAY:
    case JOURNAL_CREATE:
    case JOURNAL_RETAIN:
    case JOURNAL_MAP:
      return state->memory == GEMEM_MEMORY_OF_POOLS;
    default:
      return FALSE;
    }
}

/* ---- order of streams */

/* What a stream of another device has done says nothing of the memory of this one, and each device
 * is replayed by itself: such a wait is left out. */
static void
wait_for_event (JournalState *state, const JournalRecord *record)
{
  const JournalMark *mark = gemem_idmap_lookup (state->events, record->p);

  if (mark == NULL) /* CUDA ignores a wait for an event that was never recorded, too */
    {
      state->info->skipped++;
      return;
    }
  if (mark->device != record->device)
    return;
  guint64 id = mark->number, stream = gemem_journal_stream_of (state, record);
  gemem_journal_emit (state, GEMEM_EVENT_EVENT_WAIT, record->device, id)->stream = stream;
}

static void
record_event (JournalState *state, const JournalRecord *record)
{
  gboolean existed;
  JournalMark *mark = gemem_idmap_insert (state->events, record->p, &existed);

  if (!existed)
    mark->number = ++state->last_event;
  mark->device = record->device;
  guint64 id = mark->number, stream = gemem_journal_stream_of (state, record);
  gemem_journal_emit (state, GEMEM_EVENT_EVENT_RECORD, record->device, id)->stream = stream;
}

/* The host waited for a stream, or asked. */
static void
emit_sync (JournalState *state, const JournalRecord *record, guint64 device, guint64 stream)
{
  GememTraceEvent *event = gemem_journal_emit (state, GEMEM_EVENT_STREAM_SYNC, device, 0);

  event->stream = stream;
  event->aux = state->ordered && record->q != JOURNAL_SYNC_WAITED ? 1 : 0;
  gemem_idmap_remove (state->busy, busy_key (device, stream), NULL);
}

/* The host waits for an event, whichever device is current.  This is expressed as an otherwise
 * empty stream that waits for the event, and a wait of the host for that stream. */
static void
sync_event (JournalState *state, const JournalRecord *record)
{
  const JournalMark *mark = gemem_idmap_lookup (state->events, record->p);

  if (mark == NULL)
    return;
  guint64 id = mark->number, device = mark->device,
          stream = gemem_journal_number_of (state->streams, HOST_STREAM, &state->last_stream);
  gemem_journal_emit (state, GEMEM_EVENT_EVENT_WAIT, device, id)->stream = stream;
  emit_sync (state, record, device, stream);
}

static void
sync_stream (JournalState *state, const JournalRecord *record)
{
  emit_sync (state, record, record->device, gemem_journal_stream_of (state, record));
}

static void
destroy_stream (JournalState *state, const JournalRecord *record)
{
  gemem_journal_legacy_destroy (state, record);
  gemem_idmap_remove (state->streams, record->r, NULL);
}

static void
destroy_event (JournalState *state, const JournalRecord *record)
{
  gemem_idmap_remove (state->events, record->p, NULL);
}

static void
sync_device (JournalState *state, const JournalRecord *record)
{
  all_done (state, record->device, TRUE);
  gemem_journal_emit (state, GEMEM_EVENT_DEVICE_SYNC, record->device, 0);
}

/* Notes memory that is omitted, so that its free is not counted as unknown. */
static void
leave_out (JournalState *state, const JournalRecord *record)
{
  if (record->q == 0 || record->q >= JOURNAL_LEFT_COUNT)
    return;
  state->left_out[record->q]++;
  state->info->skipped++;
  if (record->p == 0)
    return;
  if (record->q == JOURNAL_LEFT_GRAPH_FREE)
    gemem_idmap_remove (state->foreign, record->p, NULL);
  else
    gemem_idmap_insert (state->foreign, record->p, NULL);
}

/* TRUE if the call takes a place in the order of its stream. */
static gboolean
takes_place (const JournalRecord *record)
{
  return record->call == JOURNAL_ALLOC_ASYNC || record->call == JOURNAL_ALLOC_POOL
         || record->call == JOURNAL_FREE_ASYNC || record->call == JOURNAL_WORK
         || record->call == JOURNAL_EVENT_RECORD || record->call == JOURNAL_EVENT_WAIT
         || (record->call == JOURNAL_STREAM_SYNC && record->q == JOURNAL_SYNC_COPIED);
}

/* What takes each call; NULL: it is none of the program's, and converted elsewhere. */
static void (*const takes[JOURNAL_CALL_COUNT]) (JournalState *state,
                                                const JournalRecord *record) = {
  [JOURNAL_ALLOC] = alloc,
  [JOURNAL_ALLOC_ASYNC] = alloc,
  [JOURNAL_ALLOC_POOL] = alloc,
  [JOURNAL_ALLOC_MANAGED] = alloc,
  [JOURNAL_ALLOC_HOST] = alloc,
  [JOURNAL_ARRAY] = alloc,
  [JOURNAL_REGISTER] = alloc,
  [JOURNAL_ALLOC_FAILED] = refused,
  [JOURNAL_FREE] = free_block,
  [JOURNAL_FREE_ASYNC] = free_block,
  [JOURNAL_CREATE] = gemem_journal_create,
  [JOURNAL_RETAIN] = gemem_journal_retain,
  [JOURNAL_RELEASE] = gemem_journal_release,
  [JOURNAL_MAP] = gemem_journal_map_page,
  [JOURNAL_UNMAP] = gemem_journal_unmap,
  [JOURNAL_POOL_CREATE] = gemem_journal_pool_call,
  [JOURNAL_POOL_DEFAULT] = gemem_journal_pool_call,
  [JOURNAL_POOL_SET] = gemem_journal_pool_call,
  [JOURNAL_POOL_TRIM] = gemem_journal_pool_call,
  [JOURNAL_POOL_ATTRIBUTE] = gemem_journal_pool_call,
  [JOURNAL_POOL_DESTROY] = gemem_journal_pool_call,
  [JOURNAL_STREAM_SYNC] = sync_stream,
  [JOURNAL_STREAM_CREATE] = gemem_journal_legacy_create,
  [JOURNAL_STREAM_DESTROY] = destroy_stream,
  [JOURNAL_EVENT_RECORD] = record_event,
  [JOURNAL_EVENT_WAIT] = wait_for_event,
  [JOURNAL_EVENT_DESTROY] = destroy_event,
  [JOURNAL_EVENT_SYNC] = sync_event,
  [JOURNAL_LEFT_OUT] = leave_out,
  [JOURNAL_WORK] = work,
  [JOURNAL_DEVICE_SYNC] = sync_device,
  [JOURNAL_DEVICE_RESET] = reset_device,
  [JOURNAL_CONTEXT_DESTROY] = destroy_context,
  [JOURNAL_REQUEST] = request,
  [JOURNAL_REQUEST_END] = request,
};

void
gemem_journal_state_take (JournalState *state, const JournalRecord *record, guint64 time,
                          GArray *events)
{
  const guint first = events->len;

  state->out = events;
  state->time = state->last_time = MAX (time, state->last_time);
  state->stack = gemem_journal_stack_of (state, record);
  if (is_omitted (state, record->call))
    {
      gemem_idmap_insert (state->foreign, record->p, NULL);
      return;
    }
  if (takes_place (record))
    gemem_journal_legacy_act (state, record);
  if (takes[record->call] != NULL)
    takes[record->call](state, record);
  if (state->requests != NULL)
    gemem_journal_requests_sort (state->requests, record, events, first);
}

void
gemem_journal_state_above (JournalState *state)
{
  if (state->requests == NULL)
    state->requests = gemem_journal_requests_new ();
}

void
gemem_journal_state_attributes (JournalState *state)
{
  state->attributes = TRUE;
}

void
gemem_journal_state_order (JournalState *state, guint version)
{
  state->ordered = TRUE;
  state->with_work = version >= JOURNAL_WITH_WORK;
  state->told_streams = version >= JOURNAL_WITH_STREAMS;
}

void
gemem_journal_state_end (JournalState *state)
{
  static const char *const left[JOURNAL_LEFT_COUNT] = {
    [JOURNAL_LEFT_GRAPH] = "allocations that graphs make when they run are not recorded",
    [JOURNAL_LEFT_FOREIGN] = "pieces of memory of other processes are left out",
    [JOURNAL_LEFT_ARRAY] = "arrays of compressed or video formats are left out",
    [JOURNAL_LEFT_MAPPED] = "sparse arrays and mappings to them are left out",
  };

  gemem_symbols_note_changed (state->symbols);
  if (state->requests != NULL)
    gemem_journal_requests_end (state->requests, state->info);
  for (guint i = 0; i < JOURNAL_LEFT_COUNT; i++)
    if (left[i] != NULL && state->left_out[i] > 0)
      gemem_trace_info_note (state->info, "note", "%" G_GUINT64_FORMAT " %s", state->left_out[i],
                             left[i]);
  if (state->unknown > 0)
    gemem_trace_info_note (state->info, "note",
                           "%" G_GUINT64_FORMAT
                           " frees of memory that was not seen to be allocated are left out",
                           state->unknown);
  if (state->set_several)
    gemem_trace_info_note (state->info, "note",
                           "attributes of several pools were set; a replay follows each as if all "
                           "were one pool");
  if (state->unlimited)
    gemem_trace_info_note (state->info, "note",
                           "a pool with a limit was not the only one; a replay has one pool, and "
                           "no limit from there on");
  if (state->worked && state->pooled)
    gemem_trace_info_note (state->info, "note",
                           "work of a stream counts as pending until the program waited for it or "
                           "asked: when the device had done it is not recorded");
  if (state->ordered && !state->with_work && state->pooled && state->last_stream > 0)
    gemem_trace_info_note (state->info, "note",
                           "which work the device had not done is not recorded: every stream "
                           "counts as done with it at once");
  if (state->unseen > 0)
    gemem_trace_info_note (state->info, "note",
                           "%" G_GUINT64_FORMAT
                           " blocks were freed by calls that are not recorded; they end where "
                           "their address is given out again",
                           state->unseen);
}
