/* test-dry-products.c - products of cuBLAS and cuBLASLt, and plans of cuDNN, in a dry run: what they write is known no longer, and all
 * else stays known.
 */
#include "config.h"

#include <dlfcn.h>

#include "dry/driver/api.h"
#include "tests/util/testutil.h"

static void *library;
static void *cudnn;        /* alone: what measures plans before it needs it preloaded, too */
static CUdeviceptr memory; /* of which the host wrote the first 4 KiB */

#define CALL(name, types, ...) (((int (*) types) test_symbol (library, name)) (__VA_ARGS__))
#define EXECUTE(...) \
  (((int (*) (void *, void *, void *)) test_symbol (cudnn, "cudnnBackendExecute")) (__VA_ARGS__))
#define OK(call) g_assert_cmpint (call, ==, 0)

static gint32 marks[1024];

static void
mark (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (marks); i++)
    marks[i] = 7;
  OK (CALL ("cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t), memory, marks, sizeof marks));
}

/* Asserts that of the marks those in [@from, @from + @size) are known no longer, and no others; sets all again. */
static void
wrote (gsize from, gsize size)
{
  OK (CALL ("cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), marks, memory, sizeof marks));
  for (gsize i = 0; i < sizeof marks; i += sizeof *marks)
    g_assert_cmpint (marks[i / sizeof *marks], ==, i >= from && i < from + size ? 0 : 7);
  mark ();
}

#define NUMBERS int, int, int
#define OF_64 gint64, gint64, gint64
#define NO NULL

static void
test_cublas (void)
{
  void *const c = (gpointer) (guintptr) (memory + 1024);
  void *const other = (gpointer) (guintptr) (memory + 64);
  void *handle = NULL;

  mark ();
  OK (CALL ("cublasCreate_v2", (void **), &handle));
  wrote (0, 0);
  /* 3 x 4, 5 from one column to the next: the last column has no more than it needs */
  OK (CALL ("cublasSgemm_v2",
            (void *, int, int, NUMBERS, void *, void *, int, void *, int, void *, void *, int),
            handle, 0, 0, 3, 4, 9, NO, NO, 3, NO, 9, NO, c, 5));
  wrote (1024, (3 * 5 + 3) * 4);
  OK (CALL (
      "cublasDgemm_v2_64",
      (void *, int, int, OF_64, void *, void *, gint64, void *, gint64, void *, void *, gint64),
      handle, 0, 0, 3, 4, 9, NO, NO, 3, NO, 9, NO, c, 5));
  wrote (1024, (3 * 5 + 3) * 8);
  OK (CALL ("cublasGemmEx",
            (void *, int, int, NUMBERS, void *, void *, int, int, void *, int, int, void *, void *,
             int, int, int, int),
            handle, 0, 0, 4, 4, 9, NO, NO, 14, 4, NO, 14, 9, NO, c, 14, 4, 68, -1)); /* bfloat16 */
  wrote (1024, 4 * 4 * 2);
  OK (CALL ("cublasSgemmStridedBatched",
            (void *, int, int, NUMBERS, void *, void *, int, gint64, void *, int, gint64, void *,
             void *, int, gint64, int),
            handle, 0, 0, 3, 4, 9, NO, NO, 3, 27, NO, 9, 36, NO, c, 5, 100, 3));
  wrote (1024, (2 * 100 + 3 * 5 + 3) * 4);
  OK (CALL ("cublasGemmStridedBatchedEx",
            (void *, int, int, NUMBERS, void *, void *, int, int, gint64, void *, int, int, gint64,
             void *, void *, int, int, gint64, int, int, int),
            handle, 0, 0, 4, 4, 9, NO, NO, 2, 4, 36, NO, 2, 9, 36, NO, c, 2, 4, -16, 3, 64, -1));
  wrote (1024 - 2 * 16 * 2, 3 * 16 * 2); /* one matrix before the other */
  OK (CALL ("cublasSgemv_v2",
            (void *, int, int, int, void *, void *, int, void *, int, void *, void *, int), handle,
            1, 3, 8, NO, NO, 3, NO, 1, NO, c, -2));
  wrote (1024, (7 * 2 + 1) * 4);
  OK (CALL ("cublasSgemm_v2",
            (void *, int, int, NUMBERS, void *, void *, int, void *, int, void *, void *, int),
            handle, 0, 0, 0, 4, 9, NO, NO, 3, NO, 9, NO, c, 5));
  wrote (0, 0);

  /* a workspace of the program's may be written, until the stream is another */
  OK (CALL ("cublasSetWorkspace_v2", (void *, void *, size_t), handle, other, 256));
  wrote (0, 0);
  OK (CALL ("cublasSgemv_v2",
            (void *, int, int, int, void *, void *, int, void *, int, void *, void *, int), handle,
            0, 0, 8, NO, NO, 3, NO, 1, NO, c, 1));
  wrote (64, 256);
  OK (CALL ("cublasSetStream_v2", (void *, void *), handle, NULL));
  OK (CALL ("cublasSgemv_v2",
            (void *, int, int, int, void *, void *, int, void *, int, void *, void *, int), handle,
            0, 3, 8, NO, NO, 3, NO, 1, NO, c, 1));
  wrote (1024, 3 * 4);
  OK (CALL ("cublasDestroy_v2", (void *), handle));
}

/* cublasLtMatmul(): a result of float, 3 x 4, with these attributes of its layout and of the product. */
static void
multiply (int order, gint64 leading, gint32 batch, gint64 step, gint32 epilogue, guint64 amax,
          gsize workspace)
{
  void *layout = NULL, *desc = NULL;

  OK (CALL ("cublasLtMatrixLayoutCreate", (void **, int, guint64, guint64, gint64), &layout, 0, 3,
            4, leading));
#define LAYOUT(id, value) \
  OK (CALL ("cublasLtMatrixLayoutSetAttribute", (void *, int, void *, size_t), layout, id, &value, \
            sizeof value))
#define DESC(id, value) \
  OK (CALL ("cublasLtMatmulDescSetAttribute", (void *, int, void *, size_t), desc, id, &value, \
            sizeof value))
  LAYOUT (1, order);
  LAYOUT (5, batch);
  LAYOUT (6, step);
  OK (CALL ("cublasLtMatmulDescCreate", (void **, int, int), &desc, 68, 0));
  DESC (7, epilogue);
  DESC (21, amax);
  OK (CALL ("cublasLtMatmul",
            (void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
             CUdeviceptr, void *, void *, CUdeviceptr, size_t, void *),
            NO, desc, NO, NO, NO, NO, NO, NO, NO, NO, memory + 1024, layout, NO, memory + 64,
            workspace, NO));
  OK (CALL ("cublasLtMatmulDescDestroy", (void *), desc));
  OK (CALL ("cublasLtMatrixLayoutDestroy", (void *), layout));
}

static void
test_lt (void)
{
  mark ();
  multiply (0, 5, 1, 0, 1, 0, 0);
  wrote (1024, (3 * 5 + 3) * 4);
  multiply (1, 5, 1, 0, 4, 0, 0); /* by rows, with a bias */
  wrote (1024, (2 * 5 + 4) * 4);
  multiply (0, 3, 2, 50, 1, 0, 0);
  wrote (1024, (50 + 3 * 3 + 3) * 4);
  multiply (2, 96, 1, 0, 1, 0, 0); /* in one tile of 32 columns */
  wrote (1024, 96 * 4);
  multiply (0, 3, 1, 0, 32 | 128, 0, 0); /* GELU whose input is kept for the way back */
  wrote (0, sizeof marks);
  multiply (0, 3, 1, 0, 1, memory, 0); /* its largest value, elsewhere */
  wrote (0, sizeof marks);
  multiply (0, 0, 0, 0, 1, 0, 128); /* of no matrices: the workspace */
  wrote (64, 128);
}

/* A capture on a stream that a product launches to has a node of it. */
static void
test_captured (void)
{
  CUgraph graph = NULL;
  CUstream stream = NULL;
  void *handle = NULL;
  size_t n = 0;

  OK (CALL ("cublasCreate_v2", (void **), &handle));
  OK (CALL ("cuStreamCreate", (CUstream *, unsigned), &stream, CU_STREAM_NON_BLOCKING));
  OK (CALL ("cublasSetStream_v2", (void *, void *), handle, stream));
  OK (CALL ("cuStreamBeginCapture_v2", (CUstream, unsigned), stream, 0));
  OK (CALL ("cublasSgemv_v2",
            (void *, int, int, int, void *, void *, int, void *, int, void *, void *, int), handle,
            0, 3, 8, NO, NO, 3, NO, 1, NO, NO, 1));
  OK (CALL ("cuStreamEndCapture", (CUstream, CUgraph *), stream, &graph));
  OK (CALL ("cuGraphGetNodes", (CUgraph, CUgraphNode *, size_t *), graph, NULL, &n));
  g_assert_cmpuint (n, ==, 1);
  OK (CALL ("cuGraphDestroy", (CUgraph), graph));
  OK (CALL ("cublasDestroy_v2", (void *), handle));
}

/* A plan of cuDNN's may write to each address of its pack, up to the end of the allocation, and to nothing before the first. */
static void
test_plan (void)
{
  void *pack = NULL, *on_host = &pack;
  gint32 other = 7;
  CUdeviceptr second = 0, addresses[] = { memory + 1024, (guintptr) on_host };

  mark ();
  OK (CALL ("cuMemAlloc_v2", (CUdeviceptr *, size_t), &second, 4096));
  OK (CALL ("cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t), second, &other, sizeof other));
  OK (CALL ("cudnnBackendCreateDescriptor", (int, void **), 14, &pack));
  OK (CALL ("cudnnBackendSetAttribute", (void *, int, int, gint64, void *), pack, 1001, 6, 2,
            addresses));
  OK (EXECUTE (NULL, NULL, pack));
  wrote (0,
         sizeof marks); /* one copy made all of them: what is in one piece is gone in one piece */
  OK (CALL ("cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), &other, second, sizeof other));
  g_assert_cmpint (other, ==, 7);
  OK (CALL ("cudnnBackendSetAttribute", (void *, int, int, gint64, void *), pack, 1003, 6, 1,
            &second)); /* the workspace */
  OK (EXECUTE (NULL, NULL, pack));
  OK (CALL ("cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), &other, second, sizeof other));
  g_assert_cmpint (other, ==, 0);
  OK (CALL ("cudnnBackendDestroyDescriptor", (void *), pack));
  mark ();
  OK (CALL ("cudnnPoolingForward",
            (void *, void *, void *, void *, void *, void *, void *, CUdeviceptr), NULL, NULL, NULL,
            NULL, NULL, NULL, NULL, second));
  wrote (0, 0);
  OK (CALL ("cuMemFree_v2", (CUdeviceptr), second));
}

int
main (int argc, char **argv)
{
  CUcontext context;

  g_test_init (&argc, &argv, NULL);
  g_setenv ("GEMEM_DRY", "1", TRUE);
  test_open_library (".libs/libgemem-dry.so", RTLD_NOW | RTLD_GLOBAL);
  cudnn = test_open_library (".libs/libgemem-dry-cudnn.so", RTLD_NOW | RTLD_GLOBAL);
  library = dlopen (NULL, RTLD_NOW);
  OK (CALL ("cuInit", (unsigned), 0));
  OK (CALL ("cuDevicePrimaryCtxRetain", (CUcontext *, int), &context, 0));
  OK (CALL ("cuCtxSetCurrent", (CUcontext), context));
  OK (CALL ("cuMemAlloc_v2", (CUdeviceptr *, size_t), &memory, 1 << 20));
  g_test_add_func ("/products/cublas", test_cublas);
  g_test_add_func ("/products/lt", test_lt);
  g_test_add_func ("/products/captured", test_captured);
  g_test_add_func ("/products/plan", test_plan);
  return g_test_run ();
}
