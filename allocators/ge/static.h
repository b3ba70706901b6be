/* static.h - the static memory of the graphs of a session under each static memory policy: what
 * `ge-active` and `ge` have in common.
 *
 * What, by `mode`: a block of the device for every graph (policies 0 and 3); one block as large as
 * the largest graph, freed and replaced when a graph needs more, on the device or, with `pages`, in
 * pages (policies 2 and 4 as documented); blocks that graphs share, on the device or, with `pages`,
 * on a virtual range whose pages return to their pool after every synchronous run (policies 2 and 4
 * as built; active-blocks.h).  Fixed segments,
 * by `fixed`: among the others; in a block of the device for each graph; or at one address for all
 * graphs (5.10), and where that is refused in a block of the device.
 * Threads: load, run and unload lock the device (recursively), as active-blocks.h does.
 * Invariants: a graph is loaded once.
 * Cost: a load O(blocks * segments), a run O(its pages), else O(1).
 * Origin: ge-runtime.md 3, 5.9, 5.10, 7.2.
 */
#pragma once

#include "allocators/ge/active-blocks.h"
#include "allocators/spans.h"
#include "base/idmap.h"
#include "base/rules.h"

typedef enum
{
  GE_STATIC_OWN,
  GE_STATIC_DOCUMENTED,
  GE_STATIC_ACTIVE,
} GeStaticMode;

/* The parameter `rules`, an int @field of the @Type of a class's parameters, with what it was
 * called before; @more: what else it changes in this class. */
#define GE_RULES_ROW(Type, field, more) \
  { \
    GEMEM_RULES_MEMBERS (Type, field, \
                         "under policies 2 and 4 a graph that needs more has the memory released " \
                         "and a larger one obtained, instead of what is missing added" more "."), \
        .aliases = "policy2" \
  }

typedef enum
{
  GE_FIXED_SHARED,
  GE_FIXED_INSIDE,
  GE_FIXED_APART,
} GeFixedMode;

typedef struct
{
  GeStaticMode mode;
  GeFixedMode fixed;
  /* large pages, which others use too; NULL: no virtual range but that of fixed segments, which has
   * pages of its own */
  GePages *pages;
  guint64 total; /* addresses to reserve for a range, at most */
  /* GE_STATIC_OWN: the block stays when its graph is unloaded (static_model_addr_fixed, 7.2) */
  gboolean leaky;
  /* GE_STATIC_ACTIVE: an unload is FreeMemory alone.  Else it is that of a model, which first
   * unbinds the pages of a graph that was never run (3.3) */
  gboolean bare;
} GeStaticOptions;

/* A block of the device; size 0: none. */
typedef struct
{
  guint64 address, size;
} GeStaticBlock;

/* A loaded graph. */
typedef struct
{
  GArray *pieces;      /* GeActivePiece; none but with GE_STATIC_ACTIVE */
  GeStaticBlock own;   /* with GE_STATIC_OWN */
  GeStaticBlock apart; /* its fixed segments, where they are in a block of their own */
  gboolean bound;      /* the pieces were bound, and not unbound */
  gboolean ran;        /* a run of it began */
  gboolean shares;     /* it has memory besides the fixed */
  guint64 need;        /* bytes of that memory */
  guint64 fixed;       /* bytes that it has of the fixed range */
} GeStaticGraph;

typedef struct
{
  GememDevice *device;
  GeStaticOptions options;
  GeStaticBlock largest; /* GE_STATIC_DOCUMENTED: the block, and how many graphs have it */
  guint64 loads;
  GeSessionRange range; /* if options.pages; `largest` is in it if anything is appended */
  GeActive active;
  GeSessionRange fixed; /* FixedBaseExpandableAllocator */
  GePages fixed_pages;  /* its pages, unless options.pages */
  guint64 blocks;       /* bytes of `own` and `apart` of all graphs */
  GArray *leaked;       /* GeStaticBlock */
  GememIdMap *graphs;   /* id -> GeStaticGraph * */
} GeStatic;

void gemem_ge_static_init (GeStatic *memory, GememDevice *device, const GeStaticOptions *options);
void gemem_ge_static_clear (GeStatic *memory);

/* The members of GememAllocatorClass of these names; the graph is not loaded yet, or is. */
gboolean gemem_ge_static_load (GeStatic *memory, guint64 id, guint64 stream,
                               const GememGraphSegment *segments, guint n, guint64 *address);
gboolean gemem_ge_static_run (GeStatic *memory, guint64 id, gboolean begin);
void gemem_ge_static_unload (GeStatic *memory, guint64 id);
guint64 gemem_ge_static_bytes (const GeStatic *memory);

/* Bytes that a loaded graph has of memory that graphs share. */
guint64 gemem_ge_static_shared (const GeStatic *memory, guint64 id);
/* Bytes of all graphs if those that share memory need @in_use of it at once. */
guint64 gemem_ge_static_need_of_all (const GeStatic *memory, guint64 in_use);

/* Bytes that a graph needs: up to the end of its last segment that needs memory. */
guint64 gemem_ge_static_need (const GememGraphSegment *segments, guint n);
/* Whether a load would replace the block that all graphs have by a larger one. */
gboolean gemem_ge_static_replaces (const GeStatic *memory, const GememGraphSegment *segments,
                                   guint n);
/* Bytes that one more graph can have without new memory; 0 where graphs do not share. */
guint64 gemem_ge_static_peak (const GeStatic *memory);

/* static-report.c.  Spans are appended, in no order; @name stands in messages. */
void gemem_ge_static_walk (const GeStatic *memory, GArray *spans);
/* graphs.walk of GememAllocatorClass. */
void gemem_ge_static_walk_graph (const GeStatic *memory, guint64 id, GememSpanFunc func,
                                 gpointer data);
gboolean gemem_ge_static_check (const GeStatic *memory, const char *name, GError **error);
void gemem_ge_static_stats (const GeStatic *memory, GememStatFunc func, gpointer data);
