/* format.h - block layout and column coding of .gmt files, shared by their reader and
 * writer.
 *
 * doc/trace-formats.md describes every byte.  In short: an 8-byte magic and version, then blocks
 * (information, strings, frames, stacks, chunks of events, footer with the index), each with a
 * 32-byte header and a checksum over header and payload, then a trailer with the offset of the
 * footer.  Everything is little-endian.
 *
 * A chunk is stored by columns.  Kind, time and device are columns over all its events; each other
 * field is a column per kind of event, so a field that a kind does not use is all zero and is not
 * stored.  A column is linear (first + i * step), or fixed-width integers stored as byte planes
 * (offset from a base, zigzag difference from the value before), or indices into a table of up to
 * 256 values.  A column that zstd makes smaller is stored compressed.
 *
 * Invariants: the numbers below are part of the format; sizes read from a file are checked against
 * the limits here before anything is allocated.
 */
#pragma once

#include <string.h>

#include "base/macros.h"
#include "traces/native/file.h"

#define NATIVE_MAGIC \
  "\x89GMT\r\n\x1a\n" /* like PNG's: reveals text-mode conversion and stripped high bits */
#define NATIVE_END_MAGIC "GMTEND\r\n"
#define NATIVE_HEADER_SIZE 24
#define NATIVE_BLOCK_HEADER_SIZE 32
#define NATIVE_INDEX_ENTRY_SIZE 24
#define NATIVE_FOOTER_SIZE 32 /* bytes before the entries of the footer */
#define NATIVE_TRAILER_SIZE 16

#define NATIVE_CHUNK_EVENTS 65536                /* events per chunk, at most and by default */
#define NATIVE_MAX_STRING ((gsize) 1 << 20)      /* bytes of one string */
#define NATIVE_MAX_STRINGS_RAW ((gsize) 4 << 20) /* of a block of strings, frames or stacks */
#define NATIVE_MAX_INFO ((gsize) 16 << 20)       /* bytes of an information block */
#define NATIVE_MAX_CHUNK ((gsize) 8 << 20)       /* bytes of a stored chunk */

/* Block types; the bytes in the file read INFO, STRS, EVTS, FOOT. */
#define NATIVE_INFO GUINT32_FROM_LE (0x4f464e49)
#define NATIVE_STRINGS GUINT32_FROM_LE (0x53525453)
#define NATIVE_EVENTS GUINT32_FROM_LE (0x53545645)
#define NATIVE_FOOTER GUINT32_FROM_LE (0x544f4f46)
#define NATIVE_FRAMES GUINT32_FROM_LE (0x534d5246) /* FRMS */
#define NATIVE_STACKS GUINT32_FROM_LE (0x534b5453) /* STKS */

#define NATIVE_FRAME_SIZE 12 /* u32 name, u32 file, u32 line */

/* Fields of the information block. */
typedef enum
{
  NATIVE_INFO_FLAGS = 1,       /* u32 GEMEM_TRACE_* */
  NATIVE_INFO_AMBIGUITIES = 2, /* u64 */
  NATIVE_INFO_SKIPPED = 3,     /* u64 */
  NATIVE_INFO_SHA256 = 4,      /* text from here on */
  NATIVE_INFO_ALLOCATOR = 5,
  NATIVE_INFO_SETTINGS = 6,
  NATIVE_INFO_DEVICE = 7,
  NATIVE_INFO_PROVENANCE = 8, /* repeated */
} NativeInfoField;

typedef struct
{
  guint32 type, stored, count, raw;
  guint64 first, checksum;
} NativeBlock;

static inline guint32
native_get32 (const guint8 *p)
{
  return (guint32) p[0] | (guint32) p[1] << 8 | (guint32) p[2] << 16 | (guint32) p[3] << 24;
}

static inline guint64
native_get64 (const guint8 *p)
{
  return (guint64) native_get32 (p) | (guint64) native_get32 (p + 4) << 32;
}

static inline void
native_put32 (guint8 *p, guint32 value)
{
  value = GUINT32_TO_LE (value);
  memcpy (p, &value, sizeof value);
}

static inline void
native_put64 (guint8 *p, guint64 value)
{
  value = GUINT64_TO_LE (value);
  memcpy (p, &value, sizeof value);
}

/* ---- encode.c */

typedef struct _NativeEncoder NativeEncoder;

NativeEncoder *gemem_native_encoder_new (void);
void gemem_native_encoder_free (NativeEncoder *encoder);
/* Appends the payload of a chunk of @n events (1..NATIVE_CHUNK_EVENTS) to @payload.  The tags of
 * the events and their stacks are numbers of the file. */
void gemem_native_encode (NativeEncoder *encoder, const GememTraceEvent *events, gsize n,
                          GByteArray *payload);

/* ---- decode.c */

typedef struct _NativeDecoder NativeDecoder;

NativeDecoder *gemem_native_decoder_new (void);
void gemem_native_decoder_free (NativeDecoder *decoder);
/* Starts a chunk of @n events; @payload must stay valid until the last gemem_native_decode().
 * Returns NULL, or a description of the damage.  @strings, @stacks: how many the file has defined
 * so far, with string 0 and stack 0. */
const char *gemem_native_decoder_start (NativeDecoder *decoder, const guint8 *payload, gsize size,
                                        guint32 n, guint32 strings, guint32 stacks);
/* Decodes the next events of the chunk, valid until the next call.  Returns their count, 0 at the
 * end of the chunk, -1 with *@problem if the chunk contradicts itself. */
gssize gemem_native_decode (NativeDecoder *decoder, GememTraceEvent **events, const char **problem);
/* Sets @seen[d], of 65 536, to 1 for each device d of a chunk of @n events, instead of decoding it.
 * Returns NULL, or a description of the damage. */
const char *gemem_native_decoder_devices (NativeDecoder *decoder, const guint8 *payload, gsize size,
                                          guint32 n, guint8 *seen);

/* ---- writer.c */

/* gemem_trace_create() of the native format.  @chunk_events: 1..NATIVE_CHUNK_EVENTS (tests use
 * small chunks). */
GememTraceWriter *gemem_native_create (const char *path, const GememTraceInfo *info,
                                       guint32 chunk_events, GError **error);

/* ---- column layout, for both coders */

typedef enum
{
  NATIVE_LINEAR = 0, /* base + i * step */
  NATIVE_OFFSET = 1, /* base + unsigned of `width` bytes */
  /* the previous value + zigzag of `width` bytes; `base` precedes the first value */
  NATIVE_DELTA = 2,
  NATIVE_TABLE = 3, /* table[byte]; `width` + 1 entries of 8 bytes precede the bytes */
} NativeCoding;

#define NATIVE_PACKED 1 /* column flag: the data are a zstd frame */

#define NATIVE_COLUMN_SIZE \
  24 /* u8 coding, u8 width, u8 flags, u8 0, u32 stored size, u64 base, u64 step */
#define NATIVE_GROUP_SIZE \
  8 /* u8 kind (0: all events), u16 columns present (bits), u8 0, u32 count */

typedef struct
{
  guint8 offset, size; /* of the field in GememTraceEvent */
} NativeField;

enum
{
  NATIVE_COMMON_KIND = 0,
  NATIVE_COMMON_TIME = 1,
  NATIVE_COMMON_DEVICE = 2,
  NATIVE_COMMON_COUNT = 3,
  NATIVE_FIELD_COUNT = 9,
};

#define NATIVE_FIELD(name) \
  { \
    G_STRUCT_OFFSET (GememTraceEvent, name), sizeof (((GememTraceEvent *) NULL)->name) \
  }

/* Bit i of a group's mask is column i. */
static const NativeField native_common_fields[NATIVE_COMMON_COUNT] = { NATIVE_FIELD (kind),
                                                                       NATIVE_FIELD (time),
                                                                       NATIVE_FIELD (device) };
static const NativeField native_kind_fields[NATIVE_FIELD_COUNT] = {
  NATIVE_FIELD (id),     NATIVE_FIELD (size),  NATIVE_FIELD (address),
  NATIVE_FIELD (stream), NATIVE_FIELD (aux),   NATIVE_FIELD (pool),
  NATIVE_FIELD (tag),    NATIVE_FIELD (flags), NATIVE_FIELD (stack),
};
