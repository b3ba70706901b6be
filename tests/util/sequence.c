/* sequence.c - see sequence.h.
 *
 * The draws favour what breaks allocators: sizes that recur (exact fits and ties), sizes around
 * powers of two and rounding units, log-uniform and hostile sizes; numbers of live blocks that rise
 * and fall, so that caches fill, coalesce and empty.
 */
#include "config.h"

#include "base/rng.h"
#include "tests/util/sequence.h"

#define FAVOURITES 12

typedef struct
{
  const TestMix *mix;
  GememRng rng;
  guint64 favourites[FAVOURITES];
  GArray *ops;
  GArray *live, *owed, *graphs; /* ids */
  guint32 next_id;
  guint target; /* number of live blocks aimed at */
} Maker;

static guint64
draw (Maker *m, guint64 bound)
{
  return gemem_rng_below (&m->rng, bound);
}

static guint64
draw_size (Maker *m)
{
  const guint64 largest = m->mix->largest;
  guint64 size;

  if (draw (m, 1000) < m->mix->hostile)
    return draw (m, 4) == 0
               ? G_MAXUINT64 - draw (m, 1024)
               : gemem_rng_log_uniform (&m->rng, G_GUINT64_CONSTANT (1) << 44, G_MAXUINT64);
  switch (draw (m, 8))
    {
    case 0:
    case 1:
    case 2:
      return m->favourites[draw (m, FAVOURITES)];
    case 3:
      size = G_GUINT64_CONSTANT (1) << draw (m, 64 - (guint) __builtin_clzll (largest));
      size += draw (m, 3) - 1;
      break;
    case 4:
      size = gemem_rng_log_uniform (&m->rng, 1, largest);
      size = (size & ~G_GUINT64_CONSTANT (511)) + draw (m, 3) - 1;
      break;
    default:
      size = gemem_rng_log_uniform (&m->rng, 1, largest);
    }
  return size == 0 || size > largest ? largest : size;
}

static void
add (Maker *m, TestOpKind kind, guint32 id, guint64 size, guint64 stream, guint32 pool)
{
  const TestOp op = { .kind = kind, .id = id, .size = size, .stream = stream, .pool = pool };

  g_array_append_val (m->ops, op);
}

static guint32
take (Maker *m, GArray *ids)
{
  const guint i = (guint) draw (m, ids->len);
  const guint32 id = g_array_index (ids, guint32, i);

  g_array_remove_index_fast (ids, i);
  return id;
}

static void
add_free (Maker *m)
{
  const gboolean later = m->mix->uses && draw (m, 6) == 0;
  const guint32 id = take (m, m->live);

  if (m->mix->order && draw (m, 4) != 0)
    {
      add (m, TEST_FREE_ON, id, 0, draw (m, m->mix->streams + 1), 0);
      return;
    }
  add (m, later ? TEST_FREE_LATER : TEST_FREE, id, 0, 0, 0);
  if (later)
    g_array_append_val (m->owed, id);
}

static void
add_alloc (Maker *m)
{
  const guint32 pool = m->mix->pools > 1 && draw (m, 4) == 0 ? (guint32) draw (m, m->mix->pools)
                                                             : 0;
  const guint64 size = draw_size (m);

  add (m, TEST_ALLOC, m->next_id, size, draw (m, m->mix->streams), pool);
  g_array_append_val (m->live, m->next_id);
  m->next_id++;
}

static guint32
draw_live (Maker *m)
{
  return g_array_index (m->live, guint32, draw (m, m->live->len));
}

/* Draws one of @streams after @id, which is an argument and so drawn before. */
static void
add_on_stream (Maker *m, TestOpKind kind, guint32 id, guint64 streams)
{
  add (m, kind, id, 0, draw (m, streams), 0);
}

/* TRUE: an operation that concerns streams was added. */
static gboolean
add_stream_work (Maker *m)
{
  const guint64 die = draw (m, 100);

  if (!m->mix->uses || die >= 15)
    return FALSE;
  if (die < 6 && m->live->len > 0)
    add_on_stream (m, TEST_USE, draw_live (m), m->mix->streams + 1);
  else if (die < 13 && m->owed->len > 0)
    add (m, TEST_COMPLETE, take (m, m->owed), 0, 0, 0);
  else if (die == 13)
    add (m, TEST_SYNC, 0, 0, draw (m, 3) == 0 ? G_MAXUINT64 : draw (m, m->mix->streams), 0);
  else
    return FALSE;
  return TRUE;
}

/* TRUE: a stream released a block, or an event was recorded or waited for. Events are few, so
 * that some are recorded again before any wait, and some are waited for twice. */
static gboolean
add_event_work (Maker *m)
{
  const guint64 die = m->mix->events ? draw (m, 100) : 100, streams = m->mix->streams + 1;

  if (die < 9 && m->live->len > 0)
    add_on_stream (m, TEST_LET, draw_live (m), streams);
  else if (die < 17)
    {
      const guint32 id = (guint32) draw (m, 6);
      const guint64 of = draw (m, 3) == 0 ? 0 : 1 + draw (m, streams);

      add (m, TEST_RECORD, id, of, draw (m, streams), 0);
    }
  else if (die < 27)
    add_on_stream (m, TEST_WAIT, (guint32) draw (m, 6), streams);
  else
    return FALSE;
  return TRUE;
}

/* TRUE: what the order of streams is made of was added.  There are few pieces of work and few events. */
static gboolean
add_order (Maker *m)
{
  const guint64 die = m->mix->order ? draw (m, 100) : 100, streams = m->mix->streams + 1;

  if (die < 8)
    {
      const guint32 id = (guint32) draw (m, 6);
      const guint64 of = draw (m, 4) == 0 ? 1 + draw (m, streams) : 0;

      add (m, TEST_RECORD, id, of, draw (m, streams), 0);
    }
  else if (die < 18)
    add_on_stream (m, TEST_WAIT, (guint32) draw (m, 6), streams);
  else if (die < 24)
    add_on_stream (m, TEST_WORK, (guint32) draw (m, 5), streams);
  else if (die < 30)
    add (m, TEST_WORK_DONE, 1 + (guint32) draw (m, 4), 0, 0, 0);
  else if (die < 32)
    add (m, TEST_ASK, 0, 0, draw (m, streams), 0);
  else
    return FALSE;
  return TRUE;
}

/* TRUE: an operation on a graph was added: few loads and unloads, many runs. */
static gboolean
add_graph_work (Maker *m)
{
  const guint64 die = m->mix->graphs > 0 ? draw (m, 64) : 64;
  const guint64 largest = m->mix->largest,
                stream = die < 64 && m->mix->subgraphs ? draw (m, m->mix->streams) : 0;
  const guint32 mark = m->mix->subgraphs && die < 2 && draw (m, 3) == 0 ? TEST_SUBGRAPH : 0;

  if (die < 2 && m->graphs->len < m->mix->graphs)
    {
      const guint64 size = draw_size (m) % (2 * largest) + 1;

      g_array_append_val (m->graphs, m->next_id);
      add (m, TEST_GRAPH_LOAD, m->next_id++, size, stream, (guint32) draw (m, 1 << 20) | mark);
      return TRUE;
    }
  if (die >= 12 || m->graphs->len == 0)
    return FALSE;
  if (die < 4)
    add (m, TEST_GRAPH_UNLOAD, take (m, m->graphs), 0, 0, 0);
  else
    add (m, die < 8 ? TEST_GRAPH_RUN : TEST_GRAPH_RUN_END,
         g_array_index (m->graphs, guint32, draw (m, m->graphs->len)), 0, stream, 0);
  return TRUE;
}

static void
add_one (Maker *m)
{
  if (draw (m, 64) == 0)
    m->target = (guint) draw (m, m->mix->live + 1);
  if (add_graph_work (m) || add_event_work (m) || add_order (m))
    return;
  if (draw (m, 1000) < m->mix->trims)
    add (m, TEST_TRIM, 0, 0, 0, 0);
  else if (add_stream_work (m))
    return;
  else if (m->live->len > 0
           && (m->live->len >= m->mix->live || draw (m, 8) < (m->live->len > m->target ? 6 : 2)))
    add_free (m);
  else
    add_alloc (m);
}

GArray *
test_sequence (guint64 seed, const char *purpose, const TestMix *mix)
{
  Maker m = { .mix = mix, .target = mix->live };

  gemem_rng_init (&m.rng, seed, purpose);
  m.ops = g_array_sized_new (FALSE, FALSE, sizeof (TestOp), mix->operations);
  m.live = g_array_new (FALSE, FALSE, sizeof (guint32));
  m.owed = g_array_new (FALSE, FALSE, sizeof (guint32));
  m.graphs = g_array_new (FALSE, FALSE, sizeof (guint32));
  for (guint i = 0; i < FAVOURITES; i++)
    m.favourites[i] = gemem_rng_log_uniform (&m.rng, 1, mix->largest);
  while (m.ops->len < mix->operations)
    add_one (&m);
  g_array_unref (m.live);
  g_array_unref (m.owed);
  g_array_unref (m.graphs);
  return m.ops;
}
