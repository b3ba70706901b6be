/* environment.h - `--env`: the variables that PyTorch, PaddlePaddle and GE read from the
 * environment, as settings.
 *
 * Only the command reads the environment, and only on request: the library sees settings alone, and
 * those from the environment are recorded with the results. */
#pragma once

#include "base/params.h"

/* Something chosen that may read variables. */
typedef struct
{
  const char *kind;  /* "allocator", "lowering", "planner" */
  const char *label; /* "paddle-buddy:preset=P16"; may name a shorthand */
  const char *name;  /* of the allocator for which the label stands; else NULL */
  /* GememSetting: variables it takes, and leaves out with the reason as value; may be NULL */
  const GPtrArray *used, *left_out;
} GememReader;

/* With @wanted the variables that an allocator, lowering or planner reads (GememSetting, by name),
 * else none.  Paddle's other variables are named in one note and ignored.  GEMEM_ERROR_USAGE: a
 * memory flag that is not modelled, or a name similar to one that is. */
GPtrArray *gemem_environment_read (gboolean wanted, GError **error);

/* With @wanted prints one note for each of @variables that one of @readers (GememReader) cannot
 * use, or that none of them reads; else one note that names the variables of the environment that
 * they would have read. */
void gemem_environment_note_unused (gboolean wanted, const GPtrArray *variables,
                                    const GArray *readers);

/* Says in @error that the @variables (GememSetting) were taken from the environment, if any. */
void gemem_environment_blame (const GPtrArray *variables, GError **error);
