/* tensorflow.c - whether what a TensorFlow program asked for fits, in the allocator that TensorFlow uses on
 * a GPU.
 *
 * That allocator takes nearly all of the GPU's memory at its first request, so the driver sees one request
 * and no more.  A dry run therefore lets TensorFlow pass its requests on to the driver's pools, by
 * TF_GPU_ALLOCATOR=cuda_malloc_async (dry/python/sitecustomize.py), and the recording is replayed
 * through `tf-bfc`, TensorFlow's own allocator, as that of JAX is (jax.c).
 *
 * How much the allocator may take, TensorFlow computes from what the driver says is free, less a reserve
 * that follows from the GPU, and from what the program chose.  It tells its pool the same figure, as the
 * most that the pool may keep, and the driver of the dry run notes it (GEMEM_DRY_NOTE_THRESHOLD).
 *
 * Invariants: what the program chose stands in the file PID.tensorflow of the run's folder, lines "NAME
 * VALUE"; without the file, or where the program chose another allocator, nothing is done here.
 */
#include "config.h"

#include "dry/verdict/verdict.h"

guint64
gemem_library_tensorflow_limit (const DryRun *run, gint64 pid, int device)
{
  const DryNote *note;
  guint64 limit = 0;

  for (guint at = 0;
       (note = gemem_dry_notes_next (run, GEMEM_DRY_NOTE_THRESHOLD, pid, device, &at)) != NULL;)
    if (note->numbers[2] > 0 && note->numbers[2] < G_MAXUINT64)
      limit = note->numbers[2];
  return limit;
}

gboolean
gemem_library_tensorflow_replay (const DryOptions *options, const DryRun *run, DryFinding *found,
                                 GError **error)
{
  g_autofree char *version = gemem_library_fact (run, found->pid, "tensorflow", "version");
  g_autofree char *recorded = gemem_library_fact (run, found->pid, "tensorflow", "recorded");
  g_autofree char *grows = gemem_library_fact (run, found->pid, "tensorflow", "grows");
  const guint64 limit = recorded != NULL
                            ? gemem_library_tensorflow_limit (run, found->pid, found->device)
                            : 0;

  if (limit == 0)
    return TRUE;
  found->grows = grows != NULL;
  found->limit = limit;
  g_free (found->allocator);
  found->allocator = g_strconcat ("TensorFlow ", version, NULL);
  return gemem_library_bfc_replay (options, found, error);
}
