/* policy.c - see policy.h. */
#include "config.h"

#include <string.h>

#include "allocators/ge/policy.h"

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
gemem_ge_policy_of (const char *text)
{
  return policy_of_bits (bits_of (text));
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

static gboolean
check_value (const char *name, const char *text, const char *what, GError **error)
{
  if (!is_set (text) || (strlen (text) == 1 && *text >= '0' && *text <= '4'))
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "%s: %s='%s': not one of 0, 1, 2, 3, 4; choose one, leave it out, or give "
               "as_built=yes, with which it counts as 0 as in GE",
               what, name, text);
  return FALSE;
}

gboolean
gemem_ge_policy_check (const GePolicySources *sources, const char *what, GError **error)
{
  if (!sources->as_built
      && (!check_value ("GE_USE_STATIC_MEMORY", sources->environment, what, error)
          || !check_value ("static_memory_policy", sources->option, what, error)))
    return FALSE;
  if (!sources->strict || !is_set (sources->environment) || !is_set (sources->option))
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "%s: GE_USE_STATIC_MEMORY=%s and static_memory_policy=%s: the documentation forbids "
               "setting both; leave one out, or strict=yes",
               what, sources->environment, sources->option);
  return FALSE;
}
