/* fuzz-dry.c - what dry runs read: images with kernels, programs and shared objects (which recordings are
 * named from, too), and the notes of a run.
 */
#include "config.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dry/images/images.h"
#include "dry/launch/launch.h"
#include "dry/verdict/verdict.h"
#include "tests/fuzz/fuzz.h"
#include "traces/symbols-private.h"

static const char *const members[] = { "image", "elf", "notes", NULL };

enum
{
  IMAGE,
  ELF,
  NOTES
};

static const char *
member_name (guint member)
{
  return members[member];
}

/* ---- images */

/* The wrapper of a fat binary is a pointer, which no file holds. */
static const guint8 wrapper[] = { 0xb1, 0x43, 0x62, 0x46 };

static gboolean
ask (const void *image, int sm)
{
  guint64 size;

  gemem_dry_kernel (image, "plain", sm);
  gemem_dry_symbol (image, "table", sm, &size);
  return gemem_dry_image_state (image, sm, NULL) == GEMEM_DRY_IMAGE_READ;
}

/* The bytes end where readable memory ends, as of an image whose size is not told. */
static gboolean
ask_unsized (const guint8 *data, gsize size, int sm)
{
  const gsize page = (gsize) sysconf (_SC_PAGESIZE), pages = (size + page - 1) / page * page;
  guint8 *memory = mmap (NULL, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                         -1, 0);

  g_assert_true (memory != MAP_FAILED);
  g_assert_cmpint (mprotect (memory + pages, page, PROT_NONE), ==, 0);
  guint8 *image = memory + pages - size;
  memcpy (image, data, size);
  gboolean read = ask (image, sm);
  gemem_dry_image_forget (image);
  munmap (memory, pages + page);
  return read;
}

static gboolean
run_image (const guint8 *data, gsize size)
{
  static const int capabilities[] = { 52, 80, 90, 120 };
  gboolean read = FALSE;

  if (size == 0 || (size >= sizeof wrapper && memcmp (data, wrapper, sizeof wrapper) == 0))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (capabilities); i++)
    {
      const void *image = gemem_dry_image_load (data, size, capabilities[i]);
      const gboolean here = ask (image, capabilities[i]);
      gemem_dry_image_forget (image);
      g_assert_true (here == ask_unsized (data, size, capabilities[i]));
      read |= here;
    }
  return read;
}

/* ---- programs */

/* The reader that names the functions of recorded call stacks. */
static void
read_symbols (const char *path)
{
  SymbolsElf *elf = gemem_symbols_elf_open (path);
  gsize size;

  if (elf == NULL)
    return;
  gemem_symbols_elf_build_id (elf, &size);
  for (guint64 address = 0; address < 0x4000; address += 0x101)
    gemem_symbols_elf_function (elf, address);
  gemem_symbols_elf_function (elf, G_MAXUINT64);
  gemem_symbols_elf_close (elf);
}

static gboolean
run_elf (const guint8 *data, gsize size)
{
  const char *path = fuzz_file (data, size), *const roots[] = { path, NULL };
  GememDryElf *elf = gemem_dry_elf_open (path);
  GememDrySymbol symbol;

  read_symbols (path);
  if (elf == NULL)
    return FALSE;
  for (guint i = 0; i < gemem_dry_elf_n_symbols (elf); i++)
    if (gemem_dry_elf_symbol (elf, i, &symbol))
      g_assert_true (symbol.name[0] != '\0');
  gemem_dry_elf_close (elf);
  g_autoptr (GPtrArray) linked = g_ptr_array_new_with_free_func (gemem_dry_linked_free);
  g_autoptr (GememDryInstalled) installed = gemem_dry_installed_new (TRUE);
  g_autoptr (GPtrArray) libraries = gemem_dry_scan (roots, linked, installed);
  g_autoptr (GString) list = g_string_new (NULL);
  gemem_dry_linked_print (linked, list);
  g_autoptr (GHashTable) written = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < libraries->len; i++)
    g_byte_array_unref (gemem_dry_write (libraries->pdata[i], written));
  return TRUE;
}

/* ---- notes */

static gboolean
run_notes (const guint8 *data, gsize size)
{
  DryRun run = { .links = NULL };
  DryVerdict verdict = { 0 };
  DryFinding found = { .pid = 7 };
  guint n = 0;

  gemem_dry_counts_init (&verdict);
  gemem_dry_notes_load (&run, g_strndup ((const char *) data, size));
  gemem_dry_notes_read (&run, &verdict);
  gemem_dry_notes_process (&run, &found);
#define LIST(name) n += verdict.name->len;
  DRY_COUNTS (LIST)
#undef LIST
  gemem_dry_counts_clear (&verdict);
  g_free (found.nccl_on);
  g_free (run.notes_text);
  g_array_unref (run.notes);
  return n > 0;
}

/* ---- the kind */

static gboolean
run_dry (guint member, const guint8 *data, gsize size)
{
  return member == IMAGE ? run_image (data, size)
         : member == ELF ? run_elf (data, size)
                         : run_notes (data, size);
}

static void
dry_seeds (guint member, GPtrArray *seeds)
{
  static const char notes[] =
      "missing cudaLaunchCooperativeKernel libcudart.so.12\nfailed 3 cudaLaunchCooperativeKernel\n"
      "harmless 7 cudaStreamAttachMemAsync\nvalue cudaMemcpy of 8 bytes at 0x1000\n"
      "assumed train.py:9 step\nsized train.py:10 nonzero\nmanaged 4096 bytes\ntold "
      "generate()\nbuffers "
      "of NCCL\n"
      "workspace cublasLtMatmulAlgoGetHeuristic 0..33554432\nhost train.py:7\n"
      "kernel vectorAdd\nimage 3 entries\ntimes 12 value cudaMemcpy of 8 bytes at 0x1000\n"
      "last 2000 train.py:31 main\nrefused 7 0\nnccl 7 0 545259520 0 one h100\nheld 7 0 4096\nrank "
      "7 1\n"
      "threshold 7 0 0\nvisible 7 0 2\n";
  GememDryWanted function = { (char *) "cublasCreate_v2", (char *) "libcublas.so.12", 0 },
                 table = { (char *) "table", NULL, 64 };
  GememDryLibrary library = { .soname = (char *) "libcublas.so.12", .symbols = g_ptr_array_new () };
  g_autoptr (GHashTable) written = g_hash_table_new (g_str_hash, g_str_equal);

  g_ptr_array_add (library.symbols, &function);
  g_ptr_array_add (library.symbols, &table);
  if (member == NOTES)
    fuzz_add_text (seeds, notes);
  else if (member == ELF)
    g_ptr_array_add (seeds, g_byte_array_free_to_bytes (gemem_dry_write (&library, written)));
  g_ptr_array_unref (library.symbols);
}

const FuzzKind fuzz_dry = { "dry", member_name, run_dry, dry_seeds, NULL };
