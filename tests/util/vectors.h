/* vectors.h - replays a vector file (operations with expected decisions) through the allocator that
 * its first line names.
 *
 * The first line is "# SYSTEM key=value ..." and becomes "SYSTEM:key=value,..." for
 * gemem_allocator_spec_parse(), exactly as on the command line; "# single|two|exp --total=N
 * [--cap=N]" (GE) becomes ge-scalable or ge-expandable. Every line is compared: address, block
 * size, bytes held from the device, out-of-memory, and each figure that the `figure` hook knows.
 * The first difference is reported with its line and fails the test.
 */
#pragma once

#include <glib.h>

#include "allocators/allocator.h"

/* The actual value of a figure that only some systems print ("pool", "split"); @block is NULL
 * after frees and failures. FALSE: the figure is unknown, which counts as a difference. */
typedef gboolean (*TestVectorFigure) (GememAllocator *allocator, const GememBlock *block,
                                      const char *key, guint64 *value, gpointer data);

typedef struct
{
  /* replaces the first line: "NAME:key=value,..."; NULL: the first line counts */
  const char *spec;
  const char *device; /* with `spec`: "sim:capacity=..."; NULL: from the first line */
  /* operations between two runs of class->check and walk, which also follow failures; 0: 64 */
  guint check_every;
  TestVectorFigure figure;
  gpointer figure_data;
} TestVectorOptions;

typedef struct
{
  guint64 operations, allocs, frees, trims, failures, skipped_frees;
} TestVectorCounts;

/* TRUE if every line of @path is equal. @options may be NULL; @counts (may be NULL) receives the
 * number of comparisons. */
gboolean test_vector_replay (const char *path, const TestVectorOptions *options,
                             TestVectorCounts *counts);

/* The allocator that the first line of @path names, as for -a, with settings of the device.
 * Caller frees. */
char *test_vector_spec (const char *path);

/* The content of a plain or gzip-compressed file as text; fails the test if it cannot be read. */
char *test_read_text (const char *path);

/* Runs check(), then compares walk() with the device: physical spans add up to `held`, lie inside
 * their segments in ascending order without overlap, and @live of them are live, with @live_bytes
 * (G_MAXUINT64: not compared).  FALSE after g_test_message(). */
gboolean test_allocator_verify (GememAllocator *allocator, guint64 live, guint64 live_bytes);

/* The statistic @name, which must exist exactly once. */
guint64 test_allocator_stat (GememAllocator *allocator, const char *name);

/* A new allocator on a new device, from texts as on the command line; fails the test on an
 * error. @device NULL: "sim" plus the device settings found in @spec. */
GememAllocator *test_allocator_new (const char *spec, const char *device);
/* @spec, as on the command line, must be refused as GEMEM_ERROR_USAGE that says @message. */
void test_allocator_refused (const char *spec, const char *message);
/* asserts held == 0, then destroys the device too */
void test_allocator_destroy (GememAllocator *allocator);
