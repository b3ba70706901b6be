/* sequence.c - see sequence.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "allocators/planned/sequence.h"

#define TOGETHER 4 /* requests in a row by which a position is recognised */
#define PAID 16    /* positions that may be skipped for each request */

typedef struct
{
  guint64 size, stream;
} Item;

/* The last TOGETHER requests up to a position. */
typedef struct
{
  guint64 hash;
  guint32 position;
} Passage;

struct _GememSequence
{
  Item *items;
  guint32 n, step;
  Passage *passages; /* by hash, then position */
  guint32 n_passages;

  guint32 next;             /* position of the next request; n: `step` */
  guint32 missed;           /* requests since the last that was recognised */
  guint64 recent[TOGETHER]; /* what the last requests were, the newest first */
  guint64 credit;           /* positions that may be skipped */
};

static guint64
word_of (guint64 size, guint64 stream)
{
  return gemem_past_mix (gemem_past_mix (0, size), stream);
}

static guint64
hash_of (const guint64 *newest_first)
{
  guint64 hash = 0;

  for (guint i = TOGETHER; i-- > 0;)
    hash = gemem_past_mix (hash, newest_first[i]);
  return hash;
}

static void
remember (guint64 *recent, guint64 word)
{
  memmove (recent + 1, recent, sizeof (guint64) * (TOGETHER - 1));
  recent[0] = word;
}

static int
compare_passages (gconstpointer a, gconstpointer b)
{
  const Passage *x = a, *y = b;

  if (x->hash != y->hash)
    return x->hash < y->hash ? -1 : 1;
  return (x->position > y->position) - (x->position < y->position);
}

void
gemem_sequence_seal (GememSequence *sequence)
{
  guint64 recent[TOGETHER] = { 0 };

  sequence->passages = g_new (Passage, (gsize) sequence->n + 1);
  for (guint32 i = 0; i < sequence->n; i++)
    {
      remember (recent, word_of (sequence->items[i].size, sequence->items[i].stream));
      if (i + 1 >= TOGETHER)
        sequence->passages[sequence->n_passages++] = (Passage){ hash_of (recent), i };
    }
  qsort (sequence->passages, sequence->n_passages, sizeof (Passage), compare_passages);
}

GememSequence *
gemem_sequence_new (guint32 n, guint32 step)
{
  GememSequence *sequence = g_new0 (GememSequence, 1);

  sequence->n = n;
  sequence->step = step;
  sequence->items = g_new0 (Item, n);
  sequence->credit = n;
  return sequence;
}

void
gemem_sequence_free (GememSequence *sequence)
{
  if (sequence == NULL)
    return;
  g_free (sequence->items);
  g_free (sequence->passages);
  g_free (sequence);
}

void
gemem_sequence_set (GememSequence *sequence, guint32 position, guint64 size, guint64 stream)
{
  sequence->items[position] = (Item){ size, stream };
}

void
gemem_sequence_rewind (GememSequence *sequence)
{
  sequence->next = sequence->missed = 0;
  memset (sequence->recent, 0, sizeof sequence->recent);
  sequence->credit = sequence->n;
}

/* ---- following the program */

/* The position @k behind the next. */
static guint32
ahead (const GememSequence *sequence, guint32 k)
{
  const guint32 length = sequence->n - sequence->step;
  const guint32 left = sequence->n - sequence->next;

  return k < left ? sequence->next + k : sequence->step + (k - left) % length;
}

/* Whether a request of @size bytes can have the memory of @position, and not waste more than half. */
static gboolean
fits (const GememSequence *sequence, guint32 position, guint64 size, guint64 stream)
{
  const Item *item = &sequence->items[position];

  return size <= item->size && item->size - size <= item->size / 2 && stream == item->stream;
}

static gboolean
is_exactly (const GememSequence *sequence, guint32 position, guint64 size, guint64 stream)
{
  return size == sequence->items[position].size && stream == sequence->items[position].stream;
}

/* The first passage not before (@hash, @position). */
static guint32
first_passage (const GememSequence *sequence, guint64 hash, guint32 position)
{
  const Passage key = { hash, position };
  guint32 low = 0, high = sequence->n_passages;

  while (low < high)
    {
      const guint32 middle = low + (high - low) / 2;

      if (compare_passages (&sequence->passages[middle], &key) < 0)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* The nearest position ahead at which the last requests stand together, or the same at the
 * beginning of the next step; GEMEM_NEVER: none. */
static guint32
find_passage (const GememSequence *sequence)
{
  const guint64 hash = hash_of (sequence->recent);
  guint32 at = first_passage (sequence, hash, sequence->next);

  if (at < sequence->n_passages && sequence->passages[at].hash == hash)
    return sequence->passages[at].position;
  at = first_passage (sequence, hash, sequence->step);
  return at < sequence->n_passages && sequence->passages[at].hash == hash
                 && sequence->passages[at].position - sequence->step < 2 * TOGETHER
             ? sequence->passages[at].position
             : GEMEM_NEVER;
}

/* The position of a request that is not the next; GEMEM_NEVER: none. */
static guint32
find_again (GememSequence *sequence, guint64 size, guint64 stream)
{
  guint32 at = ahead (sequence, sequence->missed), distance;

  if (sequence->missed > 0 && is_exactly (sequence, at, size, stream))
    return at;
  at = find_passage (sequence);
  if (at == GEMEM_NEVER || !is_exactly (sequence, at, size, stream))
    return GEMEM_NEVER;
  distance = at >= sequence->next ? at - sequence->next
                                  : sequence->n - sequence->next + (at - sequence->step);
  if (distance > sequence->credit)
    return GEMEM_NEVER;
  sequence->credit -= distance;
  return at;
}

guint32
gemem_sequence_follow (GememSequence *sequence, guint64 size, guint64 stream)
{
  guint32 position = ahead (sequence, 0);

  sequence->credit = MIN (sequence->credit + PAID, 4 * (guint64) sequence->n);
  remember (sequence->recent, word_of (size, stream));
  if (G_UNLIKELY (!fits (sequence, position, size, stream)))
    position = find_again (sequence, size, stream);
  if (G_UNLIKELY (position == GEMEM_NEVER))
    {
      sequence->missed++;
      return GEMEM_NEVER;
    }
  sequence->next = position + 1;
  sequence->missed = 0;
  return position;
}
