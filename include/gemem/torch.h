/* torch.h - libgemem-torch: gemem's allocators inside a running PyTorch program
 * (doc/pytorch.md). */
#pragma once

#include "sim/live/torch.h"
