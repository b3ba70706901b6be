/* origins.c - who allocated the blocks that a result names: failed requests and the blocks in their
 * way, the largest blocks at the live peak, blocks never freed, the segment map.
 *
 * A probe (gemem_origins_probe), attached only where the job asks for origins
 * (GememJob.keep_origins) and the trace has call stacks or tags, so that the event path of all other
 * runs is the same as without it.
 *
 * It keeps the attribution (traces/attribution.h) and tag of every live block, and turns them into text only for the blocks that the
 * result names.
 *
 * The largest blocks at the live peak: which event is the peak is known only at the end.  But a
 * block that was alive at the latest peak either still is, or was freed since; so the largest of
 * the freed ones are kept, and dropped whenever the peak rises.
 *
 * Memory: 40 bytes per live block, and the texts.  Cost: a map operation per allocation and free.
 */
#include "config.h"

#include <string.h>

#include "base/idmap.h"
#include "sim/engine/engine-private.h"
#include "traces/attribution.h"

/* A live block. */
typedef struct
{
  guint64 seq, size;
  GememAttribution by;
  guint32 tag;
  guint known : 1, initial : 1; /* as in GememOrigin */
} Source;

/* A block in a list of the largest. */
typedef struct
{
  guint64 id;
  Source source;
} Large;

/* At most GEMEM_NAMED_BLOCKS blocks, largest first, of equal ones the older first. */
typedef struct
{
  Large blocks[GEMEM_NAMED_BLOCKS];
  guint n;
} LargeList;

typedef struct
{
  GememProbe probe;
  GememIdMap *live;             /* id -> Source */
  LargeList freed;              /* blocks of the latest peak that were freed since */
  guint64 peak_seq;             /* its event */
  gboolean raised;              /* in this epoch */
  gboolean any;                 /* a block had a stack or a tag; until then nothing is named */
  guint ooms;                   /* failed requests of the result that have their origin */
  GHashTable *texts;            /* By -> text, of the reader that is open */
  GememAttributor attributor;   /* of that reader, */
  gboolean attributes;          /* if there is one */
  const GememTraceEvent *event; /* the current one; NULL between events */
  GememAttribution by;          /* what it belongs to */
} Origins;

/* ---- texts */

/* All that a text depends on. */
typedef struct
{
  guint32 stack, program, after, tag;
} By;

static guint
hash_by (gconstpointer key)
{
  const By *by = key;
  return ((by->stack * 31 + by->program) * 31 + by->tag) * 2 + by->after;
}

static gboolean
equal_by (gconstpointer a, gconstpointer b)
{
  return memcmp (a, b, sizeof (By)) == 0;
}

/* NULL: nothing is known. */
static const char *
text_of (const GememRun *run, const GememAttribution *by, guint32 tag)
{
  const Origins *origins = (const Origins *) run->origins;
  const By key = { by->stack, by->program, by->after ? 1 : 0, tag };
  gpointer text;

  if (run->info == NULL || (key.stack == 0 && key.program == 0 && key.tag == GEMEM_NO_TAG))
    return NULL;
  if (!g_hash_table_lookup_extended (origins->texts, &key, NULL, &text))
    {
      g_autoptr (GString) out = g_string_new (NULL);

      gemem_attribution_append (out, run->info, by, TRUE, tag);
      text = g_string_chunk_insert_const (run->result->texts, out->str);
      g_hash_table_insert (origins->texts, g_memdup2 (&key, sizeof key), text);
    }
  return text;
}

static GememOrigin
origin_of (const GememRun *run, const Source *source)
{
  return source->known ? (GememOrigin){ .known = TRUE,
                                        .initial = source->initial != 0,
                                        .seq = source->seq,
                                        .by = text_of (run, &source->by, source->tag) }
                       : (GememOrigin){ 0 };
}

GememOrigin
gemem_origins_of_block (const GememRun *run, guint64 id)
{
  const Origins *origins = (const Origins *) run->origins;
  const Source *source = origins != NULL && origins->any ? gemem_idmap_lookup (origins->live, id)
                                                         : NULL;

  return source != NULL ? origin_of (run, source) : (GememOrigin){ 0 };
}

char *
gemem_origins_describe (const GememRun *run, guint64 id)
{
  const GememOrigin origin = gemem_origins_of_block (run, id);
  GString *out = g_string_new (NULL);

  gemem_origin_describe (out, " (", &origin);
  if (out->len > 0)
    g_string_append_c (out, ')');
  return g_string_free (out, FALSE);
}

char *
gemem_origins_blame (const GememRun *run)
{
  const Origins *origins = (const Origins *) run->origins;
  const GememTraceEvent *event = origins != NULL ? origins->event : NULL;
  GString *out = g_string_new (NULL);

  if (event != NULL)
    {
      const GememOrigin block = gemem_origins_of_block (run, event->id);

      gemem_origin_append_by (out, text_of (run, &origins->by, event->tag));
      gemem_origin_describe (out, out->len > 0 ? "; the block was " : " the block was ", &block);
      if (out->len > 0)
        {
          g_string_insert_c (out, 1, '(');
          g_string_append_c (out, ')');
        }
    }
  return g_string_free (out, FALSE);
}

/* ---- the largest blocks */

static gboolean
goes_before (const Large *a, const Large *b)
{
  if (a->source.size != b->source.size)
    return a->source.size > b->source.size;
  return a->source.seq != b->source.seq ? a->source.seq < b->source.seq : a->id < b->id;
}

static void
keep_large (LargeList *list, guint64 id, const Source *source)
{
  const Large large = { id, *source };
  guint at = list->n;

  while (at > 0 && goes_before (&large, &list->blocks[at - 1]))
    at--;
  if (at == GEMEM_NAMED_BLOCKS)
    return;
  list->n = MIN (list->n + 1, GEMEM_NAMED_BLOCKS);
  memmove (&list->blocks[at + 1], &list->blocks[at], (list->n - 1 - at) * sizeof (Large));
  list->blocks[at] = large;
}

/* Replaces the contents of @out by those of @list. */
static void
name_blocks (const GememRun *run, const LargeList *list, GArray *out)
{
  g_array_set_size (out, 0);
  for (guint i = 0; i < list->n; i++)
    {
      const Large *large = &list->blocks[i];
      const GememNamedBlock block = { large->id, large->source.size,
                                      origin_of (run, &large->source) };
      g_array_append_val (out, block);
    }
}

static void
keep_refused (Origins *origins, const GememRun *run, const GememTraceEvent *event)
{
  const Source source = {
    .seq = run->seq, .size = event->size, .by = origins->by, .tag = event->tag, .known = TRUE
  };

  keep_large (&origins->freed, GEMEM_REFUSED_ID, &source);
}

static gboolean
was_at_peak (const Origins *origins, const Source *source)
{
  return !source->known || source->seq <= origins->peak_seq;
}

/* ---- the probe */

static gboolean
wanted (const GememRun *run)
{
  return run->has_origins;
}

static gboolean
attach (GememProbe *probe, GememRun *run, GError **error)
{
  Origins *origins = (Origins *) probe;
  g_autoptr (GArray) rows = gemem_live_rows (&run->live, FALSE);

  (void) error;
  run->origins = probe;
  origins->live = gemem_idmap_new (sizeof (Source));
  origins->texts = g_hash_table_new_full (hash_by, equal_by, g_free, NULL);
  origins->ooms = run->result->oom->len;
  for (guint i = 0; i < rows->len; i++)
    {
      const GememLiveRow *row = &g_array_index (rows, GememLiveRow, i);
      if ((row->live->flags & GEMEM_LIVE_HOST) == 0)
        ((Source *) gemem_idmap_insert (origins->live, row->id, NULL))->size = row->live->requested;
    }
  return TRUE;
}

static void
before (GememProbe *probe, GememRun *run, const GememTraceEvent *event)
{
  Origins *origins = (Origins *) probe;

  origins->event = event;
  if (!origins->attributes && run->info != NULL)
    {
      gemem_attributor_init (&origins->attributor, run->info);
      origins->attributes = TRUE;
    }
  origins->by = origins->attributes ? gemem_attributor_next (&origins->attributor, event)
                                    : (GememAttribution){ .stack = event->stack };
}

static void
allocated (Origins *origins, const GememRun *run, const GememDecision *decision)
{
  const GememTraceEvent *event = decision->event;

  if (decision->block->address >= GEMEM_HOST_ADDRESS)
    return;
  origins->any |= event->stack != 0 || event->tag != GEMEM_NO_TAG;
  *(Source *) gemem_idmap_insert (origins->live, event->id, NULL) = (Source){
    .seq = run->seq,
    .size = decision->size,
    .by = origins->by,
    .tag = event->tag,
    .known = TRUE,
    .initial = (event->flags & GEMEM_EVENT_INITIAL) != 0,
  };
}

static void
decided (GememProbe *probe, GememRun *run, const GememDecision *decision)
{
  Origins *origins = (Origins *) probe;
  const GememTraceEvent *event = decision->event;
  Source source;

  if (decision->block == NULL)
    return;
  switch (event->kind)
    {
    case GEMEM_EVENT_GRAPH_LOAD:
      if (decision->request) /* else its memory is no block */
        allocated (origins, run, decision);
      break;
    case GEMEM_EVENT_ALLOC:
      allocated (origins, run, decision);
      break;
    case GEMEM_EVENT_FREE_REQUESTED:
      if (run->klass->streams.complete != NULL)
        break; /* the block lives until its completion */
      /* fall through */
    case GEMEM_EVENT_FREE:
    case GEMEM_EVENT_FREE_COMPLETED:
    case GEMEM_EVENT_GRAPH_UNLOAD:
      if (gemem_idmap_remove (origins->live, event->id, &source) && was_at_peak (origins, &source))
        keep_large (&origins->freed, event->id, &source);
      break;
    default:
      break;
    }
}

static gboolean
after (GememProbe *probe, GememRun *run, const GememTraceEvent *event, GError **error)
{
  Origins *origins = (Origins *) probe;
  const GememResult *result = run->result;

  (void) error;
  origins->event = NULL;
  if (result->peak_live_seq == run->seq)
    {
      origins->peak_seq = run->seq;
      origins->raised = TRUE;
      origins->freed.n = 0;
      if (event->kind == GEMEM_EVENT_OOM) /* the request was held at the peak, and is gone */
        keep_refused (origins, run, event);
    }
  for (; origins->ooms < result->oom->len; origins->ooms++)
    {
      GememOom *oom = &g_array_index (result->oom, GememOom, origins->ooms);

      oom->origin = (GememOrigin){ .known = TRUE,
                                   .seq = oom->seq,
                                   .by = text_of (run, &origins->by, event->tag) };
      if (oom->blocking_id != 0)
        oom->blocking_origin = gemem_origins_of_block (run, oom->blocking_id);
    }
  return TRUE;
}

static gboolean
end_epoch (GememProbe *probe, GememRun *run, GError **error)
{
  Origins *origins = (Origins *) probe;
  LargeList largest = origins->freed, leaked = { .n = 0 };
  gsize position = 0;
  gpointer record;
  guint64 id;

  (void) error;
  while (gemem_idmap_next (origins->live, &position, &id, &record))
    {
      const Source *source = record;
      if (was_at_peak (origins, source))
        keep_large (&largest, id, source);
      keep_large (&leaked, id, source);
    }
  if (!origins->any)
    return TRUE;
  name_blocks (run, &leaked, run->result->leaked);
  if (origins->raised)
    name_blocks (run, &largest, run->result->largest);
  return TRUE;
}

static void
forget_attributor (Origins *origins)
{
  if (origins->attributes)
    gemem_attributor_clear (&origins->attributor);
  origins->attributes = FALSE;
}

static void
next_epoch (GememProbe *probe, GememRun *run)
{
  Origins *origins = (Origins *) probe;

  gemem_idmap_clear (origins->live);
  g_hash_table_remove_all (origins->texts);
  forget_attributor (origins);
  origins->freed.n = 0;
  origins->raised = FALSE;
  if (run->epoch == run->job->warm_up)
    origins->ooms = 0; /* those of the warm-up are dropped */
}

static void
clear (GememProbe *probe, GememRun *run)
{
  Origins *origins = (Origins *) probe;

  gemem_idmap_free (origins->live);
  g_hash_table_unref (origins->texts);
  forget_attributor (origins);
  run->origins = NULL;
}

const GememProbeClass gemem_origins_probe = { .size = sizeof (Origins),
                                              .wanted = wanted,
                                              .attach = attach,
                                              .before = before,
                                              .decided = decided,
                                              .after = after,
                                              .end_epoch = end_epoch,
                                              .next_epoch = next_epoch,
                                              .clear = clear };

/* ---- whether to attach it */

gboolean
gemem_origins_found (const GememTraceInfo *info, const GememTraceEvent *events, gsize n)
{
  if (info->stacks != NULL)
    return TRUE;
  for (gsize i = 0; i < n && info->strings->len > 1; i++)
    if (events[i].tag != GEMEM_NO_TAG
        && (events[i].kind == GEMEM_EVENT_ALLOC || events[i].kind == GEMEM_EVENT_GRAPH_LOAD))
      return TRUE;
  return FALSE;
}
