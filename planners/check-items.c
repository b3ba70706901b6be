/* check-items.c - what every plan must satisfy: each item that needs memory has an offset and
 * enough bytes, aligned, inside its space; and the report of a violation.  See check-private.h. */
#include "config.h"

#include "planners/check-private.h"

gboolean
gemem_check_report (GememCheck *check, GememViolationKind kind, guint32 first, guint32 second,
                    const char *format, ...)
{
  GememViolation *violation = g_new0 (GememViolation, 1);
  g_autofree char *one = check->describe (check->data, first);
  g_autofree char *other = second != GEMEM_NONE ? check->describe (check->data, second) : NULL;
  g_autofree char *what = NULL;
  va_list args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  violation->kind = kind;
  violation->first = first;
  violation->second = second;
  violation->text = g_strconcat (one, other != NULL ? " and " : "", other != NULL ? other : "",
                                 ": ", what, NULL);
  g_ptr_array_add (check->found, violation);
  return check->found->len < check->max;
}

/* ---- one item */

static guint64
total_of_space (const GememPlan *plan, guint64 space)
{
  for (guint i = 0; i < plan->totals->len; i++)
    if (plan->spaces == NULL || g_array_index (plan->totals, GememPlanTotal, i).space == space)
      return g_array_index (plan->totals, GememPlanTotal, i).bytes;
  return 0;
}

gboolean
gemem_check_item (GememCheck *check, guint32 item, guint64 bytes, guint64 alignment,
                  gboolean *sound)
{
  const GememPlan *plan = check->plan;
  const guint64 total = total_of_space (plan, gemem_check_space (check, item));

  *sound = FALSE;
  if (plan->offsets[item] == GEMEM_NO_OFFSET)
    return gemem_check_report (check, GEMEM_VIOLATION_MISSING, item, GEMEM_NONE,
                               "needs memory and has no offset");
  if (plan->sizes[item] < bytes)
    return gemem_check_report (check, GEMEM_VIOLATION_SIZE, item, GEMEM_NONE,
                               "has %" G_GUINT64_FORMAT " bytes and needs %" G_GUINT64_FORMAT,
                               plan->sizes[item], bytes);
  if (plan->offsets[item] > total || plan->sizes[item] > total - plan->offsets[item])
    return gemem_check_report (check, GEMEM_VIOLATION_OUTSIDE, item, GEMEM_NONE,
                               "ends outside its space, which has %" G_GUINT64_FORMAT " bytes",
                               total);
  *sound = TRUE;
  if (alignment > 1 && plan->offsets[item] % alignment != 0)
    return gemem_check_report (check, GEMEM_VIOLATION_ALIGNMENT, item, GEMEM_NONE,
                               "the offset is no multiple of %" G_GUINT64_FORMAT, alignment);
  return TRUE;
}
