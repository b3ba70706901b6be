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
};

typedef struct
{
  void *address;
  gsize size;
} CublasWorkspace;

/* Bytes of an element of @type (cudaDataType); @otherwise, if it is none that is known. */
gsize cublas_type_size (int type, gsize otherwise);

/* A function wrote @size bytes there; nothing, at NULL. */
void cublas_wrote (gconstpointer to, gsize size);

/* A function wrote @matrices matrices at @to, of @columns columns of @rows elements of @size bytes
 * each: @leading elements from one column to the next, @step from one matrix to the next. */
void cublas_wrote_matrices (gconstpointer to, gint64 rows, gint64 columns, gint64 leading,
                            gint64 matrices, gint64 step, gsize size);
