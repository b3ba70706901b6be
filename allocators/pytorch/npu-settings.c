/* npu-settings.c - the options of `torch-npu`, under torch_npu's names, by version.
 *
 * Why separate from caching-settings.c: torch_npu has keys of its own, lacks some of PyTorch's, reads
 * other variables of the environment and refuses other combinations.  The rows that both have are in
 * caching-rows.h; what follows from CachingCommon, and lists of divisions, in caching-settings.c;
 * whole strings are read by npu-conf.c.
 *
 * Invariants: a key that a version lacks is refused where it is set to something; products of a
 * fraction and the device's memory are one IEEE double multiplication, cut to an integer.
 * Cost: once per allocator.
 * Origin: peers.md 1g.2, 1g.4, 1g.8; the tables of releases were found by running them.
 */
#include "config.h"

#include <string.h>

#include "allocators/pytorch/caching-rows.h"
#include "allocators/pytorch/npu.h"

#define PARAM(field) .offset = G_STRUCT_OFFSET (NpuParams, field)
#define CONF_KEYS \
  CACHING_CONF_KEYS \
  "base_addr_aligned_kb|page_size|segment_size_mb|multi_stream_lazy_reclaim|" \
  "per_process_memory_fraction|throw_on_npumalloc_oom|release_lock_on_npumalloc|" \
  "pin_memory_expandable_segments|pinned_mem_register|pinned_reserve_segment_size_mb|" \
  "pinned_use_background_threads|pinned_max_round_threshold_mb|pinned_max_cached_size_mb"
#define NO_EFFECT "Accepted; no effect on the device's memory in a sequential model."

enum
{
  PAD_32,
  PAD_0
};

const GememParam gemem_npu_params[] = {
  { .name = "version",
    .type = GEMEM_PARAM_CHOICE,
    .flags = GEMEM_PARAM_RELEASE,
    .default_text = "master",
    .choices = "2.1.0-6.0.0|2.5.1-7.1.0|2.1.0-7.2.0|2.7.1-7.3.0|2.7.1.post11|2.9.0.post9|master|"
               "2.1=2.1.0-6.0.0|6.0=2.1.0-6.0.0|6.0.0=2.1.0-6.0.0|2.1.0.post10=2.1.0-6.0.0|"
               "2.5=2.5.1-7.1.0|2.5.1=2.5.1-7.1.0|2.5.1.post1=2.5.1-7.1.0|7.1=2.5.1-7.1.0|"
               "7.1.0=2.5.1-7.1.0|7.2=2.1.0-7.2.0|7.2.0=2.1.0-7.2.0|2.1.0.post17=2.1.0-7.2.0|"
               "2.6=2.7.1-7.3.0|2.6.0=2.7.1-7.3.0|2.6.0.post5=2.7.1-7.3.0|2.7=2.7.1-7.3.0|"
               "2.7.1=2.7.1-7.3.0|2.7.1.post2=2.7.1-7.3.0|7.3=2.7.1-7.3.0|7.3.0=2.7.1-7.3.0|"
               "2.9=2.9.0.post9|2.9.0=2.9.0.post9|2.14=master|2.14.0=master|2026=master",
    CACHING_FIELD (version),
    .help = "The branch of torch_npu, version of PyTorch and of the plug-in, or the release as "
            "pip names it: it decides which settings there are and how a whole string of them is "
            "read." },
  CACHING_MAX_SPLIT_ROW (
      "Blocks of at least this size are never split, nor given to smaller requests; not with "
      "expandable_segments."),
  CACHING_ROUNDING_ROW (
      "An oversize block serves an oversize request only if less than this would be wasted; "
      "segment: as large_segment_size_mb."),
  CACHING_LARGE_ROW (
      "11", "20|32|64|128|256",
      "Size of the segments for requests between 1 and 10 MiB, and of the pages of large "
      "expandable segments; since master."),
  CACHING_THRESHOLD_ROW (
      "Above this part of the memory limit, old cached segments are released before new ones "
      "are taken; 0 is off; not with expandable_segments."),
  CACHING_DIVISIONS_ROW (
      "Divisions of each power of two to which padded requests are rounded: one power of two, or "
      "a list by size in MiB as [64:8,128:2,>:1]; since 2.7.1-7.3.0."),
  CACHING_BOOL_ROW (
      "expandable_segments", expandable_segments,
      "Segments are ranges of addresses that pages are mapped into as they are needed."),
  { .name = "base_addr_aligned_kb",
    .type = GEMEM_PARAM_UINT,
    .default_text = "16",
    .sweep = "0|4|16",
    .min = "0",
    .max = "16",
    .unit = "KiB",
    PARAM (align_kb),
    .help = "In expandable segments, blocks from 2 MiB on begin at multiples of this; 0 is off." },
  { .name = "page_size",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "default",
    .choices = "1g|default|0=default|1=1g",
    .aliases = "page_size_1g",
    PARAM (page_size),
    .help =
        "1g: segments and pages of large requests are multiples of 1 GiB; needs CANN 8.1.RC1 and "
        "driver 25.0.RC1; since 2.5.1-7.1.0." },
  { .name = "segment_size_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "unset",
    .sweep = "unset|20|64|128|512",
    .min = "20",
    .max = "512",
    .unit = "MiB",
    .special = "unset=0|0=0",
    PARAM (segment_size),
    .help = "Pages of large expandable segments; deprecated for large_segment_size_mb; since "
            "2.7.1-7.3.0." },
  { .name = "multi_stream_lazy_reclaim",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    PARAM (lazy_reclaim),
    .help = "Events are not polled at each request, but when nothing fits, or more than 512 are "
            "outstanding." },
  CACHING_FRACTION_ROW (
      NULL, "Below 1: the memory limit, as a part of the device's memory; since master."),
  CACHING_BOOL_ROW (
      "throw_on_npumalloc_oom", throw_on_oom,
      "A request that would take more than per_process_memory_fraction fails at once: nothing is "
      "released for it; since master."),
  CACHING_LIMIT_ROW (
      NULL, "The memory limit in bytes, as set_per_process_memory_fraction() sets it at run time."),
  CACHING_TOTAL_ROW (
      "Memory of the device, of which fractions are taken and a range of addresses is 9/8; "
      "device: as it reports."),
  { .name = "pad",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "32",
    .choices = "32|0",
    PARAM (pad),
    .help =
        "Bytes added to every request; 0: as on Ascend 950 and later with CANN 9.1.0 and later." },
  { .name = "free_physical",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "yes",
    .choices = "yes|no|1=yes|0=no|true=yes|false=no",
    PARAM (keep_pages),
    .help =
        "no: emptying the cache keeps unmapped pages for later segments, until memory is short; "
        "since 2.7.1-7.3.0." },
  { .name = "hccl_zero_copy",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    PARAM (zero_copy),
    .help =
        "Zero copy of HCCL is on: ranges of addresses are 2 GiB for small requests and 10 GiB for "
        "large ones of other streams than the default." },
  { .name = "workspace_pool",
    .type = GEMEM_PARAM_UINT,
    .default_text = "none",
    .min = "1",
    .max = "4294967295",
    .special = "none=18446744073709551615",
    PARAM (workspace_pool),
    .help = "Requests of this pool of the trace are workspaces of operators: one block per stream, "
            "outside the limit." },
  { .name = "MULTI_STREAM_MEMORY_REUSE",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "1",
    .choices = "0|1|2|3",
    PARAM (reuse),
    .help = "How collective operations give back their uses of blocks; 0: not at all, events "
            "stream-free have no effect." },
  { .name = "no_npu_memory_caching",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .aliases = "PYTORCH_NO_NPU_MEMORY_CACHING",
    PARAM (uncached),
    .help = "Every request and every free is a call of the device." },
  CACHING_BOOL_ROW (
      "release_private_pools", release_private_pools,
      "Takes private pools (graphs, MemPool) as given up by the program, so that emptying the "
      "cache returns their free segments too."),
  CACHING_BOOL_ROW ("release_lock_on_npumalloc", release_lock, NO_EFFECT),
  { .name = "pin_memory_expandable_segments",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    PARAM (pin_expandable),
    .help = NO_EFFECT },
  { .name = "pinned_mem_register",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    PARAM (pinned_register),
    .help = NO_EFFECT },
  { .name = "pinned_reserve_segment_size_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "0",
    .unit = "MiB",
    PARAM (pinned_reserve),
    .help = NO_EFFECT },
  { .name = "pinned_use_background_threads",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    PARAM (pinned_background),
    .help = NO_EFFECT },
  { .name = "pinned_max_round_threshold_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "0",
    .unit = "MiB",
    PARAM (pinned_round),
    .help = NO_EFFECT },
  { .name = "pinned_max_cached_size_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "0",
    .unit = "MiB",
    PARAM (pinned_cached),
    .help = NO_EFFECT },
  CACHING_CONF_ROW (
      "conf", conf, "PYTORCH_NPU_ALLOC_CONF", "alloc_conf|" CONF_KEYS,
      "A whole PYTORCH_NPU_ALLOC_CONF string, instead of single settings; in quotes where it "
      "has commas."),
  CACHING_CONF_ROW ("alloc_conf", alloc_conf, "PYTORCH_ALLOC_CONF", "conf|" CONF_KEYS,
                    "The same, as PYTORCH_ALLOC_CONF; both at once are an error."),
  { NULL }
};

static gboolean
fail (GError **error, const char *text)
{
  g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, text);
  return FALSE;
}

/* ---- versions */

/* name, ties, pool_holds, trim_refused, rest_replaces, range_suffices, strict; numbers, waits, unmap_waits.  As
 * gemem_caching_versions: what master took over from PyTorch 2.13 is what its pools hold, not the order of
 * equal blocks. */
const NpuVersion gemem_npu_versions[NPU_RELEASES] = {
  { { "2.1.0-6.0.0", CACHING_TIES_ADDRESS, TRUE, TRUE, FALSE, FALSE, TRUE }, NPU_PREFIX, 2, FALSE },
  { { "2.5.1-7.1.0", CACHING_TIES_ADDRESS, TRUE, TRUE, FALSE, FALSE, TRUE }, NPU_PREFIX, 2, FALSE },
  { { "2.1.0-7.2.0", CACHING_TIES_ADDRESS, TRUE, TRUE, FALSE, FALSE, TRUE }, NPU_PREFIX, 1, TRUE },
  { { "2.7.1-7.3.0", CACHING_TIES_ADDRESS, TRUE, TRUE, FALSE, FALSE, TRUE }, NPU_DIGITS, 1, TRUE },
  { { "2.7.1.post11", CACHING_TIES_ADDRESS, TRUE, TRUE, FALSE, FALSE, TRUE }, NPU_DIGITS, 1, TRUE },
  { { "2.9.0.post9", CACHING_TIES_ADDRESS, TRUE, FALSE, FALSE, FALSE, TRUE }, NPU_DIGITS, 1, TRUE },
  { { "master", CACHING_TIES_ADDRESS, FALSE, FALSE, FALSE, FALSE, FALSE }, NPU_WIDE, 1, TRUE },
};

/* What not all releases have. */
static const CachingNews news[] = {
  { "page_size", NPU_2_5_7_1 },
  { "free_physical", NPU_2_1_7_2 },
  { "roundup_power2_divisions", NPU_2_7_7_3 },
  { "segment_size_mb", NPU_2_7_7_3 },
  { "max_non_split_rounding_mb", NPU_2_7_POST11 },
  { "multi_stream_lazy_reclaim", NPU_2_7_POST11 },
  { "release_lock_on_npumalloc", NPU_2_7_POST11 },
  { "pin_memory_expandable_segments", NPU_2_7_POST11 },
  { "pinned_mem_register", NPU_2_7_POST11 },
  { "pinned_use_background_threads", NPU_2_9_POST9 },
  { "large_segment_size_mb", NPU_MASTER },
  { "per_process_memory_fraction", NPU_MASTER },
  { "throw_on_npumalloc_oom", NPU_MASTER },
  { "pinned_reserve_segment_size_mb", NPU_MASTER },
  { "pinned_max_round_threshold_mb", NPU_MASTER },
  { "pinned_max_cached_size_mb", NPU_MASTER },
  { "pad", NPU_MASTER },
  { "alloc_conf", NPU_MASTER },
};

NpuRelease
gemem_npu_since (const char *key)
{
  for (guint i = 0; i < G_N_ELEMENTS (news); i++)
    if (strcmp (news[i].key, key) == 0)
      return (NpuRelease) news[i].since;
  return NPU_2_1_6_0;
}

static gboolean
check_version (const CachingCommon *params, GError **error)
{
  const CachingNews *newer = gemem_caching_too_new (gemem_npu_params, params, news,
                                                    G_N_ELEMENTS (news));

  if (newer != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "version=%s has no %s; leave it out, or use version=%s%s",
                 gemem_npu_versions[params->version].caching.name, newer->key,
                 gemem_npu_versions[newer->since].caching.name,
                 newer->since < NPU_MASTER ? " or later" : "");
  return newer == NULL;
}

/* ---- all together */

static gboolean
check (const CachingCommon *params, guint64 part_of, GError **error)
{
  if (params->garbage_collection_threshold >= 1)
    return fail (error, "garbage_collection_threshold=1: too large; use a number below 1, or 0 for "
                        "none");
  if (params->max_split_size < params->large_segment_size)
    return fail (error, "max_split_size_mb: smaller than large_segment_size_mb; raise it, or lower "
                        "the other");
  if (gemem_npu_versions[params->version].caching.strict
      && params->max_split_size == params->large_segment_size)
    return fail (error, "max_split_size_mb: has to be above 20 before version=master; raise it");
  if (params->max_non_split_rounding != 0
      && params->max_non_split_rounding < params->large_segment_size)
    return fail (error,
                 "max_non_split_rounding_mb: smaller than large_segment_size_mb; raise it, or "
                 "lower the other");
  if (params->expandable_segments && params->max_split_size != CACHING_UNLIMITED)
    return fail (error, "expandable_segments and max_split_size_mb exclude each other; keep one of "
                        "them");
  if (params->expandable_segments && params->garbage_collection_threshold > 0)
    return fail (error, "expandable_segments and garbage_collection_threshold exclude each other; "
                        "keep one of them");
  if (part_of >= GEMEM_UNLIMITED)
    return fail (error,
                 "per_process_memory_fraction, throw_on_npumalloc_oom: the device has no limit "
                 "to take a part of; give it a capacity, or total=");
  return check_version (params, error);
}

/* The size of the pages of large expandable segments. */
static guint64
page_of (const NpuParams *params)
{
  if (params->page_size == NPU_PAGE_1G)
    return GEMEM_GIB;
  return params->segment_size != 0 && params->common.large_segment_size == 20 * GEMEM_MIB
             ? params->segment_size
             : params->common.large_segment_size;
}

static gboolean
resolve (const NpuParams *params, GememDevice *device, gboolean has_divisions,
         CachingSettings *settings, GError **error)
{
  const CachingCommon *common = &params->common;
  const gboolean rejects = common->throw_on_oom, fraction = common->memory_fraction < 1;
  const guint64 total = fraction || rejects ? gemem_caching_memory_of (common, device) : 0;
  guint64 part, limit;

  if (!check (common, total, error))
    return FALSE;
  part = (guint64) (common->memory_fraction * (double) total);
  limit = fraction && common->memory_limit == CACHING_UNLIMITED ? part : common->memory_limit;
  if (!gemem_caching_common_resolve (common, limit, has_divisions, settings, error))
    return FALSE;
  settings->page = page_of (params);
  settings->pad = params->pad == PAD_32 ? 32 : 0;
  if (settings->expandable && params->align_kb > 0)
    {
      settings->align = params->align_kb * GEMEM_KIB;
      settings->align_from = 2 * GEMEM_MIB;
    }
  settings->segment_unit = params->page_size == NPU_PAGE_1G ? GEMEM_GIB : 0;
  if (rejects)
    settings->reject_above = part;
  settings->small_range = params->zero_copy ? 2 * GEMEM_GIB : 0;
  settings->stream_range = params->zero_copy ? 10 * GEMEM_GIB : 0;
  settings->lazy_events = params->lazy_reclaim ? 512 : 0;
  settings->eighth_down = settings->sync_device = TRUE;
  settings->unmap_waits = gemem_npu_versions[common->version].unmap_waits;
  settings->uncached = params->uncached;
  return TRUE;
}

gboolean
gemem_npu_settings_resolve (const NpuParams *params, GememDevice *device, CachingSettings *settings,
                            GError **error)
{
  NpuParams copy = *params;
  const char *conf = gemem_caching_conf_of (&params->common);
  gboolean has_divisions = FALSE;

  memset (settings, 0, sizeof *settings);
  gemem_caching_settings_plain (settings);
  settings->version = &gemem_npu_versions[params->common.version].caching;
  if ((conf == NULL || gemem_npu_conf_parse (conf, &copy, settings, &has_divisions, error))
      && resolve (&copy, device, has_divisions, settings, error))
    return TRUE;
  g_prefix_error (error, "allocator torch-npu: ");
  return FALSE;
}

/* @params with what the string of settings says, but for lists, which come out in @settings; FALSE: there is none, or
 * it is refused. */
static gboolean
unfold (NpuParams *params, CachingSettings *settings, gboolean *has_divisions)
{
  const char *conf = gemem_caching_conf_of (&params->common);

  memset (settings, 0, sizeof *settings);
  settings->version = &gemem_npu_versions[params->common.version].caching;
  return conf != NULL && *conf != '\0'
         && gemem_npu_conf_parse (conf, params, settings, has_divisions, NULL);
}

void
gemem_npu_settings_unfold (gpointer given)
{
  NpuParams *params = given, copy = *params;
  CachingSettings settings;
  gboolean has_divisions = FALSE;

  if (!unfold (&copy, &settings, &has_divisions))
    return;
  if (has_divisions)
    {
      g_free (copy.common.divisions);
      copy.common.divisions = gemem_caching_divisions_text (settings.divisions);
    }
  *params = copy;
}

/* Whether the memory of the program has a limit. */
static gboolean
has_limit (const CachingCommon *common)
{
  return common->memory_fraction < 1 || common->memory_limit != CACHING_UNLIMITED;
}

void
gemem_npu_notes (gconstpointer given, GememNoteFunc func, gpointer data)
{
  NpuParams copy = *(const NpuParams *) given, *params = &copy;
  CachingSettings settings;
  gboolean has_divisions = FALSE;

  if (!unfold (&copy, &settings, &has_divisions))
    copy = *(const NpuParams *) given;
  if (params->common.garbage_collection_threshold > 0 && !has_limit (&params->common))
    func ("torch-npu: garbage_collection_threshold has no effect without a limit; set "
          "per_process_memory_fraction or memory_limit, or leave it out",
          data);
  if (params->segment_size != 0)
    func ("torch-npu: segment_size_mb is deprecated; use large_segment_size_mb", data);
  if (params->segment_size != 0 && page_of (params) != params->segment_size)
    func ("torch-npu: segment_size_mb has no effect beside page_size=1g or large_segment_size_mb; "
          "leave it out",
          data);
  else if (params->segment_size != 0 && !params->common.expandable_segments)
    func ("torch-npu: segment_size_mb has no effect without expandable_segments; set both, or none",
          data);
}
