/* images.c - finds the entry of an image that the driver would choose, has it read, and keeps the
 * figures (images.h).
 *
 * The format of fat binaries is undocumented beyond the header fatbinary_section.h of the toolkit
 * (the wrapper). The rest was found by comparing the output of fatbinary with its options and with
 * what cuobjdump lists, and holds in the wheels of PyTorch 2.6 to 2.15:
 *   u32 0xba55ed50, u16 1, u16 bytes of this header (16), u64 bytes of all entries
 *   per entry: u16 kind (1 PTX, 2 ELF), u16 0x101, u32 bytes of this header, u64 bytes of the
 *   payload; at 16 u32 bytes of it before padding if compressed, at 28 u32 architecture, at 40 u64
 *   flags, at 56 u64 bytes unpacked
 *
 * Which entry: code for the same major version and the highest minor version that is not above the
 * GPU's, then what is for this GPU alone (90a), then what is for its family (100f): PyTorch's
 * wheels have kernels whose generic twin is empty. Without such code the PTX of the highest version
 * that is not above. (CUDA programming guide, "application compatibility".)
 *
 * Where an image ends is not told to the driver; it is taken to end with the readable
 * memory around it.
 */
#include "config.h"

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "dry/images/images-private.h"

#define WRAPPER_MAGIC 0x466243b1
#define FAT_MAGIC 0xba55ed50
#define FAT_HEADER 16
#define ENTRY_HEADER 64
#define KIND_PTX 1
#define KIND_ELF 2
#define FLAG_LZ4 0x2000
#define FLAG_ZSTD 0x8000
#define FLAG_ONE_GPU 0x100000
#define FLAG_FAMILY 0x200000

typedef struct
{
  guint kind, architecture;
  guint64 flags, unpacked;
  GememBytes payload;
} Entry;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* one that the thread sanitizer knows */
static GHashTable *images;                                /* GememDryImage, by image and sm */
static GememDryCompiler compiler;

/* ---- bytes */

static guint64
number (GememBytes bytes, gsize at, guint size)
{
  guint64 value = 0;

  for (guint i = 0; i < size; i++)
    value |= (guint64) bytes.data[at + i] << 8 * i;
  return value;
}

/* How many bytes from @address on can be read. */
static gsize
readable (const void *address)
{
  const guintptr start = (guintptr) address;
  guintptr end = start;
  FILE *maps = fopen ("/proc/self/maps", "re");
  char *line = NULL;
  gsize capacity = 0;
  unsigned long from, to;
  char may_read;

  if (maps == NULL)
    return 0;
  while (getline (&line, &capacity, maps) > 0)
    if (sscanf (line, "%lx-%lx %c", &from, &to, &may_read) == 3 && from <= end && end < to)
      {
        if (may_read != 'r')
          break;
        end = to;
      }
    else if (from > end)
      break;
  free (line);
  fclose (maps);
  return end - start;
}

/* ---- fat binaries */

/* How well @entry serves a GPU of @sm; 0: not at all. */
static guint
rank (const Entry *entry, guint sm)
{
  const gboolean one_gpu = (entry->flags & FLAG_ONE_GPU) != 0;
  const gboolean family = (entry->flags & FLAG_FAMILY) != 0;
  const guint base = 4 * entry->architecture + (one_gpu ? 2 : family ? 1 : 0) + 1;

  if (entry->architecture > sm || (one_gpu && entry->architecture != sm))
    return 0;
  if (entry->kind == KIND_ELF)
    return entry->architecture / 10 == sm / 10 ? base + (1u << 20) : 0;
  return !family || entry->architecture / 10 == sm / 10 ? base : 0;
}

/* The entry at *@at, which moves to the next one; FALSE: damaged. */
static gboolean
next_entry (GememBytes fat, gsize *at, Entry *entry)
{
  const GememBytes here = { fat.data + *at, fat.size - *at };
  guint64 header, size, packed;

  if (here.size < ENTRY_HEADER)
    return FALSE;
  header = number (here, 4, 4);
  size = number (here, 8, 8);
  packed = number (here, 16, 4);
  if (header < ENTRY_HEADER || header > here.size || size > here.size - header)
    return FALSE;
  *entry = (Entry){ .kind = number (here, 0, 2),
                    .architecture = number (here, 28, 4),
                    .flags = number (here, 40, 8),
                    .unpacked = number (here, 56, 8),
                    .payload = { here.data + header, size } };
  if ((entry->flags & (FLAG_LZ4 | FLAG_ZSTD)) != 0)
    {
      if (packed > size)
        return FALSE;
      entry->payload.size = packed;
    }
  *at += header + size;
  return TRUE;
}

static gboolean
damaged (GememDryImage *image, const char *problem)
{
  image->state = GEMEM_DRY_IMAGE_DAMAGED;
  image->problem = problem;
  return FALSE;
}

static void
read_code (GememDryImage *image, GememBytes code, guint kind)
{
  if (!(kind == KIND_ELF ? gemem_dry_elf_read (code, image) : gemem_dry_ptx_read (code, image)))
    damaged (image,
             kind == KIND_ELF ? "the ELF image of its code is damaged" : "its PTX is damaged");
  else if (kind == KIND_PTX && compiler != NULL)
    image->ptx = g_strndup ((const char *) code.data,
                            strnlen ((const char *) code.data, code.size));
}

static void
read_entry (GememDryImage *image, const Entry *entry)
{
  guint8 *unpacked = NULL;
  GememBytes code = entry->payload;

  if ((entry->flags & (FLAG_LZ4 | FLAG_ZSTD)) != 0)
    {
      unpacked = (entry->flags & FLAG_ZSTD) != 0
                     ? gemem_dry_unpack_zstd (entry->payload, entry->unpacked)
                     : gemem_dry_unpack_lz4 (entry->payload, entry->unpacked);
      code = (GememBytes){ unpacked, entry->unpacked };
      if (unpacked == NULL)
        {
          damaged (image, "its compressed code is damaged");
          return;
        }
    }
  image->allowance = code.size;
  read_code (image, code, entry->kind);
  g_free (unpacked);
}

/* FALSE: damaged. */
static gboolean
read_fat (GememDryImage *image, GememBytes bytes)
{
  guint64 header = bytes.size >= FAT_HEADER ? number (bytes, 6, 2) : 0;
  guint64 size = header >= FAT_HEADER ? number (bytes, 8, 8) : 0;
  Entry entry, best = { 0 };
  guint best_rank = 0, this_rank;
  GememBytes entries;

  if (header < FAT_HEADER || header > bytes.size || size > bytes.size - header)
    return damaged (image, "the fat binary is longer than its memory");
  entries = (GememBytes){ bytes.data + header, size };
  for (gsize at = 0; at < entries.size;)
    {
      if (!next_entry (entries, &at, &entry))
        return damaged (image, "an entry of the fat binary is longer than it");
      if ((entry.kind != KIND_ELF && entry.kind != KIND_PTX)
          || (this_rank = rank (&entry, image->sm)) <= best_rank)
        continue;
      best = entry;
      best_rank = this_rank;
    }
  if (best_rank > 0)
    read_entry (image, &best);
  else
    {
      image->state = GEMEM_DRY_IMAGE_NO_CODE;
      image->problem = "the fat binary has no code for this GPU";
    }
  return TRUE;
}

/* ---- images */

static void
read_elf (GememDryImage *image, GememBytes bytes)
{
  gboolean exact = FALSE;
  const int target = gemem_dry_elf_target (bytes, &exact);

  if (target == 0)
    damaged (image, "it is an ELF file without code of a GPU");
  else if (exact ? target != image->sm : target / 10 != image->sm / 10 || target > image->sm)
    {
      image->state = GEMEM_DRY_IMAGE_NO_CODE;
      image->problem = "its code is for another GPU";
    }
  else
    read_code (image, bytes, KIND_ELF);
}

/* @size: 0 if unknown. */
static void
read_image (GememDryImage *image, const void *from, gsize size)
{
  GememBytes bytes = { from, size > 0 ? size : readable (from) };
  guint64 magic = bytes.size >= 4 ? number (bytes, 0, 4) : 0;

  if (magic == WRAPPER_MAGIC && bytes.size >= 24)
    {
      bytes.data = (gpointer) (guintptr) number (bytes, 8, 8);
      bytes.size = readable (bytes.data);
      magic = bytes.size >= 4 ? number (bytes, 0, 4) : 0;
    }
  image->allowance = bytes.size;
  if (magic == FAT_MAGIC)
    read_fat (image, bytes);
  else if (bytes.size >= SELFMAG && memcmp (bytes.data, ELFMAG, SELFMAG) == 0)
    read_elf (image, bytes);
  else if (gemem_dry_is_ptx (bytes))
    read_code (image, bytes, KIND_PTX);
  else
    damaged (image, "it is no fat binary, no ELF image and no PTX");
  if (image->state != GEMEM_DRY_IMAGE_READ)
    {
      g_hash_table_remove_all (image->kernels);
      g_hash_table_remove_all (image->symbols);
    }
}

/* ---- the table of images */

static guint
image_hash (gconstpointer key)
{
  const GememDryImage *image = key;

  return g_direct_hash (image->image) ^ image->sm;
}

static gboolean
image_equal (gconstpointer a, gconstpointer b)
{
  const GememDryImage *left = a, *right = b;

  return left->image == right->image && left->sm == right->sm;
}

static void
kernel_free (gpointer data)
{
  GememDryKernel *kernel = data;

  if (kernel->parameters != NULL)
    g_array_unref (kernel->parameters);
  g_free (kernel);
}

static void
image_free (gpointer data)
{
  GememDryImage *image = data;

  g_hash_table_unref (image->kernels);
  g_hash_table_unref (image->symbols);
  if (image->compiled != NULL)
    image_free (image->compiled);
  g_free (image->ptx);
  g_free (image);
}

static GememDryImage *
image_new (int sm)
{
  GememDryImage *image = g_new0 (GememDryImage, 1);

  image->sm = sm;
  image->kernels = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, kernel_free);
  image->symbols = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  return image;
}

/* Adds an image and reads it from @from; @key NULL: the image itself is the key. */
static GememDryImage *
image_add (const void *key, const void *from, gsize size, int sm)
{
  GememDryImage *image = image_new (sm);

  image->image = key != NULL ? key : image;
  read_image (image, from, size);
  if (images == NULL)
    images = g_hash_table_new_full (image_hash, image_equal, NULL, image_free);
  g_hash_table_add (images, image);
  return image;
}

/* Under the lock. */
static GememDryImage *
image_get (const void *from, int sm)
{
  const GememDryImage key = { .image = from, .sm = sm };
  GememDryImage *image = images != NULL ? g_hash_table_lookup (images, &key) : NULL;

  return image != NULL ? image : image_add (from, from, 0, sm);
}

const void *
gemem_dry_image_load (const void *from, gsize size, int sm)
{
  const void *key;

  pthread_mutex_lock (&mutex);
  key = image_add (NULL, from, size, sm);
  pthread_mutex_unlock (&mutex);
  return key;
}

static gboolean
is_of (gpointer key, gpointer value, gpointer data)
{
  return ((const GememDryImage *) key)->image == data;
}

void
gemem_dry_image_forget (const void *from)
{
  pthread_mutex_lock (&mutex);
  if (images != NULL)
    g_hash_table_foreach_remove (images, is_of, (gpointer) from);
  pthread_mutex_unlock (&mutex);
}

const GememDryKernel *
gemem_dry_kernel (const void *from, const char *name, int sm)
{
  const GememDryKernel *kernel;

  pthread_mutex_lock (&mutex);
  kernel = g_hash_table_lookup (image_get (from, sm)->kernels, name);
  pthread_mutex_unlock (&mutex);
  return kernel;
}

/* ---- PTX */

void
gemem_dry_set_compiler (GememDryCompiler compile)
{
  pthread_mutex_lock (&mutex);
  compiler = compile;
  pthread_mutex_unlock (&mutex);
}

/* The PTX of the image, which is now to be compiled; free with g_free(); NULL: there is none, or it was compiled. */
static char *
take_ptx (const void *from, int sm)
{
  char *ptx;

  pthread_mutex_lock (&mutex);
  ptx = g_steal_pointer (&image_get (from, sm)->ptx);
  pthread_mutex_unlock (&mutex);
  return ptx;
}

static void
keep_compiled (const void *from, int sm, const guint8 *code, gsize size)
{
  GememDryImage *compiled = image_new (sm);

  read_image (compiled, code, size);
  pthread_mutex_lock (&mutex);
  image_get (from, sm)->compiled = compiled;
  pthread_mutex_unlock (&mutex);
}

const GememDryKernel *
gemem_dry_kernel_compiled (const void *from, const char *name, int sm)
{
  static pthread_mutex_t compiling = PTHREAD_MUTEX_INITIALIZER;
  const GememDryKernel *kernel = NULL;
  const GememDryImage *compiled;
  gsize size = 0;

  pthread_mutex_lock (&compiling); /* others wait for what is being compiled */
  g_autofree char *ptx = take_ptx (from, sm);
  g_autofree guint8 *code = ptx != NULL && compiler != NULL ? compiler (ptx, sm, &size) : NULL;
  if (code != NULL)
    keep_compiled (from, sm, code, size);
  pthread_mutex_lock (&mutex);
  compiled = image_get (from, sm)->compiled;
  if (compiled != NULL)
    kernel = g_hash_table_lookup (compiled->kernels, name);
  pthread_mutex_unlock (&mutex);
  pthread_mutex_unlock (&compiling);
  return kernel;
}

/* ---- tables */

char **
gemem_dry_kernel_names (const void *from, int sm)
{
  GStrvBuilder *names = g_strv_builder_new ();
  char **result;

  pthread_mutex_lock (&mutex);
  GList *sorted = g_list_sort (g_hash_table_get_keys (image_get (from, sm)->kernels),
                               (GCompareFunc) strcmp);
  for (const GList *name = sorted; name != NULL; name = name->next)
    g_strv_builder_add (names, name->data);
  pthread_mutex_unlock (&mutex);
  g_list_free (sorted);
  result = g_strv_builder_end (names);
  g_strv_builder_unref (names);
  return result;
}

gboolean
gemem_dry_symbol (const void *from, const char *name, int sm, guint64 *size)
{
  const guint64 *found;

  pthread_mutex_lock (&mutex);
  found = g_hash_table_lookup (image_get (from, sm)->symbols, name);
  if (found != NULL && size != NULL)
    *size = *found;
  pthread_mutex_unlock (&mutex);
  return found != NULL;
}

GememDryImageState
gemem_dry_image_state (const void *from, int sm, const char **problem)
{
  const GememDryImage *image;
  GememDryImageState state;

  pthread_mutex_lock (&mutex);
  image = image_get (from, sm);
  state = image->state;
  if (problem != NULL)
    *problem = image->problem;
  pthread_mutex_unlock (&mutex);
  return state;
}
