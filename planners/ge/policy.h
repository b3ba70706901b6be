/* policy.h - GE's static memory policy, as it follows from the environment variable and the option
 * together.
 *
 * Two bits, each set by either source: static (values 1, 2, 4) and dynamic (3, 4); the policy is 0,
 * 2, 3 or 4.  Any other text counts as 0.  Allocators and planners read it here, so that all accept,
 * refuse and note the same.
 * Origin: ge-runtime.md 7.1.
 */
#pragma once

#include "base/error.h"
#include "base/named.h"

#define GE_POLICY_UNSET "unset" /* a source that is not there */

/* The policy of both sources together; texts are compared as they are: "02" is 0. */
guint gemem_ge_policy (const char *environment, const char *option);

typedef struct
{
  const char *environment, *option; /* GE_USE_STATIC_MEMORY, ge.exec.staticMemoryPolicy */
  gboolean strict;                  /* not both */
  gboolean has_as_built, as_built;  /* there is such a setting; it is on: accept any option */
  gboolean documented;              /* not both, and no text that the manual does not list */
} GePolicySources;

/* Whether these settings can be used together; GEMEM_ERROR_USAGE. */
gboolean gemem_ge_policy_check (const GePolicySources *sources, GError **error);
/* Says of settings that passed the check what the manual says against them; @what ("allocator ge")
 * stands in front. */
void gemem_ge_policy_notes (const GePolicySources *sources, const char *what, GememNoteFunc func,
                            gpointer data);
