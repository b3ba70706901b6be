/* trial.h - a list of operations run against one allocator, every answer checked.
 *
 * A trial holds a device, an allocator and an oracle that knows only what any allocator promises
 * (allocator.h): which blocks are live and where.  After each operation the answer is compared with
 * the oracle and, where the subject has one, with a naive model of the same specification
 * (naive.h); every `verify_every` operations walk(), check() and the device are compared with
 * both.  A broken promise is not an assertion but a text, so that a failing list can be shrunk
 * (shrink.h).
 *
 * Operations that make no sense (free of an id that has no block) are skipped: any part of a list
 * is a list.
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
  TEST_GRAPH_RUN,  /* what runs is not run again before the end */
  TEST_GRAPH_RUN_END,
  TEST_GRAPH_UNLOAD,
  TEST_LET,    /* stream_free */
  TEST_RECORD, /* of event `id`, for stream `size` - 1; 0: for whoever waits */
  TEST_WAIT,
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

/* What is on trial. */
typedef struct
{
  const GememAllocatorClass *klass;
  const char *settings; /* "key=value,..."; NULL: defaults */
  guint64 capacity;     /* of the device */
  gboolean first_fit;   /* its address policy, else bump */
  gboolean no_virtual;  /* it has no virtual memory */
  gboolean odd_base;    /* its addresses begin on a multiple of 2 MiB and of nothing larger */
  /* operations until a recorded event is complete; 0: it is at once, and time is that of the
   * calls */
  guint delay;
  const char *faults;      /* of a faulty device around it, "nth=5,call=malloc"; NULL: none */
  const NaiveClass *naive; /* or NULL */
  guint verify_every;      /* operations; 0: only at the end */
} TestSubject;

typedef enum
{
  TEST_BLOCK_NONE, /* never asked for, refused, or of zero bytes */
  TEST_BLOCK_LIVE,
  TEST_BLOCK_PENDING, /* a completion is owed */
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
  /* guint8, TestGraphState, by id; of classes without graphs: none, they are blocks */
  GArray *graphs;
  guint64 live_bytes, allocated; /* sums of sizes asked for, and of block sizes */
  guint64 operations, allocs, failures;
  gboolean ok;   /* the last TEST_ALLOC, TEST_GRAPH_LOAD or TEST_GRAPH_RUN got its memory */
  char *problem; /* the first broken promise */
} TestTrial;

/* NULL with @error when the class refuses the settings. */
TestTrial *test_trial_new (const TestSubject *subject, GError **error);
/* The same on a @device that the caller keeps. */
TestTrial *test_trial_new_on (const TestSubject *subject, GememDevice *device, GError **error);
/* FALSE: a promise was broken, see trial->problem. */
gboolean test_trial_step (TestTrial *trial, const TestOp *op);
gboolean test_trial_run (TestTrial *trial, const TestOp *ops, gsize n);
gboolean test_trial_verify (TestTrial *trial);
/* Frees what is live, completes what is owed, unloads what is loaded. */
gboolean test_trial_drain (TestTrial *trial);
/* Destroys allocator and device: nothing may be held, nothing misused.  Returns the problem, to be
 * freed, or NULL; frees @trial. */
char *test_trial_finish (TestTrial *trial);
/* For tests that stop at nothing: a trial that must begin; its end, a failure of the test if a
 * promise was broken; such a failure. */
TestTrial *test_trial_start (const TestSubject *subject);
void test_trial_end (TestTrial *trial);
void test_subject_fail (const TestSubject *subject, const char *problem);
/* The same, but the device stays. */
char *test_trial_dissolve (TestTrial *trial);

const TestBlock *test_trial_block (const TestTrial *trial, guint32 id);

/* The segments of a TEST_GRAPH_LOAD are appended to @segments (GememGraphSegment): one to six, now
 * and then with a gap; fixed ones, and at the end one of zero-copy with or without memory of its
 * own, now and then.  Those of a subgraph are all marked as such. */
void test_op_segments (const TestOp *op, GArray *segments);

/* Device calls that bring memory (malloc, reserve, create, map), and all; refused ones too. */
guint64 test_trial_memory_calls (const TestTrial *trial);
guint64 test_trial_device_calls (const TestTrial *trial);

/* The whole: NULL, or what is wrong. */
char *test_trial_of (const TestSubject *subject, const TestOp *ops, gsize n);
/* The same in a child process, so that a crash is a problem like any other. */
char *test_trial_guarded (const TestSubject *subject, const TestOp *ops, gsize n);

/* "NAME:settings" and "sim:..." as on the command line. */
char *test_subject_allocator (const TestSubject *subject);
char *test_subject_device (const TestSubject *subject);
