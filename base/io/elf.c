/* elf.c - see elf.h.  Source: the System V ABI. */
#include "config.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/elf.h"

/* ---- bytes */

gboolean
gemem_bytes_part (GememBytes whole, guint64 offset, guint64 size, GememBytes *part)
{
  if (offset > whole.size || size > whole.size - offset)
    return FALSE;
  *part = (GememBytes){ whole.data + offset, size };
  return TRUE;
}

GememBytes
gemem_bytes_strings (GememBytes table)
{
  const guint8 *last = table.size > 0 ? memrchr (table.data, '\0', table.size) : NULL;

  return (GememBytes){ table.data, last != NULL ? (gsize) (last - table.data) + 1 : 0 };
}

const char *
gemem_bytes_string (GememBytes strings, guint64 offset)
{
  return offset < strings.size ? (const char *) strings.data + offset : NULL;
}

/* ---- the file */

/* The number of section headers; 0: not all are in the file. */
static gsize
count_sections (const GememElf *elf)
{
  const guint64 from = elf->header.e_shoff;
  GememElfSection first;
  GememBytes bytes;

  if (from == 0 || elf->header.e_shentsize != sizeof first
      || !gemem_bytes_part (elf->file, from, sizeof first, &bytes))
    return 0;
  memcpy (&first, bytes.data, sizeof first);
  const guint64 n = elf->header.e_shnum != 0 ? elf->header.e_shnum : first.sh_size;
  return n <= (elf->file.size - from) / sizeof first ? (gsize) n : 0;
}

gboolean
gemem_elf_read (GememElf *elf, GememBytes file)
{
  const guint8 own_class = sizeof (gpointer) == 8 ? ELFCLASS64 : ELFCLASS32;
  const guint8 own_order = G_BYTE_ORDER == G_LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;

  *elf = (GememElf){ .file = file };
  if (file.size < sizeof elf->header || memcmp (file.data, ELFMAG, SELFMAG) != 0
      || file.data[EI_CLASS] != own_class || file.data[EI_DATA] != own_order)
    return FALSE;
  memcpy (&elf->header, file.data, sizeof elf->header);
  elf->n_sections = count_sections (elf);
  return TRUE;
}

gboolean
gemem_elf_open (GememElf *elf, const char *path)
{
  const int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat facts;
  GMappedFile *mapped = fd >= 0 && fstat (fd, &facts) == 0 && S_ISREG (facts.st_mode)
                            ? g_mapped_file_new_from_fd (fd, FALSE, NULL)
                            : NULL;

  if (fd >= 0)
    close (fd);
  if (mapped == NULL)
    return FALSE;
  const GememBytes file = { (const guint8 *) g_mapped_file_get_contents (mapped),
                            g_mapped_file_get_length (mapped) };
  const gboolean good = gemem_elf_read (elf, file);
  elf->mapped = mapped;
  if (!good)
    gemem_elf_close (elf);
  return good;
}

void
gemem_elf_close (GememElf *elf)
{
  g_clear_pointer (&elf->mapped, g_mapped_file_unref);
}

/* ---- its parts */

gboolean
gemem_elf_segment (const GememElf *elf, gsize index, GememElfSegment *segment)
{
  GememBytes bytes;

  if (index >= elf->header.e_phnum || elf->header.e_phentsize != sizeof *segment
      || elf->header.e_phoff > elf->file.size
      || !gemem_bytes_part (elf->file, elf->header.e_phoff + index * sizeof *segment,
                            sizeof *segment, &bytes))
    return FALSE;
  memcpy (segment, bytes.data, sizeof *segment);
  return TRUE;
}

gboolean
gemem_elf_section (const GememElf *elf, gsize index, GememElfSection *section)
{
  if (index >= elf->n_sections)
    return FALSE;
  memcpy (section, elf->file.data + elf->header.e_shoff + index * sizeof *section, sizeof *section);
  return TRUE;
}

gsize
gemem_elf_names (const GememElf *elf)
{
  GememElfSection first;

  return elf->header.e_shstrndx == SHN_XINDEX && gemem_elf_section (elf, 0, &first)
             ? first.sh_link
             : elf->header.e_shstrndx;
}

gboolean
gemem_elf_content (const GememElf *elf, const GememElfSection *section, GememBytes *content)
{
  return section->sh_type != SHT_NOBITS
         && gemem_bytes_part (elf->file, section->sh_offset, section->sh_size, content);
}

gboolean
gemem_elf_strings (const GememElf *elf, gsize index, GememBytes *strings)
{
  GememElfSection section;

  if (!gemem_elf_section (elf, index, &section) || !gemem_elf_content (elf, &section, strings))
    return FALSE;
  *strings = gemem_bytes_strings (*strings);
  return TRUE;
}
