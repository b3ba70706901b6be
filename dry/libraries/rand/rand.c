/* rand.c - cuRAND where it is not installed: generators (dry/libraries/objects.h). */
#include "config.h"

#include "dry/libraries/objects.h"

#define RAND_TYPE_ERROR 103

FREE_OBJECT (curandDestroyGenerator)

DRY_FUNCTION (int, curandCreateGenerator, void **generator, int type)
{
  INVALID_VALUE_UNLESS (generator != NULL, RAND_TYPE_ERROR);
  gemem_library_unknown_size ("curandCreateGenerator",
                              0); /* the generator's state, which it allocates itself */
  *generator = gemem_library_object_new ();
  return SUCCESS;
}

DRY_FUNCTION (int, curandGetVersion, int *version)
{
  INVALID_VALUE_UNLESS (version != NULL, RAND_TYPE_ERROR);
  *version = short_version ("curand");
  return SUCCESS;
}

PROPERTY_OF (curandGetProperty, "curand", RAND_TYPE_ERROR)
