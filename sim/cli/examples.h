/* examples.h - command lines that show a topic or a parameter at work, made from the registries and
 * checked before they are shown. */
#pragma once

#include "sim/cli/topics.h"

/* A command line that runs as it stands, with @topic, and with @param of it (or NULL) set to @value
 * (NULL: a value worth trying).  Where @param has an effect together with another parameter only,
 * that one is set too; where no value of it can be known beforehand it is left out.  A graph is one
 * of the bundled ones.  g_free(). */
char *gemem_example (const GememTopic *topic, const GememParam *param, const char *value);

/* The same for a run that shows the results of any allocator. */
char *gemem_example_replay (void);
