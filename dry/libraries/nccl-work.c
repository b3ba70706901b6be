/* nccl-work.c - what NCCL's communicators do: collectives complete at once, without the other
 * ranks.
 *
 * What is known of the bytes to be sent (dry/driver/remembered.c) is handed on as if all ranks held the
 * same: then a gather has this rank's bytes in every slot, a broadcast is this rank's own, a maximum is
 * what is there, a sum is that times the number of ranks. A value that is read later is noted as
 * assumed. What comes from one other rank alone is not known, unless a group of calls shows what this
 * rank gives in its turn: PyTorch gathers by a group of broadcasts, one from each rank, and exchanges by
 * a group of sends and receives, of which one is to the rank itself.
 *
 * What is known is taken before the installed NCCL, if there is one, is called, and what comes of
 * it written after that.
 *
 * Invariant: calls of a group are done at its end, by the thread that made them.
 *
 * Origin: NCCL's user guide: the functions, types and operations, and which may have one
 * buffer for both.
 */
#include "config.h"

#include <string.h>

#include "dry/driver/api.h"
#include "dry/driver/foreign.h"
#include "dry/driver/remembered.h"
#include "dry/libraries/nccl.h"

#define KNOWN_MAX 65536 /* bytes: more are never known */

typedef enum
{
  INT8,
  UINT8,
  INT32,
  UINT32,
  INT64,
  UINT64,
  FLOAT16,
  FLOAT32,
  FLOAT64,
  BFLOAT16,
  FLOAT8_E4M3,
  FLOAT8_E5M2,
  TYPES,
} Type;

typedef enum
{
  SUM,
  PRODUCT,
  MAXIMUM,
  MINIMUM,
  AVERAGE,
} Operation;

static const gsize sizes[TYPES] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };

/* One call: what this rank sends. */
typedef struct
{
  gsize size; /* bytes of a slot */
  gint64 ranks, rank;
  guint8 *bytes; /* of the slots that are sent; NULL: not known */
  gboolean assumed;
} Call;

static guint64
at (const void *pointer)
{
  return (guintptr) pointer;
}

/* FALSE: the call has no effect that is known: no bytes, a graph is captured, or nobody knows how
 * many ranks there are. */
static gboolean
begin (Call *call, const void *from, void *to, gsize count, int type, gint64 slots,
       void *communicator, void *stream)
{
  const gint64 most = gemem_library_kept_number (communicator, AT_MOST, 0);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

  *call = (Call){ .size = type >= 0 && type < TYPES ? count * sizes[type] : 0,
                  .ranks = gemem_library_kept_number (communicator, RANKS, 1),
                  .rank = gemem_library_kept_number (communicator, RANK, 0) };
  if (call->size == 0
      || (cuStreamIsCapturing (stream, &status) == CUDA_SUCCESS
          && status != CU_STREAM_CAPTURE_STATUS_NONE))
    return FALSE;
  if (most > 0)
    {
      if (to != NULL)
        gemem_dry_foreign_wrote (at (to));
      if (to != NULL)
        gemem_dry_wrote (at (to), call->size * (gsize) most, NULL, FALSE);
      return FALSE;
    }
  slots = slots > 0 ? slots : call->ranks;
  if (from != NULL && call->size <= KNOWN_MAX / (gsize) slots)
    {
      call->bytes = g_malloc (call->size * (gsize) slots);
      if (!gemem_dry_recall (at (from), call->size * (gsize) slots, call->bytes, &call->assumed))
        g_clear_pointer (&call->bytes, g_free);
    }
  return TRUE;
}

/* Slot @slot of @to becomes slot @from of what this rank sent; @own: it sent it to itself. */
static void
hand_on (const Call *call, void *to, gint64 slot, gint64 from, gboolean own)
{
  gemem_dry_foreign_wrote (at (to) + (guint64) slot * call->size);
  gemem_dry_wrote (at (to) + (guint64) slot * call->size, call->size,
                   call->bytes != NULL ? call->bytes + (gsize) from * call->size : NULL,
                   call->assumed || !own);
}

static int
end (Call *call)
{
  g_free (call->bytes);
  return SUCCESS;
}

/* Hands the call @name of @communicator on to the installed NCCL, if that may take buffers for it;
 * @arguments: with `beside` in the place of the communicator; behind it the numbers that decide:
 * count, type, operation, root or peer. */
#define INSTALLED(name, arguments, communicator, ...) \
  { \
    const gint64 facts[] = { __VA_ARGS__ }; \
    const NcclWork work = { "nccl" #name, facts, G_N_ELEMENTS (facts) }; \
    const gpointer beside = nccl_installed_begin (communicator, &work, stream); \
    if (beside != NULL) \
      nccl_installed_done (communicator, &work, nccl_installed ()->name arguments); \
  }

/* The same for a function that not every version has: what an older NCCL takes for
 * it is not known. */
#define INSTALLED_IF_NEW(name, arguments, communicator, ...) \
  { \
    if (nccl_installed () != NULL && nccl_installed ()->name == NULL) \
      gemem_dry_note (GEMEM_DRY_NOTE_BUFFERS, \
                      "of NCCL's for nccl" #name ", which the installed one has not"); \
    else \
      INSTALLED (name, arguments, communicator, __VA_ARGS__) \
  }

/* ---- reductions */

#define REDUCE(id, type) \
  case id: \
    for (gsize i = 0; i < size; i += sizeof (type)) \
      { \
        type value, result; \
        memcpy (&value, bytes + i, sizeof value); \
        result = operation == SUM ? (type) (value * (type) ranks) : value; \
        for (gint64 k = 1; operation == PRODUCT && k < ranks; k++) \
          result = (type) (result * value); \
        memcpy (bytes + i, &result, sizeof result); \
      } \
    return TRUE;

/* Makes of @size @bytes the result over @ranks ranks that hold the same; FALSE: not known. */
static gboolean
reduce (guint8 *bytes, gsize size, int type, int operation, gint64 ranks)
{
  if (ranks == 1 || operation == MAXIMUM || operation == MINIMUM || operation == AVERAGE)
    return TRUE;
  if (operation != SUM && operation != PRODUCT)
    return FALSE;
  switch ((Type) type)
    {
      /* integers without sign, because too large ones go round */
      REDUCE (INT8, guint8)
      REDUCE (UINT8, guint8)
      REDUCE (INT32, guint32)
      REDUCE (UINT32, guint32)
      REDUCE (INT64, guint64)
      REDUCE (UINT64, guint64)
      REDUCE (FLOAT32, float)
      REDUCE (FLOAT64, double)
    default:
      return FALSE;
    }
}

static void
reduce_all (Call *call, int type, int operation, gint64 slots)
{
  if (call->bytes != NULL
      && !reduce (call->bytes, call->size * (gsize) slots, type, operation, call->ranks))
    g_clear_pointer (&call->bytes, g_free);
}

static int
end_reduction (Call *call, void *to, int type, int operation)
{
  reduce_all (call, type, operation, 1);
  hand_on (call, to, 0, 0, call->ranks == 1);
  return end (call);
}

DRY_FUNCTION (int, ncclAllReduce, const void *from, void *to, size_t count, int type, int operation,
              void *communicator, void *stream)
{
  Call call;

  const gboolean known = begin (&call, from, to, count, type, 1, communicator, stream);
  INSTALLED (AllReduce, (from, to, count, type, operation, beside, stream), communicator, count,
             type, operation)
  return known ? end_reduction (&call, to, type, operation) : SUCCESS;
}

DRY_FUNCTION (int, ncclReduce, const void *from, void *to, size_t count, int type, int operation,
              int root, void *communicator, void *stream)
{
  Call call;

  const gboolean known = root == gemem_library_kept_number (communicator, RANK, 0)
                         && begin (&call, from, to, count, type, 1, communicator, stream);
  INSTALLED (Reduce, (from, to, count, type, operation, root, beside, stream), communicator, count,
             type, operation, root)
  return known ? end_reduction (&call, to, type, operation) : SUCCESS;
}

DRY_FUNCTION (int, ncclReduceScatter, const void *from, void *to, size_t count, int type,
              int operation, void *communicator, void *stream)
{
  Call call;

  const gboolean known = begin (&call, from, to, count, type, 0, communicator, stream);
  INSTALLED (ReduceScatter, (from, to, count, type, operation, beside, stream), communicator, count,
             type, operation)
  if (!known)
    return SUCCESS;
  reduce_all (&call, type, operation, call.ranks);
  hand_on (&call, to, 0, call.rank, call.ranks == 1);
  return end (&call);
}

/* ---- between one rank and others, in groups */

typedef enum
{
  BROADCAST,
  SEND,
  RECEIVE,
} Kind;

typedef struct
{
  Call call;
  Kind kind;
  void *to;     /* NULL: it sends */
  gboolean own; /* from this rank */
  gconstpointer communicator;
} Transfer;

static __thread guint depth;   /* of groups */
static __thread GArray *group; /* Transfer */

/* What this rank gives in its turn, where @one gets something of another; NULL:
 * nothing of the kind. */
static const Transfer *
own_turn (const GArray *transfers, const Transfer *one)
{
  const Kind kind = one->kind == RECEIVE ? SEND : one->kind;

  for (guint i = 0; i < transfers->len; i++)
    {
      const Transfer *other = &g_array_index (transfers, Transfer, i);
      if (other->kind == kind && other->own && other->communicator == one->communicator
          && other->call.size == one->call.size)
        return other;
    }
  return NULL;
}

static void
end_group (GArray *transfers)
{
  for (guint i = 0; i < transfers->len; i++)
    {
      const Transfer *one = &g_array_index (transfers, Transfer, i);
      const Transfer *own = own_turn (transfers, one);
      if (one->to != NULL)
        hand_on (own != NULL && !(one->own && one->kind == BROADCAST) ? &own->call : &one->call,
                 one->to, 0, 0, one->own);
    }
  for (guint i = 0; i < transfers->len; i++)
    end (&g_array_index (transfers, Transfer, i).call);
  g_array_unref (transfers);
}

/* Takes what @one owns. */
static int
transfer (const Transfer *one)
{
  if (group == NULL)
    group = g_array_new (FALSE, FALSE, sizeof (Transfer));
  g_array_append_val (group, *one);
  if (depth == 0)
    end_group (g_steal_pointer (&group));
  return SUCCESS;
}

DRY_FUNCTION (int, ncclGroupStart, void)
{
  depth++;
  nccl_installed_group_start ();
  return SUCCESS;
}

DRY_FUNCTION (int, ncclGroupEnd, void)
{
  if (depth == 0)
    return INVALID_USAGE;
  nccl_installed_group_end ();
  if (--depth == 0 && group != NULL)
    end_group (g_steal_pointer (&group));
  return SUCCESS;
}

DRY_FUNCTION (int, ncclSend, const void *from, size_t count, int type, int peer, void *communicator,
              void *stream)
{
  const gboolean own = peer == gemem_library_kept_number (communicator, RANK, 0);
  Call call;

  const gboolean known = own && begin (&call, from, NULL, count, type, 1, communicator, stream);
  INSTALLED (Send, (from, count, type, peer, beside, stream), communicator, count, type, peer)
  if (!known)
    return SUCCESS;
  return transfer (
      &(Transfer){ .call = call, .kind = SEND, .own = TRUE, .communicator = communicator });
}

DRY_FUNCTION (int, ncclRecv, void *to, size_t count, int type, int peer, void *communicator,
              void *stream)
{
  const gboolean own = peer == gemem_library_kept_number (communicator, RANK, 0);
  Call call;

  const gboolean known = begin (&call, NULL, to, count, type, 1, communicator, stream);
  INSTALLED (Recv, (to, count, type, peer, beside, stream), communicator, count, type, peer)
  if (!known)
    return SUCCESS;
  return transfer (&(Transfer){
      .call = call, .kind = RECEIVE, .to = to, .own = own, .communicator = communicator });
}

/* ---- copies */

static int
end_gather (Call *call, void *to)
{
  for (gint64 i = 0; i < call->ranks; i++)
    hand_on (call, to, i, 0, i == call->rank);
  return end (call);
}

DRY_FUNCTION (int, ncclAllGather, const void *from, void *to, size_t count, int type,
              void *communicator, void *stream)
{
  Call call;

  const gboolean known = begin (&call, from, to, count, type, 1, communicator, stream);
  INSTALLED (AllGather, (from, to, count, type, beside, stream), communicator, count, type)
  return known ? end_gather (&call, to) : SUCCESS;
}

DRY_FUNCTION (int, ncclGather, const void *from, void *to, size_t count, int type, int root,
              void *communicator, void *stream)
{
  Call call;

  const gboolean known = root == gemem_library_kept_number (communicator, RANK, 0)
                         && begin (&call, from, to, count, type, 1, communicator, stream);
  INSTALLED_IF_NEW (Gather, (from, to, count, type, root, beside, stream), communicator, count,
                    type, root)
  return known ? end_gather (&call, to) : SUCCESS;
}

/* Other ranks than @root have their own copy in @to. */
DRY_FUNCTION (int, ncclBroadcast, const void *from, void *to, size_t count, int type, int root,
              void *communicator, void *stream)
{
  const gboolean own = root == gemem_library_kept_number (communicator, RANK, 0);
  Call call;

  const gboolean known = begin (&call, own ? from : to, to, count, type, 1, communicator, stream);
  INSTALLED (Broadcast, (from, to, count, type, root, beside, stream), communicator, count, type,
             root)
  if (!known)
    return SUCCESS;
  return transfer (&(Transfer){
      .call = call, .kind = BROADCAST, .to = to, .own = own, .communicator = communicator });
}

DRY_FUNCTION (int, ncclBcast, void *buffer, size_t count, int type, int root, void *communicator,
              void *stream)
{
  return ncclBroadcast (buffer, buffer, count, type, root, communicator, stream);
}

DRY_FUNCTION (int, ncclScatter, const void *from, void *to, size_t count, int type, int root,
              void *communicator, void *stream)
{
  const gboolean own = root == gemem_library_kept_number (communicator, RANK, 0);
  Call call;

  const gboolean known = begin (&call, own ? from : NULL, to, count, type, 0, communicator, stream);
  INSTALLED_IF_NEW (Scatter, (from, to, count, type, root, beside, stream), communicator, count,
                    type, root)
  if (!known)
    return SUCCESS;
  hand_on (&call, to, 0, call.rank, own);
  return end (&call);
}

DRY_FUNCTION (int, ncclAlltoAll, const void *from, void *to, size_t count, int type,
              void *communicator, void *stream)
{
  Call call;

  const gboolean known = begin (&call, from, to, count, type, 0, communicator, stream);
  INSTALLED_IF_NEW (AlltoAll, (from, to, count, type, beside, stream), communicator, count, type)
  if (!known)
    return SUCCESS;
  for (gint64 i = 0; i < call.ranks; i++)
    hand_on (&call, to, i, call.rank, i == call.rank);
  return end (&call);
}
