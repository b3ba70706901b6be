/* snapshot.c - reads torch.cuda.memory snapshots (_dump_snapshot, _snapshot): format
 * `pytorch-snapshot`.
 *
 * The initial state must be known before the first event is returned, so the file is read twice:
 * the first pass checks every event and derives the initial state of each device (state.h),
 * the second delivers.  A pass between these two is needed only if the size of an initial block
 * must be inferred from later addresses, and one if the program named blocks after it allocated
 * them.
 *
 * Events delivered: the initial state of all devices in order (INITIAL; SEGMENT_ALLOC, or
 * SEGMENT_MAP for ranges of expandable segments, then ALLOC with the block size in `aux`, then
 * FREE_REQUESTED for blocks that waited for streams), then the events of device 0, 1, ...  The
 * begin of an annotation (optimizer step, user mark) becomes a PHASE event, its end a PHASE_END;
 * the causes of released segments become TRIM and DEVICE_LIMIT events (releases.h).  Addresses of
 * blocks become ids 1, 2, 3...  The call stacks of the first pass are kept; the second one skips
 * the frames.  The program's own metadata of an allocation, and what it named the block later,
 * become its tag.
 *
 * The host's pinned memory (host_segments, host_traces) is a trace of its own, as if it were device 0 until
 * its events are delivered: where it was chosen, or is all there is.
 *
 * Memory: live blocks, the distinct call stacks, 4 bytes per event if it has a stack, plus the memo
 * of the pickle (4 bytes per memoised object).
 * Origin: peers.md 2.1.
 */
#include "config.h"

#include "base/io/input.h"
#include "base/io/scan.h"
#include "traces/pytorch/snapshot-private.h"

static void
snapshot_close (GememTraceReader *reader)
{
  GememSnapshot *snapshot = (GememSnapshot *) reader;
  if (snapshot->open)
    gemem_pytorch_records_clear (&snapshot->records);
  g_ptr_array_unref (snapshot->devices);
  g_free (snapshot->unknown_action);
  g_array_unref (snapshot->changes);
  g_free (snapshot->settings_before);
  gemem_trace_info_clear (&reader->info);
  snapshot->bytes.close (snapshot->bytes.source.data);
  g_free (snapshot);
}

/* TRUE if the program recorded its pinned memory alone, and no device was chosen. */
static gboolean
only_host (const GememSnapshot *snapshot)
{
  return !snapshot->host && snapshot->options.device < 0 && snapshot->accepted == 0
         && snapshot->marks > 0;
}

/* Forgets what the first pass found, for another. */
static void
forget (GememSnapshot *snapshot)
{
  g_ptr_array_set_size (snapshot->devices, 0);
  g_array_set_size (snapshot->changes, 0);
  g_clear_pointer (&snapshot->settings_before, g_free);
  snapshot->reader.info.skipped = snapshot->marks = snapshot->phases = snapshot->names = 0;
  snapshot->padded = snapshot->unpadded = 0;
  snapshot->expandable = FALSE;
}

static gboolean
turn_to_host (GememSnapshot *snapshot, GError **error)
{
  forget (snapshot);
  snapshot->host = TRUE;
  return gemem_snapshot_first_pass (snapshot, error);
}

GememTraceReader *
gemem_pytorch_snapshot_open (const GememTraceFormat *format, const GememSnapshotBytes *bytes,
                             const GememReadOptions *options, GError **error)
{
  GememSnapshot *snapshot = g_new0 (GememSnapshot, 1);

  snapshot->reader.format = format;
  snapshot->reader.next = gemem_snapshot_next;
  snapshot->reader.close = snapshot_close;
  snapshot->bytes = *bytes;
  snapshot->options = *options;
  snapshot->has_time = TRUE;
  snapshot->devices = g_ptr_array_new_with_free_func (gemem_snapshot_device_free);
  snapshot->changes = g_array_new (FALSE, FALSE, sizeof (GememSnapshotPhase));
  gemem_trace_info_init (&snapshot->reader.info, format->name, bytes->source.name);
  snapshot->host = options->device == GEMEM_DEVICE_HOST;
  if (snapshot->host)
    snapshot->options.device = 0;
  if (gemem_snapshot_first_pass (snapshot, error)
      && (!only_host (snapshot) || turn_to_host (snapshot, error)))
    {
      gemem_snapshot_keep_stacks (snapshot);
      if (gemem_snapshot_settle (snapshot, error)
          && gemem_snapshot_begin_pass (snapshot, FALSE, error))
        return &snapshot->reader;
    }
  snapshot_close (&snapshot->reader);
  return NULL;
}

/* ---- the format: a pickle in a file of its own */

static gssize
fill_input (gpointer data, gsize used, gsize want, const guint8 **bytes, GError **error)
{
  gemem_input_consume (data, used);
  return gemem_input_fill (data, want, bytes, error);
}

static gboolean
rewind_input (gpointer data, GError **error)
{
  return gemem_input_rewind (data, error);
}

static void
close_input (gpointer data)
{
  gemem_input_close (data);
}

static int
probe (const guint8 *head, gsize size)
{
  if (size < 2 || head[0] != 0x80 || head[1] < 2 || head[1] > 5)
    return 0;
  return scan_contains (head, size, "segments") || scan_contains (head, size, "device_traces")
                 || scan_contains (head, size, "segment_type")
             ? 95
             : 50;
}

static GememTraceReader *
snapshot_open (GememInput *input, const GememReadOptions *options, GError **error)
{
  GememSnapshotBytes bytes = {
    { fill_input, input, gemem_input_name (input) }, rewind_input, close_input, input
  };
  return gemem_pytorch_snapshot_open (&gemem_format_pytorch_snapshot, &bytes, options, error);
}

const GememTraceFormat gemem_format_pytorch_snapshot = {
  .name = "pytorch-snapshot",
  .aliases = "pytorch|pickle",
  .extensions = "pickle|pkl",
  .summary = "memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot)",
  .origin = "peers.md 2.1",
  .probe = probe,
  .open = snapshot_open,
  .create = gemem_snapshot_create,
};
