/* space.c - see space.h.
 *
 * The treap is changed by recursive split and merge, and by refreshing the sums on the way up from
 * a gap whose ends moved.  The usual call takes from the front of a gap or extends its end, which
 * changes no link.
 */
#include "config.h"

#include "base/units.h"
#include "devices/space.h"

struct _GememGap
{
  GememGap *left, *right;
  guint64 start, end; /* free: [start, end) */
  guint64 longest;    /* of this gap and all gaps beneath */
  guint64 priority;   /* not smaller than that of any gap beneath */
};

/* The finaliser of SplitMix64: every bit of the address affects the result. */
static guint64
hash (guint64 x)
{
  x = (x ^ (x >> 30)) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return x ^ (x >> 31);
}

static void
refresh (GememGap *gap)
{
  gap->longest = gap->end - gap->start;
  if (gap->left != NULL)
    gap->longest = MAX (gap->longest, gap->left->longest);
  if (gap->right != NULL)
    gap->longest = MAX (gap->longest, gap->right->longest);
}

/* Refreshes all sums from the gap that starts at @start up to @node. */
static void
refresh_path (GememGap *node, guint64 start)
{
  if (start < node->start)
    refresh_path (node->left, start);
  else if (start > node->start)
    refresh_path (node->right, start);
  refresh (node);
}

/* Splits: gaps that start below @key to @low, the others to @high. */
static void
split (GememGap *node, guint64 key, GememGap **low, GememGap **high)
{
  if (node == NULL)
    {
      *low = *high = NULL;
      return;
    }
  if (node->start < key)
    {
      split (node->right, key, &node->right, high);
      *low = node;
    }
  else
    {
      split (node->left, key, low, &node->left);
      *high = node;
    }
  refresh (node);
}

static GememGap *
merge (GememGap *low, GememGap *high)
{
  if (low == NULL || high == NULL)
    return low != NULL ? low : high;
  if (low->priority >= high->priority)
    {
      low->right = merge (low->right, high);
      refresh (low);
      return low;
    }
  high->left = merge (low, high->left);
  refresh (high);
  return high;
}

/* Inserts @gap under @node: above the first gap on the way down that has a smaller priority. */
static GememGap *
link_gap (GememGap *node, GememGap *gap)
{
  if (node == NULL || node->priority < gap->priority)
    {
      split (node, gap->start, &gap->left, &gap->right);
      node = gap;
    }
  else if (gap->start < node->start)
    node->left = link_gap (node->left, gap);
  else
    node->right = link_gap (node->right, gap);
  refresh (node);
  return node;
}

static void
insert (GememSpace *space, guint64 start, guint64 end)
{
  GememGap *gap = gemem_slab_alloc (&space->slab);
  gap->start = start;
  gap->end = end;
  gap->priority = hash (start);
  space->root = link_gap (space->root, gap);
  space->gaps++;
}

static GememGap *
unlink_gap (GememGap *node, const GememGap *gap)
{
  if (node == gap)
    return merge (node->left, node->right);
  if (gap->start < node->start)
    node->left = unlink_gap (node->left, gap);
  else
    node->right = unlink_gap (node->right, gap);
  refresh (node);
  return node;
}

static void
erase (GememSpace *space, GememGap *gap)
{
  space->root = unlink_gap (space->root, gap);
  gemem_slab_free (&space->slab, gap);
  space->gaps--;
}

/* The last gap that starts at or below @address, or NULL. */
static GememGap *
at_or_below (const GememSpace *space, guint64 address)
{
  GememGap *node = space->root, *found = NULL;
  while (node != NULL)
    if (node->start <= address)
      {
        found = node;
        node = node->right;
      }
    else
      node = node->left;
  return found;
}

void
gemem_space_init (GememSpace *space)
{
  space->root = NULL;
  space->gaps = 0;
  gemem_slab_init (&space->slab, sizeof (GememGap));
  insert (space, GEMEM_SPACE_START, GEMEM_SPACE_END);
}

void
gemem_space_clear (GememSpace *space)
{
  gemem_slab_clear (&space->slab);
  space->root = NULL;
  space->gaps = 0;
}

static guint64
find (const GememGap *node, guint64 floor, guint64 size, guint64 alignment)
{
  if (node == NULL || node->longest < size)
    return 0;
  if (node->start > floor) /* otherwise everything to the left ends below the floor */
    {
      guint64 address = find (node->left, floor, size, alignment);
      if (address != 0)
        return address;
    }
  guint64 address = gemem_align_up (MAX (node->start, floor), alignment);
  if (address < node->end && node->end - address >= size)
    return address;
  return find (node->right, floor, size, alignment);
}

guint64
gemem_space_find (const GememSpace *space, guint64 floor, guint64 size, guint64 alignment)
{
  if (floor >= GEMEM_SPACE_END || size >= GEMEM_SPACE_END || alignment > GEMEM_SPACE_END)
    return 0;
  return find (space->root, floor, size, alignment);
}

gboolean
gemem_space_take (GememSpace *space, guint64 address, guint64 size)
{
  GememGap *gap = at_or_below (space, address);
  guint64 end;

  if (gap == NULL || size == 0 || address >= gap->end || gap->end - address < size)
    return FALSE;
  end = address + size;
  if (address == gap->start && end == gap->end)
    erase (space, gap);
  else if (address == gap->start)
    {
      gap->start = end; /* the gap keeps its neighbours */
      refresh_path (space->root, end);
    }
  else
    {
      guint64 rest = gap->end;
      gap->end = address;
      refresh_path (space->root, gap->start);
      if (end < rest)
        insert (space, end, rest);
    }
  return TRUE;
}

void
gemem_space_give (GememSpace *space, guint64 address, guint64 size)
{
  guint64 end = address + size;
  GememGap *below = at_or_below (space, address), *above = at_or_below (space, end);
  gboolean joins_below = below != NULL && below->end == address,
           joins_above = above != NULL && above->start == end;

  g_assert (below == NULL || below->end <= address);
  g_assert (above == below || joins_above);
  if (joins_below)
    {
      if (joins_above)
        {
          end = above->end;
          erase (space, above);
        }
      below->end = end;
      refresh_path (space->root, below->start);
    }
  else if (joins_above)
    {
      above->start = address;
      refresh_path (space->root, address);
    }
  else
    insert (space, address, end);
}

/* Checks the gaps under @node; *@last is the end of the gap before them. */
static gboolean
check (const GememGap *node, guint64 *last, guint64 *count)
{
  guint64 longest;
  if (node == NULL)
    return TRUE;
  if (!check (node->left, last, count) || node->start >= node->end || node->start <= *last)
    return FALSE;
  *last = node->end;
  ++*count;
  if (!check (node->right, last, count))
    return FALSE;
  longest = node->end - node->start;
  if (node->left != NULL)
    longest = MAX (longest, node->left->longest);
  if (node->right != NULL)
    longest = MAX (longest, node->right->longest);
  return node->longest == longest && (node->left == NULL || node->left->priority <= node->priority)
         && (node->right == NULL || node->right->priority <= node->priority);
}

gboolean
gemem_space_check (const GememSpace *space)
{
  guint64 last = 0, count = 0;
  return check (space->root, &last, &count) && count == space->gaps && last <= GEMEM_SPACE_END;
}
