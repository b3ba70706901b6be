/* solvers.c - cuSOLVER and cuSPARSE, where they are not installed: handles, descriptors and
 * what is asked of them (dry/libraries/objects.h).
 */
#include "config.h"

#include <string.h>

#include "dry/driver/remembered.h"
#include "dry/libraries/objects.h"
#include "dry/libraries/sizes.h"

#define SOLVER_INVALID_VALUE 3
#define SPARSE_INVALID_VALUE 3

enum
{
  POINTER_MODE = STREAM + 1,
  SIZES, /* of a matrix: rows, columns, elements that are not zero */
  FIRST_PROPERTY,
};

/* ---- cuSOLVER */

NEW_OBJECT (cusolverDnCreate, SOLVER_INVALID_VALUE)
NEW_OBJECT (cusolverDnCreateParams, SOLVER_INVALID_VALUE)
NEW_OBJECT (cusolverDnCreateGesvdjInfo, SOLVER_INVALID_VALUE)
NEW_OBJECT (cusolverDnCreateSyevjInfo, SOLVER_INVALID_VALUE)
NEW_OBJECT (cusolverDnIRSParamsCreate, SOLVER_INVALID_VALUE)
NEW_OBJECT (cusolverSpCreate, SOLVER_INVALID_VALUE)
FREE_OBJECT (cusolverDnDestroy)
FREE_OBJECT (cusolverDnDestroyParams)
FREE_OBJECT (cusolverDnDestroyGesvdjInfo)
FREE_OBJECT (cusolverDnDestroySyevjInfo)
FREE_OBJECT (cusolverDnIRSParamsDestroy)
FREE_OBJECT (cusolverSpDestroy)
STREAM_OF (cusolverDnSetStream, cusolverDnGetStream)
STREAM_OF (cusolverSpSetStream, cusolverSpGetStream)
PROPERTY_OF (cusolverGetProperty, "cusolver", SOLVER_INVALID_VALUE)

DRY_FUNCTION (int, cusolverGetVersion, int *version)
{
  INVALID_VALUE_UNLESS (version != NULL, SOLVER_INVALID_VALUE);
  *version = short_version ("cusolver");
  return SUCCESS;
}

/* The norm of what is left, in host memory, of matrices of zeros. */
#define SVD_BATCHED(name) \
  DRY_FUNCTION (int, name, void *handle, int job, int rank, int m, int n, const void *a, \
                int step_a, long long stride_a, void *s, long long stride_s, void *u, int step_u, \
                long long stride_u, void *v, int step_v, long long stride_v, void *work, int size, \
                int *info, double *norms, int batch) \
  { \
    for (int i = 0; norms != NULL && i < batch; i++) \
      norms[i] = 0; \
    if (norms != NULL) \
      gemem_library_unknown_value (#name); \
    return SUCCESS; \
  }
SVD_BATCHED (cusolverDnSgesvdaStridedBatched)
SVD_BATCHED (cusolverDnDgesvdaStridedBatched)
SVD_BATCHED (cusolverDnCgesvdaStridedBatched)
SVD_BATCHED (cusolverDnZgesvdaStridedBatched)

/* ---- cuSPARSE */

NEW_OBJECT (cusparseCreate, SPARSE_INVALID_VALUE)
NEW_OBJECT (cusparseCreateMatDescr, SPARSE_INVALID_VALUE)
NEW_OBJECT (cusparseCreateBsrsv2Info, SPARSE_INVALID_VALUE)
NEW_OBJECT (cusparseCreateBsrsm2Info, SPARSE_INVALID_VALUE)
NEW_OBJECT (cusparseCreateCsru2csrInfo, SPARSE_INVALID_VALUE)
NEW_OBJECT (cusparseSpGEMM_createDescr, SPARSE_INVALID_VALUE)
NEW_OBJECT (cusparseSpSV_createDescr, SPARSE_INVALID_VALUE)
NEW_OBJECT (cusparseSpSM_createDescr, SPARSE_INVALID_VALUE)
FREE_OBJECT (cusparseDestroy)
FREE_OBJECT (cusparseDestroyMatDescr)
FREE_OBJECT (cusparseDestroyBsrsv2Info)
FREE_OBJECT (cusparseDestroyBsrsm2Info)
FREE_OBJECT (cusparseDestroyCsru2csrInfo)
FREE_OBJECT (cusparseSpGEMM_destroyDescr)
FREE_OBJECT (cusparseSpSV_destroyDescr)
FREE_OBJECT (cusparseSpSM_destroyDescr)
FREE_OBJECT (cusparseDestroySpMat)
FREE_OBJECT (cusparseDestroySpVec)
FREE_OBJECT (cusparseDestroyDnMat)
FREE_OBJECT (cusparseDestroyDnVec)
STREAM_OF (cusparseSetStream, cusparseGetStream)
PROPERTY_OF (cusparseGetProperty, "cusparse", SPARSE_INVALID_VALUE)

DRY_FUNCTION (int, cusparseGetVersion, void *handle, int *version)
{
  INVALID_VALUE_UNLESS (version != NULL, SPARSE_INVALID_VALUE);
  *version = short_version ("cusparse");
  return SUCCESS;
}

DRY_FUNCTION (const char *, cusparseGetErrorName, int status)
{
  return status == SUCCESS ? "CUSPARSE_STATUS_SUCCESS" : "CUSPARSE_STATUS of a dry run of gemem";
}

DRY_FUNCTION (const char *, cusparseGetErrorString, int status)
{
  return cusparseGetErrorName (status);
}

#define PROPERTY(name, id) \
  DRY_FUNCTION (int, cusparseSet##name, void *object, int value) \
  { \
    gemem_library_keep (object, id, &value, sizeof value); \
    return SUCCESS; \
  }
PROPERTY (PointerMode, POINTER_MODE)
PROPERTY (MatType, FIRST_PROPERTY)
PROPERTY (MatFillMode, FIRST_PROPERTY + 1)
PROPERTY (MatDiagType, FIRST_PROPERTY + 2)
PROPERTY (MatIndexBase, FIRST_PROPERTY + 3)

#define ASK_PROPERTY(name, id) \
  DRY_FUNCTION (int, cusparseGet##name, void *object) \
  { \
    return (int) gemem_library_kept_number (object, id, 0); \
  }
ASK_PROPERTY (MatType, FIRST_PROPERTY)
ASK_PROPERTY (MatFillMode, FIRST_PROPERTY + 1)
ASK_PROPERTY (MatDiagType, FIRST_PROPERTY + 2)
ASK_PROPERTY (MatIndexBase, FIRST_PROPERTY + 3)

DRY_FUNCTION (int, cusparseGetPointerMode, void *handle, int *mode)
{
  INVALID_VALUE_UNLESS (mode != NULL, SPARSE_INVALID_VALUE);
  *mode = (int) gemem_library_kept_number (handle, POINTER_MODE, 0);
  return SUCCESS;
}

static int
new_matrix (void **matrix, int64_t rows, int64_t columns, int64_t elements)
{
  const int64_t sizes[] = { rows, columns, elements };

  INVALID_VALUE_UNLESS (matrix != NULL, SPARSE_INVALID_VALUE);
  *matrix = gemem_library_object_new ();
  gemem_library_keep (*matrix, SIZES, sizes, sizeof sizes);
  return SUCCESS;
}

#define COMPRESSED(name) \
  DRY_FUNCTION (int, name, void **matrix, int64_t rows, int64_t columns, int64_t elements, \
                const void *offsets, const void *indices, const void *values, int type_offsets, \
                int type_indices, int base, int type) \
  { \
    return new_matrix (matrix, rows, columns, elements); \
  }
COMPRESSED (cusparseCreateCsr)
COMPRESSED (cusparseCreateConstCsr)
COMPRESSED (cusparseCreateCsc)
COMPRESSED (cusparseCreateConstCsc)

#define COORDINATES(name) \
  DRY_FUNCTION (int, name, void **matrix, int64_t rows, int64_t columns, int64_t elements, \
                const void *row_indices, const void *column_indices, const void *values, \
                int type_indices, int base, int type) \
  { \
    return new_matrix (matrix, rows, columns, elements); \
  }
COORDINATES (cusparseCreateCoo)
COORDINATES (cusparseCreateConstCoo)

#define BLOCKS(name) \
  DRY_FUNCTION (int, name, void **matrix, int64_t rows, int64_t columns, int64_t elements, \
                int64_t block_rows, int64_t block_columns, const void *offsets, \
                const void *indices, const void *values, int type_offsets, int type_indices, \
                int base, int type, int order) \
  { \
    return new_matrix (matrix, rows, columns, elements); \
  }
BLOCKS (cusparseCreateBsr)
BLOCKS (cusparseCreateConstBsr)

#define DENSE(name) \
  DRY_FUNCTION (int, name, void **matrix, int64_t rows, int64_t columns, int64_t leading, \
                const void *values, int type, int order) \
  { \
    return new_matrix (matrix, rows, columns, rows * columns); \
  }
DENSE (cusparseCreateDnMat)
DENSE (cusparseCreateConstDnMat)

#define DENSE_VECTOR(name) \
  DRY_FUNCTION (int, name, void **vector, int64_t size, const void *values, int type) \
  { \
    return new_matrix (vector, size, 1, size); \
  }
DENSE_VECTOR (cusparseCreateDnVec)
DENSE_VECTOR (cusparseCreateConstDnVec)

#define SPARSE_VECTOR(name) \
  DRY_FUNCTION (int, name, void **vector, int64_t size, int64_t elements, const void *indices, \
                const void *values, int type_indices, int base, int type) \
  { \
    return new_matrix (vector, size, 1, elements); \
  }
SPARSE_VECTOR (cusparseCreateSpVec)
SPARSE_VECTOR (cusparseCreateConstSpVec)

/* The number of elements of a product is a result, which nothing computed: that of the matrix as it
 * was made. */
DRY_FUNCTION (int, cusparseSpMatGetSize, void *matrix, int64_t *rows, int64_t *columns,
              int64_t *elements)
{
  int64_t sizes[3] = { 0 };

  gemem_library_kept (matrix, SIZES, sizes, sizeof sizes);
  if (rows != NULL)
    *rows = sizes[0];
  if (columns != NULL)
    *columns = sizes[1];
  if (elements != NULL)
    *elements = sizes[2];
  gemem_library_unknown_value ("cusparseSpMatGetSize");
  return SUCCESS;
}

/* No pivot is zero: the solver goes on. */
#define ZERO_PIVOT(name) \
  DRY_FUNCTION (int, name, void *handle, void *info, int *position) \
  { \
    if (position != NULL && gemem_library_kept_number (handle, POINTER_MODE, 0) == 0) \
      *position = -1; \
    gemem_library_unknown_value (#name); \
    return SUCCESS; \
  }
ZERO_PIVOT (cusparseXbsrsv2_zeroPivot)
ZERO_PIVOT (cusparseXbsrsm2_zeroPivot)

DRY_FUNCTION (int, cusparseXcsrgeam2Nnz, void *handle, int m, int n, void *desc_a, int elements_a,
              const int *rows_a, const int *columns_a, void *desc_b, int elements_b,
              const int *rows_b, const int *columns_b, void *desc_c, int *rows_c, int *elements,
              void *workspace)
{
  if (elements != NULL && gemem_library_kept_number (handle, POINTER_MODE, 0) == 0)
    *elements = 0;
  gemem_library_unknown_value ("cusparseXcsrgeam2Nnz");
  return SUCCESS;
}

#define PRODUCT(name) \
  DRY_FUNCTION (int, name, void *handle, int operation_a, int operation_b, const void *alpha, \
                void *a, void *b, const void *beta, void *c, int type, int algorithm, \
                void *descriptor, size_t *size, void *buffer) \
  { \
    if (size != NULL && buffer == NULL) \
      *size = gemem_library_unknown_size (#name, 0); \
    gemem_dry_wrote (0, 0, NULL, FALSE); \
    return SUCCESS; \
  }
PRODUCT (cusparseSpGEMM_workEstimation)
PRODUCT (cusparseSpGEMM_compute)

/* ---- workspaces */

#include "dry/libraries/solvers/sizes.def"
