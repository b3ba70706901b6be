/* tree.c - a B+ tree ordered by (group, size, address) (tree.h).
 *
 * Why a B+ tree: a binary tree of a million nodes has twenty levels, and a search waits for a cache
 * miss at each of the lower ones.  A page of eight cache lines, all fetched at once, replaces four
 * of these levels.  Keys are copied into the pages, so a search reads no block.  In small trees the
 * comparison costs most: the direction of a search is unpredictable, so keys are compared without
 * branches.  Entries do not move within a page: a word of the page says in which order they stand,
 * so that insert and remove take some shifts of that word, and a node knows its place.
 *
 * Invariants: all leaves are on level 0; a page has LEAST to WIDTH entries, the root any number (at
 * least two above the leaves); the key of an entry above the leaves is an upper bound of all keys
 * in its subtree, and less than the first key after that subtree; the last key of a page equals the
 * bound in its parent, LAST in the root.  Unused entries are LAST too, so that every search takes
 * the same two steps.  `next` and `previous` link the leaves.  Insert and remove usually change one
 * page, seldom two per level.
 */
#include "config.h"

#include "base/tree.h"

#define WIDTH \
  15 /* entries per page: 512 bytes with the header; their numbers are digits of 4 bits */
#define DIGIT 4
#define DIGIT_MAX ((guint64) 15)
#define ENTRY_BITS 5 /* log2 of the size of an entry */
#define LAST_DIGIT (DIGIT * (WIDTH - 1))
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
  guint64 order; /* digit i: number of the entry that is the i-th, from n on: an unused one */
  Page *next, *previous; /* neighbours of a leaf */
  Entry entry[WIDTH];
};

/* The path to a leaf, by level. */
typedef struct
{
  Page *page[DEEPEST];
  gsize at[DEEPEST];
} Path;

#define IN_ORDER G_GUINT64_CONSTANT (0x0EDCBA9876543210)
#define ONES G_GUINT64_CONSTANT (0x0111111111111111) /* a digit of 1 for each entry */

G_STATIC_ASSERT (sizeof (Entry) == 1 << ENTRY_BITS);

static const Entry LAST = { G_MAXUINT64, G_MAXUINT64, G_MAXUINT64, NULL };

#define KEY_OF(node) (node)->group, (node)->size, (node)->address

/* @count, plus 1 if the key of @entry is below (@group, @size, @address). */
static inline gsize
add_below (gsize count, const Entry *entry, guint64 group, guint64 size, guint64 address)
{
#ifdef __x86_64__ /* a subtraction of three words, which compilers do not generate */
  guint64 middle = entry->size, high = entry->group;

  if (__builtin_constant_p (address) && address == 0) /* no address is below it */
    {
      __asm__("cmpq %[size], %[middle]\n\tsbbq %[group], %[high]\n\tadcq $0, %[count]"
              : [count] "+&r"(count), [high] "+&r"(high)
              : [middle] "rm"(entry->size), [size] "r"(size), [group] "r"(group)
              : "cc");
      return count;
    }
  __asm__("cmpq %[address], %[low]\n\tsbbq %[size], %[middle]\n\tsbbq %[group], %[high]\n\t"
          "adcq $0, %[count]"
          : [count] "+&r"(count), [middle] "+&r"(middle), [high] "+&r"(high)
          : [low] "rm"(entry->address), [address] "r"(address), [size] "r"(size), [group] "r"(group)
          : "cc");
  return count;
#else
  typedef unsigned __int128 Pair;
  gsize less = ((Pair) entry->size << 64 | entry->address) < ((Pair) size << 64 | address);

  return count + ((entry->group < group) | ((entry->group == group) & less));
#endif
}

static inline gboolean
below (const Entry *entry, guint64 group, guint64 size, guint64 address)
{
  return add_below (0, entry, group, size, address) != 0;
}

/* The entry of which the number is digit @at, a constant, of @order: shifted to where it is
 * the offset of the entry, because a compiler shifts twice, and twice again for the second
 * word of the key. */
static inline __attribute__ ((always_inline)) const Entry *
entry_of (const Page *page, guint64 order, guint at)
{
  const guint64 moved = DIGIT * at > ENTRY_BITS ? order >> (DIGIT * at - ENTRY_BITS)
                                                : order << (ENTRY_BITS - DIGIT * at);

  return (const Entry *) (gconstpointer) ((const char *) page->entry
                                          + (moved & DIGIT_MAX << ENTRY_BITS));
}

/* The @at-th entry of @page. */
static inline Entry *
entry_at (Page *page, gsize at)
{
  return (Entry *) entry_of (page, page->order >> DIGIT * at, 0);
}

/* @count, plus 1 if the @at-th entry in @order is below the key. */
#define COUNT_BELOW(count, at) add_below (count, entry_of (page, order, at), group, size, address)

/* Number of entries of @page below the key; unless @many, all but the first seven are unused. */
static inline gsize
count_below (const Page *page, gboolean many, guint64 group, guint64 size, guint64 address)
{
  guint64 order = page->order;
  gsize fours = COUNT_BELOW (0, 3);

  if (many)
    fours = COUNT_BELOW (COUNT_BELOW (fours, 7), 11);
  order >>= 4 * DIGIT * fours;
  return COUNT_BELOW (COUNT_BELOW (COUNT_BELOW (4 * fours, 0), 1), 2);
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

/* The same for the leaf in which the key belongs.  A tree that is one leaf often has few entries;
 * in others a branch on their number would be unpredictable. */
static inline gsize
count_in_leaf (const GememTree *tree, const Page *leaf, guint64 group, guint64 size,
               guint64 address)
{
  return count_below (leaf, tree->height > 0 || leaf->n > 7, group, size, address);
}

/* The leaf for the key. */
static inline Page *
find_leaf (const GememTree *tree, guint64 group, guint64 size, guint64 address)
{
  const gboolean many = tree->count > MANY;
  Page *page = tree->root;

  for (guint64 level = tree->height; level > 0; level--)
    {
      page = entry_at (page, count_below (page, TRUE, group, size, address))->to;
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
      path->at[level] = count_below (page, TRUE, group, size, address);
      if (level == 0)
        return;
      page = entry_at (page, path->at[level])->to;
    }
}

/* The @at-th node of @leaf; -1 and n: the neighbour in the adjacent leaf; NULL: none. */
static inline GememTreeNode *
node_at (Page *leaf, gint64 at)
{
  if (G_LIKELY (at >= 0 && at < (gint64) leaf->n))
    return entry_at (leaf, (gsize) at)->to;
  leaf = at < 0 ? leaf->previous : leaf->next;
  return leaf != NULL ? entry_at (leaf, at < 0 ? leaf->n - 1 : 0)->to : NULL;
}

/* The node @offset positions after the first one that is not below the key. */
static inline __attribute__ ((always_inline)) GememTreeNode *
look_up (const GememTree *tree, guint64 group, guint64 size, guint64 address, int offset)
{
  Page *leaf;

  if (tree->count == 0)
    return NULL;
  leaf = find_leaf (tree, group, size, address);
  return node_at (leaf, (gint64) count_in_leaf (tree, leaf, group, size, address) + offset);
}

GememTreeNode *
gemem_tree_lower_bound (const GememTree *tree, guint64 group, guint64 size, guint64 address)
{
  return look_up (tree, group, size, address, 0);
}

GememTreeNode *
gemem_tree_fit (const GememTree *tree, guint64 group, guint64 size)
{
  return look_up (tree, group, size, 0, 0);
}

GememTreeNode *
gemem_tree_before (const GememTree *tree, guint64 group, guint64 size, guint64 address)
{
  return look_up (tree, group, size, address, -1);
}

GememTreeNode *
gemem_tree_at_or_before (const GememTree *tree, guint64 group, guint64 size, guint64 address)
{
  if (address < G_MAXUINT64)
    return look_up (tree, group, size, address + 1, -1);
  GememTreeNode *node = gemem_tree_lower_bound (tree, group, size, address);
  return node != NULL && node->group == group && node->size == size && node->address == address
             ? node
             : gemem_tree_before (tree, group, size, address);
}

/* Slabs align pages to 16, so GememTreeNode.place is the leaf's address plus the entry's number. */

static inline Page *
leaf_of (gpointer place)
{
  return GSIZE_TO_POINTER (GPOINTER_TO_SIZE (place) & ~(gsize) DIGIT_MAX);
}

/* The position in @leaf of the node at @place: the lowest digit of `order` that is its number. */
static inline gsize
position_of (const Page *leaf, gpointer place)
{
  const guint64 differences = leaf->order ^ ONES * ((guintptr) place & DIGIT_MAX);
  const guint64 zeroes = (differences - ONES) & ~differences & ONES << (DIGIT - 1);

  return (guint) __builtin_ctzll (zeroes) / DIGIT;
}

GememTreeNode *
gemem_tree_next (const GememTreeNode *node)
{
  Page *leaf = leaf_of (node->place);
  return node_at (leaf, (gint64) position_of (leaf, node->place) + 1);
}

GememTreeNode *
gemem_tree_previous (const GememTreeNode *node)
{
  Page *leaf = leaf_of (node->place);
  return node_at (leaf, (gint64) position_of (leaf, node->place) - 1);
}

GememTreeNode *
gemem_tree_first (const GememTree *tree)
{
  Page *page = tree->root;

  if (tree->count == 0)
    return NULL;
  for (guint64 level = tree->height; level > 0; level--)
    page = entry_at (page, 0)->to;
  return entry_at (page, 0)->to;
}

GememTreeNode *
gemem_tree_last (const GememTree *tree)
{
  Page *page = tree->root;

  if (tree->count == 0)
    return NULL;
  for (guint64 level = tree->height; level > 0; level--)
    page = entry_at (page, page->n - 1)->to;
  return entry_at (page, page->n - 1)->to;
}

/* ---- changes */

/* Makes the entry of the last number, which is unused, the @at-th entry of @page, which is not
 * full; returns the number. */
static inline guint64
open_up (Page *page, gsize at)
{
  const guint64 order = page->order, number = order >> LAST_DIGIT,
                before = ((guint64) 1 << DIGIT * at) - 1;

  page->n++;
  page->order = (order & before) | number << DIGIT * at
                | ((order & ~before & ~(DIGIT_MAX << LAST_DIGIT)) << DIGIT);
  return number;
}

/* Makes *@entry the @at-th entry of @page, which is not full and on @level. */
static inline void
put (Page *page, guint64 level, gsize at, const Entry *entry)
{
  const guint64 number = open_up (page, at);

  page->entry[number] = *entry;
  if (level == 0)
    ((GememTreeNode *) entry->to)->place = (char *) page + number;
}

/* Makes @node the node of entry @number of @leaf. */
static inline void
set_node (Page *leaf, guint64 number, GememTreeNode *node)
{
  Entry *entry = &leaf->entry[number]; /* word by word: a copy goes through memory */

  entry->group = node->group;
  entry->size = node->size;
  entry->address = node->address;
  entry->to = node;
  node->place = (char *) leaf + number;
}

/* Removes the @at-th entry of @page: its number is then the last one. */
static inline void
cut (Page *page, gsize at)
{
  const guint64 order = page->order, number = order >> DIGIT * at & DIGIT_MAX,
                before = ((guint64) 1 << DIGIT * at) - 1;

  page->n--;
  page->order = (order & before) | (order >> DIGIT & ~before) | number << LAST_DIGIT;
  page->entry[number] = LAST;
}

static Page *
new_page (GememTree *tree)
{
  Page *page = gemem_slab_alloc (&tree->pages);

  page->order = IN_ORDER;
  for (guint i = 0; i < WIDTH; i++)
    page->entry[i] = LAST;
  return page;
}

/* Moves the last @n entries of @lower to the start of @upper, the next page. */
static void
move_up (Page *lower, Page *upper, guint64 level, guint64 n)
{
  for (; n > 0; n--)
    {
      put (upper, level, 0, entry_at (lower, lower->n - 1));
      cut (lower, lower->n - 1);
    }
}

/* Moves the first @n entries of @upper to the end of @lower. */
static void
move_down (Page *lower, Page *upper, guint64 level, guint64 n)
{
  for (; n > 0; n--)
    {
      put (lower, level, lower->n, entry_at (upper, 0));
      cut (upper, 0);
    }
}

/* Sets the key of @entry to the bound of @page; `to` is unchanged. */
static inline void
set_bound (Entry *entry, Page *page)
{
  const gpointer to = entry->to;

  *entry = *entry_at (page, page->n - 1);
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
  root->entry[0].to = tree->root; /* the first one; the bound is LAST */
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
    put (upper, level, at - page->n, entry);
  else
    put (page, level, at, entry);
  set_bound (above, page);
  new_above.to = upper;
  *entry = new_above;
}

/* Inserts @node into a full leaf. */
static G_GNUC_NO_INLINE void
insert_splitting (GememTree *tree, GememTreeNode *node)
{
  Entry entry = { node->size, node->address, node->group, node };
  Path path;

  find_path (tree, KEY_OF (&entry), &path);
  for (guint64 level = 0;; level++)
    {
      Page *page = path.page[level];

      if (page->n < WIDTH)
        {
          put (page, level, path.at[level], &entry);
          return;
        }
      if (level == tree->height)
        {
          grow_root (tree);
          path.page[level + 1] = tree->root;
          path.at[level + 1] = 0;
        }
      split (tree, page, level, path.at[level], &entry,
             entry_at (path.page[level + 1], path.at[level + 1]));
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
  Page *leaf;

  if (G_UNLIKELY (tree->root == NULL))
    plant (tree);
  leaf = find_leaf (tree, KEY_OF (node));
  tree->count++;
  if (G_UNLIKELY (leaf->n == WIDTH))
    {
      insert_splitting (tree, node);
      return;
    }
  set_node (leaf, open_up (leaf, count_in_leaf (tree, leaf, KEY_OF (node))), node);
}

/* Balances the pages @at and @at + 1 below @above, one of which has too few entries, or merges
 * them; TRUE if merged: @above has one entry less. */
static gboolean
join (GememTree *tree, Page *above, guint64 level, gsize at)
{
  Page *lower = entry_at (above, at)->to, *upper = entry_at (above, at + 1)->to;
  const guint64 all = lower->n + upper->n;

  if (all > WIDTH)
    {
      if (lower->n < upper->n)
        move_down (lower, upper, level, all / 2 - lower->n);
      else
        move_up (lower, upper, level, all / 2 - upper->n);
      set_bound (entry_at (above, at), lower);
      return FALSE;
    }
  move_down (lower, upper, level, upper->n);
  lower->next = upper->next;
  if (lower->next != NULL)
    lower->next->previous = lower;
  entry_at (above, at + 1)->to = lower;
  cut (above, at);
  gemem_slab_free (&tree->pages, upper);
  return TRUE;
}

/* Removes the @at-th entry of @leaf, which then has too few, and refills it. */
static G_GNUC_NO_INLINE void
cut_refilling (GememTree *tree, Page *leaf, gsize at)
{
  const Entry entry = *entry_at (leaf, at);
  Path path;

  cut (leaf, at);
  find_path (tree, KEY_OF (&entry), &path);
  for (guint64 level = 0; level < tree->height && path.page[level]->n < LEAST; level++)
    if (!join (tree, path.page[level + 1], level, path.at[level + 1] - (path.at[level + 1] > 0)))
      return;
  if (tree->height > 0 && tree->root->n == 1)
    {
      Page *root = tree->root;

      tree->root = entry_at (root, 0)->to;
      tree->height--;
      gemem_slab_free (&tree->pages, root);
    }
}

static inline void
remove_at (GememTree *tree, Page *leaf, gsize at)
{
  tree->count--;
  if (tree->height > 0 && G_UNLIKELY (leaf->n <= LEAST))
    cut_refilling (tree, leaf, at);
  else
    cut (leaf, at);
}

void
gemem_tree_remove (GememTree *tree, const GememTreeNode *node)
{
  Page *leaf = leaf_of (node->place);

  remove_at (tree, leaf, position_of (leaf, node->place));
}

/* What is left of raise and lower, where other keys lie between. */
static G_GNUC_NO_INLINE void
move (GememTree *tree, Page *leaf, gsize at, GememTreeNode *node)
{
  remove_at (tree, leaf, at);
  gemem_tree_insert (tree, node);
}

void
gemem_tree_raise (GememTree *tree, gpointer place, GememTreeNode *node)
{
  Page *leaf = leaf_of (place);
  const gsize at = position_of (leaf, place);

  if (at + 1 < leaf->n ? below (entry_at (leaf, at + 1), KEY_OF (node)) : leaf->next != NULL)
    move (tree, leaf, at, node);
  else
    set_node (leaf, (guintptr) place & DIGIT_MAX, node);
}

void
gemem_tree_lower (GememTree *tree, gpointer place, GememTreeNode *node)
{
  Page *leaf = leaf_of (place);
  const gsize at = position_of (leaf, place);

  if (at > 0 ? !below (entry_at (leaf, at - 1), KEY_OF (node)) : leaf->previous != NULL)
    move (tree, leaf, at, node);
  else
    set_node (leaf, (guintptr) place & DIGIT_MAX, node);
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
check_leaf (Page *leaf, Sweep *sweep)
{
  if (leaf->previous != sweep->leaf || (sweep->leaf != NULL && sweep->leaf->next != leaf))
    return FALSE;
  sweep->leaf = leaf;
  for (guint64 i = 0; i < leaf->n; i++, sweep->count++)
    {
      const Entry *entry = entry_at (leaf, i);
      const GememTreeNode *node = entry->to;

      if (sweep->count > 0 && !below (&sweep->last, KEY_OF (entry)))
        return FALSE;
      if (leaf_of (node->place) != leaf || position_of (leaf, node->place) != i
          || node->group != entry->group || node->size != entry->size
          || node->address != entry->address)
        return FALSE;
      sweep->last = *entry;
    }
  return TRUE;
}

/* Each number stands once in the order, and unused entries are LAST. */
static gboolean
check_order (Page *page)
{
  guint found = 0;

  for (guint64 i = 0; i < WIDTH; i++)
    {
      found |= 1u << (entry_at (page, i) - page->entry);
      if (i >= page->n && below (entry_at (page, i), KEY_OF (&LAST)))
        return FALSE;
    }
  return found == (1u << WIDTH) - 1 && page->order >> DIGIT * WIDTH == 0;
}

/* @bound: the entry of @page in the level above. */
static gboolean
check_page (const GememTree *tree, Page *page, guint64 level, const Entry *bound, Sweep *sweep)
{
  if (page->n > WIDTH || (page != tree->root && page->n < LEAST)
      || (page == tree->root && level > 0 && page->n < 2) || !check_order (page))
    return FALSE;
  if (level == 0)
    return check_leaf (page, sweep) && (page->n == 0 || !below (bound, KEY_OF (&sweep->last)));
  for (guint64 i = 0; i < page->n; i++)
    {
      const Entry *entry = entry_at (page, i);

      if (i > 0 && !below (entry_at (page, i - 1), KEY_OF (entry_at (entry->to, 0))))
        return FALSE;
      if (!check_page (tree, entry->to, level - 1, entry, sweep))
        return FALSE;
    }
  return !below (entry_at (page, page->n - 1), KEY_OF (bound))
         && !below (bound, KEY_OF (entry_at (page, page->n - 1)));
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
