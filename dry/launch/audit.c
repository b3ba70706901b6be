/* audit.c - a module of the dynamic loader (LD_AUDIT) that leads a program to the libraries of a
 * dry run where LD_PRELOAD alone cannot.
 *
 * Libraries that are opened by a path, or by another name than that of a preloaded one: the loader
 * asks here before it searches, and is told the file that stands for the library, whether or not
 * the real one is installed.
 *
 * Objects that have CUDA's runtime linked in (libcudart_static, the default of nvcc): their calls
 * stay inside, and the runtime in them does not start on a driver that is not NVIDIA's.  The loader
 * tells of each object when that is mapped and before anything in it runs, the registration of
 * kernels included; here each function of the runtime gets a jump to the preloaded function of that
 * name as its beginning.
 *
 * What the launcher found in the program (cache.c) stands in the file $GEMEM_DRY_LIST:
 *
 *   library FILE PATTERN       a file beside the list, and the names of files that it stands for
 *   object PATH                an object with a runtime ...
 *   ADDRESS NAME               ... and its functions (hexadecimal, as in the file)
 *
 * Invariants: lives in a namespace of the loader of its own, with a C library of its own, so that
 * nothing here may call the program's functions.  The loader's lock is held in every call.  A
 * function without one to jump to is left as it is.
 *
 * Source: rtld-audit(7), the System V ABI for the hash table, the GNU one as in the LSB.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dry/protocol/protocol.h"

#define EXPORT __attribute__ ((visibility ("default")))
#define MOST_WAITING 4096 /* objects of one call of dlopen() */

typedef struct
{
  uint64_t address;
  char *name;
} Function;

/* An object of the list. */
typedef struct
{
  dev_t device;
  ino_t inode;
  Function *functions;
  size_t n_functions;
} Object;

typedef struct
{
  char *name, *path, *pattern;
} Library;

static Library *libraries;
static size_t n_libraries;
static Object *objects;
static size_t n_objects;
static struct
{
  const struct link_map *map;
  const Object *object;
} waiting[MOST_WAITING]; /* mapped, and not yet overwritten */
static size_t n_waiting;

/* ---- the list */

/* @text: "FILE PATTERN"; @list: a path in the folder of the file. */
static void
add_library (char *text, const char *list)
{
  const char *slash = strrchr (list, '/');
  const int n = slash != NULL ? (int) (slash - list) + 1 : 0;
  char *pattern = strchr (text, ' ');
  Library *larger = realloc (libraries, (n_libraries + 1) * sizeof *libraries), one = { 0 };

  if (larger != NULL)
    libraries = larger;
  if (larger == NULL || pattern == NULL)
    return;
  *pattern++ = '\0';
  one.name = strdup (text);
  one.pattern = strdup (pattern);
  if (one.name != NULL && one.pattern != NULL && asprintf (&one.path, "%.*s%s", n, list, text) >= 0)
    libraries[n_libraries++] = one;
}

static void
add_object (const char *path)
{
  struct stat facts = { 0 };
  Object *larger = realloc (objects, (n_objects + 1) * sizeof *objects);

  if (larger == NULL)
    return;
  objects = larger;
  if (stat (path, &facts) != 0)
    facts = (struct stat){ 0 };
  objects[n_objects++] = (Object){ .device = facts.st_dev, .inode = facts.st_ino };
}

static void
add_function (uint64_t address, const char *name)
{
  Object *object = &objects[n_objects - 1];
  Function *larger = realloc (object->functions, (object->n_functions + 1) * sizeof *larger);
  char *copy = strdup (name);

  if (larger != NULL)
    object->functions = larger;
  if (larger != NULL && copy != NULL)
    larger[object->n_functions++] = (Function){ address, copy };
  else
    free (copy);
}

static void
read_list (void)
{
  const char *path = getenv (GEMEM_ENV_DRY_LIST);
  FILE *file = path != NULL ? fopen (path, "re") : NULL;
  char *line = NULL;
  size_t size = 0;

  while (file != NULL && getline (&line, &size, file) > 0)
    {
      char *end;
      line[strcspn (line, "\n")] = '\0';
      const uint64_t address = strtoull (line, &end, 16);
      if (strncmp (line, "library ", 8) == 0)
        add_library (line + 8, path);
      else if (strncmp (line, "object ", 7) == 0)
        add_object (line + 7);
      else if (*end == ' ' && n_objects > 0)
        add_function (address, end + 1);
    }
  free (line);
  if (file != NULL)
    fclose (file);
}

/* ---- what to jump to */

typedef struct
{
  const Elf64_Sym *symbols;
  const char *strings;
  const uint32_t *hash, *gnu_hash; /* either may be NULL */
} Table;

static Table
table_of (const struct link_map *map)
{
  Table table = { 0 };

  for (const Elf64_Dyn *entry = map->l_ld; entry != NULL && entry->d_tag != DT_NULL; entry++)
    {
      /* the loader has made addresses of most of them */
      const uint64_t value = entry->d_un.d_ptr;
      const void *at = (const void *) (value >= map->l_addr ? value : map->l_addr + value);
      if (entry->d_tag == DT_SYMTAB)
        table.symbols = at;
      else if (entry->d_tag == DT_STRTAB)
        table.strings = at;
      else if (entry->d_tag == DT_HASH)
        table.hash = at;
      else if (entry->d_tag == DT_GNU_HASH)
        table.gnu_hash = at;
    }
  return table;
}

static bool
is_it (const Table *table, uint32_t i, const char *name)
{
  const Elf64_Sym *symbol = &table->symbols[i];
  return symbol->st_shndx != SHN_UNDEF && strcmp (table->strings + symbol->st_name, name) == 0;
}

/* The number of the symbol @name that is defined in @table; 0: none. */
static uint32_t
look_up_gnu (const Table *table, const char *name)
{
  const uint32_t *head = table->gnu_hash; /* buckets, first symbol, words of the filter, shift */
  const uint32_t *buckets = head + 4 + (size_t) head[2] * 2, *chains = buckets + head[0];
  uint32_t hash = 5381;

  for (const char *c = name; *c != '\0'; c++)
    hash = hash * 33 + (unsigned char) *c;
  uint32_t i = head[0] > 0 ? buckets[hash % head[0]] : 0;
  if (i < head[1])
    return 0;
  for (;; i++)
    {
      const uint32_t one = chains[i - head[1]];
      if ((one | 1) == (hash | 1) && is_it (table, i, name))
        return i;
      if ((one & 1) != 0)
        return 0;
    }
}

static uint32_t
look_up_plain (const Table *table, const char *name)
{
  for (uint32_t i = 1; i < table->hash[1]; i++) /* a symbol per chain */
    if (is_it (table, i, name))
      return i;
  return 0;
}

/* Of the recorder, of libgemem-dry, or of what stands for a runtime (write.c). */
static bool
is_ours (const struct link_map *map)
{
  static const char *const names[] = { "libgemem-record.so", "libgemem-dry.so", "libcudart.so." };
  const char *name = strrchr (map->l_name, '/');

  name = name != NULL ? name + 1 : map->l_name;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp (name, names[i], strlen (names[i])) == 0)
      return true;
  return false;
}

/* The first preloaded function @name: in the order of LD_PRELOAD, which is that of the objects. */
static uint64_t
find (const struct link_map *first, const char *name)
{
  for (const struct link_map *map = first; map != NULL; map = map->l_next)
    {
      if (!is_ours (map))
        continue;
      const Table table = table_of (map);
      uint32_t i = 0;
      if (table.symbols == NULL || table.strings == NULL)
        continue;
      if (table.gnu_hash != NULL)
        i = look_up_gnu (&table, name);
      else if (table.hash != NULL)
        i = look_up_plain (&table, name);
      if (i != 0)
        return map->l_addr + table.symbols[i].st_value;
    }
  return 0;
}

/* ---- overwriting */

/* jmp *0(%rip), and the address behind it */
static void
write_jump (uint64_t at, uint64_t target)
{
  static const uint8_t jump[] = { 0xff, 0x25, 0, 0, 0, 0 };
  const uint64_t page = (uint64_t) sysconf (_SC_PAGESIZE), begin = at / page * page;
  const size_t size = at + sizeof jump + sizeof target - begin;

  if (mprotect ((void *) begin, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    return;
  memcpy ((void *) at, jump, sizeof jump);
  memcpy ((void *) (at + sizeof jump), &target, sizeof target);
  mprotect ((void *) begin, size, PROT_READ | PROT_EXEC);
}

static void
overwrite (const struct link_map *first, const struct link_map *map, const Object *object)
{
  for (size_t i = 0; i < object->n_functions; i++)
    {
      const uint64_t target = find (first, object->functions[i].name);
      if (target != 0)
        write_jump (map->l_addr + object->functions[i].address, target);
    }
}

/* ---- what the loader calls */

EXPORT unsigned la_version (unsigned version);
unsigned
la_version (unsigned version)
{
  read_list ();
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

/* @name: as it is opened, or as an object needs it.  The loader may change what is
 * returned, by type. */
EXPORT char *la_objsearch (const char *name, uintptr_t *cookie, unsigned flag);
char *
la_objsearch (const char *name, uintptr_t *cookie, unsigned flag)
{
  const char *base = strrchr (name, '/');

  (void) cookie;
  base = base != NULL ? base + 1 : name;
  for (size_t i = 0; i < n_libraries && flag == LA_SER_ORIG; i++)
    if (strcmp (libraries[i].name, base) == 0)
      return libraries[i].path;
  for (size_t i = 0; i < n_libraries && flag == LA_SER_ORIG; i++)
    if (fnmatch (libraries[i].pattern, base, 0) == 0)
      return libraries[i].path;
  return (char *) name;
}

EXPORT unsigned la_objopen (struct link_map *map, Lmid_t namespace, uintptr_t *cookie);
unsigned
la_objopen (struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
  const char *path = *map->l_name != '\0' ? map->l_name : "/proc/self/exe";
  struct stat facts;

  (void) cookie;
  if (namespace != LM_ID_BASE || stat (path, &facts) != 0)
    return 0;
  for (size_t i = 0; i < n_objects && n_waiting < MOST_WAITING; i++)
    if (objects[i].inode != 0 && objects[i].inode == facts.st_ino
        && objects[i].device == facts.st_dev)
      {
        waiting[n_waiting].map = map;
        waiting[n_waiting++].object = &objects[i];
        break;
      }
  return 0; /* bindings are not of interest */
}

/* Everything that was asked for is mapped, and nothing of it has run. @cookie: of
 * the first object. */
EXPORT void la_activity (uintptr_t *cookie, unsigned flag);
void
la_activity (uintptr_t *cookie, unsigned flag)
{
  const struct link_map *first = (const struct link_map *) *cookie;

  if (flag != LA_ACT_CONSISTENT)
    return;
  while (first != NULL && first->l_prev != NULL)
    first = first->l_prev;
  for (size_t i = 0; i < n_waiting; i++)
    overwrite (first, waiting[i].map, waiting[i].object);
  n_waiting = 0;
}
