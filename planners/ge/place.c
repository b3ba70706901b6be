/* place.c - sizes and offsets of the blocks, and the zero-copy tail (ge-static.md 4.2, 7.2).
 *
 * Invariant: the offset of every block is a multiple of 512, in the tail of zero_copy_alignment.
 * Cost: O(occupants + blocks), and the sort of the graph's inputs.
 */
#include "config.h"

#include <string.h>

#include "planners/ge/anchors.h"
#include "planners/ge/continuous.h"
#include "planners/ge/ge-private.h"
#include "planners/ge/library.h"

/* ---- offsets */

/* TRUE for nodes that keep the larger of their old and their new offset. */
static gboolean
keeps_larger (const GeModel *model, guint32 node)
{
  static const char *const types[] = { "Data", "RefData", "AippData", "MultiShape", "NetOutput" };

  if ((model->nodes[node].kind & GE_NESTED) != 0)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (strcmp (gemem_graph_node (model->graph, node)->type, types[i]) == 0)
      return TRUE;
  return FALSE;
}

static void
place_occupant (GeAssigner *a, const GeBlock *block, const GeOccupant *occupant)
{
  const GememNode *node = gemem_graph_node (a->model->graph, occupant->node);
  guint32 item;

  if (occupant->kind > GE_KIND_WORKSPACE)
    return;
  item = occupant->kind == GE_KIND_OUTPUT ? gemem_node_output_item (node, occupant->index)
                                          : gemem_node_workspace_item (node, occupant->index);
  if (a->offsets[item] != GEMEM_NO_OFFSET && a->offsets[item] > block->head
      && keeps_larger (a->model, occupant->node))
    return;
  gemem_ge_place_item (a, item, block->head, block->space,
                       occupant->kind == GE_KIND_OUTPUT
                           ? gemem_ge_tensor_size (a->model, node->first_output + occupant->index)
                           : occupant->real);
}

static void place_block (GeAssigner *a, GeBlock *block, guint64 head);

/* Places the blocks one after another from @head. */
static void
place_chain (GeAssigner *a, GPtrArray *blocks, guint64 head)
{
  for (guint i = 0; blocks != NULL && i < blocks->len; i++)
    {
      GeBlock *block = g_ptr_array_index (blocks, i);

      place_block (a, block, head);
      head += block->size;
    }
}

static void
place_block (GeAssigner *a, GeBlock *block, guint64 head)
{
  block->head = head;
  for (guint32 i = 0; i < block->n_occupants; i++)
    place_occupant (a, block, &block->occupants[i]);
  place_chain (a, block->children, head);
  place_chain (a, block->members, head);
  for (guint i = 0; block->overlays != NULL && i < block->overlays->len; i++)
    place_chain (a, g_ptr_array_index (block->overlays, i), head);
}

static void
append_block (GeAssigner *a, GeBlock *block)
{
  guint64 *counter = &a->counters[block->space];

  gemem_ge_block_resize (block);
  place_block (a, block, *counter);
  *counter += block->size;
}

void
gemem_ge_place (GeAssigner *a)
{
  if (a->continuous != NULL)
    gemem_ge_continuous_to_tail (a);
  if (a->model->n_labels > 1)
    gemem_ge_batch (a);
  for (guint i = 0; i < a->blocks->len; i++)
    {
      GeBlock *block = g_ptr_array_index (a->blocks, i);

      if (!block->child && !block->zc)
        append_block (a, block);
    }
  for (guint i = 0; i < a->zero->len; i++)
    a->offsets[g_array_index (a->zero, guint32, i)] = 0;
  if (a->continuous != NULL)
    gemem_ge_continuous_chain_offsets (a);
  for (int i = 0; i < GE_N_SPACES; i++)
    a->score += a->counters[i] != gemem_ge_space_base (i) ? a->counters[i] : 0;
}

/* ---- the zero-copy tail (7.2) */

#define NO_INPUT G_MAXUINT64

/* No-align size of the first occupant that is an input of the planned graph, or NO_INPUT. */
static guint64
input_size (const GeAssigner *a, const GeBlock *block)
{
  for (guint32 i = 0; i < block->n_occupants; i++)
    if (block->occupants[i].kind == GE_KIND_OUTPUT
        && (a->model->nodes[block->occupants[i].node].kind & (GE_DATA | GE_NESTED)) == GE_DATA)
      return block->occupants[i].noalign;
  return NO_INPUT;
}

static gboolean
smaller_input (gconstpointer x, gconstpointer y, gpointer assigner)
{
  return input_size (assigner, x) < input_size (assigner, y);
}

/* Places a block of the tail.  Blocks inside it are no inputs or outputs and stay at multiples of
 * 512, so one that has any begins there. */
static void
append_to_tail (GeAssigner *a, GeBlock *block)
{
  const guint64 unit = ge_zero_copy_align (a->model->options);
  guint64 *counter = &a->counters[block->space];

  gemem_ge_block_resize (block);
  if (block->children != NULL)
    *counter = ge_align (*counter);
  else
    block->size = gemem_align_up (gemem_ge_block_max_real (block), unit);
  place_block (a, block, *counter);
  *counter += block->size;
}

void
gemem_ge_place_zero_copy (GeAssigner *a)
{
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  const guint64 before = a->counters[GE_SPACE_HBM];

  for (guint i = 0; i < a->blocks->len; i++)
    {
      GeBlock *block = g_ptr_array_index (a->blocks, i);

      if (!block->zc || block->child)
        continue;
      if (input_size (a, block) != NO_INPUT)
        g_ptr_array_add (inputs, block);
      else
        append_to_tail (a, block);
    }
  gemem_ge_sort (a->model->options, inputs->pdata, inputs->len, smaller_input, a);
  for (guint i = 0; i < inputs->len; i++)
    append_to_tail (a, g_ptr_array_index (inputs, i));
  a->zero_copy = a->counters[GE_SPACE_HBM] - before;
}
