/* standings.c - see standings.h. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "sim/report/standings.h"

GArray *
gemem_standings_new (void)
{
  return g_array_new (FALSE, TRUE, sizeof (GememStanding));
}

double
gemem_standing_mean (const GememStanding *standing)
{
  return exp (standing->logs / standing->served);
}

static GememStanding *
standing_of (GArray *standings, const char *label)
{
  GememStanding fresh = { .label = label };

  for (guint i = 0; i < standings->len; i++)
    if (strcmp (g_array_index (standings, GememStanding, i).label, label) == 0)
      return &g_array_index (standings, GememStanding, i);
  g_array_append_val (standings, fresh);
  return &g_array_index (standings, GememStanding, standings->len - 1);
}

void
gemem_standings_add (GArray *standings, const char *label, const char *where, gboolean real,
                     double overhead)
{
  GememStanding *standing = standing_of (standings, label);

  standing->runs++;
  standing->real = real;
  if (!(overhead > 0))
    return;
  standing->served++;
  standing->logs += log (overhead);
  if (overhead > standing->most)
    {
      standing->most = overhead;
      standing->where = where;
    }
}

/* By mean; those without one last, the fewer failures the earlier. */
static int
compare_standings (gconstpointer a, gconstpointer b)
{
  const GememStanding *x = a, *y = b;

  if (x->served != y->served)
    return x->served > y->served ? -1 : 1;
  if (x->served == 0)
    return 0;
  return gemem_standing_mean (x) < gemem_standing_mean (y)
             ? -1
             : gemem_standing_mean (x) > gemem_standing_mean (y);
}

gboolean
gemem_standings_finish (GArray *standings, guint inputs)
{
  for (guint i = standings->len; i-- > 0;)
    if (g_array_index (standings, GememStanding, i).runs != inputs)
      g_array_remove_index (standings, i);
  g_array_sort (standings, compare_standings); /* stable */
  return inputs >= 2 && standings->len >= 2;
}
