/* event-kinds.h - what each kind of event of a trace says, for people. */
#pragma once

#include "traces/trace.h"

/* One sentence; ends in a full stop. */
const char *gemem_event_kind_help (GememEventKind kind);
/* Names that programs have for it, '|' separated, or NULL. */
const char *gemem_event_kind_known_as (GememEventKind kind);
/* A generator, with settings, whose traces have such events; NULL: only recordings do. */
const char *gemem_event_kind_generator (GememEventKind kind);
