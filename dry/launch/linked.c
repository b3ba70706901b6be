/* linked.c - the runtimes that are linked into a program's objects (libcudart_static, the default
 * of nvcc): where their functions are, for audit.c, which puts those of a dry run in their place.
 *
 * The functions are those that the object's table of all symbols names.  Where it was stripped, its frame
 * tables, which unwinding needs, still tell where every function begins and how long it is.  The runtime
 * of a version is one piece, which no linker takes apart, and its functions follow each other with lengths
 * like no others (linked-runtimes.def).  Of another version there is nothing to go by: the program then
 * fails at the driver, which says why (cuGetExportTable in entry-points.c).
 *
 * Invariants: an object is taken to have a runtime if it registers kernels and allocates by itself,
 * so that a program's own function whose name begins by chance as CUDA's do is left alone; a
 * stripped one, if every function of the version is where it must be.
 */
#include "config.h"

#include <string.h>

#include "dry/launch/launch.h"

#define JUMP_SIZE 14 /* that audit.c writes */

#define N_RUNTIMES G_N_ELEMENTS (sonames)
#define FIRST "cudaGetExportTable" /* before those of linked-runtimes.def */
#define LATER "cudaDeviceReset"    /* and those that follow it */

static const char *const sonames[] = {
#define GEMEM_DRY_LINKED_RUNTIME(soname, version) soname,
#define GEMEM_DRY_LINKED_FUNCTION(name, ...)
#include "dry/launch/linked-runtimes.def"
#undef GEMEM_DRY_LINKED_RUNTIME
#undef GEMEM_DRY_LINKED_FUNCTION
};

static const struct
{
  const char *name;
  guint16 sizes[N_RUNTIMES]; /* 0: not in that version */
} known[] = {
#define GEMEM_DRY_LINKED_RUNTIME(soname, version)
#define GEMEM_DRY_LINKED_FUNCTION(name, ...) { #name, { __VA_ARGS__ } },
#include "dry/launch/linked-runtimes.def"
#undef GEMEM_DRY_LINKED_RUNTIME
#undef GEMEM_DRY_LINKED_FUNCTION
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

/* The compiler writes functions with such names into the program as well, which have to run: they
 * register device code that was linked from several files. */
static gboolean
is_runtime_name (const char *name)
{
  const char *rest = g_str_has_prefix (name, "__") ? name + 2 : name;
  return g_str_has_prefix (rest, "cuda") && g_ascii_isupper (rest[4])
         && !g_str_has_prefix (rest, "cudaRegisterLinkedBinary")
         && strcmp (rest, "cudaUnregisterBinaryUtil") != 0;
}

static gboolean
is_runtime_function (const GememDryElf *elf, guint i, GememDrySymbol *symbol)
{
  return gemem_dry_elf_symbol (elf, i, symbol) && symbol->function && !symbol->imported
         && is_runtime_name (symbol->name);
}

/* The addresses of the runtime's functions into which a jump does not fit: small ones that have
 * another function close behind them, and no padding. */
static GHashTable *
find_tight (const GememDryElf *elf)
{
  GHashTable *tight = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_autoptr (GArray) small = g_array_new (FALSE, FALSE, sizeof (guint64));
  GememDrySymbol symbol;

  for (guint i = 0; i < gemem_dry_elf_n_symbols (elf); i++)
    if (is_runtime_function (elf, i, &symbol) && symbol.size < JUMP_SIZE)
      g_array_append_val (small, symbol.address);
  for (guint i = 0; small->len > 0 && i < gemem_dry_elf_n_symbols (elf); i++)
    {
      if (!gemem_dry_elf_symbol (elf, i, &symbol))
        continue;
      for (guint k = 0; k < small->len; k++)
        {
          const guint64 address = g_array_index (small, guint64, k);
          if (symbol.address > address && symbol.address - address < JUMP_SIZE)
            g_hash_table_add (tight, g_memdup2 (&address, sizeof address));
        }
    }
  return tight;
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
  g_autoptr (GHashTable) tight = find_tight (elf);
  GememDrySymbol symbol;

  for (guint i = 0; i < gemem_dry_elf_n_symbols (elf); i++)
    if (is_runtime_function (elf, i, &symbol) && !g_hash_table_contains (tight, &symbol.address))
      add (functions, g_strdup (symbol.name), symbol.address);
  return has (functions, "cudaMalloc") && has (functions, "__cudaRegisterFatBinary")
             ? soname_of (functions)
             : NULL;
}

/* ---- by frames */

#define FRAME(frames, i) g_array_index (frames, GememDryFrame, i)
#define ALIGN 16 /* of functions; a jump fits between two */
G_STATIC_ASSERT (JUMP_SIZE <= ALIGN);

static guint64
behind (GememDryFrame frame)
{
  return (frame.address + frame.size + ALIGN - 1) / ALIGN * ALIGN;
}

/* Whether the functions of @runtime from row @from of known[] up to @to lie one behind the other
 * from frame @at on; adds them to @functions, unless NULL. */
static gboolean
lie_at (const GArray *frames, guint at, guint runtime, guint from, guint to, GPtrArray *functions)
{
  guint64 address = FRAME (frames, at).address;

  for (guint row = from; row < to; row++)
    {
      const guint size = known[row].sizes[runtime];
      if (size == 0)
        continue;
      if (at == frames->len || FRAME (frames, at).address != address
          || FRAME (frames, at).size != size)
        return FALSE;
      if (functions != NULL)
        add (functions, g_strdup (known[row].name), address);
      address = behind (FRAME (frames, at++));
    }
  return TRUE;
}

/* The first frame from @at on where these rows lie; the number of frames: nowhere. */
static guint
find_rows (const GArray *frames, guint at, guint runtime, guint from, guint to)
{
  while (at < frames->len && !lie_at (frames, at, runtime, from, to, NULL))
    at++;
  return at;
}

static const char *
find_by_frames (const GememDryElf *elf, GPtrArray *functions)
{
  g_autoptr (GArray) frames = gemem_dry_elf_frames (elf);
  const guint all = G_N_ELEMENTS (known);
  guint later = 0;

  while (strcmp (known[later].name, LATER) != 0)
    later++;
  for (guint runtime = 0; runtime < N_RUNTIMES; runtime++)
    {
      const guint first = find_rows (frames, 0, runtime, 0, later);
      const guint api = find_rows (frames, first, runtime, later, all);
      if (api == frames->len)
        continue;
      if (first > 0 && behind (FRAME (frames, first - 1)) == FRAME (frames, first).address)
        add (functions, g_strdup (FIRST), FRAME (frames, first - 1).address);
      lie_at (frames, first, runtime, 0, later, functions);
      lie_at (frames, api, runtime, later, all, functions);
      return sonames[runtime];
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
