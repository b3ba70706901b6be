/* api-check.c - compares api.h with CUDA's own headers at compile time; compiled only if
 * these headers are installed, and are of the version that api.h has its values from. */
#include "config.h"

#define __CUDA_API_VERSION_INTERNAL /* prototypes of all versions */
#include <cuda.h>
#include <stddef.h>

#if CUDA_VERSION == 13000
/* A prototype that differs from CUDA's own is refused by the compiler. */
#include "dry/driver/api-functions.h"

#define DRIVER_CONSTANT(name, value) \
  _Static_assert((long long) name == (long long) (int) (value), #name " is as in api.def");
#include "dry/driver/api.def"
#undef DRIVER_CONSTANT

_Static_assert(sizeof (CUresult) == sizeof (unsigned int),
               "enumerations have the size of a number");

#define DRIVER_FIELD(type, field, offset) \
  _Static_assert(offsetof (type, field) == (offset), #type "." #field " is where api.h says");
#define DRIVER_SIZE(type, size) \
  _Static_assert(sizeof (type) == (size), #type " has the size of that in api.h");
#include "dry/driver/api-layouts.def"
#endif
