/* unrecognised.c - see unrecognised.h. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/unrecognised.h"

typedef struct
{
  const char *begin; /* first bytes of the file */
  const char *what;  /* the kind of file, and what to do */
} Foreign;

static const Foreign foreign[] = {
  { "version https://git-lfs.github.com/spec/",
    "a Git LFS pointer stands here in place of the file; fetch that with git lfs pull" },
  { "PK\x03\x04", "a zip archive (as torch.save and jit.save write); name a recorded trace or a "
                  "graph, not weights" },
};

static const char *
find_foreign (const guint8 *head, gsize size)
{
  for (guint i = 0; i < G_N_ELEMENTS (foreign); i++)
    if (size >= strlen (foreign[i].begin)
        && memcmp (head, foreign[i].begin, strlen (foreign[i].begin)) == 0)
      return foreign[i].what;
  return size == 0 ? "the file is empty; name a recorded trace or a graph" : NULL;
}

gboolean
gemem_is_foreign (const guint8 *head, gsize size)
{
  return find_foreign (head, size) != NULL;
}

void
gemem_fail_unrecognised (GememInput *input, const char *what, const char *formats, GError **error)
{
  const guint8 *head;
  gssize size = gemem_input_fill (input, 64, &head, NULL);

  if (size < 0) /* damaged: the bytes before the damage may tell more */
    size = gemem_input_fill (input, 1, &head, error);
  if (size < 0)
    return;
  if (gemem_is_foreign (head, (gsize) size))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: %s", gemem_input_name (input),
                 find_foreign (head, (gsize) size));
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s: not recognised as a %s; name its format if it is one of: %s",
                 gemem_input_name (input), what, formats);
}
