/* abi.h - what of CUDA's binary interface the recorder relies on; so it is built, and tested, without CUDA's headers.
 *
 * abi-check.c compares it with the headers where they are there.  All of it is the same for the runtime and the driver, and since CUDA
 * 11.2.
 */
#pragma once

#define NOT_INITIALIZED 3 /* result where there is no real function */
#define OUT_OF_MEMORY 2
#define STREAM_LEGACY 1 /* handles that are no pointers */
#define STREAM_PER_THREAD 2
#define LOCATION_DEVICE 1  /* type of a location; the others are on the host */
#define ENTRY_PER_THREAD 2 /* flag of look-ups: stream 0 is the thread's */
#define ENTRY_LEGACY 1

typedef void *Address; /* CUdeviceptr and void * alike */
typedef void *Handle;

/* The beginning of CUmemAllocationProp, CUmemPoolProps and cudaMemPoolProps. */
typedef struct
{
  int kind, handle_types, location_type, location;
} Properties;
