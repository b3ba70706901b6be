/* launch-linked.c - the runtimes that are linked into a program's objects (libcudart_static, the default
 * of nvcc): where their functions are, for audit.c, which puts those of a dry run in their place.
 *
 * The functions are those that the object's table of all symbols names.  Where it was stripped, its frame
 * tables, which unwinding needs, still tell where every function begins and how long it is.  The runtime
 * of a version is one piece, which no linker takes apart, and its functions have beginnings and sizes
 * like no others (linked-runtimes.def).  Of another version there is nothing to go by: the program then
 * fails at the driver, which says why (cuGetExportTable in driver.c).
 *
 * Invariants: an object is taken to have a runtime if it registers kernels and allocates by itself, so
 * that a program's own function whose name begins by chance as CUDA's do is left alone; a stripped one,
 * if every function of the version is where it must be.
 */
#include "config.h"

#include <string.h>

#include "devices/dry/launch.h"

#define JUMP_SIZE 14 /* that audit.c writes */

static const struct
{
  const char *soname, *functions;
} runtimes[] = {
#define GEMEM_DRY_LINKED_RUNTIME(soname, version, functions) { soname, functions },
#include "devices/dry/linked-runtimes.def"
#undef GEMEM_DRY_LINKED_RUNTIME
};

static void
function_free (gpointer data)
{
  GememDryLinkedFunction *function = data;
  g_free (function->name);
  g_free (function);
}

void
gemem_dry_linked_free (gpointer data)
{
  GememDryLinked *linked = data;
  g_free (linked->path);
  g_ptr_array_unref (linked->functions);
  g_free (linked);
}

static void
add (GPtrArray *functions, char *name, guint64 address)
{
  GememDryLinkedFunction *function = g_new0 (GememDryLinkedFunction, 1);
  function->name = name;
  function->address = address;
  g_ptr_array_add (functions, function);
}

/* ---- by names */

static gboolean
is_runtime_name (const char *name)
{
  const char *rest = g_str_has_prefix (name, "__") ? name + 2 : name;
  return g_str_has_prefix (rest, "cuda") && g_ascii_isupper (rest[4]);
}

/* Whether a jump fits into @function of @elf: small ones have padding behind them, or not. */
static gboolean
jump_fits (const GememDryElf *elf, const GememDrySymbol *function)
{
  const guint n = function->size < JUMP_SIZE ? gemem_dry_elf_n_symbols (elf) : 0;

  for (guint i = 0; i < n; i++)
    {
      GememDrySymbol next;
      if (gemem_dry_elf_symbol (elf, i, &next) && next.address > function->address
          && next.address - function->address < JUMP_SIZE)
        return FALSE;
    }
  return TRUE;
}

static gboolean
has (const GPtrArray *functions, const char *name)
{
  for (guint i = 0; i < functions->len; i++)
    if (strcmp (((const GememDryLinkedFunction *) functions->pdata[i])->name, name) == 0)
      return TRUE;
  return FALSE;
}

/* Which runtime has these functions, by those that were added and removed. */
static const char *
soname_of (const GPtrArray *functions)
{
  if (has (functions, "cudaGetDeviceProperties_v2")) /* 12 alone */
    return "libcudart.so.12";
  return has (functions, "cudaGetTextureReference") ? "libcudart.so.11.0" : "libcudart.so.13";
}

/* Adds the functions to @functions; returns the soname, NULL: no runtime. */
static const char *
find_by_names (const GememDryElf *elf, GPtrArray *functions)
{
  for (guint i = 0; i < gemem_dry_elf_n_symbols (elf); i++)
    {
      GememDrySymbol symbol;
      if (gemem_dry_elf_symbol (elf, i, &symbol) && symbol.function && !symbol.imported
          && is_runtime_name (symbol.name) && jump_fits (elf, &symbol))
        add (functions, g_strdup (symbol.name), symbol.address);
    }
  return has (functions, "cudaMalloc") && has (functions, "__cudaRegisterFatBinary")
             ? soname_of (functions)
             : NULL;
}

/* ---- by frames */

static gint
compare_frames (gconstpointer a, gconstpointer b)
{
  const guint64 x = ((const GememDryFrame *) a)->address, y = ((const GememDryFrame *) b)->address;
  return (x > y) - (x < y);
}

/* Adds the functions in @text, of a row of linked-runtimes.def, of which the first is at @address, as far
 * as @frames have them; FALSE: not all. */
static gboolean
place (const char *text, guint64 address, const GArray *frames, GPtrArray *functions)
{
  while (*text != '\0')
    {
      const gsize n = strcspn (text, " ");
      char *end;
      const GememDryFrame function = { address + g_ascii_strtoull (text + n, &end, 16),
                                       g_ascii_strtoull (end, &end, 16) };
      guint at;
      if (!g_array_binary_search ((GArray *) frames, &function, compare_frames, &at)
          || g_array_index (frames, GememDryFrame, at).size != function.size)
        return FALSE;
      if (functions != NULL && function.size >= JUMP_SIZE)
        add (functions, g_strndup (text, n), function.address);
      address = function.address;
      text = end + strspn (end, " ");
    }
  return TRUE;
}

static const char *
find_by_frames (const GememDryElf *elf, GPtrArray *functions)
{
  g_autoptr (GArray) frames = gemem_dry_elf_frames (elf);

  for (guint i = 0; i < frames->len; i++)
    for (guint k = 0; k < G_N_ELEMENTS (runtimes); k++)
      {
        const guint64 address = g_array_index (frames, GememDryFrame, i).address;
        if (place (runtimes[k].functions, address, frames, NULL))
          {
            place (runtimes[k].functions, address, frames, functions);
            return runtimes[k].soname;
          }
      }
  return NULL;
}

/* ---- both */

static gint
compare_functions (gconstpointer a, gconstpointer b)
{
  const GememDryLinkedFunction *x = *(GememDryLinkedFunction *const *) a;
  const GememDryLinkedFunction *y = *(GememDryLinkedFunction *const *) b;
  const int names = strcmp (x->name, y->name);
  return names != 0 ? names : (x->address > y->address) - (x->address < y->address);
}

GememDryLinked *
gemem_dry_linked_find (GememDryElf *elf, const char *path)
{
  GememDryLinked *linked = g_new0 (GememDryLinked, 1);

  linked->path = g_strdup (path);
  linked->functions = g_ptr_array_new_with_free_func (function_free);
  linked->soname = gemem_dry_elf_use_all_symbols (elf) ? find_by_names (elf, linked->functions)
                                                       : find_by_frames (elf, linked->functions);
  if (linked->soname == NULL)
    {
      gemem_dry_linked_free (linked);
      return NULL;
    }
  g_ptr_array_sort (linked->functions, compare_functions);
  return linked;
}

void
gemem_dry_linked_print (const GPtrArray *linked, GString *list)
{
  for (guint i = 0; i < linked->len; i++)
    {
      const GememDryLinked *one = linked->pdata[i];
      g_string_append_printf (list, "object %s\n", one->path);
      for (guint k = 0; k < one->functions->len; k++)
        {
          const GememDryLinkedFunction *function = one->functions->pdata[k];
          g_string_append_printf (list, "%" G_GINT64_MODIFIER "x %s\n", function->address,
                                  function->name);
        }
    }
}
