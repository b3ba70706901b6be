/* tree.c - a B+ tree ordered by (group, size, address) (tree.h).
 *
 * Why a B+ tree: a binary tree of a million nodes has twenty levels, and a search waits for a cache
 * miss at each of the lower ones.  A page of eight cache lines, all fetched at once, replaces four
 * of these levels.  Keys are copied into the pages, so a search reads no block.  In small trees the
 * comparison costs most: the direction of a search is unpredictable, so keys are compared without
 * branches.
 *
 * Invariants: all leaves are on level 0; a page has LEAST to WIDTH entries, the root any number (at
 * least two above the leaves); the key of an entry above the leaves is an upper bound of all keys
 * in its subtree, and less than the first key after that subtree; the last key of a page equals the
 * bound in its parent, LAST in the root.  The keys after the last entry of a page are LAST too, so
 * that every search takes the same four steps.  `next` and `previous` link the leaves.  Insert and
 * remove usually change one page, seldom two per level.
 */
#include "config.h"

#include <string.h>

#include "base/tree.h"

#define WIDTH 15 /* entries per page: 512 bytes with the header */
#define LEAST 4
#define DEEPEST 32 /* levels: LEAST^32 exceeds any number of entries */
#define CACHE_LINE 64
#define MANY 4096 /* entries above which leaves miss the near caches */

typedef struct
{
  guint64 size, address, group;
  gpointer to; /* a node, or a page of the level below */
} Entry;

typedef struct _GememTreePage Page;
struct _GememTreePage
{
  guint64 n;
  Page *next, *previous; /* neighbours of a leaf */
  guint64 unused;
  Entry entry[WIDTH];
};

/* The path to a leaf, by level. */
typedef struct
{
  Page *page[DEEPEST];
  gsize at[DEEPEST];
} Path;

static const Entry LAST = { G_MAXUINT64, G_MAXUINT64, G_MAXUINT64, NULL };

#define KEY_OF(node) (node)->group, (node)->size, (node)->address

/* 1 if the key of @entry is below (@group, @size, @address), else 0. */
static inline gsize
below (const Entry *entry, guint64 group, guint64 size, guint64 address)
{
#ifdef __x86_64__ /* a subtraction of three words, which compilers do not generate */
  guint64 middle = entry->size, high = entry->group;
  gboolean less;

  __asm__(
      "cmpq %[address], %[low]\n\tsbbq %[size], %[middle]\n\tsbbq %[group], %[high]"
      : "=@ccc"(less), [middle] "+&r"(middle), [high] "+&r"(high)
      : [low] "rm"(entry->address), [address] "r"(address), [size] "r"(size), [group] "r"(group));
  return (gsize) less;
#else
  typedef unsigned __int128 Pair;
  gsize less = ((Pair) entry->size << 64 | entry->address) < ((Pair) size << 64 | address);

  return (entry->group < group) | ((entry->group == group) & less);
#endif
}

/* Number of entries of @page below the key. */
static inline gsize
count_below (const Page *page, guint64 group, guint64 size, guint64 address)
{
  const Entry *first = page->entry;

  first += below (&first[7], group, size, address) << 3;
  first += below (&first[3], group, size, address) << 2;
  first += below (&first[1], group, size, address) << 1;
  first += below (&first[0], group, size, address);
  return (gsize) (first - page->entry);
}

static inline void
prefetch_page (const Page *page)
{
  const char *line = (const char *) page;

  for (guint i = 0; i < 2; i++, line += 4 * CACHE_LINE)
    {
      __builtin_prefetch (line, 1);
      __builtin_prefetch (line + CACHE_LINE, 1);
      __builtin_prefetch (line + 2 * CACHE_LINE, 1);
      __builtin_prefetch (line + 3 * CACHE_LINE, 1);
    }
}

/* The leaf for the key. */
static inline Page *
find_leaf (const GememTree *tree, guint64 group, guint64 size, guint64 address)
{
  const gboolean many = tree->count > MANY;
  Page *page = tree->root;

  for (guint64 level = tree->height; level > 0; level--)
    {
      page = page->entry[count_below (page, group, size, address)].to;
      if (G_UNLIKELY (many))
        prefetch_page (page);
    }
  return page;
}

/* The path to the leaf for the key. */
static void
find_path (const GememTree *tree, guint64 group, guint64 size, guint64 address, Path *path)
{
  Page *page = tree->root;

  for (guint64 level = tree->height;; level--)
    {
      path->page[level] = page;
      path->at[level] = count_below (page, group, size, address);
      if (level == 0)
        return;
      page = page->entry[path->at[level]].to;
    }
}

/* The node at index @at of @leaf; -1 and n: the neighbour in the adjacent leaf; NULL: none. */
static inline GememTreeNode *
node_at (const Page *leaf, gint64 at)
{
  if (G_LIKELY (at >= 0 && at < (gint64) leaf->n))
    return leaf->entry[at].to;
  leaf = at < 0 ? leaf->previous : leaf->next;
  return leaf != NULL ? leaf->entry[at < 0 ? leaf->n - 1 : 0].to : NULL;
}

/* The node @offset positions after the first node of @leaf that is not below the key. */
static inline GememTreeNode *
look_up (const Page *leaf, guint64 group, guint64 size, guint64 address, int offset)
{
  return node_at (leaf, (gint64) count_below (leaf, group, size, address) + offset);
}

GememTreeNode *
gemem_tree_lower_bound (const GememTree *tree, guint64 group, guint64 size, guint64 address)
{
  return tree->count > 0 ? look_up (find_leaf (tree, group, size, address), group, size, address, 0)
                         : NULL;
}

GememTreeNode *
gemem_tree_before (const GememTree *tree, guint64 group, guint64 size, guint64 address)
{
  return tree->count > 0
             ? look_up (find_leaf (tree, group, size, address), group, size, address, -1)
             : NULL;
}

GememTreeNode *
gemem_tree_next (const GememTreeNode *node)
{
  return look_up (node->leaf, KEY_OF (node), 1);
}

GememTreeNode *
gemem_tree_previous (const GememTreeNode *node)
{
  return look_up (node->leaf, KEY_OF (node), -1);
}

GememTreeNode *
gemem_tree_first (const GememTree *tree)
{
  return gemem_tree_lower_bound (tree, 0, 0, 0);
}

GememTreeNode *
gemem_tree_last (const GememTree *tree)
{
  const Page *page = tree->root;

  if (tree->count == 0)
    return NULL;
  for (guint64 level = tree->height; level > 0; level--)
    page = page->entry[page->n - 1].to;
  return page->entry[page->n - 1].to;
}

/* ---- changes */

static inline void
put (Page *page, gsize at, const Entry *entry)
{
  for (guint64 i = page->n++; i > at; i--)
    page->entry[i] = page->entry[i - 1];
  page->entry[at] = *entry;
}

static inline void
cut (Page *page, gsize at)
{
  page->n--;
  for (guint64 i = at; i < page->n; i++)
    page->entry[i] = page->entry[i + 1];
  page->entry[page->n] = LAST;
}

static Page *
new_page (GememTree *tree)
{
  Page *page = gemem_slab_alloc (&tree->pages);

  for (guint i = 0; i < WIDTH; i++)
    page->entry[i] = LAST;
  return page;
}

/* Cuts @page to @n entries and resets the unused ones. */
static void
end_at (Page *page, guint64 n)
{
  for (guint64 i = n; i < page->n; i++)
    page->entry[i] = LAST;
  page->n = n;
}

/* Sets the leaf of the nodes of entries @from to @to - 1, which are new in @page. */
static inline void
settle (Page *page, guint64 level, guint64 from, guint64 to)
{
  for (guint64 i = from; level == 0 && i < to; i++)
    ((GememTreeNode *) page->entry[i].to)->leaf = page;
}

/* Moves the last @n entries of @lower to the start of @upper, the next page. */
static void
move_up (Page *lower, Page *upper, guint64 level, guint64 n)
{
  memmove (&upper->entry[n], upper->entry, upper->n * sizeof (Entry));
  memcpy (upper->entry, &lower->entry[lower->n - n], n * sizeof (Entry));
  upper->n += n;
  end_at (lower, lower->n - n);
  settle (upper, level, 0, n);
}

/* Moves the first @n entries of @upper to the end of @lower. */
static void
move_down (Page *lower, Page *upper, guint64 level, guint64 n)
{
  memcpy (&lower->entry[lower->n], upper->entry, n * sizeof (Entry));
  lower->n += n;
  memmove (upper->entry, &upper->entry[n], (upper->n - n) * sizeof (Entry));
  end_at (upper, upper->n - n);
  settle (lower, level, lower->n - n, lower->n);
}

/* Sets the key of @entry to the bound of @page; `to` is unchanged. */
static inline void
set_bound (Entry *entry, const Page *page)
{
  const gpointer to = entry->to;

  *entry = page->entry[page->n - 1];
  entry->to = to;
}

static void
link_between (Page *page, Page *previous, Page *next)
{
  page->previous = previous;
  page->next = next;
  previous->next = page;
  if (next != NULL)
    next->previous = page;
}

static void
grow_root (GememTree *tree)
{
  Page *root = new_page (tree);

  root->n = 1;
  root->entry[0].to = tree->root; /* the bound is LAST */
  tree->root = root;
  tree->height++;
}

/* Inserts *@entry at index @at of the full @page.  The upper half of @page becomes a new page, and
 * *@entry becomes the entry of that page in the level above; *@above is the entry of @page
 * there. */
static void
split (GememTree *tree, Page *page, guint64 level, gsize at, Entry *entry, Entry *above)
{
  Page *upper = new_page (tree);
  Entry new_above = *above;

  link_between (upper, page, page->next);
  move_up (page, upper, level, WIDTH / 2);
  if (at > page->n)
    put (upper, at - page->n, entry);
  else
    put (page, at, entry);
  if (level == 0)
    ((GememTreeNode *) entry->to)->leaf = at > page->n ? upper : page;
  set_bound (above, page);
  new_above.to = upper;
  *entry = new_above;
}

/* Inserts @entry into a full leaf. */
static G_GNUC_NO_INLINE void
insert_splitting (GememTree *tree, Entry entry)
{
  Path path;

  find_path (tree, KEY_OF (&entry), &path);
  for (guint64 level = 0;; level++)
    {
      Page *page = path.page[level];

      if (page->n < WIDTH)
        {
          put (page, path.at[level], &entry);
          return;
        }
      if (level == tree->height)
        {
          grow_root (tree);
          path.page[level + 1] = tree->root;
          path.at[level + 1] = 0;
        }
      split (tree, page, level, path.at[level], &entry,
             &path.page[level + 1]->entry[path.at[level + 1]]);
      path.at[level + 1]++;
    }
}

static G_GNUC_NO_INLINE void
plant (GememTree *tree)
{
  gemem_slab_init (&tree->pages, sizeof (Page));
  tree->root = new_page (tree);
}

void
gemem_tree_insert (GememTree *tree, GememTreeNode *node)
{
  const Entry entry = { node->size, node->address, node->group, node };
  Page *leaf;

  if (G_UNLIKELY (tree->root == NULL))
    plant (tree);
  leaf = find_leaf (tree, KEY_OF (node));
  tree->count++;
  if (G_UNLIKELY (leaf->n == WIDTH))
    {
      insert_splitting (tree, entry);
      return;
    }
  node->leaf = leaf;
  put (leaf, count_below (leaf, KEY_OF (node)), &entry);
}

/* Balances the pages @at and @at + 1 below @above, one of which has too few entries, or merges
 * them; TRUE if merged: @above has one entry less. */
static gboolean
join (GememTree *tree, Page *above, guint64 level, gsize at)
{
  Page *lower = above->entry[at].to, *upper = above->entry[at + 1].to;
  const guint64 all = lower->n + upper->n;

  if (all > WIDTH)
    {
      if (lower->n < upper->n)
        move_down (lower, upper, level, all / 2 - lower->n);
      else
        move_up (lower, upper, level, all / 2 - upper->n);
      set_bound (&above->entry[at], lower);
      return FALSE;
    }
  move_down (lower, upper, level, upper->n);
  lower->next = upper->next;
  if (lower->next != NULL)
    lower->next->previous = lower;
  above->entry[at + 1].to = lower;
  cut (above, at);
  gemem_slab_free (&tree->pages, upper);
  return TRUE;
}

/* Refills the leaf that contained @node and has too few entries. */
static G_GNUC_NO_INLINE void
fill_up (GememTree *tree, const GememTreeNode *node)
{
  Path path;

  find_path (tree, KEY_OF (node), &path);
  for (guint64 level = 0; level < tree->height && path.page[level]->n < LEAST; level++)
    if (!join (tree, path.page[level + 1], level, path.at[level + 1] - (path.at[level + 1] > 0)))
      return;
  if (tree->height > 0 && tree->root->n == 1)
    {
      Page *root = tree->root;

      tree->root = root->entry[0].to;
      tree->height--;
      gemem_slab_free (&tree->pages, root);
    }
}

void
gemem_tree_remove (GememTree *tree, const GememTreeNode *node)
{
  Page *leaf = node->leaf;

  tree->count--;
  cut (leaf, count_below (leaf, KEY_OF (node)));
  if (G_UNLIKELY (leaf->n < LEAST) && tree->height > 0)
    fill_up (tree, node);
}

void
gemem_tree_clear (GememTree *tree)
{
  if (tree->root != NULL)
    gemem_slab_clear (&tree->pages);
  *tree = (GememTree) GEMEM_TREE_INIT;
}

/* ---- check */

typedef struct
{
  guint64 count;    /* of nodes */
  const Page *leaf; /* previous leaf; NULL: none */
  Entry last;       /* previous entry, if count > 0 */
} Sweep;

static gboolean
check_leaf (const Page *leaf, Sweep *sweep)
{
  if (leaf->previous != sweep->leaf || (sweep->leaf != NULL && sweep->leaf->next != leaf))
    return FALSE;
  sweep->leaf = leaf;
  for (guint64 i = 0; i < leaf->n; i++, sweep->count++)
    {
      const Entry *entry = &leaf->entry[i];
      const GememTreeNode *node = entry->to;

      if (sweep->count > 0 && !below (&sweep->last, KEY_OF (entry)))
        return FALSE;
      if (node->leaf != leaf || node->group != entry->group || node->size != entry->size
          || node->address != entry->address)
        return FALSE;
      sweep->last = *entry;
    }
  return TRUE;
}

/* @bound: the entry of @page in the level above. */
static gboolean
check_page (const GememTree *tree, const Page *page, guint64 level, const Entry *bound,
            Sweep *sweep)
{
  if (page->n > WIDTH || (page != tree->root && page->n < LEAST)
      || (page == tree->root && level > 0 && page->n < 2))
    return FALSE;
  for (guint64 i = page->n; i < WIDTH; i++)
    if (below (&page->entry[i], KEY_OF (&LAST)))
      return FALSE;
  if (level == 0)
    return check_leaf (page, sweep) && (page->n == 0 || !below (bound, KEY_OF (&sweep->last)));
  for (guint64 i = 0; i < page->n; i++)
    {
      const Entry *entry = &page->entry[i];

      if (i > 0 && !below (&page->entry[i - 1], KEY_OF (&((const Page *) entry->to)->entry[0])))
        return FALSE;
      if (!check_page (tree, entry->to, level - 1, entry, sweep))
        return FALSE;
    }
  return !below (&page->entry[page->n - 1], KEY_OF (bound))
         && !below (bound, KEY_OF (&page->entry[page->n - 1]));
}

gboolean
gemem_tree_check (const GememTree *tree)
{
  Sweep sweep = { 0, NULL, { 0, 0, 0, NULL } };

  if (tree->root == NULL)
    return tree->count == 0;
  return check_page (tree, tree->root, tree->height, &LAST, &sweep) && sweep.count == tree->count
         && sweep.leaf->next == NULL;
}
