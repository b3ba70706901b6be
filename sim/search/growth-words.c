/* growth-words.c - what an advice says of memory that grows with every step: how much, who makes it, how long it lasts.
 *
 * Why apart: it changes the verdict, the sentence, the lines and the JSON alike.
 *
 * Invariants: no cause is guessed; what to look for is named as such.
 */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "sim/search/advise.h"

#define MANY_STEPS \
  1000000         /* more than programs make: a device that is full only then is no concern */
#define LITTLE 20 /* a part of what is in use that is too small to be the reason */
#define NAME_WIDTH 60

guint64
gemem_advice_kept (const GememAdvice *advice, guint *steps)
{
  const GememGrowth *growth = advice->growth;
  const GememOom *oom = gemem_result_first_oom (advice->now);
  const guint64 until = gemem_growth_until (growth, oom != NULL ? oom->seq : G_MAXUINT64, steps);

  return *steps == growth->steps->len ? growth->bytes : until;
}

static guint64
in_use (const GememAdvice *advice)
{
  const GememOom *oom = gemem_result_first_oom (advice->now);

  return oom != NULL ? oom->live : advice->now->lower_bound;
}

guint64
gemem_advice_steps_left (const GememAdvice *advice, guint64 need)
{
  const guint64 capacity = advice->now->capacity, taken = need + gemem_result_others (advice->now);

  return (capacity - MIN (taken, capacity)) / advice->growth->step_bytes;
}

gboolean
gemem_advice_grows (const GememAdvice *advice)
{
  guint steps;

  if (advice->growth == NULL)
    return FALSE;
  if (advice->now->ooms == 0 && !advice->device_assumed)
    return gemem_advice_steps_left (advice, advice->now->peak_reserved) <= MANY_STEPS;
  return gemem_advice_kept (advice, &steps) >= in_use (advice) / LITTLE
         && steps >= GEMEM_GROWTH_STEPS;
}

char *
gemem_advice_growth_left (const GememAdvice *advice)
{
  const guint64 left = gemem_advice_steps_left (advice, advice->now->peak_reserved);
  char size[GEMEM_FORMAT_MAX];

  return g_strdup_printf ("every step keeps %s more, and the device is full after about "
                          "%" G_GUINT64_FORMAT " more step%s",
                          gemem_format_size (size, advice->growth->step_bytes), left,
                          gemem_plural (left));
}

/* "; most of it by model.py:25 forward, in the loop of train.py:31 main" */
static void
append_who (GString *out, const GememGrowth *growth)
{
  g_autofree char *by = growth->by != NULL ? gemem_text_cut (growth->by, NAME_WIDTH) : NULL;
  g_autofree char *from = growth->from != NULL ? gemem_text_cut (growth->from, NAME_WIDTH) : NULL;

  if (by == NULL)
    {
      g_string_append (out, "; which line made it was not recorded");
      return;
    }
  if (growth->by_bytes == growth->bytes)
    g_string_append (out, ", made");
  else
    g_string_append_printf (out, ", the largest part, %.0f %%, made",
                            100 * (double) growth->by_bytes / (double) growth->bytes);
  gemem_origin_append_by (out, by);
  if (from != NULL)
    g_string_append_printf (out, ", reached from %s", from);
}

char *
gemem_advice_growth_words (const GememAdvice *advice)
{
  const GememGrowth *growth = advice->growth;
  GString *out;
  guint steps;
  guint64 bytes, blocks, whole;
  char size[GEMEM_FORMAT_MAX], all[GEMEM_FORMAT_MAX];

  if (!gemem_advice_grows (advice))
    return NULL;
  bytes = gemem_advice_kept (advice, &steps);
  whole = MAX (in_use (advice), bytes);
  blocks = g_array_index (growth->steps, GememGrowthStep, growth->steps->len - 1).blocks
           / growth->steps->len;
  out = g_string_new (NULL);
  g_string_append_printf (out, "It grows: each of %u steps keeps %s", steps,
                          gemem_format_size (size, growth->step_bytes));
  if (blocks > 1)
    g_string_append_printf (out, " in %" G_GUINT64_FORMAT " blocks", blocks);
  g_string_append_printf (out, ", %s in all or %.0f %% of what is in use",
                          gemem_format_size (all, bytes), 100 * (double) bytes / (double) whole);
  append_who (out, growth);
  g_string_append_printf (
      out, ". No setting mends that: what still refers to it? A list, a cache%s?",
      g_strcmp0 (advice->system, "pytorch") == 0 ? ", a hook, a sum without .detach() or .item()"
                                                 : "");
  return g_string_free (out, FALSE);
}
