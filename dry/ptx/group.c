/* group.c - runs the threads of a warp that are at the same place as one (run.c).
 *
 * Why: nearly all threads of a warp go the same way; what an instruction is, is then found out once
 * for all of them, and its operation is a loop (lanes.c).
 *
 * Where a branch parts them, those that are least far go on first, until they come to where others
 * are; so they are together again behind an "if". Threads that wait for one that is farther than
 * they (a lock) would wait for ever: when PATIENCE turns have passed, all are run one by one.
 */
#include "config.h"

#include "dry/ptx/run-private.h"

#define PATIENCE 256
#define TURNS_MAX 16 /* of a loop, before those go on who are elsewhere */
#define NOWHERE G_MAXUINT

static const PtxFrame *
frame_of (const PtxThread *thread)
{
  return &thread->frames[thread->n_frames - 1];
}

/* Whether @a is run before @b: within calls first, then what is least far. */
static gboolean
is_before (const PtxThread *a, const PtxThread *b)
{
  return a->n_frames != b->n_frames ? a->n_frames > b->n_frames
                                    : frame_of (a)->at < frame_of (b)->at;
}

static gboolean
same_function (const PtxThread *a, const PtxThread *b)
{
  const PtxFrame *one = frame_of (a), *other = frame_of (b);
  return a->n_frames == b->n_frames && one->function == other->function
         && one->registers == other->registers && one->parameters == other->parameters;
}

/* Which threads run next, how far (@stop: where others are), and whether they are @alone; FALSE:
 * none runs. */
static gboolean
choose_group (PtxGroup *group, guint n, guint *stop, gboolean *alone)
{
  const PtxThread *first = NULL;

  group->lanes = 0;
  group->dead = n < WARP ? PTX_ALL_LANES << n : 0;
  *stop = NOWHERE;
  *alone = TRUE;
  for (guint i = 0; i < n; i++)
    {
      const PtxThread *thread = &group->threads[i];
      if (thread->status == ENDED)
        group->dead |= (guint32) 1 << i;
      else if (thread->status == RUNS && (first == NULL || is_before (thread, first)))
        first = thread;
    }
  if (first == NULL)
    return FALSE;
  const guint at = frame_of (first)->at;
  for (guint i = 0; i < n; i++)
    if (group->threads[i].status == RUNS)
      {
        const PtxThread *thread = &group->threads[i];
        const gboolean same = same_function (thread, first);
        if (same && frame_of (thread)->at == at)
          group->lanes |= (guint32) 1 << i;
        else
          *alone = FALSE;
        if (same && frame_of (thread)->at > at)
          *stop = MIN (*stop, frame_of (thread)->at);
      }
  group->values = first->warp->values + frame_of (first)->registers * WARP;
  group->states = first->warp->states + frame_of (first)->registers * WARP;
  return TRUE;
}

static void
move_to (PtxGroup *group, guint32 lanes, guint at)
{
  PTX_EACH_LANE (i, lanes)
    group->threads[i].frames[group->threads[i].n_frames - 1].at = at;
}

/* For which lanes the predicate of @one is true; FALSE: not all of them are known. */
static gboolean
decide (const PtxGroup *group, const PtxInstruction *one, guint32 *active)
{
  const guint64 *values = group->values + (gsize) one->predicate * WARP;
  const guint8 *states = group->states + (gsize) one->predicate * WARP;
  guint32 yes = 0;
  guint8 state = GEMEM_PTX_KNOWN;

  for (guint i = 0; i < WARP; i++)
    yes |= (guint32) (values[i] & 1) << i;
  PTX_EACH_LANE (i, group->lanes)
    state = ptx_worse (state, states[i]);
  *active = (one->negated ? ~yes : yes) & group->lanes;
  return state == GEMEM_PTX_KNOWN;
}

/* Each lane by itself; FALSE: they may now be at different places. */
static gboolean
step_each (PtxGroup *group, const PtxInstruction *one, guint32 lanes, guint at)
{
  const PtxOperation operation = (PtxOperation) one->operation;
  const gboolean stays = operation == OP_ST || operation == OP_ATOM || operation == OP_RED
                         || !ptx_is (operation, PTX_ACTS);

  if (!stays)
    move_to (group, group->lanes, at);
  PTX_EACH_LANE (i, lanes)
    gemem_ptx_step (group->run, &group->threads[i], one);
  return stays;
}

/* Runs @group until its threads part, wait, end or come to @stop. */
static void
run_group (PtxGroup *group, guint stop, gboolean alone)
{
  const PtxFrame *frame = frame_of (&group->threads[__builtin_ctz (group->lanes)]);
  const GArray *code = frame->function->code;
  const guint n = (guint) __builtin_popcount (group->lanes);
  guint at = frame->at, turns = 0;

  while (at != stop && at < code->len && !group->run->lost)
    {
      const PtxInstruction *one = &g_array_index (code, PtxInstruction, at++);
      guint32 active = group->lanes;

      if (!ptx_spend (group->run, n))
        return;
      if (one->predicate >= 0 && !decide (group, one, &active))
        {
          if (!step_each (group, one, group->lanes, at))
            return;
        }
      else if (active == 0)
        continue;
      else if (one->operation != OP_BRA)
        {
          if (!gemem_ptx_run_lanes (group, one, active) && !step_each (group, one, active, at))
            return;
        }
      else if (active != group->lanes)
        {
          move_to (group, group->lanes & ~active, at);
          move_to (group, active, (guint) one->target);
          return;
        }
      else
        {
          turns += (guint) one->target < at;
          at = (guint) one->target;
          if (!alone && (turns > TURNS_MAX || at > stop))
            break;
        }
    }
  move_to (group, group->lanes, at);
  if (at >= code->len)
    PTX_EACH_LANE (i, group->lanes)
      gemem_ptx_leave (&group->threads[i]);
}

void
gemem_ptx_run_together (PtxRun *run, PtxThread *warp, guint n)
{
  PtxGroup group = { .run = run, .threads = warp };
  guint32 seen = 0, left = 0; /* of the last PATIENCE turns: who ran, who was left behind */
  guint turns = 0, stop;
  gboolean alone;

  while (!run->lost && choose_group (&group, n, &stop, &alone))
    {
      run_group (&group, stop, alone);
      seen |= group.lanes;
      if (++turns < PATIENCE)
        continue;
      for (guint i = 0; i < n; i++)
        left |= (guint32) (warp[i].status == RUNS) << i;
      if ((left & ~seen) != 0)
        for (guint i = 0; i < n; i++)
          gemem_ptx_run_thread (run, &warp[i]);
      turns = 0, seen = 0, left = 0;
    }
}
