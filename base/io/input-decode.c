/* input-decode.c - the stored bytes of an input and their decompression (see input.h,
 * input-private.h).
 *
 * Stored bytes come from a descriptor or from memory.  Bytes from a pipe are kept in an unlinked
 * temporary file, unless the input is read only once.  Stored bytes are delivered unchanged, or
 * decompressed by GZlibDecompressor (several members) or libzstd (several frames).  Of a zip archive,
 * as trackers of issues ask for them, the one file in it is delivered.
 *
 * Invariants: a truncated compressed stream is an error, never an end; so are bytes after the
 * stream, and a second file in a zip archive.  The memory of a zstd frame is bounded by libzstd's own
 * limit (a window of 128 MiB).
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/input-private.h"
#include "base/io/spool.h"
#include "base/io/zstd-memory.h"

#define RAW_SIZE ((gsize) 128 << 10)

/* ---- raw */

/* Keeps a copy of bytes from a pipe for a later rewind; a failure matters only if that rewind is
 * requested. */
static void
spool_keep (GememInput *input, const guint8 *data, gsize size)
{
  if (input->regular || input->single_pass || input->spool_errno != 0)
    return;
  if (input->spool < 0 && (input->spool = gemem_spool_new (NULL)) < 0)
    input->spool_errno = errno != 0 ? errno : EIO;
  else if (gemem_spool_write (input->spool, data, size, input->spool_size))
    input->spool_size += size;
  else
    {
      input->spool_errno = errno;
      close (input->spool);
      input->spool = -1;
    }
}

static gssize
read_descriptor (GememInput *input, guint8 *to, gsize size)
{
  gssize n;

  if (input->spool >= 0 && input->position < input->spool_size)
    {
      gsize kept = (gsize) MIN ((guint64) size, input->spool_size - input->position);
      do
        n = pread (input->spool, to, kept, (off_t) input->position);
      while (n < 0 && errno == EINTR);
      return n;
    }
  do
    n = read (input->fd, to, size);
  while (n < 0 && errno == EINTR);
  if (n > 0)
    spool_keep (input, to, (gsize) n);
  return n;
}

/* Reads stored bytes; 0 at the end, -1 with the failure set. */
static gssize
read_raw (GememInput *input, guint8 *to, gsize size)
{
  gssize n;

  if (input->fd < 0)
    {
      gsize length;
      const guint8 *data = g_bytes_get_data (input->bytes, &length);
      n = (gssize) MIN (size, length - (gsize) input->position);
      if (n > 0)
        memcpy (to, data + input->position, (gsize) n);
    }
  else
    n = read_descriptor (input, to, size);
  if (n < 0)
    {
      gemem_error_set_errno (&input->failure, errno, input->name, "check the file and its disk");
      return -1;
    }
  input->position += (guint64) n;
  if (input->meter != NULL)
    __atomic_store_n (&input->meter->position, input->position, __ATOMIC_RELAXED);
  return n;
}

/* ---- decode */

static gboolean fail (GememInput *input, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
fail (GememInput *input, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_clear_error (&input->failure);
  input->failure = g_error_new (GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: %s", input->name, text);
  return FALSE;
}

static gboolean
fail_truncated (GememInput *input, const char *codec)
{
  return fail (input,
               "the %s data stop in the middle, after %" G_GUINT64_FORMAT
               " stored bytes; the file is truncated, fetch it again",
               codec, input->position);
}

/* Appends stored bytes to [raw_start, raw_end); FALSE on a read error. */
static gboolean
refill_raw (GememInput *input)
{
  gsize left = input->raw_end - input->raw_start;
  g_assert (left < RAW_SIZE);
  memmove (input->raw, input->raw + input->raw_start, left);
  input->raw_start = 0;
  input->raw_end = left;
  if (input->raw_ended)
    return TRUE;
  gssize n = read_raw (input, input->raw + left, RAW_SIZE - left);
  if (n < 0)
    return FALSE;
  input->raw_ended = n == 0;
  input->raw_end += (gsize) n;
  return TRUE;
}

/* ---- zip: PKWARE's APPNOTE 4.3.7 */

#define ZIP_HEADER 30
#define ZIP_MAGICNUMBER 0x04034b50U
#define SEVERAL "a zip archive of several files; unpack it and name one of them"

static guint32
little_endian (const guint8 *bytes, guint n)
{
  guint32 value = 0;
  for (guint i = n; i-- > 0;)
    value = value << 8 | bytes[i];
  return value;
}

/* Whether the file at @head of a zip archive can be read from here: not in a folder named like those of
 * torch.save, which holds weights; not encrypted; its end known. */
static gboolean
zip_is_readable (const guint8 *head, const char *name)
{
  const guint32 flags = little_endian (head + 6, 2), method = little_endian (head + 8, 2);

  if (g_str_has_suffix (name, "/data.pkl") || g_str_has_suffix (name, "/"))
    return FALSE;
  return (flags & 1) == 0 && (method == 8 || (method == 0 && (flags & 8) == 0));
}

/* The number of files that the record at the end of the archive tells (4.3.16); 0: not known, of a pipe. */
static guint32
zip_files (const GememInput *input)
{
  guint8 tail[1024];
  struct stat info;
  gsize size = 0;

  if (input->fd < 0)
    {
      gsize length;
      const guint8 *data = g_bytes_get_data (input->bytes, &length);
      size = MIN (length, sizeof tail);
      memcpy (tail, data + (length - size), size);
    }
  else if (input->regular && fstat (input->fd, &info) == 0)
    {
      const off_t from = MAX (info.st_size - (off_t) sizeof tail, 0);
      const gssize n = pread (input->fd, tail, sizeof tail, from);
      size = (gsize) MAX (n, 0);
    }
  for (gsize i = size; i >= 22; i--)
    if (memcmp (tail + i - 22, "PK\x05\x06", 4) == 0)
      return little_endian (tail + i - 22 + 10, 2);
  return 0;
}

/* Skips the header of the first file of a zip archive, and sets the codec; without one that can be read
 * the archive stays as it is, and is named by who reads it. */
static gboolean
detect_zip (GememInput *input)
{
  const guint8 *head;
  gsize length = ZIP_HEADER;

  for (guint pass = 0; pass < 2; pass++)
    {
      while (input->raw_end - input->raw_start < length && !input->raw_ended)
        if (!refill_raw (input))
          return FALSE;
      head = input->raw + input->raw_start;
      if (input->raw_end - input->raw_start < length)
        return TRUE;
      length = ZIP_HEADER + little_endian (head + 26, 2) + little_endian (head + 28, 2);
      if (length >= RAW_SIZE)
        return TRUE;
    }
  g_autofree char *name = g_strndup ((const char *) head + ZIP_HEADER,
                                     little_endian (head + 26, 2));
  if (!zip_is_readable (head, name))
    return TRUE;
  if (zip_files (input) > 1)
    return fail (input, SEVERAL);
  input->codec = little_endian (head + 8, 2) == 8 ? CODEC_ZIP : CODEC_ZIP_STORED;
  input->stored = little_endian (head + 18, 4);
  input->raw_start += length;
  input->in_frame = TRUE;
  if (input->gzip == NULL)
    input->gzip = g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_RAW);
  g_converter_reset (G_CONVERTER (input->gzip));
  return TRUE;
}

static gboolean
detect_codec (GememInput *input)
{
  if (input->raw == NULL)
    input->raw = g_malloc (RAW_SIZE);
  while (input->raw_end - input->raw_start < 4 && !input->raw_ended)
    if (!refill_raw (input))
      return FALSE;
  const guint8 *head = input->raw + input->raw_start;
  gsize size = input->raw_end - input->raw_start;
  guint32 magic = size < 4 ? 0 : little_endian (head, 4);

  if (size >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8)
    {
      input->codec = CODEC_GZIP;
      if (input->gzip == NULL)
        input->gzip = g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP);
    }
  else if (magic == ZSTD_MAGICNUMBER
           || (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START)
    {
      input->codec = CODEC_ZSTD;
      if (input->zstd == NULL)
        input->zstd = gemem_zstd_have (ZSTD_createDStream ());
    }
  else
    input->codec = CODEC_PLAIN;
  return magic == ZIP_MAGICNUMBER ? detect_zip (input) : TRUE;
}

static gboolean
decode_plain (GememInput *input, guint8 *to, gsize size, gsize *produced)
{
  gsize left = input->raw_end - input->raw_start;
  if (left > 0) /* bytes that detect_codec() has read */
    {
      *produced = MIN (left, size);
      memcpy (to, input->raw + input->raw_start, *produced);
      input->raw_start += *produced;
      return TRUE;
    }
  gssize n = input->raw_ended ? 0 : read_raw (input, to, size);
  if (n < 0)
    return FALSE;
  input->ended = n == 0;
  *produced = (gsize) n;
  return TRUE;
}

/* At the end of a member or frame: TRUE if another one follows, else sets the end (or the
 * failure). */
static gboolean
next_member (GememInput *input)
{
  while (input->raw_end - input->raw_start < 4 && !input->raw_ended)
    if (!refill_raw (input))
      return FALSE;
  input->ended = input->raw_start == input->raw_end;
  return !input->ended;
}

/* Inflates a part of a frame of @codec, the name for messages. */
static gboolean
inflate_some (GememInput *input, const char *codec, guint8 *to, gsize size, gsize *produced)
{
  GError *error = NULL;
  gsize used = 0;

  if (input->raw_start == input->raw_end && !refill_raw (input))
    return FALSE;
  GConverterResult result = g_converter_convert (
      G_CONVERTER (input->gzip), input->raw + input->raw_start, input->raw_end - input->raw_start,
      to, size, input->raw_ended ? G_CONVERTER_INPUT_AT_END : G_CONVERTER_NO_FLAGS, &used, produced,
      &error);
  if (result == G_CONVERTER_ERROR)
    {
      gboolean partial = g_error_matches (error, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT);
      if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_FAILED)) /* Z_MEM_ERROR */
        g_error (G_STRLOC ": failed to allocate what zlib needs");
      g_clear_error (&error);
      *produced = 0;
      if (partial && !input->raw_ended)
        return refill_raw (input);
      return partial ? fail_truncated (input, codec)
                     : fail (input,
                             "the %s data are damaged near stored byte %" G_GUINT64_FORMAT
                             "; fetch the file again",
                             codec, input->position - (input->raw_end - input->raw_start));
    }
  input->raw_start += used;
  if (result == G_CONVERTER_FINISHED)
    input->in_frame = FALSE;
  return TRUE;
}

static gboolean
decode_gzip (GememInput *input, guint8 *to, gsize size, gsize *produced)
{
  if (!input->in_frame)
    {
      if (!next_member (input))
        return input->failure == NULL;
      if (input->raw_end - input->raw_start < 2 || input->raw[input->raw_start] != 0x1f
          || input->raw[input->raw_start + 1] != 0x8b)
        return fail (input,
                     "bytes follow the end of the gzip data; decompress it by hand and look");
      g_converter_reset (G_CONVERTER (input->gzip));
      input->in_frame = TRUE;
    }
  return inflate_some (input, "gzip", to, size, produced);
}

/* Behind the file in a zip archive: nothing but the archive's list of files may follow, behind a
 * descriptor of up to 24 bytes. */
static gboolean
end_zip (GememInput *input)
{
  while (input->raw_end - input->raw_start < 28 && !input->raw_ended)
    if (!refill_raw (input))
      return FALSE;
  const char *behind = (const char *) input->raw + input->raw_start;
  const gsize size = MIN (input->raw_end - input->raw_start, 28);

  for (gsize i = 0; i + 4 <= size; i++)
    if (memcmp (behind + i, "PK\x01\x02", 4) == 0)
      {
        input->ended = TRUE;
        return TRUE;
      }
    else if (memcmp (behind + i, "PK\x03\x04", 4) == 0)
      return fail (input, SEVERAL);
  return fail_truncated (input, "zip");
}

static gboolean
decode_zip (GememInput *input, guint8 *to, gsize size, gsize *produced)
{
  if (input->codec == CODEC_ZIP)
    return input->in_frame ? inflate_some (input, "zip", to, size, produced) : end_zip (input);
  if (input->stored == 0)
    return end_zip (input);
  if (!decode_plain (input, to, (gsize) MIN (size, input->stored), produced))
    return FALSE;
  input->stored -= *produced;
  return !input->ended || fail_truncated (input, "zip");
}

static gboolean
decode_zstd (GememInput *input, guint8 *to, gsize size, gsize *produced)
{
  if (!input->in_frame)
    {
      if (!next_member (input))
        return input->failure == NULL;
      ZSTD_DCtx_reset (input->zstd, ZSTD_reset_session_only);
      input->in_frame = TRUE;
    }
  if (input->raw_start == input->raw_end && !refill_raw (input))
    return FALSE;
  ZSTD_inBuffer in = { input->raw, input->raw_end, input->raw_start };
  ZSTD_outBuffer out = { to, size, 0 };
  gboolean nothing_left = input->raw_start == input->raw_end;
  gsize hint = gemem_zstd_done (ZSTD_decompressStream (input->zstd, &out, &in));
  input->raw_start = in.pos;
  *produced = out.pos;
  if (ZSTD_isError (hint))
    {
      *produced = 0;
      return fail (input,
                   "the zstd data are damaged near stored byte %" G_GUINT64_FORMAT
                   " (%s); fetch the file again",
                   input->position - (input->raw_end - input->raw_start), ZSTD_getErrorName (hint));
    }
  if (hint == 0)
    input->in_frame = FALSE;
  else if (nothing_left && out.pos == 0)
    return fail_truncated (input, "zstd");
  return TRUE;
}

gboolean
gemem_input_decode (GememInput *input, guint8 *to, gsize size, gsize *produced)
{
  *produced = 0;
  if (input->codec == CODEC_UNKNOWN && !detect_codec (input))
    return FALSE;
  switch (input->codec)
    {
    case CODEC_GZIP:
      return decode_gzip (input, to, size, produced);
    case CODEC_ZSTD:
      return decode_zstd (input, to, size, produced);
    case CODEC_ZIP:
    case CODEC_ZIP_STORED:
      return decode_zip (input, to, size, produced);
    case CODEC_PLAIN:
    case CODEC_UNKNOWN:
    default:
      return decode_plain (input, to, size, produced);
    }
}
