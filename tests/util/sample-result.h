/* sample-result.h - small results made by hand, for the tests of the reports. */
#pragma once

#include "sim/engine/result.h"

/* Peak reserved 4 GiB of 8; at that moment 2.5 GiB live and 3 GiB allocated; lower bound 3.125
 * GiB, largest free block 768 MiB: utilisation 75 %, overhead 1.28, fragmentation 25 %. One
 * avoidable failure, a timeline of three points, a map of two segments. */
GememResult *test_sample_result (const char *trace, const char *label);
/* Adds origins to it: of the failed request, of the block in its way, of a live block of the map;
 * lists of four blocks at the peak (by a line, from before the recording, unknown, not even the
 * event known) and of one that is never freed. */
void test_sample_origins (GememResult *result);
