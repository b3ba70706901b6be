/* places.c - see places.h. */
#include "config.h"

#include "base/error.h"
#include "base/units.h"
#include "planners/check-sweep.h"
#include "planners/places.h"

#define NAMED 4 /* items that a message names */

/* ---- places */

typedef struct
{
  const GememLifetimes *lifetimes;
  const GArray *pieces;
  GError **error;
} Places;

static char *
describe (const GememLifetimes *lifetimes, guint32 item)
{
  const GememLifetime *life = gemem_lifetimes_get (lifetimes, item);
  const guint64 place = gemem_lifetimes_place (lifetimes, item);
  g_autofree char *name = gemem_lifetimes_name (lifetimes, item);

  return g_strdup_printf ("%s (steps %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
                          ", bytes %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT ")",
                          name, life->begin, life->end, place, place + life->size);
}

static gboolean
meet (gpointer data, guint32 earlier, guint32 later)
{
  const Places *places = data;
  const GememLifePiece *one = &g_array_index (places->pieces, GememLifePiece, earlier),
                       *other = &g_array_index (places->pieces, GememLifePiece, later);

  if (one->end <= other->begin)
    return TRUE;
  g_autofree char *first = describe (places->lifetimes, one->item),
                  *second = describe (places->lifetimes, other->item);
  g_set_error (places->error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "no plan is possible: %s and %s share bytes at their fixed offsets from step "
               "%" G_GUINT64_FORMAT " on; correct one",
               first, second, other->begin);
  return FALSE;
}

static gboolean
is_aligned (const GememLifetimes *lifetimes, guint32 item, GError **error)
{
  const guint64 place = gemem_lifetimes_place (lifetimes, item),
                alignment = gemem_lifetimes_get (lifetimes, item)->alignment;
  g_autofree char *name = NULL;

  if (place == GEMEM_ANY_PLACE || alignment == 0 || place % alignment == 0)
    return TRUE;
  name = gemem_lifetimes_name (lifetimes, item);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "no plan is possible: %s has the fixed offset %" G_GUINT64_FORMAT
               ", which is no multiple of its alignment, %" G_GUINT64_FORMAT "; correct one",
               name, place, alignment);
  return FALSE;
}

gboolean
gemem_lifetimes_check_places (const GememLifetimes *lifetimes, GError **error)
{
  g_autofree guint32 *starts = NULL;
  g_autoptr (GArray) pieces = gemem_lifetimes_pieces (lifetimes, &starts);
  g_autoptr (GArray) claims = g_array_new (FALSE, FALSE, sizeof (GememClaim));
  Places places = { lifetimes, pieces, error };

  for (guint32 i = 0; i < pieces->len; i++)
    {
      const GememLifePiece *piece = &g_array_index (pieces, GememLifePiece, i);
      const guint64 place = gemem_lifetimes_place (lifetimes, piece->item);
      const GememClaim claim = { gemem_lifetimes_get (lifetimes, piece->item)->space,
                                 place + piece->low, place + piece->high, piece->begin, i };

      if (place != GEMEM_ANY_PLACE)
        g_array_append_val (claims, claim);
    }
  for (guint32 i = 0; i < lifetimes->items->len; i++)
    if (!is_aligned (lifetimes, i, error))
      return FALSE;
  return gemem_claims_sweep (claims, meet, &places);
}

/* ---- capacity */

static int
compare_pieces (gconstpointer a, gconstpointer b)
{
  const GememLifePiece *x = a, *y = b;
  const guint64 size[] = { x->high - x->low, y->high - y->low };

  if (size[0] != size[1])
    return size[0] > size[1] ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

/* "buffer 'a' (12), buffer 'b' (8) and 3 others": what is in use at @step. */
static char *
names_at (const GememLifetimes *lifetimes, const GArray *pieces, guint32 space, guint64 step)
{
  g_autoptr (GArray) found = g_array_new (FALSE, FALSE, sizeof (GememLifePiece));
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < pieces->len; i++)
    {
      const GememLifePiece *piece = &g_array_index (pieces, GememLifePiece, i);

      if (piece->begin <= step && step < piece->end
          && gemem_lifetimes_get (lifetimes, piece->item)->space == space)
        g_array_append_val (found, *piece);
    }
  g_array_sort (found, compare_pieces);
  for (guint i = 0; i < MIN (found->len, NAMED); i++)
    {
      const GememLifePiece *piece = &g_array_index (found, GememLifePiece, i);
      g_autofree char *name = gemem_lifetimes_name (lifetimes, piece->item);

      g_string_append_printf (text, "%s%s (%" G_GUINT64_FORMAT ")", i > 0 ? ", " : "", name,
                              piece->high - piece->low);
    }
  if (found->len > NAMED)
    g_string_append_printf (text, " and %u other%s", found->len - NAMED,
                            gemem_plural (found->len - NAMED));
  return g_string_free (text, FALSE);
}

/* Whether every item of @space ends within @capacity by itself. */
static gboolean
check_ends (const GememLifetimes *lifetimes, guint32 space, guint64 capacity, GError **error)
{
  for (guint32 i = 0; i < lifetimes->items->len; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);
      const guint64 place = gemem_lifetimes_place (lifetimes, i),
                    end = (place != GEMEM_ANY_PLACE ? place : 0) + life->size;

      if (life->space != space || end <= capacity)
        continue;
      g_autofree char *name = gemem_lifetimes_name (lifetimes, i);
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                   "no plan fits into capacity=%" G_GUINT64_FORMAT ": %s needs %" G_GUINT64_FORMAT
                   " bytes%s",
                   capacity, name, end, place != GEMEM_ANY_PLACE ? " at its fixed offset" : "");
      return FALSE;
    }
  return TRUE;
}

gboolean
gemem_lifetimes_check_capacity (const GememLifetimes *lifetimes, guint32 space, guint64 alignment,
                                guint64 capacity, GError **error)
{
  g_autofree guint32 *starts = NULL;
  g_autoptr (GArray) pieces = gemem_lifetimes_pieces (lifetimes, &starts);
  g_autofree char *names = NULL;
  guint64 step;

  if (!check_ends (lifetimes, space, capacity, error))
    return FALSE;
  const guint64 most = gemem_lifetimes_load (lifetimes, space,
                                             gemem_lifetimes_unit (lifetimes, alignment), &step);
  if (most <= capacity)
    return TRUE;
  names = names_at (lifetimes, pieces, space, step);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
               "no plan fits into capacity=%" G_GUINT64_FORMAT ": at step %" G_GUINT64_FORMAT
               " %" G_GUINT64_FORMAT " bytes are in use: %s",
               capacity, step, most, names);
  return FALSE;
}
