/* sample-result.h - small results made by hand, for the tests of the reports. */
#pragma once

#include "sim/engine/result.h"

/* Peak reserved 4 GiB of 8, live 2.5 and allocated 3 GiB at that moment, lower bound 3.125 GiB, 768
 * MiB largest free: utilisation 75 %, overhead 1.28, fragmentation 25 %.  One avoidable failure,
 * three points of timeline, a map of two segments. */
GememResult *test_sample_result (const char *trace, const char *label);
