/* anonymous.h - a trace without what tells where and by whom it was recorded, to be
 * given to others.
 *
 * A reader of the same events stands before the reader of the recording.  Tags, frames and
 * provenance come with substitutes; equal ones stay equal and different ones different.  Sizes,
 * times, addresses, ids, streams, pools, devices, line numbers, the allocator and its settings are
 * unchanged (of settings, paths are replaced), so that every replay gives the same result.
 *
 *  - PATHS: directories, names of users and hosts, URLs, addresses of the network and process ids
 *    are replaced; base names of files, and paths from "site-packages/" on, stay.
 *  - NAMES: besides, every name: f1, file1.py, op1, phase1, tag1, numbered in the order of first
 *    use; of provenance stays what gemem writes itself.
 *  - The sha256 of the source is dropped, as it would identify the source.
 *
 * A name can occur before the path or the address that tells that it is one, so the recording is
 * read twice: gemem_anonymizer_survey() first.
 *
 * Cost: O(1) per event; each string, frame and stack is rewritten once.  Memory: the strings and
 * stacks of the trace once more, and a batch of events.
 */
#pragma once

#include "base/macros.h"
#include "traces/trace.h"

GEMEM_BEGIN_DECLS

typedef enum
{
  GEMEM_ANONYMOUS_PATHS,
  GEMEM_ANONYMOUS_NAMES,
} GememAnonymity;

typedef struct _GememAnonymizer GememAnonymizer;

/* Returns FALSE with GEMEM_ERROR_USAGE if @text is neither "paths" nor "names" nor "" (paths). */
gboolean gemem_anonymity_parse (const char *text, GememAnonymity *anonymity, GError **error);

GememAnonymizer *gemem_anonymizer_new (GememAnonymity anonymity);
void gemem_anonymizer_free (GememAnonymizer *anonymizer); /* may be NULL */

/* Hides a name of a user or host wherever it is a whole word, besides those that the recording
 * tells.  Names that tell nothing (root, localhost, numbers) are ignored. */
void gemem_anonymizer_hide_user (GememAnonymizer *anonymizer, const char *name);
void gemem_anonymizer_hide_host (GememAnonymizer *anonymizer, const char *name);

/* Reads @reader to its end, and learns what is to be hidden.  Returns FALSE with the error of the
 * reader. */
gboolean gemem_anonymizer_survey (GememAnonymizer *anonymizer, GememTraceReader *reader,
                                  GError **error);

/* Returns the reader of the anonymous trace of @source, which must not have been read yet; takes
 * ownership of @source.  @anonymizer must stay valid until gemem_trace_close(). */
GememTraceReader *gemem_anonymous_open (GememAnonymizer *anonymizer, GememTraceReader *source);

/* Adds "KEY: VALUE" to the provenance of an anonymous @reader, without what is to be hidden. */
void gemem_anonymous_note (GememTraceReader *reader, const char *key, const char *value);

GEMEM_END_DECLS
