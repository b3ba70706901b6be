/* record-host.c - a program without CUDA that opens a plugin, for tests/cli/test-record.sh:
 * record-host PLUGIN WHAT; without arguments it looks whether CUDA is there, and finds none. */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>

int
main (int argc, char **argv)
{
  void *library;
  int (*run) (const char *);

  if (argc < 3)
    return dlsym (RTLD_DEFAULT, "cudaMalloc") != NULL
           || dlsym (RTLD_DEFAULT, "cuMemAlloc_v2") != NULL
           || dlsym (RTLD_DEFAULT, "printf") == NULL;
  library = dlopen (argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    {
      fprintf (stderr, "record-host: %s\n", dlerror ());
      return 9;
    }
  run = (int (*) (const char *)) dlsym (library, "record_plugin");
  return run != NULL ? run (argv[2]) : 8;
}
