/* cudnn.h - what the files of cuDNN share (library.h). */
#pragma once

#include "dry/libraries/library.h"

/* Statuses, types and formats, from cudnn_graph.h */
#define CUDNN_SUCCESS 0
#define CUDNN_BAD_PARAM 2000
#define CUDNN_NOT_SUPPORTED 3000
#define CUDNN_FLOAT 0
#define CUDNN_DOUBLE 1
#define CUDNN_NHWC 1
#define CUDNN_DIMENSIONS 8 /* CUDNN_DIM_MAX */

typedef struct
{
  int type, format, n;
  int dimensions[CUDNN_DIMENSIONS], strides[CUDNN_DIMENSIONS];
} CudnnTensor;

/* Bytes of an element of @type (cudnnDataType_t). */
gsize cudnn_type_size (int type);
/* Keeps a tensor or a filter; @strides NULL: without gaps, the last dimension innermost. */
void cudnn_set_tensor (gpointer descriptor, int type, int format, int n, const int *dimensions,
                       const int *strides);
