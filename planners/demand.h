/* demand.h - what a graph demands of every plan: bytes, space and life of each item, and which
 * items are tied together.
 *
 * Why: the conversion of graphs to lifetimes and the checker of plans must agree on references,
 * continuous memory, graph inputs and outputs, cleared memory and pools.
 *
 * A tie says "`second` lies `delta` bytes after `first`".  Ties make three nested partitions of the
 * items; the smallest item represents each class:
 *   ALIAS   items of one address, the symbol of ge-static.md 1.6
 *   WIDE    the extended symbol of 9.1: no-padding members too; its members may overlap
 *   BUFFER  all items at fixed distances: padded members too
 *
 * Invariants: demands->items has an entry per item, in item order; ties are in node order.
 * Cost: time and memory linear in items, edges, attributes (times inverse Ackermann).
 * Origin: ge-static.md 1.2, 1.6, 2.2, 2.9, 5, 6, 7.7, 9.
 */
#pragma once

#include "base/macros.h"
#include "graphs/meaning.h"

GEMEM_BEGIN_DECLS

#define GEMEM_DEMAND_ALIGN G_GUINT64_CONSTANT (512)

typedef enum
{
  GEMEM_TIE_REFERENCE, /* output `second` refers to input `first`: the same memory */
  GEMEM_TIE_MERGED,    /* both are one value to a later node: the same memory */
  GEMEM_TIE_NOPADDING, /* pieces of one buffer, adjacent or at listed offsets */
  GEMEM_TIE_PADDED,    /* neighbours, each rounded up to 512 bytes */
  GEMEM_TIE_POOL,      /* of one buffer pool, at fixed offsets in it */
} GememTieKind;

typedef struct
{
  GememTieKind kind;
  gboolean loose; /* of one class, but the operator itself chooses the distance */
  guint32 first, second;
  gint64 delta;
} GememTie;

enum
{
  GEMEM_DEMAND_MEMORY = 1 << 0, /* must have an offset */
  /* written before the first node runs: no item may use its bytes earlier */
  GEMEM_DEMAND_FROM_START = 1 << 1,
  GEMEM_DEMAND_TO_END = 1 << 2, /* read after the last node: no item may use its bytes later */
  /* a no-padding member: the bytes behind `bytes` may belong to the next one */
  GEMEM_DEMAND_PIECE = 1 << 3,
  /* the operator chooses the address: alignment and distance are not checked */
  GEMEM_DEMAND_ANYWHERE = 1 << 4,
};

typedef struct
{
  guint64 bytes; /* needed from its offset on; no-padding members: without padding */
  guint64 space; /* GEMEM_MEMORY_* */
  gint64 inner;  /* distance from the lowest member of its buffer, >= 0 */
  guint32 node;
  guint32 alias, wide, buffer; /* classes */
  guint32 memset;              /* node that clears it at the start of the graph, or GEMEM_NONE */
  guint32 flags;               /* GEMEM_DEMAND_* */
} GememDemand;

typedef struct
{
  guint32 n;
  GememDemand *items;
  GArray *ties; /* GememTie */
  gboolean clears_apart;
} GememDemands;

/* @clears_apart: as in GememPlan; no memory is cleared by a memset node. */
GememDemands *gemem_demands_new (const GememGraph *graph, gboolean clears_apart);
void gemem_demands_free (GememDemands *demands);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememDemands, gemem_demands_free)

/* Only the ties (ties.c): GArray of GememTie. */
GArray *gemem_graph_ties (const GememGraph *graph);
GEMEM_END_DECLS
