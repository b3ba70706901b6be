/* torch-throw.c - tells PyTorch that there is no memory.
 *
 * CUDAPluggableAllocator takes NULL for an address: the tensor lies at 0, and the first kernel on
 * it ends the GPU's context (seen with PyTorch 2.15).  Its own allocator throws there, so that
 * every caller is prepared for an exception; std::bad_alloc reaches Python as an error like any
 * other.  This is C: the function that throws is the C++ library's, found only in a process that
 * has PyTorch.  Frames of C are passed by the unwinder, so nothing may be held.
 */
#include "config.h"

#include <dlfcn.h>
#include <stddef.h>

#include "sim/live/torch-private.h"

/* @name in @library if that is loaded; NULL otherwise. */
static void *
find (const char *library, const char *name)
{
  void *handle = dlopen (library, RTLD_LAZY | RTLD_NOLOAD), *found = handle;

  if (handle != NULL && name != NULL)
    found = dlsym (handle, name);
  if (handle != NULL)
    dlclose (handle); /* it was loaded before, and stays */
  return found;
}

void
gemem_torch_throw (void)
{
  void (*throw_bad_alloc) (void);

  if (find ("libtorch_cuda.so", NULL) == NULL)
    return;
  throw_bad_alloc = (void (*) (void)) find ("libstdc++.so.6", "_ZSt17__throw_bad_allocv");
  if (throw_bad_alloc != NULL)
    throw_bad_alloc ();
}
