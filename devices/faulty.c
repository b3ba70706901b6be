/* faulty.c - a wrapper that makes chosen calls fail, to test the layers above.
 *
 * Rules: `call` names the calls that may fail ("malloc|map"; "memory": malloc, reserve, create and
 * map, which is the default; "all": every call that can report failure, except unmap: an allocator
 * that can never unmap cannot release all memory).  These calls are counted together, from 1; call
 * k fails if any rule matches:
 *   nth=N    k = N
 *   every=N  k is a multiple of N
 *   after=N  k > N
 *   rate=P%  a draw with probability P per call (exact to 0.0001 %), from the stream of `seed`
 * Several wrappers can be stacked for rules that count differently.
 *
 * A failed call never reaches the device beneath: nothing changes, no address is used up, no
 * recorded segment is consumed; it is counted, refused and charged like one that the device
 * refused.  Everything else is forwarded.  Clock, held bytes and misuses are equal on both objects
 * after every call; calls are counted on the outer object alone.  A failed event_query says "not
 * complete"; a failed event_record returns 0, after which only waiting for the stream is safe.
 *
 * Cost: O(1) above the device beneath, no allocation.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/units.h"
#include "devices/device-private.h"
#include "devices/faulty.h"

#define RATE_WHOLE 1000000 /* parts per million */
#define NEVER G_MAXUINT64
#define NEVER_TEXT "18446744073709551615"

typedef struct
{
  guint64 nth, every, after, seed;
  char *rate, *call, *on;
} FaultyParams;

typedef struct
{
  GememDevice base;
  FaultyParams params;
  guint32 kinds; /* bit per GememDeviceCall that may fail */
  guint64 rate;  /* of RATE_WHOLE */
  GememRng rng;
  guint64 seen; /* number of calls that were eligible to fail */
  guint64 injected[GEMEM_CALL_COUNT];
} Faulty;

#define FIELD(name) .offset = G_STRUCT_OFFSET (FaultyParams, name)

static const GememParam params[] = {
  { .name = "nth",
    .type = GEMEM_PARAM_UINT,
    .default_text = "0",
    FIELD (nth),
    .help = "Call number N fails, counted from 1; 0: none." },
  { .name = "every",
    .type = GEMEM_PARAM_UINT,
    .default_text = "0",
    FIELD (every),
    .help = "Every N-th call fails; 0: none." },
  { .name = "after",
    .type = GEMEM_PARAM_UINT,
    .default_text = "never",
    .special = "never=" NEVER_TEXT,
    FIELD (after),
    .help = "All calls after the first N fail." },
  { .name = "rate",
    .type = GEMEM_PARAM_STRING,
    .default_text = "0%",
    FIELD (rate),
    .help = "Share of calls that fail at random, as in 1%." },
  { .name = "seed",
    .type = GEMEM_PARAM_UINT,
    .default_text = "1",
    FIELD (seed),
    .help = "Seed of the random failures." },
  { .name = "call",
    .type = GEMEM_PARAM_STRING,
    .flags = GEMEM_PARAM_BARS,
    .default_text = "memory",
    FIELD (call),
    .help = "Calls that may fail, '|' separated: names of device calls, 'memory' (malloc, reserve, "
            "create, map) or 'all'." },
  { .name = "on",
    .type = GEMEM_PARAM_STRING,
    .default_text = "sim",
    FIELD (on),
    .help = "The device beneath; other settings go to it." },
  { .name = NULL }
};

#define BIT(call) (1u << GEMEM_CALL_##call)
#define MEMORY_CALLS (BIT (MALLOC) | BIT (RESERVE) | BIT (CREATE) | BIT (MAP))
#define FALLIBLE_CALLS \
  (MEMORY_CALLS | BIT (UNMAP) | BIT (MEMSET) | BIT (EVENT_RECORD) | BIT (EVENT_QUERY) \
   | BIT (STREAM_SYNC) | BIT (DEVICE_SYNC))

/* ---- the decision, and keeping both objects in step */

static gboolean
fails (Faulty *self, GememDeviceCall call)
{
  const FaultyParams *p = &self->params;
  guint64 k;
  gboolean fail;

  if ((self->kinds & (1u << call)) == 0)
    return FALSE;
  k = ++self->seen;
  fail = k == p->nth || (p->every != 0 && k % p->every == 0) || k > p->after;
  if (self->rate != 0
      && gemem_rng_below (&self->rng, RATE_WHOLE)
             < self->rate) /* drawn on every call, so that the rules are independent */
    fail = TRUE;
  self->injected[call] += fail;
  return fail;
}

/* The device beneath, set to the caller's time. */
static inline GememDevice *
enter (GememDevice *device)
{
  device->inner->now = device->now;
  return device->inner;
}

static inline void
leave (GememDevice *device)
{
  const GememDevice *inner = device->inner;
  device->now = inner->now;
  device->held = inner->held;
  device->misuses = inner->misuses;
  device->unexpected = inner->unexpected;
}

/* ---- calls that may fail */

static guint64
faulty_malloc (GememDevice *device, guint64 size, guint64 stream)
{
  if (fails ((Faulty *) device, GEMEM_CALL_MALLOC))
    return 0;
  GememDevice *inner = enter (device);
  guint64 address = inner->klass->malloc (inner, size, stream);
  leave (device);
  return address;
}

static guint64
faulty_reserve (GememDevice *device, guint64 size, guint64 alignment)
{
  if (fails ((Faulty *) device, GEMEM_CALL_RESERVE))
    return 0;
  GememDevice *inner = enter (device);
  guint64 address = inner->klass->reserve (inner, size, alignment);
  leave (device);
  return address;
}

static GememPage
faulty_create_page (GememDevice *device, guint64 size)
{
  if (fails ((Faulty *) device, GEMEM_CALL_CREATE))
    return 0;
  GememDevice *inner = enter (device);
  GememPage page = inner->klass->create_page (inner, size);
  leave (device);
  return page;
}

static gboolean
faulty_map (GememDevice *device, guint64 address, GememPage page, guint64 offset, guint64 size)
{
  if (fails ((Faulty *) device, GEMEM_CALL_MAP))
    return FALSE;
  GememDevice *inner = enter (device);
  gboolean ok = inner->klass->map (inner, address, page, offset, size);
  leave (device);
  return ok;
}

static gboolean
faulty_unmap (GememDevice *device, guint64 address, guint64 size)
{
  if (fails ((Faulty *) device, GEMEM_CALL_UNMAP))
    return FALSE;
  GememDevice *inner = enter (device);
  gboolean ok = inner->klass->unmap (inner, address, size);
  leave (device);
  return ok;
}

static gboolean
faulty_memset (GememDevice *device, guint64 address, guint8 value, guint64 size, guint64 stream)
{
  if (fails ((Faulty *) device, GEMEM_CALL_MEMSET))
    return FALSE;
  GememDevice *inner = enter (device);
  gboolean ok = inner->klass->memset (inner, address, value, size, stream);
  leave (device);
  return ok;
}

static GememDeviceEvent
faulty_event_record (GememDevice *device, guint64 stream)
{
  if (fails ((Faulty *) device, GEMEM_CALL_EVENT_RECORD))
    return 0;
  GememDevice *inner = enter (device);
  GememDeviceEvent event = inner->klass->event_record (inner, stream);
  leave (device);
  return event;
}

static gboolean
faulty_event_query (GememDevice *device, GememDeviceEvent event)
{
  if (fails ((Faulty *) device, GEMEM_CALL_EVENT_QUERY))
    return FALSE;
  GememDevice *inner = enter (device);
  gboolean complete = inner->klass->event_query (inner, event);
  leave (device);
  return complete;
}

static gboolean
faulty_stream_sync (GememDevice *device, guint64 stream)
{
  if (fails ((Faulty *) device, GEMEM_CALL_STREAM_SYNC))
    return FALSE;
  GememDevice *inner = enter (device);
  gboolean ok = inner->klass->stream_sync (inner, stream);
  leave (device);
  return ok;
}

static gboolean
faulty_device_sync (GememDevice *device)
{
  if (fails ((Faulty *) device, GEMEM_CALL_DEVICE_SYNC))
    return FALSE;
  GememDevice *inner = enter (device);
  gboolean ok = inner->klass->device_sync (inner);
  leave (device);
  return ok;
}

/* ---- calls that cannot report failure */

static void
faulty_free (GememDevice *device, guint64 address, guint64 size)
{
  GememDevice *inner = enter (device);
  inner->klass->free (inner, address, size);
  leave (device);
}

static void
faulty_release (GememDevice *device, guint64 address, guint64 size)
{
  GememDevice *inner = enter (device);
  inner->klass->release (inner, address, size);
  leave (device);
}

static void
faulty_destroy_page (GememDevice *device, GememPage page, guint64 size)
{
  GememDevice *inner = enter (device);
  inner->klass->destroy_page (inner, page, size);
  leave (device);
}

static void
faulty_event_sync (GememDevice *device, GememDeviceEvent event)
{
  GememDevice *inner = enter (device);
  inner->klass->event_sync (inner, event);
  leave (device);
}

static void
faulty_info (GememDevice *device, GememDeviceInfo *info)
{
  GememDevice *inner = enter (device);
  inner->klass->info (inner, info);
  leave (device);
}

static void
faulty_expect (GememDevice *device, guint64 address, guint64 size)
{
  gemem_device_expect (enter (device), address, size);
  leave (device);
}

static void
faulty_expect_map (GememDevice *device, guint64 address, guint64 size, gboolean whole)
{
  gemem_device_expect_map (enter (device), address, size, whole);
  leave (device);
}

static void
faulty_limit (GememDevice *device, guint64 bytes)
{
  gemem_device_limit (enter (device), bytes);
  leave (device);
}

static gboolean
faulty_adopt (GememDevice *device, guint64 address, guint64 size)
{
  gboolean ok = gemem_device_adopt (enter (device), address, size);
  leave (device);
  return ok;
}

static guint64
faulty_cost (GememDevice *device, GememDeviceCall call, guint64 size)
{
  GememDevice *inner = enter (device);
  return inner->klass->cost != NULL ? inner->klass->cost (inner, call, size) : 0;
}

static void
faulty_destroy (GememDevice *device)
{
  Faulty *self = (Faulty *) device;
  gemem_device_destroy (device->inner);
  gemem_params_clear (params, &self->params);
  g_free (self);
}

/* ---- creation */

static gboolean
parse_kinds (const char *text, guint32 *kinds, GError **error)
{
  g_auto (GStrv) words = g_strsplit (text, "|", 0);
  const char *known[GEMEM_CALL_COUNT + 3] = { "memory", "all" };
  guint n = 2;

  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    if ((FALLIBLE_CALLS & (1u << call)) != 0)
      known[n++] = gemem_device_call_name (call);
  *kinds = 0;
  for (guint i = 0; words[i] != NULL; i++)
    {
      guint32 before = *kinds;
      if (gemem_name_equal (words[i], "memory"))
        *kinds |= MEMORY_CALLS;
      else if (gemem_name_equal (words[i], "all"))
        *kinds |= FALLIBLE_CALLS & ~BIT (UNMAP);
      else
        for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
          if ((FALLIBLE_CALLS & (1u << call)) != 0
              && gemem_name_equal (words[i], gemem_device_call_name (call)))
            *kinds |= 1u << call;
      if (*kinds != before || (before != 0 && g_strv_contains (known, words[i])))
        continue;
      const char *nearest = gemem_suggest (words[i], known);
      g_autofree char *list = g_strjoinv (", ", (char **) known);
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "device faulty: call=%s: no call that can fail; %s%s%suse %s", words[i],
                   nearest != NULL ? "did you mean '" : "", nearest != NULL ? nearest : "",
                   nearest != NULL ? "'? " : "", list);
      return FALSE;
    }
  if (*kinds == 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "device faulty: call= names no call; use memory, all, or names as in malloc|map");
  return *kinds != 0;
}

static gboolean
parse_rate (const char *text, guint64 *rate, GError **error)
{
  g_autoptr (GError) cause = NULL;

  if (g_str_has_suffix (text, "%") && gemem_parse_size (text, 1, RATE_WHOLE, rate, &cause)
      && *rate <= RATE_WHOLE)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "device faulty: rate=%s: not a share; use 0%% to 100%%, as in rate=1%%", text);
  return FALSE;
}

/* A setting without effect is an error. */
static gboolean
check_effect (const FaultyParams *p, guint64 rate, GError **error)
{
  gboolean some = p->nth != 0 || p->every != 0 || p->after != NEVER || rate != 0;

  if (!some && strcmp (p->call, "memory") != 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "device faulty: call=%s: nothing says when; add nth, every, after or rate",
                 p->call);
  else if (rate == 0 && p->seed != 1)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "device faulty: seed has no effect without rate; add rate=1%% or remove it");
  else
    return TRUE;
  return FALSE;
}

static GememDevice *
faulty_wrap (GememDevice *inner, gconstpointer params_given, GError **error)
{
  const FaultyParams *given = params_given;
  guint32 kinds;
  guint64 rate;
  Faulty *self;

  if (!parse_kinds (given->call, &kinds, error) || !parse_rate (given->rate, &rate, error)
      || !check_effect (given, rate, error))
    {
      gemem_device_destroy (inner);
      return NULL;
    }
  self = g_new0 (Faulty, 1);
  self->params = *given;
  self->params.rate = g_strdup (given->rate);
  self->params.call = g_strdup (given->call);
  self->params.on = g_strdup (inner->klass->name);
  self->kinds = kinds;
  self->rate = rate;
  gemem_rng_init (&self->rng, given->seed, "faults");
  self->base.klass = &gemem_faulty_class;
  g_rec_mutex_init (&self->base.lock);
  self->base.params = &self->params;
  self->base.inner = inner;
  self->base.ordinal = inner->ordinal;
  self->base.capacity = inner->capacity;
  self->base.hit_ns = inner->hit_ns;
  self->base.cost_numbers = inner->cost_numbers;
  self->base.cost_guesses = inner->cost_guesses;
  self->base.waits = inner->waits;
  self->base.peak_held = inner->peak_held;
  leave (&self->base);
  return &self->base;
}

GememDevice *
gemem_faulty_device_new (GememDevice *inner, const char *spec, GError **error)
{
  g_autoptr (GPtrArray) settings = gemem_settings_parse (spec, error);
  const GememParamContext context = { 0 };
  FaultyParams given = { 0 };
  GememDevice *device;

  if (settings == NULL
      || !gemem_params_apply (params, &given, &context, "device faulty", settings, error))
    {
      gemem_params_clear (params, &given);
      gemem_device_destroy (inner);
      return NULL;
    }
  device = faulty_wrap (inner, &given, error);
  gemem_params_clear (params, &given);
  return device;
}

guint64
gemem_faulty_device_injected (GememDevice *device, GememDeviceCall call)
{
  guint64 sum = 0;
  for (; device != NULL; device = device->inner)
    if (device->klass == &gemem_faulty_class)
      for (guint each = 0; each < GEMEM_CALL_COUNT; each++)
        if (each == call || call == GEMEM_CALL_COUNT)
          sum += ((const Faulty *) device)->injected[each];
  return sum;
}

const GememDeviceClass gemem_faulty_class = {
  .name = "faulty",
  .summary = "lets chosen calls fail on the device beneath (on=sim): nth, every, after, rate",
  .params = params,
  .params_size = sizeof (FaultyParams),
  .wrap = faulty_wrap,
  .malloc = faulty_malloc,
  .free = faulty_free,
  .reserve = faulty_reserve,
  .release = faulty_release,
  .create_page = faulty_create_page,
  .destroy_page = faulty_destroy_page,
  .map = faulty_map,
  .unmap = faulty_unmap,
  .memset = faulty_memset,
  .event_record = faulty_event_record,
  .event_query = faulty_event_query,
  .event_sync = faulty_event_sync,
  .stream_sync = faulty_stream_sync,
  .device_sync = faulty_device_sync,
  .info = faulty_info,
  .destroy = faulty_destroy,
  .cost = faulty_cost,
  .recorded = { .expect = faulty_expect,
                .expect_map = faulty_expect_map,
                .limit = faulty_limit,
                .adopt = faulty_adopt },
};
