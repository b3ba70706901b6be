/* policy.h - GE's static memory policy, as it follows from the environment variable and the option
 * together.
 *
 * Two bits, each set by either source: static (values 1, 2, 4) and dynamic (3, 4); the policy is 0,
 * 2, 3 or 4.  Any other text counts as 0.
 * Origin: ge-runtime.md 7.1.
 */
#pragma once

#include "allocators/allocator.h"

#define GE_POLICY_UNSET "unset" /* a source that is not there */

/* The policy of one source, and of both together; texts are compared as they are: "02" is 0. */
guint gemem_ge_policy_of (const char *text);
guint gemem_ge_policy (const char *environment, const char *option);

typedef struct
{
  const char *environment, *option; /* GE_USE_STATIC_MEMORY, ge.exec.staticMemoryPolicy */
  gboolean strict;                  /* not both */
  gboolean as_built;                /* accept any text of the option */
  gboolean documented;              /* not both, and no text that the manual does not list */
} GePolicySources;

/* Whether these settings can be used together; GEMEM_ERROR_USAGE with @what ("allocator ge") in
 * front. */
gboolean gemem_ge_policy_check (const GePolicySources *sources, const char *what, GError **error);
/* Says of settings that passed the check what the manual says against them. */
void gemem_ge_policy_notes (const GePolicySources *sources, const char *what, GememNoteFunc func,
                            gpointer data);
