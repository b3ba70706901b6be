/* touch-kernels.h - what --touch writes into memory, as the kernels (touch.cu), the host and the
 * stand-in driver of the tests agree on it.
 *
 * Every block filled has a tag.  Word i (8 bytes) of the block holds tag and i, so that a word
 * found where it does not belong says whose it is.  The key keeps words that programs write by
 * themselves, 0 first of all, from looking like a word of a block.
 *
 * Understood by C and by CUDA C.
 */
#ifndef GEMEM_TOUCH_KERNELS_H
#define GEMEM_TOUCH_KERNELS_H

#define GEMEM_TOUCH_KEY 0x9e3779b97f4a7c15ULL
#define GEMEM_TOUCH_NONE (~0ULL)
#define GEMEM_TOUCH_FINDINGS 64
#define GEMEM_TOUCH_THREADS 256 /* of a thread block */

/* Word @index of the block with @tag, and back. */
#define GEMEM_TOUCH_WORD(tag, index) \
  (((unsigned long long) (tag) << 32 | ((index) &0xffffffffULL)) ^ GEMEM_TOUCH_KEY)
#define GEMEM_TOUCH_TAG(word) ((unsigned int) (((word) ^ GEMEM_TOUCH_KEY) >> 32))
#define GEMEM_TOUCH_INDEX(word) ((unsigned int) ((word) ^ GEMEM_TOUCH_KEY))
/* Byte @offset of the block with @tag; little endian. */
#define GEMEM_TOUCH_BYTE(tag, offset) \
  ((unsigned char) (GEMEM_TOUCH_WORD (tag, (offset) >> 3) >> (((offset) &7) * 8)))

/* A verification that failed. */
typedef struct
{
  unsigned long long check;  /* its number, as given */
  unsigned long long offset; /* of the first byte that is wrong */
  unsigned long long found;  /* the word that it lies in; bytes beyond the block are 0 */
} GememTouchFinding;

/* Memory of the host that the GPU writes: the finding first, then the count. */
typedef struct
{
  /* of failed verifications; those above GEMEM_TOUCH_FINDINGS are not kept */
  unsigned long long count;
  GememTouchFinding findings[GEMEM_TOUCH_FINDINGS];
} GememTouchReport;

#endif
