/* user-objects.c - objects that graphs of the stand-in driver keep alive: anything with a
 * reference count and a function that destroys it.
 */
#include "config.h"

#include "dry/driver/calls.h"
#include "dry/driver/graphs.h"

typedef struct
{
  DriverObject object;
  gint64 references;
  CUhostFn destroy;
  void *data;
} DriverUserObject;

typedef struct
{
  guint64 object; /* id */
  guint references;
} Kept;

static void
drop_user_object (guint64 id, guint references)
{
  DriverUserObject *self = gemem_driver_object ((gconstpointer) (guintptr) id, KIND_USER_OBJECT);

  if (self == NULL || (self->references -= references) > 0)
    return;
  gemem_driver_call_later ((DriverCallback){ .function = self->destroy, .data = self->data });
  gemem_driver_object_remove (self);
  gemem_driver_object_free (self);
}

/* A graph is destroyed. */
static void
drop_kept (gpointer data)
{
  const Kept *kept = data;
  drop_user_object (kept->object, kept->references);
}

#define USER_OBJECT(handle) \
  DriverUserObject *user = gemem_driver_object (handle, KIND_USER_OBJECT); \
  if (user == NULL) \
  return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no such object")

CUresult CUDAAPI
cuUserObjectCreate (CUuserObject *place, void *data, CUhostFn destroy, unsigned int references,
                    unsigned int flags)
{
  DriverUserObject *user;

  BEGIN (cuUserObjectCreate, NEEDS_INIT);
  PLACE (place);
  user = gemem_driver_object_add (g_new0 (DriverUserObject, 1), KIND_USER_OBJECT, NULL);
  user->references = references;
  user->destroy = destroy;
  user->data = data;
  *place = DRIVER_HANDLE (CUuserObject, user);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuUserObjectRetain (CUuserObject handle, unsigned int count)
{
  BEGIN (cuUserObjectRetain, NEEDS_INIT);
  USER_OBJECT (handle);
  user->references += count;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuUserObjectRelease (CUuserObject handle, unsigned int count)
{
  BEGIN (cuUserObjectRelease, RETURNS);
  USER_OBJECT (handle);
  drop_user_object (user->object.id, count);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphRetainUserObject (CUgraph graph_handle, CUuserObject handle, unsigned int count,
                         unsigned int flags)
{
  BEGIN (cuGraphRetainUserObject, NEEDS_INIT);
  GRAPH (graph_handle);
  USER_OBJECT (handle);
  Kept kept = { user->object.id, count };
  if ((flags & CU_GRAPH_USER_OBJECT_MOVE) == 0)
    user->references += count;
  if (graph->kept == NULL)
    {
      graph->kept = g_array_new (FALSE, FALSE, sizeof (Kept));
      g_array_set_clear_func (graph->kept, drop_kept);
    }
  g_array_append_val (graph->kept, kept);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphReleaseUserObject (CUgraph graph_handle, CUuserObject handle, unsigned int count)
{
  BEGIN (cuGraphReleaseUserObject, RETURNS);
  GRAPH (graph_handle);
  USER_OBJECT (handle);
  for (guint i = 0; graph->kept != NULL && i < graph->kept->len; i++)
    {
      Kept *kept = &g_array_index (graph->kept, Kept, i);
      if (kept->object != user->object.id)
        continue;
      count = MIN (count, kept->references);
      kept->references -= count;
      drop_user_object (user->object.id, count);
      break;
    }
  return CUDA_SUCCESS;
}
