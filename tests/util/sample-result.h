/* sample-result.h - small results made by hand, for the tests of the reports. */
#pragma once

#include "sim/engine/result.h"

/* Peak reserved 4 GiB of 8; at that moment 2.5 GiB live and 3 GiB allocated; lower bound 3.125
 * GiB, largest free block 768 MiB: utilisation 75 %, overhead 1.28, fragmentation 25 %. One
 * avoidable failure, a timeline of three points, a map of two segments. */
GememResult *test_sample_result (const char *trace, const char *label);
