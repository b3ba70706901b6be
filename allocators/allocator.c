/* allocator.c - what works the same for every class of allocator: refusing an event, marking a run,
 * freeing a spec, destroying. */
#include "config.h"

#include <string.h>

#include "allocators/allocator.h"
#include "allocators/registry.h"

const GememAllocatorMaking *gemem_allocator_making;

G_GNUC_PRINTF (2, 0)
static void
keep_first (char **text, const char *format, va_list args)
{
  if (*text == NULL)
    *text = g_strdup_vprintf (format, args);
}

void
gemem_allocator_refuse (GememAllocator *allocator, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  keep_first (&allocator->refusal, format, args);
  va_end (args);
}

void
gemem_allocator_break_rule (GememAllocator *allocator, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  keep_first (&allocator->broken, format, args);
  va_end (args);
}

void
gemem_allocator_destroy (GememAllocator *allocator)
{
  static char none[] = "";

  if (allocator == NULL)
    return;
  g_free (allocator->refusal);
  g_free (allocator->broken);
  allocator->refusal = allocator->broken = none; /* what destroy() does may be refused, too */
  allocator->klass->destroy (allocator);
}

void
gemem_allocator_spec_free (GememAllocatorSpec *spec)
{
  if (spec == NULL)
    return;
  g_free (spec->label);
  g_free (spec->one_of);
  g_ptr_array_unref (spec->settings);
  g_ptr_array_unref (spec->device);
  g_clear_pointer (&spec->variables, g_ptr_array_unref);
  g_clear_pointer (&spec->left_out, g_ptr_array_unref);
  g_free (spec);
}

char *
gemem_allocator_without_brackets (const char *text)
{
  char *inner = g_strstrip (g_strdup (text));
  const gsize length = strlen (inner);

  if (length >= 2 && inner[0] == '[' && inner[length - 1] == ']')
    {
      inner[length - 1] = '\0';
      memmove (inner, inner + 1, length - 1);
    }
  return inner;
}
