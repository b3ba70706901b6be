/* trial.h - runs a list of operations against one allocator and checks every answer.
 *
 * A trial holds a device, an allocator and an oracle that knows only what any allocator promises
 * (allocator.h): which blocks are live and where. After each operation the answer is compared with
 * the oracle and, where the subject has one, with a naive model of the same specification
 * (naive.h); every `verify_every` operations walk(), check() and the device are compared with both.
 * A broken promise is reported as a text, not as a failed assertion, so that a failing list can be
 * shrunk (shrink.h).
 *
 * Operations without meaning (free of an id that has no block) are skipped, so that any part of a
 * list is a valid list.
 */
#pragma once

#include "allocators/allocator.h"
#include "tests/util/naive.h"

typedef enum
{
  TEST_ALLOC,
  TEST_FREE,
  TEST_FREE_LATER, /* a completion follows */
  TEST_COMPLETE,
  TEST_USE,
  TEST_SYNC, /* stream G_MAXUINT64: the device */
  TEST_TRIM,
  TEST_GRAPH_LOAD, /* `size` bytes of static memory, in segments drawn from the seed `pool` */
  TEST_GRAPH_RUN,  /* a running graph is not run again before its end */
  TEST_GRAPH_RUN_END,
  TEST_GRAPH_UNLOAD,
  TEST_LET,    /* stream_free */
  TEST_RECORD, /* of event `id`, for stream `size` - 1; `size` 0: for any waiter */
  TEST_WAIT,
  TEST_FREE_ON,
  TEST_WORK, /* `id` from 1; 0: without a name */
  TEST_WORK_DONE,
  TEST_ASK,
} TestOpKind;

typedef struct
{
  guint8 kind; /* TestOpKind */
  guint32 id;
  guint32 pool;
  guint64 size, stream;
} TestOp;

#define TEST_SUBGRAPH \
  (1 << 20) /* bit of the seed of a graph: it is a static subgraph of a dynamic graph */

/* The allocator on trial, its settings and its device. */
typedef struct
{
  const GememAllocatorClass *klass;
  const char *settings; /* "key=value,..."; NULL: defaults */
  guint64 capacity;     /* of the device */
  gboolean first_fit;   /* its address policy; FALSE: bump */
  gboolean no_virtual;  /* the device has no virtual memory */
  gboolean odd_base;    /* its addresses begin at a multiple of 2 MiB, of no larger power of 2 */
  /* operations until a recorded event is complete; 0: events complete at once, and the clock is
   * advanced by the costs of calls alone */
  guint delay;
  const char *faults;      /* of the faulty device around it, "nth=5,call=malloc"; NULL: none */
  const NaiveClass *naive; /* or NULL */
  guint verify_every;      /* operations; 0: only at the end */
} TestSubject;

typedef enum
{
  TEST_BLOCK_NONE, /* never requested, refused, or of zero bytes */
  TEST_BLOCK_LIVE,
  TEST_BLOCK_PENDING, /* a completion is pending */
} TestBlockState;

typedef struct
{
  TestBlockState state;
  GememBlock block;
  guint64 size, stream;
  guint32 pool;
} TestBlock;

typedef enum
{
  TEST_GRAPH_NONE,
  TEST_GRAPH_LOADED,
  TEST_GRAPH_RUNNING,
} TestGraphState;

typedef struct
{
  const TestSubject *subject;
  GememDevice *device;
  GememAllocator *allocator;
  Naive *naive;
  GArray *blocks; /* TestBlock by id */
  GArray *live;   /* ids of live blocks, by address */
  /* guint8, TestGraphState, by id; empty for classes without graphs, where graphs are blocks */
  GArray *graphs;
  guint64 live_bytes, allocated; /* sums of requested sizes, and of block sizes */
  guint64 operations, allocs, failures;
  gboolean ok;   /* the last TEST_ALLOC, TEST_GRAPH_LOAD or TEST_GRAPH_RUN got its memory */
  char *problem; /* the first broken promise */
} TestTrial;

/* NULL with @error when the class refuses the settings. */
TestTrial *test_trial_new (const TestSubject *subject, GError **error);
/* The same on a @device that the caller owns. */
TestTrial *test_trial_new_on (const TestSubject *subject, GememDevice *device, GError **error);
/* FALSE: a promise was broken, see trial->problem. */
gboolean test_trial_step (TestTrial *trial, const TestOp *op);
gboolean test_trial_run (TestTrial *trial, const TestOp *ops, gsize n);
gboolean test_trial_verify (TestTrial *trial);
/* Frees live blocks, completes pending ones, unloads graphs. */
gboolean test_trial_drain (TestTrial *trial);
/* Destroys allocator and device; bytes still held or misuse of the device are a problem. Returns
 * the problem, to be freed, or NULL; frees @trial. */
char *test_trial_finish (TestTrial *trial);
/* For tests that need no shrinking: a trial whose creation must succeed; the end of a trial,
 * which fails the test if a promise was broken; a failure of the test with @problem. */
TestTrial *test_trial_start (const TestSubject *subject);
void test_trial_end (TestTrial *trial);
/* TRUE if a new allocator of @subject, on a device without faults, serves a request of @size: the
 * first block of a pool may be larger than a small device. */
gboolean test_subject_serves (const TestSubject *subject, guint64 size);
void test_subject_fail (const TestSubject *subject, const char *problem);
/* test_trial_finish() without destroying the device. */
char *test_trial_dissolve (TestTrial *trial);

const TestBlock *test_trial_block (const TestTrial *trial, guint32 id);

/* Appends the segments of a TEST_GRAPH_LOAD to @segments (GememGraphSegment): one to six, some
 * with a gap before them, some fixed, some lists with a zero-copy segment at the end, with or
 * without memory of its own. All segments of a subgraph are marked as such. */
void test_op_segments (const TestOp *op, GArray *segments);

/* Device calls that obtain memory (malloc, reserve, create, map), and all device calls; refused
 * ones count. */
guint64 test_trial_memory_calls (const TestTrial *trial);
guint64 test_trial_device_calls (const TestTrial *trial);

/* Runs the whole list in a child process, so that a crash is reported as a problem; NULL, or the problem. */
char *test_trial_guarded (const TestSubject *subject, const TestOp *ops, gsize n);

/* "NAME:settings" and "sim:..." as on the command line. */
char *test_subject_allocator (const TestSubject *subject);
char *test_subject_device (const TestSubject *subject);
