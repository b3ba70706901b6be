/* trial.c - runs a program again to find out whether its memory depends on values that it reads from
 * the GPU.
 *
 * Kernels do nothing in a dry run, so whatever a program copies from the GPU is zero.  Then
 * torch.zeros (int (n.max ())) takes no memory, and what stands under "if x.any ():" is not reached.
 * A value cannot be followed through the program.  Instead the program runs again with another value
 * in all these places, and the requests of both runs are compared.  These runs are made aside: their
 * standard streams are /dev/null, their time is limited, and their traces are removed.
 *
 * Integers read 17: odd and larger than the usual divisors of sizes, so that a size computed from it
 * is unlikely to be rounded to the same one.  If the program then ends otherwise than it did with
 * zero (it indexes a list that is shorter), 1 is tried.  If it asks for the same memory, no size
 * depends on the values, as far as these numbers tell.  Any difference counts, more memory or less,
 * since the true number may be larger.
 *
 * Truth values read true in all places.  Zero and true are all that there are, so only a larger peak
 * counts: the first run has shown the other.  Where all true at once end the program
 * (assert not x.isnan ().any ()) or let it ask for less, one may hide what another does; then they
 * are true at one place at a time.  A place is the innermost line of Python, for several are read behind
 * one line of the program.  A run that ends early counts by what it needed until then.
 *
 * A difference may also come from the program itself, if no two of its runs are alike.  A third run,
 * with zeros again, tells: it asks for the same as the first if the values made the difference.
 *
 * Sizes that follow from real numbers are drawn (dry/python/known.py).  A second run draws them otherwise, less evenly.  What it
 * needs is the other end; that the GPU's numbers are like either is a condition whatever it needs.
 *
 * Work of streams is done at once in a dry run.  Where an allocator asked for that, another run answers no until the host has waited
 * (dry/driver/late.h): what that needs is the other end of the answer.
 *
 * Where a program measures candidates of cuDNN and takes the fastest, which a dry run cannot know, that is the first.  Another run lets
 * those with the largest workspaces be the fastest (dry/driver/measured.h): the other end of the answer, too.  In a third those with the
 * smallest are.
 *
 * Workspaces that only the real library knows are 0 in the first run.  Where each has a bound, another run gives them that much.
 *
 * Invariants: the figures of the verdict are those of the first run, with zeros; only its conditions
 * change.
 */
#include "config.h"

#include <glib/gstdio.h>

#include <string.h>

#include "base/units.h"
#include "dry/verdict/verdict.h"
#include "traces/origin.h"

static const guint numbers[] = { 17, 1 };

#define LEAST_SECONDS 60
#define PLACES_MAX 8 /* so many places are true alone */
#define TIMES 5 /* as long as the first run, and LEAST_SECONDS, may one with other numbers take */

/* ---- what two runs asked for */

/* The requests of one device in a trace. */
typedef struct
{
  GememTraceReader *reader;
  const GememTraceEvent *events;
  gssize count, next;
  int device;
} Requests;

static void
requests_open (Requests *requests, const DryFinding *found)
{
  *requests = (Requests){ .device = found->device };
  requests->reader = gemem_library_trace_open (found->path, NULL);
}

/* The next request, whether it was served or not; NULL: there is none. */
static const GememTraceEvent *
requests_next (Requests *requests)
{
  while (requests->reader != NULL)
    {
      while (requests->next < requests->count)
        {
          const GememTraceEvent *event = &requests->events[requests->next++];
          if (event->device == requests->device
              && (event->kind == GEMEM_EVENT_ALLOC || event->kind == GEMEM_EVENT_OOM))
            return event;
        }
      requests->next = 0;
      requests->count = gemem_trace_next (requests->reader, &requests->events, NULL);
      if (requests->count <= 0)
        g_clear_pointer (&requests->reader, gemem_trace_close);
    }
  return NULL;
}

/* "13056 bytes by train.py:31 main".  g_free(). */
static char *
describe (const Requests *requests, const GememTraceEvent *event)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "%" G_GUINT64_FORMAT " bytes", event->size);
  if (event->stack != 0)
    {
      g_string_append (text, " by ");
      gemem_origin_append (text, &requests->reader->info, event->stack, event->tag);
    }
  return g_string_free (text, FALSE);
}

/* Adds @by to the count of @size; returns what it is then. */
static gssize
change_count (GHashTable *counts, guint64 size, gssize by)
{
  gpointer key = GSIZE_TO_POINTER ((gsize) size);
  const gssize count = (gssize) g_hash_table_lookup (counts, key) + by;

  g_hash_table_insert (counts, key, (gpointer) count);
  return count;
}

/* How often @finding asked for each size.  g_hash_table_unref(). */
static GHashTable *
count_sizes (const DryFinding *finding)
{
  GHashTable *counts = g_hash_table_new (NULL, NULL);
  const GememTraceEvent *event;
  Requests requests;

  requests_open (&requests, finding);
  while ((event = requests_next (&requests)) != NULL)
    change_count (counts, event->size, 1);
  g_clear_pointer (&requests.reader, gemem_trace_close);
  return counts;
}

/* The first request of @finding that @other did not make, whatever the order of both, for threads differ in it; NULL: none.  g_free(). */
static char *
find_request (const DryFinding *finding, const DryFinding *other)
{
  g_autoptr (GHashTable) counts = count_sizes (other);
  const GememTraceEvent *event;
  Requests requests;
  char *text = NULL;

  requests_open (&requests, finding);
  while (text == NULL && (event = requests_next (&requests)) != NULL)
    if (change_count (counts, event->size, -1) < 0)
      text = describe (&requests, event);
  g_clear_pointer (&requests.reader, gemem_trace_close);
  return text;
}

/* What @second asked for at first that @first did not; NULL: both asked for the same memory.  g_free(). */
static char *
find_difference (const DryFinding *first, const DryFinding *second)
{
  char *more = find_request (second, first);

  if (more != NULL)
    return more;
  g_autofree char *less = find_request (first, second);
  if (less != NULL)
    return g_strdup_printf ("%s less", less);
  if (first->held != second->held) /* by others than the program's allocator */
    return g_strdup_printf ("%" G_GUINT64_FORMAT " bytes in all, not %" G_GUINT64_FORMAT,
                            second->held, first->held);
  if (first->peak_live != second->peak_live)
    return g_strdup_printf ("%" G_GUINT64_FORMAT " bytes at its peak, not %" G_GUINT64_FORMAT,
                            second->peak_live, first->peak_live);
  return NULL;
}

/* The same, if @second needed more than @first at its peak. */
static char *
find_more (const DryFinding *first, const DryFinding *second)
{
  return second->peak_live > first->peak_live || second->held > first->held
             ? find_difference (first, second)
             : NULL;
}

typedef char *Find (const DryFinding *first, const DryFinding *second);

/* What @find finds in all processes and devices, ranks beside their ranks. */
static char *
compare_runs (const DryVerdict *first, const DryVerdict *second, Find *find)
{
  g_autoptr (GPtrArray) a = gemem_library_ranks_of (first), b = gemem_library_ranks_of (second);
  const gboolean ranks = a->len > 0 && a->len == b->len;
  const GPtrArray *from = ranks ? a : first->findings, *to = ranks ? b : second->findings;
  char *text = NULL;

  if (first->findings->len != second->findings->len)
    return g_strdup_printf ("that of %u processes and GPUs, not %u", second->findings->len,
                            first->findings->len);
  for (guint i = 0; i < from->len && text == NULL; i++)
    text = find (from->pdata[i], to->pdata[i]);
  return text;
}

/* ---- runs */

/* Removes the traces of @verdict. */
static void
remove_traces (const DryVerdict *verdict)
{
  for (guint i = 0; i < verdict->findings->len; i++)
    g_unlink (((const DryFinding *) verdict->findings->pdata[i])->path);
}

/* Frees @verdict and removes its traces. */
static void
forget (DryVerdict *verdict)
{
  if (verdict != NULL)
    remove_traces (verdict);
  gemem_library_verdict_free (verdict);
}

/* How long one may take. */
static guint
limit_of (const DryVerdict *first)
{
  return LEAST_SECONDS + TIMES * first->seconds;
}

/* What is tried: values of one kind, which the program read as zero. */
typedef struct
{
  const DryOptions *options;
  char **arguments;
  DryVerdict *verdict; /* of the first run */
  DryTried *tried;
  const char *others; /* "17", "true": what they read now */
  const char *option; /* "; to try it: --value ..."; "": none */
  Find *find;
} Trial;

static void
settle (const Trial *trial, DryTrial result, char *text)
{
  trial->tried->result = result;
  g_free (trial->tried->text);
  trial->tried->text = text;
}

/* One run aside, in which integers read @number, and truth values are true at the place @truths.  NULL: it was
 * stopped, or could not be made, which is settled. */
static DryVerdict *
run_aside (const Trial *trial, guint number, const char *truths)
{
  g_autofree char *output = gemem_launcher_beside (trial->options->output, "again");
  g_autoptr (GError) error = NULL;
  DryOptions again = *trial->options;

  again.output = output;
  again.number = number;
  again.truths = truths;
  again.orders = 1;
  again.limit = limit_of (trial->verdict);
  DryVerdict *run = gemem_library_run_and_judge (&again, trial->arguments, &error);
  if (run != NULL && run->findings->len == 0)
    g_unlink (output);
  if (run != NULL && gemem_launcher_stopped () == 0)
    return run;
  settle (trial, DRY_TRIAL_FAILED,
          run != NULL ? g_strdup ("another run, which was stopped, does not tell")
                      : g_strdup_printf ("another run could not be made: %s", error->message));
  forget (run);
  return NULL;
}

/* Whether a run ended as the first one did, and all of it could be read. */
static gboolean
is_whole (const Trial *trial, const DryVerdict *run)
{
  return run->status == trial->verdict->status && run->lost == 0;
}

/* "took longer than 60 s", "ended with exit status 1".  g_free(). */
static char *
describe_end (const Trial *trial, const DryVerdict *run)
{
  const guint limit = limit_of (trial->verdict);
  g_autofree char *ended = gemem_launcher_ended (run->status);

  return run->seconds >= limit ? g_strdup_printf ("took longer than %u s", limit)
                               : g_strdup_printf ("ended with %s", ended);
}

/* @second asked for other memory than the first run, @difference.  Did the values do that? */
static void
try_zeros (const Trial *trial, const DryVerdict *second, const char *difference)
{
  DryVerdict *third = run_aside (trial, 0, NULL);
  g_autofree char *from_first = NULL, *from_second = NULL;

  if (third == NULL)
    return;
  from_first = compare_runs (trial->verdict, third, trial->find);
  from_second = compare_runs (third, second, trial->find);
  if (from_first == NULL)
    settle (
        trial, DRY_TRIAL_OTHER,
        g_strdup_printf ("when they read %s, the program asked for other memory: first for %s%s",
                         trial->others, difference, trial->option));
  else if (from_second == NULL) /* the first run left something behind */
    settle (
        trial, DRY_TRIAL_SAME,
        g_strdup_printf ("the program asks for the same memory when they read %s; its first run "
                         "was another one",
                         trial->others));
  else
    settle (
        trial, DRY_TRIAL_UNSTEADY,
        g_strdup_printf ("two runs of the program with zeros ask for other memory: first for %s",
                         from_first));
  forget (third);
}

/* ---- integers */

static void
try_numbers (Trial *trial)
{
  g_autofree char *ended = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      g_autofree char *others = g_strdup_printf ("%u", numbers[i]);
      DryVerdict *second = run_aside (trial, numbers[i], NULL);

      if (second == NULL)
        return;
      if (!is_whole (trial, second))
        {
          g_free (ended);
          ended = describe_end (trial, second);
          forget (second);
          continue;
        }
      g_autofree char *difference = compare_runs (trial->verdict, second, trial->find);
      trial->others = others;
      if (difference == NULL)
        settle (trial, DRY_TRIAL_SAME,
                g_strdup_printf ("when they read %s, in a second run, the program asked for the "
                                 "same memory",
                                 others));
      else
        try_zeros (trial, second, difference);
      forget (second);
      return;
    }
  settle (
      trial, DRY_TRIAL_FAILED,
      g_strdup_printf ("second runs, in which they read %u and %u, %s, so that they do not tell",
                       numbers[0], numbers[1], ended));
}

/* ---- truth values */

/* One run in which those at @place are true.  *@plain: it made the same requests as the first one.  FALSE: no
 * other place need be tried, for it is settled. */
static gboolean
try_place (Trial *trial, const char *place, gboolean *plain)
{
  DryVerdict *run = run_aside (trial, 0, place);
  g_autofree char *difference = NULL, *more = NULL;

  *plain = FALSE;
  if (run == NULL)
    return FALSE;
  if (run->lost == 0)
    {
      difference = compare_runs (trial->verdict, run, find_difference);
      more = compare_runs (trial->verdict, run, trial->find);
      *plain = difference == NULL && is_whole (trial, run);
      if (more != NULL)
        try_zeros (trial, run, more);
    }
  forget (run);
  return more == NULL;
}

/* The same of one place alone, "FILE:LINE FUNCTION", with " in FILE:LINE FUNCTION" where a line behind it read,
 * or "1 bytes". */
static gboolean
try_place_alone (Trial *trial, const char *place, gboolean *plain)
{
  const char *behind = strstr (place, " in ");
  g_autofree char *name = g_path_get_basename (behind != NULL ? behind + strlen (" in ") : place);
  g_autofree char *word = gemem_library_value_word (name, "1");
  g_autofree char *option = g_strdup_printf ("; to try it: --value %s", word);
  g_autofree char *others = g_strdup_printf ("true at %s", name);
  const gboolean shown = strchr (place, ':') != NULL;
  gboolean go_on;

  trial->others = shown ? others : "true";
  trial->option = shown ? option : "";
  go_on = try_place (trial, place, plain);
  trial->others = "true";
  trial->option = "";
  return go_on;
}

static void
try_truths (Trial *trial)
{
  const GPtrArray *places = trial->verdict->truths;
  const DryCount *const *place = (const DryCount *const *) places->pdata;
  const guint count = MIN (places->len, PLACES_MAX);
  gboolean plain, alone;

  if (places->len == 1 ? !try_place_alone (trial, place[0]->name, &plain)
                       : !try_place (trial, GEMEM_DRY_EVERYWHERE, &plain))
    return;
  if (!plain && places->len > 1)
    for (guint i = 0; i < count; i++)
      if (!try_place_alone (trial, place[i]->name, &alone))
        return;
  if (plain || places->len == 1)
    settle (
        trial, DRY_TRIAL_SAME,
        g_strdup ("when they read true, in a second run, the program asked for no more memory"));
  else
    settle (trial, count == places->len ? DRY_TRIAL_SAME : DRY_TRIAL_FAILED,
            g_strdup_printf ("when all read true, and %u of %u places alone, the program asked for "
                             "no more memory",
                             count, places->len));
}

/* "needs 8.367 GiB (8984199168 bytes), and does not fit".  g_free(). */
static char *
describe_need (const DryVerdict *run)
{
  char size[GEMEM_FORMAT_MAX];

  return g_strdup_printf ("needs %s (%" G_GUINT64_FORMAT " bytes)%s",
                          gemem_format_size (size, run->needed), run->needed,
                          run->fit == DRY_DOES_NOT_FIT ? ", and does not fit" : "");
}

/* ---- sizes that were drawn */

static void
try_drawn (Trial *trial)
{
  DryOptions redraw = *trial->options;
  Trial other = *trial;

  redraw.redraw = TRUE;
  other.options = &redraw;
  DryVerdict *second = run_aside (&other, 0, NULL);
  if (second == NULL)
    return;
  if (!is_whole (trial, second))
    {
      g_autofree char *ended = describe_end (trial, second);
      settle (trial, DRY_TRIAL_FAILED, g_strdup_printf ("a second draw %s", ended));
    }
  else
    {
      g_autofree char *need = describe_need (second);
      settle (trial, DRY_TRIAL_OTHER, g_strdup_printf ("a second, less even draw %s", need));
    }
  forget (second);
}

/* ---- work of streams */

/* What PyTorch's own code asks for beside its allocator of the GPU: whether pinned memory of the host can be used again, and NCCL's
 * work, of which only the latter keeps memory of the GPU. */
#define BESIDE "libtorch_cuda.so"

/* Whether the answer may follow from who asked. */
static gboolean
asked_for_memory (const DryVerdict *verdict)
{
  gboolean distributed = FALSE;

  for (guint i = 0; i < verdict->findings->len; i++)
    distributed |= ((const DryFinding *) verdict->findings->pdata[i])->rank >= 0;
  for (guint i = 0; i < verdict->asked->len; i++)
    if (distributed || strcmp (((const DryCount *) verdict->asked->pdata[i])->name, BESIDE) != 0)
      return TRUE;
  return FALSE;
}

/* What @end, a run that is the other end of the answer, was refused first, or needs.  g_free(). */
static char *
describe_refusal (const DryVerdict *end)
{
  char size[GEMEM_FORMAT_MAX];

  for (guint i = 0; i < end->findings->len; i++)
    {
      const DryFinding *found = end->findings->pdata[i];
      if (found->ooms > 0)
        return g_strdup_printf (
            "a request of %s is refused%s%s", gemem_format_size (size, found->oom_size),
            found->oom_by != NULL ? ", " : "", found->oom_by != NULL ? found->oom_by : "");
    }
  g_autofree char *need = describe_need (end);
  return g_strdup_printf ("it %s", need);
}

/* A run with @options, in which @what: *@end, which stays with the verdict. */
static void
try_end (Trial *trial, const DryOptions *options, const char *what, DryVerdict **end)
{
  Trial other = *trial;

  other.options = options;
  DryVerdict *run = run_aside (&other, 0, NULL);
  if (run == NULL)
    return;
  const gboolean refused = run->refused || run->fit == DRY_DOES_NOT_FIT;
  if (!refused && !is_whole (trial, run))
    {
      g_autofree char *ended = describe_end (trial, run);
      settle (trial, DRY_TRIAL_FAILED, g_strdup_printf ("a run in which %s %s", what, ended));
      forget (run);
      return;
    }
  remove_traces (run);
  *end = run;
  g_autofree char *need = refused || run->needed > trial->verdict->needed
                                  || (options->fastest != NULL
                                      && run->needed < trial->verdict->needed)
                              ? describe_refusal (run)
                              : g_strdup ("it needs no more");
  settle (trial, refused ? DRY_TRIAL_OTHER : DRY_TRIAL_SAME,
          g_strdup_printf ("where %s, %s", what, need));
}

static void
try_late (Trial *trial)
{
  DryOptions options = *trial->options;

  options.late = TRUE;
  try_end (trial, &options, "it is done only when the host waits", &trial->verdict->late);
}

/* ---- times */

/* A run in which what takes the @fastest workspace, "largest" or "smallest", is the fastest; NULL: it does not tell. */
static DryVerdict *
try_fastest (Trial *trial, const char *fastest)
{
  g_autofree char *what = g_strdup_printf ("what takes the %s workspace is the fastest", fastest);
  DryOptions options = *trial->options;
  DryVerdict *end = NULL;

  options.fastest = fastest;
  try_end (trial, &options, what, &end);
  return end;
}

/* Of two runs the one that needs more and fits, which stays with @verdict; the other is freed. */
static void
keep_end (DryVerdict *verdict, DryVerdict *end)
{
  const gboolean fits = end->fit != DRY_DOES_NOT_FIT;

  if (fits)
    verdict->needed_least = MIN (end->needed, verdict->needed_least > 0 ? verdict->needed_least
                                                                        : verdict->needed);
  if (fits && (verdict->chosen == NULL || end->needed > verdict->chosen->needed))
    {
      gemem_library_verdict_free (verdict->chosen);
      verdict->chosen = end;
    }
  else
    gemem_library_verdict_free (end);
}

static void
try_measured (Trial *trial)
{
  static const char *const fastest[] = { "largest", "smallest" };

  for (guint i = 0; i < G_N_ELEMENTS (fastest) && gemem_launcher_stopped () == 0; i++)
    {
      DryTried tried = { 0 };
      Trial one = *trial;
      const char *before = trial->tried->text;

      one.tried = &tried;
      DryVerdict *end = try_fastest (&one, fastest[i]);
      settle (trial, MAX (trial->tried->result, tried.result),
              g_strconcat (before != NULL ? before : tried.text, before != NULL ? "; " : NULL,
                           tried.text, NULL));
      g_free (tried.text);
      if (end != NULL)
        keep_end (trial->verdict, end);
    }
}

/* ---- workspaces whose sizes only the real library knows */

/* The most that each of them may be; 0: not known of one. */
static guint64
bound_of (const GPtrArray *workspaces)
{
  guint64 most = 0, bound = 1;

  for (guint i = 0; i < workspaces->len && bound > 0; i++)
    {
      const char *range = strstr (((const DryCount *) workspaces->pdata[i])->name, " 0..");
      bound = range != NULL ? g_ascii_strtoull (range + strlen (" 0.."), NULL, 10) : 0;
      most = MAX (most, bound);
    }
  return bound > 0 ? most : 0;
}

static void
try_workspaces (Trial *trial)
{
  DryVerdict *verdict = trial->verdict;
  DryOptions options = *trial->options;
  Trial other = *trial;

  options.workspaces = verdict->most_workspaces = bound_of (verdict->workspaces);
  options.with_workspaces = TRUE;
  other.options = &options;
  verdict->most = run_aside (&other, 0, NULL);
  if (verdict->most != NULL)
    remove_traces (verdict->most);
}

/* ---- all */

/* Whether a run aside may be made; --once is settled. */
static gboolean
may_run (const Trial *trial)
{
  if (gemem_launcher_stopped () != 0)
    return FALSE;
  if (trial->options->once)
    settle (trial, DRY_TRIAL_LEFT_OUT, NULL);
  return !trial->options->once;
}

/* Tries those of @kind, which were read at @places, with @try. */
static void
try_kind (Trial *trial, const char *kind, const GPtrArray *places, void (*try) (Trial *trial))
{
  if (places->len == 0 || !may_run (trial))
    return;
  gemem_launcher_say ("runs %s again, for it read %s from the GPU: whether it asks for other "
                      "memory with others (--once: not)",
                      trial->arguments[0], kind);
  try (trial);
}

static void
try_streams (Trial *trial)
{
  if (!asked_for_memory (trial->verdict) || !may_run (trial))
    return;
  gemem_launcher_say ("runs %s again, for memory that several streams use: what it needs where "
                      "the GPU is late (--once: not)",
                      trial->arguments[0]);
  try_late (trial);
}

static void
try_times (Trial *trial)
{
  if (trial->verdict->measured->len == 0 || !may_run (trial))
    return;
  gemem_launcher_say ("runs %s again, for it measures times to choose by: what it needs where the "
                      "largest, or the smallest, workspaces are the fastest (--once: not)",
                      trial->arguments[0]);
  try_measured (trial);
}

/* The user chose no size, and what they may be at most is known. */
static void
try_bounds (Trial *trial)
{
  const guint64 bound = bound_of (trial->verdict->workspaces);
  char size[GEMEM_FORMAT_MAX];

  if (trial->options->workspaces > 0 || bound == 0 || bound > trial->options->capacity
      || !may_run (trial))
    return;
  gemem_launcher_say ("runs %s again, with workspaces of %s each, the most that they may be "
                      "(--once: not)",
                      trial->arguments[0], gemem_format_size (size, bound));
  try_workspaces (trial);
}

void
gemem_library_try_values (const DryOptions *options, char **arguments, DryVerdict *verdict)
{
  Trial of_numbers = { options, arguments, verdict,        &verdict->tried_numbers,
                       NULL,    "",        find_difference };
  Trial of_truths = { options, arguments, verdict, &verdict->tried_truths, "true", "", find_more };
  Trial of_drawn = { options, arguments, verdict, &verdict->tried_drawn, "", "", find_more };
  Trial of_late = { options, arguments, verdict, &verdict->tried_late, "", "", find_more };
  Trial of_times = { options, arguments, verdict, &verdict->tried_times, "", "", find_more };
  DryTried workspaces = { 0 };
  Trial of_most = { options, arguments, verdict, &workspaces, "", "", find_more };

  if (verdict->fit == DRY_DOES_NOT_FIT || verdict->status != 0)
    return;
  try_kind (&of_numbers, "integers", verdict->numbers, try_numbers);
  try_kind (&of_truths, "truth values", verdict->truths, try_truths);
  try_kind (&of_drawn, "sizes", verdict->drawn, try_drawn);
  try_streams (&of_late);
  try_times (&of_times);
  try_bounds (&of_most);
  g_free (workspaces.text);
  gemem_library_judge (options, verdict);
}
