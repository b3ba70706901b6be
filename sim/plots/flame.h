/* flame.h - who holds the memory of a device, as a flame graph for a terminal. */
#pragma once

#include "sim/plots/canvas.h"
#include "traces/holders.h"

GEMEM_BEGIN_DECLS

/* Appends the call stacks of @device, callers above what they called, each as wide as its share of the bytes, in
 * @width columns (0: 80).  Rows without stacks are a cell each.  A chain of frames without another branch is one cell:
 * the line of the program in it, and how many other frames.  O(frames of all stacks). */
void gemem_flame_text (GString *out, const GememTraceInfo *info, const GememDeviceHolders *device,
                       guint width, const GememTextLook *look);

GEMEM_END_DECLS
