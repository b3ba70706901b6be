/* suggest.c - compares names, and finds the name that was probably intended ("did you mean").
 *
 * Distance is the optimal string alignment distance (insert, delete, replace, swap of neighbours:
 * the usual slips of a keyboard) on normalised names: ASCII lower case, '_' as '-'.  A candidate is
 * near enough if at most a third of the word is wrong, or if the word is a prefix of the candidate
 * (the user omitted the rest).  Ties go to the first candidate, so the answer is deterministic.
 *
 * Cost: O(length of word * total length of candidates); used only for error messages.
 */
#include "config.h"

#include <string.h>

#include "base/params.h"

#define WORD_MAX 64 /* longer words are not taken for typing mistakes */
#define PREFIX_MIN 3

static char
normal (char c)
{
  return c == '_' ? '-' : g_ascii_tolower (c);
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
  g_auto (GStrv) split = g_strsplit (words != NULL ? words : "", "|", -1);

  for (guint i = 0; split[i] != NULL; i++)
    if (gemem_name_equal (split[i], word))
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

const char *
gemem_suggest (const char *word, const char *const *candidates)
{
  gsize length = strlen (word);
  const char *best = NULL;
  guint best_distance = (guint) MAX (length / 3, 1) + 1;

  if (length == 0 || length > WORD_MAX)
    return NULL;
  for (; *candidates != NULL; candidates++)
    {
      gsize candidate_length = strlen (*candidates);
      guint d;
      if (length >= PREFIX_MIN && has_prefix (*candidates, word))
        d = gemem_name_equal (*candidates, word) ? 0 : 1;
      else if (candidate_length > WORD_MAX)
        continue;
      else
        d = distance (word, length, *candidates, candidate_length);
      if (d < best_distance && d < MAX (length, candidate_length)) /* part of the word must match */
        {
          best = *candidates;
          best_distance = d;
        }
    }
  return best;
}
