/* write.c - writes the shared object that stands in the place of an NVIDIA library
 * (launch.h), without a compiler.
 *
 * It has the library's soname, so that the loader takes it for the library, whether the program was
 * linked with it or opens it by name; the version nodes that the program asks for; and it needs
 * libgemem-dry.so or its row's module, so that dlsym() on it finds the functions that are written
 * there.  Each function that is not written there counts its calls and returns the result that
 * gemem_dry_stub() (missing.c) gave at the first.  An object is zeros.
 *
 * The file, in its three segments:
 *
 *   read     headers, .hash, .dynsym, .dynstr, .gnu.version, .gnu.version_d, .rela.dyn
 *   execute  .text: 64 bytes per function
 *   write    .dynamic, .got: the address of gemem_dry_stub; .bss: a GememDryStub (missing.h) per
 *            function, then the objects
 *
 * and section headers, which debuggers and readelf like to have.  An address is the offset in the
 * file.
 *
 * Source: the System V ABI with its supplement for x86-64, the LSB for symbol versions.
 */
#include "config.h"

#include <elf.h>
#include <string.h>

#include "dry/launch/launch.h"

#define PAGE 4096
#define CODE_SIZE 64
#define RECORD_SIZE 16 /* sizeof (GememDryStub) */
#define OBJECT_ALIGN 64
#define MISSING "gemem_dry_stub"
#define NEEDED "libgemem-dry.so" /* or the module of the library's row */

enum
{
  S_NONE,
  S_HASH,
  S_DYNSYM,
  S_DYNSTR,
  S_VERSION,
  S_VERSION_D,
  S_RELA,
  S_TEXT,
  S_DYNAMIC,
  S_GOT,
  S_BSS,
  S_NAMES,
  S_COUNT
};

enum
{
  P_READ,
  P_EXECUTE,
  P_WRITE,
  P_DYNAMIC,
  P_STACK,
  P_COUNT
};

typedef struct
{
  GByteArray *file;
  const GememDryLibrary *library;
  GPtrArray *functions, *objects; /* GememDryWanted of the library */
  GPtrArray *nodes;               /* names of versions; the number of the first is 2 */
  GString *strings;
  GArray *symbols; /* Elf64_Sym: none, gemem_dry_stub, functions, objects */
  GArray *numbers; /* guint16: the version of each */
  Elf64_Shdr sections[S_COUNT];
  guint64 memory; /* the end of .bss */
} Writer;

static void
pad (Writer *w, gsize alignment)
{
  static const guint8 zeros[PAGE];
  const gsize over = w->file->len % alignment;
  if (over != 0)
    g_byte_array_append (w->file, zeros, (guint) (alignment - over));
}

/* Begins section @which at the end of the file; returns its address. */
static guint64
begin (Writer *w, guint which, guint type, guint64 flags, gsize alignment)
{
  pad (w, alignment);
  Elf64_Shdr *section = &w->sections[which];
  section->sh_type = type;
  section->sh_flags = flags;
  section->sh_addr = (flags & SHF_ALLOC) != 0 ? w->file->len : 0;
  section->sh_offset = w->file->len;
  section->sh_addralign = alignment;
  return w->file->len;
}

static void
end (Writer *w, guint which)
{
  w->sections[which].sh_size = w->file->len - w->sections[which].sh_offset;
}

static void
append (Writer *w, gconstpointer data, gsize size)
{
  g_byte_array_append (w->file, data, (guint) size);
}

static guint32
add_string (Writer *w, const char *text)
{
  const guint32 offset = (guint32) w->strings->len;
  g_string_append_len (w->strings, text, (gssize) strlen (text) + 1);
  return offset;
}

/* The hash function of the System V ABI. */
static guint32
hash_of (const char *name)
{
  guint32 hash = 0;
  for (; *name != '\0'; name++)
    {
      hash = (hash << 4) + (guint8) *name;
      const guint32 high = hash & 0xf0000000;
      hash = (hash ^ high >> 24) & ~high;
    }
  return hash;
}

/* ---- symbols and versions */

/* The number of version @name; 1: no version. */
static guint16
node_number (Writer *w, const char *name)
{
  if (name == NULL)
    return VER_NDX_GLOBAL;
  for (guint i = 0; i < w->nodes->len; i++)
    if (strcmp (w->nodes->pdata[i], name) == 0)
      return (guint16) (i + 2);
  g_ptr_array_add (w->nodes, (gpointer) name);
  return (guint16) (w->nodes->len + 1);
}

static void
add_symbol (Writer *w, const char *name, const char *version, guint type, guint section)
{
  const Elf64_Sym symbol = { .st_name = add_string (w, name),
                             .st_info = (guchar) ELF64_ST_INFO (STB_GLOBAL, type),
                             .st_shndx = (guint16) section };
  const guint16 number = node_number (w, version);
  g_array_append_val (w->symbols, symbol);
  g_array_append_val (w->numbers, number);
}

static void
add_symbols (Writer *w)
{
  const Elf64_Sym none = { 0 };
  const guint16 local = VER_NDX_LOCAL;

  g_array_append_val (w->symbols, none);
  g_array_append_val (w->numbers, local);
  add_symbol (w, MISSING, NULL, STT_NOTYPE, SHN_UNDEF);
  for (guint i = 0; i < w->functions->len; i++)
    {
      const GememDryWanted *one = w->functions->pdata[i];
      add_symbol (w, one->name, one->version, STT_FUNC, S_TEXT);
    }
  for (guint i = 0; i < w->objects->len; i++)
    {
      const GememDryWanted *one = w->objects->pdata[i];
      add_symbol (w, one->name, one->version, STT_OBJECT, S_BSS);
    }
}

static void
write_hash (Writer *w)
{
  const guint32 n = w->symbols->len, n_buckets = n / 2 + 1;
  g_autofree guint32 *table = g_new0 (guint32, 2 + n_buckets + n);
  guint32 *buckets = table + 2, *chains = buckets + n_buckets;

  table[0] = n_buckets;
  table[1] = n;
  for (guint32 i = 2; i < n; i++) /* what is defined */
    {
      const Elf64_Sym *symbol = &g_array_index (w->symbols, Elf64_Sym, i);
      guint32 *bucket = &buckets[hash_of (w->strings->str + symbol->st_name) % n_buckets];
      chains[i] = *bucket;
      *bucket = i;
    }
  begin (w, S_HASH, SHT_HASH, SHF_ALLOC, 8);
  append (w, table, (2 + n_buckets + n) * sizeof *table);
  end (w, S_HASH);
  w->sections[S_HASH].sh_link = S_DYNSYM;
  w->sections[S_HASH].sh_entsize = 4;
}

/* The nodes: first the library itself, then its versions. */
static void
write_versions (Writer *w, guint32 soname)
{
  if (w->nodes->len == 0)
    return;
  begin (w, S_VERSION, SHT_GNU_versym, SHF_ALLOC, 2);
  append (w, w->numbers->data, w->numbers->len * sizeof (guint16));
  end (w, S_VERSION);
  w->sections[S_VERSION].sh_link = S_DYNSYM;
  w->sections[S_VERSION].sh_entsize = 2;

  begin (w, S_VERSION_D, SHT_GNU_verdef, SHF_ALLOC, 8);
  for (guint i = 0; i <= w->nodes->len; i++)
    {
      const char *name = i == 0 ? w->library->soname : w->nodes->pdata[i - 1];
      const Elf64_Verdaux text = { .vda_name = i == 0 ? soname : add_string (w, name) };
      const Elf64_Verdef node = { .vd_version = VER_DEF_CURRENT,
                                  .vd_flags = i == 0 ? VER_FLG_BASE : 0,
                                  .vd_ndx = (guint16) (i + 1),
                                  .vd_cnt = 1,
                                  .vd_hash = hash_of (name),
                                  .vd_aux = sizeof node,
                                  .vd_next = i < w->nodes->len ? sizeof node + sizeof text : 0 };
      append (w, &node, sizeof node);
      append (w, &text, sizeof text);
    }
  end (w, S_VERSION_D);
  w->sections[S_VERSION_D].sh_link = S_DYNSTR;
  w->sections[S_VERSION_D].sh_info = w->nodes->len + 1;
}

/* ---- code */

/* Appends @n bytes of an instruction whose last 4 (or, with an immediate byte after them, the 4
 * before it) become the distance from its end to @target. */
static void
instruction (Writer *w, const char *bytes, gsize n, gsize immediate, guint64 target)
{
  const guint64 after = w->file->len + n + 4 + immediate;
  const gint32 distance = GINT32_TO_LE ((gint32) (target - after));
  static const guint8 zero;

  append (w, bytes, n);
  append (w, &distance, 4);
  append (w, &zero, immediate);
}

/* A function: counts the call; returns the known result, or asks for it. */
static void
write_function (Writer *w, guint64 record, guint64 name, guint64 soname, guint64 got)
{
  const guint start = w->file->len;

  append (w, "\xf3\x0f\x1e\xfa", 4);                 /* endbr64 */
  instruction (w, "\xf0\x48\xff\x05", 4, 0, record); /* lock incq calls */
  instruction (w, "\x83\x3d", 2, 1, record + 12);    /* cmpl $0, known */
  append (w, "\x74\x08", 2);                         /* je: asks */
  instruction (w, "\x48\x63\x05", 3, 0, record + 8); /* movslq result, %rax */
  append (w, "\xc3", 1);                             /* ret */
  instruction (w, "\x48\x8d\x3d", 3, 0, name);       /* lea name, %rdi */
  instruction (w, "\x48\x8d\x35", 3, 0, soname);     /* lea soname, %rsi */
  instruction (w, "\x48\x8d\x15", 3, 0, record);     /* lea record, %rdx */
  instruction (w, "\xff\x25", 2, 0, got);            /* jmp *gemem_dry_stub */
  while (w->file->len < start + CODE_SIZE)
    append (w, "\xcc", 1); /* int3 */
}

static gsize
up (gsize value, gsize alignment)
{
  return (value + alignment - 1) / alignment * alignment;
}

/* .text, and the addresses of all symbols.  @got: where the address of gemem_dry_stub will be; the
 * records follow it. */
static void
write_code (Writer *w, guint64 got, guint64 strings, guint32 soname)
{
  const guint64 records = got + RECORD_SIZE;
  guint i = 2;
  guint64 at = up (records + (guint64) w->functions->len * RECORD_SIZE, OBJECT_ALIGN);

  for (guint f = 0; f < w->functions->len; f++, i++)
    {
      Elf64_Sym *symbol = &g_array_index (w->symbols, Elf64_Sym, i);
      symbol->st_value = w->file->len;
      symbol->st_size = CODE_SIZE;
      write_function (w, records + (guint64) f * RECORD_SIZE, strings + symbol->st_name,
                      strings + soname, got);
    }
  for (guint o = 0; o < w->objects->len; o++, i++)
    {
      Elf64_Sym *symbol = &g_array_index (w->symbols, Elf64_Sym, i);
      symbol->st_value = at;
      symbol->st_size = ((const GememDryWanted *) w->objects->pdata[o])->size;
      at = up (at + symbol->st_size, OBJECT_ALIGN);
    }
  w->memory = at;
}

/* ---- the rest of the file */

static void
write_dynamic (Writer *w, guint32 soname, guint32 needed)
{
  const Elf64_Shdr *s = w->sections;
  const struct
  {
    gint64 tag;
    guint64 value;
  } entries[] = {
    { DT_SONAME, soname },
    { DT_NEEDED, needed },
    { DT_HASH, s[S_HASH].sh_addr },
    { DT_STRTAB, s[S_DYNSTR].sh_addr },
    { DT_SYMTAB, s[S_DYNSYM].sh_addr },
    { DT_STRSZ, s[S_DYNSTR].sh_size },
    { DT_SYMENT, sizeof (Elf64_Sym) },
    { DT_RELA, s[S_RELA].sh_addr },
    { DT_RELASZ, s[S_RELA].sh_size },
    { DT_RELAENT, sizeof (Elf64_Rela) },
    { DT_VERSYM, s[S_VERSION].sh_addr }, /* the last three only with versions */
    { DT_VERDEF, s[S_VERSION_D].sh_addr },
    { DT_VERDEFNUM, s[S_VERSION_D].sh_info },
  };
  const gsize n = G_N_ELEMENTS (entries) - (w->nodes->len > 0 ? 0 : 3);
  const Elf64_Dyn last = { .d_tag = DT_NULL };

  for (gsize i = 0; i < n; i++)
    {
      const Elf64_Dyn entry = { .d_tag = entries[i].tag, .d_un.d_val = entries[i].value };
      append (w, &entry, sizeof entry);
    }
  append (w, &last, sizeof last);
}

/* Section headers at the end of the file, those without content left out of the numbering only by
 * type: unused ones are SHT_NULL. */
static void
write_sections (Writer *w, Elf64_Ehdr *header)
{
  static const char *const names[S_COUNT] = { "",          ".hash",        ".dynsym",
                                              ".dynstr",   ".gnu.version", ".gnu.version_d",
                                              ".rela.dyn", ".text",        ".dynamic",
                                              ".got",      ".bss",         ".shstrtab" };

  begin (w, S_NAMES, SHT_STRTAB, 0, 1);
  for (guint i = 0; i < S_COUNT; i++)
    {
      if (w->sections[i].sh_type != SHT_NULL)
        w->sections[i].sh_name = (guint32) (w->file->len - w->sections[S_NAMES].sh_offset);
      append (w, names[i], strlen (names[i]) + 1);
    }
  end (w, S_NAMES);
  pad (w, 8);
  header->e_shoff = w->file->len;
  append (w, w->sections, sizeof w->sections);
}

static void
write_headers (Writer *w, Elf64_Ehdr *header, const guint64 starts[P_COUNT], guint64 file_end)
{
  const Elf64_Shdr *dynamic = &w->sections[S_DYNAMIC];
  const Elf64_Phdr loads[P_COUNT] = {
    [P_READ] = { .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = starts[P_EXECUTE] },
    [P_EXECUTE] = { .p_type = PT_LOAD,
                    .p_flags = PF_R | PF_X,
                    .p_offset = starts[P_EXECUTE],
                    .p_filesz = w->sections[S_TEXT].sh_size },
    [P_WRITE] = { .p_type = PT_LOAD,
                  .p_flags = PF_R | PF_W,
                  .p_offset = starts[P_WRITE],
                  .p_filesz = file_end - starts[P_WRITE] },
    [P_DYNAMIC] = { .p_type = PT_DYNAMIC,
                    .p_flags = PF_R | PF_W,
                    .p_offset = dynamic->sh_offset,
                    .p_filesz = dynamic->sh_size },
    [P_STACK] = { .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W },
  };

  for (guint i = 0; i < P_COUNT; i++)
    {
      Elf64_Phdr one = loads[i];
      one.p_vaddr = one.p_paddr = one.p_offset;
      one.p_memsz = i == P_WRITE ? w->memory - starts[P_WRITE] : one.p_filesz;
      one.p_align = one.p_type == PT_LOAD ? PAGE : 16;
      memcpy (w->file->data + sizeof *header + i * sizeof one, &one, sizeof one);
    }
  *header = (Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                                       EV_CURRENT },
                          .e_type = ET_DYN,
                          .e_machine = EM_X86_64,
                          .e_version = EV_CURRENT,
                          .e_phoff = sizeof *header,
                          .e_shoff = header->e_shoff,
                          .e_ehsize = sizeof *header,
                          .e_phentsize = sizeof (Elf64_Phdr),
                          .e_phnum = P_COUNT,
                          .e_shentsize = sizeof (Elf64_Shdr),
                          .e_shnum = S_COUNT,
                          .e_shstrndx = S_NAMES };
  memcpy (w->file->data, header, sizeof *header);
}

static void
write_tables (Writer *w, guint32 soname)
{
  write_hash (w);
  begin (w, S_DYNSYM, SHT_DYNSYM, SHF_ALLOC, 8);
  g_byte_array_set_size (w->file, w->file->len + (guint) (w->symbols->len * sizeof (Elf64_Sym)));
  end (w, S_DYNSYM); /* filled in when addresses are known */
  w->sections[S_DYNSYM].sh_link = S_DYNSTR;
  w->sections[S_DYNSYM].sh_info = 1;
  w->sections[S_DYNSYM].sh_entsize = sizeof (Elf64_Sym);
  write_versions (w, soname);
  begin (w, S_DYNSTR, SHT_STRTAB, SHF_ALLOC, 1);
  append (w, w->strings->str, w->strings->len);
  end (w, S_DYNSTR);
}

static void
write_file (Writer *w)
{
  Elf64_Ehdr header = { 0 };
  guint64 starts[P_COUNT] = { 0 };
  const char *module = gemem_dry_row_module (gemem_dry_row_of_soname (w->library->soname));
  const guint32 soname = add_string (w, w->library->soname);
  const guint32 needed = add_string (w, module != NULL ? module : NEEDED);

  g_byte_array_set_size (w->file, sizeof header + P_COUNT * sizeof (Elf64_Phdr));
  memset (w->file->data, 0, w->file->len);
  add_symbols (w);
  write_tables (w, soname);
  begin (w, S_RELA, SHT_RELA, SHF_ALLOC, 8);
  const guint64 text = up (w->file->len + sizeof (Elf64_Rela), PAGE);
  const guint64 data = up (text + MAX (1, w->functions->len) * CODE_SIZE, PAGE);
  const guint64 got = data + 16 * sizeof (Elf64_Dyn); /* after .dynamic */
  const Elf64_Rela relocation = { .r_offset = got,
                                  .r_info = ELF64_R_INFO (1, R_X86_64_GLOB_DAT),
                                  .r_addend = 0 };
  append (w, &relocation, sizeof relocation);
  end (w, S_RELA);
  w->sections[S_RELA].sh_link = S_DYNSYM;
  w->sections[S_RELA].sh_entsize = sizeof relocation;

  starts[P_EXECUTE] = begin (w, S_TEXT, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, PAGE);
  write_code (w, got, w->sections[S_DYNSTR].sh_addr, soname);
  if (w->functions->len == 0)
    g_byte_array_append (w->file, (const guint8 *) "\xcc", 1);
  end (w, S_TEXT);
  memcpy (w->file->data + w->sections[S_DYNSYM].sh_offset, w->symbols->data,
          w->symbols->len * sizeof (Elf64_Sym));

  starts[P_WRITE] = begin (w, S_DYNAMIC, SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, PAGE);
  write_dynamic (w, soname, needed);
  end (w, S_DYNAMIC);
  w->sections[S_DYNAMIC].sh_link = S_DYNSTR;
  w->sections[S_DYNAMIC].sh_entsize = sizeof (Elf64_Dyn);
  while (w->file->len < got)
    append (w, "", 1);
  begin (w, S_GOT, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 16);
  g_byte_array_set_size (w->file, w->file->len + RECORD_SIZE);
  memset (w->file->data + got, 0, RECORD_SIZE);
  end (w, S_GOT);
  w->sections[S_GOT].sh_entsize = 8;
  const guint64 file_end = begin (w, S_BSS, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 16);
  w->sections[S_BSS].sh_size = w->memory - file_end;
  write_sections (w, &header);
  write_headers (w, &header, starts, file_end);
}

GByteArray *
gemem_dry_write (const GememDryLibrary *library, GHashTable *written)
{
  Writer w = { .file = g_byte_array_new (),
               .library = library,
               .functions = g_ptr_array_new (),
               .objects = g_ptr_array_new (),
               .nodes = g_ptr_array_new (),
               .strings = g_string_new (NULL),
               .symbols = g_array_new (FALSE, TRUE, sizeof (Elf64_Sym)),
               .numbers = g_array_new (FALSE, TRUE, sizeof (guint16)) };

  g_string_append_c (w.strings, '\0');
  for (guint i = 0; i < library->symbols->len; i++)
    {
      const GememDryWanted *one = library->symbols->pdata[i];
      if (one->version != NULL) /* the node is there even if its functions are written */
        node_number (&w, one->version);
      if (!g_hash_table_contains (written, one->name))
        g_ptr_array_add (one->size > 0 ? w.objects : w.functions, (gpointer) one);
    }
  write_file (&w);
  g_ptr_array_unref (w.functions);
  g_ptr_array_unref (w.objects);
  g_ptr_array_unref (w.nodes);
  g_string_free (w.strings, TRUE);
  g_array_unref (w.symbols);
  g_array_unref (w.numbers);
  return w.file;
}
