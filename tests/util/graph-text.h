/* graph-text.h - a graph as short text, for tests to compare. */
#pragma once

#include "graphs/graph.h"

/* One line per variable ("$w float32[4,8]=128 persistable") and node ("relu:Relu(gemm.0) ->
 * float32[2,8]=64&0"; &0: memory of input 0; further fields only where they differ from the
 * default); free with g_free(). */
char *test_graph_text (const GememGraph *graph);

/* Opens tests/data/@relative; fails the test on an error. */
GememGraph *test_open_graph (const char *relative);

/* The message of the error with which gemem_graph_open_input() refuses @size bytes at @data,
 * named "x"; fails the test if the bytes are accepted. */
char *test_graph_refusal (const void *data, gsize size, const char *format);
