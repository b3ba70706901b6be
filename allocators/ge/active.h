/* active.h - the state of `ge-active`: a session with its static memory, and the dynamic memory beside it. */
#pragma once

#include "allocators/ge/stack.h"
#include "allocators/ge/static.h"

typedef struct
{
  GememAllocator base;
  GeStack       *stack;
  GeStatic       memory;
} GeSession;
