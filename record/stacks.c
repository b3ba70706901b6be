/* stacks.c - call stacks of recorded calls, each distinct stack written once
 * (GEMEM_RECORD_STACKS=DEPTH; recorder.h).
 *
 * Every recorded call takes a stack by backtrace() of the C library.  The journal gets the return
 * addresses of a new stack, up to DEPTH, innermost first, without the recorder's own, and before
 * them the files that they lie in, with path and build-id.  Names and lines are looked up when the
 * journal is read (traces/symbols.h), so that the program does not pay for them.
 *
 * Invariants: stacks with equal return addresses are equal as long as no file that they lie in is
 * unloaded; then all stacks are forgotten and get new numbers.  After STACKS distinct stacks, calls
 * with new stacks are recorded without a stack and counted.  The loader's lock for dlopen() is
 * never taken, because a constructor under it may wait for a lock of ours.
 * Cost: a microsecond or more per call, so stacks are off by default.
 */
#include "config.h"

#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/recorder.h"
#include "record/variables.h"

#define MOST_FRAMES 128
#define OWN_FRAMES 8 /* most frames of the recorder above the caller's */
#define SLOTS (UINT32_C (1) << 20)
#define STACKS (SLOTS / 4 * 3)
#define MODULES 1024
#define MAX_BUILD_ID 64

typedef struct
{
  uint64_t hash; /* 0: empty */
  uint64_t number;
} Slot;

/* A loaded file that is in the journal. */
typedef struct
{
  uintptr_t start, end;
  uint64_t identity; /* hash of its name and build-id */
} Module;

static struct
{
  uint32_t depth;
  pthread_mutex_t lock; /* protects the members below */
  Slot *table;
  uint32_t count;       /* of stacks in the table */
  uint32_t number;      /* the last one assigned */
  uint32_t modules;     /* in `module` */
  uint64_t unloads;     /* files unloaded by the program so far */
  uintptr_t start, end; /* of this library */
  Module module[MODULES];
} stacks = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- loaded files */

static uint64_t
mix (uint64_t hash, uint64_t value)
{
  hash = (hash ^ value) * 0xC2B2AE3D27D4EB4Fu;
  return hash ^ hash >> 29;
}

/* Sets the range of addresses of a file. */
static void
range_of (const struct dl_phdr_info *info, uintptr_t *start, uintptr_t *end)
{
  *start = UINTPTR_MAX;
  *end = 0;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD)
      {
        uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        *start = at < *start ? at : *start;
        *end = at + info->dlpi_phdr[i].p_memsz > *end ? at + info->dlpi_phdr[i].p_memsz : *end;
      }
}

/* Finds the build-id among the notes of @header; NULL: it is not there. */
static const unsigned char *
id_in_notes (const struct dl_phdr_info *info, const ElfW (Phdr) * header, size_t *size)
{
  const unsigned char *at = (const unsigned char *) (info->dlpi_addr + header->p_vaddr);
  size_t left = header->p_filesz;

  while (left >= sizeof (ElfW (Nhdr)))
    {
      ElfW (Nhdr) note;
      memcpy (&note, at, sizeof note);
      size_t name = ((size_t) note.n_namesz + 3) & ~(size_t) 3,
             text = ((size_t) note.n_descsz + 3) & ~(size_t) 3, whole = sizeof note + name + text;
      if (whole > left)
        return NULL;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4
          && memcmp (at + sizeof note, "GNU", 4) == 0 && note.n_descsz <= MAX_BUILD_ID)
        {
          *size = note.n_descsz;
          return at + sizeof note + name;
        }
      at += whole;
      left -= whole;
    }
  return NULL;
}

/* The build-id of a loaded file, in memory; *@size 0: it has none. */
static const unsigned char *
build_id (const struct dl_phdr_info *info, size_t *size)
{
  *size = 0;
  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *note = &info->dlpi_phdr[i], *load = info->dlpi_phdr;
      const unsigned char *id = NULL;
      if (note->p_type != PT_NOTE)
        continue;
      for (int j = 0; j < info->dlpi_phnum && id == NULL; j++, load++)
        if (load->p_type == PT_LOAD && (load->p_flags & PF_R) != 0 && note->p_vaddr >= load->p_vaddr
            && note->p_vaddr + note->p_filesz <= load->p_vaddr + load->p_filesz)
          id = id_in_notes (info, note, size);
      if (id != NULL)
        return id;
    }
  return NULL;
}

static uint64_t
identity_of (const struct dl_phdr_info *info)
{
  size_t size;
  const unsigned char *id = build_id (info, &size);
  uint64_t hash = mix (1, info->dlpi_addr);

  for (const char *at = info->dlpi_name; at != NULL && *at != '\0'; at++)
    hash = mix (hash, (unsigned char) *at);
  for (size_t i = 0; i < size; i++)
    hash = mix (hash, id[i]);
  return hash;
}

/* Writes the path of a file to @text; returns its length.  The program itself has no name, and a
 * relative name counts from the current folder. */
static size_t
path_of (const char *name, char *text, size_t size)
{
  size_t used = 0;

  if (name == NULL || *name == '\0')
    {
      ssize_t length = readlink ("/proc/self/exe", text, size);
      return length > 0 ? (size_t) length : 0;
    }
  if (*name != '/' && strchr (name, '/') != NULL && getcwd (text, size) != NULL)
    {
      used = strlen (text);
      if (used < size)
        text[used++] = '/';
    }
  size_t length = strlen (name) < size - used ? strlen (name) : size - used;
  memcpy (text + used, name, length);
  return used + length;
}

/* A file to be found: the one at `address`. */
typedef struct
{
  uintptr_t address;
  Module module;
  JournalRecord record;
  char text[JOURNAL_MAX_TEXT];
} Search;

static int
look_for_module (struct dl_phdr_info *info, size_t unused, void *data)
{
  Search *search = data;
  Module *module = &search->module;
  size_t size;

  (void) unused;
  range_of (info, &module->start, &module->end);
  if (search->address < module->start || search->address >= module->end)
    return 0;
  const unsigned char *id = build_id (info, &size);
  size_t used = path_of (info->dlpi_name, search->text, sizeof search->text - 1 - MAX_BUILD_ID);
  search->text[used++] = '\0';
  if (size > 0)
    memcpy (search->text + used, id, size);
  search->record = (JournalRecord){ .call = JOURNAL_MODULE,
                                    .p = info->dlpi_addr,
                                    .q = used + size,
                                    .r = module->start,
                                    .s = module->end };
  module->identity = identity_of (info);
  return 1;
}

/* Ensures that the file at @address is in the journal. */
static void
note_module (uintptr_t address)
{
  Search search;

  for (uint32_t i = 0; i < stacks.modules; i++)
    if (address >= stacks.module[i].start && address < stacks.module[i].end)
      return;
  search.address = address;
  if (stacks.modules < MODULES && dl_iterate_phdr (look_for_module, &search) != 0
      && gemem_recorder_add_data (search.record, search.text, (uint32_t) search.record.q))
    stacks.module[stacks.modules++] = search.module;
}

static int
read_unloads (struct dl_phdr_info *info, size_t size, void *data)
{
  (void) size;
  *(uint64_t *) data = info->dlpi_subs;
  return 1;
}

static int
count_known (struct dl_phdr_info *info, size_t unused, void *data)
{
  Module now = { .identity = identity_of (info) };

  (void) unused;
  range_of (info, &now.start, &now.end);
  for (uint32_t i = 0; i < stacks.modules; i++)
    *(uint32_t *) data += memcmp (&stacks.module[i], &now, sizeof now) == 0;
  return 0;
}

/* Forgets all stacks if a file that they lie in was unloaded. */
static void
forget_unloaded (void)
{
  uint64_t unloads = stacks.unloads;
  uint32_t still = 0;

  dl_iterate_phdr (read_unloads, &unloads);
  if (unloads == stacks.unloads)
    return;
  stacks.unloads = unloads;
  dl_iterate_phdr (count_known, &still);
  if (still == stacks.modules)
    return;
  if (madvise (stacks.table, SLOTS * sizeof (Slot), MADV_DONTNEED) != 0) /* zeroes it */
    memset (stacks.table, 0, SLOTS * sizeof (Slot));
  stacks.count = stacks.modules = 0;
}

/* ---- the table of stacks */

static int
look_for_own (struct dl_phdr_info *info, size_t unused, void *data)
{
  (void) unused;
  (void) data;
  range_of (info, &stacks.start, &stacks.end);
  uintptr_t own = (uintptr_t) gemem_recorder_stacks_init;
  return own >= stacks.start && own < stacks.end;
}

uint32_t
gemem_recorder_stacks_init (void)
{
  const char *depth = getenv (GEMEM_ENV_RECORD_STACKS);
  void *frame[1];

  pthread_mutex_init (&stacks.lock, NULL);
  stacks.depth = depth != NULL && atoi (depth) > 0 ? (uint32_t) atoi (depth) : 0;
  if (stacks.depth == 0)
    return 0;
  if (stacks.depth > MOST_FRAMES)
    stacks.depth = MOST_FRAMES;
  if (stacks.table != NULL)
    munmap (stacks.table, SLOTS * sizeof (Slot));
  stacks.table = mmap (NULL, SLOTS * sizeof (Slot), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  stacks.count = stacks.number = stacks.modules = 0;
  if (stacks.table == MAP_FAILED)
    {
      stacks.table = NULL;
      return stacks.depth = 0;
    }
  if (dl_iterate_phdr (look_for_own, NULL) == 0)
    stacks.start = stacks.end = 0;
  dl_iterate_phdr (read_unloads, &stacks.unloads);
  if (backtrace (frame, 1) < 0) /* loads the unwinder now, not within a call */
    stacks.depth = 0;
  return stacks.depth;
}

/* Writes a new stack; returns its number, 0 if it cannot be stored. */
static uint32_t
add_stack (void *const *frames, int count)
{
  uint64_t addresses[MOST_FRAMES];

  for (int i = 0; i < count; i++)
    {
      addresses[i] = (uint64_t) (uintptr_t) frames[i];
      note_module ((uintptr_t) frames[i] - 1);
    }
  JournalRecord record = { .call = JOURNAL_STACK,
                           .p = (uint64_t) stacks.number + 1,
                           .q = (uint64_t) count };
  if (!gemem_recorder_add_data (record, addresses, (uint32_t) ((size_t) count * sizeof (uint64_t))))
    return 0;
  stacks.count++;
  return ++stacks.number;
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
    hash = mix (hash, (uint64_t) (uintptr_t) frames[i]);
  return hash | 1;
}

static bool
is_own (void *frame)
{
  return (uintptr_t) frame >= stacks.start && (uintptr_t) frame < stacks.end;
}

uint32_t
gemem_recorder_stack (void)
{
  void *frames[MOST_FRAMES + OWN_FRAMES];
  int skip = 0;

  if (stacks.depth == 0)
    return 0;
  int count = backtrace (frames, (int) stacks.depth + OWN_FRAMES);
  while (skip < count && skip < OWN_FRAMES
         && (skip == 0 || is_own (frames[skip]))) /* first: a frame of ours or a sanitizer */
    skip++;
  count = count - skip < (int) stacks.depth ? count - skip : (int) stacks.depth;
  if (count <= 0)
    return 0;
  uint64_t hash = hash_frames (frames + skip, count);
  pthread_mutex_lock (&stacks.lock);
  forget_unloaded ();
  Slot *slot = find (hash);
  if (slot->hash == 0 && stacks.count >= STACKS)
    __atomic_add_fetch (&gemem_recorder_header ()->stackless, 1, __ATOMIC_RELAXED);
  else if (slot->hash == 0 && (slot->number = add_stack (frames + skip, count)) != 0)
    slot->hash = hash;
  uint32_t number = slot->hash == hash ? (uint32_t) slot->number : 0;
  pthread_mutex_unlock (&stacks.lock);
  return number;
}
