/* questions.h - what the settings of an allocator decided in a run, so that a search knows which other settings
 * would have decided the same without replaying them.
 *
 * Why: of a thousand settings most differ in thresholds that no request of the program ever meets.
 *
 * The event path of a class that watches (`watch` of allocator.h) puts every decision in which a setting takes
 * part as a question of one or two numbers to a pure function of the settings.  Each question is kept once.
 * Other settings that answer them all in the same way would have led to the same state after each, so to
 * the same next question: by induction they decide the whole run alike.  What is decided by a setting and put
 * as no question, the class compares itself.
 *
 * Cost: a look-up for each question, and one of memory for each new one.
 */
#pragma once

#include <glib.h>

#include "base/macros.h"

GEMEM_BEGIN_DECLS

typedef struct _GememQuestions GememQuestions;

/* What @settings of the class answer to question @asked about @a and @b. */
typedef guint64 (*GememAnswerFunc) (gconstpointer settings, guint asked, guint64 a, guint64 b);

/* None yet.  gemem_questions_free(). */
GememQuestions *gemem_questions_new (GememAnswerFunc answer);
void gemem_questions_free (GememQuestions *questions); /* may be NULL */

/* Notes that @settings, the same as before, are asked. */
void gemem_questions_note (GememQuestions *questions, gconstpointer settings, guint asked,
                           guint64 a, guint64 b);
/* The settings were changed: from here on none are alike. */
void gemem_questions_blind (GememQuestions *questions);

/* Whether @settings answer all alike.  O(questions), and ends at the first that they answer otherwise, beginning with
 * those that settings before these did: neighbours differ in the same. */
gboolean gemem_questions_alike (GememQuestions *questions, gconstpointer settings);

GEMEM_END_DECLS
