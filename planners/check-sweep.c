/* check-sweep.c - see check-sweep.h. */
#include "config.h"

#include <stdlib.h>

#include "base/slab.h"
#include "base/tree.h"
#include "planners/check-sweep.h"

/* Bytes [node.size, end) of space node.group; @item claimed them last. */
typedef struct
{
  GememTreeNode node;
  guint64 end;
  guint32 item;
} Segment;

typedef struct
{
  GememTree tree;
  GememSlab slab;
} Map;

static Segment *
segment_of (GememTreeNode *node)
{
  return GEMEM_TREE_ENTRY (node, Segment, node);
}

static void
add_segment (Map *map, guint64 space, guint64 start, guint64 end, guint32 item)
{
  Segment *segment = gemem_slab_alloc (&map->slab);

  segment->node.group = space;
  segment->node.size = start;
  segment->end = end;
  segment->item = item;
  gemem_tree_insert (&map->tree, &segment->node);
}

/* The first segment that ends behind @claim->offset; it may start behind the claim. */
static GememTreeNode *
first_touched (const Map *map, const GememClaim *claim)
{
  GememTreeNode *node = gemem_tree_lower_bound (&map->tree, claim->space, claim->offset, 0);
  GememTreeNode *before = gemem_tree_before (&map->tree, claim->space, claim->offset, 0);

  if (before != NULL && before->group == claim->space && segment_of (before)->end > claim->offset)
    return before;
  return node;
}

/* Removes the bytes of @claim from @segment. */
static void
cut (Map *map, Segment *segment, const GememClaim *claim)
{
  const Segment old = *segment;

  gemem_tree_remove (&map->tree, &segment->node);
  gemem_slab_free (&map->slab, segment);
  if (old.node.size < claim->offset)
    add_segment (map, claim->space, old.node.size, claim->offset, old.item);
  if (old.end > claim->end)
    add_segment (map, claim->space, claim->end, old.end, old.item);
}

static int
compare_claims (gconstpointer a, gconstpointer b)
{
  const GememClaim *x = a, *y = b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

static gboolean
settle (Map *map, const GememClaim *claim, GememClaimMeet meet, gpointer data)
{
  GememTreeNode *node;

  while ((node = first_touched (map, claim)) != NULL && node->group == claim->space
         && node->size < claim->end)
    {
      if (!meet (data, segment_of (node)->item, claim->item))
        return FALSE;
      cut (map, segment_of (node), claim);
    }
  add_segment (map, claim->space, claim->offset, claim->end, claim->item);
  return TRUE;
}

gboolean
gemem_claims_sweep (GArray *claims, GememClaimMeet meet, gpointer data)
{
  Map map = { GEMEM_TREE_INIT, { 0 } };
  gboolean go_on = TRUE;

  gemem_slab_init (&map.slab, sizeof (Segment));
  if (claims->len > 0)
    qsort (claims->data, claims->len, sizeof (GememClaim), compare_claims);
  for (guint i = 0; i < claims->len && go_on; i++)
    go_on = settle (&map, &g_array_index (claims, GememClaim, i), meet, data);
  gemem_tree_clear (&map.tree);
  gemem_slab_clear (&map.slab);
  return go_on;
}
