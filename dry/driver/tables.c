/* tables.c - see tables.h.
 *
 * cuBLASLt 13.1 and cuFFT 11.3.3, 12.0 and 12.3 keep under the number of a context what belongs to it.
 */
#include "config.h"

#include <pthread.h>
#include <string.h>

#include "dry/driver/foreign.h"
#include "dry/driver/tables.h"

#define TABLE_SIZE 32 /* entries; no later one is called of those that are known */

static CUresult
no_function (void)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult
number_of_context (CUcontext context, guint64 *number)
{
  *number = (guintptr) context;
  return CUDA_SUCCESS;
}

/* Each function of a module, by which cuFFT finds the one of its modules; how many they are, which it looks at, too. */
static unsigned
for_each_function (G_GNUC_UNUSED CUcontext context, CUmodule module,
                   void (*visit) (void *data, CUfunction function), void *data)
{
  g_autofree CUfunction *functions = NULL;
  unsigned n = 0;

  if (cuModuleGetFunctionCount (&n, module) != CUDA_SUCCESS)
    return 0;
  functions = g_new0 (CUfunction, n + 1);
  gemem_dry_within (GEMEM_DRY_MATHEMATICS, 1); /* they are the caller's, not this library's */
  const CUresult result = cuModuleEnumerateFunctions (functions, n, module);
  gemem_dry_within (GEMEM_DRY_MATHEMATICS, -1);
  if (result != CUDA_SUCCESS)
    return 0;
  for (unsigned i = 0; i < n; i++)
    visit (data, functions[i]);
  return n;
}

static struct
{
  CUuuid id;
  guint place;
  void (*function) (void);
  gconstpointer table[TABLE_SIZE]; /* its size in bytes, then functions */
} tables[] = {
  { { "\x42\xd8\x5a\x81\x23\xf6\xcb\x47\x82\x98\xf6\xe7\x8a\x3a\xec\xdc" },
    2,
    (void (*) (void)) cuCtxGetCurrent,
    { NULL } },
  { { "\x21\x31\x8c\x60\x97\x14\x32\x48\x8c\xa6\x41\xff\x73\x24\xc8\xf2" },
    4,
    (void (*) (void)) number_of_context,
    { NULL } },
  { { "\x6e\x16\x3f\xbe\xb9\x58\x44\x4d\x83\x5c\xe1\x82\xaf\xf1\x99\x1e" },
    7,
    (void (*) (void)) for_each_function,
    { NULL } },
  { { { 0 } }, 1, (void (*) (void)) no_function, { NULL } }, /* the empty one */
};

static void
fill_tables (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (tables); i++)
    {
      tables[i].table[0] = GSIZE_TO_POINTER (sizeof tables[i].table);
      for (guint k = 1; k < TABLE_SIZE; k++)
        tables[i].table[k] = (gconstpointer) no_function;
      tables[i].table[tables[i].place] = (gconstpointer) tables[i].function;
    }
}

static const void *
table (guint i)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;

  pthread_once (&once, fill_tables);
  return tables[i].table;
}

const void *
gemem_driver_table (const CUuuid *id)
{
  for (guint i = 0; i < G_N_ELEMENTS (tables) - 1; i++)
    if (memcmp (&tables[i].id, id, sizeof *id) == 0)
      return table (i);
  return NULL;
}

const void *
gemem_driver_empty_table (void)
{
  return table (G_N_ELEMENTS (tables) - 1);
}
