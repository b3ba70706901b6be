/* message.h - what people paste when a program runs out of memory: which message it is, and what its
 * numbers mean.
 *
 * Why: most reports begin with such a message and nothing else.  messages.def is the only list of
 * them, figures.def of what a number can mean.
 *
 * Invariants: nothing is judged by the name of a file; the message is looked for in pieces of
 * GEMEM_MESSAGE_MAX bytes, to the end of a text, as in the log of a week; what is binary is not
 * looked through.  Of most kinds GEMEM_MESSAGE_NEAR bytes from the sign on are read, but never into the
 * same message written once more; what is summed over a text that is cut off there is not known; a
 * number that does not fit into 64 bits is an error, never a figure.  What a terminal obeys, as
 * colours, is no part of the text.  Cost: O(bytes looked at).
 */
#pragma once

#include "base/io/input.h"
#include "base/macros.h"

GEMEM_BEGIN_DECLS

#define GEMEM_MESSAGE_MAX \
  (16 << 20)                      /* bytes of a text in which a message is looked for at a time */
#define GEMEM_MESSAGE_PROCESSES 3 /* that are named, those that hold most */
#define GEMEM_MESSAGE_NAME 40     /* bytes of the name of one, with the NUL */
#define GEMEM_MESSAGE_NEAR (32 << 10) /* bytes from its sign on that belong to it */

typedef enum
{
  GEMEM_FIGURE_NONE,
#define GEMEM_FIGURE(symbol, member, words) GEMEM_FIGURE_##symbol,
#include "traces/messages/figures.def"
#undef GEMEM_FIGURE
  GEMEM_N_FIGURES
} GememFigureKind;

typedef enum
{
  GEMEM_FACT_FIRST,
  GEMEM_FACT_SUM,
} GememFactRule;

typedef struct
{
  GememFigureKind figure;
  GememFactRule rule;
  const char *pattern; /* NULL: the end */
} GememFact;

/* Something that could be done. */
typedef struct
{
  GememFigureKind bound;         /* at most so many bytes are gained; NONE: the end */
  GememFigureKind with, without; /* known, and not known; NONE: does not matter */
  const char *setting;           /* of the allocator; NULL: `value` says what to do */
  const char *value;
  const char
      *since; /* "2.1": the release that the setting needs, where the text has that of none; NULL */
} GememGain;

typedef struct _GememMessage GememMessage;

typedef struct
{
  const char *name, *title, *sign;
  const char *who;       /* whose memory it is: "PyTorch" */
  const char *allocator; /* whose settings are meant; NULL */
  const char *limit;     /* what sets ALLOWED; NULL */
  guint64 step;          /* memory of the device may be taken in steps of so many bytes; 0 */
  const char *record;    /* lines that record what the message does not say */
  const char *recording; /* the file that they make; NULL: none */
  gboolean lines;        /* the sign is in each of many lines, and others may stand before it */
  gboolean whole;        /* all of the text belongs to it, however long */
  gboolean plain;        /* it is there without a refusal, too */
  gboolean beside;       /* who was refused asks the driver, not the program's allocator */
  gboolean begins;       /* the program has nothing yet: all that is not free is others' */
  gboolean maybe;        /* it need not be that memory was refused */
  gboolean refuses;      /* the program itself refuses to go on with the memory that there is */
  const char *lacks;     /* what it does not say, a sentence; NULL */
  void (*read) (const char *text, gsize size, GememMessage *message); /* what facts cannot; NULL */
  const char *early; /* a line by which it asks while there is memory; NULL */
  GememFact facts[20];
  GememGain gains[3];
} GememMessageKind;

typedef struct
{
  gboolean known;
  guint64 bytes; /* or a count */
  guint64 error; /* it may be so much more or less: it was printed rounded */
} GememFigure;

typedef struct
{
  char name[GEMEM_MESSAGE_NAME]; /* printable ASCII; "": not known */
  guint64 pid, bytes;
} GememMessageProcess;

struct _GememMessage
{
  const GememMessageKind *kind;
  guint times; /* how often its sign is there */
  GememFigure figures[GEMEM_N_FIGURES];
  guint
      n_processes; /* whose memory is in it, on all devices; the first of them are here, the largest first */
  GememMessageProcess processes[GEMEM_MESSAGE_PROCESSES];
};

/* The message in @text, NULL: none. */
const GememMessageKind *gemem_message_find (const char *text, gsize size);
/* Reads the first message in @input from its beginning.  FALSE with GEMEM_ERROR_INPUT: there is none
 * (@message->kind is NULL), or a number in it is none of bytes; or the input cannot be read. */
gboolean gemem_message_read (GememInput *input, GememMessage *message, GError **error);

/* Member of JSON, words. */
const char *gemem_figure_member (GememFigureKind figure);
const char *gemem_figure_words (GememFigureKind figure);

GEMEM_END_DECLS
