/* copies.c - memcpy and memset of the CUDA runtime of dry runs, with one, two and three dimensions,
 * between devices, and of the program's symbols.
 *
 * All of them become copies and fills of rows by the driver: copies between parts of the host are
 * real, what is read from a device is zero. Rows that lie one behind the other are one copy.
 * cudaMemcpyKind is checked, then the addresses tell.
 */
#include "config.h"

#include <execinfo.h>

#include "dry/driver/foreign.h"
#include "dry/replay/replay.h"
#include "dry/runtime/runtime.h"

/* ---- rows */

/* The copy of @size bytes; either side may be any memory. @wait: the copy is done when
 * the call returns. */
static int
copy_bytes (void *to, const void *from, size_t size, int kind, CUstream stream, gboolean wait)
{
  const CUdeviceptr target = (guintptr) to, source = (guintptr) from;

  if (kind < RUNTIME_HOST_TO_HOST || kind > RUNTIME_BY_ADDRESS)
    return RUNTIME_INVALID_COPY_DIRECTION;
  if (size == 0)
    return RUNTIME_SUCCESS;
  if (to == NULL || from == NULL)
    return RUNTIME_INVALID_VALUE;
  if (wait)
    return (int) (stream == CU_STREAM_PER_THREAD ? cuMemcpy_ptds (target, source, size)
                                                 : cuMemcpy (target, source, size));
  return (int) cuMemcpyAsync (target, source, size, stream);
}

/* Whether the call came from a library of NVIDIA's; the recorder may stand between. */
static gboolean
is_of_library (void)
{
  gpointer frames[7];
  const int n = backtrace (frames, G_N_ELEMENTS (frames));

  for (int i = 1; i < n; i++)
    if (gemem_dry_maker (frames[i]) == GEMEM_DRY_MATHEMATICS)
      return TRUE;
  return FALSE;
}

/* What such a library copies from the host it worked out from what it read of the device, as zero.
 */
static int
copy_for (void *to, const void *from, size_t size, int kind, CUstream stream, gboolean wait)
{
  const int result = copy_bytes (to, from, size, kind, stream, wait);

  if (size > 0 && gemem_replay_is_on () && is_of_library ())
    gemem_replay_lost ((guintptr) to, size);
  return result;
}

/* A block of rows in memory: @slice bytes from one layer to the next. */
typedef struct
{
  guint8 *address;
  size_t pitch, slice;
} Rows;

/* Copies @extent.depth layers of @extent.height rows of @extent.width bytes. */
static int
copy_rows (Rows to, Rows from, RuntimeExtent extent, int kind, CUstream stream, gboolean wait)
{
  int result = RUNTIME_SUCCESS;

  if (extent.width == 0 || extent.height == 0 || extent.depth == 0)
    return copy_bytes (NULL, NULL, 0, kind, stream, wait);
  if (to.pitch < extent.width || from.pitch < extent.width)
    {
      if (extent.height > 1 || extent.depth > 1)
        return RUNTIME_INVALID_PITCH;
    }
  else if (to.pitch == extent.width && from.pitch == extent.width)
    {
      extent.width *= extent.height;
      extent.height = 1;
    }
  for (size_t layer = 0; layer < extent.depth && result == RUNTIME_SUCCESS; layer++)
    for (size_t row = 0; row < extent.height && result == RUNTIME_SUCCESS; row++)
      result = copy_bytes (to.address + layer * to.slice + row * to.pitch,
                           from.address + layer * from.slice + row * from.pitch, extent.width, kind,
                           stream, wait);
  return result;
}

static int
fill (void *memory, int value, size_t size, CUstream stream, gboolean wait)
{
  if (size == 0)
    return RUNTIME_SUCCESS;
  if (!wait)
    return (int) cuMemsetD8Async ((guintptr) memory, (guint8) value, size, stream);
  return (int) (stream == CU_STREAM_PER_THREAD
                    ? cuMemsetD8_v2_ptds ((guintptr) memory, (guint8) value, size)
                    : cuMemsetD8_v2 ((guintptr) memory, (guint8) value, size));
}

static int
fill_rows (Rows to, int value, RuntimeExtent extent, CUstream stream, gboolean wait)
{
  int result = RUNTIME_SUCCESS;

  if (to.pitch == extent.width)
    {
      extent.width *= extent.height;
      extent.height = 1;
    }
  for (size_t layer = 0; layer < extent.depth && result == RUNTIME_SUCCESS; layer++)
    for (size_t row = 0; row < extent.height && result == RUNTIME_SUCCESS; row++)
      result = fill (to.address + layer * to.slice + row * to.pitch, value, extent.width, stream,
                     wait);
  return result;
}

#define ROWS(memory, pitch) ((Rows){ (guint8 *) (guintptr) (memory), pitch, 0 })
#define PITCHED(place) ((Rows){ (place).address, (place).pitch, (place).pitch * (place).height })
#define FLAT(width, height) ((RuntimeExtent){ width, height, 1 })

/* Defines a copy or fill that waits, on the default stream of each kind, and its form on a stream:
 * @call uses stream and wait. */
#define BOTH(name, parameters, async_parameters, call) \
  RUNTIME (name, parameters) \
  { \
    const CUstream stream = NULL; \
    const gboolean wait = TRUE; \
    int result = gemem_runtime_ready (); \
    return gemem_runtime_result (result == RUNTIME_SUCCESS ? (call) : result); \
  } \
  RUNTIME (name##_ptds, parameters) \
  { \
    const CUstream stream = CU_STREAM_PER_THREAD; \
    const gboolean wait = TRUE; \
    int result = gemem_runtime_ready (); \
    return gemem_runtime_result (result == RUNTIME_SUCCESS ? (call) : result); \
  } \
  RUNTIME (name##Async, async_parameters) \
  { \
    const gboolean wait = FALSE; \
    int result = gemem_runtime_ready (); \
    return gemem_runtime_result (result == RUNTIME_SUCCESS ? (call) : result); \
  } \
  RUNTIME (name##Async_ptsz, async_parameters) \
  { \
    const gboolean wait = FALSE; \
    int result = gemem_runtime_ready (); \
    stream = runtime_per_thread (stream); \
    return gemem_runtime_result (result == RUNTIME_SUCCESS ? (call) : result); \
  }

/* ---- memory */

BOTH (cudaMemcpy, (void *to, const void *from, size_t size, int kind),
      (void *to, const void *from, size_t size, int kind, CUstream stream),
      copy_for (to, from, size, kind, stream, wait))
BOTH (cudaMemset, (void *memory, int value, size_t size),
      (void *memory, int value, size_t size, CUstream stream),
      fill (memory, value, size, stream, wait))

BOTH (cudaMemcpy2D,
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
       int kind),
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
       int kind, CUstream stream),
      copy_rows (ROWS (to, to_pitch), ROWS (from, from_pitch), FLAT (width, height), kind, stream,
                 wait))
BOTH (cudaMemset2D, (void *memory, size_t pitch, int value, size_t width, size_t height),
      (void *memory, size_t pitch, int value, size_t width, size_t height, CUstream stream),
      fill_rows (ROWS (memory, pitch), value, FLAT (width, height), stream, wait))
BOTH (cudaMemset3D, (RuntimePitched memory, int value, RuntimeExtent extent),
      (RuntimePitched memory, int value, RuntimeExtent extent, CUstream stream),
      fill_rows (PITCHED (memory), value, extent, stream, wait))

static Rows
part (RuntimePitched memory, RuntimePosition position)
{
  Rows rows = PITCHED (memory);
  rows.address += position.z * rows.slice + position.y * rows.pitch + position.x;
  return rows;
}

static int
copy_3d (const RuntimeCopy3D *copy, CUstream stream, gboolean wait)
{
  if (copy == NULL)
    return RUNTIME_INVALID_VALUE;
  if (copy->to_array != NULL || copy->from_array != NULL)
    return RUNTIME_NOT_SUPPORTED;
  return copy_rows (part (copy->to, copy->to_position), part (copy->from, copy->from_position),
                    copy->extent, copy->kind, stream, wait);
}

BOTH (cudaMemcpy3D, (const RuntimeCopy3D *copy), (const RuntimeCopy3D *copy, CUstream stream),
      copy_3d (copy, stream, wait))

/* ---- between devices: their addresses are in one address space */

BOTH (cudaMemcpyPeer, (void *to, int to_device, const void *from, int from_device, size_t size),
      (void *to, int to_device, const void *from, int from_device, size_t size, CUstream stream),
      copy_bytes (to, from, size, RUNTIME_DEVICE_TO_DEVICE, stream, wait))

static int
copy_3d_peer (const RuntimePeerCopy3D *copy, CUstream stream, gboolean wait)
{
  RuntimeCopy3D plain;

  if (copy == NULL)
    return RUNTIME_INVALID_VALUE;
  plain = (RuntimeCopy3D){ .from_array = copy->from_array,
                           .from_position = copy->from_position,
                           .from = copy->from,
                           .to_array = copy->to_array,
                           .to_position = copy->to_position,
                           .to = copy->to,
                           .extent = copy->extent,
                           .kind = RUNTIME_DEVICE_TO_DEVICE };
  return copy_3d (&plain, stream, wait);
}

BOTH (cudaMemcpy3DPeer, (const RuntimePeerCopy3D *copy),
      (const RuntimePeerCopy3D *copy, CUstream stream), copy_3d_peer (copy, stream, wait))

/* ---- many copies at once: 12 has one parameter more */

static int
copy_many (void *const *to, const void *const *from, const size_t *sizes, size_t count,
           CUstream stream)
{
  int result = to != NULL && from != NULL && sizes != NULL ? RUNTIME_SUCCESS
                                                           : RUNTIME_INVALID_VALUE;

  for (size_t i = 0; i < count && result == RUNTIME_SUCCESS; i++)
    result = copy_bytes (to[i], from[i], sizes[i], RUNTIME_BY_ADDRESS, stream, FALSE);
  return result;
}

/* The stream of a batch: in 12 it comes after the place for the index of what failed. */
static CUstream
batch_stream (void *eighth, CUstream ninth)
{
  return gemem_runtime_version () >= 13000 ? (CUstream) eighth : ninth;
}

RUNTIME_CALL (cudaMemcpyBatchAsync,
              (void *const *to, const void *const *from, const size_t *sizes, size_t count,
               const void *attributes, const size_t *attribute_indices, size_t n_attributes,
               void *failed_or_stream, CUstream stream),
              copy_many (to, from, sizes, count, batch_stream (failed_or_stream, stream)))
RUNTIME_CALL (cudaMemcpyBatchAsync_ptsz,
              (void *const *to, const void *const *from, const size_t *sizes, size_t count,
               const void *attributes, const size_t *attribute_indices, size_t n_attributes,
               void *failed_or_stream, CUstream stream),
              copy_many (to, from, sizes, count,
                         runtime_per_thread (batch_stream (failed_or_stream, stream))))

/* ---- symbols */

/* The address of @size bytes at @offset of a symbol; NULL if they are not inside it. */
static int
part_of_symbol (const void *symbol, size_t size, size_t offset, void **place)
{
  CUdeviceptr address = 0;
  size_t all = 0;
  int result = gemem_runtime_symbol (symbol, &address, &all);

  if (result == RUNTIME_SUCCESS && (offset > all || size > all - offset))
    result = RUNTIME_INVALID_VALUE;
  *place = (void *) (guintptr) (address + offset);
  return result;
}

static int
copy_to_symbol (const void *symbol, const void *from, size_t size, size_t offset, int kind,
                CUstream stream, gboolean wait)
{
  void *to;
  int result = part_of_symbol (symbol, size, offset, &to);
  return result == RUNTIME_SUCCESS ? copy_bytes (to, from, size, kind, stream, wait) : result;
}

static int
copy_from_symbol (void *to, const void *symbol, size_t size, size_t offset, int kind,
                  CUstream stream, gboolean wait)
{
  void *from;
  int result = part_of_symbol (symbol, size, offset, &from);
  return result == RUNTIME_SUCCESS ? copy_bytes (to, from, size, kind, stream, wait) : result;
}

BOTH (cudaMemcpyToSymbol,
      (const void *symbol, const void *from, size_t size, size_t offset, int kind),
      (const void *symbol, const void *from, size_t size, size_t offset, int kind, CUstream stream),
      copy_to_symbol (symbol, from, size, offset, kind, stream, wait))
BOTH (cudaMemcpyFromSymbol, (void *to, const void *symbol, size_t size, size_t offset, int kind),
      (void *to, const void *symbol, size_t size, size_t offset, int kind, CUstream stream),
      copy_from_symbol (to, symbol, size, offset, kind, stream, wait))

static int
symbol_address (void **place, const void *symbol)
{
  CUdeviceptr address = 0;
  size_t size;
  int result = gemem_runtime_symbol (symbol, &address, &size);

  if (place == NULL)
    return RUNTIME_INVALID_VALUE;
  if (result == RUNTIME_SUCCESS)
    *place = (void *) (guintptr) address;
  return result;
}

static int
symbol_size (size_t *place, const void *symbol)
{
  CUdeviceptr address;
  return place != NULL ? gemem_runtime_symbol (symbol, &address, place) : RUNTIME_INVALID_VALUE;
}

RUNTIME_CALL (cudaGetSymbolAddress, (void **place, const void *symbol),
              symbol_address (place, symbol))
RUNTIME_CALL (cudaGetSymbolSize, (size_t * place, const void *symbol), symbol_size (place, symbol))
