/* calls.h - how a function of the driver begins (calls.c). */
#pragma once

#include "dry/driver/driver.h"

typedef enum
{
  NEEDS_NOTHING,
  NEEDS_INIT,
  NEEDS_CONTEXT,
  RETURNS, /* releases an object: needs cuInit, and works in a lost context too */
} DriverNeeds;

/* Takes the lock until the end of the function; counts the call, fails it if $GEMEM_DRIVER_FAIL
 * says so, and checks its preconditions. */
#define DRIVER_BEGIN(number, needs) \
  __attribute__ ((cleanup (gemem_driver_end))) \
  pthread_mutex_t *lock G_GNUC_UNUSED = gemem_driver_lock (); \
  CUresult begun = gemem_driver_begin (number, needs); \
  if (begun != CUDA_SUCCESS) \
  return begun
#define BEGIN(symbol, needs) DRIVER_BEGIN (ENTRY_##symbol, needs)

CUresult gemem_driver_begin (DriverEntry entry, DriverNeeds needs);
/* The result of a call that was carried out: the error of the current context, if any. */
CUresult gemem_driver_context_state (void);
/* Reads the environment, once, before any other call. */
void gemem_driver_read_environment (void);
/* Says that the environment is wrong: the driver does not start. */
void gemem_driver_complain (const char *variable, const char *value, const char *message);

/* In a function of the driver: it returns if there is no place for its result, or no such device. */
#define PLACE(pointer) \
  if ((pointer) == NULL) \
  return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no place for the result")
#define DEVICE(number) \
  DriverDevice *device = gemem_driver_device (number); \
  if (device == NULL) \
  return gemem_driver_misuse (CUDA_ERROR_INVALID_DEVICE, "device %d, of %u", number, \
                              gemem_driver.n_devices)
