/* memory.c - what a thread of a kernel does with memory (run.c): loads, stores, atomic operations, addresses.
 *
 * Invariants: nothing is reached but the memory that the launch was given, and the thread's and block's own.
 */
#include "config.h"

#include <string.h>

#include "dry/ptx/run-private.h"

/* ---- memory */

static GememPtxMemory *
find_memory (PtxRun *run, guint64 address)
{
  const GememPtxLaunch *launch = run->launch;
  guint low = 0, high = launch->n_memory;

  if (run->last != NULL && address - run->last->address < run->last->size)
    return run->last;
  while (low < high)
    {
      const guint middle = (low + high) / 2;
      GememPtxMemory *memory = &launch->memory[middle];
      if (address < memory->address)
        high = middle;
      else if (address - memory->address >= memory->size)
        low = middle + 1;
      else
        return run->last = memory;
    }
  return NULL;
}

/* Which space an address of @space lies in; of generic ones the address says it. */
static guint8
space_of (guint8 space, guint64 address)
{
  const guint8 window = (guint8) (address >> 60);

  if (space != SPACE_GENERIC && space != SPACE_GLOBAL && space != SPACE_MODULE)
    return space;
  return window != 0 ? window : space == SPACE_MODULE ? SPACE_MODULE : SPACE_GLOBAL;
}

gboolean
gemem_ptx_piece (PtxRun *run, guint8 space, guint64 address, GememPtxMemory *piece)
{
  const GememPtxMemory *memory;
  guint64 at = address & PTX_PLACE;

  switch (space_of (space, address))
    {
    case SPACE_GLOBAL:
      if ((memory = find_memory (run, address)) == NULL)
        return FALSE;
      *piece = *memory;
      return TRUE;
    case SPACE_SHARED:
      at &= G_MAXUINT32;
      if (at >= PTX_DYNAMIC)
        at = at - PTX_DYNAMIC + run->static_shared;
      else if (at >= run->static_shared)
        return FALSE;
      *piece = (GememPtxMemory){ address - at, run->shared_size, run->shared, run->shared_states };
      break;
    case SPACE_MODULE:
      *piece = (GememPtxMemory){ address - at, run->variables.size, run->variables.bytes,
                                 run->variables.states };
      break;
    default:
      return FALSE;
    }
  return at < piece->size;
}

/* As gemem_ptx_piece(), of what belongs to @thread alone. */
static gboolean
own_piece (PtxThread *thread, guint8 space, guint64 address, GememPtxMemory *piece)
{
  const PtxFrame *frame = &thread->frames[thread->n_frames - 1];
  const guint64 at = (address & PTX_PLACE) + (space == SPACE_PARAM ? frame->parameters : 0);
  const GByteArray *bytes = space == SPACE_PARAM ? thread->frame : thread->local,
                   *states = space == SPACE_PARAM ? thread->frame_states : thread->local_states;

  *piece = (GememPtxMemory){ address - at, bytes->len, bytes->data, states->data };
  return at < piece->size;
}

guint8 *
gemem_ptx_reach (PtxRun *run, PtxThread *thread, guint8 space, guint64 address, gsize size,
                 guint8 **states)
{
  const guint8 its = space_of (space, address);
  const gboolean own = its == SPACE_LOCAL || its == SPACE_PARAM;
  GememPtxMemory piece;

  if (own ? !own_piece (thread, its, address, &piece)
          : !gemem_ptx_piece (run, space, address, &piece))
    return NULL;
  return ptx_in_piece (&piece, address, size, states);
}

/* ---- operands */

guint64
gemem_ptx_special (const PtxRun *run, const PtxThread *thread, guint64 which)
{
  const guint lane = thread->lane;
  const guint64 one = (guint64) 1 << lane;

  if (which < SPECIAL_NTID)
    return thread->id[which];
  if (which < SPECIAL_CTAID)
    return run->launch->block[which - SPECIAL_NTID];
  if (which < SPECIAL_NCTAID)
    return run->block[which - SPECIAL_CTAID];
  if (which < SPECIAL_LANEID)
    return run->launch->grid[which - SPECIAL_NCTAID];
  switch ((PtxSpecial) which)
    {
    case SPECIAL_LANEID:
      return lane;
    case SPECIAL_WARPID:
      return thread->number / WARP;
    case SPECIAL_NWARPID:
      return (run->n_threads + WARP - 1) / WARP;
    case SPECIAL_MASK_EQ:
      return one;
    case SPECIAL_MASK_LT:
      return one - 1;
    case SPECIAL_MASK_LE:
      return one | (one - 1);
    case SPECIAL_MASK_GT:
      return G_MAXUINT32 & ~(one | (one - 1));
    case SPECIAL_MASK_GE:
      return G_MAXUINT32 & ~(one - 1);
    case SPECIAL_DYNAMIC_SHARED:
      return run->launch->shared;
    default:
      return 0;
    }
}

/* The address of an operand in @space, which it may say itself. */
static PtxSlot
address_of (PtxThread *thread, const PtxOperand *operand, guint8 *space)
{
  PtxSlot at = { operand->value, GEMEM_PTX_KNOWN };

  if (operand->reg >= 0)
    {
      const PtxSlot base = ptx_register (thread, operand->reg);
      at.value += *space == SPACE_SHARED ? base.value & G_MAXUINT32 : base.value;
      at.state = base.state;
    }
  else if (operand->space != SPACE_GENERIC)
    *space = operand->space;
  return at;
}

PtxSlot
gemem_ptx_address (PtxThread *thread, const PtxOperand *operand, guint8 space)
{
  return address_of (thread, operand, &space);
}

/* ---- memory operations */

gboolean
gemem_ptx_is_variable (const PtxRun *run, const guint8 *bytes)
{
  return bytes >= run->variables.bytes && bytes < run->variables.bytes + run->variables.size;
}

void
gemem_ptx_load (PtxRun *run, PtxThread *thread, const PtxInstruction *one)
{
  const guint n = one->vector > 0 ? one->vector : 1, size = one->type.bytes;
  guint8 space = one->space;
  const PtxSlot at = address_of (thread, &one->operands[1], &space);
  guint8 *states = NULL;
  const guint8 *bytes = at.state == GEMEM_PTX_UNKNOWN
                            ? NULL
                            : gemem_ptx_reach (run, thread, space, at.value, (gsize) n * size,
                                               &states);

  for (guint i = 0; i < n; i++)
    {
      guint64 value = 0;
      guint8 state = GEMEM_PTX_UNKNOWN;
      if (bytes != NULL)
        {
          memcpy (&value, bytes + i * size, size);
          state = ptx_worse (at.state, ptx_worst (states + i * size, size));
        }
      ptx_set (thread, ptx_element (&one->operands[0], i), gemem_ptx_number (value, one->type),
               state);
    }
}

/* @unsure: the state of the predicate; @happens: what it is. */
void
gemem_ptx_store (PtxRun *run, PtxThread *thread, const PtxInstruction *one, guint8 unsure,
                 gboolean happens)
{
  const guint n = one->vector > 0 ? one->vector : 1, size = one->type.bytes;
  guint8 space = one->space;
  const PtxSlot at = address_of (thread, &one->operands[0], &space);
  const PtxOperand *source = &one->operands[1];
  guint8 *states = NULL, *bytes;

  if (at.state == GEMEM_PTX_UNKNOWN)
    {
      run->lost = TRUE;
      return;
    }
  run->assumed |= at.state == GEMEM_PTX_ASSUMED;
  if ((bytes = gemem_ptx_reach (run, thread, space, at.value, (gsize) n * size, &states)) == NULL)
    return;
  run->lost |= gemem_ptx_is_variable (run, bytes);
  for (guint i = 0; i < n; i++)
    {
      PtxOperand single = *source;
      if (source->kind == OPERAND_VECTOR)
        {
          single.kind = source->list[i] < 0 ? OPERAND_NUMBER : OPERAND_REGISTER;
          single.reg = source->list[i];
          single.value = source->numbers[i];
        }
      const PtxSlot value = ptx_value_of (run, thread, &single);
      if (happens)
        {
          memcpy (bytes + i * size, &value.value, size);
          memset (states + i * size, ptx_worse (value.state, unsure), size);
        }
      else
        for (guint k = 0; k < size; k++)
          states[i * size + k] = ptx_worse (states[i * size + k], unsure);
    }
}

void
gemem_ptx_run_atomic (PtxRun *run, PtxThread *thread, const PtxInstruction *one)
{
  const gboolean has_result = one->operation == OP_ATOM;
  const PtxOperand *operands = one->operands + has_result;
  const guint size = one->type.bytes;
  guint8 space = one->space;
  const PtxSlot at = address_of (thread, &operands[0], &space),
                a = ptx_value_of (run, thread, &operands[1]),
                b = one->n_operands > 2u + has_result ? ptx_value_of (run, thread, &operands[2])
                                                      : (PtxSlot){ 0, 0 };
  guint8 *states = NULL, *bytes, state;
  guint64 before = 0, after;

  if (at.state == GEMEM_PTX_UNKNOWN || one->vector > 0)
    {
      run->lost = TRUE;
      return;
    }
  run->assumed |= at.state == GEMEM_PTX_ASSUMED;
  if ((bytes = gemem_ptx_reach (run, thread, space, at.value, size, &states)) == NULL)
    {
      if (has_result)
        ptx_set (thread, one->operands[0].reg, 0, GEMEM_PTX_UNKNOWN);
      return;
    }
  run->lost |= gemem_ptx_is_variable (run, bytes);
  memcpy (&before, bytes, size);
  state = ptx_worst (states, size);
  after = gemem_ptx_atomic (one, before, a.value, b.value, &run->lost);
  memcpy (bytes, &after, size);
  memset (states, ptx_worse (ptx_worse (state, a.state), b.state), size);
  if (has_result) /* who comes first is not known; that a swap worked is, in the end */
    ptx_set (thread, one->operands[0].reg, gemem_ptx_number (before, one->type),
             ptx_has (one, WORD_CAS) ? state : ptx_worse (state, GEMEM_PTX_ASSUMED));
}

void
gemem_ptx_convert_address (PtxRun *run, PtxThread *thread, const PtxInstruction *one)
{
  const PtxSlot value = ptx_value_of (run, thread, &one->operands[1]);
  const gboolean windowed = one->space == SPACE_SHARED || one->space == SPACE_LOCAL
                            || one->space == SPACE_PARAM;
  guint64 address = value.value;

  if (windowed && one->space == SPACE_PARAM)
    address = one->to ? address - thread->frames[thread->n_frames - 1].parameters
                      : address + thread->frames[thread->n_frames - 1].parameters;
  if (windowed)
    address = one->to ? address & PTX_PLACE : (address & PTX_PLACE) | PTX_WINDOW (one->space);
  ptx_set (thread, one->operands[0].reg, address, value.state);
}

/* How many bits each part of @vector has. */
static guint
bits_of_part (const PtxInstruction *one, const PtxOperand *vector)
{
  return vector->n > 0 ? 8u * one->type.bytes / vector->n : 0;
}

static guint64
low_bits (guint n)
{
  return n >= 64 ? G_MAXUINT64 : ((guint64) 1 << n) - 1;
}

void
gemem_ptx_move (PtxRun *run, PtxThread *thread, const PtxInstruction *one)
{
  const PtxOperand *to = &one->operands[0], *from = &one->operands[1];
  guint64 whole = 0;
  guint8 state = GEMEM_PTX_KNOWN;

  if (from->kind == OPERAND_VECTOR)
    {
      const guint bits = bits_of_part (one, from);
      const guint64 mask = low_bits (bits);
      for (guint i = 0; i < from->n; i++)
        {
          const PtxSlot value = from->list[i] >= 0 ? ptx_register (thread, from->list[i])
                                                   : (PtxSlot){ from->numbers[i], 0 };
          whole |= (value.value & mask) << (i * bits);
          state = ptx_worse (state, value.state);
        }
    }
  else
    {
      const PtxSlot value = ptx_value_of (run, thread, from);
      whole = value.value;
      state = value.state;
      if (from->kind == OPERAND_ADDRESS)
        run->lost = TRUE;
    }
  if (to->kind != OPERAND_VECTOR)
    ptx_set (thread, to->reg, whole, state);
  else
    {
      const guint bits = bits_of_part (one, to);
      for (guint i = 0; i < to->n; i++)
        ptx_set (thread, to->list[i], whole >> (i * bits) & low_bits (bits), state);
    }
}
