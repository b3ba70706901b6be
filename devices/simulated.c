/* simulated.c - the simulated device: capacity, addresses and a clock; memory has no contents.
 *
 * Capacity: an allocation or page of n bytes succeeds iff held + n <= limit; n counts as requested.
 * The limit is capacity - reserved_by_others, or less where `recorded` follows the recorded
 * device's limits.  Addresses: `bump` ascends from base in whole steps and never reuses an address;
 * `first-fit` takes the lowest free range of whole steps; `recorded` takes the segments announced
 * by gemem_device_expect() in order, as long as the sizes agree, and otherwise bumps above
 * everything recorded (counted in `unexpected`), and begins a range where memory was mapped last
 * (gemem_device_expect_map()), which on a larger device may be within another one (virtual.c);
 * `descending` and `random` never reuse an address either, and place each block below the last one,
 * or anywhere: what depends on the order of addresses shows in the difference; `cuda` follows the
 * rules of CUDA's driver (arenas.h), by which small requests share pages, and n counts as the pages
 * that a request takes from the device.  A log of calls
 * (recorded-calls.c) provides the addresses of allocations and ranges and the answers of event
 * queries, but not refusals.  All addresses, ranges for mappings too, come from one space and do
 * not overlap otherwise.  Time: a call costs what the profile says.  A stream is busy until its
 * last work is done: a memset puts its size-dependent part there; a recorded event completes
 * event_latency after now, in stream order.  A call that synchronises first waits for all streams.
 * An event is its completion time + 1, so events need no memory.
 *
 * Sharing: simulated devices in a ring have one memory; the limit then also bounds the sum of what
 * they hold.
 *
 * Invariants: held <= capacity - reserved_by_others; blocks, ranges and gaps tile the space.  Cost:
 * O(log gaps), O(1) for bump; no heap allocation per call once the maps have grown.  Origin: the
 * device rules of the vector files (tests/vectors).
 */
#include "config.h"

#include "base/error.h"
#include "base/units.h"
#include "devices/gpus.h"
#include "devices/simulated-private.h"

/* Above every address of a GPU driver (47 bits): `recorded` places unrecorded allocations here. */
#define BEYOND_RECORDED (G_GUINT64_CONSTANT (1) << 47)

enum
{
  FREE_AS_PROFILE,
  FREE_SYNCHRONISES,
  FREE_AT_ONCE
};

/* Represents a word in the table; no valid size. */
#define UNSET (G_MAXUINT64 - 1)
#define UNSET_TEXT "18446744073709551614"

/* Without order or downwards, allocations lie within this many bytes above base. */
#define SPREAD (G_GUINT64_CONSTANT (1) << 44)

enum
{
  ADDRESS_BUMP,
  ADDRESS_FIRST_FIT,
  ADDRESS_RECORDED,
  ADDRESS_DESCENDING,
  ADDRESS_RANDOM,
  ADDRESS_CUDA
};

/* TRUE of policies by which a freed address may be chosen again. */
static gboolean
reuses (int address)
{
  return address == ADDRESS_FIRST_FIT || address == ADDRESS_RECORDED || address == ADDRESS_CUDA;
}

enum
{
  REUSE_POLICY,
  REUSE_NEVER,
  REUSE_YES
};

/* What is returned to the space when a block is freed; stored in one word with its size, so that a
 * lookup touches one cache line. */
enum
{
  KEPT_NOTHING, /* the address is never reused */
  KEPT_SIZE,    /* recorded or adopted: exactly its bytes */
  KEPT_STEPS,   /* whole steps */
  KEPT_ARENAS,  /* to the arenas, not to the space */
};
#define BLOCK(size, kept) ((size) | (guint64) (kept) << 62)
#define BLOCK_SIZE(block) ((block) & (GEMEM_SPACE_END - 1))
#define BLOCK_KEPT(block) ((block) >> 62)

/* Bump takes this much at once, so that the space is asked once in many thousand allocations. */
#define WINDOW (G_GUINT64_CONSTANT (1) << 40)

#define FIELD(name) .offset = G_STRUCT_OFFSET (GememSimulatedParams, name)

static const GememParam params[] = {
  { .name = "capacity",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "profile",
    .min = "1",
    .special = "profile=" UNSET_TEXT,
    FIELD (capacity),
    .help = "Bytes of device memory; without it that of 'total', of 'gpu', or of the profile." },
  { .name = "gpu",
    .type = GEMEM_PARAM_STRING,
    .choices = "h100|a100-40",
    .conflicts = "capacity|total",
    FIELD (gpu),
    .help = "A GPU whose capacity it has: a name from 'gemem-sim list gpus'." },
  { .name = "at_least",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "0",
    FIELD (at_least),
    .help =
        "Bytes that were reserved on the recorded device. Where nothing says its capacity, it is "
        "that of the smallest GPU that holds them, if they are more than the profile's." },
  { .name = "driver",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "any",
    .choices = "any|cuda",
    FIELD (driver),
    .help = "Whose driver gives out the addresses, unless a 'gpu' or settings of addresses say it: "
            "'cuda' implies address=cuda. Recordings of PyTorch say so." },
  { .name = "total",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "capacity",
    .special = "capacity=" UNSET_TEXT,
    FIELD (total),
    .help = "Bytes the device reports as its total." },
  { .name = "available",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "unset",
    .special = "unset=" UNSET_TEXT,
    FIELD (available),
    .help = "Bytes the device reports as free while nothing is held." },
  { .name = "reserved_by_others",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "0",
    FIELD (reserved_by_others),
    .help = "Bytes that other programs hold all the time." },
  { .name = "granularity",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "profile",
    .special = "profile=" UNSET_TEXT,
    FIELD (granularity),
    .help =
        "Unit of physical pages and mappings, a power of two; without it that of the profile." },
  { .name = "address",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "bump",
    .choices = "bump|first-fit|recorded|descending|random|cuda|first_fit=first-fit",
    .aliases = "device",
    FIELD (address),
    .help =
        "How addresses are chosen: ascending and never again, lowest free, as recorded, "
        "descending, or at random (both never again). 'cuda': by the rules of CUDA's driver, as "
        "measured on an H100; ranges are placed by them too, and requests below 2 MiB share "
        "pages." },
  { .name = "seed",
    .type = GEMEM_PARAM_UINT,
    .default_text = "1",
    FIELD (seed),
    .help = "Of address=random: another number, other addresses." },
  { .name = "base",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "0x100000000000",
    .min = "4KiB",
    .max = "0x3000000000000000",
    FIELD (base),
    .help = "First address of plain allocations, a multiple of step." },
  { .name = "step",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "2MiB",
    .min = "1",
    .max = "1TiB",
    FIELD (step),
    .help = "Plain allocations start on multiples of it, a power of two." },
  { .name = "reuse",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "policy",
    .choices = "policy|never|yes",
    FIELD (reuse),
    .help = "Whether freed addresses come back: follows from 'address', and may be said." },
  { .name = "va",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "bump",
    .choices = "bump|first-fit|first_fit=first-fit",
    FIELD (va),
    .help = "How reserved address ranges are placed." },
  { .name = "va_base",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "0x200000000000",
    .min = "4KiB",
    .max = "0x3000000000000000",
    .aliases = "vabase",
    FIELD (va_base),
    .help = "First address of reserved ranges, a multiple of va_step." },
  { .name = "va_step",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "1GiB",
    .min = "1",
    .max = "1TiB",
    .aliases = "vastep",
    FIELD (va_step),
    .help = "Reserved ranges start on multiples of it, a power of two." },
  { .name = "va_reuse",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "policy",
    .choices = "policy|never|yes",
    .aliases = "vareuse",
    FIELD (va_reuse),
    .help = "Whether released ranges come back: follows from 'va', and may be said." },
  { .name = "virtual_memory",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "yes",
    FIELD (virtual_memory),
    .help = "Whether address ranges, pages and mappings are supported." },
  { .name = "free_synchronises",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "profile",
    .choices = "profile|yes|no|1=yes|0=no",
    FIELD (free_synchronises),
    .help = "Whether free waits until the device is idle, as allocators that free without "
            "synchronising rely on; without it as the profile says." },
  { .name = "event_latency",
    .type = GEMEM_PARAM_TIME,
    .default_text = "0ns",
    .max = "1000h",
    FIELD (event_latency),
    .help = "A recorded event completes that long after it was recorded." },
  { .name = "calls",
    .type = GEMEM_PARAM_STRING,
    .flags = GEMEM_PARAM_FILE,
    .conflicts = "address|base|reuse|va|va_base|va_reuse",
    FIELD (calls),
    .help = "A log of device calls (replay --calls): addresses are given, and events complete, as "
            "they were there." },
  { .name = "profile",
    .type = GEMEM_PARAM_STRING,
    .flags = GEMEM_PARAM_NAME_OR_FILE,
    .default_text = "generic",
    FIELD (profile),
    .help = "Cost profile: a name from $GEMEM_PROFILES or the installed ones, or a path. With "
            "'gpu' that of its name, if there is one." },
  { .name = NULL }
};

/* ---- time */

/* Queues work of length @work on @stream, after earlier work and not before @earliest; returns when
 * it is done. */
static guint64
enqueue (GememSimulated *self, guint64 stream, guint64 work, guint64 earliest)
{
  guint64 *busy = gemem_idmap_insert (self->streams, stream, NULL);
  guint64 start = MAX (*busy, self->base.now);
  guint64 done = work > G_MAXUINT64 - 1 - start ? G_MAXUINT64 - 1 : start + work;

  *busy = MAX (done, earliest);
  self->busy_until = MAX (self->busy_until, *busy);
  return *busy;
}

static gboolean
sim_memset (GememDevice *device, guint64 address, guint8 value, guint64 size, guint64 stream)
{
  GememSimulated *self = (GememSimulated *) device;
  GememCallCost work = self->profile->calls[GEMEM_CALL_MEMSET];

  work.base_ns = 0; /* this part is the host's */
  enqueue (self, stream, gemem_call_cost_ns (&work, size, self->params.granularity), 0);
  gemem_simulated_wait (self, GEMEM_CALL_MEMSET);
  return TRUE;
}

static GememDeviceEvent
sim_event_record (GememDevice *device, guint64 stream)
{
  GememSimulated *self = (GememSimulated *) device;
  gemem_simulated_wait (self, GEMEM_CALL_EVENT_RECORD);
  return enqueue (self, stream, 0, device->now + self->params.event_latency) + 1;
}

static gboolean
sim_event_query (GememDevice *device, GememDeviceEvent event)
{
  GememSimulated *self = (GememSimulated *) device;

  gemem_simulated_wait (self, GEMEM_CALL_EVENT_QUERY);
  if (self->answers != NULL && self->answered < self->answers->len)
    return self->answers->data[self->answered++];
  return event == 0 || device->now >= event - 1;
}

static void
sim_event_sync (GememDevice *device, GememDeviceEvent event)
{
  if (event != 0)
    gemem_simulated_wait_until ((GememSimulated *) device, event - 1);
}

static gboolean
sim_stream_sync (GememDevice *device, guint64 stream)
{
  GememSimulated *self = (GememSimulated *) device;
  const guint64 *busy = gemem_idmap_lookup (self->streams, stream);
  if (busy != NULL)
    gemem_simulated_wait_until (self, *busy);
  return TRUE;
}

static gboolean
sim_device_sync (GememDevice *device)
{
  gemem_simulated_wait_until ((GememSimulated *) device, ((GememSimulated *) device)->busy_until);
  return TRUE;
}

static gboolean
sim_occupy (GememDevice *device, guint64 ns, guint64 stream, GError **error)
{
  if (ns > 0)
    enqueue ((GememSimulated *) device, stream, ns, 0);
  return TRUE;
}

static guint64
sim_cost (GememDevice *device, GememDeviceCall call, guint64 size)
{
  GememSimulated *self = (GememSimulated *) device;
  const GememCallCost *cost = &self->profile->calls[call];
  guint64 ns;

  if (call <= GEMEM_CALL_FREE && self->in_page && cost->shared_ns != 0)
    return cost->shared_ns;
  if (call == GEMEM_CALL_MEMSET)
    size = 0; /* the stream does the rest */
  ns = gemem_call_cost_ns (cost, size, self->params.granularity);
  if (G_UNLIKELY (cost->per_1000_live_ns != 0))
    ns += gemem_call_live_ns (cost, call <= GEMEM_CALL_FREE
                                        ? gemem_idmap_count (self->blocks)
                                        : gemem_mappings_live (&self->mappings, call));
  return ns;
}

/* ---- plain allocations */

/* Takes an address from the policy's region; 0: no free range is long enough. */
static guint64
place (GememSimulated *self, guint64 size)
{
  GememRegion *region = &self->allocations;
  guint64 address = region->floor, kept;

  if (G_LIKELY (self->window > address && self->window - address >= size))
    {
      /* the window ends on a step */
      region->floor = gemem_align_up (address + size, region->step);
      /* where the next block will be recorded */
      gemem_idmap_prefetch (self->blocks, region->floor);
      return address;
    }
  gemem_simulated_settle (self);
  address = gemem_region_take (&self->space, region, size, 0, &kept);
  if (self->policy == ADDRESS_BUMP && address != 0
      && gemem_space_take (&self->space, region->floor, WINDOW))
    self->window = region->floor + WINDOW;
  return address;
}

/* Takes an address for `descending` and `random`; 0: none was free. */
static guint64
scatter (GememSimulated *self, guint64 size)
{
  const guint64 base = self->params.base, step = self->params.step;
  guint64 extent, address;

  if (size > SPREAD)
    return 0;
  extent = gemem_align_up (size, step);
  if (self->policy == ADDRESS_RANDOM)
    {
      guint64 floor = base + gemem_rng_below (&self->rng, SPREAD / step) * step;
      address = gemem_space_find (&self->space, floor, extent, step);
      return address != 0 && gemem_space_take (&self->space, address, extent) ? address : 0;
    }
  /* what lies in the way was recorded there, and is passed by */
  while (self->ceiling - base >= extent)
    {
      self->ceiling -= extent;
      if (gemem_space_take (&self->space, self->ceiling, extent))
        return self->ceiling;
    }
  return 0;
}

/* An address by the policy, where none was recorded; 0: none was free. */
static guint64
choose (GememSimulated *self, guint64 size)
{
  if (self->policy == ADDRESS_CUDA)
    return gemem_arenas_take (self->arenas, size);
  return self->policy >= ADDRESS_DESCENDING ? scatter (self, size) : place (self, size);
}

static inline void
remember (GememSimulated *self, guint64 address, guint64 size, guint kept)
{
  guint64 *block = gemem_idmap_insert (self->blocks, address, NULL);
  *block = BLOCK (size, kept);
}

/* What is kept of a block that the policy places. */
static guint
kept_of (const GememSimulated *self)
{
  return self->policy == ADDRESS_FIRST_FIT ? KEPT_STEPS
         : self->policy == ADDRESS_CUDA    ? KEPT_ARENAS
                                           : KEPT_NOTHING;
}

static guint64
sim_malloc (GememDevice *device, guint64 size, guint64 stream)
{
  GememSimulated *self = (GememSimulated *) device;
  const guint64 bytes = self->arenas != NULL ? gemem_arenas_need (self->arenas, size) : size;
  guint64 address = 0;
  guint kept = kept_of (self);

  gemem_simulated_wait (self, GEMEM_CALL_MALLOC);
  self->in_page = bytes == 0;
  if (size == 0 || !gemem_simulated_may_hold (self, bytes))
    return 0;
  if (self->policy == ADDRESS_RECORDED
      && (address = gemem_simulated_take_expected (self, &self->expected_blocks, size)) != 0)
    kept = KEPT_SIZE;
  if (address == 0)
    address = choose (self, size);
  if (address == 0)
    return 0;
  remember (self, address, size, kept);
  device->held += bytes;
  device->beyond += bytes - size;
  gemem_simulated_note_asked (self);
  return address;
}

static void
sim_free (GememDevice *device, guint64 address, guint64 size)
{
  GememSimulated *self = (GememSimulated *) device;
  guint64 block, step = self->allocations.step, bytes = size;

  gemem_simulated_wait (self, GEMEM_CALL_FREE);
  if (!gemem_idmap_remove (self->blocks, address, &block))
    {
      gemem_device_misuse (device, "free of an address that is not allocated");
      return;
    }
  if (BLOCK_SIZE (block) != size)
    {
      *(guint64 *) gemem_idmap_insert (self->blocks, address, NULL) = block;
      gemem_device_misuse (device, "free with another size than was allocated");
      return;
    }
  if (BLOCK_KEPT (block) == KEPT_STEPS)
    gemem_space_give (&self->space, address, gemem_align_up (size, step));
  else if (BLOCK_KEPT (block) == KEPT_SIZE)
    gemem_space_give (&self->space, address, size);
  else if (BLOCK_KEPT (block) == KEPT_ARENAS)
    bytes = gemem_arenas_give (self->arenas, address, size);
  self->in_page = bytes == 0;
  device->held -= bytes;
  device->beyond -= bytes - size;
}

/* Ignored with a log of calls, which has more addresses than the trace. */
static void
sim_expect (GememDevice *device, guint64 address, guint64 size)
{
  GememSimulated *self = (GememSimulated *) device;

  if (self->policy == ADDRESS_RECORDED && self->answers == NULL)
    gemem_simulated_expect (self, &self->expected_blocks, address, size);
}

/* The parts of one mapping follow one another. */
static void
sim_expect_map (GememDevice *device, guint64 address, guint64 size, gboolean whole)
{
  GememSimulated *self = (GememSimulated *) device;

  if (self->policy != ADDRESS_RECORDED || self->answers != NULL)
    return;
  if (address != self->mapped_end || (whole && self->mapped == 0))
    self->mapped = address;
  self->mapped_end = address + size;
  self->mapped_whole = whole;
}

static void
sim_limit (GememDevice *device, guint64 bytes)
{
  GememSimulated *self = (GememSimulated *) device;
  const guint64 whole = self->params.capacity - self->params.reserved_by_others;

  self->limit = bytes > 0 ? MIN (bytes, whole) : whole;
}

static gboolean
sim_adopt (GememDevice *device, guint64 address, guint64 size)
{
  GememSimulated *self = (GememSimulated *) device;

  gemem_simulated_settle (self);
  if (!gemem_simulated_may_hold (self, size) || !gemem_space_take (&self->space, address, size))
    return FALSE;
  remember (self, address, size, reuses (self->policy) ? KEPT_SIZE : KEPT_NOTHING);
  device->held += size;
  gemem_simulated_note_asked (self);
  if (self->policy == ADDRESS_RECORDED)
    gemem_simulated_keep_above (self, address, size);
  return TRUE;
}

static void
sim_compute (GememDevice *device)
{
  GememSimulated *self = (GememSimulated *) device;

  if (self->arenas != NULL)
    gemem_arenas_compute (self->arenas);
}

static void
sim_info (GememDevice *device, GememDeviceInfo *info)
{
  GememSimulated *self = (GememSimulated *) device;
  guint64 whole = self->params.available;

  info->total = self->params.total != UNSET ? self->params.total : self->params.capacity;
  if (whole == UNSET)
    whole = MIN (self->limit, info->total);
  info->free = whole - MIN (whole, gemem_simulated_held (self));
  info->granularity = self->params.granularity;
  info->virtual_memory = self->params.virtual_memory;
}

static gboolean
sim_share (GememDevice *device, GememDevice *with)
{
  GememSimulated *self = (GememSimulated *) device, *other = (GememSimulated *) with;

  if (self->params.capacity - self->params.reserved_by_others
      != other->params.capacity - other->params.reserved_by_others)
    return FALSE;
  self->sharing = other->sharing;
  other->sharing = self;
  return TRUE;
}

static void
stop_sharing (GememSimulated *self)
{
  GememSimulated *before = self;

  while (before->sharing != self)
    before = before->sharing;
  before->sharing = self->sharing;
}

/* ---- creation */

static gboolean
refuse (GError **error, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "device sim: %s", message);
  return FALSE;
}

static gboolean
check_steps (const char *base_name, guint64 base, const char *step_name, guint64 step,
             GError **error)
{
  if ((step & (step - 1)) != 0)
    return refuse (error, "%s=%" G_GUINT64_FORMAT " is not a power of two; use one, as in 2MiB",
                   step_name, step);
  if ((base & (step - 1)) != 0)
    return refuse (error, "%s=0x%" G_GINT64_MODIFIER "x is not a multiple of %s; round it",
                   base_name, base, step_name);
  return TRUE;
}

/* Checks that `reuse` states what the policy does anyway. */
static gboolean
check_reuse (const char *name, int reuse, gboolean reuses, const char *policy, const char *value,
             GError **error)
{
  if (reuse == REUSE_POLICY || (reuse == REUSE_YES) == reuses)
    return TRUE;
  if (reuses)
    return refuse (error, "%s=never belongs to %s=bump; remove it or use bump", name, policy);
  return refuse (error, "%s=yes contradicts %s=%s, which never reuses addresses; use first-fit",
                 name, policy, value);
}

static gboolean
check_params (const GememSimulatedParams *p, GError **error)
{
  guint64 total = p->total != UNSET ? p->total : p->capacity;

  if (p->reserved_by_others > p->capacity)
    return refuse (
        error, "reserved_by_others is more than the capacity; nothing would be left to simulate");
  if (p->available != UNSET && p->available > total)
    return refuse (error, "available is more than the total; set total, or less available");
  if (p->granularity == 0 || (p->granularity & (p->granularity - 1)) != 0)
    return refuse (error,
                   "granularity=%" G_GUINT64_FORMAT " is not a power of two; use one, as in 2MiB",
                   p->granularity);
  if (p->address == ADDRESS_CUDA && p->granularity != GEMEM_ARENAS_PAGE)
    return refuse (
        error,
        "address=cuda is known for pages of 2 MiB alone; use granularity=2MiB or address=bump");
  return check_steps ("base", p->base, "step", p->step, error)
         && check_steps ("va_base", p->va_base, "va_step", p->va_step, error)
         && check_reuse ("reuse", p->reuse, reuses (p->address), "address",
                         p->address == ADDRESS_DESCENDING ? "descending"
                         : p->address == ADDRESS_RANDOM   ? "random"
                                                          : "bump",
                         error)
         && check_reuse ("va_reuse", p->va_reuse, reuses (p->va), "va", "bump", error);
}

static void
sim_destroy (GememDevice *device)
{
  GememSimulated *self = (GememSimulated *) device;
  stop_sharing (self);
  gemem_mappings_clear (&self->mappings);
  gemem_idmap_free (self->blocks);
  gemem_idmap_free (self->streams);
  gemem_slab_clear (&self->expected_slab);
  gemem_space_clear (&self->space);
  if (self->arenas != NULL)
    gemem_arenas_clear (self->arenas);
  g_free (self->arenas);
  gemem_profile_free (self->profile);
  g_clear_pointer (&self->answers, g_byte_array_unref);
  g_free (self->params.profile);
  g_free (self->params.gpu);
  g_free (self->params.calls);
  g_free (self);
}

/* gpu=NAME is the capacity of that GPU. */
static gboolean
take_gpu (GememSimulatedParams *p, GError **error)
{
  const GememGpu *gpu = p->gpu != NULL ? gemem_gpu_find (p->gpu, error) : NULL;

  if (p->gpu == NULL)
    return TRUE;
  if (gpu == NULL)
    g_prefix_error (error, "device sim: ");
  else
    p->capacity = gpu->memory;
  return gpu != NULL;
}

/* The capacity where nothing says it: of the profile, or of the smallest GPU that holds what is known
 * to have been reserved; beyond all of these just that. */
static guint64
assumed_capacity (const GememSimulatedParams *p, const GememProfile *profile)
{
  guint64 least = G_MAXUINT64;

  if (p->at_least <= profile->capacity)
    return profile->capacity;
  for (const GememGpu *gpu = gemem_gpus (); gpu->name != NULL; gpu++)
    if (gpu->memory >= p->at_least)
      least = MIN (least, gpu->memory);
  return least != G_MAXUINT64 ? least : p->at_least;
}

/* The value of the parameter @name in @settings, or NULL. */
static const char *
setting_of (const GPtrArray *settings, const char *name)
{
  const GememParam *param = gemem_params_find (params, name);

  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];
      if (gemem_params_find (params, setting->key) == param)
        return setting->value;
    }
  return NULL;
}

/* Settings that say how addresses are chosen, or what rules do not fit. */
static gboolean
chooses_addresses (const GPtrArray *settings)
{
  static const char *const names[] = { "address", "base",    "step",     "reuse", "va",
                                       "va_base", "va_step", "va_reuse", "calls", "granularity" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (setting_of (settings, names[i]) != NULL)
      return TRUE;
  return FALSE;
}

/* A GPU has the profile of its name, and one of CUDA the addresses of CUDA's driver. */
static void
sim_imply (GPtrArray *settings)
{
  const char *name = setting_of (settings, "gpu");
  const GememGpu *gpu = name != NULL ? gemem_gpu_find (name, NULL) : NULL;
  g_auto (GStrv) profiles = gpu != NULL ? gemem_profile_names () : NULL;

  if (gpu != NULL && setting_of (settings, "profile") == NULL
      && g_strv_contains ((const char *const *) profiles, gpu->name))
    gemem_settings_add (settings, "profile", gpu->name);
  if ((gpu != NULL ? gpu->major > 0 : g_strcmp0 (setting_of (settings, "driver"), "cuda") == 0)
      && !chooses_addresses (settings))
    gemem_settings_add (settings, "address", "cuda");
}

static GememDevice *
sim_create (gconstpointer given, int ordinal, GError **error)
{
  GememSimulatedParams p = *(const GememSimulatedParams *) given;
  GememProfile *profile = gemem_profile_load (p.profile, error);
  GememSimulated *self;

  if (profile == NULL || !take_gpu (&p, error))
    {
      g_clear_pointer (&profile, gemem_profile_free);
      return NULL;
    }
  if (p.capacity == UNSET)
    p.capacity = p.total != UNSET ? p.total : assumed_capacity (&p, profile);
  p.at_least = 0; /* they have done their part */
  p.driver = 0;
  if (p.granularity == UNSET)
    p.granularity = profile->granularity;
  if (!check_params (&p, error))
    {
      gemem_profile_free (profile);
      return NULL;
    }
  if (p.free_synchronises != FREE_AS_PROFILE)
    profile->calls[GEMEM_CALL_FREE].synchronises = p.free_synchronises == FREE_SYNCHRONISES;
  self = g_new0 (GememSimulated, 1);
  self->sharing = self;
  self->params = p;
  self->params.profile = g_strdup (p.profile);
  self->params.gpu = g_strdup (p.gpu);
  self->params.calls = g_strdup (p.calls);
  self->profile = profile;
  self->policy = p.calls != NULL ? ADDRESS_RECORDED : p.address;
  self->limit = p.capacity - p.reserved_by_others;
  self->base.klass = &gemem_simulated_class;
  g_rec_mutex_init (&self->base.lock);
  self->base.params = &self->params;
  self->base.capacity = p.capacity;
  self->base.hit_ns = profile->hit_ns;
  self->base.cost_numbers = profile->numbers;
  self->base.cost_guesses = profile->guesses;
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    self->base.waits |= (guint32) profile->calls[call].synchronises << call;
  self->allocations = (GememRegion){ .floor = p.base,
                                     .step = p.step,
                                     .reuse = p.address == ADDRESS_FIRST_FIT };
  if (self->policy == ADDRESS_RECORDED)
    self->allocations.floor = BEYOND_RECORDED;
  self->ranges = (GememRegion){ .floor = p.va_base,
                                .step = p.va_step,
                                .reuse = p.va == ADDRESS_FIRST_FIT,
                                .open_end = self->policy == ADDRESS_RECORDED };
  self->ceiling = p.base + SPREAD;
  gemem_rng_init (&self->rng, p.seed, "addresses");
  gemem_space_init (&self->space);
  if (self->policy == ADDRESS_CUDA)
    {
      self->arenas = g_new (GememArenas, 1);
      self->base.shares_pages = TRUE;
      gemem_arenas_init (self->arenas, &self->space);
    }
  gemem_slab_init (&self->expected_slab, sizeof (GememExpected));
  self->blocks = gemem_idmap_new (sizeof (guint64));
  self->streams = gemem_idmap_new (sizeof (guint64));
  gemem_mappings_init (&self->mappings, p.granularity);
  if (p.calls != NULL && !gemem_simulated_load_calls (self, p.calls, ordinal, error))
    {
      gemem_device_destroy (&self->base);
      return NULL;
    }
  return &self->base;
}

const GememDeviceClass gemem_simulated_class = {
  .name = "sim",
  .aliases = "simulated",
  .summary = "simulated device: capacity, address policy and modelled costs",
  .params = params,
  .params_size = sizeof (GememSimulatedParams),
  .imply = sim_imply,
  .create = sim_create,
  .malloc = sim_malloc,
  .free = sim_free,
  .reserve = gemem_virtual_reserve,
  .release = gemem_virtual_release,
  .create_page = gemem_virtual_create_page,
  .destroy_page = gemem_virtual_destroy_page,
  .map = gemem_virtual_map,
  .unmap = gemem_virtual_unmap,
  .memset = sim_memset,
  .event_record = sim_event_record,
  .event_query = sim_event_query,
  .event_sync = sim_event_sync,
  .stream_sync = sim_stream_sync,
  .device_sync = sim_device_sync,
  .info = sim_info,
  .destroy = sim_destroy,
  .cost = sim_cost,
  .share = sim_share,
  .compute = sim_compute,
  .recorded = { .expect = sim_expect,
                .expect_map = sim_expect_map,
                .limit = sim_limit,
                .adopt = sim_adopt },
  .probe.occupy = sim_occupy,
};
