/* abi.h - the part of CUDA's binary interface that the recorder relies on, so that the recorder is
 * built and tested without CUDA's headers.
 *
 * abi-check.c compares these definitions with the headers if installed.  All definitions hold for
 * the runtime and the driver, since CUDA 11.2.
 */
#pragma once

#include <stddef.h>

#define NOT_INITIALIZED 3 /* the result if there is no real function */
#define OUT_OF_MEMORY 2
#define STREAM_LEGACY 1 /* special handles that are not pointers */
#define STREAM_PER_THREAD 2
#define STREAM_NON_BLOCKING 1u /* flag of a new stream */
#define LOCATION_DEVICE 1      /* type of a location; the others are on the host */
#define KIND_PINNED 1          /* kind of the memory of a pool */
#define ENTRY_PER_THREAD 2     /* flag of lookups: stream 0 is the thread's */
#define ENTRY_LEGACY 1

typedef void *Address; /* stands for CUdeviceptr and void * */
typedef void *Handle;

/* The beginning of CUmemAllocationProp, CUmemPoolProps and cudaMemPoolProps. */
typedef struct
{
  int kind, handle_types, location_type, location;
} Properties;

/* The beginning of CUmemPoolProps and cudaMemPoolProps; before CUDA 12 the limit was reserved, and
 * had to be 0. */
typedef struct
{
  Properties properties;
  void *security;
  size_t max_size;
} PoolProperties;

/* CUmemLocation. */
typedef struct
{
  int type, id;
} Location;

/* cudaExtent, by value. */
typedef struct
{
  size_t width, height, depth;
} Extent;

/* cudaPitchedPtr. */
typedef struct
{
  Address address;
  size_t pitch, width, height;
} Pitched;

#define COPY_DEVICE_TO_HOST 2 /* cudaMemcpyKind */

/* dim3, by value. */
typedef struct
{
  unsigned x, y, z;
} Dimensions;

/* The beginning of CUlaunchConfig and cudaLaunchConfig_t. */
typedef struct
{
  char sizes[32];
  Handle stream;
} Launch;

/* ---- arrays: CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR; formats and flags */

enum
{
  ARRAY_UINT8 = 1,
  ARRAY_UINT16 = 2,
  ARRAY_UINT32 = 3,
  ARRAY_SINT8 = 8,
  ARRAY_SINT16 = 9,
  ARRAY_SINT32 = 10,
  ARRAY_HALF = 16,
  ARRAY_FLOAT = 32,
};

#define ARRAY_MAPPED_LATER 0xC0u /* flags: sparse, or deferred mapping */

typedef struct
{
  size_t width, height;
  int format;
  unsigned channels;
} Array;

typedef struct
{
  size_t width, height, depth; /* 0: the array has fewer dimensions */
  int format;
  unsigned channels, flags;
} Array3D;

/* ---- nodes of graphs: CUDA_MEM_ALLOC_NODE_PARAMS, CUgraphNodeParams */

#define NODE_TYPE_ALLOC 10
#define NODE_TYPE_FREE 11

typedef struct
{
  char pool[88];
  const void *access;
  size_t access_count, size;
  Address address; /* filled in by the driver */
} AllocNode;

typedef struct
{
  int type, zero[3];
  union
  {
    AllocNode alloc;
    Address free;
  };
} Node;
