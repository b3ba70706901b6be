/* places.c - the call stacks of calls: their own, and around it that of Python's main thread
 * (JOURNAL_PLACE; record/lines.c).
 *
 * The first PLACE behind a call says where that thread was when the call was made.  Whether it made
 * the call is not guessed: the numbers of the threads say it, and for another thread's call a frame
 * of the stack does.
 *
 * Invariants: places and calls come in ascending order, all places before the first call.  Memory:
 * a place for each line that was noted, and a number for each pair of stacks.
 */
#include "config.h"

#include "traces/journal/journal-private.h"

#define OTHER_THREAD "in another thread" /* as a frame: the line is the main thread's, meanwhile */

void
gemem_journal_state_add_place (JournalState *state, const JournalRecord *record)
{
  const guint64 *stack = gemem_idmap_lookup (state->stacks, record->p);
  const JournalPlace place = { .sequence = record->sequence,
                               .thread = record->thread,
                               .stack = stack != NULL ? (guint32) *stack : 0 };
  g_array_append_val (state->places, place);
}

/* The stack of @place around @native (0: none), for a call of the thread itself or of another one:
 * then the stack says so. */
static guint32
join_stacks (JournalState *state, guint32 native, const JournalPlace *place, gboolean other)
{
  const guint64 key = (guint64) native << 32 | (guint64) place->stack << 1 | other;
  gboolean existed;
  guint64 *stack = gemem_idmap_insert (state->joined, key, &existed);
  GememCallStacks *stacks = gemem_trace_info_stacks (state->info);
  guint n;

  if (existed)
    return (guint32) *stack;
  const guint32 *frames = gemem_call_stacks_get (stacks, place->stack, &n);
  g_autofree guint32 *own = g_memdup2 (frames, n * sizeof *frames);
  guint32 joined = native;
  if (other)
    {
      const GememFrame marker = { .name = gemem_trace_info_intern (state->info, OTHER_THREAD) };
      const guint32 number = gemem_call_stacks_frame (stacks, &marker);
      joined = gemem_call_stacks_extend (stacks, joined, &number, 1);
    }
  *stack = gemem_call_stacks_extend (stacks, joined, own, n);
  return (guint32) *stack;
}

guint32
gemem_journal_stack_of (JournalState *state, const JournalRecord *record)
{
  const guint64 *number = record->stack != 0 ? gemem_idmap_lookup (state->stacks, record->stack)
                                             : NULL;
  const guint32 stack = number != NULL ? (guint32) *number : 0;
  const JournalPlace *places = (const JournalPlace *) (gpointer) state->places->data;

  while (state->place < state->places->len && places[state->place].sequence < record->sequence)
    state->place++;
  if (!journal_has_place (record->call) || record->below != 0 || state->place == state->places->len
      || places[state->place].stack == 0)
    return stack;
  return join_stacks (state, stack, &places[state->place],
                      record->thread != places[state->place].thread);
}
