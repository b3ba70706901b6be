/* profile.h - the costs of device calls: key files profiles/NAME.ini, every number with its source.
 *
 * Why files: costs differ by machine and driver, and a user who measures them should not need a
 * compiler.  A profile is complete (every call has a price, which may be 0), and each number has a
 * source that begins with "guess:", "fact:" or "measured:".
 *
 *   [device]                        [malloc]                          [allocator]
 *   name=NVIDIA A100 80 GB          base_ns=100000                    hit_ns=200
 *   capacity=80GiB                  per_mib_ns=100                    source=guess: ...
 *   capacity_source=fact: ...       synchronises=no
 *   granularity=2MiB                source=guess: why this number
 *   granularity_source=guess: ...
 *
 * KEY_source is the source of one number, `source` that of all other numbers of its group.  The
 * groups of calls are named as in gemem_device_call_name().  The cost of a call is base_ns +
 * per_mib_ns * bytes / 2^20 (rounded down) + per_page_ns for every granule begun.  Calls that
 * allocate or release may have per_1000_live_ns, for every thousand allocations (or pages, ranges,
 * mappings, as the call concerns) that are live after the call: a driver may slow down with their
 * number.  Where costs are no line, `sizes=2MiB:45628 32MiB:54204 ...` stands for the three: what
 * calls of these sizes cost, in ns; between two sizes on the line through both, below the first as
 * the first, beyond the last on the line through the last two, or as the last if that line falls.
 * [malloc] and [free] may have shared_ns, the whole cost where a page that others use serves the
 * call (address=cuda, and a GPU).  [map] may have set_access_ns too, which is added: a map call of
 * device.h is cuMemMap and cuMemSetAccess, or aclrtMapMem.  `synchronises` says whether a call
 * waits until the device is idle; `synchronises_source` is optional, as it is no number.
 */
#pragma once

#include <glib.h>

#include "base/macros.h"
#include "devices/device.h"

#define GEMEM_CALL_SIZES_MAX 16

typedef struct
{
  guint64 bytes, ns;
} GememSizeCost;

typedef struct
{
  guint64 base_ns, per_mib_ns, per_page_ns;
  guint64 per_1000_live_ns; /* malloc to unmap only */
  /* map only: cost of setting access rights, without which mapped memory is unusable */
  guint64 set_access_ns;
  guint64 shared_ns; /* malloc and free only; 0: as any other */
  guint n_sizes;     /* of `sizes`, which stand for base_ns, per_mib_ns and per_page_ns; 0: none */
  GememSizeCost sizes[GEMEM_CALL_SIZES_MAX]; /* ascending */
  gboolean synchronises; /* the host waits until the device is idle before the call completes */
} GememCallCost;

typedef struct
{
  char *path;        /* the file, or "built-in NAME.ini" */
  char *device_name; /* "NVIDIA A100 80 GB" */
  guint64 capacity, granularity;
  guint64 hit_ns; /* host cost of one allocator operation without a device call */
  guint numbers, guesses;
  GememCallCost calls[GEMEM_CALL_COUNT];
} GememProfile;

/* Loads @name: a path (has a '/' or ends in ".ini"), or NAME.ini from $GEMEM_PROFILES
 * (':'-separated), then from the installed profiles, then from those built in.  Errors:
 * GEMEM_ERROR_USAGE: unknown profile (lists the known ones), or FILE:LINE and the fault;
 * GEMEM_ERROR_FAILED: cannot be read. */
GememProfile *gemem_profile_load (const char *name, GError **error);

/* The same from @text; @path is for messages. */
GememProfile *gemem_profile_parse (const char *text, gsize length, const char *path,
                                   GError **error);
void gemem_profile_free (GememProfile *profile);

/* What the profile that @settings (GememSetting) name says of costs, as a text that is another one for other numbers;
 * "": they name none that can be loaded; g_free(). */
GEMEM_BEGIN_DECLS
char *gemem_profile_costs (const GPtrArray *settings);
GEMEM_END_DECLS

/* All names that gemem_profile_load() finds, sorted; g_strfreev(). */
char **gemem_profile_names (void);

/* ns for @size bytes by the `sizes` of @cost, which has some; saturates. */
guint64 gemem_call_sizes_ns (const GememCallCost *cost, guint64 size);

/* ns for @size bytes; saturates.  @granularity: bytes of a page, a power of two. */
static inline guint64
gemem_call_cost_ns (const GememCallCost *cost, guint64 size, guint64 granularity)
{
  unsigned __int128 ns = (unsigned __int128) cost->base_ns + cost->set_access_ns;
  if (cost->n_sizes > 0)
    ns += gemem_call_sizes_ns (cost, size);
  if (cost->per_mib_ns != 0)
    ns += ((unsigned __int128) cost->per_mib_ns * size) >> 20;
  if (cost->per_page_ns != 0)
    ns += (unsigned __int128) cost->per_page_ns * (size / granularity + (size % granularity != 0));
  return ns > G_MAXUINT64 ? G_MAXUINT64 : (guint64) ns;
}

/* TRUE for calls that change the number of live allocations, ranges, pages or mappings. */
static inline gboolean
gemem_call_has_live (GememDeviceCall call)
{
  return call <= GEMEM_CALL_UNMAP;
}

/* The additional cost with @live of them. */
static inline guint64
gemem_call_live_ns (const GememCallCost *cost, guint64 live)
{
  unsigned __int128 ns = (unsigned __int128) cost->per_1000_live_ns * live / 1000;
  return ns > G_MAXUINT64 / 2 ? G_MAXUINT64 / 2 : (guint64) ns;
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememProfile, gemem_profile_free)
