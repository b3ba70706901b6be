/* symbols.c - see symbols.h: which file an address lies in, the frames of known addresses, and
 * stacks. */
#include "config.h"

#include <gmodule.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "traces/symbols-private.h"

typedef struct
{
  char *path;
  const char *name; /* the last part of `path` */
  guint64 start, end, bias;
  guint8 *build_id;
  gsize build_id_size;
  gboolean opened, changed;
  SymbolsElf *elf;
  SymbolsDwarf *dwarf;
} Module;

/* The frames of an address: `pool[start .. start + length)`. */
typedef struct
{
  guint32 start, length;
} Known;

struct _GememSymbols
{
  GememTraceInfo *info;
  GPtrArray *modules;   /* Module */
  GHashTable *changed;  /* paths of files that were built again since the recording */
  GememIdMap *known;    /* address -> Known */
  GArray *pool;         /* guint32: numbers of frames */
  GArray *frames;       /* guint32: of the stack being made */
  const Module *module; /* of the frames being made; NULL: unknown */
  /* of the C++ library, which knows how names are mangled */
  GModule *library;
  char *(*demangle) (const char *name, char *buffer, size_t *size, int *status);
};

static void
module_free (gpointer data)
{
  Module *module = data;
  gemem_symbols_dwarf_close (module->dwarf);
  gemem_symbols_elf_close (module->elf);
  g_free (module->build_id);
  g_free (module->path);
  g_free (module);
}

GememSymbols *
gemem_symbols_new (GememTraceInfo *info)
{
  GememSymbols *symbols = g_new0 (GememSymbols, 1);

  symbols->info = info;
  symbols->modules = g_ptr_array_new_with_free_func (module_free);
  symbols->changed = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  symbols->known = gemem_idmap_new (sizeof (Known));
  symbols->pool = g_array_new (FALSE, FALSE, sizeof (guint32));
  symbols->frames = g_array_new (FALSE, FALSE, sizeof (guint32));
  return symbols;
}

void
gemem_symbols_free (GememSymbols *symbols)
{
  if (symbols == NULL)
    return;
  g_ptr_array_unref (symbols->modules);
  g_hash_table_unref (symbols->changed);
  gemem_idmap_free (symbols->known);
  g_array_unref (symbols->pool);
  g_array_unref (symbols->frames);
  if (symbols->library != NULL)
    g_module_close (symbols->library);
  g_free (symbols);
}

/* ---- frames */

static guint32
intern (GememSymbols *symbols, const char *text)
{
  g_autofree char *valid = g_utf8_validate (text, -1, NULL) ? NULL : g_utf8_make_valid (text, -1);
  return gemem_trace_info_intern (symbols->info, valid != NULL ? valid : text);
}

/* Returns @name as the programmer wrote it, if it is a mangled name of C++; else NULL.  Free with
 * free(). */
static char *
demangle (GememSymbols *symbols, const char *name)
{
  gpointer function = NULL;
  int status = -1;

  if (!g_str_has_prefix (name, "_Z"))
    return NULL;
  if (symbols->library == NULL)
    {
      symbols->library = g_module_open ("libstdc++.so.6", G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
      if (symbols->library == NULL)
        symbols->library = g_module_open (NULL, G_MODULE_BIND_LAZY);
      if (symbols->library != NULL
          && g_module_symbol (symbols->library, "__cxa_demangle", &function))
        memcpy (&symbols->demangle, &function, sizeof function);
    }
  return symbols->demangle != NULL ? symbols->demangle (name, NULL, NULL, &status) : NULL;
}

/* Appends a frame to the pool; a frame without a file has that of its module, or "??". */
static void
add_frame (gpointer data, const char *name, const char *file, guint line)
{
  GememSymbols *symbols = data;
  char *readable = demangle (symbols, name);
  const char *module = symbols->module != NULL ? symbols->module->name : "??";
  GememFrame frame = { .name = intern (symbols, readable != NULL ? readable : name),
                       .file = intern (symbols, file != NULL && *file != '\0' ? file : module),
                       .line = file != NULL && *file != '\0' ? line : 0 };
  guint32 number = gemem_call_stacks_frame (gemem_trace_info_stacks (symbols->info), &frame);

  free (readable);
  g_array_append_val (symbols->pool, number);
}

/* ---- modules */

void
gemem_symbols_add_module (GememSymbols *symbols, const char *path, guint64 start, guint64 end,
                          guint64 bias, const guint8 *build_id, gsize build_id_size)
{
  Module *module = g_new0 (Module, 1);

  for (guint i = symbols->modules->len; i-- > 0;)
    {
      const Module *old = symbols->modules->pdata[i];
      if (old->start < end && start < old->end)
        {
          g_ptr_array_remove_index_fast (symbols->modules, i);
          gemem_idmap_clear (symbols->known);
          g_array_set_size (symbols->pool, 0);
        }
    }
  module->path = g_strdup (path);
  module->name = strrchr (module->path, '/');
  module->name = module->name != NULL && module->name[1] != '\0' ? module->name + 1 : module->path;
  module->start = start;
  module->end = end;
  module->bias = bias;
  module->build_id = build_id != NULL ? g_memdup2 (build_id, build_id_size) : NULL;
  module->build_id_size = build_id_size;
  g_ptr_array_add (symbols->modules, module);
}

/* Opens the file of @module, unless it is another one than was loaded. */
static void
open_module (GememSymbols *symbols, Module *module)
{
  gsize size = 0;

  module->opened = TRUE;
  module->elf = *module->path == '/' ? gemem_symbols_elf_open (module->path) : NULL;
  if (module->elf == NULL)
    return;
  const guint8 *id = gemem_symbols_elf_build_id (module->elf, &size);
  if (module->build_id != NULL && module->build_id_size > 0
      && (id == NULL || size != module->build_id_size || memcmp (id, module->build_id, size) != 0))
    {
      g_clear_pointer (&module->elf, gemem_symbols_elf_close);
      g_hash_table_add (symbols->changed, g_strdup (module->path));
      return;
    }
  module->dwarf = gemem_symbols_dwarf_open (module->path, module->bias);
}

static Module *
module_at (GememSymbols *symbols, guint64 address)
{
  for (guint i = 0; i < symbols->modules->len; i++)
    {
      Module *module = symbols->modules->pdata[i];
      if (address >= module->start && address < module->end)
        return module;
    }
  return NULL;
}

/* Appends the frames of the call before @address to the pool. */
static void
look_up (GememSymbols *symbols, guint64 address)
{
  const guint64 call = address - 1; /* the next instruction may be another line's */
  Module *module = module_at (symbols, call);
  const char *function = NULL;

  symbols->module = module;
  if (module != NULL && !module->opened)
    open_module (symbols, module);
  if (module != NULL && module->dwarf != NULL
      && gemem_symbols_dwarf_frames (module->dwarf, call, add_frame, symbols) > 0)
    return;
  if (module != NULL && module->elf != NULL)
    function = gemem_symbols_elf_function (module->elf, call - module->bias);
  if (function != NULL)
    {
      add_frame (symbols, function, NULL, 0);
      return;
    }
  g_autofree char *place = g_strdup_printf (
      "%s%s0x%" G_GINT64_MODIFIER "x", module != NULL ? module->name : "",
      module != NULL ? "+" : "", module != NULL ? call - module->bias : call);
  symbols->module = NULL;
  add_frame (symbols, place, NULL, 0);
}

/* ---- stacks */

static guint32
make_stack (GememSymbols *symbols)
{
  return gemem_call_stacks_extend (gemem_trace_info_stacks (symbols->info), 0,
                                   (const guint32 *) (gconstpointer) symbols->frames->data,
                                   symbols->frames->len);
}

guint32
gemem_symbols_stack (GememSymbols *symbols, const guint64 *addresses, gsize n)
{
  g_array_set_size (symbols->frames, 0);
  for (gsize i = 0; i < n; i++)
    {
      gboolean existed;
      Known *known = gemem_idmap_insert (symbols->known, addresses[i], &existed);
      if (!existed)
        {
          known->start = symbols->pool->len;
          look_up (symbols, addresses[i]);
          known->length = symbols->pool->len - known->start;
        }
      g_array_append_vals (symbols->frames, &g_array_index (symbols->pool, guint32, known->start),
                           known->length);
    }
  return make_stack (symbols);
}

guint32
gemem_symbols_text_stack (GememSymbols *symbols, const char *text)
{
  g_auto (GStrv) frames = g_strsplit (text, " < ", -1);
  const guint start = symbols->pool->len;

  symbols->module = NULL;
  for (guint i = 0; frames[i] != NULL; i++)
    {
      char *file = strstr (frames[i], " (");
      char *offset = file != NULL ? g_strrstr_len (frames[i], file - frames[i], "+0x") : NULL;
      if (offset != NULL && g_str_has_suffix (file, ")"))
        {
          *offset = '\0';
          file[strlen (file) - 1] = '\0';
          add_frame (symbols, frames[i], file + 2, 0);
        }
      else if (file != NULL && (offset = strrchr (file, ':')) != NULL)
        {
          *file = *offset = '\0';
          add_frame (symbols, frames[i], file + 2, (guint) g_ascii_strtoull (offset + 1, NULL, 10));
        }
      else if (*frames[i] != '\0')
        add_frame (symbols, frames[i], NULL, 0);
    }
  g_array_set_size (symbols->frames, 0);
  if (symbols->pool->len > start)
    g_array_append_vals (symbols->frames, &g_array_index (symbols->pool, guint32, start),
                         symbols->pool->len - start);
  g_array_set_size (symbols->pool, start);
  return make_stack (symbols);
}

static gint
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (a, b);
}

void
gemem_symbols_note_changed (GememSymbols *symbols)
{
  g_autoptr (GList) paths = g_list_sort (g_hash_table_get_keys (symbols->changed), compare_texts);

  for (const GList *path = paths; path != NULL; path = path->next)
    gemem_trace_info_note (symbols->info, "note",
                           "%s was built again since the recording; its functions are not named",
                           (const char *) path->data);
}
