/* explain.c - see explain.h: derived figures, their sum, the cause, the gains. */
#include "config.h"

#include "base/units.h"
#include "sim/search/explain.h"
#include "sim/search/paste.h"

#define FIGURE(name) (&explanation->message.figures[GEMEM_FIGURE_##name])

/* ---- figures */

static void
set (GememFigure *figure, guint64 bytes, guint64 error)
{
  *figure = (GememFigure){ TRUE, bytes, error };
}

/* @figure, where it is not known, as the rest of @whole behind @part. */
static void
set_rest (GememFigure *figure, const GememFigure *whole, const GememFigure *part)
{
  if (!figure->known && whole->known && part->known)
    set (figure, whole->bytes - MIN (whole->bytes, part->bytes), whole->error + part->error);
}

/* @figure, where it is not known, as @a and @b together. */
static void
set_sum (GememFigure *figure, const GememFigure *a, const GememFigure *b)
{
  guint64 bytes;

  if (!figure->known && a->known && b->known && g_uint64_checked_add (&bytes, a->bytes, b->bytes))
    set (figure, bytes, a->error + b->error);
}

/* TRUE if @part is more than @whole, however they were rounded. */
static gboolean
exceeds (const GememFigure *part, const GememFigure *whole)
{
  return part->known && whole->known && part->bytes > whole->bytes
         && part->bytes - whole->bytes > part->error + whole->error;
}

static char *
more_than (const char *what, const GememFigure *part, const char *of, const GememFigure *whole)
{
  char a[GEMEM_FORMAT_MAX], b[GEMEM_FORMAT_MAX];

  return g_strdup_printf ("%s %s are more than %s %s", gemem_format_size (a, part->bytes), what,
                          gemem_format_size (b, whole->bytes), of);
}

/* Why the figures contradict each other, g_free(); NULL: they do not. */
static char *
contradiction_of (const GememExplanation *explanation)
{
  GememFigure held = { 0 }, processes = { 0 };

  set_sum (&held, FIGURE (RESERVED), FIGURE (FREE));
  set_sum (&processes, FIGURE (PROCESS), FIGURE (FREE));
  if (exceeds (FIGURE (ALLOCATED), FIGURE (RESERVED)))
    return more_than ("in use", FIGURE (ALLOCATED), "reserved", FIGURE (RESERVED));
  if (exceeds (&held, FIGURE (TOTAL)))
    return more_than ("reserved and free", &held, "of the device", FIGURE (TOTAL));
  if (exceeds (FIGURE (RESERVED), FIGURE (PROCESS)))
    return more_than ("reserved", FIGURE (RESERVED), "of the process", FIGURE (PROCESS));
  if (exceeds (&processes, FIGURE (TOTAL)))
    return more_than ("of this process and free", &processes, "of the device", FIGURE (TOTAL));
  if (exceeds (FIGURE (USED), FIGURE (TOTAL)))
    return more_than ("in use", FIGURE (USED), "of the device", FIGURE (TOTAL));
  return NULL;
}

/* In a container the driver's numbers of processes are not the program's own, and PyTorch takes itself for another one:
 * where those named hold more than is left beside what is reserved here, this process is one of them. */
static void
forget_if_ours (GememExplanation *explanation)
{
  GememFigure held = { 0 }, with_others = { 0 };

  set_sum (&held, FIGURE (RESERVED), FIGURE (FREE));
  set_sum (&with_others, &held, FIGURE (OTHERS));
  if (!FIGURE (PROCESS)->known && exceeds (&with_others, FIGURE (TOTAL)))
    FIGURE (OTHERS)->known = FALSE;
}

static void
derive (GememExplanation *explanation)
{
  GememFigure held = { 0 }, buffers = { 0 };

  if (explanation->message.kind->begins)
    {
      set (FIGURE (ALLOCATED), 0, 0);
      set (FIGURE (IDLE), 0, 0);
    }
  set_sum (FIGURE (RESERVED), FIGURE (ALLOCATED), FIGURE (IDLE));
  explanation->contradiction = contradiction_of (explanation);
  if (explanation->contradiction != NULL)
    return;
  set_rest (FIGURE (IDLE), FIGURE (RESERVED), FIGURE (ALLOCATED));
  forget_if_ours (explanation);
  set_sum (&held, FIGURE (RESERVED), FIGURE (FREE));
  set_rest (FIGURE (OUTSIDE), FIGURE (TOTAL), &held);
  set_rest (FIGURE (BESIDE), FIGURE (PROCESS), FIGURE (RESERVED));
  set_rest (FIGURE (ELSEWHERE), FIGURE (OUTSIDE), FIGURE (BESIDE));
  set_rest (FIGURE (FREE), FIGURE (TOTAL), FIGURE (USED));
  set_rest (FIGURE (RELEASABLE), FIGURE (IDLE), FIGURE (STUCK));
  set_sum (&buffers, FIGURE (MODEL), FIGURE (CONTEXT));
  set_sum (FIGURE (NEEDED), &buffers, FIGURE (WORK));
}

/* ---- the cause */

/* What a process holds beside an allocator in any case: CUDA's context and kernels, handles of libraries. */
#define COMMONLY_BESIDE (G_GUINT64_CONSTANT (1) << 30)

/* TRUE if @part may be more than @whole, as they are rounded. */
static gboolean
may_exceed (const GememFigure *part, const GememFigure *whole)
{
  return part->known && whole->known && !exceeds (whole, part);
}

/* TRUE if others than this process hold something that is more than a rounding. */
static gboolean
has_others (const GememExplanation *explanation)
{
  const GememFigure *others = FIGURE (OTHERS)->known ? FIGURE (OTHERS) : FIGURE (ELSEWHERE);

  return others->known && others->bytes > others->error;
}

/* TRUE if what lies idle is so little that no setting is the answer: a fiftieth of what is held. */
static gboolean
is_used_up (const GememExplanation *explanation)
{
  return FIGURE (IDLE)->known && FIGURE (RESERVED)->known && FIGURE (TOTAL)->known
         && FIGURE (POOLS)->bytes < FIGURE (RESERVED)->bytes / 50 /* 0: not known */
         && FIGURE (IDLE)->bytes < FIGURE (RESERVED)->bytes / 50
         && FIGURE (RESERVED)->bytes > FIGURE (TOTAL)->bytes / 2;
}

/* TRUE if what is held outside the allocator is what every process has there, and less than the program itself @wanted. */
static gboolean
is_common (const GememExplanation *explanation, const GememFigure *wanted)
{
  return !has_others (explanation) && FIGURE (OUTSIDE)->bytes < COMMONLY_BESIDE && wanted->known
         && wanted->bytes > FIGURE (TOTAL)->bytes / 2;
}

/* TRUE if nine tenths of the device are in use, and the rest that is not free is what a process has in any case; what
 * is reserved is not known. */
static gboolean
is_nearly_all (const GememExplanation *explanation)
{
  const GememFigure *total = FIGURE (TOTAL), *used = FIGURE (ALLOCATED), *free = FIGURE (FREE);

  return total->known && used->known && free->known && used->bytes > total->bytes / 10 * 9
         && total->bytes - MIN (total->bytes, used->bytes) < free->bytes + COMMONLY_BESIDE;
}

gboolean
gemem_explanation_may_lack_step (const GememExplanation *explanation)
{
  const guint64 step = explanation->message.kind->step;

  return step > 0 && FIGURE (ASKED)->known && FIGURE (FREE)->known
         && FIGURE (FREE)->bytes / step < (FIGURE (ASKED)->bytes + step - 1) / step;
}

static GememCause
cause_of (const GememExplanation *explanation)
{
  const GememFigure *asked = FIGURE (ASKED), *free = FIGURE (FREE);
  GememFigure wanted = { 0 }, beyond = { 0 }, unused = { 0 }, others = { 0 }, used = { 0 };

  /* PyTorch counts all that its private pools hold as allocated, in use or not */
  set_rest (&used, FIGURE (ALLOCATED), FIGURE (POOLS));
  set_sum (&wanted, used.known ? &used : FIGURE (ALLOCATED), asked);
  set_sum (&beyond, FIGURE (RESERVED), asked);
  set_sum (&beyond, FIGURE (ALLOCATED), asked); /* where what is reserved is not known */
  set_sum (&unused, free, FIGURE (IDLE));
  if (exceeds (asked, FIGURE (TOTAL)) || exceeds (FIGURE (NEEDED), FIGURE (TOTAL)))
    return GEMEM_CAUSE_TOO_LARGE;
  if (FIGURE (LIMITED)->known
      || (exceeds (&beyond, FIGURE (ALLOWED)) && (!free->known || !exceeds (asked, free)))
      || (may_exceed (&beyond, FIGURE (ALLOWED)) && exceeds (free, asked)))
    return GEMEM_CAUSE_LIMIT;
  if (exceeds (&wanted, FIGURE (TOTAL)))
    return GEMEM_CAUSE_TOO_LITTLE;
  if (!asked->known)
    return GEMEM_CAUSE_UNTOLD;
  if (free->known && free->bytes >= asked->bytes)
    return gemem_explanation_may_lack_step (explanation) && is_used_up (explanation)
                   && !has_others (explanation)
               ? GEMEM_CAUSE_FULL
               : GEMEM_CAUSE_FREE;
  if (unused.known && unused.bytes >= asked->bytes)
    return is_used_up (explanation) && !has_others (explanation) ? GEMEM_CAUSE_FULL
                                                                 : GEMEM_CAUSE_PIECES;
  if (unused.known && FIGURE (POOLS)->known && FIGURE (POOLS)->bytes >= asked->bytes - unused.bytes)
    return GEMEM_CAUSE_POOLS;
  set_sum (&others, &unused, FIGURE (OUTSIDE));
  if (!others.known)
    return is_nearly_all (explanation) ? GEMEM_CAUSE_FULL : GEMEM_CAUSE_UNTOLD;
  if (others.bytes < asked->bytes)
    return GEMEM_CAUSE_UNTOLD;
  return is_common (explanation, &wanted) ? GEMEM_CAUSE_FULL : GEMEM_CAUSE_OUTSIDE;
}

/* ---- gains */

/* The line that sets what @gain names, g_free(); NULL: it is no setting. */
static char *
paste_of (const GememMessageKind *kind, const GememGain *gain)
{
  const GememAllocatorClass *klass = gain->setting != NULL
                                         ? gemem_allocator_find (kind->allocator, NULL)
                                         : NULL;
  g_autoptr (GPtrArray) settings = gemem_settings_new ();

  if (klass == NULL)
    return NULL;
  gemem_settings_add (settings, gain->setting, gain->value);
  return gemem_paste_line (klass, gemem_paste_form (klass, NULL), FALSE, NULL, settings);
}

static gboolean
falls_short (const GememExplanation *explanation, const GememFigure *bound)
{
  GememFigure unused = { 0 };

  set_sum (&unused, FIGURE (FREE), bound);
  return exceeds (FIGURE (ASKED), &unused);
}

static void
add_gains (GememExplanation *explanation)
{
  const GememFigure *figures = explanation->message.figures;
  const GememMessageKind *kind = explanation->message.kind;

  for (const GememGain *gain = kind->gains; gain->bound != GEMEM_FIGURE_NONE; gain++)
    {
      GememPossibleGain possible = { gain, figures[gain->bound].bytes, FALSE, NULL };

      if (!figures[gain->bound].known || possible.at_most == 0
          || (gain->with != GEMEM_FIGURE_NONE && !figures[gain->with].known)
          || (gain->without != GEMEM_FIGURE_NONE && figures[gain->without].known))
        continue;
      possible.paste = paste_of (kind, gain);
      possible.falls_short = falls_short (explanation, &figures[gain->bound]);
      g_array_append_val (explanation->gains, possible);
    }
}

static void
clear_gain (gpointer gain)
{
  g_free (((GememPossibleGain *) gain)->paste);
}

GememExplanation *
gemem_explain (GememInput *input, GError **error)
{
  g_autoptr (GememExplanation) explanation = g_new0 (GememExplanation, 1);

  explanation->name = g_strdup (gemem_input_name (input));
  explanation->gains = g_array_new (FALSE, FALSE, sizeof (GememPossibleGain));
  g_array_set_clear_func (explanation->gains, clear_gain);
  if (!gemem_message_read (input, &explanation->message, error))
    return NULL;
  derive (explanation);
  if (explanation->contradiction == NULL)
    {
      explanation->cause = cause_of (explanation);
      if (explanation->cause != GEMEM_CAUSE_TOO_LARGE)
        add_gains (explanation);
    }
  explanation->verdict = explanation->cause == GEMEM_CAUSE_TOO_LARGE
                                 || explanation->cause == GEMEM_CAUSE_TOO_LITTLE
                             ? GEMEM_ADVICE_DOES_NOT_FIT
                             : GEMEM_ADVICE_UNKNOWN;
  return g_steal_pointer (&explanation);
}

void
gemem_explanation_free (GememExplanation *explanation)
{
  if (explanation == NULL)
    return;
  g_free (explanation->name);
  g_free (explanation->contradiction);
  g_array_unref (explanation->gains);
  g_free (explanation);
}
