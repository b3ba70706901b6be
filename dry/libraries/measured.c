/* measured.c - what cuDNN's candidates take for their workspaces, where a program measures them to choose the fastest
 * (torch.backends.cudnn.benchmark).
 *
 * A dry run has no times, so that it cannot know which of them the GPU finds fastest.  Each takes a workspace of another size.  The
 * driver is told the size of each that runs; another run lets those with the largest be the fastest (dry/driver/measured.h).
 *
 * Here is the function alone that runs a candidate, before that of cuDNN or of what stands for it, which it calls: the first of the
 * name, for libraries that are linked with cuDNN.  One that asks cuDNN for it by name passes it over.
 *
 * Origin: cuDNN's manual (cudnn_graph.h: attributes and types).
 */
#include "config.h"

#include <dlfcn.h>
#include <string.h>

#include "dry/driver/measured.h"
#include "dry/libraries/library.h"

#define NOT_INITIALISED 1001
#define TYPE_INT64 3
#define PLAN_WORKSPACE 402

typedef int (*Execute) (void *handle, void *plan, void *pack);
typedef int (*GetAttribute) (void *descriptor, int id, int type, int64_t wanted, int64_t *count,
                             void *elements);

/* The function of that name which stands behind this library, or in the cuDNN that is loaded; NULL: there is none. */
static gpointer
find_next (const char *name)
{
  static const char *const libraries[] = { "libcudnn.so.9", "libcudnn.so.8" };
  gpointer function = dlsym (RTLD_NEXT, name);

  for (guint i = 0; i < G_N_ELEMENTS (libraries) && function == NULL; i++)
    {
      gpointer library = dlopen (libraries[i], RTLD_LAZY | RTLD_NOLOAD);
      function = library != NULL ? dlsym (library, name) : NULL;
    }
  return function;
}

/* The stand-in does not know what a plan takes, and would note that it was asked. */
static gboolean
is_stand_in (gpointer function)
{
  Dl_info info;

  return dladdr (function, &info) != 0 && strstr (info.dli_fname, "libgemem-dry") != NULL;
}

DRY_FUNCTION (int, cudnnBackendExecute, void *handle, void *plan, void *pack)
{
  const Execute execute = (Execute) find_next ("cudnnBackendExecute");
  const GetAttribute get = (GetAttribute) find_next ("cudnnBackendGetAttribute");
  gint64 count = 0, workspace = 0;

  if (execute == NULL)
    return NOT_INITIALISED;
  if (get != NULL && !is_stand_in (get)
      && get (plan, PLAN_WORKSPACE, TYPE_INT64, 1, &count, &workspace) == 0 && count == 1
      && workspace >= 0)
    gemem_dry_ran_with ((guint64) workspace);
  return execute (handle, plan, pack);
}
