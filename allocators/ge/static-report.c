/* static-report.c - spans, invariants and statistics of the static memory of a session; see
 * static.h.  Not on the event path.
 *
 * Static memory is shared by graphs and is no block of the program: it is reported as OVERHEAD.
 * Memory in the page pool that is mapped nowhere, since its range was released, is reported behind
 * all addresses.
 */
#include "config.h"

#include "allocators/ge/static.h"
#include "base/error.h"

/* ---- spans */

static void
append_block (GArray *spans, const GeStaticBlock *block)
{
  gemem_spans_append_overhead (spans, block->address, block->size);
}

void
gemem_ge_static_walk (const GeStatic *memory, GArray *spans)
{
  gsize position = 0;
  gpointer graph;
  guint64 id;

  if (memory->range.used == 0) /* else it is in the range */
    append_block (spans, &memory->largest);
  while (gemem_idmap_next (memory->graphs, &position, &id, &graph))
    {
      append_block (spans, &(*(GeStaticGraph **) graph)->own);
      append_block (spans, &(*(GeStaticGraph **) graph)->apart);
    }
  for (guint i = 0; i < memory->leaked->len; i++)
    append_block (spans, &g_array_index (memory->leaked, GeStaticBlock, i));
  for (guint i = 0; i < memory->active.blocks->len; i++)
    {
      const GeActiveBlock *block = &g_array_index (memory->active.blocks, GeActiveBlock, i);
      if (block->plain)
        gemem_spans_append_overhead (spans, block->address, block->total);
    }
  for (guint i = 0; i < memory->active.leaked->len; i++)
    {
      const GeActiveBlock *block = &g_array_index (memory->active.leaked, GeActiveBlock, i);
      gemem_spans_append_overhead (spans, block->address, block->total);
    }
  if (memory->options.pages != NULL)
    gemem_ge_session_walk (&memory->range, gemem_spans_append, spans);
  gemem_ge_session_walk (&memory->fixed, gemem_spans_append, spans);
  gemem_ge_session_walk_lost (memory->fixed.backing.pages, gemem_spans_append, spans);
}

/* What work of the graph uses: all of the block that graphs share under the documented policies. */
void
gemem_ge_static_walk_graph (const GeStatic *memory, guint64 id, GememSpanFunc func, gpointer data)
{
  GeStaticGraph *const *found = gemem_idmap_lookup (memory->graphs, id);
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  if (found == NULL)
    return;
  append_block (spans, &(*found)->own);
  append_block (spans, &(*found)->apart);
  gemem_spans_append_overhead (spans, memory->fixed.backing.base, (*found)->fixed);
  if ((*found)->shares)
    append_block (spans, &memory->largest);
  for (guint i = 0; (*found)->pieces != NULL && i < (*found)->pieces->len; i++)
    {
      const GeActivePiece *piece = &g_array_index ((*found)->pieces, GeActivePiece, i);
      gemem_spans_append_overhead (spans, piece->address, piece->used);
    }
  gemem_spans_report (spans, func, data);
}

/* ---- invariants */

/* Blocks descend by size and are not overfull. */
static gboolean
check_blocks (const GeActive *active, const char *name, GError **error)
{
  guint64 before = G_MAXUINT64;

  for (guint i = 0; i < active->blocks->len; i++)
    {
      const GeActiveBlock *block = &g_array_index (active->blocks, GeActiveBlock, i);

      if (block->used > block->total || block->total > before)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                       "%s: block %u of %" G_GUINT64_FORMAT " bytes is overfull or out of order",
                       name, i, block->total);
          return FALSE;
        }
      before = block->total;
    }
  return TRUE;
}

/* The blocks of the graphs add up to what was counted. */
static gboolean
check_graphs (const GeStatic *memory, const char *name, GError **error)
{
  guint64 id, sum = 0;
  gsize position = 0;
  gpointer graph;

  while (gemem_idmap_next (memory->graphs, &position, &id, &graph))
    sum += (*(GeStaticGraph **) graph)->own.size + (*(GeStaticGraph **) graph)->apart.size;
  if (sum == memory->blocks)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "%s: the graphs have blocks of %" G_GUINT64_FORMAT " bytes, %" G_GUINT64_FORMAT
               " were counted",
               name, sum, memory->blocks);
  return FALSE;
}

gboolean
gemem_ge_static_check (const GeStatic *memory, const char *name, GError **error)
{
  return check_blocks (&memory->active, name, error) && check_graphs (memory, name, error)
         && gemem_ge_pages_check (memory->fixed.backing.pages, name, error)
         && gemem_ge_session_check (&memory->fixed, name, error)
         && (memory->options.pages == NULL || gemem_ge_session_check (&memory->range, name, error));
}

/* ---- statistics */

/* Bytes of blocks that no graph has and that are never freed (7.2, 3.3). */
static guint64
leaked (const GeStatic *memory)
{
  guint64 sum = 0;

  for (guint i = 0; i < memory->leaked->len; i++)
    sum += g_array_index (memory->leaked, GeStaticBlock, i).size;
  for (guint i = 0; i < memory->active.leaked->len; i++)
    sum += g_array_index (memory->active.leaked, GeActiveBlock, i).total;
  return sum;
}

void
gemem_ge_static_stats (const GeStatic *memory, GememStatFunc func, gpointer data)
{
  const GeActive *active = &memory->active;
  const guint64 loads[] = { gemem_idmap_count (memory->graphs), memory->loads, active->load_count };
  const guint64 blocks[] = { gemem_idmap_count (memory->graphs), memory->largest.size > 0,
                             active->blocks->len };
  func ("static.load_count", loads[memory->options.mode], "", data);
  func ("static.peak", gemem_ge_static_peak (memory), "B", data);
  func ("static.blocks", blocks[memory->options.mode], "", data);
  func ("static.fixed", memory->fixed.used, "B", data);
  if (memory->options.leaky || memory->options.pages != NULL)
    func ("static.leaked", leaked (memory), "B", data);
  if (memory->options.pages == NULL)
    return;
  func ("static.lost", gemem_ge_pages_lost (memory->options.pages), "B", data);
  func ("static.used", memory->range.used, "B", data);
  func ("static.phys", memory->range.backing.phys, "B", data);
  func ("static.virtual_memory_unsupported", memory->range.unsupported, "", data);
}
