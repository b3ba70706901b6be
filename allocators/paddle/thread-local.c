/* thread-local.c - PaddlePaddle's strategy `thread_local`: each thread has a buddy on the device.
 *
 * A thread's first request creates its buddy; the chunk sizes derive from the device memory free at
 * that moment.  Any thread may free a block; the block returns to the buddy that allocated it.
 * Recordings name streams and pools, not threads: a parameter says which of them is the thread.
 *
 * Invariants and cost: those of each buddy; the buddies share only the device.
 * Origin: paddle.md sections 3.6 and 1.2.
 */
#include "config.h"

#include "allocators/neighbours.h"
#include "allocators/paddle/buddy.h"
#include "allocators/spans.h"
#include "base/idmap.h"

typedef struct
{
  GememPaddleBuddyParams buddy; /* only what the rows below set */
  int thread;
} Params;

static const GememParam params[] = {
  GEMEM_PADDLE_VERSION_ROW (Params, buddy.chunk.version, GEMEM_PADDLE_VERSIONS_SINCE_2_0, "3.x",
                            "3.x", "Release of Paddle since 2.0; they decide alike."),
  { .name = "thread",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "stream",
    .choices = "stream|pool",
    .offset = G_STRUCT_OFFSET (Params, thread),
    .help = "What stands for the thread in a recording: the stream of the request, or its pool." },
  GEMEM_PADDLE_BUDDY_SIZE_ROWS,
  GEMEM_PADDLE_BUDDY_LIMIT_ROWS,
  { NULL },
};

typedef struct
{
  GememAllocator base;
  GememPaddleBuddyParams buddy; /* settings of every buddy */
  gboolean by_pool;
  GPtrArray *buddies;    /* GememAllocator, in order of the threads' first requests */
  GememIdMap *by_thread; /* thread -> guint64: number of the buddy */
} ThreadLocal;

extern const GememAllocatorClass gemem_paddle_thread_local_class;

static GememAllocator *
buddy_at (const ThreadLocal *self, guint64 index)
{
  return g_ptr_array_index (self->buddies, index);
}

static GememAllocator *
obtain_buddy (ThreadLocal *self, guint64 thread)
{
  gboolean existed;
  guint64 *index = gemem_idmap_insert (self->by_thread, thread, &existed);

  if (!existed)
    {
      *index = self->buddies->len;
      /* Cannot fail: thread_local_create() checked these settings. */
      g_ptr_array_add (self->buddies,
                       gemem_paddle_buddy_new (&self->buddy, *index, self->base.device, NULL));
    }
  return buddy_at (self, *index);
}

static guint64
thread_of (const ThreadLocal *self, guint64 stream, guint32 pool)
{
  return self->by_pool ? pool : stream;
}

static gboolean
thread_local_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  ThreadLocal *self = (ThreadLocal *) allocator;
  GememAllocator *buddy = obtain_buddy (self, thread_of (self, request->stream, request->pool));

  return buddy->klass->alloc (buddy, request, block);
}

static void
thread_local_free (GememAllocator *allocator, const GememBlock *block, gboolean completion_follows)
{
  GememAllocator *buddy;

  if (block->handle == NULL) /* request of 0 bytes */
    return;
  buddy = buddy_at ((ThreadLocal *) allocator, gemem_paddle_buddy_owner (block));
  buddy->klass->free (buddy, block, completion_follows);
}

static void
thread_local_trim (GememAllocator *allocator)
{
  const ThreadLocal *self = (const ThreadLocal *) allocator;

  for (guint i = 0; i < self->buddies->len; i++)
    buddy_at (self, i)->klass->trim (buddy_at (self, i));
}

static guint64
thread_local_largest_free (GememAllocator *allocator, guint64 stream)
{
  const ThreadLocal *self = (const ThreadLocal *) allocator;
  const guint64 *index = gemem_idmap_lookup (self->by_thread, thread_of (self, stream, 0));

  return index != NULL
             ? buddy_at (self, *index)->klass->largest_free (buddy_at (self, *index), stream)
             : 0;
}

/* ---- questions: those of every buddy */

static void
thread_local_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const ThreadLocal *self = (const ThreadLocal *) allocator;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  for (guint i = 0; i < self->buddies->len; i++)
    buddy_at (self, i)->klass->walk (buddy_at (self, i), gemem_spans_append, spans);
  gemem_spans_sort (spans);
  for (guint i = 0; i < spans->len; i++)
    func (&g_array_index (spans, GememSpan, i), data);
}

static gboolean
thread_local_check (GememAllocator *allocator, GError **error)
{
  const ThreadLocal *self = (const ThreadLocal *) allocator;

  for (guint i = 0; i < self->buddies->len; i++)
    if (!buddy_at (self, i)->klass->check (buddy_at (self, i), error))
      return FALSE;
  return TRUE;
}

typedef struct
{
  const char *name, *unit;
  guint64 value;
} Stat;

/* Every buddy reports the same statistics in the same order. */
typedef struct
{
  GArray *stats; /* Stat: sums */
  guint next;
} Sums;

static void
add_stat (const char *name, guint64 value, const char *unit, gpointer data)
{
  Sums *sums = data;
  const Stat first = { name, unit, 0 };

  if (sums->next == sums->stats->len)
    g_array_append_val (sums->stats, first);
  g_array_index (sums->stats, Stat, sums->next++).value += value;
}

static void
thread_local_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const ThreadLocal *self = (const ThreadLocal *) allocator;
  g_autoptr (GArray) stats = g_array_new (FALSE, FALSE, sizeof (Stat));

  func ("threads", self->buddies->len, "", data);
  for (guint i = 0; i < self->buddies->len; i++)
    {
      Sums sums = { stats, 0 };
      buddy_at (self, i)->klass->report.stats (buddy_at (self, i), add_stat, &sums);
    }
  for (guint i = 0; i < stats->len; i++)
    func (g_array_index (stats, Stat, i).name, g_array_index (stats, Stat, i).value,
          g_array_index (stats, Stat, i).unit, data);
}

/* ---- creation */

static void
destroy_buddy (gpointer buddy)
{
  ((GememAllocator *) buddy)->klass->destroy (buddy);
}

static GememAllocator *
thread_local_create (gconstpointer data, GememDevice *device, GError **error)
{
  const Params *given = data;
  GememPaddleBuddyParams buddy, tried;
  ThreadLocal *self;

  gemem_params_set_defaults (gemem_paddle_buddy_params, &buddy);
  buddy.chunk = given->buddy.chunk;
  buddy.chunk.version += GEMEM_PADDLE_2_0;
  buddy.platform = given->buddy.platform;
  buddy.total = given->buddy.total;
  buddy.available = given->buddy.available;
  buddy.memory_limit = given->buddy.memory_limit;
  buddy.retry_time = given->buddy.retry_time;
  tried = buddy;
  if (!gemem_paddle_buddy_params_resolve (&tried, error))
    return NULL;
  self = g_new0 (ThreadLocal, 1);
  self->base.klass = &gemem_paddle_thread_local_class;
  self->base.device = device;
  self->buddy = buddy;
  self->by_pool = given->thread == 1;
  self->buddies = g_ptr_array_new_with_free_func (destroy_buddy);
  self->by_thread = gemem_idmap_new (sizeof (guint64));
  return &self->base;
}

static void
thread_local_destroy (GememAllocator *allocator)
{
  ThreadLocal *self = (ThreadLocal *) allocator;

  g_ptr_array_unref (self->buddies);
  gemem_idmap_free (self->by_thread);
  g_free (self);
}

const GememAllocatorClass gemem_paddle_thread_local_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "paddle-thread-local",
  .summary = "PaddlePaddle's strategy thread_local: a buddy for each thread",
  .origin = "PaddlePaddle 2.0-3.x; paddle.md section 3.6",
  .known_as = "ThreadLocalCUDAAllocator|thread_local",
  .capabilities = GEMEM_CAP_STREAMS,
  .alignment = 256,
  .alignment_offset = 64,
  .params = params,
  .params_size = sizeof (Params),
  .create = thread_local_create,
  .alloc = thread_local_alloc,
  .free = thread_local_free,
  .prefetch = gemem_neighbours_prefetch,
  .trim = thread_local_trim,
  .largest_free = thread_local_largest_free,
  .walk = thread_local_walk,
  .check = thread_local_check,
  .destroy = thread_local_destroy,
  .report.stats = thread_local_stats,
};
