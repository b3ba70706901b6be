/* objects.c - objects with handles: handles are numbers that are never issued twice and
 * are no valid addresses. */
#include "config.h"

#include "dry/driver/driver.h"

/* No pointer of a program has such a value. */
#define FIRST_ID G_GUINT64_CONSTANT (0x0c0da00000000000)

guint64
gemem_driver_new_id (void)
{
  return FIRST_ID + ++gemem_driver.last_id * 16;
}

gpointer
gemem_driver_object_add (gpointer object, DriverKind kind, DriverContext *context)
{
  DriverObject *self = object;

  self->id = gemem_driver_new_id ();
  self->kind = kind;
  self->context = context;
  g_hash_table_insert (gemem_driver.objects, &self->id, self);
  return object;
}

gpointer
gemem_driver_object (gconstpointer handle, DriverKind kind)
{
  guint64 id = (guintptr) handle;
  DriverObject *object = g_hash_table_lookup (gemem_driver.objects, &id);
  return object != NULL && object->kind == kind ? object : NULL;
}

void
gemem_driver_object_free (gpointer object)
{
  DriverObject *self = object;

  if (self->finish != NULL)
    self->finish (self);
  g_free (self);
}

void
gemem_driver_object_remove (gpointer object)
{
  g_hash_table_remove (gemem_driver.objects, &((DriverObject *) object)->id);
}
