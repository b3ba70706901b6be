/* random-graph.h - random graphs for tests: small, valid, and with the requested subset of the
 * features that planners must handle.
 *
 * The same seed, features and number of nodes give the same graph everywhere (base/rng.h).
 * Switching a feature off changes no random draw except those of its own nodes. Graphs keep the
 * rules of ge-static.md: members of continuous groups are made for their group, labelled nodes read
 * only unlabelled tensors or those of their own label, cleared nodes wait for the MemSet at the
 * head.
 */
#pragma once

#include "graphs/graph.h"

typedef enum
{
  TEST_GRAPH_STREAMS = 1 << 0,    /* up to four, with edges between them */
  TEST_GRAPH_REFERENCES = 1 << 1, /* outputs that share an input's memory */
  TEST_GRAPH_WORKSPACES = 1 << 2,
  TEST_GRAPH_LABELS = 1 << 3,    /* batch labels */
  TEST_GRAPH_PADDED = 1 << 4,    /* continuous_input, continuous_output */
  TEST_GRAPH_NOPADDING = 1 << 5, /* concatenation without copy */
  TEST_GRAPH_ATOMIC = 1 << 6,    /* memory cleared by one MemSet at the head */
  TEST_GRAPH_IO = 1 << 7,        /* Data and NetOutput */
  TEST_GRAPH_CONTROLS = 1 << 8,
  TEST_GRAPH_TYPES = 1 << 9,      /* memory of other types, session workspaces */
  TEST_GRAPH_NO_STREAM = 1 << 10, /* some nodes on stream -1 */
  TEST_GRAPH_BLOCKS = 1 << 11,    /* nodes that own a subgraph */
  TEST_GRAPH_ALL = (1 << 10) - 1, /* features checked against ge-static.md: not the last two */
} TestGraphFeatures;

/* A sealed graph of about @nodes nodes (at least 2); free with gemem_graph_unref(). */
GememGraph *test_random_graph (guint64 seed, guint features, guint nodes);
/* The graph as JSON in our format (graphs/format.h), for a report; free with g_free(). */
char *test_graph_json (const GememGraph *graph);
