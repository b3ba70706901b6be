/* generator.h - synthetic workloads: seeded, streaming trace sources.
 *
 * A generator is a GememTraceReader, so whatever reads traces reads generators: `gemem-sim
 * generate` writes one to a file, benches and tests replay them without one.  Same name, parameters
 * and seed: the same events, byte for byte, everywhere.
 *
 * A variant fills a buffer of events piece by piece (gemem_events_alloc() and its sisters) and
 * embeds GememGeneratorReader, which does the rest. Memory is bounded by what is live plus one
 * piece.
 */
#pragma once

#include "base/macros.h"
#include "base/named.h"
#include "traces/trace.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  GememNamed base;
  /* Copies what it needs from @params. */
  GememTraceReader *(*open) (gconstpointer params, guint64 seed, GError **error);
} GememGenerator;

const GememGenerator *const *gemem_generators (void); /* NULL-terminated, from generators.def */
const GememGenerator *gemem_generator_find (const char *name, GError **error);

/* Opens "NAME[:key=value,...]" with @seed.  Errors: GEMEM_ERROR_USAGE. */
GememTraceReader *gemem_generator_open (const char *spec, guint64 seed, GError **error);

/* ---- for generators */

typedef struct _GememGeneratorReader GememGeneratorReader;
struct _GememGeneratorReader
{
  GememTraceReader parent;
  GArray *events;  /* GememTraceEvent: the piece being made */
  guint64 next_id; /* ids count from 1 */
  guint64 time;    /* ns, of the next event */
  /* Appends the next piece to `events`; FALSE when there is none. */
  gboolean (*fill) (GememGeneratorReader *reader);
  void (*free_parts) (GememGeneratorReader *reader); /* NULL: nothing to free */
};

/* A zeroed reader of @size bytes (which embeds GememGeneratorReader first). */
gpointer gemem_generator_reader_new (gsize size, gboolean (*fill) (GememGeneratorReader *),
                                     void (*free_parts) (GememGeneratorReader *));

/* Appends one event at the reader's time; returns the id of the new block. */
guint64 gemem_events_alloc (GememGeneratorReader *reader, guint64 size, guint64 stream);
void gemem_events_free (GememGeneratorReader *reader, guint64 id);
void gemem_events_mark (GememGeneratorReader *reader, GememEventKind kind, guint64 id);

GEMEM_END_DECLS
