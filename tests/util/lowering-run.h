/* lowering-run.h - a trace of the lowering `paddle` under check: the state that lowering-check.c
 * and lowering-sharing.c share. */
#pragma once

#include "tests/util/naive-collector.h"

typedef struct
{
  GememGraph *graph;
  const char *settings;
  GememLowerPaddle p;
  GememLower *lower;
  guint8 *slots;         /* GEMEM_SLOT_* */
  guint32 *running, n;   /* nodes that run, in order */
  guint32 *first, *last; /* by storage: slots of its users; GEMEM_NONE: none */
  guint64 stride;        /* of ids, between steps */
  guint64 step;
  GArray *events;
  /* by id, both sets of ids */
  guint8 *alive;
  guint64 *size;
  /* by storage: slots of its allocation and its free; GEMEM_NONE: none in this step */
  guint32 *came, *gone;
  NaiveCollector *collector;
} LoweringRun;

#define ID "id %" G_GUINT64_FORMAT
#define EXPECT(run, condition, ...) \
  if (!(condition)) \
    { \
      g_autofree char *text = g_strdup_printf (__VA_ARGS__); \
      g_error ("%s: paddle:%s: step %" G_GUINT64_FORMAT ": %s", gemem_graph_name ((run)->graph), \
               (run)->settings, (run)->step, text); \
    }

static inline const GememStorage *
storage (const LoweringRun *run, guint32 i)
{
  return gemem_lower_storage (run->lower, i);
}

static inline guint32
storage_of (const LoweringRun *run, guint32 slot)
{
  return slot != GEMEM_NONE ? run->lower->storage_of[slot] : GEMEM_NONE;
}

/* Checks the tensors that lie in one storage without a reference: each begins where the one
 * before has its last use, and the two are a legal in-place pair. */
void test_lowering_sharing (const LoweringRun *run);
