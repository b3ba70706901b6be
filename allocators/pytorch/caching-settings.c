/* caching-settings.c - the options of `pytorch-caching`, under PyTorch's names, and the rounding
 * they decide.
 *
 * Why separate: the event path should not parse text (a number or "[64:8,128:2,>:1]", a whole
 * PYTORCH_CUDA_ALLOC_CONF string); it reads CachingSettings, which holds plain numbers.
 *
 * Invariants: sizes with the suffix _mb count MiB when they carry no unit; contradictory settings
 * are an error; a setting without meaning in a sequential model is accepted only if its help says
 * so.  The products fraction * total and threshold * limit are one IEEE double multiplication each,
 * rounded once and then truncated to an integer, as in the real system: the same on every machine.
 * Cost: once per allocator; gemem_caching_round_divided() is O(1).
 * Origin: peers.md 1a.3, 1a.8, 1a.11.
 */
#include "config.h"

#include <string.h>

#include "allocators/pytorch/caching.h"
#include "base/units.h"

#define WHAT "allocator pytorch-caching"

#define PARAM(field) .offset = G_STRUCT_OFFSET (CachingParams, field)
#define CONF_KEYS \
  "backend|max_split_size_mb|max_non_split_rounding_mb|large_segment_size_mb|garbage_collection_" \
  "threshold|roundup_power2_divisions|" \
  "expandable_segments|per_process_memory_fraction|release_lock_on_cudamalloc"

const GememParam gemem_caching_params[] = {
  { .name = "max_split_size_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "unlimited",
    .sweep = "unlimited|20|32|64|128|256|512|1024",
    .min = "20",
    .unit = "MiB",
    .special = "unlimited=18446744073709551615",
    PARAM (max_split_size),
    .help = "Blocks of at least this size are never split, nor given to smaller requests." },
  { .name = "max_non_split_rounding_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "segment",
    .sweep = "20|32|64|128|256",
    .max = "1TiB",
    .unit = "MiB",
    .special = "segment=0",
    PARAM (max_non_split_rounding),
    .help = "An oversize block serves an oversize request only if less than this would be wasted; "
            "segment: the size of large_segment_size_mb, which is also the least." },
  { .name = "large_segment_size_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "20",
    .sweep = "10|20|32|64|128|256",
    .min = "10",
    .max = "1TiB",
    .unit = "MiB",
    PARAM (large_segment_size),
    .help = "Size of the segments for requests between 1 and 10 MiB." },
  { .name = "garbage_collection_threshold",
    .type = GEMEM_PARAM_DOUBLE,
    .default_text = "0",
    .sweep = "0|0.5|0.6|0.7|0.8|0.9",
    .min = "0",
    .max = "1",
    PARAM (garbage_collection_threshold),
    .help = "Above this part of the memory limit, old cached segments are released before new ones "
            "are taken; 0 is off, and without a limit it "
            "has no effect." },
  { .name = "roundup_power2_divisions",
    .type = GEMEM_PARAM_STRING,
    .default_text = "0",
    .sweep = "0|1|2|4|8|16",
    PARAM (divisions),
    .help = "Divisions of each power of two to which requests are rounded: one power of two, or a "
            "list by size in MiB as [64:8,128:2,>:1]." },
  { .name = "per_process_memory_fraction",
    .type = GEMEM_PARAM_DOUBLE,
    .default_text = "1",
    .min = "0",
    .max = "1",
    .conflicts = "memory_limit",
    PARAM (memory_fraction),
    .help = "Below 1: the memory limit, as a part of the device's capacity." },
  { .name = "memory_limit",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "none",
    .aliases = "limit",
    .special = "none=18446744073709551615",
    .conflicts = "per_process_memory_fraction",
    PARAM (memory_limit),
    .help = "The memory limit in bytes: per_process_memory_fraction, already multiplied." },
  { .name = "expandable_segments",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    PARAM (expandable_segments),
    .help = "Segments are ranges of addresses that pages are mapped into as they are needed; on a "
            "device with virtual memory." },
  { .name = "total",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "device",
    .special = "device=0",
    PARAM (total),
    .help =
        "Memory of the device, of which the addresses of an expandable segment are 9/8; device: "
        "as it reports." },
  { .name = "release_private_pools",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    PARAM (release_private_pools),
    .help = "Takes private pools (CUDA graphs, MemPool) as given up by the program, so that "
            "emptying the cache returns their free segments too." },
  { .name = "backend",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "native",
    .choices = "native",
    PARAM (backend),
    .help = "Only native." },
  { .name = "release_lock_on_cudamalloc",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    PARAM (release_lock),
    .help = "Accepted; no effect in a sequential model." },
  { .name = "conf",
    .type = GEMEM_PARAM_STRING,
    .aliases = "PYTORCH_CUDA_ALLOC_CONF|PYTORCH_HIP_ALLOC_CONF|PYTORCH_ALLOC_CONF",
    .choices = "max_split_size_mb:128",
    .conflicts = CONF_KEYS,
    PARAM (conf),
    .help = "A whole PYTORCH_CUDA_ALLOC_CONF string, instead of single settings." },
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

/* Splits at the commas outside brackets. */
static GPtrArray *
split_outside (const char *text)
{
  GPtrArray *parts = g_ptr_array_new_with_free_func (g_free);
  const char *start = text;
  int depth = 0;

  for (const char *p = text;; p++)
    {
      depth += *p == '[' ? 1 : *p == ']' ? -1 : 0;
      if (*p == '\0' || (*p == ',' && depth <= 0))
        {
          g_ptr_array_add (parts, g_strndup (start, (gsize) (p - start)));
          start = p + 1;
        }
      if (*p == '\0')
        return parts;
    }
}

/* ---- roundup_power2_divisions */

static gboolean
parse_power (const char *text, gboolean zero_too, guint64 max, guint64 *value)
{
  if (!g_ascii_string_to_unsigned (text, 10, 0, max, value, NULL))
    return FALSE;
  return *value == 0 ? zero_too : (*value & (*value - 1)) == 0;
}

static guint
log2_floor (guint64 value)
{
  return 63 - (guint) __builtin_clzll (value);
}

/* Parses one "key:value" of a list; @last: slot of the previous entry, at first -1. */
static gboolean
parse_entry (const char *entry, guint32 *slots, int *last, const char *text, GError **error)
{
  g_auto (GStrv) pair = g_strsplit (entry, ":", -1);
  guint64 key, value;
  int slot;

  if (g_strv_length (pair) != 2)
    return fail (error, "roundup_power2_divisions", text,
                 "each entry of the list is SIZE:DIVISIONS, as in [64:8,128:2,>:1]");
  if (!parse_power (pair[1], TRUE, G_MAXUINT32, &value))
    return fail (error, "roundup_power2_divisions", text,
                 "divisions must be powers of two, or 0 for none");
  if (g_str_equal (pair[0], ">"))
    {
      /* alone it leaves the lowest slot at 0 (since 2.10) */
      for (slot = MAX (*last, 0) + 1; slot < CACHING_DIVISION_SLOTS; slot++)
        slots[slot] = (guint32) value;
      *last = CACHING_DIVISION_SLOTS;
      return TRUE;
    }
  if (!parse_power (pair[0], FALSE, G_MAXUINT64, &key))
    return fail (error, "roundup_power2_divisions", text,
                 "sizes are powers of two in MiB, and > stands last for all above");
  slot = (int) MIN (log2_floor (key), CACHING_DIVISION_SLOTS - 1);
  for (int lower = 0; *last == -1 && lower < slot; lower++)
    slots[lower] = (guint32) value;
  slots[slot] = (guint32) value;
  *last = slot;
  return TRUE;
}

gboolean
gemem_caching_divisions_parse (const char *text, guint32 *slots, GError **error)
{
  g_autofree char *squeezed = squeeze (text);
  const gsize length = strlen (squeezed);
  g_auto (GStrv) entries = NULL;
  guint64 value;
  int last = -1;

  memset (slots, 0, CACHING_DIVISION_SLOTS * sizeof *slots);
  if (*squeezed != '[')
    {
      if (!parse_power (squeezed, TRUE, G_MAXUINT32, &value))
        return fail (error, "roundup_power2_divisions", text,
                     "use a power of two, 0 for none, or a list as [64:8,128:2,>:1]");
      for (guint i = 0; i < CACHING_DIVISION_SLOTS; i++)
        slots[i] = (guint32) value;
      return TRUE;
    }
  if (length < 3 || squeezed[length - 1] != ']')
    return fail (error, "roundup_power2_divisions", text,
                 "the list ends with ], as in [64:8,128:2,>:1]");
  squeezed[length - 1] = '\0';
  entries = g_strsplit (squeezed + 1, ",", -1);
  for (guint i = 0; entries[i] != NULL; i++)
    {
      if (last == CACHING_DIVISION_SLOTS)
        return fail (error, "roundup_power2_divisions", text, "nothing may follow the entry for >");
      if (!parse_entry (entries[i], slots, &last, text, error))
        return FALSE;
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
  /* >= 512, since size > 512 * divisions */
  return (G_GUINT64_CONSTANT (1) << log2) >> log2_floor (divisions);
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

/* ---- PYTORCH_CUDA_ALLOC_CONF */

static gboolean
is_conf_key (const char *known, const char *key)
{
  g_auto (GStrv) keys = g_strsplit (known, "|", -1);

  return g_strv_contains ((const char *const *) keys, key);
}

gboolean
gemem_caching_conf_apply (const GememParam *table, gpointer params, const char *keys,
                          CachingConfCheck check, const char *conf, GError **error)
{
  static const GememParamContext context = { .native = TRUE };
  g_autofree char *squeezed = squeeze (conf);
  g_autoptr (GPtrArray) parts = split_outside (squeezed);

  for (guint i = 0; i < parts->len; i++)
    {
      char *part = g_ptr_array_index (parts, i);
      char *colon = strchr (part, ':');
      const char *wanted = NULL;

      if (*part == '\0')
        continue;
      if (colon == NULL)
        return fail (error, "conf", conf, "each entry is KEY:VALUE, as in max_split_size_mb:200");
      *colon = '\0';
      if (!is_conf_key (keys, part))
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "conf: unknown key %s; known are %s",
                       part, keys);
          return FALSE;
        }
      if (check != NULL)
        wanted = check (gemem_params_find (table, part), colon + 1);
      if (wanted != NULL)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "conf: %s:%s: use %s", part,
                       colon + 1, wanted);
          return FALSE;
        }
      if (!gemem_params_set (table, params, &context, "conf", part, colon + 1, error))
        return FALSE;
    }
  return TRUE;
}

/* ---- all together */

void
gemem_caching_settings_plain (CachingSettings *settings)
{
  settings->pad = settings->segment_unit = settings->lazy_events = 0;
  settings->align = 1;
  settings->align_from = settings->reject_above = CACHING_UNLIMITED;
}

static gboolean
resolve (const CachingParams *params, guint64 capacity, CachingSettings *settings, GError **error)
{
  if (params->garbage_collection_threshold >= 1)
    return fail (error, "garbage_collection_threshold", "1",
                 "too large; use a number below 1, or 0 for none");
  if (params->max_split_size < params->large_segment_size)
    return fail (error, "max_split_size_mb", NULL,
                 "smaller than large_segment_size_mb; raise it, or lower the other");
  if (params->max_non_split_rounding != 0
      && params->max_non_split_rounding < params->large_segment_size)
    return fail (error, "max_non_split_rounding_mb", NULL,
                 "too small: below large_segment_size_mb; raise it, or lower the other");
  if (params->memory_fraction < 1 && capacity == G_MAXUINT64)
    return fail (error, "per_process_memory_fraction", NULL,
                 "the device has no limit to take a part of; give it a capacity");
  settings->max_split_size = params->max_split_size;
  settings->max_non_split_rounding = params->max_non_split_rounding != 0
                                         ? params->max_non_split_rounding
                                         : params->large_segment_size;
  settings->large_segment_size = settings->page = params->large_segment_size;
  settings->release_private_pools = params->release_private_pools;
  settings->expandable = params->expandable_segments;
  settings->total = params->total;
  settings->limit = params->memory_limit;
  if (params->memory_fraction < 1)
    settings->limit = (guint64) (params->memory_fraction * (double) capacity);
  settings->gc = settings->limit != CACHING_UNLIMITED && params->garbage_collection_threshold > 0;
  settings->gc_trigger = settings->gc ? (guint64) (params->garbage_collection_threshold
                                                   * (double) settings->limit)
                                      : 0;
  if (!gemem_caching_divisions_parse (params->divisions, settings->divisions, error))
    return FALSE;
  for (guint i = 0; i < CACHING_DIVISION_SLOTS; i++)
    settings->has_divisions = settings->has_divisions || settings->divisions[i] > 1;
  return TRUE;
}

gboolean
gemem_caching_settings_resolve (const CachingParams *params, guint64 capacity,
                                CachingSettings *settings, GError **error)
{
  CachingParams copy = *params;
  gboolean ok;

  memset (settings, 0, sizeof *settings);
  gemem_caching_settings_plain (settings);
  copy.divisions = g_strdup (params->divisions);
  copy.conf = g_strdup (params->conf != NULL ? params->conf : "");
  ok = gemem_caching_conf_apply (gemem_caching_params, &copy, CONF_KEYS, NULL, copy.conf, error)
       && resolve (&copy, capacity, settings, error);
  if (!ok)
    g_prefix_error (error, WHAT ": ");
  gemem_params_clear (gemem_caching_params, &copy);
  return ok;
}
