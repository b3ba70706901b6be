/* run.c - runs a kernel (ptx.h): block after block, and in a block each warp until its threads wait
 * for others.
 *
 * Threads wait at barriers, and at operations of a warp (warp.c). Blocks that wait for later ones
 * would never end on a GPU either; those that wait for earlier ones find them done.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "dry/ptx/run-private.h"

/* ---- blocks */

/* Lets those go on that a barrier has brought together; FALSE: none. */
static gboolean
release (PtxRun *run)
{
  guint waiting = 0, living = 0;
  guint64 barrier = 0;
  gboolean same = TRUE;

  for (guint i = 0; i < run->n_threads; i++)
    {
      PtxThread *thread = &run->threads[i];
      living += thread->status != ENDED;
      if (thread->status == WAITS_BLOCK)
        {
          const PtxInstruction *one = ptx_waits_at (thread);
          const guint64 its = one->n_operands > 0
                                  ? ptx_value_of (run, thread, &one->operands[0]).value
                                  : 0;
          same &= waiting == 0 || its == barrier;
          barrier = its;
          waiting++;
        }
    }
  if (waiting == 0 || waiting < living || !same)
    {
      run->lost |= living > 0;
      return FALSE;
    }
  for (guint i = 0; i < run->n_threads; i++)
    if (run->threads[i].status == WAITS_BLOCK)
      run->threads[i].status = RUNS;
  return TRUE;
}

static void
begin_thread (const PtxRun *run, PtxThread *thread, guint number)
{
  const guint *block = run->launch->block;

  thread->n_frames = 0;
  thread->status = RUNS;
  thread->carry = 0;
  thread->number = number;
  thread->lane = number % WARP;
  thread->id[0] = number % block[0];
  thread->id[1] = number / block[0] % block[1];
  thread->id[2] = number / block[0] / block[1];
  gemem_ptx_enter (thread, run->kernel);
  memcpy (thread->frame->data, run->launch->parameters, run->kernel->parameter_size);
}

static void
run_block (PtxRun *run)
{
  memset (run->shared_states, GEMEM_PTX_UNKNOWN, run->shared_size);
  for (guint i = 0; i < run->n_warps; i++)
    memset (run->warps[i].states, GEMEM_PTX_UNKNOWN, run->warps[i].n * WARP);
  for (guint i = 0; i < run->n_threads; i++)
    begin_thread (run, &run->threads[i], i);
  do
    for (guint i = 0; i < run->n_threads && !run->lost; i += WARP)
      gemem_ptx_run_warp (run, &run->threads[i], MIN (WARP, run->n_threads - i));
  while (!run->lost && release (run));
}

static void
run_grid (PtxRun *run)
{
  const guint *grid = run->launch->grid;

  for (run->block[2] = 0; run->block[2] < grid[2]; run->block[2]++)
    for (run->block[1] = 0; run->block[1] < grid[1]; run->block[1]++)
      for (run->block[0] = 0; run->block[0] < grid[0] && !run->lost; run->block[0]++)
        run_block (run);
}

static void
prepare (PtxRun *run)
{
  const GByteArray *variables = run->kernel->ptx->variables;

  qsort (run->launch->memory, run->launch->n_memory, sizeof *run->launch->memory,
         gemem_compare_uint64); /* by address, which comes first */
  run->n_threads = run->launch->block[0] * run->launch->block[1] * run->launch->block[2];
  run->static_shared = (run->kernel->shared_size + 15) / 16 * 16;
  run->shared_size = run->static_shared + run->launch->shared;
  run->shared = g_malloc0 (run->shared_size + 1);
  run->shared_states = g_malloc0 (run->shared_size + 1);
  run->variables.size = variables->len;
  run->variables.bytes = g_malloc0 (variables->len + 1u);
  run->variables.states = g_malloc0 (variables->len + 1u);
  if (variables->len > 0)
    memcpy (run->variables.bytes, variables->data, variables->len);
  run->threads = g_new0 (PtxThread, run->n_threads);
  run->n_warps = (run->n_threads + WARP - 1) / WARP;
  run->warps = g_new0 (PtxWarp, run->n_warps);
  for (guint i = 0; i < run->n_warps; i++)
    {
      run->warps[i].values = g_new0 (guint64, 1); /* of a kernel without registers, too */
      run->warps[i].states = g_new0 (guint8, 1);
    }
  for (guint i = 0; i < run->n_threads; i++)
    {
      run->threads[i].warp = &run->warps[i / WARP];
      run->threads[i].frame = g_byte_array_new ();
      run->threads[i].frame_states = g_byte_array_new ();
      run->threads[i].local = g_byte_array_new ();
      run->threads[i].local_states = g_byte_array_new ();
      ptx_extend (run->threads[i].local, run->kernel->ptx->local_size);
      ptx_extend (run->threads[i].local_states, run->kernel->ptx->local_size);
    }
}

static void
finish (PtxRun *run)
{
  for (guint i = 0; i < run->n_threads; i++)
    {
      g_byte_array_unref (run->threads[i].frame);
      g_byte_array_unref (run->threads[i].frame_states);
      g_byte_array_unref (run->threads[i].local);
      g_byte_array_unref (run->threads[i].local_states);
    }
  for (guint i = 0; i < run->n_warps; i++)
    {
      g_free (run->warps[i].values);
      g_free (run->warps[i].states);
    }
  g_free (run->threads);
  g_free (run->warps);
  g_free (run->shared);
  g_free (run->shared_states);
  g_free (run->variables.bytes);
  g_free (run->variables.states);
}

GememPtxEnd
gemem_ptx_run (const GememPtxFunction *kernel, const GememPtxLaunch *launch)
{
  PtxRun run = { .launch = launch, .kernel = kernel };

  if (kernel->lost)
    return GEMEM_PTX_LOST;
  prepare (&run);
  run_grid (&run);
  finish (&run);
  return run.lost ? GEMEM_PTX_LOST : run.assumed ? GEMEM_PTX_DONE_ASSUMED : GEMEM_PTX_DONE;
}
