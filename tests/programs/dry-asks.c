/* dry-asks.c - a program that asks for functions and an object of NVIDIA's libraries; prints what it
 * got (tests/dry/test-dry-stubs.c).
 *
 *   dry-asks [LIBRARY FUNCTION]     also looks this function up in that library, which it opens
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

extern int cublasCreate_v2 (void **);
extern int cublasStrsm_v2 (void);
extern int cublasMadeUp (void);
extern int cublasMadeUpWeak (void) __attribute__ ((weak));
extern int cublasMadeUpTable[4];
extern int ncclAllReduce (void);
extern int ncclMadeUp (void);
extern int ncclMadeUpWeak (void) __attribute__ ((weak));

static void *
call_often (void *data)
{
  for (int i = 0; i < 1000; i++)
    if (cublasStrsm_v2 () != 0)
      printf ("wrong\n");
  return data;
}

static void
ask_by_name (const char *library, const char *name)
{
  void *handle = dlopen (library, RTLD_NOW);
  printf ("%s in %s %d\n", name, library, handle != NULL && dlsym (handle, name) != NULL);
}

int
main (int count, char **arguments)
{
  void *handle = NULL;
  pthread_t threads[4];
  char made[32];

  const int created = cublasCreate_v2 (&handle);
  printf ("create %d %d\n", created, handle != NULL);
  printf ("harmless %d %d\n", cublasStrsm_v2 (), ncclAllReduce ());
  printf ("missing %d %d %d\n", cublasMadeUp (), cublasMadeUp (), ncclMadeUp ());
  printf ("weak %d %d\n", cublasMadeUpWeak != NULL ? cublasMadeUpWeak () : -1,
          ncclMadeUpWeak != NULL ? ncclMadeUpWeak () : -1);
  printf ("object %d %d\n", cublasMadeUpTable[0], cublasMadeUpTable[3]);
  cublasMadeUpTable[3] = 7;
  printf ("written %d\n", cublasMadeUpTable[3]);
  ask_by_name ("libcublas.so.12", "cublasDestroy_v2");
  ask_by_name ("libcublas.so.12", "cublasMadeUp");
  ask_by_name ("libcublas.so.12", "cublasOnlyNamed");
  snprintf (made, sizeof made, "cublas%d%s", 1,
            "MadeHere"); /* a name that is no string of the program */
  ask_by_name ("libcublas.so.12", made);
  ask_by_name ("libcuda.so.1", "cuInit");
  ask_by_name ("libnvidia-ml.so.1", "nvmlInit_v2");
  if (count > 2)
    ask_by_name (arguments[1], arguments[2]);
  for (int i = 0; i < 4; i++)
    pthread_create (&threads[i], NULL, call_often, NULL);
  for (int i = 0; i < 4; i++)
    pthread_join (threads[i], NULL);
  return 0;
}
