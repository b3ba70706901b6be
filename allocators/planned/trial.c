/* trial.c - see trial.h. */
#include "config.h"

#include "allocators/planned/trial.h"

/* Requests by when they are released: those of position i from first[i] to below first[i + 1]; those
 * aside count on behind the others. */
typedef struct
{
  guint32 *first, *requests;
} Releases;

static guint32
released (const GememPast *past, guint32 i)
{
  return i < past->requests->len
             ? gemem_past_get (past, i)->released
             : g_array_index (past->aside, GememPastAside, i - past->requests->len).released;
}

static Releases
list_releases (const GememPast *past)
{
  const guint32 n = past->requests->len, all = n + past->aside->len;
  Releases releases = { g_new0 (guint32, (gsize) n + 3), g_new (guint32, (gsize) all + 1) };

  for (guint32 i = 0; i < all; i++)
    if (released (past, i) != GEMEM_NEVER)
      releases.first[released (past, i) + 2]++;
  for (guint32 i = 0; i <= n; i++)
    releases.first[i + 2] += releases.first[i + 1];
  for (guint32 i = 0; i < all; i++)
    if (released (past, i) != GEMEM_NEVER)
      releases.requests[releases.first[released (past, i) + 1]++] = i;
  return releases;
}

typedef struct
{
  GememAllocator *allocator;
  const GememPast *past;
  GememBlock *blocks; /* by request, then those aside; address 0: not live */
  guint32 aside;      /* the next one */
} Serving;

static void
ask (Serving *serving, guint32 number, guint64 size, guint64 stream, guint32 pool)
{
  const GememRequest request = { .size = size, .stream = stream, .pool = pool };

  if (!serving->allocator->klass->alloc (serving->allocator, &request, &serving->blocks[number]))
    serving->blocks[number].address = 0;
}

static void
release (Serving *serving, guint32 number)
{
  GememBlock *block = &serving->blocks[number];

  if (block->address != 0)
    serving->allocator->klass->free (serving->allocator, block, FALSE);
  block->address = 0;
}

/* The cache is emptied, or @pool is released. */
static void
empty (GememAllocator *allocator, guint32 pool)
{
  if (pool == 0)
    allocator->klass->trim (allocator);
  else
    allocator->klass->release_pool (allocator, pool, FALSE);
}

/* What came between request @i - 1 and request @i, but releases. */
static void
ask_aside (Serving *serving, guint32 i)
{
  const GArray *aside = serving->past->aside;

  for (; serving->aside < aside->len; serving->aside++)
    {
      const GememPastAside *one = &g_array_index (aside, GememPastAside, serving->aside);
      const guint32 number = serving->past->requests->len + serving->aside;

      if (one->at != i)
        return;
      if (one->size == 0)
        {
          empty (serving->allocator, one->pool);
          continue;
        }
      ask (serving, number, one->size, one->stream, one->pool);
      if (one->released == i)
        release (serving, number);
    }
}

guint64
gemem_trial_serve (GememAllocator *allocator, const GememPast *past, const GememTrial *trial)
{
  const guint32 n = past->requests->len;
  g_autofree GememBlock *blocks = g_new0 (GememBlock, (gsize) n + past->aside->len + 1);
  Serving serving = { allocator, past, blocks, 0 };
  const Releases releases = list_releases (past);
  guint64 most = 0;

  for (guint32 i = 0; i < n; i++)
    {
      for (guint32 k = releases.first[i]; k < releases.first[i + 1]; k++)
        release (&serving, releases.requests[k]);
      ask_aside (&serving, i);
      if (i == trial->start && trial->begin != NULL)
        trial->begin (allocator, trial->data);
      ask (&serving, i, gemem_past_get (past, i)->size, gemem_past_get (past, i)->stream, 0);
      if (i >= trial->from)
        most = MAX (most, allocator->device->held);
    }
  g_free (releases.first);
  g_free (releases.requests);
  return most;
}
