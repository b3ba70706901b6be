/* settings.c - uses allocator_settings of a PyTorch snapshot to round requests and to make
 * the text of default parameters.
 *
 * The snapshot holds the effective values of four settings and the string of
 * PYTORCH_CUDA_ALLOC_CONF.  The values take precedence; the string supplies only settings that the
 * values do not cover.
 * Origin: peers.md 1a.3 (rounding), 1a.11 (options), 2.1 (allocator_settings).
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "traces/pytorch/state.h"

#define MIN_BLOCK 512

void
gemem_pytorch_settings_init (GememPytorchSettings *settings)
{
  memset (settings, 0, sizeof *settings);
  settings->max_split_size = settings->pinned_max_cached = settings->pinned_max_round = -1;
}

void
gemem_pytorch_settings_clear (GememPytorchSettings *settings)
{
  g_clear_pointer (&settings->configuration, g_free);
  g_clear_pointer (&settings->written_for, g_free);
}

guint64
gemem_pytorch_settings_round (const GememPytorchSettings *settings, guint64 n)
{
  n += settings->pad;
  if (n < MIN_BLOCK)
    return MIN_BLOCK;
  guint log2 = g_bit_storage (n) - 1;
  guint64 divisions = settings->divisions[CLAMP ((int) log2 - 20, 0, GEMEM_PYTORCH_SLOTS - 1)];
  if (divisions > 1 && divisions < n / MIN_BLOCK + (n % MIN_BLOCK != 0))
    {
      guint64 floor = G_GUINT64_CONSTANT (1) << log2;
      guint64 step = floor >> (g_bit_storage (divisions) - 1);
      if (n == floor)
        return n;
      if (step == 0)
        return 2 * floor;
      return gemem_round_up (n, step);
    }
  return gemem_round_up (n, MIN_BLOCK);
}

static void
append (GString *text, const char *key, const char *value)
{
  g_string_append_printf (text, "%s%s=%s", text->len > 0 ? "," : "", key, value);
}

static void
append_divisions (GString *text, const GememPytorchSettings *settings)
{
  g_autoptr (GString) list = g_string_new ("[");
  gboolean any = FALSE, same = TRUE;

  for (guint i = 0; i < GEMEM_PYTORCH_SLOTS; i++)
    {
      any |= settings->divisions[i] > 1;
      same &= settings->divisions[i] == settings->divisions[0];
      g_string_append_printf (list, "%s%u:%" G_GUINT64_FORMAT, i > 0 ? "," : "", 1u << i,
                              settings->divisions[i]);
    }
  g_string_append_c (list, ']');
  if (same) /* as one writes it; PyTorch reads both alike */
    g_string_printf (list, "%" G_GUINT64_FORMAT, settings->divisions[0]);
  if (any)
    append (text, "roundup_power2_divisions", list->str);
}

/* A size under a key that is in MiB; @size < 0: nothing. */
static void
append_mib (GString *text, const char *key, gint64 size)
{
  const gboolean whole = size % (gint64) GEMEM_MIB == 0;
  g_autofree char *number = g_strdup_printf (
      "%" G_GINT64_FORMAT "%s", whole ? size / (gint64) GEMEM_MIB : size, whole ? "" : "B");

  if (size >= 0)
    append (text, key, number);
}

/* Appends the settings @wanted, which only the string contains. */
static void
append_configuration (GString *text, const char *configuration, const char *const *wanted)
{
  g_auto (GStrv) parts = g_strsplit (configuration, ",", -1);

  for (guint i = 0; parts[i] != NULL; i++)
    {
      char *colon = strchr (parts[i], ':');
      if (colon == NULL)
        continue;
      *colon = '\0';
      const char *key = g_strstrip (parts[i]), *value = g_strstrip (colon + 1);
      if (g_strv_contains (wanted, key) && *value != '\0')
        append (text, key, value);
    }
}

gboolean
gemem_pytorch_settings_name (const GememPytorchSettings *settings, const char *name)
{
  return settings->configuration != NULL && strstr (settings->configuration, name) != NULL;
}

char *
gemem_pytorch_settings_text (const GememPytorchSettings *settings)
{
  static const char *const npu_wanted[] = {
    "max_non_split_rounding_mb", "large_segment_size_mb", "per_process_memory_fraction",
    "throw_on_npumalloc_oom",    "base_addr_aligned_kb",  "page_size",
    "multi_stream_lazy_reclaim", "segment_size_mb",       NULL
  };
  static const char *const wanted[] = { "max_non_split_rounding_mb", "large_segment_size_mb",
                                        "per_process_memory_fraction", "throw_on_cudamalloc_oom",
                                        NULL };
  GString *text = g_string_new (NULL);
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  append_mib (text, "max_split_size_mb", settings->max_split_size);
  if (settings->garbage_collection_threshold > 0 && settings->garbage_collection_threshold < 1)
    {
      g_ascii_formatd (number, sizeof number, "%.15g", settings->garbage_collection_threshold);
      append (text, "garbage_collection_threshold", number);
    }
  if (settings->memory_limit > 0
      && !gemem_pytorch_settings_name (settings, "per_process_memory_fraction"))
    {
      g_snprintf (number, sizeof number, "%" G_GUINT64_FORMAT, settings->memory_limit);
      append (text, "memory_limit", number);
    }
  if (settings->expandable_segments)
    append (text, "expandable_segments", "true");
  append_divisions (text, settings);
  if (settings->npu && settings->pad == 0)
    append (text, "pad", "0");
  if (settings->configuration != NULL)
    append_configuration (text, settings->configuration, settings->npu ? npu_wanted : wanted);
  return g_string_free (text, FALSE);
}

char *
gemem_pytorch_settings_pinned (const GememPytorchSettings *settings)
{
  static const char *const wanted[] = { "pinned_reserve_segment_size_mb", NULL };
  GString *text = g_string_new (NULL);

  append_mib (text, "pinned_max_round_threshold_mb", settings->pinned_max_round);
  append_mib (text, "pinned_max_cached_size_mb", settings->pinned_max_cached);
  if (settings->configuration != NULL)
    append_configuration (text, settings->configuration, wanted);
  return g_string_free (text, FALSE);
}
