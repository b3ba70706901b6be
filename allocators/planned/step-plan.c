/* step-plan.c - see step-plan.h. */
#include "config.h"

#include "allocators/planned/schedule.h"
#include "allocators/planned/step-plan.h"
#include "base/io/fail.h"
#include "base/io/input.h"
#include "base/io/scan.h"
#include "base/units.h"

#define LONGEST_LINE ((gsize) 256 << 20) /* the first line names every block that stays */
#define MOST_BYTES (G_GUINT64_CONSTANT (1) << 60)

static GememStepPlan *
step_plan_new (void)
{
  GememStepPlan *plan = g_new0 (GememStepPlan, 1);

  plan->places = g_array_new (FALSE, FALSE, sizeof (GememStepPlace));
  plan->kept = g_array_new (FALSE, FALSE, sizeof (guint32));
  return plan;
}

void
gemem_step_plan_free (GememStepPlan *plan)
{
  if (plan == NULL)
    return;
  g_array_unref (plan->places);
  g_array_unref (plan->kept);
  g_free (plan);
}

/* ---- making it */

/* The request of the past that has @position in the schedule. */
static guint32
request_at (const GememSteps *steps, guint32 position)
{
  const guint32 before = steps->first + steps->cut, length = steps->end - steps->begin;

  return position < before ? position : steps->begin + (position - before + steps->cut) % length;
}

static guint64
peak_of (const GememPast *past)
{
  guint64 peak = 0;

  for (guint32 i = 0; i < past->requests->len; i++)
    peak = MAX (peak, gemem_past_get (past, i)->live + gemem_past_get (past, i)->size);
  return peak;
}

static GememStepPlan *
plan_of (const GememPast *past, const GememSteps *steps, const GememSchedule *schedule)
{
  GememStepPlan *plan = step_plan_new ();

  plan->before = steps->first + steps->cut;
  plan->bytes = gemem_schedule_bytes (schedule);
  plan->peak = peak_of (past);
  plan->small = past->small_peak;
  for (guint32 i = 0; i < gemem_schedule_length (schedule); i++)
    {
      const GememPastRequest *request = gemem_past_get (past, request_at (steps, i));
      const GememStepPlace place = { gemem_schedule_place (schedule, i)->offset, request->size };

      g_array_append_val (plan->places, place);
      if (request->released == GEMEM_NEVER)
        g_array_append_val (plan->kept, i);
    }
  return plan;
}

GememStepPlan *
gemem_step_plan_make (const char *path, const GememChoice *planner, GError **error)
{
  GememSteps steps;
  g_autoptr (GememPast) past = gemem_steps_read (path, GEMEM_STEP_PLAN_SMALL, &steps, error);
  GememSchedule *schedule = past != NULL ? gemem_schedule_new (past, &steps, FALSE, planner, error)
                                         : NULL;
  GememStepPlan *plan = schedule != NULL ? plan_of (past, &steps, schedule) : NULL;

  if (schedule != NULL)
    gemem_schedule_free (schedule);
  return plan;
}

/* ---- files */

void
gemem_step_plan_write (GString *out, const GememStepPlan *plan)
{
  for (guint i = 0; i < plan->kept->len; i++)
    g_string_append_printf (out, "%s%u", i > 0 ? " " : "", g_array_index (plan->kept, guint32, i));
  g_string_append_printf (
      out, "\n%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %u %u %" G_GUINT64_FORMAT "\n",
      plan->peak, plan->bytes, plan->before, plan->places->len - plan->before, plan->small);
  for (guint i = 0; i < plan->places->len; i++)
    {
      const GememStepPlace *place = &g_array_index (plan->places, GememStepPlace, i);

      g_string_append_printf (out, "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n", place->offset,
                              place->size);
    }
}

/* Scans @n numbers, which are the whole line. */
static gboolean
scan_numbers (const char *p, gsize length, guint64 *numbers, guint n)
{
  const char *end = p + length;

  for (guint i = 0; i < n; i++)
    {
      scan_blanks (&p, end);
      if (!scan_uint_word (&p, end, &numbers[i]))
        return FALSE;
    }
  scan_blanks (&p, end);
  return p == end;
}

#define fail(input, error, ...) \
  gemem_fail_line (error, gemem_input_name (input), MAX (gemem_input_line_number (input), 1), \
                   __VA_ARGS__)

static gboolean
read_kept (GememInput *input, const char *p, gsize length, GememStepPlan *plan, GError **error)
{
  const char *end = p + length;

  for (scan_blanks (&p, end); p < end; scan_blanks (&p, end))
    {
      guint64 number;

      if (!scan_uint_word (&p, end, &number) || number >= GEMEM_MOST_PAST)
        return fail (input, error,
                     "the first line of a plan of STAlloc has the numbers of blocks that stay; "
                     "this is none");
      const guint32 id = (guint32) number;
      g_array_append_val (plan->kept, id);
    }
  return TRUE;
}

static gboolean
read_head (GememInput *input, const char *line, gsize length, GememStepPlan *plan,
           guint64 *requests, GError **error)
{
  guint64 numbers[5];

  if (!scan_numbers (line, length, numbers, 5))
    return fail (input, error,
                 "the second line of a plan of STAlloc has five numbers; this is none");
  if (numbers[2] > GEMEM_MOST_PAST || numbers[3] > GEMEM_MOST_PAST || numbers[3] == 0)
    return fail (input, error, "the step has no request, or more than %u; this is no plan",
                 GEMEM_MOST_PAST);
  plan->peak = numbers[0];
  plan->before = (guint32) numbers[2];
  plan->small = numbers[4];
  *requests = numbers[2] + numbers[3];
  return TRUE;
}

static gboolean
read_place (GememInput *input, const char *line, gsize length, GememStepPlan *plan, GError **error)
{
  guint64 numbers[2];

  if (!scan_numbers (line, length, numbers, 2))
    return fail (input, error, "not 'OFFSET SIZE'; fetch the plan again");
  if (numbers[1] == 0 || numbers[0] >= MOST_BYTES || numbers[1] >= MOST_BYTES
      || numbers[0] % GEMEM_PLANNED_UNIT != 0)
    return fail (input, error,
                 "offset %" G_GUINT64_FORMAT ", size %" G_GUINT64_FORMAT
                 ": an offset is a multiple of %d, a size above 0, both are below 2^60",
                 numbers[0], numbers[1], (int) GEMEM_PLANNED_UNIT);
  const GememStepPlace place = { numbers[0], numbers[1] };
  g_array_append_val (plan->places, place);
  plan->bytes = MAX (plan->bytes, gemem_align_up (numbers[0] + numbers[1], GEMEM_PLANNED_UNIT));
  return TRUE;
}

static GememStepPlan *
read_lines (GememInput *input, GError **error)
{
  g_autoptr (GememStepPlan) plan = step_plan_new ();
  guint64 requests = 0;
  const char *line;
  gsize length;
  int result;

  for (guint64 number = 0;
       (result = gemem_input_line (input, LONGEST_LINE, &line, &length, error)) > 0; number++)
    {
      if (number == 0   ? !read_kept (input, line, length, plan, error)
          : number == 1 ? !read_head (input, line, length, plan, &requests, error)
                        : length > 0 && !read_place (input, line, length, plan, error))
        return NULL;
      if (plan->places->len > requests)
        {
          fail (input, error,
                "more than the %" G_GUINT64_FORMAT " places that it has; it is damaged", requests);
          return NULL;
        }
    }
  if (result < 0)
    return NULL;
  if (requests > 0 && plan->places->len == requests)
    return g_steal_pointer (&plan);
  fail (input, error, "the plan ends after %u of %" G_GUINT64_FORMAT " places; fetch it again",
        plan->places->len, requests);
  return NULL;
}

GememStepPlan *
gemem_step_plan_read (const char *path, GError **error)
{
  GememInput *input = gemem_input_open (path, error);
  GememStepPlan *plan = NULL;

  if (input == NULL)
    return NULL;
  gemem_input_set_single_pass (input);
  plan = read_lines (input, error);
  gemem_input_close (input);
  return plan;
}
