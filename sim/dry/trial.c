/* trial.c - whether sizes follow from the integers that a program reads from the GPU, which are zero in a dry
 * run: torch.zeros (int (n.max ()), 64) takes nothing then.
 *
 * Nobody follows a number through a program, so the program runs again with another one in each of those
 * places, aside: without its streams, for a limited time, its trace removed afterwards.  If it asks for the same memory, no size
 * follows, as far as that number tells; else a third run, with zeros, tells whether the first two differ for
 * that reason or because the program is another one each time.  The first number is odd and larger than
 * common divisors of sizes; a program that does not end with it as it did with zero (a list that is shorter) gets 1.
 *
 * Invariants: the verdict's figures are those of the first run, with zeros; only its conditions change.
 */
#include "config.h"

#include <glib/gstdio.h>

#include "base/units.h"
#include "sim/dry/dry.h"
#include "traces/origin.h"

static const guint numbers[] = { 17, 1 };

#define LEAST_SECONDS 60
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
  requests->reader = dry_trace_open (found->path, NULL);
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

/* "13056 bytes by train.py:31 main"; "nothing more".  g_free(). */
static char *
describe (const Requests *requests, const GememTraceEvent *event)
{
  GString *text = g_string_new (NULL);

  if (event == NULL)
    g_string_append (text, "nothing more");
  else
    g_string_append_printf (text, "%" G_GUINT64_FORMAT " bytes", event->size);
  if (event != NULL && event->stack != 0)
    {
      g_string_append (text, " by ");
      gemem_origin_append (text, &requests->reader->info, event->stack, event->tag);
    }
  return g_string_free (text, FALSE);
}

/* NULL if both asked for the same memory in the same order, else where they differ first.  g_free(). */
static char *
compare_findings (const DryFinding *first, const DryFinding *second)
{
  Requests a, b;
  const GememTraceEvent *x, *y;
  char *text = NULL;

  requests_open (&a, first);
  requests_open (&b, second);
  do
    {
      x = requests_next (&a);
      y = requests_next (&b);
    }
  while (x != NULL && y != NULL && x->size == y->size);
  if (x != NULL || y != NULL)
    {
      g_autofree char *there = describe (&b, y), *here = describe (&a, x);
      text = g_strdup_printf ("%s where it was %s", there, here);
    }
  else if (first->held != second->held) /* by others than the program's allocator */
    text = g_strdup_printf ("%" G_GUINT64_FORMAT
                            " bytes held in all where it was %" G_GUINT64_FORMAT,
                            second->held, first->held);
  else if (first->peak_live != second->peak_live)
    text = g_strdup_printf ("%" G_GUINT64_FORMAT
                            " bytes at the peak where it was %" G_GUINT64_FORMAT,
                            second->peak_live, first->peak_live);
  g_clear_pointer (&a.reader, gemem_trace_close);
  g_clear_pointer (&b.reader, gemem_trace_close);
  return text;
}

/* The same of all processes and devices, ranks beside their ranks. */
static char *
compare_runs (const DryVerdict *first, const DryVerdict *second)
{
  g_autoptr (GPtrArray) a = dry_ranks_of (first), b = dry_ranks_of (second);
  const gboolean ranks = a->len > 0 && a->len == b->len;
  const GPtrArray *from = ranks ? a : first->findings, *to = ranks ? b : second->findings;
  char *text = NULL;

  if (first->findings->len != second->findings->len)
    return g_strdup_printf ("%u processes and GPUs used memory, not %u", second->findings->len,
                            first->findings->len);
  for (guint i = 0; i < from->len && text == NULL; i++)
    text = compare_findings (from->pdata[i], to->pdata[i]);
  return text;
}

/* ---- runs */

/* Frees @verdict and removes its traces. */
static void
forget (DryVerdict *verdict)
{
  for (guint i = 0; verdict != NULL && i < verdict->findings->len; i++)
    g_unlink (((const DryFinding *) verdict->findings->pdata[i])->path);
  dry_verdict_free (verdict);
}

/* How long one may take. */
static guint
limit_of (const DryVerdict *first)
{
  return LEAST_SECONDS + TIMES * first->seconds;
}

static void
settle (DryVerdict *verdict, DryTrial trial, char *text)
{
  verdict->trial = trial;
  g_free (verdict->trial_text);
  verdict->trial_text = text;
}

/* One run aside of the program of @verdict, in which integers read @number.  NULL: it was stopped, or could not be made, which is settled. */
static DryVerdict *
run_aside (const DryOptions *options, char **arguments, DryVerdict *verdict, guint number)
{
  g_autofree char *output = gemem_launch_beside (options->output, "again");
  g_autoptr (GError) error = NULL;
  DryOptions again = *options;

  again.output = output;
  again.number = number;
  again.orders = 1;
  again.limit = limit_of (verdict);
  DryVerdict *run = dry_run_and_judge (&again, arguments, &error);
  if (run != NULL && run->findings->len == 0)
    g_unlink (output);
  if (run != NULL && gemem_launch_stopped () == 0)
    return run;
  settle (verdict, DRY_TRIAL_FAILED,
          run != NULL ? g_strdup ("another run, which was stopped, does not tell")
                      : g_strdup_printf ("another run could not be made: %s", error->message));
  forget (run);
  return NULL;
}

/* @second, in which integers read @number, asked for other memory than the first run, @difference.  Did the number do that? */
static void
try_zeros (const DryOptions *options, char **arguments, DryVerdict *verdict,
           const DryVerdict *second, guint number, const char *difference)
{
  DryVerdict *third = run_aside (options, arguments, verdict, 0);
  g_autofree char *from_first = NULL, *from_second = NULL;

  if (third == NULL)
    return;
  from_first = compare_runs (verdict, third);
  from_second = compare_runs (second, third);
  if (from_first == NULL)
    settle (verdict, DRY_TRIAL_OTHER,
            g_strdup_printf ("when they read %u, the program asked for other memory: first for %s",
                             number, difference));
  else if (from_second == NULL) /* the first run left something behind */
    settle (
        verdict, DRY_TRIAL_SAME,
        g_strdup_printf ("the program asks for the same memory when they read %u; its first run "
                         "was another one",
                         number));
  else
    settle (
        verdict, DRY_TRIAL_UNSTEADY,
        g_strdup_printf ("two runs of the program with zeros ask for other memory: first for %s",
                         from_first));
  forget (third);
}

/* Neither of the numbers let the program end as with zero; @last: the run with the last one. */
static void
settle_failed (DryVerdict *verdict, const DryVerdict *last)
{
  const guint limit = limit_of (verdict);
  g_autofree char *ended = last->seconds >= limit ? g_strdup_printf ("took longer than %u s", limit)
                                                  : gemem_launch_ended (last->status);

  settle (
      verdict, DRY_TRIAL_FAILED,
      g_strdup_printf ("second runs, in which they read %u and %u, %s%s, so that they do not tell",
                       numbers[0], numbers[1], last->seconds >= limit ? "" : "ended with ", ended));
}

static void
try_others (const DryOptions *options, char **arguments, DryVerdict *verdict)
{
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      DryVerdict *second = run_aside (options, arguments, verdict, numbers[i]);

      if (second == NULL)
        return;
      if (second->status != verdict->status || second->lost > 0)
        {
          settle_failed (verdict, second);
          forget (second);
          continue;
        }
      g_autofree char *difference = compare_runs (verdict, second);
      if (difference == NULL)
        settle (
            verdict, DRY_TRIAL_SAME,
            g_strdup_printf ("when they read %u, in a second run, the program asked for the same "
                             "memory",
                             numbers[i]));
      else
        try_zeros (options, arguments, verdict, second, numbers[i], difference);
      forget (second);
      return;
    }
}

void
dry_try_numbers (const DryOptions *options, char **arguments, DryVerdict *verdict)
{
  if (verdict->numbers->len == 0 || verdict->fit == DRY_DOES_NOT_FIT || verdict->status != 0
      || gemem_launch_stopped () != 0)
    return;
  if (options->once)
    settle (verdict, DRY_TRIAL_LEFT_OUT, NULL);
  else
    {
      gemem_launch_say (
          "runs %s again, for it read integers from the GPU, as zero: whether it asks "
          "for other memory with others (--once: not)",
          arguments[0]);
      try_others (options, arguments, verdict);
    }
  dry_judge (options, verdict);
}
