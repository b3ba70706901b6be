/* driver.c - the state of the stand-in driver (driver.h): its lock and clock, the names of its functions, the current contexts.
 */
#include "config.h"

#include <pthread.h>
#include <time.h>

#include "dry/driver/driver.h"

DriverState gemem_driver;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

pthread_mutex_t *
gemem_driver_lock (void)
{
  pthread_mutex_lock (&mutex);
  return &mutex;
}

void
gemem_driver_outside (void (*function) (gpointer data), gpointer data)
{
  const DriverEntry entry = gemem_driver.entry;

  pthread_mutex_unlock (&mutex);
  function (data);
  pthread_mutex_lock (&mutex);
  gemem_driver.entry = entry;
}

guint64
gemem_driver_host_now (void)
{
  struct timespec time;
  clock_gettime (CLOCK_MONOTONIC, &time);
  return (guint64) time.tv_sec * 1000000000 + (guint64) time.tv_nsec;
}

/* ---- functions of the program */

void
gemem_driver_call_later (DriverCallback callback)
{
  if (gemem_driver.callbacks == NULL)
    gemem_driver.callbacks = g_array_new (FALSE, FALSE, sizeof (DriverCallback));
  g_array_append_val (gemem_driver.callbacks, callback);
}

static void
call_back (GArray *callbacks)
{
  for (guint i = 0; i < callbacks->len; i++)
    {
      const DriverCallback *each = &g_array_index (callbacks, DriverCallback, i);
      if (each->of_stream != NULL)
        each->of_stream (each->stream, CUDA_SUCCESS, each->data);
      else if (each->function != NULL)
        each->function (each->data);
    }
  g_array_unref (callbacks);
}

/* With real time, returns only when the host's clock has reached the driver's. */
void
gemem_driver_end (pthread_mutex_t **lock)
{
  GArray *callbacks;

  while (gemem_driver.began != 0
         && gemem_driver_host_now () - gemem_driver.began < gemem_driver.now)
    ;
  callbacks = g_steal_pointer (&gemem_driver.callbacks);
  pthread_mutex_unlock (*lock);
  if (callbacks != NULL)
    call_back (callbacks);
}

/* ---- names */

static const struct
{
  const char *name, *symbol;
} entries[ENTRY_COUNT] = {
#define DRIVER_ENTRY(name, symbol, version) [ENTRY_##symbol] = { #name, #symbol },
#define DRIVER_ENTRY_PER_THREAD(name, symbol, version) [ENTRY_##symbol] = { #name, #symbol },
#include "dry/driver/entry-points.def"
};

const char *
gemem_driver_entry_name (DriverEntry entry)
{
  return entries[entry].symbol;
}

const char *
gemem_driver_entry_base (DriverEntry entry)
{
  return entries[entry].name;
}

/* ---- devices */

DriverDevice *
gemem_driver_device (CUdevice device)
{
  return device >= 0 && (guint) device < gemem_driver.n_devices ? &gemem_driver.devices[device]
                                                                : NULL;
}

GememDevice *
gemem_driver_enter_device (DriverDevice *device)
{
  device->memory->now = gemem_driver.now;
  return device->memory;
}

void
gemem_driver_leave_device (DriverDevice *device)
{
  if (device->memory->now > gemem_driver.now)
    gemem_driver.now = device->memory->now;
}

/* ---- the current context of a thread */

#define DEPTH 64 /* of the stack of a thread */

static __thread DriverContext *stack[DEPTH];
static __thread guint depth;

/* Not inlined: the compiler would warn that the result can be NULL, and does not know that
 * callers that asked for a context have one. */
__attribute__ ((noinline)) DriverContext *
gemem_driver_context (void)
{
  return depth > 0 ? stack[depth - 1] : NULL;
}

gboolean
gemem_driver_context_push (DriverContext *context)
{
  if (depth == DEPTH)
    return FALSE;
  stack[depth++] = context;
  return TRUE;
}

void
gemem_driver_context_pop (void)
{
  if (depth > 0)
    depth--;
}
