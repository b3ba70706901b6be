/* message.c - see message.h. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "traces/messages/message.h"
#include "traces/messages/nvidia-smi.h"

#define UNIT "( ?(?:[KMGTPEkm]i?B|bytes|B)|[KMGT])"
/* the unit of "3.2/23.5 GiB" is that of both */
#define NUMBER "(\\d{1,40}(?:\\.\\d{1,40})?)(?|" UNIT "|(?=/[\\d.]{1,40}" UNIT "))?(?![0-9A-Za-z])"

#define NONE GEMEM_FIGURE_NONE
#define FACT(figure, pattern) \
  { \
    GEMEM_FIGURE_##figure, GEMEM_FACT_FIRST, pattern \
  }
#define SUM(figure, pattern) \
  { \
    GEMEM_FIGURE_##figure, GEMEM_FACT_SUM, pattern \
  }
#define GAIN(bound, with, without, setting, value) \
  { \
    GEMEM_FIGURE_##bound, GEMEM_FIGURE_##with, GEMEM_FIGURE_##without, setting, value \
  }

static const GememMessageKind kinds[] = {
#include "traces/messages/messages.def"
  { NULL },
};

static const struct
{
  const char *member, *words;
} figures[] = {
  { NULL, NULL },
#define GEMEM_FIGURE(symbol, member, words) { member, words },
#include "traces/messages/figures.def"
#undef GEMEM_FIGURE
};

const GememMessageKind *
gemem_message_kinds (void)
{
  return kinds;
}

const char *
gemem_figure_member (GememFigureKind figure)
{
  return figures[figure].member;
}

const char *
gemem_figure_words (GememFigureKind figure)
{
  return figures[figure].words;
}

/* ---- recognition */

static const char *
sign_in (const GememMessageKind *kind, const char *text, gsize size)
{
  return memmem (text, size, kind->sign, strlen (kind->sign));
}

const GememMessageKind *
gemem_message_find (const char *text, gsize size)
{
  for (const GememMessageKind *kind = kinds; kind->name != NULL; kind++)
    if (sign_in (kind, text, size) != NULL)
      return kind;
  return NULL;
}

/* How often the sign is in the text, where the first one is at @first. */
static guint
count_signs (const GememMessageKind *kind, const char *first, const char *end)
{
  guint n = 0;

  for (const char *at = first; at != NULL; at = sign_in (kind, at + 1, (gsize) (end - at - 1)))
    n++;
  return n;
}

/* TRUE if the comma at @c groups the digits of a number: "10,000,000". */
static gboolean
groups_digits (const char *c, const char *begin, const char *end)
{
  return *c == ',' && c > begin && end - c > 3 && g_ascii_isdigit (c[-1]) && g_ascii_isdigit (c[1])
         && g_ascii_isdigit (c[2]) && g_ascii_isdigit (c[3])
         && (end - c == 4 || !g_ascii_isdigit (c[4]));
}

/* The message that begins at @sign as one line of single blanks, numbers without commas; g_free(). */
static char *
line_at (const GememMessageKind *kind, const char *text, gsize size, const char *sign)
{
  const gssize near = kind->whole ? (gssize) size : GEMEM_MESSAGE_NEAR;
  const char *begin = kind->lines ? sign - MIN (sign - text, near) : sign;
  const char *end = sign + MIN (text + size - sign, near);
  const char *again = kind->lines ? NULL : sign_in (kind, sign + 1, (gsize) (end - sign - 1));
  GString *line = g_string_sized_new ((gsize) (end - begin));

  if (again != NULL)
    end = again;
  for (const char *c = begin; c < end; c++)
    if (groups_digits (c, begin, end))
      continue;
    else if (*c != '\0' && !g_ascii_isspace (*c))
      g_string_append_c (line, *c);
    else if (line->len > 0 && line->str[line->len - 1] != ' ')
      g_string_append_c (line, ' ');
  return g_string_free (line, FALSE);
}

/* ---- numbers */

/* Half a unit of the last digit of @number, in bytes, rounded up; of a whole number the unit, as it may
 * have been cut off. */
static guint64
rounding_of (const char *number, guint64 unit)
{
  const char *dot = strchr (number, '.');

  if (dot == NULL)
    return unit > 1 ? unit : 0;
  for (const char *digit = dot + 1; *digit != '\0'; digit++)
    unit = (unit + 9) / 10;
  return unit;
}

/* @number with @unit ("GB" is GiB in all messages known); FALSE: it does not fit. */
static gboolean
read_number (const char *number, const char *unit, GememFigure *figure)
{
  g_autofree char *text = NULL, *one = NULL;
  guint64 scale = 1;
  char letter = 'B';

  for (; unit != NULL && *unit == ' '; unit++)
    ;
  if (unit != NULL && *unit != '\0' && *unit != 'b')
    letter = g_ascii_toupper (*unit);
  text = letter == 'B' ? g_strdup_printf ("%sB", number)
                       : g_strdup_printf ("%s%ciB", number, letter);
  one = letter == 'B' ? g_strdup ("1B") : g_strdup_printf ("1%ciB", letter);
  if (!gemem_parse_size (one, 1, 0, &scale, NULL)
      || !gemem_parse_size (text, 1, 0, &figure->bytes, NULL))
    return FALSE;
  figure->error = rounding_of (number, scale);
  figure->known = TRUE;
  return TRUE;
}

/* ---- facts */

/* Takes the number of one match; FALSE: it does not fit. */
static gboolean
take_match (GememMessage *message, const GememFact *fact, const GMatchInfo *match)
{
  GememFigure *own = &message->figures[fact->figure], found = { 0 };
  g_autofree char *number = NULL, *unit = NULL;

  if (strchr (fact->pattern, '#') == NULL)
    {
      own->known = TRUE;
      return TRUE;
    }
  number = g_match_info_fetch (match, 1);
  unit = g_match_info_fetch (match, 2);
  if (!read_number (number, unit, &found))
    return FALSE;
  found.error += own->known ? own->error : 0;
  if (own->known && !g_uint64_checked_add (&found.bytes, found.bytes, own->bytes))
    return FALSE;
  *own = found;
  return TRUE;
}

/* Looks for @fact in @line; FALSE: a number there does not fit. */
static gboolean
take_fact (GememMessage *message, const GememFact *fact, const char *line)
{
  g_auto (GStrv) pieces = g_strsplit (fact->pattern, "#", -1);
  g_autofree char *pattern = g_strjoinv (NUMBER, pieces);
  g_autoptr (GRegex) regex = g_regex_new (pattern, G_REGEX_RAW, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;
  gboolean fits = TRUE;

  if (message->figures[fact->figure].known)
    return TRUE;
  for (gboolean found = g_regex_match (regex, line, 0, &match); found && fits;
       found = fact->rule != GEMEM_FACT_FIRST && g_match_info_next (match, NULL))
    fits = take_match (message, fact, match);
  return fits;
}

gboolean
gemem_message_read (GememInput *input, GememMessage *message, GError **error)
{
  const guint8 *data;
  const gssize size = gemem_input_fill (input, GEMEM_MESSAGE_MAX, &data, error);
  const char *text = (const char *) data, *sign;

  memset (message, 0, sizeof *message);
  if (size < 0)
    return FALSE;
  message->kind = size > 0 ? gemem_message_find (text, (gsize) size) : NULL;
  if (message->kind == NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: not recognised as a message; gemem-sim FILE reads recordings",
                   gemem_input_name (input));
      return FALSE;
    }
  sign = sign_in (message->kind, text, (gsize) size);
  message->times = count_signs (message->kind, sign, text + size);
  g_autofree char *line = line_at (message->kind, text, (gsize) size, sign);
  for (const GememFact *fact = message->kind->facts; fact->pattern != NULL; fact++)
    if (fact->rule == GEMEM_FACT_SUM && message->kind->whole && size == GEMEM_MESSAGE_MAX)
      continue; /* the text may go on */
    else if (!take_fact (message, fact, line))
      {
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                     "%s: a number in it is no amount of memory; was the message changed?",
                     gemem_input_name (input));
        return FALSE;
      }
  if (message->kind->read != NULL)
    message->kind->read (text, (gsize) size, message);
  return TRUE;
}
