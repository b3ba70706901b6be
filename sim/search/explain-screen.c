/* explain-screen.c - an explanation for a person, the answer first, and the same fields as JSON.
 *
 * Invariants: no figure is computed here; no line is longer than GEMEM_TEXT_WIDTH, but for those to
 * paste, which stay whole.
 */
#include "config.h"

#include <stdarg.h>

#include "base/io/json-text.h"
#include "base/text.h"
#include "base/units.h"
#include "sim/search/explain.h"

/* ---- pieces */

static const GememFigure *
figure_of (const GememExplanation *explanation, GememFigureKind kind)
{
  return &explanation->message.figures[kind];
}

/* Appends @format with the sizes of figures (GememFigureKind) for its "@". */
static void
append_sizes (GString *out, const GememExplanation *explanation, const char *format, ...)
{
  va_list kinds;
  char size[GEMEM_FORMAT_MAX];

  va_start (kinds, format);
  for (const char *c = format; *c != '\0'; c++)
    if (*c == '@')
      g_string_append (
          out, gemem_format_size (size, figure_of (explanation, va_arg (kinds, int))->bytes));
    else
      g_string_append_c (out, *c);
  va_end (kinds);
}

static gboolean
knows (const GememExplanation *explanation, GememFigureKind kind)
{
  return figure_of (explanation, kind)->known;
}

#define KNOWS(name) knows (explanation, GEMEM_FIGURE_##name)
#define APPEND(...) append_sizes (out, explanation, __VA_ARGS__)
#define F(name) GEMEM_FIGURE_##name

/* ---- the sentence */

/* " Not in it: how much the device has, how much was free."; nothing is missing: nothing. */
static void
append_missing (GString *out, const GememExplanation *explanation)
{
  static const struct
  {
    GememFigureKind kind;
    const char *words;
  } wanted[] = { { F (TOTAL), "how much the device has" },
                 { F (FREE), "how much was free" },
                 { F (RESERVED), "how much was reserved" } };
  const char *before = " Not in it: ";

  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    if (!knows (explanation, wanted[i].kind))
      {
        g_string_append_printf (out, "%s%s", before, wanted[i].words);
        before = ", ";
      }
  if (*before == ',')
    g_string_append_c (out, '.');
}

/* Why a library's request fails beside an allocator. */
static void
append_beside (GString *out, const GememExplanation *explanation)
{
  if (explanation->message.kind->beside && !explanation->message.kind->maybe)
    g_string_append_printf (
        out,
        " %s asks the driver, not the program's allocator: the device was full, "
        "or that allocator kept the rest, idle or not.",
        explanation->message.kind->who);
}

/* " Who holds most: python (process 1234) 12.00 GiB, ...", as far as it is in the message. */
static void
append_processes (GString *out, const GememMessage *message)
{
  char size[GEMEM_FORMAT_MAX];

  if (message->kind->read == NULL)
    return;
  for (guint i = 0; i < MIN (message->n_processes, GEMEM_MESSAGE_PROCESSES); i++)
    {
      const GememMessageProcess *process = &message->processes[i];

      g_string_append_printf (out, "%s%s", i == 0 ? " Who holds most: " : ", ", process->name);
      g_string_append_printf (out, "%sprocess %" G_GUINT64_FORMAT "%s %s",
                              *process->name != '\0' ? " (" : "", process->pid,
                              *process->name != '\0' ? ")" : "",
                              gemem_format_size (size, process->bytes));
    }
  g_string_append (out, message->n_processes > 0 ? ". No setting gains what other processes hold."
                                                 : " Which processes hold it is not in it.");
}

/* What a message without a request says. */
static void
append_state (GString *out, const GememExplanation *explanation)
{
  const char *who = explanation->message.kind->who;

  if (KNOWS (USED) && KNOWS (TOTAL))
    APPEND ("The fullest device has @ free of @; @ are in use by all processes together.", F (FREE),
            F (TOTAL), F (USED));
  else if (KNOWS (USED))
    APPEND ("The fullest device has @ in use; how much it has is not in it.", F (USED));
  else if (explanation->message.n_processes > 0)
    g_string_append (out, "How much the devices have is not in it.");
  else if (explanation->message.kind->lacks != NULL)
    g_string_append (out, explanation->message.kind->lacks);
  else if (KNOWS (NEEDED))
    {
      g_string_append_printf (out, "%s takes", who);
      APPEND (" @ for its buffers", F (NEEDED));
      if (KNOWS (MODEL))
        APPEND (": @ the model, @ its context, @ computation", F (MODEL), F (CONTEXT), F (WORK));
      g_string_append (out, ". How much the device has is not in it.");
    }
  else if (KNOWS (RESERVED) && KNOWS (ALLOCATED))
    {
      g_string_append_printf (out, "No request is in it. %s", who);
      APPEND (" has @ in use and @ reserved and idle", F (ALLOCATED), F (IDLE));
      if (KNOWS (PEAK))
        APPEND ("; at most @ were in use at once", F (PEAK));
      if (KNOWS (REFUSALS))
        g_string_append_printf (out, "; requests refused: %" G_GUINT64_FORMAT,
                                figure_of (explanation, F (REFUSALS))->bytes);
      if (KNOWS (FLUSHES))
        g_string_append_printf (out, "; caches emptied to serve one: %" G_GUINT64_FORMAT,
                                figure_of (explanation, F (FLUSHES))->bytes);
      g_string_append_c (out, '.');
    }
  else if (explanation->message.kind->maybe)
    g_string_append_printf (
        out,
        "It may be memory: %s asks the driver for some where it begins, and says "
        "the same of other causes (a driver too old, a broken installation). "
        "Begin it before the device is full: if the error goes, it was memory.",
        who);
  else if (explanation->message.kind->plain)
    g_string_append (out, "How much memory is in use is not in it.");
  else
    g_string_append (out, "Memory was refused; how much was asked for is not in it.");
}

/* Whether others hold more than the allocator that failed: that is worth more than what could be gained of its own.
 * @others: as which figure it is known; OUTSIDE: some of it may be the program's own. */
static gboolean
is_crowded (const GememExplanation *explanation, GememFigureKind *others)
{
  *others = KNOWS (OTHERS) ? F (OTHERS) : KNOWS (ELSEWHERE) ? F (ELSEWHERE) : F (OUTSIDE);
  return figure_of (explanation, *others)->known && KNOWS (RESERVED) && KNOWS (TOTAL)
         && figure_of (explanation, *others)->bytes > figure_of (explanation, F (RESERVED))->bytes;
}

static void
append_pieces (GString *out, const GememExplanation *explanation)
{
  GememFigureKind others;

  if (!is_crowded (explanation, &others))
    {
      APPEND ("Fragmentation, or memory that other streams or pools keep or still use; the message "
              "does not say which: @ reserved and idle + @ free would be enough for the @ asked "
              "for.",
              F (IDLE), F (FREE), F (ASKED));
      return;
    }
  if (others == F (OUTSIDE))
    g_string_append_printf (out, "Others than %s hold", explanation->message.kind->who);
  else
    g_string_append (out, "Other processes hold");
  APPEND (
      " @ of the device's @: end those that need not run. In one piece, @ reserved and idle + @ "
      "free would be enough for the @ asked for.",
      others, F (TOTAL), F (IDLE), F (FREE), F (ASKED));
}

static void
append_free (GString *out, const GememExplanation *explanation)
{
  char step[GEMEM_FORMAT_MAX];

  APPEND ("The device had @ free, and @ were asked for. ", F (FREE), F (ASKED));
  if (gemem_explanation_may_lack_step (explanation))
    g_string_append_printf (
        out,
        "With expandable segments %s takes steps of %s, which is more; without, a limit refused "
        "it, or others used that memory at the time. The message does not say which.",
        explanation->message.kind->who, gemem_format_size (step, explanation->message.kind->step));
  else
    g_string_append (out, "That is enough: a limit refused it, or others used that memory at the "
                          "time; the message does not say which.");
}

static void
append_full (GString *out, const GememExplanation *explanation)
{
  g_string_append_printf (out, "Too little is left: %s", explanation->message.kind->who);
  APPEND (" has @ of the device's @ in use, @ were asked for, @ are free. Less has to be in use at "
          "once, or the device be larger.",
          F (ALLOCATED), F (TOTAL), F (ASKED), F (FREE));
}

static void
append_outside (GString *out, const GememExplanation *explanation)
{
  const GememFigure *elsewhere = figure_of (explanation, F (ELSEWHERE));

  g_string_append_printf (out, "Memory outside %s is in the way: ", explanation->message.kind->who);
  if (KNOWS (BESIDE) && elsewhere->bytes <= elsewhere->error)
    APPEND ("@ of this process (CUDA, other libraries).", F (BESIDE));
  else if (KNOWS (BESIDE))
    APPEND ("@ of this process (CUDA, other libraries) and @ of other processes.", F (BESIDE),
            F (ELSEWHERE));
  else
    APPEND ("@ of other processes, or of this one (CUDA, other libraries); the message does not "
            "say of which.",
            F (OUTSIDE));
  APPEND (" @ were asked for, @ are free.", F (ASKED), F (FREE));
}

static void
append_limit (GString *out, const GememExplanation *explanation)
{
  g_string_append_printf (out, "A limit stops it, not the device: %s",
                          explanation->message.kind->limit);
  if (KNOWS (ALLOWED))
    APPEND (" allows @", F (ALLOWED));
  if (KNOWS (RESERVED))
    APPEND (", @ are reserved", F (RESERVED));
  if (KNOWS (BESIDE) && KNOWS (LIMITED)) /* the limit counts it */
    APPEND (", @ are in use beside", F (BESIDE));
  if (KNOWS (ASKED))
    APPEND (", @ were asked for", F (ASKED));
  g_string_append_c (out, '.');
  if (KNOWS (FREE))
    APPEND (" Raising it gains at most @, which are free.", F (FREE));
}

/* Of a request what little is known. */
static void
append_refusal (GString *out, const GememExplanation *explanation)
{
  const gboolean more = KNOWS (FREE)
                        && figure_of (explanation, F (ASKED))->bytes
                               > figure_of (explanation, F (FREE))->bytes;

  APPEND (more ? "A request of @ was refused: @ were free." : "A request of @ was refused",
          F (ASKED), F (FREE));
  if (explanation->message.kind->lacks != NULL)
    {
      g_string_append_printf (out, "%s%s", more ? " " : ". ", explanation->message.kind->lacks);
      return;
    }
  if (!more)
    g_string_append (out, "; why cannot be told.");
  if (!more && KNOWS (FREE))
    APPEND (" @ were free.", F (FREE));
  if (KNOWS (RESERVED))
    {
      g_string_append_printf (out, " %s", explanation->message.kind->who);
      APPEND (" has @ itself.", F (RESERVED));
    }
  append_missing (out, explanation);
}

static void
append_cause (GString *out, const GememExplanation *explanation)
{
  switch (explanation->cause)
    {
    case GEMEM_CAUSE_TOO_LARGE:
      if (!KNOWS (ASKED))
        APPEND ("It does not fit: all buffers of the program take @, the device has @.", F (NEEDED),
                F (TOTAL));
      else
        APPEND ("It does not fit: one request of @ is larger than the whole device of @.",
                F (ASKED), F (TOTAL));
      break;
    case GEMEM_CAUSE_LIMIT:
      append_limit (out, explanation);
      break;
    case GEMEM_CAUSE_TOO_LITTLE:
      APPEND (
          "Truly too little: @ in use and the @ asked for are more than the device's @, whoever "
          "else uses it. Less has to be in use at once.",
          F (ALLOCATED), F (ASKED), F (TOTAL));
      break;
    case GEMEM_CAUSE_PIECES:
      append_pieces (out, explanation);
      break;
    case GEMEM_CAUSE_FREE:
      append_free (out, explanation);
      break;
    case GEMEM_CAUSE_POOLS:
      APPEND ("Private pools (CUDA graphs, MemPool) keep @ of the device's @, which PyTorch calls "
              "allocated, in use or idle; @ were asked for. Fewer graphs, or one pool for all of "
              "them, would hold less.",
              F (POOLS), F (TOTAL), F (ASKED));
      break;
    case GEMEM_CAUSE_OUTSIDE:
      append_outside (out, explanation);
      break;
    case GEMEM_CAUSE_FULL:
      append_full (out, explanation);
      break;
    case GEMEM_CAUSE_UNTOLD:
    default:
      if (KNOWS (ASKED))
        append_refusal (out, explanation);
      else
        append_state (out, explanation);
      append_processes (out, &explanation->message);
      append_beside (out, explanation);
    }
}

/* "Truly too little: ..."; g_free(). */
static char *
sentence_of (const GememExplanation *explanation)
{
  GString *out = g_string_new (NULL);

  if (explanation->contradiction != NULL)
    g_string_append_printf (out,
                            "Its figures do not add up: %s. Nothing can be told from it; was it "
                            "changed, or put together of two?",
                            explanation->contradiction);
  else
    append_cause (out, explanation);
  if (KNOWS (LONGEST) && figure_of (explanation, F (LONGEST))->bytes > 0)
    g_string_append_printf (out, " By %s's own figures --max-model-len=%" G_GUINT64_FORMAT " fits.",
                            explanation->message.kind->who,
                            figure_of (explanation, F (LONGEST))->bytes);
  return g_string_free (out, FALSE);
}

/* ---- the screen */

/* "Sum: 4.040 GiB in use + ... = 6.000 GiB.", or with private pools a list, which is shorter: a line. */
static void
append_sum (GString *out, const GememExplanation *explanation)
{
  g_autoptr (GString) line = g_string_new (NULL);

  if (!KNOWS (OUTSIDE) || !KNOWS (IDLE))
    return;
  if (KNOWS (POOLS))
    append_sizes (line, explanation, "Of @: @ idle, @ outside, @ free, @ in use (pools @).",
                  F (TOTAL), F (IDLE), F (OUTSIDE), F (FREE), F (ALLOCATED), F (POOLS));
  else
    append_sizes (line, explanation, "Sum: @ in use + @ idle + @ outside + @ free = @.",
                  F (ALLOCATED), F (IDLE), F (OUTSIDE), F (FREE), F (TOTAL));
  gemem_text_wrap (out, line->str, "     ");
}

/* What a gain is, and its most behind it, or below it where that is too long. */
static void
append_gain (GString *out, const GememPossibleGain *one)
{
  char size[GEMEM_FORMAT_MAX];
  const char *since = one->gain->since;
  g_autofree char *most = g_strdup_printf (
      "%s (%s)%s%s%s", gemem_format_size (size, one->at_most),
      gemem_figure_words (one->gain->bound), since != NULL ? "; from release " : "",
      since != NULL ? since : "", one->falls_short ? ", not enough for this request" : "");
  const char *what = one->paste != NULL ? one->paste : one->gain->value;
  g_autofree char *line = g_strdup_printf ("  %s%s%s", what, one->paste != NULL ? "   # " : ": ",
                                           most);

  if (g_utf8_strlen (line, -1) <= GEMEM_TEXT_WIDTH)
    g_string_append_printf (out, "%s\n", line);
  else
    g_string_append_printf (out, "  %s\n      %s\n", what, most);
}

/* Whether the sentence says already what has to be done. */
static gboolean
leaves_out_short_gains (GememCause cause)
{
  return cause == GEMEM_CAUSE_FULL || cause == GEMEM_CAUSE_POOLS;
}

static void
append_gains (GString *out, const GememExplanation *explanation)
{
  gboolean any = FALSE;

  for (guint i = 0; i < explanation->gains->len; i++)
    {
      const GememPossibleGain *one = &g_array_index (explanation->gains, GememPossibleGain, i);

      if (one->falls_short && leaves_out_short_gains (explanation->cause))
        continue; /* nobody should try it */
      if (!any)
        g_string_append (out, "The most that could be gained:\n");
      any = TRUE;
      append_gain (out, one);
    }
}

static void
append_early (GString *out, const GememMessageKind *kind)
{
  if (kind->early != NULL)
    g_string_append_printf (out, "%s gets its memory while there is some with:\n  %s\n", kind->who,
                            kind->early);
}

/* How to record what the message does not say: lines to paste. */
static void
append_next (GString *out, const GememMessageKind *kind)
{
  g_auto (GStrv) lines = g_strsplit (kind->record, "\n", -1);

  g_string_append (out, "Next: record what the message does not say\n");
  for (char **line = lines; *line != NULL; line++)
    g_string_append_printf (out, "  %s\n", *line);
  if (kind->recording != NULL)
    g_string_append_printf (out, "  gemem-sim %s\n", kind->recording);
}

void
gemem_explanation_append (GString *out, const GememExplanation *explanation)
{
  const GememMessage *message = &explanation->message;
  const gboolean several = message->times > 1 && !message->kind->lines;
  g_autofree char *sentence = sentence_of (explanation);
  g_autofree char *name = g_path_get_basename (explanation->name);
  g_autofree char *head = g_strdup_printf ("%s: %s%s", name, message->kind->title,
                                           several ? ", the first of several" : "");

  gemem_text_wrap (out, head, "  ");
  gemem_text_wrap (out, sentence, "  ");
  append_sum (out, explanation);
  append_gains (out, explanation);
  append_early (out, message->kind);
  append_next (out, message->kind);
}

/* ---- JSON */

static const char *
cause_name (GememCause cause)
{
  static const char *const names[] = {
    "untold",        "request-too-large", "limit", "too-little", "fragmentation",
    "private-pools", "held-outside",      "full",  "enough-free"
  };

  return names[cause];
}

static void
append_json_processes (GString *out, const GememMessage *message)
{
  if (message->n_processes == 0)
    return;
  gemem_json_append_name (out, "processes");
  g_string_append_c (out, '[');
  for (guint i = 0; i < MIN (message->n_processes, GEMEM_MESSAGE_PROCESSES); i++)
    {
      g_string_append (out, i == 0 ? "{" : ", {");
      gemem_json_append_text_member (out, "name", message->processes[i].name);
      gemem_json_append_number_member (out, "pid", message->processes[i].pid);
      gemem_json_append_number_member (out, "bytes", message->processes[i].bytes);
      g_string_append_c (out, '}');
    }
  g_string_append_c (out, ']');
}

static void
append_json_gains (GString *out, const GememExplanation *explanation)
{
  gemem_json_append_name (out, "gains");
  g_string_append_c (out, '[');
  for (guint i = 0; i < explanation->gains->len; i++)
    {
      const GememPossibleGain *one = &g_array_index (explanation->gains, GememPossibleGain, i);

      g_string_append (out, i == 0 ? "{" : ", {");
      gemem_json_append_text_member (out, "paste", one->paste);
      gemem_json_append_text_member (out, "do", one->paste != NULL ? NULL : one->gain->value);
      gemem_json_append_number_member (out, "at_most_bytes", one->at_most);
      gemem_json_append_bool_member (out, "falls_short", one->falls_short);
      g_string_append_c (out, '}');
    }
  g_string_append_c (out, ']');
}

void
gemem_explanation_append_json (GString *out, const GememExplanation *explanation)
{
  const GememMessage *message = &explanation->message;
  g_autofree char *sentence = sentence_of (explanation);
  const gboolean fails = explanation->verdict == GEMEM_ADVICE_DOES_NOT_FIT;

  g_string_append (out, "{\"schema\": \"gemem-explanation\", \"version\": 1");
  gemem_json_append_text_member (out, "file", explanation->name);
  gemem_json_append_text_member (out, "message", message->kind->name);
  gemem_json_append_number_member (out, "times", message->times);
  gemem_json_append_text_member (out, "verdict", fails ? "does-not-fit" : "unknown");
  gemem_json_append_text_member (out, "cause", cause_name (explanation->cause));
  gemem_json_append_text_member (out, "sentence", sentence);
  gemem_json_append_text_member (out, "contradiction", explanation->contradiction);
  gemem_json_append_name (out, "figures");
  g_string_append_c (out, '{');
  for (int i = 1; i < GEMEM_N_FIGURES; i++)
    if (message->figures[i].known && gemem_figure_member ((GememFigureKind) i) != NULL)
      gemem_json_append_number_member (out, gemem_figure_member ((GememFigureKind) i),
                                       message->figures[i].bytes);
  g_string_append_c (out, '}');
  append_json_processes (out, message);
  append_json_gains (out, explanation);
  gemem_json_append_text_member (out, "early", message->kind->early);
  gemem_json_append_text_member (out, "record", message->kind->record);
  gemem_json_append_text_member (out, "recording", message->kind->recording);
  g_string_append_c (out, '}');
}
