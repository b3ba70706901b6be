/* library-nccl.h - what the files of NCCL share. */
#pragma once

#include "devices/dry/library.h"

#define SUCCESS 0
#define INVALID_ARGUMENT 4
#define INVALID_USAGE 5

/* What a communicator keeps (dry_kept_number()). */
enum
{
  RANKS = 1,
  RANK,
  DEVICE,
  AT_MOST, /* ranks, where it is not known how many there are */
};
