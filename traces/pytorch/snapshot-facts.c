/* snapshot-facts.c - what a PyTorch snapshot says as a trace, derived from its first pass
 * (snapshot-private.h): allocator, version and settings, phases, call stacks, number of events, and
 * notes of what is inferred, guessed or left out.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "traces/pytorch/snapshot-private.h"

/* The sort is stable: phases of equal time stay in the order of the file. */
static int
compare_phases (gconstpointer a, gconstpointer b)
{
  const GememSnapshotPhase *x = a, *y = b;
  return (x->time > y->time) - (x->time < y->time);
}

/* Of the first @n phases, which begin before the events, those stay that do not end before them; an end is that of the
 * newest of its name.  Returns how many stay. */
static guint
close_earlier (GArray *phases, guint n)
{
  GememIdMap *open = gemem_idmap_new (
      sizeof (guint64)); /* tag -> the newest phase, 1 is the first */
  g_autofree guint64 *older = g_new (guint64,
                                     (gsize) n + 1); /* by phase: the one before of its tag */
  guint keep = 0;

  for (guint i = 0; i < n; i++)
    {
      const GememSnapshotPhase *phase = &g_array_index (phases, GememSnapshotPhase, i);
      guint64 *newest = gemem_idmap_insert (open, phase->tag, NULL);

      if (phase->kind == GEMEM_EVENT_PHASE)
        {
          older[i] = *newest;
          *newest = (guint64) i + 1;
        }
      else if (phase->kind == GEMEM_EVENT_PHASE_END && *newest > 0)
        {
          const guint begin = (guint) *newest - 1;

          g_array_index (phases, GememSnapshotPhase, begin).kind = GEMEM_EVENT_PHASE_END;
          *newest = older[begin];
        }
    }
  for (guint i = 0; i < n; i++)
    if (g_array_index (phases, GememSnapshotPhase, i).kind != GEMEM_EVENT_PHASE_END)
      g_array_index (phases, GememSnapshotPhase, keep++) = g_array_index (phases,
                                                                          GememSnapshotPhase, i);
  gemem_idmap_free (open);
  return keep;
}

static guint
count_begins (const GArray *phases)
{
  guint n = 0;

  for (guint i = 0; i < phases->len; i++)
    n += g_array_index (phases, GememSnapshotPhase, i).kind == GEMEM_EVENT_PHASE;
  return n;
}

/* Keeps the phases and changes of settings that the device's events fall into, in order of time;
 * one that began before begins with them. */
static void
settle_phases (GememSnapshot *snapshot, GememSnapshotDevice *device)
{
  GArray *phases = device->phases;
  guint n = 0, keep = 0;

  g_array_append_vals (phases, snapshot->changes->data, snapshot->changes->len);
  g_array_sort (phases, compare_phases);
  snapshot->reader.info.skipped += count_begins (phases);
  if (snapshot->has_time && device->events > 0)
    {
      while (n < phases->len && g_array_index (phases, GememSnapshotPhase, n).time < device->first)
        n++;
      keep = close_earlier (phases, n);
      for (guint i = 0; i < keep; i++)
        g_array_index (phases, GememSnapshotPhase, i).time = device->first;
      for (; n < phases->len && g_array_index (phases, GememSnapshotPhase, n).time <= device->last;
           n++)
        g_array_index (phases, GememSnapshotPhase, keep++) = g_array_index (phases,
                                                                            GememSnapshotPhase, n);
    }
  g_array_set_size (phases, keep);
  snapshot->reader.info.skipped -= count_begins (phases);
}

/* The part of @device that the program may take from its first event on; GEMEM_NO_TAG: not told. */
static guint32
first_part (const GememSnapshot *snapshot, const GememSnapshotDevice *device)
{
  guint32 part = GEMEM_NO_TAG;

  for (guint i = 0; i < device->phases->len; i++)
    {
      const GememSnapshotPhase *phase = &g_array_index (device->phases, GememSnapshotPhase, i);
      if (phase->time > device->first)
        break;
      if (phase->kind == GEMEM_EVENT_SETTINGS
          && g_str_has_prefix (snapshot->reader.info.strings->pdata[phase->tag],
                               GEMEM_SNAPSHOT_PART_SETTING))
        part = phase->tag;
    }
  return part;
}

/* The same of all devices; GEMEM_NO_TAG: they differ, it was not told, or is all, which as a setting is no
 * limit and for the running program is one, by which garbage is collected. */
static guint32
common_part (const GememSnapshot *snapshot)
{
  guint32 common = GEMEM_NO_TAG;
  gboolean any = FALSE;

  for (guint i = 0; i < snapshot->devices->len; i++)
    {
      const GememSnapshotDevice *device = snapshot->devices->pdata[i];
      if (device->events == 0)
        continue;
      const guint32 part = first_part (snapshot, device);
      if (any && part != common)
        return GEMEM_NO_TAG;
      common = part;
      any = TRUE;
    }
  return any && common != GEMEM_NO_TAG
                 && strcmp (snapshot->reader.info.strings->pdata[common],
                            GEMEM_SNAPSHOT_PART_SETTING "1.0")
                        == 0
             ? GEMEM_NO_TAG
             : common;
}

/* What all devices begin with is a setting of the trace, which counts beside others that a user chooses;
 * what changes later is an event. */
static void
settle_part (GememSnapshot *snapshot)
{
  GememTraceInfo *info = &snapshot->reader.info;
  const guint32 part = snapshot->changes->len == 0 ? common_part (snapshot) : GEMEM_NO_TAG;

  for (guint i = 0; i < snapshot->devices->len; i++)
    {
      const GememSnapshotDevice *device = snapshot->devices->pdata[i];
      guint keep = 0;

      for (guint p = 0; p < device->phases->len; p++)
        {
          const GememSnapshotPhase phase = g_array_index (device->phases, GememSnapshotPhase, p);
          const gboolean sets = phase.kind == GEMEM_EVENT_SETTINGS;

          if (sets && part != GEMEM_NO_TAG && phase.time <= device->first)
            continue;
          if (sets)
            info->flags |= GEMEM_TRACE_HAS_SETTINGS;
          g_array_index (device->phases, GememSnapshotPhase, keep++) = phase;
        }
      g_array_set_size (device->phases, keep);
    }
  if (part == GEMEM_NO_TAG)
    return;
  g_autofree char *before = info->settings;
  info->settings = g_strdup_printf ("%s%s%s", before, *before != '\0' ? "," : "",
                                    (const char *) info->strings->pdata[part]);
}

static void
add_facts (GememSnapshot *snapshot, guint number, const char *name)
{
  GememTraceInfo *info = &snapshot->reader.info;
  GememSnapshotDevice *device = g_ptr_array_index (snapshot->devices, number);
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
                           "%s: of the sizes of initial blocks %" G_GUINT64_FORMAT
                           " are inferred from later addresses, %" G_GUINT64_FORMAT
                           " are guessed to be the rounded request",
                           name, state->inferred, ambiguous - state->inferred);
  info->events += initial + device->events + device->phases->len + device->releases.added;
  if (initial > 0)
    info->flags |= GEMEM_TRACE_STARTS_IN_MIDDLE;
  if (device->backwards > 0)
    gemem_trace_info_note (info, "note",
                           "%s: the clock ran backwards at %" G_GUINT64_FORMAT
                           " events, whose times were raised",
                           name, device->backwards);
  if (state->unexplained > 0)
    gemem_trace_info_note (info, "note",
                           "%s: %" G_GUINT64_FORMAT
                           " blocks are live after the last event, but not in the final segments",
                           name, state->unexplained);
}

/* Notes why segments were released, if any were. */
static void
note_releases (GememTraceInfo *info, const char *name, const GememPytorchReleases *releases,
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
        "%s: releases of the program that name no empty_cache: %" G_GUINT64_FORMAT
        "; if private pools ended there, it is not known what was in them, as only PyTorch 2.12 "
        "and later says so",
        name, releases->nameless);
  if (text->len > 0)
    gemem_trace_info_note (info, "releases", "%s: %s", name, text->str);
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
void
gemem_snapshot_keep_stacks (GememSnapshot *snapshot)
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

/* Says which allocator wrote the file: torch_npu's, if its blocks are padded (lists of divisions
 * make other sizes, and prove nothing) or a setting names it. */
static void
name_allocator (GememSnapshot *snapshot)
{
  GememTraceInfo *info = &snapshot->reader.info;
  GememPytorchSettings *settings = &snapshot->records.settings;
  const gboolean padded = snapshot->padded > 0 && snapshot->unpadded == 0
                          && settings->divisions[0] <= 1;

  settings->pad = padded || (settings->npu && snapshot->unpadded == 0) ? GEMEM_SNAPSHOT_NPU_PAD : 0;
  settings->npu |= padded && !snapshot->host;
  if (padded && !snapshot->host)
    gemem_trace_info_note (info, "note",
                           "torch_npu wrote this (inferred: %" G_GUINT64_FORMAT
                           " blocks are as long as its padding of 32 bytes makes them)",
                           snapshot->padded);
  info->allocator = g_strdup (snapshot->host  ? "pytorch-pinned"
                              : settings->npu ? "torch-npu"
                                              : "pytorch-caching");
  if (settings->configuration != NULL && *settings->configuration != '\0')
    gemem_trace_info_note (info,
                           settings->npu ? "PYTORCH_NPU_ALLOC_CONF" : "PYTORCH_CUDA_ALLOC_CONF",
                           "%s", settings->configuration);
}

/* Where the settings changed, the file has the last ones; these are the first, of which the text
 * alone is known. */
static void
begin_settings (GememSnapshot *snapshot)
{
  GememPytorchSettings *settings = &snapshot->records.settings;
  const gboolean npu = settings->npu;

  gemem_pytorch_settings_clear (settings);
  gemem_pytorch_settings_init (settings);
  settings->npu = npu;
  settings->configuration = g_strdup (snapshot->settings_before);
}

static char *
settings_text (const GememSnapshot *snapshot)
{
  const char *text = snapshot->settings_before;

  if (snapshot->host)
    return gemem_pytorch_settings_pinned (&snapshot->records.settings);
  if (snapshot->changes->len == 0)
    return gemem_pytorch_settings_text (&snapshot->records.settings);
  g_autofree char *quoted = text != NULL && *text != '\0' ? gemem_settings_quote (text) : NULL;
  return quoted != NULL ? g_strconcat ("conf=", quoted, NULL) : g_strdup ("");
}

/* A file of snapshot-writer.c says whose decisions are in it: "NAME:SETTINGS". */
static void
take_written (GememTraceInfo *info, const char *written)
{
  const gsize name = strcspn (written, ":");

  g_free (info->allocator);
  g_free (info->settings);
  info->allocator = g_strndup (written, name);
  info->settings = g_strdup (written + name + (written[name] == ':'));
}

/* Adds the version of PyTorch to the settings: the newest that it may be. */
static void
add_version (GememSnapshot *snapshot)
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

/* What follows for device @i.  @collects: the program has PyTorch collect garbage. */
static gboolean
settle_device (GememSnapshot *snapshot, guint i, gboolean collects, GError **error)
{
  GememSnapshotDevice *device = g_ptr_array_index (snapshot->devices, i);
  GememPytorchSettings *settings = &snapshot->records.settings;
  g_autoptr (GError) reason = NULL;

  if (!gemem_pytorch_state_finish (&device->state, settings, snapshot->truncated, &reason))
    {
      g_autofree char *place = gemem_snapshot_place (snapshot, i);
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: %s", place, reason->message);
      return FALSE;
    }
  for (guint s = 0; s < device->state.segments->len; s++)
    device->reserved += g_array_index (device->state.segments, GememPytorchSegment, s).size;
  const GememPytorchReleaseFacts facts = {
    .max_split_size = settings->max_split_size >= 0 ? (guint64) settings->max_split_size
                                                    : G_MAXUINT64,
    .collection_threshold = settings->garbage_collection_threshold,
    .initial = device->reserved,
    .capacity = device->told && device->limited == G_MAXINT64
                    ? (guint64) MAX ((gint64) device->reserved + device->could, 0)
                    : 0,
    .never_refused = snapshot->host || (snapshot->options.never_refused && !collects),
    .max_cached = snapshot->host && settings->pinned_max_cached >= 0
                      ? (guint64) settings->pinned_max_cached
                      : G_MAXUINT64,
    .private_pools = device->state.pool_segments->len > 0,
    .free_pool = snapshot->names_pools || snapshot->host
                     ? 0
                     : gemem_pytorch_state_free_pool (&device->state),
  };
  gemem_pytorch_releases_finish (&device->releases, &facts);
  for (guint s = 0; s < device->releases.strays->len; s++)
    {
      const GememPytorchStray *stray = &g_array_index (device->releases.strays, GememPytorchStray,
                                                       s);

      gemem_pytorch_state_gone (&device->state, stray->address, stray->size, stray->since,
                                stray->until, stray->pool);
    }
  gemem_pytorch_state_gone_all (&device->state);
  if (settings->memory_limit == 0 && !device->parts)
    settings->memory_limit = gemem_pytorch_releases_infer_limit (
        &device->releases, settings->garbage_collection_threshold, device->reserved);
  settle_phases (snapshot, device);
  return TRUE;
}

/* The device that was recorded.  Its size is not in the file: where a request failed, what was reserved
 * and what was free then is what the program could have of it; where that was enough, a limit of the program
 * refused, and nobody knows of more than it ever held: that from which garbage was collected may be too large, as a
 * collection that freed nothing leaves no trace. */
static void
settle_size (GememSnapshot *snapshot)
{
  GememTraceInfo *info = &snapshot->reader.info;
  /* a replay with it refuses by itself */
  const gboolean told = gemem_pytorch_settings_name (&snapshot->records.settings,
                                                     "per_process_memory_fraction");
  guint64 most = 0, could = 0;
  gboolean limited = FALSE;

  for (guint i = 0; i < snapshot->devices->len; i++)
    {
      const GememSnapshotDevice *device = snapshot->devices->pdata[i];
      const gint64 start = (gint64) device->reserved; /* before the first event */

      most = MAX (most, (guint64) MAX (start + device->most, 0));
      if (device->told)
        could = MAX (could, (guint64) MAX (start + device->could, 0));
      limited = limited || (device->limited != G_MAXINT64 && !device->parts && !told);
    }
  if (could > 0 && (most > 0 || !limited))
    {
      info->device = g_strdup_printf ("capacity=%" G_GUINT64_FORMAT,
                                      limited ? most : MAX (could, most));
      gemem_trace_info_note (
          info, "device", "%s",
          limited ? "what the program held at most, as a limit of its own refused more"
                  : "what the program had and what was free when it ran out");
    }
  else if (most > 0)
    info->device = g_strdup_printf ("at_least=%" G_GUINT64_FORMAT, most);
}

/* What the settings do not say. */
static void
note_settings (GememSnapshot *snapshot)
{
  GememTraceInfo *info = &snapshot->reader.info;
  const GememPytorchSettings *settings = &snapshot->records.settings;

  if (settings->memory_limit > 0)
    gemem_trace_info_note (
        info, "note",
        "memory_limit=%" G_GUINT64_FORMAT
        " is inferred from when garbage was collected; if the program's is known, give it",
        settings->memory_limit);
  if (snapshot->host && strstr (info->settings, "pinned_reserve_segment_size_mb=") != NULL
      && strstr (info->settings, "pinned_reserve_segment_size_mb=0") == NULL)
    gemem_trace_info_note (
        info, "note",
        "pieces of the reserved segment are recorded as if each were a call, so that decisions "
        "cannot be compared; a replay takes the whole segment");
  if (snapshot->plain && snapshot->expandable && snapshot->changes->len == 0)
    gemem_trace_info_note (
        info, "note",
        "segments were made both plain and expandable: the setting changed while the program ran, "
        "or a pool has an allocator of its own; a replay makes all of them expandable");
}

/* Events that are not there, or left out. */
static void
note_events (GememSnapshot *snapshot)
{
  GememTraceInfo *info = &snapshot->reader.info;

  if (snapshot->unknown > 0)
    gemem_trace_info_note (info, "note",
                           "events with an unknown action are left out: %" G_GUINT64_FORMAT
                           ", the first has \"%.40s\"",
                           snapshot->unknown, snapshot->unknown_action);
  if (snapshot->phases_lost > 0)
    gemem_trace_info_note (info, "note", "%" G_GUINT64_FORMAT " annotations beyond %u are left out",
                           snapshot->phases_lost, GEMEM_SNAPSHOT_PHASES);
}

/* Derives the facts of the trace from the first pass. */
gboolean
gemem_snapshot_settle (GememSnapshot *snapshot, GError **error)
{
  GememTraceInfo *info = &snapshot->reader.info;
  GememPytorchSettings *settings = &snapshot->records.settings;
  guint open = 0;

  /* copied, because the next pass resets the settings */
  const gboolean collects = settings->garbage_collection_threshold > 0;
  g_autofree char *written = g_steal_pointer (&settings->written_for);
  const gboolean ours = written != NULL && *written != '\0';

  if (snapshot->changes->len > 0)
    begin_settings (snapshot);
  else
    settings->expandable_segments |= snapshot->expandable; /* it can change at run time */

  if (snapshot->options.torch != NULL)
    gemem_trace_info_note (info, "PyTorch", "%s", snapshot->options.torch);
  else if (!ours)
    {
      g_autofree char *version = gemem_pytorch_records_version (&snapshot->records);
      if (version != NULL)
        gemem_trace_info_note (info, "PyTorch", "%s", version);
    }
  name_allocator (snapshot);
  for (guint i = 0; i < snapshot->devices->len; i++)
    {
      GememSnapshotDevice *device = g_ptr_array_index (snapshot->devices, i);

      device->told |= device->full && !ours;
      if (!settle_device (snapshot, i, collects, error))
        return FALSE;
      open += device->state.open;
    }
  settle_size (snapshot);
  info->settings = settings_text (snapshot);
  settle_part (snapshot);
  if (ours)
    take_written (info, written);
  else if (!settings->npu)
    add_version (snapshot);
  note_settings (snapshot);
  if (open > 0 && !gemem_snapshot_tail_pass (snapshot, error))
    return FALSE;
  if (snapshot->names > 0 && !gemem_snapshot_name_pass (snapshot, error))
    return FALSE;
  if (snapshot->accepted == 0)
    gemem_trace_info_note (
        info, "note",
        snapshot->devices->len == 0
            ? "no GPU memory was in use, and no events were recorded; call "
              "torch.cuda.memory._record_memory_history() before what is to be recorded"
            : "the snapshot holds a state and no events; call "
              "torch.cuda.memory._record_memory_history() before what is to be recorded");
  info->pinned = snapshot->host ? 0 : snapshot->marks;
  snapshot->has_time &= snapshot->accepted > 0;
  snapshot->origin = G_MAXUINT64;
  for (guint i = 0; i < snapshot->devices->len; i++)
    {
      GememSnapshotDevice *device = g_ptr_array_index (snapshot->devices, i);
      if (device->events > 0)
        snapshot->origin = MIN (snapshot->origin, device->first);
      device->last = device->first;
      g_autofree char *name = snapshot->host ? g_strdup ("host memory")
                                             : g_strdup_printf ("device %u", i);
      add_facts (snapshot, i, name);
      note_releases (info, name, &device->releases, collects, snapshot->names_pools);
    }
  info->flags |= GEMEM_TRACE_HAS_ADDRESSES | GEMEM_TRACE_HAS_SEGMENTS | GEMEM_TRACE_HAS_COMPLETION
                 | (snapshot->has_time ? GEMEM_TRACE_HAS_TIME : 0)
                 | (snapshot->host ? GEMEM_TRACE_BLOCK_SIZES : 0)
                 | (snapshot->truncated ? GEMEM_TRACE_TRUNCATED : 0);
  note_events (snapshot);
  return TRUE;
}
