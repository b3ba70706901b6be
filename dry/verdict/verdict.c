/* verdict.c - makes the traces of a run and gathers what was found in them.
 *
 * A process leaves a journal of its calls of runtime and driver and, if it used PyTorch, a snapshot
 * of the requests of PyTorch's allocator.  The snapshot becomes the trace: it says what the program
 * asked for, and by which line.  The journal then only tells how much the process held of each GPU,
 * whoever asked for it.
 */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>

#include "allocators/allocator.h"
#include "dry/verdict/verdict.h"
#include "traces/journal/format.h"
#include "traces/summary.h"

/* ---- facts about a process */

/* "2.11.0" of "2.11.0+cu130", "2.12.0" of "2.12.0a0+git1234"; NULL if @version is none. */
static char *
release_of (const char *version)
{
  gsize n = version != NULL ? strspn (version, "0123456789.") : 0;
  return n > 0 ? g_strndup (version, n) : NULL;
}

static void G_GNUC_PRINTF (2, 3) note (DryVerdict *verdict, const char *format, ...)
{
  va_list arguments;
  DryCount *count = g_new0 (DryCount, 1);

  va_start (arguments, format);
  count->name = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  count->count = 1;
  g_ptr_array_add (verdict->notes, count);
}

/* Says why a PyTorch of the process @pid uses no GPU of NVIDIA, if so; FALSE then. */
static gboolean
check_torch (const DryRun *run, gint64 pid, DryVerdict *verdict)
{
  g_autofree char *version = gemem_library_fact (run, pid, "torch", "version"),
                  *cuda = gemem_library_fact (run, pid, "torch", "cuda");
  g_autofree char *hip = gemem_library_fact (run, pid, "torch", "hip");

  if (version == NULL || (cuda != NULL && *cuda != '\0'))
    return TRUE;
  verdict->unusable = TRUE;
  if (hip != NULL && *hip != '\0')
    note (verdict,
          "this PyTorch (torch %s) is built for AMD's ROCm %s, which is not simulated; "
          "install one for CUDA: pip install torch",
          version, hip);
  else
    note (verdict,
          "this PyTorch (torch %s) is built for the CPU alone, so nothing of it can use a "
          "GPU; install one for CUDA (no GPU is needed): pip install torch",
          version);
  return FALSE;
}

/* The same for every process, whichever the program started; said once. */
static void
check_torches (const DryRun *run, DryVerdict *verdict)
{
  g_autoptr (GPtrArray) facts = gemem_launcher_journals (&run->folder, ".torch");
  gboolean fine = TRUE;

  for (guint i = 0; i < facts->len && fine; i++)
    fine = check_torch (run, ((const GememJournal *) facts->pdata[i])->pid, verdict);
}

/* Bytes of @memory held of each device, by the calls in @journal: array of guint64 by device.  *@host (may be
 * NULL): the same of the host, with managed memory where @managed_on_host. */
static GArray *
held_by (const GememJournal *journal, GememDeviceMemory memory, gboolean managed_on_host,
         guint64 *host)
{
  const GememLaunchFacts facts = {
    .format = "journal", .calls_only = TRUE, .managed_on_host = managed_on_host, .memory = memory
  };
  GArray *held = g_array_new (FALSE, TRUE, sizeof (guint64));
  g_autoptr (GememTraceReader) reader = gemem_launcher_open (journal, &facts, NULL);
  GememTraceSummary *summary = reader != NULL ? gemem_trace_summarise (reader, NULL) : NULL;

  for (guint i = 0; summary != NULL && i < summary->devices->len; i++)
    {
      const GememDeviceSummary *device = summary->devices->pdata[i];
      if (device->device == GEMEM_DEVICE_HOST && host != NULL)
        *host = device->peak_live;
      if (device->device == GEMEM_DEVICE_HOST)
        continue;
      if (held->len <= device->device)
        g_array_set_size (held, device->device + 1u);
      g_array_index (held, guint64, device->device) = device->peak_live;
    }
  if (summary != NULL)
    gemem_trace_summary_free (summary);
  return held;
}

/* Most pinned memory of the host at once, by the calls in @journal, whose most with managed memory is @host. */
static guint64
pinned_by (const GememJournal *journal, guint64 host)
{
  guint64 pinned = 0;

  if (host > 0)
    g_array_unref (held_by (journal, GEMEM_MEMORY_ALL, FALSE, &pinned));
  return pinned;
}

/* Raises @held to what process @pid itself said of each device, which has the unused memory of pools too;
 * one that was killed said nothing. */
static void
add_told (const DryRun *run, gint64 pid, GArray *held)
{
  const DryNote *note;

  for (guint at = 0;
       (note = gemem_dry_notes_next (run, GEMEM_DRY_NOTE_HELD, pid, -1, &at)) != NULL;)
    if (note->numbers[1] < held->len)
      {
        guint64 *bytes = &g_array_index (held, guint64, note->numbers[1]);
        *bytes = MAX (*bytes, note->numbers[2]);
      }
}

/* ---- traces */

static const GememJournal *
of_process (const GPtrArray *journals, gint64 pid)
{
  const GememJournal *found = NULL;
  for (guint i = 0; i < journals->len; i++)
    if (((const GememJournal *) journals->pdata[i])->pid == pid)
      found = journals->pdata[i];
  return found;
}

typedef struct
{
  const DryOptions *options;
  const DryRun *run;
  DryVerdict *verdict;
  const char *name, *ended; /* of the program */
  pid_t pid;
  gint64 main; /* the process whose trace is the output itself, where there are not several ranks */
  GHashTable *ranks;
  gboolean several; /* ranks */
  gboolean written;
} Gathering;

/* A process held @bytes of @device: its finding there, from number @known on, or a new one if nothing
 * of its allocator is there (NCCL, libraries). */
static void
set_held (Gathering *g, guint known, guint device, guint64 bytes, const char *path, gint64 pid)
{
  GPtrArray *findings = g->verdict->findings;

  for (guint i = known; i < findings->len; i++)
    {
      DryFinding *found = findings->pdata[i];
      if ((guint) found->device == device)
        {
          found->held = bytes;
          return;
        }
    }
  if (bytes > 0)
    {
      DryFinding *found = gemem_library_finding_new (path, pid, (int) device);
      found->held = found->peak_live = found->peak_reserved = bytes;
      g_ptr_array_add (findings, found);
    }
}

/* A process with requests of PyTorch's allocator may have made others, too, of which the trace says nothing. */
static void
note_library (DryVerdict *verdict, const GememJournal *journal)
{
  const GememLaunchFacts facts = { .format = "journal" };
  g_autoptr (GememTraceReader) reader = gemem_launcher_open (journal, &facts, NULL);
  const char *library = reader != NULL ? gemem_library_library_of (&reader->info) : NULL;

  if (library != NULL)
    note (verdict,
          "process %" G_GINT64_FORMAT
          " made requests to %s, too; the recording has those to PyTorch "
          "alone, and 'held in all' what both took",
          journal->pid, library);
}

/* Requests of PyTorch that the recording has at most; an event may be four of them. */
static guint64
history_length (void)
{
  const char *chosen = g_getenv (GEMEM_ENV_DRY_HISTORY);
  return chosen != NULL && *chosen != '\0' ? g_ascii_strtoull (chosen, NULL, 10) : 1000000;
}

static void
add_settings_note (const char *text, gpointer verdict)
{
  note (verdict, "%s", text);
}

/* What the allocator of the requests in the trace of @found has to say of its settings. */
static void
note_settings (DryVerdict *verdict, const DryFinding *found)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememTraceReader *reader = gemem_library_trace_open (found->path, NULL);

  if (reader != NULL && found->model != NULL
      && gemem_allocator_spec_parse (found->model, specs, NULL))
    gemem_allocator_spec_notes (specs->pdata[0], reader->info.settings, add_settings_note, verdict);
  if (reader != NULL)
    gemem_trace_close (reader);
}

/* Adds to @found, in the trace @path, what its replays say, and @beside: bytes of each device that are not
 * in the trace (NULL: none).  @torch: PyTorch's own history was read, which needs none of those replays. */
static void
complete_finding (Gathering *g, DryFinding *found, const char *path, gboolean torch,
                  const GArray *beside)
{
  g_autoptr (GError) error = NULL;

  const gboolean replayed = torch
                            || (gemem_library_jax_replay (g->options, g->run, found, &error)
                                && gemem_library_tensorflow_replay (g->options, g->run, found,
                                                                    &error));
  const gboolean aside = g->options->limit > 0; /* its words are not shown */
  if (!replayed || (!aside && !gemem_library_find_growth (g->options, found, &error)))
    {
      gemem_launcher_say ("%s: %s", path, error->message);
      g->verdict->lost++;
    }
  if (found->limit > 0 && beside != NULL && (guint) found->device < beside->len)
    found->beside = g_array_index (beside, guint64, found->device);
  if (found->late && found->events < history_length () / 4)
    note (g->verdict, "%s lacks requests that were made before PyTorch's history began",
          found->path);
  else if (found->late)
    note (g->verdict,
          "%s holds the last requests alone, as many as PyTorch's history keeps here; run fewer "
          "steps, or set GEMEM_DRY_HISTORY (default: 1000000)",
          found->path);
}

/* The GPU that the program ran on, as a recording says it; g_free(). */
static char *
device_of (const DryOptions *options)
{
  GString *text = g_string_new (NULL);

  if (options->capacity == options->gpu->memory)
    g_string_append_printf (text, "gpu=%s", options->gpu->name);
  else
    g_string_append_printf (text, "capacity=%" G_GUINT64_FORMAT, options->capacity);
  if (options->context > 0)
    g_string_append_printf (text, ",reserved_by_others=%" G_GUINT64_FORMAT, options->context);
  return g_string_free (text, FALSE);
}

/* Makes the trace of one process, from @snapshot if there is one. */
static void
add_process (Gathering *g, const GememJournal *journal, const GememJournal *snapshot)
{
  const GememJournal *source = snapshot != NULL ? snapshot : journal;
  const gboolean first = source->pid == g->main && !g->written;
  const gint64 rank = gemem_library_ranks_take (g->ranks, source->pid);
  g_autofree char *path = g->several && rank >= 0
                              ? gemem_library_ranks_output (g->options->output, rank)
                          : first ? g_strdup (g->options->output)
                                  : gemem_launcher_output (g->options->output, source);
  g_autofree char *version = gemem_library_fact (g->run, source->pid, "torch", "version");
  g_autofree char *release = release_of (version),
                  *refusals = gemem_library_fact (g->run, source->pid, "torch", "refusals");
  g_autofree char *gpu = device_of (g->options);
  g_autoptr (GArray) held = NULL, beside = NULL;
  const gboolean passes_on = snapshot == NULL && gemem_library_passes_on (g->run, source->pid);
  g_autofree char *bfc = passes_on ? gemem_library_bfc_settings (g->options, g->run, source->pid)
                                   : NULL;
  const guint64 left_out = gemem_library_jax_taken (g->options, g->run, source->pid);
  const guint known = g->verdict->findings->len;
  guint64 count, host = 0;

  if (gemem_launcher_still_runs (source, g->pid))
    {
      note (g->verdict,
            "process %" G_GINT64_FORMAT " still runs; its recording is %s, which "
            "gemem-sim reads",
            source->pid, source->path);
      g->verdict->lost++;
      return;
    }
  /* with a JAX that passes on its requests only what it has asked for counts */
  held = journal != NULL && (snapshot != NULL || left_out == 0)
             ? held_by (journal, GEMEM_MEMORY_ALL, TRUE, &host)
             : NULL;
  if (passes_on)
    beside = held_by (journal, GEMEM_MEMORY_BESIDE_POOLS, TRUE, &host);
  if (snapshot != NULL && journal != NULL)
    note_library (g->verdict, journal);
  if (held != NULL && held->len > 0)
    add_told (g->run, source->pid, held);
  const guint64 pinned = journal != NULL ? pinned_by (journal, host) : 0;
  const GememLaunchFacts facts = { .format = snapshot != NULL ? "pytorch-snapshot" : "journal",
                                   .torch = release,
                                   .device = gpu,
                                   .allocator = bfc != NULL ? "tf-bfc" : NULL,
                                   .settings = bfc,
                                   .framework = left_out > 0 ? GEMEM_TRACE_FRAMEWORK_JAX : NULL,
                                   .ended = first ? g->ended : NULL,
                                   .keeps_earlier = g->verdict->status != 0,
                                   .managed_on_host = TRUE,
                                   .never_refused = g_strcmp0 (refusals, "0") == 0,
                                   .left_out = left_out,
                                   .memory = passes_on ? GEMEM_MEMORY_OF_POOLS : GEMEM_MEMORY_ALL,
                                   .host = snapshot != NULL && pinned > 0 ? journal : NULL };
  if (!gemem_launcher_convert (source, &facts, path, &count))
    {
      g->verdict->lost++;
      return;
    }
  g->written |= first || (g->several && rank >= 0);
  if (snapshot != NULL && journal != NULL)
    gemem_folder_unlink (journal->folder, journal->path);
  if (count > 0
      && !gemem_library_findings_add (g->options, path, source->pid, version, g->verdict->findings))
    g->verdict->lost++;
  if (known < g->verdict->findings->len)
    note_settings (g->verdict, g->verdict->findings->pdata[known]);
  for (guint device = 0; held != NULL && device < held->len; device++)
    set_held (g, known, device, g_array_index (held, guint64, device), path, source->pid);
  if (host > 0
      && known == g->verdict->findings->len) /* it holds nothing of a GPU but the context */
    g_ptr_array_add (g->verdict->findings, gemem_library_finding_new (path, source->pid, 0));
  for (guint i = known; i < g->verdict->findings->len; i++)
    {
      DryFinding *found = g->verdict->findings->pdata[i];

      found->rank = rank;
      found->pinned = pinned;
      complete_finding (g, found, path, snapshot != NULL, beside);
    }
}

/* The program made no CUDA calls. */
static void
note_nothing (Gathering *g, const GememLaunchFacts *facts)
{
  const gboolean earlier = gemem_launcher_keeps (g->options->output);
  guint64 count;

  if (gemem_launcher_convert (NULL, facts, g->options->output, &count))
    note (g->verdict, "%s made no CUDA calls; %s %s%s", g->name, g->options->output,
          earlier ? "is left as it was" : "holds no events",
          g->verdict->status != 0
              ? "; what runs in an emptied environment (env -i, sudo) is not seen"
              : "");
}

static void
gather (Gathering *g)
{
  g_autoptr (GPtrArray) journals = gemem_launcher_journals (&g->run->folder, ".gmj");
  g_autoptr (GPtrArray) snapshots = gemem_launcher_journals (&g->run->folder, ".pickle");
  const GememJournal *main = gemem_launcher_main (snapshots->len > 0 ? snapshots : journals,
                                                  g->pid);

  if (!gemem_launcher_finds (&g->run->folder))
    {
      g->verdict->lost++;
      return;
    }
  g->main = main != NULL ? main->pid : 0;
  g_autoptr (GHashTable) known = gemem_library_ranks_read (g->run);
  g->ranks = known;
  g->several = g_hash_table_size (known) > 1;
  for (guint i = 0; i < snapshots->len; i++)
    {
      const GememJournal *snapshot = snapshots->pdata[i];
      add_process (g, of_process (journals, snapshot->pid), snapshot);
    }
  for (guint i = 0; i < journals->len; i++)
    {
      const GememJournal *journal = journals->pdata[i];
      if (of_process (snapshots, journal->pid) == NULL
          || of_process (journals, journal->pid) != journal)
        add_process (g, journal, NULL);
    }
  const GememLaunchFacts facts = { .ended = g->ended, .keeps_earlier = TRUE };
  if (snapshots->len + journals->len == 0
      && !gemem_folder_has_space (&g->run->folder, JOURNAL_BLOCK))
    {
      gemem_launcher_say (
          "%s: nothing could be recorded there; free some space or name another file "
          "with -o",
          g->run->folder.path);
      g->verdict->lost++;
    }
  if (!g->written && g->verdict->lost == 0)
    note_nothing (g, &facts);
}

/* ---- the whole */

static void
finding_free (gpointer data)
{
  DryFinding *found = data;
  g_free (found->path);
  g_free (found->allocator);
  g_free (found->model);
  g_free (found->live_by);
  g_free (found->reserved_by);
  g_free (found->oom_by);
  g_free (found->nccl_on);
  g_free (found->refused_by);
  g_free (found->growth);
  g_free (found->growth_left);
  g_array_unref (found->orders);
  g_ptr_array_unref (found->only_if);
  g_free (found);
}

DryVerdict *
gemem_library_verdict_new (const DryOptions *options, const DryRun *run, const char *name,
                           pid_t pid, int status, const char *not_printed)
{
  DryVerdict *verdict = g_new0 (DryVerdict, 1);
  g_autofree char *ended = gemem_launcher_ended (status);
  Gathering gathering = {
    .options = options, .run = run, .verdict = verdict, .name = name, .ended = ended, .pid = pid
  };

  verdict->status = status;
  verdict->not_printed = not_printed;
  verdict->findings = g_ptr_array_new_with_free_func (finding_free);
  verdict->only_if = g_ptr_array_new_with_free_func (g_free);
  gemem_dry_counts_init (verdict);
  if (g_file_test ("/dev/nvidiactl", G_FILE_TEST_EXISTS))
    note (verdict, "this machine has a GPU, which was not used; gemem-record records on it");
  check_torches (run, verdict);
  gather (&gathering);
  gemem_dry_notes_read (run, verdict);
  gemem_library_said_read (run, verdict);
  for (guint i = 0; i < verdict->findings->len; i++)
    gemem_dry_notes_process (run, verdict->findings->pdata[i]);
  gemem_library_jax_forget_pools (verdict);
  gemem_library_judge (options, verdict);
  return verdict;
}

void
gemem_library_verdict_free (DryVerdict *verdict)
{
  if (verdict == NULL)
    return;
  g_ptr_array_unref (verdict->findings);
  g_ptr_array_unref (verdict->only_if);
  gemem_dry_counts_clear (verdict);
  gemem_library_said_clear (verdict);
  g_free (verdict->tried_numbers.text);
  g_free (verdict->tried_truths.text);
  g_free (verdict->tried_drawn.text);
  g_free (verdict->tried_late.text);
  g_free (verdict->tried_times.text);
  gemem_library_verdict_free (verdict->most);
  gemem_library_verdict_free (verdict->late);
  gemem_library_verdict_free (verdict->chosen);
  g_free (verdict);
}
