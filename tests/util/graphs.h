/* graphs.h - graphs in tests: made from text, and compared in every field. */
#pragma once

#include "graphs/format.h"

/* The graph in @text, under the name "g.json"; @format NULL: recognised. */
GememGraph *test_graph_from_text (const char *text, const char *format, GError **error);

/* Fails at the first difference between two sealed graphs. */
void test_graphs_equal (const GememGraph *a, const GememGraph *b);

/* Fails unless @graph, written as a file of gemem and read, is the same. */
void test_graph_written_and_read (const GememGraph *graph);

/* The error message for @text, which is not a valid graph. */
char *test_graph_error (const char *text, const char *format);
