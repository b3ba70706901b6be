/* npu.h - what the files of `torch-npu` share: its settings, and the memory of its workspaces.
 *
 * npu.c is the class: PyTorch's allocator (caching.h) with the constants of npu-settings.c, and
 * beside it the workspaces of npu-workspace.c.
 *
 * Invariants: caching.h; memory of workspaces is not in `reserved`.
 * Origin: peers.md section 1g.  Private to allocators/pytorch.
 */
#pragma once

#include "allocators/pytorch/caching.h"

#define NPU_NO_POOL G_MAXUINT64

/* ---- npu-settings.c */

/* In the order of their release; the choices of `version`. */
typedef enum
{
  NPU_2_1_6_0,
  NPU_2_5_7_1,
  NPU_2_1_7_2,
  NPU_2_7_7_3,
  NPU_2_7_POST11,
  NPU_2_9_POST9,
  NPU_MASTER,
  NPU_RELEASES /* their number */
} NpuRelease;

typedef enum /* how a number is read in a settings string */
{
  NPU_PREFIX, /* the int that the text begins with */
  NPU_DIGITS, /* an int, of digits alone */
  NPU_WIDE /* the 64 bits that the text begins with; for keys of torch_npu alone, as NPU_DIGITS */
} NpuNumbers;

typedef struct
{
  CachingVersion caching; /* strict: separators, white space, max_split_size_mb above 20 */
  NpuNumbers numbers;
  guint waits;          /* how often it waits for the device before everything is released */
  gboolean unmap_waits; /* CachingSettings.unmap_waits */
} NpuVersion;

extern const NpuVersion gemem_npu_versions[NPU_RELEASES];

enum /* NpuParams.page_size */
{
  NPU_PAGE_1G,
  NPU_PAGE_DEFAULT
};

/* As the user set them. */
typedef struct
{
  CachingCommon common; /* first */
  guint64 segment_size, align_kb, workspace_pool, pinned_reserve, pinned_round, pinned_cached;
  int page_size, pad, reuse;
  gboolean lazy_reclaim, keep_pages, zero_copy, uncached;
  gboolean pin_expandable, pinned_register, pinned_background;
} NpuParams;

extern const GememParam gemem_npu_params[];

/* Checks @params alone and together; @device is asked for its memory where they
 * take a part of it. */
gboolean gemem_npu_settings_resolve (const NpuParams *params, GememDevice *device,
                                     CachingSettings *settings, GError **error);
/* The first release that has the setting @key. */
NpuRelease gemem_npu_since (const char *key);
/* What to say of settings that are valid. */
void gemem_npu_notes (gconstpointer params, GememNoteFunc func, gpointer data);
void gemem_npu_settings_unfold (gpointer params);

/* ---- npu-conf.c */

/* Reads a whole settings string into @params and, where it has some (@has_divisions), the divisions
 * of @settings.  The message names the release, but not the allocator. */
gboolean gemem_npu_conf_parse (const char *text, NpuParams *params, CachingSettings *settings,
                               gboolean *has_divisions, GError **error);

/* ---- npu-workspace.c */

typedef struct
{
  guint64 stream, address;
  guint64 size; /* what was asked for last, also if the device refused it: then address is 0 */
  guint64 last; /* size when it served a request last */
  guint64 requested;
  gboolean live;
} NpuWorkspace;

typedef struct
{
  GPtrArray *blocks; /* NpuWorkspace, one per stream, in the order of first use */
  guint64 held;      /* bytes from the device */
  CachingStat allocated;
} NpuWorkspaces;

void gemem_npu_workspaces_init (NpuWorkspaces *workspaces);
/* Serves @request from the block of its stream.  FALSE: out of memory, or refused. */
gboolean gemem_npu_workspace_alloc (NpuWorkspaces *workspaces, GememAllocator *allocator,
                                    const GememRequest *request, GememBlock *out);
/* TRUE if @block was a workspace: it is free now. */
gboolean gemem_npu_workspace_free (NpuWorkspaces *workspaces, const GememBlock *block);
/* TRUE if @block is a workspace. */
gboolean gemem_npu_is_workspace (const NpuWorkspaces *workspaces, const GememBlock *block);
/* Returns the blocks that are not in use to the device. */
void gemem_npu_workspaces_empty (NpuWorkspaces *workspaces, GememDevice *device);
void gemem_npu_workspaces_clear (NpuWorkspaces *workspaces, GememDevice *device);
