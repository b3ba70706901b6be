/* dry-linked.c - a program, and a module of it, with something like CUDA's runtime linked in
 * (dry-linked-runtime.c), for tests/cli/test-dry-run.sh.
 *
 *   dry-linked [MODULE]     prints what its functions return, the registration of kernels, which is
 *                           before main(), among them; then the same of the module
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

/* In dry-linked-runtime.c; not in a header, as no one else has them. */
#define RUNTIME __attribute__ ((visibility ("hidden")))
RUNTIME extern int cudaMalloc (void **place, size_t size);
RUNTIME extern int cudaFree (void *block);
RUNTIME extern int cudaGetDevice (int *device);
RUNTIME extern int cudaMadeUp (void);
RUNTIME extern int dry_linked_neighbour (void);
RUNTIME extern int __cudaRegisterFatBinary (void *image);

static int registered;

__attribute__ ((constructor)) static void
begin (void)
{
  static int image[16];
  registered = __cudaRegisterFatBinary (image);
}

extern void ask (void);
__attribute__ ((visibility ("default"))) void
ask (void)
{
  void *block = NULL;
  const int allocated = cudaMalloc (&block, 1 << 20);
  const int freed = cudaFree (block);
  int device = -1;
  printf ("registered %s, malloc %d %s, made up %d, free %d, without space %d %d\n",
          registered != 99 ? "outside" : "inside", allocated, block != NULL ? "block" : "nothing",
          cudaMadeUp (), freed, cudaGetDevice (&device), dry_linked_neighbour ());
}

#ifndef MODULE
int
main (int count, char **arguments)
{
  ask ();
  if (count == 1)
    return 0;
  void *module = dlopen (arguments[1], RTLD_NOW);
  void (*function) (void) = NULL;
  if (module != NULL)
    *(void **) &function = dlsym (module, "ask");
  if (function != NULL)
    function ();
  return function == NULL;
}
#endif
