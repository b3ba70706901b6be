/* device-contract.c - see device-contract.h. */
#include "config.h"

#include <string.h>

#include "tests/util/device-contract.h"
#include "tests/util/sizes.h"

GememDevice *
test_device_new (const char *spec, const char *more)
{
  g_autoptr (GError) error = NULL;
  const char *colon = strchr (spec, ':');
  const char *joint = *more == '\0'                 ? ""
                      : colon == NULL               ? ":"
                      : strchr (colon, '=') != NULL ? ","
                                                    : ":";
  g_autofree char *text = g_strconcat (spec, joint, more, NULL);
  GememDevice *device = gemem_device_new (text, NULL, 0, &error);
  g_assert_no_error (error);
  return device;
}

static void
destroy (GememDevice *device)
{
  g_assert_no_error (gemem_device_failure (device));
  g_assert_cmpuint (device->misuses, ==, 0);
  gemem_device_destroy (device);
}

static guint64
take (GememDevice *device, guint64 size)
{
  return gemem_device_malloc (device, size, 0);
}

/* ---- plain allocations */

void
test_device_capacity (const char *spec)
{
  GememDevice *device = test_device_new (spec, "capacity=10MiB");
  guint64 a = take (device, 4 * MIB + 1), b, c;
  GememDeviceInfo info;

  g_assert_cmphex (a, !=, 0);
  g_assert_cmpuint (gemem_device_capacity (device), ==, 10 * MIB);
  g_assert_cmphex (take (device, 6 * MIB), ==, 0); /* one byte too many */
  g_assert_cmpuint (device->held, ==, 4 * MIB + 1);
  b = take (device, 6 * MIB - 1);
  g_assert_cmphex (b, !=, 0); /* exactly full */
  g_assert_true (b >= a + 4 * MIB + 1 || a >= b + 6 * MIB - 1);
  g_assert_cmphex (take (device, 1), ==, 0);
  g_assert_cmphex (take (device, 0), ==, 0);
  g_assert_cmphex (take (device, G_MAXUINT64), ==, 0);
  g_assert_cmpuint (device->refused[GEMEM_CALL_MALLOC], ==, 4);
  g_assert_cmpuint (device->calls[GEMEM_CALL_MALLOC], ==, 6);
  gemem_device_info (device, &info);
  g_assert_cmpuint (info.total, ==, 10 * MIB);
  g_assert_cmpuint (info.free, ==, 0);
  gemem_device_free (device, a, 4 * MIB + 1);
  g_assert_cmpuint (device->held, ==, 6 * MIB - 1);
  c = take (device, 4 * MIB + 1);
  g_assert_cmphex (c, !=, 0);
  g_assert_cmpuint (device->peak_held, ==, 10 * MIB);
  gemem_device_free (device, b, 6 * MIB - 1);
  gemem_device_free (device, c, 4 * MIB + 1);
  gemem_device_info (device, &info);
  g_assert_cmpuint (info.free, ==, 10 * MIB);
  g_assert_cmpuint (device->held, ==, 0);
  g_assert_cmpuint (device->calls[GEMEM_CALL_INFO], ==, 2);
  destroy (device);

  device = test_device_new (spec, "capacity=1B");
  g_assert_cmphex (take (device, 2), ==, 0);
  destroy (device);
}

/* ---- virtual memory */

static void
check_held_by_pages (GememDevice *device, guint64 granule)
{
  guint64 block = take (device, 1);
  GememPage a, b;

  g_assert_cmpuint (gemem_device_create_page (device, 5 * granule), ==, 0);
  g_assert_cmpuint (gemem_device_create_page (device, 0), ==, 0);
  a = gemem_device_create_page (device, 4 * granule);
  g_assert_cmpuint (a, ==, 1);
  g_assert_cmpuint (device->held, ==, 4 * granule + 1);
  g_assert_cmpuint (gemem_device_create_page (device, granule), ==, 0); /* a byte is missing */
  g_assert_cmphex (take (device, granule), ==, 0);                      /* the same memory */
  gemem_device_destroy_page (device, a, 4 * granule);
  g_assert_cmpuint (device->held, ==, 1);
  b = gemem_device_create_page (device, granule);
  g_assert_cmpuint (b, ==, 2); /* names are not reused */
  g_assert_cmpuint (device->calls[GEMEM_CALL_CREATE], ==, 5);
  g_assert_cmpuint (device->refused[GEMEM_CALL_CREATE], ==, 3);
  gemem_device_destroy_page (device, b, granule);
  gemem_device_free (device, block, 1);
}

static void
check_mappings (GememDevice *device, guint64 granule)
{
  guint64 va = gemem_device_reserve (device, 8 * granule, 0),
          other = gemem_device_reserve (device, 1, granule);
  GememPage a = gemem_device_create_page (device, 2 * granule),
            b = gemem_device_create_page (device, granule);

  g_assert_cmphex (va, !=, 0);
  g_assert_cmphex (other, !=, 0);
  g_assert_true (other >= va + 8 * granule || va > other);
  g_assert_cmphex (gemem_device_reserve (device, 0, 0), ==, 0);
  g_assert_cmphex (gemem_device_reserve (device, G_MAXUINT64, 0), ==, 0);
  g_assert_true (gemem_device_map (device, va + granule, a, 0, 2 * granule));
  g_assert_true (gemem_device_map (device, va, b, 0, granule));
  /* a page may be mapped twice */
  g_assert_true (gemem_device_map (device, va + 6 * granule, a, 0, 2 * granule));
  g_assert_cmpuint (device->held, ==, 3 * granule); /* a mapping holds no memory of its own */
  g_assert_true (gemem_device_memset (device, va, 0xa5, 3 * granule, 0)); /* across two mappings */
  g_assert_true (gemem_device_sync (device));

  /* A page lives until its owner has destroyed it and no mapping shows it. */
  gemem_device_destroy_page (device, a, 2 * granule);
  g_assert_cmpuint (device->held, ==, 3 * granule);
  g_assert_true (gemem_device_unmap (device, va, 3 * granule)); /* two mappings at once */
  g_assert_cmpuint (device->held, ==, 3 * granule);
  g_assert_true (gemem_device_unmap (device, va + 6 * granule, 2 * granule));
  g_assert_cmpuint (device->held, ==, granule);
  /* at an address that had a mapping before */
  g_assert_true (gemem_device_map (device, va + 2 * granule, b, 0, granule));
  g_assert_true (gemem_device_unmap (device, va + 2 * granule, granule));
  gemem_device_destroy_page (device, b, granule);
  gemem_device_release (device, va, 8 * granule);
  gemem_device_release (device, other, 1);
  g_assert_cmpuint (device->held, ==, 0);
}

void
test_device_pages (const char *spec)
{
  GememDevice *device = test_device_new (spec, "");
  g_autofree char *capacity = NULL;
  GememDeviceInfo info;

  gemem_device_info (device, &info);
  g_assert_true (info.virtual_memory);
  g_assert_cmpuint (info.granularity & (info.granularity - 1), ==, 0);
  destroy (device);
  capacity = g_strdup_printf ("capacity=%" G_GUINT64_FORMAT, 5 * info.granularity);
  device = test_device_new (spec, capacity);
  check_held_by_pages (device, info.granularity);
  check_mappings (device, info.granularity);
  destroy (device);
}

/* ---- streams */

void
test_device_streams (const char *spec)
{
  static const guint64 streams[] = { 0, 7, G_GUINT64_CONSTANT (0x7f0000001234) };
  GememDevice *device = test_device_new (spec, "capacity=16MiB");
  GememDeviceEvent events[3][40], last;
  guint64 block = take (device, 2 * MIB);

  g_assert_true (gemem_device_stream_sync (device, 99)); /* never used */
  g_assert_true (gemem_device_event_query (device, 0));
  gemem_device_event_sync (device, 0);
  for (guint s = 0; s < G_N_ELEMENTS (streams); s++)
    for (guint e = 0; e < G_N_ELEMENTS (events[s]); e++)
      {
        g_assert_true (
            gemem_device_memset (device, block + s * 1024, (guint8) e, 1024, streams[s]));
        events[s][e] = gemem_device_event_record (device, streams[s]);
        g_assert_cmphex (events[s][e], !=, 0);
      }
  gemem_device_event_sync (device, events[0][20]); /* and so is all work before it on its stream */
  g_assert_true (gemem_device_event_query (device, events[0][20]));
  g_assert_true (gemem_device_event_query (device, events[0][0]));
  g_assert_true (gemem_device_stream_sync (device, streams[1]));
  for (guint e = 0; e < G_N_ELEMENTS (events[1]); e++)
    g_assert_true (gemem_device_event_query (device, events[1][e]));
  last = gemem_device_event_record (device, streams[1]);
  g_assert_true (gemem_device_sync (device));
  for (guint s = 0; s < G_N_ELEMENTS (streams); s++)
    for (guint e = 0; e < G_N_ELEMENTS (events[s]); e++)
      g_assert_true (gemem_device_event_query (device, events[s][e]));
  g_assert_true (gemem_device_event_query (device, last));
  gemem_device_free (device, block, 2 * MIB);
  g_assert_cmpuint (device->calls[GEMEM_CALL_EVENT_RECORD], ==, 121);
  g_assert_cmpuint (device->refused[GEMEM_CALL_EVENT_RECORD], ==, 0);
  destroy (device);
}

void
test_device_leave_all (const char *spec)
{
  GememDevice *device = test_device_new (spec, "capacity=32MiB");
  GememDeviceInfo info;
  guint64 va;
  GememPage page, owned;

  gemem_device_info (device, &info);
  va = gemem_device_reserve (device, 4 * info.granularity, 0);
  page = gemem_device_create_page (device, info.granularity);
  owned = gemem_device_create_page (device, info.granularity);
  g_assert_true (gemem_device_map (device, va, page, 0, info.granularity));
  g_assert_true (gemem_device_map (device, va + info.granularity, owned, 0, info.granularity));
  gemem_device_destroy_page (device, page, info.granularity); /* the mapping keeps the page alive */
  g_assert_cmphex (take (device, MIB), !=, 0);
  g_assert_cmphex (gemem_device_malloc (device, 1, 5), !=, 0);
  g_assert_true (gemem_device_memset (device, va, 1, 2 * info.granularity, 5));
  g_assert_cmphex (gemem_device_event_record (device, 5), !=, 0);
  destroy (device);
}

/* ---- misuse by callers: on a device with an allocation, a page and a mapping */

typedef struct
{
  GememDevice *device;
  guint64 block, va; /* 3 MiB; 8 MiB with 4 MiB mapped at its start */
  GememPage page;    /* 4 MiB */
} Scene;

static void
free_unknown (Scene *s)
{
  gemem_device_free (s->device, s->block + 1, 3 * MIB);
}
static void
free_zero (Scene *s)
{
  gemem_device_free (s->device, 0, 1);
}
static void
free_size (Scene *s)
{
  gemem_device_free (s->device, s->block, 4 * MIB);
}
static void
free_range (Scene *s)
{
  gemem_device_free (s->device, s->va, 8 * MIB);
}
static void
release_unknown (Scene *s)
{
  gemem_device_release (s->device, s->va + MIB, 8 * MIB);
}
static void
release_size (Scene *s)
{
  gemem_device_release (s->device, s->va, 4 * MIB);
}
static void
release_mapped (Scene *s)
{
  gemem_device_release (s->device, s->va, 8 * MIB);
}
static void
reserve_alignment (Scene *s)
{
  g_assert_cmphex (gemem_device_reserve (s->device, MIB, 3 * MIB), ==, 0);
}
static void
create_size (Scene *s)
{
  g_assert_cmpuint (gemem_device_create_page (s->device, 3 * MIB), ==, 0);
}
static void
destroy_unknown (Scene *s)
{
  gemem_device_destroy_page (s->device, s->page + 1, 4 * MIB);
}
static void
destroy_size (Scene *s)
{
  gemem_device_destroy_page (s->device, s->page, 2 * MIB);
}
static void
map_over (Scene *s)
{
  g_assert_false (gemem_device_map (s->device, s->va + 2 * MIB, s->page, 0, 4 * MIB));
}
static void
map_outside (Scene *s)
{
  g_assert_false (gemem_device_map (s->device, s->va + 6 * MIB, s->page, 0, 4 * MIB));
}
static void
map_block (Scene *s)
{
  g_assert_false (gemem_device_map (s->device, s->block, s->page, 0, 4 * MIB));
}
static void
map_beyond (Scene *s)
{
  g_assert_false (gemem_device_map (s->device, s->va + 4 * MIB, s->page, 2 * MIB, 4 * MIB));
}
static void
map_part (Scene *s)
{
  g_assert_false (gemem_device_map (s->device, s->va + 4 * MIB, s->page, 0, 2 * MIB));
}
static void
map_rest (Scene *s)
{
  g_assert_false (gemem_device_map (s->device, s->va + 4 * MIB, s->page, 2 * MIB, 2 * MIB));
}
static void
map_page (Scene *s)
{
  g_assert_false (gemem_device_map (s->device, s->va + 4 * MIB, 77, 0, 2 * MIB));
}
static void
map_granularity (Scene *s)
{
  g_assert_false (gemem_device_map (s->device, s->va + 5 * MIB, s->page, 0, 2 * MIB));
}
static void
unmap_part (Scene *s)
{
  g_assert_false (gemem_device_unmap (s->device, s->va, 2 * MIB));
}
static void
unmap_more (Scene *s)
{
  g_assert_false (gemem_device_unmap (s->device, s->va, 6 * MIB));
}
static void
unmap_nothing (Scene *s)
{
  g_assert_false (gemem_device_unmap (s->device, s->va + 4 * MIB, 2 * MIB));
}

static void (*const acts[]) (Scene *) = {
  free_unknown,    free_zero,         free_size,   free_range,      release_unknown, release_size,
  release_mapped,  reserve_alignment, create_size, destroy_unknown, destroy_size,    map_over,
  map_outside,     map_block,         map_beyond,  map_part,        map_rest,        map_page,
  map_granularity, unmap_part,        unmap_more,  unmap_nothing,
};

const TestMistake test_device_mistakes[G_N_ELEMENTS (acts)] = {
  { "free-unknown", "free of an address that is not allocated" },
  { "free-zero", "free of an address that is not allocated" },
  { "free-size", "free with another size" },
  { "free-range", "free of an address that is not allocated" },
  { "release-unknown", "release of a range that is not reserved" },
  { "release-size", "release of a range that is not reserved" },
  { "release-mapped", "release of a range that still has mappings" },
  { "reserve-alignment", "reserve with an alignment that is no power of two" },
  { "create-size", "create of a page that is no multiple of the granularity" },
  { "destroy-unknown", "destroy of a page that does not exist" },
  { "destroy-size", "destroy of a page that does not exist, or with another size" },
  { "map-over", "map over another mapping" },
  { "map-outside", "map outside of a reserved range" },
  { "map-block", "map outside of a reserved range" },
  { "map-beyond", "map of a part of a page, or of more than it has" },
  { "map-part", "map of a part of a page, or of more than it has" },
  { "map-rest", "map of a part of a page, or of more than it has" },
  { "map-page", "map of a page that does not exist" },
  { "map-granularity", "map of nothing, or not in multiples of the granularity" },
  { "unmap-part", "unmap of what is not mapped, or of a part of a mapping" },
  { "unmap-more", "unmap of what is not mapped" },
  { "unmap-nothing", "unmap of what is not mapped" },
};
const guint test_device_n_mistakes = G_N_ELEMENTS (acts);

void
test_device_mistake (const char *spec, guint i)
{
  Scene s = { .device = test_device_new (spec, "capacity=32MiB") };

  s.block = take (s.device, 3 * MIB);
  s.va = gemem_device_reserve (s.device, 8 * MIB, 0);
  s.page = gemem_device_create_page (s.device, 4 * MIB);
  g_assert_true (gemem_device_map (s.device, s.va, s.page, 0, 4 * MIB));
  g_assert_cmpuint (s.device->misuses, ==, 0);
  acts[i](&s);
  g_assert_cmpuint (s.device->misuses, ==, 1);
  g_assert_cmpuint (s.device->held, ==, 7 * MIB);
  gemem_device_free (s.device, s.block, 3 * MIB);
  gemem_device_destroy_page (s.device, s.page, 4 * MIB);
  g_assert_true (gemem_device_unmap (s.device, s.va, 4 * MIB));
  gemem_device_release (s.device, s.va, 8 * MIB);
  g_assert_cmpuint (s.device->misuses, ==, 1);
  g_assert_cmpuint (s.device->held, ==, 0);
  g_assert_no_error (gemem_device_failure (s.device));
  gemem_device_destroy (s.device);
}
