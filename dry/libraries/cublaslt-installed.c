/* cublaslt-installed.c - NVIDIA's own cuBLASLt beside the stand-in, where it is installed: its heuristics say
 * how large a workspace is, which cuDNN asks for engines that multiply by cuBLASLt.
 *
 * The launcher names the file in $GEMEM_DRY_CUBLASLT_INSTALLED (dry/launch/installed.c).  Descriptors stay the
 * stand-in's; for a question the library gets descriptors of its own with the same attributes.  What multiplies
 * stays the stand-in's.
 *
 * Invariants: any thread.  What the library cannot answer is answered as if it were not installed.
 *
 * Origin: the cuBLASLt section of cuBLAS's manual.
 */
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>

#include "dry/driver/remembered.h"
#include "dry/libraries/cublas.h"
#include "dry/runtime/runtime.h"

#define IDS 64      /* numbers of attributes are below it */
#define LONGEST 256 /* bytes of an attribute */

#define CALLS(call) \
  call (Create, (void **) ) call (MatmulDescCreate, (void **, int, int) ) \
      call (MatmulDescSetAttribute, (void *, int, const void *, gsize)) \
          call (MatmulDescDestroy, (void *) ) call (MatrixLayoutCreate, \
                                                    (void **, int, guint64, guint64, gint64)) \
              call (MatrixLayoutSetAttribute, (void *, int, const void *, gsize)) \
                  call (MatrixLayoutDestroy, (void *) ) call (MatmulPreferenceCreate, (void **) ) \
                      call (MatmulPreferenceSetAttribute, (void *, int, const void *, gsize)) \
                          call (MatmulPreferenceDestroy, (void *) ) call ( \
                              MatmulAlgoGetHeuristic, (void *, void *, void *, void *, void *, \
                                                       void *, void *, int, void *, int *) )

static struct
{
#define DECLARE(name, parameters) int (*name) parameters;
  CALLS (DECLARE)
#undef DECLARE
} calls;
static gboolean loaded;
static char *soname;
static void *handles[RUNTIME_DEVICES_MAX];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the handles */

static void
load (void)
{
  const char *path = g_getenv (GEMEM_ENV_DRY_CUBLASLT_INSTALLED);
  gpointer library;

  if (path == NULL || *path == '\0' || (library = gemem_library_open_beside (path)) == NULL)
    return;
  soname = g_path_get_basename (path);
  loaded = TRUE;
#define FIND(name, parameters) \
  *(void **) &calls.name = dlsym (library, "cublasLt" #name); \
  loaded &= calls.name != NULL;
  CALLS (FIND)
#undef FIND
}

/* The library's handle for this thread's device; NULL: there is none. */
static void *
find_handle (void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const int device = gemem_runtime_device ();
  void *handle;

  pthread_once (&once, load);
  if (!loaded || device < 0 || device >= RUNTIME_DEVICES_MAX)
    return NULL;
  pthread_mutex_lock (&mutex);
  if (handles[device] == NULL && calls.Create (&handles[device]) != CUBLAS_SUCCESS)
    {
      handles[device] = NULL;
      loaded = FALSE;
    }
  handle = handles[device];
  pthread_mutex_unlock (&mutex);
  return handle;
}

typedef int Set (void *object, int id, const void *data, gsize size);

/* Gives @object what the stand-in's @from keeps, but for the first @given attributes. */
static gboolean
give (void *object, gconstpointer from, Set *set, guint64 given)
{
  guint8 data[LONGEST];

  for (int id = 0; id < IDS; id++)
    {
      const gsize size = gemem_library_kept (from, id, data, sizeof data);
      if (size > sizeof data)
        return FALSE;
      if (size > 0 && (given & G_GUINT64_CONSTANT (1) << id) == 0
          && set (object, id, data, size) != CUBLAS_SUCCESS)
        return FALSE;
    }
  return TRUE;
}

static gboolean
give_layout (void **layout, gconstpointer from)
{
  const guint64 given = 1 << CUBLASLT_LAYOUT_TYPE | 1 << CUBLASLT_LAYOUT_ROWS
                        | 1 << CUBLASLT_LAYOUT_COLUMNS | 1 << CUBLASLT_LAYOUT_LEADING;

  return from == NULL
         || (calls.MatrixLayoutCreate (
                 layout, (int) gemem_library_kept_number (from, CUBLASLT_LAYOUT_TYPE, 0),
                 (guint64) gemem_library_kept_number (from, CUBLASLT_LAYOUT_ROWS, 0),
                 (guint64) gemem_library_kept_number (from, CUBLASLT_LAYOUT_COLUMNS, 0),
                 gemem_library_kept_number (from, CUBLASLT_LAYOUT_LEADING, 0))
                 == CUBLAS_SUCCESS
             && give (*layout, from, calls.MatrixLayoutSetAttribute, given));
}

gboolean
cublaslt_installed_heuristic (gconstpointer desc, gconstpointer const layouts[4],
                              gconstpointer preference, int wanted, void *results, int *found)
{
  void *own = NULL, *its[4] = { NULL }, *wish = NULL, *handle;
  gboolean done;

  gemem_dry_in_library (1);
  done = (handle = find_handle ()) != NULL
         && calls.MatmulDescCreate (
                &own, (int) gemem_library_kept_number (desc, CUBLASLT_DESC_COMPUTE_TYPE, 0),
                (int) gemem_library_kept_number (desc, CUBLASLT_DESC_SCALE_TYPE, 0))
                == CUBLAS_SUCCESS
         && give (own, desc, calls.MatmulDescSetAttribute, 0)
         && calls.MatmulPreferenceCreate (&wish) == CUBLAS_SUCCESS
         && (preference == NULL || give (wish, preference, calls.MatmulPreferenceSetAttribute, 0));
  for (guint i = 0; done && i < G_N_ELEMENTS (its); i++)
    done = give_layout (&its[i], layouts[i]);
  done = done
         && calls.MatmulAlgoGetHeuristic (handle, own, its[0], its[1], its[2], its[3], wish, wanted,
                                          results, found)
                == CUBLAS_SUCCESS
         && *found > 0;
  for (guint i = 0; i < G_N_ELEMENTS (its); i++)
    if (its[i] != NULL)
      calls.MatrixLayoutDestroy (its[i]);
  if (wish != NULL)
    calls.MatmulPreferenceDestroy (wish);
  if (own != NULL)
    calls.MatmulDescDestroy (own);
  gemem_dry_in_library (-1);
  if (done)
    gemem_dry_note (GEMEM_DRY_NOTE_INSTALLED, soname);
  return done;
}
