/* held.c - see held.h. */
#include "config.h"

#include <string.h>

#include "traces/held.h"
#include "traces/native/format.h"

#define CHUNK NATIVE_CHUNK_EVENTS
#define BATCH \
  4096 /* events that a reader delivers at once: progress and interruption need pauses */

/* Events in a row: as they are, or packed as a chunk of a native file. */
typedef struct
{
  GememTraceEvent *events;
  GByteArray *packed; /* instead of `events` */
  guint32 n;
} Chunk;

struct _GememHeld
{
  guint references;
  GememTraceReader *reader; /* read to its end; its info is the one of all */
  NativeEncoder *encoder;   /* NULL: nothing was packed yet */
  GArray *chunks;           /* Chunk */
  guint64 events, kinds[GEMEM_EVENT_KIND_COUNT];
  guint64 failed; /* ALLOCs that the recorded allocator refused */
};

typedef struct
{
  GememTraceReader base;
  const GememHeld *held;
  NativeDecoder *decoder; /* NULL: no packed chunk was met yet */
  guint chunk;            /* that is delivered */
  guint32 done;           /* events of it that were */
} Reader;

static void
chunk_clear (gpointer data)
{
  Chunk *chunk = data;

  g_free (chunk->events);
  if (chunk->packed != NULL)
    g_byte_array_unref (chunk->packed);
}

static void
pack (GememHeld *held, Chunk *chunk)
{
  if (held->encoder == NULL)
    held->encoder = gemem_native_encoder_new ();
  chunk->packed = g_byte_array_new ();
  gemem_native_encode (held->encoder, chunk->events, chunk->n, chunk->packed);
  g_clear_pointer (&chunk->events, g_free);
}

/* The chunk that takes the next event; what is full is packed once there is much of it. */
static Chunk *
last_chunk (GememHeld *held)
{
  Chunk *last = held->chunks->len > 0 ? &g_array_index (held->chunks, Chunk, held->chunks->len - 1)
                                      : NULL;

  if (last != NULL && last->n < CHUNK)
    return last;
  if (last != NULL && held->chunks->len > GEMEM_HELD_UNPACKED / CHUNK)
    pack (held, last);
  const Chunk fresh = { g_new (GememTraceEvent, CHUNK), NULL, 0 };
  g_array_append_val (held->chunks, fresh);
  return &g_array_index (held->chunks, Chunk, held->chunks->len - 1);
}

/* Appends a copy of @n events. */
static void
keep (GememHeld *held, const GememTraceEvent *events, gsize n)
{
  while (n > 0)
    {
      Chunk *chunk = last_chunk (held);
      const guint32 count = (guint32) MIN (n, CHUNK - chunk->n);

      memcpy (chunk->events + chunk->n, events, count * sizeof *events);
      chunk->n += count;
      events += count;
      n -= count;
    }
}

static gboolean
read_all (GememHeld *held, GError **error)
{
  const GememTraceEvent *events;
  gssize n;

  while ((n = gemem_trace_next (held->reader, &events, error)) > 0)
    {
      for (gssize i = 0; i < n; i++)
        {
          if (events[i].kind < GEMEM_EVENT_KIND_COUNT)
            held->kinds[events[i].kind]++;
          held->failed += events[i].kind == GEMEM_EVENT_ALLOC
                          && (events[i].flags & GEMEM_EVENT_FAILED) != 0;
        }
      held->events += (guint64) n;
      keep (held, events, (gsize) n);
    }
  return n == 0;
}

GememHeld *
gemem_held_new (GememTraceReader *reader, GError **error)
{
  GememHeld *held = g_new0 (GememHeld, 1);

  held->references = 1;
  held->reader = reader;
  held->chunks = g_array_new (FALSE, FALSE, sizeof (Chunk));
  g_array_set_clear_func (held->chunks, chunk_clear);
  if (read_all (held, error))
    return held;
  gemem_held_unref (held);
  return NULL;
}

GememHeld *
gemem_held_ref (GememHeld *held)
{
  held->references++;
  return held;
}

void
gemem_held_unref (GememHeld *held)
{
  if (held == NULL || --held->references > 0)
    return;
  gemem_native_encoder_free (held->encoder);
  g_array_unref (held->chunks);
  gemem_trace_close (held->reader);
  g_free (held);
}

/* The next events of a packed chunk. */
static gssize
unpack (Reader *reader, const Chunk *chunk, GememTraceEvent **events, GError **error)
{
  const char *problem = NULL;
  gssize n = -1;

  if (reader->decoder == NULL)
    reader->decoder = gemem_native_decoder_new ();
  if (reader->done == 0)
    problem = gemem_native_decoder_start (reader->decoder, chunk->packed->data, chunk->packed->len,
                                          chunk->n, G_MAXUINT32, G_MAXUINT32);
  if (problem == NULL)
    n = gemem_native_decode (reader->decoder, events, &problem);
  if (n < 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "a packed trace: %s", problem);
  return n;
}

static gssize
next_batch (GememTraceReader *base, const GememTraceEvent **events, GError **error)
{
  Reader *reader = (Reader *) base;
  const GArray *chunks = reader->held->chunks;
  GememTraceEvent *unpacked = NULL;
  const Chunk *chunk;
  gssize n;

  if (reader->chunk == chunks->len)
    return 0;
  chunk = &g_array_index (chunks, Chunk, reader->chunk);
  n = chunk->packed != NULL ? unpack (reader, chunk, &unpacked, error)
                            : MIN (BATCH, chunk->n - reader->done);
  if (n < 0)
    return n;
  *events = chunk->packed != NULL ? unpacked : chunk->events + reader->done;
  reader->done += (guint32) n;
  if (reader->done == chunk->n)
    {
      reader->chunk++;
      reader->done = 0;
    }
  return n;
}

/* The info is the held one's. */
static void
close_reader (GememTraceReader *base)
{
  gemem_native_decoder_free (((Reader *) base)->decoder);
  g_free (base);
}

GememTraceReader *
gemem_held_open (gpointer data, G_GNUC_UNUSED GError **error)
{
  const GememHeld *held = data;
  Reader *reader = g_new0 (Reader, 1);

  reader->base.format = held->reader->format;
  reader->base.info = held->reader->info;
  reader->base.next = next_batch;
  reader->base.close = close_reader;
  reader->held = held;
  return &reader->base;
}

const GememTraceInfo *
gemem_held_info (const GememHeld *held)
{
  return &held->reader->info;
}

guint64
gemem_held_events (const GememHeld *held)
{
  return held->events;
}

guint64
gemem_held_count (const GememHeld *held, GememEventKind kind)
{
  return held->kinds[kind];
}

guint64
gemem_held_refused (const GememHeld *held)
{
  return held->failed + held->kinds[GEMEM_EVENT_OOM];
}
