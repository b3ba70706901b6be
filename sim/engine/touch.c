/* touch.c - the probe of --touch: checks on real memory that the bytes of a block stay its own from
 * its allocation to its free.
 *
 * Why: two live blocks that share a byte, or a page unmapped under a live block, change no decision
 * and no number of a replay.  Memory shows them: every block is filled with its own pattern
 * (touch-kernels.h) at its allocation, and verified before its free, at random in between,
 * and at the end.
 *
 * Touched are the requested bytes of every allocation on the device while the program has them:
 * until the free is requested if the allocator has no complete(), else until it is completed.  Host
 * memory is not touched, nor the memory of graphs, whose parts may share bytes.  A MEMSET refills
 * the block.  Fills and verifications are work on the block's stream, in the order of the replay.
 * A failed verification is reported when the host looks, at most BATCH verifications later; the
 * message names the event that asked for it.  Required stream waits are not checked here
 * (release-order.h).  Memory unmapped under a live block (seen by observing device calls) is
 * verified at once, with a wait, so that the message can name the call.  After that the GPU's
 * context is lost to all runs of the process: compare allocators that may do this one at a time.
 *
 * Blocks are found by id, by place among the live ones (to draw one), by address (an unmapped
 * range), and by tag (a finding).  Tags ascend; recently freed blocks are kept by tag, so that
 * their bytes in another block can be attributed.  Invariants: the blocks verified at random depend
 * on the trace and the seed alone.  Memory: a record per live block, BATCH past verifications and
 * BATCH past blocks.  Cost: O(log n) per event and two kernels per block.
 */
#include "config.h"

#include "base/error.h"
#include "base/idmap.h"
#include "base/rng.h"
#include "base/slab.h"
#include "base/tree.h"
#include "base/units.h"
#include "sim/engine/engine-private.h"

#define SEED 1
#define BATCH 4096    /* verifications whose outcome may be unknown */
#define ONE_IN 4      /* events between verifications at random */
#define LOOK_EVERY 64 /* events between looks of the host at outcomes */

typedef enum
{
  BEFORE_FREE,
  AT_RANDOM,
  BEFORE_SET,
  AT_THE_END,
  MEMORY_TAKEN
} Reason;

static const char *const reasons[] = {
  [BEFORE_FREE] = "before it is freed",
  [AT_RANDOM] = "at random",
  [BEFORE_SET] = "before it is set",
  [AT_THE_END] = "at the end",
  [MEMORY_TAKEN] = "because memory under it went back",
};

typedef struct
{
  guint64 id, address, size, stream;
  guint64 allocated, freed; /* seq; freed: G_MAXUINT64 while live */
  guint32 tag;
  const char *by; /* GememOrigin.by */
} Block;

typedef struct
{
  GememTreeNode node; /* group: address, address: tag, which keeps blocks at one address apart */
  Block block;
  guint place; /* index in `live` */
} Live;

/* A verification whose outcome may still be unknown. */
typedef struct
{
  Block block;
  guint64 seq;
  Reason reason;
} Check;

/* Memory that was unmapped under a live block. */
typedef struct
{
  gboolean seen;
  GememDeviceCall call;
  guint64 address, size, id;
} Taken;

typedef struct
{
  GememProbe probe;
  GememDevice *device;
  GememDeviceObserver observer;
  GememRng rng;
  GememSlab slab;
  GememIdMap *by_id; /* id -> Live * */
  GPtrArray *live;
  GememTree by_address;
  Block past[BATCH];               /* freed blocks, by tag */
  Check checks[BATCH];             /* by number, from check_known on */
  guint64 check_next, check_known; /* checks below check_known are known to have passed */
  guint32 last_tag;
  guint events; /* since the host last looked */
  Taken taken;
} Touch;

/* ---- messages */

static char *
name_block (const Block *block)
{
  char size[GEMEM_FORMAT_MAX], name[GEMEM_FORMAT_MAX];
  GString *text = g_string_new (NULL);

  g_string_append_printf (
      text, "%s (%s at 0x%" G_GINT64_MODIFIER "x, allocated at event %" G_GUINT64_FORMAT,
      gemem_block_text (name, block->id), gemem_format_size (size, block->size), block->address,
      block->allocated);
  gemem_origin_append_by (text, block->by);
  if (block->freed != G_MAXUINT64)
    g_string_append_printf (text, ", freed at event %" G_GUINT64_FORMAT, block->freed);
  g_string_append_c (text, ')');
  return g_string_free (text, FALSE);
}

/* The block with @tag, live or recently freed, if it has a word @index; or NULL. */
static const Block *
find_tag (const Touch *touch, guint32 tag, guint32 index)
{
  const Block *past = &touch->past[tag % BATCH],
              *found = past->tag == tag && tag != 0 ? past : NULL;

  for (guint i = 0; i < touch->live->len && found == NULL; i++)
    {
      const Live *live = g_ptr_array_index (touch->live, i);
      if (live->block.tag == tag)
        found = &live->block;
    }
  return found != NULL && ((found->size - 1) / 8 >> 32 != 0 || index <= (found->size - 1) / 8)
             ? found
             : NULL;
}

/* Describes a finding. */
static void
report (Touch *touch, const GememMismatch *finding, GError **error)
{
  const Check *check = &touch->checks[finding->check % BATCH];
  const Block *other = find_tag (touch, finding->tag, finding->index);
  g_autofree char *block = name_block (&check->block),
                  *others = other != NULL ? name_block (other) : NULL, *what = NULL;

  if (other == NULL)
    what = g_strdup_printf ("0x%016" G_GINT64_MODIFIER "x, which is of no block", finding->word);
  else if (other->tag == check->block.tag)
    what = g_strdup_printf ("its own byte %" G_GUINT64_FORMAT ": two parts of it share memory",
                            (guint64) finding->index * 8);
  else
    what = g_strdup_printf ("byte %" G_GUINT64_FORMAT " of %s: they share memory",
                            (guint64) finding->index * 8, others);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "event %" G_GUINT64_FORMAT
               ": %s, verified %s, has in place of its byte %" G_GUINT64_FORMAT " %s",
               check->seq, block, reasons[check->reason],
               other != NULL ? finding->offset / 8 * 8 : finding->offset, what);
}

/* The device failed after the verifications from check_known on, as happens where a page is
 * unmapped. */
static void
report_failure (Touch *touch, GError **error)
{
  const GError *failure = gemem_device_failure (touch->device);
  const Check *last = &touch->checks[(touch->check_next - 1) % BATCH];
  g_autofree char *block = NULL;

  if (touch->check_next == 0)
    {
      g_propagate_error (error, g_error_copy (failure));
      return;
    }
  block = name_block (&last->block);
  g_set_error (error, failure->domain, failure->code,
               "event %" G_GUINT64_FORMAT
               ": after touching the blocks since event %" G_GUINT64_FORMAT
               ", the last of them %s: %s",
               last->seq, touch->checks[touch->check_known % BATCH].seq, block, failure->message);
}

/* ---- verifications */

/* FALSE with @error if a verification failed; @wait: waits for all of them. */
static gboolean
look (Touch *touch, gboolean wait, GError **error)
{
  GememMismatch finding;
  gboolean found = gemem_device_finding (touch->device, wait, &finding);

  touch->events = 0;
  if (found)
    report (touch, &finding, error);
  else if (gemem_device_failure (touch->device) != NULL)
    report_failure (touch, error);
  else
    {
      if (wait)
        touch->check_known = touch->check_next;
      return TRUE;
    }
  return FALSE;
}

/* The caller ensures that `checks` has space for one more (settle). */
static void
verify (Touch *touch, const Block *block, guint64 seq, Reason reason)
{
  const guint64 number = touch->check_next++;

  touch->checks[number % BATCH] = (Check){ *block, seq, reason };
  gemem_device_verify (touch->device, block->address, block->size, block->tag, block->stream,
                       number);
}

/* Waits if all BATCH checks are open. */
static gboolean
settle (Touch *touch, GError **error)
{
  return touch->check_next - touch->check_known < BATCH - 8 || look (touch, TRUE, error);
}

/* ---- blocks */

static Live *
find (const Touch *touch, guint64 id)
{
  Live **place = gemem_idmap_lookup (touch->by_id, id);
  return place != NULL ? *place : NULL;
}

/* A block that overlaps [@address, @address + @size); or NULL. */
static Live *
find_in (const Touch *touch, guint64 address, guint64 size)
{
  GememTreeNode *node = gemem_tree_lower_bound (&touch->by_address, address, 0, 0), *before;
  Live *live;

  if (node != NULL && node->group - address < size)
    return GEMEM_TREE_ENTRY (node, Live, node);
  before = gemem_tree_before (&touch->by_address, address, 0, 0);
  if (before == NULL)
    return NULL;
  live = GEMEM_TREE_ENTRY (before, Live, node);
  return address - live->block.address < live->block.size ? live : NULL;
}

static void
forget (Touch *touch, Live *live, guint64 seq)
{
  Live *last = g_ptr_array_index (touch->live, touch->live->len - 1);

  live->block.freed = seq;
  touch->past[live->block.tag % BATCH] = live->block;
  last->place = live->place;
  g_ptr_array_remove_index_fast (touch->live, live->place);
  gemem_tree_remove (&touch->by_address, &live->node);
  gemem_idmap_remove (touch->by_id, live->block.id, NULL);
  gemem_slab_free (&touch->slab, live);
}

static void
observe (gpointer data, const GememDeviceNote *note)
{
  Touch *touch = data;
  const Live *live;

  if (!note->ok || touch->taken.seen
      || (note->call != GEMEM_CALL_FREE && note->call != GEMEM_CALL_UNMAP))
    return;
  if ((live = find_in (touch, note->address, note->size)) != NULL)
    touch->taken = (Taken){ TRUE, note->call, note->address, note->size, live->block.id };
}

static void
served (Touch *touch, const GememRun *run, const GememTraceEvent *event, const GememLive *served)
{
  const guint64 address = served->block.address, id = event->id;
  Live *live = gemem_slab_alloc (&touch->slab);

  live->block = (Block){ .id = id,
                         .address = address,
                         .size = served->requested,
                         .stream = event->stream,
                         .allocated = run->seq,
                         .freed = G_MAXUINT64,
                         .tag = ++touch->last_tag,
                         .by = gemem_origins_of_block (run, id).by };
  live->node.group = address;
  live->node.size = 0;
  live->node.address = live->block.tag;
  live->place = touch->live->len;
  g_ptr_array_add (touch->live, live);
  gemem_tree_insert (&touch->by_address, &live->node);
  *(Live **) gemem_idmap_insert (touch->by_id, id, NULL) = live;
  gemem_device_fill (touch->device, address, live->block.size, live->block.tag, event->stream);
}

static void
released (Touch *touch, guint64 seq, guint64 id)
{
  Live *live = find (touch, id);

  if (live == NULL)
    return;
  verify (touch, &live->block, seq, BEFORE_FREE);
  forget (touch, live, seq);
}

/* Fills on the stream of the memset, whose work follows all earlier touches. */
static void
will_set (Touch *touch, guint64 seq, guint64 id, guint64 stream)
{
  const Live *live = find (touch, id);
  Block block;

  if (live == NULL)
    return;
  block = live->block;
  block.stream = stream;
  verify (touch, &block, seq, BEFORE_SET);
}

static void
was_set (Touch *touch, guint64 id, guint64 stream)
{
  const Live *live = find (touch, id);

  if (live == NULL)
    return;
  gemem_device_fill (touch->device, live->block.address, live->block.size, live->block.tag, stream);
}

/* ---- events */

/* Memory was unmapped under a block: does the block still hold its pattern? */
static gboolean
look_under (Touch *touch, guint64 seq, GError **error)
{
  const Taken taken = touch->taken;
  const Live *live = find (touch, taken.id);
  g_autoptr (GError) cause = NULL;
  g_autofree char *block = NULL;
  const GError *failure;
  char size[GEMEM_FORMAT_MAX];

  touch->taken.seen = FALSE;
  if (live == NULL)
    return TRUE;
  verify (touch, &live->block, seq, MEMORY_TAKEN);
  if (look (touch, TRUE, &cause))
    return TRUE;
  failure = gemem_device_failure (touch->device);
  block = name_block (&live->block);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "event %" G_GUINT64_FORMAT ": %s of %s at 0x%" G_GINT64_MODIFIER
               "x takes memory from under %s, which is live: %s",
               seq, gemem_device_call_name (taken.call), gemem_format_size (size, taken.size),
               taken.address, block, failure != NULL ? failure->message : cause->message);
  return FALSE;
}

/* After event @seq: verifies a block drawn at random every ONE_IN events. */
static gboolean
verify_some (Touch *touch, guint64 seq, GError **error)
{
  if (touch->taken.seen && !look_under (touch, seq, error))
    return FALSE;
  if (touch->live->len > 0 && gemem_rng_below (&touch->rng, ONE_IN) == 0)
    {
      const Live *drawn = g_ptr_array_index (touch->live,
                                             gemem_rng_below (&touch->rng, touch->live->len));
      verify (touch, &drawn->block, seq, AT_RANDOM);
    }
  if (!settle (touch, error))
    return FALSE;
  return ++touch->events < LOOK_EVERY || look (touch, FALSE, error);
}

/* Verifies all blocks, waits, and drops them. */
static gboolean
verify_all (Touch *touch, guint64 seq, GError **error)
{
  while (touch->live->len > 0)
    {
      Live *live = g_ptr_array_index (touch->live, touch->live->len - 1);
      verify (touch, &live->block, seq, AT_THE_END);
      forget (touch, live, seq);
      if (!settle (touch, error))
        return FALSE;
    }
  return look (touch, TRUE, error);
}

/* ---- the probe */

static gboolean
wanted (const GememRun *run)
{
  return run->job->touch && run->map_seq == G_MAXUINT64;
}

static gboolean
attach (GememProbe *probe, GememRun *run, GError **error)
{
  Touch *touch = (Touch *) probe;

  if (!gemem_device_touch (run->device, error))
    return FALSE;
  touch->device = run->device;
  touch->observer = (GememDeviceObserver){ .func = observe, .data = touch };
  touch->by_id = gemem_idmap_new (sizeof (Live *));
  touch->live = g_ptr_array_new ();
  gemem_rng_init (&touch->rng, SEED, "touch");
  gemem_slab_init (&touch->slab, sizeof (Live));
  gemem_device_add_observer (run->device, &touch->observer);
  return TRUE;
}

static void
before (GememProbe *probe, GememRun *run, const GememTraceEvent *event)
{
  Touch *touch = (Touch *) probe;

  switch (event->kind)
    {
    case GEMEM_EVENT_FREE_REQUESTED:
      if (run->klass->streams.complete == NULL)
        released (touch, run->seq, event->id);
      break;
    case GEMEM_EVENT_FREE:
    case GEMEM_EVENT_FREE_COMPLETED:
      released (touch, run->seq, event->id);
      break;
    case GEMEM_EVENT_MEMSET:
      will_set (touch, run->seq, event->id, event->stream);
      break;
    default:
      break;
    }
}

/* Prefixes the error with its context. */
static gboolean
named (const GememRun *run, gboolean ok, GError **error)
{
  if (!ok)
    g_prefix_error (error, "%s: allocator %s: ", run->name, run->klass->name);
  return ok;
}

static gboolean
after (GememProbe *probe, GememRun *run, const GememTraceEvent *event, GError **error)
{
  Touch *touch = (Touch *) probe;
  const GememLive *live;

  if (event->kind == GEMEM_EVENT_ALLOC && (live = gemem_live_find (&run->live, event->id)) != NULL
      && live->flags == 0 && live->requested > 0)
    served (touch, run, event, live);
  else if (event->kind == GEMEM_EVENT_MEMSET)
    was_set (touch, event->id, event->stream);
  return named (run, verify_some (touch, run->seq, error), error);
}

static gboolean
end_epoch (GememProbe *probe, GememRun *run, GError **error)
{
  return named (run, verify_all ((Touch *) probe, run->seq, error), error);
}

static void
gather (GememProbe *probe, GememRun *run)
{
  const Touch *touch = (const Touch *) probe;

  gemem_result_add_stat ("touch_fills", touch->last_tag, "", run->result->stats);
  gemem_result_add_stat ("touch_verifications", touch->check_next, "", run->result->stats);
}

static void
clear (GememProbe *probe, GememRun *run)
{
  Touch *touch = (Touch *) probe;

  if (touch->by_id == NULL)
    return; /* the call was refused */
  gemem_device_remove_observer (run->device, &touch->observer);
  gemem_idmap_free (touch->by_id);
  g_ptr_array_unref (touch->live);
  gemem_tree_clear (&touch->by_address);
  gemem_slab_clear (&touch->slab);
}

const GememProbeClass gemem_touch_probe = { .size = sizeof (Touch),
                                            .wanted = wanted,
                                            .attach = attach,
                                            .before = before,
                                            .after = after,
                                            .end_epoch = end_epoch,
                                            .gather = gather,
                                            .clear = clear };
