/* advise.h - the answer about one recording: does it fit, what would need less, and the line to paste.
 *
 * Why: a person with a job that ran out of memory wants one verdict, not a table.  Every line that is
 * offered was replayed as it will be read; nothing is promised that was not tried.
 *
 * Invariants: a verdict FITS is given only if the device is known, the whole program was replayed, with
 * its allocator and not an approximation of it, and every request was served, on every device of the
 * trace, and no growth with every step would fill the device.  What cannot be told is said to be so, with the reason.  Nothing depends on the number of
 * threads.
 * Cost: a replay for each setting tried, all from memory (held.h).
 */
#pragma once

#include "base/macros.h"
#include "sim/engine/replay.h"
#include "sim/search/candidates.h"
#include "sim/search/growth.h"
#include "sim/search/histories.h"
#include "traces/held.h"
#include "traces/holders.h"

GEMEM_BEGIN_DECLS

/* As exit statuses. */
typedef enum
{
  GEMEM_ADVICE_FITS = 0,
  GEMEM_ADVICE_UNKNOWN = 3,
  GEMEM_ADVICE_DOES_NOT_FIT = 4,
} GememAdviceVerdict;

typedef struct
{
  const char *name;          /* of the trace, in texts */
  GememHeld *held;           /* the trace */
  const GememGraph *graph;   /* from which it was lowered; NULL: none */
  const char *device_spec;   /* NULL: "sim" */
  const GArray *ordinals;    /* guint16: the devices of the trace, at least one */
  const char *system;        /* "pytorch": whose allocator; "any"; NULL: the recorder's */
  gboolean ignores_settings; /* those of the trace do not count */
  gboolean allow_partial;
  gboolean all;    /* try all there is, however long the trace is */
  guint histories; /* orders of frees that are tried beside the recorded one; 0: that alone */
  const gint *interrupted;
  GememRunner runner;
} GememAdviceQuestion;

/* Something that needs less. */
typedef struct
{
  GememCandidate *candidate;
  GememResult *result;
  guint64 need, saved;      /* bytes; 0 saved: more than now, though it fits */
  gint64 calls;             /* of the device, more than now, if `calls_known` */
  gboolean too_new;         /* the oldest version that the program may have refuses it */
  GememHistories histories; /* of the best line, where they were asked for */
} GememAdviceLine;

#define GEMEM_ADVICE_LINES 3

typedef struct
{
  char *name, *device; /* as asked for; NULL: the default */
  GememHeld *held;
  char *system;            /* of the allocator, "pytorch"; NULL: it has no form */
  gboolean assumed;        /* the recording does not say which allocator made it */
  char *versions;          /* "2.10 or 2.11": which of the system the program has; NULL: not told */
  gboolean device_assumed; /* neither the question nor the recording says how large the device is */
  gboolean
      limited; /* it does not fit in a limit that the recorded program had; `need` is one that would do */
  guint devices;   /* of the trace; the advice is about the one that needs most */
  guint64 on_host; /* events of the host's memory, which it is not about */
  GememAllocatorSpec *spec;
  GememResult *now;         /* with the settings it had; on the device asked for */
  GememHistories histories; /* of `now`; without runs: not asked for */
  GememAdviceVerdict verdict;
  gboolean
      contradicted; /* the replay serves what the recorded program was refused there: it says nothing */
  char *doubt;      /* why it cannot be told; NULL: it can, but for the device */
  /* the request at which the recording ends, refused after others without which the program went on: bytes (0: it is
   * none such), its event, its line (NULL: not known) */
  guint64 last_refused, last_seq;
  char *last_by;
  guint64 need;  /* bytes with the settings it had; 0: not known */
  gboolean gaps; /* on a device of some more than `need` it fails again */
  guint64 least; /* what is in use at once, whatever the settings of the system */
  /* of a recording that begins in the middle: what it needs with the settings it had from what was alive then,
   * as all others are replayed; 0: nothing is told by that, or it does not fit so either */
  guint64 anew;
  /* what it needs with the settings it had where the driver puts its segments, as all others are replayed; 0: no
   * less than `need`, or that is not told.  What needs no less than this saves nothing by itself. */
  guint64 elsewhere;
  guint64 calls; /* of the device, with the settings it had, from where all others are replayed */
  gboolean calls_known; /* that came to its end */
  gboolean
      without_context; /* the device was asked for, and is a GPU of which the context was not counted */
  gboolean without_cublas; /* nor what cuBLAS takes */
  GArray *lines;           /* GememAdviceLine, the best first */
  guint
      placed; /* settings that are not offered, as the program fits with them in some orders of addresses only */
  guint stepless; /* that serve the request that failed, and then not a step more of what grows */
  /* settings: alone and in pairs; not of this version; not proven, as an approximation replays them; not
   * tried to the end, as that was interrupted */
  guint tried, pairs, refused, approximate, left_out;
  gboolean shortened; /* the trace is long: pairs and other systems were not tried */
  char *other;        /* an allocator of another system that needs less than all of these; NULL */
  guint64 other_need;
  GememHolders *holders; /* at the peak, by line; NULL: nothing was alive */
  GememGrowth *growth;   /* of the device it is about; NULL: none is proven */
  gboolean fits_so_far;  /* it cannot be told for the growth alone */
} GememAdvice;

/* Above so many events, unless all is asked for: no pairs, no other systems, no search for the least
 * device. */
#define GEMEM_ADVICE_MANY_EVENTS 500000

/* NULL with GEMEM_ERROR_INPUT, GEMEM_ERROR_USAGE.  gemem_advice_free(). */
GememAdvice *gemem_advise (const GememAdviceQuestion *question, GError **error);
void gemem_advice_free (GememAdvice *advice);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememAdvice, gemem_advice_free)

/* ---- sentence.c */

/* "fragmentation: ...", why the first request failed, in a few words; g_free(); NULL: none failed. */
char *gemem_advice_reason (const GememAdvice *advice);
/* The verdict in words; g_free(). */
char *gemem_advice_sentence (const GememAdvice *advice);

/* What the lines do, "It needs less with, each proven by a replay": g_free(); NULL: there is none. */
char *gemem_advice_offer (const GememAdvice *advice, gboolean several);
/* What @line needs and saves, and its price; what it does in other histories is a line of its own.  g_free(). */
char *gemem_advice_line_words (const GememAdvice *advice, const GememAdviceLine *line);

/* Whether requests were recorded as powers of two: then no replay tells what fewer bytes would do. */
gboolean gemem_advice_is_doubled (const GememAdvice *advice);
/* Whether what came before is not in the recording. */
gboolean gemem_advice_is_middle (const GememAdvice *advice);

/* Whether the replay on the recorded device decides in part otherwise than the recording: which request fails, and
 * what would need less, may then not be the program's. */
gboolean gemem_advice_parts (const GememAdvice *advice);
/* What @need bytes leave of the device for the driver's context and kernels, if that may be too little and was not
 * counted; else G_MAXUINT64. */
guint64 gemem_advice_left (const GememAdvice *advice, guint64 need);
/* The same for cuBLAS's handle, on a device of any size. */
guint64 gemem_advice_left_for_cublas (const GememAdvice *advice, guint64 need);
/* Whether the sentence says already what is in use at once, whatever the settings. */
gboolean gemem_advice_names_least (const GememAdvice *advice);

/* ---- growth-words.c */

/* Whether what grows is of concern: it is a part of what was in use at the failure, or fills the device later. */
gboolean gemem_advice_grows (const GememAdvice *advice);
/* Bytes kept by *@steps steps where it ends: at the failed request, or at the end of the recording. */
guint64 gemem_advice_kept (const GememAdvice *advice, guint *steps);
/* How many steps more there is memory for where @need bytes are needed up to now; only of what grows. */
guint64 gemem_advice_steps_left (const GememAdvice *advice, guint64 need);
/* "every step keeps 12.00 MiB more, and the device is full after about 80 more steps"; g_free(). */
char *gemem_advice_growth_left (const GememAdvice *advice);
/* What grows, by whom, what to look for: some sentences, g_free(); NULL: nothing of concern grows. */
char *gemem_advice_growth_words (const GememAdvice *advice);

/* ---- screen.c, screen-json.c */

/* Appends the answer, about ten lines of at most 100 columns; with @details about twenty-five. */
void gemem_advice_append (GString *out, const GememAdvice *advice, gboolean details);
/* Appends an object with the same fields. */
void gemem_advice_append_json (GString *out, const GememAdvice *advice);

GEMEM_END_DECLS
