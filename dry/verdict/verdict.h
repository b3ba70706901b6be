/* verdict.h - what the parts of gemem-dry-run share: what the user asked for, what a run left, and what
 * was found in it.
 *
 * Invariants: one run at a time, in one thread; sizes are bytes; everything is freed by the function
 * named beside it.
 */
#pragma once

#include <stdio.h>

#include "devices/gpus.h"
#include "dry/protocol/protocol.h"
#include "record/launcher.h"
#include "traces/messages/message.h"
#include "traces/trace.h"

#define DRY_ORDERS_MAX 100
#define DRY_WORLD_MAX 1000000
#define DRY_NOTES_FILE "notes"

typedef struct
{
  const GememGpu *gpu;
  const char *gpcs; /* --gpcs, "": not given */
  guint64 capacity; /* of each GPU: --capacity, else that of the GPU */
  guint64
      context; /* what the process holds besides (--context, or the GPU's), taken from the capacity */
  gboolean given_context; /* --context */
  /* what workspaces have whose sizes only the real libraries know (--workspaces); 0: not given */
  guint64 workspaces;
  gboolean stand_ins;       /* no installed library of NVIDIA's runs (--stand-ins) */
  gboolean with_workspaces; /* this run gives them so much, else nothing */
  int gpus, orders;
  int rank, world; /* --rank, --world; world 0: not one rank alone */
  int stacks;      /* frames of driver and runtime calls; 0: none */
  char *output;
  char **values;    /* --value: "STACK-REGEX=N"; or NULL */
  gboolean details; /* --details: every row of the verdict */
  gboolean once;    /* --once: no second run for the values that the program reads */
  guint number;     /* what integers of the GPU read */
  const char *
      truths; /* the place where truth values of the GPU read true, GEMEM_DRY_EVERYWHERE, or NULL: nowhere */
  gboolean
      redraw; /* real numbers that kernels compute are drawn otherwise, where sizes follow from them */
  gboolean late; /* work on streams is done only when the host has waited for it */
  /* of what the program measures that is the fastest which takes the "largest" or "smallest" workspace; NULL: the first */
  const char *fastest;
  guint limit;        /* seconds of a run aside (launcher.h); 0: as the user runs it */
  const char *until;  /* --until: the run is over when it has printed this; NULL */
  gboolean fill_host; /* --fill-host */
  gboolean verbose;   /* --verbose: --fit hides nothing that its runs print */
  char *json;         /* file for the findings; NULL: none, "-": standard output */
} DryOptions;

/* ---- program.c */

/* The files and folders that the program which @arguments start may load: array of paths, up to NULL;
 * g_ptr_array_unref().  NULL with G_FILE_ERROR if it is not there or no program, GEMEM_ERROR_FAILED if
 * nothing can be preloaded into it. */
GPtrArray *gemem_library_program_roots (char **arguments, GError **error);

/* ---- prepare.c */

/* The folders of one run, which are removed after it. */
typedef struct
{
  GememFolder folder; /* OUTPUT.recording-XXXXXX: journals, snapshots */
  char *notes_text;   /* what the libraries noted: DRY_NOTES_FILE in it */
  GArray *notes;      /* DryNote, after gemem_dry_notes_load() */
  char *links;        /* a folder of links to folders whose names cannot stand in lists, or NULL */
  char *python;       /* the folder that stands first in $PYTHONPATH */
  char **environment;
} DryRun;

/* Makes the folder and the environment for the program that @arguments start.  NULL with
 * @error as above if it cannot be run dry; then nothing was run.  gemem_library_run_free(). */
DryRun *gemem_library_run_new (const DryOptions *options, char **arguments, GError **error);
/* For a Python of the program that looks for modules in other @folders than were known before: prints
 * the environment that it needs, each variable up to a zero byte.  The exit status. */
int gemem_library_print_environment (char **folders);
/* Removes what is left of the folder, except recordings that were not converted. */
void gemem_library_run_free (DryRun *run);

/* ---- findings.c */

/* In the order of what is worse. */
typedef enum
{
  DRY_DOES_NOT_FIT,
  DRY_FITS_ONLY_IF, /* something holds that a dry run cannot know */
  DRY_FITS,
} DryFit;

/* The reserved peak with the addresses of one order. */
typedef struct
{
  const char *order; /* "ascending", "random 1" */
  guint64 peak_reserved;
  guint64 ooms; /* requests that fail in this order, and did not in the run */
} DryOrder;

/* What one process did on one GPU. */
typedef struct
{
  char *path;       /* of its trace */
  gint64 pid, rank; /* rank -1: none is known */
  int device;       /* in its process */
  int gpu;          /* which GPU of the machine it is */
  gboolean late;    /* its first requests are not in the trace */
  char *allocator;  /* "PyTorch 2.11.0+cu130, expandable_segments=true"; NULL: no allocator's */
  char *model;      /* ours that decides as that one does: "pytorch-caching"; NULL with it */
  guint64 events, peak_live, peak_live_seq, peak_reserved, peak_reserved_seq;
  char *live_by, *reserved_by; /* the line that raised it; NULL: unknown */
  /* most that the process held of the device, whoever asked for it; 0: not known */
  guint64 held;
  guint64 pinned; /* most pinned memory of the host that the process held */
  /* of this, what NCCL held at most, and the machine where it takes so much; 0, NULL: not known, or none */
  guint64 nccl;
  char *nccl_on;
  gboolean nccl_given; /* the user said which machine */
  char *refused_by; /* the library for which there was no memory, which ended the program; NULL */
  guint64 ooms, oom_seq, oom_size; /* refused requests, the first of them */
  guint64 after_ooms;              /* requests that were served after the last of these */
  char *oom_by;
  gboolean ended_otherwise; /* the error that ended the process is not about memory */
  guint64 compared, equal;  /* decisions that our own allocator makes as the program's did */
  GArray *orders;           /* DryOrder; empty if addresses decide nothing */
  /* jax.c, tensorflow.c: the requests of one of these, of which its allocator may take @limit; 0: of
   * neither.  JAX's is @part of the memory, TensorFlow's has none.  @grows: it takes that as needed, else at its start.  @refused: requests that it cannot serve;
   * @least: what it needs to serve all, G_MAXUINT64: nothing is enough. */
  double part;
  guint64 limit, refused, least;
  guint64
      beside; /* most that the process held of the device beside what that allocator serves: NCCL, libraries, XLA */
  gboolean grows;
  /* growth.c: what it keeps of every step, and when that fills the device, in words; NULL: nothing grows, or it was refused memory */
  char *growth, *growth_left;
  /* judge.c: most that it needs, with the context, and the same with other workspaces, or a GPU that is late */
  guint64 needed, needed_most;
  gboolean most_late,
      most_chosen; /* needed_most is that of a GPU that is late; of other workspaces that times may choose */
  DryFit fit;
  GPtrArray *only_if; /* texts: the conditions of DRY_FITS_ONLY_IF, beside those of the whole run */
} DryFinding;

/* A line of the notes (dry/protocol/notes.def). */
typedef struct
{
  GememDryNote word;
  guint64 numbers[4]; /* its fields in small letters, in their order */
  char *text;         /* the one in capitals, or "" */
  guint64 times;      /* how often it came */
  gboolean again;     /* beyond once, which another note tells */
} DryNote;

/* A name and how often. */
typedef struct
{
  GememDryNote word; /* that told it; in `notes` of no meaning */
  char *name;
  guint64 count;
} DryCount;

/* The lists of a verdict, GPtrArray of DryCount: what was noted, and notes for the user. */
/* clang-format off */
#define DRY_COUNTS(LIST) \
  LIST (missing) LIST (harmless) LIST (values) LIST (numbers) LIST (truths) LIST (sizes) LIST (computed) LIST (drawn) LIST (assumed) \
  LIST (workspaces) LIST (asked) LIST (measured) LIST (installed) LIST (host) LIST (managed) LIST (unknown) LIST (notes)
/* clang-format on */

/* Whether memory follows from values of one kind that the program reads from the GPU (trial.c). */
typedef enum
{
  DRY_TRIAL_NONE,     /* it reads none, or the answer does not depend on it */
  DRY_TRIAL_LEFT_OUT, /* not known: --once */
  DRY_TRIAL_SAME,     /* no, as far as another value tells */
  DRY_TRIAL_OTHER,    /* yes */
  DRY_TRIAL_FAILED,   /* not known: the program did not end with other values as with zero */
  DRY_TRIAL_UNSTEADY, /* not known: its requests differ from run to run */
} DryTrial;

typedef struct
{
  DryTrial result;
  char *text; /* what its row says: a sentence without its full stop; NULL: nothing */
} DryTried;

typedef struct DryVerdict
{
  GPtrArray *findings; /* DryFinding, by process and device */
  struct DryVerdict
      *most; /* of the run with workspaces of this size, freed with this; NULL: none */
  guint64 most_workspaces;
  struct DryVerdict *late; /* of the run whose GPU is late, the same */
  struct DryVerdict *
      chosen; /* of the run in which times choose the workspaces with which it needs more, the same */
#define LIST(name) GPtrArray *name;
  DRY_COUNTS (LIST)
#undef LIST
  int status;              /* exit status of the program */
  guint seconds;           /* how long it ran */
  const char *not_printed; /* --until: what it ended without; NULL */
  DryTried tried_numbers, tried_truths, tried_drawn, tried_late, tried_times;
  /* said.c: the error by which the program itself refused to go on with the memory that there is, and the kind of it; NULL */
  char *refusal;
  const GememMessageKind *refusal_kind;
  guint64 longest; /* tokens of the sequence that would fit, as it said then; 0: nothing */
  guint64 cached;  /* tokens that its KV cache holds, 0: it says none ... */
  const GememMessageKind *cached_by; /* ... and who says so */
  gboolean refused;                  /* judge.c: a request, to whatever end */
  gboolean unusable;                 /* its PyTorch is built for another kind of device */
  char *last_value;     /* where a value of the GPU was read last, as zero; NULL: nowhere ... */
  guint64 last_times;   /* ... and how often there */
  guint lost;           /* recordings that could not be written or read */
  GPtrArray *only_if;   /* texts: conditions that hold for every process */
  DryFit fit;           /* of the worst process */
  guint64 needed;       /* most that one process needs on one GPU, with the context */
  guint64 needed_most;  /* the same with other workspaces, or a GPU that is late */
  guint64 needed_least; /* the same where times choose the smallest workspaces; 0: not tried */
} DryVerdict;

/* Makes traces of what the program left in @run and replays them.  @name: the program, for
 * messages.  @not_printed: what --until awaits and did not come, or NULL.  gemem_library_verdict_free(). */
DryVerdict *gemem_library_verdict_new (const DryOptions *options, const DryRun *run,
                                       const char *name, pid_t pid, int status,
                                       const char *not_printed);
void gemem_library_verdict_free (DryVerdict *verdict);

/* A finding that says nothing yet; freed with the verdict. */
DryFinding *gemem_library_finding_new (const char *path, gint64 pid, int device);

/* Fills the peaks, the lines and the orders of the recording @path; one finding for each GPU of it is
 * added to @findings.  FALSE after a message. */
gboolean gemem_library_findings_add (const DryOptions *options, const char *path, gint64 pid,
                                     const char *version, GPtrArray *findings);

/* "CuPy 14.2.0", if that told the recorder of its requests; NULL: none did. */
const char *gemem_library_library_of (const GememTraceInfo *info);

/* Opens the trace @path; a GememTraceSource. */
GememTraceReader *gemem_library_trace_open (gpointer path, GError **error);

/* ---- jax.c */

/* The value of @key in the file PID.@kind of facts that process @pid left in @run (sitecustomize.py);
 * NULL: unknown.  g_free(). */
char *gemem_library_fact (const DryRun *run, gint64 pid, const char *kind, const char *key);

/* The size of the request with which a JAX that passes on its requests begins, and which it frees at
 * once; 0: process @pid has none. */
guint64 gemem_library_jax_taken (const DryOptions *options, const DryRun *run, gint64 pid);

/* TRUE if process @pid had a JAX or a TensorFlow pass on its requests to the driver's memory pools. */
gboolean gemem_library_passes_on (const DryRun *run, gint64 pid);

/* If the requests of @found are those of a JAX that the dry run made to pass them on, replays them through
 * the allocator that it uses on a GPU.  FALSE with @error. */
gboolean gemem_library_jax_replay (const DryOptions *options, const DryRun *run, DryFinding *found,
                                   GError **error);

/* The settings of `tf-bfc` that process @pid, which passes on its requests, would have on its GPU, and on another
 * one likewise: a large limit is a part of the GPU; g_free(). */
char *gemem_library_bfc_settings (const DryOptions *options, const DryRun *run, gint64 pid);

/* Replays the requests of @found through the allocator that may take found->limit.  FALSE with @error. */
gboolean gemem_library_bfc_replay (const DryOptions *options, DryFinding *found, GError **error);

/* What the driver's pools keep unused is of no interest where all requests were such ones. */
void gemem_library_jax_forget_pools (DryVerdict *verdict);

/* ---- tensorflow.c */

/* Bytes that the allocator of process @pid may take of @device (-1: any), the last that was noted; 0: nothing was. */
guint64 gemem_library_tensorflow_limit (const DryRun *run, gint64 pid, int device);

/* The same as gemem_library_jax_replay() for those of a TensorFlow. */
gboolean gemem_library_tensorflow_replay (const DryOptions *options, const DryRun *run,
                                          DryFinding *found, GError **error);

/* ---- growth.c */

/* Fills `growth` and `growth_left` of @found.  FALSE with @error if its recording cannot be read. */
gboolean gemem_library_find_growth (const DryOptions *options, DryFinding *found, GError **error);

/* ---- judge.c */

/* What @found may need: the GPU's memory, or the part of it that its allocator may take. */
guint64 gemem_library_finding_limit (const DryOptions *options, const DryFinding *found);
/* Decides whether each process of @verdict fits. */
void gemem_library_judge (const DryOptions *options, DryVerdict *verdict);

/* ---- conditions.c */

/* Notes in each recording of @verdict what that depends on (GEMEM_TRACE_ONLY_IF); messages where it cannot. */
void gemem_library_note_conditions (const DryVerdict *verdict);

/* ---- ranks.c */

/* The ranks of processes; g_hash_table_unref(). */
GHashTable *gemem_library_ranks_read (const DryRun *run);
/* The rank of process @pid, which no other process has from then on; -1: none is known. */
gint64 gemem_library_ranks_take (GHashTable *ranks, gint64 pid);
/* "out.rank-3.gmt"; g_free(). */
char *gemem_library_ranks_output (const char *output, gint64 rank);
/* The findings that are ranks, in their order; none if there is only one.  g_ptr_array_unref(). */
GPtrArray *gemem_library_ranks_of (const DryVerdict *verdict);
/* The one that needs most; NULL: there is none. */
const DryFinding *gemem_library_ranks_largest (const GPtrArray *ranks);
/* One row for each. */
void gemem_library_ranks_append (GString *out, const GPtrArray *ranks);

/* ---- notes.c */

/* Reads the notes of @run, @text (NULL: none), which is consumed; once. */
void gemem_dry_notes_load (DryRun *run, char *text);
/* The next note @word of process @pid (0: any) about @device (below 0: any, or it is about none), from number *@at on, which is
 * moved behind it; NULL: there is none. */
const DryNote *gemem_dry_notes_next (const DryRun *run, GememDryNote word, gint64 pid, int device,
                                     guint *at);
/* Counts the notes of @run in @verdict. */
void gemem_dry_notes_read (const DryRun *run, DryVerdict *verdict);
/* Reads of the process of @found what NCCL held of its device, and which GPU of the machine that is. */
void gemem_dry_notes_process (const DryRun *run, DryFinding *found);
/* Makes the lists of @verdict, and frees them with what else gemem_dry_notes_read() set. */
void gemem_dry_counts_init (DryVerdict *verdict);
void gemem_dry_counts_clear (DryVerdict *verdict);

/* ---- said.c */

/* Reads of @run what the program said of its memory itself; gemem_library_said_clear(). */
void gemem_library_said_read (const DryRun *run, DryVerdict *verdict);
void gemem_library_said_clear (DryVerdict *verdict);
/* TRUE if the program refused to go on and ended by that; else what it went on with is a condition. */
gboolean gemem_library_said_no (const DryVerdict *verdict);

/* ---- brief.c */

/* How a row of the verdict for people begins: with its label. */
#define DRY_LABEL_WIDTH 16
#define DRY_LABEL "  %-" G_STRINGIFY (DRY_LABEL_WIDTH) "s"

/* The rows of the verdict @text that are shown without --details, and one that names the others.  g_free(); O(length). */
char *gemem_library_verdict_brief (const char *text);

/* ---- write.c */

/* What the shell needs behind --value so that the place @place, "FILE:LINE FUNCTION", reads @numbers.  g_free(). */
char *gemem_library_value_word (const char *place, const char *numbers);

/* The verdict for people, to stderr. */
void gemem_library_verdict_print (const DryOptions *options, const DryVerdict *verdict);
/* For programs, to options->json. */
gboolean gemem_library_verdict_write_json (const DryOptions *options, const DryVerdict *verdict,
                                           GError **error);

/* Appends member "fits": true, false, or null for DRY_FITS_ONLY_IF. */
void gemem_library_append_fit_json (GString *out, DryFit fit);
/* Appends which GPU it is, and what was chosen. */
void gemem_library_append_gpu_json (GString *out, const DryOptions *options);
/* Appends what the program said itself, "refused" and "kv_tokens", where it did. */
void gemem_library_append_said_json (GString *out, const DryVerdict *verdict);
/* Writes @text to options->json. */
gboolean gemem_library_write_json (const DryOptions *options, const GString *text, GError **error);

/* ---- settings.c */

typedef struct
{
  char *line;             /* to paste */
  char *variable, *value; /* the same for an environment */
  double saved;           /* which part of the memory it saves in the recording */
} DrySetting;

/* The setting with which the largest process of @verdict needs least; NULL: none needs less, or its
 * allocator is not PyTorch's.  gemem_library_setting_free().  Some 50 replays. */
DrySetting *gemem_library_setting_new (const DryOptions *options, const DryVerdict *verdict);
void gemem_library_setting_free (DrySetting *setting); /* may be NULL */

/* ---- quiet.c */

typedef struct
{
  FILE *file; /* what was printed; NULL: nothing is hidden */
  int out, err;
} DryQuiet;

/* From here on all that is printed goes into a file. */
void gemem_library_quiet_begin (DryQuiet *quiet);
/* To here; @show: the end of it is printed on stderr after all. */
void gemem_library_quiet_end (DryQuiet *quiet, gboolean show);

/* ---- until.c */

typedef struct
{
  FILE *file;   /* into which the program writes */
  off_t seen;   /* bytes that were looked at */
  int to;       /* the descriptor that gets them; -1: none */
  GString *end; /* of them, shorter than the text */
} DryStream;

typedef struct
{
  const char *text;
  gboolean found;
  DryStream streams[2]; /* standard output and error */
} DryUntil;

/* Sets in @watch what ends the run when it has printed @text.  FALSE: no file can be made; nothing is set but
 * @error.  gemem_library_until_end(). */
gboolean gemem_library_until_begin (DryUntil *until, const char *text, GememLauncherWatch *watch,
                                    GError **error);
void gemem_library_until_end (DryUntil *until);

/* ---- once.c */

/* One run of @arguments and what was found in it, nothing more.  NULL with @error. */
DryVerdict *gemem_library_run_and_judge (const DryOptions *options, char **arguments,
                                         GError **error);

/* One dry run of @arguments: prepares, runs, converts, judges; with --workspaces a second one, if the
 * first asked for sizes that are not known.  NULL with @error: nothing was run. */
DryVerdict *gemem_library_run_once (const DryOptions *options, char **arguments, GError **error);

/* ---- trial.c */

/* If the program of @verdict, a run of @arguments, read integers or truth values from the GPU, runs it again with others, and
 * judges @verdict anew. */
void gemem_library_try_values (const DryOptions *options, char **arguments, DryVerdict *verdict);

/* ---- fit.c */

/* Finds the largest value that fits.  @ranges: "NAME=FROM..TO" or "NAME=A,B,C"; the first is
 * searched, for each combination of the values of the others.  The names in @arguments are replaced.
 * Prints every run.  The exit status: 0, 1 if no value fits, 2 for a wrong range. */
int gemem_library_fit (const DryOptions *options, char **ranges, char **arguments);
