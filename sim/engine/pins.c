/* pins.c - see pins.h.
 *
 * Blocks stand in the order of their segments; a map leads from their ids to them until they are freed,
 * and the order of the frees is counted.
 */
#include "config.h"

#include "base/compare.h"
#include "base/idmap.h"
#include "sim/engine/pins.h"

#define NEVER G_MAXUINT64

typedef struct
{
  guint64 id, size, end; /* end: the number of its free among those of all, from 0; NEVER */
  GememOrigin origin;
} Block;

typedef struct
{
  guint64 bytes;
  guint begin; /* index of its first block */
} Segment;

struct _GememPins
{
  GArray *segments, *blocks;
  GememIdMap *waiting; /* id -> guint64, the index of a block that is not freed */
  guint64 frees;
};

GememPins *
gemem_pins_new (void)
{
  GememPins *pins = g_new0 (GememPins, 1);

  pins->segments = g_array_new (FALSE, FALSE, sizeof (Segment));
  pins->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  pins->waiting = gemem_idmap_new (sizeof (guint64));
  return pins;
}

void
gemem_pins_free (GememPins *pins)
{
  if (pins == NULL)
    return;
  g_array_unref (pins->segments);
  g_array_unref (pins->blocks);
  gemem_idmap_free (pins->waiting);
  g_free (pins);
}

void
gemem_pins_add_segment (GememPins *pins, guint64 bytes)
{
  const Segment segment = { bytes, pins->blocks->len };

  g_array_append_val (pins->segments, segment);
}

void
gemem_pins_add_block (GememPins *pins, const guint64 *id, guint64 size, const GememOrigin *origin)
{
  const Block block = { id != NULL ? *id : 0, size, NEVER, *origin };

  if (id != NULL)
    *(guint64 *) gemem_idmap_insert (pins->waiting, *id, NULL) = pins->blocks->len;
  g_array_append_val (pins->blocks, block);
}

void
gemem_pins_free_block (GememPins *pins, guint64 id)
{
  guint64 at;

  if (gemem_idmap_remove (pins->waiting, id, &at))
    g_array_index (pins->blocks, Block, at).end = pins->frees++;
}

gboolean
gemem_pins_wait (const GememPins *pins)
{
  return gemem_idmap_count (pins->waiting) > 0;
}

/* ---- one segment */

/* The largest of the blocks [@begin, @end) that are freed last; NULL: there are none. */
static const Block *
keeper_of (const Block *begin, const Block *end)
{
  const Block *keeper = NULL;

  for (const Block *block = begin; block < end; block++)
    if (keeper == NULL || block->end > keeper->end
        || (block->end == keeper->end && block->size > keeper->size))
      keeper = block;
  return keeper;
}

static GememPin
pin_of (guint64 bytes, const Block *begin, const Block *end)
{
  const Block *keeper = keeper_of (begin, end);
  GememPin pin = { .bytes = bytes, .segments = 1 };

  if (keeper == NULL)
    return pin;
  pin.origin = keeper->origin;
  pin.id = keeper->id;
  for (const Block *block = begin; block < end; block++)
    if (block->end == keeper->end)
      {
        const gboolean same = g_strcmp0 (block->origin.by, keeper->origin.by) == 0;
        pin.blocks += same;
        pin.size += same ? block->size : 0;
        pin.others += !same;
      }
  return pin;
}

/* ---- all */

/* By place, those without one last and by id. */
static int
compare_places (gconstpointer a, gconstpointer b)
{
  const GememPin *x = a, *y = b;

  if (x->origin.by == NULL && y->origin.by == NULL)
    return gemem_compare_uint64 (&x->id, &y->id);
  return x->origin.by == NULL   ? 1
         : y->origin.by == NULL ? -1
                                : g_strcmp0 (x->origin.by, y->origin.by);
}

static int
compare_bytes (gconstpointer a, gconstpointer b)
{
  const GememPin *x = a, *y = b;

  return x->bytes != y->bytes ? gemem_compare_uint64 (&y->bytes, &x->bytes) : compare_places (a, b);
}

static void
add (GememPin *to, const GememPin *pin)
{
  to->bytes += pin->bytes;
  to->segments += pin->segments;
  to->blocks += pin->blocks;
  to->size += pin->size;
  to->others += pin->others;
}

static void
merge_places (GArray *out)
{
  guint n = 0;

  g_array_sort (out, compare_places);
  for (guint i = 0; i < out->len; i++)
    {
      const GememPin *pin = &g_array_index (out, GememPin, i);
      GememPin *last = n > 0 ? &g_array_index (out, GememPin, n - 1) : NULL;

      if (last != NULL && pin->origin.by != NULL
          && g_strcmp0 (last->origin.by, pin->origin.by) == 0)
        add (last, pin);
      else
        g_array_index (out, GememPin, n++) = *pin;
    }
  g_array_set_size (out, n);
}

/* What is beyond GEMEM_PINS, and has the fewest bytes, is one. */
static void
merge_rest (GArray *out)
{
  GememPin rest = { .rest = TRUE };

  for (guint i = GEMEM_PINS; i < out->len; i++)
    add (&rest, &g_array_index (out, GememPin, i));
  if (out->len > GEMEM_PINS)
    {
      g_array_set_size (out, GEMEM_PINS);
      g_array_append_val (out, rest);
    }
}

void
gemem_pins_gather (const GememPins *pins, GArray *out)
{
  const Block *blocks = (const Block *) (gconstpointer) pins->blocks->data;

  g_array_set_size (out, 0);
  for (guint i = 0; i < pins->segments->len; i++)
    {
      const Segment *segment = &g_array_index (pins->segments, Segment, i);
      const guint end = i + 1 < pins->segments->len ? segment[1].begin : pins->blocks->len;
      const GememPin pin = pin_of (segment->bytes, blocks + segment->begin, blocks + end);

      g_array_append_val (out, pin);
    }
  merge_places (out);
  g_array_sort (out, compare_bytes);
  merge_rest (out);
}
