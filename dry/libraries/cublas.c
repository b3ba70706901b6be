/* cublas.c - cuBLAS: handles with their properties, results in host memory (library.h).
 *
 * Products are in cublas-products.c; solvers and others only launch work: harmless.def. A result
 * that the program wants in host memory (pointer mode "host") is that of zeros.
 */
#include "config.h"

#include <string.h>

#include "dry/driver/remembered.h"
#include "dry/libraries/cublas.h"

#define SUCCESS 0
#define NOT_INITIALIZED 1
#define INVALID_VALUE 7

/* ---- handles */

DRY_FUNCTION (int, cublasCreate_v2, void **handle)
{
  void *own;

  INVALID_VALUE_UNLESS (handle != NULL, INVALID_VALUE);
  int result = cublas_installed_create (&own);
  if (result != SUCCESS)
    return result;
  *handle = gemem_library_object_new ();
  gemem_library_keep (*handle, CUBLAS_INSTALLED, &own, sizeof own);
  return SUCCESS;
}

DRY_FUNCTION (int, cublasDestroy_v2, void *handle)
{
  void *own = NULL;

  INVALID_VALUE_UNLESS (handle != NULL, NOT_INITIALIZED);
  gemem_library_kept (handle, CUBLAS_INSTALLED, &own, sizeof own);
  cublas_installed_destroy (own);
  gemem_library_object_free (handle);
  return SUCCESS;
}

/* 120405 is 12.4.5 */
DRY_FUNCTION (int, cublasGetVersion_v2, void *handle, int *version)
{
  INVALID_VALUE_UNLESS (version != NULL, INVALID_VALUE);
  *version = gemem_library_version ("cublas", 0) * 10000 + gemem_library_version ("cublas", 1) * 100
             + gemem_library_version ("cublas", 2);
  return SUCCESS;
}

DRY_FUNCTION (int, cublasGetProperty, int type, int *value)
{
  INVALID_VALUE_UNLESS (value != NULL, INVALID_VALUE);
  *value = gemem_library_version ("cublas", type);
  return SUCCESS;
}

/* @more is done when it is set. */
#define PROPERTY(name, id, type, more) \
  DRY_FUNCTION (int, cublasSet##name, void *handle, type value) \
  { \
    INVALID_VALUE_UNLESS (handle != NULL, NOT_INITIALIZED); \
    gemem_library_keep (handle, id, &value, sizeof value); \
    more; \
    return SUCCESS; \
  } \
  DRY_FUNCTION (int, cublasGet##name, void *handle, type *value) \
  { \
    INVALID_VALUE_UNLESS (handle != NULL, NOT_INITIALIZED); \
    INVALID_VALUE_UNLESS (value != NULL, INVALID_VALUE); \
    *value = 0; \
    gemem_library_kept (handle, id, value, sizeof *value); \
    return SUCCESS; \
  }
PROPERTY (Stream_v2, CUBLAS_STREAM, void *, gemem_library_keep (handle, CUBLAS_WORKSPACE, NULL, 0))
PROPERTY (PointerMode_v2, CUBLAS_POINTER_MODE, int, )
PROPERTY (AtomicsMode, CUBLAS_ATOMICS_MODE, int, )
PROPERTY (MathMode, CUBLAS_MATH_MODE, int, )
PROPERTY (SmCountTarget, CUBLAS_SM_COUNT_TARGET, int, )

/* The next functions on @handle may write there, until it gets another stream. */
DRY_FUNCTION (int, cublasSetWorkspace_v2, void *handle, void *address, size_t size)
{
  const CublasWorkspace workspace = { address, size };

  INVALID_VALUE_UNLESS (handle != NULL, NOT_INITIALIZED);
  gemem_library_keep (handle, CUBLAS_WORKSPACE, &workspace, sizeof workspace);
  return SUCCESS;
}

static const char *
status_name (int status)
{
  switch (status)
    {
    case 0:
      return "CUBLAS_STATUS_SUCCESS";
    case 1:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case 3:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case 7:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case 8:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case 11:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case 13:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case 14:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case 15:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case 16:
      return "CUBLAS_STATUS_LICENSE_ERROR";
    default:
      return "CUBLAS_STATUS unknown";
    }
}

DRY_FUNCTION (const char *, cublasGetStatusName, int status)
{
  return status_name (status);
}
DRY_FUNCTION (const char *, cublasGetStatusString, int status)
{
  return status_name (status);
}
DRY_FUNCTION (const char *, cublasLtGetStatusName, int status)
{
  return status_name (status);
}
DRY_FUNCTION (const char *, cublasLtGetStatusString, int status)
{
  return status_name (status);
}

/* ---- results in host memory: those of vectors of zeros */

static void
host_result (void *handle, const char *function, gpointer result, gsize size)
{
  if (result != NULL && gemem_library_kept_number (handle, CUBLAS_POINTER_MODE, 0) != 0)
    gemem_dry_wrote (0, 0, NULL, FALSE);
  if (result == NULL || gemem_library_kept_number (handle, CUBLAS_POINTER_MODE, 0) != 0)
    return;
  memset (result, 0, size);
  gemem_library_unknown_value (function);
}

/* The index of the largest element; the first of equal ones, and the first is number 1. */
static void
host_index (void *handle, const char *function, int *result, int n)
{
  host_result (handle, function, result, sizeof *result);
  if (result != NULL && gemem_library_kept_number (handle, CUBLAS_POINTER_MODE, 0) == 0 && n > 0)
    *result = 1;
}

#define DOT(name, size) \
  DRY_FUNCTION (int, name, void *handle, int n, const void *x, int step_x, const void *y, \
                int step_y, void *result) \
  { \
    host_result (handle, #name, result, size); \
    return SUCCESS; \
  }
DOT (cublasSdot_v2, 4)
DOT (cublasDdot_v2, 8)
DOT (cublasCdotu_v2, 8)
DOT (cublasCdotc_v2, 8)
DOT (cublasZdotu_v2, 16)
DOT (cublasZdotc_v2, 16)

#define NORM(name, size) \
  DRY_FUNCTION (int, name, void *handle, int n, const void *x, int step, void *result) \
  { \
    host_result (handle, #name, result, size); \
    return SUCCESS; \
  }
NORM (cublasSnrm2_v2, 4)
NORM (cublasDnrm2_v2, 8)
NORM (cublasScnrm2_v2, 4)
NORM (cublasDznrm2_v2, 8)
NORM (cublasSasum_v2, 4)
NORM (cublasDasum_v2, 8)
NORM (cublasScasum_v2, 4)
NORM (cublasDzasum_v2, 8)

#define INDEX(name) \
  DRY_FUNCTION (int, name, void *handle, int n, const void *x, int step, int *result) \
  { \
    host_index (handle, #name, result, n); \
    return SUCCESS; \
  }
INDEX (cublasIsamax_v2)
INDEX (cublasIdamax_v2)
INDEX (cublasIcamax_v2)
INDEX (cublasIzamax_v2)
INDEX (cublasIsamin_v2)
INDEX (cublasIdamin_v2)
INDEX (cublasIcamin_v2)
INDEX (cublasIzamin_v2)

#define DOT_TYPED(name) \
  DRY_FUNCTION (int, name, void *handle, int n, const void *x, int type_x, int step_x, \
                const void *y, int type_y, int step_y, void *result, int type_result, \
                int type_execution) \
  { \
    host_result (handle, #name, result, cublas_type_size (type_result, 4)); \
    return SUCCESS; \
  }
DOT_TYPED (cublasDotEx)
DOT_TYPED (cublasDotcEx)

DRY_FUNCTION (int, cublasNrm2Ex, void *handle, int n, const void *x, int type_x, int step,
              void *result, int type_result, int type_execution)
{
  host_result (handle, "cublasNrm2Ex", result, cublas_type_size (type_result, 4));
  return SUCCESS;
}

/* ---- the status of batched solvers, in host memory: every argument is right */

static int
no_error (int *info)
{
  gemem_dry_wrote (0, 0, NULL, FALSE);
  if (info != NULL)
    *info = 0;
  return SUCCESS;
}

#define LEAST_SQUARES(name) \
  DRY_FUNCTION (int, name, void *handle, int operation, int m, int n, int n_right, void *a, \
                int step_a, void *c, int step_c, int *info, int *device_info, int batch) \
  { \
    return no_error (info); \
  }
LEAST_SQUARES (cublasSgelsBatched)
LEAST_SQUARES (cublasDgelsBatched)
LEAST_SQUARES (cublasCgelsBatched)
LEAST_SQUARES (cublasZgelsBatched)

#define FACTORS(name) \
  DRY_FUNCTION (int, name, void *handle, int m, int n, void *a, int step, void *tau, int *info, \
                int batch) \
  { \
    return no_error (info); \
  }
FACTORS (cublasSgeqrfBatched)
FACTORS (cublasDgeqrfBatched)
FACTORS (cublasCgeqrfBatched)
FACTORS (cublasZgeqrfBatched)

#define SOLVE(name) \
  DRY_FUNCTION (int, name, void *handle, int operation, int n, int n_right, const void *a, \
                int step_a, const int *pivots, void *b, int step_b, int *info, int batch) \
  { \
    return no_error (info); \
  }
SOLVE (cublasSgetrsBatched)
SOLVE (cublasDgetrsBatched)
SOLVE (cublasCgetrsBatched)
SOLVE (cublasZgetrsBatched)

/* ---- copies to the host */

#define GET_MATRIX(name, ...) \
  DRY_FUNCTION (int, name, int rows, int columns, int size, const void *from, int step_from, \
                void *to, int step_to, ##__VA_ARGS__) \
  { \
    INVALID_VALUE_UNLESS (rows >= 0 && columns >= 0 && size > 0, INVALID_VALUE); \
    for (gsize i = 0; to != NULL && i < (gsize) columns; i++) \
      memset ((char *) to + i * (gsize) step_to * (gsize) size, 0, (gsize) rows * (gsize) size); \
    gemem_library_unknown_value (#name); \
    return SUCCESS; \
  }
GET_MATRIX (cublasGetMatrix)
GET_MATRIX (cublasGetMatrixAsync, void *stream)

#define GET_VECTOR(name, ...) \
  DRY_FUNCTION (int, name, int n, int size, const void *from, int step_from, void *to, \
                int step_to, ##__VA_ARGS__) \
  { \
    INVALID_VALUE_UNLESS (n >= 0 && size > 0, INVALID_VALUE); \
    for (gsize i = 0; to != NULL && i < (gsize) n; i++) \
      memset ((char *) to + i * (gsize) step_to * (gsize) size, 0, (gsize) size); \
    gemem_library_unknown_value (#name); \
    return SUCCESS; \
  }
GET_VECTOR (cublasGetVector)
GET_VECTOR (cublasGetVectorAsync, void *stream)

/* ---- emulation of wider types, which cuSOLVER asks for and restores: as it is by default */

#define EMULATION(name) \
  DRY_FUNCTION (int, name, void *handle, int *value) \
  { \
    INVALID_VALUE_UNLESS (value != NULL, INVALID_VALUE); \
    *value = 0; \
    return SUCCESS; \
  }
EMULATION (cublasGetEmulationStrategy)
EMULATION (cublasGetEmulationSpecialValuesSupport)
EMULATION (cublasGetFixedPointEmulationMantissaControl)
EMULATION (cublasGetFixedPointEmulationMantissaBitOffset)
EMULATION (cublasGetFixedPointEmulationMaxMantissaBitCount)
