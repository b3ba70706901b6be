/* nccl.h - what the files of NCCL share. */
#pragma once

#include "dry/libraries/library.h"

#define SUCCESS 0
#define INVALID_ARGUMENT 4
#define INVALID_USAGE 5

/* What a communicator keeps (gemem_library_kept_number()). */
enum
{
  RANKS = 1,
  RANK,
  DEVICE,
  AT_MOST, /* ranks, where it is not known how many there are */
  CALLS,   /* of the installed library, all different */
};

typedef struct
{
  char bytes[128];
} UniqueId;

/* The next communicator that is split off in this thread has @size ranks, of which this is @rank; 0: not known. */
__attribute__ ((visibility ("default"))) void gemem_dry_next_group (int size, int rank);

/* Shows the installed library a machine, and says which: for the notes (g_free()); NULL: it cannot
 * (nccl-topology.c).  *@given: the user said which. */
char *nccl_topology (gboolean *given);

/* ---- the installed library (nccl-installed.c) */

/* Functions of it, without the prefix "nccl". */
#define NCCL_CALLS(CALL) \
  CALL (GetLastError, const char *, (void *) ) \
  CALL (GetUniqueId, int, (UniqueId *) ) \
  CALL (CommInitRank, int, (void **, int, UniqueId, int) ) \
  CALL (CommInitRankConfig, int, (void **, int, UniqueId, int, void *) ) \
  CALL (CommInitAll, int, (void **, int, const int *) ) \
  CALL (CommDestroy, int, (void *) ) \
  CALL (CommAbort, int, (void *) ) \
  CALL (CommCount, int, (const void *, int *) ) \
  CALL (CommUserRank, int, (const void *, int *) ) \
  CALL (CommGetAsyncError, int, (void *, int *) ) \
  CALL (GroupStart, int, (void) ) \
  CALL (GroupEnd, int, (void) ) \
  CALL (AllReduce, int, (const void *, void *, size_t, int, int, void *, void *) ) \
  CALL (Reduce, int, (const void *, void *, size_t, int, int, int, void *, void *) ) \
  CALL (ReduceScatter, int, (const void *, void *, size_t, int, int, void *, void *) ) \
  CALL (AllGather, int, (const void *, void *, size_t, int, void *, void *) ) \
  CALL (Broadcast, int, (const void *, void *, size_t, int, int, void *, void *) ) \
  CALL (Send, int, (const void *, size_t, int, int, void *, void *) ) \
  CALL (Recv, int, (void *, size_t, int, int, void *, void *) )

typedef struct
{
#define NCCL_CALL(name, result, parameters) result (*name) parameters;
  NCCL_CALLS (NCCL_CALL)
#undef NCCL_CALL
  /* NULL: the installed version is older */
  int (*CommSplit) (void *, int, int, void **, void *);
  int (*MemAlloc) (void **, size_t);
  int (*MemFree) (void *);
  int (*CommShrink) (void *, int *, int, void **, void *, int);
  int (*AlltoAll) (const void *, void *, size_t, int, void *, void *);
  int (*Gather) (const void *, void *, size_t, int, int, void *, void *);
  int (*Scatter) (const void *, void *, size_t, int, int, void *, void *);
  int (*CommQueryProperties) (void *, void *);
} NcclCalls;

/* A call for a communicator: the numbers that decide which buffers it takes. */
typedef struct
{
  const char *function;
  const gint64 *facts;
  gsize n_facts;
} NcclWork;

/* The functions; NULL: the stand-in is alone. */
const NcclCalls *nccl_installed (void);
/* Where the communicator that stands beside the stand-in's @communicator is kept, which is NULL if
 * there is none; *@communicator are the first bytes of the stand-in's object. */
#define NCCL_BESIDE(communicator) ((void **) (communicator))
/* A thread enters the installed library, and leaves it: what it took of the device in between is
 * the library's. */
void nccl_installed_enter (void);
void nccl_installed_leave (void);
/* What became of a call for the one beside @communicator that returned @result: waits for
 * communicators that do not block, unless in a group. */
int nccl_installed_wait (gconstpointer communicator, int result);
/* @function was called to make the one beside @communicator, and returned @result. */
void nccl_installed_made (gpointer communicator, int result, const char *function);
/* The communicator to call the installed library with; NULL: it is not called, because a call like
 * @work was made before, there is none, or @stream is captured.  Else nccl_installed_done()
 * follows, with what it returned. */
gpointer nccl_installed_begin (gpointer communicator, const NcclWork *work, void *stream);
void nccl_installed_done (gpointer communicator, const NcclWork *work, int result);
void nccl_installed_group_start (void);
void nccl_installed_group_end (void);
/* Ends the one beside @communicator, which will be freed. */
void nccl_installed_destroy (gpointer communicator, gboolean abort);
