/* pytorch-snapshot.c - reads torch.cuda.memory snapshots (_dump_snapshot, _snapshot): format
 * `pytorch-snapshot`.
 *
 * The initial state must be known before the first event is returned, so the file is read twice:
 * the first pass checks every event and derives the initial state of each device (pytorch-state.h),
 * the second delivers.  A pass between these two is needed only if the size of an initial block
 * must be inferred from later addresses, and one if the program named blocks after it allocated
 * them.
 *
 * Events delivered: the initial state of all devices in order (INITIAL; SEGMENT_ALLOC, or
 * SEGMENT_MAP for ranges of expandable segments, then ALLOC with the block size in `aux`, then
 * FREE_REQUESTED for blocks that waited for streams), then the events of device 0, 1, ...  The
 * begin of an annotation (optimizer step, user mark) becomes a PHASE event, its end a PHASE_END; the
 * causes of released segments become TRIM and DEVICE_LIMIT events (pytorch-releases.h).  Addresses
 * of blocks become ids 1, 2, 3...  The call stacks of the first pass are kept; the second one skips
 * the frames.  The program's own metadata of an allocation, and what it named the block
 * later, become its tag.
 *
 * Memory: live blocks, the distinct call stacks, 4 bytes per event if it has a stack, plus the memo
 * of the pickle (4 bytes per memoised object).
 * Origin: peers.md 2.1.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/input.h"
#include "base/io/scan.h"
#include "traces/pytorch-record.h"
#include "traces/pytorch-releases.h"
#include "traces/pytorch-snapshot.h"

#define BATCH 1024u
#define NPU_PAD 32 /* that torch_npu adds to each request */
#define MAX_PHASES (1u << 20)

typedef struct
{
  guint64 time; /* us since 1970 */
  guint32 tag;
  guint8 kind; /* GEMEM_EVENT_PHASE or GEMEM_EVENT_PHASE_END */
} Phase;

typedef struct
{
  GememPytorchState state;
  GememPytorchReleases releases;
  GememIdMap *ids;   /* address -> id */
  GememIdMap *names; /* what the program named later: name_key() -> tag; NULL: nothing */
  GArray *phases;
  guint phase;         /* the next phase */
  GArray *stacks;      /* guint32: of the events that have one, by their place in the file */
  guint64 first, last; /* us */
  guint64 events, backwards;
  guint64 delivered; /* events */
  guint64 reserved;  /* reserved bytes after the events delivered */
} Device;

typedef struct
{
  GememTraceReader reader;
  GememSnapshotBytes bytes;
  GememReadOptions options;
  GememPytorchRecords records;
  gboolean open; /* `records` is initialised */
  GPtrArray *devices;
  guint64 origin; /* us since 1970 of time 0 */
  gboolean has_time, truncated, expandable, names_pools;
  guint64 phases, phases_lost, names, unknown;
  char *unknown_action; /* the first unknown action */
  guint64 last_id;
  guint initial_device;    /* next device whose initial state to deliver */
  guint step, at;          /* position within that state */
  guint64 accepted, taken; /* event records of the first pass, of the second */
  GememPytorchRecord held; /* the event to deliver after the phases before it */
  gboolean holding, ended;
  GememTraceEvent batch[BATCH];
  guint64 padded, unpadded; /* final blocks that prove the one or the other */
} Snapshot;

/* ---- devices */

static void
device_free (gpointer data)
{
  Device *device = data;
  gemem_pytorch_state_clear (&device->state);
  gemem_pytorch_releases_clear (&device->releases);
  gemem_idmap_free (device->ids);
  gemem_idmap_free (device->names);
  g_array_unref (device->phases);
  g_array_unref (device->stacks);
  g_free (device);
}

static gboolean
wanted (const Snapshot *snapshot, guint number)
{
  return snapshot->options.device < 0 || (guint) snapshot->options.device == number;
}

static Device *
get_device (Snapshot *snapshot, guint number)
{
  while (snapshot->devices->len <= number)
    {
      Device *device = g_new0 (Device, 1);
      gemem_pytorch_state_init (&device->state);
      gemem_pytorch_releases_init (&device->releases);
      device->ids = gemem_idmap_new (sizeof (guint64));
      device->phases = g_array_new (FALSE, FALSE, sizeof (Phase));
      device->stacks = g_array_new (FALSE, TRUE, sizeof (guint32));
      g_ptr_array_add (snapshot->devices, device);
    }
  return g_ptr_array_index (snapshot->devices, number);
}

/* ---- passes */

static gboolean
begin_pass (Snapshot *snapshot, gboolean stacks, GError **error)
{
  if (snapshot->open)
    gemem_pytorch_records_clear (&snapshot->records);
  snapshot->open = FALSE;
  if (!snapshot->bytes.rewind (snapshot->bytes.source.data, error))
    return FALSE;
  gemem_pytorch_records_init (&snapshot->records, &snapshot->bytes.source, stacks);
  snapshot->open = TRUE;
  return TRUE;
}

static gboolean
first_event (Snapshot *snapshot, const GememPytorchRecord *record, GError **error)
{
  Device *device = get_device (snapshot, record->device);
  guint64 time = record->event.time;
  g_autoptr (GError) reason = NULL;

  if (!gemem_pytorch_state_event (&device->state, &record->event, &reason))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s:device_traces[%u][%" G_GUINT64_FORMAT "]: %s", snapshot->bytes.source.name,
                   record->device, record->index, reason->message);
      return FALSE;
    }
  if (record->stack != 0)
    {
      g_array_set_size (device->stacks, (guint) record->index + 1);
      g_array_index (device->stacks, guint32, record->index) = record->stack;
    }
  gemem_pytorch_releases_event (
      &device->releases, &record->event, record->stack,
      (gemem_call_stacks_flags (snapshot->records.stacks, record->stack)
       & GEMEM_PYTORCH_EMPTY_CACHE)
          != 0,
      record->event.kind == GEMEM_EVENT_FREE_REQUESTED && !device->releases.own
          && gemem_pytorch_state_saw (&device->state, record->event.address));
  if (device->events++ == 0)
    device->first = time;
  else if (time < device->last)
    device->backwards++;
  device->last = MAX (device->last, time);
  snapshot->has_time &= record->has_time;
  snapshot->names_pools |= record->has_pool;
  snapshot->expandable |= record->event.kind == GEMEM_EVENT_SEGMENT_MAP
                          || record->event.kind == GEMEM_EVENT_SEGMENT_UNMAP;
  return TRUE;
}

static void
first_annotation (Snapshot *snapshot, const GememPytorchRecord *record)
{
  Phase phase = { .time = record->event.time,
                  .kind = record->begin ? GEMEM_EVENT_PHASE : GEMEM_EVENT_PHASE_END };

  if (snapshot->phases >= MAX_PHASES)
    {
      snapshot->phases_lost++;
      return;
    }
  g_autofree char *name = g_utf8_make_valid (record->name, -1);
  phase.tag = gemem_trace_info_intern (&snapshot->reader.info, name);
  g_array_append_val (get_device (snapshot, record->device)->phases, phase);
  snapshot->phases++;
}

/* A block of a small pool is what its request was rounded to, so it can tell whether torch_npu's 32
 * bytes were added. */
static void
weigh_padding (Snapshot *snapshot, const GememPytorchBlock *block)
{
  const guint64 plain = gemem_round_up (block->size, 512),
                padded = gemem_round_up (block->size + NPU_PAD, 512);

  if (block->size == 0 || plain == padded)
    return;
  snapshot->padded += block->block == padded;
  snapshot->unpadded += block->block == plain;
}

static gboolean
first_record (Snapshot *snapshot, const GememPytorchRecord *record, GError **error)
{
  GememTraceInfo *info = &snapshot->reader.info;

  switch (record->kind)
    {
    case GEMEM_PYTORCH_SEGMENT:
      if (wanted (snapshot, record->device))
        {
          Device *device = get_device (snapshot, record->device);
          gemem_pytorch_state_final_segment (&device->state, &record->segment);
          snapshot->expandable |= record->segment.expandable;
          for (guint i = 0; i < snapshot->records.blocks->len; i++)
            {
              const GememPytorchBlock *block = &g_array_index (snapshot->records.blocks,
                                                               GememPytorchBlock, i);
              gemem_pytorch_state_final_block (&device->state, block);
              if (record->segment.small)
                weigh_padding (snapshot, block);
            }
        }
      return TRUE;
    case GEMEM_PYTORCH_EVENT:
      if (wanted (snapshot, record->device) && !first_event (snapshot, record, error))
        return FALSE;
      snapshot->accepted++;
      return TRUE;
    case GEMEM_PYTORCH_UNKNOWN:
      info->skipped += wanted (snapshot, record->device);
      if (snapshot->unknown++ == 0)
        snapshot->unknown_action = g_strescape (record->name, NULL);
      snapshot->accepted++;
      return TRUE;
    case GEMEM_PYTORCH_NAME:
      if (wanted (snapshot, record->device) && *record->name != '\0')
        snapshot->names++;
      else
        info->skipped++;
      return TRUE;
    case GEMEM_PYTORCH_MARK:
      info->skipped++;
      return TRUE;
    case GEMEM_PYTORCH_ANNOTATION:
      if (wanted (snapshot, record->device))
        first_annotation (snapshot, record);
      return TRUE;
    case GEMEM_PYTORCH_END:
    default:
      return TRUE;
    }
}

static gboolean
first_pass (Snapshot *snapshot, GError **error)
{
  GememPytorchRecord record;
  g_autoptr (GError) damage = NULL;

  if (!begin_pass (snapshot, TRUE, error))
    return FALSE;
  do
    if (!gemem_pytorch_records_next (&snapshot->records, &record, &damage)
        || !first_record (snapshot, &record, &damage))
      {
        if (!snapshot->options.allow_partial || snapshot->accepted == 0)
          {
            g_propagate_error (error, g_steal_pointer (&damage));
            return FALSE;
          }
        snapshot->truncated = TRUE;
        gemem_trace_info_note (&snapshot->reader.info, "partial", "%s", damage->message);
        record.kind = GEMEM_PYTORCH_END;
      }
  while (record.kind != GEMEM_PYTORCH_END);
  return TRUE;
}

/* Runs the pass that looks for hidden tails of initial blocks. */
static gboolean
tail_pass (Snapshot *snapshot, GError **error)
{
  GememPytorchRecord record;
  guint64 left = snapshot->accepted;

  if (!begin_pass (snapshot, FALSE, error))
    return FALSE;
  while (left > 0)
    {
      if (!gemem_pytorch_records_next (&snapshot->records, &record, error))
        return FALSE;
      if (record.kind == GEMEM_PYTORCH_END)
        break;
      if (record.kind == GEMEM_PYTORCH_EVENT && wanted (snapshot, record.device))
        gemem_pytorch_state_look (&get_device (snapshot, record.device)->state, &record.event);
      left -= record.kind == GEMEM_PYTORCH_EVENT || record.kind == GEMEM_PYTORCH_UNKNOWN;
    }
  return TRUE;
}

/* The key of a block in Device.names: its allocation's place in the file, or for an initial block
 * its address. */
static guint64
name_key (gboolean initial, guint64 place)
{
  return place << 1 | (initial ? 1 : 0);
}

/* Adds @name to the names of a block.  @live: address -> 1 + place of its allocation; 0: freed. */
static void
name_block (Snapshot *snapshot, Device *device, GememIdMap *live, guint64 address, const char *name)
{
  const guint64 *place = gemem_idmap_lookup (live, address);
  g_autofree char *valid = g_utf8_make_valid (name, -1);
  gboolean existed;

  if (place != NULL && *place == 0)
    {
      snapshot->reader.info.skipped++;
      return;
    }
  if (device->names == NULL)
    device->names = gemem_idmap_new (sizeof (guint64));
  guint64 *tag = gemem_idmap_insert (
      device->names, name_key (place == NULL, place != NULL ? *place - 1 : address), &existed);
  g_autofree char *all = existed ? g_strdup_printf (
                             "%s, %s",
                             (char *) g_ptr_array_index (snapshot->reader.info.strings, *tag),
                             valid)
                                 : NULL;
  *tag = gemem_trace_info_intern (&snapshot->reader.info, all != NULL ? all : valid);
}

/* Runs the pass that finds the allocations of blocks that the program named later. */
static gboolean
name_pass (Snapshot *snapshot, GError **error)
{
  g_autoptr (GPtrArray) live = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_idmap_free);
  GememPytorchRecord record;
  guint64 left = snapshot->accepted, names = snapshot->names;

  if (!begin_pass (snapshot, FALSE, error))
    return FALSE;
  while (left > 0 || names > 0)
    {
      if (!gemem_pytorch_records_next (&snapshot->records, &record, error))
        return FALSE;
      if (record.kind == GEMEM_PYTORCH_END)
        break;
      const gboolean event = record.kind == GEMEM_PYTORCH_EVENT;
      left -= MIN (left, event || record.kind == GEMEM_PYTORCH_UNKNOWN);
      if ((!event && record.kind != GEMEM_PYTORCH_NAME) || !wanted (snapshot, record.device))
        continue;
      while (live->len <= record.device)
        g_ptr_array_add (live, gemem_idmap_new (sizeof (guint64)));
      GememIdMap *map = g_ptr_array_index (live, record.device);
      if (event && record.event.kind == GEMEM_EVENT_ALLOC)
        *(guint64 *) gemem_idmap_insert (map, record.event.address, NULL) = record.index + 1;
      else if (event && record.event.kind == GEMEM_EVENT_FREE_COMPLETED)
        *(guint64 *) gemem_idmap_insert (map, record.event.address, NULL) = 0;
      else if (!event && *record.name != '\0')
        {
          name_block (snapshot, get_device (snapshot, record.device), map, record.event.address,
                      record.name);
          names--;
        }
    }
  return TRUE;
}

/* The tag of a block that the program called @name when it was allocated, with what it named it
 * later. */
static guint32
tag_of (Snapshot *snapshot, const Device *device, guint64 key, const char *name)
{
  GememTraceInfo *info = &snapshot->reader.info;
  const guint64 *later = device->names != NULL ? gemem_idmap_lookup (device->names, key) : NULL;
  g_autofree char *valid = g_utf8_make_valid (name, -1);

  if (later == NULL || *name == '\0')
    return later != NULL ? (guint32) *later : gemem_trace_info_intern (info, valid);
  g_autofree char *both = g_strdup_printf ("%s, %s", valid,
                                           (char *) g_ptr_array_index (info->strings, *later));
  return gemem_trace_info_intern (info, both);
}

/* ---- between the passes */

/* The sort is stable: phases of equal time stay in the order of the file. */
static int
compare_phases (gconstpointer a, gconstpointer b)
{
  const Phase *x = a, *y = b;
  return (x->time > y->time) - (x->time < y->time);
}

/* Drops of the first @*keep phases, which began before the events, the newest one named @tag. */
static void
drop_phase (GArray *phases, guint *keep, guint32 tag)
{
  for (guint i = *keep; i-- > 0;)
    if (g_array_index (phases, Phase, i).tag == tag)
      {
        for (guint j = i + 1; j < *keep; j++)
          g_array_index (phases, Phase, j - 1) = g_array_index (phases, Phase, j);
        --*keep;
        return;
      }
}

/* Keeps the phases that the device's events fall into, in order of time; one that began before
 * begins with them. */
static void
settle_phases (Snapshot *snapshot, Device *device)
{
  guint keep = 0, begun = 0, kept = 0;

  g_array_sort (device->phases, compare_phases);
  for (guint i = 0; i < device->phases->len; i++)
    {
      Phase phase = g_array_index (device->phases, Phase, i);
      const gboolean begins = phase.kind == GEMEM_EVENT_PHASE;
      begun += begins;
      if (!snapshot->has_time || device->events == 0 || phase.time > device->last)
        continue;
      if (phase.time < device->first && !begins)
        {
          drop_phase (device->phases, &keep, phase.tag);
          continue;
        }
      phase.time = MAX (phase.time, device->first);
      g_array_index (device->phases, Phase, keep++) = phase;
    }
  for (guint i = 0; i < keep; i++)
    kept += g_array_index (device->phases, Phase, i).kind == GEMEM_EVENT_PHASE;
  snapshot->reader.info.skipped += begun - kept;
  g_array_set_size (device->phases, keep);
}

static void
add_facts (Snapshot *snapshot, guint number)
{
  GememTraceInfo *info = &snapshot->reader.info;
  Device *device = g_ptr_array_index (snapshot->devices, number);
  const GememPytorchState *state = &device->state;
  guint64 initial = state->segments->len + state->blocks->len, ambiguous = 0;

  for (guint i = 0; i < state->blocks->len; i++)
    {
      const GememPytorchBlock *block = &g_array_index (state->blocks, GememPytorchBlock, i);
      initial += block->pending;
      ambiguous += block->ambiguous;
    }
  info->ambiguities += ambiguous;
  if (ambiguous > 0)
    gemem_trace_info_note (info, "ambiguous",
                           "device %u: of the sizes of initial blocks %" G_GUINT64_FORMAT
                           " are inferred from later addresses, %" G_GUINT64_FORMAT
                           " are guessed to be the rounded request",
                           number, state->inferred, ambiguous - state->inferred);
  info->events += initial + device->events + device->phases->len + device->releases.added;
  if (initial > 0)
    info->flags |= GEMEM_TRACE_STARTS_IN_MIDDLE;
  if (device->backwards > 0)
    gemem_trace_info_note (info, "note",
                           "device %u: the clock ran backwards at %" G_GUINT64_FORMAT
                           " events, whose times were raised",
                           number, device->backwards);
  if (state->unexplained > 0)
    gemem_trace_info_note (info, "note",
                           "device %u: %" G_GUINT64_FORMAT
                           " blocks are live after the last event, but not in the final segments",
                           number, state->unexplained);
}

/* Notes why segments were released, if any were. */
static void
note_releases (GememTraceInfo *info, guint number, const GememPytorchReleases *releases,
               gboolean collects, gboolean names_pools)
{
  const guint64 guessed = releases->counts[GEMEM_PYTORCH_RELEASE_GUESSED],
                refused = releases->counts[GEMEM_PYTORCH_RELEASE_REFUSED];
  const guint64 program = releases->counts[GEMEM_PYTORCH_RELEASE_PROGRAM] + guessed;
  g_autoptr (GString) text = g_string_new (NULL);

  if (program > 0)
    g_string_append_printf (text, "the program emptied the cache (trim): %" G_GUINT64_FORMAT,
                            program);
  if (guessed > 0)
    g_string_append_printf (text, ", of these guessed for want of call stacks: %" G_GUINT64_FORMAT,
                            guessed);
  if (refused > 0)
    g_string_append_printf (
        text,
        "%sthe allocator gave back memory as the device refused a request%s: %" G_GUINT64_FORMAT,
        text->len > 0 ? "; " : "", collects ? ", or as garbage_collection_threshold says" : "",
        refused);
  if (releases->failed > 0)
    g_string_append_printf (text, "%srequests that ran out of memory: %" G_GUINT64_FORMAT,
                            text->len > 0 ? "; " : "", releases->failed);
  if (releases->nameless > 0 && !names_pools)
    gemem_trace_info_note (
        info, "note",
        "device %u: releases of the program that name no empty_cache: %" G_GUINT64_FORMAT
        "; if private pools ended there, it is not known what was in them, as only PyTorch 2.12 "
        "and later says so",
        number, releases->nameless);
  if (text->len > 0)
    gemem_trace_info_note (info, "releases", "device %u: %s", number, text->str);
}

typedef struct
{
  GememTraceInfo *info;
  const GememPickle *pickle;
  GArray *numbers; /* string of the pickle -> of the trace */
} Renaming;

/* A frame without a file would be an operator; PyTorch writes some native frames so. */
static guint32
rename_string (gpointer data, guint32 string, gboolean file)
{
  Renaming *renaming = data;
  guint32 *number;

  if (file && *gemem_pickle_string (renaming->pickle, string) == '\0')
    return gemem_trace_info_intern (renaming->info, "??");
  if (string >= renaming->numbers->len)
    g_array_set_size (renaming->numbers, string + 1);
  number = &g_array_index (renaming->numbers, guint32, string);
  if (*number == 0)
    {
      const char *text = gemem_pickle_string (renaming->pickle, string);
      g_autofree char *valid = g_utf8_make_valid (text, -1);
      *number = gemem_trace_info_intern (renaming->info, valid);
    }
  return *number;
}

/* Takes the call stacks of the first pass over into the trace, if there are any. */
static void
keep_stacks (Snapshot *snapshot)
{
  GememTraceInfo *info = &snapshot->reader.info;
  GememCallStacks *stacks = g_steal_pointer (&snapshot->records.stacks);
  Renaming renaming = { info, snapshot->records.pickle,
                        g_array_new (FALSE, TRUE, sizeof (guint32)) };

  if (gemem_call_stacks_count (stacks) > 0)
    {
      gemem_call_stacks_rename (stacks, rename_string, &renaming);
      info->stacks = gemem_call_stacks_ref (stacks);
    }
  g_array_unref (renaming.numbers);
  gemem_call_stacks_free (stacks);
}

/* Says which allocator wrote the file: torch_npu's, if its blocks are padded (lists of divisions make
 * other sizes, and prove nothing) or a setting names it. */
static void
name_allocator (Snapshot *snapshot)
{
  GememTraceInfo *info = &snapshot->reader.info;
  GememPytorchSettings *settings = &snapshot->records.settings;
  const gboolean padded = snapshot->padded > 0 && snapshot->unpadded == 0
                          && settings->divisions[0] <= 1;

  settings->pad = padded || (settings->npu && snapshot->unpadded == 0) ? NPU_PAD : 0;
  settings->npu |= padded;
  if (padded)
    gemem_trace_info_note (info, "note",
                           "torch_npu wrote this (inferred: %" G_GUINT64_FORMAT
                           " blocks are as long as its padding of 32 bytes makes them)",
                           snapshot->padded);
  info->allocator = g_strdup (settings->npu ? "torch-npu" : "pytorch-caching");
  if (settings->configuration != NULL && *settings->configuration != '\0')
    gemem_trace_info_note (info,
                           settings->npu ? "PYTORCH_NPU_ALLOC_CONF" : "PYTORCH_CUDA_ALLOC_CONF",
                           "%s", settings->configuration);
}

/* Adds the version of PyTorch to the settings: the newest that it may be. */
static void
add_version (Snapshot *snapshot)
{
  GememTraceInfo *info = &snapshot->reader.info;
  const char *told = snapshot->options.torch;
  g_autofree char *before = info->settings;
  const guint minor = told != NULL ? gemem_pytorch_version_parse (told)
                                   : gemem_pytorch_records_newest (&snapshot->records);

  info->settings = minor == 0 && told == NULL ? g_strdup (before)
                                              : g_strdup_printf ("%s%sversion=2.%u", before,
                                                                 *before != '\0' ? "," : "", minor);
}

/* Derives the facts of the trace from the first pass. */
static gboolean
settle (Snapshot *snapshot, GError **error)
{
  GememTraceInfo *info = &snapshot->reader.info;
  GememPytorchSettings *settings = &snapshot->records.settings;
  guint open = 0;

  /* copied, because the next pass resets the settings */
  const gboolean collects = settings->garbage_collection_threshold > 0;

  settings->expandable_segments |= snapshot->expandable; /* the setting can change at run time */

  if (snapshot->options.torch != NULL)
    gemem_trace_info_note (info, "PyTorch", "%s", snapshot->options.torch);
  else
    {
      g_autofree char *version = gemem_pytorch_records_version (&snapshot->records);
      if (version != NULL)
        gemem_trace_info_note (info, "PyTorch", "%s", version);
    }
  name_allocator (snapshot);
  for (guint i = 0; i < snapshot->devices->len; i++)
    {
      Device *device = g_ptr_array_index (snapshot->devices, i);
      g_autoptr (GError) reason = NULL;
      if (!gemem_pytorch_state_finish (&device->state, settings, snapshot->truncated, &reason))
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s:device_traces[%u]: %s",
                       snapshot->bytes.source.name, i, reason->message);
          return FALSE;
        }
      gemem_pytorch_releases_finish (
          &device->releases,
          settings->max_split_size >= 0 ? (guint64) settings->max_split_size : G_MAXUINT64,
          snapshot->options.never_refused && !collects);
      for (guint s = 0; s < device->state.segments->len; s++)
        device->reserved += g_array_index (device->state.segments, GememPytorchSegment, s).size;
      if (settings->memory_limit == 0)
        settings->memory_limit = gemem_pytorch_releases_infer_limit (
            &device->releases, settings->garbage_collection_threshold, device->reserved);
      open += device->state.open;
      settle_phases (snapshot, device);
    }
  info->settings = gemem_pytorch_settings_text (settings);
  if (!settings->npu)
    add_version (snapshot);
  if (settings->memory_limit > 0)
    gemem_trace_info_note (
        info, "note",
        "memory_limit=%" G_GUINT64_FORMAT
        " is inferred from when garbage was collected; if the program's is known, give it",
        settings->memory_limit);
  if (open > 0 && !tail_pass (snapshot, error))
    return FALSE;
  if (snapshot->names > 0 && !name_pass (snapshot, error))
    return FALSE;
  if (snapshot->accepted == 0)
    gemem_trace_info_note (
        info, "note",
        "the snapshot holds a state and no events; call torch.cuda.memory._record_memory_history() "
        "before what is to be recorded");
  snapshot->has_time &= snapshot->accepted > 0;
  snapshot->origin = G_MAXUINT64;
  for (guint i = 0; i < snapshot->devices->len; i++)
    {
      Device *device = g_ptr_array_index (snapshot->devices, i);
      if (device->events > 0)
        snapshot->origin = MIN (snapshot->origin, device->first);
      device->last = device->first;
      add_facts (snapshot, i);
      note_releases (info, i, &device->releases, collects, snapshot->names_pools);
    }
  info->flags |= GEMEM_TRACE_HAS_ADDRESSES | GEMEM_TRACE_HAS_SEGMENTS | GEMEM_TRACE_HAS_COMPLETION
                 | (snapshot->has_time ? GEMEM_TRACE_HAS_TIME : 0)
                 | (snapshot->truncated ? GEMEM_TRACE_TRUNCATED : 0);
  if (snapshot->unknown > 0)
    gemem_trace_info_note (info, "note",
                           "events with an unknown action are left out: %" G_GUINT64_FORMAT
                           ", the first has \"%.40s\"",
                           snapshot->unknown, snapshot->unknown_action);
  if (snapshot->phases_lost > 0)
    gemem_trace_info_note (info, "note", "%" G_GUINT64_FORMAT " annotations beyond %u are left out",
                           snapshot->phases_lost, MAX_PHASES);
  return TRUE;
}

/* ---- second pass */

static guint64
new_id (Snapshot *snapshot, Device *device, guint64 address)
{
  *(guint64 *) gemem_idmap_insert (device->ids, address, NULL) = ++snapshot->last_id;
  return snapshot->last_id;
}

static void
initial_segment (GememTraceEvent *event, const GememPytorchSegment *segment)
{
  event->kind = segment->expandable ? GEMEM_EVENT_SEGMENT_MAP : GEMEM_EVENT_SEGMENT_ALLOC;
  event->address = segment->address;
  event->size = segment->size;
  event->stream = segment->stream;
  event->pool = segment->pool;
  event->flags |= segment->small ? GEMEM_EVENT_SMALL : 0;
}

static void
initial_block (GememTraceEvent *event, const GememPytorchBlock *block)
{
  event->kind = GEMEM_EVENT_ALLOC;
  event->address = block->address;
  event->size = block->size;
  event->aux = block->block;
  event->stream = block->stream;
  event->pool = block->pool;
  event->stack = block->stack;
  event->flags |= (block->small ? GEMEM_EVENT_SMALL : 0)
                  | (block->ambiguous ? GEMEM_EVENT_AMBIGUOUS : 0);
}

/* The next event of the initial state: segments, blocks and pending frees of a device, then the
 * next device.  FALSE: no event is left. */
static gboolean
next_initial (Snapshot *snapshot, GememTraceEvent *event)
{
  for (; snapshot->initial_device < snapshot->devices->len;
       snapshot->initial_device++, snapshot->step = snapshot->at = 0)
    {
      Device *device = g_ptr_array_index (snapshot->devices, snapshot->initial_device);
      const GememPytorchState *state = &device->state;
      memset (event, 0, sizeof *event);
      event->device = (guint16) snapshot->initial_device;
      event->flags = GEMEM_EVENT_INITIAL;
      for (; snapshot->step < 3; snapshot->step++, snapshot->at = 0)
        while (snapshot->at < (snapshot->step == 0 ? state->segments->len : state->blocks->len))
          {
            guint at = snapshot->at++;
            const GememPytorchBlock *block = snapshot->step > 0 ? &g_array_index (
                                                 state->blocks, GememPytorchBlock, at)
                                                                : NULL;
            if (snapshot->step == 2 && !block->pending)
              continue;
            if (snapshot->step == 0)
              initial_segment (event, &g_array_index (state->segments, GememPytorchSegment, at));
            else
              initial_block (event, block);
            if (snapshot->step == 1)
              {
                event->id = new_id (snapshot, device, block->address);
                event->tag = tag_of (snapshot, device, name_key (TRUE, block->address), "");
              }
            else if (snapshot->step == 2)
              {
                event->id = *(guint64 *) gemem_idmap_lookup (device->ids, block->address);
                event->kind = GEMEM_EVENT_FREE_REQUESTED;
                event->aux = 0;
              }
            return TRUE;
          }
    }
  return FALSE;
}

static guint64
event_time (const Snapshot *snapshot, Device *device, guint64 time)
{
  device->last = MAX (device->last, time);
  return snapshot->has_time ? (device->last - snapshot->origin) * 1000 : 0;
}

static void
phase_event (Snapshot *snapshot, guint number, GememTraceEvent *event)
{
  Device *device = g_ptr_array_index (snapshot->devices, number);
  const Phase *phase = &g_array_index (device->phases, Phase, device->phase++);
  memset (event, 0, sizeof *event);
  event->kind = phase->kind;
  event->device = (guint16) number;
  event->tag = phase->tag;
  event->time = event_time (snapshot, device, phase->time);
}

/* Converts a record to the event to deliver: sets time and id. */
static gboolean
deliver (Snapshot *snapshot, const GememPytorchRecord *record, GememTraceEvent *event,
         GError **error)
{
  Device *device = get_device (snapshot, record->device);
  guint64 id = 0;
  const guint64 *found;

  *event = record->event;
  event->time = event_time (snapshot, device, record->event.time);
  if (record->index < device->stacks->len)
    event->stack = g_array_index (device->stacks, guint32, record->index);
  if (event->kind == GEMEM_EVENT_ALLOC && (*record->name != '\0' || device->names != NULL))
    event->tag = tag_of (snapshot, device, name_key (FALSE, record->index), record->name);
  switch (event->kind)
    {
    case GEMEM_EVENT_ALLOC:
      id = new_id (snapshot, device, event->address);
      if (!record->has_pool)
        event->pool = gemem_pytorch_state_pool (&device->state, event->address, device->delivered);
      break;
    case GEMEM_EVENT_FREE_REQUESTED:
      if (device->state.skips_completions)
        {
          event->kind = GEMEM_EVENT_FREE;
          gemem_idmap_remove (device->ids, event->address, &id);
          break;
        }
      found = gemem_idmap_lookup (device->ids, event->address);
      id = found != NULL ? *found : 0;
      break;
    case GEMEM_EVENT_FREE_COMPLETED:
      gemem_idmap_remove (device->ids, event->address, &id);
      break;
    default:
      id = G_MAXUINT64;
    }
  device->delivered++;
  if (id == 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s:device_traces[%u][%" G_GUINT64_FORMAT "]: block 0x%" G_GINT64_MODIFIER
                   "x is gone; the file changed while it was read",
                   snapshot->bytes.source.name, record->device, record->index, event->address);
      return FALSE;
    }
  event->id = id != G_MAXUINT64 ? id : 0;
  return TRUE;
}

/* Makes the next event to deliver before the held record; FALSE: none is left. */
static gboolean
deliver_before (Snapshot *snapshot, GememTraceEvent *event)
{
  const GememTraceEvent *held = &snapshot->held.event;
  Device *device = get_device (snapshot, snapshot->held.device);

  if (!gemem_pytorch_releases_before (&device->releases, device->delivered, held, device->reserved,
                                      event))
    return FALSE;
  event->device = held->device;
  event->time = event_time (snapshot, device, held->time);
  return TRUE;
}

/* Converts the held record to an event and any event after it; returns their number, 0: error. */
static guint
deliver_held (Snapshot *snapshot, GememTraceEvent *event, GError **error)
{
  Device *device = get_device (snapshot, snapshot->held.device);

  if (!deliver (snapshot, &snapshot->held, event, error))
    return 0;
  snapshot->holding = FALSE;
  if (event->kind == GEMEM_EVENT_SEGMENT_ALLOC || event->kind == GEMEM_EVENT_SEGMENT_MAP)
    device->reserved += event->size;
  else if (event->kind == GEMEM_EVENT_SEGMENT_FREE || event->kind == GEMEM_EVENT_SEGMENT_UNMAP)
    device->reserved -= MIN (event->size, device->reserved);
  if (!gemem_pytorch_releases_behind (&device->releases, event, event + 1))
    return 1;
  event[1].device = event->device;
  event[1].time = event->time;
  return 2;
}

/* Second pass: reads the next event of a wanted device into `held`; FALSE: error. */
static gboolean
hold_next (Snapshot *snapshot, GError **error)
{
  GememPytorchRecord *held = &snapshot->held;

  snapshot->ended = snapshot->taken == snapshot->accepted;
  while (!snapshot->ended && !snapshot->holding)
    {
      if (!gemem_pytorch_records_next (&snapshot->records, held, error))
        return FALSE;
      snapshot->holding = held->kind == GEMEM_PYTORCH_EVENT && wanted (snapshot, held->device);
      snapshot->taken += held->kind == GEMEM_PYTORCH_EVENT || held->kind == GEMEM_PYTORCH_UNKNOWN;
      snapshot->ended = held->kind == GEMEM_PYTORCH_END
                        || (snapshot->taken == snapshot->accepted && !snapshot->holding);
    }
  return TRUE;
}

static gssize
snapshot_next (GememTraceReader *reader, const GememTraceEvent **events, GError **error)
{
  Snapshot *snapshot = (Snapshot *) reader;
  guint n = 0, more;

  *events = snapshot->batch;
  while (n < BATCH && next_initial (snapshot, &snapshot->batch[n]))
    n++;
  while (n + 2 <= BATCH)
    {
      if (!snapshot->holding && !hold_next (snapshot, error))
        return -1;
      if (!snapshot->holding)
        break;
      Device *device = get_device (snapshot, snapshot->held.device);
      if (device->phase < device->phases->len
          && g_array_index (device->phases, Phase, device->phase).time <= snapshot->held.event.time)
        phase_event (snapshot, snapshot->held.device, &snapshot->batch[n++]);
      else if (deliver_before (snapshot, &snapshot->batch[n]))
        n++;
      else if ((more = deliver_held (snapshot, &snapshot->batch[n], error)) == 0)
        return -1;
      else
        n += more;
    }
  return n;
}

/* ---- life */

static void
snapshot_close (GememTraceReader *reader)
{
  Snapshot *snapshot = (Snapshot *) reader;
  if (snapshot->open)
    gemem_pytorch_records_clear (&snapshot->records);
  g_ptr_array_unref (snapshot->devices);
  g_free (snapshot->unknown_action);
  gemem_trace_info_clear (&reader->info);
  snapshot->bytes.close (snapshot->bytes.source.data);
  g_free (snapshot);
}

GememTraceReader *
gemem_pytorch_snapshot_open (const GememTraceFormat *format, const GememSnapshotBytes *bytes,
                             const GememReadOptions *options, GError **error)
{
  Snapshot *snapshot = g_new0 (Snapshot, 1);

  snapshot->reader.format = format;
  snapshot->reader.next = snapshot_next;
  snapshot->reader.close = snapshot_close;
  snapshot->bytes = *bytes;
  snapshot->options = *options;
  snapshot->has_time = TRUE;
  snapshot->devices = g_ptr_array_new_with_free_func (device_free);
  gemem_trace_info_init (&snapshot->reader.info, format->name, bytes->source.name);
  if (first_pass (snapshot, error))
    {
      keep_stacks (snapshot);
      if (settle (snapshot, error) && begin_pass (snapshot, FALSE, error))
        return &snapshot->reader;
    }
  snapshot_close (&snapshot->reader);
  return NULL;
}

/* ---- the format: a pickle in a file of its own */

static gssize
fill_input (gpointer data, gsize used, gsize want, const guint8 **bytes, GError **error)
{
  gemem_input_consume (data, used);
  return gemem_input_fill (data, want, bytes, error);
}

static gboolean
rewind_input (gpointer data, GError **error)
{
  return gemem_input_rewind (data, error);
}

static void
close_input (gpointer data)
{
  gemem_input_close (data);
}

static int
probe (const guint8 *head, gsize size)
{
  if (size < 2 || head[0] != 0x80 || head[1] < 2 || head[1] > 5)
    return 0;
  return scan_contains (head, size, "segments") || scan_contains (head, size, "device_traces")
                 || scan_contains (head, size, "segment_type")
             ? 95
             : 50;
}

static GememTraceReader *
snapshot_open (GememInput *input, const GememReadOptions *options, GError **error)
{
  GememSnapshotBytes bytes = {
    { fill_input, input, gemem_input_name (input) }, rewind_input, close_input, input
  };
  return gemem_pytorch_snapshot_open (&gemem_format_pytorch_snapshot, &bytes, options, error);
}

const GememTraceFormat gemem_format_pytorch_snapshot = {
  .name = "pytorch-snapshot",
  .aliases = "pytorch|pickle",
  .extensions = "pickle|pkl",
  .summary = "memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot)",
  .origin = "peers.md 2.1",
  .probe = probe,
  .open = snapshot_open,
};
