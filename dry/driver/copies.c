/* copies.c - memset and memcpy of the stand-in driver.
 *
 * Every call is work on a stream. A copy from or to pageable host memory behaves as the reference
 * manual says: the source is read before the call returns, the destination is written before the
 * call returns. An access to a byte that the device may not use is an illegal access.
 *
 * In dry runs no bytes stand behind device memory: it reads as zeros, and what is written to it is
 * dropped, but for small copies from the host (remembered.c). Host memory of every kind is real. A page that is zero already is left untouched, so that
 * memory the program has not used stays unused.
 */
#include "config.h"

#include <string.h>

#include "dry/driver/areas.h"
#include "dry/driver/calls.h"
#include "dry/driver/copies.h"
#include "dry/driver/mode.h"
#include "dry/driver/remembered.h"
#include "dry/replay/replay.h"

/* ---- the work */

/* TRUE if a dry run keeps no bytes at @address. */
static gboolean
is_unbacked (guint64 address)
{
  return !gemem_driver.mode->backed && gemem_driver_is_device_address (address);
}

#define PAGE 4096

/* Makes host memory zero; reads it first, since the kernel shows one page of zeros for all that is
 * untouched. */
static void
clear (guint8 *to, guint64 size)
{
  static const guint8 zeros[PAGE];

  for (guint64 done = 0, here; done < size; done += here)
    {
      here = MIN (size - done, PAGE - (guintptr) (to + done) % PAGE);
      if (memcmp (to + done, zeros, here) != 0)
        memset (to + done, 0, here);
    }
}

/* For work on [@address, @address + @size) of a device without bytes: TRUE, or the work has failed. */
static gboolean
check_unbacked (const DriverWork *work, const DriverDevice *device, guint64 address,
                const char *verb)
{
  guint64 wrong;

  if (gemem_driver_may_use (device, address, work->size, &wrong))
    return TRUE;
  gemem_driver_fault (work, CUDA_ERROR_ILLEGAL_ADDRESS,
                      "%s 0x%" G_GINT64_MODIFIER "x, which is not mapped", verb, wrong);
  return FALSE;
}

void
gemem_driver_run_memset (DriverWork *work)
{
  guint64 done = 0, together;

  if (is_unbacked (work->to))
    {
      if (check_unbacked (work, work->context->device, work->to, "writes"))
        {
          gemem_driver_forget (work->to, work->size);
          gemem_replay_fill (work->to, work->size, work->value, work->unit);
        }
      return;
    }

  while (done < work->size)
    {
      guint8 *to = gemem_driver_translate (work->context->device, work->to + done,
                                           work->size - done, &together);
      if (to == NULL)
        {
          gemem_driver_fault (work, CUDA_ERROR_ILLEGAL_ADDRESS,
                              "writes 0x%" G_GINT64_MODIFIER "x, which is not mapped",
                              work->to + done);
          return;
        }
      if (work->value == 0)
        clear (to, together);
      else if (work->unit == 1)
        memset (to, (int) work->value, together);
      else /* aligned, because pieces are */
        for (guint64 i = 0; i < together; i += work->unit)
          memcpy (to + i, &work->value, work->unit);
      done += together;
    }
}

/* The bytes at @address, of a device or of the host: up to *@together contiguous ones. */
static guint8 *
side (const DriverWork *work, guint64 address, guint64 *together)
{
  guint64 want = *together;
  guint8 *bytes = gemem_driver_translate (NULL, address, want, together);

  return bytes != NULL || gemem_driver_is_device_address (address) ? bytes
                                                                   : (guint8 *) (guintptr) address;
}

/* A copy to the host in a dry run. */
static void
read_unbacked (guint8 *to, guint64 from, guint64 size)
{
  gboolean assumed;
  guint64 known;

  clear (to, size);
  gemem_driver_lose_unsaid ();
  known = gemem_driver_recall (from, size, to, &assumed);
  gemem_driver_note_value (to, size,
                           known < size ? GEMEM_DRY_UNKNOWN
                           : assumed    ? GEMEM_DRY_ASSUMED
                                        : GEMEM_DRY_KNOWN,
                           from);
}

/* A copy from or to device memory in a dry run. */
static void
run_unbacked_copy (DriverWork *work)
{
  gboolean from = is_unbacked (work->from), to = is_unbacked (work->to);

  if ((from && !check_unbacked (work, NULL, work->from, "reads"))
      || (to && !check_unbacked (work, NULL, work->to, "writes")))
    return;
  if (to && from)
    {
      gemem_driver_carry (work->to, work->from, work->size);
      gemem_replay_carry (work->to, work->from, work->size);
    }
  else if (to)
    {
      gemem_driver_remember_host (work->to, work->from, work->size);
      gemem_replay_host (work->to, (gconstpointer) (guintptr) work->from, work->size);
    }
  else
    read_unbacked ((guint8 *) (guintptr) work->to, work->from, work->size);
}

static void
run_copy (DriverWork *work)
{
  guint64 done = 0;

  if (is_unbacked (work->from) || is_unbacked (work->to))
    {
      run_unbacked_copy (work);
      return;
    }
  while (done < work->size)
    {
      guint64 at_source = work->size - done, at_target = at_source, together;
      const guint8 *from = work->staged != NULL ? work->staged + done
                                                : side (work, work->from + done, &at_source);
      guint8 *to = side (work, work->to + done, &at_target);

      if (from == NULL || to == NULL)
        {
          gemem_driver_fault (
              work, CUDA_ERROR_ILLEGAL_ADDRESS, "%s 0x%" G_GINT64_MODIFIER "x, which is not mapped",
              from == NULL ? "reads" : "writes", (from == NULL ? work->from : work->to) + done);
          return;
        }
      together = MIN (at_source, at_target);
      memmove (to, from, together);
      done += together;
    }
}

/* ---- calls */

static CUresult
fill (DriverEntry entry, CUdeviceptr address, guint32 value, guint unit, size_t count,
      CUstream handle)
{
  DriverWork work = { .run = gemem_driver_run_memset,
                      .node = CU_GRAPH_NODE_TYPE_MEMSET,
                      .to = address,
                      .value = value,
                      .unit = unit,
                      .size = (guint64) count * unit };
  DriverDevice *device;
  gboolean ok;

  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  OWN_STREAM (handle);
  if (address % unit != 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "0x%llx is not aligned to %u", address,
                                unit);
  if (count == 0)
    return CUDA_SUCCESS;
  if (gemem_driver.mode->lenient
      && stream->capture != NULL) /* nothing is written now, wherever that is */
    {
      gemem_driver_enqueue (stream, 0, &work);
      return CUDA_SUCCESS;
    }
  if (!gemem_driver_is_device_address (address) && gemem_driver_area_at (address) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "0x%llx was never an address of a device",
                                address);
  device = gemem_driver_context ()->device;
  gemem_driver_wait_as_device (device, GEMEM_CALL_MEMSET);
  ok = gemem_device_memset (gemem_driver_enter_device (device), address, (guint8) value, work.size,
                            0);
  gemem_driver_leave_device (device);
  if (!ok)
    return CUDA_ERROR_UNKNOWN; /* injected fault */
  gemem_driver_enqueue (stream, gemem_driver_work_ns (work.size), &work);
  return CUDA_SUCCESS;
}

/* Defines both forms of a memset, for both kinds of default stream. */
#define MEMSET(symbol, type, unit) \
  CUresult CUDAAPI symbol##_v2 (CUdeviceptr address, type value, size_t count) \
  { \
    return fill (ENTRY_##symbol##_v2, address, value, unit, count, NULL); \
  } \
  CUresult CUDAAPI symbol##_v2_ptds (CUdeviceptr address, type value, size_t count) \
  { \
    return fill (ENTRY_##symbol##_v2_ptds, address, value, unit, count, CU_STREAM_PER_THREAD); \
  } \
  CUresult CUDAAPI symbol##Async (CUdeviceptr address, type value, size_t count, CUstream stream) \
  { \
    return fill (ENTRY_##symbol##Async, address, value, unit, count, stream); \
  } \
  CUresult CUDAAPI symbol##Async_ptsz (CUdeviceptr address, type value, size_t count, \
                                       CUstream stream) \
  { \
    return fill (ENTRY_##symbol##Async_ptsz, address, value, unit, count, \
                 gemem_driver_per_thread (stream)); \
  }

MEMSET (cuMemsetD8, unsigned char, 1)
MEMSET (cuMemsetD16, unsigned short, 2)
MEMSET (cuMemsetD32, unsigned int, 4)

/* TRUE for host memory unknown to the driver. */
static gboolean
is_pageable (guint64 address)
{
  return !gemem_driver_is_device_address (address) && gemem_driver_area_at (address) == NULL;
}

typedef enum
{
  HOST_NEITHER = 0,
  HOST_TO = 1,
  HOST_FROM = 2,
  HOST_ANY = 4, /* the addresses tell */
} HostSides;

/* In a call: copies @size bytes on a stream of the current context; @host: which side may be host
 * memory that the driver does not know. */
static CUresult
put_copy (guint64 to, guint64 from, size_t size, HostSides host, gboolean wait, CUstream handle)
{
  DriverWork work = {
    .run = run_copy, .node = CU_GRAPH_NODE_TYPE_MEMCPY, .to = to, .from = from, .size = size
  };
  OWN_STREAM (handle);
  if (size == 0)
    return CUDA_SUCCESS;
  if (to == 0 || from == 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "address 0");
  if (host != HOST_ANY
      && ((is_pageable (to) && host != HOST_TO) || (is_pageable (from) && host != HOST_FROM)))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "an address that was never one of a device");
  if (is_pageable (from) && !gemem_driver.mode->at_once)
    {
      work.staged = g_malloc (size);
      memcpy (work.staged, (gconstpointer) (guintptr) from, size);
    }
  gemem_driver_enqueue (stream, gemem_driver_work_ns (size), &work);
  if (wait || is_pageable (to))
    gemem_driver_wait_stream (stream);
  return gemem_driver_context ()->lost;
}

CUresult
gemem_driver_copy (guint64 to, guint64 from, guint64 size, gboolean wait, CUstream stream)
{
  return put_copy (to, from, size, HOST_ANY, wait, stream);
}

static CUresult
copy (DriverEntry entry, guint64 to, guint64 from, size_t size, HostSides host, gboolean wait,
      CUstream handle)
{
  gemem_driver_settle (to, from, size);
  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  return put_copy (to, from, size, host, wait, handle);
}

#define MEMCPY(symbol, suffix, to_type, from_type, host) \
  CUresult CUDAAPI symbol##suffix (to_type to, from_type from, size_t size) \
  { \
    return copy (ENTRY_##symbol##suffix, (guint64) to, (guint64) from, size, host, TRUE, NULL); \
  } \
  CUresult CUDAAPI symbol##suffix##_ptds (to_type to, from_type from, size_t size) \
  { \
    return copy (ENTRY_##symbol##suffix##_ptds, (guint64) to, (guint64) from, size, host, TRUE, \
                 CU_STREAM_PER_THREAD); \
  } \
  CUresult CUDAAPI symbol##Async##suffix (to_type to, from_type from, size_t size, \
                                          CUstream stream) \
  { \
    return copy (ENTRY_##symbol##Async##suffix, (guint64) to, (guint64) from, size, host, FALSE, \
                 stream); \
  } \
  CUresult CUDAAPI symbol##Async##suffix##_ptsz (to_type to, from_type from, size_t size, \
                                                 CUstream stream) \
  { \
    return copy (ENTRY_##symbol##Async##suffix##_ptsz, (guint64) to, (guint64) from, size, host, \
                 FALSE, gemem_driver_per_thread (stream)); \
  }

MEMCPY (cuMemcpy, , CUdeviceptr, CUdeviceptr, HOST_ANY)
MEMCPY (cuMemcpyHtoD, _v2, CUdeviceptr, const void *, HOST_FROM)
MEMCPY (cuMemcpyDtoH, _v2, void *, CUdeviceptr, HOST_TO)
MEMCPY (cuMemcpyDtoD, _v2, CUdeviceptr, CUdeviceptr, HOST_NEITHER)
