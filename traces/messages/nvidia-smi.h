/* nvidia-smi.h - what nvidia-smi prints: how full the devices are, and which processes hold the memory.
 *
 * Why apart: its rows are many, and the columns of its CSV stand in any order, which the patterns of
 * messages.def cannot say.
 *
 * Invariants: the figures are those of the fullest device; amounts that it does not know ("[N/A]",
 * as on Windows) are left out.  Cost: O(text), in memory for a copy of it.
 */
#pragma once

#include "traces/messages/message.h"

GEMEM_BEGIN_DECLS

/* Sets USED and TOTAL of @message, and its processes. */
void gemem_nvidia_smi_read (const char *text, gsize size, GememMessage *message);

GEMEM_END_DECLS
