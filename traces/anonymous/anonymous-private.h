/* anonymous-private.h - takes out of text what tells where a recording was made: directories, names
 * of users and hosts, addresses of the network, process ids.
 *
 * Equal parts get equal substitutes: "d1" for a directory, "user1", "host1", "url1", numbered in
 * the order of first use.  Text is bytes; it need not be UTF-8.
 *
 * A name of a user or host is replaced wherever it stands as a whole word, which can be before the
 * place that tells that it is such a name.  So all text is learned from before any is rewritten.
 */
#pragma once

#include <glib.h>

/* Numbers for texts, from 1 on in the order of first use. */
typedef struct
{
  GHashTable *known; /* text -> number; 0: known, but not used yet */
  guint32 last;
} GememNumbers;

void gemem_numbers_init (GememNumbers *numbers);
void gemem_numbers_clear (GememNumbers *numbers);
/* The number of @text (@n bytes; -1: all of it). */
guint32 gemem_numbers_get (GememNumbers *numbers, const char *text, gssize n);

typedef struct _GememRedactor GememRedactor;

/* What a text is. */
typedef enum
{
  GEMEM_TEXT_FREE,    /* a tag, a line of provenance */
  GEMEM_TEXT_COMMAND, /* a command line: every word with a slash is a path */
  GEMEM_TEXT_SYMBOL,  /* a function or an operator: "@" and "a/b" are parts of its name */
  GEMEM_TEXT_PART,    /* a part of a path */
} GememTextKind;

GememRedactor *gemem_redactor_new (void);
void gemem_redactor_free (GememRedactor *redactor);

/* Hides a name of @n bytes (-1: all) wherever it is a whole word.  Ignored: names of one letter,
 * numbers and names that tell nothing, as root and localhost. */
void gemem_redactor_hide_user (GememRedactor *redactor, const char *name, gssize n);
void gemem_redactor_hide_host (GememRedactor *redactor, const char *name, gssize n);

/* Learns names of users and hosts from @text.  O(length). */
void gemem_redactor_learn (GememRedactor *redactor, const char *text, GememTextKind kind);
/* The same of the file of a frame, and which base names there are in several directories. */
void gemem_redactor_learn_file (GememRedactor *redactor, const char *file);

/* Appends @text without what is hidden.  O(length). */
void gemem_redactor_append (GememRedactor *redactor, GString *out, const char *text,
                            GememTextKind kind);
/* The same for the file of a frame: "train.py"; "d2/train.py" if another directory has a train.py
 * as well; "site-packages/torch/nn/modules/module.py".  The rules of origin.h see the same kind of
 * file. */
void gemem_redactor_append_file (GememRedactor *redactor, GString *out, const char *file);
/* The same without the base name: "file3.py". */
void gemem_redactor_append_file_number (GString *out, const char *file, guint32 number);
