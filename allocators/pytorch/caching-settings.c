/* caching-settings.c - the options of `pytorch-caching`, under PyTorch's names, the rounding they
 * decide, and what `torch-npu` shares of them.
 *
 * Why separate: the event path should not parse text (a number or "[64:8,128:2,>:1]"); it reads
 * CachingSettings, which holds plain numbers.
 *
 * Invariants: sizes with the suffix _mb count MiB when they carry no unit; contradictory settings
 * are an error; a setting without meaning in a sequential model is accepted only if its help says
 * so.  The products fraction * total and threshold * limit are one IEEE double multiplication each,
 * rounded once and then truncated to an integer, as in the real system: the same on every machine.
 * Cost: once per allocator; gemem_caching_round_divided() is O(1).
 * Origin: peers.md 1a.3, 1a.8, 1a.11.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "allocators/pytorch/caching-rows.h"
#include "base/flags.h"
#include "base/units.h"

#define WHAT "allocator pytorch-caching"

/* The choices, and other releases that decide as one of them. */
#define CACHING_VERSIONS \
  "2.6|2.8|2.9|2.10|2.11|2.12.1|2.13|2.15|2.0=2.6|2.1=2.6|2.2=2.6|2.3=2.6|2.4=2.6|2.5=2.6|" \
  "2.7=2.6|2.12=2.12.1|2.14=2.13"

#define PARAM(field) .offset = G_STRUCT_OFFSET (CachingParams, field)
#define CONF_KEYS \
  "backend|" CACHING_CONF_KEYS \
  "per_process_memory_fraction|release_lock_on_cudamalloc|throw_on_cudamalloc_oom|" \
  "graph_capture_record_stream_reuse|expandable_segments_reserve|pinned"

const GememParam gemem_caching_params[] = {
  { .name = "version",
    .type = GEMEM_PARAM_CHOICE,
    .flags = GEMEM_PARAM_RELEASE | GEMEM_PARAM_NEAREST,
    .default_text = "2.15",
    .choices = CACHING_VERSIONS,
    CACHING_FIELD (version),
    .help = "The release of PyTorch whose decisions are made: ties between free blocks, private "
            "pools, and what settings mean differ." },
  CACHING_MAX_SPLIT_ROW (
      "Blocks of at least this size are never split, nor given to smaller requests."),
  CACHING_ROUNDING_ROW (
      "An oversize block serves an oversize request only if less than this would be wasted; "
      "segment: the size of large_segment_size_mb, which is also the least."),
  CACHING_LARGE_ROW ("10", "20|32|64|128|256",
                     "Size of the segments for requests between 1 and 10 MiB."),
  CACHING_THRESHOLD_ROW (
      "Above this part of the memory limit, old cached segments are released before new ones "
      "are taken; 0 is off, and without a limit it "
      "has no effect."),
  CACHING_DIVISIONS_ROW (
      "Divisions of each power of two to which requests are rounded: one power of two, or a "
      "list by size in MiB as [64:8,128:2,>:1]."),
  CACHING_FRACTION_ROW ("memory_limit",
                        "Below 1: the memory limit, as a part of the device's memory (total)."),
  CACHING_LIMIT_ROW ("per_process_memory_fraction",
                     "The memory limit in bytes: per_process_memory_fraction, already multiplied."),
  CACHING_BOOL_ROW (
      "expandable_segments", expandable_segments,
      "Segments are ranges of addresses that pages are mapped into as they are needed; on a "
      "device with virtual memory."),
  CACHING_TOTAL_ROW (
      "Memory of the device, of which per_process_memory_fraction is a part and the addresses of "
      "an expandable segment are 9/8; device: as it reports."),
  CACHING_BOOL_ROW (
      "release_private_pools", release_private_pools,
      "Takes private pools (CUDA graphs, MemPool) as given up by the program, so that "
      "emptying the cache returns their free segments too."),
  { .name = "backend",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "native",
    .choices = "native|cudaMallocAsync",
    PARAM (backend),
    .help =
        "cudaMallocAsync: a pool of CUDA that keeps its memory, as cuda-async:release_threshold="
        "unlimited; an approximation, and no other setting has an effect." },
  CACHING_BOOL_ROW ("release_lock_on_cudamalloc", release_lock,
                    "Accepted; no effect in a sequential model."),
  CACHING_BOOL_ROW (
      "throw_on_cudamalloc_oom", throw_on_oom,
      "A request for which the device would need more memory than it has is refused at once, "
      "before anything is released; without a memory limit, since 2.12.1."),
  { .name = "expandable_segments_reserve",
    .type = GEMEM_PARAM_STRING,
    .default_text = "",
    .choices = "0.5|2G",
    PARAM (reserve),
    .help = "Addresses of an expandable segment: a part of the device's memory, or GiB as 40G; at "
            "most 9/8 of the memory, which is the default; since 2.15." },
  { .name = "graph_capture_record_stream_reuse",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    PARAM (capture_reuse),
    .help = "Accepted since 2.9; no effect, as no trace holds the dependencies inside a graph." },
  { .name = "pinned",
    .type = GEMEM_PARAM_STRING,
    .default_text = "",
    .choices = "True",
    .aliases = "pinned_use_background_threads|pinned_use_cuda_host_register|pinned_use_hip_host_"
               "register|pinned_num_register_threads|pinned_reserve_segment_size_mb|pinned_max_"
               "cached_size_mb|pinned_max_round_threshold_mb|pinned_free_catch_all",
    PARAM (pinned),
    .help = "The options of the cache of host memory: accepted; no effect on device memory." },
  { .name = "use_on_oom",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "no",
    .choices = "no",
    PARAM (use_on_oom),
    .help = "Only no: an option of a torch.cuda.MemPool, which no trace names." },
  { .name = "no_split",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "no",
    .choices = "no",
    PARAM (no_split),
    .help = "Only no: an option of a torch.cuda.MemPool, which no trace names." },
  { .name = "sleep_pools_expandable",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    PARAM (sleep_expandable),
    .help =
        "vLLM or torch_memory_saver leaves expandable_segments on for its pools: nothing of them "
        "sleeps in 2.6, and 2.8 and 2.9 refuse them; since 2.10 it makes no difference." },
  CACHING_CONF_ROW (
      "conf", conf, "PYTORCH_CUDA_ALLOC_CONF|PYTORCH_HIP_ALLOC_CONF", "alloc_conf|" CONF_KEYS,
      "A whole PYTORCH_CUDA_ALLOC_CONF string, instead of single settings, read to the letter "
      "as `version` reads it; in quotes where it has commas."),
  /* not conf, which counts more in the environment */
  CACHING_CONF_ROW ("alloc_conf", alloc_conf, "PYTORCH_ALLOC_CONF", CONF_KEYS,
                    "The same, as PYTORCH_ALLOC_CONF, which is read since 2.10."),
  { NULL }
};

static gboolean
fail (GError **error, const char *key, const char *value, const char *problem)
{
  if (value != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s='%s': %s", key, value, problem);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: %s", key, problem);
  return FALSE;
}

/* ---- text */

/* A copy without white space, which these options ignore. */
static char *
squeeze (const char *text)
{
  GString *squeezed = g_string_new (NULL);

  for (; *text != '\0'; text++)
    if (!g_ascii_isspace (*text))
      g_string_append_c (squeezed, *text);
  return g_string_free (squeezed, FALSE);
}

/* ---- roundup_power2_divisions */

static gboolean
parse_power (const char *text, gboolean zero_too, guint64 max, guint64 *value)
{
  if (!gemem_parse_digits (text, 10, 0, max, value))
    return FALSE;
  return *value == 0 ? zero_too : (*value & (*value - 1)) == 0;
}

static guint
log2_floor (guint64 value)
{
  return 63 - (guint) __builtin_clzll (value);
}

void
gemem_caching_divisions_set (guint64 *slots, guint64 key, guint64 divisions, guint *last,
                             gboolean *first)
{
  const guint slot = MIN (log2_floor (key), CACHING_DIVISION_SLOTS - 1);

  for (guint lower = 0; *first && lower < slot; lower++)
    slots[lower] = divisions;
  slots[slot] = divisions;
  *last = slot;
  *first = FALSE;
}

void
gemem_caching_divisions_set_rest (const CachingVersion *version, guint64 *slots, guint64 divisions,
                                  guint last)
{
  for (guint slot = last + (version->rest_replaces ? 0 : 1); slot < CACHING_DIVISION_SLOTS; slot++)
    slots[slot] = divisions;
}

/* One "key:value" of a list. */
typedef struct
{
  guint64 key, value; /* key 0: `>` */
} Entry;

static gboolean
parse_entry (const char *entry, Entry *parsed, const char *text, GError **error)
{
  g_auto (GStrv) pair = g_strsplit (entry, ":", -1);

  if (g_strv_length (pair) != 2)
    return fail (error, "roundup_power2_divisions", text,
                 "each entry of the list is SIZE:DIVISIONS, as in [64:8,128:2,>:1]");
  if (!parse_power (pair[1], TRUE, G_MAXUINT32, &parsed->value))
    return fail (error, "roundup_power2_divisions", text,
                 "divisions must be powers of two, or 0 for none");
  parsed->key = 0;
  if (!g_str_equal (pair[0], ">") && !parse_power (pair[0], FALSE, G_MAXUINT64, &parsed->key))
    return fail (error, "roundup_power2_divisions", text,
                 "sizes are powers of two in MiB, and > stands last for all above");
  return TRUE;
}

gboolean
gemem_caching_divisions_parse (const CachingVersion *version, const char *text, guint64 *slots,
                               GError **error)
{
  g_autofree char *squeezed = squeeze (text);
  const gsize length = strlen (squeezed);
  g_auto (GStrv) entries = NULL;
  guint64 value;
  guint last = 0;
  gboolean first = TRUE, ended = FALSE;

  memset (slots, 0, CACHING_DIVISION_SLOTS * sizeof *slots);
  if (*squeezed != '[')
    {
      if (!parse_power (squeezed, TRUE, G_MAXUINT32, &value))
        return fail (error, "roundup_power2_divisions", text,
                     "use a power of two, 0 for none, or a list as [64:8,128:2,>:1]");
      for (guint i = 0; i < CACHING_DIVISION_SLOTS; i++)
        slots[i] = value;
      return TRUE;
    }
  if (length < 3 || squeezed[length - 1] != ']')
    return fail (error, "roundup_power2_divisions", text,
                 "the list ends with ], as in [64:8,128:2,>:1]");
  squeezed[length - 1] = '\0';
  entries = g_strsplit (squeezed + 1, ",", -1);
  for (guint i = 0; entries[i] != NULL; i++)
    {
      Entry entry;

      if (ended)
        return fail (error, "roundup_power2_divisions", text, "nothing may follow the entry for >");
      if (!parse_entry (entries[i], &entry, text, error))
        return FALSE;
      ended = entry.key == 0;
      if (ended)
        gemem_caching_divisions_set_rest (version, slots, entry.value, last);
      else
        gemem_caching_divisions_set (slots, entry.key, entry.value, &last, &first);
    }
  return TRUE;
}

/* Distance between the rounded sizes near @size. */
static guint64
step_of (const CachingSettings *settings, guint64 size)
{
  const guint log2 = log2_floor (size);
  const guint slot = CLAMP (log2, 20, 20 + CACHING_DIVISION_SLOTS - 1) - 20;
  const guint64 divisions = settings->divisions[slot];

  if (divisions <= 1 || size <= CACHING_QUANTUM * divisions)
    return CACHING_QUANTUM;
  /* >= 512, since size > 512 * divisions, unless that product is beyond 64 bits: then the
   * next power of two */
  return (G_GUINT64_CONSTANT (1) << log2)
         >> (log2_floor (divisions) <= log2 ? log2_floor (divisions) : 0);
}

guint64
gemem_caching_round_divided (const CachingSettings *settings, guint64 size)
{
  const guint64 step = step_of (settings, size);

  return gemem_align_up (size, step);
}

guint64
gemem_caching_round_down (const CachingSettings *settings, guint64 size)
{
  return size < CACHING_QUANTUM ? 0 : size & ~(step_of (settings, size) - 1);
}

/* ---- expandable_segments_reserve */

gboolean
gemem_caching_reserve_parse (const char *text, CachingSettings *settings)
{
  char *end;
  const double value = g_ascii_strtod (text, &end);
  const gboolean gibibytes = *end == 'G' || *end == 'g';

  if (end == text || end[gibibytes] != '\0' || !isfinite (value) || value <= 0
      || strpbrk (text, "xX") != NULL) /* strtod() has hexadecimal numbers, PyTorch not */
    return FALSE;
  settings->reserve_part = gibibytes ? 0 : value;
  settings->reserve_bytes = gibibytes ? value * (double) GEMEM_GIB : 0;
  return TRUE;
}

/* ---- together */

const CachingNews *
gemem_caching_too_new (const GememParam *table, const CachingCommon *params,
                       const CachingNews *news, guint n)
{
  for (guint i = 0; i < n; i++)
    if (params->version < news[i].since
        && !gemem_param_is_default (gemem_params_find (table, news[i].key), params))
      return &news[i];
  return NULL;
}

/* Settings that the version does not have. */
static gboolean
check_version (const CachingCommon *params, GError **error)
{
  static const CachingNews news[] = {
    { "large_segment_size_mb", CACHING_2_11 },
    { "throw_on_cudamalloc_oom", CACHING_2_12_1 },
    { "graph_capture_record_stream_reuse", CACHING_2_9 },
    { "expandable_segments_reserve", CACHING_2_15 },
  };
  const CachingNews *newer = gemem_caching_too_new (gemem_caching_params, params, news,
                                                    G_N_ELEMENTS (news));

  if (newer != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s: PyTorch %s does not have it; leave it out, or use version=%s or later",
                 newer->key, gemem_caching_versions[params->version].name,
                 gemem_caching_versions[newer->since].name);
  return newer == NULL;
}

/* A variable that the version does not read. */
static gboolean
check_variable (const CachingCommon *params, GError **error)
{
  const GememFlag flag = { "PYTORCH_ALLOC_CONF", params->alloc_conf != NULL,
                           params->version >= CACHING_2_10,
                           "is read since version=2.10; use PYTORCH_CUDA_ALLOC_CONF" };

  return gemem_check_flags (WHAT, &flag, 1, error);
}

/* max_split_size_mb and max_non_split_rounding_mb are at least, before 2.10 above, the
 * large segment. */
static gboolean
check_sizes (const CachingCommon *params, const CachingVersion *version, GError **error)
{
  const guint64 least = params->large_segment_size + (version->strict ? 1 : 0);

  if (params->large_segment_size <= CACHING_MIN_LARGE)
    return fail (error, "large_segment_size_mb", NULL, "too small; it has to be above 10");
  if (params->max_split_size < least)
    return fail (error, "max_split_size_mb", NULL,
                 version->strict
                     ? "too small before PyTorch 2.10; it has to be above 20"
                     : "smaller than large_segment_size_mb; raise it, or lower the other");
  if (params->max_non_split_rounding != 0 && params->max_non_split_rounding < least)
    return fail (error, "max_non_split_rounding_mb", NULL,
                 version->strict
                     ? "too small before PyTorch 2.10; it has to be above 20"
                     : "too small: below large_segment_size_mb; raise it, or lower the other");
  return TRUE;
}

void
gemem_caching_settings_plain (CachingSettings *settings)
{
  settings->pad = settings->segment_unit = settings->lazy_events = 0;
  settings->align = 1;
  settings->align_from = settings->reject_above = CACHING_UNLIMITED;
}

guint64
gemem_caching_memory_of (const CachingCommon *params, GememDevice *device)
{
  GememDeviceInfo info = { .total = params->total };

  if (params->total == 0)
    gemem_device_info (device, &info);
  return info.total;
}

void
gemem_caching_set_collection (CachingSettings *settings, double threshold)
{
  settings->gc_threshold = threshold;
  settings->gc = settings->limit != CACHING_UNLIMITED && threshold > 0;
  settings->gc_trigger = settings->gc ? (guint64) (threshold * (double) settings->limit) : 0;
}

gboolean
gemem_caching_common_resolve (const CachingCommon *params, guint64 limit, gboolean has_divisions,
                              CachingSettings *settings, GError **error)
{
  settings->max_split_size = params->max_split_size;
  settings->max_non_split_rounding = params->max_non_split_rounding != 0
                                         ? params->max_non_split_rounding
                                         : params->large_segment_size;
  settings->large_segment_size = params->large_segment_size;
  settings->release_private_pools = params->release_private_pools;
  settings->expandable = params->expandable_segments;
  settings->total = params->total;
  settings->limit = limit;
  gemem_caching_set_collection (settings, params->garbage_collection_threshold);
  if (!has_divisions
      && !gemem_caching_divisions_parse (settings->version, params->divisions, settings->divisions,
                                         error))
    return FALSE;
  for (guint i = 0; i < CACHING_DIVISION_SLOTS; i++)
    settings->has_divisions |= settings->divisions[i] > 1;
  return TRUE;
}

static gboolean
resolve (const CachingParams *params, GememDevice *device, gboolean has_divisions,
         CachingSettings *settings, GError **error)
{
  const CachingCommon *common = &params->common;
  const gboolean fraction = common->memory_fraction < 1;
  const guint64 part_of = fraction && device != NULL ? gemem_caching_memory_of (common, device) : 0;

  if (common->garbage_collection_threshold >= 1)
    return fail (error, "garbage_collection_threshold", "1",
                 "too large; use a number below 1, or 0 for none");
  if (!check_version (common, error) || !check_sizes (common, settings->version, error))
    return FALSE;
  if (part_of >= GEMEM_UNLIMITED)
    return fail (error, "per_process_memory_fraction", NULL,
                 "the device has no limit to take a part of; give it a capacity, or total=");
  settings->page = common->large_segment_size;
  settings->throw_on_oom = common->throw_on_oom;
  if (params->reserve != NULL && *params->reserve != '\0'
      && !gemem_caching_reserve_parse (params->reserve, settings))
    return fail (error, "expandable_segments_reserve", params->reserve,
                 "use a part of the device's memory, as 0.5, or GiB, as 40G");
  return gemem_caching_common_resolve (
      common,
      fraction ? (guint64) (common->memory_fraction * (double) part_of) : common->memory_limit,
      has_divisions, settings, error);
}

gboolean
gemem_caching_settings_resolve (const CachingParams *params, GememDevice *device,
                                CachingSettings *settings, GError **error)
{
  CachingParams copy = *params;
  const char *conf = gemem_caching_conf_of (&params->common);
  gboolean has_divisions = FALSE;

  memset (settings, 0, sizeof *settings);
  gemem_caching_settings_plain (settings);
  settings->version = &gemem_caching_versions[params->common.version];
  if (!check_variable (&params->common, error)
      || (conf != NULL && !gemem_caching_conf_parse (conf, &copy, settings, &has_divisions, error)))
    return FALSE;
  settings->sleep_expandable = copy.sleep_expandable;
  settings->async = copy.backend == CACHING_BACKEND_ASYNC;
  if (settings->async || resolve (&copy, device, has_divisions, settings, error))
    return TRUE;
  g_prefix_error (error, WHAT ": ");
  return FALSE;
}

char *
gemem_caching_divisions_text (const guint64 *divisions)
{
  GString *text = g_string_new ("[");
  gboolean alike = TRUE;

  for (guint i = 0; i < CACHING_DIVISION_SLOTS; i++)
    {
      alike &= divisions[i] == divisions[0];
      g_string_append_printf (text, "%s%u:%" G_GUINT64_FORMAT, i > 0 ? "," : "", 1u << i,
                              divisions[i]);
    }
  if (alike)
    g_string_printf (text, "%" G_GUINT64_FORMAT, divisions[0]);
  else
    g_string_append_c (text, ']');
  return g_string_free (text, FALSE);
}

/* "0.5", "40G".  g_free(). */
static char *
reserve_text (const CachingSettings *settings)
{
  const gboolean part = settings->reserve_part > 0;
  char digits[G_ASCII_DTOSTR_BUF_SIZE];

  g_ascii_formatd (digits, sizeof digits, "%.15g",
                   part ? settings->reserve_part : settings->reserve_bytes / (double) GEMEM_GIB);
  return g_strconcat (digits, part ? "" : "G", NULL);
}

void
gemem_caching_settings_unfold (gpointer given)
{
  CachingParams *params = given, copy = *params;
  const char *conf = gemem_caching_conf_of (&params->common);
  CachingSettings settings = { .version = &gemem_caching_versions[params->common.version] };
  gboolean has_divisions = FALSE;

  if (conf == NULL || *conf == '\0'
      || !gemem_caching_conf_parse (conf, &copy, &settings, &has_divisions, NULL))
    return;
  if (has_divisions)
    {
      g_free (copy.common.divisions);
      copy.common.divisions = gemem_caching_divisions_text (settings.divisions);
    }
  if (settings.reserve_part > 0 || settings.reserve_bytes > 0)
    {
      g_free (copy.reserve);
      copy.reserve = reserve_text (&settings);
    }
  *params = copy;
}
