/* progress.c - see progress.h.
 *
 * A phase has parts: one for what is read, or one per job.  A part is a sequence of readings of a
 * trace (a job reads it once per pass and epoch), each of which is first opened, then delivers
 * events.  Bytes measure a reading while it is opened (some formats are parsed whole there) and
 * where nobody knows the number of events; events measure it from then on.  Their number is what
 * the file says, or what an earlier reading of the same file delivered.
 *
 * Locks: `lock` guards everything but the counters of the parts, which are atomic.  It is
 * held while the line is drawn and while anything else is printed, so neither can come
 * between the other.
 */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io/input.h"
#include "base/io/terminal.h"
#include "base/text.h"
#include "sim/cli/cli.h"
#include "sim/cli/progress.h"

#define DELAY_US (G_USEC_PER_SEC / 2)
#define INTERVAL_US (G_USEC_PER_SEC / 5)
#define ERASE "\r\033[K"
#define SMALL_FILE (1 << 20) /* bytes; read in one go whatever the format */
#define NAME_MIN 8           /* columns, below which a name says nothing */
#define UNKNOWN (-1.0)

typedef struct
{
  GememInputMeter meter;
  GememJobProgress job;
  guint64 delivered; /* events of this reading; atomic */
  /* under the lock */
  char *path;              /* of the reader; NULL while it is opened */
  guint64 events;          /* that the reading will deliver; 0: unknown */
  double opened;           /* share of the bytes read when it was opened */
  guint readings;          /* begun */
  double weight;           /* of a job */
  GememTraceSource source; /* of a job; the part is its data */
  gpointer source_data;
} Part;

static struct
{
  GMutex lock;
  GCond changed;
  GThread *thread;
  GHashTable *known; /* path -> guint64: events that a whole reading delivered */
  char *what;
  const char *unit; /* of steps or parts; NULL: neither is counted */
  Part *parts;
  guint n_parts;
  gint steps, n_steps; /* n_steps 0: the parts are what counts; steps: atomic */
  gint share;          /* of the present step, in 1000ths; atomic */
  gint64 start;
  double most; /* the largest share shown: it never goes back */
  gboolean active;
  volatile sig_atomic_t shown;
} phase;

/* ---- how far */

static double
share_of_bytes (const GememInputMeter *meter)
{
  const guint64 size = __atomic_load_n (&meter->size, __ATOMIC_RELAXED);
  const guint64 position = __atomic_load_n (&meter->position, __ATOMIC_RELAXED);

  return size == 0 ? UNKNOWN : MIN ((double) position / (double) size, 1.0);
}

/* Of the present reading of @part. */
static double
share_of_reading (const Part *part)
{
  const double bytes = share_of_bytes (&part->meter);
  const guint64 delivered = __atomic_load_n (&part->delivered, __ATOMIC_RELAXED);

  if (part->path == NULL) /* half, in case that it is all parsed before the first event */
    return bytes == UNKNOWN ? UNKNOWN : bytes / 2;
  if (part->events == 0)
    return bytes < 1 ? bytes : UNKNOWN;
  return part->opened / 2
         + (1 - part->opened / 2) * MIN ((double) delivered / (double) part->events, 1.0);
}

static double
share_of_part (const Part *part)
{
  const gint left = MAX (g_atomic_int_get (&part->job.openings_left), 0);
  double reading;

  if (g_atomic_int_get (&part->job.ended))
    return 1;
  if (part->source != NULL && part->readings == 0)
    return 0;
  reading = share_of_reading (part);
  if (part->source == NULL)
    return reading;
  if (reading == UNKNOWN && part->readings + left == 1)
    return UNKNOWN;
  return (part->readings - 1 + MAX (reading, 0)) / (part->readings + left);
}

static double
share_of_phase (guint *ended)
{
  const gint steps = g_atomic_int_get (&phase.steps);
  const double done = steps + g_atomic_int_get (&phase.share) / 1000.0;
  double sum = 0, weights = 0;

  *ended = (guint) steps;
  if (phase.n_steps > 0)
    return MIN (done / phase.n_steps, 1.0);
  for (guint i = 0; i < phase.n_parts; i++)
    {
      const double share = share_of_part (&phase.parts[i]);

      *ended += g_atomic_int_get (&phase.parts[i].job.ended) ? 1 : 0;
      if (phase.n_parts == 1)
        return share;
      sum += MAX (share, 0) * phase.parts[i].weight;
      weights += phase.parts[i].weight;
    }
  return weights > 0 ? sum / weights : UNKNOWN;
}

/* ---- the line */

static void
append_time (GString *out, gint64 us)
{
  const gint64 s = (us + G_USEC_PER_SEC - 1) / G_USEC_PER_SEC;

  if (s < 60)
    g_string_append_printf (out, "%d s", (int) s);
  else if (s < 3600)
    g_string_append_printf (out, "%d min %02d s", (int) (s / 60), (int) (s % 60));
  else
    g_string_append_printf (out, "%" G_GINT64_FORMAT " h %02d min", s / 3600, (int) (s / 60 % 60));
}

/* " 34 %, 12 of 36 runs, 1 min 05 s left" */
static void
append_numbers (GString *out, gint64 elapsed)
{
  const guint of = phase.n_steps > 0 ? (guint) phase.n_steps : phase.n_parts;
  guint ended;
  const double share = share_of_phase (&ended);

  phase.most = MAX (phase.most, share);
  if (share != UNKNOWN)
    g_string_append_printf (out, " %d %%,", (int) (phase.most * 100));
  else if (__atomic_load_n (&phase.parts[0].delivered, __ATOMIC_RELAXED) > 0)
    g_string_append_printf (out, " %" G_GUINT64_FORMAT " events,",
                            __atomic_load_n (&phase.parts[0].delivered, __ATOMIC_RELAXED));
  if (phase.unit != NULL)
    g_string_append_printf (out, " %u of %u %s,", MIN (ended, of), of, phase.unit);
  g_string_append_c (out, ' ');
  if (share != UNKNOWN && phase.most >= 0.01)
    {
      append_time (out, (gint64) ((double) elapsed * (1 - phase.most) / phase.most));
      g_string_append (out, " left");
    }
  else
    append_time (out, elapsed);
}

/* Appends what fits of @text into @space columns, "..." in place of the rest. */
static void
append_cut (GString *out, const char *text, guint space)
{
  const gsize before = out->len;
  gsize cut = before;
  guint used = 0;

  for (; *text != '\0'; text = g_utf8_next_char (text))
    {
      const gunichar c = g_unichar_isprint (g_utf8_get_char (text)) ? g_utf8_get_char (text) : '?';

      used += gemem_text_columns (c);
      if (used > space)
        {
          g_string_truncate (out, cut);
          g_string_append_len (out, "...", (gssize) MIN (space, 3));
          return;
        }
      g_string_append_unichar (out, c);
      if (used + 3 <= space)
        cut = out->len;
    }
}

/* The name is shortened first: the numbers are what the line is for. */
static void
draw (gint64 elapsed)
{
  g_autoptr (GString) line = g_string_new ("\r"), numbers = g_string_new (NULL);
  const guint columns = gemem_terminal_columns (STDERR_FILENO);
  const guint width = (columns > 0 ? columns : 80)
                      - 1; /* a full last column wraps on some terminals */
  guint space;

  append_numbers (numbers, elapsed);
  space = width > numbers->len ? width - (guint) numbers->len : 0;
  if (space >= NAME_MIN)
    {
      append_cut (line, phase.what, space - 1);
      g_string_append_c (line, ':');
    }
  append_cut (line, numbers->str + (space < NAME_MIN ? 1 : 0), width);
  g_string_append (line, "\033[K");
  phase.shown = write (STDERR_FILENO, line->str, line->len) > 0;
}

static void
erase (void)
{
  if (phase.shown && write (STDERR_FILENO, ERASE, strlen (ERASE)) > 0)
    phase.shown = FALSE;
}

void
gemem_progress_erase_at_once (void)
{
  erase ();
}

static gboolean
in_background (void)
{
  const pid_t foreground = tcgetpgrp (STDERR_FILENO);

  return foreground >= 0 && foreground != getpgrp ();
}

static gpointer
draw_at_times (gpointer unused)
{
  gint64 due;

  g_mutex_lock (&phase.lock);
  due = phase.start + DELAY_US;
  while (phase.active)
    {
      const gint64 now = g_get_monotonic_time ();

      if (now < due)
        {
          g_cond_wait_until (&phase.changed, &phase.lock, due);
          continue;
        }
      if (!in_background ())
        draw (now - phase.start);
      due = now + INTERVAL_US;
    }
  g_mutex_unlock (&phase.lock);
  return unused;
}

/* ---- phases */

/* Ends the program as the signal does by default, without the line. */
static void
die (int signal_number)
{
  erase ();
  raise (signal_number);
}

/* A signal that nobody catches must not leave the line behind. */
static void
catch_deaths (void)
{
  static const int deaths[] = { SIGINT, SIGTERM, SIGHUP };
  struct sigaction old, action = { .sa_handler = die, .sa_flags = (int) SA_RESETHAND };

  sigemptyset (&action.sa_mask);
  for (guint i = 0; i < G_N_ELEMENTS (deaths); i++)
    if (sigaction (deaths[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
      sigaction (deaths[i], &action, NULL);
}

static gboolean
is_wanted (void)
{
  return !gemem_quiet && gemem_terminal_obeys (STDERR_FILENO);
}

/* Starts drawing; signals are for the other threads. */
static void
start (void)
{
  sigset_t all, before;

  catch_deaths ();
  phase.active = TRUE;
  phase.start = g_get_monotonic_time ();
  sigfillset (&all);
  pthread_sigmask (SIG_BLOCK, &all, &before);
  phase.thread = g_thread_try_new ("gemem-progress", draw_at_times, NULL, NULL);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
}

/* Takes @what.  FALSE: nothing is to be shown. */
static gboolean
prepare (char *what, const char *unit, guint n_parts)
{
  gemem_progress_end ();
  if (!is_wanted ())
    {
      g_free (what);
      return FALSE;
    }
  if (phase.known == NULL)
    phase.known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  phase.what = what;
  phase.unit = unit;
  phase.parts = g_new0 (Part, n_parts);
  phase.n_parts = n_parts;
  phase.steps = phase.n_steps = phase.share = 0;
  phase.most = 0;
  return TRUE;
}

void
gemem_progress_begin_reading (const char *name)
{
  g_autofree char *display = strcmp (name, "-") == 0 ? g_strdup ("standard input")
                                                     : g_filename_display_basename (name);

  if (!prepare (g_strconcat ("reading ", display, NULL), NULL, 1))
    return;
  gemem_input_set_meter (&phase.parts[0].meter);
  start ();
}

void
gemem_progress_begin_steps (const char *what, const char *unit, guint n)
{
  if (!prepare (g_strdup (what), unit, 0))
    return;
  phase.n_steps = (gint) MAX (n, 1);
  start ();
}

void
gemem_progress_set_steps (guint done)
{
  g_atomic_int_set (&phase.share, 0);
  g_atomic_int_set (&phase.steps, (gint) done);
}

gint *
gemem_progress_share (void)
{
  return &phase.share;
}

gint *
gemem_progress_steps (void)
{
  return &phase.steps;
}

/* Remembers how many events the reading of @part delivered, for those that follow. */
static void
remember (Part *part)
{
  guint64 *known;

  if (part->path == NULL)
    return;
  known = g_hash_table_lookup (phase.known, part->path);
  if (known == NULL)
    g_hash_table_insert (phase.known, g_strdup (part->path), known = g_new0 (guint64, 1));
  *known = MAX (*known, part->delivered);
  g_clear_pointer (&part->path, g_free);
}

void
gemem_progress_end (void)
{
  if (phase.what == NULL)
    return;
  gemem_input_set_meter (NULL);
  g_mutex_lock (&phase.lock);
  phase.active = FALSE;
  g_cond_signal (&phase.changed);
  erase ();
  g_mutex_unlock (&phase.lock);
  if (phase.thread != NULL)
    g_thread_join (g_steal_pointer (&phase.thread));
  for (guint i = 0; i < phase.n_parts; i++)
    remember (&phase.parts[i]);
  g_clear_pointer (&phase.parts, g_free);
  g_clear_pointer (&phase.what, g_free);
}

void
gemem_progress_pause (void)
{
  g_mutex_lock (&phase.lock);
  erase ();
}

void
gemem_progress_resume (void)
{
  g_mutex_unlock (&phase.lock);
}

/* ---- readings */

/* A reading of @part begins; the thread's inputs tell how far it is. */
static void
begin_reading (Part *part)
{
  g_mutex_lock (&phase.lock);
  remember (part);
  part->readings++;
  part->events = part->delivered = 0;
  part->opened = 0;
  g_mutex_unlock (&phase.lock);
  gemem_input_set_meter (&part->meter);
}

/* The reading of @part has been opened as @reader. */
static void
begin_events (Part *part, GememTraceReader *reader)
{
  const char *path = reader->info.path != NULL ? reader->info.path : "";
  const guint64 size = __atomic_load_n (&part->meter.size, __ATOMIC_RELAXED);
  const guint64 *known;

  g_mutex_lock (&phase.lock);
  known = g_hash_table_lookup (phase.known, path);
  part->path = g_strdup (path);
  part->events = reader->info.events > 0 ? reader->info.events : known != NULL ? *known : 0;
  part->opened = size > SMALL_FILE ? share_of_bytes (&part->meter) : 0;
  reader->delivered = &part->delivered;
  g_mutex_unlock (&phase.lock);
}

void
gemem_progress_watch (GememTraceReader *reader)
{
  if (phase.what == NULL || phase.n_parts != 1 || phase.parts[0].source != NULL)
    return;
  begin_reading (&phase.parts[0]);
  begin_events (&phase.parts[0], reader);
}

/* ---- jobs */

/* A GememTraceSource around the job's own. */
static GememTraceReader *
open_watched (gpointer data, GError **error)
{
  Part *part = data;
  GememTraceReader *reader;

  begin_reading (part);
  g_atomic_int_add (&part->job.openings_left, -1);
  reader = part->source (part->source_data, error);
  gemem_input_set_meter (NULL);
  if (reader != NULL)
    begin_events (part, reader);
  return reader;
}

/* What a job on the trace @path costs, in comparison with others: its events, if they are known. */
static double
weight_of (const char *path)
{
  const guint64 *known = g_hash_table_lookup (phase.known, path);

  return known != NULL ? (double) *known + 1 : 1;
}

/* Results on the terminal while jobs run leave no space for a line. */
static gboolean
writes_to_terminal (const GememJob *jobs)
{
  return isatty (STDOUT_FILENO)
         && (g_strcmp0 (jobs[0].events_path, "/dev/stdout") == 0
             || g_strcmp0 (jobs[0].calls_path, "/dev/stdout") == 0);
}

void
gemem_progress_run_jobs (const char *what, const GememJob *jobs, guint n, guint threads,
                         const char *(*path_of) (const GememJob *job), GememResult **results,
                         GError **errors)
{
  g_autofree GememJob *watched = NULL;

  if (n == 0 || writes_to_terminal (jobs) || !prepare (g_strdup (what), n > 1 ? "runs" : NULL, n))
    {
      gemem_jobs_run (jobs, n, threads, results, errors);
      return;
    }
  watched = g_memdup2 (jobs, n * sizeof *jobs);
  for (guint i = 0; i < n; i++)
    {
      Part *part = &phase.parts[i];

      part->source = jobs[i].source;
      part->source_data = jobs[i].source_data;
      part->weight = weight_of (path_of (&jobs[i]));
      part->job.openings_left = 1;
      watched[i].source = open_watched;
      watched[i].source_data = part;
      watched[i].progress = &part->job;
    }
  start ();
  gemem_jobs_run (watched, n, threads, results, errors);
  gemem_progress_end ();
}
