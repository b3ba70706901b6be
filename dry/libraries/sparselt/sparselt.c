/* sparselt.c - cuSPARSELt where it is not installed: sizes (dry/libraries/sizes.h). */
#include "config.h"

#include "dry/libraries/objects.h"
#include "dry/libraries/sizes.h"

#define SPARSELT_INVALID_VALUE 3

#include "dry/libraries/sparselt/sizes.def"
