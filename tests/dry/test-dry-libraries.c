/* test-dry-libraries.c - what libgemem-dry.so answers for NVIDIA's libraries: properties and
 * descriptors are read back as they were set, results in host memory, sizes of parameters, versions,
 * kernels of compiled text.  A process has one file of notes; unknown sizes are in it.
 */
#include "config.h"

#include <dlfcn.h>
#include <string.h>

#include "tests/util/testutil.h"

static void *library;

#define CALL(name, types, ...) (((int (*) types) test_symbol (library, #name)) (__VA_ARGS__))

static void
test_cublas (void)
{
  void *handle = NULL, *stream = NULL;
  int mode = 9, version = 0, index = 9;
  float result = 9;

  g_assert_cmpint (CALL (cublasCreate_v2, (void **), &handle), ==, 0);
  g_assert_cmpint (CALL (cublasCreate_v2, (void **), NULL), ==, 7);
  g_assert_cmpint (CALL (cublasSetStream_v2, (void *, void *), handle, &stream), ==, 0);
  g_assert_cmpint (CALL (cublasGetStream_v2, (void *, void **), handle, &stream), ==, 0);
  g_assert_true (stream == &stream);
  g_assert_cmpint (CALL (cublasGetPointerMode_v2, (void *, int *), handle, &mode), ==, 0);
  g_assert_cmpint (mode, ==, 0);
  g_assert_cmpint (CALL (cublasGetVersion_v2, (void *, int *), handle, &version), ==, 0);
  g_assert_cmpint (version, ==, 120405);
  /* in host memory the result is that of zeros; in device memory it is not touched */
  CALL (cublasSdot_v2, (void *, int, void *, int, void *, int, float *), handle, 4, NULL, 1, NULL,
        1, &result);
  g_assert_cmpfloat (result, ==, 0);
  CALL (cublasIsamax_v2, (void *, int, void *, int, int *), handle, 4, NULL, 1, &index);
  g_assert_cmpint (index, ==, 1);
  CALL (cublasSetPointerMode_v2, (void *, int), handle, 1);
  CALL (cublasGetPointerMode_v2, (void *, int *), handle, &mode);
  g_assert_cmpint (mode, ==, 1);
  result = 9;
  CALL (cublasSdot_v2, (void *, int, void *, int, void *, int, float *), handle, 4, NULL, 1, NULL,
        1, &result);
  g_assert_cmpfloat (result, ==, 9);
  g_assert_cmpint (CALL (cublasDestroy_v2, (void *), handle), ==, 0);
}

/* TRUE if the notes have @line. */
static gboolean
noted (const char *line)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "notes", NULL), *text = NULL;
  return g_file_get_contents (path, &text, NULL, NULL) && strstr (text, line) != NULL;
}

static void
multiply (const guint64 *algo, gsize workspace)
{
  CALL (cublasLtMatmul,
        (void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
         void *, const void *, void *, size_t, void *),
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, algo, NULL,
        workspace, NULL);
}

static void
test_cublaslt (void)
{
  void *preference = NULL, *layout = NULL;
  guint64 limit = 1 << 20, rows = 0;
  guint64 results[12]; /* one cublasLtMatmulHeuristicResult_t */
  gsize written = 0;
  int found = 0;

  memset (results, 0xff, sizeof results);
  CALL (cublasLtMatmulPreferenceCreate, (void **), &preference);
  CALL (cublasLtMatmulPreferenceSetAttribute, (void *, int, void *, size_t), preference, 1, &limit,
        sizeof limit);
  g_assert_cmpint (
      CALL (cublasLtMatmulAlgoGetHeuristic,
            (void *, void *, void *, void *, void *, void *, void *, int, void *, int *), NULL,
            NULL, NULL, NULL, NULL, NULL, preference, 1, results, &found),
      ==, 0);
  g_assert_cmpint (found, ==, 1);
  g_assert_cmpuint (results[8], ==, 0);           /* the workspace */
  g_assert_cmpuint ((guint32) results[9], ==, 0); /* the state */
  /* what the heuristics say matters only to a program that gives less than the limit */
  multiply (results, limit);
  g_assert_false (noted ("workspace cublasLt"));
  multiply (results, limit - 1);
  g_assert_true (noted ("workspace cublasLtMatmulAlgoGetHeuristic 0..1048576\n"));
  CALL (cublasLtMatrixLayoutCreate, (void **, int, guint64, guint64, gint64), &layout, 0, 77, 88,
        77);
  g_assert_cmpint (CALL (cublasLtMatrixLayoutGetAttribute, (void *, int, void *, size_t, size_t *),
                         layout, 2, &rows, sizeof rows, &written),
                   ==, 0);
  g_assert_cmpuint (rows, ==, 77);
  g_assert_cmpuint (written, ==, 8);
  CALL (cublasLtMatrixLayoutDestroy, (void *), layout);
  CALL (cublasLtMatmulPreferenceDestroy, (void *), preference);
}

#define SPACES (void *, void *, int, void *, size_t *, size_t *)

/* What a network keeps for its backward pass is unknown, but not nothing. */
static void
test_kept (void)
{
  gsize size = 9, kept = 9;

  CALL (cudnnGetRNNTempSpaceSizes, SPACES, NULL, NULL, 0, NULL, &size, &kept); /* inference */
  g_assert_cmpuint (size + kept, ==, 0);
  g_assert_false (noted ("workspace cudnnGetRNNTempSpaceSizes (kept"));
  CALL (cudnnGetRNNTempSpaceSizes, SPACES, NULL, NULL, 1, NULL, &size, &kept);
  g_assert_cmpuint (size, ==, 0);
  g_assert_cmpuint (kept, ==, 512);
  g_assert_true (noted ("workspace cudnnGetRNNTempSpaceSizes 0..unknown\n"));
  g_assert_true (noted ("workspace cudnnGetRNNTempSpaceSizes (kept for the backward pass; "
                        "512 bytes instead of 0) 0..unknown\n"));
}

/* The parameters of a network: matrices and biases, counted by hand. */
static gsize
weights (int cell, int direction, int input, int hidden, int projection, int layers)
{
  void *descriptor = NULL, *tensor = NULL, *matrix = NULL, *bias = NULL;
  gsize size = 0;
  const gsize space = 4096;

  CALL (cudnnCreateRNNDescriptor, (void **), &descriptor);
  CALL (cudnnCreateTensorDescriptor, (void **), &tensor);
  CALL (cudnnSetRNNDescriptor_v8,
        (void *, int, int, int, int, int, int, int, int, int, int, int, int, void *, unsigned),
        descriptor, 1, cell, 2, direction, 0, 0, 2, 3, input, hidden, projection, layers, tensor,
        4);
  int told[12];
  void *dropout;
  CALL (cudnnGetRNNDescriptor_v8,
        (void *, int *, int *, int *, int *, int *, int *, int *, int *, int *, int *, int *, int *,
         void **, unsigned *),
        descriptor, told, told + 1, told + 2, told + 3, told + 4, NULL, told + 5, told + 6,
        told + 7, told + 8, told + 9, told + 10, &dropout, (unsigned *) told + 11);
  const int set[] = { 1, cell, 2, direction, 0, 2, 3, input, hidden, projection, layers, 4 };
  g_assert_cmpmem (told, sizeof told, set, sizeof set);
  g_assert_true (dropout == tensor);
  g_assert_cmpint (
      CALL (cudnnGetRNNWeightSpaceSize, (void *, void *, size_t *), NULL, descriptor, &size), ==,
      0);
  CALL (cudnnGetRNNWeightParams,
        (void *, void *, int, size_t, const void *, int, void *, void **, void *, void **), NULL,
        descriptor, 0, size, (void *) space, 1, tensor, &matrix, tensor, &bias);
  if (cell == 2) /* the second matrix of an LSTM follows the first, of hidden rows */
    g_assert_cmpuint ((gsize) matrix - space, ==, (gsize) hidden * (gsize) input * 4);
  CALL (cudnnDestroyRNNDescriptor, (void *), descriptor);
  CALL (cudnnDestroyTensorDescriptor, (void *), tensor);
  return size / 4;
}

static void
test_networks (void)
{
  g_assert_cmpuint (weights (2, 0, 10, 20, 0, 1), ==, 4 * 20 * (10 + 20) + 2 * 4 * 20);
  g_assert_cmpuint (weights (3, 0, 10, 20, 0, 2), ==,
                    3 * 20 * (10 + 20) + 3 * 20 * (20 + 20) + 2 * 2 * 3 * 20);
  g_assert_cmpuint (weights (2, 1, 10, 20, 0, 2), ==,
                    2 * 4 * 20 * (10 + 20) + 2 * 4 * 20 * (40 + 20) + 4 * 2 * 4 * 20);
  g_assert_cmpuint (weights (2, 0, 10, 20, 5, 1), ==, 4 * 20 * (10 + 5) + 5 * 20 + 2 * 4 * 20);
}

static void
test_cudnn (void)
{
  void *x = NULL, *w = NULL, *convolution = NULL;
  int n, c, h, width;
  gsize size = 9;

  g_assert_cmpuint (((size_t (*) (void)) test_symbol (library, "cudnnGetVersion")) (), ==, 90100);
  CALL (cudnnCreateTensorDescriptor, (void **), &x);
  CALL (cudnnCreateFilterDescriptor, (void **), &w);
  CALL (cudnnCreateConvolutionDescriptor, (void **), &convolution);
  CALL (cudnnSetTensor4dDescriptor, (void *, int, int, int, int, int, int), x, 0, 0, 2, 3, 32, 33);
  CALL (cudnnSetFilter4dDescriptor, (void *, int, int, int, int, int, int), w, 0, 0, 16, 3, 3, 5);
  CALL (cudnnSetConvolution2dDescriptor, (void *, int, int, int, int, int, int, int, int),
        convolution, 1, 0, 2, 1, 1, 2, 0, 0);
  g_assert_cmpint (CALL (cudnnGetConvolution2dForwardOutputDim,
                         (void *, void *, void *, int *, int *, int *, int *), convolution, x, w,
                         &n, &c, &h, &width),
                   ==, 0);
  g_assert_cmpint (n, ==, 2);
  g_assert_cmpint (c, ==, 16);
  g_assert_cmpint (h, ==, 16);
  g_assert_cmpint (width, ==, 25);
  CALL (cudnnGetTensorSizeInBytes, (void *, size_t *), x, &size);
  g_assert_cmpuint (size, ==, 2 * 3 * 32 * 33 * 4);
  CALL (cudnnGetConvolutionForwardWorkspaceSize,
        (void *, void *, void *, void *, void *, int, size_t *), NULL, x, w, convolution, x, 1,
        &size);
  g_assert_cmpuint (size, ==, 0);
}

static void
test_cudnn_graph (void)
{
  void *heuristics = NULL, *config = NULL, *plan = NULL, *engine = NULL, *graph = NULL;
  void *copy = NULL, *same;
  gint64 count = 0, workspace = 9, dimensions[4] = { 1, 2, 3, 4 }, back[4] = { 0 };

#define GET (void *, int, int, gint64, gint64 *, void *)
#define SET (void *, int, int, gint64, const void *)
  CALL (cudnnBackendCreateDescriptor, (int, void **), 15, &graph);
  CALL (cudnnBackendSetAttribute, SET, graph, 902, 3, 4, dimensions);
  CALL (cudnnBackendGetAttribute, GET, graph, 902, 3, 4, &count, back);
  g_assert_cmpint (count, ==, 4);
  g_assert_cmpmem (back, sizeof back, dimensions, sizeof dimensions);
  CALL (cudnnBackendCreateDescriptor, (int, void **), 4, &heuristics);
  CALL (cudnnBackendSetAttribute, SET, heuristics, 201, 15, 1, &graph);
  CALL (cudnnBackendGetAttribute, GET, heuristics, 202, 15, 0, &count, NULL);
  g_assert_cmpint (count, ==, 1);
  CALL (cudnnBackendCreateDescriptor, (int, void **), 3, &config);
  CALL (cudnnBackendGetAttribute, GET, heuristics, 202, 15, 1, &count, &config);
  CALL (cudnnBackendCreateDescriptor, (int, void **), 2, &engine);
  CALL (cudnnBackendGetAttribute, GET, config, 300, 15, 1, &count, &engine);
  g_assert_cmpint (count, ==, 1);
  CALL (cudnnBackendGetAttribute, GET, engine, 1301, 3, 1, &count, &workspace);
  g_assert_cmpint (workspace, ==, 0);
  CALL (cudnnBackendCreateDescriptor, (int, void **), 5, &plan);
  workspace = 9;
  CALL (cudnnBackendGetAttribute, GET, plan, 402, 3, 1, &count, &workspace);
  g_assert_cmpint (count, ==, 1);
  g_assert_cmpint (workspace, ==, 0);
  CALL (cudnnBackendSetAttribute, SET, plan, 401, 15, 1, &config);
  CALL (cudnnBackendCreateDescriptor, (int, void **), 3, &copy);
  same = copy;
  CALL (cudnnBackendGetAttribute, GET, plan, 401, 15, 1, &count, &same);
  g_assert_true (same == copy); /* the program's own, which is that of the plan now */
  CALL (cudnnBackendGetAttribute, GET, copy, 300, 15, 0, &count, NULL);
  g_assert_cmpint (count, ==, 1);
}

static void
test_compiler (void)
{
  static const char source[] =
      "extern \"C\" __global__ void\n__launch_bounds__(256) first (float *x) { }\n"
      "extern \"C\" __launch_bounds__(512, 4)\n__global__ void second(int n);\n"
      "template <typename T> __global__ void third (T *x) {}\n";
  static const char *const options[] = { "--gpu-architecture=sm_90" };
  void *program = NULL;
  const char *name = NULL;
  gsize size = 0;

  CALL (nvrtcCreateProgram, (void **, const char *, const char *, int, void *, void *), &program,
        source, "a.cu", 0, NULL, NULL);
  CALL (nvrtcAddNameExpression, (void *, const char *), program, "third<float>");
  g_assert_cmpint (
      CALL (nvrtcCompileProgram, (void *, int, const char *const *), program, 1, options), ==, 0);
  CALL (nvrtcGetPTXSize, (void *, size_t *), program, &size);
  g_autofree char *ptx = g_malloc (size);
  CALL (nvrtcGetPTX, (void *, char *), program, ptx);
  g_assert_cmpuint (strlen (ptx) + 1, ==, size);
  g_assert_nonnull (strstr (ptx, ".target sm_90"));
  g_assert_nonnull (strstr (ptx, ".entry first\n"));
  g_assert_nonnull (strstr (ptx, ".entry second\n"));
  g_assert_cmpint (CALL (nvrtcGetLoweredName, (void *, const char *, const char **), program,
                         "third<float>", &name),
                   ==, 0);
  g_autofree char *entry = g_strdup_printf (".entry %s\n", name);
  g_assert_nonnull (strstr (ptx, entry));
  g_assert_cmpint (
      CALL (nvrtcGetLoweredName, (void *, const char *, const char **), program, "fourth", &name),
      ==, 10);
  CALL (nvrtcDestroyProgram, (void **), &program);
  g_assert_null (program);
}

typedef struct
{
  char bytes[128];
} UniqueId;

static void
test_nccl (void)
{
  UniqueId id;
  void *communicator = NULL, *other = &id;
  int value = 9;

  CALL (ncclGetUniqueId, (UniqueId *), &id);
  g_assert_cmpint (CALL (ncclCommInitRank, (void **, int, UniqueId, int), &communicator, 8, id, 3),
                   ==, 0);
  CALL (ncclCommCount, (void *, int *), communicator, &value);
  g_assert_cmpint (value, ==, 8);
  CALL (ncclCommUserRank, (void *, int *), communicator, &value);
  g_assert_cmpint (value, ==, 3);
  /* ncclCommProperties_t, of a version that has 8 bytes behind the first six */
  struct
  {
    size_t size;
    unsigned magic, version;
    int numbers[4], more[2], behind;
  } properties = { .size = 40, .more = { 7, 7 }, .behind = 7 };
  g_assert_cmpint (CALL (ncclCommQueryProperties, (void *, void *), communicator, &properties), ==,
                   0);
  g_assert_cmpint (properties.numbers[0], ==, 3);
  g_assert_cmpint (properties.numbers[1], ==, 8);
  g_assert_cmpint (properties.numbers[2] + properties.numbers[3], ==, 0); /* device 0 */
  g_assert_cmpint (properties.more[0] + properties.more[1], ==, 0);
  g_assert_cmpint (properties.behind, ==, 7);
  properties.size = 24; /* not of this struct */
  g_assert_cmpint (CALL (ncclCommQueryProperties, (void *, void *), communicator, &properties), ==,
                   4);
  CALL (ncclCommSplit, (void *, int, int, void **, void *), communicator, -1, 0, &other, NULL);
  g_assert_null (other);
  g_assert_cmpint (CALL (ncclCommInitRank, (void **, int, UniqueId, int), &other, 8, id, 8), ==, 4);
  CALL (ncclCommDestroy, (void *), communicator);
}

/* A generator allocates its state itself. */
static void
test_curand (void)
{
  gpointer generator = NULL;

  CALL (curandCreateGenerator, (void **, int), &generator, 100);
  g_assert_nonnull (generator);
  CALL (curandDestroyGenerator, (void *), generator);
  g_assert_true (noted ("workspace curandCreateGenerator 0..unknown\n"));
}

/* Everything above that only the real library knows. */
static void
test_notes (void)
{
  g_assert_true (noted ("workspace cudnnGetConvolutionForwardWorkspaceSize 0..unknown\n"));
  g_assert_true (noted ("value cublasSdot_v2\n"));
}

/* Sizes as gemem-dry-run --workspaces chooses them. */
static void
test_chosen_sizes (void)
{
  gsize size = 0;
  int elements = 0;

  g_setenv ("GEMEM_DRY_WORKSPACES", "8589934592", TRUE);
  CALL (cudnnGetConvolutionForwardWorkspaceSize,
        (void *, void *, void *, void *, void *, int, size_t *), NULL, NULL, NULL, NULL, NULL, 1,
        &size);
  g_assert_cmpuint (size, ==, G_GUINT64_CONSTANT (8589934592));
  CALL (cusolverDnSpotrf_bufferSize, (void *, int, int, void *, int, int *), NULL, 0, 8, NULL, 8,
        &elements);
  g_assert_cmpint (elements, ==, G_MAXINT);
  CALL (cudnnGetRNNTempSpaceSizes, SPACES, NULL, NULL, 1, NULL, NULL, &size);
  g_assert_cmpuint (size, ==, G_GUINT64_CONSTANT (8589934592));
  g_unsetenv ("GEMEM_DRY_WORKSPACES");
}

int
main (int argc, char **argv)
{
  static const char *const modules[] = { ".libs/libgemem-dry.so", ".libs/libgemem-dry-cudnn.so",
                                         ".libs/libgemem-dry-rand.so", ".libs/libgemem-dry-fft.so",
                                         ".libs/libgemem-dry-solvers.so" };

  g_test_init (&argc, &argv, NULL);
  g_autofree char *notes = g_build_filename (test_tmpdir (), "notes", NULL);
  g_setenv ("GEMEM_DRY", "1", TRUE);
  g_setenv ("GEMEM_DRY_NOTES", notes, TRUE);
  g_setenv ("GEMEM_DRY_CUBLAS", "12.4.5.8", TRUE);
  g_setenv ("GEMEM_DRY_CUDNN", "9.1.0.70", TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (modules); i++)
    test_open_library (modules[i], RTLD_NOW | RTLD_GLOBAL);
  library = dlopen (NULL, RTLD_NOW);
  g_test_add_func ("/libraries/cublas", test_cublas);
  g_test_add_func ("/libraries/cublaslt", test_cublaslt);
  g_test_add_func ("/libraries/cudnn", test_cudnn);
  g_test_add_func ("/libraries/curand", test_curand);
  g_test_add_func ("/libraries/cudnn-networks", test_networks);
  g_test_add_func ("/libraries/cudnn-kept", test_kept);
  g_test_add_func ("/libraries/cudnn-graph", test_cudnn_graph);
  g_test_add_func ("/libraries/compiler", test_compiler);
  g_test_add_func ("/libraries/nccl", test_nccl);
  g_test_add_func ("/libraries/chosen-sizes", test_chosen_sizes);
  g_test_add_func ("/libraries/notes", test_notes);
  return g_test_run ();
}
