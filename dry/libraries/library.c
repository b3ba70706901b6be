/* library.c - objects of NVIDIA's libraries, and answers that are not known (library.h).
 *
 * An object is found by its address, because some libraries let the program allocate it.
 */
#include "config.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dry/driver/remembered.h"
#include "dry/libraries/library.h"
#include "dry/protocol/protocol.h"
#include "dry/runtime/runtime.h"

#define OBJECT_SIZE 512

typedef struct
{
  GHashTable *attributes; /* id -> GBytes */
  gboolean own;           /* allocated by gemem_library_object_new() */
} Kept;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static GHashTable *objects; /* address -> Kept */
static GHashTable *noted;   /* notes that were made */

static void
kept_free (gpointer data)
{
  Kept *kept = data;
  g_hash_table_unref (kept->attributes);
  g_free (kept);
}

/* The caller holds the mutex. */
static Kept *
find (gconstpointer object, gboolean make)
{
  Kept *kept;

  if (objects == NULL)
    objects = g_hash_table_new_full (NULL, NULL, NULL, kept_free);
  kept = g_hash_table_lookup (objects, object);
  if (kept == NULL && make)
    {
      kept = g_new0 (Kept, 1);
      kept->attributes = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_bytes_unref);
      g_hash_table_insert (objects, (gpointer) object, kept);
    }
  return kept;
}

gpointer
gemem_library_object_new (void)
{
  gpointer object = g_malloc0 (OBJECT_SIZE);
  pthread_mutex_lock (&mutex);
  find (object, TRUE)->own = TRUE;
  pthread_mutex_unlock (&mutex);
  return object;
}

void
gemem_library_object_free (gpointer object)
{
  pthread_mutex_lock (&mutex);
  const Kept *kept = find (object, FALSE);
  const gboolean own = kept != NULL && kept->own;
  if (kept != NULL)
    g_hash_table_remove (objects, object);
  pthread_mutex_unlock (&mutex);
  if (own)
    g_free (object);
}

void
gemem_library_keep (gconstpointer object, int id, gconstpointer data, gsize size)
{
  pthread_mutex_lock (&mutex);
  g_hash_table_insert (find (object, TRUE)->attributes, GINT_TO_POINTER (id),
                       g_bytes_new (data, size));
  pthread_mutex_unlock (&mutex);
}

void
gemem_library_keep_number (gconstpointer object, int id, gint64 number)
{
  gemem_library_keep (object, id, &number, sizeof number);
}

void
gemem_library_copy (gconstpointer to, gconstpointer from)
{
  GHashTableIter iter;
  gpointer id, bytes;

  pthread_mutex_lock (&mutex);
  GHashTable *own = find (to, TRUE)->attributes;
  const Kept *kept = find (from, FALSE);
  if (kept != NULL && kept->attributes != own)
    {
      g_hash_table_iter_init (&iter, kept->attributes);
      while (g_hash_table_iter_next (&iter, &id, &bytes))
        g_hash_table_insert (own, id, g_bytes_ref (bytes));
    }
  pthread_mutex_unlock (&mutex);
}

gsize
gemem_library_kept (gconstpointer object, int id, gpointer data, gsize size)
{
  gsize has = 0;

  pthread_mutex_lock (&mutex);
  const Kept *kept = find (object, FALSE);
  GBytes *bytes = kept != NULL ? g_hash_table_lookup (kept->attributes, GINT_TO_POINTER (id))
                               : NULL;
  if (bytes != NULL)
    {
      const guint8 *from = g_bytes_get_data (bytes, &has);
      if (data != NULL && MIN (size, has) > 0)
        memcpy (data, from, MIN (size, has));
    }
  pthread_mutex_unlock (&mutex);
  return has;
}

gint64
gemem_library_kept_number (gconstpointer object, int id, gint64 otherwise)
{
  union
  {
    gint8 one;
    gint32 four;
    gint64 eight;
  } number = { 0 };

  switch (gemem_library_kept (object, id, &number, sizeof number))
    {
    case 1:
      return number.one;
    case 4:
      return number.four;
    case 8:
      return number.eight;
    default:
      return otherwise;
    }
}

/* ---- answers */

static void
note_once (GememDryNote word, const char *text)
{
  g_autofree char *line = g_strdup_printf ("%d %s", (int) word, text);

  pthread_mutex_lock (&mutex);
  if (noted == NULL)
    noted = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  const gboolean fresh = g_hash_table_add (noted, g_steal_pointer (&line));
  pthread_mutex_unlock (&mutex);
  if (fresh)
    gemem_dry_note (word, text);
}

int
gemem_library_version (const char *library, int part)
{
  g_autofree char *upper = g_ascii_strup (library, -1);
  g_autofree char *name = g_strconcat (GEMEM_ENV_DRY_VERSION_OF, upper, NULL);
  const char *text = getenv (name);
  const int cuda = gemem_runtime_version (); /* 12040 is 12.4 */

  if (text == NULL || !g_ascii_isdigit (*text))
    {
      const gboolean own = strcmp (library, "cudnn") == 0 || strcmp (library, "nccl") == 0;
      g_autofree char *line = own ? g_strdup_printf ("%s is not known: %s is not set", library,
                                                     name)
                                  : g_strdup_printf (
                                      "%s is taken to be that of CUDA %d.%d: %s is not set",
                                      library, cuda / 1000, cuda % 1000 / 10, name);
      note_once (GEMEM_DRY_NOTE_VERSION, line);
      return own || part > 1 ? 0 : part == 0 ? cuda / 1000 : cuda % 1000 / 10;
    }
  g_auto (GStrv) parts = g_strsplit (text, ".", -1);
  return (guint) part < g_strv_length (parts) ? atoi (parts[part]) : 0;
}

gsize
gemem_library_workspaces (void)
{
  const char *size = getenv (GEMEM_ENV_DRY_WORKSPACES);
  return size != NULL ? (gsize) g_ascii_strtoull (size, NULL, 10) : 0;
}

gsize
gemem_library_unknown_size (const char *function, guint64 limit)
{
  const char *problem = getenv (GEMEM_ENV_DRY_NOT_RUN); /* why an installed library did not run */
  g_autofree char *line = limit > 0 ? g_strdup_printf ("%s 0..%" G_GUINT64_FORMAT, function, limit)
                                    : g_strdup_printf ("%s 0..unknown", function);
  note_once (GEMEM_DRY_NOTE_WORKSPACE, line);
  if (problem != NULL && *problem != '\0')
    note_once (GEMEM_DRY_NOTE_TOLD, problem);
  return limit > 0 ? MIN (gemem_library_workspaces (), limit) : gemem_library_workspaces ();
}

void
gemem_library_unknown_value (const char *function)
{
  gemem_dry_wrote (0, 0, NULL, FALSE); /* it may have written to the device, too */
  note_once (GEMEM_DRY_NOTE_VALUE, function);
}

/* By a name that audit.c does not know, else it would lead to the stand-in, and that no other was opened by: the loader would
 * return that one.  DEEPBIND: what the library calls of its own is not what is preloaded. */
gpointer
gemem_library_open_beside (const char *path)
{
  const int fd = open (path, O_RDONLY | O_CLOEXEC);
  static gint opened;
  const guint number = (guint) g_atomic_int_add (&opened, 1);
  g_autofree char *name = g_strdup_printf ("/proc/%d%.*s/fd/%d", (int) getpid (),
                                           (int) MIN (2 * number, 16), "/./././././././.", fd);
  gpointer library;

  if (fd < 0)
    return NULL;
  gemem_dry_in_library (1);
  library = dlopen (name, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  gemem_dry_in_library (-1);
  close (fd);
  return library;
}

/* Where a relocation of @map names a function that another object has: its name; else NULL. */
static const char *
imported (const ElfW (Rela) * one, const ElfW (Sym) * symbols, const char *names)
{
  const guint64 type = ELF64_R_TYPE (one->r_info);
  const ElfW (Sym) *symbol = &symbols[ELF64_R_SYM (one->r_info)];

  return (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) && symbol->st_shndx == SHN_UNDEF
             ? names + symbol->st_name
             : NULL;
}

static void
write_pointer (gpointer *at, gpointer value)
{
  const gsize page = (gsize) sysconf (_SC_PAGESIZE), first = (gsize) at / page * page;

  if (mprotect (GSIZE_TO_POINTER (first), page, PROT_READ | PROT_WRITE) == 0)
    *at = value;
}

/* The loader takes an object of that name that is loaded, which is the stand-in. */
void
gemem_library_bind (gpointer library, const char *prefix, gpointer to)
{
  const ElfW (Sym) *symbols = NULL;
  const char *names = NULL;
  const ElfW (Rela) * tables[2] = { NULL };
  gsize sizes[2] = { 0 };
  struct link_map *map;

  if (dlinfo (library, RTLD_DI_LINKMAP, &map) != 0)
    return;
  for (const ElfW (Dyn) *one = map->l_ld; one->d_tag != DT_NULL; one++)
    switch (one->d_tag)
      {
      case DT_SYMTAB:
        symbols = GSIZE_TO_POINTER (one->d_un.d_ptr);
        break;
      case DT_STRTAB:
        names = GSIZE_TO_POINTER (one->d_un.d_ptr);
        break;
      case DT_JMPREL:
        tables[0] = GSIZE_TO_POINTER (one->d_un.d_ptr);
        break;
      case DT_PLTRELSZ:
        sizes[0] = one->d_un.d_val;
        break;
      case DT_RELA:
        tables[1] = GSIZE_TO_POINTER (one->d_un.d_ptr);
        break;
      case DT_RELASZ:
        sizes[1] = one->d_un.d_val;
        break;
      default:
        break;
      }
  for (guint t = 0; t < G_N_ELEMENTS (tables) && symbols != NULL && names != NULL; t++)
    for (gsize i = 0; tables[t] != NULL && i < sizes[t] / sizeof *tables[t]; i++)
      {
        const char *name = imported (&tables[t][i], symbols, names);
        gpointer function = name != NULL && g_str_has_prefix (name, prefix) ? dlsym (to, name)
                                                                            : NULL;
        if (function != NULL)
          write_pointer (GSIZE_TO_POINTER (map->l_addr + tables[t][i].r_offset), function);
      }
}
