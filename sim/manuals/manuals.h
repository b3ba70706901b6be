/* manuals.h - the documented sentences of the real systems' manuals, and the examples that show
 * whether gemem's model of what is built, and its model of what is documented, do what they say.
 *
 * A manual is one file, sentences-*.c, with one `const GememManual` and one line in
 * manuals.def; its rows are written with GEMEM_SENTENCE and GEMEM_UNSEEN.  Command, page and
 * tests derive from them.
 *
 * Invariants: the expected figures are computed by hand from the manual and from what is known of
 * the real system, never copied from the program's output; an id is unique among all manuals.
 */
#pragma once

#include <glib.h>

typedef struct
{
  const char *id;                 /* "static_memory_policy.2", as given on the command line */
  const char *text;               /* the sentence, in our words */
  const char *input;              /* standard input of the example, or NULL */
  const char *example;            /* "[NAME=VALUE...] COMMAND WORDS"; NULL: nothing can show it */
  const char *figure;             /* how the figure is read from what the example prints */
  const char *unit;               /* "B" for bytes, "us", "blocks"; "" for words */
  const char *documented, *built; /* the figures */
  const char *why;                /* how they come about; without an example: why there is none */
} GememSentence;

/* A row with an example.  In @example, which is written as after "gemem-sim", "{rules}" stands for
 * rules=documented or rules=as-built, "{rules and slips}" the same with as_built=yes for the latter,
 * "{graphs}" for the folder of the bundled graphs; without either of the first two it runs once, for
 * both.  @figure is one of
 *   "json PATH"    the values at @PATH of standard output, joined with ", "; "$.results[*].x[0]"
 *   "line REGEX"   group 1 of the first match in standard output followed by standard error
 *   "count REGEX"  the number of lines there that match
 *   "status"       the exit status */
#define GEMEM_SENTENCE(id, text, input, example, figure, unit, documented, built, why) \
  { \
    (id), (text), (input), (example), (figure), (unit), (documented), (built), (why) \
  }
/* A row that no example can show. */
#define GEMEM_UNSEEN(id, text, why) \
  { \
    (id), (text), NULL, NULL, NULL, NULL, NULL, NULL, (why) \
  }

typedef struct
{
  const char *name;   /* "ge-variable" */
  const char *system; /* "ge", "paddle" or "memory_optimize" */
  const char *title;  /* "GE: the environment variable GE_USE_STATIC_MEMORY" */
  const GememSentence *sentences;
  guint n_sentences;
} GememManual;

typedef struct
{
  const GememSentence *sentence;
  /* The figures that the examples gave; NULL without an example.  Where one could not be read, NULL
   * and a line in @documented_error or @built_error. */
  char *documented, *built;
  char *documented_error, *built_error;
} GememShown;

/* The folder of the bundled graphs, "{graphs}" in examples: in the source tree where that is the
 * current folder, else where they are installed.  g_free(). */
char *gemem_manual_graphs (void);

/* The shell command that runs the example of @sentence under the documented rules or those of what
 * is built; @input: reads @sentence->input from a here-document.  g_free(). */
char *gemem_sentence_command (const GememSentence *sentence, gboolean documented, gboolean input);

/* Runs the examples of all @n @sentences with @program, on all processors, each process with no
 * environment but its own and the search paths.  Returns @n GememShown in the same order, to be
 * freed with gemem_shown_free().  Cost: two processes a sentence, some milliseconds each. */
GememShown *gemem_sentences_run (const char *program, const GememSentence *const *sentences,
                                 guint n);
void gemem_shown_free (GememShown *shown, guint n);

/* TRUE if both figures are those of the table, or there is no example. */
gboolean gemem_shown_as_written (const GememShown *shown);
/* "equal", "differs", "not observable", or "changed" where a figure is not that of the table. */
const char *gemem_shown_verdict (const GememShown *shown);
