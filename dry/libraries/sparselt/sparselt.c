/* sparselt.c - cuSPARSELt where it is not installed: sizes (dry/libraries/sizes.h). */
#include "config.h"

#include "dry/libraries/sizes.h"

#include "dry/libraries/sparselt/sizes.def"
