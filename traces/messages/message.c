/* message.c - see message.h. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "traces/messages/message.h"
#include "traces/messages/nvidia-smi.h"

/* a line may be broken within one */
#define UNIT "( ?(?:[KMGTPEkm] ?i? ?B|bytes|B)|[KMGT])"
/* the unit of "3.2/23.5 GiB" is that of both */
#define BROKEN \
  "\001" /* stands in a line where one was broken, maybe within a number, which is none then */
#define NUMBER \
  "(?<![0-9." BROKEN "])(\\d{1,40}+(?:\\.\\d{1,40}+)?+)(?|" UNIT "|(?=/[\\d.]{1,40}" UNIT \
  "))?(?![0-9A-Za-z]|\\.?" BROKEN ")"

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
    GEMEM_FIGURE_##bound, GEMEM_FIGURE_##with, GEMEM_FIGURE_##without, setting, value, NULL \
  }
#define GAIN_EXPANDABLE(bound, with) \
  { \
    GEMEM_FIGURE_##bound, GEMEM_FIGURE_##with, GEMEM_FIGURE_NONE, "expandable_segments", "yes", \
        "2.1" \
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

/* The bytes of a break of a line at @c within a word that goes on with @next; 0: there is none. */
static gsize
break_at (const char *c, const char *end, char next)
{
  const gsize n = end - c > 2 && c[0] == '\r' && c[1] == '\n' ? 2 : end - c > 1 && *c == '\n';

  return n > 0 && c[n] == next ? n : 0;
}

/* The bytes of @sign at @text, where a terminal or a mail may have broken a line, or made it a no-break space, at each
 * of its blanks but the first two bytes, or a terminal a line within a word, the last of which is *@broken (NULL: none);
 * 0: it is not there. */
static gsize
sign_length_at (const char *text, const char *end, const char *sign, const char **broken)
{
  const char *c = text;

  for (const char *s = sign; *s != '\0'; s++)
    if (c < end && *c == *s)
      c++;
    else if (s >= sign + 2 && break_at (c, end, *s) > 0)
      {
        *broken = c;
        c += break_at (c, end, *s) + 1;
      }
    else if (*s != ' ' || s < sign + 2)
      return 0;
    else if (end - c > 1 && memcmp (c, "\302\240", 2) == 0)
      c += 2;
    else
      {
        c += c < end && *c == '\r';
        if (c == end || *c != '\n')
          return 0;
        while (c < end && g_ascii_isspace (*c))
          c++;
      }
  return (gsize) (c - text);
}

static gsize
sign_length (const char *text, const char *end, const char *sign)
{
  const char *broken = NULL;

  return sign_length_at (text, end, sign, &broken);
}

static const char *
sign_in (const GememMessageKind *kind, const char *text, gsize size)
{
  const char *end = text + size;

  for (const char *c = text; c < end && (c = memchr (c, *kind->sign, (gsize) (end - c))) != NULL;
       c++)
    if (sign_length (c, end, kind->sign) > 0)
      return c;
  return NULL;
}

#define PAIRS (1 << 16)

G_STATIC_ASSERT (G_N_ELEMENTS (kinds) < 256);

/* The kinds by the first two bytes of their signs: a row + 1, the next one of the same pair in `next`. */
typedef struct
{
  guint8 first[PAIRS], next[G_N_ELEMENTS (kinds)];
} Index;

static guint
pair_at (const char *text)
{
  return (guint) (guchar) text[0] << 8 | (guchar) text[1];
}

static gpointer
index_kinds (gpointer data G_GNUC_UNUSED)
{
  Index *made = g_new0 (Index, 1);

  for (guint row = G_N_ELEMENTS (kinds) - 1; row-- > 0;)
    {
      guint8 *first = &made->first[pair_at (kinds[row].sign)];

      made->next[row] = *first;
      *first = (guint8) (row + 1);
    }
  return made;
}

/* One pass, however many kinds there are: logs are long. */
const GememMessageKind *
gemem_message_find (const char *text, gsize size)
{
  static GOnce once = G_ONCE_INIT;
  const Index *rows = g_once (&once, index_kinds, NULL);
  guint best = G_N_ELEMENTS (kinds) - 1;

  for (const char *c = text, *end = text + size; end - c > 1; c++)
    for (guint row = rows->first[pair_at (c)]; row > 0 && row - 1 < best; row = rows->next[row - 1])
      if (sign_length (c, end, kinds[row - 1].sign) > 0)
        best = row - 1;
  return kinds[best].name != NULL ? &kinds[best] : NULL;
}

/* ---- pieces of a text */

typedef struct
{
  const char *text; /* without sequences of escape */
  gsize size;
  char *own;     /* `text`, where it is not the input's; NULL */
  gboolean more; /* the input goes on behind it */
} Piece;

static void
clear_piece (Piece *piece)
{
  g_free (piece->own);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Piece, clear_piece)

/* @text without what a terminal obeys, "ESC [ 1 ; 31 m". */
static GString *
without_escapes (const char *text, gsize size)
{
  GString *plain = g_string_sized_new (size);
  const char *end = text + size;

  for (const char *c = text; c < end; c++)
    if (*c != '\033')
      g_string_append_c (plain, *c);
    else if (end - c > 1 && c[1] == '[')
      for (c += 2; c < end && (g_ascii_isdigit (*c) || *c == ';' || *c == '?'); c++)
        ;
  return plain;
}

static gboolean
read_piece (GememInput *input, Piece *piece, GError **error)
{
  const guint8 *bytes;
  const gssize size = gemem_input_fill (input, GEMEM_MESSAGE_MAX, &bytes, error);

  g_clear_pointer (&piece->own, g_free);
  if (size < 0)
    return FALSE;
  piece->text = (const char *) bytes;
  piece->size = MIN ((gsize) size, GEMEM_MESSAGE_MAX);
  piece->more = size >= GEMEM_MESSAGE_MAX;
  if (memchr (piece->text, '\033', piece->size) != NULL)
    {
      GString *plain = without_escapes (piece->text, piece->size);

      piece->size = plain->len;
      piece->text = piece->own = g_string_free (plain, FALSE);
    }
  return TRUE;
}

/* Reads @input up to the piece in which a message begins and, unless it is longer, ends; @kind: NULL where there is none.
 * FALSE with @error. */
static gboolean
find_piece (GememInput *input, Piece *piece, const GememMessageKind **kind, GError **error)
{
  while (read_piece (input, piece, error))
    {
      gsize again = GEMEM_MESSAGE_NEAR; /* a sign may lie across */

      *kind = gemem_message_find (piece->text, piece->size);
      if (*kind != NULL)
        again = sign_in (*kind, piece->text, piece->size) + GEMEM_MESSAGE_NEAR
                        < piece->text + piece->size
                    ? 0
                    : 4 * GEMEM_MESSAGE_NEAR; /* and what belongs to it */
      else if (memchr (piece->text, '\0', piece->size) != NULL)
        return TRUE; /* no text */
      if (!piece->more || again == 0)
        return TRUE;
      gemem_input_consume (input, GEMEM_MESSAGE_MAX - again);
    }
  return FALSE;
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

/* TRUE if the comma at @c is what people of many countries write for a point: "2,00 GiB". */
static gboolean
is_point (const char *c, const char *begin, const char *end)
{
  const char *unit = c + 1;

  if (*c != ',' || c == begin || !g_ascii_isdigit (c[-1]))
    return FALSE;
  while (unit < end && g_ascii_isdigit (*unit))
    unit++;
  if (unit == c + 1 || unit > c + 3)
    return FALSE;
  unit += unit < end && *unit == ' ';
  return end - unit > 2 && strchr ("KMGT", *unit) != NULL && unit[1] == 'i' && unit[2] == 'B';
}

/* The length of what only frames the text at @c: the bar of a box, or at the beginning of a line how mails and chats
 * quote. */
static gsize
frame_at (const char *c, const char *begin, const char *end)
{
  static const char bar[] = "\342\224\202";

  if (end - c > 3 && memcmp (c, bar, 3) == 0)
    return 3;
  return c > begin && c[-1] == '\n' && end - c > 1 && (*c == '>' || *c == '#') && c[1] == ' ';
}

/* Where the line of @c begins. */
static const char *
line_of (const char *c, const char *begin)
{
  while (c > begin && c[-1] != '\n')
    c--;
  return c;
}

#define NARROWEST 60 /* columns of terminals */

/* The length of the longest line. */
static gsize
widest_line (const char *begin, const char *end)
{
  gsize widest = 0;

  for (const char *line = begin, *stop; line < end; line = stop + 1)
    {
      stop = memchr (line, '\n', (gsize) (end - line));
      stop = stop != NULL ? stop : end;
      widest = MAX (widest, (gsize) (stop - line));
    }
  return widest;
}

/* TRUE if a terminal of @width columns may have broken a number at @c, the end of a line: a digit or a point stands on
 * both sides, and the next line does not begin with a time. */
static gboolean
breaks_number (const char *c, gsize width, const char *begin, const char *end)
{
  const char *last = c > begin && c[-1] == '\r' ? c - 1 : c, *next = c + 1;
  guint dots = 0;

  if (*c != '\n' || width < NARROWEST || last == begin || next >= end
      || !(g_ascii_isdigit (last[-1]) || last[-1] == '.')
      || !(g_ascii_isdigit (*next) || *next == '.') || (gsize) (c - line_of (c, begin)) < width)
    return FALSE;
  for (const char *word = next; word < end && !g_ascii_isspace (*word); word++)
    if (strchr ("-:/", *word) != NULL || (*word == '.' && ++dots > 1))
      return FALSE;
  return TRUE;
}

/* The bytes of the line that ends at @c, without its end. */
static gsize
length_of (const char *c, const char *begin)
{
  return (gsize) (c - line_of (c, begin)) - (c > begin && c[-1] == '\r');
}

/* The width at which a terminal broke the lines of a text, which is known where it broke a word of the sign of @kind
 * at @sign; 0: it is not. */
static gsize
wrapped_at (const GememMessageKind *kind, const char *sign, const char *text, const char *end)
{
  const char *broken = NULL;

  sign_length_at (sign, end, kind->sign, &broken);
  return broken != NULL ? length_of (broken + (*broken == '\r'), text) : 0;
}

/* The message that begins at @sign as one line of single blanks, numbers without commas; @join: a line as long as the
 * longest was broken within a word.  g_free(). */
static char *
line_at (const GememMessageKind *kind, const char *text, gsize size, const char *sign,
         gboolean join)
{
  const gssize near = kind->whole ? (gssize) size : GEMEM_MESSAGE_NEAR;
  const char *begin = kind->lines ? sign - MIN (sign - text, near) : sign;
  const char *end = sign + MIN (text + size - sign, near);
  const char *again = kind->lines ? NULL : sign_in (kind, sign + 1, (gsize) (end - sign - 1));
  GString *line = g_string_sized_new ((gsize) (end - begin));
  const char *first = line_of (begin, text); /* all of a line counts for where it was broken */
  const gsize width = widest_line (first, end), wrapped = wrapped_at (kind, sign, text, end);
  const gsize full = wrapped > 0 ? wrapped : join && width >= NARROWEST ? width : 0;

  if (again != NULL)
    end = again;
  for (const char *c = begin; c < end; c++)
    if (frame_at (c, begin, end) > 0)
      c += frame_at (c, begin, end) - 1;
    else if (full > 0 && (*c == '\r' || (*c == '\n' && length_of (c, text) == full)))
      {
        if (wrapped == 0 && breaks_number (c, width, first, end))
          g_string_append (line, BROKEN);
      }
    else if (groups_digits (c, begin, end))
      continue;
    else if (is_point (c, begin, end))
      g_string_append_c (line, '.');
    else if (end - c > 1 && memcmp (c, "\302\240", 2) == 0)
      {
        g_string_append_c (line, ' ');
        c++;
      }
    else if (breaks_number (c, width, first, end))
      g_string_append (line, BROKEN);
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
  g_auto (Piece) piece = { 0 };
  const char *sign;

  memset (message, 0, sizeof *message);
  if (!find_piece (input, &piece, &message->kind, error))
    return FALSE;
  if (message->kind == NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: not recognised as a message; gemem-sim FILE reads recordings",
                   gemem_input_name (input));
      return FALSE;
    }
  sign = sign_in (message->kind, piece.text, piece.size);
  message->times = count_signs (message->kind, sign, piece.text + piece.size);
  g_autofree char *line = line_at (message->kind, piece.text, piece.size, sign, FALSE);
  g_autofree char *joined = line_at (message->kind, piece.text, piece.size, sign, TRUE);
  for (const GememFact *fact = message->kind->facts; fact->pattern != NULL; fact++)
    if (fact->rule == GEMEM_FACT_SUM && message->kind->whole && piece.more)
      continue; /* the text may go on */
    else if (!take_fact (message, fact, line) || !take_fact (message, fact, joined))
      {
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                     "%s: a number in it is no amount of memory; was the message changed?",
                     gemem_input_name (input));
        return FALSE;
      }
  if (message->kind->read != NULL)
    message->kind->read (piece.text, piece.size, message);
  return TRUE;
}
