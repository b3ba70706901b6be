/* warp.c - what the threads of a warp do together (run.c): shuffles, votes, barriers.
 *
 * Such an operation is carried out when each lane that takes part has come to it.
 */
#include "config.h"

#include <string.h>

#include "dry/ptx/run-private.h"

/* ---- warps */

/* The operand that says which lanes take part; -1: those that have come; -2: all. */
static int
mask_operand (const PtxInstruction *one)
{
  return one->operation == OP_ACTIVEMASK                                  ? -1
         : one->operation == OP_LDMATRIX || one->operation == OP_STMATRIX ? -2
         : one->operation == OP_BAR || one->operation == OP_BARRIER       ? 0
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
shuffle (PtxRun *run, PtxThread *warp, guint32 lanes, const PtxInstruction *one)
{
  PtxSlot given[WARP], results[WARP];
  gboolean in[WARP];

  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      given[i] = ptx_value_of (run, &warp[i], &one->operands[1]);
  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      {
        const PtxSlot by = ptx_value_of (run, &warp[i], &one->operands[2]),
                      clamp = ptx_value_of (run, &warp[i], &one->operands[3]);
        const gint32 from = shuffle_from (one, (gint32) i, by.value, clamp.value, &in[i]);
        const gboolean there = from >= 0 && from < WARP && (lanes >> from & 1);
        results[i] = there ? given[from] : (PtxSlot){ 0, GEMEM_PTX_UNKNOWN };
        results[i].state = ptx_worse (results[i].state, ptx_worse (by.state, clamp.state));
      }
  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      {
        ptx_set (&warp[i], one->operands[0].reg, results[i].value, results[i].state);
        ptx_set (&warp[i], one->operands[0].second, (guint64) in[i], GEMEM_PTX_KNOWN);
      }
}

static void
vote (PtxRun *run, PtxThread *warp, guint32 lanes, const PtxInstruction *one)
{
  guint32 yes = 0;
  guint8 state = GEMEM_PTX_KNOWN;

  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      {
        const PtxSlot value = ptx_value_of (run, &warp[i], &one->operands[1]);
        yes |= (guint32) (value.value & 1) << i;
        state = ptx_worse (state, value.state);
      }
  const guint64 result = ptx_has (one, WORD_BALLOT) ? yes
                         : ptx_has (one, WORD_ALL)  ? yes == lanes
                         : ptx_has (one, WORD_ANY)  ? yes != 0
                                                    : yes == 0 || yes == lanes;
  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      ptx_set (&warp[i], one->operands[0].reg, result, state);
}

static void
match (PtxRun *run, PtxThread *warp, guint32 lanes, const PtxInstruction *one)
{
  guint64 values[WARP];
  guint8 state = GEMEM_PTX_KNOWN;

  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      {
        const PtxSlot value = ptx_value_of (run, &warp[i], &one->operands[1]);
        values[i] = gemem_ptx_number (value.value, one->type);
        state = ptx_worse (state, value.state);
      }
  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      {
        guint32 same = 0;
        for (guint k = 0; k < WARP; k++)
          if ((lanes >> k & 1) && values[k] == values[i])
            same |= (guint32) 1 << k;
        const gboolean all = same == lanes;
        ptx_set (&warp[i], one->operands[0].reg, ptx_has (one, WORD_ALL) && !all ? 0 : same, state);
        ptx_set (&warp[i], one->operands[0].second, (guint64) all, state);
      }
}

static void
reduce (PtxRun *run, PtxThread *warp, guint32 lanes, const PtxInstruction *one)
{
  PtxSlot all = { 0, GEMEM_PTX_KNOWN };
  gboolean first = TRUE;

  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      {
        const PtxSlot value = ptx_value_of (run, &warp[i], &one->operands[1]);
        all.value = first ? value.value
                          : gemem_ptx_atomic (one, all.value, value.value, 0, &run->lost);
        all.state = ptx_worse (all.state, value.state);
        first = FALSE;
      }
  for (guint i = 0; i < WARP; i++)
    if (lanes >> i & 1)
      ptx_set (&warp[i], one->operands[0].reg, all.value, all.state);
}

/* Of the two halves that @lane has of a matrix of 8 by 8, whose rows are at the addresses @row, the
 * one with the number @element; NULL: there is none. */
static guint8 *
half_at (PtxRun *run, PtxThread *warp, const PtxInstruction *one, const PtxSlot *row, guint lane,
         guint element, guint8 **states)
{
  const guint major = lane / 4, minor = 2 * (lane % 4) + element;
  const gboolean turned = ptx_has (one, WORD_TRANS);
  const PtxSlot at = row[turned ? minor : major];

  if (at.state != GEMEM_PTX_KNOWN)
    return NULL;
  return gemem_ptx_reach (run, &warp[lane], one->space, at.value + 2 * (turned ? major : minor), 2,
                          states);
}

/* Matrices of 8 by 8 halves between shared memory and registers: eight lanes give the addresses of
 * the rows of each, and each lane has two of its halves in one register. */
static void
matrices (PtxRun *run, PtxThread *warp, guint32 lanes, const PtxInstruction *one)
{
  const gboolean loads = one->operation == OP_LDMATRIX;
  const PtxOperand *address = &one->operands[loads ? 1 : 0], *list = &one->operands[loads ? 0 : 1];
  PtxSlot rows[WARP];

  run->lost |= lanes != PTX_ALL_LANES || one->type.bytes != 2;
  for (guint i = 0; i < WARP && !run->lost; i++)
    rows[i] = gemem_ptx_address (&warp[i], address, one->space);
  for (guint m = 0; m < MAX (one->vector, 1) && !run->lost; m++)
    for (guint i = 0; i < WARP; i++)
      {
        const gint32 reg = ptx_element (list, m);
        PtxSlot value = loads || reg < 0 ? (PtxSlot){ 0, GEMEM_PTX_KNOWN }
                                         : ptx_register (&warp[i], reg);
        for (guint k = 0; k < 2; k++)
          {
            guint8 *states = NULL, *bytes = half_at (run, warp, one, rows + 8 * m, i, k, &states);
            if (bytes == NULL && loads)
              value.state = GEMEM_PTX_UNKNOWN;
            else if (bytes == NULL)
              run->lost = TRUE;
            else if (loads)
              {
                value.value |= (guint64) (bytes[0] | bytes[1] << 8) << (16 * k);
                value.state = ptx_worse (value.state, ptx_worse (states[0], states[1]));
              }
            else
              {
                memcpy (bytes, (const guint8 *) &value.value + 2 * k, 2);
                memset (states, value.state, 2);
              }
          }
        if (loads)
          ptx_set (&warp[i], reg, value.value, value.state);
      }
}

static void
act_together (PtxRun *run, PtxThread *warp, guint32 lanes, const PtxInstruction *one)
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
          ptx_set (&warp[i], one->operands[0].reg, lanes, GEMEM_PTX_KNOWN);
      break;
    case OP_LDMATRIX:
    case OP_STMATRIX:
      matrices (run, warp, lanes, one);
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
gather_lanes (PtxRun *run, PtxThread *warp, guint n, guint first, guint32 *lanes)
{
  const PtxInstruction *one = ptx_waits_at (&warp[first]);
  const int operand = mask_operand (one);
  const gboolean barrier = one->operation == OP_BAR || one->operation == OP_BARRIER;
  const PtxSlot mask = operand < 0 ? (PtxSlot){ G_MAXUINT32, GEMEM_PTX_KNOWN }
                                   : ptx_value_of (run, &warp[first], &one->operands[operand]);
  guint32 missing = 0;

  *lanes = 0;
  /* one that waits must take part itself */
  run->lost |= mask.state != GEMEM_PTX_KNOWN || !(mask.value >> first & 1);
  for (guint i = 0; i < n; i++)
    {
      const PtxInstruction *its = warp[i].status == WAITS_WARP ? ptx_waits_at (&warp[i]) : NULL;
      if (!(mask.value >> i & 1) || warp[i].status == ENDED)
        continue;
      if (its == one || (its != NULL && barrier && its->operation == one->operation))
        *lanes |= (guint32) 1 << i;
      else
        missing |= (guint32) 1 << i;
    }
  return missing == 0 || operand == -1;
}

/* Runs the threads of a warp until each has ended or waits for the block. */
void
gemem_ptx_run_warp (PtxRun *run, PtxThread *warp, guint n)
{
  for (;;)
    {
      gboolean any = FALSE, waits = FALSE;
      guint32 lanes;
      gemem_ptx_run_together (run, warp, n);
      for (guint i = 0; i < n && !any && !run->lost; i++)
        if (warp[i].status == WAITS_WARP)
          {
            waits = TRUE;
            if (gather_lanes (run, warp, n, i, &lanes))
              {
                act_together (run, warp, lanes, ptx_waits_at (&warp[i]));
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
