/* symbols-private.h - what symbols.c asks of one file: its symbol tables (symbols-elf.c) and its
 * debugging information (symbols-dwarf.c). */
#pragma once

#include "traces/symbols.h"

/* Receives one frame of an address, innermost first.  @name: as in the file, perhaps mangled;
 * @file: NULL if unknown; @line 0: unknown. */
typedef void (*SymbolsFrame) (gpointer data, const char *name, const char *file, guint line);

/* ---- symbols-elf.c */

typedef struct _SymbolsElf SymbolsElf;

/* Opens a regular file in the ELF format of this machine; NULL: it cannot be read, or is none. */
SymbolsElf *gemem_symbols_elf_open (const char *path);
void gemem_symbols_elf_close (SymbolsElf *elf); /* may be NULL */
/* The build-id of the file; NULL: it has none. */
const guint8 *gemem_symbols_elf_build_id (const SymbolsElf *elf, gsize *size);
/* The function at @address, as in the file; NULL: unknown.  O(log symbols), the first call
 * O(symbols log symbols). */
const char *gemem_symbols_elf_function (SymbolsElf *elf, guint64 address);

/* ---- symbols-dwarf.c */

typedef struct _SymbolsDwarf SymbolsDwarf;

/* Opens @path, loaded with @bias; NULL: it cannot be read, or gemem was built without libdw. */
SymbolsDwarf *gemem_symbols_dwarf_open (const char *path, guint64 bias);
void gemem_symbols_dwarf_close (SymbolsDwarf *dwarf); /* may be NULL */
/* Reports the frames of @address (biased); returns their number.  Without debugging information
 * the function's symbol is the only one. */
guint gemem_symbols_dwarf_frames (SymbolsDwarf *dwarf, guint64 address, SymbolsFrame frame,
                                  gpointer data);
