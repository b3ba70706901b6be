/* torch.h - libgemem-torch.so: any allocator of gemem for PyTorch's CUDAPluggableAllocator (guide:
 * doc/pytorch.md).
 *
 *   allocator = torch.cuda.memory.CUDAPluggableAllocator (
 *       "libgemem-torch.so", "gemem_torch_malloc", "gemem_torch_free")
 *   torch.cuda.memory.change_current_allocator (allocator)
 *
 * Environment, read at the first call:
 *   GEMEM_ALLOCATOR  NAME[:key=value,...]; default pytorch-caching; one instance per device
 *   GEMEM_DEVICE     source of memory, without a number: cuda (default), cuda:mode=...,
 *                    sim:... (addresses without memory, for tests)
 *   GEMEM_STATS      at exit, all measures of each device: FILE (.json, .csv, .md; else a table) or
 *                    stderr; %p in a name is the process id
 *   GEMEM_RECORD     at exit, a trace of the program's calls: FILE.gmt; %p likewise
 *   GEMEM_PLUGIN_PATH  folders with allocators that are not built in
 * An unknown allocator or device ends the program at the first call, with one line on stderr and
 * the exit status of gemem-sim.
 *
 * All functions may be called from any thread; a lock serialises them.  Out of memory returns NULL,
 * after the allocator's own retries, and prints one line on stderr.  Once the process is ending
 * (exit handlers), frees are ignored: the driver releases all memory.
 */
#pragma once

#include "base/macros.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

GEMEM_BEGIN_DECLS

/* PyTorch's MempoolId_t. */
typedef struct
{
  uint64_t first, second;
} GememTorchPool;

/* @stream is a cudaStream_t.  Out of memory returns NULL; in a process with PyTorch, which does not
 * check for NULL, it throws std::bad_alloc. */
void *gemem_torch_malloc (ssize_t size, int device, void *stream);
void gemem_torch_free (void *pointer, ssize_t size, int device, void *stream);

/* The optional hooks, under the names of PyTorch's setters. */
void gemem_torch_init (int device_count); /* set_init_fn: reads the environment */
void gemem_torch_reset (void);            /* set_reset_fn: empty_cache, on all devices */
/* set_memory_fraction_fn; call it before the first request to @device */
void gemem_torch_set_memory_fraction (double fraction, int device);
/* set_base_alloc_fn: the range obtained from the device that contains @pointer */
void *gemem_torch_base_alloc (void *pointer, size_t *size);
void gemem_torch_record_stream (void *pointer, void *stream); /* set_record_stream_fn */
/* set_begin_allocate_to_pool, ...: requests of the calling thread, and requests on streams that are
 * being captured, are served from @pool. */
void gemem_torch_begin_allocate_to_pool (int device, GememTorchPool pool, void *filter);
void gemem_torch_end_allocate_to_pool (int device, GememTorchPool pool);
void gemem_torch_release_pool (int device, GememTorchPool pool);

/* For scripts (ctypes), where torch.cuda.memory_stats() is not available: live, allocated,
 * reserved, peak_live, peak_allocated, peak_reserved, allocs, frees or failed of @device.
 * UINT64_MAX: unknown name.  0: the device was not used yet. */
uint64_t gemem_torch_stat (int device, const char *name);
void gemem_torch_reset_peaks (int device);

GEMEM_END_DECLS
