/* rng.h - gemem's own random numbers: xoshiro256** seeded by SplitMix64, one stream per purpose.
 *
 * Why not GRand: its sequence depends on the environment (G_RANDOM_VERSION), and with one global
 * generator a new draw in one component changes all others.  A stream is identified by (seed,
 * purpose), so a new purpose changes no other stream.  Golden vectors are in tests/unit/test-rng.c.
 * Integers only: distributions are computed with exact integer or table arithmetic so that results
 * do not depend on libm or the compiler.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct
{
  guint64 s[4];
} GememRng;

/* Starts the stream of @purpose (a short fixed word, e.g. "sizes") under @seed. */
void gemem_rng_init (GememRng *rng, guint64 seed, const char *purpose);

/* 64 random bits. */
guint64 gemem_rng_next (GememRng *rng);

/* Uniform in [0, bound), unbiased (Lemire's multiply with rejection); bound > 0. */
guint64 gemem_rng_below (GememRng *rng, guint64 bound);

/* Uniform in [low, high], both included. */
guint64 gemem_rng_range (GememRng *rng, guint64 low, guint64 high);

/* Log-uniform in [low, high], low > 0: each octave equally likely; integer arithmetic only. */
guint64 gemem_rng_log_uniform (GememRng *rng, guint64 low, guint64 high);

/* Geometric-like lifetime with the given mean (>= 1), at least 1; integer arithmetic only. */
guint64 gemem_rng_geometric (GememRng *rng, guint64 mean);

GEMEM_END_DECLS
