/* validate.c - see validate.h.
 *
 * State: one record per live block (found by id) and, when addresses are recorded, a tree of live
 * address ranges and one of recorded segments per device.  Every event costs O(log live).
 */
#include "config.h"

#include "base/idset.h"
#include "base/slab.h"
#include "base/tree.h"
#include "traces/validate.h"

/* A range of addresses: a live block, or a recorded segment.  Key: (device, start, serial). */
typedef struct
{
  GememTreeNode node;
  guint64 end;
  guint64 id;
} Range;

typedef struct
{
  Range *range;      /* NULL: no recorded address */
  guint64 requested; /* seq + 1 of FREE_REQUESTED; 0: none */
  guint64 seq;
} LiveBlock;

typedef struct
{
  const char *name; /* for messages */
  guint32 flags;
  GPtrArray *findings; /* by kind; NULL where there is none */
  GememIdMap *live;    /* id -> LiveBlock */
  GememTree blocks, segments;
  GememSlab ranges;
  guint64 serial;
  GArray *last_time;         /* guint64, by device */
  GememIdMap *graphs;        /* graph -> guint64: 1 while it runs */
  GememTraceEvent load;      /* GRAPH_LOAD of the graph whose segments follow */
  GememIdSet recorded;       /* stream events */
  GememIdMap *begun;         /* private pools whose memory can sleep, until their end */
  GememIdMap *works;         /* pending work with an id */
  GHashTable *names;         /* of these pools, owned */
  guint64 missing, load_end; /* segments still expected, end of those seen */
  gboolean initial;          /* an event of the initial state was seen */
} Pass;

static const struct
{
  const char *name;
  gboolean error;
} kinds[GEMEM_FINDING_COUNT] = {
  [GEMEM_FINDING_ORPHAN_FREE] = { "orphan free", TRUE },
  [GEMEM_FINDING_DOUBLE_ALLOC] = { "double alloc", TRUE },
  [GEMEM_FINDING_DOUBLE_FREE] = { "double free", TRUE },
  [GEMEM_FINDING_OVERLAP] = { "overlap", TRUE },
  [GEMEM_FINDING_OUTSIDE_SEGMENT] = { "outside segment", TRUE },
  [GEMEM_FINDING_TIME_BACKWARDS] = { "time backwards", TRUE },
  [GEMEM_FINDING_ZERO_SIZE] = { "zero size", FALSE },
  [GEMEM_FINDING_HUGE_SIZE] = { "huge size", TRUE },
  [GEMEM_FINDING_NEVER_FREED] = { "never freed", FALSE },
  [GEMEM_FINDING_INITIAL_STATE] = { "initial state", FALSE },
  [GEMEM_FINDING_AMBIGUOUS] = { "inferred", FALSE },
  [GEMEM_FINDING_OVERFLOW] = { "missing start", TRUE },
  [GEMEM_FINDING_GRAPH] = { "graph fault", TRUE },
  [GEMEM_FINDING_EVENT] = { "event fault", TRUE },
  [GEMEM_FINDING_TRUNCATED] = { "truncated", TRUE },
};

const char *
gemem_finding_name (GememFindingKind kind)
{
  return kinds[kind].name;
}

static void
finding_free (gpointer data)
{
  GememFinding *finding = data;
  if (finding == NULL)
    return;
  g_free (finding->text);
  g_free (finding);
}

static void find (Pass *pass, GememFindingKind kind, guint64 seq, const char *format, ...)
    G_GNUC_PRINTF (4, 5);

/* Counts a finding of @kind; the first finding keeps its text. */
static void
find (Pass *pass, GememFindingKind kind, guint64 seq, const char *format, ...)
{
  GememFinding *finding = pass->findings->pdata[kind];
  if (finding == NULL)
    {
      va_list arguments;
      finding = g_new0 (GememFinding, 1);
      *finding = (GememFinding){ .kind = kind, .error = kinds[kind].error, .seq = seq };
      va_start (arguments, format);
      finding->text = g_strdup_vprintf (format, arguments);
      va_end (arguments);
      pass->findings->pdata[kind] = finding;
    }
  finding->count++;
}

static Range *
range_insert (Pass *pass, GememTree *tree, guint64 device, guint64 start, guint64 end, guint64 id)
{
  Range *range = gemem_slab_alloc (&pass->ranges);
  range->node.group = device;
  range->node.size = start;
  range->node.address = ++pass->serial;
  range->end = end;
  range->id = id;
  gemem_tree_insert (tree, &range->node);
  return range;
}

static void
range_remove (Pass *pass, GememTree *tree, Range *range)
{
  gemem_tree_remove (tree, &range->node);
  gemem_slab_free (&pass->ranges, range);
}

/* The first range of @device that ends after @start and begins before @end, or NULL. */
static Range *
range_touching (GememTree *tree, guint64 device, guint64 start, guint64 end)
{
  GememTreeNode *node = gemem_tree_lower_bound (tree, device, start, 0);
  GememTreeNode *before = gemem_tree_before (tree, device, start, 0);
  if (before != NULL && before->group == device
      && GEMEM_TREE_ENTRY (before, Range, node)->end > start)
    return GEMEM_TREE_ENTRY (before, Range, node);
  if (node != NULL && node->group == device && node->size < end)
    return GEMEM_TREE_ENTRY (node, Range, node);
  return NULL;
}

/* TRUE if segments of @device cover [@start, @end) without a gap. */
static gboolean
covered (GememTree *segments, guint64 device, guint64 start, guint64 end)
{
  while (start < end)
    {
      Range *segment = range_touching (segments, device, start, start + 1);
      if (segment == NULL)
        return FALSE;
      start = segment->end;
    }
  return TRUE;
}

static void
cut_segments (Pass *pass, guint64 device, guint64 start, guint64 end)
{
  Range *segment;
  while ((segment = range_touching (&pass->segments, device, start, end)) != NULL)
    {
      guint64 old_start = segment->node.size, old_end = segment->end;
      range_remove (pass, &pass->segments, segment);
      if (old_start < start)
        range_insert (pass, &pass->segments, device, old_start, start, 0);
      if (old_end > end)
        range_insert (pass, &pass->segments, device, end, old_end, 0);
    }
}

static void
check_address (Pass *pass, const GememTraceEvent *event, guint64 seq, LiveBlock *block)
{
  guint64 end;
  if (event->address == 0
      || __builtin_add_overflow (event->address, MAX (event->aux, event->size), &end)
      || end == event->address)
    return;
  Range *other = range_touching (&pass->blocks, event->device, event->address, end);
  if (other != NULL)
    find (pass, GEMEM_FINDING_OVERLAP, seq,
          "block %" G_GUINT64_FORMAT " at 0x%" G_GINT64_MODIFIER
          "x overlaps live block %" G_GUINT64_FORMAT " at 0x%" G_GINT64_MODIFIER
          "x; frees are missing, or two recordings were mixed",
          event->id, event->address, other->id, other->node.size);
  if ((pass->flags & GEMEM_TRACE_HAS_SEGMENTS) != 0
      && !covered (&pass->segments, event->device, event->address, end))
    find (pass, GEMEM_FINDING_OUTSIDE_SEGMENT, seq,
          "block %" G_GUINT64_FORMAT " at 0x%" G_GINT64_MODIFIER
          "x lies in no recorded segment; segment events are missing",
          event->id, event->address);
  block->range = range_insert (pass, &pass->blocks, event->device, event->address, end, event->id);
}

static void
forget (Pass *pass, guint64 id)
{
  LiveBlock block;
  if (gemem_idmap_remove (pass->live, id, &block) && block.range != NULL)
    range_remove (pass, &pass->blocks, block.range);
}

static void
on_alloc (Pass *pass, const GememTraceEvent *event, guint64 seq)
{
  gboolean existed;
  if (event->size == 0)
    find (pass, GEMEM_FINDING_ZERO_SIZE, seq,
          "block %" G_GUINT64_FORMAT
          " has 0 bytes; such a request is skipped, but PaddlePaddle until 1.5 gives a block",
          event->id);
  if (event->size >= G_GUINT64_CONSTANT (1) << 60)
    find (pass, GEMEM_FINDING_HUGE_SIZE, seq,
          "block %" G_GUINT64_FORMAT " has %" G_GUINT64_FORMAT
          " bytes; a negative size written as unsigned?",
          event->id, event->size);
  if (event->flags & GEMEM_EVENT_AMBIGUOUS)
    find (pass, GEMEM_FINDING_AMBIGUOUS, seq,
          "size or place of block %" G_GUINT64_FORMAT
          " from before the recording was inferred; exact addresses may differ",
          event->id);
  if (event->flags & GEMEM_EVENT_INITIAL)
    find (pass, GEMEM_FINDING_INITIAL_STATE, seq,
          "blocks were alive before the recording began; they are replayed first");
  if (event->flags & GEMEM_EVENT_FAILED)
    return;
  if (gemem_idmap_lookup (pass->live, event->id) != NULL)
    {
      find (pass, GEMEM_FINDING_DOUBLE_ALLOC, seq,
            "block %" G_GUINT64_FORMAT " is allocated again while alive; its free is missing",
            event->id);
      forget (pass, event->id);
    }
  LiveBlock block = { .seq = seq };
  check_address (pass, event, seq, &block);
  *(LiveBlock *) gemem_idmap_insert (pass->live, event->id, &existed) = block;
}

static void
on_free (Pass *pass, const GememTraceEvent *event, guint64 seq)
{
  LiveBlock *block = gemem_idmap_lookup (pass->live, event->id);
  if (event->flags & GEMEM_EVENT_FAILED)
    return;
  if (block == NULL)
    {
      find (
          pass, GEMEM_FINDING_ORPHAN_FREE, seq,
          "block %" G_GUINT64_FORMAT
          " is freed but was not alive; the start is missing, or the recorder's buffer overflowed",
          event->id);
      return;
    }
  if (event->kind == GEMEM_EVENT_FREE_REQUESTED)
    {
      if (block->requested != 0)
        find (pass, GEMEM_FINDING_DOUBLE_FREE, seq,
              "the free of block %" G_GUINT64_FORMAT
              " was requested before, at event %" G_GUINT64_FORMAT,
              event->id, block->requested - 1);
      block->requested = seq + 1;
      return;
    }
  forget (pass, event->id);
}

/* ---- graphs */

/* The state kept for a loaded graph: its device, and whether it runs. */
static guint64
graph_state (guint16 device, gboolean running)
{
  return (guint64) device << 1 | (running ? 1 : 0);
}

static void
on_load (Pass *pass, const GememTraceEvent *event, guint64 seq)
{
  gboolean existed;

  *(guint64 *) gemem_idmap_insert (pass->graphs, event->id, &existed) = graph_state (event->device,
                                                                                     FALSE);
  if (existed)
    find (pass, GEMEM_FINDING_GRAPH, seq,
          "graph %" G_GUINT64_FORMAT " is loaded again while loaded; its unload is missing",
          event->id);
  pass->load = *event;
  pass->missing = event->aux;
  pass->load_end = 0;
}

static void
on_graph_segment (Pass *pass, const GememTraceEvent *event, guint64 seq)
{
  guint64 end;

  if (pass->missing == 0 || event->id != pass->load.id || event->device != pass->load.device)
    {
      find (pass, GEMEM_FINDING_GRAPH, seq,
            "a segment of graph %" G_GUINT64_FORMAT " does not follow its load", event->id);
      return;
    }
  pass->missing--;
  if (event->address < pass->load_end)
    find (pass, GEMEM_FINDING_GRAPH, seq,
          "the segment of graph %" G_GUINT64_FORMAT " at offset %" G_GUINT64_FORMAT
          " overlaps or precedes the one before it; sort them by offset",
          event->id, event->address);
  if (__builtin_add_overflow (event->address, event->size, &end)
      || (end > pass->load.size && (event->aux & GEMEM_GRAPH_SEGMENT_NO_ALLOC) == 0))
    find (pass, GEMEM_FINDING_GRAPH, seq,
          "the segment of graph %" G_GUINT64_FORMAT " at offset %" G_GUINT64_FORMAT
          " does not fit the graph's static memory of %" G_GUINT64_FORMAT " bytes",
          event->id, event->address, pass->load.size);
  else
    pass->load_end = end;
}

static void
on_run (Pass *pass, const GememTraceEvent *event, guint64 seq)
{
  guint64 *state = gemem_idmap_lookup (pass->graphs, event->id);

  if (state == NULL || *state >> 1 != event->device)
    find (pass, GEMEM_FINDING_GRAPH, seq,
          "graph %" G_GUINT64_FORMAT " is run but not loaded on device %u; its load is missing",
          event->id, event->device);
  else if (event->kind == GEMEM_EVENT_GRAPH_RUN_END && (*state & 1) == 0)
    find (pass, GEMEM_FINDING_GRAPH, seq,
          "a run of graph %" G_GUINT64_FORMAT " ends that did not begin", event->id);
  else if (event->kind == GEMEM_EVENT_GRAPH_RUN && event->aux > GEMEM_GRAPH_MEMSETS_MAX)
    find (pass, GEMEM_FINDING_GRAPH, seq,
          "a run of graph %" G_GUINT64_FORMAT " has %" G_GUINT64_FORMAT
          " memsets; at most %d are possible",
          event->id, event->aux, GEMEM_GRAPH_MEMSETS_MAX);
  else
    *state = graph_state (event->device, event->kind == GEMEM_EVENT_GRAPH_RUN);
}

static void
on_graph (Pass *pass, const GememTraceEvent *event, guint64 seq)
{
  if (event->kind == GEMEM_EVENT_GRAPH_SEGMENT)
    {
      on_graph_segment (pass, event, seq);
      return;
    }
  if (pass->missing > 0)
    find (pass, GEMEM_FINDING_GRAPH, seq,
          "the load of graph %" G_GUINT64_FORMAT " lacks %" G_GUINT64_FORMAT " of its segments",
          pass->load.id, pass->missing);
  pass->missing = 0;
  if (event->kind == GEMEM_EVENT_GRAPH_LOAD)
    on_load (pass, event, seq);
  else if (event->kind != GEMEM_EVENT_GRAPH_UNLOAD)
    on_run (pass, event, seq);
  else if (!gemem_idmap_remove (pass->graphs, event->id, NULL))
    find (pass, GEMEM_FINDING_GRAPH, seq,
          "graph %" G_GUINT64_FORMAT " is unloaded but not loaded; was it unloaded twice?",
          event->id);
}

static void
on_wait (Pass *pass, const GememTraceEvent *event, guint64 seq)
{
  if ((pass->flags & GEMEM_TRACE_STARTS_IN_MIDDLE) == 0
      && !gemem_idset_contains (&pass->recorded, event->id))
    find (pass, GEMEM_FINDING_EVENT, seq,
          "stream %" G_GUINT64_FORMAT " waits for event %" G_GUINT64_FORMAT
          ", which was never recorded; its record is missing",
          event->stream, event->id);
}

/* Work that pends: it ends once, and a trace that has it says so. */
static void
on_work (Pass *pass, const GememTraceEvent *event, guint64 seq)
{
  const gboolean begins = event->kind == GEMEM_EVENT_WORK;
  gboolean existed = FALSE;

  if (event->id == 0 && begins)
    return;
  if (begins)
    gemem_idmap_insert (pass->works, event->id, &existed);
  if (existed)
    find (pass, GEMEM_FINDING_EVENT, seq,
          "work %" G_GUINT64_FORMAT " begins while it is pending; give it another id", event->id);
  if (!begins && !gemem_idmap_remove (pass->works, event->id, NULL)
      && (pass->flags & GEMEM_TRACE_STARTS_IN_MIDDLE) == 0)
    find (pass, GEMEM_FINDING_EVENT, seq,
          "work %" G_GUINT64_FORMAT " is done, which was not pending; its beginning is missing",
          event->id);
}

/* Memory that sleeps: every pool has a number and a name, and what is named was begun. */
static void
on_sleep (Pass *pass, const GememTraceInfo *info, const GememTraceEvent *event, guint64 seq)
{
  g_auto (GStrv) names = g_strsplit (g_ptr_array_index (info->strings, event->tag), ",", -1);
  gboolean existed;

  if (event->kind == GEMEM_EVENT_REGION_BEGIN || event->kind == GEMEM_EVENT_REGION_END)
    {
      if (event->pool == 0)
        find (pass, GEMEM_FINDING_EVENT, seq,
              "%s names no private pool; the default one cannot sleep",
              gemem_event_kind_name (event->kind));
      else if (event->kind == GEMEM_EVENT_REGION_BEGIN)
        {
          gemem_idmap_insert (pass->begun, event->pool, &existed);
          for (guint i = 0; names[i] != NULL; i++)
            g_hash_table_add (pass->names, g_strdup (names[i]));
          if (names[0] == NULL || names[1] != NULL)
            find (pass, GEMEM_FINDING_EVENT, seq,
                  "a pool that can sleep has one name, without comma");
        }
      else if (!gemem_idmap_remove (pass->begun, event->pool, NULL))
        find (pass, GEMEM_FINDING_EVENT, seq, "pool %u ends but has not begun", event->pool);
      return;
    }
  for (guint i = 0; names[i] != NULL; i++)
    if (*names[i] != '\0' && !g_hash_table_contains (pass->names, names[i]))
      find (pass, GEMEM_FINDING_EVENT, seq, "%s names '%s', which no pool is called",
            gemem_event_kind_name (event->kind), names[i]);
}

static void
check_time (Pass *pass, const GememTraceEvent *event, guint64 seq)
{
  if ((pass->flags & GEMEM_TRACE_HAS_TIME) == 0)
    return;
  if (pass->last_time->len <= event->device)
    g_array_set_size (pass->last_time, event->device + 1u);
  guint64 *last = &g_array_index (pass->last_time, guint64, event->device);
  if (event->time < *last)
    find (pass, GEMEM_FINDING_TIME_BACKWARDS, seq,
          "time %" G_GUINT64_FORMAT " ns comes after %" G_GUINT64_FORMAT
          " ns; sort the recording by time",
          event->time, *last);
  *last = event->time;
}

static void
on_event (Pass *pass, const GememTraceInfo *info, const GememTraceEvent *event, guint64 seq)
{
  guint64 end;
  check_time (pass, event, seq);
  pass->initial |= (event->flags & GEMEM_EVENT_INITIAL) != 0;
  switch (event->kind)
    {
    case GEMEM_EVENT_ALLOC:
      on_alloc (pass, event, seq);
      break;
    case GEMEM_EVENT_FREE:
    case GEMEM_EVENT_FREE_REQUESTED:
    case GEMEM_EVENT_FREE_COMPLETED:
      on_free (pass, event, seq);
      break;
    case GEMEM_EVENT_EVENT_RECORD:
      gemem_idset_add (&pass->recorded, event->id);
      break;
    case GEMEM_EVENT_EVENT_WAIT:
      on_wait (pass, event, seq);
      break;
    case GEMEM_EVENT_STREAM_SYNC:
      if (event->aux > 1 || (event->aux == 1 && (pass->flags & GEMEM_TRACE_HAS_ORDER) == 0))
        find (pass, GEMEM_FINDING_EVENT, seq,
              "stream-sync with aux=%" G_GUINT64_FORMAT "; it is 0, or 1 in a trace with has-order",
              event->aux);
      break;
    case GEMEM_EVENT_WORK:
    case GEMEM_EVENT_WORK_DONE:
      on_work (pass, event, seq);
      break;
    case GEMEM_EVENT_REGION_BEGIN:
    case GEMEM_EVENT_REGION_END:
    case GEMEM_EVENT_SLEEP:
    case GEMEM_EVENT_PAUSE:
    case GEMEM_EVENT_WAKE:
      on_sleep (pass, info, event, seq);
      break;
    case GEMEM_EVENT_GRAPH_LOAD:
    case GEMEM_EVENT_GRAPH_SEGMENT:
    case GEMEM_EVENT_GRAPH_RUN:
    case GEMEM_EVENT_GRAPH_RUN_END:
    case GEMEM_EVENT_GRAPH_UNLOAD:
      on_graph (pass, event, seq);
      break;
    case GEMEM_EVENT_SEGMENT_ALLOC:
    case GEMEM_EVENT_SEGMENT_MAP:
      if (!__builtin_add_overflow (event->address, event->size, &end) && event->size > 0)
        range_insert (pass, &pass->segments, event->device, event->address, end, 0);
      break;
    case GEMEM_EVENT_SEGMENT_FREE:
    case GEMEM_EVENT_SEGMENT_UNMAP:
      if (!__builtin_add_overflow (event->address, event->size, &end) && event->size > 0)
        cut_segments (pass, event->device, event->address, end);
      break;
    default:
      break;
    }
}

/* Adds the findings that are known only at the end. */
static void
conclude (Pass *pass, const GememTraceInfo *info, const GError *broken)
{
  guint64 left = gemem_idmap_count (pass->live);
  if (pass->missing > 0)
    find (pass, GEMEM_FINDING_GRAPH, G_MAXUINT64,
          "the trace ends before the load of graph %" G_GUINT64_FORMAT " has all its segments",
          pass->load.id);
  if (left > 0)
    {
      find (pass, GEMEM_FINDING_NEVER_FREED, G_MAXUINT64,
            "blocks are alive at the end of the trace");
      ((GememFinding *) pass->findings->pdata[GEMEM_FINDING_NEVER_FREED])->count = left;
    }
  if ((info->flags & GEMEM_TRACE_STARTS_IN_MIDDLE) != 0 && !pass->initial)
    find (pass, GEMEM_FINDING_OVERFLOW, G_MAXUINT64,
          "the recording starts in the middle and does not say what was alive; live and peak are "
          "too low by that. Record from the start, or with a larger buffer");
  if (broken != NULL)
    find (pass, GEMEM_FINDING_TRUNCATED, G_MAXUINT64, "%s", broken->message);
  else if (info->flags & GEMEM_TRACE_TRUNCATED)
    find (pass, GEMEM_FINDING_TRUNCATED, G_MAXUINT64,
          "the end of the trace is missing; only whole events were read");
}

GPtrArray *
gemem_trace_validate (GememTraceReader *reader, GError **error)
{
  Pass pass = { .name = reader->info.path,
                .live = gemem_idmap_new (sizeof (LiveBlock)),
                .graphs = gemem_idmap_new (sizeof (guint64)),
                .begun = gemem_idmap_new (sizeof (guint64)),
                .works = gemem_idmap_new (sizeof (guint64)),
                .names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL) };
  gemem_idset_init (&pass.recorded);
  g_autoptr (GError) broken = NULL;
  const GememTraceEvent *events;
  guint64 seq = 0;
  gssize n;
  pass.flags = reader->info.flags;
  pass.findings = g_ptr_array_new_with_free_func (finding_free);
  g_ptr_array_set_size (pass.findings, GEMEM_FINDING_COUNT);
  pass.last_time = g_array_new (FALSE, TRUE, sizeof (guint64));
  gemem_slab_init (&pass.ranges, sizeof (Range));
  while ((n = gemem_trace_next (reader, &events, &broken)) > 0)
    for (gssize i = 0; i < n; i++)
      on_event (&pass, &reader->info, &events[i], seq++);
  conclude (&pass, &reader->info, broken);
  gemem_idmap_free (pass.live);
  gemem_idmap_free (pass.graphs);
  gemem_idmap_free (pass.begun);
  gemem_idmap_free (pass.works);
  g_hash_table_unref (pass.names);
  gemem_idset_clear (&pass.recorded);
  gemem_tree_clear (&pass.blocks);
  gemem_tree_clear (&pass.segments);
  gemem_slab_clear (&pass.ranges);
  g_array_unref (pass.last_time);
  for (guint kind = GEMEM_FINDING_COUNT; kind-- > 0;)
    if (pass.findings->pdata[kind] == NULL)
      g_ptr_array_remove_index (pass.findings, kind);
  return pass.findings;
}
