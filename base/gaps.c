/* gaps.c - see gaps.h.
 *
 * The treap is changed by recursive split and merge, and by refreshing the sums on the way up from
 * a gap whose ends moved.
 */
#include "config.h"

#include "base/gaps.h"
#include "base/units.h"

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

void
gemem_gaps_refresh (GememGap *root, guint64 start)
{
  if (start < root->start)
    gemem_gaps_refresh (root->left, start);
  else if (start > root->start)
    gemem_gaps_refresh (root->right, start);
  refresh (root);
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

void
gemem_gaps_insert (GememGap **root, GememGap *gap)
{
  gap->left = gap->right = NULL;
  gap->priority = hash (gap->start);
  *root = link_gap (*root, gap);
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

void
gemem_gaps_remove (GememGap **root, const GememGap *gap)
{
  *root = unlink_gap (*root, gap);
}

GememGap *
gemem_gaps_lowest (GememGap *root, guint64 size)
{
  if (root == NULL || root->longest < size)
    return NULL;
  for (;;)
    if (root->left != NULL && root->left->longest >= size)
      root = root->left;
    else if (root->end - root->start >= size)
      return root;
    else
      root = root->right;
}

guint64
gemem_gaps_find (const GememGap *root, guint64 floor, guint64 size, guint64 alignment)
{
  guint64 address;

  if (root == NULL || root->longest < size)
    return 0;
  if (root->start > floor) /* otherwise everything to the left ends below the floor */
    {
      address = gemem_gaps_find (root->left, floor, size, alignment);
      if (address != 0)
        return address;
    }
  address = gemem_align_up (MAX (root->start, floor), alignment);
  if (address < root->end && root->end - address >= size)
    return address;
  return gemem_gaps_find (root->right, floor, size, alignment);
}

GememGap *
gemem_gaps_at_or_below (GememGap *root, guint64 address)
{
  GememGap *found = NULL;

  while (root != NULL)
    if (root->start <= address)
      {
        found = root;
        root = root->right;
      }
    else
      root = root->left;
  return found;
}

gboolean
gemem_gaps_check (const GememGap *root, gboolean touch, guint64 *last, guint64 *count)
{
  guint64 longest;

  if (root == NULL)
    return TRUE;
  if (!gemem_gaps_check (root->left, touch, last, count) || root->start >= root->end
      || root->start < *last || (root->start == *last && !touch))
    return FALSE;
  *last = root->end;
  ++*count;
  if (!gemem_gaps_check (root->right, touch, last, count))
    return FALSE;
  longest = root->end - root->start;
  if (root->left != NULL)
    longest = MAX (longest, root->left->longest);
  if (root->right != NULL)
    longest = MAX (longest, root->right->longest);
  return root->longest == longest && (root->left == NULL || root->left->priority <= root->priority)
         && (root->right == NULL || root->right->priority <= root->priority);
}
