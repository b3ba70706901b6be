/* input.c - bytes from a file, standard input or memory, decompressed on the way (see input.h).
 *
 * Four layers, each with its own small buffer: stored bytes, of a descriptor (with a spool for a pipe)
 * or a GBytes, and their decompression (input-decode.c); UTF-16 as UTF-8 (input-text.c); the window of
 * bytes not consumed yet, [start, end) of `buffer` (this file).
 *
 * Invariants: the first error is kept and reported whenever more bytes are requested than the
 * window holds, so bytes decoded before the damage can still be read; the window is doubled only
 * while bytes arrive, so a count in a hostile header cannot make it large.
 *
 * Cost: one copy of each byte (plain: from the kernel), one memchr per line.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/input-private.h"
#include "base/io/spool.h"

#define WINDOW_SIZE ((gsize) 256 << 10) /* at first */
#define HASH_SIZE ((gsize) 256 << 10)

/* ---- window */

/* Makes space after `end`: first by moving the window, then by doubling the buffer. */
static void
make_space (GememInput *input)
{
  gsize left = input->end - input->start;
  if (left == 0)
    input->start = input->end = 0;
  else if (input->start >= left
           && input->end > input->capacity / 2) /* moves each byte about once on average */
    {
      memmove (input->buffer, input->buffer + input->start, left);
      input->start = 0;
      input->end = left;
    }
  if (input->end == input->capacity)
    {
      input->capacity *= 2;
      input->buffer = g_realloc (input->buffer, input->capacity);
    }
}

gssize
gemem_input_fill (GememInput *input, gsize want, const guint8 **data, GError **error)
{
  while (input->end - input->start < want && !input->ended && input->failure == NULL)
    {
      gsize produced;
      make_space (input);
      if (!gemem_input_decode_text (input, input->buffer + input->end, input->capacity - input->end,
                                    &produced))
        break;
      input->end += produced;
    }
  gsize available = input->end - input->start;
  if (available < want && input->failure != NULL)
    {
      if (error != NULL)
        *error = g_error_copy (input->failure);
      return -1;
    }
  *data = input->buffer + input->start;
  return (gssize) available;
}

void
gemem_input_consume (GememInput *input, gsize n)
{
  g_assert (n <= input->end - input->start);
  input->start += n;
  input->offset += n;
}

gboolean
gemem_input_skip (GememInput *input, guint64 n, GError **error)
{
  while (n > 0)
    {
      const guint8 *data;
      gssize available = gemem_input_fill (input, 1, &data, error);
      if (available < 0)
        return FALSE;
      if (available == 0)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                       "%s: byte %" G_GUINT64_FORMAT ": the file ends %" G_GUINT64_FORMAT
                       " bytes too early; it is truncated, fetch it again",
                       input->name, input->offset, n);
          return FALSE;
        }
      gsize part = (gsize) MIN (n, (guint64) available);
      gemem_input_consume (input, part);
      n -= part;
    }
  return TRUE;
}

/* The slow half of gemem_input_line(): the window holds no whole line.  Returns its length without
 * LF, or -1. */
static gssize
find_line_end (GememInput *input, gsize max, gboolean *terminated, GError **error)
{
  gsize searched = input->end - input->start;

  for (;;)
    {
      const guint8 *data;
      gssize available = searched <= max + 1 ? gemem_input_fill (input, searched + 1, &data, error)
                                             : (gssize) searched;
      if (available < 0)
        return -1;
      const guint8 *end = (gsize) available > searched
                              ? memchr (data + searched, '\n', (gsize) available - searched)
                              : NULL;
      *terminated = end != NULL;
      if (end != NULL || (gsize) available == searched)
        return end != NULL ? end - data : available;
      searched = (gsize) available;
    }
}

int
gemem_input_line (GememInput *input, gsize max, const char **line, gsize *length, GError **error)
{
  gsize available = input->end - input->start;
  const guint8 *data = input->buffer + input->start;
  const guint8 *end = available > 0 ? memchr (data, '\n', available) : NULL;
  gboolean terminated = end != NULL;
  gsize size = terminated ? (gsize) (end - data) : 0;

  if (!terminated)
    {
      gssize found = find_line_end (input, max, &terminated, error);
      if (found < 0)
        return -1;
      size = (gsize) found;
      data = input->buffer + input->start; /* the window may have moved */
    }
  if (size == 0 && !terminated)
    return 0;
  gsize text = size > 0 && terminated && data[size - 1] == '\r' ? size - 1 : size;
  input->lines++;
  if (text > max)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s:%" G_GUINT64_FORMAT ": the line is longer than %" G_GSIZE_FORMAT
                   " bytes; this is not a trace of this format",
                   input->name, input->lines, max);
      return -1;
    }
  input->line_offset = input->offset;
  gemem_input_consume (input, size + (terminated ? 1 : 0));
  *line = (const char *) data;
  *length = text;
  return 1;
}

guint64
gemem_input_offset (const GememInput *input)
{
  return input->offset;
}

guint64
gemem_input_line_number (const GememInput *input)
{
  return input->lines;
}

guint64
gemem_input_line_offset (const GememInput *input)
{
  return input->line_offset;
}

const char *
gemem_input_name (const GememInput *input)
{
  return input->name;
}

/* ---- opening, moving, closing */

static GememInput *
input_new (const char *name)
{
  GememInput *input = g_new0 (GememInput, 1);
  input->name = g_strdup (name);
  input->units = g_byte_array_new ();
  input->text = g_byte_array_new ();
  input->fd = -1;
  input->spool = -1;
  input->capacity = WINDOW_SIZE;
  input->buffer = g_malloc (WINDOW_SIZE);
  return input;
}

/* A GPrivate and no _Thread_local: libgemem-torch is opened by programs, and the leak sanitizer of
 * clang 14 crashes on the thread-local memory of such a library. */
static GPrivate current_meter = G_PRIVATE_INIT (NULL);

void
gemem_input_set_meter (GememInputMeter *meter)
{
  g_private_set (&current_meter, meter);
}

/* Begins to keep the meter of this thread, if it has one. */
static void
attach_meter (GememInput *input, guint64 size)
{
  input->meter = g_private_get (&current_meter);
  if (input->meter == NULL)
    return;
  __atomic_store_n (&input->meter->position, 0, __ATOMIC_RELAXED);
  __atomic_store_n (&input->meter->size, input->regular ? size : 0, __ATOMIC_RELAXED);
}

GememInput *
gemem_input_open (const char *path, GError **error)
{
  return gemem_input_open_as (path, strcmp (path, "-") == 0 ? "standard input" : path, error);
}

GememInput *
gemem_input_open_as (const char *path, const char *name, GError **error)
{
  gboolean standard = strcmp (path, "-") == 0;
  struct stat status;
  int fd = standard ? dup (STDIN_FILENO) : open (path, O_RDONLY | O_CLOEXEC);

  if (fd < 0 || fstat (fd, &status) != 0 || (S_ISDIR (status.st_mode) && (errno = EISDIR) != 0))
    {
      gemem_error_set_errno (error, errno, *name != '\0' ? name : "''",
                             errno == EISDIR ? "name a file in it" : "name a readable file");
      if (fd >= 0)
        close (fd);
      return NULL;
    }
  GememInput *input = input_new (name);
  input->fd = fd;
  /* a partly read standard input is treated as a pipe */
  input->regular = S_ISREG (status.st_mode) && lseek (fd, 0, SEEK_CUR) == 0;
  attach_meter (input, (guint64) status.st_size);
  return input;
}

GememInput *
gemem_input_new_from_bytes (GBytes *bytes, const char *name)
{
  GememInput *input = input_new (name);
  input->bytes = g_bytes_ref (bytes);
  input->regular = TRUE;
  return input;
}

void
gemem_input_close (GememInput *input)
{
  if (input == NULL)
    return;
  if (input->fd >= 0)
    close (input->fd);
  if (input->spool >= 0)
    close (input->spool);
  if (input->bytes != NULL)
    g_bytes_unref (input->bytes);
  g_clear_object (&input->gzip);
  ZSTD_freeDStream (input->zstd);
  g_clear_error (&input->failure);
  g_byte_array_unref (input->units);
  g_byte_array_unref (input->text);
  g_free (input->raw);
  g_free (input->buffer);
  g_free (input->name);
  g_free (input);
}

void
gemem_input_set_single_pass (GememInput *input)
{
  input->single_pass = TRUE;
  if (input->spool >= 0 && input->position == input->spool_size)
    {
      close (input->spool);
      input->spool = -1;
    }
}

/* Discards all decoded bytes; the next byte read is stored byte @position. */
static void
restart (GememInput *input, guint64 position)
{
  input->position = position;
  input->codec = CODEC_UNKNOWN;
  input->raw_start = input->raw_end = 0;
  input->raw_ended = input->in_frame = input->ended = FALSE;
  g_clear_error (&input->failure);
  input->encoding = ENCODING_UNKNOWN;
  input->text_ended = FALSE;
  g_byte_array_set_size (input->units, 0);
  g_byte_array_set_size (input->text, 0);
  input->start = input->end = 0;
  input->offset = input->lines = input->line_offset = 0;
}

gboolean
gemem_input_rewind (GememInput *input, GError **error)
{
  if (input->offset == input->start) /* all bytes so far are still in the window */
    {
      input->start = 0;
      input->offset = input->lines = input->line_offset = 0;
      return TRUE;
    }
  if (input->fd >= 0 && input->regular)
    {
      if (lseek (input->fd, 0, SEEK_SET) != 0)
        {
          gemem_error_set_errno (error, errno, input->name, "copy it to a regular file first");
          return FALSE;
        }
    }
  else if (input->fd >= 0 && input->spool < 0)
    {
      g_autofree char *advice = gemem_spool_advice ();
      gemem_error_set_errno (error, input->spool_errno != 0 ? input->spool_errno : ESPIPE,
                             input->name, advice);
      return FALSE;
    }
  restart (input, 0);
  return TRUE;
}

gboolean
gemem_input_size (GememInput *input, guint64 *size)
{
  const guint8 *data;
  struct stat status;

  if (!input->regular)
    return FALSE;
  if (input->codec == CODEC_UNKNOWN && gemem_input_fill (input, 1, &data, NULL) < 0)
    return FALSE;
  if (input->codec != CODEC_PLAIN || input->encoding > ENCODING_PLAIN)
    return FALSE;
  if (input->fd < 0)
    *size = g_bytes_get_size (input->bytes);
  else if (fstat (input->fd, &status) == 0)
    *size = (guint64) status.st_size;
  else
    return FALSE;
  return TRUE;
}

gboolean
gemem_input_seek (GememInput *input, guint64 offset, GError **error)
{
  guint64 size;

  if (!gemem_input_size (input, &size) || offset > size)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: cannot go to byte %" G_GUINT64_FORMAT
                   "; only inside a plain, uncompressed file",
                   input->name, offset);
      return FALSE;
    }
  if (input->fd >= 0 && lseek (input->fd, (off_t) offset, SEEK_SET) < 0)
    {
      gemem_error_set_errno (error, errno, input->name, "copy it to a regular file first");
      return FALSE;
    }
  restart (input, offset);
  input->codec = CODEC_PLAIN;
  input->encoding = ENCODING_PLAIN;
  input->offset = offset;
  return TRUE;
}

/* ---- identity */

char *
gemem_input_sha256 (GememInput *input, GError **error)
{
  g_autoptr (GChecksum) checksum = NULL;
  guint64 position = 0;

  if (input->bytes != NULL)
    return g_compute_checksum_for_bytes (G_CHECKSUM_SHA256, input->bytes);
  if (!input->regular)
    return NULL;
  checksum = g_checksum_new (G_CHECKSUM_SHA256);
  g_autofree guint8 *block = g_malloc (HASH_SIZE);
  for (;;)
    {
      gssize n = pread (input->fd, block, HASH_SIZE, (off_t) position);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        {
          gemem_error_set_errno (error, errno, input->name, "check the file and its disk");
          return NULL;
        }
      if (n == 0)
        return g_strdup (g_checksum_get_string (checksum));
      g_checksum_update (checksum, block, n);
      position += (guint64) n;
    }
}
