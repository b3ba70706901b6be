/* state.c - changes of an assigner's state that several steps make; see state.h. */
#include "config.h"

#include "graphs/meaning.h"
#include "planners/ge/state.h"

#define CHUNK 1024 /* blocks */

static void
free_block (GeBlock *block)
{
  g_free (block->occupants);
  g_free (block->visits);
  g_clear_pointer (&block->children, g_ptr_array_unref);
  g_clear_pointer (&block->summaries, g_array_unref);
  g_clear_pointer (&block->members, g_ptr_array_unref);
  g_clear_pointer (&block->overlays, g_ptr_array_unref);
}

GeBlock *
gemem_ge_block_new (GeAssigner *a, guint64 size, gint32 stream, GeSpace space, gboolean reuse_mem)
{
  GeBlock *block;

  if (a->n_blocks % CHUNK == 0)
    g_ptr_array_add (a->chunks, g_new0 (GeBlock, CHUNK));
  block = (GeBlock *) g_ptr_array_index (a->chunks, a->n_blocks / CHUNK) + a->n_blocks % CHUNK;
  block->size = size;
  block->stream = stream;
  block->space = (guint8) space;
  block->reuse_mem = reuse_mem != FALSE;
  block->same_stream = block->reuse_zc = block->post_reuse = TRUE;
  block->number = a->n_blocks++;
  g_ptr_array_add (a->blocks, block);
  return block;
}

void
gemem_ge_blocks_free (GeAssigner *a)
{
  for (guint32 i = 0; i < a->n_blocks; i++)
    free_block ((GeBlock *) g_ptr_array_index (a->chunks, i / CHUNK) + i % CHUNK);
  g_ptr_array_unref (a->chunks);
}

void
gemem_ge_zero (GeAssigner *a, guint32 node, guint32 output)
{
  const guint32 item = gemem_node_output_item (gemem_graph_node (a->model->graph, node), output);

  g_array_append_val (a->zero, item);
}

void
gemem_ge_place_item (GeAssigner *a, guint32 item, guint64 offset, guint8 space, guint64 bytes)
{
  a->offsets[item] = offset;
  a->spaces[item] = space;
  a->sizes[item] = bytes;
}

void
gemem_ge_place_output (GeAssigner *a, guint32 tensor, guint64 offset, guint8 space, guint64 bytes)
{
  gemem_ge_place_item (a, gemem_graph_tensor_item (a->model->graph, tensor), offset, space, bytes);
}
