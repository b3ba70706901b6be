/* steps.h - generators that go on in steps: a step of events at a time, marked as such.
 *
 * A variant embeds GememSteps and appends the events of a step when it is asked to; blocks that
 * live on from step to step are in `kept`, whose rest is freed behind the last step.
 *
 * Memory: the kept blocks and the events of one step.
 */
#pragma once

#include "base/rng.h"
#include "workloads/generator-reader.h"

typedef struct _GememSteps GememSteps;
struct _GememSteps
{
  GememGeneratorReader parent;
  GememRng rng;
  guint64 step, steps; /* the present one, from 1; all */
  GArray *kept;        /* guint64: ids of blocks, oldest first */
  void (*run) (GememSteps *steps);
  void (*free_parts) (GememSteps *steps); /* NULL: nothing to free */
};

/* A zeroed reader of @size bytes (which embeds GememSteps first); @purpose: of its
 * random numbers. */
gpointer gemem_steps_new (gsize size, guint64 steps, guint64 seed, const char *purpose,
                          void (*run) (GememSteps *));
/* A block of @bytes for @stream, @ns after the event before it; its id. */
guint64 gemem_steps_alloc (GememSteps *steps, guint64 bytes, guint64 stream, guint64 ns);
/* The same, kept. */
void gemem_steps_keep (GememSteps *steps, guint64 bytes, guint64 stream, guint64 ns);
/* Frees the kept blocks from the @first on, newest first. */
void gemem_steps_free_from (GememSteps *steps, guint first);
/* @value, or up to @percent of it more or less. */
guint64 gemem_steps_vary (GememSteps *steps, guint64 value, guint64 percent);
