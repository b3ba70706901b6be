/* measures-help.h - `gemem-sim help measures`: what every number of a report means. */
#pragma once

/* The definitions of all measures; g_free(). */
char *gemem_measures_help (void);
