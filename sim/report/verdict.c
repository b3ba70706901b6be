/* verdict.c - the sentences that say what a run, and what a comparison found; see notes.h.
 *
 * Why not simply the first row: `direct` has no cache and a plan knows the future, so both need
 * least and neither is a choice for a running program; a run that refused requests needs less
 * because it did less; and a run that the system's manual forbids is no choice at all.  Where the
 * least capacity was looked for, it is what counts: the peak on a larger device says little about
 * the smallest one that would do.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "sim/report/above-least.h"
#include "sim/report/notes.h"

extern const GememAllocatorClass gemem_direct_class, gemem_rmm_limiting_class;

/* TRUE of `direct` in other words: RMM's limit on the device itself keeps nothing, as `direct`. */
static gboolean
is_direct (const GememResult *result, const GememAllocatorClass *klass)
{
  if (klass == &gemem_direct_class)
    return TRUE;
  for (guint i = 0; klass == &gemem_rmm_limiting_class && result->parameters != NULL
                    && i < result->parameters->len;
       i++)
    {
      const GememSetting *setting = result->parameters->pdata[i];
      if (strcmp (setting->key, "upstream") == 0)
        return strcmp (setting->value, "direct") == 0;
    }
  return FALSE;
}

/* An allocator of a plugin that is not loaded now is real. */
gboolean
gemem_report_is_real (const GememResult *result)
{
  const GememAllocatorClass *klass;

  for (guint i = 0; result->programs != NULL && i < result->programs->len; i++)
    if (!gemem_report_is_real (result->programs->pdata[i]))
      return FALSE;
  if (result->programs != NULL)
    return TRUE;
  klass = gemem_allocator_find (result->allocator, NULL);
  return klass == NULL || (!is_direct (result, klass) && klass->prepare == NULL);
}

static gboolean
is_measured (const GememResult *result)
{
  return result->measured_alloc_ns.count > 0;
}

static guint64
time_of (const GememResult *result)
{
  return is_measured (result) ? result->measured_total_ns : result->modelled_total_ns;
}

typedef struct
{
  const GememResult *best, *next, *recorder; /* next: of those that need more than the best */
  guint real, complete, barred;              /* barred: real ones that are not allowed */
  guint ties;                                /* others that need as much as the best */
  guint fast;                                /* of these: others that take as little time */
  gboolean as_recorded; /* all refuse what was refused when recorded, without which it went on */
  gboolean capacity;    /* the need is the least capacity, not the peak reserved */
  char *kind;           /* how many runs of what: "4 real allocators"; owned */
} Standings;

/* The bytes by which runs are compared. */
static guint64
need_of (const Standings *s, const GememResult *result)
{
  return s->capacity ? result->least_capacity : result->peak_reserved;
}

/* TRUE if @a is the better choice: less memory, then less time; else the one given first. */
static gboolean
better (const Standings *s, const GememResult *a, const GememResult *b)
{
  if (b == NULL || need_of (s, a) != need_of (s, b))
    return b == NULL || need_of (s, a) < need_of (s, b);
  return time_of (a) < time_of (b);
}

/* TRUE if @result served all that the recorded program got, which went on without the rest: then its
 * peaks are those of that program. */
static gboolean
serves_as_recorded (const GememResult *result)
{
  return result->ooms > 0 && gemem_result_new_ooms (result) == 0 && result->failure == NULL
         && result->recorded_ooms_served == 0 && result->after_recorded_oom > 0 && !result->partial
         && result->not_allowed == NULL;
}

/* The search for the least capacity does not depend on the device of the run. */
static gboolean
is_eligible (const Standings *s, const GememResult *result)
{
  if (s->capacity)
    return gemem_report_is_real (result) && !result->not_run && result->not_allowed == NULL
           && result->least_capacity != 0 && result->least_capacity != G_MAXUINT64;
  return gemem_report_is_real (result)
         && (s->as_recorded ? serves_as_recorded (result) : gemem_result_is_complete (result));
}

/* The allocator and parameters of @result as given: its label without what else tells it from
 * others, a device or a lowering. */
static char *
setting_of (const GememResult *result)
{
  const char *end = strstr (result->label, " (");
  return end != NULL ? g_strndup (result->label, (gsize) (end - result->label))
                     : g_strdup (result->label);
}

/* What the eligible runs are: different allocators, settings of one, or both; each of them once, or
 * several times because there are several devices. */
static char *
kind_of (const Standings *s, GememResult *const *results, guint n)
{
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) settings = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree char *one = NULL;

  for (guint i = 0; i < n; i++)
    if (is_eligible (s, results[i]))
      {
        g_free (one);
        one = setting_of (results[i]);
        g_hash_table_add (names, results[i]->allocator);
        g_hash_table_add (settings, g_strdup (one));
      }
  const guint different = g_hash_table_size (settings), allocators = g_hash_table_size (names);
  const char *what = results[0]->programs != NULL ? "combinations of real allocators"
                     : different == allocators    ? "real allocators"
                     : allocators == 1            ? "settings"
                                                  : "real allocators and settings";
  if (different == s->complete)
    return g_strdup_printf ("%u %s", different, what);
  return different == 1 ? g_strdup_printf ("%u runs of %s", s->complete, one)
                        : g_strdup_printf ("%u runs of %u %s", s->complete, different, what);
}

/* Finds the next best, and counts those as good as the best. */
static void
stand_behind (Standings *s, GememResult *const *results, guint n)
{
  for (guint i = 0; i < n && s->best != NULL; i++)
    if (results[i] != s->best && is_eligible (s, results[i]))
      {
        if (need_of (s, results[i]) == need_of (s, s->best))
          {
            s->ties++;
            s->fast += time_of (results[i]) == time_of (s->best);
          }
        else if (better (s, results[i], s->next))
          s->next = results[i];
      }
}

/* Whether no real allocator served what was refused when recorded; a program that asked for more than
 * there is, on purpose, has no better choice. */
static gboolean
all_as_recorded (GememResult *const *results, guint n)
{
  gboolean any = FALSE;

  for (guint i = 0; i < n; i++)
    {
      if (gemem_report_is_real (results[i]) && gemem_result_is_complete (results[i]))
        return FALSE;
      any |= gemem_report_is_real (results[i]) && serves_as_recorded (results[i]);
    }
  return any;
}

static Standings
stand (GememResult *const *results, guint n)
{
  Standings s = { NULL };
  guint recorders = 0;

  for (guint i = 0; i < n; i++)
    s.capacity |= !results[i]->not_run && results[i]->least_capacity != 0;
  s.as_recorded = !s.capacity && all_as_recorded (results, n);
  for (guint i = 0; i < n; i++)
    {
      s.real += gemem_report_is_real (results[i]);
      s.barred += gemem_report_is_real (results[i]) && results[i]->not_allowed != NULL;
      if (!is_eligible (&s, results[i]))
        continue;
      s.complete++;
      if (better (&s, results[i], s.best))
        s.best = results[i];
      if (results[i]->fidelity.compared > 0)
        {
          s.recorder = results[i];
          recorders++;
        }
    }
  if (recorders != 1) /* several settings of one allocator: which of them was it? */
    s.recorder = NULL;
  stand_behind (&s, results, n);
  s.kind = kind_of (&s, results, n);
  return s;
}

/* "210.0 MiB (5.6 %) less than " */
static void
append_saving (GString *out, const Standings *s, const GememResult *other)
{
  char size[GEMEM_FORMAT_MAX], share[G_ASCII_DTOSTR_BUF_SIZE];
  const guint64 saved = need_of (s, other) - need_of (s, s->best);

  g_ascii_formatd (share, sizeof share, "%.1f", 100 * (double) saved / (double) need_of (s, other));
  g_string_append_printf (out, "%s (%s %%) less than ", gemem_format_size (size, saved), share);
}

/* ", ge 3.2 us", unless failed requests took a part of its time. */
static void
append_other_time (GString *out, const GememResult *other)
{
  char time[GEMEM_FORMAT_MAX];

  if (gemem_result_is_complete (other))
    g_string_append_printf (out, ", %s %s", other->label,
                            gemem_format_time (time, time_of (other)));
}

static void
append_costs (GString *out, const Standings *s)
{
  char time[GEMEM_FORMAT_MAX];

  if (time_of (s->best) == 0 || !gemem_result_is_complete (s->best)
      || (!is_measured (s->best) && s->best->cost_guesses > 0))
    return; /* a guess is no part of a conclusion */
  g_string_append_printf (out, "; %s %s of %s allocator time",
                          s->ties > 0 && s->fast == s->ties ? "each costs" : "it costs",
                          gemem_format_time (time, time_of (s->best)),
                          is_measured (s->best) ? "measured" : "modelled");
  if (s->next != NULL)
    append_other_time (out, s->next);
  if (s->recorder != NULL && s->recorder != s->best && s->recorder != s->next)
    append_other_time (out, s->recorder);
}

/* What sets the eligible runs apart from the others, if there are others: " that ..."; owned by the
 * caller. */
static char *
distinction (const Standings *s)
{
  const char *served = s->capacity ? " that fit on any device" : " that served every request";

  if (s->as_recorded)
    return g_strconcat (s->barred > 0 ? " allowed here" : "",
                        " that served what was served when recorded", NULL);
  return g_strconcat (s->barred > 0 ? " allowed here" : "",
                      s->complete + s->barred < s->real ? served : "", NULL);
}

/* Begins the sentence, up to the need of the best. */
static void
append_best (GString *out, const Standings *s)
{
  const char *label = s->best->label,
             *least = s->capacity ? "fits on the smallest device" : "needs least";
  g_autofree char *which = distinction (s);
  const char *same = s->capacity ? "fit on the same device" : "need the same";

  if (s->next == NULL && s->ties == 0)
    g_string_append_printf (out, "%s is the only %s%s: it %s ", label,
                            s->best->programs != NULL ? "combination of real allocators"
                                                      : "real allocator",
                            *which != '\0' ? which : " here", s->capacity ? "fits on" : "needs");
  else if (s->next == NULL && s->fast == s->ties)
    g_string_append_printf (out, "all %s%s %s and take the same time: ", s->kind, which, same);
  else if (s->next == NULL && s->fast > 0)
    g_string_append_printf (out, "all %s%s %s, %s (and %u more) takes least time: ", s->kind, which,
                            same, label, s->fast);
  else if (s->next == NULL)
    g_string_append_printf (out, "all %s%s %s, %s takes least time: ", s->kind, which, same, label);
  else if (s->ties > 0)
    g_string_append_printf (out, "%s (and %u more) %s of the %s%s: ", label, s->ties, least,
                            s->kind, which);
  else
    g_string_append_printf (out, "%s %s of the %s%s: ", label, least, s->kind, which);
}

/* The sentence where no run is eligible. */
static char *
no_choice (const Standings *s)
{
  const gboolean one = s->real == 1;

  if (s->barred == s->real)
    return g_strdup (one ? "the only real allocator here is not allowed."
                         : "no real allocator is allowed here.");
  if (s->barred > 0)
    return g_strdup ("no real allocator allowed here served every request.");
  return g_strdup (one ? "the only real allocator here did not serve every request."
                       : "no real allocator served every request.");
}

/* The sentence about a comparison that was cut short: who needs least is not known. */
static char *
cut_short (GememResult *const *results, guint n)
{
  guint ended = n;

  for (guint i = 0; i < n; i++)
    ended -= gemem_result_was_interrupted (results[i]);
  return ended < n ? g_strdup_printf ("interrupted after %u of %u runs: which allocator needs "
                                      "least is not known.",
                                      ended, n)
                   : NULL;
}

/* The least that is possible, as a planner among @results proved; 0: none did. */
static guint64
proven_least (GememResult *const *results, guint n)
{
  guint64 least = 0;

  for (guint i = 0; i < n; i++)
    for (guint k = 0; results[i]->stats != NULL && k < results[i]->stats->len; k++)
      {
        const GememSetting *stat = results[i]->stats->pdata[k];

        if (strcmp (stat->key, "arena_least") == 0)
          least = MAX (least, g_ascii_strtoull (stat->value, NULL, 10));
      }
  return least;
}

/* How far the best is from the least that is possible, rounded up. */
static void
append_least (GString *out, const Standings *s, guint64 least)
{
  char size[GEMEM_FORMAT_MAX], share[G_ASCII_DTOSTR_BUF_SIZE];

  if (least == 0 || s->capacity || s->as_recorded)
    return;
  g_ascii_formatd (share, sizeof share, "%.1f",
                   ceil (1000 * ((double) s->best->peak_reserved / (double) least - 1)) / 10);
  g_string_append_printf (
      out, " It is at most %s %% above the least possible: no placement needs less than %s.", share,
      gemem_format_size (size, least));
}

/* Why @result needs more than the least. */
static void
append_why (GString *out, const GememResult *result)
{
  g_autoptr (GString) why = g_string_new (NULL);

  if (gemem_above_append_sentence (why, result))
    g_string_append_printf (out, " %s.", why->str);
}

/* The same for the best, and for what the program has now. */
static void
append_reasons (GString *out, const Standings *s, GememResult *const *results, guint n,
                guint64 least)
{
  if (least == 0 || s->capacity || s->as_recorded)
    return;
  append_why (out, s->best);
  for (guint i = 0; i < n; i++)
    if (results[i]->as_now && results[i] != s->best && is_eligible (s, results[i]))
      append_why (out, results[i]);
}

/* Whether both start from the same beginning of the recording. */
static gboolean
compares (const GememResult *a, const GememResult *b)
{
  return a->state_adopted == b->state_adopted;
}

char *
gemem_report_verdict (GememResult *const *results, guint n)
{
  char size[GEMEM_FORMAT_MAX];
  char *cut = n >= 2 ? cut_short (results, n) : NULL;
  if (n < 2 || cut != NULL)
    return cut;
  const Standings s = stand (results, n);
  g_autofree G_GNUC_UNUSED char *kind = s.kind; /* freed at the end */

  if (s.real == 0)
    return NULL;
  if (s.best == NULL)
    return no_choice (&s);
  GString *out = g_string_new (NULL);
  append_best (out, &s);
  g_string_append (out, gemem_format_size (size, need_of (&s, s.best)));
  if (s.next != NULL && compares (s.best, s.next))
    {
      g_string_append (out, ", ");
      append_saving (out, &s, s.next);
      g_string_append_printf (out, "the next, %s", s.next->label);
    }
  if (s.recorder != NULL && s.recorder != s.next && compares (s.best, s.recorder)
      && need_of (&s, s.recorder) > need_of (&s, s.best))
    {
      g_string_append (out, ", ");
      append_saving (out, &s, s.recorder);
      g_string_append_printf (out, "%s, which made the recording", s.recorder->label);
    }
  append_costs (out, &s);
  g_string_append_c (out, '.');
  append_least (out, &s, proven_least (results, n));
  append_reasons (out, &s, results, n, proven_least (results, n));
  return g_string_free (out, FALSE);
}

char *
gemem_report_answer (const GememResult *result)
{
  char size[2][GEMEM_FORMAT_MAX];

  if (result->not_run || result->failure != NULL || result->partial || result->not_allowed != NULL)
    return NULL;
  if (result->ooms > 0)
    return g_strdup_printf ("does not fit: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                            " requests failed",
                            result->ooms, result->allocs);
  return g_strdup_printf ("every request was served; at most %s of %s were held",
                          gemem_format_size (size[0], result->peak_reserved),
                          result->capacity == GEMEM_UNLIMITED
                              ? "an unlimited device"
                              : gemem_format_size (size[1], result->capacity));
}
