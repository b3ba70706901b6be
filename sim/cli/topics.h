/* topics.h - one view of all registries: everything with name, summary and perhaps parameters. */
#pragma once

#include "base/params.h"

typedef struct
{
  const char *kind; /* one of gemem_topic_kinds */
  const char *name, *aliases, *summary, *origin;
  const char *known_as;     /* names in the real system, '|' separated, or NULL */
  const GememParam *params; /* or NULL */
} GememTopic;

/* The topics of one kind (singular or plural), or all (NULL): GArray of GememTopic; NULL with
 * GEMEM_ERROR_USAGE for an unknown kind. */
GArray *gemem_topics (const char *kind, GError **error);
/* The kinds, singular, NULL-terminated. */
extern const char *const gemem_topic_kinds[];
/* Name, summary, origin and a paragraph per parameter, for people. */
char *gemem_topic_help (const GememTopic *topic);
/* Appends the paragraph on @param: values, help, what is worth trying, other names. */
void gemem_param_append_help (GString *out, const GememParam *param);
/* "SIZE [MiB]  (default: 0; at most 1GiB)": the values that @param accepts. */
void gemem_param_append_values (GString *out, const GememParam *param);
