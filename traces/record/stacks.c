/* stacks.c - call stacks of recorded calls, each distinct stack written once
 * (GEMEM_RECORD_STACKS=DEPTH; recorder.h).
 *
 * Every recorded call takes a stack by backtrace() of the C library.  The frames of a new stack are
 * named: function+offset from the dynamic symbols, else file+offset, which addr2line understands.
 * Innermost frame first, up to DEPTH frames, without the recorder's own frames.
 *
 * Invariants: stacks with equal return addresses are equal; after STACKS distinct stacks, calls
 * with new stacks are recorded without a stack.
 * Cost: a microsecond or more per call, so stacks are off by default.
 */
#include "config.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "traces/record/recorder.h"

#define MOST_FRAMES 64
#define OWN_FRAMES 8 /* most frames of the recorder above the caller's */
#define SLOTS (UINT32_C (1) << 16)
#define STACKS (SLOTS / 4 * 3)

typedef struct
{
  uint64_t hash; /* 0: empty */
  uint64_t string;
} Slot;

static struct
{
  int depth;
  pthread_mutex_t lock; /* protects the table */
  Slot *table;
  uint32_t count;
  const void *own; /* load address of this library */
} stacks = { .lock = PTHREAD_MUTEX_INITIALIZER };

void
recorder_stacks_init (void)
{
  const char *depth = getenv ("GEMEM_RECORD_STACKS");
  void *frame[1];
  Dl_info info;

  pthread_mutex_init (&stacks.lock, NULL);
  stacks.depth = depth != NULL ? atoi (depth) : 0;
  if (stacks.depth <= 0)
    return;
  if (stacks.depth > MOST_FRAMES)
    stacks.depth = MOST_FRAMES;
  if (stacks.table != NULL)
    memset (stacks.table, 0, SLOTS * sizeof (Slot));
  else
    stacks.table = mmap (NULL, SLOTS * sizeof (Slot), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  stacks.count = 0;
  if (stacks.table == MAP_FAILED)
    {
      stacks.table = NULL;
      stacks.depth = 0;
      return;
    }
  stacks.own = dladdr ((void *) recorder_stacks_init, &info) != 0 ? info.dli_fbase : NULL;
  if (backtrace (frame, 1) < 0) /* loads the unwinder now, not within a call */
    stacks.depth = 0;
}

/* Appends the name of @frame to @text; returns the new length. */
static size_t
append_frame (char *text, size_t used, void *frame)
{
  Dl_info info = { 0 };
  bool known = dladdr ((char *) frame - 1, &info) != 0 && info.dli_fname != NULL;
  const char *file = known ? strrchr (info.dli_fname, '/') : NULL;
  const char *space = used > 0 ? " < " : "";
  size_t space_left = JOURNAL_MAX_TEXT - used;
  int size;

  file = file != NULL ? file + 1 : known ? info.dli_fname : "?";
  if (known && info.dli_sname != NULL)
    size = snprintf (text + used, space_left, "%s%s+0x%zx (%s)", space, info.dli_sname,
                     (size_t) frame - (size_t) info.dli_saddr, file);
  else
    size = snprintf (text + used, space_left, "%s%s+0x%zx", space, file,
                     (size_t) frame - (known ? (size_t) info.dli_fbase : 0));
  return size > 0 && (size_t) size < space_left ? used + (size_t) size : used;
}

static uint32_t
add_stack (void *const *frames, int count)
{
  char text[JOURNAL_MAX_TEXT];
  size_t used = 0;
  for (int i = 0; i < count; i++)
    used = append_frame (text, used, frames[i]);
  return recorder_add_string (text, (uint32_t) used);
}

/* Returns the slot of @hash, or the empty slot for it. */
static Slot *
find (uint64_t hash)
{
  uint32_t i = (uint32_t) (hash >> 40) % SLOTS;
  while (stacks.table[i].hash != 0 && stacks.table[i].hash != hash)
    i = (i + 1) % SLOTS;
  return &stacks.table[i];
}

static uint64_t
hash_frames (void *const *frames, int count)
{
  uint64_t hash = 0x9E3779B185EBCA87u;
  for (int i = 0; i < count; i++)
    {
      hash = (hash ^ (uint64_t) (uintptr_t) frames[i]) * 0xC2B2AE3D27D4EB4Fu;
      hash ^= hash >> 29;
    }
  return hash | 1;
}

static bool
is_own (void *frame)
{
  Dl_info info;
  return dladdr (frame, &info) != 0 && info.dli_fbase == stacks.own;
}

uint32_t
recorder_stack (void)
{
  void *frames[MOST_FRAMES + OWN_FRAMES];
  uint32_t string;
  int skip = 0;

  if (stacks.depth == 0)
    return 0;
  int count = backtrace (frames, stacks.depth + OWN_FRAMES);
  while (skip < count && skip < OWN_FRAMES
         && (skip == 0 || is_own (frames[skip]))) /* first: a frame of ours or a sanitizer */
    skip++;
  count = count - skip < stacks.depth ? count - skip : stacks.depth;
  if (count <= 0)
    return 0;
  uint64_t hash = hash_frames (frames + skip, count);
  pthread_mutex_lock (&stacks.lock);
  Slot *slot = find (hash);
  if (slot->hash == 0 && stacks.count < STACKS)
    {
      slot->hash = hash;
      slot->string = add_stack (frames + skip, count);
      stacks.count++;
    }
  string = slot->hash == hash ? (uint32_t) slot->string : 0;
  pthread_mutex_unlock (&stacks.lock);
  return string;
}
