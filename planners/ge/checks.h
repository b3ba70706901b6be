/* checks.h - the checks of settings and of a graph before planning (ge-static.md 9.3). */
#pragma once

#include "planners/ge/model.h"

/* FALSE: GEMEM_ERROR_USAGE, a list of inputs or outputs that is none. */
gboolean gemem_ge_model_check_options (const GeOptions *options, GError **error);
/* FALSE: GEMEM_ERROR_INPUT, with node and attribute. */
gboolean gemem_ge_model_check_attributes (const GeModel *model, GError **error);
