/* suggest.c - compares names, and finds the name that was probably intended ("did you mean").
 *
 * Distance is the optimal string alignment distance (insert, delete, replace, swap of neighbours:
 * the usual slips of a keyboard) on normalised names: ASCII lower case, '_' as '-'.  A candidate is
 * near enough if at most a third of the word is wrong.  Users also know long names by a part of
 * them: a word that is a prefix of the candidate, or some of its words ("chunk_size" of
 * "auto_growth_chunk_size_in_mb"), counts as one slip, slips within it in addition; words of the
 * candidate that are not neighbours ("split_mb" of "max_split_size_mb") count as two.  Ties go to
 * the first candidate, so the answer is deterministic.
 *
 * Cost: O(length of word * total length of candidates * words of a candidate); used only for error
 * messages.
 */
#include "config.h"

#include <string.h>

#include "base/params.h"

#define WORD_MAX 64 /* longer words are not taken for typing mistakes */
#define PART_MIN 3  /* shorter words are parts of too many names */

static char
normal (char c)
{
  return c == '_' ? '-' : g_ascii_tolower (c);
}

gboolean
gemem_words_next (const char **rest, const char **word, gsize *length)
{
  if (*rest == NULL || **rest == '\0')
    return FALSE;
  *word = *rest;
  *length = strcspn (*rest, "|");
  *rest += *length + ((*rest)[*length] == '|');
  return TRUE;
}

gboolean
gemem_name_is_word (const char *word, gsize length, const char *name)
{
  while (length > 0 && *name != '\0' && normal (*word) == normal (*name))
    {
      word++;
      name++;
      length--;
    }
  return length == 0 && *name == '\0';
}

gboolean
gemem_name_equal (const char *a, const char *b)
{
  while (*a != '\0' && normal (*a) == normal (*b))
    {
      a++;
      b++;
    }
  return *a == *b;
}

gboolean
gemem_name_listed (const char *words, const char *word)
{
  const char *one;
  gsize length;

  while (gemem_words_next (&words, &one, &length))
    if (gemem_name_is_word (one, length, word))
      return TRUE;
  return FALSE;
}

gboolean
gemem_name_is (const char *name, const char *aliases, const char *word)
{
  return gemem_name_equal (name, word) || gemem_name_listed (aliases, word);
}

static gboolean
has_prefix (const char *name, const char *prefix)
{
  while (*prefix != '\0' && normal (*name) == normal (*prefix))
    {
      name++;
      prefix++;
    }
  return *prefix == '\0';
}

static guint
distance (const char *a, gsize length_a, const char *b, gsize length_b)
{
  guint row[3][WORD_MAX + 1]; /* the last three rows of the table */

  for (guint j = 0; j <= length_b; j++)
    row[0][j] = j;
  for (guint i = 1; i <= length_a; i++)
    {
      guint *current = row[i % 3], *above = row[(i + 2) % 3], *above2 = row[(i + 1) % 3];
      current[0] = i;
      for (guint j = 1; j <= length_b; j++)
        {
          char x = normal (a[i - 1]), y = normal (b[j - 1]);
          guint best = MIN (MIN (above[j], current[j - 1]) + 1, above[j - 1] + (x != y));
          if (i > 1 && j > 1 && x == normal (b[j - 2]) && y == normal (a[i - 2]))
            best = MIN (best, above2[j - 2] + 1);
          current[j] = best;
        }
    }
  return row[length_a % 3][length_b];
}

/* ---- parts of names */

/* The length of the first word of @name. */
static gsize
word_length (const char *name)
{
  gsize length = 0;

  while (name[length] != '\0' && normal (name[length]) != '-')
    length++;
  return length;
}

static const char *
next_word (const char *name)
{
  name += word_length (name);
  return *name != '\0' ? name + 1 : name;
}

/* TRUE if all words of @part are words of @name, in this order. */
static gboolean
has_words (const char *name, const char *part)
{
  for (; *part != '\0'; part = next_word (part), name = next_word (name))
    {
      const gsize length = word_length (part);

      while (*name != '\0'
             && (word_length (name) != length || distance (name, length, part, length) > 0))
        name = next_word (name);
      if (*name == '\0')
        return FALSE;
    }
  return TRUE;
}

/* Slips between @word and the nearest run of words of @candidate, at least one of which is left
 * out; G_MAXUINT if there is no such run. */
static guint
distance_of_part (const char *word, gsize length, const char *candidate)
{
  const char *end = candidate + strlen (candidate);
  guint best = G_MAXUINT;

  for (const char *from = candidate; *from != '\0'; from = next_word (from))
    for (const char *to = from + word_length (from);; to = to + 1 + word_length (to + 1))
      {
        if (from != candidate || to != end)
          best = MIN (best, distance (word, length, from, (gsize) (to - from)));
        if (to == end)
          break;
      }
  return best;
}

/* Slips from @word to @candidate. */
static guint
slips (const char *word, const char *candidate)
{
  const gsize length = strlen (word), candidate_length = strlen (candidate);
  const gboolean part = length >= PART_MIN;
  guint best = G_MAXUINT;

  if (gemem_name_equal (candidate, word))
    return 0;
  if (part && has_prefix (candidate, word))
    return 1;
  if (candidate_length > WORD_MAX)
    return best;
  best = distance (word, length, candidate, candidate_length);
  if (best >= MAX (length, candidate_length)) /* part of the word must match */
    best = G_MAXUINT;
  if (part && has_words (candidate, word))
    best = MIN (best, 2);
  if (part)
    {
      const guint within = distance_of_part (word, length, candidate);

      if (within < length)
        best = MIN (best, within + 1);
    }
  return best;
}

const char *
gemem_suggest (const char *word, const char *const *candidates)
{
  const gsize length = strlen (word);
  const char *best = NULL;
  guint best_slips = (guint) MAX (length / 3, 1) + 1;

  if (length == 0 || length > WORD_MAX)
    return NULL;
  for (; *candidates != NULL; candidates++)
    {
      const guint n = slips (word, *candidates);

      if (n < best_slips)
        {
          best = *candidates;
          best_slips = n;
        }
    }
  return best;
}
