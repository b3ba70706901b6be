/* encode.c - turns up to 65536 events into the payload of a native chunk (layout:
 * format.h, doc/trace-formats.md).
 *
 * Each column is encoded and packed with every coding that applies, and the smallest result is kept
 * (the first among equals), so the choice depends on the data only.  zstd compresses one column at
 * a time, by byte planes: the high bytes of ids and sizes are nearly constant, and the repetitions
 * of training steps align.
 *
 * Invariants: equal events and an equal version of zstd make equal bytes.  Cost: up to three passes
 * of zstd per column; memory a few MiB.
 */
#include "config.h"

#include <string.h>

#include "base/io/zstd-memory.h"
#include "traces/native/format.h"

#define PACK_LEVEL 3
#define TABLE_MAX 256
#define HASH_SLOTS 1024 /* for the distinct values of a column; 4 * TABLE_MAX */

typedef struct
{
  NativeCoding coding;
  guint8 width, flags;
  guint64 base, step;
  gsize size;
} Column;

struct _NativeEncoder
{
  ZSTD_CCtx *zstd;
  guint16 *places;  /* indices of the events of the current kind */
  guint64 *values;  /* of the current column */
  guint64 *numbers; /* the numbers that a candidate coding stores for them */
  guint8 *raw;      /* the candidate as planes or table */
  guint8 *packed;   /* the candidate as zstd */
  guint8 *best;     /* the best candidate so far */
  gsize packed_size;
  GByteArray *directory, *data;
};

#define RAW_MAX ((gsize) NATIVE_CHUNK_EVENTS * 8 + TABLE_MAX * 8)

NativeEncoder *
gemem_native_encoder_new (void)
{
  NativeEncoder *encoder = g_new0 (NativeEncoder, 1);
  encoder->zstd = gemem_zstd_have (ZSTD_createCCtx ());
  ZSTD_CCtx_setParameter (encoder->zstd, ZSTD_c_compressionLevel, PACK_LEVEL);
  encoder->packed_size = ZSTD_compressBound (RAW_MAX);
  encoder->places = g_new (guint16, NATIVE_CHUNK_EVENTS);
  encoder->values = g_new (guint64, NATIVE_CHUNK_EVENTS);
  encoder->numbers = g_new (guint64, NATIVE_CHUNK_EVENTS);
  encoder->raw = g_malloc (RAW_MAX);
  encoder->packed = g_malloc (encoder->packed_size);
  encoder->best = g_malloc (encoder->packed_size);
  encoder->directory = g_byte_array_new ();
  encoder->data = g_byte_array_new ();
  return encoder;
}

void
gemem_native_encoder_free (NativeEncoder *encoder)
{
  if (encoder == NULL)
    return;
  ZSTD_freeCCtx (encoder->zstd);
  g_free (encoder->places);
  g_free (encoder->values);
  g_free (encoder->numbers);
  g_free (encoder->raw);
  g_free (encoder->packed);
  g_free (encoder->best);
  g_byte_array_unref (encoder->directory);
  g_byte_array_unref (encoder->data);
  g_free (encoder);
}

static guint64
field_value (const GememTraceEvent *event, NativeField field)
{
  const guint8 *p = (const guint8 *) event + field.offset;
  switch (field.size)
    {
    case 1:
      return *p;
    case 2:
      return *(const guint16 *) (gconstpointer) p;
    case 4:
      return *(const guint32 *) (gconstpointer) p;
    default:
      return *(const guint64 *) (gconstpointer) p;
    }
}

/* Lists the indices of the events of @kind (0: all) in `places`; returns their count. */
static gsize
find_places (NativeEncoder *encoder, const GememTraceEvent *events, gsize n, guint8 kind)
{
  gsize count = 0;
  for (gsize i = 0; i < n; i++)
    if (kind == 0 || events[i].kind == kind)
      encoder->places[count++] = (guint16) i;
  return count;
}

static guint8
bytes_for (guint64 value)
{
  guint8 bytes = 1;
  while (value >>= 8)
    bytes++;
  return bytes;
}

static guint64
zigzag (guint64 difference)
{
  return difference << 1 ^ (guint64) - (gint64) (difference >> 63);
}

/* Replaces @best by @column, with the bytes in `raw`, if that is smaller.  The bytes are packed if
 * packing saves an eighth. */
static void
consider (NativeEncoder *encoder, Column column, Column *best)
{
  gsize packed = gemem_zstd_done (ZSTD_compress2 (encoder->zstd, encoder->packed,
                                                  encoder->packed_size, encoder->raw, column.size));
  const guint8 *bytes = encoder->raw;

  if (!ZSTD_isError (packed) && packed < column.size - column.size / 8)
    {
      column.flags |= NATIVE_PACKED;
      column.size = packed;
      bytes = encoder->packed;
    }
  if (column.size >= best->size)
    return;
  *best = column;
  memcpy (encoder->best, bytes, column.size);
}

/* Stores @n numbers as byte planes: all lowest bytes, then all second lowest bytes, and so on. */
static void
store_planes (guint8 *restrict raw, const guint64 *restrict numbers, gsize n, guint8 width)
{
  for (guint8 plane = 0; plane < width; plane++)
    for (gsize i = 0; i < n; i++)
      raw[plane * n + i] = (guint8) (numbers[i] >> 8 * plane);
}

static void
try_offset (NativeEncoder *encoder, gsize n, guint64 low, guint64 high, Column *best)
{
  Column column = { .coding = NATIVE_OFFSET, .width = bytes_for (high - low), .base = low };
  for (gsize i = 0; i < n; i++)
    encoder->numbers[i] = encoder->values[i] - low;
  store_planes (encoder->raw, encoder->numbers, n, column.width);
  column.size = n * column.width;
  consider (encoder, column, best);
}

static void
try_delta (NativeEncoder *encoder, gsize n, Column *best)
{
  Column column = { .coding = NATIVE_DELTA, .base = encoder->values[0] };
  guint64 all = 0;
  encoder->numbers[0] = 0;
  for (gsize i = 1; i < n; i++)
    all |= encoder->numbers[i] = zigzag (encoder->values[i] - encoder->values[i - 1]);
  column.width = bytes_for (all);
  store_planes (encoder->raw, encoder->numbers, n, column.width);
  column.size = n * column.width;
  consider (encoder, column, best);
}

/* Tries NATIVE_TABLE: up to 256 distinct values, numbered in the order of first occurrence. */
static void
try_table (NativeEncoder *encoder, gsize n, Column *best)
{
  guint64 table[TABLE_MAX];
  guint16 slots[HASH_SLOTS] = { 0 }; /* entry + 1 */
  gsize entries = 0;
  guint8 *bytes = encoder->raw + TABLE_MAX * 8;

  for (gsize i = 0; i < n; i++)
    {
      guint64 value = encoder->values[i];
      gsize slot = (gsize) (value * G_GUINT64_CONSTANT (0x9E3779B97F4A7C15) >> 54);
      while (slots[slot] != 0 && table[slots[slot] - 1] != value)
        slot = (slot + 1) % HASH_SLOTS;
      if (slots[slot] == 0)
        {
          if (entries == TABLE_MAX)
            return;
          table[entries++] = value;
          slots[slot] = (guint16) entries;
        }
      bytes[i] = (guint8) (slots[slot] - 1);
    }
  for (gsize i = 0; i < entries; i++)
    native_put64 (encoder->raw + i * 8, table[i]);
  memmove (encoder->raw + entries * 8, bytes, n);
  Column column = { .coding = NATIVE_TABLE,
                    .width = (guint8) (entries - 1),
                    .size = entries * 8 + n };
  consider (encoder, column, best);
}

/* Chooses a coding for the @n gathered values, which are not all 0, and appends the column. */
static void
encode_column (NativeEncoder *encoder, gsize n)
{
  const guint64 *values = encoder->values;
  guint64 low = values[0], high = values[0], step = n > 1 ? values[1] - values[0] : 0;
  gboolean linear = TRUE;
  Column best = { .coding = NATIVE_LINEAR, .base = values[0], .step = step };
  guint8 head[NATIVE_COLUMN_SIZE] = { 0 };

  for (gsize i = 1; i < n; i++)
    {
      low = MIN (low, values[i]);
      high = MAX (high, values[i]);
      linear = linear && values[i] - values[i - 1] == step;
    }
  if (!linear)
    {
      best.size = G_MAXSIZE;
      try_table (encoder, n, &best);
      try_offset (encoder, n, low, high, &best);
      try_delta (encoder, n, &best);
    }
  head[0] = (guint8) best.coding;
  head[1] = best.width;
  head[2] = best.flags;
  native_put32 (head + 4, (guint32) best.size);
  native_put64 (head + 8, best.base);
  native_put64 (head + 16, best.step);
  g_byte_array_append (encoder->directory, head, sizeof head);
  if (best.size > 0)
    g_byte_array_append (encoder->data, encoder->best, (guint) best.size);
}

static void
encode_group (NativeEncoder *encoder, const GememTraceEvent *events, gsize n, guint8 kind,
              const NativeField *fields, guint field_count)
{
  guint8 head[NATIVE_GROUP_SIZE] = { kind };
  guint place = encoder->directory->len;
  gsize count = find_places (encoder, events, n, kind);

  g_byte_array_append (encoder->directory, head, sizeof head);
  for (guint i = 0; i < field_count; i++)
    {
      guint64 any = 0;

      for (gsize k = 0; k < count; k++)
        any |= encoder->values[k] = field_value (&events[encoder->places[k]], fields[i]);
      if (any != 0) /* of the others, which are most, nothing is stored */
        {
          encode_column (encoder, count);
          head[1 + i / 8] |= (guint8) (1 << i % 8);
        }
    }
  native_put32 (head + 4, (guint32) count);
  memcpy (encoder->directory->data + place, head, sizeof head);
}

void
gemem_native_encode (NativeEncoder *encoder, const GememTraceEvent *events, gsize n,
                     GByteArray *payload)
{
  gboolean present[GEMEM_EVENT_KIND_COUNT] = { FALSE };
  guint32 groups = 1;
  guint8 head[8];

  g_byte_array_set_size (encoder->directory, 0);
  g_byte_array_set_size (encoder->data, 0);
  encode_group (encoder, events, n, 0, native_common_fields, NATIVE_COMMON_COUNT);
  for (gsize i = 0; i < n; i++)
    present[events[i].kind] = TRUE;
  for (guint kind = 1; kind < GEMEM_EVENT_KIND_COUNT; kind++)
    if (present[kind])
      {
        encode_group (encoder, events, n, (guint8) kind, native_kind_fields, NATIVE_FIELD_COUNT);
        groups++;
      }
  native_put32 (head, groups);
  native_put32 (head + 4, encoder->directory->len);
  g_byte_array_append (payload, head, sizeof head);
  g_byte_array_append (payload, encoder->directory->data, encoder->directory->len);
  if (encoder->data->len > 0)
    g_byte_array_append (payload, encoder->data->data, encoder->data->len);
}
