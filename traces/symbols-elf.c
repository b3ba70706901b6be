/* symbols-elf.c - functions from the symbol tables of an ELF file (symbols-private.h).
 *
 * The file is read as it is (base/io/elf.h): a journal can name any file.
 */
#include "config.h"

#include <string.h>

#include "base/io/elf.h"
#include "traces/symbols-private.h"

typedef ElfW (Nhdr) Note;

typedef struct
{
  guint64 start, end; /* end: start if the file does not tell */
  const char *name;
} Function;

struct _SymbolsElf
{
  GememElf file;
  GArray *functions; /* by address; NULL: not read yet */
};

SymbolsElf *
gemem_symbols_elf_open (const char *path)
{
  GememElf file;

  if (!gemem_elf_open (&file, path))
    return NULL;
  SymbolsElf *elf = g_new0 (SymbolsElf, 1);
  elf->file = file;
  return elf;
}

void
gemem_symbols_elf_close (SymbolsElf *elf)
{
  if (elf == NULL)
    return;
  g_clear_pointer (&elf->functions, g_array_unref);
  gemem_elf_close (&elf->file);
  g_free (elf);
}

/* ---- build-id */

const guint8 *
gemem_symbols_elf_build_id (const SymbolsElf *elf, gsize *size)
{
  GememElfSection section;
  GememBytes notes;

  for (gsize i = 0; gemem_elf_section (&elf->file, i, &section); i++)
    if (section.sh_type == SHT_NOTE && gemem_elf_content (&elf->file, &section, &notes))
      while (notes.size >= sizeof (Note))
        {
          const guint8 *at = notes.data;
          Note note;
          memcpy (&note, at, sizeof note);
          const guint64 name = ((guint64) note.n_namesz + 3) & ~G_GUINT64_CONSTANT (3),
                        whole = sizeof note + name
                                + (((guint64) note.n_descsz + 3) & ~G_GUINT64_CONSTANT (3));
          if (whole > notes.size)
            break;
          if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4
              && memcmp (at + sizeof note, "GNU", 4) == 0)
            {
              *size = note.n_descsz;
              return at + sizeof note + name;
            }
          notes = (GememBytes){ at + whole, notes.size - whole };
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
add_table (SymbolsElf *elf, const GememElfSection *table)
{
  const guint64 n = table->sh_size / sizeof (GememElfSymbol);
  GememBytes symbols, names;

  if (!gemem_bytes_part (elf->file.file, table->sh_offset, n * sizeof (GememElfSymbol), &symbols)
      || !gemem_elf_strings (&elf->file, table->sh_link, &names))
    return;
  for (guint64 i = 0; i < n; i++)
    {
      GememElfSymbol symbol;
      memcpy (&symbol, symbols.data + i * sizeof symbol, sizeof symbol);
      const guint type = symbol.st_info & 15;
      const char *name = gemem_bytes_string (names, symbol.st_name);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF
          || name == NULL || *name == '\0')
        continue;
      const Function function = { symbol.st_value, symbol.st_value + symbol.st_size, name };
      g_array_append_val (elf->functions, function);
    }
}

static void
read_functions (SymbolsElf *elf)
{
  GememElfSection table;

  elf->functions = g_array_new (FALSE, FALSE, sizeof (Function));
  for (gsize i = 0; gemem_elf_section (&elf->file, i, &table); i++)
    if (table.sh_type == SHT_SYMTAB || table.sh_type == SHT_DYNSYM)
      add_table (elf, &table);
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
