/* unrecognised.c - see unrecognised.h. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "traces/messages/message.h"
#include "traces/unrecognised.h"

#define HEAD_SIZE 4096 /* bytes that are looked at */

typedef struct
{
  const char *begin, *within; /* first bytes of the file; bytes near its beginning, or NULL */
  const char *what;           /* the kind of file, and what to do */
} Foreign;

#define OLD_PICKLE \
  "a snapshot as a pickle of protocol 0 or 1; pickle.dump() it without naming a protocol"

#define PYTHON \
  "a Python program, not a recording of one; gemem-dry-run python PROGRAM makes one without a " \
  "GPU, " \
  "doc/recordings.md says how with one"

#define WEIGHTS \
  "weights of a model, not a recording; gemem-dry-run PROGRAM says what a program needs with them"

#define PICTURE \
  "a picture; give the text itself: the message in a file, or what nvidia-smi prints (nvidia-smi " \
  ">smi.txt)"

static const Foreign foreign[] = {
  { "version https://git-lfs.github.com/spec/", NULL,
    "a Git LFS pointer stands here in place of the file; fetch that with git lfs pull" },
  { "\xfd"
    "7zXZ",
    NULL, "xz data; unpack it with xz -d (gzip, zstd and zip are read as they are)" },
  { "BZh", "1AY&SY",
    "bzip2 data; unpack it with bzip2 -d (gzip, zstd and zip are read as they are)" },
  { "(dp0\n", "segments", OLD_PICKLE },
  { "}q", "segments", OLD_PICKLE },
  { "PK\x03\x04", "segment_pool_id",
    "a snapshot in an archive of torch.save; load it, and pickle.dump() it to a file" },
  { "PK\x03\x04", NULL,
    "a zip archive (as torch.save and jit.save write); name a recorded trace or a graph, not "
    "weights" },
  { "GGUF", NULL, WEIGHTS },
  { "", "\"data_offsets\":", WEIGHTS }, /* safetensors: a length stands before it */
  { "\x89PNG", NULL, PICTURE },
  { "\xff\xd8\xff", NULL, PICTURE },
  { "RIFF", "WEBP", PICTURE },
  { "PAR1", NULL, "a table (Parquet), not a recording; doc/recordings.md says what to record" },
  { "\x7f"
    "ELF",
    NULL, "a program or library, not a recording of one; gemem-record PROGRAM makes one" },
  { "import ", NULL, PYTHON },
  { "from ", " import ", PYTHON },
  { "#!", "\nimport ", PYTHON },
};

static gboolean
is_within (const guint8 *head, gsize size, const char *bytes)
{
  return memmem (head, MIN (size, HEAD_SIZE), bytes, strlen (bytes)) != NULL;
}

/* The kind of file and what to do, g_free(); NULL: it is not known. */
static char *
find_foreign (const guint8 *head, gsize size)
{
  const GememMessageKind *message = gemem_message_find ((const char *) head, size);

  for (guint i = 0; i < G_N_ELEMENTS (foreign); i++)
    {
      const char *begin = foreign[i].begin;

      if (size >= strlen (begin) && memcmp (head, begin, strlen (begin)) == 0
          && (foreign[i].within == NULL || is_within (head, size, foreign[i].within)))
        return g_strdup (foreign[i].what);
    }
  if (message != NULL)
    return g_strdup_printf ("%s, which holds no requests; 'gemem-sim explain' says what it means",
                            message->title);
  return size == 0 ? g_strdup ("the file is empty; name a recorded trace or a graph") : NULL;
}

gboolean
gemem_is_foreign (const guint8 *head, gsize size)
{
  g_autofree char *what = find_foreign (head, size);

  return what != NULL;
}

void
gemem_fail_unrecognised (GememInput *input, const char *what, GError **error)
{
  const guint8 *head;
  gssize size = gemem_input_fill (input, HEAD_SIZE, &head, NULL);
  g_autofree char *known = NULL;

  if (size == HEAD_SIZE && gemem_message_find ((const char *) head, (gsize) size) == NULL)
    size = gemem_input_fill (input, GEMEM_MESSAGE_MAX, &head, NULL); /* the end of a log */
  if (size < 0) /* damaged: the bytes before the damage may tell more */
    size = gemem_input_fill (input, 1, &head, error);
  if (size < 0)
    return;
  known = find_foreign (head, (gsize) size);
  if (known != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: %s", gemem_input_name (input), known);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s: not recognised as a %s; 'gemem-sim list formats' shows what is read, "
                 "--trace-format=NAME names it; doc/recordings.md says what to record",
                 gemem_input_name (input), what);
}
