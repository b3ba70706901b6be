/* elf.h - bounds-checked parts of ELF files, for all readers of them.
 *
 * Any file may be named: truncated, overlapping and absurd ones are read as those without what is
 * damaged.  Only files of this machine's class and byte order are read, since they come from
 * programs that run on such a one.
 *
 * Invariants: every GememBytes lies within the file; nothing is copied, so memory does not depend
 * on what a file says; section numbers below n_sections are within the file.
 */
#pragma once

#include "base/macros.h"
#include <elf.h>
#include <glib.h>
#include <link.h>

GEMEM_BEGIN_DECLS

typedef ElfW (Ehdr) GememElfHeader;
typedef ElfW (Phdr) GememElfSegment;
typedef ElfW (Shdr) GememElfSection;
typedef ElfW (Sym) GememElfSymbol;

typedef struct
{
  const guint8 *data;
  gsize size;
} GememBytes;

typedef struct
{
  GMappedFile *mapped; /* NULL: the bytes are the caller's */
  GememBytes file;
  GememElfHeader header;
  gsize n_sections; /* 0: there are no section headers, or they are not in the file */
} GememElf;

/* Sets *@part to [offset, offset + size) of @whole; FALSE: it is shorter. */
gboolean gemem_bytes_part (GememBytes whole, guint64 offset, guint64 size, GememBytes *part);
/* @table up to its last NUL, as gemem_bytes_string() wants it.  O(what follows that). */
GememBytes gemem_bytes_strings (GememBytes table);
/* The string at @offset; NULL: outside. */
const char *gemem_bytes_string (GememBytes strings, guint64 offset);

/* Reads the header of @file, which must outlive @elf; FALSE: no ELF file of this machine. */
gboolean gemem_elf_read (GememElf *elf, GememBytes file);
/* Maps the regular file @path, and the same; FALSE: or it cannot be read.  O(1);
 * gemem_elf_close(). */
gboolean gemem_elf_open (GememElf *elf, const char *path);
void gemem_elf_close (GememElf *elf);
/* Program header @index; FALSE: it is not in the file. */
gboolean gemem_elf_segment (const GememElf *elf, gsize index, GememElfSegment *segment);
/* Section header @index; FALSE: there is none. */
gboolean gemem_elf_section (const GememElf *elf, gsize index, GememElfSection *section);
/* The number of the section with the names of sections. */
gsize gemem_elf_names (const GememElf *elf);
/* The bytes of @section; FALSE: it has none, or they are not in the file. */
gboolean gemem_elf_content (const GememElf *elf, const GememElfSection *section,
                            GememBytes *content);
/* The content of section @index as gemem_bytes_strings(). */
gboolean gemem_elf_strings (const GememElf *elf, gsize index, GememBytes *strings);

GEMEM_END_DECLS
