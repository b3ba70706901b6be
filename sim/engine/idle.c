/* idle.c - see idle.h.
 *
 * Every free or pending span is a piece of one cause; pieces with the same key (a stream, a pool, a
 * segment, a block) are one part; the parts of a cause are one row, but for the largest segments with
 * blocks in use, which have rows of their own.
 */
#include "config.h"

#include "base/compare.h"
#include "sim/engine/engine-private.h"
#include "sim/engine/idle.h"

#define NAMED 3 /* segments with a row of their own */

/* Of a piece, or of all pieces with the same key. */
typedef struct
{
  GememIdleCause cause;
  guint64 key, bytes;
  const GememSpan *span; /* one of them */
  guint blocks;          /* in use in the segment, */
  const GememSpan *live; /* and the largest of these; NULL: none */
} Part;

/* A segment: the spans [first, end). */
typedef struct
{
  const GememSpan *first, *end;
  const GememSpan *live; /* the largest block in use; NULL: none */
  guint blocks;          /* in use */
  gboolean held;         /* by these, or by what waits */
} Segment;

typedef struct
{
  const GememRun *run;
  guint64 stream;
  guint32 pool;
  GArray *parts;
  GArray *live;           /* rows of the table, by address */
  guint64 in_use, blocks; /* bytes of LIVE spans that no part has, and their number */
  GememPins *pins;        /* NULL: nobody asks */
} Idle;

/* ---- pieces */

static void
add_part (Idle *idle, GememIdleCause cause, guint64 key, guint64 bytes, const GememSpan *span)
{
  const Part part = { cause, key, bytes, span, 0, NULL };

  if (bytes > 0)
    g_array_append_val (idle->parts, part);
}

static const GememLiveRow *
row_of (const Idle *idle, const GememSpan *span)
{
  const guint64 address = gemem_span_user (span);
  const GememLiveRow *row = gemem_live_row_from (idle->live, address);

  return row != NULL && row->address == address ? row : NULL;
}

/* What a block that was not split has beyond the request counts apart. */
static void
add_live (Idle *idle, const GememSpan *span)
{
  const GememLiveRow *row = (span->flags & GEMEM_SPAN_OVERSIZE) != 0 ? row_of (idle, span) : NULL;
  const guint64 rest = row != NULL && row->live->requested < span->size
                           ? span->size - row->live->requested
                           : 0;

  add_part (idle, GEMEM_IDLE_OVERSIZE, span->address, rest, span);
  idle->in_use += span->size - rest;
  idle->blocks++;
}

/* What the trace completes later is live until then. */
static void
add_pending (Idle *idle, const GememSpan *span)
{
  if (row_of (idle, span) == NULL)
    add_part (idle, GEMEM_IDLE_WAITING, span->address, span->size, span);
  else
    {
      idle->in_use += span->size;
      idle->blocks++;
    }
}

/* Bytes of free @span that are live: of blocks that the program has freed and whose completion is still
 * to come in the trace, though the allocator, out of memory, did not wait for it. */
static guint64
still_live (const Idle *idle, const GememSpan *span)
{
  const GememLiveRow *row = gemem_live_row_from (idle->live, span->address), *end;
  guint64 bytes = 0;

  if (row == NULL)
    return 0;
  end = &g_array_index (idle->live, GememLiveRow, idle->live->len);
  for (; row < end && row->address - span->address < span->size; row++)
    bytes += row->live->requested;
  return MIN (bytes, span->size);
}

/* Why @span is free; @held: blocks in use, or what waits, are in its segment. */
static GememIdleCause
cause_of_free (const Idle *idle, const GememSpan *span, gboolean held)
{
  const guint capabilities = idle->run->klass->capabilities;
  const gboolean pools = (capabilities & GEMEM_CAP_POOLS) != 0;

  if (pools
      && (span->pool != idle->pool
          || (span->pool != 0 && !held && (span->flags & GEMEM_SPAN_RETURNABLE) == 0)))
    return GEMEM_IDLE_POOLS;
  if (span->stream != idle->stream && (capabilities & GEMEM_CAP_STREAMS) != 0)
    return GEMEM_IDLE_STREAMS;
  if ((span->flags & GEMEM_SPAN_OVERSIZE) != 0)
    return GEMEM_IDLE_OVERSIZE;
  if ((span->flags & GEMEM_SPAN_RETURNABLE) != 0)
    return GEMEM_IDLE_RETURNABLE;
  return held ? GEMEM_IDLE_PINNED : GEMEM_IDLE_ALLOCATOR;
}

/* Returns the bytes that blocks of @segment keep. */
static guint64
add_free (Idle *idle, const GememSpan *span, const Segment *segment)
{
  const guint64 bytes = span->size - still_live (idle, span);
  const GememIdleCause cause = cause_of_free (idle, span, segment->held);
  const Part pinned = { cause, span->segment, bytes, span, segment->blocks, segment->live };

  if (cause == GEMEM_IDLE_PINNED && bytes > 0)
    g_array_append_val (idle->parts, pinned);
  else if (cause != GEMEM_IDLE_ALLOCATOR) /* fill_rows() adds what nothing else explains */
    add_part (idle, cause,
              cause == GEMEM_IDLE_POOLS     ? span->pool
              : cause == GEMEM_IDLE_STREAMS ? span->stream
                                            : span->address,
              bytes, span);
  return cause == GEMEM_IDLE_PINNED ? bytes : 0;
}

/* The spans [@span, @end) are a segment of which @bytes are kept. */
static void
add_pin (Idle *idle, const GememSpan *span, const GememSpan *end, guint64 bytes)
{
  if (bytes == 0 || idle->pins == NULL)
    return;
  gemem_pins_add_segment (idle->pins, bytes);
  for (; span < end; span++)
    {
      const gboolean used = span->state == GEMEM_SPAN_LIVE || span->state == GEMEM_SPAN_PENDING;
      const GememLiveRow *row = used ? row_of (idle, span) : NULL;
      const GememOrigin origin = row != NULL ? gemem_origins_of_block (idle->run, row->id)
                                             : (GememOrigin){ 0 };

      if (row != NULL || span->state == GEMEM_SPAN_LIVE)
        gemem_pins_add_block (idle->pins, row != NULL ? &row->id : NULL,
                              row != NULL ? row->live->requested : span->size, &origin);
    }
}

/* The segment that begins with span @begin. */
static Segment
segment_at (const GArray *spans, guint begin)
{
  const GememSpan *first = &g_array_index (spans, GememSpan, begin), *span = first;
  const GememSpan *last = first + (spans->len - begin);
  Segment segment = { .first = first };

  for (; span < last && span->segment == first->segment; span++)
    {
      segment.held |= span->state == GEMEM_SPAN_LIVE || span->state == GEMEM_SPAN_PENDING;
      if (span->state != GEMEM_SPAN_LIVE)
        continue;
      segment.blocks++;
      if (segment.live == NULL || span->size > segment.live->size)
        segment.live = span;
    }
  segment.end = span;
  return segment;
}

/* Adds the segment that begins with span @begin; returns the first span behind it. */
static guint
add_segment (Idle *idle, const GArray *spans, guint begin)
{
  const Segment segment = segment_at (spans, begin);
  guint64 pinned = 0;

  for (const GememSpan *span = segment.first; span < segment.end; span++)
    if (span->state == GEMEM_SPAN_LIVE)
      add_live (idle, span);
    else if (span->state == GEMEM_SPAN_PENDING)
      add_pending (idle, span);
    else if (span->state == GEMEM_SPAN_FREE)
      pinned += add_free (idle, span, &segment);
  add_pin (idle, segment.first, segment.end, pinned);
  return begin + (guint) (segment.end - segment.first);
}

/* ---- parts */

static int
compare_keys (gconstpointer a, gconstpointer b)
{
  const Part *x = a, *y = b;

  if (x->cause != y->cause)
    return (int) x->cause - (int) y->cause;
  return gemem_compare_uint64 (&x->key, &y->key);
}

/* By cause, the largest first, equal ones by key. */
static int
compare_bytes (gconstpointer a, gconstpointer b)
{
  const Part *x = a, *y = b;

  if (x->cause != y->cause || x->bytes == y->bytes)
    return compare_keys (a, b);
  return gemem_compare_uint64 (&y->bytes, &x->bytes);
}

static void
merge_parts (GArray *parts)
{
  guint n = 0;

  g_array_sort (parts, compare_keys);
  for (guint i = 0; i < parts->len; i++)
    {
      const Part *part = &g_array_index (parts, Part, i);

      if (n > 0 && compare_keys (part, &g_array_index (parts, Part, n - 1)) == 0)
        g_array_index (parts, Part, n - 1).bytes += part->bytes;
      else
        g_array_index (parts, Part, n++) = *part;
    }
  g_array_set_size (parts, n);
  g_array_sort (parts, compare_bytes);
}

/* ---- rows */

static GememIdleRow
row_for (Idle *idle, const Part *part, gboolean named)
{
  const GememLiveRow *live = named && part->live != NULL ? row_of (idle, part->live) : NULL;
  const guint32 flags = part->span->flags;
  GememIdleRow row = { .cause = part->cause, .largest = part->bytes };

  if (part->cause == GEMEM_IDLE_STREAMS)
    row.stream = part->span->stream;
  if (part->cause == GEMEM_IDLE_POOLS)
    {
      row.pool = part->span->pool;
      row.used = (flags & GEMEM_SPAN_POOL_IN_USE) != 0;
      row.released = (flags & GEMEM_SPAN_POOL_RELEASED) != 0;
    }
  if (live != NULL)
    {
      row.blocks = part->blocks;
      row.id = live->id;
      row.size = part->live->size;
      row.origin = gemem_origins_of_block (idle->run, live->id);
    }
  return row;
}

/* Part @i is the @rank-th of its cause. */
static void
add_to_rows (Idle *idle, guint i, guint rank, GArray *rows)
{
  const Part *part = &g_array_index (idle->parts, Part, i);
  const gboolean pinned = part->cause == GEMEM_IDLE_PINNED, named = pinned && rank < NAMED;
  GememIdleRow *row;

  if (rank == 0 || named || (pinned && rank == NAMED))
    {
      const GememIdleRow fresh = row_for (idle, part, named);
      g_array_append_val (rows, fresh);
    }
  row = &g_array_index (rows, GememIdleRow, rows->len - 1);
  row->bytes += part->bytes;
  row->count++;
}

static void
add_plain_row (GArray *rows, GememIdleCause cause, guint64 bytes, guint64 count)
{
  const GememIdleRow row = { .cause = cause, .bytes = bytes, .count = count };

  if (bytes > 0)
    g_array_append_val (rows, row);
}

static guint64
sum (const GArray *rows)
{
  guint64 bytes = 0;

  for (guint i = 0; i < rows->len; i++)
    bytes += g_array_index (rows, GememIdleRow, i).bytes;
  return bytes;
}

static int
compare_rows (gconstpointer a, gconstpointer b)
{
  const GememIdleRow *x = a, *y = b;

  if (x->bytes != y->bytes)
    return gemem_compare_uint64 (&y->bytes, &x->bytes);
  if (x->cause != y->cause)
    return (int) x->cause - (int) y->cause;
  return gemem_compare_uint64 (&x->id, &y->id);
}

/* @total: reserved - live. */
static void
fill_rows (Idle *idle, guint64 total, GArray *rows)
{
  const guint64 live = idle->run->accounts.live;
  guint64 known;

  for (guint i = 0, rank = 0; i < idle->parts->len; i++, rank++)
    {
      const GememIdleCause cause = g_array_index (idle->parts, Part, i).cause;

      if (i > 0 && g_array_index (idle->parts, Part, i - 1).cause != cause)
        rank = 0;
      add_to_rows (idle, i, rank, rows);
    }
  add_plain_row (rows, GEMEM_IDLE_ROUNDING, idle->in_use > live ? idle->in_use - live : 0,
                 idle->blocks);
  known = sum (rows);
  if (known > total)
    g_array_set_size (rows, 0);
  add_plain_row (rows, GEMEM_IDLE_ALLOCATOR, total - (known > total ? 0 : known), 0);
  g_array_sort (rows, compare_rows);
}

void
gemem_idle_take (GememRun *run, guint64 stream, guint32 pool, GArray *rows, GememPins *pins)
{
  g_autoptr (GArray) spans = gemem_spans_of (run->allocator);
  g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (Part));
  const guint64 reserved = run->device->held, live = run->accounts.live;
  g_autoptr (GArray) rows_of_live = gemem_live_rows (&run->live, FALSE);
  Idle idle = { run, stream, pool, parts, rows_of_live, 0, 0, pins };

  g_array_set_size (rows, 0);
  for (guint i = 0; i < spans->len;)
    i = add_segment (&idle, spans, i);
  merge_parts (parts);
  fill_rows (&idle, reserved > live ? reserved - live : 0, rows);
}

GArray *
gemem_idle_causes (GememRun *run, guint64 stream, guint32 pool, const GArray *spans,
                   GArray *rows_of_live)
{
  GArray *causes = g_array_sized_new (FALSE, FALSE, sizeof (GememIdleCause), spans->len);
  const Idle idle = { .run = run, .stream = stream, .pool = pool, .live = rows_of_live };

  while (causes->len < spans->len)
    {
      const Segment segment = segment_at (spans, causes->len);

      for (const GememSpan *span = segment.first; span < segment.end; span++)
        {
          GememIdleCause cause = GEMEM_IDLE_CAUSES;

          if (span->state == GEMEM_SPAN_FREE)
            cause = cause_of_free (&idle, span, segment.held);
          else if (span->state == GEMEM_SPAN_PENDING && row_of (&idle, span) == NULL)
            cause = GEMEM_IDLE_WAITING;
          g_array_append_val (causes, cause);
        }
    }
  return causes;
}

void
gemem_idle_keep (GememRun *run, guint64 stream, guint32 pool, GememPins *pins)
{
  GememResult *result = run->result;

  gemem_idle_take (run, stream, pool, result->idle, pins);
  result->idle_reserved = run->device->held;
  result->idle_live = run->accounts.live;
  result->idle_stream = stream;
  result->idle_known = TRUE;
}
