/* streams.h - inputs that can be read only once: pipes (also "<(command)"), FIFOs, sockets,
 * terminals, and standard input.
 *
 * Commands open an input several times: to recognise it, for its hash, once per run.  A stream is
 * therefore copied to a spool (base/io/spool.h) when it is first named, and opened there.
 *
 * Invariants: a stream is read once; every opening of its spool has a position of its own, so
 * threads may read it at the same time. */
#pragma once

#include <glib.h>

typedef struct
{
  char *name;    /* for messages and results: as typed, but "standard input" for "-" */
  char *file;    /* to open: as typed, but without "#N" where `once` */
  gboolean once; /* a stream, or "-" */
  guint graph;   /* N of "PATH#N", else 0 */
} GememStream;

/* Looks at the input @path ("-": standard input) and spools it if it is a stream.  FALSE with
 * GEMEM_ERROR_USAGE for a stream that was named before (unless for another graph), and
 * GEMEM_ERROR_FAILED.  A file that cannot be opened is no error here. The
 * caller frees `name` and `file`. */
gboolean gemem_stream_take (const char *path, GememStream *stream, GError **error);

/* The same for an input that something else reads, once: nothing is spooled. */
gboolean gemem_stream_claim (const char *path, GError **error);
