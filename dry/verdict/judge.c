/* judge.c - whether what was found fits the GPU: yes, no, or only if something holds that a dry run
 * cannot know.
 *
 * "No" is certain: what is not known only adds to what was found.  "Yes" is said only if nothing that
 * is not known could turn it: the program ran to its end, nothing that it called failed for want of a
 * function, no size was taken as 0, and enough is left for CUDA's context and kernels, unless --context counted them.
 * Everything else is "only if", with the conditions, each a part of a sentence after these words.
 *
 * A program that was refused memory, went on with other requests and ended with success (it tries a smaller
 * batch, say), or by an error of another kind, does so on the GPU, too; whether that is what its user wants is a condition.
 * So it is where the program itself refuses to go on with the memory that there is (said.c), before it asks for more.
 *
 * How much NCCL takes follows from the links between GPUs.  Where much more is left than it took, other links
 * than those that were assumed are no condition: the verdict names them.
 *
 * Real numbers that the program reads from the GPU are no condition, since almost every program reads its
 * loss and no size follows from it: the verdict names the lines, and --value chooses what they read.
 * Integers and truth values are one, unless runs with others tell that memory does not follow from them (trial.c).  So are those that operators read to know
 * the sizes of their results.
 *
 * Invariants: reads only what findings.c and notes.c found; the order of conditions is constant.
 */
#include "config.h"

#include "base/units.h"
#include "dry/verdict/verdict.h"

/* As GEMEM_GPU_LEFT_FOR_CONTEXT, of links between GPUs that are others than those that were assumed; or with less than NCCL took. */
#define LEFT_FOR_LINKS (G_GUINT64_CONSTANT (1) << 30)

static void G_GNUC_PRINTF (2, 3) only_if (GPtrArray *conditions, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  g_ptr_array_add (conditions, g_strdup_vprintf (format, arguments));
  va_end (arguments);
}

static guint64
sum_of (const GPtrArray *counts)
{
  guint64 sum = 0;
  for (guint i = 0; i < counts->len; i++)
    sum += ((const DryCount *) counts->pdata[i])->count;
  return sum;
}

/* What @found takes of the device at least, with what is beside its allocator: one of JAX's or TensorFlow's takes all that it may,
 * unless it grows, or finds less when it begins. */
static guint64
taken_by (const DryOptions *options, const DryFinding *found)
{
  const gboolean all = found->limit > 0 && !found->grows
                       && found->limit + options->context <= options->capacity;
  return (all ? found->limit : found->needed) + found->beside;
}

/* Whether the program of @verdict, which was refused memory in @found, went on without it: it ended well, or by an error that is
 * about something else. */
static gboolean
went_on (const DryVerdict *verdict, const DryFinding *found)
{
  return (verdict->status == 0 || found->ended_otherwise) && found->after_ooms > 0;
}

/* What @found needs, in the worst order of addresses, and whether a request was refused that ended the program.
 * Others than the program's allocator may hold their most when that does, in any order. */
static void
measure (const DryOptions *options, const DryVerdict *verdict, DryFinding *found)
{
  guint64 most = MAX (found->held, found->peak_reserved);
  const guint64 others = most - found->peak_reserved;
  gboolean refused = (found->ooms > 0 && !went_on (verdict, found)) || found->refused_by != NULL;

  if (found->limit > 0) /* the context is beside it */
    {
      const gboolean without = went_on (verdict, found)
                               && found->ooms > 0; /* @least serves that, too */
      found->needed = without ? MIN (found->least, found->limit) : found->least;
      refused |= found->refused > 0 || found->needed > found->limit
                 || taken_by (options, found) + options->context > options->capacity;
      found->fit = refused ? DRY_DOES_NOT_FIT : DRY_FITS;
      return;
    }
  for (guint i = 0; i < found->orders->len; i++)
    {
      const DryOrder *order = &g_array_index (found->orders, DryOrder, i);
      most = MAX (most, order->peak_reserved + others);
      refused |= order->ooms > 0;
    }
  found->needed = most + options->context;
  found->fit = refused || found->needed > options->capacity ? DRY_DOES_NOT_FIT : DRY_FITS;
}

guint64
gemem_library_finding_limit (const DryOptions *options, const DryFinding *found)
{
  return found->limit > 0 ? MIN (found->limit, options->capacity - options->context)
                          : options->capacity;
}

/* What the processes on the device of @found need together, if each held its most at once. */
static guint64
needed_together (const DryOptions *options, const DryVerdict *verdict, const DryFinding *found)
{
  guint64 sum = 0;
  for (guint i = 0; i < verdict->findings->len; i++)
    {
      const DryFinding *other = verdict->findings->pdata[i];
      sum += other->gpu == found->gpu ? taken_by (options, other) : 0;
    }
  return sum;
}

/* What follows from @tried, of values of a @kind, in the row @row. */
static void
add_tried (GPtrArray *conditions, const DryTried *tried, const char *kind, const char *row)
{
  const char *more = tried->result == DRY_TRIAL_LEFT_OUT ? "without --once a second run tells"
                                                         : "--value chooses them";

  if (tried->result == DRY_TRIAL_OTHER)
    only_if (conditions,
             "tensors are no larger whose sizes follow from %s that were read from the GPU, as "
             "zero ('%s', below); %s",
             kind, row, more);
  else if (tried->result != DRY_TRIAL_NONE && tried->result != DRY_TRIAL_SAME)
    only_if (
        conditions,
        "no size follows from %s that were read from the GPU, as zero%s ('%s', below); %s", kind,
        tried->result == DRY_TRIAL_UNSTEADY ? ", nor from what else differs from run to run" : "",
        row, more);
}

/* What follows from work of streams that may be done later than here. */
static void
add_late (GPtrArray *conditions, const DryTried *tried)
{
  if (tried->result == DRY_TRIAL_OTHER || tried->result == DRY_TRIAL_FAILED)
    only_if (conditions,
             "the GPU is done with what other streams use by the time that memory is asked for "
             "('streams', below): %s",
             tried->text);
  else if (tried->result == DRY_TRIAL_LEFT_OUT)
    only_if (conditions,
             "the GPU is done with what other streams use by the time that memory is asked for "
             "('streams', below); without --once a second run tells what it needs otherwise");
}

/* What follows from times, which choose between workspaces. */
static void
add_times (GPtrArray *conditions, const DryTried *tried)
{
  if (tried->result == DRY_TRIAL_OTHER || tried->result == DRY_TRIAL_FAILED)
    only_if (conditions, "times of the GPU choose no other workspaces ('times', below): %s",
             tried->text);
  else if (tried->result == DRY_TRIAL_LEFT_OUT)
    only_if (conditions, "times of the GPU choose no other workspaces ('times', below); without "
                         "--once a second run tells what it needs then");
}

/* What the same process needs in @other, a run that is an end of the answer; 0: none, or it does not tell. */
static guint64
needed_in (const DryVerdict *verdict, const DryVerdict *other, guint process)
{
  if (other == NULL || other->fit == DRY_DOES_NOT_FIT)
    return 0;
  return other->findings->len == verdict->findings->len
             ? ((const DryFinding *) other->findings->pdata[process])->needed
             : other->needed;
}

/* The conditions of the whole run; @most: the run with the largest workspaces, or NULL. */
static void
add_common_conditions (DryVerdict *verdict, const DryVerdict *most)
{
  GPtrArray *conditions = verdict->only_if;
  const gboolean second = verdict->status == 0 && most != NULL && most->fit != DRY_DOES_NOT_FIT;
  const int status = second ? most->status : verdict->status;

  if (verdict->unusable)
    only_if (conditions, "a PyTorch that is built for CUDA needs no more");
  else if (verdict->findings->len == 0 && verdict->lost == 0)
    only_if (conditions, "it makes no CUDA calls on a GPU either");
  if (verdict->lost > 0)
    only_if (conditions,
             "what could not be recorded or read needs no more (%u recordings; see the messages)",
             verdict->lost);
  if (status != 0)
    {
      g_autofree char *ended = gemem_launcher_ended (status);
      only_if (conditions, "it needs no more after the point where it ended with %s", ended);
    }
  else if (verdict->not_printed != NULL)
    only_if (conditions,
             "it needs no more than up to its end, at which it had not printed '%s' (--until)",
             verdict->not_printed);
  if (verdict->refusal != NULL)
    only_if (conditions, "the program may do without what it refused ('refused', below): it ended "
                         "with success");
  if (verdict->missing->len > 0)
    only_if (conditions,
             "no size depends on the %" G_GUINT64_FORMAT
             " calls that failed ('not written', below)",
             sum_of (verdict->missing));
  if (verdict->sizes->len > 0)
    only_if (conditions,
             "tensors are no larger whose sizes were read from the GPU, as zero ('sizes', below); "
             "--value chooses them");
  if (verdict->drawn->len > 0)
    only_if (conditions,
             "real numbers that kernels compute select no more than those that were drawn here "
             "('drawn', below); %s",
             verdict->tried_drawn.text != NULL ? verdict->tried_drawn.text
                                               : "without --once a second draw tells more");
  add_tried (conditions, &verdict->tried_numbers, "integers", "numbers");
  add_tried (conditions, &verdict->tried_truths, "truth values", "truths");
  add_late (conditions, &verdict->tried_late);
  add_times (conditions, &verdict->tried_times);
  if (verdict->unknown->len > 0)
    only_if (conditions, "what is not known besides ('unknown', below) needs no more");
}

/* Those of @found alone, which fits by what was found. */
static void
add_conditions (const DryOptions *options, const DryVerdict *verdict, const DryVerdict *most,
                DryFinding *found)
{
  GPtrArray *conditions = found->only_if;
  const gboolean too_large = most != NULL && most->fit == DRY_DOES_NOT_FIT;
  const guint64 left = gemem_library_finding_limit (options, found) - found->needed_most;
  const guint64 beside = options->capacity
                         - MAX (taken_by (options, found), found->needed_most + found->beside);
  const guint64 links = found->limit > 0 ? beside : left; /* to NCCL, more than it took */
  const guint64 kernels = found->limit > 0 ? beside - MIN (beside, options->context) : beside;
  const guint64 together = needed_together (options, verdict, found);
  char size[GEMEM_FORMAT_MAX];

  if (found->ooms > 0)
    only_if (conditions,
             "the program may do without what was refused ('out of memory', below): it went on, "
             "with %" G_GUINT64_FORMAT " request%s after that",
             found->after_ooms, gemem_plural (found->after_ooms));
  if (found->growth_left != NULL)
    only_if (conditions, "it ends before that: %s", found->growth_left);
  if (found->late)
    only_if (conditions, "the requests before those that its trace holds needed no more");
  if (too_large)
    only_if (conditions, "workspaces take less than %s each, with which it does not fit",
             gemem_format_size (size, verdict->most_workspaces));
  else if (verdict->workspaces->len > 0 && most == NULL && !options->with_workspaces)
    only_if (conditions,
             "%s are enough for workspaces, whose sizes only NVIDIA's libraries know "
             "('workspaces', below); --workspaces=SIZE tries one",
             gemem_format_size (size, left));
  if (together > options->capacity)
    only_if (conditions,
             "the processes on GPU %d, which need %s in all, do not hold it at the same time",
             found->gpu, gemem_format_size (size, together));
  if (found->nccl > 0 && links < MAX (found->nccl, LEFT_FOR_LINKS) && !found->nccl_given)
    only_if (conditions,
             "NCCL finds links like those that were assumed ('NCCL', below), and takes no more "
             "than the %s "
             "that are left; NCCL_TOPO_FILE names a machine",
             gemem_format_size (size, links));
  if (!options->given_context && options->context + kernels < GEMEM_GPU_LEFT_FOR_CONTEXT)
    only_if (conditions,
             "%s, commonly some hundreds of MiB, take no more than the %s "
             "that are left; --context=SIZE counts them",
             options->context > 0 ? "kernels and libraries, beside CUDA's context"
                                  : "CUDA's context and kernels",
             gemem_format_size (size, kernels));
}

void
gemem_library_judge (const DryOptions *options, DryVerdict *verdict)
{
  const DryVerdict *most = verdict->most;

  g_ptr_array_set_size (verdict->only_if, 0);
  add_common_conditions (verdict, most);
  verdict->fit = gemem_library_said_no (verdict) ? DRY_DOES_NOT_FIT
                 : verdict->only_if->len > 0     ? DRY_FITS_ONLY_IF
                                                 : DRY_FITS;
  verdict->needed = verdict->needed_most = 0;
  verdict->refused = FALSE;
  for (guint i = 0; i < verdict->findings->len; i++)
    {
      DryFinding *found = verdict->findings->pdata[i];
      measure (options, verdict, found);
      if (gemem_library_said_no (verdict))
        found->fit = DRY_DOES_NOT_FIT;
      verdict->refused |= found->ooms > 0 || found->refused_by != NULL;
    }
  for (guint i = 0; i < verdict->findings->len; i++)
    {
      DryFinding *found = verdict->findings->pdata[i];
      const guint64 late = needed_in (verdict, verdict->late, i);
      const guint64 chosen = needed_in (verdict, verdict->chosen, i);
      const guint64 more = MAX (needed_in (verdict, most, i), MAX (late, chosen));

      found->needed_most = MAX (found->needed, more);
      found->most_late = late == found->needed_most;
      found->most_chosen = chosen == found->needed_most;
      g_ptr_array_set_size (found->only_if, 0);
      if (found->fit == DRY_FITS)
        add_conditions (options, verdict, most, found);
      if (found->fit == DRY_FITS && verdict->only_if->len + found->only_if->len > 0)
        found->fit = DRY_FITS_ONLY_IF;
      verdict->fit = MIN (verdict->fit, found->fit);
      verdict->needed = MAX (verdict->needed, found->needed);
      verdict->needed_most = MAX (verdict->needed_most, found->needed_most);
    }
}
