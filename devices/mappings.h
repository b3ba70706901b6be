/* mappings.h - the accounting of virtual memory: which address ranges are reserved, which pages
 * exist, and which are mapped where.
 *
 * Why: the simulated device and a CUDA device follow the same rules, and only the device knows when
 * a page is freed.  Nothing here moves memory: a device asks whether a call follows the rules,
 * makes the call, and records it here.
 *
 * Rules.  A page exists while its owner or any mapping holds it (drivers count references).  A
 * mapping lies inside one range, maps all of one page, as CUDA demands (cuda-driver.md 6), and overlaps no other mapping.  Only a
 * range without mappings is released.  unmap covers whole mappings, one or several adjacent ones,
 * and nothing between them.  Addresses, offsets and sizes of pages and mappings are multiples of
 * the granularity.  Breaking a rule is an error of the caller, which the text in *fault names.
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
  guint64 own;  /* of them, up to where the device let another range begin (simulated devices) */
  guint64 kept; /* private to the device */
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
  guint64 handle; /* private to the device */
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
/* The number of ranges, pages or mappings, whichever @call concerns. */
guint64 gemem_mappings_live (const GememMappings *self, GememDeviceCall call);

/* The range that owns @address, or NULL. */
GememRange *gemem_mappings_range_around (const GememMappings *self, guint64 address);
/* Where the first range above @address begins; G_MAXUINT64: there is none. */
guint64 gemem_mappings_next_range (const GememMappings *self, guint64 address);
/* TRUE if any byte of [@address, @address + @size) is mapped. */
gboolean gemem_mappings_is_mapped (const GememMappings *self, guint64 address, guint64 size);

/* Each checks a call: the object of the call; or NULL (FALSE) with *fault if it breaks a rule. */
gboolean gemem_mappings_may_reserve (guint64 alignment, const char **fault);
GememRange *gemem_mappings_may_release (const GememMappings *self, guint64 address, guint64 size,
                                        const char **fault);
gboolean gemem_mappings_may_create (const GememMappings *self, guint64 size, const char **fault);
GememPhysical *gemem_mappings_may_destroy (const GememMappings *self, GememPage page, guint64 size,
                                           const char **fault);
GememPhysical *gemem_mappings_may_map (const GememMappings *self, guint64 address, GememPage page,
                                       guint64 offset, guint64 size, const char **fault);
/* the first mapping */
GememMapping *gemem_mappings_may_unmap (const GememMappings *self, guint64 address, guint64 size,
                                        const char **fault);

/* Each records a call that was made. */
void gemem_mappings_reserved (GememMappings *self, guint64 address, guint64 size, guint64 own,
                              guint64 kept);
void gemem_mappings_released (GememMappings *self, GememRange *range);
/* numbers ascend from 1 and are not reused */
GememPage gemem_mappings_created (GememMappings *self, guint64 size, guint64 handle);
void gemem_mappings_mapped (GememMappings *self, guint64 address, GememPage page, guint64 size);
/* The bytes freed: those of the page if it is neither owned nor mapped, else 0. */
guint64 gemem_mappings_destroyed (GememMappings *self, GememPage page);
guint64 gemem_mappings_unmapped (GememMappings *self, GememMapping *mapping);
