/* findings.c - what a recording of a dry run says: peaks, the lines that raised them, refused
 * requests, and the bracket over address orders.
 *
 * The program's own allocator ran, so its recording is the answer; the replays add two things.  With
 * the recorded addresses ours must take the same decisions, one by one, else it is said.  With other
 * orders of addresses ties between blocks are decided otherwise, as they may be on the GPU, whose
 * driver places memory as it likes: the peaks over several orders are the bracket.
 */
#include "config.h"

#include <string.h>

#include "dry/verdict/verdict.h"
#include "sim/engine/replay.h"
#include "traces/attribution.h"
#include "traces/journal/journal.h"
#include "traces/summary.h"

#define PYTORCH "pytorch-caching"

GememTraceReader *
gemem_library_trace_open (gpointer path, GError **error)
{
  return gemem_trace_open (path, NULL, NULL, error);
}

/* ---- one pass over the events: where the peaks are, and who raised them */

/* Who raised a peak, as far as it is known. */
typedef struct
{
  GememAttribution by;
  guint32 tag;
} Place;

typedef struct
{
  GememAttributor attributor;
  guint16 device;
  guint64 reserved;
  Place live, reserved_most, oom;
} Walk;

static void
walk_event (DryFinding *found, Walk *walk, const GememTraceEvent *event, guint64 seq)
{
  const gboolean more = event->kind == GEMEM_EVENT_SEGMENT_ALLOC
                        || event->kind == GEMEM_EVENT_SEGMENT_MAP;
  const Place place = { gemem_attributor_next (&walk->attributor, event), event->tag };

  if ((event->flags & GEMEM_EVENT_INITIAL) != 0)
    found->late = TRUE;
  if (seq == found->peak_live_seq)
    walk->live = place;
  if (more)
    walk->reserved += event->size;
  else if (event->kind == GEMEM_EVENT_SEGMENT_FREE || event->kind == GEMEM_EVENT_SEGMENT_UNMAP)
    walk->reserved -= MIN (walk->reserved, event->size);
  else if (event->kind == GEMEM_EVENT_ALLOC)
    found->after_ooms++;
  else if (event->kind == GEMEM_EVENT_OOM)
    {
      found->after_ooms = 0;
      if (found->oom_size == 0)
        {
          found->oom_seq = seq;
          found->oom_size = event->size;
          walk->oom = place;
        }
    }
  if (more && walk->reserved > found->peak_reserved)
    {
      found->peak_reserved = walk->reserved;
      found->peak_reserved_seq = seq;
      walk->reserved_most = place;
      walk->reserved_most.tag = GEMEM_NO_TAG;
    }
}

/* NULL: nothing is known. */
static char *
line_of (const GememTraceInfo *info, const Place *place)
{
  GString *text = g_string_new (NULL);

  gemem_attribution_append (text, info, &place->by, TRUE, place->tag);
  return g_string_free (text, text->len == 0);
}

static gboolean
find_lines (DryFinding *found, GError **error)
{
  g_autoptr (GememTraceReader) reader = gemem_library_trace_open (found->path, error);
  Walk walk = { .device = (guint16) found->device };
  const GememTraceEvent *events;
  guint64 seq = 0;
  gssize n = -1;

  gemem_attributor_init (&walk.attributor, reader != NULL ? &reader->info : NULL);
  while (reader != NULL && (n = gemem_trace_next (reader, &events, error)) > 0)
    for (gssize i = 0; i < n; i++, seq++)
      if (events[i].device == walk.device)
        walk_event (found, &walk, &events[i], seq);
  gemem_attributor_clear (&walk.attributor);
  if (n < 0)
    return FALSE;
  found->live_by = line_of (&reader->info, &walk.live);
  found->reserved_by = line_of (&reader->info, &walk.reserved_most);
  found->oom_by = line_of (&reader->info, &walk.oom);
  return TRUE;
}

/* ---- replays */

/* The name of order @number, and how the simulated device is told it.  That of CUDA's driver counts the
 * pages that a request takes, so it is for PyTorch's segments, which are whole pages. */
static const char *
name_order (const DryFinding *found, int number, char **setting)
{
  static const char *const names[][2] = { { "cuda", "cuda" },
                                          { "ascending", "bump" },
                                          { "descending", "descending" } };
  const GememAllocatorClass *klass = gemem_allocator_find (found->model, NULL);
  const int from = klass != NULL && (klass->capabilities & GEMEM_CAP_CUDA) != 0 ? 0 : 1;
  const int known = (int) G_N_ELEMENTS (names) - from;

  if (number < known)
    {
      *setting = g_strdup (names[from + number][1]);
      return names[from + number][0];
    }
  *setting = g_strdup_printf ("random,seed=%d", number - known + 1);
  return "random";
}

static GememResult *
replay (const DryOptions *options, const DryFinding *found, const GememAllocatorSpec *allocator,
        const char *address, GError **error)
{
  g_autofree char *device = g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT
                                             ",reserved_by_others=%" G_GUINT64_FORMAT ",address=%s",
                                             options->capacity, options->context, address);
  const GememJob job = {
    .allocator = allocator,
    .device_spec = device,
    .device_ordinal = found->device,
    .source = gemem_library_trace_open,
    .source_data = found->path,
    .use_trace_settings = TRUE,
    .allow_partial = TRUE,
  };
  return gemem_job_run (&job, error);
}

static gboolean
replay_orders (const DryOptions *options, DryFinding *found, GError **error)
{
  g_autoptr (GPtrArray)
      allocators = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GememResult) own = NULL;

  if (!gemem_allocator_spec_parse (found->model, allocators, error)
      || (own = replay (options, found, allocators->pdata[0], "recorded", error)) == NULL)
    return FALSE;
  found->compared = own->fidelity.compared;
  found->equal = own->fidelity.equal;
  for (int i = 0; i < options->orders; i++)
    {
      g_autofree char *setting = NULL;
      DryOrder order = { .order = name_order (found, i, &setting) };
      g_autoptr (GememResult)
          result = replay (options, found, allocators->pdata[0], setting, error);
      if (result == NULL)
        return FALSE;
      order.peak_reserved = result->peak_reserved;
      order.ooms = gemem_result_new_ooms (result);
      g_array_append_val (found->orders, order);
    }
  return TRUE;
}

/* ---- */

const char *
gemem_library_library_of (const GememTraceInfo *info)
{
  for (guint i = 0; i < info->provenance->len; i++)
    {
      const char *note = info->provenance->pdata[i];
      if (g_str_has_prefix (note, GEMEM_JOURNAL_REQUESTS ": "))
        return note + strlen (GEMEM_JOURNAL_REQUESTS ": ");
    }
  return NULL;
}

/* What made the requests of @info: "PyTorch 2.11.0, expandable_segments=true"; NULL: the program. */
static char *
name_allocator (const GememTraceInfo *info, const char *version)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const char *library = gemem_library_library_of (info);

  /* JAX's and TensorFlow's passed on what is recorded: jax.c and tensorflow.c replay it */
  if (info->allocator == NULL || strcmp (info->allocator, "tf-bfc") == 0)
    return NULL;
  if (library != NULL)
    g_string_assign (text, library);
  else if (strcmp (info->allocator, PYTORCH) == 0)
    g_string_printf (text, "PyTorch%s%s", version != NULL ? " " : "",
                     version != NULL ? version : "");
  else
    return g_strdup (info->allocator);
  g_auto (GStrv) settings = g_strsplit (info->settings != NULL ? info->settings : "", ",", -1);
  for (guint i = 0; settings[i] != NULL; i++)
    if (strcmp (settings[i], "tie=recorded") != 0 /* how we follow the recording */
        && ((version == NULL && library == NULL) || !g_str_has_prefix (settings[i], "version=")))
      g_string_append_printf (text, ", %s", settings[i]);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

DryFinding *
gemem_library_finding_new (const char *path, gint64 pid, int device)
{
  DryFinding *found = g_new0 (DryFinding, 1);

  found->path = g_strdup (path);
  found->pid = pid;
  found->rank = -1;
  found->device = found->gpu = device;
  found->orders = g_array_new (FALSE, FALSE, sizeof (DryOrder));
  found->only_if = g_ptr_array_new_with_free_func (g_free);
  return found;
}

static gboolean
add_device (const DryOptions *options, const DryFinding *common, const GememDeviceSummary *device,
            GPtrArray *findings, GError **error)
{
  DryFinding *found = gemem_library_finding_new (common->path, common->pid, device->device);

  found->model = g_strdup (common->model);
  found->allocator = g_strdup (common->allocator);
  found->events = device->events;
  found->peak_live = device->peak_live;
  found->peak_live_seq = device->peak_live_seq;
  found->ooms = MAX (device->failed, device->by_kind[GEMEM_EVENT_OOM]);
  g_ptr_array_add (findings, found);
  if (!find_lines (found, error))
    return FALSE;
  if (found->model != NULL)
    return replay_orders (options, found, error);
  found->peak_reserved = found->held = found->peak_live;
  found->peak_reserved_seq = found->peak_live_seq;
  return TRUE;
}

/* TRUE if the program asked a device for memory: then those of which it only asked are of no interest. */
static gboolean
any_used (const GememTraceSummary *summary)
{
  for (guint i = 0; i < summary->devices->len; i++)
    {
      const GememDeviceSummary *device = summary->devices->pdata[i];
      if (device->device != GEMEM_DEVICE_HOST && device->peak_live > 0)
        return TRUE;
    }
  return FALSE;
}

gboolean
gemem_library_findings_add (const DryOptions *options, const char *path, gint64 pid,
                            const char *version, GPtrArray *findings)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GememTraceReader) reader = gemem_library_trace_open ((gpointer) path, &error);
  GememTraceSummary *summary = reader != NULL ? gemem_trace_summarise (reader, &error) : NULL;
  gboolean ok = summary != NULL;
  DryFinding common = { .path = (char *) path, .pid = pid };

  if (ok)
    {
      common.allocator = name_allocator (&reader->info, version);
      common.model = common.allocator != NULL ? g_strdup (reader->info.allocator) : NULL;
    }
  for (guint i = 0; ok && i < summary->devices->len; i++)
    {
      const GememDeviceSummary *device = summary->devices->pdata[i];
      if (device->device != GEMEM_DEVICE_HOST && device->events > 0
          && (device->peak_live > 0 || device->failed > 0 || !any_used (summary)))
        ok = add_device (options, &common, device, findings, &error);
    }
  if (summary != NULL)
    gemem_trace_summary_free (summary);
  g_free (common.allocator);
  g_free (common.model);
  if (!ok)
    gemem_launcher_say ("%s: %s", path, error->message);
  return ok;
}
