/* input-private.h - the parts of an input, shared by input.c (window, lines, seeking), input-text.c
 * (marks, UTF-16) and input-decode.c (stored bytes, decompression). */
#pragma once

#include <zstd.h>

#include "base/io/input.h"

typedef enum
{
  CODEC_UNKNOWN,
  CODEC_PLAIN,
  CODEC_GZIP,
  CODEC_ZSTD,
  CODEC_ZIP, /* one file in an archive */
  CODEC_ZIP_STORED
} Codec;

typedef enum
{
  ENCODING_UNKNOWN,
  ENCODING_PLAIN,
  ENCODING_MARKED, /* UTF-8 behind a byte order mark */
  ENCODING_UTF16_LE,
  ENCODING_UTF16_BE
} Encoding;

struct _GememInput
{
  char *name;

  /* raw */
  int fd; /* -1: bytes */
  gboolean regular;
  guint64 position;       /* stored bytes read so far */
  GememInputMeter *meter; /* or NULL */
  GBytes *bytes;
  gboolean single_pass;
  int spool; /* unlinked copy of the bytes of a pipe, or -1 */
  int spool_errno;
  guint64 spool_size;

  /* decode */
  Codec codec;
  GZlibDecompressor *gzip; /* also of a file in a zip archive, without gzip's header */
  guint64 stored;          /* bytes left of a file stored in a zip archive */
  ZSTD_DStream *zstd;
  guint8 *raw;
  gsize raw_start, raw_end;
  gboolean raw_ended, in_frame, ended;
  GError *failure;

  /* text */
  Encoding encoding;
  GByteArray *units;   /* decoded bytes of UTF-16 that are not converted yet */
  GByteArray *text;    /* bytes that are ready */
  gboolean text_ended; /* nothing comes behind all these */

  /* window */
  guint8 *buffer;
  gsize capacity, start, end;
  guint64 offset, lines, line_offset;
};

/* Writes up to @size decoded bytes to @to; FALSE with input->failure set.  May produce 0 bytes
 * before the end. */
gboolean gemem_input_decode (GememInput *input, guint8 *to, gsize size, gsize *produced);
/* The same, as UTF-8 without a byte order mark where the bytes begin with one. */
gboolean gemem_input_decode_text (GememInput *input, guint8 *to, gsize size, gsize *produced);
