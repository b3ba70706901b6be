/* symbols-dwarf.c - functions and lines from debugging information, by elfutils' libdw
 * (symbols-private.h).
 *
 * Separate debugging files are found where elfutils looks for them (build-id, .gnu_debuglink).  The
 * frames of an address are the function that holds it and the functions inlined there.
 */
#include "config.h"

#include "traces/symbols-private.h"

#ifdef HAVE_LIBDW

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>

struct _SymbolsDwarf
{
  Dwfl *dwfl;
  Dwfl_Module *module;
};

SymbolsDwarf *
gemem_symbols_dwarf_open (const char *path, guint64 bias)
{
  static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_build_id_find_elf,
                                            .find_debuginfo = dwfl_standard_find_debuginfo,
                                            .section_address = dwfl_offline_section_address };
  SymbolsDwarf *dwarf = g_new0 (SymbolsDwarf, 1);

  dwarf->dwfl = dwfl_begin (&callbacks);
  if (dwarf->dwfl != NULL)
    {
      dwfl_report_begin (dwarf->dwfl);
      dwarf->module = dwfl_report_elf (dwarf->dwfl, path, path, -1, bias, true);
      dwfl_report_end (dwarf->dwfl, NULL, NULL);
    }
  if (dwarf->module != NULL)
    return dwarf;
  gemem_symbols_dwarf_close (dwarf);
  return NULL;
}

void
gemem_symbols_dwarf_close (SymbolsDwarf *dwarf)
{
  if (dwarf == NULL)
    return;
  if (dwarf->dwfl != NULL)
    dwfl_end (dwarf->dwfl);
  g_free (dwarf);
}

/* The compilation unit at @address; files without a table of ranges are searched unit by unit. */
static Dwarf_Die *
unit_at (SymbolsDwarf *dwarf, guint64 address, Dwarf_Addr *bias)
{
  Dwarf_Die *unit = dwfl_module_addrdie (dwarf->module, address, bias);

  if (unit != NULL)
    return unit;
  while ((unit = dwfl_module_nextcu (dwarf->module, unit, bias)) != NULL)
    if (dwarf_haspc (unit, address - *bias) == 1)
      return unit;
  return NULL;
}

static const char *
name_of (Dwarf_Die *die)
{
  Dwarf_Attribute memory;
  const char *name = dwarf_formstring (dwarf_attr_integrate (die, DW_AT_linkage_name, &memory));

  if (name == NULL)
    name = dwarf_formstring (dwarf_attr_integrate (die, DW_AT_MIPS_linkage_name, &memory));
  return name != NULL ? name : dwarf_diename (die);
}

static Dwarf_Word
number_of (Dwarf_Die *die, unsigned attribute)
{
  Dwarf_Attribute memory;
  Dwarf_Word value = 0;
  return dwarf_formudata (dwarf_attr (die, attribute, &memory), &value) == 0 ? value : 0;
}

/* The file that @die, inlined code, was called from. */
static const char *
call_file (Dwarf_Die *unit, Dwarf_Die *die)
{
  Dwarf_Files *files;
  size_t n;
  const Dwarf_Word number = number_of (die, DW_AT_call_file);

  return dwarf_getsrcfiles (unit, &files, &n) == 0 && number < n
             ? dwarf_filesrc (files, number, NULL, NULL)
             : NULL;
}

/* The functions that hold @address, innermost first, as the program ran them; *@scopes is freed by
 * the caller. */
static int
scopes_at (Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **scopes)
{
  Dwarf_Die *lexical = NULL;
  int n = dwarf_getscopes (unit, address, &lexical);

  *scopes = NULL;
  if (n > 0)
    n = dwarf_getscopes_die (&lexical[0], scopes);
  free (lexical);
  return n;
}

guint
gemem_symbols_dwarf_frames (SymbolsDwarf *dwarf, guint64 address, SymbolsFrame frame, gpointer data)
{
  Dwarf_Addr bias = 0;
  Dwarf_Die *unit = unit_at (dwarf, address, &bias), *scopes = NULL;
  Dwarf_Line *found = unit != NULL ? dwarf_getsrc_die (unit, address - bias) : NULL;
  const char *file = found != NULL ? dwarf_linesrc (found, NULL, NULL) : NULL;
  const char *symbol = dwfl_module_addrname (dwarf->module, address);
  int line = 0;
  guint frames = 0;

  if (found != NULL && dwarf_lineno (found, &line) != 0)
    line = 0;
  const int n = unit != NULL ? scopes_at (unit, address - bias, &scopes) : 0;
  for (int i = 0; i < n; i++)
    {
      const int tag = dwarf_tag (&scopes[i]);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
        continue;
      const char *name = name_of (&scopes[i]);
      if (name == NULL && tag == DW_TAG_subprogram)
        name = symbol;
      frame (data, name != NULL ? name : "??", file, (guint) MAX (line, 0));
      frames++;
      if (tag == DW_TAG_subprogram)
        break;
      file = call_file (unit, &scopes[i]);
      line = (int) number_of (&scopes[i], DW_AT_call_line);
    }
  free (scopes);
  if (frames == 0 && symbol != NULL)
    {
      frame (data, symbol, file, (guint) MAX (line, 0));
      frames = 1;
    }
  return frames;
}

#else

SymbolsDwarf *
gemem_symbols_dwarf_open (const char *path, guint64 bias)
{
  (void) path;
  (void) bias;
  return NULL;
}

void
gemem_symbols_dwarf_close (SymbolsDwarf *dwarf)
{
  (void) dwarf;
}

guint
gemem_symbols_dwarf_frames (SymbolsDwarf *dwarf, guint64 address, SymbolsFrame frame, gpointer data)
{
  (void) dwarf;
  (void) address;
  (void) frame;
  (void) data;
  return 0;
}

#endif
