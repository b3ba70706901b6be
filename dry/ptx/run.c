/* run.c - runs a kernel (ptx.h): block after block, and in a block each thread until it waits for
 * others.
 *
 * Threads wait at barriers, and at operations of a warp (shfl, vote, ...), which are carried out
 * when each lane that takes part has come. Blocks that wait for later ones would never end on a GPU
 * either; those that wait for earlier ones find them done.
 */
#include "config.h"

#include <string.h>

#include "dry/ptx/ptx-private.h"

#define WARP 32
#define FRAMES_MAX 16
#define NOWHERE ((guint) -1)

typedef struct
{
  const GememPtxFunction *function;
  guint at;                    /* the next instruction */
  gsize registers, parameters; /* where its parts of the thread's begin */
} Frame;

typedef enum
{
  RUNS,
  WAITS_WARP,
  WAITS_BLOCK,
  ENDED,
} Status;

typedef struct
{
  guint64 value;
  guint8 state;
} Slot;

typedef struct
{
  GArray *registers;                /* Slot */
  GByteArray *frame, *frame_states; /* of parameters */
  GByteArray *local, *local_states;
  Frame frames[FRAMES_MAX];
  guint n_frames;
  Status status;
  guint64 carry;
  guint id[3], lane, number;
} Thread;

typedef struct
{
  const GememPtxLaunch *launch;
  const GememPtxFunction *kernel;
  Thread *threads;
  guint n_threads;
  guint8 *shared, *shared_states;
  gsize shared_size, static_shared;
  guint block[3];
  GememPtxMemory *last; /* where memory was found last */
  GememPtxMemory variables;
  gboolean lost, assumed;
} Run;

static guint8
worse (guint8 a, guint8 b)
{
  return MAX (a, b);
}

/* ---- memory */

static GememPtxMemory *
find_memory (Run *run, guint64 address, gsize size)
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
reach (Run *run, Thread *thread, guint8 space, guint64 address, gsize size, guint8 **states)
{
  const Frame *frame = &thread->frames[thread->n_frames - 1];

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
    state = worse (state, states[i]);
  return state;
}

/* ---- operands */

static Slot *
slot (Thread *thread, gint32 reg)
{
  return &g_array_index (thread->registers, Slot,
                         thread->frames[thread->n_frames - 1].registers + (gsize) reg);
}

static guint64
special (const Run *run, const Thread *thread, guint64 which)
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

static Slot
value_of (const Run *run, Thread *thread, const PtxOperand *operand)
{
  switch ((PtxOperandKind) operand->kind)
    {
    case OPERAND_REGISTER:
      {
        Slot value = *slot (thread, operand->reg);
        if (operand->negated)
          value.value = ~value.value;
        return value;
      }
    case OPERAND_SPECIAL:
      return (Slot){ special (run, thread, operand->value), GEMEM_PTX_KNOWN };
    default:
      return (Slot){ operand->value, GEMEM_PTX_KNOWN };
    }
}

static void
set (Thread *thread, gint32 reg, guint64 value, guint8 state)
{
  if (reg >= 0)
    *slot (thread, reg) = (Slot){ value, state };
}

/* The address of an operand in @space, which it may say itself. */
static Slot
address_of (Thread *thread, const PtxOperand *operand, guint8 *space)
{
  Slot at = { operand->value, GEMEM_PTX_KNOWN };

  if (operand->reg >= 0)
    {
      const Slot *base = slot (thread, operand->reg);
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
is_variable (const Run *run, const guint8 *bytes)
{
  return bytes >= run->variables.bytes && bytes < run->variables.bytes + run->variables.size;
}

static gint32
element (const PtxOperand *operand, guint i)
{
  return operand->kind == OPERAND_VECTOR ? operand->list[i] : operand->reg;
}

static void
load (Run *run, Thread *thread, const PtxInstruction *one)
{
  const guint n = one->vector > 0 ? one->vector : 1, size = one->type.bytes;
  guint8 space = one->space;
  const Slot at = address_of (thread, &one->operands[1], &space);
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
          state = worse (at.state, state_of (states + i * size, size));
        }
      set (thread, element (&one->operands[0], i), gemem_ptx_number (value, one->type), state);
    }
}

/* @unsure: the state of the predicate; @happens: what it is. */
static void
store (Run *run, Thread *thread, const PtxInstruction *one, guint8 unsure, gboolean happens)
{
  const guint n = one->vector > 0 ? one->vector : 1, size = one->type.bytes;
  guint8 space = one->space;
  const Slot at = address_of (thread, &one->operands[0], &space);
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
      const Slot value = value_of (run, thread, &single);
      if (happens)
        {
          memcpy (bytes + i * size, &value.value, size);
          memset (states + i * size, worse (value.state, unsure), size);
        }
      else
        for (guint k = 0; k < size; k++)
          states[i * size + k] = worse (states[i * size + k], unsure);
    }
}

static void
atomic (Run *run, Thread *thread, const PtxInstruction *one)
{
  const gboolean has_result = one->operation == OP_ATOM;
  const PtxOperand *operands = one->operands + has_result;
  const guint size = one->type.bytes;
  guint8 space = one->space;
  const Slot at = address_of (thread, &operands[0], &space),
             a = value_of (run, thread, &operands[1]),
             b = one->n_operands > 2u + has_result ? value_of (run, thread, &operands[2])
                                                   : (Slot){ 0, 0 };
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
        set (thread, one->operands[0].reg, 0, GEMEM_PTX_UNKNOWN);
      return;
    }
  run->lost |= is_variable (run, bytes);
  memcpy (&before, bytes, size);
  state = state_of (states, size);
  after = gemem_ptx_atomic (one, before, a.value, b.value, &run->lost);
  memcpy (bytes, &after, size);
  memset (states, worse (worse (state, a.state), b.state), size);
  if (has_result) /* who comes first is not known; that a swap worked is, in the end */
    set (thread, one->operands[0].reg, gemem_ptx_number (before, one->type),
         ptx_has (one, WORD_CAS) ? state : worse (state, GEMEM_PTX_ASSUMED));
}

static void
convert_address (Run *run, Thread *thread, const PtxInstruction *one)
{
  const Slot value = value_of (run, thread, &one->operands[1]);
  const gboolean windowed = one->space == SPACE_SHARED || one->space == SPACE_LOCAL
                            || one->space == SPACE_PARAM;
  guint64 address = value.value;

  if (windowed && one->space == SPACE_PARAM)
    address = one->to ? address - thread->frames[thread->n_frames - 1].parameters
                      : address + thread->frames[thread->n_frames - 1].parameters;
  if (windowed)
    address = one->to ? address & PTX_PLACE : (address & PTX_PLACE) | PTX_WINDOW (one->space);
  set (thread, one->operands[0].reg, address, value.state);
}

static void
move (Run *run, Thread *thread, const PtxInstruction *one)
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
          const Slot value = from->list[i] >= 0 ? *slot (thread, from->list[i])
                                                : (Slot){ from->numbers[i], 0 };
          whole |= (value.value & mask) << (i * bits);
          state = worse (state, value.state);
        }
    }
  else
    {
      const Slot value = value_of (run, thread, from);
      whole = value.value;
      state = value.state;
      if (from->kind == OPERAND_ADDRESS)
        run->lost = TRUE;
    }
  if (to->kind != OPERAND_VECTOR)
    set (thread, to->reg, whole, state);
  else
    for (guint i = 0, bits = to->n > 0 ? 8u * one->type.bytes / to->n : 0; i < to->n; i++)
      set (thread, to->list[i], whole >> (i * bits) & (((guint64) 1 << bits) - 1), state);
}

/* ---- what computes */

static void
compare (Run *run, Thread *thread, const PtxInstruction *one)
{
  const gboolean is_set = one->operation == OP_SET;
  const Slot a = value_of (run, thread, &one->operands[1]),
             b = value_of (run, thread, &one->operands[2]);
  gboolean yes = gemem_ptx_compare (one, is_set ? one->source : one->type, a.value, b.value),
           no = !yes;
  guint8 state = worse (a.state, b.state);

  if (one->n_operands > 3)
    {
      const Slot c = value_of (run, thread, &one->operands[3]);
      const gboolean with = c.value & 1;
      state = worse (state, c.state);
      if (ptx_has (one, WORD_AND))
        yes &= with, no &= with;
      else if (ptx_has (one, WORD_OR))
        yes |= with, no |= with;
      else
        yes ^= with, no ^= with;
    }
  if (is_set)
    set (thread, one->operands[0].reg,
         !yes                    ? 0
         : one->type.kind != 'f' ? G_MAXUINT32
         : one->type.bytes == 2  ? 0x3c00
                                 : 0x3f800000,
         state);
  else
    {
      set (thread, one->operands[0].reg, (guint64) yes, state);
      set (thread, one->operands[0].second, (guint64) no, state);
    }
}

static void
choose (Run *run, Thread *thread, const PtxInstruction *one)
{
  const Slot a = value_of (run, thread, &one->operands[1]),
             b = value_of (run, thread, &one->operands[2]),
             c = value_of (run, thread, &one->operands[3]);
  const gboolean first = one->operation == OP_SELP ? c.value & 1
                         : one->source.kind == 'f'
                             ? !(c.value >> 31 & 1)
                             : (gint64) gemem_ptx_number (c.value, one->source) >= 0;
  const gboolean same = a.value == b.value && a.state == b.state;

  set (thread, one->operands[0].reg, first ? a.value : b.value,
       c.state == GEMEM_PTX_KNOWN || same ? (first ? a.state : b.state)
                                          : worse (worse (a.state, b.state), c.state));
}

/* Sums with a carry, of 32 or 64 bits; the products of mad.cc come as the first number. */
static void
carry (Run *run, Thread *thread, const PtxInstruction *one)
{
  const guint n = one->operation == OP_MAD || one->operation == OP_MADC ? 3 : 2;
  const gboolean minus = one->operation == OP_SUB || one->operation == OP_SUBC;
  const gboolean takes = one->operation == OP_ADDC || one->operation == OP_SUBC
                         || one->operation == OP_MADC;
  guint64 numbers[4] = { 0 };
  guint8 state = GEMEM_PTX_KNOWN;

  for (guint i = 0; i < n; i++)
    {
      const Slot value = value_of (run, thread, &one->operands[i + 1]);
      numbers[i] = value.value;
      state = worse (state, value.state);
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
  const PtxType plain = { 'u', one->type.bytes };
  const unsigned __int128 a = gemem_ptx_number (numbers[0], plain),
                          b = gemem_ptx_number (numbers[1], plain),
                          in = takes ? thread->carry & 1 : 0, sum = minus ? a - b - in : a + b + in;
  if (ptx_has (one, WORD_CC))
    thread->carry = (guint64) (sum >> (8 * one->type.bytes)) & 1;
  set (thread, one->operands[0].reg, (guint64) sum, state);
}

/* Of predicates, one that decides alone makes the result known. */
static guint8
state_of_truths (const PtxInstruction *one, const Slot *a, const Slot *b)
{
  const guint64 decides = one->operation == OP_OR;

  if ((one->operation == OP_OR || one->operation == OP_AND)
      && ((a->state == GEMEM_PTX_KNOWN && (a->value & 1) == decides)
          || (b->state == GEMEM_PTX_KNOWN && (b->value & 1) == decides)))
    return GEMEM_PTX_KNOWN;
  return worse (a->state, b->state);
}

static void
compute (Run *run, Thread *thread, const PtxInstruction *one)
{
  guint64 numbers[4] = { 0 };
  Slot values[4] = { 0 };
  guint8 state = GEMEM_PTX_KNOWN;

  for (guint i = 1; i < one->n_operands && i < 5; i++)
    {
      values[i - 1] = value_of (run, thread, &one->operands[i]);
      numbers[i - 1] = values[i - 1].value;
      state = worse (state, values[i - 1].state);
    }
  if (one->type.kind == 'p')
    state = one->n_operands == 3 ? state_of_truths (one, &values[0], &values[1]) : state;
  set (thread, one->operands[0].reg,
       one->operation == OP_CVT ? gemem_ptx_convert (one, numbers[0], &run->lost)
                                : gemem_ptx_compute (one, numbers, &run->lost),
       state);
}

/* ---- calls */

static void
copy_parameters (Thread *thread, const PtxInstruction *call, gsize caller, gsize callee,
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
extend (GByteArray *bytes, gsize size)
{
  const guint before = bytes->len;

  g_byte_array_set_size (bytes, (guint) size);
  if (size > before)
    memset (bytes->data + before, 0, size - before);
}

static void
enter (Thread *thread, const GememPtxFunction *function)
{
  const Frame *above = thread->n_frames > 0 ? &thread->frames[thread->n_frames - 1] : NULL;
  Frame *frame = &thread->frames[thread->n_frames++];

  *frame = (Frame){
    .function = function,
    .registers = above != NULL ? above->registers + above->function->n_registers : 0,
    .parameters = above != NULL ? above->parameters + (above->function->frame_size + 15) / 16 * 16
                                : 0
  };
  if (frame->registers + function->n_registers > thread->registers->len)
    g_array_set_size (thread->registers, (guint) (frame->registers + function->n_registers));
  for (guint i = 0; i < function->n_registers; i++)
    g_array_index (thread->registers, Slot, frame->registers + i).state = GEMEM_PTX_UNKNOWN;
  if (frame->parameters + function->frame_size > thread->frame->len)
    {
      extend (thread->frame, frame->parameters + function->frame_size);
      extend (thread->frame_states, frame->parameters + function->frame_size);
    }
}

static void
call (Run *run, Thread *thread, const PtxInstruction *one)
{
  const gsize caller = thread->frames[thread->n_frames - 1].parameters;

  if (thread->n_frames == FRAMES_MAX || one->callee->lost)
    {
      run->lost = TRUE;
      return;
    }
  enter (thread, one->callee);
  copy_parameters (thread, one, caller, thread->frames[thread->n_frames - 1].parameters, FALSE);
}

static void
leave (Thread *thread)
{
  const gsize callee = thread->frames[thread->n_frames - 1].parameters;

  if (--thread->n_frames == 0)
    {
      thread->status = ENDED;
      return;
    }
  const Frame *frame = &thread->frames[thread->n_frames - 1];
  copy_parameters (thread, &g_array_index (frame->function->code, PtxInstruction, frame->at - 1),
                   frame->parameters, callee, TRUE);
}

/* ---- one thread */

static void
branch (Run *run, Thread *thread, const PtxInstruction *one)
{
  Frame *frame = &thread->frames[thread->n_frames - 1];

  if (one->operation == OP_BRA)
    frame->at = (guint) one->target;
  else
    {
      const Slot which = value_of (run, thread, &one->operands[0]);
      const guint64 place = which.value & G_MAXUINT32;
      run->assumed |= which.state == GEMEM_PTX_ASSUMED;
      if (which.state == GEMEM_PTX_UNKNOWN || one->targets == NULL || place >= one->targets->len)
        run->lost = TRUE;
      else
        frame->at = (guint) g_array_index (one->targets, gint32, place);
    }
}

static gboolean
is_pure (PtxOperation operation)
{
  switch (operation)
    {
    case OP_BRA:
    case OP_BRX:
    case OP_CALL:
    case OP_RET:
    case OP_EXIT:
    case OP_TRAP:
    case OP_BAR:
    case OP_BARRIER:
    case OP_SHFL:
    case OP_VOTE:
    case OP_MATCH:
    case OP_REDUX:
    case OP_ACTIVEMASK:
    case OP_ATOM:
    case OP_RED:
    case OP_ST:
      return FALSE;
    default:
      return TRUE;
    }
}

/* The results of @one have at least @state. */
static void
worsen (Thread *thread, const PtxInstruction *one, guint8 state)
{
  const PtxOperand *to = &one->operands[0];

  for (guint i = 0; i < (to->kind == OPERAND_VECTOR ? to->n : 1u); i++)
    if (element (to, i) >= 0)
      slot (thread, element (to, i))->state = worse (slot (thread, element (to, i))->state, state);
  if (to->kind == OPERAND_REGISTER && to->second >= 0)
    slot (thread, to->second)->state = worse (slot (thread, to->second)->state, state);
}

static void
execute (Run *run, Thread *thread, const PtxInstruction *one)
{
  switch ((PtxOperation) one->operation)
    {
    case OP_MOV:
      move (run, thread, one);
      break;
    case OP_LD:
    case OP_LDU:
      load (run, thread, one);
      break;
    case OP_CVTA:
      convert_address (run, thread, one);
      break;
    case OP_ISSPACEP:
      {
        const Slot value = value_of (run, thread, &one->operands[1]);
        const guint8 window = (guint8) (value.value >> 60);
        const gboolean is_global = window == 0 || window == SPACE_MODULE;
        set (thread, one->operands[0].reg,
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
control (Run *run, Thread *thread, const PtxInstruction *one)
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
      leave (thread);
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
      atomic (run, thread, one);
      break;
    case OP_TRAP:
      run->lost = TRUE;
      break;
    default:
      thread->status = WAITS_WARP;
    }
}

static void
run_thread (Run *run, Thread *thread)
{
  while (thread->status == RUNS && !run->lost)
    {
      Frame *frame = &thread->frames[thread->n_frames - 1];
      if (frame->at >= frame->function->code->len)
        {
          leave (thread);
          continue;
        }
      const PtxInstruction *one = &g_array_index (frame->function->code, PtxInstruction,
                                                  frame->at++);
      Slot predicate = { 1, GEMEM_PTX_KNOWN };

      if ((*run->launch->budget)-- == 0)
        {
          *run->launch->budget = 0;
          run->lost = TRUE;
          return;
        }
      if (one->predicate >= 0)
        {
          predicate = *slot (thread, one->predicate);
          predicate.value = (predicate.value & 1) ^ (guint64) one->negated;
        }
      if (one->operation == OP_ST)
        {
          if (predicate.value != 0 || predicate.state != GEMEM_PTX_KNOWN)
            store (run, thread, one, predicate.state, predicate.value != 0);
        }
      else if (is_pure ((PtxOperation) one->operation))
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
}

/* ---- warps */

static const PtxInstruction *
waits_at (const Thread *thread)
{
  const Frame *frame = &thread->frames[thread->n_frames - 1];
  return &g_array_index (frame->function->code, PtxInstruction, frame->at - 1);
}

/* The operand that says which lanes take part; -1: those that have come. */
static int
mask_operand (const PtxInstruction *one)
{
  return one->operation == OP_ACTIVEMASK                            ? -1
         : one->operation == OP_BAR || one->operation == OP_BARRIER ? 0
                                                                    : one->n_operands - 1;
}

static gint32
shuffle_from (const PtxInstruction *one, gint32 lane, guint64 by, guint64 clamp, gboolean *in)
{
  const gint32 segment = (gint32) (clamp >> 8 & 31), limit = (gint32) (clamp & 31),
               b = (gint32) (by & 31), most = (lane & segment) | (limit & ~segment),
               least = lane & segment;
  const gint32 from = ptx_has (one, WORD_UP)     ? lane - b
                      : ptx_has (one, WORD_DOWN) ? lane + b
                      : ptx_has (one, WORD_BFLY) ? lane ^ b
                                                 : (least | (b & ~segment));

  *in = ptx_has (one, WORD_UP) ? from >= most : from <= most;
  return *in ? from : lane;
}

static void
shuffle (Run *run, Thread *warp, guint32 lanes, const PtxInstruction *one)
{
  Slot given[WARP], results[WARP];
  gboolean in[WARP];

  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      given[i] = value_of (run, &warp[i], &one->operands[1]);
  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      {
        const Slot by = value_of (run, &warp[i], &one->operands[2]),
                   clamp = value_of (run, &warp[i], &one->operands[3]);
        const gint32 from = shuffle_from (one, (gint32) i, by.value, clamp.value, &in[i]);
        const gboolean there = from >= 0 && from < WARP && (lanes >> from & 1);
        results[i] = there ? given[from] : (Slot){ 0, GEMEM_PTX_UNKNOWN };
        results[i].state = worse (results[i].state, worse (by.state, clamp.state));
      }
  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      {
        set (&warp[i], one->operands[0].reg, results[i].value, results[i].state);
        set (&warp[i], one->operands[0].second, (guint64) in[i], GEMEM_PTX_KNOWN);
      }
}

static void
vote (Run *run, Thread *warp, guint32 lanes, const PtxInstruction *one)
{
  guint32 yes = 0;
  guint8 state = GEMEM_PTX_KNOWN;

  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      {
        const Slot value = value_of (run, &warp[i], &one->operands[1]);
        yes |= (guint32) (value.value & 1) << i;
        state = worse (state, value.state);
      }
  const guint64 result = ptx_has (one, WORD_BALLOT) ? yes
                         : ptx_has (one, WORD_ALL)  ? yes == lanes
                         : ptx_has (one, WORD_ANY)  ? yes != 0
                                                    : yes == 0 || yes == lanes;
  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      set (&warp[i], one->operands[0].reg, result, state);
}

static void
match (Run *run, Thread *warp, guint32 lanes, const PtxInstruction *one)
{
  guint64 values[WARP];
  guint8 state = GEMEM_PTX_KNOWN;

  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      {
        const Slot value = value_of (run, &warp[i], &one->operands[1]);
        values[i] = gemem_ptx_number (value.value, one->type);
        state = worse (state, value.state);
      }
  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      {
        guint32 same = 0;
        for (guint k = 0; k < WARP; k++)
          if ((lanes >> k & 1) && values[k] == values[i])
            same |= (guint32) 1 << k;
        const gboolean all = same == lanes;
        set (&warp[i], one->operands[0].reg, ptx_has (one, WORD_ALL) && !all ? 0 : same, state);
        set (&warp[i], one->operands[0].second, (guint64) all, state);
      }
}

static void
reduce (Run *run, Thread *warp, guint32 lanes, const PtxInstruction *one)
{
  Slot all = { 0, GEMEM_PTX_KNOWN };
  gboolean first = TRUE;

  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      {
        const Slot value = value_of (run, &warp[i], &one->operands[1]);
        all.value = first ? value.value
                          : gemem_ptx_atomic (one, all.value, value.value, 0, &run->lost);
        all.state = worse (all.state, value.state);
        first = FALSE;
      }
  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      set (&warp[i], one->operands[0].reg, all.value, all.state);
}

static void
act_together (Run *run, Thread *warp, guint32 lanes, const PtxInstruction *one)
{
  switch ((PtxOperation) one->operation)
    {
    case OP_SHFL:
      shuffle (run, warp, lanes, one);
      break;
    case OP_VOTE:
      vote (run, warp, lanes, one);
      break;
    case OP_MATCH:
      match (run, warp, lanes, one);
      break;
    case OP_REDUX:
      reduce (run, warp, lanes, one);
      break;
    case OP_ACTIVEMASK:
      for (guint i = 0; i < WARP; i++)
        if (lanes >> i & 1)
          set (&warp[i], one->operands[0].reg, lanes, GEMEM_PTX_KNOWN);
      break;
    default: /* a barrier of the warp */
      break;
    }
  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      warp[i].status = RUNS;
}

/* The lanes that wait with the one that waits at @one, and whether they are all that take part. */
static gboolean
gather_lanes (Run *run, Thread *warp, guint n, guint first, guint32 *lanes)
{
  const PtxInstruction *one = waits_at (&warp[first]);
  const int operand = mask_operand (one);
  const gboolean barrier = one->operation == OP_BAR || one->operation == OP_BARRIER;
  const Slot mask = operand < 0 ? (Slot){ G_MAXUINT32, GEMEM_PTX_KNOWN }
                                : value_of (run, &warp[first], &one->operands[operand]);
  guint32 missing = 0;

  *lanes = 0;
  run->lost |= mask.state != GEMEM_PTX_KNOWN;
  for (guint i = 0; i < n; i++)
    {
      const PtxInstruction *its = warp[i].status == WAITS_WARP ? waits_at (&warp[i]) : NULL;
      if (!(mask.value >> i & 1) || warp[i].status == ENDED)
        continue;
      if (its == one || (its != NULL && barrier && its->operation == one->operation))
        *lanes |= (guint32) 1 << i;
      else
        missing |= (guint32) 1 << i;
    }
  return missing == 0 || operand < 0;
}

/* Runs the threads of a warp until each has ended or waits for the block. */
static void
run_warp (Run *run, Thread *warp, guint n)
{
  for (;;)
    {
      gboolean any = FALSE, waits = FALSE;
      guint32 lanes;
      for (guint i = 0; i < n; i++)
        run_thread (run, &warp[i]);
      for (guint i = 0; i < n && !any && !run->lost; i++)
        if (warp[i].status == WAITS_WARP)
          {
            waits = TRUE;
            if (gather_lanes (run, warp, n, i, &lanes))
              {
                act_together (run, warp, lanes, waits_at (&warp[i]));
                any = TRUE;
              }
          }
      if (run->lost || !waits)
        return;
      if (!any)
        {
          run->lost = TRUE; /* each waits for one that waits elsewhere */
          return;
        }
    }
}

/* ---- blocks */

/* Lets those go on that a barrier has brought together; FALSE: none. */
static gboolean
release (Run *run)
{
  guint waiting = 0, living = 0;
  guint64 barrier = 0;
  gboolean same = TRUE;

  for (guint i = 0; i < run->n_threads; i++)
    {
      Thread *thread = &run->threads[i];
      living += thread->status != ENDED;
      if (thread->status == WAITS_BLOCK)
        {
          const PtxInstruction *one = waits_at (thread);
          const guint64 its = one->n_operands > 0 ? value_of (run, thread, &one->operands[0]).value
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
begin_thread (const Run *run, Thread *thread, guint number)
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
  enter (thread, run->kernel);
  memcpy (thread->frame->data, run->launch->parameters, run->kernel->parameter_size);
}

static void
run_block (Run *run)
{
  memset (run->shared_states, GEMEM_PTX_UNKNOWN, run->shared_size);
  for (guint i = 0; i < run->n_threads; i++)
    begin_thread (run, &run->threads[i], i);
  do
    for (guint i = 0; i < run->n_threads && !run->lost; i += WARP)
      run_warp (run, &run->threads[i], MIN (WARP, run->n_threads - i));
  while (!run->lost && release (run));
}

static void
run_grid (Run *run)
{
  const guint *grid = run->launch->grid;

  for (run->block[2] = 0; run->block[2] < grid[2]; run->block[2]++)
    for (run->block[1] = 0; run->block[1] < grid[1]; run->block[1]++)
      for (run->block[0] = 0; run->block[0] < grid[0] && !run->lost; run->block[0]++)
        run_block (run);
}

static void
prepare (Run *run)
{
  const GByteArray *variables = run->kernel->ptx->variables;

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
  run->threads = g_new0 (Thread, run->n_threads);
  for (guint i = 0; i < run->n_threads; i++)
    {
      run->threads[i].registers = g_array_sized_new (FALSE, TRUE, sizeof (Slot),
                                                     run->kernel->n_registers);
      run->threads[i].frame = g_byte_array_new ();
      run->threads[i].frame_states = g_byte_array_new ();
      run->threads[i].local = g_byte_array_new ();
      run->threads[i].local_states = g_byte_array_new ();
      extend (run->threads[i].local, run->kernel->ptx->local_size);
      extend (run->threads[i].local_states, run->kernel->ptx->local_size);
    }
}

static void
finish (Run *run)
{
  for (guint i = 0; i < run->n_threads; i++)
    {
      g_array_unref (run->threads[i].registers);
      g_byte_array_unref (run->threads[i].frame);
      g_byte_array_unref (run->threads[i].frame_states);
      g_byte_array_unref (run->threads[i].local);
      g_byte_array_unref (run->threads[i].local_states);
    }
  g_free (run->threads);
  g_free (run->shared);
  g_free (run->shared_states);
  g_free (run->variables.bytes);
  g_free (run->variables.states);
}

GememPtxEnd
gemem_ptx_run (const GememPtxFunction *kernel, const GememPtxLaunch *launch)
{
  Run run = { .launch = launch, .kernel = kernel };

  if (kernel->lost)
    return GEMEM_PTX_LOST;
  prepare (&run);
  run_grid (&run);
  finish (&run);
  return run.lost ? GEMEM_PTX_LOST : run.assumed ? GEMEM_PTX_DONE_ASSUMED : GEMEM_PTX_DONE;
}
