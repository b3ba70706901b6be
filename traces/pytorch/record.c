/* record.c - see record.h.
 *
 * Dicts arrive innermost first: history entries before their block, blocks before their segment.
 * Blocks therefore wait in `pending` until their segment supplies its address and pool.
 * Invariants: every address and size returned is in range, so that address + size does not
 * overflow.
 */
#include "config.h"

#include <string.h>

#include "base/io/fail.h"
#include "traces/pytorch/record.h"

#define MAX_POOLS 65536u

enum /* words that the pickle reader looks for: keys first, then values */
{
  K_SEGMENTS,
  K_DEVICE_TRACES,
  K_ALLOCATOR_SETTINGS,
  K_EXTERNAL_ANNOTATIONS,
  K_DEVICE,
  K_ADDRESS,
  K_TOTAL_SIZE,
  K_STREAM,
  K_SEGMENT_TYPE,
  K_SEGMENT_POOL_ID,
  K_IS_EXPANDABLE,
  K_SIZE,
  K_REQUESTED_SIZE,
  K_STATE,
  K_REAL_SIZE,
  K_ADDR,
  K_ACTION,
  K_TIME_US,
  K_DEVICE_FREE,
  K_POOL_ID,
  K_STAGE,
  K_NAME,
  K_FRAMES,
  K_FILENAME,
  K_LINE,
  K_CUDA_CONF,
  K_CONF,
  K_NPU_CONF,
  K_GEMEM_ALLOCATOR,
  K_MAX_SPLIT_SIZE,
  K_GC_THRESHOLD,
  K_EXPANDABLE_SEGMENTS,
  K_GRAPH_REUSE,
  K_MAX_CACHED_SIZE,
  K_COMPILE_CONTEXT,
  K_USER_METADATA,
  K_HOST_TRACES,
  K_HOST_SEGMENTS,
  K_MAX_ROUND_THRESHOLD,
  K_DIVISIONS, /* 16 of them */
  W_ALLOC = K_DIVISIONS + GEMEM_PYTORCH_SLOTS,
  W_FREE_REQUESTED,
  W_FREE_COMPLETED,
  W_SEGMENT_ALLOC,
  W_SEGMENT_FREE,
  W_SEGMENT_MAP,
  W_SEGMENT_UNMAP,
  W_OOM,
  W_SNAPSHOT,
  W_ANNOTATE,
  W_ACTIVE_ALLOCATED,
  W_ACTIVE_PENDING,
  W_ACTIVE_AWAITING,
  W_INACTIVE,
  W_SMALL,
  W_START,
  N_WORDS
};

#define HAS(key) (G_GUINT64_CONSTANT (1) << (key))

static const char *const keys[] = { "segments",
                                    "device_traces",
                                    "allocator_settings",
                                    "external_annotations",
                                    "device",
                                    "address",
                                    "total_size",
                                    "stream",
                                    "segment_type",
                                    "segment_pool_id",
                                    "is_expandable",
                                    "size",
                                    "requested_size",
                                    "state",
                                    "real_size",
                                    "addr",
                                    "action",
                                    "time_us",
                                    "device_free",
                                    "pool_id",
                                    "stage",
                                    "name",
                                    "frames",
                                    "filename",
                                    "line",
                                    "PYTORCH_CUDA_ALLOC_CONF",
                                    "PYTORCH_ALLOC_CONF",
                                    "PYTORCH_NPU_ALLOC_CONF",
                                    "gemem_allocator",
                                    "max_split_size",
                                    "garbage_collection_threshold",
                                    "expandable_segments",
                                    "graph_capture_record_stream_reuse",
                                    "max_cached_size",
                                    "compile_context",
                                    "user_metadata",
                                    "host_traces",
                                    "host_segments",
                                    "max_round_threshold",
                                    "1",
                                    "2",
                                    "4",
                                    "8",
                                    "16",
                                    "32",
                                    "64",
                                    "128",
                                    "256",
                                    "512",
                                    "1024",
                                    "2048",
                                    "4096",
                                    "8192",
                                    "16384",
                                    "32768",
                                    "alloc",
                                    "free_requested",
                                    "free_completed",
                                    "segment_alloc",
                                    "segment_free",
                                    "segment_map",
                                    "segment_unmap",
                                    "oom",
                                    "snapshot",
                                    "annotate",
                                    "active_allocated",
                                    "active_pending_free",
                                    "active_awaiting_free",
                                    "inactive",
                                    "small",
                                    "START",
                                    NULL };

G_STATIC_ASSERT (G_N_ELEMENTS (keys) == N_WORDS + 1);
G_STATIC_ASSERT (W_ALLOC <= GEMEM_PICKLE_MAX_KEYS);

void
gemem_pytorch_records_init (GememPytorchRecords *records, const GememPickleSource *source,
                            gboolean stacks)
{
  memset (records, 0, sizeof *records);
  records->pickle = gemem_pickle_new (source, keys);
  records->name = source->name;
  gemem_pytorch_settings_init (&records->settings);
  records->blocks = g_array_new (FALSE, FALSE, sizeof (GememPytorchBlock));
  records->pending = g_array_new (FALSE, FALSE, sizeof (GememPytorchBlock));
  records->counts = g_array_new (FALSE, TRUE, sizeof (guint64));
  records->pools = gemem_idmap_new (sizeof (guint64));
  records->stacks = stacks ? gemem_call_stacks_new () : NULL;
}

void
gemem_pytorch_records_clear (GememPytorchRecords *records)
{
  g_clear_pointer (&records->pickle, gemem_pickle_free);
  gemem_pytorch_settings_clear (&records->settings);
  g_clear_pointer (&records->blocks, g_array_unref);
  g_clear_pointer (&records->pending, g_array_unref);
  g_clear_pointer (&records->counts, g_array_unref);
  g_clear_pointer (&records->pools, gemem_idmap_free);
  g_clear_pointer (&records->stacks, gemem_call_stacks_free);
}

#define fail(records, error, ...) \
  gemem_fail_byte (error, (records)->name, gemem_pickle_offset ((records)->pickle), __VA_ARGS__)

/* ---- values */

static inline const GememPickleValue *
get (const GememPytorchRecords *records, guint key)
{
  return (records->present & HAS (key)) != 0 ? &records->values[key] : NULL;
}

/* Reads a number in [0, @limit) under @key.  An absent key yields @fallback, or an error if
 * @required names the object that must have the key. */
static gboolean
get_number (const GememPytorchRecords *records, guint key, guint64 limit, const char *required,
            guint64 fallback, guint64 *number, GError **error)
{
  const GememPickleValue *value = get (records, key);

  if (value == NULL && required == NULL)
    *number = fallback;
  else if (value == NULL)
    return fail (records, error, "%s without \"%s\"; this is no snapshot of torch.cuda.memory",
                 required, keys[key]);
  else if (value->type == GEMEM_PICKLE_BIG_INT)
    return fail (records, error,
                 "\"%s\" is an integer beyond 64 bits, which no allocator could serve; the "
                 "snapshot is damaged",
                 keys[key]);
  else if (value->type != GEMEM_PICKLE_INT)
    return fail (records, error,
                 "\"%s\" is not an integer; this is no snapshot of torch.cuda.memory", keys[key]);
  else if (value->integer < 0 || (guint64) value->integer >= limit)
    return fail (records, error,
                 "\"%s\" is %" G_GINT64_FORMAT
                 ", which no allocator could serve; the snapshot is damaged",
                 keys[key], value->integer);
  else
    *number = (guint64) value->integer;
  return TRUE;
}

/* The number of the word under @key; -1 if the key is absent or the word unknown. */
static int
get_word (const GememPytorchRecords *records, guint key)
{
  const GememPickleValue *value = get (records, key);
  return value != NULL && value->type == GEMEM_PICKLE_STRING
             ? gemem_pickle_string_key (records->pickle, value->string)
             : -1;
}

static const char *
get_text (const GememPytorchRecords *records, guint key)
{
  const GememPickleValue *value = get (records, key);
  return value != NULL && value->type == GEMEM_PICKLE_STRING
             ? gemem_pickle_string (records->pickle, value->string)
             : "";
}

static gboolean
get_flag (const GememPytorchRecords *records, guint key)
{
  const GememPickleValue *value = get (records, key);
  return value != NULL && (value->type == GEMEM_PICKLE_BOOL || value->type == GEMEM_PICKLE_INT)
         && value->integer != 0;
}

/* A stream handle may be any pointer; one with its top bit set is pickled as a negative int or as
 * an int of 9 bytes. */
static guint64
get_stream (const GememPytorchRecords *records)
{
  const GememPickleValue *value = get (records, K_STREAM);
  return value != NULL && (value->type == GEMEM_PICKLE_INT || value->type == GEMEM_PICKLE_BIG_INT)
             ? (guint64) value->integer
             : 0;
}

/* Pool (0, 0) is the default pool, number 0; others are numbered by first occurrence. */
static guint32
get_pool (GememPytorchRecords *records, guint id)
{
  const GememPickleValue *value = get (records, id);

  if (value == NULL || (value->type != GEMEM_PICKLE_TUPLE && value->type != GEMEM_PICKLE_LIST))
    return 0;
  gint64 pair = gemem_pickle_pair (value);
  if (pair == 0)
    return 0;
  const guint64 *found = gemem_idmap_lookup (records->pools, (guint64) pair);
  if (found != NULL)
    return (guint32) *found;
  const guint32 number = (guint32) MIN (gemem_idmap_count (records->pools) + 1, MAX_POOLS);
  if (number < MAX_POOLS)
    *(guint64 *) gemem_idmap_insert (records->pools, (guint64) pair, NULL) = number;
  return number;
}

/* The number of the stack under "frames"; 0: absent or empty. */
static guint32
get_stack (const GememPytorchRecords *records)
{
  const GememPickleValue *value = get (records, K_FRAMES);
  return value != NULL && value->type == GEMEM_PICKLE_LIST
                 && gemem_pickle_pair (value) == GEMEM_PICKLE_NO_PAIR
             ? value->number
             : 0;
}

/* ---- segments and blocks */

static gboolean
read_block (GememPytorchRecords *records, GError **error)
{
  GememPytorchBlock block = { 0 };
  int state = get_word (records, K_STATE);
  guint64 history = records->history;

  block.stack = get_stack (records);
  if (block.stack == 0)
    block.stack = records->history_stack;
  records->history = 0;
  records->history_stack = 0;
  if (state != W_ACTIVE_ALLOCATED && state != W_ACTIVE_PENDING && state != W_ACTIVE_AWAITING
      && state != W_INACTIVE)
    return fail (records, error, "a block in state \"%s\"; this state is not known",
                 get_text (records, K_STATE));
  if (!get_number (records, K_SIZE, GEMEM_PYTORCH_MAX_SIZE, "a block", 0, &block.block, error)
      || !get_number (records, K_ADDRESS, G_MAXINT64, NULL, 0, &block.address, error)
      || !get_number (records, K_REQUESTED_SIZE, GEMEM_PYTORCH_MAX_SIZE, NULL,
                      history != 0 ? history : block.block, &block.size, error))
    return FALSE;
  records->keys.block |= records->present;
  block.freed = state == W_INACTIVE; /* until its segment is complete */
  block.pending = state == W_ACTIVE_PENDING || state == W_ACTIVE_AWAITING;
  g_array_append_val (records->pending, block);
  return TRUE;
}

static gboolean
read_segment (GememPytorchRecords *records, GememPytorchRecord *record, GError **error)
{
  GememPytorchSegment *segment = &record->segment;
  guint64 device = 0, at;

  memset (segment, 0, sizeof *segment);
  if (!get_number (records, K_ADDRESS, G_MAXINT64, "a segment", 0, &segment->address, error)
      || !get_number (records, K_TOTAL_SIZE, GEMEM_PYTORCH_MAX_SIZE, "a segment", 0, &segment->size,
                      error)
      || (!records->host
          && !get_number (records, K_DEVICE, GEMEM_PYTORCH_DEVICES, NULL, 0, &device, error)))
    return FALSE;
  records->keys.segment |= records->present;
  segment->stream = get_stream (records);
  segment->pool = get_pool (records, K_SEGMENT_POOL_ID);
  segment->small = get_word (records, K_SEGMENT_TYPE) == W_SMALL;
  segment->expandable = get_flag (records, K_IS_EXPANDABLE);
  record->kind = GEMEM_PYTORCH_SEGMENT;
  record->device = (guint) device;
  g_array_set_size (records->blocks, 0);
  at = segment->address;
  for (guint i = 0; i < records->pending->len; i++)
    {
      GememPytorchBlock block = g_array_index (records->pending, GememPytorchBlock, i);
      if (block.address == 0) /* before 2023: blocks follow one another */
        block.address = at;
      at = block.address + block.block;
      if (block.address < segment->address || at > segment->address + segment->size)
        return fail (records, error,
                     "block 0x%" G_GINT64_MODIFIER
                     "x lies outside of its segment 0x%" G_GINT64_MODIFIER
                     "x; the snapshot is damaged",
                     block.address, segment->address);
      if (block.freed)
        continue;
      block.stream = segment->stream;
      block.pool = segment->pool;
      block.small = segment->small;
      g_array_append_val (records->blocks, block);
    }
  g_array_set_size (records->pending, 0);
  return TRUE;
}

/* ---- events */

static GememEventKind
event_kind (int action)
{
  switch (action)
    {
    case W_ALLOC:
      return GEMEM_EVENT_ALLOC;
    case W_FREE_REQUESTED:
      return GEMEM_EVENT_FREE_REQUESTED;
    case W_FREE_COMPLETED:
      return GEMEM_EVENT_FREE_COMPLETED;
    case W_SEGMENT_ALLOC:
      return GEMEM_EVENT_SEGMENT_ALLOC;
    case W_SEGMENT_FREE:
      return GEMEM_EVENT_SEGMENT_FREE;
    case W_SEGMENT_MAP:
      return GEMEM_EVENT_SEGMENT_MAP;
    case W_SEGMENT_UNMAP:
      return GEMEM_EVENT_SEGMENT_UNMAP;
    case W_OOM:
      return GEMEM_EVENT_OOM;
    case W_SNAPSHOT:
      return GEMEM_EVENT_SNAPSHOT;
    default:
      return (GememEventKind) 0;
    }
}

static gboolean
read_event (GememPytorchRecords *records, GememPytorchRecord *record, guint position,
            GError **error)
{
  GememTraceEvent *event = &record->event;
  gboolean sized, placed;

  memset (event, 0, sizeof *event);
  if (position >= GEMEM_PYTORCH_DEVICES)
    return fail (records, error, "events of device %u; at most %u devices are read", position,
                 GEMEM_PYTORCH_DEVICES);
  if (records->counts->len <= position)
    g_array_set_size (records->counts, position + 1);
  record->device = position;
  record->index = g_array_index (records->counts, guint64, position)++;
  record->kind = GEMEM_PYTORCH_EVENT;
  event->device = (guint16) position;
  if (get_word (records, K_ACTION) == W_ANNOTATE)
    {
      record->kind = GEMEM_PYTORCH_NAME;
      record->name = get_text (records, K_USER_METADATA);
      return get_number (records, K_ADDR, G_MAXINT64, NULL, 0, &event->address, error);
    }
  event->kind = (guint8) event_kind (get_word (records, K_ACTION));
  if (event->kind == 0)
    {
      record->kind = GEMEM_PYTORCH_UNKNOWN;
      record->name = get_text (records, K_ACTION);
      return get (records, K_ACTION) != NULL
             || fail (records, error,
                      "an event without \"action\"; this is no snapshot of torch.cuda.memory");
    }
  sized = event->kind != GEMEM_EVENT_OOM && event->kind != GEMEM_EVENT_SNAPSHOT;
  placed = sized;
  if (!get_number (records, K_SIZE, sized ? GEMEM_PYTORCH_MAX_SIZE : G_MAXINT64, "an event", 0,
                   &event->size, error)
      || !get_number (records, K_ADDR, G_MAXINT64, placed ? "an event" : NULL, 0, &event->address,
                      error)
      || !get_number (records, K_DEVICE_FREE, G_MAXINT64, NULL, 0, &event->aux, error)
      || !get_number (records, K_TIME_US, G_MAXINT64 / 1000, NULL, 0, &event->time, error))
    return FALSE;
  if (sized && (event->size == 0 || event->address == 0))
    return fail (records, error,
                 "\"%s\" of %" G_GUINT64_FORMAT " bytes at address 0x%" G_GINT64_MODIFIER
                 "x; neither can be 0, the snapshot is damaged",
                 get_text (records, K_ACTION), event->size, event->address);
  if (!placed)
    event->address = 0;
  records->keys.event |= records->present;
  record->has_time = (records->present & HAS (K_TIME_US)) != 0;
  record->has_pool = (records->present & HAS (K_POOL_ID)) != 0;
  record->has_free = (records->present & HAS (K_DEVICE_FREE)) != 0;
  record->stack = get_stack (records);
  record->name = get_text (records, K_USER_METADATA);
  if (record->has_pool)
    event->pool = get_pool (records, K_POOL_ID);
  event->stream = get_stream (records);
  if (event->kind >= GEMEM_EVENT_SEGMENT_ALLOC && event->kind <= GEMEM_EVENT_SEGMENT_UNMAP
      && event->size == GEMEM_PYTORCH_SMALL_SEGMENT)
    event->flags |= GEMEM_EVENT_SMALL;
  return TRUE;
}

static gboolean
read_annotation (GememPytorchRecords *records, GememPytorchRecord *record, GError **error)
{
  const GememPickleValue *device = get (records, K_DEVICE);

  memset (&record->event, 0, sizeof record->event);
  record->kind = GEMEM_PYTORCH_ANNOTATION;
  record->device = device != NULL && device->type == GEMEM_PICKLE_INT && device->integer >= 0
                           && device->integer < GEMEM_PYTORCH_DEVICES
                       ? (guint) device->integer
                       : 0;
  record->begin = get_word (records, K_STAGE) == W_START;
  record->name = get_text (records, K_NAME);
  return get_number (records, K_TIME_US, G_MAXINT64 / 1000, NULL, 0, &record->event.time, error);
}

/* ---- settings */

static void
read_divisions (GememPytorchRecords *records)
{
  for (guint i = 0; i < GEMEM_PYTORCH_SLOTS; i++)
    {
      const GememPickleValue *value = get (records, K_DIVISIONS + i);
      if (value != NULL && value->type == GEMEM_PICKLE_INT && value->integer >= 0)
        records->settings.divisions[i] = (guint64) value->integer;
    }
}

/* Bytes; -1: unlimited, or not told. */
static gint64
get_limit (const GememPytorchRecords *records, guint key)
{
  const GememPickleValue *value = get (records, key);

  return value != NULL && value->type == GEMEM_PICKLE_INT && value->integer >= 0
                 && value->integer != G_MAXINT64
             ? value->integer
             : -1;
}

static void
read_settings (GememPytorchRecords *records)
{
  GememPytorchSettings *settings = &records->settings;
  const GememPickleValue *threshold = get (records, K_GC_THRESHOLD);
  const char *configuration = get_text (records, K_CUDA_CONF);

  if (*configuration == '\0')
    configuration = get_text (records, K_CONF);
  if (get (records, K_NPU_CONF) != NULL)
    {
      settings->npu = TRUE;
      if (*configuration == '\0')
        configuration = get_text (records, K_NPU_CONF);
    }
  records->keys.settings |= records->present;
  g_free (settings->configuration);
  settings->configuration = g_utf8_make_valid (configuration, -1);
  g_free (settings->written_for);
  settings->written_for = g_utf8_make_valid (get_text (records, K_GEMEM_ALLOCATOR), -1);
  settings->max_split_size = get_limit (records, K_MAX_SPLIT_SIZE);
  settings->pinned_max_cached = get_limit (records, K_MAX_CACHED_SIZE);
  settings->pinned_max_round = get_limit (records, K_MAX_ROUND_THRESHOLD);
  if (threshold != NULL && threshold->type == GEMEM_PICKLE_FLOAT)
    settings->garbage_collection_threshold = threshold->real;
  settings->expandable_segments = get_flag (records, K_EXPANDABLE_SEGMENTS);
}

/* ---- call stacks */

/* Where a dry run stands between a program and PyTorch's operators (dry/python/known.py), which is in no stack. */
static gboolean
is_aside (GememPytorchRecords *records, const GememFrame *frame)
{
  return strcmp (gemem_pickle_string (records->pickle, frame->file), "site-packages/gemem/known.py")
         == 0;
}

/* Assigns a number to a frame, so that lists of frames become numbers too; 0 leaves it out. */
static void
read_frame (GememPytorchRecords *records)
{
  const GememPickleValue *name = get (records, K_NAME), *file = get (records, K_FILENAME),
                         *line = get (records, K_LINE);
  GememFrame frame = { 0 };

  if (name != NULL && name->type == GEMEM_PICKLE_STRING)
    frame.name = name->string;
  if (file != NULL && file->type == GEMEM_PICKLE_STRING)
    frame.file = file->string;
  if (line != NULL && (line->type == GEMEM_PICKLE_INT || line->type == GEMEM_PICKLE_BIG_INT))
    frame.line = (guint32) line->integer;
  if (frame.name != records->last_name)
    {
      const char *text = gemem_pickle_string (records->pickle, frame.name);
      records->last_name = frame.name;
      records->last_flags = strstr (text, "empty_cache") != NULL
                                    || strstr (text, "emptyCache") != NULL
                                ? GEMEM_PYTORCH_EMPTY_CACHE
                                : 0;
    }
  frame.flags = records->last_flags;
  gemem_pickle_set_number (
      records->pickle,
      is_aside (records, &frame) ? 0 : gemem_call_stacks_frame (records->stacks, &frame));
}

static void
read_frames (GememPytorchRecords *records)
{
  guint32 before;
  guint n;
  const guint32 *frames = gemem_pickle_items (records->pickle, &before, &n);
  gemem_pickle_set_number (records->pickle,
                           gemem_call_stacks_extend (records->stacks, before, frames, n));
}

/* ---- which dict is it */

/* Forbids references to the present dict: a reference would repeat a part of the recording. */
static gboolean
once (GememPytorchRecords *records)
{
  gemem_pickle_set_number (records->pickle, GEMEM_PICKLE_ONCE);
  return TRUE;
}

static gboolean
read_in_segments (GememPytorchRecords *records, GememPytorchRecord *record,
                  const GememPicklePath *path, GError **error)
{
  guint64 history;

  if (path->dicts == 0 && get (records, K_TOTAL_SIZE) != NULL)
    return once (records) && read_segment (records, record, error);
  if (path->dicts == 1 && get (records, K_STATE) != NULL)
    return once (records) && read_block (records, error);
  if (path->dicts == 2 && get (records, K_REAL_SIZE) != NULL)
    {
      if (!get_number (records, K_REAL_SIZE, GEMEM_PYTORCH_MAX_SIZE, NULL, 0, &history, error))
        return FALSE;
      if (records->history == 0) /* newest first */
        {
          records->history = history;
          records->history_stack = get_stack (records);
        }
    }
  return TRUE;
}

/* The part of the file that a record is in, of those that hold a state and events. */
typedef enum
{
  PART_NONE,
  PART_SEGMENTS,
  PART_TRACES,
  PART_LEFT_OUT, /* events that are not wanted */
} Part;

static Part
part_of (const GememPytorchRecords *records, const GememPicklePath *path)
{
  const gboolean host = records->host;

  /* -2: torch.cuda.memory_snapshot() is a bare list of segments */
  if (path->section == (host ? K_HOST_SEGMENTS : K_SEGMENTS) || (!host && path->section == -2))
    return PART_SEGMENTS;
  if (path->dicts > 0 || path->lists < (path->section == K_DEVICE_TRACES ? 2 : 1))
    return PART_NONE;
  if (path->section == (host ? K_HOST_TRACES : K_DEVICE_TRACES))
    return PART_TRACES;
  return path->section == (host ? K_DEVICE_TRACES : K_HOST_TRACES)
                 && get (records, K_ACTION) != NULL
             ? PART_LEFT_OUT
             : PART_NONE;
}

gboolean
gemem_pytorch_records_next (GememPytorchRecords *records, GememPytorchRecord *record,
                            GError **error)
{
  int result;

  record->kind = GEMEM_PYTORCH_END;
  while ((result = gemem_pickle_next (records->pickle, error)) > 0)
    {
      GememPicklePath path;
      gboolean ok = TRUE;

      if (result == GEMEM_PICKLE_NEXT_LIST)
        {
          read_frames (records);
          continue;
        }
      records->values = gemem_pickle_record (records->pickle, &records->present);
      if ((records->present & (HAS (K_FILENAME) | HAS (K_FRAMES))) == HAS (K_FILENAME))
        {
          if (records->stacks != NULL)
            read_frame (records);
          continue;
        }
      gemem_pickle_path (records->pickle, &path);
      const Part part = part_of (records, &path);
      if (path.section == -1) /* the outermost dict itself, or an unknown section */
        {
          if (!path.outermost && get (records, K_DEVICE_TRACES) != NULL)
            return fail (
                records, error,
                "a dictionary of snapshots; write each into a file of its own, for example "
                "pickle.dump (snapshots['rank0'], file)");
          records->has_segments |= get (records, K_SEGMENTS) != NULL;
          records->has_traces |= get (records, K_DEVICE_TRACES) != NULL;
          records->keys.file |= records->present;
        }
      else if (part == PART_SEGMENTS)
        {
          ok = read_in_segments (records, record, &path, error);
          records->has_segments |= path.section == -2 && record->kind == GEMEM_PYTORCH_SEGMENT;
        }
      else if (part == PART_TRACES)
        ok = once (records)
             && read_event (records, record, records->host ? 0 : path.position, error);
      else if (part == PART_LEFT_OUT)
        record->kind = GEMEM_PYTORCH_MARK;
      else if (path.section == K_EXTERNAL_ANNOTATIONS && path.dicts == 0)
        ok = once (records) && read_annotation (records, record, error);
      else if (path.section == K_ALLOCATOR_SETTINGS && path.dicts == 0)
        read_settings (records);
      else if (path.section == K_ALLOCATOR_SETTINGS && path.dicts == 1)
        read_divisions (records);
      if (!ok)
        return FALSE;
      if (record->kind != GEMEM_PYTORCH_END)
        return TRUE;
    }
  if (result < 0)
    return FALSE;
  if (!records->has_segments && !records->has_traces)
    return fail (records, error,
                 "neither \"segments\" nor \"device_traces\" in this pickle; it is no snapshot of "
                 "torch.cuda.memory");
  return TRUE;
}

/* ---- the version */

/* Sets the bit of @feature: in *@possible if any dict of the kind was seen, in *@seen if one had
 * @key.  @present: all keys seen in dicts of the kind. */
static void
look (guint64 present, guint feature, guint key, guint *seen, guint *possible)
{
  *possible |= (guint) (present != 0) << feature;
  *seen |= (guint) (present >> key & 1) << feature;
}

/* FALSE: the file was not written by PyTorch. */
static gboolean
find_features (const GememPytorchRecords *records, guint *seen, guint *possible)
{
  *seen = *possible = 0;
  if (records->keys.segment != 0 && (records->keys.segment & HAS (K_SEGMENT_TYPE)) == 0)
    return FALSE;
  look (records->keys.block, GEMEM_PYTORCH_HAS_BLOCK_ADDRESS, K_ADDRESS, seen, possible);
  look (records->keys.event, GEMEM_PYTORCH_HAS_TIME, K_TIME_US, seen, possible);
  look (records->keys.file, GEMEM_PYTORCH_HAS_SETTINGS, K_ALLOCATOR_SETTINGS, seen, possible);
  look (records->keys.file, GEMEM_PYTORCH_HAS_ANNOTATIONS, K_EXTERNAL_ANNOTATIONS, seen, possible);
  look (records->keys.event, GEMEM_PYTORCH_HAS_COMPILE_CONTEXT, K_COMPILE_CONTEXT, seen, possible);
  look (records->keys.settings, GEMEM_PYTORCH_HAS_GRAPH_REUSE, K_GRAPH_REUSE, seen, possible);
  look (records->keys.event, GEMEM_PYTORCH_HAS_USER_METADATA, K_USER_METADATA, seen, possible);
  look (records->keys.event, GEMEM_PYTORCH_HAS_POOL_ID, K_POOL_ID, seen, possible);
  look (records->keys.settings, GEMEM_PYTORCH_HAS_MAX_CACHED_SIZE, K_MAX_CACHED_SIZE, seen,
        possible);
  look (records->keys.file, GEMEM_PYTORCH_HAS_HOST_TRACES, K_HOST_TRACES, seen, possible);
  if (gemem_pytorch_settings_name (&records->settings, "large_segment_size_mb"))
    *seen |= 1u << GEMEM_PYTORCH_HAS_LARGE_SEGMENT;
  return TRUE;
}

char *
gemem_pytorch_records_version (const GememPytorchRecords *records)
{
  guint seen, possible;

  return find_features (records, &seen, &possible) ? gemem_pytorch_version_infer (seen, possible)
                                                   : NULL;
}

guint
gemem_pytorch_records_newest (const GememPytorchRecords *records)
{
  guint seen, possible;

  return find_features (records, &seen, &possible) ? gemem_pytorch_version_newest (seen, possible)
                                                   : 0;
}
