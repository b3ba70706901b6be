/* sizes.h - KIB, MIB, GIB: short names for tests, which are full of sizes. */
#pragma once

#include "base/units.h"

#define KIB GEMEM_KIB
#define MIB GEMEM_MIB
#define GIB GEMEM_GIB
