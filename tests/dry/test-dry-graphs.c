/* test-dry-graphs.c - graphs of the driver in a dry run: nodes keep the parameters with which they were captured or added.
 */
#include "config.h"

#include <dlfcn.h>

#define DRIVER_API_LATEST
#include "dry/driver/api.h"
#include "tests/util/testutil.h"

#define MIB ((size_t) 1 << 20)

/* clang-format off */
#define FUNCTIONS(F) \
  F (cuInit) F (cuDevicePrimaryCtxRetain) F (cuCtxSetCurrent) \
  F (cuEventCreate) F (cuGraphAddChildGraphNode) F (cuGraphAddEventRecordNode) F (cuGraphAddKernelNode_v2) \
  F (cuGraphChildGraphNodeGetGraph) F (cuGraphClone) F (cuGraphCreate) F (cuGraphDestroy) \
  F (cuGraphEventRecordNodeGetEvent) F (cuGraphEventRecordNodeSetEvent) F (cuGraphGetNodes) \
  F (cuGraphHostNodeGetParams) F (cuGraphHostNodeSetParams) F (cuGraphInstantiateWithFlags) \
  F (cuGraphKernelNodeGetParams) F (cuGraphKernelNodeGetParams_v2) F (cuGraphKernelNodeSetParams_v2) \
  F (cuGraphLaunch) F (cuGraphMemAllocNodeGetParams) F (cuGraphMemFreeNodeGetParams) \
  F (cuGraphMemcpyNodeGetParams) F (cuGraphMemsetNodeGetParams) F (cuGraphMemsetNodeSetParams) \
  F (cuGraphNodeGetType) F (cuLaunchHostFunc) F (cuLaunchKernel) F (cuMemAlloc) F (cuMemAllocAsync) \
  F (cuMemFreeAsync) F (cuMemcpyHtoDAsync) F (cuMemsetD8Async) F (cuModuleGetFunction) F (cuModuleLoadData) \
  F (cuStreamBeginCapture) F (cuStreamCreate) F (cuStreamEndCapture)
/* clang-format on */

static struct
{
#define MEMBER(name) __typeof__ (name) *name;
  FUNCTIONS (MEMBER)
#undef MEMBER
} cu;
static void *library;

#define STRINGIFY(name) #name /* of what the name stands for */
#define SYMBOL(name) STRINGIFY (name)
#define OK(call) g_assert_cmpint (call, ==, CUDA_SUCCESS)
#define REFUSED(code, call) g_assert_cmpint (call, ==, code)

static void
count (void *data)
{
  ++*(guint *) data;
}

/* What was captured, and added, can be asked for, as libraries do with what they capture to look at it; arguments are the node's. */
static void
test_nodes (void)
{
  static const char image[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                              ".visible .entry kernel (.param .u64 a, .param .u32 b) { ret; }\n";
  CUdeviceptr memory, address, inside;
  guint32 number = 7, calls = 0;
  void *arguments[] = { &address, &number };
  CUDA_KERNEL_NODE_PARAMS_v1 first;
  CUDA_KERNEL_NODE_PARAMS kernel;
  CUDA_MEMSET_NODE_PARAMS fill;
  CUDA_HOST_NODE_PARAMS host;
  CUDA_MEM_ALLOC_NODE_PARAMS block;
  CUDA_MEMCPY3D copy;
  CUgraph graph, outer, copied, child;
  CUgraphNode nodes[7], others[7], node;
  CUgraphNodeType type;
  CUfunction function, unread;
  CUevent events[2], event;
  CUgraphExec exec;
  CUmodule module;
  CUstream stream;
  size_t n = G_N_ELEMENTS (nodes);
  guint8 bytes[64] = { 1 };

  OK (cu.cuModuleLoadData (&module, image));
  OK (cu.cuModuleGetFunction (&function, module, "kernel"));
  OK (cu.cuModuleLoadData (&module, "image"));
  OK (cu.cuModuleGetFunction (&unread, module, "unread"));
  OK (cu.cuMemAlloc (&memory, MIB));
  OK (cu.cuStreamCreate (&stream, CU_STREAM_NON_BLOCKING));

  OK (cu.cuStreamBeginCapture (stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  address = memory;
  OK (cu.cuLaunchKernel (function, 5, 4, 3, 32, 2, 1, 1024, stream, arguments, NULL));
  OK (cu.cuMemsetD8Async (0x80, 9, 1000, stream)); /* an address that is none: nothing is written */
  OK (cu.cuMemcpyHtoDAsync (memory + 64, bytes, sizeof bytes, stream));
  OK (cu.cuLaunchHostFunc (stream, count, &calls));
  OK (cu.cuMemAllocAsync (&inside, MIB, stream));
  OK (cu.cuMemFreeAsync (inside, stream));
  OK (cu.cuLaunchKernel (unread, 2, 1, 1, 32, 1, 1, 0, stream, arguments, NULL));
  OK (cu.cuStreamEndCapture (stream, &graph));
  OK (cu.cuGraphGetNodes (graph, nodes, &n));
  g_assert_cmpuint (n, ==, 7);

  address = number = 0; /* the node has its own */
  OK (cu.cuGraphKernelNodeGetParams_v2 (nodes[0], &kernel));
  g_assert_true (kernel.func == function && kernel.kern == NULL && kernel.extra == NULL);
  g_assert_cmpuint (kernel.gridDimX * 100 + kernel.gridDimY * 10 + kernel.gridDimZ, ==, 543);
  g_assert_cmpuint (kernel.blockDimX * 100 + kernel.blockDimY * 10 + kernel.blockDimZ, ==, 3221);
  g_assert_cmpuint (kernel.sharedMemBytes, ==, 1024);
  g_assert_cmpuint (*(CUdeviceptr *) kernel.kernelParams[0], ==, memory);
  g_assert_cmpuint (*(guint32 *) kernel.kernelParams[1], ==, 7);
  memset (&first, 0xff, sizeof first);
  OK (cu.cuGraphKernelNodeGetParams (nodes[0], &first));
  g_assert_cmpmem (&first, sizeof first, &kernel, sizeof first);
  kernel.gridDimX = 6; /* with the arguments that it has */
  OK (cu.cuGraphKernelNodeSetParams_v2 (nodes[0], &kernel));
  OK (cu.cuGraphKernelNodeGetParams_v2 (nodes[0], &kernel));
  g_assert_cmpuint (kernel.gridDimX, ==, 6);
  g_assert_cmpuint (*(guint32 *) kernel.kernelParams[1], ==, 7);

  OK (cu.cuGraphMemsetNodeGetParams (nodes[1], &fill));
  g_assert_cmpuint (fill.dst, ==, 0x80);
  g_assert_cmpuint (fill.value * 10 + fill.elementSize, ==, 91);
  g_assert_cmpuint (fill.width * fill.height, ==, 1000);
  fill.dst = memory;
  OK (cu.cuGraphMemsetNodeSetParams (nodes[1], &fill));
  OK (cu.cuGraphMemsetNodeGetParams (nodes[1], &fill));
  g_assert_cmpuint (fill.dst, ==, memory);
  OK (cu.cuGraphMemcpyNodeGetParams (nodes[2], &copy));
  g_assert_cmpuint (copy.dstDevice, ==, memory + 64);
  g_assert_cmpuint (copy.srcDevice, ==, (guintptr) bytes);
  g_assert_cmpuint (copy.WidthInBytes * copy.Height * copy.Depth, ==, sizeof bytes);
  OK (cu.cuGraphHostNodeGetParams (nodes[3], &host));
  g_assert_true (host.fn == count && host.userData == &calls);
  OK (cu.cuGraphMemAllocNodeGetParams (nodes[4], &block));
  g_assert_cmpuint (block.dptr, ==, inside);
  g_assert_cmpuint (block.bytesize, ==, MIB);
  OK (cu.cuGraphMemFreeNodeGetParams (nodes[5], &address));
  g_assert_cmpuint (address, ==, inside);
  /* of another type; of a kernel whose image says nothing */
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuGraphMemsetNodeGetParams (nodes[0], &fill));
  REFUSED (CUDA_ERROR_NOT_SUPPORTED, cu.cuGraphKernelNodeGetParams_v2 (nodes[6], &kernel));

  /* a copy has its own nodes; what a graph inside calls on the host is called */
  OK (cu.cuGraphClone (&copied, graph));
  OK (cu.cuGraphCreate (&outer, 0));
  OK (cu.cuGraphAddChildGraphNode (&node, outer, NULL, 0, copied));
  OK (cu.cuGraphDestroy (copied));
  OK (cu.cuGraphDestroy (graph));
  OK (cu.cuGraphNodeGetType (node, &type));
  g_assert_cmpuint (type, ==, CU_GRAPH_NODE_TYPE_GRAPH);
  OK (cu.cuGraphChildGraphNodeGetGraph (node, &child));
  OK (cu.cuGraphGetNodes (child, others, &n));
  g_assert_cmpuint (n, ==, 7);
  OK (cu.cuGraphKernelNodeGetParams_v2 (others[0], &kernel));
  g_assert_cmpuint (kernel.gridDimX, ==, 6);
  g_assert_cmpuint (*(guint32 *) kernel.kernelParams[1], ==, 7);
  REFUSED (CUDA_ERROR_NOT_SUPPORTED, cu.cuGraphKernelNodeGetParams_v2 (others[6], &kernel));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuGraphKernelNodeGetParams_v2 (nodes[0], &kernel));
  OK (cu.cuGraphInstantiateWithFlags (&exec, outer, 0));
  OK (cu.cuGraphLaunch (exec, stream));
  g_assert_cmpuint (calls, ==, 1);
  host.userData = bytes;
  OK (cu.cuGraphHostNodeSetParams (others[3], &host));
  OK (cu.cuGraphLaunch (exec, stream)); /* as it was made executable */
  g_assert_cmpuint (calls, ==, 2);

  /* added one by one, also a kernel with its arguments in one buffer */
  number = 8;
  n = sizeof number;
  kernel = (CUDA_KERNEL_NODE_PARAMS){
    .func = function,
    .gridDimX = 1,
    .extra = (void *[]){ CU_LAUNCH_PARAM_BUFFER_POINTER, &number, CU_LAUNCH_PARAM_BUFFER_SIZE, &n,
                         CU_LAUNCH_PARAM_END },
  };
  OK (cu.cuGraphAddKernelNode_v2 (&node, outer, NULL, 0, &kernel));
  number = n = 0;
  OK (cu.cuGraphKernelNodeGetParams_v2 (node, &kernel));
  g_assert_cmpuint (*(guint32 *) kernel.extra[1] + 10 * *(size_t *) kernel.extra[3], ==, 48);
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuGraphAddKernelNode_v2 (&node, outer, NULL, 0, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (events); i++)
    OK (cu.cuEventCreate (&events[i], CU_EVENT_DEFAULT));
  OK (cu.cuGraphAddEventRecordNode (&node, outer, NULL, 0, events[0]));
  OK (cu.cuGraphEventRecordNodeSetEvent (node, events[1]));
  OK (cu.cuGraphEventRecordNodeGetEvent (node, &event));
  g_assert_true (event == events[1]);
  OK (cu.cuGraphDestroy (outer));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuGraphGetNodes (child, others, &n));
}

/* The runtime's functions give the driver's nodes the driver's parameters. */
static void
test_runtime (void)
{
  int (*create) (CUgraph *, unsigned), (*add) (CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                                               void *, const void *, size_t, int);
  CUDA_MEMCPY3D copy;
  CUdeviceptr memory;
  CUgraphNode node;
  CUgraph graph;
  guint8 bytes[64];

  *(gpointer *) &create = dlsym (library, "cudaGraphCreate");
  *(gpointer *) &add = dlsym (library, "cudaGraphAddMemcpyNode1D");
  OK (cu.cuMemAlloc (&memory, MIB));
  OK (create (&graph, 0));
  OK (add (&node, graph, NULL, 0, (gpointer) (guintptr) memory, bytes, sizeof bytes, 1));
  OK (cu.cuGraphMemcpyNodeGetParams (node, &copy));
  g_assert_cmpuint (copy.dstDevice, ==, memory);
  g_assert_cmpuint (copy.srcDevice, ==, (guintptr) bytes);
  g_assert_cmpuint (copy.WidthInBytes * copy.Height * copy.Depth, ==, sizeof bytes);
  OK (cu.cuGraphDestroy (graph));
}

int
main (int argc, char **argv)
{
  CUcontext context;

  g_test_init (&argc, &argv, NULL);
  g_setenv ("GEMEM_DRY", "1", TRUE);
  library = test_open_library (".libs/libgemem-dry.so", RTLD_NOW | RTLD_LOCAL);
#define FIND(name) *(gpointer *) &cu.name = test_symbol (library, SYMBOL (name));
  FUNCTIONS (FIND)
#undef FIND
  OK (cu.cuInit (0));
  OK (cu.cuDevicePrimaryCtxRetain (&context, 0));
  OK (cu.cuCtxSetCurrent (context));
  g_test_add_func ("/dry-graphs/nodes", test_nodes);
  g_test_add_func ("/dry-graphs/runtime", test_runtime);
  return g_test_run ();
}
