/* calls.h - one function per shape of calls (calls.c), with the entry of the hook, the caller's
 * address and the arguments of the call.  Results are those of CUDA.
 */
#pragma once

#include "record/abi.h"
#include "record/recorder.h"

int gemem_recorder_call_ALLOC (Hook *hook, const void *caller, Address *address, size_t size);
int gemem_recorder_call_ALLOC_PITCH (Hook *hook, const void *caller, Address *address,
                                     size_t *pitch, size_t width, size_t height);
int gemem_recorder_call_ALLOC_PITCH_ELEMENT (Hook *hook, const void *caller, Address *address,
                                             size_t *pitch, size_t width, size_t height,
                                             unsigned element);
int gemem_recorder_call_ALLOC_3D (Hook *hook, const void *caller, Pitched *place, Extent extent);
int gemem_recorder_call_ALLOC_MANAGED (Hook *hook, const void *caller, Address *address,
                                       size_t size, unsigned flags);
int gemem_recorder_call_ALLOC_HOST (Hook *hook, const void *caller, Address *address, size_t size);
int gemem_recorder_call_ALLOC_HOST_FLAGS (Hook *hook, const void *caller, Address *address,
                                          size_t size, unsigned flags);
int gemem_recorder_call_ALLOC_ASYNC (Hook *hook, const void *caller, Address *address, size_t size,
                                     Handle stream);
int gemem_recorder_call_ALLOC_POOL (Hook *hook, const void *caller, Address *address, size_t size,
                                    Handle pool, Handle stream);
int gemem_recorder_call_REGISTER (Hook *hook, const void *caller, Address address, size_t size,
                                  unsigned flags);
int gemem_recorder_call_FREE (Hook *hook, const void *caller, Address address);
int gemem_recorder_call_FREE_ASYNC (Hook *hook, const void *caller, Address address, Handle stream);
int gemem_recorder_call_CREATE (Hook *hook, const void *caller, Handle *handle, size_t size,
                                const Properties *properties, unsigned long long flags);
int gemem_recorder_call_RETAIN (Hook *hook, const void *caller, Handle *handle, Address address);
int gemem_recorder_call_RELEASE (Hook *hook, const void *caller, Handle handle);
int gemem_recorder_call_MAP (Hook *hook, const void *caller, Address address, size_t size,
                             size_t offset, Handle handle, unsigned long long flags);
int gemem_recorder_call_UNMAP (Hook *hook, const void *caller, Address address, size_t size);
int gemem_recorder_call_POOL_CREATE (Hook *hook, const void *caller, Handle *pool,
                                     const PoolProperties *what);
int gemem_recorder_call_POOL_DESTROY (Hook *hook, const void *caller, Handle pool);
int gemem_recorder_call_POOL_ATTRIBUTE (Hook *hook, const void *caller, Handle pool, int attribute,
                                        const void *value);
int gemem_recorder_call_POOL_TRIM (Hook *hook, const void *caller, Handle pool, size_t keep);
int gemem_recorder_call_POOL_DEFAULT (Hook *hook, const void *caller, Handle *pool, int device);
int gemem_recorder_call_POOL_SET (Hook *hook, const void *caller, int device, Handle pool);
int gemem_recorder_call_POOL_OF (Hook *hook, const void *caller, Handle *pool,
                                 const Location *location, int kind);
int gemem_recorder_call_POOL_SET_OF (Hook *hook, const void *caller, const Location *location,
                                     int kind, Handle pool);
int gemem_recorder_call_STREAM_CREATE (Hook *hook, const void *caller, Handle *stream);
int gemem_recorder_call_STREAM_CREATE_FLAGS (Hook *hook, const void *caller, Handle *stream,
                                             unsigned flags);
int gemem_recorder_call_STREAM_CREATE_PRIORITY (Hook *hook, const void *caller, Handle *stream,
                                                unsigned flags, int priority);
int gemem_recorder_call_STREAM_DESTROY (Hook *hook, const void *caller, Handle stream);
int gemem_recorder_call_STREAM_SYNC (Hook *hook, const void *caller, Handle stream);
int gemem_recorder_call_STREAM_QUERY (Hook *hook, const void *caller, Handle stream);
int gemem_recorder_call_EVENT_SYNC (Hook *hook, const void *caller, Handle event);
int gemem_recorder_call_EVENT_QUERY (Hook *hook, const void *caller, Handle event);
int gemem_recorder_call_EVENT_RECORD (Hook *hook, const void *caller, Handle event, Handle stream);
int gemem_recorder_call_EVENT_RECORD_FLAGS (Hook *hook, const void *caller, Handle event,
                                            Handle stream, unsigned flags);
int gemem_recorder_call_EVENT_WAIT (Hook *hook, const void *caller, Handle stream, Handle event,
                                    unsigned flags);
int gemem_recorder_call_EVENT_DESTROY (Hook *hook, const void *caller, Handle event);
int gemem_recorder_call_DEVICE_SYNC (Hook *hook, const void *caller);
int gemem_recorder_call_CONTEXT_SYNC (Hook *hook, const void *caller, Handle context);
int gemem_recorder_call_DEVICE_RESET (Hook *hook, const void *caller);
int gemem_recorder_call_PRIMARY_RESET (Hook *hook, const void *caller, int device);
int gemem_recorder_call_PRIMARY_RELEASE (Hook *hook, const void *caller, int device);
int gemem_recorder_call_CONTEXT_DESTROY (Hook *hook, const void *caller, Handle context);
int gemem_recorder_call_ARRAY (Hook *hook, const void *caller, Handle *handle, const Array *array);
int gemem_recorder_call_ARRAY_3D (Hook *hook, const void *caller, Handle *handle,
                                  const Array3D *array);
int gemem_recorder_call_ARRAY_LEVELS (Hook *hook, const void *caller, Handle *handle,
                                      const Array3D *array, unsigned levels);
int gemem_recorder_call_MAP_ARRAY (Hook *hook, const void *caller, const void *list, unsigned count,
                                   Handle stream);
int gemem_recorder_call_NODE_ALLOC (Hook *hook, const void *caller, Handle *node, Handle graph,
                                    const Handle *before, size_t count, AllocNode *parameters);
int gemem_recorder_call_NODE_FREE (Hook *hook, const void *caller, Handle *node, Handle graph,
                                   const Handle *before, size_t count, Address address);
int gemem_recorder_call_NODE (Hook *hook, const void *caller, Handle *node, Handle graph,
                              const Handle *before, size_t count, Node *parameters);
int gemem_recorder_call_NODE_EDGES (Hook *hook, const void *caller, Handle *node, Handle graph,
                                    const Handle *before, const void *edges, size_t count,
                                    Node *parameters);
int gemem_recorder_call_IMPORT_POINTER (Hook *hook, const void *caller, Address *address,
                                        Handle pool, const void *data);
int gemem_recorder_call_IMPORT_HANDLE (Hook *hook, const void *caller, Handle *handle,
                                       const void *from, int kind);
int gemem_recorder_call_PROC_ADDRESS (Hook *hook, const void *caller, const char *symbol,
                                      void **function, int version, unsigned long long flags);
int gemem_recorder_call_PROC_ADDRESS_STATUS (Hook *hook, const void *caller, const char *symbol,
                                             void **function, int version, unsigned long long flags,
                                             int *status);
int gemem_recorder_call_ENTRY_POINT (Hook *hook, const void *caller, const char *symbol,
                                     void **function, unsigned long long flags, int *status);
int gemem_recorder_call_ENTRY_POINT_VERSION (Hook *hook, const void *caller, const char *symbol,
                                             void **function, unsigned version,
                                             unsigned long long flags, int *status);
int gemem_recorder_call_LAUNCH (Hook *hook, const void *caller, Handle kernel, unsigned grid_x,
                                unsigned grid_y, unsigned grid_z, unsigned block_x,
                                unsigned block_y, unsigned block_z, unsigned shared, Handle stream,
                                void **parameters, void **extra);
int gemem_recorder_call_LAUNCH_COOPERATIVE (Hook *hook, const void *caller, Handle kernel,
                                            unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                            unsigned block_x, unsigned block_y, unsigned block_z,
                                            unsigned shared, Handle stream, void **parameters);
int gemem_recorder_call_LAUNCH_EX (Hook *hook, const void *caller, const Launch *launch,
                                   Handle kernel, void **parameters, void **extra);
int gemem_recorder_call_LAUNCH_RUNTIME (Hook *hook, const void *caller, const void *function,
                                        Dimensions grid, Dimensions block, void **parameters,
                                        size_t shared, Handle stream);
int gemem_recorder_call_LAUNCH_RUNTIME_EX (Hook *hook, const void *caller, const Launch *launch,
                                           const void *function, void **parameters);
int gemem_recorder_call_HOST_FUNCTION (Hook *hook, const void *caller, Handle stream,
                                       Handle function, void *data);
int gemem_recorder_call_STREAM_WORDS_3 (Hook *hook, const void *caller, Handle stream, uint64_t a,
                                        uint64_t b, uint64_t c);
int gemem_recorder_call_WORDS_1 (Hook *hook, const void *caller, uint64_t a, Handle stream);
int gemem_recorder_call_WORDS_3 (Hook *hook, const void *caller, uint64_t a, uint64_t b, uint64_t c,
                                 Handle stream);
int gemem_recorder_call_WORDS_4 (Hook *hook, const void *caller, uint64_t a, uint64_t b, uint64_t c,
                                 uint64_t d, Handle stream);
int gemem_recorder_call_WORDS_5 (Hook *hook, const void *caller, uint64_t a, uint64_t b, uint64_t c,
                                 uint64_t d, uint64_t e, Handle stream);
int gemem_recorder_call_WORDS_7 (Hook *hook, const void *caller, uint64_t a, uint64_t b, uint64_t c,
                                 uint64_t d, uint64_t e, uint64_t f, uint64_t g, Handle stream);
int gemem_recorder_call_WORDS_8 (Hook *hook, const void *caller, uint64_t a, uint64_t b, uint64_t c,
                                 uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h,
                                 Handle stream);
int gemem_recorder_call_NOW_3 (Hook *hook, const void *caller, uint64_t a, uint64_t b, uint64_t c);
int gemem_recorder_call_NOW_5 (Hook *hook, const void *caller, uint64_t a, uint64_t b, uint64_t c,
                               uint64_t d, uint64_t e);
int gemem_recorder_call_COPY_TO_HOST (Hook *hook, const void *caller, Address to, Address from,
                                      size_t size);
int gemem_recorder_call_COPY_NOW (Hook *hook, const void *caller, Address to, Address from,
                                  size_t size, int kind);
