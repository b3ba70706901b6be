/* engine.h - the state of `ge`: a session of the Ascend Graph Engine on one device, with every kind
 * of memory that ge-runtime.md 7.2 lists; what the engine*.c files share. */
#pragma once

#include "allocators/ge/other-blocks.h"
#include "allocators/ge/run-order.h"
#include "allocators/ge/stack.h"
#include "allocators/ge/static.h"

typedef struct
{
  GeStackParams stack; /* first: the rows of the stack count from here */
  char *environment, *option;
  int rules;
  gboolean strict, as_built;
  int atomic_clean_policy; /* without effect here */
  char *memory_types, *hccl_graphs;
  guint64 rdma_size, variable_option;
  gboolean check_free_memory, feature_base_refreshable, static_model_addr_fixed, external;
} GeEngineParams;

/* A loaded graph, as the program sees it. */
typedef struct
{
  guint64 id, stream;
  GArray *segments;   /* GememGraphSegment: its static memory, for loading it again */
  GArray *workspaces; /* guint64: bytes that it has from dynamic memory while it runs */
  GArray *running;    /* GememBlock: these */
  GArray *kept;       /* GememBlock: fixed segments from dynamic memory */
  GList link;         /* in GeEngine.loaded */
  guint64 run_stream; /* of a run */
  gboolean queued;    /* the host has not waited for that run */
  gboolean loaded;    /* its static memory is there */
  gboolean hccl;      /* may not be unloaded for another graph */
} GeGraph;

typedef struct
{
  GememAllocator base;
  guint policy; /* 0, 2, 3 or 4 */
  gboolean strict, check_free_memory;
  gboolean external;  /* dynamic HBM memory is in other-blocks.h */
  GeStack *hbm, *p2p; /* p2p: NULL where no pool is */
  GeStatic memory;
  GeOtherBlocks others;
  GArray *types; /* GePoolType */
  GArray *hccl;  /* guint64: graphs with HCCL tasks */
  GeRunOrder order;
  GememIdMap *graphs; /* id -> GeGraph * */
  GQueue loaded;      /* GeGraph with static memory, in the order of their loads */
  GememIdMap *inner;  /* set: addresses of dynamic blocks that are memory of graphs */
  guint64 inner_bytes;
  guint64 total; /* device memory, for the estimate; 0: no limit */
  guint64 unloaded, reloaded, concurrent_runs;
} GeEngine;

/* engine-dynamic.c.  A request of dynamic memory, of @stack; of HBM memory, from the pools or, with
 * `external`, the device. */
gboolean gemem_ge_dynamic_alloc_from (GeEngine *ge, GeStack *stack, const GememRequest *request,
                                      GememBlock *block);
gboolean gemem_ge_dynamic_alloc (GeEngine *ge, const GememRequest *request, GememBlock *block);
/* Frees a block that the engine allocated, of any kind of memory. */
void gemem_ge_dynamic_free (GeEngine *ge, const GememBlock *block);

/* engine-graphs.c: members of the class. */
gboolean gemem_ge_graph_load (GememAllocator *allocator, guint64 id, guint64 stream,
                              const GememGraphSegment *segments, guint n, guint64 *address);
gboolean gemem_ge_graph_run (GememAllocator *allocator, guint64 id, guint64 stream, gboolean begin);
void gemem_ge_graph_unload (GememAllocator *allocator, guint64 id);
guint64 gemem_ge_graph_bytes (GememAllocator *allocator);
guint64 gemem_ge_graph_need (GememAllocator *allocator);
void gemem_ge_graph_walk (GememAllocator *allocator, guint64 id, GememSpanFunc func, gpointer data);
/* Frees the records of the graphs; their memory is freed by the parts that own it. */
void gemem_ge_graphs_clear (GeEngine *ge);

/* engine-report.c: members of the class. */
void gemem_ge_report_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data);
gboolean gemem_ge_report_check (GememAllocator *allocator, GError **error);
void gemem_ge_report_stats (GememAllocator *allocator, GememStatFunc func, gpointer data);
void gemem_ge_report_text (GememAllocator *allocator, GString *text);
