/* lower-storage.c - the storages of a graph: which memory exists, from when to when, on which
 * stream; see lower.h.
 *
 * Slots (items, then variables) that share memory are united.  The id of a storage is that of the
 * slot that allocates; in a no-padding concat that of the first piece, where the storage begins.
 * Then every node is visited once, in order: storages of its outputs begin at this node or earlier,
 * those of its inputs end there or later; the end of uses on other streams is determined
 * afterwards.  In-place pairs are united in the same order, when all uses are known.  Memory that
 * one memset clears is one storage.
 *
 * Invariants: begin <= end; two slots of one root have one storage; the result does not depend on
 * the order of unions.  Cost: O((nodes + edges) log) time, 64 bytes a slot during construction.
 */
#include "config.h"

#include <string.h>

#include "graphs/meaning.h"
#include "graphs/overlay.h"
#include "workloads/lower.h"

#define CLEARED_ALIGN 512 /* of buffers that are cleared together */

typedef struct
{
  GememStorage storage;
  guint32 owner;   /* the slot that allocates; GEMEM_NONE: not yet known */
  guint32 start;   /* the slot at whose memory the storage begins; GEMEM_NONE: any of them */
  guint32 taken;   /* moment at which an in-place output took the memory */
  guint8 streamed; /* `stream` is set */
  guint8 bound;    /* lives to the end of the step, by the policy */
  guint8 inner;    /* begins at a node that is no wrapper of a subgraph */
} Record;

typedef struct
{
  const GememGraph *graph;
  const GememStorageRules *rules;
  guint32 n_slots;
  guint32 *root; /* union-find: parent of each slot, the smallest slot of a storage is its root */
  Record *records;
  guint32 *after; /* by node; NULL: one stream */
} Builder;

/* ---- unions */

static guint32
find (Builder *builder, guint32 slot)
{
  while (builder->root[slot] != slot)
    slot = builder->root[slot] = builder->root[builder->root[slot]];
  return slot;
}

static void
share (gpointer data, guint32 a, guint32 b, gboolean first)
{
  Builder *builder = data;
  const guint32 root_a = find (builder, a), root_b = find (builder, b), root = MIN (root_a, root_b);
  guint32 start = builder->records[root_a].start;

  if (start == GEMEM_NONE)
    start = first ? a : builder->records[root_b].start;
  builder->root[MAX (root_a, root_b)] = root;
  builder->records[root].start = start;
}

static Record *
record_of (Builder *builder, guint32 slot)
{
  return &builder->records[find (builder, slot)];
}

/* ---- uses */

/* @node, on @stream, reads or writes the memory of @record. */
static void
use (Builder *builder, Record *record, guint32 node, gint64 stream)
{
  GememStorage *storage = &record->storage;

  storage->end = MAX (storage->end, node + 1);
  if (stream < 0)
    return;
  if (!record->streamed)
    {
      record->streamed = TRUE;
      storage->stream = (guint64) stream;
    }
  else if (builder->after != NULL && storage->stream != (guint64) stream)
    storage->complete = MAX (storage->complete, builder->after[node]);
}

/* @node makes @item.  The first maker that is no wrapper of a subgraph allocates. */
static void
make (Builder *builder, const GememNode *node, guint32 id, guint32 item)
{
  Record *record = record_of (builder, item);
  GememStorage *storage = &record->storage;
  const gboolean inner = node->n_blocks == 0;
  gboolean self = FALSE;
  guint64 clear = builder->rules->clear != GEMEM_CLEAR_NONE
                      ? gemem_lower_clear_size (builder->graph, node, item, &self)
                      : 0;

  storage->size = MAX (storage->size, gemem_lower_item_size (builder->graph, node, item));
  storage->clear = MAX (storage->clear, clear);
  if (gemem_node_is_constant (node))
    storage->kept = TRUE;
  if (record->owner == GEMEM_NONE || (inner && !record->inner))
    {
      record->owner = item;
      record->inner = inner;
      storage->begin = id + 1;
    }
  if (clear > 0 && builder->rules->clear == GEMEM_CLEAR_CENTRAL && !self)
    storage->begin = 0;
}

static void
visit (Builder *builder, guint32 id)
{
  const GememGraph *graph = builder->graph;
  const GememNode *node = gemem_graph_node (graph, id);
  const gint64 stream = gemem_lower_stream (graph, node);
  const GememNodeInput *inputs = gemem_graph_inputs (graph, id);

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 slot = gemem_lower_input_slot (graph, &inputs[i]);
      Record *record;

      if (slot == GEMEM_NONE)
        continue;
      record = record_of (builder, slot);
      if (inputs[i].tensor == GEMEM_NONE && record->owner == GEMEM_NONE)
        {
          record->owner = slot; /* an input of the graph: exists from the head of the step */
          record->inner = TRUE;
        }
      if (builder->rules->buffers_only && !gemem_lower_needs_buffer (graph, node, i))
        continue;
      use (builder, record, id, stream);
    }
  for (guint32 i = 0; i < node->n_outputs + node->n_workspaces; i++)
    {
      const guint32 item = gemem_node_item (node) + i;

      make (builder, node, id, item);
      use (builder, record_of (builder, item), id, stream);
      record_of (builder, item)->storage.workspace = i >= node->n_outputs;
    }
}

static void
add_variables (Builder *builder)
{
  const guint32 n_items = gemem_graph_n_items (builder->graph);

  for (guint32 v = 0; v < gemem_graph_n_variables (builder->graph); v++)
    {
      const GememVariable *variable = gemem_graph_variable (builder->graph, v);
      Record *record = record_of (builder, n_items + v);

      if (!variable->persistable)
        continue;
      record->storage.kept = TRUE;
      record->storage.size = MAX (record->storage.size, variable->size);
      record->owner = MIN (record->owner, n_items + v);
      record->inner = TRUE;
    }
}

/* A feed has the size of its variable. */
static void
size_variables (Builder *builder)
{
  const guint32 n_items = gemem_graph_n_items (builder->graph);

  for (guint32 v = 0; v < gemem_graph_n_variables (builder->graph); v++)
    {
      Record *record = record_of (builder, n_items + v);

      if (record->owner != GEMEM_NONE && record->owner >= n_items)
        record->storage.size = MAX (record->storage.size,
                                    gemem_graph_variable (builder->graph, v)->size);
    }
}

/* Extends a slot's rule of the policy to all slots of its storage. */
static void
apply_slots (Builder *builder)
{
  for (guint32 slot = 0; slot < builder->n_slots; slot++)
    {
      Record *record = record_of (builder, slot);

      if (builder->rules->slots[slot] == GEMEM_SLOT_RUN)
        {
          record->bound = TRUE;
          record->storage.end = gemem_graph_n_nodes (builder->graph) + 1;
        }
      else if (builder->rules->slots[slot] == GEMEM_SLOT_ELSEWHERE)
        record->storage.size = 0;
    }
}

/* ---- memory that is cleared together */

/* Storages that one memset clears lie behind one another, as in the plan (ge-static.md 6.2). */
typedef struct
{
  guint32 memset;  /* the node that clears them; GEMEM_NONE: none of the graph */
  gboolean apart;  /* P2P memory, which is never merged with other memory */
  guint32 slot;    /* of the first storage */
  guint32 members; /* storages */
  guint64 size;
} Range;

/* What is known of a storage, by its root. */
typedef struct
{
  guint64 size;
  guint32 memset;
  guint8 wanted, apart, refused;
} Cleared;

static gboolean
is_graph_output (const GememGraph *graph, guint32 tensor)
{
  const GememConsumer *consumers = gemem_graph_consumers (graph, tensor);

  for (guint32 i = 0; i < gemem_graph_tensor (graph, tensor)->n_consumers; i++)
    {
      const GememNode *reader = gemem_graph_node (graph, consumers[i].node);

      if (reader->block == 0 && strcmp (reader->type, "NetOutput") == 0)
        return TRUE;
    }
  return FALSE;
}

static void
note_cleared (Builder *builder, guint32 id, Cleared *cleared)
{
  const GememGraph *graph = builder->graph;
  const GememNode *node = gemem_graph_node (graph, id);

  for (guint32 i = 0; i < node->n_outputs + node->n_workspaces; i++)
    {
      const guint32 item = gemem_node_item (node) + i;
      Cleared *of = &cleared[find (builder, item)];
      gboolean self;
      const gboolean wanted = gemem_lower_clear_size (graph, node, item, &self) > 0 && !self;

      of->size = MAX (of->size, gemem_lower_item_size (graph, node, item));
      of->refused |= gemem_node_is_constant (node) || record_of (builder, item)->storage.kept
                     || (i < node->n_outputs && is_graph_output (graph, node->first_output + i));
      if (!wanted)
        continue;
      of->memset = gemem_graph_memset (graph, id);
      of->wanted = TRUE;
      of->apart = gemem_lower_is_p2p (graph, node, item);
    }
}

static Range *
range_for (GArray *ranges, const Cleared *cleared)
{
  const Range fresh = { .memset = cleared->memset, .apart = cleared->apart, .slot = GEMEM_NONE };

  for (guint i = 0; i < ranges->len; i++)
    {
      Range *range = &g_array_index (ranges, Range, i);

      if (range->memset == cleared->memset && range->apart == cleared->apart)
        return range;
    }
  g_array_append_val (ranges, fresh);
  return &g_array_index (ranges, Range, ranges->len - 1);
}

/* Unites the storages that are cleared together; the ranges, with the size of each.  What the
 * caller may supply (graph outputs) and what outlives the run stays apart. */
static GArray *
join_cleared (Builder *builder)
{
  GArray *ranges = g_array_new (FALSE, FALSE, sizeof (Range));
  g_autofree Cleared *cleared = g_new0 (Cleared, (gsize) builder->n_slots + 1);
  g_autofree guint32 *roots = g_new (guint32, (gsize) builder->n_slots + 1);

  for (guint32 id = 0; id < gemem_graph_n_nodes (builder->graph); id++)
    if (gemem_lower_runs (builder->rules->skipped, id))
      note_cleared (builder, id, cleared);
  for (guint32 slot = 0; slot < builder->n_slots; slot++)
    roots[slot] = find (builder, slot);
  for (guint32 slot = 0; slot < builder->n_slots; slot++)
    {
      const Cleared *of = &cleared[slot];
      Range *range;

      if (roots[slot] != slot || !of->wanted || of->refused || of->size == 0)
        continue;
      range = range_for (ranges, of);
      if (range->members++ == 0)
        range->slot = slot;
      else
        share (builder, range->slot, slot, FALSE);
      range->size += gemem_align_up (of->size, CLEARED_ALIGN);
    }
  return ranges;
}

/* Gives the united storages their sizes; one that is alone keeps its own. */
static void
size_cleared (Builder *builder, const GArray *ranges)
{
  for (guint i = 0; i < ranges->len; i++)
    {
      const Range *range = &g_array_index (ranges, Range, i);
      GememStorage *storage = &record_of (builder, range->slot)->storage;

      if (range->members < 2)
        continue;
      storage->size = storage->clear = range->size;
      storage->workspace = FALSE;
    }
}

/* ---- in place */

static guint
times_read (Builder *builder, const GememNode *node, guint32 id, const Record *record)
{
  guint times = 0;

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 slot = gemem_lower_input_slot (builder->graph,
                                                   &gemem_graph_inputs (builder->graph, id)[i]);
      times += slot != GEMEM_NONE && record_of (builder, slot) == record;
    }
  return times;
}

/* Whether the output @to of a node may overwrite the input @from: the output begins at this node,
 * the input ends there, and all uses are on one stream. */
static gboolean
fits_in_place (const Record *from, const Record *to, guint32 moment)
{
  const GememStorage *a = &from->storage, *b = &to->storage;

  return from != to && !a->kept && !b->kept && a->size > 0 && a->size == b->size && a->end == moment
         && b->begin == moment && a->begin < moment && a->complete == 0 && a->stream == b->stream
         && from->taken != moment && !to->bound;
}

static void
move_in (Builder *builder, guint32 from, guint32 to, guint32 id)
{
  const guint32 a = find (builder, from), b = find (builder, to);
  const Record first = builder->records[a], second = builder->records[b];
  Record *record = &builder->records[MIN (a, b)];

  builder->root[MAX (a, b)] = MIN (a, b);
  *record = first;
  record->taken = id + 1;
  record->storage.end = second.storage.end;
  record->storage.complete = second.storage.complete;
}

/* The first input that @output may overwrite; GEMEM_NONE if there is none. */
static guint32
find_host (Builder *builder, const GememNode *node, guint32 id, guint32 output)
{
  const Record *to = record_of (builder, gemem_node_output_item (node, output));

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 slot = gemem_lower_input_slot (builder->graph,
                                                   &gemem_graph_inputs (builder->graph, id)[i]);

      if (slot != GEMEM_NONE && fits_in_place (record_of (builder, slot), to, id + 1)
          && gemem_graph_may_overlay (builder->graph, id, i, output)
          && times_read (builder, node, id, record_of (builder, slot)) == 1)
        return slot;
    }
  return GEMEM_NONE;
}

static gboolean
may_work_in_place (Builder *builder, const GememNode *node, guint32 id)
{
  return gemem_lower_runs (builder->rules->skipped, id)
         && (builder->rules->whitelist == GEMEM_WHITELIST_OFF
             || gemem_inplace_whitelisted (node->type)
                    == (builder->rules->whitelist == GEMEM_WHITELIST_ONLY));
}

static void
work_in_place (Builder *builder)
{
  for (guint32 id = 0; id < gemem_graph_n_nodes (builder->graph); id++)
    {
      const GememNode *node = gemem_graph_node (builder->graph, id);

      for (guint32 o = 0; o < node->n_outputs && may_work_in_place (builder, node, id); o++)
        {
          const guint32 from = find_host (builder, node, id, o);

          if (from != GEMEM_NONE)
            move_in (builder, from, gemem_node_output_item (node, o), id);
        }
    }
}

/* ---- the list */

/* The slot whose id and name the storage of @record has. */
static guint32
namesake (const Record *record)
{
  return record->owner != GEMEM_NONE && record->start != GEMEM_NONE && !record->storage.kept
             ? record->start
             : record->owner;
}

static int
compare_begin (gconstpointer a, gconstpointer b)
{
  const GememStorage *x = a, *y = b;

  if (x->kept != y->kept)
    return x->kept ? -1 : 1;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

/* Numbers the storages by id, which is 1 + a slot. */
static void
number_slots (Builder *builder, const GArray *storages, guint32 *storage_of)
{
  g_autofree guint32 *by_slot = g_new (guint32, builder->n_slots + 1);

  memset (by_slot, 0xff, sizeof (guint32) * (builder->n_slots + 1));
  for (guint32 i = 0; i < storages->len; i++)
    if (g_array_index (storages, GememStorage, i).id <= builder->n_slots)
      by_slot[g_array_index (storages, GememStorage, i).id - 1] = i;
  for (guint32 slot = 0; slot < builder->n_slots; slot++)
    {
      const guint32 name = namesake (record_of (builder, slot));

      storage_of[slot] = name != GEMEM_NONE ? by_slot[name] : GEMEM_NONE;
    }
}

static GArray *
list (Builder *builder)
{
  GArray *storages = g_array_new (FALSE, FALSE, sizeof (GememStorage));
  const GArray *buffers = builder->rules->buffers;

  for (guint i = 0; buffers != NULL && i < buffers->len; i++)
    {
      const GememStorage storage = { .id = (guint64) builder->n_slots + 1 + i,
                                     .size = g_array_index (buffers, guint64, i),
                                     .kept = TRUE };
      g_array_append_val (storages, storage);
    }

  for (guint32 slot = 0; slot < builder->n_slots; slot++)
    if (builder->root[slot] == slot && builder->records[slot].owner != GEMEM_NONE
        && builder->records[slot].storage.size > 0)
      {
        GememStorage storage = builder->records[slot].storage;

        storage.id = (guint64) namesake (&builder->records[slot]) + 1;
        storage.begin = storage.kept ? 0 : storage.begin;
        storage.end = MAX (storage.end, storage.begin);
        storage.clear = storage.kept ? 0 : storage.clear;
        g_array_append_val (storages, storage);
      }
  g_array_sort (storages, compare_begin);
  return storages;
}

GArray *
gemem_storages_new (const GememGraph *graph, const GememStorageRules *rules, guint32 **storage_of)
{
  Builder builder = { .graph = graph,
                      .rules = rules,
                      .n_slots = gemem_graph_n_items (graph) + gemem_graph_n_variables (graph) };
  GArray *storages;
  g_autoptr (GArray) ranges = NULL;

  builder.root = g_new (guint32, builder.n_slots + 1);
  builder.records = g_new0 (Record, builder.n_slots + 1);
  builder.after = gemem_lower_has_streams (graph) ? gemem_lower_after (graph, rules->skipped)
                                                  : NULL;
  for (guint32 slot = 0; slot < builder.n_slots; slot++)
    {
      builder.root[slot] = slot;
      builder.records[slot].owner = builder.records[slot].start = GEMEM_NONE;
    }
  gemem_lower_references (graph, rules->whole_variables, share, &builder);
  add_variables (&builder);
  if (rules->clear == GEMEM_CLEAR_CENTRAL)
    ranges = join_cleared (&builder);
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    if (gemem_lower_runs (rules->skipped, id))
      visit (&builder, id);
  size_variables (&builder);
  if (ranges != NULL)
    size_cleared (&builder, ranges);
  if (rules->slots != NULL)
    apply_slots (&builder);
  if (rules->inplace)
    work_in_place (&builder);
  storages = list (&builder);
  *storage_of = g_new (guint32, builder.n_slots + 1);
  number_slots (&builder, storages, *storage_of);
  g_free (builder.root);
  g_free (builder.records);
  g_free (builder.after);
  return storages;
}
