/* vectors.h - replays a vector file (operations with expected decisions) through the allocator its
 * first line names.
 *
 * The first line is "# SYSTEM key=value ..." and becomes "SYSTEM:key=value,..." for
 * gemem_allocator_spec_parse(), exactly as on the command line; "# single|two|exp --total=N
 * [--cap=N]" (GE) becomes ge-scalable or ge-expandable.  Compared for every line: address, block
 * size, bytes held from the device, out-of-memory, and whatever the `figure` hook knows.  The first
 * difference is reported with its line and fails the test.
 */
#pragma once

#include <glib.h>

#include "allocators/allocator.h"

/* The actual value of a figure that only some systems print ("pool", "split"); @block is NULL after
 * frees and failures.
 * FALSE: not known, which is a difference. */
typedef gboolean (*TestVectorFigure) (GememAllocator *allocator, const GememBlock *block,
                                      const char *key, guint64 *value, gpointer data);

typedef struct
{
  /* instead of what the first line says: "NAME:key=value,..."; NULL: the first line */
  const char *spec;
  const char *device; /* with `spec`: "sim:capacity=..."; NULL: from the first line */
  /* class->check and a walk every so many operations and after failures; 0: every 64th */
  guint check_every;
  TestVectorFigure figure;
  gpointer figure_data;
} TestVectorOptions;

typedef struct
{
  guint64 operations, allocs, frees, trims, failures, skipped_frees;
} TestVectorCounts;

/* TRUE if every line of @path is equal.  @options may be NULL; @counts (may be NULL) says what was
 * compared. */
gboolean test_vector_replay (const char *path, const TestVectorOptions *options,
                             TestVectorCounts *counts);

/* What the first line of @path, and the rest of it, say: the allocator as for -a, and the device.
 * Caller frees. */
char *test_vector_spec (const char *path);

/* The whole of a plain or gzip-compressed file as text; fails the test if it cannot be read. */
char *test_read_text (const char *path);

/* Runs check(), then compares walk() with the device: physical spans add up to `held`, lie inside
 * their segments in ascending order without overlap, and @live of them are live, with @live_bytes
 * (G_MAXUINT64: not compared).  FALSE after g_test_message(). */
gboolean test_allocator_verify (GememAllocator *allocator, guint64 live, guint64 live_bytes);

/* The statistic of that name, which there must be, once. */
guint64 test_allocator_stat (GememAllocator *allocator, const char *name);

/* A new allocator on a new device from texts as on the command line; fails the test on error.
 * @device NULL: "sim" plus the device settings found in @spec. */
GememAllocator *test_allocator_new (const char *spec, const char *device);
/* asserts held == 0, then destroys the device too */
void test_allocator_destroy (GememAllocator *allocator);
