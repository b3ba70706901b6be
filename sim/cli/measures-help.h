/* measures-help.h - `gemem-sim help measures`: what every number of a report means. */
#pragma once

/* The definitions of all measures, or of the one called @name (NULL: there is none); g_free(). */
char *gemem_measures_help (void);
char *gemem_measures_help_on (const char *name);
