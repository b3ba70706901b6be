/* slots.c - see slots.h. */
#include "config.h"

#include "tests/util/slots.h"

typedef struct
{
  GememAllocator base;
  guint64 segment;         /* 0: not allocated yet */
  guint start[SLOTS];      /* 1 + first slot of the block that owns this slot; 0: free */
  gboolean pending[SLOTS]; /* by first slot: freed, completion pending */
} Slots;

GString *slots_log;
SlotsFaults slots_faults;

void
slots_reset (void)
{
  static const SlotsFaults none;
  slots_faults = none;
  if (slots_log == NULL)
    slots_log = g_string_new (NULL);
  g_string_truncate (slots_log, 0);
}

static GememAllocator *
slots_create (const GememAllocatorClass *klass, GememDevice *device)
{
  Slots *slots = g_new0 (Slots, 1);
  slots->base.klass = klass;
  slots->base.device = device;
  return &slots->base;
}

static GememAllocator *
create (gconstpointer params, GememDevice *device, GError **error)
{
  return slots_create (&slots_class, device);
}

static GememAllocator *
create_at_once (gconstpointer params, GememDevice *device, GError **error)
{
  return slots_create (&slots_at_once_class, device);
}

static guint
run_from (const Slots *slots, guint from)
{
  guint n = 0;
  while (from + n < SLOTS && slots->start[from + n] == 0)
    n++;
  return n;
}

static void
take (Slots *slots, guint from, guint n, GememBlock *block)
{
  for (guint i = from; i < from + n; i++)
    slots->start[i] = 1 + from;
  block->address = slots->segment + from * SLOT;
  block->size = n * SLOT;
  block->handle = GUINT_TO_POINTER (1 + from);
}

static gboolean
slots_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  Slots *slots = (Slots *) allocator;
  guint64 capacity = gemem_device_capacity (allocator->device),
          n = (request->size + SLOT - 1) / SLOT;

  g_string_append_printf (slots_log, "alloc %" G_GUINT64_FORMAT ";", request->size);
  if (capacity >= slots_faults.refuse_from && capacity < slots_faults.refuse_to)
    return FALSE;
  if (slots_faults.transient)
    gemem_device_free (allocator->device, gemem_device_malloc (allocator->device, 1000, 0), 1000);
  if (slots->segment == 0
      && (slots->segment = gemem_device_malloc (allocator->device, SLOTS * SLOT, 0)) == 0)
    return FALSE;
  for (guint from = 0; from + n <= SLOTS; from++)
    if (run_from (slots, from) >= n)
      {
        take (slots, from, (guint) n, block);
        return TRUE;
      }
  return FALSE;
}

static void
drop (Slots *slots, guint from)
{
  slots->pending[from] = FALSE;
  for (guint i = from; i < SLOTS && slots->start[i] == 1 + from; i++)
    slots->start[i] = 0;
}

static void
slots_free (GememAllocator *allocator, const GememBlock *block, gboolean completion_follows)
{
  Slots *slots = (Slots *) allocator;
  guint from = GPOINTER_TO_UINT (block->handle) - 1;

  g_string_append (slots_log, completion_follows ? "free-requested;" : "free;");
  g_assert_cmpuint (slots->start[from], ==, 1 + from);
  if (completion_follows && allocator->klass->streams.complete != NULL)
    slots->pending[from] = TRUE;
  else
    drop (slots, from);
}

static void
slots_complete (GememAllocator *allocator, const GememBlock *block)
{
  Slots *slots = (Slots *) allocator;
  guint from = GPOINTER_TO_UINT (block->handle) - 1;

  g_string_append (slots_log, "complete;");
  g_assert_true (slots->pending[from]);
  drop (slots, from);
}

static void
slots_use (GememAllocator *allocator, const GememBlock *block, guint64 stream)
{
  g_string_append_printf (slots_log, "use %" G_GUINT64_FORMAT ";", stream);
}

static void
slots_stream_free (GememAllocator *allocator, const GememBlock *block, guint64 stream)
{
  g_string_append_printf (slots_log, "let %" G_GUINT64_FORMAT ";", stream);
}

static void
slots_event_record (GememAllocator *allocator, guint64 id, guint64 stream, guint64 to)
{
  g_string_append_printf (
      slots_log, "record %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GINT64_FORMAT ";", id,
      stream, (gint64) to);
}

static void
slots_event_wait (GememAllocator *allocator, guint64 id, guint64 stream)
{
  g_string_append_printf (slots_log, "wait %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT ";", id,
                          stream);
}

static void
slots_sync (GememAllocator *allocator, guint64 stream)
{
  g_string_append_printf (slots_log, "sync %" G_GINT64_FORMAT ";", (gint64) stream);
}

static void
slots_trim (GememAllocator *allocator)
{
  g_string_append (slots_log, "trim;");
}

static guint64
slots_largest_free (GememAllocator *allocator, guint64 stream)
{
  Slots *slots = (Slots *) allocator;
  guint best = 0;

  for (guint from = 0; slots->segment != 0 && from < SLOTS; from++)
    best = MAX (best, run_from (slots, from));
  return best * SLOT;
}

static void
slots_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  Slots *slots = (Slots *) allocator;
  guint n;

  for (guint from = 0; slots->segment != 0 && from < SLOTS; from += n)
    {
      GememSpan span = { .address = slots->segment + from * SLOT,
                         .segment = slots->segment,
                         .segment_size = SLOTS * SLOT };
      for (n = 1; from + n < SLOTS && slots->start[from + n] == slots->start[from]; n++)
        ;
      span.size = n * SLOT;
      span.state = slots->start[from] == 0 ? GEMEM_SPAN_FREE
                   : slots->pending[from]  ? GEMEM_SPAN_PENDING
                                           : GEMEM_SPAN_LIVE;
      span.user = span.state == GEMEM_SPAN_LIVE ? span.address : 0;
      if (slots_faults.hide_last && from + n == SLOTS)
        span.state = GEMEM_SPAN_FREE;
      func (&span, data);
      if (slots_faults.overlap)
        func (&span, data);
    }
}

static gboolean
slots_check (GememAllocator *allocator, GError **error)
{
  if (slots_faults.bad_check)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT, "slots: told to fail");
  return !slots_faults.bad_check;
}

static void
slots_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  func ("slots", SLOTS, NULL, data);
}

static void
slots_destroy (GememAllocator *allocator)
{
  Slots *slots = (Slots *) allocator;
  if (slots->segment != 0 && !slots_faults.keep)
    gemem_device_free (allocator->device, slots->segment, SLOTS * SLOT);
  g_free (slots);
}

static gboolean
slots_adopt_segment (GememAllocator *allocator, const GememAdopt *segment)
{
  Slots *slots = (Slots *) allocator;

  g_string_append (slots_log, "adopt-segment;");
  if (slots->segment != 0 || segment->size != SLOTS * SLOT
      || !gemem_device_adopt (allocator->device, segment->address, segment->size))
    return FALSE;
  slots->segment = segment->address;
  return TRUE;
}

static gboolean
slots_adopt_block (GememAllocator *allocator, const GememAdopt *adopt, GememBlock *block)
{
  Slots *slots = (Slots *) allocator;

  g_string_append (slots_log, "adopt-block;");
  if (adopt->address < slots->segment || adopt->address >= slots->segment + SLOTS * SLOT)
    return FALSE;
  take (slots, (guint) ((adopt->address - slots->segment) / SLOT), (guint) (adopt->size / SLOT),
        block);
  return TRUE;
}

static void
slots_adopt_done (GememAllocator *allocator)
{
  g_string_append (slots_log, "adopt-done;");
}

#define COMMON \
  .abi = GEMEM_ALLOCATOR_ABI, .summary = "Sixteen slots of 256 bytes, first fit", \
  .origin = "tests", .alignment = SLOT, .alloc = slots_alloc, .free = slots_free, \
  .streams.use = slots_use, .streams.sync = slots_sync, .trim = slots_trim, \
  .streams.free = slots_stream_free, .streams.record = slots_event_record, \
  .streams.wait = slots_event_wait, .largest_free = slots_largest_free, .walk = slots_walk, \
  .check = slots_check, .report.stats = slots_stats, .destroy = slots_destroy, \
  .adopt.segment = slots_adopt_segment, .adopt.block = slots_adopt_block, \
  .adopt.done = slots_adopt_done

const GememAllocatorClass slots_class = {
  .name = "slots", .create = create, .streams.complete = slots_complete, COMMON
};
const GememAllocatorClass slots_at_once_class = { .name = "slots-at-once",
                                                  .create = create_at_once,
                                                  COMMON };
