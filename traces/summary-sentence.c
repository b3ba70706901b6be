/* summary-sentence.c - the facts about one device of a trace as one sentence, for a reader who is
 * in a hurry (summary.h): what the peak is and when, how much of it is fragmentation, what was
 * released, what is missing. */
#include "config.h"

#include "base/units.h"
#include "traces/summary.h"

#define COUNT "%" G_GUINT64_FORMAT

static void
append_reserved (GString *out, const GememDeviceSummary *s)
{
  char size[GEMEM_FORMAT_MAX];
  const guint64 waste = s->reserved_at_peak - MIN (s->peak_live, s->reserved_at_peak);

  if (s->peak_reserved == 0)
    {
      g_string_append (out, "; what the allocator reserved is not recorded");
      return;
    }
  if (s->reserved_at_peak > 0)
    g_string_append_printf (out,
                            "; the recorded allocator had %s reserved then, %.1f %% of it unused "
                            "(rounding and fragmentation)",
                            gemem_format_size (size, s->reserved_at_peak),
                            100 * (double) waste / (double) s->reserved_at_peak);
  if (s->peak_reserved > s->reserved_at_peak)
    g_string_append_printf (out, ", and %s at most", gemem_format_size (size, s->peak_reserved));
}

static void
append_released (GString *out, const GememDeviceSummary *s)
{
  char size[GEMEM_FORMAT_MAX];
  const guint64 trims = s->by_kind[GEMEM_EVENT_TRIM];

  if (s->released > 0)
    g_string_append_printf (out, "; it released %s in " COUNT " segment%s",
                            gemem_format_size (size, s->released_bytes), s->released,
                            gemem_plural (s->released));
  else if (s->peak_reserved > 0)
    g_string_append (out, "; it released nothing");
  if (trims > 0)
    g_string_append_printf (out, ", and the program emptied the cache " COUNT " time%s", trims,
                            gemem_plural (trims));
  if (s->failed > 0)
    g_string_append_printf (out, "; " COUNT " request%s ran out of memory (%s%s), and the %s",
                            s->failed, gemem_plural (s->failed),
                            s->failed > 1 ? "the largest " : "",
                            gemem_format_size (size, s->failed_size),
                            s->after_failed > 0 ? "program went on" : "recording ends there");
}

static void
append_missing (GString *out, const GememTraceInfo *info, const GememDeviceSummary *s)
{
  const gsize before = out->len;
  char size[GEMEM_FORMAT_MAX];

#define MISSING(...) \
  (g_string_append (out, out->len == before ? "; missing: " : ", "), \
   g_string_append_printf (out, __VA_ARGS__))
  if (s->initial_blocks > 0)
    MISSING ("how the " COUNT " block%s (%s) from before the recording came about",
             s->initial_blocks, gemem_plural (s->initial_blocks),
             gemem_format_size (size, s->initial_bytes));
  else if (info->flags & GEMEM_TRACE_STARTS_IN_MIDDLE)
    MISSING ("the beginning");
  if (info->flags & GEMEM_TRACE_TRUNCATED)
    MISSING ("the end");
  if (info->flags & GEMEM_TRACE_BLOCK_SIZES)
    MISSING ("the sizes as requested (these are rounded ones)");
  if ((info->flags & GEMEM_TRACE_BLOCK_SIZES) && s->device != GEMEM_DEVICE_HOST
      && s->streams->len <= 1)
    MISSING ("the streams (one is assumed)"); /* no format with rounded sizes names any */
  if (!(info->flags & GEMEM_TRACE_HAS_TIME))
    MISSING ("times");
  if (info->stacks == NULL)
    MISSING ("call stacks");
#undef MISSING
  if (out->len == before)
    g_string_append (out, "; nothing is missing");
}

static void
append_sentence (GString *out, const GememTraceInfo *info, const GememDeviceSummary *s)
{
  char size[GEMEM_FORMAT_MAX], time[GEMEM_FORMAT_MAX];

  if (s->device == GEMEM_DEVICE_HOST)
    g_string_append (out, "in short, host memory");
  else
    g_string_append_printf (out, "in short, device %u", s->device);
  g_string_append_printf (out,
                          ": at the peak %s in " COUNT " block%s are alive, after event " COUNT,
                          gemem_format_size (size, s->peak_live), s->peak_live_blocks,
                          gemem_plural (s->peak_live_blocks), s->peak_live_seq);
  if (info->flags & GEMEM_TRACE_HAS_TIME)
    g_string_append_printf (out, " at %s", gemem_format_time (time, s->peak_live_time));
  append_reserved (out, s);
  append_released (out, s);
  append_missing (out, info, s);
  g_string_append (out, ".\n");
}

void
gemem_trace_summary_sentences (GString *out, const GememTraceInfo *info,
                               const GememTraceSummary *summary)
{
  for (guint i = 0; i < summary->devices->len; i++)
    {
      const GememDeviceSummary *device = summary->devices->pdata[i];
      if (device->by_kind[GEMEM_EVENT_ALLOC] > 0)
        append_sentence (out, info, device);
    }
}
