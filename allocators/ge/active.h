/* active.h - the state of `ge-active`, shared by active.c and active-report.c. */
#pragma once

#include "allocators/ge/active-blocks.h"
#include "allocators/ge/stack.h"

typedef struct
{
  GeStackParams stack; /* first: the rows of the stack count from here */
  int           policy, policy2;
} GeActiveParams;

/* A loaded graph. */
typedef struct
{
  GArray  *pieces; /* GeActivePiece; none where policy 2 is as documented */
  gboolean bound;  /* the pieces have pages                        */
  gboolean shares; /* it has memory besides the fixed              */
  gboolean fixed;  /* it has fixed memory, from the fixed range    */
} GeActiveGraph;

/* A session: its static memory, and the dynamic memory beside it. */
typedef struct
{
  GememAllocator base;
  GeStack       *stack;
  gboolean       paged;      /* policy 4 */
  gboolean       documented; /* policy 2 as documented: `address`, `size`, `loads` instead of `active` */
  guint64        address, size, loads;
  GeSessionRange range;      /* if paged */
  GeActive       active;
  GeSessionRange fixed;      /* FixedBaseExpandableAllocator: one address for the fixed segments of all graphs */
  GePages        fixed_pages; /* its pages, unless paged */
  GememIdMap    *graphs;     /* id -> GeActiveGraph * */
} GeSession;

/* active-report.c */
void     gemem_ge_active_report_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data);
gboolean gemem_ge_active_report_check (GememAllocator *allocator, GError **error);
void     gemem_ge_active_report_stats (GememAllocator *allocator, GememStatFunc func, gpointer data);
