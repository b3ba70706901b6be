/* trial.c - see trial.h. Live blocks are kept sorted by address, so that every overlap is one
 * between neighbours. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "tests/util/trial.h"
#include "traces/trace.h"

#define HEX "0x%" G_GINT64_MODIFIER "x"
#define U64 "%" G_GUINT64_FORMAT

/* ---- names */

char *
test_subject_allocator (const TestSubject *subject)
{
  const gboolean plain = subject->settings == NULL || *subject->settings == '\0';

  return plain ? g_strdup (subject->klass->name)
               : g_strdup_printf ("%s:%s", subject->klass->name, subject->settings);
}

char *
test_subject_device (const TestSubject *subject)
{
  g_autofree char *events = subject->delay > 0
                                ? g_strdup_printf (",free_synchronises=no,event_latency=%ums",
                                                   subject->delay * 1000 - 500)
                                : g_strdup ("");
  g_autofree char *beneath = g_strdup_printf (
      "capacity=" U64 ",address=%s%s%s%s", subject->capacity,
      subject->first_fit ? "first-fit,va=first-fit" : "bump",
      subject->odd_base ? ",base=0x100000200000" : "",
      subject->no_virtual ? ",virtual_memory=no" : "", events);

  return subject->faults != NULL ? g_strdup_printf ("faulty:%s,%s", subject->faults, beneath)
                                 : g_strconcat ("sim:", beneath, NULL);
}

/* ---- life */

static GememAllocator *
create_allocator (const TestSubject *subject, GememDevice *device, GError **error)
{
  g_autoptr (GPtrArray)
      settings = gemem_settings_parse (subject->settings != NULL ? subject->settings : "", error);
  g_autoptr (GPtrArray) none = g_ptr_array_new ();
  const GememAllocatorSpec spec = { subject->klass, (char *) subject->klass->name, settings, none };

  return settings != NULL ? gemem_allocator_new (&spec, NULL, device, error) : NULL;
}

TestTrial *
test_trial_new_on (const TestSubject *subject, GememDevice *device, GError **error)
{
  GememAllocator *allocator = create_allocator (subject, device, error);
  TestTrial *trial;

  if (allocator == NULL)
    return NULL;
  trial = g_new0 (TestTrial, 1);
  trial->subject = subject;
  trial->allocator = allocator;
  trial->device = device;
  trial->blocks = g_array_new (FALSE, TRUE, sizeof (TestBlock));
  trial->live = g_array_new (FALSE, FALSE, sizeof (guint32));
  trial->graphs = g_array_new (FALSE, TRUE, sizeof (guint8));
  if (subject->naive != NULL)
    trial->naive = naive_new (subject->naive, subject->capacity, subject->first_fit);
  return trial;
}

TestTrial *
test_trial_new (const TestSubject *subject, GError **error)
{
  g_autofree char *text = test_subject_device (subject);
  GememDevice *device = gemem_device_new (text, NULL, 0, error);
  TestTrial *trial = device != NULL ? test_trial_new_on (subject, device, error) : NULL;

  if (trial == NULL && device != NULL)
    gemem_device_destroy (device);
  return trial;
}

char *
test_trial_dissolve (TestTrial *trial)
{
  char *problem = g_steal_pointer (&trial->problem);
  const GememDevice *device = trial->device;

  gemem_allocator_destroy (trial->allocator);
  if (problem == NULL && device->held != 0)
    problem = g_strdup_printf ("after destroy the device still holds " U64 " bytes", device->held);
  if (problem == NULL && device->misuses != 0)
    problem = g_strdup_printf ("destroy made " U64 " wrong device calls", device->misuses);
  naive_free (trial->naive);
  g_array_unref (trial->blocks);
  g_array_unref (trial->live);
  g_array_unref (trial->graphs);
  g_free (trial);
  return problem;
}

char *
test_trial_finish (TestTrial *trial)
{
  GememDevice *device = trial->device;
  char *problem = test_trial_dissolve (trial);

  gemem_device_destroy (device);
  return problem;
}

void
test_subject_fail (const TestSubject *subject, const char *problem)
{
  g_autofree char *allocator = test_subject_allocator (subject),
                  *device = test_subject_device (subject);

  g_test_message ("%s on %s: %s", allocator, device, problem);
  g_test_fail ();
}

TestTrial *
test_trial_start (const TestSubject *subject)
{
  g_autoptr (GError) error = NULL;
  TestTrial *trial = test_trial_new (subject, &error);

  g_assert_no_error (error);
  return trial;
}

void
test_trial_end (TestTrial *trial)
{
  const TestSubject *subject = trial->subject;
  g_autofree char *problem = test_trial_finish (trial);

  if (problem != NULL)
    test_subject_fail (subject, problem);
}

gboolean
test_subject_serves (const TestSubject *subject, guint64 size)
{
  const TestOp op = { .kind = TEST_ALLOC, .size = size };
  TestSubject healthy = *subject;
  TestTrial *trial;
  gboolean served;

  healthy.faults = NULL;
  trial = test_trial_start (&healthy);
  served = test_trial_step (trial, &op) && trial->ok;
  test_trial_drain (trial);
  test_trial_end (trial);
  return served;
}

G_GNUC_PRINTF (2, 3)
static gboolean
broken (TestTrial *trial, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  if (trial->problem != NULL)
    return FALSE;
  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  trial->problem = g_strdup_printf ("operation " U64 ": %s", trial->operations, text);
  return FALSE;
}

/* ---- the accounting of the oracle */

static TestBlock *
block_at (TestTrial *trial, guint32 id)
{
  if (id >= trial->blocks->len)
    g_array_set_size (trial->blocks, id + 1);
  return &g_array_index (trial->blocks, TestBlock, id);
}

const TestBlock *
test_trial_block (const TestTrial *trial, guint32 id)
{
  static const TestBlock none;

  return id < trial->blocks->len ? &g_array_index (trial->blocks, TestBlock, id) : &none;
}

static const TestBlock *
live_at (const TestTrial *trial, guint i)
{
  return test_trial_block (trial, g_array_index (trial->live, guint32, i));
}

/* FALSE: host memory, which the oracle's accounting leaves out. */
static gboolean
is_on_device (const TestBlock *b)
{
  return b->block.address < GEMEM_HOST_ADDRESS;
}

/* Index of the first live block at or above @address. */
static guint
live_from (const TestTrial *trial, guint64 address)
{
  guint low = 0, high = trial->live->len;

  while (low < high)
    {
      const guint middle = low + (high - low) / 2;

      if (live_at (trial, middle)->block.address < address)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static gboolean
enter_live (TestTrial *trial, guint32 id)
{
  const TestBlock *b = block_at (trial, id);
  const guint64 address = b->block.address;
  const guint at = live_from (trial, address);
  const TestBlock *below = at > 0 ? live_at (trial, at - 1) : NULL,
                  *above = at < trial->live->len ? live_at (trial, at) : NULL;

  if ((below != NULL && address - below->block.address < below->size)
      || (above != NULL && above->block.address - address < b->size))
    return broken (trial, "id %u at " HEX " of " U64 " bytes overlaps a live block", id, address,
                   b->size);
  g_array_insert_val (trial->live, at, id);
  trial->live_bytes += b->size;
  trial->allocated += b->block.size;
  return TRUE;
}

static void
leave_live (TestTrial *trial, const TestBlock *b)
{
  g_array_remove_index (trial->live, live_from (trial, b->block.address));
  trial->live_bytes -= b->size;
  trial->allocated -= b->block.size;
}

/* ---- operations */

static gboolean
check_answer (TestTrial *trial, const TestBlock *b)
{
  const GememAllocatorClass *klass = trial->allocator->klass;
  const guint64 alignment = trial->naive != NULL && trial->naive->klass->alignment != 0
                                ? trial->naive->klass->alignment
                                : klass->alignment;

  if (b->block.address == 0 || b->block.size < b->size)
    return broken (trial, "%s",
                   b->block.address == 0 ? "success without an address"
                                         : "the block is smaller than the request");
  if (b->block.address % alignment != klass->alignment_offset)
    return broken (trial, "address " HEX " is not " U64 " modulo " U64, b->block.address,
                   klass->alignment_offset, alignment);
  return TRUE;
}

static gboolean
compare_naive (TestTrial *trial, const TestOp *op, const TestBlock *b)
{
  const NaiveRequest request = { op->size, op->stream, op->pool };
  guint64 address = 0, size = 0;
  const gboolean ok = trial->naive->klass->alloc (trial->naive, op->id, &request, &address, &size);

  if (ok != trial->ok)
    return broken (trial, "the allocator %s, the model %s", trial->ok ? "succeeds" : "fails",
                   ok ? "succeeds" : "fails");
  if (ok && (address != b->block.address || size != b->block.size))
    return broken (trial, "the allocator gives " HEX " of " U64 ", the model " HEX " of " U64,
                   b->block.address, b->block.size, address, size);
  return TRUE;
}

static gboolean
do_alloc (TestTrial *trial, const TestOp *op)
{
  const GememRequest request = { op->size, op->stream, op->pool };
  TestBlock *b = block_at (trial, op->id);

  if (b->state != TEST_BLOCK_NONE)
    return TRUE;
  *b = (TestBlock){ .size = op->size, .stream = op->stream, .pool = op->pool };
  trial->allocs++;
  trial->ok = trial->allocator->klass->alloc (trial->allocator, &request, &b->block);
  trial->failures += !trial->ok;
  if (trial->naive != NULL && !compare_naive (trial, op, b))
    return FALSE;
  if (!trial->ok || (op->size == 0 && b->block.address == 0))
    return TRUE;
  b->state = TEST_BLOCK_LIVE;
  return check_answer (trial, b) && (!is_on_device (b) || enter_live (trial, op->id));
}

/* Frees block @id in the order of @stream. */
static void
do_free_on (TestTrial *trial, guint32 id, guint64 stream)
{
  TestBlock *b = block_at (trial, id);
  const GememAllocatorClass *klass = trial->allocator->klass;

  if (b->state != TEST_BLOCK_LIVE || klass->streams.free_on == NULL)
    return;
  if (is_on_device (b))
    leave_live (trial, b);
  b->state = TEST_BLOCK_NONE;
  klass->streams.free_on (trial->allocator, &b->block, stream);
  if (trial->naive != NULL)
    trial->naive->klass->free_on (trial->naive, id, stream);
}

static void
do_free (TestTrial *trial, guint32 id, gboolean later)
{
  TestBlock *b = block_at (trial, id);
  const GememAllocatorClass *klass = trial->allocator->klass;

  if (b->state != TEST_BLOCK_LIVE)
    return;
  if (is_on_device (b))
    leave_live (trial, b);
  b->state = later && klass->streams.complete != NULL ? TEST_BLOCK_PENDING : TEST_BLOCK_NONE;
  klass->free (trial->allocator, &b->block, later);
  if (trial->naive != NULL)
    trial->naive->klass->free (trial->naive, id, later);
}

static void
do_complete (TestTrial *trial, guint32 id)
{
  TestBlock *b = block_at (trial, id);

  if (b->state != TEST_BLOCK_PENDING)
    return;
  b->state = TEST_BLOCK_NONE;
  trial->allocator->klass->streams.complete (trial->allocator, &b->block);
  if (trial->naive != NULL && trial->naive->klass->complete != NULL)
    trial->naive->klass->complete (trial->naive, id);
}

static void
do_use (TestTrial *trial, guint32 id, guint64 stream)
{
  const TestBlock *b = block_at (trial, id);

  if (b->state != TEST_BLOCK_LIVE || trial->allocator->klass->streams.use == NULL)
    return;
  trial->allocator->klass->streams.use (trial->allocator, &b->block, stream);
  if (trial->naive != NULL && trial->naive->klass->use_on_stream != NULL)
    trial->naive->klass->use_on_stream (trial->naive, id, stream);
}

static void
do_sync (TestTrial *trial, guint64 stream)
{
  if (stream == G_MAXUINT64)
    gemem_device_sync (trial->device);
  else
    gemem_device_stream_sync (trial->device, stream);
  if (trial->allocator->klass->streams.sync != NULL)
    trial->allocator->klass->streams.sync (trial->allocator, stream);
  if (trial->naive != NULL && trial->naive->klass->sync != NULL)
    trial->naive->klass->sync (trial->naive, stream);
}

static void
do_let (TestTrial *trial, guint32 id, guint64 stream)
{
  const TestBlock *b = block_at (trial, id);

  if (b->state != TEST_BLOCK_LIVE || trial->allocator->klass->streams.free == NULL)
    return;
  trial->allocator->klass->streams.free (trial->allocator, &b->block, stream);
  if (trial->naive != NULL && trial->naive->klass->stream_free != NULL)
    trial->naive->klass->stream_free (trial->naive, id, stream);
}

/* What only traces tell that have the order of streams. */
static void
do_order (TestTrial *trial, const TestOp *op)
{
  const GememAllocatorClass *klass = trial->allocator->klass;
  const NaiveClass *naive = trial->naive != NULL ? trial->naive->klass : NULL;

  if (klass->streams.work == NULL)
    return;
  if (op->kind == TEST_WORK)
    {
      klass->streams.work (trial->allocator, op->id, op->stream);
      if (naive != NULL)
        naive->work (trial->naive, op->id, op->stream);
    }
  else if (op->kind == TEST_WORK_DONE)
    {
      klass->streams.work_done (trial->allocator, op->id);
      if (naive != NULL)
        naive->work_done (trial->naive, op->id);
    }
  else
    {
      klass->streams.asked (trial->allocator, op->stream);
      if (naive != NULL)
        naive->asked (trial->naive, op->stream);
    }
}

static void
do_event (TestTrial *trial, const TestOp *op)
{
  const GememAllocatorClass *klass = trial->allocator->klass;
  const NaiveClass *naive = trial->naive != NULL ? trial->naive->klass : NULL;

  if (klass->streams.record == NULL || klass->streams.wait == NULL)
    return;
  if (op->kind == TEST_RECORD)
    {
      klass->streams.record (trial->allocator, op->id, op->stream, op->size - 1);
      if (naive != NULL && naive->event_record != NULL)
        naive->event_record (trial->naive, op->id, op->stream, op->size - 1);
      return;
    }
  klass->streams.wait (trial->allocator, op->id, op->stream);
  if (naive != NULL && naive->event_wait != NULL)
    naive->event_wait (trial->naive, op->id, op->stream);
}

static gboolean
do_trim (TestTrial *trial)
{
  const guint64 held = trial->device->held;

  if (trial->allocator->klass->trim == NULL)
    return TRUE;
  trial->allocator->klass->trim (trial->allocator);
  if (trial->naive != NULL && trial->naive->klass->trim != NULL)
    trial->naive->klass->trim (trial->naive);
  return trial->device->held <= held || broken (trial, "trim took memory");
}

/* ---- graphs */

void
test_op_segments (const TestOp *op, GArray *segments)
{
  const guint64 unit = op->size % 512 == 0 && op->size >= 8 * 512 ? 512 : 1;
  const guint64 all = op->size / unit;
  guint64 left = all, offset = 0;
  gboolean equal;
  GememRng rng;
  guint n;

  gemem_rng_init (&rng, op->pool, "segments");
  equal = all >= 32 && gemem_rng_below (&rng, 12) == 0; /* and more than std::sort keeps in order */
  n = 1 + (guint) gemem_rng_below (&rng, MIN (6, left)) + (equal ? 16 : 0);
  for (guint i = 0; i < n; i++)
    {
      const guint64 most = left - (n - 1 - i), share = i == n - 1 ? left
                                                       : equal
                                                           ? all / n
                                                           : gemem_rng_log_uniform (&rng, 1, most);
      const guint32 subgraph = (op->pool & TEST_SUBGRAPH) != 0 ? GEMEM_GRAPH_SEGMENT_SUBGRAPH : 0;
      const GememGraphSegment empty = { offset, 0, subgraph };
      GememGraphSegment segment = { offset, share * unit, 0 };

      if (gemem_rng_below (&rng, 40) == 0)
        g_array_append_val (segments, empty);
      if (gemem_rng_below (&rng, 8) == 0)
        segment.flags = GEMEM_GRAPH_SEGMENT_FIXED;
      else if (i == n - 1 && gemem_rng_below (&rng, 2) == 0)
        segment.flags = GEMEM_GRAPH_SEGMENT_ZERO_COPY
                        | (gemem_rng_below (&rng, 2) == 0 ? GEMEM_GRAPH_SEGMENT_NO_ALLOC : 0);
      segment.flags |= subgraph;
      g_array_append_val (segments, segment);
      left -= share;
      offset += segment.size + (gemem_rng_below (&rng, 6) == 0 ? unit : 0);
    }
}

static guint8 *
graph_at (TestTrial *trial, guint32 id)
{
  if (id >= trial->graphs->len)
    g_array_set_size (trial->graphs, id + 1);
  return &g_array_index (trial->graphs, guint8, id);
}

/* Compares the model's answer with the allocator's. */
static gboolean
agree (TestTrial *trial, const char *what, gboolean ok, guint64 address, guint64 expected)
{
  if (ok != trial->ok)
    return broken (trial, "%s: the allocator %s, the model %s", what,
                   trial->ok ? "succeeds" : "fails", ok ? "succeeds" : "fails");
  return !ok || address == expected
         || broken (trial, "%s: the allocator gives " HEX ", the model " HEX, what, address,
                    expected);
}

static gboolean
do_load (TestTrial *trial, const TestOp *op)
{
  g_autoptr (GArray) segments = g_array_new (FALSE, FALSE, sizeof (GememGraphSegment));
  const GememGraphSegment *first;
  guint64 address = 0, expected = 0;

  if (*graph_at (trial, op->id) != TEST_GRAPH_NONE)
    return TRUE;
  test_op_segments (op, segments);
  first = (const GememGraphSegment *) (gconstpointer) segments->data;
  trial->ok = trial->allocator->klass->graphs.load (trial->allocator, op->id, op->stream, first,
                                                    segments->len, &address);
  if (trial->naive != NULL)
    {
      const gboolean ok = trial->naive->klass->graph_load (trial->naive, op->id, op->stream, first,
                                                           segments->len, &expected);

      if (!agree (trial, "load", ok, address, expected))
        return FALSE;
    }
  if (trial->ok)
    *graph_at (trial, op->id) = TEST_GRAPH_LOADED;
  return !trial->ok || address != 0 || (op->pool & TEST_SUBGRAPH) != 0
         || broken (trial, "a graph is loaded at address 0");
}

static gboolean
do_run (TestTrial *trial, guint32 id, guint64 stream, gboolean begin)
{
  guint8 *state = graph_at (trial, id);

  if (*state != (begin ? TEST_GRAPH_LOADED : TEST_GRAPH_RUNNING))
    return TRUE;
  trial->ok = trial->allocator->klass->graphs.run (trial->allocator, id, stream, begin);
  g_clear_pointer (&trial->allocator->refusal, g_free);
  if (trial->naive != NULL
      && !agree (trial, "run", trial->naive->klass->graph_run (trial->naive, id, stream, begin), 0,
                 0))
    return FALSE;
  if (!begin && !trial->ok)
    return broken (trial, "the end of a run was refused");
  if (trial->ok)
    *state = begin ? TEST_GRAPH_RUNNING : TEST_GRAPH_LOADED;
  return TRUE;
}

static void
do_unload (TestTrial *trial, guint32 id)
{
  guint8 *state = graph_at (trial, id);

  if (*state == TEST_GRAPH_NONE)
    return;
  *state = TEST_GRAPH_NONE;
  trial->allocator->klass->graphs.unload (trial->allocator, id);
  if (trial->naive != NULL)
    trial->naive->klass->graph_unload (trial->naive, id);
}

/* Static memory is one block to classes without graphs, as in the engine. */
static gboolean
do_graph (TestTrial *trial, const TestOp *op)
{
  TestOp block = *op;

  block.pool = 0;
  switch ((TestOpKind) op->kind)
    {
    case TEST_GRAPH_LOAD:
      return trial->allocator->klass->graphs.load != NULL ? do_load (trial, op)
                                                          : do_alloc (trial, &block);
    case TEST_GRAPH_UNLOAD:
      if (trial->allocator->klass->graphs.load != NULL)
        do_unload (trial, op->id);
      else
        do_free (trial, op->id, FALSE);
      return TRUE;
    default:
      return trial->allocator->klass->graphs.load == NULL
             || do_run (trial, op->id, op->stream, op->kind == TEST_GRAPH_RUN);
    }
}

/* Sets the clock to the next full second, so that the number of operations alone decides whether
 * an event is complete. */
static void
tick (TestTrial *trial)
{
  if (trial->subject->delay == 0)
    return;
  trial->device->now = (trial->device->now / NAIVE_TICK + 1) * NAIVE_TICK;
  if (trial->naive != NULL)
    trial->naive->device.now = trial->device->now;
}

gboolean
test_trial_step (TestTrial *trial, const TestOp *op)
{
  gboolean fine = TRUE;

  trial->operations++;
  tick (trial);
  switch ((TestOpKind) op->kind)
    {
    case TEST_ALLOC:
      fine = do_alloc (trial, op);
      break;
    case TEST_FREE:
    case TEST_FREE_LATER:
      do_free (trial, op->id, op->kind == TEST_FREE_LATER);
      break;
    case TEST_COMPLETE:
      do_complete (trial, op->id);
      break;
    case TEST_USE:
      do_use (trial, op->id, op->stream);
      break;
    case TEST_SYNC:
      do_sync (trial, op->stream);
      break;
    case TEST_TRIM:
      fine = do_trim (trial);
      break;
    case TEST_LET:
      do_let (trial, op->id, op->stream);
      break;
    case TEST_RECORD:
    case TEST_WAIT:
      do_event (trial, op);
      break;
    case TEST_FREE_ON:
      do_free_on (trial, op->id, op->stream);
      break;
    case TEST_WORK:
    case TEST_WORK_DONE:
    case TEST_ASK:
      do_order (trial, op);
      break;
    case TEST_GRAPH_LOAD:
    case TEST_GRAPH_RUN:
    case TEST_GRAPH_RUN_END:
    case TEST_GRAPH_UNLOAD:
      fine = do_graph (trial, op);
      break;
    }
  if (fine && trial->device->misuses != 0)
    fine = broken (trial, "a device call with an address or size that was never returned");
  if (fine && trial->naive != NULL && trial->naive->device.held != trial->device->held)
    fine = broken (trial, "held are " U64 " bytes, by the model " U64, trial->device->held,
                   trial->naive->device.held);
  if (fine && trial->subject->verify_every != 0
      && trial->operations % trial->subject->verify_every == 0)
    fine = test_trial_verify (trial);
  return fine;
}

gboolean
test_trial_run (TestTrial *trial, const TestOp *ops, gsize n)
{
  for (gsize i = 0; i < n; i++)
    if (!test_trial_step (trial, &ops[i]))
      return FALSE;
  return TRUE;
}

gboolean
test_trial_drain (TestTrial *trial)
{
  for (guint32 id = 0; id < trial->blocks->len; id++)
    {
      do_free (trial, id, FALSE);
      do_complete (trial, id);
    }
  for (guint32 id = 0; id < trial->graphs->len; id++)
    do_unload (trial, id);
  return test_trial_verify (trial);
}

guint64
test_trial_memory_calls (const TestTrial *trial)
{
  const guint64 *calls = trial->device->calls;

  return calls[GEMEM_CALL_MALLOC] + calls[GEMEM_CALL_RESERVE] + calls[GEMEM_CALL_CREATE]
         + calls[GEMEM_CALL_MAP];
}

guint64
test_trial_device_calls (const TestTrial *trial)
{
  guint64 sum = 0;

  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    sum += trial->device->calls[call];
  return sum;
}

/* ---- the report of walk */

static void
add_span (const GememSpan *span, gpointer data)
{
  g_array_append_vals (data, span, 1);
}

static int
compare_users (gconstpointer a, gconstpointer b)
{
  const guint64 x = ((const GememSpan *) a)->user, y = ((const GememSpan *) b)->user;

  return x < y ? -1 : x > y;
}

/* Segments ascend and do not overlap; the spans of each fill it, in order. */
static gboolean
verify_tiling (TestTrial *trial, const GArray *spans)
{
  guint64 end = 0, segment = 0, segment_end = 0;

  for (guint i = 0; i < spans->len; i++)
    {
      const GememSpan *s = &g_array_index (spans, GememSpan, i);

      if (i == 0 || s->segment != segment)
        {
          if (end != segment_end || s->segment < end)
            return broken (trial, "walk: the segment " HEX " begins before the one below is full",
                           s->segment);
          end = segment = s->segment;
          segment_end = segment + s->segment_size;
        }
      if (s->address != end || s->size == 0 || s->size > segment_end - end
          || segment_end - segment != s->segment_size)
        return broken (
            trial, "walk: span " HEX " of " U64 " leaves a gap, overlaps, or leaves its segment",
            s->address, s->size);
      end += s->size;
    }
  return end == segment_end || broken (trial, "walk: the last segment is not full");
}

/* Each live span is a live block, and each live block a live span. */
static gboolean
verify_live (TestTrial *trial, GArray *live)
{
  g_array_sort (live, compare_users);
  if (live->len != trial->live->len)
    return broken (trial, "walk: %u live spans, the program holds %u blocks", live->len,
                   trial->live->len);
  for (guint i = 0; i < live->len; i++)
    {
      const GememSpan *s = &g_array_index (live, GememSpan, i);
      const TestBlock *b = live_at (trial, i);

      if (s->user != b->block.address)
        return broken (trial, "walk: a live span for " HEX ", the program holds " HEX, s->user,
                       b->block.address);
      if (s->user < s->address || s->user - s->address > s->size
          || b->size > s->size - (s->user - s->address) || b->block.size > s->size)
        return broken (trial, "walk: the span at " HEX " does not hold the block " HEX, s->address,
                       s->user);
      if (s->pool != b->pool && (trial->allocator->klass->capabilities & GEMEM_CAP_POOLS) != 0)
        return broken (trial, "walk: the block " HEX " is in pool %u, it was asked of %u", s->user,
                       s->pool, b->pool);
    }
  return TRUE;
}

static gboolean
verify_largest_free (TestTrial *trial, guint64 reusable)
{
  for (guint64 stream = 0; stream < 4; stream++)
    if (trial->allocator->klass->largest_free (trial->allocator, stream) > reusable)
      return broken (
          trial, "largest_free of stream " U64 " is beyond the " U64 " bytes that are free at all",
          stream, reusable);
  return TRUE;
}

/* Compares a statistic with the model's. */
static void
compare_figure (const char *name, guint64 value, const char *unit, gpointer data)
{
  TestTrial *trial = data;
  guint64 expected;

  if (trial->naive->klass->figure (trial->naive, name, &expected) && expected != value)
    broken (trial, "%s is " U64 ", by the model " U64, name, value, expected);
}

gboolean
test_trial_verify (TestTrial *trial)
{
  const guint64 graphs = trial->allocator->klass->graphs.bytes != NULL
                             ? trial->allocator->klass->graphs.bytes (trial->allocator)
                             : 0;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));
  g_autoptr (GArray) live = g_array_new (FALSE, FALSE, sizeof (GememSpan));
  g_autoptr (GError) error = NULL;
  guint64 physical = 0, reusable = 0;

  if (!trial->allocator->klass->check (trial->allocator, &error))
    return broken (trial, "check: %s", error->message);
  trial->allocator->klass->walk (trial->allocator, add_span, spans);
  for (guint i = 0; i < spans->len; i++)
    {
      const GememSpan *s = &g_array_index (spans, GememSpan, i);

      physical += s->state != GEMEM_SPAN_UNMAPPED ? s->size : 0;
      reusable += s->state == GEMEM_SPAN_FREE ? s->size : 0;
      if (s->state == GEMEM_SPAN_LIVE)
        g_array_append_vals (live, s, 1);
    }
  if (physical != trial->device->held)
    return broken (trial, "walk: " U64 " bytes, the device lends " U64, physical,
                   trial->device->held);
  /* requested + internal + external = reserved, none of them negative */
  if (trial->allocated < trial->live_bytes || trial->allocated + graphs > trial->device->held)
    return broken (trial,
                   "requested " U64 ", allocated " U64 " and " U64 " of graphs, reserved " U64
                   " do not ascend",
                   trial->live_bytes, trial->allocated, graphs, trial->device->held);
  if (trial->naive != NULL && trial->naive->klass->figure != NULL)
    trial->allocator->klass->report.stats (trial->allocator, compare_figure, trial);
  return trial->problem == NULL && verify_tiling (trial, spans) && verify_live (trial, live)
         && verify_largest_free (trial, reusable);
}

/* ---- the whole */

static char *
trial_of (const TestSubject *subject, const TestOp *ops, gsize n)
{
  g_autoptr (GError) error = NULL;
  TestTrial *trial = test_trial_new (subject, &error);

  if (trial == NULL)
    return g_strdup (error->message);
  if (test_trial_run (trial, ops, n) && test_trial_verify (trial))
    test_trial_drain (trial);
  return test_trial_finish (trial);
}

/* Runs in the child. All its output goes to the parent: messages of assertions would break the
 * TAP. */
static void
tell (int fd, const TestSubject *subject, const TestOp *ops, gsize n)
{
  const struct rlimit none = { 0, 0 };
  char *problem;

  setrlimit (RLIMIT_CORE, &none);
  dup2 (fd, STDOUT_FILENO);
  dup2 (fd, STDERR_FILENO);
  problem = trial_of (subject, ops, n);
  if (problem != NULL && write (fd, problem, strlen (problem)) < 0)
    _exit (2);
  _exit (problem != NULL);
}

static char *
read_all (int fd)
{
  GString *text = g_string_new (NULL);
  char buffer[512];
  ssize_t got;

  while ((got = read (fd, buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR))
    g_string_append_len (text, buffer, MAX (got, 0));
  close (fd);
  return g_strstrip (g_string_free (text, FALSE));
}

char *
test_trial_guarded (const TestSubject *subject, const TestOp *ops, gsize n)
{
  g_autofree char *said = NULL;
  int fds[2], status;
  pid_t child;

  g_assert_cmpint (pipe (fds), ==, 0);
  fflush (NULL);
  child = fork ();
  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    tell (fds[1], subject, ops, n);
  close (fds[1]);
  said = read_all (fds[0]);
  while (waitpid (child, &status, 0) < 0)
    g_assert_cmpint (errno, ==, EINTR);
  if (WIFSIGNALED (status))
    return g_strdup_printf ("killed by signal %d: %s", WTERMSIG (status), said);
  if (WEXITSTATUS (status) != 0)
    return *said != '\0' ? g_steal_pointer (&said)
                         : g_strdup_printf ("exit status %d", WEXITSTATUS (status));
  return NULL;
}
