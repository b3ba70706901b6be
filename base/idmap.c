/* idmap.c - open addressing with linear probing, Fibonacci hashing and backward-shift deletion
 * (idmap.h).
 *
 * Key and record are adjacent, so a hit usually costs one cache line.  A free slot has the key 0;
 * the entry of the real key 0 has a separate slot after the table.  A removal shifts later entries
 * of the run back over the gap, so there are no tombstones and a map does not slow down with use.
 * The top bits of key * 2^64/phi spread dense ids evenly, which the readers assign, and also
 * addresses with many zero bits.  Keys can be chosen so that they all meet: a map in which one lies
 * far from its home slot, or stands in a long run, is spread anew by another multiplier.
 *
 * A training step fills the map and empties it again, so a map that is nearly empty keeps its
 * table for as many removals as it has slots, and for good if it fills up before: else each step
 * would resize it several times, a fifth of a replay's instructions.
 *
 * Invariants: capacity is a power of two, at most 3/8 full (fuller tables replay measurably
 * slower); it halves after `capacity` removals that left it below 1/8, none of which it rose above
 * 3/16 after.  No free slot lies between an entry and its home slot.
 * Cost: O(1) amortised; only a resize allocates memory.
 */
#include "config.h"

#include <stdlib.h>

#include "base/huge.h"
#include "base/idmap.h"
#include "base/spread.h"

#define CAPACITY_BITS_MIN 4
#define FAR 128 /* slots from home, or a quarter of a run, that no spread keys reach */

struct _GememIdMap
{
  guint64 *table; /* capacity entries of `words`, and one more for the key 0 */
  gsize words;    /* per entry: the key and its record */
  GememSpread spread;
  guint shift;   /* 64 - log2 (capacity) */
  gboolean zero; /* the key 0 is present */
  gsize mask;    /* capacity - 1 */
  gsize count;   /* in the table, without the key 0 */
  gsize grow;    /* count from which on insert_any() decides: growth, or the end of a calm */
  gsize shrink;  /* count below which removals are calm */
  gsize calm;    /* calm removals so far; 0: the last ones were not */
};

static inline gsize
home (const GememIdMap *map, guint64 key)
{
  return (gsize) ((key * map->spread.multiplier) >> map->shift);
}

static inline guint64 *
place (const GememIdMap *map, gsize index, gsize words)
{
  return map->table + index * words;
}

static inline void
copy (guint64 *to, const guint64 *from, gsize words)
{
  for (gsize i = 0; i < words; i++)
    to[i] = from[i];
}

/* Returns the slot of @key, or the free slot for it. */
static inline guint64 *
find (const GememIdMap *map, guint64 key, gsize *index, gsize words)
{
  gsize i = home (map, key);
  guint64 *entry = place (map, i, words);

  while (*entry != key && *entry != 0)
    {
      i = (i + 1) & map->mask;
      entry = place (map, i, words);
    }
  *index = i;
  return entry;
}

/* The count from which on a map that is not calm grows. */
static gsize
full (const GememIdMap *map)
{
  return (map->mask + 1) / 8 * 3;
}

static void
set_capacity (GememIdMap *map, guint bits)
{
  gsize capacity = (gsize) 1 << bits;

  map->table = gemem_huge_alloc0 ((capacity + 1) * map->words * sizeof (guint64));
  map->shift = 64 - bits;
  map->mask = capacity - 1;
  map->grow = full (map);
  map->calm = 0;
  map->shrink = bits > CAPACITY_BITS_MIN ? capacity / 8 : 0;
}

static void
resize (GememIdMap *map, int step)
{
  guint64 *old = map->table;
  gsize old_mask = map->mask, words = map->words;

  set_capacity (map, (guint) ((int) (64 - map->shift) + step));
  for (gsize i = 0; i <= old_mask; i++)
    {
      const guint64 *entry = old + i * words;
      gsize index;
      if (*entry != 0)
        copy (find (map, *entry, &index, words), entry, words);
    }
  copy (place (map, map->mask + 1, words), old + (old_mask + 1) * words, words);
  free (old);
}

/* Spreads the keys anew: some of them meet. */
static G_GNUC_NO_INLINE void
spread (GememIdMap *map)
{
  if (gemem_spread_next (&map->spread))
    resize (map, 0);
}

/* Whether @key would lie far from home at @index. */
static inline gboolean
is_far (const GememIdMap *map, guint64 key, gsize index)
{
  return ((index - home (map, key)) & map->mask) > FAR;
}

GememIdMap *
gemem_idmap_new (gsize record_size)
{
  GememIdMap *map = g_new0 (GememIdMap, 1);

  g_assert (record_size % sizeof (guint64) == 0);
  map->words = 1 + record_size / sizeof (guint64);
  map->spread = (GememSpread) GEMEM_SPREAD_INIT;
  set_capacity (map, CAPACITY_BITS_MIN);
  return map;
}

void
gemem_idmap_free (GememIdMap *map)
{
  if (map == NULL)
    return;
  free (map->table);
  g_free (map);
}

guint64
gemem_idmap_count (const GememIdMap *map)
{
  return map->count + (map->zero != 0);
}

gpointer
gemem_idmap_lookup (const GememIdMap *map, guint64 key)
{
  gsize index;

  if (G_UNLIKELY (key == 0))
    return map->zero ? place (map, map->mask + 1, map->words) + 1 : NULL;
  guint64 *entry = find (map, key, &index, map->words);
  return *entry != 0 ? entry + 1 : NULL;
}

static G_GNUC_NO_INLINE gpointer
insert_any (GememIdMap *map, guint64 key, gboolean *existed)
{
  gsize index, words = map->words;
  guint64 *entry = key == 0 ? place (map, map->mask + 1, words) : find (map, key, &index, words);
  gboolean found = key == 0 ? map->zero : *entry != 0;

  if (existed != NULL)
    *existed = found;
  if (found)
    return entry + 1;
  if (key == 0)
    map->zero = TRUE;
  else
    {
      if (map->calm > 0 && map->count >= map->grow)
        {
          map->calm = 0;
          map->grow = full (map);
        }
      if (G_UNLIKELY (map->count >= map->grow))
        {
          resize (map, 1);
          entry = find (map, key, &index, words);
        }
      if (G_UNLIKELY (is_far (map, key, index)))
        {
          spread (map);
          entry = find (map, key, &index, words);
        }
      map->count++;
      *entry = key;
    }
  for (gsize i = 1; i < words; i++)
    entry[i] = 0;
  return entry + 1;
}

/* Closes the gap at @hole: moves later entries of the run back where that is allowed. */
static inline void
close_gap (GememIdMap *map, gsize hole, gsize words)
{
  const gsize first = hole;
  gsize last = hole; /* of the run */

  for (gsize i = (hole + 1) & map->mask;; i = (i + 1) & map->mask)
    {
      const guint64 *entry = place (map, i, words);
      if (*entry == 0)
        break;
      last = i;
      /* An entry may move into the hole unless its home slot lies after the hole. */
      if (((i - home (map, *entry)) & map->mask) >= ((i - hole) & map->mask))
        {
          copy (place (map, hole, words), entry, words);
          hole = i;
        }
    }
  *place (map, hole, words) = 0;
  if (G_UNLIKELY (((last - first) & map->mask) > 4 * FAR))
    spread (map);
}

/* A removal left the map nearly empty. */
static G_GNUC_NO_INLINE void
stay_calm (GememIdMap *map)
{
  if (map->calm++ == 0)
    map->grow = map->shrink / 2 * 3;
  else if (map->calm > map->mask)
    resize (map, -1);
}

static G_GNUC_NO_INLINE gboolean
remove_any (GememIdMap *map, guint64 key, gpointer record)
{
  gsize index, words = map->words;
  guint64 *entry = key == 0 ? place (map, map->mask + 1, words) : find (map, key, &index, words);

  if (key == 0 ? !map->zero : *entry == 0)
    return FALSE;
  if (record != NULL)
    copy (record, entry + 1, words - 1);
  if (key == 0)
    {
      map->zero = FALSE;
      return TRUE;
    }
  close_gap (map, index, words);
  if (--map->count < map->shrink)
    stay_calm (map);
  return TRUE;
}

/* The event path uses records of one word: these have a separate code path without calls, unless
 * the map grows. */
gpointer
gemem_idmap_insert (GememIdMap *map, guint64 key, gboolean *existed)
{
  gsize index;
  guint64 *entry;

  if (G_UNLIKELY (map->words != 2 || key == 0 || map->count >= map->grow))
    return insert_any (map, key, existed);
  entry = find (map, key, &index, 2);
  if (G_UNLIKELY (*entry == 0 && is_far (map, key, index)))
    return insert_any (map, key, existed);
  if (existed != NULL)
    *existed = *entry != 0;
  if (G_LIKELY (*entry == 0))
    {
      map->count++;
      entry[0] = key;
      entry[1] = 0;
    }
  return entry + 1;
}

gboolean
gemem_idmap_remove (GememIdMap *map, guint64 key, gpointer record)
{
  gsize index;
  const guint64 *entry;

  if (G_UNLIKELY (map->words != 2 || key == 0))
    return remove_any (map, key, record);
  entry = find (map, key, &index, 2);
  if (G_UNLIKELY (*entry == 0))
    return FALSE;
  if (record != NULL)
    *(guint64 *) record = entry[1];
  close_gap (map, index, 2);
  if (G_UNLIKELY (--map->count < map->shrink))
    stay_calm (map);
  return TRUE;
}

void
gemem_idmap_prefetch (const GememIdMap *map, guint64 key)
{
  __builtin_prefetch (place (map, home (map, key), map->words), 1);
}

void
gemem_idmap_clear (GememIdMap *map)
{
  free (map->table);
  map->count = 0;
  map->zero = FALSE;
  set_capacity (map, CAPACITY_BITS_MIN);
}

gboolean
gemem_idmap_next (const GememIdMap *map, gsize *position, guint64 *key, gpointer *record)
{
  gsize end = map->mask + 1;

  while (*position < end && *place (map, *position, map->words) == 0)
    ++*position;
  if (*position > end || (*position == end && !map->zero))
    return FALSE;

  guint64 *entry = place (map, (*position)++, map->words);
  if (key != NULL)
    *key = entry == place (map, end, map->words) ? 0 : *entry;
  if (record != NULL)
    *record = entry + 1;
  return TRUE;
}
