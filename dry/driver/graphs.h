/* graphs.h - graphs and their nodes (graph-model.c). */
#pragma once

#include "dry/driver/streams.h"

typedef struct
{
  DriverObject object;
  CUgraphNodeParams what; /* its type and parameters */
  gpointer kept;          /* arguments of its kernel */
  gboolean unknown;       /* what its parameters are */
  CUgraphNode *dependencies;
  gsize n_dependencies;
} DriverNode;

typedef struct
{
  DriverObject object;
  GPtrArray *nodes; /* DriverNode, owned, in the order in which they were added */
  GArray *kept;     /* user objects (user-objects.c), which releases them; NULL: none */
} DriverGraph;

DriverGraph *gemem_driver_graph_new (void);
DriverGraph *gemem_driver_graph_copy (const DriverGraph *graph);
/* A new node, which takes a copy of what @what names. */
DriverNode *gemem_driver_graph_add (DriverGraph *graph, const CUgraphNodeParams *what,
                                    const CUgraphNode *dependencies, gsize n);
/* A node of @work, which is captured in @context. */
void gemem_driver_graph_add_work (DriverGraph *graph, const DriverWork *work,
                                  const DriverContext *context);
/* Gives @node the parameters @what, which may be those that it has. */
void gemem_driver_graph_set (DriverNode *node, const CUgraphNodeParams *what);
/* The buffer that stands for all parameters in the list @extra of a launch, and its size; NULL: none. */
const guint8 *gemem_driver_parameter_buffer (void **extra, gsize *size);

#define GRAPH(handle) \
  DriverGraph *graph = gemem_driver_object (handle, KIND_GRAPH); \
  if (graph == NULL) \
  return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no such graph")
