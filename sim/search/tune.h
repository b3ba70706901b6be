/* tune.h - which of many settings is the best for one or several recordings, and how that is known.
 *
 * Why: advise tries what usually helps, one or two settings at a time.  Here all of a space are settled,
 * and each row says by what: its own replay, a proof that it decides as one that was replayed, or a replay
 * that was stopped when it needed more than the best.
 *
 * Invariants: the answer is that of replaying every setting to its end, with any number of threads: rows
 * are settled in waves that depend on the question alone.  So a search whose replays were kept asks for the same
 * ones again, and comes to the same answer and counts.  A setting is the best only if every request of
 * every recording was served, by the allocator and not an approximation of it.
 * Cost: an unused allocator for each setting and recording, and the replays that are left.
 */
#pragma once

#include "base/macros.h"
#include "sim/search/need.h"

GEMEM_BEGIN_DECLS

/* What is to become small. */
typedef enum
{
  GEMEM_TUNE_NEEDS, /* bytes at the reserved peak; over several recordings, the largest */
  GEMEM_TUNE_CALLS, /* of the device; the sum */
  GEMEM_TUNE_TIME,  /* modelled, ns; the sum */
  GEMEM_TUNE_CAPACITY, /* least bytes of a device that suffices; over several recordings, the largest; 0: unknown */
  GEMEM_TUNE_OBJECTIVES
} GememTuneObjective;

extern const char *const gemem_tune_objectives[GEMEM_TUNE_OBJECTIVES];

/* How a row was settled. */
typedef enum
{
  GEMEM_TUNE_REPLAYED,
  GEMEM_TUNE_EQUAL, /* decides as the row `by`, which was replayed */
  /* needs more than the best: its replay was stopped, or it decides as one that was; of capacities: not less,
   * as a request failed with less than the best needs */
  GEMEM_TUNE_ABOVE,
  GEMEM_TUNE_FAILED, /* a request fails on this device, or it is approximated, or shares memory; likewise */
  GEMEM_TUNE_REFUSED, /* no such settings of this version */
  GEMEM_TUNE_UNTRIED, /* interrupted before */
  GEMEM_TUNE_ENDS
} GememTuneEnd;

extern const char *const gemem_tune_ends[GEMEM_TUNE_ENDS];

/* One setting on one recording. */
typedef struct
{
  GememTuneEnd end;
  guint by;                              /* the row whose replay settled it; itself: its own */
  guint64 values[GEMEM_TUNE_OBJECTIVES]; /* ABOVE: at least these */
} GememTuneCell;

typedef struct
{
  const GememAllocatorSpec *spec; /* of the question; NULL: what made each recording */
  guint changes;                  /* settings that differ from now */
  GememTuneEnd end;               /* of all cells, the last of the list */
  guint by;
  guint64 values[GEMEM_TUNE_OBJECTIVES];
  GememTuneCell *cells; /* one for each recording */
  char *why;            /* REFUSED */
} GememTuneRow;

/* All that a search takes of a replay. */
typedef struct
{
  GememTuneCell cell; /* UNTRIED: it was interrupted; `by` is not set */
  guint passes;       /* over the recording */
  GError *refusal;    /* why there is no allocator of these settings; NULL: there is one */
  gboolean
      *alike; /* of each row but the first: it would have decided alike; NULL: none was asked of */
} GememTuneReplay;

/* Where replays are kept, so that a search that was stopped goes on.  A key names all that a replay depends on.
 * FALSE with an error ends the search. */
typedef struct
{
  gpointer data;
  const char *const *names; /* of each recording: another one for other events */
  /* *@found: whether it is kept; then @replay is filled, its `alike` (@n rows) where there is one. */
  gboolean (*find) (gpointer data, const char *key, GememTuneReplay *replay, guint n,
                    gboolean *found, GError **error);
  gboolean (*keep) (gpointer data, const char *key, const GememTuneReplay *replay, guint n,
                    GError **error);
} GememTuneKeeper;

typedef struct
{
  GememNeed *traces; /* gemem_tune() fills their results: with the settings now */
  guint n_traces;
  const GPtrArray *specs; /* GememAllocatorSpec: the space */
  GememNeedOptions options;
  GememTuneObjective objectives[2]; /* different ones */
  guint n_objectives;               /* 1 or 2 */
  gboolean whole; /* no replay is stopped above the best: figures show all values */
  guint threads;  /* 0: one per processor */
  void (*progress) (guint settled, guint rows); /* NULL: nobody looks */
  const GememTuneKeeper *keeper;                /* NULL: nothing is kept */
} GememTuneQuestion;

typedef struct
{
  const GememTuneQuestion *question;
  GArray *rows; /* GememTuneRow: how it is now, then the space without what sets the same */
  guint best;   /* row; G_MAXUINT: none */
  GArray
      *front; /* guint: rows than which none is better in one objective and as good in the other, by
                  * the first */
  guint counts[GEMEM_TUNE_ENDS]; /* of rows but the first */
  guint replays;                 /* of one recording each, stopped ones included */
  guint taken;                   /* of these, not made but taken from the keeper */
  guint shared;                  /* rows ABOVE or FAILED by the replay of another */
  /* Where no setting serves every request: bytes of a device on which one is known to; 0: not known. */
  guint64 reached;
  gboolean least; /* no setting serves every request with less */
  char *
      line; /* to paste, read back and replayed; that of `reached` is as it is; NULL: it cannot be said so, or is now's */
  GememAllocatorSpec *pasted;
} GememTune;

/* @question must outlive it.  NULL with GEMEM_ERROR_INPUT, GEMEM_ERROR_USAGE; interrupted, what was found
 * so far.  gemem_tune_free(). */
GememTune *gemem_tune (GememTuneQuestion *question, GError **error);
void gemem_tune_free (GememTune *tune);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememTune, gemem_tune_free)

/* TRUE if the best is worth telling: at least 1 % better than now, or where now a request fails. */
gboolean gemem_tune_helps (const GememTune *tune);

/* The settings of row @i that are not as now, GememSetting; g_ptr_array_unref(). */
GPtrArray *gemem_tune_changes (const GememTune *tune, guint i);

/* What is in effect with row @i, GememSetting; NULL: the settings contradict each other. */
GPtrArray *gemem_tune_effect (const GememTune *tune, guint i);

/* ---- tune-keys.c */

/* A text for all that the settings @specs of a search say; @n of them; g_free(). */
char *gemem_tune_hash_space (const GememAllocatorSpec *const *specs, guint n);
/* The name of the replay @job of recording @trace among those that are kept: a hash of all that its GememTuneReplay
 * depends on, the version of gemem included.  @space: of gemem_tune_hash_space(); NULL: it has no rivals.  g_free(). */
char *gemem_tune_key (const GememTune *tune, guint trace, const GememJob *job, const char *space);

/* ---- tune-results.c */

/* What was found, for figures: for each recording a result of every row that was settled and not refused, with
 * its settings and the objectives alone; how it is now stands once.  Of a question that is `whole`.
 * GememResult; g_ptr_array_unref(). */
GPtrArray *gemem_tune_results (const GememTune *tune);

/* ---- tune-space.c */

/* All combinations of the settings of @klass that users can write for @system (NULL: any), each with the
 * values worth trying, its default and the one among @now ("key=value,..."; NULL: the defaults); from the
 * most promising on, as many settings as there can be.  Those left out are named in *@left_out, g_free();
 * NULL: none.  GPtrArray of GememAllocatorSpec; NULL with GEMEM_ERROR_USAGE. */
GPtrArray *gemem_tune_space (const GememAllocatorClass *klass, const char *system, const char *now,
                             char **left_out, GError **error);

/* ---- tune-screen.c */

/* Appends about ten lines of at most 100 columns. */
void gemem_tune_append (GString *out, const GememTune *tune);
/* Appends an object with the same fields; every row as a row of CSV. */
void gemem_tune_append_json (GString *out, const GememTune *tune);
void gemem_tune_append_csv (GString *out, const GememTune *tune);

GEMEM_END_DECLS
