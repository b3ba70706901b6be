/* cublas-products.c - cuBLAS: products of matrices and vectors, which launch work and write one
 * operand (library.h).
 *
 * Why they are written, though they compute nothing: what is known of device memory
 * (dry/driver/remembered.c) is known no longer after a function of which nobody says where it
 * writes. These say it: the rows of the tables below have where a function's operands are and how
 * many bytes an element of its result has; how far the result reaches follows from sizes, steps and
 * the number of matrices. Of what is in no table (batches whose addresses are on the device,
 * solvers, rank-k updates) nobody says it: harmless.def.
 *
 * A workspace that the program set (cublasSetWorkspace_v2()) may be written, too. cuBLAS's own is
 * not the program's memory.
 */
#include "config.h"

#include "dry/driver/remembered.h"
#include "dry/libraries/cublas.h"
#include "dry/libraries/missing.h"

/* ---- what is written */

gsize
cublas_type_size (int type, gsize otherwise)
{
  static const guint8 sizes[] = {
    4, 8,  2, 1,
    8, 16, 4, 2, /* R_32F R_64F R_16F R_8I C_32F C_64F C_16F C_8I */
    1, 2,  4, 8,
    4, 8,  2, 4, /* R_8U C_8U R_32I C_32I R_32U C_32U R_16BF C_16BF */
    1, 1,  1, 1,
    2, 4,  2, 4, /* R_4I C_4I R_4U C_4U R_16I C_16I R_16U C_16U */
    8, 16, 8, 16,
    1, 1,  1, 1, /* R_64I C_64I R_64U C_64U R_8F_E4M3 R_8F_E5M2 R_8F_UE8M0 R_6F_E2M3 */
    1, 1,        /* R_6F_E3M2 R_4F_E2M1 */
  };

  return type >= 0 && type < (int) G_N_ELEMENTS (sizes) ? sizes[type] : otherwise;
}

void
cublas_wrote (gconstpointer to, gsize size)
{
  if (to != NULL && size > 0)
    gemem_dry_wrote ((guintptr) to, size, NULL, FALSE);
}

void
cublas_wrote_matrices (gconstpointer to, gint64 rows, gint64 columns, gint64 leading,
                       gint64 matrices, gint64 step, gsize size)
{
  if (to == NULL || rows <= 0 || columns <= 0 || matrices <= 0)
    return;
  const gint64 one = (columns - 1) * leading + rows, others = (matrices - 1) * step;
  cublas_wrote ((const guint8 *) to + MIN (others, 0) * (gint64) size,
                (gsize) (one + ABS (others)) * size);
}

/* @handle's function @name was called, which writes @matrices matrices of @columns columns of @rows
 * elements of @size bytes each, @leading elements from one column to the next and @step from one
 * matrix to the next. */
static int
product (void *handle, const char *name, GememDryStub *calls, void *result, gint64 rows,
         gint64 columns, gint64 leading, gint64 matrices, gint64 step, gsize size)
{
  CublasWorkspace workspace = { 0 };

  gemem_dry_launched (name, calls);
  if (gemem_library_kept (handle, CUBLAS_WORKSPACE, &workspace, sizeof workspace) > 0)
    cublas_wrote (workspace.address, workspace.size);
  cublas_wrote_matrices (result, rows, columns, leading, matrices, step, size);
  return 0;
}

#define PRODUCT(name, ...) \
  static GememDryStub calls; \
  return product (handle, #name, &calls, __VA_ARGS__)

/* ---- C = alpha A B + beta C */

#define SHAPE(number) \
  void *handle, int of_a, int of_b, number m, number n, number k, const void *alpha

#define GEMM(name, number, size) \
  DRY_FUNCTION (int, name, SHAPE (number), const void *a, number a_leading, const void *b, \
                number b_leading, const void *beta, void *c, number c_leading) \
  { \
    PRODUCT (name, c, m, n, c_leading, 1, 0, size); \
  }
#define GEMM_TYPED(name, \
                   number) /* with a type of computation or without, behind all that matters */ \
  DRY_FUNCTION (int, name, SHAPE (number), const void *a, int a_type, number a_leading, \
                const void *b, int b_type, number b_leading, const void *beta, void *c, \
                int c_type, number c_leading) \
  { \
    PRODUCT (name, c, m, n, c_leading, 1, 0, cublas_type_size (c_type, 16)); \
  }
#define GEMM_STRIDED(name, number, size) \
  DRY_FUNCTION (int, name, SHAPE (number), const void *a, number a_leading, int64_t a_step, \
                const void *b, number b_leading, int64_t b_step, const void *beta, void *c, \
                number c_leading, int64_t c_step, number matrices) \
  { \
    PRODUCT (name, c, m, n, c_leading, matrices, c_step, size); \
  }
#define GEMM_STRIDED_TYPED(name, number) \
  DRY_FUNCTION (int, name, SHAPE (number), const void *a, int a_type, number a_leading, \
                int64_t a_step, const void *b, int b_type, number b_leading, int64_t b_step, \
                const void *beta, void *c, int c_type, number c_leading, int64_t c_step, \
                number matrices, int compute_type, int algorithm) \
  { \
    PRODUCT (name, c, m, n, c_leading, matrices, c_step, cublas_type_size (c_type, 16)); \
  }

/* ---- y = alpha A x + beta y */

#define GEMV(name, number, size) \
  DRY_FUNCTION (int, name, void *handle, int of_a, number m, number n, const void *alpha, \
                const void *a, number a_leading, const void *x, number x_step, const void *beta, \
                void *y, number y_step) \
  { \
    PRODUCT (name, y, 1, of_a == 0 ? m : n, ABS (y_step), 1, 0, size); \
  }

/* Both forms of a function: with numbers of 32 bits and, from 12 on, of 64. */
#define ROW(shape, name, ...) \
  shape (name, int, ##__VA_ARGS__) shape (name##_64, int64_t, ##__VA_ARGS__)

/* clang-format off */
ROW (GEMM, cublasSgemm_v2, 4)
ROW (GEMM, cublasDgemm_v2, 8)
ROW (GEMM, cublasCgemm_v2, 8)
ROW (GEMM, cublasZgemm_v2, 16)
ROW (GEMM, cublasCgemm3m, 8)
ROW (GEMM, cublasZgemm3m, 16)
ROW (GEMM, cublasHgemm, 2)
ROW (GEMM_TYPED, cublasSgemmEx)
ROW (GEMM_TYPED, cublasCgemmEx)
ROW (GEMM_TYPED, cublasCgemm3mEx)
ROW (GEMM_TYPED, cublasGemmEx)
ROW (GEMM_STRIDED, cublasSgemmStridedBatched, 4)
ROW (GEMM_STRIDED, cublasDgemmStridedBatched, 8)
ROW (GEMM_STRIDED, cublasCgemmStridedBatched, 8)
ROW (GEMM_STRIDED, cublasZgemmStridedBatched, 16)
ROW (GEMM_STRIDED, cublasCgemm3mStridedBatched, 8)
ROW (GEMM_STRIDED, cublasHgemmStridedBatched, 2)
ROW (GEMM_STRIDED_TYPED, cublasGemmStridedBatchedEx)
ROW (GEMV, cublasSgemv_v2, 4)
ROW (GEMV, cublasDgemv_v2, 8)
ROW (GEMV, cublasCgemv_v2, 8)
ROW (GEMV, cublasZgemv_v2, 16)
/* clang-format on */
