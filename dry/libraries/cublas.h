/* cublas.h - what the files of cuBLAS and cuBLASLt share: attributes of a handle, and what a
 * product writes.
 *
 * Invariant: what is said to be written is no less than what the real function may write there.
 */
#pragma once

#include "dry/libraries/library.h"

/* What a handle of cuBLAS keeps (gemem_library_keep()). */
enum
{
  CUBLAS_STREAM = 1,
  CUBLAS_POINTER_MODE, /* 0: scalars are in host memory, 1: in device memory */
  CUBLAS_ATOMICS_MODE,
  CUBLAS_MATH_MODE,
  CUBLAS_SM_COUNT_TARGET,
  CUBLAS_LOGGER,
  CUBLAS_WORKSPACE, /* a CublasWorkspace, while the program's is used */
  CUBLAS_INSTALLED, /* the handle of the installed library */
};

typedef struct
{
  void *address;
  gsize size;
} CublasWorkspace;

#define CUBLAS_SUCCESS 0
#define CUBLAS_ALLOC_FAILED 3

/* Numbers of attributes of cuBLASLt, from cublasLt.h, which a descriptor keeps. */
enum
{
  CUBLASLT_LAYOUT_TYPE = 0,
  CUBLASLT_LAYOUT_ROWS = 2,
  CUBLASLT_LAYOUT_COLUMNS,
  CUBLASLT_LAYOUT_LEADING,
  CUBLASLT_DESC_COMPUTE_TYPE = 0,
  CUBLASLT_DESC_SCALE_TYPE,
};

/* *@own: a handle of the installed cuBLAS, which takes its memory of the device; NULL: there is none (cublas-installed.c).  Returns a status:
 * success, or that memory was refused. */
int cublas_installed_create (void **own);
void cublas_installed_destroy (void *own);

/* What the installed cuBLASLt answers cublasLtMatmulAlgoGetHeuristic() for descriptors of the stand-in (cublaslt-installed.c): at most @wanted
 * @results, *@found.  FALSE: there is none that answers. */
gboolean cublaslt_installed_heuristic (gconstpointer desc, gconstpointer const layouts[4],
                                       gconstpointer preference, int wanted, void *results,
                                       int *found);

/* Bytes of an element of @type (cudaDataType); @otherwise, if it is none that is known. */
gsize cublas_type_size (int type, gsize otherwise);

/* A function wrote @size bytes there; nothing, at NULL. */
void cublas_wrote (gconstpointer to, gsize size);

/* A function wrote @matrices matrices at @to, of @columns columns of @rows elements of @size bytes
 * each: @leading elements from one column to the next, @step from one matrix to the next. */
void cublas_wrote_matrices (gconstpointer to, gint64 rows, gint64 columns, gint64 leading,
                            gint64 matrices, gint64 step, gsize size);
