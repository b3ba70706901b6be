/* policy.c - see policy.h. */
#include "config.h"

#include <string.h>

#include "planners/ge/policy.h"

enum
{
  STATIC = 1 << 0,
  DYNAMIC = 1 << 1,
};

static guint
bits_of (const char *text)
{
  static const guint bits[] = { 0, STATIC, STATIC, DYNAMIC, STATIC | DYNAMIC };

  return text[0] >= '0' && text[0] <= '4' && text[1] == '\0' ? bits[text[0] - '0'] : 0;
}

static guint
policy_of_bits (guint bits)
{
  static const guint policies[] = { 0, 2, 3, 4 };

  return policies[bits];
}

guint
gemem_ge_policy (const char *environment, const char *option)
{
  return policy_of_bits (bits_of (environment) | bits_of (option));
}

static gboolean
is_set (const char *text)
{
  return !g_str_equal (text, GE_POLICY_UNSET);
}

/* The manual's list; 1 stands for 2. */
static gboolean
is_listed (const char *text)
{
  return !is_set (text) || (strlen (text) == 1 && *text >= '0' && *text <= '4');
}

static gboolean
check_values (const GePolicySources *sources, GError **error)
{
  if (!sources->as_built && !is_listed (sources->option))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "static_memory_policy='%s': not one of 0, 1, 2, 3, 4; choose one or leave it "
                   "out%s%s",
                   sources->option,
                   sources->documented ? "" : "; GE itself counts it as 0 without a word",
                   sources->documented || !sources->has_as_built
                       ? ""
                       : ", and so does as_built=yes, which takes over its slips, too");
      return FALSE;
    }
  if (!sources->documented || is_listed (sources->environment))
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "GE_USE_STATIC_MEMORY='%s': not one of 0, 1, 2, 3, 4, which the manual lists; "
               "choose one, leave it out, or give rules=as-built, with which it counts as 0",
               sources->environment);
  return FALSE;
}

gboolean
gemem_ge_policy_check (const GePolicySources *sources, GError **error)
{
  if (sources->documented && sources->as_built)
    {
      g_set_error_literal (
          error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
          "rules=documented and as_built=yes contradict each other; leave one out");
      return FALSE;
    }
  if (!check_values (sources, error))
    return FALSE;
  if (!(sources->strict || sources->documented) || !is_set (sources->environment)
      || !is_set (sources->option))
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "GE_USE_STATIC_MEMORY=%s and static_memory_policy=%s conflict, the manual "
               "forbids both together; set static_memory_policy alone, as it advises, or give "
               "%s, with which the system merges them",
               sources->environment, sources->option,
               sources->documented ? "rules=as-built" : "strict=no");
  return FALSE;
}

void
gemem_ge_policy_notes (const GePolicySources *sources, const char *what, GememNoteFunc func,
                       gpointer data)
{
  g_autofree char *merged = NULL, *other = NULL, *deprecated = NULL;

  if (!is_set (sources->environment))
    return;
  if (is_set (sources->option))
    {
      merged = g_strdup_printf (
          "%s: GE_USE_STATIC_MEMORY=%s and static_memory_policy=%s are merged "
          "to policy %u, as the system does; the manual forbids both "
          "together, set static_memory_policy alone",
          what, sources->environment, sources->option,
          gemem_ge_policy (sources->environment, sources->option));
      func (merged, data);
    }
  if (!is_listed (sources->environment))
    {
      other = g_strdup_printf ("%s: GE_USE_STATIC_MEMORY='%s' counts as 0, as in the system, which "
                               "says nothing; the manual lists 0, 1, 2, 3 and 4",
                               what, sources->environment);
      func (other, data);
    }
  deprecated = g_strdup_printf ("%s: GE_USE_STATIC_MEMORY is deprecated; use static_memory_policy",
                                what);
  func (deprecated, data);
}
