/* verdict.c - the sentence at the end of a comparison; see notes.h.
 *
 * Why not simply the first row: `direct` has no cache and a plan knows the future, so both need
 * least and neither is a choice for a running program; and a run that refused requests needs less
 * because it did less.
 */
#include "config.h"

#include "base/units.h"
#include "sim/report/notes.h"

extern const GememAllocatorClass gemem_direct_class;

/* An allocator of a plugin that is not loaded now is real. */
static gboolean
is_real (const GememResult *result)
{
  const GememAllocatorClass *klass = gemem_allocator_find (result->allocator, NULL);

  return klass == NULL || (klass != &gemem_direct_class && klass->prepare == NULL);
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

/* TRUE if @a is the better choice: less memory, then less time; else the one given first. */
static gboolean
better (const GememResult *a, const GememResult *b)
{
  if (b == NULL || a->peak_reserved != b->peak_reserved)
    return b == NULL || a->peak_reserved < b->peak_reserved;
  return time_of (a) < time_of (b);
}

typedef struct
{
  const GememResult *best, *next, *recorder; /* next: of those that need more than the best */
  guint real, complete, ties;                /* ties: others that need as much as the best */
  const char *kind; /* what the runs are: "real allocators", "settings" of one, or both */
} Standings;

static gboolean
is_eligible (const GememResult *result)
{
  return is_real (result) && gemem_result_is_complete (result);
}

/* What the eligible runs are: different allocators, settings of one, or both. */
static const char *
kind_of (GememResult *const *results, guint n)
{
  gboolean equal = FALSE, different = FALSE;

  for (guint i = 0; i < n; i++)
    for (guint j = 0; j < i; j++)
      if (is_eligible (results[i]) && is_eligible (results[j]))
        {
          const gboolean same = g_strcmp0 (results[i]->allocator, results[j]->allocator) == 0;
          equal |= same;
          different |= !same;
        }
  return !equal ? "real allocators" : different ? "real allocators and settings" : "settings";
}

static Standings
stand (GememResult *const *results, guint n)
{
  Standings s = { .kind = kind_of (results, n) };
  guint recorders = 0;

  for (guint i = 0; i < n; i++)
    {
      s.real += is_real (results[i]);
      if (!is_eligible (results[i]))
        continue;
      s.complete++;
      if (better (results[i], s.best))
        s.best = results[i];
      if (results[i]->fidelity.compared > 0)
        {
          s.recorder = results[i];
          recorders++;
        }
    }
  if (recorders != 1) /* several settings of one allocator: which of them was it? */
    s.recorder = NULL;
  for (guint i = 0; i < n && s.best != NULL; i++)
    if (results[i] != s.best && is_eligible (results[i]))
      {
        if (results[i]->peak_reserved == s.best->peak_reserved)
          s.ties++;
        else if (better (results[i], s.next))
          s.next = results[i];
      }
  return s;
}

/* "210.0 MiB (5.6 %) less than " */
static void
append_saving (GString *out, const GememResult *best, const GememResult *other)
{
  char size[GEMEM_FORMAT_MAX], share[G_ASCII_DTOSTR_BUF_SIZE];
  const guint64 saved = other->peak_reserved - best->peak_reserved;

  g_ascii_formatd (share, sizeof share, "%.1f",
                   100 * (double) saved / (double) other->peak_reserved);
  g_string_append_printf (out, "%s (%s %%) less than ", gemem_format_size (size, saved), share);
}

static void
append_costs (GString *out, const Standings *s)
{
  char time[GEMEM_FORMAT_MAX];

  if (time_of (s->best) == 0)
    return;
  g_string_append_printf (out, "; it costs %s of %s allocator time",
                          gemem_format_time (time, time_of (s->best)),
                          is_measured (s->best) ? "measured" : "modelled");
  if (s->next != NULL)
    g_string_append_printf (out, ", %s %s", s->next->label,
                            gemem_format_time (time, time_of (s->next)));
  if (s->recorder != NULL && s->recorder != s->best && s->recorder != s->next)
    g_string_append_printf (out, ", %s %s", s->recorder->label,
                            gemem_format_time (time, time_of (s->recorder)));
}

char *
gemem_report_verdict (GememResult *const *results, guint n)
{
  char size[GEMEM_FORMAT_MAX];
  const Standings s = stand (results, n);

  if (n < 2 || s.real == 0)
    return NULL;
  if (s.best == NULL)
    return g_strdup (s.real == 1 ? "the only real allocator here did not serve every request."
                                 : "no real allocator served every request.");
  GString *out = g_string_new (NULL);
  const char *served = s.complete < s.real ? " that served every request" : "";
  if (s.next == NULL && s.ties > 0)
    g_string_append_printf (out, "all %u %s%s need the same, %s takes least time: ", s.complete,
                            s.kind, served, s.best->label);
  else if (s.next == NULL)
    g_string_append_printf (out, "%s is the only real allocator%s: it needs ", s.best->label,
                            *served != '\0' ? served : " here");
  else if (s.ties > 0)
    g_string_append_printf (out, "%s (and %u more) needs least of the %u %s%s: ", s.best->label,
                            s.ties, s.complete, s.kind, served);
  else
    g_string_append_printf (out, "%s needs least of the %u %s%s: ", s.best->label, s.complete,
                            s.kind, served);
  g_string_append (out, gemem_format_size (size, s.best->peak_reserved));
  if (s.next != NULL)
    {
      g_string_append (out, ", ");
      append_saving (out, s.best, s.next);
      g_string_append_printf (out, "the next, %s", s.next->label);
    }
  if (s.recorder != NULL && s.recorder != s.next
      && s.recorder->peak_reserved > s.best->peak_reserved)
    {
      g_string_append (out, ", ");
      append_saving (out, s.best, s.recorder);
      g_string_append_printf (out, "%s, which made the recording", s.recorder->label);
    }
  append_costs (out, &s);
  g_string_append_c (out, '.');
  return g_string_free (out, FALSE);
}
