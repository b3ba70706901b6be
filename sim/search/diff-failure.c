/* diff-failure.c - see diff.h: a request that one of two runs is refused, what it would have needed, and which free parts
 * each of them has then.
 *
 * Why: "it runs out of memory now" is explained by the request itself: where the other run puts it, and what this one
 * has instead.
 *
 * Invariants: parts are those of the allocators' own spans, with the causes of idle memory as idle.c tells them; what
 * the refused run returned to the device while it looked for space is not among them any more.
 * Cost: another replay of each side, as the moment is known only now.
 */
#include "config.h"

#include "base/compare.h"
#include "base/io/json-text.h"
#include "base/text.h"
#include "base/units.h"
#include "sim/report/json-fields.h"
#include "sim/search/diff.h"

static const char *const sides[] = { "the first", "the second" };

/* ---- parts */

static int
compare_parts (gconstpointer a, gconstpointer b)
{
  const GememHistoryIdle *x = a, *y = b;

  return x->size != y->size ? gemem_compare_uint64 (&y->size, &x->size)
                            : gemem_compare_uint64 (&x->address, &y->address);
}

/* In which segment of @history, which is there at @event, @gap lies; one that goes on into the next is in none. */
static void
find_segment (const GememHistory *history, guint64 event, const GememHistoryIdle *gap,
              GememDiffPart *part)
{
  for (guint i = 0; i < history->segments->len; i++)
    {
      const GememHistoryBlock *segment = &g_array_index (history->segments, GememHistoryBlock, i);

      if (segment->begin > event)
        return;
      if (event < segment->end && segment->address <= gap->address
          && gap->address + gap->size <= segment->address + segment->size)
        {
          part->segment = segment->size;
          part->obtained = segment->begin;
          return;
        }
    }
}

/* Takes the @gaps (GememHistoryIdle) after @event of a run with @history. */
static void
take_parts (GememDiffSpace *space, const GArray *gaps, const GememHistory *history, guint64 event)
{
  g_autoptr (GArray) sorted = g_array_copy ((GArray *) gaps);

  g_array_sort (sorted, compare_parts);
  space->count = sorted->len;
  for (guint i = 0; i < sorted->len; i++)
    {
      const GememHistoryIdle *gap = &g_array_index (sorted, GememHistoryIdle, i);
      GememDiffPart part = { .size = gap->size, .cause = (GememIdleCause) gap->cause };

      space->free += gap->size;
      if (i >= GEMEM_DIFF_PARTS)
        continue;
      find_segment (history, event, gap, &part);
      g_array_append_val (space->parts, part);
    }
}

/* The last event of @history before @event at which a block begins or ends; FALSE: there is none. */
static gboolean
find_before (const GememHistory *history, guint64 event, guint64 *before)
{
  gboolean found = FALSE;

  for (guint i = 0; i < history->blocks->len; i++)
    {
      const GememHistoryBlock *block = &g_array_index (history->blocks, GememHistoryBlock, i);

      if (block->begin >= event)
        break;
      *before = found ? MAX (*before, block->begin) : block->begin;
      if (block->end < event)
        *before = MAX (*before, block->end);
      found = TRUE;
    }
  return found;
}

/* Replays side @s once more for what is free after @moment. */
static gboolean
look (GememDiff *diff, const GememDiffQuestion *question, guint s, guint64 moment, GError **error)
{
  const GememDiffSide *side = &diff->sides[s];
  const guint16 ordinal = (guint16) side->result->device_ordinal;
  const GememHistoryWish wish = { .most = 1,
                                  .events = gemem_held_events (side->held),
                                  .parts = 1,
                                  .moments = &moment,
                                  .n_moments = 1 };
  g_autoptr (GArray) ordinals = g_array_new (FALSE, FALSE, sizeof (guint16));
  GememNeed need = question->inputs[s];
  gboolean ok;

  g_array_append_val (ordinals, ordinal);
  need.ordinals = ordinals;
  need.history = &wish;
  ok = gemem_needs_find (&need, 1, &question->options, error);
  if (ok && need.result->history != NULL)
    take_parts (&diff->failure.spaces[s], need.result->history->gaps, side->result->history,
                moment);
  gemem_need_clear (&need);
  return ok;
}

/* What the device was asked for when @event of @history was refused. */
static guint64
refused_at (const GememHistory *history, guint64 event)
{
  for (guint i = 0; i < history->refused->len; i++)
    if (g_array_index (history->refused, GememHistoryBlock, i).begin == event)
      return g_array_index (history->refused, GememHistoryBlock, i).size;
  return 0;
}

/* Who makes the request, and when. */
static void
find_requests (GememDiff *diff, guint side, guint64 event)
{
  GememDiffSpace *spaces = diff->failure.spaces;

  for (guint s = 0; s < 2; s++)
    spaces[s].parts = g_array_new (FALSE, FALSE, sizeof (GememDiffPart));
  spaces[side].asks = TRUE;
  spaces[side].event = event;
  if (diff->chain != NULL && diff->chain->of_request)
    {
      const GememDiffLink *last = &g_array_index (diff->chain->links, GememDiffLink,
                                                  diff->chain->links->len - 1);

      spaces[1 - side].asks = TRUE;
      spaces[1 - side].event = last->places[1 - side].event;
    }
}

gboolean
gemem_diff_find_failure (GememDiff *diff, const GememDiffQuestion *question, guint side,
                         guint64 event, GError **error)
{
  const GememOom *oom = &g_array_index (diff->sides[side].result->oom, GememOom, 0);
  GememDiffFailure *failure = &diff->failure;
  guint64 before;

  failure->found = TRUE;
  failure->side = side;
  failure->requested = oom->requested;
  failure->device_free = oom->device_free;
  failure->by = g_strdup (oom->origin.by);
  failure->refused = refused_at (diff->sides[side].result->history, event);
  find_requests (diff, side, event);
  return look (diff, question, side, event, error)
         && (!failure->spaces[1 - side].asks
             || !find_before (diff->sides[1 - side].result->history,
                              failure->spaces[1 - side].event, &before)
             || look (diff, question, 1 - side, before, error));
}

void
gemem_diff_failure_clear (GememDiffFailure *failure)
{
  g_free (failure->by);
  for (guint s = 0; s < 2; s++)
    g_clear_pointer (&failure->spaces[s].parts, g_array_unref);
}

/* ---- for a person */

/* "28.00 MiB free in 2 parts, the largest 20.00 MiB, in its 40.00 MiB segment of event 1" */
static void
append_space (GString *out, const GememDiffSpace *space)
{
  const GememDiffPart *largest;
  char size[GEMEM_FORMAT_MAX];

  if (space->count == 0)
    {
      g_string_append (out, "nothing free in what it holds");
      return;
    }
  largest = &g_array_index (space->parts, GememDiffPart, 0);
  g_string_append_printf (out, "%s free in ", gemem_format_size (size, space->free));
  if (space->count == 1)
    g_string_append (out, "one part");
  else
    g_string_append_printf (out, "%" G_GUINT64_FORMAT " parts, the largest %s", space->count,
                            gemem_format_size (size, largest->size));
  if (largest->segment == 0)
    return;
  g_string_append_printf (out, ", in its %s segment of ",
                          gemem_format_size (size, largest->segment));
  if (largest->obtained > 0)
    g_string_append_printf (out, "event %" G_GUINT64_FORMAT, largest->obtained);
  else
    g_string_append (out, "the beginning");
}

/* Why none of the parts serves the request. */
static const char *
why_none (const GememDiffFailure *failure)
{
  const GememDiffSpace *space = &failure->spaces[failure->side];
  const GememDiffPart *largest = space->count > 0 ? &g_array_index (space->parts, GememDiffPart, 0)
                                                  : NULL;

  if (largest == NULL)
    return "";
  if (largest->size < failure->requested)
    return space->count == 1 ? ", which is less" : "; none is as large as the request";
  switch (largest->cause)
    {
    case GEMEM_IDLE_STREAMS:
      return "; it is large enough, but in the cache of another stream";
    case GEMEM_IDLE_POOLS:
      return "; it is large enough, but in another pool";
    case GEMEM_IDLE_OVERSIZE:
      return "; it is large enough, but a limit on splitting keeps it whole";
    case GEMEM_IDLE_WAITING:
      return "; it is large enough, but streams may still use it";
    case GEMEM_IDLE_RETURNABLE:
    case GEMEM_IDLE_PINNED:
    case GEMEM_IDLE_ROUNDING:
    case GEMEM_IDLE_ALLOCATOR:
    case GEMEM_IDLE_CAUSES:
    default:
      return "; it is large enough, but the rules of the allocator give it to no such request";
    }
}

void
gemem_diff_failure_append (GString *out, const GememDiffFailure *failure)
{
  const guint side = failure->side, other = 1 - side;
  g_autoptr (GString) head = g_string_new (NULL), here = g_string_new ("  It has "),
                      there = g_string_new ("  ");
  char size[GEMEM_FORMAT_MAX];

  g_string_append_printf (head, "Why %s is refused %s", sides[side],
                          gemem_format_size (size, failure->requested));
  gemem_origin_append_by (head, failure->by);
  g_string_append_printf (head, " (event %" G_GUINT64_FORMAT "):", failure->spaces[side].event);
  append_space (here, &failure->spaces[side]);
  g_string_append (here, why_none (failure));
  if (failure->refused > 0)
    {
      g_string_append_printf (here, ". The device is asked for %s, and has ",
                              gemem_format_size (size, failure->refused));
      g_string_append_printf (here, "%s left", gemem_format_size (size, failure->device_free));
      if (failure->device_free >= failure->refused)
        g_string_append (here, ": a limit of the program refuses it");
    }
  g_string_append_c (here, '.');
  g_string_append_printf (there, "%c%s", g_ascii_toupper (sides[other][0]), sides[other] + 1);
  if (failure->spaces[other].asks)
    {
      g_string_append_printf (there, " (event %" G_GUINT64_FORMAT ") has ",
                              failure->spaces[other].event);
      append_space (there, &failure->spaces[other]);
    }
  else
    g_string_append (there, " does not ask for it");
  g_string_append_c (there, '.');
  g_string_append_c (out, '\n');
  gemem_text_wrap (out, head->str, "  ");
  gemem_text_wrap (out, here->str, "    ");
  gemem_text_wrap (out, there->str, "    ");
}

/* ---- for programs */

static void
append_space_json (GString *out, const char *name, const GememDiffSpace *space)
{
  gemem_json_append_name (out, name);
  if (!space->asks)
    {
      g_string_append (out, "null");
      return;
    }
  g_string_append_c (out, '{');
  gemem_json_append_number_member (out, "event", space->event);
  gemem_json_append_number_member (out, "free", space->free);
  gemem_json_append_number_member (out, "parts", space->count);
  gemem_json_append_name (out, "largest");
  g_string_append_c (out, '[');
  for (guint i = 0; i < space->parts->len; i++)
    {
      const GememDiffPart *part = &g_array_index (space->parts, GememDiffPart, i);

      g_string_append (out, i == 0 ? "{" : ", {");
      gemem_json_append_number_member (out, "bytes", part->size);
      gemem_json_append_text_member (out, "cause", gemem_json_causes[part->cause]);
      gemem_json_append_number_member (out, "segment", part->segment);
      gemem_json_append_number_member (out, "segment_obtained", part->obtained);
      g_string_append_c (out, '}');
    }
  g_string_append (out, "]}");
}

void
gemem_diff_failure_append_json (GString *out, const GememDiffFailure *failure)
{
  gemem_json_append_name (out, "failure");
  if (!failure->found)
    {
      g_string_append (out, "null");
      return;
    }
  g_string_append_c (out, '{');
  gemem_json_append_text_member (out, "of", failure->side == 0 ? "first" : "second");
  gemem_json_append_number_member (out, "requested", failure->requested);
  gemem_json_append_text_member (out, "by", failure->by);
  gemem_json_append_number_member (out, "device_asked", failure->refused);
  gemem_json_append_number_member (out, "device_free", failure->device_free);
  append_space_json (out, "first", &failure->spaces[0]);
  append_space_json (out, "second", &failure->spaces[1]);
  g_string_append_c (out, '}');
}
