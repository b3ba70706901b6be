/* elf.c - reads an ELF image of GPU code ("cubin"): its kernels and variables.
 *
 * The container is ELF; what its sections mean is undocumented and was found by comparing images
 * with what cuobjdump and ptxas print of them, toolkits 11.8 to 13.0, sm_50 to sm_121:
 *   symbols      a function with bit 0x10 in st_other is a kernel; objects in .nv.global,
 *                .nv.global.init and .nv.constant3 are variables
 *   .nv.info     attributes of the module; .nv.info.KERNEL of one kernel: see enum Attribute
 *                without any a kernel has no parameters
 *   .nv.shared.KERNEL  static shared memory; from sm_90 on its first 1024 bytes are the system's
 *   .nv.constant3      __constant__ variables
 *   e_flags      ABI 7: virtual architecture << 16 | 0x800 if for one GPU alone | real
 *                architecture; ABI 8: real architecture << 8, the rest in the notes below
 *   .note.nv.cuinfo    ABI 8: after two bytes the virtual architecture; .nv.compat: attribute 9, 1
 *                if for one GPU alone
 */
#include "config.h"

#include <string.h>

#include "dry/images/images-private.h"

#define MACHINE_CUDA 190
#define KERNEL_BIT 0x10       /* of st_other */
#define SYSTEM_SHARED 1024    /* bytes, from sm_90 on */
#define NOTE_CUINFO 1000      /* type of the note */
#define COMPAT_ONE_GPU 0x09   /* attribute of .nv.compat */
#define ONE_GPU_FLAG 0x800    /* ABI 7 */
#define FIGURE_MAX (1u << 30) /* of figures that fit an int with space for sums */

/* Attributes: a byte of format, a byte of number, two bytes that are the value or its length. */
typedef enum
{
  ATTRIBUTE_MAX_THREADS = 0x05,   /* x, y, z of __launch_bounds__, .maxntid */
  ATTRIBUTE_EXACT_THREADS = 0x10, /* x, y, z of .reqntid */
  ATTRIBUTE_MIN_STACK = 0x12,     /* symbol, bytes with everything it calls */
  ATTRIBUTE_PARAMETER = 0x17,     /* 0, offset << 16 | number, size << 18 | more */
  ATTRIBUTE_PARAMETERS = 0x19,    /* bytes of all, in the two bytes */
  ATTRIBUTE_REGISTERS = 0x2f,     /* symbol, registers */
  ATTRIBUTE_CLUSTER = 0x3d,       /* x, y, z */
} Attribute;
#define FORMAT_LONG 4 /* the two bytes are a length, the value follows */

typedef struct
{
  GememElf file;
  GememBytes section_names, symbols, symbol_names, symbol_sections;
  GememDryKernel **by_symbol; /* index of a symbol -> its kernel, or NULL */
  gsize n_symbols;
  int abi, sm, ptx;
  gsize
      names_left; /* bytes of names that may still be looked at: those of a damaged image can share
                       their bytes, and reading them all would take the square of its size */
  GememDryImage *image;
} Elf;

/* ---- bytes */

static guint32
word (GememBytes bytes, gsize index)
{
  guint32 value = 0;

  if (index < bytes.size / 4)
    memcpy (&value, bytes.data + 4 * index, 4);
  return GUINT32_FROM_LE (value);
}

/* The string at @offset; NULL: outside, or more than may be looked at. */
static const char *
string (Elf *elf, GememBytes strings, guint64 offset, gsize *length)
{
  const char *text = gemem_bytes_string (strings, offset);

  if (text == NULL || (*length = strlen (text)) >= elf->names_left)
    return NULL;
  elf->names_left -= *length + 1;
  return text;
}

/* ---- sections */

static int
figure (guint64 value)
{
  return (int) MIN (value, FIGURE_MAX);
}

/* The header, and the names of sections. */
static gboolean
open_elf (Elf *elf, GememBytes file)
{
  const GememElfHeader *header = &elf->file.header;
  GememBytes segments;

  if (!gemem_elf_read (&elf->file, file) || header->e_machine != MACHINE_CUDA
      || !gemem_bytes_part (file, header->e_phoff, header->e_phnum * sizeof (GememElfSegment),
                            &segments))
    return FALSE;
  elf->names_left = 8 * file.size + (1 << 20);
  elf->abi = header->e_ident[EI_ABIVERSION];
  elf->sm = elf->abi >= 8 ? header->e_flags >> 8 & 0xff : header->e_flags & 0xff;
  elf->ptx = elf->abi >= 8 ? 0 : header->e_flags >> 16 & 0xff;
  return header->e_shoff == 0
         || gemem_elf_strings (&elf->file, gemem_elf_names (&elf->file), &elf->section_names);
}

/* Section @index and its name; FALSE: damaged. */
static gboolean
named_section (Elf *elf, gsize index, GememElfSection *out, const char **name, gsize *length)
{
  return gemem_elf_section (&elf->file, index, out)
         && (*name = string (elf, elf->section_names, out->sh_name, length)) != NULL;
}

/* ---- target */

/* Whether .nv.compat says that the code is for one GPU alone. */
static gboolean
compat_one_gpu (GememBytes bytes)
{
  for (gsize at = 0; at + 4 <= bytes.size;
       at += 4 + (bytes.data[at] == FORMAT_LONG ? bytes.data[at + 2] | bytes.data[at + 3] << 8 : 0))
    if (bytes.data[at + 1] == COMPAT_ONE_GPU)
      return bytes.data[at + 2] != 0;
  return FALSE;
}

/* Reads the architectures from the notes of ABI 8; *@exact as in gemem_dry_elf_target (). */
static void
read_target (Elf *elf, gboolean *exact)
{
  GememElfSection of;
  const char *name;
  gsize length;
  GememBytes bytes;

  *exact = elf->abi < 8 && (elf->file.header.e_flags & ONE_GPU_FLAG) != 0;
  for (gsize i = 1; i < elf->file.n_sections; i++)
    {
      if (!named_section (elf, i, &of, &name, &length)
          || !gemem_elf_content (&elf->file, &of, &bytes))
        continue;
      if (strcmp (name, ".nv.compat") == 0)
        *exact = compat_one_gpu (bytes);
      else if (strcmp (name, ".note.nv.cuinfo") == 0 && word (bytes, 2) == NOTE_CUINFO
               && word (bytes, 0) == 12)
        elf->ptx = word (bytes, 6) >> 16;
    }
}

int
gemem_dry_elf_target (GememBytes file, gboolean *exact)
{
  Elf elf = { 0 };

  if (!open_elf (&elf, file))
    return 0;
  read_target (&elf, exact);
  return elf.sm;
}

/* ---- symbols */

/* The number of the section that symbol @index is in. */
static guint32
symbol_section (const Elf *elf, gsize index, const GememElfSymbol *symbol)
{
  return symbol->st_shndx == SHN_XINDEX ? word (elf->symbol_sections, index) : symbol->st_shndx;
}

static gboolean
is_variable (const char *section_name)
{
  return strcmp (section_name, ".nv.global") == 0 || strcmp (section_name, ".nv.global.init") == 0
         || strcmp (section_name, ".nv.constant3") == 0;
}

static gboolean
read_symbol (Elf *elf, gsize index)
{
  GememElfSymbol symbol;
  GememElfSection of;
  const char *name, *section_name;
  gsize length, section_length;

  memcpy (&symbol, elf->symbols.data + index * sizeof symbol, sizeof symbol);
  if (ELF64_ST_TYPE (symbol.st_info) == STT_FUNC && (symbol.st_other & KERNEL_BIT) != 0
      && symbol.st_shndx != SHN_UNDEF)
    {
      if ((name = string (elf, elf->symbol_names, symbol.st_name, &length)) == NULL)
        return FALSE;
      elf->by_symbol[index] = gemem_dry_image_add (elf->image, name, length);
      return elf->by_symbol[index] != NULL;
    }
  if (ELF64_ST_TYPE (symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF
      || !named_section (elf, symbol_section (elf, index, &symbol), &of, &section_name,
                         &section_length)
      || !is_variable (section_name))
    return TRUE;
  return (name = string (elf, elf->symbol_names, symbol.st_name, &length)) != NULL
         && gemem_dry_image_add_symbol (elf->image, name, length, symbol.st_size);
}

static gboolean
read_symbols (Elf *elf)
{
  GememElfSection of;
  gboolean found = FALSE, indices = FALSE;

  for (gsize i = 1; i < elf->file.n_sections; i++)
    {
      if (!gemem_elf_section (&elf->file, i, &of))
        return FALSE;
      if (of.sh_type == SHT_SYMTAB && !found)
        found = of.sh_entsize == sizeof (GememElfSymbol)
                && gemem_elf_content (&elf->file, &of, &elf->symbols)
                && gemem_elf_strings (&elf->file, of.sh_link, &elf->symbol_names);
      if (of.sh_type == SHT_SYMTAB_SHNDX && !indices)
        indices = gemem_elf_content (&elf->file, &of, &elf->symbol_sections);
    }
  elf->n_symbols = elf->symbols.size / sizeof (GememElfSymbol);
  elf->by_symbol = g_new0 (GememDryKernel *, elf->n_symbols + 1);
  for (gsize i = 1; i < elf->n_symbols; i++)
    if (!read_symbol (elf, i))
      return FALSE;
  return found;
}

/* ---- attributes */

#define PARAMETERS_MAX 4096 /* of a kernel: CUDA allows 32764 bytes */

/* One parameter of @kernel, which ends at *@end or before. */
static void
read_parameter (GememDryKernel *kernel, GememBytes value, guint *end)
{
  const guint number = word (value, 1) & 0xffff, offset = word (value, 1) >> 16;
  const guint16 size = (guint16) (word (value, 2) >> 18);

  if (number >= PARAMETERS_MAX)
    return;
  if (number >= kernel->parameters->len)
    g_array_set_size (kernel->parameters, number + 1);
  g_array_index (kernel->parameters, guint16, number) = size;
  *end = MAX (*end, offset + size);
}

static void
read_attribute (const Elf *elf, GememDryKernel *kernel, guint8 number, GememBytes value)
{
  GememDryKernel *named = word (value, 0) < elf->n_symbols ? elf->by_symbol[word (value, 0)] : NULL;

  if (number == ATTRIBUTE_REGISTERS && named != NULL)
    named->registers = figure (word (value, 1));
  else if (number == ATTRIBUTE_MIN_STACK && named != NULL)
    named->local = figure (word (value, 1));
  else if ((number == ATTRIBUTE_MAX_THREADS || number == ATTRIBUTE_EXACT_THREADS) && kernel != NULL)
    kernel->max_threads = figure ((guint64) MIN (word (value, 0), 1u << 16)
                                  * MIN (word (value, 1), 1u << 16)
                                  * MIN (word (value, 2), 1u << 16));
  else if (number == ATTRIBUTE_CLUSTER && kernel != NULL)
    for (guint i = 0; i < 3; i++)
      kernel->cluster[i] = figure (word (value, i));
}

/* @kernel: NULL in .nv.info. */
static gboolean
read_attributes (const Elf *elf, GememDryKernel *kernel, GememBytes bytes)
{
  GememBytes value;
  gsize at = 0;
  guint end = 0, all = 0;

  if (kernel != NULL && kernel->parameters == NULL)
    kernel->parameters = g_array_new (FALSE, TRUE, sizeof (guint16));
  for (; at + 4 <= bytes.size; at += 4 + value.size)
    {
      const gboolean is_long = bytes.data[at] == FORMAT_LONG;
      const guint small = bytes.data[at + 2] | bytes.data[at + 3] << 8;

      if (!gemem_bytes_part (bytes, at + 4, is_long ? small : 0, &value))
        return FALSE;
      if (kernel != NULL && is_long && bytes.data[at + 1] == ATTRIBUTE_PARAMETER)
        read_parameter (kernel, value, &end);
      else if (is_long)
        read_attribute (elf, kernel, bytes.data[at + 1], value);
      else if (bytes.data[at + 1] == ATTRIBUTE_PARAMETERS)
        all = small;
    }
  if (kernel != NULL && end != all) /* some are described otherwise */
    g_clear_pointer (&kernel->parameters, g_array_unref);
  return at == bytes.size;
}

/* ---- the whole */

#define INFO ".nv.info"
#define SHARED ".nv.shared."

static gboolean
read_section (Elf *elf, gsize index, int *constant)
{
  GememElfSection of;
  const char *name;
  gsize length;
  GememBytes bytes;
  GememDryKernel *kernel;

  if (!named_section (elf, index, &of, &name, &length))
    return FALSE;
  if (strcmp (name, INFO) == 0)
    return gemem_elf_content (&elf->file, &of, &bytes) && read_attributes (elf, NULL, bytes);
  if (g_str_has_prefix (name, INFO ".")
      && (kernel = g_hash_table_lookup (elf->image->kernels, name + strlen (INFO "."))) != NULL)
    return gemem_elf_content (&elf->file, &of, &bytes) && read_attributes (elf, kernel, bytes);
  if (g_str_has_prefix (name, SHARED)
      && (kernel = g_hash_table_lookup (elf->image->kernels, name + strlen (SHARED))) != NULL)
    {
      kernel->reserved_shared = elf->sm >= 90 && of.sh_size >= SYSTEM_SHARED ? SYSTEM_SHARED : 0;
      kernel->static_shared = figure (of.sh_size) - kernel->reserved_shared;
    }
  else if (strcmp (name, ".nv.constant3") == 0)
    *constant = figure (of.sh_size);
  return TRUE;
}

gboolean
gemem_dry_elf_read (GememBytes file, GememDryImage *image)
{
  Elf elf = { .image = image };
  gboolean good = open_elf (&elf, file), exact;
  int constant = 0;
  GHashTableIter iter;
  gpointer value;

  if (good)
    read_target (&elf, &exact);
  good = good && (elf.file.n_sections == 0 || read_symbols (&elf));
  for (gsize i = 1; good && i < elf.file.n_sections; i++)
    good = read_section (&elf, i, &constant);
  g_hash_table_iter_init (&iter, image->kernels);
  while (good && g_hash_table_iter_next (&iter, NULL, &value))
    {
      GememDryKernel *kernel = value;
      kernel->constant = constant;
      kernel->binary_version = elf.sm;
      kernel->ptx_version = elf.ptx;
    }
  g_free (elf.by_symbol);
  return good;
}
