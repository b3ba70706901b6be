/* link.c - the linker of the driver: takes everything, and gives an image of nothing.
 *
 * Nothing is compiled, so that what the linked kernels need is unknown (modules.c says so in the
 * report). The image is an ELF header: where dry runs look into it, it has no kernels.
 */
#include "config.h"

#include "dry/driver/calls.h"
#include "dry/driver/mode.h"

static char image[64] = "\177ELF";

#define LINK(handle) \
  DriverObject *link = gemem_driver_object (handle, KIND_LINK); \
  if (link == NULL) \
  return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE, "no such linker")

CUresult CUDAAPI
cuLinkCreate_v2 (unsigned int count, CUjit_option *options, void **values, CUlinkState *place)
{
  const DriverObject *link;

  BEGIN (cuLinkCreate_v2, NEEDS_CONTEXT);
  PLACE (place);
  LENIENT_ONLY ();
  link = gemem_driver_object_add (g_new0 (DriverObject, 1), KIND_LINK, gemem_driver_context ());
  *place = (CUlinkState) (guintptr) link->id;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuLinkAddData_v2 (CUlinkState handle, CUjitInputType type, void *data, size_t size,
                  const char *name, unsigned int count, CUjit_option *options, void **values)
{
  BEGIN (cuLinkAddData_v2, NEEDS_CONTEXT);
  LINK (handle);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuLinkAddFile_v2 (CUlinkState handle, CUjitInputType type, const char *path, unsigned int count,
                  CUjit_option *options, void **values)
{
  BEGIN (cuLinkAddFile_v2, NEEDS_CONTEXT);
  LINK (handle);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuLinkComplete (CUlinkState handle, void **linked, size_t *size)
{
  BEGIN (cuLinkComplete, NEEDS_CONTEXT);
  LINK (handle);
  PLACE (linked);
  *linked = image;
  if (size != NULL)
    *size = sizeof image;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuLinkDestroy (CUlinkState handle)
{
  BEGIN (cuLinkDestroy, RETURNS);
  LINK (handle);
  gemem_driver_object_remove (link);
  gemem_driver_object_free (link);
  return CUDA_SUCCESS;
}

/* The names of before CUDA 6.5, which the driver has still: cuDNN looks them up by dlsym(). */
#define OLD_NAME(name, function) \
  extern __typeof__ (function) function##_old __asm__(name) \
      __attribute__ ((alias (#function), visibility ("default")));
OLD_NAME ("cuLinkCreate", cuLinkCreate_v2)
OLD_NAME ("cuLinkAddData", cuLinkAddData_v2)
OLD_NAME ("cuLinkAddFile", cuLinkAddFile_v2)
