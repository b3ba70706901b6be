/* requests.c - events of a journal whose program has an allocator that recorded its own
 * requests (JournalHeader.library) above the calls.
 *
 * The requests become the blocks of the trace.  Calls that were made to serve one become the
 * segments of that allocator, as in other recordings of allocators.  A refused call says nothing by
 * itself, because the allocator may have tried again; a request that fails is out of memory,
 * also where no call was refused: then a limit of the allocator was reached, and it is counted.  If a
 * segment goes while no request is served, the program told the allocator to return what is idle
 * (TRIM).  Other blocks of the device (libraries, what the program took beside the allocator) are
 * left out, unless a request gets a part of one; refusals of them stay.
 *
 * state.c converts each call first, as if nothing were above it; what it appended is sorted
 * here.  Invariants and memory: those of state.c, and a number per segment and block left out.
 */
#include "config.h"

#include "base/tree.h"
#include "traces/journal/journal-private.h"

struct _JournalRequests
{
  GememIdMap *blocks;   /* address -> JournalLive, of requests */
  GememIdMap *segments; /* id -> Segment */
  GememIdMap
      *left; /* id -> Left*, of blocks of the device that are left out; NULL: without address */
  GememTree by_address; /* of these */
  GememSlab left_slab;
  GArray *sorted;
  GememIdMap *refused; /* thread whose request the device refused -> guint64 its free bytes */
  guint64 left_out, limited;
  gboolean trimming; /* the last event was a segment that went without a request */
};

typedef struct
{
  guint64 address, size, stream;
} Segment;

typedef struct
{
  GememTreeNode node; /* group: the address, size: the id */
  Segment segment;
} Left;

JournalRequests *
gemem_journal_requests_new (void)
{
  JournalRequests *self = g_new0 (JournalRequests, 1);

  self->blocks = gemem_idmap_new (sizeof (JournalLive));
  self->segments = gemem_idmap_new (sizeof (Segment));
  self->left = gemem_idmap_new (sizeof (Left *));
  gemem_slab_init (&self->left_slab, sizeof (Left));
  self->refused = gemem_idmap_new (sizeof (guint64));
  self->sorted = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  return self;
}

void
gemem_journal_requests_free (JournalRequests *self)
{
  if (self == NULL)
    return;
  gemem_idmap_free (self->blocks);
  gemem_idmap_free (self->segments);
  gemem_idmap_free (self->left);
  gemem_tree_clear (&self->by_address);
  gemem_slab_clear (&self->left_slab);
  gemem_idmap_free (self->refused);
  g_array_unref (self->sorted);
  g_free (self);
}

/* ---- blocks of the device beside the allocator */

static void
add_left (JournalRequests *self, guint64 id, const Segment *segment)
{
  Left *left = NULL;

  if (segment->address != 0) /* else it has none, or it is not known (arrays, physical memory) */
    {
      left = gemem_slab_alloc (&self->left_slab);
      left->node = (GememTreeNode){ .group = segment->address, .size = id };
      left->segment = *segment;
      gemem_tree_insert (&self->by_address, &left->node);
    }
  *(Left **) gemem_idmap_insert (self->left, id, NULL) = left;
  self->left_out++;
}

static gboolean
remove_left (JournalRequests *self, guint64 id)
{
  Left *left;

  if (!gemem_idmap_remove (self->left, id, &left))
    return FALSE;
  if (left != NULL)
    {
      gemem_tree_remove (&self->by_address, &left->node);
      gemem_slab_free (&self->left_slab, left);
    }
  return TRUE;
}

/* A block that was obtained without a request, as a pool's first, is a segment once a request at
 * @address gets a part of it: appends that to @events, as part of what @made says. */
static void
promote (JournalRequests *self, guint64 address, const GememTraceEvent *made, GArray *events)
{
  const GememTreeNode *node = gemem_tree_before (&self->by_address, address, G_MAXUINT64,
                                                 G_MAXUINT64);

  if (node == NULL)
    return;
  const guint64 id = node->size;
  const Segment segment = GEMEM_TREE_ENTRY (node, const Left, node)->segment;
  if (address - segment.address >= segment.size)
    return;
  remove_left (self, id);
  self->left_out--;
  *(Segment *) gemem_idmap_insert (self->segments, id, NULL) = segment;
  GememTraceEvent event = { .kind = GEMEM_EVENT_SEGMENT_ALLOC,
                            .time = made->time,
                            .device = made->device,
                            .stack = made->stack,
                            .address = segment.address,
                            .size = segment.size,
                            .stream = segment.stream };
  g_array_append_val (events, event);
}

/* ---- requests */

gboolean
gemem_journal_requests_take (JournalRequests *self, const JournalRecord *record,
                             const GememTraceEvent *made, GArray *events)
{
  GememTraceEvent event = *made;
  gboolean existed;
  guint64 free = record->s;
  const gboolean by_device = gemem_idmap_remove (self->refused, record->thread, &free);

  self->trimming = FALSE;
  event.size = record->q;
  event.aux = record->p != 0 ? record->s : free;
  if (record->p == 0)
    {
      self->limited += !by_device;
      event.kind = GEMEM_EVENT_OOM;
      g_array_append_val (events, event);
      return FALSE;
    }
  promote (self, record->p, made, events);
  JournalLive *block = gemem_idmap_insert (self->blocks, record->p, &existed);
  if (existed)
    {
      const GememTraceEvent end = { .kind = GEMEM_EVENT_FREE,
                                    .time = made->time,
                                    .device = (guint16) block->device,
                                    .id = block->id };
      g_array_append_val (events, end);
    }
  *block = (JournalLive){ .id = event.id, .device = record->device };
  event.kind = GEMEM_EVENT_ALLOC;
  event.address = record->p;
  g_array_append_val (events, event);
  return existed;
}

gboolean
gemem_journal_requests_drop (JournalRequests *self, const JournalRecord *record,
                             const GememTraceEvent *made, GArray *events)
{
  GememTraceEvent event = *made;
  JournalLive block;

  self->trimming = FALSE;
  if (!gemem_idmap_remove (self->blocks, record->p, &block))
    return FALSE;
  event.kind = GEMEM_EVENT_FREE;
  event.id = block.id;
  event.device = (guint16) block.device;
  g_array_append_val (events, event);
  return TRUE;
}

/* ---- calls */

static void
keep (JournalRequests *self, const GememTraceEvent *event)
{
  g_array_append_val (self->sorted, *event);
}

static void
keep_segment (JournalRequests *self, const GememTraceEvent *event, GememEventKind kind,
              const Segment *segment)
{
  GememTraceEvent kept = { .kind = (guint8) kind,
                           .time = event->time,
                           .device = event->device,
                           .stack = event->stack,
                           .address = segment->address,
                           .size = segment->size,
                           .stream = segment->stream };
  keep (self, &kept);
}

static void
take_block (JournalRequests *self, const GememTraceEvent *event, gboolean below)
{
  if (below)
    {
      Segment *segment = gemem_idmap_insert (self->segments, event->id, NULL);
      *segment = (Segment){ event->address, event->size, event->stream };
      keep_segment (self, event, GEMEM_EVENT_SEGMENT_ALLOC, segment);
    }
  else
    add_left (self, event->id, &(Segment){ event->address, event->size, event->stream });
}

static void
take_free (JournalRequests *self, const GememTraceEvent *event, gboolean below)
{
  Segment segment;

  if (gemem_idmap_remove (self->segments, event->id, &segment))
    {
      if (!below && !self->trimming)
        {
          const GememTraceEvent trim = { .kind = GEMEM_EVENT_TRIM,
                                         .time = event->time,
                                         .device = event->device,
                                         .stack = event->stack };
          keep (self, &trim);
        }
      self->trimming = !below;
      keep_segment (self, event, GEMEM_EVENT_SEGMENT_FREE, &segment);
    }
  else if (!remove_left (self, event->id))
    keep (self, event); /* of the host */
}

void
gemem_journal_requests_sort (JournalRequests *self, const JournalRecord *record, GArray *events,
                             guint first)
{
  const gboolean below = record->below != 0;

  if (record->call == JOURNAL_REQUEST || record->call == JOURNAL_REQUEST_END)
    return;
  g_array_set_size (self->sorted, 0);
  for (guint i = first; i < events->len; i++)
    {
      const GememTraceEvent *event = &g_array_index (events, GememTraceEvent, i);
      const gboolean known = gemem_idmap_lookup (self->segments, event->id) != NULL
                             || gemem_idmap_lookup (self->left, event->id) != NULL;
      if (event->kind == GEMEM_EVENT_ALLOC && event->device != GEMEM_DEVICE_HOST)
        take_block (self, event, below);
      else if (event->kind == GEMEM_EVENT_FREE)
        take_free (self, event, below);
      else if (event->kind == GEMEM_EVENT_OOM && below)
        *(guint64 *) gemem_idmap_insert (self->refused, record->thread, NULL) = event->aux;
      else if (event->kind != GEMEM_EVENT_USE_ON_STREAM || !known)
        keep (self, event);
    }
  g_array_set_size (events, first);
  g_array_append_vals (events, self->sorted->data, self->sorted->len);
}

void
gemem_journal_requests_end (const JournalRequests *self, GememTraceInfo *info)
{
  if (self->left_out > 0)
    gemem_trace_info_note (info, "note",
                           "%" G_GUINT64_FORMAT
                           " allocations of device memory beside this allocator are left out",
                           self->left_out);
  if (self->limited > 0)
    gemem_trace_info_note (info, "note",
                           "%" G_GUINT64_FORMAT " request%s refused by the program's allocator "
                           "(its own limit), not by the device",
                           self->limited, self->limited == 1 ? " was" : "s were");
}
