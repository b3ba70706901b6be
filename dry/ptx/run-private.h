/* run-private.h - a kernel that runs (run.c): its threads, their registers, and the memory that they reach.
 *
 * Why: run.c runs threads, memory.c what reaches memory, warp.c what the threads of a warp do together.
 */
#pragma once

#include "dry/ptx/ptx-private.h"

#define WARP 32
#define PTX_FRAMES_MAX 16
#define NOWHERE ((guint) -1)

typedef struct
{
  const GememPtxFunction *function;
  guint at;                    /* the next instruction */
  gsize registers, parameters; /* where its parts of the thread's begin */
} PtxFrame;

typedef enum
{
  RUNS,
  WAITS_WARP,
  WAITS_BLOCK,
  ENDED,
} PtxStatus;

typedef struct
{
  guint64 value;
  guint8 state;
} PtxSlot;

typedef struct
{
  GArray *registers;                /* PtxSlot */
  GByteArray *frame, *frame_states; /* of parameters */
  GByteArray *local, *local_states;
  PtxFrame frames[PTX_FRAMES_MAX];
  guint n_frames;
  PtxStatus status;
  guint64 carry;
  guint id[3], lane, number;
} PtxThread;

typedef struct
{
  const GememPtxLaunch *launch;
  const GememPtxFunction *kernel;
  PtxThread *threads;
  guint n_threads;
  guint8 *shared, *shared_states;
  gsize shared_size, static_shared;
  guint block[3];
  GememPtxMemory *last; /* where memory was found last */
  GememPtxMemory variables;
  gboolean lost, assumed;
} PtxRun;

static inline guint8
ptx_worse (guint8 a, guint8 b)
{
  return MAX (a, b);
}

static inline PtxSlot *
ptx_slot (PtxThread *thread, gint32 reg)
{
  return &g_array_index (thread->registers, PtxSlot,
                         thread->frames[thread->n_frames - 1].registers + (gsize) reg);
}

static inline void
ptx_set (PtxThread *thread, gint32 reg, guint64 value, guint8 state)
{
  if (reg >= 0)
    *ptx_slot (thread, reg) = (PtxSlot){ value, state };
}

static inline gint32
ptx_element (const PtxOperand *operand, guint i)
{
  return operand->kind == OPERAND_VECTOR ? operand->list[i] : operand->reg;
}

/* The instruction that @thread has come to. */
static inline const PtxInstruction *
ptx_waits_at (const PtxThread *thread)
{
  const PtxFrame *frame = &thread->frames[thread->n_frames - 1];
  return &g_array_index (frame->function->code, PtxInstruction, frame->at - 1);
}

/* ---- memory.c */

/* A number of the thread or of its grid (PtxSpecial). */
guint64 gemem_ptx_special (const PtxRun *run, const PtxThread *thread, guint64 which);
/* Operations of the same names; @happens: whether the predicate of a store is true, whose state is @unsure. */
void gemem_ptx_load (PtxRun *run, PtxThread *thread, const PtxInstruction *one);
void gemem_ptx_store (PtxRun *run, PtxThread *thread, const PtxInstruction *one, guint8 unsure,
                      gboolean happens);
void gemem_ptx_run_atomic (PtxRun *run, PtxThread *thread, const PtxInstruction *one);
void gemem_ptx_convert_address (PtxRun *run, PtxThread *thread, const PtxInstruction *one);
void gemem_ptx_move (PtxRun *run, PtxThread *thread, const PtxInstruction *one);

/* ---- run.c */

/* Runs @thread until it ends or waits. */
void gemem_ptx_run_thread (PtxRun *run, PtxThread *thread);

/* ---- warp.c */

/* Runs the @n threads of a warp until each has ended or waits for the block. */
void gemem_ptx_run_warp (PtxRun *run, PtxThread *warp, guint n);

/* What an operand is. */
static inline PtxSlot
ptx_value_of (const PtxRun *run, PtxThread *thread, const PtxOperand *operand)
{
  switch ((PtxOperandKind) operand->kind)
    {
    case OPERAND_REGISTER:
      {
        PtxSlot value = *ptx_slot (thread, operand->reg);
        if (operand->negated)
          value.value = ~value.value;
        return value;
      }
    case OPERAND_SPECIAL:
      return (PtxSlot){ gemem_ptx_special (run, thread, operand->value), GEMEM_PTX_KNOWN };
    default:
      return (PtxSlot){ operand->value, GEMEM_PTX_KNOWN };
    }
}
