/* symbols-elf.c - functions from the symbol tables of an ELF file (symbols-private.h).
 *
 * The file is mapped and read as it is; every offset is checked against the size of the file, since
 * a journal can name any file.  Only files of the machine's own class and byte order are read: a
 * recorded process ran on such a machine.
 */
#include "config.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/symbols-private.h"

typedef ElfW (Ehdr) Header;
typedef ElfW (Shdr) Section;
typedef ElfW (Sym) ElfSymbol;
typedef ElfW (Nhdr) Note;

typedef struct
{
  guint64 start, end; /* end: start if the file does not tell */
  const char *name;
} Function;

struct _SymbolsElf
{
  GMappedFile *file;
  const guint8 *data;
  gsize size;
  const guint8 *sections;
  guint n_sections;
  GArray *functions; /* by address; NULL: not read yet */
};

/* The bytes [offset, offset + size) of the file; NULL: it is shorter. */
static const guint8 *
part (const SymbolsElf *elf, guint64 offset, guint64 size)
{
  return offset <= elf->size && size <= elf->size - offset ? elf->data + offset : NULL;
}

static Section
section (const SymbolsElf *elf, guint number)
{
  Section result;
  memcpy (&result, elf->sections + (gsize) number * sizeof result, sizeof result);
  return result;
}

SymbolsElf *
gemem_symbols_elf_open (const char *path)
{
  static const guint8 own[] = { ELFMAG0,
                                ELFMAG1,
                                ELFMAG2,
                                ELFMAG3,
                                sizeof (void *) == 8 ? ELFCLASS64 : ELFCLASS32,
                                G_BYTE_ORDER == G_LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB };
  const int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat facts;
  GMappedFile *file = fd >= 0 && fstat (fd, &facts) == 0 && S_ISREG (facts.st_mode)
                          ? g_mapped_file_new_from_fd (fd, FALSE, NULL)
                          : NULL;
  Header header;

  if (fd >= 0)
    close (fd);
  if (file == NULL)
    return NULL;
  SymbolsElf *elf = g_new0 (SymbolsElf, 1);
  elf->file = file;
  elf->data = (const guint8 *) g_mapped_file_get_contents (file);
  elf->size = g_mapped_file_get_length (file);
  if (elf->size < sizeof header || memcmp (elf->data, own, sizeof own) != 0)
    {
      gemem_symbols_elf_close (elf);
      return NULL;
    }
  memcpy (&header, elf->data, sizeof header);
  elf->sections = header.e_shentsize == sizeof (Section)
                      ? part (elf, header.e_shoff, (guint64) header.e_shnum * sizeof (Section))
                      : NULL;
  elf->n_sections = elf->sections != NULL ? header.e_shnum : 0;
  return elf;
}

void
gemem_symbols_elf_close (SymbolsElf *elf)
{
  if (elf == NULL)
    return;
  g_clear_pointer (&elf->functions, g_array_unref);
  g_mapped_file_unref (elf->file);
  g_free (elf);
}

/* ---- build-id */

const guint8 *
gemem_symbols_elf_build_id (const SymbolsElf *elf, gsize *size)
{
  for (guint i = 0; i < elf->n_sections; i++)
    {
      const Section notes = section (elf, i);
      const guint8 *at = notes.sh_type == SHT_NOTE ? part (elf, notes.sh_offset, notes.sh_size)
                                                   : NULL;
      for (guint64 left = at != NULL ? notes.sh_size : 0; left >= sizeof (Note);)
        {
          Note note;
          memcpy (&note, at, sizeof note);
          const guint64 name = ((guint64) note.n_namesz + 3) & ~G_GUINT64_CONSTANT (3),
                        whole = sizeof note + name
                                + (((guint64) note.n_descsz + 3) & ~G_GUINT64_CONSTANT (3));
          if (whole > left)
            break;
          if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4
              && memcmp (at + sizeof note, "GNU", 4) == 0)
            {
              *size = note.n_descsz;
              return at + sizeof note + name;
            }
          at += whole;
          left -= whole;
        }
    }
  return NULL;
}

/* ---- functions */

static gint
compare_functions (gconstpointer a, gconstpointer b)
{
  const Function *x = a, *y = b;
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  return (x->end > y->end) - (x->end < y->end);
}

/* Adds the functions of a table of symbols. */
static void
add_table (SymbolsElf *elf, const Section *table)
{
  const guint64 n = table->sh_size / sizeof (ElfSymbol);
  const guint8 *symbols = part (elf, table->sh_offset, n * sizeof (ElfSymbol));

  if (symbols == NULL || table->sh_link >= elf->n_sections)
    return;
  const Section names = section (elf, table->sh_link);
  const char *text = (const char *) part (elf, names.sh_offset, names.sh_size);
  if (text == NULL)
    return;
  for (guint64 i = 0; i < n; i++)
    {
      ElfSymbol symbol;
      memcpy (&symbol, symbols + i * sizeof symbol, sizeof symbol);
      const guint type = symbol.st_info & 15;
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF
          || symbol.st_name >= names.sh_size || text[symbol.st_name] == '\0'
          || memchr (text + symbol.st_name, '\0', names.sh_size - symbol.st_name) == NULL)
        continue;
      const Function function = { symbol.st_value, symbol.st_value + symbol.st_size,
                                  text + symbol.st_name };
      g_array_append_val (elf->functions, function);
    }
}

static void
read_functions (SymbolsElf *elf)
{
  elf->functions = g_array_new (FALSE, FALSE, sizeof (Function));
  for (guint i = 0; i < elf->n_sections; i++)
    {
      const Section table = section (elf, i);
      if (table.sh_type == SHT_SYMTAB || table.sh_type == SHT_DYNSYM)
        add_table (elf, &table);
    }
  g_array_sort (elf->functions, compare_functions);
}

const char *
gemem_symbols_elf_function (SymbolsElf *elf, guint64 address)
{
  if (elf->functions == NULL)
    read_functions (elf);
  guint low = 0, high = elf->functions->len;
  while (low < high)
    {
      const guint middle = low + (high - low) / 2;
      if (g_array_index (elf->functions, Function, middle).start <= address)
        low = middle + 1;
      else
        high = middle;
    }
  if (low == 0)
    return NULL;
  const Function *found = &g_array_index (elf->functions, Function, low - 1);
  return found->end == found->start || address < found->end ? found->name : NULL;
}
