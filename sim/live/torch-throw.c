/* torch-throw.c - reports to PyTorch that there is no memory.
 *
 * CUDAPluggableAllocator takes NULL for an address: the tensor lies at 0, and the first kernel on
 * it destroys the GPU's context (seen with PyTorch 2.15).  PyTorch's own allocator throws, so every
 * caller is prepared for an exception; std::bad_alloc reaches Python as an ordinary error.  This
 * file is C: the function that throws is the C++ library's, found only in a process with PyTorch.
 * The unwinder skips C frames without clean-up, so no lock or memory may be held.
 */
#include "config.h"

#include <dlfcn.h>
#include <stddef.h>

#include "sim/live/torch-private.h"

/* The address of symbol @name in @library if that library is loaded; else NULL. */
static void *
find (const char *library, const char *name)
{
  void *handle = dlopen (library, RTLD_LAZY | RTLD_NOLOAD), *found = handle;

  if (handle != NULL && name != NULL)
    found = dlsym (handle, name);
  if (handle != NULL)
    dlclose (handle); /* the library was loaded before and stays loaded */
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
