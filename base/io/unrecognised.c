/* unrecognised.c - see unrecognised.h. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/unrecognised.h"

#define HEAD_SIZE 4096 /* bytes that are looked at */

typedef struct
{
  const char *begin, *within; /* first bytes of the file, bytes near its beginning; or NULL */
  const char *what;           /* the kind of file, and what to do */
} Foreign;

#define RECORD_PYTORCH \
  "record what led to it: torch.cuda.memory._record_memory_history() before, " \
  "torch.cuda.memory._dump_snapshot('snapshot.pickle') when it fails"

static const Foreign foreign[] = {
  { "version https://git-lfs.github.com/spec/", NULL,
    "a Git LFS pointer stands here in place of the file; fetch that with git lfs pull" },
  { "PK\x03\x04", NULL,
    "a zip archive (as torch.save and jit.save write); name a recorded trace or a graph, not "
    "weights" },
  { "SQLite format 3", NULL,
    "an SQLite database (as nsys export writes); gemem-sim does not read it. Record the program "
    "with gemem-record" },
  { NULL, "out of memory. Tried to allocate",
    "PyTorch's out-of-memory message, which does not say what came before; " RECORD_PYTORCH },
  { NULL, "memory summary, device ID",
    "what torch.cuda.memory_summary() prints, which holds no requests; " RECORD_PYTORCH },
  { NULL, "RMM LOG BEGIN",
    "RMM's debug log, which holds no allocations that succeeded; log them with "
    "rmm.enable_logging(log_file_name='rmm.csv')" },
  { NULL, "buffer size = ",
    "what llama.cpp prints of its buffers, which is not each request; record the program with "
    "gemem-record" },
  { NULL, "BufferAssignment:",
    "XLA's buffer assignment, which gemem-sim does not read; record the program with "
    "gemem-record, or try it with gemem-dry-run" },
  { "\n",
    "\x05space2\x05"
    "bytes",
    "a profile of pprof (as jax.profiler.save_device_memory_profile writes), which says who held "
    "memory at one moment: pprof -top shows it. For requests use gemem-record or gemem-dry-run" },
};

static gboolean
is_within (const guint8 *head, gsize size, const char *bytes)
{
  return memmem (head, MIN (size, HEAD_SIZE), bytes, strlen (bytes)) != NULL;
}

static const char *
find_foreign (const guint8 *head, gsize size)
{
  for (guint i = 0; i < G_N_ELEMENTS (foreign); i++)
    {
      const char *begin = foreign[i].begin != NULL ? foreign[i].begin : "";

      if (size >= strlen (begin) && memcmp (head, begin, strlen (begin)) == 0
          && (foreign[i].within == NULL || is_within (head, size, foreign[i].within)))
        return foreign[i].what;
    }
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
  gssize size = gemem_input_fill (input, HEAD_SIZE, &head, NULL);

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
