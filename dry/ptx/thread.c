/* thread.c - what a single thread of a kernel does (run.c): each operation on its registers, calls,
 * branches, until it ends or waits for others.
 *
 * Why: threads at the same place are run together (group.c), most operations for all of them at
 * once (lanes.c). What is seldom, and where a predicate is not known, is done here.
 */
#include "config.h"

#include <string.h>

#include "dry/ptx/run-private.h"

/* ---- what computes */

static void
compare (PtxRun *run, PtxThread *thread, const PtxInstruction *one)
{
  const gboolean is_set = one->operation == OP_SET;
  const PtxSlot a = ptx_value_of (run, thread, &one->operands[1]),
                b = ptx_value_of (run, thread, &one->operands[2]);
  gboolean yes = gemem_ptx_compare (one, is_set ? one->source : one->type, a.value, b.value),
           no = !yes;
  guint8 state = ptx_worse (a.state, b.state);

  if (one->n_operands > 3)
    {
      const PtxSlot c = ptx_value_of (run, thread, &one->operands[3]);
      const gboolean with = c.value & 1;
      state = ptx_worse (state, c.state);
      if (ptx_has (one, WORD_AND))
        yes &= with, no &= with;
      else if (ptx_has (one, WORD_OR))
        yes |= with, no |= with;
      else
        yes ^= with, no ^= with;
    }
  if (is_set)
    ptx_set (thread, one->operands[0].reg,
             !yes                    ? 0
             : one->type.kind != 'f' ? G_MAXUINT32
             : one->type.bytes == 2  ? 0x3c00
                                     : 0x3f800000,
             state);
  else
    {
      ptx_set (thread, one->operands[0].reg, (guint64) yes, state);
      ptx_set (thread, one->operands[0].second, (guint64) no, state);
    }
}

static void
choose (PtxRun *run, PtxThread *thread, const PtxInstruction *one)
{
  const PtxSlot a = ptx_value_of (run, thread, &one->operands[1]),
                b = ptx_value_of (run, thread, &one->operands[2]),
                c = ptx_value_of (run, thread, &one->operands[3]);
  const gboolean first = one->operation == OP_SELP ? c.value & 1
                         : one->source.kind == 'f'
                             ? !(c.value >> 31 & 1)
                             : (gint64) gemem_ptx_number (c.value, one->source) >= 0;
  const gboolean same = a.value == b.value && a.state == b.state;

  ptx_set (thread, one->operands[0].reg, first ? a.value : b.value,
           c.state == GEMEM_PTX_KNOWN || same ? (first ? a.state : b.state)
                                              : ptx_worse (ptx_worse (a.state, b.state), c.state));
}

/* Sums with a carry, of 32 or 64 bits; the products of mad.cc come as the first number. */
static void
carry (PtxRun *run, PtxThread *thread, const PtxInstruction *one)
{
  const guint n = one->operation == OP_MAD || one->operation == OP_MADC ? 3 : 2;
  const gboolean minus = one->operation == OP_SUB || one->operation == OP_SUBC;
  const gboolean takes = one->operation == OP_ADDC || one->operation == OP_SUBC
                         || one->operation == OP_MADC;
  guint64 numbers[4] = { 0 };
  guint8 state = GEMEM_PTX_KNOWN;

  for (guint i = 0; i < n; i++)
    {
      const PtxSlot value = ptx_value_of (run, thread, &one->operands[i + 1]);
      numbers[i] = value.value;
      state = ptx_worse (state, value.state);
    }
  if (state == GEMEM_PTX_UNKNOWN)
    thread->carry = 0;
  if (n == 3)
    {
      PtxInstruction product = *one;
      product.operation = OP_MUL;
      numbers[0] = gemem_ptx_compute (&product, numbers, &run->lost);
      numbers[1] = numbers[2];
    }
  const PtxType plain = { 'u', one->type.bytes, 0, 0 };
  const unsigned __int128 a = gemem_ptx_number (numbers[0], plain),
                          b = gemem_ptx_number (numbers[1], plain),
                          in = takes ? thread->carry & 1 : 0, sum = minus ? a - b - in : a + b + in;
  if (ptx_has (one, WORD_CC))
    thread->carry = (guint64) (sum >> (8 * one->type.bytes)) & 1;
  ptx_set (thread, one->operands[0].reg, (guint64) sum, state);
}

/* Of predicates, one that decides alone makes the result known. */
static guint8
state_of_truths (const PtxInstruction *one, const PtxSlot *a, const PtxSlot *b)
{
  const guint64 decides = one->operation == OP_OR;

  if ((one->operation == OP_OR || one->operation == OP_AND)
      && ((a->state == GEMEM_PTX_KNOWN && (a->value & 1) == decides)
          || (b->state == GEMEM_PTX_KNOWN && (b->value & 1) == decides)))
    return GEMEM_PTX_KNOWN;
  return ptx_worse (a->state, b->state);
}

static void
compute (PtxRun *run, PtxThread *thread, const PtxInstruction *one)
{
  guint64 numbers[4] = { 0 };
  PtxSlot values[4] = { 0 };
  guint8 state = GEMEM_PTX_KNOWN;

  for (guint i = 1; i < one->n_operands && i < 5; i++)
    {
      values[i - 1] = ptx_value_of (run, thread, &one->operands[i]);
      numbers[i - 1] = values[i - 1].value;
      state = ptx_worse (state, values[i - 1].state);
    }
  if (one->type.kind == 'p')
    state = one->n_operands == 3 ? state_of_truths (one, &values[0], &values[1]) : state;
  ptx_set (thread, one->operands[0].reg,
           one->operation == OP_CVT ? gemem_ptx_convert (one, numbers, &run->lost)
                                    : gemem_ptx_compute (one, numbers, &run->lost),
           state);
}

/* ---- calls */

static void
copy_parameters (PtxThread *thread, const PtxInstruction *call, gsize caller, gsize callee,
                 gboolean results)
{
  const GArray *parameters = call->callee->parameters;
  const guint n = call->callee->n_results;

  for (guint i = results ? 0 : n; i < (results ? n : parameters->len / 2); i++)
    {
      const gsize there = callee + g_array_index (parameters, guint16, 2 * i),
                  size = g_array_index (parameters, guint16, 2 * i + 1),
                  here = caller + (gsize) g_array_index (call->arguments, gint32, i);
      const gsize to = results ? here : there, from = results ? there : here;
      if (MAX (to, from) + size > thread->frame->len)
        continue;
      memmove (thread->frame->data + to, thread->frame->data + from, size);
      memmove (thread->frame_states->data + to, thread->frame_states->data + from, size);
    }
}

static void
extend_registers (PtxWarp *warp, gsize n)
{
  warp->values = g_renew (guint64, warp->values, n * WARP);
  warp->states = g_renew (guint8, warp->states, n * WARP);
  memset (warp->values + warp->n * WARP, 0, (n - warp->n) * WARP * sizeof *warp->values);
  memset (warp->states + warp->n * WARP, GEMEM_PTX_UNKNOWN, (n - warp->n) * WARP);
  warp->n = n;
}

void
gemem_ptx_enter (PtxThread *thread, const GememPtxFunction *function)
{
  const PtxFrame *above = thread->n_frames > 0 ? &thread->frames[thread->n_frames - 1] : NULL;
  PtxFrame *frame = &thread->frames[thread->n_frames++];

  *frame = (PtxFrame){
    .function = function,
    .registers = above != NULL ? above->registers + above->function->n_registers : 0,
    .parameters = above != NULL ? above->parameters + (above->function->frame_size + 15) / 16 * 16
                                : 0
  };
  if (frame->registers + function->n_registers > thread->warp->n)
    extend_registers (thread->warp, frame->registers + function->n_registers);
  for (guint i = 0; above != NULL && i < function->n_registers; i++)
    thread->warp->states[ptx_place (thread, (gint32) i)] = GEMEM_PTX_UNKNOWN;
  if (frame->parameters + function->frame_size > thread->frame->len)
    {
      ptx_extend (thread->frame, frame->parameters + function->frame_size);
      ptx_extend (thread->frame_states, frame->parameters + function->frame_size);
    }
}

static void
call (PtxRun *run, PtxThread *thread, const PtxInstruction *one)
{
  const gsize caller = thread->frames[thread->n_frames - 1].parameters;

  if (thread->n_frames == PTX_FRAMES_MAX || one->callee == NULL || one->callee->lost)
    {
      run->lost = TRUE;
      return;
    }
  gemem_ptx_enter (thread, one->callee);
  copy_parameters (thread, one, caller, thread->frames[thread->n_frames - 1].parameters, FALSE);
}

void
gemem_ptx_leave (PtxThread *thread)
{
  const gsize callee = thread->frames[thread->n_frames - 1].parameters;

  if (--thread->n_frames == 0)
    {
      thread->status = ENDED;
      return;
    }
  const PtxFrame *frame = &thread->frames[thread->n_frames - 1];
  copy_parameters (thread, &g_array_index (frame->function->code, PtxInstruction, frame->at - 1),
                   frame->parameters, callee, TRUE);
}

/* ---- one thread */

static void
branch (PtxRun *run, PtxThread *thread, const PtxInstruction *one)
{
  PtxFrame *frame = &thread->frames[thread->n_frames - 1];

  if (one->operation == OP_BRA)
    frame->at = (guint) one->target;
  else
    {
      const PtxSlot which = ptx_value_of (run, thread, &one->operands[0]);
      const guint64 place = which.value & G_MAXUINT32;
      run->assumed |= which.state == GEMEM_PTX_ASSUMED;
      if (which.state == GEMEM_PTX_UNKNOWN || one->targets == NULL || place >= one->targets->len)
        run->lost = TRUE;
      else
        frame->at = (guint) g_array_index (one->targets, gint32, place);
    }
}

static void
worsen_register (PtxThread *thread, gint32 reg, guint8 state)
{
  if (reg >= 0)
    {
      guint8 *its = &thread->warp->states[ptx_place (thread, reg)];
      *its = ptx_worse (*its, state);
    }
}

/* The results of @one have at least @state. */
static void
worsen (PtxThread *thread, const PtxInstruction *one, guint8 state)
{
  const PtxOperand *to = &one->operands[0];

  for (guint i = 0; i < (to->kind == OPERAND_VECTOR ? to->n : 1u); i++)
    worsen_register (thread, ptx_element (to, i), state);
  if (to->kind == OPERAND_REGISTER)
    worsen_register (thread, to->second, state);
}

static void
execute (PtxRun *run, PtxThread *thread, const PtxInstruction *one)
{
  switch ((PtxOperation) one->operation)
    {
    case OP_MOV:
      gemem_ptx_move (run, thread, one);
      break;
    case OP_LD:
    case OP_LDU:
      gemem_ptx_load (run, thread, one);
      break;
    case OP_CVTA:
      gemem_ptx_convert_address (run, thread, one);
      break;
    case OP_ISSPACEP:
      {
        const PtxSlot value = ptx_value_of (run, thread, &one->operands[1]);
        const guint8 window = (guint8) (value.value >> 60);
        const gboolean is_global = window == 0 || window == SPACE_MODULE;
        ptx_set (thread, one->operands[0].reg,
                 one->space == SPACE_GLOBAL ? is_global : window == one->space, value.state);
        break;
      }
    case OP_SETP:
    case OP_SET:
      compare (run, thread, one);
      break;
    case OP_SELP:
    case OP_SLCT:
      choose (run, thread, one);
      break;
    case OP_MEMBAR:
    case OP_FENCE:
    case OP_NANOSLEEP:
    case OP_PREFETCH:
      break;
    case OP_ADDC:
    case OP_SUBC:
    case OP_MADC:
      carry (run, thread, one);
      break;
    default:
      if (ptx_has (one, WORD_CC))
        carry (run, thread, one);
      else
        compute (run, thread, one);
    }
}

static void
control (PtxRun *run, PtxThread *thread, const PtxInstruction *one)
{
  switch ((PtxOperation) one->operation)
    {
    case OP_BRA:
    case OP_BRX:
      branch (run, thread, one);
      break;
    case OP_CALL:
      call (run, thread, one);
      break;
    case OP_RET:
      gemem_ptx_leave (thread);
      break;
    case OP_EXIT:
      thread->n_frames = 0;
      thread->status = ENDED;
      break;
    case OP_BAR:
    case OP_BARRIER:
      thread->status = ptx_has (one, WORD_WARP) ? WAITS_WARP : WAITS_BLOCK;
      run->lost |= one->n_operands > 2;
      break;
    case OP_ATOM:
    case OP_RED:
      gemem_ptx_run_atomic (run, thread, one);
      break;
    case OP_TRAP:
      run->lost = TRUE;
      break;
    default:
      thread->status = WAITS_WARP;
    }
}

void
gemem_ptx_step (PtxRun *run, PtxThread *thread, const PtxInstruction *one)
{
  PtxSlot predicate = { 1, GEMEM_PTX_KNOWN };

  if (one->predicate >= 0)
    {
      predicate = ptx_register (thread, one->predicate);
      predicate.value = (predicate.value & 1) ^ (guint64) one->negated;
    }
  if (one->operation == OP_ST)
    {
      if (predicate.value != 0 || predicate.state != GEMEM_PTX_KNOWN)
        gemem_ptx_store (run, thread, one, predicate.state, predicate.value != 0);
    }
  else if (!ptx_is (one->operation, PTX_ACTS))
    {
      if (predicate.value != 0)
        execute (run, thread, one);
      if (predicate.state != GEMEM_PTX_KNOWN)
        worsen (thread, one, predicate.state);
    }
  else
    {
      run->lost |= predicate.state == GEMEM_PTX_UNKNOWN;
      run->assumed |= predicate.state == GEMEM_PTX_ASSUMED;
      if (predicate.value != 0)
        control (run, thread, one);
    }
}

void
gemem_ptx_run_thread (PtxRun *run, PtxThread *thread)
{
  while (thread->status == RUNS && !run->lost)
    {
      PtxFrame *frame = &thread->frames[thread->n_frames - 1];
      if (frame->at >= frame->function->code->len)
        {
          gemem_ptx_leave (thread);
          continue;
        }
      const PtxInstruction *one = &g_array_index (frame->function->code, PtxInstruction,
                                                  frame->at++);
      if (!ptx_spend (run, 1))
        return;
      gemem_ptx_step (run, thread, one);
    }
}
