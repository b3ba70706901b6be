/* async-order.c - how far the streams of a CUDA pool are: what each waits for, what the device has
 * come to, and which frees a stream follows; see async.h.
 *
 * A position of a stream is a mark; marks ascend over all streams.  What a stream does behind an
 * obstacle is held up: by work that the trace says is pending, or by a wait on the device for a
 * position of another stream.  A stream passes its obstacles in their order, so only the first one
 * matters.  Events of the device are recorded only once a second stream has appeared: before, one
 * is recorded where the pool must know.
 *
 * Invariants: a wait leads to a position with a smaller mark, so waits make no circle; obstacles
 * ascend by `at`; the first one of a stream, once looked at, is beyond `done`.
 * Cost: an obstacle is passed once.  A position that pending work holds up is found to be so in
 * O(1) until that work is done, however long the chain of waits between them; no recursion.
 * Origin: peers.md 1d.
 */
#include "config.h"

#include <stdlib.h>

#include "allocators/cuda/async.h"
#include "base/compare.h"

#define OBSTACLES_MAX 65536 /* of a stream; what comes then takes the place of the newest */
/* What all streams together know at most; each may know FEWEST streams. */
#define KNOWN_MAX (G_GUINT64_CONSTANT (1) << 22)
#define KNOWN_FEWEST 64

typedef struct
{
  guint64 stream, mark;
} Position;

typedef struct
{
  guint64 stream, at;
} Work;

G_STATIC_ASSERT (sizeof (Work) == sizeof (Position));

void
gemem_cuda_order_init (GememCudaPool *pool)
{
  pool->streams = g_array_new (FALSE, TRUE, sizeof (GememCudaStream));
  pool->order = g_array_new (FALSE, FALSE, sizeof (guint64));
  pool->path = g_array_new (FALSE, FALSE, sizeof (Position));
  pool->by_handle = gemem_idmap_new (sizeof (guint64));
  pool->marks = gemem_idmap_new (sizeof (GememCudaMark));
  pool->works = gemem_idmap_new (sizeof (Work));
}

void
gemem_cuda_order_clear (GememCudaPool *pool)
{
  gemem_cuda_order_forget_marks (pool);
  for (guint i = 0; i < pool->streams->len; i++)
    {
      g_clear_pointer (&g_array_index (pool->streams, GememCudaStream, i).known, g_array_unref);
      g_clear_pointer (&g_array_index (pool->streams, GememCudaStream, i).obstacles, g_array_unref);
    }
  gemem_idmap_free (pool->by_handle);
  gemem_idmap_free (pool->marks);
  gemem_idmap_free (pool->works);
  g_array_unref (pool->streams);
  g_array_unref (pool->order);
  g_array_unref (pool->path);
}

/* ---- streams */

GememDeviceEvent
gemem_cuda_order_record (GememCudaPool *pool, guint64 handle)
{
  const GememDeviceEvent event = gemem_device_event_record (pool->base.device, handle);

  if (G_UNLIKELY (event == 0))
    gemem_device_stream_sync (pool->base.device, handle);
  return event;
}

void
gemem_cuda_order_catch_up (GememCudaPool *pool)
{
  GememCudaStream *stream = gemem_cuda_stream (pool, 1);
  GememCudaBlock *block = stream->youngest;
  GememDeviceEvent event;

  if (block == NULL || block->event != 0 || block->mark <= stream->done)
    return;
  event = gemem_cuda_order_record (pool, stream->handle);
  if (event == 0)
    stream->done = block->mark;
  for (; block != NULL && block->event == 0; block = block->older)
    block->event = event;
}

void
gemem_cuda_order_assume (GememCudaPool *pool)
{
  pool->assumes = TRUE;
  if (!gemem_cuda_is_alone (pool) && pool->base.approximation == NULL)
    pool->base.approximation = "a recording with several streams that does not tell their order "
                               "does not say on which of them a block was freed; that of its "
                               "request is assumed";
}

guint64
gemem_cuda_order_number (GememCudaPool *pool, guint64 handle)
{
  gboolean existed;
  guint64 *number = gemem_idmap_insert (pool->by_handle, handle, &existed);
  const GememCudaStream stream = { .handle = handle };

  if (!existed)
    {
      *number = pool->streams->len + 1;
      if (pool->streams->len == 1)
        gemem_cuda_order_catch_up (pool);
      g_array_append_val (pool->streams, stream);
      if (pool->streams->len == 2 && pool->assumes)
        gemem_cuda_order_assume (pool);
    }
  return *number;
}

guint64
gemem_cuda_order_place (GememCudaPool *pool, guint64 handle)
{
  const guint64 number = gemem_cuda_order_number (pool, handle);
  GememCudaStream *stream = gemem_cuda_stream (pool, number);

  if (G_UNLIKELY (stream->place == 0))
    {
      g_array_append_val (pool->order, number);
      stream->place = pool->order->len;
    }
  return number;
}

/* ---- obstacles */

/* Drops the first obstacle of @stream. */
static void
pass (GememCudaPool *pool, GememCudaStream *stream)
{
  const GememCudaObstacle *first = &g_array_index (stream->obstacles, GememCudaObstacle,
                                                   stream->first);
  const Work *work = first->stream == 0 && first->mark != 0
                         ? gemem_idmap_lookup (pool->works, first->mark)
                         : NULL;

  if (work != NULL && work->at == first->at)
    gemem_idmap_remove (pool->works, first->mark, NULL);
  stream->first++;
  if (stream->first >= 64 && stream->first * 2 >= stream->obstacles->len)
    {
      g_array_remove_range (stream->obstacles, 0, stream->first);
      stream->first = 0;
    }
}

/* The first obstacle that the device has not passed; NULL: none.  Valid until the next pass(). */
static GememCudaObstacle *
first_of (GememCudaPool *pool, GememCudaStream *stream)
{
  while (stream->obstacles != NULL && stream->first < stream->obstacles->len)
    {
      GememCudaObstacle *first = &g_array_index (stream->obstacles, GememCudaObstacle,
                                                 stream->first);

      if (first->at > stream->done)
        return first;
      pass (pool, stream);
    }
  return NULL;
}

static gboolean
is_complete (const GememCudaPool *pool, GememDeviceEvent event)
{
  return event == 0 || gemem_device_event_query (pool->base.device, event);
}

/* Whether @obstacle is known to stand without a look at what the other stream waits for. */
static gboolean
stands (const GememCudaPool *pool, GememCudaObstacle *obstacle)
{
  if (obstacle->stream == 0 || !is_complete (pool, obstacle->event))
    return TRUE;
  if (obstacle->held_by != 0
      && gemem_cuda_stream (pool, obstacle->held_by)->done < obstacle->held_at)
    return TRUE;
  obstacle->held_by = 0;
  return FALSE;
}

/* The first obstacles along `path` are held up by @last, the first one of stream number @number. */
static void
note_holder (GememCudaPool *pool, guint64 number, const GememCudaObstacle *last)
{
  const guint64 by = last->stream == 0 ? number : last->held_by;
  const guint64 at = last->stream == 0 ? last->at : last->held_at;

  for (guint i = 0; by != 0 && i < pool->path->len; i++)
    {
      GememCudaStream *stream = gemem_cuda_stream (pool,
                                                   g_array_index (pool->path, Position, i).stream);
      GememCudaObstacle *first = &g_array_index (stream->obstacles, GememCudaObstacle,
                                                 stream->first);

      first->held_by = by;
      first->held_at = at;
    }
}

gboolean
gemem_cuda_order_is_held_up (GememCudaPool *pool, guint64 number, guint64 mark)
{
  Position now = { number, mark };

  g_array_set_size (pool->path, 0);
  while (TRUE)
    {
      GememCudaStream *stream = gemem_cuda_stream (pool, now.stream);
      GememCudaObstacle *first = first_of (pool, stream);

      if (first == NULL || first->at >= now.mark || now.mark <= stream->done)
        {
          if (pool->path->len == 0)
            return FALSE;
          now = g_array_index (pool->path, Position, pool->path->len - 1);
          g_array_set_size (pool->path, pool->path->len - 1);
          pass (pool, gemem_cuda_stream (pool, now.stream)); /* the wait that led here */
          continue;
        }
      if (stands (pool, first))
        {
          note_holder (pool, now.stream, first);
          return TRUE;
        }
      g_array_append_val (pool->path, now);
      now = (Position){ first->stream, first->mark };
    }
}

gboolean
gemem_cuda_order_is_done (GememCudaPool *pool, guint64 number, guint64 mark, GememDeviceEvent event)
{
  GememCudaStream *stream = gemem_cuda_stream (pool, number);

  if (mark <= stream->done)
    return TRUE;
  if (!is_complete (pool, event) || gemem_cuda_order_is_held_up (pool, number, mark))
    return FALSE;
  if (event != 0)
    stream->done = mark;
  return TRUE;
}

guint64
gemem_cuda_order_come_to (GememCudaPool *pool, guint64 number, guint64 mark)
{
  Position now = { number, mark };
  gboolean stuck = FALSE;

  g_array_set_size (pool->path, 0);
  g_array_append_val (pool->path, now);
  while (pool->path->len > 0 && !stuck)
    {
      GememCudaStream *stream;
      GememCudaObstacle *first;

      now = g_array_index (pool->path, Position, pool->path->len - 1);
      stream = gemem_cuda_stream (pool, now.stream);
      first = first_of (pool, stream);
      if (first == NULL || first->at > now.mark)
        {
          stream->done = MAX (stream->done, now.mark);
          g_array_set_size (pool->path, pool->path->len - 1);
          continue;
        }
      stuck = !is_complete (pool, first->event);
      now = (Position){ first->stream, first->mark };
      if (first->stream == 0 || (!stuck && gemem_cuda_stream (pool, now.stream)->done >= now.mark))
        pass (pool, stream);
      else if (!stuck)
        g_array_append_val (pool->path, now);
    }
  for (guint i = pool->path->len; i-- > 0;) /* each is before its first obstacle */
    {
      GememCudaStream *stream = gemem_cuda_stream (pool,
                                                   g_array_index (pool->path, Position, i).stream);
      const GememCudaObstacle *first = first_of (pool, stream);

      mark = first != NULL ? first->at - 1 : mark;
      stream->done = MAX (stream->done, mark);
    }
  return mark;
}

/* From now on @obstacle holds up stream number @number. */
static void
put_up (GememCudaPool *pool, guint64 number, GememCudaObstacle obstacle)
{
  GememCudaStream *stream = gemem_cuda_stream (pool, number);
  GememCudaObstacle *last = NULL;

  if (stream->obstacles == NULL)
    stream->obstacles = g_array_new (FALSE, FALSE, sizeof (GememCudaObstacle));
  if (first_of (pool, stream) != NULL)
    last = &g_array_index (stream->obstacles, GememCudaObstacle, stream->obstacles->len - 1);
  obstacle.at = ++pool->clock;
  /* nothing stands behind work that nobody names: more work takes its place */
  if (last != NULL
      && (stream->obstacles->len - stream->first >= OBSTACLES_MAX
          || (last->stream == 0 && last->mark == 0 && obstacle.stream == 0
              && stream->latest < last->at)))
    {
      if (last->stream == 0)
        gemem_idmap_remove (pool->works, last->mark, NULL);
      *last = obstacle;
    }
  else
    g_array_append_val (stream->obstacles, obstacle);
  if (obstacle.stream == 0 && obstacle.mark != 0)
    *(Work *) gemem_idmap_insert (pool->works, obstacle.mark, NULL) = (Work){ number, obstacle.at };
}

void
gemem_cuda_order_wait (GememCudaPool *pool, guint64 to, guint64 from, guint64 mark,
                       GememDeviceEvent event)
{
  if (from == to || mark <= gemem_cuda_stream (pool, from)->done
      || (event == 0 && !gemem_cuda_order_is_held_up (pool, from, mark)))
    return;
  put_up (pool, to, (GememCudaObstacle){ .stream = from, .mark = mark, .event = event });
}

void
gemem_cuda_pool_work (GememAllocator *allocator, guint64 id, guint64 stream)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;

  put_up (pool, gemem_cuda_order_number (pool, stream), (GememCudaObstacle){ .mark = id });
}

void
gemem_cuda_pool_work_done (GememAllocator *allocator, guint64 id)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  const Work *work = gemem_idmap_lookup (pool->works, id);

  if (work != NULL)
    gemem_cuda_order_come_to (pool, work->stream, work->at);
}

void
gemem_cuda_pool_asked (GememAllocator *allocator, guint64 stream)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  const guint64 *number = gemem_idmap_lookup (pool->by_handle, stream);

  if (number != NULL)
    gemem_cuda_order_come_to (pool, *number, pool->clock);
}

/* ---- what follows what */

/* Index of the first fact of @known about @stream or a later one. */
static guint
known_find (const GArray *known, guint64 stream)
{
  guint low = 0, high = known != NULL ? known->len : 0;

  while (low < high)
    {
      const guint middle = low + (high - low) / 2;

      if (g_array_index (known, GememCudaKnown, middle).stream < stream)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

guint64
gemem_cuda_known_of (const GArray *known, guint64 stream)
{
  const guint i = known_find (known, stream);

  return known != NULL && i < known->len
                 && g_array_index (known, GememCudaKnown, i).stream == stream
             ? g_array_index (known, GememCudaKnown, i).mark
             : 0;
}

gboolean
gemem_cuda_known_is_of_use (const GememCudaPool *pool, const GememCudaKnown *fact)
{
  const GememCudaBlock *oldest = gemem_cuda_stream (pool, fact->stream)->oldest;

  return oldest != NULL && oldest->mark <= fact->mark;
}

/* Forgets the oldest facts of @known beyond @max. */
static void
forget_oldest (GArray *known, guint max)
{
  g_autofree guint64 *marks = g_new (guint64, known->len);
  guint kept = 0;
  guint64 least;

  for (guint i = 0; i < known->len; i++)
    marks[i] = g_array_index (known, GememCudaKnown, i).mark;
  qsort (marks, known->len, sizeof *marks, gemem_compare_uint64);
  least = marks[known->len - max];
  for (guint i = 0; i < known->len && kept < max; i++)
    if (g_array_index (known, GememCudaKnown, i).mark >= least)
      g_array_index (known, GememCudaKnown, kept++) = g_array_index (known, GememCudaKnown, i);
  g_array_set_size (known, kept);
}

/* Adds @n facts, in the order of their streams, to *@known; of both, what is of use stays. */
static void
learn_all (const GememCudaPool *pool, GArray **known, const GememCudaKnown *facts, guint n)
{
  const guint max = (guint) MAX (KNOWN_MAX / (pool->streams->len + 1), KNOWN_FEWEST);
  const GArray *old = *known;
  GArray *all = NULL;
  guint i = 0, k = 0;

  while (k < n || (old != NULL && i < old->len))
    {
      const gboolean has_old = old != NULL && i < old->len;
      GememCudaKnown fact = has_old ? g_array_index (old, GememCudaKnown, i) : facts[k];

      if (has_old && k < n && facts[k].stream == fact.stream)
        fact.mark = MAX (fact.mark, facts[k].mark);
      else if (has_old && k < n && facts[k].stream < fact.stream)
        fact = facts[k];
      i += has_old && g_array_index (old, GememCudaKnown, i).stream == fact.stream;
      k += k < n && facts[k].stream == fact.stream;
      if (!gemem_cuda_known_is_of_use (pool, &fact))
        continue;
      if (all == NULL)
        all = g_array_sized_new (FALSE, FALSE, sizeof fact, n);
      g_array_append_val (all, fact);
    }
  g_clear_pointer (known, g_array_unref);
  *known = all;
  if (all != NULL && all->len > max)
    forget_oldest (all, max);
}

void
gemem_cuda_order_learn (GememCudaPool *pool, guint64 to, guint64 from, guint64 mark)
{
  GArray **known = &gemem_cuda_stream (pool, to)->known;
  const GememCudaKnown fact = { from, mark };
  const guint i = known_find (*known, from);
  GememCudaKnown *there = *known != NULL && i < (*known)->len
                              ? &g_array_index (*known, GememCudaKnown, i)
                              : NULL;

  if (from == to || !gemem_cuda_known_is_of_use (pool, &fact))
    return;
  if (there != NULL && there->stream == from)
    there->mark = MAX (there->mark, mark);
  else
    learn_all (pool, known, &fact, 1);
}

void
gemem_cuda_pool_record (GememAllocator *allocator, guint64 id, guint64 stream, guint64 to)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  const guint64 from = gemem_cuda_order_number (pool, stream);
  GememCudaStream *own = gemem_cuda_stream (pool, from);
  GememCudaMark *mark = gemem_idmap_insert (pool->marks, id, NULL);

  mark->from = from;
  mark->to = to;
  mark->mark = own->latest = ++pool->clock;
  g_clear_pointer (&mark->known, g_array_unref);
  if (own->known != NULL)
    learn_all (pool, &mark->known, (const GememCudaKnown *) (gpointer) own->known->data,
               own->known->len);
}

void
gemem_cuda_pool_wait (GememAllocator *allocator, guint64 id, guint64 stream)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  GememCudaMark *mark = gemem_idmap_lookup (pool->marks, id);
  guint64 number;

  if (mark == NULL)
    return;
  number = gemem_cuda_order_number (pool, stream);
  gemem_cuda_order_learn (pool, number, mark->from, mark->mark);
  if (mark->known != NULL)
    learn_all (pool, &gemem_cuda_stream (pool, number)->known,
               (const GememCudaKnown *) (gpointer) mark->known->data, mark->known->len);
  gemem_cuda_order_wait (pool, number, mark->from, mark->mark, 0);
  if (mark->to != stream)
    return;
  g_clear_pointer (&mark->known, g_array_unref);
  gemem_idmap_remove (pool->marks, id, NULL);
}

void
gemem_cuda_order_forget_marks (GememCudaPool *pool)
{
  GememCudaMark *mark;
  gsize position = 0;
  guint64 id;

  while (gemem_idmap_next (pool->marks, &position, &id, (gpointer *) &mark))
    g_clear_pointer (&mark->known, g_array_unref);
  gemem_idmap_clear (pool->marks);
}
