/* touch.cu - fills memory with the pattern of a block, and verifies it, at the speed of memory.
 *
 * Launch: one dimension, GEMEM_TOUCH_THREADS threads in a block, any number of blocks; every thread takes each threads-th piece of 16
 * bytes (single bytes where the address is no multiple of 16, and at the end).  One launch at a time: verifications share the two
 * variables below, and the host keeps launches in order.
 *
 * Verification: each thread keeps the first byte that is wrong, the thread block that ends last reads the lowest of all, writes the
 * finding into memory of the host and leaves the variables as they were.
 */
#include "touch-kernels.h"

typedef unsigned long long Word;

static __device__ Word first_wrong = GEMEM_TOUCH_NONE;
static __device__ unsigned int blocks_done = 0;

/* Up to 8 bytes of [@memory, @memory + @bytes) as the word at @offset, a multiple of 8. */
static __device__ Word
word_at (const unsigned char *memory, Word offset, Word bytes)
{
  Word word = 0;
  for (unsigned int i = 0; i < 8 && offset + i < bytes; i++)
    word |= (Word) memory[offset + i] << (8 * i);
  return word;
}

/* From where on single bytes are looked at: 0 if @address is not aligned. */
static __device__ Word
whole_pieces (Word address, Word bytes)
{
  return (address & 15) == 0 ? bytes >> 4 : 0;
}

extern "C" __global__ void
gemem_touch_fill (Word address, Word bytes, Word tag)
{
  const Word thread = blockIdx.x * (Word) blockDim.x + threadIdx.x, threads = gridDim.x * (Word) blockDim.x;
  const Word pieces = whole_pieces (address, bytes);
  ulonglong2 *wide = (ulonglong2 *) address;
  unsigned char *memory = (unsigned char *) address;

#pragma unroll 4
  for (Word i = thread; i < pieces; i += threads)
    wide[i] = make_ulonglong2 (GEMEM_TOUCH_WORD (tag, 2 * i), GEMEM_TOUCH_WORD (tag, 2 * i + 1));
  for (Word i = pieces * 16 + thread; i < bytes; i += threads)
    memory[i] = GEMEM_TOUCH_BYTE (tag, i);
}

/* The offset of the first wrong byte of the word at @offset. */
static __device__ Word
wrong_byte (Word got, Word want, Word offset)
{
  return offset + (__ffsll ((long long) (got ^ want)) - 1) / 8;
}

static __device__ void
tell (const unsigned char *memory, Word bytes, Word check, Word offset, GememTouchReport *report)
{
  const Word count = report->count;

  if (count < GEMEM_TOUCH_FINDINGS)
    {
      report->findings[count].check = check;
      report->findings[count].offset = offset;
      report->findings[count].found = word_at (memory, offset & ~7ULL, bytes);
    }
  __threadfence_system ();
  *(volatile Word *) &report->count = count + 1;
}

extern "C" __global__ void
gemem_touch_verify (Word address, Word bytes, Word tag, Word check, GememTouchReport *report)
{
  const Word thread = blockIdx.x * (Word) blockDim.x + threadIdx.x, threads = gridDim.x * (Word) blockDim.x;
  const Word pieces = whole_pieces (address, bytes);
  const ulonglong2 *wide = (const ulonglong2 *) address;
  const unsigned char *memory = (const unsigned char *) address;
  Word first = GEMEM_TOUCH_NONE;

#pragma unroll 4
  for (Word i = thread; i < pieces; i += threads)
    {
      const ulonglong2 got = wide[i];
      if (first == GEMEM_TOUCH_NONE && got.x != GEMEM_TOUCH_WORD (tag, 2 * i))
        first = wrong_byte (got.x, GEMEM_TOUCH_WORD (tag, 2 * i), 16 * i);
      if (first == GEMEM_TOUCH_NONE && got.y != GEMEM_TOUCH_WORD (tag, 2 * i + 1))
        first = wrong_byte (got.y, GEMEM_TOUCH_WORD (tag, 2 * i + 1), 16 * i + 8);
    }
  for (Word i = pieces * 16 + thread; i < bytes; i += threads)
    if (first == GEMEM_TOUCH_NONE && memory[i] != GEMEM_TOUCH_BYTE (tag, i))
      first = i;
  if (first != GEMEM_TOUCH_NONE)
    atomicMin (&first_wrong, first);
  __threadfence ();
  __syncthreads ();
  if (threadIdx.x != 0 || atomicAdd (&blocks_done, 1) != gridDim.x - 1)
    return;
  __threadfence ();
  first = atomicExch (&first_wrong, GEMEM_TOUCH_NONE);
  blocks_done = 0;
  if (first != GEMEM_TOUCH_NONE)
    tell (memory, bytes, check, first, report);
}
