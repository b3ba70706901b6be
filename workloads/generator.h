/* generator.h - synthetic workloads: seeded, streaming trace sources.
 *
 * A generator is a GememTraceReader, so every consumer of traces accepts generators: `gemem-sim
 * generate` writes one to a file, benches and tests replay them directly.  Same name, parameters
 * and seed: the same events, byte for byte, everywhere.
 *
 * A generator is one file and one line in generators.def; generator-reader.h provides the reader.
 * Memory is bounded by the live blocks plus one piece of events.
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
/* By name; GEMEM_ERROR_USAGE with a suggestion. */
const GememGenerator *gemem_generator_find (const char *name, GError **error);

/* Opens "NAME[:key=value,...]" with @seed.  Errors: GEMEM_ERROR_USAGE. */
GememTraceReader *gemem_generator_open (const char *spec, guint64 seed, GError **error);

GEMEM_END_DECLS
