/* elf.c - the dynamic section and symbols of an ELF object (launch.h).
 *
 * The file is mapped and read as it is, by its program headers, as the loader does: section headers
 * may be missing or wrong, and are read for the table of all symbols alone.  Every offset is checked against the size of the file.
 *
 * Source: the System V ABI, and the LSB for symbol versions and the GNU hash table.
 */
#include "config.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
  GMappedFile *mapped;
  const guint8 *data;
  gsize size;
  Elf64_Phdr loads[MOST_LOADS];
  guint n_loads;
  Elf64_Phdr frames; /* PT_GNU_EH_FRAME */
  const char *strings;
  guint64 strings_size;
  const char *soname, *run_path;
  GPtrArray *needed;
  const guint8 *symbols, *versions; /* versions: a guint16 per symbol, or NULL */
  guint n_symbols;
  gboolean all;  /* the symbols are those of .symtab */
  GArray *nodes; /* Version, by number; name NULL: none of this number */
};

static const guint8 *
part (const GememDryElf *elf, guint64 offset, guint64 size)
{
  return offset <= elf->size && size <= elf->size - offset ? elf->data + offset : NULL;
}

/* The bytes [address, address + size) as they are loaded; NULL: not in the file.  *@left, unless
 * NULL: how many follow @address in the same segment. */
static const guint8 *
loaded (const GememDryElf *elf, guint64 address, guint64 size, guint64 *left)
{
  for (guint i = 0; i < elf->n_loads; i++)
    {
      const Elf64_Phdr *load = &elf->loads[i];
      if (address < load->p_vaddr || address - load->p_vaddr >= load->p_filesz
          || size > load->p_filesz - (address - load->p_vaddr))
        continue;
      if (part (elf, load->p_offset, load->p_filesz) == NULL)
        return NULL;
      if (left != NULL)
        *left = load->p_filesz - (address - load->p_vaddr);
      return elf->data + load->p_offset + (address - load->p_vaddr);
    }
  return NULL;
}

/* The string at @offset of the string table; NULL: outside, or without an end. */
static const char *
string (const GememDryElf *elf, guint64 offset)
{
  return elf->strings != NULL && offset < elf->strings_size
                 && memchr (elf->strings + offset, '\0', elf->strings_size - offset) != NULL
             ? elf->strings + offset
             : NULL;
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
      const guint8 *at = loaded (elf, address, sizeof need, NULL);
      if (at == NULL)
        return;
      memcpy (&need, at, sizeof need);
      guint64 entry = address + need.vn_aux;
      for (guint j = 0; j < need.vn_cnt; j++)
        {
          Elf64_Vernaux one;
          const guint8 *from = loaded (elf, entry, sizeof one, NULL);
          if (from == NULL)
            break;
          memcpy (&one, from, sizeof one);
          add_node (elf, one.vna_other, string (elf, one.vna_name), string (elf, need.vn_file));
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
      const guint8 *at = loaded (elf, address, sizeof node, NULL);
      if (at == NULL)
        return;
      memcpy (&node, at, sizeof node);
      at = loaded (elf, address + node.vd_aux, sizeof name, NULL);
      if (at == NULL)
        return;
      memcpy (&name, at, sizeof name);
      add_node (elf, node.vd_ndx, string (elf, name.vda_name), NULL);
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
  const guint8 *at = loaded (elf, address, sizeof head, NULL);

  if (at == NULL)
    return 0;
  memcpy (head, at, sizeof head);
  const guint64 buckets = address + sizeof head + (guint64) head[2] * 8;
  at = loaded (elf, buckets, (guint64) head[0] * 4, NULL);
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
      at = loaded (elf, chains + (i - head[1]) * 4, 4, NULL);
      if (at == NULL)
        return 0;
      memcpy (&hash, at, 4);
      if ((hash & 1) != 0)
        return i + 1;
    }
  return 0;
}

static guint64
count_by_hash (const GememDryElf *elf, guint64 address)
{
  guint32 head[2]; /* buckets, chains: one per symbol */
  const guint8 *at = loaded (elf, address, sizeof head, NULL);
  if (at == NULL)
    return 0;
  memcpy (head, at, sizeof head);
  return head[1];
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
  elf->strings = (const char *) loaded (elf, found.strings, 1, &left);
  elf->strings_size = MIN (found.strings_size, left);
  elf->soname = found.soname != 0 ? string (elf, found.soname) : NULL;
  elf->run_path = found.run_path != 0 ? string (elf, found.run_path) : NULL;
  if (elf->run_path == NULL && found.old_path != 0)
    elf->run_path = string (elf, found.old_path);
  for (guint i = elf->needed->len; i-- > 0;) /* offsets become names */
    {
      const char *name = string (elf, GPOINTER_TO_SIZE (elf->needed->pdata[i]));
      elf->needed->pdata[i] = (gpointer) name;
      if (name == NULL || *name == '\0')
        g_ptr_array_remove_index (elf->needed, i);
    }
  n = found.hash != 0       ? count_by_hash (elf, found.hash)
      : found.gnu_hash != 0 ? count_by_gnu_hash (elf, found.gnu_hash)
                            : 0;
  n = MIN (n, MOST_SYMBOLS);
  elf->symbols = loaded (elf, found.symbols, n * sizeof (Elf64_Sym), NULL);
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
  static const guint8 own[] = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB };
  Elf64_Ehdr header;
  Elf64_Phdr dynamic = { 0 };

  if (elf->size < sizeof header || memcmp (elf->data, own, sizeof own) != 0)
    return FALSE;
  memcpy (&header, elf->data, sizeof header);
  const guint8 *at = header.e_phentsize == sizeof dynamic
                         ? part (elf, header.e_phoff, (guint64) header.e_phnum * sizeof dynamic)
                         : NULL;
  if (header.e_machine != EM_X86_64 || (header.e_type != ET_DYN && header.e_type != ET_EXEC)
      || at == NULL)
    return FALSE;
  for (guint i = 0; i < header.e_phnum; i++, at += sizeof (Elf64_Phdr))
    {
      Elf64_Phdr one;
      memcpy (&one, at, sizeof one);
      if (one.p_type == PT_DYNAMIC)
        dynamic = one;
      else if (one.p_type == PT_GNU_EH_FRAME)
        elf->frames = one;
      else if (one.p_type == PT_LOAD && elf->n_loads < MOST_LOADS)
        elf->loads[elf->n_loads++] = one;
    }
  at = dynamic.p_filesz > 0 ? part (elf, dynamic.p_offset, dynamic.p_filesz) : NULL;
  if (at == NULL)
    return FALSE;
  read_dynamic (elf, at, dynamic.p_filesz);
  return TRUE;
}

GememDryElf *
gemem_dry_elf_open (const char *path)
{
  const int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat facts;
  GMappedFile *mapped = fd >= 0 && fstat (fd, &facts) == 0 && S_ISREG (facts.st_mode)
                            ? g_mapped_file_new_from_fd (fd, FALSE, NULL)
                            : NULL;
  GememDryElf *elf;

  if (fd >= 0)
    close (fd);
  if (mapped == NULL)
    return NULL;
  elf = g_new0 (GememDryElf, 1);
  elf->mapped = mapped;
  elf->data = (const guint8 *) g_mapped_file_get_contents (mapped);
  elf->size = g_mapped_file_get_length (mapped);
  elf->needed = g_ptr_array_new ();
  elf->nodes = g_array_new (FALSE, TRUE, sizeof (Version));
  if (elf->data != NULL && read_headers (elf))
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
  g_mapped_file_unref (elf->mapped);
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

/* The header of section @i. */
static gboolean
section (const GememDryElf *elf, const Elf64_Ehdr *header, guint i, Elf64_Shdr *found)
{
  const guint8 *at = i < header->e_shnum && header->e_shentsize == sizeof *found
                         ? part (elf, header->e_shoff + (guint64) i * sizeof *found, sizeof *found)
                         : NULL;
  if (at != NULL)
    memcpy (found, at, sizeof *found);
  return at != NULL;
}

const char *
gemem_dry_elf_section (const GememDryElf *elf, const char *name, gsize *size)
{
  Elf64_Ehdr header;
  Elf64_Shdr one, names;

  memcpy (&header, elf->data, sizeof header);
  if (!section (elf, &header, header.e_shstrndx, &names))
    return NULL;
  const guint8 *text = part (elf, names.sh_offset, names.sh_size);
  const gsize n = strlen (name) + 1;
  for (guint i = 0; text != NULL && section (elf, &header, i, &one); i++)
    if (one.sh_type == SHT_PROGBITS && one.sh_name < names.sh_size
        && n <= names.sh_size - one.sh_name && memcmp (text + one.sh_name, name, n) == 0)
      {
        *size = one.sh_size;
        return (const char *) part (elf, one.sh_offset, one.sh_size);
      }
  return NULL;
}

gboolean
gemem_dry_elf_use_all_symbols (GememDryElf *elf)
{
  Elf64_Ehdr header;
  Elf64_Shdr table = { 0 }, names = { 0 };
  guint i = 0;

  memcpy (&header, elf->data, sizeof header);
  while (section (elf, &header, i++, &table) && table.sh_type != SHT_SYMTAB)
    ;
  if (table.sh_type != SHT_SYMTAB || !section (elf, &header, table.sh_link, &names))
    return FALSE;
  const guint64 n = MIN (table.sh_size / sizeof (Elf64_Sym), MOST_SYMBOLS);
  const guint8 *symbols = part (elf, table.sh_offset, n * sizeof (Elf64_Sym));
  const guint8 *strings = part (elf, names.sh_offset, names.sh_size);
  if (symbols == NULL || strings == NULL)
    return FALSE;
  elf->symbols = symbols;
  elf->n_symbols = (guint) n;
  elf->strings = (const char *) strings;
  elf->strings_size = names.sh_size;
  elf->versions = NULL;
  elf->all = TRUE;
  return TRUE;
}

guint
gemem_dry_elf_n_symbols (const GememDryElf *elf)
{
  return elf->n_symbols;
}

/* The table that linkers sort for searches (.eh_frame_hdr): pairs of distances from its beginning to a
 * function, and to the function's entry of .eh_frame, which has the size. */
GArray *
gemem_dry_elf_frames (const GememDryElf *elf)
{
  static const guint8 usual[] = { 1, 0x1b, 3, 0x3b }; /* version, encodings: 4 bytes, relative */
  GArray *frames = g_array_new (FALSE, FALSE, sizeof (GememDryFrame));
  const guint64 base = elf->frames.p_vaddr;
  const guint8 *head = loaded (elf, base, 12, NULL);
  guint32 n = 0;

  if (elf->frames.p_filesz < 12 || head == NULL || memcmp (head, usual, sizeof usual) != 0)
    return frames;
  memcpy (&n, head + 8, 4);
  const guint8 *pairs = loaded (elf, base + 12, (guint64) n * 8, NULL);
  for (guint32 i = 0; pairs != NULL && i < n; i++)
    {
      gint32 pair[2];
      guint32 size;
      memcpy (pair, pairs + (gsize) i * 8, 8);
      /* after length, pointer to the common entry, and beginning, of 4 bytes each */
      const guint8 *entry = loaded (elf, base + (guint64) (gint64) pair[1], 16, NULL);
      if (entry == NULL)
        break;
      memcpy (&size, entry + 12, 4);
      const GememDryFrame frame = { base + (guint64) (gint64) pair[0], size };
      g_array_append_val (frames, frame);
    }
  return frames;
}

gboolean
gemem_dry_elf_symbol (const GememDryElf *elf, guint i, GememDrySymbol *symbol)
{
  Elf64_Sym from;
  Version version = { 0 };
  guint16 number = 0;

  memcpy (&from, elf->symbols + (gsize) i * sizeof from, sizeof from);
  const char *name = from.st_name != 0 ? string (elf, from.st_name) : NULL;
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
