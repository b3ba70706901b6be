/* objects.c - objects with handles: handles are numbers that are never issued twice and
 * are no valid addresses. */
#include "config.h"

#include "dry/driver/driver.h"

/* No pointer of a program has such a value. */
#define FIRST_ID G_GUINT64_CONSTANT (0x0c0da00000000000)

guint64
standin_new_id (void)
{
  return FIRST_ID + ++standin.last_id * 16;
}

gpointer
standin_object_add (gpointer object, StandinKind kind, StandinContext *context)
{
  StandinObject *self = object;

  self->id = standin_new_id ();
  self->kind = kind;
  self->context = context;
  g_hash_table_insert (standin.objects, &self->id, self);
  return object;
}

gpointer
standin_object (gconstpointer handle, StandinKind kind)
{
  guint64 id = (guintptr) handle;
  StandinObject *object = g_hash_table_lookup (standin.objects, &id);
  return object != NULL && object->kind == kind ? object : NULL;
}

void
standin_object_free (gpointer object)
{
  StandinObject *self = object;

  if (self->finish != NULL)
    self->finish (self);
  g_free (self);
}

void
standin_object_remove (gpointer object)
{
  g_hash_table_remove (standin.objects, &((StandinObject *) object)->id);
}
