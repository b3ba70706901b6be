/* record-odd.c - a program that treats its surroundings badly and still expects CUDA to work, for
 * tests/cli/test-record-odd.sh.
 *
 *   record-odd WHAT [NUMBER]
 *
 * It reaches the driver by dlopen() and dlsym().  WHAT it does: a function below.
 */
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dry/driver/api.h"

#define MIB ((size_t) 1 << 20)
#define FUNCTIONS(F) \
  F (cuInit, cuInit) \
  F (cuDeviceGet, cuDeviceGet) \
  F (cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain) \
  F (cuCtxSetCurrent, cuCtxSetCurrent) F (cuMemAlloc, cuMemAlloc_v2) F (cuMemFree, cuMemFree_v2)

extern char **environ;

static struct
{
#define F(name, symbol) __typeof__ (symbol) *name;
  FUNCTIONS (F)
#undef F
} cu;

static void
expect (const char *what, int good)
{
  if (good)
    return;
  fprintf (stderr, "record-odd: %s\n", what);
  _exit (9);
}

#define CHECK(call) expect (#call, (call) == CUDA_SUCCESS)

static void
use_device (int number)
{
  CUdevice device;
  CUcontext context;
  CHECK (cu.cuDeviceGet (&device, number));
  CHECK (cu.cuDevicePrimaryCtxRetain (&context, device));
  CHECK (cu.cuCtxSetCurrent (context));
}

static void
find (void *library)
{
  expect ("no driver", library != NULL);
#define F(name, symbol) cu.name = (__typeof__ (symbol) *) dlsym (library, #symbol);
  FUNCTIONS (F)
#undef F
  CHECK (cu.cuInit (0));
  use_device (0);
}

static void
pairs (int count)
{
  CUdeviceptr a;
  for (int i = 0; i < count; i++)
    {
      CHECK (cu.cuMemAlloc (&a, MIB));
      CHECK (cu.cuMemFree (a));
    }
}

static void
begin (void)
{
  find (dlopen ("libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
}

/* Closes every descriptor but its standard ones again and again, as daemons do. */
static void
closes (int count)
{
  begin ();
  for (int i = 0; i < 5; i++)
    {
      for (int fd = 3; fd < 1024; fd++)
        close (fd);
      pairs (count / 5);
    }
}

/* The limit that there was. */
static rlim_t
limit (int resource, rlim_t most)
{
  struct rlimit limit;
  expect ("getrlimit", getrlimit (resource, &limit) == 0);
  rlim_t before = limit.rlim_cur;
  limit.rlim_cur = most;
  expect ("setrlimit", setrlimit (resource, &limit) == 0);
  return before;
}

/* No descriptor is left, from the beginning (0) or after some calls. */
static void
descriptors (int before)
{
  begin ();
  pairs (before);
  rlim_t usual = limit (RLIMIT_NOFILE, 3);
  pairs (3000);
  limit (RLIMIT_NOFILE, usual);
}

static rlim_t
address_space (void)
{
  unsigned long pages = 0;
  FILE *file = fopen ("/proc/self/statm", "r");
  expect ("statm", file != NULL && fscanf (file, "%lu", &pages) == 1);
  fclose (file);
  return (rlim_t) pages * (rlim_t) sysconf (_SC_PAGESIZE);
}

/* The same of address space: what malloc has already got must do. */
static void
memory (int before)
{
  begin ();
  pairs (before + 1);
  void *reserve = malloc (100000);
  free (reserve);
  rlim_t usual = limit (RLIMIT_AS, address_space ());
  pairs (3000);
  limit (RLIMIT_AS, usual);
}

/* A child shares the memory of its parent until it is another program: nothing else is alive in
 * this function. */
static __attribute__ ((noinline)) pid_t
spawn_by_vfork (char **arguments)
{
  const pid_t pid = vfork ();
  if (pid == 0)
    {
      execv ("/proc/self/exe", arguments);
      _exit (7);
    }
  return pid;
}

/* Children that are other programs, before this one has made a call, and after. */
static void
spawns (int unused)
{
  static char name[] = "record-odd", what[] = "pairs", count[] = "2";
  char *arguments[] = { name, what, count, NULL };
  pid_t pid;
  int status;
  for (int round = 0; round < 2; round++)
    {
      expect ("posix_spawn",
              posix_spawn (&pid, "/proc/self/exe", NULL, NULL, arguments, environ) == 0);
      expect ("its end", waitpid (pid, &status, 0) == pid && status == 0);
      pid = spawn_by_vfork (arguments);
      expect ("vfork", waitpid (pid, &status, 0) == pid && status == 0);
      if (round == 0)
        begin ();
      pairs (1);
    }
}

/* A driver (that of RECORD_ODD_DRIVER, which does nothing) in name spaces of its own, one after the
 * other. */
static void
namespaces (int unused)
{
  for (int round = 0; round < 2; round++)
    {
      void *library = dlmopen (LM_ID_NEWLM, getenv ("RECORD_ODD_DRIVER"), RTLD_NOW);
      expect ("no driver", library != NULL);
      cu.cuMemAlloc = (__typeof__ (cuMemAlloc_v2) *) dlsym (library, "cuMemAlloc_v2");
      cu.cuMemFree = (__typeof__ (cuMemFree_v2) *) dlsym (library, "cuMemFree_v2");
      pairs (2);
      dlclose (library);
    }
}

static void *
on_device (void *number)
{
  use_device (*(int *) number);
  pairs (500);
  return NULL;
}

/* Two threads for each of two devices. */
static void
devices (int unused)
{
  static int numbers[4] = { 0, 1, 0, 1 };
  pthread_t threads[4];
  begin ();
  for (int i = 0; i < 4; i++)
    pthread_create (&threads[i], NULL, on_device, &numbers[i]);
  for (int i = 0; i < 4; i++)
    pthread_join (threads[i], NULL);
}

/* Becomes itself again @times, each time with a call more. */
static void
becomes (int times)
{
  char text[16];
  begin ();
  pairs (4 - times);
  if (times == 0)
    return;
  snprintf (text, sizeof text, "%d", times - 1);
  execl ("/proc/self/exe", "record-odd", "becomes", text, NULL);
  _exit (7);
}

/* A child that is forked after the driver was initialised: nothing works there, and that is CUDA's
 * answer. */
static void
forks_late (int unused)
{
  CUdeviceptr a;
  int status;
  begin ();
  pairs (1);
  pid_t pid = fork ();
  if (pid == 0)
    _exit (cu.cuMemAlloc (&a, MIB) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 8);
  expect ("fork", waitpid (pid, &status, 0) == pid && status == 0);
  pairs (1);
}

static void
only_pairs (int count)
{
  begin ();
  pairs (count);
}

static const struct
{
  const char *name;
  void (*run) (int number);
} deeds[] = {
  { "closes", closes },   { "descriptors", descriptors }, { "memory", memory },
  { "spawns", spawns },   { "namespaces", namespaces },   { "devices", devices },
  { "becomes", becomes }, { "forks-late", forks_late },   { "pairs", only_pairs },
};

int
main (int argc, char **argv)
{
  for (size_t i = 0; argc > 1 && i < sizeof deeds / sizeof deeds[0]; i++)
    if (strcmp (deeds[i].name, argv[1]) == 0)
      {
        deeds[i].run (argc > 2 ? atoi (argv[2]) : 0);
        return 0;
      }
  return 2;
}
