/* driver.c - queries the driver about the recorded process: current device and context, free
 * memory, names (recorder.h).
 *
 * Queries follow only a successful call of the process itself, so the driver is loaded and a
 * context exists; queries initialise and change nothing.  Without a driver (another kind of runtime
 * library), every device is device 0.
 */
#include "config.h"

#include <stddef.h>

#include "record/abi.h"
#include "record/recorder.h"

/* Each thread finds out for itself, which needs no lock; all find the same. */
static _Thread_local struct
{
  bool known;
  int (*context_device) (int *);
  int (*context) (Handle *);
  int (*memory_info) (size_t *, size_t *);
  int (*device_bytes) (size_t *, int);
  int (*device_name) (char *, int, int);
  int (*version) (int *);
  int (*is_capturing) (Handle, int *);
  int (*primary_state) (int, unsigned *, int *);
} driver __attribute__ ((tls_model ("initial-exec")));

static void
know_driver (void)
{
  if (driver.known)
    return;
  driver.context_device = (int (*) (int *)) gemem_recorder_driver_function ("cuCtxGetDevice");
  driver.context = (int (*) (Handle *)) gemem_recorder_driver_function ("cuCtxGetCurrent");
  driver.memory_info = (int (*) (size_t *, size_t *)) gemem_recorder_driver_function (
      "cuMemGetInfo_v2");
  driver.device_bytes = (int (*) (size_t *, int)) gemem_recorder_driver_function (
      "cuDeviceTotalMem_v2");
  driver.device_name = (int (*) (char *, int, int)) gemem_recorder_driver_function (
      "cuDeviceGetName");
  driver.version = (int (*) (int *)) gemem_recorder_driver_function ("cuDriverGetVersion");
  driver.is_capturing = (int (*) (Handle, int *)) gemem_recorder_driver_function (
      "cuStreamIsCapturing");
  driver.primary_state = (int (*) (int, unsigned *, int *)) gemem_recorder_driver_function (
      "cuDevicePrimaryCtxGetState");
  driver.known = true;
}

/* Writes the properties of device @number to the journal at its first use. */
static void
describe_device (unsigned number)
{
  JournalHeader *header = gemem_recorder_header ();
  uint64_t none = 0;
  size_t bytes = 0;
  int version = 0;

  if (number >= JOURNAL_MAX_DEVICES || driver.device_bytes == NULL
      || __atomic_load_n (&header->devices[number].bytes, __ATOMIC_RELAXED) != 0
      /* one thread does it; until then, and if there is no answer, the bytes are unknown */
      || !__atomic_compare_exchange_n (&header->devices[number].bytes, &none, UINT64_MAX, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return;
  if (driver.device_bytes (&bytes, (int) number) != 0)
    bytes = 0;
  if (driver.device_name != NULL && bytes != 0)
    driver.device_name (header->devices[number].name, sizeof header->devices[number].name - 1,
                        (int) number);
  if (driver.version != NULL && driver.version (&version) == 0)
    __atomic_store_n (&header->driver, (uint32_t) version, __ATOMIC_RELAXED);
  if (bytes != 0)
    __atomic_store_n (&header->devices[number].bytes, bytes, __ATOMIC_RELAXED);
}

uint16_t
gemem_recorder_current_device (void)
{
  int number = 0;

  know_driver ();
  if (driver.context_device == NULL || driver.context_device (&number) != 0 || number < 0)
    number = 0;
  describe_device ((unsigned) number);
  return (uint16_t) number;
}

uint16_t
gemem_recorder_device (int number)
{
  know_driver ();
  describe_device ((unsigned) number);
  return (uint16_t) number;
}

uint64_t
gemem_recorder_context (void)
{
  Handle context = NULL;

  know_driver ();
  return driver.context != NULL && driver.context (&context) == 0 ? (uint64_t) (uintptr_t) context
                                                                  : 0;
}

uint64_t
gemem_recorder_free_bytes (void)
{
  size_t left = 0, total = 0;

  know_driver ();
  return driver.memory_info != NULL && driver.memory_info (&left, &total) == 0 ? left : 0;
}

/* FALSE for the default stream, which cannot be captured. */
bool
gemem_recorder_is_capturing (Handle stream, bool per_thread)
{
  int status = 0;

  if (stream == NULL && per_thread)
    stream = (Handle) (uintptr_t) STREAM_PER_THREAD;
  if (stream == NULL || (uintptr_t) stream == STREAM_LEGACY)
    return false;
  know_driver ();
  return driver.is_capturing != NULL && driver.is_capturing (stream, &status) == 0 && status != 0;
}

bool
gemem_recorder_is_active (int device)
{
  unsigned flags = 0;
  int active = 1;

  know_driver ();
  return driver.primary_state == NULL || driver.primary_state (device, &flags, &active) != 0
         || active != 0;
}
