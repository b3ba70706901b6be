/* heuristic.c - see heuristic.h.
 *
 * The share of a percentage is computed in 32-bit floats, as Umpire does.
 */
#include "config.h"

#include <string.h>

#include "allocators/umpire/heuristic.h"
#include "base/error.h"
#include "base/units.h"

static const char *const names[] = {
  [UMPIRE_PERCENT_RELEASABLE] = "percent_releasable",
  [UMPIRE_PERCENT_RELEASABLE_HWM] = "percent_releasable_hwm",
  [UMPIRE_BLOCKS_RELEASABLE] = "blocks_releasable",
  [UMPIRE_BLOCKS_RELEASABLE_HWM] = "blocks_releasable_hwm",
};

static gboolean
is_percent (const UmpireHeuristic *heuristic)
{
  return heuristic->kind <= UMPIRE_PERCENT_RELEASABLE_HWM;
}

/* Splits "NAME:N" or "NAME(N)"; FALSE: @text is neither. */
static gboolean
split (const char *text, char **name, char **number)
{
  const gsize length = strlen (text), before = strcspn (text, ":(");

  if (before == length || (text[before] == '(') != g_str_has_suffix (text, ")"))
    return FALSE;
  *name = g_strndup (text, before);
  *number = g_strndup (text + before + 1, length - before - 1 - (text[before] == '('));
  return TRUE;
}

gboolean
gemem_umpire_heuristic_parse (const char *allocator, const char *text, UmpireHeuristic *heuristic,
                              GError **error)
{
  g_autofree char *name = NULL, *number = NULL;
  gboolean known = FALSE;

  if (split (text, &name, &number))
    for (guint i = 0; i < G_N_ELEMENTS (names) && !known; i++)
      {
        heuristic->kind = (UmpireHeuristicKind) i;
        known = strcmp (name, names[i]) == 0;
      }
  if (!known)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "allocator %s: coalesce=%s: no heuristic of Umpire; give percent_releasable:N, "
                 "percent_releasable_hwm:N, blocks_releasable:N or blocks_releasable_hwm:N",
                 allocator, text);
  else if (!gemem_parse_uint (number, &heuristic->n, NULL))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "allocator %s: coalesce=%s: \"%s\" is no whole number; give one as in %s:%s",
                 allocator, text, number, name, is_percent (heuristic) ? "100" : "2");
  else if (is_percent (heuristic) && heuristic->n > 100)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "allocator %s: coalesce=%s: a percentage is at most 100; give 0 to 100", allocator,
                 text);
  else
    return TRUE;
  return FALSE;
}

static gboolean
hits (const UmpireHeuristic *heuristic, const UmpireFigures *figures)
{
  if (!is_percent (heuristic))
    return figures->blocks >= heuristic->n;
  if (heuristic->n == 0 || heuristic->n == 100)
    return heuristic->n == 100 && figures->all_free;
  return figures->releasable >= (guint64) ((float) heuristic->n / 100.0F * (float) figures->actual);
}

guint64
gemem_umpire_heuristic_ask (const UmpireHeuristic *heuristic, const UmpireFigures *figures)
{
  if (!hits (heuristic, figures))
    return 0;
  return heuristic->kind == UMPIRE_PERCENT_RELEASABLE || heuristic->kind == UMPIRE_BLOCKS_RELEASABLE
             ? figures->actual
             : figures->high;
}

guint64
gemem_umpire_heuristic_least (const UmpireHeuristic *heuristic)
{
  if (!is_percent (heuristic))
    return heuristic->n;
  return heuristic->n == 0 ? G_MAXUINT64 : heuristic->n == 100;
}

gboolean
gemem_umpire_heuristic_repeats (const UmpireHeuristic *heuristic)
{
  return is_percent (heuristic) ? heuristic->n > 0 && heuristic->n < 100 : heuristic->n <= 1;
}
