/* arenas.c - see arenas.h.
 *
 * Both levels are sets of holes: those of arenas in groups, by size and address; those of pages in
 * one group, by size and age.  A rank is a gap that is no range: where it starts says how old the
 * arena is, its length is that of the longest hole, so that the lowest rank that is long enough is
 * the newest arena that can serve a request.
 */
#include "config.h"

#include "base/units.h"
#include "devices/arenas.h"

#define MIB(n) ((n) *G_GUINT64_CONSTANT (0x100000))
#define SLOT MIB (32)
#define PAGE GEMEM_ARENAS_PAGE
#define UNIT 512        /* of requests in pages */
#define LOCAL MIB (414) /* the local memory of the context, first and later */
#define LOCAL_GROWN MIB (504)
/* where reservations begin, and what they do not cross (cuda-driver.md 3) */
#define LOW G_GUINT64_CONSTANT (0x302000000)
#define BARRIER G_GUINT64_CONSTANT (0x10000000000)
#define BARRIER_SIZE MIB (64)
/* An address and its mirror add up to MIRROR; mirrored, the high zone begins at MIRRORED. */
#define MIRRORED (MIRROR - GEMEM_ARENAS_TOP)
#define MIRROR (G_GUINT64_CONSTANT (1) << 47)
#define HIGH_SIZE (GEMEM_ARENAS_TOP / 8)
#define RANK_BITS 26 /* of the longest hole, in pages: 128 TiB */
#define RANKS (G_GUINT64_CONSTANT (1) << 37)

typedef struct
{
  GememTreeNode node; /* in `fit`: group, size, and address or age */
  GememGap gap;
} Hole;

typedef struct
{
  GememTreeNode node; /* by address */
  GememGap rank;
  guint64 size;
  gboolean low;
} Arena;

#define HOLE_OF_GAP(g) ((Hole *) (gpointer) ((char *) (g) -G_STRUCT_OFFSET (Hole, gap)))
#define ARENA_OF_RANK(g) ((Arena *) (gpointer) ((char *) (g) -G_STRUCT_OFFSET (Arena, rank)))
#define START(arena) ((arena)->node.address)

/* ---- holes */

static void
add_hole (GememArenas *self, GememHoles *set, guint64 group, guint64 order, guint64 start,
          guint64 end)
{
  Hole *hole = gemem_slab_alloc (&self->hole_slab);

  hole->node = (GememTreeNode){ .group = group, .size = end - start, .address = order };
  hole->gap = (GememGap){ .start = start, .end = end };
  gemem_tree_insert (&set->fit, &hole->node);
  gemem_gaps_insert (&set->gaps, &hole->gap);
}

static void
drop_hole (GememArenas *self, GememHoles *set, Hole *hole)
{
  gemem_tree_remove (&set->fit, &hole->node);
  gemem_gaps_remove (&set->gaps, &hole->gap);
  gemem_slab_free (&self->hole_slab, hole);
}

/* Takes the holes beside [*@start, *@end) within [@from, @to) and adds them to it. */
static void
join (GememArenas *self, GememHoles *set, guint64 from, guint64 to, guint64 *start, guint64 *end)
{
  GememGap *below = gemem_gaps_at_or_below (set->gaps, *start), *above;

  if (below != NULL && below->end == *start && below->start >= from)
    {
      *start = below->start;
      drop_hole (self, set, HOLE_OF_GAP (below));
    }
  above = gemem_gaps_at_or_below (set->gaps, *end);
  if (above != NULL && above->start == *end && *end < to)
    {
      *end = above->end;
      drop_hole (self, set, HOLE_OF_GAP (above));
    }
}

/* ---- arenas */

/* After a change of its holes. */
static void
rank_again (GememArenas *self, Arena *arena)
{
  const guint64 group = arena->rank.start;
  const GememTreeNode *longest = gemem_tree_before (&self->holes.fit, group + 1, 0, 0);
  const guint64 bytes = longest != NULL && longest->group == group ? longest->size : 0;

  arena->rank.end = group + bytes / PAGE;
  gemem_gaps_refresh (self->ranks, group);
}

static void
add_arena_hole (GememArenas *self, Arena *arena, guint64 start, guint64 end)
{
  if (start < end)
    add_hole (self, &self->holes, arena->rank.start, start, start, end);
}

/* An arena that is all hole. */
static Arena *
new_arena (GememArenas *self, guint64 start, guint64 size, gboolean low)
{
  Arena *arena = gemem_slab_alloc (&self->arena_slab);

  arena->node.address = start;
  arena->size = size;
  arena->low = low;
  arena->rank.start = arena->rank.end = (RANKS - ++self->serial) << RANK_BITS;
  gemem_tree_insert (&self->arenas, &arena->node);
  gemem_gaps_insert (&self->ranks, &arena->rank);
  add_arena_hole (self, arena, start, start + size);
  rank_again (self, arena);
  return arena;
}

static void
free_arena (GememArenas *self, Arena *arena)
{
  if (arena->low)
    gemem_space_give (self->low, START (arena), arena->size);
  else
    gemem_space_give (&self->high, MIRROR - START (arena) - arena->size, arena->size);
  gemem_tree_remove (&self->arenas, &arena->node);
  gemem_gaps_remove (&self->ranks, &arena->rank);
  gemem_slab_free (&self->arena_slab, arena);
}

/* Takes [@address, @address + @size) out of a hole of @arena. */
static guint64
carve (GememArenas *self, Arena *arena, guint64 address, guint64 size)
{
  Hole *hole = HOLE_OF_GAP (gemem_gaps_at_or_below (self->holes.gaps, address));
  const guint64 start = hole->gap.start, end = hole->gap.end;

  drop_hole (self, &self->holes, hole);
  add_arena_hole (self, arena, start, address);
  add_arena_hole (self, arena, address + size, end);
  rank_again (self, arena);
  return address;
}

/* In the highest gap with a slot to spare. */
static Arena *
new_high_arena (GememArenas *self, guint64 size)
{
  guint64 mirrored = gemem_space_find (&self->high, MIRRORED, size + SLOT, SLOT);

  if (mirrored == 0 || mirrored - MIRRORED > HIGH_SIZE || size > HIGH_SIZE
      || mirrored - MIRRORED > HIGH_SIZE - size)
    return NULL;
  gemem_space_take (&self->high, mirrored, size);
  return new_arena (self, MIRROR - mirrored - size, size, FALSE);
}

/* cuda-driver.md 1 */
static guint64
take_block (GememArenas *self, guint64 size)
{
  GememGap *rank = gemem_gaps_lowest (self->ranks, size / PAGE);
  Arena *arena;
  const GememTreeNode *hole;

  if (rank == NULL)
    {
      arena = new_high_arena (self, gemem_align_up (size, SLOT));
      return arena != NULL ? carve (self, arena, START (arena), size) : 0;
    }
  arena = ARENA_OF_RANK (rank);
  hole = gemem_tree_fit (&self->holes.fit, rank->start, size);
  return carve (self, arena, hole->address, size);
}

static void
give_block (GememArenas *self, guint64 address, guint64 size)
{
  GememTreeNode *node = gemem_tree_before (&self->arenas, 0, 0, address + 1);
  Arena *arena = GEMEM_TREE_ENTRY (node, Arena, node);
  guint64 start = address, end = address + size;

  join (self, &self->holes, START (arena), START (arena) + arena->size, &start, &end);
  if (end - start == arena->size)
    {
      free_arena (self, arena);
      return;
    }
  add_arena_hole (self, arena, start, end);
  rank_again (self, arena);
}

/* ---- requests */

static const GememTreeNode *
find_piece (const GememArenas *self, guint64 size)
{
  return gemem_tree_fit (&self->pieces.fit, 0, size);
}

static void
add_piece (GememArenas *self, guint64 start, guint64 end)
{
  if (start < end)
    add_hole (self, &self->pieces, 0, ++self->births, start, end);
}

/* cuda-driver.md 2; @size is a multiple of UNIT. */
static guint64
take_piece (GememArenas *self, guint64 size)
{
  const GememTreeNode *node = find_piece (self, size);
  Hole *hole;
  guint64 start, end;

  if (node == NULL)
    {
      start = take_block (self, PAGE);
      end = start + PAGE;
      if (start == 0)
        return 0;
    }
  else
    {
      hole = GEMEM_TREE_ENTRY (node, Hole, node);
      start = hole->gap.start;
      end = hole->gap.end;
      drop_hole (self, &self->pieces, hole);
    }
  add_piece (self, start + size, end);
  return start;
}

guint64
gemem_arenas_need (const GememArenas *self, guint64 size)
{
  size = gemem_align_up (size, UNIT);
  if (size < PAGE)
    return find_piece (self, size) != NULL ? 0 : PAGE;
  return gemem_align_up (size, PAGE);
}

guint64
gemem_arenas_take (GememArenas *self, guint64 size)
{
  if (size > HIGH_SIZE)
    return 0;
  size = gemem_align_up (size, UNIT);
  return size < PAGE ? take_piece (self, size) : take_block (self, gemem_align_up (size, PAGE));
}

guint64
gemem_arenas_give (GememArenas *self, guint64 address, guint64 size)
{
  const guint64 page = address & ~(PAGE - 1);
  guint64 start = address, end;

  size = gemem_align_up (size, UNIT);
  if (size >= PAGE)
    {
      size = gemem_align_up (size, PAGE);
      give_block (self, address, size);
      return size;
    }
  end = address + size;
  join (self, &self->pieces, page, page + PAGE, &start, &end);
  if (end - start < PAGE)
    {
      add_piece (self, start, end);
      return 0;
    }
  give_block (self, page, PAGE);
  return PAGE;
}

/* ---- reservations */

/* The lowest hole of the newest arena that holds it aligned; 0: none does. */
static guint64
reserve_in_hole (GememArenas *self, guint64 size, guint64 alignment)
{
  guint64 key = 0, address;
  Arena *arena;

  while ((key = gemem_gaps_find (self->ranks, key, size / PAGE, 1)) != 0)
    {
      arena = ARENA_OF_RANK (gemem_gaps_at_or_below (self->ranks, key));
      address = gemem_gaps_find (self->holes.gaps, START (arena), size, alignment);
      if (address != 0 && address - START (arena) < arena->size)
        return carve (self, arena, address, size);
      key += G_GUINT64_CONSTANT (1) << RANK_BITS;
    }
  return 0;
}

guint64
gemem_arenas_reserve (GememArenas *self, guint64 size, guint64 alignment)
{
  const guint64 step = MAX (alignment, SLOT);
  guint64 address, extent;

  if (size > HIGH_SIZE || alignment > HIGH_SIZE)
    return 0;
  size = gemem_align_up (size, PAGE);
  address = reserve_in_hole (self, size, MAX (alignment, PAGE));
  if (address != 0)
    return address;
  extent = gemem_align_up (size, step);
  address = gemem_space_find (self->low, LOW, extent, step);
  if (address == 0 || !gemem_space_take (self->low, address, extent))
    return 0;
  return carve (self, new_arena (self, address, extent, TRUE), address, size);
}

void
gemem_arenas_release (GememArenas *self, guint64 address, guint64 size)
{
  give_block (self, address, gemem_align_up (size, PAGE));
}

/* ---- the process */

void
gemem_arenas_compute (GememArenas *self)
{
  if (self->local == 0)
    return;
  take_block (self, LOCAL_GROWN);
  give_block (self, self->local, LOCAL);
  self->local = 0;
}

/* An arena at @start, of which the first @used bytes are the driver's. */
static void
add_given (GememArenas *self, guint64 start, guint64 size, guint64 used)
{
  gemem_space_take (&self->high, MIRROR - start - size, size);
  carve (self, new_arena (self, start, size, FALSE), start, used);
}

/* F, a range that is never used, and L (cuda-driver.md 4). */
void
gemem_arenas_init (GememArenas *self, GememSpace *low)
{
  const guint64 f = GEMEM_ARENAS_TOP - SLOT;

  *self = (GememArenas){ .low = low };
  gemem_slab_init (&self->hole_slab, sizeof (Hole));
  gemem_slab_init (&self->arena_slab, sizeof (Arena));
  gemem_space_init (&self->high);
  gemem_space_take (low, GEMEM_ARENAS_TOP - HIGH_SIZE, HIGH_SIZE);
  gemem_space_take (low, BARRIER, BARRIER_SIZE);
  add_given (self, f, SLOT, MIB (8));
  gemem_space_take (&self->high, MIRROR - f, MIB (64));
  self->local = f - MIB (480);
  add_given (self, self->local, 13 * SLOT, LOCAL);
}

void
gemem_arenas_clear (GememArenas *self)
{
  gemem_tree_clear (&self->holes.fit);
  gemem_tree_clear (&self->pieces.fit);
  gemem_tree_clear (&self->arenas);
  gemem_slab_clear (&self->hole_slab);
  gemem_slab_clear (&self->arena_slab);
  gemem_space_clear (&self->high);
}
