/* chunk-size.h - how many bytes PaddlePaddle's buddy (and the chunked BestFit until 1.5) asks of
 * the device at once.
 *
 * Paddle derives these sizes from cudaMemGetInfo and the flags fraction_of_gpu_memory_to_use,
 * initial_gpu_memory_in_mb and reallocate_gpu_memory_in_mb, in three ways over its history, partly
 * in single precision; every later address depends on the last byte of the result.
 *
 * Invariants: pure functions of their arguments.  The products Paddle computes in float and double
 * are computed here in integers with the rounding of IEEE 754 (nearest, ties to even, 24 and 53
 * bits), so neither the compiler (x87, fused multiply-add, -O3, -ffast-math) nor the rounding mode
 * can change a byte.
 * Cost: a few 128-bit operations; called once per chunk, never per request.
 * Origin: paddle.md sections 2.1 and 2.2, example E10.
 */
#pragma once

#include "base/paddle-versions.h"
#include "base/rules.h"

/* (double)0.92f, Paddle's default fraction; 0.92 itself gives other chunks. */
#define GEMEM_PADDLE_FRACTION_DEFAULT "0.920000016689300537109375"
/* The default as the manual has it, and the default on Windows. */
#define GEMEM_PADDLE_FRACTION_DOCUMENTED 0.92
#define GEMEM_PADDLE_FRACTION_WINDOWS 0.5

/* What cudaMemGetInfo reports, limited by gpu_memory_limit_mb. */
typedef struct
{
  guint64 total, available;
} GememPaddleMemory;

/* The integers are the fields of parameter tables. */
typedef struct
{
  int version;        /* GememPaddleVersion */
  int rules;          /* GememRules */
  double fraction;    /* in [0, 1] */
  guint64 initial;    /* bytes; 0: by fraction */
  guint64 reallocate; /* bytes; 0: by fraction */
} GememPaddleChunkRule;

/* Bytes Paddle leaves to others: 5 % of total (until 1.5) or of available (since 1.6). */
guint64 gemem_paddle_reserving (int version, const GememPaddleMemory *memory);

/* GpuInitAllocSize, GpuReallocSize, GpuMaxChunkSize.  FALSE: Paddle stops with "not enough
 * available GPU memory" (an enforce error, not BadAlloc, so never retried); *@size is the size it
 * wanted.  As documented a fraction is one of the total, in every version, nothing is left to
 * others, and only the device itself refuses: never FALSE. */
gboolean gemem_paddle_initial_size (const GememPaddleChunkRule *rule,
                                    const GememPaddleMemory *memory, guint64 *size);
gboolean gemem_paddle_reallocate_size (const GememPaddleChunkRule *rule,
                                       const GememPaddleMemory *memory, guint64 *size);
gboolean gemem_paddle_max_chunk_size (const GememPaddleChunkRule *rule,
                                      const GememPaddleMemory *memory, guint64 *size);

/* Largest chunk of host memory and of pinned host memory, from the bytes of physical memory.  The
 * manual has the whole fraction where a 32nd of it is built. */
guint64 gemem_paddle_cpu_chunk_size (int rules, guint64 physical, double fraction, guint64 initial);
guint64 gemem_paddle_pinned_chunk_size (guint64 physical, double fraction);

/* (guint64) (factor * (double) n), exactly as IEEE double arithmetic gives it; @factor in [0,
 * 1]. */
guint64 gemem_paddle_double_product (double factor, guint64 n);
/* (guint64) (0.05f * (float) n), exactly as IEEE single arithmetic gives it. */
guint64 gemem_paddle_float_twentieth (guint64 n);
