/* judge.c - the verdict of an advice: whether the program fits, and what speaks against saying so.
 *
 * Why apart: a false "it fits" is the worst answer there is, so all that can forbid it stands here.
 *
 * Invariants: the replay is given; a doubt turns FITS into UNKNOWN, never the other way.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "devices/gpus.h"
#include "sim/search/advise-private.h"

#define CUBLAS_WORKSPACE (G_GUINT64_CONSTANT (8320) << 10)
#define CUBLAS_WORKSPACE_H100 (G_GUINT64_CONSTANT (32) << 20)
#define SMALLEST_CARD (G_GUINT64_CONSTANT (4) << 30) /* bytes; of less no GPU is made by now */

GememNeedOptions
gemem_advice_need_options (const GememAdviceQuestion *question)
{
  return (GememNeedOptions){ .device_spec = question->device_spec,
                             .ignores_settings = question->ignores_settings,
                             .allow_partial = question->allow_partial,
                             .interrupted = question->interrupted,
                             .runner = question->runner };
}

GememNeed
gemem_advice_need_of (const GememAdviceQuestion *question, const GememAllocatorSpec *spec)
{
  return (GememNeed){ .name = question->name,
                      .held = question->held,
                      .ordinals = question->ordinals,
                      .spec = spec,
                      .graph = question->graph };
}

/* Whether the recorded program was refused by a limit of its own, which is not known or only inferred: what the device had free
 * then is more than is known to be left of it. */
static gboolean
is_limited (const GememResult *now)
{
  const GememOom *oom = gemem_result_first_oom (now);

  return gemem_settings_value (now->parameters, "memory_limit") != NULL && oom != NULL
         && oom->device_free >= oom->requested
         && oom->device_free > now->capacity - MIN (oom->reserved, now->capacity);
}

/* A request that an exact replay of the program's own rules refuses was refused, however short the
 * recording is; only approximations and forbidden programs say nothing. */
static void
judge (GememAdvice *advice, const GememAdviceQuestion *question)
{
  const GememResult *now = advice->now;

  advice->doubt = gemem_need_doubt (now, advice->held, question->interrupted);
  if (now->ooms > 0 && now->not_allowed == NULL && now->approximation == NULL)
    {
      g_clear_pointer (&advice->doubt, g_free);
      advice->verdict = GEMEM_ADVICE_DOES_NOT_FIT;
      advice->limited = advice->device == NULL && is_limited (now);
      return;
    }
  if (advice->doubt == NULL && advice->histories.all.failed > 0)
    advice->doubt = g_strdup_printf ("a request fails in %u of %u other histories",
                                     advice->histories.all.failed, advice->histories.all.runs);
  advice->verdict = advice->doubt != NULL || advice->device_assumed ? GEMEM_ADVICE_UNKNOWN
                                                                    : GEMEM_ADVICE_FITS;
  advice->need = now->peak_reserved;
}

/* Whether the device that was asked for is a GPU by name, of which all that it has is known. */
static gboolean
is_named_gpu (const GememAdvice *advice)
{
  const char *name = gemem_settings_value (advice->now->device_settings, "gpu");

  return advice->device != NULL && name != NULL && *name != '\0';
}

/* Whether the recorded program held more than 1 % more than @now. */
static gboolean
held_more (const GememResult *now)
{
  const guint64 held = now->fidelity.recorded_peak;

  return held - held / 100 > now->peak_reserved;
}

/* Whether @now, on a device where every request was served, decides as the recorded program did; where no decision is
 * equal its segments lie elsewhere. */
static gboolean
is_recording (const GememResult *now)
{
  return (now->fidelity.equal == 0 || now->fidelity.equal == now->fidelity.compared)
         && !held_more (now);
}

/* FALSE if the program held more than there is, and no replay shows that it needs less: none is as recorded.  A smaller
 * device may be the reason that @advice's is not: then it is replayed on its own. */
static gboolean
follows_recording (const GememAdvice *advice, const GememAdviceQuestion *question)
{
  const GememResult *now = advice->now;
  const guint16 ordinal = (guint16) now->device_ordinal;
  g_autoptr (GArray) ordinals = NULL;
  GememNeedOptions options = gemem_advice_need_options (question);
  GememNeed need = gemem_advice_need_of (question, advice->spec);
  gboolean follows;

  if (!advice->device_assumed && now->fidelity.recorded_peak <= now->capacity)
    return TRUE;
  if (question->device_spec == NULL)
    return !held_more (now);
  ordinals = g_array_new (FALSE, FALSE, sizeof (guint16));
  g_array_append_val (ordinals, ordinal);
  need.ordinals = ordinals;
  options.device_spec = NULL;
  follows = gemem_needs_find (&need, 1, &options, NULL) && is_recording (need.result);
  gemem_need_clear (&need);
  return follows;
}

static void
doubt_replay (GememAdvice *advice, const GememAdviceQuestion *question)
{
  char held[GEMEM_FORMAT_MAX];

  advice->contradicted = gemem_advice_parts (advice) && advice->now->recorded_ooms_served > 0;
  if (advice->contradicted)
    {
      g_free (advice->doubt);
      advice->doubt = g_strdup ("the replay does not follow the recording, in which a request was "
                                "refused that it serves");
    }
  else if (advice->doubt != NULL)
    return;
  else if (gemem_advice_parts (advice) && advice->now->ooms > 0
           && gemem_held_refused (advice->held) == 0)
    advice->doubt = g_strdup ("the replay does not follow the recording, in which every request "
                              "was served");
  else if (advice->verdict != GEMEM_ADVICE_DOES_NOT_FIT && !follows_recording (advice, question))
    advice->doubt = g_strdup_printf (
        "the replay does not follow the recording, in which %s were held",
        gemem_format_size (held, advice->now->fidelity.recorded_peak));
  if (advice->doubt == NULL)
    return;
  advice->need = advice->now->peak_reserved;
  advice->verdict = GEMEM_ADVICE_UNKNOWN;
}

/* Whether nothing that others take of the device that was asked for is counted, as recordings of dry runs count it. */
static gboolean
is_all_there (const GememAdvice *advice)
{
  return advice->device != NULL && advice->now->device_ordinal != GEMEM_DEVICE_HOST
         && gemem_result_others (advice->now) == 0;
}

static gboolean
runs_on_cuda (const GememAdvice *advice)
{
  static const char *const systems[] = { "pytorch", "tensorflow", "jax", "paddle",
                                         "rmm",     "cupy",       NULL };

  return advice->system != NULL && g_strv_contains (systems, advice->system);
}

/* Whether PyTorch asked for a workspace of cuBLAS, as it does once a handle is used: 8 320 KiB, or 32 MiB of an H100.
 * A tensor of that size is taken for one. */
static gboolean
uses_cublas (const GememAdvice *advice)
{
  GememTraceReader *reader = gemem_held_open (advice->held, NULL);
  const GememTraceEvent *events;
  gboolean found = FALSE;
  gssize n;

  while (reader != NULL && !found && (n = gemem_trace_next (reader, &events, NULL)) > 0)
    for (gssize i = 0; i < n && !found; i++)
      found = events[i].kind == GEMEM_EVENT_ALLOC
              && (events[i].size == CUBLAS_WORKSPACE || events[i].size == CUBLAS_WORKSPACE_H100);
  if (reader != NULL)
    gemem_trace_close (reader);
  return found;
}

/* Whether a program on the device that was asked for has less of it than is said: nothing counts the driver's context there.
 * A capacity below that of any card is what is left for the program. */
static gboolean
is_without_context (const GememAdvice *advice)
{
  return is_all_there (advice)
         && (is_named_gpu (advice)
             || (advice->now->capacity >= SMALLEST_CARD && runs_on_cuda (advice)));
}

/* Whether cuBLAS's handle has to come from what the program's recorded allocator leaves of the device. */
static gboolean
is_without_cublas (const GememAdvice *advice)
{
  return is_all_there (advice) && !advice->assumed && g_strcmp0 (advice->system, "pytorch") == 0
         && uses_cublas (advice);
}

/* What fits by its requests alone, does so only if the rest is enough for what the driver and libraries take. */
static void
doubt_rest (GememAdvice *advice)
{
  const guint64 need = advice->now->peak_reserved, context = gemem_advice_left (advice, need),
                cublas = gemem_advice_left_for_cublas (advice, need);
  char size[GEMEM_FORMAT_MAX], handle[GEMEM_FORMAT_MAX];

  if (advice->verdict != GEMEM_ADVICE_FITS)
    return;
  if (is_named_gpu (advice) && context != G_MAXUINT64)
    advice->doubt = g_strdup_printf ("the driver's context and kernels, commonly some hundreds of "
                                     "MiB, are not in the recording, "
                                     "and only %s are left for them",
                                     gemem_format_size (size, context));
  else if (cublas != G_MAXUINT64)
    advice->doubt = g_strdup_printf ("only %s are left beside its allocator, and cuBLAS alone "
                                     "takes %s of an H100",
                                     gemem_format_size (size, cublas),
                                     gemem_format_size (handle, GEMEM_GPU_LEFT_FOR_CUBLAS));
  if (advice->doubt != NULL)
    advice->verdict = GEMEM_ADVICE_UNKNOWN;
}

/* What fits so far, and grows, does not fit for ever. */
static void
doubt_growth (GememAdvice *advice)
{
  if (advice->verdict != GEMEM_ADVICE_FITS || !gemem_advice_grows (advice))
    return;
  advice->doubt = gemem_advice_growth_left (advice);
  advice->fits_so_far = TRUE;
  advice->verdict = GEMEM_ADVICE_UNKNOWN;
}

void
gemem_advice_judge (GememAdvice *advice, const GememAdviceQuestion *question,
                    const GememAdviceQuestion *asked)
{
  judge (advice, question);
  doubt_replay (advice, asked);
  advice->without_context = is_without_context (advice);
  advice->without_cublas = is_without_cublas (advice);
  doubt_rest (advice);
  doubt_growth (advice);
}
