/* info-idle.c - see info-idle.h.
 *
 * Why: `replay -v` and `advise` tell it of the peak alone; what lies idle at another moment says why a
 * later request found no space.
 *
 * Invariants: the rows are those of sim/engine/idle.h, and add up to reserved - live exactly; the trace
 * is replayed as `replay` does it, by the allocator that recorded it unless -a names another.
 */
#include "config.h"

#include <string.h>

#include "base/io/json-text.h"
#include "base/text.h"
#include "base/units.h"
#include "sim/cli/info-idle.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/cli/settings-notes.h"
#include "sim/cli/source.h"
#include "sim/report/report.h"
#include "traces/summary.h"

static char *moment_text, *allocator_text, *device_text;

const GOptionEntry gemem_info_idle_entries[] = {
  { "idle", 0, G_OPTION_FLAG_OPTIONAL_ARG, G_OPTION_ARG_STRING, &moment_text,
    "Who holds what is reserved and not in use, by cause: at the reserved peak of a replay (the "
    "default), its first failed request, or after an event",
    "peak|failure|EVENT" },
  { "allocator", 'a', 0, G_OPTION_ARG_STRING, &allocator_text,
    "With --idle: replay this allocator (default: the recorded one)", "SPEC" },
  { "device", 'd', 0, G_OPTION_ARG_STRING, &device_text,
    "With --idle: replay on this device (default: the recorded one)", "SPEC" },
  { NULL }
};

typedef enum
{
  AT_PEAK,
  AT_FAILURE,
  AT_EVENT,
} Moment;

/* What the options ask for. */
typedef struct
{
  Moment moment;
  guint64 event;
  const char *device; /* NULL: the recorded one */
  gboolean json;
} Question;

typedef struct
{
  const Question *question;
  GememSourceFile *file;
  GememAllocatorSpec *spec;
  gboolean assumed; /* nothing says that it is this allocator */
} Replay;

gboolean
gemem_info_idle_wanted (void)
{
  return moment_text != NULL;
}

/* ---- options */

static gboolean
parse_moment (Question *question, GError **error)
{
  static const char *const words[] = { "peak", "failure", NULL };
  const char *near;

  question->moment = strcmp (moment_text, "failure") == 0 ? AT_FAILURE : AT_PEAK;
  if (question->moment == AT_FAILURE || *moment_text == '\0' || strcmp (moment_text, "peak") == 0)
    return TRUE;
  question->moment = AT_EVENT;
  if (gemem_parse_uint (moment_text, &question->event, NULL))
    return TRUE;
  near = gemem_suggest (moment_text, words);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "--idle=%s: %s%s%swrite peak, failure or the number of an event, from 0",
               moment_text, near != NULL ? "did you mean " : "", near != NULL ? near : "",
               near != NULL ? "? " : "");
  return FALSE;
}

/* The allocator of -a, else the recorded one. */
static gboolean
choose_allocator (Replay *replay, GError **error)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);

  if (!(allocator_text != NULL ? gemem_allocator_spec_parse (allocator_text, specs, error)
                               : gemem_source_recorder (replay->file, FALSE, NULL, specs,
                                                        &replay->assumed, NULL, error)))
    return FALSE;
  if (specs->len > 1)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "-a %s: --idle is about one allocator; give one", allocator_text);
      return FALSE;
    }
  replay->spec = g_ptr_array_steal_index (specs, 0);
  gemem_settings_note_one (replay->spec, replay->file, FALSE);
  return TRUE;
}

/* ---- moments that the trace does not have */

static void
refuse_event (const Replay *replay, GError **error)
{
  GememTraceReader *reader = gemem_source_file_open (replay->file, error);
  GememTraceSummary *summary = reader != NULL ? gemem_trace_summarise (reader, error) : NULL;

  if (summary != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s: there is no event %" G_GUINT64_FORMAT
                 "; write --idle=N with N from 0 to %" G_GINT64_FORMAT ", or peak, failure",
                 replay->file->path, replay->question->event, (gint64) summary->events - 1);
  gemem_trace_summary_free (summary);
  gemem_trace_close (reader);
}

/* ---- the replay */

/* Makes what was idle at the first failure the answer. */
static gboolean
take_failure (const Replay *replay, GememResult *result, GError **error)
{
  const GememOom *oom;

  if (result->oom->len == 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: no request fails; use --idle=peak, or a smaller device (-d 16GiB)",
                   replay->file->path);
      return FALSE;
    }
  oom = &g_array_index (result->oom, GememOom, 0);
  g_array_unref (result->idle);
  result->idle = g_array_ref (result->idle_at_failure);
  result->idle_reserved = oom->reserved;
  result->idle_live = oom->live;
  result->idle_stream = oom->stream;
  return TRUE;
}

/* FALSE with @error if nothing was taken, since the run did not come to the event. */
static gboolean
check_idle (const Replay *replay, const GememResult *result, GError **error)
{
  if (result->idle_known || replay->question->moment != AT_EVENT)
    return TRUE;
  if (result->failure != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s: the replay ended before event %" G_GUINT64_FORMAT ": %s", replay->file->path,
                 replay->question->event, result->failure);
  else
    refuse_event (replay, error);
  return FALSE;
}

/* What device @ordinal of the trace has idle at the moment; NULL with @error. */
static GememResult *
replay_device (const Replay *replay, int ordinal, GError **error)
{
  const Question *question = replay->question;
  const GememJob job = {
    .allocator = replay->spec,
    .device_spec = question->device,
    .device_ordinal = ordinal,
    .source = gemem_source_file_open,
    .source_data = replay->file,
    .graph = replay->file->graph,
    .use_trace_settings = TRUE,
    .allow_partial = gemem_source_allow_partial (),
    .interrupted = &gemem_interrupted,
    .keep_origins = TRUE,
    .keep_idle = TRUE,
    .idle_event = question->moment == AT_EVENT ? &question->event : NULL,
  };
  GememResult *result = NULL;

  gemem_progress_run_jobs ("replaying", &job, 1, 0, gemem_source_path_of_job, &result, error);
  if (result == NULL
      || (question->moment == AT_FAILURE ? take_failure (replay, result, error)
                                         : check_idle (replay, result, error)))
    return result;
  gemem_result_free (result);
  return NULL;
}

/* ---- the answer */

static guint64
event_of (const Question *question, const GememResult *result)
{
  return question->moment == AT_EVENT     ? question->event
         : question->moment == AT_FAILURE ? g_array_index (result->oom, GememOom, 0).seq
                                          : result->peak_reserved_seq;
}

static void
append_text (GString *out, const Replay *replay, const GememResult *result)
{
  static const char *const moments[] = { "at the reserved peak, event",
                                         "at the first failure, event", "after event" };
  char held[GEMEM_FORMAT_MAX];
  g_autofree char *when = g_strdup_printf ("%s %" G_GUINT64_FORMAT,
                                           moments[replay->question->moment],
                                           event_of (replay->question, result));

  g_autofree char *path = gemem_text_line (replay->file->path);
  g_string_append_printf (out, "%s: %s%s, device %d of the recording\n", path, result->label,
                          replay->assumed ? " (assumed; -a NAME chooses another)" : "",
                          result->device_ordinal);
  if (result->idle->len == 0)
    g_string_append_printf (out, "\nnothing is idle %s: %s held\n", when,
                            gemem_format_size (held, result->idle_reserved));
  gemem_report_idle_at (out, when, result->idle, result->idle_stream, result->idle_reserved,
                        result->idle_live, G_MAXUINT - 1);
}

static void
append_json (GString *out, const Replay *replay, const GememResult *result)
{
  g_string_append (out, "{\"schema\": \"gemem-idle\", \"version\": 1");
  gemem_json_append_text_member (out, "trace", replay->file->path);
  gemem_json_append_text_member (out, "allocator", result->label);
  gemem_json_append_bool_member (out, "allocator_assumed", replay->assumed);
  gemem_json_append_number_member (out, "device", (guint64) result->device_ordinal);
  gemem_json_append_text_member (out, "at", *moment_text != '\0' ? moment_text : "peak");
  gemem_json_append_number_member (out, "event", event_of (replay->question, result));
  gemem_json_append_number_member (out, "reserved_bytes", result->idle_reserved);
  gemem_json_append_number_member (out, "live_bytes", result->idle_live);
  gemem_json_append_array_member (out, "idle", result);
  g_string_append_c (out, '}');
}

static gboolean
show_devices (const Replay *replay, GString *out, gboolean *partial, GError **error)
{
  g_autoptr (GArray) ordinals = gemem_source_devices (replay->file, error);

  for (guint i = 0; ordinals != NULL && i < ordinals->len; i++)
    {
      g_autoptr (GememResult)
          result = replay_device (replay, g_array_index (ordinals, guint16, i), error);

      if (result == NULL)
        return FALSE;
      *partial |= result->partial;
      if (out->len > 0)
        g_string_append (out, replay->question->json ? ",\n" : "\n");
      (replay->question->json ? append_json : append_text) (out, replay, result);
    }
  return ordinals != NULL;
}

static gboolean
show (const char *path, const Question *question, GString *out, gboolean *partial, GError **error)
{
  Replay replay = { .question = question };
  gboolean ok;

  replay.file = gemem_source_file_new (path, error);
  ok = replay.file != NULL && gemem_source_file_hold (replay.file, FALSE, error)
       && choose_allocator (&replay, error) && show_devices (&replay, out, partial, error);
  g_clear_pointer (&replay.spec, gemem_allocator_spec_free);
  gemem_source_file_free (replay.file);
  return ok;
}

int
gemem_info_idle (char **paths, const char *format, GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);
  g_autofree char *device = NULL;
  gboolean partial = FALSE;
  Question question = { .moment = AT_PEAK };

  if (!gemem_want_table_or_json (format, &question.json, error) || !parse_moment (&question, error)
      || (device = gemem_want_simulated (device_text, NULL, error)) == NULL)
    return 2;
  question.device = device_text != NULL ? device : NULL;
  gemem_catch_interrupts ();
  for (; *paths != NULL; paths++)
    if (!show (*paths, &question, out, &partial, error))
      return 1;
  gemem_interrupts_over ();
  if (question.json)
    {
      g_string_prepend_c (out, '[');
      g_string_append (out, "]\n");
    }
  if (!gemem_put (NULL, out->str, out->len, error))
    return 1;
  return partial && gemem_source_allow_partial () ? 3 : 0;
}
