/* write.c - the verdict of a dry run: for people on stderr, for programs as JSON.
 *
 * For people (without --details see brief.c): one block for each GPU of each process, of several ranks a table and the block of the largest, the answer before its reasons, the same order
 * always, nothing that is not known; on a terminal no line is wider than that, or GEMEM_TEXT_WIDTH, but for a longer word.  The JSON has every
 * figure in bytes.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io/child.h"
#include "base/io/json-text.h"
#include "base/io/terminal.h"
#include "base/text.h"
#include "base/units.h"
#include "dry/verdict/verdict.h"
#include "sim/report/report.h"

#define NAMES_MAX 5 /* names in a line */

/* ---- for people */

static void G_GNUC_PRINTF (3, 4)
    append_row (GString *out, const char *label, const char *format, ...)
{
  va_list arguments;

  g_string_append_printf (out, DRY_LABEL, label);
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  gemem_text_append_visible (out, text, -1, FALSE);
  g_string_append_c (out, '\n');
}

/* "12.34 GiB (13249974272 bytes)" */
static void
append_size (GString *out, guint64 bytes)
{
  char text[GEMEM_FORMAT_MAX];
  g_string_append_printf (out, "%s (%" G_GUINT64_FORMAT " bytes)", gemem_format_size (text, bytes),
                          bytes);
}

static void
append_peak (GString *out, const char *label, guint64 bytes, guint64 seq, const char *by)
{
  g_string_append_printf (out, DRY_LABEL, label);
  append_size (out, bytes);
  g_string_append_printf (out, ", event %" G_GUINT64_FORMAT "%s%s\n", seq, by != NULL ? ", " : "",
                          by != NULL ? by : "");
}

static void
append_orders (GString *out, const DryFinding *found)
{
  guint64 least = G_MAXUINT64, most = 0;
  guint refused = 0;
  g_autoptr (GString) each = g_string_new (NULL), names = g_string_new (NULL);

  for (guint i = 0; i < found->orders->len; i++)
    {
      const DryOrder *order = &g_array_index (found->orders, DryOrder, i);
      char text[GEMEM_FORMAT_MAX];
      least = MIN (least, order->peak_reserved);
      most = MAX (most, order->peak_reserved);
      refused += order->ooms > 0;
      g_string_append_printf (names, "%s%s", i > 0 ? ", " : "", order->order);
      g_string_append_printf (each, "%s%s %s%s", i > 0 ? ", " : "", order->order,
                              gemem_format_size (text, order->peak_reserved),
                              order->ooms > 0 ? " (out of memory)" : "");
    }
  if (found->orders->len > 0 && least == most)
    append_row (out, "address orders", "the same reserved peak in all %u (%s)%s",
                found->orders->len, names->str, refused > 0 ? "; out of memory in some" : "");
  else if (found->orders->len > 0)
    append_row (out, "address orders", "%s", each->str);
  if (found->model != NULL && found->equal != found->compared)
    append_row (out, "",
                "the orders rest on gemem's %s, which decided %" G_GUINT64_FORMAT
                " of %" G_GUINT64_FORMAT " requests as the program's allocator did",
                found->model, found->equal, found->compared);
}

static void
append_conditions (GString *out, const GPtrArray *conditions)
{
  for (guint i = 0; i < conditions->len; i++)
    append_row (out, "", "- %s", (const char *) conditions->pdata[i]);
}

/* "fits: 7.984 GiB of 23.52 GiB (8573157376 of 25250758656 bytes)", and what it rests on. */
static void
append_answer (GString *out, const DryOptions *options, const DryVerdict *verdict,
               const DryFinding *found)
{
  static const char *const answers[] = {
    [DRY_DOES_NOT_FIT] = "DOES NOT FIT",
    [DRY_FITS_ONLY_IF] = "fits only if the following holds",
    [DRY_FITS] = "fits",
  };
  const guint64 limit = gemem_library_finding_limit (options, found);
  const gboolean interval = found->needed_most > found->needed;
  char need[GEMEM_FORMAT_MAX], whole[GEMEM_FORMAT_MAX], other[GEMEM_FORMAT_MAX];

  append_row (out, options->gpu->name,
              "%s: %s of %s (%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " bytes)%s",
              answers[found->fit], gemem_format_size (need, found->needed),
              gemem_format_size (whole, limit), found->needed, limit,
              found->ooms > 0 || found->refused_by != NULL ? ", and more was asked for"
              : gemem_library_said_no (verdict) ? ", and with that the program refused to go on"
              : found->fit != DRY_DOES_NOT_FIT || found->needed > limit ? ""
              : found->limit > 0 ? ", but not as its allocator gets them"
                                 : ", and more was asked for in some orders of addresses");
  if (found->fit == DRY_FITS_ONLY_IF)
    {
      append_conditions (out, verdict->only_if);
      append_conditions (out, found->only_if);
    }
  if (found->limit > 0 && !(found->part > 0))
    append_row (out, "",
                "TensorFlow's allocator takes the %s %s: the GPU's memory less what TensorFlow "
                "leaves to the system, or what the program said",
                gemem_format_size (whole, found->limit),
                found->grows ? "as it needs them" : "at its start");
  else if (found->limit > 0)
    append_row (out, "",
                "JAX's allocator takes the %s %s: %g of the GPU's memory, or what "
                "XLA_PYTHON_CLIENT_MEM_FRACTION says",
                gemem_format_size (whole, found->limit),
                found->grows ? "as it needs them" : "at its start", found->part);
  if (found->limit > 0 && found->beside > 0)
    append_row (out, "",
                "beside that the process holds up to %s (%" G_GUINT64_FORMAT
                " bytes): NCCL, other libraries, XLA's own memory",
                gemem_format_size (other, found->beside), found->beside);
  if (interval && found->most_late)
    append_row (out, "",
                "up to %s (%" G_GUINT64_FORMAT " bytes) where the GPU is late ('streams', below)",
                gemem_format_size (need, found->needed_most), found->needed_most);
  else if (interval && found->most_chosen)
    append_row (out, "",
                "up to %s (%" G_GUINT64_FORMAT " bytes) where times of the GPU choose other "
                "workspaces ('times', below)",
                gemem_format_size (need, found->needed_most), found->needed_most);
  else if (interval)
    append_row (out, "", "up to %s (%" G_GUINT64_FORMAT " bytes) with workspaces of %s each",
                gemem_format_size (need, found->needed_most), found->needed_most,
                gemem_format_size (other, verdict->most_workspaces));
  if (options->given_context && options->context > 0 && found->limit == 0)
    append_row (out, "", "of these %s for CUDA's context and kernels (--context)",
                gemem_format_size (other, options->context));
  else if (options->context > 0 && found->fit != DRY_DOES_NOT_FIT)
    append_row (out, "",
                "%s %s for CUDA's context, %s; kernels and libraries come on top (--context=SIZE)",
                found->limit == 0 ? "of these" : "beside that",
                gemem_format_size (other, options->context), options->gpu->context_source);
  else if (found->fit == DRY_FITS && options->context == 0)
    append_row (out, "",
                "CUDA's context and kernels, commonly some hundreds of MiB, come on top; "
                "--context=SIZE counts them");
  if (options->capacity == options->gpu->memory)
    append_row (out, "", "the GPU's memory: %s", options->gpu->source);
}

/* Who held the rest: "others than PyTorch's allocator asked for". */
static char *
name_others (const DryFinding *found)
{
  if (found->model == NULL)
    return g_strdup ("memory pools keep unused");
  return g_strdup_printf ("others than %.*s's allocator asked for",
                          (int) strcspn (found->allocator, " ,"), found->allocator);
}

static void
append_finding (GString *out, const DryOptions *options, const DryVerdict *verdict,
                const DryFinding *found)
{
  char held[GEMEM_FORMAT_MAX];

  if (verdict->findings->len > 1 && found->rank >= 0)
    g_string_append_printf (out, "rank %" G_GINT64_FORMAT ", GPU %d: %s\n", found->rank, found->gpu,
                            found->path);
  else if (verdict->findings->len > 1)
    g_string_append_printf (out, "process %" G_GINT64_FORMAT ", GPU %d: %s\n", found->pid,
                            found->gpu, found->path);
  append_answer (out, options, verdict, found);
  append_peak (out, "peak live", found->peak_live, found->peak_live_seq, found->live_by);
  if (found->model != NULL)
    append_peak (out, "peak reserved", found->peak_reserved, found->peak_reserved_seq,
                 found->reserved_by);
  if (found->held > found->peak_reserved && found->limit == 0)
    {
      g_autofree char *others = name_others (found);
      append_row (out, "held in all", "%s, with what %s", gemem_format_size (held, found->held),
                  others);
    }
  if (found->pinned > 0)
    append_row (out, "pinned host",
                "%s (%" G_GUINT64_FORMAT " bytes) of the host's memory, locked at once",
                gemem_format_size (held, found->pinned), found->pinned);
  if (found->nccl > 0)
    append_row (out, "NCCL", "took %s of that for itself, as on %s%s",
                gemem_format_size (held, found->nccl), found->nccl_on,
                found->nccl_given ? "" : "; NCCL_TOPO_FILE names another");
  if (found->refused_by != NULL)
    append_row (out, found->refused_by, "asked for memory that the GPU did not have");
  if (found->ooms > 0)
    append_row (out, "out of memory",
                "%" G_GUINT64_FORMAT " request%s refused; %s %" G_GUINT64_FORMAT
                " bytes, at event %" G_GUINT64_FORMAT "%s%s",
                found->ooms, found->ooms == 1 ? " was" : "s were",
                found->ooms == 1 ? "of" : "the first, of", found->oom_size, found->oom_seq,
                found->oom_by != NULL ? ", " : "", found->oom_by != NULL ? found->oom_by : "");
  if (found->ooms > 0 && verdict->status == 0)
    append_row (out, "", "the program %s with success",
                found->after_ooms > 0 ? "went on after that and ended" : "ended after that");
  if (found->growth != NULL)
    append_row (out, "growth", "%s", found->growth);
  append_orders (out, found);
  append_row (out, "requests of", "%s (%" G_GUINT64_FORMAT " events)",
              found->allocator != NULL ? found->allocator : "CUDA's runtime and driver",
              found->events);
}

static void
append_counts (GString *out, const char *label, const char *what, const GPtrArray *counts)
{
  guint64 sum = 0;

  if (counts->len == 0)
    return;
  for (guint i = 0; i < counts->len; i++)
    sum += ((const DryCount *) counts->pdata[i])->count;
  g_string_append_printf (out, DRY_LABEL "%" G_GUINT64_FORMAT " %s: ", label, sum, what);
  for (guint i = 0; i < MIN (counts->len, NAMES_MAX); i++)
    {
      const DryCount *count = counts->pdata[i];
      g_string_append_printf (out, "%s%s", i > 0 ? ", " : "", count->name);
      if (count->count > 1)
        g_string_append_printf (out, " %" G_GUINT64_FORMAT, count->count);
    }
  if (counts->len > NAMES_MAX)
    g_string_append_printf (out, ", and %u more names (--json=FILE has all)",
                            counts->len - NAMES_MAX);
  g_string_append_c (out, '\n');
}

/* "A, B".  g_free(). */
static char *
join_names (const GPtrArray *counts)
{
  GString *names = g_string_new (NULL);

  for (guint i = 0; i < counts->len; i++)
    g_string_append_printf (names, "%s%s", i > 0 ? ", " : "",
                            ((const DryCount *) counts->pdata[i])->name);
  return g_string_free (names, FALSE);
}

/* What another run says of workspaces, where it needed no more; else the answer has it. */
static void
append_most (GString *out, const DryVerdict *verdict)
{
  char size[GEMEM_FORMAT_MAX];

  if (verdict->most != NULL && verdict->most->fit != DRY_DOES_NOT_FIT
      && verdict->most->needed <= verdict->needed)
    append_row (out, "", "with %s each, in another run, it needs no more",
                gemem_format_size (size, verdict->most_workspaces));
}

/* Libraries that processes ran by themselves. */
static void
append_installed (GString *out, const GPtrArray *installed)
{
  g_autofree char *names = join_names (installed);

  if (installed->len > 0)
    append_row (out, "libraries", "%s ran as installed and computed their workspaces", names);
}

/* Ranks are rows of a table, and the largest of them has a block, as every other process has. */
static void
append_findings (GString *out, const DryOptions *options, const DryVerdict *verdict,
                 const GPtrArray *ranks, const DryFinding *largest)
{
  if (largest != NULL)
    {
      gemem_library_ranks_append (out, ranks);
      g_string_append_printf (out, "the largest of %u: ", ranks->len);
      append_finding (out, options, verdict, largest);
    }
  for (guint i = 0; i < verdict->findings->len; i++)
    if (largest == NULL || ((const DryFinding *) verdict->findings->pdata[i])->rank < 0)
      append_finding (out, options, verdict, verdict->findings->pdata[i]);
}

/* How a program ended that did not succeed.  Zero may be what it stumbled over, or what it waits for no longer. */
char *
gemem_library_value_word (const char *place, const char *numbers)
{
  g_autofree char *pattern = g_regex_escape_string (place, -1);
  g_autofree char *argument = g_strconcat (pattern, "=", numbers, NULL);

  return gemem_shell_word (argument);
}

static void
append_end (GString *out, const DryVerdict *verdict)
{
  g_autofree char *ended = gemem_launcher_ended (verdict->status);

  append_row (out, "program", "ended with %s", ended);
  if (verdict->last_value != NULL)
    {
      g_autofree char *word = gemem_library_value_word (verdict->last_value,
                                                        verdict->last_times > 1 ? "0*99,1" : "1");
      append_row (out, "",
                  "before that it read zero from the GPU at %s, %" G_GUINT64_FORMAT " %s; "
                  "to try another value: --value %s",
                  verdict->last_value, verdict->last_times,
                  verdict->last_times > 1 ? "times" : "time", word);
    }
}

/* What the program said itself. */
static void
append_said (GString *out, const DryOptions *options, const DryVerdict *verdict)
{
  if (gemem_library_said_no (verdict) && verdict->findings->len == 0)
    append_row (out, options->gpu->name, "DOES NOT FIT: the program refused to go on");
  if (verdict->refusal != NULL)
    {
      append_row (out, "refused", "%s", verdict->refusal_kind->title);
      append_row (out, "", "%s", verdict->refusal);
    }
  if (verdict->cached > 0)
    append_row (out, "KV cache", "%" G_GUINT64_FORMAT " tokens, as %s says", verdict->cached,
                verdict->cached_by->who);
}

static void
append_tried (GString *out, const DryTried *tried)
{
  if (tried->text != NULL)
    append_row (out, "", "%s", tried->text);
}

/* Who was told that the work of streams is done, if memory follows from that. */
static void
append_streams (GString *out, const DryVerdict *verdict)
{
  g_autofree char *names = join_names (verdict->asked);

  if (verdict->tried_late.result == DRY_TRIAL_NONE)
    return;
  append_row (out, "streams", "%s asked whether the GPU is done with memory, and was told yes",
              names);
  append_tried (out, &verdict->tried_late);
}

/* What was measured, if workspaces follow from that. */
static void
append_times (GString *out, const DryVerdict *verdict)
{
  g_autofree char *names = join_names (verdict->measured);

  if (verdict->tried_times.result == DRY_TRIAL_NONE)
    return;
  append_row (out, "times",
              "the program measured %s, and a dry run has no times: the first is the fastest; "
              "torch.backends.cudnn.benchmark=False measures none, here and there",
              names);
  append_tried (out, &verdict->tried_times);
}

/* On a terminal a row continues below its own text; elsewhere it stays one line, as programs search for it. */
static void
wrap_rows (GString *shown, const char *text)
{
  g_auto (GStrv) rows = g_strsplit (text, "\n", -1);
  g_autofree char *indent = g_strdup_printf (DRY_LABEL, "");
  const guint columns = gemem_terminal_columns (STDERR_FILENO);

  if (columns > 0)
    gemem_text_set_width (columns);
  for (char **row = rows; *row != NULL && (**row != '\0' || row[1] != NULL); row++)
    gemem_text_wrap (shown, *row, indent);
}

void
gemem_library_verdict_print (const DryOptions *options, const DryVerdict *verdict)
{
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (GPtrArray) ranks = gemem_library_ranks_of (verdict);
  const DryFinding *largest = gemem_library_ranks_largest (ranks);

  append_findings (out, options, verdict, ranks, largest);
  append_said (out, options, verdict);
  append_counts (out, "not written", "calls failed, because the function does not exist here",
                 verdict->missing);
  append_counts (out, "left out", "calls without effect on memory", verdict->harmless);
  append_counts (out, "values",
                 "values were read from the GPU, as zero or drawn (--value chooses others)",
                 verdict->values);
  append_counts (out, "numbers",
                 "integers were read from the GPU, as zero or drawn (--value chooses others)",
                 verdict->numbers);
  append_tried (out, &verdict->tried_numbers);
  append_counts (out, "truths",
                 "truth values were read from the GPU, as false or drawn (--value chooses others)",
                 verdict->truths);
  append_tried (out, &verdict->tried_truths);
  append_counts (out, "sizes",
                 "sizes of tensors were read from the GPU, as zero (--value chooses others)",
                 verdict->sizes);
  append_counts (out, "computed", "values and sizes followed from what the host knows",
                 verdict->computed);
  append_counts (out, "drawn",
                 "sizes follow from real numbers that kernels compute, which were drawn",
                 verdict->drawn);
  append_tried (out, &verdict->tried_drawn);
  append_streams (out, verdict);
  append_times (out, verdict);
  append_counts (out, "assumed", "values came from other ranks, as if all ranks held the same",
                 verdict->assumed);
  append_counts (out, "workspaces", "sizes that only the real library knows, taken as 0",
                 verdict->workspaces);
  append_most (out, verdict);
  append_installed (out, verdict->installed);
  append_counts (out, "host",
                 "tensors of random numbers were read on the host, as zeros "
                 "(--fill-host draws them)",
                 verdict->host);
  append_counts (out, "managed",
                 "allocations of managed memory, which the driver moves to the GPU and back, are "
                 "not counted",
                 verdict->managed);
  append_counts (out, "unknown", "further facts not known", verdict->unknown);
  for (guint i = 0; i < verdict->notes->len; i++)
    append_row (out, "note", "%s", ((const DryCount *) verdict->notes->pdata[i])->name);
  if (verdict->status != 0)
    append_end (out, verdict);
  if (verdict->findings->len > 0)
    {
      const DryFinding *found = largest != NULL ? largest : verdict->findings->pdata[0];
      g_autofree char *word = gemem_shell_word (found->path);
      append_row (out, "next", "gemem-sim %s%s", found->model != NULL ? "" : "compare ", word);
    }
  g_autoptr (GString) shown = g_string_new (NULL);
  g_autofree char *text = options->details ? g_strdup (out->str)
                                           : gemem_library_verdict_brief (out->str);
  if (isatty (STDERR_FILENO))
    wrap_rows (shown, text);
  else
    gemem_text_append_visible (shown, text, -1, TRUE);
  fputs (shown->str, stderr);
}

/* ---- for programs */

static void
append_counts_json (GString *out, const char *name, const GPtrArray *counts)
{
  gemem_json_append_name (out, name);
  g_string_append_c (out, '[');
  for (guint i = 0; i < counts->len; i++)
    {
      const DryCount *count = counts->pdata[i];
      gemem_json_append_name (out, NULL);
      g_string_append_c (out, '{');
      gemem_json_append_text_member (out, "name", count->name);
      gemem_json_append_number_member (out, "count", count->count);
      g_string_append_c (out, '}');
    }
  g_string_append_c (out, ']');
}

void
gemem_library_append_fit_json (GString *out, DryFit fit)
{
  gemem_json_append_name (out, "fits");
  g_string_append (out, fit == DRY_FITS ? "true" : fit == DRY_DOES_NOT_FIT ? "false" : "null");
}

static void
append_conditions_json (GString *out, const GPtrArray *conditions)
{
  gemem_json_append_name (out, "only_if");
  g_string_append_c (out, '[');
  for (guint i = 0; i < conditions->len; i++)
    {
      gemem_json_append_name (out, NULL);
      gemem_json_append_string (out, conditions->pdata[i]);
    }
  g_string_append_c (out, ']');
}

static void
append_finding_json (GString *out, const DryFinding *found)
{
  const struct
  {
    const char *name;
    guint64 number;
  } numbers[] = {
    { "pid", (guint64) found->pid },
    { "device", (guint64) found->device },
    { "gpu", (guint64) found->gpu },
    { "events", found->events },
    { "peak_live", found->peak_live },
    { "peak_live_event", found->peak_live_seq },
    { "peak_reserved", found->peak_reserved },
    { "peak_reserved_event", found->peak_reserved_seq },
    { "held", found->held },
    { "pinned_host", found->pinned },
    { "nccl", found->nccl },
    { "out_of_memory", found->ooms },
    { "allocator_limit", found->limit },
    { "beside", found->beside },
    { "compared", found->compared },
    { "equal", found->equal },
  };

  g_string_append_c (out, '{');
  gemem_json_append_text_member (out, "trace", found->path);
  gemem_json_append_text_member (out, "allocator", found->allocator);
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    gemem_json_append_number_member (out, numbers[i].name, numbers[i].number);
  if (found->rank >= 0)
    gemem_json_append_number_member (out, "rank", (guint64) found->rank);
  gemem_json_append_text_member (out, "nccl_on", found->nccl_on);
  gemem_json_append_text_member (out, "peak_live_by", found->live_by);
  gemem_json_append_text_member (out, "peak_reserved_by", found->reserved_by);
  gemem_json_append_text_member (out, "out_of_memory_by", found->oom_by);
  gemem_json_append_text_member (out, "growth", found->growth);
  gemem_json_append_number_member (out, "needed", found->needed);
  gemem_json_append_number_member (out, "needed_most", found->needed_most);
  gemem_library_append_fit_json (out, found->fit);
  append_conditions_json (out, found->only_if);
  gemem_json_append_name (out, "orders");
  g_string_append_c (out, '[');
  for (guint i = 0; i < found->orders->len; i++)
    {
      const DryOrder *order = &g_array_index (found->orders, DryOrder, i);
      gemem_json_append_name (out, NULL);
      g_string_append_c (out, '{');
      gemem_json_append_text_member (out, "order", order->order);
      gemem_json_append_number_member (out, "peak_reserved", order->peak_reserved);
      gemem_json_append_number_member (out, "out_of_memory", order->ooms);
      g_string_append_c (out, '}');
    }
  g_string_append (out, "]}");
}

void
gemem_library_append_gpu_json (GString *out, const DryOptions *options)
{
  gemem_json_append_text_member (out, "gpu", options->gpu->name);
  gemem_json_append_text_member (out, "model", options->gpu->model);
  gemem_json_append_number_member (out, "capacity", options->capacity);
  gemem_json_append_text_member (out, "capacity_source",
                                 options->capacity == options->gpu->memory ? options->gpu->source
                                                                           : "--capacity");
  gemem_json_append_number_member (out, "context", options->context);
  gemem_json_append_number_member (out, "workspaces_taken_as", options->workspaces);
}

void
gemem_library_append_said_json (GString *out, const DryVerdict *verdict)
{
  if (verdict->refusal != NULL)
    gemem_json_append_text_member (out, "refused", verdict->refusal);
  if (verdict->cached > 0)
    gemem_json_append_number_member (out, "kv_tokens", verdict->cached);
}

gboolean
gemem_library_write_json (const DryOptions *options, const GString *text, GError **error)
{
  fflush (stdout); /* "-", or a name of that stream: behind the verdict */
  return gemem_write_file (options->json, text->str, (gssize) text->len, error);
}

gboolean
gemem_library_verdict_write_json (const DryOptions *options, const DryVerdict *verdict,
                                  GError **error)
{
  g_autoptr (GString) out = g_string_new ("{");

  if (verdict->status != 0 && verdict->findings->len == 0 && gemem_launcher_keeps (options->json))
    {
      gemem_launcher_say ("%s: is left as it was, for nothing was found", options->json);
      return TRUE;
    }
  gemem_library_append_gpu_json (out, options);
  gemem_json_append_number_member (out, "exit_status", (guint64) verdict->status);
  if (verdict->last_value != NULL)
    gemem_json_append_text_member (out, "last_value", verdict->last_value);
  if (verdict->tried_numbers.text != NULL)
    gemem_json_append_text_member (out, "other_numbers", verdict->tried_numbers.text);
  if (verdict->tried_truths.text != NULL)
    gemem_json_append_text_member (out, "other_truths", verdict->tried_truths.text);
  if (verdict->tried_drawn.text != NULL)
    gemem_json_append_text_member (out, "other_draw", verdict->tried_drawn.text);
  if (verdict->tried_late.text != NULL)
    gemem_json_append_text_member (out, "late", verdict->tried_late.text);
  if (verdict->tried_times.text != NULL)
    gemem_json_append_text_member (out, "times", verdict->tried_times.text);
  gemem_library_append_said_json (out, verdict);
  if (verdict->needed_least > 0)
    gemem_json_append_number_member (out, "needed_least", verdict->needed_least);
  gemem_json_append_number_member (out, "needed", verdict->needed);
  gemem_json_append_number_member (out, "needed_most", verdict->needed_most);
  gemem_library_append_fit_json (out, verdict->fit);
  append_conditions_json (out, verdict->only_if);
  gemem_json_append_name (out, "processes");
  g_string_append_c (out, '[');
  for (guint i = 0; i < verdict->findings->len; i++)
    {
      gemem_json_append_name (out, NULL);
      append_finding_json (out, verdict->findings->pdata[i]);
    }
  g_string_append_c (out, ']');
#define LIST(name) append_counts_json (out, #name, verdict->name);
  DRY_COUNTS (LIST)
#undef LIST
  g_string_append (out, "}\n");
  return gemem_library_write_json (options, out, error);
}
