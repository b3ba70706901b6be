/* decode.c - decodes the payload of a native chunk into events (layout: format.h,
 * doc/trace-formats.md).
 *
 * gemem_native_decoder_start() checks the whole directory and unpacks the columns.
 * gemem_native_decode() then makes the events of the chunk, 256 at a time so that the batch stays
 * in the cache.  For each batch the indices of the events of each kind are listed once, without a
 * branch; every stored column is then decoded densely and scattered to these indices.  A column
 * that is not stored costs only the zeroing of the event.
 *
 * Invariants: no payload, however damaged, causes a read outside payload and arena; memory is
 * bounded by the limits of format.h (about 6 MiB).
 * Cost: see tests/bench/bench-traces.c.
 */
#include "config.h"

#include <string.h>

#include "base/io/zstd-memory.h"
#include "traces/native/format.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* the loops over columns as vectors, which clang makes at -O2 */
#define UNROLL _Pragma ("GCC unroll 4")
#else
#define UNROLL
#endif

#define BATCH 256 /* events: 16 KB, which stay in the near cache until they are served */
#define TABLE_SIZE 256
#define GROUPS_MAX GEMEM_EVENT_KIND_COUNT /* one group for all events, one for each kind */
#define NO_GROUP GROUPS_MAX               /* counts events of a kind without a group */

typedef struct
{
  NativeField field;
  NativeCoding coding;
  guint8 width;
  gboolean packed;
  guint32 stored;
  guint64 base, step;
  const guint8 *data;
  guint64 *table;
} Column;

typedef struct
{
  guint8 kind;
  guint32 count, done;
  guint column_count;
  Column columns[NATIVE_FIELD_COUNT];
} Group;

struct _NativeDecoder
{
  ZSTD_DCtx *zstd;
  guint8 *arena;
  gsize arena_size;
  guint group_count;
  Group groups[GROUPS_MAX];
  guint8 group_of_kind[256];
  guint32 n, done, strings, stacks;
  guint32 found[GROUPS_MAX + 1];
  guint16 places[GROUPS_MAX + 1][BATCH];
  guint64 values[BATCH];
  GememTraceEvent events[BATCH];
};

NativeDecoder *
gemem_native_decoder_new (void)
{
  NativeDecoder *decoder = g_new0 (NativeDecoder, 1);
  decoder->zstd = gemem_zstd_have (ZSTD_createDCtx ());
  for (guint i = 0; i < BATCH; i++)
    decoder->places[0][i] = (guint16) i; /* the group of all events */
  return decoder;
}

void
gemem_native_decoder_free (NativeDecoder *decoder)
{
  if (decoder == NULL)
    return;
  ZSTD_freeDCtx (decoder->zstd);
  g_free (decoder->arena);
  g_free (decoder);
}

/* ---- the directory */

static gsize
raw_size (const Column *column, guint32 count)
{
  switch (column->coding)
    {
    case NATIVE_OFFSET:
    case NATIVE_DELTA:
      return (gsize) count * column->width;
    case NATIVE_TABLE:
      return ((gsize) column->width + 1) * 8 + count;
    case NATIVE_LINEAR:
    default:
      return 0;
    }
}

static const char *
read_column (Column *column, const guint8 *head, guint32 count)
{
  column->coding = (NativeCoding) head[0];
  column->width = head[1];
  column->packed = head[2] == NATIVE_PACKED;
  column->stored = native_get32 (head + 4);
  column->base = native_get64 (head + 8);
  column->step = native_get64 (head + 16);
  if (head[0] > NATIVE_TABLE || head[2] > NATIVE_PACKED)
    return "a column has an unknown coding";
  if ((column->coding == NATIVE_OFFSET || column->coding == NATIVE_DELTA)
      && (column->width < 1 || column->width > 8))
    return "a column has an impossible width";
  if (!column->packed && column->stored != raw_size (column, count))
    return "a column has the wrong size";
  return NULL;
}

/* Reads a group and its columns at *@head; advances *@head past them. */
static const char *
read_group (NativeDecoder *decoder, Group *group, const guint8 **head, const guint8 *end)
{
  gboolean common = group == decoder->groups;
  const NativeField *fields = common ? native_common_fields : native_kind_fields;
  guint field_count = common ? (guint) NATIVE_COMMON_COUNT : (guint) NATIVE_FIELD_COUNT;

  if (end - *head < NATIVE_GROUP_SIZE)
    return "the directory is too short";
  group->kind = (*head)[0];
  guint mask = (guint) (*head)[1] | (guint) (*head)[2] << 8;
  group->count = native_get32 (*head + 4);
  group->done = 0;
  group->column_count = 0;
  *head += NATIVE_GROUP_SIZE;
  if (mask >> field_count != 0)
    return "the directory names unknown fields";
  for (guint i = 0; i < field_count; i++)
    {
      if ((mask & 1u << i) == 0)
        continue;
      Column *column = &group->columns[group->column_count++];
      column->field = fields[i];
      if (end - *head < NATIVE_COLUMN_SIZE)
        return "the directory is too short";
      const char *problem = read_column (column, *head, group->count);
      if (problem != NULL)
        return problem;
      *head += NATIVE_COLUMN_SIZE;
    }
  return NULL;
}

static const char *
read_directory (NativeDecoder *decoder, const guint8 *head, const guint8 *end)
{
  guint64 total = 0;

  memset (decoder->group_of_kind, NO_GROUP, sizeof decoder->group_of_kind);
  for (guint g = 0; g < decoder->group_count; g++)
    {
      Group *group = &decoder->groups[g];
      const char *problem = read_group (decoder, group, &head, end);
      if (problem != NULL)
        return problem;
      if (g == 0 ? group->kind != 0 || group->count != decoder->n || group->column_count == 0
                       || group->columns[0].field.offset != native_common_fields[0].offset
                 : group->kind <= decoder->groups[g - 1].kind
                       || group->kind >= GEMEM_EVENT_KIND_COUNT || group->count > decoder->n)
        return "the directory contradicts itself";
      decoder->group_of_kind[group->kind] = (guint8) g;
      total += g > 0 ? group->count : 0;
    }
  decoder->group_of_kind[0] = NO_GROUP;
  return total == decoder->n && head == end ? NULL : "the directory contradicts itself";
}

/* ---- unpacking */

/* Prepares the data of @column: packed data are unpacked into the arena, raw data are used in
 * place; a linear column has no data. */
static const char *
unpack_column (NativeDecoder *decoder, Column *column, guint32 count, const guint8 **data,
               gsize *left, guint8 **arena)
{
  gsize raw = raw_size (column, count);

  if (column->stored > *left)
    return "a column is cut off";
  column->data = *data;
  if (column->packed)
    {
      gsize size = gemem_zstd_done (
          ZSTD_decompressDCtx (decoder->zstd, *arena, raw, *data, column->stored));
      if (ZSTD_isError (size) || size != raw)
        return "a column does not unpack";
      column->data = *arena;
      *arena += (raw + 7) / 8 * 8;
    }
  *data += column->stored;
  *left -= column->stored;
  if (column->coding == NATIVE_TABLE) /* always 256 entries, so that every index byte is valid */
    {
      column->table = (guint64 *) (gpointer) *arena;
      *arena += TABLE_SIZE * 8;
      memset (column->table, 0, TABLE_SIZE * 8);
      for (guint i = 0; i <= column->width; i++)
        column->table[i] = native_get64 (column->data + i * 8);
      column->data += ((gsize) column->width + 1) * 8;
    }
  return NULL;
}

/* The arena, for @need bytes. */
static guint8 *
reserve (NativeDecoder *decoder, gsize need)
{
  if (need > decoder->arena_size)
    {
      g_free (decoder->arena);
      decoder->arena = g_malloc (need);
      decoder->arena_size = need;
    }
  return decoder->arena;
}

/* Bytes of the arena that @column of @count values takes at most. */
static gsize
unpacked_size (const Column *column, guint32 count)
{
  return raw_size (column, count) + 8 + TABLE_SIZE * 8;
}

static const char *
unpack (NativeDecoder *decoder, const guint8 *data, gsize left)
{
  gsize need = 0;
  for (guint g = 0; g < decoder->group_count; g++)
    for (guint c = 0; c < decoder->groups[g].column_count; c++)
      need += unpacked_size (&decoder->groups[g].columns[c], decoder->groups[g].count);
  guint8 *arena = reserve (decoder, need);
  for (guint g = 0; g < decoder->group_count; g++)
    for (guint c = 0; c < decoder->groups[g].column_count; c++)
      {
        Column *column = &decoder->groups[g].columns[c];
        const char *problem = unpack_column (decoder, column, decoder->groups[g].count, &data,
                                             &left, &arena);
        if (problem != NULL)
          return problem;
      }
  return left == 0 ? NULL : "bytes follow its last column";
}

/* Reads the directory of a chunk of @n events; the columns begin at *@data. */
static const char *
start (NativeDecoder *decoder, const guint8 *payload, gsize size, guint32 n, const guint8 **data)
{
  decoder->n = decoder->done = 0;
  if (size < 8)
    return "it is too short";
  guint32 groups = native_get32 (payload), directory = native_get32 (payload + 4);
  if (n < 1 || n > NATIVE_CHUNK_EVENTS || groups < 2 || groups > GROUPS_MAX || directory > size - 8)
    return "its directory is impossible";
  decoder->n = n;
  decoder->group_count = groups;
  *data = payload + 8 + directory;
  return read_directory (decoder, payload + 8, *data);
}

const char *
gemem_native_decoder_start (NativeDecoder *decoder, const guint8 *payload, gsize size, guint32 n,
                            guint32 strings, guint32 stacks)
{
  const guint8 *data;
  const char *problem = start (decoder, payload, size, n, &data);

  decoder->strings = strings;
  decoder->stacks = stacks;
  if (problem == NULL)
    problem = unpack (decoder, data, (gsize) (payload + size - data));
  if (problem != NULL)
    decoder->n = 0;
  return problem;
}

/* ---- decoding */

#define PLANE(k) ((guint64) data[(k) *stride + i] << 8 * (k))
#define PLANES(width, expression) \
  case width: \
    for (guint32 i = 0; i < m; i++) \
      values[i] = expression; \
    break

/* values[i] = little-endian integer of the i-th bytes of @width planes that lie @stride apart. */
static void
join_planes (guint64 *restrict values, const guint8 *restrict data, gsize stride, guint width,
             guint32 m)
{
  switch (width)
    {
      PLANES (1, PLANE (0));
      PLANES (2, PLANE (0) | PLANE (1));
      PLANES (3, PLANE (0) | PLANE (1) | PLANE (2));
      PLANES (4, PLANE (0) | PLANE (1) | PLANE (2) | PLANE (3));
      PLANES (5, PLANE (0) | PLANE (1) | PLANE (2) | PLANE (3) | PLANE (4));
      PLANES (6, PLANE (0) | PLANE (1) | PLANE (2) | PLANE (3) | PLANE (4) | PLANE (5));
      PLANES (7, PLANE (0) | PLANE (1) | PLANE (2) | PLANE (3) | PLANE (4) | PLANE (5) | PLANE (6));
    default:
      for (guint32 i = 0; i < m; i++)
        values[i] = PLANE (0) | PLANE (1) | PLANE (2) | PLANE (3) | PLANE (4) | PLANE (5)
                    | PLANE (6) | PLANE (7);
    }
}

/* Decodes the @m values of @column from number @from on into decoder->values.  Calls must proceed
 * in order, because a delta column keeps its last value in `base`. */
static void
decode_column (NativeDecoder *decoder, Column *column, guint32 count, guint32 from, guint32 m)
{
  guint64 *values = decoder->values;
  guint64 base = column->base, step = column->step;

  switch (column->coding)
    {
    case NATIVE_LINEAR:
      base += from * step;
      for (guint32 i = 0; i < m; i++)
        values[i] = base + i * step;
      break;
    case NATIVE_OFFSET:
      join_planes (values, column->data + from, count, column->width, m);
      for (guint32 i = 0; i < m; i++)
        values[i] += base;
      break;
    case NATIVE_DELTA:
      join_planes (values, column->data + from, count, column->width, m);
      for (guint32 i = 0; i < m; i++)
        values[i] = base += values[i] >> 1 ^ (guint64) - (gint64) (values[i] & 1);
      column->base = base;
      break;
    case NATIVE_TABLE:
    default:
      for (guint32 i = 0; i < m; i++)
        values[i] = column->table[column->data[from + i]];
      break;
    }
}

/* Writes decoder->values to one field of the events whose indices are @places. */
static void
scatter (NativeDecoder *decoder, NativeField field, const guint16 *places, guint32 m)
{
  guint8 *to = (guint8 *) decoder->events + field.offset;
  const guint64 *values = decoder->values;

  switch (field.size)
    {
    case 8:
      UNROLL
      for (guint32 i = 0; i < m; i++)
        *(guint64 *) (gpointer) (to + places[i] * sizeof (GememTraceEvent)) = values[i];
      break;
    case 4:
      UNROLL
      for (guint32 i = 0; i < m; i++)
        *(guint32 *) (gpointer) (to + places[i] * sizeof (GememTraceEvent)) = (guint32) values[i];
      break;
    case 2:
      UNROLL
      for (guint32 i = 0; i < m; i++)
        *(guint16 *) (gpointer) (to + places[i] * sizeof (GememTraceEvent)) = (guint16) values[i];
      break;
    default:
      UNROLL
      for (guint32 i = 0; i < m; i++)
        to[places[i] * sizeof (GememTraceEvent)] = (guint8) values[i];
      break;
    }
}

/* Sets the kinds of the next @m events and lists the indices of the events of each kind. */
static const char *
place_kinds (NativeDecoder *decoder, guint32 m)
{
  Group *common = &decoder->groups[0];

  decode_column (decoder, &common->columns[0], common->count, common->done, m);
  memset (decoder->found, 0, sizeof decoder->found);
  UNROLL
  for (guint32 i = 0; i < m; i++)
    {
      guint8 kind = (guint8) decoder->values[i];
      guint8 group = decoder->group_of_kind[kind];
      decoder->events[i].kind = kind;
      decoder->places[group][decoder->found[group]++] = (guint16) i;
    }
  decoder->found[0] = m;
  if (decoder->found[NO_GROUP] != 0)
    return "it contains an unknown kind of event";
  for (guint g = 1; g < decoder->group_count; g++)
    if (decoder->found[g] > decoder->groups[g].count - decoder->groups[g].done)
      return "its kinds do not add up";
  return NULL;
}

/* Checks the @m values just decoded, of a column that refers to a table of the file. */
static const char *
check_references (const NativeDecoder *decoder, const Column *column, guint32 m)
{
  const gboolean tag = column->field.offset == G_STRUCT_OFFSET (GememTraceEvent, tag);
  guint64 highest = 0;

  if (!tag && column->field.offset != G_STRUCT_OFFSET (GememTraceEvent, stack))
    return NULL;
  for (guint32 i = 0; i < m; i++)
    highest = MAX (highest, decoder->values[i]);
  if (highest < (tag ? decoder->strings : decoder->stacks))
    return NULL;
  return tag ? "a tag is not in the string table" : "a stack is not in the table of stacks";
}

gssize
gemem_native_decode (NativeDecoder *decoder, GememTraceEvent **events, const char **problem)
{
  guint32 m = MIN (BATCH, decoder->n - decoder->done);

  *problem = NULL;
  if (m == 0)
    return 0;
  memset (decoder->events, 0, m * sizeof (GememTraceEvent));
  *problem = place_kinds (decoder, m);
  if (*problem != NULL)
    return -1;
  for (guint g = 0; g < decoder->group_count; g++)
    {
      Group *group = &decoder->groups[g];
      for (guint c = g == 0 ? 1 : 0; c < group->column_count; c++)
        {
          Column *column = &group->columns[c];
          decode_column (decoder, column, group->count, group->done, decoder->found[g]);
          *problem = check_references (decoder, column, decoder->found[g]);
          if (*problem != NULL)
            return -1;
          scatter (decoder, column->field, decoder->places[g], decoder->found[g]);
        }
      group->done += decoder->found[g];
    }
  decoder->done += m;
  *events = decoder->events;
  return (gssize) m;
}

/* ---- the devices alone */

const char *
gemem_native_decoder_devices (NativeDecoder *decoder, const guint8 *payload, gsize size, guint32 n,
                              guint8 *seen)
{
  const Group *common = &decoder->groups[0];
  const guint8 *data;
  const char *problem = start (decoder, payload, size, n, &data);
  gsize left = problem == NULL ? (gsize) (payload + size - data) : 0;

  decoder->n = 0; /* nothing is left for gemem_native_decode() */
  for (guint c = 0; problem == NULL && c < common->column_count; c++)
    {
      Column *column = &decoder->groups[0].columns[c];
      guint8 *arena;

      if (column->stored > left)
        return "a column is cut off";
      if (column->field.offset != G_STRUCT_OFFSET (GememTraceEvent, device))
        {
          data += column->stored;
          left -= column->stored;
          continue;
        }
      if (column->coding == NATIVE_LINEAR && column->step == 0)
        n = 1; /* all alike */
      arena = reserve (decoder, unpacked_size (column, common->count));
      problem = unpack_column (decoder, column, common->count, &data, &left, &arena);
      for (guint32 from = 0; problem == NULL && from < n; from += BATCH)
        {
          const guint32 m = MIN (BATCH, n - from);

          decode_column (decoder, column, common->count, from, m);
          for (guint32 i = 0; i < m; i++)
            seen[(guint16) decoder->values[i]] = 1;
        }
      return problem;
    }
  if (problem == NULL)
    seen[0] = 1; /* a column that is not stored is zero */
  return problem;
}
