/* hooks.c - the wrappers that programs call instead of CUDA's functions, one for each line of
 * hooks.def, and their table (recorder.h).
 *
 * Each wrapper passes its entry in the table and its caller to the function of its shape (calls.c).
 */
#include "config.h"

#include "record/calls.h"

enum
{
#define HOOK(name, shape, per_thread, base, since) NUMBER_##name,
#include "record/hooks.def"
#undef HOOK
};

#define DEFINE(name, shape, parameters, ...) \
  EXPORT int name parameters; \
  __attribute__ ((noinline)) int name parameters \
  { \
    return gemem_recorder_call_##shape (&gemem_recorder_hooks[NUMBER_##name], \
                                        __builtin_return_address (0), ##__VA_ARGS__); \
  }

#define ALLOC_AS(name) DEFINE (name, ALLOC, (Address * address, size_t size), address, size)
#define ALLOC_PITCH_AS(name) \
  DEFINE (name, ALLOC_PITCH, (Address * address, size_t * pitch, size_t width, size_t height), \
          address, pitch, width, height)
#define ALLOC_PITCH_ELEMENT_AS(name) \
  DEFINE (name, ALLOC_PITCH_ELEMENT, \
          (Address * address, size_t * pitch, size_t width, size_t height, unsigned element), \
          address, pitch, width, height, element)
#define ALLOC_3D_AS(name) DEFINE (name, ALLOC_3D, (Pitched * place, Extent extent), place, extent)
#define ALLOC_MANAGED_AS(name) \
  DEFINE (name, ALLOC_MANAGED, (Address * address, size_t size, unsigned flags), address, size, \
          flags)
#define ALLOC_HOST_AS(name) \
  DEFINE (name, ALLOC_HOST, (Address * address, size_t size), address, size)
#define ALLOC_HOST_FLAGS_AS(name) \
  DEFINE (name, ALLOC_HOST_FLAGS, (Address * address, size_t size, unsigned flags), address, size, \
          flags)
#define ALLOC_ASYNC_AS(name) \
  DEFINE (name, ALLOC_ASYNC, (Address * address, size_t size, Handle stream), address, size, stream)
#define ALLOC_POOL_AS(name) \
  DEFINE (name, ALLOC_POOL, (Address * address, size_t size, Handle pool, Handle stream), address, \
          size, pool, stream)
#define REGISTER_AS(name) \
  DEFINE (name, REGISTER, (Address address, size_t size, unsigned flags), address, size, flags)
#define FREE_AS(name) DEFINE (name, FREE, (Address address), address)
#define FREE_ASYNC_AS(name) \
  DEFINE (name, FREE_ASYNC, (Address address, Handle stream), address, stream)
#define CREATE_AS(name) \
  DEFINE (name, CREATE, \
          (Handle * handle, size_t size, const Properties *properties, unsigned long long flags), \
          handle, size, properties, flags)
#define RETAIN_AS(name) DEFINE (name, RETAIN, (Handle * handle, Address address), handle, address)
#define RELEASE_AS(name) DEFINE (name, RELEASE, (Handle handle), handle)
#define MAP_AS(name) \
  DEFINE (name, MAP, \
          (Address address, size_t size, size_t offset, Handle handle, unsigned long long flags), \
          address, size, offset, handle, flags)
#define UNMAP_AS(name) DEFINE (name, UNMAP, (Address address, size_t size), address, size)
#define POOL_CREATE_AS(name) \
  DEFINE (name, POOL_CREATE, (Handle * pool, const PoolProperties *what), pool, what)
#define POOL_DESTROY_AS(name) DEFINE (name, POOL_DESTROY, (Handle pool), pool)
#define POOL_ATTRIBUTE_AS(name) \
  DEFINE (name, POOL_ATTRIBUTE, (Handle pool, int attribute, const void *value), pool, attribute, \
          value)
#define POOL_TRIM_AS(name) DEFINE (name, POOL_TRIM, (Handle pool, size_t keep), pool, keep)
#define POOL_DEFAULT_AS(name) DEFINE (name, POOL_DEFAULT, (Handle * pool, int device), pool, device)
#define POOL_SET_AS(name) DEFINE (name, POOL_SET, (int device, Handle pool), device, pool)
#define POOL_OF_AS(name) \
  DEFINE (name, POOL_OF, (Handle * pool, const Location *location, int kind), pool, location, kind)
#define POOL_SET_OF_AS(name) \
  DEFINE (name, POOL_SET_OF, (const Location *location, int kind, Handle pool), location, kind, \
          pool)
#define STREAM_CREATE_AS(name) DEFINE (name, STREAM_CREATE, (Handle * stream), stream)
#define STREAM_CREATE_FLAGS_AS(name) \
  DEFINE (name, STREAM_CREATE_FLAGS, (Handle * stream, unsigned flags), stream, flags)
#define STREAM_CREATE_PRIORITY_AS(name) \
  DEFINE (name, STREAM_CREATE_PRIORITY, (Handle * stream, unsigned flags, int priority), stream, \
          flags, priority)
#define STREAM_DESTROY_AS(name) DEFINE (name, STREAM_DESTROY, (Handle stream), stream)
#define STREAM_SYNC_AS(name) DEFINE (name, STREAM_SYNC, (Handle stream), stream)
#define STREAM_QUERY_AS(name) DEFINE (name, STREAM_QUERY, (Handle stream), stream)
#define EVENT_QUERY_AS(name) DEFINE (name, EVENT_QUERY, (Handle event), event)
#define EVENT_SYNC_AS(name) DEFINE (name, EVENT_SYNC, (Handle event), event)
#define EVENT_RECORD_AS(name) \
  DEFINE (name, EVENT_RECORD, (Handle event, Handle stream), event, stream)
#define EVENT_RECORD_FLAGS_AS(name) \
  DEFINE (name, EVENT_RECORD_FLAGS, (Handle event, Handle stream, unsigned flags), event, stream, \
          flags)
#define EVENT_WAIT_AS(name) \
  DEFINE (name, EVENT_WAIT, (Handle stream, Handle event, unsigned flags), stream, event, flags)
#define EVENT_DESTROY_AS(name) DEFINE (name, EVENT_DESTROY, (Handle event), event)
#define DEVICE_SYNC_AS(name) DEFINE (name, DEVICE_SYNC, (void) )
#define CONTEXT_SYNC_AS(name) DEFINE (name, CONTEXT_SYNC, (Handle context), context)
#define DEVICE_RESET_AS(name) DEFINE (name, DEVICE_RESET, (void) )
#define PRIMARY_RESET_AS(name) DEFINE (name, PRIMARY_RESET, (int device), device)
#define PRIMARY_RELEASE_AS(name) DEFINE (name, PRIMARY_RELEASE, (int device), device)
#define CONTEXT_DESTROY_AS(name) DEFINE (name, CONTEXT_DESTROY, (Handle context), context)
#define ARRAY_AS(name) DEFINE (name, ARRAY, (Handle * handle, const Array *array), handle, array)
#define ARRAY_3D_AS(name) \
  DEFINE (name, ARRAY_3D, (Handle * handle, const Array3D *array), handle, array)
#define ARRAY_LEVELS_AS(name) \
  DEFINE (name, ARRAY_LEVELS, (Handle * handle, const Array3D *array, unsigned levels), handle, \
          array, levels)
#define MAP_ARRAY_AS(name) \
  DEFINE (name, MAP_ARRAY, (const void *list, unsigned count, Handle stream), list, count, stream)
#define NODE_ALLOC_AS(name) \
  DEFINE ( \
      name, NODE_ALLOC, \
      (Handle * node, Handle graph, const Handle *before, size_t count, AllocNode *parameters), \
      node, graph, before, count, parameters)
#define NODE_FREE_AS(name) \
  DEFINE (name, NODE_FREE, \
          (Handle * node, Handle graph, const Handle *before, size_t count, Address address), \
          node, graph, before, count, address)
#define NODE_AS(name) \
  DEFINE (name, NODE, \
          (Handle * node, Handle graph, const Handle *before, size_t count, Node *parameters), \
          node, graph, before, count, parameters)
#define NODE_EDGES_AS(name) \
  DEFINE (name, NODE_EDGES, \
          (Handle * node, Handle graph, const Handle *before, const void *edges, size_t count, \
           Node *parameters), \
          node, graph, before, edges, count, parameters)
#define IMPORT_POINTER_AS(name) \
  DEFINE (name, IMPORT_POINTER, (Address * address, Handle pool, const void *data), address, pool, \
          data)
#define IMPORT_HANDLE_AS(name) \
  DEFINE (name, IMPORT_HANDLE, (Handle * handle, const void *from, int kind), handle, from, kind)
#define PROC_ADDRESS_AS(name) \
  DEFINE (name, PROC_ADDRESS, \
          (const char *symbol, void **function, int version, unsigned long long flags), symbol, \
          function, version, flags)
#define PROC_ADDRESS_STATUS_AS(name) \
  DEFINE ( \
      name, PROC_ADDRESS_STATUS, \
      (const char *symbol, void **function, int version, unsigned long long flags, int *status), \
      symbol, function, version, flags, status)
#define ENTRY_POINT_AS(name) \
  DEFINE (name, ENTRY_POINT, \
          (const char *symbol, void **function, unsigned long long flags, int *status), symbol, \
          function, flags, status)
#define ENTRY_POINT_VERSION_AS(name) \
  DEFINE (name, ENTRY_POINT_VERSION, \
          (const char *symbol, void **function, unsigned version, unsigned long long flags, \
           int *status), \
          symbol, function, version, flags, status)

#define LAUNCH_AS(name) \
  DEFINE (name, LAUNCH, \
          (Handle kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
           unsigned block_y, unsigned block_z, unsigned shared, Handle stream, void **parameters, \
           void **extra), \
          kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters, \
          extra)
#define LAUNCH_COOPERATIVE_AS(name) \
  DEFINE (name, LAUNCH_COOPERATIVE, \
          (Handle kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
           unsigned block_y, unsigned block_z, unsigned shared, Handle stream, void **parameters), \
          kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters)
#define LAUNCH_EX_AS(name) \
  DEFINE (name, LAUNCH_EX, (const Launch *launch, Handle kernel, void **parameters, void **extra), \
          launch, kernel, parameters, extra)
#define LAUNCH_RUNTIME_AS(name) \
  DEFINE (name, LAUNCH_RUNTIME, \
          (const void *function, Dimensions grid, Dimensions block, void **parameters, \
           size_t shared, Handle stream), \
          function, grid, block, parameters, shared, stream)
#define LAUNCH_RUNTIME_EX_AS(name) \
  DEFINE (name, LAUNCH_RUNTIME_EX, \
          (const Launch *launch, const void *function, void **parameters), launch, function, \
          parameters)
#define HOST_FUNCTION_AS(name) \
  DEFINE (name, HOST_FUNCTION, (Handle stream, Handle function, void *data), stream, function, data)
#define COPY_TO_HOST_AS(name) \
  DEFINE (name, COPY_TO_HOST, (Address to, Address from, size_t size), to, from, size)
#define COPY_NOW_AS(name) \
  DEFINE (name, COPY_NOW, (Address to, Address from, size_t size, int kind), to, from, size, kind)

#define STREAM_WORDS_3_AS(name) \
  DEFINE (name, STREAM_WORDS_3, (Handle stream, uint64_t a, uint64_t b, uint64_t c), stream, a, b, \
          c)
#define WORDS_1_AS(name) DEFINE (name, WORDS_1, (uint64_t a, Handle stream), a, stream)
#define WORDS_3_AS(name) \
  DEFINE (name, WORDS_3, (uint64_t a, uint64_t b, uint64_t c, Handle stream), a, b, c, stream)
#define WORDS_4_AS(name) \
  DEFINE (name, WORDS_4, (uint64_t a, uint64_t b, uint64_t c, uint64_t d, Handle stream), a, b, c, \
          d, stream)
#define WORDS_5_AS(name) \
  DEFINE (name, WORDS_5, \
          (uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, Handle stream), a, b, c, d, \
          e, stream)
#define WORDS_7_AS(name) \
  DEFINE (name, WORDS_7, \
          (uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, \
           Handle stream), \
          a, b, c, d, e, f, g, stream)
#define WORDS_8_AS(name) \
  DEFINE (name, WORDS_8, \
          (uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, \
           uint64_t h, Handle stream), \
          a, b, c, d, e, f, g, h, stream)
#define NOW_3_AS(name) DEFINE (name, NOW_3, (uint64_t a, uint64_t b, uint64_t c), a, b, c)
#define NOW_5_AS(name) \
  DEFINE (name, NOW_5, (uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e), a, b, c, d, e)

#define HOOK(name, shape, per_thread, base, since) shape##_AS (name)
#include "record/hooks.def"
#undef HOOK

Hook gemem_recorder_hooks[] = {
#define HOOK(name, shape, per_thread, base, since) \
  { #name, base, since, per_thread, (void *) name, NULL },
#include "record/hooks.def"
#undef HOOK
};

const int gemem_recorder_hook_count = sizeof gemem_recorder_hooks / sizeof gemem_recorder_hooks[0];
