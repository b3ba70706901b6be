/* allocator.c - what works the same for every class of allocator: refusing an event, destroying. */
#include "config.h"

#include "allocators/allocator.h"

void
gemem_allocator_refuse (GememAllocator *allocator, const char *format, ...)
{
  va_list args;

  if (allocator->refusal != NULL)
    return;
  va_start (args, format);
  allocator->refusal = g_strdup_vprintf (format, args);
  va_end (args);
}

void
gemem_allocator_destroy (GememAllocator *allocator)
{
  if (allocator == NULL)
    return;
  g_free (allocator->refusal);
  allocator->klass->destroy (allocator);
}
