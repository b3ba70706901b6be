/* graph-lines.h - small graphs for tests, a node per line.
 *
 *   "S     out=4096,512 stream=1 ws=1024\n"
 *   "P:Reshape in=S.0,-,S.1 out=512 after=S reuse=0.1 label=Batch_0 _output_reuse_input=1\n"
 *
 * NAME or NAME:TYPE (default Some), then fields in any order: in (NODE.OUTPUT, or - for none), out
 * (bytes), ws, after (controls), reuse (OUTPUT.INPUT), shapes (per output AxBxC of uint8, or -),
 * stream, engine, label, index, in_block (number), blocks (names), and every attribute of a node by
 * its name, with a comma-separated list; an attribute of output 0 as 0.NAME. */
#pragma once

#include "graphs/graph.h"

/* A sealed graph; a fault in @lines aborts the test. */
GememGraph *test_graph_from_lines (const char *lines);
GememGraph *test_graph_from_lines_dynamic (const char *lines); /* with a root of dynamic shape */
