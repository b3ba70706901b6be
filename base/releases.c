/* releases.c - see releases.h. */
#include "config.h"

#include <string.h>

#include "base/named.h"
#include "base/releases.h"

#define NUMBERS 4

/* The numbers with which @text begins; returns how many. */
static guint
numbers_of (const char *text, guint64 *numbers)
{
  guint n = 0;

  for (const char *at = text; n < NUMBERS && g_ascii_isdigit (*at); at++)
    {
      char *end;
      numbers[n++] = g_ascii_strtoull (at, &end, 10);
      at = end;
      if (*at != '.')
        break;
    }
  return n;
}

/* Three-way comparison, of as many numbers as both have. */
static int
compare (const char *a, const char *b)
{
  guint64 x[NUMBERS], y[NUMBERS];
  const guint n = MIN (numbers_of (a, x), numbers_of (b, y));

  for (guint i = 0; i < n; i++)
    if (x[i] != y[i])
      return x[i] < y[i] ? -1 : 1;
  return 0;
}

static gboolean
is_known (char **words, const char *text)
{
  for (char **word = words; *word != NULL; word++)
    {
      g_autofree char *name = g_strndup (*word, strcspn (*word, "="));
      if (gemem_name_equal (name, text))
        return TRUE;
    }
  return FALSE;
}

/* The newest of @words before @text, else the oldest. */
static char *
nearest_of (char **words, const char *text)
{
  const char *before = NULL, *oldest = NULL;

  for (char **word = words; *word != NULL; word++)
    {
      if (!g_ascii_isdigit (**word))
        continue;
      if (oldest == NULL || compare (*word, oldest) < 0)
        oldest = *word;
      if (compare (*word, text) < 0 && (before == NULL || compare (*word, before) > 0))
        before = *word;
    }
  before = before != NULL ? before : oldest;
  return before != NULL ? g_strndup (before, strcspn (before, "=")) : NULL;
}

char *
gemem_release_stand_in (const char *choices, const char *text, gboolean nearest)
{
  g_auto (GStrv) words = g_strsplit (choices, "|", -1);
  g_autofree char *name = g_strndup (text, strcspn (text, "+"));

  if (!g_ascii_isdigit (*name) || strspn (name, "0123456789.abcdeoprstv") != strlen (name))
    return NULL;
  for (char *end = name + strlen (name); end != NULL; end = strrchr (name, '.'))
    {
      *end = '\0';
      if (is_known (words, name))
        return g_steal_pointer (&name);
    }
  return nearest ? nearest_of (words, text) : NULL;
}

gboolean
gemem_release_is (const char *text, const char *name)
{
  g_auto (GStrv) parts = g_strsplit (name, "-", -1); /* "2.5.1-7.1.0": of two systems */
  guint64 numbers[NUMBERS];

  if (numbers_of (text, numbers) == 0 || numbers_of (name, numbers) == 0)
    return TRUE;
  for (char **part = parts; *part != NULL; part++)
    {
      g_auto (GStrv) pieces = g_strsplit (*part, ".", 3);
      g_autofree char *release = g_strv_length (pieces) > 2
                                     ? g_strconcat (pieces[0], ".", pieces[1], NULL)
                                     : g_strdup (*part);
      if (compare (text, release) == 0)
        return TRUE;
    }
  return FALSE;
}

gboolean
gemem_release_among (const char *range, const char *name)
{
  static const char *const joins[] = { " to ", " or " };
  const char *last = range;

  for (guint i = 0; i < G_N_ELEMENTS (joins); i++)
    {
      const char *join = strstr (range, joins[i]);
      if (join != NULL && g_ascii_isdigit (join[4]))
        last = join + 4;
    }
  return g_ascii_isdigit (*range) && compare (name, range) >= 0 && compare (name, last) <= 0;
}
