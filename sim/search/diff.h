/* diff.h - what two runs differ in: two recordings, or one through two allocators or settings.
 *
 * Why: "it needs 2 GiB more since Tuesday" is found by eye otherwise, in two tables and two pictures.  One screen says
 * how much, of that how much is in use and how much lies idle, which lines of code hold more, which settings are
 * others, and where the two first part.
 *
 * Invariants: the change of what is reserved is the sum of the change of what is in use then and of what is idle
 * then, exactly.  Blocks of two recordings are matched by their line of code and the order of requests, never by id,
 * address or stream.  A difference with itself is empty.  Nothing depends on the number of threads.
 * Cost: one replay for each device of each side, two passes of each for who holds the memory, and one of both beside
 * each other.
 */
#pragma once

#include "base/macros.h"
#include "sim/search/diff-chain.h"
#include "sim/search/need.h"
#include "traces/holders.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  GememNeed inputs[2]; /* their results are not set */
  GememNeedOptions options;
  const char
      *by; /* of gemem_hold_by_names(); NULL: by line, or by size where there are no call stacks */
  gboolean keeps_timelines; /* in the results of both sides */
} GememDiffQuestion;

/* Memory of both under one name. */
typedef struct
{
  char *name;
  guint64 bytes[2], blocks[2];
} GememDiffRow;

typedef struct
{
  char *name;
  char *values[2]; /* NULL: the other allocator has no such setting */
} GememDiffSetting;

/* What one side does where they part. */
typedef struct
{
  gboolean ended;      /* nothing more */
  gboolean frees;      /* else it asks for memory, */
  gboolean refused;    /* and got none when it was recorded */
  guint64 event, size; /* size: requested */
  char *by;            /* whose block it is; NULL: unknown */
} GememDiffStep;

/* What the first difference is, as far as what follows tells. */
typedef enum
{
  GEMEM_DIFF_CHANGE_OTHER, /* one side does one thing, the other another */
  GEMEM_DIFF_CHANGE_SIZE,  /* the same request is of another size */
  GEMEM_DIFF_CHANGE_MORE,  /* side `side` makes one more request */
  GEMEM_DIFF_CHANGE_ORDER, /* side `side` does later what the other does now; both do the same */
  GEMEM_DIFF_CHANGE_LATER, /* side `side` frees the block later, at `later`, */
  GEMEM_DIFF_CHANGE_LEAK,  /* or never */
} GememDiffChange;

typedef struct
{
  gboolean found;
  guint64 same; /* requests and frees before */
  GememDiffStep steps[2];
  GememDiffChange change;
  guint side;    /* of `change` */
  guint64 later; /* ORDER, LATER: event of that side */
} GememDiffParting;

/* Where one recording through two allocators first holds different amounts. */
#define GEMEM_DIFF_POINTS (G_GUINT64_CONSTANT (1) << 20)

typedef struct
{
  gboolean found;
  gboolean
      exact; /* else it is `event` or one of few before it: the recording has over GEMEM_DIFF_POINTS */
  guint64 event, size; /* size: of the request there, 0: it is none, or not exact */
  guint64 reserved[2]; /* after it */
  char *by;
} GememDiffReserve;

/* ---- a request that one of them is refused */

#define GEMEM_DIFF_PARTS 20 /* in a list, at most */

/* A free part of what a run holds, in one piece. */
typedef struct
{
  guint64 size;
  guint64 segment,
      obtained; /* bytes of its segment, and the event for which it was obtained; 0: unknown */
  GememIdleCause cause; /* why it is not in use */
} GememDiffPart;

/* What a run has when it is asked for that. */
typedef struct
{
  gboolean asks;       /* it makes this request */
  guint64 event;       /* which is that */
  guint64 free, count; /* bytes of all parts that are free then, and how many there are */
  GArray *parts;       /* GememDiffPart: the largest, the largest first */
} GememDiffSpace;

typedef struct
{
  gboolean found;
  guint side; /* that is refused it; the other is not */
  guint64 requested;
  guint64
      refused; /* bytes of the device's last call for it, which failed; 0: it was asked for nothing */
  guint64 device_free; /* that the device had left */
  char *by;            /* NULL: unknown */
  GememDiffSpace spaces[2];
} GememDiffFailure;

typedef struct
{
  char *name;
  gboolean assumed;    /* the recording does not name its allocator */
  GememResult *result; /* on the device that needs most */
  /* both only while it is compared: a difference takes no more memory than what it says */
  GememHeld *held;
  GememHolders *holders; /* NULL: one recording, whose blocks in use are the same in both */
} GememDiffSide;

typedef struct
{
  GememDiffSide sides[2];
  gboolean one_recording; /* through two allocators */
  GememHoldBy by;
  GArray *
      rows; /* GememDiffRow at the peak of what is in use; those that differ, the largest change first */
  /* the same blocks by category, of recordings that have any, and by size class; empty where `by` says as much */
  GArray *categories, *classes;
  GArray *idle;     /* GememDiffRow at the peak of what is reserved, by GememIdleCause; likewise */
  GArray *settings; /* GememDiffSetting: those that differ */
  GememDiffParting parting;
  GememDiffReserve reserve;
  /* guint64, ascending: numbers of the steps that only this side has; of two recordings whose blocks were kept, else
   * empty */
  GArray *lone_steps[2];
  GememDiffFailure failure;
  GememDiffChain *chain; /* NULL: both hold as much, or it cannot be told */
  gboolean too_long;     /* there is none as a recording has more than GEMEM_DIFF_CHAIN_EVENTS */
} GememDiff;

/* NULL with GEMEM_ERROR_INPUT, GEMEM_ERROR_USAGE.  gemem_diff_free(). */
GememDiff *gemem_diff (const GememDiffQuestion *question, GError **error);
void gemem_diff_free (GememDiff *diff); /* may be NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememDiff, gemem_diff_free)

/* TRUE if nothing that is compared differs. */
gboolean gemem_diff_is_empty (const GememDiff *diff);

/* ---- diff-rows.c */

/* A line of code without the folder of its file and without its number, which are others after an edit; g_free().
 * @pattern: of the former; g_regex_unref(). */
GRegex *gemem_diff_line_pattern (void);
char *gemem_diff_line_key (const GRegex *pattern, const char *line);

/* An empty list of GememDiffRow; g_array_unref(). */
GArray *gemem_diff_rows_new (void);
/* Adds to @rows those of @first and @second, GememHolder (NULL: none), that differ, the largest change first; @lines:
 * their names are lines of code. */
void gemem_diff_match (GArray *rows, const GPtrArray *first, const GPtrArray *second,
                       gboolean lines);
/* The same for idle bytes by GememIdleCause. */
void gemem_diff_match_idle (GArray *rows, const guint64 *first, const guint64 *second);
/* Adds to @rows those of size classes: of @first and @second, GememHolder by size (NULL: none). */
void gemem_diff_match_classes (GArray *rows, const GPtrArray *first, const GPtrArray *second);
/* Fill `rows` and `idle` from the results of both sides.  O(holders log holders), but for the lines of one
 * function, whose numbers in both are multiplied. */
void gemem_diff_compare_holders (GememDiff *diff);
void gemem_diff_compare_idle (GememDiff *diff);

/* ---- diff-parting.c */

/* Finds where the requests and frees of two recordings part: by size and by which request is freed. */
gboolean gemem_diff_find_parting (GememDiff *diff, GError **error);
/* Finds where one recording through two allocators first holds different amounts. */
gboolean gemem_diff_find_reserve (GememDiff *diff, GError **error);

/* ---- diff-failure.c */

/* Says of the request that side @side is refused at its @event what both have then, by their histories (and another replay
 * of each), and by the chain of @diff where there is one.  FALSE with @error. */
gboolean gemem_diff_find_failure (GememDiff *diff, const GememDiffQuestion *question, guint side,
                                  guint64 event, GError **error);
void gemem_diff_failure_clear (GememDiffFailure *failure);
/* Appends at most six lines of at most 100 columns; and a member "failure". */
void gemem_diff_failure_append (GString *out, const GememDiffFailure *failure);
void gemem_diff_failure_append_json (GString *out, const GememDiffFailure *failure);

/* ---- diff-screen.c */

/* Side @s in a head: its file, or of one recording its allocator; g_free(). */
char *gemem_diff_name (const GememDiff *diff, guint s);
/* "The second holds 24 MiB more, 1.2 GiB instead of 1.1: ..."; g_free(). */
char *gemem_diff_sentence (const GememDiff *diff);
/* Appends about thirty lines of at most 100 columns. */
void gemem_diff_append (GString *out, const GememDiff *diff);
/* Appends what the first difference is, or that there is none, as a paragraph. */
void gemem_diff_append_first (GString *out, const GememDiff *diff);
/* Appends a line of such a screen. */
void gemem_diff_append_row (GString *out, const GememDiffRow *row);
/* The same with a head, of idle memory by cause; at most @max rows. */
void gemem_diff_append_idle (GString *out, const GArray *rows, guint max);

/* ---- diff-json.c */

/* Appends a member @name, the array of @rows, GememDiffRow. */
void gemem_diff_append_rows_json (GString *out, const char *name, const GArray *rows);
/* Appends an object with the fields of the screen. */
void gemem_diff_append_json (GString *out, const GememDiff *diff);

GEMEM_END_DECLS
