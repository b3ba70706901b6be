/* layers.c - see layers.h. */
#include "config.h"

#include "allocators/ge/layers.h"
#include "allocators/ge/pool-core.h"

#define LEAF_BITS 12
#define LEAF_SIZE (1u << LEAF_BITS)
#define LEAF_MASK (LEAF_SIZE - 1)
#define GROUP 64

struct _GeLeaf
{
  GeBits used;                       /* layers that hold a span */
  GeBits created;                    /* layers that ever held a span */
  GeSpan **heads[LEAF_SIZE / GROUP]; /* of GROUP layers each, or NULL */
};

static inline guint
lowest (guint64 word)
{
  return (guint) __builtin_ctzll (word);
}

static inline guint
highest (guint64 word)
{
  return 63 - (guint) __builtin_clzll (word);
}

static inline void
bits_set (GeBits *bits, guint n)
{
  bits->words[n >> 6] |= G_GUINT64_CONSTANT (1) << (n & 63);
  bits->summary |= G_GUINT64_CONSTANT (1) << (n >> 6);
}

static inline void
bits_unset (GeBits *bits, guint n)
{
  bits->words[n >> 6] &= ~(G_GUINT64_CONSTANT (1) << (n & 63));
  if (bits->words[n >> 6] == 0)
    bits->summary &= ~(G_GUINT64_CONSTANT (1) << (n >> 6));
}

/* Leaf @l, or NULL. */
static inline GeLeaf *
leaf_at (const GeLayers *layers, guint32 l)
{
  const GeLeaves *part = layers->parts[l >> LEAF_BITS];
  GeLeaf **group = part != NULL ? part->groups[(l & LEAF_MASK) / GROUP] : NULL;

  return group != NULL ? group[l % GROUP] : NULL;
}

/* Leaf @l, which holds a span. */
static inline GeLeaf *
leaf_in_use (const GeLayers *layers, guint32 l)
{
  return layers->parts[l >> LEAF_BITS]->groups[(l & LEAF_MASK) / GROUP][l % GROUP];
}

/* The smallest member >= @from (which is below 4096), or 4096. */
static inline guint
bits_next (const GeBits *bits, guint from)
{
  guint w = from >> 6;
  guint64 word = bits->words[w] >> (from & 63);

  if (word != 0)
    return from + lowest (word);
  word = w == 63 ? 0 : bits->summary >> (w + 1);
  if (word == 0)
    return LEAF_SIZE;
  w += 1 + lowest (word);
  return w << 6 | lowest (bits->words[w]);
}

/* The largest member <= @from (which is below 4096), or 4096. */
static inline guint
bits_prev (const GeBits *bits, guint from)
{
  guint w = from >> 6;
  guint64 word = bits->words[w] << (63 - (from & 63));

  if (word != 0)
    return from - (63 - highest (word));
  word = w == 0 ? 0 : bits->summary << (64 - w);
  if (word == 0)
    return LEAF_SIZE;
  w -= 1 + (63 - highest (word));
  return w << 6 | highest (bits->words[w]);
}

static guint32
n_parts (const GeLayers *layers)
{
  return (layers->n_leaves + LEAF_MASK) >> LEAF_BITS;
}

void
gemem_ge_layers_init (GeLayers *layers, guint64 capacity)
{
  g_assert (capacity > 0 && capacity <= GE_LAYER_NONE);
  layers->n_leaves = (guint32) ((capacity + LEAF_MASK) >> LEAF_BITS);
  layers->parts = g_new0 (GeLeaves *, n_parts (layers));
  layers->top = (GeBits){ 0 };
}

static void
free_leaf (GeLeaf *leaf)
{
  for (guint i = 0; leaf != NULL && i < G_N_ELEMENTS (leaf->heads); i++)
    g_free (leaf->heads[i]);
  g_free (leaf);
}

static void
free_part (GeLeaves *part)
{
  for (guint g = 0; part != NULL && g < G_N_ELEMENTS (part->groups); g++)
    {
      for (guint i = 0; part->groups[g] != NULL && i < GROUP; i++)
        free_leaf (part->groups[g][i]);
      g_free (part->groups[g]);
    }
  g_free (part);
}

void
gemem_ge_layers_clear (GeLayers *layers)
{
  for (guint32 i = 0; i < n_parts (layers); i++)
    free_part (layers->parts[i]);
  g_free (layers->parts);
}

GeSpan *
gemem_ge_layers_front (const GeLayers *layers, guint32 pages)
{
  const GeLeaf *leaf = leaf_at (layers, pages >> LEAF_BITS);
  GeSpan **heads = leaf != NULL ? leaf->heads[(pages & LEAF_MASK) / GROUP] : NULL;

  return heads != NULL ? heads[pages % GROUP] : NULL;
}

/* Makes what layer @pages lies in, as far as it is missing. */
static G_GNUC_NO_INLINE GeSpan **
make_heads (GeLayers *layers, guint32 pages)
{
  const guint32 l = pages >> LEAF_BITS, n = (pages & LEAF_MASK) / GROUP;
  GeLeaves **part = &layers->parts[l >> LEAF_BITS];

  if (*part == NULL)
    *part = g_new0 (GeLeaves, 1);
  GeLeaf ***group = &(*part)->groups[(l & LEAF_MASK) / GROUP];
  if (*group == NULL)
    *group = g_new0 (GeLeaf *, GROUP);
  if ((*group)[l % GROUP] == NULL)
    (*group)[l % GROUP] = g_new0 (GeLeaf, 1);
  if ((*group)[l % GROUP]->heads[n] == NULL)
    (*group)[l % GROUP]->heads[n] = g_new0 (GeSpan *, GROUP);
  return (*group)[l % GROUP]->heads[n];
}

void
gemem_ge_layers_push (GeLayers *layers, GeSpan *span)
{
  guint32 l = span->pages >> LEAF_BITS, n = span->pages & LEAF_MASK;
  GeLeaf *leaf = leaf_at (layers, l);
  GeSpan **heads = leaf != NULL ? leaf->heads[n / GROUP] : NULL;

  if (G_UNLIKELY (heads == NULL))
    {
      heads = make_heads (layers, span->pages);
      leaf = leaf_at (layers, l);
    }
  span->layer_prev = NULL;
  span->layer_next = heads[n % GROUP];
  if (span->layer_next != NULL)
    span->layer_next->layer_prev = span;
  else
    {
      bits_set (&leaf->used, n);
      bits_set (&leaf->created, n);
      bits_set (&layers->parts[l >> LEAF_BITS]->used, l & LEAF_MASK);
      bits_set (&layers->top, l >> LEAF_BITS);
    }
  heads[n % GROUP] = span;
}

void
gemem_ge_layers_remove (GeLayers *layers, GeSpan *span)
{
  guint32 l = span->pages >> LEAF_BITS, n = span->pages & LEAF_MASK;
  GeLeaf *leaf = leaf_in_use (layers, l);

  if (span->layer_next != NULL)
    span->layer_next->layer_prev = span->layer_prev;
  if (span->layer_prev != NULL)
    {
      span->layer_prev->layer_next = span->layer_next;
      return;
    }
  leaf->heads[n / GROUP][n % GROUP] = span->layer_next;
  if (span->layer_next != NULL)
    return;
  bits_unset (&leaf->used, n);
  if (leaf->used.summary != 0)
    return;
  bits_unset (&layers->parts[l >> LEAF_BITS]->used, l & LEAF_MASK);
  if (layers->parts[l >> LEAF_BITS]->used.summary == 0)
    bits_unset (&layers->top, l >> LEAF_BITS);
}

/* The first leaf from @l on that holds a span, or n_leaves. */
static guint32
next_leaf (const GeLayers *layers, guint32 l)
{
  guint i = l >> LEAF_BITS, n;

  if (l >= layers->n_leaves)
    return layers->n_leaves;
  n = layers->parts[i] != NULL ? bits_next (&layers->parts[i]->used, l & LEAF_MASK) : LEAF_SIZE;
  if (n == LEAF_SIZE)
    {
      i = bits_next (&layers->top, i + 1);
      if (i == LEAF_SIZE)
        return layers->n_leaves;
      n = bits_next (&layers->parts[i]->used, 0);
    }
  return i << LEAF_BITS | n;
}

/* The last leaf up to @l that holds a span, or n_leaves. */
static guint32
prev_leaf (const GeLayers *layers, guint32 l)
{
  guint i = l >> LEAF_BITS, n;

  n = layers->parts[i] != NULL ? bits_prev (&layers->parts[i]->used, l & LEAF_MASK) : LEAF_SIZE;
  if (n == LEAF_SIZE)
    {
      i = i == 0 ? LEAF_SIZE : bits_prev (&layers->top, i - 1);
      if (i == LEAF_SIZE)
        return layers->n_leaves;
      n = bits_prev (&layers->parts[i]->used, LEAF_MASK);
    }
  return i << LEAF_BITS | n;
}

guint32
gemem_ge_layers_next (const GeLayers *layers, guint32 from)
{
  guint32 l = from >> LEAF_BITS;
  guint n;

  if (l >= layers->n_leaves || layers->top.summary == 0)
    return GE_LAYER_NONE;
  if (leaf_at (layers, l) != NULL)
    {
      n = bits_next (&leaf_at (layers, l)->used, from & LEAF_MASK);
      if (n < LEAF_SIZE)
        return l << LEAF_BITS | n;
    }
  l = next_leaf (layers, l + 1);
  if (l >= layers->n_leaves)
    return GE_LAYER_NONE;
  return l << LEAF_BITS | bits_next (&leaf_in_use (layers, l)->used, 0);
}

guint32
gemem_ge_layers_prev (const GeLayers *layers, guint32 from)
{
  guint32 l = from >> LEAF_BITS;
  guint n;

  if (l >= layers->n_leaves)
    {
      l = layers->n_leaves - 1;
      from = l << LEAF_BITS | LEAF_MASK;
    }
  if (leaf_at (layers, l) != NULL)
    {
      n = bits_prev (&leaf_at (layers, l)->used, from & LEAF_MASK);
      if (n < LEAF_SIZE)
        return l << LEAF_BITS | n;
    }
  if (l == 0)
    return GE_LAYER_NONE;
  l = prev_leaf (layers, l - 1);
  if (l >= layers->n_leaves)
    return GE_LAYER_NONE;
  return l << LEAF_BITS | bits_prev (&leaf_in_use (layers, l)->used, LEAF_MASK);
}

guint32
gemem_ge_layers_next_created (const GeLayers *layers, guint32 from)
{
  guint start = from & LEAF_MASK;

  for (guint32 l = from >> LEAF_BITS; l < layers->n_leaves; l++, start = 0)
    if (layers->parts[l >> LEAF_BITS] == NULL)
      l |= LEAF_MASK;
    else if (layers->parts[l >> LEAF_BITS]->groups[(l & LEAF_MASK) / GROUP] == NULL)
      l |= GROUP - 1;
    else if (leaf_at (layers, l) != NULL)
      {
        guint n = bits_next (&leaf_at (layers, l)->created, start);
        if (n < LEAF_SIZE)
          return l << LEAF_BITS | n;
      }
  return GE_LAYER_NONE;
}
