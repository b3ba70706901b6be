/* elf.c - the dynamic section and symbols of an ELF object (launch.h).
 *
 * The file is read as it is (base/io/elf.h), by its program headers, as the loader does: section
 * headers may be missing or wrong, and are read for the table of all symbols and the section of
 * constants alone.
 *
 * Source: the System V ABI, and the LSB for symbol versions and the GNU hash table.
 */
#include "config.h"

#include <string.h>

#include "base/io/elf.h"
#include "dry/launch/launch.h"

#define MOST_LOADS 64
#define MOST_SYMBOLS (1u << 24)

/* A version that symbols name by number. */
typedef struct
{
  const char *name;
  const char *file; /* NULL: defined here */
} Version;

struct _GememDryElf
{
  GememElf file;
  GememElfSegment loads[MOST_LOADS];
  guint n_loads;
  GememElfSegment frames; /* PT_GNU_EH_FRAME */
  GememBytes strings;
  const char *soname, *run_path;
  GPtrArray *needed;
  const guint8 *symbols, *versions; /* versions: a guint16 per symbol, or NULL */
  guint n_symbols;
  gboolean all;  /* the symbols are those of .symtab */
  GArray *nodes; /* Version, by number; name NULL: none of this number */
};

/* The bytes [address, address + size) as they are loaded; NULL: not in the file.  *@left, unless
 * NULL: how many follow @address in the same segment. */
static const guint8 *
loaded (const GememDryElf *elf, guint64 address, guint64 size, guint64 *left)
{
  for (guint i = 0; i < elf->n_loads; i++)
    {
      const GememElfSegment *load = &elf->loads[i];
      GememBytes bytes;
      if (address < load->p_vaddr || address - load->p_vaddr >= load->p_filesz
          || size > load->p_filesz - (address - load->p_vaddr))
        continue;
      if (!gemem_bytes_part (elf->file.file, load->p_offset, load->p_filesz, &bytes))
        return NULL;
      if (left != NULL)
        *left = load->p_filesz - (address - load->p_vaddr);
      return bytes.data + (address - load->p_vaddr);
    }
  return NULL;
}

/* Copies the bytes [address, address + size) to @to; FALSE: not in the file. */
static gboolean
get (const GememDryElf *elf, guint64 address, gpointer to, gsize size)
{
  const guint8 *at = loaded (elf, address, size, NULL);

  if (at != NULL)
    memcpy (to, at, size);
  return at != NULL;
}

/* ---- versions */

static void
add_node (GememDryElf *elf, guint number, const char *name, const char *file)
{
  number &= 0x7fff;
  if (number < 2 || name == NULL) /* 0: local, 1: global, without a version */
    return;
  if (elf->nodes->len <= number)
    g_array_set_size (elf->nodes, number + 1);
  g_array_index (elf->nodes, Version, number) = (Version){ name, file };
}

static void
read_needed_versions (GememDryElf *elf, guint64 address, guint64 count)
{
  for (guint64 i = 0; i < MIN (count, 4096); i++)
    {
      Elf64_Verneed need;
      if (!get (elf, address, &need, sizeof need))
        return;
      guint64 entry = address + need.vn_aux;
      for (guint j = 0; j < need.vn_cnt; j++)
        {
          Elf64_Vernaux one;
          if (!get (elf, entry, &one, sizeof one))
            break;
          add_node (elf, one.vna_other, gemem_bytes_string (elf->strings, one.vna_name),
                    gemem_bytes_string (elf->strings, need.vn_file));
          if (one.vna_next == 0)
            break;
          entry += one.vna_next;
        }
      if (need.vn_next == 0)
        return;
      address += need.vn_next;
    }
}

static void
read_defined_versions (GememDryElf *elf, guint64 address, guint64 count)
{
  for (guint64 i = 0; i < MIN (count, 4096); i++)
    {
      Elf64_Verdef node;
      Elf64_Verdaux name;
      if (!get (elf, address, &node, sizeof node)
          || !get (elf, address + node.vd_aux, &name, sizeof name))
        return;
      add_node (elf, node.vd_ndx, gemem_bytes_string (elf->strings, name.vda_name), NULL);
      if (node.vd_next == 0)
        return;
      address += node.vd_next;
    }
}

/* ---- how many symbols */

/* The number of symbols that a GNU hash table knows: the end of the chain of its last bucket. */
static guint64
count_by_gnu_hash (const GememDryElf *elf, guint64 address)
{
  guint32 head[4]; /* buckets, first symbol, words of the filter, shift */
  guint32 last = 0;

  if (!get (elf, address, head, sizeof head))
    return 0;
  const guint64 buckets = address + sizeof head + (guint64) head[2] * 8;
  const guint8 *at = loaded (elf, buckets, (guint64) head[0] * 4, NULL);
  for (guint32 i = 0; at != NULL && i < head[0]; i++)
    {
      guint32 bucket;
      memcpy (&bucket, at + (gsize) i * 4, 4);
      last = MAX (last, bucket);
    }
  if (last < head[1] || last == 0)
    return head[1];
  const guint64 chains = buckets + (guint64) head[0] * 4;
  for (guint64 i = last; i < MOST_SYMBOLS; i++)
    {
      guint32 hash;
      if (!get (elf, chains + (i - head[1]) * 4, &hash, 4))
        return 0;
      if ((hash & 1) != 0)
        return i + 1;
    }
  return 0;
}

static guint64
count_by_hash (const GememDryElf *elf, guint64 address)
{
  guint32 head[2]; /* buckets, chains: one per symbol */

  return get (elf, address, head, sizeof head) ? head[1] : 0;
}

/* ---- the dynamic section */

typedef struct
{
  guint64 soname, run_path, old_path, hash, gnu_hash, symbols, versions, needs, n_needs, defines,
      n_defines, strings, strings_size;
} Dynamic;

static void
read_entries (GememDryElf *elf, const guint8 *at, guint64 size, Dynamic *found)
{
  for (; size >= sizeof (Elf64_Dyn); size -= sizeof (Elf64_Dyn), at += sizeof (Elf64_Dyn))
    {
      Elf64_Dyn entry;
      memcpy (&entry, at, sizeof entry);
      const guint64 value = entry.d_un.d_val;
      switch (entry.d_tag)
        {
        case DT_NULL:
          return;
        case DT_NEEDED:
          g_ptr_array_add (elf->needed, GSIZE_TO_POINTER (value));
          break;
#define ENTRY(tag, member) \
  case tag: \
    found->member = value; \
    break
          ENTRY (DT_SONAME, soname);
          ENTRY (DT_RUNPATH, run_path);
          ENTRY (DT_RPATH, old_path);
          ENTRY (DT_HASH, hash);
          ENTRY (DT_GNU_HASH, gnu_hash);
          ENTRY (DT_SYMTAB, symbols);
          ENTRY (DT_VERSYM, versions);
          ENTRY (DT_VERNEED, needs);
          ENTRY (DT_VERNEEDNUM, n_needs);
          ENTRY (DT_VERDEF, defines);
          ENTRY (DT_VERDEFNUM, n_defines);
          ENTRY (DT_STRTAB, strings);
          ENTRY (DT_STRSZ, strings_size);
#undef ENTRY
        default:
          break;
        }
    }
}

static void
read_dynamic (GememDryElf *elf, const guint8 *at, guint64 size)
{
  Dynamic found = { 0 };
  guint64 left = 0, n;

  read_entries (elf, at, size, &found);
  const guint8 *strings = loaded (elf, found.strings, 1, &left);
  elf->strings = gemem_bytes_strings ((GememBytes){ strings, MIN (found.strings_size, left) });
  elf->soname = found.soname != 0 ? gemem_bytes_string (elf->strings, found.soname) : NULL;
  elf->run_path = found.run_path != 0 ? gemem_bytes_string (elf->strings, found.run_path) : NULL;
  if (elf->run_path == NULL && found.old_path != 0)
    elf->run_path = gemem_bytes_string (elf->strings, found.old_path);
  for (guint i = elf->needed->len; i-- > 0;) /* offsets become names */
    {
      const char *name = gemem_bytes_string (elf->strings,
                                             GPOINTER_TO_SIZE (elf->needed->pdata[i]));
      elf->needed->pdata[i] = (gpointer) name;
      if (name == NULL || *name == '\0')
        g_ptr_array_remove_index (elf->needed, i);
    }
  n = found.hash != 0       ? count_by_hash (elf, found.hash)
      : found.gnu_hash != 0 ? count_by_gnu_hash (elf, found.gnu_hash)
                            : 0;
  n = MIN (n, MOST_SYMBOLS);
  elf->symbols = loaded (elf, found.symbols, n * sizeof (GememElfSymbol), NULL);
  elf->n_symbols = elf->symbols != NULL ? (guint) n : 0;
  if (found.versions != 0)
    elf->versions = loaded (elf, found.versions, n * 2, NULL);
  if (found.needs != 0)
    read_needed_versions (elf, found.needs, found.n_needs);
  if (found.defines != 0)
    read_defined_versions (elf, found.defines, found.n_defines);
}

/* ---- the file */

/* FALSE: no object with a dynamic section. */
static gboolean
read_headers (GememDryElf *elf)
{
  const GememElfHeader *header = &elf->file.header;
  GememElfSegment one, dynamic = { 0 };
  GememBytes bytes;

  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64
      || (header->e_type != ET_DYN && header->e_type != ET_EXEC))
    return FALSE;
  for (guint i = 0; i < header->e_phnum; i++)
    {
      if (!gemem_elf_segment (&elf->file, i, &one))
        return FALSE;
      if (one.p_type == PT_DYNAMIC)
        dynamic = one;
      else if (one.p_type == PT_GNU_EH_FRAME)
        elf->frames = one;
      else if (one.p_type == PT_LOAD && elf->n_loads < MOST_LOADS)
        elf->loads[elf->n_loads++] = one;
    }
  if (dynamic.p_filesz == 0
      || !gemem_bytes_part (elf->file.file, dynamic.p_offset, dynamic.p_filesz, &bytes))
    return FALSE;
  read_dynamic (elf, bytes.data, bytes.size);
  return TRUE;
}

GememDryElf *
gemem_dry_elf_open (const char *path)
{
  GememElf file;

  if (!gemem_elf_open (&file, path))
    return NULL;
  GememDryElf *elf = g_new0 (GememDryElf, 1);
  elf->file = file;
  elf->needed = g_ptr_array_new ();
  elf->nodes = g_array_new (FALSE, TRUE, sizeof (Version));
  if (read_headers (elf))
    return elf;
  gemem_dry_elf_close (elf);
  return NULL;
}

void
gemem_dry_elf_close (GememDryElf *elf)
{
  if (elf == NULL)
    return;
  g_ptr_array_unref (elf->needed);
  g_array_unref (elf->nodes);
  gemem_elf_close (&elf->file);
  g_free (elf);
}

const char *
gemem_dry_elf_soname (const GememDryElf *elf)
{
  return elf->soname;
}

const GPtrArray *
gemem_dry_elf_needed (const GememDryElf *elf)
{
  return elf->needed;
}

const char *
gemem_dry_elf_run_path (const GememDryElf *elf)
{
  return elf->run_path;
}

const char *
gemem_dry_elf_section (const GememDryElf *elf, const char *name, gsize *size)
{
  GememElfSection one;
  GememBytes names, content;

  if (!gemem_elf_strings (&elf->file, gemem_elf_names (&elf->file), &names))
    return NULL;
  for (gsize i = 0; gemem_elf_section (&elf->file, i, &one); i++)
    if (one.sh_type == SHT_PROGBITS
        && g_strcmp0 (gemem_bytes_string (names, one.sh_name), name) == 0)
      {
        *size = one.sh_size;
        return gemem_elf_content (&elf->file, &one, &content) ? (const char *) content.data : NULL;
      }
  return NULL;
}

gboolean
gemem_dry_elf_use_all_symbols (GememDryElf *elf)
{
  GememElfSection table = { 0 };
  GememBytes symbols, strings;
  gsize i = 0;

  while (gemem_elf_section (&elf->file, i++, &table) && table.sh_type != SHT_SYMTAB)
    ;
  const guint64 n = MIN (table.sh_size / sizeof (GememElfSymbol), MOST_SYMBOLS);
  if (table.sh_type != SHT_SYMTAB
      || !gemem_bytes_part (elf->file.file, table.sh_offset, n * sizeof (GememElfSymbol), &symbols)
      || !gemem_elf_strings (&elf->file, table.sh_link, &strings))
    return FALSE;
  elf->symbols = symbols.data;
  elf->n_symbols = (guint) n;
  elf->strings = strings;
  elf->versions = NULL;
  elf->all = TRUE;
  return TRUE;
}

guint
gemem_dry_elf_n_symbols (const GememDryElf *elf)
{
  return elf->n_symbols;
}

/* The table that linkers sort for searches (.eh_frame_hdr): pairs of distances from its beginning
 * to a function, and to the function's entry of .eh_frame, which has the size. */
GArray *
gemem_dry_elf_frames (const GememDryElf *elf)
{
  static const guint8 usual[] = { 1, 0x1b, 3, 0x3b }; /* version, encodings: 4 bytes, relative */
  GArray *frames = g_array_new (FALSE, FALSE, sizeof (GememDryFrame));
  const guint64 base = elf->frames.p_vaddr;
  guint32 head[3]; /* usual, begin of .eh_frame, pairs */

  if (elf->frames.p_filesz < sizeof head || !get (elf, base, head, sizeof head)
      || memcmp (head, usual, sizeof usual) != 0)
    return frames;
  const guint32 n = head[2];
  const guint8 *pairs = loaded (elf, base + 12, (guint64) n * 8, NULL);
  for (guint32 i = 0; pairs != NULL && i < n; i++)
    {
      gint32 pair[2];
      guint32 entry[4]; /* length, distance to the common entry, begin, size */
      memcpy (pair, pairs + (gsize) i * 8, 8);
      if (!get (elf, base + (guint64) (gint64) pair[1], entry, sizeof entry))
        break;
      const GememDryFrame frame = { base + (guint64) (gint64) pair[0], entry[3] };
      g_array_append_val (frames, frame);
    }
  return frames;
}

gboolean
gemem_dry_elf_symbol (const GememDryElf *elf, guint i, GememDrySymbol *symbol)
{
  GememElfSymbol from;
  Version version = { 0 };
  guint16 number = 0;

  memcpy (&from, elf->symbols + (gsize) i * sizeof from, sizeof from);
  const char *name = from.st_name != 0 ? gemem_bytes_string (elf->strings, from.st_name) : NULL;
  if (name == NULL || *name == '\0' || (ELF64_ST_BIND (from.st_info) == STB_LOCAL && !elf->all))
    return FALSE;
  if (elf->versions != NULL)
    memcpy (&number, elf->versions + (gsize) i * 2, 2);
  number &= 0x7fff;
  if (number >= 2 && number < elf->nodes->len)
    version = g_array_index (elf->nodes, Version, number);
  *symbol = (GememDrySymbol){ .name = name,
                              .version = version.name,
                              .file = version.file,
                              .imported = from.st_shndx == SHN_UNDEF || version.file != NULL,
                              .weak = ELF64_ST_BIND (from.st_info) == STB_WEAK,
                              .object = ELF64_ST_TYPE (from.st_info) == STT_OBJECT,
                              .function = ELF64_ST_TYPE (from.st_info) == STT_FUNC,
                              .address = from.st_value,
                              .size = from.st_size };
  return TRUE;
}
