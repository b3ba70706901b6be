/* cudnn.c - cuDNN's older functions: handles, versions, descriptors of tensors, filters and
 * convolutions with what follows from them, and the choice of algorithms (library.h).
 *
 * Workspaces: sizes.def. Recurrent networks: rnn.c.
 */
#include "config.h"

#include <string.h>

#include "dry/driver/remembered.h"
#include "dry/libraries/cudnn/cudnn.h"
#include "dry/libraries/sizes.h"
#include "dry/runtime/runtime.h"

enum
{
  STREAM = 1,
  TENSOR,
  CONVOLUTION,
  GROUPS,
};

/* ---- the library */

DRY_FUNCTION (int, cudnnCreate, void **handle)
{
  INVALID_VALUE_UNLESS (handle != NULL, CUDNN_BAD_PARAM);
  *handle = gemem_library_object_new ();
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnDestroy, void *handle)
{
  gemem_library_object_free (handle);
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnSetStream, void *handle, void *stream)
{
  gemem_library_keep (handle, STREAM, &stream, sizeof stream);
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnGetStream, void *handle, void **stream)
{
  INVALID_VALUE_UNLESS (stream != NULL, CUDNN_BAD_PARAM);
  *stream = NULL;
  gemem_library_kept (handle, STREAM, stream, sizeof *stream);
  return CUDNN_SUCCESS;
}

/* 90100 is 9.1.0, 8907 is 8.9.7 */
DRY_FUNCTION (size_t, cudnnGetVersion, void)
{
  const int major = gemem_library_version ("cudnn", 0);
  return (size_t) (major * (major >= 9 ? 10000 : 1000) + gemem_library_version ("cudnn", 1) * 100
                   + gemem_library_version ("cudnn", 2));
}

DRY_FUNCTION (int, cudnnGetProperty, int type, int *value)
{
  INVALID_VALUE_UNLESS (value != NULL, CUDNN_BAD_PARAM);
  *value = gemem_library_version ("cudnn", type);
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (size_t, cudnnGetCudartVersion, void)
{
  return (size_t) gemem_runtime_version ();
}

DRY_FUNCTION (const char *, cudnnGetErrorString, int status)
{
  return status == CUDNN_SUCCESS ? "CUDNN_STATUS_SUCCESS"
         : status == CUDNN_NOT_SUPPORTED
             ? "CUDNN_STATUS_NOT_SUPPORTED (a dry run of gemem: see its messages)"
             : "CUDNN_STATUS of a dry run of gemem";
}

DRY_FUNCTION (void, cudnnGetLastErrorString, char *message, size_t size)
{
  if (message != NULL && size > 0)
    *message = '\0';
}

#define DESCRIPTOR(kind) \
  DRY_FUNCTION (int, cudnnCreate##kind##Descriptor, void **descriptor) \
  { \
    INVALID_VALUE_UNLESS (descriptor != NULL, CUDNN_BAD_PARAM); \
    *descriptor = gemem_library_object_new (); \
    return CUDNN_SUCCESS; \
  } \
  DRY_FUNCTION (int, cudnnDestroy##kind##Descriptor, void *descriptor) \
  { \
    gemem_library_object_free (descriptor); \
    return CUDNN_SUCCESS; \
  }
DESCRIPTOR (Activation)
DESCRIPTOR (Attn)
DESCRIPTOR (CTCLoss)
DESCRIPTOR (Convolution)
DESCRIPTOR (Dropout)
DESCRIPTOR (Filter)
DESCRIPTOR (LRN)
DESCRIPTOR (OpTensor)
DESCRIPTOR (Pooling)
DESCRIPTOR (RNNData)
DESCRIPTOR (RNN)
DESCRIPTOR (ReduceTensor)
DESCRIPTOR (SeqData)
DESCRIPTOR (SpatialTransformer)
DESCRIPTOR (Tensor)
DESCRIPTOR (TensorTransform)

/* ---- tensors and filters */

gsize
cudnn_type_size (int type)
{
  /* float, double, half, int8, int32, int8x4, uint8, uint8x4, int8x32, bfloat16, int64, boolean,
   * fp8 twice */
  static const guint8 sizes[] = { 4, 8, 2, 1, 4, 4, 1, 4, 32, 2, 8, 1, 1, 1 };
  return type >= 0 && type < (int) sizeof sizes ? sizes[type] : 4;
}

void
cudnn_set_tensor (gpointer descriptor, int type, int format, int n, const int *dimensions,
                  const int *strides)
{
  CudnnTensor tensor = { .type = type, .format = format, .n = CLAMP (n, 0, CUDNN_DIMENSIONS) };

  for (int i = 0; i < tensor.n; i++)
    tensor.dimensions[i] = dimensions[i];
  for (int i = tensor.n - 1, step = 1; i >= 0; step *= MAX (1, tensor.dimensions[i]), i--)
    tensor.strides[i] = strides != NULL ? strides[i] : step;
  gemem_library_keep (descriptor, TENSOR, &tensor, sizeof tensor);
}

/* What was kept; n 0: nothing. */
static CudnnTensor
kept_tensor (gconstpointer descriptor)
{
  CudnnTensor tensor = { 0 };
  gemem_library_kept (descriptor, TENSOR, &tensor, sizeof tensor);
  return tensor;
}

/* The strides of channels-last storage: the channels, dimension 1, are innermost. */
static void
set_with_format (gpointer descriptor, int format, int type, int n, const int *dimensions)
{
  int strides[CUDNN_DIMENSIONS] = { 0 }, step = 1;

  if (format != CUDNN_NHWC || n < 2 || n > CUDNN_DIMENSIONS)
    {
      cudnn_set_tensor (descriptor, type, format, n, dimensions, NULL);
      return;
    }
  strides[1] = 1;
  step = dimensions[1];
  for (int i = n - 1; i >= 2; i--)
    {
      strides[i] = step;
      step *= dimensions[i];
    }
  strides[0] = step;
  cudnn_set_tensor (descriptor, type, format, n, dimensions, strides);
}

DRY_FUNCTION (int, cudnnSetTensorNdDescriptor, void *descriptor, int type, int n,
              const int *dimensions, const int *strides)
{
  cudnn_set_tensor (descriptor, type, 0, n, dimensions, strides);
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnSetTensorNdDescriptorEx, void *descriptor, int format, int type, int n,
              const int *dimensions)
{
  set_with_format (descriptor, format, type, n, dimensions);
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnSetTensor4dDescriptor, void *descriptor, int format, int type, int n, int c,
              int h, int w)
{
  const int dimensions[] = { n, c, h, w };
  set_with_format (descriptor, format, type, 4, dimensions);
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnSetTensor4dDescriptorEx, void *descriptor, int type, int n, int c, int h,
              int w, int step_n, int step_c, int step_h, int step_w)
{
  const int dimensions[] = { n, c, h, w }, strides[] = { step_n, step_c, step_h, step_w };
  cudnn_set_tensor (descriptor, type, 0, 4, dimensions, strides);
  return CUDNN_SUCCESS;
}

#define ANSWER(pointer, value) \
  if ((pointer) != NULL) \
  *(pointer) = (value)

DRY_FUNCTION (int, cudnnGetTensorNdDescriptor, void *descriptor, int wanted, int *type, int *n,
              int *dimensions, int *strides)
{
  const CudnnTensor tensor = kept_tensor (descriptor);
  ANSWER (type, tensor.type);
  ANSWER (n, tensor.n);
  for (int i = 0; i < MIN (wanted, tensor.n); i++)
    {
      ANSWER (dimensions == NULL ? NULL : dimensions + i, tensor.dimensions[i]);
      ANSWER (strides == NULL ? NULL : strides + i, tensor.strides[i]);
    }
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnGetTensorSizeInBytes, void *descriptor, size_t *size)
{
  const CudnnTensor tensor = kept_tensor (descriptor);
  gsize last = 0; /* the offset of the last element */

  INVALID_VALUE_UNLESS (size != NULL, CUDNN_BAD_PARAM);
  for (int i = 0; i < tensor.n; i++)
    last += (gsize) MAX (0, tensor.dimensions[i] - 1) * (gsize) tensor.strides[i];
  *size = tensor.n > 0 ? (last + 1) * cudnn_type_size (tensor.type) : 0;
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnSetFilterNdDescriptor, void *descriptor, int type, int format, int n,
              const int *dimensions)
{
  set_with_format (descriptor, format, type, n, dimensions);
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnSetFilter4dDescriptor, void *descriptor, int type, int format, int k, int c,
              int h, int w)
{
  const int dimensions[] = { k, c, h, w };
  set_with_format (descriptor, format, type, 4, dimensions);
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnGetFilterNdDescriptor, void *descriptor, int wanted, int *type, int *format,
              int *n, int *dimensions)
{
  const CudnnTensor tensor = kept_tensor (descriptor);
  ANSWER (type, tensor.type);
  ANSWER (format, tensor.format);
  ANSWER (n, tensor.n);
  for (int i = 0; dimensions != NULL && i < MIN (wanted, tensor.n); i++)
    dimensions[i] = tensor.dimensions[i];
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnGetFilterSizeInBytes, void *descriptor, size_t *size)
{
  return cudnnGetTensorSizeInBytes (descriptor, size);
}

/* The parameters of a normalisation: one per channel, and per place if @mode is per activation. */
DRY_FUNCTION (int, cudnnDeriveBNTensorDescriptor, void *derived, void *descriptor, int mode)
{
  const CudnnTensor from = kept_tensor (descriptor);
  int dimensions[CUDNN_DIMENSIONS];

  for (int i = 0; i < from.n; i++)
    dimensions[i] = i == 1 || (mode == 0 && i > 1) ? from.dimensions[i] : 1;
  const int type = from.type == CUDNN_DOUBLE ? CUDNN_DOUBLE : CUDNN_FLOAT;
  cudnn_set_tensor (derived, type, 0, from.n, dimensions, NULL);
  return CUDNN_SUCCESS;
}

/* ---- convolutions */

typedef struct
{
  int n; /* spatial dimensions */
  int pads[CUDNN_DIMENSIONS], strides[CUDNN_DIMENSIONS], dilations[CUDNN_DIMENSIONS];
} Convolution;

DRY_FUNCTION (int, cudnnSetConvolutionNdDescriptor, void *descriptor, int n, const int *pads,
              const int *strides, const int *dilations, int mode, int compute_type)
{
  Convolution convolution = { .n = CLAMP (n, 0, CUDNN_DIMENSIONS) };

  for (int i = 0; i < convolution.n; i++)
    {
      convolution.pads[i] = pads[i];
      convolution.strides[i] = strides[i];
      convolution.dilations[i] = dilations[i];
    }
  gemem_library_keep (descriptor, CONVOLUTION, &convolution, sizeof convolution);
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnSetConvolution2dDescriptor, void *descriptor, int pad_h, int pad_w,
              int stride_h, int stride_w, int dilation_h, int dilation_w, int mode,
              int compute_type)
{
  const Convolution convolution = {
    2, { pad_h, pad_w }, { stride_h, stride_w }, { dilation_h, dilation_w }
  };
  gemem_library_keep (descriptor, CONVOLUTION, &convolution, sizeof convolution);
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnSetConvolutionGroupCount, void *descriptor, int groups)
{
  gemem_library_keep (descriptor, GROUPS, &groups, sizeof groups);
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnGetConvolutionGroupCount, void *descriptor, int *groups)
{
  INVALID_VALUE_UNLESS (groups != NULL, CUDNN_BAD_PARAM);
  *groups = (int) gemem_library_kept_number (descriptor, GROUPS, 1);
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnGetConvolutionNdForwardOutputDim, void *descriptor, void *input,
              void *filter, int n, int *output)
{
  const CudnnTensor x = kept_tensor (input), w = kept_tensor (filter);
  Convolution c = { 0 };

  gemem_library_kept (descriptor, CONVOLUTION, &c, sizeof c);
  INVALID_VALUE_UNLESS (output != NULL && n >= 2 && n == c.n + 2 && x.n == n && w.n == n,
                        CUDNN_BAD_PARAM);
  output[0] = x.dimensions[0];
  output[1] = w.dimensions[0];
  for (int i = 0; i < c.n; i++)
    {
      const int window = (w.dimensions[i + 2] - 1) * c.dilations[i] + 1;
      output[i + 2] = 1 + (x.dimensions[i + 2] + 2 * c.pads[i] - window) / MAX (1, c.strides[i]);
    }
  return CUDNN_SUCCESS;
}

DRY_FUNCTION (int, cudnnGetConvolution2dForwardOutputDim, void *descriptor, void *input,
              void *filter, int *n, int *c, int *h, int *w)
{
  int output[4];
  const int status = cudnnGetConvolutionNdForwardOutputDim (descriptor, input, filter, 4, output);

  INVALID_VALUE_UNLESS (status == CUDNN_SUCCESS, status);
  ANSWER (n, output[0]);
  ANSWER (c, output[1]);
  ANSWER (h, output[2]);
  ANSWER (w, output[3]);
  return CUDNN_SUCCESS;
}

/* ---- algorithms: one, whose workspace is unknown */

typedef struct
{
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math_type, reserved[3];
} Performance; /* cudnnConvolutionFwdAlgoPerf_t and its like */

static int
one_algorithm (const char *function, int algorithm, int wanted, int *found, Performance *results)
{
  INVALID_VALUE_UNLESS (wanted > 0 && found != NULL && results != NULL, CUDNN_BAD_PARAM);
  *results = (Performance){ .algorithm = algorithm,
                            .time = 1,
                            .determinism = 1,
                            .memory = gemem_library_unknown_size (function, 0) };
  gemem_dry_wrote (0, 0, NULL, FALSE); /* it tried them */
  *found = 1;
  return CUDNN_SUCCESS;
}

#define CHOOSE(name, algorithm) \
  DRY_FUNCTION (int, cudnnGet##name##Algorithm_v7, void *handle, void *a, void *b, \
                void *convolution, void *c, int wanted, int *found, Performance *results) \
  { \
    return one_algorithm ("cudnnGet" #name "Algorithm_v7", algorithm, wanted, found, results); \
  } \
  DRY_FUNCTION (int, cudnnFind##name##Algorithm, void *handle, void *a, void *b, \
                void *convolution, void *c, int wanted, int *found, Performance *results) \
  { \
    return one_algorithm ("cudnnFind" #name "Algorithm", algorithm, wanted, found, results); \
  } \
  DRY_FUNCTION (int, cudnnFind##name##AlgorithmEx, void *handle, void *a, const void *a_data, \
                void *b, const void *b_data, void *convolution, void *c, void *c_data, int wanted, \
                int *found, Performance *results, void *workspace, size_t size) \
  { \
    return one_algorithm ("cudnnFind" #name "AlgorithmEx", algorithm, wanted, found, results); \
  } \
  DRY_FUNCTION (int, cudnnGet##name##AlgorithmMaxCount, void *handle, int *count) \
  { \
    INVALID_VALUE_UNLESS (count != NULL, CUDNN_BAD_PARAM); \
    *count = 1; \
    return CUDNN_SUCCESS; \
  }
CHOOSE (ConvolutionForward, 1) /* IMPLICIT_PRECOMP_GEMM */
CHOOSE (ConvolutionBackwardData, 1)
CHOOSE (ConvolutionBackwardFilter, 1)

/* ---- workspaces */

#include "dry/libraries/cudnn/sizes.def"
