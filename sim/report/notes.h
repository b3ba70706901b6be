/* notes.h - what holds for whole rows or tables: collected while tables are written, and told once,
 * at the end. */
#pragma once

#include "sim/engine/result.h"

typedef struct _GememReportNotes GememReportNotes;

/* Free with gemem_report_notes_free(). */
GememReportNotes *gemem_report_notes_new (void);
void gemem_report_notes_free (GememReportNotes *notes);

/* Says that @text holds for the group of @result. */
void gemem_report_notes_add (GememReportNotes *notes, const GememResult *result, const char *text);
/* Adds what readers of every comparison must know of the group @results: runs that did not begin,
 * decisions compared with the recording, and if @times are shown, costs that are guesses. */
void gemem_report_notes_add_group (GememReportNotes *notes, GememResult *const *results, guint n,
                                   gboolean times);
/* Adds how many costs behind the modelled times of @result are guesses, if any are. */
void gemem_report_notes_add_guesses (GememReportNotes *notes, const GememResult *result);

/* Whether the peak reserved, in pages, is a hundredth or more above what the allocator reports. */
gboolean gemem_report_counts_pages (const GememResult *result);

/* "reproduces the recording exactly: 9 of 9 decisions, 4 of 4 device calls", or how far not.  NULL: the
 * run was not to reproduce it, with other settings or addresses of its own; g_free(). */
char *gemem_report_fidelity (const GememResult *result);
/* That the state in which the recording began does not fit on the device, and what that means. NULL:
 * it does, or there is none; g_free(). */
char *gemem_report_unfit_state (const GememResult *result);

/* The texts (char *, owned), in the order in which they came; one that holds for at least @groups
 * groups comes once, any other with the title of each of its groups.  g_ptr_array_unref(). */
GPtrArray *gemem_report_notes_lines (const GememReportNotes *notes, guint groups);

/* One sentence: which real allocator needs least memory in the group @results (the least capacity
 * where it was looked for, else the peak reserved), by how much, and what it costs.  Real: neither
 * a call of the device per request nor a plan; runs that did not serve everything do not count.
 * After an interruption only how many runs ended.  NULL: there is nothing to compare; g_free(). */
char *gemem_report_verdict (GememResult *const *results, guint n);

/* Whether a running program could have the allocator of @result: neither a call of the device per request
 * nor a plan. */
gboolean gemem_report_is_real (const GememResult *result);

/* Whether the run @result served everything, and what it held, in one sentence.  NULL: the run broke off
 * or is not allowed, and so is no answer; g_free(). */
char *gemem_report_answer (const GememResult *result);

/* Appends, for people, what became of the requests that ran out of memory when @result's trace was
 * recorded: two lines, or none. */
void gemem_report_append_refused (GString *out, const GememResult *result);

/* ---- idle-rows.c: what lies idle, by cause, for people */

#define GEMEM_IDLE_BRIEF 3 /* rows, and one for all others */

/* Appends what was idle at the first failure, else at the reserved peak; @verbose: at both, every row.
 * Nothing where nothing was idle, or nothing is known. */
void gemem_report_idle (GString *out, const GememResult *result, gboolean verbose);
/* Appends "free in 3 whole segments, returned by emptying the cache". */
void gemem_report_append_idle_row (GString *out, const GememIdleRow *row);
/* The same of any memory of @cause, in a few words: "in whole free segments"; of GEMEM_IDLE_CAUSES, of what was
 * held during an event alone. */
const char *gemem_report_idle_brief (GememIdleCause cause);
/* Of @sums, bytes by GememIdleCause and of GEMEM_IDLE_CAUSES: the cause with the most, the first of equal ones. */
GememIdleCause gemem_report_largest_cause (const guint64 sums[GEMEM_IDLE_CAUSES + 1]);
/* Appends "360.0 MiB in whole free segments, 2.000 MiB in other pools": @rows by cause, the largest first. */
void gemem_report_append_idle_causes (GString *out, const GArray *rows);
/* "2.000 GiB free in the cache of another stream, 0x7": the first row; g_free().  NULL: there is
 * none. */
char *gemem_report_idle_cause (const GArray *rows);
