/* beside.h - static memory of graphs (static.h) beside the dynamic memory of a stack of pools
 * (stack.h): what ge-active and ge-fixed-base have in common.
 *
 * The two parts do not know each other; the members of the class below combine them.
 * Cost: that of the parts; a walk sorts the spans of both.
 * Origin: ge-runtime.md 7.2.
 */
#pragma once

#include "allocators/ge/run-order.h"
#include "allocators/ge/stack.h"
#include "allocators/ge/static.h"

/* Embedded first. */
typedef struct
{
  GememAllocator base;
  GeStack *stack;
  GeStatic memory;
  GeRunOrder order;
  guint64 concurrent_runs;
} GeBeside;

/* Creates the stack and the order of runs of @self, for a class that has more of its own around it.
 * The caller fills `memory`. */
gboolean gemem_ge_beside_init (GeBeside *self, const GememAllocatorClass *klass,
                               const GeStackParams *params, guint64 large_page, GememDevice *device,
                               GError **error);

gboolean gemem_ge_beside_graph_load (GememAllocator *allocator, guint64 id, guint64 stream,
                                     const GememGraphSegment *segments, guint n, guint64 *address);
gboolean gemem_ge_beside_graph_run (GememAllocator *allocator, guint64 id, guint64 stream,
                                    gboolean begin);
void gemem_ge_beside_graph_unload (GememAllocator *allocator, guint64 id);
void gemem_ge_beside_graph_walk (GememAllocator *allocator, guint64 id, GememSpanFunc func,
                                 gpointer data);
guint64 gemem_ge_beside_graph_bytes (GememAllocator *allocator);
guint64 gemem_ge_beside_graph_need (GememAllocator *allocator);
void gemem_ge_beside_sync (GememAllocator *allocator, guint64 stream);
void gemem_ge_beside_record (GememAllocator *allocator, guint64 id, guint64 stream, guint64 to);
void gemem_ge_beside_wait (GememAllocator *allocator, guint64 id, guint64 stream);
gboolean gemem_ge_beside_alloc (GememAllocator *allocator, const GememRequest *request,
                                GememBlock *block);
void gemem_ge_beside_free (GememAllocator *allocator, const GememBlock *block,
                           gboolean completion_follows);
void gemem_ge_beside_trim (GememAllocator *allocator);
guint64 gemem_ge_beside_largest_free (GememAllocator *allocator, guint64 stream);
void gemem_ge_beside_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data);
gboolean gemem_ge_beside_check (GememAllocator *allocator, GError **error);
void gemem_ge_beside_stats (GememAllocator *allocator, GememStatFunc func, gpointer data);
void gemem_ge_beside_report (GememAllocator *allocator, GString *text);

/* What ge-active and ge-fixed-base have in common in their classes. */
#define GE_BESIDE_MEMBERS \
  .capabilities = GEMEM_CAP_STREAMS | GEMEM_CAP_VIRTUAL_MEMORY, .alignment = 65536, \
  .params = params, .params_size = sizeof (Params), .create = create, .destroy = destroy, \
  .notes = gemem_ge_stack_notes, .alloc = gemem_ge_beside_alloc, .free = gemem_ge_beside_free, \
  .trim = gemem_ge_beside_trim, .largest_free = gemem_ge_beside_largest_free, \
  .walk = gemem_ge_beside_walk, .check = gemem_ge_beside_check, \
  .graphs.run = gemem_ge_beside_graph_run, .graphs.unload = gemem_ge_beside_graph_unload, \
  .graphs.bytes = gemem_ge_beside_graph_bytes, .graphs.need = gemem_ge_beside_graph_need, \
  .graphs.walk = gemem_ge_beside_graph_walk, \
  .streams = { .record = gemem_ge_beside_record, \
               .wait = gemem_ge_beside_wait, \
               .sync = gemem_ge_beside_sync }
