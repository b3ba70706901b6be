/* check-roles.h - which nodes use, and which start, each class of items in a graph: the
 * checker decides from these two sets whether y may follow x.
 *
 * Users of a class (the extended symbol, `wide` of demand.h) are all nodes that read or write a
 * member; starters are those that write one, and the memset that clears it.  Of the users on one
 * chain (graphs/order.h) with one label only the last is kept, of the starters only the first, so a
 * set has at most one node per chain and label, plus all nodes without a chain.
 *
 * Owners of subgraphs are neither users nor starters; their inner nodes are, by reference.  Data
 * nodes are neither: their memory is written before the run, or by reference.
 *
 * Cost: O(items + edges), each class sorted once.  Origin: ge-static.md 9.1, 9.2.
 */
#pragma once

#include "graphs/order.h"
#include "planners/demand.h"

GEMEM_BEGIN_DECLS

/* A node that uses or starts a class. */
typedef struct
{
  guint32 chain, label, node;
} GememPart;

/* The parts of class c: parts[first[c]] .. parts[first[c] + n[c]]. */
typedef struct
{
  guint32 *first, *n;
  GememPart *parts;
} GememParts;

typedef struct
{
  const GememGraph *graph;
  GememDemands *demands;
  GememGraphOrder *order;
  guint32 *label; /* per node: number of its batch label, from 1; 0: none */
  guint32 n_labels;
  GememParts users, starters; /* by wide class */
} GememRoles;

GememRoles *gemem_roles_new (const GememGraph *graph, gboolean clears_apart);
void gemem_roles_free (GememRoles *roles);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememRoles, gemem_roles_free)

GEMEM_END_DECLS
