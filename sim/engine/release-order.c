/* release-order.c - see release-order.h.
 *
 * Each event has two ticks of stream-order.h: 2 * seq + 1 while it is served, 2 * seq + 2 for the
 * work queued after it, so that a wait within a request does not cover the work that the request is
 * for.
 */
#include "config.h"

#include "base/tree.h"
#include "base/units.h"
#include "sim/engine/release-order.h"
#include "sim/engine/run.h"
#include "sim/engine/stream-order.h"

/* A range of memory and the last work of one stream that uses it.  Pieces of one stream do not
 * overlap. */
typedef struct
{
  GememTreeNode node; /* group: index of the stream; address */
  guint64 size, id;
  guint64 tick;  /* of the last work */
  gboolean live; /* the program still has the memory: its work has no end yet */
} Piece;

/* A block, until its last free. */
typedef struct
{
  guint64 address, size;
  guint64 stream; /* index of its own stream */
  guint64 last;   /* tick of its own stream's last work with it; 0: unknown */
} Known;

typedef struct
{
  GememDeviceCall call;
  guint64 seq, address, size, stream;
  Piece piece;
} Violation;

struct _GememReleaseOrder
{
  GememDevice *device;
  GememDeviceObserver observer;
  GememStreamOrder streams;
  GememTree pieces;
  GememSlab slab;
  GememIdMap *blocks; /* id -> Known */
  guint64 seq;        /* of the present event */
  guint64 set_id;     /* block that the memset in progress concerns */
  gboolean violated;
  Violation first;
};

#define NO_BLOCK G_MAXUINT64 /* the allocator itself uses the memory */
#define GRAPH_BIT GEMEM_GRAPH_BLOCK_ID (G_GUINT64_CONSTANT (0))

static inline guint64
now (const GememReleaseOrder *order)
{
  return 2 * order->seq + 1;
}

/* ---- pieces */

static Piece *
piece_of (GememTreeNode *node, guint stream)
{
  return node != NULL && node->group == stream ? GEMEM_TREE_ENTRY (node, Piece, node) : NULL;
}

static guint64
end_of (const Piece *piece)
{
  return piece->node.address + piece->size;
}

/* The first piece of @stream that overlaps [@address, @end), or NULL. */
static Piece *
first_in (const GememReleaseOrder *order, guint stream, guint64 address, guint64 end)
{
  GememTreeNode *node = gemem_tree_lower_bound (&order->pieces, stream, 0, address);
  Piece *before = piece_of (gemem_tree_before (&order->pieces, stream, 0, address), stream);
  Piece *piece = before != NULL && end_of (before) > address ? before : piece_of (node, stream);

  return piece != NULL && piece->node.address < end ? piece : NULL;
}

static Piece *
next_in (const Piece *piece, guint64 end)
{
  Piece *next = piece_of (gemem_tree_next (&piece->node), (guint) piece->node.group);

  return next != NULL && next->node.address < end ? next : NULL;
}

static void
add_piece (GememReleaseOrder *order, guint64 address, guint64 size, const Piece *like)
{
  Piece *piece = gemem_slab_alloc (&order->slab);

  *piece = *like;
  piece->node.address = address;
  piece->size = size;
  gemem_tree_insert (&order->pieces, &piece->node);
}

static void
drop_piece (GememReleaseOrder *order, Piece *piece)
{
  gemem_tree_remove (&order->pieces, &piece->node);
  gemem_slab_free (&order->slab, piece);
}

/* Drops the pieces of @stream in [@address, @end). */
static void
cut_out (GememReleaseOrder *order, guint stream, guint64 address, guint64 end)
{
  Piece *piece;

  while ((piece = first_in (order, stream, address, end)) != NULL)
    {
      if (end_of (piece) > end)
        add_piece (order, end, end_of (piece) - end, piece);
      if (piece->node.address < address)
        piece->size = address - piece->node.address;
      else
        drop_piece (order, piece);
    }
}

/* Work of @stream at @tick uses [@address, +@size).  Live pieces there are left alone: their work
 * lasts until the free. */
static void
put (GememReleaseOrder *order, guint stream, guint64 address, guint64 size, guint64 id,
     guint64 tick, gboolean live)
{
  const guint64 end = address + size;
  const Piece like = { .node.group = stream, .id = id, .tick = tick, .live = live };

  if (size == 0 || end < address)
    return;
  for (const Piece *piece = first_in (order, stream, address, end); piece != NULL && !live;
       piece = next_in (piece, end))
    if (piece->live)
      return;
  cut_out (order, stream, address, end);
  add_piece (order, address, size, &like);
}

static GememStreamState *
queue_work (GememReleaseOrder *order, guint64 stream, guint64 tick)
{
  GememStreamState *state = gemem_stream_order_at (
      &order->streams, gemem_stream_order_index (&order->streams, stream));

  state->queued = tick;
  return state;
}

/* ---- blocks */

/* The work of @stream with block @id ends at @tick; pieces whose work is complete are dropped. */
static void
end_work (GememReleaseOrder *order, guint stream, const Known *known, guint64 id, guint64 tick)
{
  const guint64 end = known->address + known->size,
                done = gemem_stream_order_at (&order->streams, stream)->done;
  Piece *next;

  for (Piece *piece = first_in (order, stream, known->address, end); piece != NULL; piece = next)
    {
      next = next_in (piece, end);
      if (piece->id != id)
        continue;
      piece->live = FALSE;
      piece->tick = tick;
      if (tick <= done)
        drop_piece (order, piece);
    }
}

static void
release (GememReleaseOrder *order, guint64 id, Known *known)
{
  const guint stream = (guint) known->stream;

  if (known->last == 0)
    known->last = gemem_stream_order_at (&order->streams, stream)->queued;
  end_work (order, stream, known, id, known->last);
}

static void
free_block (GememReleaseOrder *order, guint64 id)
{
  Known known;

  if (gemem_idmap_remove (order->blocks, id, &known))
    release (order, id, &known);
}

/* No stream but its own uses block @id. */
static void
complete_block (GememReleaseOrder *order, guint64 id)
{
  const Known *known = gemem_idmap_lookup (order->blocks, id);

  for (guint stream = 0; known != NULL && stream < order->streams.streams->len; stream++)
    if (stream != known->stream)
      end_work (order, stream, known, id, 0);
  free_block (order, id);
}

static void
use_block (GememReleaseOrder *order, guint64 id, guint64 stream)
{
  const Known *known = gemem_idmap_lookup (order->blocks, id);
  const guint index = gemem_stream_order_index (&order->streams, stream);

  queue_work (order, stream, now (order));
  if (known != NULL && index != known->stream)
    put (order, index, known->address, known->size, id, now (order), FALSE);
}

/* @stream releases its reference to block @id: its work with the block ends with what is queued. */
static void
stream_free (GememReleaseOrder *order, guint64 id, guint64 stream)
{
  Known *known = gemem_idmap_lookup (order->blocks, id);
  const guint index = gemem_stream_order_index (&order->streams, stream);
  const guint64 queued = gemem_stream_order_at (&order->streams, index)->queued;

  if (known != NULL && index == known->stream)
    known->last = queued;
  else if (known != NULL)
    end_work (order, index, known, id, queued);
}

void
gemem_release_order_served (GememReleaseOrder *order, guint64 id, guint64 stream,
                            const GememBlock *block)
{
  gboolean existed;
  Known *known = gemem_idmap_insert (order->blocks, id, &existed);

  if (existed)
    return;
  *known = (Known){ block->address, block->size, gemem_stream_order_index (&order->streams, stream),
                    0 };
  queue_work (order, stream, now (order) + 1);
  put (order, (guint) known->stream, known->address, known->size, id, now (order) + 1, TRUE);
}

/* ---- graphs */

typedef struct
{
  GememReleaseOrder *order;
  guint stream;
  guint64 id;
} Work;

static void
put_work (const GememSpan *span, gpointer data)
{
  const Work *work = data;

  put (work->order, work->stream, span->address, span->size, work->id, now (work->order) + 1,
       FALSE);
}

/* Call after a GRAPH_RUN: the work of graph @id on @stream uses the memory that @allocator reports
 * (it has a graphs.walk). */
static void
ran_graph (GememReleaseOrder *order, guint64 id, guint64 stream, GememAllocator *allocator)
{
  Work work = { order, gemem_stream_order_index (&order->streams, stream),
                GEMEM_GRAPH_BLOCK_ID (id) };

  queue_work (order, stream, now (order) + 1);
  allocator->klass->graphs.walk (allocator, id, put_work, &work);
}

/* ---- device calls */

/* Memory was returned to the device: reports unfinished work on it. */
static void
returned (GememReleaseOrder *order, const GememDeviceNote *note)
{
  const guint64 end = note->address + note->size;

  for (guint stream = 0; stream < order->streams.streams->len; stream++)
    {
      const GememStreamState *state = gemem_stream_order_at (&order->streams, stream);
      for (const Piece *piece = first_in (order, stream, note->address, end);
           piece != NULL && !order->violated; piece = next_in (piece, end))
        if (piece->live || piece->tick > state->done)
          {
            order->violated = TRUE;
            order->first = (Violation){ note->call, order->seq,    note->address,
                                        note->size, state->stream, *piece };
          }
      cut_out (order, stream, note->address, end);
    }
}

static void
observe (gpointer data, const GememDeviceNote *note)
{
  GememReleaseOrder *order = data;
  GememStreamOrder *streams = &order->streams;

  if (!note->ok)
    return;
  if ((order->device->waits >> note->call & 1) != 0)
    gemem_stream_order_complete_all (streams, now (order));
  switch (note->call)
    {
    case GEMEM_CALL_FREE:
    case GEMEM_CALL_UNMAP:
    case GEMEM_CALL_RELEASE:
      returned (order, note);
      break;
    case GEMEM_CALL_STREAM_SYNC:
      gemem_stream_order_complete (streams, gemem_stream_order_index (streams, note->stream),
                                   now (order));
      break;
    case GEMEM_CALL_DEVICE_SYNC:
      gemem_stream_order_complete_all (streams, now (order));
      break;
    case GEMEM_CALL_EVENT_RECORD:
      gemem_stream_order_record (streams, &streams->of_device, note->event,
                                 gemem_stream_order_index (streams, note->stream), now (order),
                                 FALSE);
      break;
    case GEMEM_CALL_EVENT_QUERY:
    case GEMEM_CALL_EVENT_SYNC:
      gemem_stream_order_reached (streams, &streams->of_device, note->event);
      break;
    case GEMEM_CALL_MEMSET:
      queue_work (order, note->stream, now (order));
      put (order, gemem_stream_order_index (streams, note->stream), note->address, note->size,
           order->set_id, now (order), FALSE);
      break;
    default:
      break;
    }
}

/* ---- events of the trace */

void
gemem_release_order_before (GememReleaseOrder *order, const GememTraceEvent *event, guint64 seq)
{
  GememStreamOrder *streams = &order->streams;

  order->seq = seq;
  order->set_id = event->kind == GEMEM_EVENT_MEMSET ? event->id : NO_BLOCK;
  switch (event->kind)
    {
    case GEMEM_EVENT_FREE:
      free_block (order, event->id);
      break;
    case GEMEM_EVENT_FREE_REQUESTED:
      {
        Known *known = gemem_idmap_lookup (order->blocks, event->id);
        if (known != NULL)
          release (order, event->id, known);
        break;
      }
    case GEMEM_EVENT_FREE_COMPLETED:
      complete_block (order, event->id);
      break;
    case GEMEM_EVENT_USE_ON_STREAM:
      use_block (order, event->id, event->stream);
      break;
    case GEMEM_EVENT_STREAM_FREE:
      stream_free (order, event->id, event->stream);
      break;
    case GEMEM_EVENT_EVENT_RECORD:
      gemem_stream_order_record (streams, &streams->traced, event->id,
                                 gemem_stream_order_index (streams, event->stream), now (order),
                                 TRUE);
      break;
    case GEMEM_EVENT_EVENT_WAIT:
      gemem_stream_order_wait (streams, &streams->traced, event->id,
                               gemem_stream_order_index (streams, event->stream), now (order));
      break;
    case GEMEM_EVENT_GRAPH_RUN:
      use_block (order, GEMEM_GRAPH_BLOCK_ID (event->id), event->stream);
      break;
    case GEMEM_EVENT_GRAPH_RUN_END:
      gemem_stream_order_complete (streams, gemem_stream_order_index (streams, event->stream),
                                   now (order));
      break;
    case GEMEM_EVENT_GRAPH_UNLOAD:
      free_block (order, GEMEM_GRAPH_BLOCK_ID (event->id));
      break;
    default:
      break;
    }
}

void
gemem_release_order_release_all (GememReleaseOrder *order, guint64 seq, gboolean idle)
{
  gsize position = 0;
  gpointer known;
  guint64 id;

  order->seq = seq;
  while (gemem_idmap_next (order->blocks, &position, &id, &known))
    release (order, id, known);
  gemem_idmap_clear (order->blocks);
  if (idle)
    gemem_stream_order_complete_all (&order->streams, now (order));
}

/* ---- creation and check */

GememReleaseOrder *
gemem_release_order_new (GememDevice *device)
{
  GememReleaseOrder *order = g_new0 (GememReleaseOrder, 1);

  order->device = device;
  order->set_id = NO_BLOCK;
  order->blocks = gemem_idmap_new (sizeof (Known));
  gemem_slab_init (&order->slab, sizeof (Piece));
  gemem_stream_order_init (&order->streams);
  order->observer = (GememDeviceObserver){ .func = observe, .data = order };
  gemem_device_add_observer (device, &order->observer);
  return order;
}

void
gemem_release_order_free (GememReleaseOrder *order)
{
  if (order == NULL)
    return;
  gemem_device_remove_observer (order->device, &order->observer);
  gemem_stream_order_clear (&order->streams);
  gemem_tree_clear (&order->pieces);
  gemem_slab_clear (&order->slab);
  gemem_idmap_free (order->blocks);
  g_free (order);
}

gboolean
gemem_release_order_check (const GememReleaseOrder *order, GError **error)
{
  const Violation *v = &order->first;
  const Piece *piece = &v->piece;
  g_autofree char *user = NULL, *work = NULL;
  char name[GEMEM_FORMAT_MAX];

  if (!order->violated)
    return TRUE;
  if (piece->id == NO_BLOCK)
    user = g_strdup ("memory that the allocator sets");
  else if ((piece->id & GRAPH_BIT) != 0)
    user = g_strdup_printf ("graph %" G_GUINT64_FORMAT, piece->id & ~GRAPH_BIT);
  else
    user = g_strdup (gemem_block_text (name, piece->id));
  if (piece->live)
    work = g_strdup_printf ("%s of stream %" G_GUINT64_FORMAT " is alive there", user, v->stream);
  else
    work = g_strdup_printf (
        "stream %" G_GUINT64_FORMAT
        " has unfinished work there with %s, queued at event %" G_GUINT64_FORMAT,
        v->stream, user, (piece->tick - 1) / 2);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "event %" G_GUINT64_FORMAT ": %s of 0x%" G_GINT64_MODIFIER "x (%" G_GUINT64_FORMAT
               " bytes) while %s, at 0x%" G_GINT64_MODIFIER
               "x; %s before its memory goes back to the device",
               v->seq, gemem_device_call_name (v->call), v->address, v->size, work,
               piece->node.address,
               piece->live ? "let the program free it" : "synchronise the stream");
  return FALSE;
}

/* ---- the probe */

typedef struct
{
  GememProbe probe;
  GememReleaseOrder *order;
} OrderProbe;

static gboolean
wanted (const GememRun *run)
{
  return run->job->release_order;
}

static gboolean
attach (GememProbe *probe, GememRun *run, GError **error)
{
  (void) error;
  ((OrderProbe *) probe)->order = gemem_release_order_new (run->device);
  return TRUE;
}

static void
before (GememProbe *probe, GememRun *run, const GememTraceEvent *event)
{
  gemem_release_order_before (((OrderProbe *) probe)->order, event, run->seq);
}

static gboolean
finish (GememProbe *probe, GememRun *run, GError **error)
{
  if (gemem_release_order_check (((OrderProbe *) probe)->order, error))
    return TRUE;
  g_prefix_error (error, "%s: allocator %s: ", run->name, run->klass->name);
  return FALSE;
}

static gboolean
after (GememProbe *probe, GememRun *run, const GememTraceEvent *event, GError **error)
{
  GememReleaseOrder *order = ((OrderProbe *) probe)->order;
  const gboolean load = event->kind == GEMEM_EVENT_GRAPH_LOAD
                        || event->kind == GEMEM_EVENT_GRAPH_SEGMENT;
  const guint64 id = load ? GEMEM_GRAPH_BLOCK_ID (event->id) : event->id;
  const GememLive *live = NULL;

  if (event->kind == GEMEM_EVENT_GRAPH_RUN && run->klass->graphs.walk != NULL)
    ran_graph (order, event->id, event->stream, run->allocator);
  if (load || event->kind == GEMEM_EVENT_ALLOC)
    live = gemem_live_find (&run->live, id);
  if (live != NULL && live->flags == 0)
    gemem_release_order_served (order, id, load ? run->graphs.load.stream : event->stream,
                                &live->block);
  return finish (probe, run, error);
}

/* The program releases everything, and waits for the device before the next epoch. */
static void
next_epoch (GememProbe *probe, GememRun *run)
{
  gemem_release_order_release_all (((OrderProbe *) probe)->order, run->seq, TRUE);
}

/* At the end the program releases everything and waits for the device before memory is returned. */
static void
shut_down (GememProbe *probe, GememRun *run)
{
  gemem_release_order_release_all (((OrderProbe *) probe)->order, run->seq, FALSE);
}

static void
clear (GememProbe *probe, GememRun *run)
{
  (void) run;
  gemem_release_order_free (((OrderProbe *) probe)->order);
}

const GememProbeClass gemem_release_order_probe = { .size = sizeof (OrderProbe),
                                                    .wanted = wanted,
                                                    .attach = attach,
                                                    .before = before,
                                                    .after = after,
                                                    .next_epoch = next_epoch,
                                                    .shut_down = shut_down,
                                                    .finish = finish,
                                                    .clear = clear };
