/* ranks.c - which process is which rank of a distributed program, and the table over ranks.
 *
 * A process notes its rank (GEMEM_DRY_NOTE_RANK): what RANK is in its environment when it
 * starts CUDA, or what it told PyTorch; the last note of a process counts. Of several processes with one rank only the first that
 * is asked about has it.
 */
#include "config.h"

#include "base/units.h"
#include "dry/verdict/verdict.h"

GHashTable *
gemem_library_ranks_read (const DryRun *run)
{
  GHashTable *ranks = g_hash_table_new (NULL, NULL);
  const DryNote *note;

  for (guint at = 0; (note = gemem_dry_notes_next (run, GEMEM_DRY_NOTE_RANK, 0, -1, &at)) != NULL;)
    if (note->numbers[0] > 0 && note->numbers[0] <= G_MAXINT32 && note->numbers[1] < DRY_WORLD_MAX)
      g_hash_table_insert (ranks, GUINT_TO_POINTER ((guint) note->numbers[0]),
                           GUINT_TO_POINTER ((guint) note->numbers[1] + 1));
  return ranks;
}

gint64
gemem_library_ranks_take (GHashTable *ranks, gint64 pid)
{
  const gpointer rank = g_hash_table_lookup (ranks, GUINT_TO_POINTER ((guint) pid));
  GHashTableIter iter;
  gpointer other;

  g_hash_table_iter_init (&iter, ranks);
  while (rank != NULL && g_hash_table_iter_next (&iter, NULL, &other))
    if (other == rank)
      g_hash_table_iter_remove (&iter);
  return (gint64) GPOINTER_TO_UINT (rank) - 1;
}

char *
gemem_library_ranks_output (const char *output, gint64 rank)
{
  g_autofree char *tag = g_strdup_printf ("rank-%" G_GINT64_FORMAT, rank);
  return gemem_launcher_beside (output, tag);
}

static int
compare_ranks (gconstpointer a, gconstpointer b)
{
  const DryFinding *x = *(DryFinding *const *) a, *y = *(DryFinding *const *) b;

  if (x->rank != y->rank)
    return (x->rank > y->rank) - (x->rank < y->rank);
  return (x->device > y->device) - (x->device < y->device);
}

GPtrArray *
gemem_library_ranks_of (const DryVerdict *verdict)
{
  GPtrArray *ranks = g_ptr_array_new ();

  for (guint i = 0; i < verdict->findings->len; i++)
    if (((const DryFinding *) verdict->findings->pdata[i])->rank >= 0)
      g_ptr_array_add (ranks, verdict->findings->pdata[i]);
  if (ranks->len < 2)
    g_ptr_array_set_size (ranks, 0);
  g_ptr_array_sort (ranks, compare_ranks);
  return ranks;
}

const DryFinding *
gemem_library_ranks_largest (const GPtrArray *ranks)
{
  const DryFinding *largest = NULL;

  for (guint i = 0; i < ranks->len; i++)
    {
      const DryFinding *found = ranks->pdata[i];
      if (largest == NULL || found->fit < largest->fit
          || (found->fit == largest->fit && found->needed > largest->needed))
        largest = found;
    }
  return largest;
}

void
gemem_library_ranks_append (GString *out, const GPtrArray *ranks)
{
  static const char *const answers[] = { "DOES NOT FIT", "fits only if", "fits" };
  char live[GEMEM_FORMAT_MAX], reserved[GEMEM_FORMAT_MAX], held[GEMEM_FORMAT_MAX],
      needs[GEMEM_FORMAT_MAX];

  g_string_append_printf (out, "%6s %4s %12s %14s %12s %12s\n", "rank", "GPU", "peak live",
                          "peak reserved", "held in all", "needs");
  for (guint i = 0; i < ranks->len; i++)
    {
      const DryFinding *found = ranks->pdata[i];
      g_string_append_printf (out, "%6" G_GINT64_FORMAT " %4d %12s %14s %12s %12s  %s\n",
                              found->rank, found->gpu, gemem_format_size (live, found->peak_live),
                              gemem_format_size (reserved, found->peak_reserved),
                              gemem_format_size (held, MAX (found->held, found->peak_reserved)),
                              gemem_format_size (needs, found->needed), answers[found->fit]);
    }
}
