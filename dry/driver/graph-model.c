/* graph-model.c - what a graph of the stand-in driver is: nodes, and the parameters that they keep.
 *
 * A node keeps what it was added with, or what was captured, in the driver's own struct for a node of any kind (CUgraphNodeParams).
 * None of it is carried out, but for functions of the host (graphs.c). It matters all the same: libraries capture work to
 * look at it. The heuristics of cuDNN 9.28 capture plans on addresses that are none, and rate them by the blocks of their kernels.
 *
 * Invariants: arguments of kernels, and child graphs, are the node's own. Not known are the parameters of nodes that stand for work
 * of libraries and for captured launches of graphs, and of kernels whose image does not say how large their arguments are:
 * questions about them fail, which the report says.
 */
#include "config.h"

#include <string.h>

#include "dry/driver/areas.h"
#include "dry/driver/graphs.h"
#include "dry/driver/kernels.h"

/* ---- what a node keeps */

/* The arguments of a launch that has all of them in one buffer. */
typedef struct
{
  void *extra[5];
  size_t size;
  guint8 bytes[];
} Buffer;

const guint8 *
gemem_driver_parameter_buffer (void **extra, gsize *size)
{
  const guint8 *buffer = NULL;

  *size = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2)
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = extra[1];
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
      *size = *(const size_t *) extra[1];
    else
      return NULL;
  return buffer;
}

static gpointer
keep_buffer (CUDA_KERNEL_NODE_PARAMS *kernel)
{
  gsize size;
  const guint8 *bytes = gemem_driver_parameter_buffer (kernel->extra, &size);
  Buffer *buffer;

  if (bytes == NULL)
    return NULL;
  buffer = g_malloc (sizeof *buffer + size);
  *buffer = (Buffer){ { CU_LAUNCH_PARAM_BUFFER_POINTER, buffer->bytes, CU_LAUNCH_PARAM_BUFFER_SIZE,
                        &buffer->size, CU_LAUNCH_PARAM_END },
                      size };
  memcpy (buffer->bytes, bytes, size);
  kernel->extra = buffer->extra;
  return buffer;
}

#define ALIGNED(size) (((gsize) (size) + 15) / 16 * 16)

static gpointer
keep_arguments (CUDA_KERNEL_NODE_PARAMS *kernel, const GArray *sizes)
{
  const gsize array = ALIGNED (sizes->len * sizeof (void *));
  gsize bytes = array;
  void **kept;
  guint8 *place;

  for (guint i = 0; i < sizes->len; i++)
    bytes += ALIGNED (g_array_index (sizes, guint16, i));
  kept = g_malloc0 (MAX (bytes, 1));
  place = (guint8 *) kept + array;
  for (guint i = 0; i < sizes->len; i++)
    {
      const guint16 size = g_array_index (sizes, guint16, i);
      kept[i] = memcpy (place, kernel->kernelParams[i], size);
      place += ALIGNED (size);
    }
  kernel->kernelParams = kept;
  return kept;
}

/* Takes the arguments of the kernel of @node, which are the program's. */
static void
take_arguments (DriverNode *node)
{
  CUDA_KERNEL_NODE_PARAMS *kernel = &node->what.kernel;
  const DriverFunction *function = gemem_driver_object (
      kernel->func != NULL ? (gconstpointer) kernel->func : (gconstpointer) kernel->kern,
      KIND_FUNCTION);
  const GArray *sizes = function != NULL && function->needs != NULL ? function->needs->parameters
                                                                    : NULL;

  if (kernel->kernelParams != NULL && sizes != NULL)
    node->kept = keep_arguments (kernel, sizes);
  else if (kernel->kernelParams == NULL && kernel->extra != NULL)
    node->kept = keep_buffer (kernel);
  node->unknown = function == NULL
                  || ((kernel->kernelParams != NULL || kernel->extra != NULL)
                      && node->kept == NULL);
}

void
gemem_driver_graph_set (DriverNode *node, const CUgraphNodeParams *what)
{
  gpointer before = node->kept;

  node->what = *what;
  node->kept = NULL;
  node->unknown = FALSE;
  if (what->type == CU_GRAPH_NODE_TYPE_KERNEL)
    take_arguments (node);
  g_free (before);
}

/* ---- graphs */

static void
free_node (gpointer data)
{
  DriverNode *node = data;
  DriverGraph *child = node->what.type == CU_GRAPH_NODE_TYPE_GRAPH
                           ? gemem_driver_object (node->what.graph.graph, KIND_GRAPH)
                           : NULL;

  if (child != NULL)
    {
      gemem_driver_object_remove (child);
      gemem_driver_object_free (child);
    }
  gemem_driver_object_remove (node);
  g_free (node->kept);
  g_free (node->dependencies);
  g_free (node);
}

static void
finish_graph (gpointer object)
{
  DriverGraph *graph = object;

  g_clear_pointer (&graph->kept, g_array_unref);
  g_ptr_array_unref (graph->nodes);
}

DriverGraph *
gemem_driver_graph_new (void)
{
  DriverGraph *graph = gemem_driver_object_add (g_new0 (DriverGraph, 1), KIND_GRAPH, NULL);

  graph->nodes = g_ptr_array_new_with_free_func (free_node);
  graph->object.finish = finish_graph;
  return graph;
}

DriverNode *
gemem_driver_graph_add (DriverGraph *graph, const CUgraphNodeParams *what,
                        const CUgraphNode *dependencies, gsize n)
{
  DriverNode *node = gemem_driver_object_add (g_new0 (DriverNode, 1), KIND_NODE, NULL);
  const DriverGraph *child = NULL;

  gemem_driver_graph_set (node, what);
  if (what->type == CU_GRAPH_NODE_TYPE_GRAPH)
    {
      child = gemem_driver_object (what->graph.graph, KIND_GRAPH);
      node->unknown = child == NULL;
    }
  if (child != NULL)
    node->what.graph.graph = DRIVER_HANDLE (CUgraph, gemem_driver_graph_copy (child));
  node->n_dependencies = n;
  node->dependencies = g_memdup2 (dependencies, n * sizeof *dependencies);
  g_ptr_array_add (graph->nodes, node);
  return node;
}

DriverGraph *
gemem_driver_graph_copy (const DriverGraph *graph)
{
  DriverGraph *copy = gemem_driver_graph_new ();

  for (guint i = 0; i < graph->nodes->len; i++)
    {
      const DriverNode *node = graph->nodes->pdata[i];
      gemem_driver_graph_add (copy, &node->what, NULL, 0)->unknown = node->unknown;
    }
  return copy;
}

void
gemem_driver_graph_add_work (DriverGraph *graph, const DriverWork *work,
                             const DriverContext *context)
{
  CUgraphNodeParams what = { .type = work->node };
  const CUcontext own = DRIVER_HANDLE (CUcontext, context);

  if (work->node == CU_GRAPH_NODE_TYPE_MEMSET)
    what.memset = (CUDA_MEMSET_NODE_PARAMS_v2){ .dst = work->to,
                                                .value = (guint) work->value,
                                                .elementSize = work->unit,
                                                .width = work->size / work->unit,
                                                .height = 1,
                                                .ctx = own };
  else if (work->node == CU_GRAPH_NODE_TYPE_MEMCPY)
    what.memcpy = (CUDA_MEMCPY_NODE_PARAMS){
      .copyCtx = own,
      .copyParams = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                      .srcDevice = work->from,
                      .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                      .dstDevice = work->to,
                      .WidthInBytes = work->size,
                      .Height = 1,
                      .Depth = 1 },
    };
  else if (work->node == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
    what.alloc = (CUDA_MEM_ALLOC_NODE_PARAMS){
      .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                     .location = { CU_MEM_LOCATION_TYPE_DEVICE,
                                   (int) (work->area->device - gemem_driver.devices) } },
      .bytesize = work->area->size,
      .dptr = work->area->node.address,
    };
  else if (work->node == CU_GRAPH_NODE_TYPE_MEM_FREE)
    what.free.dptr = work->area->node.address;
  gemem_driver_graph_add (graph, &what, NULL, 0);
}
