/* test-symbols.c - names of return addresses (traces/symbols.h): those of this very program, of
 * files that changed, are damaged, or are no files. */
#include "config.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>

#include "base/rng.h"
#include "tests/util/testutil.h"
#include "traces/origin.h"
#include "traces/symbols-private.h"

/* ---- this program, as it is loaded */

typedef struct
{
  guint64 address; /* anywhere in the file */
  char path[4096];
  guint64 start, end, bias;
} Loaded;

static int
find_file (struct dl_phdr_info *info, gsize size, void *data)
{
  Loaded *loaded = data;
  (void) size;

  loaded->start = G_MAXUINT64;
  loaded->end = 0;
  loaded->bias = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD)
      {
        guint64 at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        loaded->start = MIN (loaded->start, at);
        loaded->end = MAX (loaded->end, at + info->dlpi_phdr[i].p_memsz);
      }
  return loaded->address >= loaded->start && loaded->address < loaded->end;
}

/* Where this program is loaded. */
static Loaded
this_program (void)
{
  Loaded loaded = { .address = (guint64) (gsize) find_file };
  g_autofree char *path = g_file_read_link ("/proc/self/exe", NULL);

  g_assert_cmpint (dl_iterate_phdr (find_file, &loaded), ==, 1);
  g_strlcpy (loaded.path, path, sizeof loaded.path);
  return loaded;
}

static guint64 address;
static guint line;

void test_symbols_callee (void);
void test_symbols_caller (void) __asm__("_ZN5tests7symbols6callerEi");

__attribute__ ((noinline)) void
test_symbols_callee (void)
{
  address = (guint64) (gsize) __builtin_return_address (0);
  __asm__ volatile("");
}

__attribute__ ((noinline)) void
test_symbols_caller (void)
{
  line = __LINE__ + 1;
  test_symbols_callee ();
  __asm__ volatile("");
}

/* The frames of @stack, "NAME|FILE|LINE" each; directories of files are cut off. */
static char *
stack_text (const GememTraceInfo *info, guint32 stack)
{
  guint n = 0;
  const guint32 *frames = stack != 0 ? gemem_call_stacks_get (info->stacks, stack, &n) : NULL;
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    {
      const GememFrame *frame = gemem_call_stacks_get_frame (info->stacks, frames[i]);
      g_autofree char *file = g_path_get_basename (gemem_frame_file (info, frame));
      g_string_append_printf (out, "%s%s|%s|%u", i > 0 ? "; " : "", gemem_frame_name (info, frame),
                              file, frame->line);
    }
  return g_string_free (out, FALSE);
}

/* Names @address with a module as given. */
static char *
name_address (const Loaded *loaded, const char *path, const guint8 *id, gsize size, char **note)
{
  GememTraceInfo info;
  const guint64 twice[] = { address, address };

  gemem_trace_info_init (&info, "test", NULL);
  GememSymbols *symbols = gemem_symbols_new (&info);
  gemem_symbols_add_module (symbols, path, loaded->start, loaded->end, loaded->bias, id, size);
  const guint32 stack = gemem_symbols_stack (symbols, &address, 1);
  g_assert_cmpuint (gemem_symbols_stack (symbols, &address, 1), ==, stack);
  g_assert_cmpuint (gemem_symbols_stack (symbols, twice, 2), !=, stack);
  g_assert_cmpuint (gemem_symbols_stack (symbols, NULL, 0), ==, 0);
  char *text = stack_text (&info, stack);
  gemem_symbols_note_changed (symbols);
  if (note != NULL)
    *note = info.provenance->len > 0 ? g_strdup (info.provenance->pdata[0]) : NULL;
  gemem_symbols_free (symbols);
  gemem_trace_info_clear (&info);
  return text;
}

/* "PROGRAM+0xOFFSET|??|0", for a file that cannot be read. */
static char *
only_offset (const Loaded *loaded, const char *path)
{
  g_autofree char *name = g_path_get_basename (path);
  return g_strdup_printf ("%s+0x%" G_GINT64_MODIFIER "x|??|0", name, address - 1 - loaded->bias);
}

static void
test_self (void)
{
  const Loaded loaded = this_program ();
  SymbolsElf *elf = gemem_symbols_elf_open (loaded.path);
  gsize size = 0;
  char *note;

  test_symbols_caller ();
  g_assert_nonnull (elf);
  const guint8 *id = gemem_symbols_elf_build_id (elf, &size);
#ifdef HAVE_LIBDW
  g_autofree char *expected = g_strdup_printf ("tests::symbols::caller(int)|test-symbols.c|%u",
                                               line);
#else
  g_autofree char *name = g_path_get_basename (loaded.path);
  g_autofree char *expected = g_strdup_printf ("tests::symbols::caller(int)|%s|0", name);
#endif
  g_autofree char *got = name_address (&loaded, loaded.path, NULL, 0, &note);
  g_assert_cmpstr (got, ==, expected);
  g_assert_null (note);
  g_autofree char *same = name_address (&loaded, loaded.path, id, size, &note);
  g_assert_cmpstr (same, ==, expected);
  g_assert_null (note);
  /* the table of symbols alone */
  g_assert_cmpstr (gemem_symbols_elf_function (elf, address - 1 - loaded.bias), ==,
                   "_ZN5tests7symbols6callerEi");
  g_assert_null (gemem_symbols_elf_function (elf, 0));
  gemem_symbols_elf_close (elf);
  /* built again since */
  g_autofree char *bare = only_offset (&loaded, loaded.path);
  g_autofree char *other = name_address (&loaded, loaded.path, (const guint8 *) "other", 5, &note);
  g_assert_cmpstr (other, ==, bare);
  g_autofree char *expected_note = g_strdup_printf (
      "note: %s was built again since the recording; its functions are not named", loaded.path);
  g_assert_cmpstr (note, ==, expected_note);
  g_free (note);
}

/* What a path may name: nothing, a folder, a FIFO (which must not be waited for), a text, and this
 * program cut off or damaged anywhere. */
static void
test_no_files (void)
{
  const Loaded loaded = this_program ();
  const char *folder = test_tmpdir ();
  g_autofree char *fifo = g_build_filename (folder, "fifo", NULL);
  g_autofree char *text = g_build_filename (folder, "text", NULL);
  const char *const paths[] = {
    "/no/such/file", folder, fifo, text, "relative", "linux-vdso.so.1"
  };

  test_symbols_caller ();
  g_assert_cmpint (mkfifo (fifo, 0600), ==, 0);
  g_assert_true (g_file_set_contents (text, "no program", -1, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autofree char *expected = only_offset (&loaded, paths[i]);
      g_autofree char *got = name_address (&loaded, paths[i], NULL, 0, NULL);
      g_assert_cmpstr (got, ==, expected);
    }
}

static void
test_damaged (void)
{
  const Loaded loaded = this_program ();
  const char *folder = test_tmpdir ();
  g_autofree char *path = g_build_filename (folder, "program", NULL);
  g_autofree char *data = NULL;
  GememRng rng;
  gsize size, id_size;

  gemem_rng_init (&rng, 1, "symbols");
  g_assert_true (g_file_get_contents (loaded.path, &data, &size, NULL));
  for (guint round = 0; round < 60; round++)
    {
      gsize length = round % 2 == 0 ? size : gemem_rng_below (&rng, size);
      g_autofree char *copy = g_memdup2 (data, size);
      for (guint i = 0; i < 20; i++) /* the header, and the table of sections at the end */
        if (round > 0)
          {
            const gsize at = i % 2 == 0 ? gemem_rng_below (&rng, 64)
                                        : size - 1 - gemem_rng_below (&rng, 3000);
            copy[at] ^= (char) gemem_rng_below (&rng, 256);
          }
      memcpy (copy, data, 6); /* else it is not read at all */
      g_assert_true (g_file_set_contents (path, copy, (gssize) length, NULL));
      SymbolsElf *elf = gemem_symbols_elf_open (path);
      if (elf == NULL)
        continue;
      gemem_symbols_elf_build_id (elf, &id_size);
      const char *name = gemem_symbols_elf_function (elf, address - 1 - loaded.bias);
      g_assert_true (round > 0 || g_strcmp0 (name, "_ZN5tests7symbols6callerEi") == 0);
      gemem_symbols_elf_close (elf);
    }
}

static void
test_text (void)
{
  GememTraceInfo info;

  gemem_trace_info_init (&info, "test", NULL);
  GememSymbols *symbols = gemem_symbols_new (&info);
  g_autofree char *got = stack_text (
      &info, gemem_symbols_text_stack (symbols, "_Z4pushi+0x1f (lib.so.1) < f (x) < a+0x2 (b"));
  g_assert_cmpstr (got, ==, "push(int)|lib.so.1|0; f (x)|??|0; a+0x2 (b|??|0");
  g_assert_cmpuint (gemem_symbols_text_stack (symbols, ""), ==, 0);
  gemem_symbols_free (symbols);
  gemem_trace_info_clear (&info);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/symbols/self", test_self);
  g_test_add_func ("/symbols/no-files", test_no_files);
  g_test_add_func ("/symbols/damaged", test_damaged);
  g_test_add_func ("/symbols/text", test_text);
  return g_test_run ();
}
