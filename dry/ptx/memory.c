/* memory.c - what a thread of a kernel does with memory (run.c): loads, stores, atomic operations, addresses.
 *
 * Invariants: nothing is reached but the memory that the launch was given, and the thread's and block's own.
 */
#include "config.h"

#include <string.h>

#include "dry/ptx/run-private.h"

/* ---- memory */

static GememPtxMemory *
find_memory (PtxRun *run, guint64 address, gsize size)
{
  const GememPtxLaunch *launch = run->launch;
  guint low = 0, high = launch->n_memory;

  if (run->last != NULL && address - run->last->address < run->last->size)
    return size <= run->last->size - (address - run->last->address) ? run->last : NULL;
  while (low < high)
    {
      const guint middle = (low + high) / 2;
      GememPtxMemory *memory = &launch->memory[middle];
      if (address < memory->address)
        high = middle;
      else if (address - memory->address >= memory->size)
        low = middle + 1;
      else
        {
          run->last = memory;
          return size <= memory->size - (address - memory->address) ? memory : NULL;
        }
    }
  return NULL;
}

static guint8 *
part (guint8 *bytes, guint8 *all_states, gsize size, guint64 at, gsize wanted, guint8 **states)
{
  if (at > size || wanted > size - at)
    return NULL;
  *states = all_states + at;
  return bytes + at;
}

/* The bytes at @address of @space; NULL: there are none. */
static guint8 *
reach (PtxRun *run, PtxThread *thread, guint8 space, guint64 address, gsize size, guint8 **states)
{
  const PtxFrame *frame = &thread->frames[thread->n_frames - 1];

  if (space == SPACE_GENERIC || space == SPACE_GLOBAL || space == SPACE_MODULE)
    {
      const guint8 window = (guint8) (address >> 60);
      space = window == 0 ? (space == SPACE_MODULE ? SPACE_MODULE : SPACE_GLOBAL) : window;
    }
  if (space == SPACE_GLOBAL)
    {
      GememPtxMemory *memory = find_memory (run, address, size);
      if (memory == NULL)
        return NULL;
      *states = memory->states + (address - memory->address);
      return memory->bytes + (address - memory->address);
    }
  address &= PTX_PLACE;
  switch (space)
    {
    case SPACE_SHARED:
      address &= G_MAXUINT32;
      if (address >= PTX_DYNAMIC)
        address = address - PTX_DYNAMIC + run->static_shared;
      else if (address >= run->static_shared)
        return NULL;
      return part (run->shared, run->shared_states, run->shared_size, address, size, states);
    case SPACE_LOCAL:
      return part (thread->local->data, thread->local_states->data, thread->local->len, address,
                   size, states);
    case SPACE_PARAM:
      return part (thread->frame->data, thread->frame_states->data, thread->frame->len,
                   frame->parameters + address, size, states);
    case SPACE_MODULE:
      return part (run->variables.bytes, run->variables.states, run->variables.size, address, size,
                   states);
    default:
      return NULL;
    }
}

static guint8
state_of (const guint8 *states, gsize size)
{
  guint8 state = GEMEM_PTX_KNOWN;
  for (gsize i = 0; i < size; i++)
    state = ptx_worse (state, states[i]);
  return state;
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
      const PtxSlot *base = ptx_slot (thread, operand->reg);
      at.value += *space == SPACE_SHARED ? base->value & G_MAXUINT32 : base->value;
      at.state = base->state;
    }
  else if (operand->space != SPACE_GENERIC)
    *space = operand->space;
  return at;
}

/* ---- memory operations */

/* A variable of the module: what is written there is not kept for the next launch. */
static gboolean
is_variable (const PtxRun *run, const guint8 *bytes)
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
                            : reach (run, thread, space, at.value, (gsize) n * size, &states);

  for (guint i = 0; i < n; i++)
    {
      guint64 value = 0;
      guint8 state = GEMEM_PTX_UNKNOWN;
      if (bytes != NULL)
        {
          memcpy (&value, bytes + i * size, size);
          state = ptx_worse (at.state, state_of (states + i * size, size));
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
  if ((bytes = reach (run, thread, space, at.value, (gsize) n * size, &states)) == NULL)
    return;
  run->lost |= is_variable (run, bytes);
  for (guint i = 0; i < n; i++)
    {
      PtxOperand single = *source;
      if (source->kind == OPERAND_VECTOR)
        {
          single.kind = source->list[i] == -2 ? OPERAND_NUMBER : OPERAND_REGISTER;
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
  if ((bytes = reach (run, thread, space, at.value, size, &states)) == NULL)
    {
      if (has_result)
        ptx_set (thread, one->operands[0].reg, 0, GEMEM_PTX_UNKNOWN);
      return;
    }
  run->lost |= is_variable (run, bytes);
  memcpy (&before, bytes, size);
  state = state_of (states, size);
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

void
gemem_ptx_move (PtxRun *run, PtxThread *thread, const PtxInstruction *one)
{
  const PtxOperand *to = &one->operands[0], *from = &one->operands[1];
  guint64 whole = 0;
  guint8 state = GEMEM_PTX_KNOWN;

  if (from->kind == OPERAND_VECTOR)
    {
      const guint bits = from->n > 0 ? 8u * one->type.bytes / from->n : 0;
      const guint64 mask = bits >= 64 ? G_MAXUINT64 : ((guint64) 1 << bits) - 1;
      for (guint i = 0; i < from->n; i++)
        {
          const PtxSlot value = from->list[i] >= 0 ? *ptx_slot (thread, from->list[i])
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
    for (guint i = 0, bits = to->n > 0 ? 8u * one->type.bytes / to->n : 0; i < to->n; i++)
      ptx_set (thread, to->list[i], whole >> (i * bits) & (((guint64) 1 << bits) - 1), state);
}
