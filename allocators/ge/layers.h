/* layers.h - the layers of a GE ScalableAllocator: for every length in pages a LIFO list of idle
 * spans, and the ordered set of lengths.
 *
 * What: layer k holds the idle spans of exactly k pages, pushed and taken at the front.  `ids` of
 * the specification is the set of non-empty layers (Quick table) or of all layers that ever held a
 * span (Seq table); both are searched by "smallest id >= k".
 * Why not a tree: a device of 64 GiB has a million layers, most of them never used, and every
 * allocation that is not an exact hit searches.  Layers are in leaves of 4096 (256 MiB of lengths),
 * allocated when first used, as are groups of 64 leaves and of 64 layers, and parts of 4096 leaves: a
 * program may have 100 000 streams, each with pools of its own, on a device of any capacity.  Each leaf has a two-level bitmap of its layers; two
 * more levels of the same bitmap say which leaves hold a span.
 * Invariants: bit k is set iff layer k is not empty; a span is in a layer iff it is not occupied
 * and its `pages` is the layer's number.
 * Cost: push, remove, front, next and prev O(1), six words at most.  Memory: 2 KiB for each 256
 * MiB of lengths in use, 512 bytes for each 4 MiB.
 * Origin: ge-runtime.md 1.2 and 1.4.
 */
#pragma once

#include <glib.h>

#define GE_LAYER_NONE G_MAXUINT32

typedef struct _GeSpan GeSpan;
typedef struct _GeLeaf GeLeaf;

/* A set of numbers below 4096: a bit for each, and a bit for each word that is not zero. */
typedef struct
{
  guint64 summary;
  guint64 words[64];
} GeBits;

/* 4096 leaves. */
typedef struct
{
  GeLeaf **groups[64]; /* of 64 leaves */
  GeBits used;         /* leaves that hold a span */
} GeLeaves;

typedef struct
{
  GeLeaves **parts; /* of 4096 leaves; NULL: none of them was ever used */
  GeBits top;       /* those of `parts` that hold a span */
  guint32 n_leaves;
} GeLayers;

/* Layers 0 to @capacity - 1, all empty. */
void gemem_ge_layers_init (GeLayers *layers, guint64 capacity);
void gemem_ge_layers_clear (GeLayers *layers);

/* The most recently freed span of @pages pages, or NULL. */
GeSpan *gemem_ge_layers_front (const GeLayers *layers, guint32 pages);
/* Puts @span in front of the layer of its length. */
void gemem_ge_layers_push (GeLayers *layers, GeSpan *span);
/* Takes @span out, wherever in its layer it is; its length must not have changed since it was
 * pushed. */
void gemem_ge_layers_remove (GeLayers *layers, GeSpan *span);

/* The smallest non-empty layer >= @from, the largest <= @from; GE_LAYER_NONE if there is none. */
guint32 gemem_ge_layers_next (const GeLayers *layers, guint32 from);
guint32 gemem_ge_layers_prev (const GeLayers *layers, guint32 from);
/* The smallest layer >= @from that ever held a span. */
guint32 gemem_ge_layers_next_created (const GeLayers *layers, guint32 from);
