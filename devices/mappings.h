/* mappings.h - the accounting of virtual memory: which address ranges are reserved, which pages
 * exist, and which are mapped where.
 *
 * Why: the simulated device and a CUDA device keep to the same rules, and only the device knows
 * when a page is freed.  Nothing here moves memory: a device asks whether a call keeps the rules,
 * makes it, and enters what it did.
 *
 * Rules.  A page lives while its owner has it or any mapping shows it (as the drivers count
 * references).  A mapping lies inside one range, shows a part of one page, and overlaps no other.
 * A range is released without mappings.  unmap covers whole mappings, one or several that follow
 * each other, and nothing between them.  Addresses, offsets and sizes of pages and mappings are
 * multiples of the granularity.  Whatever breaks a rule is a mistake of the caller, and the text in
 * *fault says which.
 *
 * Cost: O(log ranges + log mappings) per call, unmap per mapping; no heap allocation per call once
 * the slabs have grown.
 */
#pragma once

#include "base/idmap.h"
#include "base/slab.h"
#include "base/tree.h"
#include "devices/device.h"

typedef struct
{
  GememTreeNode node; /* by address */
  guint64 size;
  guint64 kept; /* the device's own */
} GememRange;

typedef struct
{
  GememTreeNode node; /* by address */
  guint64 size;
  GememPage page;
} GememMapping;

typedef struct
{
  guint64 size, mappings;
  guint64 owned;  /* not destroyed yet */
  guint64 handle; /* the device's own */
} GememPhysical;

typedef struct
{
  guint64 granularity;
  GememTree ranges, mappings; /* by address */
  GememSlab range_slab, mapping_slab;
  GememIdMap *pages; /* GememPhysical */
  GememPage last_page;
} GememMappings;

void gemem_mappings_init (GememMappings *self, guint64 granularity);
void gemem_mappings_clear (GememMappings *self);
/* How many ranges, pages or mappings there are: those that @call is about. */
guint64 gemem_mappings_live (const GememMappings *self, GememDeviceCall call);

/* Each asks whether a call keeps the rules; what it is about, or NULL (FALSE) with *fault. */
gboolean gemem_mappings_may_reserve (guint64 alignment, const char **fault);
GememRange *gemem_mappings_may_release (const GememMappings *self, guint64 address, guint64 size,
                                        const char **fault);
gboolean gemem_mappings_may_create (const GememMappings *self, guint64 size, const char **fault);
GememPhysical *gemem_mappings_may_destroy (const GememMappings *self, GememPage page, guint64 size,
                                           const char **fault);
GememPhysical *gemem_mappings_may_map (const GememMappings *self, guint64 address, GememPage page,
                                       guint64 offset, guint64 size, const char **fault);
/* the first of them */
GememMapping *gemem_mappings_may_unmap (const GememMappings *self, guint64 address, guint64 size,
                                        const char **fault);

/* Each enters what was done. */
void gemem_mappings_reserved (GememMappings *self, guint64 address, guint64 size, guint64 kept);
void gemem_mappings_released (GememMappings *self, GememRange *range);
/* names count up from 1 and are not used again */
GememPage gemem_mappings_created (GememMappings *self, guint64 size, guint64 handle);
void gemem_mappings_mapped (GememMappings *self, guint64 address, GememPage page, guint64 size);
/* The bytes that ceased to exist: those of the page if it is neither owned nor mapped any more,
 * else 0. */
guint64 gemem_mappings_destroyed (GememMappings *self, GememPage page);
guint64 gemem_mappings_unmapped (GememMappings *self, GememMapping *mapping);
