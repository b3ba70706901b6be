/* run-private.h - a kernel that runs (run.c): its threads, their registers, and the memory that
 * they reach.
 *
 * Why: run.c begins blocks, warp.c does what the threads of a warp do together, group.c runs those
 * that are at the same place, lanes.c an operation of all of them at once, thread.c one alone;
 * memory.c reaches memory.
 *
 * Invariants: of each register the values of a warp's threads stand side by side, so that an
 * operation on all of them is one loop.
 */
#pragma once

#include "dry/ptx/ptx-private.h"

#define WARP 32
#define PTX_FRAMES_MAX 16

typedef struct
{
  const GememPtxFunction *function;
  guint at;                    /* the next instruction */
  gsize registers, parameters; /* where its parts of the warp's and the thread's begin */
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

/* The registers of a warp's threads: that of @lane at [register * WARP + @lane]. */
typedef struct
{
  gsize n; /* registers */
  guint64 *values;
  guint8 *states;
} PtxWarp;

typedef struct
{
  PtxWarp *warp;
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
  PtxWarp *warps;
  guint n_threads, n_warps;
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

/* Where register @reg of @thread stands in its warp's. */
static inline gsize
ptx_place (const PtxThread *thread, gint32 reg)
{
  return (thread->frames[thread->n_frames - 1].registers + (gsize) reg) * WARP + thread->lane;
}

static inline PtxSlot
ptx_register (const PtxThread *thread, gint32 reg)
{
  const gsize place = ptx_place (thread, reg);
  return (PtxSlot){ thread->warp->values[place], thread->warp->states[place] };
}

static inline void
ptx_set (PtxThread *thread, gint32 reg, guint64 value, guint8 state)
{
  if (reg >= 0)
    {
      const gsize place = ptx_place (thread, reg);
      thread->warp->values[place] = value;
      thread->warp->states[place] = state;
    }
}

static inline gint32
ptx_element (const PtxOperand *operand, guint i)
{
  return operand->kind == OPERAND_VECTOR ? operand->list[i] : operand->reg;
}

/* The @size bytes at @address and their states; NULL: not all of them are in @piece. */
static inline guint8 *
ptx_in_piece (const GememPtxMemory *piece, guint64 address, gsize size, guint8 **states)
{
  const guint64 at = address - piece->address;

  if (at >= piece->size || size > piece->size - at)
    return NULL;
  *states = piece->states + at;
  return piece->bytes + at;
}

/* Takes @n instructions off what may still run; FALSE: these are too many. */
static inline gboolean
ptx_spend (PtxRun *run, guint n)
{
  if (*run->launch->budget < n)
    {
      *run->launch->budget = 0;
      run->lost = TRUE;
      return FALSE;
    }
  *run->launch->budget -= n;
  return TRUE;
}

/* The worst of @size states. */
static inline guint8
ptx_worst (const guint8 *states, gsize size)
{
  guint8 state = GEMEM_PTX_KNOWN;

  for (gsize i = 0; i < size; i++)
    state = ptx_worse (state, states[i]);
  return state;
}

/* The instruction that @thread has come to. */
static inline const PtxInstruction *
ptx_waits_at (const PtxThread *thread)
{
  const PtxFrame *frame = &thread->frames[thread->n_frames - 1];
  return &g_array_index (frame->function->code, PtxInstruction, frame->at - 1);
}

/* Threads of a warp that are at the same place: at the same instruction of a function that was
 * called from the same places. */
typedef struct
{
  PtxRun *run;
  PtxThread *threads;  /* of the warp */
  guint32 lanes, dead; /* those that are in it; those whose registers nobody reads any more */
  guint64 *values;     /* of the function's registers */
  guint8 *states;
} PtxGroup;

#define PTX_ALL_LANES G_MAXUINT32
#define PTX_EACH_LANE(i, lanes) \
  for (guint32 rest_of_##i = (lanes), i = 0; \
       rest_of_##i != 0 && (i = (guint32) __builtin_ctz (rest_of_##i), TRUE); \
       rest_of_##i &= rest_of_##i - 1)

/* ---- memory.c */

/* The piece of memory around @address of @space, which the threads of a block share; its address as
 * @address has it. FALSE: there is none, or each thread has its own. */
gboolean gemem_ptx_piece (PtxRun *run, guint8 space, guint64 address, GememPtxMemory *piece);
/* The bytes at @address of @space and their states; NULL: there are none. */
guint8 *gemem_ptx_reach (PtxRun *run, PtxThread *thread, guint8 space, guint64 address, gsize size,
                         guint8 **states);
/* Whether @bytes are a variable's of the module: what is written there is not kept for the next
 * launch. */
gboolean gemem_ptx_is_variable (const PtxRun *run, const guint8 *bytes);
/* The address of an operand in @space. */
PtxSlot gemem_ptx_address (PtxThread *thread, const PtxOperand *operand, guint8 space);
/* A number of the thread or of its grid (PtxSpecial). */
guint64 gemem_ptx_special (const PtxRun *run, const PtxThread *thread, guint64 which);
/* Operations of the same names; @happens: whether the predicate of a store is true, whose state is @unsure. */
void gemem_ptx_load (PtxRun *run, PtxThread *thread, const PtxInstruction *one);
void gemem_ptx_store (PtxRun *run, PtxThread *thread, const PtxInstruction *one, guint8 unsure,
                      gboolean happens);
void gemem_ptx_run_atomic (PtxRun *run, PtxThread *thread, const PtxInstruction *one);
void gemem_ptx_convert_address (PtxRun *run, PtxThread *thread, const PtxInstruction *one);
void gemem_ptx_move (PtxRun *run, PtxThread *thread, const PtxInstruction *one);

/* ---- thread.c */

/* Begins @function in @thread, whose arguments are still to be written. */
void gemem_ptx_enter (PtxThread *thread, const GememPtxFunction *function);

/* Runs @thread until it ends or waits. */
void gemem_ptx_run_thread (PtxRun *run, PtxThread *thread);
/* Carries out @one, which @thread is at, if its predicate is true. */
void gemem_ptx_step (PtxRun *run, PtxThread *thread, const PtxInstruction *one);
/* Back to the caller. */
void gemem_ptx_leave (PtxThread *thread);

/* ---- group.c */

/* Runs those of the @n threads of a warp that run, until each has ended or waits. */
void gemem_ptx_run_together (PtxRun *run, PtxThread *warp, guint n);

/* ---- lanes.c */

/* Carries out @one, which is pure or a store, for the lanes @active of @group; FALSE: it is not
 * written for many at once. */
gboolean gemem_ptx_run_lanes (PtxGroup *group, const PtxInstruction *one, guint32 active);

/* ---- warp.c */

/* Runs the @n threads of a warp until each has ended or waits for the block. */
void gemem_ptx_run_warp (PtxRun *run, PtxThread *warp, guint n);

/* What an operand is. */
static inline PtxSlot
ptx_value_of (const PtxRun *run, const PtxThread *thread, const PtxOperand *operand)
{
  switch ((PtxOperandKind) operand->kind)
    {
    case OPERAND_REGISTER:
      {
        PtxSlot value = ptx_register (thread, operand->reg);
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
