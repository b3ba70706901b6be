/* cublaslt.c - cuBLASLt: descriptors whose attributes are read back as they were set, and
 * one algorithm for every multiplication (library.h).
 *
 * The workspace of an algorithm is known only to the real library, which is asked where it is installed
 * (cublaslt-installed.c). Else the answer is 0, which matters only to a program that then gives the
 * multiplication less than the limit that it named (PyTorch always gives that much): the notes have the
 * interval up to the limit for those that do.
 */
#include "config.h"

#include <string.h>

#include "dry/driver/remembered.h"
#include "dry/libraries/cublas.h"
#include "dry/libraries/missing.h"

#define SUCCESS CUBLAS_SUCCESS
#define INVALID_VALUE 7

/* Numbers of attributes, and of kinds of descriptors, from cublasLt.h */
#define LAYOUT_ORDER 1
#define ORDER_COLUMNS 0
/* Orders above this one are in tiles of TILE columns; the leading dimension is
 * from tile to tile. */
#define ORDER_ROWS 1
#define TILE 32
#define LAYOUT_BATCH 5
#define LAYOUT_STEP 6       /* from one matrix of a batch to the next */
#define LAYOUT_BATCH_MODE 8 /* 0: such steps */
#define DESC_EPILOGUE 7
#define EPILOGUE_ALONE \
  (1 | 2 | 4 | 32) /* it writes nothing but the result: none, ReLU, bias, GELU */
#define PREFERENCE_WORKSPACE 1
#define TRANSFORM_SCALE_TYPE 0
#define ALGO_CONFIGS 14
#define STAND_IN 0x6d656d67 /* the first configuration of an algorithm that the stand-in chose */

typedef struct
{
  guint32 config[ALGO_CONFIGS];
  gsize
      limit; /* most that its workspace may be, as the program asked; 0: it did not ask; of the real library: its own */
} Algo;      /* cublasLtMatmulAlgo_t: the program copies it */

G_STATIC_ASSERT (sizeof (Algo) == 64);

typedef struct
{
  Algo algo;
  gsize workspace;
  int state;
  float waves;
  int reserved[4];
} Heuristic; /* cublasLtMatmulHeuristicResult_t */

/* ---- the library */

DRY_FUNCTION (int, cublasLtCreate, void **handle)
{
  INVALID_VALUE_UNLESS (handle != NULL, INVALID_VALUE);
  *handle = gemem_library_object_new ();
  return SUCCESS;
}

DRY_FUNCTION (int, cublasLtDestroy, void *handle)
{
  gemem_library_object_free (handle);
  return SUCCESS;
}

DRY_FUNCTION (size_t, cublasLtGetVersion, void)
{
  return (size_t) (gemem_library_version ("cublas", 0) * 10000
                   + gemem_library_version ("cublas", 1) * 100
                   + gemem_library_version ("cublas", 2));
}

DRY_FUNCTION (int, cublasLtGetProperty, int type, int *value)
{
  INVALID_VALUE_UNLESS (value != NULL, INVALID_VALUE);
  *value = gemem_library_version ("cublas", type);
  return SUCCESS;
}

DRY_FUNCTION (int, cublasLtHeuristicsCacheGetCapacity, size_t *capacity)
{
  INVALID_VALUE_UNLESS (capacity != NULL, INVALID_VALUE);
  *capacity = 0;
  return SUCCESS;
}

/* ---- descriptors */

/* An attribute that was not set has its default, which is 0 but for those that begin_...() sets. */
static int
get_attribute (gconstpointer object, int id, void *data, gsize size, size_t *written)
{
  gsize has = gemem_library_kept (object, id, data, size);

  INVALID_VALUE_UNLESS (size > 0 ? data != NULL : written != NULL, INVALID_VALUE);
  if (has == 0 && size > 0)
    memset (data, 0, has = size);
  if (written != NULL)
    *written = size == 0 ? has : MIN (size, has);
  return SUCCESS;
}

static int
set_attribute (gconstpointer object, int id, const void *data, gsize size)
{
  INVALID_VALUE_UNLESS (object != NULL && data != NULL && size > 0, INVALID_VALUE);
  gemem_library_keep (object, id, data, size);
  return SUCCESS;
}

static int
end_object (gpointer object)
{
  gemem_library_object_free (object);
  return SUCCESS;
}

#define ATTRIBUTES(kind) \
  DRY_FUNCTION (int, cublasLt##kind##SetAttribute, void *object, int id, const void *data, \
                size_t size) \
  { \
    return set_attribute (object, id, data, size); \
  } \
  DRY_FUNCTION (int, cublasLt##kind##GetAttribute, void *object, int id, void *data, size_t size, \
                size_t *written) \
  { \
    return get_attribute (object, id, data, size, written); \
  } \
  DRY_FUNCTION (int, cublasLt##kind##Destroy, void *object) \
  { \
    return end_object (object); \
  }
ATTRIBUTES (MatrixLayout)
ATTRIBUTES (MatmulDesc)
ATTRIBUTES (MatmulPreference)
ATTRIBUTES (MatrixTransformDesc)
ATTRIBUTES (EmulationDesc)

static int
begin_layout (gpointer layout, int type, guint64 rows, guint64 columns, gint64 leading)
{
  const guint32 batch = 1;

  gemem_library_keep (layout, CUBLASLT_LAYOUT_TYPE, &type, sizeof type);
  gemem_library_keep (layout, CUBLASLT_LAYOUT_ROWS, &rows, sizeof rows);
  gemem_library_keep (layout, CUBLASLT_LAYOUT_COLUMNS, &columns, sizeof columns);
  gemem_library_keep (layout, CUBLASLT_LAYOUT_LEADING, &leading, sizeof leading);
  gemem_library_keep (layout, LAYOUT_BATCH, &batch, sizeof batch);
  return SUCCESS;
}

DRY_FUNCTION (int, cublasLtMatrixLayoutCreate, void **layout, int type, uint64_t rows,
              uint64_t columns, int64_t leading)
{
  INVALID_VALUE_UNLESS (layout != NULL, INVALID_VALUE);
  *layout = gemem_library_object_new ();
  return begin_layout (*layout, type, rows, columns, leading);
}

DRY_FUNCTION (int, cublasLtMatrixLayoutInit_internal, void *layout, size_t size, int type,
              uint64_t rows, uint64_t columns, int64_t leading)
{
  INVALID_VALUE_UNLESS (layout != NULL, INVALID_VALUE);
  gemem_library_object_free (layout);
  return begin_layout (layout, type, rows, columns, leading);
}

static int
begin_desc (gpointer desc, int compute_type, int scale_type)
{
  const guint32 no_epilogue = 1;

  gemem_library_keep (desc, CUBLASLT_DESC_COMPUTE_TYPE, &compute_type, sizeof compute_type);
  gemem_library_keep (desc, CUBLASLT_DESC_SCALE_TYPE, &scale_type, sizeof scale_type);
  gemem_library_keep (desc, DESC_EPILOGUE, &no_epilogue, sizeof no_epilogue);
  return SUCCESS;
}

DRY_FUNCTION (int, cublasLtMatmulDescCreate, void **desc, int compute_type, int scale_type)
{
  INVALID_VALUE_UNLESS (desc != NULL, INVALID_VALUE);
  *desc = gemem_library_object_new ();
  return begin_desc (*desc, compute_type, scale_type);
}

DRY_FUNCTION (int, cublasLtMatmulDescInit_internal, void *desc, size_t size, int compute_type,
              int scale_type)
{
  INVALID_VALUE_UNLESS (desc != NULL, INVALID_VALUE);
  gemem_library_object_free (desc);
  return begin_desc (desc, compute_type, scale_type);
}

DRY_FUNCTION (int, cublasLtMatrixTransformDescCreate, void **desc, int scale_type)
{
  INVALID_VALUE_UNLESS (desc != NULL, INVALID_VALUE);
  *desc = gemem_library_object_new ();
  gemem_library_keep (*desc, TRANSFORM_SCALE_TYPE, &scale_type, sizeof scale_type);
  return SUCCESS;
}

DRY_FUNCTION (int, cublasLtMatrixTransformDescInit_internal, void *desc, size_t size,
              int scale_type)
{
  INVALID_VALUE_UNLESS (desc != NULL, INVALID_VALUE);
  gemem_library_object_free (desc);
  gemem_library_keep (desc, TRANSFORM_SCALE_TYPE, &scale_type, sizeof scale_type);
  return SUCCESS;
}

#define WITHOUT_PARAMETERS(kind) \
  DRY_FUNCTION (int, cublasLt##kind##Create, void **object) \
  { \
    INVALID_VALUE_UNLESS (object != NULL, INVALID_VALUE); \
    *object = gemem_library_object_new (); \
    return SUCCESS; \
  } \
  DRY_FUNCTION (int, cublasLt##kind##Init_internal, void *object, size_t size) \
  { \
    INVALID_VALUE_UNLESS (object != NULL, INVALID_VALUE); \
    gemem_library_object_free (object); \
    return SUCCESS; \
  }
WITHOUT_PARAMETERS (MatmulPreference)
WITHOUT_PARAMETERS (EmulationDesc)

/* ---- algorithms */

DRY_FUNCTION (int, cublasLtMatmulAlgoGetHeuristic, void *handle, void *desc, void *a, void *b,
              void *c, void *d, void *preference, int wanted, Heuristic *results, int *found)
{
  INVALID_VALUE_UNLESS (wanted > 0 && results != NULL && found != NULL, INVALID_VALUE);
  const gint64 limit = gemem_library_kept_number (preference, PREFERENCE_WORKSPACE, 0);
  if (cublaslt_installed_heuristic (desc, (gconstpointer[]){ a, b, c, d }, preference, wanted,
                                    results, found))
    return SUCCESS;
  memset (results, 0, sizeof *results);
  results->waves = 1;
  results->algo = (Algo){ { STAND_IN }, (gsize) MAX (limit, 0) };
  results->workspace = MIN (gemem_library_workspaces (), results->algo.limit);
  *found = 1;
  return SUCCESS;
}

/* TRUE if a multiplication writes nothing but its result and the workspace: no sums of gradients,
 * no further tensors, no largest values, no counters. */
static gboolean
writes_result_alone (gconstpointer desc)
{
  static const int places[] = { 21, 24, 29, 30,
                                36 }; /* AMAX_D, EPILOGUE_AUX_AMAX, ATOMIC_SYNC_*, D_OUT_SCALE */

  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    if (gemem_library_kept_number (desc, places[i], 0) != 0)
      return FALSE;
  return (gemem_library_kept_number (desc, DESC_EPILOGUE, 1) & ~EPILOGUE_ALONE) == 0;
}

/* Says that the matrix at @to was written; FALSE: its layout does not say where it is. */
static gboolean
wrote_matrix (gconstpointer to, gconstpointer layout)
{
  const gint64 rows = gemem_library_kept_number (layout, CUBLASLT_LAYOUT_ROWS, 0);
  const gint64 columns = gemem_library_kept_number (layout, CUBLASLT_LAYOUT_COLUMNS, 0);
  const gint64 leading = gemem_library_kept_number (layout, CUBLASLT_LAYOUT_LEADING, 0);
  const gint64 order = gemem_library_kept_number (layout, LAYOUT_ORDER, ORDER_COLUMNS);

  if (gemem_library_kept_number (layout, LAYOUT_BATCH_MODE, 0) != 0)
    return FALSE;
  cublas_wrote_matrices (
      to,
      order == ORDER_COLUMNS ? rows
      : order == ORDER_ROWS  ? columns
                             : leading,
      order == ORDER_COLUMNS ? columns
      : order == ORDER_ROWS  ? rows
                             : (columns + TILE - 1) / TILE,
      leading, gemem_library_kept_number (layout, LAYOUT_BATCH, 1),
      gemem_library_kept_number (layout, LAYOUT_STEP, 0),
      cublas_type_size ((int) gemem_library_kept_number (layout, CUBLASLT_LAYOUT_TYPE, -1), 16));
  return TRUE;
}

/* Launches work. */
DRY_FUNCTION (int, cublasLtMatrixTransform, void *handle, void *desc, const void *alpha,
              const void *a, void *a_desc, const void *beta, const void *b, void *b_desc, void *c,
              void *c_desc, void *stream)
{
  static GememDryStub calls;

  gemem_dry_launched ("cublasLtMatrixTransform", &calls);
  if (!wrote_matrix (c, c_desc))
    gemem_dry_wrote (0, 0, NULL, FALSE);
  return SUCCESS;
}

/* Launches work. */
DRY_FUNCTION (int, cublasLtMatmul, void *handle, void *desc, const void *alpha, const void *a,
              void *a_desc, const void *b, void *b_desc, const void *beta, const void *c,
              void *c_desc, void *d, void *d_desc, const Algo *algo, void *workspace, size_t size,
              void *stream)
{
  static GememDryStub calls;

  if (algo != NULL && algo->config[0] == STAND_IN && size < algo->limit)
    gemem_library_unknown_size ("cublasLtMatmulAlgoGetHeuristic", algo->limit);
  gemem_dry_launched ("cublasLtMatmul", &calls);
  cublas_wrote (workspace, size);
  if (!writes_result_alone (desc) || !wrote_matrix (d, d_desc))
    gemem_dry_wrote (0, 0, NULL, FALSE);
  return SUCCESS;
}

DRY_FUNCTION (int, cublasLtMatmulAlgoGetIds, void *handle, int compute_type, int scale_type, int a,
              int b, int c, int d, int wanted, int *ids, int *found)
{
  INVALID_VALUE_UNLESS (wanted > 0 && ids != NULL, INVALID_VALUE);
  ids[0] = 0;
  if (found != NULL)
    *found = 1;
  return SUCCESS;
}

DRY_FUNCTION (int, cublasLtMatmulAlgoInit, void *handle, int compute_type, int scale_type, int a,
              int b, int c, int d, int id, Algo *algo)
{
  INVALID_VALUE_UNLESS (algo != NULL, INVALID_VALUE);
  *algo = (Algo){ { (guint32) id } };
  return SUCCESS;
}

DRY_FUNCTION (int, cublasLtMatmulAlgoCheck, void *handle, void *desc, void *a, void *b, void *c,
              void *d, const Algo *algo, Heuristic *result)
{
  INVALID_VALUE_UNLESS (algo != NULL && result != NULL, INVALID_VALUE);
  result->workspace = gemem_library_unknown_size ("cublasLtMatmulAlgoCheck", 0);
  result->state = SUCCESS;
  result->waves = 1;
  return SUCCESS;
}

DRY_FUNCTION (int, cublasLtMatmulAlgoConfigSetAttribute, Algo *algo, int id, const void *data,
              size_t size)
{
  INVALID_VALUE_UNLESS (algo != NULL && data != NULL && id >= 0 && id < ALGO_CONFIGS
                            && size <= sizeof algo->config[0],
                        INVALID_VALUE);
  memcpy (&algo->config[id], data, size);
  return SUCCESS;
}

DRY_FUNCTION (int, cublasLtMatmulAlgoConfigGetAttribute, const Algo *algo, int id, void *data,
              size_t size, size_t *written)
{
  INVALID_VALUE_UNLESS (algo != NULL && id >= 0 && id < ALGO_CONFIGS
                            && size <= sizeof algo->config[0]
                            && (size > 0 ? data != NULL : written != NULL),
                        INVALID_VALUE);
  if (size > 0)
    memcpy (data, &algo->config[id], size);
  if (written != NULL)
    *written = size > 0 ? size : sizeof algo->config[0];
  return SUCCESS;
}
